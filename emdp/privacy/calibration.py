"""Calibration of noise to a guarantee: the exact profile of the Gaussian mechanism, and the Laplace scale.

**Theorem** (Balle and Wang 2018, Theorem 8; EMD 2 "Gaussian calibration"). Let a release add ``N(0, sigma^2 I)`` to a
vector that moves by at most ``sensitivity * d`` in the 2-norm between neighbours at distance ``d``, and let
``mu = sensitivity/sigma``. Then ``H_{exp(alpha d)} <= delta(d)``, with equality where the sensitivity is attained, for

    ``delta(d) = Phi(mu d/2 - alpha/mu) - e^(alpha d) Phi(-mu d/2 - alpha/mu)``.

It rises with ``d``: the exponent ``alpha d + ln p(z + d v) - ln p(z)`` is concave in ``d`` and 0 at 0, so that once
negative it falls (EMD 7). So the release is ``(alpha, delta)`` d_EM-DP if and only if ``delta(1) <= delta``. For a
guarantee at one distance (user-level, discrete) take its epsilon for ``alpha``, ``d = 1``, and the sensitivity there.

*Numerics.* Put ``x = alpha/mu - mu d/2``, ``y = alpha/mu + mu d/2``, and Mills' ratio ``R(t) = (1 - Phi(t))/phi(t)``.
Since ``e^(alpha d) phi(y) = phi(x)``, ``delta(d) = phi(x) (R(x) - R(y))``: nothing overflows. The difference is taken
as the integral of ``-R'(t) = 1 - t R(t)`` where ``y - x`` is small. The calibrations accept a parameter only if the
value, raised by a bound of its rounding error, is within the target.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from emdp.base.checks import check_finite, check_positive, check_range, check_unit_interval
from emdp.base.errors import UsageError
from emdp.privacy.quadrature import unit_quadrature
from emdp.privacy.rounding import as_decimal, check_bound, float_at_least, quotient_up

__all__ = [
    "LARGEST_ALPHA",
    "LARGEST_MU",
    "SMALLEST_MU",
    "gaussian_alpha",
    "gaussian_delta",
    "gaussian_mu",
    "gaussian_sigma",
    "laplace_scale",
    "safe_gaussian_delta",
]

LARGEST_ALPHA = 1e12
"""Largest alpha that Gaussian noise is stated at: no larger one protects anything, and floats could not follow."""
SMALLEST_MU, LARGEST_MU = 1e-100, 1e100
"""Between these the profile's terms are floats with room to spare."""
_LOG_ROOT_TWO_PI = 0.9189385332046727
"""ln sqrt(2 pi)."""
_NARROW = 0.5
"""Below this y - x the difference of Mills' ratios is integrated instead of subtracted."""
_MARGIN = 1e-9
"""Relative excess of every accepted profile over its computed value (measured error: see the tests)."""
_UNIT = 2.0**-53
"""Half the spacing of doubles at 1."""
_STEPS = 200
"""Bisection steps at most; about 60 reach neighbouring doubles."""


def gaussian_delta(alpha: float, mu: float, d: float = 1.0) -> float:
    """Return the exact delta of Gaussian noise: ``H_{exp(alpha d)}`` between neighbours at distance ``d``.

    Parameters
    ----------
    alpha : float
        Per unit of ``d_em``, in [0, 1e12]; for a guarantee at one distance its epsilon.
    mu : float
        ``sensitivity/sigma``, in [1e-100, 1e100]; for several Gaussian releases the root of the sum of the
        squares.
    d : float
        Earth-mover distance in [0, 1].

    Returns
    -------
    float
        Relative error below 1e-10 while alpha is below 1e6 (0 where it is below the smallest float).

    References
    ----------
    EMD 2, "Gaussian calibration [fix]".

    >>> f"{gaussian_delta(25.0, 1 / 0.260238):.4g}"
    '1e-06'
    >>> gaussian_delta(1.0, 1.0, d=0.0)
    0.0
    """
    level, ratio = _check_level(alpha), check_range("mu", mu, SMALLEST_MU, LARGEST_MU)
    distance = check_range("d", d, 0.0, 1.0)
    return math.exp(_log_profile(level, ratio, distance)) if distance > 0 else 0.0


def safe_gaussian_delta(alpha: float, mu: float) -> float:
    """Return :func:`gaussian_delta` at ``d = 1`` raised by a bound of its rounding error: an upper bound.

    It rises with ``mu``, so a ``mu`` below ``SMALLEST_MU`` counts as that.

    >>> 1 < safe_gaussian_delta(1.0, 1.0) / gaussian_delta(1.0, 1.0) < 1 + 1e-8
    True
    """
    return _safe_profile(_check_level(alpha), _check_mu(mu))


def gaussian_mu(alpha: float, delta: float) -> float:
    """Return the largest ``mu`` whose noise is ``(alpha, delta)``, rounded down: the inverse of the profile.

    Parameters
    ----------
    alpha : float
        In [0, 1e12].
    delta : float
        In (0, 1).

    Raises
    ------
    UsageError
        If a parameter is out of its range, or ``mu`` would be below 1e-100.

    >>> round(1 / gaussian_mu(25.0, 1e-12), 6)
    0.334336
    """
    result = _solve_mu(_check_level(alpha), _check_delta(delta))
    if result < SMALLEST_MU:
        raise UsageError(f"delta = {delta} is too small for Gaussian noise at alpha = {alpha}; pass a larger one.")
    return result


