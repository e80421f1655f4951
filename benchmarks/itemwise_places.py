"""A histogram of places with equal sizes made by sampling, against the user-level Laplace baseline, in d_EM to the
truth.

Run `python benchmarks/itemwise_places.py --data ../shared/data/gowalla_nyc.parquet` from the project's root (about
two minutes on two cores); without `--data` on a generated table. Both have a long tail of people with one record.
Compared are, on one grid of cells and each with simplex projection: records sampled and randomized item by item (EMD
3 and 5) at the epsilon and distance of a stated protection; the averaged histogram with Laplace noise at user level,
at the same epsilon and at epsilon = alpha, which is what d_EM-DP promises for a whole user. The truth is the average
of everybody's normalised histogram. All draws are real; the exact values are read by the table's owner, who compares.
"""

import argparse
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt
import polars as pl

import emdp
from emdp.mechanisms import LaplaceMechanism
from emdp.randomizers import Exponential
from emdp.resources import load_dataset_module
from emdp.tables import bag_blocks
from emdp.transport.simplex import project_to_simplex

SIDE = 16
DELTA = 1e-9
PROTECTIONS = (
    emdp.Change(fraction=1 / 30, distance=5, epsilon=0.2),
    emdp.Change(fraction=0.2, distance=5, epsilon=1.0),
)


def true_shares(table: emdp.Table, cells: int) -> npt.NDArray[np.float64]:
    """Return the average of everybody's normalised histogram; who has no record counts with the neutral cell."""
    shares, present = np.zeros(cells), 0
    for block in bag_blocks(table).open():
        sizes = np.add.reduceat(block.counts, block.offsets[:-1])
        np.add.at(shares, block.codes, block.counts / np.repeat(sizes, np.diff(block.offsets)))
        present += len(block.users)
    shares[int(table.space.neutral_item[0, 0])] += table.n - present
    return shares / table.n


def distance(grid: emdp.Grid, one: npt.NDArray[np.float64], other: npt.NDArray[np.float64]) -> float:
    """Return d_EM between two histograms of cells."""
    centres = pl.DataFrame(grid.decode(grid.all_items))
    left, right = (centres.with_columns(pl.Series("weight", own)).filter(pl.col("weight") > 0) for own in (one, other))
    return emdp.d_em(left, right, grid)


def compare(table: emdp.Table, grid: emdp.Grid, samples: int, rounds: int, folder: Path) -> None:
    """Print the distances to the truth."""
    truth = true_shares(table, grid.size)
    print(f"{table.n:,} users, {grid.shape} cells, diameter {grid.diameter:.1f} {grid.unit}; {samples} records sampled")
    for number, change in enumerate(PROTECTIONS):
        moved = change.fraction * change.distance / grid.diameter
        alpha = emdp.protect(change, space=grid)
        sizes = emdp.BoundedReduction(samples=samples, r=moved)
        budget = emdp.DiscreteEmdDP(100.0 * change.epsilon, 1e-6, r=moved)
        with emdp.Session(table, budget=budget, ledger=folder / f"{number}.ledger") as session:
            start = time.perf_counter()
            answers = [
                session.itemwise(Exponential, epsilon=change.epsilon, delta=DELTA, sizes=sizes) for _ in range(rounds)
            ]
            seconds = (time.perf_counter() - start) / rounds
        own = np.mean(
            [distance(grid, project_to_simplex(answer.frame["frequency"].to_numpy()), truth) for answer in answers]
        )
        print(
            f"\nepsilon = {change.epsilon} at d_em = {moved:.4f} ({change.fraction:.3g} moved by {change.distance} km):"
        )
        print(f"  item-wise on sampled records: d_EM to the truth {own:.4f} ({seconds:.1f} s); {answers[0].choice}")
        for name, epsilon in (("the same epsilon", change.epsilon), ("epsilon = alpha", alpha)):
            noise = LaplaceMechanism(sensitivity=2.0 / table.n, alpha=epsilon, dimension=grid.size)
            found = []
            for _ in range(rounds):
                released = noise.release([Fraction(float(share)) for share in truth])
                found.append(distance(grid, project_to_simplex(np.array([float(value) for value in released])), truth))
            print(f"  user-level Laplace, {name} = {epsilon:.4g}: {np.mean(found):.4f}")


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=None, help="a Parquet file with user_id, lat, lon")
    parser.add_argument("--samples", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    box = load_dataset_module("checkins").city_box()
    grid = emdp.Grid(emdp.Geo("lat", "lon", box=box, unit="km", on_invalid="clamp"), (SIDE, SIDE))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = options.data
        if path is None:
            path = folder / "checkins.parquet"
            load_dataset_module("checkins").write_checkins(path, users=5000, records=120_000)
        users = duckdb.sql(f"SELECT count(DISTINCT user_id) FROM '{path}'").fetchall()[0][0]
        # The number of users is public; here the table's owner counts them.
        table = emdp.read(path, user="user_id", users=users, space=grid)
        table.validate()
        compare(table, grid, options.samples, options.rounds, folder)


if __name__ == "__main__":
    main()
