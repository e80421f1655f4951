"""Rewrites for Spark: pairs of a value and what both engines make of it, under either of Spark's modes."""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import duckdb
import pytest
from sqlglot import exp

from emdp.base.errors import InternalError
from emdp.tables.engines.spark.dialect import DIALECT, to_spark
from emdp.tables.engines.spark.types import BOOLEAN, DOUBLE, TEXT, WHOLE
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.compile import USER

KINDS = {"t": {"x": DOUBLE, "a": WHOLE, "s": TEXT, "b": BOOLEAN}}
ROWS = [
    (0.5, 1, "it's", True),
    (1.5, -(2**51), 'back\\slash "q" \n', False),
    (2.5, 2**51, "é∂", None),
    (-2.5, 3, None, True),
    (-0.0, 0, "", False),
    (2.0**75 + 2.0**30, 7, "plain", True),
    (-(2.0**110), -(2**62), "x" * 9, None),
    (None, None, "%_", None),
    *[(0.25, 2**62, "many", False)] * 4,
    (-3.5, 2**40 + 2**26 - 1, "every lower bit", True),
]
"""Ties of rounding, both zeros, sizes and sums beyond 64 bits, texts with marks of their own."""

X, A, S, B = (sql.column(name) for name in "xasb")


def whole(value: exp.Expr) -> exp.Expr:
    return sql.cast(value, "BIGINT")


SMALL = sql.call("LEAST", sql.call("GREATEST", X, sql.number(-1e3)), sql.number(1e3))
VALUES = {
    "round": whole(SMALL),
    "huge": sql.cast(X, "HUGEINT"),
    "huge of whole": sql.multiply(sql.cast(A, "HUGEINT"), sql.integer(2**24)),
    "quotient": sql.divide(A, sql.integer(7)),
    "quotient of huge": sql.divide(sql.multiply(sql.cast(A, "HUGEINT"), sql.integer(2**24)), sql.integer(7)),
    "quotient of doubles": sql.divide(X, sql.number(-3)),
    "floor": sql.call("FLOOR", SMALL),
    "remainder": sql.remainder(SMALL, sql.number(0.75)),
    "least": sql.call("LEAST", X, sql.number(1), exp.Null()),
    "text of whole": sql.cast(A, "TEXT"),
    "text of boolean": sql.cast(B, "TEXT"),
    "is a text": exp.EQ(this=S, expression=sql.text('back\\slash "q" \n')),
    "quote": exp.EQ(this=S, expression=sql.text("it's")),
    "accents": exp.EQ(this=S, expression=sql.text("é∂")),
    "length": exp.Anonymous(this="strlen", expressions=[S]),
    "translate": exp.Translate(this=S, from_=sql.text("é\\"), to=sql.text("e/")),
    "booleans compare": sql.compare(
        sql.compare(SMALL, ">=", sql.number(0)), ">", sql.compare(SMALL, ">", sql.number(2))
    ),
    "missing": sql.either([sql.is_null(X), sql.call("ISNAN", X)]),
    "sign": sql.call("SIGN", SMALL),
    "coalesce": sql.call("COALESCE", B, exp.false()),
    "case": sql.case([(sql.compare(SMALL, ">", sql.number(1)), A)], sql.integer(-1)),
}
SUMS = {
    "sum": exp.Sum(this=A),
    "mean": exp.Avg(this=A),
    "sum of products": exp.Sum(this=sql.multiply(sql.cast(A, "HUGEINT"), sql.integer(2**24))),
    "bounded sum": sql.bounded(exp.Sum(this=A)),
    "bounded mean": sql.bounded(exp.Avg(this=sql.call("COALESCE", A, sql.integer(3))), 3),
    "rows": exp.Count(this=exp.Star()),
    "chosen": exp.CountIf(this=B),
    "none": sql.call(
        "COALESCE", exp.Sum(this=exp.Cast(this=exp.Null(), to=exp.DataType.build("bigint"))), sql.integer(0)
    ),
}


ODD = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.legacy.decimal.retainFractionDigitsOnTruncate": "true",
    "spark.sql.legacy.exponentLiteralAsDecimal.enabled": "true",
    "spark.sql.legacy.literal.pickMinimumPrecision": "false",
    "spark.sql.legacy.setopsPrecedence.enabled": "true",
    "spark.sql.legacy.inSubqueryNullability": "true",
    "spark.sql.legacy.integerGroupingId": "true",
    "spark.sql.groupByAliases": "false",
    "spark.sql.groupByOrdinal": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.useLargeVarTypes": "true",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.session.timeZone": "America/St_Johns",
}
STRICT = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.enforceReservedKeywords": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    "spark.sql.storeAssignmentPolicy": "STRICT",
    "spark.sql.session.timeZone": "Asia/Kathmandu",
}
SETTINGS = {"plain": {}, "strict": STRICT, "odd": ODD}
"""Settings that a session may have, none of which changes a number."""


