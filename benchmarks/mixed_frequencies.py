"""Frequencies by a curator, by mixed messages, and by messages of which nobody is trusted: one promise, one table.

Run `python benchmarks/mixed_frequencies.py --places ../shared/data/gowalla_nyc.parquet --messages
../shared/data/irc_ubuntu.parquet --vectors ../shared/data/glove_twitter_25d_12k.parquet` from the project's root (two
minutes); without them on generated tables. First the gap table of shuffle-known-randomizers.md: how strong a message
may be, and the standard deviation of a rare item's share, priced as a randomizer of which only the strength is known
(what emdp did before), by the law of the oracle, and the Gaussian noise of a curator. Then the density of 0.5 km cells
and the 100 words that most people use, each at user-level epsilon by central, mixed and local answers, and by mixed
ones as they were priced before. All draws are real; the truth is read by the tables' owner, who compares.

`rms` is the root of the mean squared error of a cell or word, in hundredths of a percent of all; `moved` the total
variation distance to the truth after projection onto the distributions; `right` how many of the 100 most frequent
items are listed; `planned` the seconds of the plan.
"""

import argparse
import math
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
from densities import read
from densities_methods import City, Floats
from words import true_shares

import emdp
from emdp.estimators.frequency.items import plan_item_frequencies
from emdp.mechanisms.item_methods import METHODS
from emdp.mechanisms.oracles.bags import Bags
from emdp.mechanisms.oracles.mixed import mix
from emdp.mechanisms.oracles.oracle import FrequencyOracle
from emdp.privacy import gaussian_sigma, shuffle_alpha0
from emdp.questions.item_frequencies import ItemFrequencies
from emdp.questions.price import Price
from emdp.resources import load_dataset_module
from emdp.tables import bag_blocks
from emdp.transport.simplex import project_to_simplex

TOP = 100
DELTA = 1e-9
GAPS = [
    (10**5, 1.0, 1e-9, 100),
    (10**4, 0.5, 1e-6, 100),
    (10**4, 0.5, 1e-6, 1000),
    (10**5, 0.2, 1e-9, 1000),
    (10**4, 0.5, 1e-6, 3000),
    (10**4, 0.5, 1e-6, 10**4),
]
SHOWN = ("krr", "subset", "unary", "rappor", "hadamard", "projective", "response")


@dataclass(frozen=True)
class Given:
    """A table with its truth.

    Attributes
    ----------
    name : str
        Of what is asked.
    table : emdp.Table
        The table.
    truth : numpy.ndarray
        The average of everybody's normalised histogram.
    """

    name: str
    table: emdp.Table
    truth: Floats


def kinds() -> dict[str, type[FrequencyOracle]]:
    """Return the oracles by name."""
    return {name: METHODS[name].oracle() for name in SHOWN}  # type: ignore[misc]


def gaps() -> None:
    """Print the gap table."""
    print("| users, epsilon, delta, items | epsilon0 before | " + " | ".join(SHOWN) + " | curator | s |")
    print("|---|---|" + "---|" * (len(SHOWN) + 2))
    for users, epsilon, delta, items in GAPS:
        start, before = time.perf_counter(), shuffle_alpha0(epsilon, 1, users, delta, 1.0)
        cells = []
        for kind in kinds().values():
            was, now = kind(items, users, before), mix(kind, items, users, epsilon, delta).oracle
            deviations = " -> ".join(f"{math.sqrt(one.variance()):.3e}" for one in (was, now))
            cells.append(f"{now.epsilon:.4f}: {deviations}")
        central = gaussian_sigma(epsilon, delta, math.sqrt(2.0) / users)
        seconds = time.perf_counter() - start
        row = f"| {users}, {epsilon}, {delta:g}, {items} | {before:.4f} | " + " | ".join(cells)
        print(f"{row} | {central:.3e} | {seconds:.1f} |", flush=True)


def everybody(table: emdp.Table, neutral: int) -> Bags:
    """Return all users' bags; who has no record has the neutral item."""
    offsets, codes, counts = [np.zeros(1, dtype=np.int64)], [], []
    for block in bag_blocks(table).open():
        offsets.append(offsets[-1][-1] + block.offsets[1:] - block.offsets[0])
        codes.append(block.codes)
        counts.append(block.counts)
    absent = table.n - (sum(len(one) for one in offsets) - 1)
    offsets.append(offsets[-1][-1] + 1 + np.arange(absent))
    codes.append(np.full(absent, neutral))
    counts.append(np.ones(absent))
    whole = (np.concatenate(parts).astype(np.int64) for parts in (offsets, codes, counts))
    return Bags(*whole)


