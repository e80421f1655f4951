"""The law of planar noise, with stated power: chi-squared at p < 1e-9, 20,000 draws.

Radius and angle of the plane in one table of 10 x 12 equally likely cells, hence their independence too; pairs of
successive angles and radii in another. In R^d the radius against Gamma(d) and the squared inner products with three
fixed directions against Beta(1/2, (d-1)/2). Coarse lattices: against probabilities by enumeration. At the threshold
the true scale passes and 0.7 and 1.3 times the scale fail, on the seeded and on the production path alike; so do
noise of one coordinate alone, product Laplace noise and noise of the radius of one Laplace draw.
"""

import contextlib
import itertools
import math

import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats

from emdp.noise.k_norm import draw_k_norm, draw_planar
from emdp.testing import seeded

THRESHOLD = 1e-9
FINE = 2.0**40
DRAWS = 20_000
LEAST_EXPECTED = 25.0
paths = pytest.mark.parametrize("path", ["production", "seeded"])
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


def flat_p(cells: Integers, count: int) -> float:
    """p-value of cells 0 to count - 1 against all equally likely."""
    return float(scipy.stats.chisquare(np.bincount(cells, minlength=count)).pvalue)


def radius_cells(points: Floats, scale: float, count: int) -> Integers:
    radii = np.linalg.norm(points, axis=1) / scale
    share = scipy.stats.gamma(points.shape[1]).cdf(radii)
    return np.minimum((share * count).astype(np.int64), count - 1)


def angle_cells(points: Floats, count: int) -> Integers:
    turns = np.arctan2(points[:, 1], points[:, 0]) / (2 * math.pi) + 0.5
    return np.minimum((turns * count).astype(np.int64), count - 1)


def planar_p(points: Floats, scale: float) -> float:
    """Least p-value, times two, of radius x angle and of successive pairs, in the plane."""
    alone = flat_p(radius_cells(points, scale, 10) * 12 + angle_cells(points, 12), 120)
    cells = radius_cells(points, scale, 3) * 4 + angle_cells(points, 4)
    half = len(cells) // 2
    pairs = flat_p(cells[: 2 * half : 2] * 12 + cells[1 : 2 * half : 2], 144)
    return 2 * min(alone, pairs)


def spatial_p(points: Floats, scale: float) -> float:
    """Least p-value, times their number, of the radius and three directions in R^d."""
    d = points.shape[1]
    found = [flat_p(radius_cells(points, scale, 50), 50)]
    units = points / np.linalg.norm(points, axis=1)[:, None]
    ramp = np.arange(1.0, d + 1.0)
    for vector in (np.eye(d)[0], np.full(d, d**-0.5), ramp / np.linalg.norm(ramp)):
        share = scipy.stats.beta(0.5, 0.5 * (d - 1)).cdf((units @ vector) ** 2)
        found.append(flat_p(np.minimum((share * 50).astype(np.int64), 49), 50))
        found.append(flat_p((units @ vector > 0).astype(np.int64), 2))
    return len(found) * min(found)


def lattice_p(points: Integers, scale: float) -> float:
    """p-value of points of a coarse lattice against probabilities by enumeration, rare points merged."""
    d = points.shape[1]
    reach = math.ceil(18 * scale + 4)  # leaves out 1e-5 of the mass
    lattice = list(itertools.product(range(-reach, reach + 1), repeat=d))
    weights = np.exp(-np.linalg.norm(np.array(lattice), axis=1) / scale)
    expected = len(points) * weights / weights.sum()
    frequent = expected >= LEAST_EXPECTED
    seen = {z: 0 for z, kept in zip(lattice, frequent, strict=True) if kept}
    for point in map(tuple, points.tolist()):
        if point in seen:
            seen[point] += 1
    observed = np.array([*seen.values(), len(points) - sum(seen.values())], dtype=float)
    merged = np.append(expected[frequent], len(points) - expected[frequent].sum())
    return float(scipy.stats.chisquare(observed, merged).pvalue)


def draw(path: str, scale: float, d: int, size: int = DRAWS) -> Integers:
    with seeded(3) if path == "seeded" else contextlib.nullcontext():
        return draw_planar(scale, d, size)


def continuous(d: int, size: int, generator: np.random.Generator, scale: float = FINE) -> Floats:
    direction = generator.normal(size=(size, d))
    direction /= np.linalg.norm(direction, axis=1)[:, None]
    return scale * generator.gamma(d, size=size)[:, None] * direction


