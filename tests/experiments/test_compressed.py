"""The table of compressed-estimation.md 3: noise multipliers, sigmas and errors; the formula against dp-accounting."""

import numpy as np
import pytest

from emdp.base.errors import UsageError
from emdp.experiments.compressed import closed_sigma, draw_estimate, renyi_epsilon, renyi_multiplier, setting_rows
from emdp.testing import seeded

# n, epsilon, delta, B, z, sigma, MSE, closed sigma, its MSE
TABLE = [
    (100_000, 1.0, 1e-6, 1, 4.531, 4.531e-5, 2.10e-6, 3.113e-4, 9.93e-5),
    (100_000, 1.0, 1e-6, 8, 2.317, 1.854e-4, 7.44e-5, 1.056e-3, 2.13e-4),
    (100_000, 1.0, 1e-6, 128, 1.161, 1.486e-3, 1.29e-3, 6.95e-3, 1.66e-3),
    (10_000, 0.5, 1e-6, 1, 8.677, 8.68e-4, 7.71e-4, 6.04e-3, 3.74e-2),
    (10_000, 0.5, 1e-6, 8, 3.767, 3.01e-3, 1.86e-3, 1.89e-2, 4.65e-2),
]


@pytest.mark.slow
@pytest.mark.parametrize(("n", "epsilon", "delta", "rows", "z", "sigma", "error", "closed", "closed_error"), TABLE)
def test_table_of_the_document(
    n: int, epsilon: float, delta: float, rows: int, z: float, sigma: float, error: float, closed: float,
    closed_error: float,
) -> None:  # fmt: skip
    multiplier = renyi_multiplier(epsilon, rows, delta)
    assert multiplier == pytest.approx(z, abs=6e-4)
    assert multiplier * rows / n == pytest.approx(sigma, rel=2e-3)
    assert (rows - 1) / n + 1024 * (multiplier * rows / n) ** 2 / rows == pytest.approx(error, rel=4e-3)
    found = closed_sigma(epsilon, rows, delta, n)
    assert found == pytest.approx(closed, rel=2e-3)
    assert (rows - 1) / n + 1024 * found**2 / rows == pytest.approx(closed_error, rel=4e-3)


@pytest.mark.quarter
@pytest.mark.parametrize(
    ("rows", "multiplier", "delta"), [(1, 4.5, 1e-6), (8, 2.3, 1e-6), (128, 1.16, 1e-6), (8, 6.0, 1e-9)]
)
def test_renyi_formula_agrees_with_dp_accounting(rows: int, multiplier: float, delta: float) -> None:
    from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
    from dp_accounting.rdp import RdpAccountant

    accountant = RdpAccountant(orders=range(2, 257))
    accountant.compose(PoissonSampledDpEvent(1.0 / rows, GaussianDpEvent(multiplier)), rows)
    assert renyi_epsilon(multiplier, rows, delta) == pytest.approx(accountant.get_epsilon(delta), rel=1e-6)


def test_the_multiplier_is_on_the_safe_side_and_least() -> None:
    found = renyi_multiplier(0.7, 16, 1e-7)
    assert renyi_epsilon(found, 16, 1e-7) <= 0.7 < renyi_epsilon(found * (1 - 3e-6), 16, 1e-7)
    with pytest.raises(UsageError, match="epsilon"):
        renyi_multiplier(1e-9, 1, 1e-300)


@pytest.mark.slow
def test_estimates_are_unbiased_with_the_stated_squared_error() -> None:
    counts = np.array([500, 0, 120, 80, 300, 0, 0, 0] * 2, dtype=np.int64)
    n, rows, sigma, runs = int(counts.sum()), 4, 0.02, 3000
    with seeded(5):
        found = np.array([draw_estimate(counts, rows, sigma) for _ in range(runs)]) - counts / n
    squared = np.square(found).sum(axis=1)
    expected = (rows - 1) / n + counts.size * sigma**2 / rows
    error = squared.std() / runs**0.5
    # A sigma or a sampling rate off by 0.7 or 1.3 changes this by more than 20 standard errors.
    assert abs(squared.mean() - expected) < 6 * error < 0.1 * expected
    assert np.abs(found.mean(axis=0)).max() < 6 * (expected / counts.size / runs) ** 0.5 * 2


def test_rows_stand_beside_their_exact_error() -> None:
    with seeded(1):
        rows = setting_rows(10_000, 0.5, 1e-6, bits=(8, 11), runs=8)
    assert {row.method for row in rows if row.guarantee == "d_EM-DP"} == {"Laplace noise, d_EM-DP"}
    for row in rows:
        assert row.bound is not None
        assert abs(row.error_mean - row.bound) < 0.08 * row.bound
