"""Entries of a report are computed in one scan, and each is opened under its own charge, whatever comes between."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from killed import run_script

from emdp.base.statistic import Statistic
from emdp.catalog.catalog import load_catalog
from emdp.ledger import read_ledger
from emdp.reports.checking import check_report
from emdp.reports.definition import load_report
from emdp.reports.run import run_report
from emdp.sessions import scans
from emdp.testing import seeded

CATALOG = """
ledger = "{ledger}"
[tables.visits]
source = "visits.parquet"
user = "user"
users = 4
space = {{ kind = "interval", col = "x", low = 0, high = 10 }}
budget = {{ alpha = 20.0 }}
"""
ENTRIES = ("AVG(x) AS m", "AVG(x * x) AS m, AVG(x) AS n", "AVG(RAMP(x, 7, 3)) AS s", "MEDIAN(x) AS m")
SCANS = 2
"""Of a first run: the means together, and the median."""


def report(folder: Path, ledger: str = "v.ledger") -> Any:
    pl.DataFrame({"user": [1, 1, 2, 3], "x": [1.0, 3.0, 5.0, 9.0]}).write_parquet(folder / "visits.parquet")
    (folder / "emdp.toml").write_text(CATALOG.format(ledger=ledger))
    text = 'title = "Visits"\ncatalog = "emdp.toml"\nbudget = { alpha = 10.0 }\n'
    for place, entry in enumerate(ENTRIES):
        query = f"SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) {entry} FROM visits"
        text += f'[[entry]]\ntitle = "{place}"\nquery = "{query}"\n'
    (folder / "visits.toml").write_text(text)
    own = load_report(folder / "visits.toml")
    catalog = load_catalog(own.catalog)
    return check_report(own, catalog), catalog


def test_a_report_reads_the_rows_once_for_all_that_one_scan_computes(
    ran: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    for ledger, most in (("one.ledger", 32), ("each.ledger", 0)):
        monkeypatch.setattr(scans, "MOST_VALUES", most)
        with seeded(4):
            found = run_report(*report(tmp_path, ledger))
        with read_ledger(tmp_path / ledger) as own:
            charges = [one.payload["event"] for one in own.entries("visits", "charge")]
        made.append((len(ran), charges, [one.answer.frame.rows() for one in found.outcomes if one.answer is not None]))
        ran.clear()
    assert [few for few, *_ in made] == [SCANS, len(ENTRIES)]
    assert made[0][1:] == made[1][1:]
    assert len(made[0][1]) == len(made[0][2]) == len(ENTRIES)


@pytest.mark.slow
def test_what_is_stored_is_not_computed_again_for_others(ran: list[str], tmp_path: Path) -> None:
    run_report(*report(tmp_path))
    ran.clear()
    text = (tmp_path / "visits.toml").read_text()
    (tmp_path / "visits.toml").write_text(text.replace("AVG(x) AS m", "AVG(x * x * x) AS m"))
    own = load_report(tmp_path / "visits.toml")
    run_report(check_report(own, load_catalog(own.catalog)), load_catalog(own.catalog))
    (again,) = ran
    assert again.count("AVG(") == 1


def test_each_entry_is_opened_after_its_own_charge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_, seen = Statistic.open, []

    def watched(own: Statistic) -> Any:
        with read_ledger(tmp_path / "v.ledger") as ledger:
            seen.append((len(ledger.entries(kind="charge")), len(ledger.entries(kind="answer"))))
        return open_(own)

    monkeypatch.setattr(Statistic, "open", watched)
    run_report(*report(tmp_path))
    assert seen == [(place + 1, place) for place in range(len(ENTRIES))]


SCRIPT = """
import json, os, sys
from killed import child, killed_at
from emdp.base.statistic import Statistic
from emdp.catalog.catalog import load_catalog
from emdp.ledger import read_ledger
from emdp.reports.checking import check_report
from emdp.reports.definition import load_report
from emdp.reports.run import run_report
folder, places = sys.argv[1], json.loads(sys.argv[2])
WATCHED = ("reports/run.py", "sessions/store.py", "sessions/releasing.py", "sessions/records.py", "sessions/scans.py",
           "ledger/sqlite.py", "base/statistic.py")
os.chdir(folder)
catalog = open("emdp.toml").read()

def ask(ledger):
    opened = Statistic.open
    def marked(own):
        with open(ledger + ".seen", "a") as file:
            file.write("1")
        return opened(own)
    Statistic.open = marked
    with open("emdp.toml", "w") as file:
        file.write(catalog.replace("v.ledger", ledger))
    own = load_report("visits.toml")
    return len(run_report(check_report(own, load_catalog(own.catalog)), load_catalog(own.catalog)).outcomes)

def left(path):
    with read_ledger(path) as ledger:
        ledger.verify()
        charges = [one.sequence for one in ledger.entries("visits", "charge")]
        return [charges, [one.payload["charge"] for one in ledger.entries("visits", "answer")]]

lines = killed_at(WATCHED, lambda: ask("whole.ledger"), 10**9)[1]
found = []
for share in places:
    ledger = f"{share}.ledger"
    killed_at(WATCHED, lambda: ask(ledger), max(1, int(share * lines)))
    seen = os.path.getsize(ledger + ".seen") if os.path.exists(ledger + ".seen") else 0
    charges, answers = child(lambda: left(ledger)) if os.path.exists(ledger) else ([], [])
    child(lambda: ask(ledger))
    found.append([share, seen, charges, answers, *child(lambda: left(ledger))])
print(json.dumps(found))
"""


def kills(folder: Path, shares: list[float]) -> set[tuple[int, int, int]]:
    """Kill a report at some lines; return how many statistics were opened, charges and answers were left."""
    report(folder)
    left = set()
    for share, seen, charges, answers, paid, answered in run_script(SCRIPT, folder, shares):
        # Each is opened under a charge of its own that is on the disk, and stored under it.
        assert seen <= len(charges), share
        assert answers == charges[: len(answers)], share
        assert len(charges) - len(answers) in (0, 1), share
        # The next run pays for what was not charged, and for nothing twice.
        assert paid[: len(charges)] == charges, share
        assert paid == answered, share
        assert len(paid) == len(ENTRIES), share
        left.add((seen, len(charges), len(answers)))
    return left


@pytest.mark.slow
def test_a_kill_between_entries_leaves_what_was_charged(tmp_path: Path) -> None:
    assert len(kills(tmp_path, [0.45, 0.7, 0.9])) == 3


@pytest.mark.full
def test_kills_in_every_gap_between_entries(tmp_path: Path) -> None:
    left = kills(tmp_path, [place / 30 for place in range(6, 30)])
    assert {charged for _, charged, _ in left} >= {0, 1, 2, 3}
