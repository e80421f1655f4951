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
import threading
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from emdp.checks import check_choice
from emdp.errors import LedgerError, UsageError
from emdp.ledger.base import KINDS, Admit, Entry, Ledger
from emdp.ledger.chain import REMEDY, Link, canonical_json, check_links, content_digest, entry_of, is_hash, next_link
from emdp.ledger.faults import ledger_error
from emdp.ledger.place import check_place, is_immutable, is_writable, now
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

__all__ = ["BUSY_SECONDS", "SqliteLedger"]

BUSY_SECONDS = 30.0
"""How long a call waits for another process's transaction before it gives up."""

_process_lock = threading.RLock()
"""Held while this process has a connection to any ledger."""


class SqliteLedger(Ledger):
    """A ledger in an existing SQLite file; :mod:`emdp.ledger.opening` makes one.

    The whole chain is checked on opening; each later call checks the entries that are new to this object, and
    that the file still holds the last one it knows.

    Parameters
    ----------
    path : Path
        Absolute path of the file.
    writable : bool
        Whether it may be appended to.

    Raises
    ------
    LedgerError
        If the file is damaged, no ledger, or may not be written though ``writable``.
    """

    def __init__(self, path: Path, *, writable: bool) -> None:
        _guard_forks()
        self._path = path
        self._writable = writable
        self._closed = False
        self._admitting = False
        self._refusal: BaseException | None = None
        self._links: list[Link] = []
        check_place(path)
        if writable and not is_writable(path):
            raise LedgerError(f"ledger {path} cannot be written; allow writing to it and to its folder.")
        self.verify()
        first = entry_of(self._links[0])
        if first.kind != "created" or not isinstance(first.payload.get("test"), bool):
            raise LedgerError(f"ledger {path} does not begin as a ledger does; put back the last good copy.")
        self._first = first

    @property
    def path(self) -> str:
        return str(self._path)

    @property
    def is_test(self) -> bool:
        return bool(self._first.payload["test"])

    @property
    def ledger_id(self) -> str:
        return str(self._first.payload.get("ledger_id", ""))

    def append(
        self,
        kind: str,
        table: str,
        payload: dict[str, Any],
        *,
        admit: Admit | None = None,
        content: str | None = None,
    ) -> Entry:
        if content is not None:
            payload = {**payload, "content": content_digest(content)}
        text = self._check_arguments(kind, table, payload)
        with self._alone():
            with self._connected() as connection:
                connection.execute("BEGIN IMMEDIATE")
                self._check_new(connection)
                if admit is not None:
                    self._ask(admit, table)
                link = next_link(self._links[-1], now(), kind, table, text)
                connection.execute(APPEND, link)
                connection.execute(MOVE_HEAD, (link.sequence, link.hash))
                if content is not None:
                    create_content(connection)
                    connection.execute(KEEP, (payload["content"], content))
                failure = _commit(connection)
            if failure is not None:
                raise self._unfinished(link) from failure
            self._links.append(link)
        return entry_of(link)

    def entries(self, table: str | None = None, kind: str | None = None) -> tuple[Entry, ...]:
        if kind is not None:
            check_choice("kind", kind, KINDS)
        return tuple(
            entry_of(link) for link in self._current() if table in {None, link.table} and kind in {None, link.kind}
        )

    def content(self, digest: str) -> str | None:
        with self._reading() as connection:
            if not has_content(connection):
                return None
            found = connection.execute(f"{SELECT_CONTENT} WHERE digest = ?", (digest,)).fetchall()
        return self._checked_text(*found[0]) if found else None

    def forget(self, digests: Iterable[str]) -> int:
        if not self._writable:
            raise UsageError(f"ledger {self._path} is open for reading only; forget through open_ledger.")
        with self._alone(), self._connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            self._check_new(connection)
            gone = 0
            for digest in digests if has_content(connection) else ():
                gone += connection.execute(FORGET, (digest,)).rowcount
            failure = _commit(connection)
        if failure is not None:
            raise LedgerError(f"ledger {self._path} could not delete texts; make room on the disk, then try again.")
        return gone

    def head(self) -> tuple[int, str]:
        last = self._current()[-1]
        return last.sequence, last.hash

    def verify(self, head: str | None = None) -> tuple[int, str]:
        if head is not None and not is_hash(head := str(head).strip().lower()):
            raise UsageError(f"head must be a hash of 64 hexadecimal digits, got {head!r}; pass it as it was printed.")
        with self._reading() as connection:
            faults = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(1)")]
            if faults != ["ok"]:
                raise LedgerError(f"ledger {self._path} is a damaged SQLite file ({faults[0]}); {REMEDY}")
            known, self._links = self._links, []
            try:
                self._check_new(connection)
                if self._links[: len(known)] != known:
                    raise self._exchanged()
            except BaseException:
                self._links = known
                raise
            links = tuple(self._links)
            self._check_texts(connection)
        if head is not None and all(link.hash != head for link in links):
            raise LedgerError(
                f"no entry of ledger {self._path} has the head hash {head}: "
                f"the file is an older copy or another ledger; {REMEDY}"
            )
        return links[-1].sequence, links[-1].hash

    def close(self) -> None:
        self._closed = True

    def _check_arguments(self, kind: str, table: str, payload: dict[str, Any]) -> str:
        check_choice("kind", kind, KINDS[1:])
        if not isinstance(table, str) or not table:
            raise UsageError(f"table must be a table's name, not {table!r}; pass a non-empty string.")
        if not isinstance(payload, dict):
            raise UsageError(f"payload must be a dict of JSON values, not {type(payload).__name__}; pass one.")
        if not self._writable:
            raise UsageError(f"ledger {self._path} is open for reading only; append through open_ledger.")
        return canonical_json(payload)

    def _current(self) -> tuple[Link, ...]:
        with self._reading() as connection:
            self._check_new(connection)
            return tuple(self._links)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with _process_lock:
            if self._admitting:
                raise UsageError("admit must not append to the ledger that called it; append afterwards.")
            try:
                yield
            finally:
                self._refusal = None

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with _process_lock, self._connected() as connection:
            connection.execute("BEGIN")
            yield connection

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        # Closing drops an open transaction, so whatever is raised inside leaves the file as it was.
        if self._closed:
            raise UsageError(f"ledger {self._path} is closed; open it again.")
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

    def _check_new(self, connection: sqlite3.Connection) -> None:
        last = self._links[-1] if self._links else None
        start = last.sequence if last else 0
        known = connection.execute(f"{SELECT_LINKS} WHERE sequence = ?", (start,)).fetchall()
        if last and known != [tuple(last)]:
            raise self._exchanged()
        try:
            records = connection.execute(f"{SELECT_LINKS} WHERE sequence > ? ORDER BY sequence", (start,))
            links = check_links(last, records)
            for link in links:
                entry_of(link)
        except LedgerError as error:
            raise LedgerError(f"ledger {self._path}: {error}") from error
        newest = links[-1] if links else last
        head = connection.execute("SELECT sequence, hash FROM head").fetchall()
        count = connection.execute("SELECT count(*) FROM event").fetchone()[0]
        if newest is None or head != [(newest.sequence, newest.hash)] or count != newest.sequence:
            raise LedgerError(
                f"ledger {self._path} does not end where its head record says: entries were removed; {REMEDY}"
            )
        self._links.extend(links)

    def _ask(self, admit: Admit, table: str) -> None:
        # What admit raises is its own, even if it looks like an error of the ledger's file.
        self._admitting = True
        try:
            admit(tuple(entry_of(link) for link in self._links if link.table == table))
        except BaseException as error:
            self._refusal = error
            raise
        finally:
            self._admitting = False

    def _unfinished(self, link: Link) -> LedgerError:
        # The log may hold a commit that failed to reach the disk, and a later recovery may find it: that
        # charges for nothing, which is the safe side. No answer is given in any of these cases.
        problem = f"ledger {self._path} could not finish writing entry {link.sequence} (disk full or failing)"
        try:
            written = link in self._current()
        except LedgerError:
            return LedgerError(f"{problem} and cannot be read again; count it as charged, and verify the ledger.")
        if written:
            return LedgerError(f"{problem}, yet holds it; it is charged, so check the disk before asking again.")
        return LedgerError(f"{problem}; nothing was charged, so make room on the disk and ask again.")

    def _check_texts(self, connection: sqlite3.Connection) -> None:
        if not has_content(connection):
            return
        known = {entry_of(link).payload.get("content") for link in self._links if link.kind == "answer"}
        for digest, text in connection.execute(SELECT_CONTENT):
            self._checked_text(digest, text)
            if digest not in known:
                raise LedgerError(f"ledger {self._path} keeps a text that no entry names; {REMEDY}")

    def _checked_text(self, digest: object, text: object) -> str:
        if not isinstance(text, str) or content_digest(text) != digest:
            raise LedgerError(f"ledger {self._path} keeps a text that is not the one its entry names; {REMEDY}")
        return text

    def _exchanged(self) -> LedgerError:
        return LedgerError(
            f"ledger {self._path} no longer holds entries that this process has seen: "
            f"an older copy was put back, or the file was rewritten; {REMEDY}"
        )


@cache
def _guard_forks() -> None:
    # A child that inherits an open connection believes in locks that it does not hold: fork between calls.
    os.register_at_fork(
        before=_process_lock.acquire,
        after_in_parent=_process_lock.release,
        after_in_child=_process_lock.release,
    )


def _commit(connection: sqlite3.Connection) -> sqlite3.Error | None:
    try:
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        return error
    # Durable from here on, in the log; that the log moves into the file at once is a convenience for copies.
    with suppress(sqlite3.Error):
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
    return None
