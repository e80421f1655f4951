"""Outward rounding against exact fractions."""

import math
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from emdp.spaces import rounding

POSITIVE = st.floats(1e-100, 1e100)


@settings(max_examples=300, deadline=None)
@given(high=st.floats(-1e100, 1e100), low=st.floats(-1e100, 1e100))
def test_difference_up(high: float, low: float) -> None:
    found = Fraction(rounding.difference_up(high, low))
    exact = Fraction(high) - Fraction(low)
    assert found >= exact
    assert Fraction(math.nextafter(rounding.difference_up(high, low), -math.inf)) < exact


@settings(max_examples=300, deadline=None)
@given(numerator=POSITIVE, denominator=POSITIVE)
def test_quotient_up(numerator: float, denominator: float) -> None:
    found = rounding.quotient_up(numerator, denominator)
    assert Fraction(found) * Fraction(denominator) >= Fraction(numerator)
    assert Fraction(math.nextafter(found, 0)) * Fraction(denominator) < Fraction(numerator)


@settings(max_examples=300, deadline=None)
@given(vector=st.lists(st.floats(-1e100, 1e100), min_size=1, max_size=30))
def test_norm_up(vector: list[float]) -> None:
    found = rounding.norm_up(vector)
    exact = sum((Fraction(value) ** 2 for value in vector), Fraction(0))
    assert Fraction(found) ** 2 >= exact
    assert found <= math.hypot(*vector) * (1 + 1e-15) + rounding.SMALLEST_NORM
    assert rounding.norm_up([0.0, 0.0]) == 0


def test_widened() -> None:
    assert rounding.widened(1.0, 2.0, 0.0) == (1.0, 2.0)
    low, high = rounding.widened(1.0, 2.0, 1e-30)
    assert low < 1.0 < 2.0 < high
