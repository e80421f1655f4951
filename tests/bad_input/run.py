"""Feed bad input to every reader of emdp and count what comes of it: ``python tests/bad_input/run.py --inputs 100000``.

Inputs are read in processes of their own, one after the other: one that crashes or hangs is named, and the rest goes
on in a new process. Exits with 1 where a promise is broken.
"""

import argparse
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]

from expectations import MARKERS  # noqa: E402 - found through the path above
from readers import READERS, feed  # noqa: E402

LIMIT = 30.0
"""Seconds that one input may take; the longest plan that is promised to end takes half of that."""

SLOW = 5.0
"""Seconds of an input that is named, so that it can be looked at again."""

PER_INPUTS = 100_000
"""What the shares of the readers add up to."""

KINDS = ("accepted", "refused", "known", "broken")


@dataclass
class Tally:
    """What came of the inputs of one reader."""

    kinds: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)
    slowest: float = 0.0
    slowest_index: int = 0
    inputs: int = 0

    def add(self, name: str, index: int, outcome: Mapping[str, Any]) -> None:
        """Count one input."""
        self.inputs += 1
        self.kinds[outcome["kind"]] += 1
        self.statuses[outcome["status"]] += 1
        if outcome["seconds"] > self.slowest:
            self.slowest, self.slowest_index = outcome["seconds"], index
        if outcome["kind"] == "broken":
            self.broken.append(f"{name} {index}: {outcome['word']}")
        elif outcome["kind"] == "known":
            self.known[outcome["word"]] += 1


def run(
    counts: Mapping[str, int], *, seed: int, first: int = 0, limit: float = LIMIT, jobs: int = 1
) -> dict[str, Tally]:
    """Feed so many inputs to each reader, and return what came of them.

    Parameters
    ----------
    counts : mapping of str to int
        Number of inputs by reader.
    seed : int
        With the number of an input it makes the input.
    first : int
        Number of the first.
    limit : float
        Seconds that one input may take.
    jobs : int
        Number of processes at a time.
    """
    tallies = {name: Tally() for name in counts}
    waiting = [[name, first, count] for name, count in counts.items() if count]

    def follow(own: list[list[Any]]) -> None:
        while own:
            _run_process(own, tallies, seed, limit)

    with ThreadPoolExecutor(jobs) as pool:
        # Neighbours cost much the same, so that turns divide the work.
        list(pool.map(follow, [waiting[number::jobs] for number in range(jobs)]))
    return tallies


def _run_process(waiting: list[list[Any]], tallies: Mapping[str, Tally], seed: int, limit: float) -> None:
    """Read what is waiting in one process until all is done, or one input ends or stops the process."""
    room = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="emdp-bad-", dir=room) as folder, open(f"{folder}/said", "w+b") as said:
        reading, writing = os.pipe()
        command = [sys.executable, str(HERE / "run.py"), "--worker", json.dumps([waiting, seed, folder, writing])]
        # Order of sets must not depend on the process; a panic's backtrace is long and says nothing.
        settings = {**os.environ, "PYTHONHASHSEED": "0", "RUST_BACKTRACE": "0"}
        with subprocess.Popen(command, stdout=said, stderr=said, pass_fds=[writing], env=settings) as process:
            os.close(writing)
            begun = _follow(reading, waiting, tallies, limit)
            ending = "hangs" if begun is not None and process.poll() is None and not _ended(process) else "ends"
            if ending == "hangs":
                process.kill()
            status = process.wait()
        os.close(reading)
        said.seek(0)
        text = said.read().decode("utf-8", "replace")
        if begun is not None:
            _note_loss(waiting, tallies, f"{ending} the process (status {status}): {text[-400:]}")
        elif waiting:
            raise RuntimeError(f"a worker ended with status {status}: {text[-2000:]}")


def _ended(process: subprocess.Popen[bytes]) -> bool:
    """Say whether a process ends within a second, as one does whose pipe was closed by a crash."""
    try:
        process.wait(1.0)
    except subprocess.TimeoutExpired:
        return False
    return True


