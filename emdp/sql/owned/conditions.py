"""COUNT_IF, as other systems write COUNT(*) FILTER (WHERE condition)."""

from sqlglot import exp

from emdp.rows.building import call, case
from emdp.rows.nodes import Literal, Node
from emdp.rows.types import Kind
from emdp.sql.owned.scopes import Scope

__all__ = ["CONDITIONS", "counted_if"]

CONDITIONS = ("COUNT_IF", "COUNTIF")
"""Other ways to write COUNT(*) FILTER (WHERE condition)."""


def counted_if(scope: Scope, node: exp.Anonymous, condition: Node | None) -> Node:
    """Return what COUNT_IF(condition) counts: 1 where it is true, and FILTER's condition too."""
    name = node.name.upper()
    if len(node.expressions) != 1:
        raise scope.context.refusal(
            node,
            f"{name} takes one condition, not {len(node.expressions)}",
            remedy=f"write {name}(rating > 3)",
            code="argument-count",
        )
    found = scope.reader.condition(node.expressions[0])
    both = found if condition is None else call("and", found, condition)
    return case([(both, Literal(1, Kind.BIGINT))])
