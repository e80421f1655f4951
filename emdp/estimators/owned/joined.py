"""Plans of statements whose columns need several releases: each has a share of the price, all of it one charge.

Theorem. Releases ``i`` that are ``(epsilon_i + slack_i, delta_i)``-DP, each with randomness of its own, are together
``(sum epsilon_i + sum slack_i, sum delta_i)``-DP (Dwork and Roth 2014, theorem 3.16). All shares are fixed before any
release is computed.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import polars as pl

from emdp.base.classes import dataclass
from emdp.estimators.contract import AnyPlan, Exact, Records
from emdp.estimators.owned.plan import RowsPlan
from emdp.mechanisms.release import JoinedMechanism, Mechanism
from emdp.privacy import Event, Guarantee, GuaranteeEvent
from emdp.privacy.rounding import as_decimal, float_up
from emdp.questions.columns import Finisher, PlannedColumn
from emdp.questions.comparison import ComparedMethod
from emdp.questions.shape import Shape

__all__ = ["JoinedPlan", "JoinedRows", "joined_event"]


@dataclass(frozen=True, eq=False)
class JoinedRows:
    """Columns of several finishers, which have the same rows in the same order, beside one another."""

    members: tuple[Finisher, ...]  # At least one
    keys: tuple[str, ...]  # Key columns, which all have
    names: tuple[str, ...]

    @property
    def shape(self) -> Shape:
        return Shape("rows", keys=self.keys)

    @property
    def sortable(self) -> tuple[str, ...]:
        """Columns that ORDER BY may name: all of the frame."""
        ends = (f"{name}{end}" for name in self.names if name not in self.keys for end in ("_low", "_high"))
        return (*self.names, *ends)

    def frame(self, released: Any, level: float, *, together: bool = False) -> pl.DataFrame:
        """Return the rows; intervals that hold together share what may fail equally."""
        each = 1.0 - (1.0 - level) / len(self.members) if together else level
        frames = [
            member.frame(own, each, together=together) for member, own in zip(self.members, released, strict=True)
        ]
        return self._joined(frames, ("", "_low", "_high"))

    def exact(self, statistics: Any) -> pl.DataFrame:
        frames = [member.exact(own) for member, own in zip(self.members, statistics, strict=True)]
        return self._joined(frames, ("",))

    def of_capped(self) -> "JoinedRows":
        """Return the same rows with intervals of capped totals in place of true ones."""
        return replace(self, members=tuple(getattr(one, "of_capped", lambda one=one: one)() for one in self.members))

    def _joined(self, frames: Sequence[pl.DataFrame], ends: Sequence[str]) -> pl.DataFrame:
        series = {own.name: own for frame in reversed(frames) for own in frame.get_columns()}
        wanted = [
            name if name in self.keys else f"{name}{end}" for name in self.names for end in self._ends(name, ends)
        ]
        return pl.DataFrame([series[name] for name in wanted])

    def _ends(self, name: str, ends: Sequence[str]) -> Sequence[str]:
        return ("",) if name in self.keys else ends


@dataclass(frozen=True, eq=False)
class JoinedPlan(RowsPlan):
    """Several plans as one; the module says what they cost."""

    members: tuple[AnyPlan, ...]  # Each priced by its share
    event: Event
    columns: tuple[PlannedColumn, ...]
    finisher: Finisher
    notes: tuple[str, ...] = ()
    comparison: tuple[ComparedMethod, ...] = ()

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        return (JoinedMechanism(tuple(one for member in self.members for one in member.mechanisms)),)

    @property
    def choice(self) -> str:
        return " ".join(f"[epsilon {member.guarantee.level:.4g}] {member.choice}" for member in self.members)

    @property
    def weighing(self) -> str:
        return "; ".join(dict.fromkeys(member.weighing for member in self.members))

    def check(self, records: Records) -> None:
        for member in self.members:
            member.check(records)

    def work(self, records: Records) -> tuple[tuple[str, str], ...]:
        return tuple(one for member in self.members for one in member.work(records))

    def statistic(self, records: Records, *, keep_exact: bool) -> tuple[Exact, ...]:
        found = [member.statistic(records, keep_exact=keep_exact) for member in self.members]
        return tuple(own for (own,) in found)

    def release(self, opened: Sequence[Any], records: Records, *, keep_exact: bool) -> tuple[Any, Any | None]:
        found = [
            member.release((own,), records, keep_exact=keep_exact)
            for member, own in zip(self.members, opened, strict=True)
        ]
        exact = tuple(own for _, own in found) if keep_exact else None
        return tuple(own for own, _ in found), exact


def joined_event(events: Sequence[Event], kind: Guarantee) -> Event:
    """Return the event of several releases: the module's theorem, each sum rounded up.

    >>> from emdp.privacy import UserDP
    >>> joined_event([GuaranteeEvent(UserDP(0.5)), GuaranteeEvent(UserDP(0.25, 1e-9))], UserDP(0.0)).guarantee
    UserDP(epsilon=0.75, delta=1e-09, model='central')
    """
    if len(events) == 1:
        return events[0]
    levels = sum((as_decimal(event.guarantee.level) for event in events), Fraction(0))
    deltas = sum((as_decimal(event.guarantee.delta) for event in events), Fraction(0))
    slack = sum((as_decimal(event.slack_epsilon) for event in events), Fraction(0))
    stated = kind.at_level(float_up(levels), float_up(deltas))
    return GuaranteeEvent(stated, "several releases of one statement", float_up(slack))
