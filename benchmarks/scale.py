"""DuckDB at size: every kind of answer against the plain statement of the same sums, in time and peak memory.

Run `python benchmarks/scale.py` from the project's root: 100 million check-ins of 100,000 people, 2 threads, 4 GB; half
an hour. `--rows 10000000` is a quick look; `--view` takes a view of a DuckDB file that makes its rows as it is read, so
that a billion of them need no disk; `--shape giants` and `--shape single` are users with a million records each and
users with one. Every run is a process of its own, so that its peak of memory is its own; runs are interleaved and the
best of each counts. What is compared stands in scale_cases.py, what came out in docs/scale.md.
"""

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import scale_cases as cases

import emdp
from emdp.resources import load_dataset_module

SHAPES = {"turns": "i % {users}", "giants": "i // {each}", "single": "i"}
# How a view spreads rows over users: in turns, in runs of a user's whole records, one row each.

LIBRARIES = ("ssl", "sqlglot.dialects.duckdb")
# What a first answer loads besides.

GIANT = 1_000_000
# Records of each user of the shape "giants".


@dataclass(frozen=True)
class Run:
    """What one process measured: seconds by the clock and of all threads, of the draw apart, and peak bytes."""

    wall: float
    cpu: float
    peak: int
    draw_wall: float = 0.0
    draw_cpu: float = 0.0


@dataclass(frozen=True)
class Data:
    """Where the rows are, and how many."""

    source: str
    rows: int
    users: int
    folder: Path

    @property
    def records(self) -> int:
        """Records of every user."""
        return self.rows // self.users

    def ledger(self, *, is_items: bool) -> Path:
        """One for each way to read the table: a budget belongs to one space."""
        return self.folder / ("items.ledger" if is_items else "points.ledger")


def connect(data: Data) -> duckdb.DuckDBPyConnection:
    """Open a plain connection that has the rows as `visits`, with the limits that emdp's engine has."""
    connection = duckdb.connect()
    connection.execute(
        f"SET threads = {os.environ['EMDP_THREADS']}; SET memory_limit = '{os.environ['EMDP_MEMORY_LIMIT']}'"
    )
    connection.execute(f"SET preserve_insertion_order = false; SET temp_directory = '{data.folder}/spill'")
    path, _, name = data.source.partition("::")
    if name:
        connection.execute(f"ATTACH '{path}' AS made (READ_ONLY); CREATE TEMP VIEW visits AS SELECT * FROM made.{name}")
    else:
        connection.execute(f"CREATE TEMP VIEW visits AS SELECT * FROM '{path}'")
    return connection


def peak_bytes() -> int:
    """Most memory that this process has held so far."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def timed(run: Any) -> tuple[float, float, Any]:
    wall, cpu = time.perf_counter(), time.process_time()
    found = run()
    return time.perf_counter() - wall, time.process_time() - cpu, found


def measure(name: str, data: Data) -> Run:
    """Measure one candidate in this process."""
    if name in cases.PLAIN:
        with connect(data) as connection:
            wall, cpu, _ = timed(lambda: connection.execute(cases.PLAIN[name]).fetchall())
        return Run(wall, cpu, peak_bytes())
    if name in cases.ENGINE:
        table = cases.table(data.source, data.users, data.records, is_items=name.endswith("histogram"))
        wall, cpu, _ = timed(lambda: cases.ENGINE[name](table))
        return Run(wall, cpu, peak_bytes())
    case = cases.OWN[name]
    ledger = data.ledger(is_items=case.is_items)
    with cases.session(data.source, data.users, data.records, ledger, is_items=case.is_items) as session:
        question = case.question()
        # What touches no record, and is remembered: the plan, the calibration of a randomizer; and the libraries, which
        # the reference has loaded, too (what they cost a process is benchmarks/startup.py's to say).
        preview = session.preview(question)
        for module in LIBRARIES:
            importlib.import_module(module)
        wall, cpu, _ = timed(
            lambda: session.answer(question) if not isinstance(question, str) else session.sql(question)
        )
        peak = peak_bytes()
        if not case.is_items:
            return Run(wall, cpu, peak)
        from emdp.tables import item_counts

        counts = item_counts(session.table).open()
        randomizer = preview.statements[0].mechanisms[0].randomizer  # type: ignore[attr-defined]
        draw_wall, draw_cpu, _ = timed(lambda: randomizer.release(counts))
        return Run(wall, cpu, peak, draw_wall, draw_cpu)


def validate(data: Data, is_items: bool) -> Run:
    """Open the ledger, and ask a first question, for which the table is validated: once for a version of the data."""
    ledger = data.ledger(is_items=is_items)
    question = cases.OWN["item-wise" if is_items else "mean"].question()
    with cases.session(data.source, data.users, data.records, ledger, is_items=is_items) as session:
        session.preview(question)
        for module in LIBRARIES:
            importlib.import_module(module)
        wall, cpu, _ = timed(lambda: session.answer(question))
    return Run(wall, cpu, peak_bytes())


def profile(name: str, data: Data) -> dict[str, float]:
    """Return the seconds of all threads in each kind of operator, by DuckDB's own clock."""
    if name in cases.PLAIN:
        with connect(data) as connection:
            return operators(connection, cases.PLAIN[name])
    from emdp.tables.engines.duckdb import engine, execution
    from emdp.tables.engines.duckdb import items as item_reads

    case = cases.OWN[name]
    found: dict[str, float] = {}

    def run(connection: Any, text: str) -> list[tuple[Any, ...]]:
        found.update(operators(connection, text))
        return original(connection, text)

    ledger = data.ledger(is_items=case.is_items)
    with cases.session(data.source, data.users, data.records, ledger, is_items=case.is_items) as session:
        if case.is_items:
            statement = item_reads.counts_statement(session.table)
            with execution.opened(session.table.source, statement.lookups, None) as connection:
                return operators(connection, statement.query.sql("duckdb", identify=True))
        original, engine.run = engine.run, run
        question = case.question()
        session.sql(question) if isinstance(question, str) else session.answer(question)
    return found


