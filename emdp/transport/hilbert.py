"""An order of the cells of a grid in which near places lie near one another: Hilbert's curve (Skilling 2004)."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["hilbert_order"]


def hilbert_order(shape: Sequence[int]) -> npt.NDArray[np.int64]:
    """Return the cells of a grid, by number (the last axis fastest), along a Hilbert curve of the cube around it.

    >>> hilbert_order((2, 2)).tolist()
    [0, 1, 3, 2]
    """
    axes = len(shape)
    bits = max(max(shape) - 1, 1).bit_length()
    places = [one.ravel().astype(np.int64) for one in np.indices(tuple(shape))]
    # from axes to the transposed index: undo the exchanges and inversions of every level
    level = 1 << (bits - 1)
    while level > 1:
        low = level - 1
        for axis in range(axes):
            inverts = (places[axis] & level) != 0
            swap = np.where(inverts, 0, (places[0] ^ places[axis]) & low)
            places[0] = np.where(inverts, places[0] ^ low, places[0] ^ swap)
            if axis > 0:
                places[axis] = places[axis] ^ swap
        level >>= 1
    for axis in range(1, axes):
        places[axis] = places[axis] ^ places[axis - 1]
    fold = np.zeros_like(places[0])
    level = 1 << (bits - 1)
    while level > 1:
        fold = np.where((places[-1] & level) != 0, fold ^ (level - 1), fold)
        level >>= 1
    places = [place ^ fold for place in places]
    keys = np.zeros_like(fold)
    for bit in range(bits - 1, -1, -1):
        for place in places:
            keys = (keys << 1) | ((place >> bit) & 1)
    return np.argsort(keys, kind="stable")
