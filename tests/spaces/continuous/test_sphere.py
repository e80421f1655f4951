"""The box theorems of the sphere by brute force, and the rounding bound against extended precision."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emdp.spaces.continuous import sphere

GLOBE = (-90.0, -180.0, 90.0, 180.0)
EXTENDED = pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="needs an extended precision")


@st.composite
def boxes(draw: st.DrawFn) -> tuple[float, float, float, float]:
    """Boxes of all sorts: thin, tiny, wide, polar, over the equator, across the antimeridian, the globe."""
    if draw(st.integers(0, 20)) == 0:
        return GLOBE
    height = 10 ** draw(st.floats(-6, math.log10(180)))
    width = draw(st.sampled_from([0.0, 90.0, 180.0, 360.0])) or 10 ** draw(st.floats(-6, math.log10(360)))
    south = draw(st.sampled_from([-90.0, 90.0 - height, -height / 2, -height / 3])) if draw(st.booleans()) else None
    south = draw(st.floats(-90, 90 - height)) if south is None else south
    west = draw(st.floats(-180, 360 - width))
    return max(south, -90.0), west, min(south + height, 90.0), min(west + width, 360.0)


def haversine(p: np.ndarray, q: np.ndarray, t: np.ndarray) -> np.ndarray:
    return np.sin((p - q) / 2) ** 2 + np.cos(p) * np.cos(q) * np.sin(t / 2) ** 2


def angle(h: float) -> float:
    return 2 * math.asin(math.sqrt(min(h, 1.0)))


def grid(box: tuple[float, float, float, float], lats: int, lons: int) -> np.ndarray:
    south, west, north, east = box
    corners = np.meshgrid(np.linspace(south, north, lats), np.linspace(west, east, lons), indexing="ij")
    return np.stack(corners, axis=-1).reshape(-1, 2)


def check_box_angle(box: tuple[float, float, float, float], steps: int) -> None:
    """No pair of a fine grid is farther; a finer grid about the best pair comes within 1e-6."""
    south, west, north, east = box
    bound = sphere.box_angle(box)
    width = east - west
    t = np.radians(np.unique([*np.linspace(0, width, 9), min(width, 180.0)]))
    low_p = low_q = math.radians(south)
    high_p = high_q = math.radians(north)
    best = 0.0
    for _ in range(6):
        p, q = np.linspace(low_p, high_p, steps), np.linspace(low_q, high_q, steps)
        h = haversine(p[:, None, None], q[None, :, None], t)
        i, j, _k = np.unravel_index(int(h.argmax()), h.shape)
        best = max(best, angle(float(h.max())))
        low_p, high_p = p[max(i - 2, 0)], p[min(i + 2, steps - 1)]
        low_q, high_q = q[max(j - 2, 0)], q[min(j + 2, steps - 1)]
    assert best <= bound
    # The arc sine of the plain formula is good to 3e-8 near the antipode, to 1e-15 elsewhere.
    assert bound <= best * (1 + 1e-6) + 1e-13


@settings(max_examples=150, deadline=None)
@given(box=boxes())
def test_box_angle_is_the_farthest_pair(box: tuple[float, float, float, float]) -> None:
    check_box_angle(box, 31)


@pytest.mark.full
@settings(max_examples=1500, deadline=None)
@given(box=boxes())
def test_box_angle_is_the_farthest_pair_of_many_boxes(box: tuple[float, float, float, float]) -> None:
    check_box_angle(box, 101)


def test_farthest_pair_need_not_be_corners() -> None:
    # From 60 south to 80 north, 170 degrees round: (60, 0) and (-60, 170) beat every pair of corners.
    wide = (-60.0, 0.0, 80.0, 170.0)
    corners = sphere.angle_matrix(grid(wide, 2, 2), grid(wide, 2, 2)).max()
    assert sphere.box_angle(wide) > corners + math.radians(5)


@settings(max_examples=60, deadline=None)
@given(box=boxes(), data=st.data())
def test_angle_range_holds_every_angle_and_is_tight(
    box: tuple[float, float, float, float], data: st.DataObject
) -> None:
    lat, lon = data.draw(st.floats(-90, 90)), data.draw(st.floats(-180, 360))
    if data.draw(st.booleans()):
        lat, lon = (float(x) for x in grid(box, 5, 5)[data.draw(st.integers(0, 24))])
    low, high = sphere.angle_range(lat, lon, box)
    places = grid(box, 41, 81)
    angles = sphere.great_circle(places[:, 0], places[:, 1], lat, lon)
    assert low <= angles.min() + 1e-15
    assert angles.max() <= high
    step = math.radians(max((box[2] - box[0]) / 40, (box[3] - box[1]) / 80))
    assert angles.min() - low <= 1.5 * step + 1e-6
    assert high - angles.max() <= 1.5 * step + 1e-6


@settings(max_examples=60, deadline=None)
@given(box=boxes())
def test_longitude_constant_is_never_exceeded_and_attained(box: tuple[float, float, float, float]) -> None:
    constant = sphere.degrees_per_angle(box)
    south, west, north, east = box
    if max(abs(south), abs(north)) == 90 or east - west >= 360:
        assert constant == math.inf
        return
    places = grid(box, 13, 25)
    angles = sphere.angle_matrix(places, places)
    change = np.abs(np.subtract.outer(places[:, 1], places[:, 1]))
    assert (change <= constant * (angles + 1e-15)).all()
    edge = south if abs(south) > abs(north) else north
    witness = sphere.great_circle(np.array([edge]), np.array([west]), edge, east)[0]
    if witness > 1e-9:
        assert (east - west) / witness >= 0.99 * constant


def test_longitude_constant_exceeds_one_over_cosine() -> None:
    at_sixty = math.radians(sphere.degrees_per_angle((0, 0, 60, 90)))
    assert at_sixty == pytest.approx((math.pi / 4) / math.asin(0.5 * math.sin(math.pi / 4)), rel=1e-12)
    assert at_sixty > 2.17 > 1 / math.cos(math.radians(60))
    assert sphere.degrees_per_angle((10, 5, 20, 5)) == 0.0


def exact_angles(lat: np.ndarray, lon: np.ndarray, lat0: float, lon0: float) -> np.ndarray:
    """Angles in extended precision, by the formula with an arc tangent, good everywhere."""
    wide = np.longdouble
    turn = wide(4) * np.arctan(wide(1)) / wide(180)
    p, q, t = wide(1) * lat * turn, wide(lat0) * turn, (wide(1) * lon - wide(lon0)) * turn
    across = np.hypot(np.cos(q) * np.sin(t), np.cos(p) * np.sin(q) - np.sin(p) * np.cos(q) * np.cos(t))
    return np.arctan2(across, np.sin(p) * np.sin(q) + np.cos(p) * np.cos(q) * np.cos(t))


@EXTENDED
def test_rounding_bound_covers_the_haversine() -> None:
    rng = np.random.default_rng(5)
    for scale in (1e-9, 1e-6, 1e-3, 1.0, 90.0):
        for lat0, lon0 in ((0.0, 0.0), (40.7, -74.0), (89.999999, 10.0), (90.0, 0.0), (-60.0, 359.0)):
            lat = np.clip(lat0 + rng.normal(scale=scale, size=2000), -90, 90)
            lon = np.clip(lon0 + rng.normal(scale=scale, size=2000), -180, 360)
            check_rounding(lat, lon, lat0, lon0)
            opposite = (lon0 + 180 + rng.normal(scale=scale, size=2000) + 180) % 360 - 180
            check_rounding(-lat, opposite, lat0, lon0)
    check_rounding(np.array([12.0]), np.array([360.0]), 12.0, 0.0)
    check_rounding(rng.uniform(-90, 90, 5000), rng.uniform(-180, 360, 5000), 33.0, -180.0)


def check_rounding(lat: np.ndarray, lon: np.ndarray, lat0: float, lon0: float) -> None:
    exact = exact_angles(lat, lon, lat0, lon0)
    computed = sphere.great_circle(lat, lon, lat0, lon0)
    errors = np.abs(computed - exact).astype(float)
    bounds = np.array([sphere.angle_error(float(value)) for value in exact])
    assert (errors <= bounds).all()
    matrix = sphere.angle_matrix(np.column_stack([lat, lon]), np.array([[lat0, lon0]]))[:, 0]
    assert (np.abs(matrix - exact).astype(float) <= bounds).all()


def exact_short_angles(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Angles of pairs of rows by the haversine of exact differences: to a relative error where they are small."""
    wide = np.longdouble
    turn = wide(4) * np.arctan(wide(1)) / wide(180)
    exact = np.vectorize(lambda a, b: float((Fraction(a) - Fraction(b) + 180) % 360 - 180))
    along = np.sin(exact(left[:, 0], right[:, 0]) * turn / 2)
    across = np.sin(exact(left[:, 1], right[:, 1]) * turn / 2)
    cosines = np.sin((90 - np.abs(wide(1) * left[:, 0])) * turn) * np.sin((90 - np.abs(wide(1) * right[:, 0])) * turn)
    return 2 * np.arcsin(np.sqrt(along**2 + cosines * across**2))


