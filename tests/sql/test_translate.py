"""Statements as a whole: items, names, groups, order, price, and what a guarantee or a cap does not allow."""

import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import emdp.expressions as ex
from emdp.base.errors import SqlError
from emdp.questions.names import Names
from emdp.questions.price import Price
from emdp.questions.select import FrequencyQuery, Grid, Order, QuantileQuery, Select
from emdp.spaces import Embedding, Interval
from emdp.sql import Translated, translate

EMD = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0)"
USER = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 0.5, delta = 1e-9)"
CAPPED = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 0.5, max_records_per_user = 7)"
HERE = Path(__file__).parent


def one(text: str, names: Names, header: str = EMD) -> Translated:
    (translated,) = translate(text if "OPTIONS" in text else f"{header} {text}", names)
    return translated


def select(text: str, names: Names, header: str = EMD) -> Select:
    query = one(text, names, header).query
    assert isinstance(query, Select)
    return query


def refusal(text: str, names: Names, header: str = EMD) -> SqlError:
    with pytest.raises(SqlError) as caught:
        one(text, names, header)
    return caught.value


# ------------------------------------------------ the two examples of design.md that resolve to a Select


def test_the_statement_of_design(spaces: dict[str, Names]) -> None:
    names = spaces["shops"]
    query = select(
        """SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1.0, delta = 1e-10)
       AVG(DISTANCE(POINT(40.7484, -73.9857)))                          AS km_to_midtown,
       AVG(RAMP(DISTANCE(POINT(40.7484, -73.9857)), 2, 1))              AS near_midtown     -- 1 within 1 km
FROM visits
GROUP BY category;""",
        names,
    )
    distance = ex.distance_to((40.7484, -73.9857), column=("lat", "lon"))
    assert [item.expression for item in query.items] == [distance, ex.ramp(distance, 2, 1)]
    assert [item.name for item in query.items] == ["km_to_midtown", "near_midtown"]
    assert query.items[0].text == "AVG(DISTANCE(POINT(40.7484, -73.9857)))"
    assert query.price == Price("alpha", 1.0, 1e-10)
    (group,) = query.groups
    assert (group.name, group.values) == ("category", ("cafe", "bar", "museum", "park"))
    assert group.axis.cells == (("cafe",), ("bar",), ("museum",), ("park",))
    assert (query.people, query.where, query.cap, query.columns, query.order) == (None, None, None, (), ())
    assert query.text.startswith("SELECT WITH")
    assert query.text.endswith("GROUP BY category")


def test_totals_under_a_cap(names: Names) -> None:
    items = "COUNT(*), SUM(price) AS s, AVG(price), STDDEV(price), COUNT(DISTINCT user_id) AS n"
    query = select(f"{items} FROM visits", names, CAPPED)
    assert [item.kind for item in query.items] == ["count", "sum", "avg", "stddev", "users"]
    assert [item.name for item in query.items] == ["count", "s", "avg", "stddev", "n"]
    assert (query.cap, query.price) == (7, Price("epsilon", 0.5))
    assert refusal("COUNT(*) FROM visits", names, USER).code == "cap-missing"
    assert refusal("COUNT(*) FROM visits", names).code == "total-under-emd"


def test_noise_is_passed_on(names: Names) -> None:
    header = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1, delta = 1e-9, noise = 'gaussian')"
    query = select("AVG(price) FROM visits", names, header)
    assert (query.price, query.noise) == (Price("alpha", 1.0, 1e-9), "gaussian")


# ------------------------------------------------ items and names


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ("AVG(price), AVG(price), VARIANCE(price), avg(lat)", ["avg", "avg_2", "variance", "avg_3"]),
        ("AVG(price) AS avg_2, AVG(lat), AVG(lon)", ["avg_2", "avg", "avg_3"]),
        ("AVG(price) \"AVG\", AVG(lat)", ["AVG", "avg_2"]),
        ("WEIGHT(AVG(price), 2), PART(lat)", ["avg", "part"]),
        ("COUNT(DISTINCT user_id), AVG(price)", ["count", "avg"]),
        ("STDDEV_POP(price), VAR_POP(price)", ["stddev_pop", "var_pop"]),
    ],
)  # fmt: skip
def test_columns_have_names(items: str, expected: list[str], names: Names) -> None:
    query = select(f"{items} FROM visits", names)
    assert [item.name for item in query.items] == expected


def test_kinds_and_weights(names: Names) -> None:
    query = select("WEIGHT(AVG(price), 2 ** 2), SHARE(), PART(price) FROM visits WHERE category = 'cafe'", names)
    assert [(item.kind, item.weight) for item in query.items] == [("avg", 4.0), ("share", 1.0), ("part", 1.0)]
    assert [item.expression for item in query.items] == [ex.col("price"), None, ex.col("price")]
    assert query.items[0].text == "WEIGHT(AVG(price), 2 ** 2)"


def test_a_default_name_avoids_a_group(spaces: dict[str, Names]) -> None:
    query = select("category AS avg, AVG(lat) FROM visits GROUP BY category", spaces["shops"])
    assert (query.groups[0].name, query.items[0].name, query.columns) == ("avg", "avg_2", ("avg", "avg_2"))


