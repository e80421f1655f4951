"""Sessions by removal of a user: brute force on small tables in DuckDB, ledgers, tables without users=, refusals."""

import itertools
import json
import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import emdp
from emdp.base.errors import BudgetExceededError, LedgerError, SqlError, UsageError
from emdp.privacy import Guarantee
from emdp.privacy.guarantees.kinds import Neighbours
from emdp.sessions.planning import plan_request
from emdp.tables import Table, aggregate

REMOVE = emdp.UserDP(20.0, 1e-6, neighbours="remove")
SPACE = emdp.Product(emdp.Interval("x", -1, 2), emdp.Categories("kind", ["a", "b"]))
TOTALS = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = {cap}{more}) {items} FROM t{rest}"


def table(bags: Sequence[Sequence[tuple[float, str]]], users: Any = None, **rest: Any) -> Table:
    rows = [(user, x, kind) for user, bag in enumerate(bags) for x, kind in bag]
    frame = pl.DataFrame(rows, schema={"user": pl.Int64, "x": pl.Float64, "kind": pl.String}, orient="row")
    return emdp.read(frame, user="user", space=SPACE, users=users, name="t", version="1", **rest)


def session(path: Path, own: Table, budget: Guarantee | Sequence[Guarantee] = REMOVE) -> emdp.Session:
    return emdp.Session(own, budget=budget, ledger=str(path / "t.ledger"))


def statistics(own: Table, text: str) -> tuple[Fraction, ...]:
    """The scaled coordinates before noise, by the statement that a session runs."""
    (planned,) = plan_request(text, own.names())
    (found,) = aggregate(own, planned.plan.aggregation)  # type: ignore[union-attr]
    return planned.plan.prepared(found.open())  # type: ignore[union-attr]


POINTS = ((-1.0, "a"), (2.0, "a"), (2.0, "b"))
BAGS = [bag for size in range(1, 4) for bag in itertools.combinations_with_replacement(POINTS, size)]
OTHERS = [((2.0, "b"),) * 2, ((0.5, "a"), (-1.0, "b"), (1.25, "a"))]


@pytest.mark.seventh
@pytest.mark.parametrize("items", ["COUNT(*)", "SUM(x)", "COUNT(*), SUM(x), AVG(x)"])
@pytest.mark.parametrize("keys", ["", "kind, "])
@pytest.mark.parametrize("noise", ["", ", delta = 1e-6, noise = 'gaussian'"])
def test_no_user_moves_a_total_farther_than_the_noise_allows_for(items: str, keys: str, noise: str) -> None:
    """Every small bag appears beside others who have records of their own; the largest move is nearly the claim."""
    text = TOTALS.format(
        cap=2, more=f", neighbours = 'remove'{noise}", items=keys + items, rest=" GROUP BY kind" if keys else ""
    )
    (planned,) = plan_request(text, table(OTHERS).names())
    mechanism = planned.plan.mechanisms[0]  # type: ignore[union-attr]
    base = statistics(table(OTHERS), text)
    moved = []
    for bag in BAGS:
        change = [float(a - b) for a, b in zip(statistics(table([*OTHERS, bag]), text), base, strict=True)]
        moved.append(math.fsum(map(abs, change)) if mechanism.norm == 1 else math.hypot(*change))
    assert max(moved) <= mechanism.sensitivity * (1 + 1e-9)
    assert max(moved) >= 0.99 * mechanism.sensitivity


def test_the_statement_is_the_same_whatever_number_of_users_is_declared() -> None:
    text = TOTALS.format(cap=2, more=", neighbours = 'remove'", items="kind, COUNT(*), AVG(x)", rest=" GROUP BY kind")
    declared = [table(OTHERS, users) for users in (None, 2, 10**6, [0, 1, 2, 3])]
    assert len({statistics(own, text) for own in declared}) == 1
    plans = [plan_request(text, own.names())[0].plan for own in declared]
    assert len({plan.mechanisms[0].scale for plan in plans}) == 1  # type: ignore[union-attr]


def test_a_table_without_users_is_asked_by_removal_alone(tmp_path: Path) -> None:
    asked = session(tmp_path, table(OTHERS))
    answer = asked.sql(TOTALS.format(cap=2, more=", neighbours = 'remove'", items="COUNT(*)", rest=""))
    assert answer.guarantee == emdp.UserDP(1.0, neighbours="remove")
    assert asked.remaining() == emdp.UserDP(19.0, 1e-6, neighbours="remove")
    shown = answer.explain()
    assert "number private" in shown
    assert "per removed user" in shown
    assert "by removal" in shown
    mean = asked.mean(emdp.col("x"), epsilon=1, by="kind", neighbours="remove")
    assert mean.frame["kind"].to_list() == ["a", "b"]
    asked.table.validate()
    for text in ("AVG(x)", "MEDIAN(x)", "FREQUENCY(kind)", "USER_MEAN(x)"):
        with pytest.raises(SqlError, match="declare"):
            asked.sql(f"SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, delta = 1e-8) {text} FROM t")
    with pytest.raises(UsageError, match="declared without one"):
        asked.quantiles(emdp.col("x"), 0.5, epsilon=1)
    with pytest.raises(UsageError, match="number is private"):
        _ = asked.table.n
    (charge, _) = asked.ledger.entries("t", "charge")
    assert charge.payload["users"] is None
    assert charge.payload["budget"] == "central UserDP by removal"
    assert charge.payload["event"]["kind"]["neighbours"] == "remove"


