"""Values that are hard for functions of rows, and one expression for every form of every function over them."""

import datetime as dt
import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import duckdb
import polars as pl

from emdp.rows.functions import FUNCTIONS
from emdp.rows.nodes import Call, Cast, Column, Literal, Node, columns
from emdp.rows.record import Form, Given
from emdp.rows.types import Kind
from emdp.tables.base import CLOSED
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.rows import row_expression
from emdp.tables.statements.spelled import micros_of

VALUES: dict[Kind, list[Any]] = {
    Kind.BOOLEAN: [None, True, False],
    Kind.BIGINT: [
        None, 0, 1, -1, 2, 3, 7, 12, 13, 29, 31, 2020, 2023, 10_000, -(2**63), 2**63 - 1, 2**31, -(2**31) - 1,
        2**53 + 1,
        10**18, 3_652_058, -719_162,
    ],
    Kind.DOUBLE: [
        None, math.nan, math.inf, -math.inf, 0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 1.0, -1.0, 2.0, 7.25, 1e-310,
        1e308,
        -1e308, 4503599627370497.0, 2.0**63, -(2.0**63), 9223372036854774784.0, 0.49999999999999994, 100.125, 1.005,
    ],
    Kind.TEXT: [
        None, "", "a", "A", "abc", "ABC", " a ", "\ta\n", "é", "É", "東京", "😀a", "a%b", "a_b", "a\\b", "a,b,,c",
        "it's", "$1.5",
        "12", " 12 ", "+7", "-0", "1e5", "1e400", "-1e400", "1_000", "0x1F", "99999999999999999999",
        "9223372036854775807",
        "9223372036854775808", "-9223372036854775808", "1.5", ".5", "5.", "nan", "inf", "Infinity", "true",
        "2020-01-05",
        "2020-1-5", "2020-02-30", "0000-01-01", "0001-01-01", "9999-12-31", "10000-01-01", "2020-01-05 10:11:12",
        "2020-01-05T10:11:12.123456", "2020-01-05 24:00:00", "2020-01-05 10:11:60", "05/01/2020 10:11",
        "2020-01-05 10:11:12+02",
        "0000-01-01 00:00", "00/00/0000 99:99", "2020-13-45", "05/01/2020 24:00", "45/13/2020 23:59",
        "2020.13.45T23:59:59", "2020.02.29T23:59:59", "2020-01-05\n", "epoch", "\u0130", "ab\nc", "abc\n",
        "1 000.5", "a" * 300,
    ],
    Kind.DATE: [
        None, dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1970, 1, 1), dt.date(1969, 12, 31), dt.date(2020, 2,
        29),
        dt.date(2023, 1, 31), dt.date(2024, 12, 30), dt.date(1900, 3, 1), dt.date(1582, 10, 10), dt.date(2021, 1, 3),
    ],
    Kind.TIMESTAMP: [
        None, dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999_999), dt.datetime(1970, 1, 1),
        dt.datetime(1969, 12, 31, 23, 59, 59, 999_999), dt.datetime(2020, 2, 29, 12, 30, 15, 500_000),
        dt.datetime(2026, 3, 8, 6, 59, 59), dt.datetime(2026, 3, 8, 7), dt.datetime(2026, 11, 1, 5, 30),
        dt.datetime(2026, 11, 1, 6, 30), dt.datetime(1899, 12, 31, 23, 59, 59), dt.datetime(1900, 1, 1),
        dt.datetime(2037, 12, 31, 23, 59, 59), dt.datetime(2038, 1, 1), dt.datetime(1582, 10, 10, 1, 2, 3),
        dt.datetime(2023, 12, 31, 0, 0, 1),
    ],
}  # fmt: skip
FEW = 9
"""Values of an argument where there are more than two."""
POLARS = {
    Kind.BOOLEAN: pl.Boolean, Kind.BIGINT: pl.Int64, Kind.DOUBLE: pl.Float64, Kind.TEXT: pl.String, Kind.DATE: pl.Date,
    Kind.TIMESTAMP: pl.Datetime("us"),
}  # fmt: skip


