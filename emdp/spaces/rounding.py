"""Bounds of floating-point error, and numbers rounded outward (style rule 15)."""

import math
import sys
from collections.abc import Iterable
from fractions import Fraction

from emdp.base.checks import check_finite
from emdp.base.errors import UsageError

__all__ = [
    "LARGEST_COORDINATE",
    "UNIT_ROUNDOFF",
    "check_coordinate",
    "difference_up",
    "dot_error",
    "fraction_up",
    "norm_error",
    "norm_up",
    "product_up",
    "quotient_up",
    "widened",
]

UNIT_ROUNDOFF = 2.0**-53
"""Largest relative error of one correctly rounded operation on doubles."""

SMALLEST_DOUBLE = 2.0**-1074
"""Smallest positive double: bounds the absolute error of a product that underflows."""

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


def fraction_up(value: Fraction) -> float:
    """Return the smallest double that is at least an exact number; infinity above the largest double.

    >>> fraction_up(Fraction(1, 4)), fraction_up(Fraction(1, 3)) > 1 / 3, fraction_up(Fraction(1, 10**400))
    (0.25, True, 5e-324)
    """
    try:
        nearest = float(value)
    except OverflowError:
        return math.inf if value > 0 else -sys.float_info.max
    return math.nextafter(nearest, math.inf) if Fraction(nearest) < value else nearest


def difference_up(high: float, low: float) -> float:
    """Return the smallest double that is at least the exact ``high - low``.

    >>> difference_up(1.0, -1e-20) > 1.0, difference_up(10.0, 0.0)
    (True, 10.0)
    """
    return fraction_up(Fraction(high) - Fraction(low))


def product_up(*factors: float) -> float:
    """Return the smallest double that is at least the exact product of finite numbers of at least 0.

    It is 0 only if a factor is 0: a constant that underflowed to 0 would promise that nothing changes.

    >>> product_up(0.5, 3.0), product_up(1e-200, 1e-200), product_up(1e-200, 0.0)
    (1.5, 5e-324, 0.0)
    """
    return fraction_up(math.prod(map(Fraction, factors), start=Fraction(1)))


def quotient_up(numerator: float, denominator: float | Fraction) -> float:
    """Return the smallest double that is at least the exact quotient; the denominator is positive.

    An infinite numerator gives infinity.

    >>> quotient_up(1.0, 0.25), quotient_up(1.0, Fraction(1, 3)), quotient_up(1.0, 3.0) > 1 / 3
    (4.0, 3.0, True)
    """
    return math.inf if math.isinf(numerator) else fraction_up(Fraction(numerator) / Fraction(denominator))


def norm_up(vector: Iterable[float]) -> float:
    """Return an upper bound of the 2-norm of a vector, within one unit in the last place.

    Squares are summed as integers, so none overflows or underflows; the norm of one number is that number.

    >>> norm_up([3.0, 4.0]), norm_up([1e-200]), norm_up([1e308, 1e308]) < 1.5e308, norm_up([])
    (5.0, 1e-200, True, 0.0)
    """
    values = [abs(float(value)) for value in vector]
    if math.inf in values:
        return math.inf
    ratios = [value.as_integer_ratio() for value in values]
    scale = max((denominator for _, denominator in ratios), default=1)  # all are powers of two
    squared = sum((numerator * (scale // denominator)) ** 2 for numerator, denominator in ratios)
    # 64 more bits of the root than a whole number has
    root = math.isqrt((squared << 128) - 1) + 1 if squared else 0
    return fraction_up(Fraction(root, scale << 64))


def dot_error(dimension: int, magnitude: float) -> float:
    """Return a bound on the error of an inner product computed in doubles, in any order of summation.

    ``gamma_d sum |x_i v_i|`` with ``gamma_d = d u/(1 - d u)`` (Higham, Accuracy and Stability of Numerical
    Algorithms, 2nd ed., 3.1), and ``2^-1074`` for each product that underflows; sums of doubles do not.

    Parameters
    ----------
    magnitude : float
        Bound on ``sum |x_i v_i|``.

    >>> dot_error(2, 1.0) > 2 * UNIT_ROUNDOFF, dot_error(2, 1e-320) > 0
    (True, True)
    """
    gamma = dimension * UNIT_ROUNDOFF / (1 - dimension * UNIT_ROUNDOFF)
    return gamma * magnitude * (1 + 4 * UNIT_ROUNDOFF) + dimension * SMALLEST_DOUBLE


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
