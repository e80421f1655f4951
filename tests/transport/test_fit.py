"""The fit of a measure to noisy weights: against a quadratic program, without noise, and what it is sure of."""

import numpy as np
import pytest
from scipy.optimize import minimize

from emdp.base.errors import UsageError
from emdp.mechanisms.central.edge_grid import EdgeAxis, EdgeGrid
from emdp.mechanisms.central.tree import Tree
from emdp.transport import fit
from emdp.transport.fit import FitAxis, coarse_weights, fit_measure
from emdp.transport.hilbert import hilbert_order


def hats(nodes: int, places: int, *, goes_round: bool = False) -> np.ndarray:
    """What the middles of equal parts of ``[0, nodes - 1]`` (round: ``[0, nodes)``) give to the nodes."""
    u = (np.arange(places) + 0.5) / places * (nodes if goes_round else nodes - 1)
    matrix = np.zeros((nodes, places))
    for place, at in enumerate(u):
        matrix[int(at) % nodes, place] += 1 - at % 1
        matrix[(int(at) + 1) % nodes, place] += at % 1
    return matrix


AXES = {
    "line": [FitAxis(hats(5, 9), "path", 1.0)],
    "clock": [FitAxis(hats(6, 8, goes_round=True), "round", 0.5)],
    "place and kind": [FitAxis(hats(3, 5), "path", 1.0), FitAxis(np.eye(4), "listed", 0.3)],
    "place and hour": [FitAxis(hats(3, 4), "path", 1.0), FitAxis(hats(4, 5, goes_round=True), "round", 0.2)],
}


def covariance(axes: list[FitAxis]) -> np.ndarray:
    """The noise's covariance, from the divergence of unit noise on each edge."""
    grid = EdgeGrid(tuple(EdgeAxis(len(axis.weights), 1.0, axis.form) for axis in axes))  # type: ignore[arg-type]
    rows = [np.concatenate(grid.differences(row)) for row in np.eye(grid.nodes)]
    variances = np.concatenate([np.full(grid.edges_of(place), axis.variance) for place, axis in enumerate(axes)])
    matrix = np.array(rows)
    return matrix @ np.diag(variances) @ matrix.T


@pytest.mark.quarter
@pytest.mark.parametrize("name", AXES)
def test_the_fit_minimises_in_the_norm_of_the_noise(name: str) -> None:
    axes = AXES[name]
    matrix = np.ones((1, 1))
    for axis in axes:
        matrix = np.kron(matrix, axis.weights)
    rng = np.random.default_rng(3)
    truth = rng.dirichlet(np.full(matrix.shape[1], 0.2))
    root = np.linalg.cholesky(covariance(axes) + 1e-12 * np.eye(len(matrix)))
    values = matrix @ truth + 0.02 * root @ rng.normal(size=len(matrix))
    values += (1 - values.sum()) / len(values)
    inverse = np.linalg.pinv(covariance(axes), rcond=1e-9)

    def cost(q: np.ndarray) -> float:
        rest = matrix @ q - values
        return float(rest @ inverse @ rest)

    found = fit_measure(values, axes, steps=4000)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1.0)
    start = np.full(matrix.shape[1], 1 / matrix.shape[1])
    best = minimize(
        cost, start, bounds=[(0, 1)] * len(start), constraints={"type": "eq", "fun": lambda q: q.sum() - 1}, tol=1e-12
    )
    assert cost(found.ravel()) <= best.fun + 1e-6 * (1 + best.fun)
    assert coarse_weights(found, axes) == pytest.approx(matrix @ found.ravel())


