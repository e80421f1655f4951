"""The statement of an aggregation: integers of records, spread over cells, added up user by user, then over users.

A record's value is an integer ``a`` in units of ``2**-exponent``, split along every hat axis and weighed under a cap
as ``expressions/numbers/fixed_point.py`` says; ``spread.py`` has the layers that do so. Records are grouped by user and
*base cell*, the cell of the lower node on every hat axis, with a sum for each *corner* above it; only sums over all
users are handed on to the corners' own cells. So records are never multiplied by their corners, and cells that no
record reaches cost nothing.

A user's mean, in one scan. The sums of a user and base cell are divided by the user's number of records and rounded
to multiples of ``2**-(exponent + MEAN_BITS)``. For one value, with ``h`` hat axes and ``B`` base cells of the user,
the result differs from the mean of the computed values times their weights by at most ``2**h + h/2 + 1/4 +
B 2**(h - 11)`` units in the 1-norm, plus ``2**52`` units times the sum over the axes of the error of ``u``. Proof:
rounding a record costs 1/2; its ``2**h - 1`` splits move 1/2 each and, by the error of products, ``h/4`` in all, which
counts at both ends; a mean over records keeps that. A quotient of doubles is off by at most ``3 * 2**-53`` (a negative
HUGEINT is converted with two roundings), 3/4 of a unit in all, and each corner is rounded by ``2**-11``. Hats are a
partition of unity that moves by at most twice as much as ``u`` in the 1-norm.

With slots the sums are divided by the larger of the slots and the number of the user's records that are somewhere, a
whole number too: what is said of quotients above holds, and nobody is added up with users of as many records.

A user's mean, in two scans, which costs a third: records are counted user by user, and then added up over all users of
as many records at once, in few sums that stay in the processor's cache. Those sums ``A`` are exact, and ``A/n`` is
rounded by less than ``2**-(exponent + SHARED_BITS)``. That is no rounding of one user's mean, so what counts is what a
changed user does: only sums with the user's old or new number of records, in base cells with the user's old or new
records, are other than before, so of two neighbouring tables all but ``2 B`` of them are the same, ``B`` from each. The
change of the statistic differs from that of the means of integers by less than ``2**(h + 2) B`` multiples of
``2**-SHARED_BITS`` units, half of which counts at each end: ``2**h + h/2 - 1/2 + B 2**(h - 19)`` units in the 1-norm
in place of the bound above, and less for every coordinate, too.

A user's capped total, in one scan. The sums of ``C a`` are exact, and in the 1-norm over cells at most ``max|a|`` times
the sum of ``C``, whatever the number of records. A user over the cap is scaled down in doubles, with a relative error
below ``2**-50``, and rounded to multiples of ``2**-(exponent + WEIGHT_BITS)``.

A user's capped total, in two scans, where every record weighs 1: the records of all users within the cap are added up
at once, those of users over it with all users of as many records ``n``. The sums ``A`` are exact, and so is ``A``
within the cap; ``A cap/n`` over it is rounded by less than ``2**-(exponent + WEIGHT_BITS)``. The exact numbers are
totals of users with weights ``cap/max(n, cap)``, to which the sensitivity applies, so only roundings count. Of two
neighbouring tables all sums are the same but those with the changed user's old or new number of records, in base cells
with its old or new records; whether it crosses the cap, or joins users of as many records or leaves them, makes no
difference, since a sum has one rounding whoever is in it. A coordinate adds up one base cell for each of ``2**h``
corners, hence at most ``2**(h + 1)`` sums that changed, each with a rounding that moves by less than 2. Half of that
counts at each end: ``2**(h + 1 - WEIGHT_BITS)`` units, at most the half that the last rounding of a user's total counts
otherwise, for up to 22 hat axes, and so for every node of a cumulative axis. No doubles scale anything.

Pairs of a user's records, in one scan. A user's pairs have the products of the user's means of weights, so the sums of
a user and base cell are divided by the number of records, in integers, and rounded down to multiples of
``2**-PAIR_BITS``; the rows of a user are joined with one another, and products added up over users, exactly. Rows that
are joined are as many as a user's base cells, whatever the number of records. A pair of base cells has the sums at all
pairs of their corners, named as for one base cell on twice the axes.
"""

from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import polars as pl
from sqlglot import exp

