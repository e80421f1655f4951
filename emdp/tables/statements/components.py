"""Components of times as SQL: the same numbers as ``emdp/base/frames.py`` makes, whatever the session's time zone is.

Everything starts from microseconds since 1970 in UTC, a whole number that no setting changes, and NULL where there is
no time: for NULL, both infinities, a text that is no time, and outside the years 1 to 9999. A zone adds its offset to
that number, whole seconds by :mod:`emdp.base.zones`. Calendar fields are taken from a TIMESTAMP made of it; a TIMESTAMP
WITH TIME ZONE would give them in the zone of the session.
"""

from sqlglot import exp

from emdp.base.errors import UsageError
from emdp.base.frames import DAY_MICROSECONDS, EARLIEST, LATEST, Component
from emdp.base.zones import offsets_of
from emdp.rows.records.zones import local_microseconds
from emdp.tables.base import type_name
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.fragments import Sql
from emdp.tables.statements.spelled import filled, parsed

__all__ = ["TIME_TYPES", "check_component", "component_value", "instant_value"]

NANOSECOND_TYPES = ("TIMESTAMP_NS", "TIMESTAMPTZ_NS")
ZONED_TYPE = "TIMESTAMP WITH TIME ZONE"
DATE_TYPE = "DATE"
TIME_TYPES = ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", *NANOSECOND_TYPES, ZONED_TYPE, DATE_TYPE)
"""DuckDB's types that have components."""

DATE_PATTERN = r"\s*[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
CLOCK_PATTERN = r"[ T][0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?"
UTC_TEXT = rf"{DATE_PATTERN}({CLOCK_PATTERN}( ?(Z|UTC))?)?\s*"
OFFSET_TEXT = rf"{DATE_PATTERN}{CLOCK_PATTERN}[+-](0[0-9]|1[0-8])(:?[0-5][0-9])?\s*"
"""Times of a CSV file: ISO 8601, in UTC or with an offset. DuckDB's cast to TIMESTAMP reads more, and drops an offset
without a word, so that only its cast to TIMESTAMP WITH TIME ZONE may see one."""


def check_component(component: Component, kind: str) -> None:
    """Raise if a column of a DuckDB type has no such component.

    Raises
    ------
    UsageError
        If the type is no time, or a date without a time of day; if there is no such zone, or it has no use.

    >>> check_component(Component("hour", "ts"), "TIMESTAMP_NS")
    """
    written = str(component)
    if component.zone:
        offsets_of(component.zone)
        if component.part == "epoch":
            raise UsageError(f"{written} counts from an instant, which is the same in all zones; leave the zone out.")
    if type_name(kind) not in TIME_TYPES:
        raise UsageError(
            f"column {component.column!r} is {type_name(kind)}, but {written} needs a timestamp or a date; "
            "convert the column to TIMESTAMP, or name another."
        )
    if (component.needs_clock or component.zone) and type_name(kind) == DATE_TYPE:
        raise UsageError(
            f"column {component.column!r} is DATE, which has no {component.zone or component.part}; use a component of "
            f"days such as dow({component.column}), or a column of timestamps."
        )


def instant_value(column: Sql, kind: str) -> Sql:
    """Return the instants of a column of times, in microseconds since 1970, NULL where there is none.

    Parameters
    ----------
    kind : str
        Its DuckDB type; a text is read as ISO 8601.
    """
    return _bounded(_microseconds(column, type_name(kind)))


def component_value(component: Component, instant: Sql) -> Sql:
    """Return a component of instants, of which :func:`instant_value` says what they are, NULL where there is none."""
    time = instant
    if component.zone:
        # Named at each transition: it must be a column.
        time = filled(parsed(local_microseconds(component.zone)), {"emdp_0": instant})
    if component.part == "epoch":
        return sql.divide(sql.cast(time, "DOUBLE"), sql.number(1e6))
    if component.part == "time":
        # The remainder of a time before 1970 is negative, and a second one lifts it.
        lifted = sql.add(sql.remainder(time, _whole(DAY_MICROSECONDS)), _whole(DAY_MICROSECONDS))
        return sql.divide(sql.cast(sql.remainder(lifted, _whole(DAY_MICROSECONDS)), "DOUBLE"), sql.number(3.6e9))
    return _function("date_part", sql.text(component.part), _function("make_timestamp", time))


def _microseconds(column: Sql, kind: str) -> Sql:
    if kind in NANOSECOND_TYPES:
        count = _function("epoch_ns", column)
        # DuckDB divides towards zero, and before 1970 that is up.
        below = sql.case([(sql.compare(sql.remainder(count, _whole(1000)), "<", _whole(0)), _whole(1))], _whole(0))
        return sql.subtract(exp.IntDiv(this=count.copy(), expression=_whole(1000)), below)
    if kind == ZONED_TYPE:
        return _function("epoch_us", column)
    if kind in TIME_TYPES:
        return _function("epoch_us", _read_as("TIMESTAMP", column))
    branches = []
    for pattern, zone in ((UTC_TEXT, "TIMESTAMP"), (OFFSET_TEXT, "TIMESTAMPTZ")):
        matches = _function("regexp_full_match", column.copy(), sql.text(pattern))
        branches.append((matches, _function("epoch_us", _read_as(zone, column))))
    return sql.case(branches, exp.Null())


def _bounded(time: Sql) -> Sql:
    inside = sql.both([sql.compare(time, ">=", _whole(EARLIEST)), sql.compare(time.copy(), "<", _whole(LATEST))])
    return sql.case([(inside, time.copy())], exp.Null())


def _read_as(kind: str, value: Sql) -> Sql:
    # A cast that gives NULL for what it cannot read: a far date, or seconds that fit no microseconds.
    return exp.TryCast(this=value.copy(), to=exp.DataType(this=exp.DataType.Type[kind]), safe=True)


def _whole(value: int) -> Sql:
    literal = exp.Literal.number(str(abs(value)))
    return exp.Paren(this=exp.Neg(this=literal)) if value < 0 else literal


def _function(name: str, *arguments: Sql) -> Sql:
    return exp.Anonymous(this=name, expressions=list(arguments))
