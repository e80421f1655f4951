"""Offsets of time zones as a list of instants, from the package ``tzdata`` alone, whatever the machine has installed.

Results are those of Python's :mod:`zoneinfo` on the same data for every instant of the years 1900 to 2037 (UTC). In
these years the files list what changed, and after their last change a rule, which is followed day by day: no rule
changes twice a day.
"""

import datetime
import importlib
import importlib.resources
import struct
from functools import cache
from hashlib import sha256
from zoneinfo import ZoneInfo

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError

__all__ = ["END", "START", "Offsets", "offsets_of", "tzdata_version", "zone_names"]

START = datetime.datetime(1900, 1, 1)
END = datetime.datetime(2038, 1, 1)
"""The instants, in UTC, for which there are offsets: START itself and before END."""

_EPOCH = datetime.datetime(1970, 1, 1)
_UTC = datetime.UTC


@dataclass(frozen=True)
class Offsets:
    """Offsets of a zone from UTC."""

    zone: str  # Its IANA name
    instants: tuple[int, ...]  # Seconds since 1970, in order: where offsets change
    # Offsets in seconds, one more than instants: before the first one, between, after the last one.
    seconds: tuple[int, ...]

    @property
    def microseconds(self) -> tuple[int, int]:
        """Microseconds since 1970: the first instant that has an offset, and the first one after that has none."""
        return _seconds(START) * 10**6, _seconds(END) * 10**6

    @property
    def digest(self) -> str:
        """SHA-256 of the list: a later tzdata that leaves it as it is asks the same question."""
        return sha256(repr((self.instants, self.seconds)).encode()).hexdigest()


@cache
def zone_names() -> frozenset[str]:
    """Return the names of all zones, exactly as they must be written.

    >>> "America/New_York" in zone_names(), "EST5" in zone_names()
    (True, False)
    """
    names = importlib.resources.files("tzdata").joinpath("zones").read_text(encoding="utf-8").split()
    return frozenset(names)


@cache
def tzdata_version() -> str:
    """Return the version of the rules, such as ``"2026a"``, for ledgers and manifests."""
    return str(importlib.import_module("tzdata").IANA_VERSION)


@cache
def offsets_of(zone: str) -> Offsets:
    """Return the offsets of a zone.

    Raises
    ------
    UsageError
        If tzdata has no zone of exactly this name.

    >>> offsets_of("America/New_York").seconds[-1], offsets_of("UTC").instants
    (-18000, ())
    """
    if zone not in zone_names():
        raise UsageError(f"zone must be an IANA name of tzdata {tzdata_version()}, got {zone!r}; write 'Europe/Paris'.")
    source = importlib.resources.files("tzdata.zoneinfo").joinpath(*zone.split("/"))
    with source.open("rb") as file:
        rules = ZoneInfo.from_file(file, key=zone)
    listed = _listed(source.read_bytes())
    start, end = _seconds(START), _seconds(END)
    places = [instant for instant in listed if start < instant < end]
    places += _followed(rules, max([start, *(instant for instant in listed if instant < end)]), end)
    instants, seconds = [], [_offset(rules, start)]
    for place in places:
        offset = _offset(rules, place)
        if offset != seconds[-1]:
            instants.append(place)
            seconds.append(offset)
    return Offsets(zone, tuple(instants), tuple(seconds))


def _listed(data: bytes) -> list[int]:
    """Return the instants that a TZif file lists (RFC 9636), of its second block, which has 64 bits."""
    header = struct.Struct(">4sc15x6l")
    _, _, utc, standard, leaps, times, types, letters = header.unpack_from(data)
    first = header.size + 5 * times + 6 * types + letters + 8 * leaps + standard + utc
    *_, times, _, _ = header.unpack_from(data, first)
    return list(struct.unpack_from(f">{times}q", data, first + header.size))


def _followed(rules: ZoneInfo, start: int, end: int) -> list[int]:
    """Return the instants between where the offset changes, found day by day and then by halves."""
    found = []
    own = _offset(rules, start)
    for day in range(start, end, 86_400):
        last = min(day + 86_400, end - 1)
        after = _offset(rules, last)
        if after != own:
            low, high = day, last
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if _offset(rules, middle) == own else (low, middle)
            found.append(high)
            own = after
    return found


def _offset(rules: ZoneInfo, instant: int) -> int:
    time = (_EPOCH + datetime.timedelta(seconds=instant)).replace(tzinfo=_UTC)
    offset = time.astimezone(rules).utcoffset()
    return 0 if offset is None else round(offset.total_seconds())


def _seconds(time: datetime.datetime) -> int:
    return (time - _EPOCH) // datetime.timedelta(seconds=1)
