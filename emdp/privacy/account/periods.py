"""Periods: what several answers hide together where each reads a part of a user's history.

A *source* ``s`` is a period in one version of the data, or any other public part that answers read: a week's view and
the month's are two. ``d_s`` is the earth-mover distance of the bags that a user has in it, in two histories of that
user.

**Theorem 1 (one ledger, three units).** Releases are chosen knowing earlier answers; release ``j`` reads source
``s(j)`` and is ``(alpha_j d_s(j), delta_j)``, or Gaussian with ``mu_j d_s(j)``, slack beside it.

- *Unit user.* If all charges stay within the filter of a budget ``(alpha, delta)``, all answers are ``(alpha D +
  slack, delta)`` with ``D`` the **largest** ``d_s`` of all sources that are read: as much may change in every period
  at once.
- *Unit period.* If for the period ``t`` the charges of the sources that may depend on ``t`` stay within the filter of
  a budget ``(a, delta)``, all answers are ``(a d + slack, delta)`` between histories that differ in ``t`` alone,
  ``d`` the largest ``d_s`` of these sources. If that holds for every period, and no release is a stream of totals
  (:mod:`emdp.mechanisms.streams.mechanism`), histories that differ in ``k`` periods have ``(k a, k delta)``, slack
  ``k`` times.
- *Unit history.* Let every release read one of ``T`` periods, or be a stream whose periods have ``mu c_t``. If for each
  ``t`` the levels (and squares) charged for ``t``, times ``T`` (times ``T^2``), stay within the caps of the filter of a
  budget ``(alpha, delta)``, and the deltas and slacks of **all** charges together within its caps, all answers are
  ``(alpha d~ + slack, delta)``, ``d~`` the mean of the ``d_t`` (:mod:`emdp.privacy.guarantees.units`).

*Proof.* Fix two histories: the ``d_s`` are fixed numbers. The filter's proof (:mod:`emdp.privacy.account.filter`)
uses of a release only that it costs ``alpha_j d`` and ``delta_j``, or ``mu_j d``, between them, and with ``d_s <= D``
every step stands at ``d = D``. Between histories that differ in ``t`` alone a release on a source without ``t`` has
one law, given what was answered before, and costs nothing: what is left is the filter of ``t``. Between histories
that differ in the periods ``S``, ``|S| = k``, a release costs nothing or is in the filter of at least one ``t`` of
``S``: give it to one of them. The plain parts of these filters add up to ``k`` times the rest's level and delta,
their squares to ``m <= sum m_t``; and ``G(e^(k l), sum m_t) <= k max_t G(e^l, m_t)``, since a product of ``k``
Gaussian pairs, each ``(l, b)``, is ``(k l, k b)``. So the claim of the filter's proof ends at ``(k a, k delta)``. (A
stream of totals changes in later rows, too: two of its periods shift the same rows, and their ``mu`` add up, not the
squares.)

Unit history: on every path the levels add up to at most ``sum_t d_t a_t <= (sum_t d_t) max_t a_t = T d~ max_t a_t``.
Let ``mu_jt`` be what release ``j`` shifts per unit of ``d_t``: one on a single period has one of them, a stream that of
each column. Its shift is at most ``sum_t mu_jt d_t``, and by Minkowski's inequality ``sum_j (sum_t mu_jt d_t)^2 <=
(sum_t d_t (sum_j mu_jt^2)^(1/2))^2 <= (T d~)^2 max_t sum_j mu_jt^2``. Deltas and slacks add up over all. These are the
caps of the filter at the distance ``d~``, which its proof asks for. ∎ Two versions of a period are one ``t``, ``d_t``
the larger of their distances. A source of several periods has a distance that no mean of theirs bounds (the month
below), so that it is refused; and a stream that is paid as ``(alpha, delta)`` is priced at ``T d~`` up to its number of
periods, so that it cannot be prolonged.

**The maximum is needed.** One record in W1 and 99 in W2, the record of W1 moved by the diameter: a hundredth of the
user's records, yet ``d_W1 = 1``. A budget that was chosen to hide "1 % of the records" with 0.2 has alpha 20, and the
mean of W1 may cost all of it. **Each source counts.** ``W1 {a}`` becomes ``{a, a}`` beside ``W2 {b}``: both weeks are
at distance 0, the month at a sixth of ``d(a, b)``.

*References.* elsewhere-periods-continual.md B1.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from fractions import Fraction

from emdp.base.classes import dataclass
from emdp.base.errors import BudgetExceededError, LedgerError
from emdp.privacy.account.budget import Budget
from emdp.privacy.account.filter import Account
from emdp.privacy.events.base import Event
from emdp.privacy.guarantees.kinds import EmdDP, is_per_history, is_per_period

__all__ = ["SourceCharge", "Sources", "check_history", "history_account", "largest_account", "period_account"]


@dataclass(frozen=True)
class SourceCharge:
    """An event with the periods that its source may depend on."""

    event: Event
    periods: tuple[str, ...] | None = None  # Their names; None: any period that there is, or will be

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


def history_account(budget: Budget, charges: Iterable[SourceCharge], periods: Sequence[str] | None = None) -> Account:
    """Return a budget per history with what was charged for the dearest of some periods, deltas and slacks for all.

    Parameters
    ----------
    budget : Budget
        Of ``unit="history"``.
    charges : iterable of SourceCharge
        In their order, each of known periods.
    periods : sequence of str, optional
        Their names; all that a charge names by default.

    Raises
    ------
    LedgerError
        If the charges are more than the budget covers, or one names no period.

    >>> from emdp.privacy.events.table import GuaranteeEvent
    >>> charges = [SourceCharge(GuaranteeEvent(EmdDP(alpha)), (name,)) for alpha, name in ((3.0, "W1"), (5.0, "W2"))]
    >>> year = Budget(EmdDP(520.0, unit="history", periods=52))
    >>> [history_account(year, charges, names).spent.alpha for names in (["W1"], ["W3"], None)]
    [156.0, 0.0, 260.0]
    """
    return Sources(budget, Account(budget)).after(charges).account_of(periods)


@dataclass(frozen=True)
class Sources:
    """A budget per period, or history, with what was charged to it so far, for every period at once.

    A function of what it was and of further charges, so that a ledger's totals may state it
    (:mod:`emdp.budgets.totals`). It is what the functions here find in all charges.

    *Proof.* Per period: the charges that count for a period are, in order, those that name it and those that name none;
    of a period that no charge named before they are those that name none, which ``every`` has. Each account is replayed
    with those of the further charges that count for its period. Per history: the sums of each period and the shared
    ones change by what they and the charge alone say. ∎

    >>> from emdp.privacy.events.table import GuaranteeEvent
    >>> def charge(alpha, *periods):
    ...     return SourceCharge(GuaranteeEvent(EmdDP(alpha)), periods or None)
    >>> budget = Budget(EmdDP(10.0, unit="period"))
    >>> found = Sources(budget, Account(budget)).after([charge(1.0, "W1"), charge(1.0)]).after([charge(2.0, "W2")])
    >>> [found.account(name).spent.alpha for name in ("W1", "W2", "W3", None)]
    [2.0, 3.0, 1.0, 3.0]
    """

    budget: Budget
    every: Account  # Of a period that no charge names; of a history what all its periods share
    # Of the periods that charges name, in the order of the first of each; of a history their levels and squares.
    each: Mapping[str, Account] = field(default_factory=dict)

    def after(self, charges: Iterable[SourceCharge]) -> "Sources":
        """Return it after further charges.

        Raises
        ------
        LedgerError
            If they are more than the budget covers in any period, or one names no period of a history.
        """
        return self._of_history(charges) if is_per_history(self.budget.guarantee) else self._of_periods(charges)

    def account(self, period: str | None) -> Account:
        """Return the account of a period; None: of the one that cost most, or of all of a history."""
        if is_per_history(self.budget.guarantee):
            return self.account_of(None if period is None else [period])
        if period is not None:
            return self.each.get(period, self.every)
        return max((self.every, *self.each.values()), key=lambda account: account.spent.level)

    def account_of(self, periods: Sequence[str] | None) -> Account:
        """Return the account of some periods of a history: the dearest, deltas and slacks for all."""
        names = self.each if periods is None else periods
        return _together(self.every, [self.each[name] for name in names if name in self.each])

    def _of_periods(self, charges: Iterable[SourceCharge]) -> "Sources":
        begun: dict[str | None, Account] = {None: self.every}
        begun.update(self.each)
        events: dict[str | None, list[Event]] = {name: [] for name in begun}
        for charge in charges:
            for name in dict.fromkeys(charge.periods or ()):
                if name not in begun:
                    begun[name], events[name] = self.every, list(events[None])
            for counted in events if charge.periods is None else dict.fromkeys(charge.periods):
                events[counted].append(charge.event)
        found = {name: account.replay(events[name]) for name, account in begun.items()}
        return replace(self, every=found[None], each={name: own for name, own in found.items() if name is not None})

    def _of_history(self, charges: Iterable[SourceCharge]) -> "Sources":
        each, shared, empty = dict(self.each), self.every, Account(self.budget)
        for charge in charges:
            names = charge.periods or ()
            if not names:
                raise LedgerError(
                    f"a charge of the ledger is of no period, as {self.budget.guarantee} needs; restore it from a copy "
                    "that verifies."
                )
            before = _together(shared, [each.get(name, empty) for name in names])
            after = before.paid(charge.event)
            level, square = after.level - before.level, after.square - before.square
            for name in names:
                own = each.get(name, empty)
                each[name] = replace(own, level=own.level + level, square=own.square + square)
            # Deltas and slacks are those of all charges, whatever their period.
            shared = replace(after, level=Fraction(0), square=Fraction(0))
        return replace(self, every=shared, each=each)


def _together(shared: Account, accounts: Iterable[Account]) -> Account:
    """Return the account of some periods: the largest of their levels and squares, and what all periods share."""
    listed = list(accounts)
    level = max((own.level for own in listed), default=Fraction(0))
    return replace(shared, level=level, square=max((own.square for own in listed), default=Fraction(0)))


def check_history(sources: Sources, events: Sequence[Event], periods: Sequence[str]) -> None:
    """Raise ``BudgetExceededError`` unless a budget per history covers events that read these periods.

    >>> from emdp.privacy.events.table import GuaranteeEvent
    >>> budget = Budget(EmdDP(4.0, unit="history", periods=2))
    >>> year = Sources(budget, Account(budget))
    >>> check_history(year, [GuaranteeEvent(EmdDP(2.0))], ["W1"])
    >>> check_history(year, [GuaranteeEvent(EmdDP(0.1))], ["W1", "W2", "W3"])
    Traceback (most recent call last):
    emdp.base.errors.BudgetExceededError: the budget is of a history of 2 periods, and W3 would be one more; ask for \
