"""Query families: what to aggregate, how sensitive it is, and which mechanism answers it."""

from emdp.estimators.dispatch import plan_query
from emdp.estimators.plan import Plan

__all__ = ["Plan", "plan_query"]
