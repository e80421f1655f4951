"""The Spark engine: the statements of the DuckDB engine in Spark SQL, run in the session that the rows belong to.

Rows never come to the driver, only what a statement makes of them. No setting of the session is changed; views have
names that nobody can guess and are gone afterwards, and so is what was kept in between. Text of Spark's errors never
leaves this file, since it may quote records; what Spark's own processes write to their logs is their owner's.
"""

import math
import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from fractions import Fraction
from functools import partial
from typing import Any

import polars as pl
from sqlglot import exp

from emdp.errors import DataRuleError, InternalError, UsageError
from emdp.expressions import Expression
from emdp.expressions.aggregation import Aggregation
from emdp.statistic import Statistic
from emdp.tables.base import Source
from emdp.tables.cells import CellStatement, cell_statement
from emdp.tables.corners import coordinates
from emdp.tables.duckdb import RULES
from emdp.tables.fragments import Sql
from emdp.tables.linear import LinearStatement, finished_means, linear_statement
from emdp.tables.rows import BREACH, bag_statement, rules_statement
from emdp.tables.spark_dialect import DIALECT, to_spark
from emdp.tables.spark_errors import hidden_errors, uninterrupted
from emdp.tables.spark_parts import parts_of, read_once
from emdp.tables.spark_shared import in_few_parts, rename_table, take_shared
from emdp.tables.spark_source import SparkSource, is_supported, shown_plan
from emdp.tables.spark_types import BOOLEAN, DOUBLE, TEXT, WHOLE, column_kind
from emdp.tables.spark_wait import waited
from emdp.tables.table import Table

__all__ = [
    "aggregate",
    "check_aggregation",
    "check_on_no_rows",
    "check_rules",
    "check_statement",
    "explain_cost",
    "fetch_bag",
    "fetch_public",
    "hidden_errors",
    "mean_of_user_means",
    "spark_rows",
    "statement_rows",
    "waited",
]

LARGEST_BROADCAST = 2**26
"""Bytes of a public table up to which every executor gets a copy of its own."""


@contextmanager
def spark_rows(table: Table, query: Sql, lookups: Mapping[str, pl.DataFrame], users: pl.Series | None) -> Iterator[Any]:
    """Run a checked statement on a table's rows: a pyspark DataFrame, to be used inside the context.

    Parameters
    ----------
    table : Table
        Of a Spark source.
    query : Sql
        A statement as the compilers write it for DuckDB, over ``source_rows``.
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
    source = _spark_source(table.source)
    with hidden_errors():
        with uninterrupted():
            rows = source.rows(table.schema)
        with statement_rows(rows, table, query, lookups, users) as frame:
            yield frame


@contextmanager
def statement_rows(
    rows: Any, table: Table, query: Sql, lookups: Mapping[str, pl.DataFrame], users: pl.Series | None
) -> Iterator[Any]:
    """Run a statement on a DataFrame that stands for a table's rows, as :func:`spark_rows` does."""
    session = rows.sparkSession
    public = dict(lookups)
    if users is not None:
        public["listed_users"] = pl.DataFrame({"key": users})
    read = {found.name for found in query.find_all(exp.Table)}
    public = {name: frame for name, frame in public.items() if name in read}
    kinds = {
        name: {column: _dtype_kind(kind) for column, kind in frame.schema.items()} for name, frame in public.items()
    }
    kinds["source_rows"] = {name: column_kind(kind) for name, kind in table.schema.items() if is_supported(kind)}
    tag = f"emdp_{uuid.uuid4().hex}"
    names = {name: f"{tag}_{name}" for name in kinds}
    translated = to_spark(query, kinds, names)
    with ExitStack() as outer:
        stack = ExitStack()
        outer.callback(_undone, stack)
        with uninterrupted():
            session.addTag(tag)
            stack.callback(session.removeTag, tag)

            def register(name: str, frame: Any) -> None:
                frame.createTempView(name)
                stack.callback(_drop, session, name)

            register(names["source_rows"], rows)
            for name, frame in public.items():
                register(names[name], public_frame(session, frame))
            # Spark would compute what is used twice anew for each use.
            for shared in take_shared(translated):
                kept = in_few_parts(session.sql(shared.this.sql(DIALECT, identify=True)), table.n).persist()
                stack.callback(_forget, kept)
                register(f"{tag}_{shared.alias}", kept)
                rename_table(translated, shared.alias, f"{tag}_{shared.alias}")
            made = session.sql(translated.sql(DIALECT, identify=True))
        yield made


