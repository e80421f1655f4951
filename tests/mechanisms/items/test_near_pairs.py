"""Near pairs of grids: their paths by brute force, alpha from them and from all pairs, what a guess is made of."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

from emdp.mechanisms.items import distances, near_pairs
from emdp.mechanisms.items.distances import ItemDistances
from emdp.mechanisms.items.exponential import Exponential
from emdp.mechanisms.items.near_pairs import GridRows, NearPairs
from emdp.mechanisms.weights import TOTAL
from emdp.privacy.blanket.accountant import blanket_alpha
from emdp.privacy.blanket.output_law import OutputLaw
from emdp.spaces import Geo, Grid, Interval, Product, Space, Vector


def plane(*shape: int, high: float = 1.0) -> Grid:
    return Grid(Vector(["x", "y"], box=[(0, 1), (0, high)]), shape)


def chart(*shape: int, north: float = 40.92) -> Grid:
    return Grid(Geo("lat", "lon", box=(40.48, -74.26, north, -73.70), unit="km"), shape)


SPACES = [
    plane(14, 14),
    plane(9, 20),
    plane(12, 14, high=0.4),
    plane(1, 60),
    chart(12, 13),
    chart(13, 12, north=44.0),
    Grid(Interval("x", 0, 10), 50),
    Grid(Vector(["x", "y", "z"], box=[(0, 1)] * 3), (6, 7, 8)),
]


@pytest.fixture(autouse=True)
def small_grids_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distances, "MOST_IN_PAIRS", 40)


def near_of(space: Space) -> tuple[ItemDistances, NearPairs]:
    items = ItemDistances(space)
    assert items.near is not None
    return items, items.near


def longest(pairs: np.ndarray, matrix: np.ndarray) -> float:
    """The stretch of paths along pairs, as they are, by Dijkstra's algorithm from every item."""
    lengths = csr_matrix((matrix[pairs[:, 0], pairs[:, 1]], tuple(pairs.T)), shape=matrix.shape)
    apart = ~np.eye(len(matrix), dtype=bool)
    return float((dijkstra(lengths)[apart] / matrix[apart]).max())


@pytest.mark.parametrize("space", SPACES, ids=lambda space: f"{space.inner.kind}-{space.shape}")
def test_paths_between_all_items_are_as_short_as_stated(space: Grid) -> None:
    items, near = near_of(space)
    brute = longest(near.pairs, items.matrix)
    assert brute <= near.stretch <= near_pairs.LONGEST
    # and the stated number is no wide margin, so that forgotten pairs would show
    assert near.stretch - 1 <= 1.02 * (brute - 1) + 1e-6
    assert len(near.pairs) < 0.8 * items.count * (items.count - 1)
    assert len(np.unique(near.pairs, axis=0)) == len(near.pairs)


@pytest.mark.parametrize(
    "space",
    [*SPACES, Grid(Geo("lat", "lon", box=(-0.01, -0.01, 0.01, 0.01), unit="km"), (8, 8))],
    ids=lambda space: f"{space.inner.kind}-{space.shape}",
)
def test_no_distance_is_farther_from_its_row_than_stated(space: Grid) -> None:
    items = ItemDistances(space)
    grid = items.grid_rows
    assert grid is not None
    places = np.stack(np.unravel_index(np.arange(items.count), space.shape))
    fixed, free = places[: grid.fixed], places[grid.fixed :]
    own = fixed[0] if grid.fixed else np.zeros(items.count, dtype=np.int64)
    ends = [np.broadcast_to(axis, (items.count, items.count)) for axis in fixed]
    apart = [np.abs(np.subtract.outer(axis, axis)) for axis in free]
    gaps = np.abs(grid.rows[(own[:, None], *ends, *apart)] - items.matrix)
    assert gaps.max() <= grid.uneven <= near_pairs.UNEVEN


def test_rows_that_differ_by_latitude_are_no_free_axis() -> None:
    items = ItemDistances(chart(13, 12, north=44.0))
    rows = GridRows.of(items.matrix, (13, 12), 0, np.arange(items.count))
    assert rows.uneven > near_pairs.UNEVEN
    assert near_pairs.near_pairs(rows) is None


@pytest.mark.parametrize(
    "space",
    [
        Grid(Vector(["x", "y"], box=[(0, 1), (0, 1)]), (12, 12), diameter=0.7),
        Product(Grid(Interval("x", 0, 1), 8), Grid(Interval("y", 0, 1), 9)),
        Grid(Interval("x", 0, 1), 30),
    ],
)
def test_all_pairs_are_looked_at_elsewhere(space: Space) -> None:
    assert ItemDistances(space).near is None


