"""Noise on the edges between neighbouring cells, where it is what a histogram is best released with.

The rule is public: it compares the root of the mean over the cells of the squared error with that of noise on every
cell. Where they are alike edges win, since the errors of neighbouring cells then cancel: a region of ``s x s`` inner
cells has ``s`` times the variance of one, not ``s^2``, and intervals of cells are shorter, since a sum of four numbers
has lighter tails than one.

Listed values with given distances have noise on the edges of a graph (:mod:`emdp.mechanisms.central.edge_graph`): that
of :mod:`emdp.expressions.cells.place_graphs` with the least mean square error, or a list's where it has less.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.estimators.frequency.resistance import user_flow
from emdp.estimators.plan import parallel_event
from emdp.estimators.user_groups import GroupNoise
from emdp.expressions.analysis.checker import largest_quotient
from emdp.expressions.cells.aggregation import Aggregation, Axis, HatAxis, LabelAxis
from emdp.expressions.cells.errors import aggregation_sum_error
from emdp.expressions.cells.flow_bounds import STAR, flow_lipschitz, is_partition
from emdp.expressions.cells.place_graphs import place_graphs, places_of
from emdp.expressions.numbers.outward import div_up
from emdp.mechanisms.central.edge_graph import GraphLaplaceMechanism
from emdp.mechanisms.central.edge_grid import LARGEST_RATIO, EdgeAxis, Form
from emdp.mechanisms.central.edge_laws import EdgeGaussianMechanism, EdgeLaplaceMechanism
from emdp.mechanisms.central.edges import EdgeMechanism
from emdp.mechanisms.central.gaussian import least_gaussian_delta
from emdp.privacy.calibration import LARGEST_ALPHA
from emdp.privacy.rounding import float_at_least, quotient_up
from emdp.questions.price import Price
from emdp.spaces import Space
from emdp.spaces.combined.elsewhere import COLUMN

__all__ = ["EdgeNoise", "Fractions", "axis_form", "edge_noise", "edge_ways", "least_noise"]

AS_NEAR = 1.0 + 1e-9
"""Errors within this factor are as near as one another."""

Fractions = Mapping[str, Fraction]
"""By column what fraction of alpha moves along it have here, 1 where none is named; the rest is another release's."""


@dataclass(frozen=True, eq=False)
class EdgeNoise:
    """Noise on edges for each of some groups of users, or why there is none."""

    noise: GroupNoise | None
    error: float = 0.0  # Root of the mean over the cells of the squared error, in the smallest group
    refusal: str = ""

    def required(self) -> GroupNoise:
        """Return the noise."""
        if self.noise is None:
            raise UsageError(f"noise='edges' has no bound here: {self.refusal}; leave noise out.")
        return self.noise

    def asked(self) -> GroupNoise:
        """Return the noise, which was asked for by name."""
        found = self.required()
        return replace(found, choice=f"{found.choice[:-1]}, as asked for.")


def edge_noise(
    aggregation: Aggregation, space: Space, sizes: Sequence[int], price: Price, fractions: Fractions | None = None
) -> EdgeNoise:
    """Return noise on the edges between neighbouring cells.

    >>> from emdp.estimators.frequency.grids import cells_of
    >>> from emdp.expressions.nodes.base import Constant
    >>> from emdp.questions.select import Grid
    >>> from emdp.spaces import Interval
    >>> space = Interval("x", 0, 10)
    >>> histogram = Aggregation((Constant(1.0),), cells_of(Grid(2.5), space).axes)
    >>> edge_noise(histogram, space, [100], Price("alpha", 2.0)).noise.widest.scale
    0.02
    """
    ways = edge_ways(aggregation, space, sizes, price, fractions)
    return min(ways, key=lambda way: way.error)


def edge_ways(
    aggregation: Aggregation, space: Space, sizes: Sequence[int], price: Price, fractions: Fractions | None = None
) -> list[EdgeNoise]:
    """Return noise on edges by each law and on each graph, or the one refusal."""
    if space.elsewhere is not None and price.is_user_level:
        return [EdgeNoise(None, refusal="under epsilon an edge from every cell to the point elsewhere has more noise")]
    if not is_partition(aggregation, space):
        why = "the listed values are not all values, so that their shares do not add up to 1"
        return [EdgeNoise(None, refusal=why)]
    laws: list[type[EdgeLaplaceMechanism] | type[EdgeGaussianMechanism]] = [EdgeLaplaceMechanism]
    if (
        price.delta > least_gaussian_delta(2 * aggregation.cells * len(aggregation.axes))
        and price.level <= LARGEST_ALPHA
    ):
        laws.append(EdgeGaussianMechanism)
    found: list[tuple[EdgeMechanism, ...]] = []
    away = 0.0 if space.elsewhere is None else _over(div_up(1.0, space.elsewhere), COLUMN, fractions)
    for law in laws:
        constants = _constants(aggregation, space, price, law.norm)
        if constants is None or math.inf in constants:
            why = "cells are not along columns of the space" if constants is None else "listed values are at distance 0"
            return [EdgeNoise(None, refusal=why)]
        inflated = [_over(own, _column(axis), fractions) for own, axis in zip(constants, aggregation.axes, strict=True)]
        made = {size: _mechanism(law, aggregation, space, inflated, away, size, price) for size in set(sizes)}
        found.append(tuple(made[size] for size in sizes))
    for ends, graph in () if price.is_user_level else _graphs(aggregation, space, away, fractions):
        drawn = {size: _on_graph(ends, graph, away, aggregation, space, size, price) for size in set(sizes)}
        found.append(tuple(drawn[size] for size in sizes))
    return [_of(mechanisms, price) for mechanisms in found]


