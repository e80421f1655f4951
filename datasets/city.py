"""A city for the check-ins: its box, its venues around public centres, and how people choose among them.

Places of the centres are public geography of New York; everything else is drawn from the seed.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .streams import Weights, generator, lookup

__all__ = [
    "BOX",
    "CATEGORIES",
    "DAYPARTS",
    "DAYPART_OF_HOUR",
    "HOMES",
    "KM_PER_LAT",
    "KM_PER_LON",
    "WORKPLACES",
    "City",
    "build_city",
    "inside",
    "pick_near",
]

BOX = (40.48, -74.26, 40.92, -73.70)
"""South, west, north, east, in degrees."""

KM_PER_LAT = 111.2
KM_PER_LON = 84.2
"""Kilometres in a degree, near latitude 40.75."""

CENTRES = (
    (40.755, -73.984, 1.6, 26.0),
    (40.722, -73.998, 1.4, 16.0),
    (40.708, -74.010, 0.8, 7.0),
    (40.778, -73.964, 1.6, 9.0),
    (40.810, -73.950, 1.5, 5.0),
    (40.714, -73.957, 1.5, 8.0),
    (40.690, -73.985, 1.6, 8.0),
    (40.764, -73.923, 1.7, 5.0),
    (40.760, -73.830, 1.6, 4.0),
    (40.862, -73.895, 2.2, 4.0),
    (40.728, -74.050, 2.0, 4.0),
    (40.630, -74.025, 2.0, 2.0),
    (40.643, -73.783, 0.9, 1.5),
    (40.700, -73.900, 7.0, 9.0),
    (40.600, -74.130, 4.0, 1.5),
)
"""Latitude, longitude, spread in km and share of the venues, around each centre."""

DAYPARTS = 4
"""Night, morning, midday, evening."""

DAYPART_OF_HOUR = np.array([0] * 6 + [1] * 5 + [2] * 6 + [3] * 6 + [0], dtype=np.int64)
"""The part of the day of each hour."""

_KINDS: tuple[tuple[str, float, tuple[float, float, float, float]], ...] = (
    ("Residential Building", 20.0, (1.5, 0.2, 0.3, 0.8)),
    ("Office", 11.0, (0.1, 1.0, 1.5, 0.3)),
    ("College Building", 3.0, (0.1, 1.5, 2.0, 1.0)),
    ("Medical Center", 2.0, (0.4, 1.5, 1.5, 0.5)),
    ("Coffee Shop", 7.0, (0.2, 6.0, 3.0, 1.0)),
    ("Bakery", 3.0, (0.1, 5.0, 2.0, 0.8)),
    ("Deli", 5.0, (1.0, 2.5, 3.0, 1.2)),
    ("American Restaurant", 5.0, (0.8, 0.8, 3.0, 4.0)),
    ("Chinese Restaurant", 3.5, (0.6, 0.2, 3.0, 4.0)),
    ("Italian Restaurant", 3.5, (0.6, 0.1, 2.5, 4.5)),
    ("Mexican Restaurant", 3.0, (0.8, 0.2, 2.5, 4.0)),
    ("Pizza Place", 3.5, (2.0, 0.1, 3.0, 3.0)),
    ("Bar", 7.5, (9.0, 0.1, 0.6, 5.0)),
    ("Movie Theater", 1.0, (2.0, 0.1, 2.0, 5.0)),
    ("Gym", 4.0, (0.3, 3.5, 1.5, 3.0)),
    ("Park", 4.0, (0.3, 2.0, 3.0, 2.0)),
    ("Grocery Store", 4.0, (0.3, 1.0, 2.0, 3.0)),
    ("Clothing Store", 3.5, (0.0, 0.6, 3.0, 2.0)),
    ("Hotel", 2.0, (1.5, 1.0, 0.6, 1.0)),
    ("Subway", 3.0, (2.0, 6.0, 3.0, 5.0)),
    ("Train Station", 1.0, (1.5, 6.0, 2.5, 5.0)),
    ("Airport", 0.5, (1.0, 3.0, 3.0, 2.5)),
)
"""Category of a venue, its share of the venues, and how much it is sought in each part of the day."""

CATEGORIES = tuple(name for name, _, _ in _KINDS)
"""All categories that a venue can have."""

HOMES = frozenset({"Residential Building"})
"""The categories where people live."""

WORKPLACES = frozenset({"Office", "College Building", "Medical Center"})
"""The categories where people work."""

UNLABELLED = 0.12
"""Share of the venues whose category is not on record (NULL)."""

POPULARITY_SPREAD = 1.0
"""Standard deviation of the logarithm of a venue's popularity."""

