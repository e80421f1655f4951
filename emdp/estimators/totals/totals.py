"""Totals under a cap, for user-level privacy: COUNT, SUM, and the means, variances and deviations made of them.

With a cap of ``C`` records a user contributes ``T = omega sum_x c(x) F(x)`` over the user's records ``x``, where
``c(x)`` in [0, 1] is the filter (1 without one), ``omega = min(1, C / sum_x c(x))``, and ``F(x)`` has a coordinate for
each value and group of records: 1 for COUNT, ``e(x)`` or ``e(x) - m`` for SUM and AVG, in the record's own group, and
0 in the others. A user over the cap keeps all records, each with less weight: none is chosen, so no order matters.

Theorem (replacement). If a user's whole bag is replaced, ``sum T`` over the ``n`` public users moves in any norm by at
most ``C max(sup |F(x)|, sup |F(x) - F(x')|)``.

Proof. The weights ``omega c(x) >= 0`` add up to at most ``C``, so ``T`` is ``C`` times a point of the convex hull of 0
and all ``F(x)``, and the diameter of a hull is that of its points.

Theorem (removal). If all records of one user appear or vanish, ``sum T`` moves in any norm by at most ``C sup |F(x)|``.

Proof. It moves by that user's ``T``, ``C`` times a point of the hull of 0 and all ``F(x)``; norms are convex.

So by removal COUNT moves by ``C`` in any number of groups, where replacement moves it by ``2 C`` in the 1-norm and
``sqrt(2) C`` in the 2-norm, and SUM(e) by ``C max(|low|, |high|)``. Nothing public about ``n`` is used then: previews
assume a number of users where none is declared, and answers do not depend on it.

Nothing is divided by ``n``. By replacement COUNT alone moves by ``C`` and SUM(e) alone by ``C max(|low|, |high|, high -
low)`` (:func:`emdp.expressions.cells.bounds.aggregation_spread`). AVG and variances are made of sums and the count of
one draw (:mod:`emdp.estimators.totals.noise`); they weigh records, not users.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from operator import mul
from typing import Any

from emdp.base.checks import check_count
from emdp.base.classes import dataclass
from emdp.base.errors import InternalError, NotLipschitzError, UsageError
from emdp.estimators.columns.moments import Variance
from emdp.estimators.columns.ordering import ordered
from emdp.estimators.columns.pairs import EndsMean, Total
from emdp.estimators.columns.sizes import ASSUMED_USERS, MOST_USERS, check_level, check_weight
from emdp.estimators.columns.true_totals import TRUE_TOTALS, true_total
from emdp.estimators.columns.values import Coordinate, Draw, Known, Mean, OutputColumn, Rows
from emdp.estimators.mean.expectations import expected_absolute
from emdp.estimators.plan import Plan, PlannedColumn, parallel_event
from emdp.estimators.totals.noise import QUOTIENTS, Layout, Part, TotalsNoise, least_noise, root_mean_square
from emdp.estimators.user_groups import check_names
from emdp.expressions.analysis.checker import final_lipschitz
from emdp.expressions.cells.aggregation import Aggregation
from emdp.expressions.cells.bounds import aggregation_errors, aggregation_removal, aggregation_spread
from emdp.expressions.numbers.outward import mul_down, mul_up
from emdp.mechanisms import AdditiveMechanism, GaussianMechanism, LaplaceMechanism
from emdp.privacy.rounding import float_at_least
from emdp.questions.assumed import Assumed
from emdp.questions.item_kinds import KINDS
from emdp.questions.select import Select
from emdp.spaces import Space

__all__ = ["plan_totals"]

MOST_NUMBERS = 200_000
"""Most released numbers of one statement, over all its groups: some seconds of exact noise."""

ASSUMED_FILLING = 0.5
"""Share of the largest possible count that a preview assumes, before a filter and groups."""


def plan_totals(query: Select, *, space: Space, users: int | None, records: int | None = None) -> Plan:
    """Return the plan of a statement with a cap: every record counts, a user's together as at most ``cap``.

    Parameters
    ----------
    query : Select
        With ``cap`` and a price at user level.
    users : int or None
        The public number of users; by removal None where there is none.
    records : int or None
        The public number of records that every user has, where it is declared: a cap of as many moves nothing.

    Raises
    ------
    NotLipschitzError
        If an expression has no finite range.
    UsageError
        If an item, a name, the cap or the noise does not fit.

    >>> from emdp.expressions import col
    >>> from emdp.questions.price import Price
    >>> from emdp.questions.select import Item
    >>> from emdp.spaces import Interval
    >>> query = Select((Item("sum", "total", col("x")),), Price("epsilon", 2.0), cap=10)
    >>> plan_totals(query, space=Interval("x", -1, 3), users=100).mechanisms[0].scale
    20.0
    """
    cap = _check(query)
    sizes = (users or ASSUMED_USERS,) if query.people is None else query.people.groups.sizes
    most = max(sizes) if users else MOST_USERS
    cells = math.prod(group.axis.size for group in query.groups)
    chosen = least_noise(query, space, cells)
    layout = chosen.layout
    numbers = len(layout.values) * cells * len(sizes)
    if numbers > MOST_NUMBERS:
        raise UsageError(f"the statement releases {numbers} numbers, more than {MOST_NUMBERS}; make fewer groups.")
    aggregation = Aggregation(
        layout.values,
        tuple(group.axis for group in query.groups),
        None if query.people is None else query.people.groups,
        cap,
        query.where,
    )
    mechanism = _mechanism(chosen, aggregation, space, query, most)
    mechanisms = (mechanism,) * len(sizes)
    columns = tuple(_column(part, chosen.scales, layout.ends, sizes, cells) for part in layout.parts)
    assumed = Assumed.of(query, space)
    filling = min(sizes) * cap * ASSUMED_FILLING
    is_cut = records is None or records > cap
    shown = tuple(_of_truth(part, own) if is_cut else own for part, own in zip(layout.parts, columns, strict=True))
    rows = _rows(query, shown, mechanisms, filling * assumed.share if users else None)
    assumption = _assumption(query, assumed, is_counted=users is not None)
    preview = _Preview(chosen, mechanism, cap, sizes, most, filling * assumed.share, assumption, space)
    return Plan(
        aggregation=aggregation,
        scales=chosen.scales,
        mechanisms=mechanisms,
        event=parallel_event(mechanisms, query.price.promise()),
        columns=tuple(preview.column(part, column) for part, column in zip(layout.parts, columns, strict=True)),
        choice=chosen.text,
        finisher=ordered(rows, query.order, limit=query.limit, offset=query.offset, columns=rows.sortable),
        notes=_notes(query, layout, is_cut=is_cut),
    )


def _check(query: Select) -> int:
    if query.cap is None or not query.price.is_user_level:
        raise UsageError("cap and epsilon belong together; set max_records_per_user and epsilon (USER_PRIVACY).")
    if query.noise == "k_norm":
        raise UsageError("noise must be 'laplace' or 'gaussian' under max_records_per_user; leave it out or pass one.")
    if query.noise == "gaussian" and query.price.delta == 0:
        raise UsageError("noise 'gaussian' needs a delta above 0, got 0; pass a delta or leave noise out.")
    for item in query.items:
        check_weight(item.weight)
        kind = KINDS.get(item.kind)
        if kind is None:
            raise InternalError(f"an aggregate of kind {item.kind!r} has no rule under a cap; please report this.")
        if not kind.is_capped:
            raise UsageError(
                f"{item.kind.upper()} is a mean over users and has no cap; write SUM or COUNT(*), or leave "
                "max_records_per_user out."
            )
        if item.kind == "users" and query.price.is_by_removal:
            raise UsageError(
                "the number of users is private under neighbours = 'remove', and COUNT(DISTINCT ...) gives the "
                "declared one; leave it out, or leave neighbours out."
            )
        if item.kind == "users" and (query.groups or query.where is not None):
            raise UsageError(
                "the number of users is public for groups of users alone, not for a filter or group on records; "
                "leave COUNT(DISTINCT ...) out."
            )
    if all(item.kind == "users" for item in query.items):
        raise UsageError("max_records_per_user has no use where no record is counted; leave it out.")
    ends = [f"{item.name}{end}" for item in query.items for end in ("", "_low", "_high")]
    check_names([*_keys(query), *ends])
    check_level(query.price.level)
    return check_count("cap", query.cap)


def _mechanism(
    chosen: TotalsNoise, aggregation: Aggregation, space: Space, query: Select, users: int
) -> AdditiveMechanism:
    """Return the noise of a group: the same for each, since a total's sensitivity does not fall with its users."""
    scales = [Fraction(scale) for scale in chosen.scales]
    by = aggregation_removal if query.price.is_by_removal else aggregation_spread
    change = by(aggregation, chosen.scales, space)[chosen.kind.norm - 1]
    errors = [Fraction(error) for error in aggregation_errors(aggregation, space)]
    largest = [Fraction(size) * (aggregation.cap or 1) * users for size in chosen.layout.sizes]
    if change == 0:
        # 0 on every table: no error depends on the neighbour, and no noise is needed
        return LaplaceMechanism(sensitivity=0.0, alpha=query.price.level, dimension=aggregation.dimension)
    return chosen.kind(
        alpha=query.price.level,
        delta=query.price.delta if chosen.kind is GaussianMechanism else 0.0,
        sensitivity=change,
        dimension=aggregation.dimension,
        statistic_error=float_at_least(max(map(mul, scales, errors))),
        magnitude=float_at_least(max(map(mul, scales, largest))),
    )


