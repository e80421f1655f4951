"""Plans as an audit sees them: one class a kind of plan, and one table of them."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

import numpy as np

from emdp.audit.bulk import bulk_of, read_blocks
from emdp.audit.changes import Change, Floats, added_changes, message_change, noise_change, total_of
from emdp.audit.counts import CountedMessages
from emdp.audit.keyed import keyed_scores
from emdp.audit.mixed import MixedMessages
from emdp.audit.neighbours import Neighbours
from emdp.audit.noisy import DescentRounds
from emdp.audit.ranges import RangeMessages, VectorRanges
from emdp.audit.releases import (
    DESCENT_SHARE,
    MESSAGE_SHARE,
    NoiseDraws,
    additive_releases,
    additive_scores,
    first_numbers,
    message_name,
    message_scores,
    noise_name,
    one_user_scores,
    parts_of_plan,
    run_release,
)
from emdp.audit.tester import LEAST_TRIALS, Scores
from emdp.base.errors import UsageError
from emdp.estimators import AnyPlan, MeasuredPlan, MessagePlan, OwnedPlan, Plan
from emdp.estimators.frequency.measure_tree import TreePlan
from emdp.estimators.frequency.structured_measures import StructuredPlan
from emdp.estimators.frequency.tiers import HistogramTiers
from emdp.estimators.local_tiers import KeyedPlan
from emdp.estimators.strings.search import StringCounts
from emdp.estimators.tiers import TieredPlan
from emdp.questions.reading import TextColumn
from emdp.spaces import Space

__all__ = ["AUDITED", "AuditedMessages", "AuditedNoise", "AuditedPlan", "audited"]


class AuditedPlan(Protocol):
    """A plan as an audit sees it."""

    @property
    def name(self) -> str:
        """Name of the plan's mechanism, with its number of coordinates."""

    @property
    def is_drawn_by_user(self) -> bool:
        """Whether messages of every user are drawn, so that a table of few users is quicker."""

    @property
    def cap(self) -> int | None:
        """Most records of a user that count, where there is such a cap."""

    @property
    def column(self) -> TextColumn | None:
        """A column of text that is read, which the space may not have."""

    @property
    def shares_strings(self) -> bool:
        """Whether other users must have the strings too, for a string to be released at all."""

    @property
    def changed_user(self) -> str | None:
        """A user who counts, where some users are chosen."""

    def change(self, space: Space, users: int) -> Change:
        """Return how much the statistic changes between items of one of so many users."""

    def largest_total(self, space: Space, items: Floats) -> Floats:
        """Return how much each item alone gives to a statistic of totals, next to no records at all, shape (n,)."""

    def scores(self, tables: Neighbours, draws: NoiseDraws, place: int = 0) -> Scores:
        """Return the scores of draws on both tables."""

    def alone(self, tables: Neighbours) -> MixedMessages | RangeMessages | VectorRanges | None:
        """Return what the user who changes sends, unmixed, of a release of mixed messages; None of other releases."""

    def counted(self, tables: Neighbours, trials: int) -> CountedMessages | None:
        """Return counts of users' messages, of a release of mixed ones; None of other releases."""

    def values(self, tables: Neighbours, most: int) -> list[tuple[float, ...]]:
        """Return a number of each of the answers that draws on the first table stand for, at most so many.

        What a session answers has the same law: the two are compared in every audit.
        """


class AuditedNoise:
    """A plan that adds noise to an aggregation."""

    is_drawn_by_user = False
    column: TextColumn | None = None
    shares_strings = False

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    @property
    def name(self) -> str:
        return noise_name(self.plan)

    @property
    def cap(self) -> int | None:
        return self.plan.aggregation.cap

    @property
    def changed_user(self) -> str | None:
        users = self.plan.aggregation.users
        return None if users is None else str(users.keys[0])

    def change(self, space: Space, users: int) -> Change:
        return added_changes([noise_change(own, space, users) for own in parts_of_plan(self.plan)])

    def largest_total(self, space: Space, items: Floats) -> Floats:
        totals = [total_of(own, space, items) for own in parts_of_plan(self.plan)]
        return np.asarray(np.sum(totals, axis=0), dtype=np.float64)

    def scores(self, tables: Neighbours, draws: NoiseDraws, place: int = 0) -> Scores:
        return additive_scores(self.plan, tables, draws, place)

    def alone(self, tables: Neighbours) -> MixedMessages | RangeMessages | VectorRanges | None:
        del tables
        return None

    def counted(self, tables: Neighbours, trials: int) -> CountedMessages | None:
        del tables, trials
        return None

    def values(self, tables: Neighbours, most: int) -> list[tuple[float, ...]]:
        return _first_numbers(self.plan, additive_releases(self.plan, tables, most))


