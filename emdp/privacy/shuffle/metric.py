"""Shuffled one-bit reports of a bag's mean: what they tell of a user, at every earth-mover distance.

**Setting** (shuffle-known-randomizers.md 4). Each of ``n`` users sends one sign, ``+1`` with chance ``(1 + t v)/2``,
where ``v`` in [-1, 1] is the mean of a function over the user's bag, scaled. Two bags at distance ``d`` have ``v``
within ``w(d) = min(slope d, 2)``, whatever their sizes. The number of ``+1`` is released; ``n`` is public.

**Theorem.** At distance ``d``, for every ``epsilon >= 0`` and in both directions, ``H_E`` of the two releases, ``E =
e^epsilon``, is at most that of ``C ~ Bin(n-1, 1-t)`` fair coins and one more sign of chance ``(1 + t v)/2`` against
``(1 + t v')/2``, ``(v, v') = (w - 1, -1)``.

*Proof.* Both signs have a chance of at least ``(1-t)/2`` whatever a user holds: a blanket of mass ``1 - t``, under
which a sign is a fair coin. So (Balle, Bell, Gascon, Nissim 2019) ``H_E <= E (sum_{i<=M} l(Y_i))_+/n``, ``M ~ Bin(n,
1-t)``, ``l(s) = ((1 - E) + s t (v - E v'))/(1-t)``: two values, as likely, ``t |v - E v'|/(1-t)`` off their mean. The
bound rises with that deviation (convex order). Where ``|v - v'| <= w`` it is largest at a corner of the possible
pairs, ``E - 1 + w`` at ``(w - 1, -1)``, since ``|1 - E (1 - w)| <= E - 1 + w``. At that pair the bound is the
divergence of the theorem given ``C``, averaged. Exchanging the bags exchanges the corners. ∎

Given ``C = c`` it is ``(E - 1) (r X - (1+r) Y)_+`` of :mod:`emdp.privacy.shuffle.clone_pair`, ``r = t w/(2 (E-1)) -
(1-t)/2``. So ``H(d) = (e^(alpha d) - 1) G(r(d))``, ``G`` of :class:`~emdp.privacy.shuffle.clone_pair.CloneMixture`
with the clone probability ``1 - t``. There is no chain of neighbours between two bags, so delta has no factor
``e^alpha``, and bags are of any sizes.

**Over all d.** The worst ``d`` is not 1. While ``slope d <= 2``, ``r(d)`` falls with ``d``, since ``d/(e^(alpha d) -
1)`` does; so on ``[d1, d2]`` the divergence is at most ``(e^(alpha d2) - 1) G(r(d1))``, for ``d1 = 0`` by ``r(0) = t
slope/(2 alpha) - (1-t)/2``. From 0 on each step goes as far as that allows; alpha fails where a step comes to less
than :data:`LEAST_STEP`. Beyond ``slope d = 2`` the laws change no more and epsilon rises. At ``alpha >= t
slope/(1-t)`` ``r`` is never positive: that is what a sign tells without others (EMD 4), ``alpha0``.

Numbers are rounded to the safe side.
"""

import math
from functools import lru_cache

from emdp.base.checks import check_count, check_positive, check_range, check_unit_interval
from emdp.privacy.shuffle.clone_pair import CloneMixture
from emdp.privacy.shuffle.grid import LARGEST_ITEMS

__all__ = ["CHANCE_ERROR", "LARGEST_ODDS", "metric_alpha", "metric_alpha0", "metric_delta", "sign_strength"]

LEAST_STEP = 2.0**-7
"""Least relative step in ``d``: alpha comes out this part over ``2 ln(1/delta)`` too high, about 1 in 5000."""
LARGEST_ODDS = 2.0**17
"""Largest ``t/(1-t)`` that is tried: a sign beyond it is as good as certain."""
CHANCE_ERROR = 2.0**-46
"""More than twice what rounding adds to the chance of a sign (:mod:`emdp.mechanisms.local.one_bit`)."""
_TOLERANCE = 2e-4
"""Relative width at which a search ends, on the safe side."""
_UP, _DOWN = 1 + 1e-13, 1 - 1e-13


def sign_strength(alpha0: float, slope: float) -> float:
    """Return ``t`` of a sign that is ``alpha0`` per unit of ``d_em`` by itself: ``alpha0/(slope + alpha0)``.

    >>> sign_strength(2.0, 2.0)
    0.5
    """
    return alpha0 / (slope + alpha0)


def metric_delta(epsilon: float, n: int, strength: float, width: float) -> float:
    """Return the divergence of the theorem, rounded up.

    Parameters
    ----------
    epsilon : float
        At least 0.
    n : int
        Users, at least 1.
    strength : float
        ``t``, in (0, 1).
    width : float
        ``w``, in (0, 2].

    >>> round(metric_delta(0.0, 1, 0.5, 1.0), 6)
    0.25
    >>> metric_delta(0.5, 100, 0.5, 0.1) < 1e-4
    True
    """
    level = check_range("epsilon", epsilon, 0.0, 700.0)
    t, users = check_unit_interval("strength", strength), check_count("n", n)
    w = check_range("width", check_positive("width", width), 0.0, 2.0)
    mixture = _mixture(users, t)
    if level == 0:
        return min(1.0, t * w / 2 * math.exp(mixture.log_excess(math.inf)) * _UP)
    growth = math.expm1(level)
    ratio = t * w / (2 * growth) * _UP - (1 - t) / 2 * _DOWN
    return min(1.0, growth * math.exp(mixture.log_excess(ratio)) * _UP) if ratio > 0 else 0.0


