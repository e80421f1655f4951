"""Gaussian noise on a secret Poisson sample of users, replacing one user: its dominating pair, and many rounds of it.

**Setting.** ``y = sum of x_i over the users with Z_i = 1, plus N(0, s^2 I)``, ``Z_i`` independent coins of chance ``q``
that nobody sees, ``x_i`` vectors of length at most ``c``; the noise multiplier is ``z = s/c``. Neighbours replace one
user's vector by any other. Rounds have fresh coins and fresh noise, and may ask what depends on earlier outputs.

**Theorem.** For every level ``E > 0``, in any dimension, ``H_E`` of the two outputs is at most that of ``P_1`` against
``P_-1``, ``P_m = (1-q) N(0, z^2) + q N(m, z^2)`` on the line. So products of this pair bound rounds together.

*Proof.* The others' part of the sum has one law: conditioning on it shifts both outputs alike. In units of ``c`` let
``|x|, |x'| <= 1``, ``N_v = N(v, z^2 I)``, ``E >= 1`` and ``A`` any event:

    ``P_x(A) - E P_x'(A) = q N_x(A) - q E N_x'(A) - (E-1) (1-q) N_0(A)``.

With ``p = N_x(A)``, by Neyman and Pearson ``N_x'(A) >= F(F^-1(p) - |x-x'|/z) >= F(F^-1(p) - 2/z)`` and ``N_0(A) >=
F(F^-1(p) - 1/z)``, ``F`` the normal distribution function. The half-line ``B = {y > 1 - z F^-1(p)}`` has ``N_1(B) =
p``, and ``N_-1(B)`` and ``N_0(B)`` are these lower bounds. Both have factors that are not positive, so that the left
side is at most ``P_1(B) - E P_-1(B)``. For ``E < 1``: ``H_E(P, Q) = 1 - E + E H_1/E(Q, P)``, and the pair is its own
mirror image. ∎ (compressed-replace-one.md 1 has one coordinate, by a longer proof, and left vectors open.) The outputs
of :mod:`emdp.noise.discrete_gaussian` on integers are compared with this in :func:`lattice_slack`.

**Rounds.** The loss ``ln(P_1/P_-1)`` rises with ``y``. The line is cut where it meets a lattice of step ``h``, and a
cell is split between its two ends so that both laws keep its mass: a likelihood ratio that is larger in convex order,
as in :mod:`emdp.privacy.account.losses`. What lies above the lattice counts as infinite, what lies below is raised to
its end. The law is tilted by ``e^(t l)`` before its Fourier transform is raised to the number of rounds, so that what
transforms lose (``8 u log2 N`` of each coefficient, times the rounds) is small beside delta, and is added to it. What
the circle of the transform wraps around from above is bounded by Chernoff and added; what it wraps from below only
raises delta.
"""

import math
from functools import lru_cache

import numpy as np

from emdp.base.arrays import Floats
from emdp.base.checks import check_count, check_range, check_unit_interval
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.privacy.calibration import gaussian_mu

__all__ = [
    "lattice_slack",
    "sampled_gaussian_delta",
    "sampled_gaussian_epsilon",
    "sampled_gaussian_multiplier",
]

SMALLEST_MULTIPLIER, LARGEST_MULTIPLIER = 0.1, 1e6
SMALLEST_DELTA = 1e-30
LARGEST_ROUNDS = 10**6

_UNIT = 2.0**-53
_FINE = 0.06
"""Step of the lattice in standard deviations of one round's loss: it raises the variance by less than a thousandth."""
_LEAST_CELLS, _MOST_CELLS = 2**12, 2**21
_LEFT_OUT = 1e-5
"""Part of delta beyond the lattice, and beyond the circle."""
_MARGIN = 1e-9
"""Relative, on an epsilon: far above what cell masses lose by rounding, which moves mass within its cell."""
_CLOSE, _SEARCH_STEPS = 1e-4, 60
_REACH = 12.0
"""How many deviations of noise the comparison of lattice and continuous law covers."""


