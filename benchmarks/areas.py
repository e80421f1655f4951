"""Shares of listed areas under alpha: noise on edges along their adjacency, beside noise on every area.

    python benchmarks/areas.py [--zones 200] [--rounds 20]

A town of zones (points around a centre, at least 0.1 km apart) with declared distances; 2,000 users of 10 records, who
stay near a home. *Today* is `session.frequencies()` on the `Distances` space, by the method that it chooses, as the
nearest distribution. *White* has Laplace noise of scale `2 D/(d alpha n)` on every area, `d` the least distance, and
the nearest distribution. *Edges* are those of the Delaunay triangles of the zones' centres, each of length `l` with
Laplace noise of scale `s D/(l alpha n)`, `s` the graph's stretch: the most that its shortest paths are longer than the
distances. A record that moves from one zone to another is a flow along the shortest path, whose cost is its length over
`s D/(alpha n)`, and so at most `alpha n` times the distance over `D`: `(alpha, 0)` d_EM-DP by the flow mechanism
(`emdp/mechanisms/central/edges.py`). Then least squares in the noise's norm over the distributions. Distances are exact
(POT), in km; noise of the last two is numpy's, since the product has no edges of areas.
"""

import argparse
import math
import tempfile
from pathlib import Path

import numpy as np
import ot
import polars as pl
from scipy.sparse.csgraph import shortest_path
from scipy.spatial import Delaunay, distance_matrix

import emdp
from emdp.transport.simplex import project_to_simplex

USERS, RECORDS = 2000, 10
LEVELS = (5.0, 20.0, 80.0)
Floats = np.ndarray


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zones", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=20)
    wanted = parser.parse_args()
    rng = np.random.default_rng(1)
    places = zones(wanted.zones, rng)
    apart = distance_matrix(places, places)
    rows, truth = visits(places, apart, rng)
    edges, lengths, stretch = graph(places, apart)
    least = apart[apart > 0].min()
    print(f"{wanted.zones} zones, {len(edges)} edges, stretch {stretch:.3f}, least distance {least:.2f} km")
    print("| alpha | today | white, nearest distribution | edges, fit | white / edges |\n|---|---|---|---|---|")
    for alpha in LEVELS:
        loss = alpha * USERS / apart.max()
        white, along = [], []
        for _ in range(wanted.rounds):
            noisy = truth + rng.laplace(scale=2.0 / (least * loss), size=len(truth))
            white.append(distance(project_to_simplex(noisy), truth, apart))
            along.append(distance(by_edges(truth, edges, stretch / (lengths * loss), rng), truth, apart))
        found = [today(rows, apart, alpha, truth)] + [shown(own) for own in (white, along)]
        print(f"| {alpha:g} | {' | '.join(found)} | {np.mean(white) / np.mean(along):.1f} |", flush=True)


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


def graph(places: Floats, apart: Floats) -> tuple[Floats, Floats, float]:
    """Return edges of the triangulation, their lengths, and the stretch."""
    triangles = Delaunay(places).simplices
    edges = np.unique(
        np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [0, 2]]])), axis=0
    )
    lengths = apart[edges[:, 0], edges[:, 1]]
    weights = np.zeros_like(apart)
    weights[edges[:, 0], edges[:, 1]] = lengths
    paths = shortest_path(weights, directed=False)
    return edges, lengths, float(np.max(paths[apart > 0] / apart[apart > 0]))


def by_edges(truth: Floats, edges: Floats, scales: Floats, rng: np.random.Generator) -> Floats:
    """Return the distribution nearest, in the noise's norm, to shares with noise on edges."""
    noisy, flow = truth.copy(), rng.laplace(scale=scales)
    np.add.at(noisy, edges[:, 1], flow)
    np.add.at(noisy, edges[:, 0], -flow)
    ends = np.zeros((len(edges), len(truth)))
    ends[np.arange(len(edges)), edges[:, 0]], ends[np.arange(len(edges)), edges[:, 1]] = -1.0, 1.0
    inverse = np.linalg.pinv(ends.T @ (ends * np.square(scales)[:, None]))
    step = 1.0 / np.linalg.eigvalsh(inverse).max()
    found = ahead = np.full(len(truth), 1.0 / len(truth))
    momentum = 1.0
    for _ in range(2000):
        after = project_to_simplex(ahead - step * (inverse @ (ahead - noisy)))
        faster = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * momentum**2))
        ahead, found, momentum = after + (momentum - 1.0) / faster * (after - found), after, faster
    return found


def today(rows: pl.DataFrame, apart: Floats, alpha: float, truth: Floats) -> str:
    """Return what the product's own frequencies are off by, made a distribution."""
    names = [f"z{own}" for own in range(len(truth))]
    space = emdp.Distances("zone", names, apart)
    table = emdp.read(rows, user="user", space=space, users=USERS)
    found = []
    with tempfile.TemporaryDirectory() as folder:
        budget = emdp.EmdDP(4.0 * alpha)
        with emdp.Session(table, budget=budget, ledger=Path(folder) / "a.ledger") as session:
            for _ in range(3):
                frame = session.frequencies(alpha=alpha).frame
                values = dict(frame.select("zone", "frequency").iter_rows())
                shares = np.array([values.get(name, 0.0) for name in names])
                found.append(distance(project_to_simplex(shares), truth, apart))
    return shown(found)


def distance(shares: Floats, truth: Floats, apart: Floats) -> float:
    """Return the earth-mover distance."""
    return float(ot.emd2(shares / shares.sum(), truth, apart))


def shown(found: list[float]) -> str:
    """Return a mean with its standard error."""
    return f"{np.mean(found):.3f} ± {np.std(found, ddof=1) / math.sqrt(len(found)):.3f}"


if __name__ == "__main__":
    main()
