"""The spaces that the conformance suite runs on, one case each, and what a test does with a case."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import strategies as st

from emdp.base.errors import UsageError
from emdp.spaces import (
    Categories,
    Clusters,
    Cycle,
    Distances,
    Embedding,
    FunctionBounds,
    Geo,
    Grid,
    Interval,
    Product,
    Space,
    Vector,
    Words,
)

Row = tuple[Any, ...]
NAN, INF = math.nan, math.inf
NEUTRAL = "neutral"  # where a row of invalid values goes under "clamp", if not to another row

NYC = (40.48, -74.26, 40.92, -73.70)
TABLE = {
    "word": ["a", "b", "c", "d"],
    "vector": [[0.0, 1.0, 2.0], [3.0, -1.0, 0.5], [0.0, 1.5, 2.0], [-4.0, 0.0, 0.0]],
}
STOPS = [[0, 1, 4, 5], [1, 0, 3, 4.5], [4, 3, 0, 2], [5, 4.5, 2, 0]]


@dataclass(frozen=True)
class Case:
    """A space, rows of its domain, and invalid rows with what "clamp" makes of them."""

    make: Callable[..., Space]
    rows: st.SearchStrategy[Row]
    invalid: tuple[tuple[Row, Row | str], ...]
    points: tuple[Any, ...] = ()
    vectors: tuple[tuple[float, ...], ...] = ()
    rules: tuple[str, ...] = ("error", "clamp", "neutral")
    tolerance: float = 1e-12  # of d_X

    def frame(self, space: Space, rows: list[Row]) -> pl.DataFrame:
        columns = {name: [row[place] for row in rows] for place, name in enumerate(space.columns)}
        return pl.DataFrame(columns, strict=False)

    def items(self, space: Space, rows: list[Row]) -> np.ndarray:
        """Encoded rows."""
        return space.encode(self.frame(space, rows))

    def all_items(self, space: Space, rows: list[Row]) -> np.ndarray:
        """Encoded rows and the neutral item."""
        return np.vstack([self.items(space, rows), space.neutral_item])

    def functions(self, space: Space) -> Iterator[tuple[str, FunctionBounds, Callable[[np.ndarray], np.ndarray]]]:
        """Every function of the space that has a finite constant: name, bounds, values."""
        for column in space.columns:
            try:
                bounds = space.column_bounds(column)
            except UsageError:
                continue
            yield f"column {column}", bounds, lambda items, column=column: space.column_values(items, column)
        for point in self.points:
            at = space.encode_point(point)
            yield (
                f"distance to {point}",
                space.distance_bounds(at),
                lambda items, at=at: space.distance_values(items, at),
            )
        for vector in self.vectors:
            v = np.array(vector)
            yield f"inner {vector}", space.inner_bounds(v), lambda items, v=v: space.inner_values(items, v)
        for label in space.labels or ():
            yield (
                f"label {label}",
                space.label_bounds(label),
                lambda items, label=label: space.label_values(items, label),
            )


def numbers(low: float, high: float, *, open_end: bool = False) -> st.SearchStrategy[float]:
    return st.floats(low, high, allow_nan=False, exclude_max=open_end) | st.sampled_from(
        [low, (low + high) / 2] if open_end else [low, (low + high) / 2, high]
    )


def one(values: list[Any]) -> st.SearchStrategy[Row]:
    return st.sampled_from([(value,) for value in values])


def box_rows(*bounds: tuple[float, float]) -> st.SearchStrategy[Row]:
    return st.tuples(*(numbers(low, high) for low, high in bounds))


def geo_rows(box: tuple[float, ...]) -> st.SearchStrategy[Row]:
    return box_rows((box[0], box[2]), (box[1], box[3]))


def geo(box: tuple[float, ...], unit: str = "km", **more: Any) -> Callable[..., Space]:
    return lambda **rule: Geo("lat", "lon", box, unit, as_given=True, **more, **rule)


def geo_case(box: tuple[float, ...], points: tuple[Any, ...], *, tolerance: float = 1e-12, **more: Any) -> Case:
    south, west, north, east = box
    lat, lon = (south + north) / 2, (west + east) / 2
    invalid: tuple[tuple[Row, Row | str], ...] = (
        ((north + 1, lon), (north, lon)),
        ((lat, east + 1), (lat, east)),
        ((-INF, west - 5), (south, west)),
        ((NAN, lon), NEUTRAL),
        ((lat, None), NEUTRAL),
        ((1e300, INF), (north, east)),
    )
    return Case(geo(box, **more), geo_rows(box), invalid, points, tolerance=tolerance)


CASES: dict[str, Case] = {
    "interval": Case(
        lambda **rule: Interval("x", -3, 7.1, unit="dollars", **rule),
        st.tuples(numbers(-3, 7.1)),
        (((8.0,), (7.1,)), ((-INF,), (-3.0,)), ((INF,), (7.1,)), ((NAN,), NEUTRAL), ((None,), NEUTRAL)),
        points=(0, -3.0, 7.1, 100.0),
    ),
    "interval cut": Case(
        lambda **rule: Interval("x", 0, 1e6, diameter=10, neutral=3, **rule),
        st.tuples(numbers(0, 1e6)) | st.tuples(numbers(0, 20)),
        (((1e6 + 1,), (1e6,)), ((-1.0,), (0.0,)), ((NAN,), NEUTRAL)),
        points=(5.0, 0.0),
    ),
    "cycle": Case(
        lambda **rule: Cycle("hour", 24, unit="hours", **rule),
        st.tuples(numbers(0, 24, open_end=True)),
        (
            ((24.0,), (0.0,)),
            ((-0.5,), (23.5,)),
            ((50.0,), (2.0,)),
            ((-1e-300,), (0.0,)),
            ((INF,), NEUTRAL),
            ((NAN,), NEUTRAL),
            ((None,), NEUTRAL),
        ),
        points=(0, 5.5, 25.0),
    ),
    "geo": geo_case(NYC, ((40.7, -74.0), (40.48, -74.26), (0.0, 0.0), (-40.7, 106.02))),
    "geo cut": geo_case(NYC, ((40.7, -74.0),), diameter=5.0),
    "geo miles": geo_case((40.0, -5.0, 60.0, 30.0), ((50.0, 8.0), (89.0, 0.0)), unit="mi"),
    "geo globe": geo_case((-90.0, -180.0, 90.0, 180.0), ((12.0, 34.0), (90.0, 0.0))),
    "geo antimeridian": geo_case((-20.0, 170.0, -10.0, 190.0), ((-15.0, 180.0), (-15.0, -180.0))),
    "geo polar": geo_case((70.0, 0.0, 90.0, 360.0), ((80.0, 10.0), (90.0, 0.0), (-80.0, 10.0))),
    "vector box": Case(
        lambda **rule: Vector(["x", "y"], box=[(0, 3), (-1, 1)], **rule),
        box_rows((0, 3), (-1, 1)),
        (((4.0, 0.0), (3.0, 0.0)), ((INF, -INF), (3.0, -1.0)), ((NAN, 0.0), NEUTRAL), ((1.0, None), NEUTRAL)),
        points=((0, 0), (10.0, -7.0)),
        vectors=((1.0, 0.0), (-2.0, 0.5), (0.0, 0.0), (3.0, 2.0)),
    ),
    "vector ball": Case(
        lambda **rule: Vector(["x", "y", "z"], radius=2, unit="m", **rule),
        box_rows((-1.15, 1.15), (-1.15, 1.15), (-1.15, 1.15)) | st.sampled_from([(2.0, 0.0, 0.0), (0.0, -2.0, 0.0)]),
        (
            ((0.0, 8.0, 0.0), (0.0, 2.0, 0.0)),
            ((1e200, 0.0, 0.0), (2.0, 0.0, 0.0)),
            ((5.0, -INF, 1.0), (0.0, -2.0, 0.0)),
            ((NAN, 0.0, INF), NEUTRAL),
            ((None, 1.0, 1.0), NEUTRAL),
        ),
        points=((0, 0, 0), (2.0, 0.0, 0.0), (0.0, 10.0, 0.0)),
        vectors=((1.0, -1.0, 2.0), (0.0, 0.0, 1.0)),
    ),
    "categories": Case(
        lambda **rule: Categories("kind", ["cafe", "bar", "zoo"], neutral="bar", **rule),
        one(["cafe", "bar", "zoo"]),
        ((("park",), NEUTRAL), ((None,), NEUTRAL), (("Cafe",), NEUTRAL)),
        points=("cafe",),
        rules=("error", "neutral"),
    ),
    "categories of integers": Case(
        lambda **rule: Categories("kind", [3, -1, 2**40], **rule),
        one([3, -1, 2**40]),
        (((0,), NEUTRAL), ((None,), NEUTRAL)),
        rules=("error", "neutral"),
    ),
    "categories of booleans": Case(
        lambda **rule: Categories("kind", [True, False], **rule),
        one([True, False]),
        (((None,), NEUTRAL),),
        rules=("error", "neutral"),
    ),
    "clusters": Case(
        lambda **rule: Clusters(
            "kind", {"cat": "pet", "dog": "pet", "red": "hue", "blue": "hue", "ten": 9 * "n"}, 0.3, **rule
        ),
        one(["cat", "dog", "red", "blue", "ten"]),
        ((("green",), NEUTRAL), ((None,), NEUTRAL)),
        points=("cat", "ten"),
        rules=("error", "neutral"),
    ),
    "distances": Case(
        lambda **rule: Distances("stop", ["A", "B", "C", "D"], STOPS, unit="minutes", neutral="C", **rule),
        one(["A", "B", "C", "D"]),
        ((("E",), NEUTRAL), ((None,), NEUTRAL)),
        points=("A", "C"),
        rules=("error", "neutral"),
    ),
    "distances cut": Case(
        lambda **rule: Distances("stop", [1, 2, 3, 4], STOPS, diameter=2.5, **rule),
        one([1, 2, 3, 4]),
        (((0,), NEUTRAL), ((None,), NEUTRAL)),
        points=(1,),
        rules=("error", "neutral"),
    ),
    "embedding": Case(
        lambda **rule: Embedding("word", TABLE, **rule),
        one(["a", "b", "c", "d"]),
        ((("e",), NEUTRAL), ((None,), NEUTRAL)),
        points=("a", "d"),
        vectors=((1.0, -1.0, 2.0), (7.0, -1.0, 0.5), (0.0, 0.0, 0.0)),
        rules=("error", "neutral"),
    ),
    "embedding cut": Case(
        lambda **rule: Embedding("word", TABLE, neutral="b", diameter=3.0, **rule),
        one(["a", "b", "c", "d"]),
        ((("e",), NEUTRAL), ((None,), NEUTRAL)),
        points=("a",),
        vectors=((1.0, -1.0, 2.0),),
        rules=("error", "neutral"),
    ),
    "words": Case(
        lambda **rule: Words("text", TABLE, **rule),
        one(["a", "b", "c", "d"]),
        ((("zebra",), NEUTRAL), ((None,), NEUTRAL)),
        points=("c",),
        vectors=((1.0, 0.0, 0.0),),
        rules=("error", "neutral"),
    ),
    "grid": Case(
        lambda **rule: Grid(Interval("x", -3, 7.1, unit="dollars", **rule), 6),
        st.tuples(numbers(-3, 7.1)),
        # what an item is encoded as: the number of its cell
        (((8.0,), (5.0,)), ((-INF,), (0.0,)), ((INF,), (5.0,)), ((NAN,), NEUTRAL), ((None,), NEUTRAL)),
        points=(0, -3.0, 7.1),
    ),
    "grid cut": Case(
        lambda **rule: Grid(Interval("x", 0, 1e6, neutral=3, **rule), 1000, diameter=5e4),
        st.tuples(numbers(0, 1e6)) | st.tuples(numbers(0, 5e4)),
        (((1e6 + 1,), (999.0,)), ((-1.0,), (0.0,)), ((NAN,), NEUTRAL)),
        points=(5.0, 1e6),
    ),
    "grid of places": Case(
        lambda **rule: Grid(Geo("lat", "lon", NYC, "mi", **rule), (32, 20)),
        geo_rows(NYC),
        (((41.0, -74.0), (629.0,)), ((-INF, 0.0), (19.0,)), ((NAN, -74.0), NEUTRAL), ((40.5, None), NEUTRAL)),
        points=((40.7, -74.0), (40.48, -73.70)),
    ),
    "grid of the globe": Case(
        lambda **rule: Grid(Geo("lat", "lon", (-90.0, -180.0, 90.0, 180.0), **rule), (9, 18)),
        geo_rows((-90.0, -180.0, 90.0, 180.0)),
        (((91.0, 0.0), (153.0,)), ((NAN, 0.0), NEUTRAL)),
        points=((12.0, 34.0), (90.0, 0.0)),
    ),
    "grid of vectors": Case(
        lambda **rule: Grid(Vector(["a", "b", "c"], box=[(-1, 1), (0, 1e-3), (5, 50)], **rule), (3, 1, 4)),
        box_rows((-1, 1), (0, 1e-3), (5, 50)),
        (((2.0, -1.0, 5.0), (8.0,)), ((0.0, INF, 60.0), (7.0,)), ((0.0, NAN, 6.0), NEUTRAL)),
        points=((0.0, 0.0, 5.0),),
    ),
    "product of a grid": Case(
        lambda **rule: Product(Grid(Geo("lat", "lon", NYC, **rule), (8, 8)).weighted(3), Interval("x", 0, 1, **rule)),
        st.tuples(numbers(40.48, 40.92), numbers(-74.26, -73.70), numbers(0, 1)),
        (),
    ),
    "product": Case(
        lambda **rule: Product(
            Geo("lat", "lon", NYC, diameter=5, **rule).weighted(3),
            Cycle("hour", 24, **rule),
            Categories("kind", ["cafe", "bar"], on_invalid="neutral" if rule else "error").weighted(0.5),
        ),
        st.tuples(numbers(40.48, 40.92), numbers(-74.26, -73.70), numbers(0, 23), st.sampled_from(["cafe", "bar"])),
        (),
    ),
}


@pytest.fixture(params=sorted(CASES), scope="module")
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


@pytest.fixture(scope="session")
def cases() -> dict[str, Case]:
    return CASES
