"""The accountant for a randomizer whose law is known: the hybrid with the privacy blanket as its step (EMD 3).

**Theorem.** ``N`` items are randomized by ``A`` and shuffled; one user owns ``m`` of them. Let ``delta_step(epsilon;
x, x')`` bound ``H_{e^epsilon}`` between the releases when one item is ``x`` and when it is ``x'``, whatever the other
``N - 1`` items are (the blanket does: :mod:`emdp.privacy.blanket.step`). If for ``c = alpha/m`` and every ordered
pair of items

    ``delta_step(c d; x, x')/(e^(c d) - 1) <= delta/(e^alpha - 1)``,   ``d = d_X(x, x')``,

then the release is ``(alpha, delta)`` d_EM-DP for users of ``m`` items, bounded.

*Proof.* Let the user's items be ``x_1..x_m`` and ``x'_1..x'_m``, numbered along an optimal assignment, ``w_j =
d_X(x_j, x'_j)``, so that ``sum_j w_j = m d_em``. Go from one bag to the other in ``m`` steps, the ``j``-th of which
moves ``x_j`` to ``x'_j`` while all others stand still at what the steps before left them at: a single moved item
among ``N - 1`` arbitrary ones. With ``epsilon_j = c w_j``, ``sum_j epsilon_j = alpha d_em`` whatever the allocation,
and by the weak triangle inequality ``H_{st}(P||R) <= H_s(P||Q) + s H_t(Q||R)``,

    ``H_{e^(alpha d_em)} <= sum_j e^(epsilon_1 + .. + epsilon_{j-1}) delta_step(epsilon_j; x_j, x'_j)
    <= delta/(e^alpha - 1) sum_j e^(epsilon_1 + .. + epsilon_{j-1}) (e^(epsilon_j) - 1)
    = delta (e^(alpha d_em) - 1)/(e^alpha - 1) <= delta``,

a sum that telescopes, and ``d_em <= 1``. The other direction uses the steps from ``x'_j`` to ``x_j``, which are
ordered pairs too. A step between equal items costs nothing. ∎ A symmetry of the law carries a pair's bound to its
images, so that representatives of all ordered pairs suffice. ``H_{e^epsilon}/(e^epsilon - 1)`` falls with
``epsilon``: a distance rounded down and ``c`` rounded down only raise it. Every ``alpha`` that meets the condition is
valid, whatever lies below it.

*Near pairs.* If the condition holds with ``c = alpha/(m t)`` for some ordered pairs, along which every other pair of
items has a path of length at most ``t d`` (``law.stretch``), the release is ``(alpha, delta)`` d_EM-DP too. *Proof.*
The sum above, over the steps of the path in place of the moved items, bounds ``H`` of the ends at ``e^(c' d')``, ``c' =
alpha/(m t)``, ``d'`` the path's length, by ``delta/(e^alpha - 1) (e^(c' d') - 1)``. ``H_{e^epsilon}/(e^epsilon - 1)``
falls with epsilon and ``c' d' <= (alpha/m) d``: the pair meets the theorem's condition. ∎

*Search.* The pair that looks worst is inverted first, and all others are then checked at its alpha: by the bounds of
:mod:`emdp.privacy.blanket.screen`, which are cheap, and what these leave by the full sum. A pair that fails is
inverted in turn. The alpha returned has passed the check of all pairs.
"""

import math
from collections.abc import Callable
from weakref import WeakKeyDictionary, WeakSet

import numpy as np

from emdp.base.arrays import Integers
from emdp.base.checks import check_count, check_range, check_unit_interval
from emdp.base.errors import UsageError
from emdp.privacy.blanket.output_law import OutputLaw
from emdp.privacy.blanket.screen import Screen, ordered_pairs
from emdp.privacy.blanket.step import SCALE, Step, blanket_weights, output_counts, shift_down

__all__ = ["blanket_alpha", "blanket_delta"]