@pytest.mark.quarter
@pytest.mark.parametrize("space", SPACES[:1] + SPACES[4:5], ids=["plane", "map"])
@pytest.mark.parametrize(("alpha0", "m", "N"), [(6.0, 20, 10**5), (9.0, 5, 10**6)])
def test_alpha_from_near_pairs_is_at_least_that_from_all(space: Grid, alpha0: float, m: int, N: int) -> None:
    randomizer = Exponential(space, alpha0)
    law = randomizer.law
    assert law.stretch > 1
    alpha = blanket_alpha(law, m, N, 1e-9)
    every = blanket_alpha(OutputLaw(law.weights, law.distances), m, N, 1e-9)
    assert every <= alpha <= every * law.stretch * 1.04


@pytest.mark.quarter
@pytest.mark.parametrize("turn", [0.1, 0.2, 0.35])
def test_the_worst_pair_may_be_none_of_the_near_ones(turn: float) -> None:
    # a message of one bit whose chance rises evenly along a direction between those of near pairs
    items, near = near_of(plane(14, 14))
    places = np.stack(np.divmod(np.arange(items.count), 14), axis=1) @ [np.cos(turn), np.sin(turn)]
    ones = TOTAL // 4 + (places / places.max() * (TOTAL // 4)).astype(np.int64)
    weights = np.stack([ones, TOTAL - ones], axis=1)
    every = blanket_alpha(OutputLaw(weights, items.matrix), 4, 10**5, 1e-9)
    alpha = blanket_alpha(OutputLaw(weights, items.matrix, near.pairs, stretch=near.stretch), 4, 10**5, 1e-9)
    assert every <= alpha <= every * near.stretch * 1.001


def test_without_the_stretch_near_pairs_would_promise_too_much() -> None:
    items, near = near_of(plane(14, 14))
    turn = float(np.arctan2(1, 2 * 5.5))
    places = np.stack(np.divmod(np.arange(items.count), 14), axis=1) @ [np.cos(turn), np.sin(turn)]
    ones = TOTAL // 4 + (places / places.max() * (TOTAL // 4)).astype(np.int64)
    weights = np.stack([ones, TOTAL - ones], axis=1)
    few = near.pairs[np.abs(np.subtract(*np.divmod(near.pairs, 14)[0].T)) <= 1]
    few = few[np.abs(np.subtract(*np.divmod(few, 14)[1].T)) <= 1]
    every = blanket_alpha(OutputLaw(weights, items.matrix), 4, 10**5, 1e-9)
    bare = blanket_alpha(OutputLaw(weights, items.matrix, few), 4, 10**5, 1e-9)
    stretch = longest(few, items.matrix) * (1 + 1e-12)
    charged = blanket_alpha(OutputLaw(weights, items.matrix, few, stretch=stretch), 4, 10**5, 1e-9)
    assert bare < 0.999 * every <= charged


def test_pairs_of_the_law_are_all_near_pairs_up_to_symmetry() -> None:
    items, near = near_of(plane(9, 20))
    pairs = Exponential(plane(9, 20), 5.0).law.pairs
    assert pairs is not None
    assert len(pairs) < 0.4 * len(near.pairs)
    reached = {(int(moved[x]), int(moved[y])) for moved in items.isometries for x, y in pairs}
    assert reached == {(int(x), int(y)) for x, y in near.pairs}


@pytest.mark.parametrize("space", SPACES, ids=lambda space: f"{space.inner.kind}-{space.shape}")
def test_normalisers_are_the_sums(space: Grid) -> None:
    items = ItemDistances(space)
    assert items.grid_rows is not None
    np.testing.assert_allclose(items.grid_rows.normalisers(7.0), np.exp(-7.0 * items.matrix).sum(axis=1), rtol=1e-9)


@pytest.mark.parametrize("space", SPACES[:1] + SPACES[4:5], ids=["plane", "map"])
def test_a_large_grid_spends_its_alpha0_and_is_guessed_well(space: Grid) -> None:
    randomizer = Exponential(space, 9.0)
    assert 0.999999 <= randomizer.alpha0 / 9.0 <= 1
    guess, whole = (blanket_alpha(law, 5, 10**6, 1e-9) for law in (randomizer.sample(), randomizer.law))
    assert 0.94 <= guess / whole <= 1.001
