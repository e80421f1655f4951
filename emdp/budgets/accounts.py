"""A table's budgets in a ledger: declared once, charged before every release, read back as accounts.

Everything here is public: names, budgets, events and fingerprints. No statistic passes through.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from emdp.base.classes import dataclass
from emdp.base.errors import LedgerError, UsageError
from emdp.budgets.declarations import Declaration, Held, check_apart, check_held, is_pinned
from emdp.budgets.parts import begun_part, check_parts
from emdp.budgets.promises import batch_of, check_budgets, declared_in
from emdp.budgets.reservations import begun_account, begun_sources, held_from
from emdp.budgets.spending import (
    COPY,
    account_of,
    charges_of,
    check_periods,
    counts_in,
    event_of,
    payer_of,
    sources_of,
)
from emdp.ledger import Entry, Ledger
from emdp.ledger.entries import end_of, later, of_kinds, of_table
from emdp.privacy import Account, Budget, Event, Guarantee
from emdp.privacy.account.restating import in_one_kind
from emdp.privacy.guarantees.conversions import paying
from emdp.privacy.guarantees.kinds import is_by_source

if TYPE_CHECKING:
    from emdp.budgets.lists import PeriodList
    from emdp.privacy.account.periods import Sources

__all__ = ["Accounts", "Limit", "Tags"]

Marks = tuple[Sequence[str], Sequence[str], Sequence[str]]
Limit = Callable[[Sequence[Entry], Sequence[Event]], object]
"""Given a table's entries so far and the events about to be charged, raises if these must be refused."""


@dataclass(frozen=True)
class Tags:
    """Labels of a charge beside its query: public words that the ledger keeps with it."""

    period: str | None = None
    report: str | None = None
    entry: str | None = None
    reserve: str | None = None  # Name of the set-aside budget that pays


