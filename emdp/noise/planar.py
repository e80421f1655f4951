"""Many points at once of the 2-norm K-norm law, ``P(z)`` proportional to ``exp(-||z||_2/scale)`` on Z^d: planar noise.

The law, and the proof that the rejection is exact, are those of :mod:`emdp.noise.k_norm`, which draws few points as
tuples of Python integers; here all proposals of a block are drawn and judged as arrays. What differs:

1. The coordinates of a proposal are integers of :mod:`emdp.noise.bulk_laplace`, exact draws that fit in 64 bits, at
   scales up to its own limit.
2. The comparison ``U < exp(-g)``, with the first 64 bits of ``U`` in one word ``b``, is settled in float64 under the
   same conditions: ``||z||_2/scale`` at most ``2^12``, and ``[b, b + 1]`` and ``2^64 exp(-g)`` further apart than a
   factor ``1 + 2^-30``. The error of ``g`` stays below ``2^-35`` by k_norm's count of roundings, which holds for any
   order of the sums. Where ``exp`` underflows, its error is below ``2^-1074``, far less than the ``2^-64`` at stake.
   Everything else goes, point by point, to k_norm's exact comparison.

Points come out in the order in which they were accepted, and those left over at the end are dropped: accepted points
are independent of one another and of how many there are.
"""

import math

import numpy as np
import numpy.typing as npt

from emdp.base.checks import check_count, check_range
from emdp.noise.bulk_laplace import MAX_BULK_SCALE, MIN_BULK_SCALE, draw_discrete_laplace_bulk
from emdp.noise.k_norm import (
    _FLOAT_MARGIN,
    _FLOAT_REACH,
    _is_below_exp,
    _proposal_scale,
    check_k_norm_dimension,
    k_norm_acceptance,
)
from emdp.noise.rng import random_words

__all__ = ["Lattice", "draw_planar"]

Lattice = npt.NDArray[np.int64]
"""Points of the lattice, shape (points, dimension)."""

_BLOCK = 2**17
# Most integers proposed at once: a few megabytes, whatever the size.


def draw_planar(scale: float, dimension: int, size: int) -> Lattice:
    """Draw independent lattice points, ``P(z)`` proportional to ``exp(-||z||_2/scale)``, exactly.

    Parameters
    ----------
    scale : float
        Scale in grid steps, in [2^-10, 2^46/sqrt(dimension)), taken as the exact rational that the float is.
    dimension : int
        Number of coordinates, 1 to ``emdp.noise.k_norm.MAX_DIMENSION``.
    size : int
        How many points, at least 0.

    Returns
    -------
    numpy.ndarray of int64
        Shape (size, dimension).

    Raises
    ------
    UsageError
        If an argument is out of its range.

    References
    ----------
    EMD 4, "Planar Laplace"; proof of exactness in :mod:`emdp.noise.k_norm`.

    >>> draw_planar(2.0**40, 2, 3).shape, draw_planar(1.0, 2, 0).shape
    ((3, 2), (0, 2))
    """
    dimension = check_k_norm_dimension(dimension)
    scale = check_range("scale", scale, MIN_BULK_SCALE, MAX_BULK_SCALE / math.sqrt(dimension) * (1.0 - 2.0**-40))
    size = check_count("size", size, minimum=0)
    points = np.empty((size, dimension), dtype=np.int64)
    if dimension == 1:
        points[:, 0] = draw_discrete_laplace_bulk(scale, size)
        return points
    wide = _proposal_scale(scale, dimension)
    done = 0
    while done < size:
        wanted = math.ceil((size - done) / k_norm_acceptance(dimension))
        count = min(wanted, _BLOCK // dimension)
        proposals = draw_discrete_laplace_bulk(wide, count * dimension).reshape(dimension, count)
        kept = proposals[:, _accept(proposals, scale, wide)][:, : size - done]
        points[done : done + kept.shape[1]] = kept.T
        done += kept.shape[1]
    return points


def _accept(proposals: Lattice, scale: float, wide: float) -> npt.NDArray[np.bool_]:
    # Which proposals, the columns, to keep: each with probability exp(||z||_1/wide - ||z||_2/scale), exactly.
    words = random_words(proposals.shape[1])
    bits = words.astype(np.float64)
    real = np.abs(proposals.astype(np.float64))
    exponent = real.sum(axis=0) / wide
    np.square(real, out=real)
    reach = np.sqrt(real.sum(axis=0)) / scale
    exponent -= reach
    chance = np.exp(exponent) * 2.0**64
    settled = reach <= _FLOAT_REACH
    accepted: npt.NDArray[np.bool_] = settled & ((bits + 1.0) * (1.0 + _FLOAT_MARGIN) < chance)
    refused = settled & (bits > chance * (1.0 + _FLOAT_MARGIN))
    for index in np.flatnonzero(~(accepted | refused)).tolist():
        point = tuple(proposals[:, index].tolist())
        accepted[index] = _is_below_exp(int(words[index]), 64, point, scale, wide)
    return accepted
