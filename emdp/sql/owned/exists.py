"""WHERE with EXISTS and IN over sub-queries: each becomes a column that says whether a row fits.

``e IN (SELECT k ..)`` is true where a row has ``k = e``; else NULL where ``k = e`` is NULL for a row; else false. So
``e NOT IN`` is true where no row has ``k = e`` that is true or NULL.
"""

from dataclasses import replace

from sqlglot import exp

from emdp.base.errors import SqlError, UsageError
from emdp.questions.owned.relations import Filtered, Joined, Marked
from emdp.rows.building import call
from emdp.rows.nodes import Literal, Node
from emdp.rows.types import Kind
from emdp.sql.context import identifier
from emdp.sql.owned.remedies import by_one_user
from emdp.sql.owned.scopes import Reads, Scope, Tables, equates_users, stand_in

__all__ = ["rows_where", "with_values"]

NOT_PLAIN = ("group", "having", "distinct", "qualify", "order", "limit", "offset", "with_")
"""Clauses of a sub-query that make it a relation of its own, which names nothing around it."""


def rows_where(reads: Reads, scope: Scope, where: exp.Expr, tables: Tables) -> Scope:
    """Return the rows for which a condition is true."""
    scope, tree = _marked(reads, scope, where, tables)
    return replace(scope, relation=Filtered(scope.relation, scope.reader.condition(tree)))


def _marked(reads: Reads, scope: Scope, where: exp.Expr, tables: Tables) -> tuple[Scope, exp.Expr]:
    """Return the rows with a column for each EXISTS and IN of a condition, and the condition with these columns."""
    root = exp.Paren(this=where.copy())
    scope = with_values(reads, scope, root, tables)
    for node in list(root.find_all(exp.Exists, exp.In)):
        is_inner = node.find_ancestor(exp.Exists, exp.Subquery) is not None
        if is_inner or not isinstance(node, exp.Exists | exp.In):
            continue
        if isinstance(node, exp.In) and not node.args.get("query"):
            continue
        scope, made = _mark(reads, scope, node, tables)
        node.replace(made)
    return scope, root.this


def _mark(reads: Reads, scope: Scope, node: exp.Exists | exp.In, tables: Tables) -> tuple[Scope, exp.Expr]:
    context = reads.context
    if not scope.relation.is_owned:
        raise context.refusal(
            node,
            "this compares rows of public tables alone",
            remedy=f"write FROM {identifier(context.names.table)} first, and compare its records",
            code="public-exists",
        )
    inner, where, equality = _compared(reads, scope, node, tables)
    other = inner.relation
    every = equality if where is None else where if equality is None else call("and", where, equality)
    if other.is_owned and not equates_users(every, scope.relation, other):
        raise context.refusal(
            node,
            "this sub-query looks at the records of all users, of whom each one could change every row",
            remedy=by_one_user(scope, inner, "WHERE"),
            code="subquery-not-by-user",
        )

    def marked(scope: Scope, condition: Node | None) -> tuple[Scope, exp.Expr]:
        made = Marked(scope.relation, reads.name("found"), other, condition)
        return replace(scope, relation=made), stand_in(node, made.found)

    if equality is None or _is_conjunct(node):
        return marked(scope, every)
    perhaps = call("coalesce", equality, Literal(True, Kind.BOOLEAN))
    either = perhaps if where is None else call("and", where, perhaps)
    outer = _above(node)
    if isinstance(outer, exp.Not) and _is_conjunct(outer):
        return marked(scope, either)
    scope, is_true = marked(scope, every)
    scope, is_open = marked(scope, either)
    ifs = [exp.If(this=is_true, true=exp.true()), exp.If(this=is_open, true=exp.Null())]
    return scope, exp.Case(ifs=ifs, default=exp.false())


