"""Noise on the edges of a listed graph: shares of places that have given distances, such as areas.

Theorem. Let every item be at one of ``k >= 2`` places, of a connected graph with edges ``e`` of lengths ``l_e > 0``,
and let the shortest path from the place of ``x`` to that of ``x'`` be at most ``c d_X(x, x')`` long (``c`` is the
*stretch*). With independent Laplace ``W_e`` of scale ``b_e >= c/(l_e n alpha)`` the shares plus ``M W`` are
``(alpha, 0)`` unbounded central d_EM-DP.

Proof. Let ``s_e = c/(l_e n)``. The unit flow along a shortest path from ``x`` to ``x'`` has ``sum |g_e|/s_e`` of
``n/c`` times the path's length, at most ``n d_X(x, x')``: the flow mechanism (:mod:`emdp.mechanisms.central.edges`),
whose proof does not use that edges are a grid's. Lengths may be any positive numbers; the noise is for ``c``. QED

Theorem (grid). As there, with sums over the branches of a spanning tree in place of those along the snake. The sum of
the computed statistic over each branch, over ``g``, is rounded to a whole number; a place's number is its branch's less
those of the branches that hang on it, and the root's branch *is* ``1/g``.

Proof. On two tables the numbers of one branch differ by what the flow ``G/g`` brings into it and at most ``1 + 2 e/g``:
so the rounded statistics differ by ``M`` of ``G/g`` and of a flow that carries at most that on each of the ``k - 1``
edges of the tree. A whole flow with the same divergence costs no more, since a graph's ``M`` is totally unimodular, and
``k - 1 <= m``. The rest is the grid theorem's proof. QED

A node away from all others is one more node of the graph, as there; the root's branch goes on to it.
"""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from emdp.base.arrays import Floats
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError
from emdp.mechanisms.central.edge_grid import SAFE, EdgeAxis, EdgeGrid, Integers
from emdp.mechanisms.central.edge_laws import EdgeLaplaceMechanism

__all__ = ["EdgeGraph", "GraphLaplaceMechanism"]

Ends = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class EdgeGraph(EdgeGrid):
    """A connected graph of listed places, with or without a node that stands away; every edge is an axis of its own.

    >>> graph = EdgeGraph((EdgeAxis(2, 1.0), EdgeAxis(2, 0.5)), False, ((0, 1), (0, 2)))
    >>> graph.nodes, graph.edges, graph.rounding.tolist()
    (3, 2, [[2, 0], [1, 0]])
    >>> graph.divergence([np.array([1]), np.array([5])]).tolist()
    [-6, 1, 5]
    """

    ends: Ends = ()

    def __post_init__(self) -> None:
        whole = all(0 <= end < self.inner for pair in self.ends for end in pair)
        if not self.ends or len(self.ends) != len(self.axes) or not whole or len(self._tree) != self.inner:
            raise UsageError("ends must be pairs of places, one an axis, that join all places; pass such a graph.")

    @cached_property
    def inner(self) -> int:
        return 1 + max(end for pair in self.ends for end in pair)

    @property
    def edges(self) -> int:
        return len(self.ends) + (self.inner if self.has_away else 0)

    def edges_of(self, place: int) -> int:
        return self.inner if place == len(self.axes) else 1

    @cached_property
    def rounding(self) -> Integers:
        pairs = [(place, into) for place, into in reversed(self._tree.items()) if place != into]
        return np.array([*pairs, *([(0, self.inner)] if self.has_away else [])], dtype=np.int64)

    def divergence(self, drawn: Sequence[Integers], releases: int = 1) -> Integers:
        largest = max(int(abs(own).max()) for own in drawn)
        exact = object if largest * 2 * (self.edges + 1) >= SAFE else np.int64
        found = np.zeros((releases, self.nodes), dtype=exact)
        for (first, second), own in zip(self.ends, drawn, strict=not self.has_away):
            found[:, first] -= own
            found[:, second] += own
        if self.has_away:
            flows = drawn[-1].astype(exact).reshape(releases, self.inner)
            found[:, :-1] -= flows
            found[:, -1] += flows.sum(axis=1)
        return found if releases > 1 else found[0]

    def differences(self, values: Floats) -> list[Floats]:
        given = np.asarray(values, dtype=np.float64)
        first, second = np.array(self.ends).T
        own = [*(given[second] - given[first])[:, None]]
        return [*own, given[-1] - given[:-1]] if self.has_away else own

    def node_kinds(self) -> tuple[list[tuple[tuple[float, ...], tuple[int, ...]]], Integers]:
        """Return for each node the numbers of its axes, and of how many edges of each."""
        edges: list[list[float]] = [[] for _ in range(self.inner)]
        for number, pair in enumerate(self.ends):
            for end in pair:
                edges[end].append(number)
        away = [float(len(self.ends))] * self.has_away
        kinds = [((*own, *away), (1,) * (len(own) + len(away))) for own in edges]
        kinds += [(tuple(away), (self.inner,))] * self.has_away
        return kinds, np.arange(self.nodes)

    def costs(self, sensitivities: Sequence[float], away: float) -> Floats:
        """Return the least ``sum |g_e|/s_e`` of a unit flow between any two nodes, shape (nodes, nodes)."""
        from scipy.sparse.csgraph import shortest_path

        lengths = np.full((self.nodes, self.nodes), np.inf)
        for (first, second), own in zip(self.ends, sensitivities, strict=True):
            lengths[first, second] = min(lengths[first, second], 1.0 / own)
        if self.has_away:
            lengths[:-1, -1] = 1.0 / away
        return np.asarray(shortest_path(np.where(np.isinf(lengths), 0.0, lengths), directed=False))

    @cached_property
    def _tree(self) -> dict[int, int]:
        """Each place that can be reached, from the first on, with the neighbour that it is reached from."""
        beside: dict[int, list[int]] = {}
        for first, second in self.ends:
            beside.setdefault(first, []).append(second)
            beside.setdefault(second, []).append(first)
        found, queue = {0: 0}, [0]
        for place in queue:
            for other in beside.get(place, ()):
                if other not in found:
                    found[other] = place
                    queue.append(other)
        return found


