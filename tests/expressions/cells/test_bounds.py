"""Known answers of the constants of cells, nearly tight pairs, refusals."""

import math

import numpy as np
import pytest

import emdp.expressions as ex
from emdp.base.errors import NotLipschitzError, UsageError
from emdp.expressions import analyse_vector
from emdp.expressions.cells.aggregation import Aggregation, Axis, HatAxis, LabelAxis
from emdp.expressions.cells.bounds import aggregation_lipschitz, aggregation_spread
from emdp.expressions.cells.reference import cell_values
from emdp.expressions.nodes.base import Constant
from emdp.spaces import Categories, Clusters, Cycle, Distances, Embedding, Geo, Interval, Product, Space, Vector

x, y = ex.col("x"), ex.col("y")
one = Constant(1.0)
KINDS = ("cafe", "bar", "zoo")
BY_KIND = LabelAxis("kind", tuple((kind,) for kind in KINDS))
PLANE = Vector(["x", "y"], box=[(0, 3), (0, 4)])
CITY = Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), unit="km")
close = pytest.approx
SQRT2 = math.sqrt(2)


def constants(
    values: tuple[ex.Expression, ...], axes: tuple[Axis, ...], space: Space, *scales: float, is_cumulative: bool = False
) -> tuple[float, float]:
    scales = scales or (1.0,) * len(values)
    return aggregation_lipschitz(Aggregation(values, axes), scales, space, is_cumulative=is_cumulative)


def spreads(
    values: tuple[ex.Expression, ...], axes: tuple[Axis, ...], space: Space, *, is_cumulative: bool = False
) -> tuple[float, float]:
    scales = (1.0,) * len(values)
    return aggregation_spread(Aggregation(values, axes), scales, space, is_cumulative=is_cumulative)


def largest_ratio(
    values: tuple[ex.Expression, ...], axes: tuple[Axis, ...], space: Space, items: np.ndarray, *, norm: int,
    is_cumulative: bool = False,
) -> float:  # fmt: skip
    """Largest change over distance among pairs of items: a lower bound of any valid constant."""
    rows = cell_values(Aggregation(values, axes), space, items)
    if is_cumulative:
        rows = rows.reshape(len(items), -1, axes[-1].size).cumsum(axis=2).reshape(len(items), -1)
    change = np.linalg.norm(rows[:, None, :] - rows[None, :, :], ord=norm, axis=2)
    distances = space.distances(items, items)
    far = distances > 1e-9
    return float((change[far] / distances[far]).max())


# ------------------------------------------------ known answers of the theory


def test_one_hot_over_the_categories_times_a_function_of_the_place() -> None:
    space = Product(CITY, Categories("kind", KINDS))
    near = ex.ramp(ex.distance_to((40.7484, -73.9857)), 2, 1)
    found = constants((near,), (BY_KIND,), space)
    assert found[0] == close(max(2 * CITY.diameter, 4))
    slow = ex.ramp(ex.distance_to((40.7484, -73.9857)), 200, 100)
    assert constants((slow,), (BY_KIND,), space) == (4, close(2 * SQRT2))


def test_the_same_by_indicators_and_by_an_axis() -> None:
    space = Product(Interval("x", 0, 3), Categories("kind", KINDS).weighted(0.5))
    vector = analyse_vector([ex.category_is(kind) * x for kind in KINDS], space)
    assert constants((x,), (BY_KIND,), space) == close((vector.lipschitz_1, vector.lipschitz_2))


def test_scales_multiply_and_add_up_in_their_norm() -> None:
    space = Interval("x", 0, 2)
    assert constants((x, x), (), space, 3.0, 4.0) == (14, close(10))
    assert constants((x, x), (HatAxis(x, start=5, step=1, size=1),), space, 3.0, 4.0) == (14, close(10))
    assert constants((x, 2 * x), (), space, 0.5, 0.5) == (3, close(math.sqrt(5)))


@pytest.mark.parametrize("size", [2, 5, 50])
def test_a_smoothed_histogram_of_an_interval(size: int) -> None:
    space = Interval("x", 0, 3)
    axis = HatAxis(x, start=0, step=3 / (size - 1), size=size)
    found = constants((one,), (axis,), space)
    assert found == close((2 * (size - 1), SQRT2 * (size - 1)))
    items = np.linspace(0, 3, 4 * size)[:, None]
    for norm in (1, 2):
        assert largest_ratio((one,), (axis,), space, items, norm=norm) == close(found[norm - 1])


