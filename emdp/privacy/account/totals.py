"""Sums over the tables and kinds of a ledger, stated at the user level, where ground metrics meet."""

from collections.abc import Iterable, Sequence
from fractions import Fraction

from emdp.base.errors import UsageError
from emdp.privacy.account.budget import Budget
from emdp.privacy.account.composition import Total
from emdp.privacy.account.filter import Account
from emdp.privacy.guarantees.conversions import convert
from emdp.privacy.guarantees.kinds import Guarantee, UserDP
from emdp.privacy.rounding import as_decimal, float_up

__all__ = ["promised_as_user", "total_as_user"]


def total_as_user(accounts: Iterable[Account]) -> Total:
    """Return what all of a ledger's accounts have spent together, as an ordinary user-level guarantee.

    Accounts of different tables have different ground metrics, which add up only at the user level (EMD 7). If one
    of them is by removal the total is too, since replacement implies it at the same price.

    Raises
    ------
    UsageError
        If there is no account, or one's kind says nothing at the user level (bounded or discrete).

    >>> from emdp.privacy.events.table import GuaranteeEvent
    >>> from emdp.privacy.guarantees.kinds import EmdDP
    >>> first = Account(Budget(EmdDP(1.0))).charge(GuaranteeEvent(EmdDP(0.5)))
    >>> second = Account(Budget(UserDP(1.0))).charge(GuaranteeEvent(UserDP(0.25)))
    >>> print(total_as_user([first, second]))
    epsilon = 0.75, delta = 0.0 (central UserDP)
    """
    return _as_user([(account.spent, account.slack + account.reserve_slack) for account in accounts])


def promised_as_user(budgets: Iterable[Budget]) -> Total:
    """Return what several budgets promise together, as an ordinary user-level guarantee.

    >>> from emdp.privacy.guarantees.kinds import EmdDP
    >>> print(promised_as_user([Budget(EmdDP(1.0), slack_limit=0), Budget(UserDP(0.5), slack_limit=0)]))
    epsilon = 1.5, delta = 0.0 (central UserDP)
    """
    return _as_user([(budget.guarantee, as_decimal(budget.slack_limit)) for budget in budgets])


def _as_user(terms: Sequence[tuple[Guarantee, Fraction]]) -> Total:
    if not terms:
        raise UsageError("a sum over tables needs at least one; pass the ledger's accounts.")
    # What holds by replacement holds by removal, and the other way it would double.
    removal = UserDP(0.0, neighbours="remove")
    kind = removal if any(guarantee.kind == removal for guarantee, _ in terms) else UserDP(0.0)
    stated = [convert(guarantee, kind) for guarantee, _ in terms]
    level = sum((as_decimal(guarantee.level) for guarantee in stated), Fraction(0))
    delta = sum((as_decimal(guarantee.delta) for guarantee in stated), Fraction(0))
    slack = sum((slack for _, slack in terms), Fraction(0))
    return Total(kind.at_level(float_up(level), float_up(delta)), float_up(slack))
