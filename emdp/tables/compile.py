"""Expressions over a table's items as SQL: which rows to read, which public tables to join, what to compute.

A continuous part is cleaned by its ``on_invalid`` rule only in the branch of a CASE for rows outside the domain, so
that valid rows cost nothing extra. A finite part is joined to a public table of its labels that holds every leaf's
value, computed by the numpy reference; a row that finds no label takes the neutral item's values.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from sqlglot import exp

from emdp.errors import UsageError
from emdp.expressions import Expression, walk
from emdp.expressions.categories import Case
from emdp.expressions.leaves import Leaf
from emdp.expressions.nodes import Column
from emdp.expressions.resolve import part_of_columns
from emdp.spaces import Space, Words
from emdp.spaces.base import Floats
from emdp.tables import fragments as sql
from emdp.tables.clean import CleanColumns, clean_columns
from emdp.tables.formulas import leaf_formula, node_formula
from emdp.tables.fragments import Sql
from emdp.tables.table import Table

__all__ = ["CompiledItems", "ItemSource", "compile_items", "item_source", "label_text", "part_columns"]

TOKENS = "item_token"
"""Name of the column of words that a Words part makes of each message."""


@dataclass(frozen=True, eq=False)
class ItemSource:
    """One row an item: where the items come from.

    Parameters
    ----------
    user : Sql
        The user column.
    relation : Sql
        What follows FROM: the rows, or for a Words part the tokens of each row.
    tokens : str or None
        The message column that was split into words, if any.
    """

    user: Sql
    relation: Sql
    tokens: str | None


@dataclass(frozen=True, eq=False)
class CompiledItems:
    """Expressions ready to be aggregated.

    Parameters
    ----------
    user, relation : Sql
        As in :class:`ItemSource`.
    joins : tuple of Sql
        Left joins of the public tables in ``lookups``.
    values : tuple of Sql
        Each expression's value for an item, after the ``on_invalid`` rule.
    lookups : mapping of str to polars.DataFrame
        Public tables to register under these names.
    """

    user: Sql
    relation: Sql
    joins: tuple[exp.Join, ...]
    values: tuple[Sql, ...]
    lookups: Mapping[str, pl.DataFrame]


def compile_items(table: Table, expressions: Sequence[Expression]) -> CompiledItems:
    """Return the SQL of some expressions over a table's items."""
    space = table.space
    source = item_source(table)
    nodes = [node for expression in expressions for node in walk(expression)]
    by_part: dict[int, list[Expression]] = {}
    for leaf in dict.fromkeys(node for node in nodes if _is_leaf(node)):
        by_part.setdefault(_part_index(leaf, space), []).append(leaf)
    joins: list[exp.Join] = []
    lookups: dict[str, pl.DataFrame] = {}
    finite: dict[Expression, Sql] = {}
    continuous: dict[int, CleanColumns] = {}
    for index, own in by_part.items():
        part = space.parts[index]
        if part.labels is None:
            continuous[index] = clean_columns(part, part_columns(table, part, source))
            continue
        name = f"lookup_{index}"
        lookups[name], neutral = _lookup(part, own)
        joins.append(_join(name, label_key(table, part, source)))
        for position, leaf in enumerate(own):
            value = sql.column(f"value_{position}", name)
            finite[leaf] = sql.call("COALESCE", value, sql.number(neutral[position]))
    values = tuple(_value(expression, space, finite, continuous, by_part) for expression in expressions)
    return CompiledItems(source.user, source.relation, tuple(joins), values, lookups)


def item_source(table: Table) -> ItemSource:
    """Return where a table's items come from: its rows, or the words of its messages."""
    messages = [part for part in table.space.parts if isinstance(part, Words)]
    if not messages:
        return ItemSource(sql.column(table.user), exp.to_table("source_rows"), None)
    if len(messages) > 1:
        raise UsageError("space has two Words parts; words of two columns do not pair up, so keep one.")
    (part,) = messages
    message = sql.cast(sql.column(part.column), "TEXT")
    none = exp.Array(expressions=[exp.Null()])
    # A missing message is one invalid item; a message without words is no item at all.
    words = sql.case([(sql.is_null(sql.column(part.column)), none)], _tokens(part, message))
    kept = [sql.column(name) for name in dict.fromkeys((table.user, *table.space.columns))]
    rows = exp.select(*kept, exp.alias_(exp.Explode(this=words), TOKENS, quoted=True)).from_("source_rows")
    return ItemSource(sql.column(table.user), rows.subquery("items"), part.column)


