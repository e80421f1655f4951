"""Item-wise release: the composition of trade-off functions over a user's items, for any randomizer and allocation.

**Setting** (EMD 3). Bags ``K``, ``K'`` of ``m`` items, shuffled among ``N``; the other ``N - m`` items are arbitrary.
The randomizer is ``alpha0``-``d_X`` private and ``d_X <= 1``. ``P``, ``Q``: laws of the released multiset.

**Theorem.** For ``0 < t <= 2`` let ``G(t)`` be a line's gap (:mod:`emdp.privacy.tradeoff.lines`) and
``phi_t(w) = 2 artanh((t/2) tanh(alpha0 w/2))``. Let ``d = d_EM(K, K') > 0``, let different items
be at least ``w_min`` apart, and ``cap f(d) = f(d)`` for ``d >= w_min``, else ``f(w_min) d/w_min``. For every event
``S``, and with ``P``, ``Q`` exchanged:

1. *One line.* ``P(S) <= e^x Q(S) + (e^x - 1) G(t)``, ``x = m cap phi_t(d)``.
2. *Many lines.* Steps of times ``theta_j`` and lines of rates ``s(t) = 2 artanh((t/2) T)/T`` and gaps ``G(t)`` satisfy
   the hypothesis of :mod:`emdp.privacy.tradeoff.flow`, where ``theta_j <= T = tanh(alpha0/2)`` and
   ``sum_j theta_j <= m cap tanh(alpha0 ./2)(d)``. So its conclusion holds.

*Proof.* An optimal plan matches items at distances ``w_1, ..., w_m`` with ``sum w_j = m d``, each 0 or in
``[w_min, 1]``. Exchange them one at a time; those at distance 0 change nothing.

*A step.* The laws before and after a move by ``w`` are images under one kernel of ``P_w = M + (theta/2)(X - Y)`` and
``Q_w = M - (theta/2)(X - Y)``, ``M = (X + Y)/2``, ``theta = tanh(alpha0 w/2)``: EMD 3's clone pair, where
``b = (1 - theta)/2``. Any event of the image is a ``[0, 1]``-valued test ``f`` of the pair. Let ``D``, ``M`` be the
sums of ``f`` under ``X - Y`` and ``M``. As ``D <= t (M + G)``, ``P_w(f) - Q_w(f) = theta D`` is at most
``theta t ((P_w(f) + Q_w(f))/2 + G)``, which rearranged reads

    ``P_w(f) + G <= (Q_w(f) + G) (1 + theta t/2)/(1 - theta t/2) = (Q_w(f) + G) e^(phi_t(w))``.

The pair is alike in both directions, so this holds for ``P``, ``Q`` exchanged too.

*All steps.* With one ``t`` the steps multiply: ``P(S) + G <= (Q(S) + G) e^(sum phi_t(w_j))``. With ``y = tanh(alpha0
w/2)``, ``phi_t' = (t alpha0/2) (1 - y^2)/(1 - t^2 y^2/4)`` falls with ``w`` since ``t <= 2``: ``phi_t`` is concave and
0 at 0, so ``cap phi_t`` is concave, and at least ``phi_t`` at 0 and on ``[w_min, 1]``; by Jensen ``sum phi_t(w_j) <= m
cap phi_t(d)``. This is 1. In the same way ``sum theta_j <= m cap tanh(alpha0 ./2)(d)``, as ``tanh`` is concave. Last,
``artanh`` is convex and 0 at 0, so ``phi_t(w) = 2 artanh((t/2) theta) <= s(t) theta`` for ``theta <= T``. This is 2. ∎

**What it gains.** EMD 3's hybrid is one line at the rate of ``w -> 0``. But a whole unit of ``d_EM`` cannot be walked
in short moves: ``m`` items at mean distance ``d`` have at most ``m tanh(alpha0 d/2)``, not ``m alpha0 d/2``. That is
most of the gain in spaces with close points. Changing the line along the chain is composition of trade-off functions:
their curve is the lower envelope of its lines, and composition follows the envelope. That is most of the gain at the
0/1 metric, where it is what ``mu``'s adding up would give in the Gaussian limit.

**All distances.** ``alpha`` must satisfy ``H_{exp(alpha d)}(P‖Q) <= delta`` for every ``d`` in (0, 1]. These are cut
into public cells ``[d_low, d_high]``. One line that meets delta at ``d_high`` meets it in the whole cell, and
``cap phi_t(d)/d`` falls with ``d`` (concave, 0 at 0): ``alpha = m cap phi_t(d_low)/d_low`` suffices. Many lines with
``E_n + omega = epsilon`` at the time ``Theta(d_high)`` certify ``epsilon - s_1 (Theta(d_high) - Theta(d))`` at ``d``;
over ``d`` this too, divided by ``d``, falls, since ``epsilon >= s_1 Theta(d_high)``: its value at ``d_low`` suffices.
Below the lowest cell one line does, with the slope of ``cap phi_t`` at 0. The same up to ``d = 1`` is the hybrid, and
for ``t = 2`` the sum ``m alpha0``; the least is returned.

*Numerics.* Gaps, times and exponents are raised, delta is lowered, by more than double rounding (see the two modules).
"""

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from emdp.base.checks import check_count, check_positive, check_range, check_unit_interval
from emdp.base.errors import UsageError
from emdp.privacy.tradeoff.flow import SPARE, STEPS, Flow
from emdp.privacy.tradeoff.lines import STEEPEST, clone_lines

