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
    """One entry of a report after a run.

    Parameters
    ----------
    answer : StoredAnswer or None
        What was released; None where the entry failed.
    is_reused : bool
        Whether the answer was stored before this run, which then paid nothing for it.
    error : str
        Why there is no answer, in one sentence; empty where there is one.
    earlier : tuple of StoredAnswer
        Answers to the same entry for other periods, by period, oldest first: for lines over periods.
    charge : mapping or None
        The ledger entry that paid: its ``sequence``, ``hash`` and ``event``.
    stored : mapping or None
        The ledger entry that keeps the answer: its ``sequence``, ``hash`` and ``content``.
    status : int
        What the command line exits with if this entry fails first.
    reads : tuple of (int, Guarantee)
        Of a statement over measures, which has no charge of its own: those of the releases that it reads.
    """

    entry: Entry
    text: str
    answer: StoredAnswer | None
    is_reused: bool = False
    error: str = ""
    earlier: tuple[StoredAnswer, ...] = ()
    charge: Mapping[str, Any] | None = None
    stored: Mapping[str, Any] | None = None
    status: int = 0
    reads: tuple[tuple[int, Guarantee], ...] = ()


@dataclass(frozen=True)
class BudgetState:
    """One budget of the table.

    Parameters
    ----------
    promise, spent, remaining : Guarantee
        All of one kind; ``remaining`` is what this report may still spend in its period: the least of what the table's
        budget, without what is set aside for others, and the report's own budget for the period leave.
    steps : tuple of (str, float)
        What was left of its level after each period or day, oldest first (:func:`emdp.budgets.spending.burn_down`).
    """

    promise: Guarantee
    spent: Guarantee
    remaining: Guarantee
    steps: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, eq=False)
class ReportRun:
    """A report after a run: all that its page, files and manifest show.

    Parameters
    ----------
    outcomes : tuple of EntryOutcome
        One an entry, in order.
    spent : tuple of Guarantee
        What this report's entries cost in this period, by kind of budget; stored answers count with what they cost.
    ledger_id, head : str, (int, str)
        The ledger, and its last entry: sequence and hash.
    versions : mapping of str to str
        Of emdp, Python, DuckDB, Polars, numpy.
    made : str
        When the page was made, UTC, ISO 8601.
    is_private : bool
        False under the test switch.
    account : str
        Name of the table in the ledger whose budget pays; empty where it is that of the table.
    streams : tuple of StreamOutcome
        One a stream, in order.
    meaning : Consequences, optional
        What the answers together may tell about one person; None where nothing was spent.
    """

    report: Report
    definition: str
    table: str
    period: str | None
    data_version: str
    users: int | None
    outcomes: tuple[EntryOutcome, ...]
    spent: tuple[Guarantee, ...]
    budgets: tuple[BudgetState, ...]
    protections: tuple[str, ...]
    ledger_id: str
    head: tuple[int, str]
    versions: Mapping[str, str]
    made: str
    is_private: bool = True
    account: str = ""
    streams: tuple[StreamOutcome, ...] = ()
    meaning: Consequences | None = None
