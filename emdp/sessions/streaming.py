"""Streams of a session: opened by one charge, then a row a period, each drawn once.

**Order of a row.** The period's statistic is computed without the ledger's lock. A draft of it is on the disk (in the
ledger's state, :mod:`emdp.ledger.state`) before the row that names it is written. The row is drawn from the
statistics that earlier rows name, and written only if the stream still has exactly those rows; otherwise what was
drawn is thrown away unseen, and it begins again. Readers see rows of the ledger alone. So a process that is killed
before the commit leaves a draft that nothing names, and one that is killed after it a row that is shown from then on:
no row is drawn anew after anybody may have seen it, and no source is read again for a period that has one.

**A cap on active periods** (:mod:`emdp.sessions.diary`) makes the statistic depend on who was counted in earlier rows:
it is computed anew where another process has written one since.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import polars as pl

from emdp.answers import Receipt, StreamAnswer, StreamPreview
from emdp.base.classes import dataclass
from emdp.base.errors import BudgetExceededError, EmdpError, LedgerError, UsageError, raise_alone
from emdp.budgets.accounts import Accounts, Tags
from emdp.budgets.streams import (
    MovedError,
    OpenStream,
    StreamBill,
    append_row,
    charge_stream,
    costs_of_stream,
    find_stream,
)
from emdp.estimators.streams import StreamPlan
from emdp.ledger import Entry
from emdp.ledger.base import SecretState
from emdp.ledger.opening import secret_state
from emdp.ledger.state import Draft, draft_digest
from emdp.noise import rng
from emdp.sessions.diary import capped
from emdp.sessions.planning import Planned
from emdp.sessions.presentation import notes_of, notes_of_table
from emdp.sessions.records import TableRecords
from emdp.sessions.releasing import Releasing
from emdp.sessions.stream_requests import StreamRequest, stream_facts
from emdp.tables import Table

__all__ = ["previewed_stream", "streamed"]

SALT_BYTES = 32
"""Length of a draft's salt."""

MOST_TRIES = 100
"""Times that a row is begun again because another process wrote one."""


