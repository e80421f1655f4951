"""Relations and who owns their rows (user-level-sql.md, 3.1).

A relation is *public* (the same on every private table), or *owned*: each of its rows belongs to one user, and the
rows of a user are a function of that user's own records and of public tables. What is neither has no type, and cannot
be made.

Theorem. Every relation that can be made here, and has ``is_owned``, is owned; every other one is public.

Proof. By induction; ``R_u`` are the rows of user ``u``.

- The private table is owned: that is what its user column says. So is a table that is linked to it: the user of a row
  is found through rows of that user alone, since each value of a key stands once (:mod:`emdp.tables.links`); a row
  that a link leads to no user is none of the relation's. A list of users (:class:`UserList`) is a public table
  whose rows are given to the users that its key names: ``R_u`` are public rows.
- A condition or a column is a deterministic function of one row, so choosing or extending rows keeps the owner and
  reads nothing else.
- A join with a public relation pairs each row with public rows that the condition picks, from that row and public rows
  alone; a LEFT join adds the row itself where none is picked, which again the row and the public relation decide. A
  join of two owned relations pairs rows of the same user alone: the pairs of ``u`` are made of ``R_u`` and ``S_u``.
  Sides are not exchanged: with an owned relation on the right of a public one, a public row of a LEFT join stands
  alone when *no user at all* matches it, which is no function of one user; so that is refused.
- Groups and windows are of rows of one user: the owner is always among what rows are grouped or partitioned by. Their
  values are functions of the multiset of these rows (:mod:`emdp.questions.owned.summaries`), hence of ``R_u``.
- Rows that are marked by whether another relation has a row that fits (EXISTS, IN) are compared with public rows, or
  with rows of the same user alone.
- Two owned relations one after the other have the rows ``R_u`` and ``S_u`` of each user.

The owner is compared in every one of these steps by what an engine is given, not because a statement says so; a reader
of SQL refuses statements that mean rows of several users, such as GROUP BY without the user's column, whose
counterexamples are in ``tests/sql/owned/test_shapes.py``. That a statement means rows of one user it sees by *keys*
(:func:`owner_key`): columns whose value says whose the row is. Two rows with one value of one key belong to one user.
Of values of unlike keys, and of a value and a column that is no key, nothing follows: an order and a supplier may have
the same number (user-level-sql.md, 3.1; ``tests/sql/owned/test_links.py`` has what that rule would do).

``is_per_user`` says that each user has at most one row: a cap of 1 then bounds nothing away. It is so where rows are
grouped by their owner alone, and stays so where rows are chosen or extended, and where two such relations are joined.

``names_every_user`` of a relation says that a user without records may have rows, those of a list: removing all records
of a user then *changes* these rows in place of removing them, so that bounds for removal do not hold.

Every relation has rows under names of tables and columns; an owned one has its user beside them, which no expression
names unless the user's column is read as a column. A table's name occurs once in a relation.
"""

from collections.abc import Mapping
from typing import TypeAlias

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.questions.owned.summaries import Summary, Window
from emdp.rows.nodes import Column, Node
from emdp.rows.types import Kind

__all__ = [
    "OF_USERS",
    "Derived",
    "Filtered",
    "Grouped",
    "Joined",
    "Marked",
    "Private",
    "Public",
    "Relation",
    "United",
    "UserList",
    "Windowed",
    "names_user",
    "owner_key",
]


OF_USERS = ("", "")
"""Key of users themselves; other keys are a table and a column of it in which each value stands once."""


class _OfRows:
    """Rows made of another relation's: owned, and at most one a user, where those are, unless a kind says otherwise."""

    relation: "Relation"

    @property
    def is_owned(self) -> bool:
        """Whether rows have an owner."""
        return self.relation.is_owned

    @property
    def is_per_user(self) -> bool:
        """Whether no user has more than one row."""
        return self.relation.is_per_user


@dataclass(frozen=True)
class Private:
    """A private table under a name of the statement."""

    alias: str
    user: str = ""  # Its user column, empty where none is named
    source: str = ""  # Name of a linked table; empty for the one whose users they are
    # Its other columns that say whose a row is, and what each is a key of.
    keys: tuple[tuple[str, tuple[str, str]], ...] = ()
    is_owned = True
    is_per_user = False


@dataclass(frozen=True)
class Public:
    """A declared public table, or the noisy answer of an earlier stage, under a name of the statement."""

    alias: str
    source: str
    is_single: bool = False  # Whether it has one row at most: a sub-query that stands for one value
    is_owned = False
    is_per_user = False


@dataclass(frozen=True)
class UserList:
    """The rows of a public table as those of the users that a column names; others than listed users count nowhere."""

    public: Public
    key: Column
    is_owned = True
    is_per_user = False

    def __post_init__(self) -> None:
        if self.key.table != self.public.alias or self.key.kind not in (Kind.TEXT, Kind.BIGINT):
            raise UsageError("key must be a column of TEXT or whole numbers of the public table; name one.")

    @property
    def alias(self) -> str:
        """Name of the table in the statement."""
        return self.public.alias


@dataclass(frozen=True)
class Filtered(_OfRows):
    """The rows for which a condition is true: not false, and not NULL."""

    relation: "Relation"
    condition: Node

    def __post_init__(self) -> None:
        if self.condition.kind is not Kind.BOOLEAN:
            raise UsageError("condition must be BOOLEAN; compare the value with something.")


