"""Noise drawn backwards: chances of the pieces and whole laws against Bayes' rule, the sampler with stated power."""

import math

import numpy as np
import pytest
import scipy.stats

from emdp.base.errors import UsageError
from emdp.noise.discrete_laplace import draw_discrete_laplace
from emdp.noise.laplace_refining import _approximate, draw_stronger, piece_bounds
from emdp.noise.laplace_steps import rest_bounds
from emdp.testing import seeded

CASES = [(0, 1.0, 3.0), (5, 1.0, 3.0), (2, 5.0, 7.0), (30, 2.0, 2.1), (1, 0.4, 0.5)]
REACH = 300


def bayes(b: int, strong: float, weak: float) -> tuple[np.ndarray, float]:
    """Law of the stronger noise given the weaker, and the part of it in which nothing was added."""
    axis = np.arange(-REACH, REACH + 1)

    def law(values: np.ndarray, scale: float) -> np.ndarray:
        return np.tanh(0.5 / scale) * np.exp(-np.abs(values) / scale)

    rest = float(rest_bounds(strong, weak)(64)[0])
    found = law(axis, strong) * (1 - rest) * law(b - axis, weak)
    found[REACH + b] += (alone := float(law(np.array([b]), strong)[0]) * rest)
    return found / found.sum(), alone / found.sum()


@pytest.mark.parametrize(("b", "strong", "weak"), CASES)
def test_chances_of_the_pieces_are_those_of_bayes_rule(b: int, strong: float, weak: float) -> None:
    law, rest = bayes(b, strong, weak)
    found = [float(bounds(64)[0]) for bounds in piece_bounds(b, strong, weak)]
    below, inner = law[:REACH].sum(), law[REACH : REACH + b + 1].sum() - rest
    assert found == pytest.approx([rest, rest + below, rest + below + inner], abs=1e-12)
    assert _approximate(b, strong, weak) == pytest.approx(found, abs=2.0**-40)
    for bounds in piece_bounds(b, strong, weak):
        low, high = bounds(64)
        assert 0 < low <= high <= 1
        assert high - low <= 2.0**-64


@pytest.mark.parametrize(
    ("b", "strong", "weak"), [(10**12, 2.0**36, 2.0**42), (3, 2.0**36, 2.0**42), (0, 0.5, 2.0**50)]
)
def test_float64_is_near_enough_to_decide(b: int, strong: float, weak: float) -> None:
    exact = [float(bounds(64)[0]) for bounds in piece_bounds(b, strong, weak)]
    assert _approximate(b, strong, weak) == pytest.approx(exact, abs=2.0**-36)


@pytest.mark.quarter
@pytest.mark.parametrize("weaker", [0, 4, -4])
def test_draws_have_the_law_with_power(weaker: int) -> None:
    draws, strong, weak = 12_000 if weaker == 0 else 4000, 1.0, 3.0
    with seeded(9):
        found = np.array([draw_stronger(weaker, strong, weak) for _ in range(draws)])
    found = found if weaker >= 0 else -found

    def p_value(scale: float) -> float:
        law, _ = bayes(abs(weaker), scale, weak)
        cells = np.array([law[: REACH - 1].sum(), *law[REACH - 1 : REACH + 6], law[REACH + 6 :].sum()])
        counts = np.bincount(np.clip(found, -2, 6) + 2, minlength=9)
        keep = cells * draws > 5
        rest = np.array([cells[~keep].sum() * draws + 1e-9])
        expected = np.concatenate([cells[keep] * draws, rest])
        observed = np.concatenate([counts[keep], [counts[~keep].sum()]])
        return float(scipy.stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue)

    assert p_value(strong) > 1e-9
    assert p_value(0.7 * strong) < 1e-9
    assert p_value(1.3 * strong) < 1e-9


def test_made_of_the_weaker_the_noise_has_the_stronger_law() -> None:
    strong, weak, draws = 2.0**38, 2.0**40, 1500
    with seeded(4):
        weaker = draw_discrete_laplace(weak, draws)
        found = np.array([draw_stronger(z, strong, weak) for z in weaker], dtype=float)
    p_values = [scipy.stats.kstest(found / (strong * factor), "laplace").pvalue for factor in (0.5, 1.0, 2.0)]
    assert p_values[1] > 1e-9 > max(p_values[0], p_values[2])
    same = np.mean(found == np.array(weaker, dtype=float))
    assert math.isclose(same, 1 / 16, abs_tol=0.03)


def test_scales_the_wrong_way_round_are_refused() -> None:
    with pytest.raises(UsageError):
        draw_stronger(1, 3.0, 1.0)
