"""Near pairs of a grid's cells that stand for all pairs: paths along them are nearly as short as the distances.

A promise to every pair of items follows from one to the steps of a path between them, at the price of the path's
length (:mod:`emdp.privacy.blanket.accountant`). So a few near pairs a cell do for the millions of pairs of a grid.

*Which.* Two cells are a near pair if they differ by a displacement with coprime entries of at most ``REACH`` times the
largest step of the grid along each axis: two neighbouring directions ``u`` and ``v`` among these reach every cell
between them, and a path that turns by the angle between the two is longer than the straight one by ``1/cos`` of its
half at most.

*Stretch.* What is used is no formula but measured, on the distances themselves. Distances on a grid hardly change when
both cells are moved along a *free* axis, or mirrored there: all axes but latitudes. Let every ``d(x, x')`` be within
``e`` of the distance ``d0`` of a pair whose first cell has the place 0 on the free axes, ``e`` measured over all pairs.
A shortest path from such a cell ``x``, each step of which leads forward or not at all along every axis, stays between
``x`` and its end; mirrored, moved or reversed it is a path of near pairs inside the grid from any cell to any other,
each step longer by ``2 e`` at most. So the stretch is at most the largest ``(sum of (d0 + e))/(d0 - e)`` of such paths.
"""

import math
from itertools import product

import numpy as np

from emdp.base.classes import dataclass
from emdp.mechanisms.weights import Floats, Integers

__all__ = ["GridRows", "NearPairs", "near_pairs"]

REACH = (1, 2, 3, 5, 7, 10)
"""Largest displacements that are tried, in steps of the widest axis, the cheapest first."""

ENOUGH, LONGEST = 1.006, 1.05
"""Stretch that is small enough, which displacements of 5 cells reach on a square grid, and the largest that is used."""

UNEVEN = 1e-7
"""Largest change of a distance by a move along a free axis with which a grid's rows are used."""


@dataclass(frozen=True, eq=False)
class NearPairs:
    """Ordered pairs of items, and how much longer paths along them are than distances."""

    pairs: Integers  # Shape (pairs, 2)
    stretch: float  # At least 1, rounded up


@dataclass(frozen=True, eq=False)
class GridRows:
    """Distances of a grid from the cells whose place on every free axis is 0."""

    rows: Floats  # Shape (cells of the other axes, *shape): `d0`
    fixed: int  # Number of leading axes that are not free
    uneven: float  # `e`: no distance is farther than this from that of its moved or mirrored pair here

    @classmethod
    def of(cls, matrix: Floats, shape: tuple[int, ...], fixed: int, items: Integers) -> "GridRows":
        """Take the rows out of all distances, and compare those of some items, which stand for all, with them.

        >>> line = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
        >>> GridRows.of(line, (4,), 0, np.arange(4)).uneven
        0.0
        """
        free = math.prod(shape[fixed:])
        rows = matrix[::free].reshape(-1, *shape)
        uneven = 0.0
        for item in items.tolist():
            own, *places = np.unravel_index(item, (len(rows), *shape[fixed:]))
            moved = rows[own]
            for axis, place in enumerate(places):
                moved = moved.take(np.abs(np.arange(shape[fixed + axis]) - place), axis=fixed + axis)
            uneven = max(uneven, float(np.abs(moved.ravel() - matrix[item]).max()))
        return cls(rows, fixed, uneven)

    def normalisers(self, strength: float) -> Floats:
        """Return the sum of ``exp(-strength d0)`` over all cells, for each cell, in doubles, shape (cells,).

        Cells to both sides of a place on a free axis are those of the first place up to it, and up to its mirror image.
        """
        terms = np.exp(-strength * self.rows)
        for axis in range(self.fixed + 1, terms.ndim):
            sums = terms.cumsum(axis=axis)
            terms = sums + np.flip(sums, axis) - terms.take([0], axis=axis)
        return np.asarray(terms.sum(axis=tuple(range(1, self.fixed + 1))).ravel(), dtype=np.float64)

    def sampled_pairs(self, images: Integers) -> Integers:
        """Return near pairs from some cells on, more of them near the borders, both ways, shape (pairs, 2).

        ``images`` are the first item that a symmetry carries each item to: of cells that are alike one is taken.
        """
        shape = np.array(self.rows.shape[1:])
        doubled = 2 ** np.arange(int(shape.max()).bit_length()) - 1
        lines = [np.unique(np.concatenate([doubled, count - 1 - doubled]).clip(0, count - 1)) for count in shape]
        codes = np.unique(images[np.ravel_multi_index(tuple(np.meshgrid(*lines)), tuple(shape))])
        starts, found = np.stack(np.unravel_index(codes, tuple(shape))), []
        for move in product((-1, 0, 1), repeat=len(shape)):
            ends = starts + np.array(move)[:, None]
            inside = ((ends >= 0) & (ends < shape[:, None])).all(axis=0) & (move > (0,) * len(move))
            found.append(np.stack([codes[inside], np.ravel_multi_index(tuple(ends[:, inside]), tuple(shape))], axis=1))
        both = np.concatenate(found)
        return np.concatenate([both, both[:, ::-1]])


