"""Streams in a ledger: what was opened, prolonged and released, and the one charge that pays for all of it.

A stream is opened by a charge, before anything is read: its terms and the names of its periods, in their order. It is
paid in every unit that the table's budgets have (:mod:`emdp.mechanisms.streams.strategy`). Its terms never change; a
later charge may add periods, which pays the difference of ``mu^2``: in a budget per period the old periods pay theirs
and the new ones are charged whole. A row is an entry of its own, public and kept for ever, with the integers that were
drawn once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Self

from emdp.base.classes import dataclass
from emdp.base.errors import LedgerError, UsageError
from emdp.budgets.accounts import Accounts, Limit, Tags
from emdp.budgets.spending import COPY, charges_of, check_periods, counts_in, field_of
from emdp.ledger import Entry
from emdp.privacy import Budget, Event, Guarantee
from emdp.privacy.guarantees.kinds import is_by_source, is_per_history

__all__ = [
    "MovedError",
    "OpenStream",
    "StreamBill",
    "StreamDue",
    "StreamPart",
    "append_row",
    "charge_stream",
    "costs_of_stream",
    "find_stream",
]


class MovedError(Exception):
    """The stream has other rows, or is open, by now: raised inside a transaction, so that nothing is written."""


@dataclass(frozen=True)
class StreamPart:
    """What some periods are charged in a budget per period.

    Parameters
    ----------
    event : Event
        What one of them is charged.
    """

    periods: tuple[str, ...]
    event: Event


@dataclass(frozen=True)
class StreamDue:
    """What a stream, or its prolonging, costs, whichever budgets there are.

    Parameters
    ----------
    event : Event
        What all of it costs a user.
    history : Event, optional
        What all its periods cost a history of them; None where it prolongs one, which no budget per history pays for.
    """

    event: Event
    parts: tuple[StreamPart, ...] = ()
    history: Event | None = None


@dataclass(frozen=True)
class OpenStream:
    """A stream as a ledger has it.

    Parameters
    ----------
    entry : Entry
        The charge that opened it; its hash is the stream's name in rows.
    key, terms : mapping
        What it is of, and how its rows are made.
    periods : tuple of str
        Periods that are paid, in order.
    rows : tuple of Entry
        Rows so far, in order.
    """

    entry: Entry
    key: Mapping[str, Any]
    terms: Mapping[str, Any]
    periods: tuple[str, ...]
    rows: tuple[Entry, ...]

    @property
    def released(self) -> dict[int, list[list[int]]]:
        """Released integers by period, counted from 1."""
        return {place_of(row): field_of(row, "values") for row in self.rows}

    @property
    def last(self) -> int:
        """The last period that has a row; 0 where none has."""
        return place_of(self.rows[-1]) if self.rows else 0


def place_of(row: Entry) -> int:
    """Return the period of a row, counted from 1."""
    place = field_of(row, "place")
    if type(place) is not int or place < 1:
        raise LedgerError(f"entry {row.sequence} is a row of no period; {COPY}")
    return place


def find_stream(entries: Sequence[Entry], key: Mapping[str, Any], periods: Sequence[str]) -> OpenStream | None:
    """Return the stream of a table that is of the same, if it has these periods, or fewer that it may be prolonged by.

    Parameters
    ----------
    entries : sequence of Entry
        Those of the table, in order.
    key : mapping
        What the stream is of.
    periods : sequence of str
        Wanted names, in order.
    """
    wanted = list(periods)
    for opening in reversed(entries):
        said = opening.payload.get("stream") if opening.kind == "charge" else None
        if not isinstance(said, dict) or said.get("key") != key or "prolongs" in said:
            continue
        paid = list(said["periods"])
        for entry in entries:
            more = entry.payload.get("stream") if entry.kind == "charge" else None
            if isinstance(more, dict) and more.get("prolongs") == opening.hash:
                paid += more["periods"]
        if paid[: len(wanted)] == wanted or wanted[: len(paid)] == paid:
            rows = [one for one in entries if one.kind == "row" and one.payload.get("stream") == opening.hash]
            return OpenStream(opening, key, said["terms"], tuple(paid), tuple(rows))
    return None


@dataclass(frozen=True)
class StreamBill:
    """What a stream, or its prolonging, is charged in every unit that a table's budgets have.

    Parameters
    ----------
    event : Event
        What that is charged: all of the stream, or what a budget of a period or history pays.
    counting : tuple of Budget
        Budgets per period or history that count it, the payer among them if it is one.
    parts, whole : tuple of StreamPart
        What its periods are charged in budgets per period, and in those per history.
    """

    accounts: Accounts
    payer: Budget
    event: Event
    counting: tuple[Budget, ...]
    parts: tuple[StreamPart, ...]
    whole: tuple[StreamPart, ...]

    @classmethod
    def of(cls, accounts: Accounts, due: "StreamDue") -> Self:
        """Return the bill of what is due."""
        event, parts, history = due.event, due.parts, due.history
        payer = accounts.payer(event)
        if is_by_source(payer.guarantee) and not parts:
            raise UsageError(
                "the table has a budget per period alone, which pays for no stream at user level; ask with alpha."
            )
        counting = tuple(own for own in accounts.budgets if counts_in(own, payer))
        if history is None and parts and any(is_per_history(own.guarantee) for own in counting):
            raise UsageError(
                "periods are more than the stream was opened for, and a budget per history pays for no further ones; "
                "open another stream (name=...) with all its periods."
            )
        if is_by_source(payer.guarantee):
            # A budget of a period pays what a period costs.
            event = history if history is not None and is_per_history(payer.guarantee) else parts[0].event
        whole = (StreamPart(parts[0].periods, history),) if parts and history is not None else ()
        return cls(accounts, payer, event, counting, parts, whole)

    def check(self, entries: Sequence[Entry], reserve: str | None) -> None:
        """Raise ``BudgetExceededError`` unless the budgets cover it, given a table's entries."""
        if not is_by_source(self.payer.guarantee):
            self.accounts.available(self.payer, entries, reserve=reserve).charge(self.event)
        for own in self.counting:
            sources = self.accounts.sources(own, entries)
            for part in self._of(own):
                check_periods(sources, [part.event], part.periods)

    def charged(self) -> tuple[tuple[Budget, Guarantee, int], ...]:
        """Return each budget that it counts in, with what that is charged, in so many periods each; 0: once."""
        found = [] if is_by_source(self.payer.guarantee) else [(self.payer, self.event.guarantee, 0)]
        for own in self.counting:
            times = (0 if is_per_history(own.guarantee) else len(part.periods) for part in self._of(own))
            found += [(own, part.event.guarantee, count) for part, count in zip(self._of(own), times, strict=True)]
        return tuple(found)

    def written(self) -> dict[str, Any]:
        """Return the charge as the ledger keeps it."""
        listed, of_history = (
            [{"periods": list(part.periods), "event": part.event.to_json()} for part in own]
            for own in (self.parts, self.whole)
        )
        return {
            "period": None,
            "event": self.event.to_json(),
            "budget": self.payer.guarantee.kind_name,
            **({"per_period": listed} if self.counting else {}),
            **({"history": of_history} if any(is_per_history(own.guarantee) for own in self.counting) else {}),
        }

    def _of(self, own: Budget) -> tuple[StreamPart, ...]:
        return self.whole if is_per_history(own.guarantee) else self.parts


