"""Values in an order, such as one a period: points joined by a line, with their intervals."""

from collections.abc import Sequence

from emdp.pictures.points import Point, point, told
from emdp.pictures.rendering import Layer, Plane, render
from emdp.pictures.scale import ROOM, Scale, covering
from emdp.pictures.style import INK, MARK, MUTED, NO_VALUE, clean, cut, text_width
from emdp.pictures.svg import Note, Panel, Picture, compose

__all__ = ["MOST_PERIODS", "draw_periods", "labelled", "line_panel", "missing_notes", "ordered_plane"]

MOST_PERIODS = 120
"""Most points of a line: the last ones are drawn."""

LONGEST_LABEL = 80.0
"""Pixels that the text of a period may have."""


def draw_periods(
    series: Sequence[tuple[str, float | None, float | None, float | None]], name: str, *, title: str = ""
) -> Picture | None:
    """Return the picture of one value over periods.

    Parameters
    ----------
    series : sequence of (str, float or None, float or None, float or None)
        For each period, in order: its text, the value, and the ends of its interval. A value that is None or not
        finite is marked as missing, and the line is broken there.
    name : str
        What the values are.
    title : str
        Stands above; may be empty.

    Returns
    -------
    Picture or None
        None where there is no period.

    >>> draw_periods([], "km") is None
    True
    """
    if not series:
        return None
    every = [point(*each) for each in series]
    points, width = every[-MOST_PERIODS:], 360
    cut_off = len(every) - len(points)
    notes = missing_notes(points)
    if cut_off:
        notes.append(Note(f"the last {len(points)} of {len(every)} periods; {cut_off} earlier ones are not drawn"))
    text = told(f"Line of {clean(name)} over periods", points, "period")
    if cut_off:
        text += f" {cut_off} earlier periods are not drawn."
    return compose([line_panel(points, width=width, heading=name)], title=title, text=text, width=width, notes=notes)


def line_panel(points: Sequence[Point], *, width: float, heading: str) -> Panel:
    """Return a panel with the points in their order, at least one, each at its label."""
    y = covering((end for each in points for end in each.ends), room=ROOM)
    count = len(points)
    plane = ordered_plane(count, y, width)
    found = [(place, each, each.value) for place, each in enumerate(points)]
    drawn = [(place, each, value) for place, each, value in found if value is not None]
    rules = [
        {"x": place, "y": y.low if each.low is None else each.low, "y2": y.high if each.high is None else each.high}
        for place, each, _ in drawn
    ]
    # Places without a gap have the same difference to their rank, so it names the part of the line.
    line = [
        {"x": place, "y": value, "order": place, "part": place - rank} for rank, (place, _, value) in enumerate(drawn)
    ]
    dots = [{"x": place, "y": value} for place, _, value in drawn]
    crosses = [{"x": place, "y": y.low} for place, _, value in found if value is None]
    thickness = min(2.0, max(0.25 * plane.width / count, 0.6))
    layers = [
        Layer("interval", "rule", rules, {"color": INK, "strokeWidth": thickness}),
        Layer("line", "line", line, {"color": MARK, "strokeWidth": 2}),
        Layer("point", "point", dots, {"filled": True, "color": MARK, "opacity": 1, "size": 45 if count <= 40 else 16}),
        Layer("missing", "point", crosses, {"shape": "M-.5,-.5L.5,.5M.5,-.5L-.5,.5", "stroke": MUTED, "size": 100}),
        *labelled([each.label for each in points], plane),
    ]
    return render(plane, layers, heading=heading)


def ordered_plane(count: int, y: Scale, width: float) -> Plane:
    """Return the plane of so many places in an order, with room for their labels below and at its sides."""
    half = LONGEST_LABEL / 2 + 2
    left = max(y.label_room, half)
    return Plane(Scale(-0.5, count - 0.5), y, width - left - half, 160, left=left, right=half, bottom=24, grid="y")


def labelled(labels: Sequence[str], plane: Plane) -> list[Layer]:
    """Return the axis below: as many of the labels as fit, the last one among them."""
    shown = [cut(label, LONGEST_LABEL) for label in labels]
    each = plane.width / len(labels)
    widest = max(map(text_width, shown)) + 8
    every = max(1, -int(-widest // each))
    rows = [{"x": place, "y": plane.y.low, "text": shown[place]} for place in range(len(shown) - 1, -1, -every)]
    options = {"align": "center", "baseline": "top", "dy": 8, "color": INK}
    ends = {"x": plane.x.low, "x2": plane.x.high, "y": plane.y.low}
    ticks = [{key: row[key] for key in ("x", "y")} for row in rows]
    return [
        Layer("axis", "rule", [ends], {"color": MUTED}),
        Layer("tick", "point", ticks, {"shape": "M0,0L0,1", "stroke": MUTED, "size": 16, "strokeWidth": 1}),
        Layer("label", "text", rows, options),
    ]


def missing_notes(points: Sequence[Point]) -> list[Note]:
    """Return what a cross means, if one is drawn."""
    return [Note(NO_VALUE, "cross")] if any(each.value is None for each in points) else []
