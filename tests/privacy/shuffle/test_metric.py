"""Shuffled one-bit reports of means: what the theorem says against every outcome of every small case.

The second way is enumeration: the exact law of the number of ``+1`` of all users, over bags of all sorts. It needs no
theory of blankets or clones.
"""

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest

from emdp.base.errors import UsageError
from emdp.privacy.calibration import gaussian_delta
from emdp.privacy.shuffle import metric_product
from emdp.privacy.shuffle.metric import metric_alpha, metric_alpha0, metric_delta, sign_strength
from emdp.privacy.shuffle.metric_product import SignKind, _law, _losses, signs_alpha0, signs_delta, signs_hold

Array = np.ndarray

LEVELS = (0.0, 0.02, 0.1, 0.4, 1.0)
GRID = (-1.0, -0.4, 0.0, 0.7, 1.0)


def count_law(chances: Array) -> Array:
    """The law of the number of +1 of independent signs."""
    law = np.ones(1)
    for chance in chances:
        law = np.convolve(law, [1 - chance, chance])
    return law


def hockey_stick(first: Array, second: Array, epsilon: float) -> float:
    return float(np.maximum(first - math.exp(epsilon) * second, 0.0).sum())


def pairs(n: int, t: float, rng: np.random.Generator) -> Iterator[tuple[Array, Array, float]]:
    """Yield laws of two releases that differ in one user, and how far that user's means lie apart."""
    others = [*itertools.product(GRID[:: 2 if n > 3 else 1], repeat=n - 1), *rng.uniform(-1, 1, (3, n - 1)).tolist()]
    moves = [
        *itertools.permutations(GRID, 2),
        *map(tuple, rng.uniform(-1, 1, (4, 2)).tolist()),
        (-0.9, -1.0),
        (0.98, 1.0),
    ]
    for rest in others:
        around = count_law((1 + t * np.array(rest)) / 2)
        for own, other in moves:
            laws = [np.convolve(around, [(1 - t * v) / 2, (1 + t * v) / 2]) for v in (own, other)]
            yield laws[0], laws[1], abs(own - other)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("t", [0.3, 0.8])
def test_no_release_of_few_users_is_above_the_theorem(n: int, t: float) -> None:
    rng, closest, count, known = np.random.default_rng(n), 0.0, 0, {}
    for first, second, width in pairs(n, t, rng):
        for epsilon in LEVELS:
            key = epsilon, round(width, 9)
            if key not in known:
                known[key] = metric_delta(epsilon, n, t, width)
            reached = hockey_stick(first, second, epsilon)
            assert reached <= known[key] * (1 + 1e-9) + 1e-15
            closest, count = max(closest, reached / known[key] if known[key] > 1e-9 else 0.0), count + 1
    assert count > 500
    # alone a user's sign has exactly that; among others the blanket's coins are few
    assert closest > (0.999 if n == 1 else 0.6)


def test_the_theorem_is_reached_where_the_others_are_fair_coins_and_known_ones() -> None:
    """Given who is a coin the release is the theorem's pair: averaged over that it is attained."""
    n, t, width = 4, 0.6, 0.5
    for epsilon in (0.0, 0.05, 0.3):
        total = 0.0
        for coins in range(n):
            around = count_law(np.full(coins, 0.5))
            chance = math.comb(n - 1, coins) * (1 - t) ** coins * t ** (n - 1 - coins)
            own = [np.convolve(around, [(1 - t * v) / 2, (1 + t * v) / 2]) for v in (width - 1, -1.0)]
            total += chance * hockey_stick(own[0], own[1], epsilon)
        assert metric_delta(epsilon, n, t, width) == pytest.approx(total, rel=1e-6)


@pytest.mark.parametrize(
    ("alpha", "strength", "deviation"), [(0.1, 0.6159, 8.12e-3), (1.0, 0.97945, 5.11e-3), (4.0, 0.99428, 5.03e-3)]
)
def test_known_answers(alpha: float, strength: float, deviation: float) -> None:
    t = sign_strength(metric_alpha0(alpha, 10_000, 1e-9), 2.0)
    assert t == pytest.approx(strength, rel=3e-4)
    assert t <= strength * (1 + 1e-4)
    assert 0.5 / t / 100 == pytest.approx(deviation, rel=1e-3)


@pytest.mark.parametrize("alpha", [0.1, 1.0, 4.0])
def test_no_distance_between_the_steps_is_worse(alpha: float) -> None:
    """A grid of 2000 distances, each by itself; the worst is not 1."""
    n, delta, slope = 10_000, 1e-9, 2.0
    t = sign_strength(metric_alpha0(alpha, n, delta, slope), slope)
    distances = np.geomspace(1e-4, 1.0, 400)
    found = [metric_delta(alpha * d, n, t, min(slope * d, 2.0)) for d in distances.tolist()]
    assert max(found) <= delta
    assert max(found) > 0.97 * delta
    assert found[-1] < (0.99 if alpha < 0.5 else 0.5) * delta