def mean_of_user_means(table: Table, expressions: Sequence[Expression]) -> Statistic:
    """Return, for each expression, the mean over the public users of the mean over their records.

    As :func:`emdp.tables.duckdb.mean_of_user_means`: sums of integers, in any order.
    """
    (found,) = aggregate(table, Aggregation(tuple(expressions)))
    return found


def aggregate(table: Table, aggregation: Aggregation) -> tuple[Statistic, ...]:
    """Return what an aggregation asks for, exactly: a statistic for each group of users.

    Of many values in several statements, all on the same rows; see :mod:`emdp.tables.spark_parts`.
    """
    parts = parts_of(aggregation)
    if len(parts) == 1:
        return tuple(map(Statistic, _coordinates(table, aggregation, None)))
    with hidden_errors(), read_once(_spark_source(table.source), table) as rows:
        found = [_coordinates(table, part, rows) for part in parts]
    return tuple(Statistic([value for own in group for value in own]) for group in zip(*found, strict=True))


def _coordinates(table: Table, aggregation: Aggregation, rows: Any | None) -> list[list[Fraction]]:
    """Return the coordinates of each group of users, by one statement; of the source where no rows are given."""
    if not aggregation.is_plain:
        over_cells = cell_statement(table, aggregation)
        return coordinates(over_cells, aggregation, _collected(table, over_cells, rows), table.n)
    statement = linear_statement(table, aggregation.values)
    found = _collected(table, statement, rows)
    if len(found) != 1:
        raise InternalError("a statement for one row gave another number of rows.")
    return [finished_means(statement, found[0], table.n)]


def check_statement(table: Table, expressions: Sequence[Expression]) -> None:
    """Plan the statement of some expressions on no rows, so that what Spark refuses is refused before a charge.

    Raises
    ------
    UsageError
        If Spark cannot compute the expressions at all.
    """
    check_aggregation(table, Aggregation(tuple(expressions)))


def check_aggregation(table: Table, aggregation: Aggregation) -> None:
    """Plan the statement of an aggregation on no rows, as :func:`check_statement` does.

    Raises
    ------
    UsageError
        If an axis does not fit the space, or Spark cannot compute the aggregation at all.
    """
    for part in parts_of(aggregation):
        check_on_no_rows(table, partial(_statement, table, part))


def check_on_no_rows(table: Table, compiled: Callable[[], Any]) -> None:
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
    source = _spark_source(table.source)
    try:
        statement = compiled()
        with hidden_errors():
            with uninterrupted():
                rows = source.no_rows(table.schema)
            with statement_rows(rows, table, statement.query, statement.lookups, table.users.keys) as frame:
                shown_plan(frame, extended=False)
        return
    except (InternalError, DataRuleError, RecursionError):
        pass
    raise UsageError("expression is more than the engine can compute; simplify it.") from None


def check_rules(table: Table) -> None:
    """Check the declared rules against the records; see :meth:`Table.validate`."""
    table.source.check_schema(table.schema, table.source_columns)
    query, lookups = rules_statement(table)
    with spark_rows(table, query, lookups, table.users.keys) as frame:
        row = waited(frame.sparkSession, frame.collect)[0]
    for meaning, count in zip(RULES.values(), row[:-1], strict=True):
        if count:
            raise DataRuleError(f"table {table.name!r} {meaning}.")


