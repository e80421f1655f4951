"""Run one system in its own process, under its own packages: `python harness.py`, driven by lines of JSON.

The first line on standard input is the task (`module`, `option`, `started`, `path`, `folder`, `keys`, `low`, `high`,
`cap`, `epsilon`, `users`, `rows`), every further one what the system is told for one answer (`epsilon`, `unit`). Each
gets one line back. Only the standard library is used here, since every environment has it.

A module `system_*.py` has `PACKAGES`, the distributions whose versions are shown, and `start(task)`, which imports the
library, starts what must run, and returns a function from what the system is told to `{group: [count, sum, mean]}`,
read anew from the Parquet file at each call.
"""

import importlib
import importlib.metadata
import json
import math
import os
import sys
import time
from pathlib import Path
from typing import Any

__all__ = ["main", "processor_seconds", "resident_peak"]

TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Start the system and answer until standard input ends."""
    # Libraries and Java print to standard output; the replies go where that was, and what they print to the errors.
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def reply(**values: Any) -> None:
        replies.write(json.dumps(values) + "\n")
        replies.flush()

    task = json.loads(sys.stdin.readline())
    module = importlib.import_module(task["module"])
    answer = module.start(task)
    versions = {name: importlib.metadata.version(name) for name in module.PACKAGES}
    reply(seconds=time.time() - task["started"], cpu=processor_seconds(), versions=versions)
    for line in sys.stdin:
        told = json.loads(line)
        wall, cpu = time.perf_counter(), processor_seconds()
        rows = answer(told)
        wall, cpu = time.perf_counter() - wall, processor_seconds() - cpu
        reply(seconds=wall, cpu=cpu, peak=resident_peak(), rows={key: [*map(_number, rows[key])] for key in rows})


def processor_seconds() -> float:
    """Return the processor time of this process and all that it started, in seconds; others' are in steps of 10 ms.

    Of a process that has ended, its parent's record is used, so that one whose parent ended before it is lost.
    """
    total = 0
    for process in _descendants():
        fields = _fields(process)
        total += sum(int(field) for field in fields[11:15])
    ended = os.times()
    return time.process_time() + ended.children_user + ended.children_system + total / TICKS


def resident_peak() -> float:
    """Return the largest resident memory of this process plus those of all that it started and still run, in MB.

    The peaks of several processes need not be at one time, so this may exceed the peak of their sum.
    """
    total = 0
    for process in (os.getpid(), *_descendants()):
        try:
            lines = Path(f"/proc/{process}/status").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    return total * 1024 / 1e6


def _number(value: Any) -> float:
    """Return a number; nan for what a system leaves out, such as the mean of a group whose noisy count is near 0."""
    return math.nan if value is None else float(value)


def _descendants() -> list[int]:
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (fields := _fields(int(name))):
            parents[int(name)] = int(fields[1])
    found, last = [], [os.getpid()]
    while last:
        last = [child for child, parent in parents.items() if parent in last]
        found += last
    return found


def _fields(process: int) -> list[str]:
    """Return the fields of a process's `stat` after its name, none if it has ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


if __name__ == "__main__":
    main()
