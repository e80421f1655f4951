"""A budget's ends to the last float: what fills it fits, and one float more of anything is refused."""

import math
from dataclasses import replace

import pytest

from emdp.base.errors import BudgetExceededError
from emdp.privacy import Account, Budget, EmdDP, GaussianEvent, GuaranteeEvent


def event(alpha: float, delta: float = 0.0, slack: float = 0.0) -> GuaranteeEvent:
    return GuaranteeEvent(EmdDP(alpha, delta), "something", slack)


@pytest.mark.parametrize(("alpha", "delta", "slack"), [(0.7, 0.0, 0.0), (0.0, 7e-9, 0.0), (0.0, 0.0, 7e-4)])
@pytest.mark.parametrize("first", [0.0, 0.3])
def test_one_float_more_than_is_left_is_refused(alpha: float, delta: float, slack: float, first: float) -> None:
    budget = Budget(EmdDP(1.0, 1e-8), slack_limit=1e-3)
    account = Account(budget).charge(event(0.3 if first else 0.0, 3e-9 if first else 0.0, 3e-4 if first else 0.0))
    filled = event(
        *(
            one if first or one == 0 else whole
            for one, whole in zip((alpha, delta, slack), (1.0, 1e-8, 1e-3), strict=True)
        )
    )
    assert account.affordable(filled) == 1
    account.charge(filled)
    over = [
        math.nextafter(one, math.inf) if one > 0 else one
        for one in (filled.guarantee.alpha, filled.guarantee.delta, filled.slack_epsilon)
    ]
    assert account.affordable(event(*over)) == 0
    with pytest.raises(BudgetExceededError):
        account.charge(event(*over))


def test_one_float_more_of_gaussian_noise_is_refused() -> None:
    account = Account(Budget(EmdDP(1.0, 1e-8), gaussian_share=1.0))
    cap = account.gaussian_remaining
    # The reserve counts its ratio alone; alpha and delta are far above what the rest of the budget holds.
    whole = GaussianEvent(5.0, 0.5, 1, 1.0, cap, 2.0**-60, 1e-15, 0.0)
    assert whole.mu == cap
    assert account.affordable(whole) == 1
    filled = account.charge(whole)
    assert filled.gaussian_remaining == 0.0
    with pytest.raises(BudgetExceededError):
        account.charge(replace(whole, mu=math.nextafter(cap, math.inf)))
    with pytest.raises(BudgetExceededError):
        filled.charge(replace(whole, sensitivity=1e-12, mu=1e-12))