@contextmanager
def settings(spark: Any, wanted: Mapping[str, str]) -> Iterator[None]:
    before = {name: spark.conf.get(name, None) for name in wanted}
    try:
        for name, value in wanted.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            if value is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value)


def theirs(query: exp.Expr) -> list[Any]:
    with duckdb.connect(":memory:") as connection:
        connection.execute("CREATE TABLE t (x DOUBLE, a BIGINT, s VARCHAR, b BOOLEAN)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", ROWS)
        return connection.execute(query.sql("duckdb", identify=True)).fetchall()


def ours(spark: Any, query: exp.Expr) -> list[Any]:
    frame = spark.createDataFrame(ROWS, "x DOUBLE, a BIGINT, s STRING, b BOOLEAN").coalesce(1)
    frame.createTempView("emdp_test_t")
    try:
        return spark.sql(to_spark(query, KINDS, {"t": "emdp_test_t"}).sql(DIALECT, identify=True)).collect()
    finally:
        spark.catalog.dropTempView("emdp_test_t")


def same(one: Any, other: Any) -> bool:
    if isinstance(one, float) or isinstance(other, float):
        return one == other or (one is not None and other is not None and math.isclose(one, other, rel_tol=2.0**-51))
    return one == (int(other) if isinstance(other, Decimal) else other)


@pytest.mark.parametrize("name", SETTINGS)
def test_values_and_sums_are_those_of_duckdb(spark: Any, name: str) -> None:
    with settings(spark, SETTINGS[name]):
        for wanted in (VALUES, SUMS):
            query = sql.select({name: value.copy() for name, value in wanted.items()}, exp.to_table("t"))
            for own, other in zip(ours(spark, query), theirs(query), strict=True):
                for name, one, two in zip(wanted, other, own, strict=True):
                    assert same(one, two), f"{name}: {one!r} in DuckDB, {two!r} in Spark"


@pytest.mark.parametrize("name", SETTINGS)
def test_nothing_raises_whatever_the_rows_are(spark: Any, name: str) -> None:
    wild = {
        "far": whole(X),
        "too far": sql.cast(sql.multiply(X, sql.number(1e300)), "HUGEINT"),
        "by zero": sql.divide(X, sql.subtract(X, X)),
        "log": sql.call("LN", sql.subtract(X, X)),
        "root": sql.call("SQRT", sql.subtract(sql.number(-1), X)),
        "arc": sql.call("ASIN", X),
        "huge product": sql.multiply(
            sql.multiply(sql.cast(A, "HUGEINT"), sql.cast(A, "HUGEINT")), sql.cast(A, "HUGEINT")
        ),
    }
    totals = {
        "products overflow": exp.Sum(this=sql.multiply(sql.cast(X, "HUGEINT"), sql.integer(2**40))),
        "sum overflows": exp.Sum(this=sql.multiply(sql.cast(A, "HUGEINT"), sql.integer(2**63 - 1))),
    }
    with settings(spark, SETTINGS[name]):
        assert len(ours(spark, sql.select(wild, exp.to_table("t")))) == len(ROWS)
        assert len(ours(spark, sql.select(totals, exp.to_table("t")))) == 1


def test_sums_that_depend_on_order_are_refused() -> None:
    for node in (exp.Sum, exp.Avg):
        with pytest.raises(InternalError, match="order of rows"):
            to_spark(sql.select({"v": node(this=X.copy())}, exp.to_table("t")), KINDS, {"t": "t"})


def test_a_statement_stays_as_it_is() -> None:
    query = sql.select({USER: A.copy(), "v": exp.Avg(this=A.copy())}, exp.to_table("t"))
    before = query.sql("duckdb")
    to_spark(query, KINDS, {"t": "t"})
    assert query.sql("duckdb") == before


def test_quantiles_of_every_number_of_rows(spark: Any) -> None:
    rows = [(count, float(place) if place else None) for count in range(30) for place in range(count + 1)]
    levels = [0.0, 0.05, 0.1, 0.25, 0.3, 1 / 3, 0.5, 0.6, 0.7, 0.9, 0.95, 1.0]
    chosen = [exp.Anonymous(this="quantile_disc", expressions=[X, sql.number(level)]) for level in levels]
    between = exp.Anonymous(this="quantile_cont", expressions=[sql.divide(X, sql.number(3)), sql.number(0.5)])
    query = exp.select(A, *chosen, between).from_("t").group_by(A).order_by(A)
    with duckdb.connect(":memory:") as connection:
        connection.execute("CREATE TABLE t (a BIGINT, x DOUBLE)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
        expected = connection.execute(query.sql("duckdb")).fetchall()
    spark.createDataFrame(rows, "a bigint, x double").createOrReplaceTempView("quantiles_of")
    text = to_spark(query, {"t": {"a": WHOLE, "x": DOUBLE}}, {"t": "quantiles_of"}).sql(DIALECT)
    try:
        assert [tuple(row) for row in spark.sql(text).collect()] == expected
    finally:
        spark.catalog.dropTempView("quantiles_of")
