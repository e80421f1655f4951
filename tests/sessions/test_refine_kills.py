"""Processes that are killed while an answer is refined: no noise is drawn from twice, and nothing is charged twice.

As in ``test_stream_kills.py``: a fork is killed (SIGKILL) at a line of code, and others ask again afterwards.
"""

from pathlib import Path

import pytest
from killed import run_script

SCRIPT = """
import json, os, sys
from killed import child, killed_at
import emdp, emdp.sessions.refining, emdp.ledger.state, emdp.ledger.sqlite, emdp.noise.laplace_refining
from emdp.privacy import EmdDP
folder, places = sys.argv[1], json.loads(sys.argv[2])
WATCHED = ("sessions/refining.py", "estimators/refining.py", "ledger/state.py", "ledger/sqlite.py")
QUERY = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(x) AS m FROM visits"

def opened(path):
    rows = {"user": [1, 1, 2], "x": [0.1, 0.4, 0.9]}
    table = emdp.read(rows, user="user", space=emdp.Interval("x", 0, 1), users=2, name="visits", version="v1")
    return emdp.Session(table, budget=EmdDP(500.0), ledger=path, refinable=True)

def ask(path):
    with opened(path) as session:
        return session.sql(QUERY).frame["m"].to_list()

def refine(path):
    with opened(path) as session:
        try:
            return session.refine(QUERY, alpha=4).frame["m"].to_list()
        except emdp.LedgerError as error:
            return ["lost", "cut off" in str(error)]

whole = os.path.join(folder, "whole.ledger")
child(lambda: ask(whole))
lines = killed_at(WATCHED, lambda: refine(whole), 10**9)[1]
paths = [os.path.join(folder, f"{share}.ledger") for share in places]
# One process asks all of them: what a process does first takes longer than a question does.
child(lambda: [ask(path) for path in paths])
cuts = [killed_at(WATCHED, lambda: refine(path), max(1, int(share * lines))) for path, share in zip(paths, places)]
one, two = (child(lambda: [refine(path) for path in paths]) for again in range(2))
print(json.dumps([list(zip(places, cuts, one, two)), lines]))
"""


def kills(folder: Path, shares: list[float]) -> tuple[int, int]:
    """Return how often the chain had ended, and how often the refined answer was shown."""
    from emdp.ledger import read_ledger

    found, _ = run_script(SCRIPT, folder, shares)
    ended = after = 0
    for share, _, one, two in found:
        # Whatever was drawn is shown again, and never drawn anew.
        assert one == two, share
        with read_ledger(folder / f"{share}.ledger") as ledger:
            ledger.verify()
            charges = [entry.payload["event"] for entry in ledger.entries("visits", "charge")]
        assert len(charges) == 2, share
        ended += one[0] == "lost"
        after += one[0] != "lost"
    return ended, after


@pytest.mark.slow
def test_kills_in_each_gap(tmp_path: Path) -> None:
    ended, after = kills(tmp_path, [0.1, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.99])
    assert ended > 0
    assert after > 1


@pytest.mark.full
def test_every_kill(tmp_path: Path) -> None:
    kills(tmp_path, [place / 400 for place in range(1, 400)])
