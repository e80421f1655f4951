"""Constants with the point elsewhere: no pair of bags exceeds them, by exact distances; the share is free."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from user_statistics import user_statistic

import emdp.expressions as ex
from emdp.expressions.analysis.evaluate import evaluate
from emdp.expressions.cells.aggregation import Aggregation, HatAxis, LabelAxis
from emdp.expressions.cells.bounds import aggregation_lipschitz, aggregation_spread
from emdp.expressions.cells.reference import cell_values
from emdp.expressions.nodes.base import Constant
from emdp.expressions.nodes.lookup import LabelValue
from emdp.spaces import Categories, Distances, Elsewhere, Interval, Product, Space, finite_items
from emdp.spaces.base import Floats
from emdp.transport.bags import bag_from_items
from emdp.transport.routes import distance, prepare

ONE = Constant(1.0)
LABELS = ("a", "b", "c", "d")


def d_em_of(P: Floats, Q: Floats, space: Space) -> float:
    left, right = prepare([bag_from_items("P", P, None), bag_from_items("Q", Q, None)], space)
    return distance(left, right, space)


def norms_of(change: Floats) -> tuple[float, float]:
    return float(np.abs(change).sum()), float(np.linalg.norm(change))


def random_case(rng: np.random.Generator) -> tuple[Space, Aggregation, tuple[float, ...], bool]:
    """A random space with the point, and values over cells of it."""
    points = rng.random((len(LABELS), 2))
    matrix = np.abs(points[:, None, :] - points[None, :, :]).sum(axis=2)
    stops = Distances("s", list(LABELS), matrix.tolist())
    line = Interval("x", float(rng.uniform(-5, 5)), 6.0)
    rho = float(rng.choice([0.5, 1.0, rng.uniform(0.5, 1)]))
    space = Elsewhere(Product(stops.weighted(float(rng.uniform(0.2, 3))), line), rho)
    value = LabelValue(tuple((label, float(rng.normal())) for label in LABELS), 0.0, "s", "rent")
    first = ex.col("x") - float(rng.uniform(-6, 6))
    factor = ex.ramp(ex.col("x"), 1.0, float(rng.uniform(1.5, 4)))
    values: tuple[ex.Expression, ...] = ((first, ONE), (first * factor, factor), (first, ONE, value))[rng.integers(3)]
    cumulative = bool(rng.integers(4) == 0)
    step = float(rng.uniform(0.5, 4))
    hat = HatAxis(ex.col("x"), start=line.low, step=step, size=math.ceil((6.0 - line.low) / step) + 1)
    label = LabelAxis("s", (("a",), ("b", "c"))[: int(rng.integers(1, 3))])
    axes = (hat,) if cumulative else ((), (label,), (hat,), (label, hat))[rng.integers(4)]
    if cumulative:
        values = (ONE,)
    return space, Aggregation(values, axes), tuple(rng.uniform(0.1, 3, len(values)).tolist()), cumulative


def scaled(aggregation: Aggregation, scales: Sequence[float], statistic: Floats, cumulative: bool) -> Floats:
    rows = statistic.reshape(len(aggregation.values), -1) * np.array(scales)[:, None]
    if cumulative:
        size = aggregation.axes[-1].size
        rows = np.cumsum(rows.reshape(len(rows), -1, size), axis=2)
    return rows.ravel()


def items_of(space: Space, rng: np.random.Generator, count: int) -> Floats:
    inner = space.items_space
    items = inner.items_at(rng.random((count, inner.width)))
    items[rng.random(count) < 0.3] = np.nan
    return items


@pytest.mark.quarter
@pytest.mark.parametrize("seed", range(300))
def test_no_pair_of_bags_exceeds_the_constants_nor_the_spread(seed: int) -> None:
    rng = np.random.default_rng(seed)
    space, aggregation, scales, cumulative = random_case(rng)
    constants = aggregation_lipschitz(aggregation, scales, space, is_cumulative=cumulative)
    spreads = aggregation_spread(aggregation, scales, space, is_cumulative=cumulative)
    for size in (1, 1, 1, 3):
        bags = [items_of(space, rng, size), items_of(space, rng, int(rng.integers(1, 4)))]
        one, two = (scaled(aggregation, scales, user_statistic(aggregation, space, [bag]), cumulative) for bag in bags)
        moved = d_em_of(*bags, space)
        for change, constant, spread in zip(norms_of(one - two), constants, spreads, strict=True):
            assert change <= constant * moved * (1 + 1e-9) + 1e-9
            assert change <= spread * (1 + 1e-9)


@pytest.mark.parametrize("rho", [0.5, 0.6, 0.75, 1.0])
def test_a_share_beside_a_centred_mean_is_free_and_the_constant_attained(rho: float) -> None:
    space = Elsewhere(Interval("x", 0, 10), rho)
    pair = Aggregation((ex.col("x") - 5, ONE))
    L, h = 10.0, 5.0
    free_1, free_2 = rho * L - h, math.sqrt((rho * L) ** 2 - h**2)
    for norm, free in enumerate((free_1, free_2)):
        if free > 0:
            assert aggregation_lipschitz(pair, (1.0, free), space)[norm] == pytest.approx(L, rel=1e-12)
        assert aggregation_lipschitz(pair, (1.0, free + 0.1), space)[norm] > L * (1 + 1e-4)
    # A sum of both constants would be this, and nothing attains it.
    if free_1 > 0:
        end, absent = (cell_values(pair, space, item)[0] for item in (np.array([[10.0]]), space.neutral_item))
        change = np.abs((end - absent) * np.array([1.0, free_1])).sum()
        assert change / rho == pytest.approx(L)
        assert L + free_1 / rho > change / rho


def test_without_centring_a_mean_costs_ten_times_as_much() -> None:
    space = Interval("x", 900, 1000)
    for rho, factor in ((1.0, 10.0), (0.5, 20.0)):
        found = aggregation_lipschitz(Aggregation((ex.col("x"),)), (1.0,), Elsewhere(space, rho))[0]
        assert found == pytest.approx(factor * 100)
        assert aggregation_lipschitz(Aggregation((ex.col("x") - 950,)), (1.0,), Elsewhere(space, rho))[0] == 100


def test_listed_values_cost_2_and_at_half_the_distance_2_without_their_own_cell() -> None:
    kinds = Categories("kind", list(LABELS))
    cells = Aggregation((ONE,), (LabelAxis("kind", tuple((label,) for label in LABELS)),))
    for rho in (1.0, 0.5):
        assert aggregation_lipschitz(cells, (1.0,), Elsewhere(kinds, rho))[0] == 2.0
    assert aggregation_lipschitz(Aggregation((ONE,)), (1.0,), Elsewhere(kinds, 0.5))[0] == 2.0


def test_a_constant_is_none_for_a_replaced_user() -> None:
    pair = Aggregation((ex.col("x") - 5, ONE))
    plain, extended = Interval("x", 0, 10), Elsewhere(Interval("x", 0, 10))
    assert aggregation_spread(pair, (1.0, 8.0), plain) == (10.0, 10.0)
    assert aggregation_spread(pair, (1.0, 8.0), extended)[0] == 13.0
    assert aggregation_spread(pair, (1.0, 5.0), extended)[0] == 10.0


def test_nobody_elsewhere_is_chosen_by_a_condition_or_its_negation() -> None:
    space = Elsewhere(Categories("kind", ["a", "b"]))
    factor = ex.category_is("a", column="kind")
    values = cell_values(Aggregation((factor, 1 - factor, ONE)), space, np.array([[0.0], [np.nan], [1.0]]))
    assert values.tolist() == [[1.0, 0.0, 1.0], [0.0, 0.0, 0.0], [0.0, 1.0, 1.0]]
    assert evaluate(1 - factor, space, space.neutral_item).tolist() == [0.0]


def test_a_whole_item_point_costs_less_than_one_a_part() -> None:
    # Weights 1:9: a point a part would have max_i (W/w_i) max(L_i, h/rho_i) = 250 at rho_i = 1/5.
    parts = Product(Interval("x", 0, 10).weighted(1), Interval("y", 0, 10).weighted(9))
    both = Aggregation((ex.col("x") + ex.col("y") - 10,))
    assert aggregation_lipschitz(both, (1.0,), Elsewhere(parts))[0] == pytest.approx(100.0)


def test_the_reference_of_a_user_without_records_is_0_in_every_coordinate() -> None:
    space = Elsewhere(Interval("x", 0, 10))
    pair = Aggregation((ex.col("x") - 5, ONE))
    bags = [np.array([[2.0]]), np.array([[4.0]]), np.empty((0, 1)), space.neutral_item]
    above, share = user_statistic(pair, space, bags)
    assert share == 0.5
    assert 5 + above / share == 3.0
    items = finite_items(Elsewhere(Categories("kind", ["a"])))
    assert items is not None
    assert len(items) == 2
