"""Ways of fitting a linear model, the best of them, and what is to be feared of it."""

import math
from collections.abc import Sequence
from dataclasses import replace

from emdp.base.errors import UsageError
from emdp.expressions.numbers.bounds import Analysis
from emdp.mechanisms.descent.messages import MessageDescent
from emdp.mechanisms.descent.moments import UNCLIPPED, MomentFit, moment_candidates
from emdp.mechanisms.descent.plan import descent_candidates
from emdp.mechanisms.descent.rounds import Descent, DescentSetting
from emdp.mechanisms.user_vector.base import UserVectorMechanism
from emdp.questions.linear_fit import LinearFit

__all__ = ["fit_candidates", "fit_notes"]

OFTEN_WRONG, USELESS = 0.05, 0.25
"""Chances of a wrong sign of a typical coefficient: that a reader is told of, and above which a fit is useless."""

HOLDS = (
    "the ends hold together, whatever the data, for the least squares coefficients of everybody's records (not for a "
    "population that they are drawn from); where noise hides a direction of the features they are infinite"
)

HOPELESS = 0.5
"""Part of the typical excess loss of weights of 0 above which a reader is warned."""

SOMEWHERE = (
    "the model is one of the records that are somewhere: users without any, and records that are elsewhere, have a "
    "gradient of 0; what is said of errors supposes that all are somewhere"
)
"""Note where records may be elsewhere."""

SLOTS = (
    "records weigh alike, and the model is one of records: bags are filled up to {slots} of them, and the records of a "
    "user with more count as {slots} together"
)
"""Note where the table has slots."""

NO_INTERVAL = (
    "the ends beside a coefficient are those of the public ball of weights: no narrower interval is certain, since how "
    "curved the loss is depends on the data"
)


def fit_candidates(query: LinearFit, setting: DescentSetting) -> tuple[tuple[Descent, ...], Descent]:
    """Return all ways, and the best: descents by the bound of their loss, moments where their typical loss is less."""
    moments: tuple[MomentFit, ...] = ()
    if query.has_moments:
        # No gradient at a unit vector is that long.
        moments = moment_candidates(replace(setting, clip=UNCLIPPED * math.sqrt(setting.dimension)))
    if query.method == "moments":
        if not moments:
            raise UsageError("features are too many for method='moments', 63 at most; take method='descent'.")
        return moments, min(moments, key=lambda found: found.typical_excess)
    descents = descent_candidates(setting, query.rounds, sampled=query.sampled, participation=query.participation)
    is_drawn = query.sampled is not None or query.participation is not None
    best = descents[0] if is_drawn else min(descents, key=lambda found: found.expected_excess)
    nearest = min((best, *moments), key=lambda found: found.typical_excess)
    return (*moments, *descents), nearest


def fit_notes(
    query: LinearFit, best: Descent, entries: Sequence[Analysis], outcome: Analysis, cap: int
) -> tuple[str, ...]:
    """Return the notes of a fit for its reader, doubts among them."""
    known = [*zip(query.features, entries, strict=True)]
    known += [] if query.loss == "logistic" else [(query.target, outcome)]
    ranges = ", ".join(f"{expression} from [{entry.low:.6g}, {entry.high:.6g}]" for expression, entry in known)
    clipped = "Huber's loss takes its place" if query.loss == "squared" else "the loss grows more slowly"
    told = [
        f"rescaled to [-1, 1] by public ranges, before anything is clipped: {ranges}",
        f"each record's gradient is clipped to a 2-norm of {best.setting.clip:.6g}; where that is felt {clipped}",
        f"at most {cap} records of a user are kept; of a user with more a random sample stands for all",
        HOLDS if isinstance(best, MomentFit) else NO_INTERVAL,
        *_doubts(best),
        *((SOMEWHERE,) if best.setting.elsewhere else ()),
    ]
    if best.typical_excess > HOPELESS * best.setting.unfitted_excess:
        told.append("noise leaves little of the model: more users, a larger epsilon or another trust model are needed")
    if isinstance(best, MessageDescent) and isinstance(best.law, UserVectorMechanism):
        told.append("accuracy, not privacy, rests on between and records: where they are wrong gradients are clipped")
    return tuple(told)


def _doubts(best: Descent) -> tuple[str, ...]:
    """Return the doubts about a coefficient's sign, by the loss that is expected for evenly spread features."""
    own = best.setting
    if own.dimension == 1:
        return ()
    curved = own.curvatures[-1][0]
    error = math.sqrt(2.0 * best.typical_excess / (curved * own.dimension))
    typical = 0.5 * own.radius / math.sqrt(own.dimension)
    chance = 0.5 * math.erfc(typical / error / math.sqrt(2.0)) if error > 0 else 0.0
    if chance < OFTEN_WRONG:
        return ()
    told = (
        f"a coefficient of the rescaled features is off by about {error:.2g} where a typical one is {typical:.2g}: its "
        f"sign is wrong in {chance:.0%} of such fits"
    )
    return (f"this fit will be useless: {told}",) if chance > USELESS else (told,)
