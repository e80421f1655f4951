"""Noise on Poisson samples, replacing a user: quadrature on the line and in the plane, dp-accounting, the profile."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from emdp.base.errors import UsageError
from emdp.experiments.compressed import renyi_multiplier
from emdp.privacy import gaussian_alpha
from emdp.privacy.sampled_gaussian import (
    lattice_slack,
    sampled_gaussian_delta,
    sampled_gaussian_epsilon,
    sampled_gaussian_multiplier,
)


def exact_delta(epsilon: float, z: float, rate: float) -> float:
    """Return one round's divergence by quadrature; the loss rises, so that the event is a half-line."""

    def density(y: float, mean: float) -> float:
        return (1 - rate) * norm.pdf(y, 0, z) + rate * norm.pdf(y, mean, z)

    def excess(y: float) -> float:
        return max(density(y, 1.0) - math.exp(epsilon) * density(y, -1.0), 0.0)

    return quad(excess, -12 * z, 1 + 14 * z, limit=800, points=[0.0, 1.0])[0]


@pytest.mark.quarter
@pytest.mark.parametrize(("z", "rate"), [(0.8, 0.02), (2.0, 0.3), (5.0, 1.0)])
@pytest.mark.parametrize("epsilon", [0.01, 0.2, 0.6])
def test_one_round_is_the_quadrature_from_above(z: float, rate: float, epsilon: float) -> None:
    truth = exact_delta(epsilon, z, rate)
    if truth > 1e-9:
        assert truth * (1 - 1e-6) <= sampled_gaussian_delta(epsilon, z, rate, 1, near=truth) <= truth * 1.01


@pytest.mark.parametrize(("z", "rounds", "delta"), [(167.6, 500, 1e-5), (10.0, 1, 1e-6), (2.0, 3, 1e-12)])
def test_without_sampling_it_is_the_exact_profile(z: float, rounds: int, delta: float) -> None:
    truth = gaussian_alpha(2 / z * math.sqrt(rounds), delta)
    assert truth * (1 - 1e-6) <= sampled_gaussian_epsilon(z, 1.0, rounds, delta) <= truth * (1 + 1e-3)


def test_many_rounds_agree_with_dp_accounting() -> None:
    from dp_accounting.pld import privacy_loss_distribution as pld

    z, rate, rounds, delta = 3.0, 0.2, 40, 1e-5
    cuts = np.concatenate([[-np.inf], np.linspace(-8 * z, 8 * z, 501), [np.inf]])

    def masses(mean: float) -> dict[int, float]:
        cdf = (1 - rate) * norm.cdf(cuts, 0, z) + rate * norm.cdf(cuts, mean, z)
        return {place: math.log(max(mass, 1e-300)) for place, mass in enumerate(np.diff(cdf).tolist())}

    law = pld.from_two_probability_mass_functions(masses(-1.0), masses(1.0), value_discretization_interval=1e-3)
    found = law.self_compose(rounds).get_epsilon_for_delta(delta)
    assert sampled_gaussian_epsilon(z, rate, rounds, delta) == pytest.approx(found, rel=1e-2)


def plane_law(vector: tuple[float, float], x: np.ndarray, y: np.ndarray, z: float, rate: float) -> np.ndarray:
    """Return the density of one round's output in the plane."""
    bumps = [np.exp(-((x - a) ** 2 + (y - b) ** 2) / (2 * z * z)) / (2 * np.pi * z * z) for a, b in ((0, 0), vector)]
    return (1 - rate) * bumps[0] + rate * bumps[1]


def test_no_vectors_at_any_angle_are_above_the_pair() -> None:
    rng = np.random.default_rng(5)
    for z, rate in ((0.7, 0.1), (1.5, 0.5), (3.0, 0.05), (1.0, 1.0)):
        axis = np.linspace(-1 - 8 * z, 1 + 8 * z, 301)
        x, y = np.meshgrid(axis, axis, indexing="ij")
        cell = (axis[1] - axis[0]) ** 2

        grid = (x, y, z, rate)
        opposite = plane_law((1.0, 0.0), *grid), plane_law((-1.0, 0.0), *grid)
        for _ in range(12):
            turn, length = rng.uniform(0, 2 * np.pi, 2), np.sqrt(rng.uniform(0, 1, 2))
            first, second = (
                plane_law((r * np.cos(a), r * np.sin(a)), *grid) for a, r in zip(turn, length, strict=True)
            )
            for epsilon in (-0.5, -0.05, 0.0, 0.05, 0.3, 1.0):
                pair = np.maximum(opposite[0] - math.exp(epsilon) * opposite[1], 0).sum() * cell
                assert np.maximum(first - math.exp(epsilon) * second, 0).sum() * cell <= pair + 1e-9


def test_multipliers_are_those_of_the_note_without_its_rounding() -> None:
    for epsilon, noted in ((1.0, 16.758), (0.5, 31.737)):
        found = sampled_gaussian_multiplier(epsilon, 0.1, 500, 1e-5)
        assert 0.985 * noted < found < noted
        assert sampled_gaussian_epsilon(found, 0.1, 500, 1e-5) <= epsilon
        assert sampled_gaussian_epsilon(0.999 * found, 0.1, 500, 1e-5) > epsilon


def test_the_published_price_is_half_of_a_replacement() -> None:
    # Ten rounds at rate 1/10: the published noise for epsilon 1 adds or removes a user.
    published = renyi_multiplier(1.0, 10, 1e-5)
    assert sampled_gaussian_epsilon(published, 0.1, 10, 1e-5) > 1.3


def test_slack_of_the_lattice_covers_small_lattices() -> None:
    from emdp.noise.discrete_gaussian import discrete_gaussian_log_pmf

    units, z, rate = 40, 0.5, 0.4
    slack, beyond = lattice_slack(units, z, 1)
    points = np.arange(-700, 701)

    def law(moved: int) -> np.ndarray:
        pmf = np.array([math.exp(discrete_gaussian_log_pmf(int(k), z * units)) for k in range(-800, 801)])
        return (1 - rate) * pmf[points + 800] + rate * pmf[points - moved + 800]

    for epsilon in (0.1, 0.5, 1.0):
        found = np.maximum(law(units) - math.exp(epsilon + slack) * law(-units), 0).sum()
        assert found <= math.exp(slack) * exact_delta(epsilon, z, rate) + beyond + 1e-12


@pytest.mark.parametrize(
    "call",
    [
        lambda: sampled_gaussian_epsilon(0.0, 0.1, 5, 1e-6),
        lambda: sampled_gaussian_epsilon(1.0, 0.0, 5, 1e-6),
        lambda: sampled_gaussian_epsilon(1.0, 1.5, 5, 1e-6),
        lambda: sampled_gaussian_epsilon(1.0, 0.5, 0, 1e-6),
        lambda: sampled_gaussian_epsilon(1.0, 0.5, 10**9, 1e-6),
        lambda: sampled_gaussian_epsilon(1.0, 0.5, 5, 0.0),
        lambda: sampled_gaussian_multiplier(0.0, 0.5, 5, 1e-6),
        lambda: sampled_gaussian_multiplier(math.nan, 0.5, 5, 1e-6),
    ],
)
def test_what_is_out_of_range_is_refused(call: object) -> None:
    with pytest.raises(UsageError):
        call()  # type: ignore[operator]
