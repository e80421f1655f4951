"""A lower bound beside the accountants: the best of a family of explicit attacks on item-wise release.

**The attacks.** Items ``x0``, ``x1`` lie at distance ``w``, a third, ``x*``, at distance 1 from both. One user moves
``j`` of ``m`` items from ``x0`` to ``x1``, so ``d = w j/m``; the other ``N - j`` items are at ``x*``. The event is
``T >= t``, ``T`` the number of outputs ``a`` minus that of outputs ``b``. With ``p = e^(alpha0 w)`` the laws on
``(a, b, rest)`` are ``(1-z) (p, 1)/(1+p), z`` for ``x0``, the same with ``a`` and ``b`` exchanged for ``x1``, and
``s, s, 1 - 2s`` for ``x*``:

- *three symbols*: ``s = e^-alpha0 (1-z) p/(1+p)`` and ``z = e^-alpha0 (1 - 2s)``, the least noise;
- *two symbols*: ``z = 0``, ``s = 1/2``.

Every ratio of two laws is at most ``e^(alpha0 distance)`` (tested), so this is an ``alpha0``-``d_X``-DP randomizer.

**Claim.** If ``P(T >= t) - e^eps Q(T >= t) > delta`` then no ``alpha`` with ``alpha d <= eps`` is valid together with
``delta``, for any accountant of all randomizers. By symmetry ``Q(T >= t) = P(T <= -t)``, and the largest such ``eps``
is ``ln((P(T >= t) - delta)/P(T <= -t))``.

**What is rigorous.** The two tails are exact sums, not a Gaussian limit: ``T`` is a sum of independent steps, whose law
under an exponential tilt that centres it on the event is a discrete Fourier transform of a known function; untilting
keeps the relative precision of tails of 1e-40. ``P`` is taken from below and ``Q`` from above: by the mass that wraps
around in the transform (Chernoff's bound), by what lies beyond the transform's window, and by an allowance for double
rounding of ``1e-10 + 2e-15 N`` of the largest tilted probability, ten times what was measured or more (tests). Rounding
is covered by that allowance, not by interval arithmetic. Which attack is tried is chosen in its Gaussian limit, which
needs no proof.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from emdp.base.arrays import Floats
from emdp.base.checks import check_count, check_positive, check_range, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.privacy.calibration import gaussian_alpha

__all__ = ["ShuffleAttack", "attack_laws", "shuffle_attack"]

Complexes = npt.NDArray[np.complex128]

_ALLOWANCE, _ALLOWANCE_PER_ITEM = 1e-10, 2e-15
"""Rounding allowed for in each tilted probability, relative to the largest: a part that grows with the items, whose
logarithms near the frequency pi are rounded at 1e-16 each."""
_REACH = 16.0
"""Half-width of the transform's window in tilted standard deviations."""
_SMALL = 2048
"""Up to this many items the transform holds the whole law."""
_LONGEST = 1 << 22
"""Longest transform."""
_TRIALS = 4
"""Attacks that are computed, the best in the Gaussian limit."""
_SAFETY = 1 - 1e-12
"""Factor on ``alpha0`` that keeps the rounded laws within it."""


@dataclass(frozen=True)
class ShuffleAttack:
    """An explicit attack: two bags and an event that refute every smaller alpha."""

    alpha: float  # No alpha below it is valid with this delta; 0 where the attack shows nothing
    w: float  # Distance that the items move
    moved: int  # How many of the user's items move
    symbols: int  # 3 or 2: which randomizer (see the module)
    threshold: int  # The event: outputs `a` exceed outputs `b` by at least this many


