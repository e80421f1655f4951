"""User-level means by range-then-mean: which rounds pay, what they cost, and the rows of the answer.

The mechanisms are :mod:`emdp.mechanisms.user_mean.plan` for a number and :mod:`emdp.mechanisms.user_vector.plan` for a
vector (local-shuffle-userlevel.md 2). Here they meet a table: a user's number is the mean over its records of the
expression, clipped record by record where bounds were given, in the engine's fixed point; a public user without records
has the neutral item's. Every user weighs the same, whatever the number of records, so unequal numbers cost no privacy;
users with fewer records than was declared lie farther from the common mean and may be clipped.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import closing
from fractions import Fraction
from operator import add
from typing import Any

import polars as pl

from emdp.base.arrays import Integers
from emdp.base.classes import dataclass
from emdp.base.errors import NotLipschitzError, UsageError
from emdp.estimators.crowds import MeanValues, UserValues, WorkerCrowd, neutral_units
from emdp.estimators.mean.linear import OneRow
from emdp.estimators.messages import WEIGHING, MessagePlan, WrappedRelease, trust
from emdp.estimators.user_groups import check_names
from emdp.estimators.user_mean.comparison import Candidate, compared_ways
from emdp.estimators.user_mean.somewhere import SOMEWHERE, UNSLOTTED, OwnMeans, PresentSums, own_means
from emdp.expressions import analyse, evaluate, final_lipschitz
from emdp.expressions.numbers.bounds import Analysis
from emdp.expressions.numbers.fixed_point import fixed_point_error, fixed_point_exponent
from emdp.mechanisms.crowd import ColumnSums
from emdp.mechanisms.user_mean.choice import best_of
from emdp.mechanisms.user_mean.plan import UserMeanMechanism, UserMeanRelease, UserMeanSetting, user_mean_candidates
from emdp.mechanisms.user_mean.several import SeveralMeans, SeveralReleases, divided, several_means
from emdp.mechanisms.user_mean.somewhere import SomewhereMean, SomewhereRelease
from emdp.mechanisms.user_vector.local import LocalUserVector
from emdp.mechanisms.user_vector.plan import UserVectorRelease, UserVectorSetting, user_vector_candidates
from emdp.privacy import GuaranteeEvent, UserDP
from emdp.questions.columns import PlannedColumn, Released
from emdp.questions.reading import MeanBlock, Reading, RepeatedBlocks
from emdp.questions.user_mean import UserMean
from emdp.spaces import Space

__all__ = ["UserMeanMessages", "UserMeanRow", "candidates_of", "plan_user_mean"]

ALIKE = "between = 0 assumes that all users have one mean, up to their records' spread; say how far people differ"

FEW_NEAR = 0.9
"""Share of users near the range below which an answer says that it clips many."""

RESTS = "accuracy, not privacy, rests on {}: where they are wrong users are clipped, and intervals may miss"


@dataclass(frozen=True, eq=False)
class UserMeanMessages(WrappedRelease):
    """Hands the users' means to a mechanism of one number or of a vector."""

    mechanism: Candidate
    neutral: tuple[float, ...]  # The mean of a user without records, for each expression
    exponents: tuple[int, ...]  # Fixed-point exponent of each expression's mean
    own: OwnMeans | None = None  # What makes users' means of what is read, where records may be elsewhere

    @property
    def values(self) -> UserValues:
        """What numbers users have."""
        return self.own or MeanValues(self.exponents, tuple(neutral_units(self.neutral, self.exponents)))

    def release(self, read: Iterator[MeanBlock], *, users: int, keep_exact: bool) -> tuple[Any, Released | None]:
        """Draw all rounds: this spends."""
        values, summed = self.values, self._summed
        if isinstance(read, RepeatedBlocks):
            with closing(read):
                return self._asked(WorkerCrowd(read, users, values), keep_exact=keep_exact)
        sums, present = [0] * summed.size, [0]

        def means() -> Iterator[Integers]:
            for block in read:
                own = values.of_block(block, None)
                if keep_exact:
                    present[0] += len(own)
                    sums[:] = map(add, sums, map(int, summed.sums(own, None)))
                yield own

        nobody = values.of_nobody()
        released: Any
        if isinstance(self.mechanism, UserMeanMechanism):
            released = self.mechanism.release((block[:, 0] for block in means()), self.exponents[0], nobody[0])
        else:
            released = self.mechanism.release(means(), self.exponents, nobody)
        if not keep_exact:
            return released, None
        rest = [0] * summed.size if self.own is not None else [(users - present[0]) * one for one in nobody]
        return released, (self._exact(list(map(add, sums, rest)), users),)

    def _asked(self, crowd: WorkerCrowd, *, keep_exact: bool) -> tuple[Any, Released | None]:
        """Draw all rounds from users whose means stay on workers: this spends."""
        exact = None
        if keep_exact:
            sums = crowd.added(self._summed)
            exact = (self._exact([int(one) for one in sums], crowd.users),)
        if isinstance(self.mechanism, UserMeanMechanism):
            return self.mechanism.ask(crowd, self.exponents[0]), exact
        return self.mechanism.ask(crowd, self.exponents), exact

    @property
    def _summed(self) -> ColumnSums | PresentSums:
        return ColumnSums(len(self.exponents)) if self.own is None else PresentSums(len(self.exponents))

    def _exact(self, sums: Sequence[int], users: int) -> tuple[Any, ...]:
        if self.own is not None:
            *totals, users = sums
            units = zip(totals, self.own.units, strict=True)
            return tuple(Fraction(total) / Fraction(2) ** unit / users if users else None for total, unit in units)
        pairs = zip(sums, self.exponents, strict=True)
        return tuple(Fraction(total) / Fraction(2) ** exponent / users for total, exponent in pairs)


