"""The exact clone pair: the dominating pair of one item's move among shuffled items, for any randomizer.

**Theorem** (EMD 3, "[sharper] Numeric accountant, exact step, any allocation"; technical-notes 1.2). Let ``N`` items
pass an ``alpha0``-``d_X``-DP randomizer on a space of diameter at most 1, and let the multiset of outputs be released.
When one item moves by ``w``, from output law ``R0`` to ``R1``, the other ``N - 1`` being arbitrary, the divergence
``H_{exp(eps)}`` between the two releases is at most

    ``delta_step(eps; w) = E_C[(a1 X - a2 Y)_+]``,  ``C ~ Bin(N-1, e^-alpha0)``, ``A ~ Bin(C, 1/2)``,
    ``X = (A+1, C-A)``, ``Y = (A, C-A+1)``, ``p = e^(alpha0 w)``, ``a1 = (p - e^eps)/(1+p)``,
    ``a2 = (p e^eps - 1)/(1+p)``.

*Proof.* ``Q0 = (p R0 - R1)/(p-1)`` and ``Q1 = (p R1 - R0)/(p-1)`` are laws, ``Q0 + Q1 = R0 + R1`` and
``R0 = (1-b) Q0 + b Q1`` with ``b = 1/(1+p)``. Every other item's law is at least ``e^-alpha0 max(R0, R1)``, so at least
``e^-alpha0 (Q0 + Q1)/2``: with probability ``e^-alpha0`` it draws from ``Q0`` or ``Q1``, by a fair coin. Given how many
items drew from each, the release is post-processing. These counts are ``(1-b) X + b Y`` against ``b X + (1-b) Y``.

Since ``a2 - a1 = e^eps - 1``, ``delta_step = (e^eps - 1) G(r)`` with ``r = a1/(e^eps - 1)`` and
``G(r) = E_C[(r X - (1+r) Y)_+]``, which rises with ``r``. Given ``C = c`` it is ``r S(u-1) - (1+r) S(u)``,
``u = floor((1+r)(c+1)/(1+2r)) + 1``, ``S(j) = Pr[Bin(c, 1/2) >= j]``, and it falls as ``c`` grows: a fair coin added to
the counts of ``c`` clones gives those of ``c + 1``, which is post-processing. It is ``r`` at ``c = 0``.

**Numerics.** ``C`` is rounded down to :data:`CLONE_BITS` significant bits, which makes ``G`` larger: an upper bound.
The cells are the same for every number of items and every ``alpha0``, so the bound keeps the monotonicity of ``G``. A
mesh of unions of cells brackets the sum, each union between its mass times the value at its lowest ``C`` and times the
value at the next one's; it is refined where the bracket is wide until the bracket answers the question put. The mesh
runs from 0 to ``N``, so there is no window and no tail left out. All of it is in logarithms (targets are
``delta e^-alpha``), and :func:`~emdp.privacy.binomial_tails.log_margin` covers the rounding.
"""

import math

import numpy as np
import numpy.typing as npt

from emdp.base.arrays import Floats, Integers
from emdp.base.checks import check_count, check_positive, check_range
from emdp.privacy.binomial_tails import half_log_pmf, half_tail_ratio, log_margin, log_pmf, log_tail

__all__ = ["CLONE_BITS", "CLOSED", "CloneMixture", "delta_step"]

CLONE_BITS = 15
"""Significant bits that the number of clones keeps: alpha then comes out 0.01 % above the exact sum's at most."""
CLOSED = 1e-10
"""A bracket narrower than this, relative to its upper end, counts as closed."""
_PARTS = 8
"""Parts that a union of cells is split into."""
_STARTS = np.array([-30, -20, -14, -10, -8, -6.5, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4.5, 6, 8, 12.0])
"""Points of the first mesh, in standard deviations from the mean number of clones."""


