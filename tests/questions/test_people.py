"""Groups of public users and of listed values, against a plain loop."""

import math
import random
from datetime import date
from typing import Any

import polars as pl
import pytest

import emdp
from emdp.base.errors import UsageError
from emdp.questions.names import Names
from emdp.questions.people import MOST_GROUPS, choose_people, group_labels
from emdp.questions.select import People

SPACE = emdp.Product(
    emdp.Interval("x", 0, 1),
    emdp.Categories("kind", ["zoo", "bar", "cafe", "pub"]),
    emdp.Categories("dow(ts)", [0, 1, 2, 3]),
)
USERS = pl.DataFrame({
    "user": ["5", "1", "2", "3", "4"],
    "city": ["Rome", "Bonn", None, "Rome", None],
    "age": [30, 41, 30, 41, None],
    "pro": [True, False, True, None, False],
})  # fmt: skip


def names(frame: pl.DataFrame | None = USERS, space: emdp.Space = SPACE) -> Names:
    return Names("visits", "user", space, {}, 5 if frame is None else len(frame), frame)


def as_sets(people: People | None) -> dict[tuple[Any, ...], set[str]]:
    assert people is not None
    found: dict[tuple[Any, ...], set[str]] = {value: set() for value in people.values}
    for key, group in zip(people.groups.keys, people.groups.groups, strict=True):
        found[people.values[group]].add(key)
    assert tuple(map(len, found.values())) == people.groups.sizes
    assert people.groups.keys.dtype == pl.String
    assert people.groups.groups.dtype == pl.Int64
    return found


def test_nothing_chosen_and_nothing_grouped_is_everybody() -> None:
    assert choose_people(names(), None, []) is None
    assert choose_people(names(None), None, []) is None
    assert choose_people(names(), pl.Series([True] * 5), []) is None


def test_groups_in_order_of_value_with_null_last() -> None:
    people = choose_people(names(), None, ["city"])
    assert people is not None
    assert people.columns == ("city",)
    assert people.values == (("Bonn",), ("Rome",), (None,))
    assert people.groups.sizes == (1, 2, 2)
    assert as_sets(people) == {("Bonn",): {"1"}, ("Rome",): {"5", "3"}, (None,): {"2", "4"}}
    both = choose_people(names(), None, ["age", "city"])
    assert both is not None
    assert both.values == ((30, "Rome"), (30, None), (41, "Bonn"), (41, "Rome"), (None, None))
    pro = choose_people(names(), None, ["pro"])
    assert pro is not None
    assert pro.values == ((False,), (True,), (None,))


def test_chosen_users_alone_make_groups_and_null_is_not_chosen() -> None:
    chosen = USERS.get_column("age") > 35
    assert as_sets(choose_people(names(), chosen, [])) == {(): {"1", "3"}}
    assert as_sets(choose_people(names(), chosen, ["city"])) == {("Bonn",): {"1"}, ("Rome",): {"3"}}
    assert as_sets(choose_people(names(), USERS.get_column("user") == "4", ["pro"])) == {(False,): {"4"}}


def test_keys_alone_can_be_chosen() -> None:
    frame = pl.DataFrame({"user": ["a", "b", "c"]})
    assert as_sets(choose_people(names(frame), frame.get_column("user").is_in(["a", "c"]), [])) == {(): {"a", "c"}}


@pytest.mark.parametrize("conditions", [pl.Series([False, None, False, None, False]), pl.Series([None] * 5)])
@pytest.mark.parametrize("columns", [[], ["city"]])
def test_nobody_chosen_is_refused(conditions: pl.Series, columns: list[str]) -> None:
    with pytest.raises(UsageError, match="n would be 0"):
        choose_people(names(), conditions, columns)


@pytest.mark.parametrize(("conditions", "columns"), [(pl.Series([True]), []), (None, ["city"])])
def test_users_that_are_but_a_number_cannot_be_chosen(conditions: pl.Series | None, columns: list[str]) -> None:
    with pytest.raises(UsageError, match="declare users= as a table"):
        choose_people(names(None), conditions, columns)


