"""The public functions on arrays: points in a space, or weights and a matrix of costs."""

import math

import numpy as np
import numpy.typing as npt

from emdp.base.errors import SolverError, UsageError
from emdp.spaces.base import Floats, Space
from emdp.transport.assignment import GRID_BITS, MAX_UNITS, is_quick, match
from emdp.transport.bags import check_weights, common_units, filled_bag, to_floats
from emdp.transport.lp import TOLERANCE, transport
from emdp.transport.routes import distance, prepare

__all__ = ["solve", "solve_points"]


def solve_points(
    items_p: Floats,
    items_q: Floats,
    space: Space,
    *,
    weights_p: npt.ArrayLike | None = None,
    weights_q: npt.ArrayLike | None = None,
) -> float:
    """Return the exact earth-mover distance of two arrays of encoded items.

    Parameters
    ----------
    items_p, items_q : numpy.ndarray
        Items as ``space.encode`` returns them, shapes (n, width) and (m, width), n and m at least 1.
    space : Space
        The item space.
    weights_p, weights_q : array, optional
        Weight of each item, shapes (n,) and (m,), non-negative, finite, with a positive sum; default: equal.

    Returns
    -------
    float
        ``d_em`` of the normalised histograms, in [0, 1], to an absolute error of 1e-9.

    Raises
    ------
    UsageError
        If a bag is empty or its weights are refused.
    SolverError
        If a solve is not proven optimal.

    >>> from emdp.spaces import Interval
    >>> solve_points(np.array([[0.0], [10.0]]), np.array([[5.0]]), Interval("x", 0, 10))
    0.5
    """
    p = filled_bag("P", items_p, weights_p, space)
    q = filled_bag("Q", items_q, weights_q, space)
    if p.items.shape[1] != q.items.shape[1]:
        raise UsageError("items of P and Q differ in width; encode both with the same space.")
    left, right = prepare([p, q], space)
    return distance(left, right, space)


def solve(weights_p: npt.ArrayLike, weights_q: npt.ArrayLike, costs: npt.ArrayLike) -> float:
    """Return the least mean cost of a coupling of two normalised histograms.

    Parameters
    ----------
    weights_p, weights_q : array
        Weights, shapes (n,) and (m,), non-negative, finite, each with a positive sum; each is normalised to
        1.
    costs : array
        Cost of moving mass 1 from each to each, shape (n, m), finite, non-negative; they need not be
        distances.

    Returns
    -------
    float
        The optimum, proven to within ``1e-9 min(c, max(1, optimum))``, c being the largest cost.

    Raises
    ------
    UsageError
        If shapes do not fit, or weights are refused.
    SolverError
        If a cost is negative or not finite, or the optimum cannot be proven: as where a few costs (such as
        1e16
        for "never") are so large that the optimum is lost in their rounding.

    >>> solve([1, 1], [1, 1], [[0, 3], [3, 1]])
    0.5
    >>> solve([2, 1], [1], [[3.0], [6.0]])
    4.0
    """
    matrix = np.ascontiguousarray(to_floats("costs", costs))
    if matrix.ndim != 2 or matrix.size == 0:
        raise UsageError(f"costs must have two dimensions and an entry, got shape {matrix.shape}; pass n x m costs.")
    left, whole_left = check_weights("weights_p", weights_p, matrix.shape[0])
    right, whole_right = check_weights("weights_q", weights_q, matrix.shape[1])
    largest = float(matrix.max())
    if not (matrix.min() >= 0 and math.isfinite(largest)):
        raise SolverError("costs must be finite and not negative; cap or correct the entries that are not.")
    if largest == 0:
        return 0.0
    units = common_units(float(left.sum()), float(right.sum()), whole_left and whole_right)
    rows, columns = np.flatnonzero(left), np.flatnonzero(right)
    if rows.size < left.size or columns.size < right.size:
        matrix, left, right = np.ascontiguousarray(matrix[np.ix_(rows, columns)]), left[rows], right[columns]
    return _least_cost(left * units.factor_p, right * units.factor_q, matrix / largest, largest)


def _least_cost(supply: Floats, demand: Floats, scaled: Floats, largest: float) -> float:
    """Solve with ``scaled`` costs, in [0, 1], and return the optimum times ``largest``."""
    equal = supply.size == demand.size and bool((supply == supply[0]).all() and (demand == demand[0]).all())
    if equal and supply.size <= MAX_UNITS and is_quick(scaled):
        cost = float(scaled[np.arange(supply.size), match(scaled)].mean()) * largest
        if _allowed_gap(cost, largest) >= 2.0**-GRID_BITS:
            return cost
    optimum = transport(supply, demand, scaled)
    cost = optimum.cost * largest
    if not optimum.gap <= _allowed_gap(cost, largest):
        raise SolverError(
            "the optimum is too small against the largest cost to be proven; "
            "cap the costs that no plan should use at a few times the others."
        )
    return cost


def _allowed_gap(cost: float, largest: float) -> float:
    """Return the largest gap accepted of costs scaled to a largest of 1."""
    return TOLERANCE * min(1.0, max(1.0, cost) / largest)
