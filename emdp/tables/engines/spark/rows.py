"""Row expressions for Spark, from the same nodes as DuckDB's and with its results.

``sqlglot.transpile`` would drop every ``TRY``; so nothing is transpiled: each function has a spelling of its own, which
raises on no value in ANSI mode. DATE is days and TIMESTAMP microseconds since 1970, as the sources hand them out.
"""

from collections.abc import Mapping

import polars as pl
from sqlglot import exp

from emdp.base.errors import UsageError
from emdp.base.frames import DAY_MICROSECONDS, EARLIEST, LATEST
from emdp.questions.owned.grids import OwnedFrame
from emdp.rows.nodes import Node
from emdp.rows.record import Form
from emdp.rows.records.texts import spark_text
from emdp.rows.types import Kind, Value
from emdp.tables.base import type_name
from emdp.tables.engines.spark.text import operators_as_calls
from emdp.tables.engines.spark.types import BOOLEAN, DOUBLE, TEXT, WHOLE, written
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.fragments import Sql
from emdp.tables.statements.rows import SUMMAND_BITS, RowsWriting, kind_of_type, summand_of
from emdp.tables.statements.spelled import Columns, Writer, filled, micros_of, parsed, placed

__all__ = ["SPARK_ROWS", "in_numbers", "read_as", "row_expression", "summand", "with_times"]


def read_as(column: Sql, duckdb_type: str) -> Sql:
    """Return a column as its kind, as :func:`emdp.tables.statements.rows.read_as` does.

    Parameters
    ----------
    column : Sql
        As a Spark source gives it: times and dates in microseconds, NULL outside the years 1 to 9999.
    duckdb_type : str
        The type that the source's schema says.

    Raises
    ------
    UsageError
        If no row expression reads the type.
    """
    kind = kind_of_type(duckdb_type)
    if kind is None:
        raise UsageError(f"column must have a type that row expressions read, got {type_name(duckdb_type)}; drop it.")
    if kind is Kind.DATE:
        return _written(filled(parsed(placed(f"{{0}} // {DAY_MICROSECONDS}")), {"emdp_0": column}))
    if kind is Kind.TIMESTAMP or type_name(duckdb_type) in {kind.value, "VARCHAR"}:
        return column
    return filled(parsed(placed(f"CAST({{0}} AS {kind.value})")), {"emdp_0": column})


def row_expression(node: Node, columns: Columns) -> Sql:
    """Return a row expression as a tree for Spark, which raises on no values.

    Raises
    ------
    UsageError
        If the tree would be too large.

    >>> from emdp.rows.nodes import Call, Column, Literal
    >>> x = Column("t", "x", Kind.BIGINT)
    >>> total = Call("add", (x, Literal(1, Kind.BIGINT)))
    >>> row_expression(total, lambda column: exp.column(column.name)).sql("spark")
    'TRY_ADD(x, CAST(1 AS BIGINT))'
    """
    return _written(SPARK.write(node, columns))


def summand(node: Node, columns: Columns, low: float, high: float, *, bits: int = SUMMAND_BITS) -> Sql:
    """Return the integer that :func:`emdp.tables.statements.rows.summand` gives, for Spark."""
    return _written(summand_of(SPARK, node, columns, low, high, bits))


def _written(tree: Sql) -> Sql:
    """Return a tree with its operators as calls: Spark's parser reads ahead in parentheses, each level anew."""
    query = exp.Select(expressions=[tree])
    operators_as_calls(query)
    found: Sql = query.expressions[0].pop()
    return found


def _spelling(form: Form, values: tuple[Value, ...]) -> str:
    return placed(form.spark) if isinstance(form.spark, str) else form.spark(values)


def _literal(value: Value, kind: Kind) -> Sql:
    if value is None:
        return parsed(f"CAST(NULL AS {'BIGINT' if kind.is_time else kind.value})").copy()
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, str):
        return parsed(spark_text(value)).copy()
    if isinstance(value, float):
        return parsed(f"CAST('{value!r}' AS DOUBLE)").copy()
    if isinstance(value, int):
        return parsed(f"CAST('{value}' AS BIGINT)" if value < 0 else f"CAST({value} AS BIGINT)").copy()
    micros = micros_of(value)
    return parsed(f"CAST('{micros if kind is Kind.TIMESTAMP else micros // DAY_MICROSECONDS}' AS BIGINT)").copy()


