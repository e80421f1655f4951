"""Plan of a release with additive noise: all that is settled before the data is touched."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate
from typing import ClassVar

from emdp.base.classes import dataclass
from emdp.base.statistic import Statistic
from emdp.estimators.contract import Records
from emdp.estimators.messages import WEIGHING
from emdp.expressions.cells.aggregation import Aggregation
from emdp.expressions.cells.reference import cell_values
from emdp.mechanisms import AdditiveMechanism
from emdp.privacy import Event, Guarantee, GuaranteeEvent
from emdp.privacy.events.noise import GaussianEvent
from emdp.questions.columns import Finisher, PlannedColumn, Released
from emdp.questions.comparison import ComparedMethod
from emdp.questions.public_ranges import check_statistic

__all__ = ["Finisher", "Plan", "PlannedColumn", "Released", "parallel_event"]


@dataclass(frozen=True, eq=False)
class Plan:
    """A priced release: one draw of noise for each group of users, one price for all.

    Parameters
    ----------
    aggregation : Aggregation
        What the engine computes.
    scales : tuple of float
        One a value of the aggregation: its coordinates are multiplied by it before noise and divided after, so that
        one isotropic draw gives every column the share of the noise that it should have.
    is_cumulative : bool
        Whether coordinates are summed up along the last axis before noise (distribution functions).
    has_absent : bool
        Whether one more coordinate follows the cells of the one value, 1 in each record: the share that is in none of
        them, since it is elsewhere. It is 1 less their exact sum.
    mechanisms : tuple of AdditiveMechanism
        One a group of users.
    event : Event
        What the ledger is charged: groups of users are disjoint, so they compose in parallel (EMD 7).
    columns : tuple of PlannedColumn
        The answer's columns.
    choice : str
        Why this noise, and how the budget is split, in one or two sentences.
    finisher : Finisher
        What makes rows of released coordinates.
    notes : tuple of str
        Further facts for the reader: what a filter or group means, what was centred, how cells are smoothed.
    comparison : tuple of ComparedMethod
        The methods that were compared, if any were.
    others : tuple of Plan
        Of what is stored and given again: the same question by the other methods, one of which an earlier version may
        have chosen.
    """

    without_records: ClassVar[str] = ""
    assumptions: ClassVar[tuple[str, ...]] = ()

    aggregation: Aggregation
    scales: tuple[float, ...]
    mechanisms: tuple[AdditiveMechanism, ...]
    event: Event
    columns: tuple[PlannedColumn, ...]
    choice: str
    finisher: Finisher
    is_cumulative: bool = False
    has_absent: bool = False
    notes: tuple[str, ...] = ()
    comparison: tuple[ComparedMethod, ...] = ()
    others: "tuple[Plan, ...]" = ()

    @property
    def guarantee(self) -> Guarantee:
        return self.event.guarantee

    @property
    def is_constant(self) -> bool:
        return all(mechanism.is_exact for mechanism in self.mechanisms)

    @property
    def weighing(self) -> str:
        cap = self.aggregation.cap
        if cap is None:
            return WEIGHING
        return f"every record counts, those of one user together as at most {cap}"

    def group_sizes(self, users: int) -> tuple[int, ...]:
        return tuple(self.aggregation.group_sizes(users))

    def check(self, records: Records) -> None:
        """Run the statement on no rows, unless no table could change the answer."""
        if not self.is_constant:
            records.check_aggregation(self.aggregation)

    def work(self, records: Records) -> tuple[tuple[str, str], ...]:
        return () if self.is_constant else records.explain_cost(self.aggregation)

    def statistic(self, records: Records, *, keep_exact: bool) -> tuple[Statistic, ...]:
        """Return one statistic for each group of users; of a constant answer its values at the neutral item."""
        del keep_exact
        if not self.is_constant:
            return records.aggregate(self.aggregation)
        values = cell_values(self.aggregation, records.space, records.space.neutral_item)[0].tolist()
        return (Statistic([Fraction(value) for value in values]),) * len(self.mechanisms)

    def release(
        self, opened: Sequence[tuple[Fraction, ...]], records: Records, *, keep_exact: bool
    ) -> tuple[Released, Released | None]:
        """Check that each group's statistic lies in its public range, then add one draw of noise to it: this spends."""
        for values, users in zip(opened, self.group_sizes(records.most_users), strict=True):
            check_statistic(self.aggregation, records.space, users, values)
        released = tuple(
            self.restored(mechanism.release(self.prepared(values)))
            for mechanism, values in zip(self.mechanisms, opened, strict=True)
        )
        return released, tuple(self.summed(values) for values in opened) if keep_exact else None

    def prepared(self, statistic: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """Return one group's coordinates as the mechanism takes them: summed up where cumulative, then scaled."""
        scaled = (
            value * scale for row, scale in zip(self._rows(statistic), self._fractions(), strict=True) for value in row
        )
        return (*scaled, *self._absent(statistic))

    def summed(self, statistic: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """Return one group's exact coordinates in the units of what is released."""
        return (*(value for row in self._rows(statistic) for value in row), *self._absent(statistic))

    def restored(self, released: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """Return one group's released coordinates in the statistic's own units."""
        cells = self.aggregation.cells
        scales = (*self._fractions(), *((Fraction(1),) if self.has_absent else ()))
        return tuple(value / scales[position // cells] for position, value in enumerate(released))

    def prepared_again(self, released: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """Return one group's released coordinates as the mechanism gave them: the inverse of ``restored``."""
        cells = self.aggregation.cells
        scales = (*self._fractions(), *((Fraction(1),) if self.has_absent else ()))
        return tuple(value * scales[position // cells] for position, value in enumerate(released))

    def _absent(self, statistic: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """Return the share that no cell has, where it is a coordinate of its own."""
        return (1 - sum(statistic, Fraction(0)),) if self.has_absent else ()

    def _fractions(self) -> tuple[Fraction, ...]:
        return tuple(map(Fraction, self.scales))

    def _rows(self, statistic: Sequence[Fraction]) -> list[tuple[Fraction, ...]]:
        cells = self.aggregation.cells
        rows = [tuple(statistic[start : start + cells]) for start in range(0, len(statistic), cells)]
        if not self.is_cumulative:
            return rows
        last = self.aggregation.axes[-1].size
        return [
            tuple(value for start in range(0, cells, last) for value in accumulate(row[start : start + last]))
            for row in rows
        ]


def parallel_event(mechanisms: Sequence[AdditiveMechanism], kind: Guarantee) -> Event:
    """Return the event of one release for each of some disjoint groups of users: the largest, not the sum (EMD 7).

    A neighbour changes one user, who is in one group, so the other groups' answers keep their law.

    >>> from emdp.mechanisms import LaplaceMechanism
    >>> from emdp.privacy import EmdDP
    >>> groups = [LaplaceMechanism(sensitivity=1 / n, alpha=2.0) for n in (10, 1000)]
    >>> parallel_event(groups, EmdDP(0.0)).guarantee.alpha
    2.0
    """
    events = [mechanism.event(kind) for mechanism in mechanisms]
    largest = max(events, key=lambda event: event.slack_epsilon)
    level = max(event.guarantee.level for event in events)
    delta = max(event.guarantee.delta for event in events)
    is_one_law = len({type(event) for event in events}) == 1
    if is_one_law and (largest.guarantee.level, largest.guarantee.delta) == (level, delta):
        gaussian = [event for event in events if isinstance(event, GaussianEvent)]
        if not gaussian:
            return largest
        if isinstance(largest, GaussianEvent):
            # Composition uses mu and slack_delta apart from the level; those of equal prices differ by roundings.
            slack_delta = max(event.slack_delta for event in gaussian)
            return replace(largest, mu=max(event.mu for event in gaussian), slack_delta=slack_delta)
    return GuaranteeEvent(kind.at_level(level, delta), "parallel releases", largest.slack_epsilon)
