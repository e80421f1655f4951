"""The rules that an owner declared of a table: which statement finds the broken ones, and what is said of each.

A session asks which rules are broken, and says so of the first. How many records and users break them is for the
owner alone, in a statement of its own, and never a part of what a session raises.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from sqlglot import exp

from emdp.base.classes import dataclass
from emdp.tables.facts import TableFacts
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.bags import (
    finite_parts,
    is_invalid,
    label_tables,
    record_digest,
    strict_parts,
    unusable_tests,
)
from emdp.tables.statements.compile import USER, item_rows, lookup_join, reads_users_apart
from emdp.tables.statements.fragments import Sql
from emdp.tables.statements.linear import is_listed

__all__ = [
    "Breach",
    "Rule",
    "RulesStatement",
    "breaches_statement",
    "invalid_items",
    "rules_statement",
    "total",
    "user_breaches",
]

TEXTS = {
    "missing_users": (
        "has rows without a user{columns}",
        "give every row a user, or leave such rows out by a view of the catalog",
    ),
    "unlisted_users": ("has users that are not among the declared users{columns}", "correct the list or the number"),
    "invalid_items": (
        'has items outside the space\'s domain under on_invalid="error"{columns}',
        'clean the rows, widen the domain, or declare on_invalid="elsewhere" (with elsewhere=1), "neutral", or of '
        'numbers "clamp"',
    ),
    "other_counts": (
        "has users whose number of records is not the declared one{columns}",
        "correct the rows or records=",
    ),
    "repeated_keys": (
        "has a key of links that is missing or stands in several rows{columns}",
        "give every row a key of its own, or link by the user",
    ),
    "lost_links": ("has rows whose link names no row{columns}", "add the rows that are named, or leave these out"),
    "unusable": (
        "has items that stay unusable after their rule{columns}, which is a bug in emdp",
        "please report it",
    ),
}
"""Text and remedy of each rule where it is broken."""


@dataclass(frozen=True)
class Rule:
    """A rule of a table, with the columns that it is about: public, all of it."""

    # One of `missing_users`, `unlisted_users`, `invalid_items`, `other_counts`, `unusable`, `repeated_keys`,
    # `lost_links`.
    name: str
    table: str
    columns: tuple[str, ...]

    def sentence(self, counts: str = "") -> str:
        """Return the sentence said where the rule is broken, with the remedy."""
        problem, remedy = TEXTS[self.name]
        noun = "column" if len(self.columns) == 1 else "columns"
        named = problem.format(columns=f" in {noun} {', '.join(map(repr, self.columns))}")
        return f"table {self.table!r} {named}{counts}; {remedy}."


@dataclass(frozen=True)
class Breach:
    """Broken rule of a table, for its owner: a fact about the private records."""

    rule: Rule
    # How many records break it; None where only the number of users is public, so that nobody knows whose are too many.
    records: int | None
    users: int | None  # How many users do; None of rows without one

    def sentence(self) -> str:
        """Return the words said of it, with the counts."""
        named = (("record", self.records), ("user", self.users))
        counts = [f"{count} {what}{'' if count == 1 else 's'}" for what, count in named if count is not None]
        return self.rule.sentence(f" ({' of '.join(counts)})")


@dataclass(frozen=True, eq=False)
class RulesStatement:
    """A statement whose one row says of every rule, in order, how far it is broken."""

    query: Sql
    lookups: Mapping[str, pl.DataFrame]
    rules: tuple[Rule, ...]

    def broken(self, row: Sequence[Any]) -> tuple[Rule, ...]:
        """Return the rules that are broken, by the row of :func:`rules_statement`, whose last value means nothing."""
        return tuple(rule for rule, count in zip(self.rules, row[:-1], strict=True) if count)

    def breaches(self, row: Sequence[Any]) -> tuple[Breach, ...]:
        """Return the breaches, by the row of :func:`breaches_statement`."""
        pairs = zip(self.rules, row[::2], row[1::2], strict=True)
        return tuple(
            Breach(rule, None if records is None else int(records), None if users is None else int(users))
            for rule, records, users in pairs
            if records or users
        )


def rules_statement(table: TableFacts) -> RulesStatement:
    """Return the statement that finds broken rules: rows without a user, users unlisted, items by part, record counts.

    Users are counted apart from what their records hold, in a scan of their column, where that is quick.

    The columns of every part are computed, whatever its rule, and hashed, so that what cannot be read or converted
    fails here and not after a charge. The hash is the last column and means nothing.
    """
    every = range(len(table.space.parts))
    finite, strict = finite_parts(table.space, every), strict_parts(table.space)
    invalid = [f"invalid_{index}" for index in strict]
    facts = [_named(exp.CountIf(this=is_invalid(index, finite)), f"invalid_{index}") for index in strict]
    facts.append(_named(exp.CountIf(this=sql.either(unusable_tests(table.space))), "unusable"))
    facts.append(_named(record_digest(table.space), "digest"))
    records = _joined(exp.select(*facts), table, finite)
    count = _named(exp.Count(this=exp.Star()), "records")
    missing, unlisted, other = user_breaches(table)
    if reads_users_apart(table):
        rows = exp.select(sql.column(USER), count).from_(item_rows(table, ()).subquery("items", copy=False), copy=False)
        per_user = rows.group_by(sql.column(USER), copy=False).subquery("per_user", copy=False)
        users = sql.select({"missing": missing, "unlisted": unlisted, "other": other}, per_user)
        columns = map(sql.column, ("missing", "unlisted", *invalid, "other", "unusable", "digest"))
        query = exp.select(*columns).from_(users.subquery("users", copy=False), copy=False)
        query = query.join(records.subquery("records", copy=False), join_type="cross", copy=False)
    else:
        rows = records.select(sql.column(USER), count, copy=False).group_by(sql.column(USER), copy=False)
        per_user = rows.subquery("per_user", copy=False)
        sums, unusable = [total(sql.column(name)) for name in invalid], total(sql.column("unusable"))
        digest = exp.Anonymous(this="bit_xor", expressions=[sql.column("digest")])
        query = exp.select(missing, unlisted, *sums, other, unusable, digest).from_(per_user, copy=False)
    return RulesStatement(query, label_tables(table.space, finite), _rules(table, strict, ("unusable",)))


def breaches_statement(table: TableFacts) -> RulesStatement:
    """Return the statement that counts breaches, for the owner: two columns a rule, its records and its users."""
    every = range(len(table.space.parts))
    finite, strict = finite_parts(table.space, every), strict_parts(table.space)
    facts = [_named(exp.CountIf(this=is_invalid(index, finite)), f"invalid_{index}") for index in strict]
    count = _named(exp.Count(this=exp.Star()), "records")
    rows = _joined(exp.select(sql.column(USER), count, *facts), table, finite).group_by(sql.column(USER))
    is_missing, named = _is_missing(), exp.Not(this=_is_missing())
    _, unlisted, other = user_breaches(table)
    columns: list[Sql] = [_records_if(is_missing), exp.Null()]
    columns += [exp.Null() if table.users.keys is None else _records_if(_is_unlisted(named)), unlisted]
    for index in strict:
        broken = sql.compare(sql.column(f"invalid_{index}"), ">", sql.integer(0))
        columns += [total(sql.column(f"invalid_{index}")), _count_if(exp.and_(named.copy(), broken))]
    columns += [exp.Literal.number(0) if table.records is None else _records_if(_is_other(table, named)), other]
    query = exp.select(*columns).from_(rows.subquery("per_user"))
    return RulesStatement(query, label_tables(table.space, finite), _rules(table, strict, ()))


def invalid_items(table: TableFacts) -> Rule:
    """Return the rule that all parts of a space with ``on_invalid="error"`` make together."""
    parts = [table.space.parts[index] for index in strict_parts(table.space)]
    return Rule("invalid_items", table.name, tuple(name for part in parts for name in part.columns))


def _rules(table: TableFacts, strict: Sequence[int], more: tuple[str, ...]) -> tuple[Rule, ...]:
    user = (table.user,)
    return (
        Rule("missing_users", table.name, user),
        Rule("unlisted_users", table.name, user),
        *(Rule("invalid_items", table.name, table.space.parts[index].columns) for index in strict),
        Rule("other_counts", table.name, user),
        *(Rule(name, table.name, table.space.columns) for name in more),
    )


def _joined(query: exp.Select, table: TableFacts, finite: Sequence[int]) -> exp.Select:
    """Return a query of the items of all parts, with their labels where they are listed."""
    rows = item_rows(table, range(len(table.space.parts)), flags=True)
    query = query.from_(rows.subquery("items", copy=False), copy=False)
    for index in finite:
        query = query.join(lookup_join(index), copy=False)
    return query


def _named(value: Sql, name: str) -> Sql:
    return exp.alias_(value, name, quoted=True, copy=False)


def user_breaches(table: TableFacts) -> tuple[Sql, Sql, Sql]:
    """Return the counts of users: rows without one, users that are not declared, other numbers of records."""
    named = exp.Not(this=_is_missing())
    return exp.CountIf(this=_is_missing()), _unlisted(table, named), _other_counts(table, named)


def _is_missing() -> Sql:
    return exp.Is(this=sql.column(USER), expression=exp.Null())


def total(value: Sql) -> Sql:
    """Return the sum of a column; 0 where there are no rows."""
    return sql.call("COALESCE", exp.Sum(this=value), exp.Literal.number(0))


def _records_if(test: Sql) -> Sql:
    return total(sql.case([(test.copy(), sql.column("records"))], exp.Literal.number(0)))


def _unlisted(table: TableFacts, named: Sql) -> Sql:
    if table.users.count is None:
        return exp.Literal.number(0)
    if table.users.keys is None:
        spare = exp.Sub(this=exp.CountIf(this=named), expression=exp.Literal.number(table.n))
        return sql.call("GREATEST", spare, exp.Literal.number(0))
    return exp.CountIf(this=_is_unlisted(named))


def _is_unlisted(named: Sql) -> Sql:
    return exp.and_(named.copy(), exp.Not(this=is_listed(sql.column(USER))))


def _is_other(table: TableFacts, named: Sql) -> Sql:
    return exp.and_(named.copy(), exp.NEQ(this=sql.column("records"), expression=exp.Literal.number(table.records)))


def _other_counts(table: TableFacts, named: Sql) -> Sql:
    if table.records is None:
        return exp.Literal.number(0)
    wrong = _count_if(_is_other(table, named))
    if table.users.count is None:
        return wrong
    # A user without a row has no record, which is not the declared number either.
    absent = exp.Paren(this=exp.Sub(this=exp.Literal.number(table.n), expression=_count_if(named)))
    return exp.Add(this=wrong, expression=absent)


def _count_if(test: Sql) -> Sql:
    """Return how many rows meet a test; 0 where there are no rows at all, of which DuckDB makes NULL."""
    return sql.call("COALESCE", exp.CountIf(this=test), exp.Literal.number(0))
