"""Statistics by keys that nobody listed: users of every key, and capped sums of their rows.

**Choice of keys.** Of a user's groups the first ``L`` in the order of a hash of the user, the key and a constant are
kept, ties by the key itself. So which are kept is a function of that user's own rows: not of where they stand, nor of
what others have (user-level-sql.md 1.2 and trap 1). A tuple of keys is one group; where some keys of it have a public
list, rows of other values are left out before.

**Cap.** ``k`` rows in kept groups, ``k`` over the cap ``C``, count with weight ``C/k`` each, rounded down as in
:mod:`emdp.questions.owned.totals`. So the numbers of a user over all parts of an argument and all keys add up to at
most ``C``, and the user counts 1 in each of at most ``L`` keys. With ``norm`` 2 the cap is on the root of the sum of
squares of a user's rows by kept group; with ``group_rows = M`` it is on the rows of each."""

from collections.abc import Mapping, Sequence
from dataclasses import field

import polars as pl

from emdp.base.classes import dataclass
from emdp.base.errors import InternalError, UsageError
from emdp.questions.owned.relations import Relation
from emdp.questions.owned.totals import Argument, Key, Summed

__all__ = ["OwnedGroups", "OwnedKeys"]


@dataclass(frozen=True, eq=False)
class OwnedKeys:
    """Pairs of a user and a key, once each: users in the order of a hash, a user's keys in that of the module."""

    relation: Relation  # Owned
    keys: tuple[Key, ...]  # At least one of them without a list
    public: Mapping[str, pl.DataFrame] = field(default_factory=dict)  # The public tables that the relation names
    arguments: tuple[Argument, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        if not self.relation.is_owned:
            raise UsageError("relation must be one whose rows have owners; read the private table.")
        if all(key.is_listed for key in self.keys):
            raise UsageError("keys must have one without a list; what a list says is known.")


@dataclass(frozen=True, eq=False)
class OwnedGroups(Summed):
    """Users and capped sums by keys; the module says which.

    Parameters
    ----------
    norm, group_rows
        As of :class:`emdp.questions.owned.totals.OwnedTotals`.
    """

    relation: Relation  # Owned
    keys: tuple[Key, ...]  # At least one of them without a list
    groups_cap: int  # `L`: groups of a user that are kept
    arguments: tuple[Argument, ...] = ()
    cap: int | None = None  # `C`: largest weight of one user's rows together; given where there are arguments
    public: Mapping[str, pl.DataFrame] = field(default_factory=dict)  # The public tables that the relation names
    counts_users: bool = False  # Whether the number of users is drawn together with the sums, as one more part
    norm: int = 1
    group_rows: int | None = None

    def __post_init__(self) -> None:
        if not self.relation.is_owned:
            raise UsageError("relation must be one whose rows have owners; read the private table.")
        if all(key.is_listed for key in self.keys):
            raise UsageError("keys must have one without a list; ask for OwnedTotals.")
        self.check_caps(self.groups_cap)

    @property
    def cells(self) -> int:
        """Number of groups in which tables that differ in one user's records can differ: ``2 L``."""
        return 2 * self.groups_cap

    def check(self, users: int, counts: Sequence[int], parts: Sequence[Sequence[int]], unit: int) -> None:
        """Check that counts and sums are what they can be for some table, before they get noise.

        Parameters
        ----------
        users : int
            More users than that no table has.
        counts : sequence of int
            Users of each key.
        parts : sequence of sequence of int
            Sums of each part by key, in units of ``1/unit``.
        unit : int
            See ``parts``.
        """
        is_right = all(1 <= count <= users for count in counts)
        for place, argument in enumerate(self.arguments):
            first = self.first_part(place)
            of_argument = [value for part in parts[first : first + argument.parts] for value in part]
            is_right &= all(value >= 0 for value in of_argument)
            is_right &= sum(of_argument) <= users * self.most_rows(self.groups_cap) * unit
        if not is_right:
            raise InternalError("an engine computed sums that no table has; please report this.")
