"""``d_em``, ``plan`` and ``d_em_bounds`` on weighted bags of real spaces against POT and a plain linear program.

Ground distances are written out here from their definitions, and nothing of ``emdp`` computes them: on a line, around a
circle, on 0/1 and clustered labels, in a listed matrix, in the plane, and in a product of two spaces.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import ot
import pytest
from scipy.optimize import linprog

import emdp
from emdp.spaces import Categories, Clusters, Cycle, Distances, Interval, Product, Space, Vector

Floats = npt.NDArray[np.float64]

MATRIX = np.array([[0.0, 0.2, 0.9, 1.0], [0.2, 0.0, 0.8, 0.9], [0.9, 0.8, 0.0, 0.3], [1.0, 0.9, 0.3, 0.0]])
CLUSTER = (0, 0, 1, 1)


def around(x: float, y: float) -> float:
    gap = abs(x - y) % 24
    return min(gap, 24 - gap) / 12


def plane(one: tuple[float, ...], two: tuple[float, ...]) -> float:
    return math.dist(one, two) / math.sqrt(2)


LINE = Interval("x", 0, 1)
LABELS = Categories("label", list("abcd"))
SPACES: dict[str, tuple[Space, Callable[[Any, Any], float]]] = {
    "line": (LINE, lambda p, q: abs(p[0] - q[0])),
    "circle": (Cycle("hour", 24), lambda p, q: around(p[0], q[0])),
    "labels": (LABELS, lambda p, q: float(p[0] != q[0])),
    "clusters": (
        Clusters("label", dict(zip("abcd", CLUSTER, strict=True)), 0.25),
        lambda p, q: (
            0.0 if p[0] == q[0] else 0.25 if CLUSTER["abcd".index(p[0])] == CLUSTER["abcd".index(q[0])] else 1.0
        ),
    ),
    "listed": (
        Distances("label", list("abcd"), MATRIX),
        lambda p, q: float(MATRIX["abcd".index(p[0]), "abcd".index(q[0])]),
    ),
    "plane": (Vector(["x", "y"], box=[(0, 1), (0, 1)]), plane),
    "product": (Product(LINE, LABELS), lambda p, q: abs(p[0] - q[0]) / 2 + float(p[1] != q[1]) / 2),
}


def draw_bag(space: Space, rng: np.random.Generator) -> tuple[dict[str, Any], list[tuple[Any, ...]], Floats]:
    """Return a frame of items with weights, its items and their shares."""
    size = int(rng.integers(1, 9))
    columns = {
        name: rng.choice(list("abcd"), size).tolist()
        if name == "label"
        else (rng.integers(0, 5, size) / 4 * (23.9 if name == "hour" else 1.0)).tolist()
        for name in space.columns
    }
    weights = rng.integers(1, 6, size).astype(float) if rng.random() < 0.5 else rng.random(size) + 0.01
    return {**columns, "weight": weights}, list(zip(*columns.values(), strict=True)), weights / weights.sum()


def by_program(a: Floats, b: Floats, costs: Floats) -> float:
    rows = [np.kron(np.eye(len(a))[i], np.ones(len(b))) for i in range(len(a))]
    columns = [np.kron(np.ones(len(a)), np.eye(len(b))[j]) for j in range(len(b))]
    solved = linprog(costs.ravel(), A_eq=np.array(rows + columns), b_eq=np.concatenate([a, b]), method="highs")
    assert solved.success
    return float(solved.fun)


def check(name: str, cases: int) -> None:
    space, distance = SPACES[name]
    rng = np.random.default_rng(cases)
    for _ in range(cases):
        (P, left, a), (Q, right, b) = draw_bag(space, rng), draw_bag(space, rng)
        costs = np.array([[distance(p, q) for q in right] for p in left])
        found = emdp.d_em(P, Q, space)
        assert found == pytest.approx(by_program(a, b, costs), abs=1e-8)
        assert found == pytest.approx(ot.emd2(a, b, costs), abs=1e-8)
        low, high = emdp.d_em_bounds(P, Q, space)
        assert low - 1e-9 <= found <= high + 1e-9
        coupling = emdp.plan(P, Q, space)
        source, target, mass = (coupling.get_column(column).to_numpy() for column in ("source", "target", "mass"))
        assert (mass * costs[source, target]).sum() == pytest.approx(found, abs=1e-8)
        assert np.bincount(source, mass, len(a)) == pytest.approx(a, abs=1e-9)
        assert np.bincount(target, mass, len(b)) == pytest.approx(b, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", SPACES)
def test_distances_are_those_of_two_other_solvers(name: str) -> None:
    check(name, 40)


@pytest.mark.full
@pytest.mark.parametrize("name", SPACES)
def test_distances_are_those_of_two_other_solvers_many_times(name: str) -> None:
    check(name, 400)
