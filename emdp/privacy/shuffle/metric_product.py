"""Several shuffled signs of every user's means: what they tell together, at every earth-mover distance.

**Setting.** As in :mod:`emdp.privacy.shuffle.metric`, but each user sends several signs, of one function or of several,
each drawn afresh and to a shuffler of its own. Sign ``i`` has ``t_i`` and ``w_i(d) = min(slope_i d, 2)``.

**Theorem.** At every distance ``d`` the divergence ``H_E``, ``E >= 1``, of all counts together is at most that of the
product of the signs' *mirrored* pairs. A pair's likelihood ratio under its second law is ``1 + X``, ``X = (w/2)
X_2``, and ``1 + X_2`` is the ratio of the clone pair of a place-sign message of ``epsilon0 = ln((1+t)/(1-t))``
(:mod:`emdp.privacy.shuffle.renyi_law`). Mirrored it is ``1 + X`` where ``X > 0``, with the mass ``q`` of that under
the second law, ``1/(1 + X)`` with the mass ``q (1 + X)``, and 1 with the rest.

*Proof.* Given ``C = c``, with ``L = c + 1``, ``y = 2 a/L - 1`` at ``a`` signs ``+1``: the second law is ``Bin(L, 1/2)
(1 - t y)`` and the first less the second ``Bin(L, 1/2) t w y``. So ``X = w t y/(1 - t y)``, in proportion to ``w``.
For ``E >= 1`` this pair bounds both directions of a sign's release. For ``E < 1``, ``H_E(P, Q) = 1 - E + E H_{1/E}(Q,
P)``, at most what the mirrored pair has; it is a pair, as the larger of two profiles is convex. Given the bags, signs
are independent, so the product of pairs that dominate dominates (Zhu, Dong, Wang 2022). ∎ *The product of unmirrored
pairs does not:* an adversary may gain from one direction in one sign and from the other in the next (tested: 1.49
times too low).

**Over all d.** The divergence rises with each ``w_i`` and falls with epsilon: on ``[d1, d2]`` it is at most that of
``w(d2)`` at ``alpha d1``. Steps are as wide as passes.

**Numerics.** Losses are split between neighbours of an even grid so that both laws keep their mass, which is above in
convex order. Their laws are tilted towards the epsilon in question and multiplied as Fourier transforms; what
transforms round, an allowance per point, is tilted back, so that it stays small beside delta. What lies above the
window counts as infinite (Chernoff's bound); what wraps around from below is added.
"""

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from emdp.base.arrays import Floats
from emdp.base.checks import check_count, check_positive, check_range, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.privacy.shuffle.metric import CHANCE_ERROR, LARGEST_ODDS, metric_alpha0, sign_strength
from emdp.privacy.shuffle.renyi_law import MARGIN, RatioLaw, ratio_law

__all__ = ["LARGEST_SIGNS", "SignKind", "signs_alpha0", "signs_delta", "signs_hold"]

LARGEST_SIGNS = 256
"""Most signs of one user."""
SMALLEST_DELTA = 1e-20
"""Smallest delta: transforms are not trusted with less."""
LEAST_STEP = 2.0**-6
"""Least relative step in ``d``: alpha comes out at most this part too high."""
_SIZE = 1 << 13
"""Points of the grid."""
_HALF = _SIZE // 2
_REACH = 14.0
"""Half-width of the window in standard deviations of the total, beside epsilon."""
_ALLOWANCE = 4e-16
"""Rounding of a transform's point, per factor, of masses that add up to 1: ten times what was seen (tests)."""
_STEPS = ((0.4, 2.0), (0.7, 1.4), (0.9, 1.0), (1.0, 0.8), (2.7, 0.7))
"""The next step over the last one, by the part of delta that one had: nearly all are then wide, and pass."""
_TILTS = (0.0, 0.4, 0.7, 0.85, 1.0, 1.2, 1.7)
"""Tilts that are tried, in units of a normal law's: any is safe."""
_TRIED = np.geomspace(0.02, 2.0, 9)
"""Epsilons at which a search looks first: the worst distance has one of about 0.1."""
_CLOSER = 33
"""At how many epsilons it looks before it goes through all distances."""
_TOLERANCE = 4e-3
_LARGEST_TILT = math.log1p(2 * LARGEST_ODDS)


