"""Plans whose number of groups of a user is chosen by what a tenth of epsilon says first (user-level-sql.md 1.4, 2.5).

As :mod:`emdp.estimators.owned.automatic`, with a user's number of groups in place of that of records: users by octave
of it get noise, ``L`` follows from these noisy numbers, and the statement is planned and drawn with ``L`` and the rest
of epsilon. The theorem and its proof are those of that module; its histogram's hypothesis, that a user is in one bin at
most, holds for any number that is made of one user's rows, and groups are counted before any of them is left out.

``L`` is one of a public list, so that the largest slack and delta of all of them are known, and charged.

**Choice.** Of listed groups ``L`` makes least ``cut + cells * noise(L)``: what users beyond ``L`` groups lose, and the
noise of all groups. Of groups that nobody listed it makes least how many people a group must truly have to be shown
half of the time: the threshold at ``L`` over the share of users' groups that are kept. Whatever the rule, it reads
noisy numbers alone.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.estimators.owned.automatic import HISTOGRAM_WEIGHTS, MeasuredPlan, value_unit
from emdp.estimators.owned.caps import MeasuredRelease, MeasuredRows, octave_bins
from emdp.estimators.owned.noise import choose, totals_of
from emdp.estimators.owned.plan import OwnedPlan
from emdp.estimators.owned.totals import plan_owned
from emdp.estimators.owned.unlisted import plan_unlisted
from emdp.estimators.owned.unlisted_plan import UnlistedPlan
from emdp.mechanisms.contribution.cap import choose_among
from emdp.mechanisms.contribution.octaves import OctaveHistogram
from emdp.mechanisms.release import Mechanism
from emdp.privacy import GuaranteeEvent
from emdp.privacy.rounding import split
from emdp.questions.columns import PlannedColumn, Released
from emdp.questions.owned.octaves import octaves_of
from emdp.questions.owned.question import OwnedSelect
from emdp.questions.price import Price

__all__ = ["LARGEST", "GroupsPlan", "GroupsRule", "plan_groups_cap"]

LARGEST = 1024
"""Largest number of groups that is chosen, beside that of all listed ones."""

ASSUMED_GROUPS = 8
"""Number of groups that a preview assumes, or the number of listed ones where that is less."""


@dataclass(frozen=True, eq=False)
class GroupsRule:
    """Public rule from noisy octaves of users' groups to ``L``, and to the plan of the second release."""

    query: OwnedSelect  # With the price of the second release
    histogram: OctaveHistogram
    plans: Mapping[int, OwnedPlan | UnlistedPlan]  # For each `L` that may be chosen its plan
    noises: Mapping[int, float]  # Of listed groups the noise of one, in users; of others the threshold
    cells: int | None  # Number of listed groups; None where nobody listed them

    def cap(self, noisy: Sequence[int]) -> int:
        """Return ``L``."""
        return self._chosen(noisy)[0]

    def cut(self, noisy: Sequence[int]) -> float:
        """Return an estimate of how many groups of users lie beyond ``L``, of all users together."""
        return self._chosen(noisy)[1]

    def plan(self, noisy: Sequence[int]) -> OwnedPlan | UnlistedPlan:
        """Return the plan of the second release."""
        return self.plans[self.cap(noisy)]

    def _chosen(self, noisy: Sequence[int]) -> tuple[int, float]:
        return choose_among(noisy, self.histogram.scale, tuple(self.plans), self._error, self.cells)

    def _error(self, cap: int, cut: float, whole: float) -> float:
        if self.cells is not None:
            return cut + self.cells * self.noises[cap]
        return self.noises[cap] * whole / (whole - cut)


@dataclass(frozen=True, eq=False)
class GroupsPlan(MeasuredPlan):
    """A priced release in two readings: users by octave of their groups, then the statement at ``L``."""

    rule: GroupsRule  # type: ignore[assignment]  # of groups in place of records
    typical: OwnedPlan | UnlistedPlan  # type: ignore[assignment]  # the same, of keys that nobody listed too

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        assumed = f"{self.typical.aggregation.groups_cap or 0} groups of a user"
        return (MeasuredRelease(self.rule.histogram, self.typical.mechanisms[0], assumed, self.event.slack_epsilon),)

    @property
    def choice(self) -> str:
        share = HISTOGRAM_WEIGHTS[0] / math.fsum(HISTOGRAM_WEIGHTS)
        first = f"Users by octave of their groups with {share:.0%} of epsilon, from which max_groups_per_user is chosen"
        return f"{first}; then {self.typical.choice}"

    @property
    def weighing(self) -> str:
        return self.typical.weighing.replace(
            f"at most {_assumed_cap(self.rule)} groups", "an automatic number of groups"
        )

    def _with_octaves(self, noisy: Sequence[int], released: Any) -> Released:
        return (tuple(map(Fraction, noisy)), released)


