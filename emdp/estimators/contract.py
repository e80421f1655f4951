"""The contract of a plan: its public facts, and the order in which a session asks it to check, compute and release.

A plan knows no table and no engine. What its statement is run on is handed to it as :class:`Records`.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import polars as pl

from emdp.base.statistic import Hidden, HiddenBlocks, Statistic
from emdp.expressions.cells.aggregation import Aggregation
from emdp.mechanisms.release import Mechanism
from emdp.privacy import Event, Guarantee
from emdp.questions.columns import Finisher, PlannedColumn, Released
from emdp.questions.comparison import ComparedMethod
from emdp.questions.owned.grids import OwnedFrame
from emdp.questions.owned.totals import OwnedTotals
from emdp.questions.reading import BlockEncoder, Reading
from emdp.spaces import Space

__all__ = ["AnyPlan", "Exact", "Records"]

Exact = Statistic | Hidden[Any] | HiddenBlocks[Any]
"""An exact value, hidden until a session opens it after the charge."""


class Records(Protocol):
    """The records of a private table, by whatever engine reads them."""

    @property
    def users(self) -> int:
        """The public number of users; an error where none is declared."""

    @property
    def most_users(self) -> int:
        """The public number of users; where none is declared more than any table has rows."""

    @property
    def space(self) -> Space:
        """The item space."""

    def check_aggregation(self, aggregation: Aggregation | OwnedTotals) -> None:
        """Run the statement of an aggregation on no rows."""

    def aggregate(self, aggregation: Aggregation | OwnedTotals) -> tuple[Statistic, ...]:
        """Return an aggregation, one statistic for each group of users."""

    def explain_cost(self, aggregation: Aggregation | OwnedTotals) -> tuple[tuple[str, str], ...]:
        """Return public facts about the work of an aggregation."""

    def check_owned(self, wanted: OwnedFrame) -> None:
        """Run the statement of a table of rows with owners on no rows."""

    def read_owned(self, wanted: OwnedFrame) -> Hidden[pl.DataFrame]:
        """Return a table of rows with owners: exact, private."""

    def check_items(self, reading: Reading) -> None:
        """Run the statement of a reading on no rows."""

    def read_items(self, reading: Reading, encoder: BlockEncoder | None) -> Hidden[Any] | HiddenBlocks[Any]:
        """Return the items that a reading asks for, encoded block by block where there is an encoder."""

    def explain_reading(self, reading: Reading) -> tuple[tuple[str, str], ...]:
        """Return public facts about the work of a reading."""


class AnyPlan(Protocol):
    """A priced release: everything about it that is settled before the data is touched.

    A session calls :meth:`check`, charges :attr:`event`, and only then :meth:`statistic` and :meth:`release`.
    """

    @property
    def event(self) -> Event:
        """The charge as the ledger keeps it."""

    @property
    def guarantee(self) -> Guarantee:
        """Guarantee of the release."""

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """Mechanisms that draw: one for each group of users, or the releaser of messages."""

    @property
    def columns(self) -> tuple[PlannedColumn, ...]:
        """The answer's columns."""

    @property
    def choice(self) -> str:
        """Reason for this mechanism, in a few sentences."""

    @property
    def finisher(self) -> Finisher:
        """Maker of the answer's rows from what was released."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Further facts for the reader."""

    @property
    def comparison(self) -> tuple[ComparedMethod, ...]:
        """The methods that were compared, if any were."""

    @property
    def weighing(self) -> str:
        """Weight of a user and of a record, in words."""

    @property
    def without_records(self) -> str:
        """Record of a public user without records, in words; empty for the neutral item."""

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Facts that the data owner vouches for, besides the users and the space."""

    @property
    def is_constant(self) -> bool:
        """Whether no table could change the answer."""

    def group_sizes(self, users: int) -> tuple[int, ...]:
        """Return the public number of users of each group."""

    def check(self, records: Records) -> None:
        """Check, before the charge, that the engine computes what the plan needs."""

    def work(self, records: Records) -> tuple[tuple[str, str], ...]:
        """Return public facts about the engine's work: names and texts, for people to read."""

    def statistic(self, records: Records, *, keep_exact: bool) -> tuple[Exact, ...]:
        """Return the numbers computed of the records, exact and hidden; after the charge.

        Parameters
        ----------
        records : Records
            The private records.
        keep_exact : bool
            Whether the test switch is on, so that the exact statistic is kept beside what is released.
        """

    def release(self, opened: Sequence[Any], records: Records, *, keep_exact: bool) -> tuple[Any, Released | None]:
        """Draw once: this spends.

        Parameters
        ----------
        opened : sequence
            What :meth:`statistic` returned, opened.
        records, keep_exact
            As for :meth:`statistic`.

        Returns
        -------
        released : object
            What the finisher makes rows of.
        exact : tuple or None
            The same without randomness, where it is kept and there is such a thing.

        Raises
        ------
        EmdpError
            If a statistic lies outside of its public range; no number is shown.
        """
