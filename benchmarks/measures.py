"""How near a private measure comes to the truth, beside histograms of the same budget, in exact earth-mover distance.

    python benchmarks/measures.py [--data gowalla.parquet foursquare.parquet]   # the tables of docs/measures.md
    python benchmarks/measures.py --questions [--data ...]                      # questions that nobody listed
    python benchmarks/measures.py --user-level [--data ...]                     # at user level, by all noises
    python benchmarks/measures.py --pairs [--data ...]                          # two records of one user
    python benchmarks/measures.py --priors                                      # the factors of the preview
    python benchmarks/measures.py --structures                                  # those of places and hours

Without `--data` (columns `user_id`, `lat`, `lon`) the tables are two that it generates: two towns and a river in a box
of New York's size, of many users and of few. All releases are made by sessions with their own noise; the exact records
are read by the tables' owner, who compares. The truth is the density in which every user weighs the same, in cells of
0.4 km at the centres of their mass. `alpha` is that of a thirtieth of one's records moved by 5 km at epsilon 0.2, a
quarter of it, and four times as much. A histogram has the pitch that is best *in hindsight*, the measure that of its
public rule.
"""

import argparse
import itertools
import math
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import ot
import polars as pl

import emdp
from emdp.estimators.frequency.measure_cells import BY_CELLS, BY_MOVES, BY_TREE, BY_USER_EDGES
from emdp.estimators.frequency.measure_tree import LEVELS
from emdp.estimators.frequency.resistance import user_flow
from emdp.mechanisms.central.edge_grid import EdgeAxis
from emdp.mechanisms.central.tree import BRANCHING, Tree
from emdp.transport.fit import FitAxis, fit_measure
from emdp.transport.projection import project_on_blocks
from emdp.transport.simplex import project_to_simplex

BOX = (40.48, -74.26, 40.92, -73.70)
CHANGE = emdp.Change(fraction=1 / 30, distance=5.0, epsilon=0.2)
KM_NORTH, KM_EAST = 111.195, 111.195 * math.cos(math.radians(0.5 * (BOX[0] + BOX[2])))
CELL = 0.4
PITCHES = (1.0, 2.0, 3.0, 4.0)

RULES = {"edges": BY_MOVES, "nodes": BY_CELLS, "edges, users": BY_USER_EDGES, "tree": BY_TREE}
LOSSES = {
    "edges": {1: (1e2, 1e3, 1e4), 2: (5e3, 5e4, 5e5), 3: (1e4, 1e5, 1e6)},
    "nodes": {1: (1e2, 1e3, 1e4), 2: (5e2, 2e3, 8e3, 3e4), 3: (3e2, 3e3, 3e4)},
    "edges, users": {1: (1e1, 1e2, 1e3), 2: (1e2, 5e2, 2e3), 3: (3e1, 3e2, 3e3)},
    "tree": {2: (5e2, 2e3, 8e3, 3e4)},
}
"""Losses of the simulations, by the noise and the number of axes."""

Floats = np.ndarray


