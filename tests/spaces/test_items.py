"""All items of a finite space: their number, their order, and codes that lead back."""

import numpy as np
import pytest

from emdp.base.errors import UsageError
from emdp.spaces import (
    Categories,
    Clusters,
    Cycle,
    Distances,
    Embedding,
    Geo,
    Grid,
    Interval,
    Product,
    Space,
    Vector,
    Words,
    count_items,
    finite_items,
    item_codes,
)
from emdp.spaces.items import part_counts

TABLE = {"word": ["a", "b"], "v": [[0.0, 1.0], [2.0, 3.0]]}
KINDS = Categories("kind", ["x", "y", "z"])
CELLS = Grid(Geo("lat", "lon", (40, -75, 41, -73)), (3, 4))

FINITE: dict[str, tuple[Space, int]] = {
    "categories": (KINDS, 3),
    "clusters": (Clusters("word", {"a": 1, "b": 1, "c": 2}, 0.5), 3),
    "distances": (Distances("stop", [1, 2], [[0, 1], [1, 0]]), 2),
    "embedding with a mean vector": (Embedding("word", TABLE), 3),
    "embedding with a neutral word": (Embedding("word", TABLE, neutral="b"), 2),
    "words": (Words("text", TABLE), 3),
    "grid": (CELLS, 12),
    "product": (Product(KINDS.weighted(2), CELLS, Embedding("word", TABLE)), 108),
    "product of one": (Product(CELLS), 12),
}


@pytest.mark.parametrize("name", FINITE)
def test_items_and_codes_are_inverse(name: str) -> None:
    space, count = FINITE[name]
    items = finite_items(space)
    assert items is not None
    assert items.dtype == np.float64
    assert items.shape == (count, space.width)
    assert count_items(space) == count
    codes = item_codes(space, items)
    assert codes.dtype == np.int64
    assert codes.tolist() == list(range(count))
    assert len(np.unique(items, axis=0)) == count
    assert item_codes(space, space.neutral_item).shape == (1,)
    assert space.distances(items, items).shape == (count, count)
    assert item_codes(space, items[:0]).shape == (0,)


@pytest.mark.parametrize("space", [Interval("x", 0, 1), Cycle("h", 24), Product(KINDS, Interval("x", 0, 1))])
def test_a_continuum_has_no_list_of_items(space: Space) -> None:
    assert part_counts(space) is None
    assert count_items(space) is None
    assert finite_items(space) is None
    with pytest.raises(UsageError, match="lists no items"):
        item_codes(space, space.neutral_item)


def test_the_last_part_runs_fastest() -> None:
    space = Product(Categories("a", [1, 2]), Grid(Interval("x", 0, 1), 3))
    assert item_codes(space, np.array([[0.0, 2.0], [1.0, 0.0]])).tolist() == [2, 3]


def test_counting_makes_no_items() -> None:
    names = [[f"{letter}{number}" for letter in "abc"] for number in range(3)]
    parts = [Grid(Vector(own, box=[(0, 1)] * 3), (256, 256, 256)) for own in names]
    assert count_items(Product(*parts)) == 2**72
    with pytest.raises(UsageError, match="64-bit"):
        item_codes(Product(*parts), Product(*parts).neutral_item)


@pytest.mark.parametrize("items", [[[3.0]], [[-1.0]], [[0.5]], [[np.nan]], [[0.0, 0.0]], [0.0]])
def test_what_is_no_item_is_refused(items: object) -> None:
    with pytest.raises(UsageError, match="items"):
        item_codes(KINDS, np.array(items))
