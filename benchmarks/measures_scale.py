"""How a private measure scales: the fit on many places, and the scan of many rows.

    python benchmarks/measures_scale.py --places 1000000 --nodes 40000   # seconds and memory of the fit
    python benchmarks/measures_scale.py --rows 10000000                  # seconds of one release on DuckDB
    python benchmarks/measures_scale.py --session 1000000                # a session's fit on so many places

The fit is `fit_measure` on a square grid, of two towns with noise on edges, and 200 steps; sessions fit up to 60,000
places, or a million where a resolution is asked for. The rows are of a table that is made here: 100,000 users, places
spread over New York's box; the time is that of `session.measure`, with the check of the table's rules, which reads it
once more, shown apart. A release reads the table in one scan, and what comes back is a row a cell that has records.
"""

import argparse
import math
import resource
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np

import emdp
from emdp.transport.fit import FitAxis, fit_measure

USERS = 100_000
BOX = (40.48, -74.26, 40.92, -73.70)


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--places", type=float, default=0)
    parser.add_argument("--nodes", type=float, default=40_000)
    parser.add_argument("--rows", type=float, default=0)
    parser.add_argument("--session", type=float, default=0)
    parser.add_argument("--at", type=Path, help="file of the rows, kept, and read again if it is there")
    wanted = parser.parse_args()
    if wanted.places:
        fit(math.isqrt(int(wanted.places)), math.isqrt(int(wanted.nodes)))
    if wanted.session:
        with tempfile.TemporaryDirectory() as folder:
            fine(wanted.session, Path(folder))
    if wanted.rows:
        with tempfile.TemporaryDirectory() as folder:
            scan(int(wanted.rows), wanted.at or Path(folder) / "rows.parquet", Path(folder))


def fit(side: int, nodes: int) -> None:
    """Print seconds and memory of a fit on `side x side` places at `nodes x nodes` nodes."""
    rng = np.random.default_rng(1)
    places = np.linspace(0, nodes - 1, side)
    weights = np.maximum(0.0, 1.0 - np.abs(np.arange(nodes)[:, None] - places))
    one, other = (np.exp(-0.5 * ((places - at * nodes) / (0.03 * nodes)) ** 2) for at in (0.3, 0.7))
    truth = np.outer(one, one) + np.outer(other, other)
    scale = 1e-6
    released = weights @ (truth / truth.sum()) @ weights.T
    for axis in (0, 1):
        drawn = rng.laplace(scale=scale, size=[nodes - (place == axis) for place in (0, 1)])
        released -= np.diff(drawn, axis=axis, prepend=0, append=0)
    start = time.perf_counter()
    found = fit_measure(released.ravel(), [FitAxis(weights, "path", 2 * scale**2)] * 2, steps=200)
    seconds, peak = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{side**2} places, {nodes**2} nodes, 200 steps: {seconds:.1f} s, {peak:.0f} MB in all, sum {found.sum():.9f}"
    )


def make(rows: int, path: Path) -> None:
    """Write so many rows."""
    north, east = BOX[2] - BOX[0], BOX[3] - BOX[1]
    start = time.perf_counter()
    duckdb.sql(
        f"COPY (SELECT CAST(hash(i) % {USERS} AS INTEGER) AS user_id, "
        f"{BOX[0]} + {north} * CAST((hash(i + 1000000007) % 1048576) / 1048576.0 AS DOUBLE) AS lat, "
        f"{BOX[1]} + {east} * CAST((hash(i + 2000000011) % 1048576) / 1048576.0 AS DOUBLE) AS lon "
        f"FROM range({rows}) AS t(i)) TO '{path}' (FORMAT PARQUET)"
    )
    print(f"{rows} rows made in {time.perf_counter() - start:.0f} s, {path.stat().st_size / 2**20:.0f} MB")


def scan(rows: int, path: Path, folder: Path) -> None:
    """Print seconds of releases of so many rows."""
    if not path.exists():
        make(rows, path)
    space = emdp.Geo("lat", "lon", box=BOX, unit="km", on_invalid="clamp")
    table = emdp.read(str(path), user="user_id", space=space, users=USERS)
    with emdp.Session(table, budget=emdp.EmdDP(1e6), ledger=folder / "l.ledger") as session:
        alpha = 80.0
        for name in ("first, with the check of the rules", "second"):
            start, before = time.perf_counter(), time.process_time()
            answer = session.measure(alpha=alpha, name=name)
            seconds, own = time.perf_counter() - start, time.process_time() - before
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            shown = f"{seconds:.1f} s, {own:.1f} s of CPU, {answer.frame.height} nodes, {peak:.0f} MB in all"
            print(f"{name}: {shown}", flush=True)
        start = time.perf_counter()
        print(f"fitted on {answer.table().height} places with mass: {time.perf_counter() - start:.1f} s")


def fine(places: float, folder: Path) -> None:
    """Print seconds and memory of a session whose measure is fitted on so many places."""
    path = folder / "rows.parquet"
    make(1_000_000, path)
    space = emdp.Geo("lat", "lon", box=BOX, unit="km", on_invalid="clamp")
    table = emdp.read(str(path), user="user_id", space=space, users=USERS)
    resolution = 48.0 / math.sqrt(places)
    with emdp.Session(table, budget=emdp.EmdDP(1e6), ledger=folder / "l.ledger") as session:
        for what, call in (
            ("release", lambda: session.measure(alpha=80.0, resolution=resolution)),
            ("table", lambda: session.measure(alpha=80.0, resolution=resolution).table()),
            ("SQL", lambda: session.sql("SELECT COUNT(*) AS places, SUM(weight) AS weight FROM MEASURE(share)").frame),
        ):
            start, before = time.perf_counter(), time.process_time()
            found = call()
            seconds, own = time.perf_counter() - start, time.process_time() - before
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            size = found.frame.height if what == "release" else found.height
            print(f"{what}: {seconds:.1f} s, {own:.1f} s of CPU, {size} rows, {peak:.0f} MB in all", flush=True)


if __name__ == "__main__":
    main()
