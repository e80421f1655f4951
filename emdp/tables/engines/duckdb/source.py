"""A table or view of a DuckDB file: opened for reading alone, waited for while another process writes.

A statement finds its own tables and DuckDB's functions before it would look into the file: a macro ``sum`` of the file,
or one called ``+``, is none of its own. What stands in a view is bound where the view lies, and finds its tables and
macros whatever they are called. (In another schema than ``main`` a bare name of a table of ``main`` is found last, so
that ``listed_users`` is emdp's public list there.)

A view is taken as the table that it gives. It may read whatever lies in its own file; one that reads other files or
attached databases is refused, since neither the data version nor the lock would cover them. What it makes of the
rows is its owner's doing: a row of it must come from rows of its own user, and from nothing that changes by itself
(``random()``, ``now()``, ``LIMIT``).
"""

import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from emdp.base.classes import dataclass
from emdp.base.errors import DataRuleError, UsageError, raise_alone
from emdp.tables.base import (
    CLOSED,
    DUCKDB_SEPARATOR,
    Source,
    SourceBusyError,
    create_view,
    lock,
    quote_list,
    quote_name,
    quote_text,
)
from emdp.tables.engines.duckdb.instances import connect
from emdp.tables.files import file_marks, files_fingerprint, place_marks, read_lock, state_marks

__all__ = ["DEFAULT_WAIT", "MAIN_SCHEMA", "DuckDBSource"]

DEFAULT_WAIT = 10.0
"""Seconds that opening a file waits for another process to release it."""

PAUSE = 0.05
"""Seconds between two attempts."""

UNCHARGED = "nothing was charged; "
"""Assurance in errors of every opening but that of a statement, which may come after the charge."""

MAIN_SCHEMA = "main."
"""DuckDB's own schema, in which a table without one is looked for."""

SCANNED = re.compile(r'"Table": *"((?:[^"\\]|\\.)*)"')
"""Pattern of a scanned table's name in a plan in JSON; within another text the quotes would be escaped."""

NAMES = "memory.main,system.main,source_file.main"
"""Search path of names: emdp's relations, DuckDB's functions, and last the file, which only a view gets to whose schema
is another one than that of its tables."""

COMPUTED_COLUMNS = """
SELECT count(*) FROM information_schema.columns WHERE table_catalog = 'source_file' AND is_generated <> 'NEVER'
AND lower(table_schema) = lower(?) AND lower(table_name) = lower(?)
AND EXISTS (SELECT 1 FROM duckdb_functions() WHERE database_name = 'source_file')
"""
"""Query for the number of a table's computed columns, in a file with macros. It takes longer than all that opens a
file."""

DATABASES = "SELECT database_name FROM duckdb_databases()"
"""Query for what is attached."""

LOCKED = "Could not set lock on file"
"""Text of DuckDB 2.0's error for a file that another process has open for writing (an IOException like many others)."""


