"""WHERE: which users and records a condition chooses, by DuckDB's own evaluation; soft conditions; refusals."""

import datetime
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import emdp.expressions as ex
from emdp.base.errors import SqlError
from emdp.expressions import evaluate
from emdp.questions.names import Names
from emdp.questions.select import Select
from emdp.spaces import Categories, Embedding, Interval, Product
from emdp.sql import translate

HEADER = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)"
QUICK = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))

USERS = pl.DataFrame(
    {
        "user_id": [str(number) for number in range(12)],
        "plan": ["pro", "free", None, "team"] * 3,
        "age": [None, 18, 30, 45, 30, 64] * 2,
        "score": [-1.5, 0.0, None, 2.25] * 3,
        "is_staff": [True, False, None] * 4,
        "joined": [datetime.date(2025, month, 15) for month in range(1, 13)],
    }
)
KINDS = pl.DataFrame(
    {
        "kind": ["a", "b", "c", "d", "zz"],
        "sector": ["food", None, "fun", "food", "gone"],
        "seats": [5, 0, None, 40, 1],
        "rent": [1.5, None, 2.5, 0.0, 9.0],
        "is_open": [True, None, False, True, None],
    }
)
FEW = pl.DataFrame({"kind": ["d", "a"], "floor": [None, 3]})
NAMES = Names(
    "visits",
    "user_id",
    Product(Categories("kind", ["a", "b", "c", "d"]), Categories("gate", [1, 2, 3]), Interval("x", 0, 1)),
    {"user_id": "BIGINT", "kind": "VARCHAR", "gate": "INTEGER", "x": "DOUBLE"},
    len(USERS),
    USERS,
    {"kinds": KINDS, "few": FEW},
)


def selected(where: str, names: Names = NAMES, source: str = "visits") -> Select:
    (translated,) = translate(f"{HEADER} PART(1) AS a FROM {source} WHERE {where}", names)
    assert isinstance(translated.query, Select)
    return translated.query


def refusal(where: str, names: Names = NAMES, source: str = "visits") -> SqlError:
    with pytest.raises(SqlError) as caught:
        selected(where, names, source)
    return caught.value


@pytest.fixture(scope="module")
def engine() -> Any:
    connection = duckdb.connect(":memory:")
    for name, frame in (("users", USERS), ("kinds", KINDS), ("few", FEW)):
        connection.register(f"{name}_frame", frame.to_arrow())
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM {name}_frame")
    connection.execute("CREATE TABLE visits AS SELECT kind, gate FROM unnest(['a', 'b', 'c', 'd']) AS k(kind), "
                       "unnest([1, 2, 3]) AS g(gate)")  # fmt: skip
    yield connection
    connection.close()


# ------------------------------------------------ the same users and items as in DuckDB


@st.composite
def boolean(draw: st.DrawFn, leaves: list[str], depth: int = 3) -> str:
    form = draw(st.sampled_from(["leaf", "and", "or", "not", "bare"] if depth else ["leaf"]))
    inner = boolean(leaves, depth - 1)
    if form == "leaf":
        return draw(st.sampled_from(leaves))
    if form == "not":
        return f"NOT ({draw(inner)})"
    if form == "bare":  # precedence of AND over OR, of NOT over both
        return f"{draw(inner)} OR {draw(inner)} AND NOT {draw(st.sampled_from(leaves))}"
    return f"({draw(inner)} {form} {draw(inner)})"


USER_LEAVES = [
    "plan = 'pro'", "plan <> 'free'", "plan IN ('pro', 'team')", "plan NOT IN ('team')", "plan IS NULL", "age > 30",
    "age <= 30", "30 < age", "age BETWEEN 18 AND 45", "age NOT BETWEEN 18 AND 30", "age IS NOT NULL", "score >= 0",
    "score = 2.25", "score < -1", "is_staff", "is_staff = FALSE", "is_staff <> TRUE", "joined > DATE '2025-06-30'",
    "joined = DATE '2025-03-15'", "joined <= TIMESTAMP '2025-09-15 00:00:00'", "plan > 'free'", "age = 30.0",
]  # fmt: skip
ITEM_LEAVES = [
    "kind = 'a'", "kind <> 'b'", "'c' = kind", "kind IN ('a', 'd')", "kind NOT IN ('b', 'c')", "kind > 'b'",
    "kind BETWEEN 'b' AND 'c'", "sector = 'food'", "sector <> 'food'", "sector IS NULL", "sector IS NOT NULL",
    "sector IN ('fun')",
    "seats > 3", "seats <= 5", "5 > seats", "seats BETWEEN 0 AND 5", "rent = 2.5", "rent <> 1.5", "is_open",
    "is_open = FALSE", "NOT is_open", "floor = 3", "floor IS NULL", "floor <> 3", "gate = 2", "gate <> 1", "gate < 3",
    "gate IN (1, 3)", "2 <= gate", "gate > 0", "gate BETWEEN 2 AND 7",
]  # fmt: skip


