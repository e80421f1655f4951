"""A table's budgets in a ledger: declared once, charged before every release, read back as accounts.

Everything here is public: names, budgets, events and fingerprints. No statistic passes through.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import polars as pl

from emdp.base.checks import check_unit_interval
from emdp.base.errors import LedgerError, UsageError
from emdp.budgets.declarations import Declaration, Held, begun, check_apart, check_held, is_pinned
from emdp.budgets.reservations import held_from
from emdp.budgets.spending import COPY, field_of
from emdp.ledger import Entry, Ledger
from emdp.privacy import Account, Budget, Event, Guarantee, event_from_json
from emdp.privacy.account.restating import in_one_kind
from emdp.privacy.guarantees.conversions import paying
from emdp.privacy.guarantees.kinds import is_by_removal
from emdp.privacy.rounding import as_decimal, float_up

__all__ = ["Accounts", "Limit", "Tags", "make_budgets"]

Limit = Callable[[Sequence[Entry], Sequence[Event]], object]
"""Given a table's entries so far and the events about to be charged, raises if these must be refused."""

HISTORY = {
    "sequence": pl.Int64,
    "time": pl.String,
    "query": pl.String,
    "mechanism": pl.String,
    "alpha": pl.Float64,
    "delta": pl.Float64,
    "kind": pl.String,
    "hash": pl.String,
}
"""Columns of a history; ``alpha`` is the level of the event's own kind."""


@dataclass(frozen=True)
class Tags:
    """Labels of a charge beside its query: public words that the ledger keeps with it.

    Parameters
    ----------
    period : str or None
        Which part of the table.
    report, entry : str or None
        Which entry of which report asks.
    reserve : str or None
        Name of the set-aside budget that pays.
    """

    period: str | None = None
    report: str | None = None
    entry: str | None = None
    reserve: str | None = None


