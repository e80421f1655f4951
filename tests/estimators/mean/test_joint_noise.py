"""One draw of noise for a select list: against separate draws, against brute force, and the law that is chosen."""

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from user_statistics import user_statistic

from emdp.base.errors import UsageError
from emdp.estimators import select
from emdp.estimators.plan import Plan
from emdp.estimators.select import plan_select
from emdp.expressions import category_is, col, ramp
from emdp.expressions.cells.aggregation import LabelAxis
from emdp.expressions.nodes.base import Expression
from emdp.mechanisms import GaussianMechanism, KNormMechanism, LaplaceMechanism
from emdp.privacy import EmdDP, UserDP
from emdp.questions.price import Price
from emdp.questions.select import GroupColumn, Item, Select
from emdp.spaces import Categories, Interval, Product, Space
from emdp.transport import d_em_pairs

KINDS = ("cafe", "bar", "park")
PLANE = Product(Interval("x", 0, 3), Interval("y", 0, 2))
BY_KIND = GroupColumn("kind", KINDS, LabelAxis("kind", tuple((kind,) for kind in KINDS)))
ALPHA = Price("alpha", 2.0)
N = 1000


def avg(expression: Expression, name: str = "a", **more: Any) -> Item:
    return Item("avg", name, expression, **more)


def planned(*items: Item, space: Space, users: int = N, price: Price = ALPHA, **more: Any) -> Plan:
    return plan_select(Select(items, price, **more), space=space, users=users)


# One draw against separate draws -------------------------------------------------------------------------------------

EXPRESSIONS = (col("x"), col("y"), col("x") + col("y"), col("x") * col("y"), ramp(col("x"), 1, 2), 2 - col("y"))
WHERES = (None, ramp(col("x"), 1, 2), category_is("bar"), category_is("bar") * ramp(col("y"), 0, 1))


@st.composite
def statements(draw: st.DrawFn) -> tuple[Select, Space]:
    weights = [draw(st.sampled_from([0.5, 1.0, 3.0])) for _ in range(3)]
    parts = (Interval("x", 0, 3), Interval("y", 0, 2), Categories("kind", KINDS))
    space = Product(*(part.weighted(weight) for part, weight in zip(parts, weights, strict=True)))
    kinds = draw(st.lists(st.sampled_from(["avg", "part", "share", "variance", "stddev"]), min_size=1, max_size=3))
    items = tuple(
        Item(
            kind,  # type: ignore[arg-type]
            f"i{number}",
            None if kind == "share" else draw(st.sampled_from(EXPRESSIONS)),
            weight=draw(st.sampled_from([0.5, 1.0, 2.0])),
        )
        for number, kind in enumerate(kinds)
    )
    groups = (BY_KIND,) if draw(st.booleans()) else ()
    price = draw(st.sampled_from([ALPHA, Price("epsilon", 1.0), Price("alpha", 3.0, 1e-6)]))
    return Select(items, price, groups, where=draw(st.sampled_from(WHERES))), space


def separate_errors(query: Select, space: Space, plan: Plan) -> Iterator[tuple[float, float]]:
    """Yield for each column its first-order error by the plan, and the least one by Laplace draws of its own."""
    total = sum(item.weight for item, column in zip(query.items, plan.columns, strict=True) if column.share > 0)
    unit = plan.mechanisms[0].expected_absolute_error
    listed, needs = select.needed_values(query, space)
    expressions = listed.expressions
    places = {value: place for place, value in enumerate(plan.aggregation.values)}
    for need in needs:
        terms = []
        for value, weight in need.weights:
            single = replace(plan.aggregation, values=(expressions[value],))
            bound = select.aggregation_spread if query.price.is_user_level else select.aggregation_lipschitz
            own = bound(single, (1.0,), space)[0]
            if own > 0:
                terms.append((weight, own, plan.scales[places[expressions[value]]]))
        if terms:
            budget = query.price.level * N * need.item.weight / total
            separate = sum(math.sqrt(weight * own) for weight, own, _ in terms) ** 2 / budget
            yield unit * sum(weight / scale for weight, _, scale in terms), separate


