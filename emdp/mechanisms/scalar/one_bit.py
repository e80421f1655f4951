"""Randomizer of one bit: a sign whose mean is the user's number, scaled.

Theorem (LSU 1.2, OneBitScalar; Duchi, Jordan and Wainwright in one dimension). With ``t`` in [-1, 1] the number's
place in its range, send ``s = +1`` with probability ``1/2 + t z/2``, else ``-1``. With ``z = tanh(epsilon/2)`` this is
pure epsilon-LDP, ``s/z`` is unbiased for ``t``, and its variance is ``1/z^2 - t^2``.

Law. With ``a`` an integer, a fair sign of the number's position (``S`` units wide, position ``w``) is high with
probability ``w/S``, and is sent as it is with probability ``a/2^62``, else turned round. Both draws are exact, so
``P(+1) = b + (a/2^62 - b) w/S`` with ``b = 1 - a/2^62``, which is the theorem's with ``z = 2 a/2^62 - 1``.

Proof. Each probability lies between ``b`` and ``a/2^62 > b``, so two of them differ by a factor of at most ``a/(2^62 -
a)``, whose logarithm, rounded up, is ``epsilon``; ``a`` is the largest integer for which that is at most the epsilon
asked for. ``E s = z (2 w/S - 1) = z t``, and ``s^2 = 1``.

Several signs. With ``T = messages`` a user sends ``T`` such signs, each drawn afresh from the number and, in the
shuffle model, each mixed by itself (multimessage-shuffle.md 1): only their sum over all users enters. Together they are
``T`` times ``epsilon``-LDP, and the value ``X`` of a user's signs, their mean over ``z``, has ``E X^2 = 1/(T z^2) + (1
- 1/T) t^2``: a variance of ``(1/z^2 - t^2)/T``, since given the number signs are independent.

Error. The number of ``+1`` is a sum of independent bits with mean probability ``p``, linear in the mean sought. By
Hoeffding 1956 each tail of it beyond one unit from its mean is at most the binomial's with that ``p``, so that the
Clopper-Pearson interval, widened to one unit on each side, holds.
"""

import math
from fractions import Fraction
from typing import ClassVar

import numpy as np

from emdp.base.arrays import Integers
from emdp.base.checks import check_count
from emdp.base.classes import dataclass
from emdp.mechanisms.scalar.randomizer import ScalarRandomizer
from emdp.mechanisms.strength import epsilon_of_ratio, inside_numerator, ratio_of
from emdp.mechanisms.weights import TOTAL
from emdp.noise.choices import draw_below, draw_bernoulli
from emdp.privacy.rounding import as_decimal, float_up

__all__ = ["OneBitScalar", "Signs"]

_BITS = 62
_MARGIN = 1e-9
# Relative, taken off a tail: above the error of the incomplete beta function's inverse.

_HALF_STEPS = 2**20
# Half of the grid on which the variance of several signs is computed: its cells hardly count.


class OneBitScalar(ScalarRandomizer):
    """The sign of a number's place in its range, by randomized response.

    Messages are ``+1`` and ``-1``, or a user's ``messages`` of them added up. Parameters, errors and the guarantee are
    those of :class:`emdp.mechanisms.scalar.randomizer.ScalarRandomizer`, ``epsilon`` that of one sign; ``self.epsilon``
    is that of all of a user's. This module's text has the proof.

    >>> law = OneBitScalar(0.0, 10.0, epsilon=1.0)
    >>> law.epsilon, round(law.variance(), 4), law.variance(10.0) < law.variance(5.0)
    (1.0, 117.0674, True)
    >>> messages = law.encode(np.full(100_000, 7 * 2**40), 40)
    >>> abs(float(law.estimate(law.total(messages), 100_000)) - 7.0) < 0.3
    True
    """

    name: ClassVar[str] = "one bit"
    theorem: ClassVar[str] = "one bit a user: P(+1) = 1/2 + t tanh(epsilon/2)/2 (LSU 1.2, OneBitScalar)"

    def __init__(self, low: float, high: float, epsilon: float, messages: int = 1) -> None:
        super().__init__(low, high, epsilon)
        self.messages = check_count("messages", messages)
        self._kept = inside_numerator(as_decimal(self.requested), 1, 1)
        self.each = epsilon_of_ratio(ratio_of(self._kept, 1, 1))
        self.epsilon = self.each if messages == 1 else float_up(as_decimal(self.each) * messages)
        strength = Fraction(2 * self._kept - TOTAL, TOTAL)
        # No grid of inputs: any even number of steps will do.
        self._steps, half = (2, 1) if messages == 1 else (2 * _HALF_STEPS, _HALF_STEPS)
        self._growth, self._constant = 1 - Fraction(1, messages), half**2 / strength**2 / messages
        self._reach = 1 / (2 * strength)
        self._fourth_moment = self._reach**4, 2 * self._reach**2, Fraction(-3)
        self._sign = self._reach * self._width
        self._weight = self._sign / messages

    def signs(self, values: Integers, exponent: int) -> Integers:
        """Return the signs of each number, a column each: what is mixed, each column by itself."""
        positions = self._positions(values, exponent)
        return np.stack([self._signs(positions) for _ in range(self.messages)], axis=1)

    def _draw(self, positions: Integers) -> Integers:
        total = self._signs(positions)
        for _ in range(self.messages - 1):
            total += self._signs(positions)
        return total

    def _signs(self, positions: Integers) -> Integers:
        high = draw_below(np.full(positions.size, self._span)) < positions
        kept = draw_bernoulli(np.full(positions.size, self._kept), _BITS)
        signs: Integers = 2 * (high == kept).astype(np.int64) - 1
        return signs

    def _ends(self, value: float, count: int, tail: float) -> tuple[float, float]:
        from scipy.special import betaincinv

        count *= self.messages
        # The estimate is a float; it is nearly always one number of +1 alone that it stands for.
        error = Fraction(math.ulp(value))
        fewest, most = (self._plus(Fraction(value) + shift, count) for shift in (-error, error))
        tail *= 0.5 * (1.0 - _MARGIN)
        low = float(betaincinv(fewest, count - fewest + 1, tail)) * (1.0 - _MARGIN) if fewest > 0 else 0.0
        # From the other side, so that the margin is relative to the smaller chance.
        high = 1.0 - float(betaincinv(count - most, most + 1, tail)) * (1.0 - _MARGIN) if most < count else 1.0
        # Hoeffding's comparison begins one unit from the mean.
        low, high = min(low, max(0.0, (fewest - 1) / count)), max(high, min(1.0, (most + 1) / count))
        below, above = (float(self._centre + self._sign * (2 * Fraction(end) - 1)) for end in (low, high))
        return below, above

    def _plus(self, value: Fraction, count: int) -> int:
        return min(max(round(count * (1 + (value - self._centre) / self._sign) / 2), 0), count)


@dataclass(frozen=True)
class Signs:
    """Maker of :class:`OneBitScalar` with several signs of every user.

    >>> law = Signs(4)(0.0, 10.0, 1.0)
    >>> law.epsilon, round(law.variance(), 2), round(OneBitScalar(0.0, 10.0, 1.0).variance() / 4, 2)
    (4.0, 29.27, 29.27)
    """

    messages: int

    def __call__(self, low: float, high: float, epsilon: float) -> OneBitScalar:
        """Return the law of ``messages`` signs of this epsilon each."""
        return OneBitScalar(low, high, epsilon, self.messages)
