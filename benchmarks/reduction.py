"""Sampling 1,000 records for each of 100,000 users out of ten million: time and peak memory of the whole release.

Run `python benchmarks/reduction.py` from the project's root (a minute on two cores). Users have long-tailed numbers of
records, one in fifty none. The release includes what the engine reads, the sampling with replacement, and the draw;
the calibration of the randomizer is shown apart. **It should take less than 10 s.**
"""

import argparse
import resource
import tempfile
import time
from pathlib import Path

import duckdb

import emdp
from emdp.resources import load_dataset_module

SAMPLES, SIDE, R = 1000, 16, 0.01


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    made = load_dataset_module("checkins")
    box = made.city_box()
    grid = emdp.Grid(emdp.Geo("lat", "lon", box=box, unit="km", on_invalid="clamp"), (SIDE, SIDE))
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "checkins.parquet"
        made.write_checkins(path, users=options.users, records=options.rows)
        table = emdp.read(path, user="user_id", users=options.users, space=grid)
        table.validate()
        budget = emdp.DiscreteEmdDP(1000.0, 1e-6, r=R)
        query = emdp.itemwise(
            emdp.randomizers.Exponential, epsilon=1.0, delta=1e-9, sizes=emdp.BoundedReduction(samples=SAMPLES, r=R)
        )
        with emdp.Session(table, budget=budget, ledger=Path(name) / "x.ledger") as session:
            start = time.perf_counter()
            session.preview(query)
            print(f"calibration: {time.perf_counter() - start:.2f} s")
            times = []
            for _ in range(options.rounds):
                start = time.perf_counter()
                session.answer(query)
                times.append(time.perf_counter() - start)
        plain = f"SELECT user_id, floor(lat * 100), floor(lon * 100), count(*) FROM '{path}' GROUP BY ALL"
        start = time.perf_counter()
        duckdb.connect().execute(f"SELECT count(*) FROM ({plain})").fetchall()
        reference = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"release: best of {options.rounds} {min(times):.2f} s (target 10), peak memory of the process {peak:.2f} GB")
    print(f"plain DuckDB histograms of every user: {reference:.2f} s; ratio {min(times) / reference:.2f}")


if __name__ == "__main__":
    main()
