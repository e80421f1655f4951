"""The records of a table as plans have them read, by the engine of its source.

**One scan for rules and statistic.** New data are held against the declared rules before the first charge, and what a
plan asks for is opened after it. Where the engine has one scan for both, the statistic is made before the charge, and
held here, hidden, until a session that has charged has the plan ask for it. *Whether a request is refused, in which
words, and whether it is charged, depends on the records as it would with two scans*: the one scan says that no rule is
broken, which a scan of the rules alone would have said, or it says nothing (a rule is broken, or anything failed). Then
:meth:`TableRecords.check_rules` goes on as if it had not been tried, and what it made is gone. What is charged, and
whether the budgets cover it, is settled by public numbers. The statistic is the same, since its values are exact
(:mod:`emdp.tables.statements.checked`), and between the scan and the charge nothing reads it. What is left is time:
that of a scan before a charge depends on the records, as it did.
"""

from dataclasses import field
from typing import Any

import polars as pl

from emdp.base.classes import dataclass
from emdp.base.errors import raise_alone
from emdp.base.statistic import Hidden, HiddenBlocks, Statistic
from emdp.expressions.cells.aggregation import Aggregation
from emdp.questions.owned.grids import OwnedFrame
from emdp.questions.owned.totals import OwnedTotals
from emdp.questions.reading import BlockEncoder, Reading
from emdp.spaces import Space
from emdp.tables import Table, aggregate, aggregate_checked, check_aggregation
from emdp.tables.readings import check_items, read_items

__all__ = ["TableRecords"]


@dataclass(frozen=True, eq=False)
class TableRecords:
    """The records of a table; see :class:`emdp.estimators.contract.Records`."""

    table: Table
    _checked: list[Aggregation | OwnedTotals] = field(default_factory=list, init=False, repr=False)
    _ahead: dict[Aggregation | OwnedTotals, tuple[Statistic, ...]] = field(default_factory=dict, init=False, repr=False)

    def check_rules(self) -> None:
        """Check the table's declared rules, in one scan with the first aggregation that was checked where that is one.

        Raises
        ------
        DataRuleError
            As :meth:`emdp.Table.check_rules`.
        """
        found = self._scanned(self._checked[0]) if self._checked else None
        if found is None:
            self.table.check_rules()
        else:
            self._ahead[self._checked[0]] = found

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
        self._checked.append(aggregation)

    def aggregate(self, aggregation: Aggregation | OwnedTotals) -> tuple[Statistic, ...]:
        found = self._ahead.pop(aggregation, None)
        return aggregate(self.table, aggregation) if found is None else found

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

    def _scanned(self, aggregation: Aggregation | OwnedTotals) -> tuple[Statistic, ...] | None:
        """Return an aggregation if a scan found that the rules hold; None where it did not, or failed."""
        try:
            return aggregate_checked(self.table, aggregation)
        except Exception:  # noqa: BLE001 - nothing is charged yet, so that no error may say what was computed.
            return None
        except BaseException as stopped:  # noqa: BLE001 - raised again.
            # Frames below this one hold private numbers.
            raise_alone(stopped.with_traceback(None))
