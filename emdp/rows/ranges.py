"""Public facts of a row expression's results, before any row is read: range, and all values if they are few."""

import math
from collections.abc import Mapping

from emdp.rows.nodes import Call, Case, Cast, Column, InList, Literal, Node, is_null, operands
from emdp.rows.record import Range
from emdp.rows.rules import hull
from emdp.rows.types import Value

__all__ = ["MOST_VALUES", "bounds_of", "finite_values", "range_of"]

MOST_VALUES = 10_000
"""Most values that a list is made of."""


def range_of(node: Node, ranges: Mapping[Column, Range]) -> Range | None:
    """Return a range that holds every result that is neither NULL nor NaN, rounded outward.

    Parameters
    ----------
    node : Node
        An expression of kind BIGINT or DOUBLE.
    ranges : mapping of Column to (float, float)
        What is declared of columns: each value that is neither NULL nor NaN lies inside. Whoever declares it must see
        to it, as by clamping: nothing is checked here.

    Returns
    -------
    (float, float) or None
        None where an end is unknown or infinite, so that the range can serve as a sensitivity.

    >>> from emdp.rows.types import Kind
    >>> x = Column("t", "x", Kind.DOUBLE)
    >>> range_of(Call("multiply", (x, Literal(2.0, Kind.DOUBLE))), {x: (-1.0, 3.0)})
    (-2.0, 6.0)
    """
    found = bounds_of(node, ranges)
    return found if found is not None and math.isfinite(found[0]) and math.isfinite(found[1]) else None


def bounds_of(node: Node, ranges: Mapping[Column, Range]) -> Range | None:
    """Return what :func:`range_of` does, with an infinite end where nothing is known on that side alone.

    >>> from emdp.rows.types import Kind
    >>> n = Column("t", "n", Kind.DOUBLE)
    >>> bounds_of(Call("add", (n, Literal(2.0, Kind.DOUBLE))), {n: (1.0, math.inf)})
    (3.0, inf)
    """
    return _range(node, ranges, {})


def finite_values(node: Node) -> tuple[Value, ...] | None:
    """Return all results, in order, that an expression can have beside NULL, None where they are not known to be few.

    >>> from emdp.rows.types import Kind
    >>> finite_values(Call("is_null", (Column("t", "x", Kind.TEXT),)))
    (False, True)
    """
    if isinstance(node, Literal):
        return () if node.value is None else (node.value,)
    if isinstance(node, Case):
        return _joined([value for _, value in node.branches] + [node.otherwise])
    if isinstance(node, InList):
        return (False, True)
    if isinstance(node, Cast):
        return node.form.values([]) if node.form.values else None
    if not isinstance(node, Call):
        return None
    if node.form.values is not None:
        return node.form.values(node.values)
    # What chooses one of its arguments has their values.
    return _joined(node.arguments) if node.function in {"coalesce", "least", "greatest"} else None


def _range(node: Node, ranges: Mapping[Column, Range], known: dict[Node, Range | None]) -> Range | None:
    if node not in known:
        known[node] = _own_range(node, ranges, known)
    return known[node]


def _own_range(node: Node, ranges: Mapping[Column, Range], known: dict[Node, Range | None]) -> Range | None:
    if not node.kind.is_number:
        return None
    if isinstance(node, Column):
        return ranges.get(node)
    if isinstance(node, Literal):
        return _literal_range(node.value)
    if isinstance(node, Case):
        values = [value for _, value in node.branches] + [node.otherwise]
        return hull([_range(value, ranges, known) for value in values if not is_null(value)] or [(0.0, 0.0)])
    if isinstance(node, Call | Cast):
        rule = node.form.range_rule
        below = [_range(part, ranges, known) for part in operands(node)]
        return None if rule is None else rule(below, node.values if isinstance(node, Call) else ())
    return None


def _literal_range(value: Value) -> Range:
    if not isinstance(value, int | float):
        # NULL has no value, which any range holds.
        return 0.0, 0.0
    near = float(value)
    if near == value:
        return near, near
    return (math.nextafter(near, -math.inf), near) if near > value else (near, math.nextafter(near, math.inf))


def _joined(nodes: tuple[Node, ...] | list[Node]) -> tuple[Value, ...] | None:
    lists = [finite_values(node) for node in nodes]
    found = dict.fromkeys((type(value), value) for values in lists if values is not None for value in values)
    if any(values is None for values in lists) or len(found) > MOST_VALUES:
        return None
    values = [value for _, value in found]
    return tuple(sorted(values, key=lambda value: (value is None, value)))
