"""Base of plans over tables of rows with owners."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import polars as pl

from emdp.base.classes import dataclass
from emdp.base.statistic import Hidden
from emdp.estimators.contract import Records
from emdp.estimators.owned.plan import RowsPlan
from emdp.mechanisms.release import Mechanism
from emdp.privacy import Event
from emdp.questions.columns import Finisher, PlannedColumn
from emdp.questions.comparison import ComparedMethod
from emdp.questions.owned.grids import OwnedFrame

__all__ = ["FramePlan"]


@dataclass(frozen=True, eq=False)
class FramePlan(RowsPlan, ABC):
    """A priced release of one table that the engine computes of rows with owners."""

    aggregation: OwnedFrame
    event: Event
    columns: tuple[PlannedColumn, ...]
    choice: str
    finisher: Finisher
    notes: tuple[str, ...]
    comparison: tuple[ComparedMethod, ...] = ()

    @property
    @abstractmethod
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """Number of mechanisms: one."""

    @property
    @abstractmethod
    def weighing(self) -> str:
        """Weight of a user and of a row, in a sentence."""

    @abstractmethod
    def drawn(self, frame: pl.DataFrame, records: Records, *, keep_exact: bool) -> tuple[Any, Any | None]:
        """Draw once of what the engine computed: this spends."""

    def check(self, records: Records) -> None:
        records.check_owned(self.aggregation)

    def work(self, records: Records) -> tuple[tuple[str, str], ...]:
        del records
        return ()

    def statistic(self, records: Records, *, keep_exact: bool) -> tuple[Hidden[Any], ...]:
        del keep_exact
        return (records.read_owned(self.aggregation),)

    def release(self, opened: Sequence[pl.DataFrame], records: Records, *, keep_exact: bool) -> tuple[Any, Any | None]:
        """Check that the numbers are what they can be for some table, then draw: this spends."""
        (frame,) = opened
        return self.drawn(frame, records, keep_exact=keep_exact)
