"""A report that is killed with SIGKILL, at any moment: what the next run finds is right, and nothing is paid twice."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from emdp.cli import main
from emdp.ledger import read_ledger
from emdp.privacy import event_from_json

ENTRIES = 8
CATALOG = """
ledger = "trips.ledger"
[tables.trips]
source = "trips.parquet"
user = "user_id"
users = 200
space = { kind = "geo", lat = "lat", lon = "lon", box = [40.4, -74.3, 41.0, -73.7], unit = "km", on_invalid = "clamp" }
budget = { alpha = 100.0 }
"""
ENTRY = '''
[[entry]]
title = "Distance {number}"
query = """
SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(RAMP(DISTANCE(POINT(40.7, -74)), {number} + 1, 0)) AS m
FROM trips"""
'''


def prepare(folder: Path) -> list[str]:
    with pytest.raises(SystemExit) as done:
        main(["generate", "checkins", "--users", "200", "--records", "5000", "--out", str(folder / "trips.parquet")])
    assert done.value.code == 0
    (folder / "emdp.toml").write_text(CATALOG)
    text = 'title = "Trips"\ncatalog = "emdp.toml"\nbudget = { alpha = 8.0 }\n'
    (folder / "trips.toml").write_text(text + "".join(ENTRY.format(number=number) for number in range(ENTRIES)))
    start = "from emdp.cli import main; main()"
    return [sys.executable, "-c", start, "report", str(folder / "trips.toml"), "--out", str(folder / "page")]


def killed_after(command: list[str], seconds: float) -> bool:
    """Start a run, kill it after a while, and say whether it was still running then."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return True
    assert process.returncode == 0
    return False


def ledger_of(folder: Path) -> tuple[list[Any], list[Any]]:
    """Return charges and answers, after the chain and every stored text were verified."""
    if not (folder / "trips.ledger").exists():
        return [], []
    with read_ledger(folder / "trips.ledger") as ledger:
        ledger.verify()
        return list(ledger.entries("trips", "charge")), list(ledger.entries("trips", "answer"))


def forget_ledger(folder: Path) -> None:
    for name in ("trips.ledger", "trips.ledger-wal", "trips.ledger-shm"):
        (folder / name).unlink(missing_ok=True)


def check_kills(folder: Path, moments: int) -> None:
    command = prepare(folder)
    began = time.monotonic()
    subprocess.run(command, check=True, capture_output=True)
    whole = time.monotonic() - began
    rng = random.SystemRandom()
    for number in range(moments):
        # The first half of a run loads libraries. A run that ended first was quicker than the last: it is made anew.
        delay = whole * rng.uniform(0.3, 1.0)
        forget_ledger(folder)
        while not killed_after(command, delay):
            delay /= 1.5
            forget_ledger(folder)
        charges, answers = ledger_of(folder)
        assert len(answers) <= len(charges) <= len(answers) + 1 <= ENTRIES + 1, number
        if number % 2:
            killed_after(command, whole * rng.uniform(0.3, 1.0))
        subprocess.run(command, check=True, capture_output=True)
        found, stored = ledger_of(folder)
        assert found[: len(charges)] == charges
        assert stored[: len(answers)] == answers
        assert len(found) == len(stored) == ENTRIES, number
        assert sorted(entry.payload["charge"] for entry in stored) == [entry.sequence for entry in found]
        assert {entry.payload["entry"] for entry in stored} == {f"Distance {place}" for place in range(ENTRIES)}
        assert sum(event_from_json(entry.payload["event"]).guarantee.level for entry in found) == ENTRIES


@pytest.mark.slow
def test_killed_reports_resume(tmp_path: Path) -> None:
    check_kills(tmp_path, 3)


@pytest.mark.full
def test_killed_reports_resume_at_full_size(tmp_path: Path) -> None:
    check_kills(tmp_path, 20)
