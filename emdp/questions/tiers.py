"""The levels of a release that several readers get, each with noise of its own: :func:`tiers`."""

import math
from collections.abc import Iterable
from itertools import pairwise

from emdp.base.checks import check_positive
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError

__all__ = ["LARGEST_RATIO", "MOST_TIERS", "Tiers", "check_levels", "tiers"]

MOST_TIERS = 16
"""Most levels of one release."""

LARGEST_RATIO = 4096.0
"""Of the first level and the last, so that the noise of both fits one grid."""

LEAST_STEP = 1.001
"""Least ratio of a level and the next: nearer ones are one level to a reader, and a coin that is never thrown."""


@dataclass(frozen=True)
class Tiers:
    """Levels of one release, the strongest reader's first; made by :func:`tiers`."""

    levels: tuple[float, ...]  # Values of alpha (or epsilon), falling

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", check_levels("levels", self.levels))


def tiers(levels: Iterable[float]) -> Tiers:
    """Return levels for ``alpha=`` or ``epsilon=``: one release, and a reader for each level.

    Readers of tier 1 get the first level's noise, which is the smallest; those of tier 2 the second's, and so on. Each
    tier is the one before with more noise, so that readers who put their answers together know what the one of the
    lowest number knows. The release is charged once, at the first level, not at the sum of the levels.

    Parameters
    ----------
    levels : iterable of float
        Two to 16 numbers above 0, falling: each less than the one before by a thousandth or more, the first at most
        4096 times the last.

    Raises
    ------
    UsageError
        If they are not.

    >>> tiers([8, 4, 1])
    Tiers(levels=(8.0, 4.0, 1.0))
    """
    if isinstance(levels, str) or not isinstance(levels, Iterable):
        raise UsageError(
            f"levels must be numbers, the largest first, not {type(levels).__name__}; pass such as [8, 1]."
        )
    return Tiers(tuple(levels))


def check_levels(name: str, levels: tuple[float, ...]) -> tuple[float, ...]:
    """Return levels as floats, or raise ``UsageError`` if no release has them.

    >>> check_levels("alpha", (2, 1))
    (2.0, 1.0)
    """
    if not 2 <= len(levels) <= MOST_TIERS:
        raise UsageError(f"{name} must be 2 to {MOST_TIERS} numbers, got {len(levels)}; for one reader pass a number.")
    found = tuple(check_positive(name, level) for level in levels)
    if any(not math.isfinite(level) for level in found):
        raise UsageError(f"{name} must be finite numbers; pass those.")
    for stronger, weaker in pairwise(found):
        if not stronger >= weaker * LEAST_STEP:
            raise UsageError(
                f"{name} must fall from tier to tier by a thousandth or more, but {weaker:g} follows {stronger:g}; put "
                "the strongest reader's first."
            )
    if found[0] > LARGEST_RATIO * found[-1]:
        raise UsageError(
            f"{name} must be within a factor of {LARGEST_RATIO:g}, got {found[0]:g} and {found[-1]:g}; ask twice."
        )
    return found
