"""Distances of all pairs of items of a finite part, rounded down, where they may matter to a bound.

*Pairs that are passed over.* A bound over all pairs seldom needs many of them exactly. For vectors ``x, y`` the number
``|x|^2 + |y|^2 - 2 x.y``, by one matrix product, is within ``e = (4 d + 32) u (|x|^2 + |y|^2)`` of the squared distance
in doubles, whatever the order of sums: each of the three inner products has relative error at most ``1.01 d u`` of the
product of the norms, ``2 |x| |y| <= |x|^2 + |y|^2``, and the two sums add ``4 u`` of twice that. So the root of what is
left after ``e``, lowered by ``FLOOR``, is a floor of the distance. A reader says which pairs it needs by their floors;
those alone are computed from differences, rounded down as ever.
"""

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from emdp.base.errors import InternalError, UsageError
from emdp.expressions.nodes.categories import EXACT_KINDS
from emdp.spaces.base import Floats, Space
from emdp.spaces.listed.embedding import Embedding
from emdp.spaces.rounding import UNIT_ROUNDOFF, norm_error

__all__ = ["LARGEST_COMPARED", "Needed", "distance_blocks"]

LARGEST_COMPARED = 20_000
"""Most items of a part whose distances are compared pair by pair, some seconds of work there."""

BLOCK = 512
"""Rows of the matrix of pairs that are compared together."""

FEWEST_FILTERED = 8
"""Coordinates from which on a matrix product is quicker than the distances themselves."""

LARGEST_SQUARE = 2.0**900
"""Squared norms above which, or below the inverse of which, no floor is stated."""

FLOOR = 1 - 2.0**-30
"""Factor that lowers a floor: it covers the rounding of the root, and lets a pair near the bound be computed."""

Codes = npt.NDArray[np.intp]
Needed = Callable[[Codes, Codes, Floats], npt.NDArray[np.bool_]]
"""From codes of rows, codes of columns and a floor of each distance to whether a pair is needed."""


def distance_blocks(part: Space, items: int, needed: Needed) -> Iterator[tuple[Codes, Codes, Floats]]:
    """Yield matrices of natural distances between items of a finite part, rounded down, that hold all needed pairs.

    Of a pair and its mirror image one may be left out: distances are symmetric.

    Parameters
    ----------
    items : int
        Number of codes of its items, its neutral one included.
    needed : callable
        See ``Needed``; it is asked block by block, and may follow what it has seen so far. Pairs that it does not need
        may come nevertheless.

    Raises
    ------
    UsageError
        If there are more than ``LARGEST_COMPARED`` items.

    >>> from emdp.spaces import Distances
    >>> part = Distances("stop", ["A", "B"], [[0, 3], [3, 0]])
    >>> [block.tolist() for _, _, block in distance_blocks(part, 2, lambda rows, columns, floors: floors >= 0)]
    [[[0.0, 3.0], [3.0, 0.0]]]
    """
    if items > LARGEST_COMPARED:
        raise UsageError(
            f"column {part.columns[0]!r} has {items} values, too many to compare all their distances (at most "
            f"{LARGEST_COMPARED}); use a distance or a similarity."
        )
    codes = np.arange(items)
    if not isinstance(part, Embedding):
        if part.kind not in EXACT_KINDS:
            raise InternalError(f"nothing is known of the rounding of distances of {part.noun}; report it.")
        for start in range(0, items, BLOCK):
            yield codes[start : start + BLOCK], codes, _natural(part, codes[start : start + BLOCK], codes)
        return
    squares = np.einsum("ij,ij->i", part.vector_table, part.vector_table)
    for start in range(0, items, BLOCK):
        rows, columns = codes[start : start + BLOCK], codes[start:]
        wanted = needed(rows, columns, _floors(part.vector_table, squares, rows, columns))
        rows, columns = rows[wanted.any(axis=1)], columns[wanted.any(axis=0)]
        if len(rows):
            distances = _natural(part, rows, columns)
            lowered = distances * (1 - norm_error(part.dimension, 1.0)) - norm_error(part.dimension, 0.0)
            yield rows, columns, lowered


def _natural(part: Space, rows: Codes, columns: Codes) -> Floats:
    return part.natural_distances(rows[:, None].astype(np.float64), columns[:, None].astype(np.float64))


def _floors(vectors: Floats, squares: Floats, rows: Codes, columns: Codes) -> Floats:
    """Return a floor of each distance, 0 where none is stated; see the text of this file."""
    dimension = vectors.shape[1]
    largest = float(squares[rows].max()) + float(squares[columns].max())
    if dimension < FEWEST_FILTERED or not 1 / LARGEST_SQUARE < largest < LARGEST_SQUARE:
        return np.zeros((len(rows), len(columns)))
    floors = vectors[rows] @ vectors[columns].T
    floors *= -2.0
    floors += squares[rows, None] - (4 * dimension + 32) * UNIT_ROUNDOFF * largest
    floors += squares[columns]
    np.maximum(floors, 0.0, out=floors)
    np.sqrt(floors, out=floors)
    floors *= FLOOR
    return np.asarray(floors, dtype=np.float64)
