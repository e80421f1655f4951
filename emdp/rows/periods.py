"""Days, hours, months, ... that conditions on times leave: public lists of groups, whatever the records are.

A span of times follows from the literals that times are compared with. The list of a key is all of its values within
the span; it may be longer than needed, where clocks change, and never depends on a record.
"""

import datetime
from collections.abc import Callable, Iterable, Mapping

from emdp.base.zones import END, START, offsets_of
from emdp.rows.nodes import Call, Cast, Literal, Node
from emdp.rows.types import Kind, Value

__all__ = ["listed_periods", "period_of"]

Time = datetime.datetime
Span = tuple[Time | None, Time | None]
"""Least and largest time, None where nothing is known."""

_TICK = datetime.timedelta(microseconds=1)
_DAY = datetime.timedelta(days=1)
_EPOCH = Time(1970, 1, 1)
_FIXED: Mapping[str, datetime.timedelta] = {
    "week": 7 * _DAY, "day": _DAY, "hour": datetime.timedelta(hours=1), "minute": datetime.timedelta(minutes=1),
}  # fmt: skip
_MONTHS: Mapping[str, int] = {"year": 12, "quarter": 3, "month": 1}


def listed_periods(node: Node, conditions: Iterable[Node], most: int) -> tuple[Value, ...] | None:
    """Return the values that a date, a time cut by DATE_TRUNC, or a year has under conditions on times, in order.

    Parameters
    ----------
    conditions : iterable of Node
        What every row fulfils: comparisons of times with literals count, all else is left aside.

    Returns
    -------
    tuple or None
        None where the conditions leave an end open, or more values than ``most``.

    >>> from emdp.rows.nodes import Column
    >>> ts = Column("t", "ts", Kind.TIMESTAMP)
    >>> ends = Time(2024, 1, 31), Time(2024, 3, 1)
    >>> from_, until = (Literal(end, Kind.TIMESTAMP) for end in ends)
    >>> within = Call("at_least", (ts, from_)), Call("less", (ts, until))
    >>> listed_periods(Cast(Call("date_trunc", (Literal("month", Kind.TEXT), ts)), Kind.DATE), within, 100)
    (datetime.date(2024, 1, 1), datetime.date(2024, 2, 1))
    """
    unit, inner = period_of(node)
    if unit is None:
        return None
    try:
        low, high = _span(inner, _bounds(conditions))
        if low is None or high is None:
            return None
        found: list[Value] = []
        start = _cut(low, unit)
        while start <= high:
            if len(found) == most:
                return None
            found.append(start.date() if node.kind is Kind.DATE else start.year if node.kind is Kind.BIGINT else start)
            start = _next(start, unit)
    except (OverflowError, ValueError):
        # Beyond the years 1 to 9999.
        return None
    return tuple(found)


def period_of(node: Node) -> tuple[str | None, Node]:
    """Return by which unit a key cuts the times of which node, None for other nodes."""
    if isinstance(node, Cast) and node.kind is Kind.DATE and node.argument.kind is Kind.TIMESTAMP:
        unit, inner = period_of(node.argument)
        # Of a time that is cut by hours the date is one of days.
        return (unit, inner) if unit in {*_MONTHS, "week"} else ("day", inner if unit else node.argument)
    if node.kind is Kind.DATE:
        return "day", node
    if isinstance(node, Call) and node.function in ("date_trunc", "date_part") and isinstance(node.values[0], str):
        unit = node.values[0]
        is_known = unit in {*_FIXED, *_MONTHS} if node.function == "date_trunc" else unit == "year"
        return (unit if is_known else None), node.arguments[1]
    return None, node


