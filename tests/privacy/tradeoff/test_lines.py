"""The lines above the clone pair's curve: against exact sums, and never below them."""

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import binom

from emdp.privacy.tradeoff import lines as tradeoff_lines
from emdp.privacy.tradeoff.lines import clone_lines

Floats = npt.NDArray[np.float64]


def exact_gap(t: float, others: int, alpha0: float) -> float:
    """Return ``G(1/t - 1/2)`` as the sum over both counts of the positive part, with no use of the best event."""
    r = 1 / t - 0.5
    total = 0.0
    for c, weight in enumerate(binom.pmf(np.arange(others + 1), others, math.exp(-alpha0))):
        a = np.arange(c + 2)
        x, y = binom.pmf(a - 1, c, 0.5), binom.pmf(a, c, 0.5)
        total += float(weight * np.sum(np.maximum(r * x - (1 + r) * y, 0.0)))
    return total


@pytest.mark.quarter
@pytest.mark.parametrize(("alpha0", "shuffled"), [(0.5, 2), (1.0, 6), (3.0, 40), (0.1, 150), (2.0, 700)])
def test_a_line_is_just_above_the_exact_sum(alpha0: float, shuffled: int) -> None:
    slopes, gaps = clone_lines(alpha0, shuffled)
    chosen = [i for i in range(0, len(slopes) - 1, 29) if gaps[i] > 1e-12]
    assert len(chosen) >= 3
    for i in chosen:
        truth = exact_gap(float(slopes[i]), shuffled - 1, alpha0)
        # near t = 0 the continued fraction is cut off, and cells of C are as wide as a few items
        assert truth <= gaps[i] <= truth * (1.03 if slopes[i] * math.sqrt(shuffled * math.exp(-alpha0)) > 2 else 1.3)


@pytest.mark.parametrize(("alpha0", "shuffled"), [(1.0, 5), (2.0, 30), (0.3, 90)])
def test_every_event_of_the_clone_pair_is_below_every_line(alpha0: float, shuffled: int) -> None:
    slopes, gaps = clone_lines(alpha0, shuffled)
    x, y = clone_pair(shuffled - 1, alpha0)
    order = np.argsort(-(x / (x + y)))
    difference, middle = np.cumsum((x - y)[order]), np.cumsum((x + y)[order]) / 2
    for t, gap in zip(slopes, gaps, strict=True):
        assert np.all(difference <= t * (middle + gap) + 1e-13)


def clone_pair(others: int, alpha0: float) -> tuple[Floats, Floats]:
    """Return the laws X and Y, one entry a pair of counts."""
    x, y = [], []
    for c, weight in enumerate(binom.pmf(np.arange(others + 1), others, math.exp(-alpha0))):
        a = np.arange(c + 2)
        x.append(weight * binom.pmf(a - 1, c, 0.5))
        y.append(weight * binom.pmf(a, c, 0.5))
    return np.concatenate(x), np.concatenate(y)


