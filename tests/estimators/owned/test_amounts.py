"""Caps on what records add: brute force in DuckDB over all pairs of small bags, octaves of amounts, errors."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest

import emdp
from emdp.base.errors import InternalError, UsageError
from emdp.estimators.owned.automatic import plan_measured
from emdp.estimators.owned.totals import plan_owned
from emdp.mechanisms.contribution.octaves import OCTAVES, octave_of
from emdp.questions.owned.octaves import octaves_of
from emdp.questions.owned.question import OwnedItem, OwnedSelect
from emdp.questions.owned.relations import Private
from emdp.questions.owned.totals import AMOUNT_BITS, UNIT_BITS, Argument, Key, OwnedTotals
from emdp.questions.price import Price
from emdp.rows.nodes import Column
from emdp.rows.types import Kind
from emdp.tables.engines.duckdb.execution import DIALECT
from emdp.tables.statements.owned import owned_coordinates, owned_statement

X, Y = (Column("t", name, Kind.DOUBLE) for name in "xy")
KEYS = (Key("k", Column("t", "k", Kind.TEXT), ("a", "b", "c")),)
RECORDS = [("a", -1.0, 0.0), ("a", 2.0, 1.0), ("b", 0.3, 3.0), ("b", 2.0, None), ("c", None, 0.7), ("z", 2.0, 3.0)]
BAGS = [bag for size in range(4) for bag in itertools.combinations_with_replacement(RECORDS, size)]

ANY = OwnedItem("sum", "any", X, -1.0, 2.0)
POSITIVE = OwnedItem("sum", "positive", X, 0.0, 2.0)
FAR = OwnedItem("sum", "far", X, 1.0, 4.0)
OTHER = OwnedItem("sum", "other", Y, 0.0, 3.0)
MEAN = OwnedItem("avg", "mean", Y, 0.0, 3.0)
PEOPLE = OwnedItem("users", "people")


def planned(items: Sequence[OwnedItem], keys: Any, neighbours: Any, cap: float = 1.5) -> Any:
    query = OwnedSelect(
        Private("t"),
        tuple(items),
        Price.asked(epsilon=1.0, neighbours=neighbours),
        keys,
        int(cap * 2**AMOUNT_BITS),
        noise="laplace",
        amounts=True,
    )
    return plan_owned(query, users=1 if neighbours == "replace" else None)


def statistics(totals: Any) -> list[list[Fraction]]:
    """Return what the statement gives of each bag: every bag is a table of one user."""
    table = emdp.read(
        {"u": [1], "k": ["a"], "x": [0.5], "y": [0.5]},
        user="u",
        space=emdp.Categories("k", ["a", "b", "c"]),
        users=1,
        name="t",
    )
    statement = owned_statement(table, totals)
    text = statement.query.sql(DIALECT, identify=True)
    connection = duckdb.connect()
    for name, frame in statement.lookups.items():
        connection.register(name, frame)
    connection.execute("CREATE TABLE source_rows (u BIGINT, k VARCHAR, x DOUBLE, y DOUBLE)")
    found = []
    for bag in BAGS:
        connection.execute("DELETE FROM source_rows")
        for record in bag:
            connection.execute("INSERT INTO source_rows VALUES (1, ?, ?, ?)", record)
        found.append(owned_coordinates(totals, connection.execute(text).fetchall()))
        totals.check(1, found[-1])
    return found


@pytest.mark.quarter
@pytest.mark.parametrize("neighbours", ["remove", "replace"])
@pytest.mark.parametrize("keys", [(), KEYS], ids=["one", "groups"])
@pytest.mark.parametrize(
    "items",
    [[ANY], [POSITIVE], [FAR], [POSITIVE, OTHER], [ANY, MEAN], [POSITIVE, PEOPLE]],
    ids=["any", "positive", "far", "two", "mean", "people"],
)
def test_no_user_moves_more_than_the_sensitivity_and_some_move_as_much(
    items: Sequence[OwnedItem], keys: Any, neighbours: Any
) -> None:
    plan = planned(items, keys, neighbours)
    vectors = [[float(value) for value in plan.prepared(own)] for own in statistics(plan.aggregation)]
    assert not any(vectors[0])
    others = vectors if neighbours == "replace" else vectors[:1]
    move = max(math.fsum(abs(x - y) for x, y in zip(*pair, strict=True)) for pair in itertools.product(vectors, others))
    bound = plan.mechanisms[0].sensitivity
    assert move <= bound * (1 + 1e-12)
    assert move >= bound * (0.999 if len(items) == 1 else 0.6)
    assert plan.aggregation.costs


def test_amounts_are_those_of_the_rows_and_kept_under_the_cap() -> None:
    totals = planned([POSITIVE], (), "remove").aggregation
    cost = [Fraction(own, 2**UNIT_BITS) for own in totals.costs]
    assert cost == [0, 0, 1]
    for bag, own in zip(BAGS, statistics(totals), strict=True):
        amount = sum((Fraction(max(x or 0.0, 0.0)) / 2 for _, x, _ in bag), Fraction(0))
        kept = own[2]
        assert kept <= Fraction(3, 2)
        assert kept == pytest.approx(float(min(amount, Fraction(3, 2))), abs=1e-5)


def test_a_user_is_in_one_octave_of_what_the_records_add() -> None:
    octaves = octaves_of(planned([POSITIVE], KEYS, "remove").aggregation)
    for bag, own in zip(BAGS, statistics(octaves), strict=True):
        listed = [x for k, x, _ in bag if k != "z"]
        amount = sum(
            (Fraction(round(max(x or 0.0, 0.0) / 2 * 2**UNIT_BITS), 2**UNIT_BITS) for x in listed), Fraction(0)
        )
        place = octave_of(amount * 2**AMOUNT_BITS) if amount else 0
        assert own == [int(bool(listed) and bin == place) for bin in range(OCTAVES)]


def test_what_no_cap_bounds_is_refused() -> None:
    argument = Argument(X, 1, 0.0, 2.0)
    for costs in ((0, 1), (0, 1, 2**UNIT_BITS), (-1, 0, 2**UNIT_BITS), (0, 0, 2**UNIT_BITS + 1)):
        with pytest.raises(UsageError, match="costs must be"):
            OwnedTotals(Private("t"), (), (argument,), 5, costs=costs)
    totals = OwnedTotals(Private("t"), (), (argument,), 2**AMOUNT_BITS, costs=(0, 0, 2**UNIT_BITS))
    totals.check(3, [Fraction(0), Fraction(0), Fraction(3)])
    for wrong in ([Fraction(0), Fraction(0), Fraction(4)], [Fraction(0), Fraction(0), Fraction(-1)], [Fraction(0)]):
        with pytest.raises(InternalError):
            totals.check(3, wrong)
    # Where all records add as much there is nothing to gain, and the cap is on records.
    price = Price.asked(epsilon=1.0)
    equal = OwnedSelect(Private("t"), (replace(ANY, low=-2.0),), price, measures_cap=True)
    assert not plan_measured(equal, users=10).rule.query.amounts
    assert not plan_measured(replace(equal, items=(ANY,), cap=5), users=10).rule.query.amounts
    assert plan_measured(replace(equal, items=(ANY,)), users=10).rule.query.amounts


@pytest.mark.parametrize("neighbours", ["remove", "replace"])
def test_an_automatic_cap_of_amounts_is_nearer_and_its_interval_holds(tmp_path: Path, neighbours: Any) -> None:
    users, each = 2000, 5
    values = [(37 * place % 100) / 100 for place in range(users * each)]
    rows = {"u": [place % users for place in range(users * each)], "x": values}
    table = emdp.read(rows, user="u", space=emdp.Interval("x", 0, 50), users=users, name="t")
    head = f"SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, neighbours = '{neighbours}'"
    budget = emdp.UserDP(1000, 0.1, neighbours=neighbours)
    with emdp.testing.seeded(6), emdp.Session(table, budget=budget, ledger=tmp_path / "l") as session:
        found = [session.sql(f"{head}) SUM(x) AS s FROM t") for _ in range(20)]
        records = [
            session.sql(f"{head}, max_records_per_user = 5) SUM(x) AS s FROM t").frame.item(0, "s") for _ in range(20)
        ]
    truth = math.fsum(values)

    def root(numbers: Sequence[float]) -> float:
        return math.sqrt(math.fsum((own - truth) ** 2 for own in numbers) / len(numbers))

    # Users add up to 4.9 of 250: noise of some 8, where five records of 50 each have 350.
    assert root([own.frame.item(0, "s") for own in found]) < 0.1 * root(records)
    held = [low <= truth <= high for own in found for _, low, high in [own.frame.row(0)] if high is not None]
    assert len(held) >= 18
    assert sum(held) >= 15
    told = found[0].diagnostics
    assert told["cap"] < 0.5
    assert told["users_by_records"].get_column("records_up_to")[8] == 1.0
    assert "largest amounts" in found[0].remarks[0]
