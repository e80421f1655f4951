"""Floats as the decimals that they print as: what a person wrote, as an exact number."""

import math
from fractions import Fraction
from functools import lru_cache

from emdp.base.errors import UsageError

__all__ = ["as_decimal"]


def as_decimal(number: float) -> Fraction:
    """Return the decimal number that a float prints as, as an exact fraction.

    Raises
    ------
    UsageError
        If the float is not finite.

    >>> as_decimal(0.1) + as_decimal(0.2) == as_decimal(0.3), 0.1 + 0.2 == 0.3
    (True, False)
    >>> as_decimal(1e-12)
    Fraction(1, 1000000000000)
    """
    return _parse(float(number))


@lru_cache(maxsize=65536)
def _parse(number: float) -> Fraction:
    if not math.isfinite(number):
        raise UsageError("a parameter is not finite, or beyond 1.8e308; pass a smaller number.")
    return Fraction(repr(number))
