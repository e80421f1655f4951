"""Owners of the rows of linked tables as SQL: each link is followed to the table whose user column says who it is.

A row whose link leads to no user has no owner, and is left out: rules say that there is none, and what is computed of
tables that break them is still made of rows with owners alone.
"""

from collections.abc import Mapping

from sqlglot import exp

from emdp.base.errors import InternalError
from emdp.questions.owned.relations import OF_USERS
from emdp.tables.facts import TableFacts
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.compile import USER
from emdp.tables.statements.fragments import Sql
from emdp.tables.statements.owned_shapes import OWNER

__all__ = ["with_owner"]

KEY = "link_key"
"""Name of the column that a link is compared with."""


def with_owner(table: TableFacts, own: TableFacts, named: Mapping[str, Sql], rows: exp.Select) -> exp.Select:
    """Return some columns of a private table's rows with their owner.

    Parameters
    ----------
    named : mapping of str to Sql
        The columns, by their names in the result.
    rows : sqlglot.exp.Select
        Its rows, with the user column or the link under ``USER``.
    """
    key = table.key_of(own.name, own.user)
    records = rows.subquery("records", copy=False)
    if key == OF_USERS:
        return sql.select({OWNER: sql.column(USER), **named}, records)
    made = sql.select({OWNER: sql.column(OWNER, "owners"), **named}, records)
    return made.join(_owners_join(table, key, sql.column(USER, "records"), 0), copy=False)


def _owners_join(table: TableFacts, key: tuple[str, str] | None, link: Sql, depth: int) -> exp.Join:
    """Return the join of a link with the owners of the rows that it may name."""
    if key is None:
        raise InternalError("a linked table was read whose link leads nowhere; please report this.")
    name = "owners" if depth == 0 else f"owners_{depth}"
    same = exp.EQ(this=link, expression=sql.column(KEY, name))
    return exp.Join(this=_owners(table, *key, depth).subquery(name, copy=False), on=same)


def _owners(table: TableFacts, name: str, column: str, depth: int) -> exp.Select:
    """Return the rows of a table as pairs of a key and an owner."""
    target = table.private_tables()[name]
    rows, key = exp.to_table(target.view), table.key_of(name, target.user)
    link = sql.column(target.user, target.view)
    named = {KEY: sql.column(column, target.view)}
    if key == OF_USERS:
        return sql.select({**named, OWNER: link}, rows)
    made = sql.select({**named, OWNER: sql.column(OWNER, f"owners_{depth + 1}")}, rows)
    return made.join(_owners_join(table, key, link, depth + 1), copy=False)
