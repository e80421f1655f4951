"""Graphs of listed places with given distances, and the flow that their edges carry for a move by one unit of distance.

A greedy spanner (Althofer et al. 1993): pairs of places are met from near to far, and a pair is joined where the
shortest path so far is longer than a factor times its distance. In a plane it has about two edges a place. Whatever the
graph, edges of lengths ``l_e`` carry at most ``c/l_e`` for a move by one unit of ``d_X``, where ``c`` is its *stretch*:
the most that a shortest path is longer than the distance (:mod:`emdp.mechanisms.central.edge_graph`). ``c`` is measured
over all pairs, of the distances that are cut at ``diameter``. Sums and quotients of fewer than ``2**20`` doubles err by
less than ``2**-31`` of them, which :data:`MARGIN` covers.

Of cells with several values the distance is the least one between items of both; that need not be a metric, nor does
the theorem ask for one: a record that stays in its cell needs no flow.
"""

from functools import lru_cache

import numpy as np

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.expressions.cells.aggregation import Aggregation, LabelAxis
from emdp.expressions.cells.reference import label_cells
from emdp.expressions.numbers.outward import div_up, mul_up
from emdp.spaces.base import Floats, Space
from emdp.spaces.listed.distances import Distances

__all__ = ["MOST_PLACES", "PlaceGraph", "apart", "place_graphs", "places_of"]

MOST_PLACES = 500
"""Most places that a graph is sought for: two seconds."""

FACTORS = (1.3, 2.0)
"""Of the greedy graphs. Of zones in a plane shares come within 5 % as near to the truth at 1.2 to 1.5, and are 10 to
30 % farther at 2; places that are all as far apart have a star at 2, and all pairs as edges below."""

MARGIN = 1.0 + 2.0**-30


@dataclass(frozen=True, eq=False)
class PlaceGraph:
    """A connected graph of places."""

    ends: tuple[tuple[int, int], ...]  # The places that each edge joins
    lengths: tuple[float, ...]  # Of the edges, in the unit of the part's distance, cut at 1
    stretch: float  # `c`, rounded up

    @property
    def constants(self) -> tuple[float, ...]:
        """For each edge what it carries for a move by one unit of the part's distance, at most."""
        return tuple(div_up(self.stretch, length) for length in self.lengths)


def places_of(aggregation: Aggregation, space: Space) -> Distances | None:
    """Return the part whose values are the cells; None where cells are of something else, or too many or too few."""
    axes = aggregation.axes
    if len(axes) != 1 or aggregation.pairs or not isinstance(axis := axes[0], LabelAxis):
        return None
    part = next((own for own in space.parts if axis.column in own.columns), None)
    return part if isinstance(part, Distances) and 2 <= axis.size <= MOST_PLACES else None


@lru_cache(maxsize=16)
def apart(axis: LabelAxis, part: Distances) -> Floats:
    """Return the least distance between items of any two cells, cut at 1, shape (cells, cells).

    >>> stops = Distances("stop", ["A", "B", "C"], [[0, 1, 4], [1, 0, 3], [4, 3, 0]])
    >>> apart(LabelAxis("stop", (("A", "B"), ("C",))), stops).tolist()
    [[0.0, 0.75], [0.75, 0.0]]
    """
    _, cells = label_cells(axis, part)
    codes = [np.flatnonzero(cells == cell) for cell in range(axis.size)]
    cut = np.minimum(part.matrix / part.diameter, 1.0)
    rows = np.array([cut[own].min(axis=0) for own in codes])
    found = np.array([rows[:, own].min(axis=1) for own in codes])
    if len(found) > 1 and not (found + np.eye(len(found)) > 0).all():
        first, second = (axis.cells[int(own)][0] for own in np.argwhere(found + np.eye(len(found)) <= 0)[0])
        raise UsageError(
            f"matrix has a distance from {first!r} to {second!r} that is 0 beside diameter {part.diameter:.3g}: no "
            "number is so small; merge the values, or give a smaller diameter."
        )
    np.fill_diagonal(found, 0.0)
    return np.asarray(np.minimum(found, found.T), dtype=np.float64)


@lru_cache(maxsize=16)
def place_graphs(axis: LabelAxis, part: Distances) -> tuple[PlaceGraph, ...]:
    """Return the graphs that are compared.

    Parameters
    ----------
    axis : LabelAxis
        At most :data:`MOST_PLACES` cells, which have all values of the part.

    >>> stops = Distances("stop", ["A", "B", "C"], [[0, 1, 4], [1, 0, 3], [4, 3, 0]])
    >>> graph = place_graphs(LabelAxis("stop", (("A",), ("B",), ("C",))), stops)[0]
    >>> graph.ends, graph.lengths, graph.stretch == MARGIN
    (((0, 1), (1, 2)), (0.25, 0.75), True)
    """
    distances = apart(axis, part)
    found = [_spanner(distances, factor) for factor in FACTORS]
    return tuple(found if found[0].ends != found[1].ends else found[:1])


def _spanner(distances: Floats, factor: float) -> PlaceGraph:
    count = len(distances)
    paths = np.where(np.eye(count, dtype=bool), 0.0, np.inf)
    first, second = np.triu_indices(count, 1)
    order = np.argsort(distances[first, second], kind="stable")
    ends = []
    for a, b in zip(first[order].tolist(), second[order].tolist(), strict=True):
        length = distances[a, b]
        if paths[a, b] > factor * length:
            ends.append((a, b))
            over = np.add.outer(paths[:, a], length + paths[b])
            np.minimum(paths, np.minimum(over, over.T), out=paths)
    is_pair = ~np.eye(count, dtype=bool)
    stretch = float((paths[is_pair] / distances[is_pair]).max())
    return PlaceGraph(tuple(ends), tuple(float(distances[pair]) for pair in ends), mul_up(stretch, MARGIN))
