"""k-ary randomised response on any finite item space.

Theorem (EMD 4, "k-RR"; Warner 1965, Kairouz, Oh and Viswanath 2014). Let ``X`` have ``k`` items, the smallest distance
of two different ones be ``w > 0``, and ``eps = alpha0 w``. The randomizer that returns the item itself with probability
``e^eps/(e^eps + k - 1)`` and any other item with ``1/(e^eps + k - 1)`` is ``alpha0``-``d_X``-DP.

Proof. Two probabilities of one output differ by a factor of at most ``e^eps``, and ``eps = alpha0 w <= alpha0 d_X(x,
x')`` for ``x != x'``. On 0/1 distances ``w = 1``: the plain ``alpha0``-DP randomised response.

Inverse. With ``A = (p - q) I + q J``, ``J`` all ones, ``p + (k - 1) q = 1``: ``B = (I - q J)/(p - q)``.
"""

from functools import cached_property
from typing import ClassVar

import numpy as np

from emdp.base.errors import RefusedError
from emdp.mechanisms.items.symmetric import SymmetricRandomizer
from emdp.mechanisms.weights import TOTAL, Floats, Integers

__all__ = ["KRR"]


class KRR(SymmetricRandomizer):
    """k-ary randomised response: the item itself more likely, all others alike.

    On a space with other than 0/1 distances its strength is spent on the *nearest* items, so that ``GKRR``,
    ``Exponential`` or ``Optimal`` are better there.

    Parameters
    ----------
    space : Space
        A finite item space, no two items at distance 0.
    alpha0 : float
        The strength asked for, positive.

    Raises
    ------
    UsageError
        If an argument is malformed, the space is not finite, or two items are at distance 0.

    Guarantee
    ---------
    ``alpha0``-``d_X``-DP, by the theorem of this file, from the integer weights.

    >>> from emdp.spaces import Categories
    >>> randomizer = KRR(Categories("kind", ["cafe", "bar", "park"]), 1.0)
    >>> randomizer.matrix.round(4)[0].tolist(), round(randomizer.alpha0, 9)
    ([0.5761, 0.2119, 0.2119], 1.0)
    >>> randomizer.right_inverse.sum(axis=1).round(12).tolist()
    [1.0, 1.0, 1.0]
    """

    name: ClassVar[str] = "k-RR"
    theorem: ClassVar[str] = "k-ary randomised response at eps = alpha0 w_min is alpha0-d_X-DP (EMD 4)"

    @cached_property
    def right_inverse(self) -> Floats:
        """``B`` with ``A B = I``, in closed form, shape (items, items)."""
        return self._from_shares(np.eye(self.items.count))

    def _from_shares(self, shares: Floats) -> Floats:
        same, other = (int(weight) for weight in self.weights[0, :2])
        centred = shares * float(TOTAL) - other * shares.sum(axis=-1, keepdims=True)
        return np.asarray(centred / (same - other), dtype=np.float64)

    def _weights_at(self, strength: float) -> Integers:
        count = self.items.count
        share = 1.0 / (np.exp(min(strength * self.w_min, 700.0)) + (count - 1))
        # Up, which can only bring the two probabilities nearer to each other.
        other = max(int(np.ceil(share * float(TOTAL))), 1)
        if count * other >= TOTAL:
            raise RefusedError(f"alpha0 = {self.requested:.3g} is too small for 62-bit weights; ask for more.")
        weights = np.full((count, count), other, dtype=np.int64)
        np.fill_diagonal(weights, TOTAL - (count - 1) * other)
        return weights
