"""One suite for every space: metric axioms, invalid values, JSON, and the constants of its functions."""

import dataclasses
import json
import math
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emdp.errors import InvalidItemError, UsageError
from emdp.spaces import (
    Categories,
    Clusters,
    Cycle,
    Distances,
    Embedding,
    FunctionBounds,
    Geo,
    Interval,
    Product,
    Space,
    Vector,
    Words,
    from_json,
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
    tolerance: float = 1e-12  # of d_X; near the antipode the arc sine of a double is good to 1e-8


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
    return lambda **rule: Geo("lat", "lon", box, unit, **more, **rule)


def geo_case(
    box: tuple[float, ...], points: tuple[Any, ...], *, tolerance: float = 1e-12, **more: Any
) -> Case:
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
    "geo globe": geo_case((-90.0, -180.0, 90.0, 180.0), ((12.0, 34.0), (90.0, 0.0)), tolerance=1e-7),
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
        box_rows((-1.15, 1.15), (-1.15, 1.15), (-1.15, 1.15))
        | st.sampled_from([(2.0, 0.0, 0.0), (0.0, -2.0, 0.0)]),
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
    "product": Case(
        lambda **rule: Product(
            Geo("lat", "lon", NYC, diameter=5, **rule).weighted(3),
            Cycle("hour", 24, **rule),
            Categories("kind", ["cafe", "bar"], on_invalid="neutral" if rule else "error").weighted(0.5),
        ),
        st.tuples(
            numbers(40.48, 40.92), numbers(-74.26, -73.70), numbers(0, 23), st.sampled_from(["cafe", "bar"])
        ),
        (),
    ),
}


def frame_of(space: Space, rows: list[Row]) -> pl.DataFrame:
    return pl.DataFrame(
        {name: [row[place] for row in rows] for place, name in enumerate(space.columns)}, strict=False
    )


def encoded(space: Space, rows: list[Row]) -> np.ndarray:
    return space.encode(frame_of(space, rows))


def functions(
    space: Space, case: Case
) -> Iterator[tuple[str, FunctionBounds, Callable[[np.ndarray], np.ndarray]]]:
    """Every function of the space that has a finite constant: name, bounds, values."""
    for column in space.columns:
        try:
            bounds = space.column_bounds(column)
        except UsageError:
            continue
        yield f"column {column}", bounds, lambda items, column=column: space.column_values(items, column)
    for point in case.points:
        at = space.encode_point(point)
        yield (
            f"distance to {point}",
            space.distance_bounds(at),
            lambda items, at=at: space.distance_values(items, at),
        )
    for vector in case.vectors:
        v = np.array(vector)
        yield f"inner {vector}", space.inner_bounds(v), lambda items, v=v: space.inner_values(items, v)
    for label in space.labels or ():
        yield (
            f"label {label}",
            space.label_bounds(label),
            lambda items, label=label: space.label_values(items, label),
        )


def all_items(space: Space, rows: list[Row]) -> np.ndarray:
    return np.vstack([encoded(space, rows), space.neutral_item])


@pytest.fixture(params=sorted(CASES), scope="module")
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_distances_are_a_metric_in_the_unit_interval(case: Case, data: st.DataObject) -> None:
    space = case.make()
    items = all_items(space, data.draw(st.lists(case.rows, min_size=3, max_size=8)))
    d = space.distances(items, items)
    assert d.shape == (len(items), len(items))
    assert d.min() >= 0
    assert d.max() <= 1
    assert np.array_equal(d, d.T)
    assert not np.diag(d).any()
    assert (d[:, None, :] <= d[:, :, None] + d[None, :, :] + case.tolerance).all()


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_domain_diameter_is_never_exceeded_and_default_diameter_is_it(
    case: Case, data: st.DataObject
) -> None:
    space = case.make()
    items = all_items(space, data.draw(st.lists(case.rows, min_size=2, max_size=6)))
    natural = space.natural_distances(items, items)
    assert natural.max() <= space.domain_diameter
    if not isinstance(space, Product):
        assert np.array_equal(space.distances(items, items), np.minimum(natural / space.diameter, 1.0))
    assert space.is_truncated == (space.diameter < space.domain_diameter)


