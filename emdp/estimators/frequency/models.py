"""The law of the errors of estimated frequencies before a value is read: means 0, known (co)variances.

Three kinds of noise, each with the variances of cells, of sums over groups of cells and of cumulative sums, since
``d_em`` is made of such sums on clusters, blocks and lines.

*Independent errors*: Laplace or Gaussian noise on the averaged histogram (exact), and the oracles that give one
message a user, whose cells are nearly uncorrelated (for one-bit Hadamard the covariance is ``c^2 I/n`` less the mean
of ``h h^T/n``).

*Item-wise release.* ``N`` items with shares ``f`` pass the matrix ``A`` independently, ``h`` is the histogram of
outputs, and ``B^T h/N`` is unbiased, ``A B = I``. Given the items, ``N Cov = B^T (diag(q) - A^T diag(f) A) B = B^T
diag(q) B - diag(f)``, ``q = A^T f``. (With items drawn from ``f`` anew it is ``B^T diag(q) B - f f^T``: larger by the
sampling error ``diag(f) - f f^T``, which is no error of the release.) The trace is ``sum_y q_y |B[y, .]|^2 - 1``, the
term of EMD 6's theorem 6.5.

*Responses on equal clusters* (k-RR, GKRR; EMD 4): ``A = a I + b I_B + c J``, so the estimate of a sum over a group
``G`` is the mean over items of ``l(Y)``, plus a constant, with ``l(y) = (1{y in G} - kappa g_C)/a``, ``kappa = b/(a +
t b)``, ``C`` the cluster of ``y`` and ``g_C = |G and C|``. Its variance is the mean over items of that of ``l(Y)``:
sums over clusters, no matrix.
"""

import math
from abc import ABC, abstractmethod
from typing import Literal

import numpy as np

from emdp.base.arrays import Integers
from emdp.base.checks import check_choice, check_count, check_finite
from emdp.base.errors import UsageError
from emdp.mechanisms.items.finite import FiniteRandomizer
from emdp.mechanisms.items.gkrr import GKRR
from emdp.mechanisms.items.krr import KRR
from emdp.spaces.base import Floats

__all__ = [
    "DenseErrors",
    "ErrorModel",
    "IndependentErrors",
    "ResponseErrors",
    "item_wise_errors",
    "randomizer_errors",
]

LAPLACE_EXCESS = 3.0
"""Excess kurtosis of the Laplace law."""

SUM_TOLERANCE = 1e-9
"""Allowed rounding error of shares that should add up to 1."""


class ErrorModel(ABC):
    """Errors of ``size`` cells with means 0; every array of variances is exact for the model.

    Attributes
    ----------
    excess : float
        Excess kurtosis of one cell: 3 for Laplace noise, 0 for Gaussian and for sums over many users.
    """

    size: int
    excess: float = 0.0

    @property
    @abstractmethod
    def variances(self) -> Floats:
        """Variance of each cell, shape (size,)."""

    @abstractmethod
    def group_variances(self, groups: Integers) -> Floats:
        """Return the variances of sums over groups of cells, *after* the sum of all errors was spread evenly.

        Parameters
        ----------
        groups : numpy.ndarray of int64
            Group of each cell, shape (size,), whole numbers from 0, none of them missing.
        """

    @abstractmethod
    def prefix_variances(self, order: Integers) -> Floats:
        """Return the variances of the sums of the first 1, ..., size - 1 cells in an order, after the same step."""

    def group_excess(self, groups: Integers) -> Floats | float:
        """Return the excess kurtosis of each of those sums."""
        del groups
        return 0.0

    def prefix_excess(self) -> Floats | float:
        """Return the excess kurtosis of each of those cumulative sums."""
        return 0.0

    @abstractmethod
    def combine(self, normals: Floats) -> Floats:
        """Return errors with these second moments made of independent standard normals, shape (draws, size)."""


