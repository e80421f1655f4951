"""How far one user moves what is drawn: brute force in DuckDB over all pairs of bags of a small universe."""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from owned_bags import ManyTables

import emdp
from emdp.estimators.owned.totals import plan_owned
from emdp.questions.owned.question import OwnedItem, OwnedSelect
from emdp.questions.owned.relations import Private
from emdp.questions.owned.totals import Key
from emdp.questions.price import Price
from emdp.rows.nodes import Column
from emdp.rows.types import Kind
from emdp.tables.statements.owned import owned_coordinates, owned_statement

X = Column("t", "x", Kind.DOUBLE)
GROUP = Column("t", "k", Kind.TEXT)
RECORDS = [("a", -1.0), ("a", 2.0), ("b", 0.5), ("b", 2.0), ("c", None)]
MOST = 3
KEYS = (Key("k", GROUP, ("a", "b", "c")),)
BAGS = [bag for size in range(MOST + 1) for bag in itertools.combinations_with_replacement(RECORDS, size)]


def item(kind: Any, **others: Any) -> OwnedItem:
    node = None if kind in ("rows", "users") else X
    return OwnedItem(kind, f"{kind}_x", node, -1.0, 2.0, **others)


def table() -> Any:
    frame = pl.DataFrame({"u": [1], "k": ["a"], "x": [0.0]}, schema={"u": pl.Int64, "k": pl.String, "x": pl.Float64})
    return emdp.read(frame, user="u", space=emdp.Categories("k", ["a", "b", "c"]), users=1, name="t")


def contributions(plan: Any) -> list[tuple[Fraction, ...]]:
    """Return what is drawn of each bag, by the statement itself: every bag is a table of one user."""
    tables = ManyTables(owned_statement(table(), plan.aggregation), "u BIGINT, k VARCHAR, x DOUBLE")
    return [
        plan.prepared(owned_coordinates(plan.aggregation, tables.rows([(1, *record) for record in bag])))
        for bag in BAGS
    ]


def largest_move(plan: Any, neighbours: str = "replace") -> float:
    vectors = [[float(value) for value in own] for own in contributions(plan)]
    # By removal the other table has nothing of the user; the empty bag is the first one.
    others = vectors if neighbours == "replace" else vectors[:1]
    assert not any(others[0])
    pairs = itertools.product(vectors, others)
    if plan.mechanisms[0].norm == 1:
        return max(math.fsum(abs(x - y) for x, y in zip(*pair, strict=True)) for pair in pairs)
    return max(math.dist(*pair) for pair in pairs)


def planned(
    kinds: Sequence[Any],
    *,
    noise: Any,
    keys: tuple[Key, ...] = (),
    cap: int | None = 2,
    most: Any = None,
    neighbours: Any = "replace",
    each: int | None = None,
) -> Any:
    price = Price.asked(epsilon=1.0, delta=1e-6 if noise == "gaussian" else 0.0, neighbours=neighbours)
    items = tuple(map(item, kinds))
    users = 1 if neighbours == "replace" else None
    query = OwnedSelect(Private("t"), items, price, keys, cap, most, noise=noise, group_rows=each)
    return plan_owned(query, users=users)


SHAPES: list[tuple[Sequence[str], tuple[Key, ...], int | None, int | None]] = [
    (["rows"], (), 2, None),
    (["rows"], KEYS, 2, None),
    (["sum"], (), 2, None),
    (["sum"], KEYS, 2, None),
    (["avg"], (), 2, None),
    (["avg"], KEYS, 2, None),
    (["rows", "sum", "avg"], (), 2, None),
    (["rows", "sum", "avg"], KEYS, 2, None),
    (["rows", "count"], KEYS, 2, None),
    (["variance"], KEYS, 2, None),
    (["stddev", "avg", "rows"], (), 2, None),
    (["users"], (), None, None),
    (["users"], KEYS, None, None),
    (["users"], KEYS, None, 2),
    (["users", "rows"], KEYS, 2, 1),
]


@pytest.mark.quarter
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize(("kinds", "keys", "cap", "most"), SHAPES)
def test_no_user_moves_more_than_the_sensitivity_and_some_move_as_much(
    kinds: Sequence[str], keys: tuple[Key, ...], cap: int | None, most: int | None, noise: str
) -> None:
    check_moves(kinds, keys, cap, most, noise, "replace")


@pytest.mark.quarter
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize(("kinds", "keys", "cap", "most"), SHAPES)
def test_no_removed_user_moves_more_than_the_sensitivity_and_some_move_as_much(
    kinds: Sequence[str], keys: tuple[Key, ...], cap: int | None, most: int | None, noise: str
) -> None:
    check_moves(kinds, keys, cap, most, noise, "remove")


def check_moves(
    kinds: Sequence[str],
    keys: tuple[Key, ...],
    cap: int | None,
    most: int | None,
    noise: str,
    neighbours: str,
    each: int | None = None,
) -> None:
    plan = planned(kinds, noise=noise, keys=keys, cap=cap, most=most, neighbours=neighbours, each=each)
    move, bound = largest_move(plan, neighbours), plan.mechanisms[0].sensitivity
    assert move <= bound * (1 + 1e-12)
    # Blocks beside one another, and numbers that rounding down leaves short, need not be attained by one pair.
    assert move >= bound * (0.999 if len(plan.blocks) == 1 else 0.7)


