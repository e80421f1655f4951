"""Smoothed distribution functions: monotone, inverted, and intervals that hold whatever the distribution."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emdp.base.errors import UsageError
from emdp.estimators.quantiles.ramps import Ramps, monotone

vectors = st.lists(st.integers(-200, 300), min_size=1, max_size=12).map(lambda numbers: np.array(numbers) / 100)


def smoothed(ramps: Ramps, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """``F_k`` of a weighted sample, by the definition of a ramp."""
    edges = ramps.low + (np.arange(ramps.count) + 1) * ramps.step
    return np.clip((edges[:, None] - values) / ramps.step, 0, 1) @ weights


def is_quantile(low: float, high: float, values: np.ndarray, weights: np.ndarray, q: float) -> bool:
    """Whether some q-quantile of a weighted sample lies in [low, high]."""
    order = np.argsort(values)
    before = np.concatenate([[0.0], np.cumsum(weights[order])]) - q * weights.sum()
    least = values[order][np.flatnonzero(before[1:] >= -1e-12)[0]]
    largest = values[order][np.flatnonzero(before[:-1] <= 1e-12)[-1]]
    return low <= largest + 1e-9 and least - 1e-9 <= high


@given(shares=vectors)
@settings(deadline=None)
def test_monotone_is_the_isotonic_regression_and_never_decreases(shares: np.ndarray) -> None:
    found = monotone(shares)
    assert np.all(np.diff(found) >= 0)
    assert found.min() >= 0
    assert found.max() <= 1
    places = range(len(shares))
    # Another route: the min-max formula of isotonic regression.
    wanted = [max(min(shares[s : t + 1].mean() for t in places[k:]) for s in places[: k + 1]) for k in places]
    np.testing.assert_allclose(found, np.clip(wanted, 0, 1), atol=1e-12)


def test_quantiles_of_an_even_distribution_are_exact() -> None:
    ramps = Ramps(0.0, 10.0, 2.0, 5)
    shares = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    levels = [0.01, 0.05, 0.25, 0.5, 0.95]
    assert [ramps.quantile(shares, q) for q in levels] == pytest.approx([10 * q for q in levels])


def test_a_flat_stretch_at_the_level_gives_its_middle() -> None:
    ramps = Ramps(0.0, 10.0, 1.0, 10)
    shares = np.array([0.1, 0.3, 0.5, 0.5, 0.5, 0.5, 0.5, 0.6, 0.7, 0.8])
    assert ramps.quantile(shares, 0.5) == pytest.approx((2.5 + 6.5) / 2)


@given(
    values=st.lists(st.floats(0, 10), min_size=1, max_size=15).map(np.array),
    weight=st.floats(0.05, 1),
    step=st.sampled_from([0.5, 1.0, 3.0, 7.0, 10.0]),
    q=st.sampled_from([0.01, 0.25, 0.5, 0.75, 0.99]),
)
@settings(deadline=None)
def test_without_noise_every_interval_holds_a_quantile_within_two_pitches(
    values: np.ndarray, weight: float, step: float, q: float
) -> None:
    ramps = Ramps(0.0, 10.0, step, int(np.ceil(10 / step)))
    weights = weight * (1 + np.arange(len(values)) % 3) / len(values)
    curve, total = smoothed(ramps, values, weights), weights.sum()
    estimate = ramps.quantile(curve / total, q)
    tiny = 1e-12
    for low, high in (ramps.interval(curve - q * total, tiny), ramps.joint_interval(curve - q * total, tiny)):
        assert is_quantile(low, high, values, weights, q)
    low, high = ramps.interval(curve - q * total, tiny)
    assert low - 1e-9 <= estimate <= high + 1e-9
    # lemma 1: at the estimate the distribution function reaches q within the width of a ramp and a half
    assert is_quantile(estimate - 1.5 * step, estimate + 1.5 * step, values, weights, q)


@given(excess=vectors, width=st.floats(1e-6, 1), q=st.floats(0.05, 0.95))
@settings(deadline=None)
def test_intervals_are_never_empty_and_hold_the_estimate(excess: np.ndarray, width: float, q: float) -> None:
    ramps = Ramps(-3.0, 5.0, 8.0 / len(excess), len(excess))
    estimate = ramps.quantile(excess + q, q)
    low, high = ramps.interval(excess, width)
    assert ramps.low <= low <= high <= ramps.high
    assert low - 1e-9 <= estimate <= high + 1e-9
    joint = ramps.joint_interval(excess, width)
    assert ramps.low <= joint[0] <= joint[1] <= ramps.high


def test_wider_noise_never_makes_an_interval_shorter() -> None:
    ramps = Ramps(0.0, 10.0, 1.0, 10)
    excess = np.array([-0.5, -0.4, -0.42, -0.1, 0.05, -0.02, 0.2, 0.3, 0.29, 0.5])
    for kind in (ramps.interval, ramps.joint_interval):
        ends = [kind(excess, width) for width in (0.0, 0.05, 0.15, 0.3, 0.45, 1.0)]
        assert all(b[0] <= a[0] and a[1] <= b[1] for a, b in pairwise(ends))
        assert ends[-1] == (0.0, 10.0)


@pytest.mark.parametrize("arguments", [(0.0, 0.0, 1.0, 1), (0.0, 1.0, 0.0, 1), (0.0, 1.0, 1.0, 0)])
def test_ramps_need_a_range_and_a_step(arguments: tuple[float, float, float, int]) -> None:
    with pytest.raises(UsageError, match="step must be above 0"):
        Ramps(*arguments)
