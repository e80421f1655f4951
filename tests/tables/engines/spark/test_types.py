"""Kinds of values in statements."""

import pytest
from sqlglot import exp

from emdp.base.errors import InternalError
from emdp.tables.engines.spark.types import BOOLEAN, DOUBLE, HUGE, TEXT, WHOLE, column_kind, kinds_of
from emdp.tables.statements import fragments as sql

TABLES = {"t": {"a": WHOLE, "x": DOUBLE, "s": TEXT}}

CASES = [
    (sql.column("a"), WHOLE),
    (exp.Sum(this=sql.column("a")), HUGE),
    (exp.Avg(this=sql.column("a")), DOUBLE),
    (sql.add(sql.column("a"), sql.integer(1)), WHOLE),
    (sql.multiply(sql.column("a"), sql.column("x")), DOUBLE),
    (sql.multiply(sql.cast(sql.column("a"), "HUGEINT"), sql.column("a")), HUGE),
    (sql.divide(sql.column("a"), sql.column("a")), DOUBLE),
    (sql.case([(sql.is_null(sql.column("a")), exp.Null())], sql.number(1)), DOUBLE),
    (sql.call("COALESCE", sql.column("s"), exp.Null()), TEXT),
    (sql.compare(sql.column("a"), "<", sql.integer(2)), BOOLEAN),
    (sql.call("FLOOR", sql.column("x")), DOUBLE),
]


@pytest.mark.parametrize(("value", "kind"), CASES, ids=[value.sql("duckdb") for value, _ in CASES])
def test_a_value_has_its_kind(value: exp.Expr, kind: str) -> None:
    query = sql.select({"v": value.copy()}, exp.to_table("t"))
    assert kinds_of(query, TABLES)[id(query.expressions[0])] == kind


def test_kinds_go_through_layers_and_unions() -> None:
    inner = sql.select({"total": exp.Sum(this=sql.column("a"))}, exp.to_table("t"))
    outer = sql.select({"total": sql.column("total")}, inner.subquery("inner_layer"))
    query = exp.union(sql.select({"total": exp.Null()}, exp.to_table("t")), outer, distinct=False)
    kinds = kinds_of(query, TABLES)
    assert kinds[id(query.expression.expressions[0])] == HUGE


@pytest.mark.parametrize(
    "value",
    [
        exp.Anonymous(this="median_of_mine", expressions=[sql.column("a")]),
        exp.Upper(this=sql.column("s")),
        sql.call("COALESCE", sql.column("s"), sql.column("a")),
        sql.column("missing"),
    ],
    ids=["function", "node", "mixture", "column"],
)
def test_what_is_not_known_is_refused(value: exp.Expr) -> None:
    with pytest.raises(InternalError, match="please report it"):
        kinds_of(sql.select({"v": value}, exp.to_table("t")), TABLES)


def test_a_table_that_was_not_given_is_refused() -> None:
    with pytest.raises(InternalError, match="was not given"):
        kinds_of(sql.select({"v": sql.column("a")}, exp.to_table("other")), TABLES)


def test_a_column_of_another_type_has_no_kind() -> None:
    assert column_kind("DATE") == WHOLE
    with pytest.raises(InternalError, match="STRUCT"):
        column_kind("STRUCT(a INTEGER)")
