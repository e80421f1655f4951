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

from emdp.base.errors import InternalError, UsageError
from emdp.noise import exact, k_norm
from emdp.noise.discrete_laplace import (
    discrete_laplace_quantile,
    draw_discrete_laplace,
    draw_discrete_laplace_bulk,
)
from emdp.noise.exact import LazyUniform
from emdp.noise.k_norm import (
    MAX_DIMENSION,
    draw_k_norm,
    draw_planar,
    k_norm_acceptance,
    k_norm_marginal_cdf,
    k_norm_mean_absolute,
    k_norm_mean_norm,
    k_norm_quantile,
    k_norm_radius_quantile,
    k_norm_standard_deviation,
)
from emdp.noise.rng import random_words
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
            wide = k_norm._proposal_scale(2.0**40, d)
            proposals = draw_discrete_laplace_bulk(wide, 20_000 * d).reshape(d, -1)
            kept = int(np.count_nonzero(k_norm._accept(proposals, random_words(20_000), 2.0**40, wide)))
        chance = k_norm_acceptance(d)
        assert abs(kept - 20_000 * chance) < 6 * math.sqrt(20_000 * chance * (1 - chance))


def is_below_exp(bits: int, count: int, point: tuple[int, ...], scale: float, wide: float) -> bool:
    """Whether U < exp(-g(point)) by the exact route, given the first `count` bits of U."""
    return LazyUniform(bits, count).is_below(lambda more: k_norm._exp_bounds(point, scale, wide, more))


def decide(point: tuple[int, ...], scale: float, wide: float, bits: int) -> bool:
    """What the sampler does with one proposal when the first word of U is `bits`."""
    words = np.array([bits], dtype=np.uint64)
    return bool(k_norm._accept(np.array([point], dtype=np.int64).T, words, scale, wide)[0])


def chance_of(point: tuple[int, ...], scale: float, wide: float) -> Fraction:
    return Fraction(exponent(point, scale, wide).exp())


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
        assert is_below_exp(bits, 64, point, scale, wide) is expected
        assert decide(point, scale, wide, bits) is expected

    @given(points, scales, st.sampled_from([-(2**30), -(2**20), -1, 1, 2**20, 2**30]))
    @settings(deadline=None, max_examples=100)
    def test_close_decisions_are_right(self, point: tuple[int, ...], scale: float, offset: int) -> None:
        wide = k_norm._proposal_scale(scale, len(point))
        chance = exact_chance(point, scale, wide)
        # Where the chance is 1, bits that are all 1 for ever would never be below it.
        assume(chance < 1)
        bits = math.floor(chance * 2**64) + offset
        assume(0 <= bits < 2**64)
        assert decide(point, scale, wide, bits) is (offset < 0)

    def test_the_farthest_points_are_decided_at_once(self) -> None:
        point, scale = (2**62, 1), 0.5
        wide = k_norm._proposal_scale(scale, 2)
        assert k_norm._exp_bounds(point, scale, wide, 64) == (0, Fraction(1, 2 ** (64 + k_norm._SPARE_BITS)))
        assert is_below_exp(1, 64, point, scale, wide) is False
        # Bits of 0 alone say nothing yet, and more of them are asked for.
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(exact, "random_bytes", lambda count: bytes(count - 1) + b"\x01")
            assert is_below_exp(0, 64, point, scale, wide) is False

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

            monkeypatch.setattr(exact, "random_bytes", extend)
            assert is_below_exp(first, 64, point, scale, wide) is below
            assert calls == [8]

    @pytest.mark.slow
    def test_bits_drawn_from_nothing_have_the_chance(self) -> None:
        point, scale, count = (3, -1), 2.0, 4000
        wide = k_norm._proposal_scale(scale, 2)
        chance = math.exp(exponent(point, scale, wide))
        with seeded(8):
            kept = sum(is_below_exp(0, 0, point, scale, wide) for _ in range(count))
        assert abs(kept - count * chance) < 6 * math.sqrt(count * chance * (1 - chance))

    def test_chance_one_is_decided(self) -> None:
        assert is_below_exp(2**64 - 1, 64, (0, 0), 1.0, 2.0) is True

    def test_huge_points_go_to_the_exact_route(self) -> None:
        proposals = np.array([(2**60, 2**200), (0, 1)], dtype=object)
        assert k_norm._accept(proposals, np.array([7, 7], np.uint64), 2.0**40, 2.0**41).tolist() == [False, False]

    def test_points_beyond_the_reach_of_floats(self) -> None:
        far, wide = 2**13, k_norm._proposal_scale(1.0, 2)
        chance = chance_of((far, far), 1.0, wide) * 2**64  # nearly 1: the diagonal
        assert chance > 2**63
        assert decide((far, far), 1.0, wide, 2**61) is True
        assert decide((far, far), 1.0, wide, math.ceil(chance)) is False
        assert decide((far, 0), 1.0, wide, 0) is False  # exp(-2399): another 54 words of zeros would be needed

    def test_undecided_words_take_more_bits(self) -> None:
        # at the origin U < 1 always holds, which no finite number of bits below 1 - 2^-64 shows in floats
        assert decide((0, 0), 1.0, k_norm._proposal_scale(1.0, 2), 2**64 - 1) is True