@dataclass(frozen=True, eq=False)
class UserMeanRow(OneRow):
    """An answer of one row: means over users, each with an interval."""

    limit: int | None = None  # Most rows; there is one
    offset: int = 0  # Rows left out first

    def frame(self, released: Any, level: float, *, together: bool = False) -> pl.DataFrame:
        own = 1.0 - (1.0 - level) / len(self.names) if together else level
        data: dict[str, list[float | None]] = {}
        values = released.value if isinstance(released.value, tuple) else (released.value,)
        if getattr(released, "is_unknown", False):
            # The share of users who are somewhere is within its own noise.
            values = (None,)
        for place, (name, value) in enumerate(zip(self.names, values, strict=True)):
            is_one = isinstance(released.mechanism, UserMeanMechanism)
            low, high = released.interval(own) if is_one else released.interval(place, own)
            data |= {name: [value if value is None else float(value)], f"{name}_low": [low], f"{name}_high": [high]}
        return pl.DataFrame(data, schema=dict.fromkeys(data, pl.Float64)).slice(self.offset, self.limit)

    def exact(self, statistics: Any) -> pl.DataFrame:
        """Return the exact means; none where nobody is somewhere."""
        pairs = zip(self.names, statistics[0], strict=True)
        data = {name: [value if value is None else float(value)] for name, value in pairs}
        return pl.DataFrame(data, schema=dict.fromkeys(data, pl.Float64))

    def diagnostics(self, released: Any) -> dict[str, Any]:
        """Return the facts that the first round told besides: the range, and how many users seem to lie near it."""
        ranges = released.ranges if isinstance(released.value, tuple) else (released.range,)
        found: dict[str, Any] = {"ranges": [tuple(map(float, one)) for one in ranges]}
        if isinstance(released, SomewhereRelease | SeveralReleases):
            found["share_somewhere"] = float(released.share)
        near = getattr(released, "near", None)
        if near is not None:
            found |= {"near": near, "near_error": released.near_error}
        return found

    def remarks(self, released: Any) -> tuple[str, ...]:
        """Return the first round's evidence against the assumptions."""
        near = getattr(released, "near", None)
        if near is None or near + 2.0 * (released.near_error or 0.0) >= FEW_NEAR:
            return ()
        return (
            f"about {near:.0%} of users are near the range that was found: the others are clipped, and the interval "
            "does not hold for the mean of all; assume a larger spread or between",
        )


