"""The discrete Laplace law on the integers: ``P(k) = tanh(1/(2 scale)) exp(-|k|/scale)``.

Sampling is exact: opendp's sampler (:mod:`emdp.noise.integers`) has this law up to a cut at the ends of a
signed 64-bit integer, and :func:`_uncut` undoes the cut. A draw returned as ``I64_MAX`` says ``Z >=
I64_MAX``; given that, ``Z - I64_MAX`` is geometric, ``P(j)`` proportional to ``exp(-j/scale)`` for ``j >=
0``, whatever the bound (memorylessness), and a discrete Laplace draw given that it is at least 0 has that
same law.

With ``q = exp(-1/scale)``: ``P(Z > k) = q^(k+1)/(1 + q)`` for ``k >= -1``, ``E|Z| = 1/sinh(1/scale)`` and
``E Z^2 = 1/(2 sinh(1/(2 scale))^2)``, all geometric series.
"""

import math

import numpy as np

from emdp.base.checks import check_count, check_unit_interval
from emdp.noise.integers import I64_MAX, I64_MIN, check_noise_scale, draw_integers
from emdp.noise.rng import seeded_generator

__all__ = [
    "discrete_laplace_cdf",
    "discrete_laplace_log_pmf",
    "discrete_laplace_mean_absolute",
    "discrete_laplace_quantile",
    "discrete_laplace_standard_deviation",
    "draw_discrete_laplace",
]

_LOG_MARGIN = 2.0**-45
# Added to logarithms of tails before rounding up, times 1 + |log tail|: above the error of their evaluation.


def draw_discrete_laplace(scale: float, size: int) -> list[int]:
    """Draw independent integers, ``P(k)`` proportional to ``exp(-|k|/scale)``.

    Parameters
    ----------
    scale : float
        Scale in grid steps, in [2^-20, 2^56], taken as the exact rational that the float is.
    size : int
        How many, at least 0.

    Returns
    -------
    list of int
        Exact draws. Inside the test switch: the same law to float64 precision, reproducible, not private.

    Raises
    ------
    UsageError
        If an argument is out of its range.

    References
    ----------
    CKS20 (arXiv 2004.00010), algorithm 2, as implemented by opendp.

    >>> len(draw_discrete_laplace(2.0**40, 2)), draw_discrete_laplace(1.0, 0)
    (2, [])
    """
    scale = check_noise_scale(scale)
    size = check_count("size", size, minimum=0)
    if seeded_generator() is None:
        return [_uncut(draw, scale) for draw in draw_integers("laplace", scale, size)]
    return _draw_seeded(scale, size)


def discrete_laplace_log_pmf(k: int, scale: float) -> float:
    """Return ``log P(Z = k)``.

    >>> round(math.exp(discrete_laplace_log_pmf(0, 1.0)), 4)
    0.4621
    """
    scale = check_noise_scale(scale)
    return math.log(math.tanh(0.5 / scale)) - abs(k) / scale


def discrete_laplace_cdf(k: int, scale: float) -> float:
    """Return ``P(Z <= k)``.

    >>> discrete_laplace_cdf(-1, 1.0) + 0.5 * math.exp(discrete_laplace_log_pmf(0, 1.0))
    0.5
    """
    scale = check_noise_scale(scale)
    ratio = math.exp(-1.0 / scale)
    if k >= 0:
        return 1.0 - math.exp(-(k + 1) / scale) / (1.0 + ratio)
    return math.exp(k / scale) / (1.0 + ratio)


def discrete_laplace_quantile(tail: float, scale: float) -> int:
    """Return the least ``k >= 0`` with ``P(|Z| > k) <= tail``, rounded outward.

    Parameters
    ----------
    tail : float
        Mass left outside ``[-k, k]``, in (0, 1]: 0.05 for 95 %.
    scale : float
        Scale in grid steps.

    >>> discrete_laplace_quantile(0.05, 1.0), discrete_laplace_quantile(1.0, 1.0)
    (3, 0)
    """
    scale = check_noise_scale(scale)
    tail = check_unit_interval("tail", tail, one=True)
    # P(|Z| > k) = 2 q^(k+1)/(1+q) <= tail  <=>  k + 1 >= scale (log 2 - log(1+q) - log tail).
    log_tail = math.log(tail)
    needed = math.log(2.0) - math.log1p(math.exp(-1.0 / scale)) - log_tail
    return max(0, math.ceil(scale * (needed + _LOG_MARGIN * (1.0 - log_tail))) - 1)


def discrete_laplace_mean_absolute(scale: float) -> float:
    """Return ``E|Z|`` in grid steps.

    >>> round(discrete_laplace_mean_absolute(2.0**40) / 2.0**40, 12)
    1.0
    """
    inverse = min(1.0 / check_noise_scale(scale), 700.0)
    return 1.0 / math.sinh(inverse)


def discrete_laplace_standard_deviation(scale: float) -> float:
    """Return the standard deviation of ``Z`` in grid steps.

    >>> round(discrete_laplace_standard_deviation(100.0), 3)
    141.421
    """
    inverse = min(1.0 / check_noise_scale(scale), 700.0)
    return 1.0 / (math.sqrt(2.0) * math.sinh(0.5 * inverse))


def _draw_seeded(scale: float, size: int) -> list[int]:
    generator = seeded_generator()
    if generator is None:
        return []
    # floor(-scale log U) is geometric, P(G >= j) = P(U <= q^j); the difference of two of them is discrete
    # Laplace.
    uniform = 1.0 - generator.random((2, size))
    geometric = np.floor(-scale * np.log(uniform))
    return [int(draw) for draw in (geometric[0] - geometric[1]).tolist()]


def _uncut(draw: int, scale: float) -> int:
    if draw == I64_MAX:
        return draw + _draw_geometric(scale)
    if draw == I64_MIN:
        return draw - _draw_geometric(scale)
    return draw


def _draw_geometric(scale: float) -> int:
    total = 0
    while True:
        draw = draw_integers("laplace", scale, 1)[0]
        if draw >= 0:
            total += draw
        if 0 <= draw < I64_MAX:
            return total
