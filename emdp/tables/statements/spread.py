"""Records spread over cells: the layers with one row a record, and the sums at the corners of cells made of theirs.

A record's integer ``a`` is split along every hat axis in turn: an integer ``t`` gives ``round(t f)`` to the node above,
with the fraction ``f`` of a step, and keeps the rest. A record has a column for ``a`` and for each upper part, ``2**h``
in all, and none for a rest: sums are exact, so the sum of the rests is the sum of ``t`` less that of its upper parts.
The integers are those that fixed_point.py describes, at the cost of fewer operations a record. A value that is a
constant has no column at all: the sum of ``a`` is ``a`` times the number of records, or their weight.

Column ``split_i_c`` of value ``i``: read ``c`` as ``h`` binary digits, the first axis first, 1 for the upper node. Then
it is the part above along the axis of the last 1, of what the digits before it say, and ``a`` for ``c = 0``.
"""

from collections.abc import Callable, Iterable, Mapping
from math import prod

import polars as pl
from sqlglot import exp

from emdp.expressions import analyse
from emdp.expressions.cells.aggregation import HatAxis
from emdp.expressions.numbers.fixed_point import WEIGHT_BITS
from emdp.spaces import Space
from emdp.tables.facts import TableFacts
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.bags import BROKEN, DIGEST, broken_test, record_hash
from emdp.tables.statements.compile import USER, compile_items
from emdp.tables.statements.fragments import Sql
from emdp.tables.statements.layout import Layout

__all__ = [
    "BASE",
    "RECORDS",
    "WEIGHT",
    "columns_of",
    "corner_sums",
    "layer",
    "record_columns",
    "rule_sums",
    "spread_records",
    "summed_part",
]

WEIGHT, BASE, RECORDS = "weight", "base_cell", "records"
"""Names of columns of the layers: a record's weight under a cap, the number of its base cell, a number of records."""


def spread_records(table: TableFacts, layout: Layout) -> tuple[exp.Select, Mapping[str, pl.DataFrame]]:
    """Return the layers with one row a record, of :func:`record_columns`, and the public tables that they join."""
    rows, lookups = _records(table, layout)
    if layout.has_cells:
        rows = _in_base_cells(rows, layout)
        rows = _split(rows, layout)
    return rows, lookups


def record_columns(layout: Layout) -> tuple[str, ...]:
    """Return the names of the columns: the user, any weight, the base cell where there are cells, and the integers."""
    cell = (BASE,) if layout.has_cells else ()
    values = range(len(layout.values))
    corners = range(2 ** len(layout.hats))
    parts = (_name(value, at) for value in values for at in corners if at or value not in layout.constants)
    return (*_kept(layout), *cell, *parts)


def corner_sums(layout: Layout, summed: Callable[[Sql], Sql], records: Sql) -> dict[str, Sql]:
    """Return the sums at the corners above a base cell, under the names ``layout.shares``.

    Parameters
    ----------
    summed : callable
        What makes an exact sum, of 128 bits, of a column of integers.
    records : Sql
        The number of records, or the sum of their weights.

    >>> from emdp.expressions import col
    >>> from emdp.expressions.cells.aggregation import Aggregation
    >>> from emdp.spaces import Interval
    >>> from emdp.tables.statements.layout import layout_of
    >>> tents = Aggregation((col("x"),), (HatAxis(col("x"), start=0, step=1, size=3),))
    >>> sums = corner_sums(layout_of(tents, Interval("x", 0, 2)), lambda part: exp.Sum(this=part), exp.Count())
    >>> {name: text.sql("duckdb") for name, text in sums.items()}
    {'share_0_0': '(SUM("split_0_0") - SUM("split_0_1"))', 'share_0_1': 'SUM("split_0_1")'}
    """
    axes = len(layout.hats)
    found: list[Sql] = []
    for value in range(len(layout.values)):
        constant = layout.constants.get(value)
        sums = [summed(sql.column(_name(value, corner))) for corner in range(2**axes)]
        if constant is not None:
            sums[0] = sql.multiply(sql.cast(records.copy(), "HUGEINT"), sql.integer(constant))
        for level in range(1, axes + 1):
            step = 2 ** (axes - level)
            for lower in range(0, 2**axes, 2 * step):
                sums[lower] = sql.subtract(sums[lower], sums[lower + step].copy())
        found += sums
    return dict(zip(layout.shares(axes), found, strict=True))


