"""``Geo``: places in a box of latitudes and longitudes, with the great-circle distance."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from emdp.checks import check_choice, check_finite, check_range
from emdp.errors import UsageError
from emdp.spaces.base import Floats, FunctionBounds, Mask, OnInvalid, check_on_invalid
from emdp.spaces.given import is_sequence, shown
from emdp.spaces.part import Part, check_columns, check_diameter, numeric_items
from emdp.spaces.rounding import UNIT_ROUNDOFF, product_up, quotient_up
from emdp.spaces.sphere import (
    Box,
    angle_error,
    angle_matrix,
    angle_range,
    box_angle,
    degrees_per_angle,
    great_circle,
)

__all__ = ["EARTH_RADIUS", "KM_PER_UNIT", "Geo"]

EARTH_RADIUS = 6371.0088
"""Mean radius of the Earth in km (IUGG): the sphere on which distances are measured."""

KM_PER_UNIT: Mapping[str, float] = MappingProxyType({"km": 1.0, "mi": 1.609344, "m": 0.001})
"""Length in km of each natural unit (the international mile)."""

WEST_END, EAST_END = -180.0, 360.0
"""Longitudes that a box or a point may have: both usual scales, -180 to 180 and 0 to 360."""


@dataclass(frozen=True, init=False, repr=False)
class Geo(Part):
    """Places of a box with the great-circle distance on a sphere of radius ``EARTH_RADIUS``.

    Parameters
    ----------
    lat, lon : str
        The columns, in degrees.
    box : (south, west, north, east)
        The public domain, in degrees. A place outside it is invalid; under ``on_invalid="clamp"`` its
        latitude and its longitude each move to the nearer edge, as numbers; NULL and NaN become ``neutral``.
        Longitudes are compared as numbers, so a box across the antimeridian must use the scale 0 to 360, and
        so must the column: ``(-20, 170, -10, 190)``. A box may hold a pole: only the longitude as a value is
        then refused.
    unit : {"km", "mi", "m"}
        Natural unit.
    diameter : float, optional
        Distance that counts as 1; default that of the box's farthest pair, rounded outward, which need not be
        corners.
    on_invalid : {"error", "clamp", "neutral"}
        What is done with an invalid place.
    neutral : (lat, lon), optional
        The neutral item, inside the box; default its centre.

    Raises
    ------
    UsageError
        If an argument is malformed; ``west > east`` too, with the remedy above.

    References
    ----------
    EMD 1 (the farthest pair of a wide box), EMD 2 (constants of lat and lon); proofs in
    :mod:`emdp.spaces.sphere`.

    >>> space = Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), unit="km", on_invalid="clamp")
    >>> round(space.diameter, 3)
    67.988
    >>> home = {"lat": [40.7], "lon": [-74.0]}
    >>> space.pairwise(home, {"lat": [40.7, 41.5], "lon": [-74.0, -74.0]}).round(4).tolist()
    [[0.0, 0.3598]]
    """

    kind: ClassVar[str] = "geo"
    columns: tuple[str, ...]
    box: Box
    unit: str
    radius: float
    diameter: float
    domain_diameter: float
    on_invalid: OnInvalid
    neutral: tuple[float, float]

    def __init__(
        self,
        lat: str,
        lon: str,
        box: Sequence[float],
        unit: str = "km",
        *,
        diameter: float | None = None,
        on_invalid: OnInvalid = "error",
        neutral: Sequence[float] | None = None,
    ) -> None:
        south, west, north, east = checked = _check_box(box)
        radius = EARTH_RADIUS / KM_PER_UNIT[check_choice("unit", unit, tuple(KM_PER_UNIT))]
        domain_diameter = box_angle(checked) * radius * (1 + 4 * UNIT_ROUNDOFF)
        centre = (south + (north - south) / 2, west + (east - west) / 2)
        place = centre if neutral is None else _check_pair("neutral", neutral)
        self._set(
            columns=check_columns("lat and lon", [lat, lon]),
            box=checked,
            unit=unit,
            radius=radius,
            diameter=check_diameter(diameter, domain_diameter),
            domain_diameter=domain_diameter,
            on_invalid=check_on_invalid(on_invalid),
            neutral=(
                check_range("neutral's latitude", place[0], south, north),
                check_range("neutral's longitude", place[1], west, east),
            ),
        )

    @property
    def lat(self) -> str:
        """The column of latitudes."""
        return self.columns[0]

    @property
    def lon(self) -> str:
        """The column of longitudes."""
        return self.columns[1]

    @property
    def neutral_item(self) -> Floats:
        """The encoded neutral item, of shape (1, 2)."""
        return np.array([self.neutral])

    def _read(self, frame: object) -> Floats:
        return numeric_items(frame, self.columns)

    def _inside(self, items: Floats) -> Mask:
        south, west, north, east = self.box
        lat, lon = items[:, 0], items[:, 1]
        return (lat >= south) & (lat <= north) & (lon >= west) & (lon <= east)

    def _clamped(self, items: Floats) -> Floats:
        south, west, north, east = self.box
        return np.clip(items, [south, west], [north, east])

    def encode_point(self, point: Any) -> Floats:
        """Return a pair (lat, lon) in degrees as an encoded point, shape (1, 2)."""
        lat, lon = _check_pair("point", point)
        check_range("the point's latitude", lat, -90, 90)
        check_range("the point's longitude", lon, WEST_END, EAST_END)
        return np.array([[lat, lon]])

    def decode(self, items: Floats) -> dict[str, list[Any]]:
        """Return encoded items as degrees under the two columns' names."""
        return {self.lat: items[:, 0].tolist(), self.lon: items[:, 1].tolist()}

    def natural_distances(self, left: Floats, right: Floats) -> Floats:
        """Return the matrix of great-circle distances.

        Each is within 1e-10 km of the exact one (1.5e-14 times the radius), and ``d_X`` within 2e-10, however
        small the diameter (:func:`emdp.spaces.sphere.angle_matrix`).
        """
        matrix = angle_matrix(left, right, unit=self.diameter / self.radius)
        matrix *= self.radius
        return matrix

    def column_bounds(self, column: str) -> FunctionBounds:
        """Return what is known of the latitude or the longitude, in degrees.

        The constant of the longitude is infinite if the box reaches a pole or goes all the way round.
        """
        south, west, north, east = self.box
        if self._position(column) == 0:
            per_angle, low, high = math.degrees(1.0), south, north
        else:
            per_angle, low, high = degrees_per_angle(self.box), west, east
        if math.isinf(per_angle):
            return FunctionBounds(math.inf, low, high, 0.0)
        lipschitz = product_up(per_angle * (1 + 8 * UNIT_ROUNDOFF), quotient_up(self.diameter, self.radius))
        return FunctionBounds(lipschitz, low, high, 0.0)

    def column_values(self, items: Floats, column: str) -> Floats:
        """Return the latitude or the longitude of each encoded item, in degrees."""
        return items[:, self._position(column)]

    def distance_bounds(self, point: Floats) -> FunctionBounds:
        """Return what is known of the great-circle distance to a point, which may lie outside the box."""
        low, high = angle_range(float(point[0, 0]), float(point[0, 1]), self.box)
        return FunctionBounds(
            self.diameter,
            low * self.radius * (1 - 4 * UNIT_ROUNDOFF),
            high * self.radius * (1 + 4 * UNIT_ROUNDOFF),
            angle_error(high) * self.radius,
        )

    def distance_values(self, items: Floats, point: Floats) -> Floats:
        """Return the distances to a point by the haversine formula of :mod:`emdp.spaces.sphere`."""
        angles = great_circle(items[:, 0], items[:, 1], float(point[0, 0]), float(point[0, 1]))
        return angles * self.radius

    def to_json(self) -> dict[str, Any]:
        """Return the arguments that rebuild the space."""
        return {
            "kind": self.kind,
            "lat": self.lat,
            "lon": self.lon,
            "box": list(self.box),
            "unit": self.unit,
            "diameter": self.diameter,
            "on_invalid": self.on_invalid,
            "neutral": list(self.neutral),
        }

    def _position(self, column: str) -> int:
        if column not in self.columns:
            raise UsageError(f"the space has no column {column!r}, only {self.lat!r} and {self.lon!r}; name one.")
        return self.columns.index(column)


