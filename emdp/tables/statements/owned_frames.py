"""The statement of each kind of table that is computed of rows with owners, and the order of what it gives."""

import polars as pl

from emdp.questions.owned.grids import OwnedFrame, OwnedPairs, OwnedWeights
from emdp.questions.owned.groups import OwnedKeys
from emdp.tables.facts import TableFacts
from emdp.tables.statements.owned import OwnedStatement
from emdp.tables.statements.owned_grids import pairs_statement, sorted_rows, weights_statement
from emdp.tables.statements.owned_groups import groups_statement, keys_statement, sorted_groups, sorted_keys
from emdp.tables.statements.rows import DUCKDB_ROWS, RowsWriting

__all__ = ["frame_statement", "in_order"]


def frame_statement(table: TableFacts, wanted: OwnedFrame, writing: RowsWriting = DUCKDB_ROWS) -> OwnedStatement:
    """Return the statement of a table of rows with owners, with functions of a row as an engine writes them."""
    if isinstance(wanted, OwnedWeights):
        return weights_statement(table, wanted, writing)
    if isinstance(wanted, OwnedPairs):
        return pairs_statement(table, wanted, writing)
    if isinstance(wanted, OwnedKeys):
        return keys_statement(table, wanted, writing)
    return groups_statement(table, wanted, writing)


def in_order(frame: pl.DataFrame, wanted: OwnedFrame) -> pl.DataFrame:
    """Return what the statement gave in an order of its content, not of the records."""
    if isinstance(wanted, OwnedKeys):
        return sorted_keys(frame)
    return sorted_rows(frame, wanted) if isinstance(wanted, OwnedWeights | OwnedPairs) else sorted_groups(frame, wanted)
