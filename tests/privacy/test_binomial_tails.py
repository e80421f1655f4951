"""Binomial tails in logarithms: exact fractions on small numbers, fifty digits on large ones."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from emdp.privacy.binomial_tails import LOG_MARGIN, half_log_pmf, half_tail_ratio, log_margin, log_pmf, log_tail


def log_factorial(n: int) -> Decimal:
    """``ln n!`` to forty digits, by Stirling's series (``n`` above 1000)."""
    x = Decimal(n)
    two_pi = 2 * Decimal("3.14159265358979323846264338327950288419716939937511")
    series = 1 / (12 * x) - 1 / (360 * x**3) + 1 / (1260 * x**5) - 1 / (1680 * x**7) + 1 / (1188 * x**9)
    return x * x.ln() - x + (two_pi * x).ln() / 2 + series


@pytest.mark.parametrize("c", [1, 2, 3, 7, 16, 17, 40, 101, 300, 1000])
def test_fair_coins_agree_with_exact_fractions(c: int) -> None:
    weights = [math.comb(c, k) for k in range(c + 1)]
    tails = [sum(weights[k:]) for k in range(c + 2)]
    u = np.arange((c + 1) // 2 + 1, c + 2, dtype=float)
    ratios = half_tail_ratio(np.full_like(u, c), u)
    assert ratios == pytest.approx([float(Fraction(tails[int(k)], weights[int(k) - 1])) for k in u], rel=1e-13)
    logs = half_log_pmf(np.full_like(u, c), u - 1)
    assert logs == pytest.approx([math.log(weights[int(k) - 1]) - c * math.log(2) for k in u], rel=1e-13, abs=3e-12)


@pytest.mark.parametrize("p", [1e-5, 0.01, 0.37, 0.5, 0.95, 0.9999])
@pytest.mark.parametrize("n", [1, 2, 5, 30, 300])
def test_any_coin_agrees_with_exact_fractions(n: int, p: float) -> None:
    share = Fraction(p)
    part, whole = share.numerator, share.denominator
    weights = [math.comb(n, k) * part**k * (whole - part) ** (n - k) for k in range(n + 1)]
    scale = n * math.log(whole)
    k = np.arange(n + 1, dtype=float)
    logs = [math.log(weight) - scale for weight in weights]
    assert log_pmf(float(n), k, p, float(1 - share)) == pytest.approx(logs, abs=1e-10)
    k = k[k >= n * p]
    tails = [math.log(sum(weights[int(first) :])) - scale for first in k]
    assert log_tail(float(n), k, p, float(1 - share)) == pytest.approx(tails, abs=1e-10)


@pytest.mark.parametrize(
    ("n", "k", "p"),
    [(10**10, 10**10 // 2 + 3 * 10**6, 0.5), (10**10, 62_000, 6e-6), (10**10, 9 * 10**9, 0.9), (10**8, 5 * 10**7, 0.3)],
)
def test_large_numbers_agree_with_fifty_digits_within_a_tenth_of_the_margin(n: int, k: int, p: float) -> None:
    with localcontext() as context:
        context.prec = 50
        share = Decimal(p)
        exact = log_factorial(n) - log_factorial(k) - log_factorial(n - k) + k * share.ln() + (n - k) * (1 - share).ln()
        found = float(log_pmf(float(n), np.array([float(k)]), p, 1 - p)[0])
        assert abs(Decimal(found) - exact) < Decimal(log_margin(abs(found), n)) / 10
    assert log_margin(0.0, n) == LOG_MARGIN


def test_a_deep_tail_is_not_cut() -> None:
    # Pr[Bin(10^6, 1/2) >= 10^6] = 2^-10^6, far below the smallest float
    assert log_tail(1e6, np.array([1e6]), 0.5, 0.5)[0] == pytest.approx(-1e6 * math.log(2), rel=1e-14)
