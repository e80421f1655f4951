"""The filter that a session runs: a budget, what was charged to it, and whether one more release fits.

Every parameter of a release may be chosen after seeing earlier answers. A :class:`Budget` ``(alpha, delta)`` is
split *when it is declared*, by a share ``s`` that never changes:

- The *Gaussian reserve* holds ``(alpha s, delta s)``, as a cap ``mu_g`` on the root of the sum of ``mu^2``:
  ``H_{exp(alpha s)}(N(mu_g, 1)‖N(0, 1)) <= delta s (1 - 1/1024 - slack_limit)``. Two more caps hold the slack of the
  Gaussian events paid there: ``delta s/1024`` that of ``slack_delta``, ``s slack_limit`` that of ``slack_epsilon``.
- The rest, ``(alpha (1 - s), delta (1 - s))``, pays everything else by plain sums of level and delta; and also, as
  its ``(alpha, delta)``, a Gaussian event that does not fit into the reserve any more.

``slack_epsilon`` of what the rest pays adds up under the cap ``(1 - s) slack_limit``.

**Theorem.** However the releases and their parameters depend on earlier answers: if the charges stay within the
caps, all answers together are ``(alpha d + slack_limit, delta)`` between neighbours at distance ``d``, at every
``d`` in [0, 1] at once.

*Proof.* Fix two neighbours at distance ``d``. Let ``G(t, m) = H_t(N(sqrt(m), 1)‖N(0, 1))``. It falls in ``t``,
rises in ``m``, and for fixed ``q`` and ``t`` the function ``p G(t q/p, m)`` of ``p`` rises with slope at most 1.
Let ``a`` be what is left of level times ``d`` plus the rest's slack, ``b`` of delta with the reserve's, ``m`` of
``mu^2`` times ``d^2``, ``z`` of the reserve's slack in epsilon. Claim: whatever follows, the laws ``P`` and ``Q`` of
all further answers satisfy, for every ``t >= 0``,

    ``H_t(P‖Q) <= e^z (b + G(t e^(-a-z), m))``.

By induction on the number of releases to come. *None:* ``H_t = (1 - t)_+ <= G(t, m)``, which is at most that.
*One, with densities p and q, and then others, chosen knowing its answer:* ``H_t`` is the integral of
``p H'_{t q/p}``, where ``H'`` belongs to what follows the answer.

- The release is paid as ``(a_1, b_1)``, its level times ``d`` plus slack, and its delta. By induction
  ``H'_u <= e^z (b - b_1 + G(u e^(a_1 - a - z), m))``. Let ``p' = min(p, e^a_1 q)``; the integral of ``p - p'`` is
  at most ``b_1``. With ``q/p' >= e^-a_1``,

      ``p G(t (q/p) e^(a_1-a-z), m) <= (p - p') + p' G(t (q/p') e^(a_1-a-z), m) <= (p - p') + p' G(t e^(-a-z), m)``,

  whose integral is at most ``b_1 + G(t e^(-a-z), m)``.
- The release is paid from the reserve, ``m_1 = mu^2 d^2``, slacks ``z_1`` and ``b_1``. Its event says
  ``H_u(P_1‖Q_1) <= e^z_1 H_{u exp(-z_1)}(P'‖Q') + b_1`` for every ``u``, ``(P', Q')`` a Gaussian pair of ratio
  ``mu d``. By induction ``H'_u <= e^(z - z_1) (b - b_1 + G(u e^(z_1 - a - z), m - m_1))``. ``G(., m - m_1)`` is a
  mixture of curves ``u -> (1 - w u)_+`` (``1/w`` the likelihood ratio), so the integral of
  ``p G(t (q/p) e^(z_1 - a - z), m - m_1)`` is a mixture of values of ``H(P_1‖Q_1)``: at most ``b_1`` plus ``e^z_1``
  times the same mixture of ``H(P'‖Q')`` without the ``z_1``, which is the divergence of a product of two Gaussian
  pairs, ``G(t e^(-a-z), m)``. Altogether at most ``e^(z - z_1) (b + e^z_1 G)``.

Begin with the whole budget and ``t = exp(alpha d + slack_limit)``, ``g = 1 - 1/1024 - slack_limit``. The claim says at
most ``exp(s slack_limit) (delta (1 - s) + delta s/1024 + G(exp(alpha s d), mu_g^2 d^2))``. The last term rises with
``d`` (:mod:`emdp.privacy.calibration`), so it is at most its value at 1, ``delta s g``, and all of it at most
``exp(s slack_limit) (1 - s slack_limit) delta <= delta``. ∎

*What would be wrong.* "Accept while the sum of the plain alphas, plus the alpha of the Gaussians at the delta that
is left, stays within alpha" lets the analyst decide the split along the way. On answers that leave the Gaussian part
far from its boundary she spends plain delta, on the others more ``mu^2``, and the two worst cases add up: a test
reaches 1.97 delta (arXiv 2602.06756 shows it for trade-off curves in general). Loss distributions are out for the
same reason, except inside a batch that was fixed in advance and is charged at its price, which is compared with its
events first (:func:`emdp.privacy.account.composition.check_price`).

*References.* Plain sums: Rogers, Roth, Ullman, Vadhan 2016. Sums of mu^2 against a fixed cap: Koskela, Tobaben,
Honkela 2022; Smith and Thakurta 2022. Numbers compare exactly, as decimals (:mod:`emdp.privacy.rounding`); ``mu`` at
its binary value.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import field, fields, replace
from fractions import Fraction

from emdp.base.classes import dataclass
from emdp.base.errors import BudgetExceededError, LedgerError, UsageError
from emdp.privacy.account.budget import Budget
from emdp.privacy.account.restating import restated
from emdp.privacy.calibration import gaussian_alpha
from emdp.privacy.events.base import Event, check_event
from emdp.privacy.events.table import BatchEvent
from emdp.privacy.guarantees.conversions import conversion_factor, convert
from emdp.privacy.guarantees.kinds import Guarantee
from emdp.privacy.rounding import as_decimal, float_down, float_up, root_down, root_up

__all__ = ["UNLIMITED", "Account"]

UNLIMITED = 2**63 - 1
"""Result of :meth:`Account.affordable` for a release that costs nothing."""


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
        What the plain part has paid: level, delta, slack in epsilon.
    square, reserve_delta, reserve_slack : Fraction
        What the Gaussian reserve has paid: sum of ``mu^2``, slack in delta, slack in epsilon.

    >>> from emdp.privacy.events.table import GuaranteeEvent
    >>> from emdp.privacy.guarantees.kinds import EmdDP
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
    reserve_delta: Fraction = field(default=Fraction(0), kw_only=True)
    reserve_slack: Fraction = field(default=Fraction(0), kw_only=True)

    @classmethod
    def from_charges(cls, budget: Budget, charges: Iterable[Event]) -> "Account":
        """Return the account after charges that a ledger holds, in their order.

        Raises
        ------
        LedgerError
            If they are more than the budget covers, of a kind that it does not pay, or batches below their
            price: no ledger of ours holds such charges.
        UsageError
            If one of them is no event.
        """
        return cls(budget).replay(charges)

    def replay(self, charges: Iterable[Event]) -> "Account":
        """Return the account after further charges that a ledger holds; raises as :meth:`from_charges`.

        Charges that all fit, each into the part that it would be paid from first, are added up by kind: costs are not
        negative, so if their sums fit, all that came before did, and each was paid from there. Else one by one.
        """
        events = list(charges)
        return self._at_once(events) or [self, *self.steps(events)][-1]

    def _at_once(self, events: "list[Event]") -> "Account | None":
        """Return the account after charges if their sums fit; None if that must be looked at one by one."""
        times = Counter(map(id, events))
        plain, reserve = _Price(), _Price()
        for event in {id(event): event for event in events}.values():
            try:
                special, ordinary = self._prices(event)
            except (BudgetExceededError, UsageError):
                return None
            if special is None:
                plain = plain.plus(ordinary, times[id(event)])
            elif special.square > 0:
                reserve = reserve.plus(special, times[id(event)])
            else:
                return None
        if not self._covers(plain) or (reserve.square and not self._covers(reserve)):
            return None
        account = self._after(plain)._after(reserve)
        return replace(account, count=self.count + len(events))

    def steps(self, charges: "Iterable[Event]") -> "Iterator[Account]":
        """Return the account after each of further charges that a ledger holds; raises as :meth:`from_charges`."""
        account = self
        # Most charges of a long ledger are the same few, over and over: each is priced once.
        prices: dict[Event, tuple[_Price | None, _Price]] = {}
        for event in charges:
            check_event(event)
            try:
                if event not in prices:
                    prices[event] = account._prices(event)
                account = account._charged(event, *prices[event])
            except (BudgetExceededError, UsageError) as error:
                raise LedgerError(
                    f"charge {account.count + 1} of the ledger is not covered by {self.budget.guarantee}; "
                    "restore the ledger from a copy that verifies."
                ) from error
            yield account

    def paid(self, event: Event) -> "Account":
        """Return the account after one more charge that a ledger holds, of which this is the part that it draws on.

        Raises
        ------
        LedgerError
            If the budget does not cover it.
        """
        try:
            return self.charge(event)
        except (BudgetExceededError, UsageError) as error:
            raise LedgerError(
                f"a charge of the ledger is not covered by {self.budget.guarantee}; restore it from a copy that "
                "verifies."
            ) from error

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
            If its guarantee does not convert to the budget's kind, or it is a batch below its price.
        """
        return self._charged(event, *self._prices(event))

    def _charged(self, event: Event, reserve: "_Price | None", plain: "_Price") -> "Account":
        for price in (reserve, plain):
            if price is not None and self._covers(price):
                return self._after(price)
        event = restated(event, self.budget.guarantee)
        asked, slack = convert(event.guarantee, self.budget.guarantee.kind), event.slack_epsilon
        left, name = self.remaining, asked.level_name
        if self._covers(replace(plain, slack=Fraction(0))):
            raise BudgetExceededError(
                f"slack_epsilon = {slack} is more than the {self.remaining_slack} left for rounding; "
                f"ask for less {name}, take a finer grid, or declare a budget with a larger slack_limit."
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
            If its guarantee does not convert to the budget's kind, or it is a batch below its price.
        """
        reserve, plain = self._prices(event)
        first = 0 if reserve is None else self._times(reserve)
        if first >= UNLIMITED:
            return UNLIMITED
        return min(first + self._times(plain), UNLIMITED)

    @property
    def spent(self) -> Guarantee:
        """Cost of the charges, as a guarantee of the budget's kind, rounded up; slack stands beside it.

        The Gaussian reserve counts, as soon as it is used, with its whole delta and with the level at which
        the sum of ``mu^2`` has it. The promise that holds whatever was chosen along the way is the budget's.
        """
        level, delta = self.level, self.delta
        if self.square > 0:
            reserve = self.budget.reserve
            used = as_decimal(gaussian_alpha(root_up(self.square), float_down(reserve.noise_delta)))
            level, delta = level + min(used, reserve.level), delta + reserve.delta
        return self.budget.guarantee.at_level(float_up(level), float_up(delta))

    @property
    def remaining(self) -> Guarantee:
        """Rest outside the Gaussian reserve, as a guarantee of the budget's kind, rounded down."""
        level, delta, _ = self._left()
        return self.budget.guarantee.at_level(float_down(level), float_down(delta))

    @property
    def gaussian_remaining(self) -> float:
        """The largest ``mu`` of one Gaussian release that the reserve still covers, rounded down."""
        return root_down(self._square_left())

    @property
    def slack_epsilon(self) -> float:
        """The additive epsilon for rounding that stands beside what was spent, rounded up."""
        return float_up(self.slack + self.reserve_slack)

    @property
    def remaining_slack(self) -> float:
        """Rest of the budget's ``slack_limit`` outside the Gaussian reserve, rounded down."""
        return float_down(self._left()[2])

    def _prices(self, event: Event) -> tuple["_Price | None", "_Price"]:
        """Return what the event costs in the Gaussian reserve, if it can be paid there, and outside it."""
        check_event(event)
        if isinstance(event, BatchEvent):
            # Loaded where it is needed.
            from emdp.privacy.account.composition import check_price

            check_price(event)
        event = restated(event, self.budget.guarantee)
        stated = event.guarantee
        factor = conversion_factor(stated, self.budget.guarantee)
        plain = _Price(
            level=as_decimal(stated.level) * factor,
            delta=as_decimal(stated.delta),
            slack=as_decimal(event.slack_epsilon),
        )
        if event.gaussian_mu is None or not self.budget.mu_cap:
            return None, plain
        slack, slack_delta = map(as_decimal, event.slack)
        square = (Fraction(event.gaussian_mu) * factor) ** 2
        return _Price(square=square, reserve_delta=slack_delta, reserve_slack=slack), plain

    def _covers(self, price: "_Price") -> bool:
        return all(cost <= left for cost, left in self._costs(price))

    def _times(self, price: "_Price") -> int:
        """Return how often a price can be paid."""
        return min((left // cost for cost, left in self._costs(price)), default=UNLIMITED)

    def _costs(self, price: "_Price") -> list[tuple[Fraction, Fraction]]:
        """Return what a price takes, where it takes anything, beside what is left of it."""
        if price.square:
            reserve = self.budget.reserve
            pairs = [
                (price.square, self._square_left()),
                (price.reserve_delta, reserve.slack_delta - self.reserve_delta),
                (price.reserve_slack, reserve.slack_epsilon - self.reserve_slack),
            ]
        else:
            level, delta, slack = self._left()
            pairs = [(price.level, level), (price.delta, delta), (price.slack, slack)]
        return [(cost, left) for cost, left in pairs if cost]

    def _after(self, price: "_Price") -> "Account":
        return replace(
            self,
            count=self.count + 1,
            level=self.level + price.level,
            delta=self.delta + price.delta,
            slack=self.slack + price.slack,
            square=self.square + price.square,
            reserve_delta=self.reserve_delta + price.reserve_delta,
            reserve_slack=self.reserve_slack + price.reserve_slack,
        )

    def _left(self) -> tuple[Fraction, Fraction, Fraction]:
        """Return level, delta and slack that are left outside the reserve."""
        level, delta, slack = self.budget.plain
        return level - self.level, delta - self.delta, slack - self.slack

    def _square_left(self) -> Fraction:
        return Fraction(self.budget.mu_cap or 0.0) ** 2 - self.square


@dataclass(frozen=True)
class _Price:
    """Cost of one release in each of an account's totals."""

    level: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    slack: Fraction = Fraction(0)
    square: Fraction = Fraction(0)
    reserve_delta: Fraction = Fraction(0)
    reserve_slack: Fraction = Fraction(0)

    def plus(self, other: "_Price", times: int) -> "_Price":
        """Return the cost of this and of another so many times."""
        return _Price(*(getattr(self, own.name) + times * getattr(other, own.name) for own in fields(_Price)))
