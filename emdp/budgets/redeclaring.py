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
from emdp.ledger import Entry, Ledger

__all__ = ["redeclare", "redeclare_as", "set_apart"]

REVEALS = {
    "space": "which records lie outside the domain that was or is declared",
    "user": "whether the columns name the same people",
    "users": "whether somebody who was added or left out has records, or how many people have",
    "records": "whether everybody has the declared number of records",
    "view": "whether the rows that it leaves keep to the rules, which any condition on them may be put into",
    "links": "whether values of the keys stand once, and whether each link names a row",
}
"""Rules, each with what its change may tell: whether the records keep to the new rule is answered for nothing."""

APART = "what is asked of the same records in both names, whose budgets add up"


def redeclare(
    ledger: Ledger, table: str, rules: Mapping[str, Any], *, period: str | None = None, carried: Sequence[str] = ()
) -> Entry:
    """Change what a ledger holds a table to, durably.

    Parameters
    ----------
    ledger : Ledger
        Open for writing.
    table : str
        The table's name in the ledger.
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


def set_apart(ledger: Ledger, table: str, other: str) -> Entry:
    """Let two tables of a ledger have budgets of their own, though they may read the same records; durably.

    A user's whole loss is then at most the sum of both, which ``emdp ledger show`` states at the user level.

    Parameters
    ----------
    ledger : Ledger
        Open for writing.
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