def _follow(pipe: int, waiting: list[list[Any]], tallies: Mapping[str, Tally], limit: float) -> int | None:
    """Count what a process tells; return the number of the input that it did not come back from, if there is one."""
    begun: int | None = None
    rest, quiet_since = b"", time.monotonic()
    while True:
        # Starting takes seconds on a busy machine, and sound inputs are made first.
        allowed = limit if begun is not None else 10 * limit
        ready, _, _ = select.select([pipe], [], [], max(0.0, quiet_since + allowed - time.monotonic()))
        if not ready:
            return -1 if begun is None else begun
        found = os.read(pipe, 65536)
        if not found:
            return begun
        quiet_since = time.monotonic()
        *lines, rest = (rest + found).split(b"\n")
        for line in lines:
            told = json.loads(line)
            if "begun" in told:
                begun = told["begun"]
            elif "outcome" in told:
                name, index, _ = waiting[0]
                tallies[name].add(name, index, told["outcome"])
                waiting[0][1:] = [index + 1, waiting[0][2] - 1]
                begun = None
            else:
                name, index, _ = waiting.pop(0)
                sys.stderr.write(f"{name}: {tallies[name].inputs:,} inputs, {len(tallies[name].broken)} broken\n")
                tallies[name].broken += [f"{name} before {index}: prints {marker}" for marker in told["printed"]]


def _note_loss(waiting: list[list[Any]], tallies: Mapping[str, Tally], word: str) -> None:
    name, index, count = waiting[0]
    tallies[name].add(name, index, {"kind": "broken", "status": -1, "seconds": 0.0, "word": word})
    waiting[0][1:] = [index + 1, count - 1]
    if count <= 1:
        waiting.pop(0)


def work(waiting: Iterable[Any], seed: int, folder: str, pipe: int) -> None:
    """Read inputs, and tell of each before and after."""

    def tell(**what: Any) -> None:
        os.write(pipe, json.dumps(what).encode() + b"\n")

    with open(f"{folder}/said", "rb") as said:
        for name, first, count in waiting:
            place = Path(folder, name)
            place.mkdir()
            reader = READERS[name].make(place)
            said.seek(0, os.SEEK_END)
            for index in range(first, first + count):
                tell(begun=index)
                tell(outcome=asdict(feed(reader, name, seed, index)))
            sys.stdout.flush()
            printed = said.read().decode("utf-8", "replace")
            tell(printed=[] if READERS[name].is_public else [marker for marker in MARKERS if marker in printed])


def table(tallies: Mapping[str, Tally]) -> str:
    """Return the counts as a table in Markdown."""
    head = (
        "reader",
        "inputs",
        "read or answered",
        "exit 2",
        "exit 3",
        "exit 4",
        "known faults",
        "broken",
        "slowest (s)",
    )
    rows = [
        (
            name, f"{one.inputs:,}", f"{one.kinds['accepted']:,}", f"{one.statuses[2]:,}", f"{one.statuses[3]:,}",
            f"{one.statuses[4]:,}", f"{one.kinds['known']:,}", f"{len(one.broken):,}", f"{one.slowest:.1f}",
        )
        for name, one in tallies.items()
    ]  # fmt: skip
    total = Tally()
    for one in tallies.values():
        total.inputs, total.slowest = total.inputs + one.inputs, max(total.slowest, one.slowest)
        total.kinds += one.kinds
        total.statuses += one.statuses
        total.broken += one.broken
    rows.append(
        (
            "all", f"{total.inputs:,}", f"{total.kinds['accepted']:,}", f"{total.statuses[2]:,}",
            f"{total.statuses[3]:,}", f"{total.statuses[4]:,}", f"{total.kinds['known']:,}", f"{len(total.broken):,}",
            f"{total.slowest:.1f}",
        )
    )  # fmt: skip
    lines = [head, ("---", *["---:"] * (len(head) - 1)), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> int:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=4_000, help="number of inputs in all, shared among the readers")
    parser.add_argument("--readers", default=",".join(READERS), help="names with commas between them")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first input: one input can be seen again")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds that one input may take")
    parser.add_argument("--jobs", type=int, default=1, help="number of processes at a time")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker is not None:
        work(*json.loads(given.worker))
        return 0
    names = given.readers.split(",")
    shares = sum(READERS[name].share for name in names)
    counts = {name: max(1, round(given.inputs * READERS[name].share / shares)) for name in names}
    began = time.monotonic()
    tallies = run(counts, seed=given.seed, first=given.first, limit=given.limit, jobs=given.jobs)
    said = [table(tallies), f"\nseed {given.seed}, {time.monotonic() - began:,.0f} seconds"]
    slow = {name: one for name, one in tallies.items() if one.slowest > SLOW}
    said += [f"slow: {name} {one.slowest_index}, {one.slowest:.1f} s" for name, one in slow.items()]
    known: Counter[str] = Counter()
    for one in tallies.values():
        known += one.known
    said += [f"known fault: {word}: {count:,}" for word, count in known.items()]
    broken = [line for one in tallies.values() for line in one.broken]
    said += [f"BROKEN {line}" for line in broken]
    sys.stdout.write("\n".join([*said, ""]))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
