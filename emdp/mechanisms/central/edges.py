"""Noise on the edges between neighbouring cells, for weights of cells that add up to 1: the flow mechanism.

Theorem. Let ``H(x) >= 0`` with sum 1 be an item's weights at the nodes of a grid, ``p`` the mean over ``n`` users of
the mean over their items, ``M`` the divergence of :mod:`emdp.mechanisms.central.edge_grid`, and let every two items
have a flow ``g`` with ``M g = H(x') - H(x)`` and ``sum_e |g_e|/s_e <= n d_X(x, x')`` (``s_e`` the edge's sensitivity).
With independent Laplace ``W_e`` of scale ``b_e >= s_e/alpha`` on the edges ``p + M W`` is ``(alpha, 0)`` unbounded
central d_EM-DP. With normal ``W_e`` the same holds for the 2-norm of ``(g_e/s_e)`` and the noise of
:mod:`emdp.mechanisms.central.gaussian`; and with bounds for all pairs at user level.

Proof. Let one user's items change, with an optimal plan of ``d_em`` between the old and the new. The mean over the plan
of the pairs' flows, over ``n``, is a flow ``G`` with ``M G = p' - p``, and ``sum |G_e|/s_e <= d_em`` (a norm is
convex). So ``p' + M W = p + M (W + G)``: on both tables the answer is one function of ``W``, and of ``W + G``. The
densities of ``W`` and ``W + G`` differ by a factor of at most ``exp(sum |G_e|/b_e) <= exp(alpha d_em)``; a function of
a release has its guarantee. QED

Constants. Along a path of places ``u`` in one cell of the grid, ``dH`` moves by ``du_a`` times an edge from a node to
the next along axis ``a``, with the weights of the other axes, which are at least 0 and add up to 1. So between two
items with places ``u, u'`` there is a flow (along the straight line of places, or the shorter way round) whose edges
of axis ``a`` carry ``|u_a' - u_a|`` in the 1-norm, hence at most that in the 2-norm, where axes are orthogonal. How
fast places move stands in :mod:`emdp.expressions.cells.hat_bounds`; parts of a product move one after another, flows
add up as ``d_X`` does, and every part has its own edges: all get the whole alpha. A listed value that changes carries 2
on a listed axis, 1 on the edge of two values or round three; the weights of the other axes are as they were.

Elsewhere. Where items may be elsewhere, at distance ``rho`` of every item, that point is one more node, joined to every
other, and ``H`` of it is that node alone. From an item to it ``g`` carries ``H_k(x)`` on the edge of node ``k``: 1 in
both norms at most, so these edges have the sensitivity ``1/(rho n)``. Pairs of items have their flows as before.

Theorem (grid). Let ``g`` be a step with ``1/g`` whole. The sums of the computed statistic along the snake (a path
through all nodes), divided by ``g``, are rounded to whole numbers, and the last one *is* ``1/g``; their differences are
the rounded statistic, whose sum is the same on all tables, to the last bit. To it ``M W`` is added, ``W_e`` discrete
Laplace (or Gaussian) on the whole numbers. If on two tables the computed sums along the snake are within ``e`` of exact
ones in what depends on the user, then this is the grid theorem of the flow's own mechanism (``LaplaceMechanism`` or
``GaussianMechanism`` of as many coordinates as edges) with ``statistic_error = 2 e + g``, all in units of ``s_e``.

Proof. The two rounded statistics differ by ``M`` of the flow ``G/g`` and of a flow along the snake: each of its ``k -
1`` steps carries at most ``1 + 2 e/g``, twice on a listed axis. By total unimodularity (a listed axis is a star whose
middle sends on what it gets; Hoffman and Kruskal 1956) there is a *whole* flow ``v`` with the same divergence: with
``sum |v_e|/s_e`` no larger, for Laplace noise, and for Gaussian noise within 1 of the real flow on each edge,
``sqrt(m)`` in the 2-norm. As ``k - 1 <= m`` the rest is at most ``m (g + 2 (2 e + g))``, or ``sqrt(m)`` times that,
which is the ``h`` of :mod:`emdp.mechanisms.central.additive`. The answers are one function of ``W`` and ``W + v``. QED

What is released is the nodes alone; edges' numbers and flows never leave this file.
"""

