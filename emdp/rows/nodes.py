"""Nodes of row expressions: frozen, compared by value, with one canonical text each.

The canonical text is SQL of the language itself: read again, it gives the same node. Ledgers and stored answers hold
it, so a change of a text is a change of every question that has it.
"""

import datetime
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import TypeAlias

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.rows.functions import FUNCTIONS
from emdp.rows.record import Form, Given
from emdp.rows.types import Kind, Value, check_value

__all__ = [
    "Call",
    "Case",
    "Cast",
    "Column",
    "InList",
    "Literal",
    "Node",
    "columns",
    "is_null",
    "operands",
    "parts",
    "replaced",
]


@dataclass(frozen=True)
class Column:
    """A column of a relation.

    >>> print(Column("t", "price", Kind.DOUBLE))
    "t"."price"
    """

    table: str
    name: str
    kind: Kind  # What its values are read as

    def __str__(self) -> str:
        return f"{_quoted(self.table)}.{_quoted(self.name)}"


@dataclass(frozen=True)
class Literal:
    """A public value; None is NULL of the given kind.

    >>> print(Literal("it's", Kind.TEXT), Literal(1.5, Kind.DOUBLE), Literal(None, Kind.BIGINT))
    'it''s' 1.5e0 CAST(NULL AS BIGINT)
    """

    value: Value
    kind: Kind

    def __post_init__(self) -> None:
        check_value(self.value, self.kind)

    def __str__(self) -> str:
        return _literal_text(self.value, self.kind)

    # 1, 1.0 and True are equal in Python, and are not here.
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and (self.kind, str(self)) == (other.kind, str(other))

    def __hash__(self) -> int:
        return hash((self.kind, str(self)))


@dataclass(frozen=True)
class Call:
    """A function of the table :data:`emdp.rows.functions.FUNCTIONS`."""

    function: str
    # Of exactly the kinds that one of its forms takes; `emdp.rows.building.call` casts them.
    arguments: "tuple[Node, ...]"
    form: Form = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        record = FUNCTIONS.get(self.function)
        if record is None:
            raise UsageError(f"function must be one of the table, got {self.function!r}; see emdp.rows.functions.")
        form = record.form(
            [argument.kind for argument in self.arguments],
            [isinstance(argument, Literal) for argument in self.arguments],
        )
        if form is None:
            kinds = ", ".join(argument.kind.value for argument in self.arguments)
            raise UsageError(f"arguments must fit a form of {self.function}, got ({kinds}); cast them.")
        for argument, wanted in zip(self.arguments, form.arguments, strict=True):
            if isinstance(wanted, Given) and isinstance(argument, Literal):
                problem = wanted.problem(argument.value)
                if problem is not None:
                    raise UsageError(f"arguments must have {wanted.what} that is known; {wanted.remedy}.")
        object.__setattr__(self, "form", form)

    @property
    def kind(self) -> Kind:
        """Kind of the result."""
        return self.form.result

    @property
    def values(self) -> tuple[Value, ...]:
        """Values of the arguments that are literals, None for the others."""
        return tuple(argument.value if isinstance(argument, Literal) else None for argument in self.arguments)

    def __str__(self) -> str:
        operator = FUNCTIONS[self.function].operator
        texts = [str(argument) for argument in self.arguments]
        if operator and len(texts) == 2:
            return f"({texts[0]} {operator} {texts[1]})"
        return f"({operator} {texts[0]})" if operator else f"{self.function}({', '.join(texts)})"


@dataclass(frozen=True)
class Case:
    """The value of the first branch whose condition is true."""

    branches: "tuple[tuple[Node, Node], ...]"  # Conditions (BOOLEAN) and values, all of one kind
    otherwise: "Node"  # The value where no condition is true; `Literal(None, kind)` for NULL

    def __post_init__(self) -> None:
        if not self.branches or any(condition.kind is not Kind.BOOLEAN for condition, _ in self.branches):
            raise UsageError("branches must be pairs of a condition and a value; write CASE WHEN .. THEN .. END.")
        if any(value.kind is not self.otherwise.kind for _, value in self.branches):
            raise UsageError("branches must have values of one kind; cast them.")

    @property
    def kind(self) -> Kind:
        """Kind of the values."""
        return self.otherwise.kind

    def __str__(self) -> str:
        branches = " ".join(f"WHEN {condition} THEN {value}" for condition, value in self.branches)
        return f"CASE {branches} ELSE {self.otherwise} END"


