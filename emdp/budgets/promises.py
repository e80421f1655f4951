"""Promises of a session: budgets from guarantees, the same ones as the ledger has them, the price of a batch."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from emdp.base.checks import check_unit_interval
from emdp.base.errors import LedgerError, UsageError
from emdp.ledger import Entry
from emdp.ledger.entries import of_kinds
from emdp.privacy import Budget, EmdDP, Event, Guarantee, converts_to
from emdp.privacy.guarantees.kinds import is_by_source, is_per_history
from emdp.privacy.guarantees.units import side_of
from emdp.privacy.rounding import as_decimal, float_up

__all__ = ["batch_of", "check_budgets", "check_history_budgets", "declared_in", "make_budgets"]


def make_budgets(budget: Guarantee | Sequence[Guarantee], gaussian_share: float) -> tuple[Budget, ...]:
    """Return the budgets that a caller declared: one guarantee, or one of each kind.

    Raises
    ------
    UsageError
        If there is none, or two of a kind.

    >>> from emdp.privacy import EmdDP, UserDP
    >>> [budget.guarantee.kind_name for budget in make_budgets([EmdDP(60.0), UserDP(1.0)], 0.0)]
    ['unbounded central EmdDP', 'central UserDP']
    """
    check_unit_interval("gaussian_share", gaussian_share, zero=True, one=True)
    listed = (budget,) if isinstance(budget, Guarantee) else tuple(budget) if isinstance(budget, Sequence) else ()
    if not listed or not all(isinstance(guarantee, Guarantee) for guarantee in listed):
        raise UsageError("budget must be a guarantee such as EmdDP(alpha=60), or a list of several kinds; pass one.")
    kinds = {(type(own), *side_of(own)) for own in listed}
    if len(kinds) < len(listed):
        raise UsageError("budget names a kind of guarantee twice; pass one of each kind at most.")
    _check_units(listed)
    if gaussian_share > 0 and all(guarantee.delta == 0 for guarantee in listed):
        raise UsageError("gaussian_share needs a budget with a delta, since Gaussian noise does; declare one.")
    return tuple(Budget(guarantee, gaussian_share if guarantee.delta > 0 else 0.0) for guarantee in listed)


def check_history_budgets(budgets: Sequence[Budget], *, is_counted: bool) -> None:
    """Refuse a budget per history where nobody knows which part of it a record is.

    Parameters
    ----------
    budgets : sequence of Budget
        Of one table.
    is_counted : bool
        Whether the table has slots, or the same number of records for everybody.
    """
    if not is_counted and any(is_per_history(budget.guarantee) for budget in budgets):
        raise UsageError(
            "budget is per history, and what part of it a record is depends on how many others somebody has in that "
            "period; read the table with slots=20, or the number that fits, or with records=."
        )


def _check_units(listed: Sequence[Guarantee]) -> None:
    """Refuse a budget per period that would not count what the EmdDP budget beside it pays."""
    emd = [guarantee for guarantee in listed if isinstance(guarantee, EmdDP)]
    for own in filter(is_by_source, emd):
        if any(not converts_to(replace(other, unit="user", periods=None), own) for other in emd):
            raise UsageError(
                f"budget is unbounded per {'history' if own.periods else 'period'} and bounded beside it, so that the "
                "one would not count what the other pays; give both the same sizes."
            )


def declared_in(entries: Sequence[Entry]) -> Mapping[str, Any] | None:
    """Return what the budget's newest entry holds; None where no budget was declared yet."""
    declared = of_kinds(entries, "budget")
    return declared[-1].payload if declared else None


def check_budgets(declared: Mapping[str, Any], wanted: Mapping[str, Any], name: str) -> None:
    """Raise ``LedgerError`` if the ledger holds other budgets than a session wants."""
    if declared.get("budgets") != wanted["budgets"]:
        shown = " and ".join(str(Budget.from_json(budget).guarantee) for budget in declared.get("budgets", []))
        raise LedgerError(
            f"the ledger holds another budget for table {name!r}, {shown}; pass the same, with the same "
            f"gaussian_share, or let the owner change it by emdp ledger redeclare LEDGER {name} -C emdp.toml --budgets."
        )


def batch_of(events: Sequence[Event]) -> Event:
    """Return the event of a batch: at the sum of its deltas, where loss distributions may compose to less."""
    # Loaded where it is needed.
    from emdp.privacy import price_batch

    delta = float_up(sum((as_decimal(event.guarantee.delta) for event in events), Fraction(0)))
    return price_batch(events, delta if 0 < delta < 1 else None)
