"""The statement of some means that holds every record against the declared rules in the same scan.

**Claim.** Where the first ``RULES`` columns of its one row are 0 or NULL, no declared rule of the table is broken, and
the others are the row of :func:`emdp.tables.statements.linear.linear_statement`.

**Proof.** Its records are those of :func:`emdp.tables.statements.rules.rules_statement`: the same layers of the same
source, joined to public tables in which each label stands once, so that no record is doubled or lost. ``broken`` adds
up, over all users and rows without one, the records that meet any of that statement's tests of a record; so it is 0
only where each of its counts is 0. The columns of users are its own, over the same groups: one for every user, and one
for all rows without. Where they are 0, no row is without a user, and each user is on the list, if there is one; so the
condition of the linear statement keeps every group, and leaving it out changes no sum. Its means are made of the same
expressions of the same columns, and sums of integers do not depend on what stands beside them.

Every column of every part is read and converted: listed values are hashed, and of numbers the tests, which no engine
answers from footers (``DISABLED_OPTIMIZERS``), need each.

The converse is not needed: where anything is not 0, or the statement fails, it said nothing, and the rules are checked
by their own statement.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from sqlglot import exp

from emdp.base.classes import dataclass
from emdp.expressions import Expression
from emdp.tables.facts import TableFacts
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.bags import BROKEN, DIGEST, broken_test, finite_parts, record_digest
from emdp.tables.statements.fragments import Sql
from emdp.tables.statements.linear import LinearStatement, finished_means, means_statement, user_sums
from emdp.tables.statements.rules import total, user_breaches

__all__ = ["CheckedStatement", "checked_statement"]

RULES = 4
"""Columns of the rules: rows without a user, users not declared, other numbers of records, records against a rule."""


@dataclass(frozen=True, eq=False)
class CheckedStatement:
    """A statement of means with the rules; see the module."""

    means: LinearStatement  # Its query, public tables, and what its sums mean

    def found(self, row: Sequence[Any], users: int) -> list[Fraction] | None:
        """Return the means over the public users, exactly; None where a rule is broken."""
        if any(row[:RULES]):
            return None
        return finished_means(self.means, row[RULES + 1 :], users)


def checked_statement(table: TableFacts, expressions: Sequence[Expression]) -> CheckedStatement:
    """Return the statement that sums the user means of some expressions, and says whether the rules hold."""
    means = means_statement(table, expressions, is_checked=True)
    columns: dict[str, Sql] = {
        "records": exp.Count(this=exp.Star()),
        BROKEN: exp.CountIf(this=broken_test(table.space)),
    }
    hashed: Sql = sql.integer(0)
    if finite_parts(table.space, range(len(table.space.parts))):
        columns[DIGEST] = record_digest(table.space)
        hashed = exp.Anonymous(this="bit_xor", expressions=[sql.column(DIGEST)])
    named = [exp.alias_(value, name, quoted=True) for name, value in columns.items()]
    per_user = means.query.select(*named, copy=False).subquery("per_user", copy=False)
    rules = [*user_breaches(table), total(sql.column(BROKEN)), hashed]
    query = exp.Select(expressions=[*rules, *user_sums(len(expressions))]).from_(per_user, copy=False)
    return CheckedStatement(LinearStatement(query, means.lookups, means.exponents, means.neutral_values))