def delta_step(epsilon: float, *, others: int, tilt: float, clone_probability: float) -> float:
    """Return an upper bound of ``delta_step(epsilon)`` of one moved item among ``others`` more.

    Parameters
    ----------
    epsilon : float
        At least 0.
    others : int
        Number of other items, ``N - 1``, at least 0.
    tilt : float
        ``alpha0 w``, above 0: logarithm of the largest ratio of the two laws of the moved item.
    clone_probability : float
        In [0, 1]: ``e^-alpha0``.

    Returns
    -------
    float
        At most 1; exact to 1e-8 while there are fewer than ``2^15`` clones, else above the exact value by at most a
        factor ``e^(t 2^-14)`` with ``t`` about ``ln(1/delta)``.

    References
    ----------
    EMD 3; technical-notes 1.2 (known answer below).

    >>> round(delta_step(0.3, others=4, tilt=1.0, clone_probability=0.3), 6)
    0.197345
    >>> delta_step(1.0, others=4, tilt=1.0, clone_probability=0.3)
    0.0
    """
    level = check_range("epsilon", epsilon, 0.0, math.inf) if epsilon != math.inf else math.inf
    slant = check_positive("tilt", tilt)
    clone = check_range("clone_probability", clone_probability, 0.0, 1.0)
    mixture = CloneMixture(check_count("others", others, minimum=0), clone, 1 - clone)
    if level >= slant:
        return 0.0
    if level == 0:
        return min(1.0, math.tanh(slant / 2) * math.exp(mixture.log_excess(math.inf)))
    ratio = -math.expm1(level - slant) / ((1 + math.exp(-slant)) * math.expm1(level))
    return min(1.0, math.exp(mixture.log_excess(ratio * (1 + 1e-14))) * math.expm1(level))


