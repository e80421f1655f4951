"""Passes over statements for Spark: what they change, and what they leave alone."""

import duckdb
import pytest
from sqlglot import exp, parse_one

from emdp.tables.engines.spark.dialect import to_spark
from emdp.tables.engines.spark.text import operands_apart, operators_as_calls
from emdp.tables.engines.spark.types import DOUBLE, WHOLE
from emdp.tables.statements import fragments as sql

A, B = sql.column("a"), sql.column("b")


def called(value: exp.Expr) -> str:
    query = exp.select(value.copy())
    operators_as_calls(query)
    return query.sql("spark", identify=True).removeprefix("SELECT ")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (sql.multiply(sql.add(A, B), sql.subtract(A, B)), "`*`(`+`(`a`, `b`), `-`(`a`, `b`))"),
        (sql.divide(A, sql.subtract(A, B)), "`/`(`a`, `-`(`a`, `b`))"),
        (exp.Neg(this=exp.Var(this="2.0D")), "-2.0D"),
        (sql.remainder(sql.multiply(A, B), B), "`%`(`*`(`a`, `b`), `b`)"),
        (
            sql.both([sql.is_null(A), sql.negate(sql.compare(A, "<=", B))]),
            "`AND`(`ISNULL`(`a`), `NOT`(`<=`(`a`, `b`)))",
        ),
        (sql.either([sql.compare(A, "=", B), sql.compare(A, ">", B)]), "`OR`(`=`(`a`, `b`), `>`(`a`, `b`))"),
        (
            sql.case([(sql.compare(A, "<", B), sql.add(A, B))], A),
            "CASE WHEN `<`(`a`, `b`) THEN `+`(`a`, `b`) ELSE `a` END",
        ),
        # What is not known here keeps what it stands in.
        (sql.multiply(exp.Paren(this=exp.BitwiseOr(this=A, expression=B)), B), "`*`((`a` | `b`), `b`)"),
        (exp.BitwiseOr(this=sql.add(A, B), expression=B), "`+`(`a`, `b`) | `b`"),
    ],
)
def test_operators_become_calls(value: exp.Expr, text: str) -> None:
    assert called(value) == text


APART = [
    (
        "SELECT k, SUM(a + 1) AS s, AVG(a) AS m, COUNT(*) AS c FROM t GROUP BY k",
        "SELECT k, SUM(`operand_0`) AS s, AVG(`operand_1`) AS m, COUNT(*) AS c FROM (SELECT k, a + 1 AS `operand_0`, "
        "a AS `operand_1` FROM t) AS operands GROUP BY k",
    ),
    (
        "SELECT SUM(a + 1) AS s, SUM(a + 1) * 2 AS d FROM t WHERE a > 1",
        "SELECT SUM(`operand_0`) AS s, SUM(`operand_0`) * 2 AS d FROM (SELECT a + 1 AS `operand_0` FROM t WHERE a > 1) "
        "AS operands",
    ),
    (
        "SELECT k % 2 AS r, SUM(a * w) AS s FROM t CROSS JOIN u GROUP BY k % 2",
        "SELECT k % 2 AS r, SUM(`operand_0`) AS s FROM (SELECT k, a * w AS `operand_0` FROM t CROSS JOIN u) AS "
        "operands GROUP BY k % 2",
    ),
]


@pytest.mark.parametrize(("before", "after"), APART)
def test_operands_get_a_layer_that_changes_no_row(before: str, after: str) -> None:
    query = parse_one(before, read="duckdb")
    operands_apart(query)
    assert query.sql("spark") == after
    with duckdb.connect(":memory:") as connection:
        connection.execute("CREATE TABLE t AS SELECT i % 3 AS k, i AS a FROM RANGE(10) r(i)")
        connection.execute("CREATE TABLE u AS SELECT i AS w FROM RANGE(3) r(i)")
        found = [connection.execute(text).fetchall() for text in (before, query.sql("duckdb"))]
    assert sorted(found[0]) == sorted(found[1])


@pytest.mark.parametrize(
    "text",
    [
        "SELECT k, SUM(a) AS s FROM t GROUP BY k",
        "SELECT k, a + 1 AS b FROM t",
        "SELECT k, SUM(a + 1) AS s FROM t GROUP BY k HAVING SUM(a) > 1",
        "SELECT SUM(a + 1) OVER (PARTITION BY k) AS s FROM t",
        "SELECT t.k, SUM(a + 1) AS s FROM t GROUP BY t.k",
        "SELECT SUM(a + (SELECT MAX(w) FROM u)) AS s FROM t",
    ],
)
def test_what_needs_no_layer_or_is_not_known_stays(text: str) -> None:
    query = parse_one(text, read="duckdb")
    operands_apart(query)
    assert query.sql("duckdb") == text


def test_what_is_noted_as_bounded_is_a_plain_sum_and_its_mean_is_of_no_null() -> None:
    value = sql.cast(sql.multiply(sql.column("x"), sql.number(8)), "BIGINT")
    texts = []
    for mean in (exp.Avg(this=value.copy()), sql.bounded(exp.Avg(this=value.copy()), 7)):
        query = exp.select("u", mean).from_("t").group_by("u")
        texts.append(to_spark(query, {"t": {"u": WHOLE, "x": DOUBLE}}, {"t": "v"}).sql("spark"))
    plain, bounded = texts
    operand = "TRY_CAST(RINT(`*`(`x`, 8.0e0D)) AS BIGINT)"
    assert f"COALESCE({operand}, 7L) AS `operand_0`" in bounded
    assert bounded.replace(f"COALESCE({operand}, 7L)", operand).replace("SUM(", "TRY_SUM(") == plain
