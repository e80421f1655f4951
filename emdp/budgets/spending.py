"""Spending in a ledger: by budget, by period and query, and charge by charge.

Pure functions of entries, for whoever reads a ledger without a session: the command line, the check of a manifest,
reservations. Everywhere ``entries`` are those of one table, in order.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from emdp.base.classes import dataclass
from emdp.base.errors import LedgerError, UsageError
from emdp.base.periods import meeting
from emdp.ledger import Entry
from emdp.ledger.entries import of_kinds
from emdp.privacy import Account, Budget, EmdDP, Event, conversion_factor, converts_to, event_from_json
from emdp.privacy.account.restating import restated
from emdp.privacy.guarantees.kinds import is_by_source, is_per_history
from emdp.privacy.rounding import as_decimal, float_down, float_up

if TYPE_CHECKING:
    from emdp.privacy.account.periods import Sources

__all__ = [
    "Charge",
    "Spending",
    "account_by_lists",
    "account_of",
    "accounts_of",
    "budgets_of",
    "burn_down",
    "by_period",
    "by_query",
    "charges_of",
    "check_periods",
    "cost_of",
    "counts_in",
    "event_of",
    "field_of",
    "list_of",
    "payer_of",
    "sources_of",
]

_sorted = json.JSONEncoder(sort_keys=True).encode

COPY = "compare with a copy whose head hash was kept elsewhere."
"""Last words of the message about an entry that says too little, or too much."""


@dataclass(frozen=True)
class Charge:
    """A charge as it lies in the ledger."""

    entry: Entry
    event: Event
    budget: Budget
    # Of a budget per period: the periods that it counts for; None: for every period.
    periods: tuple[str, ...] | None = None
    users: str | None = None  # Hash of the list of users of its period, where each has its own; None: anybody
    apart: tuple[str, ...] = ()  # Hashes of lists before it that have nobody in common with that one

    @property
    def period(self) -> str | None:
        """The period that it was for; None for a table without periods, and in ledgers of earlier versions."""
        return self._told[0]

    @property
    def report(self) -> str | None:
        """The report that asked; None for a single query, and in ledgers of earlier versions."""
        return self._told[1]

    @property
    def query(self) -> str:
        """What was asked, as it was written."""
        told = self._told[2]
        return str(field_of(self.entry, "query")) if told is None else told

    @cached_property
    def _told(self) -> tuple[str | None, str | None, str | None]:
        # Read together: the entry's text is read anew for each field that it is asked for.
        payload = self.entry.payload
        period, report, query = (
            value if isinstance(value := payload.get(name), str) else None for name in ("period", "report", "query")
        )
        return period, report, query


@dataclass(frozen=True)
class Spending:
    """Cost of some charges of one budget together."""

    kind: str
    period: str | None
    report: str | None
    query: str  # What was asked; empty in a sum over queries
    charges: int
    level_name: str
    # level, delta: Sums of what each charge states in the budget's kind, rounded up. Gaussian releases that the
    # budget's `gaussian_share` paid cost less together than this sum.
    level: float
    delta: float


def budgets_of(entries: Iterable[Entry]) -> tuple[Budget, ...]:
    """Return the budgets declared last; none where no budget was declared yet."""
    declared = [field_of(entry, "budgets") for entry in of_kinds(entries, "budget")]
    return tuple(Budget.from_json(budget) for budget in declared[-1]) if declared else ()


def charges_of(entries: Sequence[Entry], declared: Sequence[Budget] | None = None) -> tuple[Charge, ...]:
    """Return the charges with the budgets that paid; one that counts in a budget per period too is there twice.

    The budgets are those declared last, or ``declared``.

    Raises
    ------
    LedgerError
        If a charge names a budget that was not declared, or lacks a field.
    """
    budgets = budgets_of(entries) if declared is None else declared
    names = {budget.guarantee.kind_name: budget for budget in budgets}
    charges = []
    for entry in of_kinds(entries, "charge"):
        named = payer_of(entry)
        if isinstance(named, str) and named in names:
            budget = names[named]
        elif type(named) is int and 0 <= named < len(budgets):
            budget = budgets[named]
        else:
            raise LedgerError(f"entry {entry.sequence} charges a budget that the ledger lacks; {COPY}")
        own = list_of(entry)
        paid = Charge(entry, event_of(entry), budget, users=own.get("users"), apart=tuple(own.get("apart", ())))
        charges += [paid] if not is_by_source(budget.guarantee) else []
        charges += [one for own in budgets if counts_in(own, budget) for one in _in_periods(paid, own)]
    return tuple(charges)


def counts_in(budget: Budget, payer: Budget) -> bool:
    """Say whether what a budget pays counts in one per period or history: what that one pays, and its fellows."""
    own, paid = budget.guarantee, payer.guarantee
    # Questions are asked in the unit of a user, and each budget states them in its own.
    return is_by_source(own) and isinstance(paid, EmdDP) and converts_to(replace(paid, unit="user", periods=None), own)


def account_of(budget: Budget, charges: Iterable[Charge], period: str | None = None) -> Account:
    """Return a budget with what was charged to it; one per period with what that period was charged, or the dearest.

    Where periods have lists of users, it is what is left of it for those of the period's, or for who was charged most.
    """
    paid = [charge for charge in charges if charge.budget == budget]
    if not is_by_source(budget.guarantee):
        return _of_users(budget, paid, period)
    # Loaded where it is needed.
    from emdp.privacy.account.periods import SourceCharge, history_account, largest_account, period_account

    own = [SourceCharge(charge.event, charge.periods) for charge in paid]
    if is_per_history(budget.guarantee):
        return history_account(budget, own, None if period is None else [period])
    return largest_account(budget, own) if period is None else period_account(budget, own, period)


def _of_users(budget: Budget, paid: Sequence[Charge], period: str | None) -> Account:
    """Return a budget per user with charges; with lists by period for those of one, or for who was charged most."""
    if all(charge.users is None for charge in paid):
        return Account.from_charges(budget, [charge.event for charge in paid])
    mine = [own.users for own in paid if period is not None and own.period == period and own.users is not None]
    return account_by_lists(budget, paid, mine[-1] if mine else None)


def account_by_lists(
    budget: Budget, paid: Iterable[Charge], users: str | None = None, apart: Iterable[str] = ()
) -> Account:
    """Return a budget as the list of users with a hash may draw on it; see :mod:`emdp.privacy.account.lists`."""
    # Loaded where it is needed.
    from emdp.privacy.account.lists import ListCharge, account_of_list

    listed = [ListCharge(own.event, own.users, frozenset(own.apart)) for own in paid]
    return account_of_list(budget, listed, users, apart)


def list_of(entry: Entry) -> Mapping[str, Any]:
    """Return what a charge says of its list of users; nothing where it names none, as most charges do."""
    found = entry.payload.get("list") if '"list"' in entry.text else None
    return found if isinstance(found, dict) and isinstance(found.get("users"), str) else {}


def sources_of(budget: Budget, charges: Iterable[Charge], begun: "Sources | None" = None) -> "Sources":
    """Return a budget per period, or history, with charges for every period; begun with what was charged before."""
    # Loaded where it is needed.
    from emdp.privacy.account.periods import SourceCharge, Sources

    own = [SourceCharge(charge.event, charge.periods) for charge in charges if charge.budget == budget]
    return (begun or Sources(budget, Account(budget))).after(own)


def check_periods(sources: "Sources", events: Sequence[Event], periods: Sequence[str] | None) -> None:
    """Raise ``BudgetExceededError`` unless a budget per period, or history, covers further events in some periods.

    None: of which nobody knows the period, so that they must fit into each, and into those that no charge names yet; a
    budget per history pays for none of these.
    """
    # Loaded where it is needed.
    from emdp.privacy.account.periods import check_history

    if both := meeting(periods or (), sources.each):
        raise UsageError(
            f"period {both[0]} has days in common with {both[1]}, and a budget per period counts them apart; ask for "
            "periods that have no day in common."
        )
    if is_per_history(sources.budget.guarantee):
        if periods is None:
            raise UsageError(
                "period is missing, and the table has a budget per history, whose answers each read one period; open "
                "the session with period=, on the table whose budget it is."
            )
        check_history(sources, events, periods)
        return
    accounts = (sources.every, *sources.each.values())
    for own in accounts if periods is None else map(sources.account, periods):
        account = own
        for event in events:
            account = account.charge(event)


def _in_periods(paid: Charge, budget: Budget) -> list[Charge]:
    """Return a charge as a budget per period, or history, counts it; one that names no periods counts for every one.

    A stream names several parts: each with what one of its periods costs; and what all of them cost a history.
    """
    payload = paid.entry.payload
    is_of_history = is_per_history(budget.guarantee) and "history" in payload
    said = payload["history"] if is_of_history else payload.get("per_period") or {}
    found = []
    for part in said if isinstance(said, list) else [said]:
        names, event = part.get("periods"), part.get("event")
        own = paid.event if event is None else event_from_json(event)
        found.append(Charge(paid.entry, own, budget, tuple(map(str, names)) if isinstance(names, list) else None))
    return found


def accounts_of(entries: Sequence[Entry]) -> tuple[Account, ...]:
    """Return every budget with what was charged to it, in the order of their declaration.

    Raises
    ------
    LedgerError
        If a charge is malformed, or more than its budget covers.

    >>> import json
    >>> from emdp.privacy import EmdDP, GuaranteeEvent
    >>> declared = {"budgets": [Budget(EmdDP(60.0)).to_json()]}
    >>> charged = {"event": GuaranteeEvent(EmdDP(0.5)).to_json(), "budget": EmdDP(0).kind_name, "query": "km"}
    >>> kinds = (("budget", declared), ("charge", charged))
    >>> entries = [Entry(place, "", kind, "visits", json.dumps(own), "", "") for place, (kind, own) in enumerate(kinds)]
    >>> accounts_of(entries)[0].remaining.alpha
    59.5
    """
    charges = charges_of(entries)
    return tuple(account_of(budget, charges) for budget in budgets_of(entries))


def cost_of(event: Event, budget: Budget) -> tuple[Fraction, Fraction]:
    """Return level and delta that an event states in a budget's kind, as exact numbers.

    >>> from emdp.privacy import EmdDP, GuaranteeEvent
    >>> cost_of(GuaranteeEvent(EmdDP(0.1)), Budget(EmdDP(1.0)))
    (Fraction(1, 10), Fraction(0, 1))
    """
    stated = restated(event, budget.guarantee).guarantee
    return as_decimal(stated.level) * conversion_factor(stated, budget.guarantee), as_decimal(stated.delta)


def by_query(charges: Iterable[Charge]) -> tuple[Spending, ...]:
    """Return what each query cost in each period, by period, those without one first, then by first charge.

    >>> by_query([])
    ()
    """
    return _grouped((charge, (charge.period, charge.report, charge.query)) for charge in charges)


def by_period(charges: Iterable[Charge]) -> tuple[Spending, ...]:
    """Return what each period cost in all, in the order of :func:`by_query`.

    >>> by_period([])
    ()
    """
    return _grouped((charge, (charge.period, None, "")) for charge in charges)


def burn_down(charges: Sequence[Charge], budget: Budget) -> tuple[tuple[str, float], ...]:
    """Return what was left of a budget's level after each charge, in order.

    Parameters
    ----------
    charges : sequence of Charge
        Of the budget's table; those that another budget paid are passed over.

    Returns
    -------
    tuple of (str, float)
        For each charge its period, or its day (UTC) where it has none, and the level of the promise less the level
        spent, rounded down; of a budget per period the level spent in that period. What is set aside counts as left.

    >>> from emdp.privacy import EmdDP
    >>> burn_down([], Budget(EmdDP(1.0)))
    ()
    """
    promised = as_decimal(budget.guarantee.level)
    paid = [charge for charge in charges if charge.budget == budget]
    if is_by_source(budget.guarantee) or any(charge.users is not None for charge in paid):
        places = range(1, len(paid) + 1)
        accounts = (account_of(budget, paid[:place], paid[place - 1].period) for place in places)
    else:
        accounts = (account for account in Account(budget).steps(charge.event for charge in paid))
    return tuple(
        (charge.period or charge.entry.time[:10], float_down(promised - as_decimal(account.spent.level)))
        for charge, account in zip(paid, accounts, strict=True)
    )


def field_of(entry: Entry, name: str) -> Any:
    """Return a field of an entry's payload, or raise ``LedgerError`` if it lacks it."""
    try:
        return entry.payload[name]
    except KeyError:
        raise LedgerError(f"entry {entry.sequence} of the ledger lacks its {name!r}; {COPY}") from None


