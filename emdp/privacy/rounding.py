"""Exact arithmetic on the numbers of a guarantee: floats stand for the decimals that they print as.

The rule, once for the whole package: a float that states a guarantee or a budget (alpha, epsilon, delta, r, a
slack) means **the decimal number that** ``repr`` **prints for it**, so ``0.1`` means 1/10 although its binary
value is a little more. Sums, products and comparisons are then exact fractions, which makes ten charges of
0.1 fill a budget of 1.0 to the last digit, and neither more nor less. The rule is sound because the noise is
checked against the same decimals: an event refuses a noise scale that does not cover its stated alpha and
delta *as decimals* (:mod:`emdp.privacy.events.table`), with the scale and the sensitivity taken at their exact
binary values.

A result that must be a float again is rounded outward: up where it states a cost, down where it states a
rest.
"""

import math
from fractions import Fraction
from numbers import Rational

from emdp.base.checks import check_finite, check_positive
from emdp.base.decimals import as_decimal
from emdp.base.errors import UsageError

__all__ = [
    "as_decimal",
    "check_bound",
    "float_at_least",
    "float_down",
    "float_up",
    "quotient_up",
    "root_down",
    "root_up",
    "split",
]

_BEYOND_FLOATS = "a parameter is not finite, or beyond 1.8e308; pass a smaller number."


def float_up(number: Fraction) -> float:
    """Return the smallest float whose decimal is at least ``number``.

    Raises
    ------
    UsageError
        If the number is beyond the floats.

    >>> float_up(as_decimal(0.1) + as_decimal(0.2)), 0.1 + 0.2
    (0.3, 0.30000000000000004)
    >>> as_decimal(float_up(Fraction(1, 3))) >= Fraction(1, 3)
    True
    """
    result = _nearest(number)
    while as_decimal(result) < number:
        result = math.nextafter(result, math.inf)
    return result


def float_down(number: Fraction) -> float:
    """Return the largest float whose decimal is at most ``number``.

    >>> as_decimal(float_down(Fraction(2, 3))) <= Fraction(2, 3)
    True
    """
    result = _nearest(number)
    while as_decimal(result) > number:
        result = math.nextafter(result, -math.inf)
    return result


def float_at_least(number: Fraction) -> float:
    """Return the smallest float whose binary value is at least ``number``.

    Raises
    ------
    UsageError
        If the number is beyond the floats.

    >>> float_at_least(Fraction(1, 3)) >= Fraction(1, 3), float_at_least(Fraction(1, 4))
    (True, 0.25)
    """
    result = _nearest(number)
    return result if result >= number else _finite(math.nextafter(result, math.inf))


def check_bound(name: str, value: object) -> float:
    """Return a bound such as a sensitivity as a float that is at least it, or raise if it is no finite number.

    An int or a ``Fraction`` need not be a float, and the nearest float may be below it and then bounds nothing.

    >>> check_bound("sensitivity", Fraction(1, 3)) > Fraction(1, 3), check_bound("sensitivity", 2)
    (True, 2.0)
    """
    number = check_finite(name, value)
    if isinstance(value, Rational):
        return float_at_least(Fraction(int(value.numerator), int(value.denominator)))
    return number


def quotient_up(numerator: float, denominator: float) -> float:
    """Return the smallest float at least ``numerator / denominator``, all three at their exact binary values.

    >>> Fraction(quotient_up(1.0, 3.0)) * 3 >= 1
    True
    """
    return float_at_least(Fraction(numerator) / Fraction(denominator))


def root_up(square: Fraction) -> float:
    """Return the smallest float whose exact square is at least ``square``.

    >>> root_up(Fraction(9, 4)), Fraction(root_up(Fraction(2))) ** 2 >= 2
    (1.5, True)
    """
    result = _root(square)
    return result if Fraction(result) ** 2 >= square else math.nextafter(result, math.inf)


def root_down(square: Fraction) -> float:
    """Return the largest float whose exact square is at most ``square``.

    >>> root_down(Fraction(0)), Fraction(root_down(Fraction(2))) ** 2 <= 2
    (0.0, True)
    """
    result = _root(square)
    return result if Fraction(result) ** 2 <= square else math.nextafter(result, 0.0)


def split(total: float, weights: tuple[float, ...]) -> tuple[float, ...]:
    """Split an alpha, epsilon or delta by weights, so that the parts' decimals never add up to more than it.

    Parameters
    ----------
    total : float
        What is to be split, at least 0.
    weights : tuple of float
        Positive weights, at least one.

    Returns
    -------
    tuple of float
        One part a weight, rounded down.

    Raises
    ------
    UsageError
        If the total is negative or not finite, or a weight is not positive.

    >>> split(1.0, (1, 1, 2))
    (0.25, 0.25, 0.5)
    >>> sum(map(as_decimal, split(1.0, (0.1, 0.6)))) <= 1
    True
    """
    if not weights:
        raise UsageError("weights must hold at least one number; pass one weight for each part.")
    shares = [as_decimal(check_positive("weight", weight)) for weight in weights]
    whole = sum(shares)
    if check_finite("total", total) < 0:
        raise UsageError(f"total must be at least 0, got {total}; pass a number that is not negative.")
    return tuple(float_down(as_decimal(total) * share / whole) for share in shares)


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise UsageError(_BEYOND_FLOATS)
    return number


def _nearest(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        raise UsageError(_BEYOND_FLOATS) from None


def _root(square: Fraction) -> float:
    """Return a float next to the root: at most one spacing away on either side."""
    if square == 0:
        return 0.0
    # scaled by a power of 4 to about 1, since the square may lie beyond the floats where its root does not
    half = (square.numerator.bit_length() - square.denominator.bit_length()) // 2
    try:
        result = math.ldexp(math.sqrt(square / Fraction(4) ** half), half)
        while Fraction(math.nextafter(result, 0.0)) ** 2 > square:
            result = math.nextafter(result, 0.0)
        while Fraction(result) ** 2 < square and Fraction(math.nextafter(result, math.inf)) ** 2 < square:
            result = math.nextafter(result, math.inf)
    except OverflowError:
        raise UsageError(_BEYOND_FLOATS) from None
    return result
