"""The guarantees on coarse artificial grids, from the exact output distributions of two statistics (rule 30).

A large ``magnitude`` makes the grid as coarse as 1/4 of the scale, so that rounding, errors of the statistic
and the lattice are visible; every claim of :mod:`emdp.mechanisms` is then checked by enumeration, and the
slack is shown to be needed.
"""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import norm

from emdp.mechanisms import AdditiveMechanism, GaussianMechanism, KNormMechanism, LaplaceMechanism
from emdp.noise.discrete_gaussian import discrete_gaussian_log_pmf
from emdp.noise.discrete_laplace import discrete_laplace_log_pmf
from emdp.privacy.calibration import gaussian_delta

Floats = npt.NDArray[np.float64]
DISTANCES = [0.0, 1e-5, 0.01, 0.3, 0.7, 1.0]
SAFE = 1 + 1e-9
"""Covers the float64 sums of these tests."""


def coarse(kind: type[AdditiveMechanism], units: float, **values: Any) -> AdditiveMechanism:
    """A mechanism whose grid is between 1/units and 2/units of its scale."""
    fine = kind(sensitivity=1.0, **values)
    mechanism = kind(sensitivity=1.0, magnitude=fine.scale * 2.0**62 / units, **values)
    assert units / 2 <= mechanism.noise_units <= units
    return mechanism


def rounded(mechanism: AdditiveMechanism, value: float, error: float) -> int:
    return round(Fraction(value + error) / Fraction(mechanism.grid))


def pairs(mechanism: AdditiveMechanism, d_em: float) -> list[tuple[int, int]]:
    """Grid points of two scalar statistics at distance d_em: on, beside and across the rounding boundaries."""
    grid, error = mechanism.grid, mechanism.statistic_error
    starts = [0.0, 0.25 * grid, 0.5 * grid * (1 - 1e-6), 0.5 * grid * (1 + 1e-6), 0.9 * grid]
    found = {
        (rounded(mechanism, start, low), rounded(mechanism, start + sign * mechanism.sensitivity * d_em, high))
        for start in starts
        for sign in (1, -1)
        for low, high in itertools.product((-error, error), repeat=2)
    }
    return sorted(found)


def table(mechanism: AdditiveMechanism, center: int, reach: int) -> Floats:
    """Exact probabilities of the outputs -reach..reach for a statistic on grid point `center`."""
    scale = mechanism.noise_units
    steps = np.abs(np.arange(-reach, reach + 1, dtype=float) - center)
    if isinstance(mechanism, GaussianMechanism):
        return np.exp(-0.5 * (steps / scale) ** 2 + discrete_gaussian_log_pmf(0, scale))
    return np.exp(-steps / scale + discrete_laplace_log_pmf(0, scale))


def hockey_stick(left: Floats, right: Floats, t: float) -> float:
    return float(np.sum(np.maximum(left - t * right, 0.0)))