__all__ = ["tradeoff_alpha"]

_Array = npt.NDArray[np.float64]
_Integers = npt.NDArray[np.int64]

_LOWEST_EXPONENT = 0.2
"""The cells of distance begin where ``alpha d`` is about this; below it one line is used."""
_OCTAVES = 20
"""Octaves of distance that are cut into cells at most."""
_FURTHER = 5
"""Octaves that are added when the first are too few."""
_GROUPS, _CELLS = 16, 8
"""Groups of cells in an octave, cells in a group: alpha is then within about 0.3 % of a finer cut's."""
_BATCH = 16
"""Groups that are looked into at a time."""
_ROUGH_STEPS = 18
"""Bisection steps for the bound of a group."""
_SMALLEST_RATE, _SMALLEST_DISTANCE = 1e-9, 1e-6
"""A smaller alpha0 counts as the first, a smaller w_min as 0: both weaken the bound, and nothing underflows."""
_FINER = 4
"""Means of two neighbouring lines that are tried where one of them is valid."""
_ROUNDING = 1e-9
"""Relative, on times, exponents and the result, computed to 1e-13; a flow's exponents add a margin of their own."""
_LARGEST_EXPONENT = 650.0
"""Largest exponent of a line whose gap is not 0."""


def tradeoff_alpha(alpha0: float, m: int, N: int, delta: float, w_min: float = 0.0) -> float:
    """Return an alpha at which ``m`` items of a user, shuffled among ``N``, are ``(alpha, delta)`` bounded d_EM-DP.

    Parameters
    ----------
    alpha0 : float
        Of the randomizer, per unit of ``d_X``, in (0, 700].
    m : int
        Items of each user, at least 1.
    N : int
        Items shuffled together, at least ``m`` (``m`` itself in the local model).
    delta : float
        In (0, 1).
    w_min : float
        A lower bound of the distance between different items, in [0, 1] (0/1 metric: 1).

    Returns
    -------
    float
        Rounded up; at most about ``m alpha0`` and about EMD 3's hybrid, which are among the compositions tried.

    Guarantee
    ---------
    The module's theorem: any randomizer, any allocation of the distance to the items, every distance in (0, 1].

    References
    ----------
    EMD 3, "Numeric accountant", whose hybrid gives 25.0 for the example; technical-notes.md 1.6.

    >>> round(tradeoff_alpha(3.849, 1000, 10**8, 1e-12), 1)
    17.5
    """
    rate = check_range("alpha0", check_positive("alpha0", alpha0), 0.0, 700.0)
    items = check_count("m", m)
    shuffled = check_count("N", N)
    if shuffled < items:
        raise UsageError(f"N must be at least m = {items}, got {shuffled}; pass the items of all users together.")
    target = check_unit_interval("delta", delta)
    apart = check_range("w_min", w_min, 0.0, 1.0)
    return _alpha(max(rate, _SMALLEST_RATE), items, shuffled, target, apart if apart >= _SMALLEST_DISTANCE else 0.0)


@lru_cache(maxsize=1024)
def _alpha(alpha0: float, m: int, shuffled: int, delta: float, w_min: float) -> float:
    slopes, gaps = _lines(alpha0, shuffled)
    chain = _Chain(alpha0, m, w_min, delta, slopes, gaps)
    below = chain.alphas_below(np.exp2(-np.arange(_OCTAVES + 1.0)))
    # more octaves of cells are never worse: the cells' alpha is at most about what one line gives below
    octaves = min(max(0, math.ceil(math.log2(below[0] / _LOWEST_EXPONENT))), _OCTAVES)
    cells = chain.largest_alpha(0, octaves)
    while below[octaves] > cells * (1 + 4 * _ROUNDING) and octaves < _OCTAVES:
        further = min(octaves + _FURTHER, _OCTAVES)
        cells, octaves = max(cells, chain.largest_alpha(octaves, further)), further
    return float(min(below[0], max(cells, below[octaves])) * (1 + _ROUNDING))


_lines = lru_cache(maxsize=16)(clone_lines)


