"""Picture of the rest of a budget after each charge."""

from collections.abc import Sequence

from emdp.base.checks import check_finite, check_positive
from emdp.pictures.periods import labelled, ordered_plane
from emdp.pictures.rendering import Layer, render
from emdp.pictures.scale import covering
from emdp.pictures.style import MARK, clean, number
from emdp.pictures.svg import Note, Picture, compose

__all__ = ["draw_spending"]

MOST_STEPS = 1000
"""Most steps of the line: of more charges every second, third, ... is drawn."""

MOST_POINTS = 40
"""Beyond so many charges the line stands alone."""


def draw_spending(steps: Sequence[tuple[str, float]], total: float, *, title: str = "") -> Picture | None:
    """Return the picture of a budget that is spent: a line that steps down from the whole.

    Parameters
    ----------
    steps : sequence of (str, float)
        For each charge, in order: its text, such as a date, and what is left after it, in the budget's unit.
    total : float
        The whole budget, above 0.
    title : str
        Stands above; may be empty.

    Returns
    -------
    Picture or None
        None where nothing was charged.

    Raises
    ------
    UsageError
        If a number is not finite.

    >>> draw_spending([], 20.0) is None
    True
    """
    whole = check_positive("total", total)
    if not steps:
        return None
    left = [(clean(label), check_finite("remaining", level)) for label, level in steps]
    stride = -(-len(left) // MOST_STEPS)
    drawn = [("start", whole), *left[::-1][::stride][::-1]]
    width = 360
    y = covering([whole, *(level for _, level in drawn)], zero=True)
    plane = ordered_plane(len(drawn), y, width)
    dots = [{"x": place, "y": level} for place, (_, level) in enumerate(drawn)]
    line = [{**dot, "order": dot["x"], "part": 0.0} for dot in dots]
    area = [{**row, "y2": 0.0} for row in line]
    joined = {"color": MARK, "interpolate": "step-after"}
    layers = [
        Layer("band", "area", area, {**joined, "opacity": 0.25}),
        Layer("line", "line", line, {**joined, "strokeWidth": 2}),
        Layer(
            "point", "point", dots if len(dots) <= MOST_POINTS else [],
            {"filled": True, "color": MARK, "size": 40, "opacity": 1},
        ),
        *labelled([label for label, _ in drawn], plane),
    ]  # fmt: skip
    charges = f"{len(left)} charge{'s' if len(left) > 1 else ''}"
    last = f"{number(left[-1][1])} of {number(whole)} left"
    notes = [Note(f"{last} after {charges}")]
    text = f"Budget left after each charge: {last} after {charges}; the last one is {left[-1][0]}."
    panel = render(plane, layers, heading="budget left")
    return compose([panel], title=title, text=text, width=width, notes=notes)
