"""``Cycle``: numbers on a circle, such as the hour of the day or an angle."""

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from emdp.base.checks import check_positive, check_range
from emdp.base.classes import dataclass
from emdp.spaces.base import Floats, FunctionBounds, OnInvalid, V, check_on_invalid
from emdp.spaces.box import BoxPart
from emdp.spaces.formulas import Arithmetic
from emdp.spaces.part import check_columns, check_diameter, check_unit
from emdp.spaces.ranges import GridLine, Span, line_of
from emdp.spaces.rounding import UNIT_ROUNDOFF, check_coordinate

__all__ = ["Cycle"]


@dataclass(frozen=True, init=False, repr=False)
class Cycle(BoxPart):
    """Numbers of ``[0, period)`` with the distance ``min(|x - y|, period - |x - y|)``.

    Parameters
    ----------
    col : str
        The column. Of a column of times it may be ``time(ts, 'America/New_York')``, hours since midnight as clocks of
        an IANA zone show them: whole microseconds divided by 3.6e9, rounded once, below 24. Where clocks go back an
        hour is there twice; where they go forward it is missing. Outside the years 1900 to 2037 the item is invalid.
    period : float
        Where the numbers begin again, positive: 24 for an hour of the day. A value outside ``[0, period)`` is
        invalid. Under ``on_invalid="clamp"`` a finite one is reduced modulo the period (24.5 becomes 0.5);
        NULL, NaN and infinities, which have no remainder, become ``neutral``.
    diameter : float, optional
        Distance that counts as 1; default half the period.
    unit : str, optional
        Natural unit, for display.
    on_invalid : {"error", "clamp", "neutral", "elsewhere"}
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
    has_grid: ClassVar[bool] = True
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
        return np.array([[self.neutral]])

    @property
    def spans(self) -> tuple[Span, ...]:
        return (Span(self.column, 0.0, self.period, goes_round=True),)

    def distance_formula(self, arithmetic: Arithmetic[V], left: Sequence[V], right: Sequence[V]) -> V:
        """Return ``min(|x - y|, period - |x - y|)``."""
        gap = arithmetic.absolute(arithmetic.subtract(left[0], right[0]))
        return arithmetic.least([gap, arithmetic.subtract(arithmetic.number(self.period), gap)])

    def arc_constant(self, column: str) -> float:
        """Return the diameter: the distance is that along the circle."""
        self._place(column)
        return self.diameter

    def grid_refusal(self) -> str | None:
        return None

    def grid_lines(self, step: float) -> tuple[GridLine, ...]:
        """Return as many nodes as make the pitch at most the one asked for, at least 3."""
        return (line_of(self.spans[0], step),)

    def distance_bounds(self, point: Floats) -> FunctionBounds:
        """Return what is known of the distance to a point; two subtractions of numbers up to the period."""
        del point
        return FunctionBounds(self.diameter, 0.0, self.period / 2, 2 * UNIT_ROUNDOFF * self.period)

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "col": self.column,
            "period": self.period,
            "diameter": self.diameter,
            "unit": self.unit,
            "on_invalid": self.on_invalid,
            "neutral": self.neutral,
        }
