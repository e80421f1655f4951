"""The row of a statement of cells that says whether the declared rules hold, and numbers of records of users.

**Claim.** Where the statement has one row of the group ``RULES``, and that has 0 in place of the number of users, no
declared rule of the table is broken, and the other rows are those of the statement without it.

**Proof.** As for means (:mod:`emdp.tables.statements.checked`): records and tests are those of the statement of the
rules, and so are the counts of users, whose numbers of records are counted over all rows of the source, listed users or
not, before any cap. Records are added up by groups of users and base cells before ``broken`` is added up over all of
these. Where a statement joins the records to the users that count before, a record is left out if it has no user, or
one who is not listed: then the counts of users are not 0. Where users were chosen, others are left out when the records
of each user are added up, and the row is made of all of these; a statement that would leave them out before has no
such row (:func:`may_be_checked`). Pairs are made of the groups of users and base cells, joined with one another and
with the users that count; the row is made of these groups before they are joined. What is added up beside the sums does
not change them.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlglot import exp

from emdp.expressions.cells.aggregation import Aggregation
from emdp.tables.facts import TableFacts
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.bags import BROKEN, DIGEST
from emdp.tables.statements.compile import USER, item_rows, reads_users_apart
from emdp.tables.statements.fragments import Sql
from emdp.tables.statements.layout import Layout, layout_of
from emdp.tables.statements.rules import total, user_breaches
from emdp.tables.statements.spread import BASE, RECORDS, WEIGHT, layer

__all__ = [
    "EVERY_USER",
    "GROUP",
    "PRESENT",
    "RULES",
    "adds_users_together",
    "all_counts",
    "may_be_checked",
    "records_by_user",
    "rows_if_held",
    "user_counts",
    "with_present",
    "with_rules",
]

GROUP, PRESENT = "user_group", "present"
"""Names of columns of the statement: a group of users, and how many of them have records."""

EVERY_USER = "every_user"
"""Name of the layer with the number of records of all users, listed or not."""

RULES = -1
"""What the row of the rules has as its group of users."""


def may_be_checked(table: TableFacts, aggregation: Aggregation) -> bool:
    """Say whether the statement can hold all records against the rules: not where it leaves out those of users who were
    not chosen before it adds them up. Pairs are made of what was added up, user by user.
    """
    if aggregation.users is None or aggregation.pairs:
        return True
    return not adds_users_together(table, layout_of(aggregation, table.space))


def adds_users_together(table: TableFacts, layout: Layout) -> bool:
    """Say whether records of users with as many of them are added up together, the users' column being read before."""
    # Weights of records would be computed in both scans, and no bound forgives two that differ.
    return layout.has_cells and layout.weight is None and layout.slots is None and reads_users_apart(table)


def user_counts(table: TableFacts, cap: int | None, *, over_cap: bool, is_checked: bool = False) -> exp.Select:
    """Return the layer with one row a user: its number of records, at least the cap; of users over it, if so asked."""
    if is_checked:
        count: Sql = sql.column(RECORDS)
        counts = sql.select({USER: sql.column(USER), WEIGHT: _at_least(count, cap)}, exp.to_table(EVERY_USER))
    else:
        count = exp.Count(this=exp.Star())
        counts = layer({USER: sql.column(USER), WEIGHT: _at_least(count, cap)}, item_rows(table, ()))
        counts = counts.group_by(sql.column(USER), copy=False)
    if cap is None or not over_cap:
        return counts
    test = sql.compare(count.copy(), ">", sql.integer(cap))
    return counts.where(test, copy=False) if is_checked else counts.having(test, copy=False)


def _at_least(count: Sql, cap: int | None) -> Sql:
    return count if cap is None else sql.call("GREATEST", count, sql.integer(cap))


def all_counts(table: TableFacts) -> exp.Select:
    """Return the layer with one row a user, and one for the rows without: the number of records."""
    columns = {USER: sql.column(USER), RECORDS: exp.Count(this=exp.Star())}
    return layer(columns, item_rows(table, ())).group_by(sql.column(USER), copy=False)


def records_by_user() -> exp.Select:
    """Return the same from the layer of users and base cells."""
    columns = {USER: sql.column(USER), RECORDS: exp.Sum(this=sql.column(RECORDS))}
    return sql.select(columns, exp.to_table("spread")).group_by(sql.column(USER), copy=False)


def with_rules(query: exp.Query, table: TableFacts, shares: Sequence[str], counts: exp.Select) -> exp.Union:
    """Add the row of the rules: whether any is broken, by users and their numbers of records, and by records."""
    columns = ("missing", "unlisted", "other")
    users = sql.select(dict(zip(columns, user_breaches(table), strict=True)), counts.subquery("counts", copy=False))
    hashed = exp.Anonymous(this="bit_xor", expressions=[sql.column(DIGEST)])
    records = sql.select({BROKEN: total(sql.column(BROKEN)), DIGEST: hashed}, exp.to_table("spread"))
    any_broken = sql.either(exp.NEQ(this=sql.column(name), expression=sql.integer(0)) for name in (*columns, BROKEN))
    row: dict[str, Sql] = {GROUP: sql.integer(RULES), BASE: exp.Null()}
    row[PRESENT] = sql.case([(any_broken, sql.integer(1))], sql.integer(0))
    # The hash is a part of what is given, so that it is computed.
    row |= {name: exp.Null() for name in shares} | {shares[0]: sql.cast(sql.column(DIGEST), "HUGEINT")}
    rules = sql.select(row, users.subquery("of_users", copy=False))
    rules = rules.join(exp.Join(this=records.subquery("of_records", copy=False), kind="CROSS"), copy=False)
    return exp.union(query, rules, distinct=False, copy=False)


def with_present(cells: exp.Select, shares: Iterable[str]) -> exp.Union:
    """Add a row for each group: how many of its users have records."""
    absent: dict[str, Sql] = {BASE: exp.Null(), PRESENT: exp.Count(this=exp.Star())}
    absent.update((name, exp.Null()) for name in shares)
    present = sql.select({GROUP: sql.column(GROUP), **absent}, exp.to_table("users"))
    return exp.union(cells, present.group_by(sql.column(GROUP), copy=False), distinct=False, copy=False)


def rows_if_held(rows: Sequence[Sequence[Any]]) -> list[Sequence[Any]] | None:
    """Return the rows without that of the rules; None unless that says that no rule is broken."""
    rules = [row for row in rows if row[0] == RULES]
    if len(rules) != 1 or rules[0][2] != 0:
        return None
    return [row for row in rows if row[0] != RULES]
