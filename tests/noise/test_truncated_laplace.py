"""The truncated discrete Laplace law: law with power in both ways of drawing, its edge in fractions, close coins."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats

from emdp.base.errors import UsageError
from emdp.noise.exact import exp_bounds
from emdp.noise.truncated_laplace import (
    draw_truncated_laplace,
    truncated_laplace_edge,
    truncated_laplace_standard_deviation,
)
from emdp.testing import seeded


def law(scale: float, reach: int) -> np.ndarray:
    weights = np.exp(-np.abs(np.arange(-reach, reach + 1)) / scale)
    return np.asarray(weights / weights.sum())


@pytest.mark.parametrize(("scale", "reach"), [(2.0, 6), (6.0, 4), (1.0, 1), (3.0, 3)])
def test_law_with_power(scale: float, reach: int) -> None:
    with seeded(4):
        drawn = draw_truncated_laplace(scale, reach, 40_000)
    observed = np.bincount(drawn + reach, minlength=2 * reach + 1)

    def p_value(other: float) -> float:
        return float(scipy.stats.chisquare(observed, law(other, reach) * drawn.size).pvalue)

    assert p_value(scale) > 1e-6
    assert p_value(0.7 * scale) < 1e-6
    assert p_value(1.3 * scale) < 1e-6


@pytest.mark.parametrize(("scale", "reach"), [(0.25, 1), (1.0, 7), (2.0**20, 5), (300.0, 9000), (1.0, 700)])
def test_the_edge_is_rounded_up_from_the_exact_value(scale: float, reach: int) -> None:
    # 1/P(edge) by the geometric series, in rationals of 400 bits.
    step = exp_bounds(1 / Fraction(scale), 400)[0]
    last = exp_bounds(reach / Fraction(scale), 400)[0]
    terms = (1 + 2 * step * (1 - last) / (1 - step)) / last
    edge = truncated_laplace_edge(scale, reach)
    assert 0 <= float(Fraction(edge) * terms) - 1 < 1e-11
    assert truncated_laplace_edge(scale, 0) == 1.0


def test_standard_deviation() -> None:
    for scale, reach in ((2.0, 6), (6.0, 4), (50.0, 900)):
        steps = np.arange(-reach, reach + 1)
        exact = math.sqrt(float((law(scale, reach) * steps**2).sum()))
        assert abs(truncated_laplace_standard_deviation(scale, reach) / exact - 1) < 1e-9
    assert abs(truncated_laplace_standard_deviation(2.0**24, 2**40) / (math.sqrt(2) * 2.0**24) - 1) < 1e-4


def test_close_coins_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    word = math.floor(math.exp(-1.0 / 4.0) * 2.0**64) - 10_000
    words = np.array([word], dtype=np.uint64)
    monkeypatch.setattr("emdp.noise.truncated_laplace.random_words", lambda count: words[:count].copy())
    proposals = iter([np.array([2]), np.array([1])])
    monkeypatch.setattr("emdp.noise.truncated_laplace.draw_below", lambda limits: next(proposals))
    # First 1 is proposed, |1| with chance exp(-1/4): just below it is kept, just above refused, and then 0 is taken.
    assert draw_truncated_laplace(4.0, 1, 1).tolist() == [1]
    words[0] = word + 20_000
    proposals = iter([np.array([2]), np.array([1])])
    assert draw_truncated_laplace(4.0, 1, 1).tolist() == [0]


def test_refusals() -> None:
    for scale, reach in ((0.0, 1), (2.0**47, 1), (1.0, -1), (1.0, 2**61)):
        with pytest.raises(UsageError):
            draw_truncated_laplace(scale, reach, 1)
