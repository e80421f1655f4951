"""Sessions: refuse, price, charge the ledger, and only then compute, draw and answer."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

import polars as pl

from emdp.accounts import Accounts, Tags, make_budgets, space_digest
from emdp.answers import Answer, Preview
from emdp.checks import check_period
from emdp.errors import UsageError
from emdp.estimators import MessagePlan
from emdp.expressions.names import Names
from emdp.expressions.resolution import Query
from emdp.ledger import Ledger, open_ledger
from emdp.noise.rng import is_seeded
from emdp.presentation import previewed
from emdp.privacy import Guarantee
from emdp.questions import Questions
from emdp.releasing import Releasing
from emdp.statements import Planned, Planner
from emdp.tables import Table, check_aggregation, check_engine, read
from emdp.tables.base import type_name
from emdp.tables.readings import check_items

__all__ = ["Session", "read"]


class Session(Questions):
    """Questions about one private table, paid from a budget that is kept in a ledger on disk.

    Parameters
    ----------
    table : Table
        What :func:`emdp.read` returned.
    budget : Guarantee, or a sequence with at most one ``EmdDP``, ``DiscreteEmdDP`` and ``UserDP``
        What all releases may spend. The first session on a table writes it to the ledger; a later one with another
        budget, space or user column is refused.
    ledger : path
        The ledger's file on a local disk, made if absent; or a PostgreSQL address, for a team.
    gaussian_share : float
        Share of an ``EmdDP`` budget set aside, once and for all, for Gaussian noise, whose ``mu^2`` add up there
        (:mod:`emdp.privacy.filter` says why a split must be fixed beforehand). 0: Gaussian releases are charged by
        their ``(alpha, delta)`` like all others.
    public : mapping of str to path or frame, optional
        Public tables by the name under which SQL may join them.
    period : str, optional
        Name of the public part of the table that is asked about, such as a week; kept with every charge. The budget is
        for all periods together.

    Raises
    ------
    UsageError
        If an argument is malformed.
    LedgerError
        If the ledger is damaged, holds another budget for the table, or was made on the other side of the test switch.

    Guarantee
    ---------
    All answers of all sessions on the table satisfy the budget: the sum of ``alpha`` and of ``delta``, with ``mu^2``
    of Gaussian noise under the share, is a filter that holds for parameters chosen after seeing answers (EMD 7).

    >>> import tempfile
    >>> from emdp.privacy import EmdDP
    >>> from emdp.spaces import Interval
    >>> from emdp.expressions import col
    >>> rows = {"user": [1, 1, 2], "x": [0.1, 0.4, 0.9]}
    >>> table = read(rows, user="user", space=Interval("x", 0, 1), users=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     session = Session(table, budget=EmdDP(alpha=10), ledger=f"{folder}/x.ledger")
    ...     answer = session.mean(col("x"), alpha=4, name="x")
    ...     answer.frame.columns, session.remaining().alpha
    (['x', 'x_low', 'x_high'], 6.0)
    """

    def __init__(
        self,
        table: Table,
        *,
        budget: Guarantee | Sequence[Guarantee],
        ledger: str | os.PathLike[str],
        gaussian_share: float = 0.0,
        public: Mapping[str, object] | None = None,
        period: str | None = None,
    ) -> None:
        if not isinstance(table, Table):
            raise UsageError(f"table must be what emdp.read returned, not {type(table).__name__}; call emdp.read.")
        self._table = table
        self._names = table.names(public)
        self._tags = Tags(period=None if period is None else check_period(period))
        budgets = make_budgets(budget, gaussian_share)
        identity = {"space": space_digest(table.space.to_json()), "user": table.user}
        # Hashed once: a list of users or a table of vectors may be long, and neither changes.
        self._rules = {
            "space": identity["space"],
            "users": table.users.digest(),
            "records": table.records,
            # An ENUM's values may be private, so of a type only its name is kept.
            "types": [type_name(table.schema[name]) for name in table.source_columns],
        }
        opened = open_ledger(ledger, test=is_seeded())
        try:
            self._accounts = Accounts(opened, table.name, budgets, identity)
        except BaseException:
            opened.close()
            raise
        self._planner = Planner(self._names, self.promises)

    @property
    def table(self) -> Table:
        """The private table."""
        return self._table

    @property
    def ledger(self) -> Ledger:
        """The ledger, as it is open."""
        return self._accounts.ledger

    @property
    def names(self) -> Names:
        """All that a statement may name; everything in it is public."""
        return self._names

    @property
    def rules(self) -> Mapping[str, Any]:
        """Digests of what the owner declared: space, users, records, types."""
        return self._rules

    @property
    def promises(self) -> tuple[Guarantee, ...]:
        """What each budget allows in all."""
        return tuple(budget.guarantee for budget in self._accounts.budgets)

    @property
    def tags(self) -> Tags:
        """What charges are for."""
        return self._tags

    def __repr__(self) -> str:
        return f"Session(table={self._table.name!r}, ledger={self._accounts.ledger.path!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the ledger back."""
        self._accounts.ledger.close()

    def sql(self, text: str) -> Answer:
        """Answer one SQL statement (queries/README.md has the language).

        Parameters
        ----------
        text : str
            Such as ``SELECT WITH EMD_PRIVACY OPTIONS (alpha = 1) AVG(price) FROM visits``.

        Returns
        -------
        Answer

        Raises
        ------
        SqlError
            If the statement is refused, with the part underlined; or if there are several, see :meth:`sql_batch`.
        BudgetExceededError
            If the budget does not cover it; nothing is charged then.
        DataRuleError
            If the records break a declared rule; nothing is charged then.
        """
        planned = self._planned(_check_text(text))
        if len(planned) > 1:
            raise UsageError(f"text holds {len(planned)} statements; ask with sql_batch, which answers each of them.")
        return self._run(planned)[0]

    def sql_batch(self, text: str) -> tuple[Answer, ...]:
        """Answer several SQL statements, fixed in advance, for one price; ``;`` stands between them.

        All are checked and priced before anything is computed, and charged together: either all are paid or none (with
        two budgets there is an instant between the two charges; a crash then leaves the first, and no answer).

        Parameters
        ----------
        text : str
            At least one statement.

        Returns
        -------
        tuple of Answer
            In order; each says what its own release guarantees. Those that one budget pays name the same entry.

        Raises
        ------
        EmdpError
            As :meth:`sql`.

        Guarantee
        ---------
        The statements of one kind of budget compose by sums of alpha and delta, Gaussian releases by ``mu^2``, or by
        loss distributions where that is less (EMD 7: parameters fixed in advance).
        """
        return self._run(self._planned(_check_text(text)))

    def answer(self, query: Query) -> Answer:
        """Answer a frozen query, as made by :func:`emdp.mean` and its like.

        The order is fixed: the query is checked and priced from public numbers; the table's rules are validated if
        this data version was not; the ledger is charged on disk; only then is the statistic computed, noise drawn,
        and the answer made. A crash after the charge leaves the charge.
        """
        if isinstance(query, str):
            raise UsageError("query must be made by emdp.mean and its like, not a text; ask SQL with Session.sql.")
        return self._run(self._planned(query))[0]

    def preview(self, query: str | Query) -> Preview:
        """Say what a request would cost and how far off it would be; touches no private value, spends nothing.

        Parameters
        ----------
        query : str, or a query as for :meth:`answer`
            SQL (one statement or several), or a query of Python.

        Returns
        -------
        Preview
        """
        statements = []
        for planned in self._planned(query):
            account = self._accounts.available(self._accounts.payer(planned.plan.event))
            statements.append(previewed(planned, self._table, affordable=account.affordable(planned.plan.event)))
        return Preview(tuple(statements))

    def spent(self, kind: type[Guarantee] | None = None) -> Guarantee:
        """Return what was spent of a budget: the first, or the one of the given kind (``EmdDP`` or ``UserDP``)."""
        return self._accounts.account(self._accounts.budget_of(kind)).spent

    def remaining(self, kind: type[Guarantee] | None = None, *, reserve: str | None = None) -> Guarantee:
        """Return what is left of a budget, without what is set aside for others.

        Parameters
        ----------
        kind : {EmdDP, UserDP}, optional
            Which budget; the first by default.
        reserve : str, optional
            Name of the reservation that may be drawn on.
        """
        return self._accounts.available(self._accounts.budget_of(kind), reserve=reserve).remaining

    def remaining_all(self) -> tuple[Guarantee, ...]:
        """Return what is left of every budget of the session."""
        return tuple(self._accounts.available(budget).remaining for budget in self._accounts.budgets)

    def history(self) -> pl.DataFrame:
        """Return the table's charges, one row an event.

        Returns
        -------
        polars.DataFrame
            Columns sequence, time, query, mechanism, alpha, delta, kind, hash.
        """
        return self._accounts.history()

    def replanned(self, planned: Planned) -> Planned:
        """Plan SQL again with what this session read: users, spaces and public tables are files, which change."""
        (again,) = self._planned(planned.text)
        return again

    def check_affordable(self, planned: Iterable[Planned], *, reserve: str | None = None) -> None:
        """Check that the budgets cover some plans together, without charging them.

        Parameters
        ----------
        planned : iterable of Planned
            The plans.
        reserve : str, optional
            Name of the set-aside budget that pays.

        Raises
        ------
        BudgetExceededError
            If they do not.
        """
        self._accounts.check_affordable((one.plan.event for one in planned), reserve=reserve)

    @contextmanager
    def releasing(self, planned: Iterable[Planned]) -> Iterator[Releasing]:
        """Hold the table open, see that whatever could fail does so before a charge, and validate the data's version.

        For what keeps answers (:mod:`emdp.store`); all else asks through the methods above.
        """
        self._check_switch()
        with self._table.held():
            check_engine(self._table)
            for one in planned:
                if isinstance(one.plan, MessagePlan):
                    check_items(self._table, one.plan.reading)
                elif not one.plan.is_constant:
                    check_aggregation(self._table, one.plan.aggregation)
            yield Releasing(self._table, self._accounts, self._validated_version())

    def _check_switch(self) -> None:
        if is_seeded() != self._accounts.ledger.is_test:
            raise UsageError(
                "a session works on the side of the test switch on which it was opened; open another one, with "
                "another ledger."
            )

    def _planned(self, request: str | Query) -> tuple[Planned, ...]:
        self._check_switch()
        return self._planner.plan(request)

    def _run(self, planned: tuple[Planned, ...]) -> tuple[Answer, ...]:
        self._accounts.check_affordable(one.plan.event for one in planned)
        with self.releasing(planned) as release:
            entries = release.charge(planned, self._tags)
            answers = tuple(release.answer(one, entry) for one, entry in zip(planned, entries, strict=True))
            release.check_unchanged()
            return answers

    def _validated_version(self) -> str:
        """Validate the table's rules unless this data version was already, so that no later error depends on it."""
        version = self._table.data_version()
        key = {"data_version": version, **self._rules}
        if not self._accounts.is_validated(key):
            self._table.validate()
            self._accounts.remember_validated(key)
        return version


def _check_text(text: object) -> str:
    if not isinstance(text, str):
        raise UsageError(f"text must be SQL, not {type(text).__name__}; pass a text, or a query to Session.answer.")
    return text
