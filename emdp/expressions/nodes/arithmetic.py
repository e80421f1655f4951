"""Sum, difference, product and quotient of expressions (EMD 2); in proofs ``f'`` is ``f`` at another item."""

import math
from abc import abstractmethod

import numpy as np

from emdp.base.classes import dataclass
from emdp.base.errors import NotLipschitzError
from emdp.expressions.nodes.base import Constant, Expression
from emdp.expressions.numbers.bounds import Analysis, Domain, add_parts, scale_parts
from emdp.expressions.numbers.outward import (
    add_down,
    add_up,
    div_down,
    div_up,
    mul_down,
    mul_up,
    rounding_of,
)
from emdp.spaces.base import Floats, Space

__all__ = ["Add", "Binary", "Divide", "Multiply", "Negate", "Subtract"]


@dataclass(frozen=True, eq=False, repr=False)
class Binary(Expression):
    """Base of the nodes with a left and a right operand."""

    left: Expression
    right: Expression

    @property
    def operands(self) -> tuple[Expression, ...]:
        return (self.left, self.right)

    def bounds_on(self, domain: Domain, operands: tuple[Analysis, ...]) -> Analysis:
        return self._rule(*operands)

    @abstractmethod
    def _rule(self, left: Analysis, right: Analysis) -> Analysis:
        """Apply the rule to the two operands."""


@dataclass(frozen=True, eq=False, repr=False)
class Add(Binary):
    """Sum ``f + g``. Proof: ``|f + g - f' - g'| <= |f - f'| + |g - g'|``, so the constants add."""

    def _rule(self, left: Analysis, right: Analysis) -> Analysis:
        return _sum(left, right)

    def values_on(self, space: Space, items: Floats, operands: tuple[Floats, ...]) -> Floats:
        return operands[0] + operands[1]


@dataclass(frozen=True, eq=False, repr=False)
class Subtract(Binary):
    """Difference ``f - g``. Proof: as for ``f + g``, since ``-g`` has the constants of ``g``."""

    def _rule(self, left: Analysis, right: Analysis) -> Analysis:
        return _sum(left, Analysis(right.parts, -right.high, -right.low, right.rounding))

    def values_on(self, space: Space, items: Floats, operands: tuple[Floats, ...]) -> Floats:
        return operands[0] - operands[1]


@dataclass(frozen=True, eq=False, repr=False)
class Negate(Expression):
    """Negative ``-f``. Proof: ``|-f + f'| = |f - f'|``; changing a sign is exact."""

    operand: Expression

    @property
    def operands(self) -> tuple[Expression, ...]:
        return (self.operand,)

    def bounds_on(self, domain: Domain, operands: tuple[Analysis, ...]) -> Analysis:
        (inner,) = operands
        return Analysis(inner.parts, -inner.high, -inner.low, inner.rounding)

    def values_on(self, space: Space, items: Floats, operands: tuple[Floats, ...]) -> Floats:
        return -operands[0]


@dataclass(frozen=True, eq=False, repr=False)
class Multiply(Binary):
    """Product ``f g``. Proof: ``|f g - f' g'| <= |f| |g - g'| + |g'| |f - f'|``, so ``max|f| L_g + max|g| L_f``."""

    def _rule(self, left: Analysis, right: Analysis) -> Analysis:
        parts = add_parts(scale_parts(right.parts, left.magnitude), scale_parts(left.parts, right.magnitude))
        ends = [(a, b) for a in (left.low, left.high) for b in (right.low, right.high)]
        low, high = min(mul_down(a, b) for a, b in ends), max(mul_up(a, b) for a, b in ends)
        # computed f g is off by |f| r_g + |g| r_f + r_f r_g before its own rounding
        propagated = add_up(
            add_up(mul_up(left.magnitude, right.rounding), mul_up(right.magnitude, left.rounding)),
            mul_up(left.rounding, right.rounding),
        )
        if _is_exact_factor(left) or _is_exact_factor(right):
            return Analysis(parts, low, high, propagated)
        return Analysis(parts, low, high, rounding_of(max(abs(low), abs(high)), propagated))

    def values_on(self, space: Space, items: Floats, operands: tuple[Floats, ...]) -> Floats:
        return operands[0] * operands[1]


@dataclass(frozen=True, eq=False, repr=False)
class Divide(Binary):
    """Quotient ``f / g`` where ``g`` stays away from 0.

    Proof: ``f/g - f'/g' = (f - f')/g + (f'/g') (g' - g)/g``, so ``(L_f + max|f/g| L_g) / min|g|``.
    """

    def _rule(self, left: Analysis, right: Analysis) -> Analysis:
        nearest = right.low if right.low > 0 else -right.high
        floor = add_down(nearest, -right.rounding)
        if floor <= 0:
            raise self._refusal(right)
        ends = [(a, b) for a in (left.low, left.high) for b in (right.low, right.high)]
        low, high = min(div_down(a, b) for a, b in ends), max(div_up(a, b) for a, b in ends)
        size = max(abs(low), abs(high))
        slopes = add_parts(left.parts, scale_parts(right.parts, size))
        parts = tuple(div_up(slope, nearest) for slope in slopes)
        # computed f/g minus f/g = (error of f)/g~ - (f/g) (error of g)/g~ with |g~| >= floor
        propagated = div_up(add_up(left.rounding, mul_up(size, right.rounding)), floor)
        return Analysis(parts, low, high, rounding_of(size, propagated))

    def values_on(self, space: Space, items: Floats, operands: tuple[Floats, ...]) -> Floats:
        return np.divide(operands[0], operands[1])

    def _refusal(self, divisor: Analysis) -> NotLipschitzError:
        if isinstance(self.right, Constant):
            reason, remedy = "divides by zero", "divide by a constant other than 0"
        else:
            reason = (
                f"has no bounded slope, since the range [{divisor.low:.6g}, {divisor.high:.6g}] of "
                f"`{self.right}` reaches 0"
            )
            remedy = f"keep the divisor away from 0, as in `maximum({self.right}, c)` with a constant c > 0"
        return NotLipschitzError(reason, expression=str(self), offending=str(self), remedy=remedy)


def _sum(left: Analysis, right: Analysis) -> Analysis:
    low, high = add_down(left.low, right.low), add_up(left.high, right.high)
    propagated = add_up(left.rounding, right.rounding)
    parts = add_parts(left.parts, right.parts)
    if 0.0 in {left.magnitude, right.magnitude} and propagated == 0:
        return Analysis(parts, low, high, 0.0)
    return Analysis(parts, low, high, rounding_of(max(abs(low), abs(high)), propagated))


def _is_exact_factor(factor: Analysis) -> bool:
    # 0, 1 and -1 held exactly, so that the product needs no rounding of its own
    return factor.rounding == 0 and factor.low == factor.high and math.fabs(factor.low) in {0.0, 1.0}
