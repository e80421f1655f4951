"""Means of users' vectors from messages: what they tell of a user, missed ranges, intervals, choices and edges."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from user_vectors import UNIT, both_rounds, fixed, release, table

import emdp
from emdp.base.errors import InternalError, UsageError
from emdp.mechanisms.items.hadamard_response import walsh_hadamard
from emdp.mechanisms.scalar.one_bit import OneBitScalar
from emdp.mechanisms.strength import epsilon_of_ratio
from emdp.mechanisms.user_mean.choice import best_of
from emdp.mechanisms.user_mean.range_stage import HadamardRange
from emdp.mechanisms.user_vector.local import LocalUserVector, Rounds
from emdp.mechanisms.user_vector.plan import best_user_vector, user_vector_candidates
from emdp.mechanisms.user_vector.rotation import draw_rotation
from emdp.mechanisms.user_vector.setting import UserVectorSetting, frames_of
from emdp.privacy.rounding import as_decimal, split

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

TOTAL = 2**62


# ---- privacy: every message of every user, exactly


def first_law(mechanism: LocalUserVector, vector: Integers) -> list[dict[Any, Fraction]]:
    """Return the law of a user's message about each ranged coordinate."""
    laws = []
    for place in mechanism.frame.ranged:
        bins = mechanism.frame.bins[place]
        stage = HadamardRange(bins, 1, mechanism._shares[0])
        own = int(bins.place(vector[place : place + 1], UNIT)[0])
        true = stage.oracle.chances[0]
        laws.append(
            {
                (place, j, s): (true if s == 1 - 2 * ((own & j).bit_count() & 1) else 1 - true) / bins.padded
                for j in range(bins.padded)
                for s in (1, -1)
            }
        )
    return laws


def second_law(
    mechanism: LocalUserVector, vector: Integers, windows: list[tuple[float, float]]
) -> list[dict[Any, Fraction]]:
    """Return the law of a user's message about each coordinate, given the ranges: that of an exact position."""
    laws = []
    for place, window in enumerate(windows):
        law = mechanism._makers[place](*window, mechanism._shares[1])
        assert isinstance(law, OneBitScalar)
        kept = Fraction(law._kept, TOTAL)
        value = min(max(Fraction(int(vector[place]), 2**UNIT), Fraction(window[0])), Fraction(window[1]))
        part = (value / Fraction(2) ** law._unit_exponent - law._origin) / law._span
        plus = 1 - kept + (2 * kept - 1) * part
        laws.append({(place, 1): plus, (place, -1): 1 - plus})
    return laws


def together(laws: list[dict[Any, Fraction]], *, is_sampled: bool) -> dict[Any, Fraction]:
    if is_sampled:
        return {message: chance / len(laws) for law in laws for message, chance in law.items()}
    found: dict[Any, Fraction] = {(): Fraction(1)}
    for law in laws:
        found = {(*sent, message): p * q for sent, p in found.items() for message, q in law.items()}
    return found


def largest_loss(laws: list[dict[Any, Fraction]]) -> Fraction:
    return max(max(law[message] for law in laws) / min(law[message] for law in laws) for message in laws[0])


@pytest.mark.quarter
@pytest.mark.parametrize("is_sampled", [True, False])
@pytest.mark.parametrize("epsilon", [0.3, 1.0 / 3.0, 2.0])
def test_messages_are_pure_by_enumeration(is_sampled: bool, epsilon: float) -> None:
    setting = UserVectorSetting(50, (0.0, -1.0), (3.0, 1.0), epsilon, model="local", spread=(0.11, 0.07), failure=0.5)
    frame = frames_of(setting)[-1]
    assert [bins.count for bins in frame.bins] == [4, 4]
    first, second = split(epsilon, (1, 1))
    mechanism = LocalUserVector(setting, frame, "two rounds", is_sampled, (first, second), 50, True)
    grid = [(x, y) for x in (-7.0, 0.1, 1.6, 9.0) for y in (-8.0, -0.1, 8.0)]
    vectors = [fixed(np.array(point)) for point in grid]
    one = [together(first_law(mechanism, vector), is_sampled=is_sampled) for vector in vectors]
    assert all(sum(law.values()) == 1 for law in one)
    bin_loss, worst = largest_loss(one), Fraction(0)
    for places in itertools.product(range(4), range(4)):
        windows = [bins.window(place) for bins, place in zip(frame.bins, places, strict=True)]
        two = [together(second_law(mechanism, vector, windows), is_sampled=is_sampled) for vector in vectors]
        worst = max(worst, largest_loss(two))
    # Largest quotients of both rounds occur for one pair of users, so that the product is the loss of all messages.
    achieved = epsilon_of_ratio(bin_loss * worst)
    assert achieved <= mechanism.epsilon0 * (1 + 2.0**-50)
    assert achieved >= epsilon * (1 - 1e-9)
    assert as_decimal(mechanism.epsilon0) <= as_decimal(epsilon)
    groups = LocalUserVector(setting, frame, "two groups", is_sampled, (epsilon, epsilon), 25, True)
    assert as_decimal(groups.epsilon0) <= as_decimal(epsilon)
    assert groups.epsilon0 == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 0.7, 1.0 / 3.0, 2.0, 11.0, 50.0])
