"""Exact earth-mover distance on clusters: ``d_X`` is ``within`` inside a cluster, else 1 (EMD 4, GKRR).

Theorem. With ``0 <= within <= 1``, ``moved`` the total variation distance of the two histograms of items and
``between`` that of the two histograms of clusters, ``d_em = within (moved - between) + between``.

Proof. Let a plan leave mass ``s`` at its item and move mass ``c`` to another cluster. Its cost is ``within
(1 - s - c) + c = within (1 - s) + (1 - within) c``. Since at most ``min(p(x), q(x))`` stays at ``x``, ``1 -
s >= moved``; since at most ``min(P(C), Q(C))`` stays in ``C``, ``c >= between``; both factors are not
negative, so no plan costs less than claimed. Both bounds are attained at once: leave ``min(p(x), q(x))`` at
every item; what is left of cluster ``C`` is ``P(C) - s(C)`` against ``Q(C) - s(C)``, with ``s(C) <=
min(P(C), Q(C))``, so match the smaller of the two inside ``C``; then ``min(P(C), Q(C))`` has stayed in
``C``. Match the rest anyhow.

It is the distance on a tree with leaf edges ``within/2`` and cluster edges ``(1 - within)/2``, where each
edge carries ``|mass of P below it - mass of Q below it|``.
"""

import numpy as np

from emdp.transport.bags import Ints
from emdp.transport.cancel import Residual

__all__ = ["distance"]


def distance(left_over: Residual, codes_p: Ints, codes_q: Ints, within: float) -> float:
    """Return the distance of two histograms on a clustered space.

    Parameters
    ----------
    left_over : Residual
        The two after their common mass was cancelled; that changes neither ``moved`` nor ``between``.
    codes_p, codes_q : numpy.ndarray
        Cluster of each source and target of ``left_over``, whole numbers from 0.
    within : float
        Distance ``d_X`` of two items of a cluster, in [0, 1].

    >>> import numpy as np
    >>> from emdp.transport.bags import bag_from_items, measures
    >>> from emdp.transport.cancel import cancel_common
    >>> bags = [bag_from_items("P", np.array(x), None) for x in ([[0.0], [1.0]], [[2.0], [3.0]])]
    >>> left_over = cancel_common(*measures(bags))                 # 0, 1, 2 are one cluster, 3 is another
    >>> distance(left_over, np.array([0, 0]), np.array([0, 1]), within=0.25)
    0.625
    """
    size = 1 + max(int(codes_p.max(initial=0)), int(codes_q.max(initial=0)))
    sent, received = (
        np.bincount(codes_p, left_over.supply, size),
        np.bincount(codes_q, left_over.demand, size),
    )
    between = float(np.abs(sent - received).sum()) / 2
    return (within * (left_over.moved - between) + between) / left_over.total
