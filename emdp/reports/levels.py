"""The arithmetic of a report's budget: the smallest level for an error, and what is left for the others."""

import math
from collections.abc import Callable, Sequence
from decimal import ROUND_DOWN, Decimal
from fractions import Fraction

from emdp.privacy import Guarantee
from emdp.privacy.rounding import as_decimal, float_down, split

__all__ = ["covers", "divide_rest", "smallest_level"]

DIGITS = 3
"""Significant digits of a level that follows from a target error."""

SPLIT_DIGITS = 5
"""Significant digits of a level that follows from a weight."""

LEAST_EXPONENT = -9
"""Exponent of ten of the smallest level that is tried: below it answers tell nothing."""

GUESSES = 6
"""Number of guesses at the next level as if error times level were constant, before halving."""

_FIRST = 100
_DECADE = 900
"""The smallest number of so many digits, and how many there are."""


def smallest_level(error_at: Callable[[float], float], target: float, limit: float) -> float | None:
    """Return the smallest level, rounded up to three significant digits, whose error is at most a target.

    Parameters
    ----------
    error_at : callable
        The expected error at a level, falling as the level rises; infinity where there is no answer.
    target : float
        Above 0.
    limit : float
        Largest level to try, above 0.

    Returns
    -------
    float or None
        None where no level of three digits up to ``limit`` will do. Where the error does not fall throughout, the level
        meets the target all the same, and the next lower one misses it.

    >>> smallest_level(lambda level: 2 / level, 0.3, 100.0), smallest_level(lambda level: 2 / level, 0.3, 5.0)
    (6.67, None)
    """
    low, high = LEAST_EXPONENT * _DECADE - 1, _position(limit)
    error = error_at(_level(high)) if high > low else math.inf
    if not error <= target:
        return None
    last, turn = high, 0
    while high - low > 1:
        place, turn = (low + high) // 2, turn + 1
        guess = _level(last) * error / target
        if turn <= GUESSES and 0 < guess < math.inf:
            place = min(max(_position(guess) + 1, low + 1), high - 1)
        last, error = place, error_at(_level(place))
        low, high = (low, place) if error <= target else (place, high)
    return _level(high)


def divide_rest(total: float, taken: Sequence[float], weights: Sequence[float]) -> tuple[float, ...] | None:
    """Split by weights what some levels leave of a total, so that all levels together are never above it.

    Sums are those of the decimals that the numbers print as (:mod:`emdp.privacy.rounding`). Each level is rounded down
    to ``SPLIT_DIGITS`` significant digits, since it stands in the SQL of a page that people read.

    Returns
    -------
    tuple of float or None
        One level a weight; None where nothing is left for one of them.

    >>> divide_rest(6.0, [1.0, 0.5], [1, 2]), divide_rest(1.0, [0.4, 0.6], [1])
    ((1.5, 3.0), None)
    """
    rest = as_decimal(total) - sum(map(as_decimal, taken))
    if rest <= 0:
        return None
    parts = tuple(_shortened(part) for part in split(float_down(rest), tuple(weights)))
    return parts if all(part > 0 for part in parts) else None


def _shortened(level: float) -> float:
    if level <= 0:
        return level
    number = Decimal(repr(level))
    return float(number.quantize(Decimal(1).scaleb(number.adjusted() - SPLIT_DIGITS + 1), ROUND_DOWN))


def _position(level: float) -> int:
    """Return the place of the largest level of three digits that is at most this one."""
    number = Decimal(repr(level))
    exponent = number.adjusted()
    digits = int(number.scaleb(DIGITS - 1 - exponent))
    return exponent * _DECADE + digits - _FIRST


def _level(position: int) -> float:
    exponent, place = divmod(position, _DECADE)
    return float(f"{place + _FIRST}e{exponent - DIGITS + 1}")


def covers(budget: Guarantee, level: Fraction, delta: Fraction) -> bool:
    """Say whether a budget is at least a level and a delta, as decimals."""
    return level <= as_decimal(budget.level) and delta <= as_decimal(budget.delta)
