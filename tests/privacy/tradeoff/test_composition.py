"""``tradeoff_alpha``: against exact compositions, exact enumeration of small shuffles, attacks and known answers."""

import itertools
import math
import time
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.stats import binom

from emdp.base.errors import UsageError
from emdp.privacy.calibration import gaussian_alpha
from emdp.privacy.tradeoff.composition import tradeoff_alpha

Floats = npt.NDArray[np.float64]
Bag = tuple[int, ...]

TABLE = [
    (1.0, 1000, 10**8, 1e-12, 1.0853, 1.0003),
    (2.0, 1000, 10**8, 1e-12, 3.8135, 2.8480),
    (3.0, 1000, 10**8, 1e-12, 10.599, 5.9192),
    (3.5, 1000, 10**8, 1e-12, 17.483, 8.2237),
    (4.0, 1000, 10**8, 1e-12, 29.285, 11.362),
    (0.5, 100, 10**5, 1e-6, 0.8492, 0.8306),
    (1.0, 100, 10**6, 1e-6, 0.6787, 0.6236),
    (1.0, 10, 10**3, 1e-6, 2.3883, 2.1963),
    (0.01, 1000, 10**3, 1e-12, 2.1443, 2.1443),
    (0.1, 1000, 10**3, 1e-6, 27.140, 27.106),
]
"""EMD 3: alpha0, m, N, delta, the hybrid's alpha in any space and at the 0/1 metric."""


@pytest.mark.parametrize("row", TABLE)
def test_the_hybrid_is_never_better_by_half_a_per_cent(row: tuple[float, int, int, float, float, float]) -> None:
    *setting, anywhere, discrete = row
    assert tradeoff_alpha(*setting) <= 1.005 * anywhere
    assert tradeoff_alpha(*setting, w_min=1.0) <= 1.005 * discrete


def test_alpha_25_of_the_hybrid_improves_by_more_than_a_factor_1_2() -> None:
    assert 25 / tradeoff_alpha(3.8490, 1000, 10**8, 1e-12) > 1.42
    # at the 0/1 metric the Gaussian limit of the clone pair itself is at 1.17
    assert 25 / tradeoff_alpha(5.1807, 1000, 10**8, 1e-12, 1.0) > 1.15


def three_symbols(alpha0: float, m: int, others: int, delta: float, d: float) -> float:
    """Return the alpha that an attack shows at distance ``d``, in its Gaussian limit.

    All other items lie at one point, at distance 1 from the user's, which all move by ``d`` between two points. Symbols
    1 and 2 have the masses ``q (1-b)``, ``q b`` at one of these, exchanged at the other, and ``q (1-b) e^-alpha0`` each
    at the far point; ``q`` is the largest that keeps the third symbol's ratio within ``e^alpha0``. The attack looks at
    the difference of the counts of 1 and 2.
    """
    b = 1 / (1 + math.exp(alpha0 * d))
    q = math.expm1(alpha0) / (math.exp(alpha0) - 2 * (1 - b) * math.exp(-alpha0))
    shift = q * (1 - 2 * b)
    variance = others * 2 * q * (1 - b) * math.exp(-alpha0) + m * (q - shift**2)
    return gaussian_alpha(2 * m * shift / math.sqrt(variance), delta) / d


@pytest.mark.parametrize("row", [*TABLE[:7], (3.8490, 1000, 10**8, 1e-12, 25.0, 10.0)])
def test_no_claim_is_below_an_attack(row: tuple[float, int, int, float, float, float]) -> None:
    alpha0, m, shuffled, delta, *_ = row
    attack = max(three_symbols(alpha0, m, shuffled - m, delta, d) for d in np.geomspace(0.01, 1, 60))
    claim = tradeoff_alpha(alpha0, m, shuffled, delta)
    assert attack <= claim
    if alpha0 >= 3:
        assert claim <= 1.1 * attack
    assert three_symbols(alpha0, m, shuffled - m, delta, 1.0) <= tradeoff_alpha(alpha0, m, shuffled, delta, 1.0)


@cache
def clone_vertices(others: int, alpha0: float) -> tuple[Floats, Floats]:
    """Return ``X(S)`` and ``Y(S)`` for the best events ``S``, smallest first."""
    x, y, shares = [], [], []
    for c, weight in enumerate(binom.pmf(np.arange(others + 1), others, math.exp(-alpha0))):
        a = np.arange(c + 2)
        shares.append(a / (c + 1))
        x.append(weight * binom.pmf(a - 1, c, 0.5))
        y.append(weight * binom.pmf(a, c, 0.5))
    first, second = np.concatenate(x), np.concatenate(y)
    order = np.argsort(-np.concatenate(shares))
    return np.append(0, np.cumsum(first[order])), np.append(0, np.cumsum(second[order]))