def test_alpha_and_its_inverse_agree_and_are_bounded_by_a_sign_alone() -> None:
    for n, slope, alpha in itertools.product((1, 2, 10**5), (0.7, 9.0), (0.05, 2.0)):
        own = metric_alpha0(alpha, n, 1e-6, slope)
        assert own >= alpha
        assert metric_alpha(own, n, 1e-6, slope) <= alpha * (1 + 1e-3)
    assert metric_alpha0(1.0, 10, 0.0) == 1.0
    assert metric_alpha(5.0, 10, 0.0) == 5.0
    assert metric_alpha0(1e7, 10, 1e-6) == 1e7
    # few users hide little
    assert metric_alpha0(1.0, 2, 1e-9) == pytest.approx(1.0, rel=1e-6)


@pytest.mark.slow
def test_more_users_or_delta_allow_more_and_weaker_functions_too() -> None:
    values = [metric_alpha0(0.5, n, 1e-9) for n in (100, 1000, 10**4, 10**6, 10**9)]
    assert values == sorted(values)
    assert metric_alpha0(0.5, 1000, 1e-6) > metric_alpha0(0.5, 1000, 1e-9)


def test_bad_arguments_are_refused() -> None:
    for call in (
        lambda: metric_alpha(0.0, 10, 1e-6),
        lambda: metric_alpha(1.0, 0, 1e-6),
        lambda: metric_alpha(1.0, 10, 1.0),
        lambda: metric_alpha0(1.0, 10, 1e-6, math.nan),
        lambda: metric_delta(-1.0, 10, 0.5, 1.0),
        lambda: metric_delta(1.0, 10, 0.5, 2.5),
        lambda: signs_alpha0(1.0, 10, 1e-6, (2.0,), 300),
        lambda: signs_delta(1.0, 10, [], 0.5),
    ):
        with pytest.raises(UsageError):
            call()


def several(
    n: int, kinds: list[tuple[float, float]], moves: list[tuple[float, float]], others: Array
) -> tuple[Array, Array]:
    """The laws of all counts, the signs of each kind mixed apart; ``others`` has a row a kind."""
    laws = [np.ones(1), np.ones(1)]
    for (t, _), own, rest in zip(kinds, moves, others, strict=True):
        around = count_law((1 + t * rest) / 2)
        for place, v in enumerate(own):
            laws[place] = np.outer(laws[place], np.convolve(around, [(1 - t * v) / 2, (1 + t * v) / 2])).ravel()
    return laws[0], laws[1]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_no_release_of_several_signs_is_above_the_product(n: int) -> None:
    """Signs of one function and of two, moved the same way and against each other, every count of all."""
    rng, count, closest, known = np.random.default_rng(n), 0, 0.0, {}
    for t, other in ((0.3, 0.3), (0.8, 0.8), (0.8, 0.4)):
        kinds = [(t, 2.0), (other, 1.2)]
        signs = [SignKind(t, 2.0, 1), SignKind(other, 1.2, 1)]
        for d in (0.1, 0.6, 1.0):
            widths = [min(slope * d, 2.0) for _, slope in kinds]
            starts = [((w - 1, -1.0), (-1.0, w - 1), (1 - w, 1.0), (1.0, 1 - w), (w / 2, -w / 2)) for w in widths]
            for rest in (
                np.ones((2, n - 1)),
                -np.ones((2, n - 1)),
                np.zeros((2, n - 1)),
                rng.uniform(-1, 1, (2, n - 1)),
            ):
                for moves in itertools.product(*starts):
                    first, second = several(n, kinds, list(moves), rest)
                    for epsilon in LEVELS:
                        key = t, other, d, epsilon
                        if key not in known:
                            known[key] = signs_delta(epsilon, n, signs, d)
                        reached = hockey_stick(first, second, epsilon)
                        assert reached <= known[key] * (1 + 1e-9) + 1e-15
                        closest = max(closest, reached / known[key] if known[key] > 1e-9 else 0.0)
                        count += 1
    assert count == 4500
    assert closest > 0.6


def test_the_product_of_one_order_is_too_low() -> None:
    """shuffle-known-randomizers.md 2: without mirroring an adversary who alternates directions gains 1.49 times."""
    t, width, epsilon = math.tanh(1.0), 0.5, 0.7
    low, high = (
        np.array([(1 - t * v) / 2 for v in (-1.0, width - 1)]),
        np.array([(1 + t * v) / 2 for v in (-1.0, width - 1)]),
    )
    worse, better = np.array([low[1], high[1]]), np.array([low[0], high[0]])
    unmirrored = hockey_stick(np.outer(worse, worse), np.outer(better, better), epsilon)
    true = hockey_stick(np.outer(worse, better[::-1]), np.outer(better, worse[::-1]), epsilon)
    mirrored = signs_delta(epsilon, 1, [SignKind(t, 2 * width, 2)], 0.5)
    assert unmirrored == pytest.approx(0.07187, abs=1e-5)
    assert true == pytest.approx(0.10697, abs=1e-5)
    assert mirrored == pytest.approx(0.1467, abs=2e-4)
    assert true <= mirrored


