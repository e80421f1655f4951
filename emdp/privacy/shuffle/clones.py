"""Many moved items by exact steps: the shuffle accountant for any randomizer and any allocation of the movement.

**Theorem** (EMD 3, "[sharper]"). Let ``N`` items, ``m`` of each user, pass an ``alpha0``-``d_X``-DP randomizer on a
space of diameter at most 1 whose positive distances are at least ``w_min``, and let the multiset of outputs be
released. With ``c = alpha/m`` and ``G`` of :mod:`emdp.privacy.shuffle.clone_pair` it is ``(alpha, delta)`` bounded
d_EM-DP if

    ``(e^alpha - 1) G(r*) <= delta``,  ``r* = (tanh(alpha0 w_min/2)/tanh(c w_min/2) - 1)/2``,

which is ``(alpha0 - c)/(2c)`` in the limit ``w_min = 0`` (any space), and a ``r* <= 0`` counts as ``G = 0``.

*Proof.* A user's items move by ``w_1, ..., w_m`` with ``sum w_j = m d``. Move them one by one, step ``j`` at
``eps_j = c w_j``, so that the steps add up to ``alpha d``. By the weak triangle inequality the divergence is at most
``sum_j e^(eps_1+...+eps_(j-1)) delta_step(eps_j; w_j)``. Since ``delta_step(c w; w) = G(r(w)) (e^(c w) - 1)``, the sum
telescopes to at most ``max_w G(r(w)) (e^(alpha d) - 1)``. ``G`` rises with ``r``, and
``r(w) = (tanh(alpha0 w/2)/tanh(c w/2) - 1)/2`` falls with ``w`` where ``alpha0 > c``: the worst step is the smallest.

At ``alpha = 0`` the left side is its limit ``m tanh(alpha0 w_min/2)/w_min E_C[TV(X, Y)]`` (``m alpha0/2`` for
``m tanh/w`` when ``w_min = 0``), a bound of the total variation.

**Search.** Every alpha that meets the condition is valid, though the left side may rise before it falls. The search
asks the condition only at fixed numbers: the powers of two, upwards to the first that meets it, then the dyadic points
of its octave, by bisection. When a parameter makes the condition harder at every alpha, the answer moves up or stays:
the result is monotone in every argument, whatever the shape of the left side. No alpha below ``F(0) - delta`` meets
it, ``F`` being the left side, since ``F(alpha) >= F(0) - alpha``; the powers of two below that are left out. Arguments
are first rounded (:mod:`emdp.privacy.shuffle.grid`), so that rounding errors cannot undo the monotonicity.
"""

import math
from functools import lru_cache

from emdp.base.classes import dataclass
from emdp.privacy.calibration import LARGEST_ALPHA, gaussian_mu
from emdp.privacy.shuffle.clone_pair import CloneMixture
from emdp.privacy.shuffle.grid import (
    ARGUMENT_BITS,
    LARGEST_ALPHA0,
    grid_step,
    on_grid,
    round_counts,
    round_down,
    round_up,
)

__all__ = ["ALPHA_BITS", "clone_alpha", "clone_alpha0", "clone_change", "gaussian_guess"]

ALPHA_BITS = 20
"""Significant bits of the alphas and alpha0s that are tried: one part in a million."""
_LOWEST_OCTAVE = -80
"""Smallest alpha that is tried, as a power of two, besides 0."""


@dataclass(frozen=True)
class _Question:
    """The condition at one ``alpha0``, to be asked at any alpha."""

    alpha0: float
    m: float
    log_delta: float
    w_min: float
    mixture: CloneMixture

    def log_slope(self, tolerance: float | None = None) -> tuple[float, float]:
        """Return a bracket of ``ln F(0)``, as narrow as asked or as it takes to compare it with ``delta``."""
        slope = math.tanh(self.alpha0 * self.w_min / 2) / self.w_min if self.w_min > 0 else self.alpha0 / 2
        factor = math.log(self.m * slope * (1 + 1e-14))
        if tolerance is None:
            low, high = self.mixture.bracket(math.inf, self.log_delta - factor)
        else:
            low, high = self.mixture.bracket(math.inf, tolerance=tolerance)
        return low + factor, high + factor

    def holds(self, alpha: float) -> bool:
        """Return whether ``(e^alpha - 1) G(r*) <= delta``, rounded to the safe side."""
        ratio = self._ratio(alpha)
        return ratio <= 0 or self.mixture.is_below(ratio, self._target(alpha))

    def excess(self, alpha: float, tolerance: float) -> float:
        """Return about ``ln((e^alpha - 1) G(r*)/delta)``."""
        ratio = self._ratio(alpha)
        return self.mixture.bracket(ratio, tolerance=tolerance)[1] - self._target(alpha) if ratio > 0 else -math.inf

    def _target(self, alpha: float) -> float:
        growth = math.log(math.expm1(alpha)) if alpha < 700 else alpha
        return self.log_delta - growth - 1e-9 - 4e-16 * alpha

    def _ratio(self, alpha: float) -> float:
        """Return ``r*``, rounded up; 0 where ``alpha >= m alpha0``."""
        excess = self.m * self.alpha0 * (1 + 4e-16) - alpha
        if excess <= 0:
            return 0.0
        if self.w_min == 0:
            return excess / (2 * alpha) * (1 + 1e-15)
        half = self.w_min / 2
        step = alpha / self.m * half
        # tanh(x)/tanh(y) - 1 = sinh(x - y)/(cosh(x) sinh(y))
        gap = math.sinh(excess / self.m * half)
        return gap / (2 * math.cosh(self.alpha0 * half) * math.sinh(step)) * (1 + 1e-14)