@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_items_survive_decoding_and_pairwise_reads_frames(case: Case, data: st.DataObject) -> None:
    space = case.make()
    rows = data.draw(st.lists(case.rows, min_size=1, max_size=5))
    items = encoded(space, rows)
    assert items.shape == (len(rows), space.width)
    assert items.dtype == np.float64
    assert np.array_equal(space.encode(space.decode(items)), items)
    frame = frame_of(space, rows)
    expected = space.distances(items, items)
    assert np.array_equal(space.pairwise(frame, frame.to_arrow()), expected)
    assert space.valid_mask(frame).tolist() == [True] * len(rows)


def test_empty_frames_have_no_items(case: Case) -> None:
    space = case.make()
    none = pl.DataFrame({name: [] for name in space.columns}, schema=dict.fromkeys(space.columns, pl.Null))
    assert space.encode(none).shape == (0, space.width)
    assert space.pairwise(none, none).shape == (0, 0)
    assert space.valid_mask(none).shape == (0,)


@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_invalid_values_follow_the_declared_rule(case: Case, data: st.DataObject) -> None:
    valid = data.draw(case.rows)
    for rule in case.rules:
        space = case.make(on_invalid=rule)
        own = encoded(space, [valid])[0]
        for row, clamped in case.invalid:
            frame = frame_of(space, [valid, row, valid])
            assert space.valid_mask(frame).tolist() == [True, False, True]
            if rule == "error":
                with pytest.raises(InvalidItemError, match=r"^1 of 3 rows"):
                    space.encode(frame)
                continue
            items = space.encode(frame)
            assert np.array_equal(items[0], own)
            assert np.array_equal(items[2], own)
            if rule == "neutral" or clamped == NEUTRAL:
                assert np.array_equal(items[1], space.neutral_item[0])
            else:
                np.testing.assert_allclose(items[1], np.array(clamped, dtype=float), rtol=1e-14, atol=0)
            if space.neutral_item[0, 0] not in (len(space.labels or ()),):
                assert space.valid_mask(space.decode(items)).all()


def test_messages_about_invalid_values_hold_no_value() -> None:
    with pytest.raises(InvalidItemError) as caught:
        Interval("x", 0, 1).encode({"x": [0.5, 1234.5, None]})
    assert "1234" not in str(caught.value)
    assert str(caught.value).startswith("2 of 3 rows")
    with pytest.raises(InvalidItemError) as caught:
        Categories("kind", ["a"]).encode({"kind": ["secret"]})
    assert "secret" not in str(caught.value)


def test_columns_of_a_wrong_type_or_missing_are_refused(case: Case) -> None:
    space = case.make()
    wrong = {name: [[1.0]] for name in space.columns}
    with pytest.raises(UsageError, match="must hold"):
        space.encode(wrong)
    with pytest.raises(UsageError, match="no column"):
        space.encode({"elsewhere": [1.0]})


def test_rules_that_mean_nothing_are_refused(case: Case) -> None:
    if "clamp" not in case.rules:
        with pytest.raises(UsageError, match="means nothing"):
            case.make(on_invalid="clamp")
    if case.invalid:
        with pytest.raises(UsageError, match="on_invalid"):
            case.make(on_invalid="drop")


def test_json_round_trip_is_equal(case: Case) -> None:
    for rule in case.rules:
        space = case.make(on_invalid=rule)
        data = json.loads(json.dumps(space.to_json()))
        again = from_json(data)
        assert again == space
        assert hash(again) == hash(space)
        assert type(again) is type(space)
        assert again.to_json() == space.to_json()
        items = np.vstack([space.neutral_item, space.neutral_item])
        assert np.array_equal(again.distances(items, items), space.distances(items, items))
        with pytest.raises(UsageError, match="'diametre' is no key"):
            from_json({**data, "diametre": 1})
        assert case.make(on_invalid=next(iter(set(case.rules) - {rule}))) != space


