"""A ledger has its marks, tables and triggers, and SQL that takes a charge back is refused."""

import sqlite3
from contextlib import closing

import pytest

from emdp.base.errors import LedgerError
from emdp.ledger import open_ledger, read_ledger
from emdp.ledger.schema import prepare


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "city.ledger"
    with open_ledger(path) as ledger:
        for cost in range(3):
            ledger.append("charge", "visits", {"cost": cost})
    return path


def run(path, *statements):
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE event SET payload = '{}'",
        "UPDATE event SET hash = hash WHERE sequence = 4",
        "DELETE FROM event",
        "DELETE FROM event WHERE sequence = 4",
        "INSERT INTO event VALUES (6, 't', 'charge', 'visits', '{}', 'a', 'b')",
        "INSERT INTO event VALUES (5, 't', 'charge', 'visits', '{}', 'a', 'b')",
        'INSERT INTO event SELECT NULL, time, kind, "table", payload, previous_hash, hash FROM event',
        "INSERT OR REPLACE INTO event SELECT 4, time, kind, \"table\", '{}', previous_hash, hash FROM event",
        "REPLACE INTO event SELECT * FROM event WHERE sequence = 4",
        "UPDATE head SET sequence = 3",
        "UPDATE head SET sequence = 5, hash = 'b'",
        "UPDATE head SET one = 1",
        "UPDATE OR REPLACE head SET sequence = 3, hash = (SELECT hash FROM event WHERE sequence = 3)",
        "DELETE FROM head",
        "INSERT INTO head VALUES (2, 4, 'a')",
        "INSERT OR REPLACE INTO head VALUES (1, 3, 'a')",
    ],
)
def test_triggers_refuse_all_but_an_append(path, statement):
    before = read_ledger(path).entries()
    with pytest.raises(sqlite3.IntegrityError, match=r"append-only|CHECK"):
        run(path, statement)
    assert read_ledger(path).entries() == before


@pytest.mark.parametrize(
    "statements",
    [
        ["DROP TRIGGER event_update"],
        ["DROP TRIGGER head_delete"],
        [
            "DROP TRIGGER event_delete",
            "CREATE TRIGGER event_delete BEFORE DELETE ON event BEGIN SELECT 1; END",
        ],
        ["DROP TABLE head"],
        ["DROP TABLE event"],
        ["CREATE TABLE other (a)"],
        ["CREATE VIEW other AS SELECT * FROM event"],
        ["CREATE INDEX other ON event (hash)"],
        ["CREATE TRIGGER other AFTER INSERT ON event BEGIN SELECT 1; END"],
        ["PRAGMA journal_mode = DELETE"],
        ["ALTER TABLE event ADD COLUMN more"],
    ],
)
def test_other_tables_and_triggers_are_refused(path, statements):
    run(path, *statements)
    for opener in (open_ledger, read_ledger):
        with pytest.raises(LedgerError, match="lacks its tables"):
            opener(path)


def test_another_applications_file_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "notes.db"
    run(path, "CREATE TABLE event (sequence)", "INSERT INTO event VALUES (1)")
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="another application"):
        open_ledger(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("version", [0, 2, -1])
def test_another_format_is_refused(path, version):
    run(path, f"PRAGMA user_version = {version}")
    with pytest.raises(LedgerError, match=f"has format {version}"):
        open_ledger(path)


def test_statistics_of_the_query_planner_do_no_harm(path):
    run(path, "ANALYZE")
    assert open_ledger(path).append("charge", "visits", {}).sequence == 5


def test_connections_flush_every_commit(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        prepare(connection)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
        assert connection.execute("PRAGMA query_only").fetchone() == (0,)
        prepare(connection, query_only=True)
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            connection.execute("PRAGMA user_version = 7")
