"""``SUM(v * e) / SUM(v)``: a mean by weights, as one aggregate with the noise of a mean in place of that of two sums.

It is the number that SQL has: a record without ``v`` is in neither sum, and one with ``v`` and without ``e`` in the
divisor alone, as if ``e`` were 0 there. So the range of ``e`` is made to hold 0, unless no record that is left can lack
it.
"""

from sqlglot import exp

from emdp.rows.nodes import Call, Case, Cast, Column, Literal, Node
from emdp.rows.ranges import range_of
from emdp.rows.types import Kind
from emdp.sql.context import Context, unwrapped
from emdp.sql.owned.aggregates import MOST_WIDTH, OwnedAggregate, declared_ranges, read_aggregate
from emdp.sql.owned.keys import conditions
from emdp.sql.owned.scopes import Scope

__all__ = ["read_weighted"]

DIVISIONS = ("SAFE_DIVIDE", "DIVIDE")
COMPARISONS = ("equal", "less", "greater", "at_most", "at_least", "differs")


def read_weighted(context: Context, scope: Scope, node: exp.Expr) -> OwnedAggregate | None:
    """Return the mean by weights that a quotient of two sums is; None for any other expression."""
    sides = _sides(node)
    if sides is None or not all(map(_is_sum, sides)):
        return None
    above, below = (read_aggregate(context, scope, side) for side in sides)
    if above.is_ranged or below.is_ranged:
        return None
    if above.kind != "sum" or below.kind != "sum" or above.node is None or below.node is None:
        return None
    (top, filtered), (weight, other) = _unfiltered(above.node), _unfiltered(below.node)
    if filtered != other or not isinstance(top, Call) or top.function != "multiply" or below.low < 0.0:
        return None
    factors = [_plain(argument) for argument in top.arguments]
    if _plain(weight) not in factors:
        return None
    value = factors[1 - factors.index(_plain(weight))]
    known = range_of(value, declared_ranges(context, scope, value))
    if known is None or not known[0] < known[1] or known[1] - known[0] > MOST_WIDTH:
        return None
    low, high = known if _is_always_there(value, scope) else (min(known[0], 0.0), max(known[1], 0.0))
    return OwnedAggregate("avg", value, low, high, "SUM", weight=below.node, most=below.high)


def _sides(node: exp.Expr) -> tuple[exp.Expr, exp.Expr] | None:
    """Return what is divided, and by what; NULLIF(.., 0) around the divisor is what a quotient does by itself."""
    if isinstance(node, exp.Div):
        above, below = node.this, node.expression
    elif isinstance(node, exp.Anonymous) and node.name.upper() in DIVISIONS and len(node.expressions) == 2:
        above, below = node.expressions
    else:
        return None
    above, below = _uncast(above), _uncast(below)
    if isinstance(below, exp.Anonymous) and below.name.upper() == "NULLIF" and len(below.expressions) == 2:
        zero = unwrapped(below.expressions[1])
        if isinstance(zero, exp.Literal) and not zero.is_string and float(zero.name) == 0.0:
            below = _uncast(below.expressions[0])
    return above, below


def _uncast(node: exp.Expr) -> exp.Expr:
    node = unwrapped(node)
    while isinstance(node, exp.Cast) and node.to.this == exp.DataType.Type.DOUBLE:
        node = unwrapped(node.this)
    return node


def _is_sum(node: exp.Expr) -> bool:
    node = unwrapped(node.this) if isinstance(node, exp.Filter) else node
    return isinstance(node, exp.Anonymous) and node.name.upper() == "SUM"


def _unfiltered(node: Node) -> tuple[Node, Node | None]:
    """Return what is summed up and the condition of FILTER: ``CASE WHEN condition THEN node END``."""
    if isinstance(node, Case) and len(node.branches) == 1 and node.otherwise == Literal(None, node.kind):
        ((condition, value),) = node.branches
        return value, condition
    return node, None


def _plain(node: Node) -> Node:
    """Return a number without a cast that changes none of its values."""
    is_wider = isinstance(node, Cast) and node.kind is Kind.DOUBLE and node.argument.kind is Kind.BIGINT
    return node.argument if is_wider and isinstance(node, Cast) else node


def _is_always_there(value: Node, scope: Scope) -> bool:
    """Say whether WHERE leaves only records with a value: one that it compares, or of which it says IS NOT NULL."""
    column = value.arguments[0] if isinstance(value, Call) and value.function == "clamp" else value
    column = _plain(column)
    if not isinstance(column, Column):
        return False
    for condition in conditions(scope.relation):
        if not isinstance(condition, Call):
            continue
        is_named = condition.function in COMPARISONS and column in map(_plain, condition.arguments)
        inner = condition.arguments[0]
        is_said = condition.function == "not" and isinstance(inner, Call) and inner.function == "is_null"
        if is_named or (is_said and isinstance(inner, Call) and _plain(inner.arguments[0]) == column):
            return True
    return False
