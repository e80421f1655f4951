"""Largest change of a plan's statistic by one user's records: the aim of the search for a neighbour.

These numbers only choose the tables; what is audited is computed by the engine. Changes are in units of the noise where
there is some.
"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from emdp.audit.neighbours import Change
from emdp.base.errors import EmdpError
from emdp.estimators import MessagePlan, Plan
from emdp.estimators.fit.linear_fit import LinearFitMessages
from emdp.estimators.frequency.measure_tree import TreePlan
from emdp.expressions import evaluate
from emdp.expressions.cells.reference import cell_values
from emdp.mechanisms import AdditiveMechanism
from emdp.mechanisms.central.edge_graph import GraphLaplaceMechanism
from emdp.mechanisms.central.edges import EdgeMechanism
from emdp.mechanisms.items.finite import FiniteRandomizer
from emdp.spaces import Space
from emdp.spaces.items import item_codes

__all__ = ["Change", "Floats", "added_changes", "all_given", "message_change", "noise_change", "total_of"]

Floats = npt.NDArray[np.float64]

AT_ONCE = 2**24
"""Numbers of a block of differences."""


def noise_change(plan: Plan, space: Space, users: int) -> Change:
    """Return the function that says how much an aggregation changes between items of one of ``users`` users."""
    mechanism = plan.mechanisms[0]
    if isinstance(mechanism, EdgeMechanism):
        return lambda items: _flows(mechanism, _contributions(plan, space, items, users))
    return lambda items: _norms(_contributions(plan, space, items, users), mechanism.norm)


def message_change(plan: MessagePlan, space: Space) -> Change:
    """Return the function that says how much what messages are made of changes between items of a user."""
    reading = plan.reading
    if isinstance(plan.releaser, LinearFitMessages):
        releaser = plan.releaser
        return lambda items: _norms(_first_gradients(releaser, items), 2)
    column = reading.column
    if column is not None and column.name in space.columns:
        name = column.name
        return lambda items: _unlike(np.asarray(space.decode(items)[name], dtype=object))
    noise = getattr(getattr(plan.releaser, "mechanism", None), "mechanism", None)
    if reading.what == "means" and isinstance(noise, AdditiveMechanism):
        return lambda items: _norms(_evaluated(reading.expressions, space, items), noise.norm)
    if reading.what == "means":
        return lambda items: _norms(_spread_evenly(_evaluated(reading.expressions, space, items)), 1)
    randomizer = getattr(plan.releaser, "randomizer", None)
    if isinstance(randomizer, FiniteRandomizer):
        logarithms = np.log(randomizer.weights.astype(np.float64))
        return lambda items: _norms(logarithms[item_codes(space, items)], np.inf)
    if reading.what == "bags":
        return lambda items: np.not_equal.outer(*[item_codes(space, items)] * 2).astype(np.float64)
    return lambda items: space.distances(items, items)


def added_changes(changes: Sequence[Change]) -> Change:
    """Return the sum of several changes, for releases that are audited together."""
    return lambda items: np.sum([change(items) for change in changes], axis=0)


def total_of(plan: Plan, space: Space, items: Floats) -> Floats:
    """Return how much each item alone gives to a statistic of totals, next to no records at all, shape (n,)."""
    values = _contributions(plan, space, items, 1)
    order = 1 if plan.mechanisms[0].norm == 1 else 2
    return np.asarray(np.linalg.norm(values, ord=order, axis=1), dtype=np.float64)


def all_given(totals: Sequence[Callable[[Floats], Floats]]) -> Change:
    """Return for pairs of items how much the one gives that gives more: what a user who vanishes takes along."""

    def given(items: Floats) -> Floats:
        alone = np.sum([total(items) for total in totals], axis=0)
        return np.asarray(np.maximum.outer(alone, alone), dtype=np.float64)

    return given


def _contributions(plan: Plan, space: Space, items: Floats, users: int) -> Floats:
    """Return what a user with such records gives to each coordinate that noise is added to, shape (n, dimension)."""
    aggregation = plan.aggregation
    values = cell_values(aggregation, space, items)
    if aggregation.chosen is not None:
        values = values * evaluate(aggregation.chosen, space, items)[:, None]
    rows = values.reshape(len(values), len(aggregation.values), -1)
    if isinstance(plan, TreePlan):
        rows = np.array([[[float(one) for one in plan.tree.sums(own[0].tolist())]] for own in rows])
    if plan.is_cumulative:
        last = aggregation.axes[-1].size
        rows = np.cumsum(rows.reshape(*rows.shape[:2], -1, last), axis=-1).reshape(rows.shape)
    scaled = (rows * np.array(plan.scales)[None, :, None]).reshape(len(values), -1)
    scale = plan.mechanisms[0].scale or 1.0
    weight = 1.0 / min(aggregation.group_sizes(users)) if aggregation.cap is None else float(aggregation.cap)
    return np.asarray(scaled * (weight / scale), dtype=np.float64)


def _flows(mechanism: EdgeMechanism, given: Floats) -> Floats:
    """Return the least flow between all pairs of items' weights, in units of the noise, shape (n, n).

    Along a path it is how far the weights' centre moves, which a potential that rises along the axis shows to be the
    least; round an axis the shorter way, of a listed axis the change of its weights.
    """
    if isinstance(mechanism, GraphLaplaceMechanism):
        # an item is at one place, to which it gives as much as all others to theirs, or elsewhere, at the last node
        at = np.where(given.max(axis=1) > 0, given.argmax(axis=1), mechanism.dimension - 1)
        return np.asarray(mechanism.costs()[np.ix_(at, at)] * given.max(), dtype=np.float64)
    axes, found = mechanism.axes, np.zeros((len(given), len(given)))
    inner = given[:, : mechanism.edge_grid.inner].reshape(len(given), *(axis.size for axis in axes))
    for place, axis in enumerate(axes):
        line = inner.sum(axis=tuple(other + 1 for other in range(len(axes)) if other != place))
        share = axis.sensitivity / mechanism.sensitivity
        if axis.size == 1:
            continue
        if axis.form == "listed":
            found += _norms(line, 1) / share
            continue
        # weights are in units of the noise: their sum is the same for all items
        moved = np.abs(np.subtract.outer(*[line @ np.arange(axis.size)] * 2))
        whole = float(line.sum(axis=1).max()) * axis.size
        found += (moved if axis.form == "path" else np.minimum(moved, whole - moved)) / share
    return found if not mechanism.away else np.maximum(found, _norms(given, 1))


def _first_gradients(releaser: LinearFitMessages, items: Floats) -> Floats:
    """Return what a record gives to the gradient at weights of 0, but for the clipping, shape (n, features)."""
    numbers = releaser.records.rescaled(items)
    own = releaser.mechanism.setting
    middle = 0.5 if own.loss == "logistic" else 0.0
    gradients = ((numbers[-1] - middle) * numbers[:-1]).T
    lengths = np.linalg.norm(gradients, axis=1, keepdims=True)
    return np.asarray(gradients * np.minimum(1.0, own.clip / np.maximum(lengths, own.clip)), dtype=np.float64)


def _unlike(labels: npt.NDArray[np.object_]) -> Floats:
    """Return 1 for each pair of different labels, else 0."""
    _, codes = np.unique([str(label) for label in labels], return_inverse=True)
    return np.asarray(np.not_equal.outer(codes, codes), dtype=np.float64)


def _evaluated(expressions: Sequence[object], space: Space, items: Floats) -> Floats:
    try:
        return np.column_stack([evaluate(one, space, items) for one in expressions])  # type: ignore[arg-type]
    except EmdpError:
        return np.asarray(items, dtype=np.float64)


def _spread_evenly(values: Floats) -> Floats:
    width = values.max(axis=0) - values.min(axis=0)
    return values / np.where(width > 0, width, 1.0)


def _norms(values: Floats, order: float) -> Floats:
    """Return the norms of the differences of all pairs of rows, shape (n, n)."""
    count = len(values)
    found = np.zeros((count, count))
    step = max(AT_ONCE // max(values.size, 1), 1)
    for start in range(0, count, step):
        apart = values[start : start + step, None, :] - values[None, :, :]
        found[start : start + step] = np.linalg.norm(apart, ord=order, axis=2)
    return found
