"""Periods: what several answers hide together where each reads a part of a user's history.

A *source* ``s`` is a period in one version of the data, or any other public part that answers read: a week's view and
the month's are two. ``d_s`` is the earth-mover distance of the bags that a user has in it, in two histories of that
user.

**Theorem 1 (one ledger, two units).** Releases are chosen knowing earlier answers; release ``j`` reads source
``s(j)`` and is ``(alpha_j d_s(j), delta_j)``, or Gaussian with ``mu_j d_s(j)``, slack beside it.

- *Unit user.* If all charges stay within the filter of a budget ``(alpha, delta)``, all answers are ``(alpha D +
  slack, delta)`` with ``D`` the **largest** ``d_s`` of all sources that are read: as much may change in every period
  at once.
- *Unit period.* If for the period ``t`` the charges of the sources that may depend on ``t`` stay within the filter of
  a budget ``(a, delta)``, all answers are ``(a d + slack, delta)`` between histories that differ in ``t`` alone,
  ``d`` the largest ``d_s`` of these sources. If that holds for every period, and no release is a stream of totals
  (:mod:`emdp.mechanisms.streams.mechanism`), histories that differ in ``k`` periods have ``(k a, k delta)``, slack
  ``k`` times.

*Proof.* Fix two histories: the ``d_s`` are fixed numbers. The filter's proof (:mod:`emdp.privacy.account.filter`)
uses of a release only that it costs ``alpha_j d`` and ``delta_j``, or ``mu_j d``, between them, and with ``d_s <= D``
every step stands at ``d = D``. Between histories that differ in ``t`` alone a release on a source without ``t`` has
one law, given what was answered before, and costs nothing: what is left is the filter of ``t``. Between histories
that differ in the periods ``S``, ``|S| = k``, a release costs nothing or is in the filter of at least one ``t`` of
``S``: give it to one of them. The plain parts of these filters add up to ``k`` times the rest's level and delta,
their squares to ``m <= sum m_t``; and ``G(e^(k l), sum m_t) <= k max_t G(e^l, m_t)``, since a product of ``k``
Gaussian pairs, each ``(l, b)``, is ``(k l, k b)``. So the claim of the filter's proof ends at ``(k a, k delta)``. (A
stream of totals changes in later rows, too: two of its periods shift the same rows, and their ``mu`` add up, not the
squares.) ∎

**The maximum is needed.** One record in W1 and 99 in W2, the record of W1 moved by the diameter: a hundredth of the
user's records, yet ``d_W1 = 1``. A budget that was chosen to hide "1 % of the records" with 0.2 has alpha 20, and the
mean of W1 may cost all of it. **Each source counts.** ``W1 {a}`` becomes ``{a, a}`` beside ``W2 {b}``: both weeks are
at distance 0, the month at a sixth of ``d(a, b)``.

*References.* elsewhere-periods-continual.md B1.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from emdp.privacy.account.budget import Budget
from emdp.privacy.account.filter import Account
from emdp.privacy.events.base import Event
from emdp.privacy.guarantees.kinds import is_per_period

__all__ = ["SourceCharge", "largest_account", "period_account"]


@dataclass(frozen=True)
class SourceCharge:
    """An event with the periods that its source may depend on.

    Parameters
    ----------
    event : Event
        What was released.
    periods : tuple of str or None
        Their names; None: any period that there is, or will be.
    """

    event: Event
    periods: tuple[str, ...] | None = None

    def counts_for(self, period: str | None) -> bool:
        """Say whether the event costs what somebody did in a period; None: in a period that no charge names."""
        return self.periods is None or period in self.periods


def period_account(budget: Budget, charges: Iterable[SourceCharge], period: str | None) -> Account:
    """Return a budget per period with what was charged for one of them; None: for one that no charge names.

    Raises
    ------
    LedgerError
        If the charges are more than the budget covers.

    >>> from emdp.privacy.events.table import GuaranteeEvent
    >>> from emdp.privacy.guarantees.kinds import EmdDP
    >>> def charge(alpha, *periods):
    ...     return SourceCharge(GuaranteeEvent(EmdDP(alpha)), periods or None)
    >>> charges = [charge(1.0, "W1"), charge(1.0, "W1"), charge(3.0, "W2"), charge(1.0)]
    >>> budget = Budget(EmdDP(10.0, unit="period"))
    >>> [period_account(budget, charges, name).spent.alpha for name in ("W1", "W2", "W3")]
    [3.0, 4.0, 1.0]
    """
    return Account.from_charges(budget, [charge.event for charge in charges if charge.counts_for(period)])


def largest_account(budget: Budget, charges: Sequence[SourceCharge]) -> Account:
    """Return a budget with what was charged to it: all charges, or per period those of the period that cost most.

    >>> from emdp.privacy.guarantees.kinds import EmdDP
    >>> largest_account(Budget(EmdDP(10.0, unit="period")), []).remaining.alpha
    10.0
    """
    if not is_per_period(budget.guarantee):
        return Account.from_charges(budget, [charge.event for charge in charges])
    names = dict.fromkeys(name for charge in charges for name in charge.periods or ())
    accounts = [period_account(budget, charges, name) for name in (None, *names)]
    return max(accounts, key=lambda account: account.spent.level)