@dataclass(frozen=True, eq=False)
class _Rounds:
    """The upper tail of the loss of all rounds: masses at ``losses``, what is infinite, and what rounding adds.

    ``slack(epsilon) = scale exp(-tilt epsilon)``.
    """

    losses: Floats
    masses: Floats
    infinite: float
    tilt: float
    log_scale: float

    def delta(self, epsilon: float) -> float:
        above = self.losses > epsilon
        found = float(-np.expm1(epsilon - self.losses[above]) @ self.masses[above])
        return min(
            1.0, (found + self.infinite) * (1 + _MARGIN) + math.exp(min(self.log_scale - self.tilt * epsilon, 0))
        )


def sampled_gaussian_delta(epsilon: float, multiplier: float, rate: float, rounds: int, near: float = 1e-6) -> float:
    """Return delta of rounds of Gaussian noise on Poisson samples, replacing one user, rounded up.

    Parameters
    ----------
    epsilon : float
        At least 0.
    multiplier : float
        ``z``: deviation of the noise over the longest vector, from 0.1 to 1e6.
    rate : float
        ``q``, in (0, 1].
    rounds : int
        From 1 to 1e6.
    near : float
        Near which delta the numbers are to be sharp, from 1e-30; the answer is a bound for any.

    >>> 0.9e-5 < sampled_gaussian_delta(1.0, 16.758, 0.1, 500) < 1e-5
    True
    """
    level = check_range("epsilon", epsilon, 0.0, 1e6)
    return _rounds(*_checked(multiplier, rate, rounds, near)).delta(level)


def sampled_gaussian_epsilon(multiplier: float, rate: float, rounds: int, delta: float) -> float:
    """Return epsilon of rounds of Gaussian noise on Poisson samples, replacing one user, rounded up.

    Parameters
    ----------
    multiplier, rate, rounds
        As of :func:`sampled_gaussian_delta`.
    delta : float
        Of all rounds together, in [1e-30, 1).

    References
    ----------
    compressed-replace-one.md 1 (its answers are half a per cent above).

    >>> round(sampled_gaussian_epsilon(4.0, 0.05, 200, 1e-6), 3)
    1.543
    """
    law = _rounds(*_checked(multiplier, rate, rounds, delta))
    if law.delta(0.0) <= delta:
        return 0.0
    low, high = 0.0, float(law.losses[-1])
    if law.delta(high) > delta:
        return math.inf
    while high - low > 1e-7 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if law.delta(middle) <= delta else (middle, high)
    return high * (1 + _MARGIN)


@lru_cache(maxsize=256)
def sampled_gaussian_multiplier(epsilon: float, rate: float, rounds: int, delta: float) -> float:
    """Return a noise multiplier that holds for epsilon, and is within 1e-4 of the least: the inverse.

    Raises
    ------
    UsageError
        If no multiplier up to 1e6 does.

    >>> z = sampled_gaussian_multiplier(1.0, 0.1, 500, 1e-5)
    >>> 16.6 < z < 16.8, sampled_gaussian_epsilon(z, 0.1, 500, 1e-5) <= 1.0
    (True, True)
    """
    wanted = check_range("epsilon", epsilon, 1e-6, 1e6)
    low, high = SMALLEST_MULTIPLIER, math.inf
    # Many weak rounds are one Gaussian release of 2 q sqrt(T)/z.
    point = 2.0 * rate * math.sqrt(rounds) / gaussian_mu(wanted, delta)
    for _ in range(_SEARCH_STEPS):
        point = min(max(point, SMALLEST_MULTIPLIER), LARGEST_MULTIPLIER)
        found = sampled_gaussian_epsilon(point, rate, rounds, delta)
        if found <= wanted:
            high = min(high, point)
        else:
            low = max(low, point)
        if low >= LARGEST_MULTIPLIER:
            raise UsageError(f"epsilon must be larger than what any noise reaches, got {epsilon}; pass a larger one.")
        if high <= low * (1 + _CLOSE):
            break
        # Epsilon falls about as fast as the multiplier rises; a little more is asked for, so that both sides come near.
        guess = point * min(max(found / wanted, 0.25), 4.0) * (1 + _CLOSE / 3 if found > wanted else 1 - _CLOSE / 3)
        point = guess if low < guess < high else (2 * low if high == math.inf else math.sqrt(low * high))
    return high


