"""What one change loses: bounds against small shuffles in full, and where the published form fails or is looser."""

import itertools
import math

import exact_shuffles as exact
import numpy as np
import pytest
from scipy.stats import binom

from emdp.base.errors import UsageError
from emdp.privacy import shuffle_bounds, shuffle_change, shuffle_change_bounds
from emdp.privacy.shuffle.closed_form import _factor, closed_form_change
from emdp.randomizers import KRR
from emdp.spaces import Categories

DELTAS = [1e-6, 1e-3, 0.05]


def smallest_epsilon(P: np.ndarray, Q: np.ndarray, delta: float) -> float:
    """The least epsilon of a pair of laws at a delta, both ways, by bisection."""
    low, high = 0.0, 40.0
    for _ in range(60):
        middle = (low + high) / 2
        t = math.exp(middle)
        over = max(np.maximum(P - t * Q, 0).sum(), np.maximum(Q - t * P, 0).sum())
        low, high = (low, middle) if over <= delta else (middle, high)
    return high


def changes(small: exact.Small, N: int, moved: int, generator: np.random.Generator) -> tuple[tuple[int, ...], ...]:
    """Two random bags of N items that differ in so many places."""
    k = len(small.distances)
    first = tuple(generator.integers(0, k, size=N).tolist())
    second = tuple((item + int(generator.integers(1, k))) % k for item in first[:moved]) + first[moved:]
    return first, second


def check_cases(seed: int, spaces: int) -> tuple[int, float]:
    """Compare random spaces; return the number of cases and the closest approach of truth to bound."""
    generator = np.random.default_rng(seed)
    cases, closest = 0, 0.0
    for _ in range(spaces):
        metric = exact.random_metric(generator, int(generator.integers(2, 4)))
        small = exact.Small(metric, exact.random_randomizer(generator, metric, float(generator.choice([0.3, 1, 3]))))
        if small.alpha0 > 12:
            continue
        for N, moved in [(1, 1), (3, 1), (4, 2), (5, 3), (5, 1)]:
            first, second = changes(small, N, moved, generator)
            distance = sum(float(small.distances[one, other]) for one, other in zip(first, second, strict=True))
            P, Q = (exact.released(small.matrix, bag) for bag in (first, second))
            for delta in DELTAS:
                found = shuffle_change(small.alpha0, moved, distance, N, delta, small.w_min)
                truth = smallest_epsilon(P, Q, delta)
                assert truth <= found * (1 + 1e-9) + 1e-9, (N, moved, distance, delta)
                # More records, or a longer way, never cost less.
                assert shuffle_change(small.alpha0, moved, min(distance * 1.2, moved), N, delta) >= truth - 1e-9
                closest = max(closest, truth / found if found > 0.01 else 0.0)
                cases += 1
    return cases, closest


def test_no_bound_is_below_the_truth_of_small_shuffles() -> None:
    cases, closest = check_cases(5, 4)
    assert cases > 40
    assert 0.9 < closest <= 1 + 1e-9


@pytest.mark.slow
def test_no_bound_is_below_the_truth_of_more_small_shuffles() -> None:
    cases, closest = check_cases(6, 40)
    assert cases > 400
    assert 0.9 < closest <= 1 + 1e-9


def test_what_is_known_of_one_item_is_sharper_than_what_is_known_of_many() -> None:
    one, many = (shuffle_change(2.0, moved, 0.5, 10**6, 1e-9) for moved in (1, 100))
    whole = min(bound.alpha for bound in shuffle_bounds(2.0, 100, 10**6, 1e-9) if bound.alpha is not None)
    assert one < many < whole * 0.5 / 100
    assert many < 0.5 * whole


def binary_truth(alpha0: float, N: int, moved: int, delta: float) -> float:
    """Exact epsilon of ``moved`` of ``N`` bits that turn from 0 to 1, each sent by randomized response, mixed."""
    flip = 1 / (1 + math.exp(alpha0))
    rest = binom.pmf(np.arange(N + 1), N - moved, flip)
    turned = [binom.pmf(np.arange(moved + 1), moved, chance) for chance in (flip, 1 - flip)]
    P, Q = (np.convolve(rest, own)[: N + 1] for own in turned)
    return smallest_epsilon(P, Q, delta)


@pytest.mark.parametrize(("alpha0", "N", "moved"), [(11.5, 1000, 1), (11.5, 1000, 2)])
def test_outside_its_condition_the_printed_form_is_below_the_truth(alpha0: float, N: int, moved: int) -> None:
    delta = 1e-12
    printed = moved * math.log1p(math.tanh(alpha0 / 2) * _factor(alpha0, moved, N, -math.log(delta)))
    truth = binary_truth(alpha0, N, moved, delta)
    assert printed < 0.8 * truth
    assert closed_form_change(alpha0, moved, float(moved), N, delta) is None
    assert shuffle_change(alpha0, moved, float(moved), N, delta, 1.0) >= truth * (1 - 1e-9)


@pytest.mark.parametrize(("alpha0", "moved", "distance"), [(1.0, 1, 1.0), (1.0, 100, 20.0), (2.0, 50, 50.0)])
def test_inside_it_the_printed_form_is_looser(alpha0: float, moved: int, distance: float) -> None:
    bounds = {bound.method: bound.epsilon for bound in shuffle_change_bounds(alpha0, moved, distance, 10**6, 1e-6)}
    printed, slope = bounds["closed form"], bounds["whole release: closed form"]
    assert printed is not None
    assert slope is not None
    assert bounds["exact clone steps"] is not None
    assert 2.5 * bounds["exact clone steps"] < printed < slope


def test_the_printed_delta_grows_with_the_change() -> None:
    """The delta that is put into the form is not the one that comes out: it is times e^h."""
    printed = 100 * math.log1p(math.tanh(0.5) * _factor(1.0, 100, 10**6, -math.log(1e-6)))
    found = closed_form_change(1.0, 100, 100.0, 10**6, 1e-6)
    assert found is not None
    assert printed < found


def test_a_known_law_is_sharper() -> None:
    randomizer = KRR(Categories("kind", list("abcdefgh")), 3.0)
    known = shuffle_change(None, 5, 5.0, 10**5, 1e-8, randomizer=randomizer)
    assert known < shuffle_change(3.0, 5, 5.0, 10**5, 1e-8, 1.0)


def test_edges() -> None:
    assert shuffle_change(0.0, 3, 1.0, 10, 0.1) == 0.0
    assert shuffle_change(20.0, 3, 0.5, 10, 0.1) == 10.0
    assert all(bound.reason for bound in shuffle_change_bounds(1.0, 2, 1.0, 10, 0.0)[1:])
    assert shuffle_change(1.0, 1, 1.0, 1, 1e-9, 1.0) <= 1.0


@pytest.mark.parametrize(
    ("alpha0", "moved", "distance", "N", "delta"),
    list(
        itertools.chain(
            [(-1.0, 1, 1.0, 10, 0.1), (1.0, 0, 1.0, 10, 0.1), (1.0, 1, 0.0, 10, 0.1), (1.0, 1, 1.5, 10, 0.1)],
            [(1.0, 11, 1.0, 10, 0.1), (1.0, 1, math.nan, 10, 0.1), (1.0, 1, 1.0, 10, 1.0), (None, 1, 1.0, 10, 0.1)],
        )
    ),
)
def test_refused(alpha0: float, moved: int, distance: float, N: int, delta: float) -> None:
    with pytest.raises(UsageError):
        shuffle_change(alpha0, moved, distance, N, delta)
