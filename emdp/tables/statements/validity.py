"""The ``on_invalid`` rule of a continuous part as SQL: which rows are valid, and what stands for the others.

The same rules as ``Space.encode`` in numpy; what differs between kinds of spaces stands in ``kinds.py``.

A cell of a ``Grid`` is found from the numbers after the rule of the space inside it, by the operations of
:class:`emdp.spaces.combined.grid.GridAxis` in their order, so that engine and numpy agree bit for bit.
"""

from collections.abc import Mapping, Sequence

from emdp.spaces import Grid, Space
from emdp.spaces.combined.grid import GridAxis
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.fragments import Sql
from emdp.tables.statements.kinds import Facts, sql_of, within

__all__ = ["clean_columns", "first_facts", "second_facts"]


def first_facts(part: Space, raw: Mapping[str, Sql]) -> dict[str, Sql]:
    """Return the facts that follow from a part's columns alone.

    Parameters
    ----------
    part : Space
        A continuous part, or a ``Grid`` over one.
    raw : mapping of str to Sql
        Each of the part's columns as a DOUBLE expression.
    """
    if isinstance(part, Grid):
        return first_facts(part.inner, raw)
    kind = sql_of(part)
    facts = {"valid": kind.valid(part, raw)}
    if part.on_invalid == "clamp":
        facts |= {"missing": kind.missing(part, raw), **kind.first(part, raw)}
    return facts


def second_facts(part: Space, raw: Mapping[str, Sql], facts: Facts) -> dict[str, Sql]:
    """Return the facts that follow from the first ones, such as the length of a ball's rays."""
    return sql_of(part.inner if isinstance(part, Grid) else part).second(part, raw, facts)


def clean_columns(part: Space, raw: Mapping[str, Sql], facts: Facts) -> dict[str, Sql]:
    """Return a part's columns after its rule.

    A valid row passes through the first branch of a CASE, and the rule is computed for the others alone. A ``Grid`` has
    one column, the number of the cell as a DOUBLE, under the name of its first one.
    """
    if isinstance(part, Grid):
        return {part.columns[0]: _cell(part, raw, facts)}
    valid = facts["valid"]
    neutral = dict(zip(part.columns, map(sql.number, part.neutral_item[0].tolist()), strict=True))
    if part.on_invalid != "clamp":
        # After validate() no row is invalid under "error"; should one slip in since, it counts as neutral,
        # because an error now would depend on the data (style.md rule 18).
        return {name: sql.case([(valid, raw[name])], neutral[name]) for name in part.columns}
    clamped = sql_of(part).clamped(part, raw, facts)
    branches = {name: [(valid, raw[name]), (facts["missing"], neutral[name])] for name in part.columns}
    return {name: sql.case(branches[name], clamped[name]) for name in part.columns}


def _cell(part: Grid, raw: Mapping[str, Sql], facts: Facts) -> Sql:
    neutral = sql.number(part.neutral_code)
    inner = part.inner
    columns = [raw[name] for name in inner.columns]
    # Nearly every row is below the last edge of each axis, where no minimum is needed: DuckDB takes one slowly.
    below = within([(value, axis.low, axis.top) for value, axis in zip(columns, part.axes, strict=True)])
    branches = [(below, _cell_number(part, columns, is_below=True)), (facts["valid"], _cell_number(part, columns))]
    if part.on_invalid != "clamp":
        return sql.case(branches, neutral)
    clamped = sql_of(inner).clamped(inner, raw, facts)
    moved = _cell_number(part, [clamped[name] for name in inner.columns])
    return sql.case([*branches, (facts["missing"], neutral)], moved)


def _cell_number(part: Grid, values: Sequence[Sql], *, is_below: bool = False) -> Sql:
    terms = []
    for value, axis, stride in zip(values, part.axes, part.strides, strict=True):
        cell = _axis_cell(value, axis, is_below=is_below)
        terms.append(cell if stride == 1 else sql.multiply(cell, sql.number(stride)))
    return sql.total(terms)


def _axis_cell(value: Sql, axis: GridAxis, *, is_below: bool) -> Sql:
    place = sql.multiply(sql.subtract(value, sql.number(axis.low)), sql.number(axis.scale))
    cell = sql.call("FLOOR", place)
    return cell if is_below else sql.call("LEAST", cell, sql.number(axis.count - 1))
