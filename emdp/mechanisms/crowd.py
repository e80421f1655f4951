"""Sums over all users' numbers, wherever these are: a mechanism asks for as many as it has rounds.

A :class:`Crowd` answers a :class:`Question` with its sums over all users. Questions are frozen public values, so that
they can be sent to where the records are; what they draw (users' messages) is drawn there, once for each user that is
asked. Sums of disjoint parts of the users add up, in any order, to those of all: a question's law does not depend on
how users are divided. Who is asked what is settled here, by places: user ``u`` is one of ``0, ..., users - 1``, in an
order that tells nothing and stays the same as long as the crowd is asked.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from emdp.base.arrays import Integers
from emdp.base.classes import dataclass
from emdp.mechanisms.local.noise import exact_sums

__all__ = ["ColumnSums", "Crowd", "GatheredUsers", "Groups", "PartOfCrowd", "Question", "Sums"]

Groups = Sequence[Integers]
"""Users of each group, by their places; most often no user is in two."""

Sums = npt.NDArray[Any]
"""Exact whole numbers: of 64 bits, or Python's where they may be larger."""


class Question(Protocol):
    """Sums over users; frozen, and holds public facts alone."""

    @property
    def size(self) -> int:
        """Number of sums."""

    def sums(self, values: Integers, groups: Groups | None) -> Sums:
        """Return the sums over some users, shape (size,): where messages are drawn this spends.

        Parameters
        ----------
        values : numpy.ndarray of int64
            Shape (rows, d): each user's numbers.
        groups : sequence of numpy.ndarray of int64, or None
            Rows of each group; None where all rows are asked the same.
        """


class Crowd(Protocol):
    """Numbers of all users, those without records among them."""

    @property
    def users(self) -> int:
        """Number of users."""

    def added(self, question: Question, groups: Groups | None = None, *, is_last: bool = False) -> Sums:
        """Return a question's sums over all users, those in no group left out.

        Parameters
        ----------
        groups : sequence of numpy.ndarray of int64, or None
            Places of the users of each group, drawn without a look at the data; None to ask all alike.
        is_last : bool
            Whether nothing is asked afterwards, so that the users' numbers need not be kept.
        """

    def mapped(self, change: Callable[[Integers], Integers]) -> "Crowd":
        """Return the same users with other numbers: what a function, which can be pickled, makes of each row."""


class GatheredUsers:
    """Users whose numbers come block by block and are kept here, unless they are asked but once.

    Parameters
    ----------
    blocks : iterator of numpy.ndarray of int64
        Shape (rows, d) each, of all users together.

    >>> crowd = GatheredUsers(iter([np.array([[1], [2]]), np.array([[4]])]), 3)
    >>> crowd.added(ColumnSums(1)).tolist(), crowd.added(ColumnSums(1), [np.array([2])]).tolist()
    ([7], [4])
    """

    def __init__(self, blocks: Iterator[Integers], users: int) -> None:
        self._blocks = blocks
        self._values: Integers | None = None
        self._users = users

    def __repr__(self) -> str:
        return "GatheredUsers(hidden)"

    @property
    def users(self) -> int:
        return self._users

    def added(self, question: Question, groups: Groups | None = None, *, is_last: bool = False) -> Sums:
        if is_last and groups is None and self._values is None:
            total: Sums = np.zeros(question.size, dtype=object)
            for block in self._blocks:
                total = total + question.sums(block, None)
            return total
        return question.sums(self._all(), groups)

    def mapped(self, change: Callable[[Integers], Integers]) -> "GatheredUsers":
        return GatheredUsers(iter([change(self._all())]), self._users)

    def _all(self) -> Integers:
        if self._values is None:
            blocks = list(self._blocks)
            self._values = blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
        return self._values


@dataclass(frozen=True, eq=False, repr=False)
class PartOfCrowd:
    """Some users of a crowd, who are asked as if they were all."""

    crowd: Crowd
    places: Integers  # Those of the part, in any order
    is_last: bool = False  # Whether the last question of this part is the last of the crowd

    def __repr__(self) -> str:
        return "PartOfCrowd(hidden)"

    @property
    def users(self) -> int:
        return len(self.places)

    def added(self, question: Question, groups: Groups | None = None, *, is_last: bool = False) -> Sums:
        """Return the sums of a question of one law over the part, or over groups of it."""
        asked = [self.places] if groups is None else [self.places[group] for group in groups]
        return self.crowd.added(question, asked, is_last=is_last and self.is_last)

    def mapped(self, change: Callable[[Integers], Integers]) -> "PartOfCrowd":
        return replace(self, crowd=self.crowd.mapped(change))


class ColumnSums:
    """Adds up users' numbers as they are: for exact statistics under the test switch."""

    def __init__(self, size: int) -> None:
        self.size = size

    def sums(self, values: Integers, groups: Groups | None) -> Sums:
        """Return the sum of each column over the users of all groups."""
        asked = values if groups is None else values[np.concatenate(groups)]
        return np.array(exact_sums(asked), dtype=object)
