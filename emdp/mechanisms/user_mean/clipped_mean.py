"""Central noise for a mean of clipped fixed-point numbers, calibrated to integers, so that nothing is left as slack.

Theorem. Each user's number is rounded to a multiple of the public unit ``u``, and clipped to ``[a u, b u]``, ``a`` and
``b`` integers. Replacing a user changes the integer sum by at most ``b - a``.

1. The sum plus a discrete Laplace integer of scale ``t >= (b - a)/epsilon`` is ``epsilon``-DP: probabilities of one
   output differ by a factor ``exp(|shift|/t)`` at most (EMD 8.5).
2. With Gaussian noise for a sensitivity of ``(b - a) u/n`` at ``epsilon - 2^-34`` and ``delta``
   (:mod:`emdp.mechanisms.central.gaussian`), whose slack is below ``2^-34``, the mean is ``(epsilon, delta)``-DP.

3. Of users who may have no number the sum of ``v - c`` and ``s`` times the number of those who have one, ``c`` an
   integer near the middle, are within ``b - a`` together (:mod:`emdp.mechanisms.user_mean.somewhere`), and have that
   noise each.

``a = floor(low/u)`` and ``b = ceil(high/u)``, so a number within the bounds stays as it is up to ``u/2``. The unit is
that of the fixed point, or coarser where the noise's scale would have more than ``2^41`` of them.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from emdp.base.arrays import Integers
from emdp.base.checks import check_count, check_finite, check_positive, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import InternalError, UsageError
from emdp.mechanisms.central.gaussian import GaussianMechanism, least_gaussian_delta
from emdp.mechanisms.crowd import Crowd, GatheredUsers, Groups, Sums
from emdp.mechanisms.local.noise import exact_sums
from emdp.mechanisms.user_mean.range_bins import ABSENT
from emdp.noise.discrete_laplace import draw_discrete_laplace
from emdp.privacy.rounding import as_decimal, float_at_least, float_down

__all__ = ["ClippedMean", "best_clipped_mean"]

_SCALE_BITS = 41
# The noise's scale is below 2^41 units and, where the fixed point has so many, at least 2^40.

_RESERVE = Fraction(1, 2**34)
# Of epsilon, for the slack of Gaussian noise: 12 times 2^-40 and the smaller terms.

_MARGIN = 1.0 + 1e-12
# Above the rounding of a half width.


class _Cut(NamedTuple):
    """Integers that numbers are clipped to, and their unit ``2**-exponent``."""

    low: int
    high: int
    exponent: int

    @property
    def unit(self) -> Fraction:
        return 1 / Fraction(2) ** self.exponent

    @property
    def middle(self) -> int:
        return (self.low + self.high) // 2

    def weight(self, *, is_gaussian: bool) -> int:
        """What having a number weighs, in units, so that both sums move by ``high - low`` together."""
        width = self.high - self.low
        farthest = width - width // 2
        if width < 2:
            raise UsageError("exponent must be larger, so that a number lies between the bounds; scale the numbers.")
        return math.isqrt(width**2 - farthest**2) if is_gaussian else width - farthest


@dataclass(frozen=True)
class _Clipped:
    """Asks for the sum of users' numbers, rounded and clipped, and for how many users there are."""

    size: ClassVar[int] = 2
    """The sum and the number."""

    cut: _Cut
    exponent: int

    def sums(self, values: Integers, groups: Groups | None) -> Sums:
        """Return both, of all users."""
        del groups
        block, exponent, cut = values, self.exponent, self.cut
        rounded = np.clip(_coarsened(block, exponent - cut.exponent), cut.low, cut.high)
        return np.array([exact_sums(rounded)[0], len(block)], dtype=object)


