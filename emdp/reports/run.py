"""Running a report: one run at a time, each entry paid once, whatever interrupts it.

An entry is charged, released, stored, and only then shown. A run that was killed leaves stored answers, which the next
run takes as they are, and at most one charge without an answer, which the next run completes: it holds the lock under
which that charge was made, so the process that made it is gone, and nobody saw what it had drawn.
"""

import math
import platform
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import partial
from importlib.metadata import version
from typing import Any

from emdp.answers.stored import StoredAnswer
from emdp.base.errors import (
    BudgetExceededError,
    DataRuleError,
    EmdpError,
    LedgerError,
    ResourceError,
    StoredTextError,
    UsageError,
)
from emdp.budgets.accounts import Tags
from emdp.budgets.reservations import outstanding
from emdp.budgets.spending import budgets_of, burn_down, charges_of
from emdp.catalog.catalog import Catalog
from emdp.ledger import Entry, Ledger
from emdp.privacy import Event, Guarantee, conversion_factor, convert, converts_to, event_from_json, paying
from emdp.privacy.account.restating import restated
from emdp.privacy.guarantees.conversions import changes_delta
from emdp.privacy.rounding import as_decimal, float_down, float_up
from emdp.reports.checking import CheckedEntry, CheckedReport
from emdp.reports.lock import run_lock
from emdp.reports.meaning import meaning
from emdp.reports.outcome import BudgetState, EntryOutcome, ReportRun
from emdp.reports.readings import as_read, ready
from emdp.reports.streams import StreamOutcome, run_streams
from emdp.reports.words import protection_sentences
from emdp.sessions.planning import Planned
from emdp.sessions.scans import SharedScans
from emdp.sessions.session import Session
from emdp.sessions.store import Store, kept_answer
from emdp.sql import spelled

__all__ = ["Progress", "check_reach", "forget_old", "period_spending", "run_report", "stores_of"]

Progress = Callable[[int, int, str], None]
"""Told before each entry: how many are done, how many there are, the entry's title."""

VERSIONED = ("emdp", "duckdb", "polars", "numpy")
"""Packages whose versions a manifest states."""


def run_report(
    checked: CheckedReport,
    catalog: Catalog,
    *,
    fresh: bool = False,
    wait: float = 10.0,
    progress: Progress | None = None,
) -> ReportRun:
    """Answer the entries of a checked report, those with stored answers for nothing.

    Parameters
    ----------
    fresh : bool
        Whether stored answers are left aside, and every entry is paid anew.
    progress : callable, optional
        Told what is running.

    Returns
    -------
    ReportRun
        With an outcome for each entry: one that fails fails alone.

    Raises
    ------
    BudgetExceededError
        If the report's budget for the period, or the table's, does not cover what is not stored yet. Nothing is
        charged then.
    UsageError
        If another run holds the ledger for longer than ``wait``.
    LedgerError
        If the ledger is damaged.

    Guarantee
    ---------
    All charges of the report in its period cost at most its budget, by sums of level and delta (EMD 7); each answer has
    the guarantee that stands with it.
    """
    report = checked.report
    with run_lock(catalog.ledger_path, wait=wait), catalog.session(checked.table, period=report.period) as session:
        plain = (entry.planned for entry in checked.entries if not entry.planned.is_awaited)
        session.adopt(plain, checked.names, checked.promises)
        checked = replace(checked, entries=tuple(as_read(session, entry) for entry in checked.entries))
        forget_old(session.ledger, checked)
        stores = stores_of(session, checked, scans := SharedScans())
        scans.expect_all(check_reach(checked, session, stores, fresh=fresh))
        outcomes = []
        for place, (store, entry) in enumerate(zip(stores, checked.entries, strict=True)):
            if progress is not None:
                progress(place, len(stores), entry.entry.title)
            outcomes.append(_outcome(session, checked, store, entry, fresh=fresh))
        streams = run_streams(report, session)
        return _run_of(checked, catalog, session, tuple(outcomes), streams)


