"""Local time: an instant in UTC as clocks of a zone show it.

The offset is found by halves in a nest of CASE over the list of :mod:`emdp.base.zones`, equal on all engines, and no
engine's own zones are asked. Outside the years 1900 to 2037 the result is NULL. From UTC to local time nothing is
ambiguous; where clocks go back two instants have one local time, and where they go forward an hour has none.
"""

import datetime
from collections.abc import Callable, Sequence

from emdp.base.zones import END, START, Offsets, offsets_of, zone_names
from emdp.rows.record import Form, Given, RowFunction
from emdp.rows.types import Kind, Value

__all__ = ["RECORDS", "local_microseconds"]

EPOCH = datetime.datetime(1970, 1, 1)


def _zone_problem(value: Value) -> str | None:
    return None if value in zone_names() else "is no IANA name of tzdata"


def _nest(offsets: Offsets, low: int, high: int, instant: Callable[[int], str]) -> str:
    """Return the offset, in seconds, where it is one of ``seconds[low..high]``."""
    if low == high:
        return f"({offsets.seconds[low]})"
    middle = (low + high + 1) // 2
    before, after = _nest(offsets, low, middle - 1, instant), _nest(offsets, middle, high, instant)
    return f"CASE WHEN emdp_0 < {instant(offsets.instants[middle - 1])} THEN {before} ELSE {after} END"


def _duckdb(values: Sequence[Value]) -> str:
    offsets = offsets_of(str(values[1]))
    offset = _nest(offsets, 0, len(offsets.seconds) - 1, lambda instant: _time(EPOCH + _delta(instant)))
    inside = f"emdp_0 >= {_time(START)} AND emdp_0 < {_time(END)}"
    return f"CASE WHEN {inside} THEN emdp_0 + to_seconds(CAST({offset} AS INTEGER)) END"


def local_microseconds(zone: str) -> str:
    """Return the spelling of a local time in microseconds, of an instant ``emdp_0`` in microseconds since 1970.

    >>> local_microseconds("Etc/GMT-1")[-60:]
    'THEN emdp_0 + CAST((3600) AS BIGINT) * 1000000 ELSE NULL END'
    """
    offsets = offsets_of(zone)
    offset = _nest(offsets, 0, len(offsets.seconds) - 1, lambda instant: f"({instant * 1_000_000})")
    start, end = offsets.microseconds
    inside = f"emdp_0 >= ({start}) AND emdp_0 < {end}"
    return f"CASE WHEN {inside} THEN emdp_0 + CAST({offset} AS BIGINT) * 1000000 ELSE NULL END"


def _spark(values: Sequence[Value]) -> str:
    return local_microseconds(str(values[1]))


def _time(time: datetime.datetime) -> str:
    return f"TIMESTAMP '{time.isoformat(sep=' ')}'"


def _delta(seconds: int) -> datetime.timedelta:
    return datetime.timedelta(seconds=seconds)


RECORDS = (
    RowFunction(
        "local_time",
        (
            Form(
                (
                    Kind.TIMESTAMP,
                    Given(
                        Kind.TEXT,
                        "a zone",
                        _zone_problem,
                        "write ts AT TIME ZONE 'Europe/Paris', an IANA name in its own capitals",
                        ("America/New_York", "UTC", "Asia/Kathmandu", "Australia/Lord_Howe"),
                    ),
                ),
                Kind.TIMESTAMP,
                _duckdb,
                _spark,
            ),
        ),
    ),
)
