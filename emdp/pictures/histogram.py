"""Upright bars of the cells along one axis, with their intervals."""

from collections.abc import Sequence

from emdp.pictures.points import Point
from emdp.pictures.rendering import Layer, Plane, render
from emdp.pictures.scale import Scale, covering
from emdp.pictures.style import INK, MARK, NOISE
from emdp.pictures.svg import Panel

__all__ = ["histogram_panel"]


def histogram_panel(points: Sequence[Point], step: float, *, width: float, heading: str, x_title: str) -> Panel:
    """Return a panel with a bar over each cell, grey where the interval contains 0.

    Parameters
    ----------
    points : sequence of Point
        The cells, at least one, their place the centre.
    step : float
        Width of a cell, in the axis's unit.
    width : float
        Of the panel, in pixels.
    heading : str
        What stands above: what the bars show.
    """
    centres = [each.place[0] for each in points]
    low, high = min(centres) - step / 2, max(centres) + step / 2
    x = covering([low, high], ticks=5)
    x = Scale(low, high, tuple(tick for tick in x.ticks if low <= tick <= high) or (low, high), x.format)
    y = covering((end for each in points for end in each.ends), zero=True)
    plane = Plane(x, y, width - y.label_room - 14, 170, left=y.label_room, bottom=38, x_title=x_title, grid="y")
    drawn = [(each, each.value) for each in points if each.value is not None]
    bars = [
        {
            "x": each.place[0] - 0.42 * step, "x2": each.place[0] + 0.42 * step, "y": min(value, 0.0),
            "y2": max(value, 0.0), "colour": NOISE if each.is_noise else MARK,
        }
        for each, value in drawn
    ]  # fmt: skip
    rules = [
        {
            "x": each.place[0],
            "y": y.low if each.low is None else each.low,
            "y2": y.high if each.high is None else each.high,
        }
        for each, _ in drawn
    ]
    pixels = step / (high - low) * plane.width
    thickness = min(2.0, max(0.25 * pixels, 0.4))
    layers = [
        Layer("bar", "rect", bars),
        Layer("interval", "rule", rules, {"color": INK, "strokeWidth": thickness}),
        Layer("zero", "rule", [{"x": low, "x2": high, "y": 0.0}], {"color": INK, "strokeWidth": 1}),
    ]
    return render(plane, layers, heading=heading)
