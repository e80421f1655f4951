"""The rules of linked tables as one statement: keys stand once, links name rows, and users are no more than declared.

A link to the user column names a user, whether or not that user has rows in the target: of those only their number is
compared with what was declared, over all tables that name users themselves. Where users are listed, each of these
tables is compared with the list by its own rules (:mod:`emdp.tables.statements.rules`).
"""

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from emdp.questions.owned.relations import OF_USERS
from emdp.tables.facts import TableFacts
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.fragments import Sql
from emdp.tables.statements.rules import Breach, Rule

__all__ = ["key_columns", "link_breaches", "links_statement"]


def links_statement(table: TableFacts) -> exp.Select:
    """Return the statement whose one row says how many rows, or users, break each rule of :func:`link_breaches`."""
    counts = [_repeated(table, *key) for key in table.unique_keys()]
    counts += [_lost(table, name, *key) for name, key in _looked_up(table)]
    if _counts_users(table):
        counts.append(_spare_users(table))
    return exp.select(*(exp.Subquery(this=count) for count in counts))


def link_breaches(table: TableFacts, row: Sequence[Any]) -> tuple[Breach, ...]:
    """Return the broken rules, by the row of the statement."""
    rules = [(Rule("repeated_keys", name, (column,)), True) for name, column in table.unique_keys()]
    rules += [(Rule("lost_links", name, (table.linked[name].user,)), True) for name, _ in _looked_up(table)]
    if _counts_users(table):
        rules.append((Rule("unlisted_users", table.name, (table.user,)), False))
    return tuple(
        Breach(rule, int(count) if is_of_rows else None, None if is_of_rows else int(count))
        for (rule, is_of_rows), count in zip(rules, row, strict=True)
        if count
    )


def key_columns(table: TableFacts, name: str) -> tuple[str, ...]:
    """Return the columns of a table that links are compared by."""
    return tuple(table.keys_of(name))


def _looked_up(table: TableFacts) -> list[tuple[str, tuple[str, str]]]:
    """Return the linked tables whose links name rows, each with the key."""
    found = ((name, table.key_of(name, own.user)) for name, own in table.linked.items())
    return [(name, key) for name, key in found if key is not None and key != OF_USERS]


def _counts_users(table: TableFacts) -> bool:
    return table.users.count is not None and table.users.keys is None


def _view(table: TableFacts, name: str) -> str:
    return table.private_tables()[name].view


def _repeated(table: TableFacts, name: str, column: str) -> exp.Select:
    """Return how many rows more there are than values of a key."""
    every = exp.Count(this=exp.Star())
    values = exp.Count(this=exp.Distinct(expressions=[sql.column(column)]))
    return exp.select(sql.subtract(every, values)).from_(exp.to_table(_view(table, name)))


def _lost(table: TableFacts, name: str, target: str, key: str) -> exp.Select:
    """Return how many rows have a link that is the key of no row; those without one break another rule."""
    link = sql.column(table.linked[name].user, "link_rows")
    keys = exp.select(exp.alias_(sql.column(key), "link_key", quoted=True)).distinct()
    keys = keys.from_(exp.to_table(_view(table, target)))
    same = exp.EQ(this=link.copy(), expression=sql.column("link_key", "link_keys"))
    rows = exp.select(exp.Count(this=exp.Star())).from_(exp.to_table(_view(table, name), alias="link_rows"))
    rows = rows.join(exp.Join(this=keys.subquery("link_keys"), side="LEFT", on=same), copy=False)
    is_there: Sql = exp.Not(this=sql.is_null(link))
    return rows.where(exp.and_(is_there, sql.is_null(sql.column("link_key", "link_keys"))), copy=False)


def _spare_users(table: TableFacts) -> exp.Select:
    """Return how many users more there are in all tables that name them than were declared."""
    naming = [name for name in table.linked if table.key_of(name, table.linked[name].user) == OF_USERS]
    sides = [(table.view, table.user), *((table.linked[name].view, table.linked[name].user) for name in naming)]
    every: Any = None
    for view, column in sides:
        named = exp.alias_(sql.cast(sql.column(column), "TEXT"), "user_key", quoted=True)
        rows = exp.select(named).from_(exp.to_table(view))
        every = rows if every is None else exp.Union(this=every, expression=rows, distinct=True)
    count = exp.Count(this=exp.Distinct(expressions=[sql.column("user_key")]))
    spare = sql.call("GREATEST", sql.subtract(count, sql.integer(table.n)), sql.integer(0))
    return exp.select(spare).from_(exp.Subquery(this=every, alias=exp.TableAlias(this=exp.to_identifier("users"))))
