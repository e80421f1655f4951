"""Gaussian calibration by the exact profile: known answers, two other methods, and the formulas that fail."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from emdp.base.errors import UsageError
from emdp.privacy import gaussian_alpha, gaussian_delta, gaussian_mu, gaussian_sigma, laplace_scale
from emdp.privacy.calibration import safe_gaussian_delta
from emdp.privacy.rounding import as_decimal

alphas = st.floats(-6, 4).map(lambda exponent: 10.0**exponent)
ratios = st.floats(-5, 3).map(lambda exponent: 10.0**exponent)
deltas = st.floats(-100, -0.5).map(lambda exponent: 10.0**exponent)


def high_precision(alpha: float, mu: float, d: float = 1.0) -> mpmath.mpf:
    """The profile as EMD 2 prints it, with 100 digits."""
    with mpmath.workdps(100):
        a, m, d = mpmath.mpf(alpha), mpmath.mpf(mu), mpmath.mpf(d)

        def tail(t: mpmath.mpf) -> mpmath.mpf:
            return mpmath.erfc(t / mpmath.sqrt(2)) / 2

        return tail(a / m - m * d / 2) - mpmath.exp(a * d) * tail(a / m + m * d / 2)


@pytest.mark.parametrize(
    ("alpha", "delta", "sigma"),
    [(1, 1e-6, 4.22468), (5, 1e-6, 0.980049), (25, 1e-6, 0.260238), (25, 1e-12, 0.334336), (0.2, 1e-6, 18.9888)],
)
def test_known_answers(alpha: float, delta: float, sigma: float) -> None:
    found = gaussian_sigma(alpha, delta)
    assert f"{found:.6g}" == f"{sigma:.6g}"
    assert high_precision(alpha, 1 / found) <= delta
    assert high_precision(alpha, 1 / (found * (1 - 1e-8))) > delta


@settings(deadline=None, max_examples=300)
@given(alphas, ratios, st.floats(1e-6, 1.0))
def test_the_profile_agrees_with_high_precision(alpha: float, mu: float, d: float) -> None:
    true = high_precision(alpha, mu, d)
    if true > 1e-290:
        assert abs(gaussian_delta(alpha, mu, d) / true - 1) < 1e-10
        assert high_precision(alpha, mu) <= safe_gaussian_delta(alpha, mu)


@pytest.mark.parametrize(("alpha", "mu", "d"), [(1.0, 0.8, 1.0), (5.0, 3.0, 0.3), (0.0, 0.5, 1.0), (25.0, 6.0, 0.9)])
def test_the_profile_is_the_integral_of_the_densities(alpha: float, mu: float, d: float) -> None:
    def excess(z: float) -> float:
        return max(0.0, float(stats.norm.pdf(z - mu * d) - math.exp(alpha * d) * stats.norm.pdf(z)))

    start = alpha / mu + mu * d / 2
    value, _ = integrate.quad(excess, start, start + 40, epsabs=1e-14, limit=200)
    assert gaussian_delta(alpha, mu, d) == pytest.approx(value, rel=1e-8)


def test_delta_rises_with_the_distance() -> None:
    for alpha, mu in ((0.1, 0.3), (1.0, 1.0), (25.0, 4.0), (1e4, 130.0), (1e-3, 5.0)):
        curve = [gaussian_delta(alpha, mu, d) for d in np.linspace(0, 1, 201)]
        assert all(np.diff(curve) >= 0)


def paper(alpha: float, delta: float) -> float:
    return math.sqrt(1.25 * math.log(1 / delta)) / alpha


def textbook(alpha: float, delta: float) -> float:
    return math.sqrt(2 * math.log(1.25 / delta)) / alpha


@pytest.mark.parametrize(
    ("alpha", "target", "true"), [(1, 1e-6, 1.40e-6), (5, 1e-6, 4.4e-5), (25, 1e-6, 9.7e-2), (25, 1e-12, 4.5e-5)]
)
def test_the_published_formula_is_not_private(alpha: float, target: float, true: float) -> None:
    delta = gaussian_delta(alpha, 1 / paper(alpha, target))
    assert delta > target
    assert delta == pytest.approx(true, rel=0.02)


def test_the_textbook_formula_is_not_private_for_large_alpha() -> None:
    def excess(alpha: float) -> float:
        return gaussian_delta(alpha, 1 / textbook(alpha, 1e-6)) - 1e-6

    assert excess(8.77) < 0 < excess(8.79)
    assert gaussian_delta(25, 1 / textbook(25, 1e-6)) == pytest.approx(9.6e-4, rel=0.01)


@pytest.mark.slow
@settings(deadline=None, max_examples=200)
@given(alphas, deltas, st.floats(1e-6, 1e6))
def test_sigma_is_safe_and_nearly_the_smallest(alpha: float, delta: float, sensitivity: float) -> None:
    sigma = gaussian_sigma(alpha, delta, sensitivity)
    mu = gaussian_mu(alpha, delta)
    assert Fraction(mu) * Fraction(sigma) >= Fraction(sensitivity)
    assert high_precision(alpha, mu) <= delta
    assert high_precision(alpha, mu * (1 + 1e-7)) > delta


@settings(deadline=None, max_examples=100)
@given(st.floats(0.01, 100.0), st.floats(1e-30, 0.1))
def test_alpha_is_the_inverse_on_the_safe_side(mu: float, delta: float) -> None:
    alpha = gaussian_alpha(mu, delta)
    assert high_precision(alpha, mu) <= delta
    if alpha > 0:
        assert high_precision(alpha * (1 - 1e-6), mu) > delta * (1 - 1e-8)
        assert gaussian_mu(alpha, delta) == pytest.approx(mu, rel=1e-6)


@given(st.floats(1e-6, 1e6), st.floats(1e-9, 1e9))
def test_the_laplace_scale_is_the_smallest_that_covers(alpha: float, sensitivity: float) -> None:
    scale = laplace_scale(alpha, sensitivity)
    assert as_decimal(alpha) * Fraction(scale) >= Fraction(sensitivity)
    assert as_decimal(alpha) * Fraction(math.nextafter(scale, 0)) < Fraction(sensitivity)


def test_malformed_arguments_are_named() -> None:
    with pytest.raises(UsageError, match="delta must be above 0 for Gaussian noise"):
        gaussian_sigma(1.0, 0.0)
    with pytest.raises(UsageError, match=r"delta must be in \(0, 1\)"):
        gaussian_sigma(1.0, 1.0)
    with pytest.raises(UsageError, match="alpha must be at least 0"):
        gaussian_sigma(-1.0, 1e-6)
    with pytest.raises(UsageError, match="sensitivity must be above 0"):
        gaussian_sigma(1.0, 1e-6, 0.0)
    with pytest.raises(UsageError, match="mu must be finite"):
        gaussian_alpha(math.nan, 1e-6)
    with pytest.raises(UsageError, match="alpha must be above 0"):
        laplace_scale(0.0, 1.0)


@settings(deadline=None, max_examples=150)
@given(st.floats(0, 12).map(lambda e: 10.0**e), st.floats(-250, -0.5).map(lambda e: 10.0**e))
def test_the_calibration_is_safe_up_to_the_largest_alpha(alpha: float, delta: float) -> None:
    mu = gaussian_mu(alpha, delta)
    assert high_precision(alpha, mu) <= delta
    assert gaussian_alpha(mu, delta) <= alpha * (1 + 1e-9)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: gaussian_mu(1e13, 1e-6), "alpha must be at most 1000000000000"),
        (lambda: gaussian_delta(1.0, 1e-101), "mu must be between"),
        (lambda: gaussian_delta(1.0, 1e101), "mu must be between"),
        (lambda: gaussian_alpha(1e101, 1e-6), "mu must be between"),
        (lambda: gaussian_mu(0.0, 1e-150), "delta = 1e-150 is too small"),
    ],
)
def test_parameters_beyond_the_profile_are_named(ask: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ask()  # type: ignore[operator]


def test_ratios_at_the_ends() -> None:
    assert gaussian_alpha(1e-170, 1e-90) == 0.0
    assert safe_gaussian_delta(0.0, 1e-170) == safe_gaussian_delta(0.0, 1e-100) > 0
    for alpha, mu in ((0.0, 1e100), (1e12, 1e100), (1e12, 1e-100)):
        assert 0 <= safe_gaussian_delta(alpha, mu) <= 1
    assert gaussian_delta(1.0, 1.0, 1e-200) > 0


@pytest.mark.parametrize("size", [Fraction(1, 3), 2**53 + 1])
def test_exact_sensitivities_are_rounded_up(size: Fraction) -> None:
    assert Fraction(laplace_scale(1.0, size)) >= size  # type: ignore[arg-type]
    assert Fraction(gaussian_sigma(1.0, 1e-6, size)) * Fraction(gaussian_mu(1.0, 1e-6)) >= size  # type: ignore[arg-type]
