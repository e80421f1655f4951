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


@settings(max_examples=300, deadline=None)
@given(factors=st.lists(st.floats(0, 1.7e308), max_size=4))
def test_product_up(factors: list[float]) -> None:
    exact = math.prod(map(Fraction, factors), start=Fraction(1))
    found = rounding.product_up(*factors)
    assert (found == 0) == (exact == 0)
    if found == math.inf:
        assert exact > Fraction(1.7e308)
        return
    assert Fraction(found) >= exact
    assert found == 0 or Fraction(math.nextafter(found, 0)) < exact


def test_fractions_beyond_the_doubles() -> None:
    huge = Fraction(10**400)
    assert rounding.fraction_up(huge) == math.inf
    assert rounding.fraction_up(-huge) == -1.7976931348623157e308
    assert rounding.fraction_up(1 / huge) == 5e-324
    assert rounding.fraction_up(-1 / huge) == 0
    assert rounding.quotient_up(math.inf, Fraction(1, 3)) == math.inf
    assert rounding.quotient_up(1e300, 1e-300) == math.inf


@settings(max_examples=200, deadline=None)
@given(value=st.floats(allow_nan=False))
def test_norm_of_one_number_is_its_size(value: float) -> None:
    assert rounding.norm_up([value]) == rounding.norm_up([0.0, value]) == abs(value)


@settings(max_examples=200, deadline=None)
@given(pairs=st.lists(st.tuples(st.floats(-1e-150, 1e-150), st.floats(-1e-150, 1e-150)), min_size=1, max_size=8))
def test_dot_error_covers_products_that_underflow(pairs: list[tuple[float, float]]) -> None:
    computed, exact, magnitude = 0.0, Fraction(0), Fraction(0)
    for left, right in pairs:
        computed += left * right
        exact += Fraction(left) * Fraction(right)
        magnitude += abs(Fraction(left) * Fraction(right))
    assert abs(Fraction(computed) - exact) <= Fraction(rounding.dot_error(len(pairs), float(magnitude)))


def test_widened() -> None:
    assert rounding.widened(1.0, 2.0, 0.0) == (1.0, 2.0)
    low, high = rounding.widened(1.0, 2.0, 1e-30)
    assert low < 1.0 < 2.0 < high
