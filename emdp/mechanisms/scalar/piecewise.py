"""Piecewise: a uniform draw from a window around the number with high probability, else from outside of it.

Theorem (Wang et al., "Collecting and analyzing multidimensional data with local differential privacy", ICDE 2019,
algorithm 2). For ``t`` in [-1, 1] and ``C = (e^(epsilon/2) + 1)/(e^(epsilon/2) - 1)``, a draw that is uniform on a
window of length ``C - 1`` in [-C, C] with probability ``e^(epsilon/2)/(e^(epsilon/2) + 1)``, and else uniform outside
of it, is pure epsilon-LDP; with the window's left end ``(C + 1) t/2 - (C - 1)/2`` it is unbiased, with variance
``t^2/(e^(epsilon/2) - 1) + (e^(epsilon/2) + 3)/(3 (e^(epsilon/2) - 1)^2)``.

Law. Everything is an integer. There are ``G + 1`` inputs ``g = 0, ..., G`` and ``N = W + G`` messages; the window of
``g`` is ``g, ..., g + W - 1``. With probability ``a/2^62`` the message is uniform in the window, else uniform on the
``G`` others. ``W/G`` is ``exp(-epsilon/2)``, rounded, as it is in the continuous law: ``(C - 1)/(C + 1)``.

*Private.* A message has probability ``a/(2^62 W)`` or ``(2^62 - a)/(2^62 G)``, whatever the input. So two of its
probabilities differ by a factor of at most ``a G/((2^62 - a) W)``, whose logarithm, rounded up, is ``epsilon``; ``a``
is the largest integer for which that is at most the epsilon asked for.

*Unbiased.* Count messages from the middle, ``Y = y - (N - 1)/2``, and inputs too, ``c = g - G/2``; then the window is
symmetric around ``c``. With ``p = a/2^62``, the window's mean ``c`` and the mean ``-W c/G`` of the others (all messages
add up to 0), ``E Y = B c`` with ``B = p - (1 - p) W/G``, exactly linear. So ``Y/B`` is unbiased for ``c``.

*Variance.* The squares in the window have the mean ``c^2 + (W^2 - 1)/12``, all squares the sum ``N (N^2 - 1)/12``, so
``E Y^2 = B c^2 + D``, ``D = p (W^2 - 1)/12 + (1 - p) (N (N^2 - 1) - W (W^2 - 1))/(12 G)``. Hence ``Y/B`` has the second
moment ``c^2/B + D/B^2``: ``A = 1/B`` and ``K = D/B^2`` of :mod:`emdp.mechanisms.scalar.randomizer`.

What this is not: the continuous law drawn in floats and rounded afterwards. There a message's probability depends on
where its rounding cell lies in the window, and some floats are met from one input alone; neither ``epsilon`` nor the
mean would hold.
"""

from fractions import Fraction
from typing import ClassVar

import numpy as np

from emdp.base.arrays import Integers
from emdp.base.classes import dataclass
from emdp.mechanisms.scalar.randomizer import ScalarRandomizer
from emdp.mechanisms.strength import epsilon_of_ratio, inside_numerator, ratio_of
from emdp.mechanisms.weights import TOTAL
from emdp.noise.choices import draw_below, draw_bernoulli
from emdp.noise.exact import exp_bounds
from emdp.privacy.rounding import as_decimal

__all__ = ["PiecewiseLaw", "PiecewiseScalar"]

_BITS = 62
_STEPS = 2**32
# As many as draw_below draws from half a word; at epsilon = 30 a window still has 1313 messages.


