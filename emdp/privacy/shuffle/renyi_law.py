"""The likelihood ratio of two shuffled releases that differ in one user: its law, from above in convex order.

**Setting.** ``others + 1`` users send one message each and the multiset is released. In one world the last message has
the law ``V``, in the other ``W``; ``V/W`` lies in ``[e^-tilt, e^tilt]``, and every other user's law is at least
``clone max(V, W)``, whatever that user holds. An ``epsilon0``-LDP randomizer has ``tilt = epsilon0`` and
``clone = e^-epsilon0`` (:mod:`emdp.privacy.shuffle.renyi` has the sampled and the binary case).

**Theorem.** For every convex ``f`` with ``f(1) = 0`` the divergence ``E_Q[f(P/Q)]`` of the releases is at most
``E_l E[f(1 + X_L)]``, ``l ~ Bin(others, clone)``, ``L = l + 1``, for either of these laws of ``X_L``:

- *mixture* (LSU 5.1): ``X_L = 2 sinh(tilt) (k/L - s)``, ``k ~ Bin(L, s)``, ``s = 1/(e^tilt + 1)``;
- *pair* (technical-notes 1.2): ``X_L = 2 t y/(1 - t y)``, ``t = tanh(tilt/2)``, ``y = 2 a/L - 1``, where ``a`` has the
  law ``Bin(L, 1/2)`` weighed by ``1 - t y``.

*Proof, mixture.* Every other user's law is ``clone W`` plus a rest. Who is a clone has the same law in both worlds, and
f-divergences are jointly convex: condition on it, with ``l`` clones, and the others' rests are post-processing. The
multiset of ``L`` messages, one from ``V`` or all from ``W``, has the ratio ``(1/L) sum_i (V/W)(y_i)``, the ``y_i``
independent from ``W`` in the second world. Each term has mean 1 and lies in ``[e^-tilt, e^tilt]``, so it is below the
law on the two ends with that mean in convex order, and so is the mean of ``L``. *Pair.* The proof in
:mod:`emdp.privacy.shuffle.clone_pair`: ``(A + B, C - A + 1 - B)`` against its mirror dominates the releases; given ``C
= l`` its second law at ``a = A + 1 - B`` is ``Bin(L, 1/2)(a) (1 - t y)`` and its ratio ``(1 + t y)/(1 - t y)``. Data
processing. Both are symmetric in ``V`` and ``W`` or hold for either order, so the bounds hold in both directions. Both
fall as ``l`` grows: a mean of more independent terms is less in convex order; a further clone is post-processing.

**Numerics.** Every step goes up in convex order, which raises every such divergence at once. Blocks of ``l`` take their
left end, from 0 on, so that no ``l`` is left out. Given ``l``, counts within 14 standard deviations are summed one by
one; each cell beyond puts what lies in it and farther at its far end. Every value is then split between the two
neighbours of one grid so that its mean stays. Masses below ``e^-500`` are kept in logarithms. Rounding is covered by
:data:`MARGIN`, relative.

**Mirrored.** A bound ``delta(epsilon)`` of both orders' divergences for ``epsilon >= 0`` says nothing of a product of
rounds, in which an adversary may meet either order: :meth:`RatioLaw.mirrored` is a pair with ``delta(epsilon)`` for
``epsilon >= 0`` and ``1 - e^epsilon + e^epsilon delta(-epsilon)`` below, which by ``H_E(P, Q) = 1 - E + E H_{1/E}(Q,
P)`` bounds every divergence of either order. :mod:`emdp.privacy.shuffle.sampled` needs it.
"""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from emdp.base.arrays import Floats
from emdp.base.classes import dataclass
from emdp.privacy.binomial_tails import log_pmf, log_tail

__all__ = ["LARGEST_USERS", "MARGIN", "RatioLaw", "joined_law", "log_window", "ratio_law"]

