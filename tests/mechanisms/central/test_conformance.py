"""One suite for every additive mechanism: scale, grid, slack, release, intervals, events, refusals."""

import math
from dataclasses import FrozenInstanceError
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emdp.base.errors import UsageError
from emdp.mechanisms import AdditiveMechanism, GaussianMechanism, KNormMechanism, LaplaceMechanism
from emdp.mechanisms.central.additive import GRID_BITS, independent_tail
from emdp.privacy.calibration import gaussian_delta
from emdp.privacy.events.table import GaussianEvent, GuaranteeEvent, KNormEvent, LaplaceEvent
from emdp.privacy.guarantees.kinds import EmdDP, UserDP
from emdp.privacy.rounding import as_decimal
from emdp.testing import seeded

KINDS: dict[str, type[AdditiveMechanism]] = {
    "laplace": LaplaceMechanism,
    "k_norm": KNormMechanism,
    "gaussian": GaussianMechanism,
}
EVENTS = {"laplace": LaplaceEvent, "k_norm": KNormEvent, "gaussian": GaussianEvent}
kinds = pytest.mark.parametrize("kind", list(KINDS))
positive = st.floats(-20.0, 20.0).map(lambda power: 2.0**power)
"""Numbers between 1e-6 and 1e6."""


def build(kind: str, **values: Any) -> AdditiveMechanism:
    values = {"sensitivity": 1.0, "alpha": 1.0, **values}
    if kind == "gaussian":
        values.setdefault("delta", 1e-9)
    return KINDS[kind](**values)


class TestScaleAndGrid:
    @kinds
    @settings(deadline=None, max_examples=60)
    @given(sensitivity=positive, alpha=positive, d=st.integers(1, 24))
    def test_grid_is_a_power_of_two_below_the_scale(self, kind: str, sensitivity: float, alpha: float, d: int) -> None:
        mechanism = build(kind, sensitivity=sensitivity, alpha=alpha, dimension=d)
        assert math.frexp(mechanism.grid)[0] == 0.5
        assert 2.0**GRID_BITS <= mechanism.noise_units < 2.0 ** (GRID_BITS + 1)
        assert Fraction(mechanism.noise_units) * Fraction(mechanism.grid) == Fraction(mechanism.scale)

    @pytest.mark.parametrize("kind", ["laplace", "k_norm"])
    @settings(deadline=None, max_examples=200)
    @given(sensitivity=positive, alpha=positive)
    def test_scale_covers_alpha_and_no_more(self, kind: str, sensitivity: float, alpha: float) -> None:
        scale = build(kind, sensitivity=sensitivity, alpha=alpha).scale
        assert Fraction(scale) * as_decimal(alpha) >= Fraction(sensitivity)
        assert scale <= sensitivity / alpha * (1 + 2.0**-50)

    @settings(deadline=None, max_examples=60)
    @given(sensitivity=positive, alpha=st.floats(0.01, 100), delta=st.floats(-20, -1), d=st.integers(1, 1000))
    def test_sigma_meets_the_exact_profile(self, sensitivity: float, alpha: float, delta: float, d: int) -> None:
        mechanism = build("gaussian", sensitivity=sensitivity, alpha=alpha, delta=10.0**delta, dimension=d)
        spent = gaussian_delta(alpha, sensitivity / mechanism.scale)
        assert spent <= mechanism.delta - mechanism.slack_delta
        assert spent >= 0.99 * mechanism.delta

    @pytest.mark.parametrize(
        ("alpha", "delta", "sigma"),
        [(1, 1e-6, 4.22468), (5, 1e-6, 0.980049), (25, 1e-6, 0.260238), (25, 1e-12, 0.334336), (0.2, 1e-6, 18.9888)],
    )
    def test_known_sigmas(self, alpha: float, delta: float, sigma: float) -> None:
        assert build("gaussian", alpha=alpha, delta=delta).scale == pytest.approx(sigma, rel=1e-5)

    @kinds
    def test_magnitude_makes_the_grid_coarser_only_where_it_must(self, kind: str) -> None:
        plain = build(kind)
        assert build(kind, magnitude=1e6).grid == plain.grid
        for magnitude in (2.0**30 * plain.scale, 2.0**50 * plain.scale):
            mechanism = build(kind, magnitude=magnitude)
            assert mechanism.grid > plain.grid
            assert 2.0**61 <= magnitude / mechanism.grid <= 2.0**62
            assert mechanism.slack_epsilon > plain.slack_epsilon
        with pytest.raises(UsageError, match="magnitude"):
            build(kind, magnitude=2.0**63 * plain.scale)


