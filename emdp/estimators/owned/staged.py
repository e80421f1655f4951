"""Plans of statements in stages: aggregates of private rows, each with a share of the price, charged before the first.

Theorem. Let stage ``i`` be ``(epsilon_i + slack_i, delta_i)``-DP for every fixed outcome of the stages before it. Then
all outcomes together are ``(sum epsilon_i + sum slack_i, sum delta_i)``-DP, and so is whatever is computed of them and
of public tables (Dwork and Roth 2014, theorem B.1 and proposition 2.1). All shares are fixed, and charged, before
any stage is computed, whether or not its outcome is used.

Hypothesis. A stage may read tables that earlier stages released: as tables that it joins or compares with, as one
value, or as the list of its groups. For every fixed outcome these are public tables, public constants and a public list
of groups, for which its sensitivity is proven as that of a statement of its own
(:mod:`emdp.questions.owned.relations`, :mod:`emdp.estimators.owned.blocks`). It is planned again once they are known,
and what that plan costs is compared with what was charged for it: a plan that cost more would never be drawn from.

Rounding. The slack of a stage whose list of groups is released grows with the number of groups, which is bounded by
:data:`emdp.questions.owned.stages.MOST_RELEASED_KEYS`: of the slack with one group and with the most,
:data:`~.plan.SLACK_FACTOR` times the larger is charged.
"""

import datetime
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.estimators.contract import AnyPlan, Exact, Records
from emdp.estimators.owned.free import ComputePublic
from emdp.estimators.owned.joined import joined_event
from emdp.estimators.owned.plan import RowsPlan, slack_of_all
from emdp.estimators.owned.staged_rows import PlanOne, StagedRows, Step, table_of
from emdp.mechanisms.release import JoinedMechanism, Mechanism
from emdp.privacy import Event, GuaranteeEvent, UserDP
from emdp.privacy.events.table import STAGES
from emdp.privacy.rounding import split
from emdp.questions.columns import PlannedColumn, PlannedStage
from emdp.questions.comparison import ComparedMethod
from emdp.questions.owned.question import OwnedSelect
from emdp.questions.owned.stages import MOST_RELEASED_KEYS, Stage, StagedSelect
from emdp.questions.owned.totals import Key
from emdp.questions.price import Price
from emdp.rows.types import Kind, Value

__all__ = ["StagedPlan", "plan_staged"]

ASSUMED_KEYS = 10
"""Groups that a preview assumes where an earlier stage lists them."""

NOTHING = GuaranteeEvent(UserDP(0.0), "none: noisy answers and public tables alone")


@dataclass(frozen=True, eq=False)
class StagedPlan(RowsPlan):
    """A priced release in stages; the module says what it costs."""

    finisher: StagedRows
    event: Event
    # Of the last step, where it reads private rows; none where it is SQL over noisy answers.
    columns: tuple[PlannedColumn, ...]
    notes: tuple[str, ...]
    price: Price
    comparison: tuple[ComparedMethod, ...] = ()

    @property
    def _private(self) -> tuple[Step, ...]:
        return tuple(step for step in self.finisher.steps if step.stage.is_private)

    @property
    def _typical(self) -> tuple[AnyPlan, ...]:
        return tuple(step.typical for step in self._private if step.typical is not None)

    @property
    def stages(self) -> tuple[PlannedStage, ...]:
        """Public facts of each stage that reads private rows."""
        found = []
        for step in self._private:
            guarantee = step.event.guarantee
            columns = () if step.typical is None else step.typical.columns
            choice = "" if step.typical is None else step.typical.choice
            share = guarantee.level / self.price.level
            found.append(PlannedStage(step.stage.label, guarantee, share, columns, choice, step.stage.question.text))
        return tuple(found)

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """Mechanisms of the plan: one, made of those of all stages."""
        return (StagedMechanism(tuple(one for plan in self._typical for one in plan.mechanisms), self.event),)

    @property
    def choice(self) -> str:
        parts = (f"{stage.label} (epsilon {stage.guarantee.level:.4g})" for stage in self.stages)
        return f"Stages, charged together before the first is computed: {', '.join(parts)}."

    @property
    def weighing(self) -> str:
        return "; ".join(dict.fromkeys(plan.weighing for plan in self._typical))

    def check(self, records: Records) -> None:
        for plan in self._typical:
            plan.check(records)

    def work(self, records: Records) -> tuple[tuple[str, str], ...]:
        return tuple(one for plan in self._typical for one in plan.work(records))

    def statistic(self, records: Records, *, keep_exact: bool) -> tuple[Exact, ...]:
        """Return nothing yet: a later stage is computed of what earlier ones released."""
        del records, keep_exact
        return ()

    def release(self, opened: Sequence[Any], records: Records, *, keep_exact: bool) -> tuple[Any, Any | None]:
        """Compute and draw stage by stage: this spends."""
        del opened
        released: dict[str, Any] = {}
        exact: dict[str, Any] = {}
        tables: dict[str, pl.DataFrame] = {}
        for step in self.finisher.steps:
            if not step.stage.is_private:
                tables[step.stage.name] = self.finisher.free(step, tables)
                continue
            plan = self.finisher.planned(step, tables)
            if plan is None:
                released[step.stage.name] = exact[step.stage.name] = None
            else:
                # It follows from what earlier stages released, so it is opened here, after the one charge for all.
                own = [statistic.open() for statistic in plan.statistic(records, keep_exact=keep_exact)]
                released[step.stage.name], exact[step.stage.name] = plan.release(own, records, keep_exact=keep_exact)
            tables[step.stage.name] = table_of(step, plan, released[step.stage.name])
        return released, (released, exact) if keep_exact else None


