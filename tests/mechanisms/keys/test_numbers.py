"""Keys that nobody listed with further numbers of each: prices, and what is released of whom."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from emdp.base.errors import UsageError
from emdp.mechanisms import GaussianMechanism, LaplaceMechanism
from emdp.mechanisms.keys.gaussian import GaussianKeys
from emdp.mechanisms.keys.laplace import LaplaceKeys, TruncatedKeys
from emdp.mechanisms.keys.numbers import KeysThenNumbers, KeysWithNumbers
from emdp.privacy import UserDP
from emdp.privacy.guarantees.kinds import Neighbours
from emdp.testing import seeded


def together(keys: int = 2, neighbours: Neighbours = "replace", numbers: int = 2) -> KeysWithNumbers:
    dimension = (1 if neighbours == "remove" else 2) * keys * numbers
    noise = GaussianMechanism(sensitivity=3.0, alpha=1.0, delta=5e-7, dimension=dimension)
    return KeysWithNumbers(noise, keys, neighbours, 5e-7)


def apart(keys: int = 2, neighbours: Neighbours = "replace") -> KeysThenNumbers:
    dimension = (1 if neighbours == "remove" else 2) * keys
    noise = LaplaceMechanism(sensitivity=4.0, alpha=0.75, dimension=dimension)
    return KeysThenNumbers(TruncatedKeys(0.25, 1e-6, keys, neighbours), noise)


@pytest.mark.parametrize("neighbours", ["replace", "remove"])
@pytest.mark.parametrize("keys", [1, 3, 50])
def test_the_price_of_one_draw_is_that_of_the_theorem(keys: int, neighbours: Neighbours) -> None:
    both = together(keys, neighbours)
    chance = norm.sf((both.threshold - 1) / both.noise.scale)
    expected = 1 - (1 - chance) ** keys * (1 - 5e-7)
    assert both.price == pytest.approx(expected, rel=1e-6)
    assert expected <= both.price <= 1e-6
    # One person fewer would not do: the threshold is the least.
    closer = norm.sf((both.threshold - 2) / both.noise.scale)
    assert 1 - (1 - closer) ** keys > 5e-7


@pytest.mark.parametrize("both", [together(), apart()])
def test_one_event_says_all_of_it(both: Any) -> None:
    event = both.event()
    assert (event.guarantee.epsilon, event.guarantee.kind) == (1.0, UserDP(0.0))
    assert 0 < event.guarantee.delta <= 1e-6
    assert 0 < event.slack_epsilon == both.slack_epsilon < 1e-9
    assert both.event(UserDP(0.0)) == event
    with pytest.raises(UsageError, match="neighbours"):
        both.event(UserDP(0.0, neighbours="remove"))


def test_shares_of_epsilon_add_up() -> None:
    keys = TruncatedKeys(0.25, 1e-6, 2, "replace")
    assert KeysThenNumbers(keys).event() == keys.event()
    assert apart().event().guarantee == UserDP(1.0, 1e-6)


def test_a_dimension_that_is_not_that_of_what_can_move_is_refused() -> None:
    noise = GaussianMechanism(sensitivity=3.0, alpha=1.0, delta=5e-7, dimension=6)
    with pytest.raises(UsageError, match="multiple of 4"):
        KeysWithNumbers(noise, 2, "replace", 5e-7)
    with pytest.raises(UsageError, match="multiple of 4"):
        KeysThenNumbers(
            TruncatedKeys(0.25, 1e-6, 2, "replace"), LaplaceMechanism(sensitivity=4.0, alpha=1, dimension=3)
        )


def test_a_grid_too_coarse_for_people_is_refused() -> None:
    noise = GaussianMechanism(sensitivity=3.0, alpha=1.0, delta=5e-7, dimension=4, magnitude=2.0**63)
    with pytest.raises(UsageError, match="coarse"):
        KeysWithNumbers(noise, 2, "replace", 5e-7)


@pytest.mark.parametrize("both", [together(), apart()])
def test_numbers_are_asked_for_of_keys_that_passed_and_of_no_others(both: Any) -> None:
    asked: list[list[int]] = []

    def numbers(index: list[int]) -> Sequence[Sequence[Fraction]]:
        asked.append(index)
        return [[Fraction(1000 * place) for place in index]]

    counts = [1, 10 * both.people, 1, 2, 20 * both.people]
    with seeded(1):
        found = both.release(counts, numbers)
    assert asked == [[1, 4]]
    assert found.index == (1, 4)
    assert all(abs(own - counts[place]) < both.people for own, place in zip(found.people, found.index, strict=True))
    assert all(abs(own - 1000 * place) < 400 for own, place in zip(found.numbers[0], found.index, strict=True))


@pytest.mark.quarter
@pytest.mark.parametrize("factor", [1.0, 0.7, 1.3])
@pytest.mark.parametrize("both", [together(), apart()])
def test_the_law_of_what_is_released(both: Any, factor: float) -> None:
    # At one threshold the true scale passes; seven tenths or thirteen tenths of it fail.
    size = 20_000
    with seeded(3):
        found = both.release([10 * both.people] * size, lambda index: [[Fraction(0)] * len(index)])
    noise = np.array([float(value) for value in found.numbers[0]])
    scale = both.noise.scale * factor
    tail = norm.sf(1.5) * 2 if isinstance(both.noise, GaussianMechanism) else math.exp(-1.5)
    share = np.mean(np.abs(noise) > 1.5 * scale)
    is_far = abs(share - tail) > 6 * math.sqrt(tail * (1 - tail) / size)
    assert is_far == (factor != 1.0)
    people = np.array([float(value) for value in found.people]) - 10 * both.people
    assert np.std(people) == pytest.approx(both.standard_deviation, rel=0.04)
    assert abs(np.corrcoef(people, noise)[0, 1]) < 6 / math.sqrt(size)


def test_no_key_no_noise() -> None:
    for both in (together(), apart()):
        found = both.release([], lambda index: [[]])
        assert (found.index, found.people, found.numbers) == ((), (), ((),))


@pytest.mark.parametrize("kind", [TruncatedKeys, LaplaceKeys, GaussianKeys])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_half_widths_hold_the_noise_of_people(kind: Any, level: float) -> None:
    keys = kind(1.0, 1e-6, 3, "replace")
    with seeded(5):
        found = keys.release([100 * keys.people] * 20_000)
    inside = np.mean(np.abs(found.counts - 100 * keys.people) <= keys.half_width(level))
    assert inside >= level - 6 * math.sqrt(level * (1 - level) / 20_000)
    if kind is GaussianKeys:
        assert keys.half_width(level) == pytest.approx(keys.scale * norm.ppf((1 + level) / 2), rel=1e-6)
