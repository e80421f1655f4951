"""One budget on a server: spent once by many processes, whatever is cut and whenever, and no password in a message."""

import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path

import psycopg
import pytest

import emdp
from emdp.base.errors import BudgetExceededError, LedgerError, UsageError
from emdp.ledger import open_ledger, read_ledger
from emdp.ledger import postgres as postgres_module
from emdp.ledger.postgres_faults import ConnectionLostError
from emdp.ledger.postgres_schema import HOLD, grants

# Children load the ledger without the rest of emdp, which takes longer than what they do.
ALONE = f"""
import sys, types
package = types.ModuleType("emdp")
package.__path__ = {[str(Path(emdp.__file__).parent)]!r}
sys.modules["emdp"] = package
"""

# Appends until the budget is spent, asks again where it was told that nothing was charged, and reports each sequence
# once append has returned; an entry that it was told to count as charged would be missing from the reports.
SPENDER = """
import sys, time
from emdp.base.errors import BudgetExceededError, LedgerError
from emdp.ledger import open_ledger
def admit(entries):
    if sum(entry.payload["cost"] for entry in entries) + 1 > budget:
        raise BudgetExceededError("spent")
budget = int(sys.argv[2])
deadline = time.monotonic() + (120 if sys.argv[3] == "patient" else 0)
print("ready", flush=True)
sys.stdin.readline()
ledger = None
while True:
    try:
        ledger = ledger or open_ledger(sys.argv[1], create=False)
        print(ledger.append("charge", "visits", {"cost": 1}, admit=admit).sequence, flush=True)
    except BudgetExceededError:
        break
    except LedgerError as error:
        if time.monotonic() > deadline or "count it as charged" in str(error):
            raise
        time.sleep(0.01)
"""


@pytest.fixture
def ledger(server):
    """Return a ledger that an analyst may charge."""
    ledger = open_ledger(server.address())
    server.execute(*grants(("analyst",), ()), role="owner")
    return ledger


