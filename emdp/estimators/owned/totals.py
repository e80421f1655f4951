"""Plans of statements over rows that each belong to one user: counts, sums, means, variances and people under caps.

Of user ``u`` the rows are a function of that user's records and of public tables
(:mod:`emdp.questions.owned.relations`), so that replacing the records of one user changes the rows of that user alone,
and so does removing that user. By removal nothing rests on the number of users, which is private: what is drawn, its
scale and its grid are the same whatever is declared of it, and nothing is divided by it. COUNT(DISTINCT user) is then
a count of the users who have a row, with noise like another.
How far that moves what is drawn is said in :mod:`emdp.estimators.owned.blocks`; what is computed keeps to the caps
exactly (:mod:`emdp.questions.owned.totals`), so that nothing is lost to rounding, and ``statistic_error`` is 0. No
constant of any function is asked for: under user-level privacy any function of a row does.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

from emdp.base.classes import dataclass
from emdp.base.errors import InternalError, UsageError
from emdp.estimators.columns.ordering import ordered
from emdp.estimators.columns.pairs import EndsMean, Total
from emdp.estimators.columns.sizes import ASSUMED_USERS, MOST_USERS, check_level
from emdp.estimators.columns.true_totals import OneSided, measured_total, true_total
from emdp.estimators.columns.values import Coordinate, Draw, Mean, OutputColumn, Rows
from emdp.estimators.mean.expectations import expected_absolute
from emdp.estimators.owned.amounts import at_given_cap, in_amounts
from emdp.estimators.owned.blocks import Block, Drawing, express
from emdp.estimators.owned.columns import Combination, Quotient, Spread, Terms
from emdp.estimators.owned.noise import Chosen, Shape, cap_norm, choose, totals_of
from emdp.estimators.owned.notes import QUOTIENTS, check_caps, owned_notes
from emdp.estimators.owned.plan import OwnedPlan
from emdp.estimators.plan import parallel_event
from emdp.estimators.user_groups import check_names
from emdp.mechanisms import AdditiveMechanism, GaussianMechanism
from emdp.privacy.rounding import float_at_least
from emdp.questions.columns import PlannedColumn
from emdp.questions.owned.groups import OwnedGroups
from emdp.questions.owned.question import TOTAL_KINDS, OwnedItem, OwnedSelect
from emdp.questions.owned.totals import OwnedTotals

__all__ = [
    "Preview",
    "additive_mechanism",
    "answer_names",
    "column_of",
    "of_truth",
    "plan_owned",
]

MOST_NUMBERS = 200_000
"""Most released numbers of one statement: some seconds of exact noise."""

ASSUMED_WEIGHT = 0.5
"""Mean weight that a preview assumes, in parts of the largest one."""

ASSUMED_FILLING = 0.5
"""Share of the largest possible count of rows that a preview assumes of all cells together."""


def plan_owned(query: OwnedSelect, *, users: int | None, cut: float | None = None, is_given: bool = False) -> OwnedPlan:
    """Return the plan of a statement over rows with owners.

    Parameters
    ----------
    query : OwnedSelect
        Its names are looked up and its ranges known.
    users : int or None
        The public number of users; by removal None where there is none.
    cut : float or None
        An estimate, from what was released before, of how many records the cap leaves out.
    is_given : bool
        Whether the cap of sums may be one of amounts, where the noise is no larger.
    """
    _check(query)
    totals = totals_of(query)
    if query.amounts:
        chosen, totals = _in_amounts(query, totals)
    else:
        chosen = choose(query, totals)
        found = at_given_cap(query, chosen, totals) if is_given else None
        totals = replace(totals, norm=cap_norm(totals, chosen.kind))
        if found is not None:
            chosen, totals = found
            query = replace(query, cap=totals.cap, amounts=True)
    numbers = chosen.rows * totals.cells
    if numbers > MOST_NUMBERS:
        raise UsageError(f"the statement releases {numbers} numbers, more than {MOST_NUMBERS}; make fewer groups.")
    mechanism = additive_mechanism(chosen, totals, query, users)
    capped = tuple(column_of(query, chosen, place) for place in range(len(query.items)))
    is_cut = query.groups_cap is not None and query.groups_cap < totals.cells
    is_capped = not query.relation.is_per_user
    columns = tuple(
        of_truth(
            item,
            own,
            is_cut=is_cut if item.kind == "users" else is_capped,
            cut=cut,
            reach=_reach(chosen, place) if query.amounts else None,
        )
        for place, (item, own) in enumerate(zip(query.items, capped, strict=True))
    )
    keys = _keys(query)
    names = answer_names(query, keys)
    rows = Rows(tuple(keys.items()), columns, (mechanism,), totals.cells, names)
    preview = Preview(query, chosen, mechanism, totals, users)
    return OwnedPlan(
        aggregation=totals,
        mechanisms=(mechanism,),
        event=parallel_event((mechanism,), query.price.promise()),
        columns=tuple(preview.column(place, column) for place, column in enumerate(capped)),
        choice=_choice(chosen, len(query.items)),
        finisher=ordered(rows, query.order, limit=query.limit, offset=query.offset, columns=rows.sortable),
        notes=owned_notes(query, _cap_text(totals), is_measured=cut is not None, norm=totals.norm),
        blocks=chosen.blocks,
    )


def _check(query: OwnedSelect) -> None:
    check_level(query.price.level)
    if query.noise == "k_norm":
        raise UsageError("noise must be 'laplace' or 'gaussian' under USER_PRIVACY; leave it out or pass one.")
    if query.noise == "gaussian" and query.price.delta == 0:
        raise UsageError("noise 'gaussian' needs a delta above 0, got 0; pass a delta or leave noise out.")
    if not query.items:
        raise UsageError("items must have an aggregate; pass one.")
    if any(item.kind not in TOTAL_KINDS for item in query.items):
        raise UsageError("items must be counts, sums, means, variances or people here; ask for the others apart.")
    needs_cap = any(item.kind != "users" for item in query.items)
    check_caps(query, needs_cap=needs_cap)
    if query.groups_cap is not None and query.group_rows is None and all(item.kind != "users" for item in query.items):
        raise UsageError(
            "max_groups_per_user is for counts of people by groups, and beside max_records_per_group; leave it out, or "
            "add that."
        )
    if query.groups_cap is not None and not query.keys:
        raise UsageError("max_groups_per_user has no use without GROUP BY; leave it out.")
    check_names(
        [
            *(key.name for key in query.keys),
            *(f"{item.name}{end}" for item in query.items for end in ("", "_low", "_high")),
        ]
    )


def additive_mechanism(
    chosen: Chosen, totals: OwnedTotals | OwnedGroups, query: OwnedSelect, users: int | None
) -> AdditiveMechanism:
    """Return the noise of what is drawn."""
    most = MOST_USERS if users is None or query.price.is_by_removal else users
    largest = max(
        abs(value) / (block.costs[part] if block.costs else 1) * block.most * most * max(len(block.members), 1)
        for block, drawing in chosen.blocks
        for part in range(block.parts)
        for value in drawing.column(part)
        if value
    )
    return chosen.kind(
        alpha=query.price.level,
        delta=query.price.delta if chosen.kind is GaussianMechanism else 0.0,
        sensitivity=chosen.change,
        dimension=chosen.rows * totals.cells,
        magnitude=float_at_least(Fraction(largest)),
    )


def _in_amounts(query: OwnedSelect, totals: OwnedTotals) -> tuple[Chosen, OwnedTotals]:
    """Return the drawing, chosen as at a cap of one record, and the sums under a cap of amounts."""
    unit = replace(query, cap=None if query.cap is None else 1)
    found = in_amounts(choose(unit, totals_of(unit)), totals)
    if found is None:
        raise InternalError("a cap of amounts was asked for where all records add as much; please report this.")
    return found


def _cap_text(totals: OwnedTotals) -> str:
    cap = totals.cap_records
    return str(totals.cap) if cap is None or cap == totals.cap else f"{cap:g}"


def _reach(chosen: Chosen, place: int) -> float:
    """Return the most that an item's total changes by for a unit of amounts that a cap leaves out."""
    block, _ = chosen.blocks[chosen.places[place]]
    top = chosen.shapes[place].top
    return (
        float(max(abs(own) / cost for own, cost in zip(top, block.costs, strict=True) if cost)) if block.costs else 1.0
    )


