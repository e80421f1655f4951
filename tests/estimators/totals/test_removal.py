"""Totals by removal of a user: known sensitivities, no number of users anywhere, what is refused."""

import math
from typing import Any

import pytest

from emdp.base.errors import UsageError
from emdp.estimators.columns.sizes import ASSUMED_USERS
from emdp.estimators.dispatch import plan_query
from emdp.estimators.plan import Plan
from emdp.estimators.select import plan_select
from emdp.estimators.totals.totals import plan_totals
from emdp.expressions import col, ramp
from emdp.expressions.cells.aggregation import LabelAxis
from emdp.privacy import UserDP
from emdp.questions.distributions import frequencies, quantiles
from emdp.questions.heavy_hitters import heavy_hitters
from emdp.questions.itemwise import itemwise
from emdp.questions.linear_fit import linear_fit_query
from emdp.questions.means import mean, vector_mean
from emdp.questions.price import Price
from emdp.questions.select import GroupColumn, Item, Select
from emdp.questions.user_mean import user_mean
from emdp.spaces import Categories, Interval, Product

X = col("x")
COUNT, SUM, AVG = Item("count", "n"), Item("sum", "total", X), Item("avg", "mean", X)
KINDS = GroupColumn("kind", ("a", "b", "c"), LabelAxis("kind", (("a",), ("b",), ("c",))))
SPACE = Product(Interval("x", -1, 2), Categories("kind", ["a", "b", "c"]))


def plan(
    *items: Item, users: int | None = None, noise: Any = "laplace", neighbours: Any = "remove", **rest: Any
) -> Plan:
    price = Price("epsilon", 1.0, 1e-6, neighbours=neighbours)
    return plan_totals(Select(items, price, noise=noise, **{"cap": 2, **rest}), space=SPACE, users=users)


@pytest.mark.parametrize(
    ("items", "groups", "remove", "replace"),
    [
        # user-level-sql.md 6.4, C = 2: 1-norm and 2-norm
        ((COUNT,), (), (2, 2), (2, 2)),
        ((COUNT,), (KINDS,), (2, 2), (4, 2 * math.sqrt(2))),
        ((SUM,), (), (4, 4), (6, 6)),
    ],
)
def test_known_sensitivities(
    items: tuple[Item, ...], groups: tuple[GroupColumn, ...], remove: tuple[float, ...], replace: tuple[float, ...]
) -> None:
    for neighbours, wanted in (("remove", remove), ("replace", replace)):
        users = None if neighbours == "remove" else 50
        for noise, sensitivity in zip(("laplace", "gaussian"), wanted, strict=True):
            found = plan(*items, groups=groups, users=users, noise=noise, neighbours=neighbours).mechanisms[0]
            assert found.sensitivity == pytest.approx(sensitivity, rel=1e-12)


def test_two_ends_in_groups_have_half_the_noise() -> None:
    """COUNT, SUM and AVG by key: two sums of 1-norm C w = 6 by removal, and twice that by replacement."""
    by = {
        neighbours: plan(COUNT, SUM, AVG, groups=(KINDS,), users=50, neighbours=neighbours)
        for neighbours in ("remove", "replace")
    }
    scales = {neighbours: own.mechanisms[0].scale / own.scales[0] for neighbours, own in by.items()}
    assert len(by["remove"].scales) == len(by["replace"].scales) == 2
    assert scales["remove"] == pytest.approx(6.0)
    assert scales["replace"] == pytest.approx(12.0)
    for one, two in zip(by["remove"].columns, by["replace"].columns, strict=True):
        assert one.noise_scale == pytest.approx(0.5 * two.noise_scale)


