"""Noise of streams: price, exact small cases, integers, deviations by simulation."""

import math
from fractions import Fraction

import numpy as np
import pytest

from emdp.base.errors import UsageError
from emdp.mechanisms.streams.estimates import estimate, show_weights
from emdp.mechanisms.streams.mechanism import StreamMechanism
from emdp.mechanisms.streams.strategy import SCALE, Plan, Strategy
from emdp.noise.discrete_gaussian import discrete_gaussian_log_pmf
from emdp.privacy import Account, Budget, EmdDP, UserDP
from emdp.privacy.calibration import gaussian_delta


def stream(plan: Plan = "totals", periods: int = 52, unit: str = "period", **more: object) -> StreamMechanism:
    values = {"sensitivity": 0.01, "dimension": 1, "alpha": 2.0, "delta": 1e-6, **more}
    return StreamMechanism(Strategy.of(plan, periods), periods, unit, **values)  # type: ignore[arg-type]


class TestPrice:
    """What is charged covers the rows in every unit, and no less."""

    @pytest.mark.parametrize("plan", ["days", "totals", "both"])
    def test_the_stated_level_is_that_of_its_unit(self, plan: Plan) -> None:
        own = stream(plan)
        event = own.event("period", EmdDP(0.0, unit="period"))
        assert event.guarantee == EmdDP(2.0, 1e-6, unit="period")
        assert gaussian_delta(2.0, own.mu("period")) <= 1e-6 < gaussian_delta(2.0, own.mu("period") * 1.001)
        assert own.mu("user") > own.mu("period")
        assert own.event("user", EmdDP(0.0)).guarantee.level > 2.0

    def test_per_user_the_sum_of_columns_counts(self) -> None:
        own = stream("days", 49)
        assert own.mu("user") == pytest.approx(7 * own.mu("period"))
        assert stream("days", 49, "user").sigma == pytest.approx(7 * own.sigma)

    def test_prolonging_pays_the_difference_of_the_squares(self) -> None:
        first = stream("totals", 365)
        longer = first.prolonged(730, first.sigma, 365)
        assert longer.sigma == first.sigma
        assert first.alpha < longer.alpha == longer.event("period", EmdDP(0.0, unit="period")).alpha
        due = longer.event("period", EmdDP(0.0, unit="period"), before=first)
        squares = [Fraction(one.mu("period")) ** 2 for one in (first, longer)]
        assert squares[1] <= squares[0] + Fraction(due.mu) ** 2 <= squares[1] * (1 + Fraction(1, 10**12))
        assert float(Fraction(due.mu) ** 2 / squares[0]) == pytest.approx(0.075, abs=1e-3)

    def test_a_budget_with_a_reserve_and_one_without_pay(self) -> None:
        event = stream().event("period", EmdDP(0.0, unit="period"))
        reserve = Account(Budget(EmdDP(20.0, 1e-5, unit="period"), gaussian_share=0.5)).charge(event)
        assert reserve.level == 0
        assert reserve.square == Fraction(event.mu) ** 2
        plain = Account(Budget(EmdDP(20.0, 1e-5, unit="period"))).charge(event)
        assert plain.level == 2

    def test_exchanging_a_price_for_squares_never_gains(self) -> None:
        """Theorem 2: ``G(t e^a, m + mu^2) <= G(t, m) + delta``, on a grid of t, m and mu, by the exact profiles."""
        for level in (0.1, 1.0, 4.0):
            for mu in (0.2, 0.7, 1.5):
                delta = gaussian_delta(level, mu)
                for left in (0.0, 0.3, 1.0, 3.0):
                    for logarithm in (0.0, 0.5, 2.0, 6.0):
                        before = gaussian_delta(logarithm, math.sqrt(left)) if left else 0.0
                        after = gaussian_delta(logarithm + level, math.sqrt(left + mu**2))
                        assert after <= before + delta + 1e-12

    def test_slack_is_small_and_grows_with_all_periods(self) -> None:
        own = stream("totals", 365)
        assert 0 < own.slack_epsilon("period") < 1e-8
        assert own.slack_epsilon("period") > 100 * stream("totals", 1).slack_epsilon("period")

    @pytest.mark.parametrize("wrong", [{"sensitivity": 0.0}, {"delta": 0.0}, {"unit": "year"}, {"dimension": 0}])
    def test_what_is_refused(self, wrong: dict[str, object]) -> None:
        with pytest.raises(UsageError):
            stream(**wrong)  # type: ignore[arg-type]


def exact_delta(shifts: tuple[int, ...], scale: float, level: float) -> float:
    """Return the hockey-stick divergence of two rows of discrete Gaussians, shifted apart, by enumeration."""
    reach = math.ceil(9 * scale)
    steps = np.arange(-reach, reach + 1)
    log_pmf = np.array([discrete_gaussian_log_pmf(int(k), scale) for k in range(reach * 3)])
    logs = [(log_pmf[np.abs(steps)], log_pmf[np.abs(steps - shift)]) for shift in shifts]
    first = logs[0][1][:, None] + logs[1][1][None, :]
    other = logs[0][0][:, None] + logs[1][0][None, :]
    return float(np.maximum(np.exp(first) - math.exp(level) * np.exp(other), 0.0).sum())