def test_a_grid_on_a_plane_as_in_emd_6() -> None:
    step = 0.5
    axes = (HatAxis(x, start=0, step=step, size=7), HatAxis(y, start=0, step=step, size=9))
    found = constants((one,), axes, PLANE)
    assert found == close((2 * SQRT2 * PLANE.diameter / step, math.sqrt(3) * PLANE.diameter / step))
    # both bounds are met at a corner of a square, by short moves along its diagonal
    items = np.array([[1.0, 1.0], [1.0 + 1e-6, 1.0 + 1e-6]])
    for norm in (1, 2):
        assert largest_ratio((one,), axes, PLANE, items, norm=norm) == close(found[norm - 1], rel=1e-4)


def test_a_grid_in_three_dimensions() -> None:
    names = ("x", "y", "z")
    space = Vector(list(names), box=[(0, 1)] * 3)
    axes = tuple(HatAxis(ex.col(name), start=0, step=0.25, size=5) for name in names)
    assert constants((one,), axes, space) == close((2 * math.sqrt(3) * space.diameter * 4, 2 * space.diameter * 4))


def test_unequal_steps_on_a_plane() -> None:
    axes = (HatAxis(x, start=0, step=0.5, size=7), HatAxis(y, start=0, step=2, size=3))
    one_norm, two_norm = constants((one,), axes, PLANE)
    assert one_norm == close(2 * PLANE.diameter * math.hypot(2, 0.5))
    assert two_norm == close(PLANE.diameter * math.sqrt(2**2 + 2**2 + 0.5**2))


def test_axes_on_different_parts_do_not_add_up() -> None:
    space = Product(Interval("x", 0, 3), Interval("y", 0, 4))
    axes = (HatAxis(x, start=0, step=1, size=4), HatAxis(y, start=0, step=1, size=5))
    assert constants((one,), axes, space) == close((2 * max(2 * 3, 2 * 4), 2 * SQRT2 * 4))


def test_a_grid_over_a_city_is_as_good_as_on_a_plane() -> None:
    step = 1.0  # km
    lat, lon = math.degrees(step / 6371), math.degrees(step / 6371) / math.cos(math.radians(40.7))
    axes = (
        HatAxis(ex.col("lat"), start=40.48, step=lat, size=50),
        HatAxis(ex.col("lon"), start=-74.26, step=lon, size=48),
    )
    one_norm, two_norm = constants((one,), axes, CITY)
    flat = 2 * SQRT2 * CITY.diameter / step
    assert flat * 0.999 < one_norm < flat * 1.005
    assert two_norm == close(math.sqrt(3) * CITY.diameter / step, rel=0.005)
    corner = np.array([40.48 + 24 * lat, -74.26 + 20 * lon])
    items = corner + np.array([[0.0, 0.0], [lat * 1e-3, lon * 1e-3]])
    for norm, found in ((1, one_norm), (2, two_norm)):
        assert found > largest_ratio((one,), axes, CITY, items, norm=norm) > 0.99 * found


def test_a_periodic_axis_has_the_constant_of_a_line() -> None:
    space = Cycle("hour", 24)
    axis = HatAxis(ex.col("hour"), start=0, step=24 / 7, size=7, is_periodic=True)
    found = constants((one,), (axis,), space)
    assert found == close((2 * 12 / (24 / 7), SQRT2 * 12 / (24 / 7)))
    items = np.array([[23.999], [0.0], [0.001], [12.0], [12.001]])
    assert largest_ratio((one,), (axis,), space, items, norm=1) == close(found[0], rel=1e-6)
    with pytest.raises(NotLipschitzError):
        constants((one,), (HatAxis(ex.col("hour"), start=0, step=24 / 7, size=7),), space)


def test_a_distribution_function_has_the_constant_of_one_ramp() -> None:
    space, size = Interval("x", 0, 10), 41
    axis = HatAxis(x, start=0, step=0.25, size=size)
    assert constants((one,), (axis,), space, is_cumulative=True) == (10 / 0.25, 10 / 0.25)
    ramps = [ex.ramp(x, 0.25 * (node + 1), 0.25 * node) for node in range(size - 1)]
    assert analyse_vector(ramps, space).lipschitz_1 == close((size - 1) * 10 / 0.25)
    items = np.linspace(0, 10, 200)[:, None]
    assert largest_ratio((one,), (axis,), space, items, norm=1, is_cumulative=True) == close(40)


