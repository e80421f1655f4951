"""One function for all that an engine reads for releases of messages."""

from typing import Any

from emdp.errors import InternalError
from emdp.expressions.reading import Reading
from emdp.statistic import Hidden, HiddenBlocks
from emdp.tables.item_reads import bag_blocks, item_counts, point_blocks, text_blocks, user_means
from emdp.tables.table import Table

__all__ = ["read_items"]


def read_items(table: Table, reading: Reading) -> Hidden[Any] | HiddenBlocks[Any]:
    """Return what a reading asks for, hidden until the session opens it.

    Parameters
    ----------
    table : Table
        The private table.
    reading : Reading
        What is read.
    """
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
