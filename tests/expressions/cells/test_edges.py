"""Cells that an adversarial review tried: several axes along one part, items of no cell, places at an edge."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from emdp.expressions import col, distance_to
from emdp.expressions.cells.aggregation import Aggregation, Axis, HatAxis, LabelAxis
from emdp.expressions.cells.bounds import aggregation_lipschitz, aggregation_spread
from emdp.expressions.cells.hat_bounds import hat_rates
from emdp.expressions.cells.reference import cell_values, hat_places
from emdp.expressions.nodes.base import Constant
from emdp.expressions.nodes.lookup import LabelValue
from emdp.spaces import Categories, Clusters, Cycle, Distances, Embedding, Interval, Product, Space, Vector

ONE = Constant(1.0)
WORDS = Clusters("w", {"a": "p", "b": "p", "c": "q", "d": "q"}, 0.25)
TWINS = Embedding("w", {"key": ["a", "b", "c"], "x": [0.0, 4.0, 1.0]}, diameter=2.0)
EACH = LabelAxis("w", (("a",), ("b",)))
CLUSTERS = LabelAxis("w", (("a", "b"), ("c", "d")))
ALONE = LabelAxis("w", (("a", "b"),))


def steepest(aggregation: Aggregation, space: Space, items: np.ndarray) -> tuple[float, float]:
    """Largest change of a record's vector per unit of d_X over pairs of items, in both norms."""
    rows, distances = cell_values(aggregation, space, items), space.distances(items, items)
    change = np.abs(rows[:, None] - rows[None])
    apart = distances > 0
    assert not change[~apart].any()
    return tuple(
        float((norm[apart] / distances[apart]).max()) for norm in (change.sum(axis=2), np.sqrt((change**2).sum(axis=2)))
    )  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("axes", "known"),
    [
        ((EACH, CLUSTERS), (8.0, 32**0.5)),
        ((CLUSTERS, EACH), (8.0, 32**0.5)),
        ((EACH, ALONE), (8.0, 32**0.5)),
        ((ALONE, LabelAxis("w", (("b", "c", "d"),))), (4.0, 4.0)),
        ((CLUSTERS, CLUSTERS), (2.0, 2**0.5)),
    ],
)
def test_several_label_axes_along_one_part(axes: tuple[Axis, ...], known: tuple[float, float]) -> None:
    aggregation = Aggregation((ONE,), axes)
    assert aggregation_lipschitz(aggregation, (1.0,), WORDS) == pytest.approx(known)
    assert steepest(aggregation, WORDS, WORDS.all_items) == pytest.approx(known)


def test_a_grouped_value_may_look_at_the_label_itself() -> None:
    """Out of a cell the old value goes, and into another one the new one comes, whatever they are."""
    space = Product(WORDS.weighted(3.0), Interval("x", 0, 1))
    value = LabelValue((("a", -3.0), ("b", 2.0)), 1.0, ("w",)) * col("x")
    points = list(product("abcd", (0.0, 0.25, 1.0)))
    items = space.encode({"w": [word for word, _ in points], "x": [x for _, x in points]})
    for axes in ((EACH,), (CLUSTERS,), (ALONE,), (EACH, CLUSTERS), ()):
        aggregation = Aggregation((value, ONE), axes)
        found, bound = steepest(aggregation, space, items), aggregation_lipschitz(aggregation, (1.0, 1.0), space)
        assert found[0] <= bound[0] * (1 + 1e-12)
        assert found[1] <= bound[1] * (1 + 1e-12)


@pytest.mark.parametrize("cells", [(("a",), ("b",)), (("a", "b", "c"),), (("c",),)])
def test_a_neutral_item_beside_the_labels_is_in_no_cell_and_counts_as_near(cells: tuple[tuple[str, ...], ...]) -> None:
    """The mean vector lies at 5/3, nearer to c than any other key does: 0.3 diameters away."""
    aggregation = Aggregation((ONE,), (LabelAxis("w", cells),))
    found = aggregation_lipschitz(aggregation, (1.0,), TWINS)
    assert cell_values(aggregation, TWINS, TWINS.neutral_item).tolist() == [[0.0] * len(cells)]
    assert steepest(aggregation, TWINS, TWINS.all_items)[0] <= found[0] * (1 + 1e-12)
    if len(cells) == 1:
        assert found[0] == pytest.approx(3.0)