def summed_part(layout: Layout, part: Sql) -> Sql:
    """Return the exact sum of integers, times their records' weights where these differ."""
    if layout.weight is not None:
        return exp.Sum(this=sql.multiply(sql.cast(part, "HUGEINT"), sql.column(WEIGHT)))
    return sql.bounded(exp.Sum(this=part))


def rule_sums(layout: Layout) -> dict[str, Sql]:
    """Return what is counted of some records for the rules: how many they are, and how many break one."""
    if not layout.is_checked:
        return {}
    hashed = exp.Anonymous(this="bit_xor", expressions=[sql.column(DIGEST)])
    return {RECORDS: exp.Count(this=exp.Star()), BROKEN: exp.CountIf(this=sql.column(BROKEN)), DIGEST: hashed}


def columns_of(names: Iterable[str]) -> dict[str, Sql]:
    """Return columns that are handed on as they are."""
    return {name: sql.column(name) for name in names}


def layer(columns: Mapping[str, Sql], rows: exp.Select) -> exp.Select:
    """Return a SELECT of some columns from another one."""
    return sql.select(columns, rows.subquery("layer", copy=False))


def _records(table: TableFacts, layout: Layout) -> tuple[exp.Select, Mapping[str, pl.DataFrame]]:
    """Return the layer with one row a record: its integers, its weight, its place along each axis."""
    weights = () if layout.weight is None else (layout.weight,)
    spread = tuple(axis.expression for axis in layout.hats.values())
    asked = (*layout.values, *weights, *layout.labels.values(), *spread)
    items = compile_items(table, asked, is_checked=layout.is_checked)
    found = iter(items.values)
    columns = {USER: sql.column(USER)}
    if layout.is_checked:
        columns |= {BROKEN: broken_test(table.space), DIGEST: record_hash(table.space)}
    for value, exponent in enumerate(layout.exponents):
        computed = next(found)
        if value not in layout.constants:
            columns[_name(value, 0)] = items.counted(sql.cast(sql.shift(computed, exponent), "BIGINT"))
    for _ in weights:
        columns[WEIGHT] = items.counted(sql.cast(sql.shift(next(found), WEIGHT_BITS), "BIGINT"))
    if layout.is_counted:
        columns[WEIGHT] = items.counted(sql.integer(1))
    for position in layout.labels:
        columns[f"cell_{position}"] = next(found)
    for position, axis in layout.hats.items():
        columns[f"place_{position}"] = _place(next(found), axis, table.space)
    rows = sql.select(columns, items.relation)
    for join in items.joins:
        rows = rows.join(join, copy=False)
    return rows, items.lookups


def _place(value: Sql, axis: HatAxis, space: Space) -> Sql:
    """Return the place along an axis, in steps from its first node; clamped where it may leave the axis.

    A minimum or maximum costs DuckDB as much as the rest of the place. Subtraction and division by a positive number
    are monotone as doubles, too, so every value as computed stays on the axis if the bounds of them do.
    """
    steps = sql.divide(sql.subtract(value, sql.number(axis.start)), sql.number(axis.step))
    if axis.is_periodic:
        # One node more: it is node 0 again.
        return sql.call("LEAST", sql.call("GREATEST", steps, sql.number(0)), sql.number(axis.size))
    last = float(axis.size - 1)
    known = analyse(axis.expression, space)
    low, high = ((bound - axis.start) / axis.step for bound in (known.computed_low, known.computed_high))
    if not low >= 0:
        steps = sql.call("GREATEST", steps, sql.number(0))
    return steps if high <= last else sql.call("LEAST", steps, sql.number(last))


