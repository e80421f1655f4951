"""The base of all expression nodes, the two simplest leaves, and lifting of numbers.

A node is frozen and knows its rule (``bounds_on``, with its proof in the class's docstring) and its reference
evaluation (``values_on``); the analysis and the evaluation only walk. Python's operators build nodes. Those that
jump (comparisons, ``//``, ``%``, ``round``, ``math.floor``) build a ``Jump``, which the analysis refuses.

The base knows none of the nodes, nor the analysis: what operators build, and what reads an expression, stands in one
table (:class:`Grammar`), which the package fills as it is loaded.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import field, fields, replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np

from emdp.base.checks import check_finite
from emdp.base.classes import dataclass
from emdp.base.errors import NotLipschitzError, UsageError
from emdp.expressions.nodes.parts import part_items, part_of_columns
from emdp.expressions.numbers.bounds import Analysis, Domain, constant_analysis, part_analysis
from emdp.spaces.base import Floats, Space

__all__ = ["MAX_DEPTH", "MAX_SIZE", "Column", "Constant", "Expression", "Grammar", "lift", "walk"]

MAX_DEPTH = 200
"""Deepest nesting of an expression: keeps every recursion far from Python's limit of 1000 frames."""

MAX_SIZE = 10_000
"""Most nodes of an expression, shared ones counted as often as they occur: keeps every walk short."""


@dataclass(frozen=True)
class Grammar:
    """Nodes and readers that are built on expressions, and that expressions need."""

    # For each operator of Python (`"+"`, `"neg"`, `"**"`, ...) the node that it builds of its operands.
    operators: "Mapping[str, Callable[..., Expression]]"
    # The node of an operator that jumps: of its symbol and its arguments.
    jump: "Callable[[str, tuple[Expression | str, ...]], Expression]"
    # lipschitz, value_range: Constant and range of an expression on a space.
    lipschitz: "Callable[[Expression, Space], float]"
    value_range: "Callable[[Expression, Space], tuple[float, float]]"
    text: "Callable[[Expression], str]"