def fetch_bag(table: Table, user: Any) -> pl.DataFrame | None:
    """Return one user's items, None where there are none; see :meth:`Table.bag`."""
    query, lookups = bag_statement(table, str(user))
    with spark_rows(table, query, lookups, table.users.keys) as frame:
        items = pl.DataFrame(waited(frame.sparkSession, frame.toArrow))
    if items.get_column(BREACH).any():
        raise DataRuleError(f"table {table.name!r} {RULES['invalid_items']}.")
    return items.drop(BREACH) if len(items) else None


def fetch_public(source: Source) -> pl.DataFrame:
    """Return all rows of a public table."""
    with hidden_errors():
        frame = _spark_source(source).frame()
        return pl.DataFrame(waited(frame.sparkSession, frame.toArrow))


def explain_cost(table: Table, aggregation: Aggregation) -> tuple[tuple[str, str], ...]:
    """Return what is public about the work of an aggregation; see :func:`emdp.tables.engine.explain_cost`."""
    parts = parts_of(aggregation)
    stages = sum(_stages(table, _statement(table, part)) for part in parts)
    sums = len(aggregation.values) * math.prod(2 for axis in aggregation.axes if axis.size > 1)
    # For each statement a header of 16 bytes, the key and a count; for each sum its two halves, and the mean's count.
    row = (16 + 8 * 2) * len(parts) + 8 * 3 * sums
    cells = aggregation.cells
    bound = f"{table.n} users x {cells} cells x P x {row} bytes" if cells > 1 else f"{table.n} users x P x {row} bytes"
    facts = (
        ("engine", "Spark"),
        # One more for the rows that several statements read.
        ("stages", str(stages) if len(parts) == 1 else f"at most {stages + 1}"),
        (
            "shuffle",
            f"at most {bound} = P x {table.n * cells * row} bytes, P the partitions that the source is read in",
        ),
    )
    return facts if len(parts) == 1 else (*facts, ("statements", f"{len(parts)} on rows kept on Spark's disks"))


def _stages(table: Table, statement: LinearStatement | CellStatement) -> int:
    with spark_rows(table, statement.query, statement.lookups, table.users.keys) as frame:
        plan = shown_plan(frame, extended=False)
    exchanges = r"(?<!Broadcast)(?<!Reused)Exchange (?:hash|range|Single|RoundRobin).*plan_id=(\d+)"
    return len(set(re.findall(exchanges, plan))) + 1


def _statement(table: Table, aggregation: Aggregation) -> LinearStatement | CellStatement:
    plain = aggregation.is_plain
    return linear_statement(table, aggregation.values) if plain else cell_statement(table, aggregation)


def public_frame(session: Any, frame: pl.DataFrame) -> Any:
    """Return a public table as a DataFrame; a small one is broadcast where it is joined."""
    from pyspark.sql import functions

    plain = frame.with_columns(
        pl.col(name).cast(_plain_dtype(kind)) for name, kind in frame.schema.items() if _plain_dtype(kind) != kind
    )
    made = session.createDataFrame(plain.to_arrow(compat_level=pl.CompatLevel.oldest()))
    return functions.broadcast(made) if frame.estimated_size() <= LARGEST_BROADCAST else made


def _collected(table: Table, statement: LinearStatement | CellStatement, rows: Any | None) -> list[tuple[Any, ...]]:
    """Return the rows of a statement on a table's rows, or on those that are given."""
    query, lookups, keys = statement.query, statement.lookups, table.users.keys
    given = (
        spark_rows(table, query, lookups, keys) if rows is None else statement_rows(rows, table, query, lookups, keys)
    )
    with given as frame:
        found: list[tuple[Any, ...]] = waited(frame.sparkSession, frame.collect)
    return found


def _spark_source(source: Source) -> SparkSource:
    if not isinstance(source, SparkSource):
        raise InternalError("Spark was about to read what is no source of Spark; please report it.")
    return source


def _undone(stack: ExitStack) -> None:
    with uninterrupted():
        stack.close()


def _drop(session: Any, name: str) -> None:
    with suppress(Exception):
        session.catalog.dropTempView(name)


def _forget(frame: Any) -> None:
    with suppress(Exception):
        frame.unpersist()


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
