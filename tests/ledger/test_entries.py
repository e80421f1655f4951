"""Entries by table and kind: what a search through all of them finds, at every length, while the index grows."""

import random

import pytest

from emdp.ledger import Entry, open_ledger
from emdp.ledger.base import KINDS
from emdp.ledger.entries import Entries, EntryIndex, after, of_kinds


def made(seed: int, count: int) -> list[Entry]:
    rng = random.Random(seed)
    return [
        Entry(place, "", rng.choice(KINDS), rng.choice(["visits", "Visits", ""]), "{}", "", "")
        for place in range(1, count + 1)
    ]


@pytest.mark.parametrize("seed", range(3))
def test_the_index_finds_what_a_search_finds(seed: int) -> None:
    entries, index = made(seed, 60), EntryIndex()
    taken: list[tuple[str | None, int, Entries]] = []
    for place, entry in enumerate(entries, 1):
        index.add([entry])
        taken += [(table, place, index.of(table)) for table in (None, "visits", "Visits", "", "none")]
    assert index.tables == {"visits", "Visits", ""}
    for table, place, own in taken:
        plain = [entry for entry in entries[:place] if table in {None, entry.table}]
        assert list(own) == plain
        for kinds in (("charge",), ("reserve", "charge"), KINDS, ("budget", "redeclare", "validated")):
            assert list(of_kinds(own, *kinds)) == list(of_kinds(plain, *kinds)) == [e for e in plain if e.kind in kinds]
        for sequence in (0, 7, place, 99):
            assert list(after(own, sequence)) == [entry for entry in plain if entry.sequence > sequence]


def test_a_ledger_gives_them_as_it_grows(tmp_path) -> None:
    with open_ledger(tmp_path / "city.ledger") as ledger, open_ledger(tmp_path / "city.ledger") as other:
        first = ledger.entries("visits")
        seen: list[tuple[int, ...]] = []

        def admit(entries) -> None:
            seen.append(tuple(entry.sequence for entry in of_kinds(entries, "charge")))

        for number in range(4):
            (ledger, other)[number % 2].append("charge", "visits", {"number": number}, admit=admit)
            ledger.append("validated", "shops", {"number": number})
        assert seen == [(), (2,), (2, 4), (2, 4, 6)]
        assert first == ()
        assert [entry.sequence for entry in ledger.entries("VISITS", "charge")] == [2, 4, 6, 8]
        assert [entry.sequence for entry in other.entries(kind="validated")] == [3, 5, 7, 9]
        assert ledger.entries() == other.entries()
        assert ledger.verify() == other.head()
        assert [entry.sequence for entry in ledger.entries("shops", "validated")] == [3, 5, 7, 9]
