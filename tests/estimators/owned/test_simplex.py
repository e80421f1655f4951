"""COUNT(*) and sums of several arguments in one draw: what one user moves, what is chosen, and the law of the noise."""

import itertools
import math
from fractions import Fraction
from typing import Any

import duckdb
import polars as pl
import pytest
from owned_bags import ManyTables
from scipy import stats

import emdp
from emdp.estimators.owned.totals import plan_owned
from emdp.questions.owned.question import OwnedItem, OwnedSelect
from emdp.questions.owned.relations import Private
from emdp.questions.owned.totals import Key
from emdp.questions.price import Price
from emdp.rows.nodes import Column
from emdp.rows.types import Kind
from emdp.tables.engines.duckdb.execution import DIALECT
from emdp.tables.statements.owned import owned_coordinates, owned_statement

X, Y, W = (Column("t", name, Kind.DOUBLE) for name in "xyw")
ROWS = OwnedItem("rows", "n")
KEYS = (Key("k", Column("t", "k", Kind.TEXT), ("a", "b")),)


def sums(*ranges: tuple[float, float]) -> tuple[OwnedItem, ...]:
    columns = (X, Y, W)
    return tuple(OwnedItem("sum", f"s{place}", columns[place], low, high) for place, (low, high) in enumerate(ranges))


def planned(items: tuple[OwnedItem, ...], keys: Any = (), noise: Any = "laplace", **others: Any) -> Any:
    cap = others.pop("cap", 2)
    neighbours = others.pop("neighbours", "remove")
    delta = 1e-6 if noise == "gaussian" else 0.0
    price = Price.asked(epsilon=others.pop("epsilon", 1.0), delta=delta, neighbours=neighbours)
    query = OwnedSelect(Private("t"), items, price, keys, cap, noise=noise, **others)
    return plan_owned(query, users=1 if neighbours == "replace" else None)


def is_simplex(plan: Any) -> bool:
    return any(block.members for block, _ in plan.blocks)


# One record in each corner of the three arguments' ranges, and values that are not there.
RECORDS = [
    ("a", 0.0, -3.0, None),
    ("a", 9.0, -1.0, 5.0),
    ("b", 1.0, None, 2.0),
    ("b", None, math.nan, 5.0),
    ("a", 1.0, -9.0, 0.0),
]
BAGS = [bag for size in range(4) for bag in itertools.combinations_with_replacement(RECORDS, size)]
RANGES = ((0.0, 1.0), (-3.0, -1.0), (2.0, 5.0))


def drawn(plan: Any) -> list[tuple[float, ...]]:
    """Return what is drawn of each bag, by the statement itself: one table, of which every bag is a user apart."""
    frame = pl.DataFrame({"u": [1], "k": ["a"], "x": [0.0], "y": [0.0], "w": [0.0]})
    table = emdp.read(frame, user="u", space=emdp.Categories("k", ["a", "b"]), users=1, name="t")
    tables = ManyTables(owned_statement(table, plan.aggregation), "u BIGINT, k VARCHAR, x DOUBLE, y DOUBLE, w DOUBLE")
    found = []
    for bag in BAGS:
        rows = tables.rows([(1, *own) for own in bag])
        found.append(tuple(map(float, plan.prepared(owned_coordinates(plan.aggregation, rows)))))
    return found


@pytest.mark.quarter
@pytest.mark.parametrize("neighbours", ["remove", "replace"])
@pytest.mark.parametrize(
    ("count", "keys", "noise", "others"),
    [
        (1, (), "laplace", {}),
        (2, (), "laplace", {}),
        (2, KEYS, "laplace", {}),
        (3, KEYS, "laplace", {"cap": 1}),
        (2, KEYS, "gaussian", {}),
        (3, (), "gaussian", {}),
        (2, KEYS, "laplace", {"cap": None, "groups_cap": 1, "group_rows": 2}),
    ],
)
def test_no_user_moves_more_than_the_sensitivity_and_some_move_as_much(
    count: int, keys: Any, noise: str, others: dict[str, Any], neighbours: str
) -> None:
    plan = planned((ROWS, *sums(*RANGES[:count])), keys, noise, neighbours=neighbours, **others)
    vectors = drawn(plan)
    compared = vectors if neighbours == "replace" else vectors[:1]
    size = (lambda a, b: math.fsum(map(abs, map(float.__sub__, a, b)))) if noise == "laplace" else math.dist
    move = max(size(one, other) for one in vectors for other in compared)
    bound = plan.mechanisms[0].sensitivity
    assert move <= bound * (1 + 1e-12)
    if is_simplex(plan):
        assert move >= bound * 0.99


