"""Expressions as text that reads like the Python that built them."""

from collections.abc import Sequence
from typing import Any

from emdp.base.errors import InternalError
from emdp.expressions.functions import function_of
from emdp.expressions.functions.smooth import Power
from emdp.expressions.nodes import arithmetic
from emdp.expressions.nodes.base import Column, Constant, Expression
from emdp.expressions.nodes.categories import Case, CategoryIs
from emdp.expressions.nodes.jumps import INFIX, Jump
from emdp.expressions.nodes.leaves import DistanceTo, Dot, Similarity
from emdp.expressions.nodes.lookup import LabelValue

__all__ = ["to_text"]

_COMPARE, _SUM, _PRODUCT, _SIGN, _POWER, _ATOM = range(6)
"""Binding strengths of operators in a text, as in Python."""

_INFIX: dict[type[Expression], tuple[str, int]] = {
    arithmetic.Add: ("+", _SUM),
    arithmetic.Subtract: ("-", _SUM),
    arithmetic.Multiply: ("*", _PRODUCT),
    arithmetic.Divide: ("/", _PRODUCT),
}


def to_text(expression: Expression) -> str:
    """Return an expression as Python text, a column by its bare name.

    >>> from emdp.expressions import col, distance_to, ramp
    >>> to_text(ramp(distance_to((40.7484, -73.9857)), 2, 1) * (col("price") + 1))
    'ramp(distance_to((40.7484, -73.9857)), 2, 1) * (price + 1)'
    """
    return _text(expression)[0]


def _text(node: Expression) -> tuple[str, int]:
    if isinstance(node, Constant):
        return _number(node.value), _SIGN if node.value < 0 else _ATOM
    if isinstance(node, Column):
        return (node.name if node.name.isidentifier() else f"col({node.name!r})"), _ATOM
    if isinstance(node, LabelValue):
        return node.text, _ATOM
    if isinstance(node, arithmetic.Binary):
        symbol, level = _INFIX[type(node)]
        return f"{_bound(node.left, level)} {symbol} {_bound(node.right, level + 1)}", level
    if isinstance(node, arithmetic.Negate):
        return f"-{_bound(node.operand, _SIGN)}", _SIGN
    if isinstance(node, Power):
        return f"{_bound(node.operand, _ATOM)} ** {_number(node.exponent)}", _POWER
    if isinstance(node, Jump) and node.symbol in INFIX:
        level = _PRODUCT if node.symbol in ("//", "%") else _COMPARE
        left, right = (_argument(entry, level + 1) for entry in node.arguments)
        return f"{left} {node.symbol} {right}", level
    name, arguments = _call(node)
    return f"{name}({', '.join(arguments)})", _ATOM


def _call(node: Expression) -> tuple[str, list[str]]:
    if isinstance(node, Jump):
        return node.symbol, [_argument(entry, _COMPARE) for entry in node.arguments]
    if isinstance(node, DistanceTo):
        meant = ["far_point=True"] if node.far_point else []
        return "distance_to", [*map(_value, node.points), *_column(node.column), *meant]
    if isinstance(node, Dot):
        return "dot", [_value(node.vector), *_column(node.column)]
    if isinstance(node, Similarity):
        return "similarity", [_value(node.label), *_column(node.column)]
    if isinstance(node, CategoryIs):
        return "category_is", [*map(_value, node.values), *_column(node.column)]
    if isinstance(node, Case):
        branches = zip(node.groups, node.branches, strict=True)
        listed = ", ".join(f"{_value(group[0] if len(group) == 1 else group)}: {branch}" for group, branch in branches)
        return "case", [f"{{{listed}}}", f"otherwise={node.otherwise}", *_column(node.column)]
    function = function_of(node)
    if function is None:
        raise InternalError(f"an expression holds a {type(node).__name__}, which has no text; please report it.")
    return function.name, [*map(to_text, node.operands), *map(_number, function.constants_of(node))]


def _bound(node: Expression, level: int) -> str:
    text, own = _text(node)
    return text if own >= level else f"({text})"


def _argument(entry: Expression | str, level: int) -> str:
    return repr(entry) if isinstance(entry, str) else _bound(entry, level)


def _column(column: Sequence[str] | None) -> list[str]:
    if column is None:
        return []
    return [f"column={column[0]!r}" if len(column) == 1 else f"column={tuple(column)!r}"]


def _value(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_value, value))}{',' if len(value) == 1 else ''})"
    return _number(value) if isinstance(value, float) else repr(value)


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < 1e16 else repr(value)
