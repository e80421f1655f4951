"""The 2-norm K-norm law on the lattice: ``P(z)`` proportional to ``exp(-||z||_2/scale)`` for ``z`` in Z^d.

Sampling is exact, by rejection. Let ``t = scale`` and let ``s`` be a float with ``s^2 >= d t^2``, checked in
rational arithmetic. A proposal has ``d`` independent discrete Laplace coordinates of scale ``s``, so its
probability is proportional to ``exp(-||z||_1/s)``, and it is accepted with probability ``exp(-g(z))``,
``g(z) = ||z||_2/t - ||z||_1/s``. By Cauchy-Schwarz ``||z||_1 <= sqrt(d) ||z||_2 <= (s/t) ||z||_2``, so
``g >= 0`` and this is a probability. An accepted point therefore has law proportional to ``exp(-||z||_1/s)
exp(-g(z)) = exp(-||z||_2/t)``, and accepted points are independent of one another and of how many were
refused.

The acceptance is exact as well. It is ``U < exp(-g)`` with ``U`` uniform on [0, 1), its bits drawn as needed
(:func:`emdp.noise.exact.are_below_exp`). With ``u = 2^-53``, float64 arithmetic gives ``g`` with an error of at most
``(2 d + 7) u ||z||_2/t`` (conversions, squares, a sum of d terms in any order and the root for the 2-norm, relative
error ``(1.5 d + 3.5) u``; ``d u`` for the 1-norm; two quotients and a difference), below ``2^-35`` where ``||z||_2/t <=
2^12`` and ``d <= 24``. Points further away, and comparisons that are closer than float64 settles, about one in 10^9, go
to :func:`_exp_bounds`: rational bounds of ``exp(-g)`` from correctly rounded decimal arithmetic.

Acceptance has probability ``V_d d!/(2^d d^(d/2))``, ``V_d`` the volume of the unit ball (ratio of the two
normalisers, for large scales): 0.785 at d = 2, 0.09 at 10, 0.002 at 24. Beyond ``MAX_DIMENSION`` it is
refused.

The law of one coordinate. Let ``X`` have density proportional to ``exp(-||x||_2/t)`` on R^d: its radius is
Gamma(d, t), its direction ``u`` uniform, ``u_1^2`` Beta(1/2, (d-1)/2) (EMD 2). On the unit cube around
``z`` the norm is within ``sqrt(d)/2`` of ``||z||_2``; so for every set ``A`` of lattice points, ``P(A) <=
exp(sqrt(d)/t) P(X in A + cube)``, and ``P(|z_1| > k) <= exp(sqrt(d)/t) P(|X_1| >= k + 1/2)``. Quantiles use
this bound, so they never under-cover.
"""

import math
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt

from emdp.base.checks import check_count, check_range, check_unit_interval
from emdp.base.errors import InternalError, UsageError
from emdp.noise.discrete_laplace import (
    MAX_BULK_SCALE,
    MAX_SCALE,
    MIN_BULK_SCALE,
    Integers,
    check_noise_scale,
    discrete_laplace_quantile,
    laplace_integers,
)
from emdp.noise.exact import Accepted, Bounds, are_below_exp
from emdp.noise.rng import random_words

__all__ = [
    "MAX_DIMENSION",
    "Lattice",
    "check_k_norm_dimension",
    "draw_k_norm",
    "draw_planar",
    "k_norm_acceptance",
    "k_norm_marginal_cdf",
    "k_norm_mean_absolute",
    "k_norm_mean_norm",
    "k_norm_quantile",
    "k_norm_radius_quantile",
    "k_norm_standard_deviation",
]

MAX_DIMENSION = 24
# Of the lattice: one draw takes 1/acceptance proposals, 513 of 24 integers each here (a millisecond).

_BLOCK = 2**17
# Most integers proposed at once: a few megabytes, whatever the size.

_FLOAT_REACH = 2.0**12
# Largest ||z||_2/scale that float64 decides: see the module's text.

_SPARE_BITS = 2**16
# Bits beyond those of U up to which exp(-g) is worked out.

_PANELS, _NODES = 24, 64
# Panels of (0, pi/2] that halve towards 0, and Gauss-Legendre nodes in each: the marginal's tail to 1e-11.

