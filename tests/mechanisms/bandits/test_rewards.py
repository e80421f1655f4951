"""Rewards of a batch: enumeration of small batches in three models, noise with power, radii, near-optimal designs."""

import itertools
import math

import numpy as np
import pytest
import scipy.stats

from emdp.base.errors import UsageError
from emdp.mechanisms.bandits.design import design_counts, in_their_span, leverage, near_optimal
from emdp.mechanisms.bandits.rewards import UNITS, BatchRewards
from emdp.noise.discrete_laplace import discrete_laplace_log_pmf
from emdp.privacy.shuffle.users import shuffle_epsilon
from emdp.testing import seeded


def central_loss(epsilon: float, scale: float) -> float:
    """Return the largest log-ratio of all outputs of a batch of two rewards, one action, over all pairs of users."""
    rewards = [int(BatchRewards("central", epsilon, 1).encode([r])[0]) for r in (-1.0, 0.0, 1.0)]
    # Beyond the sums the ratio is constant, and between them monotone: their ends are enough.
    outputs = sorted({a + b + shift for a in rewards for b in rewards for shift in (-UNITS, 0, UNITS)})
    return max(
        discrete_laplace_log_pmf(out - a - b, scale) - discrete_laplace_log_pmf(out - c - b, scale)
        for a, b, c in itertools.product(rewards, repeat=3)
        for out in outputs
    )


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_a_batch_of_two_rewards_costs_epsilon_and_the_printed_scale_twice_that(epsilon: float) -> None:
    scale = BatchRewards("central", epsilon, 2).noise_units
    assert 0.999 * epsilon < central_loss(epsilon, scale) <= epsilon * (1 + 1e-12)
    # Printed: Lap(1/epsilon), for rewards that differ by at most 1.
    assert central_loss(epsilon, UNITS / epsilon) == pytest.approx(2 * epsilon)


def test_sums_have_the_noise_that_is_charged_and_no_other() -> None:
    law = BatchRewards("central", 0.5, 4)
    with seeded(11):
        noise = law.released(np.full(20_000, 3 * UNITS)) - 3.0
    for factor, passes in ((1.0, True), (0.7, False), (1.3, False)):
        found = scipy.stats.kstest(noise / (4.0 * factor), scipy.stats.laplace.cdf).pvalue
        assert bool(found > 1e-9) is passes


def test_one_bit_beats_laplace_noise_on_a_reward_up_to_the_noted_epsilon() -> None:
    """linear-bandits.md 1: variance ``coth(epsilon0/2)^2`` at most against ``8/epsilon0^2``."""
    for epsilon, is_better in ((2.323, True), (2.325, False), (0.1, True), (6.0, False)):
        reach = BatchRewards("local", epsilon, 1).reach
        assert reach == pytest.approx(1 / math.tanh(epsilon / 2), rel=1e-6)
        assert (reach**2 < 8 / epsilon**2) is is_better


@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_one_bit_is_private_and_unbiased(epsilon: float) -> None:
    law = BatchRewards("local", epsilon, 1)
    sent = [int(law.sign.numerators(np.array([r]))[0]) / 2**62 for r in (-1.0, -0.3, 0.0, 1.0)]
    loss = max(math.log(a / b) for one in (sent, [1 - p for p in sent]) for a in one for b in one)
    assert 0.999 * epsilon < loss <= epsilon * (1 + 1e-12)
    assert [(2 * p - 1) * law.reach for p in sent] == pytest.approx([-1.0, -0.3, 0.0, 1.0])
    with seeded(2):
        told = law.released(np.array([int(law.encode(np.full(40_000, 0.4)).sum())])) / 40_000
    assert abs(told[0] - 0.4) < 6 * law.reach / 200


def shuffled_law(actions: tuple[int, ...], users: list[tuple[float, float]], epsilon0: float) -> np.ndarray:
    """Return the chance of every row of signs by slot: users are dealt to slots, and play the slot's action."""
    tilt = math.tanh(epsilon0 / 2)
    found = np.zeros(2 ** len(actions))
    orders = list(itertools.permutations(range(len(users))))
    for order in orders:
        for place, signs in enumerate(itertools.product((1, -1), repeat=len(actions))):
            chance = math.prod(
                0.5 + 0.5 * sign * tilt * users[user][action]
                for sign, user, action in zip(signs, order, actions, strict=True)
            )
            found[place] += chance / len(orders)
    return found


