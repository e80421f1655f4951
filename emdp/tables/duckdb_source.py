"""A table or view of a DuckDB file: opened for reading alone, waited for while another process writes.

A view is taken as the table that it gives. It may read whatever lies in its own file; one that reads other files or
attached databases is refused, since neither the data version nor the lock would cover them. What it makes of the
rows is its owner's doing: a row of it must come from rows of its own user, and from nothing that changes by itself
(``random()``, ``now()``, ``LIMIT``).
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from emdp.errors import DataRuleError, UsageError, raise_alone
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
from emdp.tables.files import files_fingerprint, read_lock

__all__ = ["DEFAULT_WAIT", "DuckDBSource"]

DEFAULT_WAIT = 10.0
"""Seconds that opening a file waits for another process to release it."""

PAUSE = 0.05
"""Seconds between two attempts."""

UNCHARGED = "nothing was charged; "
"""What is true of every opening but that of a statement, which may come after the charge."""

LOCKED = "Could not set lock on file"
"""What DuckDB 2.0 says of a file that another process has open for writing (an IOException like many others)."""


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

    def attach(self, connection: Any) -> list[str]:
        # A collation would merge users or labels that differ: texts are compared as they are.
        columns = [
            f"{quote_name(name)} COLLATE C AS {quote_name(name)}" if kind == "VARCHAR" else quote_name(name)
            for name, kind in self._described("").items()
        ]
        self._attach_file(connection, self._deadline(), "")
        create_view(connection, self._relation(), columns=", ".join(columns))
        return self._files()

    @contextmanager
    def held(self) -> Iterator[None]:
        import duckdb

        deadline = self._deadline()
        with duckdb.connect(":memory:", config=dict(CLOSED)) as connection:
            self._attach_file(connection, deadline, UNCHARGED)
            # DuckDB's own lock is the process's, and is gone when any connection of it lets go of the file.
            with read_lock(self.path) as is_locked:
                while not is_locked():
                    self._pause(deadline, UNCHARGED)
                yield

    def _described(self, note: str) -> dict[str, str]:
        import duckdb

        with duckdb.connect(":memory:", config=dict(CLOSED)) as connection:
            self._attach_file(connection, self._deadline(), note)
            connection.execute(f"SET allowed_paths = {quote_list(self._files())}")
            # Binding a view opens what it reads: no file but this one, and no network.
            lock(connection)
            try:
                rows = connection.execute(f"DESCRIBE SELECT * FROM {self._relation()}").fetchall()
            except (duckdb.PermissionException, duckdb.CatalogException):
                raise_alone(self._not_in_file(connection))
            except duckdb.Error:
                raise_alone(
                    DataRuleError(
                        f"table {self.table!r} of source {self.path!r} cannot be read; repair the view or the file."
                    )
                )
        return {row[0]: row[1] for row in rows}

    def _files(self) -> list[str]:
        # A write that has not reached the file yet stands in the write-ahead log beside it.
        return [self.path, f"{self.path}.wal"]

    def _deadline(self) -> float:
        return time.monotonic() + self.wait

    def _attach_file(self, connection: Any, deadline: float, note: str) -> None:
        import duckdb

        if not os.path.isfile(self.path):
            raise UsageError(f"source {self.path!r} does not exist; pass the path of a DuckDB file.")
        while True:
            try:
                connection.execute(f"ATTACH {quote_text(self.path)} AS source_file (READ_ONLY)")
                # A view of the file names its tables as seen from inside the file.
                connection.execute("USE source_file")
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
        return ".".join(quote_name(part) for part in ["source_file", *self.table.split(".")])

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
