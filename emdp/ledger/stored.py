"""The common part of ledgers in files and on servers: the chain as it was last read; reading, checking, appending.

A store gives connections, rows and a commit; everything that decides whether an entry is written is here, once.
"""

import os
import threading
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from itertools import chain
from typing import Any, Generic, TypeVar

from emdp.base.charged import CHARGED
from emdp.base.checks import check_choice
from emdp.base.errors import LedgerError, UsageError
from emdp.ledger.base import KINDS, Admit, Entry, Ledger
from emdp.ledger.chain import (
    REMEDY,
    Link,
    canonical_json,
    check_alone,
    check_links,
    check_texts,
    checked_text,
    content_digest,
    entry_of,
    is_hash,
    link_of,
    next_links,
)
from emdp.ledger.entries import EVERY, READ, EntryIndex, View, end_of
from emdp.ledger.start import MovedOnError, kept_digest, now, start_at

__all__ = ["Snapshot", "StoredLedger"]

Connection = TypeVar("Connection")
"""Type of a store's connection."""

Snapshot = tuple[tuple[Link, ...], tuple[tuple[str, str], ...]]
"""All links of a ledger, and the texts that it still keeps by digest, in its order, read in one transaction."""

_process_lock = threading.RLock()
"""Held while this process has a connection to any ledger."""


