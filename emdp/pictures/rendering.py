"""Layers of marks in data units, drawn by Altair and vl-convert, which are loaded when the first picture is drawn."""

import threading
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Literal
from xml.etree import ElementTree as ET

from emdp.pictures.scale import Scale
from emdp.pictures.style import FONT, GRID, INK, MUTED, TEXT_SIZE
from emdp.pictures.svg import Panel, reduced

__all__ = ["Layer", "Plane", "render", "warm"]

SWITCH = "debug_mode"
"""Switch in ``altair.utils.schemapi``: without an underscore, but in no manual of Altair 6."""

_drawing = threading.Lock()
"""Held while Altair and vl-convert work: neither their first import nor Altair's switch of checks is made for threads,
and who draws while another thread warms up has to wait for it anyway."""

CONFIG = {
    "aria": False,  # The picture has one name and one description; a label on every mark would be read out one by one.
    "background": None,
    "font": FONT,
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK, "labelFontSize": TEXT_SIZE, "titleColor": INK, "titleFontSize": TEXT_SIZE,
        "titleFontWeight": "normal", "gridColor": GRID, "domainColor": MUTED, "tickColor": MUTED, "labelPadding": 3,
        "tickSize": 4, "titlePadding": 6, "labelLimit": 70,
    },
    "text": {"color": INK, "fontSize": TEXT_SIZE},
}  # fmt: skip
"""Replaces whatever theme the analyst has set for pictures of their own."""


@dataclass(frozen=True)
class Plane:
    """Places of data units in a panel.

    Parameters
    ----------
    x, y : Scale
        The axes; the one of y begins at the bottom.
    width, height : float
        Of the inner rectangle, in pixels.
    left, top, right, bottom : float
        Room around it, in pixels.
    x_title : str
        What the horizontal axis shows; may be empty.
    grid : {"x", "y", "xy", ""}
        Which axes have grid lines at their ticks.
    """

    x: Scale
    y: Scale
    width: float
    height: float
    left: float
    top: float = 6.0
    right: float = 14.0
    bottom: float = 20.0
    x_title: str = ""
    grid: Literal["x", "y", "xy", ""] = ""

    def pixels(self, x: float, y: float) -> tuple[float, float]:
        """Return where a place lies in the panel, from its upper left corner.

        >>> Plane(Scale(0.0, 1.0), Scale(0.0, 1.0), width=100, height=50, left=40).pixels(0.5, 1.0)
        (90.0, 6.0)
        """
        across = (x - self.x.low) / (self.x.high - self.x.low)
        upwards = (y - self.y.low) / (self.y.high - self.y.low)
        return self.left + across * self.width, self.top + (1 - upwards) * self.height


@dataclass(frozen=True)
class Layer:
    """Marks of one kind.

    Parameters
    ----------
    name : str
        Class of the marks in the SVG, after ``emdp-``.
    mark : {"rect", "rule", "point", "line", "area", "text"}
        The kind.
    rows : sequence of mapping
        For each mark ``x``, ``y``, and where needed ``x2``, ``y2`` (data units), ``text``, ``colour``, and for lines
        and areas ``part`` (marks of one part are joined) and ``order``.
    options : mapping
        Properties of all the marks, as Vega-Lite names them.
    """

    name: str
    mark: Literal["rect", "rule", "point", "line", "area", "text"]
    rows: Sequence[Mapping[str, object]]
    options: Mapping[str, Any] = field(default_factory=dict)


def warm() -> None:
    """Draw a tiny chart and forget it: the first picture of a process waits for imports and the start of V8.

    May be called in a thread of its own while others draw.

    >>> warm()
    """
    ends = Scale(0.0, 1.0, (0.0, 1.0))
    render(Plane(ends, ends, 100, 20, left=36), [Layer("bar", "rect", [{"x": 0.0, "x2": 1.0, "y": 0.0, "y2": 1.0}])])


