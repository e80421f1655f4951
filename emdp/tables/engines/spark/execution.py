"""Execution of statements on Spark: rewritten, in the session that the rows belong to.

Rows never come to the driver, only what a statement makes of them. No setting of the session is changed; views have
names that nobody can guess and are gone afterwards, and so is what was kept in between. Text of Spark's errors never
leaves this folder, since it may quote records; what Spark's own processes write to their logs is their owner's.
"""

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from types import MappingProxyType
from typing import Any

import polars as pl
from sqlglot import exp

from emdp.base.classes import dataclass
from emdp.base.errors import DataRuleError, InternalError, UsageError
from emdp.tables.base import Source
from emdp.tables.engines.spark.dialect import DIALECT, to_spark
from emdp.tables.engines.spark.errors import hidden_errors, uninterrupted
from emdp.tables.engines.spark.names import check_functions
from emdp.tables.engines.spark.shared import in_few_parts, rename_table, take_shared
from emdp.tables.engines.spark.source import SparkSource, is_supported, shown_plan
from emdp.tables.engines.spark.types import BOOLEAN, DOUBLE, TEXT, WHOLE, column_kind
from emdp.tables.facts import LinkedTable, TableFacts
from emdp.tables.statements.fragments import Sql

__all__ = [
    "Translated",
    "check_on_no_rows",
    "linked_in",
    "public_frame",
    "spark_rows",
    "spark_source",
    "statement_rows",
    "translated",
]

LARGEST_BROADCAST = 2**26
"""Bytes of a public table up to which every executor gets a copy of its own."""


@dataclass(frozen=True, eq=False)
class Translated:
    """A statement written for Spark; a public value.

    Parameters
    ----------
    text : str
        The statement.
    shared : tuple of (str, str)
        Names and statements of its parts that are kept, each of which may read those before it.
    tag : str
        What the names of its views begin with, which nothing else in the texts does; each run puts another one.
    read : frozenset of str
        Tables that it reads, by emdp's names.
    """

    text: str
    shared: tuple[tuple[str, str], ...]
    tag: str
    read: frozenset[str]

    @property
    def texts(self) -> str:
        """All that Spark is to parse."""
        return " ".join([*(text for _, text in self.shared), self.text])


def translated(
    table: TableFacts, query: Sql, lookups: Mapping[str, pl.DataFrame], users: pl.Series | None
) -> Translated:
    """Return a statement for Spark, of arguments as those of :func:`spark_rows`."""
    read = frozenset(found.name for found in query.find_all(exp.Table))
    kinds = {
        name: {column: _dtype_kind(kind) for column, kind in frame.schema.items()}
        for name, frame in _public(lookups, users, read).items()
    }
    kinds["source_rows"] = _column_kinds(table)
    kinds |= {own.view: _column_kinds(own) for own in table.linked.values() if own.view in read}
    tag = f"emdp_{uuid.uuid4().hex}"
    made = to_spark(query, kinds, {name: f"{tag}_{name}" for name in kinds})
    # Spark would compute what is used twice anew for each use.
    parts = take_shared(made)
    for shared in parts:
        for reader in (made, *(part.this for part in parts)):
            rename_table(reader, shared.alias, f"{tag}_{shared.alias}")
    texts = tuple((part.alias, part.this.sql(DIALECT, identify=True)) for part in parts)
    return Translated(made.sql(DIALECT, identify=True), texts, tag, read)


@contextmanager
def spark_rows(
    table: TableFacts, query: Sql | Translated, lookups: Mapping[str, pl.DataFrame], users: pl.Series | None
) -> Iterator[Any]:
    """Run a checked statement on a table's rows: a pyspark DataFrame, to be used inside the context.

    Parameters
    ----------
    table : Table
        Of a Spark source.
    query : Sql or Translated
        A statement as the compilers write it for DuckDB, over ``source_rows``; or what was made of one before.
    lookups : mapping of str to polars.DataFrame
        Public tables that it joins; small ones are sent to every executor.
    users : polars.Series or None
        Keys of the public users, for the table ``listed_users``.

    Raises
    ------
    EmdpError
        In place of every error of Spark, of the statement or of what is done with its rows in the context.
    KeyboardInterrupt
        After Ctrl-C. The jobs of the context are cancelled then, and the session stays usable.
    """
    source = spark_source(table.source)
    with hidden_errors():
        with uninterrupted():
            rows = source.rows(table.schema)
            linked = {own.view: spark_source(own.source).rows(own.schema) for own in linked_in(table, query)}
        with statement_rows(rows, table, query, lookups, users, linked) as frame:
            yield frame


def linked_in(table: TableFacts, query: Sql | Translated) -> list[LinkedTable]:
    """Return the tables linked to one that a statement reads."""
    read = query.read if isinstance(query, Translated) else {found.name for found in query.find_all(exp.Table)}
    return [own for own in table.linked.values() if own.view in read]


