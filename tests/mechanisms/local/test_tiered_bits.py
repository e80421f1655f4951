"""One bit a user for several readers: the law of every coalition of readers, and of every tier with stated power."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from emdp.base.errors import InternalError, UsageError
from emdp.mechanisms.local.one_bit import LocalOneBit, OneBitCoordinate
from emdp.mechanisms.local.tiered_bits import TieredBits
from emdp.mechanisms.weights import TOTAL
from emdp.testing import seeded

RATES = (math.expm1(2.0), math.expm1(1.0), math.expm1(0.5))
"""Rates at which the bits of a mean in [0, 1] cost 2, 1 and 0.5 at user level: ``e = (exp(epsilon) - 1)/(2 B)``."""


def bits_of(rates: tuple[float, ...], users: int = 1, means: int = 1, is_dealt: bool = False) -> TieredBits:
    return TieredBits(
        tuple(LocalOneBit((OneBitCoordinate(0.0, 1.0, rate),) * means, users, is_dealt) for rate in rates)
    )


def views(
    bits: TieredBits, mean: Fraction, coalition: tuple[int, ...], place: int = 0
) -> dict[tuple[int, ...], Fraction]:
    """Law of what the readers of some tiers have together of one mean, from the integers that are drawn with."""
    law: dict[tuple[int, ...], Fraction] = {}
    for bit, *moves in itertools.product((0, 1), repeat=1 + len(bits.tiers)):
        chance = mean if bit else 1 - mean
        for move, weight in zip(moves, bits.moves[place].weights, strict=True):
            chance *= Fraction(weight if move else TOTAL - weight, TOTAL)
        seen = tuple((bit + sum(moves[:tier])) % 2 for tier in coalition)
        law[seen] = law.get(seen, Fraction(0)) + chance
    return law


def test_every_coalition_loses_what_its_strongest_loses() -> None:
    bits = bits_of(RATES)
    for size in (1, 2, 3):
        for coalition in itertools.combinations((1, 2, 3), size):
            low, high = (views(bits, Fraction(end), coalition) for end in (0, 1))
            loss = max(abs(math.log(low[seen] / high[seen])) for seen in low)
            assert loss == pytest.approx((2.0, 1.0, 0.5)[coalition[0] - 1], abs=1e-9)
            assert loss <= (2.0, 1.0, 0.5)[coalition[0] - 1]


def test_coalitions_of_two_means_lose_the_sum_at_their_strongest_and_of_a_dealt_one_the_largest() -> None:
    """All 7 coalitions, all pairs of users at the corners: by the joint law of both bits, and of one that is dealt."""
    levels = (2.0, 1.0, 0.5)
    each, dealt = bits_of(tuple(math.expm1(own / 2) for own in levels), 2, 2), bits_of(RATES, 2, 2, is_dealt=True)
    corners = list(itertools.product((Fraction(0), Fraction(1)), repeat=2))
    for size in (1, 2, 3):
        for coalition in itertools.combinations((1, 2, 3), size):
            strongest = levels[coalition[0] - 1]
            both, alone = [], []
            for user in corners:
                laws = [views(each, own, coalition, place) for place, own in enumerate(user)]
                both.append({(a, b): laws[0][a] * laws[1][b] for a in laws[0] for b in laws[1]})
                laws = [views(dealt, own, coalition, place) for place, own in enumerate(user)]
                alone.append({(place, a): law[a] / 2 for place, law in enumerate(laws) for a in law})
            for joint in (both, alone):
                loss = max(
                    math.log(one[seen] / other[seen]) for one, other in itertools.permutations(joint, 2) for seen in one
                )
                assert loss == pytest.approx(strongest, abs=1e-9)
                assert loss <= strongest


def test_every_mean_has_keys_of_its_own() -> None:
    """With one key for two means everybody could tell whether their bits are alike."""
    users = 20_000
    bits = bits_of((2.0, 1.0, 0.5), users, 2)
    with seeded(6):
        sent, keys = bits.encode(np.zeros((users, 2)), (10, 10))
    for own in (sent, *keys):
        table = np.bincount(2 * own[:, 0] + own[:, 1], minlength=4) / users
        ends = own.mean(axis=0)
        assert table[3] == pytest.approx(ends[0] * ends[1], abs=6 * 0.5 / math.sqrt(users))


def test_messages_that_are_missing_are_no_estimate() -> None:
    bits = bits_of((2.0, 1.0), 3, 2, is_dealt=True)
    bits.estimate(np.array([0, 0, 1]), np.array([0, 1, 1]), 1)
    for places in ([0, 1, 1], [0, 0, 2], [0, 0]):
        with pytest.raises(InternalError, match="missing"):
            bits.estimate(np.array(places), np.array([0, 1, 1])[: len(places)], 1)


def test_nearby_means_lose_alpha_times_their_distance_at_every_tier() -> None:
    # alpha = rate here, for the constant of x on [0, 1] is 1.
    alphas = (8.0, 2.0, 0.5)
    bits = bits_of(alphas)
    for tier, alpha in enumerate(alphas, 1):
        for mean, step in itertools.product((0.0, 0.3, 0.9), (0.01, 0.1)):
            laws = [views(bits, Fraction(own), (tier,)) for own in (mean, mean + step)]
            assert max(abs(math.log(laws[0][seen] / laws[1][seen])) for seen in laws[0]) <= alpha * step


@pytest.mark.parametrize("tier", [1, 2, 3])
def test_each_tier_has_its_law_with_power(tier: int) -> None:
    users, bits = 60_000, bits_of(RATES, 60_000)
    with seeded(4):
        messages, keys = bits.encode(np.full((users, 1), 1024), (10,))
    found = messages if tier == 3 else messages ^ keys[tier - 1]
    turned, epsilon = int((found == 0).sum()), (2.0, 1.0, 0.5)[tier - 1]
    for factor in (0.7, 1.0, 1.3):
        chance = 1 / (1 + math.exp(factor * epsilon))
        off = abs(turned - chance * users) / math.sqrt(chance * (1 - chance) * users)
        assert off < 6 if factor == 1.0 else off > 6


def test_estimates_are_unbiased_and_within_their_intervals() -> None:
    users = 40_000
    means = np.linspace(0, 1024, users).astype(np.int64)
    bits = bits_of(RATES, users)
    with seeded(5):
        messages, keys = bits.encode(means[:, None], (10,))
    for tier in (1, 2, 3):
        own = (messages if tier == 3 else messages ^ keys[tier - 1])[:, 0]
        (value,) = bits.estimate(np.zeros(users, dtype=np.int64), own, tier)
        low, high = bits.tier(tier).interval(0, float(value), 1 - 1e-9)
        assert low < 0.4995 < high
        assert abs(float(value) - 0.5) < 6 * bits.tier(tier).deviation(0)


@pytest.mark.parametrize("rates", [(), (1.0, 1.0), (1.0, 2.0)])
def test_levels_that_do_not_fall_are_refused(rates: Any) -> None:
    with pytest.raises(UsageError):
        bits_of(rates)
