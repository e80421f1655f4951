"""The law of the K-norm sampler, with stated power: p < 1e-9, radius and directions apart.

Radius: ``||z||_2/scale`` is Gamma(d) (Kolmogorov-Smirnov). Directions: the squared inner product with a
fixed unit vector is Beta(1/2, (d-1)/2), for an axis, a diagonal and a vector in between; the signs fill the
octants evenly. At the threshold the true scale passes, 0.7 and 1.3 times the scale fail, and the 1-norm's
and the inf-norm's K-norm laws fail by their directions, for d = 2, 5 and 10. Small lattices: chi-squared
against probabilities by enumeration.

20,000 draws, with bits of the operating system and of the test switch.
"""

import contextlib
import itertools
import math

import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats

from emdp.noise.k_norm import draw_k_norm
from emdp.testing import seeded

THRESHOLD = 1e-9
FINE = 2.0**40
DRAWS = 20_000
LEAST_EXPECTED = 25.0
dimensions = pytest.mark.parametrize("d", [1, 2, 5, 10])
paths = pytest.mark.parametrize("path", ["production", "seeded"])
Floats = npt.NDArray[np.float64]


def radius_p(points: Floats, scale: float) -> float:
    """p-value of the 2-norms against Gamma(d) times the scale."""
    radii = np.linalg.norm(points, axis=1) / scale
    return float(scipy.stats.kstest(radii, scipy.stats.gamma(points.shape[1]).cdf).pvalue)


def direction_p(points: Floats) -> float:
    """Smallest p-value, times their number, of the tests of uniform directions, whatever the radius."""
    _count, d = points.shape
    cells = 2 ** min(d, 3)
    octants = (points[:, : min(d, 3)] > 0) @ (2 ** np.arange(min(d, 3)))
    found = [float(scipy.stats.chisquare(np.bincount(octants, minlength=cells)).pvalue)]
    if d > 1:
        units = points / np.linalg.norm(points, axis=1)[:, None]
        ramp = np.arange(1.0, d + 1.0)
        for vector in (np.eye(d)[0], np.full(d, d**-0.5), ramp / np.linalg.norm(ramp)):
            squares = (units @ vector) ** 2
            found.append(float(scipy.stats.kstest(squares, scipy.stats.beta(0.5, 0.5 * (d - 1)).cdf).pvalue))
    return len(found) * min(found)


def lattice_p(points: list[tuple[int, ...]], d: int, scale: float) -> float:
    """p-value of points of a coarse lattice against probabilities by enumeration, rare points merged."""
    reach = math.ceil(18 * scale + 4)  # leaves out 1e-5 of the mass
    chances = {
        z: math.exp(-math.sqrt(sum(k * k for k in z)) / scale)
        for z in itertools.product(range(-reach, reach + 1), repeat=d)
    }
    total = sum(chances.values())
    frequent = [z for z, weight in chances.items() if len(points) * weight / total >= LEAST_EXPECTED]
    seen = dict.fromkeys(frequent, 0)
    for point in points:
        if point in seen:
            seen[point] += 1
    observed = np.array([*seen.values(), len(points) - sum(seen.values())], dtype=float)
    expected = np.array([len(points) * chances[z] / total for z in frequent])
    expected = np.append(expected, len(points) - expected.sum())
    return float(scipy.stats.chisquare(observed, expected).pvalue)


def draw(path: str, scale: float, d: int, size: int, seed: int = 3) -> list[tuple[int, ...]]:
    with seeded(seed) if path == "seeded" else contextlib.nullcontext():
        return draw_k_norm(scale, d, size)


def array(points: list[tuple[int, ...]]) -> Floats:
    return np.array(points, dtype=np.float64)


def wrong_norm(norm: str, d: int, size: int, generator: np.random.Generator) -> Floats:
    """Continuous K-norm noise of another norm (EMD 2)."""
    if norm == "1":
        direction = generator.laplace(size=(size, d))
        direction /= np.abs(direction).sum(axis=1)[:, None]
        return FINE * generator.gamma(d, size=size)[:, None] * direction
    return FINE * generator.gamma(d + 1, size=size)[:, None] * generator.uniform(-1, 1, size=(size, d))


