"""How much flow a move needs: by linear programs for pairs of items, and for bags against their exact ``d_em``."""

import math

import numpy as np
import ot
import pytest

from emdp.expressions import col
from emdp.expressions.cells.aggregation import Aggregation, HatAxis, LabelAxis
from emdp.expressions.cells.errors import aggregation_sum_error
from emdp.expressions.cells.flow_bounds import flow_lipschitz, is_partition
from emdp.expressions.cells.reference import cell_values
from emdp.expressions.nodes.base import Column, Constant
from emdp.mechanisms.central.edge_grid import EdgeAxis
from emdp.spaces import Categories, Clusters, Cycle, Geo, Interval, Product, Space, Vector
from emdp.spaces.base import Floats
from emdp.spaces.combined.elsewhere import Elsewhere
from emdp.transport.distances import d_em
from tests.mechanisms.central.test_edges import least_cost

ONE = Constant(1.0)
PLANE = Vector(["x", "y"], box=[(0, 3), (0, 4)])
CITY = Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), unit="km")
HIGH = Geo("lat", "lon", box=(60.0, 0.0, 70.0, 20.0), unit="km")
KINDS = Categories("kind", ["cafe", "bar", "zoo", "inn", "gym"])


def hats(space: Space, *sizes: int) -> tuple[HatAxis, ...]:
    spans = [span for part in space.parts if part.labels is None for span in map(part.span_of, part.columns) if span]
    return tuple(
        HatAxis(Column(span.column), 0, span.high / size, size, is_periodic=True)
        if span.goes_round
        else HatAxis(Column(span.column), span.low, (span.high - span.low) / (size - 1), size)
        for span, size in zip(spans, sizes, strict=True)
    )


def listed(*values: str) -> LabelAxis:
    return LabelAxis("kind", tuple((value,) for value in values))


ALL = listed("cafe", "bar", "zoo", "inn", "gym")
CASES: dict[str, tuple[Space, tuple[HatAxis | LabelAxis, ...]]] = {
    "line": (Interval("x", 0, 10), hats(Interval("x", 0, 10), 6)),
    "cut line": (cut := Interval("x", 0, 10, diameter=3.0), hats(cut, 6)),
    "clock": (Cycle("hour", 24), hats(Cycle("hour", 24), 6)),
    "plane": (PLANE, hats(PLANE, 4, 5)),
    "wide cells": (PLANE, hats(PLANE, 3, 9)),
    "city": (CITY, hats(CITY, 5, 4)),
    "north": (HIGH, hats(HIGH, 4, 4)),
    "kinds": (KINDS, (ALL,)),
    "three kinds": (KINDS, (LabelAxis("kind", (("cafe", "bar"), ("zoo",), ("inn", "gym"))),)),
    "two kinds": (KINDS, (LabelAxis("kind", (("cafe", "bar"), ("zoo", "inn", "gym"))),)),
    "clusters": (
        Clusters("kind", {"a": "A", "b": "A", "c": "B", "d": "B"}, within=0.25),
        (listed("a", "b", "c", "d"),),
    ),
    "place and hour": (
        both := Product(PLANE.weighted(2), Cycle("hour", 24)),
        hats(both, 3, 3, 4),
    ),
    "place and kind": (mixed := Product(PLANE, KINDS.weighted(3)), (*hats(mixed, 3, 3), ALL)),
}


def edge_axes(aggregation: Aggregation, space: Space, norm: int = 1) -> tuple[EdgeAxis, ...]:
    constants = flow_lipschitz(aggregation, space, norm)
    assert constants is not None
    forms = [
        ("round" if axis.is_periodic else "path")
        if isinstance(axis, HatAxis)
        else {2: "path", 3: "round"}.get(axis.size, "listed")
        for axis in aggregation.axes
    ]
    return tuple(
        EdgeAxis(axis.size, constant, form)  # type: ignore[arg-type]
        for axis, constant, form in zip(aggregation.axes, constants, forms, strict=True)
    )


def random_items(space: Space, count: int, seed: int) -> Floats:
    rng = np.random.default_rng(seed)
    columns: dict[str, list[object]] = {}
    for part in space.parts:
        for column in part.columns:
            span = None if part.labels is not None else part.span_of(column)
            if span is None:
                columns[column] = [part.labels[i] for i in rng.integers(0, len(part.labels), count)]  # type: ignore[index]
            else:
                low = 0.0 if span.goes_round else span.low
                # ends and near pairs among them
                found = low + (span.high - low) * rng.choice([0.0, 1.0, rng.random(), rng.random()], count)
                columns[column] = np.clip(
                    found + 1e-3 * rng.random(count), low, span.high - 1e-9 * (span.high - low)
                ).tolist()
    return space.encode(columns)


@pytest.mark.quarter
@pytest.mark.parametrize("name", CASES)
def test_no_pair_of_items_needs_more_flow(name: str) -> None:
    space, axes = CASES[name]
    aggregation = Aggregation((ONE,), axes)
    edges = edge_axes(aggregation, space)
    items = random_items(space, 9, seed=len(name))
    values, distances = cell_values(aggregation, space, items), space.distances(items, items)
    ratios = [
        least_cost(edges, values[j] - values[i]) / distances[i, j]
        for i in range(9)
        for j in range(i)
        if distances[i, j] > 1e-6
    ]
    assert max(ratios) <= 1 + 1e-6


Items = dict[str, list[object]]


