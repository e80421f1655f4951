"""Quantiles, different values, and people under FILTER, from the text to the answer."""

import random
from collections.abc import Iterator
from pathlib import Path

import duckdb
import polars as pl
import pytest

import emdp
from emdp.base.errors import SqlError

HEADER = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 900.0, max_records_per_user = 10) "
VALUES = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 900.0, max_distinct_per_user = 10) "
PEOPLE = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 900.0) "


@pytest.fixture(scope="module")
def records() -> pl.DataFrame:
    chance = random.Random(9)
    rows = [
        {
            "u": user,
            "x": chance.uniform(0, 10) ** 2 / 10,
            "cat": chance.choice("abc"),
            "rating": chance.choice([1, 2, 3, 4, 5, None]),
            "title": chance.choice([*(f"title {place}" for place in range(30)), None]),
            "odd": chance.choice([0.5, -0.0, 0.0, float("nan"), None, float("inf")]),
        }
        for user in range(60)
        for _ in range(10)
    ]
    return pl.DataFrame(rows)


@pytest.fixture
def session(tmp_path: Path, records: pl.DataFrame) -> Iterator[emdp.Session]:
    space = emdp.Product(emdp.Categories("cat", ["a", "b", "c"]), emdp.Interval("x", 0, 10))
    table = emdp.read(records, user="u", space=space, users=60, name="t")
    budgets = [emdp.UserDP(1e9, 0.5), emdp.UserDP(1e9, 0.5, neighbours="remove")]
    with emdp.testing.seeded(3), emdp.Session(table, budget=budgets, ledger=tmp_path / "l") as opened:
        yield opened


STATEMENTS = [
    (HEADER, "MEDIAN(x) AS n FROM t", "quantile_disc(x, 0.5) AS n FROM t", 1e-3),
    (HEADER, "cat, QUANTILE(x, 0.4) AS n FROM t WHERE rating > 2 GROUP BY cat",
     "cat, quantile_disc(x, 0.4) AS n FROM t WHERE rating > 2 GROUP BY cat", 1e-3),
    (HEADER, "QUANTILE(CLAMP(rating, 0, 9), 0.3) AS n FROM t", "quantile_disc(rating, 0.3) AS n FROM t", 0),
    (HEADER, "MEDIAN(CLAMP(rating, 2, 4)) FILTER (WHERE x > 5) AS n FROM t",
     "quantile_disc(CASE WHEN rating > 0 THEN least(4, greatest(2, rating)) END, 0.5) "
     "FILTER (WHERE x > 5) AS n FROM t", 0),
    (VALUES, "COUNT(DISTINCT title) AS n FROM t", None, 0),
    (VALUES, "COUNT(DISTINCT LOWER(title)) FILTER (WHERE x > 8) AS n FROM t", None, 0),
    (VALUES, "cat, COUNT(DISTINCT rating) AS n FROM t GROUP BY cat", None, 0),
    (VALUES, "COUNT(DISTINCT odd) AS n FROM t", "COUNT(DISTINCT odd) FILTER (WHERE NOT isnan(odd)) AS n FROM t", 0),
    (PEOPLE, "COUNT(DISTINCT u) FILTER (WHERE x > 8 AND rating = 5) AS n FROM t", None, 0),
    (PEOPLE, "cat, COUNT(DISTINCT u) FILTER (WHERE title = 'title 3') AS n FROM t GROUP BY cat", None, 0),
]  # fmt: skip


@pytest.mark.quarter
@pytest.mark.parametrize(("header", "text", "plain", "error"), STATEMENTS)
def test_it_means_what_duckdb_makes_of_it(
    session: emdp.Session, records: pl.DataFrame, header: str, text: str, plain: str | None, error: float
) -> None:
    answer = session.sql(header + text)
    connection = duckdb.connect()
    connection.register("t", records)
    expected = pl.DataFrame(connection.sql(f"SELECT {plain or text}").to_arrow_table())
    found, shown = answer.exact_frame, answer.frame
    if "cat" in expected.columns:
        found, shown, expected = found.sort("cat"), shown.sort("cat"), expected.sort("cat")
        assert found.get_column("cat").to_list() == expected.get_column("cat").to_list()
    assert found.get_column("n").to_list() == pytest.approx(expected.get_column("n").to_list(), abs=error)
    # So much epsilon shows nearly that, within its interval.
    assert shown.get_column("n").to_list() == pytest.approx(expected.get_column("n").to_list(), abs=0.5)
    low, high = shown.get_column("n_low").fill_null(-1e9), shown.get_column("n_high").fill_null(1e9)
    assert (low <= found.get_column("n") + 1e-3).all()
    assert (high >= found.get_column("n") - 1e-3).all()


