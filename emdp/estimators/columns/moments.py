"""Variance and standard deviation of an expression among the chosen records, from two means.

``Var = E_c[(e - m)^2] - E_c[e - m]^2`` for every public ``m``, where ``E_c`` is the mean within the chosen records in
our weighting; ``m`` is the middle of ``e``'s range, so that with ``h`` half of it both terms are as small as a public
number can make them: ``|e - m| <= h``, ``0 <= (e - m)^2 <= h^2``; the variance is at most ``h^2`` (Popoviciu 1935).
"""

import math
from collections.abc import Sequence
from fractions import Fraction

import polars as pl

from emdp.base.classes import dataclass
from emdp.estimators.columns.values import UNBOUNDED, Draw, Estimate, Mean, level_below

__all__ = ["Variance"]


@dataclass(frozen=True)
class Variance:
    """A variance, or its root, from the means of ``e - m`` and ``(e - m)^2``.

    Coverage: the two means have intervals of level ``1 - (1 - level)/2`` each, so that both hold with probability at
    least ``level`` (Bonferroni); cut to their public ranges, they make a box, and the interval is the image of the box
    under ``(a, b) -> b - a^2``, cut to ``[0, h^2]``. It contains the exact variance whenever the box contains the exact
    means, so its coverage is at least ``level``. The root is monotone, and keeps it.
    """

    name: str
    # first, second: Means of `e - m` and of `(e - m)^2`, with their public ranges.
    first: Mean
    second: Mean
    highest: float  # `h^2`, rounded up
    is_root: bool = False  # Whether the standard deviation is wanted
    dtype = pl.Float64
    is_linear = False

    @property
    def is_noisy(self) -> bool:
        return self.first.is_noisy or self.second.is_noisy

    def estimates(self, draw: Draw, group: int, level: float) -> list[Estimate]:
        each = level_below(0.5 * (1.0 - level))
        pairs = zip(self.first.estimates(draw, group, each), self.second.estimates(draw, group, each), strict=True)
        return [self._estimate(first, second) for first, second in pairs]

    def exact(self, values: Sequence[Fraction], cells: int, group: int) -> list[Fraction | None]:
        """Return the value in each cell; None where nobody has a record in it."""
        pairs = zip(self.first.exact(values, cells, group), self.second.exact(values, cells, group), strict=True)
        return [None if first is None or second is None else self._value(first, second) for first, second in pairs]

    def _estimate(self, first: Estimate, second: Estimate) -> Estimate:
        shift, square = _cut(first, self.first), _cut(second, self.second)
        if shift.value is None or square.value is None:
            return UNBOUNDED
        farthest = max(shift.low**2, shift.high**2)
        nearest = 0.0 if shift.low <= 0 <= shift.high else min(shift.low**2, shift.high**2)
        low = math.nextafter(square.low - math.nextafter(farthest, math.inf), -math.inf)
        high = math.nextafter(square.high - math.nextafter(nearest, -math.inf), math.inf)
        low, high = (min(max(end, 0.0), self.highest) for end in (low, high))
        if self.is_root:
            low = max(math.nextafter(math.sqrt(low), -math.inf), 0.0)
            high = math.nextafter(math.sqrt(high), math.inf) if high > 0 else 0.0
        return Estimate(self._value(shift.value, square.value), low, high)

    def _value(self, first: Fraction, second: Fraction) -> Fraction:
        variance = min(max(second - first * first, Fraction(0)), Fraction(self.highest))
        return Fraction(math.sqrt(variance)) if self.is_root else variance


def _cut(estimate: Estimate, mean: Mean) -> Estimate:
    if estimate.value is None:
        return estimate
    value = min(max(estimate.value, Fraction(mean.low)), Fraction(mean.high))
    return Estimate(value, *(min(max(end, mean.low), mean.high) for end in (estimate.low, estimate.high)))
