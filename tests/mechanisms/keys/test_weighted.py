"""Keys found by weights: the price against the exact divergence of every change, wrong thresholds, rounds, noise."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.special
import scipy.stats

from emdp.base.errors import UsageError
from emdp.mechanisms.keys import weighted as module
from emdp.mechanisms.keys.weighted import WeightedKeys, weighted_delta, weighted_threshold
from emdp.privacy.account.budget import Budget
from emdp.privacy.account.filter import Account
from emdp.privacy.events.table import event_from_json
from emdp.privacy.guarantees.kinds import Neighbours, UserDP
from emdp.testing import seeded

Z = scipy.stats.norm


def profile(level: float, mu: float) -> float:
    """Return the Gaussian divergence at ``e^level``, written out."""
    if mu == 0:
        return max(0.0, 1 - math.exp(level))
    ndtr = scipy.special.ndtr
    return float(ndtr(mu / 2 - level / mu) - math.exp(level) * ndtr(-mu / 2 - level / mu))


def worst(epsilon: float, sigma: float, threshold: float, keys: int, neighbours: Neighbours) -> float:
    """Return the largest exact delta of one round over all sizes of a user's keys, and how many are new, on both sides.

    A user with ``t`` keys, ``a`` of them new, moves the common ones by a vector of square ``(t - a)/t``.
    """
    sides = [(1.0, 0.0)]
    for t in range(1, keys + 1):
        passing = float(Z.sf((threshold - 1 / math.sqrt(t)) / sigma))
        sides += [((1 - passing) ** a, (t - a) / t) for a in range(t + 1)]
    found = 0.0
    for one, (left, square) in enumerate(sides):
        for other, (right, further) in enumerate(sides):
            if neighbours == "replace" or one == 0 or other == 0:
                level = epsilon + math.log(right) - math.log(left)
                found = max(found, 1 - left + left * profile(level, math.sqrt(square + further) / sigma))
    return found


@pytest.mark.parametrize("neighbours", ["remove", "replace"])
@pytest.mark.parametrize(("epsilon", "delta", "keys"), [(1.0, 1e-3, 6), (0.5, 0.02, 1), (2.0, 1e-2, 7)])
def test_one_round_costs_what_it_claims(epsilon: float, delta: float, keys: int, neighbours: Neighbours) -> None:
    asked = WeightedKeys(epsilon, delta, keys, neighbours, (1.0,))
    reached = worst(epsilon, asked.sigmas[0], asked.thresholds[0], keys, neighbours)
    assert 0.45 * delta < reached <= asked.price <= delta
    # 0.7 times the noise, or the threshold of that, is not enough.
    assert worst(epsilon, 0.7 * asked.sigmas[0], asked.thresholds[0], keys, neighbours) > delta
    assert worst(epsilon, asked.sigmas[0], 0.7 * asked.thresholds[0], keys, neighbours) > delta


def test_the_threshold_is_for_every_number_of_keys() -> None:
    for sigma in (0.05, 5.0):
        keys, delta = 30, 1e-6
        exact = [
            1 / math.sqrt(t) + sigma * float(Z.isf(-math.expm1(math.log1p(-delta) / t))) for t in range(1, keys + 1)
        ]
        threshold = weighted_threshold(sigma, keys, delta)
        assert 0 <= threshold - max(exact) < 1e-6
        assert 1 - 1e-5 < weighted_delta(sigma, keys, threshold) / delta <= 1
        # Where noise is little one key counts, where it is much all of them do: neither alone is enough for the other.
        alone = exact[0] if sigma > 1 else exact[-1]
        assert weighted_delta(sigma, keys, alone) > 1.5 * delta


def test_rounds_divide_mu_and_delta() -> None:
    for neighbours, root in (("remove", 1.0), ("replace", math.sqrt(2.0))):
        asked = WeightedKeys(1.0, 1e-9, 30, neighbours)  # type: ignore[arg-type]
        squares = [(root / sigma) ** 2 for sigma in asked.sigmas]
        assert math.fsum(squares) <= asked.mu**2
        assert [square / math.fsum(squares) for square in squares] == pytest.approx([0.1, 0.2, 0.7])
        new = [weighted_delta(sigma, 30, tau) for sigma, tau in zip(asked.sigmas, asked.thresholds, strict=True)]
        assert profile(1.0, math.fsum(squares) ** 0.5) + math.fsum(new) <= asked.price <= 1e-9
        assert profile(1.0, 1.01 * math.fsum(squares) ** 0.5) > 0.5e-9


def test_weights_of_a_user_have_norm_one() -> None:
    table = module._table(500)
    for count in range(1, 501):
        assert count * int(table[count]) ** 2 <= 2**60
        assert Fraction(int(table[count]), 2**30) ** 2 * count > 1 - Fraction(1, 2**20)


def test_weights_are_of_the_first_keys_of_each_user() -> None:
    users = [1, 1, 1, 1, 5, 5, 9]
    keys = [7, 3, 7, 4, 3, 8, 3]
    present, weights = module._weigh(np.array(users), np.array(keys), 2)
    half, one = math.isqrt(2**59), 2**30
    # User 1 keeps 7 and 3 (7 again is no third key), user 5 both, user 9 one.
    assert present.tolist() == [3, 7, 8]
    assert weights.tolist() == [2 * half + one, half, half]


def test_what_is_found_is_left_out_of_the_next_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "draw_discrete_gaussian", lambda scale, size: [0] * size)
    seen: list[list[int]] = []
    weigh = module._weigh

    def keep(owners: np.ndarray, places: np.ndarray, keys: int) -> tuple[np.ndarray, np.ndarray]:
        present, weights = weigh(owners, places, keys)
        seen.append(weights.tolist())
        return present, weights

    monkeypatch.setattr(module, "_weigh", keep)
    asked = WeightedKeys(1.0, 1e-6, 1, "remove", (0.5, 0.5))
    many = math.ceil(asked.thresholds[0])
    # All users have key 0 first and key 1 second: only the first counts while it is there.
    found = asked.release(np.repeat(np.arange(many), 2), np.tile([0, 1], many))
    assert [one.tolist() for one in found] == [[0], [1]]
    assert seen == [[many * 2**30], [many * 2**30]]
    fewer = asked.release(np.arange(many - 1), np.zeros(many - 1, dtype=np.int64))
    assert [one.tolist() for one in fewer] == [[], []]
    assert [one.tolist() for one in asked.release([], [])] == [[], []]


def test_noise_is_as_stated_with_power() -> None:
    sigma, weights = 3.0, np.full(20_000, 5 * 2**30, dtype=np.int64)
    with seeded(2):
        share = float(module._passes(weights, sigma, 8.0).mean())

    def distance(factor: float) -> float:
        chance = float(Z.sf(3.0 / (factor * sigma)))
        return abs(share - chance) / math.sqrt(chance * (1 - chance) / 20_000)

    assert distance(1.0) < 5
    assert distance(0.7) > 5
    assert distance(1.3) > 5


def test_new_keys_are_found_as_rarely_as_stated() -> None:
    asked = WeightedKeys(1.0, 0.5, 4, "remove", (1.0,))
    users, keys = np.repeat(np.arange(4000), 4), np.arange(16_000)
    with seeded(3):
        found = asked.release(users, keys)[0]
    shown = len(set((found // 4).tolist())) / 4000
    assert shown <= weighted_delta(asked.sigmas[0], 4, asked.thresholds[0]) + 6 * math.sqrt(0.25 * 0.75 / 4000)
    assert shown > 0.02


def test_rounds_find_frequent_keys_first_and_none_twice() -> None:
    # Users have a frequent key each and a few of many rare ones.
    generator = np.random.default_rng(4)
    rare = np.sort(generator.integers(20, 220, (30_000, 3)), axis=1)
    keys = np.column_stack((generator.integers(0, 20, 30_000), rare))
    users = np.repeat(np.arange(30_000), 4)
    with seeded(5):
        rounds = WeightedKeys(0.3, 1e-9, 4, "remove")
        found = rounds.release(users, keys.ravel())
    assert len(np.unique(np.concatenate(found))) == sum(map(len, found))
    assert set(range(20)) <= set(np.concatenate(found[:2]).tolist())


def test_events() -> None:
    asked = WeightedKeys(1.0, 1e-6, 5, "replace")
    account = Account(Budget(UserDP(4.0, 1e-5)))
    for event in (asked.event(), *asked.events()):
        assert event_from_json(event.to_json()) == event
        account = account.charge(event)
    assert asked.event().guarantee == UserDP(1.0, 1e-6)
    assert len(asked.events()) == 4


def test_refusals() -> None:
    changes: list[dict[str, object]] = [
        {"epsilon": 0.0}, {"epsilon": 101.0}, {"delta": 0.0}, {"delta": 1e-26}, {"keys": 0}, {"keys": 2**15},
        {"neighbours": "add"}, {"shares": ()}, {"shares": (1.0, 0.0)}, {"shares": (1.0,) * 9},
    ]  # fmt: skip
    for changed in changes:
        with pytest.raises(UsageError):
            WeightedKeys(**{"epsilon": 1.0, "delta": 1e-6, "keys": 3, "neighbours": "remove", **changed})  # type: ignore[arg-type]
    asked = WeightedKeys(1.0, 1e-6, 3, "remove")
    for users, keys in (([2, 1], [0, 0]), ([1], [0, 1]), ([1], [-1])):
        with pytest.raises(UsageError):
            asked.release(users, keys)
    with pytest.raises(UsageError, match="neighbours"):
        asked.event()
