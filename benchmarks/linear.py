"""The linear query against the plain two-level DuckDB statement, in one run: the ratio should be at most 1.15.

Run `python benchmarks/linear.py` from the project's root (five minutes on two cores; `--rows 1000000` for a quick
look). What is compared, and what the ratio means, stands in benchmarks/README.md. Repetitions of all candidates are
interleaved and the best of each is taken, so that what else the machine does hits them alike.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

import emdp
from emdp.resources import load_dataset_module
from emdp.tables import mean_of_user_means

TARGET = 1.15
MIDTOWN = (40.7484, -73.9857)
KM = emdp.distance_to(MIDTOWN)
RAMPS = [emdp.ramp(KM, 2, 1), emdp.ramp(KM, 6, 5)]
ALPHA = 1.0

# The haversine distance as one writes it: with squares as products, which is the faster way, and as powers.
PRODUCTS = """2 * 6371.0088 * asin(sqrt(
    sin(radians(lat - 40.7484) / 2) * sin(radians(lat - 40.7484) / 2) + cos(radians(lat)) * cos(radians(40.7484))
    * sin(radians(lon + 73.9857) / 2) * sin(radians(lon + 73.9857) / 2)))"""
POWERS = """2 * 6371.0088 * asin(sqrt(
    pow(sin(radians(lat - 40.7484) / 2), 2)
    + cos(radians(lat)) * cos(radians(40.7484)) * pow(sin(radians(lon + 73.9857) / 2), 2)))"""


@dataclass(frozen=True)
class Candidate:
    """One way to an answer, and the plain one whose time it is divided by."""

    name: str
    run: Callable[[], Any]
    reference: str


@dataclass(frozen=True)
class Best:
    """Shortest times of a candidate in seconds: by the clock, and of all threads together."""

    wall: float
    cpu: float


def limit_threads(threads: int) -> None:
    """Give every DuckDB connection from now on so many threads, ours and emdp's alike, which has no such setting."""
    connect = duckdb.connect

    def limited(*arguments: Any, **named: Any) -> duckdb.DuckDBPyConnection:
        connection = connect(*arguments, **named)
        connection.execute(f"SET threads = {threads}")
        return connection

    duckdb.connect = limited


def plain(relation: str, *values: str, frame: Any = None) -> Callable[[], Any]:
    """Return the plain two-level statement on a fresh connection: mean of user means, no rule for invalid rows."""
    inner = ", ".join(f"avg({value}) AS mean_{index}" for index, value in enumerate(values))
    outer = ", ".join(f"avg(mean_{index})" for index in range(len(values)))
    statement = f"SELECT {outer} FROM (SELECT {inner} FROM {relation} GROUP BY user_id)"

    def run() -> Any:
        with duckdb.connect() as connection:
            if frame is not None:
                connection.register(relation, frame)
            return connection.execute(statement).fetchall()

    return run


def measure(candidates: list[Candidate], repeats: int) -> dict[str, Best]:
    """Return the best times of interleaved repetitions, after one that is not counted."""
    best = {candidate.name: Best(float("inf"), float("inf")) for candidate in candidates}
    for repeat in range(repeats + 1):
        for candidate in candidates:
            wall, cpu = time.perf_counter(), time.process_time()
            candidate.run()
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            old = best[candidate.name]
            if repeat:
                best[candidate.name] = Best(min(old.wall, wall), min(old.cpu, cpu))
    return best


@contextmanager
def opened(source: Any, users: Any, ledger: Path) -> Iterator[emdp.Session]:
    """Open a session on the table, validated."""
    # The ledger as a session uses it: on disk, flushed at every charge.
    space = emdp.Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), unit="km", on_invalid="clamp")
    table = emdp.read(source, user="user_id", space=space, users=users, name="visits")
    with emdp.Session(table, budget=emdp.EmdDP(alpha=1e6), ledger=ledger) as session:
        session.mean(KM, alpha=ALPHA)
        yield session