def test_spaces_are_frozen_and_pickle(case: Case) -> None:
    space = case.make()
    with pytest.raises(dataclasses.FrozenInstanceError):
        space.diameter = 3.0
    again = pickle.loads(pickle.dumps(space))
    assert again == space
    assert np.array_equal(again.neutral_item, space.neutral_item)
    assert type(space).__name__ in repr(space)


def test_neutral_item_is_one_item_of_the_domain(case: Case) -> None:
    space = case.make()
    neutral = space.neutral_item
    assert neutral.shape == (1, space.width)
    if neutral[0, 0] != len(space.labels or ()):
        assert space.valid_mask(space.decode(neutral)).tolist() == [True]


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_constants_and_ranges_of_functions_are_never_exceeded(case: Case, data: st.DataObject) -> None:
    space = case.make()
    items = all_items(space, data.draw(st.lists(case.rows, min_size=2, max_size=6)))
    d = space.distances(items, items)
    for name, bounds, values_of in functions(space, case):
        values = values_of(items)
        assert values.shape == (len(items),)
        assert bounds.low <= bounds.high
        assert values.min() >= bounds.low - bounds.rounding, name
        assert values.max() <= bounds.high + bounds.rounding, name
        if bounds.lipschitz < INF:
            constant = bounds.lipschitz
            if space.is_truncated:
                constant = max(constant, bounds.high - bounds.low)
            change = np.abs(np.subtract.outer(values, values))
            slack = 2 * bounds.rounding + constant * case.tolerance
            assert (change <= constant * d + slack).all(), name


# Two rows whose values differ by the constant times d_X, for one function of each kind that a space has.
WITNESSES: list[tuple[str, str, Row, Row]] = [
    ("interval", "column x", (-3.0,), (7.1,)),
    ("interval", "distance to 100.0", (-3.0,), (7.1,)),
    ("interval cut", "column x", (0.0,), (9.0,)),
    ("cycle", "distance to 5.5", (5.5,), (16.0,)),
    ("geo", "column lat", (40.48, -74.0), (40.92, -74.0)),
    ("geo", "column lon", (40.92, -74.26), (40.92, -73.70)),
    ("geo", "distance to (40.48, -74.26)", (40.48, -74.26), (40.92, -73.70)),
    ("geo miles", "column lon", (60.0, -5.0), (60.0, 30.0)),
    ("geo globe", "column lat", (-90.0, 0.0), (90.0, 0.0)),
    ("geo antimeridian", "column lon", (-20.0, 170.0), (-20.0, 190.0)),
    ("geo antimeridian", "distance to (-15.0, -180.0)", (-15.0, 180.0), (-15.0, 190.0)),
    ("geo polar", "distance to (90.0, 0.0)", (90.0, 5.0), (70.0, 200.0)),
    ("vector box", "column x", (0.0, 0.0), (3.0, 0.0)),
    ("vector box", "distance to (0, 0)", (0.0, 0.0), (3.0, 1.0)),
    ("vector box", "inner (3.0, 2.0)", (0.0, -1.0), (3.0, 1.0)),
    ("vector ball", "inner (0.0, 0.0, 1.0)", (0.0, 0.0, -1.9), (0.0, 0.0, 1.9)),
    ("vector ball", "distance to (0.0, 10.0, 0.0)", (0.0, -2.0, 0.0), (0.0, 2.0, 0.0)),
    ("categories", "label cafe", ("cafe",), ("zoo",)),
    ("categories", "distance to cafe", ("cafe",), ("zoo",)),
    ("clusters", "label cat", ("cat",), ("dog",)),
    ("clusters", "label ten", ("ten",), ("dog",)),
    ("clusters", "distance to cat", ("cat",), ("dog",)),
    ("distances", "label A", ("A",), ("B",)),
    ("distances", "distance to A", ("A",), ("D",)),
    ("distances cut", "label 4", (3,), (4,)),
    ("embedding", "inner (7.0, -1.0, 0.5)", ("b",), ("d",)),
    ("embedding", "distance to d", ("d",), ("b",)),
    ("embedding", "label a", ("a",), ("c",)),
    ("words", "label c", ("a",), ("c",)),
    ("product", "column lat", (40.48, -74.0, 1.0, "bar"), (40.52, -74.0, 1.0, "bar")),
]


