"""The reference of what an engine computes for an aggregation: values of records spread over cells, with numpy."""

import numpy as np
import numpy.typing as npt

from emdp.base.errors import UsageError
from emdp.expressions.analysis.evaluate import evaluate
from emdp.expressions.cells.aggregation import Aggregation, Axis, HatAxis, LabelAxis
from emdp.expressions.nodes.base import Column
from emdp.expressions.nodes.parts import part_items, part_of_columns
from emdp.spaces.base import Floats, Space
from emdp.spaces.ranges import Span

__all__ = ["OUTSIDE", "Codes", "cell_values", "hat_places", "label_cells", "round_part"]

Codes = npt.NDArray[np.int64]

OUTSIDE = -1
"""Number that stands for "in no cell"."""

CYCLE_TOLERANCE = 1e-12
"""Relative difference of ``size step`` and the period that is taken for the rounding of ``step = period/size``."""


def cell_values(aggregation: Aggregation, space: Space, items: Floats) -> Floats:
    """Return the weight that each item gives to each value and cell: ``v_i(x) w_k(x)``.

    Parameters
    ----------
    aggregation : Aggregation
        Values and axes; its users, cap and chosen weights play no part.
    items : numpy.ndarray
        Encoded items of the domain, shape (n, width).

    Returns
    -------
    numpy.ndarray
        Shape (n, aggregation.dimension): value ``i`` in cell ``k`` is column ``i * cells + k``. Elsewhere all are 0,
        constants too.

    Raises
    ------
    NotLipschitzError, UsageError
        As :func:`emdp.expressions.analysis.evaluate`; and if an axis does not fit the space.

    >>> from emdp.expressions import col
    >>> from emdp.spaces import Interval
    >>> space = Interval("x", 0, 2)
    >>> tents = HatAxis(col("x"), start=0, step=1, size=3)
    >>> cell_values(Aggregation((col("x"),), (tents,)), space, space.encode({"x": [0.5, 2]})).tolist()
    [[0.25, 0.25, 0.0], [0.0, 0.0, 2.0]]
    """
    items = np.asarray(items, dtype=np.float64)
    absent = space.is_elsewhere(items)
    if absent.any():
        found = np.zeros((len(items), aggregation.dimension))
        if not absent.all():
            found[~absent] = cell_values(aggregation, space, items[~absent])
        return found
    values = np.column_stack([evaluate(value, space, items) for value in aggregation.values])
    weights = np.ones((len(values), 1))
    for axis in aggregation.axes:
        own = _axis_weights(axis, space, items)
        weights = (weights[:, :, None] * own[:, None, :]).reshape(len(values), -1)
    return (values[:, :, None] * weights[:, None, :]).reshape(len(values), -1)


def label_cells(axis: LabelAxis, space: Space) -> tuple[int, Codes]:
    """Return the part that an axis divides, and for every code of its items the cell, ``OUTSIDE`` for none.

    Raises
    ------
    UsageError
        If the column belongs to no finite part, or a value is not listed there.

    >>> from emdp.spaces import Categories
    >>> axis = LabelAxis("kind", (("bar", "pub"), ("zoo",)))
    >>> index, cells = label_cells(axis, Categories("kind", ["bar", "inn", "zoo", "pub"]))
    >>> index, cells.tolist()
    (0, [0, -1, 1, 0])
    """
    index = part_of_columns(space, (axis.column,))
    part = space.parts[index]
    labels = part.labels
    if labels is None:
        raise UsageError(f"column {axis.column!r} of {part.noun} has no listed values; use a HatAxis.")
    codes = {label: code for code, label in enumerate(labels)}
    # the neutral item of a finite part may have a code of its own, after all labels
    cells = np.full(max(len(labels), int(part.neutral_item[0, 0]) + 1), OUTSIDE, dtype=np.int64)
    for number, cell in enumerate(axis.cells):
        for value in cell:
            if type(value) is not type(labels[0]) or value not in codes:
                part.label_bounds(value)  # refuses it in the part's own words
                raise UsageError(f"column {axis.column!r} does not list {value!r}; list the part's own values.")
            cells[codes[value]] = number
    return index, cells


def hat_places(axis: HatAxis, values: Floats) -> tuple[Codes, Floats]:
    """Return for each value of the axis's expression the node below it and how far it is towards the next, in [0, 1].

    The engine does the same operations in the same order: ``u = (e - start)/step``, clamped to ``[0, size - 1]``
    (periodic: ``[0, size]``); the node is ``floor(u)``, but the last one with a next; the rest is exact. An axis of one
    node has the place (0, 0).

    >>> places, fractions = hat_places(HatAxis(Column("x"), start=0, step=2, size=3), np.array([-1.0, 3.0, 9.0]))
    >>> places.tolist(), fractions.tolist()
    ([0, 1, 1], [0.0, 0.5, 1.0])
    """
    last = axis.size if axis.is_periodic else axis.size - 1
    with np.errstate(over="ignore"):  # an infinite quotient is clamped like any other
        u = np.clip((values - axis.start) / axis.step, 0.0, float(last))
    if last == 0:
        return np.zeros(len(u), dtype=np.int64), u
    below = np.minimum(np.floor(u), last - 1)
    return below.astype(np.int64), u - below


def round_part(axis: HatAxis, space: Space) -> tuple[int, Span]:
    """Return the index of the part that a periodic axis goes round, and the span of the column.

    Raises
    ------
    UsageError
        If the axis's expression is no column that goes round by the metric of its space, such as that of a
        :class:`emdp.spaces.Cycle`, or the axis does not go round it once from 0.

    >>> from emdp.spaces import Cycle
    >>> round_part(HatAxis(Column("hour"), start=0, step=6, size=4, is_periodic=True), Cycle("hour", 24))[0]
    0
    """
    if not isinstance(axis.expression, Column):
        raise UsageError(f"a periodic axis needs the column of a Cycle, not `{axis.expression}`; name that column.")
    index = part_of_columns(space, (axis.expression.name,))
    part = space.parts[index]
    span = part.span_of(axis.expression.name)
    if span is None or not span.goes_round:
        raise UsageError(f"column {axis.expression.name!r} of {part.noun} is not periodic; name a Cycle's.")
    if axis.start != 0 or not abs(axis.size * axis.step - span.high) <= CYCLE_TOLERANCE * span.high:
        raise UsageError(f"a periodic axis must start at 0 and its steps add up to the period {span.high}; make it.")
    return index, span


def _axis_weights(axis: Axis, space: Space, items: Floats) -> Floats:
    """Return the weight of each item in each of an axis's cells, shape (items, axis.size)."""
    rows = np.arange(len(items))
    weights = np.zeros((len(items), axis.size))
    if isinstance(axis, LabelAxis):
        index, cells = label_cells(axis, space)
        own = cells[part_items(space, index, items)[:, 0].astype(np.intp)]
        weights[rows[own != OUTSIDE], own[own != OUTSIDE]] = 1.0
        return weights
    below, fractions = hat_places(axis, _hat_values(axis, space, items))
    weights[rows, below] = 1.0 - fractions
    weights[rows, (below + 1) % axis.size] += fractions
    return weights


def _hat_values(axis: HatAxis, space: Space, items: Floats) -> Floats:
    if not axis.is_periodic:
        return evaluate(axis.expression, space, items)
    # as a function on the cycle the column jumps, so that evaluate would refuse it
    index, span = round_part(axis, space)
    return space.parts[index].column_values(part_items(space, index, items), span.column)
