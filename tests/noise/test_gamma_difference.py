"""The difference of two Gamma variables: closed forms, a second method, and the laws that it stands for."""

import math

import numpy as np
import pytest

import emdp
from emdp.noise.discrete_laplace import draw_discrete_laplace_bulk
from emdp.noise.gamma_difference import (
    gamma_difference_mean_absolute,
    gamma_difference_quantile,
    gamma_difference_tail,
)
from emdp.noise.k_norm import draw_planar


@pytest.mark.parametrize("x", [0.0, 0.1, 1.0, 5.0, 20.0])
def test_one_draw_is_a_laplace_variable(x: float) -> None:
    assert gamma_difference_tail(x, 1.0) == pytest.approx(0.5 * math.exp(-x), rel=1e-9)


@pytest.mark.parametrize("x", [0.3, 2.0, 9.0])
def test_two_draws_have_the_convolution_of_two_laplace_densities(x: float) -> None:
    # Their density is (1 + |z|) exp(-|z|)/4, whose tail is (2 + x) exp(-x)/4.
    assert gamma_difference_tail(x, 2.0) == pytest.approx(0.25 * (2.0 + x) * math.exp(-x), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [0.5, 1.0, 1.5, 20.0, 1e4, 1e7])
@pytest.mark.parametrize("tail", [0.5, 0.05, 1e-6])
def test_quantiles_are_outward_and_tight(shape: float, tail: float) -> None:
    quantile = gamma_difference_quantile(tail, shape)
    assert 2.0 * gamma_difference_tail(quantile, shape) <= tail
    assert 2.0 * gamma_difference_tail(quantile * (1.0 - 1e-5), shape) > tail


def test_many_draws_are_nearly_normal() -> None:
    assert gamma_difference_quantile(0.05, 1e6) / math.sqrt(2e6) == pytest.approx(1.959964, rel=1e-5)
    assert gamma_difference_mean_absolute(1e6) == pytest.approx(math.sqrt(2e6) * math.sqrt(2 / math.pi), rel=1e-6)
    assert gamma_difference_mean_absolute(2e6) == pytest.approx(2.0 * math.sqrt(2e6 / math.pi), rel=1e-6)


@pytest.mark.parametrize(("dimension", "draws"), [(1, 3), (2, 1), (2, 4), (5, 2)])
def test_the_law_of_a_sum_of_coordinates(dimension: int, draws: int) -> None:
    # The share outside the 80 % quantile: of 40,000 sums it is within 6 standard deviations, and 0.7x and 1.3x are not.
    size, scale = 40_000, 2.0**20
    with emdp.testing.seeded(7):
        if dimension == 1:
            drawn = draw_discrete_laplace_bulk(scale, size * draws).reshape(size, draws)
        else:
            drawn = draw_planar(scale, dimension, size * draws)[:, 0].reshape(size, draws)
    sums = np.abs(drawn.sum(axis=1)) / scale
    quantile = gamma_difference_quantile(0.2, 0.5 * draws * (dimension + 1))
    limit = 6 * math.sqrt(0.2 * 0.8 / size)
    assert abs((sums > quantile).mean() - 0.2) < limit
    assert abs((sums * 0.7 > quantile).mean() - 0.2) > limit
    assert abs((sums * 1.3 > quantile).mean() - 0.2) > limit
    mean = gamma_difference_mean_absolute(0.5 * draws * (dimension + 1))
    assert sums.mean() == pytest.approx(mean, rel=6 / math.sqrt(size))