def test_the_fit_of_a_tree_is_near_all_of_its_levels() -> None:
    tree, places = Tree((16, 4)), (20, 6)
    weights = [hats(16, 20), np.pad(hats(4, 6), ((0, 12), (0, 0)))]
    sums = np.array([[float(own) for own in tree.sums(row)] for row in np.eye(64, dtype=int).tolist()]).T
    matrix = sums @ np.kron(weights[0], weights[1][:4])
    rng = np.random.default_rng(2)
    values = matrix @ rng.dirichlet(np.full(120, 0.1)) + 0.05 * rng.laplace(size=len(sums))

    def cost(q: np.ndarray) -> float:
        return float(np.square(matrix @ q - values).sum())

    axes = [FitAxis(own, "tree", 1.0) for own in weights]
    found = fit_measure(tree.estimate(values.tolist()).ravel(), axes, strengths=tree.strengths, steps=4000)
    assert found.shape == places
    assert found.sum() == pytest.approx(1.0)
    # no small move of mass from one place to another is nearer: the problem is convex
    best = cost(found.ravel())
    slopes = 2 * matrix.T @ (matrix @ found.ravel() - values)
    assert slopes[found.ravel() > 1e-9].max() <= slopes.min() + 1e-4
    assert best < cost(np.full(120, 1 / 120))


@pytest.mark.parametrize("name", AXES)
def test_fast_transforms_are_products_with_the_bases(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    axes = AXES[name]
    values = np.random.default_rng(4).dirichlet(np.ones(int(np.prod([len(axis.weights) for axis in axes]))))
    slow = fit_measure(values, axes, steps=40)
    monkeypatch.setattr(fit, "SMALL", 0)
    assert fit_measure(values, axes, steps=40) == pytest.approx(slow, abs=1e-12)


@pytest.mark.parametrize("name", AXES)
def test_bases_diagonalise_the_noise(name: str) -> None:
    axes = AXES[name]
    vectors, variances = np.ones((1, 1)), np.zeros(1)
    for axis in axes:
        own, values = axis.basis()
        assert own @ own.T == pytest.approx(np.eye(len(own)), abs=1e-12)
        vectors, variances = np.kron(vectors, own), np.add.outer(variances, axis.variance * values).ravel()
    assert vectors @ covariance(axes) @ vectors.T == pytest.approx(np.diag(variances), abs=1e-10)


def test_without_noise_weights_and_centre_are_kept() -> None:
    axes = [FitAxis(hats(6, 20), "path", 1.0), FitAxis(hats(5, 16), "path", 1.0)]
    truth = np.zeros((20, 16))
    truth[3, 4], truth[15, 11] = 0.7, 0.3
    weights = coarse_weights(truth, axes)
    found = fit_measure(weights, axes, steps=3000)
    assert np.abs(coarse_weights(found, axes) - weights).max() < 2e-3
    places = np.indices((20, 16)).reshape(2, -1)
    assert places @ found.ravel() == pytest.approx(places @ truth.ravel(), abs=0.05)
    # the same each time, and told how far it is
    told: list[tuple[int, int]] = []
    again = fit_measure(weights, axes, steps=50, progress=lambda done, of: told.append((done, of)))
    assert (again == fit_measure(weights, axes, steps=50)).all()
    assert told[-1] == (50, 50)


def test_independent_noise_and_one_node() -> None:
    axes = [FitAxis(hats(5, 9), "path", 1.0)]
    found = fit_measure(np.array([0.5, -0.3, 0.4, 0.4, 0.0]), axes, variance=0.1)
    assert found.sum() == pytest.approx(1.0)
    single = [FitAxis(np.ones((1, 4)), "path", 0.0)]
    assert fit_measure(np.array([1.0]), single).tolist() == [0.25] * 4
    for wrong in (np.ones(3), np.full(5, np.nan)):
        with pytest.raises(UsageError, match="values"):
            fit_measure(wrong, axes)


@pytest.mark.parametrize("shape", [(8, 8), (4, 4, 4), (16,), (2, 2, 2, 2)])
def test_a_hilbert_curve_goes_from_neighbour_to_neighbour(shape: tuple[int, ...]) -> None:
    order = hilbert_order(shape)
    assert sorted(order.tolist()) == list(range(int(np.prod(shape))))
    steps = np.abs(np.diff(np.array(np.unravel_index(order, shape)), axis=1)).sum(axis=0)
    assert (steps == 1).all()


def test_a_part_of_a_cube_keeps_the_order() -> None:
    assert sorted(hilbert_order((5, 7)).tolist()) == list(range(35))
    assert hilbert_order((1,)).tolist() == [0]