def _bounds(conditions: Iterable[Node]) -> dict[Node, Span]:
    found: dict[Node, Span] = {}
    for condition in conditions:
        if not isinstance(condition, Call) or len(condition.arguments) != 2:
            continue
        function, (left, right) = condition.function, condition.arguments
        if isinstance(left, Literal):
            function, left, right = _SWAPPED.get(function, function), right, left
        if isinstance(right, Literal) and isinstance(right.value, datetime.date) and function in _BOUNDS:
            low, high = _BOUNDS[function](_time(right.value), _TICK if left.kind is Kind.TIMESTAMP else _DAY)
            _narrow(found, left, low, high)
    return found


def _narrow(found: dict[Node, Span], node: Node, low: Time | None, high: Time | None) -> None:
    """Note a span of a node, and what it says of the time that the node is the date or a period of."""
    own = found.get(node, (None, None))
    lows, highs = ([end for end in ends if end is not None] for ends in ((own[0], low), (own[1], high)))
    found[node] = max(lows, default=None), min(highs, default=None)
    if isinstance(node, Cast) and node.argument.kind is Kind.TIMESTAMP:
        _narrow(found, node.argument, low, None if high is None else high + _DAY - _TICK)
    if isinstance(node, Call) and node.function == "date_trunc":
        unit = str(node.values[0])
        if unit in {*_FIXED, *_MONTHS}:
            last = None if high is None else _next(_cut(high, unit), unit) - _TICK
            _narrow(found, node.arguments[1], low, last)


def _span(node: Node, bounds: Mapping[Node, Span]) -> Span:
    low, high = bounds.get(node, (None, None))
    if low is not None and high is not None:
        return low, high
    below: Span = (None, None)
    if isinstance(node, Cast) and node.argument.kind.is_time:
        below = _span(node.argument, bounds)
    elif isinstance(node, Call) and node.function == "date_trunc" and str(node.values[0]) in {*_FIXED, *_MONTHS}:
        start, end = _span(node.arguments[1], bounds)
        below = None if start is None else _cut(start, str(node.values[0])), end
    elif isinstance(node, Call) and node.function == "local_time":
        below = _local(_span(node.arguments[0], bounds), str(node.values[1]))
    return (below[0] if low is None else low), (below[1] if high is None else high)


def _local(span: Span, zone: str) -> Span:
    """Return what clocks of a zone show at instants of a span: any offset within it counts."""
    low, high = (END if end is None else end for end in span)
    low = START if span[0] is None else low
    offsets = offsets_of(zone)
    places = [(_EPOCH + datetime.timedelta(seconds=instant)) for instant in offsets.instants]
    first, last = sum(place <= low for place in places), sum(place <= high for place in places)
    steps = [datetime.timedelta(seconds=seconds) for seconds in offsets.seconds[first : last + 1]]
    return (None if span[0] is None else low + min(steps)), (None if span[1] is None else high + max(steps))


def _cut(time: Time, unit: str) -> Time:
    if unit in _MONTHS:
        month = (time.month - 1) // _MONTHS[unit] * _MONTHS[unit] + 1
        return Time(time.year, month, 1)
    midnight = Time(time.year, time.month, time.day)
    if unit == "week":
        return midnight - time.weekday() * _DAY
    return time - (time - midnight) % _FIXED[unit]


def _next(start: Time, unit: str) -> Time:
    if unit not in _MONTHS:
        return start + _FIXED[unit]
    months = start.year * 12 + start.month - 1 + _MONTHS[unit]
    return Time(months // 12, months % 12 + 1, 1)


def _time(value: datetime.date) -> Time:
    return value if isinstance(value, Time) else Time(value.year, value.month, value.day)


_SWAPPED: Mapping[str, str] = {
    "less": "greater", "greater": "less", "at_most": "at_least", "at_least": "at_most",
}  # fmt: skip
_BOUNDS: Mapping[str, Callable[[Time, datetime.timedelta], Span]] = {
    "equal": lambda time, step: (time, time),
    "at_least": lambda time, step: (time, None),
    "greater": lambda time, step: (time + step, None),
    "at_most": lambda time, step: (None, time),
    "less": lambda time, step: (None, time - step),
}
