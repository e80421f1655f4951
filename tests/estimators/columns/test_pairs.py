"""Weighted sums and means of two noisy numbers: values, ends, coverage with stated power."""

import math
from dataclasses import replace
from fractions import Fraction

import pytest
import scipy.stats

from emdp.estimators.columns.pairs import EndsMean, Total
from emdp.estimators.columns.values import UNBOUNDED, Coordinate, Draw, Estimate
from emdp.mechanisms import AdditiveMechanism, GaussianMechanism, LaplaceMechanism
from emdp.testing import seeded

LAPLACE = LaplaceMechanism(sensitivity=1.0, alpha=1.0, dimension=2)
PARTS = (Coordinate(0, 1.0), Coordinate(1, 1.0))


def mean_of(above: float, below: float, mechanism: AdditiveMechanism = LAPLACE, level: float = 0.95) -> Estimate:
    """The mean in [2, 10] from two released numbers."""
    draw = Draw((Fraction(above), Fraction(below)), 1, mechanism)
    return EndsMean("m", 2.0, 10.0, *PARTS).estimates(draw, 0, level)[0]


class TestEndsMean:
    def test_the_value_is_the_weighted_mean_of_the_ends(self) -> None:
        # 100 records of mean 4: 200 above 2, 600 below 10
        found = mean_of(200.0, 600.0)
        assert found.value == 4
        assert 3.9 < found.low < 4 < found.high < 4.1

    def test_the_two_sides_are_mirror_images(self) -> None:
        for above, below in ((200.0, 600.0), (30.0, 31.0), (0.5, 90.0), (-2.0, 50.0)):
            one, other = mean_of(above, below), mean_of(below, above)
            assert one.value is not None
            assert other.value is not None
            assert one.value - 2 == 10 - other.value
            assert one.low - 2.0 == pytest.approx(10.0 - other.high, abs=1e-12)
            assert one.high - 2.0 == pytest.approx(10.0 - other.low, abs=1e-12)

    def test_no_value_leaves_the_public_range(self) -> None:
        for above, below in ((-20.0, 100.0), (100.0, -20.0), (-100.0, 100.0), (0.0, 50.0)):
            found = mean_of(above, below)
            assert found.value in (2, 10)
            assert 2.0 <= found.low <= found.high <= 10.0

    def test_numbers_within_their_noise_say_nothing(self) -> None:
        # P(|Z| > 2.9957) = 0.05
        assert mean_of(2.9, 1.0) == UNBOUNDED
        assert mean_of(-50.0, 2.9) == UNBOUNDED
        assert mean_of(2.9, 3.1) != UNBOUNDED

    def test_exact_numbers(self) -> None:
        column = EndsMean("m", 2.0, 10.0, *PARTS)
        values = tuple(map(Fraction, (200, 0, 8, 600, 0, 0)))
        assert column.exact(values, 3, 0) == [4, None, 10]
        constant = replace(LAPLACE, sensitivity=0.0)
        assert mean_of(200.0, 600.0, constant).value == 4

    @pytest.mark.quarter
    @pytest.mark.parametrize(
        "mechanism",
        [
            LaplaceMechanism(sensitivity=1.0, alpha=1.0, dimension=8_000),
            GaussianMechanism(sensitivity=1.0, alpha=1.0, delta=1e-6, dimension=8_000),
        ],
        ids=["laplace", "gaussian"],
    )
    @pytest.mark.parametrize(("above", "below"), [(40, 40), (0, 60), (60, 0), (3, 50), (70, 20)])
    def test_intervals_cover(self, mechanism: AdditiveMechanism, above: int, below: int) -> None:
        """4,000 means at 95 %, p < 1e-9: at least the level; with 0.7 of the noise at most 0.9 of it are hits."""
        cells = 4_000
        unit = max(1.0, mechanism.scale)
        above, below = round(above * unit), round(below * unit)
        with seeded(7):
            values = mechanism.release([Fraction(above)] * cells + [Fraction(below)] * cells)
        truth = 2.0 + 8.0 * above / (above + below)
        column = EndsMean("m", 2.0, 10.0, *PARTS)
        for factor, passes in ((1.0, True), (0.7, False)):
            known = replace(mechanism, sensitivity=factor * mechanism.sensitivity)
            found = column.estimates(Draw(values, cells, known), 0, 0.95)
            hits = sum(one.low <= truth <= one.high for one in found)
            # On the border of the public range an interval that is cut to it hits on one side always.
            wanted = 0.975 if 0 in (above, below) else 0.95
            assert bool(scipy.stats.binomtest(hits, cells, wanted, alternative="less").pvalue > 1e-9) is passes
        if 0 not in (above, below):
            wide = replace(mechanism, sensitivity=1.3 * mechanism.sensitivity)
            hits = sum(one.low <= truth <= one.high for one in column.estimates(Draw(values, cells, wide), 0, 0.95))
            assert scipy.stats.binomtest(hits, cells, 0.95, alternative="greater").pvalue < 1e-9

    @pytest.mark.slow
    def test_coverage_holds_where_the_sums_are_near_their_noise(self) -> None:
        """All of 30 pairs from 0 to a few scales, 1,500 draws each: never below the level (p < 1e-9 in all)."""
        cells = 1_500
        mechanism = LaplaceMechanism(sensitivity=1.0, alpha=1.0, dimension=2 * cells)
        column = EndsMean("m", 2.0, 10.0, *PARTS)
        for above in (0, 1, 2, 4, 8):
            for below in (0, 1, 2, 3, 5, 12):
                if above == below == 0:
                    continue
                with seeded(100 * above + below):
                    values = mechanism.release([Fraction(above)] * cells + [Fraction(below)] * cells)
                truth = 2.0 + 8.0 * above / (above + below)
                found = column.estimates(Draw(values, cells, mechanism), 0, 0.9)
                hits = sum(one.low <= truth <= one.high for one in found)
                assert scipy.stats.binomtest(hits, cells, 0.9, alternative="less").pvalue > 1e-9 / 30


