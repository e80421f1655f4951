"""Losses of linear models, and every user's clipped gradient in whole numbers that depend on that user alone.

Setting. A record has a vector ``x`` of ``p`` numbers, the first of them 1 and all in [-1, 1], and a target ``y``. With
weights ``w`` its *slope* is ``s = x.w - y`` (squared loss, half the square of the residual) or ``s = 1/(1 + e^(-x.w)) -
y`` (logistic loss), and its gradient is ``s x``. A gradient longer than ``C`` is shortened to ``C``. A record that is
elsewhere has the vector 0, its first number included: no loss and no gradient, so that a model is one of the rest.

Theorem. (a) Clipped gradients are gradients of a convex loss with the same curvature bound: where it is felt, the
squared loss becomes Huber's. (b) The mean over a user's records of clipped gradients has a 2-norm of at most ``C``,
whatever the records, also as the whole numbers that are computed here, exactly.

Proof. (a) ``|s x| > C`` is ``|s| > C/|x|``; so clipping replaces ``s`` by ``s`` clipped to ``[-C/|x|, C/|x|]``, a
function of ``x.w`` that does not fall and rises at most as fast as before. It is the derivative of a convex function of
``x.w``, whose Hessian is at most ``|x|^2`` (squared) or ``|x|^2/4`` (logistic), so at most ``p`` or ``p/4``. (b) In
floats slopes are clipped to ``C (1 - 2^-40)/|x|``; computing ``|x|``, the quotient and the products loses less than
``2^-41`` of it for ``p <= 2^10``. Multiplying by a power of two is exact and cutting off the fraction shortens every
entry. A sum of ``m`` such vectors has a norm of at most ``m C``, and dividing by ``m``, cut off again, at most ``C``.

*Of a user alone.* Everything is computed record by record and entry by entry in operations that do not look at others
(no sum of floats over records, no matrix product); sums are of integers. So a neighbour changes one row of the result.
"""

import math
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Literal

import numpy as np

from emdp.base.arrays import Floats, Integers
from emdp.base.classes import dataclass
from emdp.base.errors import InternalError
from emdp.noise.choices import draw_permutation

__all__ = ["CURVATURES", "LOSSES", "MOST_RECORDS", "Loss", "UserRecords", "minimum", "sampled_rows", "user_gradients"]

Loss = Literal["squared", "logistic"]

LOSSES: tuple[Loss, ...] = ("squared", "logistic")
CURVATURES = {"squared": 1.0, "logistic": 0.25}
"""Largest second derivative of each loss along ``x.w``."""

MOST_RECORDS = 2**22
"""Most records of one user: sums of that many whole numbers of 40 bits are integers of 64."""

_INSIDE = 1.0 - 2.0**-40
# Slopes are clipped by so much more than the roundings of their products.

_ROWS = 2**18
# Records whose gradients are in memory together, unless one user has more.

_STEPS = 4000
# Of the search for the exact minimum.


@dataclass(frozen=True, eq=False, repr=False)
class UserRecords:
    """Vectors and targets of all users' records, private.

    Raises
    ------
    InternalError
        If shapes contradict one another or a user has no record or too many: the caller's bug.
    """

    # Shape (p, records). Entries in [-1, 1], the first row all 1, but for columns that are 0: of records that are
    # elsewhere.
    features: Floats
    targets: Floats  # Shape (records,). In [-1, 1] for the squared loss, in [0, 1] for the logistic one.
    # Shape (users + 1,). Where each user's records begin, and where the last one's end; every user has one or more.
    offsets: Integers

    def __post_init__(self) -> None:
        sizes = np.diff(self.offsets)
        if self.features.shape[1:] != self.targets.shape or self.offsets[-1] != len(self.targets):
            raise InternalError("records and offsets do not fit together; please report it.")
        if not len(sizes) or sizes.min() < 1 or sizes.max() > MOST_RECORDS:
            raise InternalError("a user has no record, or too many; please report it.")

    def __repr__(self) -> str:
        return "UserRecords(hidden)"

    @property
    def users(self) -> int:
        """Number of users."""
        return len(self.offsets) - 1

    @cached_property
    def lengths(self) -> Floats:
        """2-norm of every record's vector, at least 1."""
        squares = np.zeros(len(self.targets))
        for row in self.features:
            squares += row * row
        return np.sqrt(np.maximum(squares, 1.0))