class IndependentErrors(ErrorModel):
    """Independent errors of one variance.

    Parameters
    ----------
    variance : float
        Variance of each cell's error, at least 0.
    law : {"normal", "laplace"}
        The law of one cell; an estimate from many users is normal to a good approximation.

    >>> IndependentErrors(4, 2.0).prefix_variances(np.arange(4)).tolist()
    [1.5, 2.0, 1.5]
    """

    def __init__(self, size: int, variance: float, *, law: Literal["normal", "laplace"] = "normal") -> None:
        self.size = check_count("size", size)
        self.variance = check_finite("variance", variance)
        if self.variance < 0:
            raise UsageError(f"variance must be at least 0, got {variance}; pass a mean square.")
        self.excess = LAPLACE_EXCESS if check_choice("law", law, ("normal", "laplace")) == "laplace" else 0.0

    @property
    def variances(self) -> Floats:
        return np.full(self.size, self.variance)

    def group_variances(self, groups: Integers) -> Floats:
        """Return ``g (1 - g/k)`` variances of a cell for a group of ``g``."""
        counts = np.bincount(groups).astype(np.float64)
        return np.asarray(self.variance * counts * (1.0 - counts / self.size), dtype=np.float64)

    def prefix_variances(self, order: Integers) -> Floats:
        """Return ``j (1 - j/k)`` variances of a cell for the first ``j``."""
        del order
        counts = np.arange(1.0, self.size)
        return np.asarray(self.variance * counts * (1.0 - counts / self.size), dtype=np.float64)

    def group_excess(self, groups: Integers) -> Floats | float:
        return self._excess_of(np.bincount(groups).astype(np.float64))

    def prefix_excess(self) -> Floats | float:
        return self._excess_of(np.arange(1.0, self.size))

    def combine(self, normals: Floats) -> Floats:
        return math.sqrt(self.variance) * normals

    def _excess_of(self, counts: Floats) -> Floats | float:
        # The sum has weights 1 - g/k on g cells and -g/k on the others; cumulants add with fourth powers.
        if self.excess == 0:
            return 0.0
        share = counts / self.size
        second = counts * (1.0 - share)
        fourth = counts * (1.0 - share) ** 4 + (self.size - counts) * share**4
        return np.asarray(self.excess * fourth / np.maximum(second, 0.5) ** 2, dtype=np.float64)


class DenseErrors(ErrorModel):
    """Errors with any covariance matrix; for a few thousand cells.

    Parameters
    ----------
    covariance : numpy.ndarray
        Shape (size, size), symmetric, positive semidefinite.

    >>> DenseErrors(np.array([[1.0, -1.0], [-1.0, 1.0]])).prefix_variances(np.arange(2)).tolist()
    [1.0]
    """

    def __init__(self, covariance: Floats) -> None:
        given = np.asarray(covariance, dtype=np.float64)
        if given.ndim != 2 or given.shape[0] != given.shape[1] or not np.isfinite(given).all():
            raise UsageError(f"covariance must be a finite square matrix, got shape {given.shape}; pass k x k.")
        self.size = given.shape[0]
        self.covariance = given

    @property
    def variances(self) -> Floats:
        return np.maximum(np.diag(self.covariance), 0.0)

    def group_variances(self, groups: Integers) -> Floats:
        sums = np.zeros((int(groups.max()) + 1, self.size))
        np.add.at(sums, groups, self._balanced)
        own = np.zeros(len(sums))
        np.add.at(own, groups, sums[groups, np.arange(self.size)])
        return np.maximum(own, 0.0)

    def prefix_variances(self, order: Integers) -> Floats:
        ordered = self._balanced[np.ix_(order, order)]
        return np.maximum(np.diag(ordered.cumsum(axis=0).cumsum(axis=1))[:-1], 0.0)

    def combine(self, normals: Floats) -> Floats:
        values, vectors = np.linalg.eigh(self.covariance)
        return np.asarray((normals * np.sqrt(np.maximum(values, 0.0))) @ vectors.T, dtype=np.float64)

    @property
    def _balanced(self) -> Floats:
        rows = self.covariance - self.covariance.mean(axis=0, keepdims=True)
        return np.asarray(rows - rows.mean(axis=1, keepdims=True), dtype=np.float64)


