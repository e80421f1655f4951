"""Views of rows: columns that are functions of one row each, of the rows for which a condition is true."""

import hashlib

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.rows.nodes import Node, columns
from emdp.rows.types import Kind

__all__ = ["SOURCE", "RowView"]

SOURCE = "source"
"""Table of the columns that a view reads, and what it calls its rows."""


@dataclass(frozen=True)
class RowView:
    """A view of one table, row by row.

    Each of its rows is a function of one row of the table, and of nothing else. So it belongs to one user, and what it
    is does not depend on the rows of others, nor on their order: no view that can be made here mixes users.
    """

    columns: tuple[tuple[str, Node], ...]  # Its columns, at least one
    condition: Node | None  # BOOLEAN; rows for which it is not true are left out
    text: str

    def __post_init__(self) -> None:
        names = [name.lower() for name, _ in self.columns]
        if not names or len(set(names)) < len(names):
            raise UsageError("columns must be at least one, each of a name of its own; name them.")
        if self.condition is not None and self.condition.kind is not Kind.BOOLEAN:
            raise UsageError("condition must be BOOLEAN; compare the value with something.")

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of the columns that it reads, in order."""
        nodes = [node for _, node in self.columns] + ([] if self.condition is None else [self.condition])
        return tuple(sorted({column.name for node in nodes for column in columns(node)}))

    @property
    def digest(self) -> str:
        """Hash of the text."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogateescape")).hexdigest()
