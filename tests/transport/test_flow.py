"""The flow bound: above the norm on every grid, equal to it on one axis, and how much above it in the plane."""

import math

import numpy as np
import pytest

from emdp.base.errors import UsageError
from emdp.spaces import Geo, Grid, Vector
from emdp.transport.flow import PLANE_RATIO, flow_bound
from emdp.transport.kr_norm import kr_norm, line_norm


def test_on_one_axis_it_is_the_norm() -> None:
    values = np.random.default_rng(0).normal(size=50)
    values -= values.mean()
    norm = line_norm(values, np.arange(50) / 49)
    assert flow_bound(values, [1 / 49]) == pytest.approx(norm, rel=1e-9)
    assert flow_bound(values[None, :], [7.0, 1 / 49]) == pytest.approx(norm, rel=1e-9)


@pytest.mark.parametrize("shape", [(2, 2), (5, 8), (12, 12), (3, 4, 5)])
def test_it_bounds_the_norm(shape: tuple[int, ...]) -> None:
    columns = [f"x{axis}" for axis in range(len(shape))]
    space = Grid(Vector(columns, box=tuple((0.0, float(count)) for count in shape)), shape)
    rng = np.random.default_rng(1)
    for _ in range(5):
        values = rng.normal(size=shape) * rng.integers(0, 2, shape)
        values -= values.mean()
        bound = flow_bound(values, [1 / space.diameter] * len(shape))
        assert kr_norm(values.ravel(), space, space.all_items) <= bound * (1 + 1e-9)


def test_it_bounds_the_norm_on_the_sphere_with_a_step_for_each_row() -> None:
    space = Grid(Geo("lat", "lon", box=(30, -80, 60, -40), unit="km"), (6, 7))
    along, across = space.axes
    assert isinstance(space.inner, Geo)
    radius = space.inner.radius / space.diameter
    north = math.radians((along.high - along.low) / along.count) * radius
    east = math.radians((across.high - across.low) / across.count) * radius * np.cos(np.radians(along.centres))
    values = np.random.default_rng(2).normal(size=(6, 7))
    values -= values.mean()
    norm = kr_norm(values.ravel(), space, space.all_items)
    assert norm <= flow_bound(values, [north, east[:, None]]) * (1 + 1e-9) <= 2 * norm


def test_the_ratio_in_the_plane() -> None:
    # Of single draws it varies by 1 to 2 %; 12 draws would show a ratio that is 4 % off.
    ratios = []
    for shape in ((10, 10), (20, 20), (12, 30)):
        space = Grid(Vector(["x", "y"], box=((0, shape[0]), (0, shape[1]))), shape)
        rng = np.random.default_rng(3)
        for _ in range(4):
            values = rng.normal(size=shape)
            values -= values.mean()
            bound = flow_bound(values, [1 / space.diameter] * 2)
            ratios.append(kr_norm(values.ravel(), space, space.all_items) / bound)
    assert np.mean(ratios) == pytest.approx(PLANE_RATIO, rel=0.025)
    assert np.std(ratios) < 0.03


def test_refusal() -> None:
    with pytest.raises(UsageError, match="steps"):
        flow_bound(np.zeros((2, 2)), [1.0])
