"""Gradients of users: against plain numpy, within the ball exactly, and of one user's records alone."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import emdp
from emdp.base.errors import InternalError
from emdp.mechanisms.descent import loss as descent_loss
from emdp.mechanisms.descent.loss import UserRecords, minimum, sampled_rows, user_gradients

EXPONENT = 38


def made(users: int = 60, features: int = 3, seed: int = 1, *, is_binary: bool = False) -> UserRecords:
    generator = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(generator.integers(1, 9, users))])
    numbers = np.vstack([np.ones(offsets[-1]), generator.uniform(-1, 1, (features, offsets[-1]))])
    truth = np.array([0.1, 0.6, -0.4, 0.2])[: features + 1]
    targets = np.clip(truth @ numbers + generator.normal(0, 0.2, offsets[-1]), -1, 1)
    return UserRecords(numbers, (targets > 0).astype(float) if is_binary else targets, offsets)


def plain(records: UserRecords, weights: Any, loss: str, clip: float) -> Any:
    margins = weights @ records.features
    slopes = (margins if loss == "squared" else 1 / (1 + np.exp(-margins))) - records.targets
    rows = (slopes * records.features).T
    rows = rows * np.minimum(1.0, clip / np.maximum(np.linalg.norm(rows, axis=1), 1e-300))[:, None]
    ends = records.offsets.tolist()
    return np.array([rows[a:b].mean(axis=0) for a, b in pairwise(ends)])


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("clip", [0.3, 3.0])
def test_gradients_are_those_of_plain_numpy(loss: Any, clip: float) -> None:
    records, weights = made(is_binary=loss == "logistic"), np.array([0.5, -0.7, 0.2, 0.9])
    found = np.ldexp(user_gradients(records, weights, loss=loss, clip=clip, exponent=EXPONENT).astype(float), -EXPONENT)
    assert np.allclose(found, plain(records, weights, loss, clip), atol=1e-9)


def test_gradients_are_slopes_of_the_loss() -> None:
    records, weights, step = made(), np.array([0.5, -0.7, 0.2, 0.9]), 1e-5
    share = np.repeat(1 / np.diff(records.offsets) / records.users, np.diff(records.offsets))

    def value(at: Any) -> float:
        return float(share @ (0.5 * (at @ records.features - records.targets) ** 2))

    found = user_gradients(records, weights, loss="squared", clip=99.0, exponent=30).mean(axis=0) / 2.0**30
    for place in range(4):
        moved = np.eye(4)[place] * step
        assert found[place] == pytest.approx((value(weights + moved) - value(weights - moved)) / (2 * step), abs=1e-6)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_whole_numbers_lie_in_the_ball_exactly(loss: Any) -> None:
    generator, clip = np.random.default_rng(3), 1.7
    exponent = 40 - 1
    numbers = np.vstack([np.ones(2000), generator.choice([-1.0, 1.0, 0.3], (5, 2000))])
    # Two records of a kind each, so that a user's mean may be as long as a record's gradient.
    records = UserRecords(
        np.repeat(numbers, 2, axis=1), np.repeat(generator.choice([0.0, 1.0], 2000), 2), np.arange(0, 4001, 2)
    )
    worst = 0
    for seed in range(3):
        weights = np.random.default_rng(seed).normal(0, 30, 6)
        for row in user_gradients(records, weights, loss=loss, clip=clip, exponent=exponent).tolist():
            worst = max(worst, sum(entry**2 for entry in row))
    bound = int(clip * 2**exponent) ** 2
    assert 0.999 * bound < worst <= bound


def test_means_are_cut_off_towards_zero() -> None:
    # In so coarse a unit rounding (7, 3) and (6, 5) to (7, 4), or downwards if negative, leaves the ball of radius 8.
    generator = np.random.default_rng(4)
    for sign in (-1.0, 1.0):
        numbers = np.vstack([np.ones(3000), generator.uniform(-1, 1, 3000)])
        records = UserRecords(numbers, np.full(3000, sign), np.arange(0, 3001, 2))
        rows = user_gradients(records, np.array([-9.0 * sign, 0.0]), loss="squared", clip=1.0, exponent=3)
        assert 50 < (rows**2).sum(axis=1).max() <= 64


def test_a_gradient_depends_on_its_own_user_alone() -> None:
    records, weights = made(), np.array([0.5, -0.7, 0.2, 0.9])
    other = made(seed=2)
    ends = records.offsets
    # The first 20 users are others, with other numbers of records, so that all that follow are elsewhere in memory.
    mixed = UserRecords(
        np.hstack([other.features[:, : other.offsets[20]], records.features[:, ends[20] :]]),
        np.concatenate([other.targets[: other.offsets[20]], records.targets[ends[20] :]]),
        np.concatenate([other.offsets[:20], ends[20:] - ends[20] + other.offsets[20]]),
    )
    for loss in ("squared", "logistic"):
        options: dict[str, Any] = {"loss": loss, "clip": 1.0, "exponent": EXPONENT}
        one, two = (user_gradients(which, weights, **options) for which in (records, mixed))
        assert np.array_equal(one[20:], two[20:])
        assert not np.array_equal(one[:20], two[:20])


def test_parts_of_users_and_small_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    records, weights = made(), np.array([0.5, -0.7, 0.2, 0.9])
    options: dict[str, Any] = {"loss": "squared", "clip": 1.0, "exponent": EXPONENT}
    whole = user_gradients(records, weights, **options)
    chosen = np.array([5, 3, 59, 0])
    assert np.array_equal(user_gradients(records, weights, users=chosen, **options), whole[chosen])
    monkeypatch.setattr(descent_loss, "_ROWS", 4)
    assert np.array_equal(user_gradients(records, weights, **options), whole)
    assert np.array_equal(user_gradients(records, weights, users=chosen, **options), whole[chosen])


def test_a_sample_of_rows_is_uniform_and_of_each_user_alone() -> None:
    from scipy.stats import chisquare

    sizes, cap = np.array([2, 10, 3]), 3
    with emdp.testing.seeded(5):
        kept = [sampled_rows(sizes, cap) for _ in range(4000)]
    counts = np.zeros(15)
    for rows in kept:
        assert rows is not None
        assert rows.tolist() == sorted(set(rows.tolist()))
        assert len(rows) == 8
        counts[rows] += 1
    assert (counts[[0, 1, 12, 13, 14]] == 4000).all()
    assert chisquare(counts[2:12]).pvalue > 1e-9
    # The same test refuses a sample that is 1.3 times as likely to hold one of the rows.
    planted = counts[2:12].copy()
    planted[0] *= 1.3
    assert chisquare(planted, np.full(10, planted.mean())).pvalue < 1e-9


def test_the_minimum_is_least_squares_inside_the_ball_and_on_its_end_outside() -> None:
    records = made(users=300)
    root = np.sqrt(np.repeat(1 / np.diff(records.offsets), np.diff(records.offsets)))
    least = np.linalg.lstsq((records.features * root).T, records.targets * root, rcond=None)[0]
    assert minimum(records, loss="squared", clip=99.0, radius=9.0) == pytest.approx(least, abs=1e-9)
    near = minimum(records, loss="squared", clip=99.0, radius=0.2)
    assert np.linalg.norm(near) == pytest.approx(0.2)
    slope = user_gradients(records, near, loss="squared", clip=99.0, exponent=30).mean(axis=0)
    # On the sphere the gradient points inwards, along the weights.
    assert slope / np.linalg.norm(slope) == pytest.approx(-near / 0.2, abs=1e-6)


def test_the_minimum_of_the_logistic_loss_has_no_slope() -> None:
    records = made(users=300, is_binary=True)
    found = minimum(records, loss="logistic", clip=99.0, radius=50.0)
    assert np.abs(plain(records, found, "logistic", 99.0).mean(axis=0)).max() < 1e-9


def test_records_without_users_are_a_bug() -> None:
    with pytest.raises(InternalError):
        UserRecords(np.ones((1, 3)), np.zeros(3), np.array([0, 2]))
    with pytest.raises(InternalError):
        UserRecords(np.ones((1, 3)), np.zeros(3), np.array([0, 0, 3]))
    assert repr(made()) == "UserRecords(hidden)"