def test_candidates_spend_at_most_epsilon(epsilon: float) -> None:
    setting = UserVectorSetting(
        500, (0.0, -1.0, 0.0), (3.0, 1.0, 1.0), epsilon, model="local", spread=(0.1, 0.07, 0.3), radius=2.0, records=50
    )
    for mechanism in user_vector_candidates(setting):
        assert mechanism.epsilon > 0
        assert as_decimal(mechanism.epsilon) <= as_decimal(epsilon)
        assert mechanism.delta == mechanism.slack_epsilon == mechanism.slack_delta == 0


@pytest.mark.parametrize("d", [1, 3, 8])
def test_rotations_turn_back(d: int) -> None:
    rng = np.random.default_rng(d)
    centres = tuple(rng.normal(size=d).tolist())
    with emdp.testing.seeded(d):
        rotation = draw_rotation(1 << (d - 1).bit_length(), centres, 50.0)
    values = rng.normal(size=(5, d))
    turned = rotation.turn(fixed(values), (UNIT,) * d) * 2.0**-rotation.exponent
    width = len(rotation.signs)
    padded = np.zeros((5, width))
    padded[:, :d] = (values - centres) * np.array(rotation.signs)[:d]
    assert turned == pytest.approx(walsh_hadamard(padded) / math.sqrt(width), abs=1e-9)
    assert np.linalg.norm(turned, axis=1) == pytest.approx(np.linalg.norm(values - centres, axis=1))
    assert np.array([rotation.back(row.tolist()) for row in turned]) == pytest.approx(values, abs=1e-9)
    far = rotation.turn(fixed(values * 1000.0), (UNIT,) * d) * 2.0**-rotation.exponent
    assert np.linalg.norm(far, axis=1).max() <= 50.0 * (1 + 1e-12)


# ---- failures and intervals


@pytest.mark.parametrize("rounds", ["two rounds", "two groups"])
def test_ranges_are_missed_no_oftener_than_said(rounds: Rounds) -> None:
    # Half of the users on each side of a bin's edge, the hardest case. At the users needed for 1 % of wrong bins there
    # is none in 60 ranges (P > 0.5 if the bound were attained); with a sixteenth of them a third is wrong.
    def misses(users: int, runs: int) -> int:
        setting = UserVectorSetting(
            users, (0.0,) * 2, (32.0,) * 2, 2.0, model="local", spread=(0.1,) * 2, records=1, failure=0.02
        )
        frame = frames_of(setting)[-1]
        strengths, first = ((1.0, 1.0), users) if rounds == "two rounds" else ((2.0, 2.0), users - 200)
        mechanism = LocalUserVector(setting, frame, rounds, True, strengths, first)
        edge = frame.bins[0].radius * 2 * 7
        values = edge + 0.01 * np.where(np.arange(users) % 2 == 0, -1.0, 1.0)[:, None] * np.ones((1, 2))
        found = 0
        for run in range(runs):
            with emdp.testing.seeded(run):
                ranges = release(mechanism, values).ranges
            found += sum(not low < edge < high for low, high in ranges)
        return found

    def needed(users: int) -> int:
        setting = UserVectorSetting(
            users, (0.0,) * 2, (32.0,) * 2, 2.0, model="local", spread=(0.1,) * 2, records=1, failure=0.02
        )
        strengths, first = ((1.0, 1.0), users) if rounds == "two rounds" else ((2.0, 2.0), users - 200)
        return LocalUserVector(setting, frames_of(setting)[-1], rounds, True, strengths, first).users_needed

    enough = needed(1500) + (200 if rounds == "two groups" else 0)
    assert misses(enough, 30) == 0
    few = enough // 16 if rounds == "two rounds" else 200 + (enough - 200) // 16
    assert misses(few, 30) >= 15


