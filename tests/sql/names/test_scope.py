"""Names: columns, aliases, capitals, components of timestamps, joins with public tables, sub-queries."""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import emdp.expressions as ex
from emdp.base.errors import SqlError
from emdp.expressions import evaluate
from emdp.questions.names import Names
from emdp.questions.select import Item, Select
from emdp.spaces import Categories, Clusters, Cycle, Embedding, Interval, Product
from emdp.sql import translate

HEADER = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)"


def select(text: str, names: Names) -> Select:
    sql = text if text.startswith("WITH") else f"{HEADER} {text}"
    (translated,) = translate(sql, names)
    assert isinstance(translated.query, Select)
    return translated.query


def item(text: str, names: Names) -> Item:
    return select(text, names).items[0]


def refusal(text: str, names: Names) -> SqlError:
    with pytest.raises(SqlError) as caught:
        select(text, names)
    return caught.value


def toy(*parts: Any, **fields: Any) -> Names:
    space = parts[0] if len(parts) == 1 else Product(*parts)
    columns = {"user": "VARCHAR", **dict.fromkeys(space.columns, "DOUBLE")}
    return Names(**{"table": "t", "user": "user", "space": space, "columns": columns, "users": 3} | fields)


USERS = pl.DataFrame({"user": ["1", "2", "3"], "plan": ["a", "b", None]})


# ------------------------------------------------ names


def test_an_exact_name_comes_before_one_with_other_capitals() -> None:
    names = toy(Interval("price", 0, 1), Interval("Price", 0, 5))
    assert item("AVG(price) FROM t", names).expression == ex.col("price")
    assert item("AVG(Price) FROM t", names).expression == ex.col("Price")
    assert item('AVG("Price") FROM T', names).expression == ex.col("Price")
    error = refusal("AVG(PRICE) FROM t", names)
    assert (error.code, "t.price, t.Price" in error.problem) == ("ambiguous-column", True)


def test_a_public_user_column_with_the_name_of_an_item_column_is_ambiguous() -> None:
    names = toy(Interval("plan", 0, 1), Interval("x", 0, 1), user_frame=USERS)
    for text in (
        "AVG(plan) FROM t",
        "AVG(t.plan) FROM t",
        "AVG(x) FROM t WHERE plan = 'a'",
        "AVG(x) FROM t GROUP BY plan",
    ):
        assert refusal(text, names).code == "ambiguous-column"
    assert item("AVG(x) FROM t", names).expression == ex.col("x")
    assert refusal("AVG(x) FROM (SELECT * FROM t)", names).code == "duplicate-name"


def test_a_public_user_column_hides_a_column_that_the_space_does_not_hold() -> None:
    names = toy(Interval("x", 0, 1), user_frame=USERS, columns={"user": "VARCHAR", "x": "DOUBLE", "plan": "VARCHAR"})
    people = select("AVG(x) FROM t WHERE plan = 'a'", names).people
    assert people is not None
    assert people.groups.keys.to_list() == ["1"]


def test_a_column_and_an_alias_of_two_tables_are_told_apart(names: Names) -> None:
    assert refusal("AVG(category) FROM visits JOIN sites USING (category)", names).code == "category-as-number"
    one, two = (pl.DataFrame({"category": ["cafe"], "x": [value]}) for value in (1.0, 2.0))
    both = replace(names, public={"one": one, "two": two})
    error = refusal("AVG(x) FROM visits JOIN one ON visits.category = one.category JOIN two USING (category)", both)
    assert (error.code, error.sql[error.start : error.end]) == ("ambiguous-column", "x")


