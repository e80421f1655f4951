"""Scores of noise on edges: the likelihood ratio on a line, elsewhere the sum of cells that the change moves most.

On a line the numbers on the edges are the released cells' sums from one end, so the likelihood ratio is known. On
other grids many numbers on edges give the same cells. There the score is ``sum_i f_i Y_i`` with the potential ``f`` of
a flow of least cost: ``|f_i - f_j|`` is at most one over the noise's scale on every edge, and ``sum_i f_i shift_i`` is
the least cost, the whole privacy loss that is claimed. It weighs whole regions of cells, where errors cancel.
"""

import numpy as np

from emdp.audit.changes import Floats
from emdp.base.errors import InternalError
from emdp.mechanisms import AdditiveMechanism
from emdp.mechanisms.central.edge_grid import EdgeGrid
from emdp.mechanisms.central.edge_laws import EdgeLaplaceMechanism
from emdp.mechanisms.central.edges import EdgeMechanism

__all__ = ["CELLS", "edge_ratio", "has_known_ratio"]

CELLS = "sums of cells"
"""Name of a score that is no likelihood ratio."""

MOST_NODES = 2000
"""Most nodes that a potential is looked for on; beyond, the score is the sum of the cells that changed."""


def has_known_ratio(mechanism: AdditiveMechanism) -> bool:
    """Say whether the score is a likelihood ratio.

    >>> from emdp.mechanisms import LaplaceMechanism
    >>> has_known_ratio(LaplaceMechanism(sensitivity=1.0, alpha=1.0))
    True
    """
    return not isinstance(mechanism, EdgeMechanism) or _is_line(mechanism)


def edge_ratio(mechanism: EdgeMechanism, released: Floats, shift: Floats) -> Floats:
    """Return the scores of releases in steps of the answer's grid, around the first centre; larger is nearer to it.

    Parameters
    ----------
    mechanism : EdgeMechanism
        Whose noise it is.
    released : numpy.ndarray
        Shape (releases, nodes).
    shift : numpy.ndarray
        Shape (nodes,): the second centre less the first.

    >>> from emdp.mechanisms.central.edge_grid import EdgeAxis
    >>> line = EdgeLaplaceMechanism.on([EdgeAxis(2, 1.0)], alpha=1.0)
    >>> step = line.noise_units
    >>> edge_ratio(line, np.array([[0.0, 0.0]]), np.array([-step, step])).tolist()
    [1.0]
    """
    if _is_line(mechanism):
        units = max(mechanism.axis_units)
        edges, moved = np.cumsum(released, axis=1)[:, :-1], np.cumsum(shift)[:-1]
        if isinstance(mechanism, EdgeLaplaceMechanism):
            return np.asarray((np.abs(edges - moved) - np.abs(edges)).sum(axis=1) / units, dtype=np.float64)
        return np.asarray((moved * (moved - 2.0 * edges)).sum(axis=1) / (2.0 * units * units), dtype=np.float64)
    return np.asarray(-(released @ _potential(mechanism, shift)), dtype=np.float64)


def _is_line(mechanism: EdgeMechanism) -> bool:
    return not mechanism.away and [axis.form for axis in mechanism.axes if axis.size > 1] == ["path"]


def _potential(mechanism: EdgeMechanism, shift: Floats) -> Floats:
    """Return the potential of a flow of least cost with this divergence."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix

    if mechanism.dimension > MOST_NODES:
        return np.asarray(shift / (np.abs(shift).sum() * mechanism.noise_units), dtype=np.float64)
    matrix = edge_matrix(mechanism.edge_grid)
    units = np.concatenate(
        [np.full(mechanism.edge_grid.edges_of(place), unit) for place, unit in enumerate(mechanism.axis_units)]
    )
    steps = units * mechanism.edge_grid.parts
    largest = float(steps.max())
    bounds = np.concatenate([largest / steps] * 2)
    both = csr_matrix(np.concatenate([matrix.T, -matrix.T]))
    found = linprog(-shift / np.abs(shift).max(), A_ub=both, b_ub=bounds, bounds=(None, None), method="highs")
    if not found.success:
        raise InternalError("a potential was not found; please report this.")
    return np.asarray(found.x / largest, dtype=np.float64)


def edge_matrix(grid: EdgeGrid) -> Floats:
    """Return ``M``: one column an edge, one row a node.

    >>> from emdp.mechanisms.central.edge_grid import EdgeAxis
    >>> edge_matrix(EdgeGrid((EdgeAxis(3, 1.0),))).tolist()
    [[-1.0, 0.0], [1.0, -1.0], [0.0, 1.0]]
    """
    own = np.eye(grid.nodes)
    return np.column_stack([np.concatenate(grid.differences(row)) for row in own]).T
