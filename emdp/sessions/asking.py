"""The order of a session: refuse, price, charge the ledger, and only then open the statistic, draw and answer."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import polars as pl

from emdp.answers import Answer, Preview
from emdp.base.checks import check_period
from emdp.base.errors import EmdpError, UsageError
from emdp.budgets.accounts import Accounts, Tags
from emdp.budgets.declarations import Declaration, carried_spaces, links_digest, space_digest
from emdp.budgets.promises import check_history_budgets, make_budgets
from emdp.ledger import Ledger, open_ledger
from emdp.noise.rng import is_seeded
from emdp.privacy import Budget, Guarantee
from emdp.privacy.guarantees.kinds import is_by_removal
from emdp.questions.names import Names
from emdp.questions.resolution import Query
from emdp.sessions.planning import Planned, Planner
from emdp.sessions.presentation import previewed
from emdp.sessions.records import TableRecords
from emdp.sessions.releasing import Releasing
from emdp.sessions.scans import SharedScans
from emdp.tables import Table, check_engine
from emdp.tables.base import type_name
from emdp.tables.facts import LinkedTable

if TYPE_CHECKING:
    from emdp.sessions.refining import KeptNoise

__all__ = ["Asking", "Parameters", "declaration_of"]

Parameters = Sequence[object] | Mapping[str, object]
"""Values of ``?`` in their order, or of ``$name`` by name."""


class Asking:
    """A private table with its budgets, and the one order in which requests to it are answered.

    What a session does that depends on no kind of question; :class:`emdp.sessions.session.Session` adds the questions,
    and says what the arguments mean.
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
        refinable: bool = False,
    ) -> None:
        if not isinstance(table, Table):
            raise UsageError(f"table must be what emdp.read returned, not {type(table).__name__}; call emdp.read.")
        self._table = table
        self._names = table.names(public)
        self._tags = Tags(period=None if period is None else check_period(period))
        budgets = make_budgets(budget, gaussian_share)
        check_history_budgets(budgets, is_counted=table.space.slots is not None or table.records is not None)
        if table.records is not None and table.users.count is not None:
            _check_removal(budgets)
        # Hashed once: a list of users or a table of vectors may be long, and neither changes.
        identity = declaration_of(table)
        self._rules = {
            "space": identity.space,
            "users": identity.listed,
            "records": table.records,
            # An ENUM's values may be private, so of a type only its name is kept.
            "types": [type_name(table.schema[name]) for name in table.source_columns],
        }
        self._rules |= {
            name: value for name, value in (("view", identity.view), ("links", identity.links)) if value is not None
        }
        opened = open_ledger(ledger, test=is_seeded())
        try:
            # Under another table's budget equal names may be of unlike periods, weeks and months: all may be read.
            own = self._tags.period if table.account == table.name else None
            listed = None
            if own is not None and table.users_period == own and table.users_of is not None:
                from emdp.budgets.lists import PeriodList

                listed = PeriodList(own, table.users, table.users_of)
            self._accounts = Accounts(opened, table.account, budgets, identity, period=own, users=listed)
        except BaseException:
            opened.close()
            raise
        self._planner = Planner(self._names, self.promises)
        self._refinable = refinable

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
        """Totals that each budget allows."""
        return tuple(budget.guarantee for budget in self._accounts.budgets)

    @property
    def tags(self) -> Tags:
        """Tags of charges."""
        return self._tags

    def __repr__(self) -> str:
        return f"Session(table={self._table.name!r}, ledger={self._accounts.ledger.path!r})"

    def _repr_html_(self) -> str:
        # Loaded where it is needed.
        from emdp.base.html import html_table

        accounts = [self._accounts.account(budget) for budget in self._accounts.budgets]
        rows = [[str(own.budget.guarantee), str(own.spent), str(own.remaining)] for own in accounts]
        title = f"table {self._table.name}, ledger {self._accounts.ledger.path}"
        return html_table(["budget", "spent", "remaining"], rows, caption=title)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the ledger back."""
        self._accounts.ledger.close()

    def answer(self, query: Query) -> Answer:
        """Answer a frozen query, as made by :func:`emdp.mean` and its like.

        The order is fixed: the query is checked and priced from public numbers; the table's rules are validated if
        this data version was not; the ledger is charged on disk; only then is the statistic opened, noise drawn,
        and the answer made. A crash after the charge leaves the charge.
        """
        if isinstance(query, str):
            raise UsageError("query must be made by emdp.mean and its like, not a text; ask SQL with Session.sql.")
        return self._run(self._planned(query))[0]

    def preview(self, query: str | Query, *, parameters: Parameters | None = None) -> Preview:
        """Say what a request would cost and how far off it would be; touches no private value, spends nothing.

        Parameters
        ----------
        query : str, or a query as for :meth:`answer`
            SQL (one statement or several), or a query of Python.
        parameters : list or dict, optional
            As of :meth:`emdp.Session.sql`.
        """
        statements = []
        for planned in self._planned(query if parameters is None else self._filled_in(query, parameters)):
            affordable = self._accounts.affordable(planned.plan.event)
            statements.append(previewed(planned, self._table, affordable=affordable))
        return Preview(tuple(statements))

    def spent(self, kind: type[Guarantee] | Guarantee | None = None) -> Guarantee:
        """Return what was spent of a budget: the first, or the one of the given kind (``EmdDP`` or ``UserDP``; of two
        ``UserDP`` budgets ``UserDP(0, neighbours=...)``).
        """
        return self._accounts.account(self._accounts.budget_of(kind)).spent

    def remaining(self, kind: type[Guarantee] | Guarantee | None = None, *, reserve: str | None = None) -> Guarantee:
        """Return what is left of a budget, without what is set aside for others.

        Parameters
        ----------
        kind : {EmdDP, UserDP} or Guarantee, optional
            Which budget, as for :meth:`spent`; the first by default.
        reserve : str, optional
            Name of the reservation that may be drawn on.
        """
        return self._accounts.available(self._accounts.budget_of(kind), reserve=reserve).remaining

    def remaining_all(self) -> tuple[Guarantee, ...]:
        """Return what is left of every budget of the session."""
        return tuple(self._accounts.available(budget).remaining for budget in self._accounts.budgets)

    def history(self) -> pl.DataFrame:
        """Return the table's charges, one row an event: sequence, time, query, mechanism, alpha, delta, kind, hash."""
        from emdp.budgets.history import history_of

        return history_of(self._accounts.ledger.entries(self._accounts.name, "charge"))

    def replanned(self, planned: Planned) -> Planned:
        """Plan SQL again with what this session read: users, spaces and public tables are files, which change."""
        (again,) = self._planned(planned.text)
        return again

    def adopt(self, planned: Iterable[Planned], names: Names, promises: Sequence[Guarantee]) -> None:
        """Remember plans that were made of names and promises, if this session would make the same."""
        if self._planner.plans_alike(names, promises):
            for one in planned:
                self._planner.plan(one.text, (one,))

    def check_affordable(self, planned: Iterable[Planned], *, reserve: str | None = None) -> None:
        """Check that the budgets cover some plans together, without charging them."""
        self._accounts.check_affordable((one.plan.event for one in planned), reserve=reserve)

    @contextmanager
    def releasing(self, planned: Iterable[Planned], scans: SharedScans | None = None) -> Iterator[Releasing]:
        """Hold the table open, see that whatever could fail does so before a charge, and validate the data's version.

        For what keeps answers (:mod:`emdp.sessions.store`); all else asks through the methods above.
        """
        self._check_switch()
        with self._table.held():
            check_engine(self._table)
            records = TableRecords(self._table, scans or SharedScans(), self._is_new())
            for one in planned:
                one.plan.check(records)
            version = self._validated_version(records)
            yield Releasing(self._table, records, self._accounts, version, self._kept_noise())

    def _kept_noise(self) -> "KeptNoise | None":
        if not self._refinable:
            return None
        from emdp.sessions.refining import KeptNoise

        return KeptNoise(self._accounts)

    def _check_switch(self) -> None:
        if is_seeded() != self._accounts.ledger.is_test:
            raise UsageError(
                "a session works on the side of the test switch on which it was opened; open another one, with "
                "another ledger."
            )

    @staticmethod
    def _filled_in(text: object, parameters: Parameters | None) -> str:
        """Return SQL with its parameters filled in."""
        if not isinstance(text, str):
            raise UsageError(f"text must be SQL, not {type(text).__name__}; pass a text, or a query to Session.answer.")
        if parameters is None:
            return text
        # Loaded where it is needed.
        from emdp.sql import filled_in

        return filled_in(text, parameters)

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

    def _is_new(self) -> bool:
        """Say whether the data, as they are, were never held against the rules; not where that cannot be found out."""
        with suppress(EmdpError):
            return not self._accounts.is_validated({"data_version": self._table.data_version(), **self._rules})
        return False

    def _validated_version(self, records: TableRecords) -> str:
        """Validate the table's rules unless this data version was already, so that no later error depends on it."""
        version = records.version()
        self._accounts.begin(version, self._table.marks, self._table.places)
        key = {"data_version": version, **self._rules}
        if self._accounts.is_validated(key):
            # By somebody else, perhaps, since they were taken for new.
            records.check_alone()
        else:
            records.check_rules()
            self._accounts.remember_validated(key)
        return version


def _check_removal(budgets: Iterable[Budget]) -> None:
    """Refuse a budget by removal where no user can vanish, so that it would promise nothing."""
    if any(is_by_removal(budget.guarantee) for budget in budgets):
        raise UsageError(
            "budget is by removal, and records= with users= says that all of them have records; declare the table "
            "without one of the two, or a budget with neighbours='replace'."
        )


def declaration_of(table: Table) -> Declaration:
    """Return what a ledger holds a table to: all that its records are compared with."""
    return Declaration(
        space=space_digest(table.space.to_json()),
        user=table.user,
        users=table.users.digest(columns=False),
        records=table.records,
        period=table.users_period,
        listed=table.users.digest(),
        view=table.source.view_digest,
        links=links_digest({name: _link(own) for name, own in table.linked.items()}),
        carried=carried_spaces(table.space.to_json()),
    )


def _link(own: LinkedTable) -> dict[str, Any]:
    view = {} if own.source.view_digest is None else {"view": own.source.view_digest}
    return {"column": own.user, "table": own.target, "key": own.key, "space": own.space.to_json(), **view}
