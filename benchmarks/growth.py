"""Growth: what a row costs as rows, users and cells grow, in CPU and memory, and what 100 machines take for 1e11 rows.

Run `python benchmarks/growth.py` from the project's root (an hour; `--less 100` takes some minutes at a hundredth of
the sizes). Every run is a process of its own: benchmarks/scale.py's for the kinds of answer, over a view that makes its
rows, and benchmarks/frequencies_scale.py's for maps of few and many cells. What came out stands in docs/scale.md.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import frequencies_scale
import scale
import scale_cases as cases

import emdp

MACHINES, MOST_ROWS = 100, 10**11
"""A cluster to reckon with, and its table."""

MAPS = ("central", "local hadamard")
"""Cases of frequencies_scale.py."""

DISTANCE = f"DISTANCE(POINT({cases.MIDTOWN[0]}, {cases.MIDTOWN[1]}))"
NEAR = "WITH EMD_PRIVACY OPTIONS (alpha = 1)"
USER = "WITH USER_PRIVACY OPTIONS (epsilon = 1, delta = 1e-9)"
CAPPED = "WITH USER_PRIVACY OPTIONS (epsilon = 1, delta = 1e-9, max_records_per_user = 100)"

KINDS: dict[str, str] = {
    "variance": f"SELECT {NEAR} VARIANCE({DISTANCE}) AS v FROM visits",
    "share": f"SELECT {NEAR} AVG(RAMP({DISTANCE}, 6, 5)) AS v FROM visits",
    "count with a cap": f"SELECT {CAPPED} COUNT(*) AS n FROM visits",
    "sum with a cap": f"SELECT {CAPPED} SUM({DISTANCE}) AS s FROM visits",
    "count of users": f"SELECT {USER} COUNT(DISTINCT user_id) AS n FROM visits",
    "measure": "measure",
    "frequencies": "frequencies",
    "quantiles": "quantiles",
    "mean, mixed messages": "mixed",
    "mean": "mean",
}
"""Kinds of answer whose first one over new data is measured, rules checked: SQL, or a question of `ASKED`."""

ASKED = {
    "measure": lambda: emdp.measure(alpha=5.0, name="m"),
    "frequencies": lambda: emdp.frequencies(cases.CELL_KM, alpha=1.0),
    "quantiles": cases.OWN["quantiles"].question,
    "mixed": lambda: emdp.mean(emdp.distance_to(cases.MIDTOWN), epsilon=1.0, delta=1e-9, model="shuffle"),
    "mean": cases.OWN["mean"].question,
}


def first_of(name: str, rows: int, users: int) -> scale.Run:
    """Measure a kind's first answer over new data in this process."""
    wanted = argparse.Namespace(data=None, view=True, rows=rows, users=users, shape="turns")
    budget = (emdp.EmdDP(alpha=1e6, delta=1e-3), emdp.UserDP(1e3, 1e-2))
    with tempfile.TemporaryDirectory() as folder:
        data = scale.make(wanted, Path(folder))
        table = cases.table(data.source, data.users, data.records, is_items=False)
        with emdp.Session(table, budget=budget, ledger=Path(folder) / "growth.ledger") as session:
            text = KINDS[name]
            question = ASKED[text]() if text in ASKED else text
            session.preview(question)
            wall, cpu, _ = scale.timed(
                lambda: session.sql(question) if isinstance(question, str) else session.answer(question)
            )
    return scale.Run(wall, cpu, scale.peak_bytes())


