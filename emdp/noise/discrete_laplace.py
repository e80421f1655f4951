"""The discrete Laplace law on the integers: ``P(k) = tanh(1/(2 t)) exp(-|k|/t)`` at scale ``t``, and its sampler.

The sampler is exact for every scale, which is the rational ``t`` that its float is; 0.1 microseconds a draw in bulk, 30
for a single one. Let ``s = 2^e`` be the largest power of two with ``16 s <= t``, or 1 if there is none. A geometric
variable ``G``, ``P(G >= j) = exp(-j/t)``, is ``s V + R`` with ``V`` and ``R`` independent, ``P(V >= v) = exp(-v s/t)``
and ``P(R = r)`` proportional to ``exp(-r/t)`` on ``0, ..., s - 1`` (split the product ``exp(-(s v + r)/t)``; Canonne,
Kamath and Steinke 2020, CKS20, arXiv 2004.00010, algorithm 2, with another ``s``).

- ``R``: uniform on ``e`` bits, kept if ``U < exp(-R/t)``; as ``R/t < 1/16``, more than 0.93 are.
- ``V = floor(-(t/s) log U)``, by inversion: ``V >= v`` exactly if ``U <= exp(-v s/t)``.
- ``Z = G`` or ``-G`` by a fair sign, the pair of a negative sign and ``G = 0`` refused, so that 0 is not met twice
  (CKS20); then ``P(Z = k)`` is proportional to ``exp(-|k|/t)``.

What is refused is drawn anew as a whole. CKS20 decides ``U < exp(-x)`` by its algorithm 1, a series of rational coins;
here the bits of ``U`` are compared with the number itself, which has the same chance, and the decisions are as exact.
64 bits leave ``U`` in ``[b, b+1)/2^64``:

1. *R.* The rule of :func:`emdp.noise.exact.are_below_exp`; ``R < 2^53`` enters float64 exactly, and ``R/t < 1/16``.
2. *V.* Where ``b >= 2^32``, ``-log U`` is below 22.2 and known to ``2^-32`` from ``b`` and to ``2^-35`` from float64;
   times ``t/s < 32`` that is an error below ``2^-26``. ``V`` is settled where the product is further than ``2^-25``
   from an integer above 0. This supposes ``numpy.log`` accurate to a relative ``2^-40``, thousands of times its
   documented error.
3. The rest goes to rational bounds of the exponential, with more bits of the same ``U`` until decided
   (:mod:`emdp.noise.exact`).

No draw is cut: one that 64 bits do not hold (a chance below ``exp(-127)`` at the largest scale) is a Python integer.

With ``q = exp(-1/t)``: ``P(Z > k) = q^(k+1)/(1 + q)`` for ``k >= -1``, ``E|Z| = 1/sinh(1/t)`` and
``E Z^2 = 1/(2 sinh(1/(2 t))^2)``, all geometric series.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from emdp.base.checks import check_count, check_positive, check_range, check_unit_interval
from emdp.base.errors import InternalError, UsageError
from emdp.noise.exact import Accepted, Bounds, LazyUniform, are_below_exp, draw_accepted, exp_bounds
from emdp.noise.rng import random_bytes, random_words

__all__ = [
    "MAX_BULK_SCALE",
    "MAX_SCALE",
    "MIN_BULK_SCALE",
    "MIN_SCALE",
    "Integers",
    "check_noise_scale",
    "discrete_laplace_cdf",
    "discrete_laplace_log_pmf",
    "discrete_laplace_mean_absolute",
    "discrete_laplace_quantile",
    "discrete_laplace_standard_deviation",
    "draw_discrete_laplace",
    "draw_discrete_laplace_bulk",
    "floor_log",
    "laplace_integers",
]

MIN_SCALE, MAX_SCALE = 2.0**-20, 2.0**56
# Scales that the samplers accept, in grid steps.

MIN_BULK_SCALE, MAX_BULK_SCALE = 2.0**-10, 2.0**46
# Scales of draws that are to fit in 64 bits. At 2^46 a draw reaches 2^62 with chance exp(-65536).

_QUOTIENT_MARGIN, _LEAST_BITS = 2.0**-25, 2.0**32
# The gap that float64 needs, and the least b that it inverts: see the module's text.

_FINENESS = 16
# How many times s fits in the scale: a larger number refuses less and asks more precision of V.

_LOG_MARGIN = 2.0**-45
# Added to logarithms of tails before rounding up, times 1 + |log tail|: above the error of their evaluation.

Integers = npt.NDArray[Any]
"""An array of int64, or of Python integers where one of them does not fit."""


def check_noise_scale(scale: object) -> float:
    """Return ``scale``, in grid steps, as a float, or raise ``UsageError`` if no sampler here accepts it.

    >>> check_noise_scale(2**40)
    1099511627776.0
    """
    number = check_positive("scale", scale)
    if not MIN_SCALE <= number <= MAX_SCALE:
        raise UsageError(f"scale must be between 2^-20 and 2^56 grid steps, got {number}; choose another grid.")
    return number


def draw_discrete_laplace(scale: float, size: int) -> list[int]:
    """Draw independent integers, ``P(k)`` proportional to ``exp(-|k|/scale)``, exactly.

    Parameters
    ----------
    scale : float
        Scale in grid steps, in [2^-20, 2^56], taken as the exact rational that the float is.
    size : int
        How many, at least 0.

    Raises
    ------
    UsageError
        If an argument is out of its range.

    References
    ----------
    CKS20, algorithm 2; the module's text proves exactness.

    >>> len(draw_discrete_laplace(2.0**40, 2)), draw_discrete_laplace(1.0, 0)
    (2, [])
    """
    scale = check_noise_scale(scale)
    drawn: list[int] = laplace_integers(scale, check_count("size", size, minimum=0)).tolist()
    return drawn


def draw_discrete_laplace_bulk(scale: float, size: int) -> npt.NDArray[np.int64]:
    """Draw as :func:`draw_discrete_laplace`, into an array of 64-bit integers.

    Parameters
    ----------
    scale : float
        Scale in grid steps, in [2^-10, 2^46], taken as the exact rational that the float is.
    size : int
        How many, at least 0.

    Returns
    -------
    ndarray of int64, shape (size,)
        The draws. One beyond int64, which has a chance below ``exp(-2^17)``, is an error.

    Raises
    ------
    UsageError
        If an argument is out of its range.
    InternalError
        If a draw does not fit.

    >>> draw_discrete_laplace_bulk(2.0**40, 2).shape, draw_discrete_laplace_bulk(1.0, 0).size
    ((2,), 0)
    """
    scale = check_range("scale", scale, MIN_BULK_SCALE, MAX_BULK_SCALE)
    drawn = laplace_integers(scale, check_count("size", size, minimum=0))
    if drawn.dtype == object:
        raise InternalError("a discrete Laplace draw does not fit in 64 bits; draw again.")
    return drawn


def laplace_integers(scale: float, size: int) -> Integers:
    """Return the draws of :func:`draw_discrete_laplace` as an array, for a scale and a size that are checked.

    >>> laplace_integers(2.0**40, 3).dtype
    dtype('int64')
    """
    return draw_accepted(lambda count: _propose(scale, count), size)


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


def floor_log(ratio: Fraction) -> int:
    """Return ``floor(-ratio log U)`` of a uniform variable: ``P(G >= j) = exp(-j/ratio)``, exactly.

    Parameters
    ----------
    ratio : Fraction
        Above 0.

    >>> floor_log(Fraction(1, 10**6))
    0
    """
    return _invert(LazyUniform(int.from_bytes(random_bytes(8)), 64), ratio)


def _exponent(scale: float) -> int:
    # e of the module's text.
    return max(0, math.frexp(scale)[1] - 1 - (_FINENESS.bit_length() - 1))


def _propose(scale: float, size: int) -> tuple[Integers, Accepted]:
    exponent = _exponent(scale)
    bits = random_words(size)
    sign = (bits & np.uint64(1)).view(np.int64)
    remainder = ((bits >> np.uint64(1)) & np.uint64(2**exponent - 1)).view(np.int64)
    accepted = _accept_remainders(remainder, random_words(size), scale)
    magnitude = _compose(_draw_quotients(scale, exponent, random_words(size)), exponent, remainder)
    accepted &= (sign == 0) | (magnitude > 0)
    return np.where(sign == 1, -magnitude, magnitude), accepted


def _accept_remainders(remainder: Integers, uniform: npt.NDArray[np.uint64], scale: float) -> Accepted:
    def bounds_of(index: int) -> Bounds:
        ratio = int(remainder[index]) / Fraction(scale)
        return lambda count: exp_bounds(ratio, count)

    return are_below_exp(uniform, remainder / scale, bounds_of)


def _draw_quotients(scale: float, exponent: int, uniform: npt.NDArray[np.uint64]) -> Integers:
    real = uniform.astype(np.float64)
    exact = -(scale / 2.0**exponent) * np.log(np.maximum(real, 1.0) * 2.0**-64)
    quotient = np.floor(exact)
    gap = exact - quotient
    # Below 0 there is no quotient that a product near 0 could have.
    apart = ((gap > _QUOTIENT_MARGIN) | (quotient == 0)) & (gap < 1.0 - _QUOTIENT_MARGIN)
    drawn = quotient.astype(np.int64)
    for index in np.flatnonzero(~(apart & (real >= _LEAST_BITS))).tolist():
        drawn[index] = _invert(LazyUniform(int(uniform[index]), 64), Fraction(scale) / 2**exponent)
    return drawn


def _compose(quotient: Integers, exponent: int, remainder: Integers) -> Integers:
    # s V + R: below 2^63 exactly if V is below 2^(63 - e).
    if int(quotient.max(initial=0)) >> (63 - exponent):
        quotient = quotient.astype(object)
    return np.asarray((quotient << exponent) + remainder)


def _invert(uniform: LazyUniform, ratio: Fraction) -> int:
    # floor(-ratio log U): a float64 guess, put right by exact comparisons.
    while uniform.bits == 0:
        uniform.extend()
    log = math.log(uniform.bits) - uniform.count * math.log(2.0)
    guess = max(0, math.floor(-float(ratio) * log))
    while uniform.is_below_exp((guess + 1) / ratio):
        guess += 1
    while guess > 0 and not uniform.is_below_exp(guess / ratio):
        guess -= 1
    return guess
