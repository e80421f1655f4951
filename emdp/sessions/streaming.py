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

from emdp.answers import Receipt, StreamAnswer
from emdp.base.classes import dataclass
from emdp.base.errors import EmdpError, LedgerError, UsageError, raise_alone
from emdp.budgets.accounts import Accounts, Tags
from emdp.budgets.streams import MovedError, OpenStream, StreamPart, append_row, charge_stream, find_stream
from emdp.estimators.streams import StreamPlan, check_shows, plan_stream
from emdp.ledger import Entry
from emdp.ledger.base import SecretState
from emdp.ledger.opening import secret_state
from emdp.ledger.state import Draft, draft_digest
from emdp.noise import rng
from emdp.privacy import EmdDP
from emdp.questions.names import Names
from emdp.sessions.diary import cap_in_words, capped
from emdp.sessions.planning import Planned
from emdp.sessions.records import TableRecords
from emdp.sessions.releasing import Releasing
from emdp.tables import Table

__all__ = ["StreamRequest", "streamed"]

SALT_BYTES = 32
"""Length of a draft's salt."""

MOST_TRIES = 100
"""Times that a row is begun again because another process wrote one."""


@dataclass(frozen=True)
class StreamRequest:
    """A request for a stream, checked and priced.

    Parameters
    ----------
    planned : Planned
        The question of one period.
    plan : StreamPlan
        Its stream.
    periods : tuple of str
        Names in order.
    show : tuple of str
        Figures that are wanted.
    name : str
        Tells streams of the same question apart.
    period : str
        The period whose data the session reads.
    active : int or None
        Most periods in which one user counts.
    """

    planned: Planned
    plan: StreamPlan
    periods: tuple[str, ...]
    show: tuple[str, ...]
    name: str
    period: str
    active: int | None = None

    @classmethod
    def of(
        cls,
        planned: Planned,
        *,
        periods: tuple[str, ...],
        unit: Any,
        plan: Any,
        show: Sequence[str],
        name: str,
        period: str | None,
        names: Names,
        active: int | None = None,
    ) -> "StreamRequest":
        """Check and price a request."""
        if period not in periods:
            raise UsageError(
                f"period of the session must be one of the stream's {len(periods)} periods, got {period!r}; open the "
                "session with period=, and name it among periods."
            )
        if not isinstance(name, str) or not name.isprintable():
            raise UsageError(f"name must be words in one line, got {name!r}; leave it out, or pass some.")
        priced = plan_stream(
            planned.plan, len(periods), unit=unit, figures=plan, active=active, space=names.space, users=names.users
        )
        return cls(planned, priced, periods, check_shows(show), name, period, active)

    def key(self, table: Table, rules: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a stream in the ledger is known by."""
        terms = self.plan.terms()
        kept = ["figures", "unit", "sensitivity", "dimension", "alpha", "delta", "kind", "scales"]
        kept += [] if self.active is None else ["active", "reach"]
        return {
            "name": self.name,
            "query": " ".join(self.planned.text.split()),
            "table": table.name,
            "users": table.users.count,
            "space": rules["space"],
            **{key: terms[key] for key in kept},
        }


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
            if found is not None and len(found.periods) >= len(self.request.periods):
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
        released = found.released
        return StreamAnswer(
            query=self.request.planned.text,
            guarantee=plan.guarantee,
            periods=found.periods,
            released=tuple(found.periods[place - 1] for place in sorted(released)),
            show=self.request.show,
            facts=_facts(self.request, plan, found),
            make=partial(_figures, plan, released, found.periods),
            receipt=Receipt(self.accounts.ledger.path, found.entry.sequence, found.entry.hash),
            is_new=is_new,
            is_private=not self.accounts.ledger.is_test,
        )

    def _charge(self, found: OpenStream | None, release: Releasing) -> None:
        request = self.request
        if found is None:
            plan, before, new = request.plan, None, request.periods
            said = {"key": dict(self.key), "terms": plan.terms(), "periods": list(new)}
        else:
            before = request.plan.as_opened(found.terms, len(found.periods))
            plan = request.plan.as_opened(found.terms, len(request.periods))
            new = request.periods[len(found.periods) :]
            said = {"prolongs": found.entry.hash, "periods": list(new)}
        parts = []
        if isinstance(request.plan.plan.guarantee, EmdDP):
            # Old periods reach into the rows to come: they pay the difference, the new ones what a period costs.
            parts = [StreamPart(new, plan.event("period"))]
            if before is not None and found is not None and plan.mechanism.mu("period") > before.mechanism.mu("period"):
                parts.append(StreamPart(found.periods, plan.event("period", before)))
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

        charge_stream(
            self.accounts,
            plan.event("user", before),
            parts,
            payload,
            self.tags,
            unchanged=unchanged,
            history=plan.event("history") if parts and before is None else None,
        )

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
    request : StreamRequest
        What is wanted.
    table : Table
        The period's data.
    tags : Tags
        What the charge is for.
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
    if accounts.period is None:
        raise UsageError(
            "a stream says what it promises of one period, and under another table's budget (shares) periods may "
            "overlap; open it on the table whose budget it is."
        )
    # Its promise for one period needs that no data are read as two, whatever the budgets are.
    accounts.keep_periods_apart()
    own = _Streaming(request, accounts, table, tags, request.key(table, rules))
    found = own.find()
    if found is None or len(found.periods) < len(request.periods) or own._place(found) not in found.released:
        # Before anything is charged.
        secret_state(accounts.ledger).check()
        with releasing([request.planned]) as release:
            own.row(release)
        return own.answer(is_new=True)
    return own.answer(is_new=False)


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


def _facts(request: StreamRequest, plan: StreamPlan, found: OpenStream) -> tuple[str, ...]:
    own = plan.mechanism
    several = []
    differing = {"period": "one period", "user": "any period", "history": f"a part of {own.periods} periods"}[own.unit]
    if own.active is not None:
        differing = f"any period, of which at most {own.active} count"
    if own.unit == "period":
        # Streams of totals shift later rows, too: mu of k periods is k times that of one.
        for count in (2, 7):
            if count <= len(found.periods):
                factor = count if own.strategy.has_totals else count**0.5
                several.append(f"{own.level_of(own.mu('period') * factor):.4g} in {count}")
    reach = f"; level {' and '.join(several)} periods, at the same delta" if several else ""
    skipped = [found.periods[place - 1] for place in range(1, found.last) if place not in found.released]
    return (
        f"query        {' '.join(request.planned.text.split())}",
        f"guarantee    {plan.guarantee}",
        f"unit         histories of a user that differ in {differing}{reach}",
        f"stream       {len(found.rows)} of {len(found.periods)} periods, for {plan.figures}; one charge for all",
        "theorem      Gaussian noise on rows of a lower triangular strategy, of which the noise of each is drawn once",
        f"sensitivity  {own.sensitivity:.6g} of a period's statistic; mu = {own.mu(own.unit):.6g} of all rows",
        f"noise        sigma {own.sigma:.6g} on each row, on a grid of {own.grid:.3g}",
        *([] if own.active is None else [f"active       {cap_in_words(own.active)}"]),
        *([f"skipped      {', '.join(skipped)}: without a row, counted as nothing"] if skipped else []),
        f"caveat       rounding and floating-point sums add {float(own.slack_epsilon(own.unit)):.2g} to epsilon",
        *(
            ["caveat       a change that goes on in every period is not hidden by totals, which add it up"]
            if own.strategy.has_totals
            else []
        ),
    )
