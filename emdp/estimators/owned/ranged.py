"""Plans whose arguments have no known range: a tenth of epsilon buys users by octave of their values, and a range.

Several readings, one charge. Of each argument without a range the users are counted by bin of their largest value, and
by bin of their smallest (:mod:`emdp.estimators.owned.ranges`), all in one scan and with one draw of noise. From these
noisy numbers alone come the ranges; the statement is planned and drawn with it, its values clamped, by the rest of
epsilon (:func:`emdp.estimators.owned.statement.plan_statement`), automatic cap included.

Theorem. With ``k`` arguments let the counts of users be ``epsilon_1``-DP for users of at most ``2k`` groups, and for
every range the statement ``(epsilon_2 + slack, delta)``-DP. Then both together are ``(epsilon_1 + epsilon_2 + slack,
delta)``-DP, whatever the range depends on in the noisy numbers.

Proof. A user's largest value is a function of that user's rows, NULL and NaN left out
(:mod:`emdp.questions.owned.summaries`), and falls into one bin, or into none; so does the smallest. However many rows a
user has, they are in at most ``2k`` of the groups of end and bin: removal moves the counts by ``2k`` and replacement by
``4k``, which is what the noise is for (:mod:`emdp.estimators.owned.blocks`, theorem of people). For fixed noisy numbers
the range is a public constant, and the statement is one with ``CLAMP``. Composition of releases of which a later one
depends on the outcome of earlier ones: Dwork and Roth 2014, theorem B.1. ∎

Delta is charged whole, though Laplace noise does not need it: which noise is best depends on the range.
The slack differs between ranges by what their drawings round: :data:`~.plan.SLACK_FACTOR` times the largest of five
ranges, both extremes among them, is charged, and a plan with more is never drawn from.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from fractions import Fraction
from typing import Any

import polars as pl

from emdp.base.classes import dataclass
from emdp.base.errors import InternalError, UsageError
from emdp.estimators.contract import AnyPlan, Exact, Records
from emdp.estimators.owned.joined import joined_event
from emdp.estimators.owned.plan import OwnedPlan, RowsPlan, is_covered, slack_of_all
from emdp.estimators.owned.ranges import BINS, ENDS, chosen_range, end_bins, extremes_question
from emdp.estimators.owned.totals import plan_owned
from emdp.mechanisms.release import JoinedMechanism, Mechanism
from emdp.privacy import Event, GuaranteeEvent
from emdp.privacy.rounding import split
from emdp.questions.columns import Finisher, PlannedColumn, unordered
from emdp.questions.comparison import ComparedMethod
from emdp.questions.owned.question import OwnedSelect
from emdp.questions.shape import Shape

__all__ = ["RangeRule", "RangedPlan", "RangedRows", "plan_ranged"]

RANGE_WEIGHTS = (1.0, 9.0)
"""Shares of epsilon of the counts of users, and of the statement."""

ASSUMED_RANGE = (0.0, 100.0)
"""Range that a preview assumes."""

EXTREMES = ((ENDS[0], ENDS[-1]), (ENDS[0], -ENDS[-1] / 2), (0.0, ENDS[-1]), (-(2.0**-20), ENDS[-1]))
"""Ranges besides that slack is compared at."""

Noisy = tuple[tuple[Fraction, ...], ...]
"""Users by bin: of the largest values of the first argument, of the smallest ones, and so on."""

Ranges = tuple[tuple[float, float], ...]
PlanOne = Callable[[OwnedSelect], AnyPlan]


@dataclass(frozen=True, eq=False)
class RangeRule:
    """Public rule from noisy users by bin to the ranges of arguments, and to a plan.

    Parameters
    ----------
    query : OwnedSelect
        With the price of the last release.
    users : OwnedPlan
        Users by bin of their largest and of their smallest value, of each argument in turn.
    plan_one : callable
        Plans the statement at known ranges.
    """

    query: OwnedSelect
    users: OwnedPlan
    plan_one: PlanOne
    _plans: dict[Ranges, AnyPlan] = field(default_factory=dict, repr=False)

    @property
    def scale(self) -> float:
        """Scale of the noise on each number of users."""
        return self.users.mechanisms[0].scale

    def by_end(self, noisy: Sequence[Fraction]) -> Noisy:
        """Return the numbers of each end by bin, as they are shown and a range is found of them."""
        return tuple(tuple(noisy[first : first + BINS]) for first in range(0, len(noisy), BINS))

    def found(self, noisy: Noisy) -> list[tuple[tuple[float, float], bool]]:
        """Return a range for each argument, and whether it stands out from the noise."""
        pairs = zip(noisy[::2], noisy[1::2], strict=True)
        return [chosen_range(highest, lowest, self.scale) for highest, lowest in pairs]

    def plan(self, noisy: Noisy) -> AnyPlan:
        """Return the plan of the statement at the ranges that follow."""
        return self.plan_at(tuple(own for own, _ in self.found(noisy)))

    def plan_at(self, ranges: Ranges) -> AnyPlan:
        """Return the plan at known ranges."""
        found = self._plans.get(ranges)
        if found is None:
            known = dict(zip(self.query.ranged, ranges, strict=True))
            items = tuple(
                replace(item, low=known[item.node][0], high=known[item.node][1])
                if item.is_ranged and item.node is not None
                else item
                for item in self.query.items
            )
            found = self.plan_one(replace(self.query, items=items, ranged=()))
            # The last one alone is kept, for the rows of the answer that it made.
            self._plans.clear()
            self._plans[ranges] = found
        return found


@dataclass(frozen=True, eq=False)
class RangedRows:
    """Rows of an answer that released the noisy users by bin first, then the statement at the range that follows."""

    rule: RangeRule
    shape: Shape
    is_capped: bool = False

    def frame(self, released: Any, level: float, *, together: bool = False) -> pl.DataFrame:
        return self._rows(released).frame(released[1], level, together=together)

    def of_capped(self) -> "RangedRows":
        """Return the same rows with intervals of clamped and capped totals in place of true ones."""
        return replace(self, is_capped=True)

    def exact(self, statistics: Any) -> pl.DataFrame:
        return self._rows(statistics).exact(statistics[1])

    def diagnostics(self, released: Any) -> dict[str, Any]:
        """Return the ranges, users by bin of their largest and smallest value, and what the statement's own rows do."""
        noisy, made = released[0], dict[str, Any]()
        for place, (text, (own, _)) in enumerate(zip(self._texts(), self.rule.found(noisy), strict=True)):
            end = "" if len(noisy) == 2 else f" of {text}"
            made[f"range{end}"] = own
            made[f"users_by_largest{end}"] = end_bins(noisy[2 * place], of_lowest=False)
            made[f"users_by_smallest{end}"] = end_bins(noisy[2 * place + 1], of_lowest=True)
        made["users_by_value_noise_scale"] = self.rule.scale
        inner = getattr(unordered(self._rows(released)), "diagnostics", None)
        return made if inner is None else {**made, **inner(released[1])}

    def remarks(self, released: Any) -> tuple[str, ...]:
        """Return the ranges, intervals of the clamped values where there is one row, and what its own rows remark."""
        told = []
        for text, ((low, high), is_sure) in zip(self._texts(), self.rule.found(released[0]), strict=True):
            why = "values beyond it count as its ends"
            if not is_sure:
                why = "no octave of users stands out from its noise, so that it may be far from the values; " + why
            told.append(f"the range of {text} was chosen as {low:g} to {high:g}; {why}")
        told += self._clamped(released)
        inner = getattr(unordered(self._rows(released)), "remarks", None)
        return tuple(told) if inner is None else (*told, *inner(released[1]))

    def _clamped(self, released: Any) -> Iterator[str]:
        """Yield the 95 % interval of each value of clamped records, whose true one has none; of one row."""
        rows = self.of_capped().frame(released, 0.95)
        if len(rows) != 1:
            return
        for item in self.rule.query.items:
            ends = [rows[f"{item.name}{end}"][0] for end in ("_low", "_high") if f"{item.name}{end}" in rows.columns]
            if item.is_ranged and len(ends) == 2 and None not in ends:
                yield f"95 % interval of {item.name} of the values within its range: {ends[0]:.6g} to {ends[1]:.6g}"

    def _texts(self) -> list[str]:
        """Return of each argument the first aggregate that it is of, as it was written."""
        items = [item for item in self.rule.query.items if item.is_ranged]
        firsts = [next(item for item in items if item.node == node) for node in self.rule.query.ranged]
        return [" ".join(item.text.split()) or f"{item.kind} of {item.node}" for item in firsts]

    def _rows(self, released: Any) -> Finisher:
        finisher = self.rule.plan(released[0]).finisher
        inner = getattr(finisher, "of_capped", None) if self.is_capped else None
        found: Finisher = finisher if inner is None else inner()
        return found


