"""Processes that are killed while a stream is opened or a row is drawn: nothing is charged twice, no row drawn anew.

A fresh process imports emdp, and forks one child for each line of code at which it is killed (SIGKILL, from a trace of
the lines of the files that matter); other children then ask again, and again. What the ledgers have then is
checked here.
"""

from pathlib import Path

import pytest
from killed import run_script

SCRIPT = """
import importlib, json, os, shutil, sys
from killed import child, killed_at, states_left
import emdp, emdp.sessions.streaming, emdp.ledger.state, emdp.ledger.sqlite
from emdp.privacy import EmdDP, UserDP
folder, places = sys.argv[1], json.loads(sys.argv[2])
WATCHED = (
    "sessions/streaming.py", "sessions/diary.py", "budgets/streams.py", "ledger/state.py", "ledger/stored.py",
    "ledger/sqlite.py",
)
HEADER = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 5, delta = 1e-5, max_records_per_user = 3)"

def ask(path, week, active=None):
    rows = {"user": [1, 1, 2], "x": [0.1 * week, 0.4, 0.9]}
    if active is not None and week == 1:
        rows = {"user": [1, 1, 3], "x": [0.1, 0.4, 0.9]}
    table = emdp.read(
        rows, user="user", space=emdp.Interval("x", 0, 1), users=3, name="visits", version=f"v{week}"
    )
    budget = EmdDP(500.0, 1e-3) if active is None else UserDP(50.0, 1e-3)
    with emdp.Session(table, budget=budget, ledger=path, period=f"W{week}") as session:
        if active is None:
            answer = session.stream(
                emdp.mean(emdp.col("x"), alpha=2.0, delta=1e-5, name="x"),
                periods=["W1", "W2", "W3"], unit="period", plan="totals",
            )
            return answer.frame["x"].to_list()
        answer = session.stream(
            f"{HEADER} COUNT(*) AS x FROM visits", periods=["W1", "W2", "W3"], unit="user", active=active
        )
        return answer.frame["x"].to_list()

def loaded():
    ask(os.path.join(folder, "first.ledger"), 1)
    return sorted(name for name in sys.modules if name.partition(".")[0] in ("emdp", "duckdb", "polars", "sqlglot"))

# What one question loads is loaded before the forks, by import alone: no child then reads it again.
for name in child(loaded):
    importlib.import_module(name)
"""

KILLS = (
    SCRIPT
    + """
def asked(paths, week):
    # One process for all: what a process does first takes longer than a question does.
    return child(lambda: [ask(path, week) for path in paths])

paths = [os.path.join(folder, f"{place}.ledger") for place in places]
firsts = asked(paths, 1)
cuts = [killed_at(WATCHED, lambda: ask(path, 2), place) for path, place in zip(paths, places)]
found = list(zip(places, firsts, cuts, asked(paths, 2), asked(paths, 2)))
# How many lines there are in all: of a run that nothing kills, and of one that also opens the stream.
path = os.path.join(folder, "whole.ledger")
child(lambda: ask(path, 1))
other = os.path.join(folder, "open.ledger")
lines = max(killed_at(WATCHED, lambda: ask(where, week), 10**9)[1] for where, week in ((path, 2), (other, 1)))
paths = [os.path.join(folder, f"open{place}.ledger") for place in places]
cuts = [killed_at(WATCHED, lambda: ask(path, 1), place) for path, place in zip(paths, places)]
opening = list(zip(places, cuts, asked(paths, 1), asked(paths, 1)))
print(json.dumps([found, opening, lines]))
"""
)

STATES = (
    SCRIPT
    + """
# What a kill leaves at any line: of a ledger that has a row, and of one that is not there.
found = []
package = os.path.dirname(emdp.__file__) + os.sep
for case, week, active in (("row", 2, None), ("open", 1, None), ("active", 2, 1)):
    home = os.path.join(folder, case)
    os.makedirs(home)
    first = [child(lambda: ask(os.path.join(home, "x.ledger"), one, active)) for one in range(1, week)]
    copies = os.path.join(folder, f"{case}-copies")
    writers = tuple(os.path.join(package, name) for name in ("ledger", "budgets", "sessions"))
    asked = lambda: ask(os.path.join(home, "x.ledger"), week, active)
    said, lines, count = states_left(package, writers, home, copies, asked)
    paths = [os.path.join(copies, str(place), "x.ledger") for place in range(len(lines))]
    # One process for all: what a process does first takes longer than a question does.
    left = child(lambda: [[ask(path, week, active) for again in range(2)] for path in paths])
    found.append([case, week, first, said, lines, count, left])
print(json.dumps(found))
"""
)


def check(folder: Path, name: str, rows: int) -> None:
    from emdp.ledger import read_ledger

    with read_ledger(folder / f"{name}.ledger") as ledger:
        ledger.verify()
        entries = ledger.entries("visits")
    places = [entry.payload["place"] for entry in entries if entry.kind == "row"]
    assert places == list(range(1, rows + 1))
    assert sum(entry.kind == "charge" for entry in entries) == 1


def check_diaries(path: Path) -> None:
    """Check that a row whose period counts for nobody twice has its diary on the disk, and was made with it."""
    from emdp.ledger import read_ledger
    from emdp.ledger.state import StreamState

    with read_ledger(path) as ledger:
        (opening,) = ledger.entries("visits", "charge")
        rows = ledger.entries("visits", "row")
    grid = opening.payload["stream"]["terms"]["grid"]
    drafts = [StreamState(path).find(row.payload["digest"], opening.hash, row.payload["place"]) for row in rows]
    assert [draft.counted for draft in drafts] == [("1", "3"), ("2",)]
    assert [draft.numbers[0] * grid for draft in drafts] == [3.0, 1.0]


def kills(folder: Path, places: list[int]) -> int:
    found, opening, lines = run_script(KILLS, folder, places)
    for place, first, _, after, again in found:
        assert after == again, place
        assert after[:1] == first, place
        assert len(after) == 2
        check(folder, str(place), 2)
    for place, _, after, again in opening:
        assert after == again
        assert len(after) == 1
        check(folder, f"open{place}", 1)
    return int(lines)


@pytest.mark.slow
def test_a_few_kills(tmp_path: Path) -> None:
    """Beginning, middle and end; every line of code in full runs."""
    assert kills(tmp_path, [40, 400, 700]) > 700


@pytest.mark.full
def test_every_kill(tmp_path: Path) -> None:
    lines = kills(tmp_path, [1])
    for first in range(2, lines + 1, 50):
        (tmp_path / str(first)).mkdir()
        kills(tmp_path / str(first), list(range(first, min(first + 50, lines + 1))))


@pytest.mark.slow
def test_a_kill_at_any_line_of_emdp(tmp_path: Path) -> None:
    """Between two changes of the files a kill leaves the same bytes, so that their copies stand for all lines."""
    for case, week, first, said, lines, count, left in run_script(STATES, tmp_path, []):
        assert count > 2000
        assert len(lines) == len(left) > 4
        rows = []
        for place, (after, again) in enumerate(left):
            assert after == again, (case, lines[place])
            assert len(after) == week
            if first:
                assert after[:1] == first[-1]
            check(tmp_path / f"{case}-copies" / str(place), "x", week)
            if case == "active":
                check_diaries(tmp_path / "active-copies" / str(place) / "x.ledger")
            rows.append(after == said)
        # Once the row was written everybody has the one that the process shows, and never another one again.
        assert rows[-1]
        assert rows == sorted(rows)
        assert not rows[0]
