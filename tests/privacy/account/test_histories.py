"""A promise about a whole history: the mean of its periods' distances, what is charged for it, and streams."""

import itertools
import math
import random
from collections.abc import Sequence

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from emdp.base.errors import BudgetExceededError, LedgerError, UsageError
from emdp.mechanisms.streams.mechanism import StreamMechanism
from emdp.mechanisms.streams.strategy import SCALE, Strategy
from emdp.privacy import (
    Account,
    Budget,
    EmdDP,
    GaussianEvent,
    GuaranteeEvent,
    UserDP,
    convert,
    converts_to,
    guarantee_from_json,
)
from emdp.privacy.account.periods import SourceCharge, Sources, check_history, history_account
from emdp.privacy.calibration import gaussian_delta


def history(alpha: float, periods: int, delta: float = 0.0) -> Budget:
    return Budget(EmdDP(alpha, delta, unit="history", periods=periods))


def charged(budget: Budget, charges: Sequence[SourceCharge]) -> Sources:
    return Sources(budget, Account(budget)).after(charges)


def charge(alpha: float, *periods: str, delta: float = 0.0) -> SourceCharge:
    return SourceCharge(GuaranteeEvent(EmdDP(alpha, delta)), periods or None)


def test_known_answers() -> None:
    """Levels 3, 5, 4: per user 12, per period 5, and 3 times 5 per history of three; a second version adds."""
    charges = [charge(3.0, "W1"), charge(5.0, "W2"), charge(4.0, "W3")]
    assert history_account(history(100.0, 3), charges).spent.level == 15.0
    assert history_account(history(100.0, 3), charges, ["W1"]).spent.level == 9.0
    versions = [charge(2.0, "W1"), charge(3.0, "W1")]
    assert history_account(history(100.0, 1), versions).spent.level == 5.0
    # 100 slots a week, two weeks, the mean of W1 at alpha 20: the record of W1 moved by the diameter.
    loss = 2 * 20.0 * (1 / (2 * 100))
    assert loss == pytest.approx(0.2)


@pytest.mark.parametrize("seed", range(40))
def test_the_mean_of_distances_is_that_of_labelled_histories(seed: int) -> None:
    """Labels at distance 1, every period of the mass 1/T, slots that may be empty: the best assignment of all slots."""
    draw = random.Random(seed)
    count, slots, rho = draw.choice([2, 3]), draw.choice([1, 2, 3]), draw.choice([0.5, 1.0])
    one, other = ([[draw.choice([0.0, 0.4, 1.0, None]) for _ in range(slots)] for _ in range(count)] for _ in range(2))

    def distance(x: float | None, y: float | None) -> float:
        return (0.0 if x is y else rho) if x is None or y is None else abs(x - y)

    def best(left: list[tuple[int, float | None]], right: list[tuple[int, float | None]]) -> float:
        cost = np.array([[1.0 if s != t else distance(x, y) for t, y in right] for s, x in left])
        return float(cost[linear_sum_assignment(cost)].sum() / len(left))

    labelled = [[(week, x) for week, bag in enumerate(own) for x in bag] for own in (one, other)]
    each = [best([(0, x) for x in left], [(0, y) for y in right]) for left, right in zip(one, other, strict=True)]
    assert best(*labelled) == pytest.approx(sum(each) / count, abs=1e-12)


