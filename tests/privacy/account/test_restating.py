"""Releases by removal in accounts by replacement, and the other way: prices, slack, reserves, batches, totals."""

import math
from fractions import Fraction

import pytest

from emdp.base.errors import BudgetExceededError, UsageError
from emdp.budgets.spending import cost_of
from emdp.mechanisms import GaussianMechanism, LaplaceMechanism
from emdp.privacy import (
    Account,
    Budget,
    EmdDP,
    GuaranteeEvent,
    Total,
    UserDP,
    compose,
    price_batch,
    promised_as_user,
    total_as_user,
)
from emdp.privacy.account.restating import restated

REMOVAL, REPLACEMENT = UserDP(0, neighbours="remove"), UserDP(0)


def removal(epsilon: float, delta: float = 0.0, slack: float = 0.0) -> GuaranteeEvent:
    return GuaranteeEvent(UserDP(epsilon, delta, neighbours="remove"), "", slack)


def test_a_budget_by_replacement_pays_removal_twice() -> None:
    account = Account(Budget(UserDP(2.0, 1e-6)))
    charged = account.charge(removal(0.5, 1e-9, 1e-12))
    assert charged.spent.level == 1.0
    assert charged.spent.delta == pytest.approx(1e-9 * (1 + math.exp(0.5)), rel=1e-10)
    assert charged.slack == Fraction(2, 10**12)
    assert account.affordable(removal(0.5)) == 2
    with pytest.raises(BudgetExceededError, match=r"epsilon = 2\.2 .* more than the budget has left"):
        account.charge(removal(1.1))
    assert cost_of(removal(0.5), account.budget) == (1, 0)


def test_a_budget_by_removal_pays_replacement_once() -> None:
    account = Account(Budget(UserDP(2.0, 1e-6, neighbours="remove")))
    charged = account.charge(GuaranteeEvent(UserDP(0.5, 1e-9), "", 1e-12)).charge(removal(0.5, 1e-9))
    assert charged.spent == UserDP(1.0, 2e-9, neighbours="remove")
    assert charged.slack == Fraction(1, 10**12)
    assert account.charge(GuaranteeEvent(EmdDP(2.0))).spent.level == 2.0


def test_slack_is_in_the_exponent_of_the_new_delta() -> None:
    found = restated(removal(1.0, 1e-3, 0.5), REPLACEMENT)
    assert found.slack_epsilon == 1.0
    assert found.guarantee.level == 2.0
    assert found.guarantee.delta >= 1e-3 * (1 + math.exp(1.5))
    assert restated(removal(1.0), REMOVAL) == removal(1.0)
    assert restated(GuaranteeEvent(UserDP(1.0)), REMOVAL) == GuaranteeEvent(UserDP(1.0))
    with pytest.raises(UsageError, match="nothing is left"):
        restated(removal(10.0, 1e-3), REPLACEMENT)


def test_the_gaussian_reserve_is_for_its_own_neighbours() -> None:
    mechanism = GaussianMechanism(sensitivity=1.0, alpha=0.5, delta=1e-7)
    for own in (REMOVAL, REPLACEMENT):
        account = Account(Budget(own.at_level(4.0, 1e-5), gaussian_share=0.5))
        assert account.charge(mechanism.event(own)).square > 0
    # twice the mu of one step would be sound of the ideal pair alone: it is charged as a plain guarantee
    account = Account(Budget(UserDP(4.0, 1e-5), gaussian_share=0.5)).charge(mechanism.event(REMOVAL))
    assert account.square == 0
    assert account.level == 1


def test_batches_compose_in_their_kind_and_are_stated_in_the_other() -> None:
    events = [LaplaceMechanism(sensitivity=1.0, alpha=0.25).event(REMOVAL)] * 4
    batch = price_batch(events)
    assert batch.guarantee == UserDP(1.0, neighbours="remove")
    assert Account(Budget(UserDP(2.0))).charge(batch).spent.level == 2.0
    assert compose(events, kind=REPLACEMENT).guarantee == UserDP(2.0)
    assert compose([*events, GuaranteeEvent(UserDP(1.0))], kind=REMOVAL).guarantee == UserDP(2.0, neighbours="remove")
    mixed = [GuaranteeEvent(UserDP(0.5)), removal(0.25)]
    with pytest.raises(UsageError, match="must be of one kind"):
        price_batch(mixed)


def test_a_total_with_a_removal_in_it_is_by_removal() -> None:
    spent = [Account(Budget(kind.at_level(3.0, 0.0))) for kind in (EmdDP(0), REPLACEMENT, REMOVAL)]
    spent = [one.charge(GuaranteeEvent(one.budget.guarantee.at_level(0.5, 0.0))) for one in spent]
    assert total_as_user(spent).guarantee == UserDP(1.5, neighbours="remove")
    assert total_as_user(spent[:2]) == Total(UserDP(1.0), 0.0)
    assert promised_as_user([one.budget for one in spent]).guarantee == UserDP(9.0, neighbours="remove")
