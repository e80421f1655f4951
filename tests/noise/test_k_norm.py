"""The K-norm sampler's exactness, piece by piece, and its marginal law against other routes."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
import scipy.integrate
import scipy.stats
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from emdp.base.errors import UsageError
from emdp.noise import k_norm
from emdp.noise.discrete_laplace import discrete_laplace_quantile
from emdp.noise.k_norm import (
    MAX_DIMENSION,
    draw_k_norm,
    k_norm_acceptance,
    k_norm_marginal_cdf,
    k_norm_mean_absolute,
    k_norm_mean_norm,
    k_norm_quantile,
    k_norm_radius_quantile,
    k_norm_standard_deviation,
)
from emdp.testing import seeded

points = st.lists(st.integers(-(2**45), 2**45), min_size=2, max_size=24).map(tuple)
scales = st.floats(2.0**38, 2.0**42)


def exponent(point: tuple[int, ...], scale: float, wide: float) -> Decimal:
    """-g(point) to 400 digits."""
    with localcontext() as context:
        context.prec = 400
        norm_2 = Decimal(sum(z * z for z in point)).sqrt()
        return Decimal(sum(map(abs, point))) / Decimal(wide) - norm_2 / Decimal(scale)


class TestProposals:
    @given(st.floats(2.0**-20, 2.0**53), st.integers(2, MAX_DIMENSION))
    @settings(deadline=None, max_examples=200)
    def test_scale_is_the_next_float_above_the_root(self, scale: float, d: int) -> None:
        wide = k_norm._proposal_scale(scale, d)
        assert Fraction(wide) ** 2 >= d * Fraction(scale) ** 2
        assert Fraction(wide) <= Fraction(math.sqrt(d) * scale) * (1 + Fraction(1, 2**50))

    @given(points, scales)
    @settings(deadline=None, max_examples=200)
    def test_chance_of_acceptance_is_at_most_one(self, point: tuple[int, ...], scale: float) -> None:
        assert exponent(point, scale, k_norm._proposal_scale(scale, len(point))) <= 0

    def test_chance_is_one_on_the_diagonal_to_the_scale_s_rounding(self) -> None:
        wide = k_norm._proposal_scale(3.0, 4)
        assert wide == 6.0
        assert exponent((5, 5, 5, 5), 3.0, wide) == 0

    @pytest.mark.parametrize(("d", "chance"), [(1, 1.0), (2, math.pi / 4), (3, math.pi / 3**1.5)])
    def test_acceptance_has_the_closed_form(self, d: int, chance: float) -> None:
        assert k_norm_acceptance(d) == pytest.approx(chance)

    @pytest.mark.parametrize("d", [2, 5])
    def test_acceptance_is_what_happens(self, d: int) -> None:
        with seeded(1):
            flat = k_norm.draw_discrete_laplace(math.sqrt(d) * 2.0**40, 20_000 * d)
            proposals = [tuple(flat[i : i + d]) for i in range(0, len(flat), d)]
            kept = int(np.count_nonzero(k_norm._accept(proposals, 2.0**40, math.sqrt(d) * 2.0**40)))
        chance = k_norm_acceptance(d)
        assert abs(kept - 20_000 * chance) < 6 * math.sqrt(20_000 * chance * (1 - chance))


def exact_chance(point: tuple[int, ...], scale: float, wide: float) -> Fraction:
    """The chance to 400 digits, of points whose fraction fits into memory."""
    with localcontext() as context:
        context.prec = 400
        power = exponent(point, scale, wide)
        assume(power > -k_norm._SPARE_BITS)
        return Fraction(power.exp())


class TestExactAcceptance:
    # Bounds for so many bits and so long a point are closer than 200 digits tell.
    @example((0,) * 8 + (35_184_372_088_689,), 274877906945.0, 399)
    @given(points, scales, st.integers(0, 400))
    @settings(deadline=None, max_examples=150)
    def test_bounds_hold_and_are_close(self, point: tuple[int, ...], scale: float, count: int) -> None:
        wide = k_norm._proposal_scale(scale, len(point))
        low, high = k_norm._exp_bounds(point, scale, wide, count)
        chance = exact_chance(point, scale, wide)
        assert low <= chance <= high
        assert high - low <= chance * Fraction(1, 2**count)

    @given(points, scales, st.integers(0, 2**64 - 1))
    @settings(deadline=None, max_examples=150)
    def test_float_and_exact_decisions_agree(self, point: tuple[int, ...], scale: float, bits: int) -> None:
        wide = k_norm._proposal_scale(scale, len(point))
        chance = exact_chance(point, scale, wide) * 2**64
        assume(not bits < chance < bits + 1)  # 64 bits do not decide it
        expected = bits < chance
        assert k_norm._is_below_exp(bits, 64, point, scale, wide) is expected
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(k_norm, "random_bytes", lambda count: bits.to_bytes(8, "little"))
            assert bool(k_norm._accept([point], scale, wide)[0]) is expected

    @given(points, scales, st.sampled_from([-(2**20), -1, 1, 2**20]))
    @settings(deadline=None, max_examples=100)
    def test_close_decisions_are_right(self, point: tuple[int, ...], scale: float, offset: int) -> None:
        wide = k_norm._proposal_scale(scale, len(point))
        chance = exact_chance(point, scale, wide)
        # Where the chance is 1, bits that are all 1 for ever would never be below it.
        assume(chance < 1)
        bits = math.floor(chance * 2**64) + offset
        assume(0 <= bits < 2**64)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(k_norm, "random_bytes", lambda count: bits.to_bytes(8, "little"))
            assert bool(k_norm._accept([point], scale, wide)[0]) is (offset < 0)

    def test_the_farthest_points_are_decided_at_once(self) -> None:
        point, scale = (2**62, 1), 0.5
        wide = k_norm._proposal_scale(scale, 2)
        assert k_norm._exp_bounds(point, scale, wide, 64) == (0, Fraction(1, 2 ** (64 + k_norm._SPARE_BITS)))
        assert k_norm._is_below_exp(1, 64, point, scale, wide) is False
        # Bits of 0 alone say nothing yet, and more of them are asked for.
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(k_norm, "random_bytes", lambda count: bytes(count - 1) + b"\x01")
            assert k_norm._is_below_exp(0, 64, point, scale, wide) is False

    def test_all_decisions_by_the_exact_route_give_the_same_draws(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def draws() -> list[tuple[int, ...]]:
            with seeded(5):
                return draw_k_norm(2.0**40, 3, 200)

        by_float = draws()
        monkeypatch.setattr(k_norm, "_FLOAT_REACH", -1.0)
        assert draws() == by_float

    def test_undecided_bits_are_extended(self, monkeypatch: pytest.MonkeyPatch) -> None:
        point, scale, wide = (1, 0), 1.0, math.sqrt(2.0)
        wide = k_norm._proposal_scale(scale, 2)
        with localcontext() as context:
            context.prec = 400
            chance = Fraction(exponent(point, scale, wide).exp())
        first = math.floor(chance * 2**64)  # U begins as exp(-g) does
        rest = math.floor(chance * 2**128) % 2**64
        for following, below in ((rest - 1, True), (rest + 1, False)):
            calls: list[int] = []

            def extend(count: int, value: int = following, calls: list[int] = calls) -> bytes:
                calls.append(count)
                return value.to_bytes(8, "big")

            monkeypatch.setattr(k_norm, "random_bytes", extend)
            assert k_norm._is_below_exp(first, 64, point, scale, wide) is below
            assert calls == [8]

    def test_bits_drawn_from_nothing_have_the_chance(self) -> None:
        point, scale, count = (3, -1), 2.0, 4000
        wide = k_norm._proposal_scale(scale, 2)
        chance = math.exp(exponent(point, scale, wide))
        with seeded(8):
            kept = sum(k_norm._is_below_exp(0, 0, point, scale, wide) for _ in range(count))
        assert abs(kept - count * chance) < 6 * math.sqrt(count * chance * (1 - chance))

    def test_chance_one_is_decided(self) -> None:
        assert k_norm._is_below_exp(2**64 - 1, 64, (0, 0), 1.0, 2.0) is True

    def test_huge_points_go_to_the_exact_route(self) -> None:
        with seeded(1):
            assert k_norm._accept([(2**60, 0), (2**200, 1)], 2.0**40, 2.0**41).tolist() == [False, False]


class TestMarginal:
    @pytest.mark.parametrize("d", [2, 3, 5, 10, 24])
    @pytest.mark.parametrize("x", [0.01, 0.3, 1.0, 4.0, 15.0])
    def test_tail_agrees_with_integration_over_the_radius(self, d: int, x: float) -> None:
        def inner(r: float) -> float:
            beyond = scipy.stats.beta(0.5, 0.5 * (d - 1)).sf((x / r) ** 2)
            return float(scipy.stats.gamma(d).pdf(r) * beyond)

        expected = scipy.integrate.quad(inner, x, 2 * x + 5, epsabs=1e-11, limit=300)[0]
        expected += scipy.integrate.quad(inner, 2 * x + 5, 2 * x + 120, epsabs=1e-11, limit=300)[0]
        assert k_norm._marginal_tail(x, d) == pytest.approx(expected, rel=1e-6, abs=1e-10)

    @pytest.mark.parametrize("x", [1e-3, 0.1, 1.0, 10.0, 40.0])
    def test_tail_has_the_closed_form_in_three_dimensions(self, x: float) -> None:
        # a coordinate of a uniform direction in R^3 is uniform: P(|X_1| > x) = E(1 - x/R)_+, R ~ Gamma(3)
        assert k_norm._marginal_tail(x, 3) == pytest.approx((1 + x / 2) * math.exp(-x), rel=1e-11)

    def test_moments_agree_with_the_tail(self) -> None:
        for d in (1, 2, 5, 24):
            first = scipy.integrate.quad(lambda x, d=d: k_norm._marginal_tail(x, d), 0, 60)[0]
            second = scipy.integrate.quad(lambda x, d=d: 2 * x * k_norm._marginal_tail(x, d), 0, 80)[0]
            assert k_norm_mean_absolute(7.0, d) == pytest.approx(7 * first, rel=1e-6)
            assert k_norm_standard_deviation(7.0, d) == pytest.approx(7 * math.sqrt(second), rel=1e-6)
            assert k_norm_mean_norm(7.0, d) == 7.0 * d

    def test_cdf_is_symmetric_and_laplace_in_one_dimension(self) -> None:
        assert k_norm_marginal_cdf(2.0, 3.0, 1) == pytest.approx(scipy.stats.laplace(scale=3.0).cdf(2.0))
        for d in (2, 7):
            assert k_norm_marginal_cdf(5.0, 3.0, d) + k_norm_marginal_cdf(-5.0, 3.0, d) == pytest.approx(1.0)

    @pytest.mark.parametrize("d", [2, 3, 10, 24])
    @pytest.mark.parametrize("tail", [0.5, 0.05, 1e-6, 1e-12])
    def test_quantile_leaves_the_tail_and_is_tight(self, d: int, tail: float) -> None:
        k = k_norm_quantile(tail, 2.0**40, d)
        assert k_norm._marginal_tail(k / 2.0**40, d) == pytest.approx(tail, rel=1e-7)
        radius = k_norm_radius_quantile(tail, 2.0**40, d)
        assert scipy.stats.gamma(d).sf(radius / 2.0**40) == pytest.approx(tail, rel=1e-7)

    @pytest.mark.parametrize(("d", "scale"), [(2, 1.0), (2, 3.0), (3, 1.5)])
    @pytest.mark.parametrize("tail", [0.5, 0.05, 0.001])
    def test_quantiles_hold_on_coarse_lattices(self, d: int, scale: float, tail: float) -> None:
        reach = math.ceil(20 * scale)
        axes = np.meshgrid(*[np.arange(-reach, reach + 1)] * d, indexing="ij")
        weights = np.exp(-np.sqrt(sum(axis.astype(float) ** 2 for axis in axes)) / scale)
        weights /= weights.sum()
        k = k_norm_quantile(tail, scale, d)
        assert weights[np.abs(axes[0]) > k].sum() <= tail
        together = k_norm_radius_quantile(tail, scale, d)
        assert weights[np.max(np.abs(axes), axis=0) > together].sum() <= tail

    def test_one_dimension_is_laplace(self) -> None:
        assert k_norm_quantile(0.05, 10.0, 1) == discrete_laplace_quantile(0.05, 10.0)

    def test_tails_beyond_float64_are_refused(self) -> None:
        with pytest.raises(UsageError, match="tail"):
            k_norm_quantile(1e-260, 2.0**40, 3)
        with pytest.raises(UsageError, match="tail"):
            k_norm_quantile(0.05, 2.0**-10, 3)


def test_one_dimension_is_laplace_noise() -> None:
    with seeded(3):
        points = draw_k_norm(2.0**40, 1, 5)
    with seeded(3):
        assert points == [(draw,) for draw in k_norm.draw_discrete_laplace(2.0**40, 5)]


def test_seeded_draws_repeat_and_differ_by_seed() -> None:
    def draws(seed: int) -> list[tuple[int, ...]]:
        with seeded(seed):
            return draw_k_norm(1000.0, 4, 5)

    assert draws(1) == draws(1) != draws(2)
    assert all(len(point) == 4 and all(type(z) is int for z in point) for point in draws(1))


def test_production_draws_ignore_earlier_seeds() -> None:
    with seeded(1):
        first = draw_k_norm(2.0**40, 2, 2)
    assert first != draw_k_norm(2.0**40, 2, 2)


def test_largest_dimension_draws_in_production() -> None:
    (point,) = draw_k_norm(2.0**40, MAX_DIMENSION, 1)
    assert len(point) == MAX_DIMENSION
    assert math.dist(point, (0,) * MAX_DIMENSION) < 2.0**40 * 100


def test_blocks_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    drawn = k_norm.draw_discrete_laplace

    def record(scale: float, size: int) -> list[int]:
        sizes.append(size)
        return drawn(scale, size)

    monkeypatch.setattr(k_norm, "draw_discrete_laplace", record)
    monkeypatch.setattr(k_norm, "_BLOCK", 64)
    with seeded(1):
        assert len(draw_k_norm(100.0, 3, 100)) == 100
    assert max(sizes) <= 64


@pytest.mark.parametrize("dimension", [0, -1, 1.5, MAX_DIMENSION + 1])
def test_dimensions_out_of_range_are_refused(dimension: object) -> None:
    with pytest.raises(UsageError, match="dimension"):
        draw_k_norm(1.0, dimension, 1)  # type: ignore[arg-type]


def test_refusal_of_a_large_dimension_names_the_remedy() -> None:
    with pytest.raises(UsageError, match="Gaussian noise with a delta, or product Laplace"):
        draw_k_norm(1.0, 25, 1)


@pytest.mark.parametrize("scale", [0.0, math.nan, 2.0**57, 2.0**55])
def test_scales_out_of_range_are_refused(scale: float) -> None:
    with pytest.raises(UsageError, match="scale"):
        draw_k_norm(scale, 5, 1)
