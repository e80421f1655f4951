"""Fieller intervals: quantiles against exact arithmetic and exact enumeration, ends against a brute-force search."""

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
import scipy.integrate
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from emdp.base.errors import UsageError
from emdp.estimators.columns.fieller import PairLaw, denominator_limit, half_width, ratio_intervals
from emdp.mechanisms import AdditiveMechanism, GaussianMechanism, KNormMechanism, LaplaceMechanism
from emdp.noise.discrete_gaussian import discrete_gaussian_log_pmf
from emdp.noise.discrete_laplace import discrete_laplace_log_pmf

LAPLACE = LaplaceMechanism(sensitivity=1.0, alpha=1.0, dimension=2)
GAUSSIAN = GaussianMechanism(sensitivity=1.0, alpha=1.0, delta=1e-6, dimension=2)
LOG_PMFS = {"laplace": discrete_laplace_log_pmf, "gaussian": discrete_gaussian_log_pmf}
mechanisms = pytest.mark.parametrize("mechanism", [LAPLACE, GAUSSIAN], ids=["laplace", "gaussian"])
scales = st.floats(-12.0, 12.0).map(lambda power: 2.0**power)
levels = st.sampled_from([0.05, 0.5, 0.9, 0.95, 0.999, 1 - 1e-9])


def ratio_interval(numerator: float, denominator: float, law: PairLaw, level: float) -> tuple[float, float] | None:
    """Return the interval of one ratio, or None where it is the whole line."""
    low, high = ratio_intervals(np.array([numerator]), np.array([denominator]), law, level)
    return None if math.isnan(low[0]) else (float(low[0]), float(high[0]))


def laplace_tail(a: Fraction, b: Fraction, t: Fraction) -> Decimal:
    """P(|a L1 + b L2| > t) to about 60 digits."""
    with localcontext() as context:
        context.prec = 80
        a_, b_, t_ = (Decimal(x.numerator) / Decimal(x.denominator) for x in (a, b, t))
        if a == b:
            return (1 + t_ / (2 * a_)) * (-t_ / a_).exp()
        return (a_**2 * (-t_ / a_).exp() - b_**2 * (-t_ / b_).exp()) / (a_**2 - b_**2)


