"""Exact earth-mover distances against ``ot.emd2`` and ``scipy.optimize.linear_sum_assignment``, in one run.

Run ``python benchmarks/transport.py`` from the project's root. Both sides get the same points and compute the cost
matrix themselves. Repetitions of all candidates are interleaved and the best of each is taken, so that what else
the machine does hits them alike; parts 1 and 2 take the time of the process on its core (``--clock wall``: that on
the wall; all candidates are single-threaded), part 3 that on the wall. Part 1: uniform points of the unit square,
equal weights. Part 2: the raw records of random pairs of users of foursquare_nyc (generated check-ins where
../shared/data is absent). Part 3: many such pairs by ``d_em_pairs``, with one thread and with all cores.
"""

import argparse
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import ot
import polars as pl
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from emdp.spaces import Geo, Vector
from emdp.transport import d_em, d_em_pairs, solve_points

SIZES = (10, 20, 30, 50, 70, 100, 128, 150, 200, 300, 500, 1000, 2000, 3000)
BOX = (40.48, -74.26, 40.92, -73.70)
DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "foursquare_nyc.parquet"
MAX_PIVOTS = 10**8

# A diameter that is a power of two changes no bit of the costs but their exponent, so that both solvers make the same
# pivots: at one size, luck with pivots is worth 20 %.
SQUARE = Vector(["x", "y"], box=[(0, 1), (0, 1)], diameter=2)
CITY = Geo("lat", "lon", box=BOX, unit="km", on_invalid="clamp")

Candidates = Mapping[str, Callable[[], float]]


def best_times(
    candidates: Candidates, seconds: float, clock: Callable[[], float], *, least: int = 3
) -> dict[str, float]:
    """Return the shortest time of each candidate, in seconds, over interleaved repetitions."""
    best = dict.fromkeys(candidates, np.inf)
    end, rounds = time.perf_counter() + seconds, 0
    while rounds < least or time.perf_counter() < end:
        for name, run in candidates.items():
            start = clock()
            run()
            best[name] = min(best[name], clock() - start)
        rounds += 1
    return best


def by_assignment(costs: np.ndarray) -> float:
    rows, columns = linear_sum_assignment(costs)
    return float(costs[rows, columns].mean())


def uniform_points(n: int, seconds: float, clock: Callable[[], float]) -> None:
    rng = np.random.default_rng(n)
    X, Y = rng.random((n, 2)), rng.random((n, 2))
    P, Q = (pl.DataFrame(Z, schema=["x", "y"]) for Z in (X, Y))
    weights = ot.unif(n)
    candidates: Candidates = {
        "solve_points": lambda: SQUARE.diameter * solve_points(X, Y, SQUARE),
        "d_em": lambda: SQUARE.diameter * d_em(P, Q, SQUARE),
        "emd2": lambda: ot.emd2(weights, weights, ot.dist(X, Y, metric="euclidean"), numItermax=MAX_PIVOTS),
        "emd2, cdist": lambda: ot.emd2(weights, weights, cdist(X, Y), numItermax=MAX_PIVOTS),
        "assignment": lambda: by_assignment(cdist(X, Y)),
    }
    values = [float(run()) for run in candidates.values()]
    if np.ptp(values) > 1e-9:
        raise SystemExit(f"the candidates disagree at {n} points: {values}")
    best = best_times(candidates, seconds, clock)
    reference = best["emd2"]
    print(
        f"{n:>5} {values[0]:.8f} {1e3 * reference:>10.3f} {best['solve_points'] / reference:>13.3f}"
        f" {best['solve_points'] / best['emd2, cdist']:>16.3f} {best['d_em'] / reference:>7.3f}"
        f" {best['assignment'] / reference:>11.3f}",
        flush=True,
    )


def check_ins() -> tuple[str, dict[int, pl.DataFrame]]:
    """Return the name of the records and one frame of (lat, lon) a user."""
    if DATA.exists():
        table = pl.read_parquet(DATA, columns=["user_id", "lat", "lon"])
        name = DATA.stem
    else:
        table, name = generated_check_ins(), "generated check-ins"
    return name, {int(key[0]): part.select("lat", "lon") for key, part in table.group_by("user_id")}