class TestSlack:
    @pytest.mark.parametrize("d", [1, 4, 24])
    def test_rounding_alone(self, d: int) -> None:
        laplace, k_norm, gaussian = (build(kind, dimension=d) for kind in KINDS)
        assert laplace.slack_epsilon == pytest.approx(1.5 * d * laplace.grid / laplace.scale)
        assert k_norm.slack_epsilon == pytest.approx(2 * math.sqrt(d) * k_norm.grid / k_norm.scale)
        eta = math.sqrt(d) * gaussian.grid / gaussian.scale
        assert gaussian.slack_epsilon == pytest.approx(12 * eta)
        assert (laplace.slack_delta, k_norm.slack_delta) == (0, 0)
        assert gaussian.slack_delta == pytest.approx((2 * d + 1) * math.exp(-72))

    @kinds
    def test_statistic_error_enters_twice_in_the_mechanism_s_norm(self, kind: str) -> None:
        error, d = 1e-6, 4
        mechanism = build(kind, statistic_error=error, dimension=d)
        norm = d if mechanism.norm == 1 else math.sqrt(d)
        share = 2 * error * norm / mechanism.scale
        assert mechanism.slack_epsilon == pytest.approx(share * (12 if kind == "gaussian" else 1), rel=1e-4)
        assert mechanism.interval_half_width(0.9) == build(kind, dimension=d).interval_half_width(0.9)

    @pytest.mark.parametrize("kind", ["laplace", "k_norm"])
    def test_slack_is_rounded_up(self, kind: str) -> None:
        mechanism = build(kind, sensitivity=0.3, alpha=0.7, dimension=3, statistic_error=1e-9)
        ones = 3.0 if kind == "laplace" else math.sqrt(3.0)
        extra = 0.5 if kind == "laplace" else 1.0
        exact = ones * ((1 + extra) * mechanism.grid + 2e-9) / mechanism.scale
        assert as_decimal(mechanism.slack_epsilon) >= Fraction(exact) * (1 - Fraction(1, 2**50))
        assert mechanism.slack_epsilon <= exact * (1 + 2.0**-48)


class TestRelease:
    @pytest.mark.quarter
    @kinds
    @settings(deadline=None, max_examples=40)
    @given(values=st.lists(st.fractions(), min_size=3, max_size=3), seed=st.integers(0, 9))
    def test_answer_lies_on_the_grid_near_the_statistic(self, kind: str, values: list[Fraction], seed: int) -> None:
        mechanism = build(kind, dimension=3)
        with seeded(seed):
            answers = mechanism.release(values)
        grid = Fraction(mechanism.grid)
        assert all(isinstance(answer, Fraction) and (answer / grid).denominator == 1 for answer in answers)
        limit = mechanism.simultaneous_half_width(1 - 1e-12)
        assert all(abs(answer - value) <= limit for answer, value in zip(answers, values, strict=True))

    @kinds
    def test_same_noise_on_a_shifted_statistic(self, kind: str) -> None:
        mechanism = build(kind, dimension=2)
        grid = Fraction(mechanism.grid)
        found = []
        shift = 10**9 * grid
        for base in (Fraction(0), shift, shift + grid * 9 / 10, shift + grid / 3, -shift - grid * 9 / 10):
            with seeded(4):
                found.append([answer - base for answer in mechanism.release([base, base])])
        assert found[0] == found[1]
        assert all(abs(x - y) <= grid / 2 for other in found for x, y in zip(found[0], other, strict=True))

    @kinds
    def test_values_beyond_the_stated_magnitude_are_released(self, kind: str) -> None:
        mechanism = build(kind, magnitude=1.0)
        for value in (Fraction(10) ** 400, -(Fraction(10) ** 400), Fraction(2**63) * Fraction(mechanism.grid)):
            (answer,) = mechanism.release([value])
            assert abs(answer - value) <= mechanism.interval_half_width(1 - 1e-12)

    @kinds
    def test_production_noise_is_fresh(self, kind: str) -> None:
        mechanism = build(kind, dimension=2)
        assert mechanism.release([Fraction(0)] * 2) != mechanism.release([Fraction(0)] * 2)

    @kinds
    @pytest.mark.parametrize("values", [[], [Fraction(1)], [Fraction(1)] * 3, [0.5, 0.5], [None, Fraction(1)]])
    def test_malformed_statistics_are_refused_without_their_values(self, kind: str, values: list[Any]) -> None:
        with pytest.raises(UsageError, match="values must") as caught:
            build(kind, dimension=2).release(values)
        assert "0.5" not in str(caught.value)


