"""Literals of SQL as Python values: numbers that a double holds, texts, truth values, dates."""

import datetime
import math

from sqlglot import exp

from emdp.base.classes import dataclass
from emdp.rows.building import DAY, TIME
from emdp.sql.context import Context, unwrapped

__all__ = ["Literal", "number_of", "read_literal"]

Value = str | int | float | bool | datetime.date | datetime.datetime

LARGEST_INTEGER = 2**63 - 1
"""Integers of columns have 64 bits."""


@dataclass(frozen=True)
class Literal:
    """A constant that a condition compares with."""

    value: Value
    node: exp.Expr

    @property
    def kind(self) -> str:
        """Kind of a literal in words: a text, a number, a truth value, a date."""
        if isinstance(self.value, bool):
            return "truth value"
        if isinstance(self.value, str):
            return "text"
        return "number" if isinstance(self.value, int | float) else "date"


def number_of(context: Context, node: exp.Literal) -> float:
    """Return a number as a double, or refuse one that a double cannot hold.

    Raises
    ------
    SqlError
        For a number beyond the largest double, and a whole number that no double equals.
    """
    text = str(node.this)
    try:
        number = float(text)
    except ValueError:
        raise context.refusal(
            node, f"{text} is no number", remedy="write it in decimal digits, such as 1.5 or 1e3", code="number"
        ) from None
    if not math.isfinite(number):
        raise context.refusal(
            node, f"{text} is beyond the largest double", remedy="write a smaller number", code="number-too-large"
        )
    if _is_whole(text) and int(text) != number:
        raise context.refusal(
            node,
            f"{text} is no double, whose nearest value is {number:.0f}",
            remedy="write that value, or fewer digits",
            code="integer-too-long",
        )
    return number


def read_literal(context: Context, node: exp.Expr) -> Literal | None:
    """Return a literal that may have a sign or parentheses, or None if it is none.

    Raises
    ------
    SqlError
        For NULL, and for numbers and dates that do not exist.
    """
    inner = unwrapped(node)
    sign = 1
    while isinstance(inner, exp.Neg):
        inner, sign = unwrapped(inner.this), -sign
    if isinstance(inner, exp.Literal) and not inner.is_string:
        return Literal(_signed(context, inner, sign), node)
    if inner is not unwrapped(node):
        return None
    if isinstance(inner, exp.Literal):
        return Literal(str(inner.this), node)
    if isinstance(inner, exp.Boolean):
        return Literal(bool(inner.this), node)
    if isinstance(inner, exp.Null):
        raise context.refusal(
            node,
            "a comparison with NULL is never true",
            remedy="write IS NULL or IS NOT NULL for a public user column, and leave it out for a column of the "
            "records, where the space's on_invalid rule has replaced every NULL",
            code="null",
        )
    if isinstance(inner, exp.Cast) and isinstance(inner.this, exp.Literal) and inner.this.is_string:
        return _date(context, inner)
    return None


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _signed(context: Context, node: exp.Literal, sign: int) -> int | float:
    text = str(node.this)
    if not _is_whole(text):
        return sign * number_of(context, node)
    value = sign * int(text[:20])
    if not -LARGEST_INTEGER <= value <= LARGEST_INTEGER:
        raise context.refusal(
            node, f"{text} does not fit 64 bits", remedy="write a smaller number", code="integer-too-long"
        )
    return value


def _date(context: Context, node: exp.Cast) -> Literal | None:
    text, to = str(node.this.this), node.args["to"]
    if to.expressions or to.this not in (exp.DType.DATE, exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ):
        return None
    try:
        if to.this == exp.DType.DATE and DAY.fullmatch(text):
            return Literal(datetime.date.fromisoformat(text), node)
        if to.this != exp.DType.DATE and TIME.fullmatch(text):
            return Literal(datetime.datetime.fromisoformat(text), node)
    except ValueError:
        pass
    raise context.refusal(
        node,
        f"'{text}' is no such date",
        remedy="write DATE '2026-11-20' or TIMESTAMP '2026-11-20 08:30:00', without a time zone",
        code="date",
    )
