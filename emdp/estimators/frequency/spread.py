"""Largest change of items' shares per unit of ``d_em``: 1 over the smallest distance of two items, rounded up.

Two bags' normalised histograms have a total variation distance of at most ``d_em/w``, ``w`` the smallest distance of
two items (EMD 2): whatever is paid for by total variation is paid for by ``d_em`` times ``1/w``.

*Rounding.* Distances are computed in doubles, so ``w`` is lowered by the space's own bound on their error first. Two
items that are then at distance 0 leave no constant.

*Which pairs.* On a grid the nearest cells are neighbours along an axis: natural distances are Euclidean, or at least
the difference of latitudes, and along a parallel they grow with the difference of longitudes up to half a circle and
shrink with ``|latitude|``, so the first and the last row have the smallest. Doubles put centres not quite evenly, so
the narrowest step of each axis is taken. On a product ``d_X`` is a sum, so nearest items differ in one part. On
listed values all pairs are looked at, in blocks.
"""

from functools import lru_cache

import numpy as np

from emdp.base.errors import UsageError
from emdp.mechanisms.items.distances import lowered_distances
from emdp.privacy.rounding import as_decimal, float_down, quotient_up
from emdp.spaces import Grid, Space, count_items, finite_items
from emdp.spaces.base import Floats
from emdp.spaces.rounding import UNIT_ROUNDOFF

__all__ = ["MOST_LISTED", "share_spread", "smallest_distance"]

MOST_LISTED = 30_000
"""Most listed values of which all pairs are looked at: some seconds."""

BLOCK_PAIRS = 2**22
"""Distances that are held at once."""


def share_spread(space: Space) -> float:
    """Return 1 over the smallest distance of two items, rounded up.

    Parameters
    ----------
    space : Space
        A finite space of at least two items.

    Raises
    ------
    UsageError
        If two items are at distance 0 of each other, or cannot be told from that; or there are too many listed values.

    >>> from emdp.spaces import Categories, Interval
    >>> share_spread(Categories("kind", ["bar", "cafe", "park"]))
    1.0
    >>> round(share_spread(Grid(Interval("x", 0, 10), 11)), 9)
    10.0
    """
    smallest = smallest_distance(space)
    if not smallest > 0:
        raise UsageError(
            "some items of the space are at distance 0 of each other, so their shares have no constant; merge them, or "
            "pass epsilon= for a UserDP budget."
        )
    return 1.0 if smallest == 1 else quotient_up(1.0, float_down(as_decimal(smallest)))


@lru_cache(maxsize=32)
def smallest_distance(space: Space) -> float:
    """Return ``d_X`` of the two nearest items, rounded down; 0 where it may be 0.

    >>> from emdp.spaces import Interval, Product
    >>> axis = Grid(Interval("x", 0, 1), 5)
    >>> 0.124 < smallest_distance(Product(axis, Grid(Interval("y", 0, 1), 3))) <= 0.125
    True
    """
    if space.structure == "discrete":
        return 1.0
    if space.elsewhere is not None:
        return min(smallest_distance(space.items_space), space.elsewhere)
    if len(space.parts) > 1:
        found = [
            float(share) * smallest_distance(part)
            for part, share in zip(space.parts, space.exact_shares, strict=True)
            if (count_items(part) or 0) > 1
        ]
        return min(found, default=0.0) * (1.0 - 8.0 * UNIT_ROUNDOFF)
    nearest = _near_cells(space) if isinstance(space, Grid) else _near_values(space)
    return float(lowered_distances(np.array([nearest]), space, np.zeros((1, 1)))[0])


def _near_cells(space: Grid) -> float:
    """Return the smallest of the computed distances of neighbours along each axis."""
    lines = [0, space.shape[0] - 1] if space.inner.is_map else [0]
    found = []
    for place, (axis, stride) in enumerate(zip(space.axes, space.strides, strict=True)):
        if axis.count < 2:
            continue
        start = int(np.argmin(np.diff(axis.centres))) * stride
        for line in lines if place else [0]:
            first = start + line * space.strides[0] * (place > 0)
            pair = np.array([[float(first)], [float(first + stride)]])
            found.append(float(space.distances(pair[:1], pair[1:])[0, 0]))
    return min(found)


def _near_values(space: Space) -> float:
    """Return the smallest computed distance of two listed values, the neutral item among them."""
    items = finite_items(space)
    if items is None or len(items) > MOST_LISTED:
        raise UsageError(
            f"alpha= needs the smallest distance of two items, which is found for at most {MOST_LISTED} listed values; "
            "pass epsilon= for a UserDP budget, or list fewer values."
        )
    rows = max(1, BLOCK_PAIRS // len(items))
    return min(_off_diagonal(space, items, start, rows) for start in range(0, len(items), rows))


def _off_diagonal(space: Space, items: Floats, start: int, rows: int) -> float:
    block = items[start : start + rows]
    matrix = np.array(space.distances(block, items))
    matrix[np.arange(len(block)), start + np.arange(len(block))] = np.inf
    return float(matrix.min())