def plan_user_mean(query: UserMean, *, space: Space, users: int, records: int | None = None) -> MessagePlan:
    """Return the plan of a mean at user level: the rounds that are expected to be nearest, failures included.

    Raises
    ------
    NotLipschitzError
        If an expression has no finite range.
    UsageError
        If no way of releasing it fits, or ``method="range"`` and there are too few bins or users for one.

    Guarantee
    ---------
    ``(epsilon, delta)`` at user level in the query's model, for any records: local-shuffle-userlevel.md 2.

    >>> from emdp.questions.user_mean import user_mean
    >>> from emdp.spaces import Interval
    >>> query = user_mean("x", epsilon=2.0, model="local", spread=1.0, records=100)
    >>> plan = plan_user_mean(query, space=Interval("x", -50, 50), users=2000)
    >>> plan.guarantee.kind_name, plan.columns[0].expected_error < 0.2
    ('local UserDP', True)
    """
    entries = [analyse(expression, space) for expression in query.expressions]
    check_names([f"{name}{end}" for name in query.columns for end in ("", "_low", "_high")])
    own = None if space.elsewhere is None else own_means(query.expressions, space)
    candidates = candidates_of(query, space=space, users=users, records=records)
    best = best_of(_of_method(query, candidates))
    kind = UserDP(0.0, model=query.model)
    neutral = tuple(float(evaluate(one, space, space.neutral_item)[0]) for one in query.expressions)
    read = query.expressions if own is None else own.expressions
    return MessagePlan(
        reading=Reading("means", by_user=True, expressions=read),
        releaser=UserMeanMessages(best, neutral, tuple(fixed_point_exponent(entry) for entry in entries), own),
        event=GuaranteeEvent(kind.at_level(best.epsilon, best.delta), f"user mean: {best.name}", best.slack_epsilon),
        columns=tuple(_column(query, place, entry, space, best) for place, entry in enumerate(entries)),
        choice=_choice(query, candidates, best),
        finisher=UserMeanRow(query.columns, query.limit, query.offset),
        weighing=WEIGHING,
        notes=(*_notes(query), *(() if own is None else (SOMEWHERE,)), *(() if space.slots is None else (UNSLOTTED,))),
        assumptions=trust(query.model, best.epsilon0, is_apart=best.is_apart),
        comparison=compared_ways(query, candidates, best, space=space, users=users),
    )


def candidates_of(query: UserMean, *, space: Space, users: int, records: int | None = None) -> tuple[Candidate, ...]:
    """Return every way of releasing a user mean; see :func:`plan_user_mean`."""
    entries = [analyse(expression, space) for expression in query.expressions]
    assumed = query.records or records or 1
    is_elsewhere = space.elsewhere is not None
    error = own_means(query.expressions, space).error if is_elsewhere else max(map(fixed_point_error, entries))
    if any(not entry.low < entry.high for entry in entries):
        raise UsageError("expressions must not be constant: their mean is public; leave such a one out.")
    if len(entries) > 1 and is_elsewhere:
        return _several(query, entries, users, assumed, error)
    if len(entries) == 1:
        return user_mean_candidates(
            UserMeanSetting(
                users, entries[0].low, entries[0].high, query.price.level, query.price.delta, query.model,
                None if query.spread is None else query.spread[0], query.between[0], assumed, query.failure, error,
                is_elsewhere,
            )
        )  # fmt: skip
    return user_vector_candidates(
        UserVectorSetting(
            users, tuple(entry.low for entry in entries), tuple(entry.high for entry in entries), query.price.level,
            query.price.delta, query.model, query.spread, query.radius,
            query.between if len(query.between) > 1 else query.between[0], assumed, query.failure, error,
        )
    )  # fmt: skip


