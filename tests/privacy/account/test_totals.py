"""What the accounts of a ledger amount to at the user level."""

import pytest

from emdp.base.errors import UsageError
from emdp.privacy import (
    Account,
    Budget,
    DiscreteEmdDP,
    EmdDP,
    GuaranteeEvent,
    Total,
    UserDP,
    promised_as_user,
    total_as_user,
)


def spent(budget: EmdDP | UserDP, *levels: float, slack: float = 0.0) -> Account:
    charges = [GuaranteeEvent(budget.at_level(level, 1e-10), "", slack) for level in levels]
    return Account.from_charges(Budget(budget), charges)


def test_tables_and_kinds_add_up_as_user_level_privacy() -> None:
    places = spent(EmdDP(60.0, 1e-8), 0.1, 0.2, slack=1e-12)
    words = spent(EmdDP(5.0, 1e-8), 0.4)
    sums = spent(UserDP(2.0, 1e-8), 0.3, slack=1e-11)
    assert total_as_user([places, words, sums]) == Total(UserDP(1.0, 4e-10), 1.2e-11)


def test_the_promise_is_the_sum_of_the_budgets() -> None:
    budgets = [Budget(EmdDP(3.0, 1e-8), slack_limit=1e-6), Budget(UserDP(0.5, 1e-9, model="local"), slack_limit=0)]
    assert promised_as_user(budgets) == Total(UserDP(3.5, 1.1e-8), 1e-6)


def test_kinds_without_a_user_level_form_are_refused() -> None:
    for guarantee in (EmdDP(1.0, sizes="bounded"), DiscreteEmdDP(1.0, 0.0, 0.1)):
        with pytest.raises(UsageError, match="is no central UserDP"):
            total_as_user([Account(Budget(guarantee))])
    with pytest.raises(UsageError, match="at least one"):
        total_as_user([])
