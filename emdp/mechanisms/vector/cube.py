"""Reports of sampled coordinates of a cube: what bit means, bit planes, Hadamard bits and rotations have in common.

A vector is mapped to a point ``y`` of the cube ``[-1, 1]^K`` by a linear map whose inverse is ``L``. The point is
written in ``m`` *planes*: ``y = sum_k g_k y_k``, ``g_k = 2^-k`` for ``k < m``, ``g_m = 2^-(m-1)``; ``y_1, ...,
y_(m-1)`` are the leading binary digits of ``(y + 1)/2``, as signs, and ``y_m`` in ``[-1, 1]`` is what is left. The
``K`` coordinates are dealt into ``s`` *blocks*, coordinate ``c`` into block ``c mod s`` of size ``a_b``. For each plane
and each block a user draws a coordinate of the block uniformly, and sends it with a sign of contrast ``c_k``, whose
value ``v`` is that coordinate of ``y_k``. The server adds up the signs of each coordinate, multiplies by ``a_b c_k
g_k/n`` and applies ``L``.

Theorem. The estimate is unbiased for ``L y``, ``y`` the mean point. With ``e`` the squared length of a column of ``L``,
alike for all of them, and ``y_kb`` the point ``y_k`` with all coordinates outside block ``b`` set to 0, its mean
squared error is exactly the mean over users of

    (e Q - sum_k g_k^2 sum_b |L y_kb|^2)/n,    Q = sum_k g_k^2 c_k^2 sum_b a_b^2,

so at most ``e Q/n``, attained for ``m = 1`` at ``y = 0``. If ``L`` is the first ``d`` rows of a multiple of an
isometry, all ``K`` rows together have the error ``(K/d) e (Q - sum_k g_k^2 |y_k|^2)/n``, and ``|y_k|^2 = K`` for ``k <
m``. So it is also at most ``(K/d) e (Q - K sum_(k<m) g_k^2)/n``, attained for ``d = K`` where all ``y_m = 0``.

Proof. Given the vector, plane ``k`` and block ``b`` give ``z_kb = a_b c_k s e_j``, ``j`` uniform in the block, with
mean ``y_kb`` and squared length ``a_b^2 c_k^2``; these are independent, and ``|L e_j|^2 = e``. So ``E |L (z_kb -
y_kb)|^2 = e a_b^2 c_k^2 - |L y_kb|^2``, and these add up. Users are independent.

Digits. ``z = (y + 1)/2`` in ``[0, 1]``, ``z_0 = 0``; digit ``k < m`` is ``b_k = min(1, floor(2^k (z - z_(k-1))))``,
``z_k = z_(k-1) + b_k 2^-k``. The ``min`` is missing in print, where ``z = 1`` gives ``b_1 = 2``. With it ``0 <= z -
z_(m-1) <= 2^-(m-1)``, and ``y_m = 2^m (z - z_(m-1)) - 1`` is in ``[-1, 1]``. Since the ``g_k`` add up to 1, ``sum_k g_k
y_k = y``.

Budget. A sign of plane ``k`` has ``epsilon w_k/s``, ``w_k`` proportional to ``4^(-k/3)`` (``4^(-(m-1)/3)`` for the
last), which is near the best. ``m`` and ``s``, where they are not given, are those of the smallest error bound.

References: local-shuffle-userlevel.md 1.3, 4.1, 4.2, with ``b - 1/2`` in place of ``b`` throughout, which is why no
error here depends on the digits.
"""

import math
from abc import abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from emdp.base.checks import check_count
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.mechanisms.vector.randomizer import LARGEST_REPORTS, SignStrength, VectorRandomizer
from emdp.mechanisms.weights import Floats, Integers
from emdp.noise.choices import draw_below, draw_bernoulli
from emdp.privacy.rounding import as_decimal, split

__all__ = ["LARGEST_PLANES", "CubeRandomizer", "PlaneSigns", "plane_digits", "plane_gains", "plane_shares"]

LARGEST_PLANES = 16
"""Most binary digits of a coordinate: what is left is below the noise long before."""

_BITS = 62


@dataclass(frozen=True)
class PlaneSigns:
    """The signs of one plane."""

    gain: float  # `g_k`
    strength: SignStrength  # Of each of its signs

    @property
    def factor(self) -> float:
        """``g_k c_k``."""
        return self.gain * float(self.strength.contrast)

    @property
    def excess(self) -> float:
        """``g_k^2 (c_k^2 - 1)``, without cancellation."""
        return self.gain**2 * float(self.strength.contrast**2 - 1)


