"""Sides of directions of users' vectors: what they promise and err, and that a ball is served by nothing else."""

import math
from typing import Any

import numpy as np
import pytest

import emdp
from emdp.base.errors import UsageError
from emdp.expressions import col
from emdp.mechanisms.user_vector.central import CentralUserVector
from emdp.mechanisms.user_vector.directions import DirectionUserVector, direction_ways
from emdp.mechanisms.user_vector.plan import best_user_vector, user_vector_candidates
from emdp.mechanisms.user_vector.setting import UserVectorSetting, ball_of
from emdp.mechanisms.vector.mixed_directions import MixedDirections
from emdp.privacy.shuffle.users import ShuffleRound, shuffle_epsilon0, shuffle_total
from emdp.questions import user_mean
from emdp.spaces import Interval, Product


def ball(users: int, dimension: int, epsilon: float, model: str, **more: Any) -> UserVectorSetting:
    bounds = (-1.0,) * dimension, (1.0,) * dimension
    delta = 1e-5 if model != "local" else 0.0
    return UserVectorSetting(users, *bounds, epsilon, delta, model, radius=1.0, **more)


@pytest.mark.parametrize("model", ["local", "shuffle"])
def test_what_is_promised_is_the_accountants(model: str) -> None:
    (way,) = direction_ways(ball(1000, 8, 1.0, model))
    assert 0.99 < way.epsilon <= 1.0
    way.check_budget()
    if model == "local":
        assert (way.delta, way.epsilon0, way.is_apart) == (0.0, way.epsilon, False)
        return
    assert isinstance(way.law, MixedDirections)
    assert (way.delta, way.is_apart, way.reports > 1) == (1e-5, True, True)
    assert (
        way.epsilon
        == shuffle_total([ShuffleRound(way.law.each_epsilon, 1000, "place-sign", rounds=way.reports)], 1e-5).epsilon
    )
    assert way.epsilon0 == pytest.approx(way.reports * way.law.each_epsilon, rel=1e-12)
    assert way.law.strength.ratio <= math.exp(way.strength)


@pytest.mark.parametrize("model", ["local", pytest.param("shuffle", marks=pytest.mark.slow)])
def test_errors_are_those_predicted(model: str) -> None:
    """The root mean square of 1250 releases is within 5 % of the plan's; 0.7x and 1.3x are not. Intervals hold."""
    users, size = 40, 3
    setting = UserVectorSetting(
        users, (1.0,) * size, (3.0,) * size, 30.0, 0.0 if model == "local" else 1e-5, model, radius=1.0
    )
    frame = ball_of(setting)
    assert frame is not None
    way = DirectionUserVector(setting, frame, 1.2, 4)
    # at the middle of the ball, where the error is largest
    values, errors, held = np.full((users, size), 2 << 40, dtype=np.int64), [], []
    with emdp.testing.seeded(5):
        for _ in range(1250):
            released = way.release(iter([values]), (40,) * size, (0,) * size)
            errors.append(np.array(released.value) - 2.0)
            low, high = released.interval(0, 0.8)
            held.append(low <= 2.0 <= high)
    assert 0.95 < math.sqrt(np.mean(np.sum(np.square(errors), axis=1))) / way.deviation < 1.05
    assert np.mean(held) >= 0.8
    assert np.abs(np.mean(errors, axis=0)).max() < 5 * way.deviation / math.sqrt(size * 1250)


@pytest.mark.parametrize("model", ["local", "shuffle"])
def test_a_ball_is_served_by_directions_and_no_turned_bits_come_near(model: str) -> None:
    setting = ball(20_000, 16, 1.0, model)
    ways = user_vector_candidates(setting)
    sides = [way for way in ways if isinstance(way, DirectionUserVector)]
    turned = [way for way in ways if way.frame.is_turned and not isinstance(way, DirectionUserVector)]
    assert best_user_vector(setting) is sides[0]
    assert min(way.deviation for way in turned) > 2.0 * sides[0].deviation


def test_the_notes_answers_and_a_curators_error() -> None:
    """multimessage-shuffle.md 3: .0443 by 64 directions of 1,000 users in 300 dimensions, a curator .0167."""
    each = shuffle_epsilon0(1.0, 1000, 1e-5, 64, randomizer="place-sign")
    assert MixedDirections(300, 1.0, each, 1000, reports=64).squared_error() == pytest.approx(0.0443, rel=3e-3)
    setting = ball(1000, 300, 1.0, "central")
    curator = min(way.deviation**2 for way in user_vector_candidates(setting) if isinstance(way, CentralUserVector))
    assert curator == pytest.approx(0.0167, rel=0.02)


def test_in_a_box_coordinates_err_less_than_directions() -> None:
    """By pi/2 in variance, whatever the number of messages: why means over a box are sent by coordinates."""
    users, size, each = 10_000, 8, 0.3
    sides = MixedDirections(size, math.sqrt(size), each, users, reports=8 * size).squared_error()
    coordinates = size / (math.tanh(each / 2) ** 2 * 8 * users)
    assert sides / coordinates == pytest.approx(math.pi / 2, rel=0.07)
    assert sides > 1.45 * coordinates


@pytest.mark.slow
def test_a_session_answers_by_them(tmp_path: Any) -> None:
    users, space = 4000, Product(Interval("x", -1, 1), Interval("y", -1, 1))
    frame = {"user": [str(user) for user in range(users)], "x": [0.3] * users, "y": [-0.4] * users}
    table = emdp.read(frame, user="user", space=space, users=users)
    asked: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "model": "shuffle", "radius": 0.6}
    with emdp.testing.seeded(4):
        session = emdp.Session(table, budget=emdp.UserDP(9.0, 1e-3), ledger=tmp_path / "one.ledger")
        answer = session.user_mean([col("x"), col("y")], **asked)
        (row,) = answer.frame.rows(named=True)
        assert "sides of random directions" in str(session.preview(user_mean([col("x"), col("y")], **asked)))
    assert row["user_mean_1"] == pytest.approx(0.3, abs=0.05)
    assert row["user_mean_2_low"] < -0.4 < row["user_mean_2_high"]


def test_what_has_no_ball_is_refused() -> None:
    assert direction_ways(UserVectorSetting(100, (0.0, 0.0), (1.0, 1.0), 1.0, model="local")) == ()
    assert direction_ways(ball(100, 2, 1.0, "central")) == ()
    frame = ball_of(ball(100, 2, 1.0, "local"))
    assert frame is not None
    with pytest.raises(UsageError, match="must have a radius"):
        DirectionUserVector(UserVectorSetting(100, (0.0, 0.0), (1.0, 1.0), 1.0, model="local"), frame, 1.0, 1)
    with pytest.raises(UsageError, match="reports must be at least 1"):
        DirectionUserVector(ball(100, 2, 1.0, "local"), frame, 1.0, 0)
