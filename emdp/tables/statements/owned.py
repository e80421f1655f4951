"""The statement of capped sums over rows with owners: one statement an answer, exact integers (user-level-sql.md, 3.2,
S1).

Four layers: the rows with their user, keys and arguments; one row a user and group, with counts and sums; a user's
number of rows in the listed groups; and the sums over users. Keys are compared with their public lists after grouping,
where rows are few. No row is sorted and none is chosen, so that nothing depends on the order of rows.

**Caps hold exactly.** A user with ``n`` rows over the cap ``C`` gives ``floor(s C / n)`` of each of its sums ``s``,
which are whole numbers in units of ``2^-20`` that add up to ``n`` in each argument: together at most ``C``. A cap of
the 2-norm has ``floor(s C 2^16 / r)``, ``r >= 2^16 sqrt(n)`` a whole number, ``n`` the sum of squares of rows by cell;
it is made of a root in floating point times ``1 + 2^-40``, which is above the root's rounding. A cap of each cell has
``floor(s M / k)``, and of a user in ``g > L`` cells ``floor(. L / g)`` of that. With costs the cap is on
what a user's rows add, ``A``, rounded up to a whole number of units, and gives ``floor(s T / A)``; in the 2-norm the
amounts of arguments and cells are rounded up so, and then the root of the sum of their squares. What is released is
made of these alone: a weight rounded by itself, beside them, would move by itself.

**Nothing raises.** Expressions of a row cannot (:mod:`emdp.tables.statements.rows`). A record's number is at most
``2^20``, so sums of BIGINT, which are HUGEINT, hold for ``2^107`` rows; ``s C`` is below ``2^(20 + 63 + 31)``; what a
user gives is at most ``C 2^20 < 2^51``, so that its cast to BIGINT holds, and so does the sum over users.
Of amounts ``T`` is below ``2^43`` in units (``M`` below ``2^51``), ``s T`` below ``2^126``, and of a part with cost at
least ``LEAST_COST`` a user gives at most ``T 2^20/LEAST_COST < 2^53`` (``2^61``); parts without cost give nothing.
Squares of amounts hold for ``2^42`` rows of a user.
"""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import polars as pl
from sqlglot import exp

from emdp.base.classes import dataclass
from emdp.base.errors import InternalError
from emdp.questions.owned.grids import OwnedFrame
from emdp.questions.owned.groups import OwnedGroups, OwnedKeys
from emdp.questions.owned.octaves import OwnedOctaves
from emdp.questions.owned.parts import expressions, relations
from emdp.questions.owned.relations import Private
from emdp.questions.owned.totals import AMOUNT_BITS, UNIT_BITS, Argument, OwnedTotals
from emdp.rows.nodes import Column, Node, columns
from emdp.rows.types import Kind
from emdp.tables.facts import TableFacts
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.fragments import Sql
from emdp.tables.statements.linear import is_listed
from emdp.tables.statements.owned_caps import ROOT_UNIT, UNIT, capped, capped_norm, in_units, whole
from emdp.tables.statements.owned_lists import CELL, in_cells, lists, on_lists
from emdp.tables.statements.owned_rows import OWNER, OwnedRows, RowsMaker, local_times
from emdp.tables.statements.rows import DUCKDB_ROWS, RowsWriting

__all__ = [
    "ALL_ROWS",
    "ROWS",
    "OwnedStatement",
    "by_user",
    "capped_parts",
    "group_columns",
    "has_owner",
    "linked_columns",
    "of_users",
    "over_users",
    "owned_coordinates",
    "owned_rows",
    "owned_statement",
    "private_columns",
    "rows_maker",
    "summed",
    "used_columns",
    "user_rows",
]

ROWS, ALL_ROWS, GROUPS = "row_count", "all_rows", "group_count"


@dataclass(frozen=True, eq=False)
class OwnedStatement:
    """A checked statement."""

    query: exp.Query  # A row a cell that has rows: its number, then the sum of each part in units of `2**-UNIT_BITS`
    lookups: Mapping[str, pl.DataFrame]  # Lists of keys, and public tables, that it joins


