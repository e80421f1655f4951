"""Cells of a part: partitions of unity, their order, how far they move a record, and what is refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emdp.base.errors import UsageError
from emdp.estimators.frequency.grids import MOST_CELLS, Cells, cells_of
from emdp.expressions.cells.aggregation import Aggregation, LabelAxis
from emdp.expressions.cells.reference import cell_values
from emdp.expressions.nodes.base import Constant
from emdp.questions.select import Grid
from emdp.spaces import Categories, Cycle, Embedding, Geo, Interval, Product, Space, Vector

NEW_YORK = Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), unit="km")
SPACES: dict[str, tuple[Space, float]] = {
    "interval": (Interval("x", -1.5, 4.0), 0.7),
    "cycle": (Cycle("hour", 24), 5.0),
    "geo": (NEW_YORK, 4.0),
    "south": (Geo("lat", "lon", box=(-35.0, 140.0, -33.0, 152.0), unit="mi"), 60.0),
    "equator": (Geo("lat", "lon", box=(-2.0, 10.0, 3.0, 16.0), unit="km"), 90.0),
    "plane": (Vector(["x", "y"], box=[(0, 3), (-4, 4)]), 0.9),
    "room": (Vector(["x", "y", "z"], box=[(0, 3), (0, 2), (0, 1)]), 0.8),
}
spaces = pytest.mark.parametrize("name", SPACES)


def items_of(space: Space, places: list[float]) -> np.ndarray:
    """Items at fractions of the width of each coordinate."""
    if isinstance(space, Geo):
        lows, highs = np.array(space.box[:2]), np.array(space.box[2:])
    elif isinstance(space, Vector):
        lows, highs = space.coordinate_bounds
    else:
        low, high = (0.0, np.nextafter(space.period, 0)) if isinstance(space, Cycle) else (space.low, space.high)
        lows, highs = np.array([low]), np.array([high])
    fractions = np.array(places).reshape(-1, 1) * np.arange(1, len(lows) + 1) % 1.0
    fractions[0], fractions[1] = 0.0, 1.0
    return np.clip(lows + fractions * (highs - lows), lows, highs)


def weights_of(cells: Cells, space: Space, items: np.ndarray) -> np.ndarray:
    return cell_values(Aggregation((Constant(1.0),), cells.axes), space, items)


@pytest.mark.quarter
@spaces
@given(places=st.lists(st.floats(0, 1), min_size=2, max_size=12))
@settings(deadline=None, max_examples=25)
def test_weights_are_a_partition_of_unity_around_the_item(name: str, places: list[float]) -> None:
    space, step = SPACES[name]
    cells, items = cells_of(Grid(step), space), items_of(space, places)
    weights = weights_of(cells, space, items)
    centres = cells.frame().to_numpy()
    assert weights.shape == (len(items), cells.size)
    assert weights.min() >= 0
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-12)
    assert (weights > 0).sum(axis=1).max() <= 2 ** len(cells.axes)
    # EMD 6: the mean distance to the cells that a record counts in.
    distances = np.minimum(space.natural_distances(items, centres), space.domain_diameter)
    assert (weights * distances).sum(axis=1).max() <= step * np.sqrt(len(cells.axes)) / 2 * (1 + 1e-9)
    if name != "cycle":
        # Hats reproduce the item, which they do only if centres stand in the order of the coordinates.
        np.testing.assert_allclose(weights @ centres, items, atol=1e-9)


def test_nodes_run_from_the_low_edge_to_beyond_the_high_one_at_the_pitch_asked_for() -> None:
    assert cells_of(Grid(2.5), Interval("x", 0, 10)).frame()["x"].to_list() == [0.0, 2.5, 5.0, 7.5, 10.0]
    assert cells_of(Grid(3), Interval("x", 0, 10)).frame()["x"].to_list() == [0.0, 3.0, 6.0, 9.0, 12.0]
    # 2.1/0.7 is above 3 in binary, and 3 * 0.1 above 0.3: decimals are what was written.
    assert cells_of(Grid(0.7), Interval("x", 0, 2.1)).axes[0].size == 4
    assert cells_of(Grid(0.1), Interval("x", 0, 1)).frame()["x"].to_list()[3] == 0.3


def test_a_cycle_has_a_whole_number_of_cells_and_at_least_three() -> None:
    axis = cells_of(Grid(5), Cycle("hour", 24)).axes[0]
    assert (axis.size, axis.step, axis.is_periodic) == (5, 4.8, True)
    assert cells_of(Grid(12), Cycle("hour", 24)).axes[0].size == 3


def test_cells_of_a_box_are_step_wide_at_its_widest_latitude_and_narrower_elsewhere() -> None:
    lat, lon = cells_of(Grid(2.0), NEW_YORK).axes
    south, west = NEW_YORK.box[:2]
    corner = np.array([[south, west]])
    assert NEW_YORK.natural_distances(corner, np.array([[south + lat.step, west]]))[0, 0] == pytest.approx(2.0)
    assert NEW_YORK.natural_distances(corner, np.array([[south, west + lon.step]]))[0, 0] == pytest.approx(2.0)
    north = NEW_YORK.box[2]
    beside = NEW_YORK.natural_distances(np.array([[north, west]]), np.array([[north, west + lon.step]]))[0, 0]
    assert 1.98 < beside < 2.0


def test_no_node_lies_beyond_a_pole() -> None:
    arctic = Geo("lat", "lon", box=(80.0, 10.0, 89.9, 11.0), unit="km")
    lat, _ = cells_of(Grid(200.0), arctic).axes
    assert lat.start + (lat.size - 1) * lat.step == pytest.approx(89.9)
    assert np.radians(lat.step) * arctic.radius <= 200.0


def test_a_box_of_one_latitude_has_one_row_of_cells() -> None:
    cells = cells_of(Grid(10.0), Geo("lat", "lon", box=(10.0, 0.0, 10.0, 1.0), unit="km"))
    assert cells.axes[0].size == 1
    assert cells.frame()["lat"].unique().to_list() == [10.0]


def test_the_part_of_a_product_is_found_or_named() -> None:
    space = Product(NEW_YORK, Categories("kind", ["a", "b"]))
    assert cells_of(Grid(5.0), space).columns == ("lat", "lon")
    both = Product(NEW_YORK, Cycle("hour", 24), Categories("kind", ["a", "b"]))
    assert cells_of(Grid(5.0, "hour"), both).columns == ("hour",)
    assert cells_of(Grid(5.0, "lon"), both).columns == ("lat", "lon")
    with pytest.raises(UsageError, match=r"several parts.*'lat' or 'hour'.*GRID\(lat, 5\)"):
        cells_of(Grid(5.0), both)


def test_listed_values_are_cells() -> None:
    space = Product(NEW_YORK, Categories("kind", ["a", "b", "c"]))
    assert cells_of(LabelAxis("kind", (("b",), ("a",))), space).frame()["kind"].to_list() == ["b", "a"]
    assert cells_of(LabelAxis("kind", (("a", "c"), ("b",))), space).frame()["kind"].to_list() == ["a | c", "b"]
    with pytest.raises(UsageError, match="'z' is none of the 3 values"):
        cells_of(LabelAxis("kind", (("z",),)), space)
    with pytest.raises(UsageError, match=r"no listed values; ask for FREQUENCY\(GRID"):
        cells_of(LabelAxis("lat", ((1,),)), space)


REFUSED: dict[str, tuple[Space, Grid, str]] = {
    "pole": (Geo("lat", "lon", box=(60, 0, 90, 10)), Grid(5.0), "reaches a pole"),
    "round": (Geo("lat", "lon", box=(0, -180, 10, 180)), Grid(5.0), "all the way round"),
    "ball": (Vector(["x", "y"], radius=1.0), Grid(0.1), "ball.*box="),
    "four": (Vector(["a", "b", "c", "d"], box=[(0, 1)] * 4), Grid(0.5), "at most 3 columns"),
    "listed": (Categories("kind", ["a", "b"]), Grid(1.0), r"ask for FREQUENCY\(kind\)"),
    "words": (Embedding("w", {"w": ["a", "b"], "v": [[0.0], [1.0]]}), Grid(1.0), r"ask for FREQUENCY\(w\)"),
    "named": (Product(NEW_YORK, Categories("k", ["a", "b"])), Grid(1.0, "k"), r"`GRID\(1\)` of column 'k'"),
    "none": (Product(Categories("a", [1, 2]), Categories("b", [1, 2])), Grid(1.0), "fits no part.*'a'.*'b'"),
    "unknown": (NEW_YORK, Grid(1.0, "city"), "'city' is no column"),
    "wide": (NEW_YORK, Grid(1000.0), r"at most 67\.98\d+ km.*smaller pitch"),
    "zero": (NEW_YORK, Grid(0.0), "step must be above 0"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_has_no_grid_is_refused_with_a_remedy(case: str) -> None:
    space, grid, message = REFUSED[case]
    with pytest.raises(UsageError, match=message):
        cells_of(grid, space)


@pytest.mark.parametrize(
    ("space", "step", "groups"),
    [
        (NEW_YORK, 0.01, 1),
        (NEW_YORK, 0.5, 50),
        (Interval("x", 0, 1), 1e-9, 7),
        (Interval("x", 0, 1), 1e-300, 7),
        # More cells than the largest float.
        (Vector(["x", "y"], box=[(0, 3), (0, 4)]), 1e-170, 1),
        (Vector(["x", "y", "z"], box=[(0, 3), (0, 4), (0, 1)]), 1e-300, 2),
    ],
)
def test_too_many_cells_are_refused_with_a_pitch_that_works(space: Space, step: float, groups: int) -> None:
    with pytest.raises(UsageError, match=f"more than {MOST_CELLS}") as refusal:
        cells_of(Grid(step), space, groups=groups)
    assert len(str(refusal.value)) < 150
    larger = float(str(refusal.value).rstrip(".").rpartition(" ")[2])
    found = cells_of(Grid(larger), space, groups=groups).size * groups
    assert MOST_CELLS / 2 < found <= MOST_CELLS
    with pytest.raises(UsageError, match="list fewer values"):
        cells_of(LabelAxis("k", ((1,), (2,))), Categories("k", [1, 2]), groups=MOST_CELLS)
