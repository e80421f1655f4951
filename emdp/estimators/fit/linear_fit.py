"""Linear models by private gradient descent at user level: which descent, what it costs, and the rows of the answer.

The descents are those of :mod:`emdp.mechanisms.descent.plan`. Here they meet a table: features and target of every
record are computed from its item and rescaled by their public ranges to [-1, 1]; a public user without records has one,
the neutral item, or one that is elsewhere, whose gradient is 0. Every user weighs the same; where records may be
elsewhere, as much as the share of own records that are somewhere. With slots every bag is filled up to them by records
that are elsewhere, so that records weigh alike; the gradient of a user is still no longer than one record's. All
numbers are in memory together, ``MOST_NUMBERS`` of them at most: of a user who has more records than that allows, a
public number, a random sample stands for all. A user's sample depends on nobody else, so that it costs no privacy.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

from emdp.base.arrays import Floats, Integers
from emdp.base.classes import dataclass
from emdp.base.errors import InternalError, UsageError
from emdp.estimators.crowds import WorkerCrowd
from emdp.estimators.fit.records import GradientValues, KeptRecords, cleared
from emdp.estimators.fit.ways import SLOTS, fit_candidates, fit_notes
from emdp.estimators.messages import TRUST, MessagePlan, WrappedRelease, trust, weighing_of
from emdp.expressions import analyse
from emdp.expressions.numbers.bounds import Analysis
from emdp.mechanisms.descent.loss import MOST_RECORDS, UserRecords, minimum
from emdp.mechanisms.descent.messages import MessageDescent
from emdp.mechanisms.descent.moments import MomentFit, MomentRelease
from emdp.mechanisms.descent.rounds import Descent, DescentRelease, DescentSetting
from emdp.questions.columns import PlannedColumn, Released
from emdp.questions.linear_fit import LinearFit
from emdp.questions.reading import PointBlock, Reading, RepeatedBlocks
from emdp.questions.shape import Shape
from emdp.spaces import Space

__all__ = ["MOST_NUMBERS", "FitRows", "LinearFitMessages", "Rescaling", "plan_linear_fit"]

MOST_NUMBERS = 2**27
"""Numbers of all users' records that are in memory together: 1 GiB, and twice that while they are gathered."""

LOGISTIC_RADIUS = 4.0
"""Largest 2-norm of the weights of a logistic model unless told: odds of up to 55 for one feature."""

DRAWN = (
    "who is in a round is drawn by somebody trusted for it, or by each user, and known to nobody who sees the answer: "
    "no addresses, no times of answers"
)
"""Assumption of rounds whose users are drawn anew."""


@dataclass(frozen=True)
class Rescaling:
    """Affine maps of features and target to [-1, 1], and of weights back into the units of the columns.

    >>> Rescaling((5.0,), (5.0,), (0.0, 2.0)).coefficients((0.5, 1.0))
    (-1.0, 0.4)
    """

    # middles, halves: Middle and half of the range of each feature.
    middles: tuple[float, ...]
    halves: tuple[float, ...]
    target: tuple[float, float]  # The same of the target; `(0, 1)` where it is left as it is

    def coefficients(self, weights: Sequence[float]) -> tuple[float, ...]:
        """Return the intercept and each feature's coefficient, in the units of the expressions."""
        middle, unit = self.target
        slopes = [weight / half for weight, half in zip(weights[1:], self.halves, strict=True)]
        moved = math.fsum(slope * own for slope, own in zip(slopes, self.middles, strict=True))
        return (middle + unit * (weights[0] - moved), *(unit * slope for slope in slopes))

    def rows(self) -> tuple[Floats, Floats]:
        """Return the coefficients as an offset and a linear function of the weights each."""
        offsets = np.array(self.coefficients((0.0,) * (len(self.halves) + 1)))
        return offsets, np.array([self.coefficients(tuple(one)) for one in np.eye(len(offsets)).tolist()]).T - offsets[
            :, None
        ]

    def reach(self, radius: float) -> tuple[float, ...]:
        """Return how far each coefficient is from that of the weights 0 at most, for weights in the ball."""
        unit = self.target[1]
        turned = [middle / half for middle, half in zip(self.middles, self.halves, strict=True)]
        return (unit * radius * math.hypot(1.0, *turned), *(unit * radius / half for half in self.halves))


