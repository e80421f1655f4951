"""The estimator of each family of queries."""

from emdp.base.errors import UsageError
from emdp.estimators.messages import MessagePlan
from emdp.estimators.plan import Plan
from emdp.questions.heavy_hitters import HeavyHitters
from emdp.questions.item_frequencies import ItemFrequencies
from emdp.questions.itemwise import Itemwise
from emdp.questions.linear_fit import LinearFit
from emdp.questions.means import Mean, VectorMean
from emdp.questions.resolution import Resolved
from emdp.questions.select import FrequencyQuery, QuantileQuery, Select
from emdp.questions.user_mean import UserMean
from emdp.spaces import Space

__all__ = ["plan_query"]

_UNCOUNTED = (
    "the question needs the public number of users, and the table is declared without one; ask for COUNT, SUM or AVG "
    "with neighbours = 'remove', or declare users= (users in a catalog)."
)


def plan_query(query: Resolved, *, space: Space, users: int | None, records: int | None = None) -> Plan | MessagePlan:
    """Return the plan of a resolved query.

    Parameters
    ----------
    query : a query
        Its names are looked up.
    space : Space
        The table's item space.
    users : int or None
        The public number of users; None where none is declared, so that only questions by removal can be answered.
    records : int or None
        The public number of records that every user has, where it is declared.

    Raises
    ------
    UsageError
        If it is no query, or its parameters do not fit one another.
    NotLipschitzError
        If an expression in it has no finite constant.

    >>> from emdp.expressions import col
    >>> from emdp.questions import mean
    >>> from emdp.spaces import Interval
    >>> plan_query(mean(col("x"), alpha=2.0), space=Interval("x", 0, 10), users=100).columns[0].noise_scale
    0.05
    """
    # Each family is loaded when a query of it is planned, so that no query waits for the others.
    if isinstance(query, Select):
        if users is None and query.spending.neighbours == "replace":
            raise UsageError(_UNCOUNTED)
        if query.spending.neighbours == "remove" and users is not None and records is not None:
            raise UsageError(
                "neighbours = 'remove' hides whether a user has records, and records= with users= says that all of "
                "them have; declare the table without one of the two, or leave neighbours out."
            )
        from emdp.estimators.select import plan_select

        return plan_select(query, space=space, users=users)
    if users is None:
        raise UsageError(_UNCOUNTED)
    match query:
        case FrequencyQuery():
            from emdp.estimators.frequency.smoothed import plan_frequencies

            return plan_frequencies(query, space=space, users=users)
        case QuantileQuery():
            from emdp.estimators.quantiles.quantiles import plan_quantiles

            return plan_quantiles(query, space=space, users=users)
        case Mean() | VectorMean() if query.model == "local":
            from emdp.estimators.mean.local import plan_local_means

            return plan_local_means(query, space=space, users=users)
        case Mean() | VectorMean():
            from emdp.estimators.mean.linear import plan_linear

            return plan_linear(query, space=space, users=users)
        case _:
            return _plan_bags(query, space=space, users=users, records=records)


def _plan_bags(query: Resolved, *, space: Space, users: int, records: int | None) -> Plan | MessagePlan:
    """Plan a query that reads whole bags, or is answered by messages of users and records."""
    match query:
        case Itemwise():
            from emdp.estimators.itemwise.itemwise import plan_itemwise

            return plan_itemwise(query, space=space, users=users, records=records)
        case ItemFrequencies():
            from emdp.estimators.frequency.items import plan_item_frequencies

            return plan_item_frequencies(query, space=space, users=users, records=records)
        case HeavyHitters():
            from emdp.estimators.strings.search import plan_heavy_hitters

            return plan_heavy_hitters(query, users=users)
        case UserMean():
            from emdp.estimators.user_mean.user_means import plan_user_mean

            return plan_user_mean(query, space=space, users=users, records=records)
        case LinearFit():
            from emdp.estimators.fit.linear_fit import plan_linear_fit

            return plan_linear_fit(query, space=space, users=users, records=records)
        case _:
            raise UsageError(
                "query must be made by emdp.mean, vector_mean, frequencies, quantiles, itemwise, heavy_hitters or "
                f"user_mean, not {type(query).__name__}; make one of these, or pass SQL."
            )
