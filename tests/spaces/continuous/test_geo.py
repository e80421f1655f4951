"""``Geo``: the box, units, poles, the antimeridian, and the constants in natural units."""

import math

import numpy as np
import pytest

from emdp.base.errors import UsageError
from emdp.spaces import Geo, from_json
from emdp.spaces.continuous.geo import EARTH_RADIUS, UNITS

NYC = (40.48, -74.26, 40.92, -73.70)


def test_attributes() -> None:
    space = Geo("lat", "lon", box=NYC, unit="mi")
    assert (space.lat, space.lon, space.columns) == ("lat", "lon", ("lat", "lon"))
    assert space.box == NYC
    assert space.unit == "mi"
    assert space.radius == pytest.approx(3958.7613, abs=1e-4)
    assert space.neutral == pytest.approx((40.7, -73.98))


def test_known_distances() -> None:
    space = Geo("lat", "lon", box=(-90, -180, 90, 180))
    paris, new_york = space.encode_point((48.8566, 2.3522)), space.encode_point((40.7128, -74.0060))
    assert space.natural_distances(paris, new_york)[0, 0] == pytest.approx(5837.24, abs=0.05)
    assert space.distance_values(paris, new_york)[0] == pytest.approx(5837.24, abs=0.05)
    assert space.domain_diameter == pytest.approx(math.pi * EARTH_RADIUS, rel=1e-12)
    assert Geo("lat", "lon", (-90, -180, 90, 180), "mi").diameter == pytest.approx(12436.8, abs=0.1)


def test_matrix_and_haversine_agree() -> None:
    rng = np.random.default_rng(0)
    space = Geo("lat", "lon", box=NYC)
    items = np.column_stack([rng.uniform(40.48, 40.92, 200), rng.uniform(-74.26, -73.70, 200)])
    matrix = space.natural_distances(items, items)
    for place in range(0, 200, 20):
        by_haversine = space.distance_values(items, items[place : place + 1])
        np.testing.assert_allclose(matrix[:, place], by_haversine, rtol=0, atol=1e-11)


def test_constants_of_columns() -> None:
    space = Geo("lat", "lon", box=NYC)
    per_degree = math.pi * EARTH_RADIUS / 180
    assert space.column_bounds("lat").lipschitz == pytest.approx(space.diameter / per_degree, rel=1e-14)
    b, p = math.radians(0.56), math.radians(40.92)
    widened = (b / 2) / math.asin(math.cos(p) * math.sin(b / 2))
    assert space.column_bounds("lon").lipschitz == pytest.approx(space.diameter / per_degree * widened, rel=1e-12)
    assert (space.column_bounds("lon").low, space.column_bounds("lon").high) == (-74.26, -73.70)
    with pytest.raises(UsageError, match="no column 'alt'"):
        space.column_bounds("alt")


def test_diameter_scales_constants_and_may_cut() -> None:
    space = Geo("lat", "lon", box=NYC, diameter=10)
    assert space.is_truncated
    assert space.column_bounds("lat").lipschitz == pytest.approx(10 / 111.195, rel=1e-4)
    assert space.distance_bounds(space.encode_point((40.7, -74.0))).lipschitz == 10
    assert space.pairwise({"lat": [40.5], "lon": [-74.0]}, {"lat": [40.9], "lon": [-74.0]})[0, 0] == 1.0


def test_range_of_distances() -> None:
    space = Geo("lat", "lon", box=NYC)
    inside = space.distance_bounds(space.encode_point((40.7484, -73.9857)))
    assert inside.low == 0
    assert inside.high < space.diameter
    assert inside.rounding < 1e-9
    outside = space.distance_bounds(space.encode_point((42.0, -74.0)))
    assert outside.low == pytest.approx((42.0 - 40.92) * math.pi * EARTH_RADIUS / 180, rel=1e-3)
    antipode = space.distance_bounds(space.encode_point((-40.7, 106.0)))
    assert antipode.high == pytest.approx(math.pi * EARTH_RADIUS, rel=1e-6)
    assert antipode.rounding < 0.002


@pytest.mark.parametrize("width", [1e-9, 1e-6, 1e-3])
def test_d_x_is_accurate_in_small_boxes_and_for_small_diameters(width: float) -> None:
    small = Geo("lat", "lon", box=(40.7, -74.0, 40.7 + width, -74.0 + width))
    cut = Geo("lat", "lon", box=NYC, diameter=small.diameter)
    south, west, north, east = small.box
    tall, wide = math.radians(north - south), math.radians(east - west) * math.cos(math.radians(south))
    for space in (small, cut):
        unit = space.diameter / EARTH_RADIUS
        d = space.distances(np.array([[south, west]]), np.array([[north, west], [south, east], [south, west]]))[0]
        assert d.tolist() == pytest.approx([tall / unit, wide / unit, 0], abs=2e-10)


def test_d_x_is_accurate_near_the_antipode() -> None:
    space = Geo("lat", "lon", box=(-90, -180, 90, 180))
    for degrees in (1e-8, 1e-6, 1e-3, 0.1):
        places = np.array([[degrees, 180.0], [0.0, 180.0 - degrees]])
        d = space.distances(np.array([[0.0, 0.0]]), places)[0]
        assert d.tolist() == pytest.approx([(180 - degrees) / 180] * 2, abs=2e-14)


