"""The exact clone pair: unit vectors, exact fractions, and a plain sum over all counts."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from emdp.base.errors import UsageError
from emdp.privacy.shuffle.clone_pair import CLONE_BITS, CloneMixture, delta_step


def exact_excess(others: int, clone: Fraction, r: Fraction) -> Fraction:
    """``G(r)`` by its definition: every number of clones, every outcome."""
    total = Fraction(0)
    for c in range(others + 1):
        mass = math.comb(others, c) * clone**c * (1 - clone) ** (others - c)
        inner = Fraction(0)
        for a in range(c + 2):
            x = math.comb(c, a - 1) if a >= 1 else 0
            inner += max(r * x - (1 + r) * math.comb(c, a), Fraction(0))
        total += mass * inner / 2**c
    return total


@pytest.mark.parametrize(
    ("epsilon", "n", "tilt", "clone", "value"),
    [(0.3, 5, 1.0, 0.3, 0.197344757286), (0.9, 12, 2.0, 0.1, 0.334604021665), (0.05, 30, 0.5, 0.6, 0.026021274887)],
)
def test_unit_vectors(epsilon: float, n: int, tilt: float, clone: float, value: float) -> None:
    found = delta_step(epsilon, others=n - 1, tilt=tilt, clone_probability=clone)
    assert value * (1 - 1e-11) <= found <= value * (1 + 3e-8)


@pytest.mark.quarter
@pytest.mark.parametrize("others", [0, 1, 2, 5, 17, 40])
@pytest.mark.parametrize("clone", [1e-6, 0.05, 0.37, 0.8, 0.9999])
@pytest.mark.parametrize("ratio", [1e-3, 0.21, 1.0, 7.3, 1e6])
def test_the_sum_is_rounded_outward(others: int, clone: float, ratio: float) -> None:
    exact = exact_excess(others, Fraction(clone), Fraction(ratio))
    log_exact = math.log(exact.numerator) - math.log(exact.denominator)
    rest = float(1 - Fraction(clone))
    assert log_exact < CloneMixture(others, clone, rest).log_excess(ratio) < log_exact + 1e-7


@pytest.mark.parametrize("others", [1, 6, 33])
def test_the_total_variation_is_the_slope_at_infinity(others: int) -> None:
    mixture = CloneMixture(others, 0.4, 0.6)
    exact = exact_excess(others, Fraction(0.4), Fraction(10**9)) / 10**9
    assert math.exp(mixture.log_excess(math.inf)) == pytest.approx(float(exact), rel=1e-6)
    found = delta_step(0.0, others=others, tilt=1.0, clone_probability=0.4)
    assert found == pytest.approx(math.tanh(0.5) * math.exp(mixture.log_excess(math.inf)), rel=1e-12)


@pytest.mark.parametrize(
    ("others", "clone", "ratio"), [(200_000, 0.6, 40.0), (10**6, 0.3, 25.0), (5 * 10**6, 0.05, 70.0)]
)
def test_many_clones_agree_with_a_plain_sum(others: int, clone: float, ratio: float) -> None:
    mean, spread = others * clone, math.sqrt(others * clone * (1 - clone))
    c = np.arange(math.floor(mean - 12 * spread), math.ceil(mean + 9 * spread))
    u = np.floor((1 + ratio) * (c + 1) / (1 + 2 * ratio)) + 1
    plain = binom.pmf(c, others, clone) @ (ratio * binom.sf(u - 2, c, 0.5) - (1 + ratio) * binom.sf(u - 1, c, 0.5))
    found = math.exp(CloneMixture(others, clone, 1 - clone).log_excess(ratio))
    # one more clone takes off about 1/(8 r^2): the cells' width times that is the looseness
    width = mean * 2.0 ** (1 - CLONE_BITS)
    assert plain * (1 - 1e-7) <= found <= plain * math.exp((width / (8 * ratio**2)) * 1.2 + 2 * width / mean)


def test_a_mesh_keeps_its_answer() -> None:
    fresh, used = (CloneMixture(10**7, 0.2, 0.8) for _ in range(2))
    for ratio in (3.0, 1e4, 0.5, 300.0):
        used.log_excess(ratio)
    for target in (-50.0, -10.0, -100.0):
        used.is_below(200.0, target)
    assert used.log_excess(90.0) == pytest.approx(fresh.log_excess(90.0), abs=1e-9)
    assert used.log_excess(90.0) <= used.log_excess(91.0)


TABLE = [
    (0.5, 10**4, 0.1, 0.001656),
    (0.5, 10**6, 0.01, 0.000004),
    (1, 10**3, 0.1, 0.016630),
    (1, 10**3, 1, 0.182412),
    (1, 10**4, 0.1, 0.00472370),
    (1, 10**4, 1, 0.05300532),
    (1, 10**5, 0.1, 0.001310),
    (1, 10**6, 0.5, 0.002142),
    (2, 10**4, 0.25, 0.045856),
    (2, 10**5, 0.5, 0.02627021),
    (2, 10**6, 1, 0.012958),
    (4, 10**3, 1, 3.98996),
    (4, 10**4, 0.1, 0.106735),
    (4, 10**5, 0.25, 0.07711399),
    (4, 10**6, 1, 0.049307),
]
"""Technical-notes 1.2: alpha0, items, w, and the smallest epsilon at delta = 1e-6."""


@pytest.mark.parametrize(("alpha0", "n", "w", "epsilon"), TABLE)
def test_the_table_of_one_moved_item(alpha0: float, n: int, w: float, epsilon: float) -> None:
    def is_private(level: float) -> bool:
        return delta_step(level, others=n - 1, tilt=alpha0 * w, clone_probability=math.exp(-alpha0)) <= 1e-6

    assert is_private(epsilon + 1e-5)
    assert not is_private(max(epsilon - 1e-5, 0.0) * (1 - 1e-5))


def test_it_falls_with_more_others_and_more_clones() -> None:
    values = [delta_step(0.2, others=n, tilt=1.0, clone_probability=0.3) for n in (0, 1, 2, 10, 11, 1000)]
    assert values == sorted(values, reverse=True)
    values = [delta_step(0.2, others=50, tilt=1.0, clone_probability=p) for p in (0.0, 0.01, 0.5, 0.99, 1.0)]
    assert values == sorted(values, reverse=True)


def test_no_other_item_is_randomized_response() -> None:
    with localcontext() as context:
        context.prec = 30
        p, level = Decimal(2).exp(), Decimal("0.5").exp()
        exact = (p - level) / (1 + p)
    assert delta_step(0.5, others=0, tilt=2.0, clone_probability=0.3) == pytest.approx(float(exact), rel=3e-8)
    assert delta_step(math.inf, others=0, tilt=2.0, clone_probability=0.3) == 0


@pytest.mark.parametrize(
    "change", [{"others": -1}, {"others": 1.5}, {"tilt": 0}, {"tilt": math.nan}, {"clone_probability": 1.2}]
)
def test_malformed_arguments_are_refused(change: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        delta_step(0.1, **{"others": 3, "tilt": 1.0, "clone_probability": 0.5, **change})
    with pytest.raises(UsageError):
        delta_step(-0.1, others=3, tilt=1.0, clone_probability=0.5)
