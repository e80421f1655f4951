"""Frequencies of all items of a finite space: which methods fit, which is best, and its plan (EMD 6).

Methods are compared by the expected distance, in the unit of ``d_em``, of their estimates to the truth after
projection onto the simplex, planned from public numbers alone (:mod:`emdp.estimators.frequency.planning`) at two
public priors, all items alike and falling shares. A method that does not fit space, price or model says why.

*Ties.* Deep in noise a projected estimate says next to nothing, and the planned errors of all methods come out about
the same, though one may have a hundred times the variance of another. So those within ``TIED`` of the least planned
error are told apart by the expected distance of the estimates as they are released, before the projection; of those
within ``NEAR`` of the least of these the fastest is taken.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from emdp.base.errors import EmdpError, InternalError, UsageError
from emdp.estimators.columns.ordering import ordered
from emdp.estimators.frequency.candidates import Candidate, candidates
from emdp.estimators.frequency.geometry import Geometry, geometry_of_items
from emdp.estimators.frequency.planning import expected_distance
from emdp.estimators.frequency.rows import ShareRows, check_adjustable, check_columns
from emdp.estimators.frequency.spread import share_spread
from emdp.estimators.messages import MessagePlan, trust, weighing_of
from emdp.estimators.plan import Plan
from emdp.mechanisms.item_methods import METHODS
from emdp.mechanisms.oracles.oracle import LARGEST_DOMAIN
from emdp.questions.columns import Finisher, PlannedColumn
from emdp.questions.comparison import ComparedMethod
from emdp.questions.item_frequencies import ItemFrequencies
from emdp.questions.reading import Reading
from emdp.spaces import Space, count_items
from emdp.spaces.combined.grid import can_be_cut

__all__ = ["checked_items", "in_order", "plan_item_frequencies", "plan_of"]

TIED = 1.01
"""Largest ratio of planned errors, after projection, at which two methods count as equal."""

NEAR = 1.002
"""Largest ratio of errors before the projection at which two methods count as equal: 0.4 % of the squared error."""

ENDS = ("", "_low", "_high")
"""Suffixes of a column's name for its value and the ends of its interval."""


def plan_item_frequencies(
    query: ItemFrequencies, *, space: Space, users: int, records: int | None = None
) -> Plan | MessagePlan:
    """Return the plan of the frequencies of all items of a finite space.

    Parameters
    ----------
    space : Space
        The table's item space, finite.
    records : int or None
        The public number of records of every user, where it is declared; for item-wise release.

    Raises
    ------
    UsageError
        If the space is a continuum, or no method fits price and model.

    >>> from emdp.spaces import Categories
    >>> from emdp.questions.price import Price
    >>> query = ItemFrequencies(Price("epsilon", 1.0), model="local")
    >>> plan = plan_item_frequencies(query, space=Categories("kind", ["bar", "cafe", "park"]), users=10_000)
    >>> plan.guarantee.kind_name, plan.guarantee.level <= 1.0
    ('local UserDP', True)
    >>> plan.comparison[0].is_chosen, plan.comparison[-1].text.partition(":")[0]
    (True, 'itemwise, left out')
    """
    items = checked_items(space)
    check_columns(space, query.name, query.adjust)
    check_adjustable(space, query.adjust)
    if query.sizes is not None:
        query = replace(query, sizes=query.sizes.resolved(users, query.price.delta))
    found, refused = candidates(query, space, users, items, records)
    if not found:
        raise _no_answer(query, refused)
    geometry = geometry_of_items(space)
    errors = {one.method: _expected(one, geometry) for one in found}
    best = _best(found, errors, geometry)
    compared = _compared(found, errors, best, refused)
    plan = best.plan or plan_of(best, query, space)
    # The histogram of listed values has put its rows in order itself.
    is_ordered = query.listed is not None and best.method == "histogram"
    finisher = plan.finisher if is_ordered else in_order(plan.finisher, query, space)
    columns = tuple(replace(column, written=query.written) for column in plan.columns)
    notes = (*plan.notes, *_keyless(query, errors[best.method], space, users, records))
    return replace(
        plan, comparison=compared, choice=_choice(best, compared), finisher=finisher, columns=columns, notes=notes
    )


def _keyless(query: ItemFrequencies, expected: float, space: Space, users: int, records: int | None) -> tuple[str, ...]:
    """Say of messages that were asked for because of their keys what the best method would err."""
    if query.method != "recoverable":
        return ()
    plain = plan_item_frequencies(replace(query, method="auto"), space=space, users=users, records=records)
    best, *_ = plain.comparison
    return (
        "keys give single items back and make no share better: without keys method='auto' has an expected distance of "
        f"{best.expected_error:.3g} by {best.method}, in place of {expected:.3g}",
    )


def _best(found: Sequence[Candidate], errors: Mapping[str, float], geometry: Geometry) -> Candidate:
    """Return the method to take: see the module's text on ties."""
    tied = [one for one in found if errors[one.method] <= TIED * min(errors.values())]
    if len(tied) == 1:
        return tied[0]
    raw = {one.method: _expected(one, geometry, "raw") for one in tied}
    return next(
        one
        for one in sorted(tied, key=lambda one: METHODS[one.method].slowness)
        if raw[one.method] <= NEAR * min(raw.values())
    )


