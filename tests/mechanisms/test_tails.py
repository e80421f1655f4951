"""Half widths by Bernstein and by Berry and Esseen, against their inequalities and exact tails of binomial errors."""

import itertools
import math

import pytest
from scipy.stats import binom, norm

from emdp.mechanisms.tails import bernstein_half, normal_half


@pytest.mark.parametrize(("variance", "bound", "count", "tail"), [(1.0, 1.0, 100, 0.05), (0.01, 3.0, 7, 1e-9)])
def test_bernstein_solves_its_inequality(variance: float, bound: float, count: int, tail: float) -> None:
    half = bernstein_half(variance, bound, count, tail)
    assert 2 * math.exp(-count * half**2 / (2 * (variance + bound * half / 3))) == pytest.approx(tail)


def test_the_normal_width_leaves_room_for_what_the_law_is_off() -> None:
    half = normal_half(4.0, 1.5, 10_000, 0.05)
    assert 2 * norm.sf(half / math.sqrt(4.0 / 10_000)) + 2 * 0.56 * 1.5 / 100 == pytest.approx(0.05, rel=1e-6)
    assert normal_half(4.0, 1.5, 1000, 0.05) == math.inf
    assert normal_half(1.0, math.inf, 10, 0.5) == math.inf


def outside(chance: float, count: int, half: float) -> float:
    """Return the exact probability that a mean of so many bits is farther off than a half width."""
    low, high = count * (chance - half), count * (chance + half)
    return float(binom.cdf(math.ceil(low) - 1, count, chance) + binom.sf(math.floor(high), count, chance))


@pytest.mark.parametrize("tail", [0.3, 0.05, 1e-4])
def test_errors_of_bits_are_within_both_as_often_as_is_said(tail: float) -> None:
    """Bits, whose law is known exactly; 0.7 times the width would not hold."""
    narrow = 0
    for chance, count in itertools.product((0.5, 0.2, 0.03), (30, 1000, 100_000)):
        variance = chance * (1 - chance)
        skew = (chance**2 + (1 - chance) ** 2) / math.sqrt(variance)
        for half in (bernstein_half(variance, 1 - chance, count, tail), normal_half(variance, skew, count, tail)):
            assert outside(chance, count, min(half, 1.0)) <= tail
            narrow += outside(chance, count, min(0.7 * half, 1.0)) > tail
    assert narrow >= 2