class TestQuantile:
    @settings(deadline=None, max_examples=150)
    @given(one=scales, two=scales, theta=st.floats(-8, 8).map(lambda power: 10.0**power), level=levels)
    def test_laplace_quantile_is_outside_the_exact_one_and_close(
        self, one: float, two: float, theta: float, level: float
    ) -> None:
        law = PairLaw.of(LAPLACE, one, two)
        scale, grid = Fraction(law.scale), Fraction(law.grid)
        size_1, size_2 = 1 / Fraction(one), abs(Fraction(theta)) / Fraction(two)
        continuous = Fraction(law.quantile(theta, level)) - Fraction(3, 2) * grid * (size_1 + size_2)
        tail = laplace_tail(scale * size_1, scale * size_2, continuous)
        wanted = Decimal(1) - Decimal(level)
        assert tail <= wanted
        assert tail >= wanted * (1 - Decimal("1e-9"))

    @pytest.mark.parametrize("distance", [0.0, 2.0**-52, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4])
    def test_laplace_quantile_is_stable_near_equal_scales(self, distance: float) -> None:
        law = PairLaw.of(LAPLACE, 1.0, 1.0)
        equal = law.quantile(1.0, 0.95)
        assert scipy.stats.gamma.sf(equal, 1) + equal / 2 * math.exp(-equal) == pytest.approx(0.05, rel=1e-9)
        for theta in (1.0 + distance, 1.0 - distance):
            # by symmetry the norm of (1, theta) has slope q/2 there
            assert law.quantile(theta, 0.95) == pytest.approx(equal * (1 + (theta - 1) / 2), rel=1e-8, abs=0)

    @settings(deadline=None, max_examples=60)
    @given(one=scales, two=scales, theta=st.floats(-100, 100), level=levels)
    def test_gaussian_quantile_is_that_of_the_sum(self, one: float, two: float, theta: float, level: float) -> None:
        law = PairLaw.of(GAUSSIAN, one, two)
        sigma = law.scale * math.hypot(1 / one, theta / two)
        exact = float(scipy.stats.norm.isf((1 - level) / 2)) * sigma
        assert exact < law.quantile(theta, level) < exact * (1 + 1e-9) + 1e-9 * sigma

    @pytest.mark.quarter
    @pytest.mark.parametrize("kind", ["laplace", "gaussian"])
    @pytest.mark.parametrize("units", [1.5, 2.9, 5.3])
    @pytest.mark.parametrize("theta", [0.0, 0.3, -1.0, 4.7])
    @pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
    def test_coverage_on_a_coarse_grid_by_enumeration(
        self, kind: str, units: float, theta: float, level: float
    ) -> None:
        """All pairs of grid noise, with the worst rounding of both statistics."""
        one, two, grid = 1.0, 2.0, 0.25
        law = PairLaw("laplace" if kind == "laplace" else "gaussian", units * grid, grid, one, two)
        steps = np.arange(-300, 301)
        chances = np.exp([LOG_PMFS[kind](int(k), units) for k in steps])
        rounding = grid / 2 * (1 / one + abs(theta) / two)
        reached = np.abs(grid * steps[:, None] / one - theta * grid * steps[None, :] / two) + rounding
        covered = float(np.sum(np.outer(chances, chances)[reached <= law.quantile(theta, level)]))
        assert covered >= level - 1e-12
        assert covered <= min(1.0, level + 6 / units) + 1e-12

    @mechanisms
    @settings(deadline=None, max_examples=150)
    @given(data=st.data())
    def test_it_is_a_norm(self, mechanism: AdditiveMechanism, data: st.DataObject) -> None:
        """The triangle inequality of the lemma, so that the ends of an interval are unique."""
        law = PairLaw.of(mechanism, data.draw(scales), data.draw(scales))
        level = data.draw(levels)
        first, second = data.draw(st.floats(-50, 50)), data.draw(st.floats(-50, 50))
        share = data.draw(st.floats(0.0, 1.0))
        middle = share * first + (1 - share) * second
        bound = share * law.quantile(first, level) + (1 - share) * law.quantile(second, level)
        assert law.quantile(middle, level) <= bound * (1 + 1e-11)
        assert law.quantile(-first, level) == law.quantile(first, level)
        slope = abs(law.quantile(first, level) - law.quantile(second, level))
        assert slope <= denominator_limit(law, level) * abs(first - second) + 1e-11 * bound

    @mechanisms
    def test_numerator_alone_has_the_mechanisms_own_interval(self, mechanism: AdditiveMechanism) -> None:
        law = PairLaw.of(mechanism, 4.0, 1.0)
        assert law.quantile(0.0, 0.95) == pytest.approx(half_width(mechanism, 4.0, 0.95), rel=1e-9)
        assert denominator_limit(law, 0.95) == pytest.approx(half_width(mechanism, 1.0, 0.95), rel=1e-9)
        assert law.quantile(1e30, 0.95) == pytest.approx(1e30 * mechanism.interval_half_width(0.95), rel=1e-9)

    @mechanisms
    @pytest.mark.parametrize("theta", [0.0, 0.2, 1.0, 30.0])
    def test_expected_absolute_error_is_the_integral_of_the_tail(
        self, mechanism: AdditiveMechanism, theta: float
    ) -> None:
        law = PairLaw.of(mechanism, 1.0, 3.0)
        a, b = law.scale, theta * law.scale / 3.0
        if mechanism is GAUSSIAN:
            exact = scipy.stats.norm.expect(abs, scale=math.hypot(a, b))
        elif theta == 0:
            exact = a
        else:
            gap = a**2 - b**2
            exact, _ = scipy.integrate.quad(
                lambda t: (a**2 * math.exp(-t / a) - b**2 * math.exp(-t / b)) / gap, 0, 60 * max(a, b), limit=200
            )
        assert law.expected_absolute(theta) == pytest.approx(exact, rel=1e-6)