def lattice_slack(units: float, multiplier: float, coordinates: int) -> tuple[float, float]:
    """Return the epsilon and the delta by which integers with discrete Gaussian noise exceed the continuous pair.

    Sums of integer vectors, of length at most ``c`` units for each user, with discrete Gaussian noise of scale ``s = z
    c`` units on each of ``d`` coordinates. *Claim.* ``H_{E exp(slack)} <= exp(slack) H_E + 2 d 2 exp(-72)`` with
    ``slack = d (1 + K^2)/(24 s^2)``, ``K = 12 + 2/z``. *Proof.* Let ``R`` be the rounded continuous noise. Step 1 of
    :mod:`emdp.mechanisms.central.gaussian`: with one constant for all points, ``P(Z = k)`` is between ``exp(-b)`` and
    ``exp(a)`` times ``P(R = k)`` where no coordinate exceeds ``K s``, ``a + b <= slack``; so are mixtures of both moved
    by the same integer vectors, which move no coordinate by more than ``2 c``, for ``|k| <= 12 s`` around one centre.
    Beyond it either law has at most ``2 d exp(-72)``. Rounding of continuous noise moved by integers is
    post-processing. ∎

    Parameters
    ----------
    units : float
        ``c``.
    multiplier : float
        ``z``.
    coordinates : int
        ``d``, of all rounds together.

    >>> epsilon, delta = lattice_slack(2.0**30, 16.0, 5000)
    >>> epsilon < 1e-15, delta < 1e-26
    (True, True)
    """
    reach = _REACH + 2.0 / multiplier
    slack = coordinates * (1 + reach * reach) / (24 * (units * multiplier) ** 2)
    return slack * (1 + _MARGIN), 4 * coordinates * math.exp(-_REACH * _REACH / 2) * (1 + _MARGIN)


def _checked(multiplier: object, rate: object, rounds: object, delta: object) -> tuple[float, float, int, float]:
    count = check_count("rounds", rounds)
    if count > LARGEST_ROUNDS:
        raise UsageError(f"rounds must be at most {LARGEST_ROUNDS}, got {count}; pass fewer.")
    share = check_unit_interval("rate", rate, one=True)
    return (
        check_range("multiplier", multiplier, SMALLEST_MULTIPLIER, LARGEST_MULTIPLIER),
        check_range("rate", share, 1e-9, 1.0),
        count,
        check_range("delta", check_unit_interval("delta", delta), SMALLEST_DELTA, 1.0),
    )


