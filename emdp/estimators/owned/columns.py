"""Columns made of several released numbers: weighted sums, quotients of two, variances, and their intervals.

Theorem (weighted sum). Let ``Z_1, ..., Z_k`` be independent noise of one law and grid ``g``, and ``X = sum c_i Z_i``.
With ``a_i = |c_i| scale``, ``P(|X| > t)`` is at most the same for continuous noise at ``t - 1.5 g sum |c_i|``, and for
continuous noise

- Gaussian: that of one Gaussian of deviation ``hypot(a_1, .., a_k)``;
- Laplace, distinct scales: ``sum_i A_i exp(-t/a_i)`` with ``A_i = prod_{j != i} a_i^2/(a_i^2 - a_j^2)``, and it rises
  with every scale.

Proof. Rounding a continuous variable to the grid moves it by at most ``g/2``, and the discrete law is within that of
the rounded one up to a factor that the tail's margin covers (:mod:`emdp.estimators.columns.fieller` for two terms; the
factor is ``1 + O((g/scale)^2)`` a term, ``2^-80`` here). Partial fractions of ``prod 1/(1 + a_i^2 s^2)``. A symmetric
unimodal density convolved with a wider Laplace one has larger tails (Anderson 1955), so that scales that lie near one
another may be moved apart upward.

A quotient is computed from intervals of its numerator and denominator that hold together (Bonferroni), a variance from
intervals of three numbers. Where a denominator is within its noise there is no value, and no bound.
"""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import polars as pl

from emdp.base.classes import dataclass
from emdp.estimators.columns.values import UNBOUNDED, Coordinate, Draw, Estimate, level_below
from emdp.mechanisms import GaussianMechanism
from emdp.privacy.rounding import float_at_least

__all__ = ["Combination", "Quotient", "Spread", "combined_half_width"]

Terms = tuple[tuple[Coordinate, Fraction], ...]
"""Released numbers with public weights."""

APART = 1.02
"""How many times larger a Laplace scale is than the next one, so that partial fractions lose few digits."""

MARGIN = 2.0**-30
"""Relative, outward: far above the error of the tail's sum, at most eight terms with cancelling of at most 25^7."""


def combined_half_width(draw: Draw, terms: Terms, level: float) -> Fraction:
    """Return ``h`` such that a weighted sum of noise is within ``h`` of 0 with probability ``level``, rounded up."""
    own = [abs(weight) / Fraction(coordinate.scale) for coordinate, weight in terms if weight]
    mechanism = draw.mechanism
    if not own or mechanism.is_exact:
        return Fraction(0)
    if len(own) == 1:
        return own[0] * Fraction(draw.half_width(level))
    sizes = sorted((float_at_least(size) for size in own), reverse=True)
    tail = max((1.0 - level) * (1.0 - 2.0**-40), 5e-324)
    grid = Fraction(3, 2) * Fraction(mechanism.grid) * sum(own)
    if isinstance(mechanism, GaussianMechanism):
        from scipy.special import ndtri

        width = -float(ndtri(0.5 * tail)) * math.hypot(*sizes)
    else:
        width = _laplace_quantile(sizes, tail)
    return Fraction(width * mechanism.scale * (1.0 + MARGIN)) + grid


def _laplace_quantile(sizes: Sequence[float], tail: float) -> float:
    apart = [sizes[-1]]
    for size in sizes[-2::-1]:
        apart.append(max(size, apart[-1] * APART))
    largest = apart[-1]
    shares = [size / largest for size in apart]
    factors = [
        math.prod(own**2 / (own**2 - other**2) for number, other in enumerate(shares) if number != place)
        for place, own in enumerate(shares)
    ]

    def above(t: float) -> float:
        return math.fsum(factor * math.exp(-t / own) for factor, own in zip(factors, shares, strict=True))

    low, high = 0.0, 1.0
    while above(high) > tail:
        low, high = high, 2.0 * high
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if above(middle) > tail else (low, middle)
    return high * largest


@dataclass(frozen=True)
class Combination:
    """A weighted sum of released numbers and a public one, with the interval of that sum of their noises."""

    name: str
    terms: Terms
    offset: Fraction = Fraction(0)
    dtype = pl.Float64
    is_noisy = True

    @property
    def is_linear(self) -> bool:
        """Whether it is one number, and perhaps a public one."""
        return len(self.terms) == 1

    def estimates(self, draw: Draw, group: int, level: float) -> list[Estimate]:
        width = combined_half_width(draw, self.terms, level)
        return [
            Estimate(value, -float_at_least(width - value), float_at_least(value + width))
            for value in self._sums(draw.values, draw.cells)
        ]

    def exact(self, values: Sequence[Fraction], cells: int, group: int) -> list[Fraction | None]:
        return [*self._sums(values, cells)]

    def _sums(self, values: Sequence[Fraction], cells: int) -> Iterator[Fraction]:
        return (self.offset + value for value in _sums(self.terms, values, cells))


