"""Frequencies: the share of each cell in the average user's records, smoothed on a continuum (EMD 6).

The released vector holds for each cell ``E g_k``, the mean over users of the mean over their records of the weight
``g_k`` that a record has in cell ``k``: a linear query whose weights are a partition of unity (or one-hot, for listed
values). Its constant ``l`` in the norm of the noise gives the sensitivity ``l/n`` per unit of ``d_em`` for any number
of records (EMD 2, "Answer"); under user-level epsilon replacement of a user moves the vector by at most ``2/n`` in the
1-norm.

Where the space has the point elsewhere, at distance ``rho``, one more coordinate is the share of the records that are
there, ``1_elsewhere``. Two items have both 0 in it, so the constant between them is as before; an item and that point
are ``rho`` apart, and ``(g(x), 0)`` and ``(0, 1)`` differ by 2 in the 1-norm and by at most ``sqrt(2)`` in the 2-norm,
since ``sum g_k = 1``. So the constant is the larger of ``l`` and ``2/rho`` (``sqrt(2)/rho``), mostly ``l``: the share
is free. By replacement the vector moves by 2 and ``sqrt(2)`` as before. The coordinate is 1 less the exact sum of the
others, off by at most the 1-norm of what they are off by: two units of the last place a cell.

With noise on edges that point is one more node, joined to every cell by an edge whose noise is for ``rho`` alone, far
less than that of edges between cells of a fine pitch; the share is then the sum of the numbers on those edges.

Frequencies are released as they come: unbiased, so some may be negative, and their sum is exactly 1 with noise on the
edges between neighbouring cells alone (:mod:`emdp.estimators.frequency.edge_noise`).
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import polars as pl

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.estimators.columns.ordering import ordered
from emdp.estimators.frequency.edge_noise import edge_noise, least_noise
from emdp.estimators.frequency.geometry import Geometry, geometry_of_items, smoothing_bias
from emdp.estimators.frequency.grids import Cells, cells_of
from emdp.estimators.frequency.models import IndependentErrors
from emdp.estimators.frequency.planning import expected_distance
from emdp.estimators.frequency.regions import check_norm, noise_radius
from emdp.estimators.plan import Plan
from emdp.estimators.user_groups import (
    Change,
    GroupKeys,
    GroupNoise,
    change_of,
    check_names,
    level_of_each,
    noise_of_groups,
)
from emdp.expressions.cells.aggregation import Aggregation, HatAxis
from emdp.expressions.cells.flow_bounds import is_partition
from emdp.expressions.cells.place_graphs import places_of
from emdp.expressions.nodes.base import Constant
from emdp.expressions.numbers.outward import add_up, div_up, sqrt_up
from emdp.mechanisms import AdditiveMechanism, LaplaceMechanism
from emdp.mechanisms.central.edges import EdgeMechanism
from emdp.questions.columns import Released
from emdp.questions.comparison import ComparedMethod
from emdp.questions.price import Price
from emdp.questions.select import FrequencyQuery, Grid
from emdp.questions.shape import Shape
from emdp.spaces import Space, count_items
from emdp.spaces.base import Floats
from emdp.spaces.combined.elsewhere import COLUMN
from emdp.spaces.combined.grid import can_be_cut

__all__ = ["FrequencyRows", "notes_of_away", "plan_frequencies", "with_absent"]

OF_MAPS = "divide by the rest for the map of the records that are somewhere, as pictures do"
"""What is done with the share that has no place."""

WITH_GRID = "; read the table with space=emdp.Grid(...) for cells as they are"
JUMPS = "on a continuum the indicator of a cell has no Lipschitz constant"

Law = Literal["normal", "laplace"]

RAW = "frequencies are unbiased and not adjusted: noise may take some below 0, and their sum off 1"
SUMMED = "frequencies are unbiased and not adjusted: noise may take some below 0; their sum is 1"


@dataclass(frozen=True, eq=False)
class FrequencyRows:
    """Rows of smoothed frequencies: one for each group of users and each cell, the cells running faster."""

    name: str
    cells: Cells
    keys: GroupKeys
    mechanisms: tuple[AdditiveMechanism, ...]  # The noise of each group
    geometry: Geometry | None = None  # The cells, where they are the whole space: for regions in the unit of `d_em`
    # Whether a last row of each group is the share that is elsewhere, with no cell; a column `elsewhere` says so.
    has_absent: bool = False

    @property
    def size(self) -> int:
        """Rows of each group of users."""
        return self.cells.size + self.has_absent

    @property
    def columns(self) -> tuple[str, ...]:
        """The answer's columns."""
        marks = (COLUMN,) if self.has_absent else ()
        ends = (f"{self.name}_low", f"{self.name}_high")
        return (*self.keys.columns, *self.cells.columns, *marks, self.name, *ends)

    @property
    def shape(self) -> Shape:
        """Cells of a grid, or listed values, by group of users."""
        return self.cells.shape(self.keys.columns)

    def frame(self, released: Released, level: float, *, together: bool = False) -> pl.DataFrame:
        """Return the answer, intervals from the exact law of the noise; see :class:`Finisher`."""
        values = _values(released)
        own = level_of_each(level, len(self.mechanisms)) if together else level
        found = {mechanism.scale: mechanism.half_widths(own, together=together) for mechanism in self.mechanisms}
        width = np.concatenate([found[mechanism.scale] for mechanism in self.mechanisms])
        ends = [pl.Series(f"{self.name}_low", values - width), pl.Series(f"{self.name}_high", values + width)]
        return self._frame([pl.Series(self.name, values), *ends])

    def region(self, level: float, norm: str) -> float:
        """Return the radius of a ball around the frequencies of each group of users, all at once.

        See :mod:`emdp.estimators.frequency.regions`; on a continuum the ball is around smoothed frequencies.
        """
        if check_norm(norm) == "d_em" and self.geometry is None:
            raise UsageError("norm='d_em' is of whole items, and these are cells of a part of them; pass norm='l1'.")
        own = level_of_each(level, len(self.mechanisms))
        distinct = {mechanism.scale: mechanism for mechanism in self.mechanisms}
        return max(noise_radius(one, own, check_norm(norm), self.geometry) for one in distinct.values())

    def exact(self, statistics: Released) -> pl.DataFrame:
        return self._frame([pl.Series(self.name, _values(statistics))])

    def _frame(self, found: list[pl.Series]) -> pl.DataFrame:
        groups = len(self.mechanisms)
        shown = self.cells.frame()
        if self.has_absent:
            absent = pl.DataFrame({COLUMN: [True]})
            shown = pl.concat([shown.with_columns(pl.lit(False).alias(COLUMN)), absent], how="diagonal")
        repeated = pl.concat([shown] * groups) if groups > 1 else shown
        return pl.DataFrame([*self.keys.series(self.size), *repeated.get_columns(), *found])


