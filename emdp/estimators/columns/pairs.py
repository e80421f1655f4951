"""Columns made of two coordinates with independent noise: weighted sums, and means from the sums of both ends.

With ``e`` in ``[a, b]`` and ``w = b - a`` the sums of the two ends are ``A = sum (e - a)`` and ``B = sum (b - e)``
(:mod:`emdp.estimators.totals.noise`). The mean is ``(b A + a B)/(A + B)``: ``a + w R/(1 + R)`` with ``R = A/B``, and
``b - w R/(1 + R)`` with ``R = B/A``.

Theorem (coverage of a mean). Let ``A, B >= 0``, not both 0, be released with noise of one law and one scale, and let
``q`` be as in :mod:`emdp.estimators.columns.fieller`. Take for ``R`` the smaller released number over the larger; the
interval is the Fieller set of ``R``, cut at 0, seen through the increasing map ``R -> R/(1 + R)``, and everything where
that set is not bounded. It contains the mean with the probability of a Fieller set.

Proof. ``q`` is a norm of the pair of weights, and symmetric in them, as both numbers have one scale: ``q(x, y)`` is the
quantile of ``|x Z_B - y Z_A|``. At the true ``A, B`` the event ``|A B^ - B A^| <= q(A, B)`` has at least the level, and
it is one event for ``R = A/B`` and ``R = B/A``, whichever is looked at. Where it happens and the number in the
denominator is not 0, the Fieller set has the true ``R`` in it. Where that number is 0, the event says that its release
is within its own noise: the set is then unbounded, and everything is returned.
"""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import polars as pl

from emdp.base.arrays import Floats
from emdp.base.classes import dataclass
from emdp.estimators.columns.fieller import PairLaw, ratio_intervals
from emdp.estimators.columns.values import UNBOUNDED, Coordinate, Draw, Estimate
from emdp.privacy.rounding import float_at_least

__all__ = ["EndsMean", "Total"]

_ROUNDING = 2.0**-46
# Times the size of the range's ends, outward: far above the six roundings of 2^-53 that make an end of a ratio's.


@dataclass(frozen=True)
class Total:
    """A sum as a combination of two sums, with the interval of that combination of their noises.

    Parameters
    ----------
    name : str
        The column's name.
    weights : tuple of Fraction
        A public weight of each sum, not both 0.
    parts : tuple of Coordinate
        The two sums.
    """

    name: str
    weights: tuple[Fraction, Fraction]
    parts: tuple[Coordinate, Coordinate]
    is_noisy = True
    is_linear = False
    dtype = pl.Float64

    def estimates(self, draw: Draw, group: int, level: float) -> list[Estimate]:
        """Return the sum and its interval in each cell; exact, not cut to the public range."""
        pairs = sorted(zip(self.weights, self.parts, strict=True), key=lambda pair: -abs(pair[0]))
        (larger, first), (smaller, second) = pairs
        law = PairLaw.of(draw.mechanism, first.scale, second.scale)
        # The quantile rises with the ratio's size, which is rounded up.
        width = abs(larger) * Fraction(law.quantile(float_at_least(abs(smaller / larger)), level))
        return [
            Estimate(value, -float_at_least(width - value), float_at_least(value + width))
            for value in self._sums(draw.values, draw.cells)
        ]

    def exact(self, values: Sequence[Fraction], cells: int, group: int) -> list[Fraction | None]:
        return [*self._sums(values, cells)]

    def _sums(self, values: Sequence[Fraction], cells: int) -> Iterator[Fraction]:
        (one, first), (other, second) = zip(self.weights, self.parts, strict=True)
        pairs = zip(first.numbers(values, cells), second.numbers(values, cells), strict=True)
        return (one * left + other * right for left, right in pairs)


@dataclass(frozen=True)
class EndsMean:
    """A mean from the sums of what lies above its least and below its largest value: the module's theorem."""

    name: str
    # low, high: The public range, `low < high`.
    low: float
    high: float
    # above, below: `sum (e - low)` and `sum (high - e)`, of one scale.
    above: Coordinate
    below: Coordinate
    is_noisy = True
    is_linear = False
    dtype = pl.Float64

    def estimates(self, draw: Draw, group: int, level: float) -> list[Estimate]:
        """Return the mean and its interval in each cell; nothing where both sums are within their noise."""
        law = PairLaw.of(draw.mechanism, self.above.scale, self.below.scale)
        pairs = [*self._pairs(draw.values, draw.cells)]
        smaller, larger = [float(min(pair)) for pair in pairs], [float(max(pair)) for pair in pairs]
        is_near_low = np.array([below >= above for above, below in pairs])
        ends = [self._at(ratios, is_near_low) for ratios in ratio_intervals(smaller, larger, law, level)]
        margin = _ROUNDING * (abs(self.low) + abs(self.high))
        lows = np.maximum(np.minimum(*ends) - margin, self.low)
        highs = np.minimum(np.maximum(*ends) + margin, self.high)
        return [
            UNBOUNDED if math.isnan(low) else Estimate(self._mean(*(max(end, Fraction(0)) for end in pair)), low, high)
            for pair, low, high in zip(pairs, lows.tolist(), highs.tolist(), strict=True)
        ]

    def exact(self, values: Sequence[Fraction], cells: int, group: int) -> list[Fraction | None]:
        """Return the mean in each cell from exact coordinates; None where there is no record."""
        return [self._mean(*pair) if sum(pair) > 0 else None for pair in self._pairs(values, cells)]

    def _pairs(self, values: Sequence[Fraction], cells: int) -> Iterator[tuple[Fraction, Fraction]]:
        return zip(self.above.numbers(values, cells), self.below.numbers(values, cells), strict=True)

    def _at(self, ratios: Floats, is_near_low: npt.NDArray[np.bool_]) -> Floats:
        """Return the mean at each ratio of the smaller sum to the larger one."""
        moved = (self.high - self.low) * (1.0 - 1.0 / (1.0 + np.maximum(ratios, 0.0)))
        return np.where(is_near_low, self.low + moved, self.high - moved)

    def _mean(self, above: Fraction, below: Fraction) -> Fraction:
        return (Fraction(self.high) * above + Fraction(self.low) * below) / (above + below)
