"""Entries of a ledger, in order, with those of a kind at hand: of a hundred thousand charges few questions need all."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence

from emdp.ledger.base import Entry

__all__ = ["Entries", "EntryIndex", "after", "of_kinds"]


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

    @property
    def tables(self) -> set[str]:
        """Names that entries have as their table's; the first entry's is empty."""
        return {name for name in self._all if name is not None}

    def add(self, entries: Iterable[Entry]) -> None:
        """Take in further entries, in order."""
        for entry in entries:
            for table in (None, entry.table):
                self._all.setdefault(table, []).append(entry)
                self._by_kind.setdefault(table, {}).setdefault(entry.kind, []).append(entry)

    def of(self, table: str | None) -> Entries:
        """Return the entries of a table, or of all."""
        own = self._all.get(table, [])
        found = self._made.get(table)
        # Entries are never taken out, so as many are the same; another thread may have put in more meanwhile.
        if found is None or len(found) != len(own):
            found = Entries(own)
            found._by_kind = self._by_kind.get(table, {})
            self._made[table] = found
        return found


def of_kinds(entries: Iterable[Entry], *kinds: str) -> Sequence[Entry]:
    """Return the entries of some kinds, in order.

    >>> made = [Entry(place, "", kind, "visits", "{}", "", "") for place, kind in enumerate(["budget", "charge"], 1)]
    >>> index = EntryIndex()
    >>> index.add(made)
    >>> [entry.sequence for entry in of_kinds(index.of("visits"), "charge")], len(of_kinds(made, "budget", "charge"))
    ([2], 2)
    """
    if not isinstance(entries, Entries):
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


def _sequence(entry: Entry) -> int:
    return entry.sequence