def test_components_of_timestamps_are_columns_of_the_space(names: Names) -> None:
    expected = ex.distance_to(8, column="hour(ts)")
    for text in ("EXTRACT(HOUR FROM ts)", "EXTRACT(hour FROM visits.TS)", "hour(ts)", '"hour(ts)"', '"HOUR(TS)"'):
        assert item(f"AVG(DISTANCE({text}, 8)) FROM visits", names).expression == expected
    of_day = toy(Cycle("time(ts)", 24), Interval("x", 0, 1), columns={"user": "VARCHAR", "ts": "TIMESTAMP"})
    expected = ex.distance_to(8, column="time(ts)")
    for text in ("EXTRACT(TIME FROM ts)", "time(ts)", "Time(t.ts)", '"time(ts)"'):
        assert item(f"AVG(DISTANCE({text}, 8)) FROM t", of_day).expression == expected
    error = refusal("AVG(minute(ts)) FROM visits", names)
    assert (error.code, error.sql[error.start : error.end]) == ("extract", "minute(ts)")
    assert 'Cycle("minute(ts)", 60)' in error.remedy
    years = toy(Interval("year(ts)", 2020, 2030), columns={"user": "VARCHAR", "ts": "TIMESTAMP"})
    assert item("AVG(EXTRACT(YEAR FROM ts) - 2000) FROM t", years).expression == ex.col("year(ts)") - 2000
    months = toy(Categories("month(ts)", list(range(1, 13))), columns={"user": "VARCHAR", "ts": "TIMESTAMP"})
    july = ex.category_is(7, column="month(ts)")
    assert select("SHARE() FROM t WHERE EXTRACT(MONTH FROM ts) = 7", months).where == july
    assert select("EXTRACT(MONTH FROM ts) AS m, SHARE() FROM t GROUP BY EXTRACT(MONTH FROM ts)", months).columns == (
        "m",
        "share",
    )


# ------------------------------------------------ joins


RENTS = pl.DataFrame({"kind": ["b", "a", "zz"], "rent": [5, 2, 900], "area": ["north", "south", "gone"]})


def test_a_join_on_a_category_is_a_function_of_it() -> None:
    names = toy(Categories("kind", ["a", "b"]), Interval("x", 0, 1), public={"Rents": RENTS})
    expression = item("AVG(rents.rent * x) FROM t JOIN rents USING (kind)", names).expression
    assert expression is not None
    values = evaluate(expression, names.space, np.array([[0.0, 0.5], [1.0, 0.5]]))
    assert values.tolist() == [1.0, 2.5]
    assert ex.final_lipschitz(ex.analyse(expression, names.space), names.space) == 2 * 5
    assert select("AVG(x) FROM t JOIN Rents USING (kind)", names).where is None
    assert select("AVG(x) FROM t LEFT JOIN Rents ON RENTS.KIND = t.kind", names).where is None


def test_an_inner_join_leaves_out_what_has_no_row_and_a_left_join_refuses() -> None:
    names = toy(Categories("kind", ["a", "b", "c"]), Interval("x", 0, 1), public={"rents": RENTS})
    query = select("AVG(rent) FROM t JOIN rents USING (kind) WHERE x", names)
    assert query.where == ex.category_is("a", "b", column="kind") * ex.col("x")
    expression = query.items[0].expression
    assert expression is not None
    known = ex.analyse(expression, names.space)
    assert (known.low, known.high) == (2, 5)  # what a record has that weighs 0 does not widen the range
    error = refusal("AVG(rent) FROM t LEFT JOIN rents USING (kind)", names)
    assert (error.code, "values c of kind" in error.problem) == ("join-missing", True)
    nobody = toy(Categories("kind", ["x", "y"]), Interval("x", 0, 1), public={"rents": RENTS})
    assert refusal("AVG(rent) FROM t JOIN rents USING (kind)", nobody).code == "join-missing"


def test_a_neutral_item_that_is_no_value_is_left_out_by_a_join() -> None:
    names = toy(Embedding("kind", {"key": ["a", "b"], "x": [0.0, 1.0]}), public={"rents": RENTS})
    query = select("AVG(rent) FROM t JOIN rents USING (kind)", names)
    assert query.where == ex.category_is("a", "b", column="kind")
    error = refusal("AVG(rent) FROM t LEFT JOIN rents USING (kind)", names)
    assert (error.code, "neutral item" in error.problem) == ("join-missing", True)


