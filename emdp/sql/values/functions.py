"""Scalar functions of the language: how many arguments each takes, and what node of an expression it makes."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from sqlglot import exp

from emdp.base.errors import SqlError
from emdp.expressions.nodes import shaping, smooth
from emdp.expressions.nodes.base import Constant, Expression
from emdp.sql.context import Context, listed, near
from emdp.sql.names.scope import Numbers
from emdp.sql.refusals.unsupported import AGGREGATES, SHAPES, UNSUPPORTED
from emdp.sql.values.forms import call_form
from emdp.sql.values.points import distance, dot, similarity

__all__ = ["FUNCTIONS", "Call", "Function", "call", "first_argument", "misplaced"]

MANY = 1_000
"""Arguments that functions of any number of arguments take."""


class Call(Numbers, Protocol):
    """What functions ask of the translation of numeric expressions."""

    def constant(self, node: exp.Expr, what: str) -> float:
        """Return the value of a constant expression."""


@dataclass(frozen=True)
class Function:
    """A scalar function.

    Parameters
    ----------
    form : str
        How it is written, for messages.
    least, most : int
        Numbers of arguments that it takes.
    build : callable
        Makes the node.
    """

    form: str
    least: int
    most: int
    build: Callable[[Call, exp.Anonymous], Expression]


def call(numbers: Call, node: exp.Anonymous) -> Expression:
    """Return what a call of a scalar function means.

    Raises
    ------
    SqlError
        If there is no such function, or its arguments do not fit.
    """
    name = node.name.upper()
    function = FUNCTIONS.get(name)
    if function is None:
        raise _unknown(numbers.context, node, name)
    if not function.least <= len(node.expressions) <= function.most:
        raise numbers.context.refusal(
            node,
            f"{name} takes {_count(function)}, not {len(node.expressions)}",
            remedy=f"write {call_form(name, numbers.context.names.space.parts) or function.form}",
            code="argument-count",
        )
    return function.build(numbers, node)


def misplaced(context: Context, node: exp.Expr, name: str) -> SqlError:
    """Return the refusal of a point, vector or grid where a number should stand."""
    form = call_form(name, context.names.space.parts)
    return context.refusal(
        node,
        f"{name} is no number",
        remedy="write it inside a function" + (f", as in {form}" if form else ""),
        code="misplaced",
    )


def first_argument(context: Context, node: exp.Anonymous) -> str | None:
    """Return what was written as the first argument of a call, None where there is none or it is no expression."""
    if not node.expressions or isinstance(node.expressions[0], exp.Star | exp.Distinct):
        return None
    return context.text(node.expressions[0])


def _count(function: Function) -> str:
    if function.least == function.most:
        return f"{function.least} argument{'' if function.least == 1 else 's'}"
    if function.most >= MANY:
        return f"{function.least} argument{'' if function.least == 1 else 's'} or more"
    return f"{function.least} to {function.most} arguments"


def _unknown(context: Context, node: exp.Anonymous, name: str) -> Exception:
    if name in AGGREGATES:
        return context.refusal(
            node,
            f"{name} is an aggregate, inside an expression of one record",
            remedy="give each aggregate its own place in the select list, and combine the answers afterwards",
            code="nested-aggregate",
        )
    if name in SHAPES:
        return misplaced(context, node, name)
    if name in UNSUPPORTED:
        refused = UNSUPPORTED[name]
        remedy = refused.remedy_for(first_argument(context, node))
        if refused.code == "distance-function":
            remedy += f", as in {call_form('DISTANCE', context.names.space.parts)}"
        return context.refusal(node, f"{name} {refused.problem}", remedy=remedy, code=refused.code)
    alike = near(name, FUNCTIONS)
    return context.refusal(
        node,
        f"there is no function {node.name}",
        remedy=f"write {' or '.join(alike)}" if alike else f"the functions are {listed(FUNCTIONS)}",
        code="unknown-function",
    )


def _of_one(make: Callable[[Expression], Expression]) -> Callable[[Call, exp.Anonymous], Expression]:
    return lambda numbers, node: make(numbers.number(node.expressions[0]))


def _of_many(make: Callable[[tuple[Expression, ...]], Expression]) -> Callable[[Call, exp.Anonymous], Expression]:
    return lambda numbers, node: make(tuple(map(numbers.number, node.expressions)))


def _power(numbers: Call, node: exp.Anonymous) -> Expression:
    base, exponent = node.expressions
    return power(numbers, base, exponent)


def power(numbers: Call, base: exp.Expr, exponent: exp.Expr) -> Expression:
    """Return ``base ** exponent``, of which the exponent is a constant."""
    value = numbers.number(exponent)
    if not isinstance(value, Constant):
        text, own = numbers.context.text(exponent), numbers.context.text(base)
        raise numbers.context.refusal(
            exponent,
            f"the exponent `{text}` depends on the record",
            remedy=f"write a constant, or EXP(({text}) * LN({own})) for a base above 0",
            code="exponent",
        )
    made = numbers.number(base)
    if isinstance(made, Constant) and made.value < 0 and not value.value.is_integer():
        raise numbers.context.refusal(
            base,
            f"a number below 0 has no power {value.value:g}",
            remedy="write a base of at least 0, or a whole exponent",
            code="constant-value",
        )
    return smooth.Power(made, value.value)


def _clamp(numbers: Call, node: exp.Anonymous) -> Expression:
    operand, low, high = node.expressions
    ends = numbers.constant(low, "the lower end of CLAMP"), numbers.constant(high, "the upper end of CLAMP")
    if ends[0] > ends[1]:
        raise numbers.context.refusal(
            node,
            f"the lower end of CLAMP, {ends[0]:g}, is above the upper one, {ends[1]:g}",
            remedy="swap them",
            code="clamp-ends",
        )
    return shaping.Clamp(numbers.number(operand), *ends)


def _ramp(numbers: Call, node: exp.Anonymous) -> Expression:
    operand, start, end = node.expressions
    a, b = numbers.constant(start, "the start of RAMP"), numbers.constant(end, "the end of RAMP")
    if a == b or not math.isfinite(b - a):
        raise numbers.context.refusal(
            node,
            f"RAMP from {a:g} to {b:g} would jump" if a == b else f"RAMP from {a:g} to {b:g} is too wide for a double",
            remedy="give it two different ends, 0 at the first and 1 at the second",
            code="ramp-ends",
        )
    return shaping.Ramp(numbers.number(operand), a, b)


def _pi(numbers: Call, node: exp.Anonymous) -> Expression:
    return Constant(math.pi)


FUNCTIONS: Mapping[str, Function] = {
    "ABS": Function("ABS(e)", 1, 1, _of_one(shaping.Absolute)),
    "LEAST": Function("LEAST(e, f, ...)", 1, MANY, _of_many(shaping.Minimum)),
    "GREATEST": Function("GREATEST(e, f, ...)", 1, MANY, _of_many(shaping.Maximum)),
    "CLAMP": Function("CLAMP(e, low, high)", 3, 3, _clamp),
    "RAMP": Function("RAMP(e, a, b), which is 0 at a and 1 at b", 3, 3, _ramp),
    "EXP": Function("EXP(e)", 1, 1, _of_one(smooth.Exp)),
    "LN": Function("LN(e)", 1, 1, _of_one(smooth.Log)),
    "SQRT": Function("SQRT(e)", 1, 1, _of_one(smooth.Sqrt)),
    "POWER": Function("POWER(e, p)", 2, 2, _power),
    "POW": Function("POW(e, p)", 2, 2, _power),
    "SIN": Function("SIN(e)", 1, 1, _of_one(smooth.Sin)),
    "COS": Function("COS(e)", 1, 1, _of_one(smooth.Cos)),
    "TANH": Function("TANH(e)", 1, 1, _of_one(smooth.Tanh)),
    "PI": Function("PI()", 0, 0, _pi),
    "DISTANCE": Function("DISTANCE(POINT(40.7, -74.0))", 1, MANY, distance),
    "DOT": Function("DOT(VECTOR[1, 2]) or DOT(column, VECTOR[1, 2])", 1, 2, dot),
    "SIMILARITY": Function("SIMILARITY('word') or SIMILARITY(column, 'word')", 1, 2, similarity),
}
"""By name, in capitals."""
