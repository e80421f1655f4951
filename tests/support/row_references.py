"""What functions of a row give, in Python: a second way to their values, from a node to a function of a row."""

import calendar
import datetime as dt
import hashlib
import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from emdp.rows.nodes import Call, Cast, Node
from emdp.rows.types import Kind

Reference = Callable[[Node], Callable[[tuple[Any, ...]], Any] | None]


def _strict(function: Callable[..., Any]) -> Reference:
    """Return a reference of a function that is NULL where an argument is, or where Python has no value."""

    def reference(node: Node) -> Callable[[tuple[Any, ...]], Any]:
        literals = [value for value in node.values if value is not None] if isinstance(node, Call) else []

        def of_row(row: tuple[Any, ...]) -> Any:
            if None in row:
                return None
            return function(*row, *literals)

        return of_row

    return reference


def _whole(function: Callable[..., int | None]) -> Reference:
    def limited(*arguments: Any) -> Any:
        found = function(*arguments)
        return found if found is None or -(2**63) <= found < 2**63 else None

    strict = _strict(limited)

    def reference(node: Node) -> Callable[[tuple[Any, ...]], Any] | None:
        kinds = [argument.kind for argument in node.arguments] if isinstance(node, Call) else []
        return strict(node) if set(kinds) <= {Kind.BIGINT} else None

    return reference


