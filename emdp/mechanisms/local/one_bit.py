"""Release of one bit a user in the local model: a sign whose mean is the user's own mean, scaled.

Theorem (EMD 4, "One-bit test functions"). Let ``g: X -> [-B, B]`` change by at most ``l d_X``, so that the mean ``q``
of a bag changes by at most ``l d_em``. Report ``s = +1`` with probability ``1/2 + t q/(2B)``, ``t = B e/(1 + B e)``,
``e = alpha/l``, else ``-1``. This is ``(alpha, 0)`` unbounded local d_EM-DP for bags of any sizes, and ``ln(1 + 2 B
e)`` user-level. ``B s/t`` is unbiased for ``q`` with variance ``B^2/t^2 - q^2``.

Proof. Both probabilities are at least ``(1 - t)/2 = 1/(2 (1 + B e))`` and change by at most ``t l d_em/(2 B)``; along
the segment between two values of ``q`` the derivative of their logarithms adds up to at most ``t l d_em (1 + B e)/B =
e l d_em = alpha d_em``. Their quotient is at most ``(1 + t)/(1 - t) = 1 + 2 B e``. Conversely ``e = (exp(epsilon) -
1)/(2 B)`` makes it ``epsilon`` user-level private, with ``t = tanh(epsilon/2)``.

Several bits of one mean, each drawn afresh, add up; mixed apart they are :mod:`emdp.mechanisms.local.shuffled_bits`.

Vectors. Either every user reports a bit for every coordinate at ``alpha/d`` each (composition), or for one coordinate
at the whole ``alpha``, the coordinates dealt out by a uniform permutation that does not depend on the data.

Rounding. Probabilities are computed in doubles, within ``2^-48`` of the formula, and ``q`` within
``statistic_error``; so beside ``alpha d_em`` there is a slack of at most ``2 * 2^-48/((1 - t)/2) + 2 e
statistic_error`` a bit. The bits themselves are exact for those probabilities
(:func:`emdp.noise.choices.draw_bernoulli`).

Error. The number of ``+1`` is a sum of independent bits with mean probability ``p``. By Hoeffding 1956 each tail of
it beyond one unit from its mean is at most the binomial's with that ``p``, so that the Clopper-Pearson interval,
widened to one unit on each side, holds. Where coordinates are dealt out the bits are those of a sample without
replacement, to which Chernoff's bound of the binomial applies (Hoeffding 1963), and ``KL(k/n, p) <= ln(2/tail)/n`` is
inverted.
"""

import math
import sys
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

import numpy as np

from emdp.base.arrays import Integers
from emdp.base.checks import check_count, check_finite, check_positive, check_range, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.noise.choices import draw_bernoulli, draw_permutation

__all__ = ["LocalOneBit", "OneBitCoordinate"]

_BITS = 62
_PROBABILITY_ERROR = 2.0**-48
# Of a computed probability: ten roundings of numbers up to 1.


@dataclass(frozen=True)
class OneBitCoordinate:
    """Public facts about one coordinate."""

    # low, high: Range of a user's mean, `low < high`.
    low: float
    high: float
    # `e`: how fast the log-probability may move, per unit of the coordinate: `alpha/l`, or `(exp(epsilon) - 1)/(2 B)`;
    # rounded down.
    rate: float
    error: float = 0.0  # Bound on |computed - exact| of a user's mean

    def __post_init__(self) -> None:
        check_finite("low", self.low)
        check_positive("rate", self.rate)
        check_range("error", self.error, 0.0, sys.float_info.max)
        if not self.low < check_finite("high", self.high):
            raise UsageError(f"high must be above low = {self.low}, got {self.high}; pass the range of the mean.")

    @property
    def centre(self) -> float:
        """Middle of the range."""
        return 0.5 * self.low + 0.5 * self.high

    @property
    def half(self) -> float:
        """``B``, rounded up."""
        return math.nextafter(max(self.high - self.centre, self.centre - self.low), math.inf)

    @property
    def strength(self) -> float:
        """``t``, rounded down."""
        product = self.half * self.rate
        return product / (1.0 + product) * (1.0 - 2.0**-50)

    @property
    def slack(self) -> float:
        """Additive epsilon of one bit; see the module's text."""
        floor = 0.5 * (1.0 - self.strength)
        return 2.0 * _PROBABILITY_ERROR / floor + 2.0 * self.rate * self.error


