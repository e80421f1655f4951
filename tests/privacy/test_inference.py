"""Bounds on attackers: known answers, 50 digits, laws that attain them, and finite laws of which none exceeds them."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from emdp.base.errors import UsageError
from emdp.privacy import gaussian_delta
from emdp.privacy.inference import (
    advantage,
    crowd,
    curve_power,
    epsilon_of,
    failure,
    gaussian_advantage,
    gaussian_posterior,
    gaussian_power,
    group_loss,
    posterior,
    posterior_floor,
    power,
    prior_to_reach,
    right_guess,
)

LOSSES = st.floats(0.0, 30.0)
DELTAS = st.floats(0.0, 0.5)
RATES = st.floats(0.0, 1.0)


def test_known_answers() -> None:
    ln3 = math.log(3)
    assert [round(posterior(p, ln3), 5) for p in (0.5, 0.1, 0.01)] == [0.75, 0.25, 0.02941]
    assert advantage(ln3) == pytest.approx(0.5, abs=1e-9)
    assert power(0.05, ln3) == pytest.approx(0.15, abs=1e-9)
    assert [round(gaussian_power(x, 1.0), 4) for x in (0.05, 0.01)] == [0.2595, 0.0924]
    assert round(gaussian_advantage(1.0), 4) == 0.3829
    assert right_guess(math.log(99), 100) == pytest.approx(0.5, abs=1e-9)
    assert advantage(0.0, 0.1) == pytest.approx(0.1, abs=1e-9)
    assert failure(1e-8, math.log(2)) == pytest.approx(2e-8, rel=1e-9)
    assert round(prior_to_reach(0.5, 1.0), 4) == 0.2689


@given(st.floats(1e-6, 1 - 1e-6), LOSSES, DELTAS, RATES)
def test_bounds_are_above_their_formulas_in_fifty_digits(p: float, epsilon: float, delta: float, rate: float) -> None:
    with mp.workdps(50):
        factor = mp.exp(mpf(epsilon))
        exact = mpf(p) * factor / (mpf(p) * factor + 1 - mpf(p))
        assert mpf(posterior(p, epsilon)) >= min(exact, mpf(1) - mpf(2) ** -53)
        assert mpf(posterior_floor(p, epsilon)) <= mpf(p) / (mpf(p) + (1 - mpf(p)) * factor)
        lines = (factor * mpf(rate) + mpf(delta), 1 - (1 - mpf(delta) - mpf(rate)) / factor, mpf(1))
        assert mpf(power(rate, epsilon, delta)) >= min(lines) - mpf(2) ** -60
        gap = (mp.expm1(mpf(epsilon)) + 2 * mpf(delta)) / (factor + 1)
        # Below 1e-300 a double has no 12 digits to be rounded up by.
        assert mpf(advantage(epsilon, delta)) >= min(gap, mpf(1) - mpf(2) ** -53) - mpf(10) ** -300
        assert advantage(epsilon, delta) <= min(1.0, float(gap) + 1e-11)


@given(st.floats(0.5, 1 - 1e-9, exclude_min=True))
def test_epsilon_of_a_belief_keeps_it(target: float) -> None:
    assert posterior(0.5, epsilon_of(target)) <= target * (1 + 3e-12)
    assert epsilon_of(target) >= math.log(target / (1 - target)) * (1 - 1e-9) - 1e-9


@given(LOSSES, DELTAS, RATES, RATES)
def test_power_is_concave_above_the_diagonal_and_monotone(epsilon: float, delta: float, x: float, y: float) -> None:
    middle = power(0.5 * (x + y), epsilon, delta)
    assert middle >= 0.5 * (power(x, epsilon, delta) + power(y, epsilon, delta)) - 1e-9
    assert power(x, epsilon, delta) >= x
    assert power(max(x, y), epsilon, delta) >= power(min(x, y), epsilon, delta) - 1e-12
    assert power(x, epsilon + 0.1, delta) >= power(x, epsilon, delta) - 1e-12


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0), LOSSES, LOSSES, DELTAS, DELTAS)
def test_more_is_never_less(p: float, q: float, epsilon: float, larger: float, delta: float, more: float) -> None:
    """Bounds grow with the prior, the loss and the delta, and so with alpha and the distance."""
    low, high = sorted((p, q))
    least, most = sorted((epsilon, larger))
    rare, often = sorted((delta, more))
    assert posterior(low, least) <= posterior(high, most) + 1e-12
    assert posterior_floor(high, least) >= posterior_floor(low, most) - 1e-12
    assert power(low, least, rare) <= power(high, most, often) + 1e-12
    assert advantage(least, rare) <= advantage(most, often) + 1e-12
    assert failure(rare, 0.1) <= failure(often, 0.1)
    assert group_loss([least, least], rare) <= group_loss([most, most], often)
    assert right_guess(least, 5, rare) <= right_guess(most, 5, often) + 1e-12


@given(RATES, st.floats(0.0, 12.0), DELTAS)
def test_power_is_symmetric(rate: float, epsilon: float, delta: float) -> None:
    """The other version has the same bound: missed at most so often as the first one is falsely told."""
    detected = power(rate, epsilon, delta)
    if detected < 1.0:
        assert power(1.0 - detected, epsilon, delta) == pytest.approx(1.0 - rate, abs=1e-9 + 4e-12 * math.exp(epsilon))


def _laws(epsilon: float, delta: float, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return two laws that are (epsilon, delta) apart, in both orders: a mixture towards each other until they are."""
    first, second = rng.dirichlet(np.full(size, 0.3), 2)
    low, high = 0.0, 1.0
    for _ in range(60):
        share = 0.5 * (low + high)
        a, b = _mixed(first, second, share)
        is_apart = max(np.maximum(a - math.exp(epsilon) * b, 0).sum(), np.maximum(b - math.exp(epsilon) * a, 0).sum())
        low, high = (share, high) if is_apart <= delta else (low, share)
    return _mixed(first, second, low)


