"""A scalar function in one file: the inverse hyperbolic sine, slope ``1/sqrt(1 + t^2)`` at the ``t`` nearest to 0."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from emdp.expressions.functions.record import ScalarFunction
from emdp.expressions.functions.smooth import Smooth
from emdp.expressions.nodes.base import Expression, lift
from emdp.expressions.numbers.outward import add_down, call_down, call_up, div_up, mul_down, sqrt_down
from emdp.spaces.base import Floats, Space

__all__ = ["RECORD", "asinh"]


@dataclass(frozen=True, eq=False, repr=False)
class Asinh(Smooth):
    """Inverse hyperbolic sine; Java's has more rounding errors than C's near 0."""

    ulps: ClassVar[float] = 1000.0

    def _image(self, low: float, high: float) -> tuple[float, float]:
        return call_down(math.asinh, low), call_up(math.asinh, high)

    def _slope(self, low: float, high: float) -> float:
        nearest = max(0.0, low, -high)
        return min(1.0, div_up(1.0, sqrt_down(add_down(1.0, mul_down(nearest, nearest)))))

    def values_on(self, space: Space, items: Floats, operands: tuple[Floats, ...]) -> Floats:
        return np.arcsinh(operands[0])


def asinh(expression: Any) -> Expression:
    """Return the inverse hyperbolic sine of an expression."""
    return Asinh(lift(expression))


RECORD = ScalarFunction(Asinh, asinh, ("ASINH",), duckdb="ASINH")
