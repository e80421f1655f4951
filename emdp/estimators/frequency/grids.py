"""Cells of a part of a space: a partition of unity on a continuum, or listed values (EMD 6).

On a continuum a record counts in the cells around it, with the weights of a ``HatAxis`` multiplied over the axes.
Along one axis of pitch ``h`` a record a fraction ``f`` beyond a node goes to that node with weight ``1 - f`` and to the
next one with weight ``f``, so its squared distance to where it counts has the mean ``f (1 - f) h^2 <= h^2/4``. Over
``j`` axes the mean distance is therefore at most ``h sqrt(j)/2``: smoothing moves the distribution by no more than
that (EMD 6).

On the sphere the straight line in latitude and longitude between a place and a node is a path at least as long as the
great circle; with ``c`` the largest cosine of a latitude among the nodes its length is at most
``R sqrt(dlat^2 + c^2 dlon^2)``. So pitches of ``step`` north-south and of ``step`` east-west *at that latitude*, where
degrees of longitude are longest, give cells at most ``step`` wide everywhere, and the bound holds with ``h = step``.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl

from emdp.base.checks import check_positive
from emdp.base.classes import dataclass
from emdp.base.decimals import as_decimal
from emdp.base.errors import UsageError
from emdp.expressions.cells.aggregation import Axis, HatAxis, LabelAxis
from emdp.expressions.nodes.base import Column
from emdp.expressions.nodes.parts import part_of_columns
from emdp.questions.select import Grid
from emdp.questions.shape import Shape
from emdp.spaces import Space
from emdp.spaces.ranges import GridLine

__all__ = ["MOST_CELLS", "Cells", "cells_of"]

MOST_CELLS = 200_000
"""Most released frequencies, over all groups of users: some seconds of exact noise."""

WRITTEN_OUT = 10**15
"""A number of cells that a message writes with its size alone."""


@dataclass(frozen=True)
class Cells:
    """Cells of one part."""

    axes: tuple[Axis, ...]  # The last one runs fastest
    columns: tuple[str, ...]  # One an axis: where a cell's centre, or its value, is shown
    text: str
    notes: tuple[str, ...] = ()  # What smoothing does to a record
    is_map: bool = False  # Whether the columns are a latitude and a longitude

    @property
    def size(self) -> int:
        """Number of cells."""
        return math.prod(axis.size for axis in self.axes)

    def shape(self, keys: tuple[str, ...]) -> Shape:
        """Return how an answer with these cells and groups is laid out."""
        steps = tuple(axis.step for axis in self.axes if isinstance(axis, HatAxis))
        if len(steps) < len(self.axes):
            return Shape("values", keys=keys, coordinates=self.columns)
        return Shape("cells", keys=keys, coordinates=self.columns, steps=steps, is_map=self.is_map)

    def frame(self) -> pl.DataFrame:
        """Return one row a cell, in order: its centre, or its listed value (several as one text, with `` | ``)."""
        shown: list[pl.Series] = []
        inner = self.size
        for column, axis in zip(self.columns, self.axes, strict=True):
            inner //= axis.size
            own = pl.Series(column, _values(axis) if isinstance(axis, LabelAxis) else _centres(axis))
            places = np.arange(self.size) // inner % axis.size
            shown.append(own.gather(pl.Series(places)))
        return pl.DataFrame(shown)


def cells_of(cells: Grid | LabelAxis, space: Space, *, groups: int = 1) -> Cells:
    """Return the cells that a query asks for.

    An interval has nodes from its low edge to the first one at or beyond its high edge, at exactly the pitch asked
    for. A cycle has as many cells of equal width as make them at most that wide, at least 3. A ``Geo`` has the pitch in
    degrees that the module's text says (latitudes narrower by a little where a node would lie beyond a pole), a vector
    in a box one axis a column.

    Parameters
    ----------
    cells : Grid or LabelAxis
        Pitch of a continuous part, or listed values of a finite one.
    space : Space
        The item space; of a product the part that ``column`` names, or the only one that can have a grid.
    groups : int
        Groups of users that each have all cells.

    Raises
    ------
    UsageError
        If the part has no such cells, it is not clear which part is meant, or there are more than 200,000 frequencies.

    >>> from emdp.spaces import Cycle, Interval
    >>> cells_of(Grid(2.5), Interval("x", 0, 10)).frame().get_column("x").to_list()
    [0.0, 2.5, 5.0, 7.5, 10.0]
    >>> cells_of(Grid(5), Cycle("hour", 24)).axes[0].step
    4.8
    """
    if isinstance(cells, LabelAxis):
        return _label_cells(cells, space, groups)
    step = check_positive("step", cells.step)
    part = _gridable_part(cells, space)
    if step > part.domain_diameter:
        raise UsageError(
            f"step must be at most {part.domain_diameter:.6g}{_unit(part)}, the largest distance in "
            f"{_listed(part.columns)}, got {step:.6g}; pass a smaller pitch."
        )
    lines = part.grid_lines(step)
    _check_count(part, step, groups, lines)
    axes = _axes(lines)
    text = f"cells of GRID({step:g}) on {', '.join(part.columns)}"
    return Cells(axes, part.columns, text, _notes(part, step, lines), is_map=part.is_map)


def _label_cells(axis: LabelAxis, space: Space, groups: int) -> Cells:
    part = space.parts[part_of_columns(space, (axis.column,))]
    if part.labels is None:
        raise UsageError(f"column {axis.column!r} of {part.noun} has no listed values; ask for FREQUENCY(GRID(step)).")
    for cell in axis.cells:
        for value in cell:
            part.encode_point(value)
    if axis.size * groups > MOST_CELLS:
        raise UsageError(
            f"{axis.size} values in {groups} groups of users are more than {MOST_CELLS} frequencies; list fewer values."
        )
    return Cells((axis,), (axis.column,), f"listed values of {axis.column}")


def _gridable_part(grid: Grid, space: Space) -> Space:
    call = f"GRID({grid.step:g})"
    if grid.column is not None:
        part = space.parts[part_of_columns(space, (grid.column,))]
        refusal = _refusal(part)
        if refusal is not None:
            raise UsageError(f"`{call}` of column {grid.column!r}: {refusal}.")
        return part
    refusals = {part.columns: _refusal(part) for part in space.parts}
    fitting = [part for part in space.parts if refusals[part.columns] is None]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        names = [part.columns[0] for part in fitting]
        raise UsageError(
            f"`{call}` fits several parts of the space; name a column of one, {_listed(names)}, as in "
            f"GRID({names[0]}, {grid.step:g}) or column={names[0]!r}."
        )
    raise UsageError(f"`{call}` fits no part: " + " / ".join(f"{refusal}" for refusal in refusals.values()) + ".")


def _refusal(part: Space) -> str | None:
    """Return why a part has no grid, and what to ask for instead; None where it has one."""
    if part.labels is not None:
        return f"{_listed(part.columns)} has listed values, not a grid; ask for FREQUENCY({part.columns[0]}) instead"
    return part.grid_refusal()


def _axes(lines: Sequence[GridLine]) -> tuple[HatAxis, ...]:
    return tuple(
        HatAxis(Column(line.column), line.start, line.step, line.size, is_periodic=line.goes_round) for line in lines
    )


def _check_count(part: Space, step: float, groups: int, lines: Sequence[GridLine]) -> None:
    found = groups * math.prod(line.size for line in lines)
    if found <= MOST_CELLS:
        return
    # By logarithms: so many cells may be no float.
    larger = math.exp(math.log(step) + (math.log(found) - math.log(MOST_CELLS)) / len(lines))
    while groups * math.prod(line.size for line in part.grid_lines(larger)) > MOST_CELLS:
        larger *= 1.05
    digit = 10.0 ** (math.floor(math.log10(larger)) - 1)
    each = f" in {groups} groups of users" if groups > 1 else ""
    cells = str(found) if found < WRITTEN_OUT else f"some 1e{math.floor(math.log10(found))}"
    raise UsageError(
        f"step {step:g} makes {cells} cells{each}, more than {MOST_CELLS}; pass a pitch of at least "
        f"{math.ceil(larger / digit) * digit:.3g}."
    )


def _notes(part: Space, step: float, lines: Sequence[GridLine]) -> tuple[str, ...]:
    # A column that goes round has cells of a width that divides its period.
    pitch = max((line.step for line in lines if line.goes_round), default=step)
    moved = f"{pitch:.6g}{_unit(part)}" + (f" * sqrt({len(lines)})" if len(lines) > 1 else "")
    smoothed = (
        f"each record counts in the {2 ** len(lines)} cells around it, with weights that add up to 1; this smoothing "
        f"moves the distribution by at most {moved} / 2 (EMD 6)"
    )
    return smoothed, *part.grid_notes(lines, step)


def _centres(axis: HatAxis) -> list[float]:
    # start + k step in decimals, each rounded once, by whole numbers: 3 * 0.1 is then shown as 0.3.
    start, step = as_decimal(axis.start), as_decimal(axis.step)
    first, pitch = start.numerator * step.denominator, step.numerator * start.denominator
    whole = start.denominator * step.denominator
    return [(first + k * pitch) / whole for k in range(axis.size)]


def _values(axis: LabelAxis) -> list[Any]:
    if all(len(cell) == 1 for cell in axis.cells):
        return [cell[0] for cell in axis.cells]
    return [" | ".join(map(str, cell)) for cell in axis.cells]


def _unit(part: Space) -> str:
    return "" if part.unit is None else f" {part.unit}"


def _listed(names: Iterable[str]) -> str:
    return " or ".join(map(repr, names))