def test_transforms_agree_with_direct_sums() -> None:
    """The product of eight mirrored laws by direct convolution, in the same grid."""
    n, t, d, epsilon = 2000, 0.7, 0.3, 0.2
    found = signs_delta(epsilon, n, [SignKind(t, 2.0, 8)], d)
    law = _law(n, t)
    losses, masses = _losses(law.mirrored(d))
    step = 0.002
    grid, beyond = metric_product._gridded(losses, masses, step)
    assert beyond == 0
    total, middle = np.ones(1), 0
    for _ in range(8):
        total, middle = np.convolve(total, grid), middle + len(grid) // 2
    points = step * (np.arange(len(total)) - middle)
    direct = float((total * np.maximum(-np.expm1(epsilon - points), 0.0)).sum())
    assert found == pytest.approx(direct, rel=2e-2)
    assert 1e-9 < found < 1e-2


def test_several_signs_hold_at_every_distance_of_a_grid() -> None:
    n, delta, slopes, messages = 500, 1e-8, (2.0, 3.0), 2
    alpha0 = signs_alpha0(0.8, n, delta, slopes, messages)
    kinds = [SignKind(sign_strength(alpha0, slope), slope, messages) for slope in slopes]
    found = [signs_delta(0.8 * d, n, kinds, d) for d in np.geomspace(1e-3, 1.0, 25).tolist()]
    assert max(found) <= delta
    assert max(found) > 0.3 * delta
    assert signs_hold(0.8, n, delta, kinds)
    stronger = [SignKind(sign_strength(1.2 * alpha0, slope), slope, messages) for slope in slopes]
    assert not signs_hold(0.8, n, delta, stronger)


def test_digits_of_a_number_have_no_alpha() -> None:
    """A binary digit jumps between two bags however near: at d = 1e-6 the divergence stays, so that no alpha holds."""
    n, t, d = 1000, 0.9, 1e-6
    digit = metric_delta(20.0 * d, n, t, 2.0)
    sign = metric_delta(20.0 * d, n, t, 2.0 * d)
    assert digit > 1e-2
    assert sign < 1e-6


@pytest.mark.slow
def test_ever_more_signs_come_near_to_a_curators_gaussian_noise() -> None:
    """Of 64 signs the variance is within 1/(1 - t) of sigma^2 = L^2/(n mu)^2, mu that of the same alpha and delta."""
    n, alpha, delta = 1000, 1.0, 1e-6
    alpha0 = signs_alpha0(alpha, n, delta, (2.0,), 64)
    t = sign_strength(alpha0, 2.0)
    variance = 0.25 / (t * t * 64 * n)
    mu = 2.0 * t * math.sqrt(64 / (n * (1 - t)))
    assert variance * (1 - t) == pytest.approx(1 / (n * mu) ** 2, rel=1e-9)
    worst = max(gaussian_delta(alpha, mu, d) for d in np.geomspace(0.01, 1.0, 60).tolist())
    assert worst == pytest.approx(delta, rel=0.6)


def test_signs_stronger_than_what_is_computed_are_not_taken_for_weaker_ones() -> None:
    """The count of all users alone shows a sign of great odds where all others have the other value."""
    kind = SignKind(1 - 1e-9, 2.0, 1)
    assert signs_delta(13.0, 1, [kind], 1.0) >= metric_delta(13.0, 1, 1 - 1e-9, 2.0) > 0.99
    assert not signs_hold(13.0, 1, 1e-9, [kind])
    assert not signs_hold(0.01, 1, 1e-9, [SignKind(0.5, math.inf, 1)])
    cases = [(1, (2e-6, 1.0), 1), (3, (2e-6, 1.0), 1), (10_000, (2e-6, 1.0), 1), (1, (2e-6,), 2)]
    for users, slopes, messages in cases:
        alpha0 = signs_alpha0(1.0, users, 1e-9, slopes, messages)
        for width in slopes:
            t = sign_strength(alpha0, width)
            few, most = (1 - t) / 2, (1 + t) / 2
            one = users * few * most ** (users - 1)
            other = most ** (users - 1) * (few + t * width / 2)
            if users > 1:
                other += (users - 1) * few * most ** (users - 2) * (most - t * width / 2)
            # All others are at one end: exactly one message of the other sign.
            assert other - math.e * one <= 1e-9