def covered(setting: UserVectorSetting, mechanism: LocalUserVector, runs: int) -> float:
    rng, hits = np.random.default_rng(3), 0
    d = setting.dimension
    for run in range(runs):
        mean = rng.uniform(-0.7, 0.7, d)
        values = np.clip(mean + rng.normal(size=(setting.users, d)) * 0.02, -1.0, 1.0)
        with emdp.testing.seeded(run):
            answer = release(mechanism, values)
        for place, truth in enumerate(values.mean(axis=0)):
            low, high = answer.interval(place, 0.9)
            hits += low <= truth <= high
    return hits / (runs * d)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rounds", "is_sampled", "is_turned"),
    [
        ("two rounds", True, False),
        ("two rounds", False, False),
        ("two groups", True, False),
        ("one round", True, False),
        ("one round", False, False),
        ("two rounds", True, True),
        ("one round", True, True),
        ("two groups", False, True),
    ],
)
def test_intervals_cover(rounds: Rounds, is_sampled: bool, is_turned: bool) -> None:
    # 90 intervals at level 0.9: 80 % is three deviations below what is promised.
    users, spread = 1_500, None if is_turned else (0.02,) * 3
    setting = UserVectorSetting(
        users, (-1.0,) * 3, (1.0,) * 3, 8.0, model="local", spread=spread, radius=2.0, records=1 if spread else 10_000
    )
    frame = next(
        frame
        for frame in frames_of(setting)
        if frame.is_turned is is_turned and bool(frame.ranged) is (rounds != "one round")
    )
    strengths = {"one round": (0.0, 8.0), "two rounds": (4.0, 4.0), "two groups": (8.0, 8.0)}[rounds]
    mechanism = LocalUserVector(setting, frame, rounds, is_sampled, strengths, 500 if rounds == "two groups" else users)
    assert mechanism.missed_range < 0.06
    assert covered(setting, mechanism, 30) >= 0.8


def test_where_nothing_is_left_of_the_tail_the_bounds_are_returned() -> None:
    setting = table(300, 2, 10_000)
    answer = release(both_rounds(setting, is_sampled=False), np.zeros((300, 2)))
    assert answer.mechanism.missed_range > 0.01
    assert answer.interval(0, 0.999) == (-10.0, 10.0)


# ---- choices and edges


def test_the_best_way_is_the_one_of_least_expected_error() -> None:
    setting = table(40_000, 16, 100)
    ways = user_vector_candidates(setting)
    best = best_user_vector(setting)
    assert best.expected_error == min(way.expected_error for way in ways if way.missed_range <= setting.failure)
    assert best.expected_error < 0.6 * both_rounds(setting).expected_error
    assert len({way.name for way in ways}) == 6
    # With few records there is nothing to find: one round.
    assert best_user_vector(table(40_000, 16, 1)).name.startswith("the mean at once")
    # So much epsilon that all coordinates may be asked at once.
    lavish = UserVectorSetting(4_000, (-1.0,) * 2, (1.0,) * 2, 30.0, model="local")
    assert best_user_vector(lavish).name == "the mean at once; all coordinates"


def test_turning_pays_where_vectors_lie_in_a_ball() -> None:
    setting = UserVectorSetting(
        100_000, (-1.0,) * 64, (1.0,) * 64, 2.0, model="local", radius=1.0, records=10_000, failure=0.02
    )
    ways = user_vector_candidates(setting)
    bits = [way for way in ways if isinstance(way, LocalUserVector)]
    best = best_of(bits)
    assert best.frame.is_turned
    assert best.frame.ranged
    # Against one round, and against one round in the coordinates as they are.
    errors = [way.expected_error for way in bits if not way.frame.ranged and way.deviation]
    assert best.expected_error < 0.3 * min(errors)
    # A range costs bits a round; sides of directions need none.
    assert best_user_vector(setting).expected_error < 1.1 * best.expected_error
    # Without the random turn a range of every coordinate would be the whole ball.
    assert [frame.is_turned for frame in frames_of(setting)] == [False, True, True]


