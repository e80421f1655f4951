"""Statements for a table's owner: the check of every declared rule, and one user's items."""

from collections.abc import Iterable, Mapping

import polars as pl
from sqlglot import exp

from emdp.spaces import Space
from emdp.tables import fragments as sql
from emdp.tables.compile import (
    USER,
    clean_names,
    item_rows,
    label_text,
    lookup_join,
    name_in_items,
    reads_users_apart,
)
from emdp.tables.fragments import Sql
from emdp.tables.linear import is_listed
from emdp.tables.table import Table

__all__ = ["BREACH", "bag_statement", "rules_statement"]

BREACH = "breaks the rule of emdp"
"""Name of the column of a bag that is no item's: nobody's own column is called so."""


def rules_statement(table: Table) -> tuple[Sql, Mapping[str, pl.DataFrame]]:
    """Return a statement whose one row counts breaches: users missing, users unlisted, items, record counts.

    Users are counted apart from what their records hold, in a scan of their column, where that is quick.

    The columns of every part are computed, whatever its rule, and hashed, so that what cannot be read or converted
    fails here and not after a charge. The hash is the last column and means nothing.
    """
    every = range(len(table.space.parts))
    finite = _finite(table.space, every)
    strict = [_invalid(index, finite) for index, part in enumerate(table.space.parts) if part.on_invalid == "error"]
    facts = [
        exp.alias_(exp.CountIf(this=sql.either(strict) if strict else exp.false()), "invalid", quoted=True),
        exp.alias_(exp.CountIf(this=sql.either(_unusable(table.space))), "unusable", quoted=True),
        exp.alias_(_digest(table.space), "digest", quoted=True),
    ]
    records = exp.select(*facts).from_(item_rows(table, every, flags=True).subquery("items"))
    for index in finite:
        records = records.join(lookup_join(index))
    count = exp.alias_(exp.Count(this=exp.Star()), "records", quoted=True)
    missing, unlisted, other = _user_breaches(table)
    if reads_users_apart(table):
        rows = exp.select(sql.column(USER), count).from_(item_rows(table, ()).subquery("items"))
        per_user = rows.group_by(sql.column(USER)).subquery("per_user")
        users = sql.select({"missing": missing, "unlisted": unlisted, "other": other}, per_user)
        columns = map(sql.column, ("missing", "unlisted", "invalid", "other", "unusable", "digest"))
        query = exp.select(*columns).from_(users.subquery("users")).join(records.subquery("records"), join_type="cross")
    else:
        per_user = records.select(sql.column(USER), count).group_by(sql.column(USER)).subquery("per_user")
        invalid, unusable = (_total(sql.column(name)) for name in ("invalid", "unusable"))
        digest = exp.Anonymous(this="bit_xor", expressions=[sql.column("digest")])
        query = exp.select(missing, unlisted, invalid, other, unusable, digest).from_(per_user)
    return query, _labels(table.space, finite)


def bag_statement(table: Table, user: str) -> tuple[Sql, Mapping[str, pl.DataFrame]]:
    """Return the statement for one user's items after the rule, and the public tables it joins.

    A grid's item is the number of its cell, under the name of its first column. The last column, ``BREACH``, says
    whether the item breaks a rule ``"error"``.
    """
    every = range(len(table.space.parts))
    finite = _finite(table.space, every)
    columns: list[Sql] = []
    for index, part in enumerate(table.space.parts):
        if index in finite:
            neutral = part.decode(part.neutral_item)[part.columns[0]][0]
            label = sql.column("label", f"lookup_{index}")
            found = sql.call("COALESCE", label, exp.Null() if neutral is None else sql.text(label_text(neutral)))
            columns.append(exp.alias_(found, part.columns[0], quoted=True))
        else:
            for name in clean_names(part):
                columns.append(exp.alias_(sql.column(name_in_items(index, name, part)), name, quoted=True))
    strict = [_invalid(index, finite) for index, part in enumerate(table.space.parts) if part.on_invalid == "error"]
    columns.append(exp.alias_(sql.either(strict) if strict else exp.false(), BREACH, quoted=True))
    query = exp.select(*columns).from_(item_rows(table, every, flags=True).subquery("items"))
    for index in finite:
        query = query.join(lookup_join(index))
    own = exp.EQ(this=sql.cast(sql.column(USER), "TEXT"), expression=sql.text(user))
    return query.where(own), _labels(table.space, finite)


def _user_breaches(table: Table) -> tuple[Sql, Sql, Sql]:
    """Return what is counted of users: rows without one, users that are not declared, other numbers of records."""
    is_missing = exp.Is(this=sql.column(USER), expression=exp.Null())
    named = exp.Not(this=is_missing.copy())
    return exp.CountIf(this=is_missing), _unlisted(table, named), _other_counts(table, named)


def _total(value: Sql) -> Sql:
    return sql.call("COALESCE", exp.Sum(this=value), exp.Literal.number(0))


def _invalid(index: int, finite: list[int]) -> Sql:
    if index in finite:
        return sql.is_null(sql.column("label", f"lookup_{index}"))
    return exp.Not(this=sql.column(f"valid_{index}"))


def _digest(space: Space) -> Sql:
    # Smallest and largest values in a file's footer may answer every test; a hash needs each value itself.
    names = [name_in_items(index, name, part) for index, part in enumerate(space.parts) for name in clean_names(part)]
    hashed = exp.Anonymous(this="hash", expressions=[sql.column(name) for name in names])
    return exp.Anonymous(this="bit_xor", expressions=[hashed])


def _unusable(space: Space) -> list[Sql]:
    """Return tests that no cleaned item meets; they make the engine compute every cleaned column."""
    tests: list[Sql] = []
    for index, part in enumerate(space.parts):
        if part.labels is not None:
            nothing = exp.EQ(this=sql.column(f"part_{index}_0"), expression=sql.text("\0"))
            tests.append(nothing)
            continue
        for name in clean_names(part):
            value = sql.column(name_in_items(index, name, part))
            tests += [sql.is_null(value), sql.call("ISNAN", value)]
    return tests


def _finite(space: Space, indexes: Iterable[int]) -> list[int]:
    return [index for index in indexes if space.parts[index].labels is not None]


def _labels(space: Space, finite: list[int]) -> dict[str, pl.DataFrame]:
    return {
        f"lookup_{index}": pl.DataFrame({"label": [label_text(label) for label in space.parts[index].labels or ()]})
        for index in finite
    }


def _unlisted(table: Table, named: Sql) -> Sql:
    if table.users.keys is None:
        spare = exp.Sub(this=exp.CountIf(this=named), expression=exp.Literal.number(table.n))
        return sql.call("GREATEST", spare, exp.Literal.number(0))
    return exp.CountIf(this=exp.and_(named, exp.Not(this=is_listed(sql.column(USER)))))


def _other_counts(table: Table, named: Sql) -> Sql:
    if table.records is None:
        return exp.Literal.number(0)
    other = exp.NEQ(this=sql.column("records"), expression=exp.Literal.number(table.records))
    wrong = _count_if(exp.and_(named, other))
    # A user without a row has no record, which is not the declared number either.
    absent = exp.Paren(this=exp.Sub(this=exp.Literal.number(table.n), expression=_count_if(named)))
    return exp.Add(this=wrong, expression=absent)


def _count_if(test: Sql) -> Sql:
    """Return how many rows meet a test; 0 where there are no rows at all, of which DuckDB makes NULL."""
    return sql.call("COALESCE", exp.CountIf(this=test), exp.Literal.number(0))
