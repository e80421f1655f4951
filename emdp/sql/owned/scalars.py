"""Scalar SQL of a statement over rows with owners, by the reader of row expressions."""

from collections.abc import Callable

from sqlglot import exp

from emdp.base.classes import dataclass
from emdp.rows.nodes import Column, Node
from emdp.rows.types import Kind
from emdp.sql.context import Context
from emdp.sql.owned.items import check_items
from emdp.sql.rows.reader import read_row

__all__ = ["Reader"]


@dataclass(frozen=True, eq=False)
class Reader:
    """Reads scalar SQL."""

    context: Context
    # From a column of the tree to a column of a relation; raises SqlError for one that is none.
    column: Callable[[exp.Column], Column]

    def read(self, node: exp.Expr) -> Node:
        """Return the row expression of a tree."""
        check_items(self.context, node)
        return read_row(node, self.column, self.context.statement)

    def condition(self, node: exp.Expr) -> Node:
        """Return a condition."""
        found = self.read(node)
        if found.kind is not Kind.BOOLEAN:
            raise self.context.refusal(
                node, "this is no condition", remedy="compare it with something", code="condition"
            )
        return found
