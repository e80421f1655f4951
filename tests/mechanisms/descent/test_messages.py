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
from emdp.mechanisms.descent.messages import MessageDescent, rounded_participation
from emdp.mechanisms.descent.plan import best_descent
from emdp.mechanisms.descent.rounds import DescentSetting
from emdp.mechanisms.user_vector.plan import UserVectorSetting, best_user_vector
from emdp.mechanisms.vector.best import best_vector
from emdp.mechanisms.vector.direction import VectorDirection
from emdp.mechanisms.vector.one_bit import VectorOneBit
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


def directions(strength: float, users: int, reports: int = 1) -> VectorDirection:
    return VectorDirection(3, 2.5, strength * reports, users, reports=reports)


def test_reports_that_are_mixed_apart_are_as_many_rounds() -> None:
    setting = DescentSetting(3200, 3, "squared", 2.5, 1.0, 1.0, 1e-6, "shuffle")
    for is_dealt, users, sent in ((True, 400, 4), (False, 3200, 32)):
        strength = shuffle_epsilon0(1.0, users, 1e-6, rounds=sent, randomizer="place-sign")
        descent = MessageDescent(setting, 8, directions(strength, users, 4), is_dealt)
        found = shuffle_epsilon(strength, users, 1e-6, rounds=sent, randomizer="place-sign").epsilon
        assert found * 0.999 < descent.epsilon <= found * (1 + 1e-12) <= 1.0 + 1e-12
        assert descent.is_apart
        assert descent.unmixed == pytest.approx(strength * sent)
        assert descent.bits_per_user == sent * 63
    # several reports in one message of another law are no rounds of place-sign messages
    bits = VectorOneBit(3, 2.5, 4 * strength, 3200, norm=2.0, blocks=2)
    whole = MessageDescent(setting, 8, bits, is_dealt=False)
    assert whole.epsilon == shuffle_epsilon(bits.epsilon, 3200, 1e-6, rounds=8).epsilon


@pytest.mark.quarter
@pytest.mark.parametrize("way", [{"sampled": 400}, {"participation": rounded_participation(0.3)}])
def test_users_drawn_anew_cost_what_is_charged(way: dict[str, Any]) -> None:
    setting = DescentSetting(3200, 3, "squared", 2.5, 1.0, 1.0, 1e-6, "shuffle")
    strength = shuffle_epsilon0(1.0, 3200, 1e-6, rounds=8, randomizer="place-sign", **way)
    law = directions(strength, way.get("sampled", 3200))
    descent = MessageDescent(setting, 8, law, False, **way)
    own = shuffle_epsilon(law.epsilon, 3200, 1e-6, rounds=8, randomizer="place-sign", **way)
    assert 0.99 < descent.epsilon == own.epsilon <= 1.0
    assert descent.is_apart
    assert descent.users_a_round == way.get("sampled", 960)
    with emdp.testing.seeded(3):
        rounds, again = descent._dealt(), descent._dealt()
    sizes = [len(users) for users in rounds if users is not None]
    assert len(sizes) == 8
    assert all(len(set(users.tolist())) == len(users) for users in rounds if users is not None)
    assert not np.array_equal(rounds[0], rounds[1])
    assert not np.array_equal(rounds[0], again[0])
    if "sampled" in way:
        assert set(sizes) == {400}
    else:
        # six deviations, and numbers that differ
        assert all(abs(size - 960) < 6 * math.sqrt(960 * 0.7) for size in sizes)
        assert len(set(sizes)) > 1


