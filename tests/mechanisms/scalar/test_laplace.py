"""Laplace noise on a bounded number: the scale against the grid, draws with power, intervals against convolution."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats

from emdp.mechanisms.scalar.laplace import LaplaceScalar
from emdp.noise.discrete_laplace import MAX_BULK_SCALE, MIN_BULK_SCALE, discrete_laplace_cdf
from emdp.testing import seeded

DRAWS = 20_000
EPSILONS = [1e-6, 0.1, 1 / 3, 1.0, 2.0, 7.7, 30.0]


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_scale_covers_the_whole_grid(epsilon: float) -> None:
    # Inputs are 0, ..., G: the log of two probabilities' quotient is at most G/t, and is that for any message below 0.
    law = LaplaceScalar(-2.0, 7.0, epsilon)
    loss = law._steps / Fraction(law._scale)
    assert loss <= Fraction(repr(law.epsilon)) <= Fraction(repr(epsilon))
    assert law.epsilon == pytest.approx(epsilon, rel=1e-15)
    assert MIN_BULK_SCALE <= law._scale <= MAX_BULK_SCALE
    inputs = law._on_grid(law._positions(np.array([-(2**62), -2 * 2**40, 7 * 2**40, 2**62]), 40))
    assert inputs.tolist() == [0, 0, law._steps, law._steps]


@pytest.mark.parametrize("steps", [1, 3, 5])
@pytest.mark.parametrize("ratio", [Fraction(1, 2), Fraction(9, 10)])
def test_full_enumeration_on_a_small_grid(steps: int, ratio: Fraction) -> None:
    # exp(-1/t) a rational: all quotients are powers of it, the largest exactly the G-th, and the mean is the input.
    for one in range(steps + 1):
        for other in range(steps + 1):
            quotients = [ratio ** (abs(m - one) - abs(m - other)) for m in range(-10, steps + 11)]
            assert max(quotients) == ratio ** -abs(one - other) <= ratio**-steps
        weights = {m: ratio ** abs(m - one) for m in range(one - 40, one + 41)}
        assert sum(m * weight for m, weight in weights.items()) == one * sum(weights.values())


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0, 8.0, 30.0])
def test_variance_is_the_formula(epsilon: float) -> None:
    law = LaplaceScalar(-1.0, 1.0, epsilon)
    assert law.variance() == pytest.approx(8 / epsilon**2, rel=1e-8)
    assert law.variance() >= law.variance(0.3)


def test_variance_of_coarse_noise_is_summed() -> None:
    law = LaplaceScalar(0.0, 1.0, 30.0)
    t = law._scale
    k = np.arange(1, int(60 * t))
    weight = np.exp(-k / t)
    assert float(law._constant) == pytest.approx(float((k**2 * weight).sum() * 2 / (1 + 2 * weight.sum())), rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_messages_with_power(epsilon: float) -> None:
    law = LaplaceScalar(0.0, 1.0, epsilon)
    with seeded(8):
        noise = law.encode(np.full(DRAWS, 2**38), 40) - law._steps // 4
    for factor, expected in ((1.0, True), (0.7, False), (1.3, False)):
        scale = law._scale / factor
        cuts = np.floor(scipy.stats.laplace.ppf(np.arange(1, 40) / 40) * scale).astype(np.int64)
        below = [0.0, *(discrete_laplace_cdf(int(cut), scale) for cut in cuts), 1.0]
        observed = np.bincount(np.searchsorted(cuts, noise), minlength=40)
        p_value = scipy.stats.chisquare(observed, np.diff(below) * DRAWS, sum_check=False).pvalue
        assert bool(p_value > 1e-9) is expected


def test_intervals_are_those_of_the_sum() -> None:
    law = LaplaceScalar(0.0, 1.0, 1.0)
    low, high = law.interval(0.5, 100, 0.9)
    with seeded(5):
        noise = law._scale * np.random.default_rng(1).laplace(size=(40_000, 100)).mean(axis=1) / law._steps
    exact = np.quantile(np.abs(noise), 0.9)
    assert (high - low) / 2 == pytest.approx(exact, rel=0.02)
    assert law.interval(0.5, 100, 1 - 1e-15) == (0.0, 1.0)
    assert math.isclose(0.5 - low, high - 0.5, rel_tol=1e-9)
