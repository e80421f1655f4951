"""Streams of linear questions: the plan, the rows, and the figures made of them."""

from emdp.estimators.streams.plan import Rows, StreamPlan, check_shows, plan_stream

__all__ = ["Rows", "StreamPlan", "check_shows", "plan_stream"]