def compare(path: Path, users: int, options: argparse.Namespace, folder: Path) -> None:
    frame = pl.read_parquet(path, columns=["user_id", "lat", "lon"])
    listed = list(range(1, users + 1))
    far = f"'{path}'"
    ramps = [f"least(greatest(({PRODUCTS} - {a}) / -1, 0), 1)" for a in (2, 6)]
    with (
        opened(path, users, folder / "count.ledger") as counted,
        opened(path, listed, folder / "list.ledger") as named,
        opened(frame, users, folder / "frame.ledger") as framed,
    ):
        candidates = [
            Candidate("plain", plain(far, PRODUCTS), "plain"),
            Candidate("plain, squares as pow(x, 2)", plain(far, POWERS), "plain"),
            Candidate("session.mean", lambda: counted.mean(KM, alpha=ALPHA), "plain"),
            Candidate("engine alone", lambda: mean_of_user_means(counted.table, [KM]), "plain"),
            Candidate("session.mean, users as a list", lambda: named.mean(KM, alpha=ALPHA), "plain"),
            Candidate("plain, two ramps", plain(far, *ramps), "plain, two ramps"),
            Candidate(
                "session.vector_mean, two ramps", lambda: counted.vector_mean(RAMPS, alpha=ALPHA), "plain, two ramps"
            ),
            Candidate("plain, Polars frame", plain("visits", PRODUCTS, frame=frame), "plain, Polars frame"),
            Candidate("session.mean, Polars frame", lambda: framed.mean(KM, alpha=ALPHA), "plain, Polars frame"),
            Candidate("validate, users as a count", counted.table.validate, "plain"),
            Candidate("validate, users as a list", named.table.validate, "plain"),
        ]
        best = measure(candidates, options.repeats)
    report(candidates, best)


def report(candidates: list[Candidate], best: dict[str, Best]) -> None:
    print("| candidate | seconds | CPU seconds | against | ratio | CPU ratio |")
    print("|---|---:|---:|---|---:|---:|")
    for candidate in candidates:
        own, reference = best[candidate.name], best[candidate.reference]
        print(
            f"| {candidate.name} | {own.wall:.3f} | {own.cpu:.3f} | {candidate.reference} |"
            f" {own.wall / reference.wall:.2f} | {own.cpu / reference.cpu:.2f} |"
        )
    ratio = best["session.mean"].wall / best["plain"].wall
    print(f"\nratio of session.mean to plain: {ratio:.2f} (target: at most {TARGET})")


def fixed_cost(folder: Path, repeats: int) -> None:
    """Print what an answer costs however small the table is: plan, ledger, connection."""
    path = folder / "small.parquet"
    load_dataset_module("checkins").write_checkins(path, users=100, records=1000)
    with opened(path, 100, folder / "small.ledger") as session:
        candidates = [
            Candidate("plain", plain(f"'{path}'", PRODUCTS), "plain"),
            Candidate("session.mean", lambda: session.mean(KM, alpha=ALPHA), "plain"),
            Candidate("engine alone", lambda: mean_of_user_means(session.table, [KM]), "plain"),
        ]
        best = measure(candidates, max(repeats, 20))
    shown = ", ".join(f"{name} {1e3 * times.wall:.1f} ms (CPU {1e3 * times.cpu:.1f})" for name, times in best.items())
    print(f"fixed cost, on 1,000 rows: {shown}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--dirty", type=float, default=0.002, help="share of rows that are wrong")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--data", type=Path, help="Parquet file of such a table, made before; default: a new one")
    options = parser.parse_args()
    limit_threads(options.threads)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = options.data or folder / "visits.parquet"
        if options.data is None:
            load_dataset_module("checkins").write_checkins(
                path, users=options.users, records=options.rows, dirty=options.dirty
            )
        rows = pl.scan_parquet(path).select(pl.len()).collect().item()
        print(
            f"{rows:,} rows, {options.users:,} users, {options.threads} threads, best of {options.repeats}; "
            f"DuckDB {duckdb.__version__}\n"
        )
        compare(path, options.users, options, folder)
        fixed_cost(folder, options.repeats)


if __name__ == "__main__":
    main()
