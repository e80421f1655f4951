"""Expressions of one item, their Lipschitz constants and ranges, and the queries that hold them (EMD 2)."""

from typing import TYPE_CHECKING

from emdp.expressions.analysis import Analysis, analyse, final_lipschitz, leaves, offender, truncated_parts
from emdp.expressions.evaluate import evaluate
from emdp.expressions.heavy_hitters import HeavyHitters, heavy_hitters
from emdp.expressions.itemwise import Itemwise, itemwise
from emdp.expressions.user_mean import UserMean, user_mean
from emdp.lazy import lazy_names

if TYPE_CHECKING:
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
    from emdp.expressions.histograms import Frequencies, Quantiles, frequencies, quantiles
    from emdp.expressions.nodes import Expression, lift, walk
    from emdp.expressions.queries import Mean, VectorMean, mean, vector_mean
    from emdp.expressions.vectors import VectorAnalysis, analyse_vector
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "emdp.expressions.functions": (
                "case category_is clamp col cos distance_to dot exp log maximum minimum power ramp similarity sin "
                "sqrt tanh"
            ),
            "emdp.expressions.histograms": "Frequencies Quantiles frequencies quantiles",
            "emdp.expressions.nodes": "Expression lift walk",
            "emdp.expressions.queries": "Mean VectorMean mean vector_mean",
            "emdp.expressions.vectors": "VectorAnalysis analyse_vector",
        },
    )

__all__ = [
    "Analysis",
    "Expression",
    "Frequencies",
    "HeavyHitters",
    "Itemwise",
    "Mean",
    "Quantiles",
    "UserMean",
    "VectorAnalysis",
    "VectorMean",
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
    "frequencies",
    "heavy_hitters",
    "itemwise",
    "leaves",
    "lift",
    "log",
    "maximum",
    "mean",
    "minimum",
    "offender",
    "power",
    "quantiles",
    "ramp",
    "similarity",
    "sin",
    "sqrt",
    "tanh",
    "truncated_parts",
    "user_mean",
    "vector_mean",
    "walk",
]