def test_a_distribution_function_of_chosen_records() -> None:
    space = Product(Interval("x", 0, 10), Categories("kind", KINDS))
    axis = HatAxis(x, start=0, step=0.5, size=21)
    chosen = ex.category_is("bar", "zoo")
    # the place moves one ramp; the category switches all 21 coordinates on or off
    assert constants((chosen,), (axis,), space, is_cumulative=True) == close((2 * max(20, 21), 2 * 20))
    smooth = ex.ramp(x, 10, 0)
    assert constants((smooth,), (axis,), space, is_cumulative=True)[0] == close(2 * (20 + 21))


def test_a_distribution_function_for_every_category() -> None:
    space = Product(Interval("x", 0, 10), Categories("kind", KINDS))
    axes = (BY_KIND, HatAxis(x, start=0, step=0.5, size=21))
    found = constants((one,), axes, space, is_cumulative=True)
    assert found == close((2 * 2 * 21, 2 * max(20, SQRT2 * math.sqrt(21))))
    items = np.array([[0.0, 0], [0.0, 1], [0.0, 2]])
    assert largest_ratio((one,), axes, space, items, norm=1, is_cumulative=True) == close(found[0])


# ------------------------------------------------ label axes


def test_one_cell_is_entered_or_left_but_never_crossed() -> None:
    space = Categories("kind", KINDS)
    assert constants((one,), (LabelAxis("kind", (("bar",),)),), space) == (1, 1)
    assert constants((one,), (LabelAxis("kind", (("bar",), ("zoo",))),), space) == (2, close(SQRT2))


def test_one_cell_of_all_values_changes_nothing() -> None:
    assert constants((one,), (LabelAxis("kind", (KINDS,)),), Categories("kind", KINDS)) == (0, 0)


def test_a_value_that_moves_with_the_label_inside_a_cell() -> None:
    space = Categories("kind", KINDS)
    value = ex.case({"cafe": 5, "bar": 1}, otherwise=0)
    # cafe and bar share a cell: 4 within it, up to 5 and 0 between cells, bounded by twice the largest value
    axis = LabelAxis("kind", (("cafe", "bar"), ("zoo",)))
    assert constants((value,), (axis,), space) == (10, close(5 * SQRT2))


def test_the_gap_between_cells_counts_and_not_the_gap_between_values() -> None:
    stops = Distances("stop", ["A", "B", "C"], [[0, 1, 4], [1, 0, 3], [4, 3, 0]])
    together = LabelAxis("stop", (("A", "B"), ("C",)))
    apart = LabelAxis("stop", (("A",), ("B",), ("C",)))
    assert constants((one,), (together,), stops)[0] == close(2 * 4 / 3)
    assert constants((one,), (apart,), stops)[0] == close(2 * 4)
    cut = Distances("stop", ["A", "B", "C"], [[0, 1, 4], [1, 0, 3], [4, 3, 0]], diameter=2)
    # 3 is beyond the diameter: the change 2 over the distance 1
    assert constants((one,), (together,), cut)[0] == close(2)


def test_clusters_are_left_at_distance_one() -> None:
    words = Clusters("word", {"cat": "animal", "dog": "animal", "red": "colour"}, 0.25)
    assert constants((one,), (LabelAxis("word", (("cat", "dog"), ("red",))),), words)[0] == 2
    assert constants((one,), (LabelAxis("word", (("cat",), ("red",))),), words)[0] == 8


def test_labels_at_distance_zero_in_different_cells_are_refused() -> None:
    table = {"key": ["a", "b", "c"], "u": [0.0, 0.0, 1.0], "v": [0.0, 0.0, 2.0]}
    space = Embedding("word", table, neutral="c")
    apart = LabelAxis("word", (("a",), ("b",)))
    with pytest.raises(NotLipschitzError, match="distance 0"):
        constants((one,), (apart,), space)
    assert spreads((one,), (apart,), space) == (2, close(SQRT2))
    assert constants((one,), (LabelAxis("word", (("a", "b"),)),), space)[0] == close(1)


