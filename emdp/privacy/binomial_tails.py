"""Binomial laws in logarithms, far below the smallest float: what the shuffle accountants sum.

Loader's form of the binomial probability needs no large factorial: with ``b(x, M) = x ln(x/M) + M - x`` and Stirling's
error ``s(n) = ln n! - ln(sqrt(2 pi n) (n/e)^n)``,

    ``ln Pr[Bin(n, p) = k] = s(n) - s(k) - s(n-k) - b(k, np) - b(n-k, n(1-p)) + ln(n/(2 pi k (n-k)))/2``.

A tail is its first probability times an integral that is never small: by the incomplete beta function and
``t = p (1 - s)``, with ``a = k - 1``, ``b = n - k`` and ``theta = p/(1-p)``,

    ``Pr[Bin(n, p) >= k] = Pr[Bin(n, p) = k] k I``,  ``I = integral of (1-s)^a (1 + theta s)^b over 0 <= s <= 1``.

The integrand falls where ``k`` is above the mean, and its logarithm is concave: Gauss-Legendre on the part above
``e^-36`` of its start is exact to a few units of the last place (tests compare with exact fractions). Leaving out the
rest makes a tail smaller; callers that need the other side add :data:`LOG_MARGIN`.
"""

import math
from functools import lru_cache

import numpy as np

from emdp.base.arrays import Floats

__all__ = ["LOG_MARGIN", "half_log_pmf", "half_tail_ratio", "log_margin", "log_pmf", "log_tail"]

LOG_MARGIN = 1e-8
"""Added to the logarithm of every computed sum: at least ten times the rounding errors seen (tests)."""
_CUT = 36.0
"""The integrand is followed down to ``e^-36`` of its start."""
_HALF_NODES, _NODES = 28, 48
"""Gauss-Legendre nodes for the fair coin, whose cut is tight, and for any coin."""
_SMALL = 16
"""Below this Stirling's error is a table, from it on a series."""


def log_margin(size: float, items: float) -> float:
    """Return what a computed logarithm is raised by, so that it is an upper bound.

    Parameters
    ----------
    size : float
        Sum of the absolute values of the logarithms that were added.
    items : float
        Number of coins of the largest binomial: rounding of ``x - M`` grows with its root.

    >>> log_margin(0.0, 0.0) == LOG_MARGIN
    True
    """
    return LOG_MARGIN + 1e-13 * size + 4e-15 * math.sqrt(items * size)


def log_pmf(n: float, k: Floats, p: float, rest: float) -> Floats:
    """Return ``ln Pr[Bin(n, p) = k]`` for whole numbers ``0 <= k <= n``; ``rest`` is ``1 - p``, given exactly.

    >>> print(np.round(np.exp(log_pmf(2.0, np.array([0.0, 1.0, 2.0]), 0.5, 0.5)), 12))
    [0.25 0.5  0.25]
    """
    inside = (k > 0) & (k < n)
    result = np.where(k > 0, n * _log(p), n * _log(rest))
    if inside.any():
        x = k[inside]
        y = n - x
        spread = 0.5 * np.log(n / (2 * math.pi * x * y))
        errors = _stirling(np.array([n]))[0] - _stirling(x) - _stirling(y)
        result[inside] = errors - _deviance(x, n * p) - _deviance(y, n * rest) + spread
    return result


def log_tail(n: float, k: Floats, p: float, rest: float) -> Floats:
    """Return ``ln Pr[Bin(n, p) >= k]`` for whole ``k`` not below the mean ``n p``; 0 at ``k <= 0``, -inf above ``n``.

    >>> print(np.round(np.exp(log_tail(3.0, np.array([2.0, 3.0, 4.0]), 0.5, 0.5)), 12))
    [0.5   0.125 0.   ]
    """
    result = np.where(k > 0, -math.inf, 0.0)
    inside = (k > 0) & (k <= n)
    if inside.any():
        first = k[inside]
        if rest <= 0:
            result[inside] = 0.0
        else:
            result[inside] = log_pmf(n, first, p, rest) + np.log(first * _integral(first - 1, n - first, p / rest))
    return np.minimum(result, 0.0)