class Accounts:
    """The budgets of one table in one ledger.

    Parameters
    ----------
    ledger : Ledger
        Where charges are kept.
    name : str
        The table's name in the ledger, as SQL takes it.
    budgets : tuple of Budget
        At most one of each kind; written to the ledger by the first who comes, compared by all others.
    identity : Declaration
        What a budget belongs to besides the name: the declared rules (:mod:`emdp.budgets.declarations`).

    Raises
    ------
    LedgerError
        If the ledger holds another budget, or the same for something else.
    """

    def __init__(self, ledger: Ledger, name: str, budgets: tuple[Budget, ...], identity: Declaration) -> None:
        self.ledger = ledger
        self.name = name
        self.budgets = budgets
        self._identity = identity
        self._declaration = {"budgets": [budget.to_json() for budget in budgets], **identity.to_json()}
        self._begun: str | None = None
        self._known: dict[str, tuple[int, Account]] = {}
        self._validated: list[Mapping[str, Any]] = []
        self._declare()

    def budget_of(self, kind: type[Guarantee] | Guarantee | None) -> Budget:
        """Return the budget of a kind of guarantee, or the first one; a class may be that of several.

        Raises
        ------
        UsageError
            If there is none of that kind.
        """
        if isinstance(kind, Guarantee):
            found = [budget for budget in self.budgets if budget.guarantee.kind == kind.kind]
        elif kind is None or isinstance(kind, type):
            found = [budget for budget in self.budgets if kind is None or isinstance(budget.guarantee, kind)]
        else:
            raise UsageError(f"kind must be a class such as emdp.UserDP, not {type(kind).__name__}; pass one.")
        if not found:
            shown = kind.kind_name if isinstance(kind, Guarantee) else getattr(kind, "__name__", kind)
            raise UsageError(f"kind must be that of one of the session's budgets, not {shown}; pass one of those.")
        return found[0]

    def payer(self, event: Event) -> Budget:
        """Return the budget that pays an event, by the rule of :func:`emdp.privacy.guarantees.conversions.paying`.

        Raises
        ------
        UsageError
            If no budget can pay it.
        """
        promises = [budget.guarantee for budget in self.budgets]
        return self.budgets[promises.index(paying(event.guarantee, promises))]

    def account(self, budget: Budget, entries: Sequence[Entry] | None = None) -> Account:
        """Return a budget with what was charged to it, from the ledger or from entries just read there.

        Charges that were added up before are not added again: entries never change, which the ledger checks.
        """
        if entries is None:
            entries = self.ledger.entries(self.name)
        kind = budget.guarantee.kind_name
        last, account = self._known.get(kind, (0, Account(budget)))
        account = account.replay(
            event_from_json(field_of(entry, "event"))
            for entry in entries
            if entry.sequence > last and entry.kind == "charge" and self._payer_of(entry) == kind
        )
        if entries:
            self._known[kind] = (max(last, entries[-1].sequence), account)
        return account

    def _payer_of(self, entry: Entry) -> str:
        """Return the kind of the budget that a charge names; one that is none of the table's must not go uncounted."""
        named = field_of(entry, "budget")
        if named not in [budget.guarantee.kind_name for budget in self.budgets]:
            raise LedgerError(f"entry {entry.sequence} charges a budget that the ledger lacks; {COPY}")
        return str(named)

    def available(
        self, budget: Budget, entries: Sequence[Entry] | None = None, *, reserve: str | None = None
    ) -> Account:
        """Return a budget as somebody may draw on it: what is set aside for others counts as gone.

        Parameters
        ----------
        budget : Budget
            One of the table's.
        entries : sequence of Entry, optional
            The table's, just read.
        reserve : str, optional
            Name of the reservation that may be drawn on.
        """
        if entries is None:
            entries = self.ledger.entries(self.name)
        return self.account(budget, entries).replay(held_from(entries, budget, reserve))

    def check_affordable(self, events: Iterable[Event], *, reserve: str | None = None) -> None:
        """Check that the budgets cover some events together, without charging them.

        Raises
        ------
        BudgetExceededError
            If a budget does not.
        """
        for budget, priced, _ in self._priced(list(events)):
            self.available(budget, reserve=reserve).charge(priced)

    def charge_all(
        self,
        charges: Sequence[tuple[Event, Mapping[str, Any]]],
        tags: Tags | None = None,
        *,
        limit: Limit | None = None,
    ) -> list[Entry]:
        """Charge events that were fixed together, each to the budget that pays it, durably, before this returns.

        One entry pays for all that a budget pays. An entry is written only if every budget that is still to be
        charged covers its events at that moment; so nothing is written if one does not, unless another process
        spends between two entries, and then what is charged buys nothing.

        Parameters
        ----------
        charges : sequence of (Event, mapping)
            Events, each with its public description: the first one's is written, with the ``query`` and ``question``
            of all.
        tags : Tags, optional
            What the charges are for.
        limit : callable, optional
            What else may refuse them, inside the ledger's transaction.

        Returns
        -------
        list of Entry
            For each charge the entry that paid it.

        Raises
        ------
        BudgetExceededError
            If a budget does not cover its events.
        """
        entries: dict[int, Entry] = {}
        priced = self._priced([event for event, _ in charges])
        for place, (budget, event, members) in enumerate(priced):
            own = [charges[member][1] for member in members]
            payload = {
                **{key: value for key, value in own[0].items() if key != "question"},
                **asdict(tags or Tags()),
                "query": ";\n".join(description["query"] for description in own),
                "questions": [description["question"] for description in own if "question" in description],
                "event": event.to_json(),
                "budget": budget.guarantee.kind_name,
            }
            due = [(payer, cost) for payer, cost, _ in priced[place:]]
            admit = partial(self._admit, due=due, reserve=payload["reserve"], limit=limit)
            entry = self.ledger.append("charge", self.name, payload, admit=admit)
            entries.update(dict.fromkeys(members, entry))
        return [entries[position] for position in range(len(charges))]

    def _priced(self, events: Sequence[Event]) -> list[tuple[Budget, Event, list[int]]]:
        """Return, for each budget that pays, one event for all that it pays, and which these are."""
        members: dict[str, list[int]] = {}
        payers = [self.payer(event) for event in events]
        for position, payer in enumerate(payers):
            members.setdefault(payer.guarantee.kind_name, []).append(position)
        priced = []
        for own in members.values():
            payer, chosen = payers[own[0]], [events[position] for position in own]
            priced.append(
                (payer, chosen[0] if len(own) == 1 else _batch(in_one_kind(chosen, payer.guarantee.kind)), own)
            )
        return priced

    def begin(self, version: str, marks: Callable[[], tuple[Sequence[str], Sequence[str], Sequence[str]]]) -> None:
        """Pin the declared rules, durably, before the records are compared with them.

        Parameters
        ----------
        version : str
            The data version.
        marks : callable
            Returns the marks of the data's files that are kept, those by which they are looked for under other names
            of a table, and those by which under another period of it.

        Raises
        ------
        LedgerError
            If the table is held to other rules, or the data are those of another table.
        """
        if version == self._begun:
            return
        kept, *known = marks()

        def admit(entries: Sequence[Entry]) -> None:
            own = [entry for entry in entries if entry.table == written]
            check_held(own, self._identity, self.name)
            check_apart(entries, written, self._identity, version, *known)

        entries = self.ledger.entries(self.name)
        written = entries[0].table if entries else self.name
        payload = begun(entries, self._identity, version, kept)
        if payload is None:
            found = [entry for kind in ("validated", "redeclare") for entry in self.ledger.entries(kind=kind)]
            check_apart(found, written, self._identity, version, *known)
        else:
            self.ledger.append("validated", self.name, payload, admit=admit, whole=True)
        self._begun = version

    def is_validated(self, key: Mapping[str, Any]) -> bool:
        """Say whether the rules were found to hold for this data version before."""
        # Entries stay: what was found once needs no other look.
        if key not in self._validated:
            self._validated = [entry.payload for entry in self.ledger.entries(self.name, "validated")]
        return key in self._validated

    def remember_validated(self, key: Mapping[str, Any]) -> None:
        """Write down that the rules hold for a data version."""
        self.ledger.append("validated", self.name, dict(key))

    def history(self) -> pl.DataFrame:
        """Return the table's charges, one row an event; see ``HISTORY``."""
        rows = []
        for entry in self.ledger.entries(self.name, "charge"):
            event = event_from_json(field_of(entry, "event"))
            rows.append(
                {
                    "sequence": entry.sequence,
                    "time": entry.time,
                    "query": field_of(entry, "query"),
                    "mechanism": event.shown_name,
                    "alpha": event.guarantee.level,
                    "delta": event.guarantee.delta,
                    "kind": event.guarantee.kind_name,
                    "hash": entry.hash,
                }
            )
        return pl.DataFrame(rows, schema=HISTORY)

    def _declare(self) -> None:
        payload = self._declaration

        def admit(entries: Sequence[Entry]) -> None:
            declared, held = _declared(entries), Held.by(entries)
            if declared is None:
                return
            _check_budgets(declared, payload, self.name)
            if not held.differing(self._identity):
                raise _AlreadyDeclaredError
            if is_pinned(entries):
                check_held(entries, self._identity, self.name)

        with suppress(_AlreadyDeclaredError):
            self.ledger.append("budget", self.name, payload, admit=admit)

    def _admit(
        self,
        entries: Sequence[Entry],
        *,
        due: Sequence[tuple[Budget, Event]],
        reserve: str | None,
        limit: Limit | None,
    ) -> None:
        declared = _declared(entries)
        if declared is None:
            raise LedgerError(f"the ledger holds no budget for table {self.name!r}; open the session again.")
        # The ledger may have been exchanged since the session was opened.
        _check_budgets(declared, self._declaration, self.name)
        check_held(entries, self._identity, self.name)
        for budget, event in due:
            self.available(budget, entries, reserve=reserve).charge(event)
        if limit is not None:
            limit(entries, [event for _, event in due])


