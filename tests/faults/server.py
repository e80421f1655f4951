"""Run tests on a copy of the tree, each time in a fork of a process that has imported what emdp stands on.

Started by ``run.py``. A line on standard input is a request, ``[tests, seconds, file for what is printed]`` in JSON;
the answer is pytest's exit status, or null where the tests did not end in time. Neither emdp nor a test is imported
before the fork, so that every request sees the files as they are then.
"""

import importlib
import importlib.util
import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest

HEAVY = (
    "duckdb", "numpy", "scipy.optimize", "scipy.sparse.csgraph", "scipy.spatial", "scipy.special", "scipy.stats",
    "sqlglot", "sqlglot.optimizer",
)  # fmt: skip
"""Half a second and more each; without threads of their own until they are used."""
PAUSE = 0.02
OPTIONS = ("-p", "no:cacheprovider", "-q", "--tb=line", "-rfE", "-m", "not full")


def main(copy: Path) -> None:
    """Answer requests until standard input ends."""
    os.chdir(copy)
    sys.path[:] = [str(copy), *(place for place in sys.path if Path(place).resolve() != Path(__file__).parent)]
    for name in HEAVY:
        importlib.import_module(name)
    found = importlib.util.find_spec("emdp")
    if "emdp" in sys.modules or found is None or found.origin != str(copy / "emdp" / "__init__.py"):
        raise RuntimeError(f"the tests would not run on the copy {copy}.")
    sys.stdout.write(json.dumps(found.origin) + "\n")
    sys.stdout.flush()
    for line in sys.stdin:
        nodes, seconds, printed = json.loads(line)
        sys.stdout.write(json.dumps(_run(nodes, seconds, printed)) + "\n")
        sys.stdout.flush()


def _run(nodes: list[str], seconds: float, printed: str) -> int | None:
    child = os.fork()
    if child == 0:
        _become_pytest(nodes, printed)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(PAUSE)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _become_pytest(nodes: list[str], printed: str) -> None:
    status = 70
    try:
        os.setpgid(0, 0)
        handle = os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for place, own in ((0, os.open(os.devnull, os.O_RDONLY)), (1, handle), (2, handle)):
            os.dup2(own, place)
        status = int(pytest.main([*OPTIONS, *nodes]))
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
