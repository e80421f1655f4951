"""The DuckDB engine: one statement a statistic, pushed down to the files, deterministic, and nothing but ours.

Every statement runs on a connection of its own that can open the declared files and nothing else: external access
is off but for them, extensions cannot be loaded, Python objects cannot be reached, the configuration is locked, and
attached files are read-only. Text of DuckDB's errors never leaves this file, since it may quote records.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import polars as pl

from emdp.errors import DataRuleError, EmdpError, InternalError, UsageError
from emdp.expressions import Expression
from emdp.expressions.aggregation import Aggregation
from emdp.statistic import Statistic
from emdp.tables.base import CLOSED, Source, lock, quote_list, quote_name, quote_text
from emdp.tables.cells import CellStatement, cell_statement
from emdp.tables.corners import coordinates
from emdp.tables.linear import LinearStatement, linear_statement
from emdp.tables.rows import BREACH, bag_statement, rules_statement
from emdp.tables.table import Table

__all__ = [
    "DIALECT",
    "aggregate",
    "check_aggregation",
    "check_engine",
    "check_on_no_rows",
    "check_rules",
    "check_statement",
    "fetch_bag",
    "fetch_public",
    "hidden_errors",
    "mean_of_user_means",
]

DIALECT = "duckdb"

INTERRUPTED = "Query interrupted"
"""What DuckDB makes of Ctrl-C while a statement runs: a plain RuntimeError with this text."""

OUT_OF_MEMORY = "Out of Memory"
"""What DuckDB's error says then, where Arrow has wrapped it."""

MOST_STATEMENTS = 32
"""Compiled statements that are remembered of a table: they hold public facts alone."""

_statements: MutableMapping[Table, dict[tuple[Expression, ...], tuple[LinearStatement, str]]] = WeakKeyDictionary()

_cells: MutableMapping[Table, MutableMapping[Aggregation, tuple[CellStatement, str]]] = WeakKeyDictionary()
"""By the aggregation itself: its statement is forgotten with it."""

RULES = {
    "missing_users": "has rows without a user; give every row a user",
    "unlisted_users": "has users that are not among the declared users; correct the list or the number",
    "invalid_items": (
        'has items outside the space\'s domain under on_invalid="error"; clean the rows, widen the domain, or '
        'declare on_invalid="neutral" or "clamp"'
    ),
    "other_counts": "has users whose number of records is not the declared one; correct the rows or records=",
    "unusable": "has items that stay unusable after their rule, which is a bug in emdp; please report it",
}
"""For each column of the rules statement what a count above zero means, and the remedy."""


class Statement(Protocol):
    """A checked statement."""

    @property
    def lookups(self) -> Mapping[str, pl.DataFrame]:
        """Public tables that it joins."""


def mean_of_user_means(table: Table, expressions: Sequence[Expression]) -> Statistic:
    """Return, for each expression, the mean over the public users of the mean over their records.

    Users without records count with the value of the space's neutral item (EMD 8.1). All expressions are computed
    in one scan. Values are summed as integers (see ``expressions/fixed_point.py``), so that neither the order of rows
    nor the number of threads changes the result.
    """
    statement, text = _compiled(table, tuple(expressions))
    with _connection(table.source, statement.lookups, table.users.keys) as connection:
        rows = _run(connection, text)
    if len(rows) != 1:
        raise InternalError("a statement for one row gave another number of rows.")
    return Statistic(_finish(statement, rows[0], table.n))


def aggregate(table: Table, aggregation: Aggregation) -> tuple[Statistic, ...]:
    """Return what an aggregation asks for, exactly and in one scan: a statistic for each group of users.

    Returns
    -------
    tuple of Statistic
        Of ``aggregation.dimension`` coordinates each: value by value, the cells in order. Neither the order of rows
        nor the number of threads changes them.
    """
    if aggregation.is_plain:
        return (mean_of_user_means(table, aggregation.values),)
    statement, text = _compiled_cells(table, aggregation)
    with _connection(table.source, statement.lookups, table.users.keys) as connection:
        rows = _run(connection, text)
    return tuple(map(Statistic, coordinates(statement, aggregation, rows, table.n)))


