"""The statement of each kind of table that is computed of rows with owners, and the order of what it gives."""

import polars as pl

from emdp.questions.owned.grids import OwnedFrame, OwnedPairs, OwnedWeights
from emdp.tables.facts import TableFacts
from emdp.tables.statements.owned import OwnedStatement
from emdp.tables.statements.owned_grids import pairs_statement, sorted_rows, weights_statement
from emdp.tables.statements.owned_groups import groups_statement, sorted_groups

__all__ = ["frame_statement", "in_order"]


def frame_statement(table: TableFacts, wanted: OwnedFrame) -> OwnedStatement:
    """Return the statement of a table of rows with owners."""
    if isinstance(wanted, OwnedWeights):
        return weights_statement(table, wanted)
    return pairs_statement(table, wanted) if isinstance(wanted, OwnedPairs) else groups_statement(table, wanted)


def in_order(frame: pl.DataFrame, wanted: OwnedFrame) -> pl.DataFrame:
    """Return what the statement gave in an order of its content, not of the records."""
    return sorted_rows(frame, wanted) if isinstance(wanted, OwnedWeights | OwnedPairs) else sorted_groups(frame, wanted)
