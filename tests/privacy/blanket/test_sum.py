"""The tail sum of the blanket against exact sums in high precision, and the cheap bounds against it."""

import math

import mpmath
import numpy as np
import pytest

from emdp.privacy.blanket.output_law import OutputLaw
from emdp.privacy.blanket.screen import Screen
from emdp.privacy.blanket.step import Step
from emdp.privacy.blanket.sum import find_saddle, log_positive_part

TOTAL = 2**62


def exact_log(values: list[float], chances: list[float], N: int) -> float:
    """``ln E[S_+]`` for two values, with 60 digits."""
    with mpmath.workdps(60):
        one, two = (mpmath.mpf(chance) for chance in chances)
        total = mpmath.mpf(0)
        for first in range(N + 1):
            for second in range(N + 1 - first):
                value = first * mpmath.mpf(values[0]) + second * mpmath.mpf(values[1])
                if value > 0:
                    ways = mpmath.binomial(N, first) * mpmath.binomial(N - first, second)
                    rest = (1 - one - two) ** (N - first - second)
                    total += ways * one**first * two**second * rest * value
        return float(mpmath.log(total))


CASES = [
    ([1.0, -1.0], [0.1, 0.85], 120),
    ([1.0, -1.1], [0.1, 0.3], 41),
    ([3.0, -1.1], [0.01, 0.3], 60),
    ([7.0, -7.1], [0.3, 0.3], 80),
    ([2.0, -0.01], [1e-6, 0.9], 50),
    ([1.0, -3.0], [0.02, 0.5], 60),
    ([1.0, 2.0], [0.3, 0.4], 3),
]


@pytest.mark.quarter
@pytest.mark.parametrize(("values", "chances", "N"), CASES)
def test_the_sum_is_above_the_exact_one_and_near_it(values: list[float], chances: list[float], N: int) -> None:
    exact = exact_log(values, chances, N)
    for excess in (1e-8, 1e-5, 1e-2, 0.3):
        bound = log_positive_part(np.array(values), np.array(chances), N, excess=excess)
        # On few points smoothing costs about its root.
        assert exact - 1e-12 <= bound <= exact + 1.1 * excess + 8 * math.sqrt(excess)


def test_targets_far_below_the_smallest_float() -> None:
    # The sum of 4000 signs is positive with probability about e^(-1400): exact by its binomial terms.
    with mpmath.workdps(50):
        p, N = mpmath.mpf(0.15), 4000
        terms = (mpmath.binomial(N, up) * p**up * (1 - p) ** (N - up) * (2 * up - N) for up in range(2001, 2400))
        exact = float(mpmath.log(sum(terms)))
    bound = log_positive_part(np.array([1.0, -1.0]), np.array([0.15, 1 - 0.15]), N)
    assert exact < -1000
    assert exact <= bound <= exact + 1e-2


def test_a_sum_of_very_many_items_is_its_gaussian_limit() -> None:
    # Centred items, N = 1e10: E[S_+] of N(-x s, s^2), whose relative error here is of the order 1/sqrt(N).
    N, x = 10**10, 8.0
    values = np.array([1.0, -1.0]) - x / math.sqrt(N)
    with mpmath.workdps(50):
        density = mpmath.npdf(x)
        exact = float(mpmath.log(density - x * mpmath.erfc(x / mpmath.sqrt(2)) / 2) + mpmath.log(mpmath.sqrt(N)))
    bound = log_positive_part(values, np.array([0.5, 0.5]), N)
    assert exact - 1e-6 <= bound <= exact + 5e-3


def test_the_estimate_is_near_where_many_copies_count() -> None:
    values, chances = np.array([3.0, -1.1]), np.array([0.01, 0.3])
    assert find_saddle(values, chances, 60).log_estimate(60) == pytest.approx(
        exact_log([3.0, -1.1], [0.01, 0.3], 60), abs=0.1
    )


def test_nothing_positive_and_one_item() -> None:
    assert log_positive_part(np.array([-1.0, 0.0]), np.array([0.5, 0.2]), 10) == -math.inf
    assert log_positive_part(np.array([-1.0, 3.0]), np.array([0.5, 0.2]), 1) == pytest.approx(math.log(0.6))
    # Always the same value: nothing is random.
    assert log_positive_part(np.array([2.0]), np.array([1.0]), 7) == pytest.approx(math.log(14), abs=1e-3)


def random_law(seed: int, items: int, outputs: int, *, lone: bool) -> OutputLaw:
    rng = np.random.default_rng(seed)
    matrix = rng.dirichlet(np.ones(outputs), size=items) + rng.uniform(0.1, 3.0) / outputs
    if lone:
        matrix[:, 0] *= 1e-4
        matrix[0, 0] = 0.0
    matrix /= matrix.sum(axis=1, keepdims=True)
    weights = np.floor(matrix * (TOTAL * (1 - 1e-15))).astype(np.int64)
    for row in weights:
        row[-1] += TOTAL - sum(row.tolist())
    return OutputLaw(weights, 1 - np.eye(items))


@pytest.mark.slow
@pytest.mark.parametrize("lone", [False, True])
@pytest.mark.parametrize("N", [1, 30, 10**4, 10**8])
def test_the_cheap_bounds_are_above_the_full_sum(N: int, lone: bool) -> None:
    dropped = 0
    for seed in range(2):
        law = random_law(seed, 4, 90, lone=lone)
        screen = Screen(law)
        steps = [Step.of(law, (int(first), int(second))) for first, second in screen.pairs]
        for x in (0.0, 1.0, 4.0, 12.0):
            epsilon = math.log1p(x / math.sqrt(N))
            shifts = np.full(len(steps), math.expm1(epsilon) * (1 - 2e-15))
            # The full sum is at most 3e-3 above the truth, so no bound may lie below it by more.
            full = np.array([step.log_delta(epsilon, N) for step in steps])
            assert len(screen.survivors(shifts, full - 3e-3, N)) == len(steps)
            binned = np.array([screen.binned(index, float(shifts[0]), N) for index in range(len(steps))])
            assert (binned >= full - 3e-3).all()
            dropped += len(steps) - len(screen.survivors(shifts, full + 3.0, N))
    # They do certify what has room.
    assert dropped > 0