def plan_frequencies(query: FrequencyQuery, *, space: Space, users: int) -> Plan:
    """Return the plan of a smoothed histogram, or of the frequencies of listed values.

    Raises
    ------
    NotLipschitzError
        If listed values lie at distance 0 of one another.
    UsageError
        If the cells do not fit the space, or the noise does not fit the parameters.

    Guarantee
    ---------
    ``(alpha, delta)`` unbounded central d_EM-DP, or ``(epsilon, delta)`` user-level: EMD 6, and EMD 2 for the noise.

    >>> from emdp.questions.price import Price
    >>> from emdp.questions.select import Grid
    >>> from emdp.spaces import Interval
    >>> query = FrequencyQuery(Grid(2.5), Price("alpha", 2.0))
    >>> plan = plan_frequencies(query, space=Interval("x", 0, 10), users=100)
    >>> plan.columns[0].lipschitz, plan.mechanisms[0].scale, plan.aggregation.cells
    (8.0, 0.02, 5)
    """
    people = query.people
    sizes = (users,) if people is None else people.groups.sizes
    cells = cells_of(query.cells, space, groups=len(sizes))
    aggregation = Aggregation((Constant(1.0),), cells.axes, None if people is None else people.groups)
    change = change_of(aggregation, space, query.price)
    has_absent = space.elsewhere is not None and is_partition(aggregation, space)
    if has_absent:
        change = with_absent(change, cells, space, query.price)
    noise = _noise(query, aggregation, space, sizes, change)
    geometry = None if space.elsewhere is not None else _geometry(cells, space)
    rows = FrequencyRows(query.name, cells, GroupKeys.of(people), noise.mechanisms, geometry, has_absent)
    check_names(rows.columns)
    note = f"errors in a group of {min(sizes)} users, the smallest" if len(set(sizes)) > 1 else ""
    return Plan(
        aggregation=aggregation,
        scales=(1.0,),
        mechanisms=noise.mechanisms,
        event=noise.event,
        columns=(noise.share_column(query, cells.text, change.lipschitz, note=note),),
        choice=noise.choice,
        finisher=ordered(rows, query.order, limit=query.limit, offset=query.offset, columns=rows.columns),
        has_absent=has_absent,
        notes=(
            *cells.notes,
            SUMMED if isinstance(noise.widest, EdgeMechanism) else RAW,
            *notes_of_away(space, OF_MAPS if has_absent else None),
            *((people.text,) if people is not None and people.text else ()),
        ),
        comparison=_comparison(cells, space, noise, geometry),
    )


