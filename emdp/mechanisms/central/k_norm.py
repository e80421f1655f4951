"""2-norm K-norm noise for a vector statistic whose change is bounded in the 2-norm, without a delta.

Theorem (EMD 2, "Noise"; Hardt and Talwar 2010). If ``||T(D) - T(D')||_2 <= l d_em``, then adding noise with
density proportional to ``exp(-||x||_2/w)``, ``w >= l/alpha``, is ``(alpha, 0)`` d_em-DP: the densities
around two points ``a, b`` differ by a factor of at most ``exp(||a - b||_2/w)``.

Theorem (grid; EMD 8.5). Here ``Z`` has ``P(z)`` proportional to ``exp(-||z||_2/t)`` on the lattice Z^d, ``t
= w/g``, drawn exactly (:mod:`emdp.noise.k_norm`, so nothing is charged to delta), and is added to the
statistic rounded to the grid ``g``. With ``h = sqrt(d) (g + 2 e)`` of :mod:`emdp.mechanisms.central.additive` the
answer is ``(alpha d_em + h/w, 0)``, and next to the continuous mechanism its slack, in every trade-off and not only
in the pure one, is ``slack_epsilon = (h + sqrt(d) g)/w``, ``slack_delta = 0``.

Proof. The first claim: for grid points ``a, b`` the probabilities of one output differ by a factor of at
most ``exp(||a - b||_2/w)``, the normaliser, a sum over the whole lattice, being the same. The second: let
``R`` be the continuous noise rounded to the lattice and ``q = sqrt(d)/(2 t)``. On the unit cube around ``z``
the norm is within ``sqrt(d)/2`` of ``||z||_2``, so ``exp(-||z||_2/t)`` is within factors ``e^{-q}`` and
``e^q`` of its integral over the cube, and the quotient ``c`` of the two normalisers too. Hence ``c e^{-q}
P(R = z) <= P(Z = z) <= c e^q P(R = z)`` and, for every integer shift ``v`` and ``t' >= 0``, ``H_{t' e^{2
q}}(Z + v || Z) <= c e^q H_{t'}(R + v || R) <= e^{2 q} H_{t'}(R + v || R)``, where ``2 q = sqrt(d) g/w``. ``R
+ v`` is continuous noise around ``v``, rounded: post-processing. Moving that centre by the ``h`` of rounding
changes densities by a factor of at most ``exp(h/w)``, which leaves a shift of at most ``l d_em``.

All coordinates together: ``P(some |z_i| > k)`` is at most ``d P(|z_1| > k)``, and at most the radius' tail;
the smaller bound is used.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar, Literal

from emdp.base.classes import dataclass
from emdp.mechanisms.central.additive import AdditiveMechanism
from emdp.noise.k_norm import (
    check_k_norm_dimension,
    draw_k_norm,
    k_norm_mean_absolute,
    k_norm_quantile,
    k_norm_radius_quantile,
    k_norm_standard_deviation,
)
from emdp.privacy.events.table import Event, KNormEvent
from emdp.privacy.guarantees.kinds import Guarantee

__all__ = ["KNormMechanism"]


@dataclass(frozen=True, kw_only=True)
class KNormMechanism(AdditiveMechanism):
    """2-norm K-norm noise on a grid, up to 24 coordinates: ``(alpha, 0)``, ``sensitivity`` in the 2-norm.

    The parameters, properties and methods are those of :class:`emdp.mechanisms.central.additive.AdditiveMechanism`.

    >>> mechanism = KNormMechanism(sensitivity=0.001, alpha=2.0, dimension=2)
    >>> mechanism.scale, round(mechanism.standard_deviation / mechanism.scale, 6)
    (0.0005, 1.732051)
    >>> len(mechanism.release([Fraction(0), Fraction(1)]))
    2
    """

    name: ClassVar[str] = "K-norm"
    norm: ClassVar[Literal[1, 2]] = 2

    def _law_theorem(self) -> str:
        return "K-norm noise of scale l/alpha, l in the 2-norm, is (alpha, 0) d_em-DP (EMD 2, grid: EMD 8.5)"

    def _slack(self) -> Fraction:
        return (self._rounding + self._ones * Fraction(self.grid)) / Fraction(self.scale)

    def _event(self, kind: Guarantee) -> Event:
        return KNormEvent(
            self.alpha,
            self.dimension,
            scale=self.scale,
            sensitivity=self.sensitivity,
            grid=self.grid,
            slack_epsilon=self.slack_epsilon,
            kind=kind,
        )

    def _check_law(self) -> None:
        super()._check_law()
        check_k_norm_dimension(self.dimension)

    def draw_many(self, releases: int) -> Sequence[int]:
        """Draw the noise of so many releases, in grid steps, one after another: what :meth:`release` adds to one."""
        return [step for point in draw_k_norm(self.noise_units, self.dimension, releases) for step in point]

    def _draw(self) -> Sequence[int]:
        return self.draw_many(1)

    def _coordinate_units(self, tail: float) -> int:
        return k_norm_quantile(tail, self.noise_units, self.dimension)

    def _simultaneous_units(self, tail: float) -> int:
        if self.dimension == 1:
            return self._coordinate_units(tail)
        radius = k_norm_radius_quantile(tail, self.noise_units, self.dimension)
        return min(radius, self._coordinate_units(tail / self.dimension))

    def _mean_absolute_units(self) -> float:
        return k_norm_mean_absolute(self.noise_units, self.dimension)

    def _standard_deviation_units(self) -> float:
        return k_norm_standard_deviation(self.noise_units, self.dimension)
