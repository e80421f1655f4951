"""One bit of a bounded number: known answers, exact probabilities on the real range, signs with power."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats

from emdp.mechanisms.scalar import one_bit as scalar_one_bit
from emdp.mechanisms.scalar.laplace import LaplaceScalar
from emdp.mechanisms.scalar.one_bit import OneBitScalar
from emdp.testing import seeded

DRAWS = 20_000
KNOWN = {0.25: 8.04162, 0.5: 4.08299, 1.0: 2.16395, 2.0: 1.31304, 3.0: 1.10479, 4.0: 1.03731}
# LSU 1.1: c(epsilon) = coth(epsilon/2).


@pytest.mark.parametrize("epsilon", KNOWN)
def test_variance_is_the_formula(epsilon: float) -> None:
    for low, high in ((-1.0, 1.0), (3.0, 8.0)):
        law, half = OneBitScalar(low, high, epsilon), (high - low) / 2
        assert math.sqrt(law.variance()) / half == pytest.approx(KNOWN[epsilon], abs=5e-6)
        for t in (-1.0, -0.3, 0.0, 0.8):
            expected = half**2 * (1 / math.tanh(epsilon / 2) ** 2 - t**2)
            assert law.variance((low + high) / 2 + half * t) == pytest.approx(expected, rel=1e-12)


def test_one_bit_beats_laplace_below_2_324() -> None:
    better = {
        epsilon: OneBitScalar(0.0, 3.0, epsilon).variance() < LaplaceScalar(0.0, 3.0, epsilon).variance()
        for epsilon in (0.1, 1.0, 2.323, 2.325, 4.0)
    }
    assert list(better.values()) == [True, True, True, False, False]


@pytest.mark.parametrize("epsilon", [1e-6, 0.5, 1.0, 8.0, 30.0])
def test_the_integer_is_the_largest_allowed(epsilon: float) -> None:
    law = OneBitScalar(0.0, 1.0, epsilon)
    with localcontext(prec=60):
        own, next_one = ((Decimal(kept) / Decimal(2**62 - kept)).ln() for kept in (law._kept, law._kept + 1))
    assert own <= Decimal(repr(law.epsilon)) <= Decimal(repr(epsilon)) < next_one
    assert float(own) == pytest.approx(law.epsilon, rel=1e-15)
    # P(+1) at the ends, exactly, and the values of both messages.
    assert law.estimate(1, 1) + law.estimate(-1, 1) == 1
    strength = Fraction(2 * law._kept - 2**62, 2**62)
    assert law.estimate(1, 1) - law.estimate(-1, 1) == 1 / strength


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("t", [-1.0, 0.75, 1.0])
def test_signs_with_power(epsilon: float, t: float) -> None:
    with seeded(6):
        plus = int((OneBitScalar(-1.0, 1.0, epsilon).encode(np.full(DRAWS, int(t * 2**40)), 40) > 0).sum())
    for factor, expected in ((1.0, True), (0.7, False), (1.3, False)):
        chance = 0.5 + 0.5 * t * math.tanh(factor * epsilon / 2)
        assert bool(scipy.stats.binomtest(plus, DRAWS, chance).pvalue > 1e-9) is expected


def test_intervals_are_clopper_and_pearsons() -> None:
    law, count = OneBitScalar(0.0, 1.0, 1.0), 1000
    for plus in (300, 444, 500, 700):
        exact = scipy.stats.binomtest(plus, count).proportion_ci(0.95, method="exact")
        estimate = float(law.estimate(2 * plus - count, count))
        expected = [float(law.estimate(0, 1) + law._weight * Fraction(2 * end - 1)) for end in (exact.low, exact.high)]
        clipped = [min(max(end, 0.0), 1.0) for end in expected]
        assert law.interval(estimate, count, 0.95) == pytest.approx(clipped, abs=1e-7)


def test_an_estimate_that_a_float_blurs_gives_a_wider_interval() -> None:
    # At 1e9 a float resolves a thousandth of this range, and so several numbers of +1 among 10^5.
    law, count = OneBitScalar(1e9, 1e9 + 1e-4, 2.0), 10**5
    with seeded(2):
        total = law.total(law.encode(np.full(count, round(1e9 * 2**30) + 2**16), 30))
    low, high = law.interval(float(law.estimate(total, count)), count, 0.9)
    assert low <= 1e9 + 2**-14 <= high


def test_the_sampler_by_all_its_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    # Exactly `position` of the span's values make the number high, and the coin that keeps it has the law's integer.
    law = OneBitScalar(0.1, 0.7, 1.0)
    positions = np.array([0, 1, 2**30, law._span // 2, law._span - 1, law._span])
    for shift in (0, -1):
        for kept in (True, False):
            uniform = np.clip(positions + shift, 0, law._span - 1)

            def drawn_below(limits: np.ndarray, uniform: np.ndarray = uniform) -> np.ndarray:
                assert (limits == law._span).all()
                return uniform

            def coins(numerators: np.ndarray, bits: int, kept: bool = kept) -> np.ndarray:
                assert bits == 62
                assert (numerators == law._kept).all()
                return np.full(numerators.size, kept)

            monkeypatch.setattr(scalar_one_bit, "draw_below", drawn_below)
            monkeypatch.setattr(scalar_one_bit, "draw_bernoulli", coins)
            is_high = uniform < positions
            expected = [shift < 0] * positions.size
            expected[0], expected[-1] = False, True
            assert is_high.tolist() == expected
            assert law._draw(positions).tolist() == np.where(is_high == kept, 1, -1).tolist()
