"""Rules and statistic in one scan, before the charge: nothing is opened, drawn or said before it is on the disk."""

import re
import traceback
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from killed import run_script

import emdp
from emdp.base.errors import BudgetExceededError, DataRuleError, InternalError, LedgerError, UsageError
from emdp.base.statistic import Statistic
from emdp.budgets.accounts import Accounts
from emdp.estimators.plan import Plan
from emdp.ledger import read_ledger
from emdp.sessions import records
from emdp.tables import Table
from emdp.tables.engines.duckdb import engine
from emdp.testing import seeded

SPACE = emdp.Product(emdp.Interval("x", 0, 10), emdp.Categories("kind", ["bar", "park"]))
FRAME = pl.DataFrame({"user": [1, 1, 2, 3, 3, 3], "x": [1.0, 3.0, 5.0, 2.0, 2.5, 9.0], "kind": ["bar", "park"] * 3})
SECRET = 3.8359375
"""The mean of the changed table: no other number looks like it."""

MEAN = emdp.mean(emdp.col("x"), alpha=1)
STATEMENTS: dict[str, Any] = {
    "mean": MEAN,
    "AVG": "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(x) AS m FROM t",
    "several": "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(x), AVG(x * x) FROM t",
    "quantile": "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) QUANTILE(x, 0.5) FROM t",
    "histogram": emdp.frequencies(5.0, alpha=1),
    "total": "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 2) COUNT(*), SUM(x) FROM t",
    "by group": "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 2) COUNT(*), AVG(x) FROM t "
    "GROUP BY kind",
    "of rows": "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 2) COUNT(*), "
    "SUM(CLAMP(sqrt(x), 0, 3)) FROM t GROUP BY kind",
    "filtered": "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(x) FROM t WHERE kind = 'bar'",
}


def opened(folder: Path, frame: object = FRAME, *, ledger: str = "t.ledger", **more: Any) -> emdp.Session:
    table = emdp.read(frame, user="user", space=SPACE, name="t", version="v1", **{"users": 4, **more})
    return emdp.Session(table, budget=[emdp.EmdDP(10.0), emdp.UserDP(10.0)], ledger=folder / ledger)


def asked(session: emdp.Session, query: Any) -> emdp.Answer:
    return session.sql(query) if isinstance(query, str) else session.answer(query)


def charges(folder: Path) -> int:
    with read_ledger(folder / "t.ledger") as ledger:
        return len(ledger.entries(kind="charge"))


