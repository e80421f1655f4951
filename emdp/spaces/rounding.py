"""Bounds of floating-point error, and numbers rounded outward (style rule 15)."""

import math
from collections.abc import Iterable
from fractions import Fraction

from emdp.checks import check_finite
from emdp.errors import UsageError

__all__ = [
    "LARGEST_COORDINATE",
    "UNIT_ROUNDOFF",
    "check_coordinate",
    "difference_up",
    "dot_error",
    "norm_error",
    "norm_up",
    "quotient_up",
    "widened",
]

UNIT_ROUNDOFF = 2.0**-53
"""Largest relative error of one correctly rounded operation on doubles."""

LARGEST_COORDINATE = 1e150
"""Largest absolute coordinate of a domain or a point: the squares of larger ones overflow a double."""

SMALLEST_NORM = 1e-150
"""Absolute error that underflow of squares can add to a norm."""


def check_coordinate(name: str, value: object) -> float:
    """Return ``value`` as a float, or raise if it is no finite number of at most ``LARGEST_COORDINATE``.

    >>> check_coordinate("low", 3)
    3.0
    """
    number = check_finite(name, value)
    if abs(number) > LARGEST_COORDINATE:
        raise UsageError(f"{name} must be within +-{LARGEST_COORDINATE}, got {number}; rescale the column.")
    return number


def difference_up(high: float, low: float) -> float:
    """Return the smallest double that is at least the exact ``high - low``.

    >>> difference_up(1.0, -1e-20) > 1.0, difference_up(10.0, 0.0)
    (True, 10.0)
    """
    difference = high - low
    if Fraction(difference) < Fraction(high) - Fraction(low):
        return math.nextafter(difference, math.inf)
    return difference


def quotient_up(numerator: float, denominator: float) -> float:
    """Return the smallest double that is at least the exact quotient of two positive numbers.

    >>> quotient_up(1.0, 0.25), quotient_up(1.0, 3.0) > 1.0 / 3.0
    (4.0, True)
    """
    quotient = numerator / denominator
    if math.isinf(quotient) or Fraction(quotient) * Fraction(denominator) >= Fraction(numerator):
        return quotient
    return math.nextafter(quotient, math.inf)


def norm_up(vector: Iterable[float]) -> float:
    """Return an upper bound of the 2-norm of a vector, within a few units in the last place.

    ``math.hypot`` is within one unit in the last place; four unit roundoffs and the underflow term cover it.

    >>> 5.0 <= norm_up([3.0, 4.0]) < 5.0 + 1e-14
    True
    """
    norm = math.hypot(*(float(value) for value in vector))
    return norm * (1 + 4 * UNIT_ROUNDOFF) if norm > SMALLEST_NORM else norm + SMALLEST_NORM * (norm > 0)


def dot_error(dimension: int, magnitude: float) -> float:
    """Return a bound on the error of an inner product computed in doubles, in any order of summation.

    ``gamma_d sum |x_i v_i|`` with ``gamma_d = d u/(1 - d u)`` (Higham, Accuracy and Stability of Numerical
    Algorithms, 2nd ed., 3.1).

    Parameters
    ----------
    dimension : int
        Number of terms.
    magnitude : float
        Bound on ``sum |x_i v_i|``.

    >>> dot_error(2, 1.0) > 2 * UNIT_ROUNDOFF
    True
    """
    gamma = dimension * UNIT_ROUNDOFF / (1 - dimension * UNIT_ROUNDOFF)
    return gamma * magnitude * (1 + 4 * UNIT_ROUNDOFF)


def norm_error(dimension: int, largest: float) -> float:
    """Return a bound on the error of a Euclidean distance computed from differences of coordinates.

    Each squared difference has at most three roundings, their sum ``d - 1`` more, the root halves them and
    adds one: ``(d + 2)/2 + 1`` unit roundoffs, relative. Twice that covers terms of second order, and an
    absolute term the underflow of squares.

    >>> norm_error(2, 0.0) < 1e-149
    True
    """
    return (dimension + 4) * UNIT_ROUNDOFF * largest + SMALLEST_NORM


def widened(low: float, high: float, error: float) -> tuple[float, float]:
    """Return the interval ``[low, high]`` widened outward by ``error`` on both sides.

    >>> low, high = widened(0.0, 1.0, 0.0)
    >>> (low, high)
    (0.0, 1.0)
    """
    if error == 0:
        return low, high
    return math.nextafter(low - error, -math.inf), math.nextafter(high + error, math.inf)
