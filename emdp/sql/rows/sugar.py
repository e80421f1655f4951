"""Functions that are short for others: they need no record, since they are written with those that have one."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import reduce

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.rows.building import as_kind, call, case
from emdp.rows.nodes import Cast, Literal, Node
from emdp.rows.records.times import PARTS
from emdp.rows.types import Kind

__all__ = ["SUGAR", "Sugar"]

MANY = 30
"""Most arguments: calls of two are nested."""


@dataclass(frozen=True)
class Sugar:
    """A function made of others."""

    form: str
    least: int
    most: int
    build: Callable[[Sequence[Node]], Node]


def _folded(name: str) -> Sugar:
    def build(arguments: Sequence[Node]) -> Node:
        return reduce(lambda left, right: call(name, left, right), arguments)

    return Sugar(f"{name.upper()}(e, f, ...)", 1, MANY, build)


def _part(field: str) -> Sugar:
    return Sugar(f"{field.upper()}(ts)", 1, 1, lambda arguments: call("date_part", _text(field), arguments[0]))


def _text(value: str) -> Literal:
    return Literal(value, Kind.TEXT)


def _whole(value: int) -> Literal:
    return Literal(value, Kind.BIGINT)


def _concat(arguments: Sequence[Node]) -> Node:
    """Return the texts joined, where NULL is none: DuckDB's CONCAT, unlike ``||``."""
    texts = [argument if argument.kind is Kind.TEXT else Cast(argument, Kind.TEXT) for argument in arguments]
    return reduce(
        lambda left, right: call("join_texts", left, right), [call("coalesce", text, _text("")) for text in texts]
    )


def _date_part(arguments: Sequence[Node]) -> Node:
    field = arguments[0]
    if not isinstance(field, Literal) or not isinstance(field.value, str):
        raise UsageError("the field must be written out; write DATE_PART('hour', ts).")
    name = field.value.lower()
    if name == "epoch":
        return call("epoch", arguments[1])
    return call("date_part", _text(FIELDS.get(name, name)), arguments[1])


def _date_trunc(arguments: Sequence[Node]) -> Node:
    unit = arguments[0]
    if not isinstance(unit, Literal) or not isinstance(unit.value, str):
        raise UsageError("the unit must be written out; write DATE_TRUNC('month', ts).")
    return call("date_trunc", _text(unit.value.lower()), arguments[1])


def _date(arguments: Sequence[Node]) -> Node:
    fitted = as_kind(arguments[0], Kind.DATE)
    return Cast(arguments[0], Kind.DATE) if fitted is None else fitted


def _date_diff(arguments: Sequence[Node]) -> Node:
    """Return how many times a unit begins between two times, the number of boundaries, as DuckDB has it."""
    unit, start, end = arguments
    name = unit.value.lower() if isinstance(unit, Literal) and isinstance(unit.value, str) else ""
    if name in {"year", "quarter", "month"}:
        return call("subtract", _months(name, end), _months(name, start))
    if name not in SECONDS:
        raise UsageError(f"the unit must be one of year, quarter, month, {', '.join(SECONDS)}; write one of them.")
    cut = [call("date_trunc", _text(name), time) for time in (end, start)]
    if name == "day":
        return call("subtract", Cast(cut[0], Kind.DATE), Cast(cut[1], Kind.DATE))
    whole = [Cast(call("epoch", time), Kind.BIGINT) for time in cut]
    return call("divide_whole", call("subtract", *whole), _whole(SECONDS[name]))


def _months(unit: str, time: Node) -> Node:
    year = call("date_part", _text("year"), time)
    if unit == "year":
        return year
    count = 12 if unit == "month" else 4
    return call("add", call("multiply", year, _whole(count)), call("date_part", _text(unit), time))


def _ilike(arguments: Sequence[Node]) -> Node:
    pattern = arguments[1]
    if not isinstance(pattern, Literal) or not isinstance(pattern.value, str):
        raise UsageError("the pattern must be written out; write it in quotes.")
    if not pattern.value.isascii():
        raise UsageError("the pattern of ILIKE must be ASCII; write LIKE for each way of writing it.")
    return call("like", call("lower", arguments[0]), _text(pattern.value.lower()))


def _if(arguments: Sequence[Node]) -> Node:
    return case([(arguments[0], arguments[1])], arguments[2] if len(arguments) > 2 else None)


def _identity(arguments: Sequence[Node]) -> Node:
    return arguments[0]


FIELDS: Mapping[str, str] = {
    "dow": "dayofweek", "weekday": "dayofweek", "doy": "dayofyear", "dayofmonth": "day", "weekofyear": "week",
    "years": "year", "months": "month", "days": "day", "hours": "hour", "minutes": "minute", "seconds": "second",
}  # fmt: skip
"""Other names of fields."""

SECONDS: Mapping[str, int] = {"day": 86_400, "hour": 3_600, "minute": 60, "second": 1}
"""Units that DATE_DIFF counts in beside months; weeks are not, which DuckDB counts from another day before 1970."""

SUGAR: Mapping[str, Sugar] = {
    **{name: _folded(name) for name in ("least", "greatest", "coalesce")},
    **{field: _part(field) for field in PARTS},
    **{name: _part(FIELDS[name]) for name in ("weekday", "dayofmonth", "weekofyear")},
    "concat": Sugar("CONCAT(a, b, ...)", 1, MANY, _concat),
    "if": Sugar("IF(condition, e, f)", 2, 3, _if),
    "iif": Sugar("IIF(condition, e, f)", 2, 3, _if),
    "iff": Sugar("IFF(condition, e, f)", 2, 3, _if),
    "safe_divide": Sugar("SAFE_DIVIDE(a, b)", 2, 2, lambda arguments: call("divide", *arguments)),
    "zeroifnull": Sugar("ZEROIFNULL(e)", 1, 1, lambda arguments: call("coalesce", arguments[0], _whole(0))),
    "date_part": Sugar("DATE_PART('hour', ts)", 2, 2, _date_part),
    "datepart": Sugar("DATE_PART('hour', ts)", 2, 2, _date_part),
    "date_trunc": Sugar("DATE_TRUNC('month', ts)", 2, 2, _date_trunc),
    "datetrunc": Sugar("DATE_TRUNC('month', ts)", 2, 2, _date_trunc),
    "date": Sugar("DATE(ts)", 1, 1, _date),
    "date_diff": Sugar("DATE_DIFF('day', a, b)", 3, 3, _date_diff),
    "datediff": Sugar("DATE_DIFF('day', a, b)", 3, 3, _date_diff),
    "ilike": Sugar("e ILIKE 'pattern'", 2, 2, _ilike),
    "pi": Sugar("PI()", 0, 0, lambda arguments: Literal(math.pi, Kind.DOUBLE)),
    "try": Sugar("TRY(e)", 1, 1, _identity),
}
"""By name, in lower case. TRY means nothing more here: what fails is NULL anyway."""
