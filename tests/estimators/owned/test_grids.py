"""Quantiles and numbers of values: what one user moves, by the statements in DuckDB over all pairs of bags."""

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from owned_bags import ManyTables

import emdp
from emdp.base.errors import UsageError
from emdp.estimators.owned.distinct import DistinctPlan
from emdp.estimators.owned.joined import JoinedPlan
from emdp.estimators.owned.quantiles import QuantilePlan
from emdp.estimators.owned.statement import plan_statement
from emdp.mechanisms.contribution.moves import moved_users
from emdp.mechanisms.records.distinct import assign_distinct
from emdp.privacy.guarantees.kinds import Neighbours
from emdp.questions.owned.question import OwnedItem, OwnedSelect
from emdp.questions.owned.relations import Private
from emdp.questions.owned.totals import UNIT_BITS, Key
from emdp.questions.price import Price
from emdp.rows.nodes import Column
from emdp.rows.types import Kind
from emdp.tables.statements.owned_frames import frame_statement, in_order

X, TITLE = Column("t", "x", Kind.DOUBLE), Column("t", "title", Kind.TEXT)
KEYS = (Key("k", Column("t", "k", Kind.TEXT), ("a", "b")),)
RECORDS = [("a", -1.0, "p"), ("a", 2.0, "q"), ("b", 0.5, "p"), ("b", 9.0, "q"), ("c", 1.0, "r"), ("a", None, "s")]
BAGS = [bag for size in range(4) for bag in itertools.combinations_with_replacement(RECORDS, size)]
SCHEMA = {"u": pl.Int64, "k": pl.String, "x": pl.Float64, "title": pl.String}
NEIGHBOURS = pytest.mark.parametrize("neighbours", ["replace", "remove"])
GROUPED = pytest.mark.parametrize("keys", [(), KEYS])


def planned(
    items: Sequence[OwnedItem], keys: tuple[Key, ...], neighbours: Neighbours = "replace", **others: Any
) -> Any:
    price = Price.asked(epsilon=1.0, neighbours=neighbours)
    given = {"cap": 2, **others}
    return plan_statement(OwnedSelect(Private("t"), tuple(items), price, keys, **given), users=10)


def quantile(keys: tuple[Key, ...] = (), neighbours: Neighbours = "replace") -> QuantilePlan:
    item = OwnedItem("quantile", "q", X, -1.0, 3.0, level=0.25)
    return planned([item], keys, neighbours).members[0]  # type: ignore[no-any-return]


def distinct(keys: tuple[Key, ...] = (), neighbours: Neighbours = "replace", most: int | None = 2) -> DistinctPlan:
    item = OwnedItem("distinct", "n", TITLE)
    return planned([item], keys, neighbours, cap=None, distinct_cap=most).members[0]  # type: ignore[no-any-return]


@functools.cache
def table() -> Any:
    frame = pl.DataFrame([(1, "a", 0.0, "p")], schema=SCHEMA, orient="row")
    return emdp.read(frame, user="u", space=emdp.Categories("k", ["a", "b", "c"]), users=10, name="t")


@functools.lru_cache(1)
def tables_of(aggregation: Any) -> ManyTables:
    return ManyTables(frame_statement(table(), aggregation), "u BIGINT, k VARCHAR, x DOUBLE, title VARCHAR")


def computed(plan: Any, bags: dict[int, Sequence[Any]]) -> pl.DataFrame:
    tables = tables_of(plan.aggregation)
    rows = tables.rows([(user, *record) for user, bag in bags.items() for record in bag])
    # All are whole numbers.
    found = pl.DataFrame(rows, schema=dict.fromkeys(tables.columns, pl.Int64), orient="row")
    return in_order(found, plan.aggregation)


def weights(plan: QuantilePlan, bags: dict[int, Sequence[Any]]) -> dict[tuple[int, int], int]:
    return {(cell, place): int(weight) for cell, place, weight in computed(plan, bags).rows()}


@pytest.mark.quarter
@GROUPED
def test_the_weights_of_a_user_are_at_most_the_cap_exactly(keys: tuple[Key, ...]) -> None:
    plan = quantile(keys)
    totals = [sum(weights(plan, {1: bag}).values()) for bag in BAGS]
    cap = plan.interval.cap
    assert cap == 2 << UNIT_BITS
    assert max(totals) <= cap
    assert max(totals) >= cap - 3
    assert plan.interval.groups == (2 if keys else 1)


@pytest.mark.quarter
@GROUPED
def test_weights_of_users_add_up(keys: tuple[Key, ...]) -> None:
    plan = quantile(keys)
    for number, bag in enumerate(BAGS):
        other = BAGS[(5 * number + 3) % len(BAGS)]
        both, alone = weights(plan, {1: bag, 2: other}), [weights(plan, {1: bag}), weights(plan, {2: other})]
        assert both == {place: sum(own.get(place, 0) for own in alone) for place in {*alone[0], *alone[1]}}