@pytest.mark.parametrize(
    ("keys", "code"),
    [
        ([1, 2], None),
        ([1.0, 2.0], "join-types"),
        (["1", "2"], "join-types"),
        ([True, False], "join-types"),
        ([1, 2, 2], "join-many"),
        ([1, 2, 7, 7], None),
        ([1, 2, None, None], None),
        ([1], None),
    ],
)
def test_keys_are_of_one_type_and_come_once(keys: list[Any], code: str | None) -> None:
    frame = pl.DataFrame({"gate": keys, "x": [float(number) for number in range(len(keys))]})
    names = toy(Categories("gate", [1, 2]), public={"gates": frame})
    if code is None:
        assert item("AVG(x) FROM t JOIN gates USING (gate)", names).expression is not None
    else:
        assert refusal("AVG(x) FROM t JOIN gates USING (gate)", names).code == code


@pytest.mark.parametrize("keys", [["1", "2", "3"], [1, 2, 3], [3, 2, 1, 9]])
def test_a_join_on_the_user_gives_public_user_columns(keys: list[Any]) -> None:
    frame = pl.DataFrame({"who": keys, "town": [f"town {key}" for key in keys]})
    names = toy(Interval("x", 0, 1), user_frame=USERS, public={"homes": frame})
    query = select("town, AVG(x) FROM t JOIN homes ON t.user = homes.who WHERE town <> 'town 2' GROUP BY town", names)
    assert query.people is not None
    assert query.people.values == (("town 1",), ("town 3",))
    assert query.people.groups.keys.to_list() == ["1", "3"]
    assert query.people.columns == ("town",)


def test_a_join_on_the_user_must_leave_nobody_out() -> None:
    frame = pl.DataFrame({"user": ["1", "3", "9"], "town": ["york", "hull", "nowhere"]})
    names = toy(Interval("x", 0, 1), user_frame=USERS, public={"homes": frame})
    error = refusal("AVG(x) FROM t JOIN homes USING (user)", names)
    assert (error.code, "1 of 3 public users" in error.problem) == ("join-users-missing", True)
    query = select("town, AVG(x) FROM t LEFT JOIN homes USING (user) GROUP BY town", names)
    assert query.people is not None
    assert query.people.values == (("hull",), ("york",), (None,))
    twice = pl.concat([frame, frame])
    assert (
        refusal("AVG(x) FROM t LEFT JOIN homes USING (user)", replace(names, public={"homes": twice})).code
        == "join-many"
    )
    floats = frame.with_columns(pl.Series("user", [1.0, 3.0, 9.0]))
    names = replace(names, public={"homes": floats})
    assert refusal("AVG(x) FROM t LEFT JOIN homes USING (user)", names).code == "join-types"


def test_a_looked_up_number_is_lipschitz_in_clusters() -> None:
    space = Clusters("word", {"a": "p", "b": "p", "c": "q"}, 0.25)
    names = toy(space, public={"s": pl.DataFrame({"word": ["a", "b", "c"], "v": [0.0, 1.0, 3.0]})})
    expression = item("AVG(v) FROM t JOIN s USING (word)", names).expression
    assert expression is not None
    assert ex.final_lipschitz(ex.analyse(expression, space), space) == 4  # 1 over a distance of 0.25


def test_values_that_are_no_number_are_refused_by_name() -> None:
    frame = pl.DataFrame({"kind": ["a", "b"], "v": [1.0, float("nan")], "w": [1.0, None], "t": ["x", "y"]})
    names = toy(Categories("kind", ["a", "b"]), public={"s": frame})
    assert refusal("AVG(v) FROM t JOIN s USING (kind)", names).code == "expression"
    assert refusal("AVG(w) FROM t JOIN s USING (kind)", names).code == "lookup-null"
    assert refusal("AVG(s.t) FROM t JOIN s USING (kind)", names).code == "category-as-number"


# ------------------------------------------------ sub-queries


