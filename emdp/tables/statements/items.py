"""The statements behind releases that randomize items or users one by one: counts, bags, items, means.

All stand on the inner layer of :mod:`emdp.tables.statements.compile`, so that NULL, NaN and whatever is invalid follow
the same rule as everywhere. An item of a finite space is its row in :func:`emdp.spaces.items.finite_items`: the codes
of the parts in mixed radix, as whole doubles below ``2**53``, hence exactly. The code of a grid's cell is arithmetic;
that of a listed value stands in a public table of the labels, and a row that finds none has the neutral item's.

Users. Rows without a user, and of users who are not on the public list, are left out of everything that goes by user.
A statement that gives one row a record or an item does not look at users at all: the check of the declared rules,
which a session runs before the first charge, has found that all records belong to public users.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from sqlglot import exp

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.expressions import Expression
from emdp.spaces import Space
from emdp.spaces.combined.grid import Grid
from emdp.spaces.items import part_counts
from emdp.tables.facts import TableFacts
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.compile import (
    USER,
    clean_names,
    elsewhere_parts,
    is_somewhere,
    item_rows,
    label_text,
    lookup_join,
    name_in_items,
)
from emdp.tables.statements.fragments import Sql
from emdp.tables.statements.linear import is_public, means_statement

__all__ = [
    "MOST_COUNTED",
    "ItemStatement",
    "bags_statement",
    "counts_statement",
    "of_users",
    "points_statement",
    "user_keys_statement",
    "user_means_statement",
]

MOST_COUNTED = 2**24
"""Most items of a space whose records are counted in one array (128 MB)."""

LARGEST_CODE = 2**53
"""Codes are whole doubles, exact up to here."""

CODE_TYPES = (
    (2**8, exp.DataType.Type.UTINYINT),
    (2**16, exp.DataType.Type.USMALLINT),
    (2**32, exp.DataType.Type.UINT),
    (LARGEST_CODE, exp.DataType.Type.UBIGINT),
)
"""Types of codes by the number of items: DuckDB groups by a small integer faster than by a double."""

WHOLE_KEYS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
"""Types of user keys that are compared as 64-bit integers, five times faster; any other is compared as text."""

NUMBERED_USERS = "numbered_users"
"""Name of the public table of the listed users with their row numbers."""

CODE, RECORDS, NUMBER = "code", "records", "number"
"""Names of columns."""


@dataclass(frozen=True, eq=False)
class ItemStatement:
    """A checked statement."""

    # Its rows stand in the order of users, if they have any: then the first column is the user's row number on the
    # public list or, where only the number of users is public, a key, NULL for rows without a user.
    query: exp.Select
    lookups: Mapping[str, pl.DataFrame]  # Public tables that it joins
    exponents: tuple[int, ...] = ()  # Of means: fixed-point exponent of each expression
    # Of means: each expression's value at the space's neutral item, with which users without records count.
    neutral_values: tuple[float, ...] = ()


def counts_statement(table: TableFacts) -> ItemStatement:
    """Return the statement of one row an item that occurs: its code, and how many records are that item.

    Raises
    ------
    UsageError
        If the space is not finite, or has more than ``MOST_COUNTED`` items.
    """
    items = math.prod(_checked_counts(table.space)) + (table.space.elsewhere is not None)
    if items > MOST_COUNTED:
        raise UsageError(
            f"the space has {items} items, and records of at most {MOST_COUNTED} are counted; use a coarser space."
        )
    rows, lookups = _coded_rows(table, by_user=False)
    counted = sql.select({CODE: sql.column(CODE), RECORDS: exp.Count(this=exp.Star())}, rows.subquery("coded"))
    return ItemStatement(counted.group_by(sql.column(CODE), copy=False), lookups)


def bags_statement(table: TableFacts) -> ItemStatement:
    """Return the statement of one row a user and item: the user, the item's code, how many records of the user it is.

    Raises
    ------
    UsageError
        If the space is not finite, or has more items than doubles can number.
    """
    rows, lookups = _coded_rows(table, by_user=True)
    columns = {USER: sql.column(USER), CODE: sql.column(CODE), RECORDS: exp.Count(this=exp.Star())}
    bags = sql.select(columns, rows.subquery("coded")).group_by(sql.column(USER), sql.column(CODE), copy=False)
    return of_users(table, bags, lookups, (CODE, RECORDS), order=(CODE,))


def points_statement(table: TableFacts, *, by_user: bool) -> ItemStatement:
    """Return the statement of one row a record: with ``by_user`` the user, then the columns of the encoded item.

    A user's rows stand in no order: sorting them block by block is cheaper than by the engine, whose sort slows down
    fourfold where keys take more than 24 bytes. A record that is elsewhere has NULL in all columns of the item.
    """
    values, joins, lookups = _encoded(table.space)
    if elsewhere_parts(table.space):
        values = [sql.case([(is_somewhere(table.space), value)], exp.Null()) for value in values]
    names = [f"item_{number}" for number in range(len(values))]
    columns = dict(zip(names, values, strict=True))
    rows = _with_joins(table, {USER: sql.column(USER), **columns} if by_user else columns, joins)
    if not by_user:
        return ItemStatement(rows, lookups)
    return of_users(table, rows, lookups, names, order=())


def user_means_statement(table: TableFacts, expressions: Sequence[Expression]) -> ItemStatement:
    """Return the statement of one row a user with records: the user, then the fixed-point mean of each expression."""
    means = means_statement(table, expressions)
    names = [f"mean_{index}" for index in range(len(expressions))]
    columns = {name: sql.cast(sql.column(name), "BIGINT") for name in names}
    rows = sql.select({USER: sql.column(USER), **columns}, means.query.subquery("per_user", copy=False))
    made = of_users(table, rows, means.lookups, names, order=())
    return ItemStatement(made.query, made.lookups, means.exponents, means.neutral_values)


def user_keys_statement(table: TableFacts) -> exp.Select:
    """Return the statement of one row a public user with a record, whatever it is: the key, as text."""
    rows = item_rows(table, ()).subquery("items", copy=False)
    keys = sql.select({"key": sql.cast(sql.column(USER), "TEXT")}, rows)
    return keys.where(is_public(table), copy=False).distinct(copy=False)


def of_users(
    table: TableFacts,
    rows: exp.Select,
    lookups: Mapping[str, pl.DataFrame],
    names: Sequence[str],
    *,
    order: Sequence[str],
) -> ItemStatement:
    """Return a statement for rows by user: the user's number or key first, in its order."""
    is_whole = table.type_of(table.user).upper() in WHOLE_KEYS
    key = sql.column(USER) if is_whole else sql.cast(sql.column(USER), "TEXT")
    listed = table.users.keys
    number = key if listed is None else sql.column(NUMBER)
    columns = {NUMBER: number, **{name: sql.column(name) for name in names}}
    query = sql.select(columns, rows.subquery("by_user", copy=False))
    if listed is not None:
        same = exp.EQ(this=key, expression=sql.column("key"))
        query = query.join(exp.Join(this=exp.to_table(NUMBERED_USERS), on=same), copy=False)
        lookups = {**lookups, NUMBERED_USERS: _numbered(listed, is_whole=is_whole)}
    return ItemStatement(query.order_by(*map(sql.column, (NUMBER, *order)), copy=False), lookups)


