"""One page of all targets of speed, met or missed; and, with `--all`, everything that the benchmarks print.

`python benchmarks/everything.py` from the project's root measures every target of targets.py in its full size (reckoned
at 25 minutes on a quiet machine of 2 processors); `--quick` has each in the least size that says something, some two
minutes on a quiet machine. `--all` runs every benchmark besides, one after the other: hours in their own sizes.
`--only` runs the named ones, and no target. In the folder `--out` are a Markdown page of targets and all output, a
table of commands, times and exit statuses as Markdown and Parquet, and folders of those that write tables of their own.
A benchmark that fails does not stop the others; the exit status is 1 then. What each measures, and what its numbers
should be, stands in benchmarks/README.md.
"""

import argparse
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl
import targets

HERE = Path(__file__).parent

QUICK: dict[str, list[str]] = {
    "rivals": ["--users", "20000", "--rounds", "1"],
    "linear.py": ["--rows", "1000000", "--users", "10000", "--repeats", "2"],
    "startup.py": ["--repeats", "2"],
    "ledger_age.py": ["--entries", "10", "1000", "--repeats", "2"],
    "plans.py": ["--repeats", "1"],
    "streams.py": ["--periods", "7", "52", "--streams", "2000"],
    "growth.py": ["--less", "100"],
    "scale.py": ["--rows", "1000000", "--users", "10000", "--repeat", "1"],
    "spark.py": ["--rows", "1000000"],
    "spark_columns.py": ["--means", "32", "64"],
    "sql.py": ["--repeats", "1"],
    "tpch.py": ["--scale", "0.01", "--repeats", "1"],
    "report.py": ["--rows", "1000000", "--users", "10000", "--repeat", "1"],
    "itemwise.py": ["--rows", "1000000", "--users", "1000", "--rounds", "1"],
    "reduction.py": ["--rows", "1000000", "--users", "1000", "--rounds", "1"],
    "items.py": ["--rows", "1000000", "--users", "10000", "--repeats", "1"],
    "draws.py": ["--draws", "50000", "--users", "10000", "--repetitions", "1"],
    "transport.py": ["--sizes", "10", "100", "--seconds", "0.2", "--pairs", "20"],
    "frequencies_scale.py": ["--users", "100000", "--side", "100", "--repeats", "1"],
    "frequency_rivals.py": ["--items", "100", "--users", "10000", "--epsilon", "1", "--runs", "20", "--seconds", "2"],
    "oracles.py": ["--items", "100", "--users", "100000", "--epsilon", "1"],
    "user_mean.py": ["--runs", "50"],
    "user_vector.py": ["--runs", "2"],
    "user_mean_rivals.py": ["--runs", "50"],
    "user_mean_tables.py": ["--runs", "50"],
    "caps.py": ["--runs", "40"],
    "itemwise_places.py": ["--samples", "50", "--rounds", "1"],
    "densities.py": ["--samples", "50", "--rounds", "1", "--seconds", "1"],
    "measures.py": ["--rounds", "1", "--factors", "1"],
    "words.py": ["--rounds", "1", "--epsilon", "1"],
    "mixed_frequencies.py": ["--rounds", "1"],
    "learn.py": ["--runs", "1"],
    "shuffle.py": [],
    "shuffle_planning.py": [],
    "shuffle_users.py": [],
    "blanket.py": [],
}
"""Every benchmark, in the order in which they run, with its quick size."""

FOLDERS = ("rivals", "densities.py", "words.py")
"""Those that write files, into a folder of theirs in ours."""

ENVIRONMENTS = {
    "rivals": "--environments",
    "frequency_rivals.py": "--environment",
    "user_mean_rivals.py": "--environment",
}
"""Those that install other packages, with their option for the folder that keeps them."""


def main() -> None:
    """Run them and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the least sizes")
    parser.add_argument("--all", action="store_true", help="every benchmark, after the targets")
    parser.add_argument("--only", nargs="+", choices=QUICK, default=[], help="these benchmarks, and no target")
    parser.add_argument("--targets", nargs="+", choices=targets.GROUPS, help="only these groups of targets")
    parser.add_argument("--environments", type=Path, help="folder that keeps the rivals' packages")
    parser.add_argument("--out", type=Path, default=Path("everything"), help="folder for the page and the tables")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    found: list[targets.Row] = []
    for name in [] if options.only else options.targets or targets.GROUPS:
        start = time.perf_counter()
        found += targets.rows_of(name, options)
        (options.out / "everything.md").write_text(page(found, []))
        print(f"{name}: measured in {time.perf_counter() - start:.0f} s", flush=True)
    print("\n".join(table(found)))
    rows: list[dict[str, Any]] = []
    for name in list(QUICK) if options.all else options.only:
        rows.append(run(name, options))
        print(f"{name}: {rows[-1]['seconds']:.0f} s, exit status {rows[-1]['status']}", flush=True)
        # After each, so that what was broken off leaves what there is.
        (options.out / "everything.md").write_text(page(found, rows))
        pl.DataFrame(rows).write_parquet(options.out / "everything.parquet")
    failed = any(row["status"] for row in rows) or any(not row.point for row in found)
    sys.exit(failed)


def run(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Run one benchmark and return its command, time, exit status and output."""
    arguments = list(QUICK[name]) if options.quick else []
    stem = Path(name).stem
    if name in FOLDERS:
        arguments += ["--out", str(options.out / stem)]
    if name in ENVIRONMENTS and options.environments:
        arguments += [ENVIRONMENTS[name], str(options.environments / stem)]
    command = [str(HERE / name), *arguments]
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])},
    )
    return {
        "benchmark": name,
        "command": f"python {os.path.relpath(command[0])} {' '.join(arguments)}".strip(),
        "seconds": time.perf_counter() - start,
        "status": done.returncode,
        "output": done.stdout,
    }


def page(found: list[targets.Row], rows: list[dict[str, Any]]) -> str:
    """Return the table of targets, that of what ran, and everything that was printed."""
    lines = ["# Benchmarks", ""]
    if found:
        lines += [machine(), "", *table(found), ""]
    if rows:
        lines += ["| command | seconds | exit status |", "|---|---:|---:|"]
        lines += [f"| `{row['command']}` | {row['seconds']:.0f} | {row['status']} |" for row in rows]
    for row in rows:
        lines += ["", f"## {row['benchmark']}", "", "```", row["output"].rstrip(), "```"]
    return "\n".join(lines) + "\n"


def table(found: list[targets.Row]) -> list[str]:
    """Return the lines of the table of targets."""
    return [*targets.HEAD, *(row.shown() for row in found), "", targets.SOURCES] if found else []


def machine() -> str:
    """Return what the figures were measured on, and what else it did."""
    cores, load = os.cpu_count(), os.getloadavg()[0]
    return f"{cores} processors ({platform.machine()}), Python {platform.python_version()}; load average {load:.1f}."


if __name__ == "__main__":
    main()