@pytest.mark.parametrize("items", [(COUNT,), (SUM,), (COUNT, SUM), (AVG,), (COUNT, SUM, AVG)])
@pytest.mark.parametrize("groups", [(), (KINDS,)])
def test_no_answer_depends_on_the_number_of_users(items: tuple[Item, ...], groups: tuple[GroupColumn, ...]) -> None:
    plans = [plan(*items, groups=groups, users=users) for users in (None, 1, 10**6)]
    assert len({own.mechanisms[0].sensitivity for own in plans}) == 1
    assert len({own.mechanisms[0].scale for own in plans}) == 1
    assert len({own.scales for own in plans}) == 1
    for own in plans:
        assert own.guarantee == UserDP(1.0, own.guarantee.delta, neighbours="remove")
        assert own.aggregation.cap == 2
        assert own.aggregation.users is None
    assert str(ASSUMED_USERS) in plans[0].columns[-1].note or items[-1].kind != "avg"


def test_a_mean_over_users_is_a_ratio_under_a_cap_of_1() -> None:
    price = Price("epsilon", 1.0, neighbours="remove")
    own = plan_select(Select((AVG,), price, groups=(KINDS,)), space=SPACE, users=None)
    assert own.aggregation.cap == 1
    assert own.mechanisms[0].sensitivity == pytest.approx(3.0)
    assert any("users who have records" in note for note in own.notes)
    assert isinstance(own.guarantee, UserDP)
    assert own.guarantee.neighbours == "remove"


def test_what_rests_on_the_number_of_users_is_refused() -> None:
    price = Price("epsilon", 1.0, neighbours="remove")
    chosen = Select((AVG,), price, where=ramp(X, 0, 1))
    for query, why in (
        (chosen, "no ratio under neighbours = 'remove'; set max_records_per_user"),
        (Select((Item("share", "share"),), price), "SHARE is divided by the number of users"),
        (Select((Item("part", "part", X),), price), "PART is divided by the number of users"),
        (Select((COUNT, Item("users", "people")), price, cap=3), "the number of users is private"),
    ):
        with pytest.raises(UsageError, match=why):
            plan_select(query, space=SPACE, users=10)


def test_a_table_without_a_number_of_users_answers_by_removal_alone() -> None:
    for query in (mean(X, epsilon=1.0), mean(X, alpha=1.0), Select((COUNT,), Price("epsilon", 1.0), cap=3)):
        with pytest.raises(UsageError, match="declared without one; ask for COUNT, SUM or AVG with neighbours"):
            plan_query(query, space=SPACE, users=None)
    removal = Select((COUNT,), Price("epsilon", 1.0, neighbours="remove"), cap=3)
    assert plan_query(removal, space=SPACE, users=None).guarantee.level == 1.0
    with pytest.raises(UsageError, match="records= with users= says that all of them have"):
        plan_query(removal, space=SPACE, users=10, records=3)
    assert plan_query(removal, space=SPACE, users=None, records=3).guarantee.level == 1.0


def test_questions_of_python_take_it_or_say_why_not() -> None:
    assert mean(X, epsilon=1.0, neighbours="remove").price.neighbours == "remove"
    assert vector_mean([X], epsilon=1.0, neighbours="remove").price.neighbours == "remove"
    with pytest.raises(UsageError, match="belongs to epsilon"):
        mean(X, alpha=1.0, neighbours="remove")
    with pytest.raises(UsageError, match="does not fit model = 'local'"):
        mean(X, epsilon=1.0, model="local", neighbours="remove")
    with pytest.raises(UsageError, match="neighbours must be one of"):
        mean(X, epsilon=1.0, neighbours="add")  # type: ignore[arg-type]
    asked = (
        lambda: frequencies("kind", epsilon=1.0, neighbours="remove"),
        lambda: quantiles(X, 0.5, epsilon=1.0, neighbours="remove"),
        lambda: heavy_hitters("kind", count=3, epsilon=1.0, delta=1e-6, neighbours="remove"),
        lambda: user_mean("x", epsilon=1.0, neighbours="remove"),
        lambda: itemwise(None, epsilon=1.0, neighbours="remove"),
        lambda: linear_fit_query([X], X, epsilon=1.0, delta=1e-6, neighbours="remove"),
    )
    for ask in asked:
        with pytest.raises(
            UsageError, match=r"neighbours = 'remove' does not fit: .*; leave neighbours out, or ask for COUNT"
        ):
            ask()
