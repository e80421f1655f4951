"""Errors of COUNT(*) with an automatic cap beside those of the best cap, which only somebody who saw the data knows.

A tenth of epsilon = 1 buys users by octave of their records, the cap follows from these, and the count has the rest;
the best cap has all of epsilon. Errors are the root mean square over runs, noise and what is left out together.

    python benchmarks/caps.py [--runs 400] [--data ../shared/data/foursquare_nyc.parquet --user user_id]
"""

import argparse
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from emdp.mechanisms.contribution.cap import choose_cap
from emdp.mechanisms.contribution.octaves import OCTAVES, OctaveHistogram, octave_of
from emdp.privacy.guarantees.kinds import NEIGHBOURS
from emdp.resources import load_dataset_module
from emdp.testing import seeded

FIRST, REST = 0.1, 0.9
"""Shares of epsilon of the octaves and of the count."""

Totals = npt.NDArray[np.int64]


def checkins() -> Totals:
    """Return records a user of `emdp generate checkins --users 100000 --records 10000000`, by the same weights."""
    made, city, people = map(load_dataset_module, ("checkins", "city", "people"))
    activity = people.build_people(0, city.build_city(0, made.DEFAULT_VENUES), 100_000).activity
    drawn: Totals = np.random.default_rng(0).multinomial(10_000_000, activity / activity.sum())
    return drawn[drawn > 0]


def lognormal() -> Totals:
    """Return 100,000 totals evenly spaced in a lognormal law."""
    from scipy.stats import norm

    places = (np.arange(100_000) + 0.5) / 100_000
    return np.maximum(1, np.rint(np.exp(2.0 + norm.ppf(places)))).astype(np.int64)


def tables(data: Path | None, user: str) -> Iterator[tuple[str, list[Totals]]]:
    """Yield names and the totals of users; of a sample several."""
    many = checkins()
    yield "check-ins", [many]
    yield "the same, 2,000 users", [np.random.default_rng(number).choice(many, 2_000) for number in range(12)]
    yield "lognormal(2, 1)", [lognormal()]
    yield "all 100", [np.full(100_000, 100, dtype=np.int64)]
    if data is not None:
        counts: Any = pl.read_parquet(data).group_by(user).len().get_column("len")
        yield data.stem, [counts.to_numpy().astype(np.int64)]


def reached(totals: Totals, neighbours: Any, runs: int) -> float:
    """Return the relative root mean square error with an automatic cap."""
    counts = np.bincount([octave_of(int(total)) for total in totals], minlength=OCTAVES).tolist()
    histogram, whole = OctaveHistogram(FIRST, neighbours), float(totals.sum())
    squares = []
    for _ in range(runs):
        cap = float(math.ceil(choose_cap(histogram.release(counts), histogram.scale, 1.0 / REST).cap))
        squares.append((whole - float(np.minimum(totals, cap).sum())) ** 2 + 2.0 * (cap / REST) ** 2)
    return math.sqrt(float(np.mean(squares))) / whole


def best(totals: Totals) -> float:
    """Return the relative error of the best cap with all of epsilon."""
    whole = float(totals.sum())
    caps = 2.0 ** np.arange(0, 24, 0.25)
    return min(math.hypot(whole - float(np.minimum(totals, cap).sum()), math.sqrt(2.0) * cap) for cap in caps) / whole


def mean(errors: list[float]) -> float:
    """Return the root mean square."""
    return math.sqrt(math.fsum(error * error for error in errors) / len(errors))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--user", default="user_id")
    asked = parser.parse_args()
    print("| records a user | users | by removal | by replacement | best cap |\n|---|---:|---:|---:|---:|")
    for name, samples in tables(asked.data, asked.user):
        with seeded(1):
            found = [
                mean([reached(own, neighbours, max(1, asked.runs // len(samples))) for own in samples])
                for neighbours in reversed(NEIGHBOURS)
            ]
        cells = " | ".join(f"{100 * error:.3g} %" for error in (*found, mean([best(own) for own in samples])))
        print(f"| {name} | {samples[0].size:,} | {cells} |")


if __name__ == "__main__":
    main()
