"""Statements under USER_PRIVACY by keys that nobody listed, from the text to the answer."""

import datetime
import random
from collections.abc import Iterator
from pathlib import Path

import duckdb
import polars as pl
import pytest

import emdp
from emdp.base.errors import SqlError, UsageError

USERS = 400
HEADER = (
    "SELECT WITH USER_PRIVACY OPTIONS "
    "(epsilon = 100.0, delta = 1e-3, max_groups_per_user = 6, max_records_per_user = 1000) "
)
PEOPLE = HEADER.replace(", max_records_per_user = 1000", "")


@pytest.fixture(scope="module")
def records() -> pl.DataFrame:
    chance = random.Random(7)
    rows = []
    for user in range(USERS):
        for _ in range(6):
            title = chance.choice(["bar", "cafe", "Museum", "", None])
            rows.append(
                {
                    "u": user,
                    "x": chance.uniform(0, 10),
                    "cat": chance.choice("abc"),
                    "title": title if chance.random() < 0.98 else f"secret of {user}",
                    "level": chance.randrange(-2, 3),
                    "good": chance.random() < 0.5,
                    "day": datetime.date(2026, 1, chance.randrange(1, 6)),
                    "moment": datetime.datetime(2026, 1, chance.randrange(1, 4), 12, 30, 0, 250_000),
                }
            )
    return pl.DataFrame(rows)


@pytest.fixture
def session(tmp_path: Path, records: pl.DataFrame) -> Iterator[emdp.Session]:
    space = emdp.Product(emdp.Categories("cat", ["a", "b", "c"]), emdp.Interval("x", 0, 10))
    table = emdp.read(records, user="u", space=space, users=USERS, name="t")
    with (
        emdp.testing.seeded(3),
        emdp.Session(table, budget=emdp.UserDP(1e9, 0.5), ledger=tmp_path / "l") as opened,
    ):
        yield opened


STATEMENTS = [
    (PEOPLE, "title, COUNT(DISTINCT u) AS n FROM t GROUP BY title"),
    (HEADER, "title, COUNT(*) AS n FROM t GROUP BY title"),
    (HEADER, "level, SUM(x) AS n FROM t WHERE title LIKE '%a%' GROUP BY level"),
    (HEADER, "good, level, AVG(x) AS n FROM t GROUP BY good, level"),
    (HEADER, "day, COUNT(*) AS n FROM t GROUP BY day"),
    (HEADER, "moment, VARIANCE(x) AS n FROM t GROUP BY moment"),
    (HEADER, "cat, title, COUNT(*) AS n FROM t WHERE cat IN ('a', 'b') GROUP BY cat, title"),
    (HEADER, "LENGTH(title) AS k, COUNT(title) AS n FROM t GROUP BY k"),
    (HEADER, "EXTRACT(DAY FROM day) AS k, MOD(level, 2) AS m, COUNT(*) AS n FROM t GROUP BY 1, 2"),
]


@pytest.mark.quarter
@pytest.mark.parametrize(("header", "text"), STATEMENTS)
def test_groups_of_many_users_are_what_duckdb_makes_of_them(
    session: emdp.Session, records: pl.DataFrame, header: str, text: str
) -> None:
    found = session.sql(header + text).exact_frame
    connection = duckdb.connect()
    connection.register("t", records)
    plain = text.replace("VARIANCE", "VAR_POP").replace("AS n FROM", "AS n, COUNT(DISTINCT u) AS people FROM")
    expected = pl.DataFrame(connection.sql(f"SELECT {plain}").to_arrow_table())
    keys = [name for name in expected.columns if name not in ("n", "people")]
    # At such a price a group of so many is shown for sure.
    many = expected.filter(pl.col("people") > 20).sort(keys, nulls_last=False)
    shown = found.filter(pl.struct(keys).is_in(many.select(pl.struct(keys)).to_series().implode(), nulls_equal=True))
    shown = shown.sort(keys, nulls_last=False)
    assert shown.select(keys).rows() == many.select(keys).rows()
    assert [str(kind) for kind in shown.select(keys).dtypes] == [str(kind) for kind in many.select(keys).dtypes]
    assert shown.get_column("n").to_list() == pytest.approx(many.get_column("n").to_list(), rel=3e-5, abs=1e-3)


