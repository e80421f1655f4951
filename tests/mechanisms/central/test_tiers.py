"""Tiers of one release: what every coalition of readers learns, by enumeration; the laws, with stated power."""

import itertools
import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats
from scipy.integrate import quad

from emdp.base.errors import UsageError
from emdp.mechanisms import GaussianMechanism, KNormMechanism, LaplaceMechanism
from emdp.mechanisms.central.tiers import TieredNoise
from emdp.noise.laplace_steps import rest_bounds
from emdp.testing import seeded

Floats = npt.NDArray[np.float64]
LEVELS = (2.0, 1.0, 0.25)
REACH = 260


def laplace(scale: float) -> Floats:
    return np.tanh(0.5 / scale) * np.exp(-np.abs(np.arange(-REACH, REACH + 1)) / scale)


def step(strong: float, weak: float) -> Floats:
    rest = float(rest_bounds(strong, weak)(64)[0])
    found = (1 - rest) * laplace(weak)
    found[REACH] += rest
    return found


def convolved(laws: list[Floats]) -> Floats:
    found = laws[0]
    for law in laws[1:]:
        found = np.convolve(found, law)[REACH : 3 * REACH + 1]
    return found


def joint(pieces: list[Floats], coalition: tuple[int, ...], shift: int, near: int) -> Floats:
    """Law of the answers of a coalition around 0: chains of steps, what is not seen summed over."""
    laws, last = [], -1
    for tier in coalition:
        laws.append(convolved(pieces[last + 1 : tier + 1]))
        last = tier
    axis = np.arange(-near, near + 1)
    found = laws[0][axis - shift + REACH]
    for place, law in enumerate(laws[1:], 1):
        moves = axis[None, :] - axis[:, None]
        found = found[..., None] * law[moves + REACH].reshape((1,) * (place - 1) + moves.shape)
    return np.asarray(found)


def test_every_coalition_loses_what_its_strongest_loses() -> None:
    mechanism = LaplaceMechanism(sensitivity=1.0, alpha=2.0, magnitude=2.0**60)
    noise = TieredNoise.of(mechanism, LEVELS)
    scales = [tier.noise_units for tier in noise.tiers]
    assert scales[1:] == [2 * scales[0], 8 * scales[0]]
    pieces = [laplace(scales[0]), step(scales[0], scales[1]), step(scales[1], scales[2])]
    for size in (1, 2, 3):
        for coalition in itertools.combinations(range(3), size):
            first, second = (joint(pieces, coalition, shift, 12) for shift in (0, 3))
            worst = float(np.abs(np.log(first) - np.log(second)).max())
            assert worst == pytest.approx(3 / scales[coalition[0]], rel=1e-9), coalition


def test_independent_noise_for_each_tier_loses_the_sum() -> None:
    scales = [2.0, 4.0, 16.0]
    axis = np.arange(-12, 13)
    first, second = (
        np.prod(np.meshgrid(*(laplace(scale)[axis - shift + REACH] for scale in scales), indexing="ij"), axis=0)
        for shift in (0, 3)
    )
    worst = float(np.abs(np.log(first) - np.log(second)).max())
    assert worst == pytest.approx(sum(3 / scale for scale in scales), rel=1e-9)
    assert worst > 1.3 * 3 / scales[0]


@pytest.mark.parametrize(("a", "b"), [(0.9, 1.1), (1.5, 0.8), (3.0, 2.0)])
def test_a_sum_of_discrete_gaussians_is_as_near_as_the_theorem_says(a: float, b: float) -> None:
    axis = np.arange(-80, 81)

    def law(scale: float) -> Floats:
        weights = np.exp(-0.5 * (axis / scale) ** 2)
        return np.asarray(weights / weights.sum())

    total = math.hypot(a, b)
    summed = np.convolve(law(a), law(b))[80:241]
    inner = np.abs(axis) <= 6 * total
    bound = 13 * math.exp(-2 * math.pi**2 * (a * b / total) ** 2)
    assert np.abs(summed[inner] / law(total)[inner] - 1).max() <= bound + 1e-9