def _numbered(listed: pl.Series, *, is_whole: bool) -> pl.DataFrame:
    """Return the public list with row numbers, its keys as the engine compares them."""
    # Sorted faster than 64-bit numbers.
    kind = np.int32 if len(listed) < 2**31 else np.int64
    frame = pl.DataFrame({"key": listed, NUMBER: np.arange(len(listed), dtype=kind)})
    if not is_whole:
        return frame
    # A text such as 007 is the key of no whole number: what counts is the text of the number itself.
    whole = frame.with_columns(whole=pl.col("key").cast(pl.Int64, strict=False))
    return whole.filter(pl.col("whole").cast(pl.String) == pl.col("key")).select(key="whole", number=NUMBER)


def _coded_rows(table: TableFacts, *, by_user: bool) -> tuple[exp.Select, Mapping[str, pl.DataFrame]]:
    """Return the layer of one row a record: the code of its item, and with ``by_user`` its user."""
    counts = _checked_counts(table.space)
    values, joins, lookups = _encoded(table.space)
    strides = [math.prod(counts[place + 1 :]) for place in range(len(counts))]
    terms = [
        value if stride == 1 else sql.multiply(value, sql.number(stride))
        for value, stride in zip(values, strides, strict=True)
    ]
    kind = next(kind for limit, kind in CODE_TYPES if math.prod(counts) < limit)
    code: Sql = exp.Cast(this=sql.total(terms), to=exp.DataType(this=kind))
    if elsewhere_parts(table.space):
        absent = exp.Cast(this=sql.integer(math.prod(counts)), to=exp.DataType(this=kind))
        code = sql.case([(is_somewhere(table.space), code)], absent)
    columns: dict[str, Sql] = {USER: sql.column(USER), CODE: code} if by_user else {CODE: code}
    return _with_joins(table, columns, joins), lookups


def _with_joins(table: TableFacts, columns: Mapping[str, Sql], joins: Sequence[exp.Join]) -> exp.Select:
    every = range(len(table.space.parts))
    rows = sql.select(columns, item_rows(table, every).subquery("items", copy=False))
    for join in joins:
        rows = rows.join(join, copy=False)
    return rows


def _encoded(space: Space) -> tuple[list[Sql], list[exp.Join], dict[str, pl.DataFrame]]:
    """Return the columns of an encoded item as DOUBLE, with the public tables of codes that they stand in."""
    values: list[Sql] = []
    joins: list[exp.Join] = []
    lookups: dict[str, pl.DataFrame] = {}
    for index, part in enumerate(space.parts):
        if part.labels is None:
            values += [sql.column(name_in_items(index, name, part)) for name in clean_names(part)]
            continue
        name = f"lookup_{index}"
        labels = [label_text(label) for label in part.labels]
        lookups[name] = pl.DataFrame({"label": labels, CODE: np.arange(len(labels), dtype=np.float64)})
        joins.append(lookup_join(index))
        values.append(sql.call("COALESCE", sql.column(CODE, name), sql.number(float(part.neutral_item[0, 0]))))
    return values, joins, lookups


def _checked_counts(space: Space) -> tuple[int, ...]:
    counts = part_counts(space)
    if counts is None:
        raise UsageError(
            f"{space.noun} has no finite list of items; read the table with {Grid.__name__}, or with listed values."
        )
    if math.prod(counts) >= LARGEST_CODE:
        raise UsageError(f"the space has {math.prod(counts)} items, too many to number; leave out a part.")
    return counts
