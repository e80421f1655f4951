"""Processes that are killed while a stream is opened or a row is drawn: nothing is charged twice, no row drawn anew.

A fresh process imports emdp, and forks one child for each line of code at which it is killed (SIGKILL, from a trace of
the lines of the files that matter); a second child then asks again, and again. What the ledger has then is
checked here.
"""

from pathlib import Path

import pytest
from killed import run_script

SCRIPT = """
import importlib, json, os, sys
from killed import child, killed_at
import emdp, emdp.sessions.streaming, emdp.ledger.state, emdp.ledger.sqlite
from emdp.privacy import EmdDP
folder, places = sys.argv[1], json.loads(sys.argv[2])
WATCHED = ("sessions/streaming.py", "budgets/streams.py", "ledger/state.py", "ledger/stored.py", "ledger/sqlite.py")

def ask(path, week):
    rows = {"user": [1, 1, 2], "x": [0.1 * week, 0.4, 0.9]}
    table = emdp.read(
        rows, user="user", space=emdp.Interval("x", 0, 1), users=2, name="visits", version=f"v{week}"
    )
    with emdp.Session(table, budget=EmdDP(500.0, 1e-3), ledger=path, period=f"W{week}") as session:
        answer = session.stream(
            emdp.mean(emdp.col("x"), alpha=2.0, delta=1e-5, name="x"),
            periods=["W1", "W2", "W3"], unit="period", plan="totals",
        )
        return answer.frame["x"].to_list()

def loaded():
    ask(os.path.join(folder, "first.ledger"), 1)
    return sorted(name for name in sys.modules if name.partition(".")[0] in ("emdp", "duckdb", "polars", "sqlglot"))

# What one question loads is loaded before the forks, by import alone: no child then reads it again.
for name in child(loaded):
    importlib.import_module(name)
found = []
for place in places:
    path = os.path.join(folder, f"{place}.ledger")
    first = child(lambda: ask(path, 1))
    cut = killed_at(WATCHED, lambda: ask(path, 2), place)
    after = child(lambda: ask(path, 2))
    again = child(lambda: ask(path, 2))
    found.append([place, first, cut, after, again])
# How many lines there are in all: of a run that nothing kills, and of one that also opens the stream.
path = os.path.join(folder, "whole.ledger")
child(lambda: ask(path, 1))
other = os.path.join(folder, "open.ledger")
lines = max(killed_at(WATCHED, lambda: ask(where, week), 10**9)[1] for where, week in ((path, 2), (other, 1)))
opening = []
for place in places:
    path = os.path.join(folder, f"open{place}.ledger")
    cut = killed_at(WATCHED, lambda: ask(path, 1), place)
    opening.append([place, cut, child(lambda: ask(path, 1)), child(lambda: ask(path, 1))])
print(json.dumps([found, opening, lines]))
"""


def check(folder: Path, name: str, rows: int) -> None:
    from emdp.ledger import read_ledger

    with read_ledger(folder / f"{name}.ledger") as ledger:
        ledger.verify()
        entries = ledger.entries("visits")
    places = [entry.payload["place"] for entry in entries if entry.kind == "row"]
    assert places == list(range(1, rows + 1))
    assert sum(entry.kind == "charge" for entry in entries) == 1


def kills(folder: Path, places: list[int]) -> int:
    found, opening, lines = run_script(SCRIPT, folder, places)
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