class TestExactSmallCases:
    """Two periods in full: the law of both rows, against the claim."""

    @pytest.mark.parametrize("level", [0.1, 0.5, 1.0])
    @pytest.mark.parametrize("change", [(1, 0), (0, 1), (1, 1), (1, -1)])
    def test_two_rows_of_the_square_root(self, level: float, change: tuple[int, int]) -> None:
        """Integers ``Ĉ = (2, 0; 1, 2)`` with noise of scale 20: the divergence is that of one Gaussian of ``‖Ĉ Δ‖``."""
        rows = (2 * change[0], change[0] + 2 * change[1])
        mu = math.hypot(*rows) / 20.0
        # Theorem 3's slack of the lattice, here with s = 20: (1 + K^2)/(12 s^2) in epsilon for two coordinates.
        lattice = 2 * (1 + (6 + mu) ** 2) / (24 * 20.0**2)
        exact = exact_delta(rows, 20.0, level)
        assert exact_delta(rows, 20.0, level + lattice) <= math.exp(lattice) * gaussian_delta(level, mu) + 1e-8
        assert abs(exact - gaussian_delta(level, mu)) < 2e-5

    def test_the_rows_of_the_inverse_would_claim_too_little(self) -> None:
        """The column norm of ``C^-1`` in place of ``C`` gives a claim that the law breaks."""
        matrix = np.array([[2.0, 0.0], [1.0, 2.0]])
        inverse = np.linalg.norm(np.linalg.inv(matrix)[:, 0]) * 2.0
        assert inverse < np.linalg.norm(matrix[:, 0])
        assert exact_delta((2, 1), 20.0, 0.1) > gaussian_delta(0.1, inverse / 20.0)

    def test_rounding_is_slack_and_no_part_of_mu(self) -> None:
        """Histories at distance 1e-9 may be rounded a step apart: a charge of ``(mu + eta) d`` breaks, slack holds."""
        scale, mu, eta, distance = 20.0, 1.0, 2 * math.hypot(2, 3) / 20.0, 1e-9
        shifts = (2, 3)
        assert exact_delta(shifts, scale, 0.0) > 1e3 * gaussian_delta(0.0, (mu + eta) * distance)
        assert exact_delta(shifts, scale, 12 * eta + eta**2 / 2) <= 1e-30

    def test_a_redrawn_row_costs_twice_the_square(self) -> None:
        """Why a stored row is shown again: two draws of one row are a release of ``sqrt(2) mu``."""
        twice = exact_delta((3, 3), 20.0, 0.1)
        assert twice > 1.2 * gaussian_delta(0.1, 3 / 20.0)


class TestRows:
    """Integers of rows, and what is computed from them."""

    @pytest.mark.parametrize("plan", ["days", "totals", "both"])
    def test_the_past_is_recovered_exactly_from_rows_and_noise(self, plan: Plan) -> None:
        """Numbers beyond 2^64 in all: Python's integers lose nothing."""
        own = stream(plan, 365, sensitivity=1e-6)
        random = np.random.default_rng(5)
        past: list[tuple[int, ...]] = []
        for value in random.uniform(-1e6, 1e6, size=365):
            past.append(own.rounded([Fraction(float(value))]))
            exact = own.exact_rows(past)
            rows = own.strategy.rows(len(past))
            for block, row in zip(exact, rows, strict=True):
                rest = block[0] - sum(entry * x[0] for entry, x in zip(row[:-1], past[:-1], strict=True))
                assert rest % row[-1] == 0
                assert rest // row[-1] == past[-1][0]
        assert max(abs(number) for block in exact for number in block) > 2**62

    @pytest.mark.parametrize("plan", ["days", "totals", "both"])
    @pytest.mark.parametrize("show", ["day", "last 7", "to date", "change"])
    def test_estimates_without_noise_are_the_figures(self, plan: Plan, show: str) -> None:
        own = stream(plan, 12, dimension=2)
        values = np.random.default_rng(7).normal(size=(12, 2))
        past = [own.rounded([Fraction(float(value)) for value in row]) for row in values]
        rows = {t: own.exact_rows(past[:t]) for t in range(1, 13)}
        weights = show_weights(show, list(rows))
        assert weights is not None
        found = estimate(own.strategy, rows, weights, sigma=own.sigma, grid=own.grid)
        truth = sum(weight * values[period - 1] for period, weight in weights.items())
        assert np.abs(found.values - truth).max() < 1e-9

    def test_a_period_that_was_skipped_counts_as_nothing(self) -> None:
        own = stream("totals", 5)
        past = [own.rounded([Fraction(x)]) for x in (1, 2, 0, 4)]
        rows = {t: own.exact_rows(past[:t]) for t in (1, 2, 4)}
        weights = show_weights("to date", list(rows))
        assert weights is not None
        found = estimate(own.strategy, rows, weights, sigma=own.sigma, grid=own.grid)
        assert found.values[0] == pytest.approx(7 / 3)

    @pytest.mark.quarter
    @pytest.mark.parametrize("plan", ["totals", "both"])
    def test_deviations_by_simulation(self, plan: Plan) -> None:
        """Noise alone, 20,000 streams of 52 periods at once: the deviation of totals is the formula's within 2 %."""
        own = stream(plan, 52, dimension=20_000)
        rows = {t: own.draw() for t in range(1, 53)}
        for show in ("day", "last 7", "to date"):
            weights = show_weights(show, list(rows))
            assert weights is not None
            found = estimate(own.strategy, rows, weights, sigma=own.sigma, grid=own.grid)
            ratio = float(np.sqrt(np.mean(found.values**2))) / found.deviation
            # Five standard errors of 20,000 squares: 0.7 and 1.3 times the scale would be found by far.
            assert abs(ratio - 1) < 0.025

    def test_noise_has_the_scale_that_was_charged(self) -> None:
        own = stream("days", 3, dimension=20_000)
        drawn = np.array(own.draw()[0], dtype=np.float64) / SCALE * own.grid
        assert abs(np.std(drawn) / own.sigma - 1) < 0.025
        assert own.grid <= own.sigma * 2.0**-39

    def test_user_level_streams_have_a_price_too(self) -> None:
        own = stream("days", 30, "user")
        assert own.event("user", UserDP(0.0)).guarantee == UserDP(2.0, 1e-6)
