"""Rows of a statement in stages, from what each stage released: post-processing."""

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Any

import polars as pl

from emdp.base.classes import dataclass
from emdp.base.errors import InternalError
from emdp.estimators.columns.ordering import SHOWN_LEVEL
from emdp.estimators.contract import AnyPlan
from emdp.estimators.owned.free import ComputePublic
from emdp.estimators.owned.plan import is_covered
from emdp.privacy import Event
from emdp.questions.columns import unordered
from emdp.questions.owned.question import OwnedSelect
from emdp.questions.owned.stages import DTYPES, FreeSelect, Stage, answer_schema, filled
from emdp.questions.shape import Shape

__all__ = ["PlanOne", "StagedRows", "Step", "table_of"]

PlanOne = Callable[[OwnedSelect], AnyPlan]
"""Plans a question that is none in stages."""


@dataclass(frozen=True, eq=False)
class Step:
    """A stage with its price."""

    stage: Stage
    typical: AnyPlan | None  # Its plan as a preview has it; None where it reads no private row
    event: Event


@dataclass(frozen=True, eq=False)
class StagedRows:
    """The rows of a statement in stages."""

    steps: tuple[Step, ...]  # In the order in which they are computed; the last one is the answer
    plan: PlanOne
    run: ComputePublic  # Runs what is around stages
    is_capped: bool = False  # Whether intervals of the last stage are of capped totals
    _known: list[tuple[Any, dict[str, pl.DataFrame]]] = field(default_factory=list, repr=False)

    @property
    def shape(self) -> Shape:
        """Shape of the answer: that of the last stage."""
        last = self.steps[-1].typical
        return Shape("rows") if last is None else last.finisher.shape

    def frame(self, released: Any, level: float, *, together: bool = False) -> pl.DataFrame:
        """Return the rows of the last stage; earlier ones are as a later stage read them."""
        tables, last = self.tables(released), self.steps[-1]
        if not isinstance(last.stage.question, OwnedSelect):
            return tables[last.stage.name]
        plan = self.planned(last, tables)
        if plan is None:
            return _empty(last.stage.question)
        inner = getattr(plan.finisher, "of_capped", None) if self.is_capped else None
        finisher = plan.finisher if inner is None else inner()
        return finisher.frame(released[last.stage.name], level, together=together)

    def of_capped(self) -> "StagedRows":
        """Return the same rows with intervals of capped totals in place of true ones."""
        return replace(self, is_capped=True)

    def exact(self, statistics: Any) -> pl.DataFrame:
        """Return the rows of the last stage before its noise; a later stage reads earlier ones with theirs."""
        released, exact = statistics
        tables, own = self.tables(released), dict[str, pl.DataFrame]()
        for step in self.steps:
            if not isinstance(step.stage.question, OwnedSelect):
                own[step.stage.name] = self.free(step, own)
                continue
            plan = self.planned(step, tables)
            found = None if plan is None else plan.finisher.exact(exact[step.stage.name])
            if step is self.steps[-1]:
                return _empty(step.stage.question) if found is None else found
            own[step.stage.name] = _framed(step.stage.question, found)
        return own[self.steps[-1].stage.name]

    def remarks(self, released: Any) -> tuple[str, ...]:
        """Return the remarks of each stage on what it released."""
        return tuple(
            f"{label}: {remark}"
            for label, inner, own in self._released(released)
            for remark in (inner.remarks(own) if hasattr(inner, "remarks") else ())
        )

    def diagnostics(self, released: Any) -> dict[str, Any]:
        """Return the diagnostics of each stage that has some, by what the statement calls it."""
        found = {
            label: inner.diagnostics(own)
            for label, inner, own in self._released(released)
            if hasattr(inner, "diagnostics")
        }
        return {label: own for label, own in found.items() if own}

    def stages(self, released: Any) -> dict[str, pl.DataFrame]:
        """Return the table of each stage that read private rows, by what the statement calls it."""
        tables, found = self.tables(released), dict[str, pl.DataFrame]()
        for step in self.steps:
            if step.stage.is_private:
                label = step.stage.label
                found[label if label not in found else step.stage.name] = tables[step.stage.name]
        return found

    def tables(self, released: Mapping[str, Any]) -> dict[str, pl.DataFrame]:
        """Return the tables of all stages."""
        for known, tables in self._known:
            if known is released:
                return tables
        found: dict[str, pl.DataFrame] = {}
        for step in self.steps:
            if step.stage.is_private:
                own = self.planned(step, found)
                found[step.stage.name] = table_of(step, own, released[step.stage.name])
            else:
                found[step.stage.name] = self.free(step, found)
        # The last one alone is kept, for the answer that is looked at again.
        self._known[:] = [(released, found)]
        return found

    def free(self, step: Step, tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
        """Return the table of a stage that reads no private row: it is given public tables and earlier stages' alone.

        Raises
        ------
        UsageError
            If it fails on their values.
        """
        question = step.stage.question
        if not isinstance(question, FreeSelect):
            raise InternalError("a stage that reads private rows was to be computed freely; please report this.")
        return self.run(question.sql, question.filled(tables))[0]

    def planned(self, step: Step, tables: Mapping[str, pl.DataFrame]) -> AnyPlan | None:
        """Return the plan of a stage whose earlier ones have their tables; None where these leave it no group.

        Raises
        ------
        InternalError
            If it costs more than was charged for it.
        """
        question = step.stage.question
        if not isinstance(question, OwnedSelect):
            raise InternalError("a stage that reads no private rows was to be planned; please report this.")
        own = filled(question, tables)
        if own is None:
            return None
        plan = self.plan(own)
        if not is_covered(plan.event, step.event):
            raise InternalError("a stage costs more than was charged for it; please report this.")
        return plan

    def _released(self, released: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
        """Return label, innermost rows and release of each stage that read private rows."""
        tables, found = self.tables(released), []
        for step in self.steps:
            plan = self.planned(step, tables) if step.stage.is_private else None
            if plan is not None:
                found.append((step.stage.label, unordered(plan.finisher), released[step.stage.name]))
        return found


def table_of(step: Step, plan: AnyPlan | None, released: Any) -> pl.DataFrame:
    """Return the table that a stage released; without rows where it was left no group."""
    question = step.stage.question
    if not isinstance(question, OwnedSelect):
        raise InternalError("a stage that reads no private rows released something; please report this.")
    return _framed(question, None if plan is None else plan.finisher.frame(released, SHOWN_LEVEL))


def _empty(question: OwnedSelect) -> pl.DataFrame:
    return _framed(question, None)


def _framed(question: OwnedSelect, frame: pl.DataFrame | None) -> pl.DataFrame:
    """Return a frame with the columns of a stage's table; of exact values both ends are the value."""
    kinds = answer_schema(question)
    if frame is None:
        return pl.DataFrame(schema={name: DTYPES[kind] for name, kind in kinds.items()})
    made = []
    for name, kind in kinds.items():
        held = name if name in frame.columns else name.removesuffix("_low").removesuffix("_high")
        made.append(frame.get_column(held).cast(DTYPES[kind]).alias(name))
    return pl.DataFrame(made)
