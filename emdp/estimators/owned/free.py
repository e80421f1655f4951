"""Plans of statements over public tables alone: the same answer on every private table, so that nothing is charged."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.estimators.contract import Exact, Records
from emdp.estimators.owned.plan import RowsPlan
from emdp.mechanisms.release import Mechanism
from emdp.privacy import Event, Guarantee, GuaranteeEvent
from emdp.questions.columns import Finisher, PlannedColumn
from emdp.questions.comparison import ComparedMethod
from emdp.questions.owned.stages import FreeSelect
from emdp.questions.shape import Shape
from emdp.rows.types import Kind

__all__ = ["ComputePublic", "FreePlan", "FreeRelease", "FreeRows", "plan_free"]

ComputePublic = Callable[[str, Mapping[str, pl.DataFrame]], tuple[pl.DataFrame, Mapping[str, Kind]]]
"""Runs a SELECT over frames."""


@dataclass(frozen=True)
class FreeRelease:
    """Stand-in for a release: what is shown is a function of public tables."""

    theorem: str = "a function of public tables alone has one law on all private tables: nothing is spent"
    reads: str = "public tables alone"
    slack_epsilon: float = 0.0
    slack_delta: float = 0.0
    is_exact: bool = True

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        """Return public facts about it: that there is no noise."""
        del unit
        return (("noise", f"none: {self.reads}"),)


@dataclass(frozen=True, eq=False)
class FreeRows:
    """The rows of a SELECT over public tables."""

    question: FreeSelect
    run: ComputePublic

    @property
    def shape(self) -> Shape:
        return Shape("rows")

    def frame(self, released: Any, level: float, *, together: bool = False) -> pl.DataFrame:
        """Return the rows, at any level."""
        del released, level, together
        return self.run(self.question.sql, self.question.public)[0]

    def exact(self, statistics: Any) -> pl.DataFrame:
        return self.frame(statistics, 0.95)


@dataclass(frozen=True, eq=False)
class FreePlan(RowsPlan):
    """A statement over public tables; the module says what it costs."""

    event: Event  # Of nothing spent
    finisher: Finisher
    columns: tuple[PlannedColumn, ...] = ()
    notes: tuple[str, ...] = ("reads public tables alone: free, nothing of epsilon is charged",)
    comparison: tuple[ComparedMethod, ...] = ()
    mechanisms: tuple[Mechanism, ...] = (FreeRelease(),)
    choice: str = "No noise: the statement reads public tables alone."
    weighing: str = "no record is read"
    # What holds for the releases that it reads, where it reads some; they were paid before.
    promised: Guarantee | None = None
    is_constant = True
    is_of_rows = False

    @property
    def guarantee(self) -> Guarantee:
        return self.event.guarantee if self.promised is None else self.promised

    def check(self, records: Records) -> None:
        """Nothing is read of the records."""
        del records

    def work(self, records: Records) -> tuple[tuple[str, str], ...]:
        """Nothing is read of the records."""
        del records
        return ()

    def statistic(self, records: Records, *, keep_exact: bool) -> tuple[Exact, ...]:
        """Nothing is read of the records."""
        del records, keep_exact
        return ()

    def release(self, opened: Sequence[Any], records: Records, *, keep_exact: bool) -> tuple[Any, Any | None]:
        """Return nothing: the rows are made of public tables."""
        del opened, records
        return (), () if keep_exact else None


def plan_free(query: FreeSelect, run: ComputePublic | None) -> FreePlan:
    """Return the plan of a statement over public tables alone."""
    if run is None:
        raise UsageError("the statement reads public tables alone, and nothing here reads them; ask through a session.")
    return FreePlan(GuaranteeEvent(query.price.promise(), "none: public tables alone"), FreeRows(query, run))
