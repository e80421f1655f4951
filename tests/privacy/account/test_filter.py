"""The adaptive filter: exact totals, its theorem against the worst analyst, and the natural filter that fails."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from emdp.base.errors import BudgetExceededError, LedgerError, UsageError
from emdp.privacy import (
    UNLIMITED,
    Account,
    Budget,
    DiscreteEmdDP,
    EmdDP,
    Event,
    GaussianEvent,
    GuaranteeEvent,
    LaplaceEvent,
    UserDP,
    gaussian_alpha,
    gaussian_delta,
    gaussian_mu,
    gaussian_sigma,
    laplace_scale,
    price_batch,
)
from emdp.privacy.rounding import as_decimal

GRID = 2.0**-60
NOISE_PART = 1 - 1 / 1024 - 1e-3
"""Of the reserve's delta, with the default slack_limit."""


def other(alpha: float, delta: float = 0.0, slack: float = 0.0) -> GuaranteeEvent:
    return GuaranteeEvent(EmdDP(alpha, delta), "something", slack)


def laplace(alpha: float, slack: float = 1e-17) -> LaplaceEvent:
    return LaplaceEvent(alpha, 1, laplace_scale(alpha, 1.0), 1.0, GRID, slack)


def gaussian(alpha: float, delta: float, slack: float = 0.0, epsilon: float = 0.0) -> GaussianEvent:
    return GaussianEvent(alpha, delta, 1, gaussian_sigma(alpha, delta - slack), 1.0, GRID, epsilon, slack)


def charged(account: Account, event: Event, limit: int = 10_000) -> int:
    """How often an event can be charged before it is refused."""
    for count in range(limit):
        try:
            account = account.charge(event)
        except BudgetExceededError:
            return count
    return limit


def test_ten_tenths_fill_a_budget_and_nothing_more_fits() -> None:
    account = Account(Budget(EmdDP(1.0, 1e-8)))
    for _ in range(10):
        account = account.charge(other(0.1, 1e-9))
    assert account.spent == EmdDP(1.0, 1e-8)
    assert account.remaining == EmdDP(0.0)
    assert account.count == 10
    with pytest.raises(BudgetExceededError, match=r"alpha = 5e-324 and delta = 0\.0 are more than the budget"):
        account.charge(other(5e-324))


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(0.0, 0.5), st.floats(0.0, 1e-9)), max_size=30))
def test_the_accepted_charges_never_exceed_the_budget(asked: list[tuple[float, float]]) -> None:
    account = Account(Budget(EmdDP(1.0, 3e-9)))
    paid = []
    for alpha, delta in asked:
        fits = sum(as_decimal(a) for a, _ in paid) + as_decimal(alpha) <= 1 and sum(
            as_decimal(b) for _, b in paid
        ) + as_decimal(delta) <= as_decimal(3e-9)
        try:
            account = account.charge(other(alpha, delta))
            paid.append((alpha, delta))
        except BudgetExceededError:
            assert not fits
        else:
            assert fits
    assert as_decimal(account.spent.level) + as_decimal(account.remaining.level) <= 1 + Fraction(2) ** -52
    assert as_decimal(account.spent.level) >= sum(as_decimal(a) for a, _ in paid)
    assert as_decimal(account.remaining.level) <= 1 - sum(as_decimal(a) for a, _ in paid)


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from([0.0, 0.25, 0.9]),
    st.lists(st.sampled_from(["plain", "gauss", "laplace"]), max_size=5),
    st.sampled_from([other(0.3, 1e-8), gaussian(0.6, 1e-8, 1e-12), laplace(0.45, 1e-4), other(0.0, 1e-8)]),
)
def test_affordable_is_the_number_of_charges(share: float, earlier: list[str], event: Event) -> None:
    account = Account(Budget(EmdDP(10.0, 1e-6), gaussian_share=share))
    menu = {"plain": other(0.1, 1e-8), "gauss": gaussian(0.3, 1e-8), "laplace": laplace(0.2, 1e-6)}
    for name in earlier:
        account = account.charge(menu[name])
    assert account.affordable(event) == charged(account, event)


