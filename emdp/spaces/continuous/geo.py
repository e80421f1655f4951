"""``Geo``: places in a box of latitudes and longitudes, with the great-circle distance."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from emdp.base.checks import check_finite, check_range, shown
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.spaces.base import Floats, FunctionBounds, OnInvalid, check_on_invalid
from emdp.spaces.box import BoxPart
from emdp.spaces.continuous.sphere import (
    Box,
    angle_error,
    angle_matrix,
    angle_range,
    box_angle,
    degrees_per_angle,
    great_circle,
    smallest_cosine,
)
from emdp.spaces.part import check_columns, check_diameter
from emdp.spaces.ranges import GridLine, PointKind, Span, line_of
from emdp.spaces.rounding import UNIT_ROUNDOFF, product_up, quotient_up
from emdp.spaces.values import is_sequence

__all__ = ["EARTH_RADIUS", "KM_PER_UNIT", "LATITUDES", "LONGITUDES", "UNITS", "Geo"]

EARTH_RADIUS = 6371.0088
"""Mean radius of the Earth in km (IUGG): the sphere on which distances are measured."""

KM_PER_UNIT: Mapping[str, float] = MappingProxyType({"km": 1.0, "mi": 1.609344, "m": 0.001})
"""Length in km of each natural unit (the international mile)."""

UNITS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"km": ("kilometers", "kilometres"), "mi": ("mile", "miles"), "m": ("meters", "metres")}
)
"""Each natural unit with its other spellings, for Python, catalogs and the command line alike."""

LATITUDES, LONGITUDES = ("lat", "latitude"), ("lon", "lng", "long", "longitude")
"""Words in a column's name that say which of the two it holds."""

ELSEWHERE = "as_given = true in a catalog, --as-given on the command line"
"""Form of the option where there is no Python."""

UNINHABITED = -60.0
"""No city lies south of it, but there the box of many a one lies whose longitudes were put first."""

WEST_END, EAST_END = -180.0, 360.0
"""Longitudes that a box or a point may have: both usual scales, -180 to 180 and 0 to 360."""


