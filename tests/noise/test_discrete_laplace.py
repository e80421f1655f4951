"""The discrete Laplace law's functions against sums; its sampler's decisions against exact ones, and its law."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from emdp.base.errors import InternalError, UsageError
from emdp.noise import discrete_laplace, exact
from emdp.noise.discrete_laplace import (
    MAX_BULK_SCALE,
    MAX_SCALE,
    MIN_BULK_SCALE,
    MIN_SCALE,
    discrete_laplace_cdf,
    discrete_laplace_log_pmf,
    discrete_laplace_mean_absolute,
    discrete_laplace_quantile,
    discrete_laplace_standard_deviation,
    draw_discrete_laplace,
    draw_discrete_laplace_bulk,
)
from emdp.noise.exact import LazyUniform, exp_bounds
from emdp.testing import seeded

DRAWS = 20_000
BULK_SCALES = [0.3, 1.0, 1.7, 15.99, 16.0, 31.9, 32.0, 1000.3, 2.0**20 / 3, 2.0**40, MAX_BULK_SCALE]
SCALES = [0.05, 0.5, 1.0, 1.7, 3.0, 20.0]


def pmf(scale: float) -> dict[int, float]:
    """Plain reference: weights over their sum."""
    reach = math.ceil(60 * scale) + 2
    weights = {k: math.exp(-abs(k) / scale) for k in range(-reach, reach + 1)}
    total = math.fsum(weights.values())
    return {k: weight / total for k, weight in weights.items()}


@pytest.mark.parametrize("scale", SCALES)
def test_law_agrees_with_sums(scale: float) -> None:
    reference = pmf(scale)
    below = 0.0
    for k, chance in reference.items():
        below += chance
        assert math.exp(discrete_laplace_log_pmf(k, scale)) == pytest.approx(chance, rel=1e-12, abs=1e-300)
        assert discrete_laplace_cdf(k, scale) == pytest.approx(below, rel=1e-9, abs=1e-15)
    mean = math.fsum(abs(k) * chance for k, chance in reference.items())
    square = math.fsum(k * k * chance for k, chance in reference.items())
    assert discrete_laplace_mean_absolute(scale) == pytest.approx(mean, rel=1e-12)
    assert discrete_laplace_standard_deviation(scale) == pytest.approx(math.sqrt(square), rel=1e-12)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("tail", [1.0, 0.5, 0.05, 1e-3, 1e-9])
def test_quantile_is_the_least(scale: float, tail: float) -> None:
    reference = pmf(scale)
    expected = next(k for k in itertools.count() if math.fsum(p for j, p in reference.items() if abs(j) > k) <= tail)
    assert discrete_laplace_quantile(tail, scale) == expected


@settings(deadline=None, max_examples=200)
@given(st.floats(0.5, 2.0**56), st.floats(1e-300, 1.0))
def test_quantile_is_outward_and_tight(scale: float, tail: float) -> None:
    k = discrete_laplace_quantile(tail, scale)
    log_ratio = Fraction(1) / Fraction(scale)

    def log_tail(j: int) -> float:
        return math.log(2.0) - math.log1p(math.exp(-1.0 / scale)) - float((j + 1) * log_ratio)

    assert k == 0 or log_tail(k) <= math.log(tail)
    assert k == 0 or log_tail(k - 1 - math.ceil(k * 2.0**-40)) > math.log(tail) - 1e-12 * (1 - math.log(tail))


def test_far_tails_are_relative() -> None:
    assert discrete_laplace_cdf(-(2**46), 2.0**40) == pytest.approx(0.5 * math.exp(-64), rel=1e-9)
    assert discrete_laplace_log_pmf(2**50, 2.0**40) == pytest.approx(-1024 - 41 * math.log(2), rel=1e-12)


def test_seeded_draws_repeat_and_differ_by_seed() -> None:
    def draws(seed: int) -> list[int]:
        with seeded(seed):
            return draw_discrete_laplace(1000.0, 20)

    assert draws(1) == draws(1) != draws(2)
    assert all(isinstance(draw, int) for draw in draws(1))


def test_production_draws_ignore_earlier_seeds() -> None:
    with seeded(1):
        first = draw_discrete_laplace(2.0**40, 5)
    assert first != draw_discrete_laplace(2.0**40, 5) != draw_discrete_laplace(2.0**40, 5)


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf, 2.0**57, 2.0**-21, "1", True])
def test_scales_out_of_range_are_refused(scale: object) -> None:
    for call in (
        lambda: draw_discrete_laplace(scale, 1),  # type: ignore[arg-type]
        lambda: discrete_laplace_log_pmf(0, scale),  # type: ignore[arg-type]
        lambda: discrete_laplace_cdf(0, scale),  # type: ignore[arg-type]
        lambda: discrete_laplace_quantile(0.1, scale),  # type: ignore[arg-type]
    ):
        with pytest.raises(UsageError, match="scale"):
            call()


@pytest.mark.parametrize("size", [-1, 1.5])
def test_sizes_out_of_range_are_refused(size: object) -> None:
    with pytest.raises(UsageError, match="size"):
        draw_discrete_laplace(1.0, size)  # type: ignore[arg-type]


@pytest.mark.parametrize("tail", [0.0, -0.1, 1.1, math.nan])
def test_tails_out_of_range_are_refused(tail: float) -> None:
    with pytest.raises(UsageError, match="tail"):
        discrete_laplace_quantile(tail, 1.0)


def p_value(drawn: np.ndarray, scale: float) -> float:
    """Chi-squared on intervals of the integers with about a fortieth of the law each."""
    ends = np.array([math.log(share) for share in np.arange(1, 21) / 21]) * scale
    cuts = np.unique(np.floor(np.concatenate((ends, -ends))).astype(np.int64))
    below = [discrete_laplace_cdf(int(cut), scale) for cut in cuts]
    expected = np.diff([0.0, *below, 1.0]) * drawn.size
    observed = np.bincount(np.searchsorted(cuts, drawn), minlength=cuts.size + 1)
    kept = expected >= 5
    assert not observed[~kept].any() or expected[~kept].sum() > 0
    observed, expected = (
        np.append(observed[kept], observed[~kept].sum()),
        np.append(expected[kept], expected[~kept].sum()),
    )
    if expected[-1] < 1e-9:
        observed, expected = observed[:-1], expected[:-1]
    return float(scipy.stats.chisquare(observed, expected, sum_check=False).pvalue)


def draws(scale: float, seed: int = 1, size: int = DRAWS) -> np.ndarray:
    with seeded(seed):
        return draw_discrete_laplace_bulk(scale, size)


@pytest.mark.parametrize("scale", BULK_SCALES)
def test_law_with_power(scale: float) -> None:
    assert p_value(draws(scale), scale) > 1e-9
    for factor in (0.7, 1.3):
        if MIN_BULK_SCALE <= factor * scale <= MAX_BULK_SCALE:
            assert p_value(draws(factor * scale), scale) < 1e-9


def test_small_scales_are_nearly_always_zero() -> None:
    assert not draws(MIN_BULK_SCALE).any()
    drawn = draws(0.1, size=200_000)
    others = np.count_nonzero(drawn)
    chance = 2 * math.exp(-10) / (1 + math.exp(-10))
    assert 1e-9 < scipy.stats.poisson(chance * 200_000).cdf(others) < 1 - 1e-9


@pytest.mark.parametrize("scale", [100.0, 2.0**40])
def test_low_bits_and_signs_are_fair_and_magnitudes_independent_of_them(scale: float) -> None:
    drawn = draws(scale)
    table = np.bincount(4 * (np.abs(drawn) > scale) + 2 * (drawn > 0) + (drawn % 2), minlength=8)
    assert scipy.stats.chisquare(table.reshape(2, 4)[:, :2].sum(axis=0)).pvalue > 1e-9
    assert scipy.stats.chi2_contingency(table.reshape(2, 4)).pvalue > 1e-9


@pytest.mark.parametrize(("scale", "exponent"), [(0.001, 0), (1.0, 0), (31.9, 0), (32.0, 1), (63.9, 1), (2.0**46, 42)])
def test_the_block_is_a_sixteenth_to_a_thirty_second_of_the_scale(scale: float, exponent: int) -> None:
    assert discrete_laplace._exponent(scale) == exponent


class TestDecisions:
    @given(st.floats(16.0, MAX_BULK_SCALE), st.floats(0, 1), st.sampled_from([-(2**40), -1, 1, 2**40]))
    @settings(deadline=None, max_examples=150)
    def test_remainders_are_decided_exactly(self, scale: float, share: float, offset: int) -> None:
        exponent = discrete_laplace._exponent(scale)
        remainder = min(int(share * 2**exponent), 2**exponent - 1)
        chance = exp_bounds(remainder / Fraction(scale), 300)[0] * 2**64
        bits = math.floor(chance) + offset
        assume(0 <= bits < 2**64)
        (accepted,) = discrete_laplace._accept_remainders(
            np.array([remainder]), np.array([bits], dtype=np.uint64), scale
        )
        assert accepted == (offset < 0)

    @given(st.floats(MIN_BULK_SCALE, MAX_BULK_SCALE), st.integers(1, 600), st.sampled_from([-(2**45), -1, 1, 2**45]))
    @settings(deadline=None, max_examples=150)
    def test_quotients_are_decided_exactly(self, scale: float, value: int, offset: int) -> None:
        exponent = discrete_laplace._exponent(scale)
        ratio = Fraction(scale) / 2**exponent
        edge = exp_bounds(value / ratio, 300)[0] * 2**64  # V >= value exactly below it
        bits = math.floor(edge) + offset
        assume(2**50 < bits < 2**64)
        (drawn,) = discrete_laplace._draw_quotients(scale, exponent, np.array([bits], dtype=np.uint64))
        assert (drawn >= value) is np.bool_(offset < 0)
        assert drawn == discrete_laplace._invert(LazyUniform(bits, 64), ratio)

    @given(st.floats(MIN_BULK_SCALE, MAX_BULK_SCALE), st.integers(0, 2**64 - 1))
    @settings(deadline=None, max_examples=150)
    def test_any_word_is_inverted_as_by_the_exact_route(self, scale: float, bits: int) -> None:
        exponent = discrete_laplace._exponent(scale)
        with seeded(1):
            (drawn,) = discrete_laplace._draw_quotients(scale, exponent, np.array([bits], dtype=np.uint64))
        with seeded(1):
            assert drawn == discrete_laplace._invert(LazyUniform(bits, 64), Fraction(scale) / 2**exponent)

    @pytest.mark.parametrize("bits", [0, 1, 2, 2**31, 2**64 - 1])
    def test_ends_of_the_uniform(self, bits: int) -> None:
        with seeded(2):
            (drawn,) = discrete_laplace._draw_quotients(1.0, 0, np.array([bits], dtype=np.uint64))
        assert drawn >= math.floor(64 * math.log(2) - math.log(bits + 1))
        assert bits > 0 or drawn >= 44

    @pytest.mark.parametrize("scale", [0.3, 20.0, 2.0**40])
    def test_all_decisions_by_the_exact_route_give_the_same_draws(
        self, scale: float, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        by_float = draws(scale, size=300)
        monkeypatch.setattr(exact, "_FLOAT_MARGIN", math.inf)
        monkeypatch.setattr(discrete_laplace, "_QUOTIENT_MARGIN", 2.0)
        assert draws(scale, size=300).tolist() == by_float.tolist()

    def test_a_draw_beyond_64_bits_is_a_python_integer_or_in_bulk_an_error(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        largest = discrete_laplace._compose(np.array([2**21 - 1]), 42, np.array([2**42 - 1]))
        assert (largest.dtype, largest.tolist()) == (np.int64, [2**63 - 1])
        beyond = discrete_laplace._compose(np.array([2**21, 3]), 42, np.array([5, 7]))
        assert beyond.tolist() == [2**63 + 5, 3 * 2**42 + 7]
        monkeypatch.setattr(discrete_laplace, "_draw_quotients", lambda *given: np.array([2**40]))
        monkeypatch.setattr(discrete_laplace, "random_words", lambda count: np.full(count, 2**21, np.uint64))
        assert draw_discrete_laplace(MAX_BULK_SCALE, 1) == [2**82 + 2**20]
        with pytest.raises(InternalError, match="fit"):
            draw_discrete_laplace_bulk(MAX_BULK_SCALE, 1)


@pytest.mark.parametrize("scale", [MIN_SCALE, MAX_SCALE, 2.0**56 / 3])
def test_all_scales_of_the_range_are_drawn(scale: float) -> None:
    drawn = draw_discrete_laplace(scale, 500)
    assert all(type(draw) is int and abs(draw) < 200 * scale + 2 for draw in drawn)
    assert scale < 1 or scipy.stats.kstest(np.array(drawn) / scale, scipy.stats.laplace.cdf).pvalue > 1e-9


def test_zero_is_met_once_and_not_twice() -> None:
    drawn = draws(1.0, size=100_000)
    zeros = np.count_nonzero(drawn == 0)
    assert scipy.stats.binomtest(zeros, 100_000, math.tanh(0.5)).pvalue > 1e-9


@pytest.mark.parametrize("scale", [2.0**-11, 2.0**47, math.nan, 0.0, -1.0, "1"])
def test_bulk_scales_out_of_range_are_refused(scale: object) -> None:
    with pytest.raises(UsageError, match="scale"):
        draw_discrete_laplace_bulk(scale, 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [-1, 0.5])
def test_bulk_sizes_out_of_range_are_refused(size: object) -> None:
    with pytest.raises(UsageError, match="size"):
        draw_discrete_laplace_bulk(1.0, size)  # type: ignore[arg-type]
