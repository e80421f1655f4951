"""The table of nodes and readers that expressions are built with, filled once as the package is loaded."""

from emdp.expressions.analysis.checker import analyse, final_lipschitz
from emdp.expressions.functions.shaping import Absolute
from emdp.expressions.functions.smooth import Power
from emdp.expressions.nodes.arithmetic import Add, Divide, Multiply, Negate, Subtract
from emdp.expressions.nodes.base import Expression, Grammar
from emdp.expressions.nodes.jumps import Jump
from emdp.expressions.text import to_text
from emdp.spaces.base import Space

__all__ = ["GRAMMAR"]


def _lipschitz(expression: Expression, space: Space) -> float:
    return final_lipschitz(analyse(expression, space), space, text=str(expression))


def _value_range(expression: Expression, space: Space) -> tuple[float, float]:
    analysis = analyse(expression, space)
    return analysis.low, analysis.high


GRAMMAR = Grammar(
    operators={"+": Add, "-": Subtract, "*": Multiply, "/": Divide, "neg": Negate, "abs": Absolute, "**": Power},
    jump=Jump,
    lipschitz=_lipschitz,
    value_range=_value_range,
    text=to_text,
)
"""Nodes that Python's operators build, and readers of an expression's constant, range and text."""

Expression.grammar = GRAMMAR
