"""The smallest distance of two items: against the whole matrix, by a second route, and what has none."""

from typing import Any

import numpy as np
import pytest

from emdp.base.errors import UsageError
from emdp.estimators.frequency.spread import share_spread, smallest_distance
from emdp.mechanisms.items.distances import ItemDistances
from emdp.spaces import (
    Categories,
    Clusters,
    Distances,
    Elsewhere,
    Embedding,
    Geo,
    Grid,
    Interval,
    Product,
    Space,
    Vector,
    finite_items,
)

RNG = np.random.default_rng(4)
TABLE: dict[str, Any] = {"word": [f"w{i}" for i in range(60)], "x": RNG.normal(size=60), "y": RNG.normal(size=60)}
NYC = Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), unit="km")
SPACES: list[Space] = [
    Categories("kind", ["a", "b", "c"]),
    Clusters("kind", {"a": 1, "b": 1, "c": 2}, 0.3),
    Clusters("kind", {"a": 1, "b": 2, "c": 3}, 0.3),
    Distances("kind", ["a", "b", "c"], [[0, 1, 4], [1, 0, 3], [4, 3, 0]]),
    Embedding("word", TABLE),
    Embedding("word", TABLE, neutral="w3"),
    Embedding("word", TABLE, diameter=100.0),
    Grid(Interval("x", -0.3, 7.1), 13),
    Grid(Interval("x", 0, 10), 5, diameter=3.0),
    Grid(NYC, (6, 7)),
    Grid(NYC, (1, 9)),
    Grid(NYC, (9, 1)),
    Grid(Geo("lat", "lon", box=(-80, -180, 85, 180), unit="km"), (7, 12)),
    Grid(Geo("lat", "lon", box=(-85, -170, 20, 170), unit="km"), (30, 4)),
    Grid(Vector(["x", "y", "z"], box=[(0, 1), (0, 3), (-1, 1)]), (3, 4, 5)),
    Product(Grid(Interval("x", 0, 1), 4).weighted(3), Categories("kind", ["a", "b"])),
    Product(Grid(Interval("x", 0, 1), 4), Categories("c", ["only"]), Clusters("kind", {"a": 1, "b": 1, "c": 2}, 0.05)),
]


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_it_is_the_smallest_of_all_distances_rounded_down(space: Space) -> None:
    items = finite_items(space)
    assert items is not None
    computed = space.distances(items, items)
    np.fill_diagonal(computed, np.inf)
    found = smallest_distance(space)
    assert found <= computed.min()
    # On a whole globe distances are known to 1e-6 alone.
    assert found >= computed.min() * (1 - 1e-5)
    # The randomizers' own route, of the whole matrix with symmetries.
    assert found == pytest.approx(ItemDistances(space).w_min, rel=1e-5)
    assert share_spread(space) >= 1.0 / found * (1 - 1e-15)
    assert share_spread(space) <= 1.0 / found * (1 + 1e-15)


def test_large_grids_are_no_work() -> None:
    grid = Grid(NYC, (1000, 1000))
    # The narrowest step is the northernmost row's: 0.56 degrees / 1000 at 40.92 degrees.
    step = 6371.0088 * np.cos(np.radians(40.92)) * np.radians(0.56 / 1000)
    assert smallest_distance(grid) * grid.diameter == pytest.approx(step, rel=1e-4)


def test_items_at_distance_0_leave_no_constant() -> None:
    twins = Embedding("word", {"word": ["a", "b", "c"], "x": [1.0, 1.0, 2.0], "y": [0.0, 0.0, 1.0]})
    with pytest.raises(UsageError, match=r"distance 0 of each other.*merge them, or pass epsilon="):
        share_spread(twins)
    # The mean vector is an item too: here it is that of a key.
    mean = Embedding("word", {"word": ["a", "b", "c"], "x": [0.0, 1.0, 2.0], "y": [0.0, 0.0, 0.0]})
    with pytest.raises(UsageError, match="distance 0"):
        share_spread(mean)
    assert share_spread(Embedding("word", {"word": ["a", "b"], "x": [0.0, 1.0], "y": [0.0, 0.0]})) < 2.001


def test_the_point_elsewhere_may_be_the_nearest() -> None:
    kinds = Categories("kind", ["a", "b"])
    assert smallest_distance(Elsewhere(kinds)) == 1.0
    assert smallest_distance(Elsewhere(kinds, 0.5)) == 0.5
    assert smallest_distance(Elsewhere(Grid(Interval("x", 0, 1), 5), 0.5)) == smallest_distance(
        Grid(Interval("x", 0, 1), 5)
    )