def by_kind(folder: Path, options: argparse.Namespace) -> None:
    """Print the first answer of each kind at growing numbers of rows, and of users over as many rows."""
    environment = {**os.environ, "EMDP_MEMORY_LIMIT": options.memory, "EMDP_THREADS": str(options.threads)}
    most = 10**7 // options.less
    sizes = [(rows, 10**4) for rows in (most // 100, most // 10, most)]
    sizes += [(most // 10, users) for users in (10**4, 10**5, 10**6) if users <= most // 10]
    print("\n| answer | rows | users | CPU s | CPU ns a row | peak MB |\n|---|---:|---:|---:|---:|---:|")
    for name in KINDS:
        for rows, users in sizes:
            command = [sys.executable, __file__, "--first", name, str(rows), str(min(users, rows))]
            done = subprocess.run(command, check=True, capture_output=True, env=environment)
            run = scale.Run(**json.loads(done.stdout))
            print(
                f"| {name} | {rows:,} | {min(users, rows):,} | {run.cpu:.2f} | {1e9 * run.cpu / rows:.0f} | "
                f"{run.peak / 2**20:.0f} |",
                flush=True,
            )


def measured(name: str, rows: int, users: int, folder: Path, options: argparse.Namespace) -> scale.Run:
    """Measure one kind of answer over so many rows of so many users, which were checked before."""
    wanted = argparse.Namespace(data=None, view=True, rows=rows, users=users, shape="turns")
    wanted.memory, wanted.threads = options.memory, options.threads
    for path in folder.glob("*"):
        path.unlink()
    data = scale.make(wanted, folder)
    scale.in_process("validate", "items" if cases.OWN[name].is_items else "points", data, wanted)
    return scale.best_of([scale.Run(**scale.in_process("measure", name, data, wanted)) for _ in range(options.repeat)])


def by_rows(folder: Path, options: argparse.Namespace) -> None:
    """Print each kind of answer at growing numbers of rows, and what the cost of a row at the largest comes to."""
    print("\n| answer | rows | seconds | CPU s | CPU ns a row | peak MB |\n|---|---:|---:|---:|---:|---:|")
    last: dict[str, float] = {}
    for name in cases.OWN:
        for rows in options.rows:
            run = measured(name, rows, min(options.people, rows), folder, options)
            last[name] = run.cpu / rows
            print(line(name, rows, run, rows), flush=True)
    print(f"\n{MOST_ROWS:.0e} rows on {MACHINES} machines of {options.threads} cores, by the last cost of a row:")
    for name, cost in last.items():
        print(f"- {name}: {cost * MOST_ROWS / (MACHINES * options.threads) / 60:.1f} minutes")


def by_users(folder: Path, options: argparse.Namespace) -> None:
    """Print each kind of answer at growing numbers of users over the same number of rows."""
    rows = max(options.rows)
    print(f"\n{rows:,} rows\n\n| answer | users | seconds | CPU s | CPU ns a row | peak MB |")
    print("|---|---:|---:|---:|---:|---:|")
    for name in ("mean", "frequencies", "quantiles"):
        for users in options.users:
            print(
                line(name, users, measured(name, rows, users, folder, options), rows),
                flush=True,
            )


def by_cells(folder: Path, options: argparse.Namespace) -> None:
    """Print maps of growing numbers of cells, of users with one record each."""
    users = options.mapped
    path = folder / "places.parquet"
    frequencies_scale.make(path, users, max(options.sides))
    print(f"\n{users:,} users with one record\n\n| map | cells | seconds | CPU s | over plain GROUP BY | peak MB |")
    print("|---|---:|---:|---:|---:|---:|")
    for side in options.sides:
        words = ["--users", str(users), "--side", str(side), "--data", str(path)]
        found = {}
        for case in ("plain", *MAPS):
            command = [
                sys.executable,
                frequencies_scale.__file__,
                *words,
                "--case",
                case,
            ]
            found[case] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        for case in MAPS:
            own = found[case]
            ratio = own["seconds"] / found["plain"]["seconds"]
            megabytes = own["bytes"] / 2**20
            print(
                f"| {case} | {side * side:,} | {own['seconds']:.2f} | {own['work']:.2f} | {ratio:.1f} | "
                f"{megabytes:.0f} |",
                flush=True,
            )


TABLES = {"rows": by_rows, "users": by_users, "cells": by_cells, "kinds": by_kind}


def line(name: str, size: int, run: scale.Run, rows: int) -> str:
    """Return a row of a table."""
    return (
        f"| {name} | {size:,} | {run.wall:.2f} | {run.cpu:.2f} | {1e9 * run.cpu / rows:.1f} | {run.peak / 2**20:.0f} |"
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--less",
        type=int,
        default=1,
        help="a divisor of all sizes, 10 or 100 for a quick look",
    )
    parser.add_argument(
        "--tables",
        nargs="+",
        choices=TABLES,
        default=list(TABLES),
        help="which; all by default",
    )
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--memory", default="4GB")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--first", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.first:
        name, rows, users = options.first
        print(json.dumps(first_of(name, int(rows), int(users)).__dict__))
        return
    less = options.less
    options.rows, options.people = [10**7 // less, 10**8 // less], 100_000 // less
    options.users = [count for count in (10**4, 10**5, 10**6, 10**7) if count <= max(options.rows)]
    options.mapped = 10**7 // less
    options.sides = [10, 32, 100, 316, 1000]
    for table in options.tables:
        with tempfile.TemporaryDirectory() as name:
            TABLES[table](Path(name), options)


if __name__ == "__main__":
    main()