@pytest.mark.quarter
@pytest.mark.parametrize("way", [{"sampled": 60}, {"participation": rounded_participation(0.3)}])
def test_the_error_of_a_round_of_users_drawn_anew(way: dict[str, Any]) -> None:
    """The mean squared error over its formula, with power: 0.7 and 1.3 times it are some fifteen deviations away."""
    users, clip, draws = 200, 2.5, 3000
    setting = DescentSetting(users, 2, "squared", clip, 1.0, 20.0, 1e-3, "shuffle")
    descent = MessageDescent(
        setting, 1, VectorDirection(2, clip, 1.5, way.get("sampled", users), reports=1), False, **way
    )
    angles = np.linspace(0.0, 2.0, users)
    vectors = clip * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    gradients = np.rint(np.ldexp(vectors, setting.exponent)).astype(np.int64)
    mean, errors = vectors.mean(axis=0), []
    with emdp.testing.seeded(11):
        for _ in range(draws):
            (chosen,) = descent._dealt()
            errors.append(float(np.sum((descent._estimate(gradients[chosen]) - mean) ** 2)))
    # at vectors as long as the clip messages lose their squared length; sampling has the spread around the mean
    told = descent.noise**2 - clip**2 / (way.get("sampled") or way["participation"] * users)
    spread = clip**2 - float(mean @ mean)
    expected = told + (spread * (users - 60) / (60 * (users - 1)) if "sampled" in way else descent.choosing**2)
    assert descent.choosing >= math.sqrt(max(expected - told, 0.0)) * (1 - 1e-9)
    assert 0.93 < np.mean(errors) / expected < 1.07


def test_users_who_cannot_be_drawn_so_are_refused() -> None:
    setting = DescentSetting(3200, 3, "squared", 2.5, 1.0, 1.0, 1e-6, "shuffle")
    some, all_users = directions(1.0, 400), directions(1.0, 3200)
    for make in (
        lambda: MessageDescent(setting, 8, some, True, sampled=400),
        lambda: MessageDescent(setting, 8, directions(1.0, 400, 2), False, sampled=400),
        lambda: MessageDescent(setting, 8, some, False, sampled=3201),
        lambda: MessageDescent(setting, 8, some, False, sampled=500),
        lambda: MessageDescent(setting, 8, all_users, False, participation=0.1),
        lambda: MessageDescent(setting, 8, all_users, False, participation=2.0**-10),
        lambda: MessageDescent(setting, 8, all_users, False, participation=1.0),
        lambda: MessageDescent(setting, 8, some, False, sampled=400, participation=0.5),
        lambda: MessageDescent(setting, 8, some, False, participation=0.5),
    ):
        with pytest.raises(UsageError):
            make()


def test_nobody_who_joins_moves_nothing() -> None:
    setting = DescentSetting(3200, 3, "squared", 2.5, 1.0, 1.0, 1e-6, "shuffle")
    descent = MessageDescent(setting, 2, directions(1.0, 3200), False, participation=0.5)
    assert descent._estimate(np.zeros((0, 3), dtype=np.int64)).tolist() == [0.0] * 3


def test_shuffled_rounds_count_their_own_users() -> None:
    setting = DescentSetting(3200, 3, "squared", 2.5, 1.0, 1.0, 1e-6, "shuffle")
    strength = shuffle_epsilon0(1.0, 100, 1e-6, randomizer="place-sign")
    descent = MessageDescent(setting, 32, directions(strength, 100))
    assert descent.epsilon == shuffle_epsilon(descent.law.epsilon, 100, 1e-6, randomizer="place-sign").epsilon <= 1.0
    descent.check_budget()
    # Planted: an epsilon0 for all users at once, where only 100 of them hide each other.
    stronger = shuffle_epsilon0(1.0, 3200, 1e-6, randomizer="place-sign")
    wrong = MessageDescent(setting, 32, directions(stronger, 100))
    assert wrong.epsilon > 1.5
    with pytest.raises(UsageError, match="comes to"):
        wrong.check_budget()


def test_everybody_in_every_shuffled_round_composes() -> None:
    setting = DescentSetting(3200, 3, "squared", 2.5, 1.0, 1.0, 1e-6, "shuffle")
    strength = shuffle_epsilon0(1.0, 3200, 1e-6, rounds=4, randomizer="place-sign")
    descent = MessageDescent(setting, 4, directions(strength, 3200), is_dealt=False)
    own = shuffle_epsilon(descent.law.epsilon, 3200, 1e-6, rounds=4, randomizer="place-sign")
    assert descent.epsilon == own.epsilon <= 1.0
    once = shuffle_epsilon0(1.0, 3200, 1e-6, randomizer="place-sign")
    wrong = MessageDescent(setting, 4, directions(once, 3200), is_dealt=False)
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


@pytest.mark.slow
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