from emdp.base.classes import dataclass
from emdp.expressions.cells.aggregation import Aggregation
from emdp.expressions.cells.reference import cell_values
from emdp.expressions.numbers.fixed_point import PAIR_BITS, WEIGHT_BITS
from emdp.tables.facts import TableFacts
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.cell_rules import (
    EVERY_USER,
    GROUP,
    PRESENT,
    adds_users_together,
    all_counts,
    records_by_user,
    user_counts,
    with_present,
    with_rules,
)
from emdp.tables.statements.compile import USER
from emdp.tables.statements.fragments import Sql
from emdp.tables.statements.layout import Layout, layout_of
from emdp.tables.statements.linear import is_public
from emdp.tables.statements.spread import (
    BASE,
    WEIGHT,
    columns_of,
    corner_sums,
    layer,
    record_columns,
    rule_sums,
    spread_records,
    summed_part,
)

__all__ = [
    "CHOSEN_USERS",
    "SHARED_BITS",
    "USER_WEIGHT",
    "CellStatement",
    "absent_values",
    "cell_statement",
    "chosen_lookups",
    "counted_users",
    "joined_users",
]

MEAN_BITS = 10
"""Bits below the unit that a user's mean in a corner of a cell keeps: with the 51 above, and a sign, fewer than 64."""

SHARED_BITS = 20
"""Bits below the unit that a mean shared by many users keeps: with 51 and ``MOST_RECORDS`` they fit a HUGEINT."""

MOST_RECORDS = 2**50
"""Records that nobody has: a larger cap is taken for this one, with which a total of 51 and 24 bits fits a HUGEINT."""

INTEGERS = {
    "INTEGER": exp.DataType.Type.INT,
    "BIGINT": exp.DataType.Type.BIGINT,
    "UINTEGER": exp.DataType.Type.UINT,
    "UBIGINT": exp.DataType.Type.UBIGINT,
}
"""Types of keys that there may be many of, by which DuckDB can index an array."""

CHOSEN_USERS = "chosen_users"
"""Name of the public table of the users that count, with their groups."""

COUNTED, USER_WEIGHT = "counted_user", "user_weight"
"""Names of columns of the statement's layers."""


@dataclass(frozen=True, eq=False)
class CellStatement:
    """A checked statement for the sums behind an aggregation."""

    # Rows in no order: a group of users; a base cell (negative or NULL: none); the number of the group's users with
    # records, or NULL; then for each value and each corner the sum over users, in the value's unit.
    query: Sql
    lookups: Mapping[str, pl.DataFrame]  # Public tables that the statement joins
    units: tuple[Fraction, ...]  # Unit of each value's sums
    absent: Mapping[int, Fraction]  # What a user without records counts with, by coordinate, where that is not 0


def cell_statement(table: TableFacts, aggregation: Aggregation, *, is_checked: bool = False) -> CellStatement:
    """Return the statement of an aggregation: in one scan, or where that costs less with the users' column read before.

    With ``is_checked`` there is one row more, of the group ``RULES``: 0 in place of the number of users where no
    declared rule is broken; see :func:`emdp.tables.statements.cell_rules.may_be_checked`.
    """
    layout = layout_of(aggregation.of_one, table.space, is_checked=is_checked)
    records, lookups = spread_records(table, layout)
    is_total = aggregation.cap is not None
    is_shared = adds_users_together(table, layout)
    if aggregation.pairs:
        query = _over_pairs(_per_user(records, layout), table, aggregation, layout)
    elif is_shared:
        query = _over_equal_users(records, table, aggregation, layout)
    else:
        query = _over_users(_per_user(records, layout), table, aggregation, layout)
    bits = WEIGHT_BITS if is_total else SHARED_BITS if is_shared else MEAN_BITS if layout.has_cells else 0
    units = tuple(Fraction(2) ** -(exponent + bits) for exponent in layout.exponents)
    if aggregation.pairs:
        units = (Fraction(2) ** (-2 * PAIR_BITS),)
    return CellStatement(query, {**lookups, **chosen_lookups(aggregation)}, units, absent_values(table, aggregation))


def chosen_lookups(aggregation: Aggregation) -> dict[str, pl.DataFrame]:
    """Return the public table of the users that count, where there is one."""
    if aggregation.users is None:
        return {}
    return {CHOSEN_USERS: pl.DataFrame({"key": aggregation.users.keys, GROUP: aggregation.users.groups})}


