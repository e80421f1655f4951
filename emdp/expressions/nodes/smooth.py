"""Smooth scalar functions: the operand's constant times the largest |derivative| on its range (EMD 2).

One proof serves all: by the mean value theorem ``|h(f) - h(f')| <= sup |h'| |f - f'|``, the supremum over
the range of ``f``. The computed operand may leave that range by its rounding error, so the error is
propagated with the supremum over the range widened by it. A function whose slope has no bound there is
refused.
"""

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from emdp.base.checks import check_finite
from emdp.base.errors import NotLipschitzError
from emdp.expressions.nodes.base import Expression
from emdp.expressions.numbers.bounds import Analysis, Domain, scale_parts
from emdp.expressions.numbers.outward import (
    LIBM_ULPS,
    call_down,
    call_up,
    div_up,
    mul_up,
    rounding_of,
    sqrt_down,
    sqrt_up,
)
from emdp.spaces.base import Floats, Space

__all__ = ["Cos", "Exp", "Log", "Power", "Sin", "Smooth", "Sqrt", "Tanh"]

FAR_ANGLE = 1e8
"""Angles (radians) beyond this are not reduced to locate extrema: sin and cos get their trivial bounds."""

ANGLE_SLACK = 1e-7
"""Widening (radians) of an interval when looking for extrema: above the error of k pi below FAR_ANGLE."""


@dataclass(frozen=True, eq=False, repr=False)
class Smooth(Expression):
    """Base of the smooth functions of one operand; the module's text holds the rule and its proof."""

    operand: Expression
    ulps: ClassVar[float] = LIBM_ULPS

    @property
    def operands(self) -> tuple[Expression, ...]:
        return (self.operand,)

    def bounds_on(self, domain: Domain, operands: tuple[Analysis, ...]) -> Analysis:
        (inner,) = operands
        self._check_reach(inner)
        low, high = self._image(inner.low, inner.high)
        parts = scale_parts(inner.parts, self._slope(inner.low, inner.high))
        propagated = mul_up(self._slope(inner.computed_low, inner.computed_high), inner.rounding)
        return Analysis(parts, low, high, rounding_of(max(abs(low), abs(high)), propagated, ulps=self.ulps))

    def _check_reach(self, inner: Analysis) -> None:
        """Raise ``NotLipschitzError`` where the slope has no bound on the operand's (computed) range."""

    @abstractmethod
    def _image(self, low: float, high: float) -> tuple[float, float]:
        """Return bounds of the function on an interval."""

    @abstractmethod
    def _slope(self, low: float, high: float) -> float:
        """Return an upper bound of |derivative| on an interval."""

    def _refusal(self, inner: Analysis, point: str, remedy: str) -> NotLipschitzError:
        return NotLipschitzError(
            f"has no bounded slope, since the range [{inner.low:.6g}, {inner.high:.6g}] of `{self.operand}` {point}",
            expression=str(self),
            offending=str(self),
            remedy=remedy,
        )

    def _check_above_zero(self, inner: Analysis) -> None:
        if inner.computed_low <= 0:
            kept = f"maximum({self.operand}, c)"
            raise self._refusal(inner, "reaches 0", f"keep it above 0, as in `{kept}` with a constant c > 0")


@dataclass(frozen=True, eq=False, repr=False)
class Exp(Smooth):
    """``e^f``: slope ``e^max f``."""

    def _image(self, low: float, high: float) -> tuple[float, float]:
        return max(0.0, call_down(math.exp, low)), call_up(math.exp, high)

    def _slope(self, low: float, high: float) -> float:
        return call_up(math.exp, high)

    def values_on(self, space: Space, items: Floats, operands: tuple[Floats, ...]) -> Floats:
        return np.exp(operands[0])


@dataclass(frozen=True, eq=False, repr=False)
class Log(Smooth):
    """Natural logarithm: slope ``1/min f``; refused where the range reaches 0."""

    def _check_reach(self, inner: Analysis) -> None:
        self._check_above_zero(inner)

    def _image(self, low: float, high: float) -> tuple[float, float]:
        return _zero_kept(call_down, math.log, low), _zero_kept(call_up, math.log, high)

    def _slope(self, low: float, high: float) -> float:
        return div_up(1.0, low)

    def values_on(self, space: Space, items: Floats, operands: tuple[Floats, ...]) -> Floats:
        return np.log(operands[0])


