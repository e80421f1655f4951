"""The Kantorovich-Rubinstein norm: a linear program, d_em of distributions, and the axioms of a norm."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from emdp.base.errors import UsageError
from emdp.spaces import Categories, Clusters, Geo, Grid, Interval, Space, Vector
from emdp.transport import kr_norm as module
from emdp.transport import solve_points
from emdp.transport.kr_norm import kr_norm

SPACES: dict[str, Space] = {
    "line": Grid(Interval("x", 0, 10), 9),
    "cut line": Grid(Interval("x", 0, 10), 9, diameter=4),
    "discrete": Categories("c", list("abcdefg")),
    "clusters": Clusters("c", {name: place % 3 for place, name in enumerate("abcdefgh")}, 0.3),
    "plane": Grid(Vector(["x", "y"], box=((0, 2), (0, 3))), (3, 4)),
    "sphere": Grid(Geo("lat", "lon", box=(40, -75, 41, -73), unit="km"), (3, 3)),
}


def items_of(space: Space) -> np.ndarray:
    count = space.size if isinstance(space, Grid) else len(space.labels or ())
    return np.arange(count, dtype=float)[:, None]


def signed(rng: np.random.Generator, size: int) -> np.ndarray:
    values = rng.normal(size=size) * rng.integers(0, 2, size)
    return values - values.mean()


def by_duality(values: np.ndarray, costs: np.ndarray) -> float:
    """The largest sum of u times the measure over functions u that are 1-Lipschitz: no transport in it."""
    size = len(values)
    pairs = [(i, j) for i in range(size) for j in range(size) if i != j]
    rows = np.zeros((len(pairs), size))
    for row, (i, j) in enumerate(pairs):
        rows[row, i], rows[row, j] = 1, -1
    bounds = np.array([costs[i, j] for i, j in pairs])
    found = linprog(-values, A_ub=rows, b_ub=bounds, bounds=[(0, 0)] + [(None, None)] * (size - 1), method="highs")
    assert found.status == 0
    return -float(found.fun)


@pytest.mark.parametrize("name", SPACES)
def test_it_is_the_dual_linear_program(name: str) -> None:
    space, rng = SPACES[name], np.random.default_rng(3)
    items = items_of(space)
    for _ in range(10):
        values = signed(rng, len(items))
        assert kr_norm(values, space, items) == pytest.approx(
            by_duality(values, space.distances(items, items)), abs=1e-8
        )


@pytest.mark.parametrize("name", SPACES)
def test_of_two_distributions_it_is_their_distance(name: str) -> None:
    space, rng = SPACES[name], np.random.default_rng(4)
    items = items_of(space)
    for _ in range(10):
        p, q = rng.dirichlet(np.ones(len(items)), size=2)
        distance = solve_points(items, items, space, weights_p=p, weights_q=q)
        assert kr_norm(p - q, space, items) == pytest.approx(distance, abs=1e-9)


@given(st.sampled_from(sorted(SPACES)), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=60)
def test_it_is_a_norm(name: str, seed: int) -> None:
    space, rng = SPACES[name], np.random.default_rng(seed)
    items = items_of(space)
    first, second = signed(rng, len(items)), signed(rng, len(items))
    one = kr_norm(first, space, items)
    assert kr_norm(-3 * first, space, items) == pytest.approx(3 * one, abs=1e-8)
    assert kr_norm(first + second, space, items) <= one + kr_norm(second, space, items) + 1e-8
    assert one <= np.abs(first).sum() / 2 + 1e-9


def test_nothing_is_nothing_and_order_does_not_matter() -> None:
    space = SPACES["line"]
    assert kr_norm(np.zeros(9), space, items_of(space)) == 0
    values = signed(np.random.default_rng(5), 9)
    order = np.random.default_rng(6).permutation(9)
    assert kr_norm(values[order], space, items_of(space)[order]) == pytest.approx(
        kr_norm(values, space, items_of(space))
    )


def test_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    space = SPACES["plane"]
    items = items_of(space)
    with pytest.raises(UsageError, match="sum 0"):
        kr_norm(np.ones(12), space, items)
    with pytest.raises(UsageError, match="12 encoded items"):
        kr_norm(np.zeros(12), space, items[:5])
    with pytest.raises(UsageError, match="distinct"):
        kr_norm(np.zeros(12), space, np.zeros((12, 1)))
    monkeypatch.setattr(module, "MOST_PAIRS", 3)
    with pytest.raises(UsageError, match="too many"):
        kr_norm(signed(np.random.default_rng(7), 12), space, items)