def private_columns(totals: OwnedTotals | OwnedFrame) -> tuple[str, ...]:
    """Return the private table's columns that a statement reads, each once, in the order of their names."""
    return _columns_by_table(totals).get("", ())


def linked_columns(totals: OwnedTotals | OwnedFrame) -> dict[str, tuple[str, ...]]:
    """Return the same of linked tables that a statement reads, by name."""
    return {name: columns for name, columns in _columns_by_table(totals).items() if name}


def _columns_by_table(totals: OwnedTotals | OwnedFrame) -> dict[str, tuple[str, ...]]:
    used = used_columns(totals)
    found: dict[str, set[str]] = {}
    for one in relations(totals.relation):
        if isinstance(one, Private):
            found.setdefault(one.source, set()).update(column.name for column in used.get(one.alias, ()))
    return {name: tuple(sorted(columns)) for name, columns in found.items()}


def owned_statement(table: TableFacts, totals: OwnedTotals, writing: RowsWriting = DUCKDB_ROWS) -> OwnedStatement:
    """Return the statement of some capped sums, with functions of a row as an engine writes them."""
    made, lookups = by_user(table, totals, writing)
    return OwnedStatement(over_users(made, totals), lookups)


def over_users(by_user: exp.Select, totals: OwnedTotals) -> exp.Select:
    """Return the sums over users, by cell, of a row a user and group."""
    return _octaves(by_user, totals) if isinstance(totals, OwnedOctaves) else _sums(by_user, totals)


def by_user(
    table: TableFacts, totals: OwnedTotals | OwnedGroups | OwnedKeys, writing: RowsWriting = DUCKDB_ROWS
) -> tuple[exp.Select, dict[str, pl.DataFrame]]:
    """Return a row a user and group, before any cap, and the tables that it joins, lists of keys among them.

    Its columns are the owner, keys, the number of rows, and of each argument how many values there are and their sums.
    """
    maker = rows_maker(table, totals, writing)
    rows = maker.rows(totals.relation)
    keys, sums = group_columns(totals)
    made = sql.select({OWNER: sql.column(OWNER), **keys, **sums}, owned_rows(rows, totals, maker.writing))
    made = made.group_by(sql.column(OWNER), *(key.copy() for key in keys.values()), copy=False)
    return of_users(made.subquery("grouped", copy=False), totals, table), {**maker.lookups, **lists(totals.keys)}


def owned_rows(
    rows: OwnedRows, totals: OwnedTotals | OwnedGroups | OwnedKeys, writing: RowsWriting, **more: Sql
) -> Sql:
    """Return the rows with their owner, keys and arguments, and some columns more."""
    if rows.owner is None:
        raise InternalError("sums were asked for of rows that nobody owns; please report this.")
    named: dict[str, Sql] = {OWNER: rows.owner.copy()}
    named |= {f"key_{place}": writing.row_expression(key.node, rows.column) for place, key in enumerate(totals.keys)}
    named |= {
        f"argument_{place}": _argument(argument, rows, writing)
        for place, argument in enumerate(totals.arguments)
        if argument.node is not None
    }
    named |= {
        f"weight_{place}": _weight(argument, rows, writing)
        for place, argument in enumerate(totals.arguments)
        if argument.weight is not None
    }
    return rows.select({**named, **more}).subquery("owned_rows", copy=False)


def owned_coordinates(totals: OwnedTotals, found: Sequence[Sequence[Any]]) -> list[Fraction]:
    """Return the statistic from the statement's rows: part by part, cells in order, 0 where there is none."""
    cells = totals.cells
    values = [Fraction(0)] * totals.dimension
    for cell, *parts in found:
        if len(parts) != totals.parts or not 0 <= int(cell) < cells:
            raise InternalError("a statement gave cells or parts that nobody asked for; please report this.")
        for place, value in enumerate(parts):
            values[place * cells + int(cell)] += Fraction(int(value or 0), UNIT)
    return values


