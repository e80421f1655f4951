"""The theory's tables for means of users' vectors, and what each printed defect costs."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from user_vectors import UNIT, both_rounds, fixed, release, table

import emdp
from emdp.mechanisms.user_mean.range_stage import hadamard_failure, least_users, published_failure
from emdp.mechanisms.user_vector.rotation import Rotation
from emdp.mechanisms.user_vector.setting import UserVectorSetting, frames_of, turned_factor

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@pytest.mark.parametrize(
    ("users", "d", "records", "tau", "bins", "one_bit", "laplace", "printed"),
    [
        (40_000, 16, 100, 0.6110, 17, 0.101, 0.172, 0.301),
        (40_000, 16, 10_000, 0.0611, 164, 0.0010, 0.0017, 0.130),
        (200_000, 16, 100, 0.6368, 16, 0.022, 0.037, 0.064),
        (20_000, 8, 100, 0.5879, 18, 0.047, 0.080, 0.139),
    ],
)
def test_table_of_the_theory(
    users: int, d: int, records: int, tau: float, bins: int, one_bit: float, laplace: float, printed: float
) -> None:
    mechanism = both_rounds(table(users, d, records))
    own = mechanism.frame.bins[0]
    assert (round(own.radius, 4), own.count) == (tau, bins)
    assert round(mechanism.deviation**2, 4 if one_bit < 0.01 else 3) == one_bit
    noise = 2.0 * (6.0 * own.radius) ** 2 * d**2 / users
    assert round(noise, 4 if laplace < 0.01 else 3) == laplace
    # The printed estimator measures from 0: its variance has (d - 1) |mu|^2/n more; the table's mu is near a uniform
    # one on [-8, 8], whose coordinates have mean square 64/3.
    assert noise + (d - 1) * d * 64.0 / 3.0 / users == pytest.approx(printed, rel=0.03)


@pytest.mark.parametrize(
    ("d", "published", "split", "sampled"),
    [(8, 592e3, 44.8e3, 6.8e3), (16, 2.51e6, 190e3, 14.5e3), (64, 44.6e6, 3.39e6, 64.9e3)],
)
def test_users_for_one_per_cent_of_missed_ranges(d: int, published: float, split: float, sampled: float) -> None:
    def factor(epsilon: float) -> float:
        return 1.0 / math.tanh(0.5 * epsilon)

    bins, target = 64, 0.01
    printed = 200.0 * factor(1.0 / d) ** 2 * math.log(2.0 * d * bins / target)
    assert printed == pytest.approx(published, rel=5e-3)
    each = least_users(lambda users: min(1.0, d * published_failure(bins, users, factor(1.0 / d))), target)
    assert each == pytest.approx(split, rel=5e-3)
    one = d * least_users(lambda users: min(1.0, d * published_failure(bins, users, factor(1.0))), target)
    assert one == pytest.approx(sampled, rel=5e-3)
    # 64 bins, and the sharper bound of the range stage needs fewer users still.
    setting = table(one, d, 100, failure=0.02)
    width = 2 * 64 * frames_of(setting)[-1].bins[0].radius * (1 - 1e-9)
    setting = UserVectorSetting(
        one, (0.0,) * d, (width,) * d, 2.0, model="local", spread=(1.0,) * d, records=100, failure=0.02
    )
    sampled_way, split_way = both_rounds(setting), both_rounds(setting, is_sampled=False)
    assert sampled_way.frame.bins[0].count == 64
    assert sampled_way.users_needed < one
    sharper = d * least_users(lambda users: min(1.0, d * hadamard_failure(bins, users, factor(1.0))), target)
    assert sampled_way.users_needed == pytest.approx(sharper, rel=5e-3)
    assert sampled_way.missed_range < 0.0101 + 0.01
    assert split_way.users_needed < each
    sharper = least_users(lambda users: min(1.0, d * hadamard_failure(bins, users, factor(1.0 / d))), target)
    assert split_way.users_needed == pytest.approx(sharper, rel=5e-3)
    assert split_way.missed_range == 1.0


def test_a_budget_for_every_coordinate_misses_where_a_sampled_one_does_not() -> None:
    # Defect iv: at epsilon/(2d) a coordinate 5,000 users of 8 coordinates miss about one range in nine.
    users, d = 5_000, 8
    setting = table(users, d, 10_000)
    mean = np.linspace(-8.0, 8.0, d)
    values = mean + np.random.default_rng(1).normal(size=(users, d)) / 100.0
    misses = {True: 0, False: 0}
    with emdp.testing.seeded(4):
        for is_sampled in misses:
            for _ in range(8):
                ranges = release(both_rounds(setting, is_sampled=is_sampled), values).ranges
                misses[is_sampled] += sum(not low < own < high for own, (low, high) in zip(mean, ranges, strict=True))
    assert misses[True] == 0
    assert misses[False] >= 2


def published_estimate(values: Floats, windows: Any, rng: np.random.Generator) -> Floats:
    """Return the printed estimator at given ranges: d times the own value in place, uncentred, Laplace noise."""
    users, d = values.shape
    chosen = rng.integers(d, size=users)
    lows, highs = np.array(windows).T
    own = np.clip(values[np.arange(users), chosen], lows[chosen], highs[chosen])
    own = own + rng.laplace(scale=(highs - lows)[chosen] / 1.0)
    return np.asarray(np.bincount(chosen, weights=own, minlength=d) * d / users)


def squared_errors(users: int, d: int, records: int, runs: int) -> tuple[float, float, float]:
    """Return the mean squared errors, one bit and printed, and the prediction of the first."""
    mechanism, rng = both_rounds(table(users, d, records)), np.random.default_rng(7)
    ours = printed = 0.0
    for run in range(runs):
        mean = rng.uniform(-8.0, 8.0, d)
        values = mean + rng.normal(size=(users, d)) / math.sqrt(records)
        with emdp.testing.seeded(run):
            answer = release(mechanism, values)
        truth = values.mean(axis=0)
        ours += float(np.sum((np.array([float(one) for one in answer.value]) - truth) ** 2))
        printed += float(np.sum((published_estimate(values, answer.ranges, rng) - truth) ** 2))
    return ours / runs, printed / runs, mechanism.deviation**2


def test_the_error_is_what_was_predicted_and_the_printed_estimator_loses() -> None:
    # 40 runs of 4 coordinates: a deviation of 11 %; scales of 0.7 and 1.3 would give 0.49 and 1.69. The offset of the
    # mean in its range makes one bit's variance up to (c^2 - t^2)/c^2, here about 0.95, of the bound.
    ours, printed, predicted = squared_errors(6_000, 4, 10_000, 40)
    assert 0.6 < ours / predicted < 1.4
    # Uncentred: 12 * 64/3 * 4/6000 against 72 tau^2 * 16/6000; about forty times ours.
    assert printed > 20.0 * ours


@pytest.mark.full
def test_the_table_by_simulation() -> None:
    # 60 runs of 16 coordinates: a deviation of 4.6 %.
    ours, printed, predicted = squared_errors(40_000, 16, 100, 60)
    assert 0.8 < ours / predicted < 1.2
    assert printed == pytest.approx(0.300, rel=0.25)


@pytest.mark.full
@pytest.mark.parametrize(("records", "split_way", "margin"), [(100, 0.93, 0.1), (10_000, 0.83, 0.15)])
def test_missed_ranges_of_the_table(records: int, split_way: float, margin: float) -> None:
    # 60 releases each, deviations 0.033 and 0.048: how often all 16 ranges hold their mean.
    setting, rng = table(40_000, 16, records), np.random.default_rng(5)
    right = {True: 0, False: 0}
    for run in range(60):
        mean = rng.uniform(-8.0, 8.0, 16)
        values = mean + rng.normal(size=(40_000, 16)) / math.sqrt(records)
        for is_sampled in right:
            with emdp.testing.seeded(run):
                ranges = release(both_rounds(setting, is_sampled=is_sampled), values).ranges
            right[is_sampled] += all(low < own < high for own, (low, high) in zip(mean, ranges, strict=True))
    assert right[True] == 60
    assert right[False] / 60 == pytest.approx(split_way, abs=margin)


def test_tau_is_no_radius_in_the_two_norm() -> None:
    # Defect ii: the printed tau = sigma sqrt(ln(2n/gamma)/m) = 0.399 is about the median of |y - mu|, and hundreds of
    # users lie beyond it; the corrected one bounds every coordinate of everybody.
    users, d, records = 40_000, 16, 100
    printed = math.sqrt(math.log(2 * users / 0.01) / records)
    far = np.random.default_rng(1).normal(size=(users, d)) / math.sqrt(records)
    norms = np.linalg.norm(far, axis=1)
    assert round(printed, 3) == 0.399
    assert float(np.median(norms)) == pytest.approx(0.391, abs=0.003)
    assert np.mean(norms > printed) > 0.4
    assert np.abs(far).max() < frames_of(table(users, d, records))[-1].bins[0].radius


def test_a_rotation_leaves_the_cube() -> None:
    # Defect iii: the corner of the cube of half-width B = 10 goes to a coordinate of B sqrt(d) = 40.
    corner = fixed(np.full((1, 16), 10.0))
    turned = Rotation((1,) * 16, (0.0,) * 16, 40.0)
    assert float(turned.turn(corner, (UNIT,) * 16)[0, 0]) * 2.0**-turned.exponent == pytest.approx(40.0)
    # It stays in the ball, whose radius is what the frame's bounds are.
    setting = UserVectorSetting(100, (-10.0,) * 16, (10.0,) * 16, 2.0, model="local", radius=40.0)
    assert all(bins.high >= 40.0 or frame.is_cut for frame in frames_of(setting)[1:] for bins in frame.bins)


def test_the_constant_of_the_turned_radius() -> None:
    users, d, gamma = 10_000, 16, 0.01
    assert round(10.0 * math.sqrt(math.log(users * d / gamma) / d), 2) == 10.18
    assert round(turned_factor(2.0 * users, d, gamma), 3) == 1.470
