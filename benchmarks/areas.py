"""Shares of listed areas under alpha: noise on edges along their adjacency, beside noise on every area.

    python benchmarks/areas.py [--zones 200] [--rounds 10]

A town of zones (points around a centre, at least 0.1 km apart) with declared distances; 2,000 users of 10 records, who
stay near a home. All by the product, with its own noise: *items* is `frequencies(adjust="simplex")`, the histogram of
all items of the space, made a distribution; *white* is `frequencies("zone", noise="laplace")`, made one;
*edges* is `frequencies("zone")`, made one; *measure* is the fit of `measure()`, with what its preview expects at towns.
Distances are exact (POT), in km.
"""

import argparse
import math
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import ot
import polars as pl
from scipy.spatial import distance_matrix

import emdp
from emdp.transport.simplex import project_to_simplex

USERS, RECORDS = 2000, 10
LEVELS = (5.0, 20.0, 80.0)
TODAY = 3
"""Rounds of today's way, whose error is the largest."""
Floats = np.ndarray


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zones", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=10)
    wanted = parser.parse_args()
    rng = np.random.default_rng(1)
    places = zones(wanted.zones, rng)
    apart = distance_matrix(places, places)
    rows, truth = visits(places, apart, rng)
    least = apart[apart > 0].min()
    print(f"{wanted.zones} zones, least distance {least:.2f} km")
    print("| alpha | items | white | edges | measure | expected | over measured |\n|---|---|---|---|---|---|---|")
    names = [f"z{own}" for own in range(len(truth))]
    space = emdp.Distances("zone", names, apart, unit="km")
    table = emdp.read(rows, user="user", space=space, users=USERS)
    with tempfile.TemporaryDirectory() as folder:
        budget, ledger = emdp.EmdDP(1e6), Path(folder) / "a.ledger"
        with emdp.Session(table, budget=budget, ledger=ledger) as session:
            for alpha in LEVELS:
                off = partial(distance_of, names, truth, apart)
                print(row(session, alpha, wanted.rounds, off, space.diameter), flush=True)


def row(session: emdp.Session, alpha: float, rounds: int, off: Callable[..., float], diameter: float) -> str:
    """Return a line of the table."""
    found: dict[str, list[float]] = {"today": [], "white": [], "edges": [], "measure": []}
    for turn in range(rounds):
        name = f"a{alpha:g}_{turn}"
        if turn < TODAY:
            found["today"].append(
                off(session.frequencies(alpha=alpha, adjust="simplex", name=f"t{name}").frame, f"t{name}")
            )
        white = session.frequencies("zone", alpha=alpha, noise="laplace", name=f"w{name}")
        found["white"].append(off(white.frame, f"w{name}"))
        found["edges"].append(off(session.frequencies("zone", alpha=alpha, name=f"e{name}").frame, f"e{name}"))
        found["measure"].append(off(session.measure(alpha=alpha, name=f"m{name}").table(), "weight"))
    expected = session.preview(emdp.measure(alpha=alpha)).comparison["expected_error"].min() * diameter
    ratio = expected / float(np.mean(found["measure"]))
    return f"| {alpha:g} | {' | '.join(shown(own) for own in found.values())} | {expected:.3f} | {ratio:.2f} |"


def distance_of(names: list[str], truth: Floats, apart: Floats, frame: pl.DataFrame, column: str) -> float:
    """Return how far shares, made a distribution, are from the truth."""
    values = dict(frame.select("zone", column).iter_rows())
    shares = project_to_simplex(np.array([values.get(name, 0.0) for name in names]))
    return float(ot.emd2(shares / shares.sum(), truth, apart))


def zones(count: int, rng: np.random.Generator) -> Floats:
    """Return centres of zones, denser in the middle."""
    found = [np.zeros(2)]
    while len(found) < count:
        one = rng.normal(scale=5.0, size=2)
        if min(np.linalg.norm(one - own) for own in found) > 0.1:
            found.append(one)
    return np.array(found)


def visits(places: Floats, apart: Floats, rng: np.random.Generator) -> tuple[pl.DataFrame, Floats]:
    """Return records, and the shares of zones in which every user weighs the same."""
    homes = rng.choice(len(places), USERS, p=np.sort(rng.dirichlet(np.full(len(places), 0.3))))
    near = np.exp(-apart / 2.0)
    at = np.array([rng.choice(len(places), RECORDS, p=near[home] / near[home].sum()) for home in homes])
    rows = pl.DataFrame({"user": np.repeat(np.arange(USERS), RECORDS), "zone": [f"z{own}" for own in at.ravel()]})
    return rows, np.bincount(at.ravel(), minlength=len(places)) / at.size


def shown(found: list[float]) -> str:
    """Return a mean with its standard error."""
    return f"{np.mean(found):.3f} ± {np.std(found, ddof=1) / math.sqrt(len(found)):.3f}"


if __name__ == "__main__":
    main()