@dataclass(frozen=True, eq=False)
class GroupsRows(MeasuredRows):
    """Rows of an answer whose first released part is the noisy octaves, and whose other is that of the statement."""

    rule: GroupsRule  # type: ignore[assignment]  # of groups in place of records

    def diagnostics(self, released: Any) -> dict[str, Any]:
        """Return the number of groups, the estimate of what lies beyond it, and users by octave of their groups."""
        noisy = tuple(map(int, released[0]))
        return {
            "max_groups_per_user": self.rule.cap(noisy),
            "groups_left_out": self.rule.cut(noisy),
            "users_by_groups": octave_bins(noisy, "groups"),
            "users_noise_scale": self.rule.histogram.scale,
        }

    def _told(self, noisy: Sequence[int]) -> str:
        return (
            f"max_groups_per_user was chosen as {self.rule.cap(noisy)}; about {self.rule.cut(noisy):.4g} groups of "
            "users lie beyond it, an estimate that rests on the shape of the tail"
        )

    def _rest(self, released: Any) -> Any:
        return released[1]


def plan_groups_cap(query: OwnedSelect, *, users: int | None) -> GroupsPlan:
    """Return the plan of a statement whose number of groups of a user is chosen from users by octave of their groups.

    Parameters
    ----------
    query : OwnedSelect
        With ``measures_groups``, and without ``groups_cap``.
    users : int or None
        The public number of users; by removal None where there is none.
    """
    if not query.keys:
        raise UsageError("max_groups_per_user has no use without GROUP BY; leave it out.")
    price = query.price
    first, rest = split(price.level, HISTOGRAM_WEIGHTS)
    histogram = OctaveHistogram(first, price.neighbours)
    inner = Price(price.kind, rest, price.delta, neighbours=price.neighbours)
    query = replace(query, price=inner, measures_groups=False)
    is_listed = all(key.is_listed for key in query.keys)
    cells = math.prod(len(key.values) for key in query.keys) if is_listed else None
    asked = {cap: replace(query, groups_cap=cap) for cap in _caps(cells)}
    plans: dict[int, OwnedPlan | UnlistedPlan] = {
        cap: plan_owned(own, users=users) if is_listed else plan_unlisted(own, users=users)
        for cap, own in asked.items()
    }
    noises = {cap: _noise(own, plans[cap]) for cap, own in asked.items()}
    rule = GroupsRule(query, histogram, plans, noises, cells)
    typical, largest = plans[_assumed_cap(rule)], plans[max(plans)]
    text = f"octaves of groups a user ({first:.6g}), then {typical.mechanisms[0].theorem} ({rest:.6g})"
    delta = max(plan.event.guarantee.delta for plan in plans.values())
    return GroupsPlan(
        rule=rule,
        octaves=octaves_of(typical.aggregation, of_groups=True),
        typical=typical,
        event=GuaranteeEvent(
            price.promise().at_level(price.level, delta),
            text,
            max(plan.event.slack_epsilon for plan in plans.values()),
        ),
        columns=tuple(_assumed(rule, own, most) for own, most in zip(typical.columns, largest.columns, strict=True)),
        notes=(
            "max_groups_per_user is automatic: known after the charge, and in these notes taken to be "
            f"{_assumed_cap(rule)}",
            *typical.notes,
        ),
        finisher=GroupsRows(rule, typical.finisher.shape),
    )


def _caps(cells: int | None) -> tuple[int, ...]:
    """Return the numbers that may be chosen: half octaves, and all groups where they are listed.

    >>> _caps(5), _caps(None)[:8], _caps(None)[-1]
    ((1, 2, 3, 4, 5), (1, 2, 3, 4, 6, 8, 12, 16), 1024)
    """
    steps = sorted({size for power in range(11) for size in (2**power, 3 * 2**power // 2) if size <= LARGEST})
    return tuple(steps) if cells is None else (*(size for size in steps if size < cells), cells)


def _noise(query: OwnedSelect, plan: OwnedPlan | UnlistedPlan) -> float:
    """Return the noise of a listed group, as a number of users in it, or the threshold of others."""
    if isinstance(plan, UnlistedPlan):
        return float(plan.keys.people)
    errors = choose(query, totals_of(query)).errors
    found = [
        error / (math.sqrt(2.0) * (1.0 if item.kind == "users" else value_unit(item) * (query.group_rows or 1)))
        for item, error in zip(query.items, errors, strict=True)
    ]
    return math.fsum(found) / len(found)


def _assumed_cap(rule: GroupsRule) -> int:
    return max(cap for cap in rule.plans if cap <= ASSUMED_GROUPS)


def _assumed(rule: GroupsRule, column: PlannedColumn, largest: PlannedColumn) -> PlannedColumn:
    """Return a column with the errors of the assumed number of groups and the range of the largest one."""
    note = f"errors if the cap of groups is {_assumed_cap(rule)}; automatic: known after the charge"
    text = f"{note}; {column.note}" if column.note else note
    return replace(column, low=largest.low, high=largest.high, note=text)
