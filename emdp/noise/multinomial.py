"""Outcomes of many items by tables of integer weights, exact in law: counted (multinomials), or one for each item.

*Halving.* The outcomes of a row are the leaves of a binary tree, each node with the sum of its leaves' weights. Of
the items at a node, those that go to its left child are ``Bin(items, left weight/weight)``, drawn exactly
(:mod:`emdp.noise.binomial`), and the rest goes right. An item then reaches leaf ``y`` with the product of
the conditional probabilities along its path, ``weight(y)/weight(root)``, independently of the others; so the leaves'
counts are multinomial. All sums are of integers and exact. Trees of all rows of a block are descended together, level
by level; a row of ``k`` outcomes and ``c`` items costs ``k`` binomials of about ``c/k`` items, so that the time hardly
depends on the items.

*One for each item.* 62 uniform bits ``U`` lie in exactly one interval ``[C_y, C_y + weight_y)`` of the cumulative
weights, and outcome ``y`` has ``weight_y`` of the ``2^62`` values. The interval is found by a guide: the upper bits of
``U`` say between which two outcomes it lies, and bisection finishes it for the few that are not settled by that.

Reference: Chen and Asau, "On generating random variates from an empirical distribution" (1974), for the guide.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from emdp.base.arrays import Integers
from emdp.base.errors import UsageError
from emdp.noise.arrays import check_integer_array
from emdp.noise.binomial import MAX_ITEMS, MAX_WEIGHT, binomials
from emdp.noise.rng import random_words

__all__ = ["check_weight_rows", "draw_multinomial_rows", "draw_multinomials", "draw_outcomes", "draw_tree_counts"]

_ENTRIES = 2**17
# Leaves of trees that are descended together, unless one row has more: some megabytes.

_BLOCK = 2**13
# Single items drawn at once, so that the arrays of a step stay in the second-level cache.

_WEIGHT_BITS = 62
# Weights of a row sum to 2^62.

_GUIDE_FACTOR = 4
# Cells of the guide for each outcome, rounded up to a power of two: three of four items need no bisection.

_GUIDE_CELLS = 2**23
# Most cells of all guides together (32 MB); with more rows than that allows the guides are coarser.

_HALF = 31
# Bits of the lower half of a weight: sums of halves cannot overflow.


def draw_multinomials(counts: npt.ArrayLike, weights: npt.ArrayLike) -> Integers:
    """Draw the sum over rows of independent ``Multinomial(counts[row], weights[row]/2^62)``, exactly.

    Parameters
    ----------
    counts : array-like of int, shape (rows,)
        Items of each row, from 0 to ``MAX_ITEMS``; together below 2^63.
    weights : array-like of int, shape (rows, outcomes)
        Probabilities times ``MAX_WEIGHT = 2^62``: each row sums to exactly that.

    Returns
    -------
    ndarray of int64, shape (outcomes,)
        How many items of all rows have each outcome.

    >>> draw_multinomials([5, 2], [[0, 2**62], [2**62, 0]])
    array([2, 5])
    """
    items, table = _check_rows(counts, weights)
    total = np.zeros(table.shape[1], dtype=np.int64)
    for _, drawn in _draw_row_blocks(items, table):
        total += drawn.sum(axis=0)
    return total


def draw_multinomial_rows(counts: npt.ArrayLike, weights: npt.ArrayLike) -> Integers:
    """Draw independent ``Multinomial(counts[row], weights[row]/2^62)``, exactly: :func:`draw_multinomials` unsummed.

    Parameters
    ----------
    counts : array-like of int, shape (rows,)
        Items of each row, from 0 to ``MAX_ITEMS``.
    weights : array-like of int, shape (rows, outcomes)
        Probabilities times ``MAX_WEIGHT = 2^62``: each row sums to exactly that.

    Returns
    -------
    ndarray of int64, shape (rows, outcomes)
        How many items of each row have each outcome; a row sums to its count.

    Raises
    ------
    UsageError
        If an argument is malformed, or a row of weights has another sum.

    >>> draw_multinomial_rows([5, 2], [[0, 2**62], [2**62, 0]]).tolist()
    [[0, 5], [2, 0]]
    """
    items, table = _check_rows(counts, weights)
    result = np.zeros(table.shape, dtype=np.int64)
    for rows, drawn in _draw_row_blocks(items, table):
        result[rows] = drawn
    return result


def draw_outcomes(codes: npt.ArrayLike, weights: npt.ArrayLike) -> Integers:
    """Draw one outcome for each item, exactly: item ``j`` gets ``y`` with chance ``weights[codes[j], y]/2^62``.

    Parameters
    ----------
    codes : array-like of int, shape (items,)
        The row of each item, from 0 to ``rows - 1``.
    weights : array-like of int, shape (rows, outcomes)
        Probabilities times 2^62: each row sums to exactly that.

    Returns
    -------
    ndarray of int64, shape (items,)
        The outcomes, from 0 to ``outcomes - 1``. Beside it memory for the cumulative weights and 32 MB.

    >>> draw_outcomes([0, 1, 0], [[0, 2**62], [2**62, 0]])
    array([1, 0, 1])
    """
    table = check_weight_rows(weights)
    rows = check_integer_array("codes", codes, low=0, high=table.shape[0] - 1)
    drawn = np.zeros(rows.size, dtype=np.int64)
    if rows.size == 0:
        return drawn
    outcomes = table.shape[1]
    ends = np.cumsum(table, axis=1).ravel()
    bits = _guide_bits(*table.shape)
    guide = _guide(ends, table.shape[0], bits)
    for start in range(0, rows.size, _BLOCK):
        row = rows[start : start + _BLOCK]
        uniform = (random_words(row.size) >> np.uint64(2)).view(np.int64)
        cell = (uniform >> (_WEIGHT_BITS - bits)) + row * (2**bits + 1)
        low, high = guide[cell].astype(np.int64), guide[cell + 1].astype(np.int64)
        _bisect(ends, row * outcomes, uniform, low, high)
        drawn[start : start + _BLOCK] = low
    return drawn


def check_weight_rows(weights: npt.ArrayLike) -> Integers:
    """Return weights as an int64 matrix, or raise ``UsageError`` unless each row sums to exactly 2^62.

    >>> check_weight_rows([[2**61, 2**61]]).shape
    (1, 2)
    """
    table = check_integer_array("weights", weights, low=0, high=MAX_WEIGHT, dimensions=2)
    step = max(1, _ENTRIES // max(1, table.shape[1]))
    for start in range(0, table.shape[0], step):
        block = table[start : start + step]
        # In halves, for a sum of many large weights could come round to 2^62.
        low = (block & (2**_HALF - 1)).sum(axis=1)
        high = (block >> _HALF).sum(axis=1) + (low >> _HALF)
        if np.any(low & (2**_HALF - 1)) or np.any(high != MAX_WEIGHT >> _HALF):
            raise UsageError("weights must sum to exactly 2^62 in each row; a row has another sum.")
    return table


def draw_tree_counts(roots: Integers, leaves: Integers, offsets: Integers) -> Integers:
    """Return the leaves' counts for trees over ``leaves[offsets[j] : offsets[j+1]]`` with ``roots[j]`` items each."""
    levels, lefts = [leaves], []
    while levels[-1].size > roots.size:
        lengths = (np.diff(offsets) + 1) >> 1
        above = np.concatenate(([0], np.cumsum(lengths)))
        # Parent i of row j has its left child at offsets[j] + 2 (i - above[j]), and a right one next to it unless the
        # row ends there.
        left = 2 * np.arange(above[-1]) + np.repeat(offsets[:-1] - 2 * above[:-1], lengths)
        levels.append(np.add.reduceat(levels[-1], left))
        lefts.append(left)
        offsets = above
    counts = roots
    while lefts:
        left, weights = lefts.pop(), levels.pop()
        below = levels[-1]
        going = binomials(counts, below[left], weights)
        # A right child gets the rest; where a row ends with a left child, the next left one overwrites it.
        children = np.zeros(below.size + 1, dtype=np.int64)
        children[left + 1] = counts - going
        children[left] = going
        counts = children[:-1]
    return counts


