"""Mixed messages: the theory's numbers, rounds composed as they should be, mixing changes nothing but the promise."""

import math

import numpy as np
import pytest

from emdp.base.errors import UsageError
from emdp.mechanisms.scalar.best import best_scalar
from emdp.mechanisms.scalar.one_bit import OneBitScalar, Signs
from emdp.mechanisms.user_mean.base import UserMeanSetting
from emdp.mechanisms.user_mean.local import BudgetSplit, OneRound, UserSplit
from emdp.mechanisms.user_mean.shuffle import ShuffledUserMean, shuffle_candidates
from emdp.privacy.rounding import as_decimal
from emdp.privacy.shuffle.users import ShuffleRound, shuffle_epsilon, shuffle_total
from emdp.testing import seeded

EXPONENT = 40


def wide(users: int, epsilon: float, delta: float = 1e-6) -> UserMeanSetting:
    return UserMeanSetting(users, -50, 50, epsilon, delta, "shuffle", spread=1.0, records=100)


class TestPromise:
    def test_theory(self) -> None:
        """local-shuffle-userlevel.md 2.3: n = 1e5, 1 a round, delta 1e-6: 0.03234 by clone pairs at half of delta."""
        setting = wide(10**5, 0.04)
        both = ShuffledUserMean(inner=BudgetSplit(setting=setting, first=1.0, second=1.0))
        assert 0.01 < both.epsilon < 0.0279 * 1.01
        assert (both.delta, both.epsilon0) == (1e-6, 2.0)
        sharper = ShuffledUserMean(inner=BudgetSplit(setting=setting, first=1.0, second=1.0, scalar=OneBitScalar))
        assert sharper.epsilon <= both.epsilon
        # The printed order of magnitude, with a constant of 1, is no bound.
        assert both.epsilon > math.sqrt(math.log(1e6) / 1e5)

    def test_one_message_costs_what_the_accountant_says(self) -> None:
        setting = wide(5000, 1.0)
        for scalar, kind in ((best_scalar, "any"), (OneBitScalar, "binary")):
            way = ShuffledUserMean(inner=OneRound(setting=setting, second=2.0, scalar=scalar))
            assert way.epsilon == shuffle_epsilon(2.0, 5000, 1e-6, randomizer=kind).epsilon

    def test_split_users_count_only_those_of_their_round(self) -> None:
        setting = wide(5000, 3.0)
        way = ShuffledUserMean(inner=UserSplit(setting=setting, first=2.0, second=2.0, chosen=500))
        few = shuffle_epsilon(2.0, 500, 1e-6, randomizer="place-sign").epsilon
        many = shuffle_epsilon(2.0, 4500, 1e-6).epsilon
        assert way.epsilon == max(few, many) == few
        # Counting all users for either round would promise too much.
        assert shuffle_epsilon(2.0, 5000, 1e-6, randomizer="place-sign").epsilon < 0.5 * way.epsilon

    def test_signs_that_are_mixed_apart_are_as_many_rounds(self) -> None:
        setting = wide(5000, 3.0)
        way = ShuffledUserMean(inner=OneRound(setting=setting, second=1.0, scalar=Signs(8)))
        assert way.epsilon == shuffle_epsilon(1.0, 5000, 1e-6, 8, randomizer="binary").epsilon
        assert 7.999 < way.epsilon0 <= 8.0
        assert (way.is_apart, way.bits_per_user) == (True, 8)
        both = ShuffledUserMean(inner=BudgetSplit(setting=setting, first=2.0, second=1.0, scalar=Signs(8)))
        rounds = ShuffleRound(2.0, 5000, "place-sign"), ShuffleRound(1.0, 5000, "binary", rounds=8)
        assert both.epsilon == shuffle_total(rounds, 1e-6).epsilon
        assert 9.999 < both.epsilon0 <= 10.0
        assert both.bits_per_user == 8 + (both.inner.stage.size - 1).bit_length()  # type: ignore[attr-defined]

    def test_too_strong_messages_are_refused(self) -> None:
        with pytest.raises(UsageError, match="once it is mixed"):
            ShuffledUserMean(inner=OneRound(setting=wide(5000, 0.1), second=3.0))


