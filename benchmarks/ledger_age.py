"""Time beside a ledger that has grown: opening a session, its first answer, and the next one.

    python benchmarks/ledger_age.py [--entries 10 1000 20000 100000] [--repeats 3] [--periods 52] [--postgres ADDRESS]

Prints a Markdown table of CPU seconds of this process, best of the repetitions. With the address of a PostgreSQL
database that holds no ledger, of a user who administers the server, the ledgers are made there and taken away again,
and the table has seconds by the clock too, which have the server's work in them. The ledger's charges are one charge
over and over, as a daily report makes them, in a chain that verifies; with ``--periods`` each period has as many of
them. A session that charged beside it before has stated totals where there are a thousand entries, as it does in one
that grows; opening it without them is a row of its own.
"""

import argparse
import itertools
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import polars as pl

import emdp
from emdp.ledger import Entry, read_ledger
from emdp.ledger.chain import Link, next_link
from emdp.ledger.entries import EVERY
from emdp.ledger.opening import copy_ledger
from emdp.ledger.place import create_copy

USERS = 1000
PERIOD = "2026-W01"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entries", type=int, nargs="+", default=[10, 1000, 20_000, 100_000])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--periods", type=int, default=0, help="of a table with a budget per period as well; default: none"
    )
    parser.add_argument("--postgres", help="address of a PostgreSQL database that holds no ledger")
    arguments = parser.parse_args()
    named = ("open, s", "first answer, s", "next answer, s")
    head = ["entries", *named, *(f"{name} by the clock" for name in named if arguments.postgres)]
    print(f"| {' | '.join(head)} |\n|{'---:|' * len(head)}")
    frame = pl.DataFrame({"user": range(USERS), "x": [number / USERS for number in range(USERS)]})
    for count in arguments.entries:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "old.ledger"
            grow(frame, path, count, periods=arguments.periods)
            with at(path, arguments.postgres) as ledger:
                before = times(frame, ledger, periods=arguments.periods)
                rounds = [times(frame, ledger, periods=arguments.periods) for _ in range(arguments.repeats)]
            if count >= EVERY:
                tell(f"{count:,}, without totals", before, arguments)
            tell(f"{count:,}", [min(column) for column in zip(*rounds, strict=True)], arguments)


def tell(name: str, found: Sequence[float], arguments: argparse.Namespace) -> None:
    """Print a row."""
    shown = found if arguments.postgres else found[:3]
    print(f"| {name} | {' | '.join(f'{seconds:.3f}' for seconds in shown)} |", flush=True)


@contextmanager
def at(path: Path, address: str | None) -> Iterator[str]:
    """Return where the ledger is: the file, or a database that it is copied into and taken out of again."""
    if address is None:
        yield str(path)
        return
    import psycopg

    copy_whole(path, address)
    try:
        yield address
    finally:
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("DROP SCHEMA emdp_ledger CASCADE")


def copy_whole(path: Path, address: str) -> None:
    """Copy a ledger into a database as its administrator, without the server's check of each entry.

    Emdp's own copy moves the head with every entry, and takes more than twice as long for twice as many. What is copied
    is walked when it is opened.
    """
    import psycopg

    from emdp.ledger.postgres_schema import SCHEMA

    with read_ledger(path) as own:
        names = ("sequence", "time", "kind", "table", "text", "previous_hash", "hash")
        links = [tuple(getattr(entry, name) for name in names) for entry in own.entries()]
    first = path.with_suffix(".one")
    create_copy(first, ((Link(*links[0]),), ()))
    copy_ledger(first, address)
    with psycopg.connect(address) as connection:
        connection.execute("SET session_replication_role = replica")
        with connection.cursor().copy(f"COPY {SCHEMA}.event FROM STDIN") as copy:
            for link in links[1:]:
                copy.write_row(link)
        connection.execute(f"UPDATE {SCHEMA}.head SET sequence = %s, hash = %s", (links[-1][0], links[-1][-1]))


def grow(frame: pl.DataFrame, path: Path, count: int, *, periods: int = 0) -> None:
    """Make a ledger of one answer whose charge stands there until there are ``count`` entries, in some periods."""
    first = path.with_suffix(".first")
    with session(frame, first, periods=periods) as own:
        own.mean(emdp.col("x"), alpha=1e-3)
        entries: tuple[Entry, ...] = own.ledger.entries()
    names = ("sequence", "time", "kind", "table", "text", "previous_hash", "hash")
    links = [Link(*(getattr(entry, name) for name in names)) for entry in entries]
    charge = next(link for link in links if link.kind == "charge")
    payloads = [
        charge.payload.replace(PERIOD, f"{2026 + number // 52}-W{number % 52 + 1:02}")
        for number in range(max(periods, 1))
    ]
    while len(links) < count:
        payload = payloads[len(links) * len(payloads) // count]
        links.append(next_link(links[-1], charge.time, "charge", charge.table, payload))
    create_copy(path, (tuple(links), ()))


def session(frame: pl.DataFrame, path: Path | str, *, periods: int = 0) -> emdp.Session:
    """Open a session on the ledger; with periods in one of them, of a table with a budget per period as well."""
    table = emdp.read(frame, user="user", space=emdp.Interval("x", 0, 1), users=USERS, name="visits", version="1")
    if not periods:
        return emdp.Session(table, budget=emdp.EmdDP(alpha=1e6), ledger=path)
    both = (emdp.EmdDP(alpha=1e6), emdp.EmdDP(alpha=1e6, unit="period"))
    return emdp.Session(table, budget=both, ledger=path, period=PERIOD)


ALPHAS = itertools.count(1)


def times(frame: pl.DataFrame, path: Path | str, *, periods: int = 0) -> tuple[float, ...]:
    """Return the CPU seconds of opening, of a first answer and of another one, and then those by the clock."""
    made: list[emdp.Session] = []

    def ask() -> object:
        return made[0].mean(emdp.col("x"), alpha=1e-3 + 1e-6 * next(ALPHAS))

    found = [spent(step) for step in (lambda: made.append(session(frame, path, periods=periods)), ask, ask)]
    made[0].close()
    return (*(cpu for cpu, _ in found), *(wall for _, wall in found))


def spent(step: Callable[[], object]) -> tuple[float, float]:
    """Return the CPU seconds of a step, all threads together, and those by the clock."""
    start, began = time.process_time(), time.perf_counter()
    step()
    return time.process_time() - start, time.perf_counter() - began


if __name__ == "__main__":
    main()