class TestTotal:
    def test_the_larger_weight_may_stand_in_either_place(self) -> None:
        draw = Draw((Fraction(7), Fraction(9)), 1, LAPLACE)
        one = Total("s", (Fraction(1, 3), Fraction(5)), PARTS).estimates(draw, 0, 0.95)[0]
        other = Total("s", (Fraction(5), Fraction(1, 3)), PARTS[::-1]).estimates(draw, 0, 0.95)[0]
        assert one == other
        assert one.value == Fraction(7, 3) + 45

    def test_a_weight_of_nothing_leaves_the_other_number(self) -> None:
        found = Total("s", (Fraction(2), Fraction(0)), PARTS).estimates(
            Draw((Fraction(7), Fraction(9)), 1, LAPLACE), 0, 0.95
        )
        assert found[0].value == 14
        assert found[0].high - 14 == pytest.approx(2 * -math.log(0.05), rel=1e-9)

    @pytest.mark.parametrize("weights", [(1.0, 1.0), (0.5, 3.0), (-2.0, 0.3)])
    def test_half_widths_are_the_quantile_of_the_sum(self, weights: tuple[float, float]) -> None:
        """Against 4,000,000 plain draws: the share beyond is 0.05 within 6 deviations; 0.7 and 1.3 are far off."""
        import numpy as np

        drawn = np.random.default_rng(3).laplace(size=(2, 4_000_000))
        size = np.abs(weights[0] * drawn[0] + weights[1] * drawn[1])
        pair = (Fraction(weights[0]), Fraction(weights[1]))
        found = Total("s", pair, PARTS).estimates(Draw((Fraction(0), Fraction(0)), 1, LAPLACE), 0, 0.95)[0]
        deviation = math.sqrt(0.05 * 0.95 / size.size)
        assert abs(float((size > found.high).mean()) - 0.05) < 6 * deviation
        for factor in (0.7, 1.3):
            assert abs(float((size > factor * found.high).mean()) - 0.05) > 60 * deviation
