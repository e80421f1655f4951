"""The most frequent items of a public list, with a stated probability of failure.

Theorem. Let ``low_x <= f_x <= high_x`` hold for the frequencies ``f_x`` of all ``k`` items at once, with probability at
least ``1 - failure``: an oracle's intervals under a union bound, or a mechanism's simultaneous ones. The items may have
intervals of different widths, which need not be around the estimates, and may depend on what was released. Then, with
that probability for all statements together:

* *Above a threshold.* The items with ``high_x >= tau`` hold every item of frequency at least ``tau``. None of them has
  a frequency below the least of their ``low_x``. One with ``low_x >= tau`` has a frequency of at least ``tau``.
* *The top.* Let ``count`` items be listed, by whatever rule; here those with the largest estimates. Every item of a
  frequency above the largest ``high_y`` of those that are not listed is listed, and none that is listed has a frequency
  below the least of their ``low_x``. An item ``x`` is among the ``count`` truly most frequent ones, ties counted
  against it, if at most ``count - 1`` other items ``y``, listed or not, have ``high_y >= low_x``.

Proof. On the event that all intervals hold: an item with ``f >= tau`` has ``high >= f >= tau``, so it is listed; a
listed item has ``f >= low``, which is at least the least of them, and at least ``tau`` where ``low`` is. An item that
is not listed has ``f <= high``, which is at most the largest of them. For the last statement, an item ``y`` with
``high_y < low_x`` has ``f_y <= high_y < low_x <= f_x``; so at most ``count - 1`` other items have a frequency of at
least ``f_x``. One event serves all statements, whatever ``count``, ``tau`` and the list are: they may depend on what
was released.

With one width, intervals ``e_x -+ w`` around the estimates, this is what a common bound of the errors gives: none
listed is below ``tau - 2 w``; and an item is surely among the top if its estimate exceeds the largest one outside the
list by more than ``2 w``. Widths that fit each item say more, above all of rare ones.

All of it is post-processing: which items are listed costs nothing.
"""

import numpy as np
import numpy.typing as npt

from emdp.base.checks import check_count, check_finite, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.mechanisms.weights import Integers
from emdp.spaces.base import Floats
from emdp.transport.simplex import check_estimates

__all__ = ["FrequentItems", "items_above", "top_items"]


@dataclass(frozen=True, eq=False)
class FrequentItems:
    """Items that are frequent, and what holds of the list but for a probability."""

    codes: Integers  # Items, largest estimate first
    estimates: Floats
    # low, high: Ends of their intervals, of which all items' hold at once.
    low: Floats
    high: Floats
    # Every item of a frequency above it is listed (for `items_above` also one of exactly that frequency).
    complete_above: float
    none_below: float  # No listed item has a frequency below it; for an empty list the threshold
    # Of the top: whether the item surely is one of the truly most frequent ones. Of a threshold: whether its frequency
    # surely is at least that.
    is_certain: npt.NDArray[np.bool_]
    failure: float  # The probability with which any of this fails, at most


def items_above(
    estimates: npt.ArrayLike, low: npt.ArrayLike, high: npt.ArrayLike, *, threshold: float, failure: float
) -> FrequentItems:
    """Return every item that may have a frequency of at least ``threshold``.

    Parameters
    ----------
    estimates : array-like of float
        Estimates of all items, shape (k,): by them the list is ordered.
    low, high : array-like of float
        Ends of intervals, shape (k,), that hold all frequencies at once.
    threshold : float
        ``tau``.
    failure : float
        Probability that some interval does not hold, in (0, 1).

    >>> items_above([0.5, 0.05, 0.31], [0.4, 0.0, 0.21], [0.6, 0.15, 0.41], threshold=0.4, failure=0.05).codes.tolist()
    [0, 2]
    """
    given, lows, highs, lost = _checked(estimates, low, high, failure)
    wanted = check_finite("threshold", threshold)
    order = np.argsort(-given, kind="stable")
    listed = order[highs[order] >= wanted].astype(np.int64)
    least = float(lows[listed].min()) if listed.size else wanted
    certain = lows[listed] >= wanted
    return FrequentItems(listed, given[listed], lows[listed], highs[listed], wanted, least, certain, lost)


def top_items(
    estimates: npt.ArrayLike, low: npt.ArrayLike, high: npt.ArrayLike, *, count: int, failure: float
) -> FrequentItems:
    """Return the items with the largest estimates.

    Parameters
    ----------
    estimates : array-like of float
        Estimates of all items, shape (k,), not post-processed.
    low, high : array-like of float
        Ends of intervals, shape (k,), that hold all frequencies at once.
    count : int
        How many items, at most ``k``.
    failure : float
        Probability that some interval does not hold, in (0, 1).

    >>> top = top_items([0.1, 0.6, 0.3], [0.0, 0.475, 0.175], [0.1875, 0.725, 0.425], count=2, failure=0.05)
    >>> top.codes.tolist(), top.is_certain.tolist(), top.complete_above, top.none_below
    ([1, 2], [True, False], 0.1875, 0.175)
    """
    given, lows, highs, lost = _checked(estimates, low, high, failure)
    wanted = check_count("count", count)
    if wanted > given.size:
        raise UsageError(f"count must be at most {given.size}, the number of items, got {count}; ask for fewer.")
    order = np.argsort(-given, kind="stable")
    listed = order[:wanted].astype(np.int64)
    # Its own upper end is one of those that reach an item's lower end.
    reached = given.size - np.searchsorted(np.sort(highs), lows[listed], side="left") - 1
    # Where all items are listed, none is missing.
    complete = float(highs[order[wanted:]].max()) if wanted < given.size else -np.inf
    least = float(lows[listed].min())
    return FrequentItems(
        listed, given[listed], lows[listed], highs[listed], complete, least, reached <= wanted - 1, lost
    )


def _checked(
    estimates: npt.ArrayLike, low: npt.ArrayLike, high: npt.ArrayLike, failure: float
) -> tuple[Floats, Floats, Floats, float]:
    given = check_estimates("estimates", estimates)
    lows, highs = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    for name, ends in (("low", lows), ("high", highs)):
        if ends.shape != given.shape or np.isnan(ends).any():
            raise UsageError(f"{name} must be {given.size} numbers, got shape {ends.shape}; pass an end for each item.")
    if not (lows <= highs).all():
        raise UsageError("low must be at most high for each item; pass the ends of intervals in this order.")
    return given, lows, highs, check_unit_interval("failure", failure)
