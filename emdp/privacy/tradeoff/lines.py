"""Lines above the trade-off curve of the clone pair: the numbers under :mod:`emdp.privacy.tradeoff.composition`.

The clone pair (EMD 3) is ``C ~ Bin(N-1, e^-alpha0)``, ``A ~ Bin(C, 1/2)``, ``X = (A+1, C-A)``, ``Y = (A, C-A+1)``. For
``t`` in (0, 2] and ``r = 1/t - 1/2`` every event ``S`` has, since a supremum is at least its value at ``S``,

    ``X(S) - Y(S) <= t ((X(S) + Y(S))/2 + G(r))``,  ``G(r) = E_C[G_C(r)]``,  ``G_C(r) = sup_S r X(S) - (1+r) Y(S)``

(both sums given ``C`` in the last). This module bounds ``G(r)`` from above, in logs.

**Given C.** ``X/Y = a/(C+1-a)`` rises in the first count ``a``, so the best event is ``a >= u`` for
``u = floor((1/2 + t/4)(C+1)) + 1``, and ``G_C(r) = r S(u-1) - (1+r) S(u) = f(u-1) (r - S(u)/f(u-1))`` with ``f`` the
probabilities of ``Bin(C, 1/2)``, ``S(j)`` their sum from ``j`` on. ``f`` comes from Stirling's series with the entropy
term in a form that does not cancel; ``S(u)`` from the continued fraction of the incomplete beta function, whose terms
are all positive for ``u > (C+1)/2``: convergents of odd order are below ``S(u)``, so they put ``G_C`` above its value
however few terms are taken, and the fraction ends by itself after ``C - u + 1`` terms.

**Over C.** ``G_C`` falls with ``C``: the pair with one clone more is a post-processing of the pair with one less (toss
its coin). So the values at the lowest ``C`` of each cell, weighted by a law of cells that puts at least as much mass on
low counts as ``C`` does, are above ``G``. A cell is all numbers with the same leading bits, fewer bits far below the
mean.

**Monotone.** Slopes and cells are public grids. With a smaller ``alpha0`` or a larger ``N`` the mean of ``C`` is
larger, the bound at each slope is smaller, and slopes are only added, at the flat end: what is built on these lines is
monotone, but for rounding and for the few terms and cells that far tails get.

*Numerics.* Double precision; the relative error of a value is below 1e-8 (measured in the tests) and each is raised by
1e-6; cumulative masses are raised by :func:`~emdp.privacy.binomial_tails.log_margin` besides. Nothing is cut off: the
mass below the lowest cell counts at ``C = 0``.

References
----------
DiDonato and Morris, Algorithm 708, ACM TOMS 18 (1992), eq. for BFRAC (the continued fraction).
"""

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from emdp.privacy.binomial_tails import log_margin, log_tail

__all__ = ["STEEPEST", "clone_lines"]

_Array = npt.NDArray[np.float64]

STEEPEST = 2.0
"""The slope t of the pure line: X - Y <= X + Y."""
_MARGIN = 1e-6
"""Added to every ln G: more than the rounding of a double, see the module's numerics."""
_RATIO_MARGIN = 1e-12
"""Relative to r, added to r - S(u)/f(u-1), which cancels to r/z^2 at z standard deviations."""
_TERMS = ((4.0, 31), (6.0, 15), (9.0, 9), (14.0, 5), (math.inf, 3))
"""Terms of the fraction for slopes up to so many standard deviations: odd, so that it is a lower bound, and enough."""
_STEP = 0.01
"""The slopes are ``2 e^(-0.01 k)``."""
_TIERS = ((2.0, 1), (0.6, 2), (0.2, 8), (1e-3, 64))
"""Every slope from 2 standard deviations up is used, every second from 0.6, and so on."""
_NEAR = STEEPEST - np.geomspace(1e-4, 0.015, 6)
"""Slopes closer to 2, for few clones."""
_HIGHEST = 38.0
"""Slopes of more standard deviations are left out, but for 2 itself."""
_FINE_BITS, _COARSE_BITS = 10, 5
"""Leading bits of a count that name its cell, near the mean and far below it."""
_FAR, _FARTHEST, _ABOVE = 9.0, 38.0, 3.0
"""Far, the lowest cell but 0, and the highest, in standard deviations from the mean."""
_TABLED = 1024
"""Below this many clones the tails of fair coins come from a table."""
_LARGEST_COUNT = 10**12
"""More other items count as so many, which only raises G."""
_FLOOR = -640.0
"""Lines whose ln G is below are dropped (1e-278); the pure line (G = 0) stands for them."""
_ALMOST = -1 + 2.0**-53
"""The number in place of -1 in a logarithm that is multiplied by 0."""
_SMALL_FACTORIALS = np.array([0.0] + [math.lgamma(n + 1) - n * math.log(n) + n for n in range(1, 16)])
"""ln n! - n ln n + n for n below 16."""


