"""The grids that keep the shuffle accountants monotone: arguments rounded to the safe side, strengths that are tried.

Rounding errors near 1e-10 could undo the monotonicity of an accountant where an argument changes by its last digits.
Arguments are rounded first, to fewer digits and the safe side; rounding itself is monotone.
"""

import math

__all__ = [
    "ARGUMENT_BITS",
    "LARGEST_ALPHA0",
    "LARGEST_ITEMS",
    "grid_step",
    "on_grid",
    "round_counts",
    "round_down",
    "round_up",
]

ARGUMENT_BITS = 24
"""Significant bits that arguments keep: 6e-8, against rounding errors near 1e-10."""
LARGEST_ALPHA0 = 12.0
"""Largest strength the accountants look at; composition alone is used above."""
LARGEST_ITEMS = 10**12
"""More items than this count as this many, which is safe."""


def round_counts(m: int, N: int) -> tuple[int, int]:
    """Return ``m`` rounded up and ``N`` rounded down to numbers of few bits.

    >>> round_counts(3, 10**12 + 7), round_counts(2**24 + 1, 2**24 + 1)
    ((3, 999999995904), (16777218, 16777216))
    """
    items = min(N, LARGEST_ITEMS)
    shift = max(0, items.bit_length() - ARGUMENT_BITS)
    total = items >> shift << shift
    shift = max(0, m.bit_length() - ARGUMENT_BITS)
    return -(-m >> shift << shift), total


def round_up(number: float, bits: int) -> float:
    """Return the next number above of so many significant bits.

    >>> round_up(0.3, 2)
    0.375
    """
    mantissa, exponent = math.frexp(math.nextafter(number, math.inf))
    return math.ldexp(math.ceil(mantissa * 2.0**bits), exponent - bits)


def round_down(number: float, bits: int) -> float:
    """Return the largest number of so many significant bits that is not above.

    >>> round_down(0.3, 2)
    0.25
    """
    mantissa, exponent = math.frexp(number)
    return math.ldexp(math.floor(mantissa * 2.0**bits), exponent - bits)


def grid_step(number: float, bits: int) -> int:
    """Return the number of the largest grid point at most ``number``: dyadic points, ``2^(bits-1)`` in each octave.

    >>> grid_step(1.0, 4), grid_step(2.0, 4)
    (8, 16)
    """
    mantissa, exponent = math.frexp(number)
    half = 1 << (bits - 1)
    return exponent * half + math.floor(mantissa * 2.0**bits) - half


def on_grid(step: int, bits: int) -> float:
    """Return the grid point of that number.

    >>> on_grid(grid_step(3.0, 4), 4)
    3.0
    """
    half = 1 << (bits - 1)
    exponent, rest = divmod(step, half)
    return math.ldexp(rest + half, exponent - bits)