def stores_of(session: Session, checked: CheckedReport, scans: SharedScans | None = None) -> list[Store]:
    """Return for each entry what finds its stored answer, or the charge of a run that was killed."""
    report = checked.report
    return [
        Store(
            session,
            tags=Tags(report.period, report.title, entry.entry.title, report.reserve),
            resumes=True,
            limit=partial(_check_period_budget, checked),
            scans=scans,
        )
        for entry in checked.entries
    ]


def _outcome(
    session: Session, checked: CheckedReport, store: Store, entry: CheckedEntry, *, fresh: bool
) -> EntryOutcome:
    try:
        planned = ready(session, entry.planned)
        (kept,) = store.ask([planned], fresh=fresh)
    except (LedgerError, DataRuleError, ResourceError):
        # A broken rule is the owner's to know: it is a fact about the records that no budget paid for. Where memory or
        # disk space ran out, the entries that follow would be charged and find none either.
        raise
    except EmdpError as error:
        return EntryOutcome(entry.entry, entry.text, None, error=str(error), status=error.exit_status)
    return EntryOutcome(
        entry=entry.entry,
        text=entry.text,
        answer=_shown(kept.answer, entry.entry.tier),
        is_reused=kept.is_reused,
        reads=tuple((own.charge.sequence, own.answer.guarantee) for own in getattr(planned, "releases", ())),
        earlier=tuple(_shown(one, entry.entry.tier) for one in _earlier(session.ledger, checked, entry, kept.answer)),
        charge={"sequence": kept.charge.sequence, "hash": kept.charge.hash, "event": kept.charge.payload["event"]},
        stored={
            "sequence": kept.stored.sequence,
            "hash": kept.stored.hash,
            "content": kept.stored.payload["content"],
        },
    )


def _shown(answer: StoredAnswer, tier: int | None) -> StoredAnswer:
    """Return what the report's readers may see of an answer: one tier, where it has several."""
    return answer.tier(1 if tier is None else tier) if answer.weaker else answer


def _earlier(
    ledger: Ledger, checked: CheckedReport, entry: CheckedEntry, own: StoredAnswer
) -> tuple[StoredAnswer, ...]:
    """Return the newest answer of the same entry for each other period, by the period's name."""
    found: dict[str, StoredAnswer] = {}
    for stored in ledger.entries(checked.account, "answer"):
        known = stored.payload
        period = known["period"]
        if known["report"] != checked.report.title or known["entry"] != entry.entry.title or period is None:
            continue
        if period == checked.report.period or _body(known["query"]) != _body(own.query):
            continue
        try:
            kept = kept_answer(ledger, stored)
        except StoredTextError:
            # Another version's: this period's answer is paid, and must not be lost for an older one's sake.
            continue
        if kept is not None and _is_alike(kept.answer, own) and len(kept.answer.weaker) == len(own.weaker):
            found[period] = kept.answer
    return tuple(found[period] for period in sorted(found))


def _body(query: str) -> str:
    """Return a statement without its OPTIONS, in which levels may differ from period to period."""
    before, _, rest = spelled(query).partition("OPTIONS (")
    return before + rest.partition(")")[2]


def _is_alike(one: StoredAnswer, other: StoredAnswer) -> bool:
    """Say whether two answers have the same columns of the same expressions, so that a line may join them."""
    return one.frame.schema == other.frame.schema and [column.expression for column in one.columns] == [
        column.expression for column in other.columns
    ]


def forget_old(ledger: Ledger, checked: CheckedReport, *, now: datetime | None = None) -> int:
    """Drop the texts of the report's answers that are older than its retention; return how many.

    The chain keeps their digests, and the charges, for ever.
    """
    days = checked.report.retention
    if days is None:
        return 0
    oldest = ((now or datetime.now(UTC)) - timedelta(days=days)).isoformat()
    entries = ledger.entries(checked.account, "answer")
    kept = {entry.payload["content"] for entry in entries if entry.time >= oldest}
    old = {entry.payload["content"] for entry in entries if entry.payload["report"] == checked.report.title}
    return ledger.forget(sorted(old - kept))