@lru_cache(maxsize=64)
def _rounds(multiplier: float, rate: float, rounds: int, delta: float) -> _Rounds:
    """Return the loss of all rounds, sharp near a delta."""
    coarse, _, top = _one(multiplier, rate, _top(multiplier, rate, rounds, delta) / 1000, rounds, delta)
    places = np.linspace(-top, top, coarse.size)
    mean = float(coarse @ places)
    deviation = math.sqrt(max(float(coarse @ (places - mean) ** 2), 1e-300))
    step = min(_FINE * deviation, 2 * top / _LEAST_CELLS)
    step = max(step, 2 * top / _MOST_CELLS)
    masses, infinite, top = _one(multiplier, rate, step, rounds, delta)
    losses: Floats = np.arange(masses.size, dtype=np.float64) * step - top
    tilt, log_moment = _tilt(masses, losses, rounds, delta)
    # Chernoff, beyond the circle.
    high = (rounds * log_moment + math.log(1 / (_LEFT_OUT * delta))) / tilt
    low = -_chernoff_low(masses, losses, rounds, delta)
    cells = 1 << max(math.ceil((max(high, -low, top) + step) / step * 2), 2).bit_length()
    if cells > _MOST_CELLS:
        raise UsageError("rounds, multiplier and delta need more numbers than fit; pass fewer rounds or more noise.")
    tilted = np.zeros(cells)
    first = masses.size // 2
    weights = masses * np.exp(tilt * losses - log_moment)
    tilted[: masses.size - first] = weights[first:]
    tilted[cells - first :] = weights[:first]
    spectrum = np.fft.rfft(tilted) ** rounds
    total = np.fft.irfft(spectrum, cells)[: cells // 2]
    tail: Floats = np.arange(cells // 2, dtype=np.float64) * step
    with np.errstate(under="ignore"):
        log_scale = rounds * log_moment
        found = np.maximum(total, 0.0) * np.exp(np.minimum(log_scale - tilt * tail, 700.0))
    lost = (rounds + 2) * (8 * math.log2(cells) + 16) * _UNIT * (1 + 1 / (tilt * step))
    return _Rounds(tail, found, rounds * infinite + _LEFT_OUT * delta, tilt, log_scale + math.log(lost))


def _top(multiplier: float, rate: float, rounds: int, delta: float) -> float:
    from scipy.special import ndtri

    reach = -float(ndtri(_LEFT_OUT * delta / rounds))
    return float(_loss(np.array([1.0 + multiplier * reach]), multiplier, rate)[0])


def _one(multiplier: float, rate: float, step: float, rounds: int, delta: float) -> tuple[Floats, float, float]:
    """Return the masses of one round's loss on a lattice around 0, what lies above, and the lattice's end."""
    half = math.ceil(_top(multiplier, rate, rounds, delta) / step)
    ends = _place(np.arange(half + 1, dtype=np.float64) * step, multiplier, rate)
    cuts = np.concatenate([-ends[:0:-1], ends])
    inside = _mass(cuts[:-1], cuts[1:], multiplier, rate)
    mirrored = inside[::-1]
    losses = (np.arange(cuts.size) - half) * step
    # Both laws keep their mass: lower + upper = p, lower e^-l + upper e^-(l+h) = q.
    lower = np.clip((mirrored * np.exp(losses[:-1]) - inside * math.exp(-step)) / -math.expm1(-step), 0.0, inside)
    masses = np.zeros(cuts.size)
    masses[:-1] += lower
    masses[1:] += inside - lower
    below = float(_mass(np.array([-np.inf]), cuts[:1], multiplier, rate)[0])
    above = float(_mass(cuts[-1:], np.array([np.inf]), multiplier, rate)[0])
    masses[0] += below
    return masses, above, half * step


def _loss(y: Floats, multiplier: float, rate: float) -> Floats:
    """Return ``ln(P_1/P_-1)`` at points."""
    square = multiplier * multiplier
    kept = math.log1p(-rate) if rate < 1 else -np.inf
    up = np.logaddexp(kept, math.log(rate) + (y - 0.5) / square)
    down = np.logaddexp(kept, math.log(rate) + (-y - 0.5) / square)
    return np.asarray(up - down, dtype=np.float64)


def _place(losses: Floats, multiplier: float, rate: float) -> Floats:
    """Return where the loss, at least 0, has given values: the root of a quadratic in ``e^(y/z^2)``."""
    kept, moved = 1.0 - rate, rate * math.exp(-0.5 / multiplier**2)
    gain = kept * -np.expm1(-losses)
    # Divided by e^l, so that nothing overflows.
    root = (gain + np.sqrt(gain * gain + 4 * moved * moved * np.exp(-losses))) / (2 * moved)
    return np.asarray(multiplier**2 * (np.log(root) + losses), dtype=np.float64)


def _mass(low: Floats, high: Floats, multiplier: float, rate: float) -> Floats:
    """Return the mass of ``P_1`` between points, by whichever tail is the smaller."""
    from scipy.special import ndtr

    total = np.zeros(low.size)
    for weight, centre in ((1.0 - rate, 0.0), (rate, 1.0)):
        a, b = (low - centre) / multiplier, (high - centre) / multiplier
        total += weight * np.where(a > 0, ndtr(-a) - ndtr(-b), ndtr(b) - ndtr(a))
    return np.asarray(np.maximum(total, 0.0), dtype=np.float64)


def _log_moment(masses: Floats, losses: Floats, tilt: float) -> float:
    largest = float((tilt * losses).max())
    return largest + math.log(float(masses @ np.exp(tilt * losses - largest)))


def _tilt(masses: Floats, losses: Floats, rounds: int, delta: float) -> tuple[float, float]:
    """Return the tilt at which Chernoff's bound of delta is sharpest, and its log-moment."""
    grid = np.geomspace(1e-2, 1e5, 141)
    found = [(rounds * _log_moment(masses, losses, float(t)) + math.log(1 / delta)) / t for t in grid]
    tilt = float(grid[int(np.argmin(found))])
    return tilt, _log_moment(masses, losses, tilt)


def _chernoff_low(masses: Floats, losses: Floats, rounds: int, delta: float) -> float:
    """Return how far below 0 the tilted loss of all rounds goes, but for a part of delta; tightness alone."""
    mean = rounds * float(masses @ losses)
    deviation = math.sqrt(rounds * float(masses @ losses**2))
    return max(12 * deviation - mean, float(-losses[0]))
