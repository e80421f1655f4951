"""The finite item space of a randomizer: all its items, their distances rounded down, its symmetries.

*Rounding.* A space computes ``d_X`` in doubles. What divides by a distance must not have it too large, so every entry
is lowered by the space's own bound on its error; 0/1 and clustered distances are exact. Two items whose distance is
then 0 are *twins*: a randomizer must treat them alike.

*Symmetries.* A permutation of items counts as an isometry if it moves the rounded distances by no more than
``SYMMETRY_TOLERANCE``; each distance is then lowered to the least of those it is carried to, after which the
permutation preserves them exactly. Lower distances stay safe.
"""

import math
from collections.abc import Iterator
from functools import cached_property
from itertools import combinations
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from emdp.base.classes import dataclass
from emdp.base.errors import InternalError, UsageError
from emdp.mechanisms.items.near_pairs import GridRows, NearPairs, near_pairs
from emdp.mechanisms.weights import LARGEST_ITEMS, Floats, Integers
from emdp.spaces import Clusters, Grid, Product, Space, count_items, finite_items
from emdp.spaces.combined.grid import cut_axes
from emdp.spaces.rounding import UNIT_ROUNDOFF

__all__ = ["ItemDistances", "line_positions", "lowered_distances", "pair_orbits"]

Scalar = TypeVar("Scalar", np.float64, np.int64)

SYMMETRY_TOLERANCE = 1e-9
"""Largest difference of two distances that are taken for one; great-circle distances are within 2e-10."""

GEO_SLACK = 2.0**-31
"""Bound on the error of ``d_X`` of great-circle distances: twice what ``Geo.natural_distances`` states."""

BLOCK = 128
"""Rows of a matrix of pairs that are worked on together."""

LARGEST_GROUP = 400
"""Most isometries that are listed."""

MOST_IN_PAIRS = 500
"""Cells of a grid up to which all pairs are looked at: near ones stand for them above."""


