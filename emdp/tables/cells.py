"""The statement of an aggregation: integers of records, spread over cells, added up user by user, then over users.

A record's value is an integer ``a`` in units of ``2**-exponent``, split along every hat axis and weighed under a cap
as ``expressions/fixed_point.py`` says. Records are grouped by user and *base cell*, the cell of the lower node on every
hat axis, with a sum for each *corner* above it; only sums over all users are handed on to the corners' own cells. So
records are never multiplied by their corners, and cells that no record reaches cost nothing.

A user's mean. The sums of a user and base cell are divided by the user's number of records and rounded to multiples of
``2**-(exponent + MEAN_BITS)``. For one value, with ``h`` hat axes and ``B`` base cells of the user, the result differs
from the mean of the computed values times their weights by at most ``2**h + h/2 + 1/4 + B 2**(h - 11)`` units in the
1-norm, plus ``2**52`` units times the sum over the axes of the error of ``u``. Proof: rounding a record costs 1/2; its
``2**h - 1`` splits move 1/2 each and, by the error of products, ``h/4`` in all, which counts at both ends; a mean over
records keeps that. A quotient of doubles is off by at most ``3 * 2**-53`` (a negative HUGEINT is converted with two
roundings), 3/4 of a unit in all, and each corner is rounded by ``2**-11``. Hats are a partition of unity that moves by
at most twice as much as ``u`` in the 1-norm.

A user's capped total. The sums of ``C a`` are exact, and in the 1-norm over cells at most ``max|a|`` times the sum of
``C``, whatever the number of records. A user over the cap is scaled down in doubles, with a relative error below
``2**-50``, and rounded to multiples of ``2**-(exponent + WEIGHT_BITS)``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl
from sqlglot import exp

from emdp.expressions.aggregation import Aggregation
from emdp.expressions.cells import cell_values
from emdp.expressions.fixed_point import WEIGHT_BITS
from emdp.tables import fragments as sql
from emdp.tables.compile import USER, compile_items
from emdp.tables.fragments import Sql
from emdp.tables.layout import Layout, layout_of
from emdp.tables.linear import is_public
from emdp.tables.table import Table

__all__ = ["CellStatement", "cell_statement"]

MEAN_BITS = 10
"""Bits below the unit that a user's mean in a corner of a cell keeps: with the 51 above, and a sign, fewer than 64."""

MOST_RECORDS = 2**50
"""Records that no user has: a larger cap is taken for this one, with which a total of 51 and 24 bits fits a HUGEINT."""

CHOSEN_USERS = "chosen_users"
"""Name of the public table of the users that count, with their groups."""

WEIGHT, BASE, GROUP, PRESENT = "weight", "base_cell", "user_group", "present"
COUNTED, USER_WEIGHT = "counted_user", "user_weight"
"""Names of columns of the statement's layers."""


@dataclass(frozen=True, eq=False)
class CellStatement:
    """A checked statement for the sums behind an aggregation.

    Parameters
    ----------
    query : Sql
        Rows in no order: a group of users; a base cell (negative or NULL: none); the number of the group's users with
        records, or NULL; then for each value and each corner the sum over users, in the value's unit.
    lookups : mapping of str to polars.DataFrame
        Public tables that the statement joins.
    units : tuple of Fraction
        Unit of each value's sums.
    absent : mapping of int to Fraction
        What a user without records counts with, by coordinate, where that is not 0.
    """

    query: Sql
    lookups: Mapping[str, pl.DataFrame]
    units: tuple[Fraction, ...]
    absent: Mapping[int, Fraction]


def cell_statement(table: Table, aggregation: Aggregation) -> CellStatement:
    """Return the statement of an aggregation, in one scan of the records.

    Raises
    ------
    UsageError
        If a value or an axis does not fit the table's space.
    """
    neutral = cell_values(aggregation, table.space, table.space.neutral_item)[0]
    layout = layout_of(aggregation, table.space)
    records, lookups = _records(table, layout)
    if layout.has_cells:
        records = _in_corners(_in_base_cells(records, layout), layout)
    query = _over_users(_per_user(records, layout), table, aggregation, layout)
    if aggregation.users is not None:
        chosen = {"key": aggregation.users.keys, GROUP: aggregation.users.groups}
        lookups = {**lookups, CHOSEN_USERS: pl.DataFrame(chosen)}
    is_total = aggregation.cap is not None
    absent = {} if is_total else {int(at): Fraction(float(neutral[at])) for at in np.flatnonzero(neutral)}
    bits = WEIGHT_BITS if is_total else MEAN_BITS if layout.has_cells else 0
    units = tuple(Fraction(2) ** -(exponent + bits) for exponent in layout.exponents)
    return CellStatement(query, lookups, units, absent)