def plane_gains(planes: int) -> tuple[float, ...]:
    """Return ``g_1, ..., g_m``.

    >>> plane_gains(1), plane_gains(3)
    ((1.0,), (0.5, 0.25, 0.25))
    """
    return tuple(2.0 ** -min(k, planes - 1) for k in range(1, planes + 1))


def plane_shares(planes: int) -> tuple[float, ...]:
    """Return weights of the planes' budgets, which sum to 1.

    >>> [round(share, 4) for share in plane_shares(3)]
    [0.4425, 0.2788, 0.2788]
    """
    weights = [4.0 ** (-min(k, planes - 1) / 3.0) for k in range(1, planes + 1)]
    return tuple(weight / math.fsum(weights) for weight in weights)


def plane_digits(cube: Floats, planes: int) -> list[Floats]:
    """Return ``y_1, ..., y_m`` of points of the cube, each of their shape.

    >>> [plane.tolist() for plane in plane_digits(np.array([1.0, -1.0, 0.25]), 2)]
    [[1.0, -1.0, 1.0], [1.0, -1.0, -0.5]]
    """
    rest = 0.5 * (cube + 1.0)
    digits = []
    for k in range(1, planes):
        bit = np.minimum(1.0, np.floor(rest * 2.0**k))
        rest = rest - bit * 2.0**-k
        digits.append(2.0 * bit - 1.0)
    return [*digits, rest * 2.0**planes - 1.0]