class StoredLedger(Ledger, Generic[Connection]):
    """A ledger whose entries lie in a database.

    The chain is checked on opening, whole or from the newest totals on (:mod:`emdp.ledger.start`); each later call
    checks the entries that are new to this object, and that the store still holds the last one it knows. Every call
    opens a connection, works in one transaction and closes again, so that nothing is held between calls; a fork waits
    until no call is under way.

    Parameters
    ----------
    path : str
        Where the ledger is kept, as it may be shown.
    writable : bool
        Whether it may be appended to.

    Raises
    ------
    LedgerError
        If the store is damaged, holds no ledger, or may not be written though ``writable``.
    """

    def __init__(self, path: str, *, writable: bool) -> None:
        _guard_forks()
        self._shown = path
        self._writable = writable
        self._closed = self._admitting = False
        self._refusal: BaseException | None = None
        self._entries: list[Entry] = []
        self._index = EntryIndex()
        self._check_access()
        with self._reading() as connection:
            first = self._start(connection)
        if first.kind != "created" or not isinstance(first.payload.get("test"), bool):
            raise LedgerError(f"ledger {path} does not begin as a ledger does; put back the last good copy.")
        self._first = first

    @property
    def path(self) -> str:
        return self._shown

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
        whole: bool = False,
        content: str | None = None,
        ahead: Sequence[tuple[str, dict[str, Any]]] = (),
    ) -> Entry:
        if content is not None:
            payload = {**payload, "content": content_digest(content)}
        texts = [(own, self._check_arguments(own, table, said)) for own, said in (*ahead, (kind, payload))]
        if kind == "charge":
            CHARGED.begin()
        with self._alone():
            with self._connected() as connection:
                self._begin(connection, write=True)
                self._check_new(connection)
                table = self._index.named(table)
                if admit is not None:
                    self._ask(admit, None if whole else table)
                links = next_links(link_of(self._entries[-1]), now, table, texts)
                marks = [self._write(connection, link, content if link is links[-1] else None) for link in links]
                failure = self._commit(connection)
            if failure is not None:
                self._settle(links[-1], marks[-1], failure)  # All are of one transaction
            if self._entries[-1].sequence < links[-1].sequence:
                self._keep(list(map(entry_of, links)))
        return entry_of(links[-1])

    def entries(self, table: str | None = None, kind: str | None = None) -> tuple[Entry, ...]:
        if kind is not None:
            check_choice("kind", kind, KINDS)
        self._current()
        index = self._index if kind in READ else self._whole()
        entries = index.of(None if table is None else index.named(table))
        return entries if kind is None else tuple(entries.of(kind))

    def view(self, table: str | None = None) -> Sequence[Entry]:
        self._current()
        return self._seen(None if table is None else self._index.named(table))

    def search(self, kind: str, table: str, *, words: str | None = None, sequence: int | None = None) -> list[Entry]:
        with self._reading() as connection:
            self._check_new(connection, is_counted=False)
            table, floor = self._index.named(table), self._index.floor
            named = {"table": table, "words": words, "sequence": sequence}
            early = self._selected(connection, (kind,), **named) if floor else ()
            found = [entry_of(check_alone(own)) for own in early if own[0] < floor]
        at_hand = self._index.of(table).of(kind)
        found += [own for own in at_hand if sequence in (None, own.sequence) and (words is None or words in own.text)]
        return found

    def is_due(self) -> bool:
        since = self._entries[-1].sequence - (self._index.totals.sequence if self._index.totals else 0)
        return since >= EVERY and self._states

    def append_totals(self, table: str, totals: Mapping[str, Any], end: int) -> bool:
        def admit(entries: Sequence[Entry]) -> None:
            if end_of(entries) != end:
                raise MovedOnError

        payload = {"carried": end, "kept": kept_digest(self._index.early()), "tables": dict(totals)}
        with suppress(MovedOnError):
            return self._states and bool(self.append("totals", table, payload, admit=admit, whole=True))
        return False

    def content(self, digest: str) -> str | None:
        with self._reading() as connection:
            found = self._texts(connection, digest)
        return checked_text(self._shown, *found[0]) if found else None

    def forget(self, digests: Iterable[str]) -> int:
        if not self._writable:
            raise UsageError(f"ledger {self._shown} is open for reading only; forget through open_ledger.")
        with self._alone(), self._connected() as connection:
            self._begin(connection, write=True)
            self._check_new(connection)
            gone = self._drop(connection, list(digests))
            failure = self._commit(connection)
        if failure is not None:
            raise LedgerError(f"ledger {self._shown} could not delete texts; make room on the disk, then try again.")
        return gone

    def head(self) -> tuple[int, str]:
        self._current()
        last = self._entries[-1]
        return last.sequence, last.hash

    def verify(self, head: str | None = None) -> tuple[int, str]:
        if head is not None and not is_hash(head := str(head).strip().lower()):
            raise UsageError(f"head must be a hash of 64 hexadecimal digits, got {head!r}; pass it as it was printed.")
        with self._reading() as connection:
            self._walk(connection)
            if head is not None and all(entry.hash != head for entry in self._entries):
                raise LedgerError(
                    f"no entry of ledger {self._shown} has the head hash {head}: "
                    f"it is an older copy or another ledger; {REMEDY}"
                )
            return self._entries[-1].sequence, self._entries[-1].hash

    def snapshot(self) -> Snapshot:
        """Walk the whole chain and check every text that is kept, and return both.

        Raises
        ------
        LedgerError
            If the store or the chain is damaged, or a text is not the one that its digest is of.
        """
        with self._reading() as connection:
            texts = self._walk(connection)
            return tuple(map(link_of, self._entries)), texts

    def close(self) -> None:
        self._closed = True

    @abstractmethod
    def _check_access(self) -> None:
        """Raise unless the store may be read, and written where the ledger is writable."""

    @abstractmethod
    def _connected(self) -> AbstractContextManager[Connection]:
        """Return a connection that lives for one call; leaving it rolls back what was not committed."""

    @abstractmethod
    def _begin(self, connection: Connection, *, write: bool) -> None:
        """Begin a transaction: one snapshot for reading, or alone among all writers until it ends."""

    @abstractmethod
    def _check_store(self, connection: Connection) -> None:
        """Check the store itself, beneath its rows."""

    @abstractmethod
    def _records(self, connection: Connection, start: int) -> Iterable[tuple[Any, ...]]:
        """Return the stored entries from the sequence ``start`` on, in order."""

    @abstractmethod
    def _selected(self, connection: Connection, kinds: Sequence[str], **named: Any) -> Iterable[tuple[Any, ...]]:
        """Return the stored entries of some kinds, in order: those of :func:`emdp.ledger.start.condition`."""

    @abstractmethod
    def _end(self, connection: Connection) -> list[tuple[Any, ...]]:
        """Return the rows of the head record."""

    @abstractmethod
    def _count(self, connection: Connection, after: int) -> int:
        """Return how many entries there are after a sequence, in all after 0: the store looks at each."""

    @abstractmethod
    def _texts(self, connection: Connection, digest: str | None = None) -> list[tuple[Any, ...]]:
        """Return the kept texts with their digests: all of them, or the one of a digest."""

    @property
    def _states(self) -> bool:
        """Whether this user may state totals."""
        return True

    @abstractmethod
    def _write(self, connection: Connection, link: Link, content: str | None) -> object:
        """Write an entry, its text and the new head, and return what :meth:`_settle` needs to know."""

    @abstractmethod
    def _drop(self, connection: Connection, digests: list[str]) -> int:
        """Delete texts, and return how many there were."""

    @abstractmethod
    def _commit(self, connection: Connection) -> Exception | None:
        """Commit durably; return the error if the store does not confirm that."""

    @abstractmethod
    def _settle(self, link: Link, mark: object, failure: Exception) -> None:
        """Find out what became of an entry whose commit was not confirmed: raise unless it is charged for sure."""

    def _check_arguments(self, kind: str, table: str, payload: dict[str, Any]) -> str:
        check_choice("kind", kind, KINDS[1:])
        if not isinstance(table, str) or not table:
            raise UsageError(f"table must be a table's name, not {table!r}; pass a non-empty string.")
        if not isinstance(payload, dict):
            raise UsageError(f"payload must be a dict of JSON values, not {type(payload).__name__}; pass one.")
        if not self._writable:
            raise UsageError(f"ledger {self._shown} is open for reading only; append through open_ledger.")
        return canonical_json(payload)

    def _check_open(self) -> None:
        if self._closed:
            raise UsageError(f"ledger {self._shown} is closed; open it again.")

    def _current(self) -> None:
        """Read what is new. That none of the rest was removed is counted when one is written, and on a walk."""
        with self._reading() as connection:
            self._check_new(connection, is_counted=False)

    def _start(self, connection: Connection) -> Entry:
        """Read the chain, whole or from the newest totals on, and return its first entry."""
        found = list(self._selected(connection, ("totals",), newest=True))
        index = start_at(found[0], self._selected(connection, READ)) if found else None
        if index is not None and index.totals is not None:
            self._index, self._entries = index, [index.totals]
            self._check_new(connection)
            if self._count(connection, 0) == self._entries[-1].sequence:
                return index.of(None)[0]
            self._index, self._entries = EntryIndex(), []
        self._walk(connection)
        if found:
            raise LedgerError(f"ledger {self._shown} states totals that its entries do not have; {REMEDY}")
        return self._entries[0]

    def _seen(self, table: str | None) -> Sequence[Entry]:
        if not self._index.floor:
            return self._index.of(table)
        view = View(self._index, None, self._entries[-1].sequence, self._whole)
        return view if table is None else view.of_table(table)

    def _whole(self) -> EntryIndex:
        """Read and check all that was not read, and return the entries."""
        if self._index.floor:
            with self._reading() as connection:
                self._walk(connection)
        return self._index

    def _walk(self, connection: Connection) -> tuple[tuple[str, str], ...]:
        """Read and check the store, the whole chain and every text that is kept, and return the texts."""
        self._check_store(connection)
        known, index = self._entries, self._index
        self._entries, self._index = [], EntryIndex()
        try:
            self._check_new(connection)
            if any(self._entries[own.sequence - 1 : own.sequence] != [own] for own in chain(index.early(), known)):
                raise self._exchanged()
        except BaseException:
            self._entries, self._index = known, index
            raise
        named = {own.payload.get("content") for own in self._entries if own.kind == "answer"}
        return check_texts(self._shown, named, self._texts(connection))

    def _keep(self, entries: Sequence[Entry]) -> None:
        self._entries.extend(entries)
        self._index.add(entries)

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
    def _reading(self) -> Iterator[Connection]:
        with _process_lock, self._connected() as connection:
            self._begin(connection, write=False)
            yield connection

    def _check_new(self, connection: Connection, *, is_counted: bool = True) -> None:
        last = link_of(self._entries[-1]) if self._entries else None
        records = iter(self._records(connection, last.sequence if last else 0))
        if last and next(records, None) != tuple(last):
            raise self._exchanged()
        try:
            links = check_links(last, records)
            entries = [entry_of(link) for link in links]
        except LedgerError as error:
            raise LedgerError(f"ledger {self._shown}: {error}") from error
        newest = links[-1] if links else last
        head = self._end(connection)
        # What lies before the newest totals is counted in them.
        before = self._index.totals.sequence - 1 if self._index.totals else 0
        count = before + self._count(connection, before) if is_counted or newest is None else newest.sequence
        if newest is None or head != [(newest.sequence, newest.hash)] or count != newest.sequence:
            raise LedgerError(
                f"ledger {self._shown} does not end where its head record says: entries were removed; {REMEDY}"
            )
        self._keep(entries)

    def _ask(self, admit: Admit, table: str | None) -> None:
        # What admit raises is its own, even if it looks like an error of the ledger's store.
        self._admitting = True
        try:
            admit(self._seen(table))
        except BaseException as error:
            self._refusal = error
            raise
        finally:
            self._admitting = False

    def _exchanged(self) -> LedgerError:
        return LedgerError(
            f"ledger {self._shown} no longer holds entries that this process has seen: "
            f"an older copy was put back, or it was rewritten; {REMEDY}"
        )


@cache
def _guard_forks() -> None:
    # A child that inherits an open connection believes in locks that it does not hold, or talks into its parent's
    # session: fork between calls.
    os.register_at_fork(
        before=_process_lock.acquire,
        after_in_parent=_process_lock.release,
        after_in_child=_process_lock.release,
    )
