"""What is shown of a budget's spending, kept up from charge to charge: sums by query and period, and how it went down.

:mod:`emdp.budgets.totals` states both in the chain, so that ``emdp ledger show`` need not read every charge again.
"""

import json
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import groupby
from typing import Any

from emdp.base.classes import dataclass
from emdp.budgets.carried import Key, Sums, carried_account, carried_shown
from emdp.budgets.spending import Spending, cost_of, event_of, field_of, payer_of
from emdp.ledger import Entry
from emdp.ledger.chain import canonical_json
from emdp.ledger.entries import later
from emdp.privacy import Account, Budget, Event
from emdp.privacy.guarantees.kinds import is_by_source
from emdp.privacy.rounding import as_decimal, float_down, float_up

__all__ = ["Shown", "followed", "shown_of"]

LONGEST = 20_000
"""Characters of what is stated; of a table with more different questions and periods the charges are read."""


@dataclass(frozen=True)
class Shown:
    """Sums of a budget's charges as they are shown."""

    sums: Sums  # Number of charges, level and delta by period, report and query, in the order of their first charges
    # What was left after the last of some charges in a row that have one period or day, as
    # `emdp.budgets.spending.burn_down` has it.
    steps: tuple[tuple[str, float], ...] = ()

    def to_json(self) -> dict[str, Any] | None:
        """Return it as a ledger has it; None where that is too long."""
        sums = [[*key, count, str(level), str(delta)] for key, (count, level, delta) in self.sums.items()]
        found = {"sums": sums, "steps": [list(step) for step in self.steps]}
        return found if len(canonical_json(found)) <= LONGEST else None

    def by_query(self, budget: Budget) -> tuple[Spending, ...]:
        """Return what :func:`emdp.budgets.spending.by_query` does of the charges."""
        return _spendings(budget, self.sums)

    def by_period(self, budget: Budget) -> tuple[Spending, ...]:
        """Return what :func:`emdp.budgets.spending.by_period` does of the charges."""
        sums: Sums = {}
        for (period, _, _), own in self.sums.items():
            _add(sums, (period, None, ""), own)
        return _spendings(budget, sums)


def shown_of(entries: Sequence[Entry], budget: Budget) -> tuple[Account, Shown] | None:
    """Return a budget's account and what is shown of it, by totals and the charges since; None where none state it,
    as of a budget per period or history, of which each step is another period's."""
    if is_by_source(budget.guarantee):
        return None
    begun, said = carried_account(entries, budget), carried_shown(entries, budget)
    if begun is None or said is None:
        return None
    return followed(begun[1], Shown(*said), later(entries, begun[0], "charge"))


def followed(account: Account, shown: Shown, charges: Iterable[Entry]) -> tuple[Account, Shown]:
    """Return a budget's account and what is shown of it after further charges of its table.

    Raises
    ------
    LedgerError
        If they are more than the budget, or lack a field.
    """
    budget = account.budget
    kind, promised = budget.guarantee.kind_name, as_decimal(budget.guarantee.level)
    sums, steps = dict(shown.sums), list(shown.steps)
    costs: dict[Event, tuple[Fraction, Fraction]] = {}
    own = [(_told(entry), event_of(entry)) for entry in charges if payer_of(entry) == kind]
    for label, run in groupby(own, key=lambda one: one[0][0]):
        events = []
        for (_, key), event in run:
            events.append(event)
            if event not in costs:
                costs[event] = cost_of(event, budget)
            _add(sums, key, (1, *costs[event]))
        account = account.replay(events)
        step = (label, float_down(promised - as_decimal(account.spent.level)))
        steps[-1:] = [step] if steps and steps[-1][0] == label else [*steps[-1:], step]
    return account, Shown(sums, tuple(steps))


def _told(entry: Entry) -> tuple[str, Key]:
    """Return the period or day of a charge, and its period, report and query."""
    period, report, query = _words(entry.text)
    return period or entry.time[:10], (period, report, str(field_of(entry, "query")) if query is None else query)


@lru_cache(maxsize=1024)
def _words(text: str) -> tuple[str | None, str | None, str | None]:
    told = json.loads(text)
    period, report, query = (
        value if isinstance(value := told.get(name), str) else None for name in ("period", "report", "query")
    )
    return period, report, query


def _add(sums: Sums, key: Key, own: tuple[int, Fraction, Fraction]) -> None:
    count, level, delta = sums.get(key, (0, Fraction(0), Fraction(0)))
    sums[key] = (count + own[0], level + own[1], delta + own[2])


def _spendings(budget: Budget, sums: Sums) -> tuple[Spending, ...]:
    promise = budget.guarantee
    found = [
        Spending(promise.kind_name, *key, count, promise.level_name, float_up(level), float_up(delta))
        for key, (count, level, delta) in sums.items()
    ]
    return tuple(sorted(found, key=lambda spending: spending.period or ""))
