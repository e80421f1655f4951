"""The statement of a linear query: per user the mean of its records, then sums over users (EMD 2, "Answer")."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import polars as pl
from sqlglot import exp

from emdp.base.classes import dataclass
from emdp.expressions import Expression, analyse, evaluate
from emdp.expressions.numbers.fixed_point import fixed_point_exponent
from emdp.tables.facts import TableFacts
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.compile import USER, CompiledItems, compile_items
from emdp.tables.statements.fragments import Sql

__all__ = [
    "LinearStatement",
    "finished_means",
    "is_listed",
    "is_public",
    "linear_statement",
    "means_statement",
    "user_sums",
]


@dataclass(frozen=True, eq=False)
class LinearStatement:
    """A checked statement for the sums behind some means of user means."""

    # One row: the number of users present, then for each expression the sum over them of the user's mean in units of
    # `2**-exponent`.
    query: exp.Select
    lookups: Mapping[str, pl.DataFrame]  # Public tables that the statement joins
    exponents: tuple[int, ...]  # Fixed-point exponent of each expression
    neutral_values: tuple[float, ...]  # Each expression's value at the space's neutral item


def linear_statement(table: TableFacts, expressions: Sequence[Expression]) -> LinearStatement:
    """Return the statement that sums the user means of some expressions in one scan."""
    means = means_statement(table, expressions)
    query = exp.Select(expressions=user_sums(len(expressions)))
    query = query.from_(means.query.subquery("per_user", copy=False), copy=False)
    return replace(means, query=query.where(is_public(table), copy=False))


def means_statement(
    table: TableFacts, expressions: Sequence[Expression], *, is_checked: bool = False
) -> LinearStatement:
    """Return the statement of one row a user, public or not: the key, then for each expression the unrounded mean.

    A mean of ``mean_0, mean_1, ...`` is a DOUBLE in units of ``2**-exponent``, to be cast to BIGINT. ``is_checked`` is
    as in :func:`emdp.tables.statements.compile.compile_items`.
    """
    space = table.space
    exponents = tuple(fixed_point_exponent(analyse(expression, space)) for expression in expressions)
    neutral = tuple(float(evaluate(expression, space, space.neutral_item)[0]) for expression in expressions)
    items = compile_items(table, expressions, is_checked=is_checked)
    means = []
    for index, (value, exponent) in enumerate(zip(items.values, exponents, strict=True)):
        scaled = items.counted(sql.cast(sql.shift(value, exponent), "BIGINT"))
        absent = round(Fraction(neutral[index]) * Fraction(2) ** exponent)
        own_mean = sql.bounded(exp.Avg(this=scaled), absent)
        mean = own_mean if space.slots is None else _over_slots(scaled, items, space.slots)
        means.append(exp.alias_(mean, f"mean_{index}", quoted=True, copy=False))
    per_user = exp.Select(expressions=[sql.column(USER), *means]).from_(items.relation, copy=False)
    for join in items.joins:
        per_user = per_user.join(join, copy=False)
    return LinearStatement(per_user.group_by(sql.column(USER), copy=False), items.lookups, exponents, neutral)


def user_sums(count: int) -> list[Sql]:
    """Return the columns of sums over users: how many there are, then the sum of each of their means."""
    sums: list[Sql] = [exp.alias_(exp.Count(this=exp.Star()), "present", quoted=True)]
    for index in range(count):
        whole = sql.cast(sql.column(f"mean_{index}"), "BIGINT")
        sums.append(exp.alias_(sql.bounded(exp.Sum(this=whole)), f"sum_{index}", quoted=True))
    return sums


def _over_slots(scaled: Sql, items: CompiledItems, slots: int) -> Sql:
    """Return a user's sum over the larger of the slots and the number of records that are somewhere, as a DOUBLE."""
    count = exp.Count(this=exp.Star()) if items.test is None else exp.Sum(this=items.counted(sql.integer(1)))
    return sql.divide(sql.bounded(exp.Sum(this=scaled)), sql.call("GREATEST", count, sql.integer(slots)))


def finished_means(statement: LinearStatement, row: Sequence[Any], n: int) -> list[Fraction]:
    """Return the means over ``n`` users, exactly: those of the statement's one row, and the users without records."""
    present = int(row[0])
    values = []
    for total, exponent, neutral in zip(row[1:], statement.exponents, statement.neutral_values, strict=True):
        absent = Fraction(neutral) * (n - present)
        values.append((Fraction(int(total or 0)) / Fraction(2) ** exponent + absent) / n)
    return values


def is_public(table: TableFacts) -> Sql:
    """Return the test that a row a user is that of a public user: it has a key and, where there is a list, is on it.

    Rows without a user form a group of their own that is left out here: leaving them out one by one would slow the
    scan, since DuckDB computes slower on filtered rows than on whole blocks.
    """
    named = exp.Not(this=exp.Is(this=sql.column(USER), expression=exp.Null()))
    return named if table.users.keys is None else exp.and_(named, is_listed(sql.column(USER)))


def is_listed(user: Sql) -> Sql:
    """Return the test that a user key is on the public list."""
    keys = exp.select(sql.column("key")).from_("listed_users")
    return exp.In(this=sql.cast(user, "TEXT"), query=exp.Subquery(this=keys))
