"""Euclidean projection onto the simplex: the nearest non-negative vector with a given sum.

Theorem (Held, Wolfe and Crowder 1974; Duchi et al. 2008). Let ``v`` be a vector, ``total >= 0``, and ``u`` its
entries in descending order. With ``r = max{i : u_i > (u_1 + ... + u_i - total)/i}`` and ``theta = (u_1 + ... + u_r -
total)/r``, the vector ``max(v - theta, 0)`` is the one nearest to ``v`` in the 2-norm among those with entries at
least 0 and sum ``total``.

Proof. It is feasible, and ``v - p = theta - s`` with ``s = max(theta - v, 0) >= 0`` and ``s p = 0`` in every entry;
so for any feasible ``q``, ``(v - p) . (q - p) = theta (total - total) - s . q <= 0``, which is the condition of the
projection.

As a function of unbiased estimates it is biased: it takes noise away where there is little mass, up to 15 times less
error in the 1-norm on concentrated histograms, up to 1.5 times more on flat ones deep in noise (EMD 6). Linear
queries and intervals are made of the raw estimates.
"""

import numpy as np
import numpy.typing as npt

from emdp.base.checks import check_finite
from emdp.base.errors import UsageError
from emdp.spaces.base import Floats

__all__ = ["check_estimates", "project_rows", "project_to_simplex"]

FEW = 64
"""Entries that are sorted as they are."""


def project_to_simplex(values: npt.ArrayLike, total: float = 1.0) -> Floats:
    """Return the vector with entries at least 0 and sum ``total`` that is nearest in the 2-norm.

    Parameters
    ----------
    values : array-like of float
        Estimates, shape (k,) with k at least 1, finite.
    total : float
        The sum wanted, at least 0.

    Returns
    -------
    numpy.ndarray
        Shape (k,); the sum is ``total`` to rounding.

    References
    ----------
    The module's text proves it; a sort of the entries that may be above ``theta``.

    >>> project_to_simplex([0.75, 0.5, -0.25]).tolist()
    [0.625, 0.375, 0.0]
    >>> project_to_simplex([3.0, 1.0], total=0.0).tolist()
    [0.0, 0.0]
    """
    given = check_estimates("values", values)
    wanted = check_finite("total", total)
    if wanted < 0:
        raise UsageError(f"total must be at least 0, got {wanted}; pass the sum that entries shall have.")
    # Taken from the largest, so that sums stay small where all entries are large.
    top = float(given.max())
    falling = np.sort(_candidates(given - top, wanted))[::-1]
    thresholds = (np.cumsum(falling) - wanted) / np.arange(1.0, falling.size + 1.0)
    # With total = 0 the first entry only equals its threshold.
    last = max(int(np.count_nonzero(falling > thresholds)), 1)
    projected = np.maximum(given - top - thresholds[last - 1], 0.0)
    return np.asarray(projected, dtype=np.float64)


def _candidates(lowered: Floats, wanted: float) -> Floats:
    """Return the entries that may lie above ``theta``, of a vector whose largest is 0 (Michelot 1986).

    Of any entries ``K`` the sum of ``v - theta`` is at most ``total``: ``theta >= (sum over K of v - total)/|K|``, and
    entries below that are none of the first ``r``. All numbers of the sum have one sign, so that rounding moves the
    bound by less than the margin.
    """
    kept = lowered
    while kept.size > FEW:
        bound = (float(kept.sum()) - wanted) / kept.size
        left = kept[kept > bound * (1.0 + 2.0**-40)]
        if left.size == 0 or left.size > 0.9 * kept.size:
            break
        kept = left
    return kept


def project_rows(values: Floats, totals: Floats) -> Floats:
    """Return each row's nearest non-negative row with the sum that is wanted of it.

    Parameters
    ----------
    values : numpy.ndarray
        Shape (rows, width), finite, or ``-inf`` for an entry that shall be 0; one finite entry a row.
    totals : numpy.ndarray
        Sum wanted of each row, shape (rows,), at least 0.

    >>> project_rows(np.array([[0.5, -0.5], [1.0, 3.0]]), np.array([0.25, 4.0])).tolist()
    [[0.25, 0.0], [1.0, 3.0]]
    """
    top = values.max(axis=1, keepdims=True)
    lowered = values - top
    falling = -np.sort(-lowered, axis=1)
    counts = np.arange(1.0, values.shape[1] + 1.0)
    thresholds = (np.cumsum(falling, axis=1) - totals[:, None]) / counts
    with np.errstate(invalid="ignore"):
        kept = falling > thresholds
    last = np.maximum(np.count_nonzero(kept & np.isfinite(falling), axis=1), 1)
    theta = np.take_along_axis(thresholds, last[:, None] - 1, axis=1)
    return np.asarray(np.maximum(lowered - theta, 0.0), dtype=np.float64)


def check_estimates(name: str, values: npt.ArrayLike) -> Floats:
    """Return a vector of finite numbers, or raise ``UsageError``."""
    given = np.asarray(values)
    if given.ndim != 1 or given.size == 0 or given.dtype.kind not in "fiu":
        raise UsageError(f"{name} must be a vector of numbers, got shape {given.shape}; pass one number for each cell.")
    found = given.astype(np.float64)
    if not np.isfinite(found).all():
        raise UsageError(f"{name} must be finite; pass the estimates as they were decoded.")
    return found