_TAIL_MARGIN = 1e-9
# Relative, taken off a tail before it is inverted: above the error of quadrature and bisection.

_LEAST_TAIL = 1e-250
# Smallest tail that is inverted: float64 cannot follow the Gamma tail much further.

Lattice = npt.NDArray[np.int64]
"""Points of the lattice, shape (points, dimension)."""


def draw_k_norm(scale: float, dimension: int, size: int) -> list[tuple[int, ...]]:
    """Draw independent lattice points, ``P(z)`` proportional to ``exp(-||z||_2/scale)``, exactly.

    Parameters
    ----------
    scale : float
        Scale in grid steps, in [2^-20, 2^56/sqrt(dimension)], taken as the exact rational that the float is.
    dimension : int
        Number of coordinates, 1 to ``MAX_DIMENSION``.
    size : int
        How many points, at least 0.

    Raises
    ------
    UsageError
        If an argument is out of its range.

    References
    ----------
    Hardt and Talwar, "On the geometry of differential privacy" (arXiv 0907.3754); the module's text proves
    exactness.

    >>> len(draw_k_norm(2.0**40, 3, 1)[0]), draw_k_norm(1.0, 2, 0)
    (3, [])
    """
    scale = check_noise_scale(scale)
    dimension = check_k_norm_dimension(dimension)
    size = check_count("size", size, minimum=0)
    return [tuple(point) for point in _points(scale, dimension, size).tolist()]


def draw_planar(scale: float, dimension: int, size: int) -> Lattice:
    """Draw as :func:`draw_k_norm`, into an array of 64-bit integers: planar noise for many items.

    Parameters
    ----------
    scale : float
        Scale in grid steps, in [2^-10, 2^46/sqrt(dimension)), taken as the exact rational that the float is.
    dimension : int
        Number of coordinates, 1 to ``MAX_DIMENSION``.
    size : int
        How many points, at least 0.

    Returns
    -------
    numpy.ndarray of int64
        Shape (size, dimension). A coordinate beyond int64, which has a chance below ``exp(-2^17)``, is an error.

    Raises
    ------
    UsageError
        If an argument is out of its range.
    InternalError
        If a coordinate does not fit.

    References
    ----------
    EMD 4, "Planar Laplace"; the module's text proves exactness.

    >>> draw_planar(2.0**40, 2, 3).shape, draw_planar(1.0, 2, 0).shape
    ((3, 2), (0, 2))
    """
    dimension = check_k_norm_dimension(dimension)
    scale = check_range("scale", scale, MIN_BULK_SCALE, MAX_BULK_SCALE / math.sqrt(dimension) * (1.0 - 2.0**-40))
    points = _points(scale, dimension, check_count("size", size, minimum=0))
    if points.dtype == object:
        raise InternalError("a coordinate of noise does not fit in 64 bits; draw again.")
    return points


def check_k_norm_dimension(dimension: object) -> int:
    """Return ``dimension`` as an int, or raise ``UsageError`` if the sampler does not reach it.

    >>> check_k_norm_dimension(5)
    5
    """
    number = check_count("dimension", dimension)
    if number > MAX_DIMENSION:
        raise UsageError(
            f"dimension must be at most {MAX_DIMENSION} for exact 2-norm K-norm noise, got {number}; "
            "use Gaussian noise with a delta, or product Laplace noise with the 1-norm constant."
        )
    return number


def k_norm_acceptance(dimension: int) -> float:
    """Return the probability that a proposal is accepted, for large scales.

    >>> [round(k_norm_acceptance(d), 3) for d in (1, 2, 5, 10)]
    [1.0, 0.785, 0.353, 0.09]
    """
    d = check_k_norm_dimension(dimension)
    log_ball = 0.5 * d * math.log(math.pi) - math.lgamma(0.5 * d + 1.0)
    return math.exp(log_ball + math.lgamma(d + 1.0) - d * math.log(2.0) - 0.5 * d * math.log(d))


def k_norm_marginal_cdf(x: float, scale: float, dimension: int) -> float:
    """Return ``P(X_1 <= x)`` for the continuous law; the lattice's differs by a factor of ``1 + 2
    sqrt(d)/scale``.

    >>> k_norm_marginal_cdf(0.0, 1.0, 3), round(k_norm_marginal_cdf(1.0, 1.0, 1), 4)
    (0.5, 0.8161)
    """
    scale = check_noise_scale(scale)
    half = 0.5 * _marginal_tail(abs(x) / scale, check_k_norm_dimension(dimension))
    return half if x < 0 else 1.0 - half