@pytest.mark.quarter
@pytest.mark.parametrize("name", STATEMENTS)
def test_a_first_answer_reads_new_data_once_and_is_that_of_two_scans(
    name: str, ran: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with seeded(5), opened(tmp_path) as session:
        answer = asked(session, STATEMENTS[name])
        assert len(ran) == 1
        asked(session, STATEMENTS[name])
        assert len(ran) == 2
    monkeypatch.setattr(records, "aggregate_checked", lambda *_: None)
    with seeded(5), opened(tmp_path, ledger="other.ledger") as session:
        assert asked(session, STATEMENTS[name]).frame.equals(answer.frame)
        assert len(ran) == 4
    written = []
    for ledger in ("t.ledger", "other.ledger"):
        with read_ledger(tmp_path / ledger) as own:
            written.append([(entry.kind, entry.table, entry.payload) for entry in own.entries()])
    # The first has a second charge; ledgers have names of their own.
    assert written[0][1:-1] == written[1][1:]


@pytest.mark.parametrize("name", STATEMENTS)
def test_nothing_is_opened_or_drawn_before_the_charge(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path) as session:
        open_, seen = Statistic.open, []

        def watched(own: Statistic) -> Any:
            seen.append(charges(tmp_path))
            return open_(own)

        drawn = Plan.release

        def released(*arguments: Any, **options: Any) -> Any:
            seen.append(charges(tmp_path))
            return drawn(*arguments, **options)

        monkeypatch.setattr(Statistic, "open", watched)
        monkeypatch.setattr(Plan, "release", released)
        asked(session, STATEMENTS[name])
        # Sums over rows are released by a plan of their own.
        assert len(seen) >= (1 if name == "of rows" else 2)
        assert set(seen) == {1}


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what a session does of the records, in order."""
    done: list[str] = []
    check, scan, rules = records.check_aggregation, records.aggregate_checked, Table.check_rules

    def checked(table: Table, aggregation: Any, is_new: bool = False) -> bool:
        in_one = check(table, aggregation, is_new)
        done.append("check in one" if in_one else "check")
        return in_one

    def scanned(*arguments: Any) -> Any:
        done.append("scan")
        return scan(*arguments)

    def ruled(own: Table) -> None:
        done.append("rules")
        rules(own)

    monkeypatch.setattr(records, "check_aggregation", checked)
    monkeypatch.setattr(records, "aggregate_checked", scanned)
    monkeypatch.setattr(Table, "check_rules", ruled)
    return done


@pytest.mark.quarter
@pytest.mark.parametrize("name", STATEMENTS)
def test_of_new_data_the_statement_of_the_one_scan_runs_on_no_rows(name: str, steps: list[str], tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        asked(session, STATEMENTS[name])
        assert steps == ["check in one", "scan"]
        asked(session, STATEMENTS[name])
        assert steps == ["check in one", "scan", "check"]
    with opened(tmp_path) as session:
        asked(session, STATEMENTS[name])
        assert steps == ["check in one", "scan", "check", "check"]


def test_where_the_one_scan_is_of_no_use_the_other_statement_runs_on_no_rows_before_the_rules(
    steps: list[str], tmp_path: Path
) -> None:
    with opened(tmp_path, **BAD["outside"]) as session, pytest.raises(DataRuleError):
        session.answer(MEAN)
    assert steps == ["check in one", "scan", "check", "rules"]
    assert charges(tmp_path) == 0


def test_where_somebody_else_was_faster_the_other_statement_runs_on_no_rows_before_the_charge(
    steps: list[str], ran: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = Accounts.begin

    def later(*arguments: Any) -> None:
        monkeypatch.setattr(Accounts, "begin", begin)
        with opened(tmp_path) as other:
            other.answer(MEAN)
        steps.append("they are validated")
        begin(*arguments)

    monkeypatch.setattr(Accounts, "begin", later)
    with opened(tmp_path) as session:
        session.answer(MEAN)
    assert steps == ["check in one", "check in one", "scan", "they are validated", "check"]
    assert len(ran) == 2


@pytest.mark.quarter
@pytest.mark.parametrize("name", STATEMENTS)
def test_what_is_too_long_with_the_rules_alone_is_answered(
    name: str, ran: list[str], steps: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise UsageError("expression is more than the engine can compute; simplify it.")

    monkeypatch.setattr(engine, "_made_with_rules", refused)
    with opened(tmp_path) as session:
        asked(session, STATEMENTS[name])
    assert steps == ["check", "scan", "rules"]
    assert len(ran) == 2


def test_what_the_engine_refuses_pins_no_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise UsageError("expression is more than the engine can compute; simplify it.")

    monkeypatch.setattr(engine, "check_on_no_rows", refused)
    with opened(tmp_path) as session, pytest.raises(UsageError, match="more than the engine"):
        session.answer(MEAN)
    with read_ledger(tmp_path / "t.ledger") as ledger:
        assert [entry.kind for entry in ledger.entries()] == ["created", "budget"]


def test_a_charge_that_is_refused_meanwhile_leaves_what_is_known_of_the_rules(
    tmp_path: Path, ran: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path) as session:
        with monkeypatch.context() as refusing:
            refusing.setattr(Accounts, "admit", lambda *_, **__: raised(BudgetExceededError("budget is spent; wait.")))
            with pytest.raises(BudgetExceededError):
                session.answer(MEAN)
        with read_ledger(tmp_path / "t.ledger") as ledger:
            assert len(ledger.entries(kind="validated")) == 1, "that it begins, and no more"
        session.answer(MEAN)
        # The session knows that the rules hold, and writes it with the charge.
        assert len(ran) == 2
    with read_ledger(tmp_path / "t.ledger") as ledger:
        assert [entry.kind for entry in ledger.entries()][-3:] == ["validated", "validated", "charge"]


def raised(error: Exception) -> None:
    raise error


CHANGED = FRAME.with_columns(x=pl.Series([SECRET] * 6))


def said_by(error: BaseException) -> str:
    """Return all that an error says, with the locals of its frames and of those of its causes."""
    told = traceback.TracebackException.from_exception(error, capture_locals=True)
    # Addresses of objects are any digits.
    return re.sub("0x[0-9a-f]+", "", "".join(told.format()) + repr(error) + repr(vars(error)))


def check_silent(error: BaseException) -> None:
    """Check that the exact mean is nowhere in what an error says, as a decimal, a fraction or a whole number."""
    told = said_by(error)
    exact = emdp.tables.mean_of_user_means(emdp.read(CHANGED, user="user", space=SPACE, users=4), [emdp.col("x")])
    (value,) = exact.open()
    for secret in (str(float(value)), str(value.numerator), str(int(float(value) * 2**51)), str(SECRET)):
        # The rows of the test's own frame stand in its own locals.
        assert secret not in told.split("def test_")[-1]


FAILURES = {
    "the ledger is full": (Accounts, "charge_all", LedgerError("the disk is full; make room.")),
    "the budget went meanwhile": (Accounts, "charge_all", BudgetExceededError("budget is spent; ask for less.")),
    "what held is not written": (Accounts, "remember_validated", LedgerError("the disk is full; make room.")),
    "stopped": (Accounts, "charge_all", KeyboardInterrupt()),
}


@pytest.mark.parametrize("name", FAILURES)
def test_what_fails_between_scan_and_charge_says_nothing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, method, failure = FAILURES[name]

    def fails(*_: object, **__: object) -> None:
        raise failure

    monkeypatch.setattr(owner, method, fails)
    with opened(tmp_path, CHANGED) as session:
        with pytest.raises(type(failure)) as caught:
            session.answer(MEAN)
        check_silent(caught.value)
    assert charges(tmp_path) == 0


@pytest.mark.parametrize(
    "failure", [ValueError("{}"), InternalError("{}; report it."), DataRuleError("{}; mend it."), MemoryError("{}")]
)
def test_what_fails_in_the_scan_is_as_if_it_had_not_been_tried(
    failure: Exception, ran: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = records.aggregate_checked

    def fails(*arguments: Any) -> None:
        found = real(*arguments)
        assert found is not None
        raise type(failure)(str(failure).format(found[0].open()[0]))

    monkeypatch.setattr(records, "aggregate_checked", fails)
    with opened(tmp_path) as session:
        session.answer(MEAN)
    assert len(ran) == 3
    assert charges(tmp_path) == 1


def test_an_interrupt_of_the_scan_has_no_frames_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = records.aggregate_checked

    def stopped(*arguments: Any) -> None:
        exact = real(*arguments)
        assert exact is not None
        numbers = exact[0].open()
        raise KeyboardInterrupt if numbers else SystemExit

    monkeypatch.setattr(records, "aggregate_checked", stopped)
    with opened(tmp_path, CHANGED) as session:
        with pytest.raises(KeyboardInterrupt) as caught:
            session.answer(MEAN)
        assert "stopped" not in {frame.name for frame in caught.traceback}
        assert caught.value.__context__ is None
        check_silent(caught.value)
    assert charges(tmp_path) == 0


BAD: dict[str, dict[str, Any]] = {
    "outside": {"frame": FRAME.with_columns(x=pl.Series([1.0, 3.0, 5.0, 2.0, 2.5, 99.25]))},
    "no user": {"frame": FRAME.with_columns(user=pl.Series([1, 1, 2, None, 3, 3]))},
    "too many users": {"users": 2},
    "records": {"records": 2},
    "labels": {"frame": FRAME.with_columns(kind=pl.lit("sauna"))},
}


@pytest.mark.parametrize("name", BAD)
def test_broken_rules_are_refused_in_the_same_words_and_charge_nothing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = []
    for ledger in ("t.ledger", "other.ledger"):
        with opened(tmp_path, ledger=ledger, **BAD[name]) as session, pytest.raises(DataRuleError) as caught:
            session.answer(MEAN)
        said.append(str(caught.value))
        monkeypatch.setattr(records, "aggregate_checked", lambda *_: None)
    assert said[0] == said[1]
    assert charges(tmp_path) == 0


def test_what_is_held_shows_nothing(tmp_path: Path) -> None:
    with opened(tmp_path, CHANGED) as session:
        held = records.TableRecords(session.table)
        asked_for = records.Aggregation((emdp.col("x"),))
        held.check_aggregation(asked_for)
        held.check_rules()
        assert "Statistic" not in repr(held)
        (statistic,) = held.aggregate(asked_for)
        assert repr(statistic) == "Statistic(hidden)"
        # It is given once; what is asked again is read again.
        assert held.aggregate(asked_for)[0] is not statistic


SCRIPT = """
import json, os, sys
from killed import child, killed_at
import emdp, emdp.sessions.records, emdp.base.statistic, emdp.estimators.plan, emdp.noise.rng
from emdp.base.statistic import Statistic
from emdp.ledger import read_ledger
folder, places = sys.argv[1], json.loads(sys.argv[2])
WATCHED = ("sessions/asking.py", "sessions/releasing.py", "sessions/records.py", "duckdb/engine.py", "ledger/sqlite.py",
           "statements/checked.py", "statements/owned_rules.py", "budgets/accounts.py", "estimators/plan.py",
           "base/statistic.py")
ROWS = {"user": [1, 1, 2], "x": [0.1, 0.4, 0.9]}
TEXT = sys.argv[3] if len(sys.argv) > 3 else None

def ask(path, seen=None):
    opened = Statistic.open
    def marked(own):
        if seen is not None:
            with open(seen, "w"):
                pass
        return opened(own)
    Statistic.open = marked
    table = emdp.read(ROWS, user="user", space=emdp.Interval("x", 0, 1), users=2, name="visits", version="v1")
    with emdp.Session(table, budget=[emdp.EmdDP(9.0), emdp.UserDP(9.0)], ledger=path) as session:
        answer = session.sql(TEXT) if TEXT else session.mean(emdp.col("x"), alpha=1)
        return answer.frame.to_series().to_list()

def left(path):
    with read_ledger(path) as ledger:
        return [len(ledger.entries("visits", kind)) for kind in ("charge", "validated")]

whole = os.path.join(folder, "whole.ledger")
lines = killed_at(WATCHED, lambda: ask(whole), 10**9)[1]
paths = [os.path.join(folder, f"{share}.ledger") for share in places]
for share, path in zip(places, paths):
    killed_at(WATCHED, lambda: ask(path, path + ".seen"), max(1, int(share * lines)))
seen = [os.path.exists(path + ".seen") for path in paths]
kept = child(lambda: [left(path) if os.path.exists(path) else [0, 0] for path in paths])
# One process for all: what a process does first takes longer than a question does.
again = child(lambda: [ask(path) is not None for path in paths])
found = [[share, is_seen, *own, more] for share, is_seen, own, more in zip(places, seen, kept, again)]
print(json.dumps([found, lines]))
"""


OF_ROWS = """SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 2) SUM(CLAMP(sqrt(x), 0, 1))
FROM visits"""


def kills(folder: Path, shares: list[float], *text: str) -> set[tuple[int, bool]]:
    """Kill a first answer at some lines; return what was left: charges, and whether the statistic was opened."""
    found, _ = run_script(SCRIPT, folder, shares, *text)
    for share, is_seen, paid, had, again in found:
        assert paid in (0, 1), share
        # Opened only under a charge that is on the disk, and charged only where the rules were found to hold: that is
        # written with the charge, or not at all.
        assert paid == 1 or not is_seen, share
        assert (paid == 1) == (had == 2), share
        assert again, share
        with read_ledger(folder / f"{share}.ledger") as ledger:
            ledger.verify()
            assert len(ledger.entries("visits", "charge")) == paid + 1, share
    return {(paid, is_seen) for _, is_seen, paid, *_ in found}


def test_kills_around_the_charge(tmp_path: Path) -> None:
    assert kills(tmp_path, [0.5, 0.8, 0.9, 0.97]) >= {(0, False)}


@pytest.mark.slow
def test_kills_in_each_gap(tmp_path: Path) -> None:
    left = kills(tmp_path, [0.05, *(place / 40 for place in range(16, 40))])
    assert left == {(0, False), (1, False), (1, True)}


@pytest.mark.slow
def test_kills_in_each_gap_of_sums_over_rows(tmp_path: Path) -> None:
    left = kills(tmp_path, [0.5, *(place / 200 for place in range(191, 199))], OF_ROWS)
    assert left >= {(0, False), (1, True)}


@pytest.mark.full
def test_every_kill(tmp_path: Path) -> None:
    kills(tmp_path, [place / 1000 for place in range(1, 1000)])
