"""A quick upper bound of the Kantorovich-Rubinstein norm on a regular grid: the cost of one smooth flow.

Theorem. Let a flow along the edges of a grid leave each cell with net outflow ``e``. Then ``|e|_KR <= sum over edges
of |flow| * length``, ``length`` being at least the distance of the two cells.

Proof. A flow splits into paths from cells of positive to cells of negative ``e`` (and cycles); a path is at least as
long as the distance of its ends, by the triangle inequality.

The flow used is the gradient of the solution of Poisson's equation ``L u = e`` with reflecting edges, found by cosine
transforms in ``O(k log k)``: of all flows it has the least sum of squares. On one axis there is only one flow, and
the bound is the norm itself. On more, paths follow the axes where a plan would go straight, and squares are not
lengths: for independent errors in the plane the norm is about ``PLANE_RATIO`` times the bound.
"""

from collections.abc import Sequence

import numpy as np

from emdp.base.errors import UsageError
from emdp.spaces.base import Floats

__all__ = ["PLANE_RATIO", "flow_bound"]

PLANE_RATIO = 0.765
"""Norm over bound for independent errors in the plane; see tests/transport/test_flow.py."""


def flow_bound(values: Floats, steps: Sequence[Floats | float]) -> float:
    """Return an upper bound of the norm of a measure on a grid.

    Parameters
    ----------
    values : numpy.ndarray
        The measure on the cells, one axis of the array an axis of the grid, with sum 0; what is left is spread evenly.
    steps : sequence of float or numpy.ndarray
        For each axis at least the distance ``d_X`` of neighbours along it, a number or an array that broadcasts against
        ``numpy.diff(values, axis)``.

    Raises
    ------
    UsageError
        If there is not one step for each axis.

    >>> round(flow_bound(np.array([[1.0, 0.0, -1.0]]), [0.0, 0.25]), 12)
    0.5
    """
    from scipy.fft import dctn, idctn

    if len(steps) != values.ndim:
        raise UsageError(f"steps must have {values.ndim} entries, got {len(steps)}; pass one for each axis.")
    spectrum = dctn(values, type=2, norm="ortho")
    curvature = np.zeros(values.shape)
    for axis, count in enumerate(values.shape):
        own = 2.0 - 2.0 * np.cos(np.pi * np.arange(count) / count)
        curvature = curvature + own.reshape([-1 if other == axis else 1 for other in range(values.ndim)])
    spectrum.flat[0], curvature.flat[0] = 0.0, 1.0
    potential = idctn(spectrum / curvature, type=2, norm="ortho")
    cost = 0.0
    for axis, step in enumerate(steps):
        cost += float((np.abs(np.diff(potential, axis=axis)) * step).sum())
    return cost
