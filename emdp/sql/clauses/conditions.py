"""WHERE: which users count, and the weight of each record, from the conditions that AND joins at its top."""

from collections.abc import Sequence
from functools import reduce
from operator import and_

import polars as pl
from sqlglot import exp

from emdp.base.classes import dataclass
from emdp.expressions.nodes.base import Constant, Expression
from emdp.sql.context import Context
from emdp.sql.names.checking import checked
from emdp.sql.names.columns import Condition, PartCondition, UserCondition
from emdp.sql.values.predicates import Predicates, as_factor, conjuncts, merged
from emdp.sql.values.scalar import Scalars

__all__ = ["Chosen", "chosen", "where_conditions"]


@dataclass(frozen=True, eq=False)
class Chosen:
    """Records and users that the filters of a statement leave."""

    users: pl.Series | None  # Which listed users count, without nulls; None for all
    factor: Expression | None  # Weight of a record, in [0, 1]; None for 1
    node: exp.Expr | None


def where_conditions(scalars: Scalars, node: exp.Expr) -> tuple[tuple[Condition, exp.Expr], ...]:
    """Return the conditions that AND joins at the top of a WHERE, each with its place in the text."""
    predicates = Predicates(scalars)
    return tuple((predicates.condition(part), part) for part in conjuncts(node))


def chosen(context: Context, conditions: Sequence[tuple[Condition, exp.Expr]]) -> Chosen:
    """Return what conditions leave that all must hold."""
    users = [condition.values for condition, _ in conditions if isinstance(condition, UserCondition)]
    kept = reduce(and_, users).fill_null(value=False) if users else None
    if kept is not None and not kept.any():
        first = next(node for condition, node in conditions if isinstance(condition, UserCondition))
        raise context.refusal(
            first, "no public user meets the conditions", remedy="choose at least one user", code="no-users"
        )
    records = [(condition, node) for condition, node in conditions if not isinstance(condition, UserCondition)]
    factor: Expression | None = None
    for condition, node in merged(records):
        if isinstance(condition, UserCondition):
            continue
        if isinstance(condition, PartCondition) and condition.holds.is_empty_in(condition.part):
            raise context.refusal(
                node, "no item meets this condition", remedy="choose at least one value", code="no-items"
            )
        weight = as_factor(context, condition, node)
        if isinstance(weight, Constant) and factor is not None:
            continue
        is_first = factor is None or isinstance(factor, Constant)
        factor = weight if is_first else context.made(factor * weight, node)
    if factor is not None and checked(context, factor, records[0][1]).high <= 0:
        raise context.refusal(
            records[0][1], "no item meets the conditions", remedy="choose records that occur", code="no-items"
        )
    return Chosen(kept, factor, records[0][1] if records else None)
