"""What DuckDB reads for releases that randomize items or users one by one, hidden until the session opens it.

Blocks come from one statement each, in Arrow batches, and hold whole users, so that memory is bounded by a batch and
the largest user. Users are numbered; no key leaves this file.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from emdp.expressions import Expression
from emdp.expressions.reading import Reading, TextColumn
from emdp.spaces.base import Floats
from emdp.spaces.items import count_items
from emdp.statistic import Hidden, HiddenBlocks
from emdp.tables.duckdb import DIALECT, _connection, check_on_no_rows, hidden_errors
from emdp.tables.items import (
    CODE,
    NUMBER,
    RECORDS,
    ItemStatement,
    bags_statement,
    counts_statement,
    points_statement,
    user_means_statement,
)
from emdp.tables.table import Table
from emdp.tables.texts import TEXT, check_texts, texts_statement
from emdp.tables.waiting import stoppable

__all__ = [
    "BLOCK_ROWS",
    "BagBlock",
    "MeanBlock",
    "PointBlock",
    "TextBlock",
    "UserMeans",
    "bag_blocks",
    "check_items",
    "item_counts",
    "point_blocks",
    "text_blocks",
    "user_means",
]

BLOCK_ROWS = 2**18
"""Rows of a block, but for a user who has more."""

Integers = npt.NDArray[np.int64]


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
    """Strings of some whole users, as :func:`emdp.tables.texts.texts_statement` has them.

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


def item_counts(table: Table) -> Hidden[Integers]:
    """Return how many records each item of a finite space has, over all records after the ``on_invalid`` rule.

    Public users without records are not added: they have none. A record counts whoever's it is (``validate`` has
    found that all belong to public users).

    Returns
    -------
    Hidden
        Opens to an int64 array, one count for each row of :func:`emdp.spaces.items.finite_items`.

    Raises
    ------
    UsageError
        If the space is not finite, or has too many items.
    """
    statement = counts_statement(table)
    counts = np.zeros(count_items(table.space) or 0, dtype=np.int64)
    with _connection(table.source, statement.lookups, None) as connection, hidden_errors():
        found = stoppable(connection, lambda: connection.execute(_text(statement)).fetchnumpy())
    counts[found[CODE].astype(np.int64)] = found[RECORDS]
    return Hidden(counts)


def bag_blocks(table: Table) -> HiddenBlocks[BagBlock]:
    """Return each present public user's histogram over a finite space, in blocks of whole users.

    A user's number is the row in the public list; where only the number of users is public, it is any of
    0, 1, ..., present - 1, in rising order of blocks.

    Raises
    ------
    UsageError
        If the space is not finite, or has too many items.
    """
    statement = bags_statement(table)

    def read() -> Iterator[BagBlock]:
        for users, offsets, frame in _user_blocks(table, statement):
            yield BagBlock(users, offsets, _integers(frame, CODE), _integers(frame, RECORDS))

    return HiddenBlocks(read)


def point_blocks(table: Table, by_user: bool = False) -> HiddenBlocks[PointBlock]:
    """Return the encoded items of all records, in blocks; of any space, though meant for a continuum.

    Parameters
    ----------
    table : Table
        The private table.
    by_user : bool
        Whether blocks hold whole users, numbered as in :func:`bag_blocks`, each with its items in rising order of
        columns. Otherwise all records come in the source's own order, which must not leave: sort or mix what is made
        of them.
    """
    statement = points_statement(table, by_user=by_user)

    def read() -> Iterator[PointBlock]:
        if by_user:
            for users, offsets, frame in _user_blocks(table, statement):
                yield PointBlock(users, offsets, _sorted_items(frame, offsets))
            return
        for frame in _frames(table, statement):
            yield PointBlock(None, None, _matrix(frame))

    return HiddenBlocks(read)


def user_means(table: Table, expressions: Sequence[Expression]) -> UserMeans:
    """Return each present public user's mean of some expressions over its records, in fixed point.

    They are the integers that :func:`emdp.tables.mean_of_user_means` adds up; users are numbered as in
    :func:`bag_blocks`. A public user in no block has no records, and counts with ``neutral_values``.
    """
    statement = user_means_statement(table, tuple(expressions))

    def read() -> Iterator[MeanBlock]:
        for users, _, frame in _user_blocks(table, statement):
            means = frame.drop(NUMBER).to_numpy().astype(np.int64, copy=False)
            yield MeanBlock(users, np.ascontiguousarray(means), statement.exponents)

    return UserMeans(read, statement.exponents, statement.neutral_values)