class TestIntervals:
    @pytest.mark.quarter
    @mechanisms
    @settings(deadline=None, max_examples=100)
    @given(data=st.data())
    def test_ends_are_the_ends_of_the_fieller_set(self, mechanism: AdditiveMechanism, data: st.DataObject) -> None:
        one, two, level = data.draw(scales), data.draw(scales), data.draw(levels)
        law = PairLaw.of(mechanism, one, two)
        denominator = denominator_limit(law, level) * (1 + 10.0 ** data.draw(st.floats(-3, 6)))
        numerator = data.draw(st.sampled_from([-1, 0, 1])) * 10.0 ** data.draw(st.floats(-6, 6)) * law.scale / one
        found = ratio_interval(numerator, denominator, law, level)
        assert found is not None
        low, high = found
        assert low < numerator / denominator < high
        width = high - low
        grain = 1e-7 * width + 1e-12 * max(abs(low), abs(high))

        def is_member(theta: float) -> bool:
            return abs(numerator - theta * denominator) <= law.quantile(theta, level)

        # outside nothing belongs to the set, as far as one looks; just inside everything does
        steps = np.concatenate([[grain], width * np.logspace(-6, 6, 30)])
        assert not any(is_member(low - step) or is_member(high + step) for step in steps)
        assert is_member(low + grain)
        assert is_member(high - grain)
        assert all(is_member(low + share * width) for share in np.linspace(0.001, 0.999, 20))

    @mechanisms
    @pytest.mark.parametrize("level", [0.05, 0.5, 0.95, 1 - 1e-12])
    def test_ends_are_tight_also_near_the_limit(self, mechanism: AdditiveMechanism, level: float) -> None:
        """Newton's method converges where an end is hundreds of times farther out than it starts."""
        law = PairLaw.of(mechanism, 1.0, 1.0)
        for excess, size in itertools.product([1e-5, 1e-3, 0.01, 0.1, 1.0], [0.0, 0.1, 1.0, 100.0]):
            denominator, numerator = denominator_limit(law, level) * (1 + excess), size * law.scale
            low, high = ratio_interval(numerator, denominator, law, level) or (math.nan, math.nan)
            for end, side in ((low, -1), (high, 1)):
                theta = end - side * 1e-6 * (high - low)
                assert abs(numerator - theta * denominator) < law.quantile(theta, level)

    @mechanisms
    def test_gaussian_like_closed_form(self, mechanism: AdditiveMechanism) -> None:
        """Fieller's quadratic for Gaussian noise; Laplace noise has other ends."""
        law = PairLaw.of(mechanism, 1.0, 2.0)
        numerator, denominator = 90.0, 40.0
        z = scipy.stats.norm.isf(0.025)
        a, b = (z * law.scale) ** 2, (z * law.scale / 2) ** 2
        lead = denominator**2 - b
        root = math.sqrt((numerator * denominator) ** 2 - lead * (numerator**2 - a))
        expected = (numerator * denominator - root) / lead, (numerator * denominator + root) / lead
        found = ratio_interval(numerator, denominator, law, 0.95)
        assert (found == pytest.approx(expected, rel=1e-9)) is (mechanism is GAUSSIAN)

    @mechanisms
    def test_whole_line_at_and_below_the_limit(self, mechanism: AdditiveMechanism) -> None:
        law = PairLaw.of(mechanism, 1.0, 7.0)
        limit = denominator_limit(law, 0.95)
        for denominator in (limit, 0.5 * limit, 0.0, -limit, -100.0 * limit):
            assert ratio_interval(1.0, denominator, law, 0.95) is None
        nearly = ratio_interval(1.0, limit * (1 + 1e-9), law, 0.95)
        assert nearly is not None
        assert math.isfinite(nearly[0])
        assert 1e6 / limit < nearly[1] < math.inf

    @mechanisms
    def test_arrays_agree_with_single_ratios(self, mechanism: AdditiveMechanism) -> None:
        law = PairLaw.of(mechanism, 1.0, 50.0)
        generator = np.random.default_rng(3)
        numerators, denominators = generator.normal(0, 5, (4, 25)), generator.uniform(-0.1, 2, (4, 25))
        low, high = ratio_intervals(numerators, denominators, law, 0.9)
        assert low.shape == high.shape == (4, 25)
        assert 0 < np.count_nonzero(np.isnan(low)) < 100
        for place in np.ndindex(4, 25):
            single = ratio_interval(numerators[place], denominators[place], law, 0.9)
            if single is None:
                assert np.isnan(low[place])
                assert np.isnan(high[place])
            else:
                assert (low[place], high[place]) == pytest.approx(single, rel=1e-11)
        none, _ = ratio_intervals([], [], law, 0.9)
        assert none.size == 0

    @mechanisms
    def test_units_do_not_matter(self, mechanism: AdditiveMechanism) -> None:
        law, far = PairLaw.of(mechanism, 1.0, 1.0), PairLaw.of(mechanism, 2.0**300, 2.0**-200)
        near = ratio_interval(30.0, 60.0, law, 0.95)
        other = ratio_interval(30.0 * 2.0**-300, 60.0 * 2.0**200, far, 0.95)
        assert near is not None
        assert other == pytest.approx((near[0] * 2.0**-500, near[1] * 2.0**-500), rel=1e-12, abs=0)

    @mechanisms
    def test_reflection(self, mechanism: AdditiveMechanism) -> None:
        law = PairLaw.of(mechanism, 1.0, 3.0)
        low, high = ratio_interval(5.0, 40.0, law, 0.95) or (math.nan, math.nan)
        assert ratio_interval(-5.0, 40.0, law, 0.95) == (-high, -low)

    @mechanisms
    def test_higher_level_is_wider(self, mechanism: AdditiveMechanism) -> None:
        law = PairLaw.of(mechanism, 1.0, 1.0)
        found = [ratio_interval(50.0, 100.0, law, level) or (math.nan, math.nan) for level in (0.5, 0.9, 0.99, 0.9999)]
        assert all(outer[0] < inner[0] < inner[1] < outer[1] for inner, outer in itertools.pairwise(found))

    def test_constant_statistics_have_no_noise(self) -> None:
        law = PairLaw.of(LaplaceMechanism(sensitivity=0.0, alpha=1.0, dimension=2), 1.0, 1.0)
        low, high = ratio_interval(1.0, 3.0, law, 0.95) or (math.nan, math.nan)
        assert Fraction(low) < Fraction(1, 3) < Fraction(high)
        assert high - low < 1e-13
        assert law.quantile(2.0, 0.95) == denominator_limit(law, 0.95) == law.expected_absolute(1.0) == 0.0
        assert ratio_interval(1.0, 0.0, law, 0.95) is None


