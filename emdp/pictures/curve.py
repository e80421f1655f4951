"""Curves of one number against another, such as what a budget buys."""

from collections.abc import Sequence

from emdp.base.checks import check_finite
from emdp.base.errors import UsageError
from emdp.pictures.rendering import Layer, Plane, render
from emdp.pictures.scale import covering
from emdp.pictures.style import MARK, NOISE, clean, number
from emdp.pictures.svg import Note, Picture, compose

__all__ = ["draw_curves"]

WIDTH, HEIGHT = 420, 240
"""Natural size of the picture and of its inner rectangle, in pixels."""

COLOURS = ((MARK, "blue"), (NOISE, "grey"))
"""Colours of the first and the second curve."""


def draw_curves(
    curves: Sequence[tuple[str, Sequence[tuple[float, float]]]], *, across: str, upwards: str, title: str = ""
) -> Picture:
    """Return the picture of one or two curves over common axes.

    Parameters
    ----------
    curves : sequence of (str, sequence of (float, float))
        For each curve its name and at least one point.
    title : str
        Stands above; may be empty.

    Raises
    ------
    UsageError
        If there is no curve, or more than two, or a number is not finite.

    >>> draw_curves([("best", [(1.0, 2.0), (2.0, 5.0)])], across="alpha0", upwards="alpha").text
    'Curve of alpha over alpha0: best from 2 at 1 to 5 at 2.'
    """
    if not 1 <= len(curves) <= len(COLOURS) or not all(points for _, points in curves):
        raise UsageError("curves must be one or two, each with a point; pass those.")
    found = [
        (clean(name), [(check_finite("x", x), check_finite("y", y)) for x, y in points]) for name, points in curves
    ]
    every = [point for _, points in found for point in points]
    x, y = covering(each for each, _ in every), covering((each for _, each in every), zero=True)
    left = y.label_room
    plane = Plane(x, y, WIDTH - left - 20, HEIGHT, left=left, right=20, bottom=38, x_title=clean(across), grid="xy")
    layers, notes, sentences = [], [], []
    for place, (name, points) in enumerate(found):
        colour, word = COLOURS[place]
        rows = [{"x": a, "y": b, "order": rank, "part": place} for rank, (a, b) in enumerate(points)]
        layers.append(Layer(f"curve{place}", "line", rows, {"color": colour, "strokeWidth": 2}))
        (a, b), (c, d) = points[0], points[-1]
        sentences.append(f"{name} from {number(b)} at {number(a)} to {number(d)} at {number(c)}")
        if len(found) > 1:
            notes.append(Note(f"{word}: {name}"))
    # The last one drawn lies on top.
    panel = render(plane, layers[::-1], heading=clean(upwards))
    text = f"Curve of {clean(upwards)} over {clean(across)}: {'; '.join(sentences)}."
    return compose([panel], title=title, text=text, width=WIDTH, notes=notes)
