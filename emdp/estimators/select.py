"""Statements with a list of aggregates: what to compute, one draw of noise for all of it, and the rows (EMD 2).

A statement is *conditional* if it filters records (a factor ``c`` in [0, 1]) or groups them by a listed value (``c`` is
then also 1 in one group and 0 in the others). Its averages are means among the chosen records, in our weighting:
``E[e c]/E[c]``, with ``E`` the mean over users of the mean over their records, both released by one draw
(:mod:`emdp.estimators.mean.scales`); ``PART(e)`` is ``E[e c]`` and ``SHARE()`` is ``E[c]``.

Groups of records are cells of one vector: its constant is that of disjoint categories (EMD 2), found without looking at
each. Groups of users are disjoint sets of users: each has its own draw, for its own public number of users, and all of
them together cost what one does (EMD 7).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

from emdp.base.classes import dataclass
from emdp.base.errors import InternalError, NotLipschitzError, UsageError
from emdp.estimators.columns.ordering import is_ordered_by_noise, ordered
from emdp.estimators.columns.sizes import check_change, check_level, check_weight
from emdp.estimators.columns.values import Coordinate, Known, Mean, OutputColumn, Rows
from emdp.estimators.mean.conditional import Needed, ValueList, needed_values, rule_of
from emdp.estimators.mean.expectations import Outlook
from emdp.estimators.mean.joint_noise import JointNoise, Sensitivity, joint_noise
from emdp.estimators.mean.scales import Want
from emdp.estimators.plan import Plan, parallel_event
from emdp.estimators.user_groups import check_names
from emdp.expressions.analysis.checker import Analysis, analyse
from emdp.expressions.cells.aggregation import Aggregation, Axis
from emdp.expressions.cells.bounds import aggregation_errors, aggregation_lipschitz, aggregation_spread
from emdp.expressions.cells.reference import cell_values, label_cells
from emdp.expressions.nodes.base import Constant, Expression
from emdp.mechanisms import LaplaceMechanism
from emdp.privacy.rounding import split
from emdp.questions.assumed import Assumed
from emdp.questions.columns import PlannedColumn
from emdp.questions.select import Select
from emdp.spaces import Space

__all__ = ["plan_select"]

MOST_NUMBERS = 200_000
"""Most released numbers of one statement, over all groups of records and users: some seconds of exact noise."""

ROUNDED_SPREAD = 1e-9
"""A constant's range is wider than a point by outward rounding alone: far less than this, relative to its size."""

SHOWN_SHARES = 8
"""Most columns whose shares of the budget are listed in a plan's choice; the preview has all of them."""


def plan_select(query: Select, *, space: Space, users: int | None, records: int | None = None) -> Plan:
    """Return the plan of a statement with a list of aggregates.

    Under ``alpha`` the sensitivity per unit of ``d_em`` is the constant of the scaled vector of values over the cells,
    divided by the number of users of the group, for records of any number (EMD 2, "Answer"); under ``epsilon`` without
    a cap it is the vector's largest change under replacement of all of a user's records, divided by the same.

    By removal a mean over users is a ratio: of the sum over users of the mean over their records, and the number of
    users who have records. With a cap of 1 a user with ``k`` records counts each with ``1/k``, so it is AVG under that
    cap, with groups of records too.

    Parameters
    ----------
    query : Select
        The statement; one with a cap is planned by :func:`emdp.estimators.totals.totals.plan_totals`.
    users : int or None
        The public number of users; by removal None where there is none.
    records : int or None
        The public number of records that every user has, where it is declared.

    Raises
    ------
    NotLipschitzError
        If an expression has no finite constant.
    UsageError
        If an item, a name or the noise does not fit the statement.

    >>> from emdp.expressions import col
    >>> from emdp.questions.price import Price
    >>> from emdp.questions.select import Item
    >>> from emdp.spaces import Interval, Product
    >>> space = Product(Interval("x", 0, 1), Interval("y", 0, 1))
    >>> items = (Item("avg", "x", col("x")), Item("avg", "y", col("y")))
    >>> plan = plan_select(Select(items, Price("alpha", 2.0)), space=space, users=100)
    >>> plan.mechanisms[0].sensitivity, plan.scales
    (0.02, (1.0, 1.0))
    >>> plan.choice.split(": ")[1].split(";")[0]
    'joint constant 1.00 against 2.00 for separate draws, so errors are 50 % of theirs'
    """
    if query.cap is not None or query.price.is_by_removal:
        # Loaded where it is needed.
        from emdp.estimators.totals.totals import plan_totals

        capped = query if query.cap is not None else _by_users(query)
        return plan_totals(capped, space=space, users=users, records=records)
    if users is None:
        raise InternalError("a mean over users of a table without their number reached the planner.")
    _check_columns(query)
    check_level(query.price.level)
    listed, needs = needed_values(query, space)
    sizes = (users,) if query.people is None else query.people.groups.sizes
    values = _measured(listed, query, space, len(sizes))
    places = {number: place for place, number in enumerate(_noisy(values))}
    shares = _shares(needs, places)
    noise, aggregation = _noise(values, needs, places, shares, query, space, sizes)
    columns = tuple(_column(need, values, places, noise, query, sizes) for need in needs)
    assumed = Assumed.of(query, space)
    shown = tuple(need.shown(column) if need.slots else column for need, column in zip(needs, columns, strict=True))
    rows = _rows(query, shown, noise, assumed)
    return Plan(
        aggregation=aggregation,
        scales=noise.scales,
        mechanisms=noise.mechanisms,
        event=parallel_event(noise.mechanisms, query.price.promise()),
        columns=_planned(needs, columns, values, places, shares, noise, assumed, sizes),
        choice=_choice(noise, needs, shares),
        finisher=ordered(rows, query.order, limit=query.limit, offset=query.offset, columns=rows.sortable),
        notes=(
            *_notes(query, needs, sizes, space),
            *_cost_of_away(aggregation, noise, query, space),
        ),
    )


