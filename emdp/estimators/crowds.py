"""Sums over all users' numbers on workers: :class:`emdp.mechanisms.crowd.Crowd` for blocks that stay there.

A question goes to the workers in an encoder. What comes back are sums over the users of one worker's partition, in
parts of 32 bits, so that sums of any size are exact. Users without records are asked here, like all others.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import numpy as np
import polars as pl

from emdp.base.arrays import Integers
from emdp.base.classes import dataclass
from emdp.base.errors import InternalError
from emdp.mechanisms.crowd import Groups, Question, Sums
from emdp.questions.reading import MeanBlock, RepeatedBlocks

__all__ = [
    "OTHER_USERS",
    "USERS",
    "MeanValues",
    "SumsEncoder",
    "UserValues",
    "WorkerCrowd",
    "neutral_units",
    "parts_of",
]

AT_ONCE = 2**16
"""Users without records who are asked at once."""

LIMB = 32
"""Bits of the parts that sums are sent in."""

USERS = -1
"""Place of the number of users."""

OTHER_USERS = "more or fewer users came from the engine than there are; please report it."


class UserValues(Protocol):
    """Numbers of users; frozen, and holds public facts alone."""

    def of_block(self, block: Any, asked: Integers | None) -> Integers:
        """Return numbers of users of a block, shape (rows, d): of all, or of those in the rows ``asked``."""

    def of_nobody(self) -> Sequence[int]:
        """Return the numbers of a user without records."""


@dataclass(frozen=True, eq=False)
class MeanValues:
    """Users' means."""

    exponents: tuple[int, ...]  # Fixed-point exponent of each of the means that were planned
    neutral: tuple[int, ...]  # Means of a user without records, in these units

    def of_block(self, block: MeanBlock, asked: Integers | None) -> Integers:
        if tuple(block.exponents) != self.exponents:
            raise InternalError("the engine's means have another unit than was planned; please report it.")
        return block.means if asked is None else block.means[asked]

    def of_nobody(self) -> Sequence[int]:
        """Return the neutral item's."""
        return self.neutral


@dataclass(frozen=True, eq=False)
class SumsEncoder:
    """Asks the users of a block, and sends the sums."""

    keys: ClassVar[tuple[str, ...]] = ("place", "limb")
    """Columns that name one part of one sum."""

    question: Question
    values: UserValues
    # For each group of the question the number that its users are given in a pass; none where all that have a number
    # are asked alike.
    groups: tuple[int, ...] = ()
    changes: tuple[Callable[[Integers], Integers], ...] = ()  # What is made of the numbers first, one after the other

    @property
    def schema(self) -> dict[str, pl.DataType]:
        """Place of a sum (:data:`USERS` for the number of users), number of its part of 32 bits, and that part."""
        return dict.fromkeys(("place", "limb", "sum"), pl.Int64())

    def encode(self, block: Any, parts: Integers | None = None) -> Iterator[pl.DataFrame]:
        asked = None if parts is None else np.flatnonzero(parts >= 0)
        own = None if parts is None else parts[asked]
        yield self.summed(self.values.of_block(block, asked), own, len(block.users))

    def summed(self, values: Integers, parts: Integers | None, users: int) -> pl.DataFrame:
        """Return the sums over users who are asked, with these numbers, out of ``users``."""
        for change in self.changes:
            values = change(values)
        groups: Groups | None = None
        if parts is not None and self.groups:
            rows = {number: np.flatnonzero(parts == number) for number in set(self.groups)}
            groups = [rows[number] for number in self.groups]
        frames = [*_limbs(self.question.sums(values, groups)), _frame(np.array([USERS]), 0, np.array([users]))]
        return pl.concat(frames)


