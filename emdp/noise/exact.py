"""Exact decisions on a uniform variable: the slow way that samplers take where float64 cannot decide.

A uniform variable ``U`` on [0, 1) is known by its first bits and gets more as they are needed. ``U < chance`` is
decided once the interval of ``U`` lies on one side of a rational interval around ``chance``; both shrink until it
does, which happens with probability 1. Several questions about one ``U`` get consistent answers.
"""

from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from emdp.noise.rng import random_bytes

__all__ = [
    "Accepted",
    "Bounds",
    "LazyUniform",
    "are_below_exp",
    "draw_accepted",
    "exact_context",
    "exp_bounds",
    "log_factorial_bounds",
]

_BLOCK = 2**13
# Draws made at once, so that the arrays of a step stay in the second-level cache.

_FLOAT_MARGIN = 2.0**-30
# Relative gap between a uniform variable and a chance at which float64 settles a comparison.

Bounds = Callable[[int], tuple[Fraction, Fraction]]
"""Function of a number of bits; returns rationals around a chance, relatively closer than about ``2^-bits``."""


Accepted = npt.NDArray[np.bool_]
"""Proposals that are kept, one truth value each."""


class LazyUniform:
    """A uniform variable on [0, 1), of which the first ``count`` bits are drawn: it is in ``[bits, bits+1) 2^-count``.

    >>> LazyUniform(2**63, 64).is_below(lambda count: (Fraction(3, 4), Fraction(3, 4)))
    True
    """

    def __init__(self, bits: int, count: int) -> None:
        self.bits = bits
        self.count = count

    def extend(self) -> None:
        """Draw 64 bits more."""
        self.bits = self.bits * 2**64 + int.from_bytes(random_bytes(8))
        self.count += 64

    def is_below(self, bounds: Bounds) -> bool:
        """Say whether the variable is below the chance that ``bounds`` encloses, with more bits until decided."""
        while True:
            low, high = bounds(self.count)
            if Fraction(self.bits + 1, 2**self.count) <= low:
                return True
            if Fraction(self.bits, 2**self.count) >= high:
                return False
            self.extend()

    def is_below_exp(self, x: Fraction) -> bool:
        """Say whether the variable is below ``exp(-x)``."""
        return self.is_below(lambda count: exp_bounds(x, count))


def are_below_exp(
    words: npt.NDArray[np.uint64], exponents: npt.NDArray[np.float64], bounds_of: Callable[[int], Bounds]
) -> npt.NDArray[np.bool_]:
    """Say of each uniform variable ``U`` whether it is below its chance ``exp(-x)``, exactly.

    ``U`` is in ``[b, b + 1] 2^-64`` for its word ``b``. Where that interval and ``2^64 exp(-x)`` are further apart than
    a factor ``1 + 2^-30``, float64 settles the comparison; the rest, about one in 10^9, goes to rational bounds of the
    chance with more bits of the same ``U``. This needs ``x`` to an absolute ``2^-35`` wherever it is below 700, larger
    than 700 wherever it is larger, and ``numpy.exp`` to a relative ``2^-35``, tens of thousands of times its documented
    error; what underflows is below every word but 0, and 0 is left to the bounds.

    Parameters
    ----------
    words : ndarray of uint64, shape (n,)
        The first 64 bits of each variable.
    exponents : ndarray of float, shape (n,)
        ``x``, at least 0 up to rounding; NaN where float64 is to settle nothing.
    bounds_of : callable
        From a variable's position to the bounds of its chance.

    >>> are_below_exp(np.array([0, 2**63], np.uint64), np.array([1.0, 0.0]), lambda i: lambda n: (Fraction(1),) * 2)
    array([ True,  True])
    """
    chances = np.exp(-exponents) * 2.0**64
    real = words.astype(np.float64)
    below = np.asarray((real + 1.0) * (1.0 + _FLOAT_MARGIN) < chances)
    for index in np.flatnonzero(~(below | (real > chances * (1.0 + _FLOAT_MARGIN)))).tolist():
        below[index] = LazyUniform(int(words[index]), 64).is_below(bounds_of(index))
    return below


