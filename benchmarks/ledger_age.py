"""CPU time beside a ledger that has grown: opening a session, its first answer, and the next one.

    python benchmarks/ledger_age.py [--entries 10 1000 20000 100000] [--repeats 3]

Prints a Markdown table of CPU seconds, best of the repetitions. The ledger's charges are one charge over and over, as a
daily report makes them, in a chain that verifies. A session that charged beside it before has stated totals where there
are a thousand entries, as it does in one that grows; opening it without them is a row of its own.
"""

import argparse
import itertools
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl

import emdp
from emdp.ledger import Entry
from emdp.ledger.chain import Link, next_link
from emdp.ledger.entries import EVERY
from emdp.ledger.place import create_copy

USERS = 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entries", type=int, nargs="+", default=[10, 1000, 20_000, 100_000])
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    print("| entries | open, s | first answer, s | next answer, s |")
    print("|---:|---:|---:|---:|")
    frame = pl.DataFrame({"user": range(USERS), "x": [number / USERS for number in range(USERS)]})
    for count in arguments.entries:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "old.ledger"
            grow(frame, path, count)
            before = times(frame, path)
            if count >= EVERY:
                print(
                    f"| {count:,}, without totals | {' | '.join(f'{seconds:.3f}' for seconds in before)} |", flush=True
                )
            best = [min(column) for column in zip(*(times(frame, path) for _ in range(arguments.repeats)), strict=True)]
        print(f"| {count:,} | {' | '.join(f'{seconds:.3f}' for seconds in best)} |", flush=True)


def grow(frame: pl.DataFrame, path: Path, count: int) -> None:
    """Make a ledger of one answer whose charge stands there until there are ``count`` entries."""
    first = path.with_suffix(".first")
    with session(frame, first) as own:
        own.mean(emdp.col("x"), alpha=1e-3)
        entries: tuple[Entry, ...] = own.ledger.entries()
    names = ("sequence", "time", "kind", "table", "text", "previous_hash", "hash")
    links = [Link(*(getattr(entry, name) for name in names)) for entry in entries]
    charge = next(link for link in links if link.kind == "charge")
    while len(links) < count:
        links.append(next_link(links[-1], charge.time, "charge", charge.table, charge.payload))
    create_copy(path, (tuple(links), ()))


def session(frame: pl.DataFrame, path: Path) -> emdp.Session:
    """Open a session on the ledger."""
    table = emdp.read(frame, user="user", space=emdp.Interval("x", 0, 1), users=USERS, name="visits", version="1")
    return emdp.Session(table, budget=emdp.EmdDP(alpha=1e6), ledger=path)


ALPHAS = itertools.count(1)


def times(frame: pl.DataFrame, path: Path) -> tuple[float, ...]:
    """Return the CPU seconds of opening, of a first answer and of another one."""
    made: list[emdp.Session] = []

    def ask() -> object:
        return made[0].mean(emdp.col("x"), alpha=1e-3 + 1e-6 * next(ALPHAS))

    found = tuple(cpu(step) for step in (lambda: made.append(session(frame, path)), ask, ask))
    made[0].close()
    return found


def cpu(step: Callable[[], object]) -> float:
    """Return the CPU seconds of a step, all threads together."""
    start = time.process_time()
    step()
    return time.process_time() - start


if __name__ == "__main__":
    main()
