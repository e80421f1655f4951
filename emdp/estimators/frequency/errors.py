"""Expected errors of unbiased frequency estimates, from the covariance of the noise and no data.

With errors ``e`` of means 0 (:mod:`emdp.estimators.frequency.models`):

* ``E |e|_2^2`` is the sum of the variances, exactly. * ``E |X| = sigma m(excess)`` for a cell or a sum. ``m`` is that
of the variance-gamma law, the sum of ``j`` Laplace variables, with the same excess kurtosis ``3/j``: ``E |X|/sigma =
sqrt(2/pi) Gamma(j + 1/2)/(Gamma(j) sqrt(j))``; exact for Laplace noise, for equal sums of it, and in the limit for
Gaussian noise. Sums over many users are nearly Gaussian. * ``E max |e_x|`` is the integral of ``1 - prod_x P(|e_x| <=
t)``: exact for independent errors, and for Gaussian errors with any correlations an upper bound (Sidak 1967). * ``E
|e|_KR``, the error in the unit of ``d_em`` (:mod:`emdp.transport.kr_norm`), after the sum of ``e`` was spread evenly.
On a line ``sum_i w_i E |e_1 + ... + e_i|``, on clusters ``within (sum_x E |e_x| - sum_C E |e(C)|)/2 + sum_C E
|e(C)|/2``, with 0/1 distances ``sum_x E |e_x|/2``: exact up to the law of those sums. On a grid, ``d_X <= D_{l+1}``
inside a block of ``2^{l+1}`` cells a side, so the blocks' ultrametric bounds ``d_X`` and ``E |e|_KR <= sum_l (D_{l+1}
- D_l) sum_B E |e(B)|/2`` over the blocks ``B`` of level ``l``: a bound, about three times too large in the plane. The
planning value is :mod:`emdp.estimators.frequency.planning`'s. Elsewhere half the 1-norm bounds it.

The bounds of the paper (EMD 6, theorems 6.5 and 6.6) are here for comparison; they are larger by at least
``sqrt(pi/2)``, as they bound each ``E |X|`` by ``sigma``, and by another factor 2, as they do not halve the 1-norms.
"""

import math
from collections.abc import Callable

import numpy as np

from emdp.base.arrays import Integers
from emdp.base.checks import check_count, check_positive, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.estimators.frequency.geometry import Geometry
from emdp.estimators.frequency.models import ErrorModel
from emdp.spaces.base import Floats

__all__ = [
    "ExpectedErrors",
    "bound_of_mean",
    "expected_errors",
    "expected_maximum",
    "mean_absolute",
    "theorem_6_5",
    "theorem_6_6",
]

MOST_VARIANCES = 1000
"""Different variances with which the law of a maximum is computed; more are merged, upward, by less than 2 %."""

POINTS = 4000
"""Points of the integral over ``t``."""


@dataclass(frozen=True)
class ExpectedErrors:
    """Expected errors of raw estimates."""

    # l2_squared, l1, l_inf: Of the squared 2-norm, the 1-norm and the largest absolute error.
    l2_squared: float
    l1: float
    l_inf: float
    d_em: float  # Of the Kantorovich-Rubinstein norm; an upper bound where `is_bound`
    is_bound: bool  # Whether `d_em` is an upper bound, on grids and other spaces, and not the value


def expected_errors(model: ErrorModel, geometry: Geometry) -> ExpectedErrors:
    """Return the expected errors of unbiased estimates; see the module's text for what is exact.

    Raises
    ------
    UsageError
        If the two have different numbers of cells.

    >>> from emdp.estimators.frequency.models import IndependentErrors
    >>> found = expected_errors(IndependentErrors(3, 0.02, law="laplace"), Geometry.line([0.0, 0.5, 1.0]))
    >>> round(found.l1, 6), round(found.l2_squared, 6), round(found.d_em, 3)
    (0.3, 0.06, 0.087)
    """
    if model.size != geometry.size:
        raise UsageError(f"model has {model.size} cells and geometry {geometry.size}; describe the same cells.")
    variances = model.variances
    d_em, is_bound = _expected_d_em(model, geometry)
    return ExpectedErrors(
        l2_squared=float(variances.sum()),
        l1=float(mean_absolute(variances, model.excess).sum()),
        l_inf=expected_maximum(variances, is_laplace=model.excess > 0),
        d_em=d_em,
        is_bound=is_bound,
    )


def bound_of_mean(model: ErrorModel, geometry: Geometry) -> float:
    """Return an upper bound of the expected error in the unit of ``d_em``, whatever the law: ``E |X| <= sigma``.

    >>> from emdp.estimators.frequency.models import IndependentErrors
    >>> round(bound_of_mean(IndependentErrors(3, 0.02), Geometry.line([0.0, 0.5, 1.0])), 3)
    0.115
    """
    return _expected_d_em(model, geometry, _deviation)[0]


def mean_absolute(variances: Floats, excess: Floats | float = 0.0) -> Floats:
    """Return ``E |X|`` of variables with mean 0, from variance and excess kurtosis (0 to 3).

    >>> mean_absolute(np.array([2.0, 2.0]), np.array([3.0, 0.0])).round(6).tolist()
    [1.0, 1.128379]
    """
    from scipy.special import gammaln

    # Laplace variables in the sum; a million of them are Gaussian to 1e-7.
    number = 3.0 / np.maximum(np.asarray(excess, dtype=np.float64), 3e-6)
    share = np.exp(gammaln(number + 0.5) - gammaln(number)) / np.sqrt(number)
    return np.asarray(math.sqrt(2.0 / math.pi) * share * np.sqrt(variances), dtype=np.float64)


