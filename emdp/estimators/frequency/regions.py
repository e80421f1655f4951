"""Regions of confidence: balls around released estimates that hold the true frequencies with a stated probability.

With ``e`` the error of all ``k`` estimates, a radius ``R`` with ``P(|e| <= R) >= level`` makes such a ball. Radii
depend on public numbers alone, so each bound below holds by itself, and of several the least is taken. ``L = ln(1/(1
- level))``.

*Noise on the averaged histogram*: ``k`` independent draws on a grid ``g``, after rounding by at most ``g/2`` and the
stated error ``e0`` of the sums. A discrete Laplace draw of scale ``t`` has ``P(|Z| >= j) = 2 q^j/(1 + q)``, ``q =
e^(-1/t)``, and ``2/(1 + q) <= q^(-1/2)`` since ``cosh >= 1``: so ``|Z|`` is below ``t X + 1/2`` with an exponential
``X``, in law. A discrete Gaussian one has weights at most the normal density, so ``|Z|`` is below ``|N| + 1`` in
law. Sums over independent coordinates keep these orders, hence with ``o`` the offset of a coordinate and ``b`` the
scale ``|e|_1 <= b Q + k o`` and ``|e|_2 <= b Q' + sqrt(k) o`` with quantiles of the laws of ``|X|_1`` and ``|X|_2``:
Gamma(k), and chi. The other two, the 2-norm of exponentials and the 1-norm of normals, have theirs computed: up to
``CONVOLVED`` coordinates by a Fourier transform of the law rounded up to a lattice, cut where its tail is a
thousandth of ``1 - level``, which is added to the failure; above, by Bernstein's inequality for squares cut
likewise, and by ``P(|N|_1 > E + sqrt(2 k L)) <= e^-L`` (Gaussian concentration). K-norm noise has its own
simultaneous half width ``w``, and ``k w``, ``sqrt(k) w``.

*Messages*: the estimates are a mean of ``n`` independent vectors (given the data), so ``E |e|_2^2 <= V/n``, ``V``
the largest sum of variances, and one message moves ``|e|_2`` by at most ``D/n``: ``|e|_2 <= sqrt(V/n) + D sqrt(L/(2
n))`` (McDiarmid 1989). In the 1-norm likewise with ``sqrt(k V/n)``. The largest error has Bernstein's bound of all
intervals together.

*In the unit of* ``d_em`` the estimates' sum is spread evenly first. Then the norm is at most half the 1-norm, as
``d_X <= 1``; with the sum ``S`` of the errors it is at most ``(|e|_1 + |S|)/2``, and at most ``sqrt(k) |e|_2/2``,
since centring is a projection. For noise there are two more bounds. On a line the norm is ``sum_i w_i |S_i|`` over
centred prefix sums; a sum with weights ``a``, ``v = |a|_2^2``, ``max |a| <= 1``, exceeds ``b (2 sqrt(v T) + T)`` for
Laplace noise and ``b sqrt(2 v T)`` for Gaussian noise with probability at most ``2 e^-T``, since the discrete laws'
moment generating functions are at most ``1/(1 - b^2 s^2)`` and ``e^(b^2 s^2/2)``; ``T`` is set by a union over the
sums. And on lines, clusters and grids the norm's mean is bounded by standard deviations of sums over prefixes,
clusters and blocks (:mod:`emdp.estimators.frequency.errors`), above which it is by a martingale's tail: a change of
one error by ``z`` changes the norm by at most ``c_i |z|``, ``c_i`` the mean distance of cell ``i`` to all, so its
``i``-th difference ``D_i`` has ``E e^(s D_i) <= E cosh(s c_i (Z - Z'))``, which is at most ``1/(1 - b^2 c_i^2
s^2)^2``, or ``e^(b^2 c_i^2 s^2)``. With ``C = sum_i c_i^2`` the excess is at most ``b (2 sqrt(2 C L) + L)``, or ``2 b
sqrt(C L)``.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Literal

import numpy as np

from emdp.base.arrays import Integers
from emdp.base.checks import check_choice
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.estimators.frequency.errors import bound_of_mean
from emdp.estimators.frequency.geometry import Geometry
from emdp.estimators.frequency.models import IndependentErrors
from emdp.mechanisms import AdditiveMechanism, GaussianMechanism, LaplaceMechanism
from emdp.mechanisms.items.finite import FiniteRandomizer
from emdp.mechanisms.oracles.hadamard_response import HadamardResponseOracle
from emdp.mechanisms.oracles.krr import KRROracle
from emdp.mechanisms.oracles.oracle import FrequencyOracle
from emdp.mechanisms.oracles.subset import SubsetOracle
from emdp.spaces.base import Floats

__all__ = [
    "NORMS",
    "MessageErrors",
    "Norm",
    "check_norm",
    "message_radius",
    "noise_radius",
    "oracle_errors",
    "randomizer_spread",
]

Norm = Literal["l2", "l1", "linf", "d_em"]
NORMS: tuple[Norm, ...] = ("l2", "l1", "linf", "d_em")
"""Euclidean, sum of absolute values, largest absolute value, and the unit of ``d_em``."""

CONVOLVED = 4096
"""Most coordinates whose law is computed by a Fourier transform."""

SPARE = 1e-3
"""Share of the failure that each cut of a law may take."""

OUTWARD = 1.0 + 1e-9
"""Above the relative error of the quantile functions and sums used."""

TRANSFORM_ERROR = 1e-9
"""Above the error of a transformed distribution function: powers of at most 4096 of numbers below 1 in doubles."""

COMPARED_PAIRS = 600
"""Most outputs of which all pairs are compared in the 1-norm."""

SQUARE_STEP, NORMAL_STEP = 0.02, 0.005
"""Steps of the lattices that squares of exponentials (mean 2) and absolute normals (mean 0.8) are rounded up to."""


def check_norm(norm: object) -> Norm:
    """Return a norm, or raise ``UsageError``.

    >>> check_norm("l1")
    'l1'
    """
    return check_choice("norm", norm, NORMS)  # type: ignore[return-value]


def noise_radius(mechanism: AdditiveMechanism, level: float, norm: Norm, geometry: Geometry | None = None) -> float:
    """Return the radius for noise on an averaged histogram.

    Parameters
    ----------
    level : float
        Coverage in (0, 1).
    norm : {"l2", "l1", "linf", "d_em"}
        In which the ball is one.
    geometry : Geometry, optional
        The cells, for ``"d_em"``.

    References
    ----------
    The text of this module; McDiarmid 1989; Boucheron, Lugosi and Massart 2013, chapters 2 and 5.

    >>> mechanism = LaplaceMechanism(sensitivity=0.01, alpha=1.0, dimension=1)
    >>> round(noise_radius(mechanism, 0.95, "l1"), 5), round(0.01 * math.log(20.0), 5)
    (0.02996, 0.02996)
    """
    if mechanism.is_exact:
        return 0.0
    if norm == "d_em":
        return _noise_d_em(mechanism, level, geometry)
    size, failure = mechanism.dimension, 1.0 - level
    if not isinstance(mechanism, LaplaceMechanism | GaussianMechanism):
        width = mechanism.simultaneous_half_width(level) + mechanism.statistic_error
        return float(width * {"l1": size, "l2": math.sqrt(size), "linf": 1.0}[norm] * OUTWARD)
    is_laplace = isinstance(mechanism, LaplaceMechanism)
    offset = mechanism.grid * (1.0 if is_laplace else 1.5) + mechanism.statistic_error
    quantile = (_laplace_quantile if is_laplace else _gaussian_quantile)(size, failure, norm)
    spread = {"l1": float(size), "l2": math.sqrt(size), "linf": 1.0}[norm]
    return float((mechanism.scale * quantile + spread * offset) * OUTWARD)


@dataclass(frozen=True)
class MessageErrors:
    """Public bounds on the error of a mean of independent vectors, one a message."""

    size: int  # `k`, how many items are estimated
    messages: int  # `n`
    variance: float  # `V`: the largest sum of the variances of a vector's entries
    # change_2, change_1: How far two vectors are apart at most, in the 2-norm and in the 1-norm.
    change_2: float
    change_1: float
    largest: Callable[[float], float]  # From a level to a bound of the largest error that has this probability


def message_radius(errors: MessageErrors, level: float, norm: Norm) -> float:
    """Return the radius for estimates from messages; arguments as for :func:`noise_radius`.

    >>> errors = MessageErrors(4, 10_000, 1.0, 2.0, 3.0, lambda level: 0.05)
    >>> round(message_radius(errors, 0.95, "l2"), 4), round(message_radius(errors, 0.95, "linf"), 4)
    (0.0345, 0.0345)
    """
    deviation = math.sqrt(-math.log1p(-level) / (2.0 * errors.messages))
    mean, root, largest = math.sqrt(errors.variance / errors.messages), math.sqrt(errors.size), errors.largest(level)
    two = min(mean + errors.change_2 * deviation, root * largest) * OUTWARD
    if norm == "l2":
        return two
    if norm == "linf":
        return min(largest, two)
    by_sum = root * mean + errors.change_1 * deviation
    if norm == "l1":
        return min(by_sum * OUTWARD, root * two, errors.size * largest)
    # One message moves half the centred 1-norm by at most its change in the 1-norm.
    return min(0.5 * root * two, (0.5 * root * mean + errors.change_1 * deviation) * OUTWARD)


def oracle_errors(oracle: FrequencyOracle) -> MessageErrors:
    """Return public facts about the estimates of an oracle: a message supports items, each counts ``1/(p - q)``.

    Two messages of k-RR differ in two items, sets of ``s`` items in ``2 s``, Hadamard responses in a block of ``b - 1``
    by the width of one entry or in two blocks by half of it, any others in all items.

    >>> errors = oracle_errors(KRROracle(10, 1000, 2.0))
    >>> errors.size, errors.messages, errors.change_1 / errors.change_2 > 1.414
    (10, 1000, True)
    """
    width, size = float(oracle._width), oracle.items
    moved = size
    if isinstance(oracle, KRROracle):
        moved = 2
    elif isinstance(oracle, SubsetOracle):
        moved = min(size, 2 * oracle.size)
    if isinstance(oracle, HadamardResponseOracle):
        moved = min(size, oracle.block - 1)
        variance = (oracle.block - 1) * (width / 2.0) ** 2
    else:
        high, low = (float(chance) for chance in oracle.chances)
        variance = (size * low * (1.0 - low) + (high - low) * max(1.0 - 2.0 * low, 0.0)) * width * width

    def largest(level: float) -> float:
        return oracle.interval(level, together=True)

    return MessageErrors(size, oracle.users, variance, width * math.sqrt(moved), width * moved, largest)


@lru_cache(maxsize=16)
def randomizer_spread(randomizer: FiniteRandomizer) -> tuple[float, float, float]:
    """Return of one randomized item's estimates: the largest sum of squares, less 1; and how far two are apart.

    Returns
    -------
    variance, change_2, change_1 : float
        The first over items, the others over pairs of outputs, in the 2-norm and in the 1-norm.

    >>> from emdp.mechanisms.items.krr import KRR
    >>> from emdp.spaces import Categories
    >>> found = randomizer_spread(KRR(Categories("kind", ["bar", "cafe"]), 1.0))
    >>> [round(one, 4) for one in found]
    [1.8413, 3.0603, 4.3279]
    """
    inverse = randomizer.right_inverse
    squares = np.square(inverse).sum(axis=1)
    gram = squares[:, None] + squares[None, :] - 2.0 * (inverse @ inverse.T)
    two = math.sqrt(max(float(gram.max()), 0.0)) * OUTWARD
    one = math.sqrt(len(squares)) * two
    if len(squares) <= COMPARED_PAIRS:
        one = max(float(np.abs(inverse - row).sum(axis=1).max()) for row in inverse) * OUTWARD
    return max(float((randomizer.matrix @ squares).max()) - 1.0, 0.0) * OUTWARD, two, one


def _laplace_quantile(size: int, failure: float, norm: Norm) -> float:
    from scipy.special import gammainccinv

    if norm == "linf":
        return -math.log(-math.expm1(math.log1p(-failure) / size))
    if norm == "l1":
        return float(gammainccinv(size, failure))
    spare = SPARE * failure
    cut = math.log(size / spare) ** 2
    log = -math.log(spare)
    reach = 2.0 * size + math.sqrt(2.0 * 24.0 * size * log) + cut * log / 3.0
    if size > CONVOLVED:
        log = -math.log(failure - spare)
        return math.sqrt(2.0 * size + math.sqrt(48.0 * size * log) + cut * log / 3.0)
    edges = np.arange(math.ceil(cut / SQUARE_STEP) + 1) * SQUARE_STEP
    return math.sqrt(_convolved(np.exp(-np.sqrt(edges)), SQUARE_STEP, reach, size, failure))


def _gaussian_quantile(size: int, failure: float, norm: Norm) -> float:
    from scipy.special import chdtri, erfc, ndtri

    if norm == "linf":
        return -float(ndtri(-math.expm1(math.log1p(-failure) / size) / 2.0))
    if norm == "l2":
        return math.sqrt(float(chdtri(size, failure)))
    mean = size * math.sqrt(2.0 / math.pi)
    if size > CONVOLVED:
        return mean + math.sqrt(-2.0 * size * math.log(failure))
    spare = SPARE * failure
    reach = mean + math.sqrt(-2.0 * size * math.log(spare))
    cut = math.sqrt(2.0 * math.log(size / spare))
    edges = np.arange(math.ceil(cut / NORMAL_STEP) + 1) * NORMAL_STEP
    return _convolved(np.asarray(erfc(edges / math.sqrt(2.0))), NORMAL_STEP, reach, size, failure)


def _convolved(tails: Floats, step: float, reach: float, size: int, failure: float) -> float:
    """Return a bound of the sum of ``size`` variables but for a failure, from their tail at the edges of a lattice.

    Values are rounded up, so a sum grows by at most one step for each; what lies beyond the last edge, and sums beyond
    the reach, count as failure.
    """
    bins = math.ceil(reach / step) + size + len(tails) + 1
    length = 1 << (bins - 1).bit_length()
    law = np.zeros(length)
    law[1 : len(tails)] = tails[:-1] - tails[1:]
    found = np.fft.irfft(np.fft.rfft(law) ** size, length)
    # What wraps around is the mass of sums beyond the length, and at most as much is wrongly counted as near.
    wanted = 1.0 - failure * (1.0 - SPARE) + SPARE * failure + TRANSFORM_ERROR
    place = int(np.searchsorted(np.cumsum(found), wanted))
    return min(place, bins) * step


def _noise_d_em(mechanism: AdditiveMechanism, level: float, geometry: Geometry | None) -> float:
    if geometry is None:
        raise UsageError("geometry must be given for a region in the unit of d_em; pass Geometry.of(space).")
    size = mechanism.dimension
    euclidean = 0.5 * math.sqrt(size) * noise_radius(mechanism, level, "l2")
    if not isinstance(mechanism, LaplaceMechanism | GaussianMechanism):
        return euclidean
    failure = 1.0 - level
    found = [euclidean, 0.5 * _centred_sum(mechanism, failure)]
    if geometry.positions is not None:
        gaps = np.diff(np.sort(geometry.positions))
        found.append(float(gaps @ _sum_bounds(mechanism, _centred(np.arange(1, size), size), failure)))
    if geometry.kind in ("line", "clusters", "grid"):
        found.append(_by_mean(mechanism, geometry, failure))
    return min(found) * OUTWARD


def _centred_sum(mechanism: AdditiveMechanism, failure: float) -> float:
    """Return a bound of the 1-norm after the sum was spread evenly: that of the 1-norm, and of the sum, by halves."""
    (total,) = _sum_bounds(mechanism, np.array([float(mechanism.dimension)]), failure / 2.0)
    return noise_radius(mechanism, 1.0 - failure / 2.0, "l1") + float(total)


def _by_mean(mechanism: AdditiveMechanism, geometry: Geometry, failure: float) -> float:
    """Return a bound of the expected norm, and how far above it the norm is but for a failure."""
    model = IndependentErrors(mechanism.dimension, mechanism.standard_deviation**2)
    log = -math.log(failure)
    reach = math.sqrt(float(np.square(_distances_to_all(geometry)).sum()))
    above = 2.0 * reach * math.sqrt(log)
    if isinstance(mechanism, LaplaceMechanism):
        above = math.sqrt(2.0) * above + log
    rounding = (mechanism.grid / 2.0 + mechanism.statistic_error) * mechanism.dimension
    return bound_of_mean(model, geometry) + mechanism.scale * above + rounding


def _distances_to_all(geometry: Geometry) -> Floats:
    """Return for each cell at least its mean distance to all cells, at most 1."""
    size = geometry.size
    if geometry.positions is not None:
        places = np.sort(geometry.positions)
        before = np.cumsum(places) - places
        ranks = np.arange(size)
        sums = places * ranks - before + (places.sum() - before - places) - places * (size - 1 - ranks)
        return np.asarray(np.minimum(sums / size, 1.0), dtype=np.float64)
    if geometry.kind != "grid":
        return np.ones(size)
    squares = np.zeros(geometry.shape, dtype=np.float64)
    for axis, (count, step) in enumerate(zip(geometry.shape, geometry.steps, strict=True)):
        along = np.arange(count) * float(np.max(step))
        own = np.square(along - along.mean()) + along.var()
        squares += own.reshape([-1 if place == axis else 1 for place in range(len(geometry.shape))])
    return np.asarray(np.minimum(np.sqrt(squares), 1.0).ravel(), dtype=np.float64)


def _centred(counts: Integers, size: int) -> Floats:
    """Return the squared 2-norms of the weights of sums over so many cells, less their share of the sum of all."""
    return np.asarray(counts * (1.0 - counts / size), dtype=np.float64)


def _sum_bounds(mechanism: AdditiveMechanism, squares: Floats, failure: float) -> Floats:
    """Return bounds of weighted sums of the errors, all at once but for a failure; of weights at most 1."""
    log = math.log(2.0 * max(len(squares), 1) / failure)
    size = mechanism.dimension
    rounding = (mechanism.grid / 2.0 + mechanism.statistic_error) * size
    if isinstance(mechanism, LaplaceMechanism):
        return np.asarray(mechanism.scale * (2.0 * np.sqrt(squares * log) + log) + rounding, dtype=np.float64)
    return np.asarray(mechanism.scale * np.sqrt(2.0 * squares * log) + rounding, dtype=np.float64)