def half_log_pmf(c: Floats, k: Floats) -> Floats:
    """Return ``ln Pr[Bin(c, 1/2) = k]``, element by element, for ``c/2 <= k <= c``.

    >>> print(np.round(np.exp(half_log_pmf(np.array([0.0, 3.0, 4.0]), np.array([0.0, 2.0, 4.0]))), 12))
    [1.     0.375  0.0625]
    """
    y = c - k
    inside = y > 0
    safe_c, safe_k, safe_y = np.where(inside, c, 2.0), np.where(inside, k, 1.0), np.where(inside, y, 1.0)
    slant = (safe_k - safe_y) / safe_c
    # both deviances in one, so that their linear parts cancel before they are rounded
    deviance = 0.5 * safe_c * (2 * slant * np.arctanh(slant) + np.log1p(-slant * slant))
    spread = 0.5 * np.log(safe_c / (2 * math.pi * safe_k * safe_y))
    errors = _stirling(safe_c) - _stirling(safe_k) - _stirling(safe_y)
    return np.where(inside, errors - deviance + spread, -c * math.log(2))


def half_tail_ratio(c: Floats, u: Floats) -> Floats:
    """Return ``Pr[Bin(c, 1/2) >= u] / Pr[Bin(c, 1/2) = u - 1]`` for ``(c+1)/2 <= u <= c + 1``, but for rounding.

    >>> print(np.round(half_tail_ratio(np.array([2.0, 2.0]), np.array([2.0, 3.0])), 12))
    [0.5 0. ]
    """
    slope, b = 2 * u - c - 1, np.maximum(c - u, 0.0)
    curve = b + slope / 2
    cut = np.minimum(1.0, 2 * _CUT / (slope + np.sqrt(slope * slope + 4 * _CUT * curve) + 1e-300))
    nodes, weights = _quadrature(_HALF_NODES)
    s = cut[:, None] * nodes
    exponent = b[:, None] * np.log1p(-s * s)
    exponent += slope[:, None] * np.log1p(-s)
    integral: Floats = cut * (np.exp(exponent) @ weights)
    return (c - u + 1) * integral


def _integral(a: Floats, b: Floats, theta: float) -> Floats:
    """Return ``I`` of the module's text for ``a >= theta b``, up to rounding."""
    slope = np.maximum(a - theta * b, 0.0)
    # log(1-s) <= -s - s^2/2, log(1+y) <= y - y^2/(2 (1+y)), and 1 + y <= 2 max(1, y)
    curve = a / 2 + b * theta * theta / 4
    cut = np.minimum(1.0, 2 * _CUT / (slope + np.sqrt(slope * slope + 4 * _CUT * curve) + 1e-300))
    slope += b * theta / 4
    far = 2 * _CUT / (slope + np.sqrt(slope * slope + 2 * _CUT * a) + 1e-300)
    cut = np.minimum(1.0, np.where(theta * cut <= 1, cut, far))
    nodes, weights = _quadrature(_NODES)
    s = cut[:, None] * nodes
    exponent = a[:, None] * np.log1p(-s) + b[:, None] * np.log1p(theta * s)
    integral: Floats = cut * (np.exp(exponent) @ weights)
    return integral


def _deviance(x: Floats, mean: float) -> Floats:
    excess = (x - mean) / mean
    return mean * ((1 + excess) * np.log1p(excess) - excess)


def _stirling(n: Floats) -> Floats:
    inverse = 1 / np.maximum(n, 1.0)
    square = inverse * inverse
    series = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188))))
    small = n < _SMALL
    if not small.any():
        return series
    return np.where(small, _stirling_table()[np.minimum(n, _SMALL - 1).astype(np.intp)], series)


@lru_cache(maxsize=1)
def _stirling_table() -> Floats:
    exact = [
        math.log(math.factorial(n)) - (n * math.log(n) - n + 0.5 * math.log(2 * math.pi * n)) for n in range(1, _SMALL)
    ]
    return np.array([0.0, *exact])


@lru_cache(maxsize=4)
def _quadrature(count: int) -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return (nodes + 1) / 2, weights / 2


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf
