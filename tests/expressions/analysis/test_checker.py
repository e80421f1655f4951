"""Known answers of EMD 2, truncation, weights, and the sharpening on 0/1 parts."""

import math
import time

import pytest

import emdp.expressions as ex
from emdp.base.errors import InternalError, UsageError
from emdp.expressions import Analysis, analyse, final_lipschitz, truncated_parts
from emdp.expressions.numbers.bounds import Domain, constant_analysis
from emdp.spaces import Categories, Cycle, Geo, Interval, Product, Vector

NEW_YORK = Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), unit="km")
KINDS = Categories("kind", ["cafe", "bar", "shop", "other"])
MIDTOWN = (40.7484, -73.9857)
x, y = ex.col("x"), ex.col("y")
NEAR = ex.ramp(ex.distance_to(MIDTOWN), 2, 1)


def close(value: float) -> object:
    return pytest.approx(value, rel=1e-12)


def test_a_ramp_of_the_distance_in_a_box_of_diameter_d() -> None:
    bound = NEAR.on(NEW_YORK)
    assert bound.lipschitz == close(NEW_YORK.diameter)
    assert bound.lipschitz >= NEW_YORK.diameter
    assert bound.value_range == (0, 1)


def test_the_same_ramp_beside_a_category_of_equal_weight() -> None:
    space = Product(NEW_YORK, KINDS)
    assert NEAR.on(space).lipschitz == close(2 * NEW_YORK.diameter)


@pytest.mark.parametrize("ramp_ends", [(2, 1), (1, 2), (10, 5), (0, 68)])
def test_a_ramp_divides_by_its_width_in_either_order(ramp_ends: tuple[float, float]) -> None:
    known = ex.ramp(ex.distance_to(MIDTOWN), *ramp_ends).on(NEW_YORK)
    assert known.lipschitz == close(NEW_YORK.diameter / abs(ramp_ends[0] - ramp_ends[1]))


def test_a_sum_over_two_intervals_is_a_maximum_not_a_sum() -> None:
    space = Product(Interval("x", 0, 3), Interval("y", -1, 1))
    assert (x + y).on(space).lipschitz == 6
    assert (x - y).on(space).lipschitz == 6
    assert (x + 4 * y).on(space).lipschitz == 16


def test_weights_divide_the_constants() -> None:
    space = Product(Interval("x", 0, 3).weighted(3), Interval("y", 0, 2).weighted(1))
    assert analyse(x + y, space).parts == (3, 2)
    assert (x + y).on(space).lipschitz == close(8)


def test_latitude_and_longitude_have_the_constants_of_the_theory() -> None:
    per_degree = math.pi * 6371.0088 / 180
    width, high = math.radians(74.26 - 73.70), math.cos(math.radians(40.92))
    lon = (width / 2) / math.asin(high * math.sin(width / 2))
    assert ex.col("lat").on(NEW_YORK).lipschitz == close(NEW_YORK.diameter / per_degree)
    assert ex.col("lon").on(NEW_YORK).lipschitz == close(NEW_YORK.diameter / per_degree * lon)


def test_inner_product_and_nearest_of_several_points() -> None:
    space = Vector(["a", "b"], box=[(0, 3), (0, 4)])
    assert ex.dot([3, 4]).on(space).lipschitz == close(25)
    assert ex.dot([3, 4]).on(space).value_range == pytest.approx((0, 25), abs=1e-12)
    nearest = ex.distance_to((0, 0), (3, 4), (0, 4)).on(space)
    assert nearest.lipschitz == close(5)
    assert nearest.value_range == pytest.approx((0, 5), abs=1e-12)


def test_a_declared_diameter_scales_the_constant() -> None:
    assert x.on(Interval("x", 0, 10, diameter=20)).lipschitz == 20


def test_truncation_takes_the_range_once_at_the_end() -> None:
    space = Interval("x", 0, 10, diameter=2)
    assert analyse(x, space).parts == (2,)
    assert x.on(space).lipschitz == 10
    assert ex.ramp(x, 2, 1).on(space).lipschitz == 2
    assert ex.ramp(x, 0, 10).on(space).lipschitz == 1
    assert (x * 0 + 3).on(space).lipschitz == 0


def test_truncation_of_one_part_leaves_the_others() -> None:
    space = Product(Interval("x", 0, 10, diameter=5), Interval("y", 0, 100))
    known = analyse(x + y, space)
    assert known.spread == 110
    assert truncated_parts(known, space) == (10, 100)  # x alone changes by at most 10, not by the range
    assert truncated_parts(analyse(y, space), space) == (0, 100)
    assert final_lipschitz(known, space) == 200


