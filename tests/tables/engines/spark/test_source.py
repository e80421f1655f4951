"""Where rows of Spark come from: names, types, versions, and what is refused."""

import warnings
from collections.abc import Iterator
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import Any

import polars as pl
import pytest

import emdp
from emdp.base.errors import DataRuleError, UsageError
from emdp.expressions import col
from emdp.tables import mean_of_user_means
from emdp.tables.engine import check_statement
from emdp.tables.engines.spark.kind import KIND, SparkOpener
from emdp.tables.engines.spark.source import SparkSource
from emdp.tables.public import is_same_source
from emdp.tables.registry import named_table
from emdp.tables.source import open_source

SPACE = emdp.Interval("x", 0, 1, on_invalid="clamp")


@pytest.fixture
def visits(spark: Any) -> Iterator[Any]:
    frame = spark.createDataFrame([(1, 0.25), (1, 0.75), (2, 2.0)], "user INT, x DOUBLE")
    frame.createOrReplaceTempView("visits")
    yield frame
    spark.catalog.dropTempView("visits")


def test_a_table_is_named_with_two_colons(tmp_path: Any) -> None:
    assert named_table("spark::visits") == (KIND.opener, "visits")
    assert named_table("spark::city.visits") == (KIND.opener, "city.visits")
    assert named_table(f"{tmp_path}/spark::visits") is None
    assert named_table("./spark::visits") is None
    assert named_table("city.duckdb::visits") is None
    assert named_table("spark::") is None
    source = open_source("spark::city.visits")
    assert isinstance(source, SparkSource)
    assert (source.default_name, source.engine) == ("visits", "spark")


def test_marks_are_of_the_name_and_of_the_files_that_are_read(visits: Any, spark: Any, tmp_path: Any) -> None:
    del visits
    kept, sought, _ = open_source("spark::visits").marks()
    assert set(kept) & set(open_source("spark::VISITS").marks()[1]) == set(kept) == set(sought)
    assert open_source(spark.createDataFrame([(1, 0.5)], "user INT, x DOUBLE")).marks() == ([], [], [])
    path = tmp_path / "a b.parquet"
    pl.DataFrame({"user": [1], "x": [0.5]}).write_parquet(path)
    own = open_source(spark.read.parquet(str(path)).where("x > 0")).marks()[0]
    # DuckDB knows the same file by the same marks.
    assert own == open_source(path).marks()[0]