def check_reach(checked: CheckedReport, session: Session, stores: Sequence[Store], *, fresh: bool) -> list[Planned]:
    """Return what has yet to be paid; raise unless the report's budget and the table's cover it."""
    both = zip(stores, checked.entries, strict=True)
    due = [entry.planned for store, entry in both if not store.is_paid(entry.planned, fresh=fresh)]
    _check_reserve(checked, session.ledger)
    session.check_affordable(due, reserve=checked.report.reserve)
    entries = session.ledger.entries(checked.account)
    why = _why(checked, entries, session.table.data_version())
    _check_period_budget(checked, entries, [one.plan.event for one in due], why=why)
    return due


def _check_period_budget(
    checked: CheckedReport, entries: Sequence[Entry], events: Sequence[Event], *, why: str = ""
) -> None:
    """Raise unless the report's budget for its period covers events; again at each charge, for data may change."""
    budget = checked.budget
    if budget is None:
        return
    paid = _spent_in(entries, checked, budget)
    wanted = [convert(restated(event, budget).guarantee, budget.kind) for event in events]
    level = sum((as_decimal(own.level) for own in wanted), as_decimal(paid.level))
    delta = sum((as_decimal(own.delta) for own in wanted), as_decimal(paid.delta))
    if level > as_decimal(budget.level) or delta > as_decimal(budget.delta):
        raise BudgetExceededError(
            f"the report's budget{_of_period(checked)} is {budget}, of which {paid} is spent, and the "
            f"{len(events)} entries without a stored answer cost more than the rest{why}; state the "
            "levels of entries that share it by weight and raise it in the definition, or wait for the next period."
        )


def _why(checked: CheckedReport, entries: Sequence[Entry], version: str) -> str:
    """Say that there are stored answers to other data, where there are."""
    asked = [
        entry.payload["data_version"]
        for entry in entries
        if entry.kind == "answer"
        and (entry.payload["report"], entry.payload["period"]) == (checked.report.title, checked.report.period)
    ]
    if not asked or version in asked:
        return ""
    return " (the stored answers are of other data; a version in the catalog, declared before them, would keep them)"


def _check_reserve(checked: CheckedReport, ledger: Ledger) -> None:
    """Raise if the report names a reservation that was never made: it would draw on what is left for all."""
    entries = ledger.entries(checked.account)
    name = checked.report.reserve
    if name is not None and not any(name in outstanding(entries, budget) for budget in budgets_of(entries)):
        raise UsageError(
            f"reserve {name!r} of the report is set aside in no budget of table {checked.table!r}; make it with emdp "
            "ledger reserve, or leave the key out."
        )


def _of_period(checked: CheckedReport) -> str:
    return "" if checked.report.period is None else f" for period {checked.report.period}"


def period_spending(ledger: Ledger, checked: CheckedReport, kind: Guarantee) -> Guarantee:
    """Return what a report was charged in its period, as a guarantee of a kind: sums of level and delta, rounded up."""
    return _spent_in(ledger.entries(checked.account), checked, kind)


def _spent_in(entries: Sequence[Entry], checked: CheckedReport, kind: Guarantee) -> Guarantee:
    level = delta = as_decimal(0.0)
    for entry in entries:
        known = entry.payload
        if (
            entry.kind == "charge"
            and known.get("report") == checked.report.title
            and known.get("period") == checked.report.period
        ):
            own = convert(restated(event_from_json(known["event"]), kind).guarantee, kind.kind)
            level, delta = level + as_decimal(own.level), delta + as_decimal(own.delta)
    return kind.kind.at_level(float_up(level), float_up(delta))