@dataclass(frozen=True, eq=False)
class ItemDistances:
    """All items of a finite space, with distances rounded down.

    Raises
    ------
    UsageError
        If the space is a continuum, or has one item or too many.

    >>> from emdp.spaces import Clusters
    >>> items = ItemDistances(Clusters("word", {"cat": "animal", "dog": "animal", "red": "colour"}, 0.25))
    >>> items.matrix.tolist(), items.w_min
    ([[0.0, 0.25, 1.0], [0.25, 0.0, 1.0], [1.0, 1.0, 0.0]], 0.25)
    """

    space: Space  # A finite space: 2 to `LARGEST_ITEMS` items, an unlisted neutral item included

    def __post_init__(self) -> None:
        if not isinstance(self.space, Space):
            raise UsageError(f"space must be a Space, not {type(self.space).__name__}; pass a finite space.")
        count = count_items(self.space)
        if count is None:
            remedy = (
                "cut it with emdp.Grid, or use PlanarLaplace"
                if cut_axes(self.space)
                else "use a space of listed values"
            )
            raise UsageError(f"the {self.space.kind} space is not finite; {remedy}.")
        if not 2 <= count <= LARGEST_ITEMS:
            raise UsageError(
                f"a finite randomizer needs 2 to {LARGEST_ITEMS} items, and the space has {count}; use another space."
            )

    @cached_property
    def items(self) -> Floats:
        """All encoded items, shape (items, width)."""
        found = finite_items(self.space)
        if found is None:
            raise InternalError("a space was finite and is no more; please report this.")
        return found

    @property
    def count(self) -> int:
        """Number of items."""
        return len(self.items)

    @cached_property
    def matrix(self) -> Floats:
        """``d_X`` of all pairs, rounded down; symmetric, 0 on the diagonal, preserved by ``isometries``."""
        if len(self.isometries) == 1:
            matrix = self._lowered.copy()
        else:
            own = self._lowered[self.representatives]
            for moved in self.isometries[1:]:
                for some in _blocks(len(own)):
                    there = self._lowered[moved[self.representatives[some]]].take(moved, axis=1)
                    np.minimum(own[some], there, out=own[some])
            matrix = self.spread(own)
        matrix.flags.writeable = False
        return matrix

    @cached_property
    def isometries(self) -> tuple[Integers, ...]:
        """Permutations of the items that preserve distances, a group; the identity first."""
        return _closure(
            [moved for moved in _candidates(self.space, self.count, self._lowered) if self._is_isometry(moved)],
            self.count,
        )

    @cached_property
    def images(self) -> Integers:
        """First item that an isometry carries each item to."""
        return np.asarray(np.min(self.isometries, axis=0), dtype=np.int64)

    @cached_property
    def representatives(self) -> Integers:
        """One item for each class of items that the isometries carry to each other: the first."""
        return np.flatnonzero(self.images == np.arange(self.count))

    def spread(self, own: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
        """Return the matrix of pairs whose rows are known of the representatives, and which isometries preserve."""
        full = np.empty((self.count, self.count), dtype=own.dtype)
        missing = np.ones(self.count, dtype=np.bool_)
        for moved in self.isometries:
            places, back = moved[self.representatives], np.argsort(moved)
            lacking = np.flatnonzero(missing[places])
            for some in _blocks(len(lacking)):
                # What stands at (x, y) stands at (moved[x], moved[y]).
                full[places[lacking[some]]] = own[lacking[some]].take(back, axis=1)
            missing[places] = False
        return full

    @cached_property
    def triangle_slack(self) -> float:
        """Bound of ``|d(x, y) - d(x', y)| - d(x, x')`` over all items; infinite where none is stated.

        A grid's true distances ``D`` are those of centres, cut at 1: a metric. ``matrix`` is at most ``D``, and at
        least ``D - s`` with ``s`` twice the bound on the error, once for the error and once for the rounding down, and
        what symmetry lowers. So ``d(x, y) <= D(x, x') + D(x', y) <= d(x, x') + d(x', y) + 2 s``.
        """
        if not isinstance(self.space, Grid):
            return np.inf
        error = _relative_error(self.space) + _absolute_error(self.space, self.items)
        raised = max(float((self._lowered[rows] - self.matrix[rows]).max()) for rows in _blocks(self.count))
        return 2 * (2 * error + raised) * (1 + 8 * UNIT_ROUNDOFF)

    @cached_property
    def pairs(self) -> Integers | None:
        """One ordered pair of items for each class of pairs that the isometries carry to each other; None for all."""
        return pair_orbits(self.isometries, self.count) if len(self.isometries) > 1 else None

    @cached_property
    def grid_rows(self) -> GridRows | None:
        """Distances of a large grid from the cells at the end of its axes; None where there is no such grid."""
        if not isinstance(self.space, Grid) or self.count <= MOST_IN_PAIRS:
            return None
        is_map = self.space.inner.is_map
        # Where all axes are free, flips and swaps carry moved and mirrored pairs to such pairs, so that some items do.
        compared = np.arange(self.count) if is_map else self.representatives
        return GridRows.of(self.matrix, self.space.shape, int(is_map), compared)

    @cached_property
    def near(self) -> NearPairs | None:
        """Near pairs, paths along which are nearly as short as distances; None where all pairs are looked at."""
        return None if self.grid_rows is None else near_pairs(self.grid_rows)

    @cached_property
    def w_min(self) -> float:
        """The smallest positive distance, rounded down."""
        own = (self.matrix[self.representatives[rows]] for rows in _blocks(len(self.representatives)))
        least = min(float(block.min(where=block > 0, initial=np.inf)) for block in own)
        return least if least < np.inf else 0.0

    def check_distinct(self, name: str) -> None:
        """Raise if two items are at distance 0, which the named randomizer would tell apart."""
        if np.count_nonzero(self.matrix == 0) > self.count:
            raise UsageError(
                f"the space has items at distance 0 of each other, which {name} would tell apart; merge them."
            )

    @cached_property
    def twins(self) -> Integers:
        """First item that each item is linked to by distances 0: itself, if it has no twin."""
        from scipy.sparse.csgraph import connected_components

        if np.count_nonzero(self.matrix) == self.count * (self.count - 1):
            return np.arange(self.count)
        _, label = connected_components(self.matrix == 0, directed=False)
        _, first = np.unique(label, return_index=True)
        return np.asarray(first[label], dtype=np.int64)

    @cached_property
    def clusters(self) -> Integers | None:
        """Number of each item's cluster where distances are two-level, else None; all in one for 0/1 distances."""
        if self.space.structure == "discrete":
            return np.zeros(self.count, dtype=np.int64)
        if isinstance(self.space, Clusters):
            return self.space.cluster_codes(self.items).astype(np.int64)
        return None

    @cached_property
    def _lowered(self) -> Floats:
        computed = self.space.distances(self.items, self.items)
        lowered = lowered_distances(computed, self.space, self.items)
        for rows in _blocks(self.count):
            for columns in _blocks(self.count):
                if columns.start >= rows.start:
                    least = np.minimum(lowered[rows, columns], lowered[columns, rows].T)
                    lowered[rows, columns], lowered[columns, rows] = least, least.T
        np.fill_diagonal(lowered, 0.0)
        return lowered

    def _is_isometry(self, moved: Integers) -> bool:
        for rows in _blocks(self.count):
            gaps = self._lowered[moved[rows]].take(moved, axis=1)
            gaps -= self._lowered[rows]
            if not (np.abs(gaps, out=gaps) <= SYMMETRY_TOLERANCE).all():
                return False
        return True


def lowered_distances(computed: Floats, space: Space, items: Floats) -> Floats:
    """Return computed ``d_X`` less the space's own bound on their error, at least 0.

    Parameters
    ----------
    computed : numpy.ndarray
        Distances in [0, 1].
    space : Space
        A finite space.
    items : numpy.ndarray
        At least one of its encoded items.

    >>> from emdp.spaces import Categories
    >>> lowered_distances(np.array([1.0]), Categories("kind", ["bar", "cafe"]), np.array([[0.0]])).tolist()
    [1.0]
    """
    lowered = computed * (1 - _relative_error(space))
    lowered -= _absolute_error(space, items)
    return np.maximum(lowered, 0.0, out=lowered)


def _blocks(count: int) -> Iterator[slice]:
    """Return slices of rows that together have a few megabytes: more would go through memory at every step."""
    return (slice(start, start + BLOCK) for start in range(0, count, BLOCK))


def line_positions(matrix: Floats) -> Floats | None:
    """Return positions on a line whose differences are the distances, to 1e-9, or None; the least is 0.

    >>> line_positions(np.array([[0.0, 0.75, 0.25], [0.75, 0.0, 1.0], [0.25, 1.0, 0.0]])).tolist()
    [0.75, 0.0, 1.0]
    """
    end = int(matrix[0].argmax())
    positions = np.asarray(matrix[end], dtype=np.float64)
    fits = np.abs(np.abs(np.subtract.outer(positions, positions)) - matrix) <= SYMMETRY_TOLERANCE
    return positions if fits.all() else None


def pair_orbits(symmetries: tuple[Integers, ...], count: int, some: Integers | None = None) -> Integers:
    """Return one ordered pair of distinct items for each orbit under a group of permutations, shape (pairs, 2).

    Of all pairs, or of the orbits of some.

    >>> pair_orbits((np.array([0, 1, 2]), np.array([2, 1, 0])), 3).tolist()
    [[0, 1], [0, 2], [1, 0]]
    """
    if some is not None:
        first, second = some.T
        images = np.min([moved[first] * count + moved[second] for moved in symmetries], axis=0)
        return np.stack(np.divmod(np.unique(images), count), axis=1)
    numbers = np.arange(count * count).reshape(count, count)
    least = numbers.copy()
    for moved in symmetries:
        np.minimum(least, np.add.outer(moved * count, moved), out=least)
    # Each orbit has one pair that is the least of it.
    return np.argwhere((least == numbers) & ~np.eye(count, dtype=np.bool_)).astype(np.int64)


def _relative_error(space: Space) -> float:
    """Bound on the relative error of the quotients and sums behind a distance."""
    if space.structure in ("discrete", "clusters"):
        return 0.0
    return 4 * (len(space.parts) + 1) * UNIT_ROUNDOFF


def _absolute_error(space: Space, items: Floats) -> float:
    """Bound on the error that the computed natural distances bring into ``d_X``."""
    if space.elsewhere is not None:
        # The distance of that point is no computed one.
        return _absolute_error(space.items_space, items[~space.is_elsewhere(items)])
    if isinstance(space, Product):
        parts = zip(space.parts, space.shares, space.split(items), strict=True)
        return math.fsum(share * _absolute_error(part, own) for part, share, own in parts) * (1 + 8 * UNIT_ROUNDOFF)
    if space.structure in ("discrete", "clusters"):
        return 0.0
    # The bound for one point grows with its farthest item, which is at least half as far as any two items are apart.
    rounding = 2 * space.distance_bounds(items[:1]).rounding / space.diameter
    return max(rounding, GEO_SLACK) if _is_geographic(space) else rounding


def _is_geographic(space: Space) -> bool:
    return isinstance(space, Grid) and space.inner.is_map


def _candidates(space: Space, count: int, matrix: Floats) -> list[Integers]:
    """Return permutations worth trying: flips and swaps of a grid's axes, the reversal of a line."""
    if isinstance(space, Grid):
        return _grid_permutations(space.shape)
    positions = line_positions(matrix)
    if positions is None:
        return []
    order = np.argsort(positions, kind="stable")
    reversal = np.empty(count, dtype=np.int64)
    reversal[order] = order[::-1]
    return [reversal]


def _grid_permutations(shape: tuple[int, ...]) -> list[Integers]:
    numbers = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)
    flips = [np.flip(numbers, axis) for axis in range(len(shape)) if shape[axis] > 1]
    axes = combinations(range(len(shape)), 2)
    swaps = [np.swapaxes(numbers, one, other) for one, other in axes if shape[one] == shape[other]]
    return [moved.ravel() for moved in (*flips, *swaps)]


def _closure(generators: list[Integers], count: int) -> tuple[Integers, ...]:
    """Return the group that permutations generate, the identity first; the identity alone if it is too large."""
    group = [np.arange(count, dtype=np.int64)]
    known = {group[0].tobytes()}
    for element in group:
        for generator in generators:
            product = generator[element]
            if product.tobytes() not in known:
                known.add(product.tobytes())
                group.append(product)
        if len(group) > LARGEST_GROUP:
            return (group[0],)
    return tuple(group)
