"""Functions that jump: built so that the refusal can name them, never analysed."""

from emdp.base.classes import dataclass
from emdp.base.errors import NotLipschitzError, UsageError
from emdp.expressions.nodes.base import Column, Constant, Expression
from emdp.expressions.numbers.bounds import Analysis, Domain
from emdp.spaces.base import Floats, Space

__all__ = ["COMPARISONS", "INFIX", "Jump"]

COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
"""Symbols of comparisons, written between their two arguments."""

INFIX = (*COMPARISONS, "//", "%")
"""Symbols written between their two arguments; all others are written as functions."""


@dataclass(frozen=True, eq=False, repr=False)
class Jump(Expression):
    """A comparison, ``floor``, ``round``, ``//`` or the like: it has no finite Lipschitz constant (EMD 2).

    Proof: it takes two values that differ by a fixed amount at arguments as near to one another as one likes.

    >>> from emdp.expressions import col
    >>> col("price") > 10
    price > 10
    """

    symbol: str  # How it is written, such as `">"` or `"floor"`
    arguments: tuple[Expression | str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "arguments", tuple(self.arguments))
        if not self.arguments or (self.symbol in INFIX and len(self.arguments) != 2):
            raise UsageError(f"arguments of {self.symbol!r} have the wrong number; pass two for a comparison.")
        super().__post_init__()

    @property
    def operands(self) -> tuple[Expression, ...]:
        return tuple(argument for argument in self.arguments if isinstance(argument, Expression))

    def bounds_on(self, domain: Domain, operands: tuple[Analysis, ...]) -> Analysis:
        raise self.refusal()

    def values_on(self, space: Space, items: Floats, operands: tuple[Floats, ...]) -> Floats:
        raise self.refusal()

    def refusal(self) -> NotLipschitzError:
        """Return the error that refuses this node, with what to write instead."""
        return NotLipschitzError(
            "jumps, so no noise could hide a small change of a record near the jump",
            expression=str(self),
            offending=str(self),
            remedy=self._remedy(),
        )

    def _remedy(self) -> str:
        left = self.arguments[0]
        if self.symbol not in COMPARISONS:
            return f"use `{left}` as it is, or a slope such as `ramp({left}, a, b)` with constants a != b"
        right = self.arguments[1]
        named = f", column={left.name!r}" if isinstance(left, Column) else ""
        if isinstance(right, str):
            return f"write `category_is({right!r}{named})` if the column is a categorical part of the space"
        if not isinstance(right, Constant):
            difference = f"{left} - {_bracketed(right)}"
            return f"write `ramp({difference}, a, b)`, which goes from 0 at a to 1 at b (a != b)"
        if self.symbol in ("==", "!="):
            return (
                f"write `category_is({right}{named})` for a categorical column, or "
                f"`ramp(abs({left} - {right}), h, 0)`, which falls from 1 at equality to 0 at a distance h > 0"
            )
        start = f"{right} + h" if self.symbol in ("<", "<=") else f"{right} - h"
        return f"write `ramp({left}, {start}, {right})`, which goes from 0 to 1 over a width h > 0"


def _bracketed(expression: Expression) -> str:
    return f"({expression})" if expression.operands else str(expression)
