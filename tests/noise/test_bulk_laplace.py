"""The bulk discrete Laplace sampler: its decisions against exact ones, and its law by chi-squared with power."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from emdp.base.errors import InternalError, UsageError
from emdp.noise import bulk_laplace
from emdp.noise.bulk_laplace import MAX_BULK_SCALE, MIN_BULK_SCALE, draw_discrete_laplace_bulk
from emdp.noise.discrete_laplace import discrete_laplace_cdf
from emdp.noise.exact import LazyUniform, exp_bounds
from emdp.testing import seeded

DRAWS = 20_000
SCALES = [0.3, 1.0, 1.7, 15.99, 16.0, 31.9, 32.0, 1000.3, 2.0**20 / 3, 2.0**40, MAX_BULK_SCALE]


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


@pytest.mark.parametrize("scale", SCALES)
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
    assert bulk_laplace._exponent(scale) == exponent


class TestDecisions:
    @given(st.floats(16.0, MAX_BULK_SCALE), st.floats(0, 1), st.sampled_from([-(2**40), -1, 1, 2**40]))
    @settings(deadline=None, max_examples=150)
    def test_remainders_are_decided_exactly(self, scale: float, share: float, offset: int) -> None:
        exponent = bulk_laplace._exponent(scale)
        remainder = min(int(share * 2**exponent), 2**exponent - 1)
        chance = exp_bounds(remainder / Fraction(scale), 300)[0] * 2**64
        bits = math.floor(chance) + offset
        assume(0 <= bits < 2**64)
        (accepted,) = bulk_laplace._accept_remainders(np.array([remainder]), np.array([bits], dtype=np.uint64), scale)
        assert accepted == (offset < 0)

    @given(st.floats(MIN_BULK_SCALE, MAX_BULK_SCALE), st.integers(1, 600), st.sampled_from([-(2**45), -1, 1, 2**45]))
    @settings(deadline=None, max_examples=150)
    def test_quotients_are_decided_exactly(self, scale: float, value: int, offset: int) -> None:
        exponent = bulk_laplace._exponent(scale)
        ratio = Fraction(scale) / 2**exponent
        edge = exp_bounds(value / ratio, 300)[0] * 2**64  # V >= value exactly below it
        bits = math.floor(edge) + offset
        assume(2**50 < bits < 2**64)
        (drawn,) = bulk_laplace._draw_quotients(scale, exponent, np.array([bits], dtype=np.uint64))
        assert (drawn >= value) is np.bool_(offset < 0)
        assert drawn == bulk_laplace._invert(LazyUniform(bits, 64), ratio)

    @given(st.floats(MIN_BULK_SCALE, MAX_BULK_SCALE), st.integers(0, 2**64 - 1))
    @settings(deadline=None, max_examples=150)
    def test_any_word_is_inverted_as_by_the_exact_route(self, scale: float, bits: int) -> None:
        exponent = bulk_laplace._exponent(scale)
        with seeded(1):
            (drawn,) = bulk_laplace._draw_quotients(scale, exponent, np.array([bits], dtype=np.uint64))
        with seeded(1):
            assert drawn == bulk_laplace._invert(LazyUniform(bits, 64), Fraction(scale) / 2**exponent)

    @pytest.mark.parametrize("bits", [0, 1, 2, 2**31, 2**64 - 1])
    def test_ends_of_the_uniform(self, bits: int) -> None:
        with seeded(2):
            (drawn,) = bulk_laplace._draw_quotients(1.0, 0, np.array([bits], dtype=np.uint64))
        assert drawn >= math.floor(64 * math.log(2) - math.log(bits + 1))
        assert bits > 0 or drawn >= 44

    @pytest.mark.parametrize("scale", [0.3, 20.0, 2.0**40])
    def test_all_decisions_by_the_exact_route_give_the_same_draws(
        self, scale: float, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        by_float = draws(scale, size=300)
        monkeypatch.setattr(bulk_laplace, "_REMAINDER_MARGIN", math.inf)
        monkeypatch.setattr(bulk_laplace, "_QUOTIENT_MARGIN", 2.0)
        assert draws(scale, size=300).tolist() == by_float.tolist()

    def test_a_draw_that_does_not_fit_is_an_error(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(bulk_laplace, "_invert", lambda uniform, ratio: 2**40)
        with pytest.raises(InternalError, match="fit"):
            bulk_laplace._draw_quotients(MAX_BULK_SCALE, 42, np.zeros(1, dtype=np.uint64))


def test_zero_is_met_once_and_not_twice() -> None:
    drawn = draws(1.0, size=100_000)
    zeros = np.count_nonzero(drawn == 0)
    assert scipy.stats.binomtest(zeros, 100_000, math.tanh(0.5)).pvalue > 1e-9


def test_seeded_draws_repeat_and_production_does_not() -> None:
    assert draws(1e6, seed=1).tolist() == draws(1e6, seed=1).tolist() != draws(1e6, seed=2).tolist()
    assert draw_discrete_laplace_bulk(1e12, 3).tolist() != draw_discrete_laplace_bulk(1e12, 3).tolist()


@pytest.mark.parametrize("scale", [2.0**-11, 2.0**47, math.nan, 0.0, -1.0, "1"])
def test_scales_out_of_range_are_refused(scale: object) -> None:
    with pytest.raises(UsageError, match="scale"):
        draw_discrete_laplace_bulk(scale, 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [-1, 0.5])
def test_sizes_out_of_range_are_refused(size: object) -> None:
    with pytest.raises(UsageError, match="size"):
        draw_discrete_laplace_bulk(1.0, size)  # type: ignore[arg-type]
