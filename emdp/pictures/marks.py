"""Marks of a layer as shapes of SVG: rectangles, rules, symbols, lines, areas, texts, in pixels of a plane."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree as ET

from emdp.base.errors import InternalError
from emdp.pictures.style import INK, MARK, TEXT_SIZE, clean, colour_of, pixels

__all__ = ["draw_marks"]

Row = Mapping[str, Any]
Place = Callable[[float, float], tuple[float, float]]

POINT_SIZE, POINT_OPACITY, POINT_STROKE = 30.0, 0.7, 2.0
"""Square pixels of a symbol, its opacity and the thickness of its line, unless a layer says otherwise."""

BASELINES = {"middle": 0.3, "top": 0.79, "alphabetic": 0.0}
"""How far below its place a text's baseline lies, in parts of its size."""

ANCHORS = {"left": "start", "center": "middle", "right": "end"}

OPTIONS = frozenset(
    (
        "align", "baseline", "clip", "color", "dx", "dy", "fill", "filled", "fontWeight", "interpolate", "opacity",
        "orient", "shape", "size", "stroke", "strokeDash", "strokeWidth",
    )
)  # fmt: skip
"""Properties that layers have; nothing is clipped, and an area goes between the two ends of its rows either way."""

_WIDE = math.sqrt(3) / 2
"""Height of a triangle whose sides are 1."""


def draw_marks(group: ET.Element, mark: str, rows: Sequence[Row], options: Mapping[str, Any], place: Place) -> None:
    """Add the marks of one layer to its group.

    Parameters
    ----------
    mark : str
        As of :class:`emdp.pictures.rendering.Layer`, like ``rows`` and ``options``.
    rows : sequence of mapping
        A row a mark, or a row a corner of lines and areas.
    options : mapping
        Properties of all of them.
    place : callable
        From data units to pixels.

    >>> group = ET.Element("g")
    >>> draw_marks(group, "rule", [{"x": 1, "x2": 3, "y": 2}], {"color": "#808080"}, lambda x, y: (x, y))
    >>> ET.tostring(group[0], encoding="unicode")
    '<line x1="1" y1="2" x2="3" y2="2" stroke="#808080" stroke-width="1" />'
    """
    if unknown := set(options) - OPTIONS:
        raise InternalError(f"a picture has the property {min(unknown)!r}; please report this.")
    if mark in ("line", "area"):
        for part in dict.fromkeys(row.get("part") for row in rows):
            corners = [row for row in rows if row.get("part") == part]
            _joined(group, mark, corners, options, place)
        return
    draw = {"rect": _rectangle, "rule": _rule, "point": _symbol, "text": _text}[mark]
    for row in rows:
        draw(group, row, options, place)


def _ends(row: Row, place: Place) -> tuple[float, float, float, float]:
    x, y = place(row["x"], row["y"])
    x2, y2 = place(row.get("x2", row["x"]), row.get("y2", row["y"]))
    return x, y, x2, y2


def _rectangle(group: ET.Element, row: Row, options: Mapping[str, Any], place: Place) -> None:
    x, y, x2, y2 = _ends(row, place)
    left, top, width, height = map(pixels, (min(x, x2), min(y, y2), abs(x2 - x), abs(y2 - y)))
    path = f"M{left},{top}h{width}v{height}h-{width}Z"
    ET.SubElement(group, "path", {"d": path, **_paint(row, options, is_filled=options.get("filled", True))})


def _rule(group: ET.Element, row: Row, options: Mapping[str, Any], place: Place) -> None:
    ends = dict(zip(("x1", "y1", "x2", "y2"), map(pixels, _ends(row, place)), strict=True))
    ET.SubElement(group, "line", {**ends, **_paint(row, {"strokeWidth": 1, **options}, is_filled=False)})


def _symbol(group: ET.Element, row: Row, options: Mapping[str, Any], place: Place) -> None:
    own = {"opacity": POINT_OPACITY, "strokeWidth": POINT_STROKE, **options}
    path = _outline(own.get("shape", "circle"), math.sqrt(own.get("size", POINT_SIZE)) / 2)
    x, y = place(row["x"], row["y"])
    shift = {"transform": f"translate({pixels(x)},{pixels(y)})", "d": path}
    ET.SubElement(group, "path", {**shift, **_paint(row, own, is_filled=own.get("filled", False))})


