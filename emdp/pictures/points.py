"""Values with their intervals as a picture needs them: read from an answer's frame, and told in words."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.pictures.style import NO_VALUE, clean, finite, number
from emdp.questions.columns import PlannedColumn
from emdp.questions.shape import Shape

__all__ = ["Point", "read_groups", "read_points", "told"]

FEW = 8
"""Values that the alternative text names."""

LONGEST_NAME = 40
"""Characters of a name in the alternative text."""


@dataclass(frozen=True)
class Point:
    """A released value with the ends of its interval."""

    label: str
    value: float | None  # None where the noise leaves no value
    # low, high: Ends of the interval: an infinite one is the end of the column's public range, or None where that is
    # infinite.
    low: float | None
    high: float | None
    place: tuple[float, ...] = ()  # Coordinates, for cells and quantiles

    @property
    def ends(self) -> tuple[float, ...]:
        """Numbers of the value and its interval that can be drawn; none where there is no value."""
        return () if self.value is None else tuple(end for end in (self.low, self.value, self.high) if end is not None)

    @property
    def is_noise(self) -> bool:
        """Whether 0 is in the interval of a frequency, or there is no value."""
        return self.value is None or self.low is None or self.low <= 0

    def told(self) -> str:
        """Return the value and its interval in words."""
        if self.value is None:
            return NO_VALUE
        low = "no lower limit" if self.low is None else number(self.low)
        high = "no upper limit" if self.high is None else number(self.high)
        return f"{number(self.value)} ({low} to {high})"


def read_points(frame: pl.DataFrame, column: PlannedColumn, names: Sequence[str], places: Sequence[str]) -> list[Point]:
    """Return the points of one column, in the frame's order.

    Parameters
    ----------
    names : sequence of str
        Columns whose values together are the label.
    places : sequence of str
        Columns of numbers that say where the point lies.
    """
    name = column.name
    wanted = (*names, *places, name, f"{name}_low", f"{name}_high")
    missing = [wish for wish in wanted if wish not in frame.columns]
    if missing:
        raise UsageError(f"frame has no column {missing[0]!r}; pass the frame of the answer that columns describes.")
    public = (finite(column.low), finite(column.high))
    labels = [", ".join(map(_shown, row)) for row in _rows(frame, names)] if names else [name] * frame.height
    found = _rows(frame, (*places, name, f"{name}_low", f"{name}_high"))
    return [
        point(label, row[-3], row[-2], row[-1], public=public, place=tuple(map(float, row[:-3])))
        for label, row in zip(labels, found, strict=True)
    ]


def point(
    label: str,
    value: object,
    low: object,
    high: object,
    *,
    public: tuple[float | None, float | None] = (None, None),
    place: tuple[float, ...] = (),
) -> Point:
    """Return a point with what can be drawn of it.

    >>> point("x", 2.0, float("-inf"), float("inf"), public=(0.0, None))
    Point(label='x', value=2.0, low=0.0, high=None, place=())
    """
    shown, least, most = finite(value), finite(low), finite(high)
    least = public[0] if least is None else least
    most = public[1] if most is None else most
    if shown is not None:
        # Noise may take a value beyond its public range, which is all that an infinite end leaves of the interval.
        least = None if least is None else min(least, shown)
        most = None if most is None else max(most, shown)
    return Point(clean(label), shown, least, most, place)


def read_groups(frame: pl.DataFrame, shape: Shape) -> list[tuple[str, pl.DataFrame]]:
    """Return the rows of each group of users with the group's name, in the frame's order.

    >>> frame = pl.DataFrame({"team": ["a", "b", "a"], "q": [0.1, 0.1, 0.9]})
    >>> [(name, part.height) for name, part in read_groups(frame, Shape("quantiles", ("team",), ("q",)))]
    [('a', 2), ('b', 1)]
    """
    if not shape.keys:
        return [("", frame)]
    missing = [key for key in shape.keys if key not in frame.columns]
    if missing:
        raise UsageError(f"frame has no column {missing[0]!r}; pass the frame of the answer that shape describes.")
    parts = frame.partition_by(shape.keys, maintain_order=True)
    return [(", ".join(map(_shown, _rows(part[:1], shape.keys)[0])), part) for part in parts]


def told(drawing: str, points: Sequence[Point], counted: str, *, count: int | None = None) -> str:
    """Return what is drawn with its first values, as one sentence; ``count`` is of all, where only some are given.

    >>> told("Bars of km", [point("cafe", 7.2, 6.9, 7.5)], "group")
    'Bars of km: cafe 7.2 (6.9 to 7.5); 1 group.'
    """
    shown = ", ".join(f"{_name(each.label)} {each.told()}" for each in points[:FEW])
    count = len(points) if count is None else count
    more = f", and {count - FEW} more" if count > FEW else ""
    return f"{drawing}: {shown}{more}; {count} {counted}{'s' if count != 1 else ''}."


def _rows(frame: pl.DataFrame, names: Sequence[str]) -> list[tuple[Any, ...]]:
    # Never select(): it takes a name such as "*" or "^x$" for a pattern of names.
    return list(zip(*(frame.get_column(name).to_list() for name in names), strict=True))


def _shown(value: object) -> str:
    if value is None:
        return "(none)"
    return f"{value:.6g}" if isinstance(value, float) else clean(value) or "(empty)"


def _name(label: str) -> str:
    return label if len(label) <= LONGEST_NAME else f"{label[: LONGEST_NAME - 1]}…"