def near_pairs(grid: GridRows) -> NearPairs | None:
    """Return near pairs of a grid with a small stretch; None where there are none, or hardly fewer than all.

    >>> line = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))
    >>> near = near_pairs(GridRows.of(line, (5,), 0, np.arange(5)))
    >>> near.pairs.tolist(), round(near.stretch, 12)
    ([[0, 1], [1, 2], [2, 3], [3, 4], [1, 0], [2, 1], [3, 2], [4, 3]], 1.000000000001)
    """
    shape = grid.rows.shape[1:]
    count = math.prod(shape)
    if not grid.uneven <= UNEVEN:
        return None
    best, stretch = [(0,) * len(shape)], math.inf
    for reach in REACH:
        moves = _moves(grid, reach)
        if not 0 < 4 * len(moves) < count or stretch <= ENOUGH:
            break
        found = _stretch(grid, np.concatenate([_moved(shape, move) for move in moves]))
        if found < stretch:
            best, stretch = moves, found
    if stretch > LONGEST:
        return None
    signs = tuple(product((1, -1), repeat=len(shape)))
    signed = {tuple(np.multiply(move, sign).tolist()) for move in best for sign in signs}
    return NearPairs(np.concatenate([_moved(shape, move) for move in sorted(signed, reverse=True)]), stretch)


def _moves(grid: GridRows, reach: int) -> list[tuple[int, ...]]:
    """Return the displacements forward along every axis; none where two cells are at distance 0."""
    shape = grid.rows.shape[1:]
    steps = [
        float(grid.rows[0].ravel()[math.prod(shape[axis + 1 :])]) if shape[axis] > 1 else 0.0
        for axis in range(len(shape))
    ]
    widest = max(steps)
    if not all(step > 0 or count == 1 for step, count in zip(steps, shape, strict=True)):
        return []
    most = [
        min(round(reach * widest / step), count - 1) if count > 1 else 0
        for step, count in zip(steps, shape, strict=True)
    ]
    return [move for move in product(*(range(one + 1) for one in most)) if math.gcd(*move) == 1]


def _moved(shape: tuple[int, ...], move: tuple[int, ...]) -> Integers:
    """Return all pairs of a cell and the one that a displacement leads to, shape (pairs, 2)."""
    numbers = np.arange(math.prod(shape), dtype=np.int64).reshape(shape)
    starts = tuple(slice(max(-one, 0), count - max(one, 0)) for one, count in zip(move, shape, strict=True))
    ends = tuple(slice(max(one, 0), count - max(-one, 0)) for one, count in zip(move, shape, strict=True))
    return np.stack([numbers[starts].ravel(), numbers[ends].ravel()], axis=1)


def _stretch(grid: GridRows, forward: Integers) -> float:
    """Return the bound of the module's text, rounded up; infinite where a cell is at distance 0 or not reached."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import dijkstra

    shape = grid.rows.shape[1:]
    count, free = math.prod(shape), math.prod(shape[grid.fixed :])
    own = forward[:, 0] // free
    # the displacement along the free axes, added to the fixed place of the end
    ends = forward[:, 1] - forward[:, 0] % free
    lengths = grid.rows.reshape(len(grid.rows), count)[own, ends] + grid.uneven
    graph = csr_matrix((lengths, (forward[:, 0], forward[:, 1])), shape=(count, count))
    sources = np.arange(len(grid.rows)) * free
    paths = np.asarray(dijkstra(graph, indices=sources), dtype=np.float64)
    least = grid.rows.reshape(len(grid.rows), count) - grid.uneven
    # each axis but a free one may lead backward: there the reversed path counts
    places = np.stack(np.unravel_index(np.arange(count), shape))
    ahead = np.asarray((places[: grid.fixed, None, :] >= places[: grid.fixed, sources, None]).all(axis=0))
    ahead[np.arange(len(sources)), sources] = False
    if not (least[ahead] > 0).all():
        return math.inf
    return max(1.0, float((paths[ahead] / least[ahead]).max())) * (1 + 2.0**-40)