@dataclass(frozen=True, eq=False)
class _Value:
    """Public facts of one value over all cells: its own constant, per unit of ``d_em`` or for one user replaced."""

    expression: Expression
    unfiltered: Expression
    analysis: Analysis
    lipschitz: float
    change: float
    known: tuple[Fraction, ...] | None


def _by_users(query: Select) -> Select:
    """Return a statement of means over users as totals by removal, in which every user with records weighs 1."""
    if query.where is not None:
        raise UsageError(
            "a mean over users among chosen records needs the share of each user's records, which has no ratio under "
            "neighbours = 'remove'; set max_records_per_user in SQL, where records weigh alike, or group by a listed "
            "column."
        )
    for item in query.items:
        if item.kind in ("part", "share"):
            raise UsageError(
                f"{item.kind.upper()} is divided by the number of users, which is private under neighbours = 'remove'; "
                "ask for AVG, or leave neighbours out."
            )
    return replace(query, cap=1)


def _check_columns(query: Select) -> None:
    if not query.items:
        raise UsageError("items is empty; ask for at least one aggregate.")
    for item in query.items:
        check_weight(item.weight)
    keys = [*(query.people.columns if query.people else ()), *(group.name for group in query.groups)]
    check_names([*keys, *(f"{item.name}{end}" for item in query.items for end in ("", "_low", "_high"))])
    names = [*keys, *(item.name for item in query.items)]
    for name in query.columns:
        if name not in names or query.columns.count(name) > 1:
            raise UsageError(f"columns must name each column of the answer at most once, got {name!r}; use {names}.")


def _axes(query: Select) -> tuple[Axis, ...]:
    return tuple(group.axis for group in query.groups)


def _cells(query: Select) -> int:
    return math.prod(group.axis.size for group in query.groups)


def _measured(listed: ValueList, query: Select, space: Space, groups: int) -> tuple[_Value, ...]:
    numbers = max(len(listed.expressions), 1) * _cells(query) * groups
    if numbers > MOST_NUMBERS:
        raise UsageError(
            f"the statement releases {numbers} numbers over all its groups, more than {MOST_NUMBERS}; group by fewer "
            "columns, or by fewer values."
        )
    pairs = zip(listed.expressions, listed.unfiltered, strict=True)
    return tuple(_measure(expression, unfiltered, query, space) for expression, unfiltered in pairs)


