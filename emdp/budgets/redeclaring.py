"""The owner's acts on what a ledger holds a table to (:mod:`emdp.budgets.declarations`): each is an entry, none
charges.

Each may tell something of the records, which no budget pays for: that is why it is an act of its own, why the entry
says what it may reveal, and why on a server only an owner of the ledger can write it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from emdp.base.checks import check_table_name, table_key
from emdp.base.errors import LedgerError, UsageError
from emdp.budgets.declarations import COMPARED, Declaration, Held
from emdp.budgets.promises import declared_in
from emdp.budgets.reservations import held_from
from emdp.budgets.spending import account_of, budgets_of, charges_of
from emdp.ledger import Entry, Ledger
from emdp.privacy import Budget

__all__ = ["redeclare", "redeclare_as", "redeclare_budgets", "set_apart"]

REVEALS = {
    "space": "which records lie outside the domain that was or is declared",
    "user": "whether the columns name the same people",
    "users": "whether somebody who was added or left out has records, or how many people have",
    "records": "whether everybody has the declared number of records",
    "view": "whether the rows that it leaves keep to the rules, which any condition on them may be put into",
    "links": "whether values of the keys stand once, and whether each link names a row",
}
"""Rules, each with what its change may tell: whether the records keep to the new rule is answered for nothing."""

SMALLER = "the ledger may have promised the rest; set it aside by emdp ledger reserve."
SHARED = "its Gaussian share was priced for the level that it has; put another kind beside it, or begin another ledger."

APART = "what is asked of the same records in both names, whose budgets add up"


def redeclare(
    ledger: Ledger, table: str, rules: Mapping[str, Any], *, period: str | None = None, carried: Sequence[str] = ()
) -> Entry:
    """Change what a ledger holds a table to, durably.

    Parameters
    ----------
    ledger : Ledger
        Open for writing.
    rules : mapping
        The new rules: of ``space``, ``user``, ``users`` and ``records`` those that change, as
        :class:`~emdp.budgets.declarations.Declaration` has them.
    period : str, optional
        The period that the users are of, where each has a list of its own.
    carried : sequence of str
        Hashes of the spaces whose charges hold in the new one, so that it may follow one of them.

    Returns
    -------
    Entry
        The ledger's entry; its ``reveals`` says what the change may tell.

    Raises
    ------
    UsageError
        If the table has no budget in the ledger, or nothing changes.
    LedgerError
        If space or user column change after the first charge, but for a space that the charges hold in; if the ledger
        is damaged or cannot be written, or this user is no owner of it.

    >>> import tempfile
    >>> from emdp.ledger import open_ledger
    >>> with tempfile.TemporaryDirectory() as folder, open_ledger(f"{folder}/city.ledger") as ledger:
    ...     _ = ledger.append("budget", "visits", {"budgets": [], "users": "ab", "records": None})
    ...     redeclare(ledger, "visits", {"records": 20}).payload["reveals"]
    'whether everybody has the declared number of records'
    """
    if not rules or set(rules) - set(COMPARED):
        raise UsageError(f"rules must be some of {', '.join(COMPARED)}; pass those that change.")
    payload = {
        "rules": dict(rules),
        "period": period,
        "reveals": "; ".join(REVEALS[name] for name in COMPARED if name in rules),
    }

    def admit(entries: Sequence[Entry]) -> None:
        held = Held.by(entries)
        if not held.is_declared:
            raise UsageError(f"table {table!r} has no budget in the ledger; pass the name of one that has.")
        known = {**held.rules, **({} if period is None else {"users": held.lists.get(period)})}
        changed = {name for name, value in rules.items() if name not in known or known[name] != value}
        if not changed:
            raise UsageError(f"table {table!r} is declared so already; leave it as it is.")
        if known.get("space") in carried:
            changed.discard("space")
        if changed & {"space", "user"} and any(entry.kind == "charge" for entry in entries):
            raise LedgerError(
                f"the ledger holds charges of table {table!r}, and what was promised in one metric is not promised in "
                "another; keep space and user column, or begin another ledger."
            )

    return ledger.append("redeclare", table, payload, admit=admit)


def redeclare_as(ledger: Ledger, table: str, wanted: Declaration) -> Entry:
    """Change what a ledger holds a table to into what it is declared as now: see :func:`redeclare`."""
    held = Held.by(ledger.entries(table))
    rules = {**wanted.to_json(), "users": wanted.users, "view": wanted.view, "links": wanted.links}
    known = {**held.rules, **({} if wanted.period is None else {"users": held.lists.get(wanted.period)})}
    changed = {name: value for name, value in rules.items() if name not in known or known[name] != value}
    return redeclare(ledger, table, changed or rules, period=wanted.period, carried=wanted.carried)


def redeclare_budgets(ledger: Ledger, table: str, budgets: Sequence[Budget]) -> Entry:
    """Let a table have more budget from now on: larger ones, and others beside them; durably.

    **What is promised then.** Every answer is paid by one budget, and what all of a budget's answers tell is its
    level *as it stands in the ledger when the last of them was given*, at the largest delta. *Proof.* Release ``j`` is
    ``(a_j, delta_j)`` given what was answered before. Leave out of each release the part, of at most ``delta_j``,
    that is above ``exp(a_j d)`` times the other law's: on every path of answers and of owner's acts the rest is at
    most ``exp(d sum a_j)`` times as likely, and ``sum a_j`` is at most the level that the ledger then holds. What was
    left out adds up to at most the delta, which does not change. ∎ So the owner may have seen the answers. Gaussian
    releases that a share of a budget pays are not priced one by one, and the proof of their sum
    (:mod:`emdp.privacy.account.filter`) takes a level fixed beforehand: that of such a budget stays.

    Parameters
    ----------
    ledger : Ledger
        Open for writing.
    budgets : sequence of Budget
        Those that stand, in their order, with levels that are as large or larger; then new kinds. A new budget has
        paid nothing; a new one per period counts what was charged before in every period.

    Returns
    -------
    Entry
        The ledger's entry.

    Raises
    ------
    UsageError
        If the table has no budget in the ledger, nothing changes, or a budget is left out, there twice, smaller, or
        otherwise changed.
    LedgerError
        If a new budget would not cover what it counts of earlier charges; if the ledger is damaged or cannot be
        written, or this user is no owner of it.

    >>> import tempfile
    >>> from emdp.ledger import open_ledger
    >>> from emdp.privacy import EmdDP, UserDP
    >>> with tempfile.TemporaryDirectory() as folder, open_ledger(f"{folder}/city.ledger") as ledger:
    ...     _ = ledger.append("budget", "visits", {"budgets": [Budget(EmdDP(60.0)).to_json()]})
    ...     redeclare_budgets(ledger, "visits", [Budget(EmdDP(60.0)), Budget(UserDP(1.0))]).kind
    'budget'
    """
    if len({budget.guarantee.kind_name for budget in budgets}) < len(budgets):
        raise UsageError("budgets name a kind of guarantee twice, and charges count in one alone; pass one of each.")
    known = declared_in(ledger.entries(table))
    payload = {**(known or {}), "budgets": [budget.to_json() for budget in budgets]}

    def admit(entries: Sequence[Entry]) -> None:
        declared, old = declared_in(entries), budgets_of(entries)
        if declared is None:
            raise UsageError(f"table {table!r} has no budget in the ledger; pass the name of one that has.")
        if declared != known:
            raise LedgerError(f"another process declared table {table!r} meanwhile; look at the ledger, and try again.")
        if old == tuple(budgets):
            raise UsageError(f"table {table!r} has these budgets already; leave them as they are.")
        for place, own in enumerate(old):
            _check_grown(own, budgets[place] if place < len(budgets) else None)
        charges = charges_of(entries, budgets)
        for budget in budgets:
            account_of(budget, charges).replay(held_from(entries, budget, None))

    return ledger.append("budget", table, payload, admit=admit)


def _check_grown(old: Budget, new: Budget | None) -> None:
    """Refuse a budget in the place of another one that is not the same, but for a larger level."""
    promised = old.guarantee
    if new is None or new.guarantee.kind_name != promised.kind_name:
        raise UsageError(
            f"budgets must begin with those that stand, in their order, and {promised} is missing there; what was "
            "promised stays, so put new kinds behind it."
        )
    level, is_shared = new.guarantee.level, old.gaussian_share > 0
    if new.gaussian_share != old.gaussian_share or new.guarantee != promised.at_level(level, promised.delta):
        raise UsageError(
            f"budget {promised} may change in its {promised.level_name} alone; keep its delta, its other terms and "
            "its gaussian_share."
        )
    if level < promised.level or (is_shared and level != promised.level):
        raise UsageError(f"budget {promised} cannot become {new.guarantee}: {SHARED if is_shared else SMALLER}")


def set_apart(ledger: Ledger, table: str, other: str) -> Entry:
    """Let two tables of a ledger have budgets of their own, though they may read the same records; durably.

    A user's whole loss is then at most the sum of both, which ``emdp ledger show`` states at the user level.

    Parameters
    ----------
    table, other : str
        Their names; neither need have a budget yet.

    Raises
    ------
    UsageError
        If it is one name, or no name that a table can have.
    LedgerError
        If the ledger is damaged or cannot be written, or this user is no owner of it.

    >>> import tempfile
    >>> from emdp.ledger import open_ledger
    >>> with tempfile.TemporaryDirectory() as folder, open_ledger(f"{folder}/city.ledger") as ledger:
    ...     set_apart(ledger, "places", "visits").payload["apart"]
    'visits'
    """
    names = {entry.table for entry in ledger.entries()}
    for name in (table, other):
        if name not in names:
            check_table_name(name)
    if table == other or (table_key(table) == table_key(other) and not {table, other} <= names):
        raise UsageError(f"table {table!r} is one table with {other!r} to SQL; name two.")
    return ledger.append("redeclare", table, {"apart": other, "reveals": APART})
