"""Smooth scalar functions: the operand's constant times the largest |derivative| on its range (EMD 2).

One proof serves all: by the mean value theorem ``|h(f) - h(f')| <= sup |h'| |f - f'|``, the supremum over
the range of ``f``. The computed operand may leave that range by its rounding error, so the error is
propagated with the supremum over the range widened by it. A function whose slope has no bound there is
refused.
"""

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from emdp.base.checks import check_finite
from emdp.base.classes import dataclass
from emdp.base.errors import NotLipschitzError
from emdp.expressions.functions.record import ConstantArgument, ScalarFunction
from emdp.expressions.nodes.base import Expression, lift
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

__all__ = ["exp", "log", "power", "sqrt"]


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
    """Exponential ``e^f``: slope ``e^max f``."""

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
        return zero_kept(call_down, math.log, low), zero_kept(call_up, math.log, high)

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


def zero_kept(
    call: Callable[[Callable[[float], float], float], float], function: Callable[[float], float], value: float
) -> float:
    """Return a bound of a function that is 0 in doubles only where it is 0, and there is exact."""
    return 0.0 if function(value) == 0 else call(function, value)


def exp(expression: Any) -> Expression:
    """Return ``e`` to the power of an expression.

    >>> from emdp.expressions import col
    >>> exp(-col("x"))
    exp(-x)
    """
    return Exp(lift(expression))


def log(expression: Any) -> Expression:
    """Return the natural logarithm of an expression whose range stays above 0.

    >>> from emdp.expressions import col
    >>> log(1 + col("x"))
    log(1 + x)
    """
    return Log(lift(expression))


def sqrt(expression: Any) -> Expression:
    """Return the square root of an expression whose range stays above 0.

    >>> from emdp.expressions import col
    >>> sqrt(1 + col("x"))
    sqrt(1 + x)
    """
    return Sqrt(lift(expression))


def power(expression: Any, exponent: float) -> Expression:
    """Return an expression to a constant power, as ``expression ** exponent``.

    >>> from emdp.expressions import col
    >>> power(col("x"), 2)
    x ** 2
    """
    return lift(expression) ** exponent


RECORDS = (
    ScalarFunction(Exp, exp, ("EXP",), duckdb="EXP"),
    # sqlglot would write LOG of a base for some dialects.
    ScalarFunction(Log, log, ("LN",), duckdb="LN", spark="LN"),
    ScalarFunction(Sqrt, sqrt, ("SQRT",), duckdb="SQRT"),
    ScalarFunction(Power, power, ("POWER", "POW"), "(e, p)", constants=(ConstantArgument("exponent", "the exponent"),)),
)
"""The functions of this file in all languages."""
