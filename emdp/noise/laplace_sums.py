"""Law of a weighted sum of independent Laplace variables: the tail of its absolute value, by its Fourier transform.

Let ``S = sum_j w_j L_j``, ``L_j`` independent with density ``exp(-|x|)/2``, ``s^2 = 2 sum_j w_j^2`` its variance and
``phi(t) = prod_j 1/(1 + w_j^2 t^2)`` its transform, which is positive and falls in ``t > 0``.

Theorem (Davies 1973, *Biometrika* 60, 415-417; here for a symmetric law). For a step ``h`` and ``t_k = (k + 1/2) h``,
``sum_{k >= 0} phi(t_k) sin(t_k x)/(pi (k + 1/2))`` is ``P(S < x) - 1/2`` up to ``P(|S| > 2 pi/h - x)``, for
``0 <= x < 2 pi/h``. *Proof.* The midpoint rule is the integral of a function made periodic (Poisson summation), with
alternating signs: what is added is ``sum_{n >= 1} (-1)^n (P(S < x - n p) - P(S > x + n p))``, ``p = 2 pi/h``. Terms of
either kind fall in ``n`` and alternate, so each sum is at most its first term. QED

- What the tail of ``S`` costs: at ``theta = 1/s`` every ``theta^2 w_j^2 <= 1/2`` and they add up to 1/2, so
  ``E exp(theta S) <= exp(sum u_j/(1 - u_j)) <= e`` and ``P(|S| > y) <= 2 e exp(-y/s)``. With the period ``90 s`` and
  ``x <= 30 s`` that is below ``1e-25``.
- What the rest of the sum costs: with ``w`` the largest weight and ``t >= T``, ``phi(t) <= phi(T) (1 + 1/(w T)^2)
  (T/t)^2``, since every factor falls; so the terms from ``k`` with ``t_k = T`` on add up to at most ``phi(T) (1 + 1/(w
  T)^2)`` (the sum of ``k'^-3`` is below ``k^-2``). Terms are taken until that is below a millionth of the tail asked
  for, at most ``2^17`` of them.
- Doubles: terms are at most ``1/(pi (k + 1/2))``, so that the sum is off by less than ``1e-12``.

All three are added to the tail, so that a quantile is rounded outward; where they are no small part of the tail asked
for, the bound ``prod_j 1/(1 - theta^2 w_j^2) exp(-theta y)``, the best over ``theta``, takes their place (Chernoff).
"""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from emdp.base.arrays import Floats
from emdp.base.checks import check_unit_interval
from emdp.base.errors import UsageError

__all__ = ["laplace_sum_mean_absolute", "laplace_sum_quantile"]

PERIOD, REACH = 90.0, 30.0
"""Period of the sum, and the largest ``x`` that it is used for, in standard deviations."""

MOST_TERMS, BLOCK = 2**17, 2**20
"""Most terms of the sum; numbers of a block of transforms."""

DOUBLES = 1e-12
"""Above the rounding errors of a sum of at most ``MOST_TERMS`` terms."""

SMALL = 0.05
"""Largest part of a tail that errors of its computation may be."""

OUTWARD = 1.0 + 1e-12


def laplace_sum_quantile(weights: Sequence[float], counts: Sequence[int], tail: float) -> float:
    """Return ``x`` with ``P(|S| > x) <= tail``, rounded outward.

    Parameters
    ----------
    weights : sequence of float
        Scales of the variables, at least 0.
    counts : sequence of int
        How many variables have each.
    tail : float
        In (0, 1].

    Returns
    -------
    float
        0 for a sum of nothing.

    >>> round(laplace_sum_quantile([2.0], [1], 0.05), 6), round(-2.0 * math.log(0.05), 6)
    (5.991465, 5.991465)
    >>> x = laplace_sum_quantile([1.0], [2], 0.05)
    >>> round((1 + x / 2) * math.exp(-x), 8)
    0.05
    """
    tail = check_unit_interval("tail", tail, one=True)
    sizes, numbers = _checked(weights, counts)
    largest = float(sizes.max(initial=0.0))
    if largest == 0.0:
        return 0.0
    if numbers.sum() == 1:
        return -largest * math.log(tail) * OUTWARD
    # In units of the largest weight, so that equal shapes are computed once.
    shape = tuple((float(size), int(number)) for size, number in zip(sizes / largest, numbers, strict=True))
    return _unit_quantile(shape, tail) * largest * OUTWARD


