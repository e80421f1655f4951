"""Ways of releasing a user mean side by side, and the linear query that d_EM-DP would allow in their place."""

import math
import re
from collections.abc import Callable, Mapping, Sequence

from emdp.base.errors import NotLipschitzError, UsageError
from emdp.estimators.contract import AnyPlan
from emdp.estimators.mean.linear import plan_linear
from emdp.estimators.mean.local import plan_local_means
from emdp.mechanisms.user_mean.plan import UserMeanMechanism
from emdp.mechanisms.user_mean.several import SeveralMeans
from emdp.mechanisms.user_vector.plan import UserVectorMechanism
from emdp.questions.comparison import ROOT_MEAN_SQUARE, ComparedMethod
from emdp.questions.means import MeanModel, vector_mean
from emdp.questions.user_mean import UserMean
from emdp.spaces import Space

__all__ = ["Candidate", "compared_ways"]

Candidate = UserMeanMechanism | UserVectorMechanism | SeveralMeans

LINEAR = "linear query under d_EM-DP"
"""Name of what the metric would allow."""

SAID_ELSEWHERE = ("messages", "missed range", "shuffle", "before mixing")
"""Facts that a way's name, its remark or its other facts say already."""


def compared_ways(
    query: UserMean, candidates: Sequence[Candidate], best: Candidate, *, space: Space, users: int
) -> tuple[ComparedMethod, ...]:
    """Return the comparison: the chosen way, the others from the least error on, then the linear query.

    Errors are those of one column; of a vector the root mean square over its columns.

    >>> from emdp.estimators.user_mean.user_means import candidates_of
    >>> from emdp.questions.user_mean import user_mean
    >>> from emdp.spaces import Interval
    >>> query, space = user_mean("x", epsilon=2.0, spread=1.0, records=100), Interval("x", -50, 50)
    >>> ways = candidates_of(query, space=space, users=2000)
    >>> for row in compared_ways(query, ways, ways[0], space=space, users=2000)[::5]:
    ...     print(row.text)
    one round, expected root mean square 0.0354, chosen: looks for no range
    linear query under d_EM-DP, expected root mean square 0.0354: needs no range, since the metric bounds the change; \
another guarantee: session.mean(..., alpha=2)
    """
    dimension = len(query.expressions)
    in_order = sorted(candidates, key=lambda one: (one is not best, one.expected_error))
    names = _told_apart(in_order)
    rows = [
        ComparedMethod(
            names[id(one)],
            one.expected_error / math.sqrt(dimension),
            one is best,
            _remark(query, one, dimension),
            ROOT_MEAN_SQUARE,
        )
        for one in in_order
        if id(one) in names
    ]
    # What is said of a linear query is of all records.
    return (*rows,) if space.elsewhere is not None else (*rows, _linear(query, space, users))


def _remark(query: UserMean, one: Candidate, dimension: int) -> str:
    if not one.missed_range:
        return "looks for no range" + ("; left out by method='range'" if query.method == "range" else "")
    remark = (
        f"{one.deviation / math.sqrt(dimension):.3g} if the range is right; missed with probability "
        f"{min(1.0, one.missed_range):.2g} at most; {one.users_needed} users needed for {query.failure:g}"
    )
    return remark + ("; left out by method='direct'" if query.method == "direct" else "")


def _told_apart(ways: Sequence[Candidate]) -> Mapping[int, str]:
    """Return a name for each way, by identity: ways of one name with what differs in their facts, equal ones once."""
    names: dict[int, str] = {}
    for name in dict.fromkeys(one.name for one in ways):
        facts: dict[tuple[str, ...], Candidate] = {}
        for one in ways:
            if one.name == name:
                facts.setdefault(_facts(one), one)
        for own, one in facts.items():
            others = [other for other in facts if other != own]
            differing = [piece for piece in own if any(piece not in other for other in others)]
            names[id(one)] = f"{name} ({', '.join(differing)})" if differing else name
    return names


def _facts(one: Candidate) -> tuple[str, ...]:
    """Return the facts of a way in pieces, each with what it is about."""
    return tuple(
        f"{about} {piece}"
        for about, fact in one.facts("replaced user")
        if about not in SAID_ELSEWHERE
        for piece in re.split(r"[,;] ", fact)
    )


def _linear(query: UserMean, space: Space, users: int) -> ComparedMethod:
    """Return what a linear query under d_EM-DP would have in place of this: there the metric bounds the change."""
    model: MeanModel = "local" if query.model == "local" else "central"
    delta = 0.0 if model == "local" else query.price.delta
    linear = vector_mean(query.expressions, alpha=query.price.level, delta=delta, model=model)
    planner: Callable[..., AnyPlan] = plan_local_means if model == "local" else plan_linear
    try:
        plan = planner(linear, space=space, users=users)
    except (NotLipschitzError, UsageError) as error:
        return ComparedMethod(LINEAR, None, False, error.sentence, ROOT_MEAN_SQUARE)
    is_vector = len(query.expressions) > 1
    call = f"session.{'vector_mean' if is_vector else 'mean'}(..., alpha={query.price.level:g}"
    call += f"{f', delta={delta:g}' if delta else ''}{', model=' + repr(model) if model != 'central' else ''})"
    trusted = ", a curator" if query.model == "shuffle" else ""
    remark = f"needs no range, since the metric bounds the change; another guarantee{trusted}: {call}"
    return ComparedMethod(LINEAR, _deviation(plan), False, remark, ROOT_MEAN_SQUARE)


def _deviation(plan: AnyPlan) -> float:
    """Return the standard deviation of one column of a linear query."""
    return float(getattr(plan.mechanisms[0], "standard_deviation", plan.columns[0].noise_scale))
