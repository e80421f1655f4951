"""A Spark DataFrame, or a table or view of the active Spark session, as a source of rows.

Its rows stay where they are: Spark reads them, and what leaves is statistics. What a DataFrame or a view makes of its
own inputs is its owner's doing: a row of it must come from rows of its own user, and from nothing that changes by
itself. Functions that do (``rand()``, ``uuid()``, ``LIMIT`` without an order) are refused where Spark's own account
of the plan shows them; a function of Python may hide them.

Spark has no cheap and sure sign that data has changed, so the data version is what the owner declares, or is new with
every :func:`emdp.read`.
"""

import contextlib
import io
import os
import re
import sys
import uuid
from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar
from urllib.parse import unquote

from emdp.base.classes import dataclass
from emdp.base.errors import EmdpError, InternalError, UsageError
from emdp.base.frames import DAY_MICROSECONDS, EARLIEST, LATEST
from emdp.tables.base import Source, type_name
from emdp.tables.column_types import parsed_type
from emdp.tables.engines.spark.errors import SESSION_STOPPED, hidden_errors, is_spark_error, quiet_spark, uninterrupted
from emdp.tables.engines.spark.logs import check_no_spark_log
from emdp.tables.files import file_marks, place_marks, state_marks

__all__ = [
    "SPARK",
    "SparkSource",
    "is_same_rows",
    "is_supported",
    "open_frame",
    "shown_plan",
]

SPARK = "spark"
"""Name of the engine, and what stands before ``::`` in the text form of its tables."""

DUCKDB_TYPES = {
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
    "timestamp_ntz": "TIMESTAMP",
}
"""DuckDB's name of each of Spark's types that has no parameters."""

TIMES = ("DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE")
SUPPORTED = (*DUCKDB_TYPES.values(), "VARCHAR", "DECIMAL")

TEXTS = ("string", "varchar", "char")

UNSTEADY = re.compile(
    r"\b(rand|randn|random|randstr|uniform|uuid|shuffle|monotonically_increasing_id|monotonicallyincreasingid|"
    r"spark_partition_id|sparkpartitionid|input_file_name|input_file_block_start|now|current_timestamp|current_date|"
    r"current_time|localtimestamp|reflect|java_method|(?:first|last|any_value)(?=\((?!.*windowspecdefinition)))\(",
    re.IGNORECASE,
)
"""Functions whose values are others in the next statement, or may be. In a window the first row is the owner's."""

LIMITS = re.compile(r"^[\s:+\-!]*(GlobalLimit|LocalLimit|Offset|Tail|Sample)\b", re.MULTILINE)
SORTS = re.compile(r"^[\s:+\-!]*Sort \[.*\], true", re.MULTILINE)
"""Nodes of a plan that choose rows, and a sort of all rows, which makes the choice a steady one."""