LARGEST_N = 10**12
"""Largest number of items: beyond it the rounding errors of a law times N are no longer small."""
_UNIT = 2.0**-53
"""Half the spacing of doubles at 1."""
_MARGIN = 1e-12
"""Relative distance by which a logarithm must lie below its limit."""
_GROWTH = 1.25
"""Steps of the search for an alpha that looks possible."""
_SMALLEST = 1e-9
"""Smallest alpha tried, relative to the one beyond which a pair's delta is 0."""
_SETTLED = 1e-6
"""Largest distance below its limit at which the search for a logarithm stops."""
_ROUNDS = 30
_NEARLY = 0.999
"""An alpha so near to composition's, relative to it, counts as composition."""
_BATCH = 64
"""Pairs that are looked at together, worst first."""
_ROOM = 1 + 1e-5
"""Factor on an alpha before all pairs are checked, so that ties pass by quicker sums."""
_MOST_PAIRS = 1 << 24
"""Largest number of ordered pairs that memory is taken for."""
_BLOCK = 1 << 20
"""Numbers of a law that are summed at a time."""
_SCREENS: WeakKeyDictionary[OutputLaw, Screen] = WeakKeyDictionary()
_CHECKED: WeakSet[OutputLaw] = WeakSet()
"""Laws that were checked, as long as they live; a law never changes."""
_EXCESSES = (0.01, 1e-4)
"""Largest addition of smoothing to a logarithm, for each sum, the quickest first."""


def blanket_delta(law: OutputLaw, pair: tuple[int, int], epsilon: float, N: int) -> float:
    """Return an upper bound of delta when one item of ``N`` shuffled ones moves, the others being arbitrary.

    Parameters
    ----------
    pair : tuple of int
        The rows of the moved item, before and after.
    epsilon : float
        At least 0: ``H_{e^epsilon}`` is bounded, in this direction.
    N : int
        Items that are shuffled together, from 1 to 1e12.

    Returns
    -------
    float
        In [0, 1], rounded up; 0 only where no output is likelier by more than ``e^epsilon``.

    References
    ----------
    EMD 3, "Known randomizer"; technical-notes.md 1.5.

    Examples
    --------
    Three categories, kept with probability 1/2.

    >>> law = OutputLaw(2**60 * (np.ones((3, 3), dtype=np.int64) + np.eye(3, dtype=np.int64)), 1 - np.eye(3))
    >>> f"{blanket_delta(law, (0, 1), 0.5, 1):.6f}", f"{blanket_delta(law, (0, 1), 0.5, 1000):.1e}"
    ('0.087820', '2.1e-124')
    >>> blanket_delta(law, (0, 1), 0.7, 1000)
    0.0
    """
    _check_law(law)
    items = len(law.weights)
    if len(pair) != 2 or not all(0 <= item < items for item in pair):
        raise UsageError(f"pair must hold two rows of the law, from 0 to {items - 1}, got {pair}; pass two of them.")
    level = check_range("epsilon", epsilon, 0.0, 700.0)
    number = _check_number("N", N, 1)
    if np.array_equal(law.weights[pair[0]], law.weights[pair[1]]):
        return 0.0
    bound = Step.of(law, (int(pair[0]), int(pair[1]))).log_delta(level, number, excess=1e-8)
    if bound == -math.inf:
        return 0.0
    return min(max(math.exp(min(bound, 0.0)) * (1 + 8 * _UNIT), 5e-324), 1.0)


def blanket_alpha(law: OutputLaw, m: int, N: int, delta: float) -> float:
    """Return the smallest alpha that the blanket certifies for a user who owns ``m`` of ``N`` shuffled items.

    Parameters
    ----------
    m : int
        Items of one user.
    N : int
        Items that are shuffled together, from ``m`` to 1e12: ``m`` in the local model, ``m`` times the users otherwise.
    delta : float
        In (0, 1).

    Returns
    -------
    float
        ``alpha``, with which the release is ``(alpha, delta)`` d_EM-DP, bounded: certified as a float, and larger
        than the smallest such number by less than 1e-4 of it in ordinary cases, or by 1e-3 of it next to composition;
        where near pairs stand for all, by the law's stretch, at most 5 % more. 0 if all items have one law; ``inf``
        if nothing is certified, or the law has more than 2**24 ordered pairs.

    References
    ----------
    EMD 3, "Known randomizer".

    Examples
    --------
    >>> law = OutputLaw(2**60 * (np.ones((3, 3), dtype=np.int64) + np.eye(3, dtype=np.int64)), 1 - np.eye(3))
    >>> f"{blanket_alpha(law, 10, 10**6, 1e-9):.4f}"
    '0.0341'
    >>> blanket_alpha(law, 1, 1, 1e-9) >= math.log(2)
    True
    """
    _check_law(law)
    own = _check_number("m", m, 1)
    number = _check_number("N", N, own)
    target = math.log(check_unit_interval("delta", delta))
    if len(ordered_pairs(law)) > _MOST_PAIRS:
        return math.inf
    screen = _screen(law)
    if not len(screen.pairs):
        return 0.0
    if not screen.distances.min() > 0:
        return math.inf
    search = _Search(law, screen, own, number, target)
    return search.smallest()