def _left_of(
    checked: CheckedReport, entries: Sequence[Entry], remaining: Guarantee, promises: Sequence[Guarantee]
) -> Guarantee:
    """Return what a report may still spend of a table's budget: no more than its own budget for the period leaves."""
    own = checked.budget
    if own is None:
        return remaining
    paid = _spent_in(entries, checked, own)
    if changes_delta(remaining, own):
        return _left_by_removal(remaining, own, paid)
    if converts_to(remaining, own):
        factor = 1 / conversion_factor(remaining, own)
    elif paying(own, promises).kind == remaining.kind:
        factor = conversion_factor(own, remaining)
    else:
        return remaining.at_level(0.0, 0.0)
    level, delta = (
        float_down(max(as_decimal(whole) - as_decimal(gone), Fraction(0)) * by)
        for whole, gone, by in ((own.level, paid.level, factor), (own.delta, paid.delta, Fraction(1)))
    )
    return remaining.at_level(min(remaining.level, level), min(remaining.delta, delta))


def _left_by_removal(remaining: Guarantee, own: Guarantee, paid: Guarantee) -> Guarantee:
    """Return how much by removal a report's budget by replacement leaves: what converts to no more than its rest."""
    level = float_down(max(as_decimal(own.level) - as_decimal(paid.level), Fraction(0)) / 2)
    rest = max(as_decimal(own.delta) - as_decimal(paid.delta), Fraction(0))
    # exp(level) is at most its value at the whole rest, rounded up
    delta = float_down(rest / (1 + Fraction(math.exp(min(level, 700.0))) * (1 + Fraction(1, 10**12))))
    return remaining.at_level(min(remaining.level, level), min(remaining.delta, delta))


def _run_of(
    checked: CheckedReport,
    catalog: Catalog,
    session: Session,
    outcomes: tuple[EntryOutcome, ...],
    streams: tuple[StreamOutcome, ...],
) -> ReportRun:
    report = checked.report
    spent = _spent(outcomes, session, streams)
    entries = session.ledger.entries(checked.account)
    budgets = tuple(
        BudgetState(
            promise=budget.guarantee,
            spent=session.spent(budget.guarantee),
            remaining=_left_of(
                checked,
                entries,
                session.remaining(budget.guarantee, reserve=report.reserve),
                session.promises,
            ),
            steps=burn_down(charges_of(entries), budget),
        )
        for budget in budgets_of(entries)
    )
    changes = catalog.protections(checked.table)
    versions = {entry.payload.get("data_version") for entry in entries if entry.kind == "charge"}
    sentences = protection_sentences(
        spent,
        session.promises,
        changes,
        session.table.space,
        period=report.period,
        is_growing=report.period is None and len(versions) > 1,
    )
    return ReportRun(
        report=report,
        definition=report.definition,
        table=checked.table,
        account=entries[0].table,
        streams=streams,
        period=report.period,
        data_version=session.table.data_version(),
        users=session.table.users.count,
        outcomes=outcomes,
        spent=spent,
        budgets=budgets,
        protections=sentences,
        meaning=meaning(spent, changes, session.table.space),
        ledger_id=session.ledger.ledger_id,
        head=session.ledger.head(),
        versions={**{name: version(name) for name in VERSIONED}, "python": platform.python_version()},
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        is_private=not session.ledger.is_test,
    )


def _spent(
    outcomes: Sequence[EntryOutcome], session: Session, streams: Sequence[StreamOutcome]
) -> tuple[Guarantee, ...]:
    """Return what the answers on the page guarantee together, by kind of budget that pays; streams with all periods."""
    sums: dict[Any, list[Guarantee]] = {}
    paid = {outcome.charge["sequence"] for outcome in outcomes if outcome.charge is not None and not outcome.reads}
    # a measure that is read counts once, as one of the page's answers or beside them
    read = {own: guarantee for outcome in outcomes for own, guarantee in outcome.reads if own not in paid}
    answered = [one.answer.guarantee for one in outcomes if one.answer is not None and not one.reads]
    answered += read.values()
    for own in [*answered, *(cost for stream in streams for cost in stream.cost)]:
        payer = paying(own, session.promises)
        sums.setdefault(payer.kind, []).append(convert(own, payer.kind))
    return tuple(
        kind.at_level(
            float_up(sum((as_decimal(one.level) for one in own), Fraction(0))),
            float_up(sum((as_decimal(one.delta) for one in own), Fraction(0))),
        )
        for kind, own in sums.items()
    )