def draw_accepted(propose: Callable[[int], tuple[npt.NDArray[Any], Accepted]], size: int) -> npt.NDArray[Any]:
    """Return independent draws by rejection; what is refused is drawn anew.

    Parameters
    ----------
    propose : callable
        From a number to so many proposals and which of them are kept. The array of proposals is of int64, or of Python
        integers where one does not fit.
    size : int
        How many, at least 0.

    >>> draw_accepted(lambda count: (np.arange(count), np.full(count, True)), 3)
    array([0, 1, 2])
    """
    drawn: npt.NDArray[Any] = np.empty(size, dtype=np.int64)
    pending = np.arange(size)
    while pending.size:
        refused = []
        for start in range(0, pending.size, _BLOCK):
            index = pending[start : start + _BLOCK]
            proposals, accepted = propose(index.size)
            drawn = drawn.astype(np.result_type(drawn, proposals), copy=False)
            drawn[index] = proposals
            refused.append(index[~accepted])
        pending = np.concatenate(refused)
    return drawn


def exact_context(digits: int) -> Context:
    """Return a decimal context of so many digits; ``+ - * /``, ``ln`` and ``exp`` in it are correctly rounded."""
    return Context(prec=digits, Emin=MIN_EMIN, Emax=MAX_EMAX)


def exp_bounds(x: Fraction, count: int) -> tuple[Fraction, Fraction]:
    """Return rationals around ``exp(-x)`` for a rational ``x >= 0``, relatively closer than ``2^-count``.

    With ``eta = 10^(1 - digits)`` the quotient is known to ``eta x`` (numerator and denominator enter exactly), its
    exponential to a relative ``2 eta (x + 1)``, which ``digits`` keeps small.

    >>> low, high = exp_bounds(Fraction(1), 64)
    >>> low < high, float(low), float(high)
    (True, 0.36787944117144233, 0.36787944117144233)
    """
    if x == 0:
        return Fraction(1), Fraction(1)
    digits = count // 3 + len(str(int(x))) + 30
    context = exact_context(digits)
    quotient = context.divide(Decimal(x.numerator), Decimal(x.denominator))
    value = Fraction(context.exp(context.minus(quotient)))
    error = 2 * (x + 1) / Fraction(10) ** (digits - 1)
    return value * (1 - error), value * (1 + error)


def log_factorial_bounds(n: int, digits: int) -> tuple[Decimal, Fraction]:
    """Return ``log n! - log(2 pi)/2`` and a bound of its error, from ``digits`` digits of decimal arithmetic.

    Stirling's series for ``z >= 1``: ``log z! - log(2 pi)/2 = (z + 1/2) log z - z + sum_k B_2k/(2k (2k-1) z^(2k-1))``,
    and the error of any partial sum is at most the first term left out (DLMF 5.11(ii), for positive real ``z``). A
    small ``n`` is raised to ``z = n + m >= digits`` by ``log n! = log z! - log((n+1)...z)``, the product exact; then
    the terms fall below ``10^-digits`` before they grow. Every operation is correctly rounded; there are fewer than
    ``10 digits`` of them, each on numbers below ``A = 2 (z+1) (log z + 2)``, so they add at most ``10 digits A eta``
    with ``eta = 10^(1 - digits)``. The sum of terms left out is bounded by twice the first.

    >>> value, error = log_factorial_bounds(5, 40)
    >>> round(float(value), 12), error < Fraction(1, 10**33)
    (3.868553209577, True)
    """
    context = exact_context(digits)
    z = max(n, digits)
    product = 1
    for factor in range(n + 1, z + 1):
        product *= factor
    point = Decimal(z)
    log_z = context.ln(point)
    total = context.subtract(context.multiply(Decimal(10 * z + 5).scaleb(-1, context), log_z), point)
    total = context.subtract(total, context.ln(Decimal(product)))
    power, term, k = point, Decimal(1), 1
    while True:
        ratio = _bernoulli(2 * k) / (2 * k * (2 * k - 1))
        term = context.divide(Decimal(ratio.numerator), context.multiply(Decimal(ratio.denominator), power))
        if term.copy_abs() < Decimal(10) ** -digits or k > digits:
            break
        total = context.add(total, term)
        power = context.multiply(power, Decimal(z * z))
        k += 1
    size = 2 * (z + 1) * (int(log_z) + 3)
    return total, 2 * abs(Fraction(term)) + 10 * digits * size * Fraction(1, 10 ** (digits - 1))


@cache
def _bernoulli(index: int) -> Fraction:
    # B_n = -1/(n+1) sum_{k<n} C(n+1, k) B_k.
    if index == 0:
        return Fraction(1)
    if index == 1:
        return Fraction(-1, 2)
    if index % 2:
        return Fraction(0)
    total, binomial = Fraction(0), 1
    for k in range(index):
        total += binomial * _bernoulli(k)
        binomial = binomial * (index + 1 - k) // (k + 1)
    return -total / (index + 1)
