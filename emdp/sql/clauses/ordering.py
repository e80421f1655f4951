"""ORDER BY, LIMIT and OFFSET: post-processing of the answer, by its own columns."""

from collections.abc import Sequence

from sqlglot import exp

from emdp.base.errors import SqlError
from emdp.questions.select import Order
from emdp.sql.clauses.aggregates import Entry
from emdp.sql.context import Context, identifier, listed, near, one_by_name, unwrapped
from emdp.sql.names.columns import Resolved
from emdp.sql.values.scalar import Scalars

__all__ = ["entry_of", "read_limit", "read_order"]


def read_order(
    scalars: Scalars, order: exp.Order | None, entries: Sequence[Entry], names: Sequence[str], columns: Sequence[str]
) -> tuple[Order, ...]:
    """Return the keys of ORDER BY.

    As in any SQL, a bare name is a column of the answer first, and a column of the tables only after that.
    """
    if order is None:
        return ()
    return tuple(
        Order(
            _answer_column(scalars, unwrapped(key.this), entries, names, columns),
            bool(key.args.get("desc")),
            not key.args.get("nulls_first"),
        )
        for key in order.expressions
    )


def read_limit(context: Context, clause: exp.Expr | None) -> int | None:
    """Return the number of LIMIT or OFFSET, or None where it is not there."""
    if clause is None:
        return None
    number = unwrapped(clause.expression) if isinstance(clause, exp.Limit | exp.Offset) else clause
    is_whole = isinstance(number, exp.Literal) and not number.is_string and str(number.this).isdigit()
    if not is_whole or len(str(number.this)) > 18:
        raise context.refusal(
            clause, "LIMIT and OFFSET take a whole number of rows", remedy="write LIMIT 10 or OFFSET 5", code="limit"
        )
    return int(number.this)


def entry_of(context: Context, node: exp.Literal, count: int) -> int:
    """Return which entry of the select list a number in GROUP BY or ORDER BY names, from 0."""
    text = str(node.this)
    if text.isdigit() and len(text) <= 18 and 1 <= int(text) <= count:
        return int(text) - 1
    entries = "1 entry" if count == 1 else f"{count} entries"
    raise context.refusal(
        node,
        f"{text} is no position in the select list, which has {entries}",
        remedy="name the column",
        code="position",
    )


def _answer_column(
    scalars: Scalars, node: exp.Expr, entries: Sequence[Entry], names: Sequence[str], columns: Sequence[str]
) -> str:
    context = scalars.context
    if isinstance(node, exp.Literal) and not node.is_string:
        return names[entry_of(context, node, len(names))]
    is_bare = isinstance(node, exp.Column) and not node.table
    found = one_by_name(node.name, columns) if is_bare else ()
    if len(found) == 1:
        return found[0]
    for entry, name in zip(entries, names, strict=True):
        if entry.body == node or (entry.aggregate is None and _means_same(scalars, entry.body, node)):
            return name
    raise _no_column(context, node, columns)


def _means_same(scalars: Scalars, body: exp.Expr, node: exp.Expr) -> bool:
    meaning = _meaning(scalars, node)
    return meaning is not None and _meaning(scalars, body) == meaning


def _meaning(scalars: Scalars, node: exp.Expr) -> Resolved | None:
    """Return what a column means, or None for whatever names none; that is refused as no column of the answer."""
    try:
        return scalars.scope.column(node)
    except SqlError:
        return None


def _no_column(context: Context, node: exp.Expr, columns: Sequence[str]) -> SqlError:
    text = node.name if isinstance(node, exp.Literal) else context.text(node)
    alike = one_by_name(text, columns) or near(text, columns)
    return context.refusal(
        node,
        f"`{context.text(node)}` is no column of the answer, and order beyond the answer's would be read off records",
        remedy=f"write {' or '.join(map(identifier, alike))}"
        if alike
        else f"order by one of {listed(map(identifier, columns))}",
        code="order-column",
    )
