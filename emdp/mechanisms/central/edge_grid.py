"""A grid of nodes whose neighbours are joined by edges: divergence of numbers on edges, and a path through all nodes.

An axis is a *path* (edges between neighbours), goes *round* (the last node is the first one's neighbour, too), or is
*listed*: any two of its ``K`` values are as near, and its "edges" are one number a node, from which the mean over the
axis is taken: ``W - sum(W)/K``, the divergence of a star whose middle has no node. Its results are multiples of
``1/K``, so all are kept as integers in units of one over the product of the listed axes' sizes, :attr:`parts`.

One node more may stand *away*, joined to every other: the last one, with edges of its own sensitivity, as many as there
are others. It is the point elsewhere, which is as far from every item.

``M`` maps all edges' numbers to nodes. Flows ``g`` are numbers on edges; on a listed axis the flow of one unit from
``A`` to ``B`` is ``e_A - e_B``, whose image is itself, since its mean is 0.
"""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from emdp.base.arrays import Floats
from emdp.base.checks import check_choice, check_count
from emdp.base.classes import dataclass
from emdp.base.errors import UsageError

__all__ = ["LARGEST_RATIO", "EdgeAxis", "EdgeGrid", "Form"]

Form = Literal["path", "round", "listed"]
FORMS: tuple[Form, ...] = ("path", "round", "listed")

Integers = npt.NDArray[Any]

LARGEST_RATIO = 2**14
"""Largest quotient of two axes' sensitivities: their noise is drawn on one grid."""

SAFE = 2**61
"""Sums in 64-bit integers stay below it; larger ones are Python's integers."""


@dataclass(frozen=True)
class EdgeAxis:
    """One axis of a grid."""

    size: int  # Number of nodes along it; at least 3 where it goes round
    # How much flow the edges of this axis carry at most for a move by one unit of `d_em` along it, in the norm of the
    # noise: above 0, but for an axis of one node.
    sensitivity: float
    form: Form = "path"  # See the module's text

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", check_count("size", self.size))
        check_choice("form", self.form, FORMS)
        if self.form == "round" and self.size < 3:
            raise UsageError(f"size must be at least 3 for an axis that goes round, got {self.size}; pass a path.")
        if self.size > 1 and not 0 < self.sensitivity < math.inf:
            raise UsageError(f"sensitivity must be above 0 and finite, got {self.sensitivity}; pass its bound.")

    @property
    def edges(self) -> int:
        """Edges of one line of nodes along the axis."""
        return 0 if self.size == 1 else self.size - 1 if self.form == "path" else self.size

    @property
    def reach(self) -> int:
        """Flow, in the 1-norm, that the farthest two nodes of a line need."""
        if self.form == "listed":
            return 2 if self.size > 1 else 0
        return self.size // 2 if self.form == "round" else self.size - 1


