"""Exact decisions: enclosures against a second method, and questions to one lazily drawn uniform."""

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emdp.noise import exact
from emdp.noise.exact import LazyUniform, exp_bounds, log_factorial_bounds


def rational(number: mpmath.mpf) -> Fraction:
    mantissa, exponent = mpmath.frexp(number)
    return Fraction(int(mantissa * 2**1000)) * Fraction(2) ** (int(exponent) - 1000)


@given(st.fractions(0, 3000, max_denominator=10**12), st.integers(0, 300))
@settings(deadline=None, max_examples=100)
def test_exponentials_are_enclosed_closely(x: Fraction, count: int) -> None:
    low, high = exp_bounds(x, count)
    with mpmath.workprec(1000):
        chance = rational(mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator))
    assert low <= chance * (1 + Fraction(1, 2**900))
    assert high >= chance * (1 - Fraction(1, 2**900))
    assert high - low <= chance * Fraction(1, 2**count)


@given(st.one_of(st.integers(0, 300), st.integers(0, 2**41)), st.integers(40, 150))
@settings(deadline=None, max_examples=100)
def test_logarithms_of_factorials_are_enclosed(n: int, digits: int) -> None:
    value, error = log_factorial_bounds(n, digits)
    with mpmath.workdps(300):
        true = rational(mpmath.loggamma(n + 1) - mpmath.log(2 * mpmath.pi) / 2)
    assert abs(Fraction(value) - true) <= error
    assert error <= Fraction(10 ** (8 + 2 * len(str(n))), 10**digits)


def test_bernoulli_numbers() -> None:
    assert [exact._bernoulli(n) for n in range(9)] == [
        1, Fraction(-1, 2), Fraction(1, 6), 0, Fraction(-1, 30), 0, Fraction(1, 42), 0, Fraction(-1, 30),
    ]  # fmt: skip


def constant(chance: Fraction) -> exact.Bounds:
    return lambda count: (chance, chance)


def test_a_uniform_is_extended_only_while_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "random_bytes", lambda count: (5).to_bytes(count, "big"))
    uniform = LazyUniform(1, 1)  # in [1/2, 1)
    assert uniform.is_below(constant(Fraction(1))) is True
    assert uniform.is_below(constant(Fraction(1, 2))) is False
    assert uniform.count == 1
    assert uniform.is_below(constant(Fraction(3, 4))) is True
    assert (uniform.bits, uniform.count) == (2**64 + 5, 65)
    assert uniform.is_below(constant(Fraction(2**64 + 5, 2**65))) is False
    assert uniform.is_below(constant(Fraction(2**64 + 6, 2**65))) is True
    assert uniform.count == 65


def test_wide_bounds_ask_for_more_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "random_bytes", lambda count: b"\xff" * count)
    asked: list[int] = []

    def bounds(count: int) -> tuple[Fraction, Fraction]:
        asked.append(count)
        slack = Fraction(1, 2**count)
        return Fraction(1, 4) - slack, Fraction(1, 4) + slack

    assert LazyUniform(1, 2).is_below(bounds) is False
    assert asked == [2, 66]
