"""Plans of texts that are asked again: remembered, and nothing of an answer with them."""

from pathlib import Path

import polars as pl
import pytest

import emdp
from emdp.base.errors import SqlError
from emdp.sessions.planning import MOST_TEXTS, Planner, plan_request
from emdp.tables import Table

TEXT = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(x) AS v FROM t"


@pytest.fixture
def table() -> Table:
    return emdp.read({"who": [1, 2], "x": [0.25, 0.5]}, user="who", users=2, space=emdp.Interval("x", 0, 1), name="t")


def test_a_text_is_planned_once_and_a_query_of_python_each_time(table: Table) -> None:
    planner = Planner(table.names(None), [emdp.EmdDP(10)])
    (first,), (again,) = planner.plan(TEXT), planner.plan(TEXT)
    assert first is again
    assert first.plan.event == plan_request(TEXT, table.names(None), [emdp.EmdDP(10)])[0].plan.event
    (other,) = planner.plan(TEXT.replace("alpha = 1", "alpha = 2"))
    assert other.plan.event != first.plan.event
    query = emdp.mean(emdp.col("x"), alpha=1.0)
    assert planner.plan(query)[0] is not planner.plan(query)[0]


def test_a_refusal_is_made_each_time(table: Table) -> None:
    planner = Planner(table.names(None), ())
    for _ in range(2):
        with pytest.raises(SqlError, match="gone"):
            planner.plan(TEXT.replace("AVG(x)", "AVG(gone)"))


def test_no_more_than_some_texts_are_remembered(table: Table) -> None:
    planner = Planner(table.names(None), ())
    for index in range(2 * MOST_TEXTS + 1):
        planner.plan(f"{TEXT} -- {index}")
        assert len(planner._known) <= MOST_TEXTS


def test_each_answer_to_a_text_draws_and_costs_anew(table: Table, tmp_path: Path) -> None:
    with emdp.Session(table, budget=emdp.EmdDP(100), ledger=tmp_path / "t.ledger") as session:
        answers = [session.sql(TEXT) for _ in range(8)]
        assert session.spent().alpha == 8.0
        assert len({answer.frame["v"][0] for answer in answers}) == 8
        assert len({answer.receipt.sequence for answer in answers}) == 8


def listed(**other: object) -> Table:
    facts = {"user": "who", "space": emdp.Interval("x", 0, 1), "name": "t", "users": pl.DataFrame({"who": [1, 2]})}
    return emdp.read({"who": [1, 2], "x": [0.25, 0.5], "y": [1, 2]}, **{**facts, **other})


PUBLIC = {"areas": pl.DataFrame({"x": [0.5], "area": ["north"]})}

OTHERS = {
    "name": (listed(name="u"), PUBLIC),
    "space": (listed(space=emdp.Interval("x", 0, 1.5)), PUBLIC),
    "treatment of invalid items": (listed(space=emdp.Interval("x", 0, 1, on_invalid="clamp")), PUBLIC),
    "number of users": (listed(users=3), PUBLIC),
    "key of a user": (listed(users=pl.DataFrame({"who": [1, 3]})), PUBLIC),
    "column of users": (listed(users=pl.DataFrame({"who": [1, 2], "age": [3, 4]})), PUBLIC),
    "records": (listed(records=1), PUBLIC),
    "no public table": (listed(), None),
    "name of a public table": (listed(), {"regions": PUBLIC["areas"]}),
    "public row": (listed(), {"areas": PUBLIC["areas"].with_columns(area=pl.lit("south"))}),
    "type of a public column": (listed(), {"areas": PUBLIC["areas"].with_columns(x=pl.lit(1))}),
}
"""Tables whose public facts differ in one thing from those of ``listed()`` with ``PUBLIC``."""


@pytest.mark.parametrize("what", OTHERS)
def test_plans_are_not_alike_where_a_name_means_something_else(what: str) -> None:
    planner, promises = Planner(listed().names(PUBLIC), [emdp.EmdDP(10)]), [emdp.EmdDP(3)]
    assert planner.plans_alike(listed().names({"areas": PUBLIC["areas"].clone()}), promises)
    table, public = OTHERS[what]
    assert not planner.plans_alike(table.names(public), promises)


def test_plans_are_not_alike_where_budgets_are_of_another_kind() -> None:
    names = listed().names()
    planner = Planner(names, [emdp.EmdDP(10), emdp.UserDP(1)])
    assert planner.plans_alike(names, [emdp.EmdDP(3), emdp.UserDP(2, 1e-9)])
    for promises in (
        [emdp.EmdDP(3)],
        [emdp.UserDP(1), emdp.EmdDP(3)],
        [emdp.EmdDP(3), emdp.UserDP(1, neighbours="remove")],
    ):
        assert not planner.plans_alike(names, promises)


def test_a_session_takes_over_plans_of_the_same_names_alone(tmp_path: Path) -> None:
    planned = plan_request(TEXT, listed().names(), [emdp.EmdDP(1)])
    with emdp.Session(listed(), budget=emdp.EmdDP(100), ledger=tmp_path / "t.ledger") as session:
        session.adopt(planned, listed(users=7).names(), session.promises)
        assert session.replanned(planned[0]) is not planned[0]
        session.adopt(planned, listed().names(), session.promises)
        # What the session planned itself stays.
        assert session.replanned(planned[0]) is not planned[0]
        (other,) = plan_request(TEXT.replace("alpha = 1", "alpha = 2"), listed().names(), [emdp.EmdDP(1)])
        session.adopt([other], listed().names(), session.promises)
        assert session.replanned(other) is other


def test_two_planners_do_not_share_what_they_remember() -> None:
    errors = set()
    for high in (1, 2):
        space = emdp.Interval("x", 0, high)
        table = emdp.read({"who": [1], "x": [0.25]}, user="who", users=1, space=space, name="t")
        names = table.names(None)
        (planned,), (own,) = Planner(names, ()).plan(TEXT), plan_request(TEXT, names)
        assert planned.plan.columns[0].expected_error == own.plan.columns[0].expected_error
        errors.add(own.plan.columns[0].expected_error)
    assert len(errors) == 2