def right_norm(d: int, size: int, generator: np.random.Generator, scale: float = FINE) -> Floats:
    direction = generator.normal(size=(size, d))
    direction /= np.linalg.norm(direction, axis=1)[:, None]
    return scale * generator.gamma(d, size=size)[:, None] * direction


@pytest.mark.quarter
@dimensions
@paths
def test_true_law_passes(path: str, d: int) -> None:
    points = array(draw(path, FINE, d, DRAWS))
    assert radius_p(points, FINE) > THRESHOLD
    assert direction_p(points) > THRESHOLD


@pytest.mark.quarter
@dimensions
@paths
@pytest.mark.parametrize("factor", [0.7, 1.3])
def test_wrong_scale_fails(path: str, d: int, factor: float) -> None:
    assert radius_p(array(draw(path, factor * FINE, d, DRAWS)), FINE) < THRESHOLD


@pytest.mark.slow
@paths
@pytest.mark.parametrize(("d", "scale"), [(2, 0.5), (2, 1.5), (3, 1.0)])
def test_small_lattice(path: str, d: int, scale: float) -> None:
    assert lattice_p(draw(path, scale, d, 20_000), d, scale) > THRESHOLD


@pytest.mark.slow
@paths
@pytest.mark.parametrize("factor", [0.7, 1.3])
def test_wrong_scale_fails_on_a_small_lattice(path: str, factor: float) -> None:
    assert lattice_p(draw(path, factor * 1.5, 2, 20_000), 2, 1.5) < THRESHOLD


class TestHarness:
    """The harness itself: what it passes and what it catches, on numpy's draws."""

    @dimensions
    def test_true_law_passes_for_five_seeds(self, d: int) -> None:
        for seed in range(5):
            points = right_norm(d, DRAWS, np.random.default_rng(seed))
            assert radius_p(points, FINE) > 1e-5
            assert direction_p(points) > 1e-5

    @pytest.mark.slow
    @pytest.mark.parametrize("d", [2, 5, 10])
    @pytest.mark.parametrize("norm", ["1", "inf"])
    def test_wrong_norm_fails_by_its_directions_alone(self, d: int, norm: str) -> None:
        for seed in range(5):
            assert direction_p(wrong_norm(norm, d, DRAWS, np.random.default_rng(seed))) < THRESHOLD

    @dimensions
    @pytest.mark.parametrize("factor", [0.7, 1.3])
    def test_wrong_scale_fails_for_five_seeds(self, d: int, factor: float) -> None:
        for seed in range(5):
            points = right_norm(d, DRAWS, np.random.default_rng(seed), factor * FINE)
            assert radius_p(points, FINE) < THRESHOLD

    def test_wrong_radius_with_right_directions_fails(self) -> None:
        # the norm of one Laplace draw, or of Gaussian noise, on a uniform direction
        generator = np.random.default_rng(4)
        direction = right_norm(5, 4_000, generator) / FINE
        direction /= np.linalg.norm(direction, axis=1)[:, None]
        assert radius_p(FINE * generator.gamma(1, size=4_000)[:, None] * direction * 5, FINE) < THRESHOLD
        assert radius_p(FINE * generator.normal(size=(4_000, 5)) * math.sqrt(6.0), FINE) < THRESHOLD

    def test_one_sided_noise_fails(self) -> None:
        assert direction_p(np.abs(right_norm(5, 4_000, np.random.default_rng(4)))) < THRESHOLD

    def test_rounded_continuous_noise_fails_on_a_small_lattice(self) -> None:
        points = np.rint(right_norm(2, 20_000, np.random.default_rng(4), 0.7)).astype(int)
        assert lattice_p([tuple(point) for point in points.tolist()], 2, 0.7) < THRESHOLD
