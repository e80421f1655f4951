"""Charts for planar Laplace noise: maps of a space into R^d that lengthen no distance, and their ways back.

A chart is a map ``T`` of the domain into R^d with ``||T(x) - T(y)||_2 <= dist(x, y)``, ``dist`` the space's natural,
untruncated distance: its Lipschitz constant is 1, so nothing multiplies ``alpha0`` (EMD 4). Its way back is any public
function; it ends in the domain and is post-processing.

1. ``Interval`` and ``Vector``: ``T(x) = x - centre``, an isometry.
2. ``Geo``, equirectangular: ``T = R (k lambda, phi)``, angles in radians from the box's centre, ``R`` the Earth's
   radius, ``k = cos(phi*)`` with ``tan(phi*) = tan(p)/cos(b/2)``, ``p`` the box's largest |latitude|, ``b < pi`` its
   width. *Proof.* With ``lambda`` counted from the middle of the box, put ``X = cos(phi) cos(lambda)``, ``Y =
   cos(phi) sin(lambda)``, ``Z = sin(phi)``. Every place of the box satisfies the linear inequalities ``|Y| <= X
   tan(b/2)`` and ``|Z| <= X tan(p)/cos(b/2)``, since ``tan|phi| <= tan(p)`` and ``cos(lambda) >= cos(b/2)``, and
   ``X > 0``. The points of the sphere that satisfy them form a cone's part, so the shortest path between two of
   them, a positive combination of its ends, stays there: ``|lambda| <= b/2`` and ``tan|phi| <= tan(p)
   cos(lambda)/cos(b/2) <= tan(phi*)``. It may leave the *box* (EMD 2), hence not ``k = cos(p)``. Along it ``k^2
   dlambda^2 + dphi^2 <= cos^2(phi) dlambda^2 + dphi^2``, so its image is no longer than it is, and joins the images
   of its ends, since the longitude does not jump. A larger ``k`` with more noise gains nothing: east-west errors
   keep their size and north-south errors grow.
3. ``Geo``, chords: ``T = R (cos phi cos lambda, cos phi sin lambda, sin phi)`` minus its value at the centre; a chord
   is no longer than its arc. It serves every box, poles and all longitudes included; the way back is the nearest
   point of the sphere. Of noise of mean length ``3 s`` in space the part along the surface has mean length ``3 s
   pi/4``, 18 % above the ``2 s`` of the plane. The equirectangular chart stretches an east-west error at latitude
   ``phi`` by ``cos(phi)/cos(phi*)``; it is used up to a stretch of ``MOST_STRETCH``.

Rounding, ``u = 2^-53``; :attr:`Chart.error` bounds the distance between the computed and the exact ``T``. (1) has one
subtraction a coordinate, ``u`` relative, and in (2) one product more, with constants that are themselves floats below
the exact ones: relative errors, so ``e`` is a few ``u`` times the chart's radius. In (3) a unit vector is within
``31 u`` (:mod:`emdp.spaces.continuous.sphere`), the product with ``R`` and the subtraction add at most ``4 u``. The
cosine, ``cos p cos(b/2)/sqrt(cos^2 p cos^2(b/2) + sin^2 p)``: as sines of distances to 90 degrees, its factors are
within ``11 u`` and, for ``b <= 160`` degrees, ``30 u``; with the root less than ``128 u``, which is taken off twice.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.noise.k_norm import MAX_DIMENSION
from emdp.spaces import Geo, Interval, Space, Vector
from emdp.spaces.base import Floats
from emdp.spaces.continuous.sphere import Box, angle_range, unit_vectors
from emdp.spaces.rounding import UNIT_ROUNDOFF, difference_up, norm_up, product_up

__all__ = ["CHARTS", "MOST_STRETCH", "BallChart", "BoxChart", "Chart", "GeoPlane", "GeoSphere", "chart_of"]

MOST_STRETCH = 4.0 / 3.0
"""Largest stretch of an east-west error: about where chords, with 18 % larger errors all round, do better."""

WIDEST = 160.0
"""Degrees of longitude that the equirectangular chart accepts: its cosine is accurate there."""


@dataclass(frozen=True)
class Chart(ABC):
    """A contraction of a space's domain into R^d, and a way back."""

    dimension: int  # The `d` of R^d
    radius: float  # Bound of `||T(x)||_2` on the domain, rounded up, in natural units
    error: float  # Bound of the 2-norm of `to_plane(x) - T(x)`, in natural units

    moved: ClassVar[float] = 1.0
    # How far noise moves an item, on average, as a share of its length: before any clamp, for small noise.

    @abstractmethod
    def to_plane(self, items: Floats) -> Floats:
        """Return ``T`` of encoded items of the domain, shape (n, dimension), in natural units."""

    @abstractmethod
    def from_plane(self, points: Floats) -> Floats:
        """Return the items that points of R^d stand for, shape (n, width), in the domain."""

    @abstractmethod
    def clamp(self, items: Floats) -> Floats:
        """Return encoded items moved into the domain; items of the domain stay as they are."""


