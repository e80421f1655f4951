"""One meaning for each aggregate, whatever stands beside it: all users, and means."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import emdp

HEADER = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = {}) "


@pytest.fixture
def session(tmp_path: Path) -> Iterator[emdp.Session]:
    # Forty of eighty users have records: half of them two, half eleven.
    rows = [(user, x) for user in range(40) for x in ([1.0, 2.0] if user % 2 else [3.0] + [9.0] * 10)]
    records = pl.DataFrame(rows, schema=["u", "x"], orient="row").with_columns(word=pl.col("x").cast(pl.String))
    table = emdp.read(records, user="u", space=emdp.Interval("x", 0, 10), users=80, name="t")
    with (
        emdp.testing.seeded(5),
        emdp.Session(table, budget=emdp.UserDP(1e9), ledger=tmp_path / "l") as made,
    ):
        yield made


@pytest.mark.quarter
@pytest.mark.parametrize(
    "text",
    [
        "COUNT(DISTINCT u) AS n FROM t",
        "COUNT(DISTINCT u) AS n, AVG(x) AS m FROM t",
        "COUNT(DISTINCT u) AS n, COUNT(*) AS k FROM t",
        "COUNT(DISTINCT word) AS k, COUNT(DISTINCT u) AS n FROM t",
        "COUNT(*) / COUNT(DISTINCT u) AS each, COUNT(DISTINCT u) AS n FROM t HAVING COUNT(DISTINCT u) > 79",
    ],
)
def test_all_users_are_their_public_number_beside_anything(session: emdp.Session, text: str) -> None:
    # Of eighty who are listed forty have records.
    answer = session.sql(HEADER.format(1) + text)
    row = answer.frame.row(0, named=True)
    assert row["n"] == row["n_low"] == row["n_high"] == 80
    assert answer.exact["n"] == 80
    planned = session.preview(HEADER.format(1) + text).frame.filter(pl.col("query") == "n")
    assert planned["expected_error"].to_list() == [0.0]
    if "each" in text:
        assert answer.frame["each"][0] == pytest.approx(260 / 80, abs=20)


def test_users_who_fit_are_counted_with_noise(session: emdp.Session) -> None:
    for text in ("COUNT(DISTINCT u) AS n FROM t WHERE x > 0", "COUNT(DISTINCT u) FILTER (WHERE x > 0) AS n FROM t"):
        answer = session.sql(HEADER.format("1e6") + text)
        assert answer.frame["n"][0] == pytest.approx(40, abs=0.1)
        assert answer.frame["n"][0] != 40
    by_removal = HEADER.format("100, neighbours = 'remove'") + "COUNT(DISTINCT u) AS n, COUNT(*) AS k FROM t"
    assert session.preview(by_removal).frame["expected_error"].min() > 0


def test_a_mean_says_what_it_weighs(session: emdp.Session) -> None:
    users = session.sql(HEADER.format(1000) + "AVG(x) AS m FROM t").exact["m"]
    beside = session.sql(HEADER.format(1000) + "AVG(x) AS m, COUNT(*) AS k FROM t")
    # Of users 1.5, about 8.5 and, without records, twice the middle of the range; of records 96/13, whatever the cap
    assert users == pytest.approx(5, abs=0.1)
    assert beside.exact["m"] == pytest.approx(96 / 13, abs=1.5)
    assert "means here are over records" in beside.explain()
    alone = session.sql(HEADER.format("1000, max_records_per_user = 20") + "AVG(x) AS m FROM t")
    assert alone.exact["m"] == pytest.approx(96 / 13, abs=1e-3)
    assert "means here are over records" not in alone.explain()
