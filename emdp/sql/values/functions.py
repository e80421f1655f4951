"""Scalar functions of the language: how many arguments each takes, and what node of an expression it makes."""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Protocol

from sqlglot import exp

from emdp.base.classes import dataclass
from emdp.base.errors import SqlError
from emdp.expressions import functions as table
from emdp.expressions.functions import smooth
from emdp.expressions.functions.record import ScalarFunction
from emdp.expressions.nodes.base import Constant, Expression
from emdp.sql.context import Context, listed, near
from emdp.sql.names.scope import Numbers
from emdp.sql.refusals.unsupported import SHAPES, UNSUPPORTED, aggregates
from emdp.sql.values.forms import call_form
from emdp.sql.values.points import distance, dot, similarity

__all__ = ["Call", "Function", "call", "first_argument", "functions", "misplaced", "power"]

MANY = 1_000
"""Arguments that functions of any number of arguments take."""


class Call(Numbers, Protocol):
    """Protocol: translation of numeric expressions, as functions need it."""

    def constant(self, node: exp.Expr, what: str) -> float:
        """Return the value of a constant expression."""


@dataclass(frozen=True)
class Function:
    """A scalar function."""

    form: str
    least: int
    most: int
    build: Callable[[Call, exp.Anonymous], Expression]


def functions() -> dict[str, Function]:
    """Return the scalar functions by name, in capitals: those of the table of functions of numbers, and four more.

    >>> functions()["TANH"].form, "POW" in functions()
    ('TANH(e)', True)
    """
    numeric = ((name, one) for one in table.FUNCTIONS.values() for name in one.sql)
    return {name: _function(name, one) for name, one in numeric} | {**_OTHERS}


def call(numbers: Call, node: exp.Anonymous) -> Expression:
    """Return what a call of a scalar function means."""
    name = node.name.upper()
    function = functions().get(name)
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
    if name in aggregates():
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
    known = functions()
    alike = near(name, known)
    return context.refusal(
        node,
        f"there is no function {node.name}",
        remedy=f"write {' or '.join(alike)}" if alike else f"the functions are {listed(known)}",
        code="unknown-function",
    )


def _function(name: str, one: ScalarFunction) -> Function:
    least = 1 + len(one.constants)
    build = _BUILDERS.get(one.node, partial(_made, one))
    return Function(f"{name}{one.form}", least, MANY if one.takes_many else least, build)


def _made(one: ScalarFunction, numbers: Call, node: exp.Anonymous) -> Expression:
    if one.takes_many:
        return one.made(tuple(map(numbers.number, node.expressions)))
    operand, *rest = node.expressions
    constants = [numbers.constant(own, entry.noun) for own, entry in zip(rest, one.constants, strict=True)]
    misfit = one.misfit(*constants) if one.misfit else None
    if misfit is not None:
        raise numbers.context.refusal(node, misfit.problem, remedy=misfit.remedy, code=misfit.code)
    return one.made(numbers.number(operand), *constants)


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


def _pi(numbers: Call, node: exp.Anonymous) -> Expression:
    return Constant(math.pi)


_BUILDERS: Mapping[type[Expression], Callable[[Call, exp.Anonymous], Expression]] = {smooth.Power: _power}
"""What makes the node of a function of numbers whose refusals speak of the text of its arguments."""

_OTHERS: Mapping[str, Function] = {
    "PI": Function("PI()", 0, 0, _pi),
    "DISTANCE": Function("DISTANCE(POINT(40.7, -74.0))", 1, MANY, distance),
    "DOT": Function("DOT(VECTOR[1, 2]) or DOT(column, VECTOR[1, 2])", 1, 2, dot),
    "SIMILARITY": Function("SIMILARITY('word') or SIMILARITY(column, 'word')", 1, 2, similarity),
}
"""What is no function of numbers, by name."""