@dataclass(frozen=True, eq=False)
class LinearFitMessages(WrappedRelease):
    """Hands all users' rescaled records to a descent."""

    mechanism: Descent
    query: LinearFit
    space: Space
    rescaling: Rescaling
    cap: int

    def release(
        self, read: Iterator[PointBlock], *, users: int, keep_exact: bool
    ) -> tuple[DescentRelease, Released | None]:
        """Draw all rounds: this spends."""
        if not isinstance(read, RepeatedBlocks):
            return self._released(read, users, keep_exact)
        with closing(read):
            # Moments are differences of passes: of a user with many records all must have the same sample.
            if isinstance(self.mechanism, MomentFit):
                return self._released(read, users, keep_exact)
            exact = self._exact(self._gathered(read, users)) if keep_exact else None
            return self._asked(read, users), exact

    def _released(self, read: Iterator[PointBlock], users: int, keep_exact: bool) -> tuple[Any, Released | None]:
        records = self._gathered(read, users)
        released = self.mechanism.release(records)
        return released, self._exact(records) if keep_exact else None

    def _exact(self, records: UserRecords) -> Released:
        own = self.mechanism.setting
        weights = minimum(records, loss=own.loss, clip=own.clip, radius=own.radius)
        return (tuple(map(Fraction, self.rescaling.coefficients(weights.tolist()))),)

    def _asked(self, blocks: RepeatedBlocks, users: int) -> DescentRelease:
        """Draw all rounds from users whose records stay on workers: this spends."""
        blocks.prepare(self.records)
        setting, neutral = self.mechanism.setting, self.records.neutral

        def gradients(weights: Floats, asked: Integers | None) -> WorkerCrowd:
            values = GradientValues(setting, tuple(weights.tolist()), neutral)
            return WorkerCrowd(blocks, users, values, among=asked)

        return self.mechanism.ask(gradients)

    @property
    def records(self) -> KeptRecords:
        """Rule for the records of each user that are kept, and their numbers."""
        own = self.rescaling
        scales = (*zip(own.middles, own.halves, strict=True), own.target)
        return KeptRecords(self.query, self.space, scales, self.cap)

    def _gathered(self, read: Iterator[PointBlock], users: int) -> UserRecords:
        kept = self.records
        parts: list[Floats] = []
        sizes: list[Integers] = []
        for block in read:
            ends, own = kept.prepare(block)
            parts.append(own)
            sizes.append(np.diff(ends))
        absent = users - sum(map(len, sizes))
        if absent < 0:
            raise InternalError("more users came from the engine than there are; please report it.")
        # Whoever has no records has the neutral item, or is elsewhere (EMD 8.1).
        parts.append(np.repeat([kept.neutral], absent, axis=0))
        sizes.append(np.ones(absent, dtype=np.int64))
        offsets = np.concatenate([[0], np.cumsum(np.concatenate(sizes))]).astype(np.int64)
        numbers = np.ones((kept.width + 1, int(offsets[-1])))
        np.concatenate(parts, out=numbers[1:].T)
        cleared(numbers)
        return UserRecords(numbers[:-1], numbers[-1], offsets)


