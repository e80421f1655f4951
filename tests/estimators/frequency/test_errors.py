"""Expected errors against simulations: within 5 %, from enough draws that a tenth more or less would fail."""

import numpy as np
import pytest

from emdp.base.errors import UsageError
from emdp.estimators.frequency.errors import (
    expected_errors,
    expected_maximum,
    mean_absolute,
    theorem_6_5,
    theorem_6_6,
)
from emdp.estimators.frequency.geometry import Geometry
from emdp.estimators.frequency.models import DenseErrors, IndependentErrors, ResponseErrors, item_wise_errors
from emdp.mechanisms.items.gkrr import GKRR
from emdp.mechanisms.oracles.bags import Bags
from emdp.mechanisms.oracles.hadamard_bit import OneBitHadamardOracle
from emdp.spaces import Categories, Clusters, Embedding, Geo, Grid, Interval, Space, Vector
from emdp.testing import seeded
from emdp.transport.kr_norm import kr_norm


def is_within(draws: list[float] | np.ndarray, wanted: float, tolerance: float = 0.05) -> bool:
    """Say whether a mean is within the tolerance, given that the draws would show one twice as far off."""
    mean, error = float(np.mean(draws)), float(np.std(draws)) / np.sqrt(len(draws))
    assert error < 0.3 * tolerance * mean, "too few draws to tell"
    return abs(mean - wanted) <= tolerance * wanted


def check(errors: np.ndarray, found: object, space: Space, items: np.ndarray) -> None:
    assert is_within(np.square(errors).sum(axis=1), found.l2_squared)  # type: ignore[attr-defined]
    assert is_within(np.abs(errors).sum(axis=1), found.l1)  # type: ignore[attr-defined]
    assert is_within(np.abs(errors).max(axis=1), found.l_inf)  # type: ignore[attr-defined]
    centred = errors - errors.mean(axis=1, keepdims=True)
    assert is_within([kr_norm(row, space, items) for row in centred[:6000]], found.d_em)  # type: ignore[attr-defined]


