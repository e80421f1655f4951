"""Laplace noise, one draw a coordinate, for a statistic whose change is bounded in the 1-norm.

Theorem (EMD 2, "Noise"; Dwork, McSherry, Nissim and Smith 2006). If ``||T(D) - T(D')||_1 <= l d_em``, then
adding independent Laplace noise of scale ``w >= l/alpha`` to every coordinate is ``(alpha, 0)`` d_em-DP: the
densities around two points ``a, b`` differ by a factor of at most ``exp(||a - b||_1/w)``.

Theorem (grid; EMD 8.5). Here ``Z`` has independent coordinates ``P(k) = tanh(1/(2 t)) exp(-|k|/t)`` on the
integers, ``t = w/g >= 1/2``, and is added to the statistic rounded to the grid ``g``. With ``h = d (g + 2
e)`` of :mod:`emdp.mechanisms.central.additive` the answer is ``(alpha d_em + h/w, 0)``, and next to the continuous
mechanism its slack, in every trade-off and not only in the pure one, is ``slack_epsilon = (h + d g/2)/w``,
``slack_delta = 0``.

Proof. The first claim: for grid points ``a, b`` the probabilities of one output differ by a factor of at
most ``exp(||a - b||_1/w)``, the normaliser being the same, and ``||a - b||_1 <= l d_em + h``. The second:
let ``R`` be the continuous noise rounded to integers and ``y = 1/(2 t) <= 1``. Then ``P(Z = 0)/P(R = 0) =
tanh(y)/(1 - e^-y)`` is ``e^{y/2} cosh(y/2)/cosh(y)``, between 1 and ``e^{y/2}``, and elsewhere ``P(R =
k)/P(Z = k) = cosh(y)``, between 1 and ``e^{y^2/2} <= e^{y/2}``. So over ``d`` coordinates ``P(Z = k) <= e^{d
y/2} P(R = k)`` and ``P(Z = k) >= e^{-d y/2} P(R = k)``, whence for every event, every integer shift ``v``
and ``t' >= 0``, ``H_{t' e^{d y}}(Z + v || Z) <= e^{d y/2} H_{t'}(R + v || R)``, where ``d y = d g/(2 w)``.
``R + v`` is continuous noise around ``v``, rounded: post-processing. Moving that centre by the ``h`` of
rounding changes densities by a factor of at most ``exp(h/w)``, which leaves a shift of at most ``l d_em``.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar, Literal

from emdp.base.classes import dataclass
from emdp.mechanisms.central.additive import AdditiveMechanism, independent_tail
from emdp.noise.discrete_laplace import (
    discrete_laplace_mean_absolute,
    discrete_laplace_quantile,
    discrete_laplace_standard_deviation,
    draw_discrete_laplace,
)
from emdp.privacy.events.table import Event, LaplaceEvent
from emdp.privacy.guarantees.kinds import Guarantee

__all__ = ["LaplaceMechanism"]


@dataclass(frozen=True, kw_only=True)
class LaplaceMechanism(AdditiveMechanism):
    """Product Laplace noise on a grid: ``(alpha, 0)``, ``sensitivity`` in the 1-norm.

    The parameters, properties and methods are those of :class:`emdp.mechanisms.central.additive.AdditiveMechanism`.

    >>> mechanism = LaplaceMechanism(sensitivity=0.001, alpha=2.0)
    >>> mechanism.scale, mechanism.grid == 2.0**-51, mechanism.slack_epsilon < 2e-12
    (0.0005, True, True)
    >>> answer, = mechanism.release([Fraction(0.25)])
    >>> (answer / Fraction(mechanism.grid)).denominator
    1
    >>> round(mechanism.interval_half_width(0.95), 9)
    0.001497866
    >>> LaplaceMechanism(sensitivity=0, alpha=2.0).release([Fraction(1, 3)])
    (Fraction(1, 3),)
    """

    name: ClassVar[str] = "Laplace"
    norm: ClassVar[Literal[1, 2]] = 1

    def _law_theorem(self) -> str:
        return "Laplace noise of scale l/alpha, l in the 1-norm, is (alpha, 0) d_em-DP (EMD 2, grid: EMD 8.5)"

    def _slack(self) -> Fraction:
        return (self._rounding + self._ones * Fraction(self.grid) / 2) / Fraction(self.scale)

    def _event(self, kind: Guarantee) -> Event:
        return LaplaceEvent(
            self.alpha,
            self.dimension,
            scale=self.scale,
            sensitivity=self.sensitivity,
            grid=self.grid,
            slack_epsilon=self.slack_epsilon,
            kind=kind,
        )

    def draw_many(self, releases: int) -> Sequence[int]:
        """Draw the noise of so many releases, in grid steps, one after another: what :meth:`release` adds to one."""
        return draw_discrete_laplace(self.noise_units, releases * self.dimension)

    def _draw(self) -> Sequence[int]:
        return self.draw_many(1)

    def _coordinate_units(self, tail: float) -> int:
        return discrete_laplace_quantile(tail, self.noise_units)

    def _simultaneous_units(self, tail: float) -> int:
        return discrete_laplace_quantile(independent_tail(tail, self.dimension), self.noise_units)

    def _mean_absolute_units(self) -> float:
        return discrete_laplace_mean_absolute(self.noise_units)

    def _standard_deviation_units(self) -> float:
        return discrete_laplace_standard_deviation(self.noise_units)