def ways(given: Given, epsilon: float) -> Iterator[tuple[str, str, str, float, Callable[[], Floats]]]:
    """Yield model, method, strength of a message, seconds of the plan, and what draws estimates."""
    items, users = given.truth.size, given.table.n
    bags = everybody(given.table, items - 1)
    with tempfile.TemporaryDirectory() as folder:
        budget = emdp.UserDP(epsilon * 1000, 1e-3)
        with emdp.Session(given.table, budget=budget, ledger=f"{folder}/own.ledger") as session:

            def central() -> Floats:
                return session.frequencies(epsilon=epsilon, delta=DELTA).frame["frequency"].to_numpy()

            start = time.perf_counter()
            session.preview(emdp.frequencies(epsilon=epsilon, delta=DELTA))
            yield "central", "histogram", "", time.perf_counter() - start, central
    before = shuffle_alpha0(epsilon, 1, users, DELTA, 1.0)
    # Sets of thousands of items for thousands of users take minutes.
    found = [(name, kind(items, users, before)) for name, kind in kinds().items() if name != "subset"]
    name, oracle = min(found, key=lambda one: float(one[1].variances(given.truth).sum()))
    yield "shuffle, before", name, f"{oracle.epsilon:.3f}", 0.0, lambda: oracle.decode(oracle.draw_tally(bags))
    for model, delta in (("shuffle", DELTA), ("local", 0.0)):
        query = ItemFrequencies(Price("epsilon", epsilon, delta), model=model)  # type: ignore[arg-type]
        start = time.perf_counter()
        plan = plan_item_frequencies(query, space=given.table.space, users=users)
        seconds = time.perf_counter() - start
        own = plan.releaser.oracle  # type: ignore[union-attr]
        method = next(one.method for one in plan.comparison if one.is_chosen)
        yield model, method, f"{own.epsilon:.3f}", seconds, lambda own=own: own.decode(own.draw_tally(bags))


def compare(given: Given, epsilon: float, rounds: int) -> None:
    """Print the lines of a table."""
    truly = set(np.argsort(-given.truth, kind="stable")[:TOP].tolist())
    for model, method, strength, planned, draw in ways(given, epsilon):
        squares, moved, right, seconds = [], [], [], []
        for _ in range(rounds):
            start = time.perf_counter()
            estimates = draw()
            seconds.append(time.perf_counter() - start)
            squares.append(float(np.square(estimates - given.truth).mean()))
            moved.append(float(np.abs(project_to_simplex(estimates) - given.truth).sum()) / 2)
            right.append(len(truly & set(np.argsort(-estimates, kind="stable")[:TOP].tolist())))
        print(
            f"| {given.name} | {model} | {method} | {strength} | {1e4 * math.sqrt(np.mean(squares)):.2f} | "
            f"{np.mean(moved):.3f} | {np.mean(right):.1f} | {planned:.1f} | {min(seconds):.1f} |",
            flush=True,
        )


def tables(wanted: argparse.Namespace, folder: Path) -> Iterator[Given]:
    """Yield the density and the words."""
    places = wanted.places
    if places is None:
        places = folder / "places.parquet"
        load_dataset_module("checkins").write_checkins(places, users=4000, records=80_000)
    own = read(places, City(44, 44))
    yield Given("cells of 0.5 km", own.cells, own.truth)
    messages, vectors = wanted.messages, wanted.vectors
    if messages is None or vectors is None:
        messages, vectors = folder / "messages.parquet", folder / "vectors.parquet"
        load_dataset_module("messages").write_messages(messages, vectors, users=5000, records=100_000)
    users = duckdb.sql(f"SELECT count(DISTINCT user_id) FROM '{messages}'").fetchall()[0][0]
    space = emdp.Words("text", vectors, on_invalid="neutral")
    table = emdp.read(messages, user="user_id", space=space, users=users)
    table.validate()
    yield Given("words", table, true_shares(table, len(space.labels) + 1))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--places", type=Path, help="a Parquet file with user_id, lat and lon")
    parser.add_argument("--messages", type=Path, help="a Parquet file with user_id and text")
    parser.add_argument("--vectors", type=Path, help="a Parquet file with word and vector")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--epsilon", type=float, nargs="*", default=(1.0,))
    wanted = parser.parse_args()
    gaps()
    with tempfile.TemporaryDirectory() as folder:
        for given in tables(wanted, Path(folder)):
            for epsilon in wanted.epsilon:
                print(f"\n{given.name}: {given.table.n} users, {given.truth.size} items, epsilon = {epsilon:g}\n")
                print("| asked | model | method | epsilon0 | rms | moved | right | planned | s |")
                print("|---|---|---|---|---|---|---|---|---|")
                compare(given, epsilon, wanted.rounds)


if __name__ == "__main__":
    main()
