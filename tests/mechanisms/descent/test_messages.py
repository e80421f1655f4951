"""Descent from messages: users dealt out once, exact guarantees of small descents, and planted mistakes."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import emdp
from emdp.base.errors import UsageError
from emdp.mechanisms.descent.loss import UserRecords, user_gradients
from emdp.mechanisms.descent.messages import MessageDescent
from emdp.mechanisms.descent.plan import best_descent
from emdp.mechanisms.descent.rounds import DescentSetting
from emdp.mechanisms.user_vector.plan import UserVectorSetting, best_user_vector
from emdp.mechanisms.vector.best import best_vector
from emdp.mechanisms.vector.direction import VectorDirection
from emdp.mechanisms.weights import TOTAL
from emdp.privacy.shuffle.users import shuffle_epsilon, shuffle_epsilon0


def local(users: int = 100, **options: Any) -> DescentSetting:
    return DescentSetting(users, 3, "squared", 2.5, 1.0, 2.0, model="local", **options)


def test_users_are_dealt_to_one_round_each() -> None:
    descent = MessageDescent(local(), 7, best_vector(2.0, 3, 2.5, 2.0, 14))
    with emdp.testing.seeded(1):
        rounds = descent._dealt()
        others = descent._dealt()
    assert [len(users) for users in rounds if users is not None] == [14] * 7
    everybody = np.concatenate([users for users in rounds if users is not None])
    assert len(set(everybody.tolist())) == 98
    assert not np.array_equal(everybody, np.concatenate([users for users in others if users is not None]))


def ratio_of_two_rounds(is_dealt: bool, epsilon: float) -> float:
    """The largest log-ratio of the probabilities of all messages, over tables of two users that differ in one.

    Weights are one number; each user sends one sign. What the second user is asked depends on the first one's sign.
    """
    setting = DescentSetting(2, 1, "squared", 1.0, 1.0, epsilon, model="local")
    law = VectorDirection(1, 1.0, epsilon, 1, reports=1)
    tables = [np.array(pair) for pair in itertools.product((-1.0, 0.25, 1.0), repeat=2)]
    asked = ((0,), (1,)) if is_dealt else ((0, 1), (0, 1))

    def chance(targets: Any, signs: tuple[int, ...]) -> Fraction:
        records = UserRecords(np.ones((1, 2)), targets, np.array([0, 1, 2]))
        weight, product, left = np.zeros(1), Fraction(1), list(signs)
        for users in asked:
            rows = user_gradients(records, weight, loss="squared", clip=1.0, exponent=30, users=np.array(users))
            step = 0.0
            for value in (rows[:, 0] * 2.0**-30).tolist():
                up = Fraction(int(law.strength.numerators(np.array([value]))[0]), TOTAL)
                sign = left.pop(0)
                product *= up if sign > 0 else 1 - up
                step += sign * float(law.strength.contrast) / len(users)
            weight = np.clip(weight - 0.5 * step, -setting.radius, setting.radius)
        return product

    worst = 0.0
    for one, two in itertools.product(tables, repeat=2):
        if np.count_nonzero(one != two) != 1:
            continue
        for signs in itertools.product((-1, 1), repeat=2 if is_dealt else 4):
            worst = max(worst, math.log(chance(one, signs) / chance(two, signs)))
    return worst


def test_dealt_rounds_that_depend_on_one_another_cost_one_message() -> None:
    assert 0.9 < ratio_of_two_rounds(True, 1.0) <= 1.0 + 1e-12
    # Planted: everybody in both rounds, charged once.
    assert ratio_of_two_rounds(False, 1.0) > 1.5


def test_local_messages_are_pure() -> None:
    descent = MessageDescent(local(), 10, best_vector(2.0, 3, 2.5, 2.0, 10))
    assert descent.epsilon == descent.law.epsilon <= 2.0
    assert descent.epsilon > 2.0 - 1e-9
    assert descent.delta == 0
    assert descent.event.guarantee.model == "local"  # type: ignore[attr-defined]
    stronger = MessageDescent(local(), 10, best_vector(2.0, 3, 2.5, 3.0, 10))
    with pytest.raises(UsageError, match="epsilon of the rounds comes to"):
        stronger.check_budget()


def test_shuffled_rounds_count_their_own_users() -> None:
    setting = DescentSetting(3200, 3, "squared", 2.5, 1.0, 1.0, 1e-6, "shuffle")
    strength = shuffle_epsilon0(1.0, 100, 1e-6)
    descent = MessageDescent(setting, 32, best_vector(2.0, 3, 2.5, strength, 100))
    assert descent.epsilon == shuffle_epsilon(descent.law.epsilon, 100, 1e-6).epsilon <= 1.0
    descent.check_budget()
    # Planted: an epsilon0 for all users at once, where only 100 of them hide each other.
    wrong = MessageDescent(setting, 32, best_vector(2.0, 3, 2.5, shuffle_epsilon0(1.0, 3200, 1e-6), 100))
    assert wrong.epsilon > 1.5
    with pytest.raises(UsageError, match="comes to"):
        wrong.check_budget()


def test_everybody_in_every_shuffled_round_composes() -> None:
    setting = DescentSetting(3200, 3, "squared", 2.5, 1.0, 1.0, 1e-6, "shuffle")
    strength = shuffle_epsilon0(1.0, 3200, 1e-6, rounds=4)
    descent = MessageDescent(setting, 4, best_vector(2.0, 3, 2.5, strength, 3200), is_dealt=False)
    assert descent.epsilon == shuffle_epsilon(descent.law.epsilon, 3200, 1e-6, rounds=4).epsilon <= 1.0
    once = shuffle_epsilon0(1.0, 3200, 1e-6)
    wrong = MessageDescent(setting, 4, best_vector(2.0, 3, 2.5, once, 3200), is_dealt=False)
    assert wrong.epsilon > 1.5
    with pytest.raises(UsageError, match="must be dealt to rounds"):
        MessageDescent(local(), 1, best_vector(2.0, 3, 2.5, 2.0, 100), is_dealt=False)


def test_a_law_for_all_users_is_refused_in_a_round_of_some() -> None:
    # Planted: tau, and so the range, from n in place of k.
    inner = UserVectorSetting(100, (-2.5,) * 3, (2.5,) * 3, 2.0, model="local", radius=2.5, records=10**5, failure=1e-3)
    law = best_user_vector(inner)
    MessageDescent(local(), 1, law)
    with pytest.raises(UsageError, match="rounds must leave the users"):
        MessageDescent(local(), 10, law)
    with pytest.raises(UsageError, match="rounds must leave the users"):
        MessageDescent(local(), 101, best_vector(2.0, 3, 2.5, 2.0, 1))


def alike(users: int, records: int, seed: int = 0) -> UserRecords:
    generator = np.random.default_rng(seed)
    count = users * records
    numbers = np.vstack([np.ones(count), generator.uniform(-1, 1, (2, count))])
    targets = np.clip(0.5 * numbers[1] - 0.3 * numbers[2] + generator.normal(0, 0.1, count), -1, 1)
    return UserRecords(numbers, targets, np.arange(0, count + 1, records))


def test_range_then_mean_rounds_are_made_for_the_users_of_a_round() -> None:
    setting = DescentSetting(4000, 3, "squared", 2.5, 1.0, 4.0, model="local", records=4000, between=0.0)
    descent = best_descent(setting, rounds=4)
    assert isinstance(descent, MessageDescent)
    assert descent.law.setting.users == 1000  # type: ignore[union-attr]
    assert descent.law.setting.failure == pytest.approx(0.01 / 4)  # type: ignore[union-attr]
    assert descent.law.setting.radius == 2.5  # type: ignore[union-attr]
    one_shot = MessageDescent(setting, 4, best_vector(2.0, 3, 2.5, 4.0, 1000))
    assert descent.noise < 0.8 * one_shot.noise
    descent.check_budget()
    # A user's 500 records here are alike enough to stand for 4,000.
    rows = user_gradients(alike(1000, 500), np.zeros(3), loss="squared", clip=2.5, exponent=setting.exponent)
    truth = rows.mean(axis=0) * 2.0**-setting.exponent
    with emdp.testing.seeded(2):
        errors = [float(np.sum((descent._estimate(rows) - truth) ** 2)) for _ in range(20)]
    assert 0.1 * descent.noise**2 < np.mean(errors) < 1.5 * descent.noise**2


def test_messages_find_the_minimum_and_the_wrong_sign_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    setting = DescentSetting(20_000, 3, "squared", 2.5, 1.0, 8.0, model="local")
    descent = MessageDescent(setting, 50, best_vector(2.0, 3, 2.5, 8.0, 400))
    records, truth = alike(20_000, 3), np.array([0.0, 0.5, -0.3])
    with emdp.testing.seeded(2):
        found = descent.release(records).weights
    with emdp.testing.seeded(2):
        assert descent.release(records).weights == found
    assert np.linalg.norm(np.array(found) - truth) < 0.25
    plain = MessageDescent._estimate
    monkeypatch.setattr(MessageDescent, "_estimate", lambda self, gradients: -plain(self, gradients))
    with emdp.testing.seeded(2):
        assert np.linalg.norm(np.array(descent.release(records).weights) - truth) > 0.5
