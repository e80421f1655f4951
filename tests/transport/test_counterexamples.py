"""Defects found by searching for counterexamples to what transport promises."""

import math

import pytest

from emdp.base.errors import EmdpError
from emdp.spaces import Geo
from emdp.transport import d_em, solve

GLOBE = Geo("lat", "lon", box=(-90, -180, 90, 180))


@pytest.mark.parametrize("weight", [1e-160, 1e-200, 1e-310])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_tiny_weight_that_moves_gives_a_number(weight: float) -> None:
    p = {"lat": [0.0, 10.0], "lon": [0.0, 0.0], "weight": [1.0, weight]}
    q = {"lat": [0.0, 20.0], "lon": [0.0, 0.0], "weight": [1.0, weight]}
    assert 0 <= d_em(p, q, GLOBE) <= 1e-150


@pytest.mark.parametrize("gap", [1e-5, 1e-6, 5e-7])
def test_distances_near_the_antipode_are_exact_to_1e_9(gap: float) -> None:
    exact = math.radians(180 - gap) * GLOBE.radius / GLOBE.diameter
    assert abs(d_em({"lat": [0.0], "lon": [0.0]}, {"lat": [0.0], "lon": [180 - gap]}, GLOBE) - exact) <= 1e-9


@pytest.mark.parametrize("width", [1e-6, 1e-7, 1e-9])
def test_distances_in_a_small_box_are_exact_to_1e_9(width: float) -> None:
    space = Geo("lat", "lon", box=(40, -74, 40 + width, -74 + width))
    p, q = (40 + width / 3, -74 + width / 4), (40 + width / 2, -74 + width / 1.5)
    exact = float(space.distance_values(space.encode_point(p), space.encode_point(q))[0]) / space.diameter
    found = d_em({"lat": [p[0]], "lon": [p[1]]}, {"lat": [q[0]], "lon": [q[1]]}, space)
    assert abs(found - exact) <= 1e-9


@pytest.mark.parametrize(
    ("weights", "costs"),
    [(["a"], [[1.0]]), ([1], [["a"]]), ([1], [[1.0], [1.0, 2.0]]), ([1], [[10**400]])],
    ids=["weight", "cost", "ragged", "huge"],
)
def test_solve_refuses_what_is_no_number_by_its_own_errors(weights: list[object], costs: list[list[object]]) -> None:
    with pytest.raises(EmdpError):
        solve(weights, [1], costs)
