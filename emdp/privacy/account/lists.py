"""Lists: answers about people on public lists that have nobody in common cost as much as the dearest, and not the sum.

Each charge is of a public list of users, one for each period, or of nobody knows which. Two lists are *apart* if a
charge said so, when the later one of the two was charged first: they have nobody in common.

**Theorem.** Let every release read records of users on its list alone, the lists being fixed without a look at records.
If for every list the charges of all lists that are not apart from it stay within the filter of a budget ``(alpha,
delta)``, all answers together are ``(alpha d + slack, delta)`` between tables that differ in one user. *Proof.* Let the
user be ``i``. A release on a list without ``i`` has the same law in both, given what was answered before, and costs
nothing. On any path take one list with ``i`` that was charged, if there is any: every other list with ``i`` has ``i``
in common with it, so all charges that cost something are among those that its filter counted. So the charges of ``i``
are within the caps on every path, which is all that the proof of :mod:`emdp.privacy.account.filter` asks for; each is
paid from the part (reserve or not) that was decided for it when it was admitted. ∎

Lists of 3, 5 and 4 without anybody in common cost 5; with one user on the first and the third 7. A chain of lists, each
with people of the one before it, is counted as each list with its neighbours, which may be more than any user has, and
never less. People of lists that are apart may meet on a later one, whose sum is then above the budget though nobody's
is: what they had is at most the budget, nothing is left for that list, and that is what its account says. A charge of
no known list counts for everybody: in the sums around all lists, and by itself. Pseudonyms that
are given anew in each period make no lists of different people: somebody is then on all of them, under names that
differ.

*References.* elsewhere-periods-continual.md B3, "Public membership"; EMD 7, parallel composition.
"""

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from functools import reduce

from emdp.base.classes import dataclass
from emdp.base.errors import LedgerError
from emdp.privacy.account.budget import Budget
from emdp.privacy.account.filter import Account
from emdp.privacy.events.base import Event

__all__ = ["ListCharge", "account_of_list", "with_held"]


@dataclass(frozen=True)
class ListCharge:
    """An event with the list of the users whose records it reads."""

    event: Event
    users: str | None = None  # Hash of the list; None: any user
    # Hashes of lists that have nobody in common with it; of the first charge of a list those count that were charged
    # before.
    apart: frozenset[str] = frozenset()


def account_of_list(
    budget: Budget, charges: Iterable[ListCharge], users: str | None = None, apart: Iterable[str] = ()
) -> Account:
    """Return a budget as a charge of a list draws on it: the dearest of the sums around the lists that it touches.

    Parameters
    ----------
    budget : Budget
        Of users: no unit but theirs.
    charges : iterable of ListCharge
        In their order.
    users : str, optional
        Hash of the list; without it that of whoever was charged most.
    apart : iterable of str
        Lists that have nobody in common with it, where it was not charged yet.

    Raises
    ------
    LedgerError
        If the charges are more than the budget covers.

    >>> from emdp.privacy.events.table import GuaranteeEvent
    >>> from emdp.privacy.guarantees.kinds import EmdDP
    >>> def charge(alpha, users, *apart):
    ...     return ListCharge(GuaranteeEvent(EmdDP(alpha)), users, frozenset(apart))
    >>> budget = Budget(EmdDP(10.0))
    >>> account_of_list(budget, [charge(3.0, "a"), charge(5.0, "b", "a"), charge(4.0, "c", "a", "b")]).spent.alpha
    5.0
    >>> account_of_list(budget, [charge(3.0, "a"), charge(5.0, "b", "a"), charge(4.0, "c", "b")]).spent.alpha
    7.0
    """
    lists = _Lists(budget)
    for charge in charges:
        lists.add(charge)
    if users is None:
        return _largest(budget, lists.around.values())
    lists.know(users, frozenset(apart))
    return lists.before(users)


def with_held(account: Account, held: Iterable[Event]) -> Account:
    """Return an account with what is set aside for others as well, which may be more than a list has left.

    >>> from emdp.privacy.events.table import GuaranteeEvent
    >>> from emdp.privacy.guarantees.kinds import EmdDP
    >>> account = Account(Budget(EmdDP(8.0))).charge(GuaranteeEvent(EmdDP(6.0)))
    >>> [with_held(account, [GuaranteeEvent(EmdDP(alpha))]).remaining.alpha for alpha in (1.0, 4.0)]
    [1.0, 0.0]
    """
    try:
        return account.replay(held)
    except LedgerError:
        level, delta, _ = account.budget.plain
        return replace(account, level=level, delta=delta)


class _Lists:
    """Sums of charges: of each list, and around it, of all lists that are not apart from it."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.own: dict[str | None, Account] = {}
        self.around: dict[str | None, Account] = {}
        self._touching: dict[str | None, set[str | None]] = {}

    def know(self, users: str | None, apart: frozenset[str]) -> None:
        """Take a list in, with which of those before it have nobody in common with it: decided here once."""
        if users in self.own:
            return
        touching = {other for other in self.own if users is None or other is None or other not in apart}
        self.own[users] = Account(self.budget)
        # Whoever is on no list has what is of no list, and nothing else.
        self.around[users] = reduce(
            _plus, [self.own[other] for other in touching if users is not None], Account(self.budget)
        )
        self._touching[users] = {users, *touching}
        for other in touching:
            self._touching[other].add(users)

    def before(self, users: str | None) -> Account:
        """Return what a charge of a list must fit into."""
        return _largest(self.budget, (self.around[other] for other in self._touching[users]))

    def add(self, charge: ListCharge) -> None:
        self.know(charge.users, charge.apart)
        before = self.before(charge.users)
        after = before.paid(charge.event)
        paid = replace(
            after,
            count=1,
            level=after.level - before.level,
            delta=after.delta - before.delta,
            slack=after.slack - before.slack,
            square=after.square - before.square,
            reserve_delta=after.reserve_delta - before.reserve_delta,
            reserve_slack=after.reserve_slack - before.reserve_slack,
        )
        self.own[charge.users] = _plus(self.own[charge.users], paid)
        for other in self._touching[charge.users] - ({None} if charge.users is not None else set()):
            self.around[other] = _plus(self.around[other], paid)


def _plus(one: Account, other: Account) -> Account:
    return Account(
        one.budget,
        count=one.count + other.count,
        level=one.level + other.level,
        delta=one.delta + other.delta,
        slack=one.slack + other.slack,
        square=one.square + other.square,
        reserve_delta=one.reserve_delta + other.reserve_delta,
        reserve_slack=one.reserve_slack + other.reserve_slack,
    )


def _largest(budget: Budget, accounts: Iterable[Account]) -> Account:
    """Return the largest sums, each up to what the budget has: nobody had more."""
    listed, (level, delta, slack), reserve = [Account(budget), *accounts], budget.plain, budget.reserve
    return Account(
        budget,
        count=max(own.count for own in listed),
        level=min(level, max(own.level for own in listed)),
        delta=min(delta, max(own.delta for own in listed)),
        slack=min(slack, max(own.slack for own in listed)),
        square=min(Fraction(budget.mu_cap or 0.0) ** 2, max(own.square for own in listed)),
        reserve_delta=min(reserve.slack_delta, max(own.reserve_delta for own in listed)),
        reserve_slack=min(reserve.slack_epsilon, max(own.reserve_slack for own in listed)),
    )