def test_it_is_chosen_where_it_wins() -> None:
    # By removal, with Laplace noise: each sum as if with epsilon/p, and a count of sqrt(2 (p + 1)) C/epsilon.
    for count in (1, 2, 3):
        plan = planned((ROWS, *sums(*[(0.0, 1.0)] * count)), cap=10)
        assert is_simplex(plan)
        (noise,) = plan.mechanisms
        assert noise.scale == pytest.approx(10, rel=1e-4)
        rows = [column.noise_scale for column in plan.columns]
        assert rows[0] == pytest.approx(10 * math.sqrt(count + 1), rel=1e-4)
        assert rows[1:] == pytest.approx([10 * count] * count, rel=1e-4)
    # In one group by replacement two sums alone have less; a mean is better off with ends; both signs have no layout.
    assert not is_simplex(planned((ROWS, *sums((0.0, 1.0), (0.0, 1.0))), neighbours="replace"))
    assert not is_simplex(planned((ROWS, OwnedItem("avg", "m", X), *sums((0.0, 1.0)))))
    assert not is_simplex(planned((ROWS, *sums((-1.0, 1.0)))))
    assert not is_simplex(planned(sums((0.0, 1.0), (0.0, 1.0))))
    beside = planned((*sums((0.0, 1.0), (2.0, 5.0)), ROWS, OwnedItem("users", "p")), KEYS)
    assert is_simplex(beside)
    assert len(beside.columns) == 4


def test_its_numbers_are_those_of_sql() -> None:
    frame = pl.DataFrame(
        {"u": [1, 1, 2, 3], "k": ["a", "b", "a", "b"], "x": [0.5, None, 1.0, 0.25], "y": [-3.0, -2.0, None, -1.0]}
    )
    table = emdp.read(frame, user="u", space=emdp.Categories("k", ["a", "b"]), users=3, name="t")
    plan = planned((ROWS, *sums((0.0, 1.0), (-3.0, -1.0))), KEYS, cap=5)
    statement = owned_statement(table, plan.aggregation)
    connection = duckdb.connect()
    for name, lookup in {**statement.lookups, "source_rows": frame}.items():
        connection.register(name, lookup)
    found = owned_coordinates(
        plan.aggregation, connection.execute(statement.query.sql(DIALECT, identify=True)).fetchall()
    )
    exact = plan.finisher.exact((plan.summed(found),)) if hasattr(plan.finisher, "exact") else None
    assert exact is not None
    assert exact["n"].to_list() == pytest.approx([2, 2], abs=1e-5)
    assert exact["s0"].to_list() == pytest.approx([1.5, 0.25], abs=1e-5)
    assert exact["s1"].to_list() == pytest.approx([-3, -3], abs=1e-4)


@pytest.mark.quarter
@pytest.mark.parametrize(("factor", "is_right"), [(1.0, True), (0.7, False), (1.3, False)])
def test_the_noise_of_a_count_is_what_is_said(factor: float, is_right: bool) -> None:
    keys = (Key("k", Column("t", "k", Kind.TEXT), tuple(f"g{place}" for place in range(500))),)
    plan = planned((ROWS, *sums((0.0, 1.0), (0.0, 1.0))), keys, cap=10)
    assert is_simplex(plan)
    zero = tuple(Fraction(0) for _ in range(plan.aggregation.dimension))
    values: list[float] = []
    with emdp.testing.seeded(17):
        for _ in range(14):
            released = plan.mechanisms[0].release(plan.prepared(zero))
            values += [float(value) for value in plan.restored(released)]
    # 21,000 draws of one Laplace law, in the units of the mechanism: right at p above 1e-6, wrong at p below 1e-9.
    scale = plan.mechanisms[0].scale / plan.blocks[0][1].scales[0]
    p = stats.kstest(values, stats.laplace(scale=scale * factor).cdf).pvalue
    assert (p > 1e-6) if is_right else (p < 1e-9)
