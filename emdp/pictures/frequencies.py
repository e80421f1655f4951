"""Pictures of frequencies: a map of cells, a histogram, bars of listed values or of the largest cells."""

from collections.abc import Sequence

import polars as pl

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.pictures.asked import MOST_PANELS, Asked, panels_left_out, where
from emdp.pictures.bars import MOST_ROWS, bar_panel
from emdp.pictures.cells import BELOW_NOISE, BY_CHANCE, Colours, colour_panel, half_width_note, map_panel
from emdp.pictures.histogram import histogram_panel
from emdp.pictures.points import Point, read_groups, read_points, told
from emdp.pictures.style import MOST_MARKS, clean
from emdp.pictures.svg import Note, Picture

__all__ = ["bars_of_frequencies", "map_of"]

ABSENT = "elsewhere"
"""Column of a histogram's rows that is true of the share that has no place."""

MARKS_OF_A_BAR = 2
"""The bar and its interval."""


@dataclass(frozen=True)
class _Group:
    """The frequencies of one group of users: the largest ones as points, in the answer's order, and their number."""

    name: str
    points: list[Point]
    count: int
    noisy: int

    def ranked(self) -> list[Point]:
        """Return the points, the largest first."""
        return sorted(self.points, key=lambda point: (point.value is None, -(point.value or 0.0)))

    def left_out(self, what: str) -> list[str]:
        """Return what is said where there are more."""
        kept = len(self.points)
        if kept == self.count:
            return []
        return [f"the {kept} {what} of {self.count} are drawn{where(self.name)}; {self.count - kept} are not"]

    def told(self, drawing: str, asked: Asked) -> str:
        """Return the group in words."""
        unit = "cell" if asked.shape.kind == "cells" else "value"
        coordinates = ", ".join(map(clean, asked.shape.coordinates))
        head = f"{drawing} of {clean(asked.only.name)} by {coordinates}{where(self.name)}, the largest first"
        verb = "is" if self.noisy == 1 else "are"
        return f"{told(head, self.ranked(), unit, count=self.count)} {self.noisy} of them {verb} below the noise."


def map_of(asked: Asked) -> Picture:
    """Return a map a group, all in the same colours, with the legend below."""
    parts = _somewhere(asked, read_groups(asked.frame, asked.shape))
    groups = _groups(asked, parts, MOST_MARKS // min(len(parts), MOST_PANELS))
    every = [point for group in groups for point in group.points]
    colours = Colours.of_points(every)
    panels = [
        map_panel(group.points, asked.shape.steps, width=asked.width, heading=group.name, colours=colours)
        for group in groups
    ]
    if not all(point.is_noise for point in every):
        panels.append(colour_panel(colours, width=asked.width, heading=asked.heading(asked.only)))
    hidden = [text for group in groups for text in group.left_out("cells with the largest values")]
    left_out = [*hidden, *panels_left_out(len(parts), "groups of users")]
    return asked.compose(panels, [group.told("Map", asked) for group in groups], _legend(every, "dot"), left_out)


def bars_of_frequencies(asked: Asked) -> Picture:
    """Return a histogram of the cells of one axis, or bars of listed values or of the largest cells."""
    parts = _somewhere(asked, read_groups(asked.frame, asked.shape))
    is_histogram = asked.shape.kind == "cells" and len(asked.shape.coordinates) == 1
    most = MOST_MARKS // MARKS_OF_A_BAR // min(len(parts), MOST_PANELS) if is_histogram else MOST_ROWS
    groups = _groups(asked, parts, most)
    panels = []
    for group in groups:
        heading = f"{asked.heading(asked.only)}{f', {group.name}' if group.name else ''}"
        if is_histogram:
            (step,), (axis,) = asked.shape.steps, asked.shape.coordinates
            panel = histogram_panel(group.points, step, width=asked.width, heading=heading, x_title=clean(axis))
        else:
            # Cells of several axes have no order on a line but that of their values, nor has a choice of values.
            is_whole = asked.shape.kind == "values" and len(group.points) == group.count
            points = group.points if is_whole else group.ranked()
            panel = bar_panel(points, width=asked.width, heading=heading, zero=True, marks_noise=True)
        panels.append(panel)
    every = [point for group in groups for point in group.points]
    hidden = [text for group in groups for text in group.left_out("largest")]
    left_out = [*hidden, *panels_left_out(len(parts), "groups of users")]
    return asked.compose(panels, [group.told("Bars", asked) for group in groups], _legend(every, "bar"), left_out)


def _somewhere(asked: Asked, parts: Sequence[tuple[str, pl.DataFrame]]) -> list[tuple[str, pl.DataFrame]]:
    """Return the rows of cells and values, in parts of what is somewhere, where a row says what is elsewhere.

    Intervals are divided by the released share as it is; the noise of the share is small beside theirs. A share of
    nothing leaves the rows as they are.
    """
    found = []
    for name, part in parts:
        if ABSENT in asked.shape.coordinates or part.schema.get(ABSENT) != pl.Boolean or asked.only.name == ABSENT:
            found.append((name, part))
            continue
        gone = part.get_column(ABSENT)
        rest = 1.0 - float(part.filter(gone).get_column(asked.only.name).sum())
        kept, columns = part.filter(~gone), [f"{asked.only.name}{end}" for end in ("", "_low", "_high")]
        scale = rest if rest > 0 else 1.0
        found.append((name, kept.with_columns([kept.get_column(own) / scale for own in columns])))
    return found


def _groups(asked: Asked, parts: Sequence[tuple[str, pl.DataFrame]], most: int) -> list[_Group]:
    coordinates = asked.shape.coordinates
    numbers = () if asked.shape.kind == "values" else coordinates
    name, low = asked.only.name, f"{asked.only.name}_low"
    groups = []
    for group, part in parts[:MOST_PANELS]:
        if name not in part.columns or low not in part.columns:
            raise UsageError(f"frame has no columns {name!r} and {low!r}; pass the frame of the answer.")
        # Of 200,000 cells most are not drawn, so they are counted and ranked here and never become points.
        ends = pl.DataFrame({"value": part.get_column(name), "low": part.get_column(low)}).cast(pl.Float64)
        value, least = pl.col("value"), pl.col("low")
        stands_out = (value.is_finite() & least.is_finite() & (least > 0)).fill_null(False)
        noisy = part.height - int(ends.select(stands_out.sum()).item())
        ranked = ends.with_row_index("place").sort(
            pl.when(value.is_finite()).then(value), descending=True, nulls_last=True, maintain_order=True
        )
        kept = part[ranked.get_column("place").head(most).sort().to_list()]
        groups.append(_Group(group, read_points(kept, asked.only, coordinates, numbers), part.height, noisy))
    return groups


def _legend(points: Sequence[Point], sign: str) -> list[Note]:
    noise = Note(BELOW_NOISE, "dot" if sign == "dot" else "bar")
    widths = half_width_note(points)
    below = [noise, Note(BY_CHANCE)] if any(point.is_noise for point in points) else []
    return [*below, *([] if widths is None else [widths])]
