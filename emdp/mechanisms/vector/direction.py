"""``R_2``: vectors with a bounded 2-norm, by the side of a random plane through the origin on which they lie.

Theorem (Duchi, Jordan and Wainwright 2018; one-bit-and-sampling.md 3a, with the factor ``d`` that is missing in print).
Let ``|x|_2 <= r``. A user draws a direction ``u``, uniform on the unit sphere of ``R^d``, and sends it with a sign of
value ``v = (|x|_2/r) sgn<u, x>`` and contrast ``c``. The message is ``epsilon``-LDP, and ``M s u`` is unbiased for
``x``,

    M = r c sqrt(pi) Gamma((d + 1)/2)/Gamma(d/2),

with mean squared error exactly ``M^2 - |x|_2^2``; and ``M^2 <= (pi/2) d r^2 c^2``. Of ``s`` such reports, each at
``epsilon/s``, the mean has an ``s``-th of that, with the ``c`` of ``epsilon/s``. So the mean over ``n`` users has a
mean squared error of at most ``M^2/(n s)``, attained at 0.

Proof. Given ``u``, the mean of the sign is ``v/c``. By symmetry ``E u sgn<u, x>`` has the direction of ``x``, and the
length ``E |u_1| = Gamma(d/2)/(sqrt(pi) Gamma((d + 1)/2))``. So ``E M s u = M/c (|x|/r) E|u_1| x/|x| = x``. ``|M s u| =
M``. Reports of one user are independent given its vector.

*It is the published randomizer*: that one turns ``x`` to the sphere by a random sign, then draws ``u`` in the half
space around it with probability ``e^epsilon/(e^epsilon + 1)``, else in the other half. The law of ``s u`` here is the
same. Written so, all that is private is one bit: its law is made of integers over 2^62 whatever the law of ``u`` is, so
that neither the sphere's nor the inner product's rounding touches the guarantee. *As printed*, ``M`` lacks a factor
``d``, and the estimate is ``x/d``. The quantiser that follows there is not needed, for ``u`` is sent as a number of 62
bits; its fault, one sign shared by all samples, would be here that one sign serves all of a user's reports.

*Directions are public pseudo-random*: :func:`directions_of` maps a number to a direction, by two rounds of the mixing
function of SplitMix64 (Steele, Lea and Flood 2014), normal quantiles and division by the length. The estimate is
unbiased as far as these are uniform on the sphere, and to ``2^-20`` of a unit, the resolution of tallies.

References: Duchi, Jordan, Wainwright, "Minimax optimal procedures for locally private estimation" (2018).
"""

import math
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from emdp.base.checks import check_count
from emdp.base.errors import UsageError
from emdp.mechanisms.vector.randomizer import LARGEST_REPORTS, SignStrength, VectorRandomizer, inner_radius
from emdp.mechanisms.weights import Floats, Integers
from emdp.noise.choices import draw_below, draw_bernoulli
from emdp.privacy.rounding import as_decimal

__all__ = ["VectorDirection", "direction_constant", "directions_of"]

_BITS = 62

_MOST_FRACTION_BITS = 40
# Of a tally's entries: finer than any noise.

_STEP = np.uint64(0x9E3779B97F4A7C15)
# Of SplitMix64: an odd number near 2^64 divided by the golden ratio.