def _measure(expression: Expression, unfiltered: Expression, query: Select, space: Space) -> _Value:
    single = Aggregation((expression,), _axes(query))
    try:
        lipschitz = aggregation_lipschitz(single, (1.0,), space)[0]
    except NotLipschitzError:
        # Replacement of all records moves a value by its range at most, however steep it is.
        if not query.price.is_user_level:
            raise
        lipschitz = math.inf
    analysis = analyse(expression, space)
    if lipschitz > 0:
        change = aggregation_spread(single, (1.0,), space)[0] if query.price.is_user_level else lipschitz
        check_change(change, str(expression))
        return _Value(expression, unfiltered, analysis, lipschitz, change, None)
    if analysis.spread > ROUNDED_SPREAD * (1 + analysis.magnitude) or (
        analysis.magnitude > 0 and _splits(query, space)
    ):
        raise InternalError("an expression that varies was given the constant 0; please report the expression.")
    # What no item changes is public: its value at any item, such as the neutral one.
    known = cell_values(single, space, space.neutral_item)[0].tolist()
    return _Value(expression, unfiltered, analysis, 0.0, 0.0, tuple(map(Fraction, known)))


def _splits(query: Select, space: Space) -> bool:
    """Return whether some two items lie in different cells, or one of them in none."""
    return any(len(set(label_cells(group.axis, space)[1].tolist())) > 1 for group in query.groups)


def _noisy(values: Sequence[_Value]) -> list[int]:
    return [number for number, value in enumerate(values) if value.known is None]


def _shares(needs: Sequence[Needed], places: Mapping[int, int]) -> tuple[float, ...]:
    """Return each item's share of the budget by weight, 0 for items that are public."""
    weights = [need.item.weight if any(value in places for value, _ in need.weights) else 0.0 for need in needs]
    paid = [weight for weight in weights if weight > 0]
    shares = iter(split(1.0, tuple(paid)) if paid else ())
    return tuple(next(shares) if weight > 0 else 0.0 for weight in weights)


def _noise(
    values: Sequence[_Value],
    needs: Sequence[Needed],
    places: Mapping[int, int],
    shares: Sequence[float],
    query: Select,
    space: Space,
    sizes: Sequence[int],
) -> tuple[JointNoise, Aggregation]:
    groups = None if query.people is None else query.people.groups
    if not places:
        exact = LaplaceMechanism(sensitivity=0.0, alpha=query.price.level)
        nothing = Aggregation((Constant(0.0),), users=groups)
        text = "No noise: the answer is the same on every table, so it tells nothing."
        return JointNoise((1.0,), (exact,) * len(sizes), text), nothing
    noisy = [values[number] for number in places]
    aggregation = Aggregation(tuple(value.expression for value in noisy), _axes(query), groups)
    wants = [
        Want(share, tuple((places[value], weight) for value, weight in need.weights if value in places))
        for need, share in zip(needs, shares, strict=True)
        if share > 0
    ]
    below = {places[need.denominator] for need in needs if need.denominator is not None and need.denominator in places}
    noise = joint_noise(
        Sensitivity(
            aggregation,
            tuple(value.analysis for value in noisy),
            tuple(value.change for value in noisy),
            space,
            query.price,
            query.noise,
            _filtered(noisy, query),
        ),
        wants,
        next(iter(below), None),
        errors=aggregation_errors(aggregation, space),
        sizes=sizes,
        is_linear=not below and all(len(need.values) < 2 for need in needs),
    )
    return noise, aggregation


def _filtered(noisy: Sequence[_Value], query: Select) -> Aggregation | None:
    if query.where is None or query.groups or not query.price.is_user_level:
        return None
    return Aggregation(tuple(value.unfiltered for value in noisy), cap=1, chosen=query.where)


def _column(
    need: Needed,
    values: Sequence[_Value],
    places: Mapping[int, int],
    noise: JointNoise,
    query: Select,
    sizes: Sequence[int],
) -> OutputColumn:
    name = need.item.name
    if not need.values:
        return Known(name, tuple(map(Fraction, sizes)), _cells(query))

    def coordinate(number: int) -> Coordinate:
        if number not in places:
            return Coordinate(None, 1.0, values[number].known or ())
        return Coordinate(places[number], noise.scales[places[number]])

    below = None if need.denominator is None else coordinate(need.denominator)
    means = [
        Mean(name, centre, coordinate(number), below, *ends)
        for number, centre, ends in zip(need.values, need.centres, need.ranges, strict=True)
    ]
    column = rule_of(need.item).column(need, means)
    return need.over_slots(column, sizes) if need.slots else column