class CloneMixture:
    """``G(r) = E_C[(r X - (1+r) Y)_+]``, ``C ~ Bin(others, clone)``, bracketed on a mesh that is refined as needed.

    Parameters
    ----------
    others : int
        Number of other items.
    clone, rest : float
        The clone probability, rounded down, and 1 minus it: two numbers, so that neither loses digits.
    """

    def __init__(self, others: int, clone: float, rest: float) -> None:
        # an impossible clone is no other item; a certain one is rounded down, so that logarithms exist
        others = others if clone > 0 else 0
        clone, rest = min(clone, 1 - 2.0**-53) if clone > 0 else 0.5, max(rest, 2.0**-53)
        self._others, self._clone, self._rest = float(others), clone, rest
        mean, deviation = others * clone, math.sqrt(others * clone * rest)
        starts = np.clip(np.floor(mean + deviation * _STARTS), 0, others)
        low, high = np.array([0]), _cell_of(np.array([others])) + 1
        self._set_mesh(np.unique(np.concatenate([low, _cell_of(starts.astype(np.int64)), high])))

    def log_excess(self, ratio: float) -> float:
        """Return an upper bound of ``ln G(ratio)``; for ``ratio = inf`` of ``ln E_C[TV(X, Y)]``, the slope there.

        >>> round(math.exp(CloneMixture(0, 1.0, 0.0).log_excess(0.25)), 6)
        0.25
        """
        return self.bracket(ratio)[1]

    def is_below(self, ratio: float, log_target: float) -> bool:
        """Return whether the upper bound of ``ln G(ratio)`` is at most ``log_target``.

        >>> CloneMixture(10, 0.5, 0.5).is_below(0.25, math.log(0.25))
        True
        """
        return self.bracket(ratio, log_target)[1] <= log_target

    def bracket(self, ratio: float, log_target: float | None = None, tolerance: float = CLOSED) -> tuple[float, float]:
        """Return numbers below and above :meth:`log_excess`; the upper one bounds ``ln G(ratio)``.

        The mesh is refined until ``log_target`` lies outside the bracket, or the bracket is narrower than
        ``tolerance``, relative to ``G``.
        """
        values = _log_values(self._counts, ratio)
        while True:
            above = self._log_mass + values[:-1]
            below = np.where(self._is_single, above, self._log_mass + values[1:])
            peak = float(above.max())
            if peak == -math.inf:
                return peak, peak
            high = np.exp(above - peak)
            gaps = high - np.exp(below - peak)
            total, gap = float(high.sum()), float(gaps.sum())
            margin = log_margin(abs(peak), self._others)
            top = peak + math.log(total) + margin
            bottom = peak + math.log(max(total - gap, 1e-300)) + margin
            is_decided = log_target is not None and (top <= log_target or bottom > log_target)
            if is_decided or gap <= tolerance * total:
                return bottom, top
            values = self._refine(gaps > gap / (4 * len(gaps)), values, ratio)

    def _refine(self, chosen: npt.NDArray[np.bool_], values: Floats, ratio: float) -> Floats:
        """Split the chosen unions of cells, and return the values at the new mesh's points."""
        start, stop = self._cells[:-1][chosen], self._cells[1:][chosen]
        cuts = (start[:, None] + (stop - start)[:, None] * np.arange(1, _PARTS) // _PARTS).ravel()
        is_new = cuts > np.repeat(start, _PARTS - 1)
        is_new[1:] &= cuts[1:] != cuts[:-1]
        fresh = cuts[is_new]
        places = np.searchsorted(self._cells, fresh)
        fresh_counts = _lowest(fresh)
        tails = self._log_tails(fresh_counts)
        self._set_mesh(np.insert(self._cells, places, fresh), np.insert(self._tails, places, tails))
        return np.insert(values, places, _log_values(fresh_counts, ratio))

    def _set_mesh(self, cells: Integers, tails: Floats | None = None) -> None:
        self._cells, self._counts = cells, _lowest(cells)
        self._tails = self._log_tails(self._counts) if tails is None else tails
        self._is_single = np.diff(cells) == 1
        self._log_mass = self._log_masses()

    def _log_tails(self, counts: Floats) -> Floats:
        """Return ``ln Pr[C < c]`` where ``c`` is at most the mean, else ``ln Pr[C >= c]``."""
        n, result = self._others, np.empty(len(counts))
        left = counts <= n * self._clone
        result[left] = log_tail(n, n - counts[left] + 1, self._rest, self._clone)
        result[~left] = log_tail(n, counts[~left], self._clone, self._rest)
        return result

    def _log_masses(self) -> Floats:
        """Return ``ln Pr[C in a union of cells]`` for each of the mesh."""
        n, counts, tails = self._others, self._counts, self._tails
        left = counts <= n * self._clone
        far, near = np.where(left[1:], tails[:-1], tails[1:]), np.where(left[1:], tails[1:], tails[:-1])
        with np.errstate(invalid="ignore", divide="ignore"):
            mass: Floats = near + np.log(-np.expm1(np.minimum(far - near, 0.0)))
        mass[np.isneginf(near)] = -math.inf
        across = left[:-1] & ~left[1:]
        mass[across] = np.log(np.maximum(-np.expm1(np.logaddexp(tails[:-1], tails[1:])[across]), 1e-300))
        alone = np.diff(counts) == 1
        if alone.any():
            mass[alone] = log_pmf(n, np.minimum(counts[:-1][alone], n), self._clone, self._rest)
        return mass


def _log_values(counts: Floats, ratio: float) -> Floats:
    """Return ``ln (r X - (1+r) Y)_+`` given ``C`` in ``counts``; for ``r = inf`` ``ln TV(X, Y)``."""
    if ratio == math.inf:
        return half_log_pmf(counts, np.floor((counts + 1) / 2))
    first = np.minimum(np.floor((0.5 + 0.5 / (1 + 2 * ratio)) * (counts + 1)), counts)
    with np.errstate(divide="ignore"):
        rest: Floats = np.log(np.maximum(ratio - half_tail_ratio(counts, first + 1), 0.0))
    return half_log_pmf(counts, first) + rest


def _cell_of(counts: Integers) -> Integers:
    """Return the index of the cell that a number of clones belongs to."""
    lengths = np.frexp(counts.astype(np.float64))[1]
    shift = np.maximum(lengths - CLONE_BITS, 0).astype(np.int64)
    cells: Integers = (counts >> shift) + (shift << (CLONE_BITS - 1))
    return cells


def _lowest(cells: Integers) -> Floats:
    """Return the lowest number of clones of each cell."""
    shift = np.maximum((cells >> (CLONE_BITS - 1)) - 1, 0)
    lowest: Floats = ((cells - (shift << (CLONE_BITS - 1))) << shift).astype(np.float64)
    return lowest
