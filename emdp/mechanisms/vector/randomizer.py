"""Bounded vectors in the local model: one message a user, from which the mean of all vectors is estimated.

Setting. Each of ``n`` public users holds one vector of ``R^d`` in the ball ``|x|_p <= r``, and sends one message. A
message is a few *reports*; a report is a public *place*, uniform and independent of the vector, and a *sign*, ``+1``
with probability ``1/2 + t v/2``, where ``v`` is computed from the vector and the place, and ``t = tanh(epsilon'/2)``.

Theorem. Let ``h > 2^61`` be an integer, and let the sign be ``+1`` with probability ``a/2^62``, ``a`` an integer with
``2^62 - h <= a <= h``. A message of reports with the integers ``h_1, ..., h_m`` is ``epsilon``-LDP at user level,
``epsilon = ln(h_1/(2^62 - h_1) ... h_m/(2^62 - h_m))``, for any two vectors whatever, and with delta = 0.

Proof. Places have one law for all vectors. Given the places signs are independent, and each of a message's signs has a
probability in ``[(2^62 - h)/2^62, h/2^62]``, whatever the vector is; so the probabilities of one message (all its
places, all its signs) differ by at most the product of ``h/(2^62 - h)``. The argument is per message, not on average
over places.

*Nothing rests on floating point.* ``v`` is computed in doubles, by transforms that round. Then it is made a number (0
where it is none) and clipped to ``[-1, 1]``, and ``a = 2^61 + w``, ``w`` the integer nearest to ``v (h - 2^61)``, is
clipped to its range *as an integer* (:meth:`SignStrength.numerators`). Rounding thus moves the estimate by some
``2^-50`` of its scale, and the guarantee by nothing. Draws are exact (:mod:`emdp.noise.choices`), and ``epsilon`` is
computed from the integers and rounded up.

*Clipping is the client's.* :meth:`VectorRandomizer.encode` clips to the ball before anything else; entries that are not
finite become 0, the public default; so no value raises or leaves the range that the reports are scaled to.

*Balls in one another.* ``|x|_q <= d^max(0, 1/q - 1/p) |x|_p``, with equality for ``x = (1, ..., 1)`` if ``q < p`` and
for ``x = e_1`` else. So a randomizer of the ``q``-ball serves the ``p``-ball of radius ``r`` with its own radius ``r
d^max(0, 1/q - 1/p)``. The published remark that the ``p``-ball lies in the 1-ball of the same radius, for ``1 < p <
2``, is reversed: it makes ``|v|`` exceed 1.

References: local-shuffle-userlevel.md 1.3, 4; one-bit-and-sampling.md 1 to 4.
"""

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from emdp.base.checks import check_count, check_range
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.mechanisms.strength import check_epsilon, epsilon_of_ratio, inside_numerator
from emdp.mechanisms.weights import TOTAL, Floats, Integers
from emdp.noise.binomial import MAX_ITEMS

__all__ = [
    "LARGEST_DIMENSION",
    "LARGEST_RADIUS",
    "LARGEST_REPORTS",
    "SMALLEST_RADIUS",
    "SignStrength",
    "VectorRandomizer",
    "check_norm",
    "clip_to_ball",
    "inner_radius",
]

LARGEST_DIMENSION = 2**20
"""Most entries of a vector: a block of users takes some tens of megabytes."""

LARGEST_REPORTS = 2**10
"""Most reports of a message."""

SMALLEST_RADIUS, LARGEST_RADIUS = 1e-100, 1e100
"""Radii whose squares, times whatever an error formula has beside them, are floats."""

BLOCK_ENTRIES = 2**20
"""Entries of users' vectors that are in memory together: some tens of megabytes."""

_HALF = TOTAL // 2