@lru_cache(maxsize=1024)
def clone_alpha(alpha0: float, m: int, N: int, delta: float, w_min: float) -> float:
    """Return the smallest alpha of the fixed grid that the theorem shows, or ``inf`` where it is not used.

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

    >>> round(clone_alpha(1.0, 10, 1000, 1e-6, 0.0), 4)
    2.3883
    """
    if alpha0 > LARGEST_ALPHA0 or delta <= 0:
        return math.inf
    if alpha0 == 0:
        return 0.0
    return _smallest_alpha(_question(round_up(alpha0, ARGUMENT_BITS), *_rounded(m, N, w_min), delta))


def clone_change(alpha0: float, distance: float, N: int, delta: float, w_min: float) -> float:
    """Return the smallest epsilon of the fixed grid that the theorem shows for items that move by a sum of distances.

    The proof asks nothing of ``m`` but that the distances add up to it: items that move by ``w_1, w_2, ...`` with
    ``sum w_j`` at most ``distance`` take steps of ``eps_j = c w_j``, ``c = epsilon/distance``, and the divergence is at
    most ``max_w G(r(w)) (e^epsilon - 1)``.

    Parameters
    ----------
    alpha0, N, delta
        As in :func:`clone_alpha`.
    distance : float
        Sum of the distances, above 0.
    w_min : float
        What every item that moves at all moves by at least, in [0, 1].

    >>> round(clone_change(1.0, 10, 1000, 1e-6, 0.0), 4), round(clone_change(1.0, 2.5, 1000, 1e-6, 0.0), 4)
    (2.3883, 0.5272)
    """
    if alpha0 > LARGEST_ALPHA0 or delta <= 0:
        return math.inf
    _, total = round_counts(1, N)
    question = _question(
        round_up(alpha0, ARGUMENT_BITS),
        round_up(distance, ARGUMENT_BITS),
        total,
        round_down(w_min, ARGUMENT_BITS),
        delta,
    )
    return _smallest_alpha(question)


@lru_cache(maxsize=1024)
def clone_alpha0(alpha: float, m: int, N: int, delta: float, w_min: float) -> float:
    """Return the largest ``alpha0`` of a fixed grid whose :func:`clone_alpha` is at most ``alpha``.

    Parameters
    ----------
    alpha : float
        Wanted, at least 0.
    m, N, delta, w_min
        As in :func:`clone_alpha`.

    Returns
    -------
    float
        0 where it is not above composition's ``alpha/m``.

    >>> round(clone_alpha0(2.3884, 10, 1000, 1e-6, 0.0), 3)
    1.0
    """
    if delta <= 0:
        return 0.0
    items, total, smallest = _rounded(m, N, w_min)

    def fits(step: int) -> bool:
        question = _question(round_up(on_grid(step, ALPHA_BITS), ARGUMENT_BITS), items, total, smallest, delta)
        return _smallest_alpha(question, alpha) <= alpha

    last = grid_step(LARGEST_ALPHA0, ALPHA_BITS)
    pure = grid_step(min(max(alpha / m, 1e-300), LARGEST_ALPHA0), ALPHA_BITS)
    if pure + 2 > last or not fits(pure + 2):
        return on_grid(pure + 1, ALPHA_BITS) if pure < last and fits(pure + 1) else 0.0
    guess = _guess(round_down(alpha, ALPHA_BITS), items, total, smallest, delta)
    first = min(max(grid_step(guess, ALPHA_BITS), pure + 2), last)
    good, bad, stride = pure + 2, last + 1, 1
    if fits(first):
        good = first
        while good + stride <= last and fits(good + stride):
            good, stride = good + stride, 2 * stride
        bad = min(good + stride, bad)
    else:
        bad = first
        while bad - stride > good and not fits(bad - stride):
            bad, stride = bad - stride, 2 * stride
        good = max(bad - stride, good)
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if fits(middle) else (good, middle)
    return on_grid(good, ALPHA_BITS)