LARGEST_USERS = 10**8
"""More users than this count as this many, which is safe."""
MARGIN = 1e-7
"""Relative increase of every computed excess: a hundred times the rounding errors seen (tests)."""
_REACH = 14.0
"""Half-width, in standard deviations, of the window in which counts are summed one by one."""
_SLACK = 24.0
"""Counts added to the window's ends, for laws far from normal."""
_NUMBERS_REACH = 10.0
"""Half-width, in standard deviations, of the finely cut part of the number of clones."""
_GROWTH = 1.12
"""Cells beyond the windows reach this much farther than the one before."""
_COARSE_GROWTH = 1.4
"""The same for the numbers of clones, above :data:`_MANY` users."""
_MANY = 10**5
"""Number of users from which there are fewer blocks, for speed: blocks matter less and less."""
_FEWEST = 16
"""Fewest blocks."""
_GRID = 12_000
"""Points of the common grid: an excess of about 1e-6."""
_JOINED, _JOINED_BLOCKS, _UNLIKELY, _FEW = 24, 16, -25.0, 1000
"""Cells of the likely numbers of messages where these are random, blocks of the clones of each, the logarithm of the
masses of cells that are not looked at closely, and the mean up to which there are three times as many: an excess of
half a percent of epsilon (tests)."""
_UNDERFLOW = -500.0
"""Log masses below this are not taken out of logarithms."""


@dataclass(frozen=True, eq=False)
class RatioLaw:
    """A finite law of ``X = P/Q - 1`` under ``Q``, above the true one in convex order."""

    values: Floats  # Shape (points,), above -1, increasing
    log_weights: Floats  # Shape (points,): natural logarithms of the masses
    largest: float  # The pure epsilon of the two releases: no divergence is above it

    def renyi(self, order: float) -> float:
        """Return an upper bound of the Renyi divergence of an order above 1.

        ``E (1+X)^order`` is summed as 1 plus the terms ``(1+X)^order - 1 - order X``, none of which is negative.
        """
        growth = order * np.log1p(self.values)
        slope = order * self.values
        with np.errstate(over="ignore", divide="ignore"):
            rise = np.expm1(growth)
            terms = np.maximum(rise - slope, 0.0) + 1e-15 * (np.abs(rise) + np.abs(slope))
            logs = self.log_weights + np.where(growth < 600, np.log(terms), growth)
        peak = float(logs.max())
        if peak == -math.inf:
            return 0.0
        excess = peak + math.log(float(np.exp(logs - peak).sum())) + MARGIN
        total = math.log1p(math.exp(excess)) if excess < 600 else excess + 1e-12
        return min(total / (order - 1) * (1 + 1e-12), self.largest)

    def delta(self, epsilon: float) -> float:
        """Return ``E (1 + X - e^epsilon)_+``, rounded up, for an epsilon of at least 0."""
        with np.errstate(under="ignore", over="ignore"):
            gains = np.maximum(self.values - np.expm1(epsilon), 0.0)
            return min(float(gains @ np.exp(self.log_weights)) * (1 + MARGIN), 1.0)

    def epsilon(self, delta: float) -> float:
        """Return the smallest epsilon with ``E (1 + X - e^epsilon)_+ <= delta``, rounded up; at most :attr:`largest`.

        >>> law = RatioLaw(np.array([-0.5, 1.0]), np.log([2 / 3, 1 / 3]), math.log(2))
        >>> round(law.epsilon(0.1), 6), round(math.log(1.7), 6)
        (0.530628, 0.530628)
        """
        with np.errstate(under="ignore"):
            masses = np.exp(self.log_weights[self.values > 0])
        values = self.values[self.values > 0]
        above, gained = np.cumsum(masses[::-1])[::-1], np.cumsum((masses * values)[::-1])[::-1]
        # the divergence at level 1 + a value, from what lies at it and above
        divergences = (gained - values * above) * (1 + MARGIN)
        place = int(np.searchsorted(-divergences, -delta))
        if place == len(values):
            return self.largest
        level = (float(gained[place]) * (1 + MARGIN) - delta) / float(above[place]) if above[place] > 0 else math.inf
        return min(math.log1p(max(level, 0.0)) * (1 + 1e-12) + 1e-15, self.largest)

    def mirrored(self, part: float) -> "RatioLaw":
        """Return the law of the mirrored pair of ``part X``: see the module's text.

        Where ``X > 0`` its values are ``part X``, and ``1/(1 + part X) - 1`` with ``1 + part X`` times these masses;
        and 0 with what is left.

        Parameters
        ----------
        part : float
            In (0, 1], rounded up.

        >>> one = ratio_law(99, 1.0, 0.5)
        >>> abs(one.mirrored(1.0).renyi(4.0) / one.renyi(4.0) - 1) < 1e-5
        True
        """
        chosen = self.values > 0
        values, logs = part * self.values[chosen], self.log_weights[chosen]
        growth = np.log1p(values)
        with np.errstate(under="ignore", divide="ignore"):
            rest = np.log(max(1.0 - float(np.exp(logs).sum()) - float(np.exp(logs + growth).sum()), 0.0))
        below = (-values / (1 + values))[::-1]
        return RatioLaw(
            np.concatenate([below, [0.0], values]),
            np.concatenate([(logs + growth)[::-1], [rest], logs]),
            math.log1p(part * math.expm1(self.largest)) * (1 + 1e-14),
        )


