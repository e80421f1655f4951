"""Select lists of means by messages: ``AVG``, ``PART`` and ``SHARE`` in the local and in the shuffle model.

Every item is made of means over users (:mod:`emdp.estimators.mean.conditional`): ``AVG(e)`` of one, and with a
condition ``c`` on the records ``m + E[(e - m) c]/E[c]`` of two. These means are a vector, of which every user sends
messages; all else is post-processing. A condition weighs a user's own records, so that each user computes it alone;
grouping users, or choosing some, is not a matter of their messages and is refused. Where records may be elsewhere every
mean is one among those that are somewhere: ``c`` is 0 elsewhere, and each user knows which own records are.

Intervals. A mean has that of its messages. A quotient has the extreme quotients of two intervals, each of which misses
with half the chance (Bonferroni), cut to the public range of ``e``; where the denominator's holds 0, nothing is known.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import polars as pl

from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.estimators.columns.ordering import ordered
from emdp.estimators.columns.sizes import check_weight
from emdp.estimators.mean.conditional import Needed, needed_values
from emdp.estimators.mean.linear import OneRow
from emdp.estimators.mean.local import LocalRow, plan_local_means
from emdp.estimators.mean.shuffled import plan_shuffled_means
from emdp.estimators.messages import MessagePlan
from emdp.estimators.user_groups import check_names
from emdp.questions.assumed import Assumed
from emdp.questions.columns import Finisher, PlannedColumn
from emdp.questions.means import VectorMean
from emdp.questions.select import Select
from emdp.spaces import Space

__all__ = ["MadeItem", "MessageItems", "MessageRow", "plan_message_select"]

ANSWERED = ("avg", "part", "share")
"""Kinds of items that are made of means over all users."""


@dataclass(frozen=True)
class MadeItem:
    """An item of the answer, made of estimated means: one, or a quotient of two."""

    name: str
    place: int  # Number of its mean
    centre: Fraction  # What is added to that
    below: int | None  # Number of the mean that it is divided by
    # low, high: Public range of a quotient, centre included.
    low: float
    high: float

    def exact(self, means: Sequence[Fraction]) -> float | None:
        """Return the item of exact means; None where it has none."""
        below = Fraction(1) if self.below is None else means[self.below]
        return float(self.centre + means[self.place] / below) if below > 0 else None

    def estimate(
        self, row: LocalRow, values: Sequence[Fraction], level: float
    ) -> tuple[float | None, float | None, float | None]:
        """Return the item of estimated means, with the ends of an interval."""
        value = values[self.place]
        if self.below is None:
            return float(value), *row.mechanism.interval(self.place, float(value), level)
        half, below = 1.0 - (1.0 - level) / 2.0, values[self.below]
        top = row.mechanism.interval(self.place, float(value), half)
        bottom = row.mechanism.interval(self.below, float(below), half)
        if bottom[0] <= 0:
            return None, -math.inf, math.inf
        ends = [Fraction(a) / Fraction(b) for a in top for b in bottom]
        low, high = _added(self.centre, float(min(ends)), -math.inf), _added(self.centre, float(max(ends)), math.inf)
        found = (float(self.centre + value / below), low, high)
        return tuple(min(max(one, self.low), self.high) for one in found)  # type: ignore[return-value]


@dataclass(frozen=True, eq=False)
class MessageRow(OneRow):
    """An answer of one row: items made of estimated means, each with an interval."""

    items: tuple[MadeItem, ...]
    row: LocalRow
    listed: tuple[str, ...]

    @property
    def sortable(self) -> tuple[str, ...]:
        """Columns by which rows can be sorted."""
        return tuple(f"{name}{end}" for name in self.names for end in ("", "_low", "_high"))

    def frame(self, released: Any, level: float, *, together: bool = False) -> pl.DataFrame:
        own = 1.0 - (1.0 - level) / len(self.names) if together else level
        data: dict[str, list[float | None]] = {}
        for item in self.items:
            value, low, high = item.estimate(self.row, released[0], own)
            data |= {item.name: [value], f"{item.name}_low": [low], f"{item.name}_high": [high]}
        return self._framed(data)

    def exact(self, statistics: Any) -> pl.DataFrame:
        return self._framed({item.name: [item.exact(statistics[0])] for item in self.items})

    def _framed(self, data: dict[str, list[float | None]]) -> pl.DataFrame:
        frame = pl.DataFrame(data, schema=dict.fromkeys(data, pl.Float64))
        names = [*self.listed, *(name for name in self.names if name not in self.listed)]
        return frame.select(
            f"{name}{end}" for name in names for end in ("", "_low", "_high") if f"{name}{end}" in frame.columns
        )


@dataclass(frozen=True, eq=False)
class MessageItems:
    """A statement whose items are made of means by messages."""

    query: Select
    space: Space
    means: VectorMean
    needs: tuple[Needed, ...]

    @classmethod
    def of(cls, query: Select, space: Space) -> "MessageItems":
        """Return the means and items of a statement in the local or in the shuffle model.

        Raises
        ------
        NotLipschitzError
            If an expression has no finite constant.
        UsageError
            If an item or a clause has no answer in the model.
        """
        _check(query)
        listed, needs = needed_values(query, space)
        check_names([f"{need.item.name}{end}" for need in needs for end in ("", "_low", "_high")])
        means = VectorMean(tuple(listed.expressions), query.price, model=query.model, messages=query.messages)
        return cls(query, space, means, needs)

    @property
    def made(self) -> tuple[MadeItem, ...]:
        """What each item is made of."""
        return tuple(
            MadeItem(need.item.name, need.values[0], need.centres[0], need.denominator, *need.ranges[0])
            for need in self.needs
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What is said of quotients, where there are some."""
        return (QUOTIENTS,) if any(need.denominator is not None for need in self.needs) else ()

    def shown(self, columns: Sequence[PlannedColumn], row: LocalRow) -> tuple[tuple[PlannedColumn, ...], Finisher]:
        """Return the columns and the rows of the items, from those of the means."""
        assumed, query = Assumed.of(self.query, self.space), self.query
        own = MessageRow(tuple(need.item.name for need in self.needs), self.made, row, query.columns)
        finisher = ordered(own, query.order, limit=query.limit, offset=query.offset, columns=own.sortable)
        return tuple(_column(need, columns, assumed, len(self.needs)) for need in self.needs), finisher


