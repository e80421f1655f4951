"""Runs of statements on DuckDB: on a connection of their own that can open the declared files and nothing else.

External access is off but for these files, extensions cannot be loaded, Python objects cannot be reached, the
configuration is locked, and attached files are read-only. Text of DuckDB's errors never leaves this file, since it may
quote records.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from types import MappingProxyType
from typing import Any, Protocol

import polars as pl

from emdp.base.errors import (
    DataRuleError,
    EmdpError,
    InternalError,
    ResourceError,
    UsageError,
    raise_alone,
    resource_error,
)
from emdp.base.temporary import HeldFolder
from emdp.tables.base import CLOSED, OTHER_COLUMNS, Source, lock, quote_list, quote_name, quote_text
from emdp.tables.column_types import type_in_statement
from emdp.tables.engines.duckdb.instances import Settings, ahead, kept_open, taken, without_rows
from emdp.tables.engines.duckdb.limits import engine_limits
from emdp.tables.engines.waiting import stoppable
from emdp.tables.facts import TableFacts

__all__ = [
    "DIALECT",
    "check_limits",
    "check_on_no_rows",
    "fetch_frame",
    "hidden_errors",
    "open_ahead",
    "opened",
    "run",
]

DIALECT = "duckdb"

INTERRUPTED = "Query interrupted"
"""Text of DuckDB's error for Ctrl-C while a statement runs: a plain RuntimeError."""

OUT_OF_MEMORY = "Out of Memory"
"""Text of DuckDB's error for too little memory, where Arrow has wrapped it."""

DISABLED_OPTIMIZERS = ("statistics_propagation", "partial_aggregate_pushdown")
"""Optimizers that DuckDB 2.0 must not use. The first takes a Parquet footer's smallest and largest value for those of
all records, though NaN is left out of them, and then drops the test that would have found it. The second adds records
up user by user before it joins them to their users, though they are many more groups than were asked for."""

DISK_FULL = ("No space left on device", "max_temp_directory_size", "Disk quota exceeded", "File too large")
"""Texts of DuckDB's error where records that memory does not hold found no room: the system's words, or its own
setting's name."""

NOT_TEXT = "nanobind::str()"
"""Text in the error of DuckDB's Python part for a name or text that is no UTF-8: a plain RuntimeError."""

MOST_STATEMENTS = 32
"""Statements that are remembered to have been checked: they hold public facts alone."""

_checked: set[tuple[object, ...]] = set()
"""Statements that ran on no rows in this process, with all that they depend on, which is public."""


class Statement(Protocol):
    """A checked statement."""

    @property
    def lookups(self) -> Mapping[str, pl.DataFrame]:
        """Public tables that it joins."""


@contextmanager
def opened(
    source: Source,
    lookups: Mapping[str, pl.DataFrame],
    users: pl.Series | None,
    *,
    in_order: bool = False,
    linked: Mapping[str, Source] = MappingProxyType({}),
) -> Iterator[Any]:
    """Open a connection that reads a source as ``source_rows``, and public tables under their names.

    Parameters
    ----------
    lookups : mapping of str to polars.DataFrame
        Public tables.
    users : polars.Series or None
        Keys of the public users, for the table ``listed_users``.
    in_order : bool
        Whether rows keep the source's order, so that a statement without ORDER BY gives them in the same one always.
    linked : mapping of str to Source
        Further sources, by the names under which they are read.
    """
    views, tables = {"source_rows": source, **linked}, _public_tables(lookups, users)
    kept = None if in_order else _kept_for(list(views.values()))
    if kept is not None:
        with kept as connection:
            _attach(connection, views, tables)
            yield connection
        return
    with _spill_folder() as folder, taken(_settings()) as connection:
        _set(connection, folder, in_order=in_order)
        _lock(connection, folder, _attach(connection, views, tables))
        yield connection


def _kept_for(sources: Sequence[Source]) -> AbstractContextManager[Any] | None:
    """Return the connection that is kept for some sources; None where they need an instance of their own."""
    if not all(one.is_opened_anew for one in sources):
        return None
    files = [path for one in sources for path in one.paths()]
    return kept_open(_settings(), files, _spill_folder, partial(_set_and_lock, files))


def _kept_to_check(sources: Sequence[Source]) -> AbstractContextManager[Any] | None:
    try:
        return _kept_for(sources)
    except UsageError:
        # Their columns are declared, and the files are elsewhere.
        return None


def _set(connection: Any, folder: str, *, in_order: bool) -> None:
    connection.execute(f"SET temp_directory = {quote_text(folder)}")
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET parquet_metadata_cache = false")
    # Row order means nothing to a sum, and keeping it costs memory.
    connection.execute(f"SET preserve_insertion_order = {'true' if in_order else 'false'}")


def _attach(connection: Any, views: Mapping[str, Source], tables: Mapping[str, Any]) -> list[str]:
    """Make sources and public tables views; return the files that may be opened."""
    allowed = [path for view, source in views.items() for path in source.attach(connection, view)]
    _make_views(connection, tables)
    return allowed


def _make_views(connection: Any, tables: Mapping[str, Any]) -> None:
    for name, frame in tables.items():
        # Not registered: that makes temporary names, which come before those that a view of a file means.
        connection.from_arrow(frame).create_view(name)


