"""The table of local-shuffle-userlevel.md 1.3, k = 1000: within the sampling errors of two means."""

import math

import numpy as np
import pytest

from emdp.experiments import geometric
from emdp.experiments.base import USER, Row
from emdp.mechanisms.oracles.bags import Bags
from emdp.mechanisms.oracles.hadamard_bit import OneBitHadamardOracle
from emdp.testing import seeded

# n, epsilon, then l1 of raw, clipped, projected, and squared l2 of raw: of the published grouped decoder.
TABLE = [
    (150_000, 1.0, 4.39, 1.37, 0.314, 0.0304),
    (500_000, 0.5, 4.60, 1.37, 0.321, 0.0332),
    (500_000, 1.0, 2.41, 1.08, 0.185, 0.0091),
    (500_000, 2.0, 1.43, 0.82, 0.12, 0.0032),
]
ROUNDED = {4.39: 0.005, 4.60: 0.005, 2.41: 0.005, 1.43: 0.005, 1.37: 0.005, 1.08: 0.005, 0.82: 0.005, 0.12: 0.005}


def _row(rows: list[Row], method: str, measure: str) -> Row:
    return next(row for row in rows if (row.method, row.measure, row.guarantee) == (method, measure, USER))


@pytest.mark.slow
@pytest.mark.parametrize(("n", "epsilon", "raw", "clip", "simplex", "squared"), TABLE)
def test_table_of_the_document(n: int, epsilon: float, raw: float, clip: float, simplex: float, squared: float) -> None:
    with seeded(3):
        rows = geometric.point_rows(n, epsilon, 10)
    found = {
        raw: _row(rows, "grouped, raw", geometric.L1),
        clip: _row(rows, "clip at 0, divide by the sum", geometric.L1),
        simplex: _row(rows, "simplex projection", geometric.L1),
        squared: _row(rows, "grouped, raw", geometric.L2),
    }
    for expected, row in found.items():
        rounding = ROUNDED.get(expected, 5e-4 if expected > 0.1 else 5e-5)
        # Means of 10 and of 20 runs: four standard errors of their difference.
        assert abs(row.error_mean - expected) < 4 * math.sqrt(1.5) * row.standard_error + rounding
    for row in (_row(rows, "raw", geometric.L2), found[squared], _row(rows, "raw", geometric.L1), found[raw]):
        assert row.bound is not None
        assert abs(row.error_mean - row.bound) < 5 * row.standard_error + 0.003 * row.bound


def test_theory_is_that_of_the_oracle_and_the_document() -> None:
    # n = 20,000, k = 100, epsilon = 1: 0.0234 (issue 6, item 3).
    c = 1 / math.tanh(0.5)
    assert (100 * c * c - 1) / 20_000 == pytest.approx(0.02336, abs=1e-5)
    items = geometric.falling_items(150_000)
    truth = np.bincount(items, minlength=1000) / 150_000
    oracle = OneBitHadamardOracle(1000, 150_000, 1.0)
    own = oracle.expected_l2_squared(truth, truth)
    assert own == pytest.approx((1000 * c * c - 1) / 150_000, rel=1e-9)
    assert truth[:2] == pytest.approx([0.2, 0.16], abs=1e-5)


def test_grouped_decoder_is_near_the_librarys_where_columns_are_drawn_evenly() -> None:
    oracle = OneBitHadamardOracle(4, 400, 1.0)
    tally = np.array([70, 30, 60, 40, 55, 45, 20, 80])
    assert geometric.grouped_estimate(oracle, tally) == pytest.approx(oracle.decode(tally), abs=1e-12)
    with seeded(0):
        drawn = oracle.draw_tally(Bags.of_items(np.zeros(400, dtype=np.int64)))
    assert geometric.grouped_estimate(oracle, drawn)[0] > 0.5


def test_user_level_is_better_for_single_records() -> None:
    with seeded(2):
        rows = geometric.point_rows(50_000, 1.0, 6)
    weak = next(row for row in rows if row.guarantee != USER and row.measure == geometric.L1)
    assert weak.error_mean > 1.1 * _row(rows, "simplex projection", geometric.L1).error_mean
    assert weak.parameters["strength"] == pytest.approx(math.log(2), rel=1e-6)
