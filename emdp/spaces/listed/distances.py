"""``Distances``: listed values with a given matrix of distances, checked to be a metric."""

import hashlib
from collections.abc import Sequence
from dataclasses import field
from typing import Any, ClassVar

import numpy as np

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.spaces.base import Floats, FunctionBounds, OnInvalid, check_on_invalid
from emdp.spaces.listed.finite import FinitePart, Label, check_labels
from emdp.spaces.part import check_columns, check_diameter, check_unit
from emdp.spaces.rounding import LARGEST_COORDINATE, UNIT_ROUNDOFF, product_up
from emdp.spaces.values import number_matrix

__all__ = ["LARGEST_MATRIX", "TRIANGLE_TOLERANCE", "Distances"]

TRIANGLE_TOLERANCE = 1e-12
"""Relative excess of a distance over a detour, and of a distance over its mirror image, taken for rounding.

No guarantee rests on it: the constants of :class:`Distances` are computed from the stored matrix itself, and
a cost within this factor of a metric changes an earth-mover distance by no more than the factor.
"""

LARGEST_MATRIX = 2000
"""Most listed values: checking the triangle inequality takes time cubic in their number (6 s of processor there)."""

BLOCK = 64
"""Rows of the matrix whose detours are taken together."""


@dataclass(frozen=True, init=False, repr=False)
class Distances(FinitePart):
    """Listed values with a given matrix of distances.

    Parameters
    ----------
    col : str
        The column.
    values : sequence of str, int or bool
        The public list of at most ``LARGEST_MATRIX`` values, distinct and of one type; NULL and whatever is
        not listed is invalid.
    matrix : array of float, shape (values, values)
        Natural distances: finite, symmetric, 0 on the diagonal and positive off it, every one at most any
        detour (up to ``TRIANGLE_TOLERANCE``; of two mirror images the larger is kept).
    diameter : float, optional
        Distance that counts as 1; default the largest entry.
    unit : str, optional
        Natural unit, for display.
    on_invalid : {"error", "neutral", "elsewhere"}
        What is done with an invalid value.
    neutral : value, optional
        The neutral item, a listed value; default the first.

    Raises
    ------
    UsageError
        If an argument is malformed or the matrix is no metric; the message names the values concerned.

    >>> space = Distances("stop", ["A", "B", "C"], [[0, 1, 4], [1, 0, 3], [4, 3, 0]], unit="minutes")
    >>> space.pairwise({"stop": ["A"]}, {"stop": ["A", "B", "C"]}).tolist()
    [[0.0, 0.25, 1.0]]
    """

    kind: ClassVar[str] = "distances"
    columns: tuple[str, ...]
    values: tuple[Any, ...]
    matrix: Floats = field(compare=False)
    digest: str
    diameter: float
    domain_diameter: float
    unit: str | None
    on_invalid: OnInvalid
    neutral: Label

    def __init__(
        self,
        col: str,
        values: Sequence[Label],
        matrix: Any,
        *,
        diameter: float | None = None,
        unit: str | None = None,
        on_invalid: OnInvalid = "error",
        neutral: Label | None = None,
    ) -> None:
        labels = check_labels("values", values)
        checked = _check_metric(labels, matrix)
        largest = float(checked.max())
        self._set(
            columns=check_columns("col", [col]),
            values=labels,
            matrix=checked,
            digest=hashlib.sha256(checked.astype("<f8").tobytes()).hexdigest(),
            diameter=check_diameter(diameter, largest),
            domain_diameter=largest,
            unit=check_unit(unit),
            on_invalid=check_on_invalid(on_invalid, allowed=("error", "neutral", "elsewhere")),
        )
        self._set(neutral=self.values[0 if neutral is None else self.code_of(neutral)])

    @property
    def neutral_code(self) -> int:
        return self.code_of(self.neutral)

    def natural_distances(self, left: Floats, right: Floats) -> Floats:
        return np.asarray(self.matrix[np.ix_(self.codes(left), self.codes(right))], dtype=np.float64)

    def distance_bounds(self, point: Floats) -> FunctionBounds:
        """Return what is known of the distance to a listed value.

        The constant is the largest ratio of a difference to a distance, from the matrix: ``diameter`` but for
        triangle inequalities that fail by rounding.
        """
        row = self.matrix[self.codes(point)[0]]
        apart = self.matrix + np.eye(len(row))
        largest = float((np.abs(np.subtract.outer(row, row)) / apart).max())
        excess = largest * (1 + 8 * UNIT_ROUNDOFF) if largest > 1 else 1.0
        return FunctionBounds(product_up(self.diameter, excess), 0.0, float(row.max()), 0.0)

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "col": self.column,
            "values": list(self.values),
            "matrix": self.matrix.tolist(),
            "diameter": self.diameter,
            "unit": self.unit,
            "on_invalid": self.on_invalid,
            "neutral": self.neutral,
        }


def _check_metric(labels: tuple[Any, ...], matrix: object) -> Floats:
    """Return a matrix as a read-only array, or raise naming the values where it is no metric."""
    count = len(labels)
    if count > LARGEST_MATRIX:
        raise UsageError(f"values lists {count} values, above {LARGEST_MATRIX}; use an Embedding or Clusters.")
    given = number_matrix("matrix", matrix)
    if given.shape != (count, count):
        raise UsageError(f"matrix must have shape ({count}, {count}) like values, got {given.shape}; pass such a one.")
    if not (np.abs(given) <= LARGEST_COORDINATE).all():
        raise UsageError("matrix must hold finite numbers; replace what is missing or infinite by a distance.")
    _refuse(labels, np.diag(np.diag(given)) != 0, "is not 0 on the diagonal", "set it to 0")
    _refuse(labels, (given <= 0) & ~np.eye(count, dtype=bool), "is not positive", "merge values at distance 0")
    mirrored = np.maximum(given, given.T)
    _refuse(labels, mirrored - given > TRIANGLE_TOLERANCE * mirrored, "is not symmetric", "make it so")
    wrong = mirrored > _shortest_detours(mirrored) * (1 + TRIANGLE_TOLERANCE)
    if wrong.any():
        row, column = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
        middle = labels[int((mirrored[row] + mirrored[:, column]).argmin())]
        _refuse(labels, wrong, f"is longer than the detour by {middle!r}", "use shortest-path distances")
    mirrored.flags.writeable = False
    return mirrored


def _shortest_detours(matrix: Floats) -> Floats:
    """Return the least ``matrix[x, y] + matrix[y, z]`` over all ``y``, for each pair; in blocks that fit a cache."""
    shortest = np.full_like(matrix, np.inf)
    for start in range(0, len(matrix), BLOCK):
        rows, best = matrix[start : start + BLOCK], shortest[start : start + BLOCK]
        detour = np.empty_like(best)
        for middle in range(len(matrix)):
            np.add.outer(rows[:, middle], matrix[middle], out=detour)
            np.minimum(best, detour, out=best)
    return shortest


def _refuse(labels: tuple[Any, ...], wrong: Any, fault: str, remedy: str) -> None:
    if wrong.any():
        row, column = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
        raise UsageError(
            f"matrix is no metric: its entry from {labels[row]!r} to {labels[column]!r} {fault}; {remedy}."
        )