def gaussian_sigma(alpha: float, delta: float, sensitivity: float = 1.0) -> float:
    """Return the smallest standard deviation of Gaussian noise that is ``(alpha, delta)``, rounded up.

    Parameters
    ----------
    alpha : float
        Per unit of ``d_em``, in [0, 1e12]; for a guarantee at one distance (user-level, discrete) its epsilon.
    delta : float
        In (0, 1).
    sensitivity : float
        Change in the 2-norm per unit of ``d_em`` (``lipschitz/n`` of a mean over ``n`` users), above 0; for a
        guarantee at one distance the change at that distance.

    Returns
    -------
    float
        In the unit of the sensitivity; within 1e-9 of the smallest, never below it.

    Raises
    ------
    UsageError
        If a parameter is out of its range.

    References
    ----------
    EMD 2, "Gaussian calibration [fix]": known answers below. The formulas ``sqrt(1.25 ln(1/delta))/alpha``
    (the paper's) and ``sqrt(2 ln(1.25/delta))/alpha`` are not private for large alpha.

    >>> [f"{gaussian_sigma(alpha, 1e-6):.6g}" for alpha in (1, 5, 25, 0.2)]
    ['4.22468', '0.980049', '0.260238', '18.9888']
    """
    size = check_positive("sensitivity", check_bound("sensitivity", sensitivity))
    return quotient_up(size, gaussian_mu(alpha, delta))


def gaussian_alpha(mu: float, delta: float) -> float:
    """Return the smallest alpha at which noise of ratio ``mu`` has this delta, rounded up.

    Parameters
    ----------
    mu : float
        ``sensitivity/sigma``, above 0 and at most 1e100; below 1e-100 it counts as that.
    delta : float
        In (0, 1).

    >>> round(gaussian_alpha(1 / 0.334336, 1e-12), 4)
    25.0
    >>> gaussian_alpha(1e-9, 0.01)
    0.0
    """
    ratio, target = _check_mu(mu), _check_delta(delta)
    if _safe_profile(0.0, ratio) <= target:
        return 0.0
    high = 1.0
    while _safe_profile(high, ratio) > target:
        high *= 2
    return _bisect(lambda level: _safe_profile(level, ratio) <= target, good=high, bad=0.0)


def laplace_scale(alpha: float, sensitivity: float) -> float:
    """Return the smallest scale ``w`` with ``sensitivity <= alpha w``, alpha taken as its decimal.

    Parameters
    ----------
    alpha : float
        Above 0.
    sensitivity : float
        Change per unit of ``d_em``, in the noise's norm (1-norm for product Laplace), above 0.

    Returns
    -------
    float
        Scale for Laplace and K-norm noise, in the unit of the sensitivity.

    >>> laplace_scale(0.5, 3.0)
    6.0
    """
    level = as_decimal(check_positive("alpha", alpha))
    size = Fraction(check_positive("sensitivity", check_bound("sensitivity", sensitivity)))
    return float_at_least(size / level)


def _check_level(alpha: object) -> float:
    level = check_finite("alpha", alpha)
    if level < 0:
        raise UsageError(f"alpha must be at least 0, got {level}; pass a number that is not negative.")
    if level > LARGEST_ALPHA:
        raise UsageError(f"alpha must be at most {LARGEST_ALPHA} for Gaussian noise, got {level}; pass a smaller one.")
    return level


def _check_mu(mu: object) -> float:
    return max(check_range("mu", check_positive("mu", mu), 0.0, LARGEST_MU), SMALLEST_MU)


def _check_delta(delta: object) -> float:
    value = check_finite("delta", delta)
    if value == 0:
        raise UsageError("delta must be above 0 for Gaussian noise, got 0; use Laplace noise, or give a delta.")
    return check_unit_interval("delta", value)


@lru_cache(maxsize=4096)
def _solve_mu(alpha: float, delta: float) -> float:
    low = high = 1.0
    while _safe_profile(alpha, low) > delta:
        low /= 2
    while _safe_profile(alpha, high) <= delta:
        high *= 2
    return _bisect(lambda mu: _safe_profile(alpha, mu) <= delta, good=low, bad=high)


def _bisect(is_good: Callable[[float], bool], *, good: float, bad: float) -> float:
    """Return a good number beside a bad one: the end that the caller may promise."""
    for _ in range(_STEPS):
        middle = (good + bad) / 2
        if middle in (good, bad):
            break
        good, bad = (middle, bad) if is_good(middle) else (good, middle)
    return good


@lru_cache(maxsize=4096)
def _safe_profile(alpha: float, mu: float) -> float:
    # x = alpha/mu - mu/2 is rounded at the size of its terms, and ln delta moves by about (1 + |x|) times as
    # much; a divergence is never above 1
    slope = 1 + abs(alpha / mu - mu / 2)
    error = 8 * _UNIT * slope * (alpha / mu + mu)
    return math.exp(min(0.0, _log_profile(alpha, mu, 1.0) + math.log1p(_MARGIN) + error))


def _log_profile(alpha: float, mu: float, d: float) -> float:
    from scipy.special import erfcx, ndtr

    def mills(t: Any) -> Any:
        return math.sqrt(math.pi / 2) * erfcx(t / math.sqrt(2))

    gap = mu * d
    x, y = alpha / mu - gap / 2, alpha / mu + gap / 2
    if gap <= _NARROW:
        nodes, weights = unit_quadrature()
        inside = x + gap * nodes
        difference = gap * float(np.dot(weights, 1 - inside * mills(inside)))
    elif x >= -1:
        difference = mills(x) - mills(y)
    else:
        return float(math.log(ndtr(-x) - math.exp(-x * x / 2 - _LOG_ROOT_TWO_PI) * mills(y)))
    return float(-x * x / 2 - _LOG_ROOT_TWO_PI + (math.log(difference) if difference > 0 else -math.inf))
