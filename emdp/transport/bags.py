"""Bags of items as arrays: items with weights, equal items merged, two bags brought to one unit of mass.

A *bag* is what a caller has: one row a record. A *measure* is what transport works on: the distinct items
of a bag with their masses. Masses that are counts stay whole numbers from here to the solver (float64 holds
them exactly below 2**53), so that cancelled mass is exact; other masses are proportions.
"""

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from emdp.base.checks import check_choice
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.base.frames import to_polars
from emdp.spaces.base import Floats, Space

__all__ = [
    "WEIGHT",
    "Bag",
    "Empty",
    "Ints",
    "Measure",
    "Units",
    "bag_from_frame",
    "bag_from_items",
    "check_weights",
    "common_units",
    "filled_bag",
    "item_ids",
    "measures",
    "to_floats",
]

Ints = npt.NDArray[np.int64]
Empty = Literal["error", "neutral"]

WEIGHT = "weight"
# Name of the optional column of weights in a frame of items (design.md, "Exact distances").

WHOLE_LIMIT = 2.0**53
# Whole numbers below it, and their sums, are exact in float64.

SPARSE = 64
# Numbers per row above which a bag's items are sorted rather than counted in a table.


@dataclass(frozen=True, eq=False)
class Bag:
    """A multiset of encoded items."""

    items: Floats  # Encoded items, shape (n, width), n at least 1; rows may repeat
    weights: Floats  # Weight of each row, shape (n,), non-negative with a positive finite sum
    whole: bool  # Whether all weights are whole numbers whose sum float64 holds exactly


@dataclass(frozen=True, eq=False)
class Measure:
    """The distinct items of a bag with positive weight.

    Parameters
    ----------
    items : numpy.ndarray
        Distinct encoded items, shape (k, width).
    masses : numpy.ndarray
        Sum of the weights of each, shape (k,), positive.
    ids : numpy.ndarray
        Number of each item, shape (k,), ascending: equal in two measures made together exactly for equal
        items.
    whole : bool
        As for :class:`Bag`.
    """

    items: Floats
    masses: Floats
    ids: Ints
    whole: bool


def bag_from_frame(name: str, frame: object, space: Space, empty: Empty = "error") -> Bag:
    """Return the bag in a frame of items; ``name`` is what the caller calls the frame.

    ``empty="neutral"`` puts the space's neutral item in the place of a frame without rows (EMD 8.1), which
    ``"error"`` refuses. Where the space has the point elsewhere, such a frame is there.

    A column ``weight`` holds the weights, unless it is one of the space's own columns: then it is an item
    column like any other and the rows weigh the same.

    Raises
    ------
    UsageError
        If the frame has no rows, or a weight is missing, negative or not finite, or all are 0.
    InvalidItemError
        If the space refuses an item.
    """
    check_choice("empty", empty, ("error", "neutral"))
    table = to_polars(name, frame)
    if table.height == 0 and (empty == "neutral" or space.elsewhere is not None):
        return filled_bag(name, space.neutral_item, None, space)
    weights = None
    if WEIGHT in table.columns and WEIGHT not in space.columns:
        weights = _numbers(name, table.get_column(WEIGHT))
    return filled_bag(name, space.encode(table), weights, space)


def filled_bag(name: str, items: Floats, weights: npt.ArrayLike | None, space: Space) -> Bag:
    """Return the bag of encoded items as :func:`bag_from_items` does, filled up to the slots of a space that has some.

    Items elsewhere take no slot. Weights are numbers of records; where those that are somewhere are fewer than the
    slots, the rest of the bag is elsewhere (:mod:`emdp.spaces.combined.elsewhere`).

    >>> from emdp.spaces import Elsewhere, Interval
    >>> space = Elsewhere(Interval("x", 0, 10), slots=4)
    >>> filled_bag("P", np.array([[2.0], [np.nan]]), None, space).weights.tolist()
    [1.0, 3.0]
    """
    bag = bag_from_items(name, items, weights)
    if space.slots is None:
        return bag
    own = np.ones(len(bag.items)) if weights is None else to_floats(f"weights of {name}", weights)
    known = ~space.is_elsewhere(bag.items)
    missing = max(space.slots - float(own[known].sum()), 0.0)
    if not missing:
        return bag_from_items(name, bag.items[known], own[known])
    return bag_from_items(name, np.vstack([bag.items[known], space.neutral_item]), np.append(own[known], missing))


def bag_from_items(name: str, items: Floats, weights: npt.ArrayLike | None) -> Bag:
    """Return the bag of encoded items of shape (n, width) and weights of shape (n,), or of equal weights.

    Raises
    ------
    UsageError
        If there is no item, or the weights are refused as in :func:`bag_from_frame`.
    """
    items = np.ascontiguousarray(to_floats(f"items of {name}", items))
    if items.ndim != 2 or items.shape[0] == 0:
        raise UsageError(
            f"{name} has no items, and an empty bag has no histogram; "
            'pass empty="neutral" for the space\'s neutral item in its place.'
        )
    if weights is None:
        return Bag(items, np.ones(items.shape[0]), True)
    checked, whole = check_weights(f"weights of {name}", weights, items.shape[0])
    return Bag(items, checked, whole)