@lru_cache(maxsize=256)
def ratio_law(others: int, tilt: float, clone: float, *, kind: str = "pair", blocks: int = 100) -> RatioLaw:
    """Return the law of a theorem above.

    Parameters
    ----------
    others : int
        Number of other users, at least 0.
    tilt : float
        Above 0: logarithm of the largest ratio of the two laws of the user who changes.
    clone : float
        In (0, 1), rounded down by the caller.
    kind : str
        "pair" or "mixture".
    blocks : int
        Into how many blocks the likely numbers of clones are cut; more is tighter and slower. From 1e5 users on it
        falls with their root.

    >>> round(ratio_law(999, 1.0, math.exp(-1.0), kind="mixture", blocks=400).renyi(2.0), 8)
    0.00294814
    """
    others = min(others, LARGEST_USERS - 1)
    grid = _Grid(tilt, 2 * math.sinh(tilt / 2) / math.sqrt(1 + others * clone))
    for start, log_mass in _blocks(others, clone, blocks):
        _add_block(grid, start + 1, log_mass, tilt, kind == "mixture")
    return grid.law()


def joined_law(n: int, rate: float, part: Callable[[int], float], whole: Callable[[int, int], RatioLaw]) -> RatioLaw:
    """Return the law of a pair of ``K ~ Bin(n, rate)`` messages, ``K`` seen: ``part(K) X``, ``X`` by ``whole(K)``.

    Parameters
    ----------
    n : int
        At least 1.
    rate : float
        In (0, 1).
    part : callable
        From ``K`` to a number in (0, 1] that rises with it.
    whole : callable
        From ``K >= 1`` to a law that falls with it, in convex order; and from the number of blocks of its clones.

    Notes
    -----
    Cells of ``K`` take the part of their upper end and the law of their lower one, all cells from 0 on.
    """
    mean = max(round(n * rate), 1)
    top = whole(1, 1)
    grid = _Grid(top.largest, part(mean) * math.expm1(top.largest) / (1 + math.sqrt(mean)))
    finer = 1 if mean > _FEW else 3
    for first, last, log_mass in _log_cells(n, rate, finer * _JOINED):
        if last == 0:
            # nobody sends, in both worlds
            grid.add_logs(np.zeros(1), np.array([log_mass]))
            continue
        law = whole(max(first, 1), finer * _JOINED_BLOCKS if log_mass > _UNLIKELY else 2)
        values, logs = part(last) * law.values, law.log_weights + log_mass
        is_near = logs > _UNDERFLOW
        grid.add(values[is_near], np.exp(logs[is_near]))
        is_far = ~is_near & (logs > -math.inf)
        grid.add_logs(values[is_far], logs[is_far])
    return grid.law()


