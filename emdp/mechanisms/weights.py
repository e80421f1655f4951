"""Integer weights of a finite randomizer: how they are made, and the ``alpha0`` that they really have.

A finite randomizer draws its output with probability exactly ``W[x, y]/2**62``, ``W`` integer. So its law has no
rounding that would have to be charged, and ``alpha0`` is a property of the integers:

``alpha0 = max over items x != x' and outputs y of |ln(W[x, y]/W[x', y])| / d_X(x, x')``.

:func:`actual_alpha0` bounds that from above. *Error of its logarithms:* for each output ``y`` let ``r`` be the least
weight in the column. ``W[x, y] - r`` is exact in 64 bits; turning it and ``r`` into doubles and dividing them costs
three roundings, a relative error below ``4 u``, ``u = 2^-53``; ``ln(1 + q)``, ``q >= 0``, has condition number <= 1 and
is computed to 4 units in the last place (``8 u``) or better. Hence each logarithm is within ``16 u`` of the true one,
relative, and the difference of two within ``32 u`` times the largest, which is added before the division.

That takes a comparison of whole rows for each pair of items. :func:`exponential_alpha0` bounds the ``alpha0`` of the
weights of an exponential mechanism from single entries. *Claim.* Let ``|d(x, y) - d(x', y)| <= d(x, x') + t`` and ``g
>= 0``, and for some numbers ``a_x, b_y`` let ``ln W[x, y] = -g d(x, y) - a_x - b_y + e[x, y]`` with ``|e| <= h``. Then
``|ln(W[x, y]/W[x', y])| <= g (d(x, x') + t) + |a_x - a_x'| + 2 h``. *Proof.* ``b_y`` cancels; the rest is the triangle
inequality. ∎ Any ``g, a, b`` will do: they are read off the weights, and ``h`` is measured. *Its error:* with ``M`` the
largest logarithm of a weight over its column's least, ``|a_x| <= M + g`` and ``|b_y| <= 2 (M + g)``, so the three sums
behind an ``e`` cost at most ``8 u (M + g)`` and the logarithm ``16 u M``: in all less than ``32 u (M + g)``.
"""

from collections.abc import Callable

import numpy as np

from emdp.base.arrays import Floats, Integers
from emdp.base.errors import RefusedError

__all__ = [
    "FIT_MARGIN",
    "LARGEST_ITEMS",
    "TOTAL",
    "Floats",
    "Integers",
    "actual_alpha0",
    "exponential_alpha0",
    "fit_weights",
    "integer_rows",
]

TOTAL = 2**62
"""Sum of every row of weights: what stands for probability 1."""

BLOCK = 64
"""Items whose rows are compared with all others at a time."""

LARGEST_ITEMS = 4096
"""Most items of a finite randomizer: it then takes 1.3 GB and up to a minute or two, and seconds for 1024 items."""

SUM_RESOLUTION = 2.0**48
"""Units of the largest entry in which a row is summed: 4096 such entries stay below 2^63."""

LOG_ERROR = 2.0**-48
"""Bound on the error of a difference of two logarithms, relative to the largest; see the module's text."""

FIT_STEPS = 60
"""Attempts at a strength before the request is refused; two or three are the rule."""

FIT_MARGIN = 2.0**-36
"""Part by which the first strength is lowered at once: rounding mostly costs less, and a second attempt its time."""

LOWEST_FIT = 0.25
"""Part of the first strength below which the request is refused: rounding then decides the weights."""