def plan_message_select(query: Select, *, space: Space, users: int) -> MessagePlan:
    """Return the plan of a select list in the local or in the shuffle model.

    Parameters
    ----------
    query : Select
        The statement: averages, parts and shares of all users' records, with a condition on them or none.

    Raises
    ------
    NotLipschitzError
        If an expression has no finite constant.
    UsageError
        If an item or a clause has no answer in the model.

    Guarantee
    ---------
    That of the vector of means, in the model (:mod:`emdp.estimators.mean.local`, :mod:`emdp.estimators.mean.shuffled`).

    >>> from emdp.expressions import col, ramp
    >>> from emdp.questions.price import Price
    >>> from emdp.questions.select import Item
    >>> from emdp.spaces import Interval
    >>> price = Price("alpha", 1.0, 1e-9)
    >>> query = Select((Item("avg", "x", col("x")),), price, where=ramp(col("x"), 4, 6), model="shuffle", messages=1)
    >>> plan = plan_message_select(query, space=Interval("x", 0, 10), users=10_000)
    >>> plan.columns[0].name, plan.mechanisms[0].mechanism.bits_per_user
    ('x', 2)
    """
    items = MessageItems.of(query, space)
    planner = plan_local_means if query.model == "local" else plan_shuffled_means
    plan = planner(items.means, space=space, users=users)
    if not isinstance(plan, MessagePlan) or not isinstance(plan.finisher, LocalRow):
        raise UsageError("every item is the same on every table, so that it is public; ask for one that varies.")
    columns, finisher = items.shown(plan.columns, plan.finisher)
    return replace(plan, columns=columns, finisher=finisher, notes=(*plan.notes, *items.notes))


QUOTIENTS = (
    "means among the chosen records are E[e c]/E[c], of two estimated means; a share E[c] whose own interval holds 0 "
    "gives no value (NULL)"
)


def _check(query: Select) -> None:
    for item in query.items:
        check_weight(item.weight)
        if item.kind not in ANSWERED or item.weight != query.items[0].weight:
            what = "WEIGHT" if item.kind in ANSWERED else item.kind.upper()
            raise UsageError(
                f"{what} has no answer in the {query.model} model, where every user sends the same messages of means; "
                "ask for AVG, PART or SHARE, each of one weight."
            )
    if query.people is not None or query.groups:
        raise UsageError(
            f"groups, and a choice of users, have no answer in the {query.model} model, where all users send the same "
            "messages; ask one question for each value, with a condition on the records."
        )
    if query.noise != "auto" or query.cap is not None:
        raise UsageError(f"noise and max_records_per_user do not fit the {query.model} model; leave them out.")


def _column(need: Needed, columns: Sequence[PlannedColumn], assumed: Assumed, items: int) -> PlannedColumn:
    """Return an item's errors: a quotient's by its noise to first order, at the share of records that is assumed."""
    own = columns[need.values[0]]
    text = str(need.item.expression) if need.item.expression is not None else own.expression
    low, high = need.ranges[0]
    lipschitz = own.lipschitz if need.lipschitz is None else need.lipschitz
    known = replace(
        own, name=need.item.name, expression=text, low=low, high=high, lipschitz=lipschitz, share=1 / items,
        written=need.item.text,
    )  # fmt: skip
    if need.denominator is None:
        return known
    below = columns[need.denominator]

    def together(first: float, second: float) -> float:
        return math.hypot(first, 0.5 * need.half * second) / assumed.share

    return replace(
        known,
        expected_error=together(own.expected_error, below.expected_error),
        interval_95=together(own.interval_95, below.interval_95),
        note=assumed.text,
    )


def _added(centre: Fraction, end: float, towards: float) -> float:
    return math.nextafter(float(centre + Fraction(end)), towards)
