"""Projective geometry response: one symbol a user, near the least variance, with a fast decoder.

Theorem (Feldman, Nelson, Nguyen and Talwar 2022; technical-notes.md 2.1). Let ``q`` be a prime, ``K = (q^t - 1)/(q - 1)
>= k`` the number of points of ``PG(t - 1, q)``; an item is one of the points, ``v``, and its set is the ``s = (q^(t-1)
- 1)/(q - 1)`` points ``u`` with ``<u, v> = 0``. With probability ``P = s e^epsilon/(s e^epsilon + K - s)`` the message
is uniform on the set, else uniform on the ``K - s`` other points: ``epsilon``-LDP, and the theorem of
:mod:`emdp.mechanisms.oracles.oracle` holds. Two sets have ``i = (q^(t-2) - 1)/(q - 1)`` points in common, so a message
supports the items whose sets it is in, with ``p = P`` and ``q' = P i/s + (1 - P)(s - i)/(K - s)``.

Proof. All sets have ``s`` points, so a message has probability ``P/s`` or ``(1 - P)/(K - s)``, whatever the item; the
quotient of the two is ``P (K - s)/((1 - P) s) = e^epsilon``. Two different points are independent vectors, so their
sets meet in a space of two dimensions less, of ``i`` points: of the set's ``s`` points ``i`` support another item, and
of the ``K - s`` others ``s - i``.

With ``q`` near ``e^epsilon + 1`` the variance is near the least of all known oracles, ``4 e^epsilon/(n (e^epsilon -
1)^2)``. The prime is chosen by the exact variance, among those with at most ``LARGEST_POINTS`` points; of primes within
1 % of the least, that with fewest points.

*Exact draws.* Let ``v`` have its first non-zero coordinate, a 1, at place ``j``. A vector on the hyperplane is given by
its other coordinates, any of ``q^(t-1)``; without the zero vector each point comes ``q - 1`` times. A point off it has
exactly one multiple with ``<u, v> = 1``, again given by its other coordinates. Either is one uniform integer.
"""

import math
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from emdp.base.errors import RefusedError
from emdp.mechanisms.oracles.points import Points
from emdp.mechanisms.oracles.symbol import SymbolOracle
from emdp.mechanisms.weights import Floats, Integers
from emdp.privacy.blanket.sets import SetLaw

__all__ = ["LARGEST_POINTS", "ProjectiveOracle"]

LARGEST_POINTS = 2**23
"""Most points: a decode then takes some seconds and a gigabyte."""

LARGEST_PRIME = 2**13
"""Largest prime that is tried; beyond it, for epsilon above 9, variances are tiny anyway."""

_NEAR = 1.01


class ProjectiveOracle(SymbolOracle):
    """Projective geometry response; see :class:`FrequencyOracle` for arguments and guarantee.

    Raises
    ------
    RefusedError
        If no prime gives enough, and not too many, points.

    >>> oracle = ProjectiveOracle(22_000, 50_000, 5.0)
    >>> oracle.points, oracle.outputs, oracle.inside, oracle.epsilon
    (Points(q=149, t=3), 22351, 150, 5.0)
    """

    name: ClassVar[str] = "projective geometry response"
    theorem: ClassVar[str] = "a point likely on the item's hyperplane is epsilon-LDP (technical-notes.md 2.1)"
    points: Points

    @property
    def chances(self) -> tuple[Fraction, Fraction]:
        inside, common = self._inside_chance, self.points.on_two
        other = inside * common / self.inside + (1 - inside) * (self.inside - common) / self.outside
        return inside, other

    @property
    def sets(self) -> SetLaw:
        share, both = (Fraction(number, self.outputs) for number in (self.inside, self.points.on_two))
        return SetLaw(self.ratio, share, ((share - both, both),))

    def parameters(self) -> dict[str, Any]:
        return {**super().parameters(), "prime": self.points.q, "coordinates": self.points.t}

    def _choose(self) -> None:
        most = min(4.0 * math.exp(self.requested) + 10.0, LARGEST_PRIME)
        spaces = [space for q in _primes(int(most)) if (space := _smallest(q, self.items)).count <= LARGEST_POINTS]
        if not spaces:
            raise RefusedError(
                f"projective geometry response has no space of at most {LARGEST_POINTS} points for {self.items} items; "
                "use the one-bit Hadamard oracle or unary encoding."
            )
        risks = [_risk(space, self.requested) for space in spaces]
        near = [space for space, risk in zip(spaces, risks, strict=True) if risk <= _NEAR * min(risks)]
        self.points = min(near, key=lambda space: (space.count, space.q))
        self.inside = self.points.on_each
        self.outside = self.points.count - self.inside

    def _place_limits(self, is_inside: npt.NDArray[np.bool_]) -> Integers:
        size = self.points.q ** (self.points.t - 1)
        return np.asarray(np.where(is_inside, size - 1, size), dtype=np.int64)

    def _inside_symbols(self, items: Integers, places: Integers) -> Integers:
        return self._solve(items, places + 1, 0)

    def _outside_symbols(self, items: Integers, places: Integers) -> Integers:
        return self._solve(items, places, 1)

    def _solve(self, items: Integers, places: Integers, product: int) -> Integers:
        """Return the points with other coordinates from the digits of ``places`` and a given product with the item."""
        q, t = self.points.q, self.points.t
        vectors, pivots = self.points.vectors(items), self.points.pivots(items)
        drawn = np.zeros((items.size, t), dtype=np.int64)
        rest = places
        for j in range(t):
            free = pivots != j
            left, digit = np.divmod(rest, q)
            drawn[:, j] = np.where(free, digit, 0)
            rest = np.where(free, left, rest)
        sums = (vectors * drawn).sum(axis=1)
        drawn[np.arange(items.size), pivots] = (product - sums) % q
        return self.points.numbers(drawn)

    def _supporters(self, tally: Integers) -> Floats:
        return self.points.on_hyperplanes(tally)[: self.items].astype(np.float64)


def _primes(most: int) -> list[int]:
    sieve = np.ones(most + 1, dtype=np.bool_)
    sieve[:2] = False
    for number in range(2, math.isqrt(most) + 1):
        if sieve[number]:
            sieve[number * number :: number] = False
    return [int(prime) for prime in np.flatnonzero(sieve)]


def _smallest(q: int, items: int) -> Points:
    t = 2
    while Points(q, t).count < items:
        t += 1
    return Points(q, t)


def _risk(space: Points, epsilon: float) -> float:
    """Return ``n`` times the variance of a rare item's estimate."""
    inside, common, grown = space.on_each, space.on_two, math.exp(epsilon)
    outside = space.count - inside
    chance = inside * grown / (inside * grown + outside)
    other = chance * common / inside + (1.0 - chance) * (inside - common) / outside
    return other * (1.0 - other) / (chance - other) ** 2