CENTRES = [(0.0, 0.0), (40.7, -74.0), (89.9999, 10.0), (90.0, 0.0), (-60.0, 359.0), (0.0, 180.0), (1e-7, -180.0)]


@EXTENDED
@pytest.mark.parametrize("scale", [1e-9, 1e-6, 1e-3, 1.0, 20.0, 90.0])
@pytest.mark.parametrize("opposite", [False, True], ids=["near", "antipodal"])
def test_angles_are_within_their_stated_error_everywhere(scale: float, opposite: bool) -> None:
    rng = np.random.default_rng(7)
    for lat0, lon0 in CENTRES:
        lat = np.clip(lat0 + rng.normal(scale=scale, size=500), -90, 90)
        lon = np.clip(lon0 + rng.normal(scale=scale, size=500), -180, 360)
        if opposite:
            lat, lon = -lat, (lon + 360) % 360 - 180
        matrix = sphere.angle_matrix(np.column_stack([lat, lon]), np.array([[lat0, lon0]]))[:, 0]
        assert np.abs(matrix - exact_angles(lat, lon, lat0, lon0)).max() <= 1.5e-14


@EXTENDED
@pytest.mark.parametrize("unit", [1e-4 * (1 - 1e-9), 1e-6, 1e-11, 1e-15])
def test_short_angles_have_a_small_relative_error(unit: float) -> None:
    rng = np.random.default_rng(8)
    degrees = math.degrees(unit)
    for lat0, lon0 in CENTRES:
        polar = 90.0 if 90 - abs(lat0) < 3 * degrees else None  # there any two longitudes are near
        left, right = (
            np.column_stack(
                [
                    np.clip(lat0 + rng.normal(scale=degrees / 3, size=300), -90, 90),
                    np.clip(lon0 + rng.normal(scale=polar or degrees / 3, size=300), -180, 360),
                ]
            )
            for _ in range(2)
        )
        # the other side of the seam, where the same places have longitudes a whole turn away
        right[::3, 1] += np.where(right[::3, 1] <= 0, 360.0, -360.0) if lon0 in {0.0, -180.0} else 0.0
        right[:, 1] = np.clip(right[:, 1], -180, 360)
        angles = np.diag(sphere.angle_matrix(left, right, unit=unit))
        exact = exact_short_angles(left, right)
        near = exact <= unit
        assert near.sum() >= 20
        assert (np.abs(angles - exact)[near] <= 1e-14 * exact[near]).all()
        assert (angles[~near] >= unit).all()