def _records(table: Table, layout: Layout) -> tuple[exp.Select, Mapping[str, pl.DataFrame]]:
    """Return the layer with one row a record: its integers, its weight, its place along each axis."""
    weights = () if layout.weight is None else (layout.weight,)
    spread = tuple(axis.expression for axis in layout.hats.values())
    items = compile_items(table, (*layout.values, *weights, *layout.labels.values(), *spread))
    found = iter(items.values)
    columns = {USER: sql.column(USER)}
    for name, exponent in zip(layout.shares(0), layout.exponents, strict=True):
        columns[name] = sql.cast(sql.shift(next(found), exponent), "BIGINT")
    for _ in weights:
        columns[WEIGHT] = sql.cast(sql.shift(next(found), WEIGHT_BITS), "BIGINT")
    for position in layout.labels:
        columns[f"cell_{position}"] = sql.cast(next(found), "BIGINT")
    for position, axis in layout.hats.items():
        steps = sql.divide(sql.subtract(next(found), sql.number(axis.start)), sql.number(axis.step))
        # One node more on a periodic axis: it is node 0 again.
        last = sql.number(axis.size if axis.is_periodic else axis.size - 1)
        columns[f"place_{position}"] = sql.call("LEAST", sql.call("GREATEST", steps, sql.number(0)), last)
    rows = sql.select(columns, items.relation)
    for join in items.joins:
        rows = rows.join(join, copy=False)
    return rows, items.lookups


def _in_base_cells(rows: exp.Select, layout: Layout) -> exp.Select:
    """Add layers that make places along the axes one base cell, negative for none, and fractions of a step above it."""
    kept = (*_kept(layout), *layout.shares(0))
    places = _columns((*(f"cell_{at}" for at in layout.labels), *(f"place_{at}" for at in layout.hats)))
    nodes: dict[str, Sql] = {}
    for position, axis in layout.hats.items():
        last = sql.number(axis.size - 1 if axis.is_periodic else axis.size - 2)
        nodes[f"node_{position}"] = sql.call("LEAST", sql.call("FLOOR", sql.column(f"place_{position}")), last)
    rows = _layer({**_columns(kept), **places, **nodes}, rows)
    steps = {position: sql.column(f"cell_{position}") for position in layout.labels}
    steps.update((position, sql.cast(sql.column(f"node_{position}"), "BIGINT")) for position in layout.hats)
    cell = sql.total(sql.multiply(step, sql.integer(layout.stride(position))) for position, step in steps.items())
    if layout.labels:
        outside = sql.either(sql.compare(steps[position].copy(), "<", sql.integer(0)) for position in layout.labels)
        cell = sql.case([(outside, sql.integer(-1))], cell)
    fractions = {
        f"fraction_{at}": sql.subtract(sql.column(f"place_{at}"), sql.column(f"node_{at}")) for at in layout.hats
    }
    return _layer({**_columns(kept), BASE: cell, **fractions}, rows)


def _in_corners(rows: exp.Select, layout: Layout) -> exp.Select:
    """Add a layer for each hat axis that splits every integer between the two nodes around it."""
    positions = list(layout.hats)
    for splits, position in enumerate(positions):
        later = (f"fraction_{other}" for other in positions[splits + 1 :])
        columns = _columns((*_kept(layout), BASE, *later))
        halves = iter(layout.shares(splits + 1))
        for name in layout.shares(splits):
            part = sql.multiply(sql.column(name), sql.column(f"fraction_{position}"))
            upper = sql.cast(part, "BIGINT")
            columns[next(halves)] = sql.subtract(sql.column(name), upper)
            columns[next(halves)] = upper.copy()
        rows = _layer(columns, rows)
    return rows


def _per_user(rows: exp.Select, layout: Layout) -> exp.Select:
    """Return the layer with one row a user and base cell: its weight and the exact sums of its integers."""
    keys = (USER, BASE) if layout.has_cells else (USER,)
    columns = _columns(keys)
    columns[WEIGHT] = exp.Count(this=exp.Star()) if layout.weight is None else exp.Sum(this=sql.column(WEIGHT))
    for name in layout.shares(len(layout.hats)):
        share = sql.column(name)
        if layout.weight is not None:
            share = sql.multiply(sql.cast(share, "HUGEINT"), sql.column(WEIGHT))
        columns[name] = exp.Sum(this=share)
    return _layer(columns, rows).group_by(*map(sql.column, keys), copy=False)


