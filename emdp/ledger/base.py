"""The contract of a ledger, in a file or on a server: append events to a hash chain, read them, verify them.

An embedded file (:mod:`emdp.ledger.sqlite`) is one implementation, a database that a team shares
(:mod:`emdp.ledger.postgres`) another. A ledger stores JSON and knows nothing of guarantees: who charges hands over a
callback that admits or refuses a charge, and the ledger runs it while no other process can append.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

from emdp.base.classes import dataclass
from emdp.base.errors import LedgerError

if TYPE_CHECKING:
    from emdp.ledger.state import Draft

__all__ = ["KINDS", "Admit", "Entry", "Ledger", "SecretState"]

KINDS = ("created", "budget", "validated", "charge", "answer", "reserve", "redeclare", "row", "totals")
"""The kinds of events that this version writes and reads; a ledger that holds another kind is refused."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One event of a ledger, as it was stored.

    Attributes
    ----------
    sequence : int
        Place in the chain, from 1 on without gaps; the number of entries up to this one.
    time : str
        UTC, ISO 8601, when the event was appended; informative, since clocks may step back.
    kind : str
        One of ``KINDS``.
    table : str
        Name of the table whose budget the event concerns; empty for ``"created"``.
    text : str
        The event itself, a JSON object as text, as the chain has it.
    previous_hash, hash : str
        SHA-256 in hexadecimal: of the entry before (64 zeros for the first), and of this one with all it
        holds.

    Raises
    ------
    LedgerError
        If the kind is unknown to this version.

    >>> time = "2026-11-20T09:00:00.000000+00:00"
    >>> entry = Entry(2, time, "charge", "visits", '{"query":"..."}', "0" * 64, "1" * 64)
    >>> entry.kind, entry.payload
    ('charge', {'query': '...'})
    """

    sequence: int
    time: str
    kind: str
    table: str
    text: str
    previous_hash: str
    hash: str

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise LedgerError(
                f"ledger entry {self.sequence} is of kind {self.kind!r}, which this version does not know; "
                "install the newer emdp that wrote it."
            )

    @property
    def payload(self) -> dict[str, Any]:
        """The event itself, as JSON values. Each reading gives a new dict: changing it changes no ledger.

        Read from the text each time: of thousands of entries that a charge is admitted beside, few are looked into.
        """
        return dict(json.loads(self.text))


Admit = Callable[[Sequence[Entry]], object]
"""Given the entries of one table so far, or of all, raises if the event about to be appended must be refused."""


class SecretState(Protocol):
    """Exact statistics of streams, which rows of a ledger name by their digests."""

    def check(self) -> None:
        """Raise ``LedgerError`` if this user may not use the state, or others may."""

    def keep(self, digest: str, salt: bytes, numbers: Sequence[int], counted: Sequence[str] | None = None) -> None:
        """Write a draft, durably, before a row may name it."""

    def find(self, digest: str, stream: str, place: int) -> "Draft":
        """Return the draft that a row names; raise ``LedgerError`` where it is lost."""


class Ledger(ABC):
    """An append-only chain of events on durable storage, shared by any number of processes and threads.

    The chain shows that no entry was changed, left out or reordered, by accident or by hand. It cannot show
    that somebody recomputed all of it, or put back an older copy that was intact: for both, keep a head hash
    elsewhere and give it to :meth:`verify`.

    A table is known by its name as SQL compares names: one that differs from an earlier entry's only as
    :func:`emdp.base.checks.table_key` says is that table, and is written as it was. Ledgers of earlier versions may
    hold tables whose names differ no more than that: there each is known by its name to the letter.
    """

    @property
    @abstractmethod
    def path(self) -> str:
        """Place of the ledger: an absolute path, or the address of a database without its password."""

    @property
    @abstractmethod
    def is_test(self) -> bool:
        """Whether the ledger was made under the test switch, so that what it records is not private."""

    @property
    @abstractmethod
    def ledger_id(self) -> str:
        """The random name that the ledger got when it was created; a copy has the same."""

    @abstractmethod
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
        """Append one event, and return only after it is on the disk.

        No other process or thread can append between the call of ``admit`` and the end of this one, so what
        ``admit`` allowed still holds when the event is written.

        Parameters
        ----------
        kind : str
            One of ``KINDS``, but ``"created"``.
        table : str
            Name of the table that the event concerns.
        payload : dict
            JSON values only: strings, finite numbers, booleans, None, lists and dicts with string keys.
        admit : callable, optional
            Called with the entries of ``table`` so far; whatever it raises refuses the event and reaches the
            caller, and nothing is written. It must be quick, and must not append.
        whole : bool
            Whether ``admit`` is given the entries of all tables.
        content : str, optional
            A text to keep beside the chain; its SHA-256 joins the payload as ``content``. The chain holds the digest
            for ever, the text until :meth:`forget`.
        ahead : sequence of (str, dict)
            Kind and payload of events of the table to be written before this one, in the same transaction: all of
            them are on the disk, or none. ``admit`` is asked once, before the first.

        Returns
        -------
        Entry
            The entry as written, the last one.

        Raises
        ------
        LedgerError
            If the ledger is damaged, held by another process for too long, or cannot be written. Nothing was
            charged then, unless the message says that the entry was written or may have been.
        UsageError
            If an argument is malformed.
        """

    @abstractmethod
    def entries(self, table: str | None = None, kind: str | None = None) -> tuple[Entry, ...]:
        """Return the entries in order, those of one table or kind where given, after checking the new ones.

        Raises
        ------
        LedgerError
            If the ledger is damaged, or an old one that holds several tables of that name and none to the letter.
        UsageError
            If ``kind`` is none of ``KINDS``.
        """

    @abstractmethod
    def view(self, table: str | None = None) -> Sequence[Entry]:
        """Return what :meth:`entries` does, early entries read when they are asked for.

        A ledger that states totals is read from the newest of them on: :func:`emdp.ledger.entries.of_kinds` and
        ``later`` find what a table is held to, and what was written since, without the rest of the chain.

        Raises
        ------
        LedgerError
            As :meth:`entries` does.
        """

    @abstractmethod
    def search(self, kind: str, table: str, *, words: str | None = None, sequence: int | None = None) -> list[Entry]:
        """Return the entries of a kind and table whose text holds some words, or one by its sequence, in order.

        Of what lies before totals each is checked by itself: its hash is that of what it says.

        Raises
        ------
        LedgerError
            If the ledger, or such an entry, is damaged.
        """

    @abstractmethod
    def is_due(self) -> bool:
        """Say whether many entries were written since totals were stated, of those that were read so far."""

    @abstractmethod
    def append_totals(self, table: str, totals: Mapping[str, Any], end: int) -> bool:
        """State the totals of all entries up to ``end``, and return whether that was done.

        Nothing is written where ``end`` is not the last entry any more, or by whom the store does not trust with it.

        Parameters
        ----------
        table : str
            Name of a table that is charged.
        totals : mapping
            What is stated of each table, by its name; None of those whose entries are to be read whole.
        end : int
            Sequence of the last entry that is counted.

        Raises
        ------
        LedgerError
            As :meth:`append` does.
        """

    @abstractmethod
    def content(self, digest: str) -> str | None:
        """Return the text that was kept under a digest; None if it was never kept, or forgotten since.

        Raises
        ------
        LedgerError
            If the text is not the one that the digest is of.
        """

    @abstractmethod
    def forget(self, digests: Iterable[str]) -> int:
        """Delete the texts kept under some digests, and return how many there were; the chain stays as it is.

        Raises
        ------
        LedgerError
            If the ledger is damaged or cannot be written.
        """

    @abstractmethod
    def head(self) -> tuple[int, str]:
        """Return the sequence and the hash of the last entry: the hash to keep elsewhere, for
        :meth:`verify`."""

    @abstractmethod
    def verify(self, head: str | None = None) -> tuple[int, str]:
        """Walk the whole chain again, and return the sequence and the hash of its last entry.

        Parameters
        ----------
        head : str, optional
            A head hash that was kept elsewhere. It must be the hash of some entry: an older copy of the
            ledger, or another ledger, lacks it.

        Raises
        ------
        LedgerError
            If the chain is broken or lacks ``head``, or a kept text is not the one that its digest is of.
        UsageError
            If ``head`` is not a SHA-256 in hexadecimal.
        """

    @abstractmethod
    def close(self) -> None:
        """Give the ledger back; every later call but this one raises ``UsageError``."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
