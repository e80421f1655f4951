"""Statistic that a cap is chosen from: numbers of users with up to 1, 2, 4, ... rows, or groups."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import ClassVar

from emdp.base.classes import dataclass
from emdp.base.errors import InternalError, UsageError
from emdp.mechanisms.contribution.octaves import OCTAVES
from emdp.questions.owned.groups import OwnedGroups
from emdp.questions.owned.totals import OwnedTotals

__all__ = ["OwnedOctaves", "octaves_of"]


@dataclass(frozen=True, eq=False)
class OwnedOctaves(OwnedTotals):
    """Users by octave of their number of rows in listed groups, in the bins of
    :mod:`emdp.mechanisms.contribution.octaves`: a user who has a row is in one bin, others in none.

    Made by :func:`octaves_of`; ``counts_users`` is all that it asks for, and its cells are the bins. With ``of_groups``
    the users are by their number of groups in which they have a row; then keys need no list. With ``costs`` they are by
    what their rows add, in units of ``2**-AMOUNT_BITS`` and in the norm of the cap.
    """

    parts: ClassVar[int] = 1
    """Number of parts: users."""
    cells: ClassVar[int] = OCTAVES
    """Number of bins."""

    of_groups: bool = False

    def __post_init__(self) -> None:
        if not self.of_groups:
            super().__post_init__()
        elif not self.relation.is_owned or not self.keys:
            raise UsageError("relation must have owners, and keys; read the private table by groups.")

    def check(self, users: int, statistic: Sequence[Fraction]) -> None:
        """Check that the bins hold whole numbers of users, at most all together."""
        is_whole = len(statistic) == OCTAVES and all(count >= 0 and count.denominator == 1 for count in statistic)
        if not is_whole or sum(statistic) > users:
            raise InternalError("an engine counted users that no table has; please report this.")


def octaves_of(totals: OwnedTotals | OwnedGroups, *, of_groups: bool = False) -> OwnedOctaves:
    """Return the histogram of the rows that some totals are over, or of a user's groups of them.

    >>> from emdp.questions.owned.relations import Private
    >>> octaves_of(OwnedTotals(Private("t"), counts_users=True)).dimension
    21
    """
    made = OwnedOctaves(totals.relation, totals.keys, counts_users=True, public=totals.public, of_groups=of_groups)
    if not isinstance(totals, OwnedTotals) or not totals.costs:
        return made
    return replace(made, arguments=totals.arguments, cap=totals.cap, costs=totals.costs, norm=totals.norm)
