"""Blocks of whole users or of records, as every engine hands them on, and how rows become blocks."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import polars as pl

from emdp.base.arrays import Integers
from emdp.base.statistic import HiddenBlocks
from emdp.spaces import Space, neutral_code
from emdp.spaces.base import Floats
from emdp.tables.statements.items import NUMBER

__all__ = [
    "BLOCK_ROWS",
    "BagBlock",
    "Block",
    "Integers",
    "MeanBlock",
    "PointBlock",
    "TextBlock",
    "UserMeans",
    "filled_bags",
    "filling_of",
    "integers",
    "matrix",
    "sorted_items",
    "user_runs",
    "whole_users",
]

BLOCK_ROWS = 2**18
"""Rows of a block, but for a user who has more."""


class BagBlock(NamedTuple):
    """Histograms of some whole users over a finite space: entry ``e`` is user ``u``'s, ``offsets[u] <= e <
    offsets[u + 1]``.

    Attributes
    ----------
    users : numpy.ndarray of int64, shape (users,)
        Number of each user.
    offsets : numpy.ndarray of int64, shape (users + 1,)
        Where each user's entries begin, and where the last one's end.
    codes, counts : numpy.ndarray of int64, shape (entries,)
        Row of each entry's item in :func:`emdp.spaces.items.finite_items`, rising for each user, and how many records
        of the user it is, at least 1.
    """

    users: Integers
    offsets: Integers
    codes: Integers
    counts: Integers

    def __repr__(self) -> str:
        return "BagBlock(hidden)"


class PointBlock(NamedTuple):
    """Items of some records; of whole users where ``offsets`` is not None.

    Attributes
    ----------
    users : numpy.ndarray of int64, shape (users,), or None
        Number of each user.
    offsets : numpy.ndarray of int64, shape (users + 1,), or None
        Where each user's items begin, and where the last one's end.
    items : numpy.ndarray of float64, shape (records, width)
        Encoded items.
    """

    users: Integers | None
    offsets: Integers | None
    items: Floats

    def __repr__(self) -> str:
        return "PointBlock(hidden)"


class MeanBlock(NamedTuple):
    """Means of some users' records, in fixed point.

    Attributes
    ----------
    users : numpy.ndarray of int64, shape (users,)
        Number of each user.
    means : numpy.ndarray of int64, shape (users, expressions)
        The mean over the user's records times ``2**exponent``, rounded.
    exponents : tuple of int
        Exponent of each expression.
    """

    users: Integers
    means: Integers
    exponents: tuple[int, ...]

    def __repr__(self) -> str:
        return "MeanBlock(hidden)"


class TextBlock(NamedTuple):
    """Strings of some whole users, as :func:`emdp.tables.statements.texts.texts_statement` has them.

    Attributes
    ----------
    users : numpy.ndarray of int64, shape (users,)
        Number of each user.
    offsets : numpy.ndarray of int64, shape (users + 1,)
        Where each user's entries begin, and where the last one's end.
    texts : polars.Series of String, length entries
        Strings, null for records without one; rising for each user, null first.
    counts : numpy.ndarray of int64, shape (entries,)
        How many records of the user have the string, at least 1.
    """

    users: Integers
    offsets: Integers
    texts: pl.Series
    counts: Integers

    def __repr__(self) -> str:
        return "TextBlock(hidden)"


Block = BagBlock | PointBlock | MeanBlock | TextBlock


class UserMeans(HiddenBlocks[MeanBlock]):
    """Blocks of users' means, with what is public about them.

    Attributes
    ----------
    exponents : tuple of int
        Fixed-point exponent of each expression.
    neutral_values : tuple of float
        Each expression's value at the space's neutral item: the mean of a public user in none of the blocks.
    """

    __slots__ = ("exponents", "neutral_values")

    def __init__(
        self, read: Callable[[], Iterator[MeanBlock]], exponents: tuple[int, ...], neutral_values: tuple[float, ...]
    ) -> None:
        super().__init__(read)
        self.exponents = exponents
        self.neutral_values = neutral_values


def whole_users(frames: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Yield rows in blocks that no user's rows are divided between; rows without a user are left out."""
    kept: list[pl.DataFrame] = []
    for batch in frames:
        frame = batch.filter(pl.col(NUMBER).is_not_null()) if batch.get_column(NUMBER).null_count() else batch
        if not len(frame):
            continue
        keys = frame.get_column(NUMBER)
        last = int(keys.index_of(keys[-1]) or 0)
        is_continued = bool(kept) and kept[-1].get_column(NUMBER)[-1] == keys[0]
        if last == 0 and is_continued:
            kept.append(frame)
            continue
        # What was kept ends with a whole user here, and goes with the next ones: a block costs something by itself.
        if kept or last:
            yield pl.concat([*kept, frame[:last]])
        kept = [frame[last:]]
    if kept:
        yield pl.concat(kept)


