"""Checks of integer arrays that samplers receive; no message holds an element, since counts can be private."""

import numpy as np
import numpy.typing as npt

from emdp.base.errors import UsageError

__all__ = ["check_integer_array"]


def check_integer_array(
    name: str, values: object, *, low: int, high: int, dimensions: int = 1
) -> npt.NDArray[np.int64]:
    """Return ``values`` as an int64 array, or raise ``UsageError``.

    Parameters
    ----------
    low, high : int
        Least and largest element allowed, both within int64.

    Raises
    ------
    UsageError
        If the elements are no integers, or one is out of its range, or the number of axes is another.

    >>> check_integer_array("counts", [3, 4], low=0, high=9)
    array([3, 4])
    """
    array = np.asarray(values)
    if array.size == 0 and array.dtype == np.float64 and not isinstance(values, np.ndarray):
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise UsageError(f"{name} must hold integers, not {array.dtype}; pass an int64 array.")
    if array.ndim != dimensions:
        raise UsageError(f"{name} must have {dimensions} axes, got {array.ndim}; reshape it.")
    if array.size and not (low <= int(array.min()) and int(array.max()) <= high):
        raise UsageError(f"{name} must hold integers from {low} to {high}; an element lies outside.")
    return array.astype(np.int64, copy=False)
