"""Entries of a ledger, in order, with those of a kind at hand: of a hundred thousand charges few questions need all.

A ledger that states totals (:mod:`emdp.budgets.totals`) is opened at the newest of them. Of what lies before, the
entries of the kinds ``READ`` are at hand, and a :class:`View` reads the others, with the whole chain, when it is asked
for one.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

from emdp.base.checks import table_key
from emdp.base.errors import LedgerError
from emdp.ledger.base import Entry

__all__ = [
    "EVERY",
    "READ",
    "Entries",
    "EntryIndex",
    "View",
    "after",
    "end_of",
    "later",
    "of_kinds",
    "of_table",
    "tables_of",
]

READ = ("created", "budget", "validated", "reserve", "redeclare")
"""Kinds of which every entry is read, however old: they say what a table is held to."""


EVERY = 1000
"""Entries after which a session that charges states totals: reading as many takes some 10 ms."""


class Entries(tuple[Entry, ...]):
    """Entries in order that know where those of a kind are; made by :class:`EntryIndex`."""

    _by_kind: Mapping[str, Sequence[Entry]]

    def of(self, kind: str) -> Sequence[Entry]:
        """Return those of a kind, in order."""
        found = self._by_kind.get(kind, ())
        # The index goes on growing; these entries end where they ended.
        return found[: bisect_right(found, self[-1].sequence, key=_sequence)] if self else ()


class EntryIndex:
    """The entries of a ledger by table and kind, as they are read."""

    def __init__(self) -> None:
        self._all: dict[str | None, list[Entry]] = {None: []}
        self._by_kind: dict[str | None, dict[str, list[Entry]]] = {None: {}}
        self._made: dict[str | None, Entries] = {}
        self.floor = 0
        """The sequence from which on every entry is here; 0: all of them are."""
        self.totals: Entry | None = None
        """The newest entry that states totals."""
        self.stated: Mapping[str, Any] = {}
        """What the entry at ``floor`` states, by table."""

    @property
    def tables(self) -> set[str]:
        """Names that entries have as their table's; the first entry's is empty."""
        return {name for name in self._all if name is not None} | set(self.stated)

    def named(self, table: str) -> str:
        """Return a table's name as the ledger has it: to the letter, or as the one that SQL takes for the same."""
        names = self.tables
        if table in names:
            return table
        same = sorted(name for name in names if name and table_key(name) == table_key(table))
        if len(same) > 1:
            shown = ", ".join(map(ascii, same))
            raise LedgerError(
                f"table {table!r} is any of {shown} of the ledger, which an earlier version told apart; write its name "
                "as it stands there."
            )
        return same[0] if same else table

    def early(self) -> Iterator[Entry]:
        """Iterate over the entries of the kinds ``READ``, kind by kind."""
        return (entry for kind in READ for entry in self._by_kind[None].get(kind, ()))

    def begin(self, early: Iterable[Entry], totals: Entry) -> None:
        """Begin at an entry that states totals, with what is at hand of those before it."""
        self.add(early)
        self.add([totals])
        self.floor, self.stated = totals.sequence, totals.payload["tables"]

    def add(self, entries: Iterable[Entry]) -> None:
        """Take in further entries, in order."""
        for entry in entries:
            if entry.kind == "totals":
                self.totals = entry
            for table in (None, entry.table):
                self._all.setdefault(table, []).append(entry)
                self._by_kind.setdefault(table, {}).setdefault(entry.kind, []).append(entry)

    def of(self, table: str | None, end: int | None = None) -> Entries:
        """Return the entries of a table, or of all, that are here: all, or up to a sequence."""
        own = self._all.get(table, [])
        found = self._made.get(table)
        # Entries are never taken out, so as many are the same; another thread may have put in more meanwhile.
        if found is None or len(found) != len(own):
            found = Entries(own)
            found._by_kind = self._by_kind.get(table, {})
            self._made[table] = found
        if end is None or not found or found[-1].sequence <= end:
            return found
        cut = Entries(found[: bisect_right(found, end, key=_sequence)])
        cut._by_kind = found._by_kind
        return cut