def used_columns(totals: OwnedTotals | OwnedFrame) -> dict[str, tuple[Column, ...]]:
    """Return the columns that are read of each table of the statement, in the order of their names."""
    found: dict[str, set[Column]] = {}
    for node in _used_nodes(totals):
        for column in columns(node):
            found.setdefault(column.table, set()).add(column)
    return {table: tuple(sorted(own, key=lambda column: column.name)) for table, own in found.items()}


def rows_maker(table: TableFacts, wanted: OwnedTotals | OwnedFrame, writing: RowsWriting) -> RowsMaker:
    """Return what makes the rows of a statement's relations."""
    times = local_times(_used_nodes(wanted), wanted.relation)
    return RowsMaker(table, wanted.public, used_columns(wanted), writing, times)


def _used_nodes(totals: OwnedTotals | OwnedFrame) -> list[Node]:
    """Return the functions of a row that a statement reads."""
    nodes = [key.node for key in totals.keys]
    if isinstance(totals, OwnedTotals | OwnedGroups | OwnedKeys):
        nodes += [node for argument in totals.arguments for node in argument.nodes]
    else:
        nodes += totals.nodes
    for relation in relations(totals.relation):
        nodes += expressions(relation)
    return nodes


def _argument(argument: Argument, rows: OwnedRows, writing: RowsWriting) -> Sql:
    """Return a row's number, NULL where there is no value: in units of ``2**-UNIT_BITS``, or 1 where none is summed."""
    if argument.node is None:
        raise InternalError("rows themselves have no number; please report this.")
    if argument.weight is not None:
        # Where it is not there: as 0, if that is in the range.
        value = writing.summand(argument.node, rows.column, argument.low, argument.high, UNIT_BITS)
        return sql.call("COALESCE", value, sql.integer(_place_of_zero(argument))) if _has_zero(argument) else value
    if argument.degree:
        return writing.summand(argument.node, rows.column, argument.low, argument.high, UNIT_BITS)
    value = writing.row_expression(argument.node, rows.column)
    there: Sql = exp.Not(this=exp.Is(this=value, expression=exp.Null()))
    if argument.node.kind is Kind.DOUBLE:
        there = sql.negate(exp.IsNan(this=value.copy()))
    return sql.case([(there, sql.integer(1))], exp.Null())


def _weight(argument: Argument, rows: OwnedRows, writing: RowsWriting) -> Sql:
    """Return a row's weight in units of ``2**-UNIT_BITS`` of the largest one; NULL where there is none."""
    if argument.weight is None:
        raise InternalError("rows that weigh the same have no weight; please report this.")
    return writing.summand(argument.weight, rows.column, 0.0, argument.most, UNIT_BITS)


def _has_zero(argument: Argument) -> bool:
    return argument.low <= 0.0 <= argument.high


def _place_of_zero(argument: Argument) -> int:
    low, high = Fraction(argument.low), Fraction(argument.high)
    place: int = math.floor(-low / (high - low) * UNIT + Fraction(1, 2))
    return place


def group_columns(totals: OwnedTotals | OwnedGroups | OwnedKeys) -> tuple[dict[str, Sql], dict[str, Sql]]:
    """Return the keys of rows, and of a user and group how many rows, and of each argument how many values and sums."""
    keys: dict[str, Sql] = {f"key_{place}": sql.column(f"key_{place}") for place in range(len(totals.keys))}
    sums: dict[str, Sql] = {ROWS: exp.Count(this=exp.Star())}
    for place, argument in enumerate(totals.arguments):
        value = sql.column(f"argument_{place}")
        if argument.weight is not None:
            weight = sql.column(f"weight_{place}")
            there: Sql = exp.Not(this=exp.Is(this=value.copy(), expression=exp.Null()))
            sums[f"values_{place}"] = _total(sql.case([(there, weight.copy())], sql.integer(0)))
            sums[f"last_{place}"] = _total(whole(sql.multiply(weight, value), sql.integer(UNIT)))
            continue
        if argument.node is not None:
            sums[f"values_{place}"] = exp.Count(this=value.copy())
        if argument.degree == 1:
            sums[f"last_{place}"] = _total(value)
        if argument.degree == 2:
            rest = sql.subtract(sql.integer(UNIT), value.copy())
            sums[f"first_{place}"] = _total(_square(rest))
            sums[f"last_{place}"] = _total(_square(value))
    return keys, sums


