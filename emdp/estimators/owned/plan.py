"""Everything about a release over rows with owners that is settled before the data is touched."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import ClassVar

from emdp.base.classes import dataclass
from emdp.base.statistic import Statistic
from emdp.estimators.contract import AnyPlan, Records
from emdp.estimators.owned.blocks import Block, Drawing
from emdp.mechanisms import AdditiveMechanism
from emdp.privacy import Event, Guarantee
from emdp.questions.columns import Finisher, PlannedColumn, Released
from emdp.questions.comparison import ComparedMethod
from emdp.questions.owned.totals import OwnedTotals

__all__ = ["SLACK_FACTOR", "OwnedPlan", "RowsPlan", "drawn_rows", "is_covered", "slack_of_all"]

SLACK_FACTOR = 4.0
"""How much more slack is charged than at the caps, ranges or numbers of groups that are compared, for all others."""


def is_covered(cost: Event, charged: Event) -> bool:
    """Say whether what was charged before is at least what a plan costs: level, delta and slack."""
    due, paid = cost.guarantee, charged.guarantee
    return due.level <= paid.level and due.delta <= paid.delta and cost.slack_epsilon <= charged.slack_epsilon


def slack_of_all(compared: Iterable[AnyPlan]) -> float:
    """Return the slack that is charged where one of many plans is chosen later, of which some were compared."""
    return SLACK_FACTOR * max(plan.event.slack_epsilon for plan in compared)


class RowsPlan:
    """Base of all plans of statements over rows with owners."""

    is_constant: ClassVar[bool] = False
    """Whether no table could change the answer: never known here."""
    assumptions: ClassVar[tuple[str, ...]] = (
        "public tables that a statement joins do not come from the private records",
    )
    """Assumptions that are the data owner's, besides the users."""
    without_records: ClassVar[str] = "no records, and counts nowhere"

    event: Event

    is_of_rows = True
    """Whether records are read by themselves, so that those that are elsewhere are none."""

    @property
    def guarantee(self) -> Guarantee:
        """Guarantee of the release."""
        return self.event.guarantee

    def group_sizes(self, users: int) -> tuple[int, ...]:
        """Return the public number of users: there is one group of them."""
        return (users,)


@dataclass(frozen=True, eq=False)
class OwnedPlan(RowsPlan):
    """A priced release of what is drawn of capped sums.

    Parameters
    ----------
    aggregation : OwnedTotals
        What the engine computes.
    blocks : tuple of (Block, Drawing)
        What is drawn of which parts, in the order of what is released; noise is for scaled rows.
    mechanisms : tuple of AdditiveMechanism
        One.
    event : Event
        What the ledger is charged.
    columns, choice, finisher, notes
        As of :class:`emdp.estimators.plan.Plan`.
    """

    aggregation: OwnedTotals
    blocks: tuple[tuple[Block, Drawing], ...]
    mechanisms: tuple[AdditiveMechanism, ...]
    event: Event
    columns: tuple[PlannedColumn, ...]
    choice: str
    finisher: Finisher
    notes: tuple[str, ...] = ()
    comparison: tuple[ComparedMethod, ...] = ()

    @property
    def weighing(self) -> str:
        cap, each = self.aggregation.cap, self.aggregation.group_rows
        if self.aggregation.costs:
            return _weighing_of_amounts(self.aggregation)
        if each is not None:
            return f"every record counts, those of one user in a group together as at most {each}"
        if cap is None:
            return "every user counts once"
        if self.aggregation.relation.is_per_user:
            return "every user counts with one row, made of all their records"
        together = "together" if self.aggregation.norm == 1 else "in the 2-norm of their numbers by group"
        return f"every record counts, those of one user {together} as at most {cap}"

    def check(self, records: Records) -> None:
        records.check_aggregation(self.aggregation)

    def work(self, records: Records) -> tuple[tuple[str, str], ...]:
        return records.explain_cost(self.aggregation)

    def statistic(self, records: Records, *, keep_exact: bool) -> tuple[Statistic, ...]:
        del keep_exact
        return records.aggregate(self.aggregation)

    def release(
        self, opened: Sequence[tuple[Fraction, ...]], records: Records, *, keep_exact: bool
    ) -> tuple[Released, Released | None]:
        """Check that the sums are what they can be for some table, then add one draw of noise to them: this spends."""
        for values in opened:
            self.aggregation.check(records.most_users, values)
        released = tuple(
            self.restored(mechanism.release(self.prepared(values)))
            for mechanism, values in zip(self.mechanisms, opened, strict=True)
        )
        return released, tuple(self.summed(values) for values in opened) if keep_exact else None

    def prepared(self, statistic: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """Return the drawn rows, cell by cell, scaled for the noise."""
        return tuple(
            value * Fraction(scale)
            for row, scale in zip(self._drawn(statistic), self._scales(), strict=True)
            for value in row
        )

    def summed(self, statistic: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """Return the drawn rows in the units of what is released."""
        return tuple(value for row in self._drawn(statistic) for value in row)

    def restored(self, released: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """Return released numbers in the units of the drawn rows."""
        cells, scales = self.aggregation.cells, self._scales()
        return tuple(value / Fraction(scales[place // cells]) for place, value in enumerate(released))

    def _scales(self) -> tuple[float, ...]:
        return tuple(scale for _, drawing in self.blocks for scale in drawing.scales)

    def _drawn(self, statistic: Sequence[Fraction]) -> list[list[Fraction]]:
        return drawn_rows(self.blocks, statistic, self.aggregation.cells)


def _weighing_of_amounts(totals: OwnedTotals) -> str:
    if totals.group_rows is not None:
        return (
            f"every record counts by what it adds, those of one user in a group together as {totals.group_rows} at most"
        )
    together = "together" if totals.norm == 1 else "in the 2-norm of what they add by group and sum"
    return f"every record counts by what it adds, those of one user {together} as {totals.cap_records:g} at most"


def drawn_rows(
    blocks: Sequence[tuple[Block, Drawing]], statistic: Sequence[Fraction], cells: int
) -> list[list[Fraction]]:
    """Return the numbers drawn, before scales: a list of its values by cell for each row of each drawing.

    Parameters
    ----------
    statistic : sequence of Fraction
        Part by part, cells in order.
    """
    made = []
    for block, drawing in blocks:
        places = range(block.first, block.first + block.parts)
        parts = [statistic[place * cells : (place + 1) * cells] for place in places]
        made += [[_weighed(row, own) for own in zip(*parts, strict=True)] for row in drawing.rows]
    return made


def _weighed(weights: Sequence[Fraction], values: Sequence[Fraction]) -> Fraction:
    return sum((weight * value for weight, value in zip(weights, values, strict=True)), Fraction(0))