def render(plane: Plane, layers: Sequence[Layer], *, heading: str = "", above: Sequence[ET.Element] = ()) -> Panel:
    """Return the drawn layers, the first one lowest; layers without marks are left out.

    Parameters
    ----------
    plane : Plane
        Where data units lie.
    layers : sequence of Layer
        The marks.
    heading : str
        What stands above.
    above : sequence of xml.etree.ElementTree.Element
        Shapes in the panel's pixels that cover the layers (:mod:`emdp.pictures.joined`).
    """
    shown = [layer for layer in _with_ground(plane, layers) if layer.rows]
    with _drawing:
        svg = _svg(plane, shown)
    drawn = reduced(svg)
    drawn.extend(above)
    return Panel(drawn, plane.top + plane.height + plane.bottom, heading)


def _svg(plane: Plane, layers: Sequence[Layer]) -> str:
    import altair as alt
    import vl_convert

    # Altair checks every part of every chart against the schema of Vega-Lite, which takes longer than to draw it. The
    # parts are ours, and a wrong one would fail the tests of what is drawn.
    with _unchecked():
        spec = alt.layer(*(_chart(plane, layer) for layer in layers)).to_dict(validate=False)
    # Altair would look through every row once more, and copy it.
    for drawn, layer in zip(spec["layer"], layers, strict=True):
        drawn["data"] = {"values": [dict(row) for row in layer.rows]}
    spec["width"], spec["height"] = plane.width, plane.height
    spec["config"] = CONFIG
    spec["autosize"] = {"type": "none"}
    spec["padding"] = {side: getattr(plane, side) for side in ("left", "top", "right", "bottom")}
    return str(vl_convert.vegalite_to_svg(spec))


def _unchecked() -> AbstractContextManager[None]:
    """Return Altair's own way to build charts without checks; without it charts are checked and right, but slower."""
    from altair.utils import schemapi

    switch = getattr(schemapi, SWITCH, None)
    return nullcontext() if switch is None else switch(False)


def _with_ground(plane: Plane, layers: Sequence[Layer]) -> list[Layer]:
    # Axes belong to the first layer, which must be there even if there is nothing to draw.
    corner = {"x": plane.x.low, "y": plane.y.low, "text": ""}
    return [Layer("ground", "text", [corner]), *layers]


def _chart(plane: Plane, layer: Layer) -> Any:
    import altair as alt

    found: dict[str, Any] = {
        "x": alt.X(
            "x:Q",
            title=plane.x_title or None,
            scale=_scale(plane.x),
            axis=_axis(plane.x, "x" in plane.grid, flush=True),
        ),
        "y": alt.Y("y:Q", title=None, scale=_scale(plane.y), axis=_axis(plane.y, "y" in plane.grid, flush=False)),
    }
    columns = layer.rows[0].keys()
    if "x2" in columns:
        found["x2"] = alt.X2("x2:Q")
    if "y2" in columns:
        found["y2"] = alt.Y2("y2:Q")
    if "text" in columns:
        found["text"] = alt.Text("text:N")
    if "colour" in columns:
        found["color"] = alt.Color("colour:N", scale=None)
    if "part" in columns:
        found["detail"] = alt.Detail("part:N")
    if "order" in columns and layer.mark == "line":
        # An area goes along its axis anyway, and an order would make one of each row.
        found["order"] = alt.Order("order:Q")
    mark = alt.MarkDef(type=layer.mark, **layer.options)
    return alt.Chart(name=f"emdp_{layer.name}", mark=mark).encode(**found)


def _scale(scale: Scale) -> Any:
    import altair as alt

    return alt.Scale(domain=[scale.low, scale.high], nice=False, zero=False)


def _axis(scale: Scale, grid: bool, *, flush: bool) -> Any:
    import altair as alt

    if not scale.ticks:
        return None
    return alt.Axis(
        values=list(scale.ticks), format=scale.format, grid=grid, labelFlush=flush, labelOverlap="greedy", domain=True
    )
