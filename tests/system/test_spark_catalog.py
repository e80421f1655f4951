"""A catalog whose tables are of Spark: the command line and reports on it, from the file to the answer."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import emdp
from emdp.base.errors import UsageError
from emdp.cli import main

CATALOG = """
ledger = "city.ledger"
[tables.visits]
source = "spark::city_of_tests.visits"
version = "2026-W47"
user = "user_id"
users = 3
space = { kind = "interval", col = "x", low = 0, high = 1, on_invalid = "clamp" }
budget = { alpha = 1000.0 }
protect = [{ fraction = 0.5, distance = 0.1, epsilon = 0.2 }]
[public.stops]
source = "spark::stops_of_tests"
"""

REPORT = """
title = "How far"
catalog = "emdp.toml"
[[entry]]
title = "The mean"
query = "MEAN"
"""

MEAN = "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 100) AVG(x) AS m FROM visits"
EXACT = (0.5 + 1 + 0.5) / 3
"""Of 0.25 and 0.75, of 2, which is clamped, and of the neutral item."""


@pytest.fixture
def place(spark: Any, in_short: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    frame = spark.createDataFrame([(1, 0.25), (1, 0.75), (2, 2.0)], "user_id INT, x DOUBLE")
    frame.write.parquet(str(tmp_path / "rows"))
    spark.sql(f"CREATE DATABASE city_of_tests LOCATION '{tmp_path}/database'")
    spark.sql(f"CREATE TABLE city_of_tests.visits USING parquet LOCATION '{tmp_path}/rows'")
    spark.createDataFrame([("a", 1.0)], "stop STRING, price DOUBLE").createTempView("stops_of_tests")
    (tmp_path / "emdp.toml").write_text(CATALOG)
    (tmp_path / "how_far.toml").write_text(REPORT.replace("MEAN", MEAN))
    yield tmp_path
    spark.catalog.dropTempView("stops_of_tests")
    spark.sql("DROP DATABASE city_of_tests CASCADE")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    out, err = capsys.readouterr()
    return int(caught.value.code or 0), out, err


@pytest.mark.slow
def test_the_command_line_asks_spark(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    for command in ("check", "preview"):
        status, out, err = run(capsys, command, MEAN)
        assert status == 0, err
        assert "lipschitz" in out
        assert "note: work: engine Spark, stages 3, shuffle at most 3 users x P x 56 bytes" in err
    assert not (place / "city.ledger").exists()
    status, out, err = run(capsys, "query", MEAN, "--csv", "answer.csv")
    assert status == 0, err
    (mean,) = pl.read_csv("answer.csv")["m"].to_list()
    # Noise of scale 1/300 is farther off with probability e**-30.
    assert abs(mean - EXACT) < 0.1
    status, out, err = run(capsys, "report", "how_far.toml", "--out", "pages")
    assert status == 0, err
    assert (place / "pages" / "index.html").exists()
    assert not (place / "spark").exists()


def test_a_list_of_users_may_be_a_table_of_spark(spark: Any, capsys: pytest.CaptureFixture[str], place: Path) -> None:
    spark.createDataFrame([(user,) for user in range(1, 4)], "user_id INT").createTempView("people_of_tests")
    try:
        text = CATALOG.replace("users = 3", 'users = "spark::people_of_tests"')
        (place / "emdp.toml").write_text(text)
        assert emdp.load_catalog("emdp.toml").table().users.count == 3
        # The private rows themselves are no public list.
        (place / "emdp.toml").write_text(text.replace("people_of_tests", "city_of_tests.visits"))
        status, _, err = run(capsys, "check", MEAN)
        assert status == 2
        assert "read off the table itself" in err
    finally:
        spark.catalog.dropTempView("people_of_tests")


def test_a_table_that_is_gone_costs_nothing(spark: Any, capsys: pytest.CaptureFixture[str], place: Path) -> None:
    spark.sql("DROP TABLE city_of_tests.visits")
    status, _, err = run(capsys, "query", MEAN)
    assert status == 2
    assert "no table or view 'city_of_tests.visits'" in err
    assert not (place / "city.ledger").exists()


def test_a_catalog_leaves_names_of_spark_alone(place: Path) -> None:
    catalog = emdp.load_catalog("emdp.toml")
    assert catalog.table().source.table == "city_of_tests.visits"
    assert catalog.public()["stops"].rows() == [("a", 1.0)]
    assert not any("spark" in path for path in catalog.paths())


@pytest.mark.parametrize(
    ("source", "public", "is_refused"),
    [
        ("spark::city.visits", "spark::city.visits", True),
        ("spark::city.visits", "spark::CITY.Visits", True),
        ("spark::visits_{period}", "spark::visits_2026", True),
        ("spark::city.visits_{period}", "spark::visits_2026", True),
        ("spark::visits_{period}", "spark::city.visits_2026", True),
        ("spark::week_{period}.visits", "spark::week_1.visits", True),
        ("spark::week_{period}.visits", "spark::year_1.visits", False),
        ("spark::visits_{period}", "spark::stops", False),
        ("spark::visits_{period}", "visits_2026.csv", False),
        ("city.duckdb::visits_{period}", "spark::visits_2026", False),
    ],
)
def test_a_period_of_a_private_table_is_no_list_of_users(
    spark: Any, place: Path, source: str, public: str, is_refused: bool
) -> None:
    text = CATALOG.replace("spark::city_of_tests.visits", source).replace("users = 3", f'users = "{public}"')
    if "{" in source:
        text = text.replace("users =", "elsewhere = 1\nusers =")
    (place / "emdp.toml").write_text(text)
    with pytest.raises(UsageError) as caught:
        emdp.load_catalog("emdp.toml").table(period="2026" if "{" in source else None)
    assert ("read off the table itself" in str(caught.value)) == is_refused
