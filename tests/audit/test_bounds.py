"""Bounds from counts: against scipy's own test, and against the exact chance of being wrong."""

import math

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from emdp.audit.bounds import (
    clopper_pearson_lower,
    clopper_pearson_upper,
    epsilon_bounds,
    largest_epsilon,
    smallest_epsilon,
)
from emdp.base.errors import UsageError


@pytest.mark.parametrize("trials", [1, 7, 100, 5000])
@pytest.mark.parametrize("failure", [0.2, 0.025, 1e-6])
def test_ends_are_those_of_scipy(trials: int, failure: float) -> None:
    for seen in sorted({0, 1, trials // 3, trials - 1, trials}):
        ends = binomtest(seen, trials).proportion_ci(1 - 2 * failure, method="exact")
        low = float(clopper_pearson_lower(seen, trials, failure))
        high = float(clopper_pearson_upper(seen, trials, failure))
        # Ours are rounded outward by 1e-9; scipy's come from a root search that stops at 2e-12.
        assert ends.low * (1 - 1e-7) - 1e-11 <= low <= ends.low + 1e-11
        assert ends.high - 1e-11 <= high <= min(ends.high * (1 + 1e-7) + 1e-11, 1.0)


@pytest.mark.parametrize("chance", [0.01, 0.3, 0.5, 0.97])
def test_a_bound_is_wrong_no_more_often_than_it_may_be(chance: float) -> None:
    trials, failure = 60, 0.05
    seen = np.arange(trials + 1)
    mass = binom.pmf(seen, trials, chance)
    assert mass[clopper_pearson_lower(seen, trials, failure) > chance].sum() <= failure
    assert mass[clopper_pearson_upper(seen, trials, failure) < chance].sum() <= failure


@pytest.mark.parametrize(("p", "q", "delta"), [(0.6, 0.2, 0.0), (0.9, 0.5, 0.1), (0.3, 0.3, 0.0)])
def test_an_epsilon_is_exceeded_no_more_often_than_it_may_be(p: float, q: float, delta: float) -> None:
    """The exact chance, over all pairs of counts, that the bound lies above the true epsilon of the event."""
    trials, failure = 40, 0.1
    true = math.log((p - delta) / q)
    hits, misses = np.meshgrid(np.arange(trials + 1), np.arange(trials + 1), indexing="ij")
    mass = binom.pmf(hits, trials, p) * binom.pmf(misses, trials, q)
    bounds = epsilon_bounds(hits, misses, (trials, trials), delta, failure)
    assert bounds.min() >= 0
    assert mass[bounds > max(true, 0.0)].sum() <= failure


def test_more_draws_give_larger_bounds_up_to_the_truth() -> None:
    bounds = [float(epsilon_bounds(n // 2, n // 10, (n, n), 0.0, 0.05)) for n in (100, 10_000, 1_000_000)]
    assert bounds == sorted(bounds)
    assert math.log(5) * 0.99 < bounds[-1] < math.log(5)


def test_what_can_be_seen_is_limited_by_the_draws() -> None:
    assert 6 < largest_epsilon(10_000, 0.05) < largest_epsilon(1_000_000, 0.05) < 13
    assert float(epsilon_bounds(1000, 0, (1000, 1000), 0.9999, 0.05)) == 0


@pytest.mark.parametrize("wrong", [-1, 11])
def test_counts_that_are_none_are_refused(wrong: int) -> None:
    with pytest.raises(UsageError, match="successes"):
        clopper_pearson_lower(wrong, 10, 0.05)


@pytest.mark.parametrize(("trials", "failure"), [(500, 1e-2), (50_000, 1e-3)])
def test_the_least_loss_that_can_be_told_from_none_is_where_a_bound_begins(trials: int, failure: float) -> None:
    least = smallest_epsilon(trials, failure)
    for part, is_seen in ((0.9, False), (1.1, True)):
        chance = 1 / (1 + math.exp(-part * least))
        counts = round(trials * chance), round(trials * (1 - chance))
        assert (float(epsilon_bounds(*counts, (trials, trials), 0.0, failure)) > 0) is is_seen
