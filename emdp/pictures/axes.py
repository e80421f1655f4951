"""Axes of a plane: grid, ticks, labels that do not overlap, the line itself, and what is written on a tick."""

import math
from decimal import Decimal
from xml.etree import ElementTree as ET

from emdp.pictures.scale import Scale
from emdp.pictures.style import GRID, INK, MUTED, TEXT_SIZE, clean, colour_of, pixels, text_width

__all__ = ["draw_axis", "draw_grid", "written"]

TICK, GAP = 4, 3
"""Pixels of a tick, and from it to its label."""

SHARP = 0.5
"""Pixels by which lines of one pixel are moved, so that they are sharp."""

PREFIXES = ("y", "z", "a", "f", "p", "n", "µ", "m", "", "k", "M", "G", "T", "P", "E", "Z", "Y")
"""Prefixes of the powers of a thousand from -8 to 8."""

MINUS = "−"


def draw_grid(group: ET.Element, scale: Scale, length: float, across: float, *, upright: bool) -> None:
    """Add a line at each tick of an axis of some pixels' length, from one side of the plane to the other."""
    for tick in scale.ticks:
        at = _whole(_place(scale, tick, length, upright=upright))
        _line(group, (0, at, across, 0) if upright else (at, 0, 0, across), GRID)


def draw_axis(group: ET.Element, scale: Scale, length: float, across: float, *, upright: bool, title: str = "") -> None:
    """Add ticks, labels and the line of an axis, left of the plane or below it.

    Parameters
    ----------
    scale : Scale
        The axis; nothing is added where it has no ticks.
    length, across : float
        Pixels along it, and of the plane across it.
    upright : bool
        Whether it goes upwards.
    title : str
        What stands below one that does not; may be empty.
    """
    if not scale.ticks:
        return
    shown = [(tick, _place(scale, tick, length, upright=upright)) for tick in scale.ticks]
    for _, at in shown:
        _line(group, (0, _whole(at), -TICK, 0) if upright else (_whole(at), across, 0, TICK), MUTED)
    end = -math.inf
    for tick, at in sorted(shown, key=lambda one: one[1]):
        text = written(tick, scale.format)
        half = TEXT_SIZE / 2 if upright else text_width(text) / 2
        # A label at an end begins or ends there, so that it does not stick out.
        anchor = "middle" if upright or 0.5 < at < length - 0.5 else "start" if at <= 0.5 else "end"
        begin = at - half if anchor == "middle" else at if anchor == "start" else at - 2 * half
        if begin < end:
            continue
        end = begin + 2 * half
        x, y = (-TICK - GAP, at + 3) if upright else (at, across + TICK + GAP + 9)
        _write(group, text, x, y, "end" if upright else anchor)
    _line(group, (0, 0, 0, length) if upright else (0, across, length, 0), MUTED)
    if title:
        _write(group, title, length / 2, across + 33, "middle")


def written(number: float, form: str) -> str:
    """Return what is written on a tick.

    Parameters
    ----------
    form : str
        A form of d3-format: ``.`` digits ``~f``, ``~e``, ``~s`` or ``%``.

    >>> [written(*one) for one in ((-2.50, ".2~f"), (0.25, ".0%"), (12500, ".3~s"), (1.5e-12, ".2~e"), (-0.0, ".1~f"))]
    ['−2.5', '25%', '12.5k', '1.5e-12', '0']
    """
    kind = form[-1]
    digits = int(form[1:-1].rstrip("~"))
    size = abs(number)
    if kind == "s":
        exact = Decimal(f"{size:.{digits - 1}e}")
        place = min(max(exact.adjusted() // 3, -8), 8) if size > 0 else 0
        text = _trimmed(f"{exact.scaleb(-3 * place):f}") + PREFIXES[place + 8]
    elif kind == "e":
        mantissa, _, power = f"{size:.{digits}e}".partition("e")
        text = f"{_trimmed(mantissa)}e{int(power):+d}"
    elif kind == "%":
        text = f"{100 * size:.{digits}f}%"
    else:
        text = _trimmed(f"{size:.{digits}f}")
    return MINUS + text if number < 0 and any(sign in "123456789" for sign in text) else text


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def _whole(pixel: float) -> int:
    return math.floor(pixel + 0.5)


def _place(scale: Scale, value: float, length: float, *, upright: bool) -> float:
    share = (value - scale.low) / (scale.high - scale.low)
    return length * (1 - share if upright else share)


def _line(group: ET.Element, line: tuple[float, float, float, float], colour: str) -> None:
    x, y, along, down = line
    ends = (x + SHARP, y + SHARP, x + SHARP + along, y + SHARP + down)
    shown = dict(zip(("x1", "y1", "x2", "y2"), map(pixels, ends), strict=True))
    ET.SubElement(group, "line", {**shown, "stroke": colour_of(colour), "stroke-width": "1"})


def _write(group: ET.Element, text: str, x: float, y: float, anchor: str) -> None:
    attributes = {"x": pixels(x + SHARP), "y": pixels(y + SHARP), "text-anchor": anchor, "fill": colour_of(INK)}
    ET.SubElement(group, "text", {**attributes, "font-size": f"{TEXT_SIZE}px"}).text = clean(text)
