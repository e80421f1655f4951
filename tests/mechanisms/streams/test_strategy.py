"""Rows of a stream: the square root, its norms by enumeration, and the lower bound that no strategy beats."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from emdp.base.errors import UsageError
from emdp.mechanisms.streams.estimates import combination
from emdp.mechanisms.streams.strategy import MOST_PERIODS, SCALE, Plan, Strategy

TOTALS = Strategy.of("totals", 365)


def square(number: int) -> float:
    return number / SCALE**2


class TestKnownAnswers:
    """Numbers of elsewhere-periods-continual.md C, to their digits."""

    @pytest.mark.parametrize(("periods", "norm"), [(7, 1.674500), (52, 2.322469), (365, 2.944054), (730, 3.16480)])
    def test_largest_column_of_the_square_root(self, periods: int, norm: float) -> None:
        exact = Fraction(1)
        total = Fraction(1)
        for j in range(1, periods):
            exact *= Fraction(2 * j - 1, 2 * j)
            total += exact**2
        assert float(total) == pytest.approx(norm, abs=6e-6 if periods == 730 else 6e-7)
        # Integers over 2^12 are off by what is rounded: 2.944193 for 2.944054.
        assert square(TOTALS.period_square(periods)) == pytest.approx(float(total), rel=1e-4)

    def test_integers_of_a_year(self) -> None:
        assert square(TOTALS.period_square(365)) == pytest.approx(2.944193, abs=6e-7)
        assert math.sqrt(square(TOTALS.user_square(365))) == pytest.approx(291.4, abs=0.05)

    def test_a_second_year_costs_the_difference(self) -> None:
        first, both = (square(TOTALS.period_square(count)) for count in (365, 730))
        assert both / first - 1 == pytest.approx(0.075, abs=5e-4)

    def test_its_square_is_the_matrix_of_totals(self) -> None:
        root = TOTALS.matrix(tuple(range(1, 53)))
        assert np.abs(root @ root - np.tril(np.ones((52, 52)))).max() < 52 / SCALE

    @pytest.mark.parametrize(("periods", "bound"), [(7, 1.4036), (52, 1.9767), (365, 2.5832)])
    def test_no_strategy_has_a_smaller_error_of_totals(self, periods: int, bound: float) -> None:
        """The nuclear norm over T bounds the root mean square of totals from below, and ours is near it."""
        ones = np.tril(np.ones((periods, periods)))
        assert np.linalg.norm(ones, "nuc") / periods == pytest.approx(bound, abs=1e-4)
        matrix = TOTALS.matrix(tuple(range(1, periods + 1)))
        deviations = np.linalg.norm(np.linalg.solve(matrix.T, ones.T).T, axis=1)
        reached = math.sqrt(square(TOTALS.period_square(periods)) * float(np.mean(deviations**2)))
        assert bound <= reached <= 1.12 * bound


class TestSensitivity:
    """The largest ``‖C Δ‖`` by enumeration of every change, against the norms that are charged."""

    @pytest.mark.parametrize("plan", ["days", "totals", "both"])
    @pytest.mark.parametrize("periods", [1, 2, 3, 5])
    def test_every_change_of_signs(self, plan: Plan, periods: int) -> None:
        strategy = Strategy.of(plan, periods)
        matrix = strategy.matrix(tuple(range(1, periods + 1)))
        largest, single = 0.0, 0.0
        for change in itertools.product((-1.0, -0.5, 0.0, 0.5, 1.0), repeat=periods):
            norm = float(np.linalg.norm(matrix @ np.array(change)))
            largest = max(largest, norm)
            if np.count_nonzero(change) == 1:
                single = max(single, norm)
        assert largest == pytest.approx(math.sqrt(square(strategy.user_square(periods))), rel=1e-12)
        assert single == pytest.approx(math.sqrt(square(strategy.period_square(periods))), rel=1e-12)

    def test_vectors_that_turn_reach_no_more(self) -> None:
        """Changes of several coordinates, of any direction in each period, stay below the bound for one of one sign."""
        random = np.random.default_rng(3)
        strategy = Strategy.of("both", 6)
        matrix = strategy.matrix(tuple(range(1, 7)))
        bound = math.sqrt(square(strategy.user_square(6)))
        for _ in range(500):
            change = random.normal(size=(6, 3))
            change /= np.linalg.norm(change, axis=1, keepdims=True)
            assert np.linalg.norm(matrix @ change) <= bound * (1 + 1e-12)

    def test_a_change_of_many_periods_costs_more_than_of_one(self) -> None:
        """The norm for one period must not stand for a user: a steady change of a year costs 170 times as much."""
        ratio = math.sqrt(TOTALS.user_square(365) / TOTALS.period_square(365))
        assert ratio == pytest.approx(169.8, abs=0.1)
        assert math.sqrt(365) == pytest.approx(19.1, abs=0.01)


def deviations(strategy: Strategy, periods: int, weights: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    """Return the deviation of a weighted sum at the last period, over that of one release with the same guarantee."""
    released = tuple(range(1, periods + 1))
    norm = float(np.linalg.norm(combination(strategy, released, weights)))
    return norm * math.sqrt(square(strategy.period_square(periods)))


class TestErrors:
    """The error table of elsewhere-periods-continual.md C2, in units of one release."""

    @pytest.mark.parametrize(
        ("plan", "periods", "total", "week", "day"),
        [
            ("days", 7, 2.65, 2.65, 1.0), ("totals", 7, 1.675, 1.68, 1.46), ("both", 7, 1.94, 1.94, 1.15),
            ("days", 52, 7.21, 2.65, 1.0), ("totals", 52, 2.322, 2.40, 1.72), ("both", 52, 2.89, 2.36, 1.20),
            ("days", 365, 19.1, 2.65, 1.0), ("totals", 365, 2.944, 2.71, 1.94), ("both", 365, 3.76, 2.52, 1.24),
        ],
    )  # fmt: skip
    def test_table(self, plan: Plan, periods: int, total: float, week: float, day: float) -> None:
        strategy = Strategy.of(plan, periods)
        ones, last = np.ones(periods), np.zeros(periods)
        last[-1] = 1.0
        seven = np.zeros(periods)
        seven[-7:] = 1.0
        found = [deviations(strategy, periods, weights) for weights in (ones, seven, last)]
        assert found == [pytest.approx(number, rel=4e-3) for number in (total, week, day)]


def test_rows_of_a_longer_stream_are_the_same() -> None:
    assert Strategy.of("totals", 7).rows(5) == Strategy.of("totals", 730).rows(5)


def test_periods_without_rows_are_left_out() -> None:
    full = TOTALS.matrix((1, 2, 3, 4))
    assert np.array_equal(TOTALS.matrix((1, 3, 4)), full[np.ix_([0, 2, 3], [0, 2, 3])])


def test_what_is_refused() -> None:
    with pytest.raises(UsageError, match="periods"):
        Strategy.of("days", MOST_PERIODS + 1)
    with pytest.raises(UsageError, match="plan"):
        Strategy.of("weeks", 3)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="days"):
        Strategy(0, False)