class VectorDirection(VectorRandomizer):
    """Sides of random planes; see :class:`VectorRandomizer` for arguments and guarantee.

    Parameters
    ----------
    norm : float
        Of the ball; 2 by default.
    reports : int, optional
        ``s``, how many directions a user reports, from 1 to ``LARGEST_REPORTS``; the best by default.

    >>> sides = VectorDirection(5, 1.0, 1.0, 1000)
    >>> round(sides.length, 4), round(sides.squared_error(), 4)
    (5.7705, 0.0333)
    >>> sides.decode(sides.tally(sides.encode(np.zeros((1000, 5)))), 1000).shape
    (5,)
    """

    name: ClassVar[str] = "sides of random directions"
    theorem: ClassVar[str] = (
        "P(s = +1) = 1/2 + |x| sgn<u, x>/(2 r c), u uniform on the sphere (one-bit-and-sampling.md 3a)"
    )
    _place_bits: ClassVar[int] = _BITS

    def __init__(
        self,
        dimension: int,
        radius: float,
        epsilon: float,
        users: int,
        *,
        norm: float = 2.0,
        reports: int | None = None,
    ) -> None:
        super().__init__(dimension, radius, epsilon, users, norm=norm)
        if reports is not None and check_count("reports", reports) > LARGEST_REPORTS:
            raise UsageError(f"reports must be at most {LARGEST_REPORTS}, got {reports}; pass fewer.")
        self._reach = inner_radius(self.dimension, self.radius, self.norm, 2.0)
        # A sign of epsilon below 1 gains nothing by being split, which bounds what is tried.
        tried = [reports] if reports else range(1, math.ceil(self.requested) + 2)
        self._reports = min(tried, key=lambda count: float(self._strength_at(count).contrast) ** 2 / count)

    @property
    def reports(self) -> int:
        return self._reports

    @cached_property
    def strength(self) -> SignStrength:
        """Strength of each sign."""
        return self._strength_at(self.reports)

    @property
    def ratio(self) -> Fraction:
        return self.strength.ratio**self.reports

    @property
    def length(self) -> float:
        """``M``."""
        return self._reach * float(self.strength.contrast) * direction_constant(self.dimension)

    def squared_error(self) -> float:
        """Return the largest mean squared error, at the vector 0, exactly."""
        return self.length**2 / (self.reports * self.users)

    def squared_error_of(self, vectors: Floats) -> float:
        clipped = self.clip(vectors)
        squares = float((clipped * clipped).sum(axis=1).mean())
        return (self.length**2 - squares) / (self.reports * len(clipped))

    def _strength_at(self, reports: int) -> SignStrength:
        return SignStrength.of(as_decimal(self.requested) / reports)

    @property
    def _tally_shape(self) -> tuple[int, ...]:
        return (self.dimension,)

    @property
    def _block_width(self) -> int:
        return self.dimension * self.reports

    @property
    def _fraction_bits(self) -> int:
        # Entries are at most 1, so that all reports' sum stays within 62 bits.
        return min(_MOST_FRACTION_BITS, _BITS - (self.users * self.reports).bit_length())

    def _encode(self, vectors: Floats) -> Integers:
        shape = (len(vectors), self.reports)
        seeds = draw_below(np.full(len(vectors) * self.reports, 2**_BITS, dtype=np.int64)).reshape(shape)
        directions = directions_of(seeds.ravel(), self.dimension).reshape(*shape, self.dimension)
        shares = vectors / self._reach
        lengths = np.sqrt((shares * shares).sum(axis=1, keepdims=True))
        sides = np.sign(np.einsum("usd,ud->us", directions, shares))
        numerators = self.strength.numerators(lengths * sides)
        is_plus = draw_bernoulli(numerators.ravel(), _BITS).reshape(shape)
        return np.asarray(2 * seeds + ~is_plus, dtype=np.int64)

    def _tally(self, messages: Integers) -> Integers:
        if messages.size and int(messages.min()) < 0:
            raise UsageError("messages hold places that no message has; pass what encode returned.")
        given = messages.ravel()
        units = np.rint(np.ldexp(directions_of(given >> 1, self.dimension), self._fraction_bits)).astype(np.int64)
        return np.asarray((1 - 2 * (given & 1)) @ units, dtype=np.int64)

    def _decode(self, tally: Integers, count: int) -> Floats:
        scaled = np.ldexp(tally.astype(np.float64), -self._fraction_bits)
        return np.asarray(scaled * (self.length / (count * self.reports)), dtype=np.float64)


def direction_constant(dimension: int) -> float:
    """Return ``1/E|u_1| = sqrt(pi) Gamma((d + 1)/2)/Gamma(d/2)`` of a uniform direction ``u``.

    >>> round(direction_constant(1), 12), round(direction_constant(2), 6)
    (1.0, 1.570796)
    """
    return math.sqrt(math.pi) * math.exp(math.lgamma(0.5 * (dimension + 1)) - math.lgamma(0.5 * dimension))


def directions_of(seeds: npt.ArrayLike, dimension: int) -> Floats:
    """Return the public directions of numbers: unit vectors, shape (seeds, dimension), the same for equal numbers.

    Parameters
    ----------
    seeds : array-like of int64, shape (seeds,)
        Not negative.
    dimension : int

    >>> directions_of([0, 1], 1).ravel().tolist() == directions_of([0, 1], 1).ravel().tolist()
    True
    >>> bool(np.allclose((directions_of([5, 6], 3) ** 2).sum(axis=1), 1))
    True
    """
    from scipy.special import ndtri

    start = _mixed(np.asarray(seeds, dtype=np.int64).view(np.uint64) + _STEP)
    words = _mixed(start[:, None] + _STEP * np.arange(1, dimension + 1, dtype=np.uint64))
    # Never 0 nor 1, so that all quantiles are finite, and never all of them 0.
    normal = np.asarray(ndtri(((words >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52), dtype=np.float64)
    return np.asarray(normal / np.sqrt((normal * normal).sum(axis=1, keepdims=True)), dtype=np.float64)


def _mixed(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