@dataclass(frozen=True)
class BoxChart(Chart):
    """An ``Interval`` or a box of vectors, counted from its centre."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    centre: tuple[float, ...]

    def to_plane(self, items: Floats) -> Floats:
        return np.asarray(items - np.array(self.centre), dtype=np.float64)

    def from_plane(self, points: Floats) -> Floats:
        """Return ``points + centre``, each coordinate clamped: the nearest point of the box."""
        return self.clamp(points + np.array(self.centre))

    def clamp(self, items: Floats) -> Floats:
        return np.clip(items, self.low, self.high)


@dataclass(frozen=True)
class BallChart(Chart):
    """A ball of vectors about 0."""

    ball: float

    def to_plane(self, items: Floats) -> Floats:
        """Return the items, whose plane this is."""
        return items

    def from_plane(self, points: Floats) -> Floats:
        """Return the nearest points of the ball."""
        return self.clamp(points)

    def clamp(self, items: Floats) -> Floats:
        """Return items with those outside moved along their rays to just inside the sphere."""
        with np.errstate(over="ignore"):
            outside = np.sqrt(np.square(items).sum(axis=1)) > self.ball
        if not outside.any():
            return items
        rays = items[outside]
        # scaled first, so that no square overflows; and a little inside, so that the rounded norm is too
        rays = rays / np.abs(rays).max(axis=1, keepdims=True)
        inner = self.ball * (1 - 4 * (self.dimension + 4) * UNIT_ROUNDOFF)
        clamped = items.copy()
        clamped[outside] = rays / np.sqrt(np.square(rays).sum(axis=1, keepdims=True)) * inner
        return clamped


@dataclass(frozen=True)
class _GeoChart(Chart):
    box: Box

    def clamp(self, items: Floats) -> Floats:
        """Return places whose latitude and longitude each moved to the nearer edge, as numbers."""
        south, west, north, east = self.box
        return np.clip(items, [south, west], [north, east])


@dataclass(frozen=True)
class GeoPlane(_GeoChart):
    """The equirectangular chart of a box, coordinates (north, east)."""

    centre: tuple[float, float]
    per_degree: tuple[float, float]

    def to_plane(self, items: Floats) -> Floats:
        """Return how far north and east of the centre places are, in the space's unit."""
        return np.asarray((items - np.array(self.centre)) * np.array(self.per_degree), dtype=np.float64)

    def from_plane(self, points: Floats) -> Floats:
        """Return latitudes and longitudes, clamped to the box as numbers."""
        return self.clamp(points / np.array(self.per_degree) + np.array(self.centre))


@dataclass(frozen=True)
class GeoSphere(_GeoChart):
    """The chart of a box by chords, in space."""

    moved: ClassVar[float] = math.pi / 4
    earth: float
    centre: tuple[float, float, float]

    def to_plane(self, items: Floats) -> Floats:
        """Return positions in space, seen from the centre, in the space's unit."""
        return np.asarray(self.earth * unit_vectors(items) - np.array(self.centre), dtype=np.float64)

    def from_plane(self, points: Floats) -> Floats:
        """Return the nearest places of the sphere, moved into the box by way of the nearer edge."""
        south, west, _north, east = self.box
        x, y, z = (points + np.array(self.centre)).T
        lat = np.degrees(np.arctan2(z, np.hypot(x, y)))
        beyond = np.mod(np.degrees(np.arctan2(y, x)) - west, 360.0)
        width = east - west
        # what passed the eastern edge is nearer to the western one, the other way round, after half of the gap
        turned = np.where(beyond - width > 360.0 - beyond, 0.0, beyond)
        return self.clamp(np.column_stack([np.maximum(lat, south), west + turned]))


