"""Frequencies of a million cells from ten million users, one record each: seconds, memory, and the ratio to DuckDB.

Run `python benchmarks/frequencies_scale.py` from the project's root (a few minutes). What is measured, and what the
reference is, stands in benchmarks/README.md. DuckDB makes the table; every measurement is a process of its own, so that
its peak of memory is its own.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

TARGET_BYTES = 4 * 2**30
# Peak of memory of one process: issue 6, item 4.

CASES = ("plain", "central", "local", "local hadamard")
# What is measured; `plain` is DuckDB's GROUP BY of the same cells, without user, noise or price.

BOX = (40.0, -75.0, 41.0, -74.0)
# South, west, north and east of the map.


def make(path: Path, users: int, side: int) -> None:
    """Write a table with one record for each user, most of them in the middle of the box, by public hashes."""
    south, west, north, east = BOX

    def middling(seed: int) -> str:
        parts = "+".join(f"(hash(i + {seed + part}) % 1000003)/1000003.0" for part in (0, users, 2 * users))
        return f"({parts})/3"

    with duckdb.connect() as connection:
        connection.execute(
            f'COPY (SELECT i AS "user", {south} + {north - south}*{middling(0)} AS lat, '
            f"{west} + {east - west}*{middling(10 * users)} AS lon FROM range({users}) AS numbers(i)) "
            f"TO '{path}' (FORMAT parquet)"
        )


def measure(case: str, path: Path, users: int, side: int) -> dict[str, float]:
    """Return the seconds of one case in this process, those of the processor in all threads, and its peak memory."""
    seconds, work = _plain(path, side) if case == "plain" else _private(case, path, users, side)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0
    return {"seconds": seconds, "work": work, "bytes": peak}


def _plain(path: Path, side: int) -> tuple[float, float]:
    south, west, north, east = BOX
    start, before = time.perf_counter(), time.process_time()
    with duckdb.connect() as connection:
        connection.execute("SET threads = 2")
        connection.execute(
            f"SELECT floor((lat - {south})/{(north - south) / side})::INT AS row, "
            f"floor((lon - {west})/{(east - west) / side})::INT AS col, count(*) AS records "
            f"FROM '{path}' GROUP BY ALL"
        ).fetchnumpy()
    return time.perf_counter() - start, time.process_time() - before


def _private(case: str, path: Path, users: int, side: int) -> tuple[float, float]:
    import emdp

    space = emdp.Grid(emdp.Geo("lat", "lon", box=BOX, unit="km"), (side, side))
    with tempfile.TemporaryDirectory() as folder:
        table = emdp.read(path, user="user", users=users, space=space)
        budget = emdp.UserDP(100.0, 1e-6)
        with emdp.Session(table, budget=budget, ledger=Path(folder) / "scale.ledger") as session:
            # The rules of a version of the data are validated once, whatever is asked of it later.
            session.mean(emdp.distance_to((BOX[0], BOX[1])), epsilon=1e-3)
            options = {} if case == "central" else {"model": "local", "method": case.partition(" ")[2] or "auto"}
            # The libraries, which the reference has loaded, too; benchmarks/startup.py says what these cost.
            session.preview(emdp.frequencies(epsilon=1.0, **options))
            start, before = time.perf_counter(), time.process_time()
            answer = session.frequencies(epsilon=1.0, **options)
            if len(answer.frame) != side * side:
                raise RuntimeError("the answer has not one row a cell")
            return time.perf_counter() - start, time.process_time() - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=10_000_000)
    parser.add_argument("--side", type=int, default=1000, help="cells along each axis")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--data", type=Path, help="a table made before; made if it is not there")
    parser.add_argument("--case", choices=CASES, help="measure one case in this process, and print JSON")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=CASES)
    options = parser.parse_args()
    if options.case:
        print(json.dumps(measure(options.case, options.data, options.users, options.side)))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = options.data or Path(folder) / "places.parquet"
        if not path.exists():
            make(path, options.users, options.side)
        found: dict[str, list[dict[str, float]]] = {case: [] for case in options.cases}
        arguments = ["--users", str(options.users), "--side", str(options.side), "--data", str(path)]
        for _ in range(options.repeats):
            for case in options.cases:
                command = [sys.executable, __file__, *arguments, "--case", case]
                found[case].append(json.loads(subprocess.run(command, check=True, capture_output=True).stdout))
    report(found)


def report(found: dict[str, list[dict[str, float]]]) -> None:
    reference = min(run["seconds"] for run in found["plain"]) if "plain" in found else float("nan")
    least = min(run["work"] for run in found["plain"]) if "plain" in found else float("nan")
    print(f"{'case':<16}{'seconds':>9}{'ratio':>8}{'CPU s':>9}{'ratio':>8}{'peak GB':>9}")
    for case, runs in found.items():
        seconds, peak = min(run["seconds"] for run in runs), max(run["bytes"] for run in runs)
        over = "  above the target" if peak > TARGET_BYTES else ""
        work = min(run["work"] for run in runs)
        ratios = (seconds / reference, work / least)
        print(f"{case:<16}{seconds:>9.2f}{ratios[0]:>8.1f}{work:>9.2f}{ratios[1]:>8.1f}{peak / 2**30:>9.2f}{over}")


if __name__ == "__main__":
    main()
