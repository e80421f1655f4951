"""The theory's running example: 100,000 users with 1,000 points each, alpha = 25, delta = 1e-12, over 32 x 32 cells.

Run `python benchmarks/itemwise.py` from the project's root (some six minutes on two cores, 2 GB of disk; `--rows
10000000` for a quick look). It prints the `alpha0` that every accountant allows, and then times an item-wise release
of all records beside the plain DuckDB histogram of the same file: what the engine reads should take at most 1.3 times
as long, and the draw, a million binomials, is shown apart. The records are read once before, by `validate`.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

import emdp
from emdp.privacy import shuffle_alpha0_bounds
from emdp.resources import load_dataset_module
from emdp.spaces import finite_items
from emdp.tables import item_counts

TARGET = 1.3
ALPHA, DELTA, SIDE = 25.0, 1e-12, 32

PLAIN = """
SELECT least(floor((lat - {south}) / {height}), {last})::INTEGER AS row,
       least(floor((lon - {west}) / {width}), {last})::INTEGER AS col, count(*)
FROM '{path}' GROUP BY ALL
"""


def accountants(users: int, records: int) -> None:
    """Print the strength that every accountant allows."""
    print(f"alpha0 for alpha = {ALPHA:g}, delta = {DELTA:g}, {users:,} users with {records:,} records each")
    for title, w_min in (("any space", 0.0), ("0/1 distances", 1.0)):
        start = time.perf_counter()
        bounds = shuffle_alpha0_bounds(ALPHA, records, users * records, DELTA, w_min)
        seconds = time.perf_counter() - start
        shown = ", ".join(f"{bound.method} {bound.alpha0:.5g}" for bound in bounds if bound.alpha0 is not None)
        print(f"  {title}: {shown} ({seconds:.2f} s)")


def best_of(run: Callable[[], Any], rounds: int) -> float:
    """Return the shortest of some times, in seconds."""
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


def release(path: Path, users: int, records: int, rounds: int, folder: Path) -> None:
    """Time the release beside the plain histogram."""
    south, west, north, east = load_dataset_module("checkins").city_box()
    grid = emdp.Grid(
        emdp.Geo("lat", "lon", box=(south, west, north, east), unit="km", on_invalid="clamp"), (SIDE, SIDE)
    )
    table = emdp.read(path, user="user_id", users=users, records=records, space=grid)
    sides = {"height": (north - south) / SIDE, "width": (east - west) / SIDE, "last": SIDE - 1}
    statement = PLAIN.format(south=south, west=west, path=path, **sides)

    def plain() -> None:
        duckdb.connect().execute(statement).fetchall()

    start = time.perf_counter()
    table.validate()
    print(f"validate, once a data version: {time.perf_counter() - start:.2f} s")
    times = {"plain": float("inf"), "read": float("inf")}
    for _ in range(rounds):
        times["plain"] = min(times["plain"], best_of(plain, 1))
        times["read"] = min(times["read"], best_of(lambda: item_counts(table), 1))
    ratio = times["read"] / times["plain"]
    print(f"plain histogram {times['plain']:.2f} s, emdp's {times['read']:.2f} s: {ratio:.2f} (target {TARGET})")
    session = emdp.Session(table, budget=emdp.EmdDP(1000 * ALPHA, 1e-6, sizes="bounded"), ledger=folder / "x.ledger")
    query = emdp.itemwise(emdp.randomizers.Exponential, alpha=ALPHA, delta=DELTA)
    start = time.perf_counter()
    preview = session.preview(query)
    print(f"preview (calibration of the randomizer): {time.perf_counter() - start:.2f} s")
    print(preview.statements[0].choice)
    session.answer(query)
    counts = item_counts(table).open()
    randomizer = preview.statements[0].mechanisms[0].randomizer  # type: ignore[attr-defined]
    draw = best_of(lambda: randomizer.release(counts), rounds)
    cells = len(finite_items(grid))  # type: ignore[arg-type]
    print(f"draw of {cells} x {cells} multinomials for {counts.sum():,} records: {draw:.2f} s")
    start = time.perf_counter()
    answer = session.answer(query)
    whole = time.perf_counter() - start
    print(f"session.itemwise in all, priced again: {whole:.2f} s, {whole / times['plain']:.2f} plain histograms")
    print(answer.frame.sort("frequency", descending=True).head(3))


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--file", type=Path, default=None, help="a table that emdp generate checkins --equal has made")
    options = parser.parse_args()
    records = options.rows // options.users
    accountants(options.users, records)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = options.file or folder / "checkins.parquet"
        if options.file is None:
            made = load_dataset_module("checkins")
            made.write_checkins(path, users=options.users, records=options.users * records, equal=True)
        release(path, options.users, records, options.rounds, folder)


if __name__ == "__main__":
    main()
