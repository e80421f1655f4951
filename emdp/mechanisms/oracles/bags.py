"""Bags of whole users as three arrays, and one uniform record of each user."""

from typing import Self

import numpy as np
import numpy.typing as npt

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.mechanisms.weights import Integers
from emdp.noise.arrays import check_integer_array
from emdp.noise.choices import draw_below

__all__ = ["Bags", "entry_shares"]

LARGEST_COUNT = 2**62
"""Bound on the records of all users together."""


@dataclass(frozen=True, eq=False, repr=False)
class Bags:
    """The bags of some users: user ``u`` has ``counts[e]`` records of item ``codes[e]``, ``offsets[u] <= e <
    offsets[u+1]``.

    Raises
    ------
    UsageError
        If an array is malformed or a user has no record.

    >>> bags = Bags(np.array([0, 2, 3]), np.array([4, 0, 1]), np.array([1, 3, 2]))
    >>> bags.users, bags.shares(5).tolist()
    (2, [0.375, 0.5, 0.0, 0.0, 0.125])
    """

    offsets: Integers  # Shape (users + 1,), from 0 to the number of entries, increasing: no user is empty
    codes: Integers  # Shape (entries,): items, at least 0
    counts: Integers  # Shape (entries,), at least 1; together at most 2^62

    def __post_init__(self) -> None:
        codes = check_integer_array("codes", self.codes, low=0, high=2**62)
        counts = check_integer_array("counts", self.counts, low=1, high=LARGEST_COUNT)
        offsets = check_integer_array("offsets", self.offsets, low=0, high=codes.size)
        if counts.size != codes.size:
            raise UsageError("counts must have one element for each of codes; pass arrays of one length.")
        if offsets.size == 0 or offsets[0] != 0 or offsets[-1] != codes.size or (np.diff(offsets) <= 0).any():
            raise UsageError(
                "offsets must rise from 0 to the number of codes, each user with a record; pass whole users alone."
            )
        if counts.size and float(counts.sum(dtype=np.float64)) > 0.99 * LARGEST_COUNT:
            raise UsageError("counts must sum to less than 2^62; pass fewer users at a time.")
        for name, array in (("offsets", offsets), ("codes", codes), ("counts", counts)):
            object.__setattr__(self, name, array)

    @classmethod
    def of_items(cls, codes: npt.ArrayLike) -> Self:
        """Return the bags of users with one record each.

        >>> Bags.of_items([3, 1]).users
        2
        """
        items = check_integer_array("codes", codes, low=0, high=2**62)
        bags = object.__new__(cls)
        # No array but the items has anything to be checked.
        vars(bags).update(offsets=np.arange(items.size + 1), codes=items, counts=np.ones(items.size, dtype=np.int64))
        return bags

    @property
    def users(self) -> int:
        """Number of users."""
        return len(self.offsets) - 1

    def part(self, first: int, last: int) -> "Bags":
        """Return the bags of users ``first`` to ``last - 1``."""
        ends = self.offsets[first : last + 1]
        entries = slice(int(ends[0]), int(ends[-1]))
        part = object.__new__(Bags)
        # What was checked of the whole holds of its parts.
        vars(part).update(offsets=ends - ends[0], codes=self.codes[entries], counts=self.counts[entries])
        return part

    def check_items(self, items: int) -> None:
        """Raise ``UsageError`` unless every code is below ``items``."""
        if self.codes.size and int(self.codes.max()) >= items:
            raise UsageError(f"codes must be from 0 to {items - 1}; pass codes of the {items} public items.")

    def draw_items(self) -> Integers:
        """Return the item of one record of each user, uniform among the user's records, exactly; shape (users,)."""
        if self.codes.size == self.users:
            return self.codes
        ends = np.cumsum(self.counts)
        before = np.concatenate(([0], ends[self.offsets[1:-1] - 1]))
        drawn = before + draw_below(ends[self.offsets[1:] - 1] - before)
        return np.asarray(self.codes[np.searchsorted(ends, drawn, side="right")], dtype=np.int64)

    def shares(self, items: int, *, power: int = 1) -> npt.NDArray[np.float64]:
        """Return the mean over users of each item's share to a power, exact statistics that must not be released.

        Entries of one user must be of different items where ``power`` is not 1.
        """
        own = entry_shares(self.counts, self.offsets)
        return np.bincount(self.codes, weights=own**power, minlength=items) / self.users


def entry_shares(counts: Integers, offsets: Integers) -> npt.NDArray[np.float64]:
    """Return the share of each entry in its user's records; arrays as of :class:`Bags`.

    >>> entry_shares(np.array([1, 3, 2]), np.array([0, 2, 3])).tolist()
    [0.25, 0.75, 1.0]
    """
    totals = np.add.reduceat(counts, offsets[:-1])
    return np.asarray(counts / np.repeat(totals, np.diff(offsets)), dtype=np.float64)