@dataclass(frozen=True, eq=False)
class FitRows:
    """Rows of a linear model: one a coefficient, the intercept first."""

    names: tuple[str, ...]
    rescaling: Rescaling
    radius: float

    @property
    def shape(self) -> Shape:
        """A row a feature."""
        return Shape("rows", keys=("feature",))

    def frame(self, released: Any, level: float, *, together: bool = False) -> pl.DataFrame:
        """Return feature, coefficient and its ends: of moments those that hold together, else the ball's."""
        if isinstance(released, MomentRelease):
            return self._with_intervals(released, level)
        middles = self.rescaling.coefficients((0.0,) * len(self.names))
        reach = self.rescaling.reach(self.radius)
        return pl.DataFrame(
            {
                "feature": self.names,
                "coefficient": self.rescaling.coefficients(released.weights),
                "coefficient_low": [middle - far for middle, far in zip(middles, reach, strict=True)],
                "coefficient_high": [middle + far for middle, far in zip(middles, reach, strict=True)],
            }
        )

    def _with_intervals(self, released: MomentRelease, level: float) -> pl.DataFrame:
        offsets, functions = self.rescaling.rows()
        ends = released.intervals(functions, level)
        return pl.DataFrame(
            {
                "feature": self.names,
                "coefficient": self.rescaling.coefficients(released.weights),
                "coefficient_low": [float(own + low) for own, (low, _) in zip(offsets, ends, strict=True)],
                "coefficient_high": [float(own + high) for own, (_, high) in zip(offsets, ends, strict=True)],
            }
        )

    def exact(self, statistics: Released) -> pl.DataFrame:
        """Return the coefficients of the smallest loss in the ball."""
        return pl.DataFrame({"feature": self.names, "coefficient": [float(value) for value in statistics[0]]})

    def diagnostics(self, released: DescentRelease) -> dict[str, Any]:
        """Return the weights of the rescaled features, and whether they lie near the end of their ball."""
        length = math.hypot(*released.weights)
        return {"weights": released.weights, "share_of_radius": length / self.radius}


