"""The discrete Gaussian law's functions against sums and scipy; its sampler's decisions against exact ones."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from emdp.base.errors import UsageError
from emdp.noise import discrete_gaussian, exact
from emdp.noise.discrete_gaussian import (
    discrete_gaussian_cdf,
    discrete_gaussian_log_pmf,
    discrete_gaussian_mean_absolute,
    discrete_gaussian_quantile,
    discrete_gaussian_standard_deviation,
    draw_discrete_gaussian,
)
from emdp.noise.discrete_laplace import MAX_SCALE, MIN_SCALE, discrete_laplace_log_pmf
from emdp.noise.exact import exp_bounds
from emdp.testing import seeded

SCALES = [0.05, 0.5, 1.0, 1.7, 3.0, 20.0]
SWITCH = 256.0
"""Scale at which the functions change from sums to Euler-Maclaurin."""


def pmf(scale: float) -> dict[int, float]:
    reach = math.ceil(38 * scale) + 2
    weights = {k: math.exp(-0.5 * (k / scale) ** 2) for k in range(-reach, reach + 1)}
    total = math.fsum(weights.values())
    return {k: weight / total for k, weight in weights.items()}


@pytest.mark.parametrize("scale", [*SCALES, SWITCH])
def test_law_agrees_with_sums(scale: float) -> None:
    reference = pmf(scale)
    below = 0.0
    for k, chance in reference.items():
        below += chance
        if scale < SWITCH or k % 97 == 0:
            assert math.exp(discrete_gaussian_log_pmf(k, scale)) == pytest.approx(chance, rel=1e-11, abs=1e-300)
            assert discrete_gaussian_cdf(k, scale) == pytest.approx(below, abs=1e-12)
    mean = math.fsum(abs(k) * chance for k, chance in reference.items())
    square = math.fsum(k * k * chance for k, chance in reference.items())
    assert discrete_gaussian_mean_absolute(scale) == pytest.approx(mean, rel=2e-6)
    assert discrete_gaussian_standard_deviation(scale) == pytest.approx(math.sqrt(square), rel=1e-11)


@pytest.mark.quarter
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("tail", [1.0, 0.5, 0.05, 1e-3, 1e-9])
def test_quantile_is_the_least(scale: float, tail: float) -> None:
    reference = pmf(scale)
    expected = next(k for k in itertools.count() if math.fsum(p for j, p in reference.items() if abs(j) > k) <= tail)
    assert discrete_gaussian_quantile(tail, scale) == expected


@settings(deadline=None, max_examples=100)
@given(st.floats(SWITCH, 2.0**56), st.floats(1e-300, 1.0))
def test_quantile_is_outward_and_tight(scale: float, tail: float) -> None:
    k = discrete_gaussian_quantile(tail, scale)
    assert scipy.stats.norm.logsf(k / scale) + math.log(2) <= math.log(tail) + 1e-12 * (1 - math.log(tail))
    before = (k - 2 - k * 2.0**-39) / scale
    assert k == 0 or before <= 0 or 2 * scipy.stats.norm.sf(before + 0.5 / scale) > tail * (1 - 1e-9)


def test_quantiles_join_where_the_formula_changes() -> None:
    below, above = (discrete_gaussian_quantile(0.05, scale) for scale in (SWITCH * (1 - 1e-9), SWITCH))
    assert 0 <= above - below <= 1


def test_variance_is_at_most_that_of_the_continuous_law() -> None:
    assert all(discrete_gaussian_standard_deviation(scale) <= scale for scale in SCALES)


class TestSampler:
    @given(st.floats(MIN_SCALE, MAX_SCALE), st.floats(-30.0, 30.0), st.sampled_from([-(2**40), -1, 1, 2**40]))
    @settings(deadline=None, max_examples=150)
    def test_proposals_are_decided_exactly(self, scale: float, times: float, offset: int) -> None:
        proposal = round(times * scale)
        exponent = (abs(proposal) / Fraction(scale) - 1) ** 2 / 2
        bits = math.floor(exp_bounds(exponent, 300)[0] * 2**64) + offset
        assume(0 <= bits < 2**64 and exponent > 0)
        words = np.array([bits], dtype=np.uint64)
        (accepted,) = discrete_gaussian._accept(np.array([proposal]), words, scale)
        assert accepted == (offset < 0)

    @pytest.mark.parametrize("scale", [*SCALES, 300.7])
    def test_kept_proposals_have_the_law(self, scale: float) -> None:
        """What a proposal's chance times that of keeping it gives, over its sum, is the law; the rest is the text's."""
        kept = [
            math.exp(discrete_laplace_log_pmf(k, scale) - 0.5 * (abs(k) / scale - 1) ** 2)
            for k in range(-math.ceil(38 * scale), math.ceil(38 * scale) + 1)
        ]
        total = math.fsum(kept)
        middle = len(kept) // 2
        for k in range(0, math.ceil(8 * scale), max(1, math.ceil(scale))):
            assert kept[middle + k] / total == pytest.approx(math.exp(discrete_gaussian_log_pmf(k, scale)), rel=1e-10)
        assert total == pytest.approx(
            math.exp(-0.5)
            * math.tanh(0.5 / scale)
            * math.fsum(math.exp(-0.5 * (k / scale) ** 2) for k in range(-middle, middle + 1)),
            rel=1e-10,
        )
        assert total > 0.55

    @pytest.mark.parametrize("scale", [0.3, 20.0, 2.0**40])
    def test_all_decisions_by_the_exact_route_give_the_same_draws(
        self, scale: float, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def draws() -> list[int]:
            with seeded(5):
                return draw_discrete_gaussian(scale, 200)

        by_float = draws()
        monkeypatch.setattr(exact, "_FLOAT_MARGIN", math.inf)
        assert draws() == by_float

    @pytest.mark.parametrize("scale", [MIN_SCALE, MAX_SCALE, 2.0**56 / 3])
    def test_all_scales_of_the_range_are_drawn(self, scale: float) -> None:
        drawn = draw_discrete_gaussian(scale, 500)
        assert all(type(draw) is int and abs(draw) < 40 * scale + 2 for draw in drawn)
        assert scale < 1 or scipy.stats.kstest(np.array(drawn) / scale, scipy.stats.norm.cdf).pvalue > 1e-9

    def test_proposals_beyond_64_bits_are_judged(self) -> None:
        proposals = np.array([2**64, -(2**80), 1], dtype=object)
        words = np.array([1, 1, 1], dtype=np.uint64)
        assert discrete_gaussian._accept(proposals, words, 1.0).tolist() == [False, False, True]


def test_seeded_draws_repeat_and_differ_by_seed() -> None:
    def draws(seed: int) -> list[int]:
        with seeded(seed):
            return draw_discrete_gaussian(1000.0, 20)

    assert draws(1) == draws(1) != draws(2)
    assert all(isinstance(draw, int) for draw in draws(1))


def test_production_draws_ignore_earlier_seeds() -> None:
    with seeded(1):
        first = draw_discrete_gaussian(2.0**40, 5)
    assert first != draw_discrete_gaussian(2.0**40, 5) != draw_discrete_gaussian(2.0**40, 5)


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf, 2.0**57, 2.0**-21, "1", True])
def test_scales_out_of_range_are_refused(scale: object) -> None:
    for call in (
        lambda: draw_discrete_gaussian(scale, 1),  # type: ignore[arg-type]
        lambda: discrete_gaussian_log_pmf(0, scale),  # type: ignore[arg-type]
        lambda: discrete_gaussian_cdf(0, scale),  # type: ignore[arg-type]
        lambda: discrete_gaussian_quantile(0.1, scale),  # type: ignore[arg-type]
    ):
        with pytest.raises(UsageError, match="scale"):
            call()


@pytest.mark.parametrize("tail", [0.0, -0.1, 1.1, math.nan])
def test_tails_out_of_range_are_refused(tail: float) -> None:
    with pytest.raises(UsageError, match="tail"):
        discrete_gaussian_quantile(tail, 1.0)
