"""Arithmetic that rounds outward: what a guarantee rests on is exact or on the safe side (style.md, rule 15).

``add_up(a, b)`` is the smallest double that is at least the real ``a + b``, ``add_down`` the largest that is
at most, and so on. Sums that a double holds exactly stay exact, so that a range such as [0, 1] stays [0, 1].
What overflows becomes an infinity on the safe side; the type checker refuses it.
"""

import math
from collections.abc import Callable, Iterable

from emdp.spaces import rounding

__all__ = [
    "LIBM_ULPS",
    "TINY",
    "UNIT",
    "add_down",
    "add_up",
    "call_down",
    "call_up",
    "div_down",
    "div_up",
    "mul_down",
    "mul_up",
    "norm_up",
    "rounding_of",
    "sqrt_down",
    "sqrt_up",
    "sum_up",
]

UNIT = 2.0**-53
"""Largest relative error of one correctly rounded double operation: IEEE 754, round to nearest."""

TINY = 2.0**-1074
"""Smallest positive double: bounds the absolute error of an operation that underflows."""

LIBM_ULPS = 4
"""Assumed error of exp, log, sin, cos, tanh, atan and pow, in units in the last place.

glibc documents at most 2 for these on x86-64 and aarch64, numpy's vectorised loops at most 4.
"""


def add_up(a: float, b: float) -> float:
    """Return ``a + b`` rounded up.

    >>> add_up(0.5, 0.25), add_up(1.0, 1e-30) > 1.0
    (0.75, True)
    """
    total = a + b
    if not math.isfinite(total):
        return math.inf if total != -math.inf else total
    return math.nextafter(total, math.inf) if _sum_error(a, b, total) > 0 else total


def add_down(a: float, b: float) -> float:
    """Return ``a + b`` rounded down."""
    return 0.0 - add_up(-a, -b)


def mul_up(a: float, b: float) -> float:
    """Return ``a * b`` rounded up; 0 times anything is 0.

    >>> mul_up(0.5, 3.0), mul_up(0.1, 0.1) >= 0.01
    (1.5, True)
    """
    if a == 0 or b == 0:
        return 0.0
    product = a * b
    if not math.isfinite(product):
        return math.inf if product != -math.inf else product
    (an, ad), (bn, bd), (pn, pd) = a.as_integer_ratio(), b.as_integer_ratio(), product.as_integer_ratio()
    return math.nextafter(product, math.inf) if an * bn * pd > pn * ad * bd else product


def mul_down(a: float, b: float) -> float:
    """Return ``a * b`` rounded down; 0 times anything is 0."""
    return 0.0 - mul_up(-a, b)


def div_up(a: float, b: float) -> float:
    """Return ``a / b`` rounded up, for ``b != 0``; an infinite ``a`` gives infinity.

    >>> div_up(1.0, 4.0), 3 * div_up(1.0, 3.0) >= 1
    (0.25, True)
    """
    if a == 0:
        return 0.0
    quotient = a / b
    if not (math.isfinite(quotient) and math.isfinite(b)):
        return math.inf if quotient != -math.inf else quotient
    (an, ad), (bn, bd), (qn, qd) = a.as_integer_ratio(), b.as_integer_ratio(), quotient.as_integer_ratio()
    excess = an * bd * qd - qn * ad * bn
    return math.nextafter(quotient, math.inf) if excess * (1 if b > 0 else -1) > 0 else quotient


def div_down(a: float, b: float) -> float:
    """Return ``a / b`` rounded down, for ``b != 0``."""
    return 0.0 - div_up(-a, b)


def sqrt_up(value: float) -> float:
    """Return the square root of ``value >= 0`` rounded up.

    >>> sqrt_up(4.0), sqrt_up(2.0) ** 2 >= 2
    (2.0, True)
    """
    if not math.isfinite(value):
        return math.inf
    root = math.sqrt(value)
    (rn, rd), (vn, vd) = root.as_integer_ratio(), value.as_integer_ratio()
    return math.nextafter(root, math.inf) if rn * rn * vd < vn * rd * rd else root


def sqrt_down(value: float) -> float:
    """Return the square root of ``value >= 0`` rounded down."""
    root = sqrt_up(value)
    (rn, rd), (vn, vd) = root.as_integer_ratio(), value.as_integer_ratio()
    return root if rn * rn * vd == vn * rd * rd else math.nextafter(root, -math.inf)


def sum_up(values: Iterable[float]) -> float:
    """Return the sum of ``values``, rounded up."""
    total = 0.0
    for value in values:
        total = add_up(total, value)
    return total


def norm_up(values: Iterable[float], norm: int) -> float:
    """Return the 1-norm or the 2-norm of non-negative ``values``, rounded up; of one value, that value.

    >>> norm_up([3.0, 4.0], 1), norm_up([3.0, 4.0], 2), norm_up([1e200], 2)
    (7.0, 5.0, 1e+200)
    """
    return sum_up(values) if norm == 1 else rounding.norm_up(values)


def call_up(function: Callable[[float], float], value: float) -> float:
    """Return an upper bound of a function of the C library at ``value``; infinity where it overflows.

    A returned 0 is widened as well: it may stand for a positive value that underflowed.
    """
    try:
        result = function(value)
    except OverflowError:
        return math.inf
    return result + (LIBM_ULPS + 1) * math.ulp(result) if math.isfinite(result) else math.inf


def call_down(function: Callable[[float], float], value: float) -> float:
    """Return a lower bound of a function of the C library at ``value``; minus infinity where it overflows."""
    return -call_up(lambda argument: -function(argument), value)


def rounding_of(magnitude: float, propagated: float, *, ulps: float = 0.5) -> float:
    """Return the error bound of an operation of exact size at most ``magnitude`` on inexact operands.

    The computed result is ``t (1 + e) + f`` with ``|t| <= magnitude + propagated``, ``|e| <= 2 ulps u`` and
    ``|f|`` the underflow, so it is off by at most ``propagated + 2 ulps u (magnitude + propagated)`` and a
    little.

    Parameters
    ----------
    magnitude : float
        Largest absolute value of the exact result.
    propagated : float
        How far the errors of the operands move the exact operation.
    ulps : float
        Error of the operation itself in units in the last place; 0.5 where it is correctly rounded.
    """
    own = mul_up(2 * ulps * UNIT, add_up(magnitude, propagated))
    return add_up(add_up(propagated, own), max(1.0, ulps) * TINY)


def _sum_error(a: float, b: float, total: float) -> float:
    # Knuth's TwoSum: the exact a + b is total plus this, barring overflow inside, which only rounds outward.
    other = total - a
    error = (a - (total - other)) + (b - other)
    return error if math.isfinite(error) else 1.0