def _check_rows(counts: npt.ArrayLike, weights: npt.ArrayLike) -> tuple[Integers, Integers]:
    items = check_integer_array("counts", counts, low=0, high=MAX_ITEMS)
    table = check_weight_rows(weights)
    if items.size != table.shape[0]:
        raise UsageError(
            f"counts must have one element for each of {table.shape[0]} rows of weights, got {items.size}."
        )
    if items.size and int(items.max()) * items.size >= 2**63:
        raise UsageError("counts must sum to less than 2^63; draw in several calls.")
    return items, table


def _draw_row_blocks(items: Integers, table: Integers) -> Iterator[tuple[Integers, Integers]]:
    # Rows without items are left out.
    outcomes = table.shape[1]
    filled = np.flatnonzero(items)
    step = max(1, _ENTRIES // max(1, outcomes))
    for start in range(0, filled.size, step):
        rows = filled[start : start + step]
        offsets = outcomes * np.arange(rows.size + 1)
        yield rows, draw_tree_counts(items[rows], table[rows].ravel(), offsets).reshape(rows.size, outcomes)


def _guide_bits(rows: int, outcomes: int) -> int:
    wanted = (_GUIDE_FACTOR * outcomes - 1).bit_length()
    allowed = (_GUIDE_CELLS // rows).bit_length() - 1
    return max(1, min(wanted, allowed, 20))


def _guide(ends: Integers, rows: int, bits: int) -> npt.NDArray[np.int32]:
    # For each row and cell, how many cumulative weights are at or below the cell's begin: the first outcome that a
    # uniform in the cell can have. One more cell closes the row.
    cells = 2**bits
    outcomes = ends.size // rows
    guide = np.empty((rows, cells + 1), dtype=np.int32)
    step = max(1, 2**17 // cells)
    ends = ends.reshape(rows, outcomes)
    for start in range(0, rows, step):
        block = ends[start : start + step]
        # The first cell that begins at or above an end.
        reached = (block + (2 ** (_WEIGHT_BITS - bits) - 1)) >> (_WEIGHT_BITS - bits)
        reached += (cells + 1) * np.arange(block.shape[0])[:, None]
        counts = np.bincount(reached.ravel(), minlength=block.shape[0] * (cells + 1))
        guide[start : start + step] = np.cumsum(counts.reshape(block.shape[0], cells + 1), axis=1)
    return np.minimum(guide, outcomes - 1).ravel()


def _bisect(ends: Integers, base: Integers, uniform: Integers, low: Integers, high: Integers) -> None:
    # Raise `low` to the first outcome whose end is above the uniform; it is at most `high`.
    pending = np.flatnonzero(low < high)
    base, uniform, first, last = base[pending], uniform[pending], low[pending], high[pending]
    while pending.size:
        middle = (first + last) >> 1
        beyond = ends[base + middle] <= uniform
        first = np.where(beyond, middle + 1, first)
        last = np.where(beyond, last, middle)
        low[pending] = first
        open_ = np.flatnonzero(first < last)
        pending, base, uniform, first, last = pending[open_], base[open_], uniform[open_], first[open_], last[open_]
