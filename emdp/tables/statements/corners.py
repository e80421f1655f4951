"""Coordinates from the rows of a cell statement: sums of base cells handed on to the cells at their corners."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from emdp.expressions.cells.aggregation import Aggregation, HatAxis
from emdp.tables.statements.cells import CellStatement

__all__ = ["coordinates", "corner_cells"]


def coordinates(
    statement: CellStatement, aggregation: Aggregation, rows: Sequence[Sequence[Any]], users: int
) -> list[list[Fraction]]:
    """Return the coordinates of each group of users: value by value, the cells in order."""
    sizes = aggregation.group_sizes(users)
    present = dict.fromkeys(range(len(sizes)), 0)
    sums: list[dict[int, int]] = [{} for _ in sizes]
    present.update((row[0], row[2]) for row in rows if row[2] is not None)
    reached = [row for row in rows if row[1] is not None and row[1] >= 0]
    for row, cells in zip(reached, corner_cells(aggregation, [row[1] for row in reached]), strict=True):
        positions = (value * aggregation.cells + cell for value in range(len(aggregation.values)) for cell in cells)
        own = sums[row[0]]
        for position, total in zip(positions, row[3:], strict=True):
            # No number: none of the cell's records has a user that counts.
            own[position] = own.get(position, 0) + int(total or 0)
    return [
        _group_coordinates(statement, aggregation, own, size, size - present[group])
        for group, (own, size) in enumerate(zip(sums, sizes, strict=True))
    ]


def corner_cells(aggregation: Aggregation, bases: Sequence[int]) -> list[list[int]]:
    """Return the cells at the corners above each base cell: along every hat axis the node itself and the next.

    >>> from emdp.expressions import col
    >>> ring, tents = HatAxis(col("h"), 0, 6, 4, is_periodic=True), HatAxis(col("x"), 0, 1, 3)
    >>> corner_cells(Aggregation((col("x"),), (ring, tents)), [0, 10])
    [[0, 1, 3, 4], [10, 11, 1, 2]]
    """
    if not bases or not aggregation.axes:
        return [[base] for base in bases]
    sizes = np.array([axis.size for axis in aggregation.axes])
    indexes = np.array(np.unravel_index(np.array(bases), tuple(sizes)))
    steps = [(0, 1) if isinstance(axis, HatAxis) and axis.size > 1 else (0,) for axis in aggregation.axes]
    corners = [(indexes + np.array(step)[:, None]) % sizes[:, None] for step in product(*steps)]
    cells: list[list[int]] = np.stack([np.ravel_multi_index(tuple(at), tuple(sizes)) for at in corners], 1).tolist()
    return cells


def _group_coordinates(
    statement: CellStatement, aggregation: Aggregation, sums: dict[int, int], size: int, absent: int
) -> list[Fraction]:
    divisor = size if aggregation.cap is None else 1
    units = [unit / divisor for unit in statement.units]
    found = [Fraction(0)] * aggregation.dimension
    for position, total in sums.items():
        unit = units[position // aggregation.cells]
        found[position] = Fraction(total * unit.numerator, unit.denominator)
    for position, value in statement.absent.items():
        found[position] += value * absent / divisor
    return found
