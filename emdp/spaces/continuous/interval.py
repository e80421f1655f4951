"""``Interval``: numbers between two public bounds, with the absolute difference as distance."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from emdp.base.checks import check_finite, check_range
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.spaces.base import Floats, FunctionBounds, OnInvalid, V, check_on_invalid
from emdp.spaces.box import BoxPart
from emdp.spaces.formulas import Arithmetic
from emdp.spaces.part import check_columns, check_diameter, check_unit
from emdp.spaces.ranges import GridLine, Span, line_of
from emdp.spaces.rounding import UNIT_ROUNDOFF, check_coordinate, difference_up, widened

__all__ = ["Interval"]


@dataclass(frozen=True, init=False, repr=False)
class Interval(BoxPart):
    """Numbers of ``[low, high]`` with the distance ``|x - y|``.

    Parameters
    ----------
    col : str
        The column.
    low, high : float
        The public domain, ``low < high``, both finite; a value outside it is invalid. Under
        ``on_invalid="clamp"`` it moves to the nearer end (so do infinities); NULL and NaN become ``neutral``.
    diameter : float, optional
        Distance that counts as 1; default ``high - low``, rounded outward.
    unit : str, optional
        Natural unit, for display.
    on_invalid : {"error", "clamp", "neutral", "elsewhere"}
        What is done with an invalid value.
    neutral : float, optional
        The neutral item, inside the domain; default the centre.

    Raises
    ------
    UsageError
        If an argument is malformed.

    References
    ----------
    EMD 2, "Expressions": the column and the distance to a point have the constant ``diameter``.

    >>> space = Interval("price", 0, 10, unit="dollars", on_invalid="clamp")
    >>> space.pairwise({"price": [0, 2.5]}, {"price": [5, 99, None]}).tolist()
    [[0.5, 1.0, 0.5], [0.25, 0.75, 0.25]]
    """

    kind: ClassVar[str] = "interval"
    has_grid: ClassVar[bool] = True
    tried_points: ClassVar[tuple[Any, ...]] = ()
    """None: the column has a value of its own."""
    columns: tuple[str, ...]
    low: float
    high: float
    diameter: float
    domain_diameter: float
    unit: str | None
    on_invalid: OnInvalid
    neutral: float

    def __init__(
        self,
        col: str,
        low: float,
        high: float,
        *,
        diameter: float | None = None,
        unit: str | None = None,
        on_invalid: OnInvalid = "error",
        neutral: float | None = None,
    ) -> None:
        low, high = check_coordinate("low", low), check_coordinate("high", high)
        if low >= high:
            raise UsageError(f"low must be below high, got low={low} and high={high}; pass them in order.")
        centre = min(max(low / 2 + high / 2, low), high)
        domain_diameter = difference_up(high, low)
        self._set(
            columns=check_columns("col", [col]),
            low=low,
            high=high,
            diameter=check_diameter(diameter, domain_diameter),
            domain_diameter=domain_diameter,
            unit=check_unit(unit),
            on_invalid=check_on_invalid(on_invalid),
            neutral=centre if neutral is None else check_range("neutral", neutral, low, high),
        )

    @property
    def column(self) -> str:
        """The column."""
        return self.columns[0]

    @property
    def structure(self) -> Literal["line", "discrete", "clusters", "general"]:
        """``"line"``, or ``"general"`` where a declared diameter below the width cuts distances."""
        return "general" if self.is_truncated else "line"

    @property
    def neutral_item(self) -> Floats:
        return np.array([[self.neutral]])

    @property
    def spans(self) -> tuple[Span, ...]:
        return (Span(self.column, self.low, self.high),)

    def distance_formula(self, arithmetic: Arithmetic[V], left: Sequence[V], right: Sequence[V]) -> V:
        return arithmetic.absolute(arithmetic.subtract(left[0], right[0]))

    def grid_refusal(self) -> str | None:
        return None

    def grid_lines(self, step: float) -> tuple[GridLine, ...]:
        """Return nodes from the low edge to the first one at or beyond the high edge."""
        return (line_of(self.spans[0], step),)

    def natural_distances(self, left: Floats, right: Floats) -> Floats:
        matrix = np.subtract.outer(left[:, 0], right[:, 0])
        return np.abs(matrix, out=matrix)

    def line(self, items: Floats) -> Floats:
        """Return ``(x - low)/diameter``, whose absolute differences are ``d_X`` if nothing is cut."""
        if self.is_truncated:
            return super().line(items)
        return (items[:, 0] - self.low) / self.diameter

    def column_bounds(self, column: str) -> FunctionBounds:
        """Return what is known of the column's value: constant ``diameter``, range the domain."""
        self._place(column)
        return FunctionBounds(self.diameter, self.low, self.high, 0.0)

    def distance_bounds(self, point: Floats) -> FunctionBounds:
        """Return what is known of ``|x - point|``; one subtraction, so one rounding."""
        at = check_finite("point", float(point[0, 0]))
        near = max(self.low - at, at - self.high, 0.0)
        far = max(abs(self.low - at), abs(self.high - at))
        error = UNIT_ROUNDOFF * far * (1 + 4 * UNIT_ROUNDOFF)
        low, high = widened(near, far, error)
        return FunctionBounds(self.diameter, max(low, 0.0), high, error)

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "col": self.column,
            "low": self.low,
            "high": self.high,
            "diameter": self.diameter,
            "unit": self.unit,
            "on_invalid": self.on_invalid,
            "neutral": self.neutral,
        }
