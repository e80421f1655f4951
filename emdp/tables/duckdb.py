"""The DuckDB engine: one statement a statistic, pushed down to the files, deterministic, and nothing but ours.

Every statement runs on a connection of its own that can open the declared files and nothing else: external access
is off but for them, extensions cannot be loaded, Python objects cannot be reached, the configuration is locked, and
attached files are read-only. Text of DuckDB's errors never leaves this file, since it may quote records.
"""

import os
import shutil
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import polars as pl

from emdp.errors import (
    DataRuleError,
    EmdpError,
    InternalError,
    ResourceError,
    UsageError,
    raise_alone,
    resource_error,
)
from emdp.expressions import Expression
from emdp.expressions.aggregation import Aggregation
from emdp.statistic import Statistic
from emdp.tables.base import CLOSED, OTHER_COLUMNS, Source, check_types, lock, quote_list, quote_name, quote_text
from emdp.tables.cells import CellStatement, cell_statement
from emdp.tables.corners import coordinates
from emdp.tables.instances import Settings, ahead, taken, without_rows
from emdp.tables.limits import engine_limits
from emdp.tables.linear import LinearStatement, finished_means, linear_statement
from emdp.tables.rows import BREACH, bag_statement, rules_statement
from emdp.tables.table import Table
from emdp.tables.waiting import stoppable

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
    "open_ahead",
]

DIALECT = "duckdb"

INTERRUPTED = "Query interrupted"
"""What DuckDB makes of Ctrl-C while a statement runs: a plain RuntimeError with this text."""

OUT_OF_MEMORY = "Out of Memory"
"""What DuckDB's error says then, where Arrow has wrapped it."""

DISABLED_OPTIMIZERS = ("statistics_propagation", "partial_aggregate_pushdown")
"""What DuckDB 2.0 must leave alone. The first takes a Parquet footer's smallest and largest value for those of all
records, though NaN is left out of them, and then drops the test that would have found it. The second adds records up
user by user before it joins them to their users, though they are many more groups than were asked for."""

DISK_FULL = ("No space left on device", "max_temp_directory_size", "Disk quota exceeded", "File too large")
"""What it says where records that memory does not hold found no room: the system's words, or its own setting's name."""

NOT_TEXT = "nanobind::str()"
"""What is in the error of DuckDB's Python part for a name or text that is no UTF-8: a plain RuntimeError."""

MOST_STATEMENTS = 32
"""Compiled statements that are remembered of a table, or to have been checked: they hold public facts alone."""

_statements: MutableMapping[Table, dict[tuple[Expression, ...], tuple[LinearStatement, str]]] = WeakKeyDictionary()

_checked: set[tuple[object, ...]] = set()
"""What ran on no rows in this process: all that it depends on, which is public."""

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
    return Statistic(finished_means(statement, rows[0], table.n))


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


def open_ahead() -> None:
    """Begin to open the instance that an answer will read its source in; see :mod:`emdp.tables.instances`."""
    ahead(_settings())


def check_engine() -> None:
    """Check what an answer needs besides the data: limits that make sense, and a place for temporary files."""
    engine_limits()
    with _spill_folder():
        pass


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
    table.source.check_files(table.source_columns)
    query, lookups = rules_statement(table)
    with _connection(table.source, lookups, table.users.keys) as connection:
        open_ahead()
        found = {row[0]: row[1] for row in _run(connection, "DESCRIBE source_rows")}
        check_types(found, table.schema, table.source_columns)
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

    typed = ", ".join(f"{quote_name(name)} {table.schema[name]}" for name in table.source_columns)
    users = table.users.keys
    try:
        statement, text = compiled()
        kinds = [(name, *frame.schema.items()) for name, frame in statement.lookups.items()]
        key = (typed, text, *kinds, None if users is None else users.dtype)
        if key in _checked:
            return
        with without_rows() as connection:
            connection.execute(f"CREATE TEMP TABLE source_rows ({typed})")
            _register(connection, statement.lookups, users)
            connection.execute(text).fetchall()
    except (duckdb.Error, RuntimeError) as cause:
        if INTERRUPTED in str(cause):
            raise KeyboardInterrupt from None
        if not isinstance(cause, duckdb.Error | RecursionError):
            raise
        raise UsageError(
            "expression is more than the engine can compute, or a declared column type is none of DuckDB's; "
            "simplify the one, correct the other."
        ) from None
    if len(_checked) >= MOST_STATEMENTS:
        _checked.clear()
    _checked.add(key)


