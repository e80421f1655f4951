"""Another noise in a finisher: rows of the same coordinates that were released with other noise than was planned."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any

from emdp.mechanisms import AdditiveMechanism

__all__ = ["renoised"]


def renoised(part: Any, noise: Callable[[AdditiveMechanism], AdditiveMechanism]) -> Any:
    """Return a finisher with another noise in the place of every one that it holds.

    Parameters
    ----------
    noise : callable
        From each noise to the one in its place.
    """
    if isinstance(part, AdditiveMechanism):
        return noise(part)
    if isinstance(part, tuple) and type(part) is tuple:
        return tuple(renoised(member, noise) for member in part)
    if not is_dataclass(part) or isinstance(part, type):
        return part
    found = {item.name: getattr(part, item.name) for item in fields(part) if item.init}
    made = {name: renoised(value, noise) for name, value in found.items()}
    changed = {name: value for name, value in made.items() if value is not found[name]}
    return replace(part, **changed) if changed else part