def expected_maximum(variances: Floats, *, is_laplace: bool = False) -> float:
    """Return the expected largest absolute value of independent errors, Laplace or Gaussian.

    Parameters
    ----------
    variances : numpy.ndarray
        Of each cell, at least 0.
    is_laplace : bool
        Whether the errors are Laplace variables.

    >>> round(expected_maximum(np.ones(1)), 4), round(expected_maximum(np.full(2, 2.0), is_laplace=True), 4)
    (0.7979, 1.5)
    """
    from scipy.special import log_ndtr

    sizes, counts = _distinct(np.sqrt(variances[variances > 0]))
    if sizes.size == 0:
        return 0.0
    logs = math.log(float(counts.sum()))
    reach = (logs + 40.0) / math.sqrt(2.0) if is_laplace else math.sqrt(2.0 * logs) + 9.0
    times = np.linspace(0.0, reach * float(sizes.max()), POINTS)
    total = np.zeros(POINTS)
    with np.errstate(divide="ignore"):
        for size, count in zip(sizes.tolist(), counts.tolist(), strict=True):
            tail = -math.sqrt(2.0) * times / size if is_laplace else math.log(2.0) + log_ndtr(-times / size)
            total += count * np.log1p(-np.exp(np.minimum(tail, 0.0)))
    return float(np.trapezoid(-np.expm1(total), times))


def theorem_6_5(inverse: Floats, clusters: Integers, within: float, items: int) -> float:
    """Return the paper's bound of ``E d_em`` for an item-wise release on clusters.

    Parameters
    ----------
    inverse : numpy.ndarray
        ``B``, shape (outputs, k).
    clusters : numpy.ndarray of int64
        Cluster of each of the ``k`` items, whole numbers from 0.
    within : float
        Distance ``rho`` inside a cluster.
    items : int
        ``m n``, how many items are randomised.

    References
    ----------
    EMD 6 (theorem 6.5); ``|M|_{1->2}`` is the largest 2-norm of a column.

    >>> theorem_6_5(np.eye(4), np.array([0, 0, 1, 1]), 0.25, 100)
    0.0
    """
    count = int(clusters.max()) + 1
    sums = np.zeros((inverse.shape[0], count))
    np.add.at(sums.T, clusters, inverse.T)
    cells = float(np.square(inverse).sum(axis=1).max()) - 1.0
    groups = float(np.square(sums).sum(axis=1).max()) - 1.0
    number = check_count("items", items)
    rho = check_unit_interval("within", within, one=True)
    spread = math.sqrt(max(inverse.shape[1] * cells, 0.0) / number)
    return rho * spread + math.sqrt(max(count * groups, 0.0) / number)


def theorem_6_6(alpha0: float, within: float, clusters: int, width: int, items: int) -> float:
    """Return the paper's bound of ``E d_em`` for GKRR on ``clusters`` clusters of ``width`` items each.

    Parameters
    ----------
    alpha0 : float
        The randomizer's strength.
    within : float
        Distance ``rho`` inside a cluster, below 1.
    clusters, width : int
        ``s`` and ``t``.
    items : int
        ``m n``, how many items are randomised.

    References
    ----------
    EMD 6 (theorem 6.6).

    >>> round(theorem_6_6(2.0, 0.25, 10, 5, 1_000_000), 4)
    0.0646
    """
    strength, rho = check_positive("alpha0", alpha0), check_unit_interval("within", within)
    s, t, number = check_count("clusters", clusters), check_count("width", width), check_count("items", items)
    top, near = math.exp(strength), math.exp((1.0 - rho) * strength)
    cells = rho * math.sqrt(s * t**3 / number) * (top + s) / (top - near)
    return cells + math.sqrt(s * s * t * t / number) * math.sqrt(s + 2.0 * (top - 1.0)) / (top + (t - 1) * near - t)


def _deviation(variances: Floats, excess: Floats | float = 0.0) -> Floats:
    del excess
    return np.sqrt(variances)


def _expected_d_em(
    model: ErrorModel, geometry: Geometry, magnitude: Callable[..., Floats] = mean_absolute
) -> tuple[float, bool]:
    if geometry.positions is not None:
        order = np.argsort(geometry.positions, kind="stable")
        gaps = np.diff(geometry.positions[order])
        return float(gaps @ magnitude(model.prefix_variances(order), model.prefix_excess())), False
    cells = _sum_of_groups(model, np.arange(geometry.size), magnitude)
    if geometry.clusters is not None:
        between = _sum_of_groups(model, geometry.clusters, magnitude)
        return geometry.within * (cells - between) + between, False
    if geometry.kind != "grid":
        return cells, geometry.kind != "discrete"
    bound, level, sums = 0.0, 0, cells
    while geometry.block_diameter(level) < geometry.block_diameter(level + 1):
        bound += (geometry.block_diameter(level + 1) - geometry.block_diameter(level)) * sums
        level += 1
        sums = _sum_of_groups(model, geometry.blocks(level), magnitude)
    return min(bound, cells), True


def _sum_of_groups(model: ErrorModel, groups: Integers, magnitude: Callable[..., Floats]) -> float:
    """Return half the expected 1-norm of the sums over groups."""
    return float(magnitude(model.group_variances(groups), model.group_excess(groups)).sum()) / 2


def _distinct(sizes: Floats) -> tuple[Floats, Integers]:
    """Return sizes and how often each is met; many are merged, each to the next larger of a geometric ladder."""
    found, counts = np.unique(sizes, return_counts=True)
    if found.size <= MOST_VARIANCES:
        return found, counts
    ladder = np.geomspace(max(found[0], found[-1] * 1e-6), found[-1], MOST_VARIANCES)
    place = np.minimum(np.searchsorted(ladder, sizes), MOST_VARIANCES - 1)
    numbers = np.bincount(place, minlength=MOST_VARIANCES)
    return ladder[numbers > 0], numbers[numbers > 0]
