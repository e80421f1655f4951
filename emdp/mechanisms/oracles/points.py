"""Points of a projective space over a prime field: numbers for them, and how many given points each hyperplane has.

Points of ``PG(t - 1, q)`` are the vectors of ``F_q^t`` whose first non-zero coordinate is 1; there are ``K = (q^t -
1)/(q - 1)``. They are numbered by that coordinate's place, those that begin with 1 first: ``(1, w)`` has the number
``w`` read in base ``q``, and ``(0, u)`` the number of ``u`` among the points of one dimension less, plus ``q^(t-1)``.

*Counts on all hyperplanes.* Given counts ``y`` of points, wanted is ``G_t(v) = sum of y(u) over <u, v> = 0`` for every
point ``v``. Let ``y`` be ``y1`` on points ``(1, w)`` and ``y'`` on points ``(0, u)``, and ``R(z, d) = sum of y1(w) over
<w, d> = z`` for the points ``d`` of one dimension less. Then

    G_t((0, d)) = R(0, d) + G_{t-1}(d),    G_t((1, c d)) = R(-1/c, d) + G_{t-1}(d) for c != 0,    G_t((1, 0)) = |y'|.

``R(., d)`` is the inverse one-dimensional transform of the ``(t-1)``-dimensional Fourier transform of ``y1`` on the
line through ``d``. So one level costs transforms of ``q^(t-1)`` numbers, and all levels together ``O(K t log q)`` steps
and some arrays of ``K``: a factor ``q`` less than the dynamic programme of the paper. For ``q = 2`` all points are all
vectors but 0, and one Walsh-Hadamard transform ``w`` of the counts gives ``G_t(v) = (|y| + w(v))/2``.

*Rounding.* Results are whole numbers; transforms of ``N`` counts with sum ``n`` err by less than ``10^-14 n log2 N``,
and are rounded to whole numbers, which is exact for ``n < 10^12``. Beyond, it is an error far below that of the
messages. The sum over all hyperplanes, which is known, is checked.

References: Feldman, Nelson, Nguyen and Talwar, "Private frequency estimation via projective geometry" (2022).
"""

import numpy as np
import numpy.typing as npt

from emdp.base.classes import dataclass
from emdp.base.errors import SolverError
from emdp.mechanisms.items.hadamard_response import walsh_hadamard
from emdp.mechanisms.weights import Floats, Integers

__all__ = ["Points"]


@dataclass(frozen=True)
class Points:
    """The points of a projective space.

    >>> points = Points(3, 2)
    >>> points.count, points.vectors(np.arange(4)).tolist()
    (4, [[1, 0], [1, 1], [1, 2], [0, 1]])
    >>> points.on_hyperplanes(np.array([5, 0, 0, 2])).tolist()
    [2, 0, 0, 5]
    """

    q: int  # A prime
    t: int  # Coordinates, at least 2

    @property
    def count(self) -> int:
        """``K``."""
        return self._of_dimension(self.t)

    @property
    def on_each(self) -> int:
        """Number of points on a hyperplane."""
        return self._of_dimension(self.t - 1)

    @property
    def on_two(self) -> int:
        """Number of points that two hyperplanes have in common."""
        return self._of_dimension(self.t - 2)

    def vectors(self, numbers: Integers) -> Integers:
        """Return the vectors of numbered points, shape (points, t)."""
        result = np.zeros((numbers.size, self.t), dtype=np.int64)
        self._fill(result, numbers.copy())
        return result

    def pivots(self, numbers: Integers) -> Integers:
        """Return the place of the first non-zero coordinate of numbered points."""
        sizes = self.q ** np.arange(self.t - 1, -1, -1)
        return np.asarray(np.searchsorted(np.cumsum(sizes), numbers, side="right"), dtype=np.int64)

    def numbers(self, vectors: Integers) -> Integers:
        """Return the numbers of the points of vectors, which need not begin with 1, but must not be 0."""
        rows = np.arange(len(vectors))
        places = (vectors != 0).argmax(axis=1)
        inverse = self.inverses()[vectors[rows, places]]
        result = np.zeros(len(vectors), dtype=np.int64)
        for j in range(self.t):
            result *= self.q
            result += vectors[:, j] * inverse % self.q
        # Read in base q the vector is its number after the points with an earlier 1, plus the 1 itself.
        sizes = self.q ** np.arange(self.t - 1, -1, -1)
        before = np.cumsum(sizes) - sizes
        return np.asarray(result + (before - sizes)[places], dtype=np.int64)

    def inverses(self) -> Integers:
        """Return the inverses of 0 (as 0), 1, ..., q - 1."""
        return np.array([pow(a, self.q - 2, self.q) if a else 0 for a in range(self.q)], dtype=np.int64)

    def on_hyperplanes(self, counts: Integers) -> Integers:
        """Return for each point ``v`` the sum of ``counts`` over the points ``u`` with ``<u, v> = 0``, shape (K,).

        Raises
        ------
        SolverError
            If rounding has spoilt the sums.
        """
        given = counts.astype(np.float64)
        sums = np.rint(self._parities(given) if self.q == 2 else self._sums(given)).astype(np.int64)
        total = int(counts.sum())
        if total < 10**12 and int(sums.sum()) != total * self.on_each:
            raise SolverError("sums over hyperplanes were spoilt by rounding; use another oracle.")
        return sums

    def _parities(self, counts: Floats) -> Floats:
        values = np.concatenate([np.arange(2**j, 2 ** (j + 1)) for j in range(self.t - 1, -1, -1)])
        dense = np.zeros(2**self.t)
        dense[values] = counts
        return np.asarray(0.5 * (counts.sum() + walsh_hadamard(dense)[values]), dtype=np.float64)

    def _sums(self, counts: Floats) -> Floats:
        if self.t == 1:
            # The only point is on no hyperplane of its own.
            return np.zeros(1)
        size = self.q ** (self.t - 1)
        first, rest = counts[:size], counts[size:]
        below = Points(self.q, self.t - 1)
        inner = below._sums(rest)
        lines = self._lines()
        transform = np.fft.fftn(first.reshape((self.q,) * (self.t - 1))).ravel()
        radon = np.fft.ifft(transform[lines], axis=1).real
        result = np.empty(counts.size)
        result[0] = rest.sum()
        # Column c of a line is c d; the points (1, c d) need the hyperplane where <w, d> = -1/c.
        heights = (-self.inverses()[1:]) % self.q
        result[lines[:, 1:]] = radon[:, heights] + inner[:, None]
        result[size:] = radon[:, 0] + inner
        return result

    def _lines(self) -> npt.NDArray[np.int32]:
        """Return for each point of one dimension less the numbers in base q of its multiples, shape (points, q)."""
        below = Points(self.q, self.t - 1)
        vectors = below.vectors(np.arange(below.count)).astype(np.int32)
        factors = np.arange(self.q, dtype=np.int32)
        lines = np.zeros((below.count, self.q), dtype=np.int32)
        for j in range(self.t - 1):
            lines *= self.q
            lines += vectors[:, j, None] * factors % self.q
        return lines

    def _of_dimension(self, t: int) -> int:
        return (int(self.q**t) - 1) // (self.q - 1)

    def _fill(self, result: Integers, numbers: Integers) -> None:
        places = self.pivots(numbers)
        sizes = self.q ** np.arange(self.t - 1, -1, -1)
        before = np.cumsum(sizes) - sizes
        # The number in base q, with the 1 itself.
        numbers += (sizes - before)[places]
        for j in range(self.t - 1, -1, -1):
            numbers, result[:, j] = np.divmod(numbers, self.q)
