"""Measures of a session: stored when they are released, given again for nothing, and read as tables by SQL."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from emdp.answers import Answer
from emdp.base.classes import dataclass
from emdp.base.errors import SqlError, UsageError
from emdp.privacy import EmdDP, Guarantee
from emdp.questions.columns import unordered
from emdp.questions.measures import Measure, measure_statement
from emdp.questions.names import Names
from emdp.sessions.asking import Asking
from emdp.sessions.planning import Planned
from emdp.sessions.presentation import public_part

if TYPE_CHECKING:
    from emdp.questions.resolution import Query
    from emdp.sessions.store import Kept
    from emdp.tables import Table

__all__ = ["Awaited", "Measuring", "awaited", "is_measure"]

MOST_KEPT = 8
"""Fitted measures that a session remembers."""


@dataclass(frozen=True, eq=False)
class Reading(Planned):
    """A statement over released measures, with the releases that it reads."""

    table: "Table"
    releases: tuple["Kept", ...]

    @property
    def reads(self) -> tuple[int, ...]:
        return tuple(one.stored.sequence for one in self.releases)

    def answer(self) -> Answer:
        """Return the answer, under the receipt of the first release: it costs nothing of its own."""
        first = self.releases[0].answer
        is_private = all(one.answer.is_private for one in self.releases)
        return Answer(
            **public_part(self, self.table, first.period),
            released=(),
            receipt=first.receipt,
            charged=self.plan.event.guarantee,
            _exact=None if is_private else (),
        )


class Awaited(Planned):
    """A statement over measures of which some are yet to be released: checked on no rows."""

    @property
    def is_awaited(self) -> bool:
        return True


def awaited(text: str, names: Names, measures: Mapping[str, Sequence[str]]) -> Awaited:
    """Return the plan of a statement over measures before these are released.

    Parameters
    ----------
    text : str
        One SELECT over measures and public tables, without a header.
    measures : mapping of str to sequence of str
        Columns of the measures that are known, by the name in lower case; others are taken to be of the whole space.
    """
    from emdp.estimators.frequency.measure_cells import OTHER
    from emdp.sql.measured import measured_select

    asked, space = measured_select(text, names), names.space
    neutral = space.decode(space.neutral_item)
    kinds: dict[str, Any] = {name: pl.Series([neutral[name][0]]).dtype for name in space.columns}
    kinds |= {f"{OTHER}{name}": kind for name, kind in kinds.items()}
    kinds |= {} if space.elsewhere is None else {"elsewhere": pl.Boolean()}
    found = {}
    for own, name in asked.measures.items():
        columns = measures.get(name.lower(), tuple(kinds))
        found[own] = pl.DataFrame(schema={**{column: kinds[column] for column in columns}, "weight": pl.Float64()})
    return Awaited(asked.context.statement.text, _free(asked, found, names, text))


def _free(asked: Any, measures: Mapping[str, pl.DataFrame], names: Names, text: str, **told: Any) -> Any:
    """Return the plan of a statement over tables of measures and public tables, once it has run on no rows."""
    from emdp.estimators.owned.free import FreePlan, FreeRelease, FreeRows
    from emdp.privacy import GuaranteeEvent
    from emdp.questions.owned.stages import FreeSelect
    from emdp.questions.price import Price

    tables, run = {**asked.public, **measures}, names.compute_public
    if run is None:
        raise UsageError("the statement reads tables, and nothing here does; ask it through a session.")
    try:
        run(asked.sql, {name: frame.clear() for name, frame in tables.items()})
    except UsageError as error:
        raise asked.context.refusal(None, error.problem, remedy=error.remedy, code="around") from None
    select = FreeSelect(asked.sql, tables, {}, Price.asked(alpha=1.0), text)
    return FreePlan(
        GuaranteeEvent(EmdDP(0.0), "none: released measures alone"),
        FreeRows(select, run),
        mechanisms=(FreeRelease(theorem=POST_PROCESSING, reads="released measures and public tables alone"),),
        choice="No noise: the statement reads what was released before, and costs nothing.",
        **told,
    )


class Measuring(Asking):
    """Stored measures of a session.

    A measure is bought once: its answer is kept in the ledger, and whoever asks the same question of the same data
    again, in SQL or in Python, is given it for nothing. Another name is another release.
    """

    def _planned(self, request: "str | Query") -> tuple[Planned, ...]:
        if isinstance(request, Measure):
            (own,) = super()._planned(request)
            # The statement is what is stored; how fine the fit is costs nothing, and is no part of it.
            (plain,) = super()._planned(measure_statement(request, self._table.name))
            return (replace(plain, plan=own.plan),)
        if isinstance(request, str) and "measure" in request.lower():
            from emdp.sql.measured import reads_measures

            if reads_measures(request):
                self._check_switch()
                return (self._reading(request),)
        return super()._planned(request)

    def _run(self, planned: tuple[Planned, ...]) -> tuple[Answer, ...]:
        if len(planned) == 1 and isinstance(planned[0], Reading):
            return (planned[0].answer(),)
        if not any(is_measure(one) for one in planned):
            return super()._run(planned)
        from emdp.sessions.store import Store

        store = Store(self)
        found = [store.find(one) if is_measure(one) else None for one in planned]
        due = [one for one, kept in zip(planned, found, strict=True) if kept is None]
        made = iter(store.release(due) if due else ())
        answers = []
        for one, kept in zip(planned, found, strict=True):
            if kept is None:
                answer, _ = next(made)
                answers.append(replace(answer, finisher=one.plan.finisher))
            else:
                answers.append(self._again(one, kept))
        return tuple(answers)

    def _again(self, planned: Planned, kept: "Kept") -> Answer:
        """Return a stored measure as the answer that it was."""
        stored = kept.answer
        return Answer(
            **public_part(_as_stored(planned, kept), self._table, stored.period),
            released=(stored.measured,),
            receipt=stored.receipt,
            _exact=None if stored.is_private else (),
        )

    def _reading(self, text: str) -> Reading:
        """Plan a statement over measures: the fits are made here, and nothing is charged."""
        from emdp.sql.measured import measured_select

        asked = measured_select(text, self._names)
        releases = tuple(self._measure(name, text) for name in asked.measures.values())
        fits = [self._fit(one) for one in releases]
        notes = tuple(
            f"from the private measure {name}, paid by entry {one.charge.sequence} on {one.charge.time[:10]}: {far}"
            for name, one, (_, far) in zip(asked.measures.values(), releases, fits, strict=True)
        )
        plan = _free(
            asked,
            {own: frame for own, (frame, _) in zip(asked.measures, fits, strict=True)},
            self._names,
            text,
            notes=notes,
            promised=_together([one.answer.guarantee for one in releases]),
        )
        return Reading(asked.context.statement.text, plan, self._table, releases)

    def _measure(self, name: str, text: str) -> "Kept":
        """Return the newest measure of a name that was released of this table and period, or refuse a text."""
        from emdp.sessions.store import kept_answer

        for entry in reversed(self.ledger.entries(self._table.account, "answer")):
            payload = entry.payload
            if payload["period"] != self._tags.period or "measure" not in payload["query"].lower():
                continue
            kept = kept_answer(self.ledger, entry)
            if kept is not None and kept.answer.measured and kept.answer.columns[0].name.lower() == name.lower():
                return kept
        raise _not_there(text, name, self._measure_names())

    def _measure_names(self) -> list[str]:
        """Return the names of the measures that were released of this table and period."""
        from emdp.sessions.store import kept_answer

        entries = [
            entry
            for entry in self.ledger.entries(self._table.account, "answer")
            if entry.payload["period"] == self._tags.period and "measure" in entry.payload["query"].lower()
        ]
        kept = [kept_answer(self.ledger, entry) for entry in entries]
        return sorted({one.answer.columns[0].name for one in kept if one is not None and one.answer.measured})

    def _fit(self, kept: "Kept") -> tuple[pl.DataFrame, str]:
        """Return the fitted table of a stored measure, and how near it is expected to the truth."""
        known: dict[int, tuple[pl.DataFrame, str]] = self.__dict__.setdefault("_fits", {})
        number = kept.stored.sequence
        if number not in known:
            from emdp.sessions.store import Store

            (planned,) = super()._planned(kept.answer.query)
            if Store(self).question(planned, kept.answer.data_version) != kept.stored.payload["question"]:
                raise UsageError(
                    f"the measure {kept.answer.columns[0].name} was released under other rules of the table; release "
                    "it again, or open a session with those rules."
                )
            rows = _rows(_as_stored(planned, kept))
            if len(known) >= MOST_KEPT:
                known.clear()
            known[number] = rows.table((kept.answer.measured,)), rows.expectation
        return known[number]


POST_PROCESSING = "a function of what was released before, and of public tables, spends nothing (post-processing)"


def _rows(planned: Planned) -> Any:
    """Return what makes the rows of a plan, before they are ordered and cut."""
    return unordered(planned.plan.finisher)


def is_measure(planned: Planned) -> bool:
    """Say whether a plan is that of a measure, whose answer is kept and given again."""
    return hasattr(_rows(planned), "fitted")


def _as_stored(planned: Planned, kept: "Kept") -> Planned:
    """Return the plan of a measure with the nodes and the noise that the stored answer has, or refuse."""
    from emdp.sessions.store import same_plan

    plan = same_plan(planned.plan, kept.answer)
    if plan is None:
        raise UsageError(
            f"the measure {planned.plan.columns[0].name} was stored by another version of emdp, with other nodes; "
            "release it under another name."
        )
    return planned if plan is planned.plan else replace(planned, plan=plan)


def _together(guarantees: Sequence[Guarantee]) -> Guarantee:
    """Return what holds for several releases together."""
    first, *others = guarantees
    if any(type(own) is not type(first) for own in others):
        raise UsageError(
            "the statement reads measures of two kinds of guarantee, which do not add up; read them one by one."
        )
    level, delta = (
        math.nextafter(math.fsum(own), math.inf) if any(own) else 0.0
        for own in ([one.level for one in guarantees], [one.delta for one in guarantees])
    )
    return first.at_level(level, delta) if others else first


def _not_there(sql: str, name: str, names: Sequence[str]) -> SqlError:
    from emdp.sql.context import listed

    release = f"release it: SELECT WITH EMD_PRIVACY OPTIONS (alpha = 20.0) MEASURE(*) AS {name} FROM .."
    place = sql.lower().find(name.lower(), max(0, sql.upper().find("MEASURE")))
    return SqlError(
        f"no measure {name} was released of this table and period",
        remedy=f"write {listed(names)}, which {'was' if len(names) == 1 else 'were'}; or {release}"
        if names
        else release,
        code="measure-unknown",
        sql=sql,
        start=max(place, 0),
        end=len(sql) if place < 0 else place + len(name),
    )
