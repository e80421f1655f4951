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

from emdp.estimators.frequency.measure_cells import MeasureCells, chosen_parts
from emdp.expressions.cells.aggregation import LabelAxis
from emdp.questions.comparison import ComparedMethod
from emdp.spaces import Space

__all__ = ["SHARES", "chosen_structure", "expectation", "expected", "plane_and_line", "structure_note", "structures"]

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
    if plane_and_line(grid, space) is None:
        return ()
    remarks = {
        "given zone": "places at 0.6 alpha joined with a measure of all parts at 0.4 alpha",
        "independent": "places at 0.8 alpha joined with the rest at 0.2 alpha, as if independent",
    }
    found = []
    for name, remark in remarks.items():
        towns, scattered = expected(name, grid)
        found.append(ComparedMethod(name, towns, False, f"{remark}; at scattered places {scattered:.3g}"))
    return tuple(found)


def chosen_structure(grid: MeasureCells) -> str:
    """Return the structure that is nearest at towns, as ways of noise are chosen."""
    return min(FACTORS, key=lambda name: expected(name, grid))


def structure_note(grid: MeasureCells, space: Space, released: str) -> tuple[str, ...]:
    """Return how near each structure is expected, which is released, and how the nearest is asked for."""
    if plane_and_line(grid, space) is None:
        return ()
    told = ", ".join(
        f"{name} {towns / grid.scale:.2g}{grid.unit} (scattered {scattered / grid.scale:.2g})"
        for name, (towns, scattered) in ((name, expected(name, grid)) for name in FACTORS)
    )
    best = chosen_structure(grid)
    end = "which is the nearest" if best == released else f"and {best} is the nearest (structure='auto')"
    lost = "" if best == released == "joint" else "; what a join loses in this table is not public"
    return (f"structures, simulated at public towns: {told}; this one is {released}, {end}{lost}",)


def expectation(name: str, grid: MeasureCells) -> str:
    """Return the expected distances of a structure to the truth, in words."""
    towns, scattered = (own / grid.scale for own in expected(name, grid))
    return (
        f"{name}, expected {towns:.2g}{grid.unit} from the truth in earth-mover distance, of scattered places "
        f"{scattered:.2g}{grid.unit}, besides what the join loses in this table"
    )


def expected(name: str, grid: MeasureCells) -> tuple[float, float]:
    """Return the distance to the truth that is expected of a structure at towns and at scattered places, in ``d_X``."""
    lengths = np.log(LENGTHS[::-1])
    towns, scattered = (float(np.interp(math.log(grid.length), lengths, own[::-1])) for own in FACTORS[name])
    return towns * grid.typical, scattered * grid.typical


def plane_and_line(grid: MeasureCells, space: Space) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return the columns of the plane and of the one more axis that a measure is of; None where it is of others."""
    axes: Sequence[object] = grid.cells.axes
    if grid.pairs or len(axes) != 3 or any(isinstance(axis, LabelAxis) for axis in axes):
        return None
    parts = sorted(chosen_parts(space, grid.cells.columns), key=lambda part: -len(part.columns))
    if [len(part.columns) for part in parts] != [2, 1]:
        return None
    plane, line = (tuple(part.columns) for part in parts)
    return plane, line
