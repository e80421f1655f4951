"""Check-ins of people in a city: homes, workplaces, favourite places and outings, with some dirty rows.

The table follows what real ones show: a few places hold most of a person's records, trips fall off with
distance, some people have many records, many have few, some of the listed ones none.
"""

import os

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from emdp.base.checks import check_count
from emdp.base.errors import UsageError

from .city import BOX, CATEGORIES, City, build_city
from .people import People, Visits, build_people, draw_visits, fix_positions, silent
from .streams import (
    FIRST_DAY,
    UTC_OFFSET,
    Dirt,
    Span,
    check_sizes,
    dirt,
    draw_users,
    generator,
    seconds,
    spans,
    week,
)
from .writing import Progress, Written, check_out, size_of, table_writer

__all__ = [
    "CHUNK",
    "DIRTY_KINDS",
    "SCHEMA",
    "checkin_users",
    "city_box",
    "silent_users",
    "venue_categories",
    "write_checkins",
]

CHUNK = 500_000
"""Rows made at a time, and rows of a Parquet row group."""

SCHEMA = pa.schema(
    [
        ("user_id", pa.int32()),
        ("ts", pa.timestamp("ms", "UTC")),
        ("lat", pa.float64()),
        ("lon", pa.float64()),
        ("venue", pa.int32()),
        ("category", pa.string()),
        ("hour", pa.float64()),
    ]
)
"""Columns; ``hour`` is the local time of day, in [0, 24)."""

DIRTY_KINDS = ("null", "half null", "nan", "zero", "outside", "swapped", "duplicate")
"""The dirty rows, in turn: both NULL, longitude NULL, NaN, (0, 0), outside the box, swapped; a copy."""

DEFAULT_VENUES = 4000
"""Venues of the city where records have free coordinates."""

_HOURS = week(
    weekday=(2, 1, 0.7, 0.5, 0.7, 1.5, 3.5, 6.5, 9, 8, 5, 4, 5.5, 5.5, 4, 4, 4.5, 5.5, 7, 6.5, 5.5, 4, 3, 2),
    weekend=(4, 3, 2.2, 1.5, 0.8, 0.8, 1, 1.8, 3, 4, 4.8, 5, 5.2, 5.6, 5.6, 5.4, 5, 5, 5, 5, 4.6, 4, 4, 4),
)
"""How busy each hour of the week is."""


def city_box() -> tuple[float, float, float, float]:
    """Return the public box of the city as ``emdp.Geo`` takes it: south, west, north, east, in degrees.

    >>> city_box()
    (40.48, -74.26, 40.92, -73.7)
    """
    return BOX


def venue_categories() -> tuple[str, ...]:
    """Return the public list of categories.

    >>> venue_categories()[0]
    'Residential Building'
    """
    return CATEGORIES


def checkin_users(users: int) -> npt.NDArray[np.int32]:
    """Return the public list of user ids of a table made for so many users, silent ones included.

    >>> checkin_users(3).tolist()
    [1, 2, 3]
    """
    return np.arange(1, users + 1, dtype=np.int32)


def silent_users(users: int, *, seed: int = 0) -> npt.NDArray[np.int32]:
    """Return the ids of the users who have no record whatever the table's length, ascending.

    >>> len(silent_users(100))
    2
    """
    return checkin_users(users)[silent(seed, users)]


