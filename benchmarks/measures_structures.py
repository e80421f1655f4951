"""Structures of a measure of places, hours and kinds, simulated at the two public tables of `benchmarks/measures.py`.

`python benchmarks/measures.py --structures --rounds 2` prints for a plane of New York's size with hours, and with hours
and eight kinds, at equal weights, the distance to the truth in units of `d_X` and the expected one over it, by the
plans and the fit of the product, with noise of their law from numpy. Towns, and scattered places, have hours of their
own; a town has the kinds in an order of its own, by Zipf's law, and a scattered place has one. Distances are of at most
4000 places of the fit and 2000 cells of the truth, fits of 200 steps.
"""

import math
from typing import Any

import numpy as np
import ot
import polars as pl
from measures import prior_of

import emdp
from emdp.estimators.frequency.measure_rows import MeasureRows
from emdp.estimators.frequency.structured_measures import plan_structured
from emdp.expressions.cells.aggregation import LabelAxis
from emdp.expressions.cells.reference import hat_places

Floats = np.ndarray

KINDS = [f"kind {number}" for number in range(8)]
SIDES = (48.0, 47.0)
PLANE = emdp.Vector(["x", "y"], box=[(0, own) for own in SIDES], unit="km")
HOURS = emdp.Cycle("hour", 24)
SPACES = {
    "places, hours": emdp.Product(PLANE, HOURS),
    "places, hours, kinds": emdp.Product(PLANE, HOURS, emdp.Categories("kind", KINDS)),
}
LOSSES = (3e4, 3e5)
"""Alpha times the number of users."""

MOST, MOST_TRUE = 4000, 2000
"""Places of a fit, and cells of the truth, that a distance is computed of: the heaviest."""


def print_structures(rounds: int) -> None:
    """Print the table."""
    MeasureRows.most_steps = 200  # type: ignore[misc]
    print("| parts | loss | structure | towns | expected over it | scattered | expected over it |")
    print("|---|---|---|---|---|---|---|")
    for name, space in SPACES.items():
        for loss in LOSSES:
            names = ["joint", "given zone", *(["each given zone"] if "kind" in space.columns else []), "independent"]
            for structure in names:
                plan = plan_structured(emdp.measure(alpha=loss / 1000, structure=structure), space=space, users=1000)
                chosen = next(one for one in plan.comparison if one.is_chosen)
                expected = (chosen.expected_error, float(chosen.remark.rsplit(" ", 1)[1]))
                shown = []
                for prior, own in zip(("towns", "scattered"), expected, strict=True):
                    found = [simulated(plan, space, prior, np.random.default_rng(turn)) for turn in range(rounds)]
                    error = f" ± {np.std(found, ddof=1) / math.sqrt(rounds):.4f}" if rounds > 1 else ""
                    shown.append(f"{np.mean(found):.4f}{error} | {own / np.mean(found):.2f}")
                print(f"| {name} | {loss:g} | {structure} | " + " | ".join(shown) + " |", flush=True)


def simulated(plan: Any, space: Any, prior: str, rng: np.random.Generator) -> float:
    """Return the distance of one simulated measure, in blocks or as one, to the truth."""
    truth = table_of(prior, "kind" in space.columns, rng)
    values: list[float] = []
    for release in getattr(plan, "releases", (plan,)):
        values += noisy(release, truth, rng)
    fitted = plan.finisher.table((tuple(values),))
    known, found = (heaviest(frame, most) for frame, most in ((truth, MOST_TRUE), (fitted, MOST)))
    costs = np.concatenate(
        [space.distances(space.encode(part), space.encode(found)) for part in known.iter_slices(500)]
    )
    mass, true = (own["weight"].to_numpy() / own["weight"].sum() for own in (found, known))
    return float(ot.emd2(true, mass, costs, numItermax=10**8))


def table_of(prior: str, has_kinds: bool, rng: np.random.Generator) -> pl.DataFrame:
    """Return places with hours, and kinds, and their weights."""
    at, weights = prior_of(prior, 3, rng)
    frame = pl.DataFrame({"x": at[:, 0] * SIDES[0], "y": at[:, 1] * SIDES[1], "hour": at[:, 2] % 1.0 * 24.0 % 24.0})
    if not has_kinds:
        return frame.with_columns(pl.Series("weight", weights))
    if prior == "scattered":
        kinds = rng.integers(0, len(KINDS), len(weights))
        return frame.with_columns(pl.Series("kind", np.array(KINDS)[kinds]), pl.Series("weight", weights))
    sizes = np.maximum((4000 / np.arange(1, 41) / (1.0 / np.arange(1, 41)).sum()).astype(int), 5)
    shares = 1.0 / np.arange(1, len(KINDS) + 1)
    laws = np.array([rng.permutation(shares / shares.sum()) for _ in sizes]).repeat(sizes, axis=0)
    parts = [
        frame.with_columns(pl.lit(kind).alias("kind"), pl.Series("weight", weights * laws[:, number]))
        for number, kind in enumerate(KINDS)
    ]
    return pl.concat(parts)


def noisy(release: Any, truth: pl.DataFrame, rng: np.random.Generator) -> list[float]:
    """Return the weights of a block's nodes with noise of its mechanism's law."""
    grid, mechanism = release.finisher.grid, release.mechanisms[0]
    shape, held = tuple(axis.size for axis in grid.cells.axes), [(np.zeros(truth.height, dtype=int), 1.0)]
    for axis, column in zip(grid.cells.axes, grid.cells.columns, strict=True):
        if isinstance(axis, LabelAxis):
            codes = {cell[0]: number for number, cell in enumerate(axis.cells)}
            own = [(truth[column].replace_strict(codes).to_numpy(), 1.0)]
        else:
            below, share = hat_places(axis, truth[column].to_numpy())
            own = [(below, 1.0 - share), ((below + 1) % axis.size, share)]
        held = [(place * axis.size + at, weight * part) for place, weight in held for at, part in own]
    weights = truth["weight"].to_numpy()
    exact = sum(np.bincount(place, weight * weights, minlength=math.prod(shape)) for place, weight in held)
    edges, units = mechanism.edge_grid, mechanism.axis_units
    drawn = [
        np.rint(rng.laplace(scale=own, size=edges.edges_of(place))).astype(np.int64) if own else np.zeros(0, int)
        for place, own in enumerate(units)
    ]
    return (exact + edges.divergence(drawn) * (mechanism.grid / edges.parts)).tolist()


def heaviest(frame: pl.DataFrame, most: int) -> pl.DataFrame:
    """Return mass in cells of half a km and half an hour at their centres of mass, of the heaviest cells."""
    cell = [pl.col("x") * 2 // 1, pl.col("y") * 2 // 1, pl.col("hour") * 2 // 1]
    kinds = ["kind"] if "kind" in frame.columns else []
    means = [(pl.col(own) * pl.col("weight")).sum() / pl.col("weight").sum() for own in ("x", "y", "hour")]
    found = (
        frame.filter(pl.col("weight") > 0)
        .group_by(*(own.alias(f"c{n}") for n, own in enumerate(cell)), *kinds)
        .agg(*means, pl.col("weight").sum())
    )
    return found.select("x", "y", "hour", *kinds, "weight").sort("weight", descending=True).head(most)


if __name__ == "__main__":
    print_structures(2)