def of_users(grouped: Sql, totals: OwnedTotals | OwnedGroups | OwnedKeys, table: TableFacts) -> exp.Select:
    """Return the rows of a user and group that are of a user who counts."""
    keys, sums = group_columns(totals)
    return sql.select({name: sql.column(name) for name in (OWNER, *keys, *sums)}, grouped).where(
        has_owner(table), copy=False
    )


def has_owner(table: TableFacts) -> Sql:
    """Return the condition that a row is one of a user who counts."""
    named: Sql = exp.Not(this=exp.Is(this=sql.column(OWNER), expression=exp.Null()))
    return named if table.users.keys is None else exp.and_(named, is_listed(sql.column(OWNER)))


def _square(value: Sql) -> Sql:
    return whole(sql.multiply(value, value.copy()), sql.integer(UNIT))


def _total(value: Sql) -> Sql:
    return sql.call("COALESCE", sql.bounded(exp.Sum(this=value)), sql.integer(0))


def _sums(by_user: exp.Select, totals: OwnedTotals) -> exp.Select:
    """Return the sums over users, by cell."""
    if not totals.keys:
        parts = _parts(totals, of_group(totals) if totals.costs else sql.column(ROWS), sql.integer(1))
        return sql.select({CELL: sql.integer(0), **parts}, by_user.subquery("by_user", copy=False))
    listed = in_cells(by_user, totals.keys)
    counts = {OWNER: sql.column(OWNER), ALL_ROWS: user_rows(totals), GROUPS: exp.Count(this=exp.Star())}
    users = sql.select(counts, exp.to_table("listed")).group_by(sql.column(OWNER), copy=False)
    same = exp.EQ(this=sql.column(OWNER, "listed"), expression=sql.column(OWNER, "users"))
    parts = _parts(totals, sql.column(ALL_ROWS), sql.column(GROUPS))
    made = sql.select({CELL: sql.column(CELL), **parts}, exp.to_table("listed"))
    made = made.join(exp.Join(this=users.subquery("users", copy=False), on=same), copy=False)
    made = made.group_by(sql.column(CELL), copy=False)
    return made.with_("listed", as_=listed, materialized=True, copy=False)


def user_rows(totals: OwnedTotals | OwnedGroups) -> Sql:
    """Return a user's number of rows in all cells, or the sum of squares of these numbers, or what they add."""
    rows = sql.column(ROWS)
    if isinstance(totals, OwnedTotals) and totals.costs:
        return exp.Sum(this=of_group(totals))
    return exp.Sum(this=rows if totals.norm == 1 else sql.multiply(sql.cast(rows, "HUGEINT"), rows.copy()))


def of_group(totals: OwnedTotals) -> Sql:
    """Return what a user's rows of a group add, or the sum of squares of it by argument, in units squared."""
    terms = []
    for place, argument in enumerate(totals.arguments):
        first = totals.first_part(place)
        own = [
            sql.multiply(sql.cast(value, "HUGEINT"), sql.integer(cost))
            for value, cost in zip(_user_parts(place, argument), totals.costs[first:], strict=False)
            if cost
        ]
        if own and totals.norm == 2:
            amount = sql.cast(in_units(exp.Paren(this=sql.total(own))), "HUGEINT")
            own = [sql.multiply(amount, amount.copy())]
        terms += own
    return exp.Paren(this=sql.total(terms))


