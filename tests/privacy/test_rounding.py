"""Floats as the decimals that they print as, and outward rounding."""

import math
import sys
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emdp.base.errors import UsageError
from emdp.privacy.rounding import (
    as_decimal,
    check_bound,
    float_at_least,
    float_down,
    float_up,
    quotient_up,
    root_down,
    root_up,
    split,
)

positive = st.floats(1e-300, 1e300)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_means_the_decimal_that_it_prints_as(number: float) -> None:
    assert as_decimal(number) == Fraction(Decimal(repr(number)))
    assert float_up(as_decimal(number)) == float_down(as_decimal(number)) == number


@given(st.fractions(min_value=Fraction(1, 10**30), max_value=10**30))
def test_rounding_encloses_the_number_between_neighbours(number: Fraction) -> None:
    low, high = float_down(number), float_up(number)
    assert as_decimal(low) <= number <= as_decimal(high)
    assert high <= math.nextafter(low, math.inf)


@pytest.mark.slow
@given(positive, st.floats(1e-5, 1e5))
def test_quotients_round_up_by_at_most_one_step(numerator: float, denominator: float) -> None:
    quotient = quotient_up(numerator, denominator)
    assert Fraction(quotient) * Fraction(denominator) >= Fraction(numerator)
    assert Fraction(math.nextafter(quotient, 0)) * Fraction(denominator) < Fraction(numerator)


@given(st.fractions(min_value=Fraction(1, 10**12), max_value=10**12))
def test_roots_enclose(square: Fraction) -> None:
    low, high = root_down(square), root_up(square)
    assert Fraction(low) ** 2 <= square <= Fraction(high) ** 2
    assert high <= math.nextafter(low, math.inf)


@settings(deadline=None)
@given(st.floats(1e-6, 1e6), st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=20))
def test_a_split_never_adds_up_to_more(total: float, weights: list[float]) -> None:
    parts = split(total, tuple(weights))
    rest = as_decimal(total) - sum(map(as_decimal, parts))
    assert 0 <= rest <= as_decimal(total) * len(parts) * Fraction(2) ** -52


def test_a_split_in_equal_decimals_is_exact() -> None:
    assert split(1.0, (1,) * 10) == (0.1,) * 10


def test_what_no_float_can_hold_is_refused() -> None:
    with pytest.raises(UsageError, match=r"beyond 1\.8e308"):
        float_up(Fraction(10) ** 400)
    with pytest.raises(UsageError, match="at least one number"):
        split(1.0, ())
    with pytest.raises(UsageError, match="weight must be above 0"):
        split(1.0, (1.0, 0.0))


@given(st.integers(-1070, 1020), st.floats(1.0, 2.0))
def test_roots_of_squares_beyond_the_floats(exponent: int, part: float) -> None:
    root = math.ldexp(part, exponent)
    square = Fraction(root) ** 2
    assert root_up(square) == root_down(square) == root
    assert root_up(square * (1 + Fraction(1, 2**2000))) == math.nextafter(root, math.inf)
    assert root_down(square * (1 - Fraction(1, 2**2000))) == math.nextafter(root, 0.0)


def test_roots_at_the_ends() -> None:
    assert (root_up(Fraction(1, 10**800)), root_down(Fraction(1, 10**800))) == (5e-324, 0.0)
    with pytest.raises(UsageError, match="beyond"):
        root_up(Fraction(10) ** 620)


@pytest.mark.parametrize("value", [Fraction(1, 3), Fraction(2, 3), 2**53 + 1, Fraction(1, 10**400), 0.1, 7])
def test_a_bound_is_never_rounded_down(value: float | Fraction) -> None:
    assert check_bound("sensitivity", value) >= value
    assert math.nextafter(check_bound("sensitivity", value), 0.0) < value


@pytest.mark.parametrize("number", [Fraction(10) ** 400, Fraction(sys.float_info.max) + 1])
def test_a_number_beyond_the_floats_is_named(number: Fraction) -> None:
    with pytest.raises(UsageError, match="beyond"):
        float_at_least(number)
    with pytest.raises(UsageError, match="finite"):
        as_decimal(math.inf)
