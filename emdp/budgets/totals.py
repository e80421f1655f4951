"""Totals of a ledger's tables, stated in its chain, so that a session need not add up all that was ever charged.

An entry of kind ``"totals"`` says of each table what its budgets had paid, and what was set aside in them, by all
entries before it. A session that opens the ledger later begins there (:mod:`emdp.ledger.start`). Tables with a budget
per period, and those whose periods have lists of users, are not summed up: what counts for whom depends on who asks,
so that their charges are read. So are those of a table of whose charges one names no budget by its kind.

**Theorem.** Let every totals entry state what :func:`totals_of` finds in the entries before it. Then an account that
begins at the newest totals and replays the charges after them is the account of all charges, and what is outstanding
of reservations is what all entries leave outstanding.

*Proof.* An account is a function of its budget and of its charges in their order, and each charge changes the sums by
what they and the charge alone say (:meth:`emdp.privacy.Account.replay`). So the sums after the first ``k`` charges,
stated exactly, and the charges after them give what all charges give. What is outstanding after an entry is likewise a
function of what was before it and of the entry (:func:`emdp.budgets.reservations.left_of`). By induction over the
totals entries each states what the entries alone give. Hypotheses: the numbers are exact; the budget is the same to
the letter, or all is read; a totals entry is written only if no other came since it was made, inside the ledger's
transaction. ∎ :func:`check_totals`, which ``emdp ledger verify`` runs, believes none: it adds up the entries.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from emdp.base.errors import LedgerError
from emdp.budgets.carried import SUMS, Left, carried_shown
from emdp.budgets.reservations import begun_account, left_of
from emdp.budgets.shown import Shown, followed
from emdp.budgets.spending import COPY, budgets_of, list_of, payer_of
from emdp.ledger import Entry, Ledger
from emdp.ledger.chain import canonical_json
from emdp.ledger.entries import EntryIndex, View, end_of, later, of_table, tables_of
from emdp.ledger.start import kept_digest
from emdp.privacy import Account, Budget
from emdp.privacy.guarantees.kinds import is_by_source

__all__ = ["check_totals", "state_totals", "totals_of"]

LONGEST = 190
"""Digits of a stated number; a server's ledger takes no entry with 400 in a row."""

Known = dict[str, tuple[int, Account, Shown | None, Left]]
"""A sequence, with the account, what is shown of it and what is outstanding there, by budget as text."""


def state_totals(ledger: Ledger, table: str) -> None:
    """State totals in a ledger, durably, unless somebody else appends meanwhile.

    To be called before a charge: a kill in between leaves an entry that is true, and charges nothing.

    Parameters
    ----------
    ledger : Ledger
        Open for writing, as this process read it last.
    table : str
        The table that is about to be charged.

    Raises
    ------
    LedgerError
        If the ledger is damaged or cannot be written.
    """
    view = ledger.view()
    stated = {name: totals_of(of_table(view, name)) for name in sorted(filter(None, tables_of(view)))}
    ledger.append_totals(table, stated, end_of(view))


def totals_of(entries: Sequence[Entry]) -> dict[str, Any] | None:
    """Return what is to be stated of a table by its entries; None where these are to be read whole.

    >>> totals_of([])
    {'budgets': []}
    """
    if isinstance(entries, View) and entries.stated is None:
        return None
    return _totals(entries, {})


def check_totals(entries: Iterable[Entry]) -> int:
    """Check every statement of totals in a ledger's entries against those before it, and return how many there are.

    Parameters
    ----------
    entries : iterable of Entry
        All of the ledger, in order, in a chain that was walked.

    Raises
    ------
    LedgerError
        If one states anything else. That a table is to be read whole may be said of any.

    >>> check_totals([])
    0
    """
    index, count = EntryIndex(), 0
    known: dict[str, Known] = {}
    for entry in entries:
        if entry.kind == "totals":
            count += 1
            tables = sorted(filter(None, index.tables))
            right = {name: _totals(index.of(name), known.setdefault(name, {})) for name in tables}
            stated = entry.payload.get("tables")
            if (
                not isinstance(stated, dict)
                or set(stated) != set(right)
                or not all(_agrees(own, right[name]) for name, own in stated.items())
                or entry.payload.get("carried") != entry.sequence - 1
                or entry.payload.get("kept") != kept_digest(index.early())
            ):
                raise LedgerError(f"entry {entry.sequence} states totals that what stands before does not have; {COPY}")
        index.add([entry])
    return count


def _totals(entries: Sequence[Entry], known: Known) -> dict[str, Any] | None:
    """Return what is to be stated; ``known`` has what was added up before, and gets what is added up now."""
    budgets = budgets_of(entries)
    if any(is_by_source(budget.guarantee) for budget in budgets):
        return None
    names = [budget.guarantee.kind_name for budget in budgets]
    found = []
    for budget in budgets:
        key = canonical_json(budget.to_json())
        last, account, shown, held = known.get(key) or (*_begun(entries, budget), None)
        charges = later(entries, last, "charge")
        try:
            # Earlier versions named a budget by its place; a charge to no budget is refused by whoever reads it.
            if any(list_of(entry) or payer_of(entry) not in names for entry in charges):
                return None
            account, more = followed(account, shown or Shown({}), charges)
        except LedgerError:
            # Of an earlier version, whose charges may be told otherwise.
            return None
        shown = None if shown is None else more
        left = left_of(entries, budget, None if held is None else (last, held))
        known[key] = (end_of(entries), account, shown, left)
        numbers = {name: getattr(account, name) for name in SUMS}
        if any(len(str(number)) > LONGEST for number in (*numbers.values(), *chain.from_iterable(left.values()))):
            return None
        own: dict[str, Any] = {name: str(number) for name, number in numbers.items()}
        own["held"] = {name: [str(level), str(delta)] for name, (level, delta) in left.items()}
        own["shown"] = None if shown is None else shown.to_json()
        found.append({"budget": budget.to_json(), "count": account.count, **own})
    return {"budgets": found}


def _begun(entries: Sequence[Entry], budget: Budget) -> tuple[int, Account, Shown | None]:
    """Return what totals state, and where they stand; nothing at 0 where they do not."""
    last, account = begun_account(entries, budget)
    said = carried_shown(entries, budget) if last else ({}, ())
    return last, account, None if said is None else Shown(*said)


def _agrees(stated: object, right: Mapping[str, Any] | None) -> bool:
    """Say whether what is stated of a table is what it should be, or nothing, as a whole or of what is shown."""
    if stated is None or stated == right:
        return True
    if not isinstance(stated, dict) or right is None or set(stated) != {"budgets"}:
        return False
    told, known = stated["budgets"], right["budgets"]
    return len(told) == len(known) and all(
        own in (other, {**other, "shown": None}) for own, other in zip(told, known, strict=True)
    )
