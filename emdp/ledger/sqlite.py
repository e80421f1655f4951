"""A ledger in one SQLite file: write-ahead log, every commit flushed, one short transaction an append.

Every call opens a connection, checks the file, works in one transaction and closes again. So a process holds
no lock and no open file between calls (threads and forked children need no care), a file that was exchanged
meanwhile is noticed, and the last process to close moves the log into the file, which is then complete in
itself.

What a file cannot show: an entry that lies only in the log (``<file>-wal``, left by a process that was
killed) is lost without a trace if somebody deletes that log, and an older copy that was intact looks intact.
Both show against a head hash kept elsewhere (:meth:`SqliteLedger.verify`). The log needs memory shared
between processes, and locks that work: keep the file on a local disk, never on a network file system, and
give a container its folder rather than the file alone.
"""

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from emdp.base.errors import LedgerError, LedgerResourceError
from emdp.ledger.chain import REMEDY, Link, content_digest, entry_of
from emdp.ledger.faults import in_one_line, ledger_error
from emdp.ledger.place import check_place, is_immutable, is_writable
from emdp.ledger.schema import (
    APPEND,
    FORGET,
    KEEP,
    MOVE_HEAD,
    SELECT_CONTENT,
    SELECT_LINKS,
    check_schema,
    create_content,
    has_content,
    prepare,
)
from emdp.ledger.start import condition
from emdp.ledger.stored import StoredLedger

__all__ = ["BUSY_SECONDS", "SqliteLedger"]

BUSY_SECONDS = 30.0
"""Longest wait of a call for another process's transaction."""


class SqliteLedger(StoredLedger[sqlite3.Connection]):
    """A ledger in an existing SQLite file; :mod:`emdp.ledger.opening` makes one.

    Raises
    ------
    LedgerError
        If the file is damaged, no ledger, or may not be written though ``writable``.
    """

    def __init__(self, path: Path, *, writable: bool) -> None:
        self._path = path
        super().__init__(str(path), writable=writable)

    def _check_access(self) -> None:
        check_place(self._path)
        if self._writable and not is_writable(self._path):
            raise LedgerError(f"ledger {self._path} cannot be written; allow writing to it and to its folder.")

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        # Closing drops an open transaction, so whatever is raised inside leaves the file as it was.
        self._check_open()
        before = check_place(self._path)
        writable, immutable = is_writable(self._path), is_immutable(self._path)
        mode = "rw" if writable else "ro&immutable=1" if immutable else "ro"
        try:
            connection = sqlite3.connect(
                f"{self._path.as_uri()}?mode={mode}", uri=True, timeout=BUSY_SECONDS, isolation_level=None
            )
            with closing(connection):
                prepare(connection, query_only=not self._writable)
                check_schema(connection, str(self._path), immutable=immutable)
                yield connection
        except (sqlite3.Error, UnicodeError) as error:
            if error is self._refusal:
                raise
            raise ledger_error(self._path, error) from error
        if not os.path.samestat(before, check_place(self._path)):
            raise LedgerError(
                f"ledger {self._path} was exchanged for another file during the call; "
                "count what was being charged as charged, and find out which file is the ledger."
            )

    def _begin(self, connection: sqlite3.Connection, *, write: bool) -> None:
        connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")

    def _check_store(self, connection: sqlite3.Connection) -> None:
        faults = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(1)")]
        if faults != ["ok"]:
            raise LedgerError(f"ledger {self._path} is a damaged SQLite file ({in_one_line(faults[0])}); {REMEDY}")

    def _records(self, connection: sqlite3.Connection, start: int) -> Iterable[tuple[Any, ...]]:
        return connection.execute(f"{SELECT_LINKS} WHERE sequence >= ? ORDER BY sequence", (start,))

    def _selected(
        self, connection: sqlite3.Connection, kinds: Sequence[str], **named: Any
    ) -> Iterable[tuple[Any, ...]]:
        where, values = condition("?", "instr", kinds, **named)
        return connection.execute(f"{SELECT_LINKS} {where}", values)

    def _end(self, connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
        return connection.execute("SELECT sequence, hash FROM head").fetchall()

    def _count(self, connection: sqlite3.Connection, after: int) -> int:
        where = "WHERE sequence > ?" if after else ""
        found = connection.execute(f"SELECT count(*) FROM event {where}", (after,) if after else ())
        return int(found.fetchone()[0])

    def _texts(self, connection: sqlite3.Connection, digest: str | None = None) -> list[tuple[Any, ...]]:
        if not has_content(connection):
            return []
        if digest is None:
            return connection.execute(SELECT_CONTENT).fetchall()
        return connection.execute(f"{SELECT_CONTENT} WHERE digest = ?", (digest,)).fetchall()

    def _write(self, connection: sqlite3.Connection, link: Link, content: str | None) -> object:
        connection.execute(APPEND, link)
        connection.execute(MOVE_HEAD, (link.sequence, link.hash))
        if content is not None:
            create_content(connection)
            connection.execute(KEEP, (content_digest(content), content))
        return None

    def _drop(self, connection: sqlite3.Connection, digests: list[str]) -> int:
        gone = 0
        for digest in digests if has_content(connection) else ():
            gone += connection.execute(FORGET, (digest,)).rowcount
        return gone

    def _commit(self, connection: sqlite3.Connection) -> Exception | None:
        return _commit(connection)

    def _settle(self, link: Link, mark: object, failure: Exception) -> None:
        # The log may hold a commit that failed to reach the disk, and a later recovery may find it: that
        # charges for nothing, which is the safe side. No answer is given in any of these cases.
        problem = f"ledger {self._path} could not finish writing entry {link.sequence} (disk full or failing)"
        try:
            written = entry_of(link) in self.entries()
        except LedgerError:
            problem = f"{problem} and cannot be read again; count it as charged, and verify the ledger."
            raise LedgerResourceError(problem) from failure
        if written:
            problem = f"{problem}, yet holds it; it is charged, so check the disk before asking again."
            raise LedgerResourceError(problem) from failure
        raise LedgerResourceError(
            f"{problem}; nothing was charged, so make room on the disk and ask again."
        ) from failure


def _commit(connection: sqlite3.Connection) -> sqlite3.Error | None:
    try:
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        return error
    # Durable from here on, in the log; that the log moves into the file at once is a convenience for copies.
    with suppress(sqlite3.Error):
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
    return None
