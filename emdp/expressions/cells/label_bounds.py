"""Lipschitz constants of cells of label axes: from the smallest distance between items of different cells."""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from emdp.expressions.cells.aggregation import LabelAxis
from emdp.expressions.cells.reference import Codes, label_cells
from emdp.expressions.nodes.label_distances import distance_blocks
from emdp.expressions.numbers.outward import div_up
from emdp.spaces.base import Floats, Space
from emdp.spaces.listed.clusters import Clusters

__all__ = ["crossing_constant"]


@lru_cache(maxsize=64)
def crossing_constant(axis: LabelAxis, part: Space) -> float:
    """Return the part's diameter over the least distance at which an item's cell can change, rounded up.

    Moves from one cell into another count, and from a cell to an item of none and back. 0 where every item is in the
    same cell, or none is in any; infinite where two items at distance 0 are in different ones.

    Raises
    ------
    UsageError
        If the axis does not fit the part, or too many distances would have to be compared.

    >>> from emdp.spaces import Categories, Distances
    >>> crossing_constant(LabelAxis("kind", (("bar",),)), Categories("kind", ["bar", "inn"]))
    1.0
    >>> stops = Distances("stop", ["A", "B", "C"], [[0, 1, 4], [1, 0, 3], [4, 3, 0]])
    >>> crossing_constant(LabelAxis("stop", (("A", "B"), ("C",))), stops) == div_up(4, 3)
    True
    """
    _, cells = label_cells(axis, part)
    if (cells == cells[0]).all():
        return 0.0
    if part.structure == "discrete":
        return div_up(part.diameter, part.domain_diameter)
    if isinstance(part, Clusters):
        return div_up(part.diameter, part.within if _splits_a_cluster(part, cells) else part.domain_diameter)
    least = _least_distance(part, cells)
    return div_up(part.diameter, least) if least > 0 else float("inf")


def _splits_a_cluster(part: Clusters, cells: Codes) -> bool:
    clusters = part.cluster_codes(np.arange(len(cells), dtype=np.float64)[:, None])
    _, first = np.unique(clusters, return_index=True)
    return bool((cells != cells[first][clusters]).any())


def _least_distance(part: Space, cells: Codes) -> float:
    least = np.inf

    def needed(rows: Codes, columns: Codes, floors: Floats) -> npt.NDArray[np.bool_]:
        return np.asarray(np.not_equal.outer(cells[rows], cells[columns]) & (floors < least))

    for rows, columns, distances in distance_blocks(part, len(cells), needed):
        apart: Floats = distances[np.not_equal.outer(cells[rows], cells[columns])]
        least = min(least, float(apart.min(initial=np.inf)))
    return least
