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
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
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
FOUND = "WITH USER_PRIVACY OPTIONS (epsilon = 1, delta = 1e-9, max_groups_per_user = 3)"
ZONES = [f"z{number}" for number in range(8)]

KINDS: dict[str, tuple[str, Callable[[], Any]]] = {
    "variance": ("points", lambda: f"SELECT {NEAR} VARIANCE({DISTANCE}) AS v FROM visits"),
    "share of a ramp": ("points", lambda: f"SELECT {NEAR} AVG(RAMP({DISTANCE}, 6, 5)) AS v FROM visits"),
    "count with a cap": ("points", lambda: f"SELECT {CAPPED} COUNT(*) AS n FROM visits"),
    "sum with a cap": ("points", lambda: f"SELECT {CAPPED} SUM({DISTANCE}) AS s FROM visits"),
    "total of 8 groups": ("zones", lambda: f"SELECT {CAPPED} zone, SUM(spent) AS s FROM visits GROUP BY zone"),
    "groups nobody listed": (
        "zones",
        lambda: f"SELECT {FOUND} note, COUNT(DISTINCT user_id) AS n FROM visits GROUP BY note",
    ),
    "quantile of records": ("zones", lambda: f"SELECT {CAPPED} QUANTILE(spent, 0.5) AS q FROM visits"),
    "different values": ("zones", lambda: f"SELECT {USER} COUNT(DISTINCT note) AS n FROM visits"),
    "count of users": ("points", lambda: f"SELECT {USER} COUNT(DISTINCT user_id) AS n FROM visits"),
    "measure": ("points", lambda: emdp.measure(alpha=5.0, name="m")),
    "frequencies": ("points", lambda: emdp.frequencies(cases.CELL_KM, alpha=1.0)),
    "quantiles": ("points", cases.OWN["quantiles"].question),
    "item-wise": ("items", cases.OWN["item-wise"].question),
    "item-wise points": (
        "points",
        lambda: emdp.itemwise(emdp.randomizers.PlanarLaplace(cases.space(), 20.0), delta=1e-9),
    ),
    "local frequencies": ("items", lambda: emdp.frequencies(epsilon=1.0, model="local", method="hadamard")),
    "mean, mixed messages": (
        "points",
        lambda: emdp.mean(emdp.distance_to(cases.MIDTOWN), epsilon=1.0, delta=1e-9, model="shuffle"),
    ),
    "mean": ("points", cases.OWN["mean"].question),
}
"""Kinds of answer whose first one over new data is measured, rules checked: how the table is read, and what is asked.

`zones` has beside the place a listed zone, an amount, and a note of 1,000 that nobody listed.
"""

CHEAP = ("mean", "frequencies", "total of 8 groups")
"""Kinds that are measured at a hundred million rows, too; the first also at a billion."""


def read(reading: str, data: scale.Data, folder: Path) -> emdp.Table:
    """Return the table as a kind of answer reads it."""
    if reading != "zones":
        return cases.table(data.source, data.users, data.records, is_items=reading == "items")
    with duckdb.connect(str(folder / "made.duckdb")) as connection:
        connection.execute(
            "CREATE VIEW zones AS SELECT *, 'z' || (hash(lat) % 8) AS zone, (hash(lon) % 10007) / 100.0 AS spent, "
            "'note ' || (hash(lat, lon) % 1000) AS note FROM visits"
        )
    space = emdp.Product(emdp.Categories("zone", ZONES), emdp.Interval("spent", 0, 101))
    return emdp.read(f"{folder / 'made.duckdb'}::zones", user="user_id", space=space, users=data.users, name="visits")


