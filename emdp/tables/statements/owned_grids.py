"""The statements of users' weights on a grid, and of which user has which value (user-level-sql.md, 2.6 and 2.7).

As in :mod:`emdp.tables.statements.owned` rows are grouped by user first, and compared with lists of keys after that.
The order of users in pairs is that of an MD5 of each user alone, ties by the user: nobody's records move anybody else
in it.
"""

import polars as pl
from sqlglot import exp

from emdp.base.errors import InternalError
from emdp.questions.owned.grids import GRID_BITS, OwnedPairs, OwnedWeights
from emdp.rows.types import Kind
from emdp.tables.facts import TableFacts
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.fragments import Sql
from emdp.tables.statements.owned import ALL_ROWS, ROWS, OwnedStatement, has_owner, rows_maker
from emdp.tables.statements.owned_caps import UNIT, capped
from emdp.tables.statements.owned_groups import hash_of
from emdp.tables.statements.owned_lists import CELL, in_cells, lists
from emdp.tables.statements.owned_rows import OWNER, OwnedRows, RowsMaker
from emdp.tables.statements.rows import DUCKDB_ROWS, RowsWriting

__all__ = ["pairs_statement", "sorted_rows", "weights_statement"]

SALT = "emdp: order of users"
"""Constant, so that a question that is asked twice counts alike."""

VALUE = "value_of_row"


def weights_statement(table: TableFacts, wanted: OwnedWeights, writing: RowsWriting = DUCKDB_ROWS) -> OwnedStatement:
    """Return the statement: a row a cell and place of the grid that has weight, in units of ``1/UNIT``."""
    rows, maker = _made(table, wanted, writing)
    place = maker.writing.summand(wanted.node, rows.column, wanted.low, wanted.top, GRID_BITS)
    by_user = _grouped(rows, wanted, place, {ROWS: exp.Count(this=exp.Star())}, maker)
    listed = in_cells(by_user, wanted.keys)
    users = sql.select({OWNER: sql.column(OWNER), ALL_ROWS: exp.Sum(this=sql.column(ROWS))}, exp.to_table("listed"))
    users = users.group_by(sql.column(OWNER), copy=False)
    same = exp.EQ(this=sql.column(OWNER, "listed"), expression=sql.column(OWNER, "users"))
    weight = capped(sql.multiply(sql.column(ROWS), sql.integer(UNIT)), sql.column(ALL_ROWS), wanted.cap)
    named = {CELL: sql.column(CELL), "place": sql.column(VALUE), "weight": exp.Sum(this=sql.cast(weight, "BIGINT"))}
    made = sql.select(named, exp.to_table("listed"))
    made = made.join(exp.Join(this=users.subquery("users", copy=False), on=same), copy=False)
    made = made.group_by(sql.column(CELL), sql.column(VALUE), copy=False)
    query = made.with_("listed", as_=listed, materialized=True, copy=False)
    return OwnedStatement(query, {**maker.lookups, **lists(wanted.keys)})


def pairs_statement(table: TableFacts, wanted: OwnedPairs, writing: RowsWriting = DUCKDB_ROWS) -> OwnedStatement:
    """Return the statement: a row a user, cell and value, each user and value by its place in an order."""
    rows, maker = _made(table, wanted, writing)
    by_user = _grouped(rows, wanted, maker.writing.row_expression(wanted.node, rows.column), {}, maker)
    if wanted.node.kind is Kind.DOUBLE:
        by_user = by_user.where(sql.negate(exp.IsNan(this=sql.column(VALUE))), copy=False)
    hashed = hash_of(sql.cast(sql.column(OWNER), "TEXT"), sql.text(SALT))
    named = {
        CELL: sql.column(CELL),
        "user_place": _rank(hashed, sql.column(OWNER)),
        "value_place": _rank(sql.column(CELL), sql.column(VALUE)),
    }
    query = sql.select(named, in_cells(by_user, wanted.keys).subquery("listed", copy=False))
    return OwnedStatement(query, {**maker.lookups, **lists(wanted.keys)})


def sorted_rows(frame: pl.DataFrame, wanted: OwnedWeights | OwnedPairs) -> pl.DataFrame:
    """Return a statement's rows in the order of their content; pairs in that of users, then values."""
    return frame.sort([CELL, "place"] if isinstance(wanted, OwnedWeights) else ["user_place", "value_place"])


def _made(table: TableFacts, wanted: OwnedWeights | OwnedPairs, writing: RowsWriting) -> tuple[OwnedRows, RowsMaker]:
    maker = rows_maker(table, wanted, writing)
    return maker.rows(wanted.relation), maker


def _grouped(
    rows: OwnedRows, wanted: OwnedWeights | OwnedPairs, value: Sql, counts: dict[str, Sql], maker: RowsMaker
) -> exp.Select:
    """Return a row a user, group and value that is there."""
    if rows.owner is None:
        raise InternalError("values were asked for of rows that nobody owns; please report this.")
    keys = {
        f"key_{place}": maker.writing.row_expression(key.node, rows.column) for place, key in enumerate(wanted.keys)
    }
    inner = rows.select({OWNER: rows.owner.copy(), **keys, VALUE: value}).subquery("owned_rows", copy=False)
    named = [OWNER, *keys, VALUE]
    grouped = sql.select({**{name: sql.column(name) for name in named}, **counts}, inner)
    grouped = grouped.group_by(*map(sql.column, named), copy=False)
    made = sql.select({name: sql.column(name) for name in (*named, *counts)}, grouped.subquery("grouped", copy=False))
    return made.where(
        has_owner(maker.table), exp.Not(this=exp.Is(this=sql.column(VALUE), expression=exp.Null())), copy=False
    )


def _rank(*values: Sql) -> Sql:
    order = exp.Order(expressions=[exp.Ordered(this=value) for value in values])
    return exp.Window(this=exp.Anonymous(this="DENSE_RANK"), order=order)
