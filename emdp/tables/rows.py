"""Statements for a table's owner: the check of every declared rule, and one user's items."""

from collections.abc import Mapping

import polars as pl
from sqlglot import exp

from emdp.spaces import Space
from emdp.tables import fragments as sql
from emdp.tables.clean import clean_columns
from emdp.tables.compile import ItemSource, item_source, label_key, label_text, part_columns
from emdp.tables.fragments import Sql
from emdp.tables.linear import is_listed
from emdp.tables.table import Table

__all__ = ["bag_statement", "rules_statement"]


def rules_statement(table: Table) -> tuple[Sql, Mapping[str, pl.DataFrame]]:
    """Return a statement whose one row counts breaches: users missing, users unlisted, items, record counts.

    Columns of parts under another rule than ``"error"`` are read by no check, for they cannot break one.
    """
    source = item_source(table)
    lookups = {name: _labels(part) for name, part in _finite(table.space).items()}
    strict = [
        _invalid(table, part, source, index)
        for index, part in enumerate(table.space.parts)
        if part.on_invalid == "error"
    ]
    breach = sql.either(strict) if strict else exp.false()
    counts = [
        exp.alias_(exp.Count(this=exp.Star()), "records", quoted=True),
        exp.alias_(exp.CountIf(this=breach), "invalid", quoted=True),
    ]
    user = exp.alias_(source.user, "user_key", quoted=True)
    per_user = exp.select(user, *counts).from_(source.relation)
    for index, part in _finite_indexes(table.space):
        on = exp.EQ(this=label_key(table, part, source), expression=sql.column("label", f"lookup_{index}"))
        per_user = per_user.join(exp.Join(this=exp.to_table(f"lookup_{index}"), side="LEFT", on=on))
    per_user = per_user.group_by(source.user)
    named = exp.Not(this=exp.Is(this=sql.column("user_key"), expression=exp.Null()))
    if table.users.keys is None:
        spare = exp.Sub(this=exp.CountIf(this=named), expression=exp.Literal.number(table.n))
        unlisted: Sql = sql.call("GREATEST", spare, exp.Literal.number(0))
    else:
        unlisted = exp.CountIf(this=exp.and_(named, exp.Not(this=is_listed(sql.column("user_key")))))
    query = exp.select(
        exp.CountIf(this=exp.Is(this=sql.column("user_key"), expression=exp.Null())),
        unlisted,
        sql.call("COALESCE", exp.Sum(this=sql.column("invalid")), exp.Literal.number(0)),
        _other_counts(table, named),
    ).from_(per_user.subquery("per_user"))
    return query, lookups


def bag_statement(table: Table, user: str) -> tuple[Sql, Mapping[str, pl.DataFrame]]:
    """Return the statement for one user's items after the ``on_invalid`` rule, and the public tables it joins."""
    source = item_source(table)
    lookups = {name: _labels(part) for name, part in _finite(table.space).items()}
    columns: list[Sql] = []
    for index, part in enumerate(table.space.parts):
        if part.labels is None:
            clean = clean_columns(part, part_columns(table, part, source)).clean
            columns += [exp.alias_(clean[name], name, quoted=True) for name in part.columns]
        else:
            neutral = part.decode(part.neutral_item)[part.columns[0]][0]
            label = sql.column("label", f"lookup_{index}")
            text = sql.call("COALESCE", label, exp.Null() if neutral is None else sql.text(label_text(neutral)))
            columns.append(exp.alias_(text, part.columns[0], quoted=True))
    query = exp.select(*columns).from_(source.relation)
    for index, part in _finite_indexes(table.space):
        on = exp.EQ(this=label_key(table, part, source), expression=sql.column("label", f"lookup_{index}"))
        query = query.join(exp.Join(this=exp.to_table(f"lookup_{index}"), side="LEFT", on=on))
    return query.where(exp.EQ(this=sql.cast(source.user, "TEXT"), expression=sql.text(user))), lookups


def _finite_indexes(space: Space) -> list[tuple[int, Space]]:
    return [(index, part) for index, part in enumerate(space.parts) if part.labels is not None]


def _finite(space: Space) -> dict[str, Space]:
    return {f"lookup_{index}": part for index, part in _finite_indexes(space)}


def _labels(part: Space) -> pl.DataFrame:
    return pl.DataFrame({"label": [label_text(label) for label in part.labels or ()]})


def _invalid(table: Table, part: Space, source: ItemSource, index: int) -> Sql:
    if part.labels is not None:
        return sql.is_null(sql.column("label", f"lookup_{index}"))
    valid = clean_columns(part, part_columns(table, part, source)).valid
    return exp.Not(this=sql.call("COALESCE", valid, exp.false()))


def _other_counts(table: Table, named: Sql) -> Sql:
    if table.records is None:
        return exp.Literal.number(0)
    other = exp.NEQ(this=sql.column("records"), expression=exp.Literal.number(table.records))
    wrong = exp.CountIf(this=exp.and_(named, other))
    # A user without a row has no record, which is not the declared number either.
    present = exp.CountIf(this=named)
    return exp.Add(this=wrong, expression=exp.Paren(this=exp.Sub(this=exp.Literal.number(table.n), expression=present)))