def write_checkins(
    out: str | os.PathLike[str],
    *,
    users: int,
    records: int,
    seed: int = 0,
    dirty: float = 0.002,
    venues: int | None = None,
    equal: bool = False,
    chunk: int = CHUNK,
    progress: Progress | None = None,
) -> Written:
    """Write a table of check-ins, holding one chunk of it in memory at a time.

    Parameters
    ----------
    out : path
        A ``.parquet`` or ``.csv`` file, or (no suffix) a folder of ``part-0000.parquet`` and so on. What
        stands there is replaced, at the end and at once.
    users : int
        Size of the public list of users, with ids 1 to ``users``; one in 50 has no record.
    records : int
        Rows of the table, exactly.
    seed : int
        The same seed, sizes, ``dirty``, ``venues`` and ``chunk`` give the same rows, on any
        machine with the same numpy.
    dirty : float
        Share of rows that are wrong (:data:`DIRTY_KINDS`), in [0, 0.4]: ``floor(dirty * records)`` rows.
    venues : int, optional
        Coordinates are those of so many venues (at least 10), hence few distinct points; default: free
        coordinates, around 4,000 venues and everybody's own home.
    equal : bool
        Whether every user, none silent, has exactly ``records/users`` records, as bounded guarantees need.
    chunk : int
        Rows made at a time and rows of a Parquet row group, at least 1000.
    progress : callable, optional
        Called with the number of rows written so far, after each chunk.

    Returns
    -------
    Written
        Rows, users and bytes.

    Raises
    ------
    UsageError
        If a number is out of its range or ``out`` cannot be such a path.
    """
    check_sizes(users, records, seed, dirty, chunk)
    if venues is not None:
        check_count("venues", venues, minimum=10)
    if equal and records % users:
        raise UsageError(f"records must be a multiple of the {users} users if all have as many, got {records}.")
    path = check_out("out", out)
    city = build_city(seed, DEFAULT_VENUES if venues is None else venues)
    people = build_people(seed, city, users)
    with table_writer(path, SCHEMA, dictionary=("category", "venue")) as append:
        for span in spans(records, chunk):
            append(_chunk(seed, span, city, people, dirty, is_free=venues is None, is_equal=equal))
            if progress is not None:
                progress(span.stop)
    return Written(records, users, size_of(path))


def _chunk(
    seed: int, span: Span, city: City, people: People, dirty: float, *, is_free: bool, is_equal: bool
) -> pa.Table:
    rng = generator(seed, 3, span.index)
    moment = seconds(rng, span, _HOURS)
    if is_equal:
        user = (np.arange(span.start, span.stop) % len(people.activity)).astype(np.int32)
    else:
        user = draw_users(rng, span, people.activity)
    visits = draw_visits(rng, city, people, user, moment)
    if is_free:
        lat, lon = fix_positions(rng, city, people, visits)
    else:
        lat, lon = city.lat[visits.venue], city.lon[visits.venue]
    wrong = dirt(rng, span, dirty, len(DIRTY_KINDS))
    return _table(rng, city, visits, lat, lon, wrong, is_equal=is_equal)


def _table(
    rng: np.random.Generator,
    city: City,
    visits: Visits,
    lat: npt.NDArray[np.float64],
    lon: npt.NDArray[np.float64],
    wrong: Dirt,
    *,
    is_equal: bool,
) -> pa.Table:
    rows = {kind: wrong.of(number) for number, kind in enumerate(DIRTY_KINDS)}
    lat[rows["nan"]] = lon[rows["nan"]] = np.nan
    lat[rows["zero"]] = lon[rows["zero"]] = 0.0
    lat[rows["outside"]] += np.round(rng.uniform(1, 5, len(rows["outside"])), 6)
    lon[rows["outside"]] -= np.round(rng.uniform(1, 5, len(rows["outside"])), 6)
    lat[rows["swapped"]], lon[rows["swapped"]] = lon[rows["swapped"]], lat[rows["swapped"]]
    copies = rows["duplicate"]
    # A copy under another user's name would change two users' numbers of records.
    owners = () if is_equal else (visits.user,)
    for column in (*owners, visits.moment, visits.venue, lat, lon):
        column[copies] = column[copies - 1]
    no_lat = np.zeros(len(lat), bool)
    no_lat[rows["null"]] = True
    no_lon = no_lat.copy()
    no_lon[rows["half null"]] = True
    utc = FIRST_DAY.astype(np.int64) + 1000 * (visits.moment - 3600 * UTC_OFFSET)
    category = city.category[visits.venue]
    return pa.Table.from_arrays(
        [
            pa.array(visits.user + np.int32(1)),
            pa.array(utc).cast(SCHEMA.field("ts").type),
            pa.array(lat, mask=no_lat),
            pa.array(lon, mask=no_lon),
            pa.array(visits.venue),
            pa.array(CATEGORIES, pa.string()).take(pa.array(category, mask=category < 0)),
            pa.array(visits.moment % 86_400 / 3600.0),
        ],
        schema=SCHEMA,
    )