def k_norm_quantile(tail: float, scale: float, dimension: int) -> int:
    """Return a ``k >= 0`` with ``P(|z_1| > k) <= tail`` for one coordinate of the lattice law, rounded
    outward.

    Parameters
    ----------
    tail : float
        Mass left outside ``[-k, k]``, in (0, 1].
    scale : float
        Scale in grid steps.

    >>> k_norm_quantile(0.05, 100.0, 1), k_norm_quantile(0.05, 100.0, 3)
    (300, 413)
    """
    scale, d = check_noise_scale(scale), check_k_norm_dimension(dimension)
    if d == 1:
        return discrete_laplace_quantile(tail, scale)
    return _lattice_quantile(tail, scale, d)


def k_norm_radius_quantile(tail: float, scale: float, dimension: int) -> int:
    """Return a ``k >= 0`` with ``P(some |z_i| > k) <= tail``, from the law of ``||z||_2``, rounded outward.

    >>> k_norm_radius_quantile(0.05, 100.0, 3)
    632
    """
    scale, d = check_noise_scale(scale), check_k_norm_dimension(dimension)
    target = _continuous_tail(tail, scale, d)
    return max(0, math.ceil(scale * _radius(target, d) * (1.0 + 2.0**-40) - 0.5))


def k_norm_mean_norm(scale: float, dimension: int) -> float:
    """Return ``E||X||_2 = d scale``, the lattice's to within ``sqrt(d)`` grid steps for large scales (EMD 2).

    >>> k_norm_mean_norm(2.0, 3)
    6.0
    """
    return check_k_norm_dimension(dimension) * check_noise_scale(scale)


def k_norm_mean_absolute(scale: float, dimension: int) -> float:
    """Return ``E|X_1| = d scale E|u_1|`` with ``E|u_1| = Gamma(d/2)/(sqrt(pi) Gamma((d+1)/2))``.

    >>> [round(k_norm_mean_absolute(1.0, d), 3) for d in (1, 3)]
    [1.0, 1.5]
    """
    d = check_k_norm_dimension(dimension)
    log_share = math.lgamma(0.5 * d) - math.lgamma(0.5 * (d + 1.0)) - 0.5 * math.log(math.pi)
    return d * check_noise_scale(scale) * math.exp(log_share)


def k_norm_standard_deviation(scale: float, dimension: int) -> float:
    """Return the standard deviation of ``X_1``: ``scale sqrt(d + 1)``, since ``E R^2 = d (d+1) scale^2``.

    >>> k_norm_standard_deviation(1.0, 3)
    2.0
    """
    return check_noise_scale(scale) * math.sqrt(check_k_norm_dimension(dimension) + 1.0)


def _proposal_scale(scale: float, dimension: int) -> float:
    wide = math.sqrt(dimension) * scale
    while Fraction(wide) ** 2 < dimension * Fraction(scale) ** 2:
        wide = math.nextafter(wide, math.inf)
    if wide > MAX_SCALE:
        raise UsageError(
            f"scale must be at most 2^56/sqrt({dimension}) grid steps, got {scale}; choose a coarser grid."
        )
    return wide


