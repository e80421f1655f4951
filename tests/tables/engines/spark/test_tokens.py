"""Words of every language on Spark are those of Python."""

from typing import Any

import polars as pl
import pytest
from languages import texts
from sqlglot import exp

from emdp.spaces.listed import unicode
from emdp.tables.engines.spark.dialect import DIALECT, to_spark
from emdp.tables.engines.spark.types import TEXT, WHOLE
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.tokens import tokens

VIEW = "emdp_test_tokens"


def check_engine(spark: Any, count: int) -> None:
    given = list(texts(count))
    frame = pl.DataFrame({"n": range(count), "t": given})
    spark.createDataFrame(frame.to_arrow(compat_level=pl.CompatLevel.oldest())).createOrReplaceTempView(VIEW)
    try:
        made = exp.Array(expressions=[exp.Null()])
        query = exp.select(
            exp.alias_(sql.column("n"), "n", quoted=True),
            exp.alias_(
                sql.case([(sql.is_null(sql.column("t")), made)], tokens("unicode", sql.column("t"))), "w", quoted=True
            ),
        ).from_("t")
        text = to_spark(query, {"t": {"n": WHOLE, "t": TEXT}}, {"t": VIEW}).sql(DIALECT, identify=True)
        found = {row["n"]: row["w"] for row in spark.sql(text).collect()}
    finally:
        spark.catalog.dropTempView(VIEW)
    assert [found[number] for number in range(count)] == [unicode.tokens(text) for text in given]


def test_spark_makes_the_tokens_of_python(spark: Any) -> None:
    check_engine(spark, 2_000)


@pytest.mark.full
def test_spark_makes_the_tokens_of_python_of_100_000_texts(spark: Any) -> None:
    check_engine(spark, 100_000)