class TestCandidates:
    @pytest.mark.slow
    def test_all_keep_the_promise(self) -> None:
        setting = wide(4000, 0.5)
        ways = shuffle_candidates(setting)
        assert [type(way.inner) for way in ways] == [OneRound, OneRound, BudgetSplit, UserSplit]
        for way in ways:
            assert as_decimal(way.epsilon) <= as_decimal(0.5)
            assert way.delta <= 1e-6
            assert way.epsilon > 0.49
            assert 0.5 < way.epsilon0 < 80
            assert way.setting is setting
            assert "mixed" in way.name
            assert "mixed" in way.theorem
            assert dict(way.facts("user"))["shuffle"]
        one = min(way.expected_error for way in ways if isinstance(way.inner, OneRound))
        assert min(way.expected_error for way in ways) < 0.1 * one
        assert all(way.missed_range <= setting.failure for way in ways)

    @pytest.mark.slow
    def test_without_bins_there_is_one_round(self) -> None:
        ways = shuffle_candidates(UserMeanSetting(3000, 0.0, 1.0, 1.0, 1e-6, "shuffle"))
        assert [type(way.inner) for way in ways] == [OneRound, OneRound]

    def test_one_user_cannot_be_mixed(self) -> None:
        with pytest.raises(UsageError, match="at least 2"):
            shuffle_candidates(UserMeanSetting(1, 0.0, 1.0, 1.0, 1e-6, "shuffle"))


def test_mixing_changes_the_promise_alone() -> None:
    """Equal draws give equal estimates and intervals: only counts of messages enter, whose order mixing hides."""
    setting = wide(1200, 3.0)
    ways = (
        OneRound(setting=setting, second=3.0),
        BudgetSplit(setting=setting, first=1.5, second=1.5),
        UserSplit(setting=setting, first=2.0, second=3.0, chosen=400, scalar=OneBitScalar),
        BudgetSplit(setting=setting, first=1.5, second=0.6, scalar=Signs(4)),
    )
    values = np.rint(np.ldexp(np.random.default_rng(1).normal(3, 0.1, 1200), EXPONENT)).astype(np.int64)
    for inner in ways:
        way = ShuffledUserMean(inner=inner)
        with seeded(1):
            alone = inner.release(iter([values]), EXPONENT, 0)
        with seeded(1):
            mixed = way.release(iter([values]), EXPONENT, 0)
        assert mixed.mechanism is way
        assert (mixed.value, mixed.range, mixed.near) == (alone.value, alone.range, alone.near)
        assert mixed.interval(0.9) == alone.interval(0.9)
        assert (way.deviation, way.expected_error, way.missed_range, way.users_needed) == (
            inner.deviation,
            inner.expected_error,
            inner.missed_range,
            inner.users_needed,
        )


@pytest.mark.seventh
@pytest.mark.parametrize("users", [2, 3, 10, 100])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0])
def test_few_users_are_planned_within_the_budget(users: int, epsilon: float) -> None:
    for way in shuffle_candidates(wide(users, epsilon, 1e-3)):
        assert as_decimal(way.epsilon) <= as_decimal(epsilon)


@pytest.mark.slow
def test_the_error_of_signs_is_that_of_the_formula() -> None:
    """A simulation with power: 0.7 and 1.3 times the formula are more than five deviations away."""
    law, users, draws = Signs(16)(0.0, 1.0, 0.8), 400, 1000
    values = np.full(users, 0.3)
    given = np.rint(np.ldexp(values, EXPONENT)).astype(np.int64)
    with seeded(5):
        found = [float(law.estimate(law.total(law.encode(given, EXPONENT)), users)) for _ in range(draws)]
    z = math.tanh(0.4)
    expected = 0.25 * (1 / z**2 - 0.4**2) / 16 / users
    assert law.variance(0.3) == pytest.approx(expected * users, rel=1e-5)
    assert abs(np.mean(found) - 0.3) < 5 * math.sqrt(expected / draws)
    assert 0.83 < np.var(found) / expected < 1.17
    inside = sum(low <= 0.3 <= high for low, high in (law.interval(one, users, 0.9) for one in found))
    assert inside >= 0.88 * draws