def _planned(
    needs: Sequence[Needed],
    columns: Sequence[OutputColumn],
    values: Sequence[_Value],
    places: Mapping[int, int],
    shares: Sequence[float],
    noise: JointNoise,
    assumed: Assumed,
    sizes: Sequence[int],
) -> tuple[PlannedColumn, ...]:
    known = {number: float(value.known[0]) for number, value in enumerate(values) if value.known is not None}
    outlook = Outlook(noise, places, known, assumed)
    planned = []
    for need, column, part in zip(needs, columns, shares, strict=True):
        if need.lipschitz is not None:
            text, lipschitz = str(need.item.expression), need.lipschitz
        elif need.values:
            text, lipschitz = str(values[need.values[0]].expression), values[need.values[0]].lipschitz
        else:
            text, lipschitz = "the public number of users", 0.0
        planned.append(outlook.column(need, column, text=text, lipschitz=lipschitz, part=part, sizes=sizes))
    return tuple(planned)


def _rows(query: Select, columns: tuple[OutputColumn, ...], noise: JointNoise, assumed: Assumed) -> Rows:
    keys: dict[str, tuple[Any, ...]] = {}
    cells = list(product(*(group.values for group in query.groups)))
    people = query.people.values if query.people is not None else ((),)
    for place, name in enumerate(query.people.columns if query.people is not None else ()):
        keys[name] = tuple(values[place] for values in people for _ in cells)
    for place, group in enumerate(query.groups):
        keys[group.name] = tuple(cell[place] for _ in people for cell in cells)
    listed = query.columns
    items = [column.name for column in columns]
    names = [*(name for name in keys if name not in listed), *listed, *(name for name in items if name not in listed)]
    return Rows(tuple(keys.items()), columns, noise.mechanisms, len(cells), tuple(names), assumed.share)


def _choice(noise: JointNoise, needs: Sequence[Needed], shares: Sequence[float]) -> str:
    paid = [(need.item.name, share) for need, share in zip(needs, shares, strict=True) if share > 0]
    if len(paid) < 2:
        return noise.choice
    if len({share for _, share in paid}) == 1:
        return f"{noise.choice} The budget is split evenly over {len(paid)} columns."
    shown = ", ".join(f"{name} {100 * share:.3g} %" for name, share in paid[:SHOWN_SHARES])
    more = ", ..." if len(paid) > SHOWN_SHARES else ""
    return f"{noise.choice} The budget is split by weight: {shown}{more}."


def _cost_of_away(aggregation: Aggregation, noise: JointNoise, query: Select, space: Space) -> tuple[str, ...]:
    """Say what it costs that records may be elsewhere: the constants with that point and without."""
    if space.elsewhere is None:
        return ()
    bound = aggregation_spread if query.price.is_user_level else aggregation_lipschitz
    norm = noise.widest.norm - 1
    with_it, without = (bound(aggregation, noise.scales, own)[norm] for own in (space, space.items_space))
    cost = (
        f"is free: the constant is {with_it:.6g} with it and without it"
        if with_it <= without
        else f"takes the constant from {without:.6g} to {with_it:.6g}"
    )
    return (
        "users and records that are elsewhere are chosen by no condition, in no mean and in no group, so that shares "
        f"of all groups add up to less than 1; the share of records that are somewhere {cost}",
    )


def _notes(query: Select, needs: Sequence[Needed], sizes: Sequence[int], space: Space) -> tuple[str, ...]:
    notes = []
    quotients = [need for need in needs if need.denominator is not None]
    if quotients:
        notes += [
            "means among the chosen records are E[e c]/E[c], E the mean over users of the mean over their records and "
            "c what chooses a record; numerators are centred at the middle of e's range, which leaves the quotient as "
            "it is",
            "a share E[c] that its own noise reaches gives no value (NULL) and an unbounded interval",
        ]
    if space.slots is not None:
        from emdp.estimators.columns.slots import slot_notes

        notes += slot_notes(space.slots, has_totals=any(need.slots for need in needs), has_means=bool(quotients))
    if any(len(need.values) == 2 for need in needs):
        notes.append("intervals of variances and standard deviations have at least the level stated")
    if query.people is not None and query.people.text:
        notes.append(f"users: {query.people.text}")
    if len(sizes) > 1:
        notes.append(f"{len(sizes)} disjoint groups of users have noise of their own and compose in parallel (EMD 7)")
    if query.limit is not None and is_ordered_by_noise(query):
        notes.append(
            "LIMIT keeps rows by their noisy values: after that choice the stated level holds for intervals taken "
            "together, not for each alone"
        )
    return tuple(notes)