def check_weights(name: str, weights: object, count: int) -> tuple[Floats, bool]:
    """Return weights of shape (count,) as float64, and whether they are whole numbers with an exact sum.

    Weights that are not whole are divided by their largest, so that no sum of them overflows or vanishes.

    Raises
    ------
    UsageError
        If the shape differs, one is negative or not finite, or all are 0.
    """
    array = to_floats(name, weights)
    if array.shape != (count,):
        raise UsageError(f"{name} must have shape ({count},), got {array.shape}; pass one weight for each item.")
    low, high = float(array.min()), float(array.max())
    if not (low >= 0 and math.isfinite(high)):
        raise UsageError(f"{name} must be finite and not negative; remove or correct the rows that are not.")
    if high == 0:
        raise UsageError(f"{name} must have a positive sum; give at least one item a positive weight.")
    if high * count < WHOLE_LIMIT and bool((array == np.rint(array)).all()):
        return array, True
    return array / high, False


class Units(NamedTuple):
    """Factors bringing the masses of two bags to one unit, their total in it, and whether all are whole."""

    factor_p: float
    factor_q: float
    total: float
    whole: bool


def to_floats(name: str, values: object) -> Floats:
    """Return numbers as a float64 array, or raise ``UsageError``.

    >>> to_floats("costs", [[0, 1]]).tolist()
    [[0.0, 1.0]]
    """
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError(f"{name} must be an array of numbers that float64 holds; pass one.") from error


def common_units(total_p: float, total_q: float, whole: bool) -> Units:
    """Normalise two bags of the given totals; ``whole`` says whether the masses of both are whole numbers.

    This is the one place where histograms are normalised. Two bags of counts get the least common multiple of
    their sizes as total, where float64 holds that: their masses stay whole. All others get the total 1.

    >>> common_units(2.0, 3.0, True)
    Units(factor_p=3.0, factor_q=2.0, total=6.0, whole=True)
    >>> common_units(2.0, 4.0, False)
    Units(factor_p=0.5, factor_q=0.25, total=1.0, whole=False)
    """
    if whole:
        total = math.lcm(int(total_p), int(total_q))
        if total < WHOLE_LIMIT:
            return Units(float(total // int(total_p)), float(total // int(total_q)), float(total), True)
    return Units(1.0 / total_p, 1.0 / total_q, 1.0, False)


def measures(bags: Sequence[Bag]) -> list[Measure]:
    """Merge the equal items of each bag and number the distinct items of all of them together.

    >>> bags = [bag_from_items("P", np.array(x), None) for x in ([[1.0], [2.0], [1.0]], [[3.0], [2.0]])]
    >>> [sorted(zip(m.items[:, 0].tolist(), m.masses.tolist(), strict=True)) for m in measures(bags)]
    [[(1.0, 2.0), (2.0, 1.0)], [(2.0, 1.0), (3.0, 1.0)]]
    """
    ids = item_ids(np.concatenate([bag.items for bag in bags]))
    merged, start = [], 0
    for bag in bags:
        end = start + bag.items.shape[0]
        merged.append(_merged(bag, ids[start:end]))
        start = end
    return merged


def item_ids(items: Floats) -> Ints:
    """Number the rows of an array, equal rows (with 0.0 == -0.0) alike, from 0 without a gap.

    Where all rows differ they are numbered in order, else in lexicographic order from the last column.

    >>> item_ids(np.array([[0.0, 1.0], [2.0, 1.0], [-0.0, 1.0]])).tolist()
    [0, 1, 0]
    """
    absent = np.asarray(np.isnan(items).any(axis=1), dtype=np.bool_)
    if absent.any():
        # Elsewhere is one item, and NaN differs from itself.
        items = np.where(absent[:, np.newaxis], np.inf, items)
    firsts = np.sort(items[:, 0])
    if not (firsts[1:] == firsts[:-1]).any():
        return np.arange(items.shape[0])
    order = np.lexsort(items.T)
    ranked = items[order]
    differ = (ranked[1:] != ranked[:-1]).any(axis=1)
    if differ.all():
        return np.arange(items.shape[0])
    ids = np.zeros(items.shape[0], dtype=np.int64)
    ids[order[1:]] = np.cumsum(differ)
    return ids


def _numbers(name: str, column: pl.Series) -> Floats:
    if not column.dtype.is_numeric():
        raise UsageError(f"weights of {name} must be numbers, not {column.dtype}; convert the column {WEIGHT!r}.")
    if column.null_count():
        raise UsageError(f"weights of {name} must not be missing; fill the nulls of the column {WEIGHT!r}.")
    return column.cast(pl.Float64).to_numpy()


def _merged(bag: Bag, ids: Ints) -> Measure:
    if (ids[1:] > ids[:-1]).all():
        # Distinct and in order: nothing to merge.
        kept = np.flatnonzero(bag.weights)
        if kept.size == ids.size:
            return Measure(bag.items, bag.weights, ids, bag.whole)
        return Measure(bag.items[kept], bag.weights[kept], ids[kept], bag.whole)
    table = int(ids.max()) + 1
    if table > SPARSE * ids.size:
        distinct, rows, inverse = np.unique(ids, return_index=True, return_inverse=True)
        sums = np.bincount(inverse, bag.weights)
    else:
        sums = np.bincount(ids, bag.weights)
        distinct, rows = np.arange(table), np.zeros(table, dtype=np.int64)
        rows[ids] = np.arange(ids.size)
    masses: Floats = np.asarray(sums, dtype=np.float64)
    kept = np.flatnonzero(masses)
    return Measure(bag.items[rows[kept]], masses[kept], distinct[kept], bag.whole)
