"""Expressions of one item, their Lipschitz constants and ranges, and how values spread over cells (EMD 2)."""

from typing import TYPE_CHECKING

from emdp.base.lazy import lazy_names
from emdp.expressions.analysis.checker import Analysis, analyse, final_lipschitz, leaves, offender, truncated_parts
from emdp.expressions.analysis.evaluate import evaluate
from emdp.expressions.grammar import GRAMMAR

if TYPE_CHECKING:
    from emdp.expressions.analysis.vectors import VectorAnalysis, analyse_vector
    from emdp.expressions.functions import (
        case,
        category_is,
        clamp,
        col,
        cos,
        distance_to,
        dot,
        exp,
        log,
        maximum,
        minimum,
        power,
        ramp,
        similarity,
        sin,
        sqrt,
        tanh,
    )
    from emdp.expressions.nodes.base import Expression, lift, walk
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "emdp.expressions.functions": (
                "case category_is clamp col cos distance_to dot exp log maximum minimum power ramp similarity sin "
                "sqrt tanh"
            ),
            "emdp.expressions.nodes.base": "Expression lift walk",
            "emdp.expressions.analysis.vectors": "VectorAnalysis analyse_vector",
        },
    )

__all__ = [
    "GRAMMAR",
    "Analysis",
    "Expression",
    "VectorAnalysis",
    "analyse",
    "analyse_vector",
    "case",
    "category_is",
    "clamp",
    "col",
    "cos",
    "distance_to",
    "dot",
    "evaluate",
    "exp",
    "final_lipschitz",
    "leaves",
    "lift",
    "log",
    "maximum",
    "minimum",
    "offender",
    "power",
    "ramp",
    "similarity",
    "sin",
    "sqrt",
    "tanh",
    "truncated_parts",
    "walk",
]
