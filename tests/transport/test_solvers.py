"""The solvers on arrays: three routes to each number, POT's own failures, and refusals."""

import itertools
import warnings
from typing import Any

import numpy as np
import ot
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment, linprog
from scipy.spatial.distance import cdist

from emdp.base.errors import InternalError, SolverError, UsageError
from emdp.transport import solve
from emdp.transport.assignment import GRID_BITS, MAX_UNITS, is_quick, match, unit_counts
from emdp.transport.costs import check_costs
from emdp.transport.lp import TOLERANCE, transport


def by_linprog(a: np.ndarray, b: np.ndarray, costs: np.ndarray) -> float:
    """The transport problem as a plain linear program."""
    n, m = costs.shape
    rows = np.kron(np.eye(n), np.ones((1, m)))
    columns = np.kron(np.ones((1, n)), np.eye(m))
    marginals = np.concatenate([a / a.sum(), b / b.sum()])
    found = linprog(costs.ravel(), A_eq=np.vstack([rows, columns]), b_eq=marginals, method="highs")
    assert found.status == 0
    return float(found.fun)


def by_enumeration(costs: np.ndarray) -> float:
    n = len(costs)
    return min(sum(costs[i, j] for i, j in enumerate(order)) for order in itertools.permutations(range(n))) / n


sizes = st.integers(1, 9)
seeds = st.integers(0, 2**32 - 1)


@given(sizes, sizes, seeds, st.sampled_from(["counts", "floats", "zeros"]), st.sampled_from([1e-6, 1.0, 1e5]))
@settings(deadline=None, max_examples=120)
def test_solve_agrees_with_linprog_and_pot(n: int, m: int, seed: int, kind: str, scale: float) -> None:
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(1, 6, k).astype(float) for k in (n, m))
    if kind == "floats":
        a, b = rng.random(n) + 1e-3, rng.random(m) + 1e-3
    if kind == "zeros":
        a[1:] *= rng.integers(0, 2, n - 1)
        b[1:] *= rng.integers(0, 2, m - 1)
    costs = scale * np.round(rng.random((n, m)), rng.integers(1, 8))
    value = solve(a, b, costs)
    # HiGHS has absolute tolerances, so it gets costs of order 1.
    assert value == pytest.approx(by_linprog(a, b, costs / scale) * scale, abs=1e-9 * scale)
    kept = np.ix_(a > 0, b > 0)
    pot = ot.emd2(a[a > 0] / a.sum(), b[b > 0] / b.sum(), np.ascontiguousarray(costs[kept]))
    assert value == pytest.approx(pot, abs=1e-9 * scale)


