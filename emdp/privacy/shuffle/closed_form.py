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

__all__ = ["closed_form_alpha", "closed_form_alpha0", "closed_form_change", "closed_form_limit"]

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


def closed_form_change(alpha0: float, moved: int, distance: float, N: int, delta: float) -> float | None:
    """Return the closed form of one change, rounded up, or None where its condition fails (paper, Thm 4.3).

    **Theorem.** Let ``x0`` of the ``N`` items move, by distances that add up to ``x1``, and ``K`` as above with ``x0``
    in the place of ``m``. The two releases are within ``(h, d e^h)``, ``h = x0 ln(1 + tanh(alpha0 x1/(2 x0)) K)``,
    provided that ``alpha0 < ln(N/(16 ln(4 x0/d)))``.

    *Proof.* One item that moves by ``w`` is ``(ln(1 + tanh(alpha0 w/2) K), d/x0)`` (Feldman, McMillan and Talwar 2021,
    theorem 3.1, whose condition is this one). The items move one after the other; the sum of the epsilons is at most
    ``h``, since each is concave in ``w`` and the distances add up to ``x1``, and the deltas, each times the exponential
    of what went before, are together at most ``d e^h``.

    Parameters
    ----------
    alpha0 : float
        Of the randomizer, above 0.
    moved : int
        ``x0``, at least 1.
    distance : float
        ``x1``, in (0, x0].
    N : int
        Number of items.
    delta : float
        The whole delta, in (0, 1): the equation ``d e^h = delta`` is solved for ``d``.

    >>> round(closed_form_change(1.0, 1000, 1000.0, 10**8, 1e-12), 5)
    3.83617
    >>> closed_form_change(5.0, 1000, 1000.0, 10**4, 1e-12) is None
    True
    """
    if alpha0 >= math.log(N):
        return None
    ratio = min(distance / moved * _SAFETY, 1.0)
    inner = _inner_log(alpha0, moved, N, delta, ratio)
    if not alpha0 * _SAFETY < _limit(moved, N, inner):
        return None
    return moved * math.log1p(math.tanh(alpha0 * ratio / 2) * _factor(alpha0, moved, N, inner)) * _SAFETY


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


def _inner_log(alpha0: float, m: int, N: int, delta: float, ratio: float = 1.0) -> float:
    """Return ``ln(1/d)``, rounded up."""
    wanted = -math.log(delta)

    def is_safe(depth: float) -> bool:
        growth = m * math.log1p(math.tanh(alpha0 * ratio / 2) * _factor(alpha0, m, N, depth))
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