def charge_stream(
    accounts: Accounts,
    due: StreamDue,
    payload: Mapping[str, Any],
    tags: Tags,
    *,
    unchanged: Callable[[Sequence[Entry]], None],
    limit: Limit | None = None,
) -> Entry:
    """Charge a stream, or its prolonging, in every unit that the budgets have, durably, before this returns.

    Parameters
    ----------
    payload : mapping
        Public description, with ``stream``.
    unchanged : callable
        Given the table's entries, inside the ledger's transaction and before a budget is asked, raises ``MovedError``
        if the stream is no longer what the charge was made for.
    limit : callable, optional
        What else may refuse it, inside the ledger's transaction.

    Raises
    ------
    BudgetExceededError
        If a budget does not cover it.
    UsageError
        If no budget pays for it.
    """
    bill = StreamBill.of(accounts, due)

    def covered(entries: Sequence[Entry]) -> None:
        unchanged(entries)
        bill.check(entries, tags.reserve)

    def admit(entries: Sequence[Entry]) -> None:
        accounts.admit(entries, events=[bill.event], covered=covered, limit=limit)

    return accounts.ledger.append("charge", accounts.name, {**payload, **asdict(tags), **bill.written()}, admit=admit)


def costs_of_stream(
    entries: Sequence[Entry], found: OpenStream, budgets: Sequence[Budget]
) -> dict[int, tuple[tuple[Budget, Guarantee, int], ...]]:
    """Return what each charge of a stream, by its entry, cost every budget that it counts in, as the bill said."""
    costs = {}
    for entry in entries:
        said = entry.payload.get("stream") if entry.kind == "charge" else None
        if entry.hash == found.entry.hash or (isinstance(said, dict) and said.get("prolongs") == found.entry.hash):
            costs[entry.sequence] = tuple(
                (
                    own.budget,
                    own.event.guarantee,
                    0 if own.periods is None or is_per_history(own.budget.guarantee) else len(own.periods),
                )
                for own in charges_of([entry], budgets)
            )
    return costs


def append_row(accounts: Accounts, known: OpenStream, payload: Mapping[str, Any]) -> Entry:
    """Write a row, durably, if the stream still has the rows that it was made from.

    Raises
    ------
    MovedError
        If it has others by now; nothing is written then.
    """

    def admit(entries: Sequence[Entry]) -> None:
        rows = [one.hash for one in entries if one.kind == "row" and one.payload.get("stream") == known.entry.hash]
        if rows != [row.hash for row in known.rows]:
            raise MovedError

    return accounts.ledger.append("row", accounts.name, {"stream": known.entry.hash, **payload}, admit=admit)
