"""Known answers of the reference, partitions of unity, and user statistics against plain loops."""

import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from user_statistics import user_statistic

import emdp.expressions as ex
from emdp.base.errors import NotLipschitzError, UsageError
from emdp.expressions.cells.aggregation import Aggregation, HatAxis, LabelAxis
from emdp.expressions.cells.reference import OUTSIDE, cell_values, hat_places, label_cells, round_part
from emdp.expressions.nodes.base import Constant
from emdp.expressions.numbers.fixed_point import WEIGHT_BITS
from emdp.spaces import Categories, Cycle, Embedding, Interval, Product, Vector

x = ex.col("x")
one = Constant(1.0)
KINDS = ("a", "b", "c", "d")
PLACE = Interval("x", 0, 4)
SPACE = Product(PLACE, Categories("kind", KINDS))


def items_of(places: list[float], kinds: list[str]) -> np.ndarray:
    return SPACE.encode({"x": places, "kind": kinds})


def test_values_come_first_then_cells_with_the_last_axis_fastest() -> None:
    labels = LabelAxis("kind", (("a",), ("b", "c")))
    hats = HatAxis(x, start=0, step=2, size=3)
    found = cell_values(Aggregation((x, one), (labels, hats)), SPACE, items_of([1, 3, 4], ["a", "c", "d"]))
    assert found.shape == (3, 12)
    assert found[0].tolist() == [0.5, 0.5, 0, 0, 0, 0, 0.5, 0.5, 0, 0, 0, 0]
    assert found[1].tolist() == [0, 0, 0, 0, 1.5, 1.5, 0, 0, 0, 0, 0.5, 0.5]
    assert found[2].tolist() == [0] * 12


def test_without_axes_there_is_one_cell_of_weight_one() -> None:
    found = cell_values(Aggregation((x, 2 * x)), SPACE, items_of([1, 3], ["a", "d"]))
    assert found.tolist() == [[1, 2], [3, 6]]


def test_places_are_clamped_at_both_ends() -> None:
    axis = HatAxis(x, start=1, step=0.5, size=3)
    found = cell_values(Aggregation((one,), (axis,)), PLACE, PLACE.encode({"x": [0, 1, 1.25, 2, 4]}))
    assert found.tolist() == [[1, 0, 0], [1, 0, 0], [0.5, 0.5, 0], [0, 0, 1], [0, 0, 1]]


def test_an_axis_of_one_node_has_the_weight_one() -> None:
    found = cell_values(Aggregation((x,), (HatAxis(x, start=1, step=0.5, size=1),)), PLACE, PLACE.encode({"x": [0, 3]}))
    assert found.tolist() == [[0], [3]]


def test_a_periodic_axis_goes_round() -> None:
    space = Cycle("hour", 24)
    axis = HatAxis(ex.col("hour"), start=0, step=6, size=4, is_periodic=True)
    found = cell_values(Aggregation((one,), (axis,)), space, space.encode({"hour": [0, 3, 18, 22.5, 23.9999999999]}))
    assert found[:4].tolist() == [[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0, 0, 0, 1], [0.75, 0, 0, 0.25]]
    assert found[4] == pytest.approx([1, 0, 0, 0], abs=1e-9)


def test_a_step_that_rounds_leaves_no_item_out_of_the_cycle() -> None:
    period = 24.0
    space = Cycle("hour", period)
    for size in (3, 7, 11, 13, 49):
        axis = HatAxis(ex.col("hour"), start=0, step=period / size, size=size, is_periodic=True)
        items = np.array([[np.nextafter(period, 0)], [0.0], [period * (size - 1) / size]])
        found = cell_values(Aggregation((one,), (axis,)), space, items)
        assert found.sum(axis=1) == pytest.approx(1, abs=0)
        assert found[0, 0] == pytest.approx(1, abs=1e-12)


