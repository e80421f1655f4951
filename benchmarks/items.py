"""Counts of records in a 32 x 32 grid against the plain DuckDB histogram of the same file: at most 1.3 times.

Run `python benchmarks/items.py` from the project's root (a minute on two cores, most of it the table; `--rows 1000000`
for a quick look). The reference, `plain`, is what somebody without emdp would write: two FLOORs and a GROUP BY, a fresh
connection, no rule for rows outside the box or missing. `item_counts` is the production path on a table that was
validated before: connection, statement, the `on_invalid` rule, an array of one count an item. Repetitions of all
candidates are interleaved and the best of each is taken. The other rows show what the further readings cost.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb

from emdp.resources import load_dataset_module
from emdp.spaces import Geo, Grid
from emdp.tables import Table, bag_blocks, item_counts, point_blocks, read

TARGET = 1.3
BOX = (40.48, -74.26, 40.92, -73.70)
SIDE = 32


def limit_threads(threads: int) -> None:
    """Give every DuckDB connection from now on so many threads, ours and emdp's alike, which has no such setting."""
    connect = duckdb.connect

    def limited(*arguments: Any, **named: Any) -> duckdb.DuckDBPyConnection:
        connection = connect(*arguments, **named)
        connection.execute(f"SET threads = {threads}")
        return connection

    duckdb.connect = limited


def plain(path: Path) -> Callable[[], Any]:
    """Return the plain histogram on a fresh connection."""
    south, west, north, east = BOX
    rows = f"floor((lat - {south}) / {(north - south) / SIDE:.6g})"
    columns = f"floor((lon - {west}) / {(east - west) / SIDE:.6g})"
    statement = f"SELECT {rows} AS i, {columns} AS j, count(*) FROM '{path}' GROUP BY i, j"

    def run() -> Any:
        with duckdb.connect() as connection:
            return connection.execute(statement).fetchall()

    return run


def drained(blocks: Callable[[], Iterator[Any]]) -> Callable[[], int]:
    """Return a run that takes every block and keeps none."""
    return lambda: sum(1 for _ in blocks())


def measure(candidates: dict[str, Callable[[], Any]], repeats: int) -> dict[str, tuple[float, float]]:
    """Return the best times of interleaved repetitions, by the clock and of all threads, after one not counted."""
    best = dict.fromkeys(candidates, (float("inf"), float("inf")))
    for repeat in range(repeats + 1):
        for name, run in candidates.items():
            wall, cpu = time.perf_counter(), time.process_time()
            run()
            took = time.perf_counter() - wall, time.process_time() - cpu
            if repeat:
                best[name] = min(best[name][0], took[0]), min(best[name][1], took[1])
    return best


def compare(path: Path, users: int, repeats: int) -> None:
    def table(rule: Any, public: Any, *, is_grid: bool = True) -> Table:
        inner = Geo("lat", "lon", BOX, on_invalid=rule)
        space = Grid(inner, (SIDE, SIDE)) if is_grid else inner
        return read(str(path), user="user_id", space=space, users=public, name="visits")

    counted, clamped = table("neutral", users), table("clamp", users)
    listed, points = table("neutral", list(range(1, users + 1))), table("neutral", users, is_grid=False)
    candidates: dict[str, Callable[[], Any]] = {
        "plain": plain(path),
        "item_counts": lambda: item_counts(counted),
        "item_counts, clamp": lambda: item_counts(clamped),
        "bag_blocks": drained(lambda: bag_blocks(counted).open()),
        "bag_blocks, users as a list": drained(lambda: bag_blocks(listed).open()),
        "point_blocks": drained(lambda: point_blocks(points).open()),
        "point_blocks by user": drained(lambda: point_blocks(points, by_user=True).open()),
        "validate": counted.validate,
    }
    best = measure(candidates, repeats)
    print("| candidate | seconds | CPU seconds | ratio | CPU ratio |")
    print("|---|---:|---:|---:|---:|")
    reference = best["plain"]
    for name, (wall, cpu) in best.items():
        print(f"| {name} | {wall:.3f} | {cpu:.3f} | {wall / reference[0]:.2f} | {cpu / reference[1]:.2f} |")
    ratio = best["item_counts"][0] / reference[0]
    print(f"\nratio of item_counts to plain: {ratio:.2f} (target: at most {TARGET})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--dirty", type=float, default=0.0, help="share of rows that are wrong")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--data", type=Path, help="Parquet file of such a table, made before; default: a new one")
    options = parser.parse_args()
    limit_threads(options.threads)
    with tempfile.TemporaryDirectory() as name:
        path = options.data or Path(name) / "visits.parquet"
        if options.data is None:
            load_dataset_module("checkins").write_checkins(
                path, users=options.users, records=options.rows, dirty=options.dirty
            )
        print(f"{options.threads} threads, best of {options.repeats}; DuckDB {duckdb.__version__}\n")
        compare(path, options.users, options.repeats)


if __name__ == "__main__":
    main()