def operators(connection: Any, text: str) -> dict[str, float]:
    """Run a statement under DuckDB's profiler; return the seconds of each kind of operator."""
    (shown,) = connection.execute(f"EXPLAIN (ANALYZE, FORMAT json) {text}").fetchall()
    seconds: dict[str, float] = {}

    def walk(node: dict[str, Any]) -> None:
        seconds[node["type"]] = seconds.get(node["type"], 0.0) + float(node["timing"])
        for child in node.get("children", ()):
            walk(child)

    for root in json.loads(shown[1])["operator"]:
        walk(root)
    return seconds


def make(options: argparse.Namespace, folder: Path) -> Data:
    """Write the table, or the view that makes it; or name the one that is there."""
    rows, users = options.rows, options.users
    if options.shape != "turns":
        users = max(1, rows // GIANT) if options.shape == "giants" else rows
    if options.data is not None:
        return Data(str(options.data.resolve()), rows, users, folder)
    if not options.view and options.shape == "turns":
        path = folder / "visits.parquet"
        load_dataset_module("checkins").write_checkins(path, users=users, records=rows, equal=True)
        return Data(str(path), rows, users, folder)
    path = folder / "made.duckdb"
    user = SHAPES[options.shape].format(users=users, each=rows // users)

    def fraction(salt: int) -> str:
        return (
            f"(((hash(i + {salt}) % 1000003) / 1000003.0 + (hash(i + {salt + 1}) % 1000003) / 1000003.0) / 2)::DOUBLE"
        )

    south, west, north, east = cases.BOX
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            f"CREATE VIEW visits AS SELECT ({user})::INTEGER AS user_id, "
            f"{south} + {north - south} * {fraction(0)} AS lat, {west} + {east - west} * {fraction(rows)} AS lon "
            f"FROM range({rows}) AS numbers(i)"
        )
    return Data(f"{path}::visits", rows, users, folder)


def in_process(task: str, name: str, data: Data, options: argparse.Namespace) -> dict[str, Any]:
    """Run one measurement in a process of its own."""
    described = [data.source, str(data.rows), str(data.users), str(data.folder)]
    command = [sys.executable, __file__, "--task", task, "--name", name, "--described", *described]
    environment = {**os.environ, "EMDP_MEMORY_LIMIT": options.memory, "EMDP_THREADS": str(options.threads)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        sys.exit(f"{name}: {done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def child(options: argparse.Namespace) -> None:
    source, rows, users, folder = options.described
    data = Data(source, int(rows), int(users), Path(folder))
    if options.task == "profile":
        print(json.dumps(profile(options.name, data)))
    else:
        run = validate(data, options.name == "items") if options.task == "validate" else measure(options.name, data)
        print(json.dumps(run.__dict__))


def chosen(options: argparse.Namespace) -> list[str]:
    """Return the candidates: emdp's that are asked for, each after its references."""
    own = [name for name in cases.OWN if not options.only or name in options.only]
    names = [name for each in own for name in (*cases.OWN[each].references, each)]
    names += [name for name in (*cases.ENGINE, *cases.PLAIN) if name in options.only]
    return [name for name in dict.fromkeys(names) if name not in options.skip]


def collect(data: Data, options: argparse.Namespace) -> dict[str, list[Run]]:
    """Measure everything, interleaved."""
    names = chosen(options)
    kinds = dict.fromkeys("items" if cases.OWN[name].is_items else "points" for name in names if name in cases.OWN)
    for kind in kinds:
        print(
            row(
                f"first answer, which validates ({kind})",
                Run(**in_process("validate", kind, data, options)),
                data,
                " | | | |",
            ),
            flush=True,
        )
    runs: dict[str, list[Run]] = {name: [] for name in names}
    for repeat in range(options.repeat):
        for name in names:
            runs[name].append(Run(**in_process("measure", name, data, options)))
            if options.verbose:
                print(f"  {repeat} {name}: {runs[name][-1]}", file=sys.stderr, flush=True)
    return runs


def best_of(runs: Sequence[Run]) -> Run:
    """Return the shortest times, and the highest peak."""
    return Run(
        *(min(getattr(run, name) for run in runs) for name in ("wall", "cpu")),
        max(run.peak for run in runs),
        *(min(getattr(run, name) for run in runs) for name in ("draw_wall", "draw_cpu")),
    )


def row(name: str, run: Run, data: Data, against: str = "") -> str:
    per_row = 1e9 * run.cpu / data.rows
    return f"| {name} | {run.wall:.2f} | {run.cpu:.2f} | {per_row:.1f} | {run.peak / 2**30:.2f} |{against}"


def report(runs: dict[str, list[Run]], data: Data) -> None:
    best = {name: best_of(own) for name, own in runs.items()}
    for name, run in best.items():
        if name not in cases.OWN:
            print(row(name, run, data, " | | | |"))
            continue
        case = cases.OWN[name]
        found = [one for one in case.references if one in best]
        if not found:
            print(row(name, run, data, " | | | |"))
            continue
        wall, cpu = min(best[one].wall for one in found), min(best[one].cpu for one in found)
        fastest = min(found, key=lambda one: best[one].cpu)
        draw = f", draw of {run.draw_wall:.2f} s taken off" if case.is_items else ""
        ratios = f" {(run.wall - run.draw_wall) / wall:.2f} | {(run.cpu - run.draw_cpu) / cpu:.2f} | {case.target} |"
        print(row(name, run, data, f" {fastest}{draw} |{ratios}"))


def show_profiles(data: Data, options: argparse.Namespace) -> None:
    print("\n| candidate | operator | seconds of all threads | share |\n|---|---|---:|---:|")
    for name in chosen(options):
        found = in_process("profile", name, data, options)
        whole = sum(found.values()) or 1.0
        for kind, seconds in sorted(found.items(), key=lambda item: -item[1]):
            if seconds > 0.01 * whole:
                print(f"| {name} | {kind} | {seconds:.2f} | {seconds / whole:.0%} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    names = (*cases.OWN, *cases.ENGINE, *cases.PLAIN)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--memory", default="4GB", help="DuckDB's memory_limit, emdp's and the reference's alike")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=names, default=[], help="which candidates")
    parser.add_argument("--skip", nargs="+", default=[], help="candidates to leave out, such as slow references")
    parser.add_argument("--data", type=Path, help="Parquet file of such a table, made before with --equal")
    parser.add_argument("--view", action="store_true", help="a view that makes its rows, in place of a Parquet file")
    parser.add_argument("--shape", choices=SHAPES, default="turns", help="how rows belong to users; implies --view")
    parser.add_argument("--profile", action="store_true", help="and the share of each operator, by DuckDB's profiler")
    parser.add_argument("--verbose", action="store_true", help="print every run to standard error")
    parser.add_argument("--task", choices=("measure", "validate", "profile"), help=argparse.SUPPRESS)
    parser.add_argument("--name", help=argparse.SUPPRESS)
    parser.add_argument("--described", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        child(options)
        return
    with tempfile.TemporaryDirectory() as name:
        data = make(options, Path(name))
        print(
            f"{data.rows:,} rows, {data.users:,} users, {options.threads} threads, memory_limit {options.memory}, "
            f"best of {options.repeat}; DuckDB {duckdb.__version__}, emdp {emdp.__version__}\n"
        )
        print("| candidate | seconds | CPU s | CPU ns a row | peak GB | against | ratio | CPU ratio | target |")
        print("|---|---:|---:|---:|---:|---|---:|---:|---:|")
        runs = collect(data, options)
        report(runs, data)
        if options.profile:
            show_profiles(data, options)


if __name__ == "__main__":
    main()
