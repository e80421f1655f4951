"""Growth: what a row costs as rows, users and cells grow, in CPU and memory, and what 100 machines take for 1e11 rows.

Run `python benchmarks/growth.py` from the project's root (an hour; `--less 100` takes some minutes at a hundredth of
the sizes). Every run is a process of its own: benchmarks/scale.py's for the kinds of answer, over a view that makes its
rows, and benchmarks/frequencies_scale.py's for maps of few and many cells. What came out stands in docs/scale.md.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import frequencies_scale
import scale
import scale_cases as cases

MACHINES, MOST_ROWS = 100, 10**11
"""A cluster to reckon with, and its table."""

MAPS = ("central", "local hadamard")
"""Cases of frequencies_scale.py."""


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


TABLES = {"rows": by_rows, "users": by_users, "cells": by_cells}


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
    options = parser.parse_args()
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