def laplace_sum_mean_absolute(weights: Sequence[float], counts: Sequence[int]) -> float:
    """Return ``E|S|``, to six digits.

    >>> round(laplace_sum_mean_absolute([1.0], [1]), 5), round(laplace_sum_mean_absolute([1.0], [2]), 5)
    (1.0, 1.5)
    """
    sizes, numbers = _checked(weights, counts)
    largest = float(sizes.max(initial=0.0))
    if largest == 0.0:
        return 0.0
    shape = tuple((float(size), int(number)) for size, number in zip(sizes / largest, numbers, strict=True))
    return _unit_mean(shape) * largest


def _checked(weights: Sequence[float], counts: Sequence[int]) -> tuple[Floats, npt.NDArray[np.int64]]:
    sizes, numbers = np.asarray(weights, dtype=np.float64), np.asarray(counts, dtype=np.int64)
    if sizes.shape != numbers.shape or not np.isfinite(sizes).all() or (sizes < 0).any() or (numbers < 0).any():
        raise UsageError("weights must be finite numbers of at least 0, with a count each; pass those.")
    kept = (sizes > 0) & (numbers > 0)
    return sizes[kept], numbers[kept]


@lru_cache(maxsize=256)
def _unit_quantile(shape: tuple[tuple[float, int], ...], tail: float) -> float:
    sizes, numbers = _arrays(shape)
    deviation = math.sqrt(2.0 * float(numbers @ sizes**2))
    bound = _chernoff(sizes, numbers, tail)
    places, terms, rest = _terms(sizes, numbers, deviation, tail)
    error = 2.0 * rest + DOUBLES
    if error > SMALL * tail or bound > REACH * deviation:
        return bound

    def tail_of(x: float) -> float:
        return 1.0 - 2.0 * float(terms @ np.sin(places * x)) + error

    low, high = 0.0, bound
    if tail_of(high) > tail:
        return bound
    while high - low > 1e-9 * deviation:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if tail_of(middle) <= tail else (middle, high)
    return min(high * (1.0 + 1e-12), bound)


def _terms(sizes: Floats, numbers: Floats, deviation: float, tail: float) -> tuple[Floats, Floats, float]:
    """Return the places and the terms of the sum before their sines, and a bound of what is left out."""
    step = 2.0 * math.pi / (PERIOD * deviation)
    block = max(min(BLOCK // len(sizes), 8192), 8)
    places: list[Floats] = []
    terms: list[Floats] = []
    first, rest = 0, math.inf
    while first < MOST_TERMS and rest > 1e-6 * tail:
        numbered = np.arange(first, min(first + block, MOST_TERMS), dtype=np.float64) + 0.5
        own: Floats = numbered * step
        transform = _transform(sizes, numbers, own)
        places.append(own)
        terms.append(transform / (math.pi * numbered))
        first += len(numbered)
        largest = float(sizes.max()) * float(own[-1])
        rest = float(transform[-1]) * (1.0 + 1.0 / largest**2)
    return np.concatenate(places), np.concatenate(terms), rest


def _transform(sizes: Floats, numbers: Floats, places: Floats) -> Floats:
    return np.asarray(np.exp(-numbers @ np.log1p(np.square(np.multiply.outer(sizes, places)))), dtype=np.float64)


def _chernoff(sizes: Floats, numbers: Floats, tail: float) -> float:
    """Return ``x`` with ``P(|S| > x) <= tail`` by the best exponential moment."""
    log = math.log(2.0 / tail)
    thetas = (1.0 - np.geomspace(1e-6, 1.0, 400, endpoint=False)) / float(sizes.max())
    moments = -(numbers @ np.log1p(-np.square(np.multiply.outer(sizes, thetas))))
    return float(((moments + log) / thetas).min()) * OUTWARD


@lru_cache(maxsize=256)
def _unit_mean(shape: tuple[tuple[float, int], ...]) -> float:
    # E|S| = (2/pi) int (1 - phi(t))/t^2 dt, with t = tan(u): the integrand is smooth and bounded.
    sizes, numbers = _arrays(shape)
    deviation = math.sqrt(2.0 * float(numbers @ sizes**2))
    nodes = (np.arange(4096) + 0.5) * (0.5 * math.pi / 4096)
    places = np.tan(nodes) / deviation
    values = (1.0 - _transform(sizes, numbers, places)) / np.square(np.sin(nodes))
    return float(values.mean()) * deviation


def _arrays(shape: tuple[tuple[float, int], ...]) -> tuple[Floats, Floats]:
    sizes, numbers = zip(*shape, strict=True)
    return np.array(sizes, dtype=np.float64), np.array(numbers, dtype=np.float64)