class AuditedMessages:
    """A plan that draws messages."""

    is_drawn_by_user = True
    cap: int | None = None
    changed_user: str | None = None

    def __init__(self, plan: MessagePlan) -> None:
        self.plan = plan

    @property
    def name(self) -> str:
        return message_name(self.plan)

    @property
    def column(self) -> TextColumn | None:
        return self.plan.reading.column

    @property
    def shares_strings(self) -> bool:
        return isinstance(self.plan.releaser, StringCounts)

    def change(self, space: Space, users: int) -> Change:
        del users
        return message_change(self.plan, space)

    def largest_total(self, space: Space, items: Floats) -> Floats:
        del space
        return np.zeros(len(items))

    def scores(self, tables: Neighbours, draws: NoiseDraws, place: int = 0) -> Scores:
        del place
        if (keyed := keyed_scores(self.plan, tables, draws.trials)) is not None:
            return keyed
        bulk = bulk_of(self.plan, tables)
        if bulk is not None:
            is_whole = isinstance(bulk, DescentRounds)
            return bulk.scores(max(draws.trials // DESCENT_SHARE, LEAST_TRIALS) if is_whole else draws.trials)
        alone = one_user_scores(self.plan, tables, draws.trials)
        return alone or message_scores(self.plan, tables, max(draws.trials // MESSAGE_SHARE, LEAST_TRIALS))

    def alone(self, tables: Neighbours) -> MixedMessages | RangeMessages | VectorRanges | None:
        bulk = bulk_of(self.plan, tables)
        return bulk.alone() if isinstance(bulk, MixedMessages | RangeMessages | VectorRanges) else None

    def counted(self, tables: Neighbours, trials: int) -> CountedMessages | None:
        bulk = bulk_of(self.plan, tables)
        return bulk.counted(trials) if isinstance(bulk, MixedMessages) else None

    def values(self, tables: Neighbours, most: int) -> list[tuple[float, ...]]:
        bulk = bulk_of(self.plan, tables)
        made: Iterable[Any] = () if bulk is None else list(bulk.releases(most))
        blocks = read_blocks(self.plan, tables.first)
        return _first_numbers(self.plan, made or (run_release(self.plan, tables.first, blocks) for _ in range(most)))


AUDITED: Mapping[type[Any], Callable[[Any], AuditedPlan]] = {
    Plan: AuditedNoise,
    TreePlan: AuditedNoise,
    StructuredPlan: AuditedNoise,
    # What is drawn of the data is the answer of the strongest tier; the others are made of that.
    TieredPlan: AuditedNoise,
    MessagePlan: AuditedMessages,
    KeyedPlan: AuditedMessages,
    HistogramTiers: AuditedMessages,
}
"""Audited form of each kind of plan."""


def audited(plan: AnyPlan) -> AuditedPlan:
    """Return a plan as an audit sees it."""
    if isinstance(plan, OwnedPlan | MeasuredPlan):
        raise UsageError(
            "query reads records that the item space cannot make, so that no neighbours are at hand; audit a statement "
            "that an EmdDP budget could pay, or COUNT(*) and SUM of the space's columns."
        )
    kind = AUDITED.get(type(plan))
    if kind is None:
        raise UsageError(f"an audit does not know how to draw a {type(plan).__name__}; audit another query.")
    return kind(plan)


def _first_numbers(plan: AnyPlan, made: Iterable[Any]) -> list[tuple[float, ...]]:
    return [first_numbers(plan, plan.finisher.frame(released, 0.95)) for released in made]
