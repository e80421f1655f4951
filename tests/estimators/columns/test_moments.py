"""Variances from two means: the formula against numpy, and the interval as the image of a box."""

import math
from fractions import Fraction

import numpy as np
import pytest

from emdp.estimators.columns.moments import Variance
from emdp.estimators.columns.values import Coordinate, Draw, Mean
from emdp.mechanisms import GaussianMechanism, LaplaceMechanism

HALF = 2.0


def variance(*, is_root: bool = False, conditional: bool = False) -> Variance:
    """Values on [1, 5] around their middle 3: coordinates are E[e - 3], E[(e - 3)^2] (less 2 with a share), a share."""
    below = Coordinate(2, 8.0) if conditional else None
    centre = Fraction(2) if conditional else Fraction(0)
    first = Mean("v", Fraction(0), Coordinate(0, 1.0), below, -HALF, HALF)
    second = Mean("v", centre, Coordinate(1, 2.0), below, 0.0, HALF**2)
    return Variance("v", first, second, HALF**2, is_root=is_root)


def draw(values: list[float], mechanism: LaplaceMechanism | GaussianMechanism) -> Draw:
    return Draw(tuple(map(Fraction, values)), 1, mechanism)


SMALL = LaplaceMechanism(sensitivity=1e-3, alpha=1.0, dimension=3)
EXACT = LaplaceMechanism(sensitivity=0.0, alpha=1.0, dimension=3)


def test_exact_variance_is_that_of_numpy() -> None:
    rng = np.random.default_rng(5)
    values, chosen = rng.uniform(1, 5, 50), rng.uniform(0, 1, 50)
    plain = [float(np.mean(values - 3)), float(np.mean((values - 3) ** 2))]
    assert float(variance().exact(tuple(map(Fraction, plain)), 1, 0)[0] or 0) == pytest.approx(np.var(values))
    weighted = [np.mean((values - 3) * chosen), np.mean(((values - 3) ** 2 - 2) * chosen), np.mean(chosen)]
    mean = np.average(values, weights=chosen)
    expected = np.average((values - mean) ** 2, weights=chosen)
    coordinates = tuple(Fraction(float(number)) for number in weighted)
    assert float(variance(conditional=True).exact(coordinates, 1, 0)[0] or 0) == pytest.approx(expected)
    root = variance(conditional=True, is_root=True).exact(coordinates, 1, 0)[0]
    assert float(root or 0) == pytest.approx(math.sqrt(expected))


def test_nobody_chosen_has_no_variance() -> None:
    assert variance(conditional=True).exact((Fraction(0), Fraction(0), Fraction(0)), 1, 0) == [None]
    estimate = variance(conditional=True).estimates(draw([0.1, 0.1, 1e-5], SMALL), 0, 0.95)[0]
    assert estimate == (None, -math.inf, math.inf)


@pytest.mark.parametrize(("first", "second"), [(0.5, 1.5), (-0.5, 1.5), (0.001, 0.3), (1.9, 3.7), (0.0, 3.9999)])
def test_interval_is_the_image_of_the_box_of_both_means(first: float, second: float) -> None:
    column = variance()
    value, low, high = column.estimates(draw([first, second], SMALL), 0, 0.95)[0]
    box = [mean.estimates(draw([first, second], SMALL), 0, 0.975)[0] for mean in (column.first, column.second)]
    grid_1 = np.clip(np.linspace(box[0].low, box[0].high, 401), -HALF, HALF)
    grid_2 = np.clip(np.linspace(box[1].low, box[1].high, 401), 0, HALF**2)
    image = np.clip(grid_2[:, None] - grid_1[None, :] ** 2, 0, HALF**2)
    assert low <= image.min() <= low + 1e-4
    assert high - 1e-4 <= image.max() <= high
    assert value is not None
    assert low <= float(value) <= high
    root = variance(is_root=True).estimates(draw([first, second], SMALL), 0, 0.95)[0]
    assert (root.low, root.high) == pytest.approx((math.sqrt(low), math.sqrt(high)))


def test_values_and_ends_stay_in_the_public_range() -> None:
    noisy = LaplaceMechanism(sensitivity=1.0, alpha=1.0, dimension=3)
    for values in ([5.0, -3.0], [0.0, 9.0], [-40.0, 2.0]):
        value, low, high = variance().estimates(draw(values, noisy), 0, 0.95)[0]
        assert value is not None
        assert 0 <= low <= float(value) <= high <= HALF**2


def test_without_noise_the_interval_is_the_value() -> None:
    value, low, high = variance().estimates(draw([0.5, 1.5], EXACT), 0, 0.95)[0]
    assert value == Fraction(5, 4)
    assert (low, high) == pytest.approx((1.25, 1.25), abs=1e-12)


@pytest.mark.quarter
@pytest.mark.parametrize("conditional", [False, True])
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_coverage_is_at_least_the_level(conditional: bool, kind: str) -> None:
    # 3,000 cells: the count of misses at level 0.9 exceeds 420 with probability below 1e-12 if at most 300 are due;
    # intervals of a fifth of the length miss far more often.
    cells = 3000
    mechanism = (
        LaplaceMechanism(sensitivity=0.05, alpha=1.0, dimension=3 * cells)
        if kind == "laplace"
        else GaussianMechanism(sensitivity=0.05, alpha=1.0, delta=1e-6, dimension=3 * cells)
    )
    rng = np.random.default_rng(11)
    noise = (rng.laplace if kind == "laplace" else rng.normal)(0, mechanism.scale, (3, cells))
    share = 0.5 if conditional else 1.0
    exact = np.array([0.4 * share, (1.5 - (2 if conditional else 0)) * share, 0.5])
    noisy = exact[:, None] + noise / np.array([[1.0], [2.0], [8.0]])
    released = Draw(tuple(map(Fraction, noisy.ravel().tolist())), cells, mechanism)
    found = variance(conditional=conditional).estimates(released, 0, 0.9)
    target = 1.5 - 0.4**2
    assert sum(not low <= target <= high for _, low, high in found) <= 420
    narrow = [abs(target - float(value or 0)) <= 0.1 * (high - low) for value, low, high in found]
    assert cells - sum(narrow) > 420
