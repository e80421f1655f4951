"""Changes of a stream's figures: coverage for quotients under every plan, exact where linear, nothing where nothing."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

from emdp.estimators.columns.values import level_below
from emdp.estimators.select import plan_select
from emdp.estimators.streams import StreamPlan, plan_stream
from emdp.expressions import col, ramp
from emdp.mechanisms.streams.strategy import Plan as Figures
from emdp.questions.price import Price
from emdp.questions.select import Item, Order, Select
from emdp.spaces import Elsewhere, Interval
from emdp.testing import seeded

Statistic = tuple[Fraction, ...]


def stream(figures: Figures = "days", *, alpha: float = 100.0, space: Any = None, **more: Any) -> StreamPlan:
    """Return a stream of three periods of a mean among some records, of 100 users."""
    values = {"items": (Item("avg", "x", col("x")),), "where": ramp(col("x"), 0.3, 0.6), **more}
    query = Select(price=Price("alpha", alpha, 1e-5), noise="gaussian", **values)
    plan = plan_select(query, space=space or Interval("x", 0, 1), users=100)
    return plan_stream(plan, 3, unit="period", figures=figures)


def released(own: StreamPlan, statistics: list[Statistic]) -> dict[int, list[list[int]]]:
    """Return rows of some periods' statistics, with fresh noise."""
    past = [own.mechanism.rounded(own.plan.prepared(statistic)) for statistic in statistics]
    return {place: own.drawn(past[:place]) for place in range(1, len(past) + 1)}


def truth(own: StreamPlan, statistics: list[Statistic], name: str = "x") -> float:
    """Return the exact change of a column's first row at the last period."""
    new, old = (own.plan.finisher.exact((statistic,))[name][0] for statistic in statistics[:-3:-1])
    return float(new - old)


THREE = [(Fraction(3, 100), Fraction(4, 10)), (Fraction(-2, 100), Fraction(5, 10)), (Fraction(5, 100), Fraction(3, 10))]
"""Numerators around the middle, and shares of the chosen records, of three periods."""


@pytest.mark.quarter
@pytest.mark.parametrize("figures", ["days", "totals", "both"])
def test_the_change_of_a_quotient_is_covered(figures: Figures) -> None:
    """300 streams at level 0.8: Binomial(300, 0.8) is below 207 with probability 1e-5; ratios of differences: never."""
    own = stream(figures)
    exact, held, widths = truth(own, THREE), 0, []
    with seeded(7):
        for _ in range(300):
            (row,) = own.frame(released(own, THREE), "change", 0.8).to_dicts()
            held += row["x_low"] <= exact <= row["x_high"]
            widths.append(row["x_high"] - row["x_low"])
            assert row["x_low"] <= row["x"] <= row["x_high"]
    assert 0.1 < abs(exact) < 0.4
    assert held >= 207
    # It says something: the range of a change is 2 wide.
    assert float(np.median(widths)) < 0.2


@pytest.mark.parametrize("together", [False, True])
def test_ends_are_those_of_two_days_with_half_of_the_tail_each(together: bool) -> None:
    own = stream("both")
    with seeded(3):
        rows = released(own, THREE)
    until = {place: rows[place] for place in (1, 2)}
    half = level_below(0.1)
    (new,), (old,) = (own.frame(some, "day", half, together=together).to_dicts() for some in (rows, until))
    (row,) = own.frame(rows, "change", 0.8, together=together).to_dicts()
    assert row["x"] == new["x"] - old["x"]
    assert new["x_low"] - old["x_high"] - 1e-12 <= row["x_low"] < new["x_low"] - old["x_high"]
    assert new["x_high"] - old["x_low"] < row["x_high"] <= new["x_high"] - old["x_low"] + 1e-12


def test_a_change_from_no_value_has_none() -> None:
    """In the second period nothing is chosen: the share is within its noise."""
    own = stream(alpha=400.0)
    with seeded(5):
        rows = released(own, [THREE[0], (Fraction(0), Fraction(0)), THREE[2]])
    for until in (2, 3):
        some = {place: rows[place] for place in range(1, until + 1)}
        assert own.frame(some, "change", 0.95).row(0) == (None, -math.inf, math.inf)


def test_a_linear_change_has_the_law_of_its_noise_whatever_is_added() -> None:
    """Days are independent: a change has the root of two times a day's width, and no centre or number of users."""
    own = stream(items=(Item("avg", "x", col("x")), Item("users", "n")), where=None)
    assert own.plan.finisher.exact(((Fraction(0),),))["n"].to_list() == [100]
    with seeded(2):
        rows = released(own, [(Fraction(1, 5),), (Fraction(1, 4),)])
    (day,), (row,) = (own.frame(rows, show, 0.95).to_dicts() for show in ("day", "change"))
    assert row["x_high"] - row["x_low"] == pytest.approx(math.sqrt(2) * (day["x_high"] - day["x_low"]), rel=1e-6)
    assert abs(row["x"] - 0.05) < 5 * (row["x_high"] - row["x_low"])
    assert (row["n"], row["n_low"], row["n_high"]) == (0, 0, 0)


def test_a_space_with_a_point_elsewhere_makes_every_mean_a_quotient() -> None:
    """The change of a mean among what is somewhere, at bounds that miss once in 1e9."""
    own = stream(alpha=20_000.0, space=Elsewhere(Interval("x", 0, 1), 1.0), where=None)
    with seeded(4):
        (row,) = own.frame(released(own, THREE), "change", 1 - 1e-9).to_dicts()
    exact = truth(own, THREE)
    assert row["x_low"] <= exact <= row["x_high"]
    assert row["x_high"] - row["x_low"] < 0.1


def test_rows_are_in_the_order_of_the_change() -> None:
    """A limit keeps the first rows of changes, at every level."""
    items = (Item("avg", "x", col("x")),)
    own = stream(items=items, order=(Order("x", is_descending=True),), limit=1)
    with seeded(8):
        rows = released(own, THREE)
    plain = stream(items=items)
    for level in (0.95, 0.5):
        assert own.frame(rows, "change", level).equals(plain.frame(rows, "change", level))


def test_the_first_period_has_the_columns_and_no_row() -> None:
    own = stream()
    rows = released(own, THREE[:1])
    found = own.frame(rows, "change", 0.95)
    assert found.schema == own.frame(rows, "day", 0.95).schema
    assert found.equals(pl.DataFrame(schema=found.schema))