class CubeRandomizer(VectorRandomizer):
    """A randomizer of this file; subclasses map the ball to the cube.

    Parameters
    ----------
    dimension, radius, epsilon, users, norm
        As for :class:`VectorRandomizer`.
    planes : int, optional
        ``m``, from 1 to ``LARGEST_PLANES``; the best by default.
    blocks : int, optional
        ``s``, from 1 to the dimension of the cube; the best by default.

    Attributes
    ----------
    planes, blocks : int
        ``m`` and ``s``.
    """

    _most_planes: ClassVar[int] = 6

    def __init__(
        self,
        dimension: int,
        radius: float,
        epsilon: float,
        users: int,
        *,
        norm: float,
        planes: int | None = None,
        blocks: int | None = None,
    ) -> None:
        super().__init__(dimension, radius, epsilon, users, norm=norm)
        self._prepare()
        most = min(self.width, LARGEST_REPORTS)
        if planes is not None and check_count("planes", planes) > LARGEST_PLANES:
            raise UsageError(f"planes must be at most {LARGEST_PLANES}, got {planes}; pass fewer.")
        if blocks is not None and check_count("blocks", blocks) > most:
            raise UsageError(f"blocks must be at most {most}, got {blocks}; pass fewer.")
        if planes is not None and blocks is not None and planes * blocks > LARGEST_REPORTS:
            raise UsageError(f"planes times blocks must be at most {LARGEST_REPORTS}; pass fewer.")
        # A sign of epsilon below 1 gains nothing by being split, which bounds what is tried.
        reports = math.ceil(self.requested) + 1
        tried = [
            (m, s)
            for m in ([planes] if planes else range(1, min(reports, self._most_planes) + 1))
            for s in ([blocks] if blocks else range(1, min(most, reports) + 1))
            if m == 1 or planes or blocks or m * s <= 2 * reports
        ]
        self.planes, self.blocks = min(tried, key=lambda pair: self._error_at(*pair))

    @property
    def width(self) -> int:
        """``K``, the dimension of the cube."""
        return self.dimension

    @abstractmethod
    def _to_cube(self, vectors: Floats) -> Floats:
        """Return the points of vectors of the ball, shape (users, width); what is outside of the cube is clipped."""

    @abstractmethod
    def _from_cube(self, points: Floats) -> Floats:
        """Return ``L`` of some points, shape (points, dimension)."""

    @property
    @abstractmethod
    def _column(self) -> float:
        """``e``: the squared length of every column of ``L``."""

    @property
    def _origin(self) -> float:
        """Number that is added to every entry of an estimate."""
        return 0.0

    def _prepare(self) -> None:
        """Settle what the map to the cube needs, once the arguments are checked."""

    def _fixed(self, planes: int) -> int:
        """Return how many planes, the first ones, have all their entries +1 or -1."""
        return planes - 1

    def _bias(self) -> float:
        """Return a bound of the mean squared 2-norm of what clipping to the cube takes from the mean."""
        return 0.0

    @cached_property
    def signs(self) -> tuple[PlaneSigns, ...]:
        """The planes' signs, the most significant plane first."""
        return self._signs_at(self.planes, self.blocks)

    @property
    def reports(self) -> int:
        return self.planes * self.blocks

    @property
    def ratio(self) -> Fraction:
        ratio = math.prod((plane.strength.ratio for plane in self.signs), start=Fraction(1))
        return ratio**self.blocks

    def squared_error(self) -> float:
        return self._error_at(self.planes, self.blocks)

    def squared_error_of(self, vectors: Floats) -> float:
        clipped = self.clip(vectors)
        cube = np.clip(self._to_cube(clipped), -1.0, 1.0)
        lost = self._from_cube(cube).mean(axis=0) + self._origin - clipped.mean(axis=0)
        squares = float((self._sizes(self.blocks) ** 2).sum())
        total = 0.0
        for plane, digits in zip(self.signs, plane_digits(cube, self.planes), strict=True):
            total += self._column * plane.factor**2 * squares
            for block in range(self.blocks):
                kept = np.where(np.arange(self.width) % self.blocks == block, digits, 0.0)
                total -= plane.gain**2 * float((self._from_cube(kept) ** 2).sum(axis=1).mean())
        return total / len(clipped) + float(lost @ lost)

    def parameters(self) -> dict[str, Any]:
        return {**super().parameters(), "planes": self.planes, "blocks": self.blocks}

    @property
    def _block_width(self) -> int:
        return self.width * self.planes

    @property
    def _tally_shape(self) -> tuple[int, ...]:
        return (self.planes, self.width)

    def _sizes(self, blocks: int) -> Integers:
        """``a_b``."""
        return np.asarray((self.width - np.arange(blocks) + blocks - 1) // blocks, dtype=np.int64)

    def _signs_at(self, planes: int, blocks: int) -> tuple[PlaneSigns, ...]:
        budgets = split(self.requested, plane_shares(planes))
        return tuple(
            PlaneSigns(gain, SignStrength.of(as_decimal(budget) / blocks))
            for gain, budget in zip(plane_gains(planes), budgets, strict=True)
        )

    def _error_at(self, planes: int, blocks: int) -> float:
        signs = self._signs_at(planes, blocks)
        squares, fixed = int((self._sizes(blocks) ** 2).sum()), self._fixed(planes)
        noise = squares * math.fsum(plane.excess for plane in signs)
        drawn = noise + squares * math.fsum(plane.gain**2 for plane in signs)
        known = noise + math.fsum(s.gain**2 * (squares - self.width * (k < fixed)) for k, s in enumerate(signs))
        return self._column * min(drawn, known * self.width / self.dimension) / self.users + self._bias()

    def _encode(self, vectors: Floats) -> Integers:
        cube = np.clip(self._to_cube(vectors), -1.0, 1.0)
        shape = (len(vectors), self.planes, self.blocks)
        drawn = draw_below(np.broadcast_to(self._sizes(self.blocks), shape).ravel()).reshape(shape)
        places = np.arange(self.blocks) + self.blocks * drawn
        numerators = np.empty(shape, dtype=np.int64)
        for k, digits in enumerate(plane_digits(cube, self.planes)):
            values = np.take_along_axis(digits, places[:, k], axis=1)
            numerators[:, k] = self.signs[k].strength.numerators(values)
        is_plus = draw_bernoulli(numerators.ravel(), _BITS).reshape(shape)
        return np.asarray((2 * places + ~is_plus).reshape(len(vectors), self.reports), dtype=np.int64)

    def _tally(self, messages: Integers) -> Integers:
        reports = messages.reshape(len(messages), self.planes, self.blocks)
        places = reports >> 1
        sound = (places >= 0) & (places < self.width) & (places % self.blocks == np.arange(self.blocks))
        if not sound.all():
            raise UsageError("messages hold places that no message has; pass what encode returned.")
        cells = 2 * self.width * np.arange(self.planes)[:, None] + reports
        counts = np.bincount(cells.ravel(), minlength=2 * self.width * self.planes).reshape(self.planes, -1, 2)
        return np.asarray(counts[..., 0] - counts[..., 1], dtype=np.int64)

    def _decode(self, tally: Integers, count: int) -> Floats:
        factors = np.array([plane.factor for plane in self.signs])
        sizes = self._sizes(self.blocks)[np.arange(self.width) % self.blocks]
        point = sizes * (factors @ tally.astype(np.float64)) / count
        return np.asarray(self._from_cube(point[None, :])[0] + self._origin, dtype=np.float64)