def main() -> None:
    """Run what was asked for, and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, nargs="*", default=[])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--factors", type=float, nargs="*", default=(0.25, 1.0, 4.0))
    parser.add_argument("--epsilons", type=float, nargs="*", default=(0.5, 1.0, 2.0))
    parser.add_argument("--questions", action="store_true")
    parser.add_argument("--user-level", action="store_true")
    parser.add_argument("--pairs", action="store_true")
    parser.add_argument("--priors", action="store_true")
    parser.add_argument("--structures", action="store_true")
    wanted = parser.parse_args()
    if wanted.structures:
        from measures_structures import print_structures

        print_structures(wanted.rounds)
        return
    if wanted.priors:
        print_priors(wanted.rounds)
        return
    with tempfile.TemporaryDirectory() as folder:
        for path in wanted.data or made(Path(folder)):
            given = Given(path, Path(folder))
            print(f"\n{given.name}: {given.users} users, alpha {given.alpha:.4g}, {given.loss:.0f} a km", flush=True)
            if wanted.user_level:
                print_user_level(given, wanted.epsilons, wanted.rounds)
            elif wanted.questions:
                print_questions(given)
            elif wanted.pairs:
                print_pairs(given, wanted.rounds)
            else:
                print_distances(given, wanted.factors, wanted.rounds)


def made(folder: Path) -> Iterator[Path]:
    """Write two tables of two towns and a river, of 7000 users and of 1000."""
    for users, each in ((7000, 20), (1000, 140)):
        rng = np.random.default_rng(users)
        # venues of two towns and along a river, each part's popularity by Zipf's law
        first = np.array([33.0, 18.0]) + 2.0 * rng.normal(size=(400, 2))
        second = np.array([14.0, 33.0]) + 3.0 * rng.normal(size=(300, 2))
        t = rng.random(300)
        river = np.column_stack([48 * t, 22 + 9 * np.sin(4 * t)]) + 0.2 * rng.normal(size=(300, 2))
        venues = np.concatenate([first, second, river])
        shares = [part / np.arange(1, size + 1) for part, size in ((0.5, 400), (0.35, 300), (0.15, 300))]
        popular = np.concatenate(
            [own * total / own.sum() for own, total in zip(shares, (0.5, 0.35, 0.15), strict=True)]
        )
        # a user goes to ten of them
        own = rng.choice(len(venues), (users, 10), p=popular)
        visited = np.take_along_axis(own, rng.integers(0, 10, (users, each)), axis=1).ravel()
        km = venues[visited] + 0.03 * rng.normal(size=(users * each, 2))
        path = folder / f"towns_and_river_{users}.parquet"
        pl.DataFrame(
            {
                "user_id": np.repeat(np.arange(users), each),
                "lat": BOX[0] + km[:, 0] / KM_NORTH,
                "lon": BOX[1] + km[:, 1] / KM_EAST,
            }
        ).write_parquet(path)
        yield path


class Given:
    """One table: its session, and the truth."""

    def __init__(self, path: Path, folder: Path) -> None:
        self.name = path.stem
        rows = pl.read_parquet(path, columns=["user_id", "lat", "lon"])
        self.users = rows.get_column("user_id").n_unique()
        space = emdp.Geo("lat", "lon", box=BOX, unit="km", on_invalid="clamp")
        self.space = space
        self.alpha = emdp.protect(CHANGE, space=space)
        self.loss = self.alpha * self.users / space.diameter
        table = emdp.read(str(path), user="user_id", space=space, users=self.users)
        budget = [emdp.EmdDP(alpha=1e9), emdp.UserDP(1e9, 0.5)]
        self.session = emdp.Session(table, budget=budget, ledger=folder / f"{self.name}.ledger")
        self.items = rows.with_columns(pl.col("lat").clip(BOX[0], BOX[2]), pl.col("lon").clip(BOX[1], BOX[3]))
        weighed = self.items.with_columns((1.0 / pl.len().over("user_id") / self.users).alias("weight"))
        self.weights = weighed.get_column("weight").to_numpy()
        km = kilometres(weighed)
        _, cells = np.unique(np.floor(km / CELL) @ np.array([100_000, 1]), return_inverse=True)
        self.mass = np.bincount(cells, self.weights)
        self.places = np.column_stack([np.bincount(cells, self.weights * own) / self.mass for own in km.T])

    def distance(self, places: Floats, weights: Floats) -> float:
        """Return the earth-mover distance to the truth in km."""
        kept = weights > 1e-9
        own = weights[kept] / weights[kept].sum()
        costs = ot.dist(self.places, places[kept], metric="euclidean")
        return float(ot.emd2(self.mass / self.mass.sum(), own, costs, numItermax=10**8))


def kilometres(frame: pl.DataFrame) -> Floats:
    """Return places in km from the box's corner."""
    north = (frame.get_column("lat").to_numpy() - BOX[0]) * KM_NORTH
    return np.column_stack([north, (frame.get_column("lon").to_numpy() - BOX[1]) * KM_EAST])


def print_distances(given: Given, factors: tuple[float, ...], rounds: int) -> None:
    """Print the table of distances."""
    print("| alpha | cells of 1 km, simplex | cells, best pitch, near in d_em | measure | expected | ratio | seconds |")
    print("|---|---|---|---|---|---|---|")
    for factor in factors:
        alpha = factor * given.alpha
        flat = repeated(lambda alpha=alpha: cells(given, 1.0, alpha, near=False), rounds)  # type: ignore[misc]
        oracle = min(
            (repeated(lambda a=alpha, h=pitch: cells(given, h, a, near=True), rounds) for pitch in PITCHES),  # type: ignore[misc]
            key=lambda found: found[0],
        )
        times: list[float] = []
        near = repeated(lambda alpha=alpha, times=times: measure(given, {"alpha": alpha}, times), rounds)  # type: ignore[misc]
        told = given.session.preview(emdp.measure(alpha=alpha)).comparison
        expected = told["expected_error"][0] * given.space.diameter
        shown = " | ".join(f"{mean:.3f} ± {error:.3f}" for mean, error in (flat, oracle, near))
        print(
            f"| {factor:g} | {shown} | {expected:.3f} | {expected / near[0]:.2f} | {np.mean(times):.1f} |", flush=True
        )


