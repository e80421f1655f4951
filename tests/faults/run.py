"""Plant the faults one by one in a copy of the tree, and see that the tests named for each of them fail.

``python tests/faults/run.py [--only NAME ...] [--jobs N] [--table OUT.md]`` prints the table, writes it with
``--table`` (with ``--only`` it renews these rows of the file), and ends with status 1 unless every fault is caught. The
tree itself is not touched: emdp/, tests/, datasets/ and queries/ are copied to temporary folders, and the tests run
there, on the copy.

A fault is CAUGHT if each test named for it fails: failing alone counts, not an error while tests are collected or set
up. It has SURVIVED if one of them passes. All else, a copy that cannot be imported or tests that do not end, is
an ERROR. Before any fault is planted the named tests must pass on the sound copy.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from faults import ROOT, Fault, exchanged, read_faults

__all__ = ["Copy", "Outcome", "main", "make_copy", "planted", "try_fault"]

FOLDERS = ("emdp", "tests", "datasets", "queries", "examples")
FILES = ("pyproject.toml", "README.md")
HEAD = (
    "| fault | file | what it breaks | caught by | seconds | verdict |",
    "|---|---|---|---|---:|---|",
)
SECONDS = 180
"""Longest time for the tests of one fault; those of the sound copy have it for each of them."""


@dataclass(frozen=True)
class Outcome:
    """What became of a fault: the verdict, how long it took, and what its tests printed."""

    verdict: str
    seconds: float
    printed: str


@dataclass(frozen=True)
class Copy:
    """A copy of the tree, and the process that runs tests on it (``server.py``)."""

    path: Path
    server: subprocess.Popen[str]

    def run(self, nodes: Sequence[str], *, seconds: float = SECONDS) -> tuple[int | None, str]:
        """Run tests; return pytest's exit status, None where they did not end in time, and what was printed."""
        printed = self.path.parent / "printed.txt"
        return self.ask([list(nodes), seconds, str(printed)]), printed.read_text()

    def ask(self, request: object = None) -> Any:
        """Hand over a request, if there is one, and return the next answer."""
        if self.server.stdin is None or self.server.stdout is None:
            raise RuntimeError("the server has no pipes.")
        if request is not None:
            self.server.stdin.write(json.dumps(request) + "\n")
            self.server.stdin.flush()
        answer = self.server.stdout.readline()
        if not answer:
            raise RuntimeError("the process that runs the tests has ended.")
        return json.loads(answer)


@contextmanager
def make_copy() -> Iterator[Copy]:
    """Give a copy of the tree in a temporary folder, whose tests run on the copy, whatever is installed."""
    with tempfile.TemporaryDirectory(prefix="emdp-faults-") as folder:
        path = Path(folder) / "main"
        path.mkdir()
        for name in FOLDERS:
            shutil.copytree(
                ROOT / name,
                path / name,
                ignore=shutil.ignore_patterns("__pycache__", "*.ledger*"),
            )
        for name in FILES:
            shutil.copy(ROOT / name, path / name)
        if (ROOT.parent / "shared").is_dir():
            (Path(folder) / "shared").symlink_to(ROOT.parent / "shared")
        command = [
            sys.executable,
            str(Path(__file__).with_name("server.py")),
            str(path),
        ]
        with subprocess.Popen(
            command,
            env=_environment(path),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as server:
            copy = Copy(path, server)
            if copy.ask() != str(path / "emdp" / "__init__.py"):
                raise RuntimeError("the tests would not run on the copy.")
            yield copy


@contextmanager
def planted(copy: Copy, fault: Fault) -> Iterator[None]:
    """Make the mistake in the copy, and undo it at the end."""
    path = copy.path / fault.file
    sound = path.read_text()
    try:
        _write(path, exchanged(sound, fault))
        yield
    finally:
        _write(path, sound)


def try_fault(copy: Copy, fault: Fault) -> Outcome:
    """Plant a fault, run its tests, and say whether each of them failed."""
    start = time.monotonic()
    with planted(copy, fault):
        status, printed = copy.run(fault.caught_by)
    failed = [line.split(" ", 1)[1] for line in printed.splitlines() if line.startswith("FAILED ")]
    is_error = status not in (0, 1) or any(line.startswith("ERROR ") for line in printed.splitlines())
    survived = [node for node in fault.caught_by if not any(_is_of(line, node) for line in failed)]
    verdict = "ERROR" if is_error else "SURVIVED" if survived else "CAUGHT"
    return Outcome(verdict, time.monotonic() - start, printed)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(description="Plant faults one by one; print which tests catch them.")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="plant these alone")
    parser.add_argument("--jobs", type=int, default=1, help="copies of the tree that are tried at once")
    parser.add_argument("--table", type=Path, help="write the table to this file, too")
    options = parser.parse_args(arguments)
    faults = read_faults()
    if options.only:
        unknown = set(options.only) - {fault.name for fault in faults}
        if unknown:
            parser.error(f"there is no fault named {', '.join(sorted(unknown))}")
        faults = tuple(fault for fault in faults if fault.name in options.only)
    nodes = sorted({node for fault in faults for node in fault.caught_by})
    with make_copy() as copy:
        sys.stdout.write(f"tests run on {copy.path / 'emdp' / '__init__.py'}\n")
        sys.stdout.flush()
        status, printed = copy.run(nodes, seconds=SECONDS * len(nodes))
    if status != 0:
        sys.stdout.write(f"{printed}\nthe named tests do not all pass without a fault\n")
        return 1
    outcomes = _try_all(faults, max(1, options.jobs))
    rows = {fault.name: _row(fault, outcome) for fault, outcome in zip(faults, outcomes, strict=True)}
    sys.stdout.write(f"{_table(rows)}\n\n{_total(rows)}\n")
    if options.table is not None:
        known = {**_known_rows(options.table), **rows}
        kept = {fault.name: known[fault.name] for fault in read_faults() if fault.name in known}
        options.table.write_text(_page(_table(kept), _total(kept)))
    return 0 if all(outcome.verdict == "CAUGHT" for outcome in outcomes) else 1