@contextmanager
def statement_rows(
    rows: Any,
    table: TableFacts,
    query: Sql | Translated,
    lookups: Mapping[str, pl.DataFrame],
    users: pl.Series | None,
    linked: Mapping[str, Any] = MappingProxyType({}),
) -> Iterator[Any]:
    """Run a statement on a DataFrame that stands for a table's rows, as :func:`spark_rows` does.

    ``linked`` has the DataFrames of the linked tables that it reads, by their views.
    """
    session = rows.sparkSession
    if any(frame.sparkSession._jsparkSession != session._jsparkSession for frame in linked.values()):
        raise UsageError("linked tables must be of one Spark session, which joins them; read all of them in one.")
    own = query if isinstance(query, Translated) else translated(table, query, lookups, users)
    tag = f"emdp_{uuid.uuid4().hex}"
    with uninterrupted():
        check_functions(session, own.texts)
    with ExitStack() as outer:
        stack = ExitStack()
        outer.callback(_undone, stack)
        with uninterrupted():
            session.addTag(tag)
            stack.callback(session.removeTag, tag)

            def register(name: str, frame: Any) -> None:
                frame.createTempView(name)
                stack.callback(_drop, session, name)

            for name, frame in {"source_rows": rows, **linked}.items():
                register(f"{tag}_{name}", frame)
            for name, frame in _public(lookups, users, own.read).items():
                register(f"{tag}_{name}", public_frame(session, frame))
            for name, text in own.shared:
                kept = in_few_parts(session.sql(text.replace(own.tag, tag)), table.users.count).persist()
                stack.callback(_forget, kept)
                register(f"{tag}_{name}", kept)
            made = session.sql(own.text.replace(own.tag, tag))
        yield made


def check_on_no_rows(table: TableFacts, compiled: Callable[[], Any]) -> None:
    """Compile a statement, and have Spark plan it on no rows of the table's columns; no job is run.

    Parameters
    ----------
    table : Table
        Of a Spark source.
    compiled : callable
        Returns a checked statement: its ``query`` and ``lookups``.

    Raises
    ------
    UsageError
        If Spark cannot compute it at all.
    """
    source = spark_source(table.source)
    try:
        statement = compiled()
        with hidden_errors():
            with uninterrupted():
                rows, query = source.no_rows(table.schema), statement.query
                linked = {own.view: spark_source(own.source).no_rows(own.schema) for own in linked_in(table, query)}
            with statement_rows(rows, table, query, statement.lookups, table.users.keys, linked) as frame:
                shown_plan(frame, extended=False)
        return
    except (InternalError, DataRuleError, RecursionError):
        pass
    raise UsageError("expression is more than the engine can compute; simplify it.") from None


def spark_source(source: Source) -> SparkSource:
    if not isinstance(source, SparkSource):
        raise InternalError("Spark was about to read what is no source of Spark; please report it.")
    return source


def public_frame(session: Any, frame: pl.DataFrame) -> Any:
    """Return a public table as a DataFrame; a small one is broadcast where it is joined."""
    from pyspark.sql import functions

    plain = frame.with_columns(
        pl.col(name).cast(_plain_dtype(kind)) for name, kind in frame.schema.items() if _plain_dtype(kind) != kind
    )
    made = session.createDataFrame(plain.to_arrow(compat_level=pl.CompatLevel.oldest()))
    return functions.broadcast(made) if frame.estimated_size() <= LARGEST_BROADCAST else made


def _public(
    lookups: Mapping[str, pl.DataFrame], users: pl.Series | None, read: frozenset[str]
) -> dict[str, pl.DataFrame]:
    """Return the public tables that a statement reads."""
    listed = {} if users is None else {"listed_users": pl.DataFrame({"key": users})}
    return {name: frame for name, frame in {**lookups, **listed}.items() if name in read}


def _undone(stack: ExitStack) -> None:
    with uninterrupted():
        stack.close()


def _drop(session: Any, name: str) -> None:
    with suppress(Exception):
        session.catalog.dropTempView(name)


def _forget(frame: Any) -> None:
    with suppress(Exception):
        frame.unpersist()


def _column_kinds(table: TableFacts) -> dict[str, str]:
    return {name: column_kind(kind) for name, kind in table.schema.items() if is_supported(kind)}


def _dtype_kind(kind: pl.DataType) -> str:
    if kind.is_integer():
        return WHOLE
    if kind.is_float():
        return DOUBLE
    return BOOLEAN if kind == pl.Boolean else TEXT


def _plain_dtype(kind: pl.DataType) -> Any:
    """Return the type that Spark knows for one of a public table of emdp's own."""
    if kind.is_integer():
        return pl.Int64
    if kind.is_float():
        return pl.Float64
    return pl.Boolean if kind == pl.Boolean else pl.String
