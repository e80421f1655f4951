"""GROUP BY under USER_PRIVACY: functions of a row, each with a public list of its groups."""

import datetime
import math
from collections.abc import Iterator

from emdp.questions.names import Names
from emdp.questions.owned.parts import relations
from emdp.questions.owned.relations import (
    Derived,
    Filtered,
    Grouped,
    Joined,
    Marked,
    Private,
    Public,
    Relation,
    Windowed,
)
from emdp.rows.nodes import Call, Cast, Column, Literal, Node, columns, replaced
from emdp.rows.periods import listed_periods
from emdp.rows.ranges import finite_values
from emdp.rows.types import Kind, Value
from emdp.spaces import Space
from emdp.sql.owned.public_lists import allowed_values, public_values

__all__ = ["MOST_LISTED", "conditions", "listed_values"]

MOST_LISTED = 100_000
"""Most groups of one key."""


def listed_values(node: Node, relation: Relation, names: Names) -> tuple[Value, ...] | None:
    """Return the public list of groups of a key, in order: what the statement or a declaration says, never the records.

    It is, whatever comes first: the list, value or range that a condition of WHERE gives the key itself; the days,
    months, ... within the times that WHERE leaves; the values of a public column that a join makes it equal to; the
    values of a listed column of the space; the values of a column
    of a public table; all values that the expression can have. None where there is none of these.
    """
    found = _of_conditions(node, relation)
    if found is None:
        found = listed_periods(node, conditions(relation), MOST_LISTED)
    inner = _inside(node, relation)
    if found is None and inner is not None:
        return listed_values(*inner, names)
    if found is None and isinstance(node, Column):
        found = _of_column(node, relation, names)
    if found is None:
        found = _of_equal(node, relation, names)
    if found is None:
        found = _of_component(node, relation, names)
    if found is None:
        found = finite_values(node)
    return None if found is None or len(found) > MOST_LISTED else found


def _of_column(column: Column, relation: Relation, names: Names) -> tuple[Value, ...] | None:
    frames = {
        own.alias: names.public[own.source]
        for own in relations(relation)
        if isinstance(own, Public) and own.source in names.public
    }
    if column.table in frames:
        return public_values(column, frames, conditions(relation))
    space = _space_of(column, relation, names)
    part = None if space is None else next((own for own in space.parts if column.name in own.columns), None)
    if part is None or part.labels is None:
        return None
    wanted = {Kind.TEXT: str, Kind.BIGINT: int, Kind.BOOLEAN: bool}.get(column.kind)
    return tuple(part.labels) if wanted and all(type(label) is wanted for label in part.labels) else None


def _of_equal(node: Node, relation: Relation, names: Names) -> tuple[Value, ...] | None:
    """Return the values of a public column that every row which is left has equal to a key, such as by USING."""
    public = {own.alias for own in relations(relation) if isinstance(own, Public)}
    for condition in conditions(relation):
        if not isinstance(condition, Call) or condition.function != "equal" or node not in condition.arguments:
            continue
        other = condition.arguments[1 - condition.arguments.index(node)]
        if isinstance(other, Column) and other.table in public and other.kind is node.kind:
            found = _of_column(other, relation, names)
            if found is not None:
                return found
    return None


def _of_component(node: Node, relation: Relation, names: Names) -> tuple[Value, ...] | None:
    """Return the whole numbers of a component of a time that the space has with a range, such as ``year(day)``."""
    if not isinstance(node, Call) or node.function != "date_part" or not isinstance(node.arguments[0], Literal):
        return None
    column = node.arguments[1]
    if isinstance(column, Cast) and column.argument.kind is Kind.DATE:
        column = column.argument
    space = _space_of(column, relation, names) if isinstance(column, Column) else None
    if space is None or not isinstance(column, Column):
        return None
    name = f"{node.arguments[0].value}({column.name})"
    span = next((own for part in space.parts if (own := part.span_of(name)) is not None), None)
    if span is None or not 0 <= span.high - span.low < MOST_LISTED:
        return None
    return tuple(range(math.ceil(span.low), math.floor(span.high) + 1))


def _space_of(column: Column, relation: Relation, names: Names) -> Space | None:
    table = next((own for own in relations(relation) if isinstance(own, Private) and own.alias == column.table), None)
    return None if table is None else names.private[table.source or names.table].space


def _inside(node: Node, relation: Relation) -> tuple[Node, Relation] | None:
    """Return a key of a sub-query's columns as one of what the sub-query reads; None of other keys."""
    if isinstance(relation, Derived | Grouped):
        own = relation.columns if isinstance(relation, Derived) else relation.keys
        named: dict[Node, Node] = {Column(relation.alias, name, value.kind): value for name, value in own}
        read = columns(node)
        is_inner = bool(read) and all(column in named for column in read)
        return (replaced(node, named), relation.relation) if is_inner else None
    if isinstance(relation, Filtered | Marked | Windowed):
        return _inside(node, relation.relation)
    return _inside(node, relation.relation) if isinstance(relation, Joined) else None


def conditions(relation: Relation) -> Iterator[Node]:
    """Yield what every row that is left fulfils."""
    if isinstance(relation, Filtered):
        yield from _conjuncts(relation.condition)
        yield from conditions(relation.relation)
    elif isinstance(relation, Joined):
        if relation.condition is not None and not relation.is_left:
            yield from _conjuncts(relation.condition)
        yield from conditions(relation.relation)
    elif isinstance(relation, Marked | Windowed):
        yield from conditions(relation.relation)


def _conjuncts(node: Node) -> Iterator[Node]:
    if isinstance(node, Call) and node.function == "and":
        for argument in node.arguments:
            yield from _conjuncts(argument)
    else:
        yield node


def _of_conditions(node: Node, relation: Relation) -> tuple[Value, ...] | None:
    """Return the values that conditions leave to a key: a list, one value, or a range of days or whole numbers."""
    low: int | None = None
    high: int | None = None
    for condition in conditions(relation):
        named = allowed_values(node, condition)
        if named is not None:
            return named
        if not isinstance(condition, Call) or len(condition.arguments) != 2:
            continue
        function, (left, right) = condition.function, condition.arguments
        if isinstance(left, Literal):
            swapped = {"less": "greater", "greater": "less", "at_most": "at_least", "at_least": "at_most"}
            function, left, right = swapped.get(function, function), right, left
        if left != node or not isinstance(right, Literal) or right.value is None:
            continue
        place = _place(right.value)
        if place is None:
            continue
        if function in ("at_least", "greater"):
            own = place + (function == "greater")
            low = own if low is None else max(low, own)
        if function in ("at_most", "less"):
            own = place - (function == "less")
            high = own if high is None else min(high, own)
    if low is None or high is None or high - low >= MOST_LISTED or node.kind not in (Kind.DATE, Kind.BIGINT):
        return None
    if node.kind is Kind.BIGINT:
        return tuple(range(low, high + 1))
    return tuple(datetime.date.fromordinal(day) for day in range(low, high + 1))


def _place(value: Value) -> int | None:
    """Return the number of a day, or a whole number itself."""
    if type(value) is datetime.date:
        return value.toordinal()
    return value if type(value) is int else None