@dataclass(frozen=True, eq=False, repr=False)
class Expression(ABC):
    """A real function of one item, built from columns, distances and constants (EMD 2, "Expressions").

    Parameters
    ----------
    space : Space, optional
        The space that the expression is bound to, see :meth:`on`; it plays no part in equality.

    Raises
    ------
    UsageError
        If operands are bound to different spaces, or the expression nests deeper than 200 or exceeds 10,000
        nodes.

    Notes
    -----
    ``==`` between two expressions compares their structure; with a number or a text it builds a refused jump.
    """

    grammar: ClassVar[Grammar]
    space: Space | None = field(default=None, kw_only=True, compare=False)
    depth: int = field(init=False, compare=False)
    size: int = field(init=False, compare=False)

    __array_ufunc__ = None  # numpy scalars then leave `np.float64(2) * e` to __rmul__

    def __post_init__(self) -> None:
        operands = self.operands
        for operand in operands:
            if not isinstance(operand, Expression):
                raise UsageError(f"operands must be expressions, not {type(operand).__name__}; use emdp.col.")
        depth = 1 + max((operand.depth for operand in operands), default=0)
        size = 1 + sum(operand.size for operand in operands)
        if depth > MAX_DEPTH or size > MAX_SIZE:
            raise UsageError(
                f"an expression may nest {MAX_DEPTH} deep and hold {MAX_SIZE} nodes, this one has depth "
                f"{depth} and {size} nodes; split it into several queries."
            )
        object.__setattr__(self, "depth", depth)
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "space", _common_space((self, *operands)))

    @property
    def operands(self) -> tuple["Expression", ...]:
        """The sub-expressions, in order of evaluation."""
        return ()

    @abstractmethod
    def bounds_on(self, domain: Domain, operands: tuple[Analysis, ...]) -> Analysis:
        """Apply the node's structural rule to what is known of its operands."""

    @abstractmethod
    def values_on(self, space: Space, items: Floats, operands: tuple[Floats, ...]) -> Floats:
        """Return the node's value for each encoded item, given its operands' values."""

    def on(self, space: Space) -> Self:
        """Return the same expression bound to ``space``, so that its constant and range can be read.

        Raises
        ------
        UsageError
            If it is already bound to a different space.

        >>> from emdp.expressions import col
        >>> from emdp.spaces import Interval
        >>> (2 * col("price")).on(Interval("price", 0, 50)).value_range
        (0.0, 100.0)
        """
        if not isinstance(space, Space):
            raise UsageError(f"space must be an emdp.Space, not {type(space).__name__}; pass a table's space.")
        return replace(self, space=_one_space(self.space, space))

    @property
    def lipschitz(self) -> float:
        """Constant per unit of the bound space's ``d_X`` (EMD 2), truncation and weights included."""
        return self.grammar.lipschitz(self, self._bound_space("lipschitz"))

    @property
    def value_range(self) -> tuple[float, float]:
        """Lower and upper bound of the expression on the bound space's domain."""
        return self.grammar.value_range(self, self._bound_space("value_range"))

    def _bound_space(self, wanted: str) -> Space:
        if self.space is None:
            raise UsageError(f"{wanted} of `{self}` depends on the space; bind it first: `expression.on(space)`.")
        return self.space

    def _key(self) -> tuple[Any, ...]:
        return tuple(_told_apart(getattr(self, entry.name)) for entry in fields(self) if entry.compare)

    def __eq__(self, other: object) -> Any:
        if isinstance(other, Expression):
            return type(self) is type(other) and self._key() == other._key()
        return self._jump("==", other) if isinstance(other, Real | str) else NotImplemented

    def __ne__(self, other: object) -> Any:
        if isinstance(other, Expression):
            return not self == other
        return self._jump("!=", other) if isinstance(other, Real | str) else NotImplemented

    def __hash__(self) -> int:
        return hash((type(self), self._key()))

    def __bool__(self) -> bool:
        raise UsageError(f"`{self}` has no truth value, it is a function of an item; use ramp, minimum, maximum.")

    def __str__(self) -> str:
        return self.grammar.text(self)

    __repr__ = __str__

    def __add__(self, other: object) -> "Expression":
        return self.grammar.operators["+"](self, lift(other))

    def __radd__(self, other: object) -> "Expression":
        return lift(other) + self

    def __sub__(self, other: object) -> "Expression":
        return self.grammar.operators["-"](self, lift(other))

    def __rsub__(self, other: object) -> "Expression":
        return lift(other) - self

    def __mul__(self, other: object) -> "Expression":
        return self.grammar.operators["*"](self, lift(other))

    def __rmul__(self, other: object) -> "Expression":
        return lift(other) * self

    def __truediv__(self, other: object) -> "Expression":
        return self.grammar.operators["/"](self, lift(other))

    def __rtruediv__(self, other: object) -> "Expression":
        return lift(other) / self

    def __neg__(self) -> "Expression":
        return self.grammar.operators["neg"](self)

    def __pos__(self) -> "Expression":
        return self

    def __abs__(self) -> "Expression":
        return self.grammar.operators["abs"](self)

    def __pow__(self, exponent: object) -> "Expression":
        if isinstance(exponent, Expression):
            raise UsageError(f"the exponent in `({self}) ** ({exponent})` must be a constant; pass a number.")
        return self.grammar.operators["**"](self, check_finite("exponent", exponent))

    def __rpow__(self, base: object) -> "Expression":
        raise UsageError(f"the exponent `{self}` must be a constant; write exp(e * log(base)) as emdp.exp(e * c).")

    def _jump(self, symbol: str, *others: object) -> "Expression":
        return self.grammar.jump(
            symbol, (self, *(other if isinstance(other, str) else lift(other) for other in others))
        )

    def __lt__(self, other: object) -> "Expression":
        return self._jump("<", other)

    def __le__(self, other: object) -> "Expression":
        return self._jump("<=", other)

    def __gt__(self, other: object) -> "Expression":
        return self._jump(">", other)

    def __ge__(self, other: object) -> "Expression":
        return self._jump(">=", other)

    def __floordiv__(self, other: object) -> "Expression":
        return self._jump("//", other)

    def __mod__(self, other: object) -> "Expression":
        return self._jump("%", other)

    def __round__(self, digits: int | None = None) -> "Expression":
        return self._jump("round") if digits is None else self._jump("round", digits)

    def __floor__(self) -> "Expression":
        return self._jump("floor")

    def __ceil__(self) -> "Expression":
        return self._jump("ceil")

    def __trunc__(self) -> "Expression":
        return self._jump("trunc")


