"""Number of different values, each counted for one owner, at most ``l`` values an owner.

**Greedy assignment.** Users come in a fixed order, each takes the first ``l`` values of its own, in a fixed order of
values, that nobody before has taken. ``f_l`` is how many values are taken. The order of users must be a function of the
user alone (a hash of its name), not of place or arrival, and the order of values one of the values alone.

**Theorem** (Knop and Steinke 2023; user-level-sql.md 2.7). ``0 <= f_l(D + u) - f_l(D) <= l``. So both by removal and by
replacement ``f_l`` moves by ``l`` at most. *Proof.* Let ``A`` and ``A'`` be the values that are free at some point of
the order, without and with ``u`` in the database. Claim: ``A'`` is part of ``A``, and at most ``l`` values of ``A`` are
not in ``A'``. Before ``u`` the two are equal, and ``u`` takes at most ``l`` values. Let ``v`` come next and take ``T``
of ``A``, ``T'`` of ``A'``. (i) A value of ``T`` that is in ``A'`` has fewer than ``l`` values of ``v`` in ``A`` before
it, so fewer in ``A'``: it is in ``T'``. Hence ``A' - T'`` is part of ``A - T``. (ii) ``v`` has no more free values in
``A'`` than in ``A``, so ``|T'| <= |T|`` and ``|A - T| - |A' - T'| <= |A| - |A'| <= l``. At the end the number of taken
values is that of all possible ones less the free ones, so with ``u`` it is higher by 0 to ``l``. Two databases that
differ by a replacement are one database with ``u`` or with ``u'``: both are higher than it by 0 to ``l``. ∎

*Quality.* ``f_l <= `` the number of different values, and at least half the largest number that can be assigned at all:
where an optimal assignment gives ``v`` a value that greedy leaves free, ``v`` has ``l`` others; so the values that
greedy leaves free of an optimum number no more than those it takes.

*The owner rule is wrong.* "Each value belongs to its holder of the least hash, who may keep ``l``" is no bound of
anything: one user who holds all values of fifty others takes them from them, and removing that user brings forty-nine
back. Neither is any rule that assigns by first holder before the cap.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from emdp.base.arrays import Integers
from emdp.base.checks import check_count
from emdp.base.errors import UsageError
from emdp.noise.arrays import check_integer_array

__all__ = ["assign_distinct", "assign_for_caps", "count_distinct"]

_MOST = 2**40

_SPARSE = 4
# Largest value for each pair from which on values are numbered anew, before an array has one entry for each.

_USERS = 2**10
# Users whose pairs are lists together: most of a table is never looked at once all values are taken.


def count_distinct(users: npt.ArrayLike, values: npt.ArrayLike, caps: Sequence[int]) -> tuple[int, ...]:
    """Return ``f_l`` for several ``l``: a private statistic that moves by ``l``.

    Parameters
    ----------
    users : array-like of int, shape (pairs,)
        The user of each pair, as its place in the fixed order of users: rising. Which numbers there are does not
        matter, only their order.
    values : array-like of int, shape (pairs,)
        The value of each pair, as a number from 0 on that is smaller where the value comes earlier. Pairs that are
        there twice count once.
    caps : sequence of int
        ``l``, each from 1 on.

    Returns
    -------
    tuple of int
        One for each cap.

    Raises
    ------
    UsageError
        If the arrays do not fit, or users do not rise.

    >>> count_distinct([0, 1, 1, 1], [5, 5, 6, 7], (1, 2))
    (2, 3)
    """
    return tuple(len(taken) for taken in assign_for_caps(users, values, caps))


def assign_for_caps(users: npt.ArrayLike, values: npt.ArrayLike, caps: Sequence[int]) -> list[Integers]:
    """Return for each cap the places of the pairs by which values are taken, one for each taken value: private.

    Parameters
    ----------
    users, values, caps
        As of :func:`count_distinct`.

    >>> [taken.tolist() for taken in assign_for_caps([0, 1, 1, 1], [5, 5, 6, 7], (1, 2))]
    [[0, 2], [0, 2, 3]]
    """
    owners = check_integer_array("users", users, low=-(2**62), high=2**62)
    items = check_integer_array("values", values, low=0, high=_MOST)
    if owners.size != items.size:
        raise UsageError("users and values must be of one length; pass one of each for every pair.")
    if np.any(owners[1:] < owners[:-1]):
        raise UsageError("users must rise; sort the pairs by the fixed order of users.")
    limits = [check_count("cap", cap) for cap in caps]
    if not owners.size:
        return [np.zeros(0, dtype=np.int64) for _ in limits]
    starts = np.append(np.flatnonzero(np.diff(owners, prepend=owners[0] - 1)), owners.size)
    order: Integers | None = None
    if np.any((items[1:] < items[:-1]) & (owners[1:] == owners[:-1])):
        order = np.lexsort((items, owners))
        items = items[order]
    if int(items.max()) > _SPARSE * items.size:
        items = np.unique(items, return_inverse=True)[1]
    found = [np.array(_greedy(starts, items, limit), dtype=np.int64) for limit in limits]
    return found if order is None else [order[places] for places in found]


def assign_distinct(users: npt.ArrayLike, values: npt.ArrayLike, cap: int) -> Integers:
    """Return the places of the pairs by which values are taken, one for each taken value: private.

    Parameters
    ----------
    users, values : array-like of int, shape (pairs,)
        As of :func:`count_distinct`.
    cap : int
        ``l``, from 1 on.

    >>> assign_distinct([0, 1, 1, 1], [5, 5, 6, 7], 1).tolist()
    [0, 2]
    """
    return assign_for_caps(users, values, (cap,))[0]


def _greedy(starts: Integers, items: Integers, limit: int) -> list[int]:
    """Return the places of the pairs that are taken; the pairs of users are between ``starts``, the last one's end."""
    taken = bytearray(int(items.max()) + 1)
    # Once all values that occur are taken nobody else takes any.
    free = int(np.count_nonzero(np.bincount(items)))
    found: list[int] = []
    for first in range(0, starts.size - 1, _USERS):
        bounds = starts[first : first + _USERS + 1]
        begin = int(bounds[0])
        own = items[begin : bounds[-1]].tolist()
        for start, end in pairwise((bounds - begin).tolist()):
            left = limit
            for place in range(start, end):
                if not taken[own[place]]:
                    taken[own[place]] = 1
                    found.append(begin + place)
                    left -= 1
                    if not left:
                        break
            if len(found) == free:
                return found
    return found
