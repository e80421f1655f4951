"""The targets of speed, each as one line: figure, reference, ratio, met or missed.

`python benchmarks/everything.py` prints them as one page. Every figure comes from the benchmark of its own name, in a
size that `SIZES` gives; CPU seconds are of a process with all its threads, and of the processes below it. A reference
runs beside what is compared with it, in turns, and the best of the repetitions counts.
"""

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Sizes:
    """How large each comparison is."""

    rows: int
    grown: int
    users: int
    rivals: int
    entries: int
    report: int
    spark: int
    oracle: int
    side: int
    repeats: int


SIZES = {
    "quick": Sizes(1_000_000, 4_000_000, 10_000, 20_000, 5_000, 200_000, 100_000, 20_000, 100, 2),
    "full": Sizes(100_000_000, 1_000_000_000, 100_000, 100_000, 100_000, 10_000_000, 10_000_000, 100_000, 1000, 5),
}
"""Rows of a first answer and of growth, users, users of the rivals' table with 10 records each, entries of the ledger,
rows of the report, of Spark, users of the oracles, cells along each axis of a map, repetitions."""


@dataclass(frozen=True)
class Row:
    """One target.

    Attributes
    ----------
    point : str
        Its number in the list of targets.
    what : str
        What is measured, with its size.
    figure, reference : str
        Both as they are shown, with units.
    value, most : float
        What is compared, and what it should be at most: a ratio, or seconds. With ``most`` negative: at least.
    before : str
        What it was, with a letter of `SOURCES`; empty where nobody measured it.
    """

    point: str
    what: str
    figure: str
    reference: str
    value: float
    most: float
    unit: str = ""
    before: str = ""

    @property
    def met(self) -> bool:
        """Whether the target is met."""
        return self.value >= -self.most if self.most < 0 else self.value <= self.most

    def shown(self) -> str:
        """Return the row of the table."""
        head = f"| {self.point} | {self.what} | {self.before} | {self.figure} | {self.reference}"
        if math.isnan(self.value):
            return (
                f"| {self.point} | {self.what} | {self.before} | {self.figure} | {self.reference} | | | not measured |"
            )
        bound = f"at least {-self.most:g}" if self.most < 0 else f"at most {self.most:g}"
        verdict = "met" if self.met else "**missed**"
        return f"{head} | {self.value:.2f}{self.unit} | {bound}{self.unit} | {verdict} |"


HEAD = (
    "| target | what | before | figure | reference | compared | should be | |",
    "|---|---|---:|---:|---:|---:|---:|---|",
)

SOURCES = (
    "*Before*, what is compared now: *i*, the text of issue 27; *p*, the first page of targets, at the quick sizes "
    "(`git show 32c91af0:docs/targets.md`); *d*, the page of that room at commit 32c91af0."
)
"""Where what stands in the column before comes from."""

PLANS_BEFORE = {
    "optimal": "56 s i",
    "optimal-map": "56 s i",
    "exponential-32": "9.3 s i",
    "exponential-64": "> 100 s i",
    "exponential-map": "> 100 s i",
    "user-mean": "2 to 6 s i",
    "shuffle": "0.03 to 0.46 s i",
    "joined": "10 s i",
    "listed": "8 s i",
}
"""Of plans.py's cases."""

SPARK_BEFORE = {"mean": "2.89 p", "10 aggregates": "3.59 p", "smoothed histogram": "4.42 p"}
"""Of spark.py's statements."""


def against(
    point: str, what: str, own: float, reference: float, most: float, unit: str = " CPU s", before: str = ""
) -> Row:
    """Return the row of a ratio."""
    return Row(point, what, f"{own:.3f}{unit}", f"{reference:.3f}{unit}", own / reference, most, before=before)


