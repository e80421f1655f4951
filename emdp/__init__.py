"""emdp: private analytics over tables in which every person has many records.

A user's records are protected by metric differential privacy under the earth-mover distance (d_EM-DP): the less of
a person's data moves, and the shorter the way, the better it is hidden. Start with :func:`read`, :func:`protect` and
:class:`Session`; ``emdp demo`` shows all of it on generated tables.
"""

from typing import TYPE_CHECKING

from emdp.lazy import lazy_names

if TYPE_CHECKING:
    from emdp import privacy, randomizers, testing
    from emdp.answers import Answer, Preview
    from emdp.catalog import Catalog, load_catalog
    from emdp.errors import (
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
    from emdp.expressions import (
        Expression,
        Frequencies,
        HeavyHitters,
        Itemwise,
        Mean,
        Quantiles,
        UserMean,
        VectorMean,
        case,
        category_is,
        clamp,
        col,
        cos,
        distance_to,
        dot,
        exp,
        frequencies,
        heavy_hitters,
        itemwise,
        log,
        maximum,
        mean,
        minimum,
        power,
        quantiles,
        ramp,
        similarity,
        sin,
        sqrt,
        tanh,
        user_mean,
        vector_mean,
    )
    from emdp.privacy import BoundedReduction, Change, DiscreteEmdDP, EmdDP, Guarantee, UserDP, protect
    from emdp.session import Session, read
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
            "emdp.catalog": "Catalog load_catalog",
            "emdp.errors": (
                "BudgetExceededError DataRuleError EmdpError InternalError InvalidItemError LedgerError "
                "NotLipschitzError RefusedError SolverError SqlError UsageError"
            ),
            "emdp.expressions": (
                "Expression Frequencies HeavyHitters Itemwise Mean Quantiles UserMean VectorMean case category_is "
                "clamp col cos distance_to dot exp frequencies heavy_hitters itemwise log maximum mean minimum "
                "power quantiles ramp similarity sin sqrt tanh user_mean vector_mean"
            ),
            "emdp.privacy": "BoundedReduction Change DiscreteEmdDP EmdDP Guarantee UserDP protect",
            "emdp.session": "Session read",
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
