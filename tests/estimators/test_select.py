"""Plans of select lists: known constants, one draw against separate ones, and sensitivity against brute force."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from user_statistics import user_statistic

from emdp.base.errors import InternalError, NotLipschitzError, UsageError
from emdp.estimators.plan import Plan
from emdp.estimators.select import plan_select
from emdp.expressions import category_is, col, distance_to, ramp
from emdp.expressions.cells.aggregation import LabelAxis, UserGroups
from emdp.expressions.nodes.base import Constant, Expression
from emdp.mechanisms import LaplaceMechanism
from emdp.privacy import EmdDP
from emdp.questions.price import Price
from emdp.questions.select import GroupColumn, Item, Order, People, Select
from emdp.spaces import Categories, Geo, Interval, Product, Space

BOX = Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), unit="km")
KINDS = ("cafe", "bar", "park")
CITY = Product(BOX, Categories("kind", KINDS))
NEAR = ramp(distance_to((40.7484, -73.9857)), 2, 1)
PLANE = Product(Interval("x", 0, 3), Interval("y", 0, 2))
BY_KIND = GroupColumn("kind", KINDS, LabelAxis("kind", tuple((kind,) for kind in KINDS)))
ALPHA = Price("alpha", 2.0)
N = 1000


def avg(expression: Expression, name: str = "a", **more: Any) -> Item:
    return Item("avg", name, expression, **more)


def planned(*items: Item, space: Space, users: int = N, price: Price = ALPHA, **more: Any) -> Plan:
    return plan_select(Select(items, price, **more), space=space, users=users)


def two_groups() -> People:
    groups = UserGroups(pl.Series(["a", "b", "c"]), pl.Series([0, 1, 1], dtype=pl.Int64), (1, 2))
    return People(groups, ("city",), (("Rome",), ("Oslo",)), "by city")


# Known answers -----------------------------------------------------------------------------------------------------


def test_near_midtown_has_the_constants_of_the_theory() -> None:
    diameter = BOX.diameter
    alone = planned(avg(NEAR), space=BOX)
    assert alone.columns[0].lipschitz == pytest.approx(diameter)
    assert (alone.columns[0].low, alone.columns[0].high) == (0.0, 1.0)
    assert alone.mechanisms[0].sensitivity == pytest.approx(diameter / N)
    assert alone.columns[0].noise_scale == pytest.approx(diameter / (2.0 * N))
    grouped = planned(avg(NEAR), space=CITY, groups=(BY_KIND,))
    assert grouped.columns[0].lipschitz == pytest.approx(2 * diameter)
    part = planned(Item("part", "p", NEAR), space=CITY, groups=(BY_KIND,))
    assert part.mechanisms[0].sensitivity == pytest.approx(max(2 * diameter, 4) / N)
    assert part.columns[0].lipschitz == pytest.approx(max(2 * diameter, 4))
    share = planned(Item("share", "s"), space=CITY, groups=(BY_KIND,))
    assert share.mechanisms[0].sensitivity == pytest.approx(4 / N)


def test_the_mean_of_a_sum_over_two_parts_has_the_larger_width_doubled() -> None:
    plan = planned(avg(col("x") + col("y")), space=PLANE)
    assert plan.columns[0].lipschitz == 6.0
    assert plan.mechanisms[0].sensitivity == 6.0 / N
    assert plan.scales == (1.0,)


def test_values_of_different_parts_are_drawn_together_for_half_the_noise() -> None:
    plan = planned(avg(col("x"), "x"), avg(col("y"), "y"), space=PLANE)
    assert isinstance(plan.mechanisms[0], LaplaceMechanism)
    assert plan.columns[0].noise_scale == pytest.approx(6.0 / (2.0 * N))  # that of x alone with all of alpha
    assert plan.columns[1].noise_scale == pytest.approx(4.0 / (2.0 * N))
    assert "one draw for 2 columns: joint constant 1.00 against 2.00" in plan.choice
    assert "50 % of theirs" in plan.choice
    assert [column.share for column in plan.columns] == [0.5, 0.5]


def test_weights_divide_the_noise_where_constants_add() -> None:
    items = avg(col("x"), "a", weight=2.0), avg(col("x") * col("x"), "b", weight=1.0)
    plan = planned(*items, space=Interval("x", 0, 1), noise="laplace")
    first, second = plan.columns
    assert (first.lipschitz, second.lipschitz) == (1.0, 2.0)
    assert first.noise_scale == pytest.approx(1.5 * 1.0 / (2.0 * N))  # its share is 2/3
    assert second.noise_scale == pytest.approx(3.0 * 2.0 / (2.0 * N))
    assert (first.share, second.share) == pytest.approx((2 / 3, 1 / 3))
    assert "by weight: a 66.7 %, b 33.3 %" in plan.choice
    same = planned(avg(col("x"), "a", weight=2.0), avg(1 - col("x"), "b"), space=Interval("x", 0, 1)).columns
    assert same[0].noise_scale == pytest.approx(same[1].noise_scale / 2)


def test_a_filter_on_a_category_costs_half_the_range() -> None:
    # (x - 1/2) 1[bar] changes by 2 within the category and by 1/2 into or out of it, per unit of the category's part.
    space = Product(Interval("x", 0, 1), Categories("kind", KINDS))
    plan = planned(avg(col("x")), space=space, where=category_is("bar"))
    assert str(plan.aggregation.values[0]) == "(x - 0.5) * category_is('bar')"
    numerator, denominator = plan.scales
    own_part = 2 * numerator
    crossing = 2 * (0.5 * numerator + denominator)
    assert plan.mechanisms[0].sensitivity == pytest.approx(max(own_part, crossing) / N)
    # The denominator is as precise as it can be without costing the numerator anything.
    assert crossing == pytest.approx(own_part, rel=0.03)


def test_a_shared_value_is_computed_once() -> None:
    items = (avg(NEAR), Item("share", "s"), Item("variance", "v", NEAR), Item("stddev", "d", NEAR), avg(NEAR, "again"))
    plan = planned(*items, space=CITY, groups=(BY_KIND,))
    assert len(plan.aggregation.values) == 3
    plain = planned(avg(NEAR), Item("variance", "v", NEAR), space=CITY)
    assert [str(value) for value in plain.aggregation.values] == [str(NEAR), f"({NEAR} - 0.5) ** 2"]


# Rows ----------------------------------------------------------------------------------------------------------------


def bags_of_city(rng: np.random.Generator, users: int) -> list[Any]:
    return [
        CITY.encode(
            {
                "lat": rng.uniform(40.5, 40.9, 5),
                "lon": rng.uniform(-74.2, -73.8, 5),
                "kind": rng.choice(KINDS[:2], 5).tolist(),
            }
        )
        for _ in range(users)
    ]


def test_exact_rows_are_what_sql_says_in_our_weighting() -> None:
    distance = distance_to((40.7, -74.0))
    chosen = ramp(distance_to((40.72, -74.0)), 15, 10)
    items = (avg(distance), Item("part", "p", distance), Item("share", "s"), Item("variance", "v", distance),
             Item("stddev", "d", distance))  # fmt: skip
    plan = planned(*items, space=CITY, users=6, groups=(BY_KIND,), where=chosen)
    bags = bags_of_city(np.random.default_rng(2), 6)
    statistic = tuple(map(Fraction, user_statistic(plan.aggregation, CITY, bags).tolist()))
    rows = plan.finisher.exact((plan.summed(statistic),))
    everything = np.concatenate(bags)
    values = select_values(distance, everything)
    weights = select_values(chosen, everything)
    for place, kind in enumerate(KINDS[:2]):
        own = weights * (everything[:, -1] == place)
        row = rows.row(place, named=True)
        assert row["kind"] == kind
        assert row["s"] == pytest.approx(own.mean())
        assert row["p"] == pytest.approx((own * values).mean())
        assert row["a"] == pytest.approx(np.average(values, weights=own))
        assert row["v"] == pytest.approx(np.average((values - row["a"]) ** 2, weights=own))
        assert row["d"] == pytest.approx(math.sqrt(row["v"]))
    assert rows.row(2) == ("park", None, 0.0, 0.0, None, None)  # nobody was in a park
    # One draw, and what it answers is within the intervals taken together (they miss once in a million).
    released = plan.restored(plan.mechanisms[0].release(plan.prepared(statistic)))
    frame = plan.finisher.frame((released,), 1 - 1e-6, together=True)
    assert frame.columns[:4] == ["kind", "a", "a_low", "a_high"]
    for name in ("a", "p", "s", "v", "d"):
        ends = (frame.get_column(f"{name}_{end}") for end in ("low", "high"))
        for exact, low, high in zip(rows.get_column(name), *ends, strict=True):
            assert exact is None or low <= exact <= high


def select_values(expression: Expression, items: Any) -> Any:
    from emdp.expressions import evaluate

    return evaluate(expression, CITY, items)


def test_a_share_within_its_noise_gives_null_and_says_so() -> None:
    plan = planned(avg(NEAR), space=CITY, groups=(BY_KIND,), users=10)
    frame = plan.finisher.frame(((Fraction(0),) * 3 + (Fraction(1, 10**9),) * 3,), 0.95)
    assert frame.row(0) == ("cafe", None, -math.inf, math.inf)
    assert any("NULL" in note for note in plan.notes)
    assert math.isinf(plan.columns[0].interval_95)
    assert "NULL" in plan.columns[0].note


def test_groups_of_users_have_noise_of_their_own_and_one_price() -> None:
    people = two_groups()
    plan = planned(avg(col("x")), Item("users", "n"), space=PLANE, people=people)
    assert [mechanism.sensitivity for mechanism in plan.mechanisms] == [6.0, 3.0]
    assert plan.guarantee == EmdDP(2.0)
    assert plan.event.slack_epsilon == max(mechanism.slack_epsilon for mechanism in plan.mechanisms)
    assert plan.columns[0].noise_scale == plan.mechanisms[0].scale
    assert "smallest group" in plan.columns[0].note
    assert plan.columns[1].share == 0.0
    assert plan.columns[0].share == 1.0
    frame = plan.finisher.frame(((Fraction(1),), (Fraction(2),)), 0.95)
    assert frame.select("city", "a", "n", "n_low").rows() == [("Rome", 1.0, 1, 1), ("Oslo", 2.0, 2, 2)]
    assert any("parallel" in note for note in plan.notes)


def test_equal_groups_of_users_share_one_mechanism() -> None:
    groups = UserGroups(pl.Series(list("abcd")), pl.Series([0, 0, 1, 1], dtype=pl.Int64), (2, 2))
    plan = planned(avg(col("x")), space=PLANE, people=People(groups, ("city",), (("Rome",), ("Oslo",))))
    assert plan.mechanisms[0] is plan.mechanisms[1]


def test_columns_stand_in_the_order_asked_for() -> None:
    items = avg(NEAR, "near"), Item("share", "s")
    natural = planned(*items, space=CITY, groups=(BY_KIND,)).finisher.exact(((Fraction(1),) * 6,))
    assert natural.columns == ["kind", "near", "s"]
    asked = planned(*items, space=CITY, groups=(BY_KIND,), columns=("s", "kind", "near"))
    assert asked.finisher.exact(((Fraction(1),) * 6,)).columns == ["s", "kind", "near"]
    omitted = planned(*items, space=CITY, groups=(BY_KIND,), columns=("s", "near"))
    assert omitted.finisher.exact(((Fraction(1),) * 6,)).columns == ["kind", "s", "near"]


def test_order_and_limit_reach_the_rows_and_are_explained() -> None:
    order = (Order("s", is_descending=True),)
    plan = planned(Item("share", "s"), space=CITY, groups=(BY_KIND,), order=order, limit=2)
    frame = plan.finisher.frame((tuple(map(Fraction, (1, 3, 2))),), 0.95)
    assert frame.get_column("kind").to_list() == ["bar", "park"]
    assert any("LIMIT" in note for note in plan.notes)
    with pytest.raises(UsageError, match="order names 'x'"):
        planned(Item("share", "s"), space=CITY, groups=(BY_KIND,), order=(Order("x"),))


# What is public ------------------------------------------------------------------------------------------------------


def test_public_numbers_cost_nothing() -> None:
    plan = planned(Item("users", "n"), avg(Constant(5.0)), Item("share", "s"), space=PLANE)
    assert plan.mechanisms[0].is_exact
    assert plan.guarantee == EmdDP(0.0)
    assert [column.share for column in plan.columns] == [0.0, 0.0, 0.0]
    frame = plan.finisher.frame(((Fraction(0),),), 0.95)
    assert frame.select("n", "a", "a_low", "a_high", "s").row(0) == (N, 5.0, 5.0, 5.0, 1.0)
    mixed = planned(avg(Constant(5.0)), avg(col("x"), "x"), space=PLANE)
    assert len(mixed.aggregation.values) == 1
    assert mixed.columns[1].noise_scale == 6.0 / (2.0 * N)


def test_a_condition_that_never_holds_or_always_holds_is_known() -> None:
    never = planned(avg(col("x")), Item("share", "s"), space=PLANE, where=Constant(0.0))
    frame = never.finisher.frame(((Fraction(0),),), 0.95)
    assert never.mechanisms[0].is_exact
    assert frame.select("a", "s").row(0) == (None, 0.0)
    always = planned(avg(col("x")), space=PLANE, where=Constant(1.0))
    assert always.columns[0].noise_scale == 6.0 / (2.0 * N)
    assert always.finisher.frame(((Fraction(1, 2),),), 0.95).row(0)[0] == 2.0


def test_a_constant_among_chosen_records_is_itself_where_there_are_any() -> None:
    for kind in ("avg", "variance", "stddev"):
        plan = planned(Item(kind, "c", Constant(5.0)), space=CITY, groups=(BY_KIND,))  # type: ignore[arg-type]
        shares = (Fraction(1, 2), Fraction(0), Fraction(1, 2))
        frame = plan.finisher.frame((shares,), 0.95)
        expected = 5.0 if kind == "avg" else 0.0
        assert frame.get_column("c").to_list() == [expected, None, expected]
        assert plan.columns[0].expected_error == 0.0


def test_one_cell_that_every_item_is_in_is_no_condition() -> None:
    everything = GroupColumn("kind", ("all",), LabelAxis("kind", (KINDS,)))
    plan = planned(avg(col("lat")), Item("share", "s"), space=Product(Interval("lat", 0, 1), Categories("kind", KINDS)),
                   groups=(everything,))  # fmt: skip
    frame = plan.finisher.frame(((Fraction(1, 4),),), 0.95)
    assert frame.select("kind", "a", "s").row(0) == ("all", 0.75, 1.0)
    assert plan.columns[0].noise_scale == pytest.approx(2.0 / (2.0 * N))


# Refusals ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("items", "more", "message"),
    [
        ((), {}, "items is empty"),
        ((Item("users", "n"),), {"where": ramp(col("x"), 0, 1)}, "number of users is public"),
        ((Item("count", "n"),), {}, "max_records_per_user"),
        ((Item("sum", "n", col("x")),), {}, "max_records_per_user"),
        ((avg(col("x"), "a"), avg(col("y"), "a")), {}, "two columns 'a'"),
        ((avg(col("x"), "a"), avg(col("y"), "a_low")), {}, "two columns 'a_low'"),
        ((avg(col("x"), "a"),), {"columns": ("b",)}, "columns must name"),
        ((avg(col("x"), "a"),), {"columns": ("a", "a")}, "columns must name"),
        ((avg(col("x"), "a"),), {"where": col("x")}, "where must have values in"),
    ],
)
def test_statements_that_do_not_fit_are_refused(items: tuple[Item, ...], more: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        planned(*items, space=PLANE, **more)


def test_a_jump_is_refused() -> None:
    with pytest.raises(NotLipschitzError):
        planned(avg(col("x") > 1), space=PLANE)


def test_too_many_numbers_are_refused() -> None:
    labels = tuple(f"c{number}" for number in range(500))
    space = Product(Categories("p", labels), Categories("q", labels))
    columns = tuple(GroupColumn(name, labels, LabelAxis(name, tuple((v,) for v in labels))) for name in ("p", "q"))
    with pytest.raises(UsageError, match="250000 numbers"):
        planned(Item("share", "s"), space=space, groups=columns)


def test_a_cap_is_planned_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(
        "emdp.estimators.totals.totals.plan_totals", lambda query, **more: seen.append((query, more)) or "planned"
    )
    query = Select((Item("count", "n"),), Price("epsilon", 1.0), cap=3)
    assert plan_select(query, space=PLANE, users=7) == "planned"
    assert seen == [(query, {"space": PLANE, "users": 7, "records": None})]


@pytest.mark.parametrize("more", [{}, {"cap": 3}])
def test_an_aggregate_without_a_rule_is_no_other_one(more: dict[str, Any]) -> None:
    """A kind that is only listed must not be answered as a variance."""
    price = Price("epsilon", 1.0) if more else ALPHA
    item = Item("variance", "v", col("x"))
    object.__setattr__(item, "kind", "rms")
    with pytest.raises(InternalError, match="rms"):
        planned(item, space=PLANE, price=price, **more)


# Work ----------------------------------------------------------------------------------------------------------------


def test_work_does_not_grow_with_the_number_of_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    from emdp.expressions.analysis import checker as analysis

    counts = []
    run = analysis._Sweep.run
    monkeypatch.setattr(analysis._Sweep, "run", lambda sweep: (counts.append(1), run(sweep))[1])
    found = []
    for size in (3, 250):
        labels = tuple(f"c{number}" for number in range(size))
        space = Product(BOX, Categories("kind", labels))
        groups = (GroupColumn("kind", labels, LabelAxis("kind", tuple((label,) for label in labels))),)
        counts.clear()
        planned(avg(NEAR), Item("share", "s"), space=space, groups=groups)
        found.append(len(counts))
    assert found[0] == found[1] < 30