class View(Sequence[Entry]):
    """The entries of a table, or of all, as they are now, of which early ones are read when they are asked for.

    Parameters
    ----------
    end : int
        Sequence of the ledger's last entry.
    read : callable
        Reads and checks the whole chain, and returns the index of all of it.

    Attributes
    ----------
    floor : int
        Sequence of the entry that states totals, from which on all are at hand.
    stated : mapping or None
        What is stated there of the table; None where nothing is.
    """

    def __init__(self, index: EntryIndex, table: str | None, end: int, read: Callable[[], EntryIndex]) -> None:
        self._index, self._table, self.end, self._read = index, table, end, read
        self._known, self.floor = index.of(table, end), index.floor
        self.stated = None if table is None else index.stated.get(table)

    def of(self, kind: str) -> Sequence[Entry]:
        """Return those of a kind, in order."""
        return self._known.of(kind) if kind in READ else self._all().of(kind)

    def later(self, sequence: int, kinds: Sequence[str]) -> Sequence[Entry]:
        """Return those of some kinds that follow a sequence, in order."""
        is_known = sequence >= self.floor - 1 or set(kinds) <= set(READ)
        return after(of_kinds(self._known if is_known else self._all(), *kinds), sequence)

    def of_table(self, table: str) -> Sequence[Entry]:
        """Return those of a table, by its name in the ledger."""
        known = self._index
        # A table that is not named there has no entry before it.
        return View(known, table, self.end, self._read) if table in known.stated else known.of(table, self.end)

    def tables(self) -> set[str]:
        """Return the names of all tables."""
        return self._index.tables

    def __len__(self) -> int:
        return len(self._all())

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._all())

    @overload
    def __getitem__(self, place: int) -> Entry: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Entry]: ...
    def __getitem__(self, place: int | slice) -> Entry | Sequence[Entry]:
        return self._all()[place]

    def _all(self) -> Entries:
        return self._read().of(self._table, self.end)


def of_kinds(entries: Iterable[Entry], *kinds: str) -> Sequence[Entry]:
    """Return the entries of some kinds, in order.

    >>> made = [Entry(place, "", kind, "visits", "{}", "", "") for place, kind in enumerate(["budget", "charge"], 1)]
    >>> index = EntryIndex()
    >>> index.add(made)
    >>> [entry.sequence for entry in of_kinds(index.of("visits"), "charge")], len(of_kinds(made, "budget", "charge"))
    ([2], 2)
    """
    if not isinstance(entries, Entries | View):
        return [entry for entry in entries if entry.kind in kinds]
    if len(kinds) == 1:
        return entries.of(kinds[0])
    return sorted((entry for kind in kinds for entry in entries.of(kind)), key=_sequence)


def after(entries: Sequence[Entry], sequence: int) -> Sequence[Entry]:
    """Return those of some entries, in order, that follow a sequence.

    >>> made = [Entry(place, "", "charge", "visits", "{}", "", "") for place in (2, 5, 9)]
    >>> [entry.sequence for entry in after(made, 5)]
    [9]
    """
    return entries[bisect_right(entries, sequence, key=_sequence) :]


def later(entries: Sequence[Entry], sequence: int, *kinds: str) -> Sequence[Entry]:
    """Return those of some kinds that follow a sequence, in order; of a :class:`View` without reading earlier ones.

    >>> made = [Entry(place, "", "charge", "visits", "{}", "", "") for place in (2, 5, 9)]
    >>> [entry.sequence for entry in later(made, 2, "charge")], len(later(made, 2, "budget"))
    ([5, 9], 0)
    """
    return entries.later(sequence, kinds) if isinstance(entries, View) else after(of_kinds(entries, *kinds), sequence)


def of_table(entries: Sequence[Entry], table: str) -> Sequence[Entry]:
    """Return those of a table, by its name in the ledger, of the entries of all.

    >>> of_table([Entry(7, "", "charge", "visits", "{}", "", "")], "visits")[0].sequence
    7
    """
    return entries.of_table(table) if isinstance(entries, View) else [own for own in entries if own.table == table]


def tables_of(entries: Sequence[Entry]) -> set[str]:
    """Return the names of the tables of all entries.

    >>> tables_of([Entry(7, "", "charge", "visits", "{}", "", "")])
    {'visits'}
    """
    return entries.tables() if isinstance(entries, View) else {own.table for own in entries}


def end_of(entries: Sequence[Entry]) -> int:
    """Return a sequence up to which some entries are all that there are; 0 where there are none.

    >>> end_of([]), end_of([Entry(7, "", "charge", "visits", "{}", "", "")])
    (0, 7)
    """
    if isinstance(entries, View):
        return entries.end
    return entries[-1].sequence if entries else 0


def _sequence(entry: Entry) -> int:
    return entry.sequence