class _Search:
    """The search for the smallest alpha: the numbers that do not change during it."""

    def __init__(self, law: OutputLaw, screen: Screen, m: int, N: int, target: float) -> None:
        self.law, self.screen, self.N, self.target = law, screen, N, target
        # What an alpha is shared among, rounded up.
        self.m: float = m if law.stretch == 1 else m * law.stretch * (1 + 4 * _UNIT)

    def smallest(self) -> float:
        worst: Step | None = self.step(self.screen.widest())
        alpha, steepest_is_left = 0.0, True
        for _ in range(_ROUNDS):
            if worst is None:
                return alpha
            alpha = self.invert(worst, alpha)
            if alpha == math.inf:
                return alpha
            if alpha >= _NEARLY * self.m * worst.farthest / worst.distance:
                # Nothing is gained over composition, from which on no step costs anything; not to creep up to it.
                slope, place = self.screen.steepest
                beyond = self.m * slope * (1 + 1e-12)
                if alpha >= _NEARLY * beyond:
                    return beyond
                if steepest_is_left:
                    worst, steepest_is_left = self.step(place), False
                    continue
            alpha *= _ROOM
            worst = self.offender(alpha)
        return math.inf

    def step(self, index: int) -> Step:
        first, second = self.screen.pairs[index]
        return Step.of(self.law, (int(first), int(second)))

    def limit(self, alpha: float) -> float:
        """Return ``ln(delta/(e^alpha - 1))``, rounded down."""
        value = self.target - alpha - math.log(-math.expm1(-alpha))
        return value - _MARGIN * (1 + abs(self.target) + alpha + abs(value))

    def share(self, alpha: float) -> float:
        """Return ``alpha/(m t)``, rounded down."""
        return alpha / self.m * (1 - 2 * _UNIT)

    def surplus(self, step: Step, alpha: float, bound: Callable[[float, int], float]) -> float:
        """Return by how much ``ln(delta_step/(e^epsilon - 1))`` exceeds its limit: at most 0 certifies the pair."""
        epsilon = min(self.share(alpha) * step.distance * (1 - 2 * _UNIT), 700.0)
        value = bound(epsilon, self.N) - math.log(shift_down(epsilon))
        return value + _MARGIN * (1 + abs(value)) - self.limit(alpha) if value > -math.inf else value

    def invert(self, step: Step, start: float) -> float:
        """Return an alpha, from a start on, that certifies a pair; ``inf`` if none was found."""
        last = max(min(step.farthest, math.log(SCALE)) / step.distance * self.m * (1 + 1e-9), start)
        low = high = max(start, last * _SMALLEST)
        while self.surplus(step, high, step.log_estimate) > 0:
            low, high = high, high * _GROWTH
            if low >= last:
                return math.inf
            high = min(high, last)
        correction = 0.0
        for attempt in range(_ROUNDS):
            alpha = self._root(step, low, high, correction)
            found = self.surplus(step, alpha, step.log_delta)
            if found <= 0 or alpha >= last:
                break
            correction = found - self.surplus(step, alpha, step.log_estimate) + _SETTLED * 2**attempt
            low, high = alpha, min(max(high, alpha * (1 + 1e-6)), last)
            while high < last and self.surplus(step, high, step.log_estimate) + correction > 0:
                low, high = high, min(high * 1.02, last)
        return alpha if found <= 0 else math.inf

    def _root(self, step: Step, low: float, high: float, correction: float) -> float:
        """Return an alpha from which on the estimate is small enough, above ``low`` and at most ``high``."""
        while high - low > 1e-9 * high:
            middle = (low + high) / 2
            small = self.surplus(step, middle, step.log_estimate) + correction <= 0
            low, high = (low, middle) if small else (middle, high)
        return high

    def offender(self, alpha: float) -> Step | None:
        """Return a pair that alpha does not certify, the worst by estimate; None if it certifies all."""
        epsilons = np.minimum(self.share(alpha) * self.screen.distances * (1 - 2 * _UNIT), 700.0)
        shifts = np.expm1(epsilons) * (1 - 16 * _UNIT)
        limits = self.limit(alpha) + np.log(shifts)
        limits -= _MARGIN * (1 + np.abs(limits) + np.abs(np.log(shifts)))
        seen: set[bytes] = set()
        left = self.screen.survivors(shifts, limits, self.N)
        for start in range(0, len(left), _BATCH):
            batch = left[start : start + _BATCH]
            open_ = [
                index for index in batch if not self.screen.binned(index, float(shifts[index]), self.N) <= limits[index]
            ]
            steps = {step.key: step for step in map(self.step, open_) if step.key not in seen}
            seen.update(steps)
            ranked = sorted(steps.values(), key=lambda step: self.surplus(step, alpha, step.log_estimate), reverse=True)
            failed = next((step for step in ranked if not self.is_certified(step, alpha)), None)
            if failed is not None:
                return failed
        return None

    def is_certified(self, step: Step, alpha: float) -> bool:
        quick = (self._quick(step, excess) for excess in _EXCESSES)
        return any(self.surplus(step, alpha, bound) <= 0 for bound in (*quick, step.log_delta))

    @staticmethod
    def _quick(step: Step, excess: float) -> Callable[[float, int], float]:
        return lambda epsilon, N: step.log_delta(epsilon, N, excess=excess)


