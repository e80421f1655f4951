"""The estimator of each family of questions."""

from collections.abc import Callable, Mapping
from typing import Any

from emdp.base.errors import UsageError
from emdp.estimators.contract import AnyPlan
from emdp.questions.families import Family, family_of
from emdp.questions.means import Mean, VectorMean
from emdp.questions.owned.question import OwnedSelect
from emdp.questions.owned.stages import FreeSelect, StagedSelect
from emdp.questions.price import refuse_removal
from emdp.questions.resolution import Resolved
from emdp.spaces import Space

__all__ = ["PLANNERS", "plan_query"]

Facts = Mapping[str, Any]
"""Public facts of the table, by the names that planners take them under: space, users, records."""

KEYED = ("means", "items", "select")
"""Families with tiers of messages in the local model."""

_UNCOUNTED = (
    "the question needs the public number of users, and the table is declared without one; ask for COUNT, SUM or AVG "
    "with neighbours = 'remove', or declare users= (users in a catalog)."
)


def plan_query(
    query: Resolved,
    *,
    space: Space,
    users: int | None,
    records: int | None = None,
    compute: Callable[..., Any] | None = None,
    compute_public: Callable[..., Any] | None = None,
) -> AnyPlan:
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
    compute : callable, optional
        Computes with the noisy values of an answer, for statements that do so.
    compute_public : callable, optional
        Runs SQL over public tables and noisy answers, for statements in stages.

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
    family = family_of(query)
    # These have tiers of messages; all others are refused where a curator's are planned.
    if query.price.weaker and not (family.name in KEYED and getattr(query, "model", "central") == "local"):
        return _tiers(query, space, users=users, records=records)
    if query.price.is_by_removal:
        _check_removal(family, users, records)
    elif users is None and not isinstance(query, FreeSelect):
        raise UsageError(_UNCOUNTED)
    facts: dict[str, Any] = {"space": space, "users": users, "records": records}
    if family.name == "owned":
        facts |= {"compute": compute, "compute_public": compute_public}
    return PLANNERS[family.name](query, facts)


def _tiers(query: Any, space: Space, **facts: Any) -> AnyPlan:
    """Plan one release for several readers."""
    # Loaded where it is needed.
    from emdp.estimators.tiers import plan_tiers

    return plan_tiers(query, lambda own: plan_query(own, space=space, **facts), space)


def _check_removal(family: Family, users: int | None, records: int | None) -> None:
    """Refuse a question by removal where the family, or what is declared of the table, rests on who is there."""
    if not family.has_removal:
        refuse_removal("remove", "such questions")
    if users is not None and records is not None:
        raise UsageError(
            "neighbours = 'remove' hides whether a user has records, and records= with users= says that all of "
            "them have; declare the table without one of the two, or leave neighbours out."
        )


# Each family is loaded when a question of it is planned, so that no question waits for the others.


def _select(query: Any, facts: Facts) -> AnyPlan:
    if query.price.weaker:
        return _keyed(query, facts)
    if query.model != "central":
        from emdp.estimators.mean.message_select import plan_message_select

        return plan_message_select(query, space=facts["space"], users=facts["users"])
    from emdp.estimators.select import plan_select

    return plan_select(query, **facts)


def _owned(query: Any, facts: Facts) -> AnyPlan:
    from emdp.estimators.owned.statement import plan_statement

    def plan(own: OwnedSelect) -> AnyPlan:
        return plan_statement(own, users=facts["users"], compute=facts["compute"])

    if isinstance(query, FreeSelect):
        from emdp.estimators.owned.free import plan_free

        return plan_free(query, facts["compute_public"])
    if isinstance(query, StagedSelect):
        from emdp.estimators.owned.staged import plan_staged

        return plan_staged(query, plan, facts["compute_public"])
    return plan(query)


def _means(query: Mean | VectorMean, facts: Facts) -> AnyPlan:
    if facts["space"].elsewhere is not None:
        raise UsageError(
            f"a mean of messages in the {query.model} model is not made for a table whose records may be elsewhere; "
            "ask for the central model."
        )
    if query.price.weaker:
        return _keyed(query, facts)
    if isinstance(query, VectorMean) and query.bits is not None:
        from emdp.estimators.mean.few_bits import plan_few_bits

        return plan_few_bits(query, space=facts["space"], users=facts["users"])
    if query.model == "local":
        from emdp.estimators.mean.local import plan_local_means

        return plan_local_means(query, space=facts["space"], users=facts["users"])
    if query.model == "shuffle":
        from emdp.estimators.mean.shuffled import plan_shuffled_means

        return plan_shuffled_means(query, space=facts["space"], users=facts["users"])
    from emdp.estimators.mean.linear import plan_linear

    return plan_linear(query, space=facts["space"], users=facts["users"])


def _cells(query: Any, facts: Facts) -> AnyPlan:
    from emdp.estimators.frequency.smoothed import plan_frequencies

    return plan_frequencies(query, space=facts["space"], users=facts["users"])


def _measures(query: Any, facts: Facts) -> AnyPlan:
    from emdp.estimators.frequency.structured_measures import plan_structured

    return plan_structured(query, space=facts["space"], users=facts["users"])


def _items(query: Any, facts: Facts) -> AnyPlan:
    if query.price.weaker:
        return _keyed(query, facts)
    from emdp.estimators.frequency.items import plan_item_frequencies

    return plan_item_frequencies(query, **facts)


def _keyed(query: Any, facts: Facts) -> AnyPlan:
    """Plan one message a user for several readers."""
    from emdp.estimators.local_tiers import plan_local_tiers

    return plan_local_tiers(query, space=facts["space"], users=facts["users"])


def _quantiles(query: Any, facts: Facts) -> AnyPlan:
    from emdp.estimators.quantiles.quantiles import plan_quantiles

    return plan_quantiles(query, space=facts["space"], users=facts["users"])


def _itemwise(query: Any, facts: Facts) -> AnyPlan:
    from emdp.estimators.itemwise.itemwise import plan_itemwise

    return plan_itemwise(query, **facts)


def _strings(query: Any, facts: Facts) -> AnyPlan:
    from emdp.estimators.strings.search import plan_heavy_hitters

    return plan_heavy_hitters(query, users=facts["users"])


def _user_mean(query: Any, facts: Facts) -> AnyPlan:
    from emdp.estimators.user_mean.user_means import plan_user_mean

    return plan_user_mean(query, **facts)


def _shares(query: Any, facts: Facts) -> AnyPlan:
    from emdp.estimators.mean.facts import plan_shares

    return plan_shares(query, space=facts["space"], users=facts["users"])


def _fit(query: Any, facts: Facts) -> AnyPlan:
    from emdp.estimators.fit.linear_fit import plan_linear_fit

    return plan_linear_fit(query, **facts)


PLANNERS: Mapping[str, Callable[[Any, Facts], AnyPlan]] = {
    "select": _select,
    "owned": _owned,
    "means": _means,
    "cells": _cells,
    "measures": _measures,
    "items": _items,
    "quantiles": _quantiles,
    "itemwise": _itemwise,
    "strings": _strings,
    "shares": _shares,
    "user_mean": _user_mean,
    "fit": _fit,
}
"""The planner of each family of :data:`emdp.questions.families.FAMILIES`."""
