"""Cheap bounds on the distance of two bags, from a few anchor items.

Theorem. Let ``z`` be any item. Let ``p', q'`` be what remains of the normalised histograms once their
common mass is cancelled, and ``t`` its total, the total variation distance. Then ``W(z) <= d_em(P, Q) <=
min(t, sum_x p'(x) d_X(x, z) + sum_y q'(y) d_X(z, y))`` with ``W(z)`` the distance on a line of the images
of P and Q under ``x -> d_X(x, z)``.

Proof. Below: ``|d_X(x, z) - d_X(y, z)| <= d_X(x, y)``, so the image of any coupling costs no more than the
coupling, and the image of an optimal one couples the images. Above: common mass stays at cost 0; any
coupling of ``p'`` and ``q'`` costs at most ``t``, since ``d_X <= 1``, and at most the second sum, since
``d_X(x, y) <= d_X(x, z) + d_X(z, y)``, where each row contributes by its marginal alone. Every ``z`` gives
valid bounds, so the best over several is valid.

They cost O((n + m) log(n + m)) an anchor, where the exact distance is about cubic.
"""

import numpy as np

from emdp.spaces.base import Floats, Space
from emdp.transport import line
from emdp.transport.bags import Empty, Measure, bag_from_frame, common_units
from emdp.transport.cancel import cancel_common
from emdp.transport.costs import check_costs
from emdp.transport.routes import distance, prepare

__all__ = ["ANCHORS", "d_em_bounds"]

ANCHORS = 8
# Anchors tried: the first item that moves, then each time the item farthest from those before.

ROUNDING = 1e-12
# Room left for rounding on both sides, far above that of the sums.


def d_em_bounds(P: object, Q: object, space: Space, *, empty: Empty = "error") -> tuple[float, float]:
    """Return cheap bounds ``low <= d_em(P, Q) <= high``, for bags too large for the exact distance.

    Parameters
    ----------
    P, Q : frame
        Items and weights as for :func:`d_em`.
    space : Space
        The item space; where it has a closed form (a line, 0/1, clusters) both bounds are the distance
        itself.
    empty : {"error", "neutral"}
        As for :func:`d_em`.

    Returns
    -------
    tuple of float
        Bounds in [0, 1].

    Raises
    ------
    UsageError, InvalidItemError, SolverError
        As :func:`d_em`.

    >>> from emdp.spaces import Cycle
    >>> low, high = d_em_bounds({"hour": [23.0, 1.0]}, {"hour": [5.0, 5.0]}, Cycle("hour", 24))
    >>> 0 < low <= 5 / 12 <= high < 1
    True
    """
    p, q = prepare([bag_from_frame("P", P, space, empty), bag_from_frame("Q", Q, space, empty)], space)
    if space.structure != "general":
        exact = distance(p, q, space)
        return exact, exact
    left_over = cancel_common(p, q)
    if left_over.moved == 0:
        return 0.0, 0.0
    moved = left_over.moved / left_over.total
    to_p, to_q = _anchor_distances(
        p.items, q.items, np.concatenate([p.items[left_over.sources], q.items[left_over.targets]]), space
    )
    through = left_over.supply @ to_p[left_over.sources] + left_over.demand @ to_q[left_over.targets]
    high = min(moved, float(through.min()) / left_over.total)
    low = max(_image_distance(p, q, to_p[:, z], to_q[:, z]) for z in range(to_p.shape[1]))
    return max(low - ROUNDING, 0.0), min(high + ROUNDING, 1.0)


def _anchor_distances(items_p: Floats, items_q: Floats, moving: Floats, space: Space) -> tuple[Floats, Floats]:
    """Return the distances of all items of both bags to the anchors, shapes (n, anchors) and (m, anchors)."""
    anchors = moving[:1]
    nearest = check_costs(space.distances(moving, anchors))[:, 0]
    for _ in range(ANCHORS - 1):
        farthest = int(nearest.argmax())
        if nearest[farthest] == 0:
            break
        added = moving[farthest : farthest + 1]
        anchors = np.concatenate([anchors, added])
        nearest = np.minimum(nearest, check_costs(space.distances(moving, added))[:, 0])
    return check_costs(space.distances(items_p, anchors)), check_costs(space.distances(items_q, anchors))


def _image_distance(p: Measure, q: Measure, x: Floats, y: Floats) -> float:
    units = common_units(float(p.masses.sum()), float(q.masses.sum()), p.whole and q.whole)
    return line.distance(x, y, p.masses, q.masses, units)
