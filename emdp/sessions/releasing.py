"""Plans on their way to answers: the ledger charged, the statistic computed, noise drawn once."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from emdp.answers import Answer, Receipt
from emdp.base.errors import EmdpError, UsageError, raise_alone
from emdp.budgets.accounts import Accounts, Limit, Tags
from emdp.estimators import AnyPlan
from emdp.ledger import Entry
from emdp.noise.rng import is_seeded
from emdp.questions.columns import Released
from emdp.sessions.planning import Planned
from emdp.sessions.presentation import public_part
from emdp.sessions.records import TableRecords
from emdp.tables import Table

if TYPE_CHECKING:
    from emdp.sessions.refining import KeptNoise

__all__ = ["Releasing"]


class Releasing:
    """Plans between the check that nothing will fail and their answers; made by :meth:`Asking.releasing`.

    Parameters
    ----------
    table : Table
        The private table, open for reading.
    version : str
        State of the data, whose declared rules hold.
    kept : KeptNoise, optional
        Where the noise of answers is kept that may be refined.
    """

    def __init__(
        self, table: Table, records: TableRecords, accounts: Accounts, version: str, kept: "KeptNoise | None" = None
    ) -> None:
        self._kept = kept
        self._table = table
        self.records = records
        self._accounts = accounts
        self.version = version

    def charge(
        self,
        planned: Sequence[Planned],
        tags: Tags,
        questions: Sequence[str] = (),
        *,
        limit: Limit | None = None,
    ) -> list[Entry]:
        """Charge plans together; return for each the entry that paid. ``questions``: a digest for each, to be kept."""
        shared = {"data_version": self.version, "users": self._table.users.count}
        described: list[dict[str, Any]] = [{"query": one.text, **shared} for one in planned]
        for own, question in zip(described, questions, strict=False):
            own["question"] = question
        return self._accounts.charge_all(
            [(one.plan.event, own) for one, own in zip(planned, described, strict=True)], tags, limit=limit
        )

    def answer(self, planned: Planned, entry: Entry) -> Answer:
        """Compute, draw noise once, and return the answer that an entry paid for."""
        try:
            released, exact = self._drawn(planned.plan, entry)
        except EmdpError as error:
            # Frames below this one hold private numbers: whoever logs a traceback with its locals must not see them.
            raise_alone(error.with_traceback(None))
        shared: dict[str, Any] = {
            "receipt": Receipt(self._accounts.ledger.path, entry.sequence, entry.hash),
            "_exact": exact,
            "_plan": None if self._kept is None else planned.plan,
        }
        period, plan = entry.payload.get("period"), planned.plan
        answer = Answer(**public_part(planned, self._table, period), released=released, **shared)
        weaker: Sequence[AnyPlan] = getattr(plan, "weaker", ())
        if not weaker:
            return answer
        lowered = plan.lowered(released)  # type: ignore[attr-defined]  # of plans that have weaker tiers
        views = [
            Answer(
                **public_part(replace(planned, plan=own), self._table, period),
                released=values,
                charged=plan.guarantee,
                **shared,
            )
            for own, values in zip(weaker, lowered, strict=True)
        ]
        return replace(answer, weaker=tuple(views))

    def check_unchanged(self) -> None:
        """Check that the data are still those whose rules were checked; before an answer is shown.

        Raises
        ------
        UsageError
            If they are not: what was read may be of either, or of both.
        """
        if self._table.data_version() != self.version:
            raise UsageError(
                "the data changed while they were read, so nothing is shown, and what was charged stays charged; ask "
                "again when nobody writes them."
            )

    def _drawn(self, plan: AnyPlan, entry: Entry) -> tuple[Any, Released | None]:
        """Open the exact statistic of a plan that was charged, and draw once."""
        records, keeps = self.records, is_seeded()
        opened = [statistic.open() for statistic in plan.statistic(records, keep_exact=keeps)]
        released, exact = plan.release(opened, records, keep_exact=keeps)
        if self._kept is not None:
            self._kept.keep_drawn(entry, plan, opened, released)
        return released, exact