def test_a_free_release_is_always_affordable_and_counted() -> None:
    account = Account(Budget(EmdDP(1.0))).charge(other(1.0))
    assert account.affordable(other(0.0)) == UNLIMITED
    assert account.charge(other(0.0)).count == 2


def test_without_a_share_gaussians_cost_what_they_state() -> None:
    account = Account(Budget(EmdDP(10.0, 1e-6))).charge(gaussian(1.0, 1e-7))
    assert account.spent == EmdDP(1.0, 1e-7)
    assert account.gaussian_remaining == 0.0
    assert account.affordable(gaussian(1.0, 1e-7)) == 9


def test_the_reserve_takes_more_gaussians_than_sums_would() -> None:
    event = gaussian(1.0, 1e-8, 1e-20)
    plain, shared = (Account(Budget(EmdDP(20.0, 1e-6), gaussian_share=s)) for s in (0.0, 1.0))
    assert plain.affordable(event) == 20
    assert shared.affordable(event) > 150
    account = shared
    for _ in range(5):
        account = account.charge(event)
    squares = Fraction(shared.budget.mu_cap or 0) ** 2 - 5 * Fraction(event.mu) ** 2
    assert Fraction(account.gaussian_remaining) ** 2 <= squares
    assert account.gaussian_remaining == pytest.approx(math.sqrt(squares), rel=1e-15)
    assert account.remaining == EmdDP(0.0)


def test_the_cap_is_the_profile_of_the_share() -> None:
    budget = Budget(EmdDP(10.0, 1e-6), gaussian_share=0.4)
    assert budget.mu_cap == pytest.approx(gaussian_mu(4.0, NOISE_PART * 4e-7), rel=1e-12)
    assert math.exp(0.4e-3) * (6e-7 + 4e-7 / 1024 + gaussian_delta(4.0, budget.mu_cap)) <= 1e-6
    assert Account(budget).remaining == EmdDP(6.0, 6e-7)


def test_spent_counts_the_reserve_by_its_profile() -> None:
    budget = Budget(EmdDP(10.0, 1e-6), gaussian_share=0.5)
    event = gaussian(1.0, 1e-7)
    account = Account(budget).charge(event).charge(other(2.0, 1e-8))
    expected = 2.0 + gaussian_alpha(event.mu, NOISE_PART * 5e-7)
    assert account.spent.level == pytest.approx(expected, rel=1e-9)
    assert account.spent.delta == pytest.approx(5.1e-7)
    full = Account(budget, square=Fraction(budget.mu_cap or 0) ** 2)
    assert full.spent.level <= 5.0
    assert full.spent.level == pytest.approx(5.0, rel=1e-6)


def test_a_gaussian_that_no_longer_fits_the_reserve_is_paid_outside() -> None:
    account = Account(Budget(EmdDP(2.0, 1e-6), gaussian_share=0.5))
    event = gaussian(0.9, 4e-7)
    first = account.charge(event)
    assert first.remaining == account.remaining
    second = first.charge(event)
    assert second.remaining.level == pytest.approx(0.1)
    assert second.square == first.square
    with pytest.raises(BudgetExceededError, match="and mu = "):
        second.charge(event)


def test_a_batch_of_gaussians_may_use_the_reserve() -> None:
    account = Account(Budget(EmdDP(10.0, 1e-6), gaussian_share=0.5))
    batch = price_batch([gaussian(0.5, 1e-8)] * 3, 1e-7)
    after = account.charge(batch)
    assert after.remaining == account.remaining
    assert after.square >= 3 * Fraction(gaussian(0.5, 1e-8).mu) ** 2
    mixed = price_batch([gaussian(0.5, 1e-8), laplace(0.5)], 1e-7)
    assert account.charge(mixed).square == 0
    assert account.charge(mixed).level == as_decimal(mixed.alpha)


