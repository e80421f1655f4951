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

**The check before it.** What the engine cannot compute is refused on no rows, before anything is compared with a
record. Of new data the statement of the one scan is what runs on no rows. The other one is made of the same expressions
of the same records; it runs on no rows where the one scan was of no use, before the rules have a scan of their own. If
it is refused then, that says no more than that the one scan was of no use, and a broken rule would say so, too.

Either scan is of all statements that can be computed together (:mod:`emdp.sessions.scans`).
"""

from collections.abc import Callable
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
from emdp.sessions.scans import SharedScans
from emdp.spaces import Space
from emdp.tables import Table, aggregate, aggregate_checked, check_aggregation
from emdp.tables.readings import check_items, read_items

__all__ = ["TableRecords"]


@dataclass(frozen=True, eq=False)
class TableRecords:
    """The records of a table; see :class:`emdp.estimators.contract.Records`."""

    table: Table
    scans: SharedScans = field(default_factory=SharedScans, repr=False)
    is_new: bool = False  # Whether the data are to be held against the rules
    _checked: list[Aggregation | OwnedTotals] = field(default_factory=list, init=False, repr=False)
    _in_one: list[Aggregation | OwnedTotals] = field(default_factory=list, init=False, repr=False)

    def version(self) -> str:
        """Return the version of the data as they are; what was computed of another one is forgotten."""
        version = self.table.data_version()
        self.scans.begin(version)
        return version

    def check_rules(self) -> None:
        """Check the declared rules, in one scan with the first aggregation that was checked where that is one."""
        is_held = bool(self._checked) and self._scanned(aggregate_checked, self._widened(self._checked[0]))
        if not is_held:
            self.check_alone()
            self.table.check_rules()

    def check_alone(self) -> None:
        """Run on no rows the statements without rules of which that with them ran so."""
        for aggregation in self._in_one:
            check_aggregation(self.table, aggregation)

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
        is_first = self.is_new and not self._checked and self._widened(aggregation) is aggregation
        if check_aggregation(self.table, aggregation, is_first):
            self._in_one.append(aggregation)
        self._checked.append(aggregation)
        self.scans.expect(aggregation)

    def aggregate(self, aggregation: Aggregation | OwnedTotals) -> tuple[Statistic, ...]:
        found = self.scans.take(aggregation)
        if found is None:
            wide = self._widened(aggregation)
            if wide is not aggregation and self._scanned(aggregate, wide):
                found = self.scans.take(aggregation)
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

    def _widened(self, aggregation: Aggregation | OwnedTotals) -> Aggregation | OwnedTotals:
        return self.scans.widened(aggregation, self.table.users.count)

    def _scanned(
        self,
        scan: Callable[[Table, Aggregation | OwnedTotals], tuple[Statistic, ...] | None],
        aggregation: Aggregation | OwnedTotals,
    ) -> bool:
        """Compute an aggregation, to be held until it is asked for; False where that was not done, or failed."""
        try:
            found = scan(self.table, aggregation)
            # Of data that changed meanwhile nothing is held, since they may be put back.
            found = found if self.table.data_version() == self.scans.version else None
        except Exception:  # noqa: BLE001 - nobody was charged for all of it, so that no error may say what was computed.
            found = None
        except BaseException as stopped:  # noqa: BLE001 - raised again.
            # Frames below this one hold private numbers.
            raise_alone(stopped.with_traceback(None))
        if found is not None:
            self.scans.keep(aggregation, found)
        return found is not None