@dataclass(frozen=True, eq=False, repr=False)
class Constant(Expression):
    """A number. Proof: it never changes, so every constant is 0; a double holds it exactly.

    >>> Constant(2.5)
    2.5
    """

    value: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", check_finite("a constant", self.value))
        super().__post_init__()

    def bounds_on(self, domain: Domain, operands: tuple[Analysis, ...]) -> Analysis:
        return constant_analysis(domain, self.value)

    def values_on(self, space: Space, items: Floats, operands: tuple[Floats, ...]) -> Floats:
        return np.full(len(items), self.value)


@dataclass(frozen=True, eq=False, repr=False)
class Column(Expression):
    """The value of a numeric column. Proof: by the column's part, of which alone it is a function.

    >>> Column("price")
    price
    """

    name: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise UsageError(f"a column's name must be a non-empty text, got {self.name!r}; pass the name.")
        super().__post_init__()

    def bounds_on(self, domain: Domain, operands: tuple[Analysis, ...]) -> Analysis:
        index = part_of_columns(domain.space, (self.name,))
        part = domain.space.parts[index]
        bounds = part.column_bounds(self.name)
        if not math.isfinite(bounds.lipschitz):
            raise NotLipschitzError(
                f"has no finite Lipschitz constant on {part.noun}: near items can have far values",
                expression=str(self),
                offending=str(self),
                remedy=f"use a distance, as in `distance_to(point, column={self.name!r})`",
            )
        return part_analysis(domain, index, bounds)

    def values_on(self, space: Space, items: Floats, operands: tuple[Floats, ...]) -> Floats:
        index = part_of_columns(space, (self.name,))
        return space.parts[index].column_values(part_items(space, index, items), self.name)


def lift(value: object) -> Expression:
    """Return an expression as it is and a finite number as a :class:`Constant`.

    Raises
    ------
    UsageError
        For anything else: a text (columns are ``emdp.col(name)``), a truth value (the result of a
        comparison).

    >>> lift(3)
    3
    """
    if isinstance(value, Expression):
        return value
    if isinstance(value, bool | np.bool_):
        raise UsageError(
            "a truth value is no expression, and a comparison has no finite Lipschitz constant; "
            "use category_is(value) on a categorical column or ramp(e, a, b) on a continuous one."
        )
    if isinstance(value, str):
        raise UsageError(f"a text is no expression, got {value!r}; write col({value!r}) for a column.")
    return Constant(check_finite("a constant", value))


def walk(root: Expression) -> tuple[Expression, ...]:
    """Return the distinct nodes of an expression, operands before what uses them.

    >>> [str(node) for node in walk(Column("x") + 1)]
    ['x', '1', 'x + 1']
    """
    order: list[Expression] = []
    seen: set[int] = set()
    stack = [(root, False)]
    while stack:
        node, is_ready = stack.pop()
        if id(node) in seen:
            continue
        if is_ready:
            seen.add(id(node))
            order.append(node)
        else:
            stack.append((node, True))
            stack.extend((operand, False) for operand in reversed(node.operands))
    return tuple(order)


def _common_space(nodes: tuple[Expression, ...]) -> Space | None:
    space = nodes[0].space
    for node in nodes[1:]:
        if node.space is not None:
            space = _one_space(space, node.space)
    return space


def _one_space(left: Space | None, right: Space) -> Space:
    if left is not None and left is not right and left != right:
        raise UsageError(
            f"an expression cannot be bound to two spaces, one over {', '.join(left.columns)} and one over "
            f"{', '.join(right.columns)}; bind the whole expression once."
        )
    return right if left is None else left


def _told_apart(value: Any) -> Any:
    # Python's True equals 1, but the two name values of different columns.
    if isinstance(value, tuple):
        return tuple(map(_told_apart, value))
    return value if isinstance(value, Expression) else (type(value), value)
