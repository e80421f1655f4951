"""``Interval``: bounds, rounding and refusals."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emdp.base.errors import UsageError
from emdp.spaces import Interval


@settings(max_examples=200, deadline=None)
@given(low=st.floats(-1e9, 1e9), width=st.floats(1e-9, 1e12))
def test_diameter_is_rounded_outward(low: float, width: float) -> None:
    if low + width <= low:
        return
    space = Interval("x", low, low + width)
    assert Fraction(space.domain_diameter) >= Fraction(space.high) - Fraction(space.low)
    assert space.domain_diameter <= math.nextafter(space.high - space.low, math.inf)
    assert space.low <= space.neutral <= space.high


def test_line_and_truncation() -> None:
    assert Interval("x", 0, 10).structure == "line"
    assert Interval("x", 0, 10, diameter=10).structure == "line"
    assert Interval("x", 0, 10, diameter=20).pairwise({"x": [0]}, {"x": [10]})[0, 0] == 0.5
    cut = Interval("x", 0, 10, diameter=math.nextafter(10, 0))
    assert cut.is_truncated
    assert cut.structure == "general"


def test_distance_bounds_outside_the_domain() -> None:
    space = Interval("x", 0, 10)
    bounds = space.distance_bounds(space.encode_point(15))
    assert bounds.low == pytest.approx(5, rel=1e-14)
    assert bounds.high == pytest.approx(15, rel=1e-14)
    assert bounds.lipschitz == 10


def test_integers_decimals_and_float32_are_numbers() -> None:
    space = Interval("x", 0, 10)
    assert space.encode({"x": [1, 2]}).tolist() == [[1.0], [2.0]]
    assert space.valid_mask({"x": [None, None]}).tolist() == [False, False]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("x", 1, 1), "low must be below high"),
        (("x", 2, 1), "low must be below high"),
        (("x", 0, math.inf), "high must be finite"),
        (("x", 0, "1"), "high must be a number"),
        (("x", 0, 1e200), "high must be within"),
        (("", 0, 1), "col must hold column names"),
        ((5, 0, 1), "col must hold column names"),
    ],
)
def test_arguments_are_checked(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Interval(*arguments)  # type: ignore[arg-type]


def test_options_are_checked() -> None:
    with pytest.raises(UsageError, match="neutral must be between"):
        Interval("x", 0, 1, neutral=2)
    with pytest.raises(UsageError, match="diameter must be finite"):
        Interval("x", 0, 1, diameter=math.inf)
    with pytest.raises(UsageError, match="unit must be a string"):
        Interval("x", 0, 1, unit=3)  # type: ignore[arg-type]
    space = Interval("x", 0, 1)
    for point in (math.nan, "0", None, (0,)):
        with pytest.raises(UsageError, match="point"):
            space.encode_point(point)
    with pytest.raises(UsageError, match="no column 'y'"):
        space.column_bounds("y")
    with pytest.raises(UsageError, match="inner product"):
        space.inner_bounds(space.neutral_item[0])
    with pytest.raises(UsageError, match="listed values"):
        space.label_bounds(0.5)