def part_columns(table: Table, part: Space, source: ItemSource) -> dict[str, Sql]:
    """Return a continuous part's columns as DOUBLE expressions; text that is no number becomes NULL."""
    return {name: _double(table, name) for name in part.columns}


def label_key(table: Table, part: Space, source: ItemSource) -> Sql:
    """Return the text by which a finite part's row finds its label."""
    name = part.columns[0]
    return sql.column(TOKENS) if name == source.tokens else sql.cast(sql.column(name), "TEXT")


def label_text(label: Any) -> str:
    """Return a label as SQL's cast to text writes it.

    >>> label_text("Bar"), label_text(3), label_text(True)
    ('Bar', '3', 'true')
    """
    return str(label).lower() if isinstance(label, bool) else str(label)


def _double(table: Table, name: str) -> Sql:
    column = sql.column(name)
    if table.schema[name].upper() == "DOUBLE":
        return column
    return sql.cast(column, "DOUBLE", safe=True)


def _tokens(part: Words, message: Sql) -> Sql:
    if part.tokenizer == "words":
        message = exp.Translate(this=message, from_=sql.text(part.CAPITALS), to=sql.text(part.SMALL))
    return exp.Anonymous(this="regexp_extract_all", expressions=[message, sql.text(part.pattern)])


def _is_leaf(node: Expression) -> bool:
    return isinstance(node, Leaf | Column)


def _part_index(leaf: Expression, space: Space) -> int:
    if isinstance(leaf, Column):
        return part_of_columns(space, (leaf.name,))
    index: int = leaf.locate(space).index  # type: ignore[attr-defined]
    return index


def _lookup(part: Space, leaves: Sequence[Expression]) -> tuple[pl.DataFrame, list[float]]:
    labels = part.labels or ()
    items = np.arange(len(labels), dtype=np.float64)[:, None]
    neutral = part.neutral_item
    data: dict[str, Any] = {"label": [label_text(label) for label in labels]}
    neutral_values = []
    for position, leaf in enumerate(leaves):
        data[f"value_{position}"] = _label_values(leaf, part, items)
        neutral_values.append(float(_label_values(leaf, part, neutral)[0]))
    return pl.DataFrame(data), neutral_values


def _choice(branch: Sql, values: Sequence[Sql]) -> Sql:
    tests = [sql.compare(branch.copy(), "=", sql.number(number)) for number in range(len(values) - 1)]
    return sql.case(zip(tests, (value.copy() for value in values[:-1]), strict=True), values[-1].copy())


def _label_values(leaf: Expression, part: Space, items: Floats) -> Floats:
    # A case is joined by the number of the branch that a label chooses; its branches are compiled apart.
    branches = tuple(np.full(len(items), float(number)) for number in range(len(leaf.operands)))
    return leaf.values_on(part, items, branches)


def _join(name: str, key: Sql) -> exp.Join:
    condition = exp.EQ(this=key, expression=sql.column("label", name))
    return exp.Join(this=exp.to_table(name), side="LEFT", on=condition)


def _value(
    expression: Expression,
    space: Space,
    finite: Mapping[Expression, Sql],
    continuous: Mapping[int, CleanColumns],
    by_part: Mapping[int, Sequence[Expression]],
) -> Sql:
    own = set(walk(expression))
    used = [index for index in continuous if own.intersection(by_part[index])]

    def compiled(which: str) -> Sql:
        columns = {name: value for index in used for name, value in getattr(continuous[index], which).items()}
        return _formula(expression, space, finite, columns)

    if not used:
        return compiled("raw")
    valid = sql.both(continuous[index].valid for index in used)
    return sql.case([(valid, compiled("raw"))], compiled("clean"))


def _formula(
    expression: Expression, space: Space, finite: Mapping[Expression, Sql], columns: Mapping[str, Sql]
) -> Sql:
    done: dict[int, Sql] = {}
    for node in walk(expression):
        if isinstance(node, Case):
            done[id(node)] = _choice(finite[node], [done[id(operand)] for operand in node.operands])
        elif node in finite:
            done[id(node)] = finite[node].copy()
        elif isinstance(node, Leaf | Column):
            done[id(node)] = leaf_formula(node, space, columns)
        else:
            done[id(node)] = node_formula(node, [done[id(operand)].copy() for operand in node.operands])
    return done[id(expression)]