@dataclass(frozen=True, eq=False)
class RangedPlan(RowsPlan):
    """A priced release in several readings: users by octave of their values, then the statement at a range.

    Parameters
    ----------
    rule : RangeRule
        What follows from the users by octave.
    typical : AnyPlan
        The statement at the range that a preview assumes.
    statement : Event
        What of the charge is for the statement, at any range.
    event : Event
        What the ledger is charged for all of them.
    columns, notes, finisher
        As of :class:`emdp.estimators.plan.Plan`.
    """

    rule: RangeRule
    typical: AnyPlan
    statement: Event
    event: Event
    columns: tuple[PlannedColumn, ...]
    notes: tuple[str, ...]
    finisher: Finisher
    comparison: tuple[ComparedMethod, ...] = ()

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """All releases as one."""
        return (RangedMechanism((*self.rule.users.mechanisms, *self.typical.mechanisms), self.event),)

    @property
    def choice(self) -> str:
        share = RANGE_WEIGHTS[0] / math.fsum(RANGE_WEIGHTS)
        first = f"Users by octave of their values with {share:.0%} of epsilon, from which the range is chosen"
        return f"{first}; then {self.typical.choice}"

    @property
    def weighing(self) -> str:
        return self.typical.weighing

    def check(self, records: Records) -> None:
        self.rule.users.check(records)
        self.typical.check(records)

    def work(self, records: Records) -> tuple[tuple[str, str], ...]:
        return self.typical.work(records)

    def statistic(self, records: Records, *, keep_exact: bool) -> tuple[Exact, ...]:
        """Return the users by bin: what the first release is drawn from."""
        return self.rule.users.statistic(records, keep_exact=keep_exact)

    def release(self, opened: Sequence[Any], records: Records, *, keep_exact: bool) -> tuple[Any, Any | None]:
        """Draw the users by bin, then read and draw the statement at the range that follows from them: this spends."""
        (drawn,) = self.rule.users.release(opened, records, keep_exact=False)[0]
        noisy = self.rule.by_end(drawn)
        plan = self.rule.plan(noisy)
        if not is_covered(plan.event, self.statement):
            raise InternalError("a statement costs more than was charged for it; please report this.")
        # It follows from what was released, so it is opened here, after the same charge.
        last = [statistic.open() for statistic in plan.statistic(records, keep_exact=keep_exact)]
        released, exact = plan.release(last, records, keep_exact=keep_exact)
        return (noisy, released), None if exact is None else (noisy, exact)