def test_shuffled_batches_are_within_generic_clones() -> None:
    corners = list(itertools.product((1.0, -1.0), repeat=2))
    reached = 0.0
    for epsilon0, actions in itertools.product((0.5, 2.0), ((0, 0, 1), (0, 1, 1), (0, 0, 0), (0, 1))):
        for others in itertools.combinations_with_replacement(corners, len(actions) - 1):
            laws = [shuffled_law(actions, [*others, own], epsilon0) for own in corners]
            for first, second in itertools.permutations(laws, 2):
                for level in (0.05, 0.4, 1.0):
                    truth = float(np.maximum(first - math.exp(level) * second, 0.0).sum())
                    if truth > 1e-12:
                        claim = shuffle_epsilon(epsilon0, len(actions), min(truth, 0.999)).epsilon
                        assert claim >= level * (1 - 1e-9)
                        reached = max(reached, level / claim)
    assert reached > 0.8


def test_estimates_are_within_the_radius() -> None:
    vectors = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    counts, theta = np.array([30, 1, 40]), np.array([0.5, -0.4])
    weights = np.linalg.solve((vectors.T * counts) @ vectors, vectors.T).T @ vectors.T
    log = math.log(4.0 * 3 / 0.02)
    for model, epsilon in (("central", 0.3), ("central", 5.0), ("local", 1.0)):
        law = BatchRewards(model, epsilon, 71)
        radius, worst = law.radius(weights.T, counts, log), []
        with seeded(4):
            for seed in range(2000):
                rng = np.random.default_rng(seed)
                means = np.repeat(vectors @ theta, counts)
                told = law.encode(np.where(rng.random(71) < (1 + means) / 2, 1.0, -1.0))
                sums = np.add.reduceat(told, np.cumsum(counts) - counts)
                worst.append(np.abs(law.released(sums) @ weights - vectors @ theta).max())
        # It may fail in 2 % of runs; half of it must not be enough.
        assert np.mean(np.array(worst) > radius) < 0.02
        assert np.mean(np.array(worst) > radius / 3) > 0.02


@pytest.mark.parametrize(("count", "dimension"), [(10, 2), (60, 4), (300, 3), (7, 7)])
def test_designs_are_near_the_best_and_few(count: int, dimension: int) -> None:
    drawn = np.random.default_rng(count).normal(size=(count, dimension))
    actions = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    weights = near_optimal(actions)
    assert weights.sum() == pytest.approx(1.0)
    assert leverage(actions, weights).max() <= 1.03 * dimension
    assert np.count_nonzero(weights) <= dimension * (dimension + 1) / 2 + 20
    counts = design_counts(actions, 500.0)
    assert 500 <= counts.sum() <= 500 + np.count_nonzero(counts)


def test_actions_on_a_line_are_one_dimension() -> None:
    line = np.outer([1.0, 0.5, -0.2], [0.6, 0.8, 0.0])
    flat = in_their_span(line)
    assert flat.shape == (3, 1)
    assert np.abs(flat[:, 0]) == pytest.approx([1.0, 0.5, 0.2])
    assert near_optimal(flat).tolist() == [1.0, 0.0, 0.0]


def test_what_no_user_sends_is_refused() -> None:
    law = BatchRewards("local", 1.0, 3)
    for messages in ([1, -1], [1, 0, 1], [1.0, 1.0, 1.0], [1, 2, 1]):
        with pytest.raises(UsageError, match="messages"):
            law.check(messages)
    for model, least in (("local", np.int8), ("central", np.int64)):
        # The smallest integer of a type is its own absolute value in arrays.
        with pytest.raises(UsageError, match="messages"):
            BatchRewards(model, 1.0, 2).check(np.array([np.iinfo(least).min, 1], dtype=least))
    assert BatchRewards("central", 1.0, 3).encode([np.nan, 9.0, -np.inf]).tolist() == [0, UNITS, -UNITS]
