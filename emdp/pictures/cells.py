"""A map of cells: colours where the value stands out of its noise, small dots where it does not."""

import math
from collections.abc import Sequence
from xml.etree import ElementTree as ET

from emdp.base.classes import dataclass
from emdp.pictures.joined import joined_dots, joined_rectangles
from emdp.pictures.points import Point
from emdp.pictures.rendering import Layer, Plane, render
from emdp.pictures.scale import Scale, covering
from emdp.pictures.style import MUTED, NOISE, PAPER, number, sequence_colour
from emdp.pictures.svg import Note, Panel

__all__ = ["BELOW_NOISE", "BY_CHANCE", "Colours", "colour_panel", "half_width_note", "map_panel"]

TALLEST = 460.0
"""Pixels: a box that is higher than wide is drawn narrower instead."""

LEAST_SIDE = 24.0
"""Pixels: below it a strip of cells could not be seen."""

STEEP = 10.0
"""Ratio of the largest to the smallest coloured value beyond which colours go by the square root."""

STEPS = 64
"""Colours of a map: neighbours among them cannot be told apart, and cells of one colour are one path."""

BELOW_NOISE = "below its noise: the 95 % interval contains 0"
"""Meaning of the sign of such a cell."""

BY_CHANCE = "of cells with nobody in them 1 in 40 shows by chance"
"""Intervals have their level one by one: an end is missed with half of 5 %."""
"""Meaning of a dot or a grey bar."""

_COLOURS = tuple(sequence_colour(step / (STEPS - 1)) for step in range(STEPS))


@dataclass(frozen=True)
class Colours:
    """Colours of values from 0 to the largest one."""

    top: float  # The value of the darkest colour, above 0
    is_root: bool  # Whether colours go by the square root, for values of unlike sizes

    @classmethod
    def of_points(cls, points: Sequence[Point]) -> "Colours":
        """Return colours that fit all the points that stand out of their noise."""
        values = [each.value for each in points if each.value is not None and not each.is_noise] or [1.0]
        return cls(max(values), max(values) > STEEP * min(values))

    def of(self, value: float) -> str:
        """Return the colour of a value, the nearest one of ``STEPS``.

        >>> Colours(1.0, False).of(0.5) == Colours(1.0, False).of(0.501) != Colours(1.0, False).of(0.52)
        True
        """
        share = min(max(value / self.top, 0.0), 1.0)
        return _COLOURS[round((math.sqrt(share) if self.is_root else share) * (STEPS - 1))]


def map_panel(
    points: Sequence[Point], steps: Sequence[float], *, width: float, heading: str, colours: Colours
) -> Panel:
    """Return a map over the box of the cells, equirectangular with the true aspect at its middle latitude.

    Parameters
    ----------
    points : sequence of Point
        The cells, at least one, their places latitude and longitude of the centres in degrees.
    steps : sequence of float
        Height and width of a cell in degrees.
    width : float
        Of the panel, in pixels.
    heading : str
        What stands above.
    colours : Colours
        Those of the coloured cells.
    """
    tall, wide = steps[0] / 2, steps[1] / 2
    south, north = (min(each.place[0] for each in points) - tall, max(each.place[0] for each in points) + tall)
    west, east = (min(each.place[1] for each in points) - wide, max(each.place[1] for each in points) + wide)
    cosine = max(math.cos(math.radians((south + north) / 2)), 0.01)
    y = _within(south, north, 6)
    left, right = y.label_room, 12.0
    ratio = (north - south) / ((east - west) * cosine)
    inner = max(min(width - left - right, TALLEST / ratio), LEAST_SIDE)
    height = min(max(inner * ratio, LEAST_SIDE), TALLEST)
    plane = Plane(
        x=_within(west, east, max(1, round(inner / 60))),
        y=y,
        width=inner,
        height=height,
        left=left,
        right=width - left - inner,
        bottom=22,
    )
    ground = [{"x": west, "x2": east, "y": south, "y2": north}]
    layers = [Layer("paper", "rect", ground, {"color": PAPER, "stroke": MUTED, "strokeWidth": 1})]
    return render(plane, layers, heading=heading, above=_marks(points, steps, plane, colours))


def _marks(points: Sequence[Point], steps: Sequence[float], plane: Plane, colours: Colours) -> list[ET.Element]:
    wide = steps[1] / (plane.x.high - plane.x.low) * plane.width
    tall = steps[0] / (plane.y.high - plane.y.low) * plane.height
    places = [(*plane.pixels(each.place[1], each.place[0]), each) for each in points]
    cells = [((x - wide / 2, y), colours.of(each.value or 0.0)) for x, y, each in places if not each.is_noise]
    dots = [(x, y) for x, y, each in places if each.is_noise and each.value is not None]
    radius = min(1.6, max(0.22 * min(wide, tall), 0.5))
    drawn = [joined_rectangles("cell", cells, wide, tall)] if cells else []
    return drawn + ([joined_dots("noise", dots, radius, NOISE)] if dots else [])


def colour_panel(colours: Colours, *, width: float, heading: str) -> Panel:
    """Return the legend of the colours."""
    top, parts = colours.top, 60
    x = covering([top], zero=True, ticks=3)
    rows = [
        {
            "x": part * top / parts, "x2": top, "y": 0.0, "y2": 1.0,
            "colour": colours.of((part + 0.5) * top / parts),
        }
        for part in range(parts)
    ]  # fmt: skip
    ticks = tuple(tick for tick in x.ticks if tick <= top)
    plane = Plane(Scale(0.0, top, ticks, x.format), Scale(0.0, 1.0), width - 100, 10, left=14, right=86, bottom=22)
    frame = [{"x": 0.0, "x2": top, "y": 0.0, "y2": 1.0}]
    layers = [
        Layer("legend", "rect", rows),
        Layer("frame", "rect", frame, {"filled": False, "stroke": MUTED, "strokeWidth": 1}),
    ]
    return render(plane, layers, heading=heading)


def half_width_note(points: Sequence[Point]) -> Note | None:
    """Return the half-width of the intervals, from the narrowest to the widest where they differ."""
    found = sorted((each.high - each.low) / 2 for each in points if each.low is not None and each.high is not None)
    if not found:
        return None
    least, most = number(found[0]), number(found[-1])
    widths = f"± {least}" if least == most else f"± {least} to ± {most}"
    return Note(f"95 % interval: {widths} (half-width)")


def _within(low: float, high: float, ticks: int) -> Scale:
    round_scale = covering([low, high], ticks=ticks)
    inside = tuple(tick for tick in round_scale.ticks if low <= tick <= high)
    return Scale(low, high, inside or (low, high), round_scale.format)