class Accounts:
    """The budgets of one table in one ledger.

    Parameters
    ----------
    name : str
        The table's name in the ledger, as SQL takes it.
    budgets : tuple of Budget
        At most one of each kind; written to the ledger by the first who comes, compared by all others.
    identity : Declaration
        What a budget belongs to besides the name: the declared rules (:mod:`emdp.budgets.declarations`).
    period : str, optional
        The period that is read: a budget per period counts its charges for this one; without it for every period.
    users : PeriodList, optional
        The period's own list of users, where a catalog has one for each.

    Raises
    ------
    LedgerError
        If the ledger holds another budget, or the same for something else.
    """

    def __init__(
        self,
        ledger: Ledger,
        name: str,
        budgets: tuple[Budget, ...],
        identity: Declaration,
        *,
        period: str | None = None,
        users: "PeriodList | None" = None,
    ) -> None:
        self.ledger = ledger
        self.users = users
        self.period = period
        self.name = name
        self.budgets = budgets
        self._identity = identity
        self._declaration = {"budgets": [budget.to_json() for budget in budgets], **identity.to_json()}
        self._begun: str | None = None
        self._is_apart = False
        self._known: dict[str, tuple[int, Account]] = {}
        self._sources: dict[str, tuple[int, Sources | None]] = {}
        self._validated: list[Mapping[str, Any]] = []
        self._is_fresh = False
        self._found: Mapping[str, Any] | None = None
        self._declare()

    def budget_of(self, kind: type[Guarantee] | Guarantee | None) -> Budget:
        """Return the budget of a kind of guarantee, or the first one; a class may be that of several."""
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
        """Return the budget that pays an event, by the rule of :func:`emdp.privacy.guarantees.conversions.paying`."""
        promises = [budget.guarantee for budget in self.budgets]
        return self.budgets[promises.index(paying(event.guarantee, promises))]

    def account(self, budget: Budget, entries: Sequence[Entry] | None = None) -> Account:
        """Return a budget with what was charged to it (one per period: for the period that is read), in entries read.

        Charges that were added up before are not added again: entries never change, which the ledger checks.
        """
        if entries is None:
            entries = self._entries()
        if is_by_source(budget.guarantee):
            return self.sources(budget, entries).account(self.period)
        if self.users is not None:
            return self.users.account(budget, entries)
        if self._identity.period is not None:
            return account_of(budget, charges_of(entries))
        kind = budget.guarantee.kind_name
        last, account = self._known.get(kind) or begun_account(entries, budget)
        charges = later(entries, last, "charge")
        try:
            account = account.replay(event_of(entry) for entry in charges if self._payer_of(entry) == kind)
        except LedgerError:
            # All together may be more than the budget where periods had lists of users before.
            return account_of(budget, charges_of(entries))
        self._known[kind] = (max(last, end_of(entries)), account)
        return account

    def sources(self, budget: Budget, entries: Sequence[Entry]) -> "Sources":
        """Return a budget per period, or history, with what was charged to it for every period, in entries read."""
        kind = budget.guarantee.kind_name
        last, begun = self._sources.get(kind) or begun_sources(entries, budget)
        found = sources_of(budget, charges_of(later(entries, last, "charge"), self.budgets), begun)
        self._sources[kind] = (max(last, end_of(entries)), found)
        return found

    def _entries(self) -> Sequence[Entry]:
        """Return the table's entries as they are now, the lists of the periods that they name looked at."""
        entries = self.ledger.view(self.name)
        if self.users is not None:
            self.users.look(entries)
        return entries

    def _payer_of(self, entry: Entry) -> str:
        """Return the kind of the budget that a charge names; one that is none of the table's must not go uncounted."""
        named = payer_of(entry)
        if named not in [budget.guarantee.kind_name for budget in self.budgets]:
            raise LedgerError(f"entry {entry.sequence} charges a budget that the ledger lacks; {COPY}")
        return str(named)

    def available(
        self, budget: Budget, entries: Sequence[Entry] | None = None, *, reserve: str | None = None
    ) -> Account:
        """Return a budget as somebody may draw on it: what is set aside for others counts as gone.

        Parameters
        ----------
        reserve : str, optional
            Name of the reservation that may be drawn on.
        """
        if entries is None:
            entries = self._entries()
        account, held = self.account(budget, entries), held_from(entries, budget, reserve)
        if self._identity.period is None:
            return account.replay(held)
        # Loaded where it is needed.
        from emdp.privacy.account.lists import with_held

        return with_held(account, held)

    def check_affordable(self, events: Iterable[Event], *, reserve: str | None = None) -> None:
        """Check that the budgets cover some events together, without charging them."""
        due = [(budget, priced) for budget, priced, _ in self._priced(list(events))]
        self._check_covered(self._entries(), due, reserve)

    def affordable(self, event: Event) -> int:
        """Return how many more such releases the budgets cover that pay and count one."""
        payer = self.payer(event)
        entries = self._entries()
        counting = [own for own in self.budgets if own == payer or counts_in(own, payer)]
        return min(self.available(own, entries).affordable(event) for own in counting)

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
        limit : callable, optional
            What else may refuse them, inside the ledger's transaction.

        Returns
        -------
        list of Entry
            For each charge the entry that paid it.
        """
        entries: dict[int, Entry] = {}
        priced = self._priced([event for event, _ in charges])
        if self.users is not None:
            self._entries()
        if self.ledger.is_due():
            # Loaded where it is needed.
            from emdp.budgets.totals import state_totals

            state_totals(self.ledger, self.name)
        for place, (budget, event, members) in enumerate(priced):
            own = [charges[member][1] for member in members]
            payload = {
                **{key: value for key, value in own[0].items() if key != "question"},
                **asdict(tags or Tags()),
                "query": ";\n".join(description["query"] for description in own),
                "questions": [description["question"] for description in own if "question" in description],
                "event": event.to_json(),
                "budget": budget.guarantee.kind_name,
                **self._in_periods(budget),
                **({} if self.users is None else self.users.said()),
            }
            due = [(payer, cost) for payer, cost, _ in priced[place:]]
            covered = partial(self._check_covered, due=due, reserve=payload["reserve"])
            admit = partial(self.admit, events=[cost for _, cost in due], covered=covered, limit=limit)
            found = [] if self._found is None else [dict(self._found)]
            ahead = [("validated", own) for own in found]
            entry = self.ledger.append("charge", self.name, payload, admit=admit, ahead=ahead)
            self._validated, self._found = [*self._validated, *found], None
            entries.update(dict.fromkeys(members, entry))
        return [entries[position] for position in range(len(charges))]

    def _in_periods(self, payer: Budget) -> dict[str, Any]:
        """Return what a charge says of budgets per period, where there is one that counts it."""
        if not any(counts_in(own, payer) for own in self.budgets):
            return {}
        return {"per_period": {"periods": None if self.period is None else [self.period]}}

    def _check_covered(
        self, entries: Sequence[Entry], due: Sequence[tuple[Budget, Event]], reserve: str | None
    ) -> None:
        """Raise ``BudgetExceededError`` unless each budget covers its events, and one per period all that it counts."""
        for budget, event in due:
            if not is_by_source(budget.guarantee):
                self.available(budget, entries, reserve=reserve).charge(event)
        for own in self.budgets:
            counted = [event for budget, event in due if counts_in(own, budget)]
            if counted:
                check_periods(self.sources(own, entries), counted, None if self.period is None else [self.period])

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
                (payer, chosen[0] if len(own) == 1 else batch_of(in_one_kind(chosen, payer.guarantee.kind)), own)
            )
        return priced

    def keep_periods_apart(self) -> None:
        """Hold periods' data apart from now on, as budgets per period need it: for what is promised of one period."""
        self._is_apart, self._begun = True, self._begun if self._is_apart else None

    def begin(self, version: str, marks: Callable[[], Marks], places: Callable[[], Sequence[str]] = list) -> None:
        """Pin the declared rules, durably, before the records are compared with them.

        Parameters
        ----------
        marks : callable
            Returns marks of the data's files: kept ones, those looked for under other names, and under other periods.
        places : callable
            Returns marks of where the data are, by which they are known as another period's after a change.

        Raises
        ------
        LedgerError
            If the table is held to other rules, or the data are those of another table.
        """
        if version == self._begun:
            return
        kept, *known = marks()
        part = self.period if self._is_apart or any(is_by_source(own.guarantee) for own in self.budgets) else None
        at = [] if part is None else list(places())

        def admit(entries: Sequence[Entry]) -> None:
            own = of_table(entries, written)
            check_held(own, self._identity, self.name)
            check_apart(entries, written, self._identity, version, *known)
            check_parts(own, part, self.name, [*known[-1], *at], version)

        entries = self.ledger.view(self.name)
        written = next((entry.table for entry in of_kinds(entries, "budget")), self.name)
        payload = begun_part(entries, self._identity, version, [*kept, *at], part)
        if payload is None:
            found = of_kinds(self.ledger.view(), "validated", "redeclare")
            check_apart(found, written, self._identity, version, *known)
            check_parts(entries, part, self.name, [*known[-1], *at], version)
        else:
            self.ledger.append("validated", self.name, payload, admit=admit, whole=True)
        # Entries stay: what was found once needs no other look.
        self._validated = [entry.payload for entry in of_kinds(entries, "validated")]
        self._begun, self._is_fresh = version, True

    def is_validated(self, key: Mapping[str, Any]) -> bool:
        """Say whether the rules were found to hold for this data version before."""
        if key not in self._validated and not self._is_fresh:
            self._validated = [entry.payload for entry in self.ledger.entries(self.name, "validated")]
        self._is_fresh = False
        return key in self._validated or key == self._found

    def remember_validated(self, key: Mapping[str, Any]) -> None:
        """Have it written that the rules hold for a data version, in the transaction of the next charge.

        Without that nobody is told, and whoever asks next checks them again.
        """
        self._found = dict(key)

    def _declare(self) -> None:
        payload = self._declaration

        def admit(entries: Sequence[Entry]) -> None:
            declared, held = declared_in(entries), Held.by(entries)
            if declared is None:
                return
            check_budgets(declared, payload, self.name)
            if not held.differing(self._identity):
                raise _AlreadyDeclaredError
            if is_pinned(entries):
                check_held(entries, self._identity, self.name)

        with suppress(_AlreadyDeclaredError):
            self.ledger.append("budget", self.name, payload, admit=admit)

    def admit(
        self,
        entries: Sequence[Entry],
        *,
        events: Sequence[Event],
        covered: Callable[[Sequence[Entry]], None],
        limit: Limit | None = None,
    ) -> None:
        """Raise unless the table is declared as it was, its budgets cover what is due, and nothing else refuses it.

        For a charge, inside the ledger's transaction; ``covered`` asks the budgets.
        """
        declared = declared_in(entries)
        if declared is None:
            raise LedgerError(f"the ledger holds no budget for table {self.name!r}; open the session again.")
        # The ledger may have been exchanged since the session was opened.
        check_budgets(declared, self._declaration, self.name)
        check_held(entries, self._identity, self.name)
        covered(entries)
        if limit is not None:
            limit(entries, events)


class _AlreadyDeclaredError(Exception):
    """The ledger holds the same budget already; raised inside a transaction to leave it unchanged."""