def generated_check_ins() -> pl.DataFrame:
    """Return records like foursquare_nyc's: about a third of a user's are distinct places, few are shared."""
    rng = np.random.default_rng(1)
    places = np.column_stack([rng.uniform(BOX[0], BOX[2], 30_000), rng.uniform(BOX[1], BOX[3], 30_000)])
    parts = []
    for user in range(1000):
        records = int(np.clip(rng.lognormal(4.6, 0.8), 17, 2500))
        own = rng.integers(0, len(places), max(1, int(0.45 * records)))
        visits = places[own[(len(own) * rng.random(records) ** 1.7).astype(int)]]
        parts.append(pl.DataFrame(visits, schema=["lat", "lon"]).with_columns(user_id=pl.lit(user)))
    return pl.concat(parts)


def pairs_of_users(bags: dict[int, pl.DataFrame], count: int, clock: Callable[[], float]) -> None:
    keys, rng = sorted(bags), np.random.default_rng(0)
    pairs = [tuple(rng.choice(keys, 2, replace=False).tolist()) for _ in range(count)]
    items = {key: CITY.encode(bags[key]) for pair in pairs for key in pair}
    names = ("solve_points", "d_em", "emd2")
    times = []
    for left, right in pairs:
        X, Y, P, Q = items[left], items[right], bags[left], bags[right]
        candidates: Candidates = {
            "solve_points": lambda X=X, Y=Y: solve_points(X, Y, CITY),
            "d_em": lambda P=P, Q=Q: d_em(P, Q, CITY),
            "emd2": lambda X=X, Y=Y: ot.emd2(
                ot.unif(len(X)), ot.unif(len(Y)), CITY.distances(X, Y), numItermax=MAX_PIVOTS
            ),
        }
        if np.ptp([float(run()) for run in candidates.values()]) > 1e-9:
            raise SystemExit("the candidates disagree on a pair of users")
        best = best_times(candidates, 0.0, clock)
        times.append([best[name] for name in names])
    ours, frames, reference = np.array(times).T
    sizes = [len(items[key]) for pair in pairs for key in pair]
    distinct = [len(np.unique(items[key], axis=0)) for pair in pairs for key in pair]
    print(f"{count} pairs, records a user: median {np.median(sizes):.0f}, distinct {np.median(distinct):.0f}")
    for name, own in (("solve_points", ours), ("d_em", frames)):
        gain = reference / own
        print(
            f"{name:>13}: {1e3 * own.sum():.0f} ms against {1e3 * reference.sum():.0f} ms by emd2,"
            f" {reference.sum() / own.sum():.1f} times faster in all; a pair: median {np.median(gain):.1f},"
            f" 10 % {np.quantile(gain, 0.1):.1f}, 90 % {np.quantile(gain, 0.9):.1f}"
        )


def many_pairs(name: str, bags: Mapping[int, pl.DataFrame], space: Geo | Vector, count: int) -> None:
    keys, rng = sorted(bags), np.random.default_rng(1)
    pairs = [tuple(rng.choice(keys, 2, replace=False).tolist()) for _ in range(count)]
    best = best_times(
        {
            "one": lambda: float(d_em_pairs(bags, pairs, space, workers=1).sum()),
            "all": lambda: float(d_em_pairs(bags, pairs, space).sum()),
        },
        0.0,
        time.perf_counter,
        least=1,
    )
    print(
        f"{name}: {count} pairs, {count / best['one']:.0f} a second by one thread,"
        f" {count / best['all']:.0f} by all ({best['one'] / best['all']:.2f} times)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--seconds", type=float, default=3.0, help="time for each size, at least 3 repetitions")
    parser.add_argument("--pairs", type=int, default=300)
    parser.add_argument("--clock", choices=("cpu", "wall"), default="cpu")
    options = parser.parse_args()
    clock = time.process_time if options.clock == "cpu" else time.perf_counter
    print("uniform points of the unit square; times of emd2(ot.dist) in ms, the others as a share of it")
    print("    n      value   emd2 (ms)  solve_points  of emd2(cdist)    d_em  assignment")
    for n in options.sizes:
        uniform_points(n, options.seconds, clock)
    name, bags = check_ins()
    print(f"\n{name}, raw records of random pairs of users, great-circle distances")
    pairs_of_users(bags, options.pairs, clock)
    print("\nd_em_pairs, frames to distances")
    many_pairs(name, bags, CITY, 200 * options.pairs)
    rng = np.random.default_rng(2)
    clouds = {key: pl.DataFrame(rng.random((400, 2)), schema=["x", "y"]) for key in range(20)}
    many_pairs("400 distinct points a bag", clouds, SQUARE, options.pairs // 6)


if __name__ == "__main__":
    main()
