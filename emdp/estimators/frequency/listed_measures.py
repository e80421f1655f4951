"""Private measures of listed places with given distances, such as areas: noise on the edges of a graph of them.

Every place is a node, so that nothing is smoothed: what is released is unbiased for the shares themselves, and means
over it have intervals of the truth. The distributions nearest to it in the norm of the noise is the fit. Which graph is
taken, or the edges of a list of values, is a public rule: the one whose fit is expected to be nearest to the truth at
towns. What is expected is simulated for the distances at hand, with public numbers alone (``_spread`` below is no noise
of a release): at places where a few towns of very different sizes have most of the records, and at scattered places,
each with a size of its own. Records elsewhere are no part of it.
"""

import math
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.estimators.frequency.edge_noise import Fractions, edge_ways
from emdp.estimators.frequency.grids import Cells
from emdp.estimators.frequency.measure_cells import BY_MOVES, MeasureCells, chosen_parts
from emdp.estimators.frequency.measure_rows import MeasureRows
from emdp.estimators.user_groups import GroupNoise
from emdp.expressions.cells.aggregation import Aggregation, LabelAxis
from emdp.expressions.cells.place_graphs import MOST_PLACES, apart
from emdp.expressions.nodes.base import Constant
from emdp.mechanisms.central.edge_graph import GraphLaplaceMechanism
from emdp.mechanisms.central.edges import EdgeMechanism
from emdp.questions.measures import Measure
from emdp.spaces import Space
from emdp.spaces.base import Floats
from emdp.spaces.listed.categories import Categories
from emdp.spaces.listed.distances import Distances
from emdp.transport.arrays import solve
from emdp.transport.fit import FitAxis, fit_measure

__all__ = ["ListedCells", "ListedRows", "bound_of_means", "listed_distances", "listed_notes", "listed_ways"]

Listed = Distances | Categories

TOWNS = 40
ROUNDS = 2
"""Simulations at each of the public tables."""

FIT_STEPS = 400

TOWN_WIDTH = 5.0
"""Mean distance over how far a town's records spread."""


@dataclass(frozen=True, eq=False)
class ListedCells(MeasureCells):
    """Listed places: each is a node and a place of the fit.

    Parameters
    ----------
    near : (float, float)
        Expected distances of the fit to the truth at towns and at scattered places, in the natural unit.
    """

    near: tuple[float, float] = (0.0, 0.0)

    @property
    def expected(self) -> tuple[float, float]:
        return self.near


@dataclass(frozen=True, eq=False)
class ListedRows(MeasureRows):
    """Rows of a measure of listed places."""

    @cached_property
    def _axes(self) -> list[FitAxis]:
        return [_fit_axis(self.mechanism, self.grid.cells.size)]

    @property
    def _away(self) -> float:
        mechanism = self.mechanism
        if not self.has_away or not isinstance(mechanism, EdgeMechanism):
            return 0.0
        return 2.0 * (mechanism.axis_units[-1] * mechanism.grid) ** 2


def listed_ways(
    query: Measure, space: Space, users: int, fractions: Fractions | None = None
) -> list[tuple[MeasureCells, GroupNoise]]:
    """Return places and noise for each graph, and for a list of values; none where the measure is of other parts.

    Raises
    ------
    UsageError
        If there are too many places, or something is asked for that listed places do not have.
    """
    parts = chosen_parts(space, query.columns)
    if len(parts) != 1 or not isinstance(part := parts[0], Distances | Categories):
        return []
    if query.price.is_user_level:
        raise UsageError("a measure of listed places is under alpha, where near places are alike; pass alpha.")
    if query.pairs or query.pitch is not None or query.resolution is not None:
        raise UsageError("pairs, pitch and resolution are of continuous parts, and places are listed; leave them out.")
    axis = LabelAxis.alone(part.columns[0], part.labels or ())
    aggregation = Aggregation((Constant(1.0),), (axis,))
    if not 2 <= axis.size <= MOST_PLACES:
        raise UsageError(
            f"a measure is of 2 to {MOST_PLACES} listed places, and there are {axis.size}; give their centres as a Geo."
        )
    listed_distances(part)  # refuses what is too near for a graph
    share = float(dict(zip(map(id, space.parts), space.exact_shares, strict=True))[id(part)])
    found: list[tuple[MeasureCells, GroupNoise]] = []
    for noise in (way.required() for way in edge_ways(aggregation, space, (users,), query.price, fractions)):
        near = _simulated(noise.widest, axis, part)
        found.append((_cells(axis, part, share / part.diameter, near), noise))
    return found