def test_what_one_user_has_is_not_shown(session: emdp.Session) -> None:
    text = (
        "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6, max_groups_per_user = 5) "
        "title, COUNT(DISTINCT u) AS people FROM t GROUP BY title ORDER BY people DESC"
    )
    answer = session.sql(text)
    assert answer.frame.columns == ["title", "people", "people_low", "people_high"]
    assert set(answer.frame.get_column("title")) == {"bar", "cafe", "Museum", "", None}
    assert answer.frame.get_column("people").is_sorted(descending=True)
    assert answer.frame.get_column("people_high").is_null().all()
    assert "secret" not in f"{answer} {answer.explain()} {answer.exact_frame} {session.history().rows()}"
    assert answer.interval(of="capped").get_column("high").is_not_null().all()
    with pytest.raises(UsageError, match="coverage"):
        answer.interval(coverage="all")


def test_a_mixed_statement_is_one_charge_and_says_how_many_people_a_group_needs(session: emdp.Session) -> None:
    text = (
        "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 2, delta = 1e-6, max_groups_per_user = 2, "
        "max_records_per_user = 10) title, COUNT(*) AS n, COUNT(DISTINCT u) AS people, AVG(x) FROM t GROUP BY title"
    )
    preview = str(session.preview(text))
    answer = session.sql(text)
    assert len(session.history()) == 1
    assert session.spent().level == pytest.approx(2.0, rel=1e-12)
    assert 0 < session.spent().delta <= 1e-6
    needed = answer.noise.people
    assert f"at least {needed}" in preview
    assert f"needs {needed} people" in preview
    assert all(value >= needed for value in answer.frame.get_column("people"))


def test_nothing_is_found_where_nobody_is_enough(session: emdp.Session) -> None:
    text = (
        "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 0.1, delta = 1e-9, max_groups_per_user = 5) "
        "title, day, COUNT(DISTINCT u) AS people FROM t GROUP BY title, day"
    )
    frame = session.sql(text).frame
    assert len(frame) == 0
    assert frame.schema["day"] == pl.Date


ALONE = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 20, delta = 1e-6, max_groups_per_user = 6) "


def test_groups_alone_may_be_none(session: emdp.Session) -> None:
    answer = session.sql(f"{PEOPLE} title FROM t WHERE x > 99 GROUP BY title")
    assert answer.frame.is_empty()
    assert answer.exact == {"title": []}


def test_groups_alone_are_found_by_their_weights(session: emdp.Session, records: pl.DataFrame) -> None:
    answer = session.sql(ALONE + "title, day FROM t WHERE level > -2 GROUP BY title, day ORDER BY day DESC, title")
    assert answer.frame.columns == ["title", "day"]
    assert answer.frame.schema["day"] == pl.Date
    common = {(title, day) for title in ("bar", "cafe", "Museum", "", None) for day in records["day"].unique()}
    assert set(answer.frame.rows()) == common
    assert answer.frame.get_column("day").is_sorted(descending=True)
    assert "secret" not in f"{answer} {answer.explain()} {session.history().rows()}"
    assert (session.spent().level, session.spent().delta) == (20.0, 1e-6)
    assert session.sql(ALONE.replace("20", "0.1") + "title FROM t GROUP BY 1").frame.is_empty()
    assert session.sql(ALONE + "LENGTH(title) FROM t GROUP BY 1 LIMIT 2").frame.columns == ["LENGTH(title)"]
    by_removal = ALONE.replace("delta", "neighbours = 'remove', delta") + "good FROM t GROUP BY good OR title = 'bar'"
    with pytest.raises(SqlError, match="GROUP BY"):
        session.preview(by_removal)


@pytest.mark.parametrize("text", ["cat FROM t GROUP BY cat", "DISTINCT title FROM t GROUP BY title", "title FROM t"])
def test_values_alone_that_are_no_open_groups_are_refused(session: emdp.Session, text: str) -> None:
    with pytest.raises(SqlError):
        session.preview(ALONE + text)


REFUSED = [
    ("epsilon = 1, max_groups_per_user = 3, max_records_per_user = 9", "title, COUNT(*)", "unlisted-groups", "delta"),
    ("epsilon = 1, delta = 1e-9, max_records_per_user = 9", "title, COUNT(*)", "unlisted-groups", "max_groups"),
    ("epsilon = 1, delta = 1e-9, max_groups_per_user = 3", "title, COUNT(*)", "plan", "max_records"),
    ("epsilon = 1, delta = 1e-9, max_groups_per_user = 3, max_records_per_user = 9", "x + 1 AS title, COUNT(*)",
     "double-key", "FLOOR"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "text", "code", "remedy"), REFUSED)
def test_what_is_refused_says_what_to_write(
    session: emdp.Session, options: str, text: str, code: str, remedy: str
) -> None:
    with pytest.raises(SqlError) as caught:
        session.preview(f"SELECT WITH USER_PRIVACY OPTIONS ({options}) {text} FROM t WHERE level > 0 GROUP BY 1")
    assert caught.value.code == code
    assert remedy in caught.value.remedy
