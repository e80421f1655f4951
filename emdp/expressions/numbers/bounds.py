"""Bounds of an expression: a constant for each part of the space, a range, a rounding error.

The invariant behind every rule (EMD 2, "Product spaces"): with ``t_i`` the *untruncated* distance of part
``i`` divided by its diameter, any two items of the domain satisfy ``|f(x) - f(x')| <= sum_i parts[i]
t_i(x_i, x'_i)``.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from emdp.base.classes import dataclass
from emdp.base.errors import InternalError
from emdp.expressions.numbers.outward import add_up, mul_up
from emdp.spaces.base import FunctionBounds, Space

__all__ = [
    "Analysis",
    "Domain",
    "add_parts",
    "constant_analysis",
    "largest_parts",
    "part_analysis",
    "scale_parts",
]


@dataclass(frozen=True)
class Analysis:
    """Public knowledge of a scalar expression on a space (EMD 2).

    Parameters
    ----------
    parts : tuple of float
        Lipschitz constant per unit of ``d_i`` of each part of the space, before truncation.
    low, high : float
        Bounds of the exact value on the domain, rounded outward.
    rounding : float
        Bound on |value computed in double precision - exact value| for any item of the domain.

    Raises
    ------
    InternalError
        If the numbers contradict one another: a bug in a rule.

    >>> Analysis((2.0,), 0.0, 1.0, 0.0).spread
    1.0
    """

    parts: tuple[float, ...]
    low: float
    high: float
    rounding: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", self.low + 0.0)  # -0.0 becomes 0.0
        object.__setattr__(self, "high", self.high + 0.0)
        if not (self.low <= self.high and self.rounding >= 0 and all(part >= 0 for part in self.parts)):
            raise InternalError("a rule for expressions gave contradictory bounds; please report this.")

    @property
    def magnitude(self) -> float:
        """Largest absolute value of the expression."""
        return max(abs(self.low), abs(self.high))

    @property
    def spread(self) -> float:
        """Length of the range, rounded up."""
        return add_up(self.high, -self.low)

    @property
    def computed_low(self) -> float:
        """Lower bound of the value as computed."""
        return -add_up(-self.low, self.rounding)

    @property
    def computed_high(self) -> float:
        """Upper bound of the value as computed."""
        return add_up(self.high, self.rounding)

    @property
    def is_finite(self) -> bool:
        """Whether every number is finite."""
        return all(map(math.isfinite, (*self.parts, self.low, self.high, self.rounding)))


@dataclass(frozen=True)
class Domain:
    """A space, perhaps with the label of some discrete parts held fixed."""

    space: Space
    # For a part's index the encoded label that it is restricted to.
    fixed: Mapping[int, float] = field(default_factory=dict)
    # What `locate` has found so far, by the node's identity; shared between passes over one expression.
    located: dict[int, Any] = field(default_factory=dict, repr=False, compare=False)


def constant_analysis(domain: Domain, value: float) -> Analysis:
    """Return the known bounds of a constant."""
    return Analysis((0.0,) * len(domain.space.parts), value, value, 0.0)


def part_analysis(domain: Domain, index: int, bounds: FunctionBounds) -> Analysis:
    """Return the known bounds of a function of one part alone: it does not change while the others move."""
    parts = [0.0] * len(domain.space.parts)
    parts[index] = bounds.lipschitz
    return Analysis(tuple(parts), bounds.low, bounds.high, bounds.rounding)


def scale_parts(parts: Sequence[float], factor: float) -> tuple[float, ...]:
    """Return ``factor >= 0`` times each constant, rounded up."""
    return tuple(mul_up(part, factor) for part in parts)


def add_parts(left: Sequence[float], right: Sequence[float]) -> tuple[float, ...]:
    """Return the sums of the constants, part by part, rounded up."""
    return tuple(map(add_up, left, right))


def largest_parts(rows: Iterable[Sequence[float]]) -> tuple[float, ...]:
    """Return the largest constant of each part over several expressions."""
    return tuple(map(max, zip(*rows, strict=True)))
