"""Totals that a ledger's chain states of a table, read: what a budget had paid, and what was set aside in it, so far.

:mod:`emdp.budgets.totals` says what they are, states them and checks them.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from emdp.base.errors import LedgerError
from emdp.ledger import Entry
from emdp.ledger.entries import View
from emdp.privacy import Account, Budget

__all__ = ["SUMS", "Key", "Left", "Sums", "carried_account", "carried_left", "carried_shown"]

SUMS = ("level", "delta", "slack", "square", "reserve_delta", "reserve_slack")
"""Sums of an account."""

Left = dict[str, tuple[Fraction, Fraction]]
"""Level and delta that are outstanding, by the name that they are set aside for."""


Key = tuple[str | None, str | None, str]
"""Period, report and query of a charge."""

Sums = dict[Key, tuple[int, Fraction, Fraction]]
"""Number of charges, level and delta, by what they were for."""


def carried_account(entries: Sequence[Entry], budget: Budget) -> tuple[int, Account] | None:
    """Return a budget's account as totals state it, and the sequence of their entry; None where they do not.

    Raises
    ------
    LedgerError
        If what is stated is malformed.

    >>> from emdp.privacy import EmdDP
    >>> carried_account([], Budget(EmdDP(1.0))) is None
    True
    """
    found = _stated(entries, budget)
    if found is None:
        return None
    floor, own = found
    try:
        count, sums = own["count"], dict(zip(SUMS, _numbers(own[name] for name in SUMS), strict=True))
        if type(count) is not int or count < 0:
            raise ValueError
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        raise _malformed(floor) from None
    return floor, Account(budget, count=count, **sums)


def carried_left(entries: Sequence[Entry], budget: Budget) -> tuple[int, Left] | None:
    """Return what totals state to be outstanding of a budget, and the sequence of their entry; None where they do not.

    Raises
    ------
    LedgerError
        If what is stated is malformed.

    >>> from emdp.privacy import EmdDP
    >>> carried_left([], Budget(EmdDP(1.0))) is None
    True
    """
    found = _stated(entries, budget)
    if found is None:
        return None
    floor, own = found
    try:
        left = {name: _numbers(pair) for name, pair in own["held"].items()}
        if any(len(pair) != 2 for pair in left.values()):
            raise ValueError
    except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError):
        raise _malformed(floor) from None
    return floor, {name: (pair[0], pair[1]) for name, pair in left.items()}


def carried_shown(entries: Sequence[Entry], budget: Budget) -> tuple[Sums, tuple[tuple[str, float], ...]] | None:
    """Return the sums and steps of a budget that totals state to be shown; None where they state none.

    Raises
    ------
    LedgerError
        If what is stated is malformed.
    """
    found = _stated(entries, budget)
    shown = None if found is None else found[1].get("shown")
    if found is None or shown is None:
        return None
    try:
        sums: Sums = {}
        for period, report, query, count, *cost in shown["sums"]:
            level, delta = _numbers(cost)
            sums[_word(period), _word(report), str(query)] = int(count), level, delta
        steps = tuple((str(label), float(level)) for label, level in shown["steps"])
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        raise _malformed(found[0]) from None
    return sums, steps


def _word(value: object) -> str | None:
    return None if value is None else str(value)


def _stated(entries: Sequence[Entry], budget: Budget) -> tuple[int, Mapping[str, Any]] | None:
    """Return what is stated of a budget that is the same to the letter."""
    if not isinstance(entries, View) or entries.stated is None:
        return None
    try:
        found = [own for own in entries.stated["budgets"] if own["budget"] == budget.to_json()]
    except (KeyError, TypeError):
        raise _malformed(entries.floor) from None
    return (entries.floor, found[0]) if found else None


def _numbers(texts: Iterable[object]) -> list[Fraction]:
    numbers = []
    for text in texts:
        if not isinstance(text, str):
            raise ValueError
        numbers.append(Fraction(text))
    if any(number < 0 for number in numbers):
        raise ValueError
    return numbers


def _malformed(sequence: int) -> LedgerError:
    return LedgerError(f"entry {sequence} states totals that are malformed; verify the ledger by emdp ledger verify.")
