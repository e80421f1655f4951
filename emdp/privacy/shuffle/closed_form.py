"""The published closed form for item-wise release under shuffling, where its condition holds; for comparison.

**Theorem** (paper, Thm 4.4; EMD 3). With ``K = 8 sqrt(e^alpha0 ln(4 m/d)/N) + 8 e^alpha0/N`` and
``h(w) = m ln(1 + tanh(alpha0 w/2) K)``, the release of ``N`` shuffled items, ``m`` of each user, is
``(alpha, delta)`` bounded d_EM-DP for ``alpha = sup_w h(w)/w`` and ``delta = d e^(h(1))``, provided that
``alpha0 < ln(N/(16 ln(4 m/d)))``.

``h`` is concave and 0 at 0, so the sup is its slope there, ``m alpha0 K/2``. For a wanted ``delta`` the second equation
is solved for ``d``: ``h(1) - ln(1/d)`` is concave in ``ln(1/d)``, above its target at ``d = 1``, and falls without end,
so there is one root, and every ``d`` below it is safe. Outside the condition the formula falls below the exact value:
refused.
"""

import math

__all__ = ["closed_form_alpha", "closed_form_alpha0", "closed_form_limit"]

_SAFETY = 1 + 1e-12
"""Factor that covers the rounding of the formula."""
_STEPS = 70
"""Bisection steps: down to neighbouring doubles."""


def closed_form_alpha(alpha0: float, m: int, N: int, delta: float) -> float | None:
    """Return the theorem's alpha, rounded up, or None where its condition fails.

    Parameters
    ----------
    alpha0 : float
        Of the randomizer, above 0.
    m, N : int
        Items of one user and of all, ``1 <= m <= N``.
    delta : float
        In (0, 1).

    >>> [round(closed_form_alpha(alpha0, 1000, 10**8, 1e-12), 5) for alpha0 in (1, 2)]
    [4.15861, 14.94787]
    >>> closed_form_alpha(1.0, 10, 1000, 1e-6) is None
    True
    """
    if alpha0 >= math.log(N):
        return None
    inner = _inner_log(alpha0, m, N, delta)
    if not alpha0 * _SAFETY < _limit(m, N, inner):
        return None
    return m * alpha0 / 2 * _factor(alpha0, m, N, inner) * _SAFETY


def closed_form_limit(alpha0: float, m: int, N: int, delta: float) -> float:
    """Return the number that ``alpha0`` must be below, ``ln(N/(16 ln(4 m/d)))`` at the theorem's own ``d``.

    From ``ln N`` on no ``d`` can do; then it is the limit at ``d = delta``.

    >>> round(closed_form_limit(1.0, 10, 1000, 1e-6), 2)
    0.95
    """
    return _limit(m, N, _inner_log(alpha0, m, N, delta) if alpha0 < math.log(N) else -math.log(delta))


def closed_form_alpha0(alpha: float, m: int, N: int, delta: float) -> float | None:
    """Return the largest ``alpha0`` whose :func:`closed_form_alpha` is at most ``alpha``, rounded down, or None.

    >>> round(closed_form_alpha0(25.0, 1000, 10**8, 1e-12), 5)
    2.48387
    """
    low, high = 0.0, math.log(N)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        found = closed_form_alpha(middle, m, N, delta)
        low, high = (middle, high) if found is not None and found <= alpha else (low, middle)
    return low if low > 0 else None


def _inner_log(alpha0: float, m: int, N: int, delta: float) -> float:
    """Return ``ln(1/d)``, rounded up."""
    wanted = -math.log(delta)

    def is_safe(depth: float) -> bool:
        growth = m * math.log1p(math.tanh(alpha0 / 2) * _factor(alpha0, m, N, depth))
        return depth - growth * _SAFETY >= wanted * _SAFETY

    low = high = wanted + 1
    while not is_safe(high):
        low, high = high, 2 * high
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (low, middle) if is_safe(middle) else (middle, high)
    return high


def _factor(alpha0: float, m: int, N: int, inner: float) -> float:
    strength = math.exp(alpha0)
    return 8 * math.sqrt(strength * (math.log(4 * m) + inner) / N) + 8 * strength / N


def _limit(m: int, N: int, inner: float) -> float:
    return math.log(N / (16 * (math.log(4 * m) + inner)))
