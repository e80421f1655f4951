"""Models fitted privately at user level, built on sessions: not loaded by ``import emdp``."""

from emdp.expressions.linear_fit import LinearFit, linear_fit_query
from emdp.learn.fit import FittedLinear, fit_linear

__all__ = ["FittedLinear", "LinearFit", "fit_linear", "linear_fit_query"]