def _nearest(own: Mapping[str, Sql]) -> Sql:
    """Round halves up as ``(floor(2 x) + 1) >> 1``: Spark's ``ROUND`` writes a double as text and reads its digits.

    Of ``x = k + f`` with a whole ``k`` and ``0 <= f < 1`` the product ``2 x`` is exact, and its floor ``2 k``, or ``2 k
    + 1`` where ``f >= 1/2``; half of one more than that, without the fraction, is ``k``, or ``k + 1``.
    """
    twice = filled(parsed(placed("floor(({0} - {1}) / {3} * {4} * CAST('2.0' AS DOUBLE))")), own)
    more = sql.call("TRY_ADD", twice, parsed("CAST(1 AS BIGINT)").copy())
    return sql.call("SHIFTRIGHT", more, parsed("1").copy())


DIALECT = "spark"

SPARK = Writer(_spelling, _literal, lambda tree: tree, _nearest)
"""Spark's way of writing: no spelling raises."""


KINDS = {Kind.BOOLEAN: BOOLEAN, Kind.DOUBLE: DOUBLE, Kind.TEXT: TEXT}
"""Kinds of values in statements; the others are whole numbers there."""


def _opaque(tree: Sql, kind: str) -> Sql:
    return written(tree.sql(DIALECT, identify=True), kind)


def _read_opaque(column: Sql, duckdb_type: str) -> Sql:
    read = read_as(column, duckdb_type)
    kind = kind_of_type(duckdb_type)
    return read if read is column or kind is None else _opaque(read, KINDS.get(kind, WHOLE))


SPARK_ROWS = RowsWriting(
    _read_opaque,
    lambda node, columns: _opaque(row_expression(node, columns), KINDS.get(node.kind, WHOLE)),
    lambda node, columns, low, high, bits: _opaque(summand(node, columns, low, high, bits=bits), WHOLE),
    # Times and dates are their numbers already.
    lambda value, kind: sql.cast(value, "TEXT"),
)
"""Functions of a row as texts for Spark, in statements whose other parts are rewritten for it."""


def in_numbers(frame: pl.DataFrame, *, is_list: bool) -> pl.DataFrame:
    """Return a public table with times as the numbers that statements take: see :func:`read_as`.

    Of a list of keys dates are days, as results of functions of a row are; elsewhere microseconds, as a source's.
    Decimals are doubles.
    """
    return pl.DataFrame([_in_numbers(column, is_list) for column in frame.iter_columns()])


def with_times(frame: pl.DataFrame, wanted: OwnedFrame) -> pl.DataFrame:
    """Return what a statement gave with dates and times as keys in place of their numbers."""
    kinds = {f"key_{place}": key.node.kind for place, key in enumerate(wanted.keys)}
    made = []
    for column in frame.iter_columns():
        kind = kinds.get(column.name)
        of_kind = column.cast(pl.Int32).cast(pl.Date) if kind is Kind.DATE else column
        made.append(column.cast(pl.Datetime("us")) if kind is Kind.TIMESTAMP else of_kind)
    return pl.DataFrame(made)


def _in_numbers(column: pl.Series, is_list: bool) -> pl.Series:
    if column.dtype.is_decimal():
        return column.cast(pl.Float64)
    if not isinstance(column.dtype, pl.Date | pl.Datetime):
        return column
    is_date = column.dtype == pl.Date
    number = column.to_physical() if is_date else column.dt.cast_time_unit("us").to_physical()
    unit = DAY_MICROSECONDS if is_date else 1
    number = number.cast(pl.Int64)
    inside = number.set((number < EARLIEST // unit) | (number >= LATEST // unit), None)
    return inside if is_list else inside * unit
