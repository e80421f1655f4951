"""Structures of a measure of places and hours, simulated at the two public tables of `benchmarks/measures.py`.

`python benchmarks/measures.py --structures --rounds 2` prints the distance to the truth over the rule's power of
``V/loss`` on a unit cube, by the sum metric of a plane and a third axis: of one measure (`joint`), of places at 0.6 and
all axes at 0.4 of alpha, joined (`given zone`), and of places at 0.8 and the third axis at 0.2 (`independent`). Towns,
and scattered places, have hours of their own. Distances are of at most 6000 places and 3000 cells of the truth.
"""

import math

import numpy as np
import ot
from measures import hats, prior_of

from emdp.estimators.frequency.measure_cells import BY_MOVES
from emdp.estimators.frequency.measure_structures import FACTORS, LENGTHS, SHARES
from emdp.transport.fit import FitAxis, fit_measure

Floats = np.ndarray

MOST, MOST_TRUE = 6000, 3000
"""Places of a fit, and cells of the truth, that a distance is computed of: the heaviest."""


def print_structures(rounds: int) -> None:
    """Print the table."""
    print("| structure | length | towns | scattered |")
    print("|---|---|---|---|")
    for length in LENGTHS:
        for name in FACTORS:
            shown = []
            for prior in ("towns", "scattered"):
                found = [simulated(name, prior, length**-4, np.random.default_rng(own)) for own in range(rounds)]
                error = np.std(found, ddof=1) / math.sqrt(rounds) if rounds > 1 else math.nan
                shown.append(f"{np.mean(found):.2f} ± {error:.2f}")
            print(f"| {name} | {length:g} | {shown[0]} | {shown[1]} |", flush=True)


def simulated(name: str, prior: str, loss: float, rng: np.random.Generator) -> float:
    """Return the distance of one simulated measure, or of two that are joined, over the rule's power."""
    places, weights = prior_of(prior, 3, rng)
    if name == "joint":
        fit, middles, _ = released(places, weights, (0, 1, 2), loss, rng)
        axes = [middles] * 3
    else:
        own = SHARES[name] * loss
        plane, middles, _ = released(places, weights, (0, 1), own, rng)
        rest = loss - own
        if name == "independent":
            line, hours, _ = released(places, weights, (2,), rest, rng)
            fit = plane[:, :, None] * line
        else:
            zones, hours, pitch = released(places, weights, (0, 1, 2), rest, rng)
            fit = plane[:, :, None] * laws(zones, hours, middles, pitch)
        axes = [middles, middles, hours]
    kept = fit.ravel() > 1e-6
    at, mass = heaviest(
        np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)[kept], fit.ravel()[kept], 0.02, MOST
    )
    true, known = heaviest(places, weights, 0.012, MOST_TRUE)
    costs = ot.dist(true[:, :2], at[:, :2], metric="euclidean") + np.abs(true[:, 2:] - at[:, 2])
    typical = loss ** -BY_MOVES.power(3)
    return float(ot.emd2(known / known.sum(), mass / mass.sum(), costs, numItermax=10**8)) / typical


def released(
    places: Floats, weights: Floats, axes: tuple[int, ...], loss: float, rng: np.random.Generator
) -> tuple[Floats, Floats, float]:
    """Return the fit of some axes with Laplace noise on edges, its places along each axis, and the rule's pitch."""
    count = len(axes)
    pitch = BY_MOVES.pitches[count] * loss ** -BY_MOVES.power(count)
    nodes, finest = math.ceil(1.0 / pitch - 1e-9) + 1, {1: 60, 2: 64, 3: 32}[count]
    middles = (np.arange(most := min(math.ceil(4.0 / pitch), finest)) + 0.5) / most
    letters = "abc"[:count]
    found = np.einsum(
        ",".join(f"n{own}" for own in letters) + ",n->" + letters,
        *(hats(places[:, axis] / pitch, nodes).T for axis in axes), weights,
    )  # fmt: skip
    # moves in the plane need flows along both of its axes
    scales = [(math.sqrt(2.0) if axis < 2 else 1.0) / (pitch * loss) for axis in axes]
    for place, scale in enumerate(scales):
        size = [whole - (own == place) for own, whole in enumerate(found.shape)]
        found = found - np.diff(rng.laplace(scale=scale, size=size), axis=place, prepend=0, append=0)
    fine = hats(middles / pitch, nodes)
    return fit_measure(found.ravel(), [FitAxis(fine, "path", 2 * own**2) for own in scales], steps=300), middles, pitch


def laws(zones: Floats, hours: Floats, middles: Floats, pitch: float) -> Floats:
    """Return the hours' shares at each place: those of its zone, or of the whole where the zone is empty."""
    nodes = math.ceil(1.0 / pitch - 1e-9) + 1
    near, own = (np.minimum(np.rint(at / pitch).astype(int), nodes - 1) for at in (hours, middles))
    sums = np.zeros((nodes, nodes, len(hours)))
    for place, zone in enumerate(near):
        np.add.at(sums[zone], near, zones[place])
    total = sums.sum(axis=2, keepdims=True)
    found = np.where(total > 1e-12, sums / np.maximum(total, 1e-300), zones.sum(axis=(0, 1)))
    return found[own[:, None], own[None, :]]


def heaviest(at: Floats, mass: Floats, cell: float, most: int) -> tuple[Floats, Floats]:
    """Return mass in cells at their centres of mass, of the heaviest cells."""
    _, cells = np.unique(np.floor(at / cell) @ 1000.0 ** np.arange(3), return_inverse=True)
    sums = np.bincount(cells, mass)
    centres = np.column_stack([np.bincount(cells, mass * line) / sums for line in at.T])
    kept = np.argsort(-sums)[:most]
    return centres[kept], sums[kept]


if __name__ == "__main__":
    print_structures(2)