TRIP_KM = 1.5
TRIP_POWER = 1.75
"""People choose a place d km away in proportion to ``(d + TRIP_KM) ** -TRIP_POWER``.

The law and both numbers are those of the displacements in Gonzalez, Hidalgo and Barabasi, "Understanding
individual human mobility patterns", Nature 453 (2008).
"""


@dataclass(frozen=True)
class City:
    """The venues of a city, and tables for drawing them.

    Attributes
    ----------
    lat, lon : numpy.ndarray
        Degrees, one entry a venue.
    category : numpy.ndarray
        Position in :data:`CATEGORIES`, or -1 where it is not on record; one entry a venue.
    homes, workplaces : numpy.ndarray
        Venues in proportion to how many people live and work there (see :func:`streams.lookup`).
    outings : tuple of numpy.ndarray
        For each part of the day, venues in proportion to how much they are sought then.
    """

    lat: npt.NDArray[np.float64]
    lon: npt.NDArray[np.float64]
    category: npt.NDArray[np.int8]
    homes: npt.NDArray[np.int32]
    workplaces: npt.NDArray[np.int32]
    outings: tuple[npt.NDArray[np.int32], ...]


def build_city(seed: int, venues: int) -> City:
    """Draw a city of ``venues`` venues (at least 10).

    >>> len(build_city(0, 100).lat)
    100
    """
    rng = generator(seed, 0)
    centres = np.array(CENTRES)
    centre = rng.choice(len(centres), size=venues, p=centres[:, 3] / centres[:, 3].sum())
    spread = centres[centre, 2, None] * rng.standard_normal((venues, 2))
    lat, lon = inside(centres[centre, 0] + spread[:, 0] / KM_PER_LAT, centres[centre, 1] + spread[:, 1] / KM_PER_LON)
    kind = _kinds(rng, venues)
    popularity = np.exp(POPULARITY_SPREAD * rng.standard_normal(venues))
    sought = np.array([by_daypart for _, _, by_daypart in _KINDS])[kind]
    size = max(1 << 16, 16 * venues)

    def table(weights: Weights) -> npt.NDArray[np.int32]:
        return lookup(weights * popularity, size)

    return City(
        lat=lat,
        lon=lon,
        category=np.where(rng.random(venues) < UNLABELLED, -1, kind).astype(np.int8),
        homes=table(_is_any(kind, HOMES)),
        workplaces=table(_is_any(kind, WORKPLACES)),
        outings=tuple(table(sought[:, daypart]) for daypart in range(DAYPARTS)),
    )


def inside(
    lat: npt.NDArray[np.float64], lon: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return points in the box: those outside are moved to its edge, all are rounded to 6 decimals (0.1 m).

    >>> inside(np.array([41.0]), np.array([-74.0]))
    (array([40.92]), array([-74.]))
    """
    south, west, north, east = BOX
    return lat.clip(south, north).round(6), lon.clip(west, east).round(6)


def pick_near(
    rng: np.random.Generator,
    city: City,
    anchors: npt.NDArray[np.int32],
    table: npt.NDArray[np.int32],
    *,
    candidates: int = 6,
) -> npt.NDArray[np.int32]:
    """Choose a venue for each anchor venue: of a few drawn from ``table``, one by :data:`TRIP_POWER`'s law.

    Parameters
    ----------
    rng : numpy.random.Generator
        Where the draws come from.
    city : City
        The venues.
    anchors : numpy.ndarray, shape (k,)
        Venues from which people set out.
    table : numpy.ndarray
        Venues in proportion to how much they are sought.
    candidates : int
        How many are compared; more means nearer.
    """
    drawn = table[rng.integers(len(table), size=(len(anchors), candidates))]
    km = np.hypot(
        KM_PER_LAT * (city.lat[drawn] - city.lat[anchors][:, None]),
        KM_PER_LON * (city.lon[drawn] - city.lon[anchors][:, None]),
    )
    edges = np.cumsum((km + TRIP_KM) ** -TRIP_POWER, axis=1)
    mark = rng.random(len(anchors)) * edges[:, -1]
    chosen = np.minimum((edges <= mark[:, None]).sum(axis=1), candidates - 1)
    picked: npt.NDArray[np.int32] = drawn[np.arange(len(anchors)), chosen]
    return picked


def _kinds(rng: np.random.Generator, venues: int) -> npt.NDArray[np.int64]:
    shares = np.array([share for _, share, _ in _KINDS])
    kind = rng.choice(len(_KINDS), size=venues, p=shares / shares.sum())
    # However few the venues are, people can live, work and go out somewhere.
    kind[:3] = [CATEGORIES.index(name) for name in ("Residential Building", "Office", "Deli")]
    return kind


def _is_any(kind: npt.NDArray[np.int64], names: frozenset[str]) -> Weights:
    return np.isin(kind, [CATEGORIES.index(name) for name in names]).astype(np.float64)
