"""Piecewise linear functions that are 1-Lipschitz in their operands, and the ramp built from them (EMD 2)."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from emdp.base.checks import check_finite
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.expressions.functions.record import ConstantArgument, Misfit, ScalarFunction
from emdp.expressions.nodes.base import Expression, lift
from emdp.expressions.numbers.bounds import Analysis, Domain, largest_parts
from emdp.expressions.numbers.outward import UNIT, add_down, add_up, div_down, div_up
from emdp.spaces.base import Floats, Space

__all__ = ["clamp", "maximum", "minimum", "ramp"]


@dataclass(frozen=True, eq=False, repr=False)
class Absolute(Expression):
    """Absolute value ``|f|``. Proof: ``||f| - |f'|| <= |f - f'|``; dropping a sign is exact."""

    operand: Expression

    @property
    def operands(self) -> tuple[Expression, ...]:
        return (self.operand,)

    def bounds_on(self, domain: Domain, operands: tuple[Analysis, ...]) -> Analysis:
        (inner,) = operands
        return Analysis(inner.parts, max(0.0, inner.low, -inner.high), inner.magnitude, inner.rounding)

    def values_on(self, space: Space, items: Floats, operands: tuple[Floats, ...]) -> Floats:
        return np.abs(operands[0])


@dataclass(frozen=True, eq=False, repr=False)
class Extremum(Expression):
    """Base of the minimum and the maximum of one or more expressions."""

    choices: tuple[Expression, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "choices", tuple(self.choices))
        if not self.choices:
            raise UsageError("minimum and maximum need at least one expression; pass one.")
        super().__post_init__()

    @property
    def operands(self) -> tuple[Expression, ...]:
        return self.choices

    def values_on(self, space: Space, items: Floats, operands: tuple[Floats, ...]) -> Floats:
        values = operands[0]
        for other in operands[1:]:
            values = self._pick(values, other)
        return values

    @abstractmethod
    def _pick(self, left: Floats, right: Floats) -> Floats:
        """Return the smaller or the larger of two arrays, entry by entry."""


@dataclass(frozen=True, eq=False, repr=False)
class Minimum(Extremum):
    """The least of its operands. Proof: ``|min_k f_k - min_k f_k'| <= max_k |f_k - f_k'|``.

    An operand nowhere below another one changes nothing, and its constant does not count.
    """

    def bounds_on(self, domain: Domain, operands: tuple[Analysis, ...]) -> Analysis:
        smallest = min(operands, key=lambda operand: operand.high)
        active = [operand for operand in operands if operand is smallest or operand.low < smallest.high]
        low, rounding = (
            min(operand.low for operand in operands),
            max(operand.rounding for operand in operands),
        )
        return Analysis(largest_parts(operand.parts for operand in active), low, smallest.high, rounding)

    def _pick(self, left: Floats, right: Floats) -> Floats:
        return np.minimum(left, right)


@dataclass(frozen=True, eq=False, repr=False)
class Maximum(Extremum):
    """The greatest of its operands. Proof: ``max_k f_k = -min_k (-f_k)``."""

    def bounds_on(self, domain: Domain, operands: tuple[Analysis, ...]) -> Analysis:
        largest = max(operands, key=lambda operand: operand.low)
        active = [operand for operand in operands if operand is largest or operand.high > largest.low]
        high, rounding = (
            max(operand.high for operand in operands),
            max(operand.rounding for operand in operands),
        )
        return Analysis(largest_parts(operand.parts for operand in active), largest.low, high, rounding)

    def _pick(self, left: Floats, right: Floats) -> Floats:
        return np.maximum(left, right)


@dataclass(frozen=True, eq=False, repr=False)
class Clamp(Expression):
    """``min(max(f, low), high)`` with constants. Proof: a minimum and a maximum with constants.

    Where the bounds lie outside the range of ``f`` it is ``f``; where ``f`` stays beyond one bound it is
    constant, and then its constants are 0.

    Raises
    ------
    UsageError
        If ``low > high`` or one is not finite.
    """

    operand: Expression
    low: float
    high: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", check_finite("low", self.low))
        object.__setattr__(self, "high", check_finite("high", self.high))
        if self.low > self.high:
            raise UsageError(f"low={self.low} of clamp must not exceed high={self.high}; swap them.")
        super().__post_init__()

    @property
    def operands(self) -> tuple[Expression, ...]:
        return (self.operand,)

    def bounds_on(self, domain: Domain, operands: tuple[Analysis, ...]) -> Analysis:
        (inner,) = operands
        low, high = (min(max(end, self.low), self.high) for end in (inner.low, inner.high))
        # the exact and the computed value both lie between the two constants
        rounding = min(inner.rounding, add_up(self.high, -self.low))
        return Analysis(_moving(inner.parts, low, high), low, high, rounding)

    def values_on(self, space: Space, items: Floats, operands: tuple[Floats, ...]) -> Floats:
        return np.clip(operands[0], self.low, self.high)


@dataclass(frozen=True, eq=False, repr=False)
class Ramp(Expression):
    """``clamp((f - a)/(b - a), 0, 1)``: 0 at ``a``, 1 at ``b``. Proof: an affine map and a clamp, ``L/|b -
    a|``.

    Raises
    ------
    UsageError
        If ``a == b`` or one is not finite.
    """

    operand: Expression
    a: float
    b: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "a", check_finite("a", self.a))
        object.__setattr__(self, "b", check_finite("b", self.b))
        if self.a == self.b:
            raise UsageError(f"a and b of ramp must differ, both are {self.a}; a ramp of width 0 would jump.")
        check_finite("the width b - a of ramp", self.b - self.a)
        super().__post_init__()

    @property
    def operands(self) -> tuple[Expression, ...]:
        return (self.operand,)

    def bounds_on(self, domain: Domain, operands: tuple[Analysis, ...]) -> Analysis:
        (inner,) = operands
        narrow = min(abs(add_up(self.b, -self.a)), abs(add_down(self.b, -self.a)))
        ends = [self._height(end) for end in (inner.low, inner.high)]
        low, high = min(end[0] for end in ends), max(end[1] for end in ends)
        parts = _moving(tuple(div_up(part, narrow) for part in inner.parts), low, high)
        # three operations, each off by a factor 1 + u: at most 4 u where the result is in [0, 1]; beyond, it
        # is clamped
        rounding = min(1.0, add_up(div_up(inner.rounding, narrow), 4 * UNIT))
        return Analysis(parts, low, high, rounding)

    def values_on(self, space: Space, items: Floats, operands: tuple[Floats, ...]) -> Floats:
        with np.errstate(over="ignore"):  # an infinite height is clamped like any other beyond 1
            return np.clip((operands[0] - self.a) / (self.b - self.a), 0.0, 1.0)

    def _height(self, value: float) -> tuple[float, float]:
        widths = [add_down(self.b, -self.a), add_up(self.b, -self.a)]
        steps = [add_down(value, -self.a), add_up(value, -self.a)]
        low = min(div_down(step, width) for step in steps for width in widths)
        high = max(div_up(step, width) for step in steps for width in widths)
        return min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)


def _moving(parts: Sequence[float], low: float, high: float) -> tuple[float, ...]:
    return tuple(parts) if low < high else (0.0,) * len(parts)


def minimum(expression: Any, *more: Any) -> Expression:
    """Return the least of several expressions.

    >>> from emdp.expressions import col
    >>> minimum(col("price"), 10)
    minimum(price, 10)
    """
    return Minimum(tuple(map(lift, (expression, *more))))


def maximum(expression: Any, *more: Any) -> Expression:
    """Return the greatest of several expressions.

    >>> from emdp.expressions import col
    >>> maximum(col("price"), 0)
    maximum(price, 0)
    """
    return Maximum(tuple(map(lift, (expression, *more))))


def clamp(expression: Any, low: float, high: float) -> Expression:
    """Return the expression moved into ``[low, high]``, both constants.

    >>> from emdp.expressions import col
    >>> clamp(col("price"), 0, 100)
    clamp(price, 0, 100)
    """
    return Clamp(lift(expression), check_finite("low", low), check_finite("high", high))


def ramp(expression: Any, a: float, b: float) -> Expression:
    """Return ``clamp((expression - a)/(b - a), 0, 1)``: 0 at ``a``, 1 at ``b``, a line between; ``a != b``.

    >>> from emdp.expressions import col, distance_to
    >>> ramp(distance_to((40.7484, -73.9857)), 2, 1)
    ramp(distance_to((40.7484, -73.9857)), 2, 1)
    """
    return Ramp(lift(expression), check_finite("a", a), check_finite("b", b))


def _clamp_misfit(low: float, high: float) -> Misfit | None:
    if low <= high:
        return None
    return Misfit(f"the lower end of CLAMP, {low:g}, is above the upper one, {high:g}", "swap them", "clamp-ends")


def _ramp_misfit(a: float, b: float) -> Misfit | None:
    if a != b and math.isfinite(b - a):
        return None
    return Misfit(
        f"RAMP from {a:g} to {b:g} would jump" if a == b else f"RAMP from {a:g} to {b:g} is too wide for a double",
        "give it two different ends, 0 at the first and 1 at the second",
        "ramp-ends",
    )


RECORDS = (
    ScalarFunction(Absolute, abs, ("ABS",), duckdb="ABS"),
    ScalarFunction(Minimum, minimum, ("LEAST",), "(e, f, ...)", duckdb="LEAST", takes_many=True),
    ScalarFunction(Maximum, maximum, ("GREATEST",), "(e, f, ...)", duckdb="GREATEST", takes_many=True),
    ScalarFunction(
        Clamp,
        clamp,
        ("CLAMP",),
        "(e, low, high)",
        constants=(
            ConstantArgument("low", "the lower end of CLAMP"),
            ConstantArgument("high", "the upper end of CLAMP"),
        ),
        misfit=_clamp_misfit,
    ),
    ScalarFunction(
        Ramp,
        ramp,
        ("RAMP",),
        "(e, a, b), which is 0 at a and 1 at b",
        constants=(ConstantArgument("a", "the start of RAMP"), ConstantArgument("b", "the end of RAMP")),
        misfit=_ramp_misfit,
    ),
)
"""The functions of this file in all languages."""
