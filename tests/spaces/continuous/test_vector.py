"""``Vector``: box and ball, clamping, inner products and their rounding."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emdp.base.errors import UsageError
from emdp.spaces import Vector

FINITE = st.floats(-100, 100)


def test_diameters() -> None:
    assert Vector(["x", "y"], box=[(0, 3), (1, 5)]).diameter == pytest.approx(5, rel=1e-15)
    assert Vector(["x", "y"], box=[(0, 3), (1, 5)]).diameter >= 5
    assert Vector(["x", "y"], radius=2).diameter == pytest.approx(4, rel=1e-14)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(rows=st.lists(st.tuples(*[st.floats(allow_nan=False)] * 3), min_size=1, max_size=5))
def test_clamped_vectors_lie_in_the_ball(rows: list[tuple[float, ...]]) -> None:
    space = Vector(["a", "b", "c"], radius=0.7, on_invalid="clamp")
    frame = {name: [row[place] for row in rows] for place, name in enumerate(space.columns)}
    items = space.encode(frame)
    assert space.valid_mask(space.decode(items)).all()
    norms = np.sqrt(np.square(items).sum(axis=1))
    for row, norm in zip(rows, norms, strict=True):
        if not space.valid_mask({name: [row[place]] for place, name in enumerate(space.columns)})[0]:
            assert norm == pytest.approx(0.7, rel=1e-13)


def test_clamp_into_a_ball_keeps_the_direction() -> None:
    space = Vector(["x", "y"], radius=5, on_invalid="clamp")
    np.testing.assert_allclose(space.encode({"x": [30.0], "y": [40.0]}), [[3.0, 4.0]], rtol=1e-14)


@settings(max_examples=200, deadline=None)
@given(x=st.tuples(FINITE, FINITE, FINITE), v=st.tuples(FINITE, FINITE, FINITE))
def test_rounding_of_inner_products_and_distances_is_covered(x: tuple[float, ...], v: tuple[float, ...]) -> None:
    space = Vector(["a", "b", "c"], box=[(-100, 100)] * 3)
    items, vector = np.array([x]), np.array(v)
    exact = sum((Fraction(a) * Fraction(b) for a, b in zip(x, v, strict=True)), Fraction(0))
    inner = space.inner_bounds(vector)
    assert abs(Fraction(float(space.inner_values(items, vector)[0])) - exact) <= Fraction(inner.rounding)
    assert inner.low <= float(exact) <= inner.high
    squared = sum(((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(x, v, strict=True)), Fraction(0))
    point = space.encode_point(v)
    bounds = space.distance_bounds(point)
    computed = Fraction(float(space.distance_values(items, point)[0]))
    low, high = max(computed - Fraction(bounds.rounding), Fraction(0)), computed + Fraction(bounds.rounding)
    assert low**2 <= squared <= high**2


def test_inner_bounds() -> None:
    space = Vector(["x", "y"], box=[(0, 1), (0, 1)])
    bounds = space.inner_bounds(np.array([3.0, -4.0]))
    assert bounds.lipschitz == pytest.approx(5 * math.sqrt(2), rel=1e-14)
    assert (bounds.low, bounds.high) == (pytest.approx(-4), pytest.approx(3))
    ball = Vector(["x", "y"], radius=2).inner_bounds(np.array([3.0, -4.0]))
    assert (ball.low, ball.high) == (pytest.approx(-10), pytest.approx(10))
    assert ball.lipschitz == pytest.approx(20, rel=1e-14)


def test_distance_bounds() -> None:
    box = Vector(["x", "y"], box=[(0, 1), (0, 1)])
    far = box.distance_bounds(box.encode_point((4, 5)))
    assert (far.low, far.high) == (pytest.approx(5), pytest.approx(math.hypot(4, 5)))
    ball = Vector(["x", "y"], radius=1)
    assert ball.distance_bounds(ball.encode_point((0, 0))).low == 0
    assert ball.distance_bounds(ball.encode_point((3, 0))).low == pytest.approx(2)
    assert ball.distance_bounds(ball.encode_point((3, 0))).high == pytest.approx(4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"columns": ["x"]}, "exactly one of box and radius"),
        ({"columns": ["x"], "box": [(0, 1)], "radius": 1}, "exactly one of box and radius"),
        ({"columns": ["x", "y"], "box": [(0, 1)]}, "one .low, high. for each of 2"),
        ({"columns": ["x"], "box": [(1, 1)]}, "not below"),
        ({"columns": ["x"], "box": [1]}, "a pair of box must be 2 numbers"),
        ({"columns": ["x"], "radius": 0}, "radius must be above 0"),
        ({"columns": [], "radius": 1}, "columns must be a sequence"),
        ({"columns": "x", "radius": 1}, "columns must be a sequence"),
        ({"columns": ["x", "x"], "radius": 1}, "names a column twice"),
        ({"columns": ["x"], "radius": 1, "neutral": [2]}, "neutral must lie in the domain"),
        ({"columns": ["x"], "radius": 1, "neutral": [0, 0]}, "neutral must be 1 numbers"),
    ],
)
def test_arguments_are_checked(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Vector(**arguments)  # type: ignore[arg-type]


def test_vectors_are_checked() -> None:
    space = Vector(["x", "y"], radius=1)
    for vector in ([1.0], [1.0, math.nan], "xy", [1.0, "a"], 3):
        with pytest.raises(UsageError):
            space.inner_bounds(vector)  # type: ignore[arg-type]
        with pytest.raises(UsageError):
            space.encode_point(vector)