@dataclass(frozen=True)
class _Design:
    """``T`` under ``P``: ``moved`` steps of drift ``theta`` and rest ``z``, ``others`` steps ``+-1`` of mass ``s``."""

    w: float
    moved: int
    others: int
    symbols: int
    z: float
    s: float
    theta: float

    def log_growth(self, x: Any) -> Complexes:
        """Return ``ln E exp(x T)``, accurate for small ``x``."""
        spread = 2 * np.sinh(x / 2) ** 2
        own = _log1p((1 - self.z) * (spread + self.theta * np.sinh(x)))
        return self.others * _log1p(2 * self.s * spread) + self.moved * own

    def moments(self, tilt: float) -> tuple[float, float]:
        """Return mean and variance of ``T`` under the tilt."""
        grow, slant = math.cosh(tilt), math.sinh(tilt)
        total = 1 + 2 * self.s * (grow - 1)
        first, second = 2 * self.s * slant / total, 2 * self.s * grow / total
        own = 1 + (1 - self.z) * (grow - 1 + self.theta * slant)
        own_first = (1 - self.z) * (slant + self.theta * grow) / own
        own_second = (1 - self.z) * (grow + self.theta * slant) / own
        mean = self.others * first + self.moved * own_first
        return mean, self.others * (second - first**2) + self.moved * (own_second - own_first**2)


def shuffle_attack(alpha0: float, m: int, N: int, delta: float, w_min: float = 0.0) -> ShuffleAttack:
    """Return an attack that refutes every smaller alpha: a lower bound of any accountant for all randomizers.

    Parameters
    ----------
    alpha0 : float
        In (0, 12].
    m, N : int
        Items of one user and of all, ``1 <= m <= N``.
    delta : float
        In (0, 1).
    w_min : float
        Smallest positive distance in the attacked space, in [0, 1].

    >>> attack = shuffle_attack(1.0, 1000, 10**8, 1e-12)
    >>> attack.symbols, round(attack.alpha, 2)
    (3, 0.85)
    """
    strength = check_range("alpha0", check_positive("alpha0", alpha0), 0.0, 12.0)
    items, total = check_count("m", m), check_count("N", N)
    if total < items:
        raise UsageError(f"N must be at least m = {items}, got {total}; pass the number of items of all users.")
    target, smallest = check_unit_interval("delta", delta), check_range("w_min", w_min, 0.0, 1.0)
    planned = sorted(_planned(strength, items, total, target, smallest), key=lambda plan: -plan[0])
    best = ShuffleAttack(0.0, 1.0, items, 2, 0)
    for goal, design in planned[:_TRIALS]:
        found = _evaluated(design, goal * design.w * design.moved / items, target, items)
        best = max(best, found, key=lambda attack: attack.alpha)
    return best


def attack_laws(alpha0: float, w: float, symbols: int) -> Floats:
    """Return the laws of ``x0``, ``x1`` and ``x*`` on the outputs ``a``, ``b`` and the rest, shape (3, 3).

    >>> print(np.round(attack_laws(1.0, 1.0, 2), 4))
    [[0.7311 0.2689 0.    ]
     [0.2689 0.7311 0.    ]
     [0.5    0.5    0.    ]]
    """
    design = _design(alpha0, w, 1, 2, symbols)
    high, low = (1 - design.z) * (1 + design.theta) / 2, (1 - design.z) * (1 - design.theta) / 2
    return np.array([[high, low, design.z], [low, high, design.z], [design.s, design.s, 1 - 2 * design.s]])


def _design(alpha0: float, w: float, moved: int, N: int, symbols: int) -> _Design:
    strength = alpha0 * _SAFETY
    theta = math.tanh(strength * w / 2)
    if symbols == 2:
        return _Design(w, moved, N - moved, 2, 0.0, 0.5, theta)
    shrink, share = math.exp(-strength), (1 + theta) / 2
    z = shrink * (1 - 2 * shrink * share) / (1 - 2 * shrink**2 * share)
    return _Design(w, moved, N - moved, 3, z, shrink * (1 - z) * share, theta)


