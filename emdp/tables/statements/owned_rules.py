"""The statement of capped sums over rows with owners that holds every record against the declared rules in the same
scan.

**Claim.** Where the statement has one row of the cell ``RULES``, and that has 0, no declared rule of the table is
broken, and the other rows are those of :func:`emdp.tables.statements.owned.owned_statement`.

**Proof.** *Each record is a row once.* A condition leaves no row out here: it is a column, ``kept``, true where all
conditions are. A join with a public relation is a LEFT join, of which each record has one row at most
(:func:`_is_to_one`: by an equality with a column of whole numbers or texts in which no value stands twice, so that two
of its rows never equal one value; or with a table of at most one row), and of an inner join ``kept`` asks besides that
there is a partner. So rows that are kept are the rows of the relation. *Rules.* Tests and hash of a record are those of
:func:`emdp.tables.statements.rules.rules_statement`, over the same layers of the same source, joined to public tables
in which each label stands once. They are added up by user and group, and then over all groups, of rows that are kept
and of others, with a user and without, listed or not; so they are 0 only where that statement's are. Users are counted
with all of their records. *Sums.* A row that is not kept has no value in any argument and key, and does not count in
the number of a group's rows, so that it adds nothing; groups in which no row is kept are left out, as they would not be
there. Sums of integers do not depend on what stands beside them.

The converse is not needed: where anything is not 0, or the statement fails, it said nothing, and the rules are checked
by their own statement.

What is not checked so (:func:`may_be_checked`): filters and joins over Parquet files, frames and tables of DuckDB,
where the scan of the rules reads few columns and groups nothing but users, so that one scan took 1.1 to 1.5 times the
CPU of two (of a CSV file, which is parsed whole in each, 0.6 to 0.8 times); linked tables, whose rules are about
several sources; records that are elsewhere, and words, which leave out records or double them before; sub-queries,
groups, windows and joins of rows with owners.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl
from sqlglot import exp

from emdp.questions.owned.parts import relations
from emdp.questions.owned.relations import Filtered, Joined, Private, Public
from emdp.questions.owned.totals import Argument, OwnedTotals
from emdp.rows.nodes import Call, Column, Node, columns
from emdp.rows.types import Kind
from emdp.spaces import Words
from emdp.tables.facts import TableFacts
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.bags import BROKEN, DIGEST
from emdp.tables.statements.compile import USER, elsewhere_parts, reads_users_apart
from emdp.tables.statements.fragments import Sql
from emdp.tables.statements.owned import (
    ROWS,
    OwnedStatement,
    group_columns,
    of_users,
    over_users,
    owned_rows,
    used_columns,
)
from emdp.tables.statements.owned_lists import CELL, lists
from emdp.tables.statements.owned_rows import OWNER, RowsMaker
from emdp.tables.statements.rows import DUCKDB_ROWS
from emdp.tables.statements.rules import total, user_breaches

__all__ = ["RULES", "checked_owned", "may_be_checked", "rows_if_held"]

KEPT, RECORDS = "kept", "records"

RULES = -1
"""What the row of the rules has as its cell."""


def may_be_checked(table: TableFacts, totals: OwnedTotals) -> bool:
    """Say whether the statement can hold all records against the rules; the module says where not."""
    space, relation = table.space, totals.relation
    if table.linked or elsewhere_parts(space) or any(isinstance(part, Words) for part in space.parts):
        return False
    # Of columns that are read at little cost, two scans cost less than groups of the records that are left out.
    while isinstance(relation, Filtered | Joined) and not reads_users_apart(table):
        if isinstance(relation, Joined) and not _is_to_one(relation, totals):
            return False
        relation = relation.relation
    return isinstance(relation, Private)


def checked_owned(table: TableFacts, totals: OwnedTotals) -> OwnedStatement:
    """Return the statement, of which :func:`rows_if_held` makes the rows of the one without rules."""
    maker = RowsMaker(table, totals.public, used_columns(totals), is_checked=True)
    rows = maker.rows(totals.relation)
    (private,) = (one.alias for one in relations(totals.relation) if isinstance(one, Private))
    test: Sql = sql.call("COALESCE", sql.both(rows.conditions), exp.false()) if rows.conditions else exp.true()
    of_rules = {name: sql.column(name, f"private_{private}") for name in (BROKEN, DIGEST)}
    made = owned_rows(replace(rows, conditions=()), totals, DUCKDB_ROWS, **{KEPT: test}, **of_rules)
    keys, sums = group_columns(totals)
    values = [*keys, *(f"{name}_{place}" for place, one in enumerate(totals.arguments) for name in _names(one))]
    kept = {name: sql.case([(sql.column(KEPT), sql.column(name))], exp.Null()) for name in values}
    held = {name: sql.column(name) for name in (OWNER, KEPT, BROKEN, DIGEST)}
    # Counted as COUNT(*) is, of the same type.
    sums[ROWS] = exp.Count(this=sql.case([(sql.column(KEPT), sql.integer(1))], exp.Null()))
    facts: dict[str, Sql] = {
        RECORDS: exp.Count(this=exp.Star()),
        BROKEN: exp.CountIf(this=sql.column(BROKEN)),
        DIGEST: exp.Anonymous(this="bit_xor", expressions=[sql.column(DIGEST)]),
    }
    grouped = sql.select({OWNER: sql.column(OWNER), **keys, **sums, **facts}, _layer({**held, **kept}, made))
    grouped = grouped.group_by(sql.column(OWNER), *(key.copy() for key in keys.values()), copy=False)
    there = sql.compare(sql.column(ROWS), ">", sql.integer(0))
    by_user = of_users(exp.to_table("grouped"), totals, table).where(there, copy=False)
    query = _with_rules(over_users(by_user, totals), table, totals)
    query = query.with_("grouped", as_=grouped, materialized=True, copy=False)
    return OwnedStatement(query, {**maker.lookups, **lists(totals.keys)})


def rows_if_held(rows: Sequence[Sequence[Any]]) -> list[Sequence[Any]] | None:
    """Return the rows without that of the rules; None unless that says that no rule is broken."""
    rules = [row for row in rows if row[0] == RULES]
    if len(rules) != 1 or rules[0][1] != 0:
        return None
    return [row[:-1] for row in rows if row[0] != RULES]


def _names(argument: Argument) -> list[str]:
    """Return the first part of the names of an argument's columns."""
    named = (("argument", argument.node), ("weight", argument.weight))
    return [name for name, node in named if node is not None]


