"""Messages of single users: what they tell, and what their average says."""

import math
from fractions import Fraction

import numpy as np
import pytest

import emdp
from emdp.base.errors import UsageError
from emdp.mechanisms import GaussianMechanism, KNormMechanism, LaplaceMechanism
from emdp.mechanisms.local.noise import LocalNoise, exact_sums
from emdp.mechanisms.local.one_bit import LocalOneBit, OneBitCoordinate

UNIT = 51
USERS = 400
RUNS = 400


def chance(own: OneBitCoordinate, value: float) -> float:
    return 0.5 + 0.5 * own.strength * (value - own.centre) / own.half


@pytest.mark.quarter
@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-3.0, 5.0), (10.0, 10.5)])
@pytest.mark.parametrize("alpha", [1e-3, 0.5, 4.0, 60.0])
@pytest.mark.parametrize("stretch", [1.0, 7.0])
def test_a_bit_tells_alpha_times_the_distance_at_most(low: float, high: float, alpha: float, stretch: float) -> None:
    lipschitz = (high - low) * stretch
    own = OneBitCoordinate(low, high, rate=alpha / lipschitz)
    grid = np.linspace(low, high, 41)
    for one in grid:
        for other in grid:
            distance = abs(one - other) / lipschitz
            for p, q in ((chance(own, one), chance(own, other)), (1 - chance(own, one), 1 - chance(own, other))):
                loss = math.log(p / q)
                assert loss <= alpha * distance + own.slack
                assert loss <= math.log1p(2 * own.half * own.rate) + own.slack


def test_the_derivative_at_the_end_is_alpha() -> None:
    own = OneBitCoordinate(0.0, 1.0, rate=3.0)
    step = 1e-6
    loss = math.log((1 - chance(own, 1.0 - step)) / (1 - chance(own, 1.0)))
    assert loss / step == pytest.approx(3.0, rel=1e-4)
    assert loss / step <= 3.0


def test_user_level_rate_gives_the_randomised_response_of_epsilon() -> None:
    epsilon, half = 1.5, 2.0
    own = OneBitCoordinate(-half, half, rate=math.expm1(epsilon) / (2 * half))
    assert own.strength == pytest.approx(math.tanh(epsilon / 2), rel=1e-12)


@pytest.mark.parametrize("is_dealt", [False, True])
def test_signs_have_their_law(is_dealt: bool) -> None:
    # 120,000 signs: within 6 standard deviations of the mean; a strength of 0.7x or 1.3x is not.
    coordinates = (OneBitCoordinate(0.0, 1.0, rate=2.0), OneBitCoordinate(-1.0, 1.0, rate=2.0))
    users, value = 120_000, 0.8
    local = LocalOneBit(coordinates, users, is_dealt)
    means = np.full((users, 2), round(value * 2**UNIT), dtype=np.int64)
    with emdp.testing.seeded(3):
        ones, asked = local.tally(local.encode(means, (UNIT, UNIT), local.deal()))
    assert asked == ([users // 2] * 2 if is_dealt else [users] * 2)
    for own, plus, count in zip(coordinates, ones, asked, strict=True):
        for factor, expected in ((1.0, True), (0.7, False), (1.3, False)):
            p = 0.5 + factor * (chance(own, value) - 0.5)
            assert (abs(plus / count - p) < 6 * math.sqrt(p * (1 - p) / count)) is expected
    for estimate, deviation in zip(local.decode(ones, asked), map(local.deviation, (0, 1)), strict=True):
        assert abs(float(estimate) - value) < 6 * deviation


@pytest.mark.quarter
@pytest.mark.parametrize("is_dealt", [False, True])
@pytest.mark.parametrize("value", [0.02, 0.5])
def test_intervals_of_bits_cover(is_dealt: bool, value: float) -> None:
    # Of 400 runs at least 92 % are covered (95 % promised, 3 standard deviations); intervals 0.6x as wide miss more.
    coordinates = (OneBitCoordinate(0.0, 1.0, rate=3.0),) * 2
    local = LocalOneBit(coordinates, USERS, is_dealt)
    spread = np.random.default_rng(1).uniform(-0.02, 0.02, size=(USERS, 2))
    spread -= spread.mean(axis=0)
    means = np.rint((value + spread) * 2.0**UNIT).astype(np.int64)
    truth = [float(Fraction(total, USERS * 2**UNIT)) for total in exact_sums(means)]
    covered = narrow = 0
    with emdp.testing.seeded(5):
        for _ in range(RUNS):
            released = local.decode(*local.tally(local.encode(means, (UNIT, UNIT), local.deal())))
            estimate = float(released[0])
            low, high = local.interval(0, estimate, 0.95)
            covered += low <= truth[0] <= high
            narrow += abs(estimate - truth[0]) <= 0.6 * 1.96 * local.deviation(0)
    assert covered >= 0.92 * RUNS
    assert narrow < 0.9 * RUNS


@pytest.mark.parametrize(
    "mechanism",
    [
        LaplaceMechanism(sensitivity=1.0, alpha=2.0, dimension=2),
        KNormMechanism(sensitivity=1.0, alpha=2.0, dimension=2),
        GaussianMechanism(sensitivity=1.0, alpha=2.0, delta=1e-6, dimension=2),
    ],
    ids=lambda mechanism: mechanism.name,
)
def test_intervals_of_averaged_noise_are_exact(mechanism: LaplaceMechanism) -> None:
    # 80 % intervals of 1,200 averages of 40: within 5 standard deviations of 80 %, and 0.7x and 1.3x are not.
    users, runs = 40, 1200
    local = LocalNoise(mechanism, users)
    means = np.full((users * runs, 2), round(0.3 * 2**UNIT), dtype=np.int64)
    with emdp.testing.seeded(11):
        messages = local.encode(means, (UNIT, UNIT)).reshape(runs, users, 2)
    errors = np.array([abs(float(local.decode(exact_sums(own))[0]) - 0.3) for own in messages])
    half = local.interval(0, 0.0, 0.8)[1]
    limit = 5 * math.sqrt(0.16 / runs)
    for factor, expected in ((1.0, True), (0.7, False), (1.3, False)):
        assert bool(abs((errors <= factor * half).mean() - 0.8) < limit) is expected
    assert errors.mean() == pytest.approx(local.expected_absolute_error(0), rel=5 / math.sqrt(runs))
    assert np.sqrt((errors**2).mean()) == pytest.approx(math.sqrt(local.variance), rel=5 / math.sqrt(runs))


def test_messages_are_the_mechanism_of_one_user() -> None:
    local = LocalNoise(LaplaceMechanism(sensitivity=2.0, alpha=1.0), users=3)
    assert local.slack_epsilon == local.mechanism.slack_epsilon
    with emdp.testing.seeded(2):
        message = local.encode(np.array([[2**UNIT]]), (UNIT,))
    with emdp.testing.seeded(2):
        silent = local.encode(np.array([[0]]), (UNIT,))
    # The same noise around another mean: the difference is the mean, on the grid.
    assert int(message[0, 0] - silent[0, 0]) * Fraction(local.mechanism.grid) == 1


def test_dealt_coordinates_need_as_many_users() -> None:
    coordinates = (OneBitCoordinate(0.0, 1.0, rate=1.0),) * 3
    with pytest.raises(UsageError, match="users must be at least 3"):
        LocalOneBit(coordinates, 2, is_dealt=True)
    with pytest.raises(UsageError, match="high must be above"):
        OneBitCoordinate(1.0, 1.0, rate=1.0)