class TestIntervals:
    @pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
    def test_scalar_quantiles_agree_with_the_continuous_laws(self, level: float) -> None:
        laplace, k_norm, gaussian = (build(kind) for kind in KINDS)
        from scipy.stats import norm

        assert laplace.interval_half_width(level) == pytest.approx(-math.log(1 - level), rel=1e-9)
        assert k_norm.interval_half_width(level) == laplace.interval_half_width(level)
        assert gaussian.interval_half_width(level) == pytest.approx(
            gaussian.scale * norm.ppf((1 + level) / 2), rel=1e-9
        )

    @pytest.mark.seventh
    @kinds
    @pytest.mark.parametrize("d", [1, 2, 6])
    def test_coverage(self, kind: str, d: int) -> None:
        """20,000 coordinates: within 6 sigmas of 90 %, alone exactly, together at least (K-norm: a union bound)."""
        mechanism = build(kind, dimension=d, alpha=3.0)
        count = 20_000 // d
        alone, together = mechanism.interval_half_width(0.9), mechanism.simultaneous_half_width(0.9)
        assert together >= alone
        inside = both = 0
        with seeded(2):
            for _ in range(count):
                answers = mechanism.release([Fraction(1, 3)] * d)
                errors = [abs(answer - Fraction(1, 3)) for answer in answers]
                inside += sum(error <= alone for error in errors)
                both += all(error <= together for error in errors)
        assert abs(inside - 0.9 * count * d) < 6 * math.sqrt(0.09 * count * d) * math.sqrt(d)
        assert both > 0.9 * count - 6 * math.sqrt(0.09 * count)
        if kind != "k_norm":
            assert both < 0.9 * count + 6 * math.sqrt(0.09 * count)

    @pytest.mark.quarter
    @kinds
    def test_moments_match_draws(self, kind: str) -> None:
        mechanism = build(kind, dimension=2, sensitivity=0.01)
        with seeded(6):
            draws = [float(x) for _ in range(5000) for x in mechanism.release([Fraction(0)] * 2)]
        mean = math.fsum(map(abs, draws)) / len(draws)
        assert mechanism.expected_absolute_error == pytest.approx(mean, rel=0.06)
        assert mechanism.standard_deviation == pytest.approx(math.hypot(*draws) / 100, rel=0.06)

    @kinds
    def test_interval_includes_half_a_grid_step(self, kind: str) -> None:
        mechanism = build(kind, magnitude=2.0**59)  # a coarse grid
        steps = mechanism.interval_half_width(0.9) / mechanism.grid
        assert steps == math.floor(steps) + 0.5

    @kinds
    @pytest.mark.parametrize("level", [0.0, 1.0, -0.5, 95, math.nan])
    def test_bad_levels_are_refused(self, kind: str, level: float) -> None:
        for width in (build(kind).interval_half_width, build(kind).simultaneous_half_width):
            with pytest.raises(UsageError, match="level"):
                width(level)

    def test_independent_tail_is_outward(self) -> None:
        for d in (1, 2, 1000):
            alone = independent_tail(0.1, d)
            assert (1 - alone) ** d >= 0.9 * (1 - 1e-12)
            assert (1 - alone) ** d == pytest.approx(0.9, rel=1e-9)

    @kinds
    def test_widths_cover_tiny_levels(self, kind: str) -> None:
        """Where 1 - level is rounded to 1 the width is that of a larger level."""
        mechanism = build(kind, dimension=3)
        for width in (mechanism.interval_half_width, mechanism.simultaneous_half_width):
            widths = [width(level) for level in (5e-324, 1e-17, 1.2e-16, 1e-15, 1e-3)]
            assert widths == sorted(widths)
            assert widths[0] > 0


