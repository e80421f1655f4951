"""Spellings that people type: VALUES in FROM, JOIN, WITH and IN, several levels of one quantile, ``cap = 'auto'``."""

import duckdb
import polars as pl
import pytest

import emdp
from emdp.base.errors import SqlError

HEADER = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 4e6, max_records_per_user = 1000) "
ZONES = pl.DataFrame({"cat": ["a", "b", "c"], "zone": ["z1", "z2", "z1"]})


@pytest.fixture
def zones() -> pl.DataFrame:
    return ZONES


LISTS = [
    "{h} k, COUNT(*) AS n FROM t JOIN (VALUES ('bar'), ('zoo')) AS keys(k) ON k = title GROUP BY k ORDER BY k",
    "{h} v, COUNT(*) AS n FROM t JOIN (VALUES (1, DATE '2020-01-01'), (-2, NULL)) kk(k, v) ON k = rating GROUP BY v",
    "{h} w, SUM(x) AS s FROM t JOIN (VALUES (1, 'few'), (2, 'few'), (5, 'many')) kk(k, w) ON rating = k GROUP BY w",
    "{h} title, COUNT(*) AS n FROM t WHERE title IN (VALUES ('bar'), ('zoo')) GROUP BY title ORDER BY title",
    "WITH kk(k, v) AS (VALUES ('bar', 1), ('zoo', 2)) {h} k, COUNT(*) AS n FROM t JOIN kk ON title = k GROUP BY k",
    "WITH kk(k, v) AS (VALUES ('bar', 1), ('zoo', 2)), a AS (SELECT k, COUNT(*) AS n FROM t JOIN kk ON title = k "
    "GROUP BY k) {h} kk.k, v, n FROM kk LEFT JOIN a ON a.k = kk.k ORDER BY v",
    "WITH a AS (SELECT cat, COUNT(*) AS n FROM t GROUP BY cat) "
    "{h} k, n FROM (VALUES ('a'), ('z')) v(k) LEFT JOIN a ON k = cat ORDER BY k",
    "{h} k, k + 1 AS m FROM (VALUES (1), (2)) v(k) ORDER BY k",
    "{h} COUNT(*) AS n FROM t, (VALUES (1.5), (2)) v(k) WHERE x < k",
    "{h} v.k, COUNT(*) AS n FROM (SELECT u, title FROM t WHERE x > 1) q JOIN (VALUES ('bar')) v(k) ON k = title "
    "GROUP BY v.k",
    # One name twice: each is what is nearest.
    "WITH kk(k) AS (VALUES ('bar')) {h} COUNT(*) AS n FROM (WITH kk(k) AS (VALUES ('zoo')) "
    "SELECT u FROM t JOIN kk ON title = k) q",
]


@pytest.mark.quarter
@pytest.mark.parametrize("text", LISTS, ids=range(len(LISTS)))
def test_lists_that_a_statement_writes_are_public_tables(
    session: emdp.Session, records: pl.DataFrame, text: str
) -> None:
    connection = duckdb.connect()
    connection.register("t", records)
    connection.register("zones", ZONES)
    wanted = sorted(connection.execute(text.replace("{h}", "SELECT ")).fetchall(), key=str)
    frame = session.sql(text.replace("{h}", HEADER)).frame
    own = frame.select([name for name in frame.columns if not name.endswith(("_low", "_high"))]).rows()
    found = [row for row in sorted(own, key=str) if not any(row) or row[-1] is None or abs(row[-1]) > 1e-2]
    for one, other in zip(found, wanted, strict=True):
        assert one == tuple(
            pytest.approx(float(value), rel=1e-3) if isinstance(value, int | float) else value for value in other
        )


def test_a_list_has_its_empty_groups(session: emdp.Session) -> None:
    text = "k, COUNT(*) AS n FROM t JOIN (VALUES ('bar'), ('nowhere')) AS keys(k) ON k = title GROUP BY k ORDER BY k"
    frame = session.sql(HEADER + text).frame
    assert frame["k"].to_list() == ["bar", "nowhere"]
    assert frame["n"][1] == pytest.approx(0, abs=0.1)


