"""Likelihood ratios of noise on edges against sums over all numbers on them; aims of the search by linear programs."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import multivariate_normal

from emdp.audit.changes import _flows
from emdp.audit.flows import edge_matrix, edge_ratio, has_known_ratio
from emdp.mechanisms.central.edge_grid import EdgeAxis
from emdp.mechanisms.central.edge_laws import EdgeGaussianMechanism, EdgeLaplaceMechanism

RINGS = {
    "square": (EdgeAxis(2, 1.0), EdgeAxis(2, 0.5)),
    "round": (EdgeAxis(5, 1.0, "round"),),
    "alike": (EdgeAxis(2, 1.0), EdgeAxis(2, 1.0)),
}


def units_of(mechanism: EdgeLaplaceMechanism | EdgeGaussianMechanism) -> np.ndarray:
    grid = mechanism.edge_grid
    return np.concatenate([np.full(grid.edges_of(a), unit) for a, unit in enumerate(mechanism.axis_units)])


@pytest.mark.parametrize("name", RINGS)
def test_the_ratio_on_a_ring_is_that_of_the_integrated_density(name: str) -> None:
    mechanism = EdgeLaplaceMechanism.on(RINGS[name], alpha=1.0)
    assert has_known_ratio(mechanism)
    matrix, units = edge_matrix(mechanism.edge_grid), units_of(mechanism)
    rng = np.random.default_rng(4)
    released = np.array([matrix @ (rng.laplace(size=len(units)) * units) for _ in range(20)])
    shift = matrix @ (rng.normal(size=len(units)) * units)
    back, ring = np.linalg.pinv(matrix), np.linalg.svd(matrix)[2][-1]
    # all numbers with one divergence, by brute force
    along = np.linspace(-40, 40, 400_001) * float(units.max())

    def density(nodes: np.ndarray) -> float:
        flows = back @ nodes
        depths = np.abs(flows[:, None] + ring[:, None] * along[None, :]) / units[:, None]
        return float(np.log(np.exp(-depths.sum(axis=0)).sum()))

    exact = [density(row) - density(row - shift) for row in released]
    assert edge_ratio(mechanism, released, shift) == pytest.approx(exact, abs=1e-4)


@pytest.mark.parametrize("axes", [(EdgeAxis(3, 1.0), EdgeAxis(4, 0.5)), (EdgeAxis(3, 1.0), EdgeAxis(4, 1.0, "listed"))])
def test_the_ratio_of_normal_noise_is_that_of_its_covariance(axes: tuple[EdgeAxis, ...]) -> None:
    mechanism = EdgeGaussianMechanism.on(axes, alpha=1.0, delta=1e-5)
    assert has_known_ratio(mechanism)
    parts = mechanism.edge_grid.parts
    matrix, units = edge_matrix(mechanism.edge_grid), units_of(mechanism) * parts
    covariance = (matrix * units**2) @ matrix.T
    rng = np.random.default_rng(2)
    released = np.array([matrix @ (rng.normal(size=len(units)) * units) for _ in range(10)])
    shift = matrix @ (rng.normal(size=len(units)) * units)
    scale = float(units.max())
    law = multivariate_normal(np.zeros(len(shift)), covariance / scale**2, allow_singular=True)
    exact = law.logpdf(released / scale) - law.logpdf((released - shift) / scale)
    assert edge_ratio(mechanism, released, shift) == pytest.approx(exact, abs=1e-6)


def test_the_search_knows_the_least_flow() -> None:
    """Against a linear program, for items whose weights are hats on a grid of 3 x 3."""
    mechanism = EdgeLaplaceMechanism.on((EdgeAxis(3, 1.0), EdgeAxis(3, 0.5)), alpha=1.0)
    matrix = edge_matrix(mechanism.edge_grid)
    costs = np.concatenate([np.full(mechanism.edge_grid.edges_of(a), 1 / (1.0, 0.5)[a]) for a in (0, 1)])
    rng = np.random.default_rng(3)
    places = rng.uniform(0, 2, (6, 2))
    hats = [np.maximum(0, 1 - np.abs(np.arange(3)[None, :] - places[:, a : a + 1])) for a in (0, 1)]
    weights = np.einsum("na,nb->nab", *hats).reshape(6, 9)
    found = _flows(mechanism, weights)
    for one, other in itertools.combinations(range(6), 2):
        both = np.concatenate([costs, costs])
        program = linprog(both, A_eq=np.hstack([matrix, -matrix]), b_eq=weights[other] - weights[one], method="highs")
        assert found[one, other] == pytest.approx(program.fun, abs=1e-9)


def test_other_grids_have_no_known_ratio() -> None:
    assert not has_known_ratio(EdgeLaplaceMechanism.on((EdgeAxis(3, 1.0), EdgeAxis(3, 1.0)), alpha=1.0))
    assert not has_known_ratio(EdgeLaplaceMechanism.on((EdgeAxis(2, 1.0), EdgeAxis(2, 1.0)), alpha=1.0, away=1.0))