@dataclass(frozen=True)
class Joined:
    """Pairs of an owned row and a public one, or of two rows of one user, for which a condition is true.

    Raises
    ------
    UsageError
        If rows of the result would have no owner.
    """

    relation: "Relation"  # Owned
    other: "Relation"  # Public, or owned
    condition: Node | None  # BOOLEAN; None pairs every row with every one
    is_left: bool = False  # Whether a row without a partner stands with NULLs in its place

    def __post_init__(self) -> None:
        if not self.relation.is_owned:
            raise UsageError("a join must have an owned relation on its left; swap them.")
        if self.condition is not None and self.condition.kind is not Kind.BOOLEAN:
            raise UsageError("condition must be BOOLEAN; compare the value with something.")

    is_owned = True

    @property
    def is_per_user(self) -> bool:
        """Whether no user has more than one row."""
        if isinstance(self.other, Public):
            return self.other.is_single and self.relation.is_per_user
        return self.other.is_owned and self.relation.is_per_user and self.other.is_per_user


@dataclass(frozen=True)
class Derived(_OfRows):
    """A relation with one row for each row of another: a sub-query without aggregates."""

    relation: "Relation"
    alias: str
    columns: tuple[tuple[str, Node], ...]


@dataclass(frozen=True)
class Grouped(_OfRows):
    """Rows of one user that have keys in common, as one row; of a public relation all rows that have."""

    relation: "Relation"
    alias: str
    keys: tuple[tuple[str, Node], ...]  # Columns that rows are grouped by, besides their owner
    summaries: tuple[tuple[str, Summary], ...] = ()

    @property
    def is_per_user(self) -> bool:
        """Whether no user has more than one row: the owner alone is the key."""
        return self.is_owned and all(names_user(self.relation, node) for _, node in self.keys)


@dataclass(frozen=True)
class Windowed(_OfRows):
    """The rows of a relation with columns more, under a name of their own: values among rows of the same user."""

    relation: "Relation"
    alias: str
    windows: tuple[tuple[str, Window], ...]

    def __post_init__(self) -> None:
        if not self.relation.is_owned:
            raise UsageError("relation must be one whose rows have owners; read the private table.")

    is_owned = True


@dataclass(frozen=True)
class Marked(_OfRows):
    """Rows of an owned relation with a column ``found``: whether another has a row for which a condition is true."""

    relation: "Relation"  # Owned
    alias: str
    other: "Relation"  # Public; or owned, of which rows of the same user are compared alone
    condition: Node | None  # BOOLEAN, over columns of both; None is true for each row

    def __post_init__(self) -> None:
        if not self.relation.is_owned:
            raise UsageError("relation must be one whose rows have owners; read the private table.")
        if self.condition is not None and self.condition.kind is not Kind.BOOLEAN:
            raise UsageError("condition must be BOOLEAN; compare the value with something.")

    is_owned = True

    @property
    def found(self) -> Column:
        """Column that says whether a row was found."""
        return Column(self.alias, "found", Kind.BOOLEAN)


@dataclass(frozen=True)
class United(_OfRows):
    """The rows of one relation and those of another, under the first one's names of columns."""

    # relation, other: Both owned, or both public.
    relation: "Relation"
    other: "Relation"
    alias: str
    # columns, others: Its columns by each of the two: as many, of the same kinds.
    columns: tuple[tuple[str, Node], ...]
    others: tuple[tuple[str, Node], ...]

    def __post_init__(self) -> None:
        if self.relation.is_owned != self.other.is_owned:
            raise UsageError("both relations must be owned, or both public; leave the public one out.")
        if [node.kind for _, node in self.columns] != [node.kind for _, node in self.others]:
            raise UsageError("columns must be as many, of the same kinds, in both; cast them.")

    is_per_user = False


Relation: TypeAlias = Private | Public | UserList | Filtered | Joined | Derived | Grouped | Windowed | Marked | United


def names_user(relation: Relation, node: Node) -> bool:
    """Return whether a function of a row is the user's own column: one value for each user, and for no other.

    >>> u = Column("t", "u", Kind.TEXT)
    >>> names_user(Private("t", "u"), u), names_user(Public("t", "t"), u)
    (True, False)
    """
    return owner_key(relation, node) == OF_USERS


def owner_key(relation: Relation, node: Node, *, is_compared: bool = False) -> tuple[str, str] | None:
    """Return the key that a function of a row is, None of no key: rows with one value of one key belong to one user.

    Parameters
    ----------
    is_compared : bool
        Whether it counts only where it is equal to something, so that it may be NULL otherwise: after a LEFT join.

    >>> order = Private("o", "customer", "orders", (("number", ("orders", "number")),))
    >>> owner_key(order, Column("o", "number", Kind.BIGINT)), owner_key(order, Column("o", "customer", Kind.BIGINT))
    (('orders', 'number'), ('', ''))
    """
    if not isinstance(node, Column) or not relation.is_owned or isinstance(relation, Public):
        return None
    if isinstance(relation, Private):
        own = {**dict(relation.keys), **({relation.user: OF_USERS} if relation.user else {})}
        return own.get(node.name) if node.table == relation.alias else None
    if isinstance(relation, UserList):
        return OF_USERS if node == relation.key else None
    if isinstance(relation, Derived | Grouped | United):
        if node.table != relation.alias:
            return None
        named: Mapping[str, Node] = dict(relation.keys if isinstance(relation, Grouped) else relation.columns)
        if node.name not in named:
            return None
        first = owner_key(relation.relation, named[node.name], is_compared=is_compared)
        if not isinstance(relation, United) or first is None:
            return first
        other = relation.others[list(named).index(node.name)][1]
        return first if owner_key(relation.other, other, is_compared=is_compared) == first else None
    found = owner_key(relation.relation, node, is_compared=is_compared)
    if found is not None or not isinstance(relation, Joined) or not relation.other.is_owned:
        return found
    return owner_key(relation.other, node, is_compared=is_compared) if is_compared or not relation.is_left else None
