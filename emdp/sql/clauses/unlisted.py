"""Columns of text that nobody listed the values of, where a public list is needed."""

from sqlglot import exp

from emdp.base.errors import SqlError, UsageError
from emdp.questions.heavy_hitters import check_listed
from emdp.sql.context import Context
from emdp.sql.names.columns import HiddenColumn, Resolved

__all__ = ["unlisted_text"]


def unlisted_text(context: Context, node: exp.Expr, column: Resolved | None) -> SqlError | None:
    """Return the refusal of a column of text outside the item space, as a list of values; None for any other."""
    if not isinstance(column, HiddenColumn):
        return None
    try:
        check_listed(column.name, context.names)
    except UsageError:
        return context.refusal(
            node,
            f"{context.text(node)} has no public list of values",
            remedy="list them in a Categories part, or find the frequent ones in Python by "
            f"session.heavy_hitters({column.name!r}, ...)",
            code="text-without-list",
        )
    return None