def column_of(query: OwnedSelect, chosen: Chosen, place: int) -> OutputColumn:
    """Return the column of an item, made of what is released."""
    item, shape, number = query.items[place], chosen.shapes[place], chosen.places[place]
    block, drawing = chosen.blocks[number]
    first = chosen.first_row(number)
    coordinates = [Coordinate(first + row, scale) for row, scale in enumerate(drawing.scales)]
    argument = block.argument

    def terms(functional: Sequence[Fraction]) -> Terms:
        weights = express(drawing.rows, tuple(functional)) or ()
        return tuple((own, weight) for own, weight in zip(coordinates, weights, strict=True) if weight)

    top = terms(shape.top)
    if shape.bottom is None:
        return _sum_column(item.name, top)
    bottom = terms(shape.bottom)
    if argument is None:
        raise UsageError("a mean needs an expression; pass one.")
    if shape.square is None:
        return _mean_column(item, shape, (block, drawing), coordinates, (top, bottom))
    first_mean = Quotient(item.name, top, bottom, Fraction(0), 0.0, 1.0)
    second = Quotient(item.name, terms(shape.square), bottom, Fraction(0), 0.0, 1.0)
    return Spread(item.name, first_mean, second, argument.high - argument.low, item.kind == "stddev")


def _sum_column(name: str, terms: Terms) -> OutputColumn:
    if len(terms) == 2:
        (first, one), (second, other) = terms
        return Total(name, (one, other), (first, second))
    return Combination(name, terms)


