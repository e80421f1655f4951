"""Ways to release a measure of places and hours: one measure of both, or two that are joined, compared in public.

One measure of all axes is coarse in space. *Given zone* releases places at 0.6 of alpha and all parts at 0.4, coarser,
and joins them: a place has the hours of its zone. *Independent* releases places at 0.8 and hours at 0.2, and takes them
for independent. Either pair promises the sum of its alphas. The distances are simulated at the two public tables of
:mod:`emdp.estimators.frequency.measure_cells`, in which each town, or place, has hours of its own, by
``benchmarks/measures.py --structures``: noise, fit and what the join loses there. What it loses in the table itself is
not public.
"""

import math
from collections.abc import Sequence

import numpy as np

from emdp.estimators.frequency.measure_cells import MeasureCells
from emdp.expressions.cells.aggregation import LabelAxis
from emdp.questions.comparison import ComparedMethod
from emdp.spaces import Space

__all__ = ["SHARES", "structure_note", "structures"]

SHARES = {"given zone": 0.6, "independent": 0.8}
"""Part of alpha that the measure of places has."""

LENGTHS = (0.1, 0.056, 0.032)
"""Powers of ``V`` over the loss, over the side, that were simulated: the factors below are between them."""

FACTORS = {
    "joint": ((0.75, 0.72, 0.81), (1.09, 1.19, 1.43)),
    "given zone": ((0.72, 0.7, 0.73), (1.39, 1.43, 1.55)),
    "independent": ((0.63, 0.97, 1.66), (1.71, 2.9, 5.1)),
}
"""Of the expected distance at towns and at scattered places, over that power, at these lengths."""


def structures(grid: MeasureCells, space: Space) -> tuple[ComparedMethod, ...]:
    """Return what two measures that are joined are expected to be off by, beside one of a plane and one more axis.

    Parameters
    ----------
    grid : MeasureCells
        Nodes of the one measure, under alpha.
    space : Space
        The item space.

    Returns
    -------
    tuple of ComparedMethod
        None of them is what is released; nothing where the measure is of other axes.
    """
    if not _is_plane_and_line(grid, space):
        return ()
    remarks = {
        "given zone": "places at 0.6 alpha joined with a measure of all parts at 0.4 alpha",
        "independent": "places at 0.8 alpha joined with the rest at 0.2 alpha, as if independent",
    }
    found = []
    for name, remark in remarks.items():
        towns, scattered = _expected(name, grid)
        found.append(ComparedMethod(name, towns, False, f"{remark}; at scattered places {scattered:.3g}"))
    return tuple(found)


def structure_note(grid: MeasureCells, space: Space, level: float) -> tuple[str, ...]:
    """Return which structure is nearest at towns, as ways of noise are chosen, and how it is released."""
    if not _is_plane_and_line(grid, space):
        return ()
    found = {name: _expected(name, grid) for name in FACTORS}
    best = min(found, key=lambda name: found[name])
    told = ", ".join(
        f"{name} {towns / grid.scale:.2g}{grid.unit} (scattered {scattered / grid.scale:.2g})"
        for name, (towns, scattered) in found.items()
    )
    if best == "joint":
        return (f"structures, simulated at public towns: {told}; this one is the nearest",)
    places = next(part for part in space.parts if len(part.columns) == 2).columns
    share = SHARES[best]
    rest = [name for part in space.parts for name in part.columns if name not in places]
    other = "" if best == "given zone" else f", columns={rest!r}"
    return (
        f"structures, simulated at public towns: {told}; {best} is the nearest: "
        f"measure(alpha={share * level:.4g}, columns={list(places)!r}).joined(measure(alpha="
        f"{(1 - share) * level:.4g}{other}, name='rest')); what a join loses in this table is not public",
    )


def _expected(name: str, grid: MeasureCells) -> tuple[float, float]:
    lengths = np.log(LENGTHS[::-1])
    towns, scattered = (float(np.interp(math.log(grid.length), lengths, own[::-1])) for own in FACTORS[name])
    return towns * grid.typical, scattered * grid.typical


def _is_plane_and_line(grid: MeasureCells, space: Space) -> bool:
    """Say whether the nodes are of a whole space of a plane and one more axis, with all records somewhere."""
    axes: Sequence[object] = grid.cells.axes
    sizes = sorted(len(part.columns) for part in space.parts)
    whole = tuple(grid.cells.columns) == tuple(space.columns) and not grid.pairs and space.elsewhere is None
    return whole and sizes == [1, 2] and len(axes) == 3 and not any(isinstance(axis, LabelAxis) for axis in axes)
