"""Floats as the decimals that they print as, and outward rounding."""

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emdp.errors import UsageError
from emdp.privacy.rounding import as_decimal, float_down, float_up, quotient_up, root_down, root_up, split

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
