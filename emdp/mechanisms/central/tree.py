"""Sums over blocks of cells, blocks of these, and so on, each level with its part of one Laplace draw: a tree.

Let a user's records give weights ``w >= 0`` with sum 1 to the nodes of a grid, and ``p`` be the mean of these over
``n`` users. Level ``l = 1 .. L`` has blocks of ``4^(L-l)`` nodes along each axis, the finest single nodes, and ``A_l
p`` are the sums of ``p`` over them; ``c_l > 0`` are public factors.

Theorem (tree; Hay, Rastogi, Miklau and Suciu 2010, for normalised users and factors of levels). ``T p = (c_1 A_1 p, ..,
c_L A_L p)`` moves by at most ``2 (c_1 + .. + c_L)/n`` in the 1-norm when all records of one user are replaced. So with
independent Laplace noise of scale ``b = 2 (c_1 + .. + c_L)/(n epsilon)`` on every number it is ``(epsilon, 0)``
user-level DP: level ``l`` has noise of scale ``b/c_l`` in units of shares, which is what the part ``c_l/(c_1 + .. +
c_L)`` of epsilon buys it alone.

*Proof.* A node lies in one block of each level, so every column of ``A_l`` has one entry 1 and ``|A_l v|_1 <= |v|_1``.
Replacing a user moves ``p`` by ``(w' - w)/n``, of 1-norm at most ``2/n`` since both are non-negative with sum 1. The
levels' norms add up to ``sum c_l 2/n``. The rest is the Laplace mechanism (:mod:`emdp.mechanisms.central.laplace`). A
user whose records are removed counts with the weights of the neutral item: that is one more replacement. Two nodes in
different blocks of level 1 lie in different blocks of all levels, so the bound is attained. QED

Elsewhere. Where records may be elsewhere ``w`` has sum ``1 - a``, ``a`` the share of the user's records that are there,
and ``(T p, C a_bar)`` is released, ``a_bar`` the mean of ``a`` and ``C = c_1 + .. + c_L``. *The constant is the same.*
A replacement moves ``a`` by ``t`` and ``w`` by at most ``2 - t`` in the 1-norm: ``(w, a)`` and ``(w', a')`` are
non-negative with sum 1, so that ``|w' - w|_1 + |t| <= 2``. The 1-norm of what changes is at most ``C |t| + sum c_l (2 -
|t|) = 2 C``, over ``n``. So the share elsewhere has noise of scale ``2/(n epsilon)``, as if it were asked alone, for
nothing. QED

Least squares (post-processing). With ``m_k`` the nodes of a block of level ``k``, ``P_k`` the means over blocks and
``P_0 = 0``, ``sum_l c_l^2 A_l' A_l = sum_k s_k (P_k - P_(k-1))`` with the *strength* ``s_k = sum_(l >= k) c_l^2 m_l``,
since ``A_l' A_l = m_l P_l`` and ``P_l = sum_(k <= l) (P_k - P_(k-1))``. The differences are orthogonal projections, so
the estimate of least squares of ``p`` from ``Y = T p + noise`` is ``sum_k (P_k - P_(k-1)) (sum_l c_l A_l' Y_l)/s_k``,
unbiased with covariance ``2 b^2 sum_k (P_k - P_(k-1))/s_k``. A grid whose sides are no powers of 4 is filled up with
nodes of weight 0 on every table: a block of these alone is 0, and is not released, so that variances are at most
that.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from emdp.base.checks import check_count, check_unit_interval
from emdp.base.errors import UsageError
from emdp.mechanisms.central.additive import AdditiveMechanism
from emdp.mechanisms.central.laplace import LaplaceMechanism
from emdp.noise.laplace_sums import laplace_sum_mean_absolute, laplace_sum_quantile
from emdp.privacy.rounding import float_at_least

__all__ = ["BRANCHING", "Tree", "tree_mechanism"]

Floats = npt.NDArray[np.float64]

BRANCHING = 4
"""Blocks along an axis that one block of the level above holds."""

FACTORS = tuple(Fraction(own, 2) for own in (2, 3, 4, 6, 8, 12, 16, 24, 32))
"""``c_l`` of the finest level, the next coarser one, and so on: about a root of 2 each; measured by
``benchmarks/measures.py --priors`` beside equal ones, which are worse for few users."""


@dataclass(frozen=True)
class Tree:
    """A tree over the nodes of a grid.

    >>> tree = Tree((16, 10))
    >>> tree.levels, tree.blocks(1), tree.dimension, tree.change
    (2, (4, 3), 172, Fraction(5, 1))
    """

    shape: tuple[int, ...]  # Nodes along each axis, at most `4^9`; one axis has at least 2

    def __post_init__(self) -> None:
        sizes = tuple(check_count("shape", size) for size in self.shape)
        if max(sizes, default=1) < 2 or max(sizes) > BRANCHING ** len(FACTORS):
            raise UsageError(f"shape must have an axis of 2 to {BRANCHING ** len(FACTORS)} nodes; pass another pitch.")
        object.__setattr__(self, "shape", sizes)

    @cached_property
    def levels(self) -> int:
        """Number of levels."""
        return next(level for level in range(1, len(FACTORS) + 1) if BRANCHING**level >= max(self.shape))

    @property
    def factors(self) -> tuple[Fraction, ...]:
        """``c_l`` of each level, the coarsest first."""
        return FACTORS[: self.levels][::-1]

    @property
    def change(self) -> Fraction:
        """Bound of the 1-norm of how far one user moves the sum over users of ``T``, whatever the records."""
        return 2 * sum(self.factors, Fraction(0))

    @property
    def away(self) -> Fraction:
        """``C``, the factor of the share that is elsewhere."""
        return self.change / 2

    @property
    def dimension(self) -> int:
        """Number of blocks of all levels."""
        return sum(math.prod(self.blocks(level)) for level in range(1, self.levels + 1))

    @property
    def strengths(self) -> tuple[float, ...]:
        """``s_k`` of each level, the coarsest first."""
        own = [float(factor) ** 2 * self._nodes(level) for level, factor in enumerate(self.factors, 1)]
        return tuple(float(total) for total in np.cumsum(own[::-1])[::-1])

    def blocks(self, level: int) -> tuple[int, ...]:
        """Return the number of blocks of a level along each axis."""
        side = BRANCHING ** (self.levels - level)
        return tuple(-(-size // side) for size in self.shape)

    def sums(self, values: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """Return ``T`` of weights of nodes, exactly: level by level from the coarsest, the last axis running fastest.

        >>> Tree((4,)).sums([Fraction(1, 4)] * 4)
        (Fraction(1, 4), Fraction(1, 4), Fraction(1, 4), Fraction(1, 4))
        >>> Tree((5,)).sums([Fraction(1)] + [Fraction(0)] * 4)[:3]
        (Fraction(3, 2), Fraction(0, 1), Fraction(1, 1))
        """
        given = np.empty(self.shape, dtype=object)
        given.ravel()[:] = [Fraction(value) for value in values]
        found: list[Fraction] = []
        for level, factor in enumerate(self.factors, 1):
            sums = self._summed(given, level)
            found += [factor * value for value in sums.ravel().tolist()]
        return tuple(found)

    def estimate(self, released: Sequence[float]) -> Floats:
        """Return the weights of nodes by least squares from released numbers, filled up to sides of a power of 4."""
        back, start = np.zeros(self._padded), 0
        for level, factor in enumerate(self.factors, 1):
            shape = self.blocks(level)
            own = np.asarray(released[start : start + math.prod(shape)], dtype=np.float64).reshape(shape)
            whole = np.zeros((BRANCHING**level,) * len(shape))
            whole[tuple(map(slice, shape))] = own
            back += float(factor) * self._spread(whole, level)
            start += own.size
        found, before = np.zeros(self._padded), np.zeros(self._padded)
        for level, strength in enumerate(self.strengths, 1):
            means = self._spread(self._summed(back, level) / self._nodes(level), level)
            found, before = found + (means - before) / strength, means
        return found

    def deviation(self, values: Floats, scale: float) -> float:
        """Return the standard deviation of the estimate of ``sum_x values(x) p(x)``, at most, at a scale of noise."""
        whole, total, before = np.zeros(self._padded), 0.0, np.zeros(self._padded)
        whole[tuple(map(slice, self.shape))] = values
        for level, strength in enumerate(self.strengths, 1):
            means = self._spread(self._summed(whole, level) / self._nodes(level), level)
            total, before = total + float(np.square(means - before).sum()) / strength, means
        return scale * math.sqrt(2.0 * total)

    def half_width(self, mechanism: AdditiveMechanism, tail: float) -> float:
        """Return ``h`` that a node's estimate errs by more than with probability at most ``tail``.

        The estimate is a sum of independent Laplace numbers; where blocks are not released there are fewer of them.
        Whole numbers have at most ``e^(1/(4 t))`` times the chance of the continuous law rounded, ``t`` the scale in
        steps of the grid, and both roundings move a number by at most half a step.
        """
        weights, counts = self._kernel(mechanism.scale)
        inner = check_unit_interval("tail", tail) * math.exp(-sum(counts) / (4.0 * mechanism.noise_units))
        moved = mechanism.grid * float(np.dot(weights, counts)) / mechanism.scale
        return (laplace_sum_quantile(weights, counts, inner * (1.0 - 2.0**-40)) + moved) * (1.0 + 2.0**-40)

    def mean_absolute(self, scale: float) -> float:
        """Return the mean of the absolute error of a node's estimate, at most."""
        return laplace_sum_mean_absolute(*self._kernel(scale))

    def _kernel(self, scale: float) -> tuple[list[float], list[int]]:
        """Return the scales of the numbers that a node's estimate is a sum of, and how many there are of each.

        A block of level ``l`` whose last common block with the node is of level ``a <= l`` (0: none) has ``P_k`` of its
        indicator at the node ``m_l/m_k`` for ``1 <= k <= a``, else 0, for ``k <= l``, and no more beyond.
        """
        weights, counts = [], []
        for level, factor in enumerate(self.factors, 1):
            for common in range(level + 1):
                inside = [self._nodes(level) / self._nodes(k) if k <= common else 0.0 for k in range(1, level + 1)]
                steps = np.diff([0.0, *inside])
                own = float(np.sum(steps / np.array(self.strengths[:level])))
                weights.append(abs(own) * float(factor) * scale)
                children = BRANCHING ** len(self.shape)
                many = children ** (level - common) - (children ** (level - common - 1) if common < level else 0)
                counts.append(many)
        return weights, counts

    def _nodes(self, level: int) -> int:
        """Return the number of nodes of a whole block."""
        return int(BRANCHING ** ((self.levels - level) * len(self.shape)))

    @property
    def _padded(self) -> tuple[int, ...]:
        return (BRANCHING**self.levels,) * len(self.shape)

    def _summed(self, values: npt.NDArray[Any], level: int) -> npt.NDArray[Any]:
        side, found = BRANCHING ** (self.levels - level), values
        for axis, size in enumerate(values.shape):
            found = np.add.reduceat(found, np.arange(0, size, side), axis=axis)
        return found

    def _spread(self, values: npt.NDArray[Any], level: int) -> Floats:
        side = BRANCHING ** (self.levels - level)
        found = np.asarray(values, dtype=np.float64)
        for axis in range(found.ndim):
            found = found.repeat(side, axis=axis)
        return found


def tree_mechanism(
    tree: Tree, *, users: int, epsilon: float, sum_error: float, has_away: bool = False
) -> LaplaceMechanism:
    """Return the noise of a tree at user level.

    Parameters
    ----------
    users : int
        The public number of users.
    sum_error : float
        Bound of |computed - exact| of any sum of one user's weights.
    has_away : bool
        Whether the share that is elsewhere, times :attr:`Tree.away`, is one more coordinate.

    Guarantee
    ---------
    ``(epsilon, 0)`` user-level DP for ``tree.sums`` of weights with sum 1, that share among them: the theorem of this
    module.

    >>> tree_mechanism(Tree((16, 10)), users=100, epsilon=1.0, sum_error=0.0).scale
    0.05
    """
    users = check_count("users", users)
    largest = max(*tree.factors, tree.away if has_away else 0)
    return LaplaceMechanism(
        sensitivity=float_at_least(tree.change / users),
        alpha=epsilon,
        dimension=tree.dimension + has_away,
        statistic_error=float_at_least(largest * Fraction(sum_error) / users),
        magnitude=float(largest),
    )
