"""DuckDB's reading of records for releases that randomize items or users one by one, hidden until they are opened.

Blocks come from one statement each, in Arrow batches, and hold whole users, so that memory is bounded by a batch and
the largest user. Users are numbered; no key leaves this file.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import polars as pl
from sqlglot import exp

from emdp.base.errors import DataRuleError, InternalError, raise_alone
from emdp.base.statistic import Hidden, HiddenBlocks
from emdp.expressions import Expression
from emdp.questions.public_ranges import BlockRange, block_range
from emdp.questions.reading import BlockEncoder, Reading, TextColumn
from emdp.spaces import Categories
from emdp.spaces.items import count_items
from emdp.tables.engines.blocks import (
    BLOCK_ROWS,
    BagBlock,
    Integers,
    MeanBlock,
    PointBlock,
    TextBlock,
    UserMeans,
    filled_bags,
    filling_of,
    integers,
    matrix,
    sorted_items,
    user_runs,
    whole_users,
)
from emdp.tables.engines.duckdb.execution import DIALECT, check_on_no_rows, hidden_errors, opened
from emdp.tables.engines.waiting import stoppable
from emdp.tables.facts import TableFacts
from emdp.tables.statements import fragments as sql
from emdp.tables.statements.items import (
    CODE,
    NUMBER,
    RECORDS,
    ItemStatement,
    bags_statement,
    counts_statement,
    points_statement,
    user_means_statement,
)
from emdp.tables.statements.texts import TEXT, texts_statement

__all__ = ["bag_blocks", "check_items", "item_counts", "point_blocks", "read_items", "text_blocks", "user_means"]


def read_items(
    table: TableFacts, reading: Reading, encoder: BlockEncoder | None = None
) -> Hidden[Any] | HiddenBlocks[Any]:
    """Return the items that a reading asks for; see :meth:`emdp.tables.engines.base.Engine.read_items`."""
    read = _read(table, reading)
    if encoder is None:
        return read
    if not isinstance(read, HiddenBlocks):
        raise InternalError(f"{reading.what!r} come in no blocks to be encoded; please report it.")
    return HiddenBlocks(lambda: chain.from_iterable(map(encoder.encode, read.open())))


def item_counts(table: TableFacts) -> Hidden[Integers]:
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
    with opened(table.source, statement.lookups, None) as connection, hidden_errors():
        found = stoppable(connection, lambda: connection.execute(_text(statement)).fetchnumpy())
    codes = found[CODE].astype(np.int64)
    block_range(Reading("counts"), table.space).check(codes, found[RECORDS])
    counts[codes] = found[RECORDS]
    return Hidden(counts)


def bag_blocks(table: TableFacts) -> HiddenBlocks[BagBlock]:
    """Return each present public user's histogram over a finite space, in blocks of whole users.

    Where the table has slots, histograms are of bags that are filled up to them.

    A user's number is the row in the public list; where only the number of users is public, it is any of
    0, 1, ..., present - 1, in rising order of blocks.

    Raises
    ------
    UsageError
        If the space is not finite, or has too many items.
    """
    statement, known = bags_statement(table), block_range(Reading("bags"), table.space)
    filling = filling_of(table.space)

    def read() -> Iterator[BagBlock]:
        for users, offsets, frame in _user_blocks(table, statement):
            block = BagBlock(users, offsets, integers(frame, CODE), integers(frame, RECORDS))
            yield filled_bags(known.checked(block), filling)

    return HiddenBlocks(read)


def point_blocks(table: TableFacts, by_user: bool = False) -> HiddenBlocks[PointBlock]:
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
    known = block_range(Reading("points"), table.space)

    def read() -> Iterator[PointBlock]:
        if by_user:
            for users, offsets, frame in _user_blocks(table, statement):
                yield known.checked(PointBlock(users, offsets, sorted_items(frame, offsets)))
            return
        for frame in _frames(table, statement):
            yield known.checked(PointBlock(None, None, matrix(frame)))

    return HiddenBlocks(read)


def user_means(table: TableFacts, expressions: Sequence[Expression]) -> UserMeans:
    """Return each present public user's mean of some expressions over its records, in fixed point.

    They are the integers that :func:`emdp.tables.mean_of_user_means` adds up; users are numbered as in
    :func:`bag_blocks`. A public user in no block has no records, and counts with ``neutral_values``.
    """
    statement = user_means_statement(table, tuple(expressions))
    known = block_range(Reading("means", expressions=tuple(expressions)), table.space)

    def read() -> Iterator[MeanBlock]:
        for users, _, frame in _user_blocks(table, statement):
            means = frame.drop(NUMBER).to_numpy().astype(np.int64, copy=False)
            yield known.checked(MeanBlock(users, np.ascontiguousarray(means), statement.exponents))

    return UserMeans(read, statement.exponents, statement.neutral_values)


def text_blocks(table: TableFacts, column: TextColumn) -> HiddenBlocks[TextBlock]:
    """Return each present public user's strings of a column, in blocks of whole users, numbered as in
    :func:`bag_blocks`.
    """
    statement, known = texts_statement(table, column), BlockRange("texts")

    def read() -> Iterator[TextBlock]:
        for users, offsets, frame in _user_blocks(table, statement):
            owners = np.repeat(np.arange(len(users)), np.diff(offsets))
            ordered = frame.with_columns(pl.Series(NUMBER, owners)).sort(NUMBER, TEXT)
            yield known.checked(TextBlock(users, offsets, ordered.get_column(TEXT), integers(ordered, RECORDS)))

    return HiddenBlocks(read)


def check_items(table: TableFacts, what: Reading) -> None:
    """Run the statement of a reading on no rows; see :meth:`emdp.tables.engines.base.Engine.check_items`."""
    if what.column is not None:
        _check_texts(table, what.column)
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


def _read(table: TableFacts, reading: Reading) -> Hidden[Any] | HiddenBlocks[Any]:
    if reading.what == "counts":
        return item_counts(table)
    if reading.what == "bags":
        return bag_blocks(table)
    if reading.what == "points":
        return point_blocks(table, by_user=reading.by_user)
    if reading.what == "means":
        return user_means(table, reading.expressions)
    if reading.what == "texts" and reading.column is not None:
        return text_blocks(table, reading.column)
    raise InternalError(f"no engine reads {reading.what!r}; please report it.")


def _check_texts(table: TableFacts, column: TextColumn) -> None:
    """Check what a search needs of a column: that the engine can compute the statement, and every text is text.

    Bytes of a file that are no text would be an error in the middle of a release, so they are looked for before the
    charge, in this column alone. Whether it raises is a fact about the records, as of
    :meth:`emdp.tables.Table.check_rules`.

    Raises
    ------
    UsageError
        If the engine cannot compute the statement.
    DataRuleError
        If the column has another type in the source, or holds bytes that are no text.
    """
    # The same rows, of which the space has that column.
    view = replace(table, space=Categories(column.name, ("a", "b")))

    def compiled() -> tuple[ItemStatement, str]:
        statement = texts_statement(table, column)
        return statement, statement.query.sql(DIALECT, identify=True)

    check_on_no_rows(view, compiled)
    table.source.check_schema(table.schema, view.source_columns)
    try:
        _decode(table, column.name)
    except DataRuleError:
        # What cannot be read at all is no matter of this column.
        _decode(table, table.user)
        raise_alone(
            DataRuleError(
                f"column {column.name!r} of table {table.name!r} cannot be read as text to its end; write the file "
                "with text in UTF-8."
            )
        )


def _decode(table: TableFacts, name: str) -> None:
    """Read one column of the source, and nothing of the others."""
    # Every value is decoded for it, as a length or a count would not have it.
    every = exp.select(exp.Max(this=sql.cast(sql.column(name), "TEXT"))).from_("source_rows")
    with opened(table.source, {}, None) as connection, hidden_errors():
        stoppable(connection, lambda: connection.execute(every.sql(DIALECT, identify=True)).fetchall())


def _text(statement: ItemStatement) -> str:
    return statement.query.sql(DIALECT, identify=True)


def _user_blocks(table: TableFacts, statement: ItemStatement) -> Iterator[tuple[Integers, Integers, pl.DataFrame]]:
    """Yield the rows of whole users: their numbers, where each one's rows begin, the rows."""
    first = 0
    for frame in whole_users(_frames(table, statement)):
        numbers, offsets = user_runs(frame, first if table.users.keys is None else None)
        first += len(numbers)
        yield numbers, offsets, frame


def _frames(table: TableFacts, statement: ItemStatement) -> Iterator[pl.DataFrame]:
    """Yield a statement's rows batch by batch."""
    in_order = not statement.query.args.get("order")
    with opened(table.source, statement.lookups, table.users.keys, in_order=in_order) as connection:
        with hidden_errors():
            reader = stoppable(connection, lambda: connection.sql(_text(statement)).to_arrow_reader(BLOCK_ROWS))
        while (batch := _next_batch(connection, reader)) is not None:
            yield pl.DataFrame(batch)


def _next_batch(connection: Any, reader: Any) -> Any:
    with hidden_errors():
        return stoppable(connection, lambda: next(reader, None))
