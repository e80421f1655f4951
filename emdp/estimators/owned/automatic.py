"""Plans whose cap is chosen, or priced, by what a tenth of epsilon says first (user-level-sql.md 1.4).

Two readings, one charge. First the users by octave of their number of rows get noise
(:mod:`emdp.mechanisms.contribution.octaves`). From these noisy numbers alone, by post-processing, comes the cap
(:mod:`emdp.mechanisms.contribution.cap`), or of a given cap how many records it leaves out. Then the statement is
planned and drawn with that cap and the rest of epsilon (:func:`emdp.estimators.owned.totals.plan_owned`).

Theorem. Let the histogram be ``epsilon_1``-DP, and for every cap the statement ``(epsilon_2 + slack, delta)``-DP. Then
both together are ``(epsilon_1 + epsilon_2 + slack, delta)``-DP, whatever the cap depends on in the noisy histogram.

Proof. Basic composition, where the second release may depend on the first one's outcome: for every outcome ``h`` the
law of the second satisfies ``P_h(E) <= exp(epsilon_2 + slack) Q_h(E) + delta``, and the mass of ``h`` is at most
``exp(epsilon_1)`` times that on the neighbour; ``min(1, .)`` of the first factor keeps ``delta`` as it is (Dwork and
Roth 2014, theorem B.1).

The law of the noise (Laplace or Gaussian) is chosen beforehand. The slack of the second release hardly depends on the
cap: sensitivity, scale and magnitude are proportional to it, so that ``grid/scale``, between two powers of two, differs
by a factor of 2 at most. Four times the slack at two caps is charged, and a plan with more is never drawn from.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from emdp.base.classes import dataclass
from emdp.base.errors import InternalError, UsageError
from emdp.base.statistic import Statistic
from emdp.estimators.contract import Records
from emdp.estimators.owned.amounts import at_given_cap, has_sums, in_amounts
from emdp.estimators.owned.caps import CapRule, MeasuredRelease, MeasuredRows
from emdp.estimators.owned.noise import choose, totals_of
from emdp.estimators.owned.notes import owned_notes
from emdp.estimators.owned.plan import OwnedPlan, RowsPlan, slack_of_all
from emdp.mechanisms import GaussianMechanism
from emdp.mechanisms.contribution.octaves import OCTAVES, OctaveHistogram
from emdp.mechanisms.release import Mechanism
from emdp.privacy import Event, GuaranteeEvent
from emdp.privacy.rounding import split
from emdp.questions.columns import Finisher, PlannedColumn, Released
from emdp.questions.comparison import ComparedMethod
from emdp.questions.means import VectorNoise
from emdp.questions.owned.octaves import OwnedOctaves, octaves_of
from emdp.questions.owned.question import OwnedItem, OwnedSelect
from emdp.questions.owned.totals import AMOUNT_BITS
from emdp.questions.price import Price

__all__ = ["HISTOGRAM_WEIGHTS", "MOST_MEASURED", "MeasuredPlan", "plan_measured", "value_unit"]

HISTOGRAM_WEIGHTS = (1.0, 9.0)
"""Shares of epsilon of the histogram and of the statement."""

ASSUMED_CAP = 100
"""Cap that a preview assumes where it is automatic."""

LARGEST_CAP = 2**23
"""Largest cap that is chosen: 8 times the upper end of the last bin but one."""

MOST_MEASURED = 2 ** (OCTAVES - 3 - AMOUNT_BITS)
"""Largest given cap of amounts whose rest is measured: octaves go twice as far. A larger one is of records."""


@dataclass(frozen=True, eq=False)
class MeasuredPlan(RowsPlan):
    """A priced release in two readings: users by octave of their rows, then the statement at the cap that follows.

    Parameters
    ----------
    rule : CapRule
        What follows from the octaves.
    octaves : OwnedOctaves
        The first reading.
    typical : OwnedPlan
        The second, at the cap that a preview assumes.
    event : Event
        What the ledger is charged for both.
    columns, notes, finisher
        As of :class:`emdp.estimators.plan.Plan`.
    """

    rule: CapRule
    octaves: OwnedOctaves
    typical: OwnedPlan
    event: Event
    columns: tuple[PlannedColumn, ...]
    notes: tuple[str, ...]
    finisher: Finisher
    comparison: tuple[ComparedMethod, ...] = ()

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """The two releases as one."""
        cap = self.typical.aggregation.cap_records or ASSUMED_CAP
        assumed = f"a cap of {cap:g}" if self.rule.query.cap is None else None
        return (MeasuredRelease(self.rule.histogram, self.typical.mechanisms[0], assumed, self.event.slack_epsilon),)

    @property
    def choice(self) -> str:
        share = HISTOGRAM_WEIGHTS[0] / math.fsum(HISTOGRAM_WEIGHTS)
        what = "the cap is chosen" if self.rule.query.cap is None else "what the cap leaves out is estimated"
        first = f"Users by octave of their records with {share:.0%} of epsilon, from which {what}"
        return f"{first}; then {self.typical.choice}"

    @property
    def weighing(self) -> str:
        if self.rule.query.cap is not None:
            return self.typical.weighing
        return "every record counts, those of one user together as at most an automatic cap"

    def check(self, records: Records) -> None:
        records.check_aggregation(self.octaves)
        self.typical.check(records)

    def work(self, records: Records) -> tuple[tuple[str, str], ...]:
        return self.typical.work(records)

    def statistic(self, records: Records, *, keep_exact: bool) -> tuple[Statistic, ...]:
        """Return the users by octave: what the first release is drawn from."""
        del keep_exact
        return records.aggregate(self.octaves)

    def release(
        self, opened: Sequence[tuple[Fraction, ...]], records: Records, *, keep_exact: bool
    ) -> tuple[Released, Released | None]:
        """Draw the octaves, then read and draw the statement at the cap that follows from them: this spends."""
        (users,) = opened
        self.octaves.check(records.most_users, users)
        noisy = self.rule.histogram.release([int(count) for count in users])
        plan = self.rule.plan(noisy)
        price, own = self.rule.query.price, plan.event
        if own.slack_epsilon > self.event.slack_epsilon or own.guarantee.level > price.level:
            raise InternalError("a statement costs more than was charged for it; please report this.")
        if own.guarantee.delta > self.event.guarantee.delta:
            raise InternalError("a statement costs more than was charged for it; please report this.")
        # The second reading follows from what the first one released, so it is opened here, after the same charge.
        second = [statistic.open() for statistic in plan.statistic(records, keep_exact=keep_exact)]
        released, exact = plan.release(second, records, keep_exact=keep_exact)
        return self._with_octaves(noisy, released), None if exact is None else self._with_octaves(noisy, exact)

    def _with_octaves(self, noisy: Sequence[int], released: Any) -> Released:
        return (tuple(map(Fraction, noisy)), *released)


def plan_measured(query: OwnedSelect, *, users: int | None) -> MeasuredPlan:
    """Return the plan of a statement whose cap is chosen from, or priced by, users by octave of their records.

    Parameters
    ----------
    query : OwnedSelect
        With ``measures_cap``; its ``cap`` is None where it is to be chosen.
    users : int or None
        The public number of users; by removal None where there is none.
    """
    if all(item.kind == "users" for item in query.items):
        raise UsageError("max_records_per_user has no use where people alone are counted; leave it out.")
    price = query.price
    first, rest = split(price.level, HISTOGRAM_WEIGHTS)
    histogram = OctaveHistogram(first, price.neighbours)
    inner = Price(price.kind, rest, price.delta, neighbours=price.neighbours)
    unit = replace(query, price=inner, cap=1)
    totals = totals_of(unit)
    chosen = choose(unit, totals)
    law: VectorNoise = "gaussian" if chosen.kind is GaussianMechanism else "laplace"
    kappa = _kappa(query.items, chosen.errors)
    asked = replace(query, price=inner, noise=law, measures_cap=False)
    # Sums of a cap that is chosen: by what records add, where they do not all add as much.
    is_chosen = query.cap is None and has_sums(query)
    asked = replace(asked, amounts=is_chosen and in_amounts(chosen, totals) is not None)
    if query.cap is not None and query.cap <= MOST_MEASURED and at_given_cap(unit, chosen, totals) is not None:
        asked = replace(asked, cap=query.cap << AMOUNT_BITS, amounts=True)
    rule = CapRule(asked, users, histogram, kappa, totals.cells)
    largest, typical = (rule.plan_at(cap) for cap in (LARGEST_CAP, asked.cap or ASSUMED_CAP * rule.unit))
    slack = slack_of_all((largest, typical))
    delta = max(plan.event.guarantee.delta for plan in (largest, typical))
    cap = "the cap" if query.cap is None else str(query.cap)
    automatic = ("the cap is automatic: known after the charge",) if query.cap is None else ()
    return MeasuredPlan(
        rule=rule,
        octaves=octaves_of(typical.aggregation),
        typical=typical,
        event=GuaranteeEvent(
            price.promise().at_level(price.level, delta),
            f"octaves of records a user ({first:.6g}), then {typical.mechanisms[0].name} noise ({rest:.6g})",
            slack,
        ),
        columns=typical.columns if query.cap else tuple(map(_assumed, typical.columns, largest.columns)),
        notes=(
            *automatic,
            *owned_notes(replace(query, amounts=asked.amounts), cap, is_measured=True, norm=typical.aggregation.norm),
        ),
        finisher=MeasuredRows(rule, typical.finisher.shape),
    )


def _kappa(items: Sequence[OwnedItem], errors: Sequence[float]) -> float:
    """Return the scale of the noise at a cap of 1, in records: the mean over items of noise over a record's value."""
    found = [
        error / (math.sqrt(2.0) * value_unit(item))
        for item, error in zip(items, errors, strict=True)
        if item.kind != "users"
    ]
    return math.fsum(found) / len(found)


def value_unit(item: OwnedItem) -> float:
    """Return what a record adds to an item at most, or of a mean what moves it as far as the others."""
    if item.kind == "sum":
        return max(abs(item.low), abs(item.high))
    if item.kind == "avg":
        return 0.5 * (item.high - item.low)
    return 0.25 if item.kind in ("variance", "stddev") else 1.0


def _assumed(column: PlannedColumn, largest: PlannedColumn) -> PlannedColumn:
    """Return a column with the errors of the assumed cap and the range of the largest one."""
    note = f"errors if the cap is {ASSUMED_CAP}; automatic: known after the charge"
    text = f"{note}; {column.note}" if column.note else note
    return replace(column, low=largest.low, high=largest.high, note=text)
