"""Expressions of one item, their Lipschitz constants and ranges, and how values spread over cells (EMD 2)."""

from typing import TYPE_CHECKING

from emdp.base.lazy import lazy_names
from emdp.expressions import grammar  # noqa: F401  fills the table that expressions are built with

if TYPE_CHECKING:
    from emdp.expressions.analysis.checker import Analysis as Analysis
    from emdp.expressions.analysis.checker import analyse as analyse
    from emdp.expressions.analysis.checker import final_lipschitz as final_lipschitz
    from emdp.expressions.analysis.checker import leaves as leaves
    from emdp.expressions.analysis.checker import offender as offender
    from emdp.expressions.analysis.checker import truncated_parts as truncated_parts
    from emdp.expressions.analysis.evaluate import evaluate as evaluate
    from emdp.expressions.analysis.vectors import VectorAnalysis as VectorAnalysis
    from emdp.expressions.analysis.vectors import analyse_vector as analyse_vector
    from emdp.expressions.functions import *  # noqa: F403
    from emdp.expressions.grammar import GRAMMAR as GRAMMAR
    from emdp.expressions.nodes.base import Expression as Expression
    from emdp.expressions.nodes.base import lift as lift
    from emdp.expressions.nodes.base import walk as walk
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "emdp.expressions.analysis.checker": "Analysis analyse final_lipschitz leaves offender truncated_parts",
            "emdp.expressions.analysis.evaluate": "evaluate",
            "emdp.expressions.analysis.vectors": "VectorAnalysis analyse_vector",
            "emdp.expressions.functions": "*",
            "emdp.expressions.grammar": "GRAMMAR",
            "emdp.expressions.nodes.base": "Expression lift walk",
        },
    )
