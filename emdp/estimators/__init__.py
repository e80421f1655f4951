"""Query families: what to aggregate, how sensitive it is, and which mechanism answers it."""

from emdp.estimators.linear import LinearColumn, LinearPlan, LinearQuery, plan_linear

__all__ = ["LinearColumn", "LinearPlan", "LinearQuery", "plan_linear"]
