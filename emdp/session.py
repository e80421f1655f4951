"""Sessions: refuse, price, charge the ledger, and only then compute, draw and answer."""

import os
from collections.abc import Iterable, Sequence
from fractions import Fraction
from types import TracebackType
from typing import Any, Self

import polars as pl

from emdp.accounts import Accounts, make_budgets, space_digest
from emdp.answers import Answer, ColumnDescription, Preview, Receipt
from emdp.errors import UsageError
from emdp.estimators import LinearPlan, LinearQuery, plan_linear
from emdp.expressions import Expression, Mean, VectorMean, evaluate, mean, vector_mean
from emdp.ledger import Entry, open_ledger
from emdp.noise.rng import is_seeded
from emdp.privacy import Guarantee
from emdp.statistic import Statistic
from emdp.tables import Table, check_engine, check_statement, mean_of_user_means, read

__all__ = ["Session", "read"]

ASSUMPTIONS = (
    "the public list or number of users is right, and does not come from the private records",
    "the item space (domain, metric, diameter) was fixed without looking at the private records",
)


class Session:
    """Questions about one private table, paid from a budget that is kept in a ledger on disk.

    Parameters
    ----------
    table : Table
        What :func:`emdp.read` returned.
    budget : Guarantee, or a sequence of one ``EmdDP`` and one ``UserDP``
        What all releases together may spend. The first session on a table writes it to the ledger; a later one
        with another budget, space or user column is refused.
    ledger : path
        The ledger's file on a local disk; made if absent.
    gaussian_share : float
        Share of an ``EmdDP`` budget set aside, once and for all, for Gaussian noise, whose ``mu^2`` add up there
        (:mod:`emdp.privacy.filter` says why a split must be fixed beforehand). 0: Gaussian releases are charged by
        their ``(alpha, delta)`` like all others.

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
    ) -> None:
        if not isinstance(table, Table):
            raise UsageError(f"table must be what emdp.read returned, not {type(table).__name__}; call emdp.read.")
        self._table = table
        self._checked: set[tuple[Expression, ...]] = set()
        budgets = make_budgets(budget, gaussian_share)
        identity = {"space": space_digest(table.space.to_json()), "user": table.user}
        # Hashed once: a list of users or a table of vectors may be long, and neither changes.
        self._rules = {
            "space": identity["space"],
            "users": table.users.digest(),
            "records": table.records,
            "types": [table.schema[name] for name in (table.user, *table.space.columns)],
        }
        opened = open_ledger(ledger, test=is_seeded())
        try:
            self._accounts = Accounts(opened, table.name, budgets, identity)
        except BaseException:
            opened.close()
            raise

    @property
    def table(self) -> Table:
        """The private table."""
        return self._table

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

    def mean(
        self,
        expression: Any,
        *,
        alpha: float | None = None,
        epsilon: float | None = None,
        delta: float = 0.0,
        name: str | None = None,
    ) -> Answer:
        """Release the mean over users of the mean over each user's records of an expression.

        Every user weighs the same, whatever the number of records; a user without records counts with the
        space's neutral item.

        Parameters
        ----------
        expression : Expression
            Function of one record, such as ``emdp.distance_to((40.7, -74.0))``.
        alpha : float, optional
            Charged to an ``EmdDP`` budget, or to a ``UserDP`` one as epsilon.
        epsilon : float, optional
            User-level privacy instead, charged to a ``UserDP`` budget. Exactly one of the two.
        delta : float
            Above 0, Gaussian noise may be chosen.
        name : str, optional
            Column of the answer.

        Returns
        -------
        Answer

        Raises
        ------
        NotLipschitzError
            If the expression has no finite Lipschitz constant.
        BudgetExceededError
            If the budget does not cover the release; nothing is charged then.
        DataRuleError
            If the records break a declared rule; nothing is charged then.

        Guarantee
        ---------
        ``(alpha, delta)`` unbounded central d_EM-DP: EMD 2, theorem 4.1 and "Answer".
        """
        return self.answer(mean(expression, alpha=alpha, epsilon=epsilon, delta=delta, name=name))

    def vector_mean(
        self,
        expressions: Iterable[Any],
        *,
        alpha: float | None = None,
        epsilon: float | None = None,
        delta: float = 0.0,
        noise: Any = "auto",
        names: Iterable[str] | None = None,
    ) -> Answer:
        """Release several means with one draw of noise, for one price.

        Parameters
        ----------
        expressions : sequence of Expression
            Functions of one record.
        alpha, epsilon, delta
            As in :meth:`mean`, for the whole vector.
        noise : {"auto", "laplace", "k_norm", "gaussian"}
            The law of the noise; by default the one with the smallest expected error.
        names : sequence of str, optional
            Columns of the answer.

        Returns
        -------
        Answer

        Raises
        ------
        EmdpError
            As :meth:`mean`.
        """
        query = vector_mean(expressions, alpha=alpha, epsilon=epsilon, delta=delta, noise=noise, names=names)
        return self.answer(query)

    def answer(self, query: LinearQuery) -> Answer:
        """Answer a frozen query, as made by :func:`emdp.mean` or :func:`emdp.vector_mean`.

        The order is fixed: the query is checked and priced from public numbers; the table's rules are validated if
        this data version was not; the ledger is charged on disk; only then is the statistic computed, noise drawn,
        and the answer made. A crash after the charge leaves the charge.
        """
        self._check_switch()
        plan = self._plan(query)
        self._accounts.account(self._accounts.payer(plan.event)).charge(plan.event)
        self._check_statement(tuple(column.expression for column in plan.columns))
        check_engine()
        version = self._validated_version()
        description = {"query": _text(query), "data_version": version, "users": self._table.n}
        entry = self._accounts.charge(plan.event, description)
        return self._release(plan, query, entry)

    def preview(self, query: LinearQuery) -> Preview:
        """Say what a query would cost and how far off it would be. No private value is touched, nothing is spent.

        Parameters
        ----------
        query : Mean or VectorMean
            As for :meth:`answer`.

        Returns
        -------
        Preview
        """
        plan = self._plan(query)
        account = self._accounts.account(self._accounts.payer(plan.event))
        return Preview(
            **_description(plan, query, self._table),
            affordable=account.affordable(plan.event),
            alpha=plan.guarantee.level,
        )

    def spent(self, kind: type[Guarantee] | None = None) -> Guarantee:
        """Return what was spent of a budget: the first, or the one of the given kind (``EmdDP`` or ``UserDP``)."""
        return self._accounts.account(self._accounts.budget_of(kind)).spent

    def remaining(self, kind: type[Guarantee] | None = None) -> Guarantee:
        """Return what is left of a budget: the first, or the one of the given kind (``EmdDP`` or ``UserDP``)."""
        return self._accounts.account(self._accounts.budget_of(kind)).remaining

    def history(self) -> pl.DataFrame:
        """Return the table's charges, one row an event.

        Returns
        -------
        polars.DataFrame
            Columns sequence, time, query, mechanism, alpha, delta, kind, hash.
        """
        return self._accounts.history()

    def _plan(self, query: LinearQuery) -> LinearPlan:
        if not isinstance(query, Mean | VectorMean):
            raise UsageError(
                f"query must be made by emdp.mean or emdp.vector_mean, not {type(query).__name__}; make one of these."
            )
        return plan_linear(query, space=self._table.space, users=self._table.n)

    def _check_statement(self, expressions: tuple[Expression, ...]) -> None:
        if expressions not in self._checked:
            check_statement(self._table, expressions)
            self._checked.add(expressions)

    def _check_switch(self) -> None:
        if is_seeded() != self._accounts.ledger.is_test:
            raise UsageError(
                "a session works on the side of the test switch on which it was opened; open another one, with "
                "another ledger."
            )

    def _validated_version(self) -> str:
        """Validate the table's rules unless this data version was already, so that no later error depends on it."""
        version = self._table.data_version()
        key = {"data_version": version, **self._rules}
        if not self._accounts.is_validated(key):
            self._table.validate()
            self._accounts.remember_validated(key)
        return version

    def _release(self, plan: LinearPlan, query: LinearQuery, entry: Entry) -> Answer:
        expressions = [column.expression for column in plan.columns]
        if plan.mechanism.is_exact:
            # A constant is the same at every item, so the table need not be touched.
            space = self._table.space
            statistic = Statistic([Fraction(float(evaluate(e, space, space.neutral_item)[0])) for e in expressions])
        else:
            statistic = mean_of_user_means(self._table, expressions)
        released = plan.mechanism.release(statistic.open())
        exact = tuple(float(value) for value in statistic.open()) if is_seeded() else None
        return Answer(
            **_description(plan, query, self._table),
            values=tuple(float(value) for value in released),
            receipt=Receipt(self._accounts.ledger.path, entry.sequence, entry.hash),
            _exact=exact,
        )


def _description(plan: LinearPlan, query: LinearQuery, table: Table) -> dict[str, Any]:
    columns = tuple(
        ColumnDescription(column.name, str(column.expression), column.lipschitz, column.low, column.high)
        for column in plan.columns
    )
    return {
        "query": _text(query),
        "columns": columns,
        "mechanism": plan.mechanism,
        "guarantee": plan.guarantee,
        "choice": plan.choice,
        "users": table.n,
        "assumptions": (*ASSUMPTIONS, f"a public user without records counts with {_neutral(table)}"),
    }


def _neutral(table: Table) -> str:
    columns = table.space.decode(table.space.neutral_item)
    shown = (f"{name} = {'the mean vector' if value is None else value!r}" for name, (value,) in columns.items())
    return f"the neutral item, {', '.join(shown)}"


def _text(query: LinearQuery) -> str:
    if isinstance(query, Mean):
        return f"mean({query.expression})"
    return f"vector_mean({', '.join(map(str, query.expressions))})"
