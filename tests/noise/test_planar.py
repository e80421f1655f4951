"""The sampler of many lattice points: arguments, shapes, and that its float decisions are the exact ones.

The law itself is tested in tests/statistical/test_noise_planar.py.
"""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from emdp.base.errors import UsageError
from emdp.noise import planar
from emdp.noise.k_norm import MAX_DIMENSION, _proposal_scale, k_norm_acceptance
from emdp.noise.planar import draw_planar
from emdp.testing import seeded

points = st.lists(st.integers(-(2**45), 2**45), min_size=2, max_size=MAX_DIMENSION).map(tuple)
scales = st.floats(2.0**38, 2.0**42)


def chance_of(point: tuple[int, ...], scale: float, wide: float) -> Fraction:
    """exp(-g(point)) to 200 digits."""
    with localcontext() as context:
        context.prec = 200
        norm_2 = Decimal(sum(z * z for z in point)).sqrt()
        return Fraction((Decimal(sum(map(abs, point))) / Decimal(wide) - norm_2 / Decimal(scale)).exp())


def decide(point: tuple[int, ...], scale: float, wide: float, bits: int) -> bool:
    """What the sampler does with one proposal when the first word of U is `bits`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planar, "random_words", lambda count: np.full(count, bits, dtype=np.uint64))
        return bool(planar._accept(np.array([point], dtype=np.int64).T, scale, wide)[0])


class TestShapes:
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
        monkeypatch.setattr(planar, "_BLOCK", 64)
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


class TestExactAcceptance:
    @given(points, scales, st.integers(0, 2**64 - 1))
    @settings(deadline=None, max_examples=150)
    def test_decisions_are_right(self, point: tuple[int, ...], scale: float, bits: int) -> None:
        wide = _proposal_scale(scale, len(point))
        chance = chance_of(point, scale, wide) * 2**64
        assume(not bits < chance < bits + 1)  # 64 bits do not decide it
        assert decide(point, scale, wide, bits) is (bits < chance)

    @given(points, scales, st.sampled_from([-(2**30), -(2**20), -1, 1, 2**20, 2**30]))
    @settings(deadline=None, max_examples=150)
    def test_close_decisions_are_right(self, point: tuple[int, ...], scale: float, offset: int) -> None:
        wide = _proposal_scale(scale, len(point))
        bits = math.floor(chance_of(point, scale, wide) * 2**64) + offset
        assume(0 <= bits < 2**64)
        assert decide(point, scale, wide, bits) is (offset < 0)

    def test_points_beyond_the_reach_of_floats(self) -> None:
        far, wide = 2**13, _proposal_scale(1.0, 2)
        chance = chance_of((far, far), 1.0, wide) * 2**64  # nearly 1: the diagonal
        assert chance > 2**63
        assert decide((far, far), 1.0, wide, 2**61) is True
        assert decide((far, far), 1.0, wide, math.ceil(chance)) is False
        assert decide((far, 0), 1.0, wide, 0) is False  # exp(-2399): another 54 words of zeros would be needed

    def test_undecided_words_take_more_bits(self) -> None:
        # at the origin U < 1 always holds, which no finite number of bits below 1 - 2^-64 shows in floats
        assert decide((0, 0), 1.0, _proposal_scale(1.0, 2), 2**64 - 1) is True

    @pytest.mark.parametrize("d", [2, 5])
    def test_all_decisions_by_the_exact_route_give_the_same_draws(
        self, d: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def draws() -> np.ndarray:
            with seeded(5):
                return draw_planar(2.0**40, d, 200)

        by_float = draws()
        monkeypatch.setattr(planar, "_FLOAT_REACH", -1.0)
        assert np.array_equal(draws(), by_float)

    @pytest.mark.parametrize("d", [2, 5])
    def test_acceptance_has_the_closed_form(self, d: int) -> None:
        with seeded(1):
            wide = _proposal_scale(2.0**40, d)
            proposals = planar.draw_discrete_laplace_bulk(wide, 20_000 * d).reshape(d, -1)
            kept = int(np.count_nonzero(planar._accept(proposals, 2.0**40, wide)))
        chance = k_norm_acceptance(d)
        assert abs(kept - 20_000 * chance) < 6 * math.sqrt(20_000 * chance * (1 - chance))