@pytest.mark.slow
@settings(deadline=None, max_examples=80)
@given(statements())
def test_one_draw_is_never_worse_than_separate_draws(case: tuple[Select, Space]) -> None:
    query, space = case
    plan = plan_select(query, space=space, users=N)
    errors = list(separate_errors(query, space, plan))
    if isinstance(plan.mechanisms[0], LaplaceMechanism):
        assert all(together <= separate * (1 + 1e-6) for together, separate in errors)
    mean = sum(together / separate for together, separate in errors) / max(len(errors), 1)
    assert mean <= 1 + 1e-6


BOTH_ENDS = (Item("part", "y", col("y")), Item("part", "rest", 2 - col("y")))


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(statements(), st.sampled_from([1e-3, 7.0, 1e4]))
@example((Select(BOTH_ENDS, ALPHA, (BY_KIND,)), Product(*PLANE.parts, Categories("kind", KINDS))), 7.0)
def test_planning_is_invariant_to_the_units_of_expressions(case: tuple[Select, Space], factor: float) -> None:
    query, space = case
    items = tuple(
        item if item.expression is None else replace(item, expression=item.expression * factor) for item in query.items
    )
    plan = plan_select(query, space=space, users=N)
    scaled = plan_select(replace(query, items=items), space=space, users=N)
    assert type(plan.mechanisms[0]) is type(scaled.mechanisms[0])
    for item, one, other in zip(items, plan.columns, scaled.columns, strict=True):
        by = {"share": 1.0, "variance": factor**2}.get(item.kind, factor)
        assert other.expected_error == pytest.approx(by * one.expected_error, rel=1e-3)
        assert other.share == one.share


# Brute force ---------------------------------------------------------------------------------------------------------

SMALL = Product(
    Interval("x", 0, 2).weighted(2.0), Categories("kind", KINDS), Interval("y", 0, 1, diameter=0.5, neutral=0.0)
)
ITEMS = [(x, kind, y) for x in (0.0, 0.9, 2.0) for kind in KINDS for y in (0.0, 1.0)]
VALUES = (
    (avg(col("x") + col("y")),),
    (avg(col("x"), "a"), avg(col("y") * col("x"), "b", weight=3.0)),
    (avg(col("x"), "a"), Item("share", "s"), Item("part", "p", col("y"))),
    (Item("stddev", "d", col("x")), avg(col("x") * col("y"), "a")),
)
CONDITIONS: tuple[dict[str, Any], ...] = (
    {},
    {"where": ramp(col("x"), 1, 2)},
    {"where": category_is("bar", "park")},
    {"groups": (BY_KIND,)},
    {"groups": (BY_KIND,), "where": ramp(col("y"), 1, 0)},
    {"groups": (GroupColumn("kind", ("c",), LabelAxis("kind", (("cafe", "bar"),))),)},
)


@pytest.fixture(scope="module")
def neighbours() -> tuple[list[Any], list[tuple[int, int]], Any]:
    """Bags of up to two items, some of three; random pairs of them, and their exact distances."""
    rng = np.random.default_rng(8)
    small = [list(bag) for size in (1, 2) for bag in combinations_with_replacement(ITEMS, size)]
    large = [[ITEMS[place] for place in rng.integers(0, len(ITEMS), 3)] for _ in range(20)]
    bags = [small[place] for place in rng.permutation(len(small))[:45]] + large + [[item] for item in ITEMS]
    pairs = list(combinations(range(len(bags)), 2))
    pairs = [pairs[place] for place in rng.permutation(len(pairs))[:1500]]
    frames = [dict(zip(("x", "kind", "y"), zip(*bag, strict=True), strict=True)) for bag in bags]
    frames = [{name: list(values) for name, values in frame.items()} for frame in frames]
    return [SMALL.encode(frame) for frame in frames], pairs, d_em_pairs(frames, pairs, SMALL)


