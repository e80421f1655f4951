"""Groups alone: which user has which, in an order of each user's own, and what is refused."""

import itertools
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import emdp
from emdp.base.errors import UsageError
from emdp.estimators.owned.keys_plan import plan_keys
from emdp.mechanisms.keys.weighted import WeightedKeys
from emdp.questions.owned.groups import OwnedKeys
from emdp.questions.owned.question import OwnedItem, OwnedSelect
from emdp.questions.owned.relations import Private
from emdp.questions.owned.totals import Key
from emdp.questions.price import Price
from emdp.rows.nodes import Column
from emdp.rows.types import Kind
from emdp.tables.engines.duckdb.execution import DIALECT
from emdp.tables.statements.owned_frames import frame_statement, in_order

OPEN = Key("k", Column("t", "k", Kind.TEXT), (), is_listed=False)
LISTED = Key("d", Column("t", "d", Kind.BIGINT), (1, 2))
PRICE = Price.asked(epsilon=1.0, delta=1e-6)


def pairs(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return user and key of each pair, users by their places, as the plan reads them."""
    frame = pl.DataFrame(rows, schema={"u": pl.Int64, "k": pl.String, "d": pl.Int64}, orient="row")
    table = emdp.read(frame, user="u", space=emdp.Interval("d", 0, 9), users=9, name="t")
    wanted = OwnedKeys(Private("t"), (OPEN, LISTED))
    statement = frame_statement(table, wanted)
    with duckdb.connect() as connection:
        for name, own in {"source_rows": frame, **statement.lookups}.items():
            connection.register(name, own.to_arrow())
        found = pl.DataFrame(connection.sql(statement.query.sql(DIALECT, identify=True)).to_arrow_table())
    return in_order(found, wanted).drop("group_place").rows()


def test_a_user_has_each_key_once_in_an_order_of_their_own() -> None:
    own = [(1, key, day) for key in ("a", "b", None, "c") for day in (1, 2, 3)]
    alone = pairs(own)
    assert sorted(alone, key=str) == sorted({(1, key, day) for _, key, day in own if day != 3}, key=str)
    for rows in itertools.islice(itertools.permutations(own), 0, 4000, 997):
        assert pairs([*rows, *own]) == alone
    others = [(user, key, 1) for user in range(2, 9) for key in ("a", "zz")]
    together = pairs([*others, *own])
    (place,) = {user for user, key, _ in together if key == "c"}
    assert [(key, day) for user, key, day in together if user == place] == [(key, day) for _, key, day in alone]


def test_weights_are_of_the_groups_that_users_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is drawn from, and which groups its places stand for: none but found ones are shown."""
    plan = plan_keys(OwnedSelect(Private("t"), (), PRICE, (OPEN, LISTED), groups_cap=30))
    rows = [(1, "b", 1), (1, "a", 2), (2, None, 1), (2, "a", 2), (3, "c", 1)]
    frame = pl.DataFrame(rows, schema={"user_place": pl.Int64, "key_0": pl.String, "key_1": pl.Int64}, orient="row")
    frame = frame.with_columns(group_place=pl.Series([1, 2, 1, 2, 1]))
    asked: list[Any] = []

    def release(_: Any, users: Any, keys: Any) -> tuple[Any, ...]:
        asked.append((users.tolist(), keys.tolist()))
        return np.array([3]), np.array([1])

    monkeypatch.setattr(WeightedKeys, "release", release)
    released, _ = plan.drawn(frame, None, keep_exact=False)  # type: ignore[arg-type]
    # In the order of keys: (NULL, 1), (a, 2), (b, 1), (c, 1).
    assert asked == [([1, 1, 2, 2, 3], [2, 1, 0, 1, 3])]
    assert released.keys == (("a", "c"), (2, 1))


def test_the_event_and_the_notes_are_those_of_the_mechanism() -> None:
    plan = plan_keys(OwnedSelect(Private("t"), (), PRICE, (OPEN,), groups_cap=30))
    assert plan.keys == WeightedKeys(1.0, 1e-6, 30, "replace")
    assert (plan.guarantee.level, plan.guarantee.delta) == (1.0, 1e-6)
    assert f"{plan.keys.people} users" in plan.notes[0]


@pytest.mark.parametrize(
    "others",
    [{"keys": (LISTED,)}, {"price": Price.asked(epsilon=1.0)}, {"groups_cap": None}, {"noise": "laplace"},
     {"items": (OwnedItem("rows", "n"),), "cap": 2}],
)  # fmt: skip
def test_what_weights_need_is_asked_for(others: dict[str, Any]) -> None:
    given: dict[str, Any] = {"items": (), "price": PRICE, "keys": (OPEN,), "groups_cap": 3, **others}
    with pytest.raises(UsageError):
        plan_keys(OwnedSelect(Private("t"), **given))