@dataclass(frozen=True)
class RangedMechanism(JoinedMechanism):
    """The mechanisms of all readings as an answer shows them; what is charged of slack covers every range."""

    charge: Event

    @property
    def slack_epsilon(self) -> float:
        return self.charge.slack_epsilon


def plan_ranged(query: OwnedSelect, *, users: int | None, plan: PlanOne) -> RangedPlan:
    """Return the plan of a statement some of whose arguments have no known range.

    Parameters
    ----------
    query : OwnedSelect
        With ``ranged``.
    users : int or None
        The public number of users; by removal None where there is none.
    plan : callable
        Plans the statement at known ranges.

    Raises
    ------
    UsageError
        As ``plan``, or if ``ranged`` names what no item with ``is_ranged`` is of.
    """
    if not all(any(item.is_ranged and item.node == node for item in query.items) for node in query.ranged):
        raise UsageError("ranged must name arguments of items with is_ranged; leave it out.")
    price = query.price
    first, rest = split(price.level, RANGE_WEIGHTS)
    asked = extremes_question(query, query.ranged, replace(price, level=first, delta=0.0))
    counted = plan_owned(asked, users=users)
    rule = RangeRule(replace(query, price=replace(price, level=rest)), counted, plan)
    typical, largest, *others = (rule.plan_at((own,) * len(query.ranged)) for own in (ASSUMED_RANGE, *EXTREMES))
    slack = slack_of_all((typical, largest, *others))
    statement = GuaranteeEvent(price.promise().at_level(rest, price.delta), "a statement at a chosen range", slack)
    stated = GuaranteeEvent(
        price.promise().at_level(price.level, price.delta),
        f"octaves of values ({first:.6g}), then the statement at their range ({rest:.6g})",
        joined_event([counted.event, statement], price.promise()).slack_epsilon,
    )
    return RangedPlan(
        rule=rule,
        typical=typical,
        statement=statement,
        event=stated,
        columns=_columns(query, typical.columns, largest.columns),
        notes=(*_notes(query), *typical.notes),
        finisher=RangedRows(rule, typical.finisher.shape),
    )


def _columns(
    query: OwnedSelect, typical: Sequence[PlannedColumn], largest: Sequence[PlannedColumn]
) -> tuple[PlannedColumn, ...]:
    """Return columns with the errors of the assumed range and the ends of the largest one."""
    known = {item.name for item in query.items if not item.is_ranged}
    low, high = ASSUMED_RANGE
    note = f"errors if the range is {low:g} to {high:g}; automatic: known after the charge"
    return tuple(
        one
        if one.name in known
        else replace(one, low=widest.low, high=widest.high, note=f"{note}; {one.note}" if one.note else note)
        for one, widest in zip(typical, largest, strict=True)
    )


def _notes(query: OwnedSelect) -> tuple[str, ...]:
    texts = ", ".join(" ".join(item.text.split()) or str(item.node) for item in query.items if item.is_ranged)
    return (
        f"the range of {texts} is automatic: a tenth of epsilon buys numbers of users by octave of their largest and "
        "smallest values; values beyond the range that follows count as its ends, and nothing bounds these, so that "
        'intervals for the true values have no end; answer.interval(of="capped") has those of clamped values',
    )
