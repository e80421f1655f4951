"""Local randomizers of one bounded number: what they share.

A user holds a number ``x``, clips it to ``[low, high]`` and sends one integer, whose law is pure epsilon-LDP: for any
two numbers ``x, x'`` and any message ``m``, ``P(m | x) <= exp(epsilon) P(m | x')``. Nothing is assumed of the users'
numbers. The messages' sum gives an unbiased estimate of the mean of the clipped numbers. Four laws are known here: one
bit, Laplace noise, piecewise and hybrid.

Positions. All four begin alike. With ``u`` the power of two that makes ``high - low`` about ``2^60 u``, the range is
widened outward to multiples of ``u`` (by less than ``u`` a side, and not at all for bounds that are such multiples),
so that it has a whole number ``S`` of units. A number is rounded to a multiple of ``u`` at random, without bias, where
it is finer than ``u``, and clipped; what is left is an exact integer position in ``0, ..., S``. A law on a coarser
grid of ``G + 1`` inputs rounds ``position G/S`` to a whole number at random, up with the fraction's probability, and
then draws from the law of that grid input. As the message's law is then a mixture of grid inputs' laws, with weights
that sum to 1, and any message's probability under every grid input is within ``exp(epsilon)`` of that under every
other, so it is under mixtures: rounding costs no privacy. The mean of the grid input is ``position G/S`` exactly, so
that a law whose unbiased value is linear in the grid input is unbiased for the number itself. Clipping comes first, so
no input lies outside the grid.

Variance. For all four laws the unbiased value ``X`` of a message from the grid input ``g``, in steps of the grid and
counted from the middle (``c = g - G/2``), has ``E X^2 = A c^2 + K`` with constants ``A >= 0`` and ``K`` of the law.
Between two grid inputs, ``c = k + f`` with ``0 <= f < 1``, the mixture has ``E X^2 = A (c^2 + f (1 - f)) + K``, hence
the variance ``(A - 1) c^2 + A f (1 - f) + K``. For ``c >= 0`` (it is even) this grows in ``k`` if ``A >= 1`` and falls
else, so its maximum lies in the last or in the first cell, at ``f = min(1, (A - 1) k + A/2)``, where the derivative
``2 (A - 1) (k + f) + A (1 - 2 f)`` is zero.

Error. The error of a mean of ``n`` messages is an average of independent variables of mean 0, each at most ``b`` in
absolute value and of a variance between ``v`` and ``V``. Two bounds hold for any numbers of the users; the smaller
half width is taken, which depends on nothing private (:mod:`emdp.mechanisms.tails`): Bernstein's, and that of Berry and
Esseen with ``r = sum E|.|^3 sqrt(n)/(sum E|.|^2)^(3/2)``. ``E|.|^3`` is at most ``b E|.|^2``, and at most the root of
``E|.|^2 E|.|^4``, with a fourth moment that is known; so ``r <= min(b/sqrt(v), max E|.|^3/v^(3/2))``.
"""

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import ClassVar

import numpy as np

from emdp.base.arrays import Integers
from emdp.base.checks import check_count, check_finite, check_range, check_unit_interval
from emdp.base.errors import UsageError
from emdp.mechanisms.local.noise import exact_sums
from emdp.mechanisms.tails import bernstein_half, normal_half
from emdp.noise.arrays import check_integer_array
from emdp.noise.choices import draw_below, draw_bernoulli
from emdp.privacy.rounding import float_at_least

__all__ = ["LARGEST_SCALAR_EPSILON", "NUMBER_BITS", "SMALLEST_SCALAR_EPSILON", "ScalarRandomizer"]

SMALLEST_SCALAR_EPSILON, LARGEST_SCALAR_EPSILON = 1e-6, 30.0
"""Strengths that integers over 2^62 follow closely."""

NUMBER_BITS = 64
"""Bits of a message that is a number, at most."""

_UNIT_BITS = 60
# A range has 2^59 to 2^60 units, and up to two more from rounding outward.

_WIDTHS = (1e-150, 1e150)
# Of a range: the squares are floats.

_MARGIN = 1e-9
# Relative, added to a half width: above the rounding of its evaluation.


