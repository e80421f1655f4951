"""Lists of days and months that conditions leave: all that a time within them has, none where an end is open."""

import datetime as dt
import random
from zoneinfo import ZoneInfo

import pytest

from emdp.rows.nodes import Call, Cast, Column, Literal, Node, operands
from emdp.rows.periods import listed_periods
from emdp.rows.types import Kind, Value

TS = Column("t", "ts", Kind.TIMESTAMP)
ZONES = ("UTC", "America/New_York", "Pacific/Apia", "Australia/Lord_Howe")
UNITS = ("year", "quarter", "month", "week", "day", "hour", "minute")
MOST = 100_000


def local(zone: str) -> Node:
    return Call("local_time", (TS, Literal(zone, Kind.TEXT)))


def cut(unit: str, node: Node) -> Node:
    return Call("date_trunc", (Literal(unit, Kind.TEXT), node))


def value(node: Node, time: dt.datetime) -> Value:
    """Return the value of a key at an instant, by Python alone."""
    if node == TS:
        return time
    if isinstance(node, Cast):
        inner = value(node.argument, time)
        assert isinstance(inner, dt.datetime)
        return inner.date()
    assert isinstance(node, Call)
    if node.function == "local_time":
        return time.replace(tzinfo=dt.UTC).astimezone(ZoneInfo(str(node.values[1]))).replace(tzinfo=None)
    inner = value(node.arguments[1], time)
    assert isinstance(inner, dt.datetime)
    if node.function == "date_part":
        return inner.year
    midnight = dt.datetime(inner.year, inner.month, inner.day)
    return {
        "year": dt.datetime(inner.year, 1, 1), "quarter": dt.datetime(inner.year, (inner.month - 1) // 3 * 3 + 1, 1),
        "month": dt.datetime(inner.year, inner.month, 1), "week": midnight - dt.timedelta(days=inner.weekday()),
        "day": midnight, "hour": inner.replace(minute=0, second=0, microsecond=0),
        "minute": inner.replace(second=0, microsecond=0),
    }[str(node.values[0])]  # fmt: skip


def keys(zone: str) -> list[Node]:
    clock = local(zone)
    cuts = [cut(unit, clock) for unit in UNITS]
    return [Cast(clock, Kind.DATE), Call("date_part", (Literal("year", Kind.TEXT), clock)), *cuts,
            *(Cast(own, Kind.DATE) for own in cuts), cut("month", cut("day", TS)), Cast(TS, Kind.DATE)]  # fmt: skip


@pytest.mark.quarter
@pytest.mark.parametrize("zone", ZONES)
def test_every_value_within_the_bounds_is_listed(zone: str) -> None:
    source = random.Random(zone)
    for _ in range(12):
        start = dt.datetime(2011, 12, 20) + dt.timedelta(minutes=source.randrange(60 * 24 * 900))
        end = start + dt.timedelta(minutes=source.randrange(1, 60 * 24 * 20))
        for base in (TS, local(zone), Cast(local(zone), Kind.DATE), cut("month", local(zone))):
            kind = base.kind
            ends = [own.date() if kind is Kind.DATE else own for own in (start, end)]
            within = [Call("at_least", (base, Literal(ends[0], kind))), Call("greater", (Literal(ends[1], kind), base))]
            if kind is Kind.DATE:
                within[1] = Call("at_most", (base, Literal(ends[1], kind)))
            times = [start + dt.timedelta(minutes=source.randrange(-60 * 24 * 40, 60 * 24 * 60)) for _ in range(60)]
            times += [own + dt.timedelta(microseconds=step) for own in (start, end) for step in (-1, 0, 1)]
            # What the conditions leave, by Python alone.
            kept = [time for time in times if _holds(within[0], base, time) and _holds(within[1], base, time)]
            for key in keys(zone):
                listed = listed_periods(key, within, MOST)
                if listed is None:
                    assert not _is_over(key, base)
                    continue
                assert sorted(set(listed)) == list(listed)  # type: ignore[type-var]
                assert {value(key, time) for time in kept} <= set(listed), (str(key), str(base))
                assert len(listed) < 3 + 60 * 24 * 80


def _holds(condition: Call, base: Node, time: dt.datetime) -> bool:
    first, second = condition.arguments
    left, right = (own.value if isinstance(own, Literal) else value(base, time) for own in (first, second))
    compared = {"at_least": left >= right, "greater": left > right, "at_most": left <= right}  # type: ignore[operator]
    return compared[condition.function]


def _is_over(key: Node, base: Node) -> bool:
    """Say whether a key is a function of what is bounded."""
    return key == base or any(_is_over(part, base) for part in operands(key))


def test_lists_are_no_longer_than_they_need_to_be() -> None:
    def within(low: dt.datetime, high: dt.datetime) -> tuple[Node, Node]:
        ends = Literal(low, Kind.TIMESTAMP), Literal(high, Kind.TIMESTAMP)
        return Call("at_least", (local("America/New_York"), ends[0])), Call(
            "less", (local("America/New_York"), ends[1])
        )

    clock = local("America/New_York")
    march = within(dt.datetime(2024, 3, 1), dt.datetime(2024, 4, 1))
    assert listed_periods(Cast(clock, Kind.DATE), march, 31) == tuple(dt.date(2024, 3, day) for day in range(1, 32))
    assert listed_periods(Cast(clock, Kind.DATE), march, 30) is None
    assert listed_periods(cut("month", clock), march, 9) == (dt.datetime(2024, 3, 1),)
    assert listed_periods(Cast(cut("week", clock), Kind.DATE), march, 9) == tuple(
        dt.date(2024, 2, 26) + dt.timedelta(weeks=week) for week in range(5)
    )
    assert len(listed_periods(cut("hour", clock), march, 10_000) or ()) == 31 * 24
    assert listed_periods(Call("date_part", (Literal("year", Kind.TEXT), clock)), march, 9) == (2024,)


def test_an_open_end_or_another_node_gives_no_list() -> None:
    low = Call("at_least", (TS, Literal(dt.datetime(2024, 3, 1), Kind.TIMESTAMP)))
    high = Call("less", (Column("t", "other", Kind.TIMESTAMP), Literal(dt.datetime(2024, 3, 9), Kind.TIMESTAMP)))
    either = Call("or", (low, high))
    for conditions in ((), (low,), (low, high), (either, low)):
        assert listed_periods(Cast(TS, Kind.DATE), conditions, MOST) is None
    assert listed_periods(TS, (low, high), MOST) is None
    last = Call("at_most", (TS, Literal(dt.datetime(9999, 12, 31, 23), Kind.TIMESTAMP)))
    assert listed_periods(cut("year", TS), (low, last), MOST) is None


def test_local_days_of_instants_that_clocks_changed_between() -> None:
    def within(low: dt.datetime, high: dt.datetime) -> tuple[Node, Node]:
        ends = Literal(low, Kind.TIMESTAMP), Literal(high, Kind.TIMESTAMP)
        return Call("at_least", (TS, ends[0])), Call("at_most", (TS, ends[1]))

    day = Cast(local("America/New_York"), Kind.DATE)
    spring = within(dt.datetime(2024, 3, 9, 4, 30), dt.datetime(2024, 3, 11, 4, 30))
    assert listed_periods(day, spring, 9) == tuple(dt.date(2024, 3, own) for own in (8, 9, 10, 11))
    autumn = within(dt.datetime(2024, 11, 2, 4, 30), dt.datetime(2024, 11, 4, 5, 30))
    assert listed_periods(day, autumn, 9) == tuple(dt.date(2024, 11, own) for own in (1, 2, 3, 4))
