"""Where ``emdp`` starts: signals that come while it loads."""

import subprocess
import sys

import pytest

PROGRAM = """
import os, signal, sys, types
import emdp.__main__ as start
cli = types.ModuleType("emdp.cli")
def main():
    os.kill(os.getpid(), signal.{name})
    print("went on")
cli.main = main
sys.modules["emdp.cli"] = cli
start.main()
"""


@pytest.mark.parametrize(("name", "status"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_signal_while_it_loads_ends_it_in_one_line(name: str, status: int) -> None:
    code = PROGRAM.format(name=name)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == status
    assert done.stderr == "emdp: stopped before it began; nothing was charged.\n"
    assert not done.stdout


def test_what_the_caller_ignores_stays_ignored() -> None:
    code = "import signal\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\n" + PROGRAM.format(name="SIGHUP")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "went on\n", "")


def test_as_a_module_it_is_the_command() -> None:
    command = [sys.executable, "-m", "emdp", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0
    assert done.stdout.startswith("emdp ")