@dataclass(frozen=True, init=False, repr=False)
class Geo(BoxPart):
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
        Natural unit; ``"miles"``, ``"metres"`` and ``"kilometres"`` are other spellings (:data:`UNITS`).
    diameter : float, optional
        Distance that counts as 1; default that of the box's farthest pair, rounded outward, which need not be
        corners.
    on_invalid : {"error", "clamp", "neutral", "elsewhere"}
        What is done with an invalid place.
    neutral : (lat, lon), optional
        The neutral item, inside the box; default its centre.
    as_given : bool
        Whether columns and box are meant as they stand, though ``lat`` names a column of longitudes or the reverse, or
        the box lies where nobody lives and would not in the other order.

    Raises
    ------
    UsageError
        If an argument is malformed; ``west > east`` too, with the remedy above; or latitudes and longitudes seem
        swapped and ``as_given`` does not say that they are not.

    References
    ----------
    EMD 1 (the farthest pair of a wide box), EMD 2 (constants of lat and lon); proofs in
    :mod:`emdp.spaces.continuous.sphere`.

    >>> space = Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70), unit="km", on_invalid="clamp")
    >>> round(space.diameter, 3)
    67.988
    >>> home = {"lat": [40.7], "lon": [-74.0]}
    >>> space.pairwise(home, {"lat": [40.7, 41.5], "lon": [-74.0, -74.0]}).round(4).tolist()
    [[0.0, 0.3598]]
    """

    kind: ClassVar[str] = "geo"
    has_grid: ClassVar[bool] = True
    is_map: ClassVar[bool] = True
    point_kind: ClassVar[PointKind] = "place"
    columns: tuple[str, ...]
    box: Box
    unit: str
    radius: float
    diameter: float
    domain_diameter: float
    on_invalid: OnInvalid
    neutral: tuple[float, float]
    as_given: bool = field(compare=False)

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
        as_given: bool = False,
    ) -> None:
        south, west, north, east = checked = _check_box(box)
        columns = check_columns("lat and lon", [lat, lon])
        swapped = _swapped(columns, checked)
        if swapped is not None and as_given is not True:
            raise UsageError(f"{swapped}, or as_given=True ({ELSEWHERE}) if it is meant.")
        unit = _check_unit(unit)
        radius = EARTH_RADIUS / KM_PER_UNIT[unit]
        domain_diameter = box_angle(checked) * radius * (1 + 4 * UNIT_ROUNDOFF)
        centre = (south + (north - south) / 2, west + (east - west) / 2)
        place = centre if neutral is None else _check_pair("neutral", neutral)
        self._set(
            columns=columns,
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
            as_given=swapped is not None,
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
        return np.array([self.neutral])

    @property
    def spans(self) -> tuple[Span, ...]:
        south, west, north, east = self.box
        return Span(self.lat, south, north), Span(self.lon, west, east)

    @property
    def tried_points(self) -> tuple[Any, ...]:
        """The centre and the south-western corner of the box."""
        south, west, north, east = self.box
        return ((south + north) / 2, (west + east) / 2), (south, west)

    def encode_point(self, point: Any) -> Floats:
        """Return a pair (lat, lon) in degrees as an encoded point, shape (1, 2)."""
        lat, lon = _check_pair("point", point)
        if self.turned(point) is not None:
            raise UsageError(
                f"the point's latitude must be between -90 and 90, got {lat:g}; the latitude comes first, so swap the "
                f"two: ({lon:g}, {lat:g})."
            )
        check_range("the point's latitude", lat, -90, 90)
        check_range("the point's longitude", lon, WEST_END, EAST_END)
        return np.array([[lat, lon]])

    def turned(self, point: Any) -> tuple[float, float] | None:
        lat, lon = _check_pair("point", point)
        return (lon, lat) if abs(lon) <= 90 < abs(lat) <= EAST_END else None

    def misplaced(self, point: Floats) -> tuple[str, tuple[float, float] | None] | None:
        """Return what is strange about a point that lies farther from the box than the box is wide.

        With it the point of the same two numbers in the other order, if that lies nearer.
        """
        lat, lon = float(point[0, 0]), float(point[0, 1])
        wide = max(self.diameter, self.domain_diameter)
        away = self.distance_bounds(point).low
        if away <= wide:
            return None
        near = abs(lon) <= 90 and self.distance_bounds(np.array([[lon, lat]])).low <= wide
        text = f"lies {away:,.0f} {self.unit} outside the box, which is {wide:,.4g} {self.unit} wide"
        return text, (lon, lat) if near else None

    def natural_distances(self, left: Floats, right: Floats) -> Floats:
        """Return the matrix of great-circle distances.

        Each is within 1e-10 km of the exact one (1.5e-14 times the radius), and ``d_X`` within 2e-10, however
        small the diameter (:func:`emdp.spaces.continuous.sphere.angle_matrix`).
        """
        matrix = angle_matrix(left, right, unit=self.diameter / self.radius)
        matrix *= self.radius
        return matrix

    def column_bounds(self, column: str) -> FunctionBounds:
        """Return what is known of the latitude or the longitude, in degrees.

        The constant of the longitude is infinite if the box reaches a pole or goes all the way round.
        """
        south, west, north, east = self.box
        if self._place(column) == 0:
            per_angle, low, high = math.degrees(1.0), south, north
        else:
            per_angle, low, high = degrees_per_angle(self.box), west, east
        if math.isinf(per_angle):
            return FunctionBounds(math.inf, low, high, 0.0)
        lipschitz = product_up(per_angle * (1 + 8 * UNIT_ROUNDOFF), quotient_up(self.diameter, self.radius))
        return FunctionBounds(lipschitz, low, high, 0.0)

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
        """Return the distances to a point by the haversine formula of :mod:`emdp.spaces.continuous.sphere`."""
        angles = great_circle(items[:, 0], items[:, 1], float(point[0, 0]), float(point[0, 1]))
        return angles * self.radius

    def joint_rates(self, alone: Mapping[str, float], steps: Mapping[str, float]) -> tuple[float, ...] | None:
        """Return the rates along latitude and longitude (proof: ``emdp/expressions/cells/hat_bounds.py``)."""
        cosine = smallest_cosine(self.box)
        if cosine is None:
            return None
        arc = quotient_up(self.diameter, self.radius)
        degrees = product_up(math.degrees(1.0) * (1 + 2 * UNIT_ROUNDOFF), arc)
        return quotient_up(degrees, steps[self.lat]), quotient_up(quotient_up(degrees, cosine), steps[self.lon])

    def grid_refusal(self) -> str | None:
        """Return why a box that holds a pole or goes all the way round has no grid; else None."""
        if not math.isinf(self.column_bounds(self.lon).lipschitz):
            return None
        return (
            f"the box of {self.lat!r} or {self.lon!r} reaches a pole or goes all the way round, where longitudes have "
            "no finite constant; ask for ramps of distances to places, or narrow the box"
        )

    def grid_lines(self, step: float) -> tuple[GridLine, ...]:
        """Return nodes whose cells are ``step`` high, and at most that wide (``emdp/estimators/frequency/grids.py``).

        Cells are a little less high, and so less wide, where a node would lie beyond a pole.
        """
        if self.grid_refusal() is not None:
            return super().grid_lines(step)
        lats, lons = self.spans
        pitch = math.degrees(step / self.radius)
        along = line_of(lats, pitch)
        if lats.low + (along.size - 1) * pitch > 90:
            along = GridLine(self.lat, lats.low, (lats.high - lats.low) / (along.size - 1), along.size)
        return along, line_of(lons, along.step / math.cos(math.radians(_widest_latitude(along))))

    def cell_pitches(self, steps: tuple[float, ...]) -> tuple[float, ...]:
        """Return the pitch of latitudes twice: a cell is nowhere wider than it is high."""
        return (math.radians(steps[0]) * self.radius,) * 2

    def grid_notes(self, lines: Sequence[GridLine], step: float) -> tuple[str, ...]:
        """Return where cells are as wide as high."""
        widest = _widest_latitude(lines[0])
        return (f"cells are {step:.6g} {self.unit} wide at {widest:.6g} degrees of latitude and narrower elsewhere",)

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "lat": self.lat,
            "lon": self.lon,
            "box": list(self.box),
            "unit": self.unit,
            "diameter": self.diameter,
            "on_invalid": self.on_invalid,
            "neutral": list(self.neutral),
            **({"as_given": True} if self.as_given else {}),
        }

    def _place(self, column: str) -> int:
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
            raise UsageError(
                f"box's {name} must be a latitude in [-90, 90], got {edge}; {_other_order(south, west, north, east)}."
            )
    if south > north:
        raise UsageError(f"box's south {south} is above its north {north}; {_other_order(south, west, north, east)}.")
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


def _other_order(a: float, b: float, c: float, d: float) -> str:
    """Return the remedy for a box of four numbers that cannot be in the right order: the order, and the box in it."""
    for south, west, north, east in ((b, a, d, c), (a, c, b, d), (c, a, d, b), (c, b, a, d), (c, d, a, b)):
        if -90 <= south < north <= 90 and WEST_END <= west < east <= EAST_END:
            return f"the order is (south, west, north, east), so pass ({south:g}, {west:g}, {north:g}, {east:g})"
    return "the order is (south, west, north, east), so pass latitudes first"


def _swapped(columns: tuple[str, ...], box: Box) -> str | None:
    """Return why latitudes and longitudes seem swapped, with the remedy; None where they do not."""
    lat, lon = columns
    south, west, north, east = box
    if _names(lat, LONGITUDES, LATITUDES) or _names(lon, LATITUDES, LONGITUDES):
        return (
            f"lat is the column {lat!r} and lon is {lon!r}, which seem swapped by their names; the latitude comes "
            f"first, so pass {lon!r}, {lat!r}"
        )
    if north < UNINHABITED <= west and east <= 90:
        return (
            f"box lies at the latitudes {south:g} to {north:g}, where nobody lives; the order is (south, west, north, "
            f"east), so pass ({west:g}, {south:g}, {east:g}, {north:g})"
        )
    return None


def _names(column: str, words: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """Say whether a column's name has one of some words in it, and none of the others."""
    parted = re.sub("([a-z])([A-Z])", r"\1 \2", column).lower()
    found = set(re.findall("[a-z]+", parted))
    return not found.isdisjoint(words) and found.isdisjoint(others)


def _widest_latitude(along: GridLine) -> float:
    """Return the latitude nearest to the equator among the nodes and between them."""
    last = along.start + (along.size - 1) * along.step
    return 0.0 if along.start <= 0 <= last else min(abs(along.start), abs(last))


def _check_unit(unit: object) -> str:
    for name, others in UNITS.items():
        if unit == name or unit in others:
            return name
    listed = ", ".join(f"{name!r} ({others[-1]})" for name, others in UNITS.items())
    raise UsageError(f"unit must be one of {listed}, got {shown(unit)}; pass one of them.")


def _check_pair(name: str, pair: object) -> tuple[float, float]:
    if not is_sequence(pair) or len(pair) != 2:
        raise UsageError(f"{name} must be a pair (lat, lon) in degrees, got {shown(pair)}; pass two numbers.")
    lat, lon = pair
    return check_finite(f"{name}'s latitude", lat), check_finite(f"{name}'s longitude", lon)