def exact_delta(alpha0: float, others: int, moves: Floats, epsilon: float) -> float:
    """Return ``sup_a h(a) - e^epsilon a``, ``h`` the composed power curve of the moves' clone pairs, on a grid."""
    x, y = clone_vertices(others, alpha0)
    start = np.geomspace(1e-25, 1, 3000)
    power = start.copy()
    for w in moves:
        b = 1 / (1 + math.exp(alpha0 * w))
        power = np.interp(power, b * x + (1 - b) * y, (1 - b) * x + b * y)
    return float(np.max(power - math.exp(epsilon) * start))


def allocations(random: np.random.Generator, m: int, w_min: float) -> list[Floats]:
    """Return moves of ``m`` items: alike, some of them by 1, and at random; none between 0 and ``w_min``."""
    alike = [np.full(m, w) for w in (0.05, 0.15, 0.3, 0.6, 1.0)]
    some = [np.ones(k) for k in {1, m // 4, m // 2}]
    mixed = [random.uniform(0, 1, m) ** random.uniform(0.2, 5) for _ in range(6)]
    kept = [moves[(moves >= w_min) & (moves > 0)] for moves in (*alike, *some, *mixed)]
    return [moves for moves in kept if moves.size]


@pytest.mark.quarter
@pytest.mark.parametrize("w_min", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(
    ("alpha0", "m", "shuffled", "delta"),
    [
        (1.0, 1, 60, 1e-3),
        (1.0, 8, 300, 1e-5),
        (0.3, 100, 100, 1e-6),
        (0.1, 200, 200, 1e-6),
        (2.0, 30, 500, 1e-8),
        (2.5, 12, 600, 1e-2),
    ],
)
def test_exact_compositions_of_clone_pairs_obey(
    alpha0: float, m: int, shuffled: int, delta: float, w_min: float
) -> None:
    alpha = tradeoff_alpha(alpha0, m, shuffled, delta, w_min)
    random = np.random.default_rng(m)
    for moves in allocations(random, m, w_min):
        epsilon = alpha * float(np.sum(moves)) / m
        assert exact_delta(alpha0, shuffled - 1, moves, epsilon) <= delta


@pytest.mark.quarter
@pytest.mark.parametrize("setting", [(0.1, 200, 200, 1e-6), (0.3, 100, 100, 1e-6), (1.0, 40, 900, 1e-8)])
def test_the_claim_is_close_to_the_exact_composition(setting: tuple[float, int, int, float]) -> None:
    alpha0, m, shuffled, delta = setting
    claim = tradeoff_alpha(*setting)
    violated = [
        exact_delta(alpha0, shuffled - 1, np.full(m, d), 0.96 * claim * d) > delta for d in np.geomspace(0.02, 1, 15)
    ]
    assert any(violated)


def random_space(random: np.random.Generator, k: int) -> Floats:
    """Return a metric of largest distance 1: shortest paths of random lengths."""
    metric = random.uniform(0.05, 1, (k, k))
    metric = np.triu(metric, 1) + np.triu(metric, 1).T
    for middle in range(k):
        metric = np.minimum(metric, metric[:, [middle]] + metric[[middle]])
    return np.asarray(metric / metric.max(), dtype=np.float64)


def random_matrix(random: np.random.Generator, metric: Floats, alpha0: float, outputs: int) -> tuple[Floats, float]:
    """Return an exponential mechanism around random points, or any matrix, and its ``alpha0``, at least 1e-6."""
    k = len(metric)
    if random.random() < 0.7:
        logs = -alpha0 / 2 * metric[:, random.integers(0, k, outputs)] + random.normal(0, 0.3, outputs)
    else:
        logs = random.normal(0, alpha0 / 4, (k, outputs))
    matrix = np.exp(logs) / np.sum(np.exp(logs), axis=1, keepdims=True)
    achieved = max(
        float(np.max(np.log(matrix[i] / matrix[j]))) / metric[i, j] for i, j in itertools.permutations(range(k), 2)
    )
    return matrix, max(achieved, 1e-6)


def multiset_law(matrix: Floats, bag: Bag, shuffled: int) -> Floats:
    """Return the law of the counts of all outputs but the last, as an array."""
    outputs = matrix.shape[1]
    law = np.zeros((shuffled + 1,) * (outputs - 1))
    law[(0,) * (outputs - 1)] = 1.0
    for item in bag:
        moved = law * matrix[item, -1]
        for y in range(outputs - 1):
            moved += matrix[item, y] * np.roll(law, 1, axis=y)
        law = moved
    return law


def check_all_neighbours(seed: int) -> int:
    """Check every pair of bags and every company of one random small shuffle; return how many pairs there were."""
    random = np.random.default_rng(seed)
    k, outputs, shuffled = int(random.integers(2, 4)), int(random.integers(2, 4)), int(random.integers(1, 7))
    m = int(random.integers(1, min(shuffled, 3) + 1))
    metric = random_space(random, k)
    matrix, alpha0 = random_matrix(random, metric, random.uniform(0.2, 3), outputs)
    delta = float(10 ** random.uniform(-2.5, -0.5))
    smallest = float(np.min(metric[~np.eye(k, dtype=bool)]))
    alpha = min(tradeoff_alpha(alpha0, m, shuffled, delta, w_min) for w_min in (0.0, smallest / 2, smallest))
    pairs = 0
    laws = {
        bag: multiset_law(matrix, bag, shuffled) for bag in itertools.combinations_with_replacement(range(k), shuffled)
    }
    bags = list(itertools.combinations_with_replacement(range(k), m))
    for company in itertools.combinations_with_replacement(range(k), shuffled - m):
        for one, other in itertools.permutations(bags, 2):
            cost = metric[np.ix_(one, other)]
            d = float(cost[linear_sum_assignment(cost)].mean())
            first, second = laws[tuple(sorted(one + company))], laws[tuple(sorted(other + company))]
            divergence = float(np.sum(np.maximum(first - math.exp(alpha * d) * second, 0.0)))
            assert divergence <= delta, (seed, one, other, company)
            pairs += 1
    return pairs


@pytest.mark.parametrize("seeds", [range(30), pytest.param(range(30, 120), marks=pytest.mark.slow)])
def test_exact_enumeration_of_small_shuffles(seeds: range) -> None:
    assert sum(map(check_all_neighbours, seeds)) > 16 * len(seeds)


@pytest.mark.full
def test_exact_enumeration_of_many_small_shuffles() -> None:
    assert sum(check_all_neighbours(seed) for seed in range(120, 1320)) > 20000


def test_small_shuffles_do_not_all_fall_back_to_the_sum() -> None:
    assert tradeoff_alpha(1.0, 2, 6, 0.2) < 0.8 * 2 * 1.0


def test_alpha_moves_the_right_way_with_every_argument() -> None:
    base = (1.5, 50, 10**5, 1e-8, 0.2)
    alpha = tradeoff_alpha(*base)
    for worse in [(1.51, *base[1:]), (1.5, 51, *base[2:]), (1.5, 50, 97_000, *base[3:]), (*base[:3], 8e-9, 0.2)]:
        assert tradeoff_alpha(*worse) > alpha
    assert tradeoff_alpha(*base[:4], w_min=0.5) < alpha
    assert tradeoff_alpha(*base[:4], w_min=0.0) >= alpha * (1 - 1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("delta", [1e-2, 1e-12, 1e-30])
@pytest.mark.parametrize("shuffled", [2, 10, 10**4, 10**10])
@pytest.mark.parametrize("alpha0", [1e-4, 0.1, 3.0, 12.0])
def test_every_corner_of_the_range_gives_a_number(alpha0: float, shuffled: int, delta: float) -> None:
    for m in {1, min(shuffled, 1000)}:
        alpha = tradeoff_alpha(alpha0, m, shuffled, delta)
        assert 0 < alpha <= m * alpha0 * (1 + 1e-8)
        assert tradeoff_alpha(alpha0, m, shuffled, delta, 1.0) <= alpha * (1 + 1e-9)


def test_numbers_near_zero_do_not_underflow_into_a_claim() -> None:
    assert tradeoff_alpha(1.0, 10, 1000, 1e-6, w_min=5e-324) == tradeoff_alpha(1.0, 10, 1000, 1e-6)
    assert tradeoff_alpha(5e-324, 10, 1000, 1e-6) == tradeoff_alpha(1e-9, 10, 1000, 1e-6) > 0
    assert tradeoff_alpha(1.0, 10, 1000, 5e-324) == pytest.approx(10.0, rel=1e-6)


def test_one_call_takes_less_than_a_second() -> None:
    tradeoff_alpha(1.0, 10, 100, 1e-3)
    seconds = []
    for alpha0 in (3.81, 3.82, 3.83):
        start = time.process_time()
        tradeoff_alpha(alpha0, 1000, 10**8, 1e-12)
        seconds.append(time.process_time() - start)
    assert min(seconds) < 1.0


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((0.0, 1, 1, 0.1), "alpha0"),
        ((701.0, 1, 1, 0.1), "alpha0"),
        ((1.0, 0, 1, 0.1), "m"),
        ((1.0, 3, 2, 0.1), "N"),
        ((1.0, 1, 1, 0.0), "delta"),
        ((1.0, 1, 1, 1.0), "delta"),
        ((1.0, 1, 1, 0.1, 1.5), "w_min"),
        ((1.0, 1, 1, 0.1, math.nan), "w_min"),
    ],
)
def test_a_bad_argument_is_named(arguments: tuple[float, int, int, float], name: str) -> None:
    with pytest.raises(UsageError, match=f"^{name} "):
        tradeoff_alpha(*arguments)
