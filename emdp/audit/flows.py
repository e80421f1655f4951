"""Scores of noise on edges: the likelihood ratio where it has a formula, elsewhere a sum of cells that change.

On a line the numbers on the edges are the released cells' sums from one end, so the likelihood ratio is known. In a
grid with one ring (a square of four nodes, an axis that goes round) the numbers of one release are known but for one
number that goes round, and their density is the integral of ``exp(-sum_e |a_e + c|)`` over it, a sum of exponentials.
Gaussian noise has a normal law on any grid, whose covariance is that of the divergence.

On other grids many numbers on edges give the same cells. There the score is ``sum_i f_i Y_i``, ``f`` a potential of
a flow of least cost: ``|f_i - f_j|`` is at most one over the noise's scale on every edge, and ``sum_i f_i shift_i`` is
the least cost, the whole privacy loss that is claimed. It weighs whole regions of cells, where errors cancel: what it
finds is the less, the more edges a cut through the grid has. The square is where a cut is protected least.
"""

import math

import numpy as np

from emdp.audit.changes import Floats
from emdp.base.errors import InternalError
from emdp.mechanisms import AdditiveMechanism
from emdp.mechanisms.central.edge_grid import EdgeGrid
from emdp.mechanisms.central.edge_laws import EdgeGaussianMechanism, EdgeLaplaceMechanism
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
    if not isinstance(mechanism, EdgeMechanism) or _is_line(mechanism) or _has_one_ring(mechanism):
        return True
    return isinstance(mechanism, EdgeGaussianMechanism) and mechanism.dimension <= MOST_NODES


def edge_ratio(mechanism: EdgeMechanism, released: Floats, shift: Floats) -> Floats:
    """Return the scores of releases in steps of the answer's grid, around the first centre; larger is nearer to it.

    Parameters
    ----------
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
    if isinstance(mechanism, EdgeGaussianMechanism) and mechanism.dimension <= MOST_NODES:
        slope = np.linalg.pinv(_covariance(mechanism), hermitian=True) @ shift
        return np.asarray(0.5 * shift @ slope - released @ slope, dtype=np.float64)
    if _has_one_ring(mechanism):
        return _ring_ratio(mechanism, released, shift)
    return np.asarray(-(released @ _potential(mechanism, shift)), dtype=np.float64)


def _is_line(mechanism: EdgeMechanism) -> bool:
    return not mechanism.away and [axis.form for axis in mechanism.axes if axis.size > 1] == ["path"]


def _has_one_ring(mechanism: EdgeMechanism) -> bool:
    """Say whether the edges, of Laplace noise, are as many as the nodes, and each brings a number to two of them."""
    grid = mechanism.edge_grid
    is_plain = all(axis.form != "listed" for axis in mechanism.axes) and not mechanism.away
    return isinstance(mechanism, EdgeLaplaceMechanism) and is_plain and grid.edges == grid.nodes


def _edge_units(mechanism: EdgeMechanism) -> Floats:
    """Return the scale of the noise on each edge in steps of the answer's grid."""
    grid = mechanism.edge_grid
    return np.concatenate(
        [np.full(grid.edges_of(place), unit) for place, unit in enumerate(mechanism.axis_units)]
    ) * float(grid.parts)


def _covariance(mechanism: EdgeMechanism) -> Floats:
    matrix = edge_matrix(mechanism.edge_grid)
    # the divergence of the answer is in units of one over the product of the listed axes' sizes
    return np.asarray((matrix * _edge_units(mechanism) ** 2) @ matrix.T, dtype=np.float64)


def _ring_ratio(mechanism: EdgeMechanism, released: Floats, shift: Floats) -> Floats:
    """Return the exact likelihood ratio in a grid whose edges go round once, those off the ring included."""
    matrix, units = edge_matrix(mechanism.edge_grid), _edge_units(mechanism)
    back = np.linalg.pinv(matrix)
    # the one direction that no node sees: 1 or -1 on the edges of the ring, 0 on others
    ring = np.linalg.svd(matrix)[2][-1]
    ring = np.round(ring / np.abs(ring).max())
    own, moved = released @ back.T, back @ shift
    return _log_ring(own, ring, units) - _log_ring(own - moved, ring, units)


def _log_ring(flows: Floats, ring: Floats, units: Floats) -> Floats:
    """Return ``ln`` of the integral of ``exp(-sum_e |flow_e + c ring_e|/unit_e)`` over ``c``, a number a row.

    Between the places where an edge's number is 0 the exponent is a line, so each piece has a formula.
    """
    on = ring != 0
    rest = (np.abs(flows[:, ~on]) / units[~on]).sum(axis=1)
    places = flows[:, on] * ring[on]
    weights = 1.0 / units[on]
    order = np.argsort(-places, axis=1)
    breaks = np.take_along_axis(-places, order, axis=1)
    depths = (np.abs(places[:, None, :] + breaks[:, :, None]) * weights).sum(axis=2)
    total = float(weights.sum())
    slopes = 2.0 * np.cumsum(weights[order], axis=1) - total
    pieces = [-depths[:, 0] - math.log(total), -depths[:, -1] - math.log(total)]
    for place in range(breaks.shape[1] - 1):
        length, slope = breaks[:, place + 1] - breaks[:, place], np.abs(slopes[:, place])
        fallen = slope * length
        with np.errstate(divide="ignore"):
            area = np.where(
                fallen > 1e-9, np.log(-np.expm1(-fallen)) - np.log(np.maximum(slope, 1e-300)), np.log(length)
            )
        pieces.append(area - np.minimum(depths[:, place], depths[:, place + 1]))
    return np.asarray(np.logaddexp.reduce(np.array(pieces), axis=0) - rest, dtype=np.float64)


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
