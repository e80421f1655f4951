"""Totals that a ledger's chain states of a table, read: what a budget had paid, and what was set aside in it, so far.

:mod:`emdp.budgets.totals` says what they are, states them and checks them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

from emdp.base.errors import LedgerError
from emdp.ledger import Entry
from emdp.ledger.entries import View
from emdp.privacy import Account, Budget

if TYPE_CHECKING:
    from emdp.privacy.account.periods import Sources

__all__ = ["SUMS", "Key", "Left", "Sums", "carried_account", "carried_left", "carried_shown", "carried_sources"]

Read = TypeVar("Read")

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

    return _stated(entries, budget, lambda own: _account(budget, own["count"], *(own[name] for name in SUMS)))


def carried_sources(entries: Sequence[Entry], budget: Budget) -> "tuple[int, Sources] | None":
    """Return what totals state of a budget per period, or history, and the sequence of their entry; else None."""
    # Loaded where it is needed.
    from emdp.privacy.account.periods import Sources

    def read(own: Mapping[str, Any]) -> Sources:
        told = own["sources"]
        each = {name: _account(budget, *sums) for name, *sums in told["each"]}
        if len(each) != len(told["each"]) or not all(isinstance(name, str) for name in each):
            raise ValueError
        return Sources(budget, _account(budget, *told["every"]), each)

    return _stated(entries, budget, read)


def _account(budget: Budget, count: object, *sums: object) -> Account:
    if type(count) is not int or count < 0:
        raise ValueError
    return Account(budget, count=count, **dict(zip(SUMS, _numbers(sums), strict=True)))


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

    def read(own: Mapping[str, Any]) -> Left:
        left: Left = {}
        for name, pair in own["held"].items():
            level, delta = _numbers(pair)
            left[name] = level, delta
        return left

    return _stated(entries, budget, read)


def carried_shown(entries: Sequence[Entry], budget: Budget) -> tuple[Sums, tuple[tuple[str, float], ...]] | None:
    """Return the sums and steps of a budget that totals state to be shown; None where they state none."""

    def read(own: Mapping[str, Any]) -> tuple[Sums, tuple[tuple[str, float], ...]] | None:
        shown = own.get("shown")
        if shown is None:
            return None
        sums: Sums = {}
        for period, report, query, count, *cost in shown["sums"]:
            level, delta = _numbers(cost)
            sums[_word(period), _word(report), str(query)] = int(count), level, delta
        return sums, tuple((str(label), float(level)) for label, level in shown["steps"])

    found = _stated(entries, budget, read)
    return None if found is None else found[1]


def _word(value: object) -> str | None:
    return None if value is None else str(value)


def _stated(
    entries: Sequence[Entry], budget: Budget, read: Callable[[Mapping[str, Any]], Read]
) -> tuple[int, Read] | None:
    """Return the entry's sequence, and what is read of a budget that is the same to the letter; None without one."""
    if not isinstance(entries, View) or entries.stated is None:
        return None
    try:
        found = [own for own in entries.stated["budgets"] if own["budget"] == budget.to_json()]
        return (entries.floor, read(found[0])) if found else None
    except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError):
        raise LedgerError(
            f"entry {entries.floor} states totals that are malformed; verify the ledger by emdp ledger verify."
        ) from None


def _numbers(texts: Iterable[object]) -> list[Fraction]:
    numbers = []
    for text in texts:
        if not isinstance(text, str):
            raise ValueError
        numbers.append(Fraction(text))
    if any(number < 0 for number in numbers):
        raise ValueError
    return numbers