def spent(command: list[str], **named: Any) -> tuple[float, float]:
    """Run a command and return CPU and wall-clock seconds of it and all below it."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, **named)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def first_answer(sizes: Sizes, folder: Path, options: argparse.Namespace) -> Iterator[Row]:
    """The first answer on new data, rules checked, against the plain mean; and by groups with a cap."""
    import scale

    wanted = argparse.Namespace(data=None, view=False, shape="turns", rows=sizes.rows, users=sizes.users)
    wanted.memory, wanted.threads = "4GB", 2
    data = scale.make(wanted, folder)
    own, plain = [], []
    for _ in range(sizes.repeats):
        plain.append(scale.Run(**scale.in_process("measure", "plain mean", data, wanted)))
        data.ledger(is_items=False).unlink(missing_ok=True)
        own.append(scale.Run(**scale.in_process("validate", "points", data, wanted)))
    ours, theirs = scale.best_of(own), scale.best_of(plain)
    what = f"first mean of {sizes.rows:,} new rows, over the plain mean"
    yield against("1", f"{what}, CPU", ours.cpu, theirs.cpu, 1.10, before="1.06 to 1.44 i")
    yield against("1", f"{what}, by the clock", ours.wall, theirs.wall, 1.2, " s", "1.90 i")
    best = rivals(sizes, folder)
    capped = best["plain DuckDB, capped"]
    what = f"{sizes.rivals * 10:,} rows in 50 groups with a cap, over the plain statement with a cap"
    yield against("1", f"{what}: new session, new data", best["emdp"], capped, 0.10 / 0.06, before="2.83 i")
    yield against("1", f"{what}: a kept session", best["emdp, session kept"], capped, 1.25, before="1.49 p")


def rivals(sizes: Sizes, folder: Path) -> dict[str, float]:
    """Return the least CPU seconds of an answer of the systems that need no other package."""
    names = ["emdp", "emdp, session kept", "plain DuckDB, capped"]
    sized = ["--users", str(sizes.rivals), "--rounds", "1", "--seconds", "1", "--out", str(folder / "rivals")]
    spent([sys.executable, str(HERE / "rivals"), *sized, "--systems", *names])
    frame = pl.read_parquet(folder / "rivals" / "rivals.parquet")
    return dict(frame.group_by("system").agg(pl.col("processor_seconds").min()).rows())


def planned(sizes: Sizes, folder: Path, options: argparse.Namespace) -> Iterator[Row]:
    """Every plan, in a process of its own."""
    import plans

    for name, (title, *_) in plans.CASES.items():
        command = [sys.executable, plans.__file__, "--case", name]
        runs = (subprocess.run(command, check=True, capture_output=True, text=True).stdout for _ in range(options.runs))
        found = min(map(float, runs))
        yield Row(
            "2", f"plan of {title}", f"{found:.2f} CPU s", "", found, plans.TARGET, " s", PLANS_BEFORE.get(name, "")
        )


def on_spark(sizes: Sizes, folder: Path, options: argparse.Namespace) -> Iterator[Row]:
    """Statements on Spark over the same sums in plain Spark SQL."""
    out = folder / "spark.json"
    asked = ["--against", str(out), "--rows", str(sizes.spark), "--repeats", str(options.runs)]
    spent([sys.executable, str(HERE / "spark.py"), *asked])
    for name, (own, plain) in json.loads(out.read_text()).items():
        what = f"Spark, {sizes.spark:,} rows: {name}, over plain Spark SQL"
        yield against("3", what, own, plain, 1.3, before=SPARK_BEFORE.get(name, ""))


def aged(sizes: Sizes, folder: Path, options: argparse.Namespace) -> Iterator[Row]:
    """A charge beside a long ledger and beside a short one."""
    import ledger_age

    users = ledger_age.USERS
    frame = pl.DataFrame({"user": range(users), "x": [number / users for number in range(users)]})
    best = []
    for count in (10, sizes.entries):
        path = folder / f"{count}.ledger"
        ledger_age.grow(frame, path, count)
        runs = [ledger_age.times(frame, path) for _ in range(sizes.repeats + 1)]
        best.append([min(column) for column in zip(*runs, strict=True)])
    (_, _, young), (opened, first, later) = best
    beside = f"beside {sizes.entries:,} entries of SQLite"
    yield against("4", f"a charge {beside}, over one beside 10", later, young, 2.0, before="18 at 20,000 i")
    yield against("4", f"the first charge of a session {beside}, over a later one beside 10", first, young, 2.0)
    yield Row("4", f"open a session {beside}", f"{opened:.3f} CPU s", "", opened, 0.3, " s", "1.2 s d")
    command = [sys.executable, "-m", "emdp", "ledger", "show", str(path)]
    shown = min(spent(command)[0] for _ in range(sizes.repeats + 1))
    yield Row("4", f"`emdp ledger show` {beside}", f"{shown:.3f} CPU s", "", shown, 0.3, " s")


def drawn(sizes: Sizes, folder: Path, options: argparse.Namespace) -> Iterator[Row]:
    """Oracles against those of other packages, where these are installed; and frequencies at size against DuckDB."""
    import frequency_rivals

    weights = 1.0 / np.arange(1, 101)
    codes = np.random.default_rng(1).choice(100, size=sizes.oracle, p=weights / weights.sum())
    asked = argparse.Namespace(runs=5, seconds=3.0, timed=2000)
    own = {one["name"].split(": ")[-1]: one["seconds"] for one in frequency_rivals.ours(codes, 100, 1.0, asked)}
    theirs: dict[str, float] = {}
    if options.environments is not None:
        python = frequency_rivals.environment(options.environments / "frequency_rivals")
        found = frequency_rivals.theirs(python, codes, 100, 1.0, asked)
        theirs = {one["name"]: one["seconds"] for one in found}
    for word, other in (("subset", "multi-freq SS"), ("Hadamard", "pure-ldp HR")):
        name, seconds = next((name, found) for name, found in own.items() if word in name)
        what = f"{name.removeprefix('emdp ')} over {sizes.oracle:,} users, 100 items, and {other}"
        rival = theirs.get(other, math.nan)
        shown = f"{rival:.3f} CPU s" if other in theirs else "needs its package"
        yield Row("5", what, f"{seconds:.4f} CPU s", shown, rival / seconds, -50, " times as fast", "9 to 28 i")
    yield from mapped(sizes, folder)


def mapped(sizes: Sizes, folder: Path) -> Iterator[Row]:
    """Frequencies of a map, one record a user, over DuckDB's GROUP BY."""
    import frequencies_scale

    path, users = folder / "places.parquet", 10 * sizes.side**2
    frequencies_scale.make(path, users, sizes.side)
    arguments = ["--users", str(users), "--side", str(sizes.side), "--data", str(path)]
    found: dict[str, list[dict[str, float]]] = {"plain": [], "local hadamard": []}
    for case in tuple(found) * sizes.repeats:
        command = [sys.executable, frequencies_scale.__file__, *arguments, "--case", case]
        found[case].append(json.loads(subprocess.run(command, check=True, capture_output=True).stdout))
    what = f"Hadamard over {sizes.side**2:,} cells and {users:,} users, over plain GROUP BY"
    for name, shown, unit, before in (("work", "CPU", " CPU s", ""), ("seconds", "by the clock", " s", "3.64 p")):
        plain, own = (min(run[name] for run in runs) for runs in found.values())
        yield against("5", f"{what}, {shown}", own, plain, 3.0, unit, before)