def _several(
    query: UserMean, entries: Sequence[Analysis], users: int, assumed: int, error: float
) -> tuple[SeveralMeans, ...]:
    """Return the ways of several means where records may be elsewhere: each by itself."""
    if query.radius is not None:
        raise UsageError(
            "radius is how far whole vectors lie from their mean, and means of users who may be elsewhere are found "
            "one by one; pass spread and between."
        )
    bounds = [(entry.low, entry.high) for entry in entries]
    whole = UserMeanSetting(
        users, *bounds[0], query.price.level, query.price.delta, query.model, None, 0.0, assumed, query.failure, error,
        elsewhere=True,
    )  # fmt: skip
    spreads = query.spread or (None,) * len(entries)
    between = query.between if len(query.between) > 1 else query.between * len(entries)
    spreads = spreads if len(spreads) > 1 else spreads * len(entries)
    return several_means(whole, divided(whole, bounds, spreads, between))


def _has_range(candidate: Candidate) -> bool:
    # However many users there are, some mean may lie outside of the radius: a range is never sure.
    return candidate.missed_range > 0


def _of_method(query: UserMean, candidates: Sequence[Candidate]) -> list[Candidate]:
    if query.method == "auto":
        return list(candidates)
    found = [one for one in candidates if _has_range(one) == (query.method == "range")]
    if not found:
        raise UsageError(
            f"method={query.method!r} does not fit: the spread leaves fewer than three bins within the bounds, or "
            "there are too few users; pass method='auto', a smaller spread or more records."
        )
    return found


def _column(query: UserMean, place: int, entry: Analysis, space: Space, best: Candidate) -> PlannedColumn:
    name, expression = query.columns[place], query.expressions[place]
    deviation, expected = _each(query, best.deviation), _each(query, best.expected_error)
    try:
        constant = final_lipschitz(entry, space, text=str(expression))
    except NotLipschitzError:
        constant = float("inf")
    note = f"error is the root mean square; {deviation:.3g} where the range is not missed"
    return PlannedColumn(
        name=name,
        expression=str(expression),
        lipschitz=constant,
        low=entry.low,
        high=entry.high,
        noise_scale=deviation,
        expected_error=expected,
        interval_95=_half_width(best, place, fixed_point_exponent(entry)),
        share=1.0 / len(query.expressions),
        note=note if best.missed_range else "error is the root mean square",
        written=query.written,
    )


def _half_width(best: Candidate, place: int, exponent: int) -> float:
    """Return half the length that the answer's interval has, of an estimate in the middle of the longest range."""
    released: UserMeanRelease | UserVectorRelease
    if isinstance(best, SeveralMeans):
        low, high = best.parts[place].supposed(exponent).interval(0.95)
    elif isinstance(best, SomewhereMean):
        low, high = best.supposed(exponent).interval(0.95)
    elif isinstance(best, UserMeanMechanism):
        setting = best.setting
        window = setting.middle_window if _has_range(best) else (setting.low, setting.high)
        released = UserMeanRelease(best, Fraction(0.5 * window[0] + 0.5 * window[1]), window, exponent=exponent)
        low, high = released.interval(0.95)
    else:
        windows = best.frame.windows
        middles = tuple(0.5 * low + 0.5 * high for low, high in windows)
        counts = best.planned_counts if isinstance(best, LocalUserVector) else ()
        released = UserVectorRelease(middles, windows, best, counts)
        low, high = released.interval(place, 0.95)
    return 0.5 * (high - low)


def _each(query: UserMean, error: float) -> float:
    # Of a vector what is said of one coordinate is the root mean square over all of them.
    return error / math.sqrt(len(query.expressions))


def _choice(query: UserMean, candidates: Sequence[Candidate], best: Candidate) -> str:
    fitting = len(_of_method(query, candidates))
    if fitting == 1:
        why = "the only way that fits" if query.method == "auto" else f"the only way of method={query.method!r}"
    else:
        # Ways that miss the target failure come last, whatever their error.
        why = f"of {fitting} ways that of least expected error, missed ranges included"
        why += "" if best.missed_range <= best.setting.failure else "; the range is missed more often than was asked"
    return f"{query.model} model, {best.name}: {why}."


def _notes(query: UserMean) -> tuple[str, ...]:
    # Not of ranges alone: intervals of users who are dealt out rest on it too.
    if query.spread is not None:
        alike = () if any(query.between) else (ALIKE,)
        return (RESTS.format("spread, between and records"), *alike)
    return () if query.radius is None else (RESTS.format("radius, between and records"),)