@dataclass(frozen=True)
class PiecewiseLaw:
    """The integers of the module's text.

    >>> law = PiecewiseLaw.from_epsilon(Fraction(2), steps=4)
    >>> law.window, [round(float(law.probability(0, y)), 3) for y in range(law.outputs)]
    (1, [0.649, 0.088, 0.088, 0.088, 0.088])
    """

    steps: int  # `G`, even, from 2 to 2^32
    window: int  # `W`, from 1 to `G`
    inside: int  # `a`, from 1 to `2^62 - 1`

    @classmethod
    def from_epsilon(cls, epsilon: Fraction, steps: int = _STEPS) -> "PiecewiseLaw":
        """Return the law whose messages cost at most ``epsilon``."""
        low, high = exp_bounds(epsilon / 2, _BITS)
        window = max(1, round(steps * (low + high) / 2))
        return cls(steps, window, inside_numerator(epsilon, window, steps))

    @property
    def outputs(self) -> int:
        """``N``: how many messages there are."""
        return self.window + self.steps

    @property
    def epsilon(self) -> float:
        """Cost of a message, rounded up."""
        return epsilon_of_ratio(ratio_of(self.inside, self.window, self.steps))

    @property
    def slope(self) -> Fraction:
        """``B``: how the mean message moves with the input."""
        chance = Fraction(self.inside, TOTAL)
        return chance - (1 - chance) * Fraction(self.window, self.steps)

    @property
    def spread(self) -> Fraction:
        """``D``: the mean square of a message counted from the middle, for the input in the middle."""
        chance = Fraction(self.inside, TOTAL)
        own, every = _square(self.window), _square(self.outputs)
        return chance * own + (1 - chance) * (self.outputs * every - self.window * own) / self.steps

    @property
    def fourth_moment(self) -> tuple[Fraction, Fraction, Fraction]:
        """Coefficients ``m0, m2, m4``: the unbiased value's 4th central moment is ``m0 + m2 c^2 + m4 c^4``, in steps.

        With ``mu2, mu4`` the central moments of ``W`` equidistant points and ``T2, T4`` the shares of all messages
        in the mean powers, ``E Y^2 = B (c^2 + mu2) + T2``, ``E Y^3 = B (c^3 + 3 c mu2)`` and ``E Y^4 = B (c^4 + 6 c^2
        mu2 + mu4) + T4``.
        """
        slope, outside = self.slope, (1 - Fraction(self.inside, TOTAL)) / self.steps
        second, fourth = _square(self.window), _fourth(self.window)
        every_second, every_fourth = (outside * self.outputs * power(self.outputs) for power in (_square, _fourth))
        return (
            (slope * fourth + every_fourth) / slope**4,
            6 * second / slope**3 - 12 * second / slope**2 + 6 * (slope * second + every_second) / slope**2,
            1 / slope**3 - 4 / slope**2 + 6 / slope - 3,
        )

    def probability(self, given: int, message: int) -> Fraction:
        """Return the exact probability of a message from a grid input."""
        if given <= message < given + self.window:
            return Fraction(self.inside, TOTAL * self.window)
        return Fraction(TOTAL - self.inside, TOTAL * self.steps)

    def draw(self, inputs: Integers) -> Integers:
        """Return a message for each grid input, exactly."""
        is_inside = draw_bernoulli(np.full(inputs.size, self.inside), _BITS)
        drawn = draw_below(np.where(is_inside, self.window, self.steps))
        # Inside count from the window's start; outside skip the window.
        drawn += np.where(is_inside, inputs, self.window * (drawn >= inputs))
        return drawn


class PiecewiseScalar(ScalarRandomizer):
    """A message near the number with high probability, and far from it else.

    Messages are ``0, ..., N - 1``, with the law of :class:`PiecewiseLaw` on 2^32 steps. Parameters, errors and the
    guarantee are those of :class:`emdp.mechanisms.scalar.randomizer.ScalarRandomizer`; this module's text has the
    proof.

    >>> import math
    >>> law = PiecewiseScalar(-1.0, 1.0, epsilon=2.0)
    >>> law.epsilon, round(law.variance(), 4), round(4 * math.e / (3 * (math.e - 1) ** 2), 4)
    (2.0, 1.2276, 1.2276)
    """

    name: ClassVar[str] = "piecewise"
    theorem: ClassVar[str] = "piecewise mechanism on integers (Wang et al., ICDE 2019, algorithm 2)"

    def __init__(self, low: float, high: float, epsilon: float) -> None:
        super().__init__(low, high, epsilon)
        self.law = PiecewiseLaw.from_epsilon(as_decimal(self.requested), _STEPS)
        self.epsilon = self.law.epsilon
        slope = self.law.slope
        self._steps, self._growth, self._constant = self.law.steps, 1 / slope, self.law.spread / slope**2
        self._reach = Fraction(self.law.outputs - 1, 2) / slope / self._steps
        self._weight = self._width / self._steps / slope
        self._shift = -self._reach * self._width

        first, second, third = self.law.fourth_moment
        self._fourth_moment = first / self._steps**4, second / self._steps**2, third

    def _draw(self, positions: Integers) -> Integers:
        return self.law.draw(self._on_grid(positions))


def _square(points: int) -> Fraction:
    # Mean square of that many equidistant points around their middle.
    return Fraction(points**2 - 1, 12)


def _fourth(points: int) -> Fraction:
    # Mean fourth power of them.
    return Fraction((points**2 - 1) * (3 * points**2 - 7), 240)
