"""Streams whose ledger is on a server: rows, the state that is its owner's alone, earlier versions, kills."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import emdp
from emdp.base.errors import LedgerError
from emdp.ledger import address_of, open_ledger, postgres_schema, read_ledger
from emdp.ledger.postgres_schema import grants
from emdp.ledger.postgres_state import STATE_SCHEMA, PostgresState
from emdp.ledger.state import Draft, draft_digest
from emdp.privacy import EmdDP, UserDP

SALT = b"s" * 32


@pytest.fixture
def clean(server: Any) -> Any:
    """Return the server with a database that holds no ledger and no state."""
    server.execute(f"DROP SCHEMA IF EXISTS {STATE_SCHEMA} CASCADE")
    return server


def asked(address: str, week: int, *, name: str = "visits", alpha: float = 2.0) -> Any:
    rows = {"user": [1, 1, 2], "x": [0.1 * week, 0.4, 0.9]}
    table = emdp.read(rows, user="user", space=emdp.Interval("x", 0, 1), users=2, name=name, version=f"v{week}")
    with emdp.Session(table, budget=EmdDP(500.0, 1e-3), ledger=address, period=f"W{week}") as session:
        return session.stream(
            emdp.mean(emdp.col("x"), alpha=alpha, delta=1e-5, name="x"),
            periods=["W1", "W2", "W3"], unit="period", plan="totals",
        ).frame["x"].to_list()  # fmt: skip


def test_rows_are_drawn_once_and_shown_to_whoever_asks(clean: Any) -> None:
    address = clean.address()
    first = asked(address, 1)
    assert asked(address, 1) == first
    second = asked(address, 2)
    assert (second[:1], len(second)) == (first, 2)
    # Whoever is a member of the owning role owns what is made, too.
    third = asked(clean.address("guarded", "s3cret%2Fw0rd"), 3)
    assert (third[:2], len(third)) == (second, 3)
    with read_ledger(address) as ledger:
        ledger.verify()
        assert [entry.kind for entry in ledger.entries("visits")].count("row") == 3
    kept = clean.execute(f"SELECT numbers FROM {STATE_SCHEMA}.draft", role="owner")
    assert len(kept) == 3
    owners = clean.execute(f"SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = '{STATE_SCHEMA}'")
    assert owners == [("owner",)]


def test_an_analyst_is_told_before_anything_is_charged_and_reads_no_state(clean: Any) -> None:
    asked(clean.address(), 1)
    clean.execute(*grants(("analyst",), ("auditor",)), role="owner")
    with read_ledger(clean.address()) as ledger:
        before = ledger.head()
    # A row of the stream that is open costs nothing; another stream would be a charge.
    for week, alpha in ((2, 2.0), (1, 1.0)):
        with pytest.raises(LedgerError, match="for its owners"):
            asked(clean.address("analyst"), week, alpha=alpha)
    with read_ledger(clean.address()) as ledger:
        assert [entry.kind for entry in ledger.entries() if entry.sequence > before[0]].count("charge") == 0
    for role in ("analyst", "auditor", "stranger"):
        with pytest.raises(Exception, match="permission denied"):
            clean.execute(f"SELECT * FROM {STATE_SCHEMA}.draft", role=role)
        with pytest.raises(LedgerError, match="for its owners"):
            PostgresState(address_of(clean.address(role))).check()
    # Nor can a row be written by anybody else, with or without emdp.
    with open_ledger(clean.address("analyst")) as own, pytest.raises(LedgerError, match="only an owner"):
        own.append("row", "visits", {"place": 2})


LOOSE = [
    f"GRANT USAGE ON SCHEMA {STATE_SCHEMA} TO analyst",
    f"GRANT SELECT ON {STATE_SCHEMA}.draft TO auditor",
    f"GRANT SELECT (numbers) ON {STATE_SCHEMA}.draft TO PUBLIC",
    f"CREATE TABLE {STATE_SCHEMA}.more (a integer)",
    f"ALTER TABLE {STATE_SCHEMA}.draft ENABLE ROW LEVEL SECURITY",
    f"CREATE RULE away AS ON INSERT TO {STATE_SCHEMA}.draft DO INSTEAD NOTHING",
]


@pytest.mark.quarter
@pytest.mark.parametrize("statement", LOOSE, ids=["usage", "select", "column", "table", "policies", "rule"])
def test_a_state_that_others_may_read_or_change_is_not_used(clean: Any, statement: str) -> None:
    asked(clean.address(), 1)
    clean.execute(statement, role="owner")
    with pytest.raises(LedgerError, match="owner's alone"):
        asked(clean.address(), 2)
    # The rows stay: they are public.
    assert len(asked(clean.address(), 1)) == 1


def test_a_lost_or_changed_draft_ends_the_stream(clean: Any) -> None:
    asked(clean.address(), 1)
    state = PostgresState(address_of(clean.address()))
    digest = draft_digest(SALT, "ab", 1, [3, -4])
    state.keep(digest, SALT, [3, -4])
    assert state.find(digest, "ab", 1) == Draft((3, -4))
    with pytest.raises(LedgerError, match="ended"):
        state.find(digest, "ab", 2)
    with pytest.raises(LedgerError):
        state.keep(digest, SALT, [3, -4])
    clean.execute(f"UPDATE {STATE_SCHEMA}.draft SET numbers = '[1]'", role="owner")
    with pytest.raises(LedgerError, match="has ended"):
        asked(clean.address(), 2)
    clean.execute(f"DROP SCHEMA {STATE_SCHEMA} CASCADE", role="owner")
    with pytest.raises(LedgerError, match="has ended"):
        state.find(digest, "ab", 1)


def test_a_cap_on_active_periods_keeps_its_diary_there(clean: Any) -> None:
    query = (
        "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 5, delta = 1e-5, max_records_per_user = 3) COUNT(*) AS n "
        "FROM visits"
    )
    for week, users in ((1, ["ann", "bob"]), (2, ["ann", "cid"])):
        rows = {"user": users, "x": [0.1, 0.4]}
        table = emdp.read(
            rows, user="user", space=emdp.Interval("x", 0, 1), users=3, name="visits", version=f"v{week}"
        )  # fmt: skip
        with emdp.Session(table, budget=UserDP(50.0, 1e-3), ledger=clean.address(), period=f"W{week}") as session:
            session.stream(query, periods=["W1", "W2", "W3"], unit="user", active=1)
    with read_ledger(clean.address()) as ledger:
        (opening,) = ledger.entries("visits", "charge")
        written = ledger.entries("visits", "row")
    assert not any("ann" in entry.text for entry in (opening, *written))
    state = PostgresState(address_of(clean.address()))
    found = [state.find(row.payload["digest"], opening.hash, row.payload["place"]).counted for row in written]
    assert found == [("ann", "bob"), ("cid",)]


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("_CHECK_EVENT_WITHOUT_ROWS", "3f426b69bd78f822fd9180e51b565660eeed745ad0a6f3021d32ffbd0352cc4f"),
        ("_CHECK_EVENT_WITHOUT_TOTALS", "f6c5aa07bd2d21ec4ec937d83b80ed397e47938df67e446f1eb16d727ca80ae8"),
    ],
)
def test_a_ledger_of_an_earlier_version_learns_further_kinds_from_its_owner(clean: Any, name: str, known: str) -> None:
    body = getattr(postgres_schema, name)
    # The text as that version had it.
    assert hashlib.sha256(body.encode()).hexdigest() == known
    open_ledger(clean.address())
    clean.execute(
        "CREATE OR REPLACE FUNCTION emdp_ledger.check_event() RETURNS trigger LANGUAGE plpgsql "
        f"SET search_path = pg_catalog, pg_temp AS $body${body}$body$",
        role="owner",
    )
    assert len(asked(clean.address(), 1)) == 1
    assert len(asked(clean.address(), 2)) == 2


SCRIPT = """
import importlib, json, os, signal, sys
import emdp, emdp.sessions.streaming, emdp.ledger.postgres, emdp.ledger.postgres_state
from emdp.privacy import EmdDP
address, places = sys.argv[1], json.loads(sys.argv[2])
WATCHED = ("sessions/streaming.py", "budgets/streams.py", "ledger/stored.py", "ledger/postgres.py", "postgres_state.py")

