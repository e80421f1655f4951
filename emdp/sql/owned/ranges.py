"""Ranges of columns, carried from the space through sub-queries."""

import polars as pl

from emdp.expressions.analysis.checker import analyse
from emdp.expressions.nodes.base import Column as SpaceColumn
from emdp.questions.names import Names
from emdp.questions.owned.parts import relations
from emdp.questions.owned.relations import Derived, Grouped, Private, Public, Relation, Windowed
from emdp.questions.owned.summaries import Summary
from emdp.rows.nodes import Column, Node, columns
from emdp.rows.ranges import bounds_of
from emdp.rows.record import Range

__all__ = ["ranges_in"]


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
