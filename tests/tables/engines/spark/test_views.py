"""Views of rows over a table of Spark: the rows that the same view has on DuckDB."""

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import emdp
from emdp.base.errors import DataRuleError, UsageError
from emdp.catalog.catalog import Catalog, load_catalog
from emdp.sql.views import read_view
from emdp.tables.public import is_same_source
from emdp.tables.source import open_source
from emdp.tables.views import source_kinds, view_source

ROWS = pl.DataFrame(
    {
        "who": ["Ann", "ann", "BEN", "Ben", None, "Cy", "Test", "Dan"],
        "amount": ["5", None, "abc", "1e999", "7", "4", "9", " 2.5"],
        "at": [None, *(dt.datetime(2024, 1, 1, 23, place, 5, 7) for place in range(6)), dt.datetime(1960, 2, 3)],
        "day": [dt.date(2024, 2, place + 1) for place in range(7)] + [dt.date(1969, 12, 31)],
        "price": pl.Series(["1.25", "0.1", None, "-3", "2", "2", "9", "99.99"]).cast(pl.Decimal(9, 2)),
        "n": pl.Series([1, 2, 3, 4, 5, None, 7, 2**31 - 1], dtype=pl.Int32),
    }
)
VIEW = (
    'SELECT lower(who) AS person, TRY_CAST(amount AS DOUBLE) AS amount, CAST(at AS DATE) AS day, day AS "other day", '
    "at, price * 2 AS twice, n * n AS n2, hour(at) = 23 AS late FROM source WHERE who <> 'Test' AND who <> ''"
)
CATALOG = """
ledger = "{name}.ledger"

[tables.sales]
source = "{source}"
view = '''{view}'''
user = "person"
users = 9
space = { kind = "interval", col = "amount", low = 0, high = 10, on_invalid = "neutral" }
budget = [{ epsilon = 9e9 }, { alpha = 9e9 }]
"""
OWNED = "SELECT WITH USER_PRIVACY OPTIONS (epsilon = 1, max_records_per_user = 9) "
ASKED = (
    f"{OWNED} COUNT(*) AS n, SUM(amount) AS s, COUNT(day) AS d FROM sales",
    f'{OWNED} COUNT(*) AS n FROM sales WHERE day < "other day" AND late',
    f"{OWNED} COUNT(at) AS n, SUM(CLAMP(twice, 0, 200)) AS t FROM sales WHERE at > TIMESTAMP '2024-01-01 23:00:00'",
    f"{OWNED} COUNT(*) AS n FROM sales WHERE n2 > 2147483648 OR \"other day\" = DATE '1969-12-31'",
    "SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(amount) AS a FROM sales",
)


@pytest.fixture
def stored(spark: Any) -> Iterator[str]:
    spark.createDataFrame(ROWS.to_arrow(compat_level=pl.CompatLevel.oldest())).createOrReplaceTempView("raw_sales")
    yield "spark::raw_sales"
    spark.catalog.dropTempView("raw_sales")


def catalog(folder: Path, source: str, view: str = VIEW) -> Catalog:
    name = source.replace(":", "_").replace(".", "_")
    text = CATALOG.replace("{source}", source).replace("{view}", view).replace("{name}", name)
    (folder / f"{name}.toml").write_text(text)
    return load_catalog(folder / f"{name}.toml")


def test_it_has_the_rows_that_duckdb_makes(stored: str, tmp_path: Path) -> None:
    ROWS.write_parquet(tmp_path / "sales.parquet")
    catalogs = catalog(tmp_path, "sales.parquet"), catalog(tmp_path, stored)
    schemas = [own.table().schema for own in catalogs]
    assert schemas[0] == schemas[1]
    found = []
    for own in catalogs:
        with emdp.testing.seeded(1), own.session() as session:
            found.append([session.sql(text).exact_frame.rows() for text in ASKED])
    assert found[0] == found[1]
    assert all(row[0] for (row,) in found[0])
    assert catalogs[0].table().source.view_digest == catalogs[1].table().source.view_digest


def test_it_is_the_private_table_itself(stored: str, tmp_path: Path) -> None:
    source = catalog(tmp_path, stored).table().source
    assert is_same_source(source, stored)
    assert not is_same_source(source, "spark::other_sales")
    other = catalog(tmp_path, stored, VIEW.replace("'Test'", "'test'")).table().source
    assert source.fingerprint() != other.fingerprint()


def test_columns_that_changed_are_found_before_a_charge(spark: Any, stored: str, tmp_path: Path) -> None:
    with catalog(tmp_path, stored).session() as session:
        changed = ROWS.with_columns(pl.col("n").cast(pl.String))
        spark.createDataFrame(changed.to_arrow(compat_level=pl.CompatLevel.oldest())).createOrReplaceTempView(
            "raw_sales"
        )
        with pytest.raises(DataRuleError, match="'n'"):
            session.sql(ASKED[0])
        assert not len(session.history())


def test_a_function_of_the_session_in_place_of_sparks_is_refused(spark: Any, tmp_path: Path) -> None:
    session = spark.newSession()
    rows = session.createDataFrame(ROWS.to_arrow(compat_level=pl.CompatLevel.oldest()))
    source = open_source(rows)
    made = view_source(source, read_view(VIEW, source_kinds(source.schema())), source.schema())
    space = emdp.Interval("amount", 0, 10, on_invalid="neutral")
    table = emdp.read(made, user="person", space=space, users=9, name="sales")
    session.udf.register("lower", lambda *_: "x", "string")
    session.conf.set("spark.sql.functionResolution.sessionOrder", "first")
    with emdp.Session(table, budget=emdp.UserDP(1.0), ledger=tmp_path / "l") as asking:
        with pytest.raises(UsageError, match="in place of Spark's 'lower'"):
            asking.sql(f"{OWNED} COUNT(*) FROM sales")
        assert asking.remaining().epsilon == 1.0
