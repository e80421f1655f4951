"""Directed rounding against exact rational arithmetic."""

import math
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from emdp.expressions.numbers import outward as out

finite = st.floats(-1e150, 1e150, allow_subnormal=True)
QUICK = settings(max_examples=300, deadline=None)


def _check_up(value: float, exact: Fraction) -> None:
    assert Fraction(value) >= exact
    assert Fraction(math.nextafter(value, -math.inf)) < exact


def _check_down(value: float, exact: Fraction) -> None:
    assert Fraction(value) <= exact
    assert Fraction(math.nextafter(value, math.inf)) > exact


@QUICK
@given(finite, finite)
def test_sums_and_products_are_the_nearest_doubles_outside(a: float, b: float) -> None:
    _check_up(out.add_up(a, b), Fraction(a) + Fraction(b))
    _check_down(out.add_down(a, b), Fraction(a) + Fraction(b))
    _check_up(out.mul_up(a, b), Fraction(a) * Fraction(b))
    _check_down(out.mul_down(a, b), Fraction(a) * Fraction(b))


@QUICK
@given(finite, finite)
def test_quotients_are_the_nearest_doubles_outside(a: float, b: float) -> None:
    assume(b != 0 and math.isfinite(a / b))
    _check_up(out.div_up(a, b), Fraction(a) / Fraction(b))
    _check_down(out.div_down(a, b), Fraction(a) / Fraction(b))


@QUICK
@given(st.floats(0, 1e300))
def test_roots_are_the_nearest_doubles_outside(value: float) -> None:
    up, down = out.sqrt_up(value), out.sqrt_down(value)
    assert Fraction(down) ** 2 <= Fraction(value) <= Fraction(up) ** 2
    assert up <= math.nextafter(down, math.inf)


@QUICK
@given(st.lists(st.floats(0, 1e100), min_size=1, max_size=8))
def test_norms_are_upper_bounds(values: list[float]) -> None:
    exact = [Fraction(value) for value in values]
    assert Fraction(out.norm_up(values, 1)) >= sum(exact)
    assert Fraction(out.norm_up(values, 2)) ** 2 >= sum(value * value for value in exact)
    assert out.norm_up(values, 1) <= sum(values) * (1 + 1e-13)
    assert out.norm_up(values, 2) <= math.hypot(*values) * (1 + 1e-13) + 1e-150


def test_norms_of_sizes_whose_squares_leave_the_doubles() -> None:
    for size in (5e-324, 1e-200, 1e200, 1.7e308):
        assert out.norm_up([size], 2) == out.norm_up([0.0, size], 1) == size
        assert size <= out.norm_up([size, 0.5 * size], 2) <= 1.2 * size + 5e-324
    assert out.norm_up([1.7e308, 1.7e308], 2) == math.inf
    assert out.norm_up([math.inf, 1.0], 2) == math.inf
    assert out.norm_up([], 2) == out.norm_up([0.0], 2) == 0


@pytest.mark.parametrize("call", [out.add_up, out.mul_up, out.div_up])
def test_overflow_is_an_infinity_on_the_safe_side(call: Callable[[float, float], float]) -> None:
    arguments = {out.add_up: (1.7e308, 1.7e308), out.mul_up: (1e200, 1e200), out.div_up: (1e200, 1e-200)}[call]
    assert call(*arguments) == math.inf
    assert out.add_down(-1.7e308, -1.7e308) == -math.inf
    assert out.mul_down(-1e200, 1e200) == -math.inf
    assert out.sqrt_up(math.inf) == math.inf


def test_no_negative_zero_and_infinity_times_zero_is_zero() -> None:
    assert math.copysign(1, out.mul_down(0.0, 5.0)) == 1
    assert math.copysign(1, out.add_down(0.0, 0.0)) == 1
    assert out.mul_up(0.0, math.inf) == 0
    assert out.div_up(0.0, 3.0) == 0


@pytest.mark.parametrize("value", [0.0, 1.0, -3.25, 700.0])
def test_library_calls_are_bracketed(value: float) -> None:
    assert out.call_down(math.exp, value) < math.exp(value) < out.call_up(math.exp, value)


def test_library_calls_beyond_the_range_are_infinite() -> None:
    assert out.call_up(math.exp, 1000.0) == math.inf
    assert out.call_down(math.exp, 1000.0) == -math.inf
    assert out.call_up(math.exp, -1000.0) > 0


def test_rounding_of_covers_one_rounded_operation() -> None:
    assert out.rounding_of(1.0, 0.0) >= 2.0**-53
    assert out.rounding_of(1.0, 0.5) >= 0.5 + 1.5 * 2.0**-53
    assert out.rounding_of(1.0, 0.0, ulps=4) >= 8 * 2.0**-53
    assert out.rounding_of(0.0, 0.0) > 0
