"""The reference of what an engine computes for an aggregation, from users' bags of items, with numpy."""

from collections.abc import Sequence

import numpy as np

from emdp.expressions.analysis.evaluate import evaluate
from emdp.expressions.cells.aggregation import Aggregation
from emdp.expressions.cells.reference import cell_values
from emdp.expressions.nodes.base import Expression
from emdp.expressions.numbers.fixed_point import WEIGHT_BITS
from emdp.spaces.base import Floats, Space

__all__ = ["user_statistic"]


def user_statistic(aggregation: Aggregation, space: Space, bags: Sequence[Floats]) -> Floats:
    """Return the statistic that an engine computes for one group of users, from their bags of encoded items.

    Without a cap the mean over users of the mean over their items, the neutral item standing for an empty bag; with
    slots of the sum over their items, over the larger of the slots and the number of those that are somewhere. With a
    cap the total over users and items of ``C v_i w_k``, where ``C`` is ``chosen`` rounded to a multiple of
    ``2**-WEIGHT_BITS``, times ``cap`` over the user's sum of ``C`` where that is above the cap. Records elsewhere have
    the weight 0 under a cap. Of pairs the mean over users of the products of a user's means.
    """
    if aggregation.pairs:
        means = [user_statistic(aggregation.of_one, space, [bag]) for bag in bags]
        return np.asarray(np.mean([np.outer(own, own).ravel() for own in means], axis=0), dtype=np.float64)
    capped = aggregation.cap is not None
    filled = [np.asarray(bag) if len(bag) or capped else space.neutral_item for bag in bags]
    owners = np.repeat(np.arange(len(filled)), [len(bag) for bag in filled])
    items = np.concatenate([bag.reshape(-1, space.width) for bag in filled])
    if not len(items):
        return np.zeros(aggregation.dimension)
    if aggregation.cap is None:
        known = None if space.slots is None else ~space.is_elsewhere(items)
        counts = np.maximum(np.bincount(owners, known, minlength=len(filled)), space.slots or 1)
        weights = 1.0 / (counts[owners] * len(filled))
    else:
        weights = _chosen_weights(aggregation.chosen, space, items)
        sums = np.bincount(owners, weights, minlength=len(filled))
        weights = weights * (aggregation.cap / np.maximum(sums, aggregation.cap))[owners]
    return np.asarray(weights @ cell_values(aggregation, space, items), dtype=np.float64)


def _chosen_weights(chosen: Expression | None, space: Space, items: Floats) -> Floats:
    if chosen is None:
        return np.asarray(~space.is_elsewhere(items), dtype=np.float64)
    return np.rint(np.ldexp(evaluate(chosen, space, items), WEIGHT_BITS)) / 2.0**WEIGHT_BITS