def absent_values(table: TableFacts, aggregation: Aggregation) -> dict[int, Fraction]:
    """Return what a user without records counts with, by coordinate, where that is not 0; nothing in a total."""
    if aggregation.cap is not None:
        return {}
    neutral = cell_values(aggregation, table.space, table.space.neutral_item)[0]
    return {int(at): Fraction(float(neutral[at])) for at in np.flatnonzero(neutral)}


def _per_user(rows: exp.Select, layout: Layout) -> exp.Select:
    """Return the layer with one row a user and base cell: its weight and the exact sums of its integers."""
    keys = (USER, BASE) if layout.has_cells else (USER,)
    has_weights = layout.weight is not None or layout.is_counted
    weight: Sql = exp.Sum(this=sql.column(WEIGHT)) if has_weights else exp.Count(this=exp.Star())
    columns = {**columns_of(keys), WEIGHT: weight, **corner_sums(layout, partial(summed_part, layout), weight)}
    columns |= rule_sums(layout)
    return layer(columns, rows).group_by(*map(sql.column, keys), copy=False)


def _over_users(per_user: exp.Select, table: TableFacts, aggregation: Aggregation, layout: Layout) -> Sql:
    """Return the statement: sums over the users that count, in their groups, of each user's mean or capped total."""
    shares = layout.shares(len(layout.hats))
    sums: dict[str, Sql] = {name: exp.Sum(this=_user_share(name, layout)) for name in shares}
    if not layout.has_cells:
        columns = {GROUP: sql.column(GROUP), BASE: sql.integer(0), PRESENT: exp.Count(this=exp.Star()), **sums}
        kept = columns_of((USER, WEIGHT, *shares))
        rows = sql.select(kept, exp.to_table("spread")) if layout.is_checked else per_user
        users = counted_users(rows, columns_of(shares), table, aggregation)
        cells = layer(columns, users).group_by(sql.column(GROUP), copy=False)
        if not layout.is_checked:
            return cells
        query = with_rules(cells, table, shares, records_by_user())
        return query.with_("spread", as_=per_user, materialized=True, copy=False)
    query = with_present(joined_users(_cells(sums), exp.to_table("users")), shares)
    if layout.is_checked:
        query = with_rules(query, table, shares, records_by_user())
    return _of_all_users(query, per_user, table, aggregation)


def _of_all_users(query: exp.Union, per_user: exp.Select, table: TableFacts, aggregation: Aggregation) -> exp.Union:
    """Add the layer of users and base cells to a statement, and that of the users that count."""
    weights = {USER: sql.column(USER), WEIGHT: exp.Sum(this=sql.column(WEIGHT))}
    all_users = sql.select(weights, exp.to_table("spread")).group_by(sql.column(USER), copy=False)
    users = counted_users(all_users, {}, table, aggregation)
    query = query.with_("spread", as_=per_user, materialized=True, copy=False)
    return query.with_("users", as_=users, materialized=True, copy=False)


def _over_pairs(per_user: exp.Select, table: TableFacts, aggregation: Aggregation, layout: Layout) -> Sql:
    """Return the statement of pairs: sums over the users that count of the products of a user's means in two cells."""
    records = sql.multiply(sql.column(USER_WEIGHT), sql.integer(2 ** (layout.exponents[0] - PAIR_BITS)))
    names = layout.shares(len(layout.hats))
    means: dict[str, Sql] = {name: sql.cast(_quotient(sql.column(name), records.copy()), "BIGINT") for name in names}
    rows = sql.select({**columns_of((USER, GROUP, BASE)), **means}, exp.to_table("spread"))
    rows = joined_users(rows, exp.to_table("users"))
    one, other = "one", "other"
    cell = sql.multiply(sql.cast(sql.column(BASE, one), "BIGINT"), sql.integer(aggregation.of_one.cells))
    sums: dict[str, Sql] = {}
    for place, (first, second) in enumerate(product(names, repeat=2)):
        whole = sql.multiply(sql.cast(sql.column(first, one), "HUGEINT"), sql.column(second, other))
        sums[f"share_0_{place}"] = exp.Sum(this=whole)
    columns = {
        GROUP: sql.column(GROUP, one),
        BASE: sql.add(cell, sql.column(BASE, other)),
        PRESENT: exp.Null(),
        **sums,
    }
    pairs = sql.select(columns, exp.to_table("means", alias=one))
    same_user = exp.EQ(this=sql.column(USER, one), expression=sql.column(USER, other))
    pairs = pairs.join(exp.Join(this=exp.to_table("means", alias=other), on=same_user), copy=False)
    pairs = pairs.group_by(columns[GROUP].copy(), columns[BASE].copy(), copy=False)
    query = with_present(pairs, sums)
    if layout.is_checked:
        query = with_rules(query, table, tuple(sums), records_by_user())
    query = _of_all_users(query, per_user, table, aggregation)
    return query.with_("means", as_=rows, materialized=True, copy=False)