class _Chain:
    """The steps between two bags: what each line costs at a distance, and the flow of all lines."""

    def __init__(self, alpha0: float, m: int, w_min: float, delta: float, slopes: _Array, gaps: _Array) -> None:
        self._alpha0, self._m, self._w_min, self._delta = alpha0, m, w_min, delta
        self._slopes, self._gaps, self._heights = slopes, gaps, slopes * gaps
        self._longest = math.tanh(alpha0 / 2)
        exponents = _exponents(slopes, np.array([1.0]), alpha0)[0]
        self._flow = Flow.from_lines(exponents / self._longest, gaps)

    def largest_alpha(self, first: int, last: int) -> float:
        """Return the largest alpha of the cells in these octaves of distance, the first of which ends at 1.

        An alpha of a group of cells bounds those of its cells, so few groups must be looked into.
        """
        groups = np.arange(first * _GROUPS, last * _GROUPS)
        bounds = self._alphas(groups * _CELLS, (groups + 1) * _CELLS, _ROUGH_STEPS)
        order = np.argsort(-bounds)
        largest, done = 0.0, 0
        while done < len(order) and bounds[order[done]] > largest:
            chosen = order[done : done + _BATCH]
            cells = (groups[chosen, None] * _CELLS + np.arange(_CELLS)).ravel()
            largest, done = max(largest, float(np.max(self._alphas(cells, cells + 1)))), done + _BATCH
        return largest

    def alphas_below(self, distances: _Array) -> _Array:
        """Return alphas that one line certifies at every distance up to these."""
        if self._w_min > 0:
            slopes = _exponents(self._slopes, np.array([self._w_min]), self._alpha0)[0] / self._w_min
        else:
            slopes = self._slopes * self._alpha0 / 2
        return np.asarray(self._m * slopes[self._first_valid(distances)] * (1 + _ROUNDING), dtype=np.float64)

    def _alphas(self, start: _Integers, stop: _Integers, steps: int = STEPS) -> _Array:
        """Return for each cell, from ``2^(-stop/n)`` to ``2^(-start/n)``, an alpha that holds in it."""
        low, high = np.exp2(-stop / (_GROUPS * _CELLS)), np.exp2(-start / (_GROUPS * _CELLS))
        longer, shorter = self._times(high), self._times(low)
        epsilons, rates = self._flow.epsilons(longer, self._longest, self._delta, steps)
        many = epsilons - rates * (longer - shorter)
        return np.asarray(np.minimum(self._one_line(low, high), many) / low, dtype=np.float64)

    def _one_line(self, low: _Array, high: _Array) -> _Array:
        """Return the exponent at ``low`` of a line that meets delta at ``high``: the flattest, or a mean below it."""
        first = self._first_valid(high)
        before = np.maximum(first - 1, 0)
        share = np.arange(_FINER) / _FINER
        slopes = self._slopes[before, None] * (1 - share) + self._slopes[first, None] * share
        heights = self._heights[before, None] * (1 - share) + self._heights[first, None] * share
        valid = self._meets_delta(self._line_exponents(slopes, high), heights / slopes * (1 + _ROUNDING))
        exponents = np.where(valid, self._line_exponents(slopes, low), np.inf)
        flattest = self._line_exponents(self._slopes[first, None], low)[:, 0]
        return np.asarray(np.minimum(np.min(exponents, axis=1), flattest), dtype=np.float64)

    def _first_valid(self, distances: _Array) -> _Integers:
        """Return the number of the flattest line that meets delta at each distance; the pure line always does."""
        valid = self._meets_delta(self._line_exponents(self._slopes[None, :], distances), self._gaps)
        return np.asarray(np.argmax(valid, axis=1), dtype=np.int64)

    def _meets_delta(self, exponents: _Array, gaps: _Array) -> npt.NDArray[np.bool_]:
        spent = np.expm1(np.minimum(exponents, _LARGEST_EXPONENT)) * gaps
        within = (exponents <= _LARGEST_EXPONENT) | (gaps == 0)
        return np.asarray((spent <= self._delta * (1 - SPARE)) & within, dtype=np.bool_)

    def _line_exponents(self, slopes: _Array, distances: _Array) -> _Array:
        """Return ``m cap phi_t(d)``, distances by lines."""
        w, share = self._moves(distances)
        return self._m * (1 + _ROUNDING) * share[:, None] * _exponents(slopes, w, self._alpha0)

    def _times(self, distances: _Array) -> _Array:
        """Return the most time that steps at these distances can have in all."""
        w, share = self._moves(distances)
        return np.asarray(self._m * (1 + _ROUNDING) * share * np.tanh(self._alpha0 * w / 2), dtype=np.float64)

    def _moves(self, distances: _Array) -> tuple[_Array, _Array]:
        """Return lengths and shares of moves that cost the concave bound of moves of 0 or at least ``w_min``."""
        if self._w_min == 0:
            return distances, np.ones_like(distances)
        return np.maximum(distances, self._w_min), np.minimum(distances / self._w_min, 1.0)


def _exponents(slopes: _Array, w: _Array, alpha0: float) -> _Array:
    """Return ``phi_t(w)``, distances by slopes; ``alpha0 w`` at ``t = 2``."""
    y = slopes / 2 * np.tanh(alpha0 * w / 2)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = np.log1p(2 * y / (1 - y))
    return np.where(slopes < STEEPEST, inside, alpha0 * w[:, None])
