"""Functions of angles, arctangent and hyperbolic tangent: smooth functions of bounded slope on every range (EMD 2).

The rule and its proof are those of :class:`emdp.expressions.functions.smooth.Smooth`.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from emdp.base.classes import dataclass
from emdp.expressions.functions.record import ScalarFunction
from emdp.expressions.functions.smooth import Smooth, zero_kept
from emdp.expressions.nodes.base import Expression, lift
from emdp.expressions.numbers.outward import add_down, call_down, call_up, div_up, mul_down
from emdp.spaces.base import Floats, Space

__all__ = ["atan", "cos", "sin", "tanh"]

FAR_ANGLE = 1e8
"""Angles (radians) beyond this are not reduced to locate extrema: sin and cos get their trivial bounds."""

ANGLE_SLACK = 1e-7
"""Widening (radians) of an interval when looking for extrema: above the error of k pi below FAR_ANGLE."""


QUARTER_TURN = math.nextafter(math.pi / 2, math.inf)
"""``pi/2`` in radians, rounded up: ``math.pi`` is below ``pi``, and halving is exact."""


@dataclass(frozen=True, eq=False, repr=False)
class Tanh(Smooth):
    """Hyperbolic tangent: slope ``1/cosh(t)^2`` at the ``t`` of the range nearest to 0."""

    def _image(self, low: float, high: float) -> tuple[float, float]:
        ends = zero_kept(call_down, math.tanh, low), zero_kept(call_up, math.tanh, high)
        return max(-1.0, ends[0]), min(1.0, ends[1])

    def _slope(self, low: float, high: float) -> float:
        nearest = max(0.0, low, -high)
        # 1/cosh(t)^2 = 4 z/(1 + z)^2 with z = e^(-2t), which rises with z on [0, 1]
        z = min(1.0, call_up(math.exp, -2 * nearest))
        return min(1.0, div_up(4 * z, (1 + z) * (1 + z) * (1 - 1e-15)))

    def values_on(self, space: Space, items: Floats, operands: tuple[Floats, ...]) -> Floats:
        return np.tanh(operands[0])


@dataclass(frozen=True, eq=False, repr=False)
class Sin(Smooth):
    """Sine of an angle in radians: slope ``max |cos|`` on the range."""

    def _image(self, low: float, high: float) -> tuple[float, float]:
        return _wave_image(math.sin, math.pi / 2, low, high)

    def _slope(self, low: float, high: float) -> float:
        low, high = _wave_image(math.cos, 0.0, low, high)
        return max(abs(low), abs(high))

    def values_on(self, space: Space, items: Floats, operands: tuple[Floats, ...]) -> Floats:
        return np.sin(operands[0])


@dataclass(frozen=True, eq=False, repr=False)
class Cos(Smooth):
    """Cosine of an angle in radians: slope ``max |sin|`` on the range."""

    def _image(self, low: float, high: float) -> tuple[float, float]:
        return _wave_image(math.cos, 0.0, low, high)

    def _slope(self, low: float, high: float) -> float:
        low, high = _wave_image(math.sin, math.pi / 2, low, high)
        return max(abs(low), abs(high))

    def values_on(self, space: Space, items: Floats, operands: tuple[Floats, ...]) -> Floats:
        return np.cos(operands[0])


@dataclass(frozen=True, eq=False, repr=False)
class Atan(Smooth):
    """Arctangent, in ``(-pi/2, pi/2)``: slope ``1/(1 + t^2)`` at the ``t`` of the range nearest to 0, so at most 1."""

    def _image(self, low: float, high: float) -> tuple[float, float]:
        ends = zero_kept(call_down, math.atan, low), zero_kept(call_up, math.atan, high)
        return max(-QUARTER_TURN, ends[0]), min(QUARTER_TURN, ends[1])

    def _slope(self, low: float, high: float) -> float:
        nearest = max(0.0, low, -high)
        return min(1.0, div_up(1.0, add_down(1.0, mul_down(nearest, nearest))))

    def values_on(self, space: Space, items: Floats, operands: tuple[Floats, ...]) -> Floats:
        return np.arctan(operands[0])


def _wave_image(wave: Callable[[float], float], crest: float, low: float, high: float) -> tuple[float, float]:
    # bounds of sin or cos on an interval: its ends, and 1 or -1 where a crest or a trough lies inside
    if max(abs(low), abs(high)) > FAR_ANGLE or high - low >= 2 * math.pi:
        return -1.0, 1.0
    lowest = min(zero_kept(call_down, wave, end) for end in (low, high))
    highest = max(zero_kept(call_up, wave, end) for end in (low, high))
    if _has_multiple(low, high, crest + math.pi):
        lowest = -1.0
    if _has_multiple(low, high, crest):
        highest = 1.0
    return max(-1.0, lowest), min(1.0, highest)


def _has_multiple(low: float, high: float, centre: float) -> bool:
    # whether centre + 2 pi k lies in the widened interval for a whole k; widening only loosens the bounds
    turns = math.ceil((low - ANGLE_SLACK - centre) / (2 * math.pi))
    return centre + turns * 2 * math.pi <= high + ANGLE_SLACK


def sin(expression: Any) -> Expression:
    """Return the sine of an expression in radians.

    >>> from emdp.expressions import col
    >>> sin(col("angle"))
    sin(angle)
    """
    return Sin(lift(expression))


def cos(expression: Any) -> Expression:
    """Return the cosine of an expression in radians.

    >>> from emdp.expressions import col
    >>> cos(col("angle"))
    cos(angle)
    """
    return Cos(lift(expression))


def tanh(expression: Any) -> Expression:
    """Return the hyperbolic tangent of an expression.

    >>> from emdp.expressions import col
    >>> tanh(col("x"))
    tanh(x)
    """
    return Tanh(lift(expression))


def atan(expression: Any) -> Expression:
    """Return the arctangent of an expression, in radians: between -pi/2 and pi/2.

    >>> from emdp.expressions import col
    >>> from emdp.spaces import Interval
    >>> atan(col("x")), atan(col("x")).on(Interval("x", 0, 1)).lipschitz
    (atan(x), 1.0)
    """
    return Atan(lift(expression))


RECORDS = (
    ScalarFunction(Sin, sin, ("SIN",), duckdb="SIN"),
    ScalarFunction(Cos, cos, ("COS",), duckdb="COS"),
    ScalarFunction(Tanh, tanh, ("TANH",), duckdb="TANH"),
    ScalarFunction(Atan, atan, ("ATAN",), duckdb="ATAN"),
)
"""The functions of this file in all languages."""
