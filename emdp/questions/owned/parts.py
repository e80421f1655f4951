"""Parts of relations with owners: what each is made of, and which functions of a row it reads."""

from collections.abc import Iterator

from emdp.questions.owned.relations import (
    Derived,
    Filtered,
    Grouped,
    Joined,
    Marked,
    Private,
    Public,
    Relation,
    United,
    UserList,
    Windowed,
)
from emdp.rows.nodes import Node

__all__ = ["expressions", "names_every_user", "relations"]


def relations(relation: Relation) -> Iterator[Relation]:
    """Yield a relation and all that it is made of.

    >>> [type(one).__name__ for one in relations(Joined(Private("t"), Public("p", "places"), None))]
    ['Joined', 'Private', 'Public']
    """
    yield relation
    if isinstance(relation, UserList):
        yield relation.public
    elif not isinstance(relation, Private | Public):
        yield from relations(relation.relation)
        if isinstance(relation, Joined | Marked | United):
            yield from relations(relation.other)


def expressions(relation: Relation) -> tuple[Node, ...]:
    """Return the functions of a row that a relation reads itself, what it is made of left out."""
    if isinstance(relation, UserList):
        return (relation.key,)
    if isinstance(relation, Filtered | Joined | Marked):
        return () if relation.condition is None else (relation.condition,)
    if isinstance(relation, Derived):
        return tuple(node for _, node in relation.columns)
    if isinstance(relation, United):
        return tuple(node for _, node in (*relation.columns, *relation.others))
    if isinstance(relation, Grouped):
        of_groups = (summary.argument for _, summary in relation.summaries)
        return (*(node for _, node in relation.keys), *(node for node in of_groups if node is not None))
    if isinstance(relation, Windowed):
        return tuple(node for _, window in relation.windows for node in window.nodes)
    return ()


def names_every_user(relation: Relation) -> bool:
    """Return whether users without records may have rows: those of a list of users."""
    return any(isinstance(one, UserList) for one in relations(relation))