@dataclass(frozen=True)
class Quotient:
    """``centre + top/bottom`` for two weighted sums of released numbers, between public ends.

    Coverage: numerator and denominator have intervals of level ``1 - (1 - level)/2`` each, and the quotient of every
    pair of numbers in them lies between the least and the largest of the four quotients of ends, the denominator's
    being above 0.
    """

    name: str
    top: Terms
    bottom: Terms
    centre: Fraction
    low: float
    high: float
    dtype = pl.Float64
    is_noisy = True
    is_linear = False

    def estimates(self, draw: Draw, group: int, level: float) -> list[Estimate]:
        return self.within(draw, level_below(0.5 * (1.0 - level)))

    def within(self, draw: Draw, level: float) -> list[Estimate]:
        """Return values, and intervals that hold where numerator and denominator are each in theirs of this level."""
        widths = [combined_half_width(draw, terms, level) for terms in (self.top, self.bottom)]
        pairs = zip(_sums(self.top, draw.values, draw.cells), _sums(self.bottom, draw.values, draw.cells), strict=True)
        return [self._estimate(above, below, *widths) for above, below in pairs]

    def exact(self, values: Sequence[Fraction], cells: int, group: int) -> list[Fraction | None]:
        """Return the value in each cell; None where there is nothing to divide by."""
        pairs = zip(_sums(self.top, values, cells), _sums(self.bottom, values, cells), strict=True)
        return [self.centre + above / below if below > 0 else None for above, below in pairs]

    def _estimate(self, above: Fraction, below: Fraction, slack: Fraction, width: Fraction) -> Estimate:
        least, most = below - width, below + width
        if least <= 0:
            return UNBOUNDED
        ends = [top / under for top in (above - slack, above + slack) for under in (least, most)]
        low, high = -float_at_least(-self.centre - min(ends)), float_at_least(self.centre + max(ends))
        value = min(max(self.centre + above / below, Fraction(self.low)), Fraction(self.high))
        return Estimate(value, *(min(max(end, self.low), self.high) for end in (low, high)))


@dataclass(frozen=True)
class Spread:
    """A variance ``E[x^2] - E[x]^2``, or its root, for ``x`` in [0, 1], times the square of a width.

    Coverage: three numbers, two numerators and the denominator, have intervals of level ``1 - (1 - level)/3`` each.
    Where all hold, both means lie in theirs, and the variance in the image of that box under ``(a, b) -> b - a^2``,
    cut to [0, 1/4] (Popoviciu 1935).
    """

    name: str
    first: Quotient
    second: Quotient
    width: float
    is_root: bool
    dtype = pl.Float64
    is_noisy = True
    is_linear = False

    def estimates(self, draw: Draw, group: int, level: float) -> list[Estimate]:
        each = level_below((1.0 - level) / 3.0)
        pairs = zip(self.first.within(draw, each), self.second.within(draw, each), strict=True)
        return [self._estimate(mean, square) for mean, square in pairs]

    def exact(self, values: Sequence[Fraction], cells: int, group: int) -> list[Fraction | None]:
        """Return the value in each cell; None where there is nothing to divide by."""
        pairs = zip(self.first.exact(values, cells, group), self.second.exact(values, cells, group), strict=True)
        return [None if mean is None or square is None else self._value(mean, square) for mean, square in pairs]

    def _estimate(self, mean: Estimate, square: Estimate) -> Estimate:
        if mean.value is None or square.value is None:
            return UNBOUNDED
        low = self._scaled(max(square.low - math.nextafter(mean.high**2, math.inf), 0.0), -math.inf)
        high = self._scaled(min(square.high - math.nextafter(mean.low**2, -math.inf), 0.25), math.inf)
        return Estimate(self._value(mean.value, square.value), max(low, 0.0), max(high, 0.0))

    def _scaled(self, variance: float, towards: float) -> float:
        variance = max(variance, 0.0)
        number = math.sqrt(variance) * self.width if self.is_root else variance * self.width * self.width
        for _ in range(3):
            number = math.nextafter(number, towards)
        return number

    def _value(self, mean: Fraction, square: Fraction) -> Fraction:
        variance = min(max(square - mean * mean, Fraction(0)), Fraction(1, 4))
        root = Fraction(math.sqrt(variance)) * Fraction(self.width)
        return root if self.is_root else variance * Fraction(self.width) ** 2


def _sums(terms: Terms, values: Sequence[Fraction], cells: int) -> Iterator[Fraction]:
    numbers = [coordinate.numbers(values, cells) for coordinate, _ in terms]
    for own in zip(*numbers, strict=True):
        yield sum((weight * value for (_, weight), value in zip(terms, own, strict=True)), Fraction(0))