def print_user_level(given: Given, epsilons: tuple[float, ...], rounds: int) -> None:
    """Print distances at user level: a histogram at its best pitch in hindsight, and measures by all noises."""
    print(
        "| epsilon | cells, best pitch, near in d_em | measure, noise on nodes | ratio | tree | ratio "
        "| edges, delta 1e-8 | ratio | chosen without a delta, and with one |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for epsilon in epsilons:
        flat = min(
            (
                repeated(lambda e=epsilon, h=pitch: cells(given, h, e, near=True, price="epsilon"), rounds)
                for pitch in (2.0, *PITCHES[3:], 8.0)
            ),  # type: ignore[misc]
            key=lambda found: found[0],
        )
        shown = [f"{flat[0]:.3f} ± {flat[1]:.3f}"]
        for price in ({"noise": "laplace"}, {"noise": "tree"}, {"delta": 1e-8, "noise": "edges"}):
            asked = {"epsilon": epsilon, **price}
            near = repeated(lambda asked=asked: measure(given, asked, []), rounds)  # type: ignore[misc]
            told = given.session.preview(emdp.measure(**asked)).comparison.filter(pl.col("is_chosen"))
            expected = told["expected_error"][0] * given.space.diameter
            shown += [f"{near[0]:.3f} ± {near[1]:.3f}", f"{expected / near[0]:.2f}"]
        both = [given.session.preview(emdp.measure(epsilon=epsilon, delta=own)).comparison for own in (0.0, 1e-8)]
        shown.append(", ".join(own.filter(pl.col("is_chosen"))["method"][0] for own in both))
        print(f"| {epsilon:g} | " + " | ".join(shown) + " |", flush=True)


def repeated(run: Callable[[], float], rounds: int) -> tuple[float, float]:
    """Return the mean of some runs, and its standard error."""
    found = [run() for _ in range(rounds)]
    return float(np.mean(found)), float(np.std(found, ddof=1) / math.sqrt(rounds)) if rounds > 1 else math.nan


def cells(given: Given, pitch: float, level: float, *, near: bool, price: str = "alpha") -> float:
    """Return the distance of a histogram with noise on every cell, made a distribution: near in d_em, or the 2-norm."""
    frame = given.session.frequencies(pitch, noise="laplace", **{price: level}).frame
    values = frame.get_column("frequency").to_numpy()
    shape = tuple(frame.get_column(name).n_unique() for name in ("lat", "lon"))
    spread = (values + (1.0 - values.sum()) / values.size).reshape(shape)
    weights = project_on_blocks(spread).ravel() if near else project_to_simplex(values)
    return given.distance(kilometres(frame), weights)


def measure(given: Given, price: dict[str, object], times: list[float]) -> float:
    """Return the distance of a fitted measure, and keep the seconds of the fit."""
    # another name is another release
    answer = given.session.measure(name=f"m{given.session.history().height}", **price)
    start = time.perf_counter()
    table = answer.table()
    times.append(time.perf_counter() - start)
    return given.distance(kilometres(table), table.get_column("weight").to_numpy())


def print_questions(given: Given) -> None:
    """Print errors of questions that nobody listed: of a measure, of a sample of it, and asked directly together."""
    rng = np.random.default_rng(5)
    at = rng.integers(0, len(given.items), 20)
    points = list(given.items.select("lat", "lon").gather(pl.Series(at)).iter_rows())
    near = [emdp.ramp(emdp.distance_to(point), 3, 1) for point in points]
    far = [emdp.distance_to(point) for point in points[:5]]
    answer = given.session.measure(alpha=given.alpha)
    table, sample = answer.table(), answer.sample(20_000)
    print("| questions | measure | raw nodes | sample of 20,000 | asked together, expected |")
    print("|---|---|---|---|---|")
    for name, functions in (("20 shares within 1 to 3 km", near), ("5 mean distances, km", far)):
        truth = np.array([given.weights @ values(given, one, given.items) for one in functions])
        fitted = np.array([answer.mean(one)["mean"][0] for one in functions])
        raw = np.array([answer.mean(one, raw=True)["mean"][0] for one in functions])
        drawn = np.array([values(given, one, sample).mean() for one in functions])
        asked = given.session.preview(emdp.vector_mean(functions, alpha=given.alpha)).frame["expected_error"].mean()
        errors = [float(np.abs(found - truth).mean()) for found in (fitted, raw, drawn)]
        print(f"| {name} | " + " | ".join(f"{error:.4f}" for error in (*errors, asked)) + " |", flush=True)
    print(f"\n{table.height} places, {answer.frame.height} nodes")


def values(given: Given, function: object, frame: pl.DataFrame) -> Floats:
    """Return a function of some items."""
    from emdp.expressions import evaluate

    return evaluate(function, given.space, given.space.encode(frame.select("lat", "lon")))  # type: ignore[arg-type]


def print_pairs(given: Given, rounds: int) -> None:
    """Print how far two records of one user are apart: the truth, measures of pairs, and independent records."""
    print("| two records of one user | mean, km | within 2 km | over 15 km |")
    print("|---|---|---|---|")
    km, users = kilometres(given.items), given.items.get_column("user_id").rank("dense").to_numpy().astype(int) - 1
    order = np.argsort(users, kind="stable")
    own = [apart(km[part][:: len(part) // 2000 + 1]) for part in np.split(order, np.cumsum(np.bincount(users))[:-1])]
    show_pairs("truth", [np.mean(own, axis=0)])
    times, found = [], []
    for _ in range(rounds):
        answer = given.session.measure(alpha=given.alpha, pairs=True, name=f"m{given.session.history().height}")
        start = time.perf_counter()
        mean, near, far = answer.apart([2, 15]).row(0)
        times.append(time.perf_counter() - start)
        found.append(np.array([mean, near, 1.0 - far]))
    show_pairs("measure of pairs", found)
    sample = given.session.measure(alpha=given.alpha).sample(2000)
    show_pairs("independent records of a measure", [apart(kilometres(sample))])
    users = answer.synthetic_users(1000, sizes=20).partition_by("synthetic_user")
    show_pairs("1000 synthetic users of 20 records", [np.mean([apart(kilometres(one)) for one in users], axis=0)])
    print(f"\n{answer.frame.height} nodes, fit {np.mean(times):.1f} s")


def apart(km: Floats) -> Floats:
    """Return the mean distance of all pairs of some places, the share within 2 km, and that over 15 km."""
    lengths = ot.dist(km, km, metric="euclidean")
    return np.array([lengths.mean(), (lengths <= 2.0).mean(), (lengths > 15.0).mean()])


def show_pairs(name: str, found: list[Floats]) -> None:
    """Print a row of means, with standard errors of several."""
    means = np.mean(found, axis=0)
    errors = np.std(found, axis=0, ddof=1) / math.sqrt(len(found)) if len(found) > 1 else [0.0] * len(means)
    shown = [f"{own:.2f}" + (f" ± {error:.2f}" if error else "") for own, error in zip(means, errors, strict=True)]
    print(f"| {name} | " + " | ".join(shown) + " |", flush=True)


def print_priors(rounds: int) -> None:
    """Print the distance to the truth over the rule's power of ``V/loss`` at both priors, on a unit cube, simulated."""
    print("| noise | axes | loss | length | towns | scattered |")
    print("|---|---|---|---|---|---|")
    for (name, rule), axes in itertools.product(RULES.items(), (1, 2, 3)):
        for loss in LOSSES[name].get(axes, ()):
            typical = (1.0 / loss) ** rule.power(axes)
            found = [
                np.array([simulated(name, prior, axes, loss, np.random.default_rng(own)) for own in range(rounds)])
                for prior in ("towns", "scattered")
            ]
            shown = [f"{own.mean():.2f} ± {own.std(ddof=1) / math.sqrt(rounds):.2f}" for own in found]
            print(f"| {name} | {axes} | {loss:g} | {typical:.4f} | {shown[0]} | {shown[1]} |", flush=True)


def prior_of(kind: str, axes: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return places and weights: 2000 scattered ones, or 40 towns of Gaussian shape around a city, by Zipf's law."""
    if kind == "scattered":
        weights = 1.0 / np.arange(1, 2001)
        return rng.random((2000, axes)), weights / weights.sum()
    sizes = 1.0 / np.arange(1, 41)
    sizes /= sizes.sum()
    counts = np.maximum((4000 * sizes).astype(int), 5)
    centres = (0.5 + 0.12 * rng.normal(size=(40, axes))).repeat(counts, axis=0)
    radii = (0.005 + 0.02 * rng.random(40)).repeat(counts)
    places = centres + radii[:, None] * rng.normal(size=centres.shape)
    return places.clip(0, 1), (sizes / counts).repeat(counts)


def simulated(noise: str, prior: str, axes: int, loss: float, rng: np.random.Generator) -> float:
    """Return the distance of one simulated measure on a unit cube: two axes of a plane, a third by the sum metric."""
    rule = RULES[noise]
    typical = (1.0 / loss) ** rule.power(axes)
    pitch = 1.0 / (BRANCHING**LEVELS - 1) if noise == "tree" else rule.pitches[axes] * typical
    nodes, finest = math.ceil(1.0 / pitch - 1e-9) + 1, {1: 2000, 2: 190 if noise == "tree" else 110, 3: 32}[axes]
    places, weights = prior_of(prior, axes, rng)
    middles = (np.arange(count := min(math.ceil(4.0 / pitch), finest)) + 0.5) / count
    released = np.einsum(
        ",".join(f"n{'abc'[axis]}" for axis in range(axes)) + ",n->" + "abc"[:axes],
        *(hats(own / pitch, nodes).T for own in places.T), weights,
    )  # fmt: skip
    fine = hats(middles / pitch, nodes)
    if noise == "tree":
        fit = by_tree(released, fine, loss, rng)
    else:
        released, variances = noisy(noise, released, [pitch * loss] * axes, loss, rng)
        given = None if noise == "nodes" else [FitAxis(fine, "path", own) for own in variances]
        axes_of = given or [FitAxis(fine, "path", 1.0)] * axes
        fit = fit_measure(released.ravel(), axes_of, variance=None if given else 1.0, steps=300).ravel()
    kept = fit > 1e-5
    own = np.stack(np.meshgrid(*[middles] * axes, indexing="ij"), axis=-1).reshape(-1, axes)[kept]
    # the truth in cells of a hundredth of a side, at the centres of their mass
    _, cells = np.unique(np.floor(places / 0.01) @ 1000.0 ** np.arange(axes), return_inverse=True)
    mass = np.bincount(cells, weights)
    at = np.column_stack([np.bincount(cells, weights * line) / mass for line in places.T])
    costs = ot.dist(at[:, :2], own[:, :2], metric="euclidean")
    if axes == 3:
        costs += np.abs(at[:, 2:] - own[:, 2])
    return float(ot.emd2(mass / mass.sum(), fit[kept] / fit[kept].sum(), costs, numItermax=10**8)) / typical


def by_tree(released: Floats, fine: Floats, loss: float, rng: np.random.Generator) -> Floats:
    """Return the fit of nodes whose numbers are a power of 4 with noise on the blocks of a tree."""
    tree = Tree(released.shape)
    sums = np.array([float(own) for own in tree.sums(released.ravel().tolist())])
    noise = rng.laplace(scale=float(tree.change) / loss, size=len(sums))
    axes = [FitAxis(fine, "tree", 1.0)] * released.ndim
    return fit_measure(tree.estimate(sums + noise).ravel(), axes, strengths=tree.strengths, steps=300).ravel()


def noisy(
    noise: str, released: Floats, steps: list[float], loss: float, rng: np.random.Generator
) -> tuple[Floats, list[float]]:
    """Return node weights with noise of one kind, and the variance of an edge's noise along each axis."""
    if noise == "nodes":
        return released + rng.laplace(scale=2.0 / loss, size=released.shape), []
    axes = released.ndim
    scales = [(math.sqrt(2.0) if axes > 1 and axis < 2 else 1.0) / step for axis, step in enumerate(steps)]
    if noise == "edges, users":
        scales = [user_flow([EdgeAxis(size, 1.0) for size in released.shape]) / loss] * axes
    for axis, scale in enumerate(scales):
        size = [whole - (place == axis) for place, whole in enumerate(released.shape)]
        drawn = rng.normal(scale=scale, size=size) if noise == "edges, users" else rng.laplace(scale=scale, size=size)
        released = released - np.diff(drawn, axis=axis, prepend=0, append=0)
    return released, [(1.0 if noise == "edges, users" else 2.0) * scale**2 for scale in scales]


def hats(at: Floats, nodes: int) -> Floats:
    """Return what places along an axis give to its nodes, shape (nodes, places)."""
    return np.maximum(0.0, 1.0 - np.abs(np.arange(nodes)[:, None] - at))


if __name__ == "__main__":
    main()
