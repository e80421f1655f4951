"""Thresholds on keys with Gaussian noise, priced exactly.

**Theorem** (user-level-sql.md 2.5; by removal Wilkins, Kifer, Zhang and Karrer 2024). Let every count get ``N(0,
sigma^2)``, ``p = 1 - Phi((tau - 1)/sigma)``. The least delta at ``epsilon`` is that of theorem 2 of
:mod:`emdp.mechanisms.keys.threshold` with

    ``delta_0(x, s) = Phi(mu/2 - x/mu) - e^x Phi(-mu/2 - x/mu)``,  ``mu = sqrt(s)/sigma``,

the Gaussian profile at a move of ``sqrt(s)`` (:mod:`emdp.privacy.calibration`), and ``max(0, 1 - e^x)`` where ``s =
0``. *Proof.* Theorem 2; ``s`` counts that move by 1 move by ``sqrt(s)`` in the 2-norm, and the profile is exact. It
holds for every ``x``; where ``x < 0``, it is ``1 - e^x + e^x delta_0(-x, s)``, since ``H_t(P||Q) = 1 - t + t
H_{1/t}(Q||P)`` and the pair is symmetric. ∎ The sum ``delta_0(epsilon, r L) + 1 - q_L`` is more than it: a key of one
person is not also a count that moves.

**Grid.** Noise is ``g k``, ``k`` discrete Gaussian of scale ``s = sigma/g``, with ``g`` a power of two, at most 1/2 and
``2^39 <= s``. Counts are multiples of ``g``, so nothing is rounded. *Lemma.* With ``m`` counts that move, ``K = 12 +
1/sigma`` and ``w = m (1 + K^2)/(24 s^2)``: each divergence ``H_t`` of common keys is at most ``e^w`` times that of the
Gaussian pair at ``t e^-w``, plus ``2 m e^-72``. *Proof.* Steps 1 and 2 of :mod:`emdp.mechanisms.central.gaussian`,
where nothing but the ``m`` counts that move is looked at (the others have one law on both sides), ``|v_i| <= 1/g``, and
``v`` is the exact move. ∎ And ``P(1 + Z >= tau) <= e^w (1 - Phi((tau - 1)/sigma - 2^-39))``, by the same step 1. These
are added to what is computed.

*Search.* ``T(a, c)`` over a box of ``a``, ``c`` is at most ``1 - q_a + delta_0(epsilon + ln q_c, m - a' - c')`` with
its largest ``a``, ``c`` and its least ``a'``, ``c'``: ``q_a P(E) - t q_c Q(E) <= P(E) - t q_c Q(E)``, and the profile
rises with ``s`` and falls with its level. A box that cannot hold more than what is known already is left; the others
are halved.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np

from emdp.base.arrays import Integers
from emdp.base.checks import check_count, check_positive
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.mechanisms.contribution.moves import moved_users
from emdp.mechanisms.keys.threshold import MARGIN, KeyThreshold, NoisyKeys, chance_within, new_keys_delta
from emdp.noise.discrete_gaussian import discrete_gaussian_quantile, draw_discrete_gaussian
from emdp.privacy.calibration import gaussian_sigma, safe_gaussian_delta
from emdp.privacy.events.noise import GaussianEvent
from emdp.privacy.events.table import Event
from emdp.privacy.guarantees.kinds import Guarantee, Neighbours
from emdp.privacy.rounding import float_up, root_up

__all__ = ["BEYOND", "GaussianKeys", "gaussian_keys_delta", "gaussian_new_key", "gaussian_threshold", "lattice_slack"]

_GRID_BITS = 40
# The grid is 2^-40 of sigma, rounded down to a power of two.

BEYOND = 5.4e-32
"""At least exp(-72): how likely noise is more than 12 sigmas on one side, at most."""

_LEVEL_MARGIN = 2.0**-44
# Relative and absolute, on levels, downward: above the rounding of logarithms and sums.

Box = tuple[int, int, int, int]
"""Least and largest ``a``, least and largest ``c``."""


@dataclass(frozen=True)
class GaussianKeys(KeyThreshold):
    """Gaussian noise and a threshold: parameters as in :class:`emdp.mechanisms.keys.threshold.KeyThreshold`.

    >>> keys = GaussianKeys(1.0, 1e-9, 10, "remove")
    >>> keys.people, round(keys.standard_deviation, 1)
    (112, 17.4)
    """

    name: ClassVar[str] = "Gaussian"

    @cached_property
    def scale(self) -> float:
        """``sigma``: the least whose noise alone is within the price."""
        room = self.delta * (1.0 - 4.0 * MARGIN) - 8.0 * self.moves * BEYOND
        if room <= 0:
            raise UsageError(f"delta = {self.delta:g} is too small for {self.keys} keys; pass a larger one.")
        return gaussian_sigma(self.epsilon * (1.0 - 4.0 * MARGIN), room, root_up(Fraction(self.moves)))

    @cached_property
    def threshold(self) -> int:
        """``tau``: the least with a delta within the price."""

        def is_enough(threshold: int) -> bool:
            return gaussian_keys_delta(self.epsilon, self.scale, threshold, self.keys, self.neighbours) <= self.delta

        threshold, step = gaussian_threshold(self.scale, self.keys, self.delta), 1
        while not is_enough(threshold):
            threshold, step = threshold + step, 2 * step
        while step > 1:
            step //= 2
            threshold -= step if is_enough(threshold - step) else 0
        return threshold

    @property
    def new_key(self) -> float:
        return gaussian_new_key(self.scale, self.threshold)

    @property
    def price(self) -> float:
        return gaussian_keys_delta(self.epsilon, self.scale, self.threshold, self.keys, self.neighbours)

    @property
    def standard_deviation(self) -> float:
        return self.scale

    @property
    def grid(self) -> float:
        """Step of the noisy counts, a power of two of at most 1/2."""
        return _grid(self.scale)

    def _noise_event(self, kind: Guarantee) -> Event:
        return GaussianEvent(
            self.epsilon,
            self.delta,
            self.moves,
            sigma=self.scale,
            sensitivity=root_up(Fraction(self.moves)),
            grid=self.grid,
            slack_epsilon=float_up(Fraction(2.0 * lattice_slack(self.scale, self.moves, self.grid))),
            slack_delta=2.0 * self.moves * BEYOND,
            kind=kind,
        )

    def _half_width(self, tail: float) -> float:
        return self.grid * discrete_gaussian_quantile(tail, self.scale / self.grid)

    def _draw(self, counts: Integers) -> NoisyKeys:
        units = round(1.0 / self.grid)
        draws = draw_discrete_gaussian(self.scale / self.grid, counts.size)
        noisy = [count * units + draw for count, draw in zip(counts.tolist(), draws, strict=True)]
        index = [place for place, value in enumerate(noisy) if value >= self.threshold * units]
        values = [noisy[place] / units for place in index]
        return NoisyKeys(np.array(index, dtype=np.int64), np.array(values, dtype=np.float64))


def gaussian_new_key(sigma: float, threshold: int) -> float:
    """Return ``P(1 + Z >= threshold)`` of Gaussian noise on counts, on its grid, rounded up.

    >>> round(gaussian_new_key(5.0, 12), 7)
    0.0139034
    """
    from scipy.special import ndtr

    return min(1.0, float(ndtr((1 - threshold) / sigma + 2.0**-38)) * (1.0 + MARGIN))


def gaussian_threshold(sigma: float, keys: int, delta: float) -> int:
    """Return the least threshold at which one of ``keys`` keys of one person passes with at most ``delta``.

    Parameters
    ----------
    sigma : float
        Standard deviation of the Gaussian noise on counts of users.
    keys : int
        ``L``.
    delta : float
        Of the threshold alone.

    >>> gaussian_threshold(5.4953, 1, 1e-9)
    34
    """
    from scipy.special import ndtri

    threshold = max(2, math.floor(1.0 - sigma * float(ndtri(chance_within(delta, keys)))))
    while new_keys_delta(gaussian_new_key(sigma, threshold), keys) > delta:
        threshold += 1
    return threshold


@lru_cache(maxsize=4096)
def gaussian_keys_delta(epsilon: float, sigma: float, threshold: int, keys: int, neighbours: Neighbours) -> float:
    """Return the delta at ``epsilon`` of Gaussian noise on users by unlisted key and a threshold, rounded up.

    Parameters
    ----------
    epsilon : float
        Above 0.
    sigma : float
        Standard deviation of the noise, above 0.
    threshold : int
        ``tau``, at least 1.
    keys : int
        ``L``, the most keys of a user.
    neighbours : {"replace", "remove"}

    >>> round(gaussian_keys_delta(1.0, 3.0, 8, 1, "remove"), 8)
    0.00981533
    """
    check_positive("epsilon", epsilon)
    chance = gaussian_new_key(check_positive("sigma", sigma), check_count("threshold", threshold))
    if chance >= 1.0:
        return 1.0
    moves = moved_users(neighbours) * check_count("keys", keys)
    log_miss, cells = math.log1p(-chance), lattice_slack(sigma, moves, _grid(sigma))

    def profile(level: float, moved: int) -> float:
        return _profile(level - cells - _LEVEL_MARGIN * (1.0 + abs(level)), moved, sigma)

    def term(a: int, c: int) -> float:
        return -math.expm1(a * log_miss) + math.exp(a * log_miss) * profile(epsilon + (c - a) * log_miss, moves - a - c)

    def bound(box: Box) -> float:
        return -math.expm1(box[1] * log_miss) + profile(epsilon + box[3] * log_miss, moves - box[0] - box[2])

    boxes = [(0, keys, 0, keys)] if neighbours == "replace" else [(0, keys, 0, 0), (0, 0, 0, keys)]
    largest = _largest(boxes, term, bound)
    return min(1.0, largest * (1.0 + MARGIN) * math.exp(cells) + 2.0 * moves * BEYOND)


def _largest(boxes: list[Box], term: Callable[[int, int], float], bound: Callable[[Box], float]) -> float:
    """Return the largest term over boxes, without looking at boxes whose bound is below it."""
    largest = max(term(a, c) for box in boxes for a in box[:2] for c in box[2:])
    while boxes:
        low_a, high_a, low_c, high_c = box = boxes.pop()
        if low_a == high_a and low_c == high_c:
            largest = max(largest, term(low_a, low_c))
        elif bound(box) > largest:
            if high_a - low_a >= high_c - low_c:
                middle = (low_a + high_a) // 2
                boxes += [(low_a, middle, low_c, high_c), (middle + 1, high_a, low_c, high_c)]
            else:
                middle = (low_c + high_c) // 2
                boxes += [(low_a, high_a, low_c, middle), (low_a, high_a, middle + 1, high_c)]
    return largest


def _profile(level: float, moved: int, sigma: float) -> float:
    if level < 0:
        return -math.expm1(level) + math.exp(level) * _profile(-level, moved, sigma)
    return safe_gaussian_delta(level, math.sqrt(moved) / sigma * (1.0 + 2.0**-50)) if moved else 0.0


def _grid(sigma: float) -> float:
    return math.ldexp(1.0, min(math.frexp(sigma)[1] - 1 - _GRID_BITS, -1))


def lattice_slack(sigma: float, moves: int, grid: float) -> float:
    """Return ``w`` of the module's lemma: what noise on a lattice costs next to that on the line, in epsilon.

    >>> lattice_slack(1.0, 2, 2.0**-40) < 1e-22
    True
    """
    return moves * (1.0 + (12.0 + 1.0 / sigma) ** 2) / (24.0 * (sigma / grid) ** 2)
