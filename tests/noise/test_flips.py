"""Permute-and-flip: the law by enumeration of orders, with power; close coins; refusals."""

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats
from exact_laws import flip_law

from emdp.base.errors import UsageError
from emdp.noise.flips import draw_permute_and_flip
from emdp.testing import seeded

Floats = npt.NDArray[np.float64]


def test_law_with_power() -> None:
    costs = [3, 1, 0, 1, 4]

    def p_value(rate: float) -> float:
        with seeded(5):
            drawn = [draw_permute_and_flip(np.array(costs), Fraction(rate)) for _ in range(8000)]
        return float(scipy.stats.chisquare(np.bincount(drawn, minlength=5), flip_law(costs, 0.5) * 8000).pvalue)

    assert p_value(0.5) > 1e-9
    assert p_value(0.35) < 1e-9
    assert p_value(0.65) < 1e-9


def test_close_coins_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """A word within 2^-30 of the chance is not left to floats."""
    word = math.floor(math.exp(-1.0) * 2.0**64) - 10_000
    words = np.array([word, 0], dtype=np.uint64)
    monkeypatch.setattr("emdp.noise.flips.random_words", lambda count: words.copy())
    monkeypatch.setattr("emdp.noise.flips.draw_permutation", np.arange)
    assert draw_permute_and_flip(np.array([1, 0]), Fraction(1)) == 0
    words[0] = word + 20_000
    assert draw_permute_and_flip(np.array([1, 0]), Fraction(1)) == 1


def test_underflow_is_no_certain_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    """A word of 0 against a chance that float64 has as 0: decided by further bits, against."""
    monkeypatch.setattr("emdp.noise.flips.random_words", lambda count: np.zeros(count, dtype=np.uint64))
    monkeypatch.setattr("emdp.noise.flips.draw_permutation", np.arange)
    assert draw_permute_and_flip([10**6, 0], Fraction(1)) == 1


@pytest.mark.parametrize(
    ("costs", "rate"), [([], 1), ([-1], 1), ([2**53], 1), ([0.5], 1), ([[1]], 1), ([1], 0), ([1], -1), ([1], 2**21)]
)
def test_refusals(costs: list[int], rate: int) -> None:
    with pytest.raises(UsageError):
        draw_permute_and_flip(costs, Fraction(rate))
