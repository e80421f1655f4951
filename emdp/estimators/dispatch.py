"""The estimator of each family of queries."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from emdp.errors import UsageError
from emdp.estimators.frequencies import plan_frequencies
from emdp.estimators.linear import plan_linear
from emdp.estimators.plan import Plan
from emdp.estimators.quantiles import plan_quantiles
from emdp.estimators.select import plan_select
from emdp.expressions.queries import Mean, VectorMean
from emdp.expressions.resolution import Resolved
from emdp.expressions.select import FrequencyQuery, QuantileQuery, Select
from emdp.spaces import Space

__all__ = ["plan_query"]

FAMILIES: Mapping[type, Callable[..., Plan]] = MappingProxyType(
    {
        Mean: plan_linear,
        VectorMean: plan_linear,
        Select: plan_select,
        FrequencyQuery: plan_frequencies,
        QuantileQuery: plan_quantiles,
    }
)
"""For each kind of query what plans it."""


def plan_query(query: Resolved, *, space: Space, users: int) -> Plan:
    """Return the plan of a resolved query.

    Raises
    ------
    UsageError
        If it is no query, or its parameters do not fit one another.
    NotLipschitzError
        If an expression in it has no finite constant.

    >>> from emdp.expressions import col, mean
    >>> from emdp.spaces import Interval
    >>> plan_query(mean(col("x"), alpha=2.0), space=Interval("x", 0, 10), users=100).columns[0].noise_scale
    0.05
    """
    planner: Any = FAMILIES.get(type(query))
    if planner is None:
        raise UsageError(
            f"query must be made by emdp.mean, vector_mean, frequencies or quantiles, not {type(query).__name__}; "
            "make one of these, or pass SQL."
        )
    plan: Plan = planner(query, space=space, users=users)
    return plan