# ------------------------------------------------ groups and order


def test_groups_of_records_and_of_users(names: Names) -> None:
    query = select("plan, AVG(price) AS p, category AS kind FROM visits GROUP BY category, plan", names)
    assert [group.name for group in query.groups] == ["kind"]
    assert query.people is not None
    assert query.people.columns == ("plan",)
    assert query.people.values == (("free",), ("pro",), ("team",), (None,))
    assert query.columns == ("plan", "p", "kind")


@pytest.mark.parametrize(
    "text",
    [
        "category AS kind, AVG(price) FROM visits GROUP BY kind",
        "category AS kind, AVG(price) FROM visits GROUP BY 1",
        "category AS kind, AVG(price) FROM visits GROUP BY category, visits.category, CATEGORY",
        "category AS kind, AVG(price) FROM visits GROUP BY (category)",
    ],
)
def test_a_group_is_named_in_several_ways(text: str, names: Names) -> None:
    query = select(text, names)
    assert [group.name for group in query.groups] == ["kind"]
    assert query.columns == ("kind", "avg")


def test_a_group_that_is_not_selected_stands_first(names: Names) -> None:
    assert select("AVG(price) FROM visits GROUP BY category", names).columns == ()
    assert select("AVG(price), plan FROM visits GROUP BY category, plan", names).columns == ("category", "avg", "plan")
    renamed = select("AVG(price), CATEGORY FROM visits GROUP BY category", names)
    assert (renamed.groups[0].name, renamed.columns) == ("category", ("avg", "category"))


def test_a_joined_column_makes_groups_of_values(names: Names) -> None:
    (group,) = select("k.sector, AVG(price) FROM visits JOIN kinds k USING (category) GROUP BY 1", names).groups
    assert group.name == "sector"
    assert group.axis.column == "category"
    assert dict(zip(group.values, group.axis.cells, strict=True)) == {
        "culture": ("museum",), "food": ("cafe", "bar"), None: ("park",)
    }  # fmt: skip
    (group,) = select("floor, AVG(price) FROM visits JOIN sites USING (category) GROUP BY floor", names).groups
    assert dict(zip(group.values, group.axis.cells, strict=True)) == {0: ("cafe",), 2: ("bar",)}


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("ORDER BY p", Order("p")),
        ("ORDER BY P DESC", Order("p", True)),
        ("ORDER BY 2 DESC NULLS FIRST", Order("p", True, False)),
        ("ORDER BY p_low NULLS LAST", Order("p_low")),
        ("ORDER BY AVG(price) ASC NULLS FIRST", Order("p", False, False)),
        ("ORDER BY category", Order("category")),
        ("ORDER BY 1", Order("category")),
    ],
)
def test_order_is_that_of_the_answer(clause: str, expected: Order, names: Names) -> None:
    query = select(f"category, AVG(price) AS p FROM visits GROUP BY category {clause} LIMIT 2 OFFSET 1", names)
    assert (query.order, query.limit, query.offset) == ((expected,), 2, 1)


# ------------------------------------------------ frequencies and quantiles


def test_frequencies(names: Names, spaces: dict[str, Names]) -> None:
    query = one("FREQUENCY(GRID(0.5 * 2)) FROM visits", spaces["plain"]).query
    assert isinstance(query, FrequencyQuery)
    assert (query.cells, query.name, query.people) == (Grid(1.0), "frequency", None)
    cells = {
        "GRID(POINT(lat, lon), 2)": Grid(2.0, "lat"),
        "GRID(price, 5)": Grid(5.0, "price"),
        "GRID(EXTRACT(HOUR FROM ts), 1)": Grid(1.0, "hour(ts)"),
    }
    for text, expected in cells.items():
        query = one(f"FREQUENCY({text}) AS f FROM visits ORDER BY f DESC LIMIT 9", names).query
        assert isinstance(query, FrequencyQuery)
        assert (query.cells, query.name, query.order, query.limit) == (expected, "f", (Order("f", True),), 9)
    query = one("city, FREQUENCY(category) FROM visits WHERE plan = 'pro' GROUP BY city ORDER BY category", names).query
    assert isinstance(query, FrequencyQuery)
    assert query.people is not None
    assert (query.people.values, query.people.groups.sizes) == ((("york",),), (2,))


def test_a_list_of_values_that_is_too_long_is_refused_where_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emdp.questions.people.MOST_GROUPS", 100)
    words = [f"w{number}" for number in range(101)]
    space = Embedding("word", {"word": words, "x": [float(at) for at in range(101)]}, neutral="w0")
    kinds = pl.DataFrame({"word": words, "kind": [*["a", "b"] * 50, "a"]})
    names = Names("t", "u", space, {}, 10, None, {"kinds": kinds})
    for text in ("FREQUENCY(word) FROM t", "AVG(SIMILARITY('w1')) FROM t GROUP BY word"):
        error = refusal(text, names)
        assert (error.code, error.sql[error.start : error.end]) == ("groups", "word")
        if "FREQUENCY" in text:
            # Of the whole space there is a statement for any length.
            assert error.remedy == "write FREQUENCY(*)"
        else:
            assert "JOIN a public table that puts its values into fewer groups" in error.remedy
            assert "AVG(SIMILARITY(word, 'w0'))" in error.remedy