def ask(name, week):
    rows = {"user": [1, 1, 2], "x": [0.1 * week, 0.4, 0.9]}
    table = emdp.read(rows, user="user", space=emdp.Interval("x", 0, 1), users=2, name=name, version=f"{name}{week}")
    with emdp.Session(table, budget=EmdDP(500.0, 1e-3), ledger=address, period=f"W{week}") as session:
        return session.stream(
            emdp.mean(emdp.col("x"), alpha=2.0, delta=1e-5, name="x"),
            periods=["W1", "W2", "W3"], unit="period", plan="totals",
        ).frame["x"].to_list()

def child(work):
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        os.write(writer, json.dumps(work()).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        said = stream.read()
    _, status = os.waitpid(pid, 0)
    return json.loads(said) if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0 else None

def killed_at(name, week, place):
    left = [place]
    def trace(frame, event, argument):
        if event == "line" and frame.f_code.co_filename.endswith(WATCHED):
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace if frame.f_code.co_filename.endswith(WATCHED) or event == "call" else None
    def work():
        sys.settrace(trace)
        found = ask(name, week)
        sys.settrace(None)
        return [found, place - left[0]]
    return child(work)

def killed_around(name, week, place):
    # Before and after a COMMIT: what the server keeps of a process that is gone does not change between two of them.
    left = [place]
    def down():
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    def counted(own):
        def method(self, query, *arguments, **options):
            if query != "COMMIT":
                return own(self, query, *arguments, **options)
            down()
            found = own(self, query, *arguments, **options)
            down()
            return found
        return method
    def work():
        import psycopg
        psycopg.Connection.execute = counted(psycopg.Connection.execute)
        found = ask(name, week)
        return [found, place - left[0]]
    return child(work)

def loaded():
    ask("first", 1)
    return sorted(name for name in sys.modules if name.partition(".")[0] in ("emdp", "duckdb", "polars", "sqlglot"))

for name in child(loaded):
    importlib.import_module(name)
found, kill = [], killed_around if sys.argv[3] == "commits" else killed_at
for place in places:
    name = f"t{place}"
    cut_open = kill(name, 1, place)
    first = child(lambda: ask(name, 1))
    cut = kill(name, 2, place)
    after = child(lambda: ask(name, 2))
    found.append([place, first, after, child(lambda: ask(name, 2)), cut is None or cut_open is None])
print(json.dumps([found, [kill("whole", week, 10**9)[1] for week in (1, 2)]]))
"""


def kills(server: Any, places: list[int], by: str = "lines") -> list[int]:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, server.address(), json.dumps(places), by],
        capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    found, counts = json.loads(done.stdout.splitlines()[-1])
    with read_ledger(server.address()) as ledger:
        ledger.verify()
        for place, first, after, again, was_killed in found:
            assert was_killed == (place <= max(counts)), place
            assert after == again, place
            assert (after[:1], len(after)) == (first, 2), place
            entries = ledger.entries(f"t{place}")
            rows = [entry.payload["place"] for entry in entries if entry.kind == "row"]
            assert rows == [1, 2], place
            assert sum(entry.kind == "charge" for entry in entries) == 1, place
    return counts


@pytest.mark.slow
def test_a_few_kills(clean: Any) -> None:
    """While it is opened and while a row is drawn; every line of code in full runs."""
    assert max(kills(clean, [60, 300, 500])) > 300


@pytest.mark.slow
def test_a_kill_at_any_line_of_emdp(clean: Any) -> None:
    """Of a process that is gone the server keeps what it committed, so kills around commits stand for all lines."""
    places = list(range(1, 12))
    # One place more than there are, at which nothing is killed.
    assert max(kills(clean, places, "commits")) == len(places) - 1


@pytest.mark.full
def test_every_kill(clean: Any, tmp_path: Path) -> None:
    lines = max(kills(clean, [1]))
    for first in range(2, lines + 1, 50):
        kills(clean, list(range(first, min(first + 50, lines + 1))))