def _noise(
    query: FrequencyQuery, aggregation: Aggregation, space: Space, sizes: Sequence[int], change: Change
) -> GroupNoise:
    """Return what was asked for; of cells of a pitch, or of a graph, under alpha the less noise of edges and cells."""
    if query.noise == "edges":
        return edge_noise(aggregation, space, sizes, query.price).asked()
    cells = noise_of_groups(change, sizes, query.price, query.noise)
    if query.noise != "auto" or query.price.is_user_level:
        return cells
    if not isinstance(query.cells, Grid) and places_of(aggregation, space) is None:
        return cells
    return least_noise(edge_noise(aggregation, space, sizes, query.price), cells)


def with_absent(change: Change, cells: Cells, space: Space, price: Price) -> Change:
    """Return the change with the share that is elsewhere as one more coordinate; see the module's text."""
    rho = space.elsewhere or 1.0
    leaving = (2.0, sqrt_up(2.0)) if price.is_user_level else (div_up(2.0, rho), div_up(sqrt_up(2.0), rho))
    return replace(
        change,
        norm_1=max(change.norm_1, leaving[0]),
        norm_2=max(change.norm_2, leaving[1]),
        lipschitz=max(change.lipschitz, div_up(2.0, rho)),
        error=add_up(change.error, math.ldexp(cells.size, -50)),
        dimension=change.dimension + 1,
    )


def notes_of_away(space: Space, use: str | None) -> tuple[str, ...]:
    """Say what the row of what is elsewhere is, and how the others are read beside it; ``use`` None: there is none."""
    if space.elsewhere is None:
        return ()
    if use is None:
        return ("what is elsewhere is in no cell, nor are values that no cell lists, so there is no row of it",)
    return (f"the row with elsewhere = true is the share of everybody's records that have no place; {use}",)


def _geometry(cells: Cells, space: Space) -> Geometry | None:
    """Return how far cells are apart at most, where they are of the whole space."""
    if len(space.parts) > 1:
        return None
    steps = tuple(min(pitch / space.diameter, 1.0) for pitch in _pitches(cells, space))
    if not steps:
        is_whole = count_items(space) == cells.size
        return geometry_of_items(space) if is_whole else None
    if len(steps) == 1:
        return Geometry.line(np.arange(cells.size) * steps[0])
    return Geometry.grid(tuple(axis.size for axis in cells.axes), steps)


def _pitches(cells: Cells, space: Space) -> tuple[float, ...]:
    """Return the natural distance of neighbouring cells along each axis of a continuum, at most."""
    steps = tuple(axis.step for axis in cells.axes if isinstance(axis, HatAxis))
    return space.cell_pitches(steps) if steps else ()


def _comparison(cells: Cells, space: Space, noise: GroupNoise, geometry: Geometry | None) -> tuple[ComparedMethod, ...]:
    """Return why cells of a continuum are smoothed, with what that costs in the unit of ``d_em``."""
    pitches = _pitches(cells, space)
    if geometry is None or not pitches or noise.widest.is_exact:
        return ()
    moved = smoothing_bias(max(pitches), len(pitches), space.diameter)
    return (
        ComparedMethod(
            "smoothed",
            _expected(noise.widest, pitches, space, geometry),
            True,
            f"{noise.widest.name} noise on smoothed cells; smoothing moves d_em by at most {moved:.3g} besides",
        ),
        ComparedMethod("cells", None, False, JUMPS + (WITH_GRID if can_be_cut(space) else "")),
    )


def _expected(mechanism: AdditiveMechanism, pitches: Sequence[float], space: Space, geometry: Geometry) -> float:
    """Return the expected distance; with noise on edges at most the sum of what they carry, each a pitch far."""
    if isinstance(mechanism, EdgeMechanism):
        steps = [min(pitch / space.diameter, 1.0) for pitch in pitches]
        return min(mechanism.expected_length(steps), 1.0)
    law: Law = "laplace" if isinstance(mechanism, LaplaceMechanism) else "normal"
    model = IndependentErrors(geometry.size, mechanism.standard_deviation**2, law=law)
    return expected_distance(lambda _: model, geometry)


def _values(released: Released) -> Floats:
    return np.array([float(value) for group in released for value in group], dtype=np.float64)
