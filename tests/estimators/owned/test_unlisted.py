"""Keys that nobody listed: how far one user moves users and sums, by brute force in DuckDB over all pairs of bags."""

import functools
import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from owned_bags import ManyTables

import emdp
from emdp.base.errors import UsageError
from emdp.estimators.owned.plan import drawn_rows
from emdp.estimators.owned.unlisted import plan_unlisted
from emdp.estimators.owned.unlisted_plan import UnlistedPlan
from emdp.mechanisms.contribution.moves import moved_users
from emdp.mechanisms.keys.numbers import KeysThenNumbers, KeysWithNumbers
from emdp.privacy.guarantees.kinds import Neighbours
from emdp.questions.owned.question import OwnedItem, OwnedSelect
from emdp.questions.owned.relations import Private
from emdp.questions.owned.totals import UNIT_BITS, Key
from emdp.questions.price import Price
from emdp.rows.nodes import Column
from emdp.rows.types import Kind
from emdp.tables.statements.owned_groups import groups_statement

X = Column("t", "x", Kind.DOUBLE)
OPEN = Key("k", Column("t", "k", Kind.TEXT), (), is_listed=False)
LISTED = Key("k", Column("t", "k", Kind.TEXT), ("a", "b", None))
DAY = Key("d", Column("t", "d", Kind.BIGINT), (), is_listed=False)
RECORDS = [("a", 1, -1.0), ("a", 2, 2.0), ("b", 1, 0.5), ("b", 1, 2.0), (None, 2, None), ("d", 1, 1.0)]
BAGS = [bag for size in range(4) for bag in itertools.combinations_with_replacement(RECORDS, size)]
SCHEMA = {"u": pl.Int64, "k": pl.String, "d": pl.Int64, "x": pl.Float64}

Contribution = dict[Any, tuple[int, tuple[Fraction, ...]]]


def item(kind: Any) -> OwnedItem:
    node = None if kind in ("rows", "users") else X
    return OwnedItem(kind, f"{kind}_x", node, -1.0, 2.0)


def planned(
    kinds: Sequence[Any],
    keys: tuple[Key, ...],
    most: int,
    *,
    noise: Any = "auto",
    neighbours: Any = "replace",
    each: int | None = None,
) -> UnlistedPlan:
    cap = None if set(kinds) == {"users"} or each else 2
    price = Price.asked(epsilon=1.0, delta=1e-6, neighbours=neighbours)
    query = OwnedSelect(Private("t"), tuple(map(item, kinds)), price, keys, cap, most, noise=noise, group_rows=each)
    return plan_unlisted(query, users=10 if neighbours == "replace" else None)


@functools.cache
def table() -> Any:
    frame = pl.DataFrame([(1, "a", 1, 0.0)], schema=SCHEMA, orient="row")
    return emdp.read(frame, user="u", space=emdp.Interval("x", -1, 2), users=10, name="t")


@functools.lru_cache(1)
def tables_of(aggregation: Any) -> ManyTables:
    return ManyTables(groups_statement(table(), aggregation), "u BIGINT, k VARCHAR, d BIGINT, x DOUBLE")


def contributions(plan: UnlistedPlan, bags: dict[int, Sequence[Any]]) -> Contribution:
    """Return users and exact sums of each key of a table, by the statement itself."""
    found = tables_of(plan.aggregation).rows([(user, *record) for user, bag in bags.items() for record in bag])
    count = len(plan.aggregation.keys)
    return {
        row[:count]: (row[count], tuple(Fraction(int(value), 2**UNIT_BITS) for value in row[count + 1 :]))
        for row in found
    }


def drawn(plan: UnlistedPlan, own: Contribution) -> dict[Any, list[Fraction]]:
    """Return what gets noise, scaled for it: of each key its numbers and, in one draw with them, its users."""
    scales = [Fraction(scale) for _, drawing in plan.blocks for scale in drawing.scales]
    made = {}
    for key, (people, parts) in own.items():
        rows = [value for row in drawn_rows(plan.blocks, parts, 1) for value in row]
        scaled = [value * scale for value, scale in zip(rows, scales, strict=True)]
        made[key] = [*scaled, *([Fraction(people)] if isinstance(plan.keys, KeysWithNumbers) else [])]
    return made


def moves(plan: UnlistedPlan, one: Contribution, other: Contribution) -> tuple[int, Fraction, float]:
    """Return how many counts of users differ, the largest difference, and the move of what gets noise in its norm."""
    keys = one.keys() | other.keys()
    people = [abs(one.get(key, (0, ()))[0] - other.get(key, (0, ()))[0]) for key in keys]
    left, right = drawn(plan, one), drawn(plan, other)
    size = max((len(values) for values in (*left.values(), *right.values())), default=0)
    none = [Fraction(0)] * size
    apart = [abs(x - y) for key in keys for x, y in zip(left.get(key, none), right.get(key, none), strict=True)]
    if isinstance(plan.keys, KeysWithNumbers):
        moved = math.sqrt(math.fsum(float(value) ** 2 for value in apart))
    else:
        moved = math.fsum(map(float, apart))
    return len([value for value in people if value]), Fraction(max(people, default=0)), moved