@dataclass(frozen=True, eq=False)
class SparkSource(Source):
    """A DataFrame, or the name of a table or view, written ``"spark::visits"`` or ``"spark::city.visits"``.

    Parameters
    ----------
    given : pyspark.sql.DataFrame or None
        The DataFrame.
    table : str or None
        The table, where there is no DataFrame; it is looked for when the rows are.
    default_name : str
        Name in SQL.
    version : str
        What stands for the state of the data.
    """

    given: Any = None
    table: str | None = None
    default_name: str = "data"
    version: str = field(default_factory=lambda: uuid.uuid4().hex)
    engine: ClassVar[str] = SPARK

    def __repr__(self) -> str:
        return f"SparkSource({self.default_name!r})"

    def session(self) -> Any:
        """Return the Spark session of the rows; one is started where there is none.

        Raises
        ------
        UsageError
            If the session was stopped, or none can be started.
        """
        if self.given is None:
            return _active_session()
        session = self.given.sparkSession
        if _is_stopped(session):
            raise UsageError(SESSION_STOPPED)
        return session

    def frame(self) -> Any:
        """Return the DataFrame, checked to give the same rows every time as far as its plan tells.

        Raises
        ------
        UsageError
            If the session has no such table, was stopped or cannot be started, or the plan is not steady.
        """
        session = self.session()
        if self.given is not None:
            return self.given
        frame = None
        with quiet_spark():
            try:
                frame = session.table(_quoted(self.table or ""))
            except Exception as error:
                if not is_spark_error(error):
                    raise
        if frame is None:
            raise UsageError(
                f"the Spark session has no table or view {self.table!r} that can be read; create it, or name another."
            )
        _check_steady(frame)
        return frame

    def schema(self) -> dict[str, str]:
        """Return column names and DuckDB types, as :meth:`Source.schema` does.

        Raises
        ------
        UsageError
            If the session takes two of the columns for one, or one for a setting of its own.
        """
        frame = self.frame()
        with hidden_errors():
            fields = frame.schema.fields
            is_exact = frame.sparkSession.conf.get("spark.sql.caseSensitive") == "true"
        found: set[str] = set()
        for column in fields:
            name = column.name if is_exact else column.name.lower()
            if name in found:
                raise UsageError(f"source has the column {column.name!r} twice; rename one of the two, or drop it.")
            _check_name(column.name)
            found.add(name)
        return {column.name: _duckdb_type(column.dataType) for column in fields}

    def fingerprint(self) -> str:
        return f"{SPARK}:{self.version}"

    def marks(self) -> tuple[list[str], list[str], list[str]]:
        """Return marks of the table's name, and of the files that Spark says it reads."""
        with hidden_errors(), uninterrupted():
            files = [unquote(file).removeprefix("file://") for file in self.frame().inputFiles()]
        names = [] if self.table is None else [f"/{SPARK}::{self.table.lower()}"]
        return (*file_marks([*names, *files]), state_marks(files))

    def places(self) -> list[str]:
        return [] if self.table is None else place_marks([f"{SPARK}::{self.table.lower()}"])

    def attach(self, connection: Any, view: str = "source_rows") -> list[str]:
        raise InternalError("rows of Spark were about to be read by DuckDB; please report it.")

    def rows(self, schema: Mapping[str, str]) -> Any:
        """Return the declared columns as statements take them: a DataFrame.

        Times are microseconds since 1970 in UTC, NULL outside the years 1 to 9999 (of a time without a zone, as if its
        clock were that of UTC), and texts are compared as they are, whatever their collation.
        """
        from pyspark.sql import functions

        frame = self.frame()
        columns = []
        for name, kind in schema.items():
            if is_supported(kind):
                _check_name(name)
                column = functions.col(_quoted_name(name))
                columns.append(_as_taken(column, kind, functions).alias(name))
        return frame.select(*columns)

    def no_rows(self, schema: Mapping[str, str]) -> Any:
        """Return an empty DataFrame of the columns that :meth:`rows` returns."""
        kinds = {"VARCHAR": "string", **dict.fromkeys(TIMES, "bigint")}
        named = {duckdb: own for own, duckdb in DUCKDB_TYPES.items()}
        columns = []
        for name, kind in schema.items():
            parsed = parsed_type(kind) if is_supported(kind) else None
            if parsed is not None:
                _check_name(name)
                own = kinds.get(parsed) or named.get(parsed) or parsed
                columns.append(f"CAST(NULL AS {own}) AS {_quoted_name(name)}")
        # One partition of a range, which the optimizer does not see to be empty.
        return self.session().range(0, 0, 1, 1).selectExpr(*columns)


def is_same_rows(one: object, other: object) -> bool:
    """Say whether two sources are of Spark and the same table, or compute the same rows.

    >>> is_same_rows(SparkSource(table="visits"), SparkSource(table="Visits"))
    True
    """
    if not isinstance(one, SparkSource) or not isinstance(other, SparkSource):
        return False
    if one.table is not None and other.table is not None and one.table.lower() == other.table.lower():
        return True
    # Another name may be one with its database, or a view that adds nothing.
    try:
        frames = one.frame(), other.frame()
        with hidden_errors():
            return frames[0].sparkSession is frames[1].sparkSession and bool(frames[0].sameSemantics(frames[1]))
    except EmdpError:
        return False


def is_supported(kind: str) -> bool:
    """Say whether statements can take a column of a DuckDB type from Spark.

    >>> is_supported("DECIMAL(10,2)"), is_supported("STRUCT")
    (True, False)
    """
    return type_name(kind) in SUPPORTED


def open_frame(frame: Any) -> SparkSource:
    """Return the source of a DataFrame.

    Raises
    ------
    UsageError
        If it is one of Spark Connect, or its plan is not steady.
    """
    if type(frame).__module__.startswith("pyspark.sql.connect"):
        raise UsageError(
            "source is a DataFrame of Spark Connect, which is not supported; open a session with a Spark of its own."
        )
    source = SparkSource(given=frame)
    _check_steady(source.frame())
    return source


def shown_plan(frame: Any, *, extended: bool) -> str:
    """Return Spark's account of how it computes a DataFrame, which no job is run for."""
    shown = io.StringIO()
    with hidden_errors(), uninterrupted(), contextlib.redirect_stdout(shown):
        frame.explain(extended=extended)
    return shown.getvalue()