def test_one_indicator_times_a_function() -> None:
    space = Product(Interval("x", 0, 3), KINDS)
    assert analyse(ex.category_is("bar") * x, space) == Analysis((3, 3), 0, 3, 0)
    assert analyse(ex.category_is("bar"), space) == Analysis((0, 1), 0, 1, 0)
    assert analyse(1 - ex.category_is("bar"), space).parts == (0, 1)


def test_a_categorical_part_jumps_by_its_range_not_by_the_sum_of_its_terms() -> None:
    score = 2 * ex.category_is("cafe") + 3 * ex.category_is("bar") - ex.category_is("shop")
    known = analyse(score, KINDS)
    assert (known.low, known.high, known.parts) == (-1, 3, (4,))


def test_a_categorical_part_held_fixed_sharpens_the_others() -> None:
    space = Product(Interval("x", 0, 3), KINDS)
    blend = ex.category_is("cafe") * x + ex.category_is("bar") * (3 - x)
    known = analyse(blend, space)
    assert (known.low, known.high, known.parts) == (0, 3, (3, 3))
    squared = analyse((ex.category_is("cafe") * x + ex.category_is("bar")) ** 2, space)
    assert (squared.low, pytest.approx(squared.high)) == (0, 9)
    assert squared.parts == pytest.approx((18, 9))


def test_a_sharpened_range_reaches_the_functions_above_it() -> None:
    score = 2 * ex.category_is("cafe") + 3 * ex.category_is("bar") - ex.category_is("shop")
    assert analyse(1 / (score + 2), KINDS).high == pytest.approx(1)
    assert analyse(ex.clamp(score, 3, 9), KINDS).parts == (0,)


def test_all_values_named_leave_no_other_case() -> None:
    space = Categories("kind", ["a", "b"])
    known = analyse(5 * ex.category_is("a") + 4 * ex.category_is("b"), space)
    assert (known.low, known.high, known.parts) == (4, 5, (1,))
    assert analyse(ex.category_is("a", "b"), space) == Analysis((0,), 1, 1, 0)


def test_two_categorical_parts() -> None:
    space = Product(KINDS, Categories("day", ["weekday", "weekend"]))
    known = analyse(ex.category_is("cafe") * ex.category_is("weekend") * 7, space)
    assert known.parts == (7, 7)
    assert final_lipschitz(known, space) == 14
    total = analyse(ex.category_is("cafe") + 2 * ex.category_is("bar") + 4 * ex.category_is("weekend"), space)
    assert total.parts == (2, 4)
    either = ex.maximum(ex.category_is("cafe") + 2 * ex.category_is("bar"), 4 * ex.category_is("weekend"))
    assert analyse(either, space).parts == (2, 4)


def test_the_distance_in_a_categorical_part_is_kept_while_others_are_fixed() -> None:
    known = analyse(ex.distance_to("other") + ex.category_is("cafe"), KINDS)
    assert known.low <= 0
    assert known.high >= 2
    assert known.parts[0] >= 2


def test_a_column_that_wraps_has_no_constant_but_its_distance_has() -> None:
    space = Cycle("hour", 24)
    assert ex.distance_to(23).on(space).lipschitz == 12
    assert ex.distance_to(23).on(space).value_range == (0, 12)


def test_analysis_refuses_what_is_no_expression() -> None:
    with pytest.raises(UsageError, match="must be an emdp expression"):
        analyse(3, KINDS)  # type: ignore[arg-type]


def test_contradictory_bounds_are_a_bug() -> None:
    with pytest.raises(InternalError):
        Analysis((1.0,), 1.0, 0.0, 0.0)
    with pytest.raises(InternalError):
        Analysis((1.0,), math.nan, 0.0, 0.0)
    assert constant_analysis(Domain(KINDS), 2.0) == Analysis((0,), 2, 2, 0)


def test_a_check_of_a_large_expression_takes_milliseconds() -> None:
    space = Product(NEW_YORK, Interval("x", 0, 3), KINDS)
    expression = sum((ex.ramp(ex.distance_to((40.7, -74 + step / 100)), 2, 1) for step in range(20)), start=x)
    expression = expression * ex.category_is("cafe") + ex.exp(x) * ex.category_is("bar", "shop")
    analyse(expression, space)
    started = time.process_time()
    analyse(expression, space)
    assert time.process_time() - started < 0.25