def _in_base_cells(rows: exp.Select, layout: Layout) -> exp.Select:
    """Add layers that make places along the axes one base cell, negative for none, and fractions of a step above it."""
    kept = (*_kept(layout), *_wholes(layout))
    places = columns_of((*(f"cell_{at}" for at in layout.labels), *(f"place_{at}" for at in layout.hats)))
    nodes: dict[str, Sql] = {}
    for position, axis in layout.hats.items():
        node = sql.call("FLOOR", sql.column(f"place_{position}"))
        # A record on the last node has nothing above it, wherever that is; but node `size` of a circle has no number.
        nodes[f"node_{position}"] = sql.call("LEAST", node, sql.number(axis.size - 1)) if axis.is_periodic else node
    rows = layer({**columns_of(kept), **places, **nodes}, rows)
    steps = {position: sql.column(f"cell_{position}") for position in layout.labels}
    steps.update((position, sql.column(f"node_{position}")) for position in layout.hats)
    # Whole doubles, exactly, and cast once, to the smallest type: records are grouped by it.
    cell = sql.total(sql.multiply(step, sql.number(layout.stride(position))) for position, step in steps.items())
    kind = exp.DataType.Type.INT if prod(layout.sizes) < 2**31 else exp.DataType.Type.BIGINT
    cell = exp.Cast(this=cell, to=exp.DataType(this=kind))
    if layout.labels:
        outside = sql.either(sql.compare(steps[position].copy(), "<", sql.number(0)) for position in layout.labels)
        cell = sql.case([(outside, sql.integer(-1))], cell)
    fractions = {
        f"fraction_{at}": sql.subtract(sql.column(f"place_{at}"), sql.column(f"node_{at}")) for at in layout.hats
    }
    return layer({**columns_of(kept), BASE: cell, **fractions}, rows)


def _split(rows: exp.Select, layout: Layout) -> exp.Select:
    """Add a layer for each hat axis with the part of every integer that goes to the upper node."""
    positions = list(layout.hats)
    known = [*_kept(layout), BASE, *_wholes(layout)]
    for level, position in enumerate(positions, start=1):
        columns = columns_of((*known, *(f"fraction_{later}" for later in positions[level:])))
        for value in range(len(layout.values)):
            for before in range(2 ** (level - 1)):
                part = sql.multiply(_node(layout, value, before, level - 1), sql.column(f"fraction_{position}"))
                name = _name(value, (2 * before + 1) << (len(positions) - level))
                columns[name] = sql.cast(part, "BIGINT")
                known.append(name)
        rows = layer(columns, rows)
    return rows


def _node(layout: Layout, value: int, digits: int, length: int) -> Sql:
    """Return the integer at a node of the splits so far, which ``length`` binary digits name."""
    rest = len(layout.hats) - length
    if length == 0:
        constant = layout.constants.get(value)
        return sql.column(_name(value, 0)) if constant is None else sql.integer(constant)
    if digits % 2:
        return sql.column(_name(value, digits << rest))
    upper = sql.column(_name(value, (digits + 1) << rest))
    return sql.subtract(_node(layout, value, digits // 2, length - 1), upper)


def _name(value: int, corner: int) -> str:
    return f"split_{value}_{corner}"


def _wholes(layout: Layout) -> tuple[str, ...]:
    return tuple(_name(value, 0) for value in range(len(layout.values)) if value not in layout.constants)


def _kept(layout: Layout) -> tuple[str, ...]:
    """Return the columns that every layer of records hands on."""
    weight = () if layout.weight is None and not layout.is_counted else (WEIGHT,)
    return (USER, *weight, *((BROKEN, DIGEST) if layout.is_checked else ()))