@settings(deadline=None, max_examples=60)
@given(st.floats(-3, 3), st.floats(0.01, 5), st.integers(1, 9), st.lists(st.floats(-5, 5), min_size=1, max_size=20))
def test_hat_weights_are_a_partition_of_unity_of_tents(start: float, step: float, size: int, at: list[float]) -> None:
    space = Interval("x", -5, 5)
    axis = HatAxis(x, start=start, step=step, size=size)
    found = cell_values(Aggregation((one,), (axis,)), space, space.encode({"x": at}))
    assert (found >= 0).all()
    assert found.sum(axis=1) == pytest.approx(1, abs=1e-15)
    for row, value in zip(found, at, strict=True):
        place = min(max((Fraction(value) - Fraction(start)) / Fraction(step), Fraction(0)), Fraction(size - 1))
        tents = [float(max(Fraction(0), 1 - abs(place - node))) for node in range(size)]
        assert row == pytest.approx(tents, abs=1e-12)


def test_hat_places_never_name_a_node_without_a_next() -> None:
    below, fractions = hat_places(HatAxis(x, start=0, step=1, size=4), np.array([-1, 0, 2.5, 3, 99, 1e308]))
    assert below.tolist() == [0, 0, 2, 2, 2, 2]
    assert fractions.tolist() == [0, 0, 0.5, 1, 1, 1]
    below, fractions = hat_places(HatAxis(x, start=0, step=1e-300, size=4), np.array([1e300]))
    assert (below.tolist(), fractions.tolist()) == ([2], [1])


def test_label_cells_count_an_unlisted_neutral_item_as_outside() -> None:
    table = {"key": ["a", "b"], "u": [0.0, 1.0], "v": [1.0, 0.0]}
    index, cells = label_cells(LabelAxis("word", (("b",),)), Embedding("word", table))
    assert (index, cells.tolist()) == (0, [OUTSIDE, 0, OUTSIDE])