@dataclass(frozen=True)
class SignStrength:
    """Strength of a sign: ``+1`` has a probability from ``1 - high/2^62`` to ``high/2^62``.

    >>> sign = SignStrength.of(Fraction(1))
    >>> sign.high / 2**62, round(float(sign.contrast), 5)
    (0.7310585786300049, 2.16395)
    """

    high: int  # Above `2^61`, below `2^62`

    def __post_init__(self) -> None:
        if not _HALF < check_count("high", self.high) < TOTAL:
            raise UsageError("high must be above 2^61 and below 2^62; use SignStrength.of.")

    @classmethod
    def of(cls, epsilon: Fraction) -> "SignStrength":
        """Return the strongest sign that is ``epsilon``-LDP: ``ratio <= exp(epsilon)``."""
        return cls(inside_numerator(epsilon, 1, 1))

    @property
    def ratio(self) -> Fraction:
        """The largest quotient of two probabilities of one sign, exactly."""
        return Fraction(self.high, TOTAL - self.high)

    @property
    def contrast(self) -> Fraction:
        """``c = 1/t = coth(epsilon/2)``: the mean of ``c`` times the sign is ``v``."""
        return Fraction(_HALF, self.high - _HALF)

    def numerators(self, values: Floats) -> Integers:
        """Return the probabilities of ``+1`` over 2^62, within the range of this class whatever the values are.

        Parameters
        ----------
        values : numpy.ndarray of float
            ``v`` of each sign; clipped to [-1, 1], and 0 where it is no number.
        """
        reach = self.high - _HALF
        sound = np.clip(np.where(np.isnan(values), 0.0, values), -1.0, 1.0)
        steps = np.rint(sound * float(reach)).astype(np.int64)
        return np.asarray(_HALF + np.clip(steps, -reach, reach), dtype=np.int64)