def _mean_column(
    item: OwnedItem,
    shape: Shape,
    drawn: tuple[Block, Drawing],
    coordinates: Sequence[Coordinate],
    parts: tuple[Terms, Terms],
) -> OutputColumn:
    """Return a mean with the exact law of its two noises where it is made of two numbers, or else of all."""
    block, drawing = drawn
    top, bottom = parts
    if len(top) == len(bottom) == 1 and top[0][1] == bottom[0][1] == 1:
        return Mean(item.name, shape.centre, top[0][0], bottom[0][0], item.low, item.high)
    unit = [tuple(Fraction(place == part) for place in range(block.parts)) for part in range(block.parts)]
    if block.parts == 3 and all(own in drawing.rows for own in unit[1:]):
        below, above = (coordinates[drawing.rows.index(own)] for own in unit[1:])
        if below.scale == above.scale:
            return EndsMean(item.name, item.low, item.high, above, below)
    return Quotient(item.name, top, bottom, shape.centre, item.low, item.high)


def of_truth(
    item: OwnedItem, column: OutputColumn, *, is_cut: bool, cut: float | None = None, reach: float | None = None
) -> OutputColumn:
    """Return a total with the ends that hold for the true one; means are of capped rows.

    Of a chosen range no end does: values beyond it, on either side, may be any number.

    ``cut`` is what is left out, in records, or where ``reach`` is given in amounts of so much of the item each.
    """
    if item.is_ranged:
        return OneSided(column, has_low=False, has_high=False)
    if cut is not None and item.kind in ("rows", "count", "sum"):
        low, high = (item.low, item.high) if item.kind == "sum" else (0.0, 1.0)
        if reach is not None:
            low, high = (reach * ((end > 0) - (end < 0)) for end in (low, high))
        return measured_total(column, low, high, cut)
    if not is_cut:
        return column
    if item.kind in ("rows", "count"):
        return true_total(column, 0.0, 1.0)
    if item.kind == "sum":
        return true_total(column, item.low, item.high)
    if item.kind == "users":
        return true_total(column, 0.0, 1.0)
    return column


def _keys(query: OwnedSelect) -> dict[str, tuple[Any, ...]]:
    rows = list(product(*(key.values for key in query.keys)))
    return {key.name: tuple(row[place] for row in rows) for place, key in enumerate(query.keys)}


def answer_names(query: OwnedSelect, keys: Iterable[str]) -> tuple[str, ...]:
    """Return the columns of the answer in their order, for keys of these names."""
    items = [item.name for item in query.items]
    named = query.columns
    names = [*(name for name in keys if name not in named), *named, *(name for name in items if name not in named)]
    if sorted(names) != sorted([*keys, *items]):
        raise UsageError(f"columns must name columns of the answer, each once, got {named}; use {[*keys, *items]}.")
    return tuple(names)


def _choice(chosen: Chosen, items: int) -> str:
    rows = chosen.rows
    what = "one number" if rows == 1 else f"one draw of {rows} numbers"
    return f"{chosen.kind.name} noise, {what} a group for {items} column{'s' if items > 1 else ''}."