@dataclass(frozen=True)
class _Streaming:
    """A request beside the table and its budgets."""

    request: StreamRequest
    accounts: Accounts
    table: Table
    tags: Tags
    key: Mapping[str, Any]

    def find(self, entries: Sequence[Entry] | None = None) -> OpenStream | None:
        """Return the stream as the ledger has it now."""
        if entries is None:
            entries = self.accounts.ledger.entries(self.accounts.name)
        return find_stream(entries, self.key, self.request.periods)

    def paid(self, release: Releasing) -> OpenStream:
        """Return the stream, opened or prolonged by a charge if it has to be."""
        while True:
            found = self.find()
            if found is not None and self.request.is_paid(found):
                return found
            try:
                self._charge(found, release)
            except MovedError:
                # Another process has opened or prolonged it meanwhile.
                continue

    def row(self, release: Releasing) -> None:
        """Draw the row of the session's period, unless there is one."""
        found = self.paid(release)
        place = self._place(found)
        if place in found.released:
            return
        self._check_order(found, place)
        plan = self.request.plan.as_opened(found.terms, len(found.periods))
        state = secret_state(self.accounts.ledger)
        drafted: _Drafted | None = None
        for _ in range(MOST_TRIES):
            found = self.paid(release)
            if place in found.released:
                return
            self._check_order(found, place)
            past = self._past(state, found)
            if drafted is None or not drafted.is_made_after(found, self.request.active):
                drafted = self._drafted(plan, found, past, release)
                state.keep(drafted.digest, drafted.salt, drafted.draft.numbers, drafted.draft.counted)
            numbers = drafted.draft.numbers
            nothing = (0,) * len(numbers)
            own = [past[earlier].numbers if earlier in past else nothing for earlier in range(1, place)]
            payload = {
                "place": place, "period": self.request.period, "values": plan.drawn([*own, numbers]),
                "digest": drafted.digest, "data_version": release.version,
            }  # fmt: skip
            try:
                append_row(self.accounts, found, payload)
            except MovedError:
                continue
            return
        raise LedgerError("other processes write rows of the stream without end; ask again when they have done so.")

    def answer(self, *, is_new: bool) -> StreamAnswer:
        """Return the figures of what the ledger has."""
        found = self.find()
        if found is None:
            raise LedgerError("the ledger has lost a stream that it just had; put back the last good copy.")
        plan = self.request.plan.as_opened(found.terms, len(found.periods))
        released, accounts = found.released, self.accounts
        costs = costs_of_stream(accounts.ledger.entries(accounts.name), found, accounts.budgets)
        return StreamAnswer(
            query=self.request.planned.text,
            guarantee=plan.guarantee,
            periods=found.periods,
            released=tuple(found.periods[place - 1] for place in sorted(released)),
            show=self.request.show,
            facts=stream_facts(self.request, plan, found),
            notes=notes_of(self.request.planned, self.table),
            of_table=notes_of_table(self.table, self.request.planned.plan),
            make=partial(_figures, plan, released, found.periods),
            receipt=Receipt(self.accounts.ledger.path, found.entry.sequence, found.entry.hash),
            is_new=is_new,
            is_private=not self.accounts.ledger.is_test,
            costs={
                sequence: tuple((str(budget.guarantee), charged, times) for budget, charged, times in own)
                for sequence, own in costs.items()
            },
        )

    def _charge(self, found: OpenStream | None, release: Releasing) -> None:
        request = self.request
        said: dict[str, Any]
        if found is None:
            said = {"key": dict(self.key), "terms": request.plan.terms(), "periods": list(request.periods)}
        else:
            said = {"prolongs": found.entry.hash, "periods": list(request.periods[len(found.periods) :])}
        payload: dict[str, Any] = {
            "query": request.planned.text,
            "data_version": release.version,
            "users": self.table.users.count,
            "questions": [],
            "stream": said,
        }

        def unchanged(entries: Sequence[Entry]) -> None:
            known = self.find(entries)
            if (None if known is None else (known.entry.hash, known.periods)) != (
                None if found is None else (found.entry.hash, found.periods)
            ):
                raise MovedError

        charge_stream(self.accounts, request.due(found), payload, self.tags, unchanged=unchanged)

    def _past(self, state: SecretState, found: OpenStream) -> dict[int, Draft]:
        """Return what rows so far were made of, by their places."""
        named = {row.payload["place"]: row.payload["digest"] for row in found.rows}
        return {place: state.find(digest, found.entry.hash, place) for place, digest in named.items()}

    def _drafted(
        self, plan: StreamPlan, found: OpenStream, past: Mapping[int, Draft], release: Releasing
    ) -> "_Drafted":
        """Return a new draft of the session's period, which nothing names yet."""
        draft = self._computed(plan, release.records, [own.counted or () for own in past.values()])
        release.check_unchanged()
        salt = rng.random_bytes(SALT_BYTES)
        digest = draft_digest(salt, found.entry.hash, self._place(found), draft.numbers, draft.counted)
        return _Drafted(draft, salt, digest, tuple(row.hash for row in found.rows))

    def _computed(self, plan: StreamPlan, records: TableRecords, diaries: Sequence[Sequence[str]]) -> Draft:
        """Return the exact statistic of the period, in grid steps, and who counts in it where a cap asks for it."""
        try:
            counted = None
            if self.request.active is not None:
                table, counted = capped(self.table, self.request.active, diaries)
                # What a scan of all users made before the charge is of no use.
                records = TableRecords(table)
            (statistic,) = plan.plan.statistic(records, keep_exact=False)
            return Draft(plan.rounded(statistic.open(), records), counted)
        except EmdpError as error:
            # Frames below this one hold private numbers.
            raise_alone(error.with_traceback(None))

    def _place(self, found: OpenStream) -> int:
        return found.periods.index(self.request.period) + 1

    def _check_order(self, found: OpenStream, place: int) -> None:
        if place < found.last:
            raise UsageError(
                f"period {self.request.period} comes before {found.periods[found.last - 1]}, which has its row; it "
                "counts as skipped, so that records which came late belong to a later period or to none."
            )