@dataclass(frozen=True)
class EdgeGrid:
    """The product of some axes, the last one running fastest, with or without a node that stands away.

    >>> grid = EdgeGrid((EdgeAxis(2, 1.0), EdgeAxis(3, 1.0)))
    >>> grid.nodes, grid.edges, grid.snake.tolist()
    (6, 7, [0, 1, 2, 5, 4, 3])
    >>> grid.divergence([np.array([1, 0, 0]), np.array([0, 5, 0, 0])]).tolist()
    [-1, -5, 5, 1, 0, 0]
    """

    axes: tuple[EdgeAxis, ...]
    has_away: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(axis.size for axis in self.axes)

    @property
    def inner(self) -> int:
        """Number of nodes of the grid, without the one that stands away."""
        return math.prod(self.shape)

    @property
    def nodes(self) -> int:
        return self.inner + self.has_away

    @property
    def edges(self) -> int:
        return sum(self.edges_of(place) for place in range(len(self.axes) + self.has_away))

    @property
    def parts(self) -> int:
        """Integers of :meth:`divergence` are in units of one over this number."""
        return math.prod(axis.size for axis in self.axes if axis.form == "listed")

    def edges_of(self, place: int) -> int:
        """Return the number of edges along one axis, of all its lines; after the axes come those to the node away."""
        if place == len(self.axes):
            return self.inner
        return self.inner // self.shape[place] * self.axes[place].edges

    @cached_property
    def snake(self) -> Integers:
        """The nodes in an order in which each is a neighbour of the next, along some axis."""
        order = np.zeros(1, dtype=np.int64)
        for axis in reversed(self.axes):
            inner = len(order)
            order = np.concatenate(
                [place * inner + (order if place % 2 == 0 else order[::-1]) for place in range(axis.size)]
            )
        return np.append(order, self.inner) if self.has_away else order

    @property
    def rounding(self) -> Integers:
        """Each node but the last, after all that lead to it, with the neighbour that its sum goes on to: the snake."""
        return np.stack([self.snake[:-1], self.snake[1:]], axis=1)

    def divergence(self, drawn: Sequence[Integers], releases: int = 1) -> Integers:
        """Return ``M W`` in units of ``1/parts``, one row a release (none for one release).

        Parameters
        ----------
        drawn : sequence of numpy.ndarray
            For each axis whole numbers, one an edge and release; last those of the edges to the node away.
        releases : int
            How many releases one after another.
        """
        largest = max((int(abs(own).max()) if own.size else 0) for own in drawn)
        terms = 4 * (len(self.axes) + 1) + (self.inner if self.has_away else 0)
        exact = object if largest * self.parts * terms >= SAFE else np.int64
        found = np.zeros((releases, *self.shape), dtype=exact)
        for place, (axis, own) in enumerate(zip(self.axes, drawn, strict=not self.has_away)):
            if axis.size == 1:
                continue
            lines = (releases, *self.shape[:place], axis.edges, *self.shape[place + 1 :])
            flows = np.moveaxis(own.astype(exact).reshape(lines), place + 1, -1)
            _add(np.moveaxis(found, place + 1, -1), flows, axis, self.parts)
        found = found.reshape(releases, self.inner)
        if self.has_away:
            flows = drawn[-1].astype(exact).reshape(releases, self.inner) * self.parts
            found = np.concatenate([found - flows, flows.sum(axis=1, keepdims=True)], axis=1)
        return found if releases > 1 else found[0]

    def differences(self, values: Floats) -> list[Floats]:
        """Return for each axis what one unit of every edge's number adds to ``sum_i values_i (M W)_i``: ``M' values``.

        >>> EdgeGrid((EdgeAxis(3, 1.0),)).differences(np.array([0.0, 1.0, 3.0]))[0].tolist()
        [1.0, 2.0]
        """
        given = np.asarray(values, dtype=np.float64)
        whole = given[: self.inner].reshape(self.shape)
        found: list[Floats] = []
        for place, axis in enumerate(self.axes):
            if axis.size == 1:
                own = np.zeros(0)
            elif axis.form == "listed":
                own = whole - whole.mean(axis=place, keepdims=True)
            else:
                own = np.diff(whole, axis=place)
                if axis.form == "round":
                    last = np.take(whole, [0], axis=place) - np.take(whole, [-1], axis=place)
                    own = np.concatenate([own, last], axis=place)
            found.append(own.ravel())
        if self.has_away:
            found.append(given[-1] - given[:-1])
        return found

    def node_kinds(self) -> tuple[list[tuple[tuple[float, ...], tuple[int, ...]]], Integers]:
        """Return the laws that nodes have, each as factors of the axes' scales with counts, and each node's law.

        Factors and counts are in the order of the axes, two of each: of a node's own number on a listed axis and of the
        others'; of edges, and none. Last come those of the edges to the node away, if there is one.

        >>> kinds, of_node = EdgeGrid((EdgeAxis(4, 1.0),)).node_kinds()
        >>> kinds, of_node.tolist()
        ([((1.0, 0.0), (1, 0)), ((1.0, 0.0), (2, 0))], [0, 1, 1, 0])
        """
        own = [_kinds(axis) for axis in self.axes]
        numbers = np.zeros(self.shape, dtype=np.int64)
        for place, (kinds, of_node) in enumerate(own):
            line = [1] * len(self.shape)
            line[place] = -1
            numbers = numbers * len(kinds) + of_node.reshape(line)
        met, of_node = np.unique(numbers.ravel(), return_inverse=True)
        laws = []
        for number in met.tolist():
            digits: list[tuple[tuple[float, float], tuple[int, int]]] = []
            left = number
            for kinds, _ in reversed(own):
                left, digit = divmod(left, len(kinds))
                digits.insert(0, kinds[digit])
            laws.append((tuple(f for fs, _ in digits for f in fs), tuple(c for _, cs in digits for c in cs)))
        if self.has_away:
            alone = ((0.0,) * (2 * len(self.axes)), (0,) * (2 * len(self.axes)))
            laws = [((*factors, 1.0, 0.0), (*counts, 1, 0)) for factors, counts in laws]
            laws.append(((*alone[0], 1.0, 0.0), (*alone[1], self.inner, 0)))
            of_node = np.append(of_node, len(laws) - 1)
        return laws, of_node


def _add(found: Integers, flows: Integers, axis: EdgeAxis, parts: int) -> None:
    """Add to nodes what the edges of one axis, which is the last of both arrays, bring."""
    if axis.form == "listed":
        found += (flows * axis.size - flows.sum(axis=-1, keepdims=True)) * (parts // axis.size)
        return
    found[..., 1:] += (flows if axis.form == "path" else flows[..., :-1]) * parts
    found[..., : axis.edges] -= flows * parts
    if axis.form == "round":
        found[..., 0] += flows[..., -1] * parts


def _kinds(axis: EdgeAxis) -> tuple[list[tuple[tuple[float, float], tuple[int, int]]], Integers]:
    if axis.size == 1:
        return [((0.0, 0.0), (0, 0))], np.zeros(1, dtype=np.int64)
    if axis.form == "listed":
        share = 1.0 / axis.size
        return [((1.0 - share, share), (1, axis.size - 1))], np.zeros(axis.size, dtype=np.int64)
    if axis.form == "round" or axis.size == 2:
        return [((1.0, 0.0), (2 if axis.form == "round" else 1, 0))], np.zeros(axis.size, dtype=np.int64)
    of_node = np.ones(axis.size, dtype=np.int64)
    of_node[[0, -1]] = 0
    return [((1.0, 0.0), (1, 0)), ((1.0, 0.0), (2, 0))], of_node
