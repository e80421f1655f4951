"""Everything about a release by keys that nobody listed that is settled before the data is touched."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import polars as pl

from emdp.base.statistic import Hidden
from emdp.estimators.contract import Records
from emdp.estimators.owned.blocks import Block, Drawing
from emdp.estimators.owned.found import Found
from emdp.estimators.owned.plan import drawn_rows
from emdp.mechanisms.keys.numbers import NumberedKeys
from emdp.privacy import Event, Guarantee
from emdp.questions.columns import Finisher, PlannedColumn
from emdp.questions.comparison import ComparedMethod
from emdp.questions.owned.groups import OwnedGroups
from emdp.questions.owned.totals import UNIT_BITS

__all__ = ["UnlistedPlan"]


@dataclass(frozen=True, eq=False)
class UnlistedPlan:
    """A priced release of keys that nobody listed.

    Parameters
    ----------
    aggregation : OwnedGroups
        What the engine computes.
    keys : NumberedKeys
        Threshold and noise.
    blocks : tuple of (Block, Drawing)
        What is drawn of which parts beside the number of users.
    event : Event
        What the ledger is charged.
    columns, choice, finisher, notes
        As of :class:`emdp.estimators.plan.Plan`.
    """

    aggregation: OwnedGroups
    keys: NumberedKeys
    blocks: tuple[tuple[Block, Drawing], ...]
    event: Event
    columns: tuple[PlannedColumn, ...]
    choice: str
    finisher: Finisher
    notes: tuple[str, ...] = ()
    comparison: tuple[ComparedMethod, ...] = ()

    @property
    def mechanisms(self) -> tuple[NumberedKeys, ...]:
        """One."""
        return (self.keys,)

    @property
    def guarantee(self) -> Guarantee:
        """What holds for the release."""
        return self.event.guarantee

    @property
    def is_constant(self) -> bool:
        """Whether no table could change the answer: never known here."""
        return False

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What is the data owner's to know, besides the users."""
        return ("public tables that a statement joins do not come from the private records",)

    @property
    def weighing(self) -> str:
        """How much a user and a row count, in words."""
        cap, kept = self.aggregation.cap, self.aggregation.groups_cap
        records = "" if cap is None else f", records of one user together as at most {cap}"
        return f"every user counts once in each of at most {kept} groups{records}"

    @property
    def without_records(self) -> str:
        """What a public user without records counts with: nothing."""
        return "no records, and counts nowhere"

    def group_sizes(self, users: int) -> tuple[int, ...]:
        """Return the public number of users: there is one group of them."""
        return (users,)

    def check(self, records: Records) -> None:
        """Run the statement on no rows."""
        records.check_owned(self.aggregation)

    def work(self, records: Records) -> tuple[tuple[str, str], ...]:
        """Return what is public about the work: nothing more."""
        del records
        return ()

    def statistic(self, records: Records, *, keep_exact: bool) -> tuple[Hidden[Any], ...]:
        """Return users and sums of every key that somebody has."""
        del keep_exact
        return (records.read_owned(self.aggregation),)

    def release(
        self, opened: Sequence[pl.DataFrame], records: Records, *, keep_exact: bool
    ) -> tuple[Found, Any | None]:
        """Check that the numbers are what they can be for some table, then draw: this spends."""
        (frame,) = opened
        counts = frame.get_column("people").to_list()
        parts = [[int(value) for value in frame.get_column(name)] for name in self._parts]
        self.aggregation.check(records.most_users, counts, parts, 2**UNIT_BITS)

        def exact(index: list[int]) -> list[list[Fraction]]:
            chosen = [[Fraction(part[place], 2**UNIT_BITS) for place in index] for part in parts]
            return drawn_rows(self.blocks, [value for part in chosen for value in part], len(index))

        scales = [Fraction(scale) for _, drawing in self.blocks for scale in drawing.scales]
        scaled = lambda index: [  # noqa: E731
            [value * scale for value in row] for row, scale in zip(exact(index), scales, strict=True)
        ]
        found = self.keys.release(counts, scaled)
        index = list(found.index)
        rows = frame[index]
        keys = tuple(tuple(rows.get_column(f"key_{place}")) for place in range(len(self.aggregation.keys)))
        numbers = [value / scale for row, scale in zip(found.numbers, scales, strict=True) for value in row]
        released = Found(keys, (*numbers, *found.people))
        if not keep_exact:
            return released, None
        people = [Fraction(counts[place]) for place in index]
        return released, Found(keys, (*(value for row in exact(index) for value in row), *people))

    @property
    def _parts(self) -> list[str]:
        return [f"part_{place}" for place in range(self.aggregation.first_part(len(self.aggregation.arguments)))]