def _octaves(by_user: exp.Select, totals: OwnedOctaves) -> exp.Select:
    """Return the number of users in each octave of rows or groups, in units; by comparisons, which are exact."""
    rows = on_lists(by_user, totals.keys)
    # A row here is a user and group.
    total: Sql = exp.Count(this=exp.Star()) if totals.of_groups else user_rows(totals)
    scale = 2 ** (2 * UNIT_BITS - AMOUNT_BITS) if totals.costs else 1
    if totals.norm == 2:
        scale, wider = 2 ** (2 * (UNIT_BITS - AMOUNT_BITS)), 2
    else:
        wider = 1
    counts = {OWNER: sql.column(OWNER), ALL_ROWS: total}
    users = sql.select(counts, rows.subquery("listed", copy=False)).group_by(sql.column(OWNER), copy=False)
    last = totals.cells - 1
    bins = [
        (sql.compare(sql.column(ALL_ROWS), "<=", sql.integer(scale << wider * place)), sql.integer(place))
        for place in range(last)
    ]
    named = sql.select({CELL: sql.case(bins, sql.integer(last))}, users.subquery("users", copy=False))
    people = sql.multiply(exp.Count(this=exp.Star()), sql.integer(UNIT))
    made = sql.select({CELL: sql.column(CELL), "part_0": people}, named.subquery("octaves", copy=False))
    return made.group_by(sql.column(CELL), copy=False)


def _parts(totals: OwnedTotals, rows: Sql, groups: Sql) -> dict[str, Sql]:
    """Return the sum over users of each part, by a user's number of rows and of groups."""
    found = capped_parts(totals, rows)
    limit = min(totals.groups_cap or totals.cells, totals.cells)
    if totals.group_rows is not None and limit < totals.cells:
        found = [capped(value, groups, limit) for value in found]
    if totals.counts_users:
        few = sql.compare(groups.copy(), "<=", sql.integer(limit))
        share = whole(sql.integer(limit * UNIT), groups.copy())
        found.append(sql.case([(few, sql.integer(UNIT))], share) if limit < totals.cells else sql.integer(UNIT))
    return summed(found)


def summed(parts: Sequence[Sql]) -> dict[str, Sql]:
    """Return the sums over users of parts, named by their places."""
    return {f"part_{place}": exp.Sum(this=sql.cast(value, "BIGINT")) for place, value in enumerate(parts)}


def _costed(totals: OwnedTotals, values: list[Sql]) -> list[Sql]:
    """Return a user's numbers in a group, 0 in place of those that cost nothing, which are not drawn."""
    return [value if cost else sql.integer(0) for value, cost in zip(values, totals.costs, strict=True)]


def capped_parts(totals: OwnedTotals | OwnedGroups, rows: Sql) -> list[Sql]:
    """Return a user's numbers in a group under the cap, by what :func:`user_rows` gives of the user."""
    values = [value for place, argument in enumerate(totals.arguments) for value in _user_parts(place, argument)]
    if isinstance(totals, OwnedTotals) and totals.costs:
        most = (totals.cap or 0) << (UNIT_BITS - AMOUNT_BITS)
        if totals.group_rows is not None:
            rows, most = of_group(totals), totals.group_rows << UNIT_BITS
        if totals.norm == 2:
            return [capped_norm(value, rows, most, 1) for value in _costed(totals, values)]
        return [capped(value, in_units(rows), most) for value in _costed(totals, values)]
    if totals.group_rows is not None:
        return [capped(value, sql.column(ROWS), totals.group_rows) for value in values]
    if totals.norm == 1:
        return [capped(value, rows, totals.cap or 0) for value in values]
    return [capped_norm(value, rows, totals.cap or 0, ROOT_UNIT) for value in values]


def _user_parts(place: int, argument: Argument) -> list[Sql]:
    """Return a user's numbers in a group, in units: of rows without a value, then ``B_0`` to ``B_d``."""
    unit, count = sql.integer(UNIT), sql.column(ROWS)
    if argument.node is None:
        return [sql.multiply(count, unit)]
    values, last, first = (sql.column(f"{name}_{place}") for name in ("values", "last", "first"))
    if argument.weight is not None:
        # Its values are weights, in units already.
        return [sql.subtract(sql.multiply(count, unit), values), sql.subtract(values.copy(), last), last.copy()]
    missing = sql.multiply(sql.subtract(count, values), unit)
    weight = sql.multiply(values.copy(), unit.copy())
    if argument.degree == 0:
        return [missing, weight]
    if argument.degree == 1:
        return [missing, sql.subtract(weight, last), last.copy()]
    return [missing, first, sql.subtract(sql.subtract(weight, first.copy()), last), last.copy()]
