"""Relations have rows of one owner, or cannot be made."""

import pytest

from emdp.base.errors import UsageError
from emdp.questions.owned.relations import Derived, Filtered, Joined, Private, Public, Relation
from emdp.questions.owned.totals import Argument, OwnedTotals
from emdp.rows.nodes import Column, Literal
from emdp.rows.types import Kind

TRUE = Literal(True, Kind.BOOLEAN)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (Public("p", "p"), Private("t")),
        (Public("p", "p"), Public("q", "q")),
        (Public("p", "p"), Derived(Private("s"), "d", ())),
    ],
)
def test_rows_without_an_owner_cannot_be_made(left: Relation, right: Relation) -> None:
    with pytest.raises(UsageError):
        Joined(left, right, TRUE)


def test_sums_are_of_rows_with_owners() -> None:
    with pytest.raises(UsageError):
        OwnedTotals(Public("p", "p"), (), (Argument(None),), 1)
    assert OwnedTotals(Filtered(Private("t"), TRUE), (), (Argument(None),), 1).dimension == 1


def test_a_condition_is_boolean() -> None:
    with pytest.raises(UsageError):
        Filtered(Private("t"), Column("t", "x", Kind.DOUBLE))
