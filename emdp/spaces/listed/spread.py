"""The largest distance among many points: exact by pruned matrix products, or a proven bound."""

import numpy as np

from emdp.spaces.base import Floats
from emdp.spaces.rounding import UNIT_ROUNDOFF, norm_error

__all__ = ["EXACT_LIMIT", "largest_distance"]

EXACT_LIMIT = 20_000
"""Most points compared pair by pair, after those that cannot be in the farthest pair are dropped."""

BLOCK = 512
"""Rows of one matrix product."""


def largest_distance(points: Floats) -> float:
    """Return an upper bound of the largest Euclidean distance among points, exact to rounding.

    With ``r_i`` the distance to a centre, ``|x_i - x_j| <= r_i + r_j``; a pair known to be ``best`` apart
    leaves only points with ``r_i >= best - max r`` to compare. They are compared by ``|x|^2 + |y|^2 - 2
    x.y``, whose error is at most ``8 (d + 8) u max r^2``: as some point is at least ``max r`` from the
    farthest one (the centre is their mean), that is relative to the result. Where more than ``EXACT_LIMIT``
    points are left, the bound is the sum of the two largest ``r``.

    Parameters
    ----------
    points : numpy.ndarray
        Shape (points, dimension), finite.

    Returns
    -------
    float
        The largest distance, rounded outward.

    >>> round(largest_distance(np.array([[0.0, 0.0], [3.0, 4.0], [1.0, 1.0]])), 9)
    5.0
    """
    if (points == points[0]).all():
        return 0.0
    dimension = points.shape[1]
    centred = points - points.mean(axis=0)
    radii = np.sqrt(np.square(centred).sum(axis=1))
    order = np.argsort(-radii)
    centred, radii = centred[order], radii[order]
    farthest = float(radii[0])
    slack = norm_error(dimension, 8 * farthest)
    best = _far_pair(centred)
    kept = int(np.searchsorted(-radii, -(best - farthest - slack), side="right"))
    if kept > EXACT_LIMIT:
        return float(radii[0] + radii[1]) + slack
    squared = _largest_squared(centred[:kept], radii[:kept], best - slack)
    error = 8 * (dimension + 8) * UNIT_ROUNDOFF * farthest**2
    return float(np.sqrt(squared + error)) * (1 + 4 * UNIT_ROUNDOFF) + slack


def _far_pair(points: Floats) -> float:
    """Return the distance of some far pair: from the first point to its farthest, thence, three times."""
    start, best = 0, 0.0
    for _ in range(3):
        squared = np.square(points - points[start]).sum(axis=1)
        start = int(squared.argmax())
        best = max(best, float(np.sqrt(squared[start])))
    return best


def _largest_squared(points: Floats, radii: Floats, best: float) -> float:
    """Return the largest squared distance of points sorted by falling radius, at least ``best`` squared."""
    norms = np.square(points).sum(axis=1)
    ones = np.ones_like(norms)
    left = np.column_stack([-2 * points, norms, ones])
    right = np.column_stack([points, ones, norms]).T
    squared = max(best, 0.0) ** 2
    for start in range(0, len(points), BLOCK):
        reach = np.sqrt(squared) - radii[start]
        stop = int(np.searchsorted(-radii, -reach * (1 - 1e-12), side="right"))
        if stop <= start:
            break
        squared = max(squared, float((left[start : start + BLOCK] @ right[:, start:stop]).max()))
    return squared