@dataclass(frozen=True)
class _Somewhere:
    """Asks for the sum of how far users' numbers, rounded and clipped, are above the middle, and for three counts.

    Parameters
    ----------
    cut, exponent
        As of :class:`_Clipped`.
    """

    size: ClassVar[int] = 3
    """The sum, the users who have a number, and all."""

    cut: _Cut
    exponent: int

    def sums(self, values: Integers, groups: Groups | None) -> Sums:
        """Return the three, of all users."""
        del groups
        cut, known = self.cut, values[values[:, 0] != ABSENT]
        rounded = np.clip(_coarsened(known, self.exponent - cut.exponent), cut.low, cut.high)
        total = int(exact_sums(rounded)[0]) - len(known) * cut.middle
        return np.array([total, len(known), len(values)], dtype=object)


@dataclass(frozen=True)
class ClippedMean:
    """A noisy mean of users' numbers, clipped to an interval.

    >>> mean = ClippedMean(0.0, 6.0, 1000, 1.0)
    >>> round(mean.deviation, 6), abs(float(mean.release(iter([np.full(1000, 3)]), 0)) - 3) < 1
    (0.008485, True)
    """

    # low, high: The interval, `low < high`.
    low: float
    high: float
    users: int  # `n`
    epsilon: float  # What it costs, positive
    delta: float = 0.0  # 0 for Laplace noise, above 0 for Gaussian noise

    def __post_init__(self) -> None:
        low, high = check_finite("low", self.low), check_finite("high", self.high)
        if not low < high or not math.isfinite(high - low):
            raise UsageError(f"high must be above low = {low}, got {high}; pass the interval of the numbers.")
        check_count("users", self.users)
        check_positive("epsilon", self.epsilon)
        check_unit_interval("delta", self.delta, zero=True)

    @property
    def name(self) -> str:
        """The noise, in words."""
        return "Gaussian noise" if self.delta > 0 else "discrete Laplace noise"

    @cached_property
    def deviation(self) -> float:
        """Standard deviation of the noise, where the fixed point is fine."""
        if self.delta > 0:
            sensitivity = Fraction(self.high) - Fraction(self.low)
            return self._gaussian(sensitivity / self.users).standard_deviation
        return math.sqrt(2.0) * (self.high - self.low) / (self.users * self.epsilon)

    def half_width(self, tail: float, exponent: int) -> float:
        """Return ``h``: the mean of the clipped numbers is this near to the answer, but for probability ``tail``.

        ``P(|Z| > k) = 2 q^(k+1)/(1 + q)``, ``q = exp(-1/t)``, is at most ``exp(-k/t)``, as ``2 q <= 1 + q``.

        Parameters
        ----------
        tail : float
            In (0, 1).
        exponent : int
            Of the fixed point.
        """
        cut = self._cut(exponent)
        return (self._noise_width(tail, cut, 1) + 0.5 * float(cut.unit)) * _MARGIN

    def release(self, blocks: Iterator[Integers], exponent: int) -> Fraction:
        """Return the noisy mean of all users' numbers: this spends.

        Parameters
        ----------
        blocks : iterator of numpy.ndarray of int64
            Numbers times ``2**exponent``, of all ``users`` together.
        exponent : int
            Of the fixed point.
        """
        return self.ask(GatheredUsers((block.reshape(-1, 1) for block in blocks), self.users), exponent)

    def ask(self, crowd: Crowd, exponent: int) -> Fraction:
        """Return the noisy mean of all users' only number, of which nothing is asked any more: this spends."""
        cut = self._cut(exponent)
        total, count = map(int, crowd.added(_Clipped(cut, exponent), is_last=True))
        if count != self.users:
            raise InternalError("a mean got another number of users than was planned; please report it.")
        if self.delta > 0:
            return self._gaussian(self._sensitivity(cut)).release([total * cut.unit / self.users])[0]
        return (total + draw_discrete_laplace(self._scale(cut), 1)[0]) * cut.unit / self.users

    def ask_somewhere(self, crowd: Crowd, exponent: int) -> tuple[Fraction, Fraction]:
        """Return the noisy mean of what users' numbers are above :meth:`middle`, and the share of users who have one.

        Both are of all users, of whom nothing is asked any more: this spends.
        """
        cut = self._cut(exponent)
        weight, whole = cut.weight(is_gaussian=self.delta > 0), self.users
        total, some, count = map(int, crowd.added(_Somewhere(cut, exponent), is_last=True))
        if count != self.users:
            raise InternalError("a mean got another number of users than was planned; please report it.")
        if self.delta > 0:
            unit = cut.unit / whole
            above, below = self._gaussian(self._sensitivity(cut), 2).release([total * unit, weight * some * unit])
            return above, below / (weight * cut.unit)
        first, second = draw_discrete_laplace(self._scale(cut), 2)
        return (total + first) * cut.unit / whole, Fraction(weight * some + second, weight * whole)

    def half_widths(self, tail: float, exponent: int) -> tuple[float, float]:
        """Return how near both answers of :meth:`ask_somewhere` are, each but for a probability of ``tail``."""
        cut = self._cut(exponent)
        half = float(0.5 * cut.unit) * _MARGIN
        noise = self._noise_width(tail, cut, 2)
        weight = float(cut.weight(is_gaussian=self.delta > 0) * cut.unit)
        return noise * _MARGIN + half, noise / weight * _MARGIN

    def middle(self, exponent: int) -> Fraction:
        """Return the number that both answers of :meth:`ask_somewhere` are about."""
        cut = self._cut(exponent)
        return cut.middle * cut.unit

    def _noise_width(self, tail: float, cut: _Cut, dimension: int) -> float:
        if self.delta > 0:
            gaussian = self._gaussian(self._sensitivity(cut), dimension)
            return gaussian.interval_half_width(min(1.0 - tail, 1.0 - 2.0**-53))
        scaled = self._scale(cut) * -math.log(check_unit_interval("tail", tail)) + 1.0
        return scaled * float(cut.unit) / self.users

    def _cut(self, exponent: int) -> _Cut:
        rough = (self.high - self.low) / self.epsilon
        finest = min(exponent, _SCALE_BITS - math.frexp(rough)[1])
        scale = Fraction(2) ** finest
        low, high = math.floor(Fraction(self.low) * scale), math.ceil(Fraction(self.high) * scale)
        # What no 64-bit integer reaches need not be cut off.
        low, high = max(low, -(2**63)), min(high, 2**63 - 1)
        if low >= high:
            raise UsageError(f"exponent must be smaller for bounds from {self.low}, got {exponent}; scale the numbers.")
        return _Cut(low, high, finest)

    def _sensitivity(self, cut: _Cut) -> Fraction:
        return (cut.high - cut.low) * cut.unit / self.users

    def _scale(self, cut: _Cut) -> float:
        return float_at_least((cut.high - cut.low) / as_decimal(self.epsilon))

    def _gaussian(self, sensitivity: Fraction, dimension: int = 1) -> GaussianMechanism:
        alpha = float_down(as_decimal(self.epsilon) - _RESERVE)
        moved = float_at_least(sensitivity)
        mechanism = GaussianMechanism(sensitivity=moved, alpha=alpha, delta=self.delta, dimension=dimension)
        if as_decimal(mechanism.alpha) + as_decimal(mechanism.slack_epsilon) > as_decimal(self.epsilon):
            raise InternalError("the slack of Gaussian noise is larger than was kept for it; please report it.")
        return mechanism


def best_clipped_mean(low: float, high: float, users: int, epsilon: float, delta: float) -> ClippedMean:
    """Return the mean with the smaller noise: Laplace, or Gaussian where ``delta`` allows it.

    >>> best_clipped_mean(0.0, 1.0, 100, 1.0, 1e-6).name, best_clipped_mean(0.0, 1.0, 100, 1.0, 0.2).name
    ('discrete Laplace noise', 'Gaussian noise')
    """
    laplace = ClippedMean(low, high, users, epsilon)
    if delta <= least_gaussian_delta(1):
        return laplace
    gaussian = ClippedMean(low, high, users, epsilon, delta)
    return gaussian if gaussian.deviation < laplace.deviation else laplace


def _coarsened(values: Integers, bits: int) -> Integers:
    """Return integers over ``2**bits``, rounded to the nearest, without overflow."""
    if bits == 0:
        return values
    shift = min(bits, 63)
    return np.asarray((values >> shift) + ((values >> (shift - 1)) & 1), dtype=np.int64)