@dataclass(frozen=True)
class _Drafted:
    """A draft with what the row that names it is made after."""

    draft: Draft
    salt: bytes
    digest: str
    rows: tuple[str, ...]

    def is_made_after(self, found: OpenStream, active: int | None) -> bool:
        """Say whether the draft is good for a row after those that a stream has."""
        return active is None or self.rows == tuple(row.hash for row in found.rows)


def streamed(
    request: StreamRequest,
    accounts: Accounts,
    table: Table,
    tags: Tags,
    rules: Mapping[str, Any],
    releasing: Callable[[Sequence[Planned]], AbstractContextManager[Releasing]],
) -> StreamAnswer:
    """Return the figures of a stream, with a row for the session's period: paid, computed and drawn if there is none.

    Parameters
    ----------
    rules : mapping
        Digests of what the owner declared.
    releasing : callable
        Holds the table open, and validates its rules.

    Raises
    ------
    BudgetExceededError
        If the budgets do not cover the stream; nothing is charged or read then.
    UsageError
        If a later period has its row already.
    LedgerError
        If the stream's state is lost, or may be read by others.
    """
    _check_own_budget(accounts)
    # Its promise for one period needs that no data are read as two, whatever the budgets are.
    accounts.keep_periods_apart()
    own = _Streaming(request, accounts, table, tags, request.key(table, rules))
    found = own.find()
    if found is None or not request.is_paid(found) or own._place(found) not in found.released:
        # Before anything is charged.
        secret_state(accounts.ledger).check()
        with releasing([request.planned]) as release:
            own.row(release)
        return own.answer(is_new=True)
    return own.answer(is_new=False)


def previewed_stream(
    request: StreamRequest, accounts: Accounts, table: Table, tags: Tags, rules: Mapping[str, Any]
) -> StreamPreview:
    """Return what :func:`streamed` would charge, and how far off its figures would be; reads no record."""
    _check_own_budget(accounts)
    entries = accounts.ledger.entries(accounts.name)
    found = find_stream(entries, request.key(table, rules), request.periods)
    plan = request.as_paid(found)
    is_paid = found is not None and request.is_paid(found)
    bill = None if is_paid else StreamBill.of(accounts, request.due(found))
    return StreamPreview(
        query=request.planned.text,
        guarantee=plan.guarantee,
        periods=found.periods if found is not None and is_paid else request.periods,
        released=() if found is None else tuple(found.periods[place - 1] for place in sorted(found.released)),
        costs=() if bill is None else tuple((str(own.guarantee), what, times) for own, what, times in bill.charged()),
        refusal="" if bill is None else _refusal(bill, entries, tags.reserve),
        frame=plan.expected(request.show),
        facts=stream_facts(request, plan, found),
        notes=(*dict.fromkeys(one.note for one in plan.plan.columns if one.note), *notes_of(request.planned, table)),
        of_table=notes_of_table(table, request.planned.plan),
    )


def _refusal(bill: StreamBill, entries: Sequence[Entry], reserve: str | None) -> str:
    """Return why budgets do not cover a bill; nothing where they do."""
    try:
        bill.check(entries, reserve)
    except BudgetExceededError as error:
        return str(error)
    return ""


def _check_own_budget(accounts: Accounts) -> None:
    if accounts.period is None:
        raise UsageError(
            "a stream says what it promises of one period, and under another table's budget (shares) periods may "
            "overlap; open it on the table whose budget it is."
        )


def _figures(
    plan: StreamPlan,
    released: Mapping[int, Sequence[Sequence[int]]],
    periods: Sequence[str],
    shows: Sequence[str],
    level: float,
    together: bool,
) -> pl.DataFrame:
    """Return the figures of every period that has a row, each from the rows up to it."""
    frames = []
    for place in sorted(released):
        until = {earlier: rows for earlier, rows in released.items() if earlier <= place}
        for show in shows:
            frame = plan.frame(until, show, level, together=together)
            keys = {"period": periods[place - 1], "figure": show}
            frames.append(frame.select(*(pl.lit(value).alias(name) for name, value in keys.items()), pl.all()))
    return pl.concat(frames)