@pytest.mark.quarter
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("factor", [0.7, 1.0, 1.3])
def test_each_tier_has_the_law_of_its_level(kind: str, factor: float) -> None:
    draws = 20_000
    if kind == "laplace":
        first: LaplaceMechanism | GaussianMechanism = LaplaceMechanism(sensitivity=0.01, alpha=8.0, dimension=draws)
        continuous = scipy.stats.laplace
    else:
        first = GaussianMechanism(sensitivity=0.01, alpha=8.0, delta=1e-9, dimension=draws)
        continuous = scipy.stats.norm
    # Near levels: what tier 3 would lack without the step of tier 2 is a third of its scale.
    noise = TieredNoise.of(first, (8.0, 5.0, 4.5))
    with seeded(3):
        strongest = first.release([Fraction(1)] * draws)
        answers = [strongest, *noise.lowered(strongest)]
    for tier, answer in zip(noise.tiers, answers, strict=True):
        found = np.array([float(value - 1) for value in answer]) / (tier.scale * factor)
        p = float(scipy.stats.kstest(found, continuous.cdf).pvalue)
        assert p > 1e-9 if factor == 1.0 else p < 1e-9
    weakest, strong = (np.array([float(value - 1) for value in answers[place]]) for place in (2, 0))
    # What a coalition could average away: the weaker tier's surplus is independent of the stronger's noise.
    assert abs(np.corrcoef(strong, weakest - strong)[0, 1]) < 0.04


def test_weaker_tiers_are_made_of_the_answer_alone() -> None:
    first = LaplaceMechanism(sensitivity=0.01, alpha=8.0, dimension=2)
    noise = TieredNoise.of(first, (8.0, 1.0))
    with seeded(1):
        (made,) = noise.lowered((Fraction(0), Fraction(3)))
    with seeded(1):
        (again,) = noise.lowered((Fraction(5), Fraction(8)))
    assert [two - one for one, two in zip(made, again, strict=True)] == [5, 5]
    assert all((value / Fraction(first.grid)).denominator == 1 for value in made)


def test_a_constant_is_the_same_for_all() -> None:
    noise = TieredNoise.of(LaplaceMechanism(sensitivity=0.0, alpha=2.0), (2.0, 1.0))
    assert noise.lowered((Fraction(1, 3),)) == ((Fraction(1, 3),),)


def test_gaussian_steps_are_never_too_small() -> None:
    first = GaussianMechanism(sensitivity=0.01, alpha=8.0, delta=1e-9)
    noise = TieredNoise.of(first, (8.0, 4.0, 1.0))
    for place in (1, 2):
        weaker = Fraction(noise.tiers[place].noise_units) ** 2
        stronger = Fraction(noise.tiers[place - 1].noise_units) ** 2
        step_scale = Fraction(noise._step_scale(place)) ** 2
        assert weaker - stronger <= step_scale <= (weaker - stronger) * (1 + Fraction(1, 2**39))


def test_a_refinement_is_never_an_event_of_the_difference() -> None:
    """Levels 1, then 3: in Renyi divergence of order 2 the two cost 2.595, where events of 1 and 2 would say 2.215."""

    def price(level: float) -> float:
        whole, _ = quad(
            lambda y: level / 2 * math.exp(-level * (2 * abs(y) - abs(y - 1))), -60 / level, 60, points=[0, 1]
        )
        closed = 2 / 3 * math.exp(level) + math.exp(-2 * level) / 3
        assert whole == pytest.approx(closed, rel=1e-6)
        return math.log(closed)

    assert price(3.0) == pytest.approx(2.595, abs=6e-4)
    assert price(1.0) + price(2.0) == pytest.approx(2.215, abs=6e-4)
    # By itself, given what the first answer was, the second can lose 4: more than all of it together.
    axis = np.arange(-5, 6.5, 0.5)
    lost = np.abs(axis - 1) - np.abs(axis)
    assert (3 * lost[:, None] - lost).max() == 4.0
    assert (3 * lost).max() == 3.0


def test_refusals() -> None:
    laplace_noise = LaplaceMechanism(sensitivity=0.01, alpha=8.0)
    gaussian = GaussianMechanism(sensitivity=0.01, alpha=8.0, delta=1e-9)
    with pytest.raises(UsageError, match="Laplace or Gaussian"):
        TieredNoise.of(KNormMechanism(sensitivity=0.01, alpha=8.0, dimension=2), (8.0, 1.0))
    with pytest.raises(UsageError, match="begin with"):
        TieredNoise.of(laplace_noise, (4.0, 1.0))
    with pytest.raises(UsageError, match="must fall"):
        TieredNoise.of(laplace_noise, (8.0, 8.0))
    with pytest.raises(UsageError, match="further apart"):
        TieredNoise.of(gaussian, (8.0, 7.9999))
    with pytest.raises(UsageError, match="values must be"):
        TieredNoise.of(laplace_noise, (8.0, 1.0)).lowered((Fraction(1), Fraction(2)))
    with pytest.raises(UsageError, match="step must be"):
        LaplaceMechanism(sensitivity=0.01, alpha=8.0, step=0.3)
    with pytest.raises(UsageError, match="step must be"):
        LaplaceMechanism(sensitivity=0.01, alpha=8.0, step=2.0**-100)
