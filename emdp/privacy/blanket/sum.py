"""An upper bound of ``E[(Z_1 + ... + Z_N)_+]`` for independent copies of a finite law, however small it is.

**Bound.** Let ``S`` be the sum, ``M(s) = E e^(s Z)``, ``theta > 0``, and let ``E_theta`` weigh every copy by
``e^(theta Z)/M(theta)``. Let ``xi ~ N(0, tau^2)`` be independent of them, ``Delta > 0``, ``P = 2 pi/Delta`` and
``phi(t) = E_theta e^(i t Z)``. Then

    ``E[S_+] <= M(theta)^N e^(theta^2 tau^2/2) (Delta/2 pi) sum_k phi(t_k)^N e^(-tau^2 t_k^2/2 + i theta tau^2 t_k)
    / (theta + i t_k)^2``, over all whole ``k``, with ``t_k = k Delta``.

*Proof.* (1) *Smoothing.* ``S + xi`` has conditional mean ``S`` given ``S``, and ``(.)_+`` is convex, so that ``E[S_+]
<= E[(S + xi)_+]`` (Jensen). (2) *Tilting.* Weighing ``xi`` too, it becomes ``N(theta tau^2, tau^2)``, and ``E[(S +
xi)_+] = M(theta)^N e^(theta^2 tau^2/2) E_theta[F(S + xi)]``, ``F(s) = s_+ e^(-theta s)``. (3) *Aliasing.* ``F`` is
continuous with the transform ``int F(s) e^(-i t s) ds = (theta + i t)^-2``. Under ``E_theta`` the sum ``S + xi`` has
a smooth density ``f`` whose transform is bounded by ``e^(-tau^2 t^2/2)``, so Poisson's formula holds for the
correlation of ``f`` and ``F``, and the sum over ``k`` is ``sum_j E_theta[F(S + xi + j P)]`` over all whole ``j``. ``F
>= 0``: the terms ``j != 0`` only raise it, and ``j = 0`` is what is wanted. So smoothing, grid and period are all
upper bounds. ∎

*What is cut off.* Terms with ``|t_k| > T`` are bounded in absolute value: ``|phi| <= 1``, so both sides together are
at most ``2 e^(-tau^2 T^2/2)/(Delta tau^2 T^3)`` (the integral of ``e^(-tau^2 t^2/2)/t^2``, which falls, and ``t >=
T`` in ``int e^(-tau^2 t^2/2) dt <= e^(-tau^2 T^2/2)/(tau^2 T)``). When ``T`` times the range of ``Z`` is at most
``pi``, less is needed: ``|phi(t)|^2 = E_theta cos(t (Z - Z')) <= 1 - (4/pi^2) t^2 Var``, since ``cos v <= 1 - 2
v^2/pi^2`` on ``[-pi, pi]``, so that ``|phi|^N <= e^(-(2/pi^2) N Var t^2)``, and the same integral with that rate
bounds the terms between a first cut ``T_1`` and ``T``.

*Rounding.* Every rounding is bounded and added. With ``u = 2^-53``: each computed ``phi`` is within ``eta`` of the
true one, and ``|a^N - b^N| <= N |a - b| max(|a|, |b|)^(N-1)``; ``eta`` sums the relative errors of the tilted
weights, of the arguments of the sines, and of a sum of ``K`` products. ``ln M`` carries its own error, times ``N``.
The library's elementary functions are taken to be right to 4 units in the last place.

The choice of ``theta`` (the saddle of ``M(theta)^N/theta^2``), ``tau``, ``Delta`` and ``T`` affects tightness alone.
"""

import math

import numpy as np

from emdp.base.arrays import Floats
from emdp.base.classes import dataclass

__all__ = ["FINE", "Saddle", "find_saddle", "log_positive_part"]

FINE = 1e-5
"""Smallest excess of the logarithm that smoothing is asked for."""
_UNIT = 2.0**-53
"""Half the spacing of doubles at 1."""
_ULPS = 4.0
"""Units in the last place by which an elementary function may miss."""
_CUT = 9.0
"""``tau T``: what lies beyond weighs ``e^(-40)``."""
_FIRST_CUT = 14.5
"""``T_1`` in units of one over the sum's deviation: ``e^(-(2/pi^2) 14.5^2) = e^(-42)``."""
_MOST_NODES = 200_000
_MOST_WORK = 30_000_000
"""Largest number of nodes, and of nodes times atoms, of one sum."""
_ENOUGH = 1e-4
"""An excess of the logarithm with which the cheap cut is preferred."""
_SMALL = 1.0
"""Below this ``theta max|Z|`` the generating function is summed as ``M - 1``."""
_STEPS = 200