def _points(scale: float, dimension: int, size: int) -> Integers:
    # Shape (size, dimension). Points left over at the end are dropped: those accepted are independent of their number.
    if dimension == 1:
        return laplace_integers(scale, size)[:, None]
    wide = _proposal_scale(scale, dimension)
    points: Integers = np.empty((size, dimension), dtype=np.int64)
    done = 0
    while done < size:
        wanted = math.ceil((size - done) / k_norm_acceptance(dimension))
        count = min(wanted, _BLOCK // dimension)
        proposals = laplace_integers(wide, count * dimension).reshape(dimension, count)
        kept = proposals[:, _accept(proposals, random_words(count), scale, wide)][:, : size - done]
        points = points.astype(np.result_type(points, kept), copy=False)
        points[done : done + kept.shape[1]] = kept.T
        done += kept.shape[1]
    return points


def _accept(proposals: Integers, uniform: npt.NDArray[np.uint64], scale: float, wide: float) -> Accepted:
    # Which proposals, the columns, to keep: each with probability exp(-g).
    def bounds_of(index: int) -> Bounds:
        point = tuple(proposals[:, index].tolist())
        return lambda count: _exp_bounds(point, scale, wide, count)

    real = np.abs(proposals.astype(np.float64))
    total = real.sum(axis=0) / wide
    np.square(real, out=real)
    reach = np.sqrt(real.sum(axis=0)) / scale
    return are_below_exp(uniform, np.where(reach <= _FLOAT_REACH, reach - total, np.nan), bounds_of)


def _exp_bounds(point: tuple[int, ...], scale: float, wide: float, count: int) -> tuple[Fraction, Fraction]:
    """Return rationals around ``exp(-g(point))``, relatively closer than ``2^-count``, or than that to 0.

    With ``eta = 10^(1 - digits)`` every decimal operation below, ``sqrt`` and ``exp`` included, is
    correctly rounded, so its relative error is at most ``eta/2``; integers and floats enter exactly. Then
    ``reach = ||z||_2/scale`` is known to ``1.01 eta reach``, the 1-norm's quotient (at most ``reach``) to
    ``eta/2`` of itself, and ``g`` to ``2.1 eta reach``; so ``exp(-g)`` is known to a relative ``3 eta
    (reach + 1)``, which ``digits`` keeps small.
    """
    square = sum(z * z for z in point)
    digits = count // 3 + len(str(square)) + 40
    context = Context(prec=digits, Emin=MIN_EMIN, Emax=MAX_EMAX)
    reach = context.divide(context.sqrt(Decimal(square)), Decimal(scale))
    total = context.divide(Decimal(sum(abs(z) for z in point)), Decimal(wide))
    exponent = context.subtract(total, reach)
    if exponent < -(count + _SPARE_BITS):
        # Its fraction may have more digits than memory: exp(-g) < 2^-(count + _SPARE_BITS) decides all but bits of 0.
        return Fraction(0), Fraction(1, 2 ** (count + _SPARE_BITS))
    value = Fraction(context.exp(exponent))
    error = 3 * (Fraction(reach) + 2) / Fraction(10) ** (digits - 1)
    return value * (1 - error), value * (1 + error)


def _continuous_tail(tail: float, scale: float, d: int) -> float:
    # The continuous law's tail that keeps the lattice's at or below `tail` (module's text).
    target = check_unit_interval("tail", tail, one=True) * math.exp(-math.sqrt(d) / scale) * (1.0 - _TAIL_MARGIN)
    if target < _LEAST_TAIL:
        raise UsageError(f"tail must be larger at scale {scale}, got {tail}; ask for a lower level or a finer grid.")
    return target


def _radius(tail: float, d: int) -> float:
    # The r with P(Gamma(d, 1) > r) = tail.
    from scipy.special import gammainccinv

    return float(gammainccinv(d, tail))


@lru_cache(maxsize=1024)
def _lattice_quantile(tail: float, scale: float, d: int) -> int:
    target = _continuous_tail(tail, scale, d)
    low, high = 0.0, _radius(target, d)  # |X_1| is at most the radius
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _marginal_tail(middle, d) > target else (low, middle)
    return max(0, math.ceil(scale * high * (1.0 + 2.0**-50) - 0.5))


def _marginal_tail(x: float, d: int) -> float:
    """Return ``P(|X_1| > x)`` at scale 1.

    The direction's first coordinate is ``sin a`` with density proportional to ``cos^(d-2) a`` on [0, pi/2],
    and given it the event is ``R > x/sin a``: an integral of the Gamma tail, smooth on every panel.
    """
    if d == 1:
        return math.exp(-x)
    from scipy.special import gammaincc

    angles, weights = _nodes()
    density = np.cos(angles) ** (d - 2) * weights
    return float(np.sum(density * gammaincc(d, x / np.sin(angles))) / np.sum(density))


@cache
def _nodes() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    high = 0.5 * math.pi * 0.5 ** np.arange(_PANELS)
    low = np.append(high[1:], 0.0)
    half = 0.5 * (high - low)[:, None]
    return (0.5 * (high + low)[:, None] + half * nodes).ravel(), (half * weights).ravel()
