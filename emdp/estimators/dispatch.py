"""The estimator of each family of queries."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from emdp.errors import UsageError
from emdp.estimators.frequencies import plan_frequencies
from emdp.estimators.item_frequencies import plan_item_frequencies
from emdp.estimators.itemwise import plan_itemwise
from emdp.estimators.linear import plan_linear
from emdp.estimators.linear_fit import plan_linear_fit
from emdp.estimators.local_means import plan_local_means
from emdp.estimators.messages import MessagePlan
from emdp.estimators.plan import Plan
from emdp.estimators.quantiles import plan_quantiles
from emdp.estimators.select import plan_select
from emdp.estimators.string_search import plan_heavy_hitters
from emdp.estimators.user_means import plan_user_mean
from emdp.expressions.heavy_hitters import HeavyHitters
from emdp.expressions.item_frequencies import ItemFrequencies
from emdp.expressions.itemwise import Itemwise
from emdp.expressions.linear_fit import LinearFit
from emdp.expressions.queries import Mean, VectorMean
from emdp.expressions.resolution import Resolved
from emdp.expressions.select import FrequencyQuery, QuantileQuery, Select
from emdp.expressions.user_mean import UserMean
from emdp.spaces import Space

__all__ = ["plan_query"]

FAMILIES: Mapping[type, Callable[..., Plan]] = MappingProxyType(
    {
        Select: plan_select,
        FrequencyQuery: plan_frequencies,
        QuantileQuery: plan_quantiles,
    }
)
"""What plans each kind of query that has a single model."""


def plan_query(query: Resolved, *, space: Space, users: int, records: int | None = None) -> Plan | MessagePlan:
    """Return the plan of a resolved query.

    Parameters
    ----------
    query : a query
        Its names are looked up.
    space : Space
        The table's item space.
    users : int
        The public number of users.
    records : int or None
        The public number of records that every user has, where it is declared.

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

    if isinstance(query, Itemwise):
        return plan_itemwise(query, space=space, users=users, records=records)
    if isinstance(query, HeavyHitters):
        return plan_heavy_hitters(query, users=users)
    if isinstance(query, UserMean):
        return plan_user_mean(query, space=space, users=users, records=records)
    if isinstance(query, LinearFit):
        return plan_linear_fit(query, space=space, users=users, records=records)
    if isinstance(query, ItemFrequencies):
        return plan_item_frequencies(query, space=space, users=users, records=records)
    if isinstance(query, Mean | VectorMean):
        planner: Callable[..., Plan | MessagePlan] = plan_local_means if query.model == "local" else plan_linear
        return planner(query, space=space, users=users)
    family = FAMILIES.get(type(query))
    if family is None:
        raise UsageError(
            "query must be made by emdp.mean, vector_mean, frequencies, quantiles, itemwise, heavy_hitters or "
            f"user_mean, not {type(query).__name__}; make one of these, or pass SQL."
        )
    return family(query, space=space, users=users)