CELL_CAPS = [
    (["rows"], 1, 1),
    (["rows"], 1, 2),
    (["rows", "sum", "avg"], 2, 1),
    (["sum"], 1, 1),
    (["variance"], 1, 1),
    (["users", "count"], 1, 2),
]


@pytest.mark.quarter
@pytest.mark.parametrize("neighbours", ["replace", "remove"])
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize(("kinds", "each", "most"), CELL_CAPS)
def test_no_user_moves_more_under_a_cap_of_each_group(
    kinds: Sequence[str], each: int, most: int, noise: str, neighbours: str
) -> None:
    check_moves(kinds, KEYS, None, most, noise, neighbours, each)


@pytest.mark.quarter
@pytest.mark.parametrize(
    ("neighbours", "noise", "expected"),
    [("remove", "laplace", 2.0), ("replace", "laplace", 3.0), ("remove", "gaussian", 2**0.5),
     ("replace", "gaussian", 3**0.5)],
)  # fmt: skip
def test_moves_under_a_cap_of_each_group_are_those_of_the_note(neighbours: str, noise: str, expected: float) -> None:
    """L M, min(2L, G) M, sqrt(L) M and sqrt(min(2L, G)) M, with L = 2, M = 1 and G = 3."""
    plan = planned(["rows"], noise=noise, keys=KEYS, cap=None, most=2, neighbours=neighbours, each=1)
    assert plan.mechanisms[0].sensitivity == pytest.approx(expected, rel=1e-9)
    assert largest_move(plan, neighbours) == pytest.approx(expected, rel=1e-5)


def test_gaussian_noise_caps_the_2_norm_of_a_user_and_keeps_more_of_one_with_many_groups() -> None:
    query = {"keys": KEYS, "cap": 2}
    laplace, gaussian = (planned(["rows"], noise=noise, **query) for noise in ("laplace", "gaussian"))
    assert (laplace.aggregation.norm, gaussian.aggregation.norm) == (1, 2)
    assert planned(["rows"], noise="gaussian", cap=2).aggregation.norm == 1
    assert planned(["users"], noise="gaussian", keys=KEYS, cap=None).aggregation.norm == 1
    own = {tuple(key for key, _ in bag): number for number, bag in enumerate(BAGS)}
    for plan, keys, expected in (
        (laplace, "abc", 2.0), (gaussian, "abc", 3.0), (gaussian, "aaa", 2.0), (gaussian, "aab", 6.0 / 5.0**0.5)
    ):  # fmt: skip
        found = sum(plan.restored(contributions(plan)[own[tuple(keys)]]))
        assert float(found) == pytest.approx(expected, rel=1e-4)
        assert found <= expected


@pytest.mark.parametrize(
    ("kinds", "keys", "cap", "most", "neighbours", "expected"),
    [
        (["rows"], KEYS, 2, None, "replace", (4.0, 2.8284)),
        (["sum"], (), 2, None, "replace", (6.0, 6.0)),
        (["users"], KEYS, None, 2, "replace", (3.0, 1.7321)),
        (["variance"], KEYS, 2, None, "replace", (4.0, 2.8284)),
        (["rows"], KEYS, 2, None, "remove", (2.0, 2.0)),
        (["sum"], (), 2, None, "remove", (4.0, 4.0)),
        (["users"], KEYS, None, 2, "remove", (2.0, 1.4142)),
        (["variance"], KEYS, 2, None, "remove", (2.0, 2.0)),
        (["users"], (), None, None, "remove", (1.0, 1.0)),
    ],
)
def test_moves_are_those_of_the_note(
    kinds: Sequence[str],
    keys: tuple[Key, ...],
    cap: int | None,
    most: int | None,
    neighbours: str,
    expected: tuple[float, float],
) -> None:
    # user-level-sql.md, 6.4
    for noise, own in zip(("laplace", "gaussian"), expected, strict=True):
        plan = planned(kinds, noise=noise, keys=keys, cap=cap, most=most, neighbours=neighbours)
        sizes = plan.blocks[0][1].scales
        # In the unit of the drawn rows: of SUM that of the sum.
        assert plan.mechanisms[0].sensitivity / sizes[0] == pytest.approx(own, rel=1e-4)


@pytest.mark.parametrize("keys", [(), KEYS])
def test_by_removal_nothing_drawn_depends_on_the_number_of_users(keys: tuple[Key, ...]) -> None:
    price = Price("epsilon", 1.0, neighbours="remove")
    items = (item("rows"), item("sum"), item("users"))
    query = OwnedSelect(Private("t"), items, price, keys, 2)
    plans = [plan_owned(query, users=users) for users in (None, 1, 10**6)]
    assert len({(own.mechanisms[0].scale, own.mechanisms[0].grid, own.blocks) for own in plans}) == 1
    for own in plans:
        assert own.guarantee == emdp.UserDP(1.0, neighbours="remove")
        assert own.aggregation.users is None


def test_ends_in_groups_have_half_the_noise_by_removal() -> None:
    scales = [
        planned(["rows", "sum", "avg"], noise="laplace", keys=KEYS, neighbours=own) for own in ("replace", "remove")
    ]
    replace, remove = (own.mechanisms[0].scale / own.blocks[0][1].scales[0] for own in scales)
    # Drawn are rows without a value, then the two ends, of 1-norm C = 2 a user.
    assert (replace, remove) == pytest.approx((4.0, 2.0))
