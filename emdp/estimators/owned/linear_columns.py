"""Columns that are weighted sums of counts and sums of one draw, with the exact law of that sum of their noises."""

from collections.abc import Mapping
from fractions import Fraction

from emdp.estimators.columns.pairs import Total
from emdp.estimators.columns.true_totals import OneSided
from emdp.estimators.columns.values import Coordinate, OutputColumn
from emdp.estimators.owned.columns import Combination, Terms
from emdp.questions.owned.question import Computed
from emdp.rows.nodes import Call, Cast, Column, Literal, Node
from emdp.rows.types import Kind

__all__ = ["linear_column"]


def linear_column(own: Computed, items: Mapping[str, OutputColumn]) -> OutputColumn | None:
    """Return a computed column that is a weighted sum of counts and sums, with the exact law; None for any other."""
    weights = _linear(own.node)
    if weights is None:
        return None
    offset = weights.pop(None, Fraction(0))
    found: dict[Coordinate, Fraction] = {}
    has_low = has_high = True
    for name, weight in weights.items():
        column = items.get(name or "")
        inner = column.column if isinstance(column, OneSided) else column
        terms = _terms(inner)
        if terms is None:
            return None
        if isinstance(column, OneSided) and weight:
            has_low &= column.has_low if weight > 0 else column.has_high
            has_high &= column.has_high if weight > 0 else column.has_low
        for coordinate, factor in terms:
            found[coordinate] = found.get(coordinate, Fraction(0)) + weight * factor
    kept = tuple((coordinate, weight) for coordinate, weight in found.items() if weight)
    if not kept:
        return None
    made: OutputColumn = Combination(own.name, kept, offset)
    if len(kept) == 2 and not offset:
        # The law of two is exact.
        (first, one), (second, other) = kept
        made = Total(own.name, (one, other), (first, second))
    return made if has_low and has_high else OneSided(made, has_low, has_high)


def _linear(node: Node) -> dict[str | None, Fraction] | None:
    """Return the weight of each aggregate in a weighted sum, and of None the public summand; None for no such sum."""
    if isinstance(node, Column):
        return {node.name: Fraction(1)} if node.kind is Kind.DOUBLE else None
    if isinstance(node, Literal):
        return {None: Fraction(node.value)} if isinstance(node.value, int | float) else None
    if isinstance(node, Cast):
        return _linear(node.argument) if node.kind is Kind.DOUBLE else None
    if not isinstance(node, Call) or node.kind is not Kind.DOUBLE:
        return None
    below = [_linear(argument) for argument in node.arguments]
    known = [one for one in below if one is not None]
    if len(known) < len(below):
        return None
    if node.function == "negate":
        return {name: -weight for name, weight in known[0].items()}
    if node.function in ("add", "subtract"):
        sign = 1 if node.function == "add" else -1
        names = [*known[0], *(name for name in known[1] if name not in known[0])]
        return {name: known[0].get(name, Fraction(0)) + sign * known[1].get(name, Fraction(0)) for name in names}
    scalars = [_constant(one) for one in known]
    if node.function == "multiply" and scalars[0] is not None:
        return {name: scalars[0] * weight for name, weight in known[1].items()}
    if node.function == "multiply" and scalars[1] is not None:
        return {name: scalars[1] * weight for name, weight in known[0].items()}
    if node.function == "divide" and scalars[1]:
        return {name: weight / scalars[1] for name, weight in known[0].items()}
    return None


def _constant(weights: Mapping[str | None, Fraction]) -> Fraction | None:
    return weights.get(None, Fraction(0)) if set(weights) <= {None} else None


def _terms(column: object) -> Terms | None:
    if isinstance(column, Combination) and not column.offset:
        return column.terms
    if isinstance(column, Total):
        return tuple(zip(column.parts, column.weights, strict=True))
    return None
