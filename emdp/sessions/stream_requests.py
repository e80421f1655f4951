"""Requests for a stream, checked and priced: what one is known by, what is due for it, and its derivation."""

from collections.abc import Mapping, Sequence
from typing import Any

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.budgets.streams import OpenStream, StreamDue, StreamPart
from emdp.estimators.streams import StreamPlan, check_shows, plan_stream
from emdp.privacy import EmdDP
from emdp.questions.names import Names
from emdp.sessions.diary import cap_in_words
from emdp.sessions.planning import Planned
from emdp.tables import Table

__all__ = ["StreamRequest", "stream_facts"]


@dataclass(frozen=True)
class StreamRequest:
    """A request for a stream, checked and priced.

    Parameters
    ----------
    periods : tuple of str
        Names in order.
    active : int or None
        Most periods in which one user counts.
    """

    planned: Planned
    plan: StreamPlan
    periods: tuple[str, ...]
    show: tuple[str, ...]
    name: str
    period: str
    active: int | None = None

    @classmethod
    def of(
        cls,
        planned: Planned,
        *,
        periods: tuple[str, ...],
        unit: Any,
        plan: Any,
        show: Sequence[str],
        name: str,
        period: str | None,
        names: Names,
        active: int | None = None,
    ) -> "StreamRequest":
        """Check and price a request."""
        if period not in periods:
            raise UsageError(
                f"period of the session must be one of the stream's {len(periods)} periods, got {period!r}; open the "
                "session with period=, and name it among periods."
            )
        if not isinstance(name, str) or not name.isprintable():
            raise UsageError(f"name must be words in one line, got {name!r}; leave it out, or pass some.")
        priced = plan_stream(
            planned.plan, len(periods), unit=unit, figures=plan, active=active, space=names.space, users=names.users
        )
        return cls(planned, priced, periods, check_shows(show), name, period, active)

    def key(self, table: Table, rules: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a stream in the ledger is known by."""
        terms = self.plan.terms()
        kept = ["figures", "unit", "sensitivity", "dimension", "alpha", "delta", "kind", "scales"]
        kept += [] if self.active is None else ["active", "reach"]
        return {
            "name": self.name,
            "query": " ".join(self.planned.text.split()),
            "table": table.name,
            "users": table.users.count,
            "space": rules["space"],
            **{key: terms[key] for key in kept},
        }

    def is_paid(self, found: OpenStream) -> bool:
        """Say whether a stream has all periods that are asked for."""
        return len(found.periods) >= len(self.periods)

    def due(self, found: OpenStream | None) -> StreamDue:
        """Return what opening the stream costs, or prolonging it."""
        before = None if found is None else self.plan.as_opened(found.terms, len(found.periods))
        plan = self.plan if found is None else self.plan.as_opened(found.terms, len(self.periods))
        if not isinstance(self.plan.plan.guarantee, EmdDP):
            return StreamDue(plan.event("user", before))
        new = self.periods if found is None else self.periods[len(found.periods) :]
        # Old periods reach into the rows to come: they pay the difference, the new ones what a period costs.
        parts = [StreamPart(new, plan.event("period"))]
        if before is not None and found is not None and plan.mechanism.mu("period") > before.mechanism.mu("period"):
            parts.append(StreamPart(found.periods, plan.event("period", before)))
        return StreamDue(plan.event("user", before), tuple(parts), plan.event("history") if before is None else None)

    def as_paid(self, found: OpenStream | None) -> StreamPlan:
        """Return the plan of the stream as it is, or will be, for all periods that are paid or asked for."""
        if found is None:
            return self.plan
        return self.plan.as_opened(found.terms, max(len(found.periods), len(self.periods)))


def stream_facts(request: StreamRequest, plan: StreamPlan, found: OpenStream | None) -> tuple[str, ...]:
    """Return the derivation of a stream, a line a fact; ``found`` is None where it has not begun."""
    own = plan.mechanism
    several = []
    differing = {"period": "one period", "user": "any period", "history": f"a part of {own.periods} periods"}[own.unit]
    if own.active is not None:
        differing = f"any period, of which at most {own.active} count"
    if own.unit == "period":
        # Streams of totals shift later rows, too: mu of k periods is k times that of one.
        for count in (2, 7):
            if count <= own.periods:
                factor = count if own.strategy.has_totals else count**0.5
                several.append(f"{own.level_of(own.mu('period') * factor):.4g} in {count}")
    reach = f"; level {' and '.join(several)} periods, at the same delta" if several else ""
    rows, last = ({}, 0) if found is None else (found.released, found.last)
    skipped = [request.periods[place - 1] for place in range(1, last) if place not in rows]
    return (
        f"query        {' '.join(request.planned.text.split())}",
        f"guarantee    {plan.guarantee}",
        f"unit         histories of a user that differ in {differing}{reach}",
        f"stream       {len(rows)} of {own.periods} periods, for {plan.figures}; one charge for all",
        "theorem      Gaussian noise on rows of a lower triangular strategy, of which the noise of each is drawn once",
        f"sensitivity  {own.sensitivity:.6g} of a period's statistic; mu = {own.mu(own.unit):.6g} of all rows",
        f"noise        sigma {own.sigma:.6g} on each row, on a grid of {own.grid:.3g}",
        *([] if own.active is None else [f"active       {cap_in_words(own.active)}"]),
        *([f"skipped      {', '.join(skipped)}: without a row, counted as nothing"] if skipped else []),
        f"caveat       rounding and floating-point sums add {float(own.slack_epsilon(own.unit)):.2g} to epsilon",
        *(
            ["caveat       a change that goes on in every period is not hidden by totals, which add it up"]
            if own.strategy.has_totals
            else []
        ),
    )
