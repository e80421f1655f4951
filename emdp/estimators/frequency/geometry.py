"""Geometry of ``d_em`` on a set of cells: positions of a line, clusters, or the axes of a grid."""

import math
from typing import Literal, Self

import numpy as np
import numpy.typing as npt

from emdp.base.arrays import Integers
from emdp.base.checks import check_positive, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.spaces import Clusters, Geo, Grid, Space, count_items
from emdp.spaces.base import Floats
from emdp.spaces.listed.distances import Distances

__all__ = ["Geometry", "geometry_of_items", "smoothing_bias"]


MOST_APART = 200
"""Most cells without a closed form between which distances of errors are solved for: some hundredths of a second."""


@dataclass(frozen=True, eq=False)
class Geometry:
    """Cells and their distances, in units of ``d_X``.

    >>> Geometry.of(Grid(Geo("lat", "lon", box=(40.5, -74.2, 40.9, -73.7), unit="km"), (3, 4))).kind
    'grid'
    """

    # Which of the closed forms applies; `"other"` has none.
    kind: Literal["line", "discrete", "clusters", "grid", "other"]
    size: int
    positions: Floats | None = None  # On a line: where each cell is
    clusters: Integers | None = None  # Among clusters: that of each cell, whole numbers from 0
    within: float = 1.0  # Among clusters: distance inside one
    shape: tuple[int, ...] = ()  # Of a grid: cells along each axis, the last one running fastest
    # Of a grid: at least the distance of neighbours along each axis; an array broadcasts against the differences along
    # that axis.
    steps: tuple[float | Floats, ...] = ()
    apart: Floats | None = None  # Of few cells without a closed form: all of their distances

    @classmethod
    def line(cls, positions: npt.ArrayLike) -> Self:
        """Return cells on a line."""
        given = np.asarray(positions, dtype=np.float64)
        if given.ndim != 1 or given.size == 0 or not np.isfinite(given).all():
            raise UsageError(f"positions must be finite numbers, got shape {given.shape}; pass one for each cell.")
        return cls("line", given.size, positions=given)

    @classmethod
    def discrete(cls, size: int) -> Self:
        """Return cells with 0/1 distances."""
        return cls("discrete", size)

    @classmethod
    def clustered(cls, clusters: npt.ArrayLike, within: float) -> Self:
        """Return cells in clusters; names of clusters may be any whole numbers."""
        codes = np.unique(np.asarray(clusters), return_inverse=True)[1].astype(np.int64)
        return cls(
            "clusters", codes.size, clusters=codes, within=check_unit_interval("within", within, zero=True, one=True)
        )

    @classmethod
    def grid(cls, shape: tuple[int, ...], steps: tuple[float | Floats, ...]) -> Self:
        """Return the cells of a regular grid."""
        if len(shape) != len(steps) or not shape:
            raise UsageError(f"steps must have {len(shape)} entries, got {len(steps)}; pass one for each axis.")
        return cls("grid", math.prod(shape), shape=shape, steps=steps)

    @classmethod
    def of(cls, space: Space) -> Self:
        """Return the geometry of all items of a finite space, in encoding order."""
        if isinstance(space, Grid):
            if space.structure == "line":
                return cls.line(space.line(space.all_items))
            return cls.grid(space.shape, _grid_steps(space))
        if space.labels is None:
            raise UsageError(f"{space.noun} has no list of items; cut it with Grid.")
        if isinstance(space, Clusters):
            items = np.arange(len(space.labels), dtype=np.float64)[:, None]
            return cls.clustered(space.cluster_codes(items), space.within)
        if isinstance(space, Distances) and len(space.labels) <= MOST_APART:
            return cls("other", len(space.labels), apart=np.minimum(space.matrix / space.diameter, 1.0))
        return cls("discrete" if space.structure == "discrete" else "other", len(space.labels))

    def blocks(self, level: int) -> Integers:
        """Return the block of ``2^level`` cells a side that holds each cell of a grid, whole numbers from 0."""
        places = np.unravel_index(np.arange(self.size), self.shape)
        widths = [-(-count // 2**level) for count in self.shape]
        return np.ravel_multi_index([place >> level for place in places], widths).astype(np.int64)

    def block_diameter(self, level: int) -> float:
        """Return an upper bound of the distance of two cells of one block of a grid."""
        spans = []
        for count, step in zip(self.shape, self.steps, strict=True):
            spans.append((min(2**level, count) - 1) * float(np.max(step)) if count > 1 else 0.0)
        return min(math.hypot(*spans), 1.0)


def geometry_of_items(space: Space) -> Geometry:
    """Return the geometry of all items of a finite space, an unlisted neutral one among them.

    >>> from emdp.spaces import Categories
    >>> geometry_of_items(Categories("kind", ["bar", "cafe"])).kind
    'discrete'
    """
    items = count_items(space)
    if items is None:
        raise UsageError(f"{space.noun} has no list of items; cut it with Grid.")
    if isinstance(space, Grid) or (space.labels is not None and len(space.labels) == items):
        return Geometry.of(space)
    return Geometry("other", items)


def smoothing_bias(step: float, axes: int, diameter: float) -> float:
    """Return how far a partition of unity moves a distribution at most, ``h sqrt(j)/(2 diameter)``.

    Parameters
    ----------
    step : float
        Pitch ``h`` of the cells, in natural units.
    axes : int
        ``j``, the axes of the grid.
    diameter : float
        Natural distance that counts as 1.

    References
    ----------
    EMD 6; :mod:`emdp.estimators.frequency.grids` proves it.

    >>> smoothing_bias(0.5, 4, 10.0)
    0.05
    """
    return check_positive("step", step) * math.sqrt(axes) / 2 / check_positive("diameter", diameter)


def _grid_steps(space: Grid) -> tuple[float | Floats, ...]:
    if not isinstance(space.inner, Geo):
        return tuple(min((step or 0.0) / space.diameter, 1.0) for step in space.axis_steps)
    along, across = space.axes
    radius = space.inner.radius
    north = math.radians((along.high - along.low) / along.count) * radius / space.diameter
    # Along a parallel, which is no shorter than the great circle.
    parallels = np.cos(np.radians(along.centres)) * radius
    east = math.radians((across.high - across.low) / across.count) * parallels / space.diameter
    return min(north, 1.0), np.minimum(east, 1.0)[:, None]