def _over_equal_users(rows: exp.Select, table: TableFacts, aggregation: Aggregation, layout: Layout) -> Sql:
    """Return the statement where users whose records are scaled alike are added up together."""
    cap = None if layout.cap is None else min(layout.cap, MOST_RECORDS)
    has_groups = aggregation.users is not None
    is_everybody = not has_groups and table.users.keys is None
    counts = user_counts(table, cap, over_cap=is_everybody, is_checked=layout.is_checked)
    users = counted_users(counts, {}, table, aggregation)
    shares = layout.shares(len(layout.hats))
    keys = columns_of((GROUP, USER_WEIGHT, BASE) if has_groups else (USER_WEIGHT, BASE))
    if cap is not None and is_everybody:
        keys[USER_WEIGHT] = _count_or_cap(cap)
    totals = corner_sums(layout, partial(summed_part, layout), exp.Count(this=exp.Star()))
    rows = layer({**columns_of(record_columns(layout)), USER: _computed_key(table)}, rows)
    spread = layer({**keys, **totals, **rule_sums(layout)}, rows)
    if cap is not None and is_everybody:
        spread = joined_users(spread, exp.to_table("users"), side="LEFT")
    else:
        spread = joined_users(spread, _with_gap(table))
    spread = spread.group_by(*(key.copy() for key in keys.values()), copy=False)
    sums: dict[str, Sql] = {name: exp.Sum(this=_shared_sum(name, cap)) for name in shares}
    cells = _cells(sums, has_groups=has_groups)
    # Users without records add nothing to a total, so nobody asks how many there are.
    query = with_present(cells, shares) if cap is None else cells
    if layout.is_checked:
        query = with_rules(query, table, shares, exp.select("*").from_(EVERY_USER))
        query = query.with_(EVERY_USER, as_=all_counts(table), materialized=True, copy=False)
    query = query.with_("users", as_=users, materialized=True, copy=False)
    return query.with_("spread", as_=spread, materialized=True, copy=False)


def _count_or_cap(cap: int) -> Sql:
    """Return what scales a record where the users over the cap alone are joined; NULL for a record without a user."""
    count = sql.call("COALESCE", sql.column(USER_WEIGHT), sql.integer(cap))
    return sql.case([(sql.is_null(sql.column(USER)), exp.Null())], count)


def _computed_key(table: TableFacts) -> Sql:
    """Return a record's key, as something computed from it.

    DuckDB would hand the range of the users' keys down to the scan of a mere column, which leaves out blocks of records
    where a file's footer says that none is in it. Footers may be wrong, and then records that were counted were gone.
    """
    key = sql.column(USER)
    if _has_integer_keys(table):
        return exp.BitwiseXor(this=key, expression=sql.integer(0))
    return sql.case([(sql.is_null(key), exp.Null())], key.copy())


def _has_integer_keys(table: TableFacts) -> bool:
    """Return whether the users' keys are whole numbers."""
    return table.type_of(table.user).upper() in INTEGERS