@dataclass(frozen=True)
class SignKind:
    """Signs of one function."""

    strength: float  # `t`, in (0, 1)
    # How much the scaled mean changes per unit of `d_em`, above 0. Where it is not finite nothing is shown of it.
    slope: float
    count: int  # How many of them each user sends

    def width(self, distance: float) -> float:
        """Return ``w`` at a distance, rounded up."""
        return min(self.slope * distance * (1 + 1e-15), 2.0)


def signs_delta(epsilon: float, n: int, kinds: Sequence[SignKind], distance: float) -> float:
    """Return the divergence of the theorem at a distance, rounded up.

    Parameters
    ----------
    epsilon : float
        At least 0.
    n : int
        Users, at least 1.
    kinds : sequence of SignKind
        What each user sends, at most :data:`LARGEST_SIGNS` signs.
    distance : float
        ``d``, in (0, 1].

    >>> [f"{signs_delta(0.05, 10_000, [SignKind(0.5, 2.0, count)], 0.5):.1e}" for count in (1, 4)]
    ['2.7e-15', '8.1e-07']
    """
    level = check_range("epsilon", epsilon, 0.0, 700.0)
    users, apart = check_count("n", n), check_range("distance", check_positive("distance", distance), 0.0, 1.0)
    if not kinds or math.fsum(kind.count for kind in kinds) > LARGEST_SIGNS:
        raise UsageError(f"kinds must hold 1 to {LARGEST_SIGNS} signs of a user; pass fewer.")
    if not all(map(_is_within, kinds)):
        return 1.0
    laws = [_law(users, kind.strength) for kind in kinds]
    return _delta(level, laws, [kind.width(apart) for kind in kinds], [kind.count for kind in kinds])


def signs_hold(alpha: float, n: int, delta: float, kinds: Sequence[SignKind]) -> bool:
    """Return whether a user's signs together are ``(alpha, delta)`` at every distance: False where it is not shown.

    >>> kinds = [SignKind(0.5, 2.0, 4)]
    >>> signs_hold(0.2, 10_000, 1e-9, kinds), signs_hold(0.1, 10_000, 1e-9, kinds)
    (True, False)
    """
    level, chance = check_positive("alpha", alpha), check_unit_interval("delta", delta)
    if chance < SMALLEST_DELTA or not all(map(_is_within, kinds)):
        return False
    kinds = _merged(kinds)
    laws, counts = [_law(n, kind.strength) for kind in kinds], [kind.count for kind in kinds]
    last = min(1.0, max(2 / kind.slope for kind in kinds) * (1 + 1e-15))

    def spent(low: float, high: float) -> float:
        """Return the divergence on an interval, over delta."""
        value = _delta(level * low, laws, [kind.width(high) for kind in kinds], counts)
        # whatever the division rounds
        return min(value / chance, 1.0) if value <= chance else max(value / chance, math.nextafter(1.0, 2.0))

    # until so far the total variation is at most delta: that of all signs together is at most the sum
    reached = min(2 * chance / math.fsum(kind.count * kind.strength * kind.slope for kind in kinds) * (1 - 1e-9), last)
    step = 1.0
    while reached < last:
        end = min(reached * (1 + step), last)
        used = spent(reached, end)
        if used <= 1:
            reached = end
        elif step <= LEAST_STEP:
            return False
        step = min(max(step * next((factor for most, factor in _STEPS if used <= most), 0.5), LEAST_STEP), 4.0)
    return True


