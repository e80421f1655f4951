"""Both engines compute what the reference says of records and users that are elsewhere."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from user_statistics import user_statistic

import emdp
import emdp.expressions as ex
from emdp.expressions.cells.aggregation import Aggregation, HatAxis, LabelAxis, UserGroups
from emdp.expressions.nodes.base import Constant
from emdp.spaces import Categories, Embedding, Geo, Grid, Interval, Product, Space, Vector, Words
from emdp.tables import Table
from emdp.tables.engine import aggregate

ONE = Constant(1.0)
USERS = list(range(12))
TABLE = {"word": ["cat", "dog", "owl"], "vector": [[0.0, 1.0], [2.0, 0.5], [-1.0, 0.0]]}


def rows(rng: np.random.Generator, count: int = 60) -> pl.DataFrame:
    """Records of users 0 to 9, a third of them invalid somewhere."""
    x = rng.uniform(-3, 13, count)
    x[rng.random(count) < 0.1] = np.nan
    kinds = rng.choice(["a", "b", "zoo", None], count, p=[0.4, 0.4, 0.1, 0.1])
    words = rng.choice(["cat", "dog", "owl", "cow"], count)
    return pl.DataFrame(
        {
            "user": rng.integers(0, 10, count),
            "x": x,
            "y": rng.uniform(-1, 3, count),
            "kind": kinds.tolist(),
            "word": words.tolist(),
        }
    ).with_columns(pl.when(pl.col("y") > 2.5).then(None).otherwise(pl.col("y")).alias("y"))


LINE = Interval("x", 0, 10, on_invalid="elsewhere")
KINDS = Categories("kind", ["a", "b"], on_invalid="elsewhere")
SPACES: dict[str, tuple[Space, tuple[ex.Expression, ...], tuple[Any, ...]]] = {
    "line": (LINE, (ex.col("x") - 5, ONE), (HatAxis(ex.col("x"), 0, 2.5, 5),)),
    "one of two parts": (
        Product(LINE, Categories("kind", ["a", "b"], on_invalid="neutral")),
        (ex.col("x") - 5, ex.category_is("a", column="kind"), ONE),
        (LabelAxis("kind", (("a",), ("b",))), HatAxis(ex.col("x"), 0, 5, 3)),
    ),
    "listed part unread": (Product(Interval("x", 0, 10, on_invalid="clamp"), KINDS), (ex.col("x") - 5, ONE), ()),
    "both parts": (Product(LINE, KINDS), (ex.col("x"), ONE), (LabelAxis("kind", (("b",),)),)),
    "ball": (Vector(["x", "y"], radius=9, on_invalid="elsewhere"), (ex.col("y"), ONE), ()),
    "cells": (
        Grid(Vector(["x", "y"], box=[(0, 10), (0, 2)], on_invalid="elsewhere"), (4, 2)),
        (ex.distance_to((5.0, 1.0)), ONE),
        (),
    ),
    "words": (
        Embedding("word", TABLE, on_invalid="elsewhere"),
        (ex.dot([1.0, 0.5]), ONE),
        (LabelAxis("word", (("cat", "dog"), ("owl",))),),
    ),
    "users alone": (Interval("x", -9, 99, on_invalid="neutral"), (ex.col("x"), ONE), ()),
}


def made(table: Table, frame: pl.DataFrame, values: tuple[ex.Expression, ...], axes: tuple[Any, ...]) -> None:
    """Compare aggregations of one kind with the reference."""
    bags = [table.space.encode(frame.filter(pl.col("user") == user)) for user in USERS]
    groups = UserGroups(
        pl.Series([str(user) for user in USERS]), pl.Series([user % 2 for user in USERS], dtype=pl.Int64), (6, 6)
    )
    for axis in ((), axes):
        for users, cap in ((None, None), (groups, None), (None, 2), (groups, 100)):
            aggregation = Aggregation(values, axis, users, cap)
            found = [[float(one) for one in own.open()] for own in aggregate(table, aggregation)]
            chosen = [bags] if users is None else [bags[0::2], bags[1::2]]
            expected = [user_statistic(aggregation, table.space, own) for own in chosen]
            for one, other in zip(found, expected, strict=True):
                assert one == pytest.approx(other.tolist(), abs=1e-11)


@pytest.mark.quarter
@pytest.mark.parametrize("name", SPACES)
def test_duckdb_computes_what_the_reference_says(name: str) -> None:
    space, values, axes = SPACES[name]
    frame = rows(np.random.default_rng(len(name)))
    made(emdp.read(frame, user="user", space=space, users=USERS, elsewhere=1), frame, values, axes)


@pytest.mark.quarter
@pytest.mark.parametrize("name", SPACES)
def test_duckdb_fills_bags_up_to_the_slots(name: str) -> None:
    space, values, axes = SPACES[name]
    frame = rows(np.random.default_rng(len(name)))
    # Some users have more records than slots, most have fewer that are somewhere.
    made(emdp.read(frame, user="user", space=space, users=USERS, slots=4), frame, values, axes)


def test_spark_computes_what_the_reference_says(spark: Any) -> None:
    for name in ("one of two parts", "listed part unread", "ball"):
        space, values, axes = SPACES[name]
        frame = rows(np.random.default_rng(len(name)))
        source = spark.createDataFrame(frame.to_arrow(compat_level=pl.CompatLevel.oldest()))
        for more in ({"elsewhere": 1}, {"slots": 4}):
            table = emdp.read(source, user="user", space=space, users=USERS, name="data", version="1", **more)
            made(table, frame, values, axes)


@pytest.mark.quarter
@pytest.mark.parametrize("name", SPACES)
def test_a_bag_is_what_the_space_makes_of_the_rows(name: str) -> None:
    space = SPACES[name][0]
    frame = rows(np.random.default_rng(len(name)))
    table = emdp.read(frame, user="user", space=space, users=USERS, elsewhere=1)
    for user in USERS:
        own = frame.filter(pl.col("user") == user)
        expected = table.space.encode(own) if own.height else table.space.neutral_item
        found = table.space.encode(table.bag(user))
        assert sorted(map(str, found.tolist())) == sorted(map(str, expected.tolist()))


def test_a_message_without_known_words_is_elsewhere_and_one_without_words_is_nothing() -> None:
    frame = pl.DataFrame({"user": [0, 0, 1, 2], "text": ["cat cow", "...", None, "dog"]})
    space = Words("text", TABLE, on_invalid="elsewhere")
    table = emdp.read(frame, user="user", space=space, users=[0, 1, 2, 3], elsewhere=1)
    (share,) = aggregate(table, Aggregation((ONE,)))
    assert float(share.open()[0]) == pytest.approx((0.5 + 0 + 1 + 0) / 4)
    assert table.bag(0).rows() == [("cat", False), (None, True)]


def test_places_outside_the_box_are_elsewhere_without_piling_up_at_the_border() -> None:
    box = (40.0, -75.0, 41.0, -73.0)
    frame = pl.DataFrame({"user": [0, 1, 2], "lat": [40.5, 48.0, None], "lon": [-74.0, 2.3, -74.0]})
    table = emdp.read(frame, user="user", space=Geo("lat", "lon", box, on_invalid="elsewhere"), users=3, elsewhere=1)
    aggregation = Aggregation((ONE,), (HatAxis(ex.col("lat"), 40.0, 0.5, 3),))
    (found,) = aggregate(table, aggregation)
    assert [float(one) for one in found.open()] == pytest.approx([0, 1 / 3, 0])


def test_the_rule_needs_the_point_to_be_declared() -> None:
    frame = pl.DataFrame({"user": [0], "x": [1.0]})
    for elsewhere in (None, "neutral"):
        with pytest.raises(emdp.UsageError, match=r"'x' needs elsewhere=1"):
            emdp.read(frame, user="user", space=LINE, users=1, elsewhere=elsewhere)
    for wrong in (True, "1", 0.3, [1]):
        with pytest.raises(emdp.UsageError, match="elsewhere must be"):
            emdp.read(frame, user="user", space=LINE, users=1, elsewhere=wrong)  # type: ignore[arg-type]