@dataclass(frozen=True, eq=False)
class Saddle:
    """The tilted law at the saddle, and what its numbers may be off by."""

    theta: float
    log_moment: float  # `ln M(theta)`
    moment_error: float  # Bound of its absolute error
    # values, chances: Shape (atoms,): the law's values (the zero last) and their tilted probabilities.
    values: Floats
    chances: Floats
    # mean, variance: Of one tilted copy.
    mean: float
    variance: float

    def log_estimate(self, N: int) -> float:
        """Return the saddle-point approximation of ``ln E[S_+]``: no bound, near it where many copies count."""
        curvature = N * self.variance + 2 / self.theta**2
        return N * self.log_moment - 2 * math.log(self.theta) - 0.5 * math.log(2 * math.pi * curvature)


def log_positive_part(values: Floats, chances: Floats, N: int, *, excess: float = FINE) -> float:
    """Return an upper bound of ``ln E[(Z_1 + ... + Z_N)_+]``.

    Parameters
    ----------
    values, chances : numpy.ndarray
        Shape (atoms,): ``Z`` is ``values[y]`` with probability ``chances[y] > 0``, and 0 with what is left of 1.
    N : int
        How many independent copies are added, at least 1.
    excess : float
        What smoothing may add to the logarithm (where the sum is on few points, about its root); more of it takes less
        time, and it is raised where the work would be too much.

    Returns
    -------
    float
        ``-inf`` if no value is positive.

    Examples
    --------
    One copy of 2 with probability 1/4, and a sum of which a positive value is a rare event.

    >>> round(math.exp(log_positive_part(np.array([2.0]), np.array([0.25]), 1)), 3)
    0.5
    >>> value = log_positive_part(np.array([1.0, -1.0]), np.array([0.1, 0.9]), 201)
    >>> round(value, 3)
    -106.323
    """
    if values.max(initial=0.0) <= 0:
        return -math.inf
    # (a + b)_+ <= a_+ + b_+: the sum is at most N times one copy's part, with equality for one copy.
    alone = math.log(float(np.maximum(values, 0.0) @ chances))
    alone += math.log(N) + (2 * len(values) + 16 + 8 * abs(alone) + 8 * math.log(N)) * _UNIT
    return alone if N == 1 else min(alone, _log_tail(values, chances, N, excess))


def find_saddle(values: Floats, chances: Floats, N: int) -> Saddle:
    """Return the tilted law where ``N ln M(theta) - 2 ln theta``, which is convex, is least; some value is positive.

    >>> saddle = find_saddle(np.array([1.0, -1.0]), np.array([0.1, 0.9]), 201)
    >>> round(saddle.theta, 2), round(saddle.log_estimate(201), 2)
    (1.11, -106.45)
    """
    rest = max(math.fsum([1.0, *(-chances).tolist()]), 0.0)
    atoms, weights = np.append(values, 0.0), np.append(chances, rest)
    mean, square = float(weights @ atoms), float(weights @ atoms**2)
    # The root of the Gaussian limit to begin with; Newton's method on ln theta, kept between bounds.
    theta = (-mean + math.sqrt(mean * mean + 8 * square / N)) / (2 * square)
    low, high = 0.0, math.inf
    for _ in range(_STEPS):
        saddle = _tilted(theta, atoms, weights)
        slope = N * theta * saddle.mean - 2
        curvature = N * theta * (saddle.mean + theta * saddle.variance)
        if abs(slope) <= 1e-3 * (2 + math.sqrt(N * saddle.variance) * theta):
            break
        low, high = (theta, high) if slope < 0 else (low, theta)
        newton = theta * math.exp(max(min(-slope / curvature, 3.0), -3.0)) if curvature > 0 else math.nan
        theta = newton if low < newton < high else (2 * low if high == math.inf else (low + high) / 2)
    return saddle