def _active_session() -> Any:
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise UsageError('a source of Spark needs pyspark; install it with pip install "emdp[spark]".') from None
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    # Workers run what this process runs, or their versions of Python may differ.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        with quiet_spark():
            return SparkSession.builder.getOrCreate()
    except Exception as error:
        if not isinstance(error, OSError) and not is_spark_error(error):
            raise
    raise UsageError(
        "Spark could not be started; install Java 17 and set JAVA_HOME, or pass a DataFrame of a running session."
    )


def _is_stopped(session: Any) -> bool:
    """Say whether a session was stopped, by this process or by Spark itself."""
    context = session.sparkContext
    if context._jsc is None:
        return True
    with hidden_errors(), uninterrupted():
        return bool(context._jsc.sc().isStopped())


def _duckdb_type(kind: Any) -> str:
    written: str = kind.simpleString()
    name = written.split("(", maxsplit=1)[0].split("<", maxsplit=1)[0].split(" ", maxsplit=1)[0]
    if name in TEXTS:
        return "VARCHAR"
    if name == "decimal":
        return f"DECIMAL({kind.precision},{kind.scale})"
    # Of other types the name alone: an error may show it, and nothing reads such a column.
    return DUCKDB_TYPES.get(name, name.upper())


def _as_taken(column: Any, kind: str, functions: Any) -> Any:
    if kind == "VARCHAR":
        return column.cast("string collate UTF8_BINARY")
    if kind == "TIMESTAMP WITH TIME ZONE":
        return functions.unix_micros(column)
    if kind not in {"TIMESTAMP", "DATE"}:
        return column
    # Spark's dates reach farther than 64 bits of microseconds; days outside are brought to one that is out of range.
    first, last = EARLIEST // DAY_MICROSECONDS - 1, LATEST // DAY_MICROSECONDS
    day = functions.unix_date(column.cast("date"))
    inside = functions.when(day < first, first).when(day > last, last).otherwise(day)
    midnight = inside.cast("bigint") * functions.lit(DAY_MICROSECONDS)
    if kind == "DATE":
        return midnight
    # A time without a zone has fields that no setting moves; as a whole it cannot be turned into a number so.
    seconds = (functions.hour(column) * 3600 + functions.minute(column) * 60).cast("bigint") * functions.lit(10**6)
    micros = (functions.expr("1000000") * functions.extract(functions.lit("SECOND"), column)).cast("bigint")
    return midnight + seconds + micros


def _check_steady(frame: Any) -> None:
    """Raise if a plan shows that its rows are others every time, never end, or are files of a table with a log."""
    if frame.isStreaming:
        raise UsageError("source is a stream, whose rows have no end; write it to a table first and read that.")
    # What the owner wrote; later forms of the plan hold what Spark itself has made of it.
    plan = (
        shown_plan(frame, extended=True)
        .partition("== Analyzed Logical Plan ==")[2]
        .partition("== Optimized Logical Plan ==")[0]
    )
    found = UNSTEADY.search(plan)
    what = f"calls {found[1].lower()}()" if found else None
    if what is None and LIMITS.search(plan) and not SORTS.search(plan):
        what = "chooses rows in no order (LIMIT or a sample)"
    with hidden_errors():
        check_no_spark_log(frame)
        analyzed = frame._jdf.queryExecution().analyzed()
        if what is None and _drops_duplicates(analyzed):
            what = "chooses rows in no order (dropDuplicates on some columns)"
        if what is None and not analyzed.deterministic():
            what = "calls a function that Spark takes for one of chance"
    if what is not None:
        raise UsageError(
            f"source {what}, so its rows may be others in every statement; write it to a table first and read that."
        )


def _drops_duplicates(plan: Any) -> bool:
    """Say whether a plan keeps one of several rows that differ in other columns."""
    if plan.nodeName().startswith("Deduplicate") and plan.keys().size() < plan.output().size():
        return True
    children = plan.children()
    return any(_drops_duplicates(children.apply(place)) for place in range(children.size()))


def _check_name(column: str) -> None:
    """Refuse a name that Spark would change in a statement; declared columns are not read off the source."""
    if "${" in column:
        raise UsageError(f"source has a column {column!r}, which Spark puts a setting for; rename it.")


def _quoted(table: str) -> str:
    return ".".join(_quoted_name(part) for part in table.split("."))


def _quoted_name(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
