"""Real processes spend one budget and are killed at any moment, without a charge too many or too few."""

import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import emdp
from emdp.base.errors import LedgerError
from emdp.ledger import open_ledger, read_ledger

# Children load the ledger without the rest of emdp, which takes longer than what they do.
ALONE = f"""
import sys, types
package = types.ModuleType("emdp")
package.__path__ = {[str(Path(emdp.__file__).parent)]!r}
sys.modules["emdp"] = package
"""

# Appends until the budget is spent, and reports each sequence once append has returned.
SPENDER = """
import sys
from emdp.base.errors import BudgetExceededError
from emdp.ledger import open_ledger
def admit(entries):
    if sum(entry.payload["cost"] for entry in entries) + 1 > budget:
        raise BudgetExceededError("spent")
budget = int(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
ledger = open_ledger(sys.argv[1])
try:
    while True:
        print(ledger.append("charge", "visits", {"cost": 1}, admit=admit).sequence, flush=True)
except BudgetExceededError:
    pass
"""


def start(script, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", ALONE + script, *map(str, arguments)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def go(process):
    assert process.stdout.readline() == "ready\n"
    process.stdin.write("go\n")
    process.stdin.flush()


def finish(process):
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return [int(line) for line in out.split()]


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("exists", [True, False])
def test_processes_spend_one_budget_once(tmp_path, count, exists):
    path = tmp_path / "city.ledger"
    if exists:
        open_ledger(path).close()
    spenders = [start(SPENDER, path, 60) for _ in range(count)]
    for spender in spenders:
        assert spender.stdout.readline() == "ready\n"
    for spender in spenders:
        spender.stdin.write("go\n")
        spender.stdin.flush()
    spent = [sequence for spender in spenders for sequence in finish(spender)]
    assert sorted(spent) == list(range(2, 62))
    assert open_ledger(path).verify()[0] == 61
    assert os.listdir(tmp_path) == [path.name]


def kill_after(spender, lines):
    """Kill a spender after so many reported charges, and return all it reported before it died."""
    reported = [spender.stdout.readline() for _ in range(lines)]
    spender.kill()
    # What readline has read ahead is in the stream alone; communicate reads past it.
    rest = spender.stdout.read()
    spender.communicate(timeout=60)
    assert spender.returncode == -signal.SIGKILL
    return [int(line) for line in "".join([*reported, rest]).splitlines(keepends=True) if line.endswith("\n")]


def check_kills(path, rounds):
    # The moment within an append is left to chance, what must hold afterwards is not.
    generator = random.Random(0)
    charged = 0
    for _ in range(rounds):
        spender = start(SPENDER, path, 10**9)
        go(spender)
        reported = kill_after(spender, generator.randrange(1, 8))
        entries = open_ledger(path).entries("visits")
        assert [entry.sequence for entry in entries][charged:][: len(reported)] == reported
        assert charged + len(reported) <= len(entries) <= charged + len(reported) + 1
        charged = len(entries)
    assert open_ledger(path).append("charge", "visits", {"cost": 1}).sequence == charged + 2


def test_killed_spenders_lose_no_charge(tmp_path):
    check_kills(tmp_path / "city.ledger", rounds=8)


@pytest.mark.full
def test_killed_spenders_lose_no_charge_in_many_rounds(tmp_path):
    check_kills(tmp_path / "city.ledger", rounds=80)


def test_a_killed_spender_does_not_disturb_the_other(tmp_path):
    path = tmp_path / "city.ledger"
    victim, survivor = (start(SPENDER, path, 10**9) for _ in range(2))
    go(victim)
    go(survivor)
    reported = kill_after(victim, 5)
    last = open_ledger(path).head()[0]
    others = [int(survivor.stdout.readline())]
    while others[-1] <= last:
        others.append(int(survivor.stdout.readline()))
    others += kill_after(survivor, 5)
    entries = [entry.sequence for entry in open_ledger(path).entries("visits")]
    assert open_ledger(path).verify()[0] == entries[-1]
    assert set(reported).isdisjoint(others)
    assert {*reported, *others} <= set(entries)
    assert len(entries) <= len(reported) + len(others) + 2


# Kills itself at a named point of one append.
KILLED_IN_APPEND = """
import os, signal, sys
from emdp.ledger import open_ledger, sqlite
def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
ledger = open_ledger(sys.argv[1])
admit = None
if sys.argv[2] == "admit":
    admit = die
elif sys.argv[2] == "before commit":
    sqlite._commit = die
elif sys.argv[2] == "after commit":
    sqlite._commit = lambda connection: die(connection.execute("COMMIT"))
ledger.append("charge", "visits", {"cost": 1}, admit=admit)
die()
"""


@pytest.mark.parametrize(
    ("point", "charges"), [("admit", 0), ("before commit", 0), ("after commit", 1), ("after append", 1)]
)
def test_a_crash_charges_from_the_commit_on(tmp_path, point, charges):
    path = tmp_path / "city.ledger"
    crashed = start(KILLED_IN_APPEND, path, point)
    _, err = crashed.communicate(timeout=60)
    assert crashed.returncode == -signal.SIGKILL, err
    assert len(read_ledger(path).entries("visits")) == charges
    assert open_ledger(path).append("charge", "visits", {"cost": 1}).sequence == charges + 2
    assert os.listdir(tmp_path) == [path.name]


def test_a_deleted_log_shows_against_a_head_kept_elsewhere_alone(tmp_path):
    path, copy = tmp_path / "city.ledger", tmp_path / "copy.ledger"
    start(KILLED_IN_APPEND, path, "after commit").communicate(timeout=60)
    for suffix in ("", "-wal"):
        shutil.copy(f"{path}{suffix}", f"{copy}{suffix}")
    sequence, head = read_ledger(copy).head()
    assert sequence == 2
    os.unlink(f"{path}-wal")
    assert read_ledger(path).verify()[0] == 1
    with pytest.raises(LedgerError, match="older copy"):
        read_ledger(path).verify(head)


# Kills itself at a named point of creating the file.
KILLED_IN_CREATION = """
import os, signal, sys
from emdp.ledger import open_ledger, place
def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
link, create_schema = os.link, place.create_schema
if sys.argv[2] == "empty":
    place._write_first_entry = die
elif sys.argv[2] == "half":
    place.create_schema = lambda *arguments: die(create_schema(*arguments))
elif sys.argv[2] == "whole":
    os.link = die
elif sys.argv[2] == "linked":
    os.link = lambda *arguments: die(link(*arguments))
open_ledger(sys.argv[1])
"""


@pytest.mark.parametrize("point", ["empty", "half", "whole", "linked"])
def test_a_crash_while_creating_leaves_a_ledger_or_none(tmp_path, point):
    path = tmp_path / "city.ledger"
    crashed = start(KILLED_IN_CREATION, path, point)
    _, err = crashed.communicate(timeout=60)
    assert crashed.returncode == -signal.SIGKILL, err
    assert path.exists() == (point == "linked")
    with open_ledger(path) as ledger:
        assert ledger.append("charge", "visits", {"cost": 1}).sequence == 2
    assert path.stat().st_nlink == 1
    assert read_ledger(path).head()[0] == 2


# A child of fork goes on with the ledger object of its parent, while another thread of the parent charges.
FORKING = """
import os, sys, threading, warnings
from emdp.ledger import open_ledger
warnings.simplefilter("ignore", DeprecationWarning)
ledger = open_ledger(sys.argv[1])
def charge():
    for _ in range(20):
        ledger.append("charge", "visits", {"cost": 1})
thread = threading.Thread(target=charge)
thread.start()
children = []
for _ in range(3):
    child = os.fork()
    if not child:
        charge()
        os._exit(0)
    children.append(child)
thread.join()
print(sum(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children), ledger.verify()[0])
"""


def test_forked_children_go_on_with_the_ledger(tmp_path):
    path = tmp_path / "city.ledger"
    assert finish(start(FORKING, path)) == [0, 81]
    assert open_ledger(path).verify()[0] == 81