class ScalarRandomizer(ABC):
    """A law of one integer message about one bounded number, pure epsilon-LDP and unbiased.

    Parameters
    ----------
    low, high : float
        Range of the number, finite, ``low < high``; numbers outside are clipped to it.
    epsilon : float
        Largest epsilon of a message, from 1e-6 to 30, taken as the decimal that it prints as.

    Attributes
    ----------
    epsilon : float
        What a message really costs, computed from the integers of its law and rounded up; at most ``requested``.

    Guarantee
    ---------
    Pure ``epsilon``-LDP of one message for all numbers of a user; sending two costs twice. Each law's module has the
    proof of its grid inputs, this module's text that of the rest.
    """

    name: ClassVar[str]
    theorem: ClassVar[str]
    low: float
    high: float
    requested: float
    epsilon: float

    def __init__(self, low: float, high: float, epsilon: float) -> None:
        self.low, self.high = check_finite("low", low), check_finite("high", high)
        if not self.low < self.high:
            raise UsageError(f"high must be above low = {self.low}, got {self.high}; pass the range of the number.")
        check_range("high - low", self.high - self.low, *_WIDTHS)
        self.requested = check_range("epsilon", epsilon, SMALLEST_SCALAR_EPSILON, LARGEST_SCALAR_EPSILON)
        self._unit_exponent = math.frexp(self.high - self.low)[1] - _UNIT_BITS
        unit = Fraction(2) ** self._unit_exponent
        self._origin = math.floor(Fraction(self.low) / unit)
        self._span = math.ceil(Fraction(self.high) / unit) - self._origin
        self._width = self._span * unit
        self._centre = self._origin * unit + self._width / 2

    def encode(self, values: Integers, exponent: int) -> Integers:
        """Return one fresh message for each number.

        Parameters
        ----------
        values : numpy.ndarray of int64
            Shape (users,): each user's number times ``2**exponent``. Numbers outside the range are clipped to it.
        exponent : int
            Public, the same for all.

        Returns
        -------
        numpy.ndarray of int64
            Shape (users,).

        Raises
        ------
        UsageError
            If the numbers are no integers, or the exponent is so large that all of them are next to zero.
        """
        return self._draw(self._positions(values, exponent))

    def total(self, messages: Integers) -> int:
        """Return what the messages add up to, exactly; totals of blocks of messages add up to that of all."""
        return exact_sums(messages.reshape(-1, 1))[0]

    def estimate(self, total: int, count: int) -> Fraction:
        """Return the unbiased estimate of the mean of the clipped numbers of ``count`` users, from their total."""
        return self._centre + self._shift + self._weight * Fraction(int(total), check_count("count", count))

    def variance(self, value: float | None = None) -> float:
        """Return the exact variance of one message's unbiased value, rounded up.

        Parameters
        ----------
        value : float, optional
            The user's number, clipped; taken at the nearest of the ``2^60`` positions. None: the largest in the range.
        """
        return float_at_least(self._relative_variance(value) * self._width**2)

    @property
    def start(self) -> Fraction:
        """The number that whatever lies below the range is moved to: ``low``, rounded down to its unit."""
        return Fraction(2) ** self._unit_exponent * self._origin

    def interval(self, estimate: float, count: int, level: float) -> tuple[float, float]:
        """Return the ends of an interval that holds the mean of the clipped numbers with probability ``level``.

        Parameters
        ----------
        estimate : float
            The released estimate of ``count`` users' mean.
        count : int
            How many users sent a message, at least 1.
        level : float
            Probability, in (0, 1); a bound that holds for any numbers, not an approximation.

        Returns
        -------
        tuple of float
            Ends within ``[low, high]``.
        """
        value = check_finite("estimate", estimate)
        tail = 1.0 - check_unit_interval("level", level)
        below, above = self._ends(value, check_count("count", count), tail)
        # An estimate is rounded to a float, the range to units.
        margin = math.ulp(max(abs(value), abs(self.low), abs(self.high))) + 2.0 * float(self._width) * 2.0**-_UNIT_BITS
        return (
            min(max(below - margin, self.low), self.high),
            max(min(above + margin, self.high), self.low),
        )

    @abstractmethod
    def _draw(self, positions: Integers) -> Integers:
        """Return a message for each position in ``0, ..., span``."""

    _steps: int
    _growth: Fraction
    _constant: Fraction
    # G, A and K of the module's text; G is even.

    _shift: Fraction = Fraction(0)
    _weight: Fraction
    # The unbiased value of a total of one message is centre + shift + weight total.

    _fourth_moment: tuple[Fraction, Fraction, Fraction]
    # E(X - c)^4 = m0 + m2 c^2 + m4 c^4 for a grid input, in widths; a law with ends of its own needs none.

    _reach: Fraction
    # Largest distance of a message's unbiased value from the centre, in widths; a law without one has its own ends.

    def _relative_variance(self, value: float | None) -> Fraction:
        # In units of the squared width.
        half = self._steps // 2
        growth = self._growth
        if value is None:
            cell = half - 1 if growth >= 1 else 0
            offset = min(Fraction(1), (growth - 1) * cell + growth / 2)
        else:
            clipped = min(max(check_finite("value", value), self.low), self.high)
            position = round(Fraction(clipped) / Fraction(2) ** self._unit_exponent) - self._origin
            distance = abs(Fraction(position * self._steps, self._span) - half)
            cell = math.floor(distance)
            offset = distance - cell
        return ((growth - 1) * (cell + offset) ** 2 + growth * offset * (1 - offset) + self._constant) / self._steps**2

    def _third_moment(self) -> float:
        # Largest E|X - x|^3, in cubed widths, by Cauchy and Schwarz from the fourth moment, quadratic in c^2.
        first, second, third = self._fourth_moment
        squares = [Fraction(0), Fraction(1, 4)]
        if third < 0:
            squares.append(min(max(-second / (2 * third), Fraction(0)), Fraction(1, 4)))
        fourth = float(max(first + second * square + third * square**2 for square in squares))
        # By Minkowski's inequality: a grid input is less than a step from the number.
        fourth = (fourth**0.25 + 1.0 / self._steps) ** 4
        return math.sqrt(float(self._relative_variance(None)) * fourth)

    def _half_width(self, count: int, tail: float) -> float:
        # In widths.
        largest, bound = float(self._relative_variance(None)), float(self._reach) + 0.5
        lowest = float(self._constant / self._steps**2 + min(Fraction(0), self._growth - 1) / 4)
        skew = min(bound / math.sqrt(lowest), self._third_moment() / lowest**1.5)
        half = min(bernstein_half(largest, bound, count, tail), normal_half(largest, skew, count, tail))
        return half * (1.0 + _MARGIN)

    def _ends(self, value: float, count: int, tail: float) -> tuple[float, float]:
        half = self._half_width(count, tail) * float(self._width)
        return value - half, value + half

    def _positions(self, values: Integers, exponent: int) -> Integers:
        array = check_integer_array("values", values, low=-(2**63), high=2**63 - 1)
        shift = -check_count("exponent", exponent, minimum=-(2**20)) - self._unit_exponent
        if shift < -62:
            raise UsageError(f"exponent must be at most {62 - self._unit_exponent} for this range; pass a smaller one.")
        if shift < 0:
            array = (array >> -shift) + draw_bernoulli(array & (2**-shift - 1), -shift)
            shift = 0
        top = self._origin + self._span
        below, above = array <= (self._origin >> shift), array >= -((-top) >> shift)
        # Modulo 2^64 throughout; what is neither below nor above ends in the range, where that is exact.
        scaled = array.view(np.uint64) << np.uint64(shift) if shift < 64 else np.zeros(array.size, dtype=np.uint64)
        inside = (scaled - np.uint64(self._origin % 2**64)).view(np.int64)
        inside[below] = 0
        inside[above] = self._span
        return inside

    def _on_grid(self, positions: Integers) -> Integers:
        """Return grid inputs ``0, ..., steps`` of mean ``position steps/span``: the next below or above, at random."""
        steps, span = np.uint64(self._steps), np.uint64(self._span)
        inputs: Integers = np.floor(positions * (self._steps / self._span)).astype(np.int64)
        # The guess is at most 1 off; the rest is exact modulo 2^64, and so itself.
        rest = (positions.view(np.uint64) * steps - inputs.view(np.uint64) * span).view(np.int64)
        wrong = (rest >= self._span).astype(np.int64) - (rest < 0)
        inputs += wrong
        rest -= wrong * self._span
        inputs += draw_below(np.full(positions.size, self._span)) < rest
        return inputs