class VectorRandomizer(ABC):
    """A randomizer of users' vectors in a ball, with the decoder that turns all messages into their mean.

    Parameters
    ----------
    dimension : int
        ``d``, from 1 to ``LARGEST_DIMENSION``.
    radius : float
        ``r`` of the ball, from 1e-100 to 1e100.
    epsilon : float
        User-level epsilon asked for, from 1e-6 to 40; what is achieved, ``self.epsilon``, never exceeds it.
    users : int
        ``n``, the public number of users, from 1 to 2^40.
    norm : float
        ``p`` of the ball, from 1 to infinity.

    Raises
    ------
    UsageError
        If an argument is malformed.
    RefusedError
        If no integer over 2^62 follows so small an epsilon.

    Guarantee
    ---------
    Each user's message is ``epsilon``-LDP at user level, delta = 0, for any input, by the theorem of this file.
    Neighbours replace a user's vector by any other, which may stand for any number of records; ``dimension``,
    ``radius`` and ``users`` are public, and every user sends one message, one without data that of the vector 0.
    """

    name: ClassVar[str]

    def __init__(self, dimension: int, radius: float, epsilon: float, users: int, *, norm: float) -> None:
        self.dimension = check_count("dimension", dimension)
        if self.dimension > LARGEST_DIMENSION:
            raise UsageError(f"dimension must be at most {LARGEST_DIMENSION}, got {dimension}; merge coordinates.")
        self.radius = check_range("radius", radius, SMALLEST_RADIUS, LARGEST_RADIUS)
        self.users = check_count("users", users)
        if self.users > MAX_ITEMS:
            raise UsageError(f"users must be at most 2^40, got {users}; release parts of the users.")
        self.requested = check_epsilon(epsilon)
        self.norm = check_norm(norm)

    def __repr__(self) -> str:
        """Return the kind, the ball, the strength asked for and the number of users."""
        ball = f"{self.dimension}, {self.radius!r}, {self.requested!r}, {self.users}, norm={self.norm!r}"
        return f"{type(self).__name__}({ball})"

    @property
    @abstractmethod
    def theorem(self) -> str:
        """The source of the guarantee, in one line."""

    @property
    @abstractmethod
    def ratio(self) -> Fraction:
        """The largest quotient of two vectors' probabilities of one message, exactly: ``e^epsilon``."""

    @property
    @abstractmethod
    def reports(self) -> int:
        """Number of reports in a message."""

    @property
    def bits(self) -> int:
        """Bits of a message: a sign and a place of each report."""
        return self.reports * (1 + self._place_bits)

    @property
    def _place_bits(self) -> int:
        """Bits of a report's place: by default that of an entry of a tally."""
        return max(math.prod(self._tally_shape) - 1, 0).bit_length()

    @abstractmethod
    def _encode(self, vectors: Floats) -> Integers:
        """Return the messages of a block of users, whose vectors are in the ball."""

    @abstractmethod
    def _tally(self, messages: Integers) -> Integers:
        """Return the tally of a block of messages of the right shape."""

    @abstractmethod
    def _decode(self, tally: Integers, count: int) -> Floats:
        """Return the estimate from a tally of the right shape."""

    @property
    @abstractmethod
    def _tally_shape(self) -> tuple[int, ...]:
        """The shape of a tally."""

    @abstractmethod
    def squared_error(self) -> float:
        """Return the largest mean squared 2-norm of the error from all ``users`` messages, over all vectors.

        It is exact, or an upper bound where the class says so.
        """

    @abstractmethod
    def squared_error_of(self, vectors: Floats) -> float:
        """Return the mean squared 2-norm of the error for given vectors of all users, exactly: for tests and studies.

        It is computed from the vectors, so it is as private as they are.
        """

    @property
    def epsilon(self) -> float:
        """The user-level epsilon of the integer probabilities, rounded up; at most ``requested``."""
        # ratio <= exp(requested) by construction, so the smaller of the two bounds it.
        return min(epsilon_of_ratio(self.ratio), self.requested)

    def clip(self, vectors: npt.ArrayLike) -> Floats:
        """Return users' vectors as they are reported: in the ball, shape (users of the block, dimension)."""
        return self._clip(self._checked(vectors))

    def encode(self, vectors: npt.ArrayLike) -> Integers:
        """Return the messages of some users: this spends.

        Parameters
        ----------
        vectors : array-like of float, shape (users of the block, dimension)
            Clipped here; entries that are not finite count as 0. Every user is given one message, here and nowhere
            else.

        Returns
        -------
        numpy.ndarray of int64, shape (users of the block, reports)
            Twice the place, plus 1 for the sign -1.
        """
        given = self._checked(vectors)
        messages = np.empty((len(given), self.reports), dtype=np.int64)
        for part in self._parts(len(given)):
            messages[part] = self._encode(self._clip(given[part]))
        return messages

    def tally(self, messages: npt.NDArray[Any]) -> Integers:
        """Return what the decoder needs of some messages, as integers; tallies of blocks of users add up.

        Parameters
        ----------
        messages : numpy.ndarray of int64, shape (messages, reports)
            What :meth:`encode` returned.
        """
        given = np.asarray(messages)
        if given.dtype != np.int64 or given.ndim != 2 or given.shape[1] != self.reports:
            raise UsageError(f"messages must be int64 rows of {self.reports} reports; pass what encode returned.")
        total = np.zeros(self._tally_shape, dtype=np.int64)
        for part in self._parts(len(given)):
            total += self._tally(given[part])
        return total

    def decode(self, tally: npt.NDArray[Any], count: int) -> Floats:
        """Return the estimate of the mean of the clipped vectors, shape (dimension,), unbiased up to rounding.

        :class:`emdp.mechanisms.vector.rotated.VectorRotated` alone is unbiased on a condition, which it states.

        Parameters
        ----------
        tally : numpy.ndarray of int64
            The sum of the tallies of all messages.
        count : int
            How many messages these are, a public number from 1 to ``users``.
        """
        given = np.asarray(tally)
        if given.dtype.kind not in "iu" or given.shape != self._tally_shape:
            raise UsageError(f"tally must be integers of shape {self._tally_shape}; pass a sum of tallies.")
        count = check_count("count", count)
        if count > self.users:
            raise UsageError(f"count must be at most users = {self.users}, got {count}; tally a message once.")
        return self._decode(given.astype(np.int64, copy=False), count)

    def explain(self) -> str:
        """Return the randomizer in one line."""
        return (
            f"{self.name} on the {self.norm:g}-ball of radius {self.radius:g} in {self.dimension} dimensions, "
            f"{self.reports} reports a user: epsilon = {self.epsilon:.6g} at user level, root mean squared error at "
            f"most {math.sqrt(self.squared_error()):.4g}; {self.theorem}"
        )

    def parameters(self) -> dict[str, Any]:
        """Return what the ledger keeps of it, JSON-ready."""
        return {
            "name": self.name,
            "dimension": self.dimension,
            "radius": self.radius,
            "norm": "infinity" if math.isinf(self.norm) else self.norm,
            "users": self.users,
            "requested": self.requested,
            "epsilon": self.epsilon,
            "reports": self.reports,
        }

    @property
    def _block_width(self) -> int:
        """Count of numbers that a user needs at a time."""
        return self.dimension

    def _clip(self, vectors: Floats) -> Floats:
        return clip_to_ball(vectors, self.radius, self.norm)

    def _parts(self, count: int) -> list[slice]:
        step = max(1, BLOCK_ENTRIES // self._block_width)
        return [slice(start, start + step) for start in range(0, count, step)]

    def _checked(self, vectors: npt.ArrayLike) -> Floats:
        given = np.asarray(vectors)
        if given.dtype.kind not in "iuf" or given.ndim != 2 or given.shape[1] != self.dimension:
            raise UsageError(f"vectors must be rows of {self.dimension} numbers; pass one row a user.")
        # What is beyond float64 becomes infinite, and then 0.
        with np.errstate(over="ignore"):
            return given.astype(np.float64, copy=False)


def check_norm(norm: object) -> float:
    """Return the ``p`` of a norm, from 1 to infinity, or raise ``UsageError``.

    >>> check_norm(2), check_norm(math.inf)
    (2.0, inf)
    """
    if isinstance(norm, bool) or not isinstance(norm, int | float) or not norm >= 1:
        raise UsageError(f"norm must be a number from 1 to infinity, got {norm!r}; pass 1, 2 or math.inf.")
    return float(norm)


def clip_to_ball(vectors: Floats, radius: float, norm: float) -> Floats:
    """Return rows in the ball: longer ones shortened; each entry clipped, for the largest-entry norm.

    Lengths are computed from rows divided by their largest entry, so nothing overflows. A length may come out some
    roundings above the radius; whoever needs more clips again (:meth:`SignStrength.numerators`).

    Parameters
    ----------
    vectors : numpy.ndarray of float, shape (rows, dimension)
        Entries that are not finite count as 0.
    radius, norm : float
        Of the ball.

    >>> clip_to_ball(np.array([[6.0, 8.0], [0.3, 0.4], [np.nan, -np.inf]]), 1.0, 2.0).round(9).tolist()
    [[0.6, 0.8], [0.3, 0.4], [0.0, 0.0]]
    """
    finite = np.where(np.isfinite(vectors), vectors, 0.0)
    if math.isinf(norm):
        return np.asarray(np.clip(finite, -radius, radius), dtype=np.float64)
    largest = np.abs(finite).max(axis=1, keepdims=True)
    shares = finite / np.where(largest > 0, largest, 1.0)
    if norm == 1:
        lengths = np.abs(shares).sum(axis=1, keepdims=True)
    elif norm == 2:
        lengths = np.sqrt((shares * shares).sum(axis=1, keepdims=True))
    else:
        lengths = (np.abs(shares) ** norm).sum(axis=1, keepdims=True) ** (1.0 / norm)
    reach = radius / np.maximum(lengths, 1.0)
    return np.asarray(np.where(largest > reach, shares * reach, finite), dtype=np.float64)


def inner_radius(dimension: int, radius: float, norm: float, inner: float) -> float:
    """Return the radius of the ball of another norm that holds the ball: ``r d^max(0, 1/inner - 1/norm)``.

    It is the nearest float or so. A point that is outside by a rounding is clipped there, which moves it as little.

    >>> inner_radius(16, 1.0, 2.0, 1.0), inner_radius(16, 1.0, 1.0, 2.0)
    (4.0, 1.0)
    """
    return radius * math.pow(dimension, max(0.0, 1.0 / inner - 1.0 / norm))