def test_types_get_the_names_of_duckdb(spark: Any) -> None:
    frame = spark.sql(
        "SELECT 1Y AS a, 1S AS b, 1 AS c, 1L AS d, 1.5F AS e, 1.5D AS f, 1.25BD AS g, 'x' AS h, TRUE AS i, "
        "DATE'2020-01-01' AS j, TIMESTAMP_LTZ'2020-01-01 00:00:00' AS k, TIMESTAMP_NTZ'2020-01-01 00:00:00' AS l, "
        "X'00' AS m, ARRAY(1) AS n, STRUCT(1 AS secret) AS o, CAST('y' AS STRING COLLATE UNICODE_CI) AS p"
    )
    kinds = ["TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(3,2)", "VARCHAR", "BOOLEAN"]
    kinds += ["DATE", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP", "BINARY", "ARRAY", "STRUCT", "VARCHAR"]
    assert list(open_source(frame).schema().values()) == kinds


def test_times_are_microseconds_and_texts_are_compared_as_they_are(spark: Any) -> None:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Kathmandu")
    try:
        frame = spark.sql(
            "SELECT TIMESTAMP_LTZ'1969-12-31 23:59:59.999999 UTC' AS a, TIMESTAMP_NTZ'1986-01-01 00:05:06.000007' AS b,"
            " DATE'0001-01-01' AS c, DATE_FROM_UNIX_DATE(2147483647) AS d, 'A' COLLATE UNICODE_CI = 'a' AS same, "
            "CAST('A' AS STRING COLLATE UNICODE_CI) AS e"
        )
        source = open_source(frame)
        rows = source.rows(source.schema())
        (row,) = rows.collect()
        assert rows.filter("e = 'a'").count() == 0
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
    clock = datetime(1986, 1, 1, 0, 5, 6, 7, tzinfo=UTC)
    assert (row.a, row.b) == (-1, round(clock.timestamp() * 1e6))
    assert row.c == (date(1, 1, 1) - date(1970, 1, 1)).days * 86_400_000_000
    assert row.d == 2_932_897 * 86_400_000_000, "the first day that is out of range"
    assert row.same


@pytest.mark.parametrize(
    "log", ["_delta_log/0.json", "metadata/v1.metadata.json", "snapshot/snapshot-1", ".hoodie/hoodie.properties"]
)
def test_files_of_a_table_with_a_log_are_refused(spark: Any, tmp_path: Any, log: str) -> None:
    table = tmp_path / "city" / "visits"
    (table / "data").mkdir(parents=True)
    pl.DataFrame({"user": [1, 2], "x": [0.5, 0.25]}).write_parquet(table / "data/a.parquet")
    frame = spark.read.parquet(str(table / "data"))
    assert open_source(frame).schema() == {"user": "BIGINT", "x": "DOUBLE"}
    (table / log).parent.mkdir()
    (table / log).write_text("{}")
    by_file = spark.read.format("parquet").load(f"{table}/data/a.parquet")
    within = spark.range(3).where(f"id IN (SELECT user FROM parquet.`{table}/data`)")
    joined = spark.range(3).join(frame.select("x"), how="cross")
    frames = [frame, by_file, frame.cache().where("x > 0"), within, joined]
    frame.createOrReplaceTempView("logged")
    before = spark.conf.get("spark.sql.sources.useV1SourceList")
    try:
        spark.conf.set("spark.sql.sources.useV1SourceList", "")
        frames.append(spark.read.parquet(str(table / "data")))
        for source in [*frames, "spark::logged", f"spark::parquet.{table}/data"]:
            with pytest.raises(
                UsageError, match=r"is of the (Delta Lake|Iceberg|Hudi|Paimon) table .*visits', whose log"
            ):
                emdp.read(source, user="user", space=SPACE, users=3)
    finally:
        spark.conf.set("spark.sql.sources.useV1SourceList", before)
        spark.catalog.dropTempView("logged")
        frame.unpersist()


def test_no_statement_is_made_of_a_type(spark: Any, visits: Any) -> None:
    source = open_source(visits)
    assert isinstance(source, SparkSource)
    spliced = "DECIMAL(18,3)) AS x, CAST(42 AS INT) AS spliced, CAST(NULL AS INT"
    assert source.no_rows({"user": "BIGINT", "x": spliced}).columns == ["user"]
    assert source.no_rows({"x": "DECIMAL(18,3)"}).dtypes == [("x", "decimal(18,3)")]


@pytest.mark.parametrize(
    "changing",
    ["rand()", "uuid()", "monotonically_increasing_id()", "current_timestamp()", "shuffle(array(1, 2))"],
)
def test_rows_that_change_by_themselves_are_refused(spark: Any, visits: Any, changing: str) -> None:
    frame = visits.selectExpr("user", "x", f"{changing} AS other")
    with pytest.raises(UsageError, match="may be others in every statement; write it to a table"):
        emdp.read(frame, user="user", space=SPACE, users=3)


def test_a_limit_needs_an_order(spark: Any, visits: Any) -> None:
    for frame in (visits.limit(2), visits.sample(0.5, seed=1)):
        with pytest.raises(UsageError, match="in no order"):
            open_source(frame)
    open_source(visits.orderBy("user", "x").limit(2))
    with pytest.raises(UsageError, match="in no order"):
        open_source(visits.dropDuplicates(["user"]))
    open_source(visits.dropDuplicates())
    open_source(visits.distinct())
    spark.sql("CREATE OR REPLACE TEMP VIEW some AS SELECT * FROM visits LIMIT 1")
    try:
        with pytest.raises(UsageError, match="in no order"):
            emdp.read("spark::some", user="user", space=SPACE, users=3)
    finally:
        spark.catalog.dropTempView("some")


def test_functions_that_spark_takes_for_chance_are_refused(visits: Any) -> None:
    from pyspark.sql import functions

    with warnings.catch_warnings():
        # Of pandas 3, as in conftest.py.
        warnings.simplefilter("ignore")
        drawn = functions.udf(lambda: 0.5, "double").asNondeterministic()
    firsts = visits.groupBy("user").agg(functions.first("x").alias("x"))
    for frame, message in ((firsts, r"calls first\(\)"), (visits.withColumn("x", drawn()), "of chance")):
        with pytest.raises(UsageError, match=message):
            open_source(frame)
    open_source(visits.groupBy("user").agg(functions.max("x").alias("x")))
    open_source(visits.selectExpr("user", "FIRST(x) OVER (PARTITION BY user ORDER BY x) AS x"))


def test_a_stream_is_refused(spark: Any) -> None:
    with pytest.raises(UsageError, match="a stream"):
        open_source(spark.readStream.format("rate").load())


def test_a_column_that_is_there_twice_is_refused(spark: Any, visits: Any) -> None:
    for frame in (visits.join(visits.withColumnRenamed("x", "y"), "user").selectExpr("user", "x", "y AS x"),
                  visits.selectExpr("user", "x", "x + 1 AS X")):  # fmt: skip
        with pytest.raises(UsageError, match=r"column '[xX]' twice"):
            emdp.read(frame, user="user", space=SPACE, users=3)
    before = spark.conf.get("spark.sql.caseSensitive")
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        frame = visits.selectExpr("user", "x", "x + 1 AS X")
        table = emdp.read(frame, user="user", space=SPACE, users=3)
        # Of 0.25 and 0.75, of a clamped 2, and the neutral 0.5.
        assert mean_of_user_means(table, (col("x"),)).open() == (Fraction(2, 3),)
        capitals = emdp.read(frame, user="user", space=emdp.Interval("X", 0, 1, on_invalid="clamp"), users=3)
        assert mean_of_user_means(capitals, (col("X"),)).open() == (Fraction(5, 6),)
    finally:
        spark.conf.set("spark.sql.caseSensitive", before)


NAMES = (
    "a.b",
    "a`b",
    "`",
    "a b",
    "sélect",
    "user_key",
    "raw_0_0",
    "source_rows",
    "part_0_0",
    'a"b',
    "a'b\\",
    "$x",
    "?",
    ":x",
)
"""Odd names, and those of the statements' own layers."""


def test_columns_may_have_any_name(spark: Any) -> None:
    values = [(1, *(number / 16 for number in range(len(NAMES)))), (2, *(0.5 for _ in NAMES))]
    frame = spark.createDataFrame(values, ["x", *(f"c{number}" for number in range(len(NAMES)))]).toDF("key.`", *NAMES)
    space = emdp.Product(*(emdp.Interval(name, 0, 1, on_invalid="clamp") for name in NAMES))
    table = emdp.read(frame, user="key.`", space=space, users=["1", "2"])
    table.validate()
    assert table.bag("1").row(0) == values[0][1:]
    means = mean_of_user_means(table, tuple(col(name) for name in NAMES)).open()
    assert means == tuple(Fraction(number / 16 + 0.5) / 2 for number in range(len(NAMES)))
    with pytest.raises(UsageError, match="which Spark puts a setting for"):
        emdp.read(frame.toDF("user", *NAMES[1:], "${x}"), user="user", space=SPACE, users=3)
    # Of columns that are declared the source is not asked, and a preview never reads it.
    name = "${spark.app.name}"
    declared = emdp.read(
        frame.selectExpr("`key.``` AS user", f"`{NAMES[0]}` AS x").withColumnRenamed("x", name), user="user", users=3,
        space=emdp.Interval(name, 0, 1, on_invalid="clamp"), columns={"user": "BIGINT", name: "DOUBLE"},
    )  # fmt: skip
    for asked in (check_statement, mean_of_user_means):
        with pytest.raises(UsageError, match="which Spark puts a setting for"):
            asked(declared, (col(name),))


def test_a_version_is_declared_or_new_with_every_read(visits: Any) -> None:
    tables = [emdp.read(visits, user="user", space=SPACE, users=3) for _ in range(2)]
    assert tables[0].data_version() != tables[1].data_version()
    declared = emdp.read("spark::visits", user="user", space=SPACE, users=3, version="2026-11")
    assert declared.data_version() == "declared:2026-11"


def test_a_missing_table_and_a_missing_column_are_named(visits: Any) -> None:
    with pytest.raises(UsageError, match=r"no table or view 'nowhere.at_all'"):
        emdp.read("spark::nowhere.at_all", user="user", space=SPACE, users=3)
    with pytest.raises(UsageError, match="no column 'who'; name one of 'user', 'x'"):
        emdp.read(visits, user="who", space=SPACE, users=3)
    declared = {"user": "INTEGER", "x": "BIGINT"}
    table = emdp.read("spark::visits", user="user", space=SPACE, users=3, columns=declared)
    with pytest.raises(DataRuleError, match="no column 'x' of type BIGINT"):
        table.validate()


def test_a_type_that_fits_nothing_is_refused(spark: Any) -> None:
    frame = spark.sql("SELECT 1 AS user, ARRAY(0.5D) AS x")
    with pytest.raises(UsageError, match="column 'x' is ARRAY"):
        emdp.read(frame, user="user", space=SPACE, users=3)


def test_the_private_table_is_no_public_one(spark: Any, visits: Any) -> None:
    assert SparkOpener().is_frame(visits)
    private = open_source(visits)
    assert is_same_source(private, visits)
    assert is_same_source(private, "spark::visits")
    assert is_same_source(open_source("spark::visits"), "spark::VISITS")
    # A name with its database, and a view that adds nothing, are the same rows.
    spark.sql("CREATE OR REPLACE TEMP VIEW same_visits AS SELECT * FROM visits")
    try:
        assert is_same_source("spark::visits", "spark::same_visits")
    finally:
        spark.catalog.dropTempView("same_visits")
    assert not is_same_source(private, spark.range(3))
    assert not is_same_source(private, "spark::elsewhere")
    with pytest.raises(UsageError, match="must not be read off the private table"):
        emdp.read(visits, user="user", space=SPACE, users="spark::visits")


def test_public_tables_and_users_may_come_from_spark(spark: Any, visits: Any) -> None:
    users = spark.createDataFrame([(1, "pro"), (2, "free"), (3, None)], "user INT, plan STRING")
    table = emdp.read(visits, user="user", space=SPACE, users=users)
    assert table.n == 3
    users.createOrReplaceTempView("listed")
    try:
        names = table.names({"plans": users, "others": "spark::listed"})
        assert emdp.read(visits, user="user", space=SPACE, users="spark::listed").users.digest() == table.users.digest()
    finally:
        spark.catalog.dropTempView("listed")
    expected = pl.DataFrame({"user": [1, 2, 3], "plan": ["pro", "free", None]}, schema_overrides={"user": pl.Int32})
    for frame in names.public.values():
        assert frame.equals(expected)