def started(sizes: Sizes, folder: Path, options: argparse.Namespace) -> Iterator[Row]:
    """The start of a command."""
    import startup

    wanted = ("libraries alone", "libraries, numpy", "emdp --help", "emdp query")
    found = startup.measure(sizes.repeats, folder, {name: startup.CANDIDATES[name] for name in wanted})
    (query, _), (helped, wall) = found["emdp query"], found["emdp --help"]
    what = "`emdp query` on 1,000 rows, over the import of"
    yield against(
        "6", f"{what} DuckDB, sqlglot, Polars, Typer", query, found["libraries alone"][0], 1.2, before="1.97 p"
    )
    yield against("6", f"{what} these and NumPy", query, found["libraries, numpy"][0], 1.2, before="1.54 p")
    yield Row("6", "`emdp --help`", f"{helped:.3f} CPU s", f"{wall:.3f} s by the clock", helped, 0.15, " s", "0.13 s p")


def reported(sizes: Sizes, folder: Path, options: argparse.Namespace) -> Iterator[Row]:
    """A report of 25 entries over the sum of the plain statements."""
    import report

    wanted = argparse.Namespace(users=sizes.users, repeat=options.runs, threads=2, show=False)
    path, asked = folder / "visits.parquet", report.questions()
    words = ["generate", "checkins", "--users", str(sizes.users), "--records", str(sizes.report), "--out", str(path)]
    spent([sys.executable, "-c", "from emdp.cli import main; main()", *words])
    (folder / "benchmark.toml").write_text(report.definition(asked))
    rounds = report.measure(asked, folder, path, wanted)
    plain, first, again = (
        min(found) for found in zip(*((one.sum_cpu, one.first.cpu, one.again.cpu) for one in rounds), strict=True)
    )
    yield against(
        "7", f"25 entries over {sizes.report:,} rows, over the plain statements", first, plain, 1.1, before="1.24 i"
    )
    yield Row("7", "the same again, all stored: page and pictures", f"{again:.2f} CPU s", "", again, 2.0, " s")