def chart_of(space: Space) -> Chart:
    """Return the chart for a space, or raise ``UsageError`` where there is none.

    >>> from emdp.spaces import Geo
    >>> type(chart_of(Geo("lat", "lon", box=(40.48, -74.26, 40.92, -73.70)))).__name__
    'GeoPlane'
    >>> type(chart_of(Geo("lat", "lon", box=(-90, -180, 90, 180)))).__name__
    'GeoSphere'
    """
    if space.kind not in CHARTS:
        raise UsageError(
            f"planar Laplace noise needs an Interval, a Vector or a Geo space, got {space.noun}; randomize "
            "one such part of it, or use a randomizer for finite spaces."
        )
    return CHARTS[space.kind](space)


def _interval_chart(space: Interval) -> Chart:
    return _box_chart([space.low], [space.high])


def _geo_chart(space: Geo) -> Chart:
    return _plane_chart(space) if _stretch(space.box) <= MOST_STRETCH else _sphere_chart(space)


def _vector_chart(space: Vector) -> Chart:
    dimension = len(space.columns)
    if dimension > MAX_DIMENSION:
        raise UsageError(
            f"planar Laplace noise reaches {MAX_DIMENSION} dimensions, got {dimension} columns; project the vectors "
            "to fewer columns first."
        )
    if space.radius is None:
        lows, highs = space.coordinate_bounds
        return _box_chart(lows.tolist(), highs.tolist())
    return BallChart(dimension, radius=space.domain_diameter / 2, error=0.0, ball=space.radius)


def _box_chart(low: list[float], high: list[float]) -> BoxChart:
    centre = [a / 2 + b / 2 for a, b in zip(low, high, strict=True)]
    radius = norm_up(max(difference_up(c, a), difference_up(b, c)) for a, b, c in zip(low, high, centre, strict=True))
    error = 2 * UNIT_ROUNDOFF * radius
    return BoxChart(len(low), radius=radius, error=error, low=tuple(low), high=tuple(high), centre=tuple(centre))


def _plane_chart(space: Geo) -> GeoPlane:
    south, west, north, east = space.box
    lat, lon = _middle(space.box)
    per_lat = space.radius * (math.pi / 180.0) * (1 - 8 * UNIT_ROUNDOFF)
    per_lon = per_lat * _hull_cosine(space.box) * (1 - 8 * UNIT_ROUNDOFF)
    up = max(difference_up(north, lat), difference_up(lat, south))
    across = max(difference_up(east, lon), difference_up(lon, west))
    radius = norm_up([product_up(up, per_lat), product_up(across, per_lon)])
    return GeoPlane(
        2,
        radius=radius,
        error=4 * UNIT_ROUNDOFF * radius,
        box=space.box,
        centre=(lat, lon),
        per_degree=(per_lat, per_lon),
    )


def _sphere_chart(space: Geo) -> GeoSphere:
    lat, lon = _middle(space.box)
    farthest = angle_range(lat, lon, space.box)[1]
    error = 64 * UNIT_ROUNDOFF * space.radius
    x, y, z = (space.radius * unit_vectors(np.array([[lat, lon]])))[0].tolist()
    return GeoSphere(
        3,
        radius=2 * space.radius * math.sin(min(farthest, math.pi) / 2) * (1 + 32 * UNIT_ROUNDOFF) + error,
        error=error,
        box=space.box,
        earth=space.radius,
        centre=(x, y, z),
    )


def _middle(box: Box) -> tuple[float, float]:
    south, west, north, east = box
    return south + (north - south) / 2, west + (east - west) / 2


def _stretch(box: Box) -> float:
    """Return the largest stretch of an east-west error in the equirectangular chart; infinite where there is none."""
    south, west, north, east = box
    if east - west > WIDEST or max(abs(south), abs(north)) >= 90:
        return math.inf
    nearest = 0.0 if south <= 0 <= north else min(abs(south), abs(north))
    return math.cos(math.radians(nearest)) / _hull_cosine(box)


def _hull_cosine(box: Box) -> float:
    """Return a lower bound of ``cos(phi*)``: the highest latitude that a shortest path in the box's hull reaches.

    >>> round(_hull_cosine((-60, 0, 60, 0)), 12), _hull_cosine((0, 0, 0, 90)) < 1
    (0.5, True)
    """
    south, west, north, east = box
    largest = max(abs(south), abs(north))
    cosine = math.sin(math.radians(90.0 - largest)) * math.sin(math.radians(90.0 - (east - west) / 2))
    return cosine / math.hypot(cosine, math.sin(math.radians(largest))) * (1 - 256 * UNIT_ROUNDOFF)


CHARTS: Mapping[str, Callable[[Any], Chart]] = {
    "interval": _interval_chart,
    "vector": _vector_chart,
    "geo": _geo_chart,
}
"""The chart of each kind of space that has one."""