@dataclass(frozen=True)
class DuckDBSource(Source):
    """A table or view of a DuckDB file, written ``"city.duckdb::visits"`` or ``"city.duckdb::schema.visits"``."""

    path: str
    table: str
    default_name: str
    wait: float = DEFAULT_WAIT

    def schema(self) -> dict[str, str]:
        return self._described(UNCHARGED)

    def fingerprint(self) -> str:
        return files_fingerprint(self._files(), f"{DUCKDB_SEPARATOR}{self.table}")

    def marks(self) -> tuple[list[str], list[str], list[str]]:
        # Views of one table are different data, for instance of two weeks: the state is that of the view.
        kept, sought = file_marks([self.path], self._tables_read())
        states = state_marks([self.path], self.table.lower().removeprefix(MAIN_SCHEMA))
        return [*kept, *(mark for mark in states if mark not in kept)], sought, states

    def places(self) -> list[str]:
        # Names in DuckDB do not depend on the case of letters.
        return place_marks([self.path], self.table.lower().removeprefix(MAIN_SCHEMA))

    def attach(self, connection: Any, view: str = "source_rows") -> list[str]:
        # A collation would merge users or labels that differ: texts are compared as they are.
        columns = [
            f"{quote_name(name)} COLLATE C AS {quote_name(name)}" if kind == "VARCHAR" else quote_name(name)
            for name, kind in self._described("").items()
        ]
        self._attach_file(connection, self._deadline(), "")
        create_view(connection, self._relation(), view, columns=", ".join(columns))
        return self._files()

    @contextmanager
    def held(self) -> Iterator[None]:
        deadline = self._deadline()
        with connect(CLOSED) as connection:
            self._attach_file(connection, deadline, UNCHARGED)
            # DuckDB's own lock is the process's, and is gone when any connection of it lets go of the file.
            with read_lock(self.path) as is_locked:
                while not is_locked():
                    self._pause(deadline, UNCHARGED)
                yield

    def _described(self, note: str) -> dict[str, str]:
        return {row[0]: row[1] for row in self._bound("DESCRIBE", note)}

    def _tables_read(self) -> list[str]:
        """Return the tables of the file that the rows are made from: a view stands for those that it reads."""
        # The plan as it is bound; what the optimizer leaves of it depends on the records.
        (plan,) = (row[1] for row in self._bound("EXPLAIN (FORMAT json)", UNCHARGED) if row[0] == "logical_plan")
        # Not parsed as a whole: views may be nested more deeply than Python reads.
        names = (str(json.loads(f'"{name}"')).lower() for name in SCANNED.findall(plan))
        found = {name.removeprefix("source_file.").removeprefix(MAIN_SCHEMA) for name in names}
        return sorted(found or {self.table.lower().removeprefix(MAIN_SCHEMA)})

    def _bound(self, what: str, note: str) -> list[tuple[Any, ...]]:
        """Return what DuckDB says of the rows without reading them."""
        import duckdb

        with connect(CLOSED) as connection:
            self._attach_file(connection, self._deadline(), note)
            connection.execute(f"SET allowed_paths = {quote_list(self._files())}; SET explain_output = 'all'")
            # Binding a view opens what it reads: no file but this one, and no network.
            lock(connection)
            try:
                self._check_computed(connection)
                rows: list[tuple[Any, ...]] = connection.execute(f"{what} SELECT * FROM {self._relation()}").fetchall()
            except (duckdb.PermissionException, duckdb.CatalogException):
                raise_alone(self._not_in_file(connection))
            except duckdb.Error:
                raise_alone(
                    DataRuleError(
                        f"table {self.table!r} of source {self.path!r} cannot be read; repair the view or the file."
                    )
                )
        return rows

    def _files(self) -> list[str]:
        # A write that has not reached the file yet stands in the write-ahead log beside it.
        return [self.path, f"{self.path}.wal"]

    def _deadline(self) -> float:
        return time.monotonic() + self.wait

    def _attach_file(self, connection: Any, deadline: float, note: str) -> None:
        import duckdb

        if any(name == "source_file" for (name,) in connection.execute(DATABASES).fetchall()):
            # Tables that are linked lie in one file.
            return
        if not os.path.isfile(self.path):
            raise UsageError(f"source {self.path!r} does not exist; pass the path of a DuckDB file.")
        while True:
            try:
                connection.execute(f"ATTACH {quote_text(self.path)} AS source_file (READ_ONLY)")
                connection.execute(f"SET search_path = {quote_text(NAMES)}")
                return
            except duckdb.ResourceInUseException:
                raise SourceBusyError(
                    f"source {self.path!r} is open for writing in this process; close that connection first."
                ) from None
            except duckdb.Error as error:
                if LOCKED not in str(error):
                    raise_alone(
                        DataRuleError(
                            f"source {self.path!r} cannot be opened; check that it is a DuckDB file, whole, and may be "
                            "read."
                        )
                    )
            self._pause(deadline, note)

    def _pause(self, deadline: float, note: str) -> None:
        """Wait a moment, or raise after the deadline."""
        left = deadline - time.monotonic()
        if left <= 0:
            raise SourceBusyError(
                f"source {self.path!r} is held by another process for writing; waited {self.wait:g} s; {note}"
                "try again when it is released, or set a longer wait."
            )
        time.sleep(min(PAUSE, left))

    def _relation(self) -> str:
        parts = self.table.split(".")
        # In full, since a schema of the file may be called source_file too.
        return ".".join(quote_name(part) for part in ["source_file", *(["main"] if len(parts) == 1 else []), *parts])

    def _check_computed(self, connection: Any) -> None:
        """Refuse a table whose computed columns may mean macros of the file: they are bound with the statement."""
        schema, _, name = self.table.rpartition(".")
        columns = connection.execute(f"SELECT dflt_value FROM pragma_table_info({quote_text(self._relation())})")
        if any(value is not None for (value,) in columns.fetchall()):
            found = connection.execute(COMPUTED_COLUMNS, [schema or "main", name]).fetchone()
            if found[0]:
                raise UsageError(
                    f"table {self.table!r} of source {self.path!r} has computed columns, and its file has macros, "
                    "which only a view would find; make a view of the table, and name that."
                )

    def _not_in_file(self, connection: Any) -> UsageError:
        """Return what to say of a name that the file lacks, or of a view that reads what the file lacks."""
        schema, _, name = self.table.rpartition(".")
        found = connection.execute(
            "SELECT count(*) FROM duckdb_views() WHERE database_name = 'source_file' "
            "AND lower(schema_name) = lower(?) AND lower(view_name) = lower(?)",
            [schema or "main", name],
        ).fetchone()
        if not found[0]:
            return UsageError(f"source {self.path!r} has no table {self.table!r}; name one it has.")
        return UsageError(
            f"view {self.table!r} of source {self.path!r} reads what is not in that file (another file, an attached "
            "database, or something that is gone); name the files themselves as the source, or make it a table."
        )
