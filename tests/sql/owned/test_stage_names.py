"""Names of WITH are lexical, values have one row before anything is charged, the public number of users is no stage."""

import duckdb
import polars as pl
import pytest

import emdp
from emdp.base.errors import SqlError

HEADER = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 4e6, max_records_per_user = 1000) "
ZONES = pl.DataFrame({"cat": ["a", "b", "c", "a"], "zone": ["z1", "z2", "z1", "z3"], "size": [1, 2, None, 4]})


@pytest.fixture
def zones() -> pl.DataFrame:
    return ZONES


def found(session: emdp.Session, text: str) -> list[tuple[object, ...]]:
    frame = session.sql(text.replace("{h}", HEADER)).frame
    return sorted(frame.select(pl.col([name for name in frame.columns if "_" not in name])).rows(), key=str)


def truth(text: str, records: pl.DataFrame) -> list[tuple[object, ...]]:
    connection = duckdb.connect()
    connection.register("t", records)
    connection.register("zones", ZONES)
    return sorted(connection.execute(text.replace("{h}", "SELECT ")).fetchall(), key=str)


LEXICAL = [
    # An inner name is for what is inside it, and for nothing that is read there and was written before.
    "WITH a AS (SELECT COUNT(*) AS n FROM t), b AS (SELECT n FROM a) "
    "{h} n FROM (WITH a AS (SELECT COUNT(*) AS n FROM t WHERE x > 5) SELECT n FROM b) q",
    "WITH a AS (SELECT u, x FROM t WHERE x > 5), b AS (SELECT u, x FROM a) "
    "{h} COUNT(*) AS n FROM (WITH a AS (SELECT u, x FROM t WHERE x < 1) SELECT u, x FROM b) q",
    "WITH a AS (SELECT u, x FROM t WHERE x > 5) "
    "{h} COUNT(*) AS n FROM (WITH a AS (SELECT u, x FROM a WHERE x < 7) SELECT u, x FROM a) q",
    "WITH a AS (SELECT cat, COUNT(*) AS n FROM t GROUP BY cat) "
    "{h} cat, n FROM (WITH a AS (SELECT cat, n * 2 AS n FROM a) SELECT cat, n FROM a) q",
    # A table's name in its own sub-query is the table.
    "WITH t AS (SELECT u, x FROM t WHERE x > 5) {h} COUNT(*) AS n FROM t",
    "WITH zones AS (SELECT zone FROM zones WHERE size > 1) {h} zone FROM zones",
    "WITH zones AS (SELECT COUNT(*) AS n FROM t), a AS (SELECT n FROM zones) {h} n FROM a",
]


@pytest.mark.quarter
@pytest.mark.parametrize("text", LEXICAL, ids=range(len(LEXICAL)))
def test_names_of_with_are_lexical(session: emdp.Session, records: pl.DataFrame, text: str) -> None:
    for own, wanted in zip(found(session, text), truth(text, records), strict=True):
        assert own == tuple(
            pytest.approx(value, rel=1e-3) if isinstance(value, int | float) else value for value in wanted
        )


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("WITH a AS (SELECT n FROM b), b AS (SELECT COUNT(*) AS n FROM t) {h} n FROM a", "unknown-table"),
        ("WITH a AS (SELECT COUNT(*) AS n FROM t), A AS (SELECT COUNT(*) AS n FROM t) {h} n FROM a", "duplicate-name"),
    ],
)
def test_a_name_is_known_after_it_is_written_and_once(session: emdp.Session, text: str, code: str) -> None:
    with pytest.raises(SqlError) as caught:
        session.sql(text.replace("{h}", HEADER))
    assert caught.value.code == code


BY_CAT = "WITH a AS (SELECT cat, COUNT(*) AS n FROM t GROUP BY cat) "

SEVERAL = [
    "{h} COUNT(*) AS n FROM t WHERE x > (SELECT size FROM zones)",
    "{h} COUNT(*) AS n FROM t WHERE x > (SELECT size FROM zones UNION ALL SELECT 3 AS size FROM zones)",
    "{h} SUM(CLAMP(x - (SELECT size FROM zones), -5, 5)) AS s FROM t",
    BY_CAT + "{h} COUNT(*) AS m FROM t WHERE x > (SELECT n FROM a)",
    BY_CAT + "{h} COUNT(*) AS m FROM t WHERE x > (SELECT n FROM a WHERE n > 100)",
    BY_CAT + "{h} cat, n FROM a WHERE n = (SELECT n FROM a)",
    BY_CAT + "{h} cat, (SELECT size FROM zones WHERE cat < 'c') AS s FROM a",
    BY_CAT + "{h} cat, (SELECT size FROM zones WHERE zones.cat = a.cat) AS s FROM a",
    BY_CAT + "{h} cat, (SELECT n FROM (SELECT n FROM a) b) AS s FROM a",
]