def first_of(name: str, rows: int, users: int) -> scale.Run:
    """Measure a kind's first answer over new data in this process."""
    wanted = argparse.Namespace(data=None, view=True, rows=rows, users=users, shape="turns")
    reading, make = KINDS[name]
    by_items = reading == "items" or name == "item-wise points"
    budget = (emdp.EmdDP(1e6, 1e-3, sizes="bounded" if by_items else "unbounded"), emdp.UserDP(1e3, 1e-2))
    with tempfile.TemporaryDirectory() as folder:
        table = read(reading, scale.make(wanted, Path(folder)), Path(folder))
        if name == "item-wise points":
            table = replace(table, records=rows // users)
        with emdp.Session(table, budget=budget, ledger=Path(folder) / "growth.ledger") as session:
            question = make()
            session.preview(question)
            wall, cpu, _ = scale.timed(
                lambda: session.sql(question) if isinstance(question, str) else session.answer(question)
            )
    return scale.Run(wall, cpu, scale.peak_bytes())


def first_in_process(name: str, rows: int, users: int, options: argparse.Namespace) -> scale.Run:
    """Measure it in a process of its own."""
    environment = {**os.environ, "EMDP_MEMORY_LIMIT": options.memory, "EMDP_THREADS": str(options.threads)}
    command = [sys.executable, __file__, "--first", name, str(rows), str(min(users, rows))]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    if done.returncode:
        sys.exit(f"{name}: {done.stderr}")
    return scale.Run(**json.loads(done.stdout))


def by_kind(folder: Path, options: argparse.Namespace) -> None:
    """Print the first answer of each kind at growing numbers of rows of 10,000 users, and what a cluster would take."""
    most = 10**7 // options.less
    sizes = (most // 100, most // 10, most)
    heads = [f"ns a row of {rows:,}" for rows in sizes]
    print(f"\n| first answer | {' | '.join(heads)} | each further row, ns | MB | {MOST_ROWS:.0e} rows |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name in options.kinds:
        runs = [first_in_process(name, rows, 10**4, options) for rows in sizes]
        each = (runs[-1].cpu - runs[-2].cpu) / (sizes[-1] - sizes[-2])
        nanoseconds = [f"{1e9 * run.cpu / rows:.0f}" for run, rows in zip(runs, sizes, strict=True)]
        peaks = sorted(run.peak / 2**20 for run in runs)
        seconds = each * MOST_ROWS / (MACHINES * options.threads)
        print(
            f"| {name} | {' | '.join(nanoseconds)} | {1e9 * each:.0f} | {peaks[0]:.0f} to {peaks[-1]:.0f} | "
            f"{seconds:.0f} s |",
            flush=True,
        )


def by_size(folder: Path, options: argparse.Namespace) -> None:
    """Print cheap kinds over ten, a hundred and, one of them, a thousand million rows of 100,000 users."""
    print("\n| first answer | rows | seconds | CPU s | CPU ns a row | peak MB |\n|---|---:|---:|---:|---:|---:|")
    sizes = [(name, rows // options.less) for rows in (10**7, 10**8) for name in CHEAP] + [
        (CHEAP[0], 10**9 // options.less)
    ]
    for name, rows in sizes:
        if name in options.kinds:
            print(line(name, rows, first_in_process(name, rows, 10**5, options), rows), flush=True)


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
    """Print each kind's first answer at growing numbers of users over the same number of rows."""
    rows = 10**7 // options.less
    heads = [f"{users:,} users" for users in options.users]
    print(f"\n{rows:,} rows: CPU seconds, peak MB\n\n| first answer | {' | '.join(heads)} |")
    print(f"|---|{'---:|' * len(heads)}")
    for name in options.kinds:
        runs = [first_in_process(name, rows, users, options) for users in options.users]
        print(f"| {name} | {' | '.join(f'{run.cpu:.2f}, {run.peak / 2**20:.0f}' for run in runs)} |", flush=True)


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


TABLES = {"rows": by_rows, "users": by_users, "cells": by_cells, "kinds": by_kind, "sizes": by_size}


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
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS), help="of kinds, users and sizes")
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
    options.users = [count for count in (10**4, 10**5, 10**6, 10**7) if count <= 10**7 // less]
    options.mapped = 10**7 // less
    options.sides = [10, 32, 100, 316, 1000]
    for table in options.tables:
        with tempfile.TemporaryDirectory() as name:
            TABLES[table](Path(name), options)


if __name__ == "__main__":
    main()
