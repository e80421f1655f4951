"""The choice of a descent and its rounds, from public numbers."""

from dataclasses import replace

import pytest

from emdp.base.errors import RefusedError, UsageError
from emdp.mechanisms.descent import plan as descent_plan
from emdp.mechanisms.descent.central import CentralDescent
from emdp.mechanisms.descent.messages import MessageDescent
from emdp.mechanisms.descent.plan import GRID, NEAR, best_descent, descent_candidates
from emdp.mechanisms.descent.rounds import DescentSetting
from emdp.mechanisms.user_vector.base import UserVectorMechanism

CENTRAL = DescentSetting(3000, 3, "logistic", 1.8, 4.0, 1.0, 1e-6)


def test_the_fewest_rounds_near_the_least_bound() -> None:
    for found in descent_candidates(CENTRAL):
        assert isinstance(found, CentralDescent)
        bounds = {
            rounds: CentralDescent(CENTRAL, rounds, found.is_gaussian).expected_excess
            for rounds in GRID
            if rounds <= found.rounds
        }
        least = min(CentralDescent(CENTRAL, rounds, found.is_gaussian).expected_excess for rounds in GRID)
        assert bounds.pop(found.rounds) <= NEAR * least
        assert all(bound > NEAR * least for bound in bounds.values())


def test_gaussian_noise_needs_a_delta_and_is_better_with_one() -> None:
    gaussian = best_descent(CENTRAL)
    assert isinstance(gaussian, CentralDescent)
    assert gaussian.is_gaussian
    pure = best_descent(replace(CENTRAL, delta=0.0))
    assert isinstance(pure, CentralDescent)
    assert not pure.is_gaussian
    assert pure.expected_excess > 1.5 * gaussian.expected_excess
    # A delta that is too small for the grid's tails is of no use, and not spent.
    assert best_descent(replace(CENTRAL, delta=1e-60)).delta == 0


def test_every_candidate_keeps_to_the_budget() -> None:
    shuffled = replace(CENTRAL, model="shuffle")
    found = descent_candidates(shuffled, rounds=8)
    assert {getattr(one, "is_dealt", None) for one in found} == {True, False}
    for one in (*found, *descent_candidates(replace(CENTRAL, model="local", delta=0.0), rounds=8)):
        one.check_budget()
        assert one.rounds == 8
        assert one.epsilon > 0.9


@pytest.mark.slow
def test_messages_too_strong_for_the_accountant_are_made_weaker(monkeypatch: pytest.MonkeyPatch) -> None:
    # A search that returned 0.5 % too much, as its numerics allow.
    plain = descent_plan._shuffled_strength
    monkeypatch.setattr(descent_plan, "_shuffled_strength", lambda *options: plain(*options) * 1.005)
    for found in descent_candidates(replace(CENTRAL, model="shuffle"), rounds=8):
        assert 0.95 < found.epsilon <= 1.0


@pytest.mark.slow
def test_ranges_pay_only_where_users_have_many_records() -> None:
    few = DescentSetting(20_000, 3, "squared", 3.5, 1.0, 4.0, model="local", records=20, between=0.0)
    many = replace(few, records=20_000)
    assert not any(isinstance(one.law, UserVectorMechanism) for one in descent_candidates(few))  # type: ignore[attr-defined]
    best = best_descent(many, rounds=16)
    assert isinstance(best, MessageDescent)
    assert isinstance(best.law, UserVectorMechanism)
    assert best.law.setting.users == 1250
    # Nor is there one where nobody said how much users differ.
    unknown = replace(many, between=None)
    assert not any(isinstance(one.law, UserVectorMechanism) for one in descent_candidates(unknown, 16))  # type: ignore[attr-defined]
    # Users who differ by more than the ball is wide have no range.
    apart = replace(many, between=10.0)
    assert not any(isinstance(one.law, UserVectorMechanism) for one in descent_candidates(apart, 16))  # type: ignore[attr-defined]


def test_what_cannot_be_planned_is_refused() -> None:
    local = replace(CENTRAL, model="local", delta=0.0)
    with pytest.raises(UsageError, match="rounds must be at most the 3000 users"):
        descent_candidates(local, rounds=3001)
    with pytest.raises(UsageError, match="rounds must be at most 10000"):
        descent_candidates(CENTRAL, rounds=10_001)
    with pytest.raises(UsageError, match="rounds must be"):
        descent_candidates(CENTRAL, rounds=0)
    with pytest.raises(RefusedError, match="too small for messages"):
        descent_candidates(replace(local, epsilon=1e-9))


def test_a_round_of_one_user_is_mixed_with_nobody() -> None:
    setting = DescentSetting(3, 2, "squared", 1.0, 1.0, 4.0, 1e-6, "shuffle")
    found = descent_candidates(setting, rounds=2)
    assert found
    assert not any("dealt" in one.name for one in found)