class _AlreadyDeclaredError(Exception):
    """The ledger holds the same budget already; raised inside a transaction to leave it unchanged."""


def _batch(events: Sequence[Event]) -> Event:
    """Return the event of a batch: at the sum of its deltas, where loss distributions may compose to less."""
    # Loaded where it is needed.
    from emdp.privacy import price_batch

    delta = float_up(sum((as_decimal(event.guarantee.delta) for event in events), Fraction(0)))
    return price_batch(events, delta if 0 < delta < 1 else None)


def make_budgets(budget: Guarantee | Sequence[Guarantee], gaussian_share: float) -> tuple[Budget, ...]:
    """Return the budgets that a caller declared: one guarantee, or one of each kind.

    Raises
    ------
    UsageError
        If there is none, or two of a kind.

    >>> from emdp.privacy import EmdDP, UserDP
    >>> [budget.guarantee.kind_name for budget in make_budgets([EmdDP(60.0), UserDP(1.0)], 0.0)]
    ['unbounded central EmdDP', 'central UserDP']
    """
    check_unit_interval("gaussian_share", gaussian_share, zero=True, one=True)
    listed = (budget,) if isinstance(budget, Guarantee) else tuple(budget) if isinstance(budget, Sequence) else ()
    if not listed or not all(isinstance(guarantee, Guarantee) for guarantee in listed):
        raise UsageError("budget must be a guarantee such as EmdDP(alpha=60), or a list of several kinds; pass one.")
    if len({(type(guarantee), is_by_removal(guarantee)) for guarantee in listed}) < len(listed):
        raise UsageError("budget names a kind of guarantee twice; pass one of each kind at most.")
    if gaussian_share > 0 and all(guarantee.delta == 0 for guarantee in listed):
        raise UsageError("gaussian_share needs a budget with a delta, since Gaussian noise does; declare one.")
    return tuple(Budget(guarantee, gaussian_share if guarantee.delta > 0 else 0.0) for guarantee in listed)


def _declared(entries: Sequence[Entry]) -> Mapping[str, Any] | None:
    declared = [entry.payload for entry in entries if entry.kind == "budget"]
    return declared[-1] if declared else None


def _check_budgets(declared: Mapping[str, Any], wanted: Mapping[str, Any], name: str) -> None:
    if declared.get("budgets") != wanted["budgets"]:
        shown = " and ".join(str(Budget.from_json(budget).guarantee) for budget in declared.get("budgets", []))
        raise LedgerError(
            f"the ledger holds another budget for table {name!r}, {shown}; pass the same, with the same "
            "gaussian_share, or another ledger."
        )