def _log_cells(n: int, rate: float, cells: int) -> list[tuple[int, int, float]]:
    starts, log_masses = _number_blocks(n, rate, cells, _COARSE_GROWTH)
    ends = [*(starts[1:] - 1).tolist(), float(n)]
    found = zip(starts.tolist(), ends, log_masses.tolist(), strict=True)
    return [(int(first), int(last), mass) for first, last, mass in found if mass > -math.inf]


def _blocks(others: int, clone: float, blocks: int) -> list[tuple[float, float]]:
    """Return the left ends of blocks of the number of clones, and logarithms of their masses, where there is any."""
    thinned = max(round(blocks * min(1.0, math.sqrt(_MANY / (others + 1)))), min(blocks, _FEWEST))
    starts, log_masses = _number_blocks(others, clone, thinned)
    return [(float(start), float(mass)) for start, mass in zip(starts, log_masses, strict=True) if mass > -math.inf]


class _Grid:
    """Points ``size sinh(j step)`` from the lowest ratio to the highest, with masses in and out of logarithms."""

    def __init__(self, tilt: float, size: float) -> None:
        self._size, self._tilt = size, tilt
        self._low, high = math.asinh(math.expm1(-tilt) / size), math.asinh(math.expm1(tilt) / size)
        self._step = (high - self._low) / _GRID
        self._values = size * np.sinh(self._low + self._step * np.arange(_GRID + 1))
        # the ends are the pure bound, and a little outside it
        self._values[0], self._values[-1] = math.expm1(-tilt), math.expm1(tilt)
        self._values[[0, -1]] *= 1 + 1e-14
        self._weights = np.zeros(_GRID + 1)
        self._far = np.full(_GRID + 1, -math.inf)

    def add(self, values: Floats, weights: Floats) -> None:
        """Add masses, each split between its two neighbours."""
        place, part = self._split(values)
        self._weights += np.bincount(place, weights * (1 - part), _GRID + 1)
        self._weights += np.bincount(place + 1, weights * part, _GRID + 1)

    def add_logs(self, values: Floats, log_weights: Floats) -> None:
        """Add masses given by their logarithms."""
        place, part = self._split(values)
        with np.errstate(divide="ignore"):
            np.logaddexp.at(self._far, place, log_weights + np.log1p(-part))
            np.logaddexp.at(self._far, place + 1, log_weights + np.log(part))

    def law(self) -> RatioLaw:
        with np.errstate(divide="ignore"):
            return RatioLaw(self._values, np.logaddexp(np.log(self._weights), self._far), self._tilt)

    def _split(self, values: Floats) -> tuple[npt.NDArray[np.intp], Floats]:
        place = ((np.arcsinh(values / self._size) - self._low) / self._step).astype(np.intp)
        place = np.clip(place, 0, _GRID - 1)
        left, right = self._values[place], self._values[place + 1]
        # a place that rounding moved by one stays inside its neighbour's end by as little
        return place, np.clip((values - left) / (right - left), 0.0, 1.0)


def _number_blocks(others: int, clone: float, blocks: int, growth: float = _GROWTH) -> tuple[Floats, Floats]:
    """Return the left ends of blocks of ``Bin(others, clone)`` that cover it, and logarithms of their masses."""
    mean, deviation = others * clone, math.sqrt(others * clone * (1 - clone))
    # closer around the mean, where the mass is
    even = np.linspace(-1, 1, blocks + 1)
    middle = mean + _NUMBERS_REACH * deviation * even * (0.3 + 0.7 * even * even)
    far = mean - _cells(_NUMBERS_REACH * deviation, mean, growth if others < _MANY else _COARSE_GROWTH)
    inner = np.unique(np.clip(np.floor(np.concatenate([[0.0], far, middle])), 0, others))
    starts: Floats = np.append(inner, others + 1.0).astype(np.float64)
    is_left = starts <= mean
    tails = np.empty(len(starts))
    tails[is_left] = log_tail(others, others - starts[is_left] + 1, 1 - clone, clone)
    tails[~is_left] = log_tail(others, starts[~is_left], clone, 1 - clone)
    near = np.where(is_left[1:], tails[1:], tails[:-1])
    rest = np.where(is_left[1:], tails[:-1], tails[1:])
    with np.errstate(invalid="ignore", divide="ignore"):
        masses = np.asarray(near + np.log(-np.expm1(np.minimum(rest - near, 0.0))), dtype=np.float64)
    masses[np.isneginf(near)] = -math.inf
    across = is_left[:-1] & ~is_left[1:]
    masses[across] = np.log(-np.expm1(np.logaddexp(tails[:-1], tails[1:])[across])) if others > 0 else 0.0
    alone = np.diff(starts) == 1
    if others > 0 and alone.any():
        masses[alone] = log_pmf(others, starts[:-1][alone], clone, 1 - clone)
    return starts[:-1], masses


