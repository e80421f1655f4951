"""Known answers of several messages of a user, each mixed apart: bit planes, signs and directions."""

import math

import pytest

from emdp.mechanisms.vector.cube import plane_gains
from emdp.mechanisms.vector.direction import VectorDirection
from emdp.privacy.shuffle.users import ShuffleRound, shuffle_epsilon, shuffle_epsilon0, shuffle_total

USERS, DELTA = 1000, 1e-5

PLANES: list[tuple[float, float, float, tuple[float, ...], float]] = [
    (0.5, 2.802, 3.188e-4, (2.059, 1.563, 1.155, 1.155), 8.777e-5),
    (1.0, 3.681, 2.765e-4, (3.031, 2.425, 1.878, 1.878), 3.054e-5),
    (2.0, 4.318, 2.637e-4, (4.051, 3.391, 2.760, 2.760), 1.292e-5),
    (4.0, 4.538, 2.609e-4, (4.535, 3.863, 3.209, 3.209), 9.388e-6),
]
"""Epsilon; of one plane strength and mean squared error; the same of four planes (multimessage-shuffle.md 3)."""


def contrast(epsilon0: float) -> float:
    return 1 / math.tanh(epsilon0 / 2)


def plane_error(strengths: tuple[float, ...]) -> float:
    """Mean squared error of a number within 1/2 of 0 by planes, at the worst (multimessage-shuffle.md 2)."""
    gains = plane_gains(len(strengths))
    told = sum((gain * contrast(own)) ** 2 for gain, own in zip(gains, strengths, strict=True))
    return (told - sum(gain**2 for gain in gains[:-1])) / (4 * USERS)


@pytest.mark.quarter
@pytest.mark.parametrize(("epsilon", "single", "single_error", "strengths", "error"), PLANES)
def test_planes_of_a_number_cost_and_err_as_the_table_says(
    epsilon: float, single: float, single_error: float, strengths: tuple[float, ...], error: float
) -> None:
    # one sign about one number is randomized response, with its exact divergence
    assert shuffle_epsilon0(epsilon, USERS, DELTA, randomizer="binary") == pytest.approx(single, abs=2e-3)
    assert contrast(single) ** 2 / (4 * USERS) == pytest.approx(single_error, rel=1e-3)
    rounds = [ShuffleRound(own, USERS, "place-sign") for own in strengths]
    assert shuffle_total(rounds, DELTA).epsilon == pytest.approx(epsilon, rel=4e-3)
    assert plane_error(strengths) == pytest.approx(error, rel=1e-3)
    # the allocation: sinh^2 of half a strength is in proportion to the gain
    gains = plane_gains(4)
    scales = [math.sinh(own / 2) ** 2 / gain for own, gain in zip(strengths, gains, strict=True)]
    assert max(scales) == pytest.approx(min(scales), rel=3e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "error"), [(1.0, 2.657e-5), pytest.param(4.0, 5.726e-6, marks=pytest.mark.full)])
def test_six_planes_err_as_the_table_says(epsilon: float, error: float) -> None:
    def strengths(scale: float) -> tuple[float, ...]:
        return tuple(2 * math.asinh(math.sqrt(USERS * scale * gain) / 2) for gain in plane_gains(6))

    low, high = 1e-3, 1.0
    for _ in range(14):
        scale = math.sqrt(low * high)
        rounds = [ShuffleRound(own, USERS, "place-sign") for own in strengths(scale)]
        low, high = (scale, high) if shuffle_total(rounds, DELTA).epsilon <= epsilon else (low, scale)
    assert plane_error(strengths(low)) == pytest.approx(error, rel=5e-3)


def test_signs_drawn_alike_err_less_than_planes_once_there_are_many() -> None:
    """What means are sent by: no digits, and their limit is a curator's Gaussian noise, 1.392e-5 at epsilon 1."""
    errors = {}
    for count in (4, 64):
        own = shuffle_epsilon0(1.0, USERS, DELTA, count, randomizer="place-sign")
        errors[count] = contrast(own) ** 2 / (4 * USERS * count)
    assert 3.054e-5 < errors[4] < 3 * 3.054e-5
    assert 1.392e-5 < errors[64] < 2.657e-5


@pytest.mark.parametrize(("reports", "strength", "error"), [(64, 0.8654, 0.0443), (256, 0.4727, 0.0342)])
def test_directions_mixed_apart_err_as_the_table_says(reports: int, strength: float, error: float) -> None:
    found = shuffle_epsilon0(1.0, USERS, DELTA, reports, randomizer="place-sign")
    assert found == pytest.approx(strength, abs=1e-3)
    one = VectorDirection(300, 1.0, found, USERS, reports=1)
    assert one.squared_error() / reports == pytest.approx(error, rel=3e-3)


def test_one_direction_by_its_own_pair() -> None:
    assert shuffle_epsilon(2.924, USERS, DELTA).epsilon == pytest.approx(1.0, rel=1e-3)
    found = shuffle_epsilon0(1.0, USERS, DELTA, randomizer="place-sign")
    assert found == pytest.approx(3.4955, abs=1e-3)
    for strength, error in ((2.924, 0.583), (3.4955, 0.531)):
        assert VectorDirection(300, 1.0, strength, USERS, reports=1).squared_error() == pytest.approx(error, rel=2e-3)