class TestRefusals:
    def test_k_norm(self) -> None:
        with pytest.raises(UsageError, match="K-norm"):
            PairLaw.of(KNormMechanism(sensitivity=1.0, alpha=1.0, dimension=2), 1.0, 1.0)

    @pytest.mark.parametrize("level", [0.0, 1.0, -1.0, math.nan])
    def test_level(self, level: float) -> None:
        law = PairLaw.of(LAPLACE, 1.0, 1.0)
        for call in (lambda: law.quantile(1.0, level), lambda: ratio_interval(1.0, 9.0, law, level)):
            with pytest.raises(UsageError, match="level"):
                call()

    @pytest.mark.parametrize("scale", [0.0, -1.0, math.inf, math.nan])
    def test_scales(self, scale: float) -> None:
        with pytest.raises(UsageError, match="scale_numerator"):
            PairLaw.of(LAPLACE, scale, 1.0)
        with pytest.raises(UsageError, match="scale_denominator"):
            PairLaw.of(LAPLACE, 1.0, scale)

    def test_theta_and_shapes(self) -> None:
        law = PairLaw.of(LAPLACE, 1.0, 1.0)
        with pytest.raises(UsageError, match="theta"):
            law.quantile(math.inf, 0.95)
        with pytest.raises(UsageError, match="one shape"):
            ratio_intervals([1.0], [1.0, 2.0], law, 0.95)

    def test_laws_that_do_not_fit(self) -> None:
        with pytest.raises(UsageError, match="law"):
            PairLaw("cauchy", 1.0, 1.0, 1.0, 1.0)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="grid"):
            PairLaw("gaussian", 1.0, 2.0, 1.0, 1.0)