def clone_lines(alpha0: float, N: int) -> tuple[_Array, _Array]:
    """Return slopes ``t`` and upper bounds of ``G(1/t - 1/2)``: lines above the clone pair's trade-off curve.

    Parameters
    ----------
    alpha0 : float
        Of the randomizer, per unit of ``d_X``, above 0.
    N : int
        Items shuffled together, at least 1.

    Returns
    -------
    tuple of numpy.ndarray
        Each of shape (number of lines,): slopes rising to 2, and bounds, the last of them 0 (the pure line).

    References
    ----------
    EMD 3, "Numeric accountant": ``G(r)``; proofs in this module's docstring.

    >>> slopes, gaps = clone_lines(1.0, 1)
    >>> slopes[-1], gaps[-1], bool(np.allclose(gaps[:-1], 1 / slopes[:-1] - 1 / 2, rtol=1e-5))
    (np.float64(2.0), np.float64(0.0), True)
    """
    others = min(N - 1, _LARGEST_COUNT)
    mean = others * math.exp(-alpha0)
    counts, log_weights = _cells(others, alpha0)
    slopes = _slopes(mean)
    small = np.searchsorted(counts, _TABLED)
    logs = np.concatenate([_tabled_log_gap(counts[:small], slopes), _log_gaps(counts[small:], slopes, mean)])
    logs += log_weights[:, None]
    top = np.max(logs, axis=0)
    log_gaps = top + np.log(np.sum(np.exp(logs - top), axis=0)) + _MARGIN
    kept = log_gaps > _FLOOR
    return np.append(slopes[kept], STEEPEST), np.append(np.exp(log_gaps[kept]), 0.0)