def _check_box(box: object) -> Box:
    if not is_sequence(box) or len(box) != 4:
        raise UsageError(f"box must be (south, west, north, east) in degrees, got {shown(box)}; pass four numbers.")
    names = ("south", "west", "north", "east")
    south, west, north, east = (check_finite(f"box's {name}", edge) for name, edge in zip(names, box, strict=True))
    for name, edge in (("south", south), ("north", north)):
        if not -90 <= edge <= 90:
            raise UsageError(f"box's {name} must be a latitude in [-90, 90], got {edge}; latitudes come first.")
    if south > north:
        raise UsageError(f"box's south {south} is above its north {north}; pass (south, west, north, east).")
    if west > east:
        raise UsageError(
            f"box's west {west} is above its east {east}; for a box across the antimeridian use longitudes "
            "from 0 to 360, in the column too."
        )
    if west < WEST_END or east > EAST_END or east - west > 360:
        raise UsageError(
            f"box's longitudes must lie in [{WEST_END}, {EAST_END}] and span at most 360 degrees, "
            f"got {west} and {east}; use -180 to 180 or 0 to 360."
        )
    return south, west, north, east


def _check_pair(name: str, pair: object) -> tuple[float, float]:
    if not is_sequence(pair) or len(pair) != 2:
        raise UsageError(f"{name} must be a pair (lat, lon) in degrees, got {shown(pair)}; pass two numbers.")
    lat, lon = pair
    return check_finite(f"{name}'s latitude", lat), check_finite(f"{name}'s longitude", lon)
