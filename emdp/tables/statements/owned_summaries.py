"""Aggregates and windows over rows of one user, in three layers that never raise.

An argument of a row; an engine's aggregates of it, over whole numbers where they add up; and the value that is made of
these. A ``TRY`` takes no aggregate, so that what may raise stands in the third layer. Equal results do not depend on
the order of rows: :mod:`emdp.questions.owned.summaries` has the proof.
"""

from collections.abc import Callable, Sequence

from sqlglot import exp

from emdp.base.classes import dataclass
from emdp.base.errors import InternalError
from emdp.questions.owned.summaries import Summary, Window
from emdp.rows.nodes import Node
from emdp.rows.types import Kind
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.fragments import Sql
from emdp.tables.statements.rows import DUCKDB_ROWS, MOST_BITS, RowsWriting
from emdp.tables.statements.spelled import Columns

__all__ = ["Layers", "comparable", "summary_layers", "window_layers"]

Aggregates = Callable[[Sql], tuple[Sql, ...]]


@dataclass(frozen=True, eq=False)
class Layers:
    """Layers of sub-queries that compute one value."""

    argument: Sql | None  # Over the columns of a row
    aggregates: Aggregates  # From the argument's column to aggregates of it
    value: Callable[[Sequence[Sql]], Sql]  # From their columns to the value


def comparable(node: Node, columns: Columns, writing: RowsWriting = DUCKDB_ROWS) -> Sql:
    """Return a value of which equal ones are one value: 0.0 for -0.0."""
    value = writing.row_expression(node, columns)
    if node.kind is not Kind.DOUBLE:
        return value
    is_zero = sql.compare(value.copy(), "=", sql.number(0.0))
    return sql.case([(is_zero, sql.number(0.0))], value)


def summary_layers(summary: Summary, columns: Columns, writing: RowsWriting = DUCKDB_ROWS) -> Layers:
    """Return the layers of an aggregate."""
    function, node = summary.function, summary.argument
    if node is None:
        return Layers(None, lambda column: (exp.Count(this=exp.Star()),), _first)
    if function in ("sum", "avg"):
        return _total(summary, node, columns, writing)
    argument = comparable(node, columns, writing)
    if node.kind is Kind.DOUBLE:
        # NaN has no value: no branch is left for it, nor for NULL.
        there = sql.negate(exp.IsNan(this=argument.copy()))
        argument = sql.case([(there, argument)], exp.Null())
    if function == "median" and node.kind is Kind.BIGINT:
        argument = sql.cast(argument, "DOUBLE")
    return Layers(argument, _aggregates(summary), _first)


def window_layers(window: Window, columns: Columns, writing: RowsWriting = DUCKDB_ROWS) -> Layers:
    """Return the layers of a value among rows of one user, whose second is made a window by the caller."""
    if isinstance(window.value, Summary):
        return summary_layers(window.value, columns, writing)
    name = window.value.upper()
    if window.argument is None:
        return Layers(None, lambda column: (_call(name),), _first)
    argument = writing.row_expression(window.argument, columns)
    if window.value not in ("lag", "lead"):
        return Layers(argument, lambda column: (_call(name, column),), _first)
    others = [sql.integer(window.offset)]
    if window.default is not None:
        others.append(writing.row_expression(window.default, columns))
    return Layers(argument, lambda column: (_call(name, column, *others),), _first)


def _total(summary: Summary, node: Node, columns: Columns, writing: RowsWriting) -> Layers:
    if node.kind is Kind.BIGINT:
        argument = writing.row_expression(node, columns)
        value: Callable[[Sequence[Sql]], Sql] = lambda raw: sql.cast(raw[0], "DOUBLE")  # noqa: E731
        if summary.function == "sum":
            value = lambda raw: sql.cast(raw[0], "BIGINT", safe=True)  # noqa: E731
    else:
        size = summary.size
        if size is None:
            raise InternalError("numbers with a fraction were to be summed up without a size; please report this.")
        argument = writing.summand(node, columns, -size, size, MOST_BITS)
        value = lambda raw: sql.multiply(  # noqa: E731
            # Of n values of [-size, size], each raised by size: a whole number of units less n times half of them.
            sql.cast(sql.subtract(raw[0], _times(sql.cast(raw[1], "HUGEINT"), 2 ** (MOST_BITS - 1))), "DOUBLE"),
            sql.number(2.0 * size / 2.0**MOST_BITS),
        )
    mean = lambda raw: sql.divide(value(raw), sql.cast(raw[1].copy(), "DOUBLE"))  # noqa: E731
    return Layers(
        argument,
        lambda column: (exp.Sum(this=column), exp.Count(this=column.copy())),
        mean if summary.function == "avg" else value,
    )


def _aggregates(summary: Summary) -> Aggregates:
    plain = {"min": exp.Min, "max": exp.Max, "count": exp.Count}
    names = {"all": "BOOL_AND", "any": "BOOL_OR"}
    if summary.function == "distinct":
        return lambda column: (exp.Count(this=exp.Distinct(expressions=[column])),)
    if summary.function in plain:
        return lambda column: (plain[summary.function](this=column),)
    if summary.function in names:
        return lambda column: (_call(names[summary.function], column),)
    if summary.function == "median":
        return lambda column: (_call("QUANTILE_CONT", column, sql.number(0.5)),)
    return lambda column: (_call("QUANTILE_DISC", column, sql.number(summary.level)),)


def _times(value: Sql, factor: int) -> Sql:
    return sql.multiply(value, sql.integer(factor))


def _call(name: str, *arguments: Sql) -> Sql:
    return exp.Anonymous(this=name, expressions=list(arguments))


def _first(raw: Sequence[Sql]) -> Sql:
    return raw[0]
