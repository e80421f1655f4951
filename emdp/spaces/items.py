"""The items of a finite space: all of them as rows, the row of each, and how many there are.

A space is finite if it lists its values, is a ``Grid``, or is a ``Product`` of such parts. The rows of a product are
in mixed radix, its last part running fastest: the code of an item is ``(c_1 k_2 + c_2) k_3 + ...`` with ``c_i`` the
code of its part ``i`` among ``k_i``.
"""

import math

import numpy as np

from emdp.base.arrays import Integers
from emdp.base.errors import UsageError
from emdp.spaces.base import Floats, Space
from emdp.spaces.combined.grid import Grid
from emdp.spaces.listed.finite import FinitePart

__all__ = ["count_items", "filled_items", "finite_items", "item_codes", "neutral_code", "part_counts"]

LARGEST_CODE = 2**63 - 1
"""Largest code: codes are 64-bit integers."""


def part_counts(space: Space) -> tuple[int, ...] | None:
    """Return the number of items of each part of a finite space, None for any other space.

    An unlisted neutral item, such as the mean vector of an ``Embedding``, counts.

    >>> from emdp.spaces import Categories, Interval, Product
    >>> part_counts(Product(Grid(Interval("x", 0, 1), 8), Categories("kind", ["a", "b"])))
    (8, 2)
    """
    counts = []
    for part in space.parts:
        if isinstance(part, Grid):
            counts.append(part.size)
        elif isinstance(part, FinitePart):
            counts.append(max(len(part.values), part.neutral_code + 1))
        else:
            return None
    return tuple(counts)


def count_items(space: Space) -> int | None:
    """Return how many items a finite space has, without making them; None for any other space.

    The point elsewhere counts.

    >>> from emdp.spaces import Categories, Interval
    >>> count_items(Categories("kind", ["a", "b"])), count_items(Interval("x", 0, 1))
    (2, None)
    """
    counts = part_counts(space)
    return None if counts is None else math.prod(counts) + (space.elsewhere is not None)


def finite_items(space: Space) -> Floats | None:
    """Return every encoded item of a finite space, the neutral one included; None for any other space.

    The point elsewhere is the last.

    Parameters
    ----------
    space : Space
        The item space; :func:`count_items` says beforehand how many rows there will be.

    Returns
    -------
    numpy.ndarray or None
        Shape (items, width), in the order of :func:`item_codes`.

    >>> from emdp.spaces import Categories, Product
    >>> finite_items(Product(Categories("a", [1, 2]), Categories("b", ["x", "y"]))).tolist()
    [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    """
    counts = part_counts(space)
    if counts is None:
        return None
    codes = np.unravel_index(np.arange(math.prod(counts)), counts)
    items = np.column_stack(codes).astype(np.float64)
    return items if space.elsewhere is None else np.vstack([items, space.neutral_item])


def item_codes(space: Space, items: Floats) -> Integers:
    """Return the row of each encoded item among :func:`finite_items`, shape (n,).

    Parameters
    ----------
    space : Space
        A finite item space.
    items : numpy.ndarray
        Encoded items, shape (n, width).

    Raises
    ------
    UsageError
        If the space is not finite, has more items than 64-bit integers can number, or an item is none of it.

    >>> from emdp.spaces import Categories, Product
    >>> item_codes(Product(Categories("a", [1, 2]), Categories("b", ["x", "y"])), np.array([[1.0, 0.0]])).tolist()
    [2]
    """
    counts = part_counts(space)
    if counts is None:
        raise UsageError(f"{space.noun} lists no items; use a Grid, or a space of listed values.")
    if math.prod(counts) > LARGEST_CODE:
        raise UsageError("the space has more items than 64-bit integers can number; leave out a part.")
    own = np.asarray(items)
    if space.elsewhere is not None and own.ndim == 2:
        absent = space.is_elsewhere(own)
        placed = np.full(len(own), math.prod(counts), dtype=np.int64)
        placed[~absent] = item_codes(space.items_space, own[~absent])
        return placed
    if own.ndim != 2 or own.shape[1] != len(counts):
        raise UsageError(f"items must have {len(counts)} columns; encode them with the space.")
    if not ((own >= 0) & (own < np.array(counts)) & (own == np.floor(own))).all():
        raise UsageError("items hold what is no code of an item; encode them with the space.")
    codes = np.zeros(len(own), dtype=np.int64)
    for place, count in enumerate(counts):
        codes = codes * count + own[:, place].astype(np.int64)
    return codes


def neutral_code(space: Space) -> int:
    """Return the row of the neutral item among :func:`finite_items`.

    >>> from emdp.spaces import Categories
    >>> neutral_code(Categories("kind", ["bar", "cafe"], neutral="cafe"))
    1
    """
    return int(item_codes(space, space.neutral_item)[0])


def filled_items(space: Space, sizes: Integers, items: Floats) -> tuple[Integers, Floats]:
    """Return users' bags filled up to the space's slots: records that are elsewhere take none, and fill what is left.

    Parameters
    ----------
    space : Space
        With slots.
    sizes : numpy.ndarray of int64, shape (users,)
        Records of each user.
    items : numpy.ndarray of float64, shape (records, width)
        Encoded items, user by user.

    >>> from emdp.spaces import Elsewhere, Interval
    >>> space = Elsewhere(Interval("x", 0, 1), 1, slots=2)
    >>> sizes, items = filled_items(space, np.array([1, 3]), np.array([[0.5], [0.1], [0.2], [0.3]]))
    >>> sizes.tolist(), space.is_elsewhere(items).tolist()
    ([2, 3], [False, True, False, False, False])
    """
    known = ~space.is_elsewhere(items)
    owners = np.repeat(np.arange(len(sizes)), sizes)[known]
    own = np.bincount(owners, minlength=len(sizes))
    filled = np.maximum(own, space.slots or 0)
    # A user's records come first, then what fills the bag.
    starts = np.cumsum(filled) - filled
    places = np.arange(len(owners)) + (starts - (np.cumsum(own) - own))[owners]
    found = np.repeat(space.neutral_item, int(filled.sum()), axis=0)
    found[places] = items[known]
    return filled.astype(np.int64), found