def _mixed(first: np.ndarray, second: np.ndarray, share: float) -> tuple[np.ndarray, np.ndarray]:
    middle = 0.5 * (first + second)
    return middle + share * (first - middle), middle + share * (second - middle)


@pytest.mark.parametrize("delta", [0.0, 0.02])
def test_no_event_of_finite_laws_exceeds_the_bounds(delta: float) -> None:
    rng = np.random.default_rng(5)
    largest = 0.0
    for epsilon in (0.2, 1.0, 3.0):
        for _ in range(40):
            zero, one = _laws(epsilon, delta, 6, rng)
            for size in range(1, 6):
                for event in combinations(range(6), size):
                    chosen = list(event)
                    false_alarms, found = float(zero[chosen].sum()), float(one[chosen].sum())
                    bound = power(min(1.0, max(0.0, false_alarms)), epsilon, delta)
                    assert found <= bound + 1e-9
                    assert found - false_alarms <= advantage(epsilon, delta) + 1e-9
                    largest = max(largest, found / bound)
            if delta == 0:
                assert (one <= zero * math.exp(epsilon) + 1e-12).all()
            # T4: where the Bayes factor is above e^(eps + s).
            high = one > math.exp(epsilon + 0.1) * zero
            assert one[high].sum() <= failure(delta, 0.1) + 1e-12
    assert largest > 0.999


def test_a_posterior_of_delta_above_0_may_exceed_that_of_epsilon() -> None:
    """T1 without T4 would be false: an outcome that only one version has."""
    delta = 0.01
    zero, one = np.array([1.0, 0.0]), np.array([1 - delta, delta])
    assert one[1] > math.exp(5.0) * zero[1]
    assert one[1] <= failure(delta, 0.1)


def test_randomized_response_attains_advantage_and_power() -> None:
    for epsilon in (0.1, 1.0, 4.0):
        truth = math.exp(epsilon) / (1 + math.exp(epsilon))
        assert advantage(epsilon) == pytest.approx(2 * truth - 1, rel=1e-9)
        assert power(1 - truth, epsilon) == pytest.approx(truth, rel=1e-9)


def test_guesses_among_versions() -> None:
    """K-ary randomized response attains the bound; for unequal distances guesses exceed the mean of 1/crowd (T6)."""
    for versions in (2, 5, 40):
        for epsilon in (0.3, 2.0):
            factor = math.exp(epsilon)
            assert right_guess(epsilon, versions) == pytest.approx(factor / (factor + versions - 1), rel=1e-9)
    assert right_guess(0.7, 2) == pytest.approx(posterior(0.5, 0.7), rel=1e-9)
    places, rate = np.arange(9.0), 0.6
    kernel = np.exp(-0.5 * rate * np.abs(places[:, None] - places))
    kernel /= kernel.sum(axis=1, keepdims=True)
    success = float(kernel.max(axis=0).sum()) / 9
    crowds = [crowd(rate * abs(x - y) for y in places if y != x) for x in places]
    assert success <= max(1 / size for size in crowds)
    largest = (kernel / kernel.sum(axis=0)).max(axis=1)
    assert all(seen <= 1 / size + 1e-12 for seen, size in zip(largest, crowds, strict=True))


@given(st.floats(0.01, 6.0), st.floats(0.0005, 0.9995))
def test_gaussian_power_is_the_envelope_of_its_profile(shift: float, rate: float) -> None:
    exact = gaussian_power(rate, shift)
    curve = [(e, min(0.999999, gaussian_delta(e, shift))) for e in np.linspace(0.0, 40.0, 81)]
    assert exact <= curve_power(rate, curve) + 1e-9
    # The profile's tangents touch the curve: near its point the two agree.
    z = float(np.sqrt(2)) * _inverse_erf(2 * rate - 1)
    touching = shift * (-z) - 0.5 * shift**2
    if 0 <= touching <= 40:
        near = [(touching, min(0.999999, gaussian_delta(touching, shift)))]
        assert curve_power(rate, near) == pytest.approx(exact, abs=1e-6)


def _inverse_erf(number: float) -> float:
    from scipy.special import erfinv

    return float(erfinv(number))


def test_a_usual_belief_is_a_quantile() -> None:
    rng = np.random.default_rng(3)
    shift = 0.8
    logs = 0.5 * shift**2 + shift * rng.standard_normal(400_000)
    beliefs = 1 / (1 + np.exp(-logs))
    share = float((beliefs <= gaussian_posterior(0.5, shift)).mean())
    assert abs(share - 0.99) < 6 * math.sqrt(0.99 * 0.01 / 400_000)


def test_a_group_telescopes() -> None:
    epsilon, delta = group_loss([0.5, 0.1, 0.2], 0.001)
    assert epsilon == pytest.approx(0.8)
    assert delta == pytest.approx(0.001 * (1 + math.exp(0.1) + math.exp(0.3)))
    assert group_loss([40.0] * 3, 0.1)[1] == 1.0


@pytest.mark.parametrize(
    "call",
    [
        lambda: posterior(1.5, 1.0),
        lambda: posterior(0.5, -1.0),
        lambda: posterior(0.5, math.nan),
        lambda: epsilon_of(0.4),
        lambda: epsilon_of(1.0),
        lambda: power(2.0, 1.0),
        lambda: failure(0.1, 0.0),
        lambda: right_guess(1.0, 0),
        lambda: gaussian_power(0.5, math.inf),
    ],
)
def test_what_is_out_of_range_is_refused(call: object) -> None:
    assert callable(call)
    with pytest.raises(UsageError):
        call()
