"""Laplace: the number on a public grid, plus a discrete Laplace draw.

Theorem (Laplace mechanism with one user; LSU 1.2, "Laplace alternative"). Noise of scale ``(high - low)/epsilon`` on a
number in ``[low, high]`` is pure epsilon-LDP and has variance ``2 (high - low)^2/epsilon^2``.

Law. The grid has ``G + 1`` inputs ``g = 0, ..., G``, ends included; the message is ``g + Z``, ``P(Z = k)`` proportional
to ``exp(-|k|/t)``, drawn exactly (:mod:`emdp.noise.discrete_laplace`) for the rational ``t`` that a float is.

Proof. For two inputs and any message ``m``, ``P(m | g)/P(m | g') = exp((|m - g'| - |m - g|)/t) <= exp(|g - g'|/t) <=
exp(G/t)``: inputs were clipped and put on the grid before, so no two are further apart than ``G``. ``epsilon`` is
``G/t`` rounded up, and ``t`` the least float for which it is at most the epsilon asked for. ``Z`` is symmetric, so ``g
+ Z`` has mean ``g``, and its variance is ``1/(2 sinh(1/(2 t))^2)``.

Error. A discrete Laplace draw is the difference of the integer parts of two exponential variables, so it is within one
step of the continuous one; the input's random rounding is within one step too. So the average's error is within two
steps of ``1/n`` times a difference of Gamma variables (:mod:`emdp.noise.gamma_difference`).
"""

from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from emdp.base.arrays import Integers
from emdp.mechanisms.scalar.randomizer import ScalarRandomizer
from emdp.noise.discrete_laplace import draw_discrete_laplace_bulk
from emdp.noise.exact import exp_bounds
from emdp.noise.gamma_difference import gamma_difference_quantile
from emdp.privacy.rounding import as_decimal, float_at_least, float_up

__all__ = ["LaplaceScalar"]

_STEPS = 2**20
# Fine enough at epsilon = 30, and coarse enough for the sampler at 1e-6.

_EXPONENTIAL_BITS = 200
# Relative precision of exp(-1/t), of which 1 - exp(-1/t) keeps at least 150.

_LEAST_TAIL = 1e-12
# That the quantile of a difference of Gamma variables is known for.


class LaplaceScalar(ScalarRandomizer):
    """A number on a grid of 2^20 steps plus discrete Laplace noise.

    Messages are grid positions, counted from ``low``, in any distance from the range. Parameters, errors and the
    guarantee are those of :class:`emdp.mechanisms.scalar.randomizer.ScalarRandomizer`; this module's text has the
    proof.

    >>> import numpy as np
    >>> law = LaplaceScalar(0.0, 10.0, epsilon=4.0)
    >>> law.epsilon, round(law.variance(), 6)
    (4.0, 12.5)
    >>> messages = law.encode(np.full(100_000, 7 * 2**40), 40)
    >>> abs(float(law.estimate(law.total(messages), 100_000)) - 7.0) < 0.1
    True
    """

    name: ClassVar[str] = "Laplace"
    theorem: ClassVar[str] = "discrete Laplace noise of scale (high - low)/epsilon by every user alone (LSU 1.2)"

    def __init__(self, low: float, high: float, epsilon: float) -> None:
        super().__init__(low, high, epsilon)
        self._steps = _STEPS
        self._scale = float_at_least(self._steps / as_decimal(self.requested))
        self.epsilon = float_up(self._steps / Fraction(self._scale))
        self._growth, self._constant = Fraction(1), _variance_up(Fraction(self._scale))
        self._weight = self._width / self._steps
        self._shift = -self._width / 2

    def _draw(self, positions: Integers) -> Integers:
        return self._on_grid(positions) + draw_discrete_laplace_bulk(self._scale, positions.size)

    def _ends(self, value: float, count: int, tail: float) -> tuple[float, float]:
        if tail < _LEAST_TAIL:
            return self.low, self.high
        half = (self._scale * _quantile(tail, count) / count + 2.0) * float(self._weight)
        half *= 1.0 + 2.0**-40
        return value - half, value + half


@lru_cache(maxsize=256)
def _quantile(tail: float, count: int) -> float:
    # A quarter of a second, and asked for again and again for equally many users.
    return gamma_difference_quantile(tail, float(count))


def _variance_up(scale: Fraction) -> Fraction:
    # 2 q/(1 - q)^2 grows in q = exp(-1/t).
    ratio = exp_bounds(1 / scale, _EXPONENTIAL_BITS)[1]
    return 2 * ratio / (1 - ratio) ** 2
