"""Outcome of a report's run: for every entry an answer or a reason, and the state of the budget in the ledger."""

from collections.abc import Mapping
from typing import Any

from emdp.answers.stored import StoredAnswer
from emdp.base.classes import dataclass
from emdp.disclosure.consequences import Consequences
from emdp.privacy import Guarantee
from emdp.reports.definition import Entry, Report
from emdp.reports.streams import StreamOutcome

__all__ = ["BudgetState", "EntryOutcome", "ReportRun"]


@dataclass(frozen=True, eq=False)
class EntryOutcome:
    """One entry of a report after a run."""

    entry: Entry
    text: str
    answer: StoredAnswer | None  # What was released; None where the entry failed
    is_reused: bool = False  # Whether the answer was stored before this run, which then paid nothing for it
    error: str = ""  # Why there is no answer, in one sentence; empty where there is one
    # Answers to the same entry for other periods, by period, oldest first: for lines over periods.
    earlier: tuple[StoredAnswer, ...] = ()
    charge: Mapping[str, Any] | None = None  # The ledger entry that paid: its `sequence`, `hash` and `event`
    # The ledger entry that keeps the answer: its `sequence`, `hash` and `content`.
    stored: Mapping[str, Any] | None = None
    status: int = 0  # What the command line exits with if this entry fails first
    # Of a statement over measures, which has no charge of its own: those of the releases that it reads.
    reads: tuple[tuple[int, Guarantee], ...] = ()


@dataclass(frozen=True)
class BudgetState:
    """One budget of the table."""

    # promise, spent, remaining: All of one kind; `remaining` is what this report may still spend in its period: the
    # least of what the table's budget, without what is set aside for others, and the report's own budget for the period
    # leave.
    promise: Guarantee
    spent: Guarantee
    remaining: Guarantee
    # What was left of its level after each period or day, oldest first (`emdp.budgets.spending.burn_down`).
    steps: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, eq=False)
class ReportRun:
    """A report after a run: all that its page, files and manifest show."""

    report: Report
    definition: str
    table: str
    period: str | None
    data_version: str
    users: int | None
    outcomes: tuple[EntryOutcome, ...]  # One an entry, in order
    # What this report's entries cost in this period, by kind of budget; stored answers count with what they cost.
    spent: tuple[Guarantee, ...]
    budgets: tuple[BudgetState, ...]
    protections: tuple[str, ...]
    # ledger_id, head: The ledger, and its last entry: sequence and hash.
    ledger_id: str
    head: tuple[int, str]
    versions: Mapping[str, str]  # Of emdp, Python, DuckDB, Polars, numpy
    made: str  # When the page was made, UTC, ISO 8601
    is_private: bool = True  # False under the test switch
    account: str = ""  # Name of the table in the ledger whose budget pays; empty where it is that of the table
    streams: tuple[StreamOutcome, ...] = ()  # One a stream, in order
    # What the answers together may tell about one person; None where nothing was spent.
    meaning: Consequences | None = None
