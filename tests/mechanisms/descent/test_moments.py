"""Least squares from noisy moments: sensitivity over all small users, exact moments, coverage by repetition."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats

from emdp.base.errors import UsageError
from emdp.mechanisms.descent.loss import UserRecords, user_gradients
from emdp.mechanisms.descent.moments import UNCLIPPED, MomentFit, MomentRelease, moment_candidates
from emdp.mechanisms.descent.rounds import DescentSetting
from emdp.testing import seeded

RUNS = 400


def setting(users: int, p: int, epsilon: float, delta: float = 0.0) -> DescentSetting:
    return DescentSetting(users, p, "squared", UNCLIPPED * math.sqrt(p), 1.0, epsilon, delta)


def people(users: int, p: int, seed: int = 0) -> UserRecords:
    rng = np.random.default_rng(seed)
    features = np.vstack([np.ones(users), rng.uniform(-1, 1, (p - 1, users))])
    features[1] = np.clip(features[1] + 0.3, -1, 1)
    targets = np.clip(features.T @ np.array([0.2, 0.5, -0.4][:p]) + rng.normal(0, 0.2, users), -1, 1)
    return UserRecords(features, targets, np.arange(users + 1))


def least_squares(records: UserRecords) -> np.ndarray:
    return np.linalg.lstsq(records.features.T, records.targets, rcond=None)[0]


@pytest.mark.parametrize("p", [2, 3])
@pytest.mark.parametrize("is_gaussian", [True, False])
def test_no_user_moves_the_moments_further_than_the_noise_is_for(p: int, is_gaussian: bool) -> None:
    fit = MomentFit(setting(10, p, 1.0, 1e-6 if is_gaussian else 0.0), 1, is_gaussian)
    moments = []
    for *rest, y in itertools.product((-1.0, -0.5, 0.0, 1.0), repeat=p):
        x = np.array([1.0, *rest])
        products = np.outer(x, x)[np.triu_indices(p)][1:]
        moments.append(np.concatenate([x * y, products]))
    assert len(moments[0]) == fit.law.dimension
    order = 2 if is_gaussian else 1
    moved = max(np.linalg.norm(a - b, order) for a, b in itertools.combinations(moments, 2)) / 10
    assert 0.6 * fit.law.sensitivity < moved <= fit.law.sensitivity


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("is_gaussian", [True, False])
def test_the_share_that_is_somewhere_is_one_more_moment_for_the_same_noise(p: int, is_gaussian: bool) -> None:
    # Of all users with up to two records, some of them elsewhere: what gradients at 0 and at unit vectors tell.
    own = replace(setting(10, p, 1.0, 1e-6 if is_gaussian else 0.0), elsewhere=True)
    fit, plain = MomentFit(own, 1, is_gaussian), MomentFit(replace(own, elsewhere=False), 1, is_gaussian)
    records = [np.array([1.0, *rest]) for rest in itertools.product((-1.0, 0.5, 1.0), repeat=p)]
    records.append(np.zeros(p + 1))
    bags = [*itertools.combinations_with_replacement(records, 1), *itertools.combinations_with_replacement(records, 2)]
    columns = np.array([record for bag in bags for record in bag]).T
    whole = UserRecords(columns[:-1], columns[-1], np.cumsum([0, *map(len, bags)]))
    told = {"loss": "squared", "clip": own.clip, "exponent": own.exponent}
    at_zero, *rest = (user_gradients(whole, w, **told) * 2.0**-own.exponent for w in (np.zeros(p), *np.eye(p)))  # type: ignore[arg-type]
    upper = [(rest[j] - at_zero)[:, i] for i in range(p) for j in range(i, p)]
    moments = np.column_stack([-at_zero, *upper])
    assert moments.shape[1] == fit.law.dimension == plain.law.dimension + 1
    moved = max(np.linalg.norm(moments - one, 2 if is_gaussian else 1, axis=1).max() for one in moments) / 10
    assert 0.6 * fit.law.sensitivity < moved <= fit.law.sensitivity
    assert fit.law.sensitivity == pytest.approx(plain.law.sensitivity, rel=1e-9)


def test_least_squares_are_those_of_records_that_are_somewhere() -> None:
    records = people(20_000, 3)
    gone = np.arange(20_000) % 10 < 3
    features, targets = np.where(gone, 0.0, records.features), np.where(gone, 0.0, records.targets)
    some = UserRecords(features, targets, records.offsets)
    fit = MomentFit(replace(setting(20_000, 3, 60.0, 1e-6), elsewhere=True), 1, True)
    wanted = least_squares(UserRecords(features[:, ~gone], targets[~gone], np.arange((~gone).sum() + 1)))
    with seeded(1):
        found = fit.release(some)
    assert isinstance(found, MomentRelease)
    assert found.curvature[0][0] == pytest.approx(0.7, abs=1e-2)
    assert found.weights == pytest.approx(wanted, abs=5e-3)
    ends = found.intervals(np.eye(3), 1 - 1e-9)
    assert all(low <= own <= high for (low, high), own in zip(ends, wanted, strict=True))
    # With H_00 taken for 1 the constant would be a third too small.
    with seeded(1):
        wrong = replace(fit, setting=replace(fit.setting, elsewhere=False)).release(some)
    assert abs(wrong.weights[0] - wanted[0]) > 0.02


def test_without_noise_to_speak_of_it_is_least_squares() -> None:
    records = people(2_000_000 // 100, 3)
    with seeded(1):
        found = MomentFit(setting(records.users, 3, 40.0, 1e-6), 1, True).release(records)
    assert found.weights == pytest.approx(least_squares(records), abs=3e-3)


@pytest.mark.quarter
@pytest.mark.parametrize(("epsilon", "delta"), [(4.0, 1e-6), (8.0, 0.0)])
def test_intervals_hold_as_often_as_said(epsilon: float, delta: float) -> None:
    records = people(3000, 3)
    truth, fit = least_squares(records), MomentFit(setting(3000, 3, epsilon, delta), 1, delta > 0)
    # The weights and a sum of them: all ends hold together.
    functions = np.vstack([np.eye(3), [[1.0, -2.0, 0.5]]])
    wanted = functions @ truth
    missed, narrow, widths = 0, 0, []
    with seeded(7):
        for _ in range(RUNS):
            found = fit.release(records)
            assert isinstance(found, MomentRelease)
            ends = np.array(found.intervals(functions, 0.95))
            missed += bool(((wanted < ends[:, 0]) | (wanted > ends[:, 1])).any())
            middle, half = ends.mean(axis=1), np.diff(ends, axis=1)[:, 0] / 2
            narrow += bool((np.abs(wanted - middle) > half / 6).any())
            widths.append(half)
    most = scipy.stats.binom.ppf(1 - 1e-6, RUNS, 0.05)
    assert missed <= most
    # Ends of a sixth of the length would not do: the test would notice noise that is so much too large.
    assert narrow > most
    assert np.isfinite(widths).all()
    assert np.mean(widths) < 1.0


def test_where_noise_hides_a_direction_the_ends_are_infinite() -> None:
    records = people(200, 3)
    with seeded(2):
        found = MomentFit(setting(200, 3, 0.1), 1, False).release(records)
    assert isinstance(found, MomentRelease)
    assert found.intervals(np.eye(3), 0.95) == [(-math.inf, math.inf)] * 3
    assert math.hypot(*found.weights) <= 1 + 1e-9


def test_a_feature_that_is_another_one_s_copy_has_no_bounded_end() -> None:
    rng = np.random.default_rng(3)
    own = rng.uniform(-1, 1, 5000)
    records = UserRecords(np.vstack([np.ones(5000), own, own]), np.clip(own, -1, 1), np.arange(5001))
    with seeded(4):
        found = MomentFit(setting(5000, 3, 5.0, 1e-6), 1, True).release(records)
    assert isinstance(found, MomentRelease)
    assert found.intervals(np.eye(3), 0.95)[1] == (-math.inf, math.inf)


def test_noise_is_that_of_the_event() -> None:
    records = people(500, 2)
    fit = MomentFit(setting(500, 2, 1.0), 1, False)
    exact = float(records.targets.mean())
    with seeded(5):
        drawn = np.array([fit.release(records).products[0] for _ in range(2000)])  # type: ignore[attr-defined]
    for factor, passes in ((1.0, True), (0.7, False), (1.3, False)):
        law = scipy.stats.laplace(0, fit.law.sensitivity / 1.0 * factor).cdf
        assert bool(scipy.stats.kstest(drawn - exact, law).pvalue > 1e-6) is passes
    assert (fit.event.guarantee.level, fit.delta) == (1.0, 0.0)


def test_what_moments_are_not_for_is_refused() -> None:
    plain = setting(100, 3, 1.0, 1e-6)
    assert len(moment_candidates(plain)) == 2
    for own, rounds in (
        (DescentSetting(100, 3, "logistic", 9.0, 1.0, 1.0), 1),
        (DescentSetting(100, 3, "squared", 9.0, 1.0, 1.0, model="local"), 1),
        (DescentSetting(100, 3, "squared", 1.0, 1.0, 1.0), 1),
        (DescentSetting(100, 65, "squared", 99.0, 1.0, 1.0), 1),
        (plain, 2),
    ):
        with pytest.raises(UsageError):
            MomentFit(own, rounds, False)
        assert rounds == 2 or moment_candidates(own) == ()
