"""Questions of the rounds to a crowd: the bins of its users, and one message of each of them about a number."""

from collections.abc import Iterator, Sequence

import numpy as np

from emdp.base.arrays import Integers
from emdp.base.classes import dataclass
from emdp.mechanisms.crowd import Crowd, Groups, Sums
from emdp.mechanisms.scalar.randomizer import ScalarRandomizer
from emdp.mechanisms.user_mean.range_stage import FoundRange, RangeStage

__all__ = ["Bins", "Messages", "find_ranges"]

AT_ONCE = 2**16
"""Users whose messages are drawn at once."""

SUMS_AT_ONCE = 2**22
"""Sums that are asked for together, unless one stage has more: 32 MiB."""


@dataclass(frozen=True, eq=False)
class Bins:
    """Counts or draws of range stages among their users.

    >>> from emdp.mechanisms.user_mean.range_bins import RangeBins
    >>> from emdp.mechanisms.user_mean.range_stage import MedianRange
    >>> asked = Bins((MedianRange(RangeBins(0.0, 4.0, 0.5), 3, 1.0),), (0,), (0,))
    >>> asked.sums(np.array([[0], [3], [3]]), None).tolist()
    [1, 0, 0, 2]
    """

    stages: tuple[RangeStage, ...]  # One for each group, or all for everybody
    columns: tuple[int, ...]  # Which of a user's numbers each stage is about
    exponents: tuple[int, ...]  # Of the fixed point of these numbers

    @property
    def size(self) -> int:
        return sum(stage.size for stage in self.stages)

    def sums(self, values: Integers, groups: Groups | None) -> Sums:
        """Return the sums of all stages, one after the other."""
        parts = zip(self.stages, self.columns, self.exponents, strict=True)
        return np.concatenate(
            [
                stage.sums(_rows(values, groups, place, column), exponent)
                for place, (stage, column, exponent) in enumerate(parts)
            ]
        )


@dataclass(frozen=True, eq=False)
class Messages:
    """One message of every user of a group about one of the numbers, added up.

    >>> from emdp.mechanisms.scalar.one_bit import OneBitScalar
    >>> asked = Messages((OneBitScalar(0.0, 1.0, 30.0),), (0,), (0,))
    >>> asked.sums(np.array([[1], [1], [0]]), [np.array([0, 1])]).tolist()
    [2]
    """

    laws: tuple[ScalarRandomizer, ...]  # One for each group, or all for everybody
    columns: tuple[int, ...]  # Which of a user's numbers each is about
    exponents: tuple[int, ...]  # Of the fixed point of these numbers

    @property
    def size(self) -> int:
        return len(self.laws)

    def sums(self, values: Integers, groups: Groups | None) -> Sums:
        """Draw the messages, and return their totals."""
        totals = np.zeros(self.size, dtype=object)
        for place, (law, column, exponent) in enumerate(zip(self.laws, self.columns, self.exponents, strict=True)):
            asked = _rows(values, groups, place, column)
            for start in range(0, len(asked), AT_ONCE):
                totals[place] += law.total(law.encode(asked[start : start + AT_ONCE], exponent))
        return totals


def find_ranges(
    crowd: Crowd,
    stages: Sequence[RangeStage],
    *,
    columns: Sequence[int],
    exponents: Sequence[int],
    groups: Groups | None = None,
) -> list[FoundRange]:
    """Return what each stage finds of its users: this spends.

    Parameters
    ----------
    stages : sequence of RangeStage
        Each for as many users as are asked.
    columns, exponents
        As of :class:`Bins`.
    groups : sequence of numpy.ndarray of int64, or None
        Users of each stage; None for everybody.
    """
    found: list[FoundRange] = []
    for first, last in _together([stage.size for stage in stages]):
        part = slice(first, last)
        asked = Bins(tuple(stages[part]), tuple(columns[part]), tuple(exponents[part]))
        sums = crowd.added(asked, None if groups is None else groups[part])
        ends = np.cumsum([stage.size for stage in asked.stages])[:-1]
        for stage, own in zip(asked.stages, np.split(sums, ends), strict=True):
            found.append(stage.found(own.astype(np.int64)))
    return found


def _rows(values: Integers, groups: Groups | None, place: int, column: int) -> Integers:
    return values[:, column] if groups is None else values[groups[place], column]


def _together(sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Cut stages into runs of about ``SUMS_AT_ONCE`` sums, of one stage at least."""
    first, total = 0, 0
    for place, size in enumerate(sizes):
        if place > first and total + size > SUMS_AT_ONCE:
            yield first, place
            first, total = place, 0
        total += size
    if len(sizes):
        yield first, len(sizes)
