"""Cheap upper bounds of every pair's step, so that few of a million ordered pairs need their full sum.

Each is a bound of the step's delta (theorem in :mod:`emdp.privacy.blanket.step`), so a pair that one of them puts below
its limit is certified. With ``Z`` the pair's law, ``S`` the sum of ``N`` copies and any ``theta > 0``:
``S_+ <= e^(theta S)/(e theta)``, hence ``ln E[S_+] <= N ln E[e^(theta Z)] - ln theta - 1`` (Chernoff).

1. *Bennett.* With ``Z <= b``, ``b >= 0``: ``e^(theta Z) <= 1 + theta Z + theta^2 Z^2 psi(theta b)``,
   ``psi(v) = (e^v - 1 - v)/v^2``, since ``psi`` rises on the whole line. So ``ln E[e^(theta Z)] <= theta E[Z] +
   theta^2 E[Z^2] psi(theta b)``. The moments of all pairs come from one Gram matrix, ``sum_y A[x, y] A[x', y]/q(y)``.
   First with ``b = max_y A[x, y]/q(y)``, then with the pair's own ``max_y (A[x, y] - A[x', y])/q(y)``.
2. *Chernoff* with the exact generating function, at Bennett's ``theta`` and then at that of two Newton steps.
3. *Binned sum*, a pair at a time: the full sum of :mod:`emdp.privacy.blanket.sum`, each value of ``Z`` split between
   neighbouring points of a coarse grid so that its mean stays. The sum grows in convex order, and ``E[S_+]`` with it.

Sums are raised by a bound of their rounding: ``K`` terms of relative error a few ``2^-53``.
"""

import math
from functools import cached_property
from itertools import pairwise

import numpy as np

from emdp.base.arrays import Floats, Integers
from emdp.privacy.blanket.output_law import OutputLaw
from emdp.privacy.blanket.step import SCALE, blanket_weights, output_counts
from emdp.privacy.blanket.sum import log_positive_part

__all__ = ["Screen", "ordered_pairs"]

_UNIT = 2.0**-53
"""Half the spacing of doubles at 1."""
_BLOCK = 1 << 17
"""Numbers of one block of pairs times outputs."""
_FEW, _SOURCES = 4, 128
"""Part of all pairs up to which products are made in blocks, and the first items of one."""
_BINS = 64
_BINNED_EXCESS = 0.05
"""Cells of the coarse grid, and what smoothing may add to the logarithm of a sum on it."""


