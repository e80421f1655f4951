"""Records made from public spaces: in the domain, of every kind of space, and read alike by the engine."""

import numpy as np
import polars as pl
import pytest

from emdp.audit.neighbours import Move, best_move, neighbours
from emdp.audit.points import PublicRecords, even_points
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
)
from emdp.tables import Table, read

VECTORS = {"word": ["sun", "moon", "star"], "vector": [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]}
PLACES = Geo("lat", "lon", box=(40.0, -75.0, 41.0, -73.0), on_invalid="clamp")
SPACES: dict[str, Space] = {
    "interval": Interval("x", -1, 3),
    "cycle": Cycle("h", 24),
    "geo": PLACES,
    "box": Vector(["a", "b", "c"], box=[(0, 1), (-2, 2), (5, 6)]),
    "ball": Vector(["a", "b"], radius=2.0),
    "categories": Categories("kind", ["bar", "inn", "zoo"], on_invalid="neutral"),
    "numbers": Categories("n", [3, 5, 8]),
    "clusters": Clusters("kind", {"bar": "eat", "inn": "eat", "zoo": "see"}, within=0.5),
    "distances": Distances("stop", ["A", "B", "C"], [[0, 1, 2], [1, 0, 1], [2, 1, 0]]),
    "embedding": Embedding("word", VECTORS),
    "words": Words("text", VECTORS, on_invalid="neutral"),
    "grid": Grid(Interval("x", 0, 1), 7),
    "product": Product(PLACES.weighted(2), Categories("kind", ["bar", "inn"])),
}


def declared(space: Space, **types: pl.DataType) -> Table:
    row = {"user": [0]}
    for part in space.parts:
        for name in part.columns:
            labels = None if isinstance(part, Grid) else part.labels
            row[name] = [0.5] if labels is None else [labels[0]]
    return read(pl.DataFrame(row), user="user", space=space, users=30)


@pytest.mark.parametrize("kind", SPACES)
def test_records_are_in_the_domain_and_differ(kind: str) -> None:
    space = SPACES[kind]
    records = PublicRecords(declared(space))
    units, frame, items = records.kept(even_points(200, records.dimension))
    assert len(units) == len(frame) == len(items) >= 190
    assert space.valid_mask(frame).all()
    assert len(np.unique(items, axis=0)) >= min(3, len(space.labels or range(3)))
    assert space.distances(items, items).max() > 0.4 or kind == "product"


@pytest.mark.slow
@pytest.mark.parametrize("kind", SPACES)
@pytest.mark.parametrize("distance", [0.07, 0.5])
def test_two_tables_differ_by_the_distance_that_was_asked_for(kind: str, distance: float) -> None:
    """The exact transport, on what the engine reads back, is a second way to the distance of a share that is moved."""
    space = SPACES[kind]
    table = declared(space)
    records = PublicRecords(table)
    move = best_move(records, lambda items: space.distances(items, items), distance)
    assert move is not None
    pair = neighbours(table, move, None)
    apart = float(space.pairwise(move.before, move.after)[0, 0])
    assert pair.distance == pytest.approx(move.moved / move.size * apart, rel=1e-6)
    assert 0.4 * distance < pair.distance <= distance * (1 + 1e-8)
    assert pair.first.n == 30


def test_times_are_made_for_their_components() -> None:
    space = Product(Categories("dow(ts)", list(range(7))), Cycle("time(ts)", 24))
    rows = pl.DataFrame({"user": [1], "ts": pl.Series(["2026-01-01 10:00:00"]).str.to_datetime(time_zone="UTC")})
    table = read(rows, user="user", space=space, users=5)
    records = PublicRecords(table)
    _, frame, items = records.kept(even_points(400, records.dimension))
    assert frame.columns == ["ts"]
    assert len(frame) >= 390
    assert set(items[:, 0]) == set(range(7))
    assert np.ptp(items[:, 1]) > 20
    move = best_move(records, lambda own: space.distances(own, own), 0.3)
    assert move is not None
    assert neighbours(table, move, None).distance > 0.2


def test_times_lie_where_the_space_has_them() -> None:
    space = Interval("year(ts)", 1990, 1993)
    rows = pl.DataFrame({"user": [1], "ts": pl.Series(["1991-01-01"]).str.to_date()})
    records = PublicRecords(read(rows, user="user", space=space, users=5))
    _, frame, items = records.kept(even_points(100, records.dimension))
    assert len(frame) == 100
    assert frame.get_column("ts").dtype == pl.Date
    assert set(items[:, 0]) == {1990, 1991, 1992, 1993}


def test_a_listed_user_changes_and_declared_records_are_kept() -> None:
    users = pl.DataFrame({"user": ["ann", "bob", "cyd"], "age": [1, 2, 3]})
    rows = pl.DataFrame({"user": ["ann"], "x": [0.5]})
    table = read(rows, user="user", space=Interval("x", 0, 1), users=users, records=4)
    row = [pl.DataFrame({"x": [value]}) for value in (0.0, 1.0)]
    pair = neighbours(table, Move(row[0], row[1], 1, 4, 1.0), None, key="bob")
    assert pair.distance == pytest.approx(0.25)
    for own in (pair.first, pair.second):
        own.validate()
        assert (own.records, own.users.frame is not None) == (4, True)
    assert sorted(pair.second.bag("bob").get_column("x")) == [0, 0, 0, 1]
    assert set(pair.second.bag("ann").get_column("x")) == {0}


def test_no_records_are_those_of_the_neutral_item() -> None:
    table = read(pl.DataFrame({"user": [1], "x": [0.5]}), user="user", space=Interval("x", 0, 1), users=9)
    row = pl.DataFrame({"x": [1.0]})
    assert neighbours(table, Move(row, row, 5, 5, 1.0), None, emptied=True).distance == pytest.approx(0.5)


def test_nothing_is_near_enough() -> None:
    space = Categories("kind", ["bar", "inn"])
    assert best_move(PublicRecords(declared(space)), lambda own: space.distances(own, own), 0.5, size=1) is None
