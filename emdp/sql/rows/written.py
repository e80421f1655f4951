"""Protocol of a statement for the reader of row expressions."""

from typing import Protocol

from sqlglot import exp

from emdp.base.errors import SqlError

__all__ = ["Written"]


class Written(Protocol):
    """Protocol of a statement: :class:`emdp.sql.text.statement.Statement` has it."""

    def text_of(self, node: exp.Expr) -> str:
        """Return a node of the tree as it was written."""

    def refusal(self, node: exp.Expr | None, problem: str, *, remedy: str, code: str) -> SqlError:
        """Return the error that refuses a node of the tree."""