def _column(
    part: Part, scales: Sequence[float], ends: tuple[float, float] | None, sizes: Sequence[int], cells: int
) -> OutputColumn:
    name, middle = part.item.name, Fraction(part.middle)
    coordinates = [Coordinate(place, scales[place]) for place, _ in part.weights]
    if not coordinates:
        return Known(name, tuple(map(Fraction, sizes)), cells)
    if ends is not None:
        return _column_of_ends(part, ends, coordinates[0], coordinates[1])
    if part.known is None or len(coordinates) == 1:
        return Mean(name, Fraction(0), coordinates[0])
    if part.item.kind == "sum":
        return Total(name, (Fraction(1), middle), (coordinates[0], coordinates[1]))
    if part.item.kind == "avg":
        return Mean(name, middle, coordinates[0], coordinates[1], part.known.low, part.known.high)
    if part.item.kind not in ("variance", "stddev"):
        raise InternalError(f"an aggregate of kind {part.item.kind!r} has no column under a cap; please report this.")
    square, centred, count = coordinates
    highest = mul_up(part.half, part.half)
    first = Mean(name, Fraction(0), centred, count, -part.half, part.half)
    second = Mean(name, Fraction(0.5 * highest), square, count, 0.0, highest)
    return Variance(name, first, second, highest, is_root=part.item.kind == "stddev")


