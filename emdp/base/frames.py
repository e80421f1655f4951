"""Reading columns of items from whatever frame a caller has: anything with the Arrow stream interface, or a mapping.

A column of items may be a component of a time, such as ``hour(ts)``: of the record's time in UTC, in the Gregorian
calendar, exact to the microsecond. ``hour(ts, 'Europe/Paris')`` is the same of the time that clocks of that zone show,
in the years for which :mod:`emdp.base.zones` has offsets. ``emdp/tables/statements/components.py`` computes the same
numbers in SQL.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError

if TYPE_CHECKING:
    from emdp.base.zones import Offsets

__all__ = [
    "BROKEN",
    "COMPONENTS",
    "DAY_MICROSECONDS",
    "EARLIEST",
    "LATEST",
    "Component",
    "columns_of",
    "find_component",
    "to_polars",
]

DAY_COMPONENTS = ("day", "dow", "isodow", "month", "quarter", "year", "week", "doy", "epoch")
CLOCK_COMPONENTS = ("hour", "minute", "time")
COMPONENTS = (*DAY_COMPONENTS, *CLOCK_COMPONENTS)
"""``dow`` counts from Sunday = 0, ``isodow`` from Monday = 1, ``week`` is ISO's; ``epoch`` is seconds since 1970 and
``time`` hours since midnight, both with fractions. The last three need a time of day."""

UNITS = {"epoch": 1e6, "time": 3.6e9}
"""Microseconds of one unit of a component with fractions."""

FIELDS = {"dow": "weekday", "isodow": "weekday", "doy": "ordinal_day"}
"""Polars' names of the fields of a time, where they are others."""

DAY_MICROSECONDS = 86_400_000_000
EARLIEST = -719_162 * DAY_MICROSECONDS
"""Year 1 in microseconds since 1970; earlier times have no component, since calendars of engines differ there."""

LATEST = 2_932_897 * DAY_MICROSECONDS
"""Year 10000 in microseconds since 1970: where times without a component begin again."""

INFINITE = 2**63 - 1
"""The counts of this size are DuckDB's two infinities, which only nanoseconds could take for times."""