@contextmanager
def hidden_errors() -> Iterator[None]:
    """Raise errors of emdp in place of DuckDB's, and of those that Arrow makes of them, with nothing of their text."""
    import duckdb

    error: EmdpError
    try:
        yield
        return
    except (duckdb.OutOfMemoryException, MemoryError) as cause:
        error = _no_room(cause) or _no_memory()
    except duckdb.ParserException:
        error = InternalError("DuckDB cannot read a statement of emdp's own; please report it.")
    except (duckdb.BinderException, duckdb.CatalogException):
        # On no rows of the declared types it ran.
        error = DataRuleError(OTHER_COLUMNS)
    except _reading_errors() as cause:
        if INTERRUPTED in str(cause):
            raise KeyboardInterrupt from None
        # Arrow's error for an interrupt and for what is missing has the text of DuckDB's.
        error = _no_room(cause) or _unreadable()
    except RuntimeError as cause:
        if INTERRUPTED in str(cause):
            raise KeyboardInterrupt from None
        if NOT_TEXT not in str(cause):
            raise
        error = _unreadable()
    raise_alone(error)


def _reading_errors() -> tuple[type[Exception], ...]:
    """Return what reading raises; of Arrow, which takes time to load, where something has loaded it."""
    import duckdb

    arrow = sys.modules.get("pyarrow")
    return (duckdb.Error, OSError) if arrow is None else (duckdb.Error, OSError, arrow.ArrowException)


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


def _no_room(cause: BaseException) -> EmdpError | None:
    """Return the error for a full disk or memory, where that is what an error says."""
    text = str(cause)
    if any(mark in text for mark in DISK_FULL):
        return ResourceError(
            "the query found the disk of its temporary files full; make room on it, or set TMPDIR to a folder on "
            "another one; what was charged stays charged."
        )
    return _no_memory() if OUT_OF_MEMORY in text or resource_error(cause) is not None else None


def _no_memory() -> EmdpError:
    return ResourceError(
        "the query ran out of memory; free some, raise EMDP_MEMORY_LIMIT where it is set, or put the records in more "
        "and smaller files; what was charged stays charged."
    )


def _unreadable() -> EmdpError:
    return DataRuleError(
        "the source could not be read to its end with the declared columns and types; check that every file is "
        "whole and has the same columns."
    )


def _run(connection: Any, query: str) -> list[tuple[Any, ...]]:
    with hidden_errors():
        rows: list[tuple[Any, ...]] = stoppable(connection, lambda: connection.execute(query).fetchall())
    return rows


def _fetch_frame(connection: Any, query: str) -> pl.DataFrame:
    with hidden_errors():
        return pl.DataFrame(stoppable(connection, lambda: connection.sql(query).to_arrow_table()))


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
    settings = _settings()
    with _spill_folder() as folder, taken(settings) as connection:
        connection.execute(f"SET temp_directory = {quote_text(folder)}")
        # Row order means nothing to a sum, and keeping it costs memory.
        connection.execute(f"SET preserve_insertion_order = {'true' if in_order else 'false'}")
        allowed = source.attach(connection)
        _register(connection, lookups, users)
        connection.execute(f"SET allowed_paths = {quote_list(allowed)}")
        connection.execute(f"SET allowed_directories = [{quote_text(folder)}]")
        lock(connection)
        yield connection


def _settings() -> Settings:
    """Return what every instance that reads a source is opened with."""
    return {**CLOSED, **engine_limits(), "disabled_optimizers": ",".join(DISABLED_OPTIMIZERS)}


@contextmanager
def _spill_folder() -> Iterator[str]:
    """Make a folder that only this user can read, for records that do not fit into memory; it goes at the end."""
    folder = ""
    try:
        try:
            # The name is known before the folder is made, so that no signal can come between.
            folder = os.path.join(tempfile.gettempdir(), f"emdp-{uuid.uuid4().hex}")
            os.mkdir(folder, 0o700)
        except OSError as error:
            raise resource_error(error) or EmdpError(
                "no folder for temporary files can be made; set TMPDIR to one that can be written."
            ) from None
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _register(connection: Any, lookups: Mapping[str, pl.DataFrame], users: pl.Series | None) -> None:
    for name, frame in lookups.items():
        connection.register(name, frame.to_arrow())
    if users is not None:
        connection.register("listed_users", pl.DataFrame({"key": users}).to_arrow())