def test_all_of_a_statement_is_one_charge_with_its_columns_in_order(session: emdp.Session) -> None:
    text = (
        "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 50, max_records_per_user = 20, max_distinct_per_user = 5) "
        "MEDIAN(x) AS m, cat, COUNT(DISTINCT title) AS titles, AVG(x) AS a, COUNT(DISTINCT u) AS p, "
        "COUNT(DISTINCT u) FILTER (WHERE rating > 3) AS some FROM t GROUP BY cat ORDER BY a DESC LIMIT 2"
    )
    preview = str(session.preview(text))
    answer = session.sql(text)
    ends = [f"{name}{end}" for name in ("m", "titles", "a", "p", "some") for end in ("", "_low", "_high")]
    assert answer.frame.columns == [*ends[:3], "cat", *ends[3:]]
    assert len(answer.frame) == 2
    assert answer.frame.get_column("a").is_sorted(descending=True)
    assert len(session.history()) == 1
    assert session.spent().level == pytest.approx(50.0, rel=1e-12)
    assert session.spent().level <= 50.0
    assert "[epsilon 20]" in preview
    assert answer.interval(0.9, coverage="all").height == 10
    assert answer.interval(of="capped").get_column("high").is_not_null().all()


def test_levels_of_one_expression_are_released_together(session: emdp.Session) -> None:
    text = "QUANTILE(x, 0.9) AS high, MEDIAN(x) AS middle, QUANTILE(x, 0.1) AS low"
    preview = str(session.preview(f"{HEADER}{text} FROM t"))
    assert "3 levels in 2 rounds" in preview
    frame = session.sql(f"{HEADER}cat, {text}, COUNT(*) AS n FROM t GROUP BY cat").frame
    assert frame.columns[:2] == ["cat", "high"]
    assert (frame["low"] < frame["middle"]).all()
    assert (frame["middle"] < frame["high"]).all()
    assert (frame["middle_low"] <= frame["middle"]).all()
    assert "rounds" not in str(session.preview(f"{HEADER}MEDIAN(x) AS a, MEDIAN(CLAMP(x, 0, 5)) AS b FROM t"))


def test_intervals_of_a_quantile_beyond_what_was_released_are_the_range(session: emdp.Session) -> None:
    answer = session.sql(HEADER + "MEDIAN(x) AS m FROM t")
    wide = answer.interval(0.99).row(0, named=True)
    assert (wide["low"], wide["high"]) == (0.0, 10.0)
    near = answer.interval(0.5).row(0, named=True)
    assert 0.0 < near["low"] <= near["value"] <= near["high"] < 10.0


def test_by_removal_it_is_charged_as_removal(session: emdp.Session) -> None:
    text = PEOPLE.replace("900.0", "3, neighbours = 'remove', max_records_per_user = 9")
    answer = session.sql(text + "MEDIAN(x), COUNT(DISTINCT title) FROM t")
    assert answer.guarantee == emdp.UserDP(3.0, neighbours="remove")


def test_quantiles_that_weigh_users_equally_stay_what_they_were(session: emdp.Session) -> None:
    assert session.sql(PEOPLE + "QUANTILE(x, 0.5) FROM t").frame.columns[0] == "q"


REFUSED = [
    (HEADER, "QUANTILE(x, 0.1, 0.9) + 1 AS n FROM t", "argument-count", "QUANTILE(e, 0.25), QUANTILE(e, 0.75)"),
    (HEADER, "QUANTILE(x, 2) AS n FROM t", "level", "0.9"),
    (HEADER, "MEDIAN(title) AS n FROM t", "no-number", "TRY_CAST(title AS DOUBLE)"),
    (HEADER, "MEDIAN(rating) AS n FROM t", "range", "CLAMP(rating, 0, 100)"),
    (HEADER, "COUNT(DISTINCT title) AS n FROM t", "cap-unused", "leave"),
    (VALUES, "COUNT(DISTINCT u) FILTER (WHERE x > 3) AS n FROM t", "cap-unused", "leave"),
    (HEADER.replace("epsilon", "delta = 1e-9, max_groups_per_user = 3, epsilon"),
     "title, MEDIAN(x) AS n FROM t GROUP BY title", "listed-groups-alone", "list the groups"),
]  # fmt: skip


@pytest.mark.parametrize(("header", "text", "code", "remedy"), REFUSED)
def test_what_is_refused_says_what_to_write(
    session: emdp.Session, header: str, text: str, code: str, remedy: str
) -> None:
    with pytest.raises(SqlError) as caught:
        session.preview(header + text)
    assert caught.value.code == code
    assert remedy in caught.value.remedy
