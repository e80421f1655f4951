"""What plans cost before any data is touched: CPU seconds of randomizers, accountants and statements at large sizes.

    python benchmarks/plans.py [--only optimal ...] [--repeats 3]

Each case runs in a process of its own, after a small case of the same kind, so that imports do not count; the best of
the repetitions is printed as a Markdown table. No plan should take more than 5 seconds.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import emdp

TARGET = 5.0
"""CPU seconds that no plan should take."""


def cells(side: int) -> emdp.Grid:
    """Return a square of cells."""
    return emdp.Grid(emdp.Vector(["x", "y"], box=[(0, 1), (0, 1)]), (side, side))


def places(side: int) -> emdp.Grid:
    """Return a map of cells."""
    return emdp.Grid(emdp.Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), unit="km"), (side, side))


def joined(count: int) -> Callable[[], object]:
    """Return the preview of a statement by the topics of so many words with vectors."""
    rng = np.random.default_rng(1)
    words = [f"w{number}" for number in range(count)]
    vectors = pl.DataFrame({"word": words, **{f"x{place}": rng.normal(size=count) for place in range(64)}})
    topics = pl.DataFrame({"word": words, "topic": [f"t{number % 20}" for number in range(count)]})
    frame = pl.DataFrame({"user": [1, 2], "word": ["w0", "w1"]})
    table = emdp.read(frame, user="user", space=emdp.Embedding("word", vectors, neutral="w0"), users=1000)
    return previewed(table, "SHARE() FROM data JOIN g ON data.word = g.word GROUP BY topic", {"g": topics})


def listed(count: int) -> Callable[[], object]:
    """Return the preview of a statement with a group for each of so many categories."""
    values = [f"v{number}" for number in range(count)]
    table = emdp.read(
        pl.DataFrame({"user": [1, 2], "v": values[:2]}), user="user", space=emdp.Categories("v", values), users=1000
    )
    return previewed(table, "SHARE() FROM data GROUP BY v", {})


def previewed(table: emdp.Table, rest: str, public: dict[str, Any]) -> Callable[[], object]:
    """Return the preview of a statement, or its refusal."""
    ledger = Path(tempfile.mkdtemp()) / "plans.ledger"
    session = emdp.Session(table, budget=emdp.EmdDP(alpha=10.0), ledger=ledger, public=public)

    def run() -> object:
        try:
            return session.preview(f"SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) {rest}")
        except emdp.EmdpError as error:
            return error

    return run


def released(kind: str, alpha: float) -> Callable[[int], Callable[[], object]]:
    """Return the preview of an item-wise release on a map of cells, by the cells along each side."""

    def make(side: int) -> Callable[[], object]:
        table = emdp.read(
            pl.DataFrame({"user": [1], "lat": [40.7], "lon": [-74.0]}),
            user="user",
            space=places(side),
            users=100_000,
            records=100,
        )
        ledger = Path(tempfile.mkdtemp()) / "plans.ledger"
        budget = emdp.EmdDP(alpha=1e6, delta=1e-3, sizes="bounded")
        session = emdp.Session(table, budget=budget, ledger=ledger)
        question = emdp.itemwise(getattr(emdp.randomizers, kind), alpha=alpha, delta=1e-12)
        return lambda: session.preview(question)

    return make


def by_user(users: int) -> Callable[[], object]:
    """Return the preview of a mean of users' means from mixed messages."""
    frame = pl.DataFrame({"user": [1], "x": [0.5]})
    table = emdp.read(frame, user="user", space=emdp.Interval("x", 0, 100), users=users)
    ledger = Path(tempfile.mkdtemp()) / "plans.ledger"
    session = emdp.Session(table, budget=emdp.UserDP(10.0, 1e-3), ledger=ledger)
    price: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "model": "shuffle", "records": 100}
    question = emdp.user_mean(emdp.expressions.col("x"), spread=1.0, between=0.5, **price)
    return lambda: session.preview(question)


def law(kind: str, space: emdp.Space, alpha0: float) -> Callable[[], object]:
    """Return the making of a randomizer's weights."""
    return lambda: getattr(emdp.randomizers, kind)(space, alpha0).alpha0


CASES: dict[str, tuple[str, Callable[[int], Callable[[], object]], int, int]] = {
    "optimal": ("`Optimal` on 20 x 20 cells", lambda side: law("Optimal", cells(side), 4.0), 3, 20),
    "optimal-map": ("`Optimal` on a map of 20 x 20", lambda side: law("Optimal", places(side), 4.0), 3, 20),
    "exponential-32": ("`Exponential` on 32 x 32 cells", lambda side: law("Exponential", cells(side), 4.0), 17, 32),
    "exponential-64": ("`Exponential` on 64 x 64 cells", lambda side: law("Exponential", cells(side), 4.0), 17, 64),
    "exponential-map": (
        "`Exponential` on a map of 64 x 64",
        lambda side: law("Exponential", places(side), 4.0),
        17,
        64,
    ),
    "release-optimal": ("a release by `Optimal` on a map of 20 x 20, previewed", released("Optimal", 25.0), 3, 20),
    "release-32": ("a release by `Exponential` on a map of 32 x 32, previewed", released("Exponential", 25.0), 3, 32),
    "release-64": ("a release by `Exponential` on a map of 64 x 64, previewed", released("Exponential", 25.0), 3, 64),
    "user-mean": ("`user_mean` of 1,000,000 users from mixed messages, previewed", by_user, 1_000, 1_000_000),
    "shuffle": (
        "`shuffle_alpha0(25, 1000, 10**8, 1e-12)`",
        lambda m: lambda: emdp.privacy.shuffle_alpha0(25.0, m, 10**8, 1e-12),
        10,
        1000,
    ),
    "joined": ("`GROUP BY` over 20,000 joined words of 64 coordinates", joined, 10, 19_999),
    "listed": ("`GROUP BY` of 1,000,000 categories, refused", listed, 10, 1_000_000),
}
"""Case: what it is, its making by size, a small size, the size."""


def main() -> None:
    """Print the table, or the CPU seconds of one case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES), help="only these")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        print(seconds(options.case))
        return
    print("| plan | CPU s |")
    print("|---|---:|")
    for name in options.only:
        command = [sys.executable, __file__, "--case", name]
        runs = (
            subprocess.run(command, check=True, capture_output=True, text=True).stdout for _ in range(options.repeats)
        )
        print(f"| {CASES[name][0]} | {min(map(float, runs)):.2f} |", flush=True)


def seconds(name: str) -> float:
    """Return the CPU seconds of one case, all threads together, after a small one."""
    _, make, small, size = CASES[name]
    make(small)()
    run = make(size)
    start = time.process_time()
    run()
    return time.process_time() - start


if __name__ == "__main__":
    main()
