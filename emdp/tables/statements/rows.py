"""Row expressions as sqlglot trees for DuckDB that never raise: every operator that may is in a ``TRY`` of its own.

What stands in a ``TRY`` is one operator over operands that cannot raise any more (user-level-sql.md, 1.5). Around a
larger expression ``TRY`` leaks: DuckDB folds ``TRY((x + 1) IS NOT NULL)`` by statistics of all users' rows, and takes
shared sub-expressions and long IN lists out of it, which then raise.
"""

import math
from collections.abc import Callable, Mapping
from functools import partial

from sqlglot import exp

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.rows.nodes import Node
from emdp.rows.record import Form
from emdp.rows.types import Kind, Value
from emdp.tables.base import type_name
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.fragments import Sql
from emdp.tables.statements.spelled import Columns, Writer, filled, grouped, iso, parsed, placed

__all__ = [
    "DUCKDB_ROWS",
    "MOST_BITS",
    "SUMMAND_BITS",
    "RowsWriting",
    "kind_of_type",
    "plain_text",
    "read_as",
    "row_expression",
    "summand",
]

SUMMAND_BITS = 20
"""A summand's unit is ``2**-20`` of the range's width: user-level-sql.md, section 3.2."""

MOST_BITS = 50
"""Most bits of a summand: numbers of it are exact as doubles."""

_KINDS = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT"), Kind.BIGINT),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "HUGEINT", "UHUGEINT"), Kind.BIGINT),
    **dict.fromkeys(("FLOAT", "DOUBLE", "DECIMAL"), Kind.DOUBLE),
    **dict.fromkeys(("VARCHAR", "ENUM", "UUID"), Kind.TEXT),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), Kind.TIMESTAMP),
    **dict.fromkeys(("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS"), Kind.TIMESTAMP),
    "DATE": Kind.DATE,
    "BOOLEAN": Kind.BOOLEAN,
}

_WIDE = ("UBIGINT", "HUGEINT", "UHUGEINT")
_FIRST_DAY, _LAST_DAY = "DATE '0001-01-01'", "DATE '9999-12-31'"
_FIRST_TIME, _LAST_TIME = "TIMESTAMP '0001-01-01 00:00:00'", "TIMESTAMP '9999-12-31 23:59:59.999999'"


def kind_of_type(duckdb_type: str) -> Kind | None:
    """Return what a column of a DuckDB type is read as, None for a type that no row expression reads.

    >>> kind_of_type("DECIMAL(15,2)"), kind_of_type("INTEGER[]")
    (<Kind.DOUBLE: 'DOUBLE'>, None)
    """
    return _KINDS.get(type_name(duckdb_type))


def read_as(column: Sql, duckdb_type: str) -> Sql:
    """Return a column of a DuckDB type as its kind (:func:`kind_of_type`): what ``columns`` of :func:`row_expression`
    gives.

    Whole numbers beyond 64 bits, and dates and times outside the years 1 to 9999 (infinite ones too), are NULL.

    Raises
    ------
    UsageError
        If no row expression reads the type.

    >>> read_as(sql.column("n"), "INTEGER").sql("duckdb"), read_as(sql.column("n"), "BIGINT").sql("duckdb")
    ('CAST("n" AS BIGINT)', '"n"')
    """
    kind, name = kind_of_type(duckdb_type), type_name(duckdb_type)
    if kind is None:
        raise UsageError(f"column must have a type that row expressions read, got {name}; leave it out.")
    own = {"emdp_0": column}
    if kind is Kind.DATE:
        return filled(parsed(placed(f"CASE WHEN {{0}} BETWEEN {_FIRST_DAY} AND {_LAST_DAY} THEN {{0}} END")), own)
    if kind is Kind.TIMESTAMP:
        time = "{0}" if name == "TIMESTAMP" else "TRY(CAST({0} AS TIMESTAMP))"
        if "TZ" in name or "ZONE" in name:
            # A cast would look at the session's zone.
            time = "TRY(make_timestamp(TRY(epoch_us({0}))))"
        return filled(parsed(placed(f"CASE WHEN {time} BETWEEN {_FIRST_TIME} AND {_LAST_TIME} THEN {time} END")), own)
    if name == kind.value or (name == "VARCHAR" and kind is Kind.TEXT):
        return column
    cast = filled(parsed(placed(f"CAST({{0}} AS {kind.value})")), own)
    return _tried(cast) if name in _WIDE else cast


def row_expression(node: Node, columns: Columns) -> Sql:
    """Return a row expression as a tree for DuckDB, which raises on no values.

    Parameters
    ----------
    columns : callable
        From a :class:`emdp.rows.nodes.Column` to an expression of its kind; see :func:`read_as`.

    Raises
    ------
    UsageError
        If the tree would be too large.

    >>> from emdp.rows.nodes import Call, Column
    >>> x = Column("t", "x", Kind.BIGINT)
    >>> total = Call("add", (x, x))
    >>> row_expression(Call("is_null", (total,)), lambda column: sql.column(column.name)).sql("duckdb")
    '(TRY("x" + "x") IS NULL)'
    """
    return DUCKDB.write(node, columns)


