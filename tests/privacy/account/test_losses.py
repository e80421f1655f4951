"""Loss distributions: exact enumeration, closed forms, dp_accounting, and the lemmas that they rest on."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate

from emdp.privacy import gaussian_alpha, gaussian_delta
from emdp.privacy.account.losses import LossPairs, smallest_level


def laplace_delta(epsilon: float, shift: float) -> float:
    """Hockey-stick divergence of a Laplace draw moved by ``shift`` scales, in closed form."""
    return 1 - min(1.0, math.exp(epsilon), math.exp((epsilon - shift) / 2))


def response_delta(epsilon: float, levels: list[tuple[float, float]]) -> float:
    """Exact divergence of independent randomised responses ``(a, delta)``, by enumeration of all outcomes."""
    never = math.prod(1 - delta for _, delta in levels)
    total = 1 - never
    for signs in itertools.product((1, -1), repeat=len(levels)):
        loss = sum(sign * a for sign, (a, _) in zip(signs, levels, strict=True))
        mass = math.prod(1 / (1 + math.exp(-sign * a)) for sign, (a, _) in zip(signs, levels, strict=True))
        total += never * mass * max(0.0, -math.expm1(epsilon - loss))
    return total


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.floats(0.01, 4.0), st.sampled_from([0.0, 1e-9, 1e-4])), min_size=1, max_size=7),
    st.sampled_from([1e-3, 1e-2, 0.1]),
)
def test_responses_agree_with_enumeration(levels: list[tuple[float, float]], delta: float) -> None:
    found = smallest_level(LossPairs(others=tuple(levels)), delta)
    assert response_delta(found, levels) <= delta
    if found > 0:
        assert response_delta(found - 1e-3 * (1 + found), levels) > delta


@pytest.mark.parametrize("mu", [0.05, 1.0, 7.0, 60.0])
@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-12, 1e-40, 1e-100])
def test_gaussians_agree_with_the_exact_profile(mu: float, delta: float) -> None:
    found, exact = smallest_level(LossPairs(gaussian=mu), delta), gaussian_alpha(mu, delta)
    assert gaussian_delta(found, mu) <= delta
    assert exact * (1 - 1e-9) <= found <= exact * (1 + 1e-4)


@settings(deadline=None, max_examples=40)
@given(st.floats(1e-3, 200.0), st.sampled_from([1e-2, 1e-6, 1e-12]))
def test_one_laplace_agrees_with_its_closed_form(shift: float, delta: float) -> None:
    found = smallest_level(LossPairs(laplace=(shift,)), delta)
    exact = max(0.0, shift + 2 * math.log1p(-delta))
    assert exact * (1 - 1e-12) <= found <= exact + 2e-4 * shift


def test_a_laplace_and_a_gaussian_agree_with_quadrature() -> None:
    shift, mu, delta = 1.5, 0.8, 1e-4
    found = smallest_level(LossPairs(laplace=(shift,), gaussian=mu), delta)

    def true(epsilon: float) -> float:
        # condition on the Laplace loss: two atoms and a density between them
        def gauss(e: float) -> float:
            return gaussian_delta(e, mu) if e >= 0 else 1 - math.exp(e) * (1 - gaussian_delta(-e, mu))

        between, _ = integrate.quad(lambda x: math.exp((x - shift) / 2) / 4 * gauss(epsilon - x), -shift, shift)
        return gauss(epsilon - shift) / 2 + math.exp(-shift) / 2 * gauss(epsilon + shift) + between

    assert true(found) <= delta
    assert true(found * (1 - 1e-5)) > delta


@pytest.mark.parametrize(("level", "count"), [(1.0, 4), (0.1, 60), (0.01, 400)])
def test_laplaces_agree_with_dp_accounting(level: float, count: int) -> None:
    from dp_accounting.pld import privacy_loss_distribution as pld

    single = pld.from_laplace_mechanism(1 / level, value_discretization_interval=level * count / 2e5)
    theirs = single.self_compose(count, tail_mass_truncation=1e-16)
    for delta in (1e-3, 1e-6, 1e-8):
        ours = smallest_level(LossPairs(laplace=(level,) * count), delta)
        assert ours == pytest.approx(theirs.get_epsilon_for_delta(delta), rel=3e-4)


def test_a_mixture_agrees_with_dp_accounting() -> None:
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as pld

    theirs = pld.from_laplace_mechanism(1.0).compose(pld.from_gaussian_mechanism(1.25))
    for _ in range(3):
        theirs = theirs.compose(pld.from_privacy_parameters(common.DifferentialPrivacyParameters(0.5, 1e-7)))
    ours = smallest_level(LossPairs(laplace=(1.0,), gaussian=0.8, others=((0.5, 1e-7),) * 3), 1e-5)
    assert ours == pytest.approx(theirs.get_epsilon_for_delta(1e-5), rel=2e-4)


def test_a_delta_below_the_rounding_of_a_fourier_transform() -> None:
    """At delta = 1e-14 the level of a Gaussian is the true one; that of a Fourier transform goes with its rounding."""
    found = gaussian_delta(smallest_level(LossPairs(gaussian=0.5), 1e-14), 0.5)
    assert 0.999e-14 <= found <= 1e-14


@settings(deadline=None, max_examples=30)
@given(st.floats(0.05, 4.0), st.floats(0.05, 4.0), st.floats(-0.999, 0.999))
def test_product_laplace_is_dominated_by_one_coordinate(first: float, second: float, place: float) -> None:
    epsilon = place * (first + second)

    def inner(loss: float) -> float:
        return laplace_delta(epsilon - loss, second)

    corners = [p for p in (epsilon - second, epsilon + second) if abs(p) < first]
    between, _ = integrate.quad(
        lambda x: math.exp((x - first) / 2) / 4 * inner(x), -first, first, points=corners or None
    )
    both = inner(first) / 2 + math.exp(-first) / 2 * inner(-first) + between
    assert both <= laplace_delta(epsilon, first + second) + 1e-9


@pytest.mark.slow
@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.floats(0.1, 3.0), max_size=3),
    st.sampled_from([0.0, 0.5, 2.0]),
    st.lists(st.tuples(st.floats(0.1, 3.0), st.sampled_from([0.0, 1e-4])), max_size=2),
    st.sampled_from([1e-3, 1e-6]),
)
def test_distance_one_decides(
    laplace: list[float], gaussian: float, others: list[tuple[float, float]], delta: float
) -> None:
    def level_at(d: float) -> float:
        scaled = tuple((a * d, b) for a, b in others)
        return smallest_level(LossPairs(tuple(a * d for a in laplace), gaussian * d, scaled), delta)

    alpha = level_at(1.0)
    for d in (0.02, 0.3, 0.7, 0.95):
        assert level_at(d) <= alpha * d * (1 + 2e-4) + 1e-12


def test_more_releases_never_cost_less() -> None:
    levels = [smallest_level(LossPairs(laplace=(0.3,) * count, gaussian=0.2), 1e-6) for count in range(1, 12)]
    assert all(np.diff(levels) > 0)


@pytest.mark.slow
def test_thousands_of_small_releases_are_like_one_gaussian() -> None:
    found = smallest_level(LossPairs(laplace=(0.01,) * 2000), 1e-6)
    assert found == pytest.approx(gaussian_alpha(0.01 * math.sqrt(2000), 1e-6), rel=0.01)


def test_nothing_and_too_little() -> None:
    assert smallest_level(LossPairs(), 1e-6) == 0.0
    assert smallest_level(LossPairs(laplace=(0.0,)), 1e-6) == 0.0
    assert smallest_level(LossPairs(laplace=(1.0,), others=((0.0, 1e-3),)), 1e-4) == math.inf
    assert smallest_level(LossPairs(others=((0.0, 1e-5),)), 1e-4) == 0.0
    assert 49 < smallest_level(LossPairs(laplace=(25.0, 25.0)), 1e-9) < 50.02


def test_no_mass_is_lost_at_the_edges_of_the_window() -> None:
    """What leaves the window above is returned as infinite loss; what leaves it below is raised to the lower end."""
    from emdp.privacy.account.losses import _convolve, _Masses

    part = _Masses(-3, np.array([0.1, 0.2, 0.3, 0.1, 0.1, 0.1, 0.1]))
    inside, beyond = _convolve(part, part, 4)
    whole = np.convolve(part.values, part.values)
    assert inside.first == -4
    assert beyond == pytest.approx(whole[11:].sum())
    assert inside.values[0] == pytest.approx(whole[:3].sum())
    assert inside.values[1:] == pytest.approx(whole[3:11])


def test_a_narrow_window_costs_and_never_saves(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a window that cuts off a tenth of delta on purpose, the level is larger, and delta still holds."""
    import emdp.privacy.account.losses as losses

    levels = [(0.5, 0.0)] * 10
    wide = smallest_level(LossPairs(others=tuple(levels)), 0.05)
    monkeypatch.setattr(losses, "_LEFT_OUT", 15.0)
    narrow = smallest_level(LossPairs(others=tuple(levels)), 0.05)
    assert response_delta(narrow, levels) <= 0.05
    assert narrow > wide * 1.01


@pytest.mark.parametrize("level", [0.0, 5e-324, 1e-310, 1e-170])
def test_deltas_count_where_levels_do_not(level: float) -> None:
    pairs = LossPairs(laplace=(level,), gaussian=level, others=((level, 0.01), (level, 0.02)))
    assert smallest_level(pairs, 0.0297) == math.inf
    assert smallest_level(pairs, 0.0298 * (1 + 1e-4)) == 0.0


@pytest.mark.parametrize("pairs", [LossPairs(laplace=(1e308,) * 2), LossPairs(gaussian=1e200)])
def test_levels_beyond_all_use_have_no_bound(pairs: LossPairs) -> None:
    assert smallest_level(pairs, 1e-6) == math.inf


def test_the_largest_levels_are_still_losses() -> None:
    assert smallest_level(LossPairs(laplace=(9e11,)), 1e-6) == pytest.approx(9e11, rel=1e-3)
    assert smallest_level(LossPairs(gaussian=1e6), 1e-6) == pytest.approx(5e11, rel=1e-3)
