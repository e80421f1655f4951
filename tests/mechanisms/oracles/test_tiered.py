"""Oracles for several readers: the whole law of what every coalition has, against the strongest reader's oracle."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.stats

from emdp.base.errors import EmdpError
from emdp.mechanisms.oracles.tiered import TieredOracle
from emdp.mechanisms.weights import TOTAL
from emdp.testing import seeded

LEVELS = (2.0, 1.0, 0.4)


def views(oracle: TieredOracle, item: int, coalition: tuple[int, ...]) -> dict[tuple[int, ...], Fraction]:
    """Law of what the readers of some tiers have together of a user with one item, the public row among it."""
    law: dict[tuple[int, ...], Fraction] = {}
    k, rows = oracle.moves.items, range(1 if oracle.method == "krr" else oracle.tiers[0].inside)
    for row, *moves in itertools.product(rows, *[range(k)] * len(oracle.tiers)):
        chance = Fraction(1, len(rows))
        for move, weight in zip(moves, oracle.moves.weights, strict=True):
            chance *= Fraction(weight if move else TOTAL - (k - 1) * weight, TOTAL)
        symbol = item if oracle.method == "krr" else (item & row).bit_count() % 2
        seen = (row, *((symbol + sum(moves[:tier])) % k for tier in coalition))
        law[seen] = law.get(seen, Fraction(0)) + chance
    return law


@pytest.mark.parametrize(("method", "items"), [("krr", 2), ("krr", 4), ("hadamard", 3), ("hadamard", 4)])
def test_every_coalition_loses_what_its_strongest_loses(method: Any, items: int) -> None:
    oracle = TieredOracle(method, items, 10, LEVELS)
    for size in (1, 2, 3):
        for coalition in itertools.combinations((1, 2, 3), size):
            laws = [views(oracle, item, coalition) for item in range(items)]
            loss = max(math.log(one[seen] / other[seen]) for one in laws for other in laws for seen in one)
            strongest = oracle.tiers[coalition[0] - 1]
            assert loss == pytest.approx(LEVELS[coalition[0] - 1], abs=1e-9)
            assert loss <= strongest.epsilon + 1e-15 <= LEVELS[coalition[0] - 1] + 1e-15


@pytest.mark.parametrize(("method", "tier"), list(itertools.product(("krr", "hadamard"), (1, 2, 3))))
def test_each_tier_has_the_law_of_its_oracle_with_power(method: Any, tier: int) -> None:
    users = 40_000
    oracle = TieredOracle(method, 4, users, LEVELS)
    with seeded(3):
        places, messages, keys = oracle.encode(np.full(users, 3))
    symbols = oracle.moves.decode(messages, None if tier == 3 else keys[tier - 1], tier)
    counts = np.bincount(places * oracle.moves.items + symbols, minlength=oracle.tiers[0].outputs)
    for factor in (0.7, 1.0, 1.3):
        own = oracle.tiers[tier - 1].at(factor * LEVELS[tier - 1])
        inside = float(own._inside_chance)
        chances = np.full(own.outputs, (1 - inside) / own.outside)
        chances[own._inside_symbols(np.full(own.inside, 3), np.arange(own.inside))] = inside / own.inside
        p = float(scipy.stats.chisquare(counts, chances * users).pvalue)
        assert p > 1e-9 if factor == 1.0 else p < 1e-9


@pytest.mark.parametrize("method", ["krr", "hadamard"])
def test_estimates_are_unbiased_at_every_tier(method: Any) -> None:
    users = 50_000
    items = np.repeat([0, 1, 2, 4], [users // 2, users // 4, users // 8, users // 8])
    truth = np.bincount(items, minlength=5) / users
    oracle = TieredOracle(method, 5, users, LEVELS)
    with seeded(9):
        places, messages, keys = oracle.encode(items)
    for tier in (1, 2, 3):
        symbols = oracle.moves.decode(messages, None if tier == 3 else keys[tier - 1], tier)
        off = np.abs(oracle.estimate(places, symbols, tier) - truth)
        assert (off < 6 * np.sqrt(oracle.tiers[tier - 1].variances(truth))).all()


@pytest.mark.parametrize(
    "arguments",
    [
        ("krr", 5000, 10, LEVELS),
        ("rappor", 4, 10, LEVELS),
        ("krr", 4, 10, (1.0, 1.0)),
        ("krr", 1, 10, LEVELS),
        ("krr", 4, 0, LEVELS),
    ],
)
def test_what_has_no_tiers_is_refused(arguments: Any) -> None:
    with pytest.raises(EmdpError):
        TieredOracle(*arguments)
