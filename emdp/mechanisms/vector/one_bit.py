"""``R_1``: vectors with a bounded 1-norm, by sampled entries of their Hadamard transform.

Theorem (local-shuffle-userlevel.md 1.3; one-bit-and-sampling.md 1). Let ``|x|_1 <= r``, ``K`` the least power of two
from ``d`` upward, ``H[i, j] = (-1)^popcount(i & j)``. ``y = H x/r`` (``x`` padded by zeros) is in the cube ``[-1,
1]^K``, and ``L = (r/K) H``, its first ``d`` rows, inverts that. One plane of :mod:`emdp.mechanisms.vector.cube` gives
an ``epsilon``-LDP message and an unbiased estimate. With ``s = 1`` (one bit a user) the mean squared error is exactly

    (d r^2 c^2 - mean of |x_i|_2^2)/n,    c = coth(epsilon/2),

and with ``s`` blocks at most ``d r^2 coth(epsilon/(2 s))^2 (sum_b a_b^2)/(K^2 n)``, attained at ``x = 0``: near ``1/s``
of it where ``s`` divides ``K``, at ``epsilon/s``. So several bits a user pay from ``epsilon`` about 3 upward.

Proof. ``|y_j| <= sum_i |H[i, j]| |x_i|/r <= 1``. The columns of ``L`` have squared length ``e = r^2 d/K^2``; with one
block ``L y = x``. The rest is the theorem of :mod:`emdp.mechanisms.vector.cube`.

Other balls: with the 1-norm's radius ``r d^(1 - 1/p)``, which the published remark leaves out for ``p > 1``.
"""

from typing import ClassVar

import numpy as np

from emdp.mechanisms.items.hadamard_response import walsh_hadamard
from emdp.mechanisms.vector.cube import CubeRandomizer
from emdp.mechanisms.vector.randomizer import inner_radius
from emdp.mechanisms.weights import Floats

__all__ = ["VectorOneBit"]


class VectorOneBit(CubeRandomizer):
    """One-bit Hadamard reports; see :class:`CubeRandomizer` for arguments and guarantee.

    Parameters
    ----------
    norm : float
        Of the ball; 1 by default.
    blocks : int, optional
        How many bits a user sends, from 1 to the least power of two that is at least ``dimension``; the best by
        default.

    >>> hadamard = VectorOneBit(4, 1.0, 1.0, 4)
    >>> messages = np.array([[0], [2], [5], [7]])
    >>> (hadamard.decode(hadamard.tally(messages), 4) + 0.0).round(5).tolist()
    [0.0, 0.0, 2.16395, 0.0]
    """

    name: ClassVar[str] = "one-bit Hadamard reports"
    theorem: ClassVar[str] = (
        "P(s = +1) = 1/2 + (H x)[j]/(2 r c), j uniform, |x|_1 <= r (local-shuffle-userlevel.md 1.3)"
    )

    def __init__(
        self,
        dimension: int,
        radius: float,
        epsilon: float,
        users: int,
        *,
        norm: float = 1.0,
        blocks: int | None = None,
    ) -> None:
        super().__init__(dimension, radius, epsilon, users, norm=norm, planes=1, blocks=blocks)

    @property
    def width(self) -> int:
        return 1 << (self.dimension - 1).bit_length()

    @property
    def _column(self) -> float:
        return self.dimension * (self._reach / self.width) ** 2

    def _prepare(self) -> None:
        self._reach = inner_radius(self.dimension, self.radius, self.norm, 1.0)

    def _to_cube(self, vectors: Floats) -> Floats:
        padded = np.zeros((len(vectors), self.width))
        # Divided first: sums of shares cannot overflow.
        padded[:, : self.dimension] = vectors / self._reach
        return walsh_hadamard(padded)

    def _from_cube(self, points: Floats) -> Floats:
        return walsh_hadamard(points)[:, : self.dimension] * (self._reach / self.width)
