"""What the start of a command costs: processes of emdp beside one that only imports the libraries below it.

Run `python benchmarks/startup.py` from the project's root (half a minute on a quiet core). Every candidate is a process
of its own, best of interleaved repetitions; modules are compiled once before, as in an installed package. CPU is user
and system time of the process and all its threads, which other work on the machine disturbs less than the wall clock.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import polars as pl

TARGET = 0.6
"""Seconds that `emdp query` on a small table should take, where the libraries alone take 0.3 to 0.4."""

LIBRARIES = "import duckdb, sqlglot, polars, typer"
COMMAND = "from emdp.cli import main; main()"
QUERY = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(minutes) AS m FROM visits"
CATALOG = """
ledger = "visits.ledger"
[tables.visits]
source = "visits.parquet"
user = "user_id"
users = 100
space = { kind = "interval", col = "minutes", low = 0, high = 60, on_invalid = "clamp" }
budget = { alpha = 100000.0 }
"""

CANDIDATES: Mapping[str, tuple[str, ...]] = {
    "libraries alone": (LIBRARIES,),
    "libraries, numpy": (f"{LIBRARIES}, numpy",),
    "import emdp": ("import emdp",),
    "import all names": ("from emdp import *",),
    "emdp --help": (COMMAND, "--help"),
    "emdp check": (COMMAND, "check", QUERY),
    "emdp preview": (COMMAND, "preview", QUERY),
    "emdp query": (COMMAND, "query", "--fresh", QUERY),
    "emdp query, stored": (COMMAND, "query", QUERY),
}
"""Code, and the words after it. The second: what is loaded besides, once noise is drawn."""


LIBRARY_NAMES = (
    "emdp", "sqlite3", "typer", "numpy", "duckdb", "pyarrow", "sqlglot", "polars", "scipy.special", "scipy.optimize",
)  # fmt: skip
"""Libraries whose imports docs/weight.md has."""


def compiled(folder: Path) -> dict[str, str]:
    """Return the environment of a process whose modules are compiled once, in a folder."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**environment, "PYTHONPYCACHEPREFIX": str(folder / "compiled")}


def once(words: tuple[str, ...], folder: Path) -> tuple[float, float]:
    """Return CPU and wall-clock seconds of one process."""
    environment = compiled(folder)
    environment["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[1]), environment.get("PYTHONPATH", "")])
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-c", *words], cwd=folder, env=environment, check=True, capture_output=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def measure(
    repeats: int, folder: Path, candidates: Mapping[str, tuple[str, ...]] | None = None
) -> dict[str, tuple[float, float]]:
    """Return the best CPU and wall-clock seconds of each candidate."""
    candidates = CANDIDATES if candidates is None else candidates
    rows = {"user_id": [row % 100 for row in range(1000)], "minutes": [row % 61 for row in range(1000)]}
    pl.DataFrame(rows, schema_overrides={"minutes": pl.Float64}).write_parquet(folder / "visits.parquet")
    (folder / "emdp.toml").write_text(CATALOG)
    for words in candidates.values():
        once(words, folder)
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in candidates}
    for _ in range(repeats):
        for name, words in candidates.items():
            found[name].append(once(words, folder))
    return {name: (min(cpu for cpu, _ in own), min(wall for _, wall in own)) for name, own in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--imports", action="store_true", help="the import of each library by itself, and nothing else")
    options = parser.parse_args()
    repeats = options.repeats
    if options.imports:
        with tempfile.TemporaryDirectory() as folder:
            alone = {"Python alone": ("0",), **{name: (f"import {name}",) for name in LIBRARY_NAMES}}
            print("| import | CPU | wall |\n|---|---:|---:|")
            for name, (cpu, wall) in measure(repeats, Path(folder), alone).items():
                print(f"| {name} | {cpu:.3f} | {wall:.3f} |")
        return
    with tempfile.TemporaryDirectory() as folder:
        found = measure(repeats, Path(folder))
    reference = found["libraries alone"]
    print(f"best of {repeats}, seconds, and times what the libraries alone take\n")
    print("| process | CPU | wall | CPU ratio | wall ratio |\n|---|---|---|---|---|")
    for name, (cpu, wall) in found.items():
        print(f"| {name} | {cpu:.2f} | {wall:.2f} | {cpu / reference[0]:.2f} | {wall / reference[1]:.2f} |")
    print(f"\nemdp query: {found['emdp query'][1]:.2f} s, to be below {TARGET} where the libraries take 0.3 to 0.4")


if __name__ == "__main__":
    main()