def _of_truth(part: Part, column: OutputColumn) -> OutputColumn:
    """Return a total with the ends that hold for the true one; means and public numbers as they are."""
    if part.item.kind == "count":
        return true_total(column, 0.0, 1.0)
    if part.item.kind == "sum" and part.known is not None:
        return true_total(column, part.known.low, part.known.high)
    return column


def _column_of_ends(part: Part, ends: tuple[float, float], above: Coordinate, below: Coordinate) -> OutputColumn:
    if part.item.kind == "avg":
        return EndsMean(part.item.name, *ends, above, below)
    low, high = map(Fraction, ends)
    weights = (high, low) if part.item.kind == "sum" else (Fraction(1), Fraction(1))
    width = high - low
    return Total(part.item.name, (weights[0] / width, weights[1] / width), (above, below))


def _keys(query: Select) -> dict[str, tuple[Any, ...]]:
    """Return the key columns of the rows: groups of users one after another, each with all groups of records."""
    people = ((),) if query.people is None else query.people.values
    names = () if query.people is None else query.people.columns
    rows = list(product(people, *(group.values for group in query.groups)))
    keys = {name: tuple(row[0][place] for row in rows) for place, name in enumerate(names)}
    return keys | {group.name: tuple(row[1 + place] for row in rows) for place, group in enumerate(query.groups)}


def _rows(
    query: Select, columns: tuple[OutputColumn, ...], mechanisms: tuple[AdditiveMechanism, ...], expected: float | None
) -> Rows:
    keys = _keys(query)
    items = [column.name for column in columns]
    named = query.columns
    names = [*(name for name in keys if name not in named), *named, *(name for name in items if name not in named)]
    if sorted(names) != sorted([*keys, *items]):
        raise UsageError(f"columns must name columns of the answer, each once, got {named}; use {[*keys, *items]}.")
    cells = math.prod(group.axis.size for group in query.groups)
    return Rows(tuple(keys.items()), columns, mechanisms, cells, tuple(names), expected, is_count=True)


