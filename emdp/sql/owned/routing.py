"""Which statements under USER_PRIVACY are asked of rows with owners, and which refusal is shown."""

from dataclasses import replace

from sqlglot import exp

from emdp.base.errors import EmdpError, SqlError
from emdp.questions.names import Names
from emdp.sql.context import one_by_name
from emdp.sql.owned.aggregates import OF_RECORDS, is_elsewhere
from emdp.sql.owned.staged import OwnedQuestion
from emdp.sql.owned.translate import translate_owned
from emdp.sql.text.families import CAP, FAMILIES, NEIGHBOURS
from emdp.sql.text.statement import Option, Statement

__all__ = ["rows_instead"]

OF_DISTANCES = frozenset(
    (
        "aggregate-arithmetic", "cap-automatic", "cap-missing", "case-condition", "case-else", "column-aliases",
        "column-outside-space",
        "column-without-group", "comparison", "condition-as-number", "condition-range", "constant-condition",
        "constant-needed", "count-distinct", "count-expression", "count-filtered", "equal-values",
        "date-function", "expression", "extract", "extract-component", "filter", "group-component", "group-expression",
        "group-nothing", "group-text", "groups", "implicit-cast", "interval", "is-truth", "join-condition", "join-key",
        "linked-table", "join-many", "join-missing", "join-types", "lookup-null", "mixed-conditions", "no-condition",
        "no-finite-constant", "null-condition", "order-column", "range-unused", "self-join", "text-as-number",
        "text-without-list",
        "text-function", "time-zone", "too-large", "truth-order", "unbounded-slope", "unknown-column", "unlisted-value",
        "values",
        # Sub-queries, groups and windows of the rows of one user.
        "distinct", "exists", "having", "in-subquery", "qualify", "set-operation", "subquery-mixes-users", "window",
    )
)  # fmt: skip
"""Refusals whose reason is about distances, lists or columns of the space, which rows with owners do not need."""

LACKING = (
    "item-function",
    "owned-aggregate",
    "row-expression",
    "unknown-function",
    "unsupported",
    "user-column",
)
"""Refusals for what statements over rows with owners lack: the first refusal says more, unless it is one of
:data:`OF_DISTANCES`, whose reason would be false here."""


WITH_CAP = ("range", "no-number", "unlisted-groups", "double-key")
"""Refusals of quantiles of records that say what to write beside a cap."""


def rows_instead(statement: Statement, names: Names, refused: EmdpError) -> OwnedQuestion | None:
    """Return a statement under USER_PRIVACY as one over rows with owners; None where it cannot be one.

    Parameters
    ----------
    statement : Statement
        It was refused as one of mean values and totals over the space.
    names : Names
        What it may name.
    refused : EmdpError
        Why: its reason may be about distances, which bound nothing here.

    Raises
    ------
    SqlError
        If it is refused as one over rows with owners, too: for a reason that holds at user level. Under EMD_PRIVACY
        if it counts users: the same refusal, with the statement that does.
    """
    if not names.kinds:
        return None
    if statement.privacy != "USER_PRIVACY":
        if isinstance(refused, SqlError) and _is_of_distances(refused):
            _of_people(statement, names, refused)
        return None
    asked = statement.options.get(NEIGHBOURS)
    is_counted = names.users is not None or (asked is not None and asked.value == "remove")
    if not is_counted and not _is_of_distances(refused):
        # Without a public number of users the first refusal names what must be declared.
        return None
    if any(name in FAMILIES for name in statement.options):
        return None
    if _is_elsewhere(statement, names):
        if isinstance(refused, SqlError) and _is_of_distances(refused):
            _of_records(statement, names, refused)
        return None
    try:
        return translate_owned(statement, names)
    except SqlError as error:
        if error.code in LACKING and isinstance(refused, SqlError) and not _is_of_distances(refused):
            raise refused from None
        raise


def _is_elsewhere(statement: Statement, names: Names) -> bool:
    """Say whether an aggregate of a statement over the private table itself is none of this route."""
    source = statement.tree.args["from_"].this
    if isinstance(source, exp.Table) and not one_by_name(source.name, names.private):
        return False
    own = (node for node in statement.tree.find_all(exp.Anonymous) if node.parent_select is statement.tree)
    functions = {node.name.upper() for node in own}
    if isinstance(source, exp.Subquery):
        # Quantiles of its rows, not of users.
        functions -= set(OF_RECORDS)
    return any(is_elsewhere(statement.options, name) for name in functions)


def _of_records(statement: Statement, names: Names, refused: SqlError) -> None:
    """Refuse a quantile over users of what the space has not by what a quantile of records needs, if it is one then.

    Raises
    ------
    SqlError
        If the statement is accepted with a cap, or with what its refusal says besides.
    """
    if CAP in statement.options:
        return
    start, end = statement.header
    capped = {**statement.options, CAP: Option(CAP, 50, start, end)}
    remedy = f"add {CAP} = 50 to OPTIONS for the quantile of all records"
    try:
        translate_owned(replace(statement, options=capped), names)
    except SqlError as error:
        if error.code not in WITH_CAP:
            return
        start, end, remedy = error.start, error.end, f"{error.remedy}, and {remedy}"
    else:
        start, end = refused.start, refused.end
    raise SqlError(refused.problem, remedy=remedy, code=refused.code, sql=refused.sql, start=start, end=end) from None


def _of_people(statement: Statement, names: Names, refused: SqlError) -> None:
    """Refuse a count of users under EMD_PRIVACY with the statement that counts them, if there is one."""
    if not any(isinstance(node, exp.Distinct) for node in statement.tree.walk()):
        return
    from emdp.sql.owned.people import counting_people

    found = counting_people(statement, names)
    if found is not None:
        remedy, start, end = f"{refused.remedy}; people are counted by {found}", refused.start, refused.end
        raise SqlError(refused.problem, remedy=remedy, code=refused.code, sql=refused.sql, start=start, end=end)


def _is_of_distances(refused: EmdpError) -> bool:
    return isinstance(refused, SqlError) and refused.code in OF_DISTANCES
