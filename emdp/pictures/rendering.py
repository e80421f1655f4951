"""Layers of marks in data units, drawn as SVG: the axes of a plane, and over them the marks of each layer."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Literal
from xml.etree import ElementTree as ET

from emdp.base.classes import dataclass
from emdp.pictures.axes import draw_axis, draw_grid
from emdp.pictures.marks import draw_marks
from emdp.pictures.scale import Scale
from emdp.pictures.style import pixels
from emdp.pictures.svg import Panel

__all__ = ["Layer", "Plane", "render"]


@dataclass(frozen=True)
class Plane:
    """Places of data units in a panel."""

    # x, y: The axes; the one of y begins at the bottom.
    x: Scale
    y: Scale
    # width, height: Of the inner rectangle, in pixels.
    width: float
    height: float
    # left, top, right, bottom: Room around it, in pixels.
    left: float
    top: float = 6.0
    right: float = 14.0
    bottom: float = 20.0
    x_title: str = ""  # What the horizontal axis shows; may be empty
    grid: Literal["x", "y", "xy", ""] = ""  # Which axes have grid lines at their ticks

    def pixels(self, x: float, y: float) -> tuple[float, float]:
        """Return where a place lies in the panel, from its upper left corner.

        >>> Plane(Scale(0.0, 1.0), Scale(0.0, 1.0), width=100, height=50, left=40).pixels(0.5, 1.0)
        (90.0, 6.0)
        """
        across, down = self.inside(x, y)
        return self.left + across, self.top + down

    def inside(self, x: float, y: float) -> tuple[float, float]:
        """Return where a place lies in the inner rectangle, from its upper left corner."""
        across = (x - self.x.low) / (self.x.high - self.x.low)
        upwards = (y - self.y.low) / (self.y.high - self.y.low)
        return across * self.width, (1 - upwards) * self.height


@dataclass(frozen=True)
class Layer:
    """Marks of one kind."""

    name: str  # Class of the marks in the SVG, after `emdp-`
    mark: Literal["rect", "rule", "point", "line", "area", "text"]
    # For each mark `x`, `y`, and where needed `x2`, `y2` (data units), `text`, `colour`, and for lines and areas `part`
    # (marks of one part are joined) and `order`.
    rows: Sequence[Mapping[str, object]]
    # Properties of all the marks, by the names that Vega-Lite has for them: `color`, `fill`, `filled`, `stroke`,
    # `strokeWidth`, `opacity`; of points `shape` and `size`; of texts `align`, `baseline`, `dx`, `dy`, `fontWeight`; of
    # lines and areas `interpolate`.
    options: Mapping[str, Any] = field(default_factory=dict)


def render(plane: Plane, layers: Sequence[Layer], *, heading: str = "", above: Sequence[ET.Element] = ()) -> Panel:
    """Return the drawn layers, the first one lowest; layers without marks are left out.

    Parameters
    ----------
    plane : Plane
        Where data units lie.
    heading : str
        What stands above.
    above : sequence of xml.etree.ElementTree.Element
        Shapes in the panel's pixels that cover the layers (:mod:`emdp.pictures.joined`).
    """
    drawn = ET.Element("g", {"fill": "none"})
    ground = ET.SubElement(drawn, "g", {"transform": f"translate({pixels(plane.left)},{pixels(plane.top)})"})
    x, y = (plane.x, plane.width, plane.height), (plane.y, plane.height, plane.width)
    if "x" in plane.grid:
        draw_grid(ground, *x, upright=False)
    if "y" in plane.grid:
        draw_grid(ground, *y, upright=True)
    draw_axis(ground, *x, upright=False, title=plane.x_title)
    draw_axis(ground, *y, upright=True)
    for layer in layers:
        if layer.rows:
            group = ET.SubElement(ground, "g", {"class": f"emdp-{layer.name}"})
            draw_marks(group, layer.mark, layer.rows, layer.options, plane.inside)
    drawn.extend(above)
    return Panel(drawn, plane.top + plane.height + plane.bottom, heading)