def test_angles_across_the_seam_and_at_the_antipode() -> None:
    seam = sphere.angle_matrix(np.array([[10.0, 180.0]]), np.array([[10.0, -180.0], [10.0, -179.99999]]), unit=1e-5)
    assert seam[0, 0] == 0
    assert seam[0, 1] == pytest.approx(math.radians(360 - 180 - 179.99999) * math.cos(math.radians(10)), rel=1e-12)
    assert sphere.angle_matrix(np.array([[30.0, 20.0]]), np.array([[-30.0, 200.0]]))[0, 0] == math.pi
    assert sphere.angle_matrix(np.zeros((0, 2)), np.zeros((3, 2)), unit=1e-9).shape == (0, 3)


@pytest.mark.parametrize("unit", [1.0, 1e-5])
def test_matrices_are_symmetric_with_a_diagonal_of_0(unit: float) -> None:
    places = np.vstack([grid((-90.0, -180.0, 90.0, 180.0), 9, 9), grid((40.0, -74.0, 40.0001, -73.9999), 5, 5)])
    matrix = sphere.angle_matrix(places, places, unit=unit)
    assert np.array_equal(matrix, matrix.T)
    assert not np.diag(matrix).any()


def test_rounding_bound_is_small_where_it_can_be() -> None:
    assert sphere.angle_error(math.radians(90)) * 6371e3 < 1e-6  # a micrometre
    assert sphere.angle_error(math.pi) * 6371e3 < 2  # two metres, at the antipode
    assert sphere.angle_error(0.0) > 0
