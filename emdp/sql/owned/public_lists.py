"""Values that a column of a public table can have in rows that conditions leave: a public list of groups.

Conditions of a statement hold for each row that is left. So a row's value of a column of a public table is that of a
row of this table which fulfils what is said of it, and whose partner in another public table, where the two are
equated, does too. The list may be longer than the groups that have rows, and is the same whatever the records are.
"""

from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from emdp.rows.nodes import Call, Column, InList, Literal, Node, columns
from emdp.rows.types import Kind, Value

__all__ = ["allowed_values", "public_values"]

TAKEN = (Kind.TEXT, Kind.BIGINT, Kind.BOOLEAN, Kind.DATE)
"""Kinds whose values are compared here: others, such as numbers with a fraction, are left as they are."""

Frames = dict[str, pl.DataFrame]


def public_values(
    column: Column, frames: Mapping[str, pl.DataFrame], conditions: Iterable[Node]
) -> tuple[Value, ...] | None:
    """Return the values of a column, in order, None for a kind that is no key.

    Parameters
    ----------
    column : Column
        Of one of the tables.
    frames : mapping of str to polars.DataFrame
        Public tables by their names in the statement.
    conditions : iterable of Node
        What each row fulfils; what is no comparison of public columns with literals or with one another counts nothing.

    >>> zone, city = Column("z", "zone", Kind.TEXT), Column("z", "city", Kind.TEXT)
    >>> zones = pl.DataFrame({"zone": ["a", "b", "c"], "city": ["x", "x", "y"]})
    >>> public_values(zone, {"z": zones}, [Call("equal", (city, Literal("x", Kind.TEXT)))])
    ('a', 'b')
    """
    if column.kind not in TAKEN:
        return None
    left: Frames = dict(frames)
    pairs: list[tuple[Column, Column]] = []
    for node in conditions:
        for own in columns(node):
            named = allowed_values(own, node) if _is_known(own, left) else None
            if named is not None:
                left = _chosen(left, own, named)
        if isinstance(node, Call) and node.function == "equal":
            one, other = node.arguments
            if _is_known(one, left) and _is_known(other, left) and one.kind is other.kind:
                pairs.append((one, other))  # type: ignore[arg-type]
    for _ in pairs:
        for one, other in (*pairs, *((other, one) for one, other in pairs)):
            left = _chosen(left, one, left[other.table].get_column(other.name).drop_nulls().unique().to_list())
    values = left[column.table].get_column(column.name).drop_nulls().unique().sort().to_list()
    return tuple(values)


def allowed_values(key: Node, condition: Node) -> tuple[Value, ...] | None:
    """Return the values of a key that a condition names where it is true, in their order; None where it names none.

    >>> x = Column("t", "x", Kind.BIGINT)
    >>> one, two = (Call("equal", (x, Literal(value, Kind.BIGINT))) for value in (1, 2))
    >>> allowed_values(x, Call("or", (one, Call("and", (two, Call("is_null", (x,)))))))
    (1, 2)
    """
    if isinstance(condition, InList) and condition.argument == key:
        return tuple(dict.fromkeys(value.value for value in condition.values))
    if not isinstance(condition, Call):
        return None
    if condition.function == "equal" and key in condition.arguments:
        other = condition.arguments[1 - condition.arguments.index(key)]
        return (other.value,) if isinstance(other, Literal) and other.value is not None else None
    inner = [allowed_values(key, own) for own in condition.arguments if not _is_never(own)]
    if condition.function == "and":
        return next((own for own in inner if own is not None), None)
    if condition.function == "or" and inner and all(own is not None for own in inner):
        return tuple(dict.fromkeys(value for own in inner for value in own or ()))
    return None


def _is_never(condition: Node) -> bool:
    """Say whether a condition is true of no row, as the NULL of ``x IN (1, NULL)``: an alternative to nothing."""
    return isinstance(condition, Literal) and condition.value is not True


def _is_known(node: Node, frames: Frames) -> bool:
    return isinstance(node, Column) and node.table in frames and node.kind in TAKEN


def _chosen(frames: Frames, column: Node, values: Sequence[Value]) -> Frames:
    """Return the tables with the rows of one of them that have one of some values."""
    if not isinstance(column, Column):
        return frames
    frame = frames[column.table]
    own = frame.get_column(column.name)
    # Categories and enumerated texts are compared as texts.
    own = own.cast(pl.String) if column.kind is Kind.TEXT else own
    wanted = pl.Series([value for value in values if value is not None], dtype=own.dtype, strict=False)
    return {**frames, column.table: frame.filter(own.is_in(wanted.implode()))}
