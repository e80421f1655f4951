"""Parts of a budget that are set aside for somebody, such as a weekly report, and that all others leave untouched.

An entry of kind ``"reserve"`` sets part of a table's budget aside for a name, or gives back what is left of it; a
charge whose payload has ``reserve = NAME`` draws on it. What is outstanding follows from the entries alone, in their
order: a reservation adds its level and delta, a charge of the name takes what it states, each of the two down to 0 at
most, and giving back ends it. A charge of the name beyond that is paid from what nobody set aside.

**Theorem.** Let all charges and reservations be admitted as :func:`held_from` and :func:`reserve` say, each inside the
ledger's transaction. Then (1) the charges never exceed the budget, and (2) releases of a name whose levels and deltas
sum up to what is outstanding for it, in any order and whatever others do in between, are all admitted, as long as
the budget's ``slack_limit`` covers their rounding.

*Proof.* Let ``left`` be what the account has left outside its Gaussian reserve and ``out_k`` what is outstanding for
the name ``k``, both pairs (level, delta) of exact numbers, compared and subtracted in each coordinate apart.

(1) A charge ``e`` of the name ``j`` (or of nobody) is admitted only if the account covers it after pseudo-events that
cost ``sum of out_k over k other than j``. These make the totals of the plain part larger and touch no other one, so
the account without them covers it too, which is all that :mod:`emdp.privacy.account.filter` asks for.

(2) Claim: ``left >= sum of out_k`` at all times. It holds in the beginning, where both sides are at least 0 and the
right one is 0. Reserving ``r`` is admitted only if ``left - sum of out_k >= r``, and adds ``r`` on the right. Giving
back lowers the right side. A charge of ``j`` that states ``p`` lowers ``left`` by ``p``, or by nothing where the
Gaussian reserve pays, and changes no other ``out_k``. If ``out_j >= p``, both sides fall by ``p``, or the right one
alone. Otherwise ``out_j`` becomes 0, and ``left - p >= sum over the others`` is what was checked. A charge of nobody
is checked against all of them. Now let ``p <= out_j``. By the claim ``left - sum over the others >= out_j >= p``: the
plain part covers ``p``, and the charge is admitted, in the Gaussian reserve or here. By induction so are all releases
whose sum is at most ``out_j``. ∎

Gaussian noise: a reservation is plain level and delta, and sets no ``mu`` aside. Who has one and finds the budget's
Gaussian share used up pays a Gaussian release as its ``(alpha, delta)``, by the theorem. One that the share still
pays counts against the reservation as well, with what it states; then more is left for all. Rounding: ``slack_limit``
is common to all and is not set aside; a release takes about 1e-12 of it.

Where periods have lists of users (:mod:`emdp.privacy.account.lists`), (1) holds and (2) does not: what is set aside is
looked at beside the list that had most, and one that joins people of several lists may have less left.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import zip_longest
from typing import TYPE_CHECKING

from emdp.base.errors import LedgerError, UsageError
from emdp.budgets.spending import COPY, accounts_of, budgets_of, cost_of, event_of, field_of
from emdp.ledger import Entry, Ledger
from emdp.ledger.entries import View, later, of_kinds
from emdp.privacy import Account, Budget, Guarantee, GuaranteeEvent, guarantee_from_json
from emdp.privacy.rounding import as_decimal, float_down, float_up

if TYPE_CHECKING:
    from emdp.budgets.carried import Left
    from emdp.privacy.account.periods import Sources

__all__ = ["begun_account", "held_from", "left_of", "outstanding", "release", "reserve"]


def outstanding(entries: Sequence[Entry], budget: Budget) -> dict[str, Guarantee]:
    """Return what is left of each reservation of a budget.

    Parameters
    ----------
    entries : sequence of Entry
        Those of the budget's table, in order.

    Returns
    -------
    dict of str to Guarantee
        By name, of the budget's kind, rounded down; 0 for a reservation that is used up, nothing for one that was
        given back.

    Raises
    ------
    LedgerError
        If an entry lacks a field, or is of another kind of guarantee than it says.

    >>> import json
    >>> from emdp.privacy import EmdDP
    >>> kind, guarantee = EmdDP(0).kind_name, EmdDP(5.0).to_json()
    >>> payload = {"name": "weekly", "budget": kind, "guarantee": guarantee, "released": False}
    >>> entries = [Entry(2, "", "reserve", "visits", json.dumps(payload), "", "")]
    >>> outstanding(entries, Budget(EmdDP(60.0)))["weekly"].alpha
    5.0
    """
    return {
        name: budget.guarantee.at_level(float_down(level), float_down(delta))
        for name, (level, delta) in left_of(entries, budget).items()
    }


def held_from(entries: Sequence[Entry], budget: Budget, name: str | None) -> list[GuaranteeEvent]:
    """Return what must stay untouched by a charge of ``name``: the reservations of all others, as pseudo-events.

    The account with these charged on top is what ``name`` may draw on: ``account.replay(held_from(...))`` admits its
    charge and states its rest. It is never what was spent.

    Parameters
    ----------
    entries : sequence of Entry
        Those of the budget's table, in order.
    name : str or None
        Whose reservation may be drawn on; None for who has none.

    Returns
    -------
    list of GuaranteeEvent
        Their decimals sum up to the exact rest of the reservations, so there may be more than one a name.

    Raises
    ------
    LedgerError
        As :func:`outstanding`.

    >>> import json
    >>> from emdp.privacy import EmdDP
    >>> kind, guarantee = EmdDP(0).kind_name, EmdDP(5.0).to_json()
    >>> payload = {"name": "weekly", "budget": kind, "guarantee": guarantee, "released": False}
    >>> entries = [Entry(2, "", "reserve", "visits", json.dumps(payload), "", "")]
    >>> [event.guarantee.alpha for event in held_from(entries, Budget(EmdDP(60.0)), None)]
    [5.0]
    >>> held_from(entries, Budget(EmdDP(60.0)), "weekly")
    []
    """
    kind = budget.guarantee
    return [
        GuaranteeEvent(kind.at_level(level, delta), f"set aside for {owner}")
        for owner, rest in left_of(entries, budget).items()
        if owner != name
        for level, delta in zip_longest(*map(_floats, rest), fillvalue=0.0)
    ]


def reserve(ledger: Ledger, table: str, name: str, guarantee: Guarantee) -> Entry:
    """Set part of a table's budget aside for a name, on top of what it has already, durably.

    Parameters
    ----------
    ledger : Ledger
        Open for writing.
    name : str
        For whom: what a report has as ``reserve``.
    guarantee : Guarantee
        How much, in the kind of one of the table's budgets; not both parameters may be 0.

    Returns
    -------
    Entry
        The ledger's entry.

    Raises
    ------
    BudgetExceededError
        If the budget has less than that left outside other reservations; nothing is written then.
    UsageError
        If the table has no budget of that kind, or an argument is malformed.
    LedgerError
        If the ledger is damaged or cannot be written.

    >>> import tempfile
    >>> from emdp.ledger import open_ledger
    >>> import json
    >>> from emdp.privacy import EmdDP
    >>> with tempfile.TemporaryDirectory() as folder, open_ledger(f"{folder}/city.ledger") as ledger:
    ...     _ = ledger.append("budget", "visits", {"budgets": [Budget(EmdDP(60.0)).to_json()]})
    ...     reserve(ledger, "visits", "weekly", EmdDP(6.0)).sequence
    3
    """
    _check_name(name)
    if guarantee.level == 0 and guarantee.delta == 0:
        raise UsageError(f"{guarantee.level_name} must be above 0, since 0 sets nothing aside; pass a positive number.")

    def admit(entries: Sequence[Entry]) -> None:
        _check_declared(entries, table)
        for account in accounts_of(entries):
            if account.budget.guarantee.kind == guarantee.kind:
                held = held_from(entries, account.budget, None)
                account.replay(held).charge(GuaranteeEvent(guarantee))
                return
        raise UsageError(f"table {table!r} has no budget of kind {guarantee.kind_name}; set aside what it has.")

    return ledger.append("reserve", table, _payload(name, guarantee, is_released=False), admit=admit)


def release(ledger: Ledger, table: str, name: str) -> list[Entry]:
    """Give back what is left of a name's reservations, in all budgets of a table, durably.

    Returns
    -------
    list of Entry
        One for each budget in which something had been set aside; its ``guarantee`` is what was given back.

    Raises
    ------
    UsageError
        If nothing is set aside for the name.
    LedgerError
        If the ledger is damaged or cannot be written, or the name spends at the same moment.

    >>> import tempfile
    >>> from emdp.ledger import open_ledger
    >>> import json
    >>> from emdp.privacy import EmdDP
    >>> with tempfile.TemporaryDirectory() as folder, open_ledger(f"{folder}/city.ledger") as ledger:
    ...     _ = ledger.append("budget", "visits", {"budgets": [Budget(EmdDP(60.0)).to_json()]})
    ...     _ = reserve(ledger, "visits", "weekly", EmdDP(6.0))
    ...     [entry.payload["guarantee"]["alpha"] for entry in release(ledger, "visits", "weekly")]
    [6.0]
    """
    _check_name(name)
    entries = ledger.entries(table)
    _check_declared(entries, table)
    rests = [(budget, outstanding(entries, budget).get(name)) for budget in budgets_of(entries)]
    given = [(budget, rest) for budget, rest in rests if rest is not None]
    if not given:
        raise UsageError(f"nothing is set aside for {name!r} in table {table!r}; name what `emdp ledger show` lists.")
    return [_give_back(ledger, table, name, budget, rest) for budget, rest in given]


def _give_back(ledger: Ledger, table: str, name: str, budget: Budget, rest: Guarantee) -> Entry:
    def admit(entries: Sequence[Entry]) -> None:
        if outstanding(entries, budget).get(name) != rest:
            raise LedgerError(f"what is set aside for {name!r} changed at the same moment; look at it and try again.")

    return ledger.append("reserve", table, _payload(name, rest, is_released=True), admit=admit)


def _payload(name: str, guarantee: Guarantee, *, is_released: bool) -> dict[str, object]:
    return {
        "name": name,
        "budget": guarantee.kind_name,
        "guarantee": guarantee.to_json(),
        "released": is_released,
    }


def begun_account(entries: Sequence[Entry], budget: Budget) -> tuple[int, Account]:
    """Return a budget's account as totals state it, and the sequence of their entry; an empty one at 0 without them.

    >>> from emdp.privacy import EmdDP
    >>> begun_account([], Budget(EmdDP(1.0)))[0]
    0
    """
    if isinstance(entries, View):
        # Loaded where it is needed.
        from emdp.budgets.carried import carried_account

        return carried_account(entries, budget) or (0, Account(budget))
    return 0, Account(budget)


def begun_sources(entries: Sequence[Entry], budget: Budget) -> "tuple[int, Sources | None]":
    """Return what totals state of a budget per period, or history, as :func:`begun_account` does; None without them."""
    if isinstance(entries, View):
        # Loaded where it is needed.
        from emdp.budgets.carried import carried_sources

        return carried_sources(entries, budget) or (0, None)
    return 0, None


def left_of(entries: Sequence[Entry], budget: Budget, known: "tuple[int, Left] | None" = None) -> "Left":
    """Return level and delta that are outstanding, by name, as exact numbers.

    Parameters
    ----------
    entries, budget
        As :func:`outstanding` takes them.
    known : tuple of int and mapping, optional
        A sequence, and what is outstanding there; as totals state it where it is absent.
    """
    kind = budget.guarantee.kind_name
    reserves = of_kinds(entries, "reserve")
    if not reserves:
        return {}
    if known is None and isinstance(entries, View):
        # Loaded where it is needed.
        from emdp.budgets.carried import carried_left

        known = carried_left(entries, budget)
    start, before = known or (reserves[0].sequence - 1, {})
    left = dict(before)
    for entry in later(entries, start, "reserve", "charge"):
        if entry.kind == "reserve" and field_of(entry, "budget") == kind:
            name = str(field_of(entry, "name"))
            stated = _stated(entry, budget)
            if field_of(entry, "released"):
                left.pop(name, None)
            else:
                level, delta = left.get(name, (Fraction(0), Fraction(0)))
                left[name] = level + as_decimal(stated.level), delta + as_decimal(stated.delta)
        elif left and entry.kind == "charge":
            payload = entry.payload
            name = str(payload.get("reserve"))
            if payload.get("reserve") not in left or field_of(entry, "budget") != kind:
                continue
            cost = cost_of(event_of(entry), budget)
            level, delta = (max(rest - paid, Fraction(0)) for rest, paid in zip(left[name], cost, strict=True))
            left[name] = level, delta
    return left


def _stated(entry: Entry, budget: Budget) -> Guarantee:
    stated = guarantee_from_json(field_of(entry, "guarantee"))
    if stated.kind != budget.guarantee.kind:
        raise LedgerError(f"entry {entry.sequence} sets aside {stated.kind_name} of a budget of another kind; {COPY}")
    return stated


def _floats(number: Fraction) -> Iterator[float]:
    """Return floats whose decimals sum up to a number of at least 0 that has finitely many decimal places."""
    while number > 0:
        # Below the smallest float nothing but a little more can be held.
        part = float_down(number) or float_up(number)
        yield part
        number -= as_decimal(part)


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise UsageError(
            f"name must be a word or words in one line, got {name!r}; pass what the report has as reserve."
        )


def _check_declared(entries: Sequence[Entry], table: str) -> None:
    if not budgets_of(entries):
        raise UsageError(f"table {table!r} has no budget in the ledger; pass the name of one that has.")
