"""The row of a histogram that is elsewhere: its constant, its value, its place in the plan."""

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from emdp.estimators.frequency.smoothed import plan_frequencies
from emdp.estimators.quantiles.quantiles import plan_quantiles
from emdp.expressions import col
from emdp.expressions.cells.aggregation import LabelAxis
from emdp.expressions.cells.reference import cell_values
from emdp.questions.price import Price
from emdp.questions.select import FrequencyQuery, Grid, QuantileQuery
from emdp.spaces import Categories, Elsewhere, Embedding, Geo, Interval, finite_items

KINDS = Categories("kind", ["a", "b", "c"])
CELLS = LabelAxis("kind", (("a",), ("b",), ("c",)))
NYC = Geo("lat", "lon", (40.48, -74.26, 40.92, -73.70), unit="km")


def plan_of(cells: Any, space: Any, **more: Any) -> Any:
    return plan_frequencies(FrequencyQuery(cells, Price("alpha", 2.0), **more), space=space, users=10)


@pytest.mark.parametrize("rho", [0.5, 0.8, 1.0])
def test_no_pair_of_records_exceeds_the_constant(rho: float) -> None:
    space = Elsewhere(KINDS, rho)
    plan = plan_of(CELLS, space)
    items = finite_items(space)
    assert items is not None
    rows = [plan.prepared([Fraction(one) for one in own]) for own in cell_values(plan.aggregation, space, items)]
    apart = space.distances(items, items)
    steepest = max(
        sum(abs(float(a - b)) for a, b in zip(rows[i], rows[j], strict=True)) / apart[i, j]
        for i, j in itertools.combinations(range(4), 2)
    )
    assert plan.columns[0].lipschitz == pytest.approx(steepest) == pytest.approx(2 / rho)
    assert plan.mechanisms[0].dimension == 4
    assert plan.mechanisms[0].sensitivity == pytest.approx(steepest / 10)


def test_a_map_pays_nothing_for_it() -> None:
    for rho in (0.5, 1.0):
        one, other = plan_of(Grid(1.0), NYC), plan_of(Grid(1.0), Elsewhere(NYC, rho))
        assert one.columns[0].lipschitz == other.columns[0].lipschitz == pytest.approx(192.6, abs=0.5)
        assert other.mechanisms[0].dimension == one.mechanisms[0].dimension + 1


def test_rows_add_up_to_1_and_the_last_is_elsewhere() -> None:
    plan = plan_of(CELLS, Elsewhere(KINDS))
    summed = plan.summed([Fraction(1, 2), Fraction(1, 8), Fraction(0)])
    assert sum(summed) == 1
    frame = plan.finisher.exact((summed,))
    assert frame.rows()[-1] == (None, True, 0.375)
    assert frame["elsewhere"].sum() == 1


def test_values_that_no_cell_lists_leave_no_row_of_it() -> None:
    table = {"word": ["cat", "dog"], "vector": [[0.0, 1.0], [2.0, 0.5]]}
    space = Elsewhere(Embedding("word", table, on_invalid="elsewhere"))
    plan = plan_of(LabelAxis("word", (("cat",), ("dog",))), space)
    assert not plan.has_absent
    assert "no row of it" in " ".join(plan.notes)


def test_at_user_level_the_row_is_free() -> None:
    query = FrequencyQuery(CELLS, Price("epsilon", 2.0))
    one, other = (plan_frequencies(query, space=own, users=10).mechanisms[0] for own in (KINDS, Elsewhere(KINDS)))
    assert one.scale == other.scale


def test_quantiles_pay_one_ramp_of_all_at_most() -> None:
    query = QuantileQuery(col("x"), (0.5,), Price("alpha", 2.0), step=0.5)
    line = Interval("x", 0, 10)
    one, other = (plan_quantiles(query, space=own, users=10).columns[0].lipschitz for own in (line, Elsewhere(line)))
    assert (one, other) == (20.0, 21.0)
    assert np.isclose(plan_quantiles(query, space=Elsewhere(line, 0.5), users=10).columns[0].lipschitz, 42.0)
