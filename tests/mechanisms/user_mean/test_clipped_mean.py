"""Central noise on clipped means: sensitivity counted in integers, laws with power, planted faults."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats

from emdp.base.errors import InternalError, UsageError
from emdp.mechanisms.user_mean import clipped_mean
from emdp.mechanisms.user_mean.clipped_mean import ClippedMean, best_clipped_mean
from emdp.noise.discrete_laplace import discrete_laplace_log_pmf
from emdp.privacy.calibration import gaussian_delta
from emdp.testing import seeded


class TestClippedMean:
    @pytest.mark.parametrize(
        ("low", "high", "epsilon", "exponent"),
        [
            (0.0, 1.0, 1.0, 51),
            (-50.0, 50.0, 0.01, 40),
            (0.1, 0.3, 7.7, 60),
            (-1e9, 1e9, 1e-6, 30),
            (1e9, 1e9 + 1, 0.5, 30),
            (0.0, 1.0, 1.0, 0),
            (0.2, 0.4, 3.0, -2),
            (0.0, 1e-9, 2.0, 80),
        ],
    )
    def test_sum_moves_by_no_more_than_the_noise_covers(
        self, low: float, high: float, epsilon: float, exponent: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The largest change of the integer sum over the scale is at most epsilon, exactly."""
        scales = []

        def no_noise(scale: float, size: int) -> list[int]:
            scales.append(scale)
            return [0] * size

        monkeypatch.setattr(clipped_mean, "draw_discrete_laplace", no_noise)
        mean = ClippedMean(low, high, 3, epsilon)
        limits = [-(2**63), 2**63 - 1, 0, math.floor(low * 2.0**exponent), math.ceil(high * 2.0**exponent)]
        users = [min(max(place, -(2**63)), 2**63 - 1) for place in limits]
        values = [mean.release(iter([np.array([user, 0, 0], dtype=np.int64)]), exponent) for user in users]
        unit = 1 / Fraction(2) ** mean._cut(exponent).exponent
        change = (max(values) - min(values)) * 3 / unit
        assert change.denominator == 1
        assert change / Fraction(scales[0]) <= Fraction(repr(epsilon))
        # and little is wasted: the bounds are rounded outward by two units at most
        assert (change + 2) / Fraction(scales[0]) >= Fraction(repr(epsilon)) * (1 - Fraction(1, 2**40))
        assert scales[0] < 2.0**42 or exponent <= 0

    def test_rounding_is_to_the_nearest(self) -> None:
        values = np.array([-(2**63), -5, -4, -1, 0, 1, 3, 4, 2**63 - 1], dtype=np.int64)
        for bits in (0, 1, 2, 10, 62, 63, 70):
            exact = [math.floor(Fraction(int(v), 2**bits) + Fraction(1, 2)) for v in values]
            found = clipped_mean._coarsened(values, bits).tolist()
            assert all(abs(f - e) <= (bits > 62) for f, e in zip(found, exact, strict=True))

    def test_law_with_power(self) -> None:
        """Few units, so that single outputs can be counted."""
        mean = ClippedMean(0.0, 8.0, 2, 2.0)
        with seeded(1):
            drawn = [mean.release(iter([np.array([3, 4])]), 0) * 2 - 7 for _ in range(6000)]
        places = np.clip(np.array([int(z) for z in drawn]), -15, 15)

        def p_value(scale: float) -> float:
            law = np.array([math.exp(discrete_laplace_log_pmf(k, scale)) for k in range(-15, 16)])
            law[0] = law[-1] = 0.5 * (1.0 - law[1:-1].sum())
            counts = np.bincount(places + 15, minlength=31)
            return float(scipy.stats.chisquare(counts, law * 6000).pvalue)

        assert p_value(4.0) > 1e-9
        assert p_value(4.0 * 0.7) < 1e-9
        assert p_value(4.0 * 1.3) < 1e-9

    @pytest.mark.slow
    def test_half_width(self) -> None:
        for exponent in (0, 2, 40):
            mean = ClippedMean(0.0, 8.0, 10, 1.0)
            values = np.ldexp(np.full(10, 4.0), exponent).astype(np.int64)
            with seeded(2):
                errors = [abs(float(mean.release(iter([values]), exponent)) - 4.0) for _ in range(2000)]
            width = mean.half_width(0.1, exponent)
            assert scipy.stats.binom.sf(sum(np.array(errors) > width), 2000, 0.1) > 1e-9
            if exponent == 40:
                assert scipy.stats.binom.cdf(sum(np.array(errors) > 0.8 * width), 2000, 0.1) > 0.999

    def test_gaussian_where_it_is_smaller(self) -> None:
        gaussian = best_clipped_mean(0.0, 1.0, 100, 1.0, 0.2)
        assert gaussian.delta == 0.2
        assert gaussian.deviation < ClippedMean(0.0, 1.0, 100, 1.0).deviation
        # The exact profile at what the noise really is.
        assert gaussian_delta(1.0, 0.01 / gaussian.deviation) <= 0.2
        assert gaussian_delta(1.0, 0.01 / (0.97 * gaussian.deviation)) > 0.2
        assert best_clipped_mean(0.0, 1.0, 100, 1.0, 1e-6).delta == 0.0
        with seeded(3):
            errors = [float(gaussian.release(iter([np.full(100, 2**39)]), 40)) - 0.5 for _ in range(300)]
        assert np.std(errors) == pytest.approx(gaussian.deviation, rel=0.2)
        assert np.mean(np.abs(errors) <= gaussian.half_width(0.1, 40)) == pytest.approx(0.9, abs=0.07)

    def test_printed_gaussian_is_wrong(self) -> None:
        """N(0, 12 (b - a)^2 ln(1.25/delta)/epsilon0^2): unsafe for large epsilon, and wasteful where it is safe."""
        delta = 1e-5

        def printed(epsilon: float) -> float:
            return math.sqrt(12 * math.log(1.25 / delta)) / epsilon

        # Half of epsilon0 is for the second round.
        assert gaussian_delta(50.0, 1 / printed(100.0)) > delta
        assert gaussian_delta(0.5, 1 / printed(1.0)) < delta
        assert printed(1.0) > 1.25 * ClippedMean(0.0, 1.0, 1, 0.5, delta).deviation
        # Half of epsilon0 put into it a second time.
        assert printed(0.5) == 2 * printed(1.0)

    def test_refusals(self) -> None:
        with pytest.raises(InternalError):
            ClippedMean(0.0, 1.0, 3, 1.0).release(iter([np.zeros(2, dtype=np.int64)]), 0)
        for arguments in ((1.0, 0.0, 3, 1.0), (0.0, 1.0, 0, 1.0), (0.0, 1.0, 3, 0.0), (-1e308, 1e308, 3, 1.0)):
            with pytest.raises(UsageError):
                ClippedMean(*arguments)
        with pytest.raises(UsageError, match="exponent"):
            ClippedMean(1e9, 1e9 + 1, 3, 1.0).release(iter([np.zeros(3, dtype=np.int64)]), 60)
