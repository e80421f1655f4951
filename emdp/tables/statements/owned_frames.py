"""The statement of each kind of table that is computed of rows with owners, and the order of what it gives."""

import polars as pl

from emdp.questions.owned.frames import OwnedFrame
from emdp.tables.facts import TableFacts
from emdp.tables.statements.owned import OwnedStatement
from emdp.tables.statements.owned_groups import groups_statement, sorted_groups

__all__ = ["frame_statement", "in_order"]


def frame_statement(table: TableFacts, wanted: OwnedFrame) -> OwnedStatement:
    """Return the statement of a table of rows with owners."""
    return groups_statement(table, wanted)


def in_order(frame: pl.DataFrame, wanted: OwnedFrame) -> pl.DataFrame:
    """Return what the statement gave in an order of its content, not of the records."""
    return sorted_groups(frame, wanted)
