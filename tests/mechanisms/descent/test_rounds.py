"""The bound of the excess loss in simulation, and the settings that are refused."""

from typing import Any

import numpy as np
import pytest

import emdp
from emdp.base.errors import UsageError
from emdp.mechanisms.descent.central import CentralDescent
from emdp.mechanisms.descent.loss import UserRecords, minimum
from emdp.mechanisms.descent.messages import MessageDescent
from emdp.mechanisms.descent.rounds import Descent, DescentSetting
from emdp.mechanisms.vector.best import best_vector


def population(users: int, seed: int = 0) -> UserRecords:
    generator = np.random.default_rng(seed)
    numbers = np.vstack([np.ones(users), generator.uniform(-1, 1, (2, users))])
    targets = np.clip(0.6 * numbers[1] - 0.5 * numbers[2] + generator.normal(0, 0.1, users), -1, 1)
    return UserRecords(numbers, targets, np.arange(users + 1))


def excess(descent: Descent, records: UserRecords, runs: int) -> float:
    least = minimum(records, loss="squared", clip=descent.setting.clip, radius=descent.setting.radius)

    def value(weights: Any) -> float:
        return float(np.mean(0.5 * (np.array(weights) @ records.features - records.targets) ** 2))

    with emdp.testing.seeded(3):
        return float(np.mean([value(descent.release(records).weights) for _ in range(runs)])) - value(least)


@pytest.mark.parametrize("rounds", [1, 40])
@pytest.mark.parametrize("is_central", [True, False])
def test_the_excess_loss_is_within_its_bound(rounds: int, is_central: bool) -> None:
    records = population(1200)
    if is_central:
        descent: Descent = CentralDescent(DescentSetting(1200, 3, "squared", 4.0, 1.0, 1.0, 1e-6), rounds, True)
    else:
        setting = DescentSetting(1200, 3, "squared", 4.0, 1.0, 4.0, model="local")
        descent = MessageDescent(setting, rounds, best_vector(2.0, 3, 4.0, 4.0, 1200 // rounds))
    assert 0 < excess(descent, records, 5) < descent.expected_excess


@pytest.mark.parametrize("rounds", [3, 30])
def test_the_typical_excess_is_that_of_evenly_spread_features(rounds: int) -> None:
    # The best weights are half as long as the ball, as it assumes; their direction is theirs.
    generator, users = np.random.default_rng(7), 800
    numbers = np.vstack([np.ones(users), generator.uniform(-1, 1, (2, users))])
    found, expected = 0.0, 0.0
    for direction in np.vstack([np.eye(3), -np.eye(3)]):
        records = UserRecords(numbers, direction @ numbers * 0.5, np.arange(users + 1))
        descent = CentralDescent(DescentSetting(users, 3, "squared", 4.0, 1.0, 1.0, 1e-6), rounds, True)
        found += excess(descent, records, 6) / 6
        expected += descent.typical_excess / 6
    assert 0.7 * expected < found < 1.4 * expected


def test_more_rounds_hardly_cost_noise_and_help_the_start() -> None:
    setting = DescentSetting(1200, 3, "squared", 4.0, 1.0, 1.0, 1e-6)
    few, many = CentralDescent(setting, 4, True), CentralDescent(setting, 400, True)
    assert many.noise == pytest.approx(10 * few.noise, rel=1e-6)
    assert many.expected_excess < few.expected_excess


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"users": 0}, "users must be"),
        ({"dimension": 2000}, "dimension must be at most 1024"),
        ({"loss": "absolute"}, "loss must be"),
        ({"clip": 0.0}, "clip must be"),
        ({"radius": float("nan")}, "radius must be"),
        ({"epsilon": -1.0}, "epsilon must be"),
        ({"model": "shuffle"}, "delta must be above 0 in the shuffle model"),
        ({"model": "local", "delta": 1e-9}, "delta must be 0 in the local model"),
        ({"records": 0}, "records must be"),
        ({"between": -1.0}, "between must be"),
    ],
)
def test_malformed_settings_are_refused(changed: dict[str, Any], text: str) -> None:
    whole: dict[str, Any] = {
        "users": 10, "dimension": 3, "loss": "squared", "clip": 1.0, "radius": 1.0, "epsilon": 1.0,
    }  # fmt: skip
    with pytest.raises(UsageError, match=text):
        DescentSetting(**{**whole, **changed})
