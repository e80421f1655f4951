"""Relations and who owns their rows (user-level-sql.md, 3.1).

A relation is *public* (the same on every private table), or *owned*: each of its rows belongs to one user, and the
rows of a user are a function of that user's own records and of public tables. What is neither has no type, and cannot
be made.

Theorem. Every relation that can be made here, and has ``is_owned``, is owned.

Proof. By induction. The private table is owned: that is what its user column says. A condition or a column is a
deterministic function of one row, so choosing or extending rows keeps the owner and reads nothing else. A join with a
public relation pairs each row with public rows that the condition picks, from that row and public rows alone; a LEFT
join adds the row itself where none is picked, which again the row and the public relation decide. Sides are not
exchanged: in a LEFT join with the owned relation on the right, a public row stands alone when *no user at all* matches
it, which is no function of one user; so that is refused (:meth:`Joined.__post_init__`).

Every relation has rows under names of tables and columns; an owned one has its user beside them, which no expression
names unless the user's column is read as a column.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from emdp.base.errors import UsageError
from emdp.rows.nodes import Node
from emdp.rows.types import Kind

__all__ = ["Derived", "Filtered", "Joined", "Private", "Public", "Relation", "relations"]


@dataclass(frozen=True)
class Private:
    """The private table under a name of the statement."""

    alias: str
    is_owned = True


@dataclass(frozen=True)
class Public:
    """A declared public table under a name of the statement; ``source`` is its own name."""

    alias: str
    source: str
    is_owned = False


@dataclass(frozen=True)
class Filtered:
    """The rows for which a condition is true: not false, and not NULL."""

    relation: "Relation"
    condition: Node

    def __post_init__(self) -> None:
        if self.condition.kind is not Kind.BOOLEAN:
            raise UsageError("condition must be BOOLEAN; compare the value with something.")

    @property
    def is_owned(self) -> bool:
        """Whether rows have an owner."""
        return self.relation.is_owned


@dataclass(frozen=True)
class Joined:
    """Pairs of an owned and a public row for which a condition is true.

    Parameters
    ----------
    relation : Relation
        Owned.
    other : Relation
        Public.
    condition : Node or None
        BOOLEAN; None pairs every row with every one.
    is_left : bool
        Whether a row without a partner stands with NULLs in its place.

    Raises
    ------
    UsageError
        If rows of the result would have no owner, or two.
    """

    relation: "Relation"
    other: "Relation"
    condition: Node | None
    is_left: bool = False

    def __post_init__(self) -> None:
        if not self.relation.is_owned or self.other.is_owned:
            raise UsageError("a join must have an owned relation on its left and a public one on its right; swap them.")
        if self.condition is not None and self.condition.kind is not Kind.BOOLEAN:
            raise UsageError("condition must be BOOLEAN; compare the value with something.")

    is_owned = True


@dataclass(frozen=True)
class Derived:
    """A relation with one row for each row of another: a sub-query without aggregates.

    Parameters
    ----------
    relation : Relation
        What it reads.
    alias : str
        Its name in the statement.
    columns : tuple of (str, Node)
        Its columns.
    """

    relation: "Relation"
    alias: str
    columns: tuple[tuple[str, Node], ...]

    @property
    def is_owned(self) -> bool:
        """Whether rows have an owner."""
        return self.relation.is_owned


Relation: TypeAlias = Private | Public | Filtered | Joined | Derived


def relations(relation: Relation) -> Iterator[Relation]:
    """Yield a relation and all that it is made of.

    >>> [type(one).__name__ for one in relations(Joined(Private("t"), Public("p", "places"), None))]
    ['Joined', 'Private', 'Public']
    """
    yield relation
    if isinstance(relation, Filtered | Derived | Joined):
        yield from relations(relation.relation)
    if isinstance(relation, Joined):
        yield from relations(relation.other)