def wait_until(condition):
    """Wait for something that another process does; a minute is for ever."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline


def start(count, address, budget, *, patient=False):
    command = [sys.executable, "-c", ALONE + SPENDER, address, str(budget), "patient" if patient else "once"]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    spenders = [subprocess.Popen(command, text=True, **pipes) for _ in range(count)]
    for spender in spenders:
        assert spender.stdout.readline() == "ready\n"
    for spender in spenders:
        spender.stdin.write("go\n")
        spender.stdin.flush()
    return spenders


def finish(spenders):
    spent = []
    for spender in spenders:
        out, err = spender.communicate(timeout=120)
        assert spender.returncode == 0, err
        spent += [int(line) for line in out.split()]
    return sorted(spent)


def test_eight_processes_spend_one_budget_once(server, ledger):
    spent = finish(start(8, server.address("analyst"), 40))
    assert spent == list(range(2, 42))
    assert ledger.verify()[0] == 41


def check_cuts(server, ledger, count, budget, restart_at):
    """Let processes spend a budget while their connections are cut all the time, and the server dies once."""
    spenders = start(count, server.address("analyst"), budget, patient=True)
    cuts, seen = 0, 1
    while any(spender.poll() is None for spender in spenders):
        # One cut for each entry, at whatever moment it comes: so that some transactions also end.
        if (length := ledger_length(server)) > seen:
            seen = length
            cuts += server.cut()
        if restart_at is not None and length >= restart_at:
            restart_at = None
            server.stop("immediate")
            server.start()
    assert finish(spenders) == list(range(2, budget + 2))
    assert ledger.verify()[0] == budget + 1
    return cuts


def ledger_length(server):
    return server.execute("SELECT sequence FROM emdp_ledger.head")[0][0]


@pytest.mark.slow
def test_cut_connections_and_a_crash_lose_and_overspend_nothing(server, ledger):
    assert check_cuts(server, ledger, count=3, budget=20, restart_at=10) > 4


@pytest.mark.full
def test_many_cut_connections_and_a_crash_lose_and_overspend_nothing(server, ledger):
    assert check_cuts(server, ledger, count=8, budget=400, restart_at=200) > 50


@pytest.mark.parametrize("how", ["cut", "crash"])
def test_a_connection_lost_while_admitting_charges_nothing(server, ledger, how):
    def admit(_):
        if how == "cut":
            assert server.cut() == 1
        else:
            server.stop("immediate")
            server.start()

    with pytest.raises(ConnectionLostError, match="nothing was charged"):
        ledger.append("charge", "visits", {}, admit=admit)
    assert ledger.head()[0] == 1
    assert ledger.append("charge", "visits", {}).sequence == 2


def lost_before(server, connection):
    server.cut()
    return commit(connection)


def lost_after(server, connection):
    assert commit(connection) is None
    server.cut()
    return psycopg.OperationalError("the answer never came")


def crashed_before(server, connection):
    server.stop("immediate")
    server.start()
    return commit(connection)


def crashed_after(server, connection):
    assert commit(connection) is None
    server.stop("immediate")
    server.start()
    return psycopg.OperationalError("the answer never came")


commit = postgres_module._commit


@pytest.mark.parametrize("lost", [lost_before, crashed_before])
def test_a_commit_that_never_was_charges_nothing(server, ledger, monkeypatch, lost):
    monkeypatch.setattr(postgres_module, "_commit", lambda connection: lost(server, connection))
    with pytest.raises(LedgerError, match="nothing was charged, so ask again"):
        ledger.append("answer", "visits", {}, content="text")
    monkeypatch.undo()
    assert read_ledger(server.address()).snapshot()[1] == ()
    assert ledger.append("charge", "visits", {}).sequence == 2


@pytest.mark.parametrize("lost", [lost_after, crashed_after])
def test_a_commit_whose_answer_was_lost_is_found_and_returned(server, ledger, monkeypatch, lost):
    monkeypatch.setattr(postgres_module, "_commit", lambda connection: lost(server, connection))
    entry = ledger.append("charge", "visits", {"cost": 1})
    monkeypatch.undo()
    assert entry.sequence == 2
    assert ledger.head() == read_ledger(server.address()).head() == (2, entry.hash)
    assert ledger.append("charge", "visits", {}).sequence == 3


def test_a_commit_that_is_still_running_is_waited_for(server, ledger, monkeypatch):
    """The client lost the connection, the server has not noticed, and commits later than somebody looks."""
    late, timers = [], []

    def lost(connection):
        monkeypatch.undo()
        connection.close, close = lambda: None, connection.close
        timers.append(threading.Timer(0.3, lambda: late.append((commit(connection), close()))))
        timers[0].start()
        return psycopg.OperationalError("the network is gone")

    monkeypatch.setattr(postgres_module, "_commit", lost)
    assert ledger.append("charge", "visits", {}).sequence == 2
    # The server is done, which is what was waited for; the thread that told it may be a moment behind.
    timers[0].join()
    assert late == [(None, None)]
    assert ledger.verify()[0] == 2


def test_an_entry_of_the_same_words_by_somebody_else_is_not_taken_for_ones_own(server, ledger, monkeypatch):
    def twin(connection):
        monkeypatch.undo()
        connection.close()
        monkeypatch.setattr("emdp.ledger.stored.now", lambda: moment)
        open_ledger(server.address()).append("charge", "visits", {})
        return psycopg.OperationalError("lost")

    moment = "2026-11-20T09:00:00.000000+00:00"
    monkeypatch.setattr("emdp.ledger.stored.now", lambda: moment)
    monkeypatch.setattr(postgres_module, "_commit", twin)
    with pytest.raises(LedgerError, match="count it as charged"):
        ledger.append("charge", "visits", {})
    assert ledger.verify()[0] == 2


def test_a_commit_of_unknown_outcome_counts_as_charged(server, ledger, monkeypatch):
    def unreachable(_):
        raise ConnectionLostError("gone")

    def lost(connection):
        monkeypatch.setattr(postgres_module, "connect", unreachable)
        return psycopg.OperationalError("lost")

    monkeypatch.setattr(postgres_module, "_commit", lost)
    monkeypatch.setattr(postgres_module, "RECONNECT_SECONDS", 0)
    with pytest.raises(LedgerError, match="count it as charged"):
        ledger.append("charge", "visits", {})
    monkeypatch.undo()
    assert ledger.head()[0] == 1


def test_a_transaction_that_failed_is_not_taken_for_committed(server, ledger):
    with psycopg.connect(server.address(), autocommit=True) as connection:
        connection.execute("BEGIN")
        with pytest.raises(psycopg.Error):
            connection.execute("SELECT 1 / 0")
        assert "answered ROLLBACK" in str(commit(connection))


def test_a_ledger_held_by_another_process(server, ledger, monkeypatch):
    monkeypatch.setattr(postgres_module, "BUSY_SECONDS", 0.05)
    with psycopg.connect(server.address("analyst"), autocommit=True) as other:
        other.execute("BEGIN")
        other.execute(HOLD)
        with pytest.raises(LedgerError, match="held by another process"):
            ledger.append("charge", "visits", {})
        assert ledger.head() == read_ledger(server.address()).head() == ledger.verify()
        other.execute("COMMIT")
    assert ledger.append("charge", "visits", {}).sequence == 2


def test_a_server_that_does_not_flush_is_refused_and_a_session_that_would_not_does(server, ledger):
    server.execute("ALTER ROLE owner SET synchronous_commit = off")
    with ledger._connected() as connection:
        assert connection.execute("SHOW synchronous_commit").fetchone()[0] == "off"
        ledger._begin(connection, write=True)
        assert connection.execute("SHOW synchronous_commit").fetchone()[0] == "on"
    server.execute("ALTER ROLE owner RESET synchronous_commit")
    server.execute("ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()")
    try:
        wait_until(lambda: server.execute("SHOW fsync")[0][0] == "off")
        with pytest.raises(LedgerError, match="does not flush commits"):
            ledger.append("charge", "visits", {})
    finally:
        server.execute("ALTER SYSTEM RESET fsync", "SELECT pg_reload_conf()")


def test_an_older_state_put_back_is_noticed_by_who_saw_more(server, ledger):
    older = open_ledger(server.address())
    for _ in range(2):
        ledger.append("charge", "visits", {})
    server.execute(
        "SET session_replication_role = replica",
        "DELETE FROM emdp_ledger.event WHERE sequence = 3",
        "UPDATE emdp_ledger.head h SET sequence = 2, hash = e.hash FROM emdp_ledger.event e WHERE e.sequence = 2",
    )
    assert older.verify()[0] == 2
    for call in (ledger.entries, ledger.verify, lambda: ledger.append("charge", "visits", {})):
        with pytest.raises(LedgerError, match="older copy"):
            call()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE emdp_ledger.event SET payload = '{}' WHERE sequence = 2",
        "DELETE FROM emdp_ledger.event WHERE sequence = 2",
        "DELETE FROM emdp_ledger.event",
        "DELETE FROM emdp_ledger.head",
        "UPDATE emdp_ledger.head SET sequence = 2",
        "UPDATE emdp_ledger.content SET text = 'other'",
    ],
)
def test_tampering_by_a_superuser_is_refused(server, ledger, statement):
    ledger.append("answer", "visits", {"cost": 1}, content="text")
    ledger.append("charge", "visits", {"cost": 1})
    server.execute("SET session_replication_role = replica", statement)
    for call in (lambda: open_ledger(server.address()), ledger.verify):
        with pytest.raises(LedgerError):
            call()


def test_who_may_not_make_a_ledger_is_told_who_may(server):
    with pytest.raises(LedgerError, match="ask the database's owner"):
        open_ledger(server.address("analyst"))
    assert open_ledger(server.address()).head()[0] == 1


def test_of_many_that_create_at_once_one_wins(server):
    found, threads = [], []
    for _ in range(4):
        threads.append(threading.Thread(target=lambda: found.append(open_ledger(server.address()).ledger_id)))
        threads[-1].start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(set(found)) == 1


def test_a_password_reaches_the_server_and_no_message(server, ledger):
    own = open_ledger(server.address("guarded", "s3cret%2Fw0rd"))
    assert own.append("charge", "visits", {}).sequence == 2
    assert own.path == server.address("guarded")
    assert "w0rd" not in repr(own) + str(vars(own)) + repr(own._address)
    missing = server.address("guarded", "s3cret%2Fw0rd").replace("/team", "/missing")
    nowhere = "postgresql://guarded:s3cret%2Fw0rd@/team?host=/nowhere"
    for address in (server.address("guarded", "wrong-s3cret"), missing, nowhere, f"{nowhere}&nonsense=1"):
        for opener in (open_ledger, read_ledger):
            with pytest.raises((LedgerError, UsageError)) as caught:
                opener(address)
            shown = "".join(traceback.format_exception(caught.value))
            assert "s3cret" not in shown
            assert "guarded@" in str(caught.value)


def test_a_missing_psycopg_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for opener in (open_ledger, read_ledger):
        with pytest.raises(UsageError, match=r"pip install 'emdp\[postgres\]'") as caught:
            opener("postgresql://ann:s3cret@db/city")
        assert "s3cret" not in str(caught.value)


def test_a_session_spends_from_a_server(server):
    users = [0, 0, 1, 1]
    table = emdp.read(
        {"user": users, "x": [0.1, 0.2, 0.3, 0.4]}, user="user", users=2, space=emdp.Interval("x", 0, 1), name="t"
    )
    with emdp.Session(table, budget=emdp.EmdDP(2.0), ledger=server.address()) as session:
        answer = session.mean(emdp.col("x"), alpha=1.5)
        assert answer.receipt.ledger == session.ledger.path == server.address()
    server.execute(*grants(("analyst",), ()), role="owner")
    with emdp.Session(table, budget=emdp.EmdDP(2.0), ledger=server.address("analyst")) as session:
        with pytest.raises(BudgetExceededError):
            session.mean(emdp.col("x"), alpha=1.0)
        session.mean(emdp.col("x"), alpha=0.5)
        assert session.remaining().alpha == 0
    with pytest.raises(LedgerError, match="budget"):
        emdp.Session(table, budget=emdp.EmdDP(3.0), ledger=server.address("analyst"))