def item_wise_errors(matrix: Floats, inverse: Floats, items: int, prior: Floats | None = None) -> DenseErrors:
    """Return the errors of an item-wise release through a finite randomizer.

    Parameters
    ----------
    matrix : numpy.ndarray
        ``A``, shape (k, outputs), rows adding up to 1.
    inverse : numpy.ndarray
        ``B``, shape (outputs, k), ``A B = I``.
    items : int
        ``N``, how many items are randomised.
    prior : numpy.ndarray, optional
        Public guess of the shares ``f``; uniform by default.

    >>> flip = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> item_wise_errors(flip, np.linalg.inv(flip), 100).variances.round(6).tolist()
    [0.0075, 0.0075]
    """
    shares = checked_prior(prior, matrix.shape[0])
    outputs = shares @ matrix
    covariance = (inverse.T * outputs) @ inverse - np.diag(shares)
    return DenseErrors(covariance / check_count("items", items))


def randomizer_errors(randomizer: FiniteRandomizer, items: int, prior: Floats | None = None) -> ErrorModel:
    """Return the errors of an item-wise release through one of the library's randomizers that has an inverse.

    In closed form for k-RR, and for GKRR on clusters of one size; else from the matrix.

    Parameters
    ----------
    items : int
        ``N``.
    prior : numpy.ndarray, optional
        Public guess of the shares; uniform by default.

    >>> from emdp.spaces import Categories
    >>> randomizer_errors(KRR(Categories("kind", ["cafe", "bar"]), 2.0), 100).variances.round(6).tolist()
    [0.00181, 0.00181]
    """
    row, size = randomizer.matrix[0], randomizer.items.count
    if isinstance(randomizer, KRR):
        return ResponseErrors(row[0], row[1], row[1], np.arange(size), items, prior)
    clusters = randomizer.items.clusters
    if isinstance(randomizer, GKRR) and clusters is not None and len(set(np.bincount(clusters).tolist())) == 1:
        near = float(np.delete(row, 0)[clusters[1:] == clusters[0]].max(initial=row.min()))
        return ResponseErrors(row[0], near, float(row.min()), clusters, items, prior)
    return item_wise_errors(randomizer.matrix, randomizer.right_inverse, items, prior)