@dataclass(frozen=True, eq=False)
class LocalOneBit:
    """Signs of all users, and the means that they estimate.

    Raises
    ------
    UsageError
        If there are too few users.

    >>> coordinate = OneBitCoordinate(0.0, 1.0, rate=1.0)
    >>> local = LocalOneBit((coordinate,), users=50_000)
    >>> ones, asked = local.tally(local.encode(np.zeros((50_000, 1), dtype=np.int64), (51,), np.zeros(50_000, int)))
    >>> abs(float(local.decode(ones, asked)[0])) < 0.1
    True
    """

    theorem: ClassVar[str] = "one bit a user: P(+1) = 1/2 + t q/(2B), t = Be/(1 + Be) (EMD 4, one-bit test functions)"
    is_exact: ClassVar[bool] = False
    slack_delta: ClassVar[float] = 0.0

    coordinates: tuple[OneBitCoordinate, ...]  # With the rates that each bit has
    users: int  # How many users there are; at least as many as coordinates where these are dealt out
    is_dealt: bool = False  # Whether a user reports one coordinate instead of all
    messages: int = 1  # Bits of each coordinate that a user reports

    def __post_init__(self) -> None:
        if not self.coordinates:
            raise UsageError("coordinates is empty; pass at least one.")
        check_count("users", self.users, minimum=len(self.coordinates) if self.is_dealt else 1)
        check_count("messages", self.messages)

    @property
    def draws(self) -> int:
        """How often each user's :meth:`encode` is called."""
        return self.messages

    @property
    def width(self) -> int:
        """Columns of a draw: signs of a user that are counted apart."""
        return len(self.coordinates)

    @property
    def slack_epsilon(self) -> float:
        """Additive epsilon of one user's messages, rounded up."""
        slacks = [coordinate.slack * self.messages for coordinate in self.coordinates]
        return math.nextafter(max(slacks) if self.is_dealt else math.fsum(slacks), math.inf)

    @property
    def bits(self) -> int:
        """Number of bits of the coordinate that has fewest."""
        return self.messages * (self.users // len(self.coordinates) if self.is_dealt else self.users)

    def deviation(self, coordinate: int) -> float:
        """Return the largest standard deviation of a coordinate's estimate: ``B/t`` over the root of the bits."""
        own = self.coordinates[coordinate]
        return own.half / own.strength / math.sqrt(self.bits)

    @property
    def variance(self) -> float:
        """Largest mean variance of a coordinate's estimate."""
        return math.fsum(self.deviation(j) ** 2 for j in range(len(self.coordinates))) / len(self.coordinates)

    @property
    def noise_scale(self) -> float:
        """Largest ``B/t``: the standard deviation of one user's message, scaled."""
        return max(own.half / own.strength for own in self.coordinates)

    def expected_absolute_error(self, coordinate: int) -> float:
        """Return about the mean of |error| of a coordinate, where its mean lies in the middle of the range."""
        return self.deviation(coordinate) * math.sqrt(2.0 / math.pi)

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        del unit
        asked = "one coordinate a user, dealt out at random" if self.is_dealt else "every coordinate of every user"
        scales = ", ".join(f"{own.half / own.strength:.6g}" for own in self.coordinates[:8])
        more = ", ..." if len(self.coordinates) > 8 else ""
        return (("one bit", f"for {asked}; a bit counts for {scales}{more}"),)

    def deal(self) -> Integers:
        """Return the coordinate that each of all users reports, dealt out evenly at random; zeros for a single one."""
        if not self.is_dealt:
            return np.zeros(self.users, dtype=np.int64)
        return draw_permutation(self.users) % len(self.coordinates)

    def encode(self, means: Integers, exponents: Sequence[int], dealt: Integers) -> Integers:
        """Return one message of each user: +1 or -1 for each coordinate, 0 for one that is not reported.

        Parameters
        ----------
        means : numpy.ndarray of int64
            Shape (rows, dimension): each user's mean times ``2**exponent``.
        exponents : sequence of int
            One a coordinate.
        dealt : numpy.ndarray of int64
            Shape (rows,): the coordinate that each reports, where these are dealt out.
        """
        signs = np.zeros(means.shape, dtype=np.int64)
        for j, own in enumerate(self.coordinates):
            rows = np.flatnonzero(dealt == j) if self.is_dealt else np.arange(len(means))
            values = np.ldexp(means[rows, j].astype(np.float64), -exponents[j]) - own.centre
            chance = 0.5 + 0.5 * own.strength * np.clip(values / own.half, -1.0, 1.0)
            numerators = np.rint(np.ldexp(chance, _BITS)).astype(np.int64)
            signs[rows, j] = 2 * draw_bernoulli(numerators, _BITS).astype(np.int64) - 1
        return signs

    def tally(self, messages: Integers) -> tuple[list[int], list[int]]:
        """Return for each coordinate how many +1 there are, and how many bits."""
        return (messages > 0).sum(axis=0).tolist(), (messages != 0).sum(axis=0).tolist()

    def decode(self, ones: Sequence[int], asked: Sequence[int]) -> tuple[Fraction, ...]:
        """Return the unbiased estimates, from the sums of tallies over all users."""
        return tuple(
            self._value(own, Fraction(plus, count))
            for own, plus, count in zip(self.coordinates, ones, asked, strict=True)
        )

    def interval(self, coordinate: int, value: float, level: float) -> tuple[float, float]:
        """Return the ends of an interval that holds the exact mean with probability at least ``level``."""
        own = self.coordinates[coordinate]
        tail = 1.0 - check_unit_interval("level", level)
        count = self.asked(coordinate)
        plus = round(count * (0.5 + 0.5 * own.strength * (value - own.centre) / own.half))
        low, high = (_chernoff if self.is_dealt else _clopper_pearson)(min(max(plus, 0), count), count, tail)
        ends = (float(self._value(own, Fraction(end))) for end in (low, high))
        first, second = ends
        return max(first, own.low), min(second, own.high)

    def asked(self, coordinate: int) -> int:
        """Return how many bits of a coordinate all users send."""
        if not self.is_dealt:
            return self.users * self.messages
        whole, rest = divmod(self.users, len(self.coordinates))
        return (whole + (coordinate < rest)) * self.messages

    def _value(self, own: OneBitCoordinate, share: Fraction) -> Fraction:
        return Fraction(own.centre) + (2 * share - 1) * Fraction(own.half) / Fraction(own.strength)


def _clopper_pearson(plus: int, count: int, tail: float) -> tuple[float, float]:
    from scipy.special import betaincinv

    low = float(betaincinv(plus, count - plus + 1, 0.5 * tail)) if plus > 0 else 0.0
    high = float(betaincinv(plus + 1, count - plus, 1.0 - 0.5 * tail)) if plus < count else 1.0
    # Hoeffding's comparison begins one unit from the mean.
    return min(low, max(0.0, (plus - 1) / count)), max(high, min(1.0, (plus + 1) / count))


def _chernoff(plus: int, count: int, tail: float) -> tuple[float, float]:
    share, limit = plus / count, math.log(2.0 / tail) / count
    return _farthest(share, 0.0, limit), _farthest(share, 1.0, limit)


def _farthest(share: float, end: float, limit: float) -> float:
    """Return a ``p`` between ``share`` and ``end`` beyond which ``KL(share, p) > limit``, rounded outward."""
    inner, outer = share, end
    for _ in range(100):
        middle = 0.5 * (inner + outer)
        if _divergence(share, middle) > limit:
            outer = middle
        else:
            inner = middle
    return outer


def _divergence(a: float, p: float) -> float:
    if not 0.0 < p < 1.0:
        return 0.0 if a == p else math.inf
    first = a * math.log(a / p) if a > 0 else 0.0
    second = (1.0 - a) * math.log((1.0 - a) / (1.0 - p)) if a < 1 else 0.0
    return first + second
