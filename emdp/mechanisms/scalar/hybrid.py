"""Hybrid: the piecewise law with one probability, else one bit.

Theorem (Wang et al., "Collecting and analyzing multidimensional data with local differential privacy", ICDE 2019, 3.3).
For ``epsilon`` above 0.609..., use the piecewise law with probability ``1 - exp(-epsilon/2)`` and Duchi's two-point
law else; below, the two-point law alone. The larger of their epsilons is the mixture's, it is unbiased, and its
variance is the same for all numbers, and the least largest one among such mixtures.

Law. Which of the two is used is drawn with probability ``h/2^62`` for the piecewise one, independently of the number,
and shown by the message: ``0, ..., N - 1`` are piecewise, ``-1`` and ``-2`` are the signs - and +.

*Private.* A message ``m`` of one kind has probability ``P(kind) P(m | kind, x)``, with the first factor the same for
all numbers. So two of its probabilities differ by at most that kind's factor (:mod:`emdp.mechanisms.scalar.piecewise`,
:mod:`emdp.mechanisms.scalar.one_bit`), and ``epsilon`` is the larger of both that are used.

*Unbiased.* Either kind's value is, given the kind. A total counts in units of ``1/q``, ``q`` a common denominator of
the values of messages (counted from the centre), so that it is an exact integer.

*Variance.* Second moments mix: ``A = h/2^62 A_p`` and ``K = h/2^62 K_p + (1 - h/2^62) K_b G^2/G_b^2``, with the
piecewise law's ``A_p, K_p`` and the one bit's ``K_b`` on its own grid of ``G_b`` steps. ``A`` is about 1, which makes
the variance flat.
"""

import math
from fractions import Fraction
from typing import ClassVar

import numpy as np

from emdp.base.arrays import Integers
from emdp.mechanisms.scalar.one_bit import OneBitScalar
from emdp.mechanisms.scalar.piecewise import PiecewiseScalar
from emdp.mechanisms.scalar.randomizer import ScalarRandomizer
from emdp.mechanisms.weights import TOTAL
from emdp.noise.choices import draw_bernoulli
from emdp.noise.exact import exp_bounds
from emdp.privacy.rounding import as_decimal

__all__ = ["HYBRID_THRESHOLD", "HybridScalar"]

HYBRID_THRESHOLD = 0.6093524930273094
"""Epsilon up to which one bit alone is as good: ``3 x^3 - x^2 + x = 7`` for ``x = exp(epsilon/2)``."""

_BITS = 62


class HybridScalar(ScalarRandomizer):
    """Piecewise with probability ``1 - exp(-epsilon/2)``, else one bit; the least variance above epsilon 0.61.

    Messages are ``0, ..., N - 1`` (piecewise), ``-1`` and ``-2`` (the signs - and +). Parameters, errors and the
    guarantee are those of :class:`emdp.mechanisms.scalar.randomizer.ScalarRandomizer`; this module's text has the
    proof.

    >>> law = HybridScalar(-1.0, 1.0, epsilon=2.0)
    >>> law.epsilon, round(law.variance(), 4), round(law.variance(1.0), 4)
    (2.0, 1.0423, 1.0423)
    >>> messages = law.encode(np.full(100_000, 2**39), 40)
    >>> abs(float(law.estimate(law.total(messages), 100_000)) - 0.5) < 0.03
    True
    """

    name: ClassVar[str] = "hybrid"
    theorem: ClassVar[str] = "hybrid of the piecewise mechanism and one bit on integers (Wang et al., ICDE 2019, 3.3)"

    def __init__(self, low: float, high: float, epsilon: float) -> None:
        super().__init__(low, high, epsilon)
        self._bit, self._piecewise = OneBitScalar(low, high, epsilon), PiecewiseScalar(low, high, epsilon)
        self._piecewise_chance = _share(self.requested)
        share = Fraction(self._piecewise_chance, TOTAL)
        both = (self._piecewise, self._bit) if share > 0 else (self._bit,)
        self.epsilon = max(law.epsilon for law in both)
        self._reach = max(law._reach for law in both)
        self._steps = self._piecewise._steps
        self._growth = share * self._piecewise._growth
        bits = self._bit._constant * Fraction(self._steps, self._bit._steps) ** 2
        self._constant = share * self._piecewise._constant + (1 - share) * bits
        moments = zip(self._piecewise._fourth_moment, self._bit._fourth_moment, strict=True)
        first, second, third = (share * own + (1 - share) * other for own, other in moments)
        self._fourth_moment = first, second, third
        values = (self._bit._weight, self._piecewise._weight, self._piecewise._shift)
        denominator = math.lcm(*(value.denominator for value in values))
        self._sign, self._message, self._origin_message = (int(value * denominator) for value in values)
        self._weight = Fraction(1, denominator)

    def total(self, messages: Integers) -> int:
        """Return what the messages' values add up to, in units of their common denominator, exactly."""
        piecewise = messages[messages >= 0]
        plus = int(np.count_nonzero(messages == -2))
        minus = messages.size - piecewise.size - plus
        own = self._message * super().total(piecewise) + self._origin_message * piecewise.size
        return own + self._sign * (plus - minus)

    def _draw(self, positions: Integers) -> Integers:
        is_piecewise = draw_bernoulli(np.full(positions.size, self._piecewise_chance), _BITS)
        messages = np.empty(positions.size, dtype=np.int64)
        messages[is_piecewise] = self._piecewise._draw(positions[is_piecewise])
        messages[~is_piecewise] = -(3 + self._bit._draw(positions[~is_piecewise])) // 2
        return messages


def _share(epsilon: float) -> int:
    if epsilon <= HYBRID_THRESHOLD:
        return 0
    low, high = exp_bounds(as_decimal(epsilon) / 2, _BITS)
    return TOTAL - round(TOTAL * (low + high) / 2)
