"""The discrete Laplace law's functions against sums, and the exact continuation of a draw that opendp cut."""

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emdp.base.errors import UsageError
from emdp.noise import discrete_laplace
from emdp.noise.discrete_laplace import (
    discrete_laplace_cdf,
    discrete_laplace_log_pmf,
    discrete_laplace_mean_absolute,
    discrete_laplace_quantile,
    discrete_laplace_standard_deviation,
    draw_discrete_laplace,
)
from emdp.noise.integers import I64_MAX, I64_MIN
from emdp.testing import seeded

SCALES = [0.05, 0.5, 1.0, 1.7, 3.0, 20.0]


def pmf(scale: float) -> dict[int, float]:
    """Plain reference: weights over their sum."""
    reach = math.ceil(60 * scale) + 2
    weights = {k: math.exp(-abs(k) / scale) for k in range(-reach, reach + 1)}
    total = math.fsum(weights.values())
    return {k: weight / total for k, weight in weights.items()}


@pytest.mark.parametrize("scale", SCALES)
def test_law_agrees_with_sums(scale: float) -> None:
    reference = pmf(scale)
    below = 0.0
    for k, chance in reference.items():
        below += chance
        assert math.exp(discrete_laplace_log_pmf(k, scale)) == pytest.approx(chance, rel=1e-12, abs=1e-300)
        assert discrete_laplace_cdf(k, scale) == pytest.approx(below, rel=1e-9, abs=1e-15)
    mean = math.fsum(abs(k) * chance for k, chance in reference.items())
    square = math.fsum(k * k * chance for k, chance in reference.items())
    assert discrete_laplace_mean_absolute(scale) == pytest.approx(mean, rel=1e-12)
    assert discrete_laplace_standard_deviation(scale) == pytest.approx(math.sqrt(square), rel=1e-12)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("tail", [1.0, 0.5, 0.05, 1e-3, 1e-9])
def test_quantile_is_the_least(scale: float, tail: float) -> None:
    reference = pmf(scale)
    expected = next(k for k in itertools.count() if math.fsum(p for j, p in reference.items() if abs(j) > k) <= tail)
    assert discrete_laplace_quantile(tail, scale) == expected


@settings(deadline=None, max_examples=200)
@given(st.floats(0.5, 2.0**56), st.floats(1e-300, 1.0))
def test_quantile_is_outward_and_tight(scale: float, tail: float) -> None:
    k = discrete_laplace_quantile(tail, scale)
    log_ratio = Fraction(1) / Fraction(scale)

    def log_tail(j: int) -> float:
        return math.log(2.0) - math.log1p(math.exp(-1.0 / scale)) - float((j + 1) * log_ratio)

    assert k == 0 or log_tail(k) <= math.log(tail)
    assert k == 0 or log_tail(k - 1 - math.ceil(k * 2.0**-40)) > math.log(tail) - 1e-12 * (1 - math.log(tail))


def test_far_tails_are_relative() -> None:
    assert discrete_laplace_cdf(-(2**46), 2.0**40) == pytest.approx(0.5 * math.exp(-64), rel=1e-9)
    assert discrete_laplace_log_pmf(2**50, 2.0**40) == pytest.approx(-1024 - 41 * math.log(2), rel=1e-12)


def test_seeded_draws_repeat_and_differ_by_seed() -> None:
    def draws(seed: int) -> list[int]:
        with seeded(seed):
            return draw_discrete_laplace(1000.0, 20)

    assert draws(1) == draws(1) != draws(2)
    assert all(isinstance(draw, int) for draw in draws(1))


def test_production_draws_ignore_earlier_seeds() -> None:
    with seeded(1):
        first = draw_discrete_laplace(2.0**40, 5)
    assert first != draw_discrete_laplace(2.0**40, 5) != draw_discrete_laplace(2.0**40, 5)


def test_a_cut_draw_is_continued(monkeypatch: pytest.MonkeyPatch) -> None:
    script = iter([[5, I64_MAX, I64_MIN, -3], [-7], [I64_MAX], [4], [0]])
    monkeypatch.setattr(discrete_laplace, "draw_integers", lambda law, scale, size: next(script))
    # I64_MAX, then a geometric: -7 does not count, I64_MAX is cut itself, 4 ends it; I64_MIN, then 0
    assert draw_discrete_laplace(2.0**40, 4) == [5, 2 * I64_MAX + 4, I64_MIN, -3]


def test_continued_draws_have_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the cut moved to 3, the law beyond it is as without a cut: each tail within 6 sigmas."""
    drawn = discrete_laplace.draw_integers

    def cut(law: str, scale: float, size: int) -> list[int]:
        return [max(-3, min(3, draw)) for draw in drawn("laplace", scale, size)]

    monkeypatch.setattr(discrete_laplace, "draw_integers", cut)
    monkeypatch.setattr(discrete_laplace, "I64_MAX", 3)
    monkeypatch.setattr(discrete_laplace, "I64_MIN", -3)
    count = 4000
    draws = draw_discrete_laplace(2.0, count)
    assert max(draws) > 3 > -3 > min(draws)
    for k in range(9):
        for tail in (sum(draw > k for draw in draws), sum(draw < -k for draw in draws)):
            chance = discrete_laplace_cdf(-k - 1, 2.0)
            assert abs(tail - count * chance) < 6 * math.sqrt(count * chance) + 6


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf, 2.0**57, 2.0**-21, "1", True])
def test_scales_out_of_range_are_refused(scale: object) -> None:
    for call in (
        lambda: draw_discrete_laplace(scale, 1),  # type: ignore[arg-type]
        lambda: discrete_laplace_log_pmf(0, scale),  # type: ignore[arg-type]
        lambda: discrete_laplace_cdf(0, scale),  # type: ignore[arg-type]
        lambda: discrete_laplace_quantile(0.1, scale),  # type: ignore[arg-type]
    ):
        with pytest.raises(UsageError, match="scale"):
            call()


@pytest.mark.parametrize("size", [-1, 1.5])
def test_sizes_out_of_range_are_refused(size: object) -> None:
    with pytest.raises(UsageError, match="size"):
        draw_discrete_laplace(1.0, size)  # type: ignore[arg-type]


@pytest.mark.parametrize("tail", [0.0, -0.1, 1.1, math.nan])
def test_tails_out_of_range_are_refused(tail: float) -> None:
    with pytest.raises(UsageError, match="tail"):
        discrete_laplace_quantile(tail, 1.0)
