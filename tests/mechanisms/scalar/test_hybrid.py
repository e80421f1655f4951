"""The hybrid of piecewise and one bit: the published formula and threshold, flat variance, kinds with power."""

import math

import numpy as np
import pytest
import scipy.stats

from emdp.mechanisms.scalar.hybrid import HYBRID_THRESHOLD, HybridScalar
from emdp.mechanisms.scalar.one_bit import OneBitScalar
from emdp.mechanisms.scalar.piecewise import PiecewiseScalar
from emdp.testing import seeded

DRAWS = 20_000


def published(epsilon: float) -> float:
    """Largest variance of the mixture with probability 1 - exp(-epsilon/2) (Wang et al. 2019, corollary 1)."""
    root = math.exp(epsilon / 2)
    two_point = ((math.exp(epsilon) + 1) / (math.exp(epsilon) - 1)) ** 2
    return (root + 3) / (3 * root * (root - 1)) + two_point / root


@pytest.mark.parametrize("epsilon", [0.62, 1.0, 2.0, 3.0, 5.0, 8.0, 30.0])
def test_variance_is_the_published_one_within_a_thousandth_and_flat(epsilon: float) -> None:
    law = HybridScalar(-1.0, 1.0, epsilon)
    for t in (None, -1.0, -0.4, 0.0, 0.7, 1.0):
        assert law.variance(t) == pytest.approx(published(epsilon), rel=1e-3)
    assert HybridScalar(2.0, 12.0, epsilon).variance() == pytest.approx(25 * law.variance(), rel=1e-9)


def test_the_threshold() -> None:
    x = math.exp(HYBRID_THRESHOLD / 2)
    assert 3 * x**3 - x**2 + x == pytest.approx(7, abs=1e-13)
    # The closed form that the paper prints.
    inner = 405 * math.sqrt(241)
    closed = math.log((-5 + 2 * np.cbrt(6353 - inner) + 2 * np.cbrt(6353 + inner)) / 27)
    assert pytest.approx(closed, abs=1e-12) == HYBRID_THRESHOLD
    at = 1 / math.tanh(HYBRID_THRESHOLD / 2) ** 2
    assert published(HYBRID_THRESHOLD) == pytest.approx(at, rel=1e-12)
    for epsilon, is_mixed in ((HYBRID_THRESHOLD, False), (math.nextafter(HYBRID_THRESHOLD, 1), True)):
        assert (HybridScalar(0.0, 1.0, epsilon)._piecewise_chance > 0) is is_mixed


@pytest.mark.parametrize("epsilon", [0.1, 0.6, 0.65, 1.0, 2.5, 6.0, 12.0])
def test_no_worse_than_both_parts(epsilon: float) -> None:
    law, bit, piecewise = (kind(0.0, 1.0, epsilon) for kind in (HybridScalar, OneBitScalar, PiecewiseScalar))
    assert law.variance() <= min(bit.variance(), piecewise.variance()) * (1 + 1e-6)
    assert law.epsilon <= epsilon
    if epsilon < HYBRID_THRESHOLD:
        assert law.variance() == bit.variance()
        assert law.epsilon == bit.epsilon


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_messages_have_their_exact_values(epsilon: float) -> None:
    law = HybridScalar(-3.0, 1.5, epsilon)
    bit, piecewise = OneBitScalar(-3.0, 1.5, epsilon), PiecewiseScalar(-3.0, 1.5, epsilon)
    for message in (0, 1, piecewise.law.outputs // 2, piecewise.law.outputs - 1):
        assert law.estimate(law.total(np.array([message])), 1) == piecewise.estimate(message, 1)
    for message, sign in ((-1, -1), (-2, 1)):
        assert law.estimate(law.total(np.array([message])), 1) == bit.estimate(sign, 1)
    both = np.array([-1, -2, -2, 5, 7])
    values = [bit.estimate(sign, 1) for sign in (-1, 1, 1)] + [piecewise.estimate(m, 1) for m in (5, 7)]
    assert law.estimate(law.total(both), 5) == sum(values) / 5


@pytest.mark.parametrize("epsilon", [1.0, 3.0])
@pytest.mark.parametrize("t", [-1.0, 0.5])
def test_kinds_and_signs_with_power(epsilon: float, t: float) -> None:
    # Kinds and signs of 100,000 messages; an epsilon of 0.7x or 1.3x is found out.
    draws = 5 * DRAWS
    with seeded(14):
        messages = HybridScalar(-1.0, 1.0, epsilon).encode(np.full(draws, round(t * 2**40)), 40)
    observed = [int((messages >= 0).sum()), int((messages == -2).sum()), int((messages == -1).sum())]
    assert sum(observed) == draws
    for factor, expected in ((1.0, True), (0.7, False), (1.3, False)):
        share = -math.expm1(-factor * epsilon / 2)
        plus = 0.5 + 0.5 * t * math.tanh(factor * epsilon / 2)
        shares = np.array([share, (1 - share) * plus, (1 - share) * (1 - plus)])
        p_value = scipy.stats.chisquare(observed, shares * draws, sum_check=False).pvalue
        assert bool(p_value > 1e-9) is expected


def test_piecewise_messages_have_the_piecewise_law() -> None:
    with seeded(15):
        law = HybridScalar(-1.0, 1.0, 2.0)
        messages = law.encode(np.full(DRAWS, 2**39), 40)
    own = messages[messages >= 0]
    window = law._piecewise.law.window
    start = round(0.75 * law._piecewise.law.steps)
    inside = int(((own >= start) & (own < start + window)).sum())
    for factor, expected in ((1.0, True), (0.7, False), (1.3, False)):
        root = math.exp(factor)
        assert bool(scipy.stats.binomtest(inside, own.size, root / (root + 1)).pvalue > 1e-9) is expected
