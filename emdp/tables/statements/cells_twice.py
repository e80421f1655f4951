"""The statement of means over cells that reads the records twice on Spark, and notices if they changed in between.

Grouped by user and cell, nearly every record has a row of its own, which Spark shuffles once to add it up and once more
to divide it by the user's number of records. Where users are few enough for every executor to have their numbers,
records are counted by user first; then each record is joined with its user's number, and records of one base cell whose
users have as many are added up together, in integers (:mod:`emdp.tables.statements.cells`, "in two scans"). No record
is shuffled.

**What two scans could break, and what is checked.** If somebody writes to the source between the scans, a user's
records are divided by the number of others, and the user's shares may add up to more than 1: the sensitivity would be
wrong. So with each record goes ``h``, 51 bits of a hash of its user's key, and the sum of ``h`` over the records that
were joined is compared with the sum, over the users that were counted, of ``h`` times the user's number. Of equal
records both are equal, exactly. If a user that was counted has another number of records in the second scan, they
differ but for a chance of some ``2^-50``, since nobody chooses keys by their hashes; the statement then fails, its
charge stays, and nothing is shown. Whatever is shown has each user that was counted with the mean of all the user's
records in the second scan, and every other user as one without records: each is the contribution of one bag.

**A mean in whole numbers of 64 bits.** Spark's quotient of whole numbers has 64 bits. With ``T = a 2^40 + b`` and
``a = q n + r``, all of one sign, ``T 2^20`` divided by ``n`` without a fraction is ``q 2^60`` and ``(r 2^40 + b) 2^20``
divided by ``n``. A sum ``T`` of up to ``2^37`` integers of up to ``2^51`` has ``|a| <= 2^48``, and ``|r 2^40 + b|`` is
less than ``n 2^40``, so that the last quotient is below ``2^60``.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from sqlglot import exp

from emdp.base.classes import dataclass
from emdp.expressions.cells.aggregation import Aggregation
from emdp.spaces import Words
from emdp.tables.facts import TableFacts
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.cell_rules import GROUP, PRESENT, user_counts
from emdp.tables.statements.cells import (
    SHARED_BITS,
    USER_WEIGHT,
    CellStatement,
    absent_values,
    chosen_lookups,
    counted_users,
    joined_users,
)
from emdp.tables.statements.compile import USER
from emdp.tables.statements.fragments import Sql
from emdp.tables.statements.layout import Layout, layout_of
from emdp.tables.statements.spread import (
    BASE,
    columns_of,
    corner_sums,
    layer,
    record_columns,
    spread_records,
    summed_part,
)

__all__ = ["FEW_USERS", "TwiceStatement", "has_changed", "shared_mean", "twice_statement"]

FEW_USERS = 2**20
"""Public users whose numbers of records every executor may have: some 64 MB there."""

CHECK = "user_check"
"""Name of the last column: sums of the hash, of the records of a cell or of the users of a group."""

LOW_BITS, MIDDLE_BITS = 13, 40


@dataclass(frozen=True, eq=False)
class TwiceStatement(CellStatement):
    """A statement of two scans: its rows have one column more, which :func:`has_changed` looks at."""


def twice_statement(table: TableFacts, aggregation: Aggregation) -> TwiceStatement | None:
    """Return the statement of some means over cells; None where one scan is better, or there is more to them."""
    few = table.users.count is not None and table.users.count <= FEW_USERS
    if aggregation.pairs or not few or any(isinstance(part, Words) for part in table.space.parts):
        return None
    layout = layout_of(aggregation.of_one, table.space)
    if not layout.has_cells or layout.weight is not None or layout.slots is not None or layout.cap is not None:
        return None
    records, lookups = spread_records(table, layout)
    units = tuple(Fraction(2) ** -(exponent + SHARED_BITS) for exponent in layout.exponents)
    query = _over_few_users(records, table, aggregation, layout)
    return TwiceStatement(query, {**lookups, **chosen_lookups(aggregation)}, units, absent_values(table, aggregation))


def has_changed(rows: Sequence[Sequence[Any]]) -> bool:
    """Say whether the rows of such a statement tell that its two scans saw other records; also if they do not tell."""
    difference = 0
    for row in rows:
        if row[-1] is None:
            return True
        difference += int(row[-1]) if row[2] is None else -int(row[-1])
    return difference != 0


def shared_mean(total: Sql, count: Sql) -> Sql:
    """Return ``2**20`` times a whole number of 128 bits over one of 64, without the fraction."""
    unit = sql.integer(2**MIDDLE_BITS)
    high = _quotient(total, unit)
    low = sql.subtract(total.copy(), sql.multiply(sql.cast(high.copy(), "HUGEINT"), unit.copy()))
    upper = sql.cast(_quotient(high.copy(), count), "HUGEINT")
    rest = sql.add(sql.multiply(sql.cast(sql.remainder(high.copy(), count.copy()), "HUGEINT"), unit.copy()), low)
    lower = _quotient(sql.multiply(rest, sql.integer(2**SHARED_BITS)), count.copy())
    return sql.add(sql.multiply(upper, sql.integer(2 ** (MIDDLE_BITS + SHARED_BITS))), lower)


def _over_few_users(rows: exp.Select, table: TableFacts, aggregation: Aggregation, layout: Layout) -> Sql:
    users = counted_users(user_counts(table, None, over_cap=False), {}, table, aggregation)
    shares = layout.shares(len(layout.hats))
    keys = columns_of((GROUP, USER_WEIGHT, BASE))
    totals = corner_sums(layout, partial(summed_part, layout), exp.Count(this=exp.Star()))
    rows = layer({**columns_of(record_columns(layout)), CHECK: _hash(USER)}, rows)
    spread = joined_users(
        layer({**keys, CHECK: exp.Sum(this=sql.column(CHECK)), **totals}, rows), exp.to_table("users")
    )
    # Every executor gets the users, so that no record is shuffled to meet them.
    everywhere = exp.Anonymous(this="BROADCAST", expressions=[exp.Var(this="users")])
    spread.set("hint", exp.Hint(expressions=[everywhere]))
    spread = spread.group_by(*(key.copy() for key in keys.values()), copy=False)
    means = {name: shared_mean(sql.column(name), sql.column(USER_WEIGHT)) for name in shares}
    sums: dict[str, Sql] = {name: exp.Sum(this=value) for name, value in {**means, CHECK: sql.column(CHECK)}.items()}
    cells = sql.select({**columns_of((GROUP, BASE)), PRESENT: exp.Null(), **sums}, spread.subquery("spread"))
    cells = cells.group_by(sql.column(GROUP), sql.column(BASE), copy=False)
    absent: dict[str, Sql] = {BASE: exp.Null(), PRESENT: exp.Count(this=exp.Star())}
    absent.update((name, exp.Null()) for name in shares)
    counted = sql.multiply(sql.cast(sql.column(USER_WEIGHT), "HUGEINT"), _hash("counted_user"))
    absent[CHECK] = exp.Sum(this=counted)
    present = sql.select({GROUP: sql.column(GROUP), **absent}, exp.to_table("users"))
    present = present.group_by(sql.column(GROUP), copy=False)
    query = exp.union(cells, present, distinct=False, copy=False)
    return query.with_("users", as_=users, materialized=True, copy=False)


def _hash(name: str) -> Sql:
    """Return 51 bits of a hash of a key, a sign among them: sums of them are exact."""
    return _quotient(exp.Anonymous(this="hash", expressions=[sql.column(name)]), sql.integer(2**LOW_BITS))


def _quotient(above: Sql, below: Sql) -> Sql:
    return exp.Paren(this=exp.IntDiv(this=above, expression=below))
