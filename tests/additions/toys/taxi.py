"""A toy space that emdp does not have: places in a box of streets, at the distance that a taxi drives."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from emdp.spaces.base import Floats, FunctionBounds, OnInvalid, V, check_on_invalid
from emdp.spaces.box import BoxPart
from emdp.spaces.formulas import Arithmetic
from emdp.spaces.part import check_columns, check_diameter
from emdp.spaces.ranges import Span
from emdp.spaces.rounding import UNIT_ROUNDOFF, widened

KEYS = "east north side", "diameter on_invalid"
"""Required and further keys in the table of kinds."""


@dataclass(frozen=True, init=False, repr=False)
class Taxi(BoxPart):
    """Places of ``[0, side]^2`` with ``|x - x'| + |y - y'|``: a metric, as a sum of two."""

    kind: ClassVar[str] = "taxi"
    columns: tuple[str, ...]
    side: float
    diameter: float
    domain_diameter: float
    unit: str | None
    on_invalid: OnInvalid

    def __init__(
        self, east: str, north: str, side: float, *, diameter: float | None = None, on_invalid: OnInvalid = "error"
    ) -> None:
        self._set(
            columns=check_columns("east and north", [east, north]),
            side=float(side),
            domain_diameter=2.0 * side,
            diameter=check_diameter(diameter, 2.0 * side),
            unit="blocks",
            on_invalid=check_on_invalid(on_invalid),
        )

    @property
    def spans(self) -> tuple[Span, ...]:
        return tuple(Span(column, 0.0, self.side) for column in self.columns)

    @property
    def neutral_item(self) -> Floats:
        return np.array([[self.side / 2, self.side / 2]])

    def distance_formula(self, arithmetic: Arithmetic[V], left: Sequence[V], right: Sequence[V]) -> V:
        gaps = [arithmetic.absolute(arithmetic.subtract(x, y)) for x, y in zip(left, right, strict=True)]
        return arithmetic.total(gaps)

    def distance_bounds(self, point: Floats) -> FunctionBounds:
        # Two differences and one sum, each within u of what it rounds; twice that for terms of second order.
        near = float(np.maximum(np.maximum(-point, point - self.side), 0.0).sum())
        far = float(np.maximum(np.abs(point), np.abs(self.side - point)).sum())
        error = 8 * UNIT_ROUNDOFF * far
        low, high = widened(near, far, error)
        return FunctionBounds(self.diameter, max(low, 0.0), high, error)

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "east": self.columns[0],
            "north": self.columns[1],
            "side": self.side,
            "diameter": self.diameter,
            "on_invalid": self.on_invalid,
        }