def text_blocks(table: Table, column: TextColumn) -> HiddenBlocks[TextBlock]:
    """Return each present public user's strings of a column, in blocks of whole users, numbered as in
    :func:`bag_blocks`.
    """
    statement = texts_statement(table, column)

    def read() -> Iterator[TextBlock]:
        for users, offsets, frame in _user_blocks(table, statement):
            owners = np.repeat(np.arange(len(users)), np.diff(offsets))
            ordered = frame.with_columns(pl.Series(NUMBER, owners)).sort(NUMBER, TEXT)
            yield TextBlock(users, offsets, ordered.get_column(TEXT), _integers(ordered, RECORDS))

    return HiddenBlocks(read)


def check_items(table: Table, what: Reading) -> None:
    """Run the statement of a reading on no rows, so that what the engine refuses is refused before a charge.

    Raises
    ------
    UsageError
        If the space is not finite where it must be, an expression does not fit it, or the engine cannot compute it.
    DataRuleError
        Of texts: if the column holds bytes that are no text.
    """
    if what.column is not None:
        check_texts(table, what.column)
        return
    statements: dict[str, Callable[[], ItemStatement]] = {
        "counts": partial(counts_statement, table),
        "bags": partial(bags_statement, table),
        "points": partial(points_statement, table, by_user=what.by_user),
        "means": partial(user_means_statement, table, what.expressions),
    }

    def compiled() -> tuple[ItemStatement, str]:
        statement = statements[what.what]()
        return statement, _text(statement)

    check_on_no_rows(table, compiled)


def _text(statement: ItemStatement) -> str:
    return statement.query.sql(DIALECT, identify=True)


def _user_blocks(table: Table, statement: ItemStatement) -> Iterator[tuple[Integers, Integers, pl.DataFrame]]:
    """Yield the rows of whole users: their numbers, where each one's rows begin, the rows."""
    first = 0
    for frame in _whole_users(_frames(table, statement)):
        keys = frame.get_column(NUMBER)
        starts = np.flatnonzero(keys.ne_missing(keys.shift(1)).to_numpy())
        offsets = np.append(starts, len(frame)).astype(np.int64)
        if table.users.keys is None:
            numbers = np.arange(first, first + len(starts), dtype=np.int64)
            first += len(starts)
        else:
            numbers = keys.gather(starts).to_numpy().astype(np.int64)
        yield numbers, offsets, frame


def _whole_users(frames: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Yield rows in blocks that no user's rows are divided between; rows without a user are left out."""
    kept: list[pl.DataFrame] = []
    for batch in frames:
        frame = batch.filter(pl.col(NUMBER).is_not_null())
        if not len(frame):
            continue
        keys = frame.get_column(NUMBER)
        last = int(keys.index_of(keys[-1]) or 0)
        is_continued = bool(kept) and kept[-1].get_column(NUMBER)[-1] == keys[0]
        if last == 0 and is_continued:
            kept.append(frame)
            continue
        if kept and not is_continued:
            yield pl.concat(kept)
            kept = []
        if last:
            yield pl.concat([*kept, frame[:last]])
        kept = [frame[last:]]
    if kept:
        yield pl.concat(kept)


def _frames(table: Table, statement: ItemStatement) -> Iterator[pl.DataFrame]:
    """Yield a statement's rows batch by batch."""
    in_order = not statement.query.args.get("order")
    with _connection(table.source, statement.lookups, table.users.keys, in_order=in_order) as connection:
        with hidden_errors():
            reader = stoppable(connection, lambda: connection.sql(_text(statement)).to_arrow_reader(BLOCK_ROWS))
        while (batch := _next_batch(connection, reader)) is not None:
            yield pl.DataFrame(batch)


def _next_batch(connection: Any, reader: Any) -> Any:
    with hidden_errors():
        return stoppable(connection, lambda: next(reader, None))


def _sorted_items(frame: pl.DataFrame, offsets: Integers) -> Floats:
    """Return the items of whole users, each user's in rising order: the one that the engine chose may change."""
    owners = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    items = frame.with_columns(pl.Series(NUMBER, owners)).sort(frame.columns)
    return _matrix(items.drop(NUMBER))


def _integers(frame: pl.DataFrame, name: str) -> Integers:
    return frame.get_column(name).to_numpy().astype(np.int64, copy=False)


def _matrix(frame: pl.DataFrame) -> Floats:
    return np.ascontiguousarray(frame.to_numpy(), dtype=np.float64)
