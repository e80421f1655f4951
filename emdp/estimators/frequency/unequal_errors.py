"""Independent errors of different variances: an oracle's estimates at given shares.

The variance of an oracle's estimate depends on the truth, and of Hadamard response in blocks strongly so: where a
block has no share its items have little noise (:mod:`emdp.mechanisms.oracles.hadamard_response`). With variances taken
at equal shares alone that method looks up to 1.7 times worse on a line than it is.
"""

import numpy as np

from emdp.base.arrays import Integers
from emdp.base.errors import UsageError
from emdp.estimators.frequency.models import ErrorModel
from emdp.spaces.base import Floats

__all__ = ["UnequalErrors"]


class UnequalErrors(ErrorModel):
    """Independent normal errors, each with its own variance.

    Parameters
    ----------
    variances : numpy.ndarray
        Variance of each cell's error, at least 0, shape (size,).

    Raises
    ------
    UsageError
        If a variance is negative or not finite.

    >>> UnequalErrors(np.array([2.0, 2.0, 2.0, 2.0])).prefix_variances(np.arange(4)).tolist()
    [1.5, 2.0, 1.5]
    """

    def __init__(self, variances: Floats) -> None:
        given = np.asarray(variances, dtype=np.float64)
        if given.ndim != 1 or given.size == 0 or not (np.isfinite(given) & (given >= 0)).all():
            raise UsageError("variances must be finite and at least 0; pass a mean square for each cell.")
        self.size = given.size
        self._variances = given

    @property
    def variances(self) -> Floats:
        return self._variances

    def group_variances(self, groups: Integers) -> Floats:
        sums = np.asarray(np.bincount(groups, self._variances), dtype=np.float64)
        return self._spread(sums, np.asarray(np.bincount(groups), dtype=np.float64))

    def prefix_variances(self, order: Integers) -> Floats:
        counts = np.arange(1, self.size, dtype=np.float64)
        return self._spread(np.cumsum(self._variances[order])[:-1], counts)

    def combine(self, normals: Floats) -> Floats:
        return np.asarray(normals * np.sqrt(self._variances), dtype=np.float64)

    def _spread(self, sums: Floats, counts: Floats) -> Floats:
        # A sum over g cells less g/k of the sum over all.
        share = counts / self.size
        return np.asarray(sums * (1.0 - 2.0 * share) + share**2 * self._variances.sum(), dtype=np.float64)
