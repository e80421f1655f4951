"""A picture read back: the boxes of its marks in the units of its viewBox, by the name of their layer."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from xml.etree import ElementTree as ET

import pytest

from emdp.pictures import Picture
from emdp.pictures.style import text_width

SVG = "{http://www.w3.org/2000/svg}"
ANCHORS = {"start": 0.0, "middle": 0.5, "end": 1.0}
JOINED = {"emdp-cell", "emdp-noise"}
Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Shape:
    """One drawn element, or one mark of a joined path: left, top, right, bottom; its layer; its colour; its text."""

    box: Box
    layer: str
    colour: str
    text: str

    @property
    def width(self) -> float:
        return self.box[2] - self.box[0]

    @property
    def height(self) -> float:
        return self.box[3] - self.box[1]

    @property
    def middle(self) -> tuple[float, float]:
        return (self.box[0] + self.box[2]) / 2, (self.box[1] + self.box[3]) / 2


@dataclass(frozen=True)
class Read:
    """A picture's element tree and its shapes."""

    root: ET.Element
    shapes: list[Shape]

    def layer(self, name: str) -> list[Shape]:
        return [shape for shape in self.shapes if shape.layer == f"emdp-{name}"]

    def by_place(self, name: str) -> list[Shape]:
        """Return the shapes of a layer from the lower left along the rows, as far apart as a pixel at least."""
        return sorted(self.layer(name), key=lambda shape: (-round(shape.middle[1]), shape.middle[0]))

    def texts(self) -> list[str]:
        return [shape.text for shape in self.shapes if shape.text]

    def axis(self, *, upwards: bool) -> Callable[[float], float]:
        """Return the map from data to the viewBox, by the labels of an axis of the first panel."""
        found = []
        for shape in self.shapes:
            text = shape.text.replace("−", "-")
            if shape.layer == "" and re.fullmatch(r"-?\d+(\.\d+)?", text):
                found.append((float(text), shape))
        if upwards:
            rights = {round(shape.box[2]) for _, shape in found}
            found = [(value, shape) for value, shape in found if round(shape.box[2]) == min(rights)]
        else:
            last = max(shape.box[3] for _, shape in found)
            found = [(value, shape) for value, shape in found if shape.box[3] == last]
        # The labels at the ends are moved inwards, so two inner ones tell more; their ticks are at their middles.
        places = [(value, shape.middle[1 if upwards else 0]) for value, shape in found]
        places = places if upwards or len(places) < 4 else places[1:-1]
        (a, at_a), (b, at_b) = places[0], places[-1]
        return lambda value: at_a + (value - a) / (b - a) * (at_b - at_a)


def _path_points(text: str) -> list[tuple[float, float]]:
    x = y = 0.0
    points = []
    for command, rest in re.findall(r"([A-Za-z])([^A-Za-z]*)", text):
        numbers = [float(number) for number in re.findall(r"-?\d*\.?\d+", rest)]
        if command in "ML":
            x, y = numbers
        elif command in "lm":
            x, y = x + numbers[0], y + numbers[1]
        elif command == "h":
            x += numbers[0]
        elif command == "v":
            y += numbers[0]
        elif command == "H":
            x = numbers[0]
        elif command == "V":
            y = numbers[0]
        elif command == "A":
            x, y = numbers[5:]
        elif command == "C":
            x, y = numbers[4:]
        else:
            assert command in "Zz", command
        points.append((x, y))
    return points


def _own_box(element: ET.Element, tag: str) -> Box:
    def number(name: str) -> float:
        return float(element.get(name, "0"))

    if tag == "path":
        points = _path_points(element.get("d", ""))
        return (
            min(x for x, _ in points),
            min(y for _, y in points),
            max(x for x, _ in points),
            max(y for _, y in points),
        )
    if tag == "line":
        ends = (number("x1"), number("x2")), (number("y1"), number("y2"))
        return min(ends[0]), min(ends[1]), max(ends[0]), max(ends[1])
    if tag == "rect":
        return number("x"), number("y"), number("x") + number("width"), number("y") + number("height")
    if tag == "circle":
        radius = number("r")
        return number("cx") - radius, number("cy") - radius, number("cx") + radius, number("cy") + radius
    assert tag == "text", tag
    size = float(element.get("font-size", "0px").removesuffix("px"))
    wide = text_width(element.text or "", size)
    start = number("x") - ANCHORS[element.get("text-anchor", "start")] * wide
    return start, number("y") - 0.8 * size, start + wide, number("y") + 0.25 * size


def _joined(element: ET.Element, group: ET.Element, layer: str) -> list[Shape]:
    """The strokes of one path, each of them a mark as thick as the group's strokes, and as wide beyond round ends."""
    half = float(group.get("stroke-width", "")) / 2
    beyond = half if group.get("stroke-linecap") == "round" else 0.0
    found = []
    for part in element.get("d", "").split("M")[1:]:
        (left, top), (right, bottom) = _path_points(f"M{part}")
        assert top == bottom
        assert right > left
        box = left - beyond, top - half, right + beyond, bottom + half
        found.append(Shape(box, layer, element.get("stroke", ""), ""))
    assert found
    return found


def _walk(element: ET.Element, x: float, y: float, layer: str, found: list[Shape]) -> None:
    tag = element.tag.removeprefix(SVG)
    moved = element.get("transform")
    if moved is not None:
        matched = re.fullmatch(r"translate\(([^,]+),([^)]+)\)", moved)
        assert matched is not None, moved
        x, y = x + float(matched[1]), y + float(matched[2])
    layer = element.get("class", layer) if tag == "g" else layer
    if layer in JOINED:
        assert tag == "g", tag
        for path in element:
            for shape in _joined(path, element, layer):
                left, top, right, bottom = shape.box
                found.append(replace(shape, box=(left + x, top + y, right + x, bottom + y)))
        return
    if tag in ("path", "line", "rect", "circle", "text"):
        left, top, right, bottom = _own_box(element, tag)
        colour = element.get("fill") or element.get("stroke") or ""
        found.append(Shape((left + x, top + y, right + x, bottom + y), layer, colour, element.text or ""))
    for child in element:
        _walk(child, x, y, layer, found)


def _read(picture: Picture | None) -> Read:
    assert picture is not None
    root = ET.fromstring(picture.svg)
    assert root.tag == f"{SVG}svg"
    shapes: list[Shape] = []
    for child in root:
        if child.tag not in (f"{SVG}title", f"{SVG}desc"):
            _walk(child, 0.0, 0.0, "", shapes)
    left, top, width, height = map(float, root.get("viewBox", "").split())
    for shape in shapes:
        assert all(map(math.isfinite, shape.box)), shape
        assert shape.box[0] >= left - 0.5, shape
        assert shape.box[2] <= left + width + 0.5, shape
        assert shape.box[1] >= top - 0.5, shape
        assert shape.box[3] <= top + height + 0.5, shape
    return Read(root, shapes)


@pytest.fixture(scope="session")
def read() -> Callable[[Picture | None], Read]:
    """Parse a picture, check that nothing lies outside its viewBox, and return what is drawn."""
    return _read
