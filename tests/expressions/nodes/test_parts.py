"""Which part of a product a leaf speaks of."""

from typing import Any

import numpy as np
import pytest

import emdp.expressions as ex
from emdp.base.errors import UsageError
from emdp.expressions import analyse, evaluate
from emdp.expressions.nodes.leaves import DistanceTo, Dot, Similarity
from emdp.expressions.nodes.parts import check_columns, freeze_point, part_items, part_of_columns
from emdp.spaces import Categories, Embedding, Geo, Interval, Product, Vector

WORDS = Embedding("word", {"key": ["a", "b"], "u": [0.0, 1.0], "v": [1.0, 0.0]})
SPACE = Product(
    Geo("lat", "lon", box=(40.0, -74.0, 41.0, -73.0), unit="km"),
    Interval("price", 0, 50),
    Interval("age", 0, 100),
    Categories("kind", ["cafe", "bar"]),
    Categories("mood", ["good", "bar", "bad"]),
    WORDS,
)


@pytest.mark.parametrize(
    ("leaf", "index"),
    [
        (ex.distance_to((40.5, -73.5)), 0),
        (ex.distance_to([40.5, -73.5]), 0),
        (ex.distance_to(np.array([40.5, -73.5])), 0),
        (ex.distance_to((40.5, -73.5), column="lat"), 0),
        (ex.distance_to((40.5, -73.5), column=("lat", "lon")), 0),
        (ex.distance_to(3, column="price"), 1),
        (ex.distance_to(3, column="age"), 2),
        (ex.distance_to("cafe"), 3),
        (ex.distance_to("good"), 4),
        (ex.distance_to("a"), 5),
        (ex.col("age"), 2),
        (ex.col("lon"), 0),
        (ex.category_is("cafe"), 3),
        (ex.category_is("good", "bar"), 4),
        (ex.category_is("bar", column="kind"), 3),
        (ex.category_is("bar", column="mood"), 4),
        (ex.case({"cafe": 1}, otherwise=0), 3),
        (ex.dot([1, 2]), 5),
        (ex.similarity("a"), 5),
        (ex.similarity("b", column="word"), 5),
    ],
)
def test_the_only_part_that_fits_is_found(leaf: ex.Expression, index: int) -> None:
    parts = analyse(leaf, SPACE).parts
    assert [place for place, constant in enumerate(parts) if constant > 0] == [index]


@pytest.mark.parametrize(
    ("leaf", "message"),
    [
        (ex.distance_to(3), r"`distance_to\(3\)` fits several parts .* column='price' or column='age'"),
        (ex.category_is("bar"), "column='kind' or column='mood'"),
        (ex.case({"bar": 1}, otherwise=0), "column='kind' or column='mood'"),
        (ex.distance_to("zoo"), r"fits no part of the space \('lat', 'lon': "),
        (ex.distance_to((95, 0)), "latitude must be between -90"),
        (ex.category_is("zoo"), "'zoo' is none of the 2 values"),
        (ex.similarity("zoo"), "'zoo' is none of the 2 values"),
        (ex.dot([1, 2, 3]), "vector must be 2 numbers"),
        (ex.distance_to(3, column="weight"), "'weight' is no column of the space, only 'lat', 'lon', "),
        (ex.distance_to(3, column=("price", "age")), "columns 'price', 'age' belong to different parts"),
        (ex.distance_to((1, 2), column="price"), "point must be a number"),
        (ex.dot([1, 2], column="price"), "has no inner product"),
        (ex.similarity("a", column="price"), "has no vectors of labels"),
        (ex.category_is("cafe", column="price"), "has no listed values"),
        (ex.col("kind"), "has no numeric value"),
        (ex.col("nothing"), "column 'nothing' is no column of the space"),
    ],
)  # fmt: skip
def test_other_leaves_are_refused_by_name(leaf: ex.Expression, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        analyse(leaf, SPACE)
    with pytest.raises(UsageError, match=message):
        evaluate(leaf, SPACE, SPACE.neutral_item)


@pytest.mark.parametrize(
    ("leaf", "message"),
    [
        (ex.distance_to("a"), "point must be a number"),
        (ex.category_is("a"), "has no listed values"),
        (ex.dot([1]), "has no inner product"),
        (ex.similarity("a"), "has no vectors of labels"),
    ],
)
def test_a_single_space_gives_its_own_reason(leaf: ex.Expression, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        analyse(leaf, Interval("price", 0, 50))


def test_located_leaves_carry_what_an_engine_needs() -> None:
    distance = DistanceTo(((40.5, -73.5), (40.6, -73.6))).locate(SPACE)
    assert distance.index == 0
    assert [point.tolist() for point in distance.found] == [[[40.5, -73.5]], [[40.6, -73.6]]]
    assert Dot((1.0, 2.0)).locate(SPACE).found.tolist() == [1, 2]
    assert Similarity("a").locate(SPACE).found.tolist() == [0, 1]


def test_items_of_a_part_are_its_own_columns() -> None:
    space = Product(Vector(["a", "b"], radius=1), Interval("c", 0, 1))
    items = np.arange(6.0).reshape(2, 3)
    assert part_items(space, 0, items).tolist() == [[0, 1], [3, 4]]
    assert part_items(space, 1, items).tolist() == [[2], [5]]
    assert part_of_columns(space, ("c",)) == 1


@pytest.mark.parametrize("column", [3, "", (), ("lat", 3), [""]])
def test_malformed_columns_are_refused(column: Any) -> None:
    with pytest.raises((UsageError, TypeError)):
        check_columns(column)


@pytest.mark.parametrize(
    ("point", "frozen"),
    [
        ([1, 2.5], (1, 2.5)),
        (np.array([1.0, 2.0]), (1.0, 2.0)),
        (np.float64(3), 3.0),
        ("bar", "bar"),
        ([[1, 2], [3, 4]], ((1, 2), (3, 4))),
        (True, True),
    ],
)
def test_points_become_hashable(point: Any, frozen: Any) -> None:
    assert freeze_point("point", point) == frozen
    hash(freeze_point("point", point))
