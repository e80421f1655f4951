"""Cells of a regular grid: which cell holds a number, distances of centres, what is refused, exact transport."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import emdp
from emdp.base.errors import UsageError
from emdp.expressions import analyse, evaluate
from emdp.expressions.cells.aggregation import LabelAxis
from emdp.expressions.cells.reference import OUTSIDE, label_cells
from emdp.spaces import Categories, Cycle, Geo, Interval, Product, Vector, from_json
from emdp.spaces.combined.grid import MOST_CELLS, Grid, GridAxis

NYC = (40.48, -74.26, 40.92, -73.70)
GLOBE = (-90.0, -180.0, 90.0, 180.0)

INNER: dict[str, tuple[Any, Any]] = {
    "line": (Interval("x", -3, 7.1), 6),
    "tenths": (Interval("x", 0.1, 0.7), 3),
    "map": (Geo("lat", "lon", NYC), (8, 5)),
    "wide map": (Geo("lat", "lon", (-60.0, -170.0, 75.0, 170.0)), (5, 9)),
    "globe": (Geo("lat", "lon", GLOBE), (6, 12)),
    "one row": (Geo("lat", "lon", (40.0, -75.0, 40.0, -73.0)), (1, 6)),
    "small map": (Geo("lat", "lon", (40.0, -75.0, 40.0001, -74.9999)), (4, 4)),
    "box": (Vector(["a", "b"], box=[(-1, 1), (0, 3)]), (3, 4)),
    "cube": (Vector(["a", "b", "c"], box=[(-1, 1), (0, 3), (-7, 1e3)]), [3, 1, 4]),
}


@pytest.fixture(params=sorted(INNER))
def space(request: pytest.FixtureRequest) -> Grid:
    return Grid(*INNER[request.param])


def test_every_cell_holds_its_centre_and_codes_run_row_by_row(space: Grid) -> None:
    items = space.all_items
    assert items.shape == (space.size, 1)
    np.testing.assert_array_equal(space.encode(space.decode(items)), items)
    centres = np.array(list(itertools.product(*(axis.centres.tolist() for axis in space.axes))))
    np.testing.assert_array_equal(space.centres(items), centres)
    points = [space.encode_point(tuple(row) if len(row) > 1 else row[0])[0, 0] for row in centres.tolist()]
    assert points == list(range(space.size))


def test_distances_are_those_of_the_centres_in_the_inner_space(space: Grid) -> None:
    items, inner = space.all_items, space.inner
    natural = space.natural_distances(items, items)
    centres = space.centres(items)
    np.testing.assert_allclose(natural, inner.natural_distances(centres, centres), rtol=1e-12, atol=1e-9)
    assert natural.max() <= space.domain_diameter == space.diameter
    d = space.distances(items, items)
    assert d.max() <= 1
    assert (d[~np.eye(space.size, dtype=bool)] > 0).all()
    assert space.diameter <= inner.domain_diameter


@pytest.mark.parametrize("name", sorted(set(INNER) - {"wide map", "globe"}))
def test_default_diameter_is_the_largest_distance_of_centres(name: str) -> None:
    space = Grid(*INNER[name])
    assert space.natural_distances(space.all_items, space.all_items).max() >= space.diameter * (1 - 1e-9) - 1e-9


def test_default_diameter_of_a_line_is_rounded_outward() -> None:
    for count in (2, 3, 7, 49, 1000):
        space = Grid(Interval("x", 0.1, 0.7), count)
        first, last = (Fraction(float(centre)) for centre in space.axes[0].centres[[0, -1]])
        assert Fraction(space.diameter) >= last - first
        assert math.nextafter(space.diameter, 0) < last - first


def test_cells_are_half_open_and_the_last_closed() -> None:
    space = Grid(Interval("x", 0, 10), 5)
    values = [0, math.nextafter(2, 0), 2, math.nextafter(4, 0), 4, 8, math.nextafter(8, 0), 10]
    assert space.encode({"x": values})[:, 0].tolist() == [0, 0, 1, 1, 2, 4, 3, 4]
    places = Grid(Geo("lat", "lon", (40, -75, 42, -72)), (2, 3))
    rows = {"lat": [40, 40.999, 41, 42, 42], "lon": [-75, -74, -73.0001, -72, -75]}
    assert places.encode(rows)[:, 0].tolist() == [0, 1, 4, 5, 3]


@pytest.mark.parametrize(
    ("low", "high", "count"),
    [(0, 1, 10), (0.1, 0.7, 3), (-1, 0, 7), (-1e-3, 1e9, 999), (-74.26, -73.7, 32), (1e16, 1e16 + 4096, 11)],
)
def test_cells_rise_and_differ_from_exact_ones_at_an_edge_alone(low: float, high: float, count: int) -> None:
    axis = GridAxis(float(low), float(high), count)
    edges = low + np.arange(count + 1) * ((high - low) / count)
    near = [edges]
    for direction in (-np.inf, np.inf):
        near.append(np.nextafter(edges, direction))
        near.append(np.nextafter(near[-1], direction))
    values = np.sort(np.concatenate([*near, np.random.default_rng(1).uniform(low, high, 2000)]))
    values = values[(values >= low) & (values <= high)]
    cells = axis.cells(values)
    assert (np.diff(cells) >= 0).all()
    assert cells[0] == 0
    assert cells[-1] == count - 1
    width = (Fraction(high) - Fraction(low)) / count
    slack = 4 * 2.0**-53 * (count + max(abs(low), abs(high)) / float(width))
    for value, cell in zip(values.tolist(), cells.tolist(), strict=True):
        place = (Fraction(value) - Fraction(low)) / width
        assert cell - slack <= place <= cell + 1 + slack
    assert np.array_equal(np.minimum(cells, count - 1), cells)
    assert np.floor((axis.top - axis.low) * axis.scale) < count


def test_places_in_one_cell_are_one_item_and_neighbours_a_whole_step_apart() -> None:
    # Why a Geo table's budget cannot pay for a Grid: two near places can be a whole step apart.
    inner = Geo("lat", "lon", NYC, diameter=10)
    space = Grid(inner, (4, 4), diameter=10)
    edge = 40.48 + 0.44 / 4
    rows = {"lat": [edge - 1e-9, edge + 1e-9, edge + 0.1], "lon": [-74.2] * 3}
    fine, coarse = inner.pairwise(rows, rows), space.pairwise(rows, rows)
    assert fine[0, 1] < 1e-6 < 1 <= coarse[0, 1]
    assert coarse[1, 2] == 0 < fine[1, 2]


def test_rules_units_and_neutral_items_are_the_inner_ones() -> None:
    inner = Interval("x", 0, 10, on_invalid="clamp", neutral=9, unit="km")
    space = Grid(inner, 5)
    assert (space.on_invalid, space.unit, space.columns) == ("clamp", "km", ("x",))
    assert space.neutral_code == 4
    assert space.encode({"x": [-3.0, 99.0, None, math.nan]})[:, 0].tolist() == [0, 4, 4, 4]


def test_axis_steps_are_distances_of_neighbours() -> None:
    for name, (inner, shape) in INNER.items():
        space = Grid(inner, shape)
        for place, step in enumerate(space.axis_steps):
            stride = space.strides[place]
            indices = np.indices(space.shape).reshape(len(space.shape), -1)
            first = np.flatnonzero(indices[place] < space.shape[place] - 1).astype(float)[:, None]
            found = [space.natural_distances(row[None], row[None] + stride)[0, 0] for row in first]
            if step is None:
                assert name in ("map", "wide map", "globe", "one row", "small map", "cube")
                assert len(found) == 0 or isinstance(inner, Geo)
            else:
                np.testing.assert_allclose(found, step, rtol=1e-6)


def test_shapes_and_inner_spaces_that_make_no_grid_are_refused() -> None:
    place = Geo("lat", "lon", NYC)
    for inner in (Cycle("h", 24), Categories("k", ["a"]), "x", Grid(place, (2, 2))):
        with pytest.raises(UsageError, match="inner must be"):
            Grid(inner, 3)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="ball"):
        Grid(Vector(["a"], radius=1), 3)
    for shape in (3, (3,), (3, 3, 3), "33"):
        with pytest.raises(UsageError, match="shape must be 2 numbers"):
            Grid(place, shape)  # type: ignore[arg-type]
    for bad in (0, -1, 2.5, None, True):
        with pytest.raises(UsageError, match="shape"):
            Grid(Interval("x", 0, 1), bad)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=f"more than {MOST_CELLS}"):
        Grid(place, (4097, 4096))
    with pytest.raises(UsageError, match="too narrow"):
        Grid(Interval("x", 1e16, 1e16 + 64), 100)
    with pytest.raises(UsageError, match="axis of one point"):
        Grid(Geo("lat", "lon", (40.0, -75.0, 40.0, -73.0)), (2, 2))
    with pytest.raises(UsageError, match="diameter must be given"):
        Grid(Interval("x", 0, 1), 1)
    assert Grid(Interval("x", 0, 1), 1, diameter=2).size == 1
    with pytest.raises(UsageError, match="diameter"):
        Grid(Interval("x", 0, 1), 3, diameter=0)


def test_points_outside_the_domain_are_refused() -> None:
    space = Grid(Geo("lat", "lon", NYC), (4, 4))
    with pytest.raises(UsageError, match="point must lie in the domain"):
        space.encode_point((41.5, -74.0))
    with pytest.raises(UsageError, match="pair"):
        space.encode_point(3.0)


def test_json_is_refused_where_the_inner_space_is() -> None:
    data = Grid(Geo("lat", "lon", NYC), (4, 4)).to_json()
    assert from_json({**data, "shape": (4, 4)}) == from_json(data)
    for inner in ({"kind": "geo"}, None, {"kind": "categories", "col": "k", "values": ["a"]}):
        with pytest.raises(UsageError):
            from_json({**data, "inner": inner})


FUNCTIONS = {
    "line": emdp.distance_to(1.0),
    "map": emdp.ramp(emdp.distance_to((40.7, -74.0), (40.5, -73.8)), 5, 25),
    "globe": emdp.distance_to((80.0, 20.0)),
    "box": emdp.distance_to((0.0, 1.0)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("diameter", [None, 2.0])
def test_functions_of_cells_are_lipschitz(name: str, diameter: float | None) -> None:
    inner, shape = INNER[name]
    space, expression = Grid(inner, shape, diameter=diameter), FUNCTIONS[name]
    items, bound = space.all_items, expression.on(space)
    values = evaluate(expression, space, items)
    change = np.abs(np.subtract.outer(values, values))
    assert (change <= bound.lipschitz * space.distances(items, items) + 1e-9 * (1 + np.abs(values).max())).all()
    low, high = bound.value_range
    assert low <= values.min() <= values.max() <= high


def test_functions_that_cells_do_not_have_are_refused() -> None:
    grid = Grid(Geo("lat", "lon", NYC), (4, 4))
    space = Product(grid, Interval("x", 0, 1))
    for expression, reason in (
        (emdp.col("lat"), "many values in one cell"),
        (emdp.dot([1.0, 2.0], column=["lat", "lon"]), "no inner product"),
        (emdp.category_is(3, column="lat"), "no listed values|fits no part"),
        (emdp.similarity("a", column="lat"), "no vectors"),
    ):
        with pytest.raises(UsageError, match=reason):
            analyse(expression, space)
        with pytest.raises(UsageError):
            evaluate(expression, space, space.neutral_item)
    with pytest.raises(UsageError, match="no listed values"):
        label_cells(LabelAxis("lat", ((1,),)), space)
    assert OUTSIDE < 0


@pytest.mark.parametrize("name", ["line", "map", "box"])
def test_transport_agrees_with_a_linear_program(name: str) -> None:
    from scipy.optimize import linprog

    space = Grid(*INNER[name])
    source = np.random.default_rng(5)
    bags = []
    for _ in range(2):
        cells = source.integers(0, space.size, 7)
        bags.append(space.decode(cells[:, None].astype(float)))
    items = [space.encode(bag) for bag in bags]
    costs = space.distances(*items)
    rows = np.kron(np.eye(7), np.ones(7))
    columns = np.kron(np.ones(7), np.eye(7))
    best = linprog(costs.ravel(), A_eq=np.vstack([rows, columns]), b_eq=np.full(14, 1 / 7))
    assert emdp.d_em(*bags, space) == pytest.approx(best.fun, abs=1e-9)
    (plan,) = [emdp.plan(*bags, space)]
    assert plan is not None