@pytest.mark.quarter
@pytest.mark.parametrize("text", SEVERAL, ids=range(len(SEVERAL)))
def test_a_value_that_may_have_several_rows_is_refused_before_the_charge(session: emdp.Session, text: str) -> None:
    for ask in (session.preview, session.sql):
        with pytest.raises(SqlError) as caught:
            ask(text.replace("{h}", HEADER))
        assert caught.value.code == "scalar-rows"
        assert "MAX(e)" in caught.value.remedy
    assert session.spent().level == 0.0
    assert len(session.history()) == 0


SINGLE = [
    "{h} COUNT(*) AS n FROM t WHERE x > (SELECT size FROM zones WHERE cat = 'b')",
    "{h} COUNT(*) AS n FROM t WHERE x > (SELECT MAX(size) FROM zones)",
    "{h} COUNT(*) AS n FROM t WHERE x > (SELECT size FROM zones ORDER BY size DESC NULLS LAST LIMIT 1)",
    "WITH k AS (SELECT AVG(x) AS m FROM t) {h} COUNT(*) AS n FROM t WHERE x > (SELECT m FROM k)",
    "WITH k AS (SELECT AVG(x) AS m FROM t), j AS (SELECT m FROM k) "
    "{h} COUNT(*) AS n FROM t WHERE x > (SELECT j.m FROM j CROSS JOIN k)",
    BY_CAT + "{h} cat, n FROM a WHERE n = (SELECT n FROM a ORDER BY n DESC LIMIT 1)",
    BY_CAT + "{h} cat, (SELECT size FROM zones WHERE cat = 'b') AS s FROM a",
    BY_CAT + "{h} cat, (SELECT MAX(size) FROM zones WHERE zones.cat = a.cat) AS s FROM a",
    # Nothing is charged for public tables alone, and their rows are known.
    "{h} zone, (SELECT MIN(size) FROM zones) AS s FROM zones",
]


@pytest.mark.quarter
@pytest.mark.parametrize("text", SINGLE, ids=range(len(SINGLE)))
def test_a_value_that_has_one_row_is_answered(session: emdp.Session, records: pl.DataFrame, text: str) -> None:
    for own, wanted in zip(found(session, text), truth(text, records), strict=True):
        assert own == tuple(
            pytest.approx(value, rel=1e-2) if isinstance(value, int | float) else value for value in wanted
        )


PUBLIC = [
    ("WITH a AS (SELECT COUNT(DISTINCT u) AS n FROM t) {h} n * 2 AS m FROM a", 40.0, 0.0),
    ("{h} COUNT(DISTINCT u) + 1 AS m FROM t", 21.0, 0.0),
    ("{h} COUNT(DISTINCT t.u) AS m, zone FROM t", None, None),
    (
        "WITH a AS (SELECT COUNT(DISTINCT u) AS n FROM t), b AS (SELECT COUNT(*) AS m FROM t) "
        "{h} m / n AS r FROM a CROSS JOIN b",
        15.0,
        4e6,
    ),
    ("{h} COUNT(*) AS n FROM t WHERE 0.0 * x < (SELECT COUNT(DISTINCT u) FROM t)", 300.0, 4e6),
]


@pytest.mark.quarter
@pytest.mark.parametrize(("text", "value", "level"), PUBLIC)
def test_the_number_of_all_users_is_public_in_a_sub_query_too(
    session: emdp.Session, text: str, value: float | None, level: float | None
) -> None:
    own = text.replace("{h}", HEADER)
    if value is None:
        with pytest.raises(SqlError):
            session.sql(own)
        return
    assert session.sql(own).frame.row(0)[0] == pytest.approx(value, rel=1e-3)
    assert session.spent().level == pytest.approx(level)


def test_the_public_number_with_more_says_that_it_is_public(session: emdp.Session) -> None:
    text = f"WITH a AS (SELECT COUNT(DISTINCT u) AS n FROM t ORDER BY n) {HEADER} n FROM a"
    with pytest.raises(SqlError, match=r"the number of all users is public \(20\)") as caught:
        session.sql(text)
    assert caught.value.code == "public-number"
    # By removal the number of users is private: a count of people, with noise.
    removal = HEADER.replace(", max_records_per_user = 1000", ", neighbours = 'remove'").replace("4e6", "5.0")
    answer = session.sql(f"WITH a AS (SELECT COUNT(DISTINCT u) AS n FROM t) {removal} n FROM a")
    assert answer.guarantee.level == pytest.approx(5.0)
    assert not float(answer.frame.item()).is_integer()


def test_a_preview_of_a_ratio_assumes_the_cap_that_it_says(session: emdp.Session) -> None:
    head = HEADER.replace("4e6, max_records_per_user = 1000", "1.0")
    preview = session.preview(head + "COUNT(*) / COUNT(DISTINCT u) AS r FROM t WHERE x > 5")
    (row,) = preview.frame.rows(named=True)
    assert "errors if the cap is 100" in preview.explain()
    # Noise of scale 222 and 2.2 on 1,000 records of 10 users.
    assert row["expected_error"] == pytest.approx(222.2 / 10 + 100 * 2.222 / 10, rel=0.2)