def _with_gap(table: TableFacts) -> Sql:
    """Return the users that count, and where their keys are whole numbers one row more.

    DuckDB 2.0 indexes an array by the keys of a join, at a thirtieth of a hash table's cost, where they are whole
    numbers in a range of a million, by the range that it sees when it has read them. It compares their number with the
    range's length less one, and so takes keys without a gap for keys that repeat. So one more key, two above the
    largest, makes a gap; where that is no number of the type, it is NULL, and joins nothing. It has no count, so that
    records of a user who does not count, but has that key, add nothing to any sum.
    """
    users = exp.to_table("users")
    if not _has_integer_keys(table):
        return users
    above = sql.add(sql.cast(exp.Max(this=sql.column(COUNTED)), "HUGEINT"), sql.integer(2))
    kind = exp.DataType(this=INTEGERS[table.type_of(table.user).upper()])
    key = exp.TryCast(this=above, to=kind, safe=True)
    more = sql.select({COUNTED: key, USER_WEIGHT: exp.Null(), GROUP: sql.integer(0)}, users.copy())
    counted = sql.select(columns_of((COUNTED, USER_WEIGHT, GROUP)), users)
    return exp.union(counted, more, distinct=False, copy=False).subquery("counted", copy=False)


def _cells(sums: Mapping[str, Sql], *, has_groups: bool = True) -> exp.Select:
    """Return the sums of each group of users and base cell; of all users in group 0, if they have no column of it."""
    group = sql.column(GROUP) if has_groups else sql.integer(0)
    cells = sql.select({GROUP: group, BASE: sql.column(BASE), PRESENT: exp.Null(), **sums}, exp.to_table("spread"))
    return cells.group_by(*map(sql.column, (GROUP, BASE) if has_groups else (BASE,)), copy=False)


def joined_users(rows: exp.Select, users: Sql, *, side: str = "") -> exp.Select:
    """Join rows to the users that count."""
    same_user = exp.EQ(this=sql.column(USER), expression=sql.column(COUNTED))
    return rows.join(exp.Join(this=users, on=same_user, side=side), copy=False)


def _shared_sum(name: str, cap: int | None) -> Sql:
    """Return the sum of the means, or capped totals, of users with as many records, as an integer."""
    count = sql.column(USER_WEIGHT)
    bits = SHARED_BITS if cap is None else WEIGHT_BITS
    whole = sql.multiply(sql.cast(sql.column(name), "HUGEINT"), sql.integer(2**bits))
    if cap is None:
        return _quotient(whole, count)
    # In two parts, since a sum times the cap may not fit. Where the count is the cap, they add up to the sum.
    rest = sql.multiply(sql.remainder(whole.copy(), count.copy()), sql.integer(cap))
    return sql.add(sql.multiply(_quotient(whole, count), sql.integer(cap)), _quotient(rest, count.copy()))


def _quotient(above: Sql, below: Sql) -> Sql:
    """Return a quotient of integers without its fraction."""
    return exp.Paren(this=exp.IntDiv(this=above, expression=below))


def _user_share(name: str, layout: Layout) -> Sql:
    """Return a user's mean or capped total of one sum as an integer."""
    total, weight = sql.column(name), sql.column(USER_WEIGHT)
    if layout.cap is None:
        if layout.slots is not None:
            weight = sql.call("GREATEST", weight, sql.integer(layout.slots))
        mean = sql.divide(total, weight)
        return sql.cast(sql.multiply(mean, sql.number(2**MEAN_BITS)) if layout.has_cells else mean, "BIGINT")
    cap = min(layout.cap, MOST_RECORDS)
    unit = sql.integer(2**WEIGHT_BITS)
    limit, whole = (cap, sql.multiply(total, unit)) if layout.weight is None else (cap * 2**WEIGHT_BITS, total)
    # Not 0, in case an engine computes what the test leaves out.
    share = sql.divide(sql.number(cap * 2**WEIGHT_BITS), sql.call("GREATEST", weight.copy(), sql.integer(1)))
    scaled = sql.cast(sql.multiply(total.copy(), share), "HUGEINT")
    return sql.case([(sql.compare(weight, "<=", sql.integer(limit)), whole)], scaled)


def counted_users(
    rows: exp.Select, columns: Mapping[str, Sql], table: TableFacts, aggregation: Aggregation
) -> exp.Select:
    """Return the public users that count among some rows of one a user, with their weights and groups."""
    group = sql.integer(0) if aggregation.users is None else sql.column(GROUP)
    users = layer({COUNTED: sql.column(USER), USER_WEIGHT: sql.column(WEIGHT), GROUP: group, **columns}, rows)
    if aggregation.users is not None:
        key = exp.EQ(this=sql.cast(sql.column(USER), "TEXT"), expression=sql.column("key"))
        users = users.join(exp.Join(this=exp.to_table(CHOSEN_USERS), on=key), copy=False)
    return users.where(is_public(table), copy=False)