@pytest.mark.quarter
@pytest.mark.parametrize(
    ("asked", "kinds", "spent"),
    [
        ("replace", ("replace",), 1.0),
        ("replace", ("remove",), 1.0),
        ("remove", ("remove",), 1.0),
        ("remove", ("replace",), 2.0),
        ("remove", ("replace", "remove"), 1.0),
        ("replace", ("replace", "remove"), 1.0),
    ],
)
def test_which_budget_pays_and_how_much(
    tmp_path: Path, asked: Neighbours, kinds: tuple[Neighbours, ...], spent: float
) -> None:
    budgets = [emdp.UserDP(4.0, 1e-6, neighbours=kind) for kind in kinds]
    own = session(tmp_path, table(OTHERS, 5), budgets)
    own.sql(TOTALS.format(cap=2, more=f", neighbours = '{asked}'", items="COUNT(*)", rest=""))
    paid = emdp.UserDP(0, neighbours=asked if asked in kinds else kinds[0])
    assert own.spent(paid).level == spent
    assert sum(left.level for left in own.remaining_all()) == 4.0 * len(kinds) - spent
    with pytest.raises(BudgetExceededError):
        own.sql_batch(";".join([TOTALS.format(cap=2, more=f", neighbours = '{asked}'", items="COUNT(*)", rest="")] * 5))


ROWS = [
    ("COUNT(*) FROM t WHERE x * x > 1", ", max_records_per_user = 2"),
    ("kind, COUNT(*), AVG(x), VARIANCE(x) FROM t WHERE x + 1 > 0.5 GROUP BY kind", ", max_records_per_user = 2"),
    ('COUNT(DISTINCT "user") FROM t WHERE x > 0', ""),
    ('COUNT(DISTINCT "user") FROM t', ""),
    ('kind, COUNT(DISTINCT "user") FROM t GROUP BY kind', ""),
]


@pytest.mark.quarter
@pytest.mark.parametrize(("text", "cap"), ROWS)
def test_rows_with_owners_are_asked_by_removal_without_a_number_of_users(tmp_path: Path, text: str, cap: str) -> None:
    statement = f"SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, neighbours = 'remove'{cap}) {text}"
    asked = session(tmp_path, table(OTHERS))
    preview = asked.preview(statement)
    assert "number private" in str(preview.explain())
    answer = asked.sql(statement)
    assert answer.guarantee == emdp.UserDP(1.0, neighbours="remove")
    assert asked.remaining() == emdp.UserDP(19.0, 1e-6, neighbours="remove")
    (charge,) = asked.ledger.entries("t", "charge")
    assert charge.payload["users"] is None
    assert charge.payload["event"]["kind"]["neighbours"] == "remove"
    # Nothing that is drawn depends on what is declared of the users.
    declared = [table(OTHERS, users) for users in (None, 2, 10**6, [0, 1, 2, 3])]
    assert len({statistics(own, statement) for own in declared}) == 1
    plans = [plan_request(statement, own.names())[0].plan for own in declared]
    assert len({(plan.mechanisms[0].scale, plan.mechanisms[0].grid) for plan in plans}) == 1  # type: ignore[union-attr]


def test_people_who_have_records_are_counted_by_removal_and_known_by_replacement(tmp_path: Path) -> None:
    with emdp.testing.seeded(4):
        asked = session(tmp_path, table(OTHERS, 50), [REMOVE, emdp.UserDP(9.0)])
        text = 'SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1{}) COUNT(DISTINCT "user") AS people FROM t{}'
        removal = asked.sql(text.format(", neighbours = 'remove'", ""))
        assert removal.exact == {"people": len(OTHERS)}
        assert removal.noise.scale == 1.0
        chosen = asked.sql(text.format(", neighbours = 'remove'", " WHERE x * x > 3.9"))
        assert chosen.exact == {"people": 1}


def test_rows_with_owners_without_users_say_that_they_must_be_declared_or_private(tmp_path: Path) -> None:
    asked = session(tmp_path, table(OTHERS))
    with pytest.raises(SqlError, match="neighbours = 'remove'"):
        asked.preview(TOTALS.format(cap=2, more="", items="COUNT(*)", rest=" WHERE x * x > 1"))


def test_a_ledger_keeps_the_two_apart(tmp_path: Path) -> None:
    session(tmp_path, table(OTHERS, 5), emdp.UserDP(4.0, 1e-6)).close()
    with pytest.raises(LedgerError, match="holds another budget"):
        session(tmp_path, table(OTHERS, 5), emdp.UserDP(4.0, 1e-6, neighbours="remove"))
    assert "neighbours" not in json.dumps(
        [e.payload for e in session(tmp_path, table(OTHERS, 5), emdp.UserDP(4.0, 1e-6)).ledger.entries("t")]
    )
    with pytest.raises(UsageError, match="names a kind of guarantee twice"):
        session(tmp_path, table(OTHERS, 5), [REMOVE, REMOVE])


def test_where_all_must_have_records_nobody_can_vanish(tmp_path: Path) -> None:
    own = table([((1.0, "a"),), ((2.0, "b"),)], 2, records=1)
    with pytest.raises(UsageError, match="records= with users= says that all of them have records"):
        session(tmp_path, own)
    fewer = session(tmp_path, table([((1.0, "a"),), ((2.0, "b"),)], records=1))
    assert fewer.mean(emdp.col("x"), epsilon=1, neighbours="remove").guarantee.level == 1.0
