"""Row expressions in Spark: DuckDB's values, whatever the session's zone is, and no error on hard values."""

import math
from typing import Any

import pytest
from row_cases import VALUES, cases, coded_value, in_duckdb, in_spark, is_alike, rows_of
from row_predicates import predicate

from emdp.base.errors import UsageError
from emdp.rows.nodes import Call, Column
from emdp.rows.types import Kind
from emdp.tables.engines.spark.rows import read_as, row_expression, summand
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.rows import summand as summand_in_duckdb

CASES = cases()


@pytest.mark.parametrize("kinds", CASES, ids=lambda kinds: "-".join(kind.value for kind in kinds))
def test_values_are_those_of_duckdb(spark: Any, kinds: tuple[Kind, ...]) -> None:
    nodes, rows = CASES[kinds], rows_of(kinds)
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        found = in_spark(spark, nodes, kinds, rows)
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
    for row, one, other in zip(rows, in_duckdb(nodes, kinds, rows), found, strict=True):
        for node, value, theirs in zip(nodes, one, other, strict=True):
            assert is_alike(coded_value(value), theirs), (str(node), row, value, theirs)


def test_conditions_of_many_functions_agree(spark: Any) -> None:
    names = {"x": "c0", "y": "c1", "s": "c2", "d": "c3", "ts": "c4"}
    kinds = (Kind.BIGINT, Kind.DOUBLE, Kind.TEXT, Kind.DATE, Kind.TIMESTAMP)
    rows = [tuple(VALUES[kind][place * 7 % len(VALUES[kind])] for kind in kinds) for place in range(60)]
    nodes = [_renamed(predicate(seed), names) for seed in range(40)]
    assert [tuple(row) for row in in_spark(spark, nodes, kinds, rows)] == in_duckdb(nodes, kinds, rows)


def _renamed(node: Any, names: dict[str, str]) -> Any:
    """Return a node with other names of its columns."""
    import dataclasses

    if isinstance(node, Column):
        return Column("t", names[node.name], node.kind)
    if isinstance(node, tuple):
        return tuple(_renamed(part, names) for part in node)
    if not dataclasses.is_dataclass(node) or isinstance(node, type):
        return node
    own = {field.name: getattr(node, field.name) for field in dataclasses.fields(node) if field.init}
    return type(node)(**{name: _renamed(value, names) for name, value in own.items()})


def test_letters_have_one_lower_case(spark: Any) -> None:
    """All letters but those that came with Unicode 16, which DuckDB's tables do not have yet."""
    new = {
        0x1C89,
        0xA7CB,
        0xA7CC,
        0xA7CE,
        0xA7D2,
        0xA7D4,
        0xA7DA,
        0xA7DC,
        *range(0x10D50, 0x10D66),
        *range(0x16EA0, 0x16EB9),
    }
    points = [point for point in range(1, 0x1F000) if not 0xD800 <= point < 0xE000 and point not in new]
    rows = [("Α" + "".join(map(chr, points[start : start + 64])),) for start in range(0, len(points), 64)]
    node = Call("lower", (Column("t", "c0", Kind.TEXT),))
    assert in_spark(spark, [node], [Kind.TEXT], rows) == in_duckdb([node], [Kind.TEXT], rows)


def test_summands_are_those_of_duckdb(spark: Any) -> None:
    y = Column("t", "c0", Kind.DOUBLE)
    # Halves of a unit of 2**-18, and what is nearest to them: half up, as in DuckDB.
    halves = [-1.5 + (2 * place + 1) * 2.0**-19 for place in (0, 1, 2, 77, 2**19 - 1, 2**20 - 1)]
    near = [math.nextafter(half, end) for half in halves for end in (-2.0, 3.0)]
    values = [(value,) for value in [*VALUES[Kind.DOUBLE], 0.1, 2.9999, *halves, *near]]
    import duckdb
    import polars as pl

    frame = pl.DataFrame(values, schema={"c0": pl.Float64}, orient="row").to_arrow()
    text = summand_in_duckdb(y, lambda column: sql.column(column.name), -1.5, 2.5).sql("duckdb")
    with duckdb.connect(":memory:") as connection:
        connection.register("frame", frame)
        expected = [row[0] for row in connection.execute(f"SELECT {text} FROM frame").fetchall()]
    text = summand(y, lambda column: sql.column(column.name), -1.5, 2.5).sql("spark")
    numbered = spark.createDataFrame([(place, *row) for place, row in enumerate(values)], "i int, c0 double").coalesce(
        1
    )
    found = [row[0] for row in numbered.orderBy("i").selectExpr(text).collect()]
    assert found == expected
    assert sum(value is None for value in found) == sum(value is None or math.isnan(value) for (value,) in values)


def test_columns_are_read_as_their_kinds(spark: Any) -> None:
    frame = spark.createDataFrame([(3, 86_400_000_000 * 5, "a")], "n int, d bigint, s string")
    given = {"n": "INTEGER", "d": "DATE", "s": "VARCHAR"}
    texts = [read_as(sql.column(name), kind).sql("spark") for name, kind in given.items()]
    assert [tuple(row) for row in frame.selectExpr(*texts).collect()] == [(3, 5, "a")]
    with pytest.raises(UsageError, match="that row expressions read"):
        read_as(sql.column("b"), "BLOB")


def test_nothing_is_left_of_try() -> None:
    for seed in range(100):
        assert "TRY(" not in row_expression(predicate(seed), lambda column: sql.column(column.name)).sql("spark")