class ResponseErrors(ErrorModel):
    """Errors of k-ary responses on equal clusters, item-wise, in closed form for any number of cells.

    Parameters
    ----------
    own, near, far : float
        Probabilities of the item itself, of each other item of its cluster, of each item of other clusters.
    clusters : numpy.ndarray of int64
        Cluster of each item, shape (k,), whole numbers from 0, all clusters of one size; every item its own for k-RR.
    items : int
        ``N``, how many items are randomised.
    prior : numpy.ndarray, optional
        Public guess of the shares; uniform by default.

    >>> ResponseErrors(0.75, 0.25, 0.25, np.arange(2), 100).variances.round(6).tolist()
    [0.0075, 0.0075]
    """

    def __init__(
        self, own: float, near: float, far: float, clusters: Integers, items: int, prior: Floats | None = None
    ) -> None:
        sizes = np.bincount(clusters)
        if len(set(sizes.tolist())) != 1:
            raise UsageError("clusters must all have one size; use item_wise_errors for unequal ones.")
        self.size, self.width = len(clusters), int(sizes[0])
        self.clusters = clusters
        self.items = check_count("items", items)
        self.own, self.far = own, far
        self.near = near if self.width > 1 else far
        if not self.own > self.near >= self.far > 0:
            raise UsageError("own, near and far must fall and be above 0; pass the probabilities of a response.")
        self.prior = checked_prior(prior, self.size)

    @property
    def variances(self) -> Floats:
        return self.group_variances(np.arange(self.size))

    def group_variances(self, groups: Integers) -> Floats:
        """Return the exact variances of sums over groups; estimates add up to 1, so nothing is to be spread."""
        count = int(self.clusters.max()) + 1
        pairs, place = np.unique(groups * count + self.clusters, return_inverse=True)
        group, cluster = np.divmod(pairs, count)
        cells = np.bincount(place).astype(np.float64)
        inside = np.asarray(np.bincount(place, self.prior), dtype=np.float64)
        around = np.asarray(np.bincount(self.clusters, self.prior), dtype=np.float64)[cluster]
        first, second = self._moments(cells, 1), self._moments(cells, 2)
        total_first, total_second = np.bincount(group, first), np.bincount(group, second)
        step, shift = self.own - self.near, self.near - self.far

        def variance(share: Floats, value: Floats | float) -> Floats:
            mean = step * value + shift * first + self.far * total_first[group]
            square = step * np.square(value) + shift * second + self.far * total_second[group]
            return np.asarray(share * (square - np.square(mean)), dtype=np.float64)

        low = -self._kappa * cells / step
        found = np.bincount(group, variance(inside, 1.0 / step + low) + variance(around - inside, low))
        outside = 1.0 - np.bincount(group, around)
        found += outside * (self.far * total_second - np.square(self.far * total_first))
        return np.asarray(np.maximum(found, 0.0) / self.items, dtype=np.float64)

    def prefix_variances(self, order: Integers) -> Floats:
        """Return the variances of cumulative sums, for k-RR alone."""
        if self.width > 1:
            raise UsageError("clusters are no line; ask for the variances of groups.")
        counts, inside = np.arange(1.0, self.size), np.cumsum(self.prior[order])[:-1]
        step = self.own - self.far
        high, low = step + counts * self.far, counts * self.far
        found = inside * high * (1.0 - high) + (1.0 - inside) * low * (1.0 - low)
        return np.asarray(np.maximum(found, 0.0) / (self.items * step * step), dtype=np.float64)

    def combine(self, normals: Floats) -> Floats:
        """Return errors that add up to 0, with the variances of cells and clusters: exactly so for a uniform prior."""
        draws, width = len(normals), self.width
        if width == 1:
            return _centred(normals * np.sqrt(self.variances))
        order = np.argsort(self.clusters, kind="stable")
        rows = normals[:, order].reshape(draws, -1, width)
        sums = self.group_variances(self.clusters)
        # What a cluster's cells have in common takes up sums/width^2 of a cell's variance.
        apart = np.maximum(self.variances[order].reshape(-1, width) - sums[:, None] / width**2, 0.0)
        inner = _centred(rows * np.sqrt(apart))
        outer = _centred(rows.sum(axis=2) * np.sqrt(sums / width))
        found = np.empty_like(normals)
        found[:, order] = (inner + outer[:, :, None] / width).reshape(draws, -1)
        return found

    @property
    def _kappa(self) -> float:
        step, shift = self.own - self.near, self.near - self.far
        return shift / (step + self.width * shift)

    def _moments(self, cells: Floats, power: int) -> Floats:
        """Return the sum of ``l(y)^power`` over a cluster with so many cells in the group."""
        low = -self._kappa * cells
        sums = cells * (1.0 + low) ** power + (self.width - cells) * low**power
        return np.asarray(sums / (self.own - self.near) ** power, dtype=np.float64)


def _centred(rows: Floats) -> Floats:
    """Take the mean away along the last axis, and keep the variance of entries that had one and the same."""
    width = rows.shape[-1]
    if width == 1:
        return np.zeros_like(rows)
    lowered = rows - rows.mean(axis=-1, keepdims=True)
    return np.asarray(lowered * math.sqrt(width / (width - 1)), dtype=np.float64)


def checked_prior(prior: Floats | None, size: int) -> Floats:
    """Return public shares of all cells, uniform by default."""
    if prior is None:
        return np.full(size, 1.0 / size)
    given = np.asarray(prior, dtype=np.float64)
    if given.shape != (size,) or not (given >= 0).all() or abs(float(given.sum()) - 1.0) > SUM_TOLERANCE:
        raise UsageError(f"prior must be {size} shares that add up to 1, got shape {given.shape}; pass public shares.")
    return given