@pytest.mark.parametrize("apart", [1.0, 2.0])
def test_shares_that_differ_cost_twice_as_much(apart: float) -> None:
    """Histories of any sizes, labels at distance 1 or 2: a record that changes its week moves both, at distance 1."""
    draw = random.Random(5)

    def distance(left: list[tuple[int, float]], right: list[tuple[int, float]]) -> float:
        if not left or not right:
            return 0.0 if left == right else 1.0
        size = math.lcm(len(left), len(right))
        one, other = ([own for own in bag for _ in range(size // len(bag))] for bag in (left, right))
        cost = np.array([[abs(x - y) if s == t else apart for t, y in other] for s, x in one])
        return float(cost[linear_sum_assignment(cost)].sum() / size)

    def weighed(one: list[tuple[int, float]], other: list[tuple[int, float]]) -> float:
        total = 0.0
        for week in range(3):
            left, right = ([own for own in bag if own[0] == week] for bag in (one, other))
            total += max(len(left) / len(one), len(right) / len(other)) * distance(left, right)
        return total

    worst = 0.0
    for _ in range(400):
        one, other = (
            [(draw.randrange(3), draw.choice([0.0, 0.4, 1.0])) for _ in range(draw.choice([1, 2, 3, 4]))] for _ in "ab"
        )
        whole = distance(one, other)
        assert weighed(one, other) <= (2.0 / apart) * whole + 1e-9
        worst = max(worst, weighed(one, other) / whole if whole else 0.0)
    moved = [(0, 0.4)], [(1, 0.4)]
    assert (weighed(*moved), distance(*moved)) == (2.0, apart)
    assert worst == pytest.approx(2.0 / apart)


@pytest.mark.quarter
@pytest.mark.parametrize("seed", range(200))
def test_no_loss_is_above_what_was_charged(seed: int) -> None:
    draw = random.Random(seed)
    count = draw.randint(1, 6)
    names = [f"W{week}" for week in range(count)]
    charges = [charge(draw.uniform(0.1, 5), draw.choice(names)) for _ in range(draw.randint(1, 12))]
    spent = history_account(history(1e4, count), charges).spent.level
    for _ in range(50):
        moved = {name: draw.choice([0.0, draw.random(), 1.0]) for name in names}
        loss = sum(one.event.guarantee.level * moved[(one.periods or ("",))[0]] for one in charges)
        assert loss <= spent * sum(moved.values()) / count * (1 + 1e-12)


def test_deltas_and_slacks_are_those_of_all_periods() -> None:
    charges = [
        SourceCharge(GuaranteeEvent(EmdDP(1.0, 1e-9), "one", slack_epsilon=1e-6), (name,)) for name in ("W1", "W2")
    ]
    found = history_account(history(100.0, 2, 1e-6), charges, ["W1"])
    assert (found.spent.level, found.spent.delta, found.slack_epsilon) == (2.0, 2e-9, 2e-6)
    with pytest.raises(BudgetExceededError):
        check_history(charged(history(100.0, 2, 2e-9), charges), [GuaranteeEvent(EmdDP(0.1, 1e-10))], ["W1"])


def test_squares_of_gaussian_noise_are_the_largest_period_s() -> None:
    def gaussian(mu: float) -> GaussianEvent:
        return GaussianEvent(10.0, 1e-6, 1, 1.0, mu, 2.0**-40, 1e-11, 1e-30)

    budget = Budget(EmdDP(60.0, 1e-4, unit="history", periods=3), gaussian_share=1.0)
    charges = [SourceCharge(gaussian(mu), (name,)) for mu, name in ((0.5, "W1"), (0.3, "W1"), (0.6, "W2"))]
    found = history_account(budget, charges)
    assert float(found.square) == pytest.approx(9 * max(0.5**2 + 0.3**2, 0.6**2), rel=1e-9)
    assert found.level == 0
    draw = random.Random(1)
    for _ in range(200):
        one, two = draw.random(), draw.random()
        shift = (0.5 * one) ** 2 + (0.3 * one) ** 2 + (0.6 * two) ** 2
        assert shift <= float(found.square) * ((one + two) / 3) ** 2 * (1 + 1e-9)


def test_a_history_has_no_further_period() -> None:
    charges = [charge(1.0, "W1"), charge(1.0, "W2")]
    check_history(charged(history(100.0, 2), charges), [GuaranteeEvent(EmdDP(1.0))], ["W2"])
    with pytest.raises(BudgetExceededError, match="W3"):
        check_history(charged(history(100.0, 2), charges), [GuaranteeEvent(EmdDP(0.1))], ["W3"])
    with pytest.raises(BudgetExceededError, match="W3"):
        check_history(charged(history(100.0, 3), charges[:1]), [GuaranteeEvent(EmdDP(0.1))], ["W1", "W2", "W4", "W3"])


@pytest.mark.quarter
@pytest.mark.parametrize("seed", range(10))
def test_in_pieces_or_at_once_a_history_has_the_same(seed: int) -> None:
    draw = random.Random(seed)
    budget = Budget(EmdDP(600.0, 1e-4, unit="history", periods=4), gaussian_share=0.5)
    gaussian = GaussianEvent(10.0, 1e-6, 1, 1.0, 0.1, 2.0**-40, 1e-11, 1e-30)
    events = [GuaranteeEvent(EmdDP(0.25, 1e-9), "one", slack_epsilon=1e-9), GuaranteeEvent(EmdDP(0.7)), gaussian]
    names = [("W1",), ("W2",), ("W3", "W4"), ("W1", "W3")]
    charges = [SourceCharge(draw.choice(events), draw.choice(names)) for _ in range(30)]
    for place in range(0, 30, 7):
        found = charged(budget, charges[:place]).after(charges[place:])
        assert found == charged(budget, charges)
        for period in ("W1", "W4", "W9", None):
            assert found.account(period) == history_account(budget, charges, None if period is None else [period])


def test_a_charge_of_no_period_is_none_of_it() -> None:
    """The month's distance is bounded by no mean of its weeks': W1 {a} becomes {a, a}, weeks 0, the month a sixth."""
    with pytest.raises(LedgerError):
        history_account(history(100.0, 2), [charge(1.0)])


class TestConversions:
    """What follows from what."""

    YEAR = EmdDP(104.0, 1e-9, unit="history", periods=52)

    def test_levels(self) -> None:
        assert convert(EmdDP(2.0, 1e-9), self.YEAR) == self.YEAR
        assert convert(self.YEAR, EmdDP(0.0)) == EmdDP(104.0, 1e-9)
        assert convert(self.YEAR, EmdDP(0.0, unit="period")) == EmdDP(2.0, 1e-9, unit="period")
        assert convert(self.YEAR, UserDP(0.0)) == UserDP(104.0, 1e-9)
        assert convert(self.YEAR, EmdDP(0.0, unit="history", periods=104)).level == 208.0

    def test_what_does_not_follow(self) -> None:
        assert not converts_to(self.YEAR, EmdDP(0.0, unit="history", periods=51))
        assert not converts_to(EmdDP(2.0, unit="period"), self.YEAR)
        assert not converts_to(UserDP(1.0), self.YEAR)
        assert not converts_to(EmdDP(1.0, sizes="bounded"), self.YEAR)

    def test_each_holds_for_all_distances(self) -> None:
        draw = random.Random(3)
        for _ in range(500):
            moved = [draw.choice([0.0, draw.random(), 1.0]) for _ in range(4)]
            mean = sum(moved) / 4
            assert mean <= max(moved)
            assert max(moved) <= 4 * mean * (1 + 1e-15)

    def test_json_and_checks(self) -> None:
        assert guarantee_from_json(self.YEAR.to_json()) == self.YEAR
        assert "periods" not in EmdDP(1.0).to_json()
        assert "periods" not in EmdDP(1.0, unit="period").to_json()
        for wrong in (
            {"unit": "history"}, {"periods": 3}, {"unit": "period", "periods": 3}, {"unit": "history", "periods": 0},
            {"unit": "history", "periods": 2, "model": "local"},
        ):  # fmt: skip
            with pytest.raises(UsageError):
                EmdDP(1.0, **wrong)  # type: ignore[arg-type]


class TestStreams:
    """Rows of a stream between histories, all of whose periods may differ."""

    @pytest.mark.parametrize("figures", ["days", "totals", "both"])
    def test_no_change_of_rows_is_larger(self, figures: str) -> None:
        """Every change of four periods by steps of a third, of either sign, against the bound at its mean distance."""
        strategy, periods = Strategy.of(figures, 4), 4  # type: ignore[arg-type]
        own = StreamMechanism(strategy, periods, "history", 1.0, 1, 5.0, 1e-6)
        bound = own.mu("history") * own.sigma
        largest = 0.0
        for change in itertools.product((-3, -1, 0, 2, 3), repeat=periods):
            if not any(change):
                continue
            rows = [own.exact_rows([(value,) for value in change[:place]]) for place in range(1, periods + 1)]
            norm = math.sqrt(sum(entry**2 for row in rows for block in row for entry in block)) / SCALE / 3
            largest = max(largest, norm / (sum(map(abs, change)) / 3 / periods))
        assert largest <= bound * (1 + 1e-12)
        assert largest >= bound * 0.999

    def test_exact_profile_at_the_farthest(self) -> None:
        own = StreamMechanism(Strategy.of("totals", 12), 12, "history", 0.1, 1, 4.0, 1e-6)
        assert gaussian_delta(4.0, own.mu("history")) <= 1e-6
        assert own.mu("history") == pytest.approx(12 * own.mu("period"), rel=1e-12)
        # Level 4 a history of twelve is a third of a period at a time: far more noise than for one period.
        week = StreamMechanism(Strategy.of("totals", 12), 12, "period", 0.1, 1, 4.0, 1e-6)
        assert own.sigma / week.sigma == pytest.approx(12, rel=1e-6)

    def test_several_streams_and_answers_add_up_in_squares(self) -> None:
        """Minkowski: shifts of releases, some on one period, some on all, against the largest period's squares."""
        draw = np.random.default_rng(5)
        for _ in range(200):
            releases, periods = int(draw.integers(1, 5)), int(draw.integers(1, 5))
            shift = draw.uniform(0, 1, size=(releases, periods)) * (draw.uniform(size=(releases, periods)) < 0.7)
            moved = draw.uniform(0, 1, size=periods)
            total = float(np.sum((shift @ moved) ** 2))
            assert total <= np.sum(moved) ** 2 * np.max(np.sum(shift**2, axis=0)) * (1 + 1e-12)