def summand(node: Node, columns: Columns, low: float, high: float, *, bits: int = SUMMAND_BITS) -> Sql:
    """Return a number as an exact BIGINT from 0 (at most ``low``) to ``2**bits`` (at least ``high``), to be summed.

    NULL and NaN give NULL; infinities are clamped. NaN is found before the clamp, since ``least(NaN, 5)`` is 5, and
    the cast comes last. A value ``v`` in the range gives ``round((v - low) / (high - low) * 2**bits)``, where the
    difference is at most the rounded width, so that the quotient is at most 1.

    Parameters
    ----------
    node : Node
        An expression of kind BIGINT or DOUBLE.
    columns : callable
        As in :func:`row_expression`.
    low, high : float
        The range, ``low < high``, of finite width.
    bits : int
        From 1 to 50.
    """
    return summand_of(DUCKDB, node, columns, low, high, bits)


def summand_of(writer: Writer, node: Node, columns: Columns, low: float, high: float, bits: int) -> Sql:
    """Return what :func:`summand` does, for any engine."""
    if not node.kind.is_number:
        raise UsageError(f"node must be a number, got {node.kind.value}; cast it.")
    if not (math.isfinite(low) and math.isfinite(high) and low < high and math.isfinite(high - low)):
        raise UsageError(f"low and high must be a range of finite width, got {low} and {high}; swap or narrow them.")
    if not 1 <= bits <= MOST_BITS:
        raise UsageError(f"bits must be from 1 to {MOST_BITS}, got {bits}; the default is {SUMMAND_BITS}.")
    value = writer.write(node, columns)
    if node.kind is Kind.BIGINT:
        value = filled(parsed(placed("CAST({0} AS DOUBLE)")), {"emdp_0": value})
    numbers = {
        f"emdp_{index}": writer.literal(float(number), Kind.DOUBLE)
        for index, number in enumerate((low, high, high - low, 2.0**bits), start=1)
    }
    inside = writer.nearest({"emdp_0": value, **numbers})
    text = "CASE WHEN {0} < {1} THEN CAST(0 AS BIGINT) WHEN {0} <= {2} THEN {5} " + (
        f"WHEN {{0}} > {{2}} AND NOT isnan({{0}}) THEN CAST({2**bits} AS BIGINT) END"
    )
    return filled(parsed(placed(text)), {"emdp_0": value, **numbers, "emdp_5": inside})


def _nearest(own: Mapping[str, Sql]) -> Sql:
    whole = filled(parsed(placed("round(({0} - {1}) / {3} * {4})")), own)
    return _tried(filled(parsed(placed("CAST({0} AS BIGINT)")), {"emdp_0": whole}))


def _tried(tree: Sql) -> Sql:
    return exp.Anonymous(this="TRY", expressions=[tree])


def _spelling(form: Form, values: tuple[Value, ...]) -> str:
    return placed(form.duckdb) if isinstance(form.duckdb, str) else form.duckdb(values)


def _literal(value: Value, kind: Kind) -> Sql:
    if value is None:
        return filled(parsed(f"CAST(NULL AS {kind.value})"), {})
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, float):
        return sql.number(value)
    if isinstance(value, int):
        # Written out, -2**63 would be the negative of what is no BIGINT, and small numbers are INTEGER.
        return grouped(filled(parsed(f"CAST('{value}' AS BIGINT)"), {}))
    if isinstance(value, str):
        return sql.text(value)
    return filled(parsed(f"CAST('{iso(value)}' AS {kind.value})"), {})


DUCKDB = Writer(_spelling, _literal, _tried, _nearest)
"""DuckDB's way of writing."""


@dataclass(frozen=True)
class RowsWriting:
    """Writer of functions of a row for one engine, in statements over rows with owners."""

    # read_as, row_expression, summand: As the functions of these names here, the last with its bits.
    read_as: Callable[[Sql, str], Sql]
    row_expression: Callable[[Node, Columns], Sql]
    summand: Callable[[Node, Columns, float, float, int], Sql]
    # A text of a value of a kind, NULL of NULL: equal on all engines, and different for different values.
    plain_text: Callable[[Sql, Kind], Sql]


def plain_text(value: Sql, kind: Kind) -> Sql:
    r"""Return a text of a value, of times and dates their number of microseconds or days since 1970.

    >>> plain_text(sql.column("at"), Kind.TIMESTAMP).sql("duckdb")
    'CAST(TRY(EPOCH_US("at")) AS TEXT)'
    """
    if kind is Kind.DATE:
        value = filled(parsed(placed("TRY({0} - DATE '1970-01-01')")), {"emdp_0": value})
    if kind is Kind.TIMESTAMP:
        value = filled(parsed(placed("TRY(epoch_us({0}))")), {"emdp_0": value})
    return sql.cast(value, "TEXT")


DUCKDB_ROWS = RowsWriting(read_as, row_expression, partial(summand_of, DUCKDB), plain_text)
"""Functions of a row for DuckDB."""