@dataclass(frozen=True, eq=False, repr=False)
class Sqrt(Smooth):
    """Square root: slope ``1/(2 sqrt(min f))``; refused where the range reaches 0."""

    ulps: ClassVar[float] = 0.5

    def _check_reach(self, inner: Analysis) -> None:
        self._check_above_zero(inner)

    def _image(self, low: float, high: float) -> tuple[float, float]:
        return sqrt_down(low), sqrt_up(high)

    def _slope(self, low: float, high: float) -> float:
        return div_up(0.5, sqrt_down(low))

    def values_on(self, space: Space, items: Floats, operands: tuple[Floats, ...]) -> Floats:
        return np.sqrt(operands[0])


@dataclass(frozen=True, eq=False, repr=False)
class Power(Smooth):
    """``f ** p`` for a constant ``p``: slope ``|p| |f|^(p-1)``, largest at an end of the range.

    A whole ``p >= 0`` takes any ``f``, another ``p > 1`` needs ``f >= 0`` (an operand computed below 0
    through rounding counts as 0, which only brings it nearer to the exact one), and the rest need ``f`` away
    from 0.
    """

    exponent: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "exponent", check_finite("exponent", self.exponent))
        super().__post_init__()

    def _check_reach(self, inner: Analysis) -> None:
        if self.exponent.is_integer():
            if self.exponent < 0 and inner.computed_low <= 0 <= inner.computed_high:
                kept = f"maximum({self.operand}, c)"
                raise self._refusal(inner, "reaches 0", f"keep it away from 0, as in `{kept}` with a constant c > 0")
        elif self.exponent < 1:
            self._check_above_zero(inner)
        elif inner.low < 0:
            kept = f"maximum({self.operand}, 0)"
            raise self._refusal(inner, "goes below 0", f"keep it at or above 0, as in `{kept}`")

    def _image(self, low: float, high: float) -> tuple[float, float]:
        ends = [self._bracket(end, self.exponent) for end in (low, high)]
        lowest, highest = min(end[0] for end in ends), max(end[1] for end in ends)
        is_even = self.exponent.is_integer() and self.exponent % 2 == 0
        if self.exponent > 0 and is_even and low <= 0 <= high:
            lowest = 0.0
        return lowest, highest

    def _slope(self, low: float, high: float) -> float:
        if self.exponent == 0:
            return 0.0
        low = low if self.exponent.is_integer() else max(low, 0.0)
        ends = [self._bracket(abs(end), self.exponent - 1)[1] for end in (low, high)]
        return mul_up(abs(self.exponent), max(ends))

    def values_on(self, space: Space, items: Floats, operands: tuple[Floats, ...]) -> Floats:
        (values,) = operands
        return np.power(values if self.exponent.is_integer() else np.maximum(values, 0.0), self.exponent)

    @staticmethod
    def _bracket(base: float, exponent: float) -> tuple[float, float]:
        if exponent == 0 or base in {0.0, 1.0} or exponent == 1:
            exact = 1.0 if exponent == 0 else base
            return exact, exact
        low = call_down(lambda value: math.pow(value, exponent), base)
        return max(low, 0.0) if base > 0 else low, call_up(lambda value: math.pow(value, exponent), base)


@dataclass(frozen=True, eq=False, repr=False)
class Tanh(Smooth):
    """Hyperbolic tangent: slope ``1/cosh(t)^2`` at the ``t`` of the range nearest to 0."""

    def _image(self, low: float, high: float) -> tuple[float, float]:
        ends = _zero_kept(call_down, math.tanh, low), _zero_kept(call_up, math.tanh, high)
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


def _wave_image(wave: Callable[[float], float], crest: float, low: float, high: float) -> tuple[float, float]:
    # bounds of sin or cos on an interval: its ends, and 1 or -1 where a crest or a trough lies inside
    if max(abs(low), abs(high)) > FAR_ANGLE or high - low >= 2 * math.pi:
        return -1.0, 1.0
    lowest = min(_zero_kept(call_down, wave, end) for end in (low, high))
    highest = max(_zero_kept(call_up, wave, end) for end in (low, high))
    if _has_multiple(low, high, crest + math.pi):
        lowest = -1.0
    if _has_multiple(low, high, crest):
        highest = 1.0
    return max(-1.0, lowest), min(1.0, highest)


def _has_multiple(low: float, high: float, centre: float) -> bool:
    # whether centre + 2 pi k lies in the widened interval for a whole k; widening only loosens the bounds
    turns = math.ceil((low - ANGLE_SLACK - centre) / (2 * math.pi))
    return centre + turns * 2 * math.pi <= high + ANGLE_SLACK


def _zero_kept(
    call: Callable[[Callable[[float], float], float], float], function: Callable[[float], float], value: float
) -> float:
    # sin, tanh and log are 0 in doubles only where they are 0
    return 0.0 if function(value) == 0 else call(function, value)