def event_of(entry: Entry) -> Event:
    """Return the event of a charge, or raise ``LedgerError`` if it lacks one, and as :func:`event_from_json` does."""
    described = _charged(entry.text)[1]
    return _event(described if described is not None else _sorted(field_of(entry, "event")))


def payer_of(entry: Entry) -> Any:
    """Return the kind of the budget that a charge names, or raise ``LedgerError`` if it names none."""
    named = _charged(entry.text)[0]
    return named if isinstance(named, str) else field_of(entry, "budget")


@lru_cache(maxsize=1024)
def _charged(text: str) -> tuple[Any, str | None]:
    """Return what the text of a charge names as its budget, and its event as text; None where it has none."""
    payload = json.loads(text)
    return payload.get("budget"), _sorted(payload["event"]) if "event" in payload else None


@lru_cache(maxsize=1024)
def _event(described: str) -> Event:
    # Most charges of a long ledger are the same few events, over and over, and building one checks its noise.
    return event_from_json(json.loads(described))


def _grouped(keyed: Iterable[tuple[Charge, tuple[str | None, str | None, str]]]) -> tuple[Spending, ...]:
    groups: dict[tuple[Any, ...], list[Charge]] = {}
    for charge, key in keyed:
        groups.setdefault((*key, charge.budget.guarantee.kind_name), []).append(charge)
    sums = []
    for (period, report, query, kind), own in groups.items():
        events = {id(charge.event): charge.event for charge in own}
        times = Counter(id(charge.event) for charge in own)
        costs = [(times[key], *cost_of(event, own[0].budget)) for key, event in events.items()]
        level = float_up(sum((count * cost for count, cost, _ in costs), Fraction(0)))
        delta = float_up(sum((count * cost for count, _, cost in costs), Fraction(0)))
        name = own[0].budget.guarantee.level_name
        sums.append(Spending(kind, period, report, query, len(own), name, level, delta))
    return tuple(sorted(sums, key=lambda spending: spending.period or ""))