def tight(aggregation: Aggregation, space: Space, first: Items, second: Items) -> float:
    """The flow that a move needs over what is claimed."""
    a, b = space.encode(first), space.encode(second)
    change = cell_values(aggregation, space, b)[0] - cell_values(aggregation, space, a)[0]
    return least_cost(edge_axes(aggregation, space), change) / float(space.distances(a, b)[0, 0])


def test_constants_are_reached() -> None:
    line, axes = CASES["line"]
    assert tight(Aggregation((ONE,), axes), line, {"x": [1.0]}, {"x": [9.0]}) == pytest.approx(1.0)
    plane = Aggregation((ONE,), hats(PLANE, 4, 5))
    # a move of 45 degrees: (2, 2) -> (3, 3) needs a flow of 2; along an axis less by sqrt(2)
    assert tight(plane, PLANE, {"x": [2.0], "y": [2.0]}, {"x": [3.0], "y": [3.0]}) == pytest.approx(1.0)
    along = tight(plane, PLANE, {"x": [1.0], "y": [2.0]}, {"x": [3.0], "y": [2.0]})
    assert along == pytest.approx(1 / math.sqrt(2))
    kinds = Aggregation((ONE,), (ALL,))
    assert tight(kinds, KINDS, {"kind": ["cafe"]}, {"kind": ["gym"]}) == pytest.approx(1.0)
    # the whole of a distance that is cut must be walked
    cut_line, axes = CASES["cut line"]
    assert tight(Aggregation((ONE,), axes), cut_line, {"x": [0.0]}, {"x": [10.0]}) == pytest.approx(1.0)
    # every part of a product gets the whole of alpha: a move in both needs what is claimed, not half
    space, axes = CASES["place and kind"]
    moved = tight(
        Aggregation((ONE,), axes), space,
        {"x": [0.0], "y": [0.0], "kind": ["cafe"]}, {"x": [1.5], "y": [1.5], "kind": ["zoo"]},
    )  # fmt: skip
    assert 0.9 < moved <= 1 + 1e-9


@pytest.mark.parametrize("name", ["line", "clock", "plane", "city", "place and hour", "place and kind"])
def test_no_pair_of_bags_needs_more_than_their_distance(name: str) -> None:
    space, axes = CASES[name]
    aggregation = Aggregation((ONE,), axes)
    edges = edge_axes(aggregation, space)
    rng = np.random.default_rng(5)
    for trial in range(3):
        items = random_items(space, 9, seed=100 + trial)
        sizes = rng.integers(1, 5, 2)
        first, second = items[: sizes[0]], items[4 : 4 + sizes[1]]
        exact = d_em(space.decode(first), space.decode(second), space)
        change = cell_values(aggregation, space, second).mean(axis=0) - cell_values(aggregation, space, first).mean(
            axis=0
        )
        assert least_cost(edges, change) <= exact * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize("rho", [0.5, 0.75, 1.0])
@pytest.mark.parametrize("name", ["line", "plane", "place and kind"])
def test_whoever_is_elsewhere_is_one_more_node(name: str, rho: float) -> None:
    # pairs of bags of items and of the point elsewhere, rho from every item, against their exact distance
    inner, axes = CASES[name]
    space = Elsewhere(inner, rho)
    aggregation = Aggregation((ONE,), axes)
    edges = edge_axes(aggregation, space)
    items = random_items(inner, 5, seed=3)
    values = np.column_stack([cell_values(aggregation, inner, items), np.zeros(5)])
    nowhere = np.eye(values.shape[1])[-1]
    rng = np.random.default_rng(8)
    for _ in range(4):
        a, b = rng.dirichlet(np.ones(6), 2).round(2)
        a, b = a / a.sum(), b / b.sum()
        costs = np.full((6, 6), rho)
        costs[:5, :5] = inner.distances(items, items)
        costs[5, 5] = 0.0
        exact = float(ot.emd2(a, b, costs))
        change = (b[:5] - a[:5]) @ values + (b[5] - a[5]) * nowhere
        assert least_cost(edges, change, away=1.0 / rho) <= exact * (1 + 1e-7) + 1e-9
    # a record that leaves its cell is as far as its edge says
    assert least_cost(edges, nowhere - values[0], away=1.0 / rho) == pytest.approx(rho)


@pytest.mark.parametrize("name", CASES)
def test_the_two_norm_is_no_larger(name: str) -> None:
    space, axes = CASES[name]
    one, two = (flow_lipschitz(Aggregation((ONE,), axes), space, norm) for norm in (1, 2))
    assert one is not None
    assert two is not None
    assert all(b <= a * (1 + 1e-12) for a, b in zip(one, two, strict=True))
    if name == "plane":
        assert two[0] == pytest.approx(5.0)


def test_what_has_no_flow() -> None:
    space = Interval("x", 0, 10)
    twice = (HatAxis(Column("x"), 0, 5, 3), HatAxis(Column("x"), 0, 2, 6))
    assert flow_lipschitz(Aggregation((ONE,), twice), space, 1) is None
    assert flow_lipschitz(Aggregation((ONE,), (HatAxis(col("x") * 2, 0, 5, 5),)), space, 1) is None
    assert not is_partition(Aggregation((ONE,), (listed("cafe", "bar"),)), KINDS)
    assert is_partition(Aggregation((ONE,), (ALL,)), KINDS)


def test_errors_of_sums() -> None:
    space, axes = CASES["city"]
    aggregation = Aggregation((ONE,), axes)
    assert 2**-49 < aggregation_sum_error(aggregation, space) < 1e-12
    for wrong in (Aggregation((Constant(2.0),), axes), Aggregation((ONE,), axes, cap=3)):
        with pytest.raises(ValueError, match="aggregation"):
            aggregation_sum_error(wrong, space)
