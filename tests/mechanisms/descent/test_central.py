"""Central descent: what all rounds cost together, by a second accountant that catches planted mistakes."""

import math
from fractions import Fraction

import numpy as np
import pytest

import emdp
from emdp.base.errors import InternalError, UsageError
from emdp.mechanisms.descent.central import CentralDescent
from emdp.mechanisms.descent.loss import UserRecords, user_gradients
from emdp.mechanisms.descent.messages import MessageDescent
from emdp.mechanisms.descent.rounds import DescentSetting
from emdp.mechanisms.vector.best import best_vector
from emdp.privacy import GaussianEvent, UserDP, gaussian_delta, laplace_scale

SETTING = DescentSetting(500, 3, "squared", 2.5, 1.0, 1.5, 1e-6)


def priced(sigma: float, rounds: int, setting: DescentSetting = SETTING) -> float:
    """Delta at the setting's epsilon of so many rounds of Gaussian noise on gradients of replaced users."""
    shift = 2 * setting.clip / setting.users / sigma
    return gaussian_delta(setting.epsilon, math.sqrt(rounds) * shift)


@pytest.mark.parametrize("rounds", [1, 7, 200])
def test_gaussian_rounds_cost_exactly_what_is_charged(rounds: int) -> None:
    descent = CentralDescent(SETTING, rounds, True)
    assert descent.event.guarantee == UserDP(1.5, 1e-6)
    assert isinstance(descent.event, GaussianEvent)
    assert 0.999e-6 < priced(descent.law.scale, rounds) <= 1e-6
    assert descent.event.mu == pytest.approx(math.sqrt(rounds) * 2 * 2.5 / 500 / descent.law.scale)
    assert Fraction(descent.law.sensitivity) ** 2 >= rounds * (Fraction(2) * Fraction(2.5) / 500) ** 2
    assert descent.slack_epsilon < 1e-9


def test_planted_mistakes_cost_more_than_is_charged() -> None:
    sound = CentralDescent(SETTING, 50, True).law.scale
    one_round = CentralDescent(SETTING, 1, True).law.scale
    half = CentralDescent(DescentSetting(500, 3, "squared", 1.25, 1.0, 1.5, 1e-6), 50, True).law.scale
    assert priced(sound, 50) <= 1e-6
    assert priced(one_round, 50) > 1e-2  # charged for one round only
    assert priced(half, 50) > 1e-4  # noise for C/n in place of 2 C/n
    assert priced(sound * 0.99, 50) > 1.05e-6


def test_laplace_rounds_add_up_in_the_1_norm() -> None:
    setting = DescentSetting(500, 3, "squared", 2.5, 1.0, 1.5)
    descent = CentralDescent(setting, 20, False)
    least = laplace_scale(1.5, 20 * 2 * 2.5 * math.sqrt(3) / 500)
    assert least * (1 - 1e-12) <= descent.law.scale < least * (1 + 1e-9)
    assert descent.event.guarantee == UserDP(1.5)
    assert descent.delta == 0


def records_of(users: int, seed: int = 0) -> UserRecords:
    generator = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(generator.integers(1, 5, users))])
    numbers = np.vstack([np.ones(offsets[-1]), generator.uniform(-1, 1, (2, offsets[-1]))])
    return UserRecords(numbers, np.clip(numbers[1] * 0.5 - numbers[2] * 0.3, -1, 1), offsets)


def test_one_user_moves_the_mean_gradient_by_twice_the_clip_over_n_at_most() -> None:
    users, clip, exponent = 10, 0.5, 40
    base = records_of(users)
    moved = []
    for seed in range(20):
        other = records_of(users, seed=seed + 1)
        ends, new = base.offsets, other.features[:, : other.offsets[1]]
        sign = 1.0 if seed % 2 else -1.0
        mixed = UserRecords(
            np.hstack([new, base.features[:, ends[1] :]]),
            np.concatenate([np.full(new.shape[1], sign), base.targets[ends[1] :]]),
            np.concatenate([[0], ends[1:] - ends[1] + new.shape[1]]),
        )
        weights = np.array([3.0, 0.5, -3.0])
        means = [
            user_gradients(one, weights, loss="squared", clip=clip, exponent=exponent).sum(axis=0) / users
            for one in (base, mixed)
        ]
        moved.append(float(np.linalg.norm(means[0] - means[1])) / 2.0**exponent)
    assert max(moved) <= 2 * clip / users
    assert max(moved) > 0


def test_noise_has_the_stated_law() -> None:
    from scipy.stats import chisquare, norm

    descent = CentralDescent(DescentSetting(5, 500, "squared", 2.5, 1.0, 1.5, 1e-6), 10, True)
    with emdp.testing.seeded(9):
        zero = np.zeros((5, 500), dtype=np.int64)
        draws = np.concatenate([descent._estimate(zero) for _ in range(40)])
    edges = norm.ppf(np.linspace(0, 1, 21))
    for factor, is_true in ((1.0, True), (0.7, False), (1.3, False)):
        counts = np.histogram(draws / (descent.law.scale * factor), edges)[0]
        assert (chisquare(counts).pvalue > 1e-9) == is_true


@pytest.mark.parametrize("is_gaussian", [True, False])
def test_rounds_find_the_minimum_and_the_wrong_sign_does_not(
    is_gaussian: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = DescentSetting(2000, 3, "squared", 2.5, 1.0, 20.0, 1e-6 if is_gaussian else 0.0)
    descent, records = CentralDescent(setting, 100, is_gaussian), records_of(2000)
    with emdp.testing.seeded(4):
        first, again = descent.release(records), None
    with emdp.testing.seeded(4):
        again = descent.release(records)
    assert first.weights == again.weights
    assert first.weights == pytest.approx((0.0, 0.5, -0.3), abs=0.08)
    plain = CentralDescent._estimate
    monkeypatch.setattr(CentralDescent, "_estimate", lambda self, gradients: -plain(self, gradients))
    with emdp.testing.seeded(4):
        assert np.linalg.norm(np.array(descent.release(records).weights) - (0.0, 0.5, -0.3)) > 0.5


def test_what_does_not_fit_is_refused() -> None:
    descent = CentralDescent(SETTING, 10, True)
    with pytest.raises(InternalError):
        descent.release(records_of(499))
    with pytest.raises(UsageError, match="model must be 'local' or 'shuffle'"):
        MessageDescent(SETTING, 1, best_vector(2.0, 3, 2.5, 1.0, 500))
    assert "10, of 500 users" in dict(descent.facts("user"))["rounds"]
