"""Charges of what learns from people round by round, outside of any table: one entry of a ledger a round."""

import hashlib
import json
import os
from collections.abc import Mapping
from typing import Any

from emdp.base.errors import UsageError
from emdp.budgets.accounts import Accounts
from emdp.budgets.declarations import Declaration
from emdp.budgets.promises import make_budgets
from emdp.ledger import open_ledger
from emdp.noise.rng import is_seeded
from emdp.privacy import Event, UserDP

__all__ = ["Charges"]


class Charges:
    """The budget of one thing that learns, in a ledger; everything in it is public.

    Parameters
    ----------
    ledger : path or None
        As for :class:`emdp.Session`. None under the test switch alone: then nothing is written.
    name : str
        Under which name the ledger keeps it. A name is used once: what was learnt is not in the ledger, so that whoever
        begins anew under it finds the budget spent.
    budget : UserDP
        What all rounds together may spend.
    facts : mapping
        What the promise is about, JSON-ready.

    Raises
    ------
    UsageError
        If there is no ledger outside of the test switch, or it is of the other side of the switch.
    LedgerError
        If the ledger holds another budget, or other facts, under the name.
    """

    def __init__(
        self, ledger: str | os.PathLike[str] | None, name: str, budget: UserDP, facts: Mapping[str, Any]
    ) -> None:
        if not isinstance(name, str) or not name:
            raise UsageError("name must be a text that is not empty; pass the name that the ledger is to keep.")
        self._is_test = is_seeded()
        self._accounts: Accounts | None = None
        if ledger is None:
            if not self._is_test:
                raise UsageError("ledger must be given outside of emdp.testing.seeded; pass the path of a file.")
            return
        told = hashlib.sha256(json.dumps(dict(facts), sort_keys=True).encode()).hexdigest()
        identity = Declaration(space=told, user="user", users=told, records=None)
        opened = open_ledger(ledger, test=self._is_test)
        try:
            self._accounts = Accounts(opened, name, make_budgets(budget, 0.0), identity)
        except BaseException:
            opened.close()
            raise

    def charge(self, event: Event, query: str, users: int) -> None:
        """Write a round's charge, durably, before anything of the round is read."""
        self.check_side()
        if self._accounts is not None:
            self._accounts.charge_all([(event, {"query": query, "data_version": "rounds", "users": users})])

    def check_side(self) -> None:
        """Raise ``UsageError`` on the other side of the test switch: its noise would not be that of the charge."""
        if self._is_test != is_seeded():
            raise UsageError("what learns works on the side of the test switch on which it began; begin another one.")

    def close(self) -> None:
        """Give the ledger back."""
        if self._accounts is not None:
            self._accounts.ledger.close()