class TestMarginal:
    @pytest.mark.seventh
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
        assert points == [(draw,) for draw in draw_discrete_laplace(2.0**40, 5)]


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
    drawn = k_norm.laplace_integers

    def record(scale: float, size: int) -> k_norm.Integers:
        sizes.append(size)
        return drawn(scale, size)

    monkeypatch.setattr(k_norm, "laplace_integers", record)
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


class TestManyPoints:
    @pytest.mark.parametrize("d", [1, 2, 3, 10])
    @pytest.mark.parametrize("size", [0, 1, 7, 1000])
    def test_one_row_a_point(self, d: int, size: int) -> None:
        drawn = draw_planar(2.0**30, d, size)
        assert drawn.shape == (size, d)
        assert drawn.dtype == np.int64

    def test_largest_dimension_and_scales_at_both_ends(self) -> None:
        assert draw_planar(2.0**40, MAX_DIMENSION, 2).shape == (2, MAX_DIMENSION)
        assert not draw_planar(2.0**-10, 2, 100).any()
        assert np.abs(draw_planar(2.0**45, 2, 100)).max() > 2**45
        assert draw_planar(2.0**43, MAX_DIMENSION, 1).any()

    def test_more_points_than_a_block_holds(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(k_norm, "_BLOCK", 64)
        drawn = draw_planar(2.0**40, 2, 1000)
        assert len(np.unique(drawn, axis=0)) == 1000

    def test_reproducible_inside_the_test_switch_alone(self) -> None:
        with seeded(3):
            first = draw_planar(2.0**40, 2, 50)
        with seeded(3):
            assert np.array_equal(draw_planar(2.0**40, 2, 50), first)
        assert not np.array_equal(draw_planar(2.0**40, 2, 50), draw_planar(2.0**40, 2, 50))

    @pytest.mark.parametrize(
        ("scale", "dimension", "size"),
        [(0.0, 2, 1), (math.nan, 2, 1), (2.0**47, 1, 1), (2.0**46, 2, 1), (1.0, 0, 1), (1.0, 25, 1), (1.0, 2, -1)],
    )
    def test_arguments_out_of_range(self, scale: float, dimension: int, size: int) -> None:
        with pytest.raises(UsageError):
            draw_planar(scale, dimension, size)

    def test_the_points_are_those_of_the_sampler_of_tuples(self) -> None:
        with seeded(3):
            points = draw_k_norm(2.0**40, 3, 20)
        with seeded(3):
            assert draw_planar(2.0**40, 3, 20).tolist() == [list(point) for point in points]

    def test_coordinates_beyond_64_bits_are_an_error(self, monkeypatch: pytest.MonkeyPatch) -> None:
        huge = np.array([2**70, 2**70], dtype=object)
        monkeypatch.setattr(k_norm, "laplace_integers", lambda scale, size: np.tile(huge, size // 2))
        assert draw_k_norm(2.0**60 / 2**10, 2, 1) == [(2**70, 2**70)]
        with pytest.raises(InternalError, match="fit"):
            draw_planar(2.0**40, 2, 1)