BROKEN = (
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
    ArithmeticError,
    AttributeError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""Errors of Polars, of Arrow and of whoever made a stream, while it is read; the classes of Arrow's errors are among
them."""

NO_TABLE = "is no table; pass columns of one length, each of one type"
"""Words on a frame that could not be read to its end; the reason might quote a value."""

DAY_BY_UNIT = {"ms": 86_400_000, "us": DAY_MICROSECONDS, "ns": 86_400_000_000_000}


@dataclass(frozen=True)
class Component:
    """A component of the times in a column, written as a function of it."""

    part: str  # One of `COMPONENTS`
    column: str
    zone: str = ""  # IANA name of the zone whose clocks show the time; empty for UTC

    def __str__(self) -> str:
        return f"{self.part}({self.column}, '{self.zone}')" if self.zone else f"{self.part}({self.column})"

    @property
    def is_whole(self) -> bool:
        """Whether it is a whole number, and so may be a listed value."""
        return self.part not in UNITS

    @property
    def needs_clock(self) -> bool:
        """Whether a date without a time of day has no such component."""
        return self.part in CLOCK_COMPONENTS


def find_component(name: str, columns: Collection[str]) -> Component | None:
    """Return the component that a name stands for in a table, or None.

    A table that has a column of that very name means that column.

    >>> find_component("hour(ts)", ["ts"])
    Component(part='hour', column='ts', zone='')
    >>> find_component("hour(ts)", ["ts", "hour(ts)"]), find_component("hour(x)", ["ts"]), find_component("ts", ["ts"])
    (None, None, None)
    >>> find_component("time(ts, 'Europe/Paris')", ["ts"])
    Component(part='time', column='ts', zone='Europe/Paris')
    """
    found = re.fullmatch(r"([a-z]+)\((.+)\)", name, re.DOTALL)
    if name in columns or found is None or found[1] not in COMPONENTS:
        return None
    if found[2] in columns:
        return Component(found[1], found[2])
    column, _, zone = found[2].rpartition(", ")
    is_zoned = column in columns and re.fullmatch("'[^']+'", zone) is not None
    return Component(found[1], column, zone[1:-1]) if is_zoned else None


def to_polars(name: str, frame: object) -> pl.DataFrame:
    """Return ``frame`` as a Polars frame.

    Parameters
    ----------
    frame : object
        A frame with the Arrow C stream interface (Polars, Arrow, pandas, a DuckDB relation), or a mapping of
        column names to sequences.

    Raises
    ------
    UsageError
        If it is neither, breaks off, or has a column that the engines cannot take.

    >>> to_polars("P", {"x": [1.0, 2.0]}).shape
    (2, 1)
    """
    made, problem = _converted(frame)
    if made is None:
        # Raised here, where no error of another library is at hand whose text would quote values.
        raise UsageError(f"{name} {problem}.")
    return _plain_columns(name, made)


def columns_of(name: str, frame: object, columns: Sequence[str]) -> dict[str, pl.Series]:
    """Return the named columns of ``frame`` as Polars series, or raise ``UsageError`` naming a missing one.

    A component of a time that the frame has no column for is computed: Int64, or Float64 for ``epoch`` and ``time``;
    NULL outside the years 1 to 9999, and with a zone outside those for which there are offsets.

    >>> list(columns_of("P", {"x": [1.0], "y": [2.0]}, ["y"]))
    ['y']
    >>> from datetime import datetime
    >>> columns_of("P", {"ts": [datetime(1969, 12, 31, 23, 30)]}, ["hour(ts)"])["hour(ts)"].to_list()
    [23]
    """
    table: Any = to_polars(name, frame)
    found = {}
    for column in columns:
        component = find_component(column, table.columns)
        if component is not None:
            found[column] = _component_of(name, table.get_column(component.column), component).alias(column)
        elif column in table.columns:
            found[column] = table.get_column(column)
        else:
            raise UsageError(
                f"{name} has no column {column!r}, only {', '.join(map(repr, table.columns))}; "
                "rename the column or the space's."
            )
    return found


def _converted(frame: object) -> tuple[pl.DataFrame | None, str]:
    """Return a frame of Polars', or None and what is wrong with what was passed."""
    try:
        if isinstance(frame, pl.DataFrame):
            return frame, ""
        if isinstance(frame, pl.LazyFrame):
            return frame.collect(), ""
        if isinstance(frame, Mapping):
            return pl.DataFrame({str(key): values for key, values in frame.items()}, strict=False), ""
        if hasattr(frame, "__arrow_c_stream__"):
            return _imported(frame)
    except BROKEN:
        return None, NO_TABLE
    return None, (
        "must be a frame with the Arrow C stream interface or a mapping of columns, "
        f"not {type(frame).__name__}; pass a Polars, Arrow or pandas frame"
    )


def _imported(frame: Any) -> tuple[pl.DataFrame | None, str]:
    # Polars knows pandas' frames by themselves, and leaves out their index.
    if type(frame).__module__.partition(".")[0] == "pandas":
        return pl.DataFrame(frame), ""
    import pyarrow as pa

    try:
        rows = pa.RecordBatchReader.from_stream(frame)
    except Exception:  # noqa: BLE001 - who made the stream chooses what it raises, as DuckDB errors of its own
        return None, NO_TABLE
    if len(set(rows.schema.names)) < len(rows.schema.names):
        return None, "has two columns of one name; rename one of them"
    for column in rows.schema:
        if _is_foreign(column.type):
            return None, (
                f"has a column {column.name!r} of Arrow's type {_type_word(column.type)}, which no engine reads; "
                "convert it to numbers, texts or times"
            )
    table = rows.read_all()
    # Polars takes offsets and UTF-8 on trust.
    table.validate(full=True)
    return pl.DataFrame(table), ""


def _is_foreign(kind: Any) -> bool:
    """Say whether Polars panics at an Arrow type, rather than refuses it."""
    from pyarrow import types

    if types.is_union(kind) or types.is_interval(kind) or types.is_decimal256(kind):
        return True
    fields = [kind.field(place) for place in range(kind.num_fields)]
    # A name that is no UTF-8 is an error of Arrow's here, and a panic of Polars' later.
    inner = [own.type for own in fields if own.name is not None]
    inner += [kind.value_type] if types.is_dictionary(kind) else []
    return any(map(_is_foreign, inner))


def _type_word(kind: Any) -> str:
    return str(kind).partition("<")[0].partition("(")[0]


def _plain_columns(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame whose columns Arrow and DuckDB can take too: half floats become floats."""
    cast = []
    for column, kind in frame.schema.items():
        if "\0" in column:
            raise UsageError(f"{name} has a column whose name holds a NUL character; rename it.")
        plain = _plain_type(kind)
        if plain is None:
            raise UsageError(
                f"{name} has a column {column!r} of integers of 128 bits, which no engine reads; convert it to Int64, "
                "Decimal or text."
            )
        if plain != kind:
            cast.append(frame.get_column(column).cast(plain))
    return frame.with_columns(cast) if cast else frame


def _plain_type(kind: Any) -> Any:
    """Return a type of Polars with floats in place of half floats; None where it has integers of 128 bits."""
    if kind in (pl.Int128, pl.UInt128):
        return None
    if kind == pl.Float16:
        return pl.Float32
    if isinstance(kind, pl.List | pl.Array):
        inner = _plain_type(kind.inner)
        return None if inner is None else pl.List(inner) if isinstance(kind, pl.List) else pl.Array(inner, kind.size)
    if isinstance(kind, pl.Struct):
        fields = {own.name: _plain_type(own.dtype) for own in kind.fields}
        return None if None in fields.values() else pl.Struct(fields)
    return kind


def _component_of(name: str, series: pl.Series, component: Component) -> pl.Series:
    dtype = series.dtype
    offsets = None if not component.zone else _offsets(component)
    if dtype == pl.Null:
        return series.cast(pl.Int64)
    if dtype == pl.Date and (component.needs_clock or component.zone):
        raise UsageError(
            f"column {series.name!r} of {name} holds dates, which have no {component.zone or component.part}; "
            "use a component of days, or a column of timestamps."
        )
    if not isinstance(dtype, pl.Date | pl.Datetime):
        raise UsageError(
            f"column {series.name!r} of {name} must hold timestamps or dates for {component.part}({series.name}), "
            f"not {dtype}; convert it, as by str.to_datetime() of Polars."
        )
    times = _microseconds(series)
    return _component_values(times if offsets is None else _local(times, offsets), component.part)


def _offsets(component: Component) -> "Offsets":
    # Without zones nobody waits for them.
    from emdp.base.zones import offsets_of

    if component.part == "epoch":
        raise UsageError(f"{component} counts from an instant, which is the same in all zones; leave the zone out.")
    return offsets_of(component.zone)


def _local(times: pl.Series, offsets: "Offsets") -> pl.Series:
    """Return times in microseconds as clocks of a zone show them, NULL where nobody knows."""
    counts = times.fill_null(0).to_numpy()
    places = np.searchsorted(np.array(offsets.instants, dtype=np.int64) * 10**6, counts, side="right")
    shown = counts + np.array(offsets.seconds, dtype=np.int64)[places] * 10**6
    first, last = offsets.microseconds
    return pl.Series(shown).set(times.is_null() | (times < first) | (times >= last), None)


def _microseconds(series: pl.Series) -> pl.Series:
    """Return times as microseconds since 1970 UTC, rounded down, NULL outside the years 1 to 9999."""
    unit = series.dtype.time_unit if isinstance(series.dtype, pl.Datetime) else None
    counts = series.to_physical().cast(pl.Int64)
    a_day = 1 if unit is None else DAY_BY_UNIT[unit]
    days = counts // a_day
    # Compared in days, since a far time in a coarse unit does not fit 64 bits of microseconds.
    inside = (days >= EARLIEST // DAY_MICROSECONDS) & (days < LATEST // DAY_MICROSECONDS)
    inside &= counts.abs() != INFINITE
    counts = counts.zip_with(inside.fill_null(value=False), pl.Series([None], dtype=pl.Int64))
    return counts // (a_day // DAY_MICROSECONDS) if unit == "ns" else counts * (DAY_MICROSECONDS // a_day)


def _component_values(microseconds: pl.Series, part: str) -> pl.Series:
    if part in UNITS:
        counts = microseconds if part == "epoch" else microseconds % DAY_MICROSECONDS
        # Polars divides by a number as it multiplies by its reciprocal, and so rounds twice.
        return pl.Series(counts.fill_null(0).to_numpy() / UNITS[part]).set(counts.is_null(), None)
    times = microseconds.cast(pl.Datetime("us")).dt
    values: pl.Series = getattr(times, FIELDS.get(part, part))().cast(pl.Int64)
    return values % 7 if part == "dow" else values
