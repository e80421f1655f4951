"""Generalised k-ary randomised response on clustered spaces.

Theorem (EMD 4, "GKRR"; Imola, Roy Chowdhury and Chaudhuri). Let ``X`` consist of ``s`` clusters of ``t`` items each, at
distance ``rho`` inside a cluster, ``0 < rho <= 1``, and 1 between clusters. Probabilities proportional to
``e^{alpha0}`` (the item itself), ``e^{(1 - rho) alpha0}`` (others of its cluster) and 1 (all others) are
``alpha0``-``d_X``-DP.

Proof. All items have the same normaliser. For two items of one cluster the ratios are ``e^{rho alpha0}``, its inverse
and 1; for items of two clusters they lie between ``e^{-alpha0}`` and ``e^{alpha0}``, as the exponents lie in ``[0,
alpha0]``. The paper's ``rho < 1/2`` is not needed for this, only for its error bound; ``rho = 1`` or ``s = 1`` is k-ary
randomised response at the distance that is left.

*Clusters of unequal size.* Normalisers then differ, and the same weights can exceed ``alpha0``. They are the
exponential mechanism's (:mod:`emdp.mechanisms.items.exponential`), and used at its largest internal strength ``g <=
alpha0`` that keeps the ``alpha0`` of the integer weights at most as asked.

Inverse. ``A = G + F 1^T`` with ``F`` the far probabilities (one a row) and ``G`` block diagonal with blocks ``a_i I +
b_i J``. So ``G^{-1}`` has blocks ``(I - b_i J/(a_i + t_i b_i))/a_i``, and by Sherman and Morrison ``B = G^{-1} - G^{-1}
F 1^T G^{-1}/(1 + 1^T G^{-1} F)``; with equal clusters this is EMD 4's closed form.
"""

from functools import cached_property
from typing import ClassVar

import numpy as np

from emdp.base.errors import RefusedError, UsageError
from emdp.mechanisms.items.exponential import tuned_strength
from emdp.mechanisms.items.finite import FiniteRandomizer
from emdp.mechanisms.weights import TOTAL, Floats, Integers, integer_rows
from emdp.spaces import Clusters, Space

__all__ = ["GKRR"]


class GKRR(FiniteRandomizer):
    """Generalised k-RR: the item itself most likely, then its cluster, then all else.

    Parameters
    ----------
    space : Clusters
        A clustered space, of equal or unequal clusters.
    alpha0 : float
        The strength asked for, positive.

    Raises
    ------
    UsageError
        If an argument is malformed or the space is not clustered.

    Guarantee
    ---------
    ``alpha0``-``d_X``-DP, by the theorem of this file, from the integer weights.

    >>> space = Clusters("word", {"cat": "animal", "dog": "animal", "red": "colour", "blue": "colour"}, 0.25)
    >>> GKRR(space, 2.0).matrix.round(4)[0].tolist()
    [0.5327, 0.3231, 0.0721, 0.0721]
    """

    name: ClassVar[str] = "generalised k-RR"
    theorem: ClassVar[str] = "generalised k-ary randomised response on clusters is alpha0-d_X-DP (EMD 4)"
    space: Clusters

    def __init__(self, space: Space, alpha0: float) -> None:
        if not isinstance(space, Clusters):
            kind = space.kind if isinstance(space, Space) else type(space).__name__
            raise UsageError(f"GKRR needs a Clusters space, not {kind}; use Exponential, or KRR for 0/1 distances.")
        super().__init__(space, alpha0)

    @cached_property
    def right_inverse(self) -> Floats:
        """``B`` with ``A B = I``, in closed form, shape (items, items)."""
        return self._from_shares(np.eye(self.items.count))

    @cached_property
    def _clusters(self) -> Integers:
        clusters = self.items.clusters
        return np.zeros(self.items.count, dtype=np.int64) if clusters is None else clusters

    @cached_property
    def _sizes(self) -> Floats:
        """Number of items of each cluster."""
        return np.bincount(self._clusters).astype(np.float64)

    @property
    def _first_strength(self) -> float:
        return tuned_strength(self.items.matrix, self.requested)

    def _weights_at(self, strength: float) -> Integers:
        # Divided by the largest, so that nothing overflows.
        return integer_rows(np.exp(-strength * self.items.matrix))

    def _from_shares(self, shares: Floats) -> Floats:
        """Return ``shares @ B`` without making ``B``: ``B`` acts on a row from the right."""
        clusters, sizes = self._clusters, self._sizes
        own, near, far = self._levels
        apart, together = (own - near)[clusters], (near - far)
        inside = together / (own - near + sizes * together)

        def undo_blocks(rows: Floats) -> Floats:
            sums = np.apply_along_axis(lambda row: np.bincount(clusters, row, len(sizes)), -1, rows)
            return np.asarray((rows - (inside * sums)[..., clusters]) / apart, dtype=np.float64)

        row = undo_blocks(shares)
        # 1^T G^{-1}, as G is symmetric inside each block
        ones = undo_blocks(np.ones(len(clusters)))
        rank_one = undo_blocks(shares) @ far[clusters]
        scale = 1.0 + float(ones @ far[clusters])
        return np.asarray(row - np.multiply.outer(rank_one, ones) / scale, dtype=np.float64)

    @cached_property
    def _levels(self) -> tuple[Floats, Floats, Floats]:
        """Probabilities of the item itself, of others of its cluster, and of all others, one for each cluster."""
        clusters = self._clusters
        first = np.unique(clusters, return_index=True)[1]
        own = self.weights[first, first]
        apart = clusters[first][:, None] != clusters
        far = np.where(apart.any(axis=1), self.weights[first, apart.argmax(axis=1)], 0)
        beside = ~apart
        beside[np.arange(len(first)), first] = False
        # A cluster of one item has no others; any value does, and this one leaves a_i > 0.
        near = np.where(beside.any(axis=1), self.weights[first, beside.argmax(axis=1)], far)
        if (own <= near).any() or (near < far).any():
            raise RefusedError(f"alpha0 = {self.requested:.3g} is too small for 62-bit weights; ask for more.")
        return own / float(TOTAL), near / float(TOTAL), far / float(TOTAL)
