"""Bars from 0, or points where 0 is no possible value, with their intervals, under one another."""

from collections.abc import Sequence

from emdp.pictures.points import Point
from emdp.pictures.rendering import Layer, Plane, render
from emdp.pictures.scale import ROOM, Scale, covering
from emdp.pictures.style import INK, MARK, MUTED, NO_VALUE, NOISE, cut, text_width
from emdp.pictures.svg import Panel
from emdp.questions.columns import PlannedColumn

__all__ = ["MOST_ROWS", "bar_panel", "has_zero"]

MOST_ROWS = 30
"""Most bars of a panel."""

ROW_HEIGHT = 20
"""Pixels from a bar to the next one."""

LABEL_SHARE = 0.36
"""Largest part of the width that labels may have."""


def has_zero(column: PlannedColumn) -> bool:
    """Return whether 0 is in a column's public range, so that lengths from 0 mean something."""
    return column.low <= 0 <= column.high


def bar_panel(points: Sequence[Point], *, width: float, heading: str, zero: bool, marks_noise: bool = False) -> Panel:
    """Return a panel with one row a point.

    Parameters
    ----------
    points : sequence of Point
        At most ``MOST_ROWS``, at least one.
    width : float
        Of the panel, in pixels.
    heading : str
        What stands above.
    zero : bool
        Bars from 0; else points on an axis of their own.
    marks_noise : bool
        Whether a value whose interval contains 0 is drawn in grey: for frequencies.
    """
    room = min(max(text_width(each.label) for each in points) + 2, LABEL_SHARE * width)
    x = covering((end for each in points for end in each.ends), zero=zero, room=0.0 if zero else ROOM)
    left = room + 12
    plane = Plane(
        x=x,
        y=Scale(len(points) - 0.5, -0.5),
        width=width - left - 16,
        height=ROW_HEIGHT * len(points),
        left=left,
        right=16,
        bottom=22,
        grid="x",
    )
    rows = list(enumerate(points))
    found = [(row, each, each.value) for row, each in rows]
    colours = {row: NOISE if marks_noise and each.is_noise else MARK for row, each in rows}
    bars = [
        {"x": min(value, 0.0), "x2": max(value, 0.0), "y": row - 0.3, "y2": row + 0.3, "colour": colours[row]}
        for row, _, value in found
        if value is not None and zero
    ]
    dots = [{"x": value, "y": row, "colour": colours[row]} for row, _, value in found if value is not None and not zero]
    rules = [
        {"x": x.low if each.low is None else each.low, "x2": x.high if each.high is None else each.high, "y": row}
        for row, each in rows
        if each.value is not None
    ]
    labels = [{"x": x.low, "y": row, "text": cut(each.label, room)} for row, each in rows]
    missing = [{"x": x.low, "y": row, "text": NO_VALUE} for row, each in rows if each.value is None]
    layers = [
        Layer("bar", "rect", bars),
        Layer("interval", "rule", rules, {"color": INK, "strokeWidth": 2}),
        Layer("point", "point", dots, {"filled": True, "size": 70, "opacity": 1}),
        *_open_ends(rows, x),
        Layer("label", "text", labels, {"align": "right", "baseline": "middle", "dx": -7, "color": INK}),
        Layer("missing", "text", missing, {"align": "left", "baseline": "middle", "dx": 5, "color": MUTED}),
    ]
    return render(plane, layers, heading=heading)


def _open_ends(rows: Sequence[tuple[int, Point]], x: Scale) -> list[Layer]:
    # An interval without an end runs to the edge of the axis, and an arrow there says that it goes on.
    drawn = [(row, each) for row, each in rows if each.value is not None]
    left = [{"x": x.low, "y": row} for row, each in drawn if each.low is None]
    right = [{"x": x.high, "y": row} for row, each in drawn if each.high is None]
    options = {"filled": True, "color": INK, "opacity": 1, "size": 45}
    return [
        Layer("open_left", "point", left, {**options, "shape": "triangle-left"}),
        Layer("open_right", "point", right, {**options, "shape": "triangle-right"}),
    ]