@dataclass(frozen=True, eq=False, repr=False)
class WorkerCrowd:
    """Users whose records are in blocks that stay on workers; see :class:`emdp.mechanisms.crowd.Crowd`."""

    blocks: RepeatedBlocks
    everybody: int
    values: UserValues
    changes: tuple[Callable[[Integers], Integers], ...] = ()  # What is made of the numbers first
    among: Integers | None = None  # Places, among everybody, of the users of this crowd; None for all

    def __repr__(self) -> str:
        return "WorkerCrowd(hidden)"

    @property
    def users(self) -> int:
        return self.everybody if self.among is None else len(self.among)

    def mapped(self, change: Callable[[Integers], Integers]) -> "WorkerCrowd":
        return replace(self, changes=(*self.changes, change))

    def added(self, question: Question, groups: Groups | None = None, *, is_last: bool = False) -> Sums:
        numbers, parts = parts_of(groups, self.everybody, self.among)
        encoder = SumsEncoder(question, self.values, numbers, self.changes)
        present = None if parts is None else self.blocks.present()
        if present is not None and present > self.everybody:
            raise InternalError(OTHER_USERS)
        frames = self.blocks.encode(encoder, None if parts is None else parts[:present], is_last=is_last)
        sums, found = _added(frames, question.size)
        if found > self.everybody or (present is not None and found != present):
            raise InternalError(OTHER_USERS)
        rest, absent = _added(self._absent(encoder, found, parts), question.size)
        if found + absent != self.everybody:
            raise InternalError(OTHER_USERS)
        return sums + rest

    def _absent(self, encoder: SumsEncoder, present: int, parts: Integers | None) -> Iterator[pl.DataFrame]:
        """Yield the sums over whoever has no records: such a user is asked too (EMD 8.1)."""
        if present == self.everybody:
            return
        row = np.array([list(self.values.of_nobody())], dtype=np.int64)
        for start in range(present, self.everybody, AT_ONCE):
            users = min(AT_ONCE, self.everybody - start)
            own = None if parts is None else parts[start : start + users]
            own = None if own is None else own[own >= 0]
            yield encoder.summed(np.repeat(row, users if own is None else len(own), axis=0), own, users)


def parts_of(
    groups: Groups | None, users: int, among: Integers | None = None
) -> tuple[tuple[int, ...], Integers | None]:
    """Return a number for each group, and for each user that of the own group, -1 without one.

    Groups that are one and the same array have one number. Where everybody is asked everything there are neither
    numbers nor parts.

    Parameters
    ----------
    groups : sequence of numpy.ndarray of int64, or None
        Users of each group, by their places in ``among``; None for a single group of all.
    among : numpy.ndarray of int64, optional
        Places of those of whom the groups are; None for all.

    Raises
    ------
    InternalError
        If a user is in two groups.

    >>> own = np.array([2, 0])
    >>> numbers, parts = parts_of([own, np.array([3]), own], 4)
    >>> numbers, parts.tolist()
    ((0, 1, 0), [0, -1, 0, 1])
    >>> parts_of(None, 4), parts_of(None, 4, own)[1].tolist()
    (((), None), [0, -1, 0, -1])
    """
    if groups is None and among is None:
        return (), None
    different = {id(group): group for group in groups or ()}
    places = list(different.values()) if groups is not None else [np.arange(0 if among is None else len(among))]
    parts = np.full(users, -1, dtype=np.int64)
    for number, group in enumerate(places):
        parts[group if among is None else among[group]] = number
    if np.count_nonzero(parts >= 0) != sum(map(len, places)):
        raise InternalError("a user was asked twice in one round; please report it.")
    if not parts.any():
        return (), None
    number_of = {name: number for number, name in enumerate(different)}
    return tuple(number_of[id(group)] for group in groups or ()), parts


def neutral_units(neutral: Sequence[float], exponents: Sequence[int]) -> list[int]:
    """Return means in units of their fixed point, rounded.

    >>> neutral_units((0.25, 1.0), (4, 0))
    [4, 1]
    """
    return [round(Fraction(v) * Fraction(2) ** e) for v, e in zip(neutral, exponents, strict=True)]


def _limbs(sums: Sums) -> Iterator[pl.DataFrame]:
    """Yield the sums that are not 0 in parts: the last one with their signs."""
    places = np.flatnonzero(sums)
    rest, limb = sums[places], 0
    while len(places) and max(int(rest.max()), -int(rest.min())) >= 2**62:
        yield _frame(places, limb, (rest & (2**LIMB - 1)).astype(np.int64))
        rest, limb = rest >> LIMB, limb + 1
    yield _frame(places, limb, (rest & (2**LIMB - 1)).astype(np.int64))
    yield _frame(places, limb + 1, (rest >> LIMB).astype(np.int64))


def _frame(places: Integers, limb: int, values: Integers) -> pl.DataFrame:
    columns = {"place": places, "limb": np.full(len(places), limb), "sum": values}
    return pl.DataFrame(columns).cast(pl.Int64).filter(pl.col("sum") != 0)


def _added(frames: Iterator[pl.DataFrame], size: int) -> tuple[Sums, int]:
    """Return the exact sums of some outputs, and of how many users they are."""
    limbs: dict[int, Integers] = {}
    users = 0
    for frame in frames:
        for (limb,), own in frame.group_by("limb", maintain_order=True):
            places, sums = own.get_column("place").to_numpy(), own.get_column("sum").to_numpy()
            users += int(sums[places == USERS].sum())
            kept = limbs.setdefault(int(limb), np.zeros(size, dtype=np.int64))
            np.add.at(kept, places[places != USERS], sums[places != USERS])
    total: Sums = np.zeros(size, dtype=object)
    for limb, kept in limbs.items():
        total += kept.astype(object) << (LIMB * limb)
    return total, users
