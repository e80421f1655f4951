"""Two passes over statements for Spark, without which a wide one takes its driver more memory than it has.

Neither changes a value: the operations, their operands and their order stay as they are.

Operators as calls. Spark's parser cannot tell ``(a + b) * c`` from a row, a subquery or the head of a lambda before it
has found the closing parenthesis, so it reads what is in parentheses ahead, each level anew, and keeps what it learned
for as long as the driver lives. Functions of the names of the operators, `` `*`(`+`(a, b), c) ``, stand for the same
nodes of Spark's plan, and their ends are never looked for.

Operands apart. Spark has no exact sum or mean of 64-bit integers, and what stands for one (``spark_dialect.py``) names
its operand two or three times. So an operand that is more than a column is computed in a layer of its own, once a row.
"""

from collections.abc import Mapping

from sqlglot import exp

from emdp.tables.statements import fragments as sql
from emdp.tables.statements.fragments import Sql

__all__ = ["operands_apart", "operators_as_calls"]

OPERATORS: Mapping[type[Sql], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.IntDiv: "div",
    exp.Mod: "%",
    exp.BitwiseAnd: "&",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.EQ: "=",
    exp.And: "and",
    exp.Or: "or",
}
"""Spark's functions with two operands that are the operators."""

LAYER = "operands"
"""Name of the layer that computes what is summed."""


def operators_as_calls(query: Sql) -> None:
    """Write a statement's operators as calls, and leave out the parentheses that no other node needs.

    >>> from emdp.tables.statements.fragments import add, column, multiply, number
    >>> query = exp.select(multiply(add(column("x"), number(1)), column("y"))).from_("t")
    >>> operators_as_calls(query)
    >>> query.sql("spark")
    'SELECT `*`(`+`(`x`, 1.0e0), `y`) FROM t'
    """
    nodes = list(query.walk(bfs=True))
    # Children first, so that what stands in parentheses is a call already.
    for node in reversed(nodes):
        new = _as_call(node)
        if new is not None and node.parent is not None:
            node.replace(new)


def operands_apart(query: Sql) -> None:
    """Compute what a statement's sums and means are of, where it is more than a column, in a layer of its own.

    >>> from emdp.tables.statements.fragments import add, column, number
    >>> query = exp.select("u", exp.Sum(this=add(column("x"), number(1)))).from_("t").group_by("u")
    >>> operands_apart(query)
    >>> query.sql("spark")
    'SELECT u, SUM(`operand_0`) FROM (SELECT u, (`x` + 1.0e0) AS `operand_0` FROM t) AS operands GROUP BY u'
    """
    for select in list(query.find_all(exp.Select)):
        _one_apart(select)


def _as_call(node: Sql) -> Sql | None:
    """Return what stands for an operator or a pair of parentheses; None where the node stays."""
    if isinstance(node, exp.Paren):
        # An operator that is not known here may need them.
        return None if isinstance(node.this, exp.Binary | exp.Unary | exp.Predicate) else node.this
    if type(node) in OPERATORS:
        return _call(OPERATORS[type(node)], node.this, node.expression)
    if isinstance(node, exp.Neg):
        is_number = isinstance(node.this, exp.Var) and node.this.name[:1].isdigit()
        return exp.Var(this=f"-{node.this.name}") if is_number else _call("negative", node.this)
    if isinstance(node, exp.Not):
        return _call("not", node.this)
    if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
        return _call("isnull", node.this)
    return None


def _call(name: str, *operands: Sql) -> Sql:
    return exp.Anonymous(this=exp.to_identifier(name, quoted=True), expressions=list(operands))


def _one_apart(select: exp.Select) -> None:
    values = [*select.expressions, *(select.args["group"].expressions if select.args.get("group") else ())]
    nodes = [node for value in values for node in value.walk()]
    sums = [node for node in nodes if isinstance(node, exp.Sum | exp.Avg)]
    # Of these nothing is known here; the statement is right without the layer.
    others = any(select.args.get(clause) for clause in ("having", "qualify", "order", "distinct", "limit"))
    if others or any(isinstance(node, exp.Query | exp.Window) for node in nodes):
        return
    if all(isinstance(found.this, exp.Column) for found in sums):
        return
    inside = {id(node) for found in sums for node in found.this.walk()}
    kept = {node: None for node in nodes if isinstance(node, exp.Column) and id(node) not in inside}
    if any(column.table for column in kept):
        return
    operands: dict[Sql, str] = {}
    for found in sums:
        if isinstance(found, exp.Avg) and sql.ABSENT in found.meta:
            # What is never NULL needs no count of its own: Spark counts rows once for all means.
            found.set("this", sql.call("COALESCE", found.this, sql.integer(found.meta[sql.ABSENT])))
        name = operands.setdefault(found.this, f"operand_{len(operands)}")
        found.set("this", sql.column(name))
    named = [exp.alias_(value, name, quoted=True, copy=False) for value, name in operands.items()]
    layer = exp.Select(expressions=[*(column.copy() for column in kept), *named])
    for clause in ("from_", "joins", "where", "hint"):
        layer.set(clause, select.args.get(clause))
        select.set(clause, None)
    select.set("from_", exp.From(this=layer.subquery(LAYER, copy=False)))