def check_engine() -> None:
    """Check what an answer needs besides the data: a place for temporary files."""
    shutil.rmtree(_spill_folder(), ignore_errors=True)


def check_statement(table: Table, expressions: Sequence[Expression]) -> None:
    """Run the statement of some expressions on no rows, so that what the engine refuses is refused before a charge.

    Raises
    ------
    UsageError
        If the engine cannot compute the expressions at all.
    """
    check_on_no_rows(table, lambda: _compiled(table, tuple(expressions)))


def check_aggregation(table: Table, aggregation: Aggregation) -> None:
    """Run the statement of an aggregation on no rows, as :func:`check_statement` does.

    Raises
    ------
    UsageError
        If an axis does not fit the space, or the engine cannot compute the aggregation at all.
    """
    if aggregation.is_plain:
        check_statement(table, aggregation.values)
    else:
        check_on_no_rows(table, lambda: _compiled_cells(table, aggregation))


def check_rules(table: Table) -> None:
    """Check the declared rules against the records; see :meth:`Table.validate`."""
    table.source.check_schema(table.schema, table.source_columns)
    query, lookups = rules_statement(table)
    with _connection(table.source, lookups, table.users.keys) as connection:
        row = _run(connection, query.sql(DIALECT, identify=True))[0]
    for meaning, count in zip(RULES.values(), row[:-1], strict=True):
        if count:
            raise DataRuleError(f"table {table.name!r} {meaning}.")


def fetch_bag(table: Table, user: Any) -> pl.DataFrame | None:
    """Return one user's items, None where there are none; see :meth:`Table.bag`."""
    query, lookups = bag_statement(table, str(user))
    with _connection(table.source, lookups, table.users.keys) as connection:
        frame = _fetch_frame(connection, query.sql(DIALECT, identify=True))
    if frame.get_column(BREACH).any():
        raise DataRuleError(f"table {table.name!r} {RULES['invalid_items']}.")
    return frame.drop(BREACH) if len(frame) else None


def fetch_public(source: Source) -> pl.DataFrame:
    """Return all rows of a public table."""
    with _connection(source, {}, None) as connection:
        return _fetch_frame(connection, "SELECT * FROM source_rows")


def check_on_no_rows(table: Table, compiled: Callable[[], tuple[Statement, str]]) -> None:
    """Compile a statement and run it on no rows, so that what the engine refuses is refused before a charge.

    Raises
    ------
    UsageError
        If the engine cannot compute it at all.
    """
    import duckdb

    columns = {name: table.schema[name] for name in table.source_columns}
    with duckdb.connect(":memory:", config=dict(CLOSED)) as connection:
        try:
            statement, text = compiled()
            typed = ", ".join(f"{quote_name(name)} {kind}" for name, kind in columns.items())
            connection.execute(f"CREATE TABLE source_rows ({typed})")
            _register(connection, statement.lookups, table.users.keys)
            lock(connection)
            connection.execute(text).fetchall()
        except (duckdb.Error, RecursionError):
            raise UsageError(
                "expression is more than the engine can compute, or a declared column type is none of DuckDB's; "
                "simplify the one, correct the other."
            ) from None


@contextmanager
def hidden_errors() -> Iterator[None]:
    """Raise errors of emdp in place of DuckDB's, and of those that Arrow makes of them, with nothing of their text."""
    import duckdb
    import pyarrow as pa

    error: EmdpError
    try:
        yield
        return
    except duckdb.OutOfMemoryException:
        error = _no_memory()
    except (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException) as cause:
        error = InternalError(f"DuckDB refused a statement of emdp's own ({type(cause).__name__}); please report it.")
    except (duckdb.Error, pa.ArrowException, OSError) as cause:
        if INTERRUPTED in str(cause):
            raise KeyboardInterrupt from None
        error = _no_memory() if OUT_OF_MEMORY in str(cause) else _unreadable()
    except RuntimeError as cause:
        if INTERRUPTED in str(cause):
            raise KeyboardInterrupt from None
        raise
    raise error from None