def _smallest_alpha(question: _Question, limit: float | None = None) -> float:
    """Return the search's answer; with a limit only a number on the answer's side of it."""
    low, high = question.log_slope()
    if high <= question.log_delta:
        return 0.0
    # F(alpha) >= F(0) - alpha, with what the computed F(0) may be too large by
    start = math.exp(low) * (1 - 1e-6) - math.exp(question.log_delta)
    octave = max(math.frexp(start)[1] - 1 if start > 0 else _LOWEST_OCTAVE, _LOWEST_OCTAVE)
    while not question.holds(math.ldexp(1.0, octave)):
        octave += 1
        if limit is not None and limit <= math.ldexp(1.0, octave - 1):
            return math.inf
    unit = math.ldexp(1.0, octave - ALPHA_BITS)
    good, bad = 1 << ALPHA_BITS, 1 << (ALPHA_BITS - 1)
    while good - bad > 1 and (limit is None or bad * unit < limit < good * unit):
        middle = (good + bad) // 2
        good, bad = (middle, bad) if question.holds(middle * unit) else (good, middle)
    return good * unit


def _question(alpha0: float, m: float, N: int, w_min: float, delta: float) -> _Question:
    clone, rest = math.exp(-alpha0) * (1 - 4e-16), -math.expm1(-alpha0)
    return _Question(alpha0, m, math.log(delta), w_min, CloneMixture(N - 1, clone, rest))


def _guess(alpha: float, m: int, N: int, w_min: float, delta: float) -> float:
    """Return about where the condition at ``alpha`` turns false: a secant on logarithms, kept in a bracket."""
    low, high = math.log(min(alpha / m, LARGEST_ALPHA0)) if alpha > 0 else -100.0, math.log(LARGEST_ALPHA0)
    point = min(max(math.log(gaussian_guess(alpha, m, N, w_min, delta)), low), high)
    slope, last = 2 * (alpha - math.log(delta)), (point, 0.0)
    tolerance = 1e-2
    for _ in range(40):
        value = _excess(math.exp(point), alpha, m, N, w_min, delta, tolerance)
        if value <= 0:
            low = point
        else:
            high = point
        if last[1] and point != last[0] and 10 * tolerance < abs(value - last[1]) < math.inf:
            slope = abs((value - last[1]) / (point - last[0]))
        step = value / slope if math.isfinite(value) else math.inf
        if high - low < 1e-6 or (abs(step) < 5e-7 and tolerance < 1e-3):
            break
        tolerance = 1e-5 if abs(step) < 1e-2 else tolerance
        last, following = (point, value), point - step
        point = following if low < following < high else (low + high) / 2
    return math.exp(point)


def gaussian_guess(alpha: float, m: int, N: int, w_min: float, delta: float) -> float:
    """Return where the Gaussian limit of the clone pairs (technical-notes 1.2) has this alpha: a start, no bound.

    >>> round(gaussian_guess(25.0, 1000, 10**8, 0.0, 1e-12), 1)
    4.0
    """
    if not 0 < alpha <= LARGEST_ALPHA:
        return 1.0
    wanted = gaussian_mu(alpha, delta) * math.sqrt(N) / m
    low, high = 1e-9, LARGEST_ALPHA0
    for _ in range(30):
        middle = math.sqrt(low * high)
        growth = 2 * math.tanh(middle * w_min / 2) / w_min if w_min > 0 else middle
        low, high = (middle, high) if growth * math.exp(middle / 2) < wanted else (low, middle)
    return low


def _excess(alpha0: float, alpha: float, m: int, N: int, w_min: float, delta: float, tolerance: float) -> float:
    """Return about ``ln((e^alpha - 1) G(r*)/delta)``, at ``alpha = 0`` its limit."""
    question = _question(alpha0, m, N, w_min, delta)
    if alpha <= 0:
        return question.log_slope(tolerance)[1] - question.log_delta
    return question.excess(alpha, tolerance)


def _rounded(m: int, N: int, w_min: float) -> tuple[int, int, float]:
    return *round_counts(m, N), round_down(w_min, ARGUMENT_BITS)
