"""Caps on what records add: brute force in DuckDB over all pairs of small bags, octaves of amounts, errors."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from owned_bags import ManyTables

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
from emdp.rows.building import call
from emdp.rows.nodes import Case, Column, Literal
from emdp.rows.types import Kind
from emdp.tables.engines.duckdb.execution import DIALECT
from emdp.tables.statements.owned import owned_coordinates, owned_statement

X, Y = (Column("t", name, Kind.DOUBLE) for name in "xy")
KEYS = (Key("k", Column("t", "k", Kind.TEXT), ("a", "b", "c")),)
RECORDS = [("a", -1.0, 0.0), ("a", 2.0, 1.0), ("b", 0.3, 3.0), ("b", 2.0, None), ("c", None, 0.7), ("z", 2.0, 3.0)]
BAGS = [bag for size in range(4) for bag in itertools.combinations_with_replacement(RECORDS, size)]
READ: dict[object, list[list[tuple[Any, ...]]]] = {}
"""What a statement gives of each bag: plans of other noise or other neighbours mostly run one and the same."""

ANY = OwnedItem("sum", "any", X, -1.0, 2.0)
POSITIVE = OwnedItem("sum", "positive", X, 0.0, 2.0)
FAR = OwnedItem("sum", "far", X, 1.0, 4.0)
OTHER = OwnedItem("sum", "other", Y, 0.0, 3.0)
IN_A = call("equal", Column("t", "k", Kind.TEXT), Literal("a", Kind.TEXT))
PART, REST = (
    OwnedItem("sum", name, Case(((IN_A, one),), other), 0.0, 2.0)
    for name, one, other in (("part", X, Literal(None, Kind.DOUBLE)), ("rest", Literal(0.0, Kind.DOUBLE), X))
)
MEAN = OwnedItem("avg", "mean", Y, 0.0, 3.0)
PEOPLE = OwnedItem("users", "people")


def asked(
    items: Sequence[OwnedItem], keys: Any, neighbours: Any, cap: int | None = None, noise: Any = "laplace", **more: Any
) -> OwnedSelect:
    price = Price.asked(epsilon=1.0, delta=1e-3 if noise == "gaussian" else 0.0, neighbours=neighbours)
    return OwnedSelect(Private("t"), tuple(items), price, keys, cap, noise=noise, **more)


def planned(items: Sequence[OwnedItem], keys: Any, neighbours: Any, cap: float | None = 1.5, **more: Any) -> Any:
    units = None if cap is None else int(cap * 2**AMOUNT_BITS)
    query = asked(items, keys, neighbours, units, amounts=True, **more)
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
    lookups = tuple((name, *frame.rows()) for name, frame in statement.lookups.items())
    asked = (statement.query.sql(DIALECT, identify=True), lookups)
    if asked not in READ:
        tables = ManyTables(statement, "u BIGINT, k VARCHAR, x DOUBLE, y DOUBLE")
        READ[asked] = [tables.rows([(1, *record) for record in bag]) for bag in BAGS]
    found = [owned_coordinates(totals, rows) for rows in READ[asked]]
    for own in found:
        totals.check(1, own)
    return found


IN_CELLS = {"groups_cap": 2, "group_rows": 1, "cap": None}
"""A cap of each cell: of two of three groups."""


@pytest.mark.seventh
@pytest.mark.parametrize("neighbours", ["remove", "replace"])
@pytest.mark.parametrize(
    ("keys", "more"), [((), {}), (KEYS, {}), (KEYS, IN_CELLS)], ids=["one", "groups", "each_group"]
)
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize(
    "items",
    [[ANY], [POSITIVE], [FAR], [POSITIVE, OTHER], [ANY, MEAN], [POSITIVE, PEOPLE], [PART, REST], [PART, OTHER, REST]],
    ids=["any", "positive", "far", "two", "mean", "people", "parts", "parts_and_other"],
)
def test_no_user_moves_more_than_the_sensitivity_and_some_move_as_much(
    items: Sequence[OwnedItem], noise: Any, keys: Any, more: Any, neighbours: Any
) -> None:
    if noise == "gaussian" and keys and not more and neighbours == "replace" and ANY in items:
        # Drawn so that all records add as much.
        with pytest.raises(InternalError, match="all records add as much"):
            planned(items, keys, neighbours, noise=noise)
        return
    plan = planned(items, keys, neighbours, noise=noise, **more)
    vectors = [[float(value) for value in plan.prepared(own)] for own in statistics(plan.aggregation)]
    assert not any(vectors[0])
    others = vectors if neighbours == "replace" else vectors[:1]
    norm = plan.mechanisms[0].norm
    sizes = ([abs(x - y) ** norm for x, y in zip(*pair, strict=True)] for pair in itertools.product(vectors, others))
    move, bound = max(map(math.fsum, sizes)) ** (1 / norm), plan.mechanisms[0].sensitivity
    assert move <= bound * (1 + 1e-12)
    # Bags are too small for caps of each group.
    assert move >= bound * (0.3 if more else 0.6 if len(items) > 1 else 0.999)
    assert plan.aggregation.costs
    assert plan.aggregation.norm == (2 if noise == "gaussian" and not more and (keys or len(items) > 1) else 1) or (
        PEOPLE in items
    )


@pytest.mark.seventh
@pytest.mark.parametrize("neighbours", ["remove", "replace"])
@pytest.mark.parametrize(
    ("keys", "more"),
    [((), {"cap": 2}), (KEYS, {"cap": 2}), (KEYS, {"groups_cap": 2, "group_rows": 1})],
    ids=["one", "groups", "each_group"],
)
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize(
    "items",
    [[POSITIVE], [FAR], [POSITIVE, OTHER], [ANY], [PART, OTHER, REST]],
    ids=["positive", "far", "two", "any", "parts"],
)
def test_at_a_given_cap_no_more_is_left_out_and_no_more_noise_is_drawn(
    items: Sequence[OwnedItem], noise: Any, keys: Any, more: Any, neighbours: Any
) -> None:
    query = asked(items, keys, neighbours, noise=noise, **more)
    users = 1 if neighbours == "replace" else None
    by_rows, by_amounts = (plan_owned(query, users=users, is_given=given) for given in (False, True))
    assert by_amounts.mechanisms[0].sensitivity <= by_rows.mechanisms[0].sensitivity * (1 + 1e-9)
    is_several_of_each = noise == "gaussian" and len(items) > 1 and "group_rows" in more
    if items in ([POSITIVE], [FAR]) or (neighbours == "remove" and not is_several_of_each):
        assert by_amounts.aggregation.costs
    if not by_amounts.aggregation.costs:
        # One record of 2 takes the place of two of -1, or one sum of another: more noise, and so a cap of records.
        return
    nearer = 0
    for few, many in zip(statistics(by_rows.aggregation), statistics(by_amounts.aggregation), strict=True):
        costs = [cost for cost in by_amounts.aggregation.costs for _ in range(by_rows.aggregation.cells)]
        pairs = [pair for *pair, cost in zip(few, many, costs, strict=True) if cost]
        assert all(less <= more + Fraction(1, 2**17) for less, more in pairs)
        nearer += any(less < more - Fraction(1, 10) for less, more in pairs)
    assert nearer > 5


def test_a_given_cap_is_of_amounts_where_a_statement_is_planned(tmp_path: Path) -> None:
    rows = {"u": [1] * 40 + [2] * 5, "x": [1.0] * 40 + [50.0] * 5}
    table = emdp.read(rows, user="u", space=emdp.Interval("x", 0, 50), users=2, name="t")
    head = "SELECT WITH USER_PRIVACY OPTIONS (neighbours = 'remove', epsilon = 10000"
    with (
        emdp.testing.seeded(6),
        emdp.Session(table, budget=emdp.UserDP(1e6, 0.1, neighbours="remove"), ledger=tmp_path / "l") as session,
    ):
        # The first user adds as much as .8 records of 50: nothing is left out of that user.
        given = session.sql(f"{head}, max_records_per_user = 5) SUM(FLOOR(x)) AS s FROM t")
        assert given.frame.row(0)[0] == pytest.approx(290, abs=1)
        assert given.frame.row(0)[2] is None
        below = session.sql(f"{head}, max_records_per_user = 4) SUM(FLOOR(x)) AS s FROM t")
        assert below.frame.row(0)[0] == pytest.approx(240, abs=1)
        # Counts beside a sum are of records, and weigh as these.
        both = session.sql(f"{head}, max_records_per_user = 4) SUM(FLOOR(x)) AS s, COUNT(*) AS n FROM t")
        assert both.frame.row(0)[0] == pytest.approx(204, abs=2)
        measured = session.sql(f"{head}, max_records_per_user = 4, measure_cap = TRUE) SUM(FLOOR(x)) AS s FROM t")
        assert measured.frame.row(0)[0] == pytest.approx(240, abs=1)
        assert measured.diagnostics["cap"] == 4
        text = session.preview(f"{head}, max_records_per_user = 4) SUM(FLOOR(x)) AS s FROM t").explain()
    assert "records of the largest amounts" in text
    assert "every record counts by what it adds, those of one user together as 4 at most" in text


def test_amounts_are_those_of_the_rows_and_kept_under_the_cap() -> None:
    totals = planned([POSITIVE], (), "remove").aggregation
    cost = [Fraction(own, 2**UNIT_BITS) for own in totals.costs]
    assert cost == [0, 0, 1]
    for bag, own in zip(BAGS, statistics(totals), strict=True):
        amount = sum((Fraction(max(x or 0.0, 0.0)) / 2 for _, x, _ in bag), Fraction(0))
        kept = own[2]
        assert kept <= Fraction(3, 2)
        assert kept == pytest.approx(float(min(amount, Fraction(3, 2))), abs=1e-5)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_a_user_is_in_one_octave_of_what_the_records_add(noise: Any) -> None:
    octaves = octaves_of(planned([POSITIVE], KEYS, "remove", noise=noise).aggregation)
    for bag, own in zip(BAGS, statistics(octaves), strict=True):
        listed = [(k, x) for k, x, _ in bag if k != "z"]
        amounts = dict.fromkeys("abc", Fraction(0))
        for k, x in listed:
            amounts[k] += Fraction(round(max(x or 0.0, 0.0) / 2 * 2**UNIT_BITS), 2**UNIT_BITS)
        amount = sum(amounts.values())
        if noise == "gaussian":
            # No amount here is so near the end of an octave that the root's last bits decide.
            amount = Fraction(math.sqrt(sum(own * own for own in amounts.values()))).limit_denominator(2**30)
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
    assert plan_measured(replace(equal, items=(POSITIVE,), cap=5), users=10).rule.query.amounts
    assert not plan_measured(replace(equal, items=(POSITIVE,), cap=5000), users=10).rule.query.amounts
    assert plan_measured(replace(equal, items=(ANY,)), users=10).rule.query.amounts


@pytest.mark.slow
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