def plan_of(best: Candidate, query: ItemFrequencies, space: Space) -> MessagePlan:
    """Return the plan of a method that draws, its rows in their natural order and without the comparison."""
    if best.releaser is None:
        raise InternalError("a method was chosen that draws nothing; please report it.")
    rows = ShareRows(space, query.name, best.releaser.intervals, query.adjust, best.releaser.radius)
    deviation = math.sqrt(float(best.model.variances.max()))
    items = best.model.size
    middle = np.full(items, 1.0 / items)
    low, high = best.releaser.intervals(middle, 0.95, False)
    column = PlannedColumn(
        name=query.name,
        expression=f"share of each item in the average user's records, by {best.method}",
        lipschitz=math.nan if query.price.is_user_level else share_spread(space),
        low=0.0,
        high=1.0,
        noise_scale=deviation,
        expected_error=deviation * math.sqrt(2.0 / math.pi),
        interval_95=float((high - low).max() / 2.0),
        note="noise_scale is the standard deviation of an item's share, all items alike",
    )
    return MessagePlan(
        reading=Reading("bags", by_user=True),
        releaser=best.releaser,
        event=best.event,
        columns=(column,),
        choice="",
        finisher=rows,
        weighing=weighing_of(space),
        notes=rows.notes,
        assumptions=trust(query.model, best.releaser.epsilon0, is_apart=query.messages not in ("auto", 1)),
    )


def in_order(finisher: Finisher, query: ItemFrequencies, space: Space) -> Finisher:
    """Return a maker of rows that puts them in the order that was asked for."""
    columns = [*space.columns, *(query.name + end for end in ENDS)]
    return ordered(finisher, query.order, limit=query.limit, offset=query.offset, columns=columns)


def _no_answer(query: ItemFrequencies, refused: Mapping[str, EmdpError]) -> EmdpError:
    if query.listed is not None and query.model == "central" and "histogram" in refused:
        return refused["histogram"]
    if list(refused) == ["itemwise"]:
        return refused["itemwise"]
    if query.model == "shuffle" and query.price.delta == 0:
        return UsageError("delta must be above 0 in the shuffle model, where mixing hides nothing without; pass 1e-9.")
    reasons = "; ".join(f"{method}: {error.sentence}" for method, error in refused.items())
    return UsageError(
        f"method={query.method!r} has no answer in the {query.model} model ({reasons})", remedy="change one"
    )


def _compared(
    found: Sequence[Candidate], errors: Mapping[str, float], best: Candidate, refused: Mapping[str, EmdpError]
) -> tuple[ComparedMethod, ...]:
    """Return the comparison: the chosen method, the others from the least error on, those left out."""
    in_order = sorted(found, key=lambda one: (one is not best, errors[one.method]))
    shown = [ComparedMethod(one.method, errors[one.method], one is best, one.accounted) for one in in_order]
    missing = [ComparedMethod(method, None, False, error.sentence) for method, error in refused.items()]
    return (*shown, *missing)


def _choice(best: Candidate, compared: Sequence[ComparedMethod]) -> str:
    known = [(one.expected_error, one.method) for one in compared if one.expected_error is not None]
    listed = ", ".join(f"{method} {error:.3g}" for error, method in sorted(known, key=lambda one: one[0]))
    missing = "".join(f"; {one.method} has none ({one.remark})" for one in compared if one.expected_error is None)
    return (
        f"frequencies by {best.method} ({best.accounted}); expected distance to the truth in d_em, after projection, "
        "planned at two public priors (sparse data may be up to 3 times off), of equal ones that with the least "
        f"variance, then the fastest: {listed}{missing}."
    )


def checked_items(space: Space) -> int:
    """Return the number of items of a finite space; an error where there are too few or too many, or no list."""
    items = count_items(space)
    if items is None:
        remedies = ["list the values"]
        if can_be_cut(space):
            remedies.insert(0, "read the table with space=emdp.Grid(...)")
        if any(part.labels is None and part.grid_refusal() is None for part in space.parts):
            remedies.insert(0, "give cells= a pitch")
        listed = ", ".join(remedies[:-1]) + (", or " if len(remedies) > 2 else " or " if remedies[1:] else "")
        raise UsageError(f"{space.noun} has no public list of items; {listed}{remedies[-1]}.")
    if items < 2:
        raise UsageError("the space has one item, whose share is 1; ask for frequencies of at least two.")
    if items > LARGEST_DOMAIN:
        raise UsageError(
            f"the space has {items} items, and frequencies of at most {LARGEST_DOMAIN} are estimated; use a coarser "
            "space, or leave out a part."
        )
    return items


def _expected(one: Candidate, geometry: Geometry, post: Literal["raw", "simplex"] = "simplex") -> float:
    """Return the mean over two public priors, at each of which the method has its own errors."""
    return expected_distance(lambda prior: one.model if prior is None else one.at(prior), geometry, post=post)
