"""The people of the check-ins: how active they are, where they live, work and like to go."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .city import DAYPART_OF_HOUR, DAYPARTS, KM_PER_LAT, KM_PER_LON, City, inside, pick_near
from .streams import Weights, generator

__all__ = ["People", "Visits", "build_people", "draw_visits", "fix_positions", "silent"]

SILENT_ONE_IN = 50
"""One listed user in so many has no record at all."""

ACTIVITY_SPREAD = 1.1
"""Standard deviation of the logarithm of a user's expected number of records (99 % point / median = 13)."""

FAVOURITES = 3
FAVOURITE_EDGES = np.array([0.55, 0.82])
"""Favourite places of a user in each part of the day, and the cumulated shares of the first two."""

PEOPLE_BLOCK = 65_536
"""Users whose places are drawn at a time, which bounds memory."""

HOME_KM = 0.15
FIX_KM = 0.015
"""Spread of homes around their building's venue, and of a position fix around the truth, in km."""

SHIFT_HOURS = 1.0
"""Standard deviation of how much later than others a user lives, in hours (three times that at most)."""

_HABITS = np.cumsum(
    [
        # night, morning, midday, evening: at home, at work, at a favourite place (the rest: an outing)
        [(0.62, 0.04, 0.16), (0.28, 0.37, 0.25), (0.08, 0.50, 0.24), (0.32, 0.14, 0.28)],
        [(0.50, 0.01, 0.22), (0.52, 0.03, 0.25), (0.28, 0.04, 0.33), (0.30, 0.02, 0.30)],
    ],
    axis=2,
)
"""Cumulated shares of the kinds of places, on weekdays and at weekends, for each part of the day."""

_HOME, _WORK, _FAVOURITE, _OUTING = range(4)


@dataclass(frozen=True)
class People:
    """All users, one entry each.

    Attributes
    ----------
    activity : numpy.ndarray
        Expected share of the records, not normalised; 0 for the silent ones.
    shift : numpy.ndarray
        Seconds by which they live later than others.
    home, work : numpy.ndarray
        Venues where they live and work.
    favourites : numpy.ndarray, shape (users, DAYPARTS, FAVOURITES)
        Venues they favour in each part of the day, the dearest first.
    home_lat, home_lon : numpy.ndarray
        Where exactly they live, in degrees.
    """

    activity: Weights
    shift: npt.NDArray[np.int32]
    home: npt.NDArray[np.int32]
    work: npt.NDArray[np.int32]
    favourites: npt.NDArray[np.int32]
    home_lat: npt.NDArray[np.float64]
    home_lon: npt.NDArray[np.float64]


@dataclass(frozen=True)
class Visits:
    """Records in the making, one entry each: whose, when (local seconds), at which venue, whether at home."""

    user: npt.NDArray[np.int32]
    moment: npt.NDArray[np.int64]
    venue: npt.NDArray[np.int32]
    at_home: npt.NDArray[np.bool_]


def silent(seed: int, users: int) -> npt.NDArray[np.int64]:
    """Return the positions of the users who have no record, ascending.

    >>> len(silent(0, 100))
    2
    """
    return np.sort(generator(seed, 1).choice(users, size=users // SILENT_ONE_IN, replace=False))


def build_people(seed: int, city: City, users: int) -> People:
    """Draw the users of a city; memory grows with their number, by about 100 bytes each."""
    rng = generator(seed, 2)
    activity = np.exp(ACTIVITY_SPREAD * rng.standard_normal(users))
    activity[silent(seed, users)] = 0.0
    shift = np.clip(SHIFT_HOURS * rng.standard_normal(users), -3 * SHIFT_HOURS, 3 * SHIFT_HOURS)
    home, work = np.empty(users, np.int32), np.empty(users, np.int32)
    favourites = np.empty((users, DAYPARTS, FAVOURITES), np.int32)
    for start in range(0, users, PEOPLE_BLOCK):
        block = slice(start, min(start + PEOPLE_BLOCK, users))
        home[block] = city.homes[rng.integers(len(city.homes), size=block.stop - start)]
        work[block] = pick_near(rng, city, home[block], city.workplaces)
        for daypart, anchors in enumerate((home, home, work, home)):
            for rank in range(FAVOURITES):
                favourites[block, daypart, rank] = pick_near(rng, city, anchors[block], city.outings[daypart])
    return People(
        activity=activity,
        shift=(3600 * shift).astype(np.int32),
        home=home,
        work=work,
        favourites=favourites,
        home_lat=city.lat[home] + HOME_KM / KM_PER_LAT * rng.standard_normal(users),
        home_lon=city.lon[home] + HOME_KM / KM_PER_LON * rng.standard_normal(users),
    )


def draw_visits(
    rng: np.random.Generator,
    city: City,
    people: People,
    user: npt.NDArray[np.int32],
    moment: npt.NDArray[np.int64],
) -> Visits:
    """Draw where each user is at each moment, and return the visits in the order of the users' own times.

    Parameters
    ----------
    rng : numpy.random.Generator
        Where the draws come from.
    city, people
        The venues and the users.
    user : numpy.ndarray, shape (k,)
        Positions of users.
    moment : numpy.ndarray, shape (k,)
        Seconds since a Monday's midnight, before each user's shift.
    """
    hour = moment // 3600
    is_weekend = hour % 168 >= 120
    daypart = DAYPART_OF_HOUR[hour % 24]
    edges = _HABITS[is_weekend.astype(np.int64), daypart]
    kind = (edges <= rng.random(len(user))[:, None]).sum(axis=1, dtype=np.int8)
    venue = np.where(kind == _HOME, people.home[user], people.work[user])

    rows = np.flatnonzero(kind == _FAVOURITE)
    rank = np.searchsorted(FAVOURITE_EDGES, rng.random(len(rows)), side="right")
    venue[rows] = people.favourites[user[rows], daypart[rows], rank]

    is_midday_at_work = (daypart == DAYPART_OF_HOUR[12]) & ~is_weekend
    anchor = np.where(is_midday_at_work, people.work[user], people.home[user])
    for part in range(DAYPARTS):
        rows = np.flatnonzero((kind == _OUTING) & (daypart == part))
        venue[rows] = pick_near(rng, city, anchor[rows], city.outings[part])

    shifted = moment + people.shift[user]
    order = np.argsort(shifted, kind="stable")
    return Visits(user[order], shifted[order], venue[order], kind[order] == _HOME)


def fix_positions(
    rng: np.random.Generator, city: City, people: People, visits: Visits
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return latitude and longitude as a device reports them: near the venue or the user's own home."""
    noise = FIX_KM * rng.standard_normal((2, len(visits.user)))
    lat = np.where(visits.at_home, people.home_lat[visits.user], city.lat[visits.venue])
    lon = np.where(visits.at_home, people.home_lon[visits.user], city.lon[visits.venue])
    return inside(lat + noise[0] / KM_PER_LAT, lon + noise[1] / KM_PER_LON)
