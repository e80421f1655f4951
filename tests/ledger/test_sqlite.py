"""Appending, reading, verifying: refusals write nothing, failures are told apart, tampering shows."""

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import emdp
from emdp.base.errors import BudgetExceededError, LedgerError, UsageError
from emdp.ledger import open_ledger, read_ledger
from emdp.ledger import sqlite as sqlite_module
from emdp.ledger.chain import canonical_json, link_of, next_link

# Children load the ledger without the rest of emdp, which takes longer than what they do.
ALONE = f"""
import sys, types
package = types.ModuleType("emdp")
package.__path__ = {[str(Path(emdp.__file__).parent)]!r}
sys.modules["emdp"] = package
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "city.ledger"


@pytest.fixture
def ledger(path):
    return open_ledger(path)


def test_each_ledger_has_its_own_name(tmp_path):
    one, other = open_ledger(tmp_path / "one"), open_ledger(tmp_path / "other")
    assert len(one.ledger_id) == 32
    assert one.ledger_id != other.ledger_id
    assert open_ledger(tmp_path / "one").ledger_id == one.ledger_id


@pytest.mark.parametrize("error", [BudgetExceededError, KeyboardInterrupt, UnicodeError, sqlite3.DataError])
def test_a_refusal_writes_nothing_and_frees_the_ledger(ledger, path, error):
    before = path.read_bytes()

    def refuse(_):
        raise error("no")

    with pytest.raises(error, match="no"):
        ledger.append("charge", "visits", {"cost": 1}, admit=refuse)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]
    assert open_ledger(path).append("charge", "visits", {"cost": 1}).sequence == 2
    assert ledger.append("charge", "visits", {"cost": 1}).sequence == 3


def test_the_test_switch_must_match_both_ways(tmp_path):
    for made in (False, True):
        place = tmp_path / f"{made}.ledger"
        assert open_ledger(place, test=made).is_test is made
        assert read_ledger(place).is_test is made
        with pytest.raises(LedgerError, match="test switch"):
            open_ledger(place, test=not made)


def test_head_hashes_kept_elsewhere(ledger, path, tmp_path):
    heads = [ledger.head()[1]]
    for _ in range(3):
        heads.append(ledger.append("charge", "visits", {"cost": 1}).hash)
        shutil.copy(path, tmp_path / f"copy{len(heads)}")
    for head in heads:
        assert ledger.verify(head) == ledger.verify(f" {head.upper()}\n") == (4, heads[-1])
    older = read_ledger(tmp_path / "copy3")
    assert older.verify() == older.verify(heads[2]) == (3, heads[2])
    for other in (heads[3], "0" * 64):
        with pytest.raises(LedgerError, match="older copy"):
            older.verify(other)
    for malformed in ("", "abc", "z" * 64):
        with pytest.raises(UsageError, match="64 hexadecimal"):
            older.verify(malformed)


def test_a_process_notices_an_older_copy_put_back_under_it(ledger, path, tmp_path):
    ledger.append("charge", "visits", {"cost": 1})
    shutil.copy(path, tmp_path / "older")
    ledger.append("charge", "visits", {"cost": 1})
    os.replace(tmp_path / "older", path)
    before = path.read_bytes()
    for call in (ledger.entries, ledger.head, ledger.verify, lambda: ledger.append("charge", "visits", {})):
        with pytest.raises(LedgerError, match="older copy"):
            call()
    assert path.read_bytes() == before


def test_a_file_exchanged_during_the_charge_is_noticed(ledger, path, tmp_path):
    shutil.copy(path, tmp_path / "copy")
    with pytest.raises(LedgerError, match="exchanged"):
        ledger.append("charge", "visits", {}, admit=lambda _: os.replace(tmp_path / "copy", path))


def test_a_file_removed_under_the_process_is_not_made_again(ledger, path):
    path.unlink()
    with pytest.raises(LedgerError, match="does not exist"):
        ledger.append("charge", "visits", {})
    assert os.listdir(path.parent) == []


def rewrite(path, *statements):
    """Change the tables behind the triggers, as somebody with the file could, and restore the triggers."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(*statement) if isinstance(statement, tuple) else connection.execute(statement)
        for _, sql in triggers:
            connection.execute(sql)


FORGED = next_link(None, "2026-11-20T09:00:00.000000+00:00", "created", "", canonical_json({"test": 0}))
LAST = "(SELECT hash FROM event ORDER BY sequence DESC LIMIT 1)"