@given(st.integers(2, 6), seeds)
@settings(deadline=None, max_examples=60)
def test_match_is_optimal_on_its_grid(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    costs = np.round(rng.random((n, n)), rng.integers(1, 10))
    value = costs[np.arange(n), match(costs)].mean()
    assert by_enumeration(costs) <= value + 1e-16
    assert value <= by_enumeration(costs) + 2.0**-GRID_BITS
    assert value == pytest.approx(transport(np.ones(n), np.ones(n), costs).cost, abs=1e-11)


@pytest.mark.parametrize("n", [64, 300, MAX_UNITS])
def test_match_agrees_with_the_network_simplex_on_long_chains(n: int) -> None:
    # Potentials grow along a chain, where an augmenting path shifts every pair.
    positions = np.arange(n) / n
    costs = np.abs(np.subtract.outer(positions, positions + 0.6 / n))
    rng = np.random.default_rng(n)
    costs = np.ascontiguousarray(costs[rng.permutation(n)][:, rng.permutation(n)])
    assert costs[np.arange(n), match(costs)].mean() == pytest.approx(0.6 / n, abs=1e-12)
    assert transport(np.ones(n), np.ones(n), costs).cost == pytest.approx(0.6 / n, abs=1e-12)


@pytest.mark.parametrize(
    ("n", "value"), [(100, 0.08734847), (300, 0.06850208), (1000, 0.03538210)], ids=["100", "300", "1000"]
)
def test_known_values_of_the_technical_notes(n: int, value: float) -> None:
    rng = np.random.default_rng(n)
    costs = cdist(rng.random((n, 2)), rng.random((n, 2)))
    assert solve(np.ones(n), np.ones(n), costs) == pytest.approx(value, abs=5e-9)
    rows, columns = linear_sum_assignment(costs)
    assert solve(np.full(n, 0.1), np.full(n, 7.3), costs) == pytest.approx(costs[rows, columns].mean(), abs=1e-12)


@pytest.mark.full
def test_known_value_of_the_technical_notes_at_3000() -> None:
    rng = np.random.default_rng(3000)
    costs = cdist(rng.random((3000, 2)), rng.random((3000, 2)))
    assert solve(np.ones(3000), np.ones(3000), costs) == pytest.approx(0.02225655, abs=5e-9)


def test_clouds_apart_take_the_network_simplex_and_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(8)
    X, near, apart = rng.random((150, 2)), rng.random((150, 2)), 1 + rng.random((150, 2))
    for Y, quick in ((near, True), (apart, False)):
        costs = cdist(X, Y) / 4
        assert is_quick(costs) is quick
        by_match = costs[np.arange(150), match(costs)].mean()
        assert by_match == pytest.approx(transport(np.ones(150), np.ones(150), costs).cost, abs=1e-12)
        assert solve(np.ones(150), np.ones(150), costs) == pytest.approx(by_match, abs=1e-12)


# The wrong answers of POT: what it says of them, and that ours raises.

FINITE = [[7.0, 2.0, 9.0], [8.0, 3.0, 2.0], [6.0, 2.0, 9.0]]
THIRDS = np.full(3, 1 / 3)


def with_entry(value: float) -> np.ndarray:
    costs = np.array(FINITE)
    costs[0, 2] = value
    return costs


def pot_result(a: np.ndarray, b: np.ndarray, costs: np.ndarray) -> tuple[float, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value = float(ot.emd2(a, b, costs))
    return value, [str(warning.message) for warning in caught]


def test_pot_returns_zero_for_an_infinite_cost_and_ours_raises() -> None:
    costs = with_entry(np.inf)
    value, warned = pot_result(THIRDS, THIRDS, costs)
    assert value == 0.0
    assert "infeasible" in warned[0]
    with pytest.raises(SolverError, match="finite"):
        solve(THIRDS, THIRDS, costs)


def test_pot_returns_a_number_for_nan_costs_and_ours_raises() -> None:
    everywhere = np.full((3, 3), np.nan)
    value, _ = pot_result(THIRDS, THIRDS, everywhere)
    assert not value > 0
    for costs in (everywhere, with_entry(np.nan)):
        with pytest.raises(SolverError, match="finite"):
            solve(THIRDS, THIRDS, costs)
        with pytest.raises(SolverError, match="finite"):
            check_costs(costs)


def test_pot_calls_a_wrong_optimum_optimal_at_1e16_and_ours_does_not() -> None:
    costs = with_entry(1e16)
    assert by_enumeration(costs) == pytest.approx(10 / 3)
    value, log = ot.emd2(THIRDS, THIRDS, costs, log=True)
    assert value == pytest.approx(11 / 3)
    assert log["result_code"] == 1
    assert log["warning"] is None
    # As a ground metric it is refused, and so it is where the optimum is lost in rounding; here, with the
    # costs scaled, the simplex finds the optimum, and its potentials prove it.
    with pytest.raises(SolverError, match=r"\[0, 1\]"):
        check_costs(costs)
    with pytest.raises(SolverError, match="largest cost"):
        solve([0.3, 0.3, 0.4], THIRDS, costs)
    assert solve(THIRDS, THIRDS, costs) == pytest.approx(10 / 3)
    assert solve(THIRDS, THIRDS, with_entry(1e3)) == pytest.approx(10 / 3)


@pytest.mark.quarter
@pytest.mark.parametrize("spread", [1e2, 1e4, 1e6, 1e8, 1e10, 1e12, 1e14, 1e18, 1e30, 1e300])
def test_costs_of_any_spread_are_solved_or_refused_never_wrong(spread: float) -> None:
    rng = np.random.default_rng(int(np.log10(spread)))
    solved = 0
    for _ in range(40):
        costs = rng.integers(1, 10, (4, 4)).astype(float)
        costs[rng.integers(4), rng.integers(4)] = spread
        for weights in (np.ones(4), np.array([1.0, 1.0, 1.0, 1.5])):
            try:
                value = solve(weights, weights[::-1], costs)
            except SolverError:
                continue
            solved += 1
            assert value == pytest.approx(by_linprog(weights, weights[::-1], np.minimum(costs, 1e3)), rel=1e-8)
    assert solved == 80 or spread > 1e5


def test_a_negative_cost_is_refused() -> None:
    with pytest.raises(SolverError, match="not negative"):
        solve([1, 1], [1, 1], [[0, -1], [1, 0]])
    with pytest.raises(SolverError, match=r"\[0, 1\]"):
        check_costs(np.array([[1.0000001]]))


def test_pot_stops_early_with_a_warning_and_ours_raises() -> None:
    rng = np.random.default_rng(200)
    costs = cdist(rng.random((200, 2)), rng.random((200, 2))) / 1.5
    uniform = np.full(200, 1 / 200)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        early = ot.emd2(uniform, uniform, costs, numItermax=300)
    assert "numItermax" in str(caught[0].message)
    assert abs(early - solve(uniform, uniform, costs)) > 1e-3
    with pytest.raises(SolverError, match="without an optimum"):
        transport(uniform, uniform, costs, max_pivots=300)


def test_unequal_masses_are_refused() -> None:
    with pytest.raises(SolverError, match="without an optimum"):
        transport(np.array([0.5, 0.5]), np.array([0.5, 0.6]), np.array([[0.0, 1.0], [1.0, 0.0]]))


def replaced_solver(monkeypatch: pytest.MonkeyPatch, change: Any) -> None:
    import ot.lp.emd_wrap as wrap

    own = wrap.emd_c

    def changed(*arguments: Any) -> Any:
        flows, cost, u, v, code = own(*arguments)
        return change(flows, cost, u, v, code)

    monkeypatch.setattr(wrap, "emd_c", changed)


CHANGES = {
    "a cost that is too low": lambda flows, cost, u, v, code: (flows, cost * 0.999, u, v, code),
    "a cost that is too high": lambda flows, cost, u, v, code: (flows, cost * 1.001, u, v, code),
    "no cost": lambda flows, cost, u, v, code: (flows, 0.0, u, v, code),
    "a cost of NaN": lambda flows, cost, u, v, code: (flows, float("nan"), u, v, code),
    "another plan": lambda flows, cost, u, v, code: (flows[::-1].copy(), cost, u, v, code),
    "a plan of nothing": lambda flows, cost, u, v, code: (flows * 0, cost, u, v, code),
    "wrong potentials": lambda flows, cost, u, v, code: (flows, cost, u + np.arange(u.size), v, code),
    "potentials of NaN": lambda flows, cost, u, v, code: (flows, cost, u * np.nan, v, code),
    "no optimum": lambda flows, cost, u, v, code: (flows, cost, u, v, 3),
}


@pytest.mark.parametrize("name", CHANGES)
def test_whatever_the_solver_gets_wrong_is_noticed(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    rng = np.random.default_rng(5)
    supply, demand = rng.integers(1, 9, 20).astype(float), np.ones(30)
    supply *= 30
    demand *= supply.sum() / 30
    costs = cdist(rng.random((20, 2)), rng.random((30, 2))) / 1.5
    assert transport(supply, demand, costs).gap <= TOLERANCE
    replaced_solver(monkeypatch, CHANGES[name])
    with pytest.raises(SolverError):
        transport(supply, demand, costs)


def test_a_negative_flow_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def shifted(flows: np.ndarray, cost: float, u: np.ndarray, v: np.ndarray, code: int) -> Any:
        flows = flows + np.array([[-1.0, 1.0], [1.0, -1.0]])
        return flows, cost, u, v, code

    replaced_solver(monkeypatch, shifted)
    with pytest.raises(SolverError):
        transport(np.ones(2), np.ones(2), np.full((2, 2), 0.5))


# Shapes and weights.


@pytest.mark.parametrize(
    ("a", "b", "costs", "word"),
    [
        ([1], [1, 1], [[1.0]], "shape"),
        ([], [], np.empty((0, 0)), "entry"),
        ([1], [1], [1.0], "two dimensions"),
        ([1, -1], [1], [[1.0], [1.0]], "not negative"),
        ([1, np.nan], [1], [[1.0], [1.0]], "finite"),
        ([1, np.inf], [1], [[1.0], [1.0]], "finite"),
        ([0, 0], [1], [[1.0], [1.0]], "positive sum"),
        ([[1]], [1], [[1.0]], "shape"),
    ],
)
def test_solve_refuses(a: Any, b: Any, costs: Any, word: str) -> None:
    with pytest.raises(UsageError, match=word):
        solve(a, b, costs)


def test_solve_at_its_edges() -> None:
    assert solve([1], [1], [[0.0]]) == 0.0
    assert solve([5e-324, 5e-324], [1e308, 1e308, 1e308], np.ones((2, 3))) == pytest.approx(1.0)
    assert solve([1, 0], [0, 1], [[0.0, 0.25], [1.0, 1.0]]) == 0.25
    # Not a metric: the diagonal costs something, and nothing is cancelled.
    assert solve([1, 1], [1, 1], [[3.0, 1.0], [1.0, 3.0]]) == 1.0
    assert solve([1, 1], [1, 1], np.array([[3.0, 1.0], [1.0, 3.0]]).T[::-1]) == 1.0


def test_unit_counts_are_the_smallest_and_only_for_small_assignments() -> None:
    assert unit_counts(np.full(3, 12.0), np.full(3, 12.0)) is not None
    assert unit_counts(np.ones(MAX_UNITS + 1), np.ones(MAX_UNITS + 1)) is None
    left, right = unit_counts(np.array([6.0, 3.0]), np.array([3.0, 3.0, 3.0])) or ([], [])
    assert (list(left), list(right)) == ([2, 1], [1, 1, 1])
    assert unit_counts(np.array([100.0, 1.0]), np.array([1.0, 100.0])) is None
    with pytest.raises(InternalError):
        match(np.zeros((2, 3)))
