"""The Euclidean projection: optimality conditions, a quadratic program by bisection, the theory's table, speed."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emdp.base.errors import UsageError
from emdp.transport.simplex import project_rows, project_to_simplex

vectors = st.lists(st.floats(-1e3, 1e3, allow_nan=False).map(lambda x: round(x, 3)), min_size=1, max_size=40)
totals = st.sampled_from([0.0, 0.25, 1.0, 7.0])


def by_bisection(values: np.ndarray, total: float) -> np.ndarray:
    """max(v - theta, 0) with the sum wanted: its sum falls with theta."""
    low, high = values.min() - total - 1, values.max() + 1
    for _ in range(200):
        middle = (low + high) / 2
        if np.maximum(values - middle, 0).sum() > total:
            low = middle
        else:
            high = middle
    return np.maximum(values - high, 0)


@pytest.mark.slow
@given(vectors, totals)
@settings(deadline=None, max_examples=200)
def test_it_agrees_with_bisection(values: list[float], total: float) -> None:
    found = project_to_simplex(values, total)
    assert found == pytest.approx(by_bisection(np.array(values), total), abs=1e-9)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(total, abs=1e-9)


@given(
    st.sampled_from(["flat", "few", "rounded", "wide", "same"]), st.integers(1, 2000), totals, st.integers(0, 2**32 - 1)
)
@settings(deadline=None, max_examples=100)
def test_entries_that_are_left_out_of_the_sort_change_no_bit(kind: str, size: int, total: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = {
        "flat": rng.normal(size=size),
        "few": rng.random(size) ** 20,
        "rounded": rng.normal(size=size).round(1),
        "wide": rng.standard_cauchy(size) * 10.0 ** rng.integers(-12, 12),
        "same": np.full(size, rng.random()),
    }[kind]
    falling = np.sort(values - values.max())[::-1]
    thresholds = (np.cumsum(falling) - total) / np.arange(1.0, size + 1.0)
    theta = thresholds[max(int(np.count_nonzero(falling > thresholds)), 1) - 1]
    assert (project_to_simplex(values, total) == np.maximum(values - values.max() - theta, 0.0)).all()


@given(vectors, totals, st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=100)
def test_no_other_point_is_nearer(values: list[float], total: float, seed: int) -> None:
    given_, rng = np.array(values), np.random.default_rng(seed)
    nearest = np.square(project_to_simplex(given_, total) - given_).sum()
    for other in total * rng.dirichlet(np.full(len(values), 0.3), size=20):
        assert nearest <= np.square(other - given_).sum() * (1 + 1e-12) + 1e-9


def test_rows_are_projected_each_and_absent_entries_get_nothing() -> None:
    rng = np.random.default_rng(0)
    values, sums = rng.normal(size=(200, 7)), np.abs(rng.normal(size=200)) * rng.integers(0, 2, 200)
    found = project_rows(values, sums)
    for row, wanted, got in zip(values, sums, found, strict=True):
        assert got == pytest.approx(project_to_simplex(row, wanted), abs=1e-12)
    values[:, 3:5] = -np.inf
    found = project_rows(values, sums)
    assert not found[:, 3:5].any()
    kept = [0, 1, 2, 5, 6]
    assert found[:, kept] == pytest.approx(project_rows(values[:, kept], sums), abs=1e-12)


@pytest.mark.parametrize(
    ("users", "epsilon", "raw", "clipped", "simplex"),
    [
        (150_000, 1.0, 4.39, 1.37, 0.314),
        (850_000, 1.0, 1.86, 0.954, 0.160),
        (500_000, 0.5, 4.60, 1.37, 0.321),
        (500_000, 2.0, 1.43, 0.82, 0.12),
    ],
)
def test_known_answers_of_the_theory(users: int, epsilon: float, raw: float, clipped: float, simplex: float) -> None:
    # local-shuffle-userlevel 1.3, p_i ~ 0.8^i, k = 1000, the grouped variant: a group's mean has the variance
    # (c^2 - (H p)_j^2) K/n, so a cell's is (c^2 - |p|^2)/n. 30 runs give each mean to 1 %, the table's 20 runs its own
    # to about as much, two digits in the last row; an error off by a tenth would fail.
    rng = np.random.default_rng(users)
    truth = 0.8 ** np.arange(1000)
    truth /= truth.sum()
    deviation = np.sqrt((1 / np.tanh(epsilon / 2) ** 2 - np.square(truth).sum()) / users)
    errors = []
    for _ in range(30):
        estimate = truth + deviation * rng.normal(size=1000)
        positive = np.maximum(estimate, 0)
        candidates = [estimate, positive / positive.sum(), project_to_simplex(estimate)]
        errors.append([np.abs(one - truth).sum() for one in candidates])
    assert np.mean(errors, axis=0) == pytest.approx([raw, clipped, simplex], rel=0.05)


def test_a_million_cells_take_less_than_half_a_second() -> None:
    values = np.random.default_rng(1).normal(size=1_000_000)
    best = np.inf
    for _ in range(3):
        start = time.process_time()
        found = project_to_simplex(values)
        best = min(best, time.process_time() - start)
    assert best < 0.5
    assert found.sum() == pytest.approx(1, abs=1e-9)


def test_large_common_terms_do_not_spoil_the_sum() -> None:
    assert project_to_simplex([1e12 + 0.5, 1e12, 0.0]) == pytest.approx([0.75, 0.25, 0], abs=1e-3)
    assert project_to_simplex(np.full(1000, -1e9)) == pytest.approx(np.full(1000, 1e-3), abs=1e-12)


@pytest.mark.parametrize(
    ("values", "total", "named"),
    [([], 1, "values"), ([[1.0]], 1, "values"), ([np.nan], 1, "values"), ([1.0], -1, "total"), (["a"], 1, "values")],
)
def test_refusals(values: object, total: float, named: str) -> None:
    with pytest.raises(UsageError, match=named):
        project_to_simplex(values, total)  # type: ignore[arg-type]