SHAPES: list[tuple[Sequence[str], tuple[Key, ...], int, int | None]] = [
    (["users"], (OPEN,), 1, None),
    (["users"], (OPEN,), 2, None),
    (["rows"], (OPEN,), 1, None),
    (["users", "rows"], (OPEN,), 2, None),
    (["avg", "users", "sum"], (OPEN,), 2, None),
    (["stddev", "count"], (OPEN,), 2, None),
    (["rows", "avg"], (LISTED, DAY), 2, None),
    (["rows"], (OPEN,), 1, 1),
    (["users", "sum"], (OPEN,), 2, 1),
]


@pytest.mark.seventh
@pytest.mark.parametrize("neighbours", ["replace", "remove"])
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize(("kinds", "keys", "most", "each"), SHAPES)
def test_no_user_moves_more_than_the_noise_is_for_and_some_move_as_much(
    kinds: Sequence[str], keys: tuple[Key, ...], most: int, each: int | None, noise: str, neighbours: Neighbours
) -> None:
    plan = planned(kinds, keys, most, noise=noise, neighbours=neighbours, each=each)
    alone = [contributions(plan, {1: bag}) for bag in BAGS]
    pairs = itertools.combinations(alone, 2) if neighbours == "replace" else ((alone[0], other) for other in alone[1:])
    found = [moves(plan, one, other) for one, other in pairs]
    # The threshold's noise is for r L counts of users that move by 1.
    assert max(counts for counts, _, _ in found) == moved_users(neighbours) * most
    assert max(size for _, size, _ in found) == 1
    assert isinstance(plan.keys, KeysThenNumbers | KeysWithNumbers)
    if plan.keys.noise is not None:
        bound, most_moved = plan.keys.noise.sensitivity, max(moved for _, _, moved in found)
        assert most_moved <= bound * (1 + 1e-12)
        # With a cap of each group no bag here has the largest value in four groups.
        assert most_moved >= bound * (0.999 if len(plan.blocks) == 1 and noise == "laplace" and each is None else 0.7)


@pytest.mark.quarter
@pytest.mark.parametrize(("kinds", "keys"), [(["users", "avg"], (OPEN,)), (["rows"], (LISTED, DAY))])
def test_what_a_user_counts_depends_on_nobody_else(kinds: Sequence[str], keys: tuple[Key, ...]) -> None:
    # Trap 1 of the note: a choice by place or arrival shifts with the rows of others.
    plan = planned(kinds, keys, 1)
    chosen = [bag for bag in BAGS if len(bag) != 2]
    for number, bag in enumerate(chosen):
        other = chosen[(7 * number + 5) % len(chosen)]
        together = contributions(plan, {1: bag, 2: other})
        apart = [contributions(plan, {1: bag}), contributions(plan, {2: other})]
        for key in together | apart[0] | apart[1]:
            held = [own[key] for own in apart if key in own]
            assert together[key][0] == sum(count for count, _ in held)
            assert together[key][1] == tuple(map(sum, zip(*(parts for _, parts in held), strict=True)))


def test_groups_of_a_user_are_kept_the_same_wherever_rows_stand() -> None:
    plan = planned(["users"], (OPEN,), 2)
    bag = [record for record in RECORDS if record[0] is not None]
    assert len({frozenset(contributions(plan, {1: order})) for order in itertools.permutations(bag, len(bag))}) == 1
    # Not the same ones of everybody: the hash is of the user too.
    assert len({frozenset(contributions(plan, {user: bag})) for user in range(1, 10)}) > 1


def test_the_cap_is_of_all_kept_groups_together() -> None:
    plan = planned(["rows"], (OPEN,), 3, noise="laplace")
    bag = [("a", 1, 0.0)] * 3 + [("b", 1, 0.0)]
    assert contributions(plan, {1: bag}) == {("a",): (1, (Fraction(3, 2),)), ("b",): (1, (Fraction(1, 2),))}
    # Gaussian noise is for the 2-norm: three and one records weigh 2/sqrt(10) each, rounded down.
    plan = planned(["rows"], (OPEN,), 3, noise="gaussian")
    (_, (three,)), (_, (one,)) = (contributions(plan, {1: bag})[key] for key in (("a",), ("b",)))
    assert 0.9999 * 4 <= float(three**2 + one**2) <= 4
    assert float(three / one) == pytest.approx(3.0, rel=1e-5)


def test_one_event_is_charged_for_the_statement() -> None:
    for kinds in (["users"], ["users", "rows"], ["avg"]):
        for noise in ("auto", "laplace", "gaussian"):
            plan = planned(kinds, (OPEN,), 2, noise=noise)
            assert plan.guarantee.level == pytest.approx(1.0, rel=1e-12)
            assert plan.guarantee.level <= 1.0
            assert 0 < plan.guarantee.delta <= 1e-6
            assert plan.event.slack_epsilon == plan.keys.slack_epsilon


@pytest.mark.parametrize("others", [{"price": Price.asked(epsilon=1.0)}, {"groups_cap": None}, {"cap": None}])
def test_what_thresholds_need_is_asked_for(others: dict[str, Any]) -> None:
    given: dict[str, Any] = {"price": Price.asked(epsilon=1.0, delta=1e-6), "groups_cap": 2, "cap": 2, **others}
    with pytest.raises(UsageError):
        plan_unlisted(OwnedSelect(Private("t"), (item("rows"),), keys=(OPEN,), **given), users=10)