def test_slack_of_rounding_has_caps_of_its_own() -> None:
    account = Account(Budget(EmdDP(10.0, 1e-6), slack_limit=3e-12))
    for _ in range(3):
        account = account.charge(laplace(1.0, 1e-12))
    assert account.slack_epsilon == 3e-12
    assert account.remaining_slack == 0.0
    with pytest.raises(BudgetExceededError, match="left for rounding"):
        account.charge(laplace(1.0, 1e-12))
    reserve = Account(Budget(EmdDP(10.0, 1e-6), gaussian_share=1.0, slack_limit=1e-4))
    assert reserve.affordable(gaussian(0.1, 1e-7, 9e-10)) == 1
    assert reserve.affordable(gaussian(0.1, 1e-7, 1e-9)) == 0
    assert reserve.affordable(gaussian(0.1, 1e-7, 0.0, epsilon=3e-5)) == 3
    shared = Account(Budget(EmdDP(10.0, 1e-6), gaussian_share=0.25, slack_limit=4e-4))
    assert shared.remaining_slack == 3e-4
    after = shared.charge(gaussian(0.1, 1e-7, 0.0, epsilon=1e-4)).charge(laplace(1.0, 2e-4))
    assert after.slack_epsilon == 3e-4
    assert after.remaining_slack == 1e-4


def test_the_slack_of_real_gaussian_releases_fits_the_reserve() -> None:
    """The Gaussian mechanism states its rounding as an epsilon near 1e-11, more than a thousandth of many a delta."""
    account = Account(Budget(EmdDP(20.0, 1e-10), gaussian_share=0.5))
    event = gaussian(0.1, 1e-11, 1e-31, epsilon=1.1e-11)
    assert account.affordable(event) > 500
    assert account.charge(event).square > 0


def test_a_release_is_charged_to_a_budget_that_it_converts_to() -> None:
    event = gaussian(20.0, 1e-6)
    radius = Account(Budget(DiscreteEmdDP(2.0, 1e-5, 0.05), gaussian_share=0.5))
    assert radius.charge(event).square == (Fraction(event.mu) * Fraction(1, 20)) ** 2
    assert radius.charge(other(20.0)).spent == DiscreteEmdDP(1.0, 0.0, 0.05)
    assert Account(Budget(UserDP(30.0))).charge(other(20.0)).spent == UserDP(20.0)
    assert Account(Budget(EmdDP(1.0))).charge(GuaranteeEvent(EmdDP(1.0, model="local"))).spent == EmdDP(1.0)
    for budget, guarantee in (
        (EmdDP(1.0), UserDP(0.1)),
        (EmdDP(1.0), EmdDP(0.1, sizes="bounded")),
        (UserDP(1.0), EmdDP(0.1, sizes="bounded")),
        (DiscreteEmdDP(1.0, 0.0, 0.2), DiscreteEmdDP(0.1, 0.0, 0.1)),
    ):
        account = Account(Budget(budget))
        for ask in (account.charge, account.affordable):
            with pytest.raises(UsageError, match="is no"):
                ask(GuaranteeEvent(guarantee))


def test_from_charges_is_the_charges_one_by_one() -> None:
    budget = Budget(EmdDP(5.0, 1e-6), gaussian_share=0.5)
    charges = [gaussian(0.5, 1e-8), other(0.3), laplace(0.2, 1e-12), gaussian(2.0, 4e-7)]
    account = Account(budget)
    for event in charges:
        account = account.charge(event)
    assert Account.from_charges(budget, charges) == account
    assert Account.from_charges(budget, []) == Account(budget)


def test_charges_that_no_ledger_can_hold_are_a_damaged_ledger() -> None:
    with pytest.raises(LedgerError, match="charge 2 of the ledger is not covered"):
        Account.from_charges(Budget(EmdDP(1.0)), [other(0.6), other(0.6)])
    with pytest.raises(LedgerError, match="charge 1"):
        Account.from_charges(Budget(EmdDP(1.0)), [GuaranteeEvent(UserDP(0.1))])