@pytest.mark.slow
@QUICK
@given(where=boolean(USER_LEAVES))
def test_conditions_on_users_choose_those_that_duckdb_chooses(where: str, engine: Any) -> None:
    expected = [row[0] for row in engine.execute(f"SELECT user_id FROM users WHERE {where}").fetchall()]
    if not expected:
        assert refusal(where).code == "no-users"
        return
    query = selected(where)
    people = query.people
    chosen = USERS["user_id"].to_list() if people is None else people.groups.keys.to_list()
    assert sorted(chosen) == sorted(expected)
    assert query.where is None


@pytest.mark.slow
@QUICK
@given(where=boolean(ITEM_LEAVES), join=st.sampled_from(["JOIN", "JOIN", "LEFT JOIN"]))
def test_conditions_on_categories_choose_those_that_duckdb_chooses(where: str, join: str, engine: Any) -> None:
    source = f"visits {join} kinds USING (kind) JOIN few ON visits.kind = few.kind"
    clear = where.replace("kind ", "visits.kind ").replace("= kind", "= visits.kind")
    rows = engine.execute(f"SELECT visits.kind, gate FROM {source} WHERE {clear}").fetchall()
    if not rows:
        try:
            factor = selected(clear, source=source).where
        except SqlError as error:
            if error.code != "no-items":
                raise
            return
    else:
        factor = selected(clear, source=source).where
    assert factor is not None
    frame = {"kind": list("abcd") * 3, "gate": [1] * 4 + [2] * 4 + [3] * 4, "x": [0.0] * 12}
    values = evaluate(factor, NAMES.space, NAMES.space.encode(frame))
    assert set(values) <= {0.0, 1.0}
    chosen = {(kind, gate) for kind, gate, value in zip(frame["kind"], frame["gate"], values, strict=True) if value}
    assert chosen == set(rows)


# ------------------------------------------------ weights


x, is_a = ex.col("x"), ex.category_is("a", column="kind")
SOFT = [
    ("x", x),
    ("RAMP(x, 1, 0)", ex.ramp(x, 1, 0)),
    ("NOT x", 1 - x),
    ("x AND RAMP(x, 0, 2)", x * ex.ramp(x, 0, 2)),
    ("x OR RAMP(x, 0, 2)", 1 - (1 - x) * (1 - ex.ramp(x, 0, 2))),
    ("NOT (x OR RAMP(x, 0, 2))", (1 - x) * (1 - ex.ramp(x, 0, 2))),
    ("kind = 'a' AND x", is_a * x),
    ("kind = 'a' OR x", 1 - (1 - is_a) * (1 - x)),
    ("kind <> 'a'", ex.category_is("b", "c", "d", column="kind")),
    ("kind = 'a' AND x AND kind <> 'b'", is_a * x),
    ("kind = 'a' OR gate = 1", 1 - (1 - is_a) * (1 - ex.category_is(1, column="gate"))),
    ("plan = 'pro' AND x AND age > 20", x),
]


@pytest.mark.parametrize(("where", "expected"), SOFT)
def test_conditions_make_weights(where: str, expected: ex.Expression) -> None:
    factor = selected(where).where
    assert factor is not None
    rng = np.random.default_rng(3)
    items = np.column_stack([rng.integers(0, 4, 60), rng.integers(0, 3, 60), rng.uniform(size=60)]).astype(float)
    np.testing.assert_allclose(evaluate(factor, NAMES.space, items), evaluate(expected, NAMES.space, items), atol=1e-15)
    known = ex.analyse(factor, NAMES.space)
    assert 0 <= known.low <= known.high <= 1
    best = ex.final_lipschitz(ex.analyse(expected, NAMES.space), NAMES.space)
    assert ex.final_lipschitz(known, NAMES.space) <= best * (1 + 1e-12)


def test_an_unlisted_neutral_item_is_no_listed_value_and_is_among_the_others() -> None:
    vectors = {"word": ["red", "dog", "cat"], "x": [0.0, 1.0, 3.0]}
    names = Names("visits", "user_id", Embedding("word", vectors), {"word": "VARCHAR"}, 5)
    items = np.array([[0.0], [1.0], [2.0], [3.0]])
    cases = {
        "word = 'red'": [1, 0, 0, 0],
        "word <> 'red'": [0, 1, 1, 1],
        "NOT (word = 'red' OR word = 'dog')": [0, 0, 1, 1],
        "word IN ('red', 'dog', 'cat')": [1, 1, 1, 0],
        "NOT word IN ('red', 'dog', 'cat')": [0, 0, 0, 1],
    }
    for where, expected in cases.items():
        factor = selected(where, names).where
        assert factor is not None
        assert evaluate(factor, names.space, items).tolist() == expected, where
    assert refusal("word = 'red' AND word = 'dog'", names).code == "no-items"


def test_a_condition_that_everything_meets_weighs_everything_by_1() -> None:
    assert selected("kind IN ('a', 'b', 'c', 'd')").where == ex.lift(1)
    assert selected("kind = 'a' OR kind <> 'a'").where == ex.lift(1)
    assert selected("(kind = 'a' OR kind <> 'a') AND x").where == x


