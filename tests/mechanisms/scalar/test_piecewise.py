"""The piecewise law on integers: all messages of small grids, exact sums on the real one, draws with power."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats

from emdp.mechanisms.scalar import piecewise as scalar_piecewise
from emdp.mechanisms.scalar.piecewise import PiecewiseLaw, PiecewiseScalar
from emdp.testing import seeded

DRAWS = 20_000
EPSILONS = [1e-6, 0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 30.0]
SMALL = [PiecewiseLaw.from_epsilon(Fraction(epsilon), steps) for epsilon in (0.5, 2.0, 6.0) for steps in (2, 8, 30)]
SMALL += [PiecewiseLaw(4, 4, 2**61 + 1), PiecewiseLaw(6, 1, 3 * 2**60), PiecewiseLaw(2, 1, 2**61)]


def continuous_variance(epsilon: float, t: float) -> float:
    """Wang et al. 2019, lemma 1."""
    root = math.exp(epsilon / 2)
    return t**2 / (root - 1) + (root + 3) / (3 * (root - 1) ** 2)


@pytest.mark.parametrize("law", SMALL, ids=str)
def test_small_grids_by_enumeration(law: PiecewiseLaw) -> None:
    middle = Fraction(law.outputs - 1, 2)
    rows = [[law.probability(g, y) for y in range(law.outputs)] for g in range(law.steps + 1)]
    for g, row in enumerate(rows):
        c = Fraction(g) - Fraction(law.steps, 2)
        assert sum(row) == 1
        moments = [sum(p * (y - middle) ** k for y, p in enumerate(row)) for k in (1, 2)]
        assert moments == [law.slope * c, law.slope * c**2 + law.spread]
        fourth = sum(p * ((y - middle) / law.slope - c) ** 4 for y, p in enumerate(row))
        assert fourth == sum(m * c ** (2 * j) for j, m in enumerate(law.fourth_moment))
    ratio = max(max(column) / min(column) for column in zip(*rows, strict=True))
    assert math.log(ratio) == pytest.approx(law.epsilon, rel=1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_real_grid_by_exact_sums(epsilon: float) -> None:
    law = PiecewiseLaw.from_epsilon(Fraction(repr(epsilon)))
    near, far = law.probability(0, 0), law.probability(0, law.outputs - 1)
    ends = [0, law.window - 1, law.window, law.steps - 1, law.steps, law.outputs - 1]
    for g in (0, 1, law.steps // 2, law.steps - 1, law.steps):
        # Where windows of extreme inputs begin and end no other probability is met.
        assert {law.probability(g, y) for y in ends} <= {near, far}
        inside = [law.probability(g, y) for y in (g - 1, g, g + law.window - 1, g + law.window)]
        assert inside[1:3] == [near, near]
        assert {inside[0], inside[3]} == {far}
        own, every = series(g, g + law.window), series(0, law.outputs)
        assert near * law.window + far * law.steps == 1
        mean = near * own + far * (every - own)
        assert mean - Fraction(law.outputs - 1, 2) == law.slope * (g - Fraction(law.steps, 2))
    assert (near / far).numerator * law.window * (2**62 - law.inside) == (
        near / far
    ).denominator * law.steps * law.inside
    assert math.log(near / far) <= law.epsilon * (1 + 1e-15)
    assert Fraction(repr(law.epsilon)) <= Fraction(repr(epsilon))


def series(start: int, stop: int) -> int:
    return (start + stop - 1) * (stop - start) // 2


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_variance_is_the_continuous_one_within_a_thousandth(epsilon: float) -> None:
    for low, high in ((-1.0, 1.0), (0.0, 5.0)):
        law, half = PiecewiseScalar(low, high, epsilon), (high - low) / 2
        for t in (-1.0, -0.4, 0.0, 0.7, 1.0):
            found = law.variance((low + high) / 2 + half * t) / half**2
            assert found == pytest.approx(continuous_variance(epsilon, t), rel=1e-3)
        root = math.exp(epsilon / 2)
        assert law.variance() / half**2 == pytest.approx(4 * root / (3 * (root - 1) ** 2), rel=1e-3)


def test_windows_of_the_continuous_law() -> None:
    # C = (e^(eps/2)+1)/(e^(eps/2)-1): a window of C - 1 among 2 C, and messages that reach C.
    for epsilon in (0.5, 1.0, 4.0):
        law = PiecewiseScalar(-1.0, 1.0, epsilon)
        root = math.exp(epsilon / 2)
        c = (root + 1) / (root - 1)
        assert law.law.window / law.law.outputs == pytest.approx((c - 1) / (2 * c), rel=1e-8)
        assert law.law.inside / 2**62 == pytest.approx(root / (root + 1), rel=1e-8)
        assert float(law.estimate(law.law.outputs - 1, 1)) == pytest.approx(c, rel=1e-8)


@pytest.mark.parametrize("given", [0, 3, 8])
@pytest.mark.parametrize("epsilon", [0.7, 2.0, 5.0])
def test_messages_of_small_grids_with_power(given: int, epsilon: float) -> None:
    law = PiecewiseLaw.from_epsilon(Fraction(epsilon), 8)
    with seeded(11):
        observed = np.bincount(law.draw(np.full(DRAWS, given)), minlength=law.outputs)
    for factor, expected in ((1.0, True), (0.7, False), (1.3, False)):
        chance = law.window * math.exp(factor * epsilon)
        other = PiecewiseLaw(8, law.window, int(2**62 * chance / (chance + 8)))
        shares = np.array([float(other.probability(given, y)) for y in range(law.outputs)])
        p_value = scipy.stats.chisquare(observed, shares * DRAWS, sum_check=False).pvalue
        assert bool(p_value > 1e-9) is expected


@pytest.mark.parametrize("t", [-1.0, 0.3, 1.0])
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_messages_of_the_real_grid_with_power(t: float, epsilon: float) -> None:
    with seeded(12):
        law = PiecewiseScalar(-1.0, 1.0, epsilon)
        messages = law.encode(np.full(DRAWS, round(t * 2**40)), 40)
    values = (messages - (law.law.outputs - 1) / 2) / float(law.law.slope) / law.law.steps * 2
    for factor, expected in ((1.0, True), (0.7, False), (1.3, False)):
        root = math.exp(factor * epsilon / 2)
        c = (root + 1) / (root - 1)
        left = (c + 1) / 2 * t - (c - 1) / 2
        right = left + c - 1
        # Ten cells in the window and five on each side, with the continuous law's shares.
        cuts = np.concatenate(
            (np.linspace(-c, left, 6)[:-1], np.linspace(left, right, 11)[:-1], np.linspace(right, c, 6))
        )
        shares = np.repeat([1, root**2, 1], [5, 10, 5]) * np.diff(cuts) / ((c - 1) * root**2 + c + 1)
        kept = shares > 1e-6
        cell = np.searchsorted(cuts, values) - 1
        observed = np.array([np.count_nonzero(cell == j) for j in np.flatnonzero(kept)])
        outside = DRAWS - observed.sum()
        # A message next to a cut may fall on its other side: one in 10^8.
        p_value = scipy.stats.chisquare(observed, shares[kept] * DRAWS, sum_check=False).pvalue
        assert bool(p_value > 1e-9 and outside == 0) is expected


@pytest.mark.parametrize("law", SMALL, ids=str)
def test_the_sampler_by_all_its_draws(law: PiecewiseLaw, monkeypatch: pytest.MonkeyPatch) -> None:
    # All coins and all uniform draws, with their exact chances, add up to the law that is proved private.
    for given in range(law.steps + 1):
        found = dict.fromkeys(range(law.outputs), Fraction(0))
        for is_inside in (True, False):
            limit = law.window if is_inside else law.steps
            chance = Fraction(law.inside if is_inside else 2**62 - law.inside, 2**62 * limit)

            def coins(numerators: np.ndarray, bits: int, is_inside: bool = is_inside) -> np.ndarray:
                assert bits == 62
                assert (numerators == law.inside).all()
                return np.full(numerators.size, is_inside)

            def drawn_below(limits: np.ndarray, limit: int = limit) -> np.ndarray:
                assert (limits == limit).all()
                return np.arange(limit)

            monkeypatch.setattr(scalar_piecewise, "draw_bernoulli", coins)
            monkeypatch.setattr(scalar_piecewise, "draw_below", drawn_below)
            for message in law.draw(np.full(limit, given)).tolist():
                found[message] += chance
        assert found == {y: law.probability(given, y) for y in range(law.outputs)}
