"""Parts of a space as TOML, from what an owner replies or writes behind an option; what cannot be is refused now."""

import json
import math
import tomllib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from emdp.base.errors import UsageError

if TYPE_CHECKING:
    from emdp.spaces import Space

__all__ = [
    "box_in_words",
    "joined",
    "kinds_part",
    "numbers_part",
    "places_part",
    "read_space",
    "time_part",
    "toml_text",
]


KM_PER_DEGREE = 111.2
"""Kilometres of a degree of latitude, for a sentence."""


def toml_text(value: str) -> str:
    """Return a text as TOML: a JSON string is one, but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def joined(parts: Sequence[str]) -> str:
    """Return a space of parts as TOML; empty where there is none.

    >>> joined(["{ a }"]), joined([])
    ('{ a }', '')
    """
    if len(parts) <= 1:
        return "".join(parts)
    return "\n".join(['{ kind = "product", parts = [', *(f"    {part}," for part in parts), "] }"])


def places_part(lat: str, lon: str, reply: str, *, nowhere: bool) -> str:
    """Return the part of places in a box: south, west, north, east, with commas between.

    >>> places_part("lat", "lon", "40.5, -74.3, 40.9, -73.7", nowhere=True)[:46]
    '{ kind = "geo", lat = "lat", lon = "lon", box '
    """
    box = _numbers(reply, 4)
    columns = f"lat = {toml_text(lat)}, lon = {toml_text(lon)}"
    rule = "elsewhere" if nowhere else "clamp"
    return _checked(f'{{ kind = "geo", {columns}, box = {box}, unit = "km", on_invalid = "{rule}" }}')


def box_in_words(part: str) -> str:
    """Return where a box lies and how large it is, so that one with its longitudes first is seen.

    >>> box_in_words(places_part("lat", "lon", "40.5,-74.3,40.9,-73.7", nowhere=True))
    'That is a box around 40.7 N, 74 W, 44 km high and 51 km wide.'
    """
    south, west, north, east = tomllib.loads(f"space = {part}")["space"]["box"]
    lat, lon = (south + north) / 2, (west + east) / 2
    high, wide = KM_PER_DEGREE * (north - south), KM_PER_DEGREE * (east - west) * math.cos(math.radians(lat))
    around = f"{abs(lat):.4g} {'N' if lat >= 0 else 'S'}, {abs(lon):.4g} {'E' if lon >= 0 else 'W'}"
    return f"That is a box around {around}, {high:.0f} km high and {wide:.0f} km wide."


def numbers_part(name: str, reply: str, *, nowhere: bool) -> str:
    """Return the part of a column of numbers: the least and the greatest that count.

    >>> numbers_part("age", "0,100", nowhere=False)
    '{ kind = "interval", col = "age", low = 0.0, high = 100.0, on_invalid = "clamp" }'
    """
    low, high = _numbers(reply, 2)
    rule = "elsewhere" if nowhere else "clamp"
    return _checked(
        f'{{ kind = "interval", col = {toml_text(name)}, low = {low}, high = {high}, on_invalid = "{rule}" }}'
    )


def kinds_part(name: str, reply: str, *, nowhere: bool) -> str:
    """Return the part of a column of listed values, with commas between.

    >>> kinds_part("kind", "Other, Bar", nowhere=False)
    '{ kind = "categories", col = "kind", values = ["Other", "Bar"], on_invalid = "neutral" }'
    """
    values = ", ".join(toml_text(value.strip()) for value in reply.split(",") if value.strip())
    rule = "elsewhere" if nowhere else "neutral"
    return _checked(f'{{ kind = "categories", col = {toml_text(name)}, values = [{values}], on_invalid = "{rule}" }}')


def time_part(name: str, reply: str, *, nowhere: bool) -> str:
    """Return the part of a column of times: the hour of the day by the clock of a zone.

    >>> time_part("ts", "UTC", nowhere=True)
    '{ kind = "cycle", col = "time(ts, \\'UTC\\')", period = 24, on_invalid = "elsewhere" }'
    """
    from emdp.base.zones import zone_names

    if reply not in zone_names():
        raise UsageError(f"{reply!r} is no IANA name of a zone; write one such as Europe/Berlin or UTC.")
    column, rule = f"time({name}, '{reply}')", "elsewhere" if nowhere else "neutral"
    return _checked(f'{{ kind = "cycle", col = {toml_text(column)}, period = 24, on_invalid = "{rule}" }}')


def read_space(text: str) -> "Space":
    """Return the space that a TOML text stands for."""
    from emdp.spaces.registry import from_json

    return from_json(tomllib.loads(f"space = {text}")["space"])


def _numbers(reply: str, count: int) -> list[float]:
    try:
        found = [float(part) for part in reply.split(",")]
    except ValueError:
        found = []
    if len(found) != count:
        raise UsageError(f"{reply!r} is not {count} numbers; write them with commas between.")
    return found


def _checked(text: str) -> str:
    read_space(text)
    return text