def user_runs(frame: pl.DataFrame, first: int | None) -> tuple[Integers, Integers]:
    """Return the numbers of whole users and where each one's rows begin; counted from ``first`` or, without, listed."""
    keys = frame.get_column(NUMBER)
    starts = np.flatnonzero(keys.ne_missing(keys.shift(1)).to_numpy())
    offsets = np.append(starts, len(frame)).astype(np.int64)
    if first is not None:
        return np.arange(first, first + len(starts), dtype=np.int64), offsets
    return keys.gather(starts).to_numpy().astype(np.int64), offsets


def filling_of(space: Space) -> tuple[int, int] | None:
    """Return the slots up to which bags are filled, and the code of what fills them; None where they are not."""
    return None if space.slots is None else (space.slots, neutral_code(space))


def filled_bags(block: BagBlock, filling: tuple[int, int] | None) -> BagBlock:
    """Return bags filled up to the slots: records that are elsewhere take none, and fill what is left.

    What is drawn of a bag, one record or several, is then a record of the bag whose distances ``d_em`` compares, with
    the weights that it has there. Nobody's bag is empty: with no record that is somewhere all slots are left.

    >>> ones = [np.array(values) for values in ([7, 8], [0, 2, 3], [0, 2, 1], [1, 5, 4])]
    >>> filled = filled_bags(BagBlock(*ones), (3, 2))
    >>> filled.offsets.tolist(), filled.codes.tolist(), filled.counts.tolist()
    ([0, 2, 3], [0, 2, 1], [1, 2, 4])
    """
    if filling is None:
        return block
    slots, empty = filling
    users = len(block.users)
    owners = np.repeat(np.arange(users), np.diff(block.offsets))
    known = block.codes != empty
    own = np.zeros(users, dtype=np.int64)
    np.add.at(own, owners[known], block.counts[known])
    (left,) = np.nonzero(own < slots)
    every = np.concatenate([owners[known], left])
    # A user's items come first, and then what fills the bag.
    order = np.argsort(every, kind="stable")
    codes = np.concatenate([block.codes[known], np.full(len(left), empty, dtype=np.int64)])
    counts = np.concatenate([block.counts[known], slots - own[left]])
    offsets = np.concatenate([[0], np.cumsum(np.bincount(every, minlength=users))]).astype(np.int64)
    return BagBlock(block.users, offsets, codes[order], counts[order])


def sorted_items(frame: pl.DataFrame, offsets: Integers) -> Floats:
    """Return the items of whole users, each user's in rising order: the one that the engine chose may change."""
    owners = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    items = frame.with_columns(pl.Series(NUMBER, owners)).sort(frame.columns)
    return matrix(items.drop(NUMBER))


def integers(frame: pl.DataFrame, name: str) -> Integers:
    return frame.get_column(name).to_numpy().astype(np.int64, copy=False)


def matrix(frame: pl.DataFrame) -> Floats:
    return np.ascontiguousarray(frame.to_numpy(), dtype=np.float64)