def _slopes(mean: float) -> _Array:
    """Return the slopes below 2, rising; ``z = t sqrt(mean + 1)/2`` is the place of their event in deviations."""
    scale = math.log(math.sqrt(mean + 1))
    first = max(1, math.ceil((scale - math.log(_HIGHEST)) / _STEP))
    numbers = []
    for lowest, stride in _TIERS:
        last = math.floor((scale - math.log(lowest)) / _STEP)
        numbers.append(np.arange(-(-first // stride) * stride, last + 1, stride))
    slopes = STEEPEST * np.exp(-_STEP * np.unique(np.concatenate(numbers)))
    return np.unique(np.concatenate([slopes, _NEAR])) if first == 1 else slopes[::-1]


def _cells(n: int, alpha0: float) -> tuple[_Array, _Array]:
    """Return the lowest count of each cell, and ln of its mass under a law with at least as much mass below."""
    mean, missed = n * math.exp(-alpha0), -math.expm1(-alpha0)
    deviation = math.sqrt(mean * missed)
    far = max(math.floor(mean - _FAR * deviation), 0)
    coarse = _cell_starts(max(math.floor(mean - _FARTHEST * deviation), 0), far, _COARSE_BITS)
    fine = _cell_starts(far, min(math.ceil(mean + _ABOVE * deviation), n), _FINE_BITS)
    starts = np.unique(np.concatenate([[0.0], coarse, fine]))
    log_cumulative = np.concatenate([[-np.inf], _log_below(starts[1:], n, alpha0), [0.0]])
    with np.errstate(divide="ignore", invalid="ignore"):
        share = -np.expm1(log_cumulative[:-1] - log_cumulative[1:])
        log_weights = np.where(share > 0, log_cumulative[1:] + np.log(share), -np.inf)
    return starts, log_weights


def _cell_starts(low: int, high: int, bits: int) -> _Array:
    """Return all numbers up to ``high`` with zeros after the leading ``bits`` bits, from the last one up to ``low``."""
    shift = max(low.bit_length() - bits, 0)
    low = low >> shift << shift
    numbers = [np.arange(low, min(high, 2**bits - 1) + 1)]
    for length in range(max(low.bit_length(), bits + 1), high.bit_length() + 1):
        unit = 2 ** (length - bits)
        first, last = max(low, 2 ** (length - 1)), min(high, 2**length - 1)
        numbers.append(np.arange(-(-first // unit) * unit, last + 1, unit))
    return np.concatenate(numbers).astype(np.float64)


def _log_below(k: _Array, n: int, alpha0: float) -> _Array:
    """Return upper bounds of ``ln P(C < k)``, none above 0, never falling with ``k``, for rising ``0 < k <= n``."""
    if k.size == 0:
        return k
    clone, rest = math.exp(-alpha0), -math.expm1(-alpha0)
    left = k <= n * clone
    logs = np.zeros_like(k)
    logs[left] = log_tail(float(n), n - k[left] + 1, rest, clone)
    logs[left] += log_margin(-float(np.min(logs[left], initial=0.0)), float(n))
    # above the mean the complement is at most about a half, and is lowered by more than its error
    above = log_tail(float(n), k[~left], clone, rest)
    above -= log_margin(-float(np.min(above, initial=0.0)), float(n))
    with np.errstate(divide="ignore"):
        logs[~left] = np.log1p(-np.exp(above))
    return np.asarray(np.minimum(np.maximum.accumulate(logs), 0.0), dtype=np.float64)


def _tabled_log_gap(count: _Array, t: _Array) -> _Array:
    """Return ``ln G_C(1/t - 1/2)``, slightly raised, counts by slopes, for counts below ``_TABLED``."""
    ratios, halves = _tables()
    r = 1 / t - 0.5
    u = np.floor((0.5 + t / 4) * (count[:, None] + 1)) + 1
    place = (count[:, None] * (ratios.shape[1] + 1) + 1 - u).astype(np.int64)
    rest = np.maximum(r - ratios.ravel()[place], 0.0) + _RATIO_MARGIN * r
    return np.asarray(halves.ravel()[place] + np.log(rest), dtype=np.float64)


@lru_cache(maxsize=1)
def _tables() -> tuple[_Array, _Array]:
    """Return ``S(u)/f(u-1)`` and ``ln f(u-1)`` for ``Bin(C, 1/2)``, at ``[C, C+1-u]``, for ``u > (C+1)/2``.

    ``S(u)/f(u-1) = (C+1-u)/u (1 + S(u+1)/f(u))``: sums of positive numbers, exact but for rounding.
    """
    count = np.arange(_TABLED, dtype=np.float64)[:, None]
    place = np.arange(_TABLED // 2 + 1, dtype=np.float64)
    steps = place / np.maximum(count + 1 - place, 1.0)
    ratios = np.zeros(steps.shape)
    for i in range(1, len(place)):
        ratios[:, i] = np.where(2 * i <= count[:, 0] + 1, steps[:, i] * (1 + ratios[:, i - 1]), 0.0)
    log_steps = np.zeros(steps.shape)
    log_steps[:, 1:] = -np.log(steps[:, 1:])
    return ratios, np.cumsum(log_steps, axis=1) - count * math.log(2)


def _log_gaps(counts: _Array, slopes: _Array, mean: float) -> _Array:
    """Return upper bounds of ``ln G_C(1/t - 1/2)``, counts by slopes, by the continued fraction."""
    deviations = slopes * math.sqrt(mean + 1) / 2
    parts, low = [], -math.inf
    for high, terms in _TERMS:
        chosen = slopes[(deviations > low) & (deviations <= high)]
        parts.append(_log_gap(counts[:, None], chosen[None, :], terms))
        low = high
    return np.concatenate(parts, axis=1)


def _log_gap(count: _Array, t: _Array, terms: int) -> _Array:
    """Return an upper bound of ``ln G_C(1/t - 1/2)``, arrays broadcast."""
    r = 1 / t - 0.5
    u = np.floor((0.5 + t / 4) * (count + 1)) + 1
    rest = np.maximum(r - _tail_ratio(count, u, terms), 0.0) + _RATIO_MARGIN * r
    return np.asarray(_log_half(count, u - 1) + np.log(rest), dtype=np.float64)


def _tail_ratio(count: _Array, u: _Array, terms: int) -> _Array:
    """Return a lower bound of ``S(u)/f(u-1)`` for ``Bin(count, 1/2)`` and ``(count+1)/2 < u <= count+1``."""
    b = count - u + 1
    excess = (u - b) / 2 + 1
    tail = np.zeros_like(u)
    for k in range(terms, 0, -1):
        place = u + 2 * k
        # beyond k = b the fraction has ended: its numerator at b is 0, and the maxima only keep what follows finite
        share = k * (b - k) / (place - 1)
        low = np.maximum(k + share / 2 + (u + k) * (excess + 1.5 * k) / (place + 1), 1.0)
        tail = np.maximum((u + k - 1) * (count + k) * share / (4 * (place - 1)), 0.0) / (low + tail)
    return np.asarray(b / (2 * (u / (u + 1) * excess + tail)), dtype=np.float64)


def _log_half(count: _Array, j: _Array) -> _Array:
    """Return ``ln P(Bin(count, 1/2) = j)``."""
    x = (2 * j - count) / np.maximum(count, 1.0)
    entropy = count / 2 * (_bregman(x) + _bregman(-x))
    return _log_stirling(count) - _log_stirling(j) - _log_stirling(count - j) - entropy


def _bregman(x: _Array) -> _Array:
    """Return ``(1+x) ln(1+x) - x`` for ``x >= -1``."""
    return np.asarray((1 + x) * np.log1p(np.maximum(x, _ALMOST)) - x, dtype=np.float64)


def _log_stirling(n: _Array) -> _Array:
    """Return ``ln n! - n ln n + n``."""
    large = np.maximum(n, 16.0)
    series = 0.5 * np.log(2 * np.pi * large) + (1 / 12 - (1 / 360 - 1 / (1260 * large**2)) / large**2) / large
    small = _SMALL_FACTORIALS[np.minimum(n, 15.0).astype(np.int64)]
    return np.where(n < 16, small, series)