def listed_distances(part: Listed) -> Floats:
    """Return how far listed values are from one another, cut at 1."""
    if isinstance(part, Categories):
        return np.asarray(1.0 - np.eye(len(part.labels)), dtype=np.float64)
    return apart(LabelAxis.alone(part.columns[0], part.labels), part)


def bound_of_means(space: Space) -> str:
    """Return how far off means over a measure are; nothing where they are quotients by the share that is somewhere."""
    bound = "; the mean of a function that changes by at most L a unit is off by at most L times that"
    return bound if space.elsewhere is None else ""


def listed_notes(grid: MeasureCells, space: Space) -> tuple[str, ...]:
    """Return what is said of a measure of listed places."""
    return (
        f"the fitted measure is {grid.expectation}, simulated for these places{bound_of_means(space)}",
        f"{grid.cells.size} listed places, nothing is smoothed: shares are unbiased, have exact intervals and add up "
        "to 1; raw means have intervals of the truth where nobody can be elsewhere, and the fit has none",
    )


def _cells(axis: LabelAxis, part: Listed, scale: float, near: tuple[float, float]) -> ListedCells:
    cells = Cells((axis,), part.columns, f"a measure on {axis.size} places of {axis.column}")
    unit = "" if part.unit is None else f" {part.unit}"
    natural = (near[0] * part.diameter, near[1] * part.diameter)
    return ListedCells(cells, (None,), (axis.size,), 0.0, unit, scale, 0.0, 1.0, BY_MOVES, near=natural)


def _fit_axis(mechanism: Any, size: int) -> FitAxis:
    if not isinstance(mechanism, GraphLaplaceMechanism):
        form = mechanism.axes[0].form
        return FitAxis(np.eye(size), form, 2.0 * (mechanism.axis_units[0] * mechanism.grid) ** 2)
    laplacian = np.zeros((size, size))
    for (first, second), units in zip(mechanism.ends, mechanism.axis_units, strict=not mechanism.away):
        variance = 2.0 * (units * mechanism.grid) ** 2
        laplacian[[first, second], [first, second]] += variance
        laplacian[[first, second], [second, first]] -= variance
    return FitAxis(np.eye(size), "graph", 1.0, laplacian)


@lru_cache(maxsize=64)
def _simulated(mechanism: EdgeMechanism, axis: LabelAxis, part: Listed) -> tuple[float, float]:
    """Return the distances of the fit that are expected at both public tables, in the unit of the part's distance."""
    distances, fit = listed_distances(part), _fit_axis(mechanism, axis.size)
    means = []
    for number, table in enumerate((_towns(distances), _scattered(axis.size))):
        truth, found = table / table.sum(), []
        for turn in range(ROUNDS):
            noisy = truth + _spread(mechanism, axis.size, ROUNDS * number + turn)
            found.append(solve(fit_measure(noisy, [fit], steps=FIT_STEPS), truth, distances))
        means.append(math.fsum(found) / ROUNDS)
    return means[0], means[1]


def _spread(mechanism: EdgeMechanism, size: int, seed: int) -> Floats:
    """Return what numbers of the noise's law on the edges bring to the places, from public numbers alone."""
    grid = mechanism.edge_grid
    drawn, start = [], 1000 * seed
    for place, units in enumerate(mechanism.axis_units):
        count = grid.edges_of(place)
        half = _scrambled(start + count)[start:] - 0.5
        is_inner = place < len(mechanism.axes)
        drawn.append(np.rint(-units * is_inner * np.sign(half) * np.log1p(-2.0 * np.abs(half))).astype(np.int64))
        start += count
    return np.asarray(grid.divergence(drawn)[:size] * (mechanism.grid / grid.parts), dtype=np.float64)


def _towns(distances: Floats) -> Floats:
    size = len(distances)
    centres = np.argsort(_scrambled(size))[:TOWNS]
    near = np.exp(-distances[centres] * (TOWN_WIDTH / distances[distances > 0].mean()))
    return np.asarray((1.0 / np.arange(1, len(centres) + 1)) @ (near / near.sum(axis=1, keepdims=True)))


def _scattered(size: int) -> Floats:
    return _scrambled(size) ** 3


def _scrambled(count: int) -> Floats:
    """Return numbers in [0, 1) without an order, the same ever.

    >>> _scrambled(2).round(3).tolist() == _scrambled(3).round(3).tolist()[:2]
    True
    """
    return np.asarray(np.modf(np.abs(np.sin(12.9898 * (np.arange(count) + 1.0))) * 43758.5453)[0])