def _compared(
    reads: Reads, scope: Scope, node: exp.Exists | exp.In, tables: Tables
) -> tuple[Scope, Node | None, Node | None]:
    """Return the other relation, the condition of its WHERE, and what IN compares."""
    query = node.this if isinstance(node, exp.Exists) else node.args["query"].this
    element = node.this if isinstance(node, exp.In) else None
    listed = _answer(reads, query, tables)
    if listed is not None:
        return _listed(reads, scope, node, listed)
    is_plain = isinstance(query, exp.Select) and not any(query.args.get(part) for part in NOT_PLAIN)
    if is_plain and not any(isinstance(part, exp.Window) for entry in query.expressions for part in entry.walk()):
        inner, known = reads.tables(query, tables)
        where = query.args.get("where")
        condition: Node | None = None
        if where is not None:
            inner, tree = _marked(reads, inner, where.this, known)
            condition = replace(inner, outer=scope).reader.condition(tree)
        if element is None:
            return inner, condition, None
        entry = _single(reads, node, query)
        value = replace(inner, outer=scope).reader.read(entry.this if isinstance(entry, exp.Alias) else entry)
        return inner, condition, _equal(reads, scope, element, value)
    return _listed(reads, scope, node, reads.subquery(query, "found", tables))


def _answer(reads: Reads, query: exp.Expr, tables: Tables) -> Scope | None:
    """Return the table of an answer; None for what is none, or reads the rows around it."""
    try:
        return reads.answer(query, "found", tables, is_listed=True)
    except SqlError as error:
        if error.code in ("around", "unknown-table", "unknown-column"):
            return None
        raise


def _listed(
    reads: Reads, scope: Scope, node: exp.Exists | exp.In, inner: Scope
) -> tuple[Scope, Node | None, Node | None]:
    if isinstance(node, exp.Exists):
        return inner, None, None
    (columns,) = (held for _, held in inner.tables)
    if len(columns) != 1:
        raise _not_one(reads, node)
    return inner, None, _equal(reads, scope, node.this, next(iter(columns.values())))


def with_values(reads: Reads, scope: Scope, root: exp.Expr, tables: Tables) -> Scope:
    """Return the rows with a column for each sub-query of an expression that stands for one value, put in its place.

    Parameters
    ----------
    reads, scope, tables
        As of :func:`rows_where`.
    root : sqlglot.exp.Expr
        What holds the expression; it is changed.
    """
    for node in list(root.find_all(exp.Subquery)):
        is_compared = isinstance(node.parent, exp.In) and node.arg_key == "query"
        if is_compared or node.find_ancestor(exp.Exists, exp.Subquery) is not None:
            continue
        if not scope.relation.is_owned:
            raise reads.context.refusal(
                node, "this compares rows of public tables alone", remedy="write it around", code="public-value"
            )
        other = reads.value(node, tables)
        ((_, columns),) = other.tables
        scope = replace(scope, relation=Joined(scope.relation, other.relation, None, is_left=True))
        node.replace(stand_in(node, next(iter(columns.values()))))
    return scope


def _single(reads: Reads, node: exp.Expr, query: exp.Select) -> exp.Expr:
    if len(query.expressions) != 1 or query.expressions[0].find(exp.Star):
        raise _not_one(reads, node)
    found: exp.Expr = query.expressions[0]
    return found


def _not_one(reads: Reads, node: exp.Expr) -> Exception:
    return reads.context.refusal(
        node, "IN compares with one column", remedy="select one column in the sub-query", code="in-columns"
    )


def _equal(reads: Reads, scope: Scope, element: exp.Expr, value: Node) -> Node:
    try:
        return call("equal", scope.reader.read(element), value)
    except UsageError as error:
        raise reads.context.refusal(
            element, f"IN: {error.problem}", remedy="compare values of one kind, or cast them", code="kinds"
        ) from None


def _above(node: exp.Expr) -> exp.Expr | None:
    parent = node.parent
    while isinstance(parent, exp.Paren):
        parent = parent.parent
    return parent


def _is_conjunct(node: exp.Expr) -> bool:
    """Return whether rows are left only where a condition is true."""
    above = _above(node)
    while isinstance(above, exp.And):
        above = _above(above)
    return above is None
