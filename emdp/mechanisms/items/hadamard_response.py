"""Hadamard response: an item's answer is spread over half of the outputs, so that estimates cost one fast transform.

Theorem (technical-notes.md 2.1; Acharya, Sun and Zhang 2019). Let ``X`` have ``k`` items, the smallest distance of two
different ones be ``w > 0``, ``eps = alpha0 w``, ``K`` the least power of two above ``k`` and ``H[i, y] =
(-1)^popcount(i & y)``. The randomizer that draws output ``y`` for item ``x`` with probability ``(1 + t H[x + 1,
y])/K``, ``t = (e^eps - 1)/(e^eps + 1)``, is ``alpha0``-``d_X``-DP.

Proof. Row ``x + 1`` is not row 0, so it sums to 0 and the probabilities to 1. Two of them differ by a factor of at most
``(1 + t)/(1 - t) = e^eps``, and ``eps <= alpha0 d_X(x, x')`` for ``x != x'``.

Inverse. Rows of ``H`` are orthogonal, so ``B[y, x] = H[x + 1, y]/t`` has ``A B = I``; ``B^T`` is one Walsh-Hadamard
transform. Every ``|B[y, x]| = 1/t``: an estimate from ``N`` items has variance at most ``1/(t^2 N)``, whatever ``k``
is, which is near the best for ``eps <= 1`` and far from it for ``eps > 2``, where ``KRR`` or ``GKRR`` can be better.

*One pair for all.* On the ``K - 1`` items of all rows but the first, the invertible linear maps of bit vectors carry
any ordered pair of items to any other. The first ``k >= K/2`` of them have the same least weight of every output (they
contain all powers of two, so every output but 0 meets a sign ``-1``). So what an accountant takes from a law, two rows
and the least weights, is alike for all pairs up to the order of outputs.
"""

from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from emdp.base.errors import RefusedError
from emdp.mechanisms.items.symmetric import SymmetricRandomizer
from emdp.mechanisms.weights import TOTAL, Floats, Integers

__all__ = ["HadamardResponse", "walsh_hadamard"]


class HadamardResponse(SymmetricRandomizer):
    """Hadamard response on any finite item space; outputs are numbers from 0 to ``K - 1``.

    Like ``KRR`` it spends its strength on the nearest items, so it suits 0/1 distances, and many items.

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
    >>> randomizer = HadamardResponse(Categories("kind", ["cafe", "bar", "park"]), float(np.log(3)))
    >>> randomizer.matrix.round(9).tolist()
    [[0.375, 0.125, 0.375, 0.125], [0.375, 0.375, 0.125, 0.125], [0.375, 0.125, 0.125, 0.375]]
    """

    name: ClassVar[str] = "Hadamard response"
    theorem: ClassVar[str] = "Hadamard response at eps = alpha0 w_min is alpha0-d_X-DP (technical-notes.md 2.1)"

    @cached_property
    def right_inverse(self) -> Floats:
        return np.asarray(self._signs.T / self._tilt, dtype=np.float64)

    def outputs_frame(self) -> dict[str, list[Any]]:
        """Return the outputs' numbers."""
        return {"output": list(range(self._outputs))}

    def estimate_variance(self) -> Floats:
        """Return the largest variance of each item's estimate from one randomised item, ``1/t^2``."""
        return np.full(self.items.count, self._tilt**-2)

    @property
    def _outputs(self) -> int:
        return 1 << self.items.count.bit_length()

    @property
    def _signs(self) -> Integers:
        """Rows 1 to k of the Hadamard matrix, shape (items, outputs)."""
        rows, columns = np.arange(1, self.items.count + 1), np.arange(self._outputs)
        return np.asarray(1 - 2 * (np.bitwise_count(rows[:, None] & columns) & 1).astype(np.int64), dtype=np.int64)

    @property
    def _tilt(self) -> float:
        high, low = int(self.weights[0, 0]), int(self.weights[0, 1])
        return (high - low) / (high + low)

    def _from_shares(self, shares: Floats) -> Floats:
        return walsh_hadamard(shares)[..., 1 : self.items.count + 1] / self._tilt

    def _weights_at(self, strength: float) -> Integers:
        both = 2 * TOTAL // self._outputs
        low = max(int(np.ceil(both / (1.0 + np.exp(min(strength * self.w_min, 700.0))))), 1)
        if 2 * low >= both:
            raise RefusedError(f"alpha0 = {self.requested:.3g} is too small for 62-bit weights; ask for more.")
        return np.asarray(np.where(self._signs > 0, both - low, low), dtype=np.int64)


def walsh_hadamard(rows: Floats) -> Floats:
    """Return ``sum_y rows[..., y] (-1)^popcount(i & y)`` for each ``i``; the last axis is a power of two long.

    >>> walsh_hadamard(np.array([1.0, 2.0, 3.0, 4.0])).tolist()
    [10.0, -2.0, -4.0, 0.0]
    """
    result = np.array(rows, dtype=np.float64)
    shape = result.shape
    half = 1
    while half < shape[-1]:
        pairs = result.reshape(*shape[:-1], -1, 2, half)
        first, second = pairs[..., 0, :].copy(), pairs[..., 1, :]
        pairs[..., 0, :] += second
        pairs[..., 1, :] = first - second
        half *= 2
    return result
