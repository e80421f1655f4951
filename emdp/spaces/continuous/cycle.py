"""``Cycle``: numbers on a circle, such as the hour of the day or an angle."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from emdp.base.checks import check_positive, check_range
from emdp.base.errors import UsageError
from emdp.spaces.base import Floats, FunctionBounds, Mask, OnInvalid, check_on_invalid
from emdp.spaces.part import Part, check_columns, check_diameter, check_unit, numeric_items
from emdp.spaces.rounding import UNIT_ROUNDOFF, check_coordinate

__all__ = ["Cycle"]


@dataclass(frozen=True, init=False, repr=False)
class Cycle(Part):
    """Numbers of ``[0, period)`` with the distance ``min(|x - y|, period - |x - y|)``.

    Parameters
    ----------
    col : str
        The column.
    period : float
        Where the numbers begin again, positive: 24 for an hour of the day. A value outside ``[0, period)`` is
        invalid. Under ``on_invalid="clamp"`` a finite one is reduced modulo the period (24.5 becomes 0.5);
        NULL, NaN and infinities, which have no remainder, become ``neutral``.
    diameter : float, optional
        Distance that counts as 1; default half the period.
    unit : str, optional
        Natural unit, for display.
    on_invalid : {"error", "clamp", "neutral"}
        What is done with an invalid value.
    neutral : float, optional
        The neutral item, inside the domain; default half the period.

    Raises
    ------
    UsageError
        If an argument is malformed.

    >>> space = Cycle("hour", 24, unit="hours", on_invalid="clamp")
    >>> space.pairwise({"hour": [23]}, {"hour": [1, 11, 24.5]}).tolist()
    [[0.16666666666666666, 1.0, 0.125]]
    """

    kind: ClassVar[str] = "cycle"
    columns: tuple[str, ...]
    period: float
    diameter: float
    domain_diameter: float
    unit: str | None
    on_invalid: OnInvalid
    neutral: float

    def __init__(
        self,
        col: str,
        period: float,
        *,
        diameter: float | None = None,
        unit: str | None = None,
        on_invalid: OnInvalid = "error",
        neutral: float | None = None,
    ) -> None:
        period = check_coordinate("period", check_positive("period", period))
        last = math.nextafter(period, 0)
        self._set(
            columns=check_columns("col", [col]),
            period=period,
            diameter=check_diameter(diameter, period / 2),
            domain_diameter=period / 2,
            unit=check_unit(unit),
            on_invalid=check_on_invalid(on_invalid),
            neutral=period / 2 if neutral is None else check_range("neutral", neutral, 0, last),
        )

    @property
    def column(self) -> str:
        """The column."""
        return self.columns[0]

    @property
    def neutral_item(self) -> Floats:
        """The encoded neutral item, of shape (1, 1)."""
        return np.array([[self.neutral]])

    def _read(self, frame: object) -> Floats:
        return numeric_items(frame, self.columns)

    def _inside(self, items: Floats) -> Mask:
        values = items[:, 0]
        return (values >= 0) & (values < self.period)

    def _clamped(self, items: Floats) -> Floats:
        finite = np.where(np.isfinite(items), items, np.nan)
        reduced = np.mod(finite, self.period)
        # The remainder of a tiny negative number rounds up to the period itself.
        return np.where(reduced >= self.period, 0.0, reduced)

    def encode_point(self, point: Any) -> Floats:
        """Return a number, reduced modulo the period, as an encoded point, shape (1, 1)."""
        return self._clamped(np.array([[check_coordinate("point", point)]]))

    def decode(self, items: Floats) -> dict[str, list[Any]]:
        """Return encoded items as numbers under the column's name."""
        return {self.column: items[:, 0].tolist()}

    def natural_distances(self, left: Floats, right: Floats) -> Floats:
        """Return the matrix of ``min(|x - y|, period - |x - y|)``."""
        matrix = np.abs(np.subtract.outer(left[:, 0], right[:, 0]))
        return np.minimum(matrix, self.period - matrix)

    def column_bounds(self, column: str) -> FunctionBounds:
        """Return what is known of the column's value: infinite constant: it jumps where the cycle closes."""
        self._check_column(column)
        return FunctionBounds(math.inf, 0.0, self.period, 0.0)

    def column_values(self, items: Floats, column: str) -> Floats:
        """Return the value of each encoded item."""
        self._check_column(column)
        return items[:, 0]

    def distance_bounds(self, point: Floats) -> FunctionBounds:
        """Return what is known of the distance to a point; two subtractions of numbers up to the period."""
        del point
        return FunctionBounds(self.diameter, 0.0, self.period / 2, 2 * UNIT_ROUNDOFF * self.period)

    def to_json(self) -> dict[str, Any]:
        """Return the arguments that rebuild the space."""
        return {
            "kind": self.kind,
            "col": self.column,
            "period": self.period,
            "diameter": self.diameter,
            "unit": self.unit,
            "on_invalid": self.on_invalid,
            "neutral": self.neutral,
        }

    def _check_column(self, column: str) -> None:
        if column != self.column:
            raise UsageError(f"the space has no column {column!r}, only {self.column!r}; name that one.")
