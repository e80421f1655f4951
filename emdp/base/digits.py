"""Numbers as readers see them: a value and its interval, rounded to what the interval tells; the ends outward."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal

__all__ = ["MOST_DECIMALS", "rounded_texts"]

LARGEST_PLAIN = 1e15
"""Largest number that is written without an exponent."""

MOST_DECIMALS = 15
"""Most digits after the point; a double has no more."""

_CONTEXT = Context(prec=60)
_DUST = Context(prec=14, rounding=ROUND_HALF_EVEN)
"""Digits beyond are rounding errors of sums, by which no end is moved outward."""


def rounded_texts(
    value: float | None, low: float | None, high: float | None, *, grouping: str = ","
) -> tuple[str, str, str]:
    """Return a value and the ends of its interval as texts; empty where there is no finite number.

    They have two digits of the interval's half-width, and six digits where there is no interval to go by.

    Parameters
    ----------
    value, low, high : float or None
        The value, and the ends of its interval; an infinite end is no end.
    grouping : str
        Sign between thousands; may be empty.

    >>> rounded_texts(7.2034, 6.9111, 7.5)
    ('7.20', '6.91', '7.50')
    >>> rounded_texts(123456.0, 119876.0, float("inf"), grouping="")
    ('123500', '119800', '')
    """
    shown, least, most = _finite(value), _finite(low), _finite(high)
    decimals = _decimals(shown, least, most)
    return (
        "" if shown is None else _written(shown, decimals, ROUND_HALF_EVEN, grouping),
        "" if least is None else _written(least, decimals, ROUND_FLOOR, grouping),
        "" if most is None else _written(most, decimals, ROUND_CEILING, grouping),
    )


def _decimals(value: float | None, low: float | None, high: float | None) -> int | None:
    """Return the digits after the point, below 0 for tens; None where there is no interval to go by."""
    if low is not None and high is not None:
        half = high / 2 - low / 2
    else:
        end = low if high is None else high
        half = 0.0 if end is None or value is None else abs(value - end)
    if not 0 < half < math.inf:
        return None
    return min(1 - math.floor(math.log10(half)), MOST_DECIMALS)


def _written(number: float, decimals: int | None, rounding: str, grouping: str) -> str:
    if decimals is None or abs(number) >= LARGEST_PLAIN or decimals < -15:
        # Six digits after rounding outward are still outward.
        return f"{float(Context(prec=6, rounding=rounding).plus(Decimal(repr(number)))):.6g}"
    exact = _DUST.plus(Decimal(repr(number))).quantize(
        Decimal((0, (1,), -decimals)), rounding=rounding, context=_CONTEXT
    )
    return f"{abs(exact) if exact == 0 else exact:{grouping}.{max(decimals, 0)}f}"


def _finite(value: float | None) -> float | None:
    if value is None:
        return None
    number = float(value)
    return number if math.isfinite(number) else None
