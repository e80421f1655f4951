"""``R_inf``: vectors with bounded entries, by sampled coordinates of their leading binary digits.

Theorem (local-shuffle-userlevel.md 4.2, with the clamp). Vectors with ``|x|_inf <= r`` are ``y = x/r`` in the cube;
``m`` planes and ``s`` blocks of :mod:`emdp.mechanisms.vector.cube` give an ``epsilon``-LDP message and an unbiased
estimate, with a mean squared error of at most

    r^2 (sum_k g_k^2 coth(epsilon w_k/(2 s))^2 sum_b a_b^2 - d sum_(k<m) g_k^2)/n,

attained where what is left after the first ``m - 1`` digits is in the middle of its range, for every entry.

Proof. ``|y|_inf <= 1``, and ``L = r I`` inverts the map: the theorem of :mod:`emdp.mechanisms.vector.cube` with ``K =
d`` and ``e = r^2``, whose second bound this is. A plane has ``s`` signs of ``epsilon w_k/s`` each, of contrast
``coth(epsilon w_k/(2 s))``; the ``w_k`` add up to 1, so that all signs together have ``epsilon``.

For ``m = s = 1`` this is ``R_inf`` of one-bit-and-sampling.md 2: one coordinate, one bit, ``r^2 d^2
coth(epsilon/2)^2/n`` at the vector 0. Several blocks pay from ``epsilon`` about 2.5 upward, and several planes only
where ``s`` would be beyond ``d``: few dimensions, large epsilon.

Other balls lie in the cube of the same radius. There the bound is attained for ``m = 1`` and is a bound else.
"""

import math
from typing import ClassVar

from emdp.mechanisms.vector.cube import CubeRandomizer
from emdp.mechanisms.weights import Floats

__all__ = ["VectorPlanes"]


class VectorPlanes(CubeRandomizer):
    """Bit planes of sampled coordinates; see :class:`CubeRandomizer` for arguments and guarantee.

    Parameters
    ----------
    norm : float
        Of the ball; infinity by default.

    >>> import numpy as np
    >>> planes = VectorPlanes(2, 1.0, 4.0, 10_000)
    >>> planes.planes, planes.blocks, round(planes.squared_error() * 10_000, 3)
    (2, 1, 2.948)
    >>> estimate = planes.decode(planes.tally(planes.encode(np.full((10_000, 2), 0.5))), 10_000)
    >>> bool(np.abs(estimate - 0.5).max() < 0.2)
    True
    """

    name: ClassVar[str] = "bit planes of sampled coordinates"
    theorem: ClassVar[str] = "signs of sampled coordinates of m bit planes, clamped (local-shuffle-userlevel.md 4.2)"

    def __init__(
        self,
        dimension: int,
        radius: float,
        epsilon: float,
        users: int,
        *,
        norm: float = math.inf,
        planes: int | None = None,
        blocks: int | None = None,
    ) -> None:
        super().__init__(dimension, radius, epsilon, users, norm=norm, planes=planes, blocks=blocks)

    @property
    def _column(self) -> float:
        return self.radius**2

    def _to_cube(self, vectors: Floats) -> Floats:
        return vectors / self.radius

    def _from_cube(self, points: Floats) -> Floats:
        return self.radius * points