@pytest.mark.parametrize(
    ("conditions", "columns", "message"),
    [
        (pl.Series([True]), [], "5 truth values"),
        (pl.Series([1, 1, 0, 1, 0]), [], "of type Int64"),
        (None, ["country"], "'country' is no public column of the users, who have: 'city', 'age', 'pro'"),
        (None, ["user"], "'user' is no public column"),
        (None, ["city", "city"], "twice"),
    ],
)
def test_malformed_choices(conditions: pl.Series | None, columns: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        choose_people(names(), conditions, columns)


def test_nested_columns_make_no_groups() -> None:
    frame = pl.DataFrame({"user": ["1"], "tags": [["a"]], "place": [{"lat": 1.0}]})
    for column in ("tags", "place"):
        with pytest.raises(UsageError, match="which makes no groups"):
            choose_people(names(frame), None, [column])


@pytest.mark.parametrize("seed", range(20))
def test_matches_a_plain_loop_on_every_type(seed: int) -> None:
    source = random.Random(seed)
    count = source.randrange(1, 60)
    choices: dict[str, list[Any]] = {
        "text": ["b", "a", "", None],
        "number": [3, -1, None],
        "real": [0.5, -0.5, math.inf, None],
        "flag": [True, False, None],
        "day": [date(2024, 1, 1), date(1950, 1, 1), None],
        "row": [1, 2],
        "group": ["g", "h"],
    }
    kinds = {"text": pl.String, "number": pl.Int64, "real": pl.Float64, "flag": pl.Boolean, "day": pl.Date}
    data = {name: source.choices(own, k=count) for name, own in choices.items()}
    frame = pl.DataFrame({"user": list(map(str, range(count))), **data}, schema_overrides=kinds)
    columns = source.sample(list(choices), source.randrange(1, 4))
    conditions = pl.Series(source.choices([True, True, False, None], k=count))
    chosen = [row for row, own in zip(frame.to_dicts(), conditions, strict=True) if own]
    if not chosen:
        return
    expected: dict[tuple[Any, ...], set[str]] = {}
    for row in sorted(
        chosen, key=lambda row: [(row[name] is None, row[name] if row[name] is not None else 0) for name in columns]
    ):
        expected.setdefault(tuple(row[name] for name in columns), set()).add(row["user"])
    found = as_sets(choose_people(names(frame), conditions, columns))
    assert found == expected
    assert list(found) == list(expected)


def test_not_a_number_is_one_group() -> None:
    frame = pl.DataFrame({"user": list("abcd"), "real": [math.nan, 1.0, None, math.nan]})
    people = choose_people(names(frame), None, ["real"])
    assert people is not None
    assert people.groups.sizes == (1, 2, 1)
    assert people.values[0] == (1.0,)
    assert math.isnan(people.values[1][0])
    assert people.values[2] == (None,)


@pytest.mark.slow
def test_a_million_users_are_grouped() -> None:
    count = 1_000_000
    keys = pl.int_range(count, eager=True)
    frame = pl.DataFrame({"user": keys.cast(pl.String), "city": (keys * 7919 % 1000).cast(pl.String), "age": keys % 90})
    people = choose_people(names(frame), keys % 3 != 0, ["city", "age"])
    assert people is not None
    assert sum(people.groups.sizes) == 666_666
    counts = frame.filter(keys % 3 != 0).group_by("city", "age").len().sort("city", "age").rows()
    assert [(*value, size) for value, size in zip(people.values, people.groups.sizes, strict=True)] == counts


def test_listed_values_are_groups_in_listed_order() -> None:
    groups = group_labels(names(), "kind")
    assert (groups.name, groups.values) == ("kind", ("zoo", "bar", "cafe", "pub"))
    assert (groups.axis.column, groups.axis.cells) == ("kind", (("zoo",), ("bar",), ("cafe",), ("pub",)))
    assert group_labels(names(), "dow(ts)").values == (0, 1, 2, 3)


def test_a_joined_table_merges_listed_values() -> None:
    groups = group_labels(
        names(), "kind", {"bar": "drink", "cafe": "drink", "zoo": None, "pub": "also", "gone": "never"}
    )
    assert groups.values == ("also", "drink", None)
    assert groups.axis.cells == (("pub",), ("bar", "cafe"), ("zoo",))
    partial = group_labels(names(), "dow(ts)", {0: 2.5, 3: 1.5, 7: 0.0})
    assert (partial.values, partial.axis.cells) == ((1.5, 2.5), ((3,), (0,)))
    unsure = group_labels(names(), "kind", {"bar": math.nan, "cafe": math.nan, "zoo": 1.0})
    assert unsure.axis.cells == (("zoo",), ("bar", "cafe"))
    nothing = group_labels(names(), "kind", {"bar": None})
    assert (nothing.values, nothing.axis.cells) == ((None,), (("bar",),))


def test_a_joined_table_without_any_listed_value_is_refused() -> None:
    with pytest.raises(UsageError, match="no listed value of 'kind' is in the joined table"):
        group_labels(names(), "kind", {"gone": "never"})
    with pytest.raises(UsageError, match="values of one type"):
        group_labels(names(), "kind", {"bar": "a", "zoo": [1]})


@pytest.mark.parametrize("column", ["x", "country"])
def test_only_finite_parts_make_groups(column: str) -> None:
    with pytest.raises(UsageError, match=f"'{column}' has no listed values .* name one of 'kind', 'dow"):
        group_labels(names(), column)
    with pytest.raises(UsageError, match="add a Categories part"):
        group_labels(names(space=emdp.Interval("x", 0, 1)), column)


def test_too_many_keys_of_an_embedding_are_refused_unless_a_table_merges_them() -> None:
    keys = [f"w{number}" for number in range(MOST_GROUPS + 1)]
    table = {"word": keys, "a": [float(number) for number in range(len(keys))]}
    for kind in (emdp.Embedding, emdp.Words):
        space = kind("word", table, on_invalid="neutral")
        with pytest.raises(UsageError, match="10,001 groups, above 10,000"):
            group_labels(names(space=space), "word")
        merged = group_labels(names(space=space), "word", {key: len(key) for key in keys})
        assert merged.values == (2, 3, 4, 5, 6)
        assert sum(map(len, merged.axis.cells)) == len(keys)
    few = emdp.Embedding("word", {"word": keys[:-1], "a": table["a"][:-1]})
    assert len(group_labels(names(space=few), "word").values) == MOST_GROUPS
    many = emdp.Categories("kind", keys)
    assert len(group_labels(names(space=many), "kind").values) == MOST_GROUPS + 1