def test_truncation_counts_the_range_of_the_whole_vector() -> None:
    space = Interval("x", 0, 10, diameter=1)
    axis = HatAxis(x, start=0, step=5, size=3)
    # 2/5 a unit, but two items at distance 1 may be in different cells altogether
    assert constants((one,), (axis,), space) == (2, close(SQRT2))
    assert constants((x, 3 - x), (), space)[0] == 20


def test_a_wide_list_of_labels_is_quick() -> None:
    labels = tuple(f"value {number}" for number in range(20_000))
    space = Product(Interval("x", 0, 1), Categories("kind", labels))
    axis = LabelAxis("kind", tuple((label,) for label in labels))
    assert constants((one,), (axis,), space)[0] == 4


# ------------------------------------------------ spreads


def test_spreads_of_means() -> None:
    space = Product(Interval("x", 2, 5), Categories("kind", KINDS))
    assert spreads((x,), (), space) == (3, 3)
    assert spreads((x, 2 * x), (), space) == (9, close(math.hypot(3, 6)))
    assert spreads((x,), (BY_KIND,), space) == (10, close(5 * SQRT2))
    assert spreads((x - 3,), (BY_KIND,), space) == (4, 3)  # from -1 to 2 in one cell, 2-norm: or sqrt(2) 2 < 3
    assert spreads((x,), (LabelAxis("kind", (("bar",),)),), space) == (5, 5)
    assert spreads((x,), (HatAxis(x, start=0, step=1, size=1),), space) == (3, 3)


def test_spreads_of_distribution_functions() -> None:
    space = Interval("x", 0, 10)
    axis = HatAxis(x, start=0, step=0.5, size=21)
    assert spreads((one,), (axis,), space, is_cumulative=True) == (20, close(math.sqrt(20)))
    assert spreads((x,), (axis,), space, is_cumulative=True) == (210, close(10 * math.sqrt(21)))
    assert spreads((one,), (LabelAxis("kind", (KINDS,)), axis), Product(space, Categories("kind", KINDS)),
                   is_cumulative=True) == (42, close(SQRT2 * math.sqrt(21)))  # fmt: skip


def test_spreads_of_capped_totals() -> None:
    space = Interval("x", 2, 5)
    assert aggregation_spread(Aggregation((one,), cap=7), [1.0], space) == (7, 7)
    assert aggregation_spread(Aggregation((x, one), cap=7), [1.0, 2.0], space) == (49, close(7 * math.hypot(5, 2)))
    assert aggregation_spread(Aggregation((x - 3,), cap=10), [1.0], space) == (30, 30)
    by_kind = Aggregation((x,), (BY_KIND,), cap=10)
    two_parts = Product(space, Categories("kind", KINDS))
    assert aggregation_spread(by_kind, [1.0], two_parts) == (100, close(50 * SQRT2))


ENDS_SPACE = Product(Interval("x", -1, 3), Categories("kind", KINDS))