@pytest.mark.parametrize(
    "statements",
    [
        ["UPDATE event SET payload = '{\"cost\":0}' WHERE sequence = 3"],
        ["UPDATE event SET kind = 'validated' WHERE sequence = 3"],
        ["UPDATE event SET \"table\" = 'words' WHERE sequence = 4"],
        ["UPDATE event SET time = '2020' WHERE sequence = 1"],
        ["UPDATE event SET payload = CAST(payload AS BLOB) WHERE sequence = 3"],
        ["UPDATE event SET payload = CAST(x'ff' AS TEXT) WHERE sequence = 3"],
        ["DELETE FROM event WHERE sequence = 2"],
        ["DELETE FROM event WHERE sequence = 4"],
        ["DELETE FROM event WHERE sequence = 1"],
        ["DELETE FROM event"],
        ["DELETE FROM head"],
        ["DELETE FROM event", "UPDATE head SET sequence = 0, hash = '0'"],
        ["UPDATE head SET sequence = 3"],
        ["UPDATE head SET sequence = '4x'"],
        ["DELETE FROM event WHERE sequence = 4", f"UPDATE head SET hash = {LAST}"],
        ["INSERT INTO event SELECT 5, time, kind, 'visits', payload, previous_hash, hash FROM event LIMIT 1"],
        ["INSERT INTO event SELECT -1, time, kind, '', payload, previous_hash, hash FROM event LIMIT 1"],
        ["UPDATE event SET sequence = 9 WHERE sequence = 4", "UPDATE head SET sequence = 9"],
        ["DELETE FROM event", ("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?)", FORGED),
         ("UPDATE head SET sequence = 1, hash = ?", (FORGED.hash,))],
    ],
)  # fmt: skip
def test_tampering_is_refused_on_opening_and_under_an_open_ledger(ledger, path, statements):
    for cost in range(3):
        ledger.append("charge", "visits", {"cost": cost})
    rewrite(path, *statements)
    before = path.read_bytes()
    for call in (lambda: open_ledger(path), lambda: read_ledger(path), ledger.verify):
        with pytest.raises(LedgerError):
            call()
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM event WHERE sequence = 4",
        "DELETE FROM event WHERE sequence = 3",
        "UPDATE head SET sequence = 3",
    ],
)
def test_removed_entries_stop_the_next_charge(ledger, path, statement):
    for cost in range(3):
        ledger.append("charge", "visits", {"cost": cost})
    rewrite(path, statement)
    with pytest.raises(LedgerError):
        ledger.append("charge", "visits", {"cost": 0})


def test_last_entries_removed_with_the_head_are_an_older_copy(ledger, path):
    kept = [ledger.append("charge", "visits", {"cost": cost}).hash for cost in range(3)]
    rewrite(path, "DELETE FROM event WHERE sequence = 4", f"UPDATE head SET sequence = 3, hash = {LAST}")
    assert read_ledger(path).verify() == (3, kept[1])
    for call in (
        lambda: read_ledger(path).verify(kept[2]),
        ledger.verify,
        lambda: ledger.append("charge", "v", {}),
    ):
        with pytest.raises(LedgerError, match="older copy"):
            call()


def test_a_kind_of_a_newer_version_is_refused(ledger, path):
    last = next_link(link_of(ledger._entries[-1]), "2030", "grant", "visits", "{}")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?)", last)
        connection.execute("UPDATE head SET sequence = 2, hash = ?", (last.hash,))
    for call in (lambda: open_ledger(path), ledger.entries, lambda: ledger.append("charge", "visits", {})):
        with pytest.raises(LedgerError, match="newer emdp"):
            call()


def test_a_ledger_held_by_another_process(ledger, path, monkeypatch):
    monkeypatch.setattr(sqlite_module, "BUSY_SECONDS", 0.01)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="held by another process"):
            ledger.append("charge", "visits", {})
        assert ledger.head() == read_ledger(path).head() == ledger.verify()
    assert ledger.append("charge", "visits", {}).sequence == 2


def failing(connection):
    return sqlite3.OperationalError("disk I/O error")


def failing_after_writing(connection):
    connection.execute("COMMIT")
    return sqlite3.OperationalError("disk I/O error")


def failing_for_good(connection):
    Path(connection.execute("PRAGMA database_list").fetchone()[2]).write_bytes(b"x" * 5000)
    return sqlite3.OperationalError("disk I/O error")


@pytest.mark.parametrize(
    ("commit", "words", "entries"),
    [(failing, "nothing was charged", 1), (failing_after_writing, "it is charged", 2)],
)
def test_a_failed_commit_says_whether_it_charged(ledger, path, monkeypatch, commit, words, entries):
    monkeypatch.setattr(sqlite_module, "_commit", commit)
    with pytest.raises(LedgerError, match=words):
        ledger.append("charge", "visits", {})
    monkeypatch.undo()
    assert ledger.head()[0] == read_ledger(path).head()[0] == entries
    assert ledger.append("charge", "visits", {}).sequence == entries + 1


def test_a_failed_commit_of_unknown_outcome_counts_as_charged(ledger, monkeypatch):
    def unreadable():
        raise LedgerError("gone")

    monkeypatch.setattr(sqlite_module, "_commit", failing)
    monkeypatch.setattr(ledger, "_current", unreadable)
    with pytest.raises(LedgerError, match="count it as charged"):
        ledger.append("charge", "visits", {})


FULL_DISK = """
import resource, sys
from emdp.base.errors import LedgerError
from emdp.ledger import open_ledger
ledger = open_ledger(sys.argv[1])
ledger.append("charge", "visits", {"cost": 1})
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
for limit in (0, 1000, 40_000, 100_000):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        ledger.append("charge", "visits", {"text": "a" * 300_000})
        print("written")
    except LedgerError as error:
        print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
print(ledger.append("charge", "visits", {"cost": 1}).sequence, ledger.verify()[0])
"""


def test_a_disk_that_takes_no_more_charges_nothing(path):
    command = [sys.executable, "-c", ALONE + FULL_DISK, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    *failures, last = done.stdout.splitlines()
    assert len(failures) == 4
    assert all("disk" in line and line != "written" for line in failures)
    assert "nothing was charged" in failures[-1]
    assert last == "3 3"
    assert [entry.payload for entry in read_ledger(path).entries("visits")] == [{"cost": 1}, {"cost": 1}]
