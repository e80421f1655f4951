"""The filter that a session runs: a budget, what was charged to it, and whether one more release fits.

Every parameter of a release may be chosen after seeing earlier answers. A :class:`Budget` ``(alpha, delta)``
is split *when it is declared*, by a share ``s`` that never changes:

- the *Gaussian reserve* holds ``(alpha s, delta s)`` as a cap ``mu_g`` on the root of the sum of ``mu^2``,
with
  ``H_{exp(alpha s)}(N(mu_g, 1)‖N(0, 1)) <= delta s (1 - 1/1024)``; the last 1/1024 of ``delta s`` is a cap of
  its own on the slack of the Gaussian events paid there;
- the rest, ``(alpha (1 - s), delta (1 - s))``, pays everything else by plain sums of level and delta, and
also, as
  its ``(alpha, delta)``, a Gaussian event that does not fit into the reserve any more.

``slack_epsilon`` of what the rest pays adds up under a third cap, ``slack_limit``, and stands beside the
promise.

**Theorem.** However the releases and their parameters depend on earlier answers, if the charges stay within
the caps, then between neighbours at distance ``d`` all answers together are ``(alpha d + slack_limit,
delta)``, at every ``d`` in [0, 1] at once.

*Proof.* Fix two neighbours at distance ``d``. Let ``G(t, m) = H_t(N(sqrt(m), 1)‖N(0, 1))``; it falls in
``t``, rises in ``m``, and ``p G(t q/p, m)`` is, for fixed ``q``, a rising function of ``p`` with slope at
most 1. Let ``a``, ``b`` and ``m`` be what is left of the level times ``d`` (with the slack), of delta (with
the reserve's slack), and of ``mu^2`` times ``d^2``. Claim: from a state with ``(a, b, m)`` left, whatever
follows, the laws ``P, Q`` of all further answers satisfy ``H_t(P‖Q) <= b + G(t exp(-a), m)`` for every ``t >=
0``. By induction on the number of releases still to come. *None:* ``H_t = (1 - t)_+ <= (1 - t exp(-a))_+ <=
G``. *One more, densities p and q at its answer, and then the rest:* ``H_t`` is the integral of ``p H'_{t
q/p}``, ``H'`` that of what follows the answer, which is chosen knowing it.

- Paid as ``(a_1, b_1)`` (its level times ``d``, plus slack): ``H' <= b - b_1 + G(. exp(a_1 - a), m)``. Let
  ``p' = min(p, e^{a_1} q)``, so that the integral of ``p - p'`` is at most ``b_1``. Then ``p G(t (q/p) e^{a_1
  - a}, m) <= (p - p') + p' G(t (q/p') e^{a_1 - a}, m) <= (p - p') + p' G(t e^{-a}, m)``, whose integral is at
  most ``b_1 + G(t e^{-a}, m)``.
- Paid from the reserve, ``mu^2 d^2 = m_1``, slack ``b_1``: the event says ``H_u(P_1‖Q_1) <= H_u(P'‖Q') +
b_1`` for
  every ``u``, with a Gaussian pair ``(P', Q')`` of ratio ``mu d``. ``G(., m - m_1)`` is a mixture of curves
  ``t -> (1 - s t)_+`` (``1/s`` the likelihood ratio), so that the integral of ``p G(t (q/p) e^{-a}, m -
  m_1)`` is a mixture of such ``H_u``: at most ``b_1`` plus its value for ``(P', Q')``. That value is the
  divergence of the product of two Gaussian pairs, ``G(t e^{-a}, m)``.

Start with all of the budget, at ``t = exp(alpha d + slack_limit)``: the total is at most
``delta (1 - s) + delta s/1024 + G(exp(alpha s d), mu_g^2 d^2)``. The last term rises with ``d``
(:mod:`emdp.privacy.calibration`), hence is at most its value at 1, ``delta s (1 - 1/1024)``. ∎

A Gaussian event's ``slack_epsilon`` ``e <= 1`` raises ``H_u`` by at most ``exp(e) - 1 <= 2 e``: in the
reserve that is slack in delta.

*What would be wrong.* "Accept while the sum of plain alphas plus the Gaussian alpha at (sum of mu^2, delta
left) is within alpha" lets the analyst decide the split along the way: on the answers where the Gaussian part
is far from its boundary she can spend plain delta, on the others more ``mu^2``, and the two worst cases add
up (a test exhibits it; arXiv 2602.06756 shows it for trade-off curves in general). Loss distributions are out
for the same reason, except inside a batch that was fixed in advance and is charged at its price.

*References.* Plain sums: Rogers, Roth, Ullman, Vadhan 2016. Sums of mu^2 against a fixed cap: Koskela,
Tobaben, Honkela 2022; Smith and Thakurta 2022. Numbers compare exactly, as decimals
(:mod:`emdp.privacy.rounding`); ``mu`` and slacks of the reserve at their binary values.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction

from emdp.errors import BudgetExceededError, LedgerError, UsageError
from emdp.privacy.budget import RESERVE_SLACK_PART, Budget
from emdp.privacy.calibration import gaussian_alpha
from emdp.privacy.conversions import conversion_factor, convert
from emdp.privacy.events import Event
from emdp.privacy.guarantees import Guarantee
from emdp.privacy.rounding import as_decimal, float_down, float_up, root_down, root_up

__all__ = ["UNLIMITED", "Account"]

UNLIMITED = 2**63 - 1
"""What :meth:`Account.affordable` returns for a release that costs nothing."""


@dataclass(frozen=True)
class Account:
    """A budget and what has been charged to it: a frozen state, each charge returns the next one.

    Parameters
    ----------
    budget : Budget
        What may be spent.

    Attributes
    ----------
    count : int
        Number of charges.
    level, delta, slack : Fraction
        What the plain part has paid: level, delta, additive slack.
    square, reserve_slack : Fraction
        What the Gaussian reserve has paid: sum of ``mu^2``, slack in delta.

    >>> from emdp.privacy.events import GuaranteeEvent
    >>> from emdp.privacy.guarantees import EmdDP
    >>> account = Account(Budget(EmdDP(1.0)))
    >>> for _ in range(10):
    ...     account = account.charge(GuaranteeEvent(EmdDP(0.1)))
    >>> account.spent, account.affordable(GuaranteeEvent(EmdDP(1e-9)))
    (EmdDP(alpha=1.0, delta=0.0, sizes='unbounded', model='central'), 0)
    """

    budget: Budget
    count: int = field(default=0, kw_only=True)
    level: Fraction = field(default=Fraction(0), kw_only=True)
    delta: Fraction = field(default=Fraction(0), kw_only=True)
    slack: Fraction = field(default=Fraction(0), kw_only=True)
    square: Fraction = field(default=Fraction(0), kw_only=True)
    reserve_slack: Fraction = field(default=Fraction(0), kw_only=True)

    @classmethod
    def from_charges(cls, budget: Budget, charges: Iterable[Event]) -> "Account":
        """Return the account after charges that a ledger holds, in their order.

        Raises
        ------
        LedgerError
            If they are more than the budget covers, or of a kind that it does not pay: no ledger of ours
            holds such charges.
        """
        account = cls(budget)
        for event in charges:
            try:
                account = account.charge(event)
            except (BudgetExceededError, UsageError) as error:
                raise LedgerError(
                    f"charge {account.count + 1} of the ledger is not covered by {budget.guarantee}; "
                    "restore the ledger from a copy that verifies."
                ) from error
        return account

    def charge(self, event: Event) -> "Account":
        """Return the account after one more release.

        Parameters
        ----------
        event : Event
            The release; its guarantee must be of the budget's kind or convert to it.

        Raises
        ------
        BudgetExceededError
            If the budget does not cover it; the message says what is left and what was asked for.
        UsageError
            If its guarantee does not convert to the budget's kind.
        """
        reserve, plain = self._prices(event)
        for price in (reserve, plain):
            if price is not None and self._covers(price):
                return self._after(price)
        asked, slack = convert(event.guarantee, self.budget.guarantee.kind), event.slack_epsilon
        left, name = self.remaining, asked.level_name
        if self._covers(replace(plain, slack=Fraction(0))):
            raise BudgetExceededError(
                f"slack_epsilon = {slack} is more than the {self.remaining_slack} left for rounding; "
                "take a finer grid, or declare a budget with a larger slack_limit."
            )
        reserve_left = f" and mu = {self.gaussian_remaining} for Gaussian noise" if self.budget.mu_cap else ""
        raise BudgetExceededError(
            f"{name} = {asked.level} and delta = {asked.delta} are more than the budget has left, "
            f"{name} = {left.level} and delta = {left.delta}{reserve_left}; ask for less."
        )

    def affordable(self, event: Event) -> int:
        """Return how many more such releases fit, ``UNLIMITED`` for one that costs nothing.

        Raises
        ------
        UsageError
            If its guarantee does not convert to the budget's kind.
        """
        reserve, plain = self._prices(event)
        first = 0 if reserve is None else self._times(reserve)
        if first >= UNLIMITED:
            return UNLIMITED
        return min(first + self._times(plain), UNLIMITED)

    @property
    def spent(self) -> Guarantee:
        """What the charges cost, as a guarantee of the budget's kind, rounded up; slack stands beside it.

        The Gaussian reserve counts, as soon as it is used, with its whole delta and with the level at which
        the sum of ``mu^2`` has it. The promise that holds whatever was chosen along the way is the budget's.
        """
        level, delta = self.level, self.delta
        if self.square > 0:
            whole_level, whole_delta = self.budget.reserve
            used = as_decimal(gaussian_alpha(root_up(self.square), float_down(whole_delta * (1 - RESERVE_SLACK_PART))))
            level, delta = level + min(used, whole_level), delta + whole_delta
        return self.budget.guarantee.at_level(float_up(level), float_up(delta))

    @property
    def remaining(self) -> Guarantee:
        """What is left outside the Gaussian reserve, as a guarantee of the budget's kind, rounded down."""
        level, delta, _ = self._left()
        return self.budget.guarantee.at_level(float_down(level), float_down(delta))

    @property
    def gaussian_remaining(self) -> float:
        """The largest ``mu`` of one Gaussian release that the reserve still covers, rounded down."""
        return root_down(self._square_left())

    @property
    def slack_epsilon(self) -> float:
        """The additive epsilon for rounding that stands beside what was spent, rounded up."""
        return float_up(self.slack)

    @property
    def remaining_slack(self) -> float:
        """What is left of the budget's ``slack_limit``, rounded down."""
        return float_down(self._left()[2])

    def _prices(self, event: Event) -> tuple["_Price | None", "_Price"]:
        """Return what the event costs in the Gaussian reserve, if it can be paid there, and outside it."""
        stated = event.guarantee
        factor = conversion_factor(stated, self.budget.guarantee)
        slack, slack_delta = map(as_decimal, event.slack)
        plain = _Price(
            level=as_decimal(stated.level) * factor,
            delta=as_decimal(stated.delta),
            slack=as_decimal(event.slack_epsilon),
        )
        if event.gaussian_mu is None or not self.budget.mu_cap or slack > 1:
            return None, plain
        return _Price(square=(Fraction(event.gaussian_mu) * factor) ** 2, reserve_slack=slack_delta + 2 * slack), plain

    def _covers(self, price: "_Price") -> bool:
        return all(cost <= left for cost, left in self._costs(price))

    def _times(self, price: "_Price") -> int:
        """Return how often a price can be paid."""
        return min((left // cost for cost, left in self._costs(price)), default=UNLIMITED)

    def _costs(self, price: "_Price") -> list[tuple[Fraction, Fraction]]:
        """Return what a price takes, where it takes anything, beside what is left of it."""
        level, delta, slack = self._left()
        pairs = [(price.level, level), (price.delta, delta), (price.slack, slack)]
        if price.square:
            reserve_slack = self.budget.reserve[1] * RESERVE_SLACK_PART - self.reserve_slack
            pairs += [(price.square, self._square_left()), (price.reserve_slack, reserve_slack)]
        return [(cost, left) for cost, left in pairs if cost]

    def _after(self, price: "_Price") -> "Account":
        return replace(
            self,
            count=self.count + 1,
            level=self.level + price.level,
            delta=self.delta + price.delta,
            slack=self.slack + price.slack,
            square=self.square + price.square,
            reserve_slack=self.reserve_slack + price.reserve_slack,
        )

    def _left(self) -> tuple[Fraction, Fraction, Fraction]:
        """Return level, delta and slack that are left outside the reserve."""
        level, delta = self.budget.reserve
        promise = self.budget.guarantee
        return (
            as_decimal(promise.level) - level - self.level,
            as_decimal(promise.delta) - delta - self.delta,
            as_decimal(self.budget.slack_limit) - self.slack,
        )

    def _square_left(self) -> Fraction:
        return Fraction(self.budget.mu_cap or 0.0) ** 2 - self.square


@dataclass(frozen=True)
class _Price:
    """What one release takes from each of an account's five totals."""

    level: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    slack: Fraction = Fraction(0)
    square: Fraction = Fraction(0)
    reserve_slack: Fraction = Fraction(0)