import math
from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from emdp.base.arrays import Floats
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.mechanisms.central.additive import AdditiveMechanism, tail_below
from emdp.mechanisms.central.edge_grid import LARGEST_RATIO, EdgeAxis, EdgeGrid
from emdp.privacy.events.table import Event
from emdp.privacy.guarantees.kinds import Guarantee
from emdp.privacy.rounding import as_decimal, float_at_least

__all__ = ["EdgeMechanism"]

Integers = npt.NDArray[Any]

WEIGHT_STEPS = 2.0**-12
"""Relative step that weights of a linear query are rounded up to; a larger weight makes no tail smaller."""


@dataclass(frozen=True, kw_only=True)
class EdgeMechanism(AdditiveMechanism):
    """Noise on edges: the common part of both laws.

    The parameters are those of :class:`emdp.mechanisms.central.additive.AdditiveMechanism`, with ``sensitivity`` and
    ``dimension`` from the axes.

    Parameters
    ----------
    sensitivity, dimension
        The largest sensitivity of an axis, and the number of nodes; see :meth:`on`.
    statistic_error : float
        Public bound on |computed - exact| of every sum of coordinates, in what depends on the neighbour's user.
    """

    axes: tuple[EdgeAxis, ...]  # The grid; a node's coordinate is its place in it
    away: float = 0.0  # Sensitivity of the edges to a node that stands away, the last coordinate; 0 where there is none

    @classmethod
    def on(cls, axes: Sequence[EdgeAxis], *, away: float = 0.0, **shared: Any) -> "EdgeMechanism":
        """Return the mechanism on a grid, the other arguments by name."""
        kept = tuple(axes)
        nodes = math.prod(axis.size for axis in kept) + (away > 0)
        largest = max([away, *(axis.sensitivity for axis in kept if axis.size > 1)])
        if largest == 0.0:
            shared = {**shared, "statistic_error": 0.0}
        return cls(axes=kept, away=away, sensitivity=largest, dimension=nodes, **shared)

    @cached_property
    def edge_grid(self) -> EdgeGrid:
        """The nodes and edges."""
        return EdgeGrid(self.axes, self.away > 0)

    @cached_property
    def flow(self) -> AdditiveMechanism:
        """The mechanism that the flow on the edges is released by, in units of each edge's sensitivity."""
        error = float_at_least(2 * Fraction(self.statistic_error) * self._largest_ratio())
        return self._flow_with(statistic_error=0.0 if self.is_exact else self._flow_error(error))

    @cached_property
    def axis_units(self) -> tuple[float, ...]:
        """Scale of the noise on the edges of each axis in grid steps, rounded up; last of those to the node away."""
        whole = Fraction(self.flow.scale) / Fraction(self.sensitivity) / Fraction(self.grid)
        own = [axis.sensitivity if axis.size > 1 else 0.0 for axis in self.axes] + [self.away] * (self.away > 0)
        return tuple(float_at_least(whole * Fraction(one)) if one else 0.0 for one in own)

    @property
    def slack_delta(self) -> float:
        return 0.0 if self.is_exact else self.flow.slack_delta

    def half_widths(self, level: float, *, together: bool = False) -> Sequence[float]:
        """Return each node's half width, outward; together each has its share of the failure (Bonferroni)."""
        tail = tail_below(level) / (self.dimension if together else 1)
        if self.is_exact:
            return (0.0,) * self.dimension
        _, of_node = self._kinds
        widths = self._kind_widths(tail)
        return [widths[kind] for kind in of_node.tolist()]

    def linear_half_width(self, weights: Floats, level: float) -> float:
        """Return ``h`` such that ``sum_i weights_i Y_i`` is within ``h`` of its value without noise at the level.

        The noise of it is ``sum_e W_e (M' weights)_e``: its law is exact, whatever the weights.

        >>> from emdp.mechanisms.central.edge_laws import EdgeLaplaceMechanism
        >>> mechanism = EdgeLaplaceMechanism.on([EdgeAxis(3, 1.0)], alpha=1.0)
        >>> round(mechanism.linear_half_width(np.array([0.0, 1.0, 1.0]), 0.95), 4)
        2.9957
        """
        values = np.asarray(weights, dtype=np.float64)
        if values.shape != (self.dimension,) or not np.isfinite(values).all():
            raise UsageError(f"weights must be {self.dimension} finite numbers, one a node; pass those.")
        if self.is_exact:
            return 0.0
        along = [abs(own) * unit for own, unit in zip(self.edge_grid.differences(values), self.axis_units, strict=True)]
        scaled = np.concatenate(along)
        scaled = scaled[scaled > 0]
        if not scaled.size:
            return 0.0
        steps = math.log1p(WEIGHT_STEPS)
        codes, counts = np.unique(np.ceil(np.log(scaled / scaled.max()) / steps), return_counts=True)
        sizes = np.exp(codes * steps) * float(scaled.max()) * (1.0 + 2.0**-40)
        rounding = float(np.abs(np.diff(values[self.edge_grid.rounding], axis=1)).sum())
        return self._half_width(sizes * self.grid, counts, tail=tail_below(level), rounding=rounding)

    def linear_deviation(self, weights: Floats) -> float:
        """Return the standard deviation of the noise of ``sum_i weights_i Y_i``."""
        if self.is_exact:
            return 0.0
        along = [own * unit for own, unit in zip(self.edge_grid.differences(weights), self.axis_units, strict=True)]
        scales = np.concatenate(along) * self.grid
        return self._deviation(scales, np.ones(len(scales)))

    @property
    def covariance(self) -> Floats:
        """Covariance of the nodes' noise, shape (nodes, nodes); for some hundred nodes.

        >>> from emdp.mechanisms.central.edge_laws import EdgeLaplaceMechanism
        >>> (EdgeLaplaceMechanism.on([EdgeAxis(3, 1.0)], alpha=1.0).covariance / 2).round(6).tolist()
        [[1.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 1.0]]
        """
        along = [self.edge_grid.differences(row) for row in np.eye(self.dimension)]
        scaled = np.array([np.concatenate([d * u for d, u in zip(own, self.axis_units, strict=True)]) for own in along])
        return np.asarray(scaled @ scaled.T * self._deviation(np.ones(1), np.ones(1)) ** 2 * self.grid**2)

    @property
    def root_mean_square(self) -> float:
        """Root of the mean over the nodes of the noise's variance."""
        if self.is_exact:
            return 0.0
        kinds, of_node = self._kinds
        squares = np.array([self._deviation(*self._law_of(kind)) ** 2 for kind in kinds])
        return math.sqrt(float(squares @ np.bincount(of_node, minlength=len(kinds))) / self.dimension)

    @property
    def coordinate_change(self) -> float:
        """Bound of how far the nodes move: an edge has two ends; in the 2-norm ``M`` is at most ``2 sqrt(axes)``."""
        return 2.0 * self.sensitivity * (1.0 if self.norm == 1 else math.sqrt(len(self.axes)) * (1.0 + 2.0**-40))

    @property
    def answer_step(self) -> Fraction:
        return Fraction(self.grid) / self.edge_grid.parts

    def expected_length(self, steps: Sequence[float]) -> float:
        """Return the mean of what all edges carry, times how far each goes: a bound of the noise's transport norm.

        >>> from emdp.mechanisms.central.edge_laws import EdgeLaplaceMechanism
        >>> round(EdgeLaplaceMechanism.on([EdgeAxis(5, 0.01)], alpha=1.0).expected_length([0.25]), 9)
        0.01
        """
        if self.is_exact:
            return 0.0
        one = np.ones(1, dtype=np.int64)
        grid, units = self.edge_grid, self.axis_units
        means = [self._mean_of(np.array([unit * self.grid]), one) if unit else 0.0 for unit in units]
        lengths = (*steps, 1.0) if self.away else steps
        return math.fsum(own * grid.edges_of(place) * lengths[place] for place, own in enumerate(means))

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        if self.is_exact:
            return super().facts(unit)
        listed = ", ".join(f"{units * self.grid:.6g}" for units in self.axis_units if units)
        return (
            ("sensitivity", f"a flow of {self.sensitivity:.6g} per {unit} on the edges between neighbouring cells"),
            ("noise", f"{self.edge_grid.edges} edges, scale {listed} by axis, on a grid of {self.grid:.3g}"),
        )

    def release(self, values: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """Round a statistic whose sum is 1 along the snake, add the divergence of one draw, and return it: this spends.

        Parameters
        ----------
        values : sequence of fractions.Fraction
            One number a node. Whatever their sum is, that of what is released is exactly 1.
        """
        if len(values) != self.dimension:
            raise UsageError(f"values must be {self.dimension} numbers, got {len(values)}; pass that many.")
        if not all(isinstance(value, Fraction | int) for value in values):
            raise UsageError("values must hold exact fractions; pass Fraction(x) for a float x.")
        if self.is_exact:
            return (Fraction(1),)
        parts, unit = self.edge_grid.parts, self.answer_step
        noise = self._draw()
        return tuple((whole * parts + int(z)) * unit for whole, z in zip(self._rounded(values), noise, strict=True))

    def draw_many(self, releases: int) -> Integers:
        """Draw the noise of so many releases, one after another, in steps of the answer's grid."""
        grid = self.edge_grid
        drawn = [
            self._drawn(unit, releases * grid.edges_of(place)) if unit else np.zeros(0, dtype=np.int64)
            for place, unit in enumerate(self.axis_units)
        ]
        return grid.divergence(drawn, releases).ravel()

    def _rounded(self, values: Sequence[Fraction]) -> list[int]:
        """Return whole numbers with sum ``1/grid``: differences of rounded sums along the snake, or of branches."""
        total = int(1 / Fraction(self.grid))
        denominator = math.lcm(*(Fraction(value).denominator for value in values))
        scaled = [Fraction(value).numerator * (denominator // Fraction(value).denominator) for value in values]
        found, running, last = [0] * len(values), scaled, 0
        for node, last in self.edge_grid.rounding.tolist():
            rounded = (2 * running[node] * total + denominator) // (2 * denominator)
            running[last] += running[node]
            found[node] += rounded
            found[last] -= rounded
        found[last] += total
        return found

    def _draw(self) -> Sequence[int]:
        drawn: list[int] = self.draw_many(1).tolist()
        return drawn

    def _event(self, kind: Guarantee) -> Event:
        return self.flow.event(kind)

    def _slack(self) -> Fraction:
        return as_decimal(self.flow.slack_epsilon)

    def _scale(self) -> float:
        return self.flow.scale

    def _grid_for(self, scale: float) -> float:
        del scale
        return self._step(self.flow.grid)

    def _coordinate_units(self, tail: float) -> int:
        return math.ceil(max(self._kind_widths(tail)) / self.grid)

    def _simultaneous_units(self, tail: float) -> int:
        return self._coordinate_units(tail / self.dimension)

    def _mean_absolute_units(self) -> float:
        # mean over the nodes
        kinds, of_node = self._kinds
        means = np.array([self._mean_of(*self._law_of(kind)) for kind in kinds])
        return float(means @ np.bincount(of_node, minlength=len(kinds))) / self.dimension / self.grid

    def _standard_deviation_units(self) -> float:
        # of the node that has the most
        return max(self._deviation(*self._law_of(kind)) for kind in self._kinds[0]) / self.grid

    @cached_property
    def _kinds(self) -> tuple[list[tuple[tuple[float, ...], tuple[int, ...]]], Integers]:
        return self.edge_grid.node_kinds()

    def _kind_widths(self, tail: float) -> list[float]:
        # a node's number is the difference of two rounded sums
        return [self._half_width(*self._law_of(kind), tail=tail, rounding=2.0) for kind in self._kinds[0]]

    def _check_grid(self) -> None:
        if self.dimension != self.edge_grid.nodes:
            raise UsageError(f"dimension must be the number of nodes, {self.edge_grid.nodes}, got {self.dimension}.")
        if not 0 <= self.away < math.inf:
            raise UsageError(f"away must be at least 0 and finite, got {self.away}; pass its bound.")
        if self._largest_ratio() > LARGEST_RATIO:
            raise UsageError(
                f"axes must have sensitivities within a factor of {LARGEST_RATIO} of one another; take a coarser pitch "
                "along the axis with the largest."
            )
        if max([self.away, *(axis.sensitivity for axis in self.axes if axis.size > 1)]) > self.sensitivity:
            raise UsageError("sensitivity must be at least every axis's; build the mechanism with on().")
        if self.flow.noise_units < 1:
            raise UsageError("alpha is too large for the number of edges; ask for fewer cells.")

    def _largest_ratio(self) -> Fraction:
        own = [Fraction(axis.sensitivity) for axis in self.axes if axis.size > 1] + [Fraction(self.away)] * (
            self.away > 0
        )
        return Fraction(self.sensitivity) / min(own) if own else Fraction(1)

    def _step(self, grid: float) -> float:
        return min(grid * 2.0 ** -math.ceil(math.log2(float_at_least(self._largest_ratio()))), 1.0)

    def _flow_with(self, **changed: Any) -> AdditiveMechanism:
        shared: dict[str, Any] = {"alpha": self.alpha, "delta": self.delta, "dimension": max(self.edge_grid.edges, 1)}
        return self._flow_kind(sensitivity=self.sensitivity, **{**shared, **changed})

    def _flow_error(self, error: float) -> float:
        # The grid of the flow does not depend on its error.
        return float_at_least(Fraction(error) + Fraction(self._flow_with().grid))

    def _law_of(self, kind: tuple[tuple[float, ...], tuple[int, ...]]) -> tuple[Floats, Integers]:
        factors, counts = kind
        units = np.repeat(self.axis_units, 2) * self.grid
        return np.array(factors) * units, np.array(counts)

    def _half_width(self, sizes: Floats, counts: Any, *, tail: float, rounding: float) -> float:
        """Return the quantile of a sum of edges' numbers, with what rounding to whole numbers moves it by.

        ``P(Z = k)`` is at most ``e^(1/(4 t))`` times that of the continuous law rounded (for normal noise less), and
        rounding moves an edge's number by half a step: both are covered.
        """
        kept = [unit for unit in self.axis_units if unit]
        least, counts = min(kept), np.asarray(counts)
        inner = tail * math.exp(-float(counts.sum()) / (4.0 * least)) * (1.0 - 2.0**-40)
        moved = 0.5 * self.grid * (rounding + float(sizes @ counts) / (self.grid * least))
        return (self._quantile(sizes, counts, inner) + moved) * (1.0 + 2.0**-40)

    @property
    @abstractmethod
    def _flow_kind(self) -> type[AdditiveMechanism]: ...

    @abstractmethod
    def _drawn(self, units: float, size: int) -> Integers:
        """Draw independent whole numbers of a scale in grid steps."""

    @abstractmethod
    def _quantile(self, sizes: Floats, counts: Integers, tail: float) -> float:
        """Return the two-sided quantile of a sum of independent continuous numbers of these scales."""

    @abstractmethod
    def _mean_of(self, sizes: Floats, counts: Any) -> float: ...

    @abstractmethod
    def _deviation(self, sizes: Floats, counts: Any) -> float: ...
