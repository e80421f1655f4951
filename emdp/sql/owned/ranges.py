"""Ranges of columns, carried from the space through sub-queries."""

import math
from collections.abc import Mapping

import polars as pl

from emdp.expressions.analysis.checker import analyse
from emdp.expressions.nodes.base import Column as SpaceColumn
from emdp.questions.names import Names
from emdp.questions.owned.parts import relations
from emdp.questions.owned.relations import Derived, Grouped, Private, Public, Relation, Windowed
from emdp.questions.owned.summaries import Summary
from emdp.rows.nodes import Call, Column, InList, Literal, Node, columns
from emdp.rows.ranges import bounds_of
from emdp.rows.record import Range
from emdp.sql.owned.keys import conditions

__all__ = ["ranges_in", "ranges_left"]


def ranges_in(node: Node, relation: Relation, names: Names) -> dict[Column, Range]:
    """Return what is known of the columns that a function of a row reads; ends may be infinite.

    No promise rests on it: a number is clamped to its range before it is summed up.
    """
    every = relations(relation)
    made = {one.alias: one for one in every if isinstance(one, Private | Public | Derived | Grouped | Windowed)}
    found: dict[Column, Range] = {}
    for column in columns(node):
        own = made.get(column.table)
        known = None if own is None or not column.kind.is_number else _range(column, own, names)
        if known is not None:
            found[column] = known
    return found


def ranges_left(node: Node, relation: Relation, names: Names) -> dict[Column, Range]:
    """Return what :func:`ranges_in` says, within what comparisons of WHERE with numbers leave of each column."""
    known = ranges_in(node, relation, names)
    for condition in conditions(relation):
        found = _compared(condition)
        if found is not None and found[0] in columns(node):
            column, (low, high) = found
            least, most = known.get(column, (-math.inf, math.inf))
            known[column] = max(low, least), min(high, most)
    return {column: (low, high) for column, (low, high) in known.items() if low <= high}


def _compared(condition: Node) -> tuple[Column, Range] | None:
    """Return a column and what a condition leaves of it, None where it compares no column of numbers with numbers."""
    if isinstance(condition, InList) and isinstance(condition.argument, Column) and condition.argument.kind.is_number:
        values = [float(own.value) for own in condition.values if isinstance(own.value, int | float)]
        return (condition.argument, (min(values), max(values))) if values else None
    if not isinstance(condition, Call) or condition.function not in _SWAPPED:
        return None
    function, (left, right) = condition.function, condition.arguments
    if isinstance(left, Literal):
        function, left, right = _SWAPPED[function], right, left
    if not (isinstance(left, Column) and left.kind.is_number and isinstance(right, Literal)):
        return None
    if not isinstance(right.value, int | float) or not math.isfinite(right.value):
        return None
    value = float(right.value)
    below, above = function in ("at_most", "less", "equal"), function in ("at_least", "greater", "equal")
    return left, (value if above else -math.inf, value if below else math.inf)


_SWAPPED: Mapping[str, str] = {
    "less": "greater", "greater": "less", "at_most": "at_least", "at_least": "at_most", "equal": "equal",
}  # fmt: skip


def _range(column: Column, own: Private | Public | Derived | Grouped | Windowed, names: Names) -> Range | None:
    if isinstance(own, Public):
        if own.source not in names.public:
            return None
        values = names.public[own.source].get_column(column.name).cast(pl.Float64, strict=False)
        finite = values.filter(values.is_finite())
        return None if finite.is_empty() else (float(finite.min()), float(finite.max()))  # type: ignore[arg-type]
    if isinstance(own, Private):
        space = names.private[own.source or names.table].space
        numeric = {name for part in space.parts if part.labels is None for name in part.columns}
        if column.name not in numeric:
            return None
        declared = analyse(SpaceColumn(column.name), space)
        return declared.low, declared.high
    node: Node | None = None
    if isinstance(own, Derived):
        node = dict(own.columns).get(column.name)
    elif isinstance(own, Windowed):
        window = dict(own.windows)[column.name]
        if isinstance(window.value, Summary):
            return _of_summary(window.value, own.relation, names)
        if window.argument is None:
            return 1.0, float("inf")
        node = window.argument if window.default is None else None
    else:
        node = dict(own.keys).get(column.name)
        if node is None:
            return _of_summary(dict(own.summaries)[column.name], own.relation, names)
    return None if node is None else bounds_of(node, ranges_in(node, own.relation, names))


def _of_summary(summary: Summary, relation: Relation, names: Names) -> Range | None:
    if summary.argument is None or summary.function in ("count", "distinct"):
        return 0.0, float("inf")
    known = bounds_of(summary.argument, ranges_in(summary.argument, relation, names))
    if known is None or summary.function != "sum":
        return known
    return (0.0 if known[0] >= 0 else float("-inf")), (0.0 if known[1] <= 0 else float("inf"))
