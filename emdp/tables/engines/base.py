"""The contract of an engine: exact statistics of a table's rows, and what is read for releases of messages.

An engine draws nothing: the same rows give the same numbers, in any order and by any number of workers.
"""

from typing import Any, Protocol

import polars as pl

from emdp.base.statistic import Hidden, HiddenBlocks, Statistic
from emdp.expressions.cells.aggregation import Aggregation
from emdp.questions.owned.grids import OwnedFrame
from emdp.questions.owned.totals import OwnedTotals
from emdp.questions.reading import BlockEncoder, Reading
from emdp.tables.base import Source
from emdp.tables.facts import TableFacts
from emdp.tables.statements.rules import Breach, Rule

__all__ = ["Engine"]


class Engine(Protocol):
    """Contract of an engine: exact statistics, and records for releases of messages.

    Exact values come hidden. An error never holds a private value or the engine's own text.
    """

    def prepare(self, table: TableFacts) -> None:
        """Check what is public of a table's source again, or begin to open what it is read with, before an answer."""

    def aggregate(self, table: TableFacts, aggregation: Aggregation | OwnedTotals) -> tuple[Statistic, ...]:
        """Return the statistics that an aggregation asks for, exactly: a statistic for each group of users.

        Users without records count with the value of the space's neutral item (EMD 8.1). Values are summed as integers
        (see ``expressions/numbers/fixed_point.py``), so that neither the order of rows nor the number of workers
        changes the result.

        Returns
        -------
        tuple of Statistic
            Of ``aggregation.dimension`` coordinates each: value by value, the cells in order.
        """

    def aggregate_checked(
        self, table: TableFacts, aggregation: Aggregation | OwnedTotals
    ) -> tuple[Statistic, ...] | None:
        """Return what :meth:`aggregate` does if the table's own records break no declared rule, in one scan for both.

        None says nothing of the records: there is no such scan for the aggregation, or it would be no faster, or a rule
        is broken. So does any error: the rules are then checked by :meth:`broken_rules`.
        """

    def check_aggregation(
        self, table: TableFacts, aggregation: Aggregation | OwnedTotals, is_new: bool = False
    ) -> bool:
        """Run the statement of an aggregation on no rows, so that what the engine refuses is refused before a charge.

        Parameters
        ----------
        is_new : bool
            Whether :meth:`aggregate_checked` will be asked first, so that its statement may be run in place of it.

        Returns
        -------
        bool
            Whether that was done.

        Raises
        ------
        UsageError
            If an axis does not fit the space, or the engine cannot compute the aggregation at all.
        """

    def read_owned(self, table: TableFacts, wanted: OwnedFrame) -> Hidden[pl.DataFrame]:
        """Return the numbers computed of rows with owners as a table of as many rows as the data make, exactly."""

    def check_owned(self, table: TableFacts, wanted: OwnedFrame) -> None:
        """Run the statement of such a table on no rows, so that what the engine refuses is refused before a charge.

        Raises
        ------
        UsageError
            If the engine cannot compute it at all.
        """

    def broken_rules(self, table: TableFacts) -> tuple[Rule, ...]:
        """Return the declared rules that the records break; see :meth:`emdp.tables.Table.validate`.

        Raises
        ------
        DataRuleError
            If the source has other columns than were declared, or cannot be read to its end.
        """

    def count_breaches(self, table: TableFacts) -> tuple[Breach, ...]:
        """Return how many records and users break each rule: for the table's owner."""

    def fetch_bag(self, table: TableFacts, user: Any) -> pl.DataFrame | None:
        """Return one user's items, None where there are none; see :meth:`emdp.tables.Table.bag`.

        Raises
        ------
        DataRuleError
            If an item is invalid, and the space says ``on_invalid="error"``.
        """

    def fetch_public(self, source: Source) -> pl.DataFrame:
        """Return all rows of a public table."""

    def fetch_users(self, table: TableFacts) -> Hidden[pl.Series]:
        """Return the public users who have a record, whatever it is: their keys as text, each once, in no order."""

    def explain_cost(self, table: TableFacts, aggregation: Aggregation | OwnedTotals) -> tuple[tuple[str, str], ...]:
        """Return public facts about the work that an aggregation will be: names and texts, for people to read."""

    def read_items(
        self, table: TableFacts, reading: Reading, encoder: BlockEncoder | None = None
    ) -> Hidden[Any] | HiddenBlocks[Any]:
        """Return the items that a reading asks for.

        Parameters
        ----------
        reading : Reading
            What is read.
        encoder : BlockEncoder, optional
            What draws of every block where the engine has it; opened, blocks are then the frames of its output.
        """

    def check_items(self, table: TableFacts, reading: Reading) -> None:
        """Run the statement of a reading on no rows, so that what the engine refuses is refused before a charge.

        Raises
        ------
        UsageError
            If the space is not finite where it must be, an expression does not fit it, or the engine cannot compute it.
        DataRuleError
            Of texts: if the column holds bytes that are no text.
        """

    def explain_reading(self, table: TableFacts, reading: Reading) -> tuple[tuple[str, str], ...]:
        """Return public facts about the work of a reading: names and texts, for people to read."""
