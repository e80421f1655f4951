"""Query families: what to aggregate, how sensitive it is, and which mechanism answers it."""

from emdp.estimators.dispatch import plan_query
from emdp.estimators.messages import MessagePlan
from emdp.estimators.plan import Plan

__all__ = ["MessagePlan", "Plan", "plan_query"]