def _layer(columns: Mapping[str, Sql], rows: Sql) -> Sql:
    return sql.select(columns, rows).subquery("kept_rows", copy=False)


def _with_rules(query: exp.Select, table: TableFacts, totals: OwnedTotals) -> exp.Union:
    """Add the row of the rules: whether any is broken, by users and their numbers of records, and by records."""
    parts = [f"part_{place}" for place in range(totals.parts)]
    shown = {name: sql.column(name) for name in (CELL, *parts)}
    cells = sql.select({**shown, DIGEST: exp.Null()}, query.subquery("cells", copy=False))
    counts = sql.select({USER: sql.column(OWNER), RECORDS: total(sql.column(RECORDS))}, exp.to_table("grouped"))
    counts = counts.group_by(sql.column(OWNER), copy=False)
    columns = ("missing", "unlisted", "other")
    users = sql.select(dict(zip(columns, user_breaches(table), strict=True)), counts.subquery("counts", copy=False))
    hashed = exp.Anonymous(this="bit_xor", expressions=[sql.column(DIGEST)])
    records = sql.select({BROKEN: total(sql.column(BROKEN)), DIGEST: hashed}, exp.to_table("grouped"))
    any_broken = sql.either(exp.NEQ(this=sql.column(name), expression=sql.integer(0)) for name in (*columns, BROKEN))
    row: dict[str, Sql] = {CELL: sql.integer(RULES)}
    row |= dict.fromkeys(parts, exp.Null()) | {parts[0]: sql.case([(any_broken, sql.integer(1))], sql.integer(0))}
    # The hash is a part of what is given, so that it is computed.
    rules = sql.select({**row, DIGEST: sql.column(DIGEST)}, users.subquery("of_users", copy=False))
    rules = rules.join(exp.Join(this=records.subquery("of_records", copy=False), kind="CROSS"), copy=False)
    return exp.union(cells, rules, distinct=False, copy=False)


def _is_to_one(joined: Joined, totals: OwnedTotals) -> bool:
    """Say whether each row has one partner at most: a row of a public table."""
    if not isinstance(joined.other, Public):
        return False
    frame, alias = totals.public[joined.other.source], joined.other.alias
    return len(frame) <= 1 or any(
        _names_one(own, other, alias, frame)
        for condition in _all_of(joined.condition)
        if isinstance(condition, Call) and condition.function == "equal"
        for own, other in (condition.arguments, condition.arguments[::-1])
    )


def _names_one(own: Node, other: Node, alias: str, frame: pl.DataFrame) -> bool:
    """Say whether a node is a column of the public table with no value twice, and the other one reads none of it."""
    if not isinstance(own, Column) or own.table != alias or any(column.table == alias for column in columns(other)):
        return False
    values = frame.get_column(own.name).drop_nulls()
    is_exact = own.kind is other.kind and own.kind in (Kind.BIGINT, Kind.TEXT)
    return is_exact and values.n_unique() == len(values)


def _all_of(condition: Node | None) -> list[Node]:
    """Return the conditions that a condition asks all of."""
    if isinstance(condition, Call) and condition.function == "and":
        return [one for own in condition.arguments for one in _all_of(own)]
    return [] if condition is None else [condition]
