"""GROUP BY under USER_PRIVACY: functions of a row, each with a public list of its groups."""

import datetime
from collections.abc import Iterator

from emdp.questions.names import Names
from emdp.questions.owned.parts import relations
from emdp.questions.owned.relations import Filtered, Joined, Marked, Private, Public, Relation, Windowed
from emdp.rows.nodes import Call, Column, InList, Literal, Node
from emdp.rows.periods import listed_periods
from emdp.rows.ranges import finite_values
from emdp.rows.types import Kind, Value

__all__ = ["MOST_LISTED", "listed_values"]

MOST_LISTED = 100_000
"""Most groups of one key."""


def listed_values(node: Node, relation: Relation, names: Names) -> tuple[Value, ...] | None:
    """Return the public list of groups of a key, in order: what the statement or a declaration says, never the records.

    It is, whatever comes first: the list, value or range that a condition of WHERE gives the key itself; the days,
    months, ... within the times that WHERE leaves; the values of a listed column of the space; the values of a column
    of a public table; all values that the expression can have. None where there is none of these.
    """
    found = _of_conditions(node, relation)
    if found is None:
        found = listed_periods(node, _conditions(relation), MOST_LISTED)
    if found is None and isinstance(node, Column):
        found = _of_column(node, relation, names)
    if found is None:
        found = finite_values(node)
    return None if found is None or len(found) > MOST_LISTED else found


def _of_column(column: Column, relation: Relation, names: Names) -> tuple[Value, ...] | None:
    for own in relations(relation):
        if isinstance(own, Public) and own.alias == column.table:
            values = names.public[own.source].get_column(column.name).drop_nulls().unique().sort().to_list()
            return tuple(values) if column.kind in (Kind.TEXT, Kind.BIGINT, Kind.BOOLEAN, Kind.DATE) else None
    table = next((own for own in relations(relation) if isinstance(own, Private) and own.alias == column.table), None)
    space = None if table is None else names.private[table.source or names.table].space
    part = None if space is None else next((own for own in space.parts if column.name in own.columns), None)
    if part is None or part.labels is None:
        return None
    wanted = {Kind.TEXT: str, Kind.BIGINT: int, Kind.BOOLEAN: bool}.get(column.kind)
    return tuple(part.labels) if wanted and all(type(label) is wanted for label in part.labels) else None


def _conditions(relation: Relation) -> Iterator[Node]:
    """Yield what every row that is left fulfils."""
    if isinstance(relation, Filtered):
        yield from _conjuncts(relation.condition)
        yield from _conditions(relation.relation)
    elif isinstance(relation, Joined):
        if relation.condition is not None and not relation.is_left:
            yield from _conjuncts(relation.condition)
        yield from _conditions(relation.relation)
    elif isinstance(relation, Marked | Windowed):
        yield from _conditions(relation.relation)


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
    for condition in _conditions(relation):
        if isinstance(condition, InList) and condition.argument == node:
            return tuple(dict.fromkeys(value.value for value in condition.values))
        if not isinstance(condition, Call) or len(condition.arguments) != 2:
            continue
        function, (left, right) = condition.function, condition.arguments
        if isinstance(left, Literal):
            swapped = {"less": "greater", "greater": "less", "at_most": "at_least", "at_least": "at_most"}
            function, left, right = swapped.get(function, function), right, left
        if left != node or not isinstance(right, Literal) or right.value is None:
            continue
        if function == "equal":
            return (right.value,)
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
