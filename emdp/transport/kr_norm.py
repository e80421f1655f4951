"""The Kantorovich-Rubinstein norm of a signed measure: the error of an unbiased estimate in the unit of ``d_em``.

Definition. For a signed measure ``e`` on a space with ``e(X) = 0``, ``|e|_KR`` is the least cost of moving its positive
part onto its negative part. It is a norm, and ``d_em(P, Q) = |P - Q|_KR`` for distributions; so it extends ``d_em`` to
estimates with negative entries.

Where it is known in closed form: on a line the integral of ``|e((-inf, x])|``; with the 0/1 metric ``sum |e(x)|/2``; on
clusters ``within (sum_x |e(x)| - sum_C |e(C)|)/2 + sum_C |e(C)|/2`` (:mod:`emdp.transport.tree`, whose proof uses only
the differences of the two histograms). Else it is a transport problem between the two parts.
"""

import numpy as np
import numpy.typing as npt

from emdp.base.errors import UsageError
from emdp.spaces.base import Floats, Space
from emdp.transport.bags import Ints
from emdp.transport.costs import ground_costs
from emdp.transport.lp import transport
from emdp.transport.routes import cluster_codes, within
from emdp.transport.simplex import check_estimates

__all__ = ["MOST_PAIRS", "check_items", "cluster_norm", "kr_norm", "line_norm"]

MOST_PAIRS = 4_000_000
"""Most pairs of a positive and a negative entry that are solved exactly: 32 MB of costs and some seconds."""

BALANCE, ROUNDING = 1e-6, 1e-9
"""Largest sum of a measure that counts as 0: per unit of its absolute mass, and of what rounding leaves of shares."""


def kr_norm(values: npt.ArrayLike, space: Space, items: Floats) -> float:
    """Return the Kantorovich-Rubinstein norm of a signed measure, exactly.

    Parameters
    ----------
    values : array-like of float
        The measure of each item, shape (k,), with sum 0 (to a millionth of its absolute mass, or 1e-9); what is left
        of it is spread evenly.
    items : numpy.ndarray
        The items as ``space.encode`` returns them, shape (k, width), distinct.

    Returns
    -------
    float
        From 0 to half the sum of ``|values|``; to 1e-9 of that where a transport problem is solved.

    Raises
    ------
    UsageError
        If the arguments do not fit, the sum is not 0, or there are too many pairs for an exact solve.
    SolverError
        If a solve is not proven optimal.

    >>> from emdp.spaces import Interval
    >>> kr_norm([0.5, -1.0, 0.5], Interval("x", 0, 10), np.array([[0.0], [5.0], [10.0]]))
    0.5
    """
    given = check_estimates("values", values)
    check_items(given, items)
    mass, excess = float(np.abs(given).sum()), float(given.sum())
    if abs(excess) > BALANCE * mass + ROUNDING:
        raise UsageError("values must have the sum 0; subtract one distribution, or estimate, from another.")
    given = given - excess / given.size
    if space.structure == "line":
        return line_norm(given, space.line(items))
    if space.structure == "discrete":
        return float(np.abs(given).sum()) / 2
    if space.structure == "clusters":
        return cluster_norm(given, cluster_codes(space, items), within(space))
    return _by_transport(given, space, items)


def line_norm(values: Floats, positions: Floats) -> float:
    """Return the norm on a line: the area under ``|cumulative sum|``.

    Parameters
    ----------
    values : numpy.ndarray
        The measure, shape (k,), with sum 0.
    positions : numpy.ndarray
        Positions in units of ``d_X``, shape (k,), in any order.

    >>> line_norm(np.array([1.0, -1.0]), np.array([0.75, 0.25]))
    0.5
    """
    order = np.argsort(positions, kind="stable")
    return float(np.abs(np.cumsum(values[order])[:-1]) @ np.diff(positions[order]))


def cluster_norm(values: Floats, codes: Ints, within_distance: float) -> float:
    """Return the norm on clusters.

    Parameters
    ----------
    values : numpy.ndarray
        The measure, shape (k,), with sum 0.
    codes : numpy.ndarray
        Cluster of each item, shape (k,), whole numbers from 0.
    within_distance : float
        Distance of two items of one cluster, in [0, 1].

    >>> cluster_norm(np.array([0.5, -0.5, 0.25, -0.25]), np.array([0, 0, 0, 1]), 0.25)
    0.375
    """
    moved = float(np.abs(values).sum()) / 2
    between = float(np.abs(np.bincount(codes, values)).sum()) / 2
    return within_distance * (moved - between) + between


def check_items(values: Floats, items: Floats) -> None:
    """Raise ``UsageError`` unless there is one distinct item for each value."""
    given = np.asarray(items)
    if given.ndim != 2 or given.shape[0] != values.size:
        raise UsageError(
            f"items must be {values.size} encoded items, got shape {given.shape}; encode them with the space."
        )
    distinct = np.unique(given).size if given.shape[1] == 1 else np.unique(given, axis=0).shape[0]
    if distinct < values.size:
        raise UsageError("items must be distinct; add up the values of equal items.")


def _by_transport(values: Floats, space: Space, items: Floats) -> float:
    positive, negative = np.flatnonzero(values > 0), np.flatnonzero(values < 0)
    if positive.size * negative.size > MOST_PAIRS:
        raise UsageError(
            f"{positive.size} positive and {negative.size} negative values are too many for an exact norm, at most "
            f"{MOST_PAIRS} pairs; use a coarser space."
        )
    if positive.size == 0 or negative.size == 0:
        return 0.0
    moved = float(values[positive].sum())
    costs = ground_costs(space, items[positive], items[negative])
    return moved * transport(values[positive] / moved, -values[negative] / moved, costs).cost
