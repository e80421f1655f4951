"""Tiers of messages: what every coalition of readers learns, by enumeration, and the laws with stated power."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.stats

from emdp.base.errors import UsageError
from emdp.mechanisms.items.tiered import TieredResponse
from emdp.mechanisms.weights import TOTAL
from emdp.testing import seeded

CASES = [(2, (2.0, 1.0, 0.5)), (2, (2.0, 1.8, 1.7)), (3, (2.0, 1.0, 0.4)), (4, (2.0, 1.0, 0.4))]


def views(response: TieredResponse, item: int, *, coalition: tuple[int, ...]) -> dict[tuple[int, ...], Fraction]:
    """Law of what the readers of some tiers have together, in exact numbers."""
    k, law = response.items, {}
    for moves in itertools.product(range(k), repeat=len(response.epsilons)):
        chance = Fraction(1)
        for move, weight in zip(moves, response.weights, strict=True):
            chance *= Fraction(weight if move else TOTAL - (k - 1) * weight, TOTAL)
        seen = tuple((item + sum(moves[:tier])) % k for tier in coalition)
        law[seen] = law.get(seen, Fraction(0)) + chance
    return law


def loss(response: TieredResponse, coalition: tuple[int, ...]) -> float:
    laws = [views(response, item, coalition=coalition) for item in range(response.items)]
    return max(math.log(one[seen] / other[seen]) for one in laws for other in laws for seen in one)


@pytest.mark.parametrize(("items", "epsilons"), CASES)
def test_every_coalition_loses_what_its_strongest_loses(items: int, epsilons: tuple[float, ...]) -> None:
    response = TieredResponse(items, epsilons)
    for size in range(1, len(epsilons) + 1):
        for coalition in itertools.combinations(range(1, len(epsilons) + 1), size):
            found = loss(response, coalition)
            assert found <= response.epsilon(coalition[0]) + 1e-12
            assert found == pytest.approx(epsilons[coalition[0] - 1], abs=1e-9)
            assert response.epsilon(coalition[0]) <= epsilons[coalition[0] - 1]


def test_separate_messages_lose_the_sum() -> None:
    single = [TieredResponse(2, (level,)) for level in (2.0, 1.0, 0.5)]
    assert sum(loss(own, (1,)) for own in single) == pytest.approx(3.5, abs=1e-9)


def test_flips_of_the_document() -> None:
    # Its third step, 0.234996, is 0.235004: (z_3 - z_2)/(1 - 2 z_2).
    response = TieredResponse(2, (2.0, 1.0, 0.5))
    flips = [float((1 - response.kept(tier)) / 2) for tier in (1, 2, 3)]
    assert flips == pytest.approx([0.119203, 0.268941, 0.377541], abs=1e-6)
    assert [weight / TOTAL for weight in response.weights] == pytest.approx([0.119203, 0.196612, 0.235004], abs=1e-6)
    near = TieredResponse(2, (2.0, 1.8, 1.7))
    assert [weight / TOTAL for weight in near.weights] == pytest.approx([0.119203, 0.029738, 0.017610], abs=1e-6)


# Bits of randomness a user, of a message for each reader and of one for all.
RANDOMNESS = [
    ((1.0, 0.99), 1.683, 0.880), ((1.0, 0.9), 1.707, 1.098), ((1.0, 0.5), 1.796, 1.627), ((1.0, 0.01), 1.840, 1.840),
    ((2.0, 1.8), 1.116, 0.720), ((2.0, *(2.0 - 0.1 * j for j in range(2, 6))), 3.076, 1.138),
    ((2.0, *(2.0 - 0.1 * j for j in range(2, 11))), 6.974, 2.127),
]  # fmt: skip


@pytest.mark.parametrize(("epsilons", "trivial", "proposed"), RANDOMNESS)
def test_bits_of_randomness_of_the_published_figures(
    epsilons: tuple[float, ...], trivial: float, proposed: float
) -> None:
    """Figures 7.9 and 7.10 of the thesis: one message for several readers needs fewer coins than one for each."""

    def bits(chance: float) -> float:
        return float(scipy.stats.entropy([chance, 1 - chance], base=2))

    response = TieredResponse(2, epsilons)
    assert sum(bits(1 / (math.exp(own) + 1)) for own in epsilons) == pytest.approx(trivial, abs=6e-4)
    assert sum(bits(weight / TOTAL) for weight in response.weights) == pytest.approx(proposed, abs=6e-4)
    # Theorem 7.3.1: the coin without which one reader's promise of 1 cannot be kept.
    assert epsilons[0] != 1.0 or bits(response.weights[0] / TOTAL) == pytest.approx(0.839942, abs=1e-6)


@pytest.mark.parametrize("tier", [1, 2, 3])
def test_each_tier_has_its_law_with_power(tier: int) -> None:
    users, response = 40_000, TieredResponse(4, (3.0, 2.0, 1.0))
    with seeded(6):
        messages, keys = response.encode(np.full(users, 2))
    found = response.decode(messages, None if tier == 3 else keys[tier - 1], tier)
    counts = np.bincount(found, minlength=4)
    for factor in (0.7, 1.0, 1.3):
        grown = math.exp(response.epsilons[tier - 1] * factor)
        chances = np.ones(4) / (grown + 3)
        chances[2] *= grown
        p = float(scipy.stats.chisquare(counts, chances * users).pvalue)
        assert p > 1e-9 if factor == 1.0 else p < 1e-9


def test_estimates_are_unbiased_and_sharper_for_stronger_readers() -> None:
    response, users = TieredResponse(4, (3.0, 1.0)), 40_000
    items = np.repeat(np.arange(4), users // 4)
    items[: users // 8] = 3
    truth = np.bincount(items, minlength=4) / users
    with seeded(8):
        messages, keys = response.encode(items)
    for tier, key in ((1, keys[0]), (2, None)):
        estimate = response.estimate(response.decode(messages, key, tier), tier)
        assert np.abs(estimate - truth).max() < 12 * response.standard_error(users, tier)
    assert response.standard_error(users, 1) < 0.3 * response.standard_error(users, 2)


def test_two_messages_of_one_key_tell_the_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """Why a key is never used for two questions: whoever has no key sees the difference of the items, always."""
    response = TieredResponse(4, (1.0, 0.5))
    first, _ = response.encode(np.full(200, 1))
    second, _ = response.encode(np.full(200, 3))
    assert len(set(((second - first) % 4).tolist())) == 4
    drawn = np.random.default_rng(0).integers(0, 4, 200)
    monkeypatch.setattr(TieredResponse, "_draw", lambda self, weight, size: drawn)
    sent = [response.encode(np.full(200, item))[0] for item in (1, 3)]
    assert set(((sent[1] - sent[0]) % 4).tolist()) == {2}


@pytest.mark.parametrize(
    "arguments",
    [(1, (1.0,)), (5000, (1.0,)), (2, ()), (2, "21"), (2, (1.0, 1.0)), (2, (1.0, 2.0)), (2, (0.0,)), (2, (50.0,))],
)
def test_bad_levels_are_refused(arguments: Any) -> None:
    with pytest.raises(UsageError):
        TieredResponse(*arguments)


def test_bad_messages_are_refused() -> None:
    response = TieredResponse(3, (2.0, 1.0))
    messages, (key,) = response.encode(np.array([0, 1, 2]))
    for wrong in (
        lambda: response.encode(np.array([3])),
        lambda: response.encode(np.array([0.5])),
        lambda: response.decode(messages, None, 1),
        lambda: response.decode(messages, key, 2),
        lambda: response.decode(messages, key[:2], 1),
        lambda: response.decode(messages, key + 9, 1),
        lambda: response.decode(messages, key, 0),
        lambda: response.decode(messages, key, True),
        lambda: response.estimate(np.zeros(0, dtype=np.int64), 1),
    ):
        with pytest.raises(UsageError):
            wrong()
