"""Range rules: from the ranges of a function's arguments to the range of its results, rounded outward.

A range holds every result that is neither NULL nor NaN. Results of one correctly rounded operation lie between the
doubles that bound the real result, since rounding is monotone; the C library's functions are widened by
``LIBM_ULPS`` (:mod:`emdp.expressions.numbers.outward`). Each rule below says why it holds where that is not plain.
"""

import math
from collections.abc import Callable, Sequence

from emdp.expressions.numbers.outward import (
    add_down,
    add_up,
    call_down,
    call_up,
    div_down,
    div_up,
    mul_down,
    mul_up,
    sqrt_down,
    sqrt_up,
)
from emdp.rows.record import Range, RangeRule
from emdp.rows.types import BIGINT_MAX, BIGINT_MIN, Value

__all__ = [
    "added",
    "clamped",
    "constant",
    "cut_off",
    "divided",
    "divided_whole",
    "extremes",
    "floored",
    "hull",
    "increasing",
    "magnitude",
    "multiplied",
    "negated",
    "on_domain",
    "parity",
    "power",
    "raised",
    "remainder",
    "root",
    "rounded_even",
    "rounded_to",
    "same",
    "subtracted",
    "unknown",
    "whole",
]

EVERYTHING: Range = (-math.inf, math.inf)
WHOLE: Range = (float(BIGINT_MIN), float(BIGINT_MAX))
"""All of BIGINT; its upper end is 2**63, the double above."""

Ranges = Sequence[Range | None]


def hull(ranges: Sequence[Range | None]) -> Range | None:
    """Return the least range that holds all of several; None where one is unknown.

    >>> hull([(0.0, 1.0), (5.0, 6.0)]), hull([(0.0, 1.0), None])
    ((0.0, 6.0), None)
    """
    known = [found for found in ranges if found is not None]
    if not known or len(known) < len(ranges):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def constant(low: float, high: float) -> RangeRule:
    """Return the rule of a function whose results always lie in one range."""
    return lambda ranges, values: (low, high)


def same(ranges: Ranges, values: Sequence[Value]) -> Range | None:
    """Return the first argument's range."""
    return ranges[0]


def increasing(function: Callable[[float], float], *, exact: bool = False, floor: float = -math.inf) -> RangeRule:
    """Return the rule of an increasing function; ``exact`` where it rounds not at all, ``floor`` below all results."""

    def rule(ranges: Ranges, values: Sequence[Value]) -> Range | None:
        if ranges[0] is None:
            return None
        low, high = ranges[0]
        if exact:
            return _at(function, low), _at(function, high)
        return max(floor, _at(lambda value: call_down(function, value), low)), _at(
            lambda value: call_up(function, value), high
        )

    return rule


def on_domain(rule: RangeRule, low: float, high: float) -> RangeRule:
    """Return a rule for a function that gives NULL or NaN outside [low, high]: arguments are cut to it first."""

    def cut(ranges: Ranges, values: Sequence[Value]) -> Range | None:
        own = ranges[0] or EVERYTHING
        start, end = max(low, own[0]), min(high, own[1])
        # No argument has a value: any range holds all of none.
        return rule([(start, end)], values) if start <= end else (0.0, 0.0)

    return cut


def added(ranges: Ranges, values: Sequence[Value]) -> Range | None:
    """Return the range of a sum."""
    if ranges[0] is None or ranges[1] is None:
        return None
    (a, b), (c, d) = ranges[0], ranges[1]
    if math.inf in (b, d) or -math.inf in (a, c):
        # An infinite end takes part with either sign; what is known is then the other end at most.
        low = -math.inf if -math.inf in (a, c) else add_down(a, c)
        return low, math.inf if math.inf in (b, d) else add_up(b, d)
    return add_down(a, c), add_up(b, d)


def negated(ranges: Ranges, values: Sequence[Value]) -> Range | None:
    """Return the range of ``-x``."""
    return None if ranges[0] is None else (0.0 - ranges[0][1], 0.0 - ranges[0][0])


def subtracted(ranges: Ranges, values: Sequence[Value]) -> Range | None:
    """Return the range of a difference."""
    return added([ranges[0], negated(ranges[1:], ())], values)


def multiplied(ranges: Ranges, values: Sequence[Value]) -> Range | None:
    """Return the range of a product: the hull of the products of the ends.

    Zero times infinity is NaN in an engine, which no range has to hold.
    """
    if ranges[0] is None or ranges[1] is None:
        return None
    pairs = [(x, y) for x in ranges[0] for y in ranges[1]]
    return min(mul_down(x, y) for x, y in pairs), max(mul_up(x, y) for x, y in pairs)


def divided(ranges: Ranges, values: Sequence[Value]) -> Range | None:
    """Return the range of a quotient; None where the divisor may be 0 or infinite: near 0 it has no bound."""
    if ranges[0] is None or ranges[1] is None:
        return None
    low, high = ranges[1]
    if low <= 0 <= high or math.isinf(low) or math.isinf(high):
        return None
    pairs = [(x, y) for x in ranges[0] for y in ranges[1]]
    return min(div_down(x, y) for x, y in pairs), max(div_up(x, y) for x, y in pairs)


def divided_whole(ranges: Ranges, values: Sequence[Value]) -> Range | None:
    """Return the range of a quotient of whole numbers, cut towards 0: by 0 it is NULL, by others not larger."""
    size = magnitude(ranges[0])
    found = divided(ranges, values)
    if found is None:
        return -size, size
    return min(found[0], 0.0), max(found[1], 0.0)


