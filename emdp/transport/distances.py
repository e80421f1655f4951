"""The public distance of two frames of items."""

from emdp.spaces.base import Space
from emdp.transport.bags import Empty, bag_from_frame
from emdp.transport.routes import distance, prepare

__all__ = ["d_em"]


def d_em(P: object, Q: object, space: Space, *, empty: Empty = "error") -> float:
    """Return the exact earth-mover distance of two bags of items.

    The bags are normalised: repeating every record changes nothing. The route follows ``space.structure``:
    the area between distribution functions on a line, total variation for the 0/1 metric, a closed form for
    clusters; else, after cancelling common mass, a small assignment or the network simplex.

    Parameters
    ----------
    P, Q : frame
        Items, one a row, in the space's columns: a frame with the Arrow C stream interface, or a mapping of
        columns. A column ``weight`` (non-negative, finite, positive sum) weighs the rows, else they weigh
        the same. Where the space itself has a column of that name it is an item column, and there are no
        weights.
    space : Space
        The item space.
    empty : {"error", "neutral"}
        What a frame without rows is: refused, or the space's neutral item (EMD 8.1).

    Returns
    -------
    float
        ``min over couplings of E d_X(x, y)`` (EMD 1), in [0, 1], to an absolute error of 1e-9.

    Raises
    ------
    UsageError
        If a bag is empty, a column is missing or weights are refused.
    InvalidItemError
        If the space refuses an item.
    SolverError
        If a solve is not proven optimal; a number is never returned then (EMD 8.4).

    >>> from emdp.spaces import Interval
    >>> hours = Interval("hour", 0, 24)
    >>> d_em({"hour": [0, 12]}, {"hour": [6]}, hours)
    0.25
    >>> d_em({"hour": [0, 12], "weight": [3, 1]}, {"hour": [0]}, hours)
    0.125
    >>> d_em({"hour": [0]}, {"hour": []}, hours, empty="neutral")
    0.5
    """
    bags = [bag_from_frame("P", P, space, empty), bag_from_frame("Q", Q, space, empty)]
    left, right = prepare(bags, space)
    return distance(left, right, space)