def test_a_sub_query_is_put_in_where_it_is_named(names: Names) -> None:
    inner = "SELECT price / 2 AS p, category AS c, ts, plan FROM visits v WHERE v.category <> 'bar' AND plan = 'pro'"
    query = select(f"AVG(q.p + DISTANCE(hour(ts), 3)) FROM ({inner}) AS q WHERE c <> 'park' GROUP BY plan", names)
    assert query.items[0].expression == ex.col("price") / 2 + ex.distance_to(3, column="hour(ts)")
    assert query.where == ex.category_is("cafe", "museum", column="category")
    assert query.people is not None
    assert (query.people.values, query.people.groups.sizes) == ((("pro",),), (2,))
    counted = select("COUNT(DISTINCT USER_ID) AS n FROM (SELECT user_id FROM visits WHERE plan = 'pro')", names)
    assert counted.items[0].kind == "users"


def test_with_names_sub_queries_and_may_hide_the_table(names: Names) -> None:
    named = "WITH visits AS (SELECT price AS p FROM visits), twice AS (SELECT 2 * p AS p FROM visits)"
    text = f"{named} {HEADER} AVG(p) FROM twice"
    assert item(text, names).expression == 2 * ex.col("price")
    error = refusal(f"WITH visits AS (SELECT price AS p FROM visits) {HEADER} AVG(price) FROM visits", names)
    assert error.code == "unknown-column"
    unused = f"WITH a AS (SELECT price AS p FROM visits WHERE price > 3) {HEADER} AVG(price) FROM visits"
    assert refusal(unused, names).code == "comparison"


def test_a_sub_query_may_join_and_be_joined(names: Names) -> None:
    inner = "SELECT v.*, rent FROM visits v JOIN kinds USING (category)"
    query = select(f"AVG(rent + floor) FROM ({inner}) AS q JOIN sites ON q.category = sites.category", names)
    assert query.where == ex.category_is("cafe", "bar", column="category")
    assert str(query.items[0].expression) == "rent + floor"


def test_a_sub_query_shows_its_own_columns_alone(names: Names) -> None:
    for text in (
        "AVG(price) FROM (SELECT price AS p FROM visits)",
        "AVG(visits.price) FROM (SELECT price FROM visits) q",
    ):
        assert refusal(text, names).code in ("unknown-column", "unknown-qualifier")
    error = refusal("AVG(p) FROM (SELECT 1 / price AS p, 2 AS q FROM visits)", names)
    assert error.sql[error.start : error.end] == "1 / price"


def test_two_groups_of_one_name_need_an_alias(names: Names) -> None:
    places = pl.DataFrame({"category": ["cafe", "bar", "museum", "park"], "plan": ["a", "b", "a", "b"]})
    names = replace(names, public={"places": places})
    text = "AVG(price) FROM visits v JOIN places p USING (category) GROUP BY v.plan, p.plan"
    error = refusal(text, names)
    assert (error.code, error.sql[error.start : error.end]) == ("duplicate-name", "p.plan")
    query = select(f"p.plan AS area, {text}", names)
    assert (query.columns, query.groups[0].values) == (("plan", "area", "avg"), ("a", "b"))
    assert refusal("plan AS user_id, AVG(price) FROM visits GROUP BY plan", names).code == "duplicate-name"


def test_columns_of_odd_types_are_refused() -> None:
    frame = USERS.with_columns(pl.Series("tags", [["a"], ["b"], []]))
    names = toy(Interval("x", 0, 1), user_frame=frame)
    assert refusal("AVG(x) FROM t WHERE tags = 'a'", names).code == "implicit-cast"
    assert refusal("AVG(x) FROM t WHERE tags", names).code == "no-condition"
    assert refusal("AVG(x) FROM t GROUP BY tags", names).code == "groups"
    lists = toy(Categories("kind", ["a"]), public={"s": pl.DataFrame({"kind": ["a"], "tags": [["b"]]})})
    assert refusal("SHARE() FROM t JOIN s USING (kind) WHERE tags = 'a'", lists).code == "implicit-cast"
    assert refusal("AVG(tags) FROM t JOIN s USING (kind)", lists).code == "category-as-number"
    assert refusal("SHARE() FROM t JOIN s USING (kind) GROUP BY tags", lists).code == "groups"