class TestConstantStatistic:
    @kinds
    def test_is_exact_and_says_so(self, kind: str) -> None:
        mechanism = build(kind, sensitivity=0, dimension=2)
        values = (Fraction(1, 3), Fraction(10) ** 30)
        assert mechanism.release(values) == values
        assert mechanism.is_exact
        assert "exact" in mechanism.theorem
        numbers = (
            mechanism.scale, mechanism.grid, mechanism.noise_units, mechanism.slack_epsilon, mechanism.slack_delta,
            mechanism.expected_absolute_error, mechanism.standard_deviation, mechanism.interval_half_width(0.95),
            mechanism.simultaneous_half_width(0.95),
        )  # fmt: skip
        assert numbers == (0.0,) * 9

    @kinds
    def test_costs_nothing(self, kind: str) -> None:
        event = build(kind, sensitivity=0).event()
        assert isinstance(event, GuaranteeEvent)
        assert (event.guarantee, event.slack_epsilon) == (EmdDP(0.0), 0.0)

    @kinds
    def test_with_a_computed_value_is_refused(self, kind: str) -> None:
        with pytest.raises(UsageError, match="release its public value"):
            build(kind, sensitivity=0, statistic_error=1e-16)


class TestEvents:
    @kinds
    @settings(deadline=None, max_examples=60)
    @given(
        sensitivity=positive, alpha=st.floats(1e-3, 500), d=st.integers(1, 24), error=st.floats(0, 1e-6),
        delta=st.floats(-25, -1),
    )  # fmt: skip
    def test_event_accepts_the_mechanism(
        self, kind: str, sensitivity: float, alpha: float, d: int, error: float, delta: float
    ) -> None:
        values = {"delta": 10.0**delta} if kind == "gaussian" else {}
        mechanism = build(
            kind, sensitivity=sensitivity, alpha=alpha, dimension=d, statistic_error=error * sensitivity, **values
        )
        event = mechanism.event()
        assert isinstance(event, EVENTS[kind])
        assert event.guarantee == EmdDP(alpha, mechanism.delta)
        assert event.slack_epsilon == mechanism.slack_epsilon

    @kinds
    def test_event_of_another_kind(self, kind: str) -> None:
        assert isinstance(build(kind).event(UserDP(0.0)).guarantee, UserDP)


class TestRefusals:
    @kinds
    @pytest.mark.parametrize("value", [-1.0, math.nan, math.inf, "1", None])
    @pytest.mark.parametrize("field", ["sensitivity", "alpha", "statistic_error", "magnitude"])
    def test_bad_numbers(self, kind: str, field: str, value: object) -> None:
        with pytest.raises(UsageError, match=field):
            build(kind, **{field: value})

    @kinds
    @pytest.mark.parametrize(("field", "value"), [("alpha", 0.0), ("dimension", 0), ("dimension", 1.5)])
    def test_bad_levels_and_dimensions(self, kind: str, field: str, value: object) -> None:
        with pytest.raises(UsageError, match=field):
            build(kind, **{field: value})

    @pytest.mark.parametrize("kind", ["laplace", "k_norm"])
    def test_pure_noise_takes_no_delta(self, kind: str) -> None:
        with pytest.raises(UsageError, match="delta must be 0"):
            build(kind, delta=1e-9)

    @pytest.mark.parametrize("delta", [0.0, 1.0, -1e-9, 1e-31])
    def test_gaussian_noise_needs_a_delta(self, delta: float) -> None:
        with pytest.raises(UsageError, match="delta"):
            build("gaussian", delta=delta)

    @kinds
    def test_scales_beyond_float64_are_refused(self, kind: str) -> None:
        for sensitivity, alpha in ((1e-300, 1e10), (1e300, 1e-10)):
            with pytest.raises(UsageError, match="choose other units"):
                build(kind, sensitivity=sensitivity, alpha=alpha)

    def test_k_norm_reaches_24_dimensions(self) -> None:
        assert build("k_norm", dimension=24).norm == 2
        with pytest.raises(UsageError, match="dimension must be at most 24"):
            build("k_norm", dimension=25)

    @kinds
    def test_is_frozen_and_takes_names_only(self, kind: str) -> None:
        mechanism = build(kind)
        with pytest.raises(FrozenInstanceError):
            mechanism.alpha = 2.0  # type: ignore[misc]
        with pytest.raises(TypeError):
            KINDS[kind](1.0, 1.0)  # type: ignore[misc]
        assert mechanism == build(kind)
        assert "EMD 2" in mechanism.theorem
        assert mechanism.name
