"""COUNT(DISTINCT user) of all records, beside nothing else: the public number of users, which needs no noise.

By replacement that number is public, and does not change with the records. So a SELECT whose aggregates are all of this
kind is one over no table: a number in the place of each.
"""

from sqlglot import exp

from emdp.questions.names import Names
from emdp.questions.price import Price
from emdp.sql.context import one_by_name
from emdp.sql.owned.scopes import Tables

__all__ = ["with_public_number"]

FREE_PARTS = frozenset(("expressions", "from_", "order", "limit", "offset", "kind", "hint", "operation_modifiers"))
"""Parts of a SELECT that may stand beside it: none of them chooses or multiplies records."""


def with_public_number(names: Names, price: Price, query: exp.Expr, tables: Tables) -> exp.Select | None:
    """Return a SELECT with the public number of users in the places of its aggregates; None where it asks for more.

    Parameters
    ----------
    price : Price
        By removal the number of users is private.
    """
    users = names.users
    if not isinstance(query, exp.Select) or users is None or price.is_by_removal:
        return None
    source = query.args["from_"].this if query.args.get("from_") is not None else None
    others = [value for key, value in query.args.items() if value and key not in FREE_PARTS]
    if others or not isinstance(source, exp.Table) or source.name.lower() in tables:
        return None
    if one_by_name(source.name, names.private) != (names.table,):
        return None
    written = query.copy()
    counted = [node for node in written.find_all(exp.Anonymous) if _is_of_users(node, names)]
    for node in counted:
        node.replace(exp.cast(exp.Literal.number(users), "DOUBLE"))
    is_left = any(
        isinstance(node, exp.Column | exp.Star | exp.Select) for node in written.walk() if node is not written
    )
    if not counted or is_left:
        return None
    entries = [
        entry if isinstance(entry, exp.Alias) else exp.alias_(entry, "count" if place == 0 else f"count_{place + 1}")
        for place, entry in enumerate(written.expressions)
    ]
    written.set("expressions", entries)
    written.set("from_", None)
    return written


def _is_of_users(node: exp.Anonymous, names: Names) -> bool:
    distinct = node.expressions[0] if len(node.expressions) == 1 else None
    if node.name.upper() != "COUNT" or not isinstance(distinct, exp.Distinct) or len(distinct.expressions) != 1:
        return False
    column = distinct.expressions[0]
    return isinstance(column, exp.Column) and one_by_name(column.name, [names.user]) == (names.user,)
