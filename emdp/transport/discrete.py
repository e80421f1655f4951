"""Exact earth-mover distance under the 0/1 metric: the total variation distance.

Whatever a plan does not leave in place costs 1, and at most ``min(p(x), q(x))`` can stay at ``x``; the plan
that leaves just that costs ``1 - sum_x min(p(x), q(x)) = 1/2 sum_x |p(x) - q(x)|``.
"""

from emdp.transport.cancel import Residual

__all__ = ["distance"]


def distance(left_over: Residual) -> float:
    """Return the total variation distance of the two histograms whose common mass was cancelled.

    >>> import numpy as np
    >>> from emdp.transport.bags import bag_from_items, measures
    >>> from emdp.transport.cancel import cancel_common
    >>> items = [[0.0], [0.0], [1.0]], [[0.0], [1.0], [1.0]]
    >>> bags = [bag_from_items("P", np.array(x), None) for x in items]
    >>> round(distance(cancel_common(*measures(bags))), 6)
    0.333333
    """
    return left_over.moved / left_over.total
