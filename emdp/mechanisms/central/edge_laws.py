"""The two laws of noise on edges; theorem and proof stand in :mod:`emdp.mechanisms.central.edges`."""

import math
from typing import Any, ClassVar, Literal

import numpy as np

from emdp.base.arrays import Floats, Integers
from emdp.base.checks import check_unit_interval
from emdp.base.classes import dataclass
from emdp.mechanisms.central.additive import AdditiveMechanism
from emdp.mechanisms.central.edges import EdgeMechanism
from emdp.mechanisms.central.gaussian import GaussianMechanism
from emdp.mechanisms.central.laplace import LaplaceMechanism
from emdp.noise.discrete_gaussian import draw_discrete_gaussian
from emdp.noise.discrete_laplace import laplace_integers
from emdp.noise.laplace_sums import laplace_sum_mean_absolute, laplace_sum_quantile

__all__ = ["EdgeGaussianMechanism", "EdgeLaplaceMechanism"]


@dataclass(frozen=True, kw_only=True)
class EdgeLaplaceMechanism(EdgeMechanism):
    """Laplace noise on edges: ``(alpha, 0)``, sensitivities in the 1-norm.

    >>> from fractions import Fraction
    >>> from emdp.mechanisms.central.edge_grid import EdgeAxis
    >>> mechanism = EdgeLaplaceMechanism.on([EdgeAxis(4, 0.01), EdgeAxis(3, 0.01)], alpha=2.0)
    >>> mechanism.scale, mechanism.event().guarantee.alpha
    (0.005, 2.0)
    >>> answer = mechanism.release([Fraction(1, 12)] * 12)
    >>> sum(answer)
    Fraction(1, 1)
    >>> inner = 2 * 4 * 0.005**2                    # four edges, each of variance 2 b^2
    >>> abs(mechanism.standard_deviation**2 / (inner - 2 * 0.005**2) - 4 / 3) < 1e-9
    True
    """

    name: ClassVar[str] = "edge Laplace"
    norm: ClassVar[Literal[1, 2]] = 1
    _flow_kind: ClassVar[type[AdditiveMechanism]] = LaplaceMechanism

    def _law_theorem(self) -> str:
        return (
            "Laplace noise of scale s/alpha on the edges between neighbouring cells, s the 1-norm of the flow, is "
            "(alpha, 0) d_em-DP (the flow mechanism; private-measures.md 1, grid: EMD 8.5)"
        )

    def _drawn(self, units: float, size: int) -> Integers:
        return laplace_integers(units, size)

    def _quantile(self, sizes: Floats, counts: Integers, tail: float) -> float:
        return laplace_sum_quantile(sizes.tolist(), counts.tolist(), tail)

    def _mean_of(self, sizes: Floats, counts: Any) -> float:
        return laplace_sum_mean_absolute(sizes.tolist(), np.asarray(counts).tolist())

    def _deviation(self, sizes: Floats, counts: Any) -> float:
        return math.sqrt(2.0 * float(np.square(sizes) @ counts))


@dataclass(frozen=True, kw_only=True)
class EdgeGaussianMechanism(EdgeMechanism):
    """Gaussian noise on edges: ``(alpha, delta)``, sensitivities in the 2-norm.

    >>> from fractions import Fraction
    >>> from emdp.mechanisms.central.edge_grid import EdgeAxis
    >>> mechanism = EdgeGaussianMechanism.on([EdgeAxis(3, 1.0)], alpha=5.0, delta=1e-6)
    >>> round(mechanism.scale, 3), sum(mechanism.release([Fraction(1), Fraction(0), Fraction(0)]))
    (0.98, Fraction(1, 1))
    """

    name: ClassVar[str] = "edge Gaussian"
    norm: ClassVar[Literal[1, 2]] = 2
    _flow_kind: ClassVar[type[AdditiveMechanism]] = GaussianMechanism

    def _check_law(self) -> None:
        check_unit_interval("delta", self.delta)

    def _law_theorem(self) -> str:
        return (
            "Gaussian noise by its exact profile on the edges between neighbouring cells, of the flow's 2-norm, is "
            "(alpha, delta) d_em-DP (the flow mechanism; private-measures.md 1, grid: EMD 8.5)"
        )

    def _drawn(self, units: float, size: int) -> Integers:
        return np.array(draw_discrete_gaussian(units, size), dtype=object)

    def _quantile(self, sizes: Floats, counts: Integers, tail: float) -> float:
        from scipy.special import ndtri

        return -float(ndtri(tail / 2.0)) * self._deviation(sizes, counts) * (1.0 + 1e-9)

    def _mean_of(self, sizes: Floats, counts: Any) -> float:
        return math.sqrt(2.0 / math.pi) * self._deviation(sizes, counts)

    def _deviation(self, sizes: Floats, counts: Any) -> float:
        return math.sqrt(float(np.square(sizes) @ counts))
