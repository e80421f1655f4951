"""The curator's ways: the theory's column, laws with power, coverage, planted faults."""

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats

from emdp.base.errors import InternalError, UsageError
from emdp.mechanisms.user_mean.base import UserMeanSetting
from emdp.mechanisms.user_mean.central import CentralMean, CentralRange, central_candidates
from emdp.mechanisms.user_mean.range_stage import HistogramRange, MedianRange
from emdp.testing import seeded

EXPONENT = 40


def fixed(means: npt.ArrayLike) -> npt.NDArray[np.int64]:
    return np.rint(np.ldexp(np.asarray(means, dtype=np.float64), EXPONENT)).astype(np.int64)


def theory(users: int, records: int, epsilon: float, *, bound: float = 50, gamma: float = 0.05) -> UserMeanSetting:
    return UserMeanSetting(users, -bound, bound, epsilon, spread=1.0, records=records, failure=2 * gamma)


class TestPredictions:
    @pytest.mark.parametrize(
        ("setting", "printed"),
        [
            (theory(2000, 100, 2.0), "0.0020"),
            (theory(500, 100, 2.0), "0.0076"),
            (theory(500, 100, 1.0), "0.0151"),
            (theory(2000, 100, 1.0), "0.0040"),
            (theory(2000, 10**4, 1.0), "0.00040"),
            (theory(20_000, 100, 1.0, bound=10, gamma=0.01), "0.00047"),
            (theory(20_000, 10**4, 1.0, bound=10, gamma=0.01), "0.00005"),
        ],
    )
    def test_theory(self, setting: UserMeanSetting, printed: str) -> None:
        """local-shuffle-userlevel.md 2.1, the column of 2.4; 0.00048 there is simulated."""
        found = CentralRange(setting=setting, first=setting.epsilon / 2, kind=MedianRange).deviation
        assert f"{found:.{len(printed) - 2}f}" == printed

    def test_tuned_beats_even_and_both_beat_one_round(self) -> None:
        for setting in (theory(2000, 100, 2.0), theory(500, 100, 1.0), theory(20_000, 10**4, 1.0)):
            one, *ranges = central_candidates(setting)
            assert isinstance(one, CentralMean)
            for even, tuned in (ranges[:2], ranges[2:]):
                assert tuned.expected_error < even.expected_error < one.expected_error / 3
                assert Fraction(repr(tuned.epsilon)) <= Fraction(repr(setting.epsilon))
            assert math.isclose(one.deviation, math.sqrt(2) * 100 / setting.users / setting.epsilon)

    def test_failure(self) -> None:
        """(k - 1) e^(-n epsilon/8) of the theory, with half of epsilon for the range; permute-and-flip halves it."""
        way = CentralRange(setting=theory(60, 100, 2.0), first=1.0, kind=MedianRange)
        bins = way.setting.bins.count
        assert way.stage.wrong_bin(60) == pytest.approx(0.5 * (bins - 1) * math.exp(-60 * 2.0 / 8), rel=1e-9)


class TestSimulations:
    @pytest.mark.parametrize("kind", [MedianRange, HistogramRange])
    def test_errors_with_power(self, kind: type[MedianRange] | type[HistogramRange]) -> None:
        """B = 50, n = 2000, m = 100, epsilon = 2, users half in either of two bins."""
        way = CentralRange(setting=theory(2000, 100, 2.0), first=1.0, kind=kind)
        centre = -50 + 150 * way.setting.bins.radius
        generator, errors, held = np.random.default_rng(4), [], 0
        with seeded(4):
            for _ in range(700):
                values = fixed(generator.normal(centre, 0.1, 2000))
                release = way.release(iter(np.array_split(values, 2)), EXPONENT, 0)
                truth = float(np.ldexp(values.astype(np.float64), -EXPONENT).mean())
                errors.append(float(release.value) - truth)
                low, high = release.interval(0.9)
                held += low <= truth <= high
        error = np.array(errors)
        scale = way.deviation / math.sqrt(2)
        law = scipy.stats.laplace(scale=scale)
        assert scipy.stats.kstest(error, law.cdf).pvalue > 1e-9
        statistic = float(np.abs(error).sum()) / scale
        for factor, passes in ((1.0, True), (0.7, False), (1.3, False)):
            gamma = scipy.stats.gamma(700)
            p = 2 * min(gamma.cdf(statistic / factor), gamma.sf(statistic / factor))
            assert bool(p > 1e-9) is passes
        assert scipy.stats.binom.cdf(held, 700, 0.9) > 1e-9

    def test_two_tau_around_the_centre_misses(self) -> None:
        """Means in two bins: an interval of 2 tau around the centre cuts some, one of 3 tau none."""
        way = CentralRange(setting=theory(2000, 100, 2.0), first=1.0, kind=MedianRange)
        radius = way.setting.bins.radius
        edge = -50 + 150 * radius
        means = np.append(np.full(1001, edge + 1e-6), np.full(999, edge - 1.9 * radius))
        with seeded(5):
            low, high = way.release(iter([fixed(means)]), EXPONENT, 0).range
        assert low <= means.min() <= means.max() <= high
        middle = 0.5 * (low + high)
        assert np.abs(means - middle).max() > 2 * radius
        assert high - low == pytest.approx(6 * radius)

    def test_near(self) -> None:
        found = {}
        for kind in (MedianRange, HistogramRange):
            way = CentralRange(setting=theory(2000, 100, 2.0), first=1.0, kind=kind)
            with seeded(6):
                found[kind] = way.release(iter([fixed(np.random.default_rng(6).normal(3, 2, 2000))]), EXPONENT, 0)
        assert found[MedianRange].near is None
        assert 0.3 < found[HistogramRange].near < 0.7
        assert found[HistogramRange].near_error < 0.01

    def test_neutral_and_too_many(self) -> None:
        for way in central_candidates(theory(2000, 100, 50.0)):
            release = way.release(iter([fixed(np.full(1000, 7.0))]), EXPONENT, int(fixed([7.2])[0]))
            assert float(release.value) == pytest.approx(7.1, abs=30 * way.deviation)
            with pytest.raises(InternalError):
                way.release(iter([np.zeros(2001, dtype=np.int64)]), EXPONENT, 0)

    def test_gaussian_round_states_its_delta(self) -> None:
        setting = UserMeanSetting(2000, -50, 50, 1.0, 0.2, spread=1.0, records=100)
        for way in central_candidates(setting):
            assert way.delta == 0.2
            release = way.release(iter([fixed(np.full(2000, 7.0))]), EXPONENT, 0)
            assert release.interval(0.9)[0] < release.interval(0.9)[1]
            assert "Gaussian" in dict(way.facts("user"))["mean"]


class TestRefusals:
    def test_range_needs_bins_and_budget(self) -> None:
        with pytest.raises(UsageError, match="three bins"):
            CentralRange(setting=UserMeanSetting(100, 0.0, 1.0, 1.0), first=0.5, kind=MedianRange)
        for first in (0.0, 1.0):
            with pytest.raises(UsageError, match="first"):
                CentralRange(setting=theory(2000, 100, 1.0), first=first, kind=MedianRange)
