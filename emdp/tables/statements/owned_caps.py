"""A user's whole numbers under a cap, in SQL: every product is exact, and rounded down once
(:mod:`emdp.tables.statements.owned`).
"""

from sqlglot import exp

from emdp.questions.owned.totals import UNIT_BITS
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.fragments import Sql

__all__ = ["ROOT_UNIT", "UNIT", "capped", "capped_norm", "in_units", "whole"]

UNIT = 2**UNIT_BITS

ROOT_UNIT = 2**16
"""Roots of sums of squares are whole numbers of its inverse, rounded up."""


def whole(above: Sql, below: Sql) -> Sql:
    """Return the whole part of a quotient of whole numbers of at least 0."""
    return exp.Paren(this=exp.IntDiv(this=above, expression=below))


def in_units(amount: Sql) -> Sql:
    """Return an amount rounded up to the unit of the parts, so that its cap holds exactly."""
    return exp.Paren(this=whole(exp.Paren(this=sql.add(amount, sql.integer(UNIT - 1))), sql.integer(UNIT)))


def capped(value: Sql, rows: Sql, cap: int) -> Sql:
    """Return a user's whole number under the cap, by the number of rows that the user has in all, rounded down."""
    few = sql.compare(rows.copy(), "<=", sql.integer(cap))
    scaled = sql.multiply(sql.cast(value.copy(), "HUGEINT"), sql.integer(cap))
    return sql.case([(few, sql.cast(value, "HUGEINT"))], whole(scaled, rows.copy()))


def capped_norm(value: Sql, squares: Sql, cap: int, unit: int) -> Sql:
    """Return a user's whole number under the cap of the 2-norm, by the user's sum of squares, rounded down.

    The root of the sum is rounded up to a whole number of ``1/unit``.
    """
    few = sql.compare(squares.copy(), "<=", sql.integer(cap * cap))
    scaled = sql.multiply(sql.cast(value.copy(), "HUGEINT"), sql.integer(cap * unit))
    root = sql.call("SQRT", sql.cast(squares.copy(), "DOUBLE"))
    root = sql.call("FLOOR", sql.multiply(root, sql.number(unit * (1.0 + 2.0**-40))))
    above = sql.add(sql.cast(root, "BIGINT"), sql.integer(1))
    return sql.case([(few, sql.cast(value, "HUGEINT"))], whole(scaled, above))
