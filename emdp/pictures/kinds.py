"""Pictures of rows and of quantiles, put together from an answer's frame."""

from emdp.pictures.asked import MOST_PANELS, Asked, panels_left_out, where
from emdp.pictures.bars import MOST_ROWS, bar_panel, has_zero
from emdp.pictures.distribution import distribution_panel
from emdp.pictures.frequencies import bars_of_frequencies
from emdp.pictures.periods import MOST_PERIODS, line_panel, missing_notes
from emdp.pictures.points import Point, read_groups, read_points, told
from emdp.pictures.scale import covering
from emdp.pictures.style import NO_VALUE, clean
from emdp.pictures.svg import Note, Picture
from emdp.questions.columns import PlannedColumn

__all__ = ["bars_of", "distribution_of", "lines_of"]


def bars_of(asked: Asked) -> Picture:
    """Return bars: of rows, of listed values, of the cells of one axis, of the largest cells of several axes."""
    if asked.shape.kind != "rows":
        return bars_of_frequencies(asked)
    if not asked.shape.keys:
        return _bars_of_columns(asked)
    panels, sentences, notes = [], [], []
    for column in asked.columns[:MOST_PANELS]:
        points = read_points(asked.frame, column, asked.shape.keys, ())
        zero = has_zero(column)
        panel = bar_panel(points[:MOST_ROWS], width=asked.width, heading=asked.heading(column), zero=zero)
        panels.append(panel)
        sentences.append(told(f"{'Bars' if zero else 'Points'} of {clean(column.name)}{asked.by}", points, "group"))
    if asked.frame.height > MOST_ROWS:
        notes.append(f"the first {MOST_ROWS} of {asked.frame.height} rows are drawn")
    notes += panels_left_out(len(asked.columns), "columns")
    return asked.compose(panels, sentences, [], notes)


def lines_of(asked: Asked) -> Picture:
    """Return lines over the rows, one panel a column."""
    panels, sentences, notes, gaps = [], [], [], []
    for column in asked.columns[:MOST_PANELS]:
        points = read_points(asked.frame, column, asked.shape.keys, ())
        panels.append(line_panel(points[:MOST_PERIODS], width=asked.width, heading=asked.heading(column)))
        sentences.append(told(f"Line of {clean(column.name)}{asked.by}", points, "row"))
        gaps += points[:MOST_PERIODS]
    if asked.frame.height > MOST_PERIODS:
        notes.append(f"the first {MOST_PERIODS} of {asked.frame.height} rows are drawn")
    notes += panels_left_out(len(asked.columns), "columns")
    return asked.compose(panels, sentences, missing_notes(gaps), notes)


def distribution_of(asked: Asked) -> Picture:
    """Return a distribution function a group, over the same axis."""
    groups = read_groups(asked.frame, asked.shape)
    coordinates = asked.shape.coordinates
    drawn = [(name, read_points(part, asked.only, coordinates, coordinates)) for name, part in groups[:MOST_PANELS]]
    x = covering((end for _, points in drawn for point in points for end in point.ends), ticks=4)
    x_title = clean(asked.heading(asked.only))
    panels = [
        distribution_panel(points, width=asked.width, heading=name, x_title=x_title, x=x) for name, points in drawn
    ]
    name = clean(asked.only.name)
    sentences = [
        told(f"Distribution function of {name}{where(group)}: quantiles by level", points, "level")
        for group, points in drawn
    ]
    notes = panels_left_out(len(groups), "groups of users")
    shown = [Note("upwards: q, the share at or below the value; across: the value with its 95 % interval")]
    if any(point.value is None for _, points in drawn for point in points):
        shown.append(Note(f"some levels have {NO_VALUE}"))
    return asked.compose(panels, sentences, shown, notes)


def _bars_of_columns(asked: Asked) -> Picture:
    # Columns of one public range are of like units, as far as is known; the others have an axis of their own.
    alike: dict[tuple[float, float], list[tuple[PlannedColumn, Point]]] = {}
    every = []
    for column in asked.columns:
        for point in read_points(asked.frame, column, (), ()):
            alike.setdefault((column.low, column.high), []).append((column, point))
            every.append(point)
    panels, notes, zeros = [], [], []
    for like in list(alike.values())[:MOST_PANELS]:
        zeros.append(has_zero(like[0][0]))
        points = [point for _, point in like[:MOST_ROWS]]
        panels.append(bar_panel(points, width=asked.width, heading=asked.shape.unit, zero=zeros[-1]))
        if len(like) > MOST_ROWS:
            notes.append(f"the first {MOST_ROWS} of {len(like)} columns of the same range are drawn")
    notes += panels_left_out(len(alike), "ranges of columns")
    drawing = "Bars" if all(zeros) else "Bars and points" if any(zeros) else "Points"
    text = told(f"{drawing} of the columns", every, "column")
    return asked.compose(panels, [text], [], notes)
