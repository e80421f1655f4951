"""Numbers with which the arithmetic of a plan stays within doubles: squares, quotients, noise in a value's own unit.

Ranges, constants and scales multiply and divide one another, some of them squared. Where they lie between ``SMALLEST``
and ``LARGEST`` nothing overflows or becomes 0; beyond, a statement is refused before anything is charged, since what
overflows in its answer would fail after the charge.
"""

from emdp.base.errors import UsageError
from emdp.expressions.numbers.bounds import Analysis

__all__ = [
    "ASSUMED_USERS",
    "LARGEST",
    "MOST_USERS",
    "SMALLEST",
    "check_change",
    "check_level",
    "check_values",
    "check_weight",
]

SMALLEST, LARGEST = 1e-50, 1e50
"""Beyond any unit that something is measured in; even the square of one times the cube of another is a double."""

ASSUMED_USERS = 1000
"""Number of users that previews assume where it is private."""

MOST_USERS = 2**33
"""More people than there are. Where their number is private, ranges of totals and the grid of noise are for so many: it
is a constant, so that neither tells anything about the table. No guarantee rests on it: noise for one user's change is
the same on any grid, and a total beyond the range is released all the same (:mod:`emdp.mechanisms.central.additive`).
"""


def check_values(known: Analysis, text: str) -> None:
    """Raise ``UsageError`` if an expression's largest value is too large or too small.

    >>> check_values(Analysis((1.0,), 0.0, 1e20, 0.0), "x")
    """
    if known.magnitude > 0 and not SMALLEST <= known.magnitude <= LARGEST:
        raise UsageError(f"`{text}` has values up to {known.magnitude:.3g} in size; rescale it to {_range()}.")


def check_change(change: float, text: str) -> None:
    """Raise ``UsageError`` if the change that noise has to cover is too large or too small.

    >>> check_change(1e-20, "x")
    """
    if not SMALLEST <= change <= LARGEST:
        raise UsageError(f"`{text}` has the constant {change:.3g}; rescale it, or widen its ramps, to {_range()}.")


def check_level(level: float) -> None:
    """Raise ``UsageError`` if alpha or epsilon is too large or too small.

    >>> check_level(1e-20)
    """
    if not SMALLEST <= level <= LARGEST:
        raise UsageError(f"alpha or epsilon is {level:.3g}; pass a number {_range()}.")


def check_weight(weight: float) -> None:
    """Raise ``UsageError`` if a column's weight is too large or too small.

    >>> check_weight(2.0)
    """
    if not SMALLEST <= weight <= LARGEST:
        raise UsageError(f"a weight is {weight:.3g}; pass a number {_range()}.")


def _range() -> str:
    return f"between {SMALLEST:g} and {LARGEST:g}"