def _over_users(per_user: exp.Select, table: Table, aggregation: Aggregation, layout: Layout) -> Sql:
    """Return the statement: sums over the users that count, in their groups, of each user's mean or capped total."""
    shares = layout.shares(len(layout.hats))
    sums: dict[str, Sql] = {name: exp.Sum(this=_user_share(name, layout)) for name in shares}
    if not layout.has_cells:
        users = _counted(per_user, _columns(shares), table, aggregation)
        columns = {GROUP: sql.column(GROUP), BASE: sql.integer(0), PRESENT: exp.Count(this=exp.Star()), **sums}
        return _layer(columns, users).group_by(sql.column(GROUP), copy=False)
    weights = {USER: sql.column(USER), WEIGHT: exp.Sum(this=sql.column(WEIGHT))}
    all_users = sql.select(weights, exp.to_table("spread")).group_by(sql.column(USER), copy=False)
    users = _counted(all_users, {}, table, aggregation)
    same_user = exp.EQ(this=sql.column(USER), expression=sql.column(COUNTED))
    keys = {GROUP: sql.column(GROUP), BASE: sql.column(BASE)}
    cells = sql.select({**keys, PRESENT: exp.Null(), **sums}, exp.to_table("spread"))
    cells = cells.join(exp.Join(this=exp.to_table("users"), on=same_user), copy=False)
    cells = cells.group_by(*(key.copy() for key in keys.values()), copy=False)
    absent: dict[str, Sql] = {BASE: exp.Null(), PRESENT: exp.Count(this=exp.Star())}
    absent.update((name, exp.Null()) for name in shares)
    present = sql.select({GROUP: sql.column(GROUP), **absent}, exp.to_table("users"))
    query = exp.union(cells, present.group_by(sql.column(GROUP), copy=False), distinct=False, copy=False)
    query = query.with_("spread", as_=per_user, materialized=True, copy=False)
    return query.with_("users", as_=users, materialized=True, copy=False)


def _user_share(name: str, layout: Layout) -> Sql:
    """Return a user's mean or capped total of one sum as an integer."""
    total, weight = sql.column(name), sql.column(USER_WEIGHT)
    if layout.cap is None:
        mean = sql.divide(total, weight)
        return sql.cast(sql.multiply(mean, sql.number(2**MEAN_BITS)) if layout.has_cells else mean, "BIGINT")
    cap = min(layout.cap, MOST_RECORDS)
    unit = sql.integer(2**WEIGHT_BITS)
    limit, whole = (cap, sql.multiply(total, unit)) if layout.weight is None else (cap * 2**WEIGHT_BITS, total)
    # Not 0, in case an engine computes what the test leaves out.
    share = sql.divide(sql.number(cap * 2**WEIGHT_BITS), sql.call("GREATEST", weight.copy(), sql.integer(1)))
    scaled = sql.cast(sql.multiply(total.copy(), share), "HUGEINT")
    return sql.case([(sql.compare(weight, "<=", sql.integer(limit)), whole)], scaled)


def _counted(rows: exp.Select, columns: Mapping[str, Sql], table: Table, aggregation: Aggregation) -> exp.Select:
    """Return the public users that count among some rows of one a user, with their weights and groups."""
    group = sql.integer(0) if aggregation.users is None else sql.column(GROUP)
    users = _layer({COUNTED: sql.column(USER), USER_WEIGHT: sql.column(WEIGHT), GROUP: group, **columns}, rows)
    if aggregation.users is not None:
        key = exp.EQ(this=sql.cast(sql.column(USER), "TEXT"), expression=sql.column("key"))
        users = users.join(exp.Join(this=exp.to_table(CHOSEN_USERS), on=key), copy=False)
    return users.where(is_public(table), copy=False)


def _kept(layout: Layout) -> tuple[str, ...]:
    """Return what every layer of records hands on."""
    return (USER,) if layout.weight is None else (USER, WEIGHT)


def _columns(names: Iterable[str]) -> dict[str, Sql]:
    return {name: sql.column(name) for name in names}


def _layer(columns: Mapping[str, Sql], rows: exp.Select) -> exp.Select:
    return sql.select(columns, rows.subquery("layer", copy=False))