@dataclass(frozen=True)
class Cast:
    """A value as another kind; NULL where it has none. Which casts there are, :mod:`emdp.rows.records.casts` says."""

    argument: "Node"
    kind: Kind
    form: Form = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        form = FUNCTIONS[f"to_{self.kind.value.lower()}"].form([self.argument.kind], [False])
        if form is None:
            raise UsageError(f"argument must be what can be cast to {self.kind.value}, got {self.argument.kind.value}.")
        object.__setattr__(self, "form", form)

    def __str__(self) -> str:
        return f"CAST({self.argument} AS {self.kind.value})"


@dataclass(frozen=True)
class InList:
    """Whether a value is one of a list of literals of its kind; NULL for NULL. No element of the list is NULL."""

    argument: "Node"
    values: tuple[Literal, ...]

    def __post_init__(self) -> None:
        if not self.values or any(value.kind is not self.argument.kind for value in self.values):
            raise UsageError("values must be literals of the argument's kind, one at least; cast them.")
        if any(value.value is None for value in self.values):
            raise UsageError("values must not hold NULL, which is equal to nothing; write IS NULL.")

    @property
    def kind(self) -> Kind:
        """Kind of the result."""
        return Kind.BOOLEAN

    def __str__(self) -> str:
        return f"({self.argument} IN ({', '.join(map(str, self.values))}))"


Node: TypeAlias = Column | Literal | Call | Case | Cast | InList


def is_null(node: Node) -> bool:
    """Say whether a node is NULL, written out."""
    return isinstance(node, Literal) and node.value is None


def operands(node: Node) -> tuple[Node, ...]:
    """Return the nodes that a node is made of directly.

    >>> operands(Literal(1, Kind.BIGINT))
    ()
    """
    if isinstance(node, Call):
        return node.arguments
    if isinstance(node, Case):
        return (*(part for branch in node.branches for part in branch), node.otherwise)
    if isinstance(node, InList):
        return (node.argument, *node.values)
    return (node.argument,) if isinstance(node, Cast) else ()


def columns(node: Node) -> frozenset[Column]:
    """Return the columns that a row expression reads.

    >>> columns(Cast(Column("t", "x", Kind.BIGINT), Kind.DOUBLE))
    frozenset({Column(table='t', name='x', kind=<Kind.BIGINT: 'BIGINT'>)})
    """
    return frozenset(part for part in parts(node) if isinstance(part, Column))


def replaced(node: Node, others: Mapping[Node, Node]) -> Node:
    """Return a row expression with some of its parts, of any depth, replaced by others of their kinds.

    >>> x, y = Column("t", "x", Kind.BIGINT), Column("s", "y", Kind.BIGINT)
    >>> print(replaced(Call("add", (x, Literal(1, Kind.BIGINT))), {x: y}))
    ("s"."y" + 1)
    """
    if node in others:
        return others[node]
    if isinstance(node, Call):
        return Call(node.function, tuple(replaced(part, others) for part in node.arguments))
    if isinstance(node, Case):
        branches = tuple((replaced(test, others), replaced(value, others)) for test, value in node.branches)
        return Case(branches, replaced(node.otherwise, others))
    if isinstance(node, InList):
        return InList(replaced(node.argument, others), node.values)
    return Cast(replaced(node.argument, others), node.kind) if isinstance(node, Cast) else node


def parts(node: Node) -> Iterator[Node]:
    """Yield a node and all that it is made of."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(operands(node))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal_text(value: Value, kind: Kind) -> str:
    if value is None:
        return f"CAST(NULL AS {kind.value})"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        digits = repr(value)
        return digits if "e" in digits else f"{digits}e0"
    if isinstance(value, datetime.datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, datetime.date):
        return f"DATE '{value.isoformat()}'"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)