class TestLaplace:
    @pytest.mark.parametrize("units", [4.0, 64.0])
    @pytest.mark.parametrize("alpha", [0.5, 3.0])
    @pytest.mark.parametrize("error", [0.0, 0.02])
    def test_largest_log_ratio(self, units: float, alpha: float, error: float) -> None:
        mechanism = coarse(LaplaceMechanism, units, alpha=alpha, statistic_error=error)
        for d_em in DISTANCES:
            for a, b in pairs(mechanism, d_em):
                left, right = (table(mechanism, center, 400) for center in (a, b))
                worst = float(np.max(np.abs(np.log(left) - np.log(right))))
                assert worst <= (alpha * d_em + mechanism.slack_epsilon) * SAFE

    def test_slack_is_needed(self) -> None:
        mechanism = coarse(LaplaceMechanism, 4.0, alpha=1.0)
        losses = [
            abs(
                discrete_laplace_log_pmf(-a, mechanism.noise_units)
                - discrete_laplace_log_pmf(-b, mechanism.noise_units)
            )
            for a, b in pairs(mechanism, 1e-5)
        ]
        assert max(losses) > 0.1 > 1e-5

    @pytest.mark.parametrize("units", [1.5, 4.0, 64.0])
    def test_slack_covers_every_trade_off(self, units: float) -> None:
        """H_{t e^s}(P, Q) <= e^s H_t(P', Q') + slack_delta, with the continuous Laplace pair at the distance."""
        mechanism = coarse(LaplaceMechanism, units, alpha=2.0, statistic_error=0.01)
        slack = mechanism.slack_epsilon
        for d_em in DISTANCES:
            for (a, b), t in itertools.product(pairs(mechanism, d_em), [0.2, 0.9, 1.0, 1.1, 2.0, 6.0]):
                left, right = (table(mechanism, center, 400) for center in (a, b))
                ideal = continuous_laplace(2.0 * d_em, t)
                assert hockey_stick(left, right, t * math.exp(slack)) <= math.exp(slack) * ideal + 1e-12

    def test_lattice_alone_exceeds_the_continuous_pair(self) -> None:
        # why the slack has the extra half step: tanh(y) > 1 - e^-y
        assert math.exp(discrete_laplace_log_pmf(0, 2.0)) > continuous_laplace(0.5, 1.0)


class TestGaussian:
    @pytest.mark.parametrize("units", [64.0, 512.0])
    @pytest.mark.parametrize(("alpha", "delta"), [(0.5, 1e-3), (3.0, 1e-6), (25.0, 1e-6)])
    @pytest.mark.parametrize("error", [0.0, 0.001])
    def test_hockey_stick(self, units: float, alpha: float, delta: float, error: float) -> None:
        mechanism = coarse(GaussianMechanism, units, alpha=alpha, delta=delta, statistic_error=error)
        reach = math.ceil(14 * mechanism.noise_units + 2 / mechanism.grid)
        for d_em in DISTANCES:
            for a, b in pairs(mechanism, d_em):
                left, right = (table(mechanism, center, reach) for center in (a, b))
                found = hockey_stick(left, right, math.exp(alpha * d_em + mechanism.slack_epsilon))
                assert found <= delta * SAFE

    @pytest.mark.parametrize("units", [2.0, 4.0, 16.0])
    @pytest.mark.parametrize("dimension", [1, 3])
    def test_sigma_leaves_room_for_the_lattice(self, units: float, dimension: int) -> None:
        """``e^a`` times the ideal delta, and ``slack_delta``, are within delta: the last step of the theorem."""
        alpha, delta = 2.0, 1e-4
        mechanism = coarse(GaussianMechanism, units, alpha=alpha, delta=delta, dimension=dimension)
        factor = math.exp(dimension / (24 * mechanism.noise_units**2))
        ideal = gaussian_delta(alpha, mechanism.sensitivity / mechanism.scale)
        assert factor * ideal + mechanism.slack_delta <= delta
        assert mechanism.event().guarantee.delta == delta

    @pytest.mark.parametrize("units", [8.0, 64.0])
    def test_slack_covers_every_trade_off(self, units: float) -> None:
        mechanism = coarse(GaussianMechanism, units, alpha=2.0, delta=1e-4, statistic_error=0.001)
        slack, mu = mechanism.slack_epsilon, mechanism.sensitivity / mechanism.scale
        for d_em in DISTANCES:
            for (a, b), t in itertools.product(pairs(mechanism, d_em), [0.2, 0.9, 1.0, 1.1, 2.0, 6.0]):
                left, right = (table(mechanism, center, 60 * math.ceil(units)) for center in (a, b))
                ideal = continuous_gaussian(mu * d_em, t)
                found = hockey_stick(left, right, t * math.exp(slack))
                assert found <= math.exp(slack) * ideal + mechanism.slack_delta + 1e-13

    def test_slack_is_needed(self) -> None:
        mechanism = coarse(GaussianMechanism, 64.0, alpha=1.0, delta=1e-6)
        found = [
            hockey_stick(table(mechanism, a, 2000), table(mechanism, b, 2000), math.exp(1e-5))
            for a, b in pairs(mechanism, 1e-5)
        ]
        assert max(found) > 1e-3


