"""Shares of a sum: the same numbers, with less noise, and left alone where that would be more."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

import emdp
from emdp.estimators.owned.parted import parted
from emdp.estimators.owned.totals import plan_owned
from emdp.questions.owned.question import ANSWER, Computed, OwnedItem, OwnedSelect
from emdp.questions.owned.relations import Private
from emdp.questions.owned.totals import Key
from emdp.questions.owned.zeros import is_apart
from emdp.questions.price import Price
from emdp.questions.select import Order
from emdp.rows.building import call
from emdp.rows.nodes import Case, Column, Literal, Node
from emdp.rows.types import Kind

X, K = Column("t", "x", Kind.DOUBLE), Column("t", "k", Kind.TEXT)
ZERO, NONE = (Literal(value, Kind.DOUBLE) for value in (0.0, None))
KEYS = (Key("k", K, ("a", "b")),)


def of_key(value: str, one: Node = X, other: Node = ZERO) -> Case:
    return Case(((call("equal", K, Literal(value, Kind.TEXT)), one),), other)


PART = OwnedItem("sum", "part", of_key("a"), 0.0, 5.0)
WHOLE = OwnedItem("sum", "whole", X, 1.0, 5.0)
PART_SUM, WHOLE_SUM = (Column(ANSWER, name, Kind.DOUBLE) for name in ("part", "whole"))


def asked(*items: OwnedItem, neighbours: Any = "remove", noise: Any = "laplace", **more: Any) -> OwnedSelect:
    price = Price.asked(epsilon=1.0, delta=1e-6 if noise == "gaussian" else 0.0, neighbours=neighbours)
    share = Computed("share", call("divide", PART_SUM, WHOLE_SUM))
    given = {"cap": 3, "keys": KEYS, "computed": (share,), "hidden": frozenset({"whole"}), **more}
    return OwnedSelect(Private("t"), items, price, noise=noise, **given)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize(("neighbours", "keys"), [("remove", ()), ("remove", KEYS), ("replace", KEYS)])
def test_no_number_has_more_noise_at_the_same_cap(noise: Any, neighbours: Any, keys: Any) -> None:
    query = asked(PART, WHOLE, neighbours=neighbours, noise=noise, keys=keys)
    made = parted(query)
    assert [item.name for item in made.items] == ["part", "rest 1"]
    (share,) = made.computed
    assert str(share.node) == '("answer"."part" / ("answer"."part" + "answer"."rest 1"))'
    users = 1 if neighbours == "replace" else None
    before, after = (plan_owned(own.plain, users=users, is_given=True) for own in (query, made))
    # In units of the largest value: columns are drawn with one scale.
    noises = [plan.mechanisms[0].scale / plan.blocks[0][1].scales[0] for plan in (before, after)]
    assert after.aggregation.costs
    assert noises[1] <= noises[0] * (0.5 if noise == "laplace" else math.sqrt(0.5)) * (1 + 1e-5)


@pytest.mark.parametrize(
    "query",
    [
        asked(PART, WHOLE, OwnedItem("rows", "n")),
        asked(PART, WHOLE, hidden=frozenset()),
        asked(PART, WHOLE, order=(Order("whole"),)),
        asked(PART, WHOLE, computed=(Computed("half", call("divide", WHOLE_SUM, Literal(2.0, Kind.DOUBLE))),)),
        asked(PART, replace(WHOLE, low=-1.0)),
        asked(PART, replace(WHOLE, high=4.0)),
        asked(PART, replace(PART, name="other", node=of_key("b")), WHOLE),
        asked(PART, WHOLE, neighbours="replace", keys=()),
        asked(PART, WHOLE, cap=2**11),
        asked(PART, WHOLE, cap=None, group_rows=2, groups_cap=2),
        asked(PART, WHOLE, keys=(replace(KEYS[0], values=(), is_listed=False),)),
        asked(replace(PART, node=of_key("a", ZERO)), WHOLE),
        asked(replace(PART, node=of_key("a", X, Literal(1.0, Kind.DOUBLE))), WHOLE),
        asked(replace(PART, kind="avg"), WHOLE),
    ],
)
def test_others_are_left_alone(query: OwnedSelect) -> None:
    assert parted(query) is query


def test_which_numbers_are_apart() -> None:
    one = of_key("a")
    assert is_apart(one, of_key("a", ZERO, X))
    assert is_apart(one, of_key("a", NONE, Literal(2.0, Kind.DOUBLE)))
    assert not is_apart(one, one)
    assert not is_apart(one, of_key("b", ZERO, X))
    assert not is_apart(one, X)
    assert not is_apart(one, None)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[emdp.Session]:
    records = pl.DataFrame(
        {
            "u": [1, 1, 2, 3, 3, 4],
            "x": [4.0, 9.0, None, 30.0, 0.5, 7.0],
            "c": ["a", "b", "a", "a", "b", None],
        }
    )
    table = emdp.read(records, user="u", space=emdp.Interval("x", 0, 20, on_invalid="clamp"), name="t")
    budget, ledger = emdp.UserDP(1e12, 0.1, neighbours="remove"), tmp_path_factory.mktemp("parted") / "l"
    with emdp.testing.seeded(4), emdp.Session(table, budget=budget, ledger=ledger) as made:
        yield made


HEAD = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = {}, neighbours = 'remove', max_records_per_user = {}) "
FROM = "FROM t WHERE c IS NULL OR c <> 'z'"


@pytest.mark.quarter
@pytest.mark.parametrize("cap", ["5", "auto"])
@pytest.mark.parametrize("part", ["SUM(CASE WHEN c = 'a' THEN x ELSE 0 END)", "SUM(x) FILTER (WHERE c = 'a')"])
def test_they_are_those_sums(session: emdp.Session, part: str, cap: str) -> None:
    """A row whose condition is NULL is of the rest; the interval of a share holds what is true."""
    answer = session.sql(HEAD.format(900, cap) + f"{part} AS one, {part} / SUM(x) AS share {FROM}")
    assert "SUM(x) - " in session.preview(HEAD.format(900, cap) + f"{part} / SUM(x) AS share {FROM}").explain()
    # Values above the range are its end, and a missing one is its middle.
    known = dict(zip(("one", "share"), answer.exact_frame.select("one", "share").row(0), strict=True))
    assert known == pytest.approx({"one": 34.0, "share": 34 / 50.5}, abs=1e-4)
    found = answer.interval(1 - 1e-12, **({"of": "capped"} if cap == "5" else {}))
    assert all(low is None or low <= known[name] <= high for name, _, low, high in found.rows())