def user_gradients(
    records: UserRecords,
    weights: Floats,
    *,
    loss: Loss,
    clip: float,
    exponent: int,
    users: Integers | None = None,
) -> Integers:
    """Return every user's mean clipped gradient times ``2**exponent``, shape (users, p), by the theorem of this file.

    Parameters
    ----------
    weights : numpy.ndarray of float, shape (p,)
        Where the gradient is taken.
    loss : {"squared", "logistic"}
        The loss.
    clip : float
        ``C``, with ``C 2**exponent <= 2**40``.
    exponent : int
        Of the fixed point.
    users : numpy.ndarray of int64, optional
        Whose gradients are wanted; all by default.

    >>> one = UserRecords(np.array([[1.0, 1.0], [0.5, -1.0]]), np.array([1.0, 0.0]), np.array([0, 2]))
    >>> (user_gradients(one, np.zeros(2), loss="squared", clip=2.0, exponent=20) * 2.0**-20).tolist()
    [[-0.5, -0.25]]
    """
    means = np.empty((records.users if users is None else len(users), len(records.features)), dtype=np.int64)
    for part, rows, starts, counts in _blocks(records, users):
        margins = np.zeros(int(counts.sum()))
        for weight, row in zip(weights.tolist(), records.features, strict=True):
            margins += weight * row[rows]
        limits = (clip * _INSIDE) / records.lengths[rows]
        slopes = np.clip(_slope(loss)(margins, records.targets[rows]), -limits, limits)
        is_one_each = counts.size == slopes.size
        for place, row in enumerate(records.features):
            # Times a power of two, which is exact, and cut off.
            whole = (slopes * row[rows] * 2.0**exponent).astype(np.int64)
            if is_one_each:
                means[part, place] = whole
                continue
            sums = np.add.reduceat(whole, starts)
            means[part, place] = np.sign(sums) * (np.abs(sums) // counts)
    return means


def sampled_rows(sizes: Integers, cap: int) -> Integers | None:
    """Return which of some users' rows are kept: all of a user who has at most ``cap``, else a random sample of that
    many; None if that is all of them.

    A user's sample depends on nobody else, so that whatever is private of one user's records stays so.

    Parameters
    ----------
    sizes : numpy.ndarray of int64, shape (users,)
        Rows of each user.
    cap : int
        Most rows of a user that are kept.

    >>> sampled_rows(np.array([2, 1]), 2) is None, len(sampled_rows(np.array([2, 5]), 2))
    (True, 4)
    """
    if not (sizes > cap).any():
        return None
    starts = np.cumsum(sizes) - sizes
    kept = [
        start + (np.sort(draw_permutation(size)[:cap]) if size > cap else np.arange(size))
        for start, size in zip(starts.tolist(), sizes.tolist(), strict=True)
    ]
    return np.concatenate(kept)


def minimum(records: UserRecords, *, loss: Loss, clip: float, radius: float) -> Floats:
    """Return the weights in the ball of ``radius`` with the smallest mean loss, clipped as here: exact, so private.

    Accelerated projected descent (Beck and Teboulle 2009), begun anew wherever it turns back, for the test switch.

    >>> one = UserRecords(np.array([[1.0, 1.0], [0.5, -1.0]]), np.array([1.0, 0.0]), np.array([0, 1, 2]))
    >>> minimum(one, loss="squared", clip=9.0, radius=9.0).round(6).tolist()
    [0.666667, 0.666667]
    """
    sizes = np.diff(records.offsets)
    shares = np.repeat(1.0 / (sizes * records.users), sizes)
    limits = clip / records.lengths
    step = 1.0 / (CURVATURES[loss] * len(records.features))
    best = np.zeros(len(records.features))
    ahead, pace = best, 1.0
    for _ in range(_STEPS):
        slopes = np.clip(_slope(loss)(ahead @ records.features, records.targets), -limits, limits)
        found = _within(ahead - step * (records.features @ (shares * slopes)), radius)
        moved = found - best
        if float((ahead - found) @ moved) > 0:
            pace = 1.0
        following = 0.5 + 0.5 * math.sqrt(1.0 + 4.0 * pace * pace)
        ahead, best = found + (pace - 1.0) / following * moved, found
        pace = following
        if float(np.abs(moved).max()) < 1e-13 * radius:
            break
    return best


def _blocks(records: UserRecords, users: Integers | None) -> Iterator[tuple[slice, Any, Integers, Integers]]:
    """Yield blocks of whole users: which of the chosen, their rows, where each one's begin, how many each has."""
    begins = records.offsets[:-1] if users is None else records.offsets[users]
    counts = np.diff(records.offsets) if users is None else np.diff(records.offsets)[users]
    ends = np.cumsum(counts)
    first = 0
    while first < len(counts):
        before = int(ends[first - 1]) if first else 0
        last = max(int(np.searchsorted(ends, before + _ROWS, side="right")), first + 1)
        own = counts[first:last]
        starts = ends[first:last] - own - before
        whole = int(own.sum())
        rows = (
            np.repeat(begins[first:last] - starts, own) + np.arange(whole)
            if users is not None
            else slice(before, before + whole)
        )
        yield slice(first, last), rows, starts, own
        first = last


def _slope(loss: Loss) -> Callable[[Floats, Floats], Floats]:
    if loss == "squared":
        return lambda margins, targets: margins - targets
    from scipy.special import expit

    return lambda margins, targets: np.asarray(expit(margins) - targets, dtype=np.float64)


def _within(weights: Floats, radius: float) -> Floats:
    length = float(np.sqrt(weights @ weights))
    return weights * (radius / length) if length > radius else weights