@dataclass(frozen=True, eq=False)
class _Preview:
    """Preview of the columns; errors of quotients assume a count of the smallest group of users."""

    chosen: TotalsNoise
    mechanism: AdditiveMechanism
    cap: int
    sizes: tuple[int, ...]
    most: int
    count: float
    assumption: str
    space: Space

    def column(self, part: Part, column: OutputColumn) -> PlannedColumn:
        """Return public facts about one column."""
        low, high = self._range(part)
        text = "1" if part.item.expression is None else str(part.item.expression)
        if not column.is_noisy:
            return PlannedColumn(
                part.item.name, "public", 0.0, low, high, 0.0, 0.0, 0.0, share=0.0, written=part.item.text
            )
        is_quotient = part.item.kind in QUOTIENTS
        count = self.count
        typical = [Fraction(0)] * len(part.weights)
        if is_quotient:
            # the mean a quarter of the range above its middle, a variance at half of its largest
            typical[-2], typical[-1] = Fraction(count * part.half / 2), Fraction(count)
            typical[0] = Fraction(count * part.half**2 / 4) if len(typical) == 3 else typical[0]
            if self.chosen.layout.ends is not None:
                typical = [Fraction(count * part.half * share) for share in (1.5, 0.5)]
        values = dict(zip((place for place, _ in part.weights), typical, strict=True))
        drawn = tuple(values.get(place, Fraction(0)) for place in range(len(self.chosen.scales)))
        expected = column.estimates(Draw(drawn, 1, self.mechanism), 0, 0.95)[0]
        divisor = count if is_quotient else 1.0
        if part.item.kind == "stddev" and part.half > 0:
            divisor *= 2.0 * math.sqrt(0.5) * part.half
        scale = self.mechanism.scale / self.chosen.scales[part.weights[0][0]]
        error = self._error(part) / divisor
        return PlannedColumn(
            name=part.item.name,
            expression=text,
            lipschitz=self._lipschitz(part),
            low=low,
            high=high,
            noise_scale=scale / divisor
            if is_quotient
            else root_mean_square(part.weights, self.chosen.scales) * self.mechanism.scale,
            expected_error=min(error, high - low) if is_quotient else error,
            interval_95=0.5 * (expected.high - expected.low),
            share=part.share,
            note=self._note(part, count, expected.value is None) if is_quotient else "",
            written=part.item.text,
        )

    def _error(self, part: Part) -> float:
        """Return the expected absolute value of the noise that reaches the column, before division by a count."""
        weights = [weight / self.chosen.scales[place] for place, weight in part.weights]
        return expected_absolute(self.mechanism, weights)

    def _range(self, part: Part) -> tuple[float, float]:
        most = float(self.most * self.cap)
        if part.item.kind == "users":
            return float(min(self.sizes)), float(max(self.sizes))
        if part.known is None:
            return 0.0, most
        if part.item.kind == "sum":
            return mul_down(most, min(part.known.low, 0.0)), mul_up(most, max(part.known.high, 0.0))
        if part.item.kind == "avg":
            return part.known.low, part.known.high
        return 0.0, part.half if part.item.kind == "stddev" else mul_up(part.half, part.half)

    def _lipschitz(self, part: Part) -> float:
        if part.item.expression is None or part.known is None:
            return 0.0
        try:
            return final_lipschitz(part.known, self.space, text=str(part.item.expression))
        except NotLipschitzError:
            return math.inf

    def _note(self, part: Part, count: float, is_null: bool) -> str:
        text = (
            f"if {count:.6g} records are counted{self.assumption}, with a mean a quarter of the range from its middle"
        )
        if part.item.kind != "avg":
            text += ", and half of the largest variance"
        if len(self.sizes) > 1:
            text = f"for the smallest group, of {min(self.sizes)} users, {text}"
        text = f"errors {text}"
        return f"{text}; so few are within the noise, so that the answer would be NULL" if is_null else text


def _assumption(query: Select, assumed: Assumed, *, is_counted: bool) -> str:
    """Return how a preview comes to its number of records, where something chooses them, or users are private."""
    texts = [] if is_counted else [f"{ASSUMED_USERS} users"]
    if query.where is not None or query.groups:
        texts.append(assumed.text)
    return f" (half of the most there may be, assuming {' and '.join(texts)})" if texts else ""


def _notes(query: Select, layout: Layout, *, is_cut: bool) -> tuple[str, ...]:
    weighed = "records" if query.where is None else "records, each weighed by the filter,"
    notes = [
        f"a user's {weighed} count together as at most {query.cap}: over that, each counts as {query.cap} divided by "
        "their number or weight, none is left out"
    ]
    if query.price.is_by_removal:
        notes.append(
            "hidden is whether a user has records at all; the number of users is private, and nothing is divided by it"
        )
    if query.cap == 1 and query.where is None and any(part.item.kind in QUOTIENTS for part in layout.parts):
        notes.append("a cap of 1 makes means those over users who have records, of the mean over each user's records")
    if is_cut and any(part.item.kind in ("count", "sum") for part in layout.parts):
        notes.append(TRUE_TOTALS.format(cap=query.cap))
    if is_cut and any(part.item.kind in QUOTIENTS for part in layout.parts):
        notes.append(f"intervals of means are for means that weigh the records of a user as at most {query.cap}")
    if layout.ends is not None:
        notes += [
            "drawn are the sums of what lies above the least value of the expression and of what lies below its "
            "largest one, of which counts, sums and means are made; means are over the records so counted, not over "
            "users",
            "a mean of which both sums are within their noise gives no value (NULL) and an unbounded interval",
        ]
    elif any(part.item.kind in QUOTIENTS for part in layout.parts):
        notes += [
            "means, variances and deviations are over the records so counted, not over users; numerators are centred "
            "at the middle of the expression's range, which leaves them as they are",
            "a count that its own noise reaches gives no value (NULL) and an unbounded interval",
        ]
    if query.people is not None and query.people.text:
        notes.append(f"users: {query.people.text}")
    return tuple(notes)
