"""Records that the engine of a table reads for releases of messages."""

from typing import Any

from emdp.base.statistic import Hidden, HiddenBlocks
from emdp.questions.reading import BlockEncoder, Reading
from emdp.tables.engine import engine_of
from emdp.tables.facts import TableFacts

__all__ = ["check_items", "explain_reading", "read_items"]


def read_items(
    table: TableFacts, reading: Reading, encoder: BlockEncoder | None = None
) -> Hidden[Any] | HiddenBlocks[Any]:
    """Return the items that a reading asks for; see :meth:`emdp.tables.engines.base.Engine.read_items`."""
    return engine_of(table.source).read_items(table, reading, encoder)


def check_items(table: TableFacts, reading: Reading) -> None:
    """Run the statement of a reading on no rows; see :meth:`emdp.tables.engines.base.Engine.check_items`."""
    engine_of(table.source).check_items(table, reading)


def explain_reading(table: TableFacts, reading: Reading) -> tuple[tuple[str, str], ...]:
    """Return public facts about the work of a reading, for people to read; of DuckDB nothing."""
    return engine_of(table.source).explain_reading(table, reading)