def test_places_at_an_edge_and_at_the_seam_of_a_truncated_cycle() -> None:
    space = Cycle("h", 0.7, diameter=0.02)
    seam = np.array([[0.0], [np.nextafter(0.7, 0)], [0.35], [0.1], [0.7 / 3], [0.01], [0.69]])
    for size in (3, 7, 50):
        aggregation = Aggregation((ONE,), (HatAxis(col("h"), 0, 0.7 / size, size, is_periodic=True),))
        bound = aggregation_lipschitz(aggregation, (1.0,), space)
        rows = cell_values(aggregation, space, seam)
        assert np.abs(rows[0] - rows[1]).sum() <= 1e-13
        assert steepest(aggregation, space, seam[[0, 2, 3, 4, 5, 6]])[0] <= bound[0] * (1 + 1e-12)
        assert bound[0] == pytest.approx(min(2 * size * 0.02 / 0.7 * 17.5, max(2 * size * 0.02 / 0.7, 2.0)))


@pytest.mark.parametrize("excess", [9e-13, -9e-13, 0.0])
def test_a_step_that_does_not_quite_go_round_costs_an_error_of_places(excess: float) -> None:
    """The bounds are those of the exact step; the engine's own is off by more than a rounding."""
    space, size = Cycle("h", 24.0), 150_000
    axis = HatAxis(col("h"), 0, 24.0 / size * (1 + excess), size, is_periodic=True)
    last = np.nextafter(24.0, 0)
    below, fraction = hat_places(axis, np.array([last]))
    place = Fraction(int(below[0])) + Fraction(float(fraction[0]))
    exact = Fraction(float(last)) * size / 24
    rates = hat_rates(axis, space)
    assert abs(place - exact) <= rates.error
    assert rates.error >= abs(excess) * size * 0.99
    assert rates.error <= abs(excess) * size * 1.01 + 2.0**-50 * size


def test_axes_along_one_part_that_are_no_columns_add_up() -> None:
    space = Vector(["x", "y"], box=[(-1, 1), (-1, 1)])
    rng = np.random.default_rng(3)
    start = rng.uniform(-0.9, 0.9, (60, 2))
    items = np.concatenate([start, start + rng.normal(0, 1e-3, start.shape)])
    near = HatAxis(distance_to([0.0, 0.0]), start=0, step=0.4, size=4)
    far = HatAxis(distance_to([3.0, 0.1]), start=2, step=0.4, size=6)
    along = HatAxis(col("x"), start=-1, step=0.4, size=6)
    for axes in ((near, far), (near, along), (along, along), (near, along, far)):
        aggregation = Aggregation((ONE,), axes)
        found, bound = steepest(aggregation, space, items), aggregation_lipschitz(aggregation, (1.0,), space)
        assert 0.7 * bound[0] <= found[0] <= bound[0] * (1 + 1e-9)
        assert 0.5 * bound[1] <= found[1] <= bound[1] * (1 + 1e-9)


def test_a_capped_filter_of_a_hull_around_0_reaches_its_spread() -> None:
    """A user may go from all weight on one item to all weight on another, or to no weight at all."""
    space = Product(Interval("x", 2, 5), Categories("k", ["a", "b"]))
    for value, spread in ((col("x"), 5.0), (col("x") - 3, 3.0), (col("x") - 8, 6.0)):
        assert aggregation_spread(Aggregation((value,), cap=1), (1.0,), space)[0] == spread
    by_kind = Aggregation((col("x"),), (LabelAxis("k", (("a",), ("b",))),), cap=3)
    assert aggregation_spread(by_kind, (1.0,), space) == pytest.approx((30.0, 15 * 2**0.5))


def test_distances_of_next_to_nothing_have_a_constant_that_is_huge_and_not_refused() -> None:
    space = Distances("w", ["a", "b", "c"], [[0, 1e-140, 1], [1e-140, 0, 1], [1, 1, 0]])
    axis = LabelAxis("w", (("a",), ("b", "c")))
    assert aggregation_lipschitz(Aggregation((ONE,), (axis,)), (1.0,), space)[0] == pytest.approx(2e140)