def _cells(first: float, last: float, growth: float = _GROWTH) -> Floats:
    """Return distances that grow from ``first`` to ``last``, without the first."""
    count = math.ceil(math.log(max(last, 1.0) / max(first, 1.0)) / math.log(growth)) if last > first else 0
    grown = max(first, 1.0) * growth ** np.arange(1, count + 1, dtype=np.float64)
    return np.asarray(grown, dtype=np.float64)


def _add_block(grid: _Grid, L: float, log_mass: float, tilt: float, is_mixture: bool) -> None:
    chance = 1 / (math.exp(tilt) + 1) if is_mixture else 0.5
    mean = L * chance
    reach = _REACH * math.sqrt(mean * (1 - chance)) + _SLACK
    low, high = max(math.floor(mean - reach), 0), min(math.ceil(mean + reach), L)
    counts = np.arange(low, high + 1, dtype=np.float64)
    logs = log_window(L, counts, chance) + log_mass
    values, factors = _ratios(counts, L, tilt, is_mixture)
    if log_mass > _UNDERFLOW:
        weights = np.exp(logs)
        grid.add(values, weights * factors)
    else:
        grid.add_logs(values, logs + np.log(factors))
    if high < L:
        ends = np.minimum(np.concatenate([[high], np.floor(mean + _cells(high - mean, L - mean))]), L)
        ends = np.unique(np.append(ends, L))
        tails = log_tail(L, ends[:-1] + 1, chance, 1 - chance) + log_mass
        _add_far(grid, ends[1:], tails, L, tilt, is_mixture)
    if low > 0:
        tail = log_tail(L, np.array([L - low + 1.0]), 1 - chance, chance) + log_mass
        _add_far(grid, np.array([0.0]), tail, L, tilt, is_mixture)


def _add_far(grid: _Grid, counts: Floats, log_masses: Floats, L: float, tilt: float, is_mixture: bool) -> None:
    # in the pair's law a mass is weighed by at most 2
    values, _ = _ratios(counts, L, tilt, is_mixture)
    grid.add_logs(values, log_masses + (0.0 if is_mixture else math.log(2)))


def _ratios(counts: Floats, L: float, tilt: float, is_mixture: bool) -> tuple[Floats, Floats]:
    """Return the values of ``X_L`` at the counts, and what the binomial masses there are weighed by."""
    if is_mixture:
        return 2 * math.sinh(tilt) * ((counts - L / (math.exp(tilt) + 1)) / L), np.ones(len(counts))
    leaning = math.tanh(tilt / 2) * ((2 * counts - L) / L)
    return 2 * leaning / (1 - leaning), 1 - leaning


def log_window(L: float, counts: Floats, chance: float) -> Floats:
    """Return ``ln Bin(L, chance)`` at consecutive counts, by their ratios from the mode on."""
    k = counts[:-1]
    sums = np.concatenate([[0.0], np.cumsum(np.log((L - k) / (k + 1) * (chance / (1 - chance))))])
    mode = int(min(max(round(L * chance) - counts[0], 0), len(counts) - 1))
    anchor = float(log_pmf(L, counts[mode : mode + 1], chance, 1 - chance)[0])
    window: Floats = sums - sums[mode] + anchor
    return window
