"""Lists of users by period, as charges name them: which lists of other periods have nobody in common with one's own.

A charge of a table whose catalog has a list for each period names its list by hash, and the lists of periods before it
that nobody of its own is on (:mod:`emdp.privacy.account.lists` says what that is worth). These are read from the
catalog, and taken for what they are only if the ledger holds their period to the same hash.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import polars as pl

from emdp.base.errors import EmdpError
from emdp.budgets.declarations import Held
from emdp.budgets.spending import account_by_lists, charges_of
from emdp.ledger import Entry
from emdp.privacy import Account, Budget

__all__ = ["PeriodList"]


class Users(Protocol):
    """Facts needed of a public list of users."""

    @property
    def keys(self) -> pl.Series | None:
        """Their keys; None where only their number is public."""

    def digest(self, *, columns: bool = True) -> str:
        """Return a hash of the keys."""


class PeriodList:
    """The list of the period that a session reads, beside those of other periods."""

    def __init__(self, period: str, users: Users, users_of: Callable[[str], Users]) -> None:
        self._period = period
        self._keys = users.keys
        self._digest = users.digest(columns=False)
        self._users_of = users_of
        self._apart: dict[str, bool] = {}

    def look(self, entries: Sequence[Entry]) -> None:
        """Read the lists of periods that the ledger names and that were not read yet."""
        for period, digest in Held.by(entries).lists.items():
            if period != self._period and digest not in self._apart:
                self._apart[digest] = self._is_apart(period, digest)

    def said(self) -> dict[str, Any]:
        """Return what a charge says of the lists that were read."""
        return {"list": {"users": self._digest, "apart": self._known()}}

    def account(self, budget: Budget, entries: Sequence[Entry]) -> Account:
        """Return a budget as this period may draw on it."""
        paid = [charge for charge in charges_of(entries) if charge.budget == budget]
        return account_by_lists(budget, paid, self._digest, self._known())

    def _known(self) -> list[str]:
        return sorted(digest for digest, is_apart in self._apart.items() if is_apart)

    def _is_apart(self, period: str, digest: str) -> bool:
        try:
            other = self._users_of(period)
        except EmdpError:
            # A list that is gone, or no list any more, may have had anybody.
            return False
        if self._keys is None or other.keys is None or other.digest(columns=False) != digest:
            return False
        return not self._keys.is_in(other.keys.implode()).any()
