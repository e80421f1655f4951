"""The discrete Laplace law, ``P(k)`` proportional to ``exp(-|k|/scale)``, in bulk: exact, some 60 ns a draw.

The scale ``t`` is the rational that its float is. Let ``s = 2^e`` be the largest power of two with ``16 s <= t``, or 1
if there is none. A geometric variable ``G``, ``P(G >= j) = exp(-j/t)``, is ``s V + R`` with ``V`` and ``R``
independent, ``P(V >= v) = exp(-v s/t)`` and ``P(R = r)`` proportional to ``exp(-r/t)`` on ``0, ..., s - 1`` (split the
product ``exp(-(s v + r)/t)``; CKS20, algorithm 2, with another ``s``).

- ``R``: uniform on ``e`` bits, kept if ``U < exp(-R/t)``; as ``R/t < 1/16``, more than 0.93 are.
- ``V = floor(-(t/s) log U)``, by inversion: ``V >= v`` exactly if ``U <= exp(-v s/t)``.
- ``Z = G`` or ``-G`` by a fair sign, the pair of a negative sign and ``G = 0`` refused, so that 0 is not met twice
  (CKS20); then ``P(Z = k)`` is proportional to ``exp(-|k|/t)``.

What is refused is drawn anew as a whole. The decisions are exact. 64 bits leave ``U`` in ``[b, b+1)/2^64``:

1. *R.* ``exp(-R/t)`` is at least ``exp(-1/16)``, and float64 has it to a relative ``2^-39``; where the
   interval of ``U`` is further away than a factor ``1 + 2^-30`` the comparison is settled.
2. *V.* Where ``b >= 2^32``, ``-log U`` is below 22.2 and known to ``2^-32`` from ``b`` and to ``2^-35`` from float64;
   times ``t/s < 32`` that is an error below ``2^-26``. ``V`` is settled where the product is further than ``2^-25``
   from an integer.
3. The rest goes to rational bounds of the exponential, with more bits of the same ``U`` until decided
   (:mod:`emdp.noise.exact`).

This supposes ``numpy.exp`` and ``numpy.log`` accurate to a relative ``2^-40``, thousands of times their documented
error.
"""

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from emdp.base.checks import check_count, check_range
from emdp.base.errors import InternalError
from emdp.noise.exact import LazyUniform, exp_bounds
from emdp.noise.rng import random_words

__all__ = ["MAX_BULK_SCALE", "MIN_BULK_SCALE", "draw_discrete_laplace_bulk"]

MIN_BULK_SCALE, MAX_BULK_SCALE = 2.0**-10, 2.0**46
# Scales in grid steps. At 2^46 a draw reaches 2^62 with chance exp(-65536).

_BLOCK = 2**13
# Draws made at once, so that the arrays of a step stay in the second-level cache.

_REMAINDER_MARGIN, _QUOTIENT_MARGIN, _LEAST_BITS = 2.0**-30, 2.0**-25, 2.0**32
# Gaps that float64 needs, and the least b that it inverts: see the module's text.

_FINENESS = 16
# How many times s fits in the scale: a larger number refuses less and asks more precision of V.

Integers = npt.NDArray[np.int64]


def draw_discrete_laplace_bulk(scale: float, size: int) -> Integers:
    """Draw independent integers, ``P(k)`` proportional to ``exp(-|k|/scale)``, exactly and fast.

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

    References
    ----------
    CKS20 (Canonne, Kamath and Steinke, arXiv 2004.00010), algorithm 2; the module's text proves exactness.

    >>> draw_discrete_laplace_bulk(2.0**40, 2).shape, draw_discrete_laplace_bulk(1.0, 0).size
    ((2,), 0)
    """
    scale = check_range("scale", scale, MIN_BULK_SCALE, MAX_BULK_SCALE)
    size = check_count("size", size, minimum=0)
    drawn = np.empty(size, dtype=np.int64)
    pending = np.arange(size)
    while pending.size:
        refused = []
        for start in range(0, pending.size, _BLOCK):
            index = pending[start : start + _BLOCK]
            drawn[index], accepted = _propose(scale, index.size)
            refused.append(index[~accepted])
        pending = np.concatenate(refused)
    return drawn


def _exponent(scale: float) -> int:
    # e of the module's text.
    return max(0, math.frexp(scale)[1] - 1 - (_FINENESS.bit_length() - 1))


def _propose(scale: float, size: int) -> tuple[Integers, npt.NDArray[np.bool_]]:
    exponent = _exponent(scale)
    bits = random_words(size)
    sign = (bits & np.uint64(1)).view(np.int64)
    remainder = ((bits >> np.uint64(1)) & np.uint64(2**exponent - 1)).view(np.int64)
    accepted = _accept_remainders(remainder, random_words(size), scale)
    magnitude = (_draw_quotients(scale, exponent, random_words(size)) << exponent) + remainder
    accepted &= (sign == 0) | (magnitude > 0)
    return np.where(sign == 1, -magnitude, magnitude), accepted


def _accept_remainders(remainder: Integers, uniform: npt.NDArray[np.uint64], scale: float) -> npt.NDArray[np.bool_]:
    chance = np.exp(remainder / -scale) * 2.0**64
    real = uniform.astype(np.float64)
    # A remainder of 0 has chance 1.
    accepted = ((real + 1.0) * (1.0 + _REMAINDER_MARGIN) < chance) | (remainder == 0)
    for index in np.flatnonzero(~(accepted | (real > chance * (1.0 + _REMAINDER_MARGIN)))).tolist():
        ratio = int(remainder[index]) / Fraction(scale)
        accepted[index] = _is_below_exp(LazyUniform(int(uniform[index]), 64), ratio)
    return np.asarray(accepted)


def _draw_quotients(scale: float, exponent: int, uniform: npt.NDArray[np.uint64]) -> Integers:
    real = uniform.astype(np.float64)
    exact = -(scale / 2.0**exponent) * np.log(np.maximum(real, 1.0) * 2.0**-64)
    quotient = np.floor(exact)
    gap = exact - quotient
    settled = (gap > _QUOTIENT_MARGIN) & (gap < 1.0 - _QUOTIENT_MARGIN) & (real >= _LEAST_BITS)
    drawn = quotient.astype(np.int64)
    for index in np.flatnonzero(~settled).tolist():
        value = _invert(LazyUniform(int(uniform[index]), 64), Fraction(scale) / 2**exponent)
        if (value + 1) << exponent >= 2**63:
            raise InternalError("a discrete Laplace draw does not fit in 64 bits; draw again.")
        drawn[index] = value
    return drawn


def _invert(uniform: LazyUniform, ratio: Fraction) -> int:
    # floor(-ratio log U): a float64 guess, put right by exact comparisons.
    while uniform.bits == 0:
        uniform.extend()
    log = math.log(uniform.bits) - uniform.count * math.log(2.0)
    guess = max(0, math.floor(-float(ratio) * log))
    while _is_below_exp(uniform, (guess + 1) / ratio):
        guess += 1
    while guess > 0 and not _is_below_exp(uniform, guess / ratio):
        guess -= 1
    return guess


def _is_below_exp(uniform: LazyUniform, x: Fraction) -> bool:
    return uniform.is_below(lambda count: exp_bounds(x, count))