@pytest.mark.parametrize("count", [1, 2, 7, 15, 16, 17, 60, 401])
def test_the_tail_ratio_is_a_lower_bound_and_close(count: int) -> None:
    for u in range(count // 2 + 1, count + 2):
        if 2 * u <= count + 1:
            continue
        tail = sum(math.comb(count, j) for j in range(u, count + 1))
        exact = Fraction(tail, math.comb(count, u - 1))
        value = float(tradeoff_lines._tail_ratio(np.array([float(count)]), np.array([float(u)]), 31)[0])
        assert value <= float(exact) * (1 + 1e-14)
        if 2 * u - count > 2 * math.sqrt(count):
            assert value >= float(exact) * (1 - 1e-10)


@pytest.mark.parametrize("count", [1, 15, 16, 33, 1000])
def test_probabilities_of_fair_coins_are_exact_to_1e_11(count: int) -> None:
    for j in {0, 1, count // 3, count // 2, count}:
        exact = math.log(math.comb(count, j)) - count * math.log(2)
        value = float(tradeoff_lines._log_half(np.array([float(count)]), np.array([float(j)]))[0])
        assert value == pytest.approx(exact, abs=1e-11)


def test_probabilities_of_many_fair_coins_keep_their_digits() -> None:
    # P(Bin(2k, 1/2) = k + i)/P(Bin(2k, 1/2) = k) is a product of known ratios
    k, i = 10**9, 200_000
    centre, place = tradeoff_lines._log_half(np.array([2.0 * k, 2.0 * k]), np.array([1.0 * k, 1.0 * (k + i)]))
    steps = np.arange(1, i + 1, dtype=np.float64)
    exact = math.fsum(np.log1p(-(2 * steps - 1) / (k + steps)))
    assert place - centre == pytest.approx(exact, abs=1e-8)
    assert centre == pytest.approx(-0.5 * math.log(math.pi * k) - 1 / (8 * k), abs=1e-11)


@pytest.mark.parametrize(("alpha0", "n"), [(0.01, 200_000), (1.0, 200_000), (4.0, 2_000_000), (9.0, 10**7)])
def test_cumulative_masses_are_upper_bounds_and_close(alpha0: float, n: int) -> None:
    mean = n * math.exp(-alpha0)
    deviation = math.sqrt(mean * -math.expm1(-alpha0))
    k = np.floor(mean + deviation * np.array([-9.0, -6.0, -3.0, -1.0, 0.0, 1.0, 3.0]))
    bound = tradeoff_lines._log_below(k, n, alpha0)
    truth = np.log(binom.cdf(k - 1, n, math.exp(-alpha0)))
    assert np.all(bound >= truth - 1e-9)
    # one item more or less moves the mass by about z/deviation
    assert np.all(bound <= truth + 12 / deviation)


def test_cumulative_masses_are_sums() -> None:
    k = np.array([1.0, 30.0, 100.0, 180.0, 270.0, 271.0, 400.0, 2000.0])
    bound = tradeoff_lines._log_below(k, 2000, 2.0)
    logs = [
        math.lgamma(2001) - math.lgamma(j + 1) - math.lgamma(2001 - j) - 2 * j + (2000 - j) * math.log(-math.expm1(-2))
        for j in range(2000)
    ]
    truth = np.logaddexp.accumulate(logs)[k.astype(int) - 1]
    assert np.all(bound >= np.minimum(truth, 0) - 1e-12)
    assert np.all(bound <= truth + 1e-6)


def test_cells_are_public_and_leave_nothing_between() -> None:
    for n, alpha0 in [(10**8, 3.5), (10**4, 1.0), (700, 0.2)]:
        starts, log_weights = tradeoff_lines._cells(n, alpha0)
        assert np.sum(np.exp(log_weights)) == pytest.approx(1.0, abs=1e-6)
        assert all(int(start) % 2 ** max(int(start).bit_length() - 10, 0) == 0 for start in starts)
        # from nine deviations below the mean on no cell of the grid is left out
        mean = n * math.exp(-alpha0)
        near = starts[starts >= mean - 9 * math.sqrt(mean * -math.expm1(-alpha0))]
        assert np.all(np.diff(near) <= 2.0 ** max(math.floor(math.log2(near[-1])) - 9, 0))


@pytest.mark.parametrize("count", [0, 1, 2, 17, 300, 1023])
def test_the_table_and_the_fraction_agree(count: int) -> None:
    slopes = 2 - np.geomspace(1e-3, 1.99, 60)
    tabled = tradeoff_lines._tabled_log_gap(np.array([float(count)]), slopes)[0]
    fraction = tradeoff_lines._log_gap(np.array([[float(count)]]), slopes[None, :], 31)[0]
    steep = slopes * math.sqrt(count + 1) / 2 > 2
    assert np.all(tabled <= fraction + 1e-10)
    assert np.allclose(tabled[steep], fraction[steep], atol=1e-10)


def test_more_clones_lower_every_line_and_only_add_lines() -> None:
    for alpha0, shuffled in [(2.0, 10**3), (0.3, 10**4), (3.0, 10**6), (1.0, 10**9)]:
        slopes, gaps = clone_lines(alpha0, shuffled)
        for better in [(alpha0 * (1 - 1e-7), shuffled), (alpha0 * 0.99, shuffled), (alpha0, shuffled + shuffled // 90)]:
            more, lower = clone_lines(*better)
            shared = np.isin(slopes, more)
            assert np.all(shared | (slopes > 0.9 * slopes[-2]))
            assert np.all(lower[np.searchsorted(more, slopes[shared])] <= gaps[shared] * (1 + 1e-7))


@pytest.mark.parametrize(("alpha0", "shuffled"), [(1e-4, 2), (1e-4, 10**10), (12.0, 2), (12.0, 10**10), (1.0, 10**15)])
def test_lines_fall_from_end_to_end(alpha0: float, shuffled: int) -> None:
    slopes, gaps = clone_lines(alpha0, shuffled)
    assert np.all(np.diff(slopes) > 0)
    assert np.all(np.diff(gaps) < 0)
    assert (slopes[-1], gaps[-1]) == (2.0, 0.0)


def test_more_items_give_lower_lines() -> None:
    few, many = clone_lines(1.0, 10_000), clone_lines(1.0, 1_000_000)
    at = np.array([0.005, 0.02, 0.05])
    assert np.all(np.interp(at, *many) < np.interp(at, *few))
