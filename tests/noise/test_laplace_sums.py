"""Quantiles of sums of Laplace variables: closed forms of up to four, convolution, errors that are stated."""

import math

import numpy as np
import pytest

from emdp.base.errors import UsageError
from emdp.noise.laplace_sums import laplace_sum_mean_absolute, laplace_sum_quantile

TAILS = {
    1: lambda x: math.exp(-x),
    2: lambda x: (1 + x / 2) * math.exp(-x),
    3: lambda x: (1 + 5 * x / 8 + x**2 / 8) * math.exp(-x),
    4: lambda x: (1 + 11 * x / 16 + 3 * x**2 / 16 + x**3 / 48) * math.exp(-x),
}
"""``P(|S| > x)`` for so many variables of scale 1: integrals of the difference of two gamma laws."""


@pytest.mark.parametrize("count", TAILS)
@pytest.mark.parametrize("tail", [0.5, 0.05, 1e-4, 1e-7])
def test_closed_forms(count: int, tail: float) -> None:
    x = laplace_sum_quantile([3.0], [count], tail)
    found = TAILS[count](x / 3.0)
    # never above what was asked for, but for the tests' own doubles, and near it
    assert tail * (0.999 if tail >= 1e-6 else 0.9) <= found <= tail * (1 + 1e-9)


def test_different_scales_against_partial_fractions() -> None:
    # 1/((1 + a^2 t^2)(1 + b^2 t^2)) = (a^2/(1 + a^2 t^2) - b^2/(1 + b^2 t^2))/(a^2 - b^2)
    a, b = 2.0, 0.7
    x = laplace_sum_quantile([a, b], [1, 1], 0.05)
    tail = (a**2 * math.exp(-x / a) - b**2 * math.exp(-x / b)) / (a**2 - b**2)
    assert 0.05 * 0.9999 <= tail <= 0.05 * (1 + 1e-9)


@pytest.mark.parametrize(
    "weights", [np.linspace(0.1, 1.0, 40), np.array([1.0, *[1e-3] * 300]), np.geomspace(1e-4, 1, 9)]
)
def test_many_scales_against_a_convolution(weights: np.ndarray) -> None:
    step = 0.02
    deviation = math.sqrt(2 * float(weights @ weights))
    half = int(40 * deviation / step)
    frequencies = np.fft.rfftfreq(2 * half, d=step) * 2 * math.pi
    transform = np.exp(-np.log1p(np.square(np.multiply.outer(weights, frequencies))).sum(axis=0))
    density = np.fft.irfft(transform) / step
    x = laplace_sum_quantile(weights.tolist(), [1] * len(weights), 0.05)
    places = (np.arange(2 * half) + half) % (2 * half) - half
    tail = float(density[np.abs(places * step) > x].sum() * step)
    assert tail == pytest.approx(0.05, rel=0.03)
    assert laplace_sum_quantile(weights.tolist(), [1] * len(weights), 0.06) < x


def test_a_larger_weight_has_no_smaller_tail() -> None:
    found = [laplace_sum_quantile([1.0, more], [2, 3], 0.05) for more in (0.0, 0.1, 0.5, 0.9, 1.0)]
    assert found == sorted(found)


def test_small_tails_are_bounded_by_an_exponential_moment() -> None:
    x = laplace_sum_quantile([1.0], [2], 1e-13)
    assert TAILS[2](x) <= 1e-13
    assert x < 45


@pytest.mark.parametrize(("count", "mean"), [(1, 1.0), (2, 1.5), (3, 1.875), (4, 2.1875)])
def test_means(count: int, mean: float) -> None:
    assert laplace_sum_mean_absolute([2.0], [count]) == pytest.approx(2 * mean, rel=1e-6)


def test_nothing_and_refusals() -> None:
    assert laplace_sum_quantile([], [], 0.05) == laplace_sum_mean_absolute([0.0], [3]) == 0.0
    for wrong in (([1.0], [1, 2]), ([-1.0], [1]), ([math.nan], [1]), ([1.0], [-1])):
        with pytest.raises(UsageError, match="weights"):
            laplace_sum_quantile(*wrong, 0.05)
    with pytest.raises(UsageError, match="tail"):
        laplace_sum_quantile([1.0], [1], 0.0)