def test_poles() -> None:
    space = Geo("lat", "lon", box=(80, -180, 90, 180))
    assert space.diameter == pytest.approx(20 * math.pi * EARTH_RADIUS / 180, rel=1e-9)
    assert space.column_bounds("lon").lipschitz == math.inf
    assert space.column_bounds("lat").lipschitz < math.inf
    at_pole = {"lat": [90.0, 90.0], "lon": [0.0, 137.0]}
    assert space.pairwise(at_pole, at_pole).max() < 1e-15


def test_antimeridian_needs_the_scale_to_360() -> None:
    with pytest.raises(UsageError, match="longitudes from 0 to 360"):
        Geo("lat", "lon", box=(-20, 170, -10, -170))
    space = Geo("lat", "lon", box=(-20, 170, -10, 190))
    assert space.neutral == (-15.0, 180.0)
    across = space.pairwise({"lat": [-15], "lon": [179]}, {"lat": [-15], "lon": [181]})
    degrees = math.degrees(across[0, 0] * space.diameter / EARTH_RADIUS)
    assert degrees == pytest.approx(2 * math.cos(math.radians(15)), rel=1e-3)
    # A public point may use either scale.
    east, west = (space.distance_bounds(space.encode_point((-15, lon))) for lon in (185, -175))
    assert east.high == pytest.approx(west.high, rel=1e-12)
    assert east.low == west.low == 0


@pytest.mark.parametrize(
    ("box", "message"),
    [
        ((-74.26, 40.48, -73.70, 40.92), r"nobody lives; .* pass \(40.48, -74.26, 40.92, -73.7\), or as_given=True"),
        ((-122.5, 37.7, -122.3, 37.8), r"south must be a latitude .* so pass \(37.7, -122.5, 37.8, -122.3\)"),
        ((40.48, 40.92, -74.26, -73.70), r"south 40.48 is above .* so pass \(40.48, -74.26, 40.92, -73.7\)"),
        ((40.92, -73.70, 40.48, -74.26), r"south 40.92 is above .* so pass \(40.48, -74.26, 40.92, -73.7\)"),
        ((40.0, -74.0, 120.0, -73.0), "north must be a latitude"),
        ((41.0, -74.0, 40.0, -73.0), "south 41.0 is above its north"),
        ((40.0, -200.0, 41.0, -73.0), "longitudes must lie in"),
        ((40.0, -180.0, 41.0, 200.0), "span at most 360"),
        ((40.0, -74.0, 41.0), "pass four numbers"),
        ((40.0, -74.0, 41.0, math.nan), "box's east must be finite"),
        ((40.0, -74.0, 40.0, -74.0), None),
        ("40,-74,41,-73", "pass four numbers"),
    ],
)
def test_boxes_are_checked(box: object, message: str | None) -> None:
    if message is None:
        assert Geo("lat", "lon", box).domain_diameter >= 0  # type: ignore[arg-type]
        return
    with pytest.raises(UsageError, match=message):
        Geo("lat", "lon", box)  # type: ignore[arg-type]


def test_other_arguments_are_checked() -> None:
    with pytest.raises(UsageError, match=r"unit must be one of 'km' \(kilometres\), 'mi' \(miles\), 'm' \(metres\)"):
        Geo("lat", "lon", NYC, "furlong")
    with pytest.raises(UsageError, match="diameter must be above 0"):
        Geo("lat", "lon", NYC, diameter=0)
    with pytest.raises(UsageError, match="neutral's latitude must be between"):
        Geo("lat", "lon", NYC, neutral=(0, 0))
    with pytest.raises(UsageError, match="names a column twice"):
        Geo("lat", "lat", NYC)
    space = Geo("lat", "lon", NYC)
    for point in (40.7, (40.7,), "40", {"lat": 1, "lon": 2}, (40.7, math.nan), (91, 0), (0, -181), None):
        with pytest.raises(UsageError):
            space.encode_point(point)


def test_swapped_coordinates_are_invalid() -> None:
    space = Geo("lat", "lon", box=NYC, on_invalid="neutral")
    assert space.valid_mask({"lat": [-74.0, 40.7], "lon": [40.7, -74.0]}).tolist() == [False, True]
    assert np.array_equal(space.encode({"lat": [-74.0], "lon": [40.7]}), space.neutral_item)


@pytest.mark.parametrize(("lat", "lon"), [("lon", "lat"), ("lng", "y"), ("x", "latitude"), ("pickupLongitude", "b")])
def test_columns_that_are_named_the_other_way_round_are_refused_unless_said_twice(lat: str, lon: str) -> None:
    with pytest.raises(UsageError, match=f"pass '{lon}', '{lat}', or as_given=True"):
        Geo(lat, lon, box=NYC)
    meant = Geo(lat, lon, box=NYC, as_given=True)
    assert meant.columns == (lat, lon)
    assert from_json(meant.to_json()) == meant


@pytest.mark.parametrize(
    ("lat", "lon"), [("lat", "lng"), ("y", "x"), ("longest", "latest"), ("end_lat", "end_lon"), ("latlon1", "latlon2")]
)
def test_other_names_say_nothing_of_their_order(lat: str, lon: str) -> None:
    assert "as_given" not in Geo(lat, lon, box=NYC).to_json()


def test_a_box_in_the_antarctic_may_be_meant() -> None:
    box = (-74.26, 40.48, -73.70, 40.92)
    assert from_json(Geo("lat", "lon", box, as_given=True).to_json()).columns == ("lat", "lon")
    assert Geo("lat", "lon", (-90, -180, -60.5, 180)).domain_diameter > 0


def test_units_have_the_spellings_of_the_words() -> None:
    for name, others in UNITS.items():
        for other in others:
            assert Geo("lat", "lon", NYC, other).to_json() == Geo("lat", "lon", NYC, name).to_json()