def _try_all(faults: Sequence[Fault], jobs: int) -> list[Outcome]:
    waiting: SimpleQueue[tuple[int, Fault]] = SimpleQueue()
    for place in enumerate(faults):
        waiting.put(place)
    found: dict[int, Outcome] = {}

    def work(_: int) -> None:
        with make_copy() as copy:
            while (given := _next(waiting)) is not None:
                place, fault = given
                found[place] = try_fault(copy, fault)
                sys.stderr.write(f"{len(found)}/{len(faults)} {fault.name}: {found[place].verdict}\n")
                if found[place].verdict != "CAUGHT":
                    sys.stderr.write(found[place].printed)

    with ThreadPoolExecutor(jobs) as workers:
        list(workers.map(work, range(min(jobs, len(faults)))))
    return [found[place] for place in range(len(faults))]


def _next(waiting: SimpleQueue[tuple[int, Fault]]) -> tuple[int, Fault] | None:
    try:
        return waiting.get_nowait()
    except Empty:
        return None


def _row(fault: Fault, outcome: Outcome) -> str:
    tests = "<br>".join(f"`{node.removeprefix('tests/')}`" for node in fault.caught_by)
    where = f"`{fault.file.removeprefix('emdp/')}`"
    breaks = fault.breaks.replace("|", "\\|")
    columns = (
        f"`{fault.name}`",
        where,
        breaks,
        tests,
        f"{outcome.seconds:.0f}",
        outcome.verdict,
    )
    return f"| {' | '.join(columns)} |"


def _table(rows: Mapping[str, str]) -> str:
    return "\n".join([*HEAD, *rows.values()])


def _total(rows: Mapping[str, str]) -> str:
    caught = sum(row.endswith("| CAUGHT |") for row in rows.values())
    return f"{len(rows)} faults planted, {caught} caught, {len(rows) - caught} not."


def _known_rows(page: Path) -> dict[str, str]:
    # Rows of an earlier run, of which those tried now are replaced.
    lines = page.read_text().splitlines() if page.is_file() else []
    return {line.split("`")[1]: line for line in lines if line.startswith("| `")}


def _page(table: str, total: str) -> str:
    return (
        "# Planted faults\n\n"
        "Plausible mistakes in the code that guarantees rest on, made one by one in a copy of the tree, each with the "
        "tests that\nfail then. A fault is caught if every test named for it fails, and all of them pass on the sound "
        "tree. The table was\nmade by\n\n"
        "```\npython tests/faults/run.py --table docs/faults.md\n```\n\n"
        "where `--only NAME ...` renews rows, so that rows are of different days: each is of the last time its fault\n"
        "was planted for this page. The records are in `tests/faults/planted/`; `pytest -m full tests/faults` plants\n"
        "all of them, `pytest tests/faults` one.\n\n"
        f"{total}\n\n{table}\n"
    )


def _environment(copy: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
    return {**kept, "PYTHONPATH": str(copy)}


def _write(path: Path, text: str) -> None:
    path.write_text(text)
    # A change within a second that keeps the length is one that Python's cache of the module does not see.
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        compiled.unlink()


def _is_of(line: str, node: str) -> bool:
    return line.startswith(node) and line[len(node) : len(node) + 1] in {
        "",
        "[",
        " ",
        ":",
    }


if __name__ == "__main__":
    sys.exit(main())
