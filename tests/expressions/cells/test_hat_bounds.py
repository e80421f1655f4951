"""Rates of places: joint bounds along the columns of a plane or a box of latitudes and longitudes, and their errors."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import emdp.expressions as ex
from emdp.expressions.cells.aggregation import HatAxis
from emdp.expressions.cells.hat_bounds import hat_rates, joint_change, place_error, product_change
from emdp.expressions.cells.reference import hat_places
from emdp.spaces import Cycle, Geo, Interval, Product, Space, Vector

close = pytest.approx


def rates_of(space: Space, **steps: float) -> list:
    return [hat_rates(HatAxis(ex.col(name), start=0, step=step, size=9), space) for name, step in steps.items()]


def test_one_axis_moves_by_the_constant_of_its_expression_over_its_step() -> None:
    space = Product(Interval("x", 0, 3), Interval("y", 0, 4))
    assert hat_rates(HatAxis(ex.col("x") + 2 * ex.col("y"), start=0, step=0.5, size=9), space).parts == (6, 16)
    assert hat_rates(HatAxis(ex.col("x"), start=0, step=0.5, size=1), space).parts == (0, 0)


def test_axes_along_a_plane_move_together() -> None:
    space = Vector(["x", "y"], box=[(0, 3), (0, 4)])
    assert joint_change(rates_of(space, x=0.5, y=0.25), 0, space) == close((5 * math.hypot(2, 4), 5 * 4))
    # one column twice does not
    twice = rates_of(space, x=0.5) + rates_of(space, x=0.5)
    assert joint_change(twice, 0, space) == close((20, 10 * math.sqrt(2)))
    # and what is no column is added
    distance = hat_rates(HatAxis(ex.distance_to((0, 0)), start=0, step=1, size=9), space)
    assert joint_change([*rates_of(space, x=0.5, y=0.5), distance], 0, space) == close(
        (10 * math.sqrt(2) + 5, math.hypot(10, 5))
    )


def test_parts_that_do_not_move_count_nothing() -> None:
    space = Product(Vector(["x", "y"], box=[(0, 3), (0, 4)]), Interval("z", 0, 1))
    assert joint_change(rates_of(space, x=0.5, y=0.25, z=0.1), 1, space) == close((10, 10))
    assert joint_change([], 1, space) == (0, 0)


@pytest.mark.parametrize(
    "box", [(40.0, -75.0, 41.0, -73.0), (-10.0, 0.0, 30.0, 100.0), (60.0, 5.0, 88.0, 60.0), (0.0, 0.0, 0.5, 0.5)]
)
def test_no_two_places_of_a_box_move_farther_apart(box: tuple[float, float, float, float]) -> None:
    space = Geo("lat", "lon", box=box, unit="km")
    rng = np.random.default_rng(3)
    items = rng.uniform(box[:2], box[2:], (600, 2))
    items[::3] = np.array(box)[[[0, 1], [2, 1], [0, 3], [2, 3]]][rng.integers(0, 4, 200)]
    distances = space.distances(items, items)
    far = distances > 1e-6
    for lat, lon in ((1.0, 1.0), (1.0, 5.0), (0.3, 0.1)):
        one, two = joint_change(rates_of(space, lat=lat, lon=lon), 0, space)
        change = np.abs(items[:, None, :] - items[None, :, :]) / [lat, lon]
        assert (change.sum(axis=2)[far] <= one * distances[far] * (1 + 1e-9)).all()
        assert (np.hypot(*np.moveaxis(change, 2, 0))[far] <= two * distances[far] * (1 + 1e-9)).all()


def test_a_small_box_is_as_good_as_a_plane_and_a_huge_one_falls_back_to_the_sum() -> None:
    near = Geo("lat", "lon", box=(40.0, -75.0, 40.5, -74.5), unit="km")
    one, two = joint_change(rates_of(near, lat=1.0, lon=1.0), 0, near)
    angle = math.degrees(near.diameter / near.radius)
    cosine = math.cos(math.radians(40.5))
    assert one == close(angle * math.hypot(1, 1 / cosine), rel=1e-4)
    assert two == close(angle / cosine, rel=1e-4)
    wide = Geo("lat", "lon", box=(-50.0, -170.0, 50.0, 170.0), unit="km")
    lat, lon = rates_of(wide, lat=1.0, lon=1.0)
    assert joint_change([lat, lon], 0, wide)[0] == close(lat.parts[0] + lon.parts[0])


def test_products_of_hats() -> None:
    assert product_change(1.0, 1.0, 1) == 2
    assert product_change(1.0, 1.0, 2) == close(math.sqrt(2))
    # j equal axes: |du|_1 = sqrt(j), |du|_2 = 1
    assert product_change(math.sqrt(3), 1.0, 2) == close(2)


def test_a_cycle_s_rate_is_that_of_its_exact_step() -> None:
    space = Cycle("hour", 24)
    axis = HatAxis(ex.col("hour"), start=0, step=24 / 7, size=7, is_periodic=True)
    found = hat_rates(axis, space)
    assert found.parts[0] == 3.5
    assert found.error >= float(abs(Fraction(24) / (7 * Fraction(24 / 7)) - 1) * 7)
    assert found.error < 1e-14


@settings(deadline=None, max_examples=80)
@given(st.floats(-1e3, 1e3), st.floats(1e-3, 50), st.integers(2, 40), st.floats(0, 1))
def test_places_are_computed_within_their_error(start: float, step: float, size: int, share: float) -> None:
    axis = HatAxis(ex.col("x"), start=start, step=step, size=size)
    at = np.array([start + share * step * (size - 1), np.nextafter(start + step, 1e9), start - 1, start + size * step])
    below, fractions = hat_places(axis, at)
    for value, node, fraction in zip(at.tolist(), below.tolist(), fractions.tolist(), strict=True):
        place = min(max((Fraction(value) - Fraction(start)) / Fraction(step), Fraction(0)), Fraction(size - 1))
        assert abs(node + Fraction(fraction) - place) <= Fraction(place_error(axis, 0.0))
    rough = place_error(axis, 1e-6)
    assert min(1.0, 1e-6 / step) <= rough <= min(1.0, 1e-6 / step * (1 + 1e-9) + place_error(axis, 0.0) * (1 + 1e-9))