@lru_cache(maxsize=256)
def signs_alpha0(alpha: float, n: int, delta: float, slopes: tuple[float, ...], messages: int) -> float:
    """Return the largest ``alpha0`` of each sign for a wanted alpha of all of a user's signs, rounded down.

    Parameters
    ----------
    alpha : float
        Wanted, above 0.
    n : int
        Users, at least 1.
    delta : float
        In [0, 1); at 0, or below :data:`SMALLEST_DELTA`, ``alpha`` is divided among the signs.
    slopes : tuple of float
        Of each function.
    messages : int
        Signs of each function that a user sends.

    Raises
    ------
    UsageError
        If there are more than :data:`LARGEST_SIGNS`.

    >>> round(signs_alpha0(1.0, 10_000, 1e-9, (2.0,), 1), 1), round(signs_alpha0(1.0, 10_000, 1e-9, (2.0,), 16), 0)
    (95.2, 12.0)
    """
    total = len(slopes) * check_count("messages", messages)
    if total > LARGEST_SIGNS:
        raise UsageError(f"messages must be at most {LARGEST_SIGNS // len(slopes)} here, got {messages}; pass fewer.")
    if total == 1:
        return metric_alpha0(alpha, n, delta, slopes[0])
    pure = alpha / total * (1 - 1e-15)
    # what one sign may have alone: no more for each of several
    bad = metric_alpha0(alpha, n, delta, max(slopes))
    if delta < SMALLEST_DELTA or bad <= pure:
        return pure

    def kinds(alpha0: float) -> list[SignKind]:
        return _merged([SignKind(sign_strength(alpha0, slope), slope, messages) for slope in slopes])

    def is_near(alpha0: float, tried: Floats = _TRIED) -> bool:
        own = kinds(alpha0)
        if not all(map(_is_within, own)):
            return False
        laws, counts = [_law(n, kind.strength) for kind in own], [kind.count for kind in own]
        distances = sorted({min(epsilon / alpha, 1.0) for epsilon in tried.tolist()}, reverse=True)
        return all(
            _delta(alpha * d, laws, [kind.width(d * (1 + LEAST_STEP)) for kind in own], counts) <= delta
            for d in distances
        )

    good, closer = pure, np.geomspace(_TRIED[0], max(_TRIED[-1], alpha), _CLOSER)
    while bad > good * (1 + _TOLERANCE):
        middle = math.sqrt(good * bad)
        good, bad = (middle, bad) if is_near(middle) else (good, middle)
    while good > pure and not (is_near(good, closer) and signs_hold(alpha, n, delta, kinds(good))):
        good *= 0.98
    return max(good, pure)


def _merged(kinds: Sequence[SignKind]) -> list[SignKind]:
    """Return the same signs, those that are alike as one kind."""
    counts = Counter[tuple[float, float]]()
    for kind in kinds:
        counts[kind.strength, kind.slope] += kind.count
    return [SignKind(strength, slope, count) for (strength, slope), count in counts.items()]


def _is_within(kind: SignKind) -> bool:
    """Say whether a kind is one that is computed here: a bounded change, odds that the law's steps reach.

    A strength may not be lowered to what they reach: the pair of a weaker sign does not dominate.
    """
    return math.isfinite(kind.slope) and _rounded(kind.strength) <= 1 - 1 / (LARGEST_ODDS + 1)


def _rounded(strength: float) -> float:
    return strength * (1 + 1e-13) + CHANCE_ERROR


@lru_cache(maxsize=64)
def _law(n: int, strength: float) -> RatioLaw:
    t = _rounded(strength)
    clone = (1 - t) * (1 - 1e-13)
    return ratio_law(n - 1, math.log1p(2 * t / (1 - t)) * (1 + 1e-14), clone)