class TestFineLattice:
    @paths
    def test_plane(self, path: str) -> None:
        assert planar_p(draw(path, FINE, 2).astype(float), FINE) > THRESHOLD

    @paths
    @pytest.mark.parametrize("factor", [0.7, 1.3])
    def test_wrong_scale_fails_in_the_plane(self, path: str, factor: float) -> None:
        assert planar_p(draw(path, factor * FINE, 2).astype(float), FINE) < THRESHOLD

    @paths
    @pytest.mark.parametrize("d", [2, 3, 5, 8])
    def test_space(self, path: str, d: int) -> None:
        assert spatial_p(draw(path, FINE, d).astype(float), FINE) > THRESHOLD

    @pytest.mark.parametrize("d", [3, 5, 8])
    @pytest.mark.parametrize("factor", [0.7, 1.3])
    def test_wrong_scale_fails_in_space(self, d: int, factor: float) -> None:
        assert spatial_p(draw("seeded", factor * FINE, d).astype(float), FINE) < THRESHOLD

    @paths
    @pytest.mark.parametrize(("factor", "passes"), [(1.0, True), (0.7, False), (1.3, False)])
    def test_line(self, path: str, factor: float, passes: bool) -> None:
        values = draw(path, factor * FINE, 1)[:, 0] / FINE
        share = scipy.stats.laplace.cdf(values)
        p = flat_p(np.minimum((share * 50).astype(np.int64), 49), 50)
        assert (p > THRESHOLD) is passes

    @pytest.mark.full
    @pytest.mark.parametrize("d", [2, 3, 5, 8])
    def test_full_ten_times_the_draws(self, d: int) -> None:
        assert spatial_p(draw("production", FINE, d, 10 * DRAWS).astype(float), FINE) > THRESHOLD


class TestCoarseLattice:
    @paths
    @pytest.mark.parametrize(("d", "scale"), [(1, 0.7), (2, 0.3), (2, 0.5), (2, 1.5), (3, 1.0)])
    def test_true_law_passes(self, path: str, d: int, scale: float) -> None:
        assert lattice_p(draw(path, scale, d), scale) > THRESHOLD

    @paths
    @pytest.mark.parametrize("factor", [0.7, 1.3])
    def test_wrong_scale_fails(self, path: str, factor: float) -> None:
        assert lattice_p(draw(path, factor * 1.5, 2), 1.5) < THRESHOLD

    def test_same_law_as_the_sampler_of_tuples(self) -> None:
        with seeded(8):
            tuples = np.array(draw_k_norm(1.5, 2, DRAWS))
        assert lattice_p(tuples, 1.5) > THRESHOLD
        norms = [np.abs(points).sum(axis=1) for points in (tuples, draw("seeded", 1.5, 2))]
        table = np.array([np.bincount(np.minimum(norm, 8), minlength=9) for norm in norms])
        assert scipy.stats.chi2_contingency(table).pvalue > THRESHOLD


class TestHarness:
    """The harness itself: what it passes and what it catches, on numpy's draws."""

    def test_true_law_passes_for_five_seeds(self) -> None:
        for seed in range(5):
            generator = np.random.default_rng(seed)
            assert planar_p(continuous(2, DRAWS, generator), FINE) > 1e-5
            assert spatial_p(continuous(5, DRAWS, generator), FINE) > 1e-5

    @pytest.mark.parametrize("factor", [0.7, 1.3])
    def test_wrong_scale_fails_for_five_seeds(self, factor: float) -> None:
        for seed in range(5):
            points = continuous(2, DRAWS, np.random.default_rng(seed), factor * FINE)
            assert planar_p(points, FINE) < THRESHOLD

    def test_wrong_radius_and_wrong_directions_fail(self) -> None:
        generator = np.random.default_rng(4)
        right = continuous(2, DRAWS, generator)
        units = right / np.linalg.norm(right, axis=1)[:, None]
        assert planar_p(FINE * generator.exponential(2, size=DRAWS)[:, None] * units, FINE) < THRESHOLD
        assert planar_p(FINE * generator.laplace(size=(DRAWS, 2)), FINE) < THRESHOLD
        assert planar_p(right * [1.0, 0.0] + [0.0, 1.0], FINE) < THRESHOLD

    def test_dependent_draws_fail(self) -> None:
        right = continuous(2, DRAWS // 2, np.random.default_rng(4))
        assert planar_p(np.repeat(right, 2, axis=0), FINE) < THRESHOLD

    def test_rounded_continuous_noise_fails_on_a_coarse_lattice(self) -> None:
        rounded = np.rint(continuous(2, DRAWS, np.random.default_rng(4), 0.7)).astype(np.int64)
        assert lattice_p(rounded, 0.7) < THRESHOLD
