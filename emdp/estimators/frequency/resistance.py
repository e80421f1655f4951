"""Sensitivity at user level of noise on edges in the 2-norm: the largest resistance between two nodes of a grid.

Theorem. Let two tables differ in one of ``n`` users, and let every item's weights at nodes be at least 0 with sum 1.
With ``M`` the divergence of :mod:`emdp.mechanisms.central.edge_grid`, in which all edges are alike, there is a flow
``g`` with ``M g = p' - p`` and ``|g|_2 <= sqrt(R)/n``, where ``R`` is the largest of ``(e_x - e_y)' (M M')^+ (e_x -
e_y)`` over pairs of nodes: the largest effective resistance, if edges are wires of one ohm.

Proof. ``p' - p = (v' - v)/n`` with ``v, v'`` means of weights, so at least 0 with sum 1. The least 2-norm of a flow of
divergence ``u`` is ``sqrt(u' (M M')^+ u)`` (``u`` has sum 0, and the grid is connected, so there is one), a norm of
``u``, hence convex in ``(v, v')``; its largest value on pairs of measures is at pairs of nodes. QED (So the 1-norm of
flows has the length of the longest of the shortest paths, and Laplace noise is no match for noise on every node.)

Computed. ``M M'`` is the sum of the axes' Laplacians (of a listed axis ``I - 11'/K``, whose own square it is), with the
products of the axes' bases as eigenvectors. All pairs are looked at, but for those that a reflection, turn or exchange
of the grid maps to others; where that is too much work, ``R <= 4 max_x e_x' (M M')^+ e_x``, by the triangle inequality.
Floating point errs by less than :data:`MARGIN`, which is added. A path from node to node bounds ``R``, too.
"""

import itertools
import math
from collections.abc import Sequence
from functools import reduce

import numpy as np

from emdp.expressions.numbers.outward import sqrt_up
from emdp.mechanisms.central.edge_grid import EdgeAxis
from emdp.spaces.base import Floats
from emdp.transport.fit import FitAxis, along_axes

__all__ = ["user_flow"]

MARGIN = 1e-9
"""Relative; sums of products of cosines over at most 200,000 eigenvectors err by less than 1e-10."""

MOST_WORK = 2e9
"""Multiplications, some seconds."""


def user_flow(axes: Sequence[EdgeAxis]) -> float:
    """Return the largest 2-norm of the flow that one of one users needs, rounded up.

    >>> round(user_flow([EdgeAxis(10, 1.0)]) ** 2, 6), round(user_flow([EdgeAxis(2, 1.0), EdgeAxis(2, 1.0)]) ** 2, 6)
    (9.0, 1.0)
    """
    kept = [axis for axis in axes if axis.size > 1]
    if not kept:
        return 0.0
    reach = math.fsum(axis.reach for axis in kept)
    return sqrt_up(min(reach, _largest(kept) * (1.0 + MARGIN)))


def _largest(axes: Sequence[EdgeAxis]) -> float:
    found = [FitAxis(np.eye(axis.size), axis.form, 1.0).basis() for axis in axes]
    bases = [vectors for vectors, _ in found]
    total: Floats = reduce(np.add.outer, [values for _, values in found])
    known = total > 1e-12 * total.max()
    inverse: Floats = np.where(known, 1.0 / np.where(known, total, 1.0), 0.0)
    own = along_axes([np.square(vectors).T for vectors in bases], inverse)
    starts = [range((axis.size + 1) // 2) if axis.form == "path" else range(1) for axis in axes]
    work = math.prod(map(len, starts)) * own.size * math.fsum(axis.size for axis in axes)
    if work > MOST_WORK:
        return 4.0 * float(own.max())
    back = [vectors.T for vectors in bases]
    largest = 0.0
    for start in itertools.product(*starts):
        there = reduce(np.multiply.outer, [vectors[:, place] for vectors, place in zip(bases, start, strict=True)])
        together = along_axes(back, inverse * there)
        largest = max(largest, float((own[start] + own - 2.0 * together).max()))
    return largest
