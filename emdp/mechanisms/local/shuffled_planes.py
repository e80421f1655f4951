"""Release of mixed bit planes at user level: the leading binary digits of every user's mean, and what is left of it.

Theorem (multimessage-shuffle.md 1 and 2). A mean ``q`` in ``[centre - B, centre + B]`` is ``y = (q - centre)/B`` in
``[-1, 1]``, written in ``m`` planes ``y = sum_k g_k y_k`` (:mod:`emdp.mechanisms.vector.cube`): ``m - 1`` digits as
signs, and ``y_m`` in ``[-1, 1]``. A user sends, of each plane of each of ``d`` means, ``R`` signs drawn afresh, ``+1``
with probability ``1/2 + t_k y_k/2``, ``t_k = tanh(epsilon_k/2)``, each to a shuffler of its own. All ``n`` users'
signs together are ``(epsilon, delta)``-DP at user level if ``d R`` rounds of place-sign messages of each ``epsilon_k``
are (:func:`~emdp.privacy.shuffle.users.shuffle_total`). The estimate ``B sum_k g_k c_k``, ``c_k = 1/t_k``, times the
mean sign of plane ``k``, is unbiased with a variance of at most

    B^2 (sum_k g_k^2 c_k^2 - sum_(k<m) g_k^2)/(n R),

attained where all ``y_m = 0``; with ``m = 1`` it is that of signs drawn alike.

Proof. Given the user's means the signs are independent; a sign of one shuffler is randomized response of one bit, a
place-sign message with one place, whatever the user's records are. The variance of a sign times ``c_k`` is ``c_k^2 -
y_k^2``, and ``y_k^2 = 1`` for a digit. Signs with a probability from integers are
:class:`emdp.mechanisms.vector.randomizer.SignStrength`: nothing rests on floating point, and there is no slack.

At user level alone. A digit jumps between two bags however near they are, so that no ``alpha`` holds: d_EM-DP is by
:mod:`emdp.mechanisms.local.shuffled_bits`. There, too, is why one shuffler may not have two signs of a user.

Few bits. In place of all means a user may report one of each of ``s`` *blocks* of them, coordinate ``j`` in block ``j
mod s`` of ``a`` means, of a place that is drawn uniformly: ``m s R`` messages of a place and a sign, ``1 + log2 a``
bits each. In the local model they are pure ``R s sum_k epsilon_k``-LDP together, in the shuffle model ``R s`` rounds
of each plane. A report counts for ``a g_k c_k``, so that the variance of a mean is at most ``B^2 (a sum_k g_k^2 c_k^2 -
sum_(k<m) g_k^2)/(n R)``: :mod:`emdp.mechanisms.vector.cube`, whose theorem this is, coordinate by coordinate.

Why planes. ``T`` signs drawn alike leave ``B^2/(n T)`` of rounding, however large ``epsilon`` is. Strengths by
:mod:`emdp.privacy.shuffle.planes` make the noise of ``m`` planes that of a curator's Gaussian to within a factor of
``1 + t_1 < 2`` (the clone pair of a strong sign counts half of its noise), and leave ``B^2 4^-(m-1)/n`` of rounding:
nothing, with 11 planes for a million users. Several signs of each plane are weaker and come nearer.

Intervals. An error is a sum of ``n R m`` independent terms, each with mean 0: a digit's has the law of a sign of known
bias or its mirror image, that of ``y_m`` lies in an interval of length 2. Two bounds hold for all means of users, and
the smaller is taken. Chernoff's: ``P(|error| >= w) <= 2 exp(sum ln E e^(l X) - l w)`` for any ``l > 0``, the larger of
both images for a digit, ``l^2 b^2/2`` (Hoeffding's lemma) for ``y_m``. And that of Berry and Esseen
(:mod:`emdp.mechanisms.tails`) with ``sum E|X|^3/s_0^3``, where ``s_0^2`` and ``s^2`` are the smallest and the largest
variance. Of blocks of several means the terms of a message, which may be
about another mean, are within ``b = max_k (a g_k c_k + g_k)`` of their own mean: Bernstein's bound in place of
Chernoff's, and ``b`` times the variance in place of the third moment.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from emdp.base.arrays import Integers
from emdp.base.checks import check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.mechanisms.local.one_bit import LocalOneBit
from emdp.mechanisms.strength import epsilon_of_ratio
from emdp.mechanisms.tails import bernstein_half, normal_half
from emdp.mechanisms.vector.cube import LARGEST_PLANES, plane_digits, plane_gains
from emdp.mechanisms.vector.randomizer import SignStrength
from emdp.noise.choices import draw_below, draw_bernoulli
from emdp.privacy.rounding import as_decimal, float_up

__all__ = ["ShuffledPlanes", "plane_variance"]

_BITS = 62
_MARGIN = 1e-9
# Relative, added to half widths: above the rounding of their evaluation.


@dataclass(frozen=True, eq=False)
class ShuffledPlanes(LocalOneBit):
    """Mixed bit planes of all users' means, and the means that they estimate.

    Parameters
    ----------
    coordinates : tuple of OneBitCoordinate
        Ranges of the means; their rates are those of the last plane, and not used here.
    users : int
        ``n``.
    messages : int
        ``R m``: signs of each mean that a user sends, a multiple of the number of planes.

    Guarantee
    ---------
    What :func:`emdp.privacy.shuffle.users.shuffle_total` says of ``R`` rounds of place-sign messages of each strength
    for each mean that a user reports, at user level; unmixed pure ``epsilon0``-LDP.

    >>> from emdp.mechanisms.local.one_bit import OneBitCoordinate
    >>> ranges = (OneBitCoordinate(-0.5, 0.5, rate=1.0),)
    >>> planes = ShuffledPlanes(ranges, 1000, messages=4, strengths=(3.031, 2.425, 1.878, 1.878))
    >>> f"{planes.variance:.3e}", planes.bits_per_user
    ('3.054e-05', 4)
    """

    slack_epsilon: ClassVar[float] = 0.0
    """0: probabilities are integers."""

    @property
    def theorem(self) -> str:  # type: ignore[override]
        if self.is_mixed:
            return "mixed bit planes, each sign a place-sign message mixed apart, one product (multimessage-shuffle 2)"
        return "digits of sampled means, whose epsilons add up (local-shuffle-userlevel.md 4.2)"

    # `epsilon_k` of one sign of each plane, the most significant first, 1 to 16 of them.
    strengths: tuple[float, ...] = ()
    blocks: int = 0  # `s`: of how many means a user reports; 0 for all
    is_mixed: bool = True  # Whether messages are mixed; else they are local

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.is_dealt:
            raise UsageError("is_dealt does not fit mixed planes; leave it out.")
        if not 0 <= self.blocks <= len(self.coordinates):
            raise UsageError(f"blocks must be 0 to {len(self.coordinates)}, the means, got {self.blocks}; pass fewer.")
        if not 1 <= len(self.strengths) <= LARGEST_PLANES or self.messages % len(self.strengths):
            raise UsageError(
                f"strengths must be 1 to {LARGEST_PLANES} numbers that divide the {self.messages} messages, got "
                f"{len(self.strengths)}; pass one for each plane."
            )

    @property
    def draws(self) -> int:
        return self.messages // len(self.strengths)

    @property
    def width(self) -> int:
        return len(self.coordinates) * len(self.strengths)

    @property
    def bits_per_user(self) -> int:
        """Bits that a user sends in all, places among them, at most."""
        return self.messages * self.reported * (1 + (self._size(0) - 1).bit_length())

    @property
    def reported(self) -> int:
        """Of how many means a user reports."""
        return self.blocks or len(self.coordinates)

    @property
    def epsilon0(self) -> float:
        """Epsilon of all messages of one user, for whoever sees them before they are mixed; rounded up."""
        own = [min(epsilon_of_ratio(sign.ratio), one) for sign, one in zip(self._signs, self.strengths, strict=True)]
        return float_up(sum(map(as_decimal, own), Fraction(0)) * self.draws * self.reported)

    def deviation(self, coordinate: int) -> float:
        variance = plane_variance(self.strengths, self._size(coordinate)) / (self.users * self.draws)
        return self.coordinates[coordinate].half * math.sqrt(variance)

    @property
    def noise_scale(self) -> float:
        """Largest standard deviation of what one user's messages tell of a mean."""
        return max(self.deviation(place) for place in range(len(self.coordinates))) * math.sqrt(self.users)

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        del unit
        each = ", ".join(f"{own:.4g}" for own in self.strengths)
        about = "each mean" if self.reported == len(self.coordinates) else f"{self.reported} means, drawn by the user"
        sent = f"{self.bits_per_user} of each user: {len(self.strengths)} planes of {about}, {self.draws} signs each"
        told = f"epsilon0 = {self.epsilon0:.6g} of all messages of a user; of one sign by plane {each}"
        return (("mixed bits", sent), ("unmixed bits", told)) if self.is_mixed else (("bits", sent), ("signs", told))

    def encode(self, means: Integers, exponents: Sequence[int], dealt: Integers) -> Integers:
        """Return one sign of every plane of every mean that a user reports, shape (rows, means times planes); else 0.

        Parameters
        ----------
        means : numpy.ndarray of int64
            Shape (rows, dimension): each user's mean times ``2**exponent``.
        exponents : sequence of int
            One a coordinate.
        dealt : numpy.ndarray of int64
            Ignored: nothing is dealt out.
        """
        del dealt
        sent = self.sent(means, exponents)
        signs = np.zeros((len(means), self.width), dtype=np.int64)
        np.put_along_axis(signs, sent >> 1, 2 * (sent & 1) - 1, axis=1)
        return signs

    def sent(self, means: Integers, exponents: Sequence[int]) -> Integers:
        """Return the messages of one draw, shape (rows, planes times reported): twice the column, plus 1 for ``+1``."""
        planes, rows = len(self.strengths), len(means)
        points = np.empty((rows, len(self.coordinates)))
        for j, own in enumerate(self.coordinates):
            values = np.ldexp(means[:, j].astype(np.float64), -exponents[j]) - own.centre
            points[:, j] = np.clip(values / own.half, -1.0, 1.0)
        found = np.empty((rows, planes * self.reported), dtype=np.int64)
        for k, digits in enumerate(plane_digits(points, planes)):
            for block in range(self.reported):
                places = np.full(rows, block, dtype=np.int64)
                if self._size(block) > 1:
                    places += self.reported * draw_below(np.full(rows, self._size(block), dtype=np.int64))
                own_digits = digits[np.arange(rows), places]
                is_plus = draw_bernoulli(self._signs[k].numerators(own_digits), _BITS)
                found[:, k * self.reported + block] = 2 * (places * planes + k) + is_plus
        return found

    def decode(self, ones: Sequence[int], asked: Sequence[int]) -> tuple[Fraction, ...]:
        planes, found, count = len(self.strengths), [], self.users * self.draws
        for j, own in enumerate(self.coordinates):
            told = Fraction(0)
            for k, (gain, sign) in enumerate(zip(plane_gains(planes), self._signs, strict=True)):
                total = 2 * ones[j * planes + k] - asked[j * planes + k]
                told += Fraction(gain) * sign.contrast * self._size(j) * Fraction(total, count)
            found.append(Fraction(own.centre) + Fraction(own.half) * told)
        return tuple(found)

    def interval(self, coordinate: int, value: float, level: float) -> tuple[float, float]:
        own = self.coordinates[coordinate]
        tail, size = 1.0 - check_unit_interval("level", level), self._size(coordinate)
        width = self._half(tail) if size == 1 else self._half_of_blocks(tail, size)
        half = own.half * width * (1.0 + _MARGIN) + own.error
        return max(value - half, own.low), min(value + half, own.high)

    @cached_property
    def _signs(self) -> tuple[SignStrength, ...]:
        return tuple(SignStrength.of(Fraction(as_decimal(own))) for own in self.strengths)

    @cached_property
    def _weights(self) -> tuple[float, ...]:
        # What one sign of each plane moves the estimate of y by.
        gains, count = plane_gains(len(self.strengths)), self.users * self.draws
        return tuple(gain * float(sign.contrast) / count for gain, sign in zip(gains, self._signs, strict=True))

    def _half(self, tail: float) -> float:
        """Return a half width in units of ``B`` that an error exceeds with probability at most ``tail``."""
        return min(self._chernoff(tail), self._normal(tail))

    def _half_of_blocks(self, tail: float, size: int) -> float:
        """Return the same of a mean in a block of several."""
        terms, variance = self.users * self.draws, plane_variance(self.strengths, size)
        gains = plane_gains(len(self.strengths))
        bound = max(gain * (size * float(sign.contrast) + 1.0) for gain, sign in zip(gains, self._signs, strict=True))
        skew = bound * variance / (variance - gains[-1] ** 2) ** 1.5
        return min(bernstein_half(variance, bound, terms, tail), normal_half(variance, skew, terms, tail))

    def _size(self, coordinate: int) -> int:
        """Return how many means the coordinate's block has."""
        block = coordinate % self.reported
        return (len(self.coordinates) - block + self.reported - 1) // self.reported

    def _chernoff(self, tail: float) -> float:
        terms, wanted = self.users * self.draws, math.log(2.0 / tail)

        def width(rate: float) -> float:
            total = 0.0
            for place, (weight, sign) in enumerate(zip(self._weights, self._signs, strict=True)):
                step = rate * weight
                is_last = place == len(self._weights) - 1
                total += 0.5 * step * step if is_last else _log_moment(1.0 / float(sign.contrast), step)
            return (terms * total + wanted) / rate

        guess = math.sqrt(2.0 * wanted) / self._deviation
        return min(width(guess * 2.0 ** (0.125 * step)) for step in range(-40, 9))

    def _normal(self, tail: float) -> float:
        terms, least, third = self.users * self.draws, 0.0, 0.0
        for place, (weight, sign) in enumerate(zip(self._weights, self._signs, strict=True)):
            t = 1.0 / float(sign.contrast)
            is_last = place == len(self._weights) - 1
            least += terms * weight**2 * (1.0 - t * t)
            # E|s - b|^3 = 1 - b^4 of a sign of mean b, which for the last plane is between -t and t
            third += terms * weight**3 * (1.0 if is_last else 1.0 - t**4)
        return normal_half(self._deviation**2, third / least**1.5, 1, tail)

    @property
    def _deviation(self) -> float:
        return math.sqrt(plane_variance(self.strengths) / (self.users * self.draws))


def plane_variance(strengths: Sequence[float], size: float = 1) -> float:
    """Return ``a sum_k g_k^2 c_k^2 - sum_(k<m) g_k^2``: the largest variance of a user's signs, in units of ``B``.

    >>> round(plane_variance((3.031, 2.425, 1.878, 1.878)) / 4000, 8)
    3.054e-05
    """
    gains = plane_gains(len(strengths))
    excess = math.fsum(
        gain**2 / math.sinh(0.5 * min(own, 600.0)) ** 2 for gain, own in zip(gains, strengths, strict=True)
    )
    return gains[-1] ** 2 + size * excess + (size - 1) * math.fsum(gain**2 for gain in gains)


def _log_moment(bias: float, step: float) -> float:
    """Return ``ln E exp(step (s - E s))`` of a sign with mean ``bias`` or ``-bias``, the larger."""
    if step > 350.0:
        return math.inf
    rare = 0.5 * (1.0 - bias)
    # mean -bias: +1 is rare, and moves up by 1 + bias
    up = math.log1p(rare * math.expm1(2.0 * step)) - step * (1.0 - bias)
    down = math.log1p(rare * math.expm1(-2.0 * step)) + step * (1.0 - bias)
    return max(up, down, 0.0)
