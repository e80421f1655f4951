"""Models fitted privately at user level, built on sessions: not loaded by ``import emdp``."""

from emdp.learn.fit import FittedLinear, fit_linear
from emdp.questions.linear_fit import LinearFit, linear_fit_query

__all__ = ["FittedLinear", "LinearFit", "fit_linear", "linear_fit_query"]
