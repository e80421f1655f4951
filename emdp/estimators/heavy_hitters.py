"""The most frequent items of a public list, with a stated probability of failure.

Theorem. Let estimates of all ``k`` items be within ``w`` of their frequencies at once, with probability at least ``1
- failure``: an oracle's intervals under a union bound, or a mechanism's simultaneous intervals. Then, with that
probability for all statements together:

* *Above a threshold.* The items with estimates of at least ``tau - w`` hold every item of frequency at least ``tau``
and none below ``tau - 2 w``. * *The top.* Let ``e`` be the ``count``-th largest estimate. Every item of frequency
above ``e + w`` is among the ``count`` items with the largest estimates, and each of those has a frequency of at least
``e - w``. An item whose estimate exceeds the largest one outside the list by more than ``2 w`` is among the ``count``
truly most frequent ones.

Proof. Of an item with ``f >= tau`` the estimate is at least ``tau - w``; of one with ``f < tau - 2 w`` it is below
``tau - w``. An item outside the list has an estimate of at most ``e``, so ``f <= e + w``; one inside has ``f >= e -
w``. In the last case its frequency exceeds that of every item outside the list, so at most ``count - 1`` items are as
frequent.

All of it is post-processing: which items are listed costs nothing, and thresholds may depend on the estimates.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from emdp.checks import check_count, check_finite, check_unit_interval
from emdp.errors import UsageError
from emdp.mechanisms.oracle import FrequencyOracle
from emdp.mechanisms.weights import Integers
from emdp.spaces.base import Floats
from emdp.transport.simplex import check_estimates

__all__ = ["FrequentItems", "items_above", "top_items", "top_of_tally"]


@dataclass(frozen=True, eq=False)
class FrequentItems:
    """Items that are frequent, and what holds of the list but for a probability.

    Parameters
    ----------
    codes : numpy.ndarray of int64
        Items, largest estimate first.
    estimates : numpy.ndarray
        Their estimated frequencies; ``estimates -+ half_width`` hold all true ones at once.
    half_width : float
        ``w``.
    complete_above : float
        Every item of a frequency above it is listed (for :func:`items_above` also one of exactly that frequency).
    none_below : float
        No listed item has a frequency below it.
    is_certain : numpy.ndarray of bool
        Of the top: whether the item surely is one of the truly most frequent ones. Of a threshold: whether its
        frequency surely is at least that.
    failure : float
        The probability with which any of this fails, at most.
    """

    codes: Integers
    estimates: Floats
    half_width: float
    complete_above: float
    none_below: float
    is_certain: npt.NDArray[np.bool_]
    failure: float


def items_above(estimates: npt.ArrayLike, half_width: float, *, threshold: float, failure: float) -> FrequentItems:
    """Return every item that may have a frequency of at least ``threshold``.

    Parameters
    ----------
    estimates : array-like of float
        Unbiased estimates of all items, shape (k,), not post-processed.
    half_width : float
        ``w``, at least 0: holds for all items at once.
    threshold : float
        ``tau``.
    failure : float
        Probability that ``w`` does not hold, in (0, 1).

    >>> items_above([0.5, 0.05, 0.31], 0.1, threshold=0.4, failure=0.05).codes.tolist()
    [0, 2]
    """
    given, width, lost = _checked(estimates, half_width, failure)
    wanted = check_finite("threshold", threshold)
    order = np.argsort(-given, kind="stable")
    listed = order[given[order] >= wanted - width].astype(np.int64)
    certain = given[listed] - width >= wanted
    return FrequentItems(listed, given[listed], width, wanted, wanted - 2 * width, certain, lost)


def top_items(estimates: npt.ArrayLike, half_width: float, *, count: int, failure: float) -> FrequentItems:
    """Return the items with the largest estimates.

    Parameters
    ----------
    estimates : array-like of float
        Unbiased estimates of all items, shape (k,), not post-processed.
    half_width : float
        ``w``, at least 0: holds for all items at once.
    count : int
        How many items, at most ``k``.
    failure : float
        Probability that ``w`` does not hold, in (0, 1).

    >>> top = top_items([0.1, 0.6, 0.3], 0.125, count=2, failure=0.05)
    >>> top.codes.tolist(), top.is_certain.tolist(), round(top.complete_above, 3), round(top.none_below, 3)
    ([1, 2], [True, False], 0.425, 0.175)
    """
    given, width, lost = _checked(estimates, half_width, failure)
    wanted = check_count("count", count)
    if wanted > given.size:
        raise UsageError(f"count must be at most {given.size}, the number of items, got {count}; ask for fewer.")
    order = np.argsort(-given, kind="stable")
    listed = order[:wanted].astype(np.int64)
    least = float(given[listed[-1]])
    best_outside = float(given[order[wanted]]) if wanted < given.size else -np.inf
    certain = given[listed] - best_outside > 2 * width
    # All items are listed, so none is missing.
    complete = least + width if wanted < given.size else -np.inf
    return FrequentItems(listed, given[listed], width, complete, least - width, certain, lost)


def top_of_tally(oracle: FrequencyOracle, tally: Integers, *, count: int, failure: float) -> FrequentItems:
    """Return the items with the largest estimates from all messages of an oracle.

    Parameters
    ----------
    oracle : FrequencyOracle
        What the messages were made by; ``w`` is the half width of its intervals for all items together.
    tally : numpy.ndarray of int64
        The tally of all messages.
    count : int
        How many items.
    failure : float
        Probability, in (0, 1), with which the list's statement may fail.

    >>> from emdp.mechanisms.oracle_bags import Bags
    >>> from emdp.mechanisms.oracle_hadamard_bit import OneBitHadamardOracle
    >>> oracle = OneBitHadamardOracle(8, 20_000, 2.0)
    >>> tally = oracle.draw_tally(Bags.of_items(np.full(20_000, 3)))
    >>> top_of_tally(oracle, tally, count=1, failure=1e-6).codes.tolist()
    [3]
    """
    width = oracle.interval(1.0 - check_unit_interval("failure", failure), together=True)
    return top_items(oracle.decode(tally), width, count=count, failure=failure)


def _checked(estimates: npt.ArrayLike, half_width: float, failure: float) -> tuple[Floats, float, float]:
    width = check_finite("half_width", half_width)
    if width < 0:
        raise UsageError(f"half_width must be at least 0, got {width}; pass the width of the intervals.")
    return check_estimates("estimates", estimates), width, check_unit_interval("failure", failure)