class TestKNorm:
    @pytest.mark.parametrize("units", [3.0, 12.0])
    @pytest.mark.parametrize("error", [0.0, 0.01])
    def test_largest_log_ratio_in_the_plane(self, units: float, error: float) -> None:
        mechanism = coarse(KNormMechanism, units, alpha=2.0, dimension=2, statistic_error=error)
        generator = np.random.default_rng(1)
        for d_em in DISTANCES:
            for _ in range(20):
                a, b = plane_pair(mechanism, d_em, generator)
                left, right = plane_table(mechanism, a, 60), plane_table(mechanism, b, 60)
                worst = float(np.max(np.abs(left - right)))
                assert worst <= (2.0 * d_em + mechanism.slack_epsilon) * SAFE

    def test_slack_covers_every_trade_off(self) -> None:
        """Total variation (t = 1) against the continuous pair by a fine midpoint sum, on a coarse lattice."""
        mechanism = coarse(KNormMechanism, 4.0, alpha=2.0, dimension=2)
        slack = mechanism.slack_epsilon
        generator = np.random.default_rng(2)
        for d_em in (0.1, 0.5, 1.0):
            for t in (0.5, 1.0, 2.0):
                ideal = continuous_k_norm(2.0 * d_em, t)
                for _ in range(5):
                    a, b = plane_pair(mechanism, d_em, generator)
                    left, right = (np.exp(plane_table(mechanism, center, 90)) for center in (a, b))
                    total = left.sum()
                    found = hockey_stick(left, right, t * math.exp(slack)) / total
                    assert found <= math.exp(slack) * ideal + 1e-3


def continuous_laplace(shift: float, t: float) -> float:
    """H_t of Laplace laws of scale 1 whose centres are `shift` apart."""
    if t < 1:
        return 1 - t + t * continuous_laplace(shift, 1 / t)
    return max(0.0, 1 - math.exp((math.log(t) - shift) / 2))


def continuous_gaussian(shift: float, t: float) -> float:
    """H_t of N(shift, 1) and N(0, 1)."""
    if shift == 0:
        return max(0.0, 1.0 - t)
    cut = math.log(t) / shift
    return float(norm.sf(cut - shift / 2) - t * norm.sf(cut + shift / 2))


def continuous_k_norm(shift: float, t: float) -> float:
    """H_t in the plane, densities exp(-||x||_2)/(2 pi), centres `shift` apart."""
    axis = np.arange(-25, 25, 0.05)
    x, y = np.meshgrid(axis, axis)
    left, right = np.exp(-np.hypot(x, y)), np.exp(-np.hypot(x - shift, y))
    return float(np.sum(np.maximum(left - t * right, 0.0)) * 0.05**2 / (2 * math.pi))


def plane_pair(
    mechanism: AdditiveMechanism, d_em: float, generator: np.random.Generator
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Grid points of two statistics in the plane, d_em * sensitivity apart, computed with the stated error."""
    start = generator.uniform(-0.5, 0.5, 2) * mechanism.grid
    angle = generator.uniform(0, 2 * math.pi)
    end = start + d_em * mechanism.sensitivity * np.array([math.cos(angle), math.sin(angle)])
    errors = generator.choice([-1, 1], (2, 2)) * mechanism.statistic_error
    found = []
    for statistic, error in zip((start, end), errors, strict=True):
        found.append(tuple(rounded(mechanism, x, e) for x, e in zip(statistic, error, strict=True)))
    return found[0], found[1]


def plane_table(mechanism: AdditiveMechanism, center: tuple[int, ...], reach: int) -> Floats:
    """Logarithms of the weights of all outputs within `reach`; the normaliser is the same for every center."""
    axis = np.arange(-reach, reach + 1, dtype=float)
    x, y = np.meshgrid(axis - center[0], axis - center[1])
    return -np.hypot(x, y) / mechanism.noise_units