def cases() -> dict[tuple[Kind, ...], list[Node]]:
    """Return, by the kinds of their columns ``c0``, ``c1``, ..., expressions for each form of each function."""
    found: dict[tuple[Kind, ...], list[Node]] = defaultdict(list)
    for name, record in FUNCTIONS.items():
        for form in record.forms:
            for node in _of_form(name, form):
                kinds = tuple(column.kind for column in sorted(columns(node), key=lambda column: column.name))
                found[kinds].append(node)
    return dict(found)


def rows_of(kinds: Sequence[Kind]) -> list[tuple[Any, ...]]:
    """Return rows of hard values."""
    if len(kinds) == 1 or (len(kinds) == 2 and Kind.TEXT not in kinds):
        return list(itertools.product(*(VALUES[kind] for kind in kinds)))
    few = [[None, *VALUES[kind][1:][:: max(1, len(VALUES[kind]) // FEW)]] for kind in kinds]
    return list(itertools.product(*(found if len(kinds) <= 3 else found[:6] for found in few)))


def in_duckdb(nodes: Sequence[Node], kinds: Sequence[Kind], rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return the values of expressions in DuckDB, row by row."""
    connection = duckdb.connect(":memory:", config={**CLOSED, "threads": 1})
    types = {f"c{place}": POLARS[kind] for place, kind in enumerate(kinds)}
    frame = pl.DataFrame(list(rows), schema=types, orient="row").with_row_index("row_number")
    connection.register("frame", frame.to_arrow())
    read = ", ".join(f"CAST(c{place} AS {kind.value}) AS c{place}" for place, kind in enumerate(kinds))
    connection.execute(f"CREATE TABLE t AS SELECT row_number, {read} FROM frame")
    texts = [row_expression(node, lambda column: sql.column(column.name)).sql("duckdb") for node in nodes]
    return connection.execute(f"SELECT {', '.join(texts)} FROM t ORDER BY row_number").fetchall()


def in_spark(
    session: Any, nodes: Sequence[Node], kinds: Sequence[Kind], rows: Sequence[tuple[Any, ...]]
) -> list[tuple[Any, ...]]:
    """Return the values of expressions in Spark, row by row, dates as days and times as microseconds."""
    from emdp.tables.engines.spark.rows import row_expression as spark_expression

    types = {Kind.BOOLEAN: "boolean", Kind.DOUBLE: "double", Kind.TEXT: "string"}
    schema = ", ".join(f"c{place} {types.get(kind, 'bigint')}" for place, kind in enumerate(kinds))
    coded = [(number, *map(coded_value, row)) for number, row in enumerate(rows)]
    frame = session.createDataFrame(coded, f"row_number bigint, {schema}").coalesce(1)
    texts = [spark_expression(node, lambda column: sql.column(column.name)).sql("spark") for node in nodes]
    return [tuple(row) for row in frame.orderBy("row_number").selectExpr(*texts).collect()]


def coded_value(value: Any) -> Any:
    """Return a date as days and a time as microseconds since 1970, other values as they are."""
    if isinstance(value, dt.datetime):
        return micros_of(value)
    return micros_of(value) // 86_400_000_000 if isinstance(value, dt.date) else value


def is_alike(one: Any, other: Any, *, ulps: float = 8.0) -> bool:
    """Say whether two engines' values are the same: doubles within units in the last place."""
    if type(one) is not type(other):
        return False
    if not isinstance(one, float):
        return bool(one == other)
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    return one == other or abs(one - other) <= ulps * math.ulp(max(abs(one), abs(other)))


def _of_form(name: str, form: Form) -> Iterator[Node]:
    choices: list[list[Node]] = []
    place = 0
    for wanted in form.arguments:
        if isinstance(wanted, Given):
            choices.append([Literal(value, wanted.kind) for value in wanted.examples])
        else:
            choices.append([Column("t", f"c{place}", wanted)])
            place += 1
    kind = name.removeprefix("to_")
    for arguments in itertools.product(*choices):
        if name == f"to_{kind}" and kind.upper() in Kind.__members__:
            yield Cast(arguments[0], Kind(kind.upper()))
        elif name != "clamp" or arguments[1].value <= arguments[2].value:  # type: ignore[union-attr]
            yield Call(name, arguments)