def integer_rows(ideal: Floats, own: Integers | None = None) -> Integers:
    """Return integer weights near given probabilities: each at least 1, each row summing to exactly ``TOTAL``.

    The rule is deterministic and commutes with permutations of items and outputs that leave ``ideal`` as it is (and
    map the diagonal to itself), so symmetries survive it. No weight is 0: every law here is positive everywhere, and a
    zero would make ``alpha0`` infinite.

    Parameters
    ----------
    ideal : numpy.ndarray
        Shape (items, outputs), ``outputs >= items``: rows proportional to the wanted probabilities, finite and not
        negative. A row's largest entry takes the last few units, or ``ideal[x, x]`` where two are the largest.
    own : numpy.ndarray of int64, optional
        Each row's item, where only some items have a row; default ``0, 1, ...``.

    Returns
    -------
    numpy.ndarray of int64
        Same shape.

    >>> rows = integer_rows(np.array([[2.0, 1.0], [0.0, 1.0]]))
    >>> rows.sum(axis=1).tolist() == [TOTAL, TOTAL], rows[1].tolist() == [1, TOTAL - 1]
    (True, True)
    """
    weights = np.empty(ideal.shape, dtype=np.int64)
    # Some rows at a time: all at once would go through memory a dozen times.
    items = np.arange(len(ideal)) if own is None else own
    for start in range(0, len(ideal), BLOCK):
        rows = slice(start, start + BLOCK)
        weights[rows] = _integer_block(ideal[rows], items[rows])
    if not (weights > 0).all():
        raise RefusedError("an item's own output is too improbable for 62-bit weights; ask for a larger alpha0.")
    return weights


def actual_alpha0(weights: Integers, distances: Floats, rows: Integers | None = None) -> float:
    """Return an upper bound, within 1e-12 or so, of the ``alpha0`` of integer weights.

    Parameters
    ----------
    weights : numpy.ndarray of int64
        Shape (items, outputs), not negative.
    distances : numpy.ndarray of float64
        Shape (items, items): ``d_X``, symmetric, rounded down.
    rows : numpy.ndarray of int64, optional
        Items of which every item is the image under a symmetry of weights and distances; only pairs with one of them
        are looked at. Default all.

    Returns
    -------
    float
        Infinite if a weight 0 meets a positive one, or two items at distance 0 have different weights.

    >>> weights = np.array([[3, 1], [1, 3]])
    >>> bound = actual_alpha0(weights, np.array([[0.0, 0.5], [0.5, 0.0]]))
    >>> round(bound, 12) == round(2 * float(np.log(3)), 12), bound >= 2 * float(np.log(3))
    (True, True)
    >>> actual_alpha0(np.array([[1, 0], [1, 1]]), np.array([[0.0, 1.0], [1.0, 0.0]]))
    inf
    """
    from scipy.spatial.distance import cdist

    used = weights[:, weights.any(axis=0)]
    if (used == 0).any():
        return np.inf
    chosen = np.arange(len(used)) if rows is None else rows
    least = used.min(axis=0)
    logs = _logs(used, least)
    if not logs.any():
        return 0.0
    largest = 0.0
    for start in range(0, len(chosen), BLOCK):
        block = chosen[start : start + BLOCK]
        # With all rows each pair would come twice.
        first = int(block[0]) if rows is None else 0
        apart = distances[block, first:]
        gaps = np.asarray(cdist(logs[block], logs[first:], "chebyshev"), dtype=np.float64) + LOG_ERROR * logs.max()
        if _has_unequal_twins(used, block, first, apart):
            return np.inf
        quotients = np.divide(gaps, apart, out=np.zeros_like(gaps), where=apart > 0)
        largest = max(largest, float(quotients.max()))
    return largest * (1 + 2.0**-50)


def exponential_alpha0(weights: Integers, distances: Floats, slack: float) -> float:
    """Return an upper bound of the ``alpha0`` of integer weights, near it for those of an exponential mechanism.

    Parameters
    ----------
    weights : numpy.ndarray of int64
        Shape (items, items), positive; at least two items.
    distances : numpy.ndarray of float64
        Shape (items, items): ``d_X``, symmetric, rounded down.
    slack : float
        The ``t`` of the module's text, at least 0.

    Returns
    -------
    float
        Infinite if two items are at distance 0.

    >>> distances = np.array([[0.0, 0.5], [0.5, 0.0]])
    >>> weights = integer_rows(np.exp(-2.0 * distances))
    >>> round(exponential_alpha0(weights, distances, 0.0), 9), round(actual_alpha0(weights, distances), 9)
    (2.0, 2.0)
    """
    if np.count_nonzero(distances) < len(weights) * (len(weights) - 1):
        return np.inf
    least = weights.min(axis=0)
    far = int(distances[0].argmax())
    corners = _logs(weights[[0, far]], least)[:, [0, far]]
    g = max(float(np.trace(corners) - np.trace(corners[::-1])) / (2 * float(distances[0, far])), 0.0)
    a = -_logs(weights[:, :1], least[:1])[:, 0] - g * distances[:, 0]
    b = -_logs(weights[:1], least)[0] - g * distances[0] - a[0]
    largest = residual = steepest = 0.0
    for start in range(0, len(weights), BLOCK):
        block = slice(start, start + BLOCK)
        logs = _logs(weights[block], least)
        largest = max(largest, float(logs.max()))
        logs += g * distances[block]
        logs += a[block, None]
        logs += b
        residual = max(residual, float(np.abs(logs).max()))
    residual += LOG_ERROR * (largest + g)
    for start in range(0, len(weights), BLOCK):
        apart = distances[start : start + BLOCK, start:]
        gaps = np.abs(np.subtract.outer(a[start : start + BLOCK], a[start:])) + (g * slack + 2 * residual)
        steepest = max(steepest, float(np.divide(gaps, apart, out=np.zeros_like(gaps), where=apart > 0).max()))
    return (g + steepest) * (1 + 2.0**-49)


