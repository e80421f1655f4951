"""A measure of places with hours or listed values beside them as small maps: one for each part of the other axis.

Sums of fitted shares, each with the interval of the released sum, which is exact under noise on edges: the noise of a
sum has the same law for all places that are as far inside the grid, so that it is computed once for each kind of place.
"""

import math
from collections.abc import Sequence
from typing import Self

import numpy as np
import polars as pl

from emdp.base.classes import dataclass
from emdp.estimators.frequency.grids import Cells
from emdp.expressions.cells.aggregation import Axis, HatAxis, LabelAxis
from emdp.mechanisms.central.edges import EdgeMechanism
from emdp.questions.shape import Shape
from emdp.spaces import Space
from emdp.spaces.base import Floats

__all__ = ["SmallMaps"]

MOST_MAPS = 6
"""As many as a picture has panels."""

_LEVEL = 0.95


@dataclass(frozen=True)
class SmallMaps:
    """Which axes of a measure's nodes are a map, and which one its maps differ in."""

    cells: Cells
    places: tuple[int, int]  # Axes of latitude and longitude
    other: int  # The first further one; what it leaves is summed up

    @classmethod
    def of(cls, cells: Cells, parts: Sequence[Space]) -> Self | None:
        """Return the maps of a measure of several parts; None where no part is a map, or there is no further one."""
        maps = [part for part in parts if part.is_map and set(part.columns) <= set(cells.columns)]
        if len(parts) < 2 or len(maps) != 1:
            return None
        lat, lon = map(cells.columns.index, maps[0].columns)
        return cls(cells, (lat, lon), next(own for own in range(len(cells.axes)) if own not in (lat, lon)))

    @property
    def shape(self) -> Shape:
        """Cells of a map by parts of the other axis."""
        columns, lat, lon = self.cells.columns, *self.places
        steps = tuple(own.step for own in (self.cells.axes[lat], self.cells.axes[lon]) if isinstance(own, HatAxis))
        return Shape("cells", (columns[self.other],), (columns[lat], columns[lon]), steps, is_map=True)

    def frame(self, name: str, mechanism: EdgeMechanism, fitted: Floats, released: Floats) -> pl.DataFrame:
        """Return one row a cell of each map, in order.

        Parameters
        ----------
        fitted, released : numpy.ndarray
            Shares of all nodes, and of the point elsewhere behind them where there is one: maps are of the rest.
        """
        rest = 1.0 - float(fitted[self.cells.size :].sum())
        scale = 1.0 / rest if rest > 0 else 1.0
        fit, raw = (scale * self._summed(values[: self.cells.size]) for values in (fitted, released))
        key, (lat, lon) = self.cells.columns[self.other], (self.cells.axes[own] for own in self.places)
        grid = [values.ravel() for values in np.meshgrid(_centres(lat), _centres(lon), indexing="ij")]
        names = [self.cells.columns[own] for own in self.places]
        frames = []
        for title, nodes in self._parts(fit.sum((0, 1))):
            width = scale * self._widths(mechanism, nodes)
            own, centre = (values[:, :, nodes].sum(2).ravel() for values in (fit, raw))
            shares = {name: own, f"{name}_low": centre - width, f"{name}_high": centre + width}
            frames.append(pl.DataFrame({key: [title] * len(own), **dict(zip(names, grid, strict=True)), **shares}))
        return pl.concat(frames)

    def _summed(self, values: Floats) -> Floats:
        """Return shares by latitude, longitude and the other axis."""
        whole = values.reshape([axis.size for axis in self.cells.axes])
        first = np.moveaxis(whole, (*self.places, self.other), (0, 1, 2))
        summed: Floats = first.reshape(*first.shape[:3], -1).sum(3)
        return summed

    def _parts(self, masses: Floats) -> list[tuple[str, list[int]]]:
        """Return the name and the nodes of each part of the other axis: neighbours, or the values of most mass."""
        axis, name = self.cells.axes[self.other], self.cells.columns[self.other]
        if isinstance(axis, LabelAxis):
            ranked = np.argsort(-masses, kind="stable").tolist()
            kept = ranked if len(ranked) <= MOST_MAPS else ranked[: MOST_MAPS - 1]
            labels = self.cells.frame().get_column(name).unique(maintain_order=True).to_list()
            rest = ranked[len(kept) :]
            return [(f"{labels[own]}", [own]) for own in kept] + ([(f"{len(rest)} others", rest)] if rest else [])
        count = next((own for own in (6, 5, 4, 3) if axis.size % own == 0), min(axis.size, MOST_MAPS))
        centres = _centres(axis)
        found = []
        for nodes in np.array_split(np.arange(axis.size), count):
            first, last = (f"{float(centres[own]):.4g}" for own in (nodes[0], nodes[-1]))
            found.append((f"{name} {first}" if first == last else f"{name} {first} to {last}", nodes.tolist()))
        return found

    def _widths(self, mechanism: EdgeMechanism, nodes: Sequence[int]) -> Floats:
        """Return half-widths of the sums over some nodes of the other axis, by place."""
        tall, wide = (self.cells.axes[own].size for own in self.places)
        known: dict[tuple[int, int], float] = {}
        widths = np.empty((tall, wide))
        for row in range(tall):
            for column in range(wide):
                kind = (_inside(row, tall), _inside(column, wide))
                if kind not in known:
                    known[kind] = mechanism.linear_half_width(self._weights(mechanism, kind, nodes), _LEVEL)
                widths[row, column] = known[kind]
        return widths.ravel()

    def _weights(self, mechanism: EdgeMechanism, place: tuple[int, int], nodes: Sequence[int]) -> Floats:
        weights = np.zeros([axis.size for axis in self.cells.axes])
        first = np.moveaxis(weights, (*self.places, self.other), (0, 1, 2))
        first[place[0], place[1], list(nodes)] = 1.0
        return np.append(weights.ravel(), np.zeros(int(mechanism.dimension) - weights.size))


def _centres(axis: Axis) -> Floats:
    if not isinstance(axis, HatAxis):
        return np.arange(axis.size, dtype=np.float64)
    return np.asarray(axis.start + axis.step * np.arange(axis.size), dtype=np.float64)


def _inside(place: int, count: int) -> int:
    """Return a place that has as many neighbours."""
    return place if place in (0, count - 1) else math.ceil(count / 2) - 1 if count > 2 else place