@dataclass(frozen=True)
class StagedMechanism(JoinedMechanism):
    """The mechanisms of all stages as an answer shows them."""

    charge: Event  # Of all stages: what it has of slack covers whatever an earlier stage releases

    @property
    def slack_epsilon(self) -> float:
        return self.charge.slack_epsilon


def plan_staged(query: StagedSelect, plan: PlanOne, run: ComputePublic | None) -> StagedPlan:
    """Return the plan of a statement in stages."""
    if run is None:
        raise UsageError("the statement computes with noisy answers, and nothing here does; ask it through a session.")
    levels = split(query.price.level, query.weights)
    deltas = split(query.price.delta, query.weights)
    prices = iter([replace(query.price, level=level, delta=own) for level, own in zip(levels, deltas, strict=True)])
    steps = tuple(_step(stage, prices, plan) for stage in query.stages)
    rows = StagedRows(steps, plan, run)
    private = [step for step in steps if step.stage.is_private]
    joined = joined_event([step.event for step in private], query.price.promise())
    parts = ", ".join(f"{step.stage.label} {step.event.guarantee.level:.6g}" for step in private)
    last = steps[-1]
    share = last.event.guarantee.level / query.price.level if last.stage.is_private else 0.0
    columns = () if last.typical is None else last.typical.columns
    notes = tuple(
        f"{step.stage.label}: {note}"
        for step in private
        for note in (() if step.typical is None else step.typical.notes)
    )
    return StagedPlan(
        finisher=rows,
        event=GuaranteeEvent(joined.guarantee, f"{STAGES}: {parts}", joined.slack_epsilon),
        columns=tuple(replace(column, share=column.share * share) for column in columns),
        notes=(*_around(steps), *notes),
        price=query.price,
    )


def _around(steps: Sequence[Step]) -> Iterator[str]:
    if not steps[-1].stage.is_private:
        yield (
            "what is around the stages is computed of their noisy answers and of public tables, and costs nothing; "
            "errors and intervals are those of the stages, as columns name_low and name_high of each"
        )
    if any(key.source for step in steps for key in _keys(step)):
        yield (
            f"where an earlier stage lists the groups of a later one, errors assume {ASSUMED_KEYS} groups: known after "
            "the charge"
        )


def _keys(step: Step) -> tuple[Key, ...]:
    return step.stage.question.keys if isinstance(step.stage.question, OwnedSelect) else ()


def _step(stage: Stage, prices: Iterator[Price], plan: PlanOne) -> Step:
    question = stage.question
    if not isinstance(question, OwnedSelect):
        return Step(stage, None, NOTHING)
    question = replace(question, price=next(prices))
    own = replace(stage, question=question)
    if not any(key.source for key in question.keys):
        made = plan(question)
        return Step(own, made, made.event)
    typical, *others = (plan(_assumed(question, count)) for count in (ASSUMED_KEYS, 1, MOST_RELEASED_KEYS))
    slack = slack_of_all((typical, *others))
    stated = question.price.promise().at_level(question.price.level, question.price.delta)
    return Step(own, typical, GuaranteeEvent(stated, "a stage whose groups an earlier one lists", slack))


def _assumed(question: OwnedSelect, count: int) -> OwnedSelect:
    """Return a question with so many groups in the places of those that an earlier stage lists."""
    own = [key for key in question.keys if key.source is not None]
    each = max(1, math.floor(count ** (1.0 / len(own)))) if len(own) > 1 else count
    return replace(
        question,
        keys=tuple(
            key if key.source is None else replace(key, values=tuple(_values(key.node.kind, each)), source=None)
            for key in question.keys
        ),
    )


def _values(kind: Kind, count: int) -> Iterator[Value]:
    first = datetime.date(2000, 1, 1)
    for number in range(count):
        made: dict[Kind, Value] = {
            Kind.TEXT: f"group {number}",
            Kind.BIGINT: number,
            Kind.DATE: first + datetime.timedelta(days=number),
            Kind.TIMESTAMP: datetime.datetime(2000, 1, 1) + datetime.timedelta(hours=number),
        }
        if kind not in made and number >= 2:
            return
        yield made.get(kind, bool(number))