def _planned(alpha0: float, m: int, N: int, delta: float, w_min: float) -> list[tuple[float, _Design]]:
    """Return attacks with the alpha that each refutes in its Gaussian limit."""
    widths = [w for w in np.geomspace(0.01, 1.0, 25).tolist() if w >= w_min] or [1.0]
    plans = []
    for moved in {m, max(m // 2, 1), max(m // 10, 1)}:
        for w in widths:
            for symbols in (2, 3):
                design = _design(alpha0, w, moved, N, symbols)
                mean, variance = design.moments(0.0)
                distance = w * moved / m
                plans.append((gaussian_alpha(2 * mean / math.sqrt(max(variance, 1e-6)), delta) / distance, design))
    return plans


def _evaluated(design: _Design, epsilon: float, delta: float, m: int) -> ShuffleAttack:
    """Return the best event near the Gaussian limit's, with its tails bounded."""
    mean, variance = design.moments(0.0)
    centre = min(max(round(variance * epsilon / (2 * mean)), 1), math.ceil(0.9 * (design.others + design.moved)))
    power, above = _tail(design, centre, is_lower=True)
    size, below = _tail(_mirrored(design), centre, is_lower=False)
    count = min(len(above), len(below))
    first = max(power, size)
    thresholds = np.arange(first, first + count - max(power, size) + min(power, size))
    high, low = above[thresholds - power], below[thresholds - size]
    with np.errstate(invalid="ignore", divide="ignore"):
        levels = np.where((high > delta) & (low > 0), np.log(high - delta) - np.log(low), 0.0)
    place = int(np.argmax(levels))
    found = float(levels[place]) * (1 - 1e-12) * m / (design.w * design.moved)
    return ShuffleAttack(max(found, 0.0), design.w, design.moved, design.symbols, int(thresholds[place]))


def _mirrored(design: _Design) -> _Design:
    return _Design(design.w, design.moved, design.others, design.symbols, design.z, design.s, -design.theta)


def _tail(design: _Design, centre: int, *, is_lower: bool) -> tuple[int, Floats]:
    """Return the first threshold of a window around ``centre``, and bounds of ``P(T >= t)`` from there on."""
    tilt = _tilt(design, centre)
    mean, variance = design.moments(tilt)
    reach, whole = math.ceil(_REACH * math.sqrt(variance)) + 2, design.others + design.moved
    is_whole = whole <= max(_SMALL, reach)
    length = 1 << (2 * (whole if is_whole else reach) + 1).bit_length()
    if length > _LONGEST:
        raise UsageError("N must be below about 1e10 for the attack's transform; pass a smaller N.")
    middle = 0 if is_whole else round(mean)
    frequencies = 2 * math.pi * np.fft.fftfreq(length)
    scale = float(design.log_growth(np.array([tilt + 0j]))[0].real)
    spectrum = np.exp(design.log_growth(tilt + 1j * frequencies) - scale - 1j * frequencies * middle)
    law = np.fft.fftshift(np.fft.fft(spectrum).real) / length
    places = np.arange(-length // 2, length // 2)
    # the transform adds up all places a multiple of its length apart: Chernoff on both sides of the window
    spill = 0.0 if is_whole else _spill(design, tilt, middle, length // 2)
    slack = (_ALLOWANCE + _ALLOWANCE_PER_ITEM * whole) * float(law.max()) + spill
    law = np.maximum(law - slack, 0.0) if is_lower else np.maximum(law, 0.0) + slack
    weights = law * np.exp(-tilt * places)
    sums = np.cumsum(weights[::-1])[::-1]
    if not is_lower:
        sums = sums + math.exp(-tilt * (length // 2))
    span = length // 2 if is_whole else length // 8
    start = length // 2 - span
    window = sums[start : length // 2 + span]
    return middle + int(places[start]), window * math.exp(scale - tilt * middle)


def _log1p(x: Any) -> Complexes:
    """Return ``ln(1 + x)`` to full relative precision, which numpy's complex log1p has not."""
    result: Complexes = 0.5 * np.log1p(x.real * (2 + x.real) + x.imag**2) + 1j * np.arctan2(x.imag, 1 + x.real)
    return result


def _spill(design: _Design, tilt: float, middle: int, half: int) -> float:
    """Return a bound of the tilted mass farther than ``half`` from ``middle``."""
    _, variance = design.moments(tilt)
    step = min(half / (2 * variance), 1.0)
    bounds = []
    for sign in (1, -1):
        moved = design.log_growth(np.array([tilt + sign * step + 0j, tilt + 0j])).real
        bounds.append(math.exp(min(0.0, float(moved[0] - moved[1]) - sign * step * (middle + sign * half))))
    return math.fsum(bounds)


def _tilt(design: _Design, centre: int) -> float:
    """Return a tilt of at least 0 that moves the mean close to ``centre``."""
    low, high = 0.0, 30.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if design.moments(middle)[0] < centre else (low, middle)
    return low
