"""Steps between discrete Laplace laws: the convolution against the target, the coin, and the sampler with power."""

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from scipy.signal import fftconvolve

from emdp.base.errors import UsageError
from emdp.noise.discrete_laplace import draw_discrete_laplace
from emdp.noise.laplace_steps import draw_laplace_steps, rest_bounds
from emdp.testing import seeded

DRAWS = 40_000
PAIRS = [(1.0, 3.0), (5.0, 7.0), (0.4, 0.5), (2.0, 2.002)]


def law(scale: float, reach: int) -> np.ndarray:
    return np.tanh(0.5 / scale) * np.exp(-np.abs(np.arange(-reach, reach + 1)) / scale)


def step_law(strong: float, weak: float, reach: int) -> np.ndarray:
    """Law of a step, with the chance that the sampler compares with."""
    rest = float(rest_bounds(strong, weak)(64)[0])
    found = (1 - rest) * law(weak, reach)
    found[reach] += rest
    return found


@pytest.mark.parametrize(("strong", "weak"), PAIRS)
def test_the_sum_has_the_weaker_law(strong: float, weak: float) -> None:
    reach = 600
    summed = np.convolve(law(strong, reach), step_law(strong, weak, reach))[reach : 3 * reach + 1]
    inner = slice(reach - 200, reach + 201)
    assert np.allclose(summed[inner], law(weak, reach)[inner], rtol=1e-12, atol=1e-16)


def test_without_the_chance_of_rest_the_law_is_another() -> None:
    reach = 400
    summed = fftconvolve(law(1.0, reach), law(3.0, reach), mode="same")
    assert np.abs(summed - law(3.0, reach)).max() > 0.01


@pytest.mark.parametrize(("strong", "weak"), [*PAIRS, (2.0**40, 2.0**52), (0.5, 2.0**55)])
def test_bounds_hold_the_chance(strong: float, weak: float) -> None:
    with localcontext(prec=400):
        first, second = (Decimal(-1) / Decimal(scale) for scale in (strong, weak))
        odds = [value.exp() / (1 - value.exp()) ** 2 for value in (first, second)]
        exact = Fraction(odds[0] / odds[1])
    for bits in (16, 64, 128):
        low, high = rest_bounds(strong, weak)(bits)
        assert low <= exact <= high
        assert high - low <= low / 2**bits


def p_value(draws: np.ndarray, scale: float) -> float:
    """p-value of integers against the discrete Laplace law, tails merged."""
    reach = max(1, math.ceil(scale * math.log(DRAWS / 200)))
    chances = law(scale, reach)
    tail = (1 - chances.sum()) / 2
    chances[0], chances[-1] = chances[0] + tail, chances[-1] + tail
    observed = np.bincount(np.clip(draws, -reach, reach) + reach, minlength=2 * reach + 1)
    return float(scipy.stats.chisquare(observed, chances * DRAWS).pvalue)


@pytest.mark.parametrize(("strong", "weak"), [(1.0, 3.0), (5.0, 7.0)])
def test_draws_have_the_law_with_power(strong: float, weak: float) -> None:
    with seeded(5):
        noise = np.array(draw_discrete_laplace(strong, DRAWS))
        steps = np.array(draw_laplace_steps(strong, weak, DRAWS))
        assert p_value(noise + steps, weak) > 1e-9
        for factor in (0.7, 1.3):
            assert p_value(noise + steps, weak * factor) < 1e-9
    assert abs(np.corrcoef(noise, steps)[0, 1]) < 0.03


def test_undecided_coins_get_more_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    low, _ = rest_bounds(1.0, 3.0)(64)
    edge = math.floor(low * 2**64)
    words = itertools.cycle([edge, edge - 1, edge + 2**40])
    monkeypatch.setattr(
        "emdp.noise.laplace_steps.random_words",
        lambda count: np.array(list(itertools.islice(words, count)), dtype=np.uint64),
    )
    steps = draw_laplace_steps(1.0, 3.0, 3)
    assert steps[1] == 0


def test_huge_scales_are_python_integers() -> None:
    assert all(type(step) is int for step in draw_laplace_steps(2.0**40, 2.0**52, 50))


@pytest.mark.parametrize("arguments", [(3.0, 1.0, 1), (1.0, 1.0, 1), (0.0, 1.0, 1), (1.0, 2.0**57, 1), (1.0, 2.0, -1)])
def test_bad_arguments_are_refused(arguments: tuple[float, float, int]) -> None:
    with pytest.raises(UsageError):
        draw_laplace_steps(*arguments)