REFUSED = [
    ("COUNT(*) FROM t JOIN (VALUES (1), ('a')) v(k) ON k = rating", "values-types"),
    ("COUNT(*) FROM t JOIN (VALUES (1), (x)) v(k) ON k = rating", "values-literals"),
    ("COUNT(*) FROM t JOIN (VALUES (random())) v(k) ON k = rating", "values-literals"),
    ("COUNT(*) FROM t JOIN (VALUES ((SELECT MAX(x) FROM t))) v(k) ON k = rating", "values-literals"),
    ("COUNT(*) FROM t JOIN (VALUES (1), (2, 3)) v(k) ON k = rating", "values-shape"),
    ("COUNT(*) FROM t JOIN (VALUES (1, 3)) v(k, k) ON k = rating", "values-shape"),
    ("COUNT(*) FROM t WHERE rating IN (VALUES (1, 2))", "in-columns"),
    ("k, COUNT(*) FROM (VALUES ('a')) v(k) LEFT JOIN t ON k = cat GROUP BY k", "join-side"),
    ("COUNT(*) FROM t WHERE (rating, 1) = (1, 1)", "row"),
]


@pytest.mark.parametrize(("text", "code"), REFUSED)
def test_other_lists_are_refused(session: emdp.Session, text: str, code: str) -> None:
    with pytest.raises(SqlError) as caught:
        session.sql(HEADER + text)
    assert caught.value.code == code
    assert session.spent().level == 0.0


def test_values_have_no_place_under_the_metric(session: emdp.Session) -> None:
    with pytest.raises(SqlError) as caught:
        session.sql("SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(x) FROM t JOIN (VALUES ('a')) v(cat) USING (cat)")
    assert caught.value.code == "values"


@pytest.mark.slow
def test_levels_of_one_quantile_are_columns_of_one_release(session: emdp.Session) -> None:
    head = HEADER.replace("4e6", "200").replace("1000", "30")
    one = session.sql(head + "QUANTILE(x, 0.25, 0.5, 0.999) AS q FROM t")
    assert one.frame.columns[::3] == ["q_25", "q_50", "q_99_9"]
    assert one.frame["q_25"][0] <= one.frame["q_50"][0] <= one.frame["q_99_9"][0]
    apart = session.preview(
        head + "QUANTILE(x, 0.25) AS q_25, QUANTILE(x, 0.5) AS q_50, QUANTILE(x, 0.999) AS r FROM t"
    )
    asked = session.preview(head + "QUANTILE(x, 0.25, 0.5, 0.999) AS q FROM t")
    assert asked.frame["expected_error"].to_list() == apart.frame["expected_error"].to_list()
    grouped = session.sql(head + "cat, quantile(x, 0.1, 0.9) FILTER (WHERE x > 0), COUNT(*) AS n FROM t GROUP BY cat "
                          "ORDER BY quantile_10").frame  # fmt: skip
    assert [name for name in grouped.columns if "_low" not in name and "_high" not in name] == [
        "cat", "quantile_10", "quantile_90", "n"
    ]  # fmt: skip
    for text, code in (
        ("QUANTILE(x, 0.25, 1.5) AS q FROM t", "level"),
        ("QUANTILE(x, 0.5, 0.5) AS q FROM t", "duplicate-name"),
        ("QUANTILE(x, 0.25, 0.5) + 1 AS q FROM t", "argument-count"),
        ("QUANTILE(x, 0.25, rating) AS q FROM t", "argument-count"),
    ):
        with pytest.raises(SqlError) as caught:
            session.preview(head + text)
        assert caught.value.code == code


def test_an_automatic_cap_has_a_short_name(session: emdp.Session) -> None:
    text = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, {}) COUNT(*) AS n, AVG(x) AS m FROM t"
    columns = ["expected_error", "low", "high"]
    short, long = (
        session.preview(text.format(option)).frame.select(columns)
        for option in ("cap = 'auto'", "max_records_per_user = auto")
    )
    assert short.equals(long)
    for option, message in (
        ("cap = 50", "takes no other value; write max_records_per_user = 50"),
        ("cap = 'r2t'", "takes no other value"),
        ("cap", "lacks its value"),
        ("cap = 'auto', max_records_per_user = 5", "given twice"),
        ("max_records_per_group = 'auto'", "nothing here chooses it from the data"),
    ):
        with pytest.raises(SqlError, match=message):
            session.preview(text.format(option))