@pytest.mark.parametrize(
    ("axis", "message"),
    [
        (LabelAxis("x", ((1,),)), "has no listed values"),
        (LabelAxis("kind", (("zoo",),)), "none of the 4 values"),
        (LabelAxis("kind", ((1,),)), "none of the 4 values"),
        (LabelAxis("sort", (("a",),)), "no column of the space"),
        (HatAxis(x, start=0, step=1, size=4, is_periodic=True), "not periodic"),
        (HatAxis(2 * x, start=0, step=1, size=4, is_periodic=True), "needs the column of a Cycle"),
    ],
)
def test_axes_that_do_not_fit_the_space_are_refused(axis: LabelAxis | HatAxis, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        cell_values(Aggregation((one,), (axis,)), SPACE, SPACE.neutral_item)


@pytest.mark.parametrize(("start", "step"), [(1, 6), (0, 5), (0, 6.001)])
def test_a_periodic_axis_goes_round_once_from_0(start: float, step: float) -> None:
    axis = HatAxis(ex.col("hour"), start=start, step=step, size=4, is_periodic=True)
    with pytest.raises(UsageError, match="steps add up to the period"):
        round_part(axis, Cycle("hour", 24))


def test_whole_numbers_and_truth_values_are_different_labels() -> None:
    space = Categories("flag", [0, 1, 2])
    assert label_cells(LabelAxis("flag", ((1,),)), space)[1].tolist() == [OUTSIDE, 0, OUTSIDE]
    with pytest.raises(UsageError):
        label_cells(LabelAxis("flag", ((True,),)), space)


def test_a_jump_is_refused_as_a_value_and_on_an_axis() -> None:
    for aggregation in (Aggregation((x > 1,)), Aggregation((one,), (HatAxis(x > 1, start=0, step=1, size=2),))):
        with pytest.raises(NotLipschitzError):
            cell_values(aggregation, SPACE, SPACE.neutral_item)


def test_the_neutral_item_of_a_hundred_thousand_cells_is_quick() -> None:
    space = Vector(["u", "v"], box=[(0, 1), (0, 1)])
    axes = tuple(HatAxis(ex.col(name), start=0, step=1 / 320, size=321) for name in ("u", "v"))
    started = time.process_time()
    found = cell_values(Aggregation((one,), axes), space, space.neutral_item)
    assert time.process_time() - started < 0.2
    assert found.shape == (1, 321 * 321)
    assert found.sum() == 1
    assert found[0, 160 * 321 + 160] == 1


# ------------------------------------------------ user statistics


def plain_mean(aggregation: Aggregation, bags: list[np.ndarray]) -> np.ndarray:
    total = np.zeros(aggregation.dimension)
    for bag in bags:
        rows = [cell_values(aggregation, SPACE, item[None])[0] for item in bag]
        total += sum(rows) / len(rows) if rows else cell_values(aggregation, SPACE, SPACE.neutral_item)[0]
    return total / len(bags)


def plain_total(aggregation: Aggregation, bags: list[np.ndarray]) -> np.ndarray:
    total = np.zeros(aggregation.dimension)
    for bag in bags:
        rows = [cell_values(aggregation, SPACE, item[None])[0] for item in bag]
        chosen = one if aggregation.chosen is None else aggregation.chosen
        weights = [float(ex.evaluate(chosen, SPACE, item[None])[0]) for item in bag]
        factor = min(1.0, aggregation.cap / sum(weights)) if sum(weights) else 1.0
        total += sum((factor * weight * row for weight, row in zip(weights, rows, strict=True)), np.zeros(1))
    return total


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32), st.integers(1, 6), st.sampled_from([None, ex.category_is("a", "b"), ex.ramp(x, 0, 3)]))
def test_user_statistics_agree_with_plain_loops(seed: int, users: int, chosen: ex.Expression | None) -> None:
    rng = np.random.default_rng(seed)
    bags = [
        np.column_stack([rng.uniform(0, 4, count), rng.integers(0, 4, count)])
        for count in rng.integers(0, 6, users).tolist()
    ]
    axes = (LabelAxis("kind", (("a",), ("d", "c"))), HatAxis(x, start=0, step=1, size=5))
    mean = Aggregation((x, one), axes)
    assert user_statistic(mean, SPACE, bags) == pytest.approx(plain_mean(mean, bags), abs=1e-12)
    total = Aggregation((x, one), axes, cap=2, chosen=chosen)
    assert user_statistic(total, SPACE, bags) == pytest.approx(plain_total(total, bags), abs=4 * 6 * 2.0**-WEIGHT_BITS)


def test_users_without_records_count_in_means_and_not_in_totals() -> None:
    nobody = np.zeros((0, 2))
    assert user_statistic(Aggregation((x,)), SPACE, [nobody, items_of([4], ["a"])]).tolist() == [3]
    assert user_statistic(Aggregation((x,), cap=3), SPACE, [nobody, items_of([4], ["a"])]).tolist() == [4]
    assert user_statistic(Aggregation((x,), cap=3), SPACE, [nobody, nobody]).tolist() == [0]


def test_records_over_the_cap_share_it() -> None:
    bag = items_of([1, 2, 3, 4], ["a", "a", "a", "b"])
    assert user_statistic(Aggregation((x, one), cap=2), SPACE, [bag]).tolist() == [5, 2]
    chosen = ex.category_is("a")
    assert user_statistic(Aggregation((x, one), cap=2, chosen=chosen), SPACE, [bag]) == pytest.approx([4, 2])
    assert user_statistic(Aggregation((x, one), cap=5, chosen=chosen), SPACE, [bag]).tolist() == [6, 3]
    light = user_statistic(Aggregation((one,), cap=5, chosen=ex.clamp(x / 3, 0, 1)), SPACE, [bag[:1]])
    assert light == pytest.approx([1 / 3], abs=2.0 ** -(WEIGHT_BITS + 1))
    assert (light * 2.0**WEIGHT_BITS == np.rint(light * 2.0**WEIGHT_BITS)).all()