def fit_weights(
    weights_at: Callable[[float], Integers],
    reached_by: Callable[[Integers], float],
    requested: float,
    start: float,
    aside: float = 0.0,
) -> tuple[Integers, float]:
    """Return the weights of the first strength, from ``start`` downward, that reach at most ``requested``, and that.

    Parameters
    ----------
    weights_at : callable
        From an internal strength to weights; their ``alpha0`` should grow with it, about proportionally.
    reached_by : callable
        From weights to their ``alpha0``, rounded up.
    requested : float
        The ``alpha0`` that must not be exceeded.
    start : float
        First strength, lowered by ``FIT_MARGIN``.
    aside : float
        How much lower than proportion says the next strength is, as a part of what the last one reached too much: an
        attempt or two fewer where ``alpha0`` grows a little slower than the strength.

    Raises
    ------
    RefusedError
        If none is found, because 62-bit weights cannot follow the request.
    """
    strength = start * (1 - FIT_MARGIN)
    for _ in range(FIT_STEPS):
        weights = weights_at(strength)
        reached = reached_by(weights)
        if reached <= requested:
            return weights, reached
        strength *= min(requested / reached, 1 - 2.0**-46) * (1 - 2.0**-50)
        strength *= 1 - aside * (1 - requested / reached)
        if strength < LOWEST_FIT * start:
            break
    raise RefusedError(f"no 62-bit weights reach alpha0 = {requested:.6g} from below; ask for another alpha0.")


def _integer_block(ideal: Floats, own: Integers) -> Integers:
    """Return the weights of some rows; ``own`` is each row's place on the diagonal."""
    # summed as integers, so that the sum does not depend on the order of outputs
    scaled = ideal * (SUM_RESOLUTION / ideal.max(axis=1, keepdims=True))
    shares = scaled / np.rint(scaled).astype(np.int64).sum(axis=1, keepdims=True)
    weights = np.maximum(np.rint(shares * float(TOTAL)).astype(np.int64), 1)
    for _ in range(3):
        # the missing or surplus units, in proportion, so that no ratio moves by more than rounding
        rest = TOTAL - weights.sum(axis=1, keepdims=True)
        weights = np.maximum(weights + np.rint(shares * rest).astype(np.int64), 1)
    alone = (weights == weights.max(axis=1, keepdims=True)).sum(axis=1) == 1
    place = np.where(alone, weights.argmax(axis=1), own)
    weights[np.arange(len(weights)), place] += TOTAL - weights.sum(axis=1)
    return np.asarray(weights, dtype=np.int64)


def _logs(weights: Integers, least: Integers) -> Floats:
    """Return the logarithms of weights over the least of their columns."""
    return np.asarray(np.log1p((weights - least) / least.astype(np.float64)), dtype=np.float64)


def _has_unequal_twins(weights: Integers, block: Integers, first: int, apart: Floats) -> bool:
    """Say whether an item of a block and an item at distance 0 of it, counted from ``first``, have different rows."""
    left, right = np.nonzero(apart <= 0)
    pairs = zip(block[left], right + first, strict=True)
    return any(x != y and not np.array_equal(weights[x], weights[y]) for x, y in pairs)
