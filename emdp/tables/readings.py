"""What the engine of a table reads for releases of messages."""

from collections.abc import Callable
from functools import partial
from typing import Any

from emdp.base.statistic import Hidden, HiddenBlocks
from emdp.questions.reading import BlockEncoder, EncodedReleaser, Reading
from emdp.tables.engine import engine_of
from emdp.tables.facts import TableFacts

__all__ = ["check_items", "explain_reading", "read_items", "release_steps"]


def read_items(
    table: TableFacts, reading: Reading, encoder: BlockEncoder | None = None
) -> Hidden[Any] | HiddenBlocks[Any]:
    """Return what a reading asks for; see :meth:`emdp.tables.engines.base.Engine.read_items`."""
    return engine_of(table.source).read_items(table, reading, encoder)


def check_items(table: TableFacts, reading: Reading) -> None:
    """Run the statement of a reading on no rows; see :meth:`emdp.tables.engines.base.Engine.check_items`."""
    engine_of(table.source).check_items(table, reading)


def explain_reading(table: TableFacts, reading: Reading) -> tuple[tuple[str, str], ...]:
    """Return what is public about the work of a reading, for people to read; of DuckDB nothing."""
    return engine_of(table.source).explain_reading(table, reading)


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