class Screen:
    """The cheap bounds of a law's ordered pairs.

    Parameters
    ----------
    law : OutputLaw
        A law with at least one pair.

    Attributes
    ----------
    pairs : numpy.ndarray
        Shape (pairs, 2): the ordered pairs to be certified: those of the law whose two rows differ.
    distances : numpy.ndarray
        Shape (pairs,): their distances.
    """

    def __init__(self, law: OutputLaw) -> None:
        pairs = ordered_pairs(law)
        named, places = _numbered(pairs, len(law.weights))
        least, counts = blanket_weights(law), output_counts(law)
        covered = least > 0
        below = least[covered].astype(np.float64)
        copies = counts.astype(np.float64)
        # Rounded down as in Step; the values are raised for it.
        self._mass = below * copies[covered] * (1 - 4 * _UNIT) / SCALE
        weights = law.weights[named].astype(np.float64)
        self._ratios = weights[:, covered] / below
        self._lone = weights[:, ~covered] * (copies[~covered] / SCALE)
        self._rows = weights[:, covered] @ (copies[covered] / SCALE)
        root = self._ratios * np.sqrt(self._mass)
        inner = _inner(root, places)
        squares = np.einsum("xy,xy->x", root, root)
        slack = 4 * (len(below) + 8) * _UNIT
        both = squares[places[:, 0]] + squares[places[:, 1]]
        alike = both - 2 * inner <= slack * both
        # A move between equal laws changes nothing.
        alike[alike] = (law.weights[pairs[alike, 0]] == law.weights[pairs[alike, 1]]).all(axis=1)
        self.pairs, places, inner = pairs[~alike], places[~alike], inner[~alike]
        self.distances = law.distances[self.pairs[:, 0], self.pairs[:, 1]]
        self._from, self._to = places[:, 0], places[:, 1]
        self._far_square = squares[self._to]
        self._cross = inner - self._far_square
        self._square = squares[self._from] - inner - self._cross
        self._slack = slack * (squares[self._from] + squares[self._to])
        self._gains = np.full(len(self.pairs), np.nan)
        self._top = self._ratios.max(axis=1, initial=0.0)[self._from]

    def widest(self) -> int:
        """Return the index of the pair that is worst in the Gaussian limit of small distances."""
        return int(np.argmax(self._square / self.distances**2))

    def survivors(self, shifts: Floats, limits: Floats, N: int) -> Integers:
        """Return the indices of the pairs that neither Bennett nor Chernoff certifies, the farthest from it first.

        Parameters
        ----------
        shifts : numpy.ndarray
            Shape (pairs,): ``e^epsilon - 1`` for each pair, rounded down.
        limits : numpy.ndarray
            Shape (pairs,): what the logarithm of each step's delta must not exceed.
        N : int
            Items.
        """
        left = np.arange(len(self.pairs))
        # Written so that what is not a number certifies nothing.
        left = left[~(self._bennett(left, self._top, shifts, N)[0] <= limits)]
        gains = self._largest_gains(left)
        bounds, theta = self._bennett(left, gains, shifts[left], N)
        doubtful = ~(bounds <= limits[left])
        left, theta = left[doubtful], theta[doubtful]
        doubtful = ~(self._chernoff(left, theta, shifts[left], N, newton=0) <= limits[left])
        left, theta = left[doubtful], theta[doubtful]
        surplus = self._chernoff(left, theta, shifts[left], N, newton=2) - limits[left]
        order = np.argsort(-surplus)
        return left[order[~(surplus[order] <= 0)]]

    def binned(self, index: int, shift: float, N: int) -> float:
        """Return an upper bound of the logarithm of a pair's delta, by the binned sum."""
        first, second = self._ratios[self._from[index]], (1 + shift) * self._ratios[self._to[index]]
        # Five roundings of half an ulp, and at most six of the mass, by which Z must be divided.
        values = first - second + 16 * _UNIT * (first + second)
        if len(values) <= _BINS:
            return math.inf
        low, width = float(values.min()), float(np.ptp(values))
        if not width > 0:
            return math.inf
        places = np.clip((values - low) * (_BINS / width), 0, _BINS)
        lower = np.minimum(places.astype(np.int64), _BINS - 1)
        part = places - lower
        chances = np.bincount(lower, self._mass * (1 - part), _BINS + 1)
        chances += np.bincount(lower + 1, self._mass * part, _BINS + 1)
        # Rounding moves a value by less than this of the width, and a probability by less than this of itself, which
        # changes the law of all N copies by a factor of at most its N-th power.
        loss = (4 * len(values) + 64) * _UNIT
        grid = (low + width / _BINS * np.arange(_BINS + 1) + loss * (width + abs(low))).astype(np.float64)
        used = chances > 0
        weights = (chances[used] * (1 - loss)).astype(np.float64)
        many = log_positive_part(grid[used], weights, N, excess=_BINNED_EXCESS)
        many += 4 * N * loss - math.log(N) * (1 - 4 * _UNIT)
        place, shifts = np.array([index]), np.array([shift])
        return float(self._with_lone(np.array([many]), place, shifts)[0]) + 1e-12

    @cached_property
    def steepest(self) -> tuple[float, int]:
        """The largest ``ln(A[x, y]/A[x', y])/d_X(x, x')``, rounded up, and its pair; ``inf`` if a chance is 0."""
        if self._lone.any():
            return math.inf, 0
        slopes = np.empty(len(self.pairs))
        rows = max(_BLOCK // max(len(self._mass), 1), 1)
        for start in range(0, len(self.pairs), rows):
            part = slice(start, start + rows)
            largest = (self._ratios[self._from[part]] / self._ratios[self._to[part]]).max(axis=1)
            slopes[part] = np.log(largest) / self.distances[part]
        place = int(np.argmax(slopes))
        return float(slopes[place]) * (1 + 1e-12) + 1e-14 / float(self.distances.min()), place

    def _bennett(self, index: Integers, top: Floats, shifts: Floats, N: int) -> tuple[Floats, Floats]:
        mean = self._means(index, shifts)
        slack = self._slack[index] * (1 + shifts) ** 2
        square = self._square[index] - 2 * shifts * self._cross[index] + shifts**2 * self._far_square[index] + slack
        square = np.maximum(square, 1e-300)
        top = np.maximum(top * (1 + 16 * _UNIT), 1e-300)
        theta = (-mean + np.sqrt(mean**2 + 4 * square / N)) / (2 * square)
        theta = np.log1p(top * theta) / top
        exponent = theta * top
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            exact = (np.expm1(exponent) - exponent) / exponent**2
        # e^v has the series 1 + v + v^2 (1/2 + v/6 + ..); the difference above loses its digits there.
        psi = np.where(exponent < 1e-3, 0.5 + exponent / 5, exact * (1 + 1e-9))
        log_moment = theta * mean + theta**2 * square * psi
        return self._joined(log_moment, theta, index, shifts, N), theta

    def _chernoff(self, index: Integers, theta: Floats, shifts: Floats, N: int, *, newton: int) -> Floats:
        result = np.empty(len(index))
        rows = max(_BLOCK // max(len(self._mass), 1), 1)
        for start in range(0, len(index), rows):
            part = slice(start, start + rows)
            result[part] = self._chernoff_block(index[part], theta[part], shifts[part], N, newton)
        return result

    def _chernoff_block(self, index: Integers, theta: Floats, shifts: Floats, N: int, newton: int) -> Floats:
        first, second = self._ratios[self._from[index]], self._ratios[self._to[index]]
        values = first - (1 + shifts)[:, None] * second
        # As in binned: roundings of the values and of the mass.
        spread = 16 * _UNIT * (first.max(axis=1) + (1 + shifts) * second.max(axis=1))
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            for _ in range(newton):
                tilted = np.exp(theta[:, None] * values) * self._mass
                moment = 1 - self._mass.sum() + tilted.sum(axis=1)
                mean = (tilted * values).sum(axis=1) / moment
                square = (tilted * values**2).sum(axis=1) / moment - mean**2
                change = -(N * theta * mean - 1) / (N * theta * (mean + theta * square))
                theta = theta * np.exp(np.clip(np.nan_to_num(change), -1.0, 1.0))
            terms = np.expm1(theta[:, None] * (values + spread[:, None])) * self._mass
            excess = terms.sum(axis=1)
            # A rounded exponent v moves e^v - 1 by u |v| e^v <= u (1 + v_+) |e^v - 1|.
            terms_error = 4 * _UNIT * (len(self._mass) + 16 + theta * first.max(axis=1))
            log_moment = np.log1p(excess + terms_error * np.abs(terms).sum(axis=1))
        return self._joined(np.nan_to_num(log_moment, nan=np.inf), theta, index, shifts, N)

    def _joined(self, log_moment: Floats, theta: Floats, index: Integers, shifts: Floats, N: int) -> Floats:
        """Return the bound of ln delta from that of a generating function."""
        many = N * log_moment - np.log(theta) - 1 - math.log(N)
        many += 64 * _UNIT * (N * np.abs(log_moment) + np.abs(many) + 1)
        return self._with_lone(many, index, shifts)

    def _with_lone(self, many: Floats, index: Integers, shifts: Floats) -> Floats:
        """Return logarithms of delta: of the sums' part, with the lone outputs added."""
        if not self._lone.shape[1]:
            return many
        first, second = self._lone[self._from[index]], self._lone[self._to[index]]
        lone = np.maximum(first - (1 + shifts)[:, None] * second, 0.0).sum(axis=1)
        lone += 8 * (first.shape[1] + 8) * _UNIT * (first.sum(axis=1) + (1 + shifts) * second.sum(axis=1))
        with np.errstate(divide="ignore"):
            result: Floats = np.logaddexp(many, np.log(lone))
            return result

    def _means(self, index: Integers, shifts: Floats) -> Floats:
        if not self._lone.shape[1]:
            return -shifts
        first, second = self._rows[self._from[index]], self._rows[self._to[index]]
        means: Floats = first - (1 + shifts) * second + 1e-12
        return means

    def _largest_gains(self, index: Integers) -> Floats:
        # They do not depend on what is asked for, and are kept.
        new = index[np.isnan(self._gains[index])]
        rows = max(_BLOCK // max(len(self._mass), 1), 1)
        for start in range(0, len(new), rows):
            part = new[start : start + rows]
            gains = self._ratios[self._from[part]] - self._ratios[self._to[part]]
            self._gains[part] = gains.max(axis=1, initial=0.0) + 16 * _UNIT * self._top[part]
        return np.asarray(self._gains[index], dtype=np.float64)


def ordered_pairs(law: OutputLaw) -> Integers:
    """Return the ordered pairs of a law, shape (pairs, 2): its own, or all of distinct items.

    >>> ordered_pairs(OutputLaw(np.full((2, 1), 2**62), np.array([[0.0, 1.0], [1.0, 0.0]]))).tolist()
    [[0, 1], [1, 0]]
    """
    if law.pairs is not None:
        return law.pairs
    return np.argwhere(~np.eye(len(law.weights), dtype=np.bool_))


def _inner(root: Floats, places: Integers) -> Floats:
    """Return the products of pairs of rows, shape (pairs,)."""
    # With symmetry few items are the first of a pair.
    sources, own = _numbered(places[:, 0], len(root))
    if len(places) * _FEW > len(sources) * len(root):
        return np.asarray((root[sources] @ root.T)[own, places[:, 1]], dtype=np.float64)
    order = np.argsort(own, kind="stable")
    ends = np.searchsorted(own[order], np.arange(0, len(sources) + _SOURCES, _SOURCES))
    inner = np.empty(len(places))
    # Near items have near numbers.
    for start, stop in pairwise(ends):
        some = order[start:stop]
        first, second = places[some].T
        low = (int(first.min()), int(second.min()))
        block = root[low[0] : int(first.max()) + 1] @ root[low[1] : int(second.max()) + 1].T
        inner[some] = block[first - low[0], second - low[1]]
    return inner


def _numbered(items: Integers, count: int) -> tuple[Integers, Integers]:
    """Return the distinct ones of item numbers below ``count``, in order, and each entry's place among them."""
    used = np.zeros(count, dtype=np.bool_)
    used[items] = True
    return np.flatnonzero(used), (np.cumsum(used) - 1)[items]