@pytest.mark.seventh
@pytest.mark.parametrize("condition", range(len(CONDITIONS)))
@pytest.mark.parametrize("items", range(len(VALUES)))
@pytest.mark.parametrize(
    ("price", "noise"),
    [(ALPHA, "auto"), (Price("alpha", 1.0, 1e-6), "gaussian"), (Price("epsilon", 1.0), "auto")],
)
def test_no_pair_of_bags_exceeds_the_sensitivity(
    price: Price, noise: str, items: int, condition: int, neighbours: tuple[list[Any], list[tuple[int, int]], Any]
) -> None:
    bags, pairs, distances = neighbours
    plan = planned(*VALUES[items], space=SMALL, price=price, noise=noise, users=5, **CONDITIONS[condition])
    mechanism = plan.mechanisms[0]
    scales = np.repeat(plan.scales, plan.aggregation.cells)
    prepared = np.array([user_statistic(plan.aggregation, SMALL, [bag]) * scales / 5 for bag in bags])
    changes = np.array([np.linalg.norm(prepared[one] - prepared[other], mechanism.norm) for one, other in pairs])
    limits = mechanism.sensitivity * (np.ones(len(pairs)) if price.is_user_level else distances)
    assert np.all(changes <= limits + 1e-9)
    assert np.max(changes - 0.45 * limits) > 0  # in most statements some pair reaches the bound, in all nearly half


# Levels and laws -----------------------------------------------------------------------------------------------------


def test_under_epsilon_a_user_moves_a_mean_by_its_range() -> None:
    plan = planned(avg(ramp(col("x"), 1, 1.001)), space=PLANE, price=Price("epsilon", 0.5))
    assert plan.mechanisms[0].sensitivity == 1.0 / N
    assert plan.guarantee == UserDP(0.5)
    assert plan.columns[0].lipschitz > 1000


def test_under_epsilon_a_filtered_mean_has_its_share_for_nothing() -> None:
    price = Price("epsilon", 1.0)
    plan = planned(avg(col("x")), space=PLANE, price=price, where=ramp(col("y"), 0, 1))
    numerator, denominator = plan.scales
    # c (x - 3/2) moves by 3, c by 1; together by 3 as long as the share's scale is at most 3/2 of the numerator's.
    assert plan.mechanisms[0].sensitivity == pytest.approx(3.0 * numerator / N, rel=0.03)
    assert denominator == pytest.approx(1.5 * numerator, rel=0.03)


def test_laws_asked_for_are_used_or_refused() -> None:
    items = avg(col("x"), "x"), avg(col("y"), "y")
    k_norm = planned(*items, space=PLANE, price=Price("alpha", 1.0), noise="k_norm")
    assert isinstance(k_norm.mechanisms[0], KNormMechanism)
    gaussian = planned(*items, space=PLANE, price=Price("alpha", 1.0, 1e-6), noise="gaussian")
    assert isinstance(gaussian.mechanisms[0], GaussianMechanism)
    assert gaussian.guarantee == EmdDP(1.0, 1e-6)
    assert "as asked for" in gaussian.choice
    with pytest.raises(UsageError, match="k_norm"):
        planned(avg(col("x")), space=SMALL, groups=(BY_KIND,), price=Price("alpha", 1.0), noise="k_norm")
    with pytest.raises(UsageError, match="delta"):
        planned(*items, space=PLANE, price=Price("alpha", 1.0), noise="gaussian")


def test_many_columns_of_one_part_take_gaussian_noise() -> None:
    items = tuple(avg(ramp(col("x"), at / 40, at / 40 + 1), f"c{at}") for at in range(40))
    plan = planned(*items, space=PLANE, price=Price("alpha", 1.0, 1e-6))
    assert isinstance(plan.mechanisms[0], GaussianMechanism)
    assert "% of those of separate Laplace draws" in plan.choice
    assert "with Laplace" in plan.choice
