"""Two measures of parts of a space made one table: places of the one, further columns of the other given the zone.

Post-processing of what was released: it costs nothing, and promises what both promise together. With shared columns
``q(x, y) = q1(x) q2(y | zone of x)``, a zone being the places that are nearest to one of the other's nodes in these
columns; without, the two are independent. Of records that may be elsewhere both are about those that are somewhere: the
caller keeps the share of the others. What that loses is not public: how far the table itself is from independence,
within a zone.
"""

import math
from typing import Any

import numpy as np
import polars as pl

from emdp.base.errors import UsageError
from emdp.estimators.frequency.measure_cells import MeasureCells
from emdp.expressions.cells.aggregation import Axis, LabelAxis
from emdp.spaces.base import Floats

__all__ = ["joined"]

LEAST = 1e-12
"""Zones with less have the further columns of the whole, and rows with less are left out."""


def joined(table: pl.DataFrame, weight: str, grid: MeasureCells, fit: Floats) -> pl.DataFrame:
    """Return a weighted table with the further columns of a measure.

    Parameters
    ----------
    table : polars.DataFrame
        Places with their weights.
    weight : str
        The column of the weights.
    grid, fit : MeasureCells, numpy.ndarray
        The other measure's nodes and places, and its fit.

    Raises
    ------
    UsageError
        If it has no further columns.
    """
    names = grid.cells.columns
    shared = [place for place, name in enumerate(names) if name in table.columns]
    rest = [place for place, name in enumerate(names) if name not in table.columns]
    if not rest:
        raise UsageError("other must have further columns; pass a measure that is of more than this one's.")
    given, zones = np.moveaxis(fit, shared, range(len(shared))), np.zeros(table.height, dtype=np.int64)
    for step, place in enumerate(shared):
        axis = grid.cells.axes[place]
        fine = _nearest(axis, grid.values[place])
        lines = np.moveaxis(given, step, 0)
        sums = np.zeros((axis.size, *lines.shape[1:]))
        np.add.at(sums, fine, lines)
        given = np.moveaxis(sums, 0, step)
        zones = zones * axis.size + _nearest(axis, table.get_column(names[place]).to_list())
    given = given.reshape(-1, math.prod(grid.counts[place] for place in rest))
    mass, whole = given.sum(axis=1, keepdims=True), given.sum(axis=0)
    shares = np.where(mass > LEAST, given / np.maximum(mass, LEAST), whole / max(whole.sum(), LEAST))
    both = table.get_column(weight).to_numpy()[:, None] * shares[zones]
    here, left = np.nonzero(both > LEAST)
    weights = both[here, left]
    further: list[pl.Series] = []
    for place in reversed(rest):
        further.append(pl.Series(names[place], grid.values[place]).gather(pl.Series(left % grid.counts[place])))
        left = left // grid.counts[place]
    own = table.drop(weight)[pl.Series(here)].get_columns()
    return pl.DataFrame([*own, *further[::-1], pl.Series(weight, weights / weights.sum())])


def _nearest(axis: Axis, values: list[Any]) -> Any:
    """Return the number of the nearest node along an axis for each value."""
    if isinstance(axis, LabelAxis):
        codes = {cell[0]: number for number, cell in enumerate(axis.cells)}
        return np.array([codes[value] for value in values], dtype=np.int64)
    found = np.round((np.array(values, dtype=np.float64) - float(axis.start)) / float(axis.step)).astype(np.int64)
    return found % axis.size if axis.is_periodic else np.clip(found, 0, axis.size - 1)