def _compiled(table: Table, expressions: tuple[Expression, ...]) -> tuple[LinearStatement, str]:
    known = _statements.setdefault(table, {})
    found = known.get(expressions)
    if found is None:
        statement = linear_statement(table, expressions)
        found = statement, statement.query.sql(DIALECT, identify=True)
        if len(known) >= MOST_STATEMENTS:
            known.clear()
        known[expressions] = found
    return found


def _compiled_cells(table: Table, aggregation: Aggregation) -> tuple[CellStatement, str]:
    known = _cells.setdefault(table, WeakKeyDictionary())
    found = known.get(aggregation)
    if found is None:
        statement = cell_statement(table, aggregation)
        found = known[aggregation] = statement, statement.query.sql(DIALECT, identify=True)
    return found


def _finish(statement: LinearStatement, row: Sequence[Any], n: int) -> list[Fraction]:
    present = int(row[0])
    values = []
    for total, exponent, neutral in zip(row[1:], statement.exponents, statement.neutral_values, strict=True):
        absent = Fraction(neutral) * (n - present)
        values.append((Fraction(int(total or 0)) / Fraction(2) ** exponent + absent) / n)
    return values


def _no_memory() -> EmdpError:
    return EmdpError("the query ran out of memory; free memory, or put the records in more and smaller files.")


def _unreadable() -> EmdpError:
    return DataRuleError(
        "the source could not be read to its end with the declared columns and types; check that every file is "
        "whole and has the same columns."
    )


def _run(connection: Any, query: str) -> list[tuple[Any, ...]]:
    with hidden_errors():
        rows: list[tuple[Any, ...]] = connection.execute(query).fetchall()
    return rows


def _fetch_frame(connection: Any, query: str) -> pl.DataFrame:
    with hidden_errors():
        return pl.DataFrame(connection.sql(query).to_arrow_table())


@contextmanager
def _connection(
    source: Source, lookups: Mapping[str, pl.DataFrame], users: pl.Series | None, *, in_order: bool = False
) -> Iterator[Any]:
    """Open a connection that reads a source as ``source_rows``, and public tables under their names.

    Parameters
    ----------
    source : Source
        The rows.
    lookups : mapping of str to polars.DataFrame
        Public tables.
    users : polars.Series or None
        Keys of the public users, for the table ``listed_users``.
    in_order : bool
        Whether rows keep the source's order, so that a statement without ORDER BY gives them in the same one always.
    """
    import duckdb

    folder = _spill_folder()
    config: dict[str, str | bool | int | float | list[str]] = {
        **CLOSED,
        # DuckDB 2.0 takes a Parquet footer's smallest and largest value for those of all records, though NaN is left
        # out of them, and then drops the test that would have found it.
        "disabled_optimizers": "statistics_propagation",
        # Row order means nothing to a sum, and keeping it costs memory.
        "preserve_insertion_order": "true" if in_order else "false",
        "temp_directory": folder,
    }
    connection = duckdb.connect(":memory:", config=config)
    try:
        allowed = source.attach(connection)
        _register(connection, lookups, users)
        connection.execute(f"SET allowed_paths = {quote_list(allowed)}")
        connection.execute(f"SET allowed_directories = [{quote_text(folder)}]")
        lock(connection)
        yield connection
    finally:
        connection.close()
        shutil.rmtree(folder, ignore_errors=True)


def _spill_folder() -> str:
    """Make a folder that only this user can read, for records that do not fit into memory."""
    try:
        return tempfile.mkdtemp(prefix="emdp-")
    except OSError:
        raise EmdpError("no folder for temporary files can be made; set TMPDIR to one that can be written.") from None


def _register(connection: Any, lookups: Mapping[str, pl.DataFrame], users: pl.Series | None) -> None:
    for name, frame in lookups.items():
        connection.register(name, frame.to_arrow())
    if users is not None:
        connection.register("listed_users", pl.DataFrame({"key": users}).to_arrow())
