"""The records of a table as plans have them read, by the engine of its source."""

from typing import Any

import polars as pl

from emdp.base.classes import dataclass
from emdp.base.statistic import Hidden, HiddenBlocks, Statistic
from emdp.expressions.cells.aggregation import Aggregation
from emdp.questions.owned.grids import OwnedFrame
from emdp.questions.owned.totals import OwnedTotals
from emdp.questions.reading import BlockEncoder, Reading
from emdp.spaces import Space
from emdp.tables import Table, aggregate, check_aggregation
from emdp.tables.readings import check_items, read_items

__all__ = ["TableRecords"]


@dataclass(frozen=True, eq=False)
class TableRecords:
    """The records of a table; see :class:`emdp.estimators.contract.Records`."""

    table: Table

    @property
    def users(self) -> int:
        return self.table.n

    @property
    def most_users(self) -> int:
        return self.table.most_users

    @property
    def space(self) -> Space:
        return self.table.space

    def check_aggregation(self, aggregation: Aggregation | OwnedTotals) -> None:
        check_aggregation(self.table, aggregation)

    def aggregate(self, aggregation: Aggregation | OwnedTotals) -> tuple[Statistic, ...]:
        return aggregate(self.table, aggregation)

    def explain_cost(self, aggregation: Aggregation | OwnedTotals) -> tuple[tuple[str, str], ...]:
        return self.table.engine.explain_cost(self.table, aggregation)

    def check_owned(self, wanted: OwnedFrame) -> None:
        self.table.engine.check_owned(self.table, wanted)

    def read_owned(self, wanted: OwnedFrame) -> Hidden[pl.DataFrame]:
        return self.table.engine.read_owned(self.table, wanted)

    def check_items(self, reading: Reading) -> None:
        check_items(self.table, reading)

    def read_items(self, reading: Reading, encoder: BlockEncoder | None) -> Hidden[Any] | HiddenBlocks[Any]:
        return read_items(self.table, reading, encoder)

    def explain_reading(self, reading: Reading) -> tuple[tuple[str, str], ...]:
        return self.table.engine.explain_reading(self.table, reading)