def _delta(epsilon: float, laws: Sequence[RatioLaw], widths: Sequence[float], counts: Sequence[int]) -> float:
    pairs = [_losses(law.mirrored(width / 2)) for law, width in zip(laws, widths, strict=True)]
    variance = math.fsum(
        count * float((weights * losses**2).sum()) for (losses, weights), count in zip(pairs, counts, strict=True)
    )
    reach = epsilon + _REACH * math.sqrt(variance) + 1e-300
    step = reach / _HALF
    grids = [_gridded(losses, weights, step) for losses, weights in pairs]
    infinite = math.fsum(count * beyond for (_, beyond), count in zip(grids, counts, strict=True))
    places: Floats = step * np.arange(-_HALF, _HALF, dtype=np.float64)
    known = [(places[masses > 0], masses[masses > 0]) for masses, _ in grids]

    def growth(tilt: float) -> float:
        """Return the logarithm of the total's moment at a tilt."""
        moments = [_log_moment(points, masses, tilt) for points, masses in known]
        return math.fsum(count * moment for moment, count in zip(moments, counts, strict=True))

    guess = max((epsilon - variance / 2) / variance, 0.0) if variance > 0 else 0.0
    growths = {guess * factor: growth(guess * factor) for factor in _TILTS}
    tilt, peak = min(growths.items(), key=lambda one: one[1] - one[0] * epsilon)
    law = _multiplied([masses for masses, _ in grids], counts, places, tilt)
    above = places > epsilon
    gains = -np.expm1(epsilon - places[above]) * np.exp(peak - tilt * places[above])
    error = _ALLOWANCE * (math.fsum(counts) + 32) * float(gains.sum())
    farther = guess + _REACH / math.sqrt(variance) if variance > 0 else 0.0
    growths[farther] = growth(farther)
    beyond = math.exp(min(0.0, *(moment - more * reach for more, moment in growths.items())))
    value = float((law[above] * gains).sum()) * (1 + MARGIN * (math.fsum(counts) + 1))
    # masses that leave the doubles are covered, too
    return (value + error + beyond + infinite) * (1 + 1e-9) + 1e-200


def _losses(law: RatioLaw) -> tuple[Floats, Floats]:
    """Return a pair's losses, and their masses under the first law."""
    losses = np.log1p(law.values)
    with np.errstate(under="ignore"):
        return losses, np.exp(law.log_weights + losses)


def _gridded(losses: Floats, weights: Floats, step: float) -> tuple[Floats, float]:
    """Return the masses of a pair's losses under its first law, and the mass above the window."""
    cells = np.floor(losses / step)
    is_beyond = cells >= _HALF - 1
    infinite = float(weights[is_beyond].sum())
    losses, weights, cells = losses[~is_beyond], weights[~is_beyond], cells[~is_beyond]
    raised = np.maximum(cells, -_HALF)
    # both laws keep their mass; a loss below the window is raised
    upper = np.where(raised > cells, 0.0, np.expm1(cells * step - losses) / math.expm1(-step))
    upper = np.clip(upper, 0.0, 1.0) * weights
    places = (raised + _HALF).astype(np.intp)
    grid = np.bincount(places, weights - upper, _SIZE) + np.bincount(places + 1, upper, _SIZE)
    return np.asarray(grid, dtype=np.float64), infinite


def _log_moment(places: Floats, masses: Floats, tilt: float) -> float:
    powers = tilt * places
    peak = float(powers.max())
    return peak + math.log(float((masses * np.exp(powers - peak)).sum()))


def _multiplied(grids: Sequence[Floats], counts: Sequence[int], places: Floats, tilt: float) -> Floats:
    """Return the tilted law of the sum of all losses, its masses adding up to 1."""
    product = np.ones(_HALF + 1, dtype=np.complex128)
    powers = tilt * places
    for masses, count in zip(grids, counts, strict=True):
        with np.errstate(under="ignore"):
            own = masses * np.exp(np.minimum(powers - powers[masses > 0].max(), 0.0))
        product = product * np.fft.rfft(np.fft.ifftshift(own / own.sum())) ** count
    return np.maximum(np.fft.fftshift(np.fft.irfft(product, _SIZE)), 0.0)
