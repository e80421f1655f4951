"""Trade-off steps as a shuffle accountant: :func:`~emdp.privacy.tradeoff.composition.tradeoff_alpha` rounded, and its
inverse.

**Guarantee.** Arguments are rounded to the safe side and the result is rounded up, so the theorem of
:mod:`emdp.privacy.tradeoff.composition` stands. It uses public slopes, cells of clones and cells of distance only, so
its value is monotone in every argument but for rounding and for the way a chain's ``omega`` depends on its path
(:mod:`emdp.privacy.tradeoff.flow`). The promise is therefore monotonicity up to :data:`MONOTONE` of alpha, in every
argument; the tests find no pair of arguments that needs it.
"""

import math
from functools import lru_cache

from emdp.privacy.shuffle.clones import gaussian_guess
from emdp.privacy.shuffle.grid import (
    ARGUMENT_BITS,
    LARGEST_ALPHA0,
    grid_step,
    on_grid,
    round_counts,
    round_down,
    round_up,
)
from emdp.privacy.tradeoff.composition import tradeoff_alpha

__all__ = ["MONOTONE", "STEP_BITS", "tradeoff_steps_alpha", "tradeoff_steps_alpha0"]

MONOTONE = 1e-5
"""Alpha may fall by this share of itself where it should not."""
STEP_BITS = 18
"""Significant bits of the strengths that the inverse tries: 8 parts in a million."""
_ALPHA_BITS = 20
"""Significant bits that alpha is rounded up to: 2e-6, far above rounding errors."""
_SECANTS = 12
"""Steps of the search before it bisects; five are usual."""


@lru_cache(maxsize=1024)
def tradeoff_steps_alpha(alpha0: float, m: int, N: int, delta: float, w_min: float) -> float:
    """Return an alpha that the composition of trade-off functions shows, or ``inf`` where it is not used.

    Parameters
    ----------
    alpha0 : float
        Of the randomizer, above 0.
    m, N : int
        Items of one user and of all, ``1 <= m <= N``.
    delta : float
        In [0, 1).
    w_min : float
        Smallest positive distance in the space, in [0, 1]; 0 for any space.

    References
    ----------
    The theorem of :mod:`emdp.privacy.tradeoff.composition`; EMD 3, whose hybrid has 2.388.

    >>> round(tradeoff_steps_alpha(1.0, 10, 1000, 1e-6, 0.0), 2)
    2.21
    """
    if alpha0 > LARGEST_ALPHA0 or delta <= 0 or _is_one_step(m, w_min):
        return math.inf
    items, total = round_counts(m, N)
    if total < items:
        # rounded both ways, a user would hold more items than there are: the numbers themselves are as safe
        items, total = m, N
    found = tradeoff_alpha(
        round_up(alpha0, ARGUMENT_BITS),
        items,
        total,
        _below(delta),
        round_down(w_min, ARGUMENT_BITS),
    )
    return round_up(found, _ALPHA_BITS)


@lru_cache(maxsize=1024)
def tradeoff_steps_alpha0(alpha: float, m: int, N: int, delta: float, w_min: float) -> float:
    """Return the largest ``alpha0`` of a fixed grid found whose :func:`tradeoff_steps_alpha` is at most ``alpha``.

    A secant on the logarithms, kept in a bracket, from the Gaussian limit on; it ends between two neighbours of which
    one has this alpha and one has not.

    Parameters
    ----------
    alpha : float
        Wanted, at least 0.
    m, N, delta, w_min
        As in :func:`tradeoff_steps_alpha`.

    Returns
    -------
    float
        0 where it is not above composition's ``alpha/m``.

    >>> round(tradeoff_steps_alpha0(2.213, 10, 1000, 1e-6, 0.0), 3)
    1.0
    """
    if delta <= 0 or alpha <= 0 or _is_one_step(m, w_min):
        return 0.0
    pure, stop = grid_step(min(max(alpha / m, 1e-300), LARGEST_ALPHA0), STEP_BITS), _step(LARGEST_ALPHA0) + 1
    good, bad = pure, stop
    point = _step(gaussian_guess(alpha, m, N, w_min, delta))
    slope, last = 1.0, (0.0, math.nan)
    for count in range(100):
        if bad - good <= 1:
            break
        point = min(max(point, good + 1), bad - 1) if count < _SECANTS else (good + bad) // 2
        strength = on_grid(point, STEP_BITS)
        excess = math.log(tradeoff_steps_alpha(strength, m, N, delta, w_min) / alpha)
        good, bad = (point, bad) if excess <= 0 else (good, point)
        place = math.log(strength)
        if abs(excess - last[1]) > 0 and place != last[0]:
            slope = max((excess - last[1]) / (place - last[0]), 0.1)
        elif math.isnan(last[1]):
            slope = 1 + strength / 2
        last = (place, excess)
        point = _step(math.exp(min(place - excess / slope, math.log(LARGEST_ALPHA0))))
    return on_grid(good, STEP_BITS) if good > pure else 0.0


def _is_one_step(m: int, w_min: float) -> bool:
    # A single item that can only move by 1: the exact clone step is all there is, and nothing is composed.
    return m == 1 and w_min >= 1


def _step(strength: float) -> int:
    return grid_step(max(strength, 1e-300), STEP_BITS)


def _below(delta: float) -> float:
    # a delta that has no so short number below it but 0 keeps its digits
    return round_down(delta, ARGUMENT_BITS) or delta
