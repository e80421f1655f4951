"""Totals of a ledger's tables, stated in its chain, so that a session need not add up all that was ever charged.

An entry of kind ``"totals"`` says of each table what its budgets had paid, and what was set aside in them, by all
entries before it. A session that opens the ledger later begins there (:mod:`emdp.ledger.start`). Of a budget per
period, or history, they say what each period was charged. Tables whose periods have lists of users are not summed up:
what counts for whom depends on who asks, so that their charges are read. So are those of a table of whose charges one
names no budget by its kind.

**Theorem.** Let every totals entry state what :func:`totals_of` finds in the entries before it. Then an account that
begins at the newest totals and replays the charges after them is the account of all charges, and what is outstanding
of reservations is what all entries leave outstanding.

*Proof.* An account is a function of its budget and of its charges in their order, and each charge changes the sums by
what they and the charge alone say (:meth:`emdp.privacy.Account.replay`). So the sums after the first ``k`` charges,
stated exactly, and the charges after them give what all charges give; so do those of every period
(:class:`emdp.privacy.account.periods.Sources`). What is outstanding after an entry is likewise a
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
from emdp.budgets.reservations import begun_account, begun_sources, left_of
from emdp.budgets.shown import Shown, followed
from emdp.budgets.spending import COPY, budgets_of, charges_of, list_of, payer_of, sources_of
from emdp.ledger import Entry, Ledger
from emdp.ledger.chain import canonical_json
from emdp.ledger.entries import EntryIndex, View, end_of, later, of_table, tables_of
from emdp.ledger.start import kept_digest
from emdp.privacy import Account, Budget
from emdp.privacy.guarantees.kinds import is_by_source

__all__ = ["check_totals", "state_totals", "totals_of"]

LONGEST = 190
"""Digits of a stated number; a server's ledger takes no entry with 400 in a row."""

LONGEST_SOURCES = 60_000
"""Characters of what is stated of all periods; of a table with more of them the charges are read."""

State = tuple[int, Any, Left]
"""A sequence; the account and what is shown of it there, or what every period was charged; what is outstanding."""

Known = dict[str, State]
"""What was added up before, by budget as text."""


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
    names = [budget.guarantee.kind_name for budget in budgets]
    found = []
    for budget in budgets:
        key = canonical_json(budget.to_json())
        before = known.get(key)
        is_sourced = is_by_source(budget.guarantee)
        last = before[0] if before else (begun_sources if is_sourced else begun_account)(entries, budget)[0]
        charges = later(entries, last, "charge")
        try:
            # Earlier versions named a budget by its place; a charge to no budget is refused by whoever reads it.
            if any(list_of(entry) or payer_of(entry) not in names for entry in charges):
                return None
            paid, own = (_sourced if is_sourced else _summed)(entries, budget, charges, before)
        except LedgerError:
            # Of an earlier version, whose charges may be told otherwise.
            return None
        left = left_of(entries, budget, None if before is None else (last, before[-1]))
        known[key] = (end_of(entries), paid, left)
        own["held"] = {name: [str(level), str(delta)] for name, (level, delta) in left.items()}
        if not _is_short(own):
            return None
        found.append({"budget": budget.to_json(), **own})
    return {"budgets": found}


def _summed(
    entries: Sequence[Entry], budget: Budget, charges: Sequence[Entry], before: "State | None"
) -> tuple[Any, dict[str, Any]]:
    """Return a budget's account and what is shown of it after charges, and both as they are stated."""
    if before is None:
        last, account = begun_account(entries, budget)
        said = carried_shown(entries, budget) if last else ({}, ())
        shown = None if said is None else Shown(*said)
    else:
        account, shown = before[1]
    account, more = followed(account, shown or Shown({}), charges)
    shown = None if shown is None else more
    sums = {name: str(getattr(account, name)) for name in SUMS}
    return (account, shown), {"count": account.count, **sums, "shown": None if shown is None else shown.to_json()}


def _sourced(
    entries: Sequence[Entry], budget: Budget, charges: Sequence[Entry], before: "State | None"
) -> tuple[Any, dict[str, Any]]:
    """Return what was charged to a budget per period, or history, for every period, and the same as it is stated."""
    begun = begun_sources(entries, budget)[1] if before is None else before[1]
    sources = sources_of(budget, charges_of(charges, budgets_of(entries)), begun)
    each = [[name, *_sums(account)] for name, account in sources.each.items()]
    return sources, {"sources": {"every": _sums(sources.every), "each": each}}


def _sums(account: Account) -> list[Any]:
    return [account.count, *(str(getattr(account, name)) for name in SUMS)]


def _is_short(own: Mapping[str, Any]) -> bool:
    """Say whether what is stated of a budget is short enough for an entry: each number, and all of them."""
    told = own.get("sources") or {"every": [], "each": []}
    numbers = [own.get(name, "") for name in SUMS]
    numbers += [number for sums in (told["every"], *told["each"]) for number in sums]
    numbers += chain.from_iterable(own["held"].values())
    return all(len(str(number)) <= LONGEST for number in numbers) and len(canonical_json(told)) <= LONGEST_SOURCES


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
