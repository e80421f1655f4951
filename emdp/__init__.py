"""emdp: private analytics over tables in which every person has many records.

A user's records are protected by metric differential privacy under the earth-mover distance (d_EM-DP): the less of
a person's data moves, and the shorter the way, the better it is hidden. Start with :func:`read`, :func:`protect` and
:class:`Session`; ``emdp demo`` shows all of it on generated tables.
"""

import sys
from typing import TYPE_CHECKING

if sys.platform in {"win32", "emscripten", "wasi"}:
    from emdp.base.errors import UnsupportedError

    raise UnsupportedError(
        "emdp runs on Linux and macOS, since its ledger rests on file locks and durable renames that this system "
        "lacks; on Windows, run it in WSL 2."
    )

from emdp.base.lazy import lazy_names

if TYPE_CHECKING:
    from emdp import privacy, randomizers, testing
    from emdp.answers import Answer, Preview
    from emdp.base.errors import (
        BudgetExceededError,
        DataRuleError,
        EmdpError,
        InternalError,
        InvalidItemError,
        LedgerError,
        NotLipschitzError,
        RefusedError,
        SolverError,
        SqlError,
        UsageError,
    )
    from emdp.catalog.catalog import Catalog, load_catalog
    from emdp.expressions import (
        Expression,
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
    from emdp.privacy import BoundedReduction, Change, DiscreteEmdDP, EmdDP, Guarantee, UserDP, protect
    from emdp.questions import (
        Frequencies,
        HeavyHitters,
        Itemwise,
        Mean,
        Quantiles,
        UserMean,
        VectorMean,
        frequencies,
        heavy_hitters,
        itemwise,
        mean,
        quantiles,
        user_mean,
        vector_mean,
    )
    from emdp.sessions.session import Session, read
    from emdp.spaces import (
        Categories,
        Clusters,
        Cycle,
        Distances,
        Embedding,
        Geo,
        Grid,
        Interval,
        Product,
        Space,
        Vector,
        Words,
    )
    from emdp.tables import Table
    from emdp.transport import d_em, d_em_bounds, d_em_pairs, plan
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "emdp": "privacy randomizers testing",
            "emdp.answers": "Answer Preview",
            "emdp.catalog.catalog": "Catalog load_catalog",
            "emdp.base.errors": (
                "BudgetExceededError DataRuleError EmdpError InternalError InvalidItemError LedgerError "
                "NotLipschitzError RefusedError SolverError SqlError UsageError"
            ),
            "emdp.expressions": (
                "Expression case category_is clamp col cos distance_to dot exp log maximum minimum power ramp "
                "similarity sin sqrt tanh"
            ),
            "emdp.questions": (
                "Frequencies HeavyHitters Itemwise Mean Quantiles UserMean VectorMean frequencies heavy_hitters "
                "itemwise mean quantiles user_mean vector_mean"
            ),
            "emdp.privacy": "BoundedReduction Change DiscreteEmdDP EmdDP Guarantee UserDP protect",
            "emdp.sessions.session": "Session read",
            "emdp.spaces": "Categories Clusters Cycle Distances Embedding Geo Grid Interval Product Space Vector Words",
            "emdp.tables": "Table",
            "emdp.transport": "d_em d_em_bounds d_em_pairs plan",
        },
    )

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "BoundedReduction",
    "BudgetExceededError",
    "Catalog",
    "Categories",
    "Change",
    "Clusters",
    "Cycle",
    "DataRuleError",
    "DiscreteEmdDP",
    "Distances",
    "Embedding",
    "EmdDP",
    "EmdpError",
    "Expression",
    "Frequencies",
    "Geo",
    "Grid",
    "Guarantee",
    "HeavyHitters",
    "InternalError",
    "Interval",
    "InvalidItemError",
    "Itemwise",
    "LedgerError",
    "Mean",
    "NotLipschitzError",
    "Preview",
    "Product",
    "Quantiles",
    "RefusedError",
    "Session",
    "SolverError",
    "Space",
    "SqlError",
    "Table",
    "UsageError",
    "UserDP",
    "UserMean",
    "Vector",
    "VectorMean",
    "Words",
    "case",
    "category_is",
    "clamp",
    "col",
    "cos",
    "d_em",
    "d_em_bounds",
    "d_em_pairs",
    "distance_to",
    "dot",
    "exp",
    "frequencies",
    "heavy_hitters",
    "itemwise",
    "load_catalog",
    "log",
    "maximum",
    "mean",
    "minimum",
    "plan",
    "power",
    "privacy",
    "protect",
    "quantiles",
    "ramp",
    "randomizers",
    "read",
    "similarity",
    "sin",
    "sqrt",
    "tanh",
    "testing",
    "user_mean",
    "vector_mean",
]