def test_the_radius_grows_with_the_spread_between_users_and_with_the_error() -> None:
    plain, mixed, rough = (
        frames_of(table(1_000, 2, 100, between=between, error=error))[-1].bins[0].radius
        for between, error in ((0.0, 0.0), ((0.1, 0.1), 0.0), (0.1, 0.5))
    )
    assert mixed == pytest.approx(plain * math.sqrt(2.0))
    assert rough == pytest.approx(mixed + 0.5)
    assert plain == pytest.approx(0.1 * math.sqrt(2.0 * math.log(2 * 1_000 * 2 / 0.01)))


def test_coordinates_of_few_bins_are_left_as_they_are() -> None:
    setting = UserVectorSetting(
        5_000, (0.0, 0.0), (100.0, 1.0), 4.0, model="local", spread=(1.0, 1.0), records=100, failure=0.02
    )
    mechanism = both_rounds(setting)
    assert mechanism.frame.ranged == (0,)
    values = np.tile(np.array([42.0, 0.3]), (4_000, 1))
    with emdp.testing.seeded(1):
        answer = mechanism.release(iter([fixed(values)]), (UNIT,) * 2, (42 * 2**UNIT, 0))
    assert answer.ranges[1] == (0.0, 1.0)
    assert answer.ranges[0][0] < 42.0 < answer.ranges[0][1]
    # The last 1,000 users have no records and count with the neutral values.
    assert float(answer.value[1]) == pytest.approx(0.24, abs=6 * math.sqrt(mechanism.variances[1]))
    assert answer.counts == (2_500, 2_500)


def test_more_than_the_budget_is_refused() -> None:
    setting = table(300, 2, 10_000)
    wide, frame = frames_of(setting)
    for mechanism in (
        LocalUserVector(setting, frame, "two rounds", True, (1.0, 1.1), 300),
        LocalUserVector(setting, frame, "two groups", True, (2.1, 1.0), 150),
        LocalUserVector(setting, wide, "one round", True, (0.0, 2.1), 0),
    ):
        with pytest.raises(UsageError, match="epsilon of the rounds"):
            release(mechanism, np.zeros((300, 2)))
    with pytest.raises(UsageError, match="users must be"):
        LocalUserVector(setting, frame, "two groups", True, (2.0, 2.0), 299)
    with pytest.raises(UsageError, match="'one round' exactly"):
        LocalUserVector(setting, frame, "one round", True, (0.0, 2.0), 0)


def test_more_users_than_planned_are_a_bug() -> None:
    mechanism = both_rounds(table(300, 2, 100))
    with pytest.raises(InternalError, match="more users"):
        release(mechanism, np.zeros((301, 2)))
    with pytest.raises(InternalError, match="dimension"):
        release(mechanism, np.zeros((300, 3)))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"users": 0}, "users"),
        ({"lows": ()}, "lows and highs"),
        ({"lows": (1.0, 1.0)}, "high must be above"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"model": "shuffle"}, "delta must be above 0"),
        ({"delta": 1e-6}, "delta must be 0"),
        ({"spread": (1.0,)}, "spread must have 2"),
        ({"spread": (1.0, 0.0)}, "spread must be above 0"),
        ({"between": (1.0,)}, "between must have 2"),
        ({"between": -1.0}, "between"),
        ({"between": (1.0, 1.0), "radius": 1.0}, "between must be one number"),
        ({"radius": 0.0}, "radius"),
        ({"failure": 1.0}, "failure"),
        ({"records": 0}, "records"),
        ({"error": -1.0}, "error"),
    ],
)
def test_malformed_settings_are_refused(change: dict[str, Any], words: str) -> None:
    good: dict[str, Any] = {
        "users": 10,
        "lows": (0.0, 0.0),
        "highs": (1.0, 1.0),
        "epsilon": 1.0,
        "model": "local",
        "spread": (1.0, 1.0),
    }
    UserVectorSetting(**good)
    with pytest.raises(UsageError, match=words):
        UserVectorSetting(**(good | change))
