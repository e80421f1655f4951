"""Choice of the picture that fits an answer, and its parts put together."""

from collections.abc import Sequence

import polars as pl

from emdp.base.checks import check_choice, check_range
from emdp.base.errors import UsageError
from emdp.pictures.asked import Asked
from emdp.pictures.frequencies import map_of
from emdp.pictures.kinds import bars_of, distribution_of, lines_of
from emdp.pictures.svg import Picture
from emdp.questions.columns import PlannedColumn
from emdp.questions.shape import Shape

__all__ = ["KINDS", "draw", "fitting_kinds"]

KINDS = ("auto", "bar", "line", "map", "distribution", "none")
"""Kinds of pictures that may be asked for."""

_DRAWN = {"bar": bars_of, "line": lines_of, "map": map_of, "distribution": distribution_of}


def fitting_kinds(shape: Shape) -> tuple[str, ...]:
    """Return the kinds of pictures that an answer of this shape can have; ``auto`` is the one after it.

    >>> fitting_kinds(Shape("rows", keys=("category",)))
    ('auto', 'bar', 'line', 'none')
    >>> fitting_kinds(Shape("cells", (), ("lat", "lon"), (0.009, 0.012), is_map=True))
    ('auto', 'map', 'bar', 'none')
    """
    if shape.kind == "quantiles":
        return ("auto", "distribution", "none")
    if shape.kind == "rows":
        return ("auto", "bar", "line", "none")
    if shape.kind == "cells" and shape.is_map:
        return ("auto", "map", "bar", "none")
    return ("auto", "bar", "none")


def draw(
    frame: pl.DataFrame,
    columns: Sequence[PlannedColumn],
    shape: Shape,
    *,
    kind: str = "auto",
    title: str = "",
    width: float = 360,
) -> Picture | None:
    """Return the picture of an answer.

    Parameters
    ----------
    frame : polars.DataFrame
        The answer's rows: keys or coordinates, then for each column its value and the ends of its interval.
    columns : sequence of PlannedColumn
        The answer's columns.
    shape : Shape
        What the frame's columns are.
    kind : {"auto", "bar", "line", "map", "distribution", "none"}
        What to draw; ``auto`` is bars for rows and listed values, a map or bars for cells, a distribution function for
        quantiles.
    title : str
        Stands above; may be empty.
    width : float
        Natural width in pixels, from 280 to 1200.

    Returns
    -------
    Picture or None
        None where nothing is to be drawn: no rows, or ``kind="none"``.

    Raises
    ------
    UsageError
        If the kind does not fit the shape, or the frame lacks a column.

    >>> frame = pl.DataFrame({"km": [7.2], "km_low": [6.9], "km_high": [7.5]})
    >>> column = PlannedColumn("km", "distance", 1.0, 0.0, 50.0, 0.1, 0.1, 0.3)
    >>> draw(frame, [column], Shape("rows")).text
    'Bars of the columns: km 7.2 (6.9 to 7.5); 1 column.'
    """
    check_choice("kind", kind, KINDS)
    check_range("width", width, 280, 1200)
    fitting = fitting_kinds(shape)
    if kind not in fitting:
        listed = ", ".join(repr(each) for each in fitting)
        raise UsageError(f"kind {kind!r} does not fit an answer of {_named(shape)}; pass one of {listed}.")
    if kind == "none" or frame.height == 0 or not columns:
        return None
    return _DRAWN[fitting[1] if kind == "auto" else kind](Asked(frame, columns, shape, title, width))


def _named(shape: Shape) -> str:
    if shape.kind == "rows":
        return "rows"
    if shape.kind == "cells":
        return "cells on a map" if shape.is_map else "cells"
    return "listed values" if shape.kind == "values" else "quantiles"