def _date(function: Callable[..., Any]) -> Callable[..., Any]:
    def safe(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except (ValueError, OverflowError):
            return None

    return safe


def _truncated(a: int, b: int) -> int | None:
    return None if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _remainder(a: int, b: int) -> int | None:
    return None if b == 0 else int(math.copysign(1, a)) * (abs(a) % abs(b))


def _position(text: str, part: str) -> int:
    return text.find(part) + 1


def _cut(time: dt.datetime, unit: str) -> dt.datetime:
    if unit == "week":
        return dt.datetime.combine(time.date() - dt.timedelta(days=time.weekday()), dt.time())
    if unit == "quarter":
        return dt.datetime(time.year, (time.month - 1) // 3 * 3 + 1, 1)
    units = ["year", "month", "day", "hour", "minute", "second"]
    fields = [time.year, time.month, time.day, time.hour, time.minute, time.second]
    kept = [*fields[: units.index(unit) + 1], 1, 1]
    return dt.datetime(*kept[: max(3, units.index(unit) + 1)])


FIELDS: dict[str, Callable[[dt.datetime], int]] = {
    "year": lambda time: time.year,
    "quarter": lambda time: (time.month + 2) // 3,
    "month": lambda time: time.month,
    "week": lambda time: time.isocalendar().week,
    "isoyear": lambda time: time.isocalendar().year,
    "day": lambda time: time.day,
    "dayofyear": lambda time: time.timetuple().tm_yday,
    "dayofweek": lambda time: time.isoweekday() % 7,
    "isodow": lambda time: time.isoweekday(),
    "hour": lambda time: time.hour,
    "minute": lambda time: time.minute,
    "second": lambda time: time.second,
}


def _local(time: dt.datetime, zone: str) -> dt.datetime | None:
    if not 1900 <= time.year <= 2037:
        return None
    return time.replace(tzinfo=dt.UTC).astimezone(ZoneInfo(zone)).replace(tzinfo=None)


def _like(text: str, pattern: str) -> bool:
    parts = {"%": "(?s:.*)", "_": "(?s:.)"}
    return re.fullmatch("".join(parts.get(letter, re.escape(letter)) for letter in pattern), text) is not None


def _moved(sign: int) -> Reference:
    days = _strict(_date(lambda day, count: day + dt.timedelta(days=sign * count)))
    between = _strict(lambda one, other: (one - other).days)

    def reference(node: Node) -> Callable[[tuple[Any, ...]], Any] | None:
        kinds = tuple(argument.kind for argument in node.arguments) if isinstance(node, Call) else ()
        if kinds == (Kind.DATE, Kind.BIGINT):
            return days(node)
        if kinds == (Kind.DATE, Kind.DATE):
            return between(node)
        return _whole(lambda a, b: a + sign * b)(node) if set(kinds) == {Kind.BIGINT} else None

    return reference


def _even(value: float) -> int | None:
    return round(value) if math.isfinite(value) and -(2**63) <= round(value) < 2**63 else None


def _to_bigint(node: Node) -> Callable[[tuple[Any, ...]], Any] | None:
    kind = node.argument.kind if isinstance(node, Cast) else None
    if kind is Kind.TEXT:
        return _strict(
            lambda text: (
                int(text) if re.fullmatch(r" *[+-]?[0-9]{1,19} *", text) and -(2**63) <= int(text) < 2**63 else None
            )
        )(node)
    return _strict(_even if kind is Kind.DOUBLE else int)(node)


def _to_date(node: Node) -> Callable[[tuple[Any, ...]], Any]:
    if isinstance(node, Cast) and node.argument.kind is Kind.TIMESTAMP:
        return _strict(dt.datetime.date)(node)

    def read(text: str) -> Any:
        found = re.fullmatch(r" *([0-9]{4})-([0-9]{1,2})-([0-9]{1,2}) *", text)
        return dt.date(*map(int, found.groups())) if found else None

    return _strict(_date(read))(node)


def _to_timestamp(node: Node) -> Callable[[tuple[Any, ...]], Any]:
    if isinstance(node, Cast) and node.argument.kind is Kind.DATE:
        return _strict(lambda day: dt.datetime.combine(day, dt.time()))(node)
    pattern = r" *[0-9]{4}-[0-9]{2}-[0-9]{2}[ T](?!24)[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})? *"

    def read(text: str) -> Any:
        return dt.datetime.fromisoformat(text.strip(" ")) if re.fullmatch(pattern, text) else None

    return _strict(_date(read))(node)


def _formatted(time: dt.datetime, pattern: str) -> str:
    # Python leaves the year 1 without its zeros.
    return time.strftime(pattern.replace("%Y", f"{time.year:04}"))


def _parsed(text: str, pattern: str) -> Any:
    return dt.datetime.strptime(text, pattern)


def _stepped(time: dt.datetime, unit: str, count: int) -> Any:
    months = {"year": 12, "quarter": 3, "month": 1}.get(unit)
    if months is None:
        return time + count * dt.timedelta(**{f"{unit}s": 1})
    total = time.year * 12 + time.month - 1 + count * months
    first = time.replace(year=total // 12, month=total % 12 + 1, day=1)
    last = calendar.monthrange(first.year, first.month)[1]
    return first.replace(day=min(time.day, last))


REFERENCES: dict[str, Reference] = {
    "add": _moved(1),
    "subtract": _moved(-1),
    "multiply": _whole(lambda a, b: a * b),
    "divide_whole": _whole(_truncated),
    "remainder": _whole(_remainder),
    "negate": _whole(lambda a: -a),
    "abs": _whole(abs),
    "length": _strict(len),
    "strlen": _strict(lambda text: len(text.encode())),
    "position": _strict(_position),
    "contains": _strict(lambda text, part: part in text),
    "starts_with": _strict(str.startswith),
    "ends_with": _strict(str.endswith),
    "substr": _strict(lambda text, start, size=10**6: text[start - 1 : start - 1 + size]),
    "left": _strict(lambda text, size: text[:size]),
    "right": _strict(lambda text, size: text[-size:]),
    "replace": _strict(lambda text, old, new: text.replace(old, new)),
    "split_part": _strict(lambda text, by, place: (text.split(by) + [""] * 1000)[place - 1]),
    "trim": _strict(lambda text: text.strip(" ")),
    "lower": _strict(lambda text: "".join("i" if letter == "\u0130" else letter.lower() for letter in text)),
    "md5": _strict(lambda text: hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()),
    "like": _strict(_like),
    "regexp_matches": _strict(lambda text, pattern: re.search(pattern.replace("$", r"\Z"), text, re.ASCII) is not None),
    "date_part": _strict(lambda time, field: FIELDS[field](time)),
    "date_trunc": _strict(_cut),
    "local_time": _strict(_local),
    "make_date": _strict(_date(dt.date)),
    "epoch": _strict(
        lambda time: float(Decimal((time - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)) / 10**6)
    ),
    "to_bigint": _to_bigint,
    "to_date": _to_date,
    "to_timestamp": _to_timestamp,
    "strftime": _strict(_formatted),
    "strptime": _strict(_date(_parsed)),
    "add_interval": _strict(_date(_stepped)),
}
"""By function; a reference gives None for a form that it does not know."""
