"""Many marks of one size as a few paths: a map has thousands, and an element each would make a page large."""

from collections.abc import Iterable
from xml.etree import ElementTree as ET

__all__ = ["joined_dots", "joined_rectangles"]

Place = tuple[float, float]


def joined_rectangles(name: str, rows: Iterable[tuple[Place, str]], width: float, height: float) -> ET.Element:
    """Return rectangles of one size, those of one colour as one path of strokes as thick as they are high.

    Parameters
    ----------
    name : str
        Class of the group, after ``emdp-``.
    rows : iterable of ((float, float), str)
        For each rectangle the middle of its left side, in pixels, and its colour.
    width, height : float
        Of a rectangle, in pixels.

    >>> cells = joined_rectangles("cell", [((1, 2), "#000"), ((4, 2), "#fff"), ((7, 2.125), "#000")], 3, 2)
    >>> [(path.get("stroke"), path.get("d")) for path in cells]
    [('#000', 'M1,2h3M7,2.12h3'), ('#fff', 'M4,2h3')]
    """
    found: dict[str, list[Place]] = {}
    for place, colour in rows:
        found.setdefault(colour, []).append(place)
    group = ET.Element("g", {"class": f"emdp-{name}", "stroke-width": _short(height)})
    for colour, places in found.items():
        ET.SubElement(group, "path", {"stroke": colour, "d": _strokes(places, width)})
    return group


def joined_dots(name: str, places: Iterable[Place], radius: float, colour: str) -> ET.Element:
    """Return dots as one path of round ends without a line between them.

    Parameters
    ----------
    name : str
        Class of the group, after ``emdp-``.
    places : iterable of (float, float)
        Their middles, in pixels.
    radius : float
        In pixels.
    colour : str
        Of all of them.

    >>> joined_dots("noise", [(1, 2), (4, 2)], 1.5, "#808080")[0].get("d")
    'M1,2h.01M4,2h.01'
    """
    group = ET.Element("g", {"class": f"emdp-{name}", "stroke-width": _short(2 * radius), "stroke-linecap": "round"})
    # Not every renderer draws the ends of a line that has no length at all.
    ET.SubElement(group, "path", {"stroke": colour, "d": _strokes(list(places), 0.01)})
    return group


def _strokes(places: Iterable[Place], length: float) -> str:
    along = _short(length)
    return "".join(f"M{_short(x)},{_short(y)}h{along}" for x, y in places)


def _short(pixels: float) -> str:
    text = f"{pixels:.2f}".rstrip("0").rstrip(".")
    return text.removeprefix("0") if text.startswith("0.") else text