def growing(sizes: Sizes, folder: Path, options: argparse.Namespace) -> Iterator[Row]:
    """Cost a row and memory at one size and at a larger one."""
    import scale

    for name in ("engine: mean", "engine: histogram"):
        runs, earlier = [], "1.03 d" if name == "engine: mean" else "1.05 d"
        for rows in (sizes.rows, sizes.grown):
            wanted = argparse.Namespace(data=None, view=True, shape="turns", rows=rows, users=sizes.users)
            wanted.memory, wanted.threads = "4GB", 2
            (folder / "made.duckdb").unlink(missing_ok=True)
            runs.append(scale.Run(**scale.in_process("measure", name, scale.make(wanted, folder), wanted)))
        small, large = (1e9 * run.cpu / rows for run, rows in zip(runs, (sizes.rows, sizes.grown), strict=True))
        what = f"{name.removeprefix('engine: ')}: a row of {sizes.grown:,}, over one of {sizes.rows:,}"
        yield against("8", what, large, small, 1.10, " CPU ns", earlier)
        yield against("8", f"{what}: peak memory", runs[1].peak / 2**20, runs[0].peak / 2**20, 1.10, " MB", "1.00 d")


GROUPS: dict[str, Callable[[Sizes, Path, argparse.Namespace], Iterator[Row]]] = {
    "first": first_answer,
    "plans": planned,
    "spark": on_spark,
    "ledger": aged,
    "oracles": drawn,
    "start": started,
    "report": reported,
    "growth": growing,
}
"""Name of a group of targets, and what measures it."""


def rows_of(name: str, options: argparse.Namespace) -> list[Row]:
    """Return the rows of one group, measured in a process of its own, so that no group warms another."""
    command = [sys.executable, __file__, "--group", name, "--size", "quick" if options.quick else "full"]
    if options.environments is not None:
        command += ["--environments", str(options.environments)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path()}
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no word"])[-1]
        return [Row("", f"{name}: failed", last.replace("|", " "), "", math.nan, 0.0)]
    return [Row(**one) for one in json.loads(done.stdout.splitlines()[-1])]


def path() -> str:
    """Return the places where Python looks for emdp and the benchmarks."""
    return os.pathsep.join([str(HERE.parent), str(HERE), os.environ.get("PYTHONPATH", "")])


def main() -> None:
    """Measure one group and print its rows as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--group", choices=GROUPS, required=True)
    parser.add_argument("--size", choices=SIZES, default="quick")
    parser.add_argument("--environments", type=Path, help="folder that keeps the rivals' packages")
    options = parser.parse_args()
    options.runs = 1 if options.size == "quick" else 3
    with tempfile.TemporaryDirectory() as name:
        rows = list(GROUPS[options.group](SIZES[options.size], Path(name), options))
    print(json.dumps([row.__dict__ for row in rows]))


if __name__ == "__main__":
    main()