@pytest.mark.parametrize("scales", [(1.0, 1.0), (1.0, 3.0), (5.0, 2.0)])
@pytest.mark.parametrize(
    "values",
    [
        (x - -1, 3 - x),
        (3 - x, x - -1),
        (x - -1.5, 4 - x),
        (x - -1, 3 - x, 0.5 * x - 4),
        (3 * (x - -1), (3 - x) * 0.5),
        ((3 - x) * 2 * 4, 2 * (x - -1)),
    ],
)
@pytest.mark.parametrize("axes", [(), (BY_KIND,)])
def test_both_ends_of_a_value_count_as_one(
    values: tuple[ex.Expression, ...], scales: tuple[float, ...], axes: tuple[Axis, ...]
) -> None:
    """Every pair of items on a grid, ends included, and no items at all: never beyond, attained where all are ends."""
    scales = (*scales, 0.25)[: len(values)]
    aggregation = Aggregation(values, axes, cap=1)
    items = ENDS_SPACE.encode({"x": np.tile(np.linspace(-1, 3, 33), 3), "kind": np.repeat(np.array(KINDS), 33)})
    rows = cell_values(aggregation, ENDS_SPACE, items)
    rows = np.vstack([rows * np.repeat(scales, rows.shape[1] // len(values)), np.zeros(rows.shape[1])])
    for norm, bound in zip((1, 2), aggregation_spread(aggregation, scales, ENDS_SPACE), strict=True):
        attained = np.linalg.norm(rows[:, None, :] - rows[None, :, :], ord=norm, axis=2).max()
        assert attained <= bound * (1 + 1e-12)
        if axes and len(values) == 2 and values != (x - -1.5, 4 - x) and norm == 1:
            assert attained == close(bound)


def test_only_ends_that_are_never_negative_count_as_one() -> None:
    by_kind = (BY_KIND,)
    for values, one_by_one in (
        ((x - 0.5, 3 - x), 2 * (2.5 + 4)),  # below 0 at x = -1
        ((x - -1, 2.5 - x), 2 * (4 + 3.5)),
        ((x - -1, x - -1), 2 * (4 + 4)),
        ((x - -1, 3 - 2 * x), 2 * (4 + 5)),
        ((-2 * (x - -1), 3 - x), 2 * (8 + 4)),
    ):
        assert aggregation_spread(Aggregation(values, by_kind, cap=1), [1.0, 1.0], ENDS_SPACE)[0] == close(one_by_one)
    # Each value stands in one pair at most: 3 - x is an end of x, and x + 2 would be one of 3 - x.
    chain = (x - -1, 3 - x, 5 - (3 - x))
    assert aggregation_spread(Aggregation(chain, by_kind, cap=1), [1.0] * 3, ENDS_SPACE)[0] >= 2 * (4 + 1)


def test_the_constant_of_ends_holds_per_unit_of_distance() -> None:
    """Over cells of a label axis and of hats, for pairs of items on a grid."""
    hats = HatAxis(x, start=-1.0, step=1.0, size=5)
    items = ENDS_SPACE.encode({"x": np.tile(np.linspace(-1, 3, 41), 3), "kind": np.repeat(np.array(KINDS), 41)})
    for axes in ((BY_KIND,), (hats,), (hats, BY_KIND)):
        found = constants((x - -1, 3 - x), axes, ENDS_SPACE)
        for norm, bound in zip((1, 2), found, strict=True):
            assert largest_ratio((x - -1, 3 - x), axes, ENDS_SPACE, items, norm=norm) <= bound * (1 + 1e-9)


# ------------------------------------------------ refusals


def test_what_has_no_bound_is_refused() -> None:
    space = Interval("x", 0, 10)
    axis = HatAxis(x, start=0, step=1, size=3)
    with pytest.raises(UsageError, match="capped total"):
        aggregation_lipschitz(Aggregation((x,), cap=3), [1.0], space)
    with pytest.raises(UsageError, match=r"must stay in \[0, 1\]"):
        aggregation_spread(Aggregation((x,), cap=3, chosen=x), [1.0], space)
    with pytest.raises(UsageError, match=r"must stay in \[0, 1\]"):
        aggregation_spread(Aggregation((x,), cap=3, chosen=ex.clamp(x, 0, 1) - 0.5), [1.0], space)
    rough = ex.ramp(1e9 * x + 1e12, 1e12, 1e12 + 1)
    with pytest.raises(UsageError, match="too roughly"):
        aggregation_spread(Aggregation((x,), cap=3, chosen=rough), [1.0], space)
    for scales in ([], [1.0, 1.0], [0.0], [-1.0], [math.inf]):
        with pytest.raises(UsageError, match="scale"):
            aggregation_lipschitz(Aggregation((x,)), scales, space)
    hours = HatAxis(ex.col("hour"), start=0, step=6, size=4, is_periodic=True)
    for axes in ((), (axis, BY_KIND), (hours,)):
        with pytest.raises(UsageError, match="is_cumulative needs"):
            constants((one,), axes, space, is_cumulative=True)
    with pytest.raises(NotLipschitzError, match="jumps"):
        constants((x > 3,), (axis,), space)
    with pytest.raises(NotLipschitzError, match="jumps"):
        constants((one,), (HatAxis(x > 3, start=0, step=1, size=2),), space)
    with pytest.raises(NotLipschitzError, match="largest double"):
        constants((x,), (HatAxis(x, start=0, step=1e-308, size=2),), space, 1e10)
    with pytest.raises(UsageError, match="no column of the space"):
        constants((x,), (BY_KIND,), space)
    with pytest.raises(UsageError, match="no column of the space"):
        spreads((x,), (BY_KIND,), space)