periods that have answers, or declare a budget for more periods.
    """
    stated, known = sources.budget.guarantee, sources.each
    most = stated.periods or 0 if isinstance(stated, EmdDP) else 0
    new, left = [name for name in dict.fromkeys(periods) if name not in known], max(most - len(known), 0)
    if len(new) > left:
        raise BudgetExceededError(
            f"the budget is of a history of {most} periods, and {new[left]} would be one more; ask for periods that "
            "have answers, or declare a budget for more periods."
        )
    account = sources.account_of(periods)
    for event in events:
        account = account.charge(event)


def largest_account(budget: Budget, charges: Sequence[SourceCharge]) -> Account:
    """Return a budget with what was charged to it: all charges, or those of the period that cost most.

    >>> from emdp.privacy.guarantees.kinds import EmdDP
    >>> largest_account(Budget(EmdDP(10.0, unit="period")), []).remaining.alpha
    10.0
    """
    if is_per_history(budget.guarantee):
        return history_account(budget, charges)
    if not is_per_period(budget.guarantee):
        return Account.from_charges(budget, [charge.event for charge in charges])
    names = dict.fromkeys(name for charge in charges for name in charge.periods or ())
    accounts = [period_account(budget, charges, name) for name in (None, *names)]
    return max(accounts, key=lambda account: account.spent.level)