def _lock(connection: Any, folder: str, allowed: Sequence[str]) -> None:
    connection.execute(f"SET allowed_paths = {quote_list(allowed)}")
    connection.execute(f"SET allowed_directories = [{quote_text(folder)}]")
    lock(connection)


def _set_and_lock(files: Sequence[str], connection: Any, folder: str) -> None:
    _set(connection, folder, in_order=False)
    _lock(connection, folder, files)


def run(connection: Any, query: str) -> list[tuple[Any, ...]]:
    with hidden_errors():
        rows: list[tuple[Any, ...]] = stoppable(connection, lambda: connection.execute(query).fetchall())
    return rows


def fetch_frame(connection: Any, query: str) -> pl.DataFrame:
    with hidden_errors():
        return pl.DataFrame(stoppable(connection, lambda: connection.sql(query).to_arrow_table()))


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


def check_on_no_rows(
    table: TableFacts, compiled: Callable[[], tuple[Statement, str]], others: Sequence[str] = ()
) -> None:
    """Compile a statement and run it on no rows, so that what the engine refuses is refused before a charge.

    Parameters
    ----------
    table : TableFacts
        The private table.
    compiled : callable
        Returns a checked statement and its text.
    others : sequence of str
        Columns that it reads beside the user and the space's.

    Raises
    ------
    UsageError
        If the engine cannot compute it at all.
    """
    import duckdb

    typed, linked = _typed_columns(table, others), _typed_linked(table)
    users = table.users.keys
    try:
        statement, text = compiled()
        kinds = [(name, *frame.schema.items()) for name, frame in statement.lookups.items()]
        key = (typed, linked, text, *kinds, None if users is None else users.dtype)
        if key in _checked:
            return
        sources = [table.source, *(own.source for own in table.linked.values())]
        with _kept_to_check(sources) or without_rows() as connection:
            connection.execute(f"CREATE TEMP TABLE source_rows ({typed}){linked}")
            _make_views(connection, _public_tables(statement.lookups, users))
            connection.execute(text).fetchall()
    except (duckdb.Error, RuntimeError) as cause:
        if INTERRUPTED in str(cause):
            raise KeyboardInterrupt from None
        if not isinstance(cause, duckdb.Error | RecursionError):
            raise
        raise UsageError("expression is more than the engine can compute; simplify it.") from None
    if len(_checked) >= MOST_STATEMENTS:
        _checked.clear()
    _checked.add(key)


def check_limits() -> None:
    """Check what an answer needs besides the data: limits that make sense, and a place for temporary files."""
    engine_limits()
    with _spill_folder():
        pass


def open_ahead(source: Source) -> None:
    """Begin to open the instance that an answer reads its source in (:mod:`emdp.tables.engines.duckdb.instances`)."""
    ahead(_settings(), is_kept=source.is_opened_anew)


def _settings() -> Settings:
    """Return the settings with which every instance that reads a source is opened."""
    fixed = {"disabled_optimizers": ",".join(DISABLED_OPTIMIZERS), "enable_external_file_cache": "false"}
    return {**CLOSED, **engine_limits(), **fixed}


@contextmanager
def _spill_folder() -> Iterator[str]:
    """Make a folder that only this user can read, for records that do not fit into memory; it goes at the end."""
    folder = HeldFolder()
    try:
        try:
            path = folder.make()
        except OSError as error:
            raise resource_error(error) or EmdpError(
                "no folder for temporary files can be made; set TMPDIR to one that can be written."
            ) from None
        yield path
    finally:
        folder.remove()


def _public_tables(lookups: Mapping[str, pl.DataFrame], users: pl.Series | None) -> dict[str, Any]:
    """Return the public tables of a statement by name, as Arrow tables."""
    tables = {name: frame.to_arrow() for name, frame in lookups.items()}
    if users is not None:
        tables["listed_users"] = pl.DataFrame({"key": users}).to_arrow()
    return tables


def _typed_columns(table: TableFacts, others: Sequence[str]) -> str:
    names = dict.fromkeys((*table.source_columns, *others))
    kinds = {name: type_in_statement(table.schema[name]) for name in names}
    for name, kind in kinds.items():
        if kind is None:
            raise UsageError(f"column {name!r} is of a type that no statement reads; convert it to a plain one.")
    return ", ".join(f"{quote_name(name)} {kind}" for name, kind in kinds.items())


def _typed_linked(table: TableFacts) -> str:
    """Return the statements that make linked tables, with the columns that a statement can read."""
    made = ""
    for own in table.linked.values():
        kinds = {name: type_in_statement(kind) for name, kind in own.schema.items()}
        columns = ", ".join(f"{quote_name(name)} {kind}" for name, kind in kinds.items() if kind is not None)
        made += f"; CREATE TEMP TABLE {quote_name(own.view)} ({columns})"
    return made


def _reading_errors() -> tuple[type[Exception], ...]:
    """Return the errors that reading raises; of Arrow, which takes time to load, where something has loaded it."""
    import duckdb

    arrow = sys.modules.get("pyarrow")
    return (duckdb.Error, OSError) if arrow is None else (duckdb.Error, OSError, arrow.ArrowException)


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