def _of(mechanisms: tuple[EdgeMechanism, ...], price: Price) -> EdgeNoise:
    name = mechanisms[0].name.removeprefix("edge ")
    error = max(own.root_mean_square for own in mechanisms)
    reason = f"{name} noise on the edges between neighbouring cells: root mean square error {error:.3g} a cell."
    return EdgeNoise(GroupNoise(mechanisms, parallel_event(mechanisms, price.promise()), reason), error)


def least_noise(edges: EdgeNoise, cells: GroupNoise) -> GroupNoise:
    """Return the noise with the smaller mean square error in the smallest group, that on edges where they are alike."""
    if edges.noise is None or cells.widest.is_exact:
        return cells
    other = cells.widest.standard_deviation
    if edges.error > other * AS_NEAR:
        return cells
    against = f", against {other:.3g} with {cells.widest.name} noise on every cell, and less in regions of cells."
    return replace(edges.noise, choice=edges.noise.choice[:-1] + against)


Graph = tuple[tuple[tuple[int, int], ...], tuple[float, ...]]
"""Ends of edges, and what each carries for a move by one unit of ``d_X``."""


def _graphs(aggregation: Aggregation, space: Space, away: float, fractions: Fractions | None) -> list[Graph]:
    """Return the graphs whose edges can have noise on one grid; none where cells are of something else."""
    part, axis = places_of(aggregation, space), aggregation.axes[0]
    if part is None or not isinstance(axis, LabelAxis):
        return []
    found = []
    for graph in place_graphs(axis, part):
        # the distance of one part is at most that of whole items over the part's share
        whole = [[own if each is part else 0.0 for each in space.parts] for own in graph.constants]
        constants = tuple(_over(largest_quotient(own, space), axis.column, fractions) for own in whole)
        all_edges = [*constants, *([away] if away else [])]
        if max(all_edges) <= min(all_edges) * (LARGEST_RATIO / 2.0):
            found.append((graph.ends, constants))
    return found


def _on_graph(
    ends: tuple[tuple[int, int], ...],
    constants: Sequence[float],
    away: float,
    aggregation: Aggregation,
    space: Space,
    users: int,
    price: Price,
) -> GraphLaplaceMechanism:
    return GraphLaplaceMechanism.over(
        ends,
        [quotient_up(own, users) for own in constants],
        away=quotient_up(away, users),
        alpha=price.level,
        statistic_error=quotient_up(aggregation_sum_error(aggregation, space), users),
    )


def _constants(aggregation: Aggregation, space: Space, price: Price, norm: int) -> tuple[float, ...] | None:
    if not price.is_user_level:
        return flow_lipschitz(aggregation, space, norm)
    axes = [EdgeAxis(axis.size, 1.0, axis_form(axis)) for axis in aggregation.axes]
    own = math.fsum(axis.reach for axis in axes) if norm == 1 else user_flow(axes)
    return tuple(own if axis.size > 1 else 0.0 for axis in aggregation.axes)


def _mechanism(
    law: type[EdgeLaplaceMechanism] | type[EdgeGaussianMechanism],
    aggregation: Aggregation,
    space: Space,
    constants: Sequence[float],
    away: float,
    users: int,
    price: Price,
) -> EdgeMechanism:
    axes = [
        EdgeAxis(axis.size, quotient_up(constant, users), axis_form(axis))
        for axis, constant in zip(aggregation.axes, constants, strict=True)
    ]
    shared: dict[str, Any] = {"delta": price.delta} if law is EdgeGaussianMechanism else {}
    error = quotient_up(aggregation_sum_error(aggregation, space), users)
    return law.on(axes, away=quotient_up(away, users), alpha=price.level, statistic_error=error, **shared)


def _over(constant: float, column: str, fractions: Fractions | None) -> float:
    """Return the constant of moves along a column that have a fraction of alpha here: over it, rounded up."""
    own = (fractions or {}).get(column, Fraction(1))
    return constant if own == 1 or math.isinf(constant) else float_at_least(Fraction(constant) / own)


def _column(axis: Axis) -> str:
    return axis.column if isinstance(axis, LabelAxis) else str(getattr(axis.expression, "name", ""))


def axis_form(axis: Axis) -> Form:
    if isinstance(axis, HatAxis):
        return "round" if axis.is_periodic else "path"
    return "listed" if axis.size >= STAR else "round" if axis.size == STAR - 1 else "path"
