"""The statement of users and capped sums by keys that nobody listed (user-level-sql.md, 3.2, S2).

As :mod:`emdp.tables.statements.owned`, with one layer more: of a user's groups the first ``L`` stay, by the MD5 of a
text of the user, the keys and a constant, ties by the keys. It reads that user's own groups alone, so that it is the
same whatever others have, wherever rows stand, and at every run. The hash is no secret, and need not be.
"""

from collections.abc import Sequence

import polars as pl
from sqlglot import exp

from emdp.questions.owned.groups import OwnedGroups, OwnedKeys
from emdp.tables.facts import TableFacts
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.fragments import Sql
from emdp.tables.statements.owned import (
    ALL_ROWS,
    OwnedStatement,
    by_user,
    capped_parts,
    summed,
    user_rows,
)
from emdp.tables.statements.owned_lists import on_lists
from emdp.tables.statements.owned_rows import OWNER
from emdp.tables.statements.rows import DUCKDB_ROWS, RowsWriting

__all__ = [
    "PEOPLE",
    "first_groups",
    "groups_statement",
    "hash_of",
    "key_names",
    "keys_statement",
    "sorted_groups",
    "sorted_keys",
]

PEOPLE = "people"
"""Column of the number of users."""

SALT = "emdp: groups of a user"
"""Constant, so that a question that is asked twice keeps the same groups."""

PLACE = "group_place"


def groups_statement(table: TableFacts, groups: OwnedGroups, writing: RowsWriting = DUCKDB_ROWS) -> OwnedStatement:
    """Return the statement: a row a key that some user has, with its users and the sum of each part."""
    rows, lookups = by_user(table, groups, writing)
    kept = first_groups(on_lists(rows, groups.keys), groups, writing)
    keys = {name: sql.column(name, "kept") for name in key_names(groups)}
    counts: dict[str, Sql] = {PEOPLE: exp.Count(this=exp.Star())}
    if not groups.arguments:
        made = sql.select({**keys, **counts}, kept.subquery("kept", copy=False))
    else:
        users = sql.select({OWNER: sql.column(OWNER), ALL_ROWS: user_rows(groups)}, exp.to_table("kept"))
        users = users.group_by(sql.column(OWNER), copy=False)
        same = exp.EQ(this=sql.column(OWNER, "kept"), expression=sql.column(OWNER, "users"))
        parts = summed(capped_parts(groups, sql.column(ALL_ROWS)))
        made = sql.select({**keys, **counts, **parts}, exp.to_table("kept"))
        made = made.join(exp.Join(this=users.subquery("users", copy=False), on=same), copy=False)
        made = made.with_("kept", as_=kept, materialized=True, copy=False)
    return OwnedStatement(made.group_by(*(key.copy() for key in keys.values()), copy=False), lookups)


def first_groups(rows: exp.Select, groups: OwnedGroups, writing: RowsWriting) -> exp.Select:
    """Return the first ``L`` groups of each user, of rows with one for each user and group."""
    names = rows.named_selects
    chosen = sql.select(
        {name: sql.column(name) for name in names}, _numbered(rows, groups, writing).subquery("numbered", copy=False)
    )
    return chosen.where(sql.compare(sql.column(PLACE), "<=", sql.integer(groups.groups_cap)), copy=False)


def keys_statement(table: TableFacts, wanted: OwnedKeys, writing: RowsWriting = DUCKDB_ROWS) -> OwnedStatement:
    """Return the statement: a row a user and key, with the place of the user and that of the key among the user's."""
    rows, lookups = by_user(table, wanted, writing)
    numbered = _numbered(on_lists(rows, wanted.keys), wanted, writing)
    user = hash_of(sql.cast(sql.column(OWNER), "TEXT"), sql.text(SALT))
    order = exp.Order(expressions=[exp.Ordered(this=value) for value in (user, sql.column(OWNER))])
    named = {
        "user_place": exp.Window(this=exp.Anonymous(this="DENSE_RANK"), order=order),
        PLACE: sql.column(PLACE),
        **{name: sql.column(name) for name in key_names(wanted)},
    }
    return OwnedStatement(sql.select(named, numbered.subquery("numbered", copy=False)), lookups)


def sorted_keys(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the statement's rows in the order of users, and of the keys of each."""
    return frame.sort("user_place", PLACE)


def _numbered(rows: exp.Select, groups: OwnedGroups | OwnedKeys, writing: RowsWriting) -> exp.Select:
    """Return rows of users and groups with the place of each group among the user's."""
    names = rows.named_selects
    keys = [sql.column(name) for name in key_names(groups)]
    kinds = [key.node.kind for key in groups.keys]
    values = [sql.cast(sql.column(OWNER), "TEXT")]
    values += [writing.plain_text(key.copy(), kind) for key, kind in zip(keys, kinds, strict=True)]
    texts = [sql.call("COALESCE", value, sql.text("")) for value in values]
    hashed = hash_of(*texts, sql.text(SALT))
    order = [exp.Ordered(this=value, nulls_first=True) for value in (hashed, *keys)]
    place = exp.Window(this=exp.RowNumber(), partition_by=[sql.column(OWNER)], order=exp.Order(expressions=order))
    return sql.select({**{name: sql.column(name) for name in names}, PLACE: place}, rows.subquery("of_user"))


def hash_of(*texts: Sql) -> Sql:
    """Return the MD5 of texts with bars between them, the same on all engines."""
    # By its very name: sqlglot's own function is spelled otherwise by dialect.
    joined = exp.Anonymous(this="CONCAT_WS", expressions=[sql.text("|"), *texts])
    return exp.Anonymous(this="MD5", expressions=[joined])


def key_names(groups: OwnedGroups | OwnedKeys) -> list[str]:
    """Return the names of the columns of keys."""
    return [f"key_{place}" for place in range(len(groups.keys))]


def sorted_groups(frame: pl.DataFrame, groups: OwnedGroups) -> pl.DataFrame:
    """Return the statement's rows in the order of their keys, which tells nothing of where rows stood."""
    names: Sequence[str] = key_names(groups)
    return frame.sort(names, nulls_last=False)