@dataclass(frozen=True, eq=False)
class Preview:
    """Preview of the columns; errors of quotients assume a number of rows."""

    query: OwnedSelect
    chosen: Chosen
    mechanism: AdditiveMechanism
    totals: OwnedTotals | OwnedGroups
    users: int | None

    @property
    def count(self) -> float:
        groups = min(self.totals.cells, self.totals.groups_cap or self.totals.cells)
        each = (self.totals.cap_records or 1) if self.totals.group_rows is None else groups * self.totals.group_rows
        return (self.users or ASSUMED_USERS) * each * ASSUMED_FILLING / self.totals.cells

    def column(self, place: int, column: OutputColumn) -> PlannedColumn:
        item, shape = self.query.items[place], self.chosen.shapes[place]
        low, high = self._range(item)
        divisor = self.count * (1.0 if item.weight is None else ASSUMED_WEIGHT) if item.kind in QUOTIENTS else 1.0
        block, drawing = self.chosen.blocks[self.chosen.places[place]]
        weights = express(drawing.rows, shape.noise) or ()
        sizes = [float(weight) / scale for weight, scale in zip(weights, drawing.scales, strict=True)]
        width = item.high - item.low
        if item.kind == "variance":
            divisor /= width * width
        if item.kind == "stddev":
            divisor /= width / (2.0 * math.sqrt(float(Fraction(1, 16))))
        error = expected_absolute(self.mechanism, sizes) / divisor
        is_quotient = item.kind in QUOTIENTS
        most = "half of the most there may be"
        if self.users is None:
            most = f"{most}, assuming {ASSUMED_USERS} users"
        of_weights = "" if item.weight is None else f", and weights of half of the largest, {item.most:.6g}"
        note = (
            f"errors if {self.count:.6g} records with a value are counted in a group ({most}, spread "
            f"evenly), with a mean a quarter of the range from its middle{of_weights}"
            if is_quotient
            else ""
        )
        return PlannedColumn(
            name=item.name,
            expression="1" if item.node is None else str(item.node),
            lipschitz=math.inf,
            low=low,
            high=high,
            noise_scale=math.hypot(*sizes) * self.mechanism.scale / divisor,
            expected_error=min(error, high - low) if is_quotient else error,
            interval_95=self._half(place, column, block, drawing),
            share=1.0 / len(self.query.items),
            note=note,
            written=item.text,
        )

    def _half(self, place: int, column: OutputColumn, block: Block, drawing: Drawing) -> float:
        """Return half of the width of the interval where the mean is a quarter of the range above its middle."""
        typical = self._typical(block)
        drawn = [Fraction(0)] * self.chosen.rows
        first = self.chosen.first_row(self.chosen.places[place])
        for number, row in enumerate(drawing.rows):
            drawn[first + number] = sum(
                (weight * value for weight, value in zip(row, typical, strict=True)), Fraction(0)
            )
        found = column.estimates(Draw(tuple(drawn), 1, self.mechanism), 0, 0.95)[0]
        return 0.5 * (found.high - found.low)

    def _typical(self, block: Block) -> list[Fraction]:
        count, argument = Fraction(self.count), block.argument
        if block.members:
            # The width of a weighted sum is the same everywhere.
            return [Fraction(0)] * block.parts
        if argument is None or argument.node is None:
            return [count]
        if argument.weight is not None:
            own = count * Fraction(ASSUMED_WEIGHT)
            return [count - own, own / 4, own * 3 / 4]
        eighths = {0: (8,), 1: (2, 6), 2: (1, 2, 5)}[argument.degree]
        return [Fraction(0), *(count * Fraction(share, 8) for share in eighths)]

    def _range(self, item: OwnedItem) -> tuple[float, float]:
        users = MOST_USERS if self.users is None else self.users
        most = float(users * (self.totals.group_rows or self.totals.cap_records or 1))
        width = item.high - item.low
        return {
            "rows": (0.0, most),
            "count": (0.0, most),
            "users": (0.0, float(users)),
            "sum": (most * min(item.low, 0.0), most * max(item.high, 0.0)),
            "avg": (item.low, item.high),
            "variance": (0.0, width * width / 4),
            "stddev": (0.0, width / 2),
        }[item.kind]