def _log_tail(values: Floats, chances: Floats, N: int, excess: float) -> float:
    """Return the bound of the module's theorem; ``inf`` where rounding leaves none."""
    saddle = find_saddle(values, chances, N)
    span = float(np.ptp(saddle.values)) * (1 + 4 * _UNIT)
    cheap = 0.5 * (saddle.theta * span * _CUT / math.pi) ** 2
    deviation = max(math.sqrt(N * saddle.variance), 1e-9 / saddle.theta)
    period = 10 * deviation + 40 / saddle.theta
    if cheap <= max(excess, _ENOUGH):
        tau = _CUT * span / math.pi * (1 + 4 * _UNIT)
        cut = min(_FIRST_CUT / deviation, _CUT / tau)
    else:
        most = min(_MOST_NODES, _MOST_WORK // len(saddle.values))
        roots = _CUT / (math.sqrt(2) * 2 * math.pi) * saddle.theta * period
        tau = math.sqrt(2 * max(excess, (roots / most) ** 2)) / saddle.theta
        cut = _CUT / tau
    step = 2 * math.pi / period
    nodes = math.ceil(cut / step) + 1
    total = _node_sum(saddle, N, tau, step, nodes) + _rest(saddle, N, tau, step, nodes, span)
    if not total > 0:
        return math.inf
    log_moment = N * (saddle.log_moment + saddle.moment_error)
    smooth = 0.5 * (saddle.theta * tau) ** 2
    result = log_moment + smooth + math.log(total)
    return result + 16 * _UNIT * (abs(log_moment) + smooth + abs(math.log(total)) + 1)


def _tilted(theta: float, atoms: Floats, weights: Floats) -> Saddle:
    exponents = theta * atoms
    largest = float(np.abs(exponents).max())
    if largest <= _SMALL:
        terms = weights * np.expm1(exponents)
        log_moment = math.log1p(math.fsum(terms.tolist()))
        # 4 ulps of expm1, the rounded exponent, two products: all relative to |expm1|, on [-1, 1].
        error = (_ULPS + 8) * _UNIT * float(np.abs(terms).sum()) * math.exp(-log_moment) + 4 * _UNIT * abs(log_moment)
        chances = weights * np.exp(exponents - log_moment)
    else:
        shift = float(exponents.max())
        terms = weights * np.exp(exponents - shift)
        log_moment = shift + math.log(math.fsum(terms.tolist()))
        slack = 2 * float((terms * (np.abs(exponents) + abs(shift))).sum() / terms.sum())
        error = (_ULPS + 8 + slack + 5 * abs(shift) + 5 * abs(log_moment)) * _UNIT * 2
        chances = terms * math.exp(shift - log_moment)
    mean = float(chances @ atoms)
    variance = float(chances @ (atoms - mean) ** 2)
    return Saddle(theta, log_moment, error, atoms, chances, mean, variance)


def _node_sum(saddle: Saddle, N: int, tau: float, step: float, nodes: int) -> float:
    """Return the sum over the nodes up to ``nodes``, times ``Delta/2 pi``, raised by its rounding error."""
    width = max(math.isqrt(nodes), 1)
    rows = nodes // width + 1
    centred = saddle.values - saddle.mean
    # e^(i t u) for t = (row width + column) Delta is a product, so that a matrix product sums over the atoms.
    coarse = np.exp(1j * np.multiply.outer(step * width * np.arange(rows), centred)) * saddle.chances
    fine = np.exp(1j * np.multiply.outer(centred, step * np.arange(width)))
    phi = (coarse @ fine).reshape(-1)
    t = step * np.arange(rows * width)
    size = np.abs(phi)
    drift = N * saddle.mean + saddle.theta * tau * tau
    denominator = saddle.theta**2 + t * t
    damping = np.exp(-0.5 * (tau * t) ** 2) / denominator
    damping[0] /= 2
    with np.errstate(divide="ignore"):
        log_size = np.log(size)
    # (theta + i t)^-2 has the angle -2 atan(t/theta).
    angle = N * np.angle(phi) + drift * t - 2 * np.arctan2(t, saddle.theta)
    terms = np.exp(N * log_size) * damping
    largest = float(np.abs(centred).max())
    spread = float((saddle.chances * np.abs(saddle.theta * saddle.values)).sum())
    eta = _UNIT * (4 * len(centred) + 40 + 8 * spread + 8 * t * largest) + 2 * saddle.moment_error
    # Where eta is too large for any statement the bound overflows, and the caller returns inf.
    with np.errstate(over="ignore", invalid="ignore"):
        near = N * eta * np.exp((N - 1) * np.log(size + eta)) * damping
    relative = _UNIT * (40 + 8 * np.abs(angle) + 4 * (tau * t) ** 2 + 8 * np.abs(drift) * t)
    powers = _UNIT * 8 * N * np.where(size > 0, np.abs(log_size), 0.0) + 8 * N * _UNIT
    value = float((terms * np.cos(angle)).sum())
    error = float((near + terms * (relative + powers)).sum()) + len(t) * _UNIT * float(terms.sum())
    return (value + error * (1 + 1e-6)) * step / math.pi


def _rest(saddle: Saddle, N: int, tau: float, step: float, nodes: int, span: float) -> float:
    """Return a bound of the terms beyond the nodes, times ``Delta/2 pi``."""
    # The last node that was summed is at least nodes steps out, and a falling sum is at most its integral from there.
    first = nodes * step
    last = max(_CUT / tau, first)
    beyond = _tail(tau * tau, last)
    if last * span <= math.pi and first < last:
        beyond += _tail(4 / math.pi**2 * N * saddle.variance * (1 - 1e-9), first)
    elif first < last:
        return math.inf
    return beyond / math.pi * (1 + 1e-9)


def _tail(rate: float, start: float) -> float:
    """Return a bound of the integral of ``e^(-rate t^2/2)/t^2`` from a start."""
    return math.exp(-rate * start**2 / 2) / (rate * start**3)
