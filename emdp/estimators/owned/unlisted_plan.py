"""Everything about a release by keys that nobody listed that is settled before the data is touched."""

from fractions import Fraction

import polars as pl

from emdp.base.classes import dataclass
from emdp.estimators.contract import Records
from emdp.estimators.owned.blocks import Block, Drawing
from emdp.estimators.owned.found import Found
from emdp.estimators.owned.frame_plan import FramePlan
from emdp.estimators.owned.plan import drawn_rows
from emdp.mechanisms.keys.numbers import NumberedKeys
from emdp.questions.owned.groups import OwnedGroups
from emdp.questions.owned.totals import UNIT_BITS

__all__ = ["UnlistedPlan"]


@dataclass(frozen=True, eq=False, kw_only=True)
class UnlistedPlan(FramePlan):
    """A priced release of keys that nobody listed.

    Parameters
    ----------
    event, columns, choice, finisher, notes
        As of :class:`emdp.estimators.owned.frame_plan.FramePlan`.
    """

    aggregation: OwnedGroups
    keys: NumberedKeys
    blocks: tuple[tuple[Block, Drawing], ...]  # What is drawn of which parts beside the number of users

    @property
    def mechanisms(self) -> tuple[NumberedKeys, ...]:
        return (self.keys,)

    @property
    def weighing(self) -> str:
        cap, kept = self.aggregation.cap, self.aggregation.groups_cap
        together = "together" if self.aggregation.norm == 1 else "in the 2-norm of their numbers by group"
        records = "" if cap is None else f", records of one user {together} as at most {cap}"
        if self.aggregation.group_rows is not None:
            records = f", records of one user in a group together as at most {self.aggregation.group_rows}"
        return f"every user counts once in each of at most {kept} groups{records}"

    def drawn(self, frame: pl.DataFrame, records: Records, *, keep_exact: bool) -> tuple[Found, Found | None]:
        """Check that the numbers are what they can be for some table, then draw: this spends."""
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
