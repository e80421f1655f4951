"""One function for all that an engine reads for releases of messages."""

from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import Any

from emdp.errors import InternalError
from emdp.expressions.reading import BlockEncoder, EncodedReleaser, Reading
from emdp.statistic import Hidden, HiddenBlocks
from emdp.tables.base import SPARK
from emdp.tables.table import Table

__all__ = ["check_items", "explain_reading", "read_items", "release_steps"]


def read_items(table: Table, reading: Reading, encoder: BlockEncoder | None = None) -> Hidden[Any] | HiddenBlocks[Any]:
    """Return what a reading asks for, hidden until the session opens it.

    Parameters
    ----------
    table : Table
        The private table.
    reading : Reading
        What is read.
    encoder : BlockEncoder, optional
        What draws of every block where the engine has it; opened, blocks are then the frames of its output.
    """
    if table.source.engine == SPARK:
        # Loaded where it is needed.
        from emdp.tables.spark_items import read_spark_items

        return read_spark_items(table, reading, encoder)
    read = _read(table, reading)
    if encoder is None:
        return read
    if not isinstance(read, HiddenBlocks):
        raise InternalError(f"{reading.what!r} come in no blocks to be encoded; please report it.")
    return HiddenBlocks(lambda: chain.from_iterable(map(encoder.encode, read.open())))


def check_items(table: Table, reading: Reading) -> None:
    """Run the statement of a reading on no rows, so that what the engine refuses is refused before a charge.

    Raises
    ------
    UsageError
        If the space is not finite where it must be, an expression does not fit it, or the engine cannot compute it.
    DataRuleError
        Of texts: if the column holds bytes that are no text.
    """
    if table.source.engine == SPARK:
        from emdp.tables.spark_items import check_spark_items

        check_spark_items(table, reading)
        return
    from emdp.tables import item_reads

    item_reads.check_items(table, reading)


def explain_reading(table: Table, reading: Reading) -> tuple[tuple[str, str], ...]:
    """Return what is public about the work of a reading, for people to read; of DuckDB nothing."""
    if table.source.engine != SPARK:
        return ()
    from emdp.tables import spark_items

    return spark_items.explain_reading(table, reading)


def release_steps(releaser: Any, *, keep_exact: bool) -> tuple[BlockEncoder | None, Callable[..., tuple[Any, Any]]]:
    """Return the encoder of a releaser that has one, and what makes the release of what :func:`read_items` reads.

    Parameters
    ----------
    releaser : Releaser
        Of :mod:`emdp.estimators.messages`.
    keep_exact : bool
        Whether the test switch is on, so that the exact statistic is kept.
    """
    encoder = releaser.encoder(keep_exact=keep_exact) if isinstance(releaser, EncodedReleaser) else None
    finish = releaser.release if encoder is None else releaser.merge
    return encoder, partial(finish, keep_exact=keep_exact)


def _read(table: Table, reading: Reading) -> Hidden[Any] | HiddenBlocks[Any]:
    # Sums, which are most of what is asked, need none of it.
    from emdp.tables.item_reads import bag_blocks, item_counts, point_blocks, text_blocks, user_means

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
