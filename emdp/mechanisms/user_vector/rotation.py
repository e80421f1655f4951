"""A random rotation of users' vectors: a Hadamard matrix after random signs, which flattens every vector.

``U = H diag(w)/sqrt(D)``, ``D`` the least power of two that is at least ``d``, ``w`` uniform signs drawn once for a
release, from no data, and public. ``U`` is orthogonal, so errors keep their 2-norm. Any vector ``z`` has coordinates
of at most ``||z|| sqrt(2 ln(2 D/beta)/D)`` in size with probability at least ``1 - beta`` over ``w``; in the worst case
they reach ``||z||``, and for a vector in the *cube* of half-width ``B`` they reach ``B sqrt(d)``, not ``B``
(local-shuffle-userlevel.md 2.2, defect iii). So the bounds after the turn are those of the ball.

A turned vector is rounded to integers. Each depends on one user's vector alone, through additions and multiplications
of doubles that do not depend on other users. Privacy is stated of these integers, so their rounding costs none.
"""

import math
from collections.abc import Sequence

import numpy as np

from emdp.base.arrays import Integers
from emdp.base.checks import check_count
from emdp.base.classes import dataclass
from emdp.mechanisms.items.hadamard_response import walsh_hadamard
from emdp.noise.choices import draw_below

__all__ = ["TURNED_BITS", "Rotation", "draw_rotation"]

TURNED_BITS = 50
"""Turned coordinates are whole multiples of about ``2^-50`` of the radius."""

_AT_ONCE = 2**14
# Users turned together.


@dataclass(frozen=True, eq=False)
class Rotation:
    """A rotation of the ball around a centre.

    >>> rotation = Rotation((1, -1, 1, 1), (0.0, 0.0, 1.0), radius=2.0)
    >>> turned = rotation.turn(np.array([[1, 1, 2]]), (0, 0, 0))
    >>> (turned * 2.0**-rotation.exponent).tolist()
    [[0.5, 1.5, -0.5, 0.5]]
    >>> rotation.back((0.5, 1.5, -0.5, 0.5))
    (1.0, 1.0, 2.0)
    """

    signs: tuple[int, ...]  # `w`, each 1 or -1; a power of two of them, at least as many as coordinates
    centres: tuple[float, ...]  # Middle of the ball
    radius: float  # Vectors farther away are drawn in to it

    @property
    def exponent(self) -> int:
        """Turned coordinates are integers times ``2**-exponent``."""
        return TURNED_BITS - math.frexp(self.radius)[1]

    def turn(self, means: Integers, exponents: Sequence[int]) -> Integers:
        """Return turned vectors, shape (rows, D), times ``2**exponent``; ``means`` has shape (rows, d)."""
        scales, centres = -np.array(exponents, dtype=np.int64), np.array(self.centres)
        turned = np.empty((len(means), len(self.signs)), dtype=np.int64)
        for first in range(0, len(means), _AT_ONCE):
            values = np.ldexp(means[first : first + _AT_ONCE].astype(np.float64), scales) - centres
            padded = np.zeros((len(values), len(self.signs)))
            # Column by column: a sum over a row might be added in another order in another place of the block.
            squares = np.zeros(len(values))
            for place in range(values.shape[1]):
                squares += values[:, place] ** 2
            factors = self.radius / np.maximum(np.sqrt(squares), self.radius)
            padded[:, : values.shape[1]] = values * factors[:, None] * np.array(self.signs)[: values.shape[1]]
            whole = walsh_hadamard(padded) / math.sqrt(len(self.signs))
            turned[first : first + _AT_ONCE] = np.rint(np.ldexp(whole, self.exponent)).astype(np.int64)
        return turned

    def back(self, values: Sequence[float]) -> tuple[float, ...]:
        """Return the vector of ``d`` coordinates whose turned ones are ``values``, without the padding."""
        plain = walsh_hadamard(np.array(values, dtype=np.float64)) / math.sqrt(len(self.signs))
        turned = plain * np.array(self.signs)
        return tuple(float(turned[place] + centre) for place, centre in enumerate(self.centres))


def draw_rotation(width: int, centres: Sequence[float], radius: float) -> Rotation:
    """Return a rotation with fresh public signs; ``width`` is a power of two.

    >>> len(draw_rotation(8, (0.0,) * 5, 1.0).signs)
    8
    """
    width = check_count("width", width, minimum=len(centres))
    signs = 1 - 2 * draw_below(np.full(width, 2, dtype=np.int64))
    return Rotation(tuple(signs.tolist()), tuple(centres), radius)
