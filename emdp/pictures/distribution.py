"""A distribution function through released quantiles, with the band of their intervals."""

from collections.abc import Sequence

from emdp.pictures.points import Point
from emdp.pictures.rendering import Layer, Plane, render
from emdp.pictures.scale import Scale, covering
from emdp.pictures.style import INK, MARK, MUTED, NO_VALUE
from emdp.pictures.svg import Panel

__all__ = ["distribution_panel"]

MOST_POINTS = 20
"""Beyond so many levels the line and its band stand alone."""

SHARES = Scale(0.0, 1.0, (0.0, 0.25, 0.5, 0.75, 1.0), ".2~f")
"""The upright axis."""


def distribution_panel(
    points: Sequence[Point], *, width: float, heading: str, x_title: str, x: Scale | None = None
) -> Panel:
    """Return a panel with the level q upwards and the value to the right.

    Parameters
    ----------
    points : sequence of Point
        The quantiles, at least one, their place the level.
    width : float
        Of the panel, in pixels.
    heading : str
        What stands above.
    x : Scale, optional
        The axis, where several panels share it.
    """
    x = x or covering((end for each in points for end in each.ends), ticks=4)
    plane = Plane(x, SHARES, width - 56, 170, left=42, bottom=38, x_title=x_title, grid="xy")
    ordered = sorted((each for each in points if each.value is not None), key=lambda each: each.place)
    rows = [
        {
            "x": x.low if each.low is None else each.low, "x2": x.high if each.high is None else each.high,
            "y": each.place[0], "order": each.place[0], "part": 0.0,
        }
        for each in ordered
    ]  # fmt: skip
    line = [{"x": each.value or 0.0, "y": each.place[0], "order": each.place[0], "part": 0.0} for each in ordered]
    rules = [{key: row[key] for key in ("x", "x2", "y")} for row in rows]
    dots = [{key: row[key] for key in ("x", "y")} for row in line]
    are_few = len(ordered) <= MOST_POINTS
    middle = [{"x": (x.low + x.high) / 2, "y": 0.625, "text": NO_VALUE}]
    layers = [
        Layer("band", "area", rows if len(rows) > 1 else [], {"color": MARK, "opacity": 0.25, "orient": "horizontal"}),
        Layer("interval", "rule", rules if are_few else [], {"color": INK, "strokeWidth": 1.5}),
        Layer("line", "line", line if len(line) > 1 else [], {"color": MARK, "strokeWidth": 2}),
        Layer("point", "point", dots if are_few else [], {"filled": True, "color": MARK, "size": 45, "opacity": 1}),
        Layer("missing", "text", [] if ordered else middle, {"color": MUTED}),
    ]
    return render(plane, layers, heading=heading)