def test_budget_json_keeps_the_cap() -> None:
    budget = Budget(EmdDP(10.0, 1e-6), gaussian_share=0.4)
    assert Budget.from_json(budget.to_json()) == budget
    smaller = Budget(EmdDP(10.0, 1e-6), gaussian_share=0.4, mu_cap=0.5)
    assert Budget.from_json(smaller.to_json()).mu_cap == 0.5
    with pytest.raises(UsageError, match=r"mu_cap = .* is more than"):
        Budget.from_json({**budget.to_json(), "mu_cap": (budget.mu_cap or 0) * (1 + 1e-6)})
    with pytest.raises(UsageError, match="exactly the fields"):
        Budget.from_json({"guarantee": EmdDP(1.0).to_json()})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Budget(EmdDP(0.0)), "the budget's alpha must be above 0"),
        (lambda: Budget(1.0), "guarantee must be a Guarantee"),
        (lambda: Budget(EmdDP(1.0), gaussian_share=0.5), "needs a budget with a delta"),
        (lambda: Budget(EmdDP(1.0, 1e-6), gaussian_share=1.5), "gaussian_share must be between"),
        (lambda: Budget(EmdDP(1.0), slack_limit=-1.0), "slack_limit must be between"),
        (lambda: Budget(EmdDP(1.0), mu_cap=0.5), "mu_cap must be 0 without"),
    ],
)
def test_malformed_budgets_are_named(make: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make()  # type: ignore[operator]


# The theorem against analysts who choose by what they saw. Two tables at distance 1: the first answer is a Gaussian
# draw of ratio mu_1, with density p on one table and q on the other; H_t of the whole is the integral of p times
# the larger H at t q/p that the analyst can still buy.

Y = np.linspace(-12.0, 16.0, 30_001)
WIDTH = Y[1] - Y[0]


def curve(t: np.ndarray, square: float) -> np.ndarray:
    """H_t of two unit Gaussians at squared distance ``square``."""
    if square <= 0:
        return np.maximum(0.0, 1 - t)
    mu, log_t = math.sqrt(square), np.log(np.maximum(t, 1e-300))
    upper = stats.norm.cdf(mu / 2 - log_t / mu)
    return np.maximum(upper - np.exp(log_t + stats.norm.logcdf(-mu / 2 - log_t / mu)), 0.0)


def plain_curve(t: np.ndarray, level: float, delta: float) -> np.ndarray:
    """H_t of the worst ``(level, delta)`` release: the randomised response that reveals all with probability delta."""
    high = 1 / (1 + math.exp(-level))
    pairs = ((high, 1 - high), (1 - high, high))
    return delta + (1 - delta) * sum(np.maximum(0.0, p - t * q) for p, q in pairs)


def after_gaussian(t: float, mu: float, *choices: object) -> float:
    p, q = stats.norm.pdf(Y - mu), stats.norm.pdf(Y)
    ratio = t * np.exp(-mu * Y + mu * mu / 2)
    best = np.maximum.reduce([choice(ratio) for choice in choices])  # type: ignore[operator]
    assert p @ np.ones_like(q) * WIDTH == pytest.approx(1.0, abs=1e-9)
    return float(p @ best * WIDTH)


@pytest.mark.parametrize("first", [0.2, 0.5, 0.8])
@pytest.mark.parametrize(("alpha", "delta"), [(2.0, 1e-2), (6.0, 1e-4), (1.0, 1e-6)])
def test_the_natural_filter_is_not_private(alpha: float, delta: float, first: float) -> None:
    """Charge plain deltas, and Gaussians at what delta is left: whoever decides after a first answer exceeds it."""
    whole = gaussian_mu(alpha, delta)
    mu = first * whole
    left = 0.999 * (delta - gaussian_delta(alpha, mu))
    assert gaussian_alpha(mu, delta - left) <= alpha, "the natural filter accepts the plain delta"
    reached = after_gaussian(
        math.exp(alpha),
        mu,
        lambda t: curve(t, whole**2 - mu**2),
        lambda t: plain_curve(t, 0.0, left),
    )
    fixed = after_gaussian(math.exp(alpha), mu, lambda t: curve(t, whole**2 - mu**2))
    assert fixed == pytest.approx(delta, rel=1e-3), "without a choice the bound is met"
    assert reached > 1.15 * delta


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("first", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("d", [0.1, 0.5, 1.0])
def test_our_filter_holds_against_the_same_analyst(share: float, first: float, d: float) -> None:
    """Any choice, after a Gaussian answer, among everything that the caps still allow: two rounds and all that is left.

    What follows the first answer is bought whole: the rest of the reserve, the plain part, or both together.
    """
    alpha, delta = 4.0, 1e-2
    budget = Budget(EmdDP(alpha, delta), gaussian_share=share)
    cap = budget.mu_cap or 0.0
    mu, rest = first * cap * d, cap**2 * (1 - first**2) * d**2
    level, plain = alpha * (1 - share) * d, delta * (1 - share)
    high = 1 / (1 + math.exp(-level))

    def both(t: np.ndarray) -> np.ndarray:
        pairs = ((high, math.exp(-level)), (1 - high, math.exp(level)))
        return plain + (1 - plain) * sum(mass * curve(t * ratio, rest) for mass, ratio in pairs)

    reached = after_gaussian(
        math.exp(alpha * d), mu, lambda t: curve(t, rest), lambda t: plain_curve(t, level, plain), both
    )
    assert reached <= delta
    # and it is no idle bound: at distance 1 the analyst gets a good part of it
    assert d < 1 or reached > 0.4 * delta


def test_the_induction_step_of_the_theorem() -> None:
    """One plain or Gaussian round never lifts the potential b + G(t e^-a, m), for any t and any state."""
    for a, b, m in ((1.0, 1e-2, 0.5), (3.0, 1e-3, 2.0), (0.3, 0.0, 0.1)):
        for t in np.exp(np.linspace(-3.0, 6.0, 19)):
            bound = b + curve(np.array([t * math.exp(-a)]), m)[0]
            for part in (0.0, 0.3, 1.0):
                level, delta = part * a, part * b
                high = 1 / (1 + math.exp(-level))
                after = sum(
                    mass * (b - delta + curve(np.array([t * ratio * math.exp(level - a)]), m)[0])
                    for mass, ratio in ((high, math.exp(-level)), (1 - high, math.exp(level)))
                )
                assert delta + (1 - delta) * after <= bound + 1e-12
                mu = math.sqrt(part * m)
                rest = after_gaussian(t, mu, lambda s: b + curve(s * math.exp(-a), (1 - part) * m))  # noqa: B023
                assert rest <= bound + 1e-7


def test_a_batch_is_charged_at_its_price_or_not_at_all() -> None:
    account = Account(Budget(EmdDP(10.0, 1e-5), gaussian_share=0.5))
    for batch in (price_batch([laplace(0.1)] * 50, 1e-6), price_batch([gaussian(0.1, 1e-8)] * 3, 1e-6)):
        cheaper = replace(batch, alpha=batch.alpha * 0.999)
        assert account.affordable(batch) > 0
        account.charge(batch)
        for ask in (account.charge, account.affordable):
            with pytest.raises(UsageError, match="less than the batch's events cost"):
                ask(cheaper)
        with pytest.raises(LedgerError, match="charge 1"):
            Account.from_charges(account.budget, [cheaper])


def test_what_is_no_event_is_not_charged() -> None:
    account = Account(Budget(EmdDP(1.0)))
    asked = (account.charge, account.affordable, lambda event: Account.from_charges(account.budget, [event]))
    for ask in asked:
        with pytest.raises(UsageError, match="events must hold events, not int"):
            ask(5)


REPLAYED: tuple[Event, ...] = (
    other(0.1),
    other(0.0, 1e-9),
    laplace(0.05),
    gaussian(0.2, 1e-8),
    gaussian(0.5, 1e-7, 1e-12, 1e-13),
)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from(REPLAYED), max_size=40), st.sampled_from([0.0, 0.3, 0.9]), st.integers(0, 5))
def test_charges_that_are_read_back_add_up_as_they_were_charged(events: list[Event], share: float, before: int) -> None:
    """All at once or one by one: the same totals, and the same refusal, where a reserve overflows too."""
    start = Account(Budget(EmdDP(2.0, 1e-6), gaussian_share=share))
    for event in REPLAYED[:before]:
        start = start.charge(event)
    single: Account | None = start
    for event in events:
        try:
            single = None if single is None else single.charge(event)
        except BudgetExceededError:
            single = None
    if single is None:
        with pytest.raises(LedgerError, match="is not covered by"):
            start.replay(events)
    else:
        assert start.replay(events) == single
