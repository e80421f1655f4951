"""emdp against plain DuckDB, OpenDP, SmartNoise, PipelineDP and Tumult Analytics: time, memory and error.

Run `python benchmarks/rivals` from the project's root. Count, sum and mean by 50 listed groups of a generated table,
100,000 users with 10 records each, at user level and epsilon 1. Every rival is installed by pip into a virtual
environment of its own, in a temporary folder or in `--environments FOLDER`, which is kept; Tumult needs Java 8, 11 or
17 besides. What each system is told stands at the top of its file beside this one, and benchmarks/README.md says
what the columns are. Systems are asked in turn, round by round, so that what else the machine does hits them alike.
"""

import argparse
import itertools
import os
import platform
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from processes import RivalError, Running, environment
from results import Measured, error_table, frame_of, targets, time_table
from systems import SETTINGS, SYSTEMS, System, named
from workload import CAP, EPSILON, HIGH, LOW, exact_answer, keys_of, squared_errors, write_visits

MOST_ANSWERS = 5
"""Most answers of a turn."""


def measure(systems: list[System], options: argparse.Namespace, folder: Path) -> Iterator[list[Measured]]:
    """Yield after every turn of a system what all did so far."""
    path = folder / "visits.parquet"
    write_visits(path, users=options.users, groups=options.groups)
    task: dict[str, Any] = {"path": str(path), "folder": str(folder), "keys": keys_of(options.groups)}
    task |= {
        "low": LOW,
        "high": HIGH,
        "cap": CAP,
        "users": options.users,
        "rows": options.users * CAP,
        "epsilon": EPSILON,
    }
    exact = exact_answer(path, options.groups)
    environments = options.environments or folder / "environments"
    measured = [Measured(system) for system in systems]
    running = {one.system.name: found for one in measured if (found := _started(one, environments, task, options))}
    try:
        for turn in itertools.product(range(1, options.rounds + 1), SETTINGS):
            for one in measured:
                if one.system.name in running and not _turn(one, running[one.system.name], *turn, exact, options):
                    del running[one.system.name]
                yield measured
    finally:
        for process in running.values():
            process.close()


def _started(one: Measured, environments: Path, task: dict[str, Any], options: argparse.Namespace) -> Running | None:
    try:
        found = Running(one.system, environment(one.system, environments), task, options.patience)
    except RivalError as failure:
        one.failure = str(failure)
        print(f"{one.system.name}: {failure}", flush=True)
        return None
    one.startup, one.startup_cpu = found.start["seconds"], found.start["cpu"]
    one.versions = found.start["versions"]
    return found


def _turn(
    one: Measured,
    process: Running,
    round_: int,
    setting: str,
    exact: dict[str, list[float]],
    options: argparse.Namespace,
) -> bool:
    """Ask until the turn's time or number of answers is used up; return False, with the failure, if one fails."""
    told, used, asked = one.system.told[setting], 0.0, 0
    while asked == 0 or (used < options.seconds and asked < MOST_ANSWERS):
        try:
            reply = process.ask(told)
        except RivalError as failure:
            one.failure = str(failure)
            print(f"{one.system.name}: {failure}", flush=True)
            return False
        errors = squared_errors(reply.pop("rows"), exact)
        one.answers.append({"round": round_, "setting": setting, "told": told, "errors": errors, **reply})
        used, asked = used + reply["seconds"], asked + 1
    print(f"round {round_}, {setting}: {one.system.name}, {asked} in {used:.2f} s", flush=True)
    return True


def page(measured: list[Measured], options: argparse.Namespace) -> str:
    """Return the tables, with what they were made on, as Markdown."""
    versions = [f"- {one.system.name}: {', '.join(map(' '.join, one.versions.items()))}" for one in measured]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    parts = [
        f"{options.users:,} users with {CAP} records each, {options.groups} groups, epsilon = {EPSILON:g}; "
        f"{len({(answer['round'], answer['setting']) for answer in measured[0].answers})} turns.",
        f"{os.cpu_count()} processors ({platform.machine()}), {memory:.0f} GB, {platform.system()}, "
        f"Python {platform.python_version()}; load average at the end {os.getloadavg()[0]:.1f}.",
        time_table(measured),
        *(error_table(measured, setting) for setting in SETTINGS),
        targets(measured),
        "\n".join(versions),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def main() -> None:
    """Measure, print the tables, and write them with all answers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--groups", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0, help="quick systems answer again for so long in a turn")
    parser.add_argument("--systems", nargs="*", default=[one.name for one in SYSTEMS], help="only these, and emdp")
    parser.add_argument("--environments", type=Path, help="folder that keeps the rivals' packages")
    parser.add_argument("--patience", type=float, default=900.0, help="longest wait for one answer, in seconds")
    parser.add_argument("--out", type=Path, default=Path("rivals"), help="folder for rivals.md and rivals.parquet")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    text = ""
    with tempfile.TemporaryDirectory() as folder:
        for measured in measure(named(options.systems), options, Path(folder)):
            # After every turn, so that a long run that is broken off leaves what it has.
            text = page(measured, options)
            (options.out / "rivals.md").write_text(text)
            frame_of(measured).write_parquet(options.out / "rivals.parquet")
    print("\n" + text)


if __name__ == "__main__":
    main()
