"""Sensitivity at user level of noise on edges: known resistances, a solver of flows, and no pair of bags beyond it."""

import itertools
import math

import numpy as np
import pytest

from emdp.estimators.frequency import resistance
from emdp.estimators.frequency.resistance import user_flow
from emdp.mechanisms.central.edge_grid import EdgeAxis, EdgeGrid

GRIDS = {
    "line": [EdgeAxis(6, 1.0)],
    "plane": [EdgeAxis(4, 1.0), EdgeAxis(5, 1.0)],
    "round": [EdgeAxis(3, 1.0), EdgeAxis(5, 1.0, "round")],
    "listed": [EdgeAxis(3, 1.0), EdgeAxis(4, 1.0, "listed")],
    "space": [EdgeAxis(3, 1.0), EdgeAxis(2, 1.0), EdgeAxis(3, 1.0, "round")],
    "one": [EdgeAxis(1, 0.0), EdgeAxis(3, 1.0)],
}


def divergence(axes: list[EdgeAxis]) -> np.ndarray:
    """Return M, from the mechanism's own grid."""
    grid = EdgeGrid(tuple(axes))
    edges = [grid.edges_of(place) for place in range(len(axes))]
    columns = []
    for place, count in enumerate(edges):
        for edge in range(count):
            drawn = [np.zeros(own, dtype=np.int64) for own in edges]
            drawn[place][edge] = 1
            columns.append(np.asarray(grid.divergence(drawn), dtype=np.float64) / grid.parts)
    return np.array(columns).T


@pytest.mark.parametrize("name", GRIDS)
def test_it_is_the_least_flow_of_the_farthest_pair(name: str) -> None:
    axes = GRIDS[name]
    matrix = divergence(axes)
    inverse = np.linalg.pinv(matrix)
    nodes = matrix.shape[0]
    found = user_flow(axes)
    farthest = 0.0
    for one, other in itertools.combinations(range(nodes), 2):
        moved = np.zeros(nodes)
        moved[one], moved[other] = -1.0, 1.0
        flow = inverse @ moved
        assert np.allclose(matrix @ flow, moved)
        farthest = max(farthest, float(np.linalg.norm(flow)))
    assert farthest * (1 - 1e-12) <= found <= farthest * (1 + 1e-8)
    # no bags need more: mixtures of nodes
    rng = np.random.default_rng(1)
    for _ in range(200):
        before, after = rng.dirichlet(np.full(nodes, 0.2), 2)
        assert np.linalg.norm(inverse @ (after - before)) <= found * (1 + 1e-12)


def test_known_answers() -> None:
    assert user_flow([EdgeAxis(2, 1.0)]) == pytest.approx(1.0)
    assert user_flow([EdgeAxis(50, 1.0)]) == pytest.approx(7.0)
    # two of a circle of 6: three and three edges beside one another
    assert user_flow([EdgeAxis(6, 1.0, "round")]) ** 2 == pytest.approx(1.5)
    assert user_flow([EdgeAxis(5, 1.0, "listed")]) ** 2 == pytest.approx(2.0)
    assert user_flow([EdgeAxis(1, 0.0)]) == 0.0
    # a plane's grows like a logarithm, a path's length like its side
    assert user_flow([EdgeAxis(48, 1.0), EdgeAxis(47, 1.0)]) < 0.3 * math.sqrt(93)


def test_large_grids_have_a_bound_that_is_no_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    axes = [EdgeAxis(12, 1.0), EdgeAxis(9, 1.0)]
    exact = user_flow(axes)
    monkeypatch.setattr(resistance, "MOST_WORK", 0)
    assert exact <= user_flow(axes) <= 1.5 * exact