def plan_linear_fit(query: LinearFit, *, space: Space, users: int, records: int | None = None) -> MessagePlan:
    """Return the plan of a linear model: the descent with the smallest bound of its expected excess loss.

    Raises
    ------
    NotLipschitzError
        If an expression has no finite range.
    UsageError
        If an expression is constant, the target does not fit the loss, or there are too many users and features.

    Guarantee
    ---------
    ``(epsilon, delta)`` at user level in the query's model for the whole descent, for any records: the theorems of
    :mod:`emdp.mechanisms.descent.central` and :mod:`emdp.mechanisms.descent.messages`.

    >>> from emdp.questions.linear_fit import linear_fit_query
    >>> from emdp.spaces import Interval, Product
    >>> space = Product(Interval("x", 0, 10), Interval("y", 0, 100))
    >>> plan = plan_linear_fit(linear_fit_query("x", "y", epsilon=1.0, rounds=8), space=space, users=1000)
    >>> plan.guarantee.kind_name, plan.releaser.mechanism.rounds
    ('central UserDP', 8)
    """
    entries = [analyse(expression, space) for expression in query.features]
    outcome = analyse(query.target, space)
    _check_ranges(query, entries, outcome)
    rescaling = _rescaling(query, entries, outcome)
    dimension = len(entries) + 1
    cap = min(MOST_RECORDS, MOST_NUMBERS // (users * (dimension + 2)))
    if cap < 1:
        most = MOST_NUMBERS // (dimension + 2)
        raise UsageError(f"{users} users are too many for {dimension} weights, {most} at most; use fewer features.")
    setting = replace(_setting(query, dimension, users, records), elsewhere=space.elsewhere is not None)
    candidates, best = fit_candidates(query, setting)
    best.check_budget()
    finisher = FitRows(query.names, rescaling, setting.radius)
    return MessagePlan(
        reading=Reading("points", by_user=True),
        releaser=LinearFitMessages(best, query, space, rescaling, cap),
        event=best.event,
        columns=(_column(query, best, finisher),),
        choice=_choice(query, best, candidates),
        finisher=finisher,
        weighing=weighing_of(space),
        notes=(
            *fit_notes(query, best, entries, outcome, cap),
            *(() if space.slots is None else (SLOTS.format(slots=space.slots),)),
        ),
        assumptions=_assumptions(query, best),
    )


def _check_ranges(query: LinearFit, entries: Sequence[Analysis], outcome: Analysis) -> None:
    for expression, entry in zip((*query.features, query.target), (*entries, outcome), strict=True):
        if not entry.low < entry.high:
            raise UsageError(f"`{expression}` is constant, so that it explains nothing; leave it out.")
        if not 2.0**-500 < entry.high - entry.low < 2.0**500:
            raise UsageError(
                f"`{expression}` has a range of {entry.high - entry.low:.3g}, which coefficients cannot be scaled to; "
                "multiply it by a number."
            )
    if query.loss == "logistic" and not (outcome.low >= 0.0 and outcome.high <= 1.0):
        raise UsageError(
            f"target must be 0 or 1 for the logistic loss, but `{query.target}` has the range [{outcome.low:.6g}, "
            f"{outcome.high:.6g}]; pass such as emdp.category_is('yes'), or loss='squared'."
        )


def _rescaling(query: LinearFit, entries: Sequence[Analysis], outcome: Analysis) -> Rescaling:
    pairs = [(0.5 * one.low + 0.5 * one.high, 0.5 * one.high - 0.5 * one.low) for one in (*entries, outcome)]
    target = (0.0, 1.0) if query.loss == "logistic" else pairs[-1]
    return Rescaling(tuple(pair[0] for pair in pairs[:-1]), tuple(pair[1] for pair in pairs[:-1]), target)


def _setting(query: LinearFit, dimension: int, users: int, records: int | None) -> DescentSetting:
    is_squared = query.loss == "squared"
    radius = query.radius or (1.0 if is_squared else LOGISTIC_RADIUS)
    length = math.sqrt(dimension)
    # |x| is at most `length`; a residual at most 1 + D |x|, and 2 for predictions within the target's range.
    largest = min(2.0, 1.0 + radius * length) * length if is_squared else length
    return DescentSetting(
        users, dimension, query.loss, query.clip or largest, radius, query.price.level, query.price.delta, query.model,
        query.records or records or 1, query.between,
    )  # fmt: skip


def _column(query: LinearFit, best: Descent, finisher: FitRows) -> PlannedColumn:
    middles = finisher.rescaling.coefficients((0.0,) * len(finisher.names))
    reach = finisher.rescaling.reach(finisher.radius)
    return PlannedColumn(
        name="coefficient",
        expression=query.formula,
        lipschitz=math.inf,
        low=min(middle - far for middle, far in zip(middles, reach, strict=True)),
        high=max(middle + far for middle, far in zip(middles, reach, strict=True)),
        noise_scale=best.noise,
        expected_error=best.typical_excess,
        interval_95=max(reach),
        note="noise is that of one round's gradient, in the 2-norm; error is the expected excess loss where features "
        f"are spread evenly, {best.expected_excess:.3g} at most; both on the rescaled columns",
    )


def _assumptions(query: LinearFit, best: Descent) -> tuple[str, ...]:
    if not isinstance(best, MessageDescent) or query.model != "shuffle":
        return TRUST[query.model]
    told = trust(query.model, best.unmixed, is_apart=best.is_apart)
    if best.sampled is not None or best.participation is not None:
        told += (DRAWN,)
    return told


def _choice(query: LinearFit, best: Descent, candidates: Sequence[Descent]) -> str:
    ordered = sorted(candidates, key=lambda found: (found is not best, found.expected_excess))
    shown = [
        f"{one.name}: {one.expected_excess:.3g} in {one.rounds} rounds of {one.users_a_round} users, noise "
        f"{one.noise:.3g} each"
        for one in ordered
    ]
    return (
        f"{query.model} model, {ordered[0].name}: bound of the expected excess {query.loss} loss; {'; '.join(shown)}."
    )