@pytest.mark.quarter
@NEIGHBOURS
def test_costs_of_all_groups_move_by_no_more_than_the_choice_is_for(neighbours: Neighbours) -> None:
    # |(1 - p) below - p above| of each group, at each place between: Q = 4, P = 1.
    plan = quantile(KEYS, neighbours)
    asked = [weights(plan, {1: bag}) for bag in BAGS]
    places = sorted({place for own in asked for _, place in own})

    def sides(own: dict[tuple[int, int], int], cell: int, place: int) -> int:
        below = sum(weight for (of, at), weight in own.items() if of == cell and at < place)
        above = sum(weight for (of, at), weight in own.items() if of == cell and at >= place)
        return 3 * below - above

    grid = [[[sides(own, cell, place) for place in places] for cell in (0, 1)] for own in asked]
    arrays = np.array(grid)
    others = arrays if neighbours == "replace" else arrays[:1]
    moved = max(int(np.abs(arrays - other).max(axis=2).sum(axis=1).max()) for other in others)
    bound = 3 * moved_users(neighbours) * plan.interval.cap
    # The mechanism's own bound, of each group: rates are for it.
    assert plan.interval._bound == bound
    assert 0.99 * bound < moved <= bound


@pytest.mark.seventh
@GROUPED
@NEIGHBOURS
@pytest.mark.parametrize("most", [1, 2])
def test_numbers_of_values_move_by_no_more_than_the_noise_is_for(
    keys: tuple[Key, ...], neighbours: Neighbours, most: int
) -> None:
    plan = distinct(keys, neighbours, most)
    cells = plan.aggregation.cells
    largest = 0
    for other in [(), (RECORDS[0], RECORDS[1]), (RECORDS[2], RECORDS[4]), tuple(RECORDS)]:
        found = []
        for bag in BAGS:
            frame = computed(plan, {2: other, 1: bag, 3: other[:1]})
            taken = assign_distinct(frame.get_column("user_place"), frame.get_column("value_place"), most)
            found.append(np.bincount(frame.get_column("cell").to_numpy()[taken].astype(int), minlength=cells))
        against = found if neighbours == "replace" else found[:1]
        largest = max(largest, *(int(np.abs(x - y).sum()) for x, y in itertools.product(found, against)))
    bound = round(plan.counts.scale(most) * plan.counts.epsilon)
    assert largest == bound == most * (moved_users(neighbours) if keys else 1)


def test_the_order_of_users_is_each_users_own() -> None:
    plan = distinct()
    for bag in BAGS[:30]:
        three = {1: RECORDS, 2: RECORDS[:2], 5: RECORDS[2:3]}
        with_, without = computed(plan, {**three, 7: bag}), computed(plan, three)
        # Users by how many values they have, in their order; the one of the bag taken out.
        kept = [own for own in _sizes(with_) if own != len({title for *_, title in bag if title})]
        assert kept == [own for own in _sizes(without) if own != len({title for *_, title in bag if title})]


def _sizes(frame: pl.DataFrame) -> list[int]:
    return frame.group_by("user_place", maintain_order=True).len().get_column("len").to_list()


def test_shares_add_up_to_the_price_and_all_is_one_event() -> None:
    items = [
        OwnedItem("rows", "r"),
        OwnedItem("avg", "m", X, -1.0, 3.0),
        OwnedItem("quantile", "q", X, -1.0, 3.0, level=0.5),
        OwnedItem("distinct", "n", TITLE),
    ]
    plan = planned(items, KEYS)
    assert isinstance(plan, JoinedPlan)
    assert [member.guarantee.level for member in plan.members] == [0.5, 0.25, 0.25]
    assert plan.guarantee == plan.event.guarantee
    assert (plan.guarantee.level, plan.guarantee.delta) == (1.0, 0.0)
    assert plan.event.slack_epsilon == plan.members[0].event.slack_epsilon > 0
    assert [column.name for column in plan.columns] == ["r", "m", "q", "n"]


@pytest.mark.parametrize(
    ("item", "others"),
    [
        (OwnedItem("quantile", "q", X, -1.0, 3.0, level=0.5), {"cap": None}),
        (OwnedItem("distinct", "n", TITLE), {"cap": 3}),
        (OwnedItem("distinct", "n", TITLE), {"cap": None, "groups_cap": 3}),
        (OwnedItem("quantile", "q", X, -1.0, 3.0, level=0.5), {"distinct_cap": 3}),
    ],
)
def test_options_without_use_are_refused(item: OwnedItem, others: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        planned([item], (), **others)


def test_levels_and_conditions_belong_to_their_kinds() -> None:
    for kind, others in (("quantile", {}), ("sum", {"level": 0.5}), ("sum", {"condition": X})):
        with pytest.raises(UsageError, match="level"):
            OwnedItem(kind, "x", X, **others)  # type: ignore[arg-type]