@dataclass(frozen=True, kw_only=True)
class GraphLaplaceMechanism(EdgeLaplaceMechanism):
    """Laplace noise on the edges of a graph of places: ``(alpha, 0)``.

    >>> from fractions import Fraction
    >>> mechanism = GraphLaplaceMechanism.over([(0, 1), (1, 2)], [0.01, 0.02], alpha=2.0)
    >>> mechanism.dimension, round(mechanism.linear_deviation(np.array([1.0, 0.0, 0.0])) / 0.005 / 2**0.5, 9)
    (3, 1.0)
    >>> sum(mechanism.release([Fraction(1, 3)] * 3))
    Fraction(1, 1)
    """

    ends: Ends = ()

    @classmethod
    def over(
        cls, ends: Sequence[tuple[int, int]], sensitivities: Sequence[float], *, away: float = 0.0, **shared: Any
    ) -> "GraphLaplaceMechanism":
        """Return the mechanism on a graph: places at the ends of each edge, and ``c/(l_e n)`` of each."""
        axes, pairs = tuple(EdgeAxis(2, own) for own in sensitivities), tuple((int(a), int(b)) for a, b in ends)
        nodes = EdgeGraph(axes, away > 0, pairs).nodes
        return cls(
            axes=axes, ends=pairs, away=away, sensitivity=max(away, *sensitivities, 0.0), dimension=nodes, **shared
        )

    @cached_property
    def edge_grid(self) -> EdgeGraph:
        return EdgeGraph(self.axes, self.away > 0, self.ends)

    def facts(self, unit: str) -> tuple[tuple[str, str], ...]:
        scales = [units * self.grid for units in self.axis_units]
        told = (
            f"{self.edge_grid.edges} edges, scale {min(scales):.6g} to {max(scales):.6g}, in steps of {self.grid:.3g}"
        )
        (sensitivity, _) = super().facts(unit)
        return (sensitivity, ("noise", told))

    def costs(self) -> Floats:
        """Return what a unit flow between any two nodes costs, over the largest sensitivity."""
        return self.edge_grid.costs([axis.sensitivity for axis in self.axes], self.away) * self.sensitivity

    def _law_theorem(self) -> str:
        return (
            "Laplace noise of scale c/(l alpha n) on the edges of a graph of places, l their lengths and c its "
            "stretch, is (alpha, 0) d_em-DP (the flow mechanism; private-measures.md 1, grid: EMD 8.5)"
        )

    def _law_of(self, kind: tuple[tuple[float, ...], tuple[int, ...]]) -> tuple[Floats, Integers]:
        numbers, counts = kind
        return np.array([self.axis_units[int(own)] for own in numbers]) * self.grid, np.array(counts)

    def _coordinate_units(self, tail: float) -> int:
        return math.ceil(max(self._widths_of(tail, self._widest)) / self.grid)

    def _kind_widths(self, tail: float) -> list[float]:
        return self._widths_of(tail, range(self.dimension))

    def _widths_of(self, tail: float, nodes: Sequence[int]) -> list[float]:
        laws, sums = self._kinds[0], self._sums
        return [self._half_width(*self._law_of(laws[own]), tail=tail, rounding=float(sums[own])) for own in nodes]

    @cached_property
    def _sums(self) -> list[int]:
        """Of how many rounded sums a node's number is: of its branch, and of those that hang on it."""
        found: list[int] = np.bincount(self.edge_grid.rounding.ravel(), minlength=self.dimension).tolist()
        return found

    @cached_property
    def _widest(self) -> list[int]:
        """The nodes that no other has a wider interval than for sure: edge by edge more noise, and as many sums.

        A sum of independent symmetric unimodal numbers has longer tails where each has (Birnbaum 1948).
        """
        laws = [self._law_of(kind) for kind in self._kinds[0]]
        scales = [np.sort(np.repeat(sizes, counts))[::-1] for sizes, counts in laws]
        table = np.zeros((len(scales), max(map(len, scales)) + 1))
        for row, own, sums in zip(table, scales, self._sums, strict=True):
            row[: len(own)], row[-1] = own, sums
        found: list[int] = []
        for node in np.argsort(-table[:, 0], kind="stable").tolist():
            if not any((table[other] >= table[node]).all() for other in found):
                found.append(node)
        return found
