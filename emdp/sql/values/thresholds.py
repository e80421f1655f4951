"""Comparisons of continuous values, which jump: their refusal, with a slope to write instead."""

from sqlglot import exp

from emdp.base.errors import SqlError
from emdp.expressions.nodes.base import Constant, Expression
from emdp.spaces.ranges import Span
from emdp.sql.names.checking import known_range, small_step
from emdp.sql.names.columns import ItemColumn
from emdp.sql.names.scope import Numbers

__all__ = ["TURNED", "range_refusal", "threshold_refusal"]

TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""What a comparison becomes when its sides change places."""


def threshold_refusal(
    numbers: Numbers, node: exp.Expr, symbol: str, sides: tuple[exp.Expr, exp.Expr], *, is_case: bool
) -> SqlError:
    """Return the refusal of ``a < b`` and the like, of which neither side is a categorical or public user column."""
    left, right = sides
    context = numbers.context
    if (cycle := _cycle_of(numbers, left)) is not None:
        at = numbers.number(right)
        point = f"{at.value % cycle.high:.12g}" if isinstance(at, Constant) else f"{cycle.high / 3:g}"
        return _goes_round(numbers, node, left, f"RAMP(DISTANCE({context.text(left)}, {point}), 2, 1)", is_case)
    first, second = numbers.number(left), numbers.number(right)
    if isinstance(first, Constant) and isinstance(second, Constant):
        return _constant(numbers, node)
    if isinstance(first, Constant):
        left, right, first, second = right, left, second, first
        symbol = TURNED.get(symbol, symbol)
    if not isinstance(second, Constant):
        return _jumps(
            numbers, node, _ramp(symbol, f"{context.text(left)} - ({context.text(right)})", 0.0, 1.0), is_case
        )
    if _is_beyond(numbers, first, second.value, second.value):
        return _same_for_all(numbers, node, left, first)
    return _jumps(numbers, node, _ramp(symbol, context.text(left), second.value, _step(numbers, first)), is_case)


def range_refusal(numbers: Numbers, node: exp.Between, *, is_case: bool) -> SqlError:
    """Return the refusal of ``a BETWEEN b AND c`` of a continuous value; see :func:`threshold_refusal`."""
    text = numbers.context.text(node.this)
    cycle = _cycle_of(numbers, node.this)
    expression = None if cycle is not None else numbers.number(node.this)
    low, high = numbers.number(node.args["low"]), numbers.number(node.args["high"])
    if not isinstance(low, Constant) or not isinstance(high, Constant):
        return _jumps(numbers, node, f"RAMP({text}, a, b)", is_case)
    if isinstance(expression, Constant):
        return _constant(numbers, node)
    if cycle is not None:
        # BETWEEN 22 AND 2 holds nowhere, and means the hours around midnight.
        span = high.value - low.value if low.value <= high.value else (high.value - low.value) % cycle.high
        centre, half, step = (low.value + span / 2) % cycle.high, span / 2, small_step(cycle.high)
        return _goes_round(
            numbers, node, node.this, f"RAMP(DISTANCE({text}, {centre:g}), {half + step:g}, {half:g})", is_case
        )
    if low.value > high.value:
        return numbers.context.refusal(
            node,
            f"`{numbers.context.text(node)}` never holds, since the first bound is above the second",
            remedy="write the lower bound first",
            code="comparison",
        )
    if expression is not None and _is_beyond(numbers, expression, low.value, high.value):
        return _same_for_all(numbers, node, node.this, expression)
    step = _step(numbers, expression)
    ramps = _ramp(">=", text, low.value, step), _ramp("<=", text, high.value, step)
    return _jumps(numbers, node, " * ".join(ramps), is_case)


def _cycle_of(numbers: Numbers, node: exp.Expr) -> Span | None:
    column = numbers.scope.column(node)
    if not isinstance(column, ItemColumn) or not column.goes_round or column.part.point_kind != "number":
        return None
    return column.part.spans[0]


def _step(numbers: Numbers, expression: Expression | None) -> float:
    reach = None if expression is None else known_range(numbers.context, expression)
    return small_step(reach[1] - reach[0] if reach else 0.0)


def _is_beyond(numbers: Numbers, expression: Expression, low: float, high: float) -> bool:
    """Say whether an expression reaches no number between two."""
    reach = known_range(numbers.context, expression)
    return reach is not None and (high < reach[0] or reach[1] < low)


def _same_for_all(numbers: Numbers, node: exp.Expr, operand: exp.Expr, expression: Expression) -> SqlError:
    context = numbers.context
    low, high = known_range(context, expression) or (0.0, 0.0)
    return context.refusal(
        node,
        f"`{context.text(node)}` is the same for every item, since `{context.text(operand)}` has the range "
        f"[{low:.6g}, {high:.6g}]",
        remedy="compare with a number in that range, or leave the condition out",
        code="comparison",
    )


def _constant(numbers: Numbers, node: exp.Expr) -> SqlError:
    return numbers.context.refusal(
        node,
        "this compares constants",
        remedy="leave it out, or compare a column with a literal",
        code="constant-condition",
    )


def _ramp(symbol: str, text: str, at: float, step: float) -> str:
    if symbol in ("<", "<="):
        return f"RAMP({text}, {at + step:.12g}, {at:.12g})"
    if symbol in (">", ">="):
        return f"RAMP({text}, {at - step:.12g}, {at:.12g})"
    ramp = f"RAMP(ABS({text} - {at:.12g}), {step:.12g}, 0)"
    return f"1 - {ramp}" if symbol == "<>" else ramp


def _goes_round(numbers: Numbers, node: exp.Expr, operand: exp.Expr, ramp: str, is_case: bool) -> SqlError:
    context = numbers.context
    return context.refusal(
        node,
        f"`{context.text(node)}` jumps, and {context.text(operand)} goes round, so that it has no first and last value "
        "either",
        remedy=_slope(ramp, is_case),
        code="comparison",
    )


def _jumps(numbers: Numbers, node: exp.Expr, ramp: str, is_case: bool) -> SqlError:
    return numbers.context.refusal(
        node,
        f"`{numbers.context.text(node)}` jumps in a continuous value, so no noise could hide a small change of a "
        "record near the jump",
        remedy=_slope(ramp, is_case),
        code="comparison",
    )


def _slope(ramp: str, is_case: bool) -> str:
    if is_case:
        return f"blend the branches by a slope in place of CASE, as in {ramp} * a + (1 - {ramp}) * b"
    return f"write a slope in its place, such as {ramp}"