def metric_alpha(alpha0: float, n: int, delta: float, slope: float = 2.0) -> float:
    """Return the alpha of one shuffled sign of each user, rounded up: ``(alpha, delta)`` for bags of any sizes.

    Parameters
    ----------
    alpha0 : float
        What a sign tells per unit of ``d_em`` by itself, above 0: ``t = alpha0/(slope + alpha0)``.
    n : int
        Users, at least 1.
    delta : float
        In [0, 1); at 0 it is ``alpha0``.
    slope : float
        How much ``v`` changes per unit of ``d_em``: the function's constant over half its range, above 0.

    References
    ----------
    shuffle-known-randomizers.md 4: known answer below, there on a grid of 25 points.

    >>> round(metric_alpha(3.207, 10_000, 1e-9), 3)
    0.1
    """
    own, users = check_positive("alpha0", alpha0), check_count("n", n)
    chance, steep = check_unit_interval("delta", delta, zero=True), check_positive("slope", slope)
    if chance == 0 or own / steep > LARGEST_ODDS:
        return own
    return _alpha(own, users, chance, steep)


def metric_alpha0(alpha: float, n: int, delta: float, slope: float = 2.0) -> float:
    """Return the largest ``alpha0`` of each user's sign for a wanted alpha of all, rounded down.

    Parameters
    ----------
    alpha : float
        Wanted, above 0.
    n, delta, slope
        As in :func:`metric_alpha`.

    Returns
    -------
    float
        The guarantee holds with it; within 1 part in 1000 of the largest, at most ``slope`` times
        :data:`LARGEST_ODDS` unless alpha is larger.

    >>> round(metric_alpha0(1.0, 10_000, 1e-9), 1)
    95.2
    """
    wanted, users = check_positive("alpha", alpha), check_count("n", n)
    chance, steep = check_unit_interval("delta", delta, zero=True), check_positive("slope", slope)
    if chance == 0 or wanted / steep >= LARGEST_ODDS:
        return wanted
    good, bad = wanted, LARGEST_ODDS * steep
    if _holds(wanted, bad, users, chance, steep):
        return bad
    step = 4.0
    while good * step < bad and _holds(wanted, good * step, users, chance, steep):
        good *= step
    bad = min(bad, good * step)
    while bad > good * (1 + _TOLERANCE):
        middle = math.sqrt(good * bad)
        good, bad = (middle, bad) if _holds(wanted, middle, users, chance, steep) else (good, middle)
    return good


@lru_cache(maxsize=256)
def _alpha(alpha0: float, n: int, delta: float, slope: float) -> float:
    good, bad = alpha0, 0.0
    while good > alpha0 * 2**-60 and _holds(good / 2, alpha0, n, delta, slope):
        good /= 2
    bad = good / 2
    while good > bad * (1 + _TOLERANCE):
        middle = math.sqrt(good * bad)
        good, bad = (middle, bad) if _holds(middle, alpha0, n, delta, slope) else (good, middle)
    return good


@lru_cache(maxsize=1024)
def _holds(alpha: float, alpha0: float, n: int, delta: float, slope: float) -> bool:
    """Return whether signs of ``alpha0`` are ``(alpha, delta)`` at every distance."""
    if alpha >= alpha0:
        return True
    # t is rounded up by more than a sign's chances are rounded, and with it both terms of r
    t = min(sign_strength(alpha0, slope) * _UP + CHANCE_ERROR, 1 - 2.0**-53)
    mixture, log_delta = _mixture(n, t), math.log(delta) - 1e-9
    last, rest = min(1.0, 2 / slope * _UP), (1 - t) / 2 * _DOWN
    reached = 0.0
    while reached < last:
        # d/(e^(alpha d) - 1) falls with d: its value at the start of the step
        per_growth = reached / math.expm1(min(alpha * reached, 700.0)) if reached > 0 else 1 / alpha
        ratio = t * slope / 2 * per_growth * _UP - rest
        if ratio <= 0:
            return True
        log_growth = log_delta - mixture.log_excess(ratio)
        further = (math.log1p(math.exp(log_growth)) if log_growth < 600 else log_growth) / alpha * _DOWN
        if further < reached * (1 + LEAST_STEP) or further <= 0:
            return further >= last
        reached = further
    return True


@lru_cache(maxsize=16)
def _mixture(n: int, strength: float) -> CloneMixture:
    return CloneMixture(min(n, LARGEST_ITEMS) - 1, (1 - strength) * _DOWN, min(strength * _UP, 1 - 2.0**-53))
