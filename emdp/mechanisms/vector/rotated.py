"""``R_2`` by a public rotation: short vectors have small entries after it, so bit planes of a small cube serve them.

Theorem (local-shuffle-userlevel.md 4.3, with the right clip). Let ``D`` be the least power of two from ``d`` upward,
``U = H diag(w)/sqrt(D)`` with signs ``w`` that are public, drawn once, independently of one another and of the data.
``U`` is orthogonal. With ``|x|_2 <= r_2`` let ``r_inf = min(r_2, r_2 sqrt(2 ln(2 n D/beta)/D))``; ``y`` is ``U
x/r_inf`` clipped to the cube, ``L = r_inf U^T``. Planes and blocks of :mod:`emdp.mechanisms.vector.cube` give an
``epsilon``-LDP message, for any signs and any vectors. Given the signs, the estimate is unbiased for the mean of ``L
y``, which is the mean of ``x`` *if no entry was clipped*: with probability at least ``1 - beta`` over the signs. In any
case its bias adds at most ``(2/l) e^-l r_2^2`` to the mean squared error, ``l = D r_inf^2/(2 r_2^2)``, and nothing if
``r_inf = r_2``.

Proof. An entry of ``U x`` is ``sum_i +-w_i x_i/sqrt(D)``, so by Hoeffding it exceeds ``t`` in size with probability at
most ``2 exp(-D t^2/(2 r_2^2))``; at ``r_inf`` that is ``beta/(n D)`` for each of ``n D`` entries. What is cut off an
entry has a mean square of at most ``int_r^inf 2 (t - r) 2 exp(-D t^2/(2 r_2^2)) dt``, ``r = r_inf``, and with ``t^2 >=
r^2 + 2 r (t - r)`` at most ``4 (r_2^2/D)^2/r^2 e^-l``; ``D`` entries have ``(2/l) e^-l r_2^2``. The mean over users has
no larger mean square, and given the signs the error is the sum of this bias and of noise with mean 0.

*One sign shared by all entries does not do*: ``diag(w)`` then changes nothing, and ``x = (1, ..., 1)/sqrt(D)`` has all
its length in one entry of ``U x``. *The printed* ``r_inf = 10 r_2 sqrt(ln(d n/beta)/d)`` is above ``r_2`` for ``d =
512`` already, and costs 48 times the error.

:class:`emdp.mechanisms.vector.direction.VectorDirection` serves the same ball without a bias, and mostly better: its
constant is ``pi/2`` where this one's is ``2 ln(2 n D/beta)`` (``D`` where nothing is clipped). This one is cheaper: a
report takes one transform, and to tally it one addition, where a direction takes ``d`` normal quantiles on either side.
"""

import math
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from emdp.base.checks import check_unit_interval
from emdp.base.errors import UsageError
from emdp.mechanisms.items.hadamard_response import walsh_hadamard
from emdp.mechanisms.vector.cube import CubeRandomizer
from emdp.mechanisms.vector.randomizer import inner_radius
from emdp.mechanisms.weights import Floats, Integers
from emdp.noise.choices import draw_bernoulli

__all__ = ["VectorRotated", "draw_rotation_signs", "rotated_radius"]


class VectorRotated(CubeRandomizer):
    """Bit planes after a public rotation; see :class:`CubeRandomizer` for arguments and guarantee.

    Its :meth:`squared_error` is an upper bound: on average over the signs, with the bias by clipping.

    Parameters
    ----------
    norm : float
        Of the ball; 2 by default.
    beta : float
        Bound of the probability, over the signs, that any entry of any user's vector is clipped, in (0, 1).
    rotation : array-like of int, shape (width,), optional
        The public signs, +1 and -1, which clients and server share: ``rotation`` of the object that drew them. Drawn
        afresh by default.

    Attributes
    ----------
    rotation : numpy.ndarray of int64
        The public signs.
    limit : float
        ``r_inf``.

    >>> rotated = VectorRotated(512, 1.0, 1.0, 1000, beta=0.01)
    >>> round(rotated.limit, 3), rotated.rotation.shape
    (0.268, (512,))
    """

    name: ClassVar[str] = "rotation and bit planes"
    theorem: ClassVar[str] = (
        "bit planes of H diag(w) x/sqrt(D), clipped, public signs w (local-shuffle-userlevel.md 4.3)"
    )

    def __init__(
        self,
        dimension: int,
        radius: float,
        epsilon: float,
        users: int,
        *,
        norm: float = 2.0,
        beta: float = 0.01,
        rotation: npt.ArrayLike | None = None,
        planes: int | None = None,
        blocks: int | None = None,
    ) -> None:
        self.beta = check_unit_interval("beta", beta)
        super().__init__(dimension, radius, epsilon, users, norm=norm, planes=planes, blocks=blocks)
        self.rotation = draw_rotation_signs(self.width) if rotation is None else self._checked_signs(rotation)

    @property
    def width(self) -> int:
        return 1 << (self.dimension - 1).bit_length()

    def parameters(self) -> dict[str, Any]:
        """Return what the ledger keeps of it, JSON-ready; the signs as bits, 1 for -1, in hexadecimal."""
        return {**super().parameters(), "beta": self.beta, "rotation": np.packbits(self.rotation < 0).tobytes().hex()}

    @property
    def _column(self) -> float:
        return self.limit**2 * self.dimension / self.width

    def _bias(self) -> float:
        if self.limit >= self._reach:
            return 0.0
        exponent = 0.5 * self.width * (self.limit / self._reach) ** 2
        return 2.0 / exponent * math.exp(-exponent) * self._reach**2

    def _prepare(self) -> None:
        self._reach = inner_radius(self.dimension, self.radius, self.norm, 2.0)
        self.limit = rotated_radius(self.width, self._reach, self.users, self.beta)

    def _to_cube(self, vectors: Floats) -> Floats:
        padded = np.zeros((len(vectors), self.width))
        padded[:, : self.dimension] = vectors / self._reach
        return walsh_hadamard(padded * self.rotation) * (self._reach / self.limit / math.sqrt(self.width))

    def _from_cube(self, points: Floats) -> Floats:
        turned = walsh_hadamard(points) * self.rotation
        return turned[:, : self.dimension] * (self.limit / math.sqrt(self.width))

    def _checked_signs(self, rotation: npt.ArrayLike) -> Integers:
        given = np.asarray(rotation)
        if given.shape != (self.width,) or given.dtype.kind not in "iu" or not (np.abs(given) == 1).all():
            raise UsageError(f"rotation must be {self.width} integers +1 or -1; pass draw_rotation_signs(width).")
        return given.astype(np.int64)


def draw_rotation_signs(width: int) -> Integers:
    """Draw independent signs, +1 or -1 with probability 1/2 each; publish them.

    >>> np.abs(draw_rotation_signs(4)).tolist()
    [1, 1, 1, 1]
    """
    return 2 * draw_bernoulli(np.ones(width, dtype=np.int64), 1).astype(np.int64) - 1


def rotated_radius(width: int, radius: float, users: int, beta: float) -> float:
    """Return ``r_inf`` of the module's text.

    >>> round(rotated_radius(512, 1.0, 1000, 0.01), 3), rotated_radius(4, 1.0, 1000, 0.01)
    (0.268, 1.0)
    """
    return radius * min(1.0, math.sqrt(2.0 * math.log(2.0 * users * width / beta) / width))
