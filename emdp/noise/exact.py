"""Exact decisions on a uniform variable: the slow way that samplers take where float64 cannot decide.

A uniform variable ``U`` on [0, 1) is known by its first bits and gets more as they are needed. ``U < chance`` is
decided once the interval of ``U`` lies on one side of a rational interval around ``chance``; both shrink until it
does, which happens with probability 1. Several questions about one ``U`` get consistent answers.
"""

from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from functools import cache

from emdp.noise.rng import random_bytes

__all__ = ["Bounds", "LazyUniform", "exact_context", "exp_bounds", "log_factorial_bounds"]

Bounds = Callable[[int], tuple[Fraction, Fraction]]
"""From a number of bits to rationals around a chance, relatively closer than about ``2^-bits``."""


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
