"""Query families: what to aggregate, how sensitive it is, and which mechanism answers it."""

from typing import TYPE_CHECKING

from emdp.base.lazy import lazy_names

if TYPE_CHECKING:
    from emdp.estimators.contract import AnyPlan
    from emdp.estimators.dispatch import plan_query
    from emdp.estimators.messages import MessagePlan
    from emdp.estimators.owned.automatic import MeasuredPlan
    from emdp.estimators.owned.plan import OwnedPlan
    from emdp.estimators.plan import Plan
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "emdp.estimators.contract": "AnyPlan",
            "emdp.estimators.dispatch": "plan_query",
            "emdp.estimators.messages": "MessagePlan",
            "emdp.estimators.owned.automatic": "MeasuredPlan",
            "emdp.estimators.owned.plan": "OwnedPlan",
            "emdp.estimators.plan": "Plan",
        },
    )

__all__ = ["AnyPlan", "MeasuredPlan", "MessagePlan", "OwnedPlan", "Plan", "plan_query"]