@pytest.mark.quarter
@pytest.mark.parametrize("law", ["laplace", "normal"])
@pytest.mark.parametrize(
    "space",
    [
        Grid(Interval("x", 0, 1), 6),
        Categories("c", list("abcdef")),
        Clusters("c", {name: place // 2 for place, name in enumerate("abcdef")}, 0.25),
        Grid(Interval("x", 0, 1), 2),
    ],
    ids=["line", "discrete", "clusters", "two cells"],
)
def test_additive_noise(space: Space, law: str) -> None:
    geometry = Geometry.of(space)
    rng, size = np.random.default_rng(1), geometry.size
    errors = 0.1 * (rng.laplace(size=(20_000, size)) if law == "laplace" else rng.normal(size=(20_000, size)))
    model = IndependentErrors(size, 0.02 if law == "laplace" else 0.01, law=law)  # type: ignore[arg-type]
    found = expected_errors(model, geometry)
    assert not found.is_bound
    check(errors, found, space, np.arange(size, dtype=float)[:, None])


def test_item_wise_release_on_clusters_and_the_papers_bounds() -> None:
    space = Clusters("c", {f"{place:02}": place // 4 for place in range(12)}, 0.25)
    randomizer, number = GKRR(space, 2.0), 40_000
    counts = np.random.default_rng(2).multinomial(number, np.full(12, 1 / 12))
    prior = counts / number
    rng = np.random.default_rng(3)
    outputs = sum(rng.multinomial(count, row, 4000) for count, row in zip(counts, randomizer.matrix, strict=True))
    errors = randomizer.estimate(np.asarray(outputs)) - prior
    dense = item_wise_errors(randomizer.matrix, randomizer.right_inverse, number, prior)
    found = expected_errors(dense, Geometry.of(space))
    check(errors, found, space, np.arange(12.0)[:, None])
    codes = np.arange(12) // 4
    by_matrix = theorem_6_5(randomizer.right_inverse, codes, 0.25, number)
    assert 2 * found.d_em <= by_matrix <= theorem_6_6(2.0, 0.25, 3, 4, number) * (1 + 1e-6)
    row = randomizer.matrix[0]
    closed = ResponseErrors(row[0], row[1], row[-1], codes, number, prior)
    assert expected_errors(closed, Geometry.of(space)).d_em == pytest.approx(found.d_em, rel=1e-9)


@pytest.mark.parametrize(("alpha0", "s", "t", "rho"), [(1.0, 3, 2, 0.1), (3.0, 10, 5, 0.3), (4.0, 2, 20, 0.45)])
def test_theorem_6_6_bounds_theorem_6_5(alpha0: float, s: int, t: int, rho: float) -> None:
    same = np.equal.outer(np.arange(s * t) // t, np.arange(s * t) // t)
    weights = np.where(np.eye(s * t) > 0, np.exp(alpha0), np.where(same, np.exp((1 - rho) * alpha0), 1.0))
    matrix = weights / weights.sum(axis=1, keepdims=True)
    tight = theorem_6_5(np.linalg.inv(matrix), np.arange(s * t) // t, rho, 1000)
    assert tight <= theorem_6_6(alpha0, rho, s, t, 1000)
    dense = item_wise_errors(matrix, np.linalg.inv(matrix), 1000)
    assert expected_errors(dense, Geometry.clustered(np.arange(s * t) // t, rho)).d_em <= tight


def test_one_bit_hadamard_known_answer_and_simulation() -> None:
    # local-shuffle-userlevel 1.3: n = 20,000, k = 100, epsilon = 1: (k c^2 - 1)/n = 0.02336.
    oracle = OneBitHadamardOracle(100, 20_000, 1.0)
    shares = np.full(100, 0.01)
    space = Categories("c", [f"{place:03}" for place in range(100)])
    model = IndependentErrors(100, float(oracle.variances(shares, shares).mean()))
    found = expected_errors(model, Geometry.of(space))
    assert found.l2_squared == pytest.approx(0.02336, abs=5e-6)
    bags = Bags.of_items(np.arange(20_000) % 100)
    with seeded(4):
        errors = np.stack([oracle.decode(oracle.draw_tally(bags)) - shares for _ in range(300)])
    check(errors, found, space, np.arange(100.0)[:, None])


def test_maximum_of_correlated_errors_is_bounded() -> None:
    # Sidak: all cells alike is the extreme case.
    rng = np.random.default_rng(5)
    root = rng.normal(size=(8, 3))
    model = DenseErrors(root @ root.T)
    largest = np.abs(rng.normal(size=(50_000, 3)) @ root.T).max(axis=1).mean()
    assert largest <= expected_errors(model, Geometry.discrete(8)).l_inf


def test_maximum_of_many_different_cells() -> None:
    variances = np.random.default_rng(6).random(5000)
    draws = np.random.default_rng(7).normal(size=(1000, 5000)) * np.sqrt(variances)
    assert is_within(np.abs(draws).max(axis=1), expected_maximum(variances), 0.03)
    assert expected_maximum(np.zeros(3)) == 0


def test_mean_absolute_value_of_sums_of_laplace_variables() -> None:
    # Of one, E|X| = 1, of two 3/2, of three 15/8 (differences of Gamma variables), scale 1.
    number = np.array([1.0, 2.0, 3.0])
    assert mean_absolute(2 * number, 3 / number) == pytest.approx([1, 1.5, 1.875], rel=1e-12)


@pytest.mark.parametrize(
    "space",
    [
        Grid(Vector(["x", "y"], box=((0, 1), (0, 2))), (7, 6)),
        Grid(Geo("lat", "lon", box=(40, -75, 42, -72), unit="km"), (5, 6)),
        Grid(Vector(["x", "y"], box=((0, 1), (0, 2))), (7, 6), diameter=0.5),
        Grid(Vector(["x", "y"], box=((0, 1), (0, 2))), (1, 6)),
    ],
    ids=["plane", "sphere", "cut", "one row"],
)
def test_on_grids_it_is_a_bound(space: Grid) -> None:
    geometry = Geometry.of(space)
    found = expected_errors(IndependentErrors(space.size, 1e-4), geometry)
    assert found.is_bound
    draws = 0.01 * np.random.default_rng(8).normal(size=(30, space.size))
    mean = np.mean([kr_norm(row - row.mean(), space, space.all_items) for row in draws])
    assert mean <= found.d_em <= 5 * mean


def test_other_spaces_get_half_the_1_norm() -> None:
    vectors = {"word": ["a", "b", "c"], "x": [0.0, 1.0, 3.0]}
    space = Embedding("word", vectors)
    found = expected_errors(IndependentErrors(3, 0.01), Geometry.of(space))
    assert found.is_bound
    draws = 0.1 * np.random.default_rng(9).normal(size=(200, 3))
    norms = [kr_norm(row - row.mean(), space, np.arange(3.0)[:, None]) for row in draws]
    assert np.mean(norms) <= found.d_em


def test_refusals() -> None:
    with pytest.raises(UsageError, match="same cells"):
        expected_errors(IndependentErrors(3, 1.0), Geometry.discrete(4))