def test_a_large_vocabulary_is_named_from_its_smaller_side() -> None:
    words = [f"w{number}" for number in range(3000)]
    names = Names("visits", "user_id", Categories("word", words), {}, 5)
    factor = selected("word <> 'w5'", names).where
    assert str(factor) == "1 - category_is('w5', column='word')"
    assert refusal("word = 'w50000'", names).code == "unlisted-value"


# ------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("where", "suggested"),
    [
        ("price > 10", "RAMP(price, 5, 10)"),
        ("10 < price", "RAMP(price, 5, 10)"),
        ("price <= 7.5", "RAMP(price, 12.5, 7.5)"),
        ("NOT price < 3", "RAMP(price, 8, 3)"),
        ("price = 3", "RAMP(ABS(price - 3), 5, 0)"),
        ("price != 3", "1 - RAMP(ABS(price - 3), 5, 0)"),
        ("price BETWEEN 10 AND 20", "RAMP(price, 5, 10) * RAMP(price, 25, 20)"),
        ("DISTANCE(POINT(40.7484, -73.9857)) < 1", "RAMP(DISTANCE(POINT(40.7484, -73.9857)), 3, 1)"),
        ("EXTRACT(HOUR FROM ts) BETWEEN 7 AND 9", "RAMP(DISTANCE(EXTRACT(HOUR FROM ts), 8), 2, 1)"),
        ("lat > 40.7", "RAMP(lat, 40.68, 40.7)"),
        ("price > lat", "RAMP(price - (lat), -1, 0)"),
    ],
)
def test_a_threshold_is_refused_with_a_slope_that_is_accepted(where: str, suggested: str, names: Names) -> None:
    error = refusal(where, names)
    assert error.code == "comparison"
    assert error.remedy.endswith(f"such as {suggested}")
    assert selected(suggested, names).where is not None


def test_a_threshold_in_case_is_refused_with_a_blend_that_is_accepted(names: Names) -> None:
    with pytest.raises(SqlError) as caught:
        translate(f"{HEADER} AVG(CASE WHEN price > 10 THEN lat ELSE 2 END) FROM visits", names)
    blend = caught.value.remedy.split("as in ")[1].replace(" a ", " lat ").replace("* b", "* 2")
    assert translate(f"{HEADER} AVG({blend}) FROM visits", names)


def test_users_that_are_public_by_number_alone_have_no_columns() -> None:
    names = Names("visits", "user_id", NAMES.space, NAMES.columns, 12)
    assert refusal("plan = 'pro'", names).code == "unknown-column"
    with pytest.raises(SqlError, match="only their number is public"):
        selected("income > 3", Names("visits", "user_id", NAMES.space, NAMES.columns, 12, None, {"d": USERS}),
                 "visits JOIN d USING (user_id)")  # fmt: skip


@pytest.mark.parametrize("types", [pl.Categorical, pl.Enum(["free", "pro", "team"])])
def test_columns_of_listed_texts_compare_as_texts(types: Any) -> None:
    names = Names("visits", "user_id", NAMES.space, NAMES.columns, 12, USERS.with_columns(pl.col("plan").cast(types)))
    people = selected("plan = 'pro' OR plan IS NULL", names).people
    assert people is not None
    assert people.groups.keys.to_list() == ["0", "2", "4", "6", "8", "10"]
    assert refusal("plan = 'prro'", names).remedy == "write 'pro'"


def test_decimals_and_times_compare_by_value() -> None:
    import decimal

    frame = USERS.select("user_id").with_columns(
        pl.Series("fee", [decimal.Decimal(number) / 10 for number in range(12)]),
        pl.Series("seen", [datetime.datetime(2025, 1, 1, hour) for hour in range(12)]),
        pl.Series("zoned", [datetime.datetime(2025, 1, 1)] * 12, dtype=pl.Datetime(time_zone="UTC")),
    )
    names = Names("visits", "user_id", NAMES.space, NAMES.columns, 12, frame)
    people = selected("fee = 0.3 OR seen >= TIMESTAMP '2025-01-01 11:00:00'", names).people
    assert people is not None
    assert people.groups.keys.to_list() == ["3", "11"]
    assert refusal("zoned > DATE '2025-01-01'", names).code == "implicit-cast"


@pytest.mark.parametrize(
    ("where", "keys"),
    [
        ("size < 300", ["0", "2"]),
        ("size > -5", ["0", "2"]),
        ("size = 3.0", ["0"]),
        ("wide <= 9223372036854775807", ["0", "1"]),
    ],
)
def test_a_literal_may_be_larger_than_its_column_holds(where: str, keys: list[str]) -> None:
    frame = pl.DataFrame(
        {
            "user_id": ["0", "1", "2"],
            "size": pl.Series([3, None, 255], dtype=pl.UInt8),
            "wide": pl.Series([0, 2**63 - 1, 2**64 - 1], dtype=pl.UInt64),
        }
    )
    people = selected(where, Names("visits", "user_id", NAMES.space, NAMES.columns, 3, frame)).people
    assert people is not None
    assert people.groups.keys.to_list() == keys
