"""Means of bits: every user holds ``d`` bits and reports some of them, randomised.

Theorem (local-shuffle-userlevel.md 4.1, BinMean, in the local model). The ``d`` bits are dealt into ``s`` blocks; a
user draws a bit of each block uniformly and reports it, turned with probability ``p = 1/(1 + e^(epsilon/s))``. This is
``epsilon``-LDP for all bits together, and with ``a_b`` the blocks' sizes the mean squared error is *exactly*

    (sum_b a_b^2 coth(epsilon/(2 s))^2 - d)/(4 n),

whatever the bits are.

Proof. It is the case of one plane of :mod:`emdp.mechanisms.vector.cube`, ``y = 2 b - 1`` and ``L = 1/2``: a sign with
``|v| = 1`` is the bit turned with probability ``(1 - t)/2 = p``. Every ``|y_b|^2`` is the block's size, so that nothing
depends on the bits.

*As printed* the bits themselves are averaged, not ``b - 1/2``, with an error of ``((a - 1) |b|^2 + s a^2 p (1 - p)/(1 -
2 p)^2)/n`` for equal blocks of ``a``. It differs by ``(a - 1)(|b|^2 - d/4)/n``: up to ``3 (a - 1) d/(4 n)`` more where
bits are mostly 1. Padding ``d`` to a multiple of ``s`` is not needed either: blocks differ in size by at most 1.

``s`` is by default that of the smallest error: 1 up to an ``epsilon`` of about 3, near ``epsilon/2`` beyond, if ``d``
is large.
"""

import math
from typing import ClassVar

import numpy as np

from emdp.mechanisms.vector.cube import CubeRandomizer
from emdp.mechanisms.weights import Floats

__all__ = ["VectorBits"]


class VectorBits(CubeRandomizer):
    """Randomised reports of sampled bits; estimates the share of users with each bit.

    Parameters
    ----------
    dimension : int
        ``d``, the number of bits of a user.
    epsilon : float
        For all of a user's bits together, from 1e-6 to 40.
    users : int
        The public number of users.
    blocks : int, optional
        How many bits a user reports, from 1 to ``dimension``; the best by default.

    Guarantee
    ---------
    Each user's message is ``epsilon``-LDP at user level, by :mod:`emdp.mechanisms.vector.randomizer`. An entry counts
    as 1 from 1/2 upward, and as 0 if it is not finite.

    >>> bits = VectorBits(16, 1.0, 1000)
    >>> bits.blocks, round(bits.squared_error(), 4)
    (1, 0.2957)
    >>> bits.decode(bits.tally(bits.encode(np.ones((1000, 16)))), 1000).shape
    (16,)
    """

    name: ClassVar[str] = "sampled bits"
    theorem: ClassVar[str] = (
        "s sampled bits, each turned with probability 1/(1 + e^(epsilon/s)) (local-shuffle-userlevel.md 4.1)"
    )
    _column: ClassVar[float] = 0.25
    _origin: ClassVar[float] = 0.5

    def __init__(self, dimension: int, epsilon: float, users: int, *, blocks: int | None = None) -> None:
        super().__init__(dimension, 1.0, epsilon, users, norm=math.inf, planes=1, blocks=blocks)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.dimension}, {self.requested!r}, {self.users})"

    def _fixed(self, planes: int) -> int:
        return planes

    def _clip(self, vectors: Floats) -> Floats:
        return np.asarray(np.isfinite(vectors) & (vectors >= 0.5), dtype=np.float64)

    def _to_cube(self, vectors: Floats) -> Floats:
        return 2.0 * vectors - 1.0

    def _from_cube(self, points: Floats) -> Floats:
        return 0.5 * points