def _screen(law: OutputLaw) -> Screen:
    """Return the cheap bounds of a law, kept as long as it lives."""
    screen = _SCREENS.get(law)
    if screen is None:
        screen = _SCREENS[law] = Screen(law)
    return screen


def _check_law(law: OutputLaw) -> None:
    if law in _CHECKED:
        return
    weights, distances, counts = law.weights, law.distances, output_counts(law)
    if weights.ndim != 2 or weights.dtype != np.int64 or not weights.size or weights.min() < 0:
        raise UsageError(
            "law.weights must be a table of whole numbers of at least 0, int64; pass one row for each item."
        )
    if counts.shape != weights.shape[1:] or counts.dtype != np.int64 or not 1 <= counts.min() <= counts.max() < 2**31:
        raise UsageError("law.counts must hold a whole number from 1 to 2**31 - 1 for each output; pass int64 counts.")
    if not _rows_are_laws(weights, counts):
        raise UsageError("law.weights must have rows that sum to 2**62; pass the sampler's own weights.")
    if law.blanket is not None and (law.pairs is None or law.blanket.shape != counts.shape):
        raise UsageError("law.blanket must hold a number for each output and come with pairs; pass both.")
    least = blanket_weights(law)
    if least.dtype != np.int64 or least.min() < 0 or (least > weights.min(axis=0)).any():
        raise UsageError("law.blanket must be int64, at least 0 and at most every row; pass the smallest weights.")
    if distances.shape != (len(weights),) * 2 or not ((distances >= 0) & (distances <= 1)).all():
        raise UsageError("law.distances must be a square table of numbers in [0, 1]; pass one row for each item.")
    pairs = law.pairs
    if pairs is not None and not (
        pairs.ndim == 2
        and pairs.shape[1] == 2
        and pairs.dtype.kind in "iu"
        and ((pairs >= 0) & (pairs < len(weights))).all()
    ):
        raise UsageError("law.pairs must be pairs of rows of the law, shape (pairs, 2); pass their numbers.")
    if not (1 <= law.stretch < math.inf and (law.stretch == 1 or pairs is not None)):
        raise UsageError("law.stretch must be at least 1, and come with pairs if above; pass that of paths along them.")
    _CHECKED.add(law)


def _rows_are_laws(weights: Integers, counts: Integers) -> bool:
    """Return whether every row sums to ``2**62`` exactly: in two halves, whose sums are far from overflowing."""
    if int(counts.sum()) >= 2**31:
        return False
    rows = max(_BLOCK // len(counts), 1)
    blocks = (weights[start : start + rows] for start in range(0, len(weights), rows))
    halves = (((block >> 32) @ counts, (block & 0xFFFFFFFF) @ counts) for block in blocks)
    total = int(SCALE)
    return all(
        (high << 32) + low == total
        for upper, lower in halves
        for high, low in zip(upper.tolist(), lower.tolist(), strict=True)
    )


def _check_number(name: str, value: object, minimum: int) -> int:
    number = check_count(name, value, minimum=minimum)
    if number > LARGEST_N:
        raise UsageError(f"{name} must be at most {LARGEST_N:.0e}, got {number}; count fewer items.")
    return number
