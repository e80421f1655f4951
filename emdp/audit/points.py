"""Records made from a public space alone: what an audit puts into its tables in place of private ones.

A record is a point of the unit cube, stretched to the domain: one coordinate for every column of the space that is
stored, and one for every column of times that components such as ``hour(ts)`` are made from. Points come from a
sequence that fills the cube evenly (Roberts' generalised golden ratio), so that nothing here is random.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import polars as pl

from emdp.base.arrays import Floats
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.spaces import Grid, Product, Space, Words
from emdp.tables import Table

__all__ = ["PublicRecords", "even_points"]

YEARS = (2001, 2029)
"""Times are from the first of January of one to that of the other, where the space does not say when: every date of
the calendar falls on every day of the week in 28 years."""

MICROSECONDS = 1_000_000

INSIDE = 1.0 - 1e-9
"""Factor that brings the end of a range that goes round into it."""

MOST_CORNERS = 6
"""Coordinates up to which all corners of the cube are among the first points."""


@dataclass(frozen=True)
class _Column:
    """Map from one coordinate of the cube to a column: labels, a range of numbers, or times (then in seconds)."""

    name: str
    low: float = 0.0
    high: float = 1.0
    labels: tuple[object, ...] = ()
    is_time: bool = False
    kind: str = ""

    def series(self, units: Floats) -> pl.Series:
        if self.labels:
            places = np.minimum((units * len(self.labels)).astype(np.int64), len(self.labels) - 1)
            return pl.Series(self.name, [self.labels[place] for place in places])
        values = self.low + units * (self.high - self.low)
        if not self.is_time:
            return pl.Series(self.name, np.minimum(values, self.high), dtype=pl.Float64)
        whole = np.minimum(values, self.high - 1.0) * MICROSECONDS
        times = pl.Series(self.name, whole.astype(np.int64)).cast(pl.Datetime("us"))
        if self.kind == "DATE":
            return times.dt.date()
        return times.dt.replace_time_zone("UTC") if "TIME ZONE" in self.kind else times


class PublicRecords:
    """Records of a table's space, from points of a cube.

    Parameters
    ----------
    table : Table
        Its space and public schema are used, no record.

    Raises
    ------
    UsageError
        If the space has a column of which no value can be made.

    >>> from emdp.spaces import Interval
    >>> from emdp.tables import read
    >>> table = read({"u": [1], "x": [0.5]}, user="u", space=Interval("x", 0, 4), users=1)
    >>> records = PublicRecords(table)
    >>> records.dimension, records.kept(np.array([[0.0], [0.25], [1.0]]))[1].to_dict(as_series=False)
    (1, {'x': [0.0, 1.0, 4.0]})
    """

    def __init__(self, table: Table) -> None:
        self.space = table.space
        self._columns = tuple(_columns(table))
        self._smaller = tuple(part for part in self.space.parts if part.spans and not part.is_box)

    @property
    def dimension(self) -> int:
        """Coordinates of the cube."""
        return len(self._columns)

    def kept(self, units: Floats) -> tuple[Floats, pl.DataFrame, Floats]:
        """Return those points whose record lies in the domain, the records, and the encoded items.

        Parameters
        ----------
        units : numpy.ndarray
            Points of the cube, shape (n, dimension).
        """
        frame = pl.DataFrame([column.series(units[:, place]) for place, column in enumerate(self._columns)])
        for part in self._smaller:
            frame = _brought_inside(frame, part)
        inside = self.space.valid_mask(frame)
        frame = frame.filter(pl.Series(inside))
        return units[inside], frame, self.space.encode(frame)

    def neutral(self) -> pl.DataFrame:
        """Return the neutral item as one row of the space's columns."""
        return pl.DataFrame(self.space.decode(self.space.neutral_item), strict=False)


def even_points(count: int, dimension: int) -> Floats:
    """Return points that fill the unit cube evenly, its corners (of a small cube) and centre first.

    >>> even_points(6, 1).ravel().round(3).tolist()
    [0.0, 1.0, 0.5, 0.118, 0.736, 0.354]
    """
    corners = np.array([[0.0] * dimension, [1.0] * dimension])
    if 1 < dimension <= MOST_CORNERS:
        corners = np.array(np.meshgrid(*[[0.0, 1.0]] * dimension)).reshape(dimension, -1).T
    ratio = 2.0
    for _ in range(60):
        ratio = (1.0 + ratio) ** (1.0 / (dimension + 1))
    steps = ratio ** -np.arange(1.0, dimension + 1.0)
    filled = np.mod(0.5 + np.arange(max(count, 1))[:, None] * steps[None, :], 1.0)
    return np.concatenate([corners, filled])[: max(count, 1)]


def _columns(table: Table) -> list[_Column]:
    made = table.components
    found: dict[str, _Column] = {}
    for part in table.space.parts:
        for name, low, high in _ranges(part):
            if name not in made:
                found[name] = _Column(name, low, high)
        if part.labels is not None and not isinstance(part, Grid) and part.columns[0] not in made:
            labels = tuple(part.labels)
            if isinstance(part, Words):
                labels = tuple(label for label in labels if part.tokenize(str(label)) == [label])
            found[part.columns[0]] = _Column(part.columns[0], labels=labels)
    for component in made.values():
        if component.column not in found:
            low, high = _times(table.space, component.column)
            kind = table.schema[component.column]
            found[component.column] = _Column(component.column, low, high, is_time=True, kind=kind)
    missing = [name for name in table.space.columns if name not in found and name not in made]
    if missing:
        raise UsageError(f"an audit cannot make values of column {missing[0]!r}; audit a table with another space.")
    return list(found.values())


def _ranges(part: Space) -> list[tuple[str, float, float]]:
    """Return the columns of a continuous part with their ranges; short of the end where they go round."""
    return [(span.column, span.low, span.high * INSIDE if span.goes_round else span.high) for span in part.spans]


def _times(space: Space, column: str) -> tuple[float, float]:
    """Return the seconds since 1970 between which the times of a column lie."""
    parts: Sequence[Space] = space.parts if isinstance(space, Product) else (space,)
    years = YEARS
    for part in parts:
        for name, low, high in _ranges(part):
            if name == f"epoch({column})":
                return low, high + 1.0
            if name == f"year({column})":
                years = (max(int(np.ceil(low)), 1), min(int(high) + 1, 9999))
    first, last = (datetime(year, 1, 1, tzinfo=UTC).timestamp() for year in years)
    return first, last


def _brought_inside(frame: pl.DataFrame, part: Space) -> pl.DataFrame:
    inside = part.brought_inside(frame.select(part.columns).to_numpy())
    return frame.with_columns(pl.Series(name, inside[:, place]) for place, name in enumerate(part.columns))
