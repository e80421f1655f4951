"""Learning at user level: models of a session's table, and what learns from people round by round; loaded on demand."""

from emdp.learn.bandit import Batch, LinearBandit
from emdp.learn.fit import FittedLinear, fit_linear
from emdp.learn.personalised import Personalised, Round
from emdp.questions.linear_fit import LinearFit, linear_fit_query

__all__ = [
    "Batch",
    "FittedLinear",
    "LinearBandit",
    "LinearFit",
    "Personalised",
    "Round",
    "fit_linear",
    "linear_fit_query",
]