@pytest.mark.parametrize(("name", "function", "first", "second"), WITNESSES)
def test_constants_are_attained_within_one_percent(name: str, function: str, first: Row, second: Row) -> None:
    case = CASES[name]
    space = case.make()
    items = encoded(space, [first, second])
    bounds, values_of = {found: (bounds, values) for found, bounds, values in functions(space, case)}[
        function
    ]
    change = abs(float(np.diff(values_of(items))[0]))
    distance = float(space.distances(items[:1], items[1:])[0, 0])
    if name.startswith("product"):  # the part is cut at 5 km, so the range of the column is its constant
        assert bounds.lipschitz >= (bounds.high - bounds.low) / space.shares[0]
        bounds = dataclasses.replace(bounds, lipschitz=5 / 111.195 / space.shares[0])
    assert change >= 0.99 * bounds.lipschitz * distance
    assert change <= bounds.lipschitz * distance * (1 + 1e-9) + 2 * bounds.rounding


def test_structures_are_what_they_say(case: Case) -> None:
    space = case.make()
    if space.structure == "general":
        with pytest.raises(UsageError, match="no line"):
            space.line(space.neutral_item)
        return
    labels = list(space.labels or ())
    rows = [(label,) for label in labels] or [(-3.0,), (0.1,), (7.1,), (6.6,)]
    items = encoded(space, rows)
    d = space.distances(items, items)
    assert not space.is_truncated
    if space.structure == "line":
        positions = space.line(items)
        np.testing.assert_allclose(np.abs(np.subtract.outer(positions, positions)), d, rtol=0, atol=1e-15)
    elif space.structure == "discrete":
        assert np.array_equal(d, 1 - np.eye(len(rows)))
    else:
        assert isinstance(space, Clusters)
        codes = space.cluster_codes(items)
        expected = np.where(np.equal.outer(codes, codes), space.within, 1.0)
        np.fill_diagonal(expected, 0.0)
        assert np.array_equal(d, expected)


def test_structures_of_the_cases() -> None:
    found = {name: case.make().structure for name, case in CASES.items()}
    lines = {name for name, structure in found.items() if structure == "line"}
    assert lines == {"interval"}
    assert {name for name, structure in found.items() if structure == "discrete"} == {
        "categories",
        "categories of integers",
        "categories of booleans",
    }
    assert {name for name, structure in found.items() if structure == "clusters"} == {"clusters"}


def test_units_do_not_change_d_x() -> None:
    rows = {"lat": [40.5, 40.9, 40.7], "lon": [-74.2, -73.8, -74.0]}
    in_km, in_miles, in_metres = (
        Geo("lat", "lon", NYC, unit).pairwise(rows, rows) for unit in ("km", "mi", "m")
    )
    np.testing.assert_allclose(in_miles, in_km, rtol=1e-13)
    np.testing.assert_allclose(in_metres, in_km, rtol=1e-13)
    km, miles = Geo("lat", "lon", NYC, "km"), Geo("lat", "lon", NYC, "mi")
    assert km.diameter / miles.diameter == pytest.approx(1.609344, rel=1e-14)
    # Another unit of the same column: 10 dollars are 1000 cents.
    dollars = Interval("x", 0, 10, unit="dollars").pairwise({"x": [1, 2.5]}, {"x": [9]})
    cents = Interval("x", 0, 1000, unit="cents").pairwise({"x": [100, 250]}, {"x": [900]})
    np.testing.assert_allclose(cents, dollars, rtol=1e-15)