def floored(value: float) -> float:
    """Return the largest whole number that is at most a number; infinities stay."""
    return float(math.floor(value)) if math.isfinite(value) else value


def raised(value: float) -> float:
    """Return the least whole number that is at least a number; infinities stay."""
    return float(math.ceil(value)) if math.isfinite(value) else value


def cut_off(value: float) -> float:
    """Return a number without its fraction; infinities stay."""
    return float(math.trunc(value)) if math.isfinite(value) else value


def rounded_even(ranges: Ranges, values: Sequence[Value]) -> Range | None:
    """Return the range of a number that is rounded to the nearest whole one, half to even."""
    return None if ranges[0] is None else (_even(ranges[0][0]), _even(ranges[0][1]))


def unknown(ranges: Ranges, values: Sequence[Value]) -> Range | None:
    """Return that nothing is known."""
    return None


def remainder(ranges: Ranges, values: Sequence[Value]) -> Range | None:
    """Return the range of a remainder: of the dividend's sign, and smaller than both in size."""
    size = min(magnitude(ranges[0]), magnitude(ranges[1]))
    low, high = ranges[0] or EVERYTHING
    return (0.0 if low >= 0 else -size), (0.0 if high <= 0 else size)


def magnitude(found: Range | None) -> float:
    """Return the largest absolute value in a range.

    >>> magnitude((-3.0, 2.0)), magnitude(None)
    (3.0, inf)
    """
    return math.inf if found is None else max(abs(found[0]), abs(found[1]))


def parity(ranges: Ranges, values: Sequence[Value]) -> Range | None:
    """Return the range of an absolute value."""
    if ranges[0] is None:
        return 0.0, math.inf
    low, high = ranges[0]
    return (0.0 if low <= 0 <= high else min(abs(low), abs(high))), magnitude(ranges[0])


def root(ranges: Ranges, values: Sequence[Value]) -> Range | None:
    """Return the range of a square root, which is NaN below 0."""
    low, high = ranges[0] or EVERYTHING
    return sqrt_down(max(low, 0.0)) if math.isfinite(low) else 0.0, sqrt_up(max(high, 0.0))


def power(ranges: Ranges, values: Sequence[Value]) -> Range | None:
    """Return the range of ``x ** p`` for a literal whole p >= 0, or any p where x >= 0 (x > 0 for p < 0).

    Monotone on each side of 0, so that the ends, and 0 where it lies between, bound it.
    """
    exponent = values[1]
    if ranges[0] is None or not isinstance(exponent, int | float):
        return None
    low, high = ranges[0]
    if low < 0 and not float(exponent).is_integer() and high >= 0:
        low = 0.0
    if (low <= 0 and exponent < 0) or (low < 0 and not float(exponent).is_integer()) or (exponent < 0 and high <= 0):
        return None
    points = [low, high, *([0.0] if low < 0 < high else [])]
    if any(math.isinf(point) for point in points):
        return (0.0, math.inf) if low >= 0 or exponent % 2 == 0 else None
    # The C library is exact to LIBM_ULPS; its sign is exact.
    return min(call_down(lambda x: _power(x, exponent), point) for point in points), max(
        call_up(lambda x: _power(x, exponent), point) for point in points
    )


def extremes(chosen: Callable[[Sequence[float]], float]) -> RangeRule:
    """Return the rule of LEAST or GREATEST (``chosen`` is min or max), which skip NULL: the result is one argument.

    LEAST of values and NULL may be any of the values, so the far end is not the least of the ends.
    """

    def rule(ranges: Ranges, values: Sequence[Value]) -> Range | None:
        whole_hull = hull(ranges)
        if whole_hull is not None:
            return whole_hull
        return None

    return rule


def clamped(ranges: Ranges, values: Sequence[Value]) -> Range | None:
    """Return the range of CLAMP(e, low, high)."""
    low, high = _number_of(values[1]), _number_of(values[2])
    own = ranges[0] or EVERYTHING
    return min(high, max(low, own[0])), max(low, min(high, own[1]))


def whole(rule: RangeRule) -> RangeRule:
    """Return a rule for BIGINT: whatever is known, results fit 64 bits, since others are NULL."""

    def cut(ranges: Ranges, values: Sequence[Value]) -> Range | None:
        found = rule([WHOLE if own is None else own for own in ranges], values)
        if found is None:
            return WHOLE
        return max(found[0], WHOLE[0]), min(found[1], WHOLE[1])

    return cut


def rounded_to(ranges: Ranges, values: Sequence[Value]) -> Range | None:
    """Return the range of ROUND(e, digits), in which one unit and the rounding of two operations are added."""
    if ranges[0] is None:
        return None
    digits = values[1] if len(values) > 1 else 0
    unit = 10.0 ** -float(digits if isinstance(digits, int) else 0)
    low, high = ranges[0]
    slack_low, slack_high = (add_up(unit, abs(end) * 2.0**-50) if math.isfinite(end) else 0.0 for end in (low, high))
    return add_down(low, -slack_low), add_up(high, slack_high)


def _even(value: float) -> float:
    return float(round(value)) if math.isfinite(value) else value


def _power(value: float, exponent: float) -> float:
    return math.pow(value, exponent)


def _at(function: Callable[[float], float], value: float) -> float:
    try:
        return function(value)
    except (OverflowError, ValueError):
        return value


def _number_of(value: Value) -> float:
    return float(value) if isinstance(value, int | float) else math.nan