def _outline(shape: str, r: float) -> str:
    """Return the path of a symbol around (0, 0); one that is a path itself is made ``r`` times as large."""
    wide, s = _WIDE * r, r / 2.5
    corners = {
        "square": ((-r, -r), (r, -r), (r, r), (-r, r)),
        "diamond": ((-r, 0), (0, -r), (r, 0), (0, r)),
        "cross": (
            (-r, -s), (-r, s), (-s, s), (-s, r), (s, r), (s, s), (r, s), (r, -s), (s, -s), (s, -r), (-s, -r), (-s, -s),
        ),
        "triangle-left": ((-wide, 0), (wide, -r), (wide, r)),
        "triangle-right": ((-wide, -r), (-wide, r), (wide, 0)),
    }  # fmt: skip
    if shape in corners:
        return f"{_through(corners[shape])}Z"
    if shape == "stroke":
        return _through(((-r, 0), (r, 0)))
    if shape == "circle":
        own = pixels(r)
        return f"M{own},0A{own},{own},0,1,1,-{own},0A{own},{own},0,1,1,{own},0"
    pieces = [piece.split("L") for piece in shape.removeprefix("M").split("M")]
    if any(len(piece) != 2 for piece in pieces):
        raise InternalError(f"a picture has the symbol {shape!r}; please report this.")
    return "".join(_through([tuple(r * float(number) for number in end.split(",")) for end in own]) for own in pieces)


def _text(group: ET.Element, row: Row, options: Mapping[str, Any], place: Place) -> None:
    x, y = place(row["x"], row["y"])
    down = round(BASELINES[options.get("baseline", "middle")] * TEXT_SIZE)
    attributes = {
        "x": pixels(x + options.get("dx", 0)),
        "y": pixels(y + options.get("dy", 0) + down),
        "text-anchor": ANCHORS[options.get("align", "center")],
        "fill": colour_of(options.get("color", INK)),
        "font-size": f"{TEXT_SIZE}px",
    }
    if "fontWeight" in options:
        attributes["font-weight"] = options["fontWeight"]
    ET.SubElement(group, "text", attributes).text = clean(row["text"])


def _joined(group: ET.Element, mark: str, rows: Sequence[Row], options: Mapping[str, Any], place: Place) -> None:
    """Add one line through the rows, or the area between it and the other ends of the rows."""
    rows = sorted(rows, key=lambda row: row.get("order", 0.0))
    is_stepped = options.get("interpolate") == "step-after"
    ends = [_ends(row, place) for row in rows]
    line = _stepped([end[:2] for end in ends]) if is_stepped else [end[:2] for end in ends]
    if mark == "line":
        ET.SubElement(group, "path", {"d": _through(line), **_paint({}, options, is_filled=False)})
        return
    # What has a second end on one axis alone has the other place in common.
    back = [end[2:] for end in ends]
    back = _stepped(back) if is_stepped else back
    ET.SubElement(group, "path", {"d": f"{_through([*line, *back[::-1]])}Z", **_paint({}, options, is_filled=True)})


def _stepped(places: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return a line that stays where it is until the next place, and goes up or down there."""
    found = [places[0]]
    for before, after in pairwise(places):
        found += [(after[0], before[1]), after]
    return found


def _through(places: Iterable[Sequence[float]]) -> str:
    return "M" + "L".join(f"{pixels(x)},{pixels(y)}" for x, y in places)


def _paint(row: Row, options: Mapping[str, Any], *, is_filled: bool) -> dict[str, str]:
    """Return the colours of a mark: inside, or of its line; a layer may name both."""
    colour = row.get("colour", options.get("color", MARK))
    fill = options.get("fill", colour if is_filled else None)
    stroke = options.get("stroke", None if is_filled else colour)
    found = {}
    if fill is not None:
        found["fill"] = colour_of(fill)
    if stroke is not None:
        found |= {"stroke": colour_of(stroke), "stroke-width": pixels(options.get("strokeWidth", 1))}
        if "strokeDash" in options:
            found["stroke-dasharray"] = ",".join(map(str, options["strokeDash"]))
    if options.get("opacity", 1) != 1:
        found["opacity"] = f"{options['opacity']:g}"
    return found
