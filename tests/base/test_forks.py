"""Children of a fork: they answer where they can, and refuse, with nothing charged, where they would wait for ever."""

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

PROGRAM = """
import os, sys, emdp
space = emdp.Categories("kind", ["a", "b"])
table = emdp.read(sys.argv[3], user="who", users=2, space=space, name="data")
session = emdp.Session(table, budget=emdp.EmdDP(alpha=100), ledger=sys.argv[1])
text = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) kind, SHARE() AS part FROM data GROUP BY kind"
for _ in range(int(sys.argv[2])):
    session.sql(text).frame.filter([True, True])
child = os.fork()
if not child:
    for ask in (lambda: session.sql(text), lambda: emdp.read({"who": [1]}, user="who", users=1, space=space)):
        try:
            ask()
        except emdp.EmdpError as error:
            print(error, flush=True)
    sys.exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), session.spent().alpha)
"""

REFUSED = (
    "this process was forked off one that had worked with frames, whose threads it lacks; start processes that ask "
    'questions with multiprocessing.get_context("spawn"), or before the first question.'
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "said"),
    [(1, [REFUSED, REFUSED, "0 1.0"]), (0, ["source has no column 'kind'", "0 1.0"])],
)
def test_a_child_answers_or_refuses(tmp_path: Path, asked: int, said: list[str]) -> None:
    pl.DataFrame({"who": [1, 2], "kind": ["a", "b"]}).write_parquet(tmp_path / "a.parquet")
    words = [sys.executable, "-W", "error", "-c", PROGRAM, str(tmp_path / "a.ledger"), str(asked)]
    words.append(str(tmp_path / "a.parquet"))
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert len(lines) == len(said)
    for line, start in zip(lines, said, strict=True):
        assert line.startswith(start)