def test_quantiles(names: Names) -> None:
    query = one(
        "QUANTILE(price + 1, 0.9, 1 / 2) AS level FROM visits WHERE category = 'cafe' ORDER BY q DESC", names
    ).query
    assert isinstance(query, QuantileQuery)
    assert (query.levels, query.name, query.order) == ((0.9, 0.5), "level", (Order("q", True),))
    assert query.expression == ex.col("price") + 1
    assert query.where == ex.category_is("cafe", column="category")
    query = one("MEDIAN(price) FROM visits", names, USER).query
    assert isinstance(query, QuantileQuery)
    assert (query.levels, query.name, query.price) == ((0.5,), "median", Price("epsilon", 0.5, 1e-9))


# ------------------------------------------------ texts of several statements


def test_a_refusal_in_a_later_statement_underlines_that_one(names: Names) -> None:
    text = f"{EMD} AVG(price) FROM visits;\n\n{EMD} AVG(price) FROM visits WHERE\n  price > 3"
    error = refusal(text, names)
    assert text[error.start : error.end] == "price > 3"
    assert str(error).endswith("line 4 | price > 3\n       | ^^^^^^^^^")


@pytest.mark.slow
def test_every_accepted_statement_names_what_it_computes(spaces: dict[str, Names]) -> None:
    for path in sorted((HERE / "accepted").glob("*.sql")):
        lines = path.read_text(encoding="utf-8").split("\n")
        for translated in translate("\n".join(lines), spaces[lines[0].removeprefix("-- space: ")]):
            query = translated.query
            if isinstance(query, Select):
                assert all(item.text in translated.statement.text for item in query.items)
                assert len({item.name for item in query.items}) == len(query.items)


# ------------------------------------------------ nothing but refusals comes out


FRAGMENTS = [
    "AVG", "(", ")", "price", "lat", "category", "'cafe'", "1", "0.5", "+", "-", "*", "/", "**", ",", "DISTANCE",
    "POINT", "VECTOR", "[", "]", "CASE", "WHEN", "THEN", "ELSE", "END", "AND", "OR", "NOT", "IN", "BETWEEN", "IS",
    "NULL", "TRUE", "=", "<", "RAMP", "QUANTILE", "FREQUENCY", "GRID", "WHERE", "GROUP BY", "ORDER BY", "LIMIT",
    "JOIN kinds USING", "(category)", "FROM visits", "AS x", "COUNT(*)", "SHARE()", "plan", "user_id",
    "EXTRACT(HOUR FROM ts)", "COUNT(DISTINCT", "SUM", "WEIGHT", "sector", "rent", "FROM (SELECT", "note", "CAST(",
    "AS DOUBLE", "DATE '2025-01-01'", "joined"
]  # fmt: skip


def check_outcome(text: str, names: Names) -> None:
    """Translate a text; a refusal underlines a part of it and says what to write instead, nothing else is raised."""
    error = None
    try:
        translate(text, names)
    except SqlError as refused:
        error = refused
    if error is not None:
        assert 0 <= error.start <= error.end <= len(text)
        assert error.code
        assert error.remedy


@pytest.mark.slow
@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    pieces=st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=14), header=st.sampled_from([EMD, USER, CAPPED])
)
def test_any_text_is_translated_or_refused(pieces: list[str], header: str, names: Names) -> None:
    text = f"{header} {' '.join(pieces)} FROM visits"
    check_outcome(text, names)


@pytest.mark.slow
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_changed_statement_of_the_corpus_is_translated_or_refused(
    data: st.DataObject, spaces: dict[str, Names]
) -> None:
    path = data.draw(st.sampled_from(sorted((HERE / "accepted").glob("*.sql"))))
    lines = path.read_text(encoding="utf-8").split("\n")
    words = "\n".join(line for line in lines if not line.startswith("-- ")).split(" ")
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(words) - 1))
        words[place] = data.draw(st.sampled_from([*FRAGMENTS, "", words[-place]]))
    check_outcome(" ".join(words), spaces[lines[0].removeprefix("-- space: ")])


def test_a_statement_of_design_is_checked_fast(spaces: dict[str, Names]) -> None:
    distance = "DISTANCE(POINT(40.7484, -73.9857))"
    text = f"{EMD} AVG({distance}) AS km, AVG(RAMP({distance}, 2, 1)) AS near FROM visits GROUP BY category"
    spent = []
    for _ in range(30):
        start = time.process_time()
        translate(text, spaces["shops"])
        spent.append(time.process_time() - start)
    assert np.median(spent) < 0.05  # 6 ms where this was written; the bound only notices another order of magnitude


def test_names_need_no_listed_users_and_no_public_tables() -> None:
    names = Names("t", "u", Interval("x", 0, 1), {}, 10)
    query = select("AVG(x), COUNT(DISTINCT u) AS n FROM t", names)
    assert (query.people, [item.kind for item in query.items]) == (None, ["avg", "users"])
