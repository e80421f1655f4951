"""The clamped geometric mechanism on a line of items, and its product on a grid.

Theorem (EMD 4; Ghosh, Roughgarden and Sundararajan 2012). Let items lie on a line at ``p_1 < .. < p_n``, ``g > 0``,
``r_i = exp(-g (p_{i+1} - p_i))``, ``r_0 = r_n = 0`` and ``u_i = 1/(1 + r_{i-1}) + 1/(1 + r_i) - 1``. Then ``A[i, j] =
u_j exp(-g |p_i - p_j|)`` has rows that sum to 1, is not negative, and ``A[i, j] <= exp(g |p_i - p_i'|) A[i', j]``.

Proof. The last claim is the triangle inequality: ``u_j`` cancels, so no factor 1/2 is lost to a normaliser. ``u_i >=
0`` since ``1/(1 + r) >= 1/2``. Rows: let ``L_i = sum_{j < i} A[i, j]`` and ``L_1 = 0``. By induction ``L_{i+1} = r_i/(1
+ r_i)``: ``L_{i+1} = r_i (L_i + u_i) = r_i (r_{i-1}/(1 + r_{i-1}) + 1/(1 + r_{i-1}) + 1/(1 + r_i) - 1) = r_i/(1 +
r_i)``. From the right alike, so a row sums to ``r_{i-1}/(1 + r_{i-1}) + u_i + r_i/(1 + r_i) = 1``. At equal spacing
``h`` this is the two-sided geometric law of ratio ``exp(-g h)`` with what falls beyond an end put on the end.

*A grid.* The product of such laws along the axes has ``ln(A[x, y]/A[x', y]) <= g sum_a |p_a - p'_a|``, a 1-norm. With
``c`` the largest quotient of that 1-norm and ``d_X`` over all pairs of cells (2^(1/2) for Euclidean distance on a
square grid, 1 on a line) ``g = alpha0/c`` gives ``alpha0``-``d_X``-DP, for any ``d_X``: one cut at its diameter, a
great circle. The ``alpha0`` of the integer weights is checked on top.
"""

from functools import cached_property
from typing import ClassVar

import numpy as np

from emdp.base.errors import UsageError
from emdp.mechanisms.items.distances import line_positions
from emdp.mechanisms.items.finite import FiniteRandomizer
from emdp.mechanisms.weights import Floats, Integers, integer_rows
from emdp.spaces import Grid, Space

__all__ = ["Geometric"]


class Geometric(FiniteRandomizer):
    """The clamped geometric mechanism: two-sided geometric steps along a line or along the axes of a grid.

    Parameters
    ----------
    space : Space
        A ``Grid``, or listed values whose distances are those of points on a line, in any order and spacing.
    alpha0 : float
        The strength asked for, positive.

    Raises
    ------
    UsageError
        If an argument is malformed, or the space is no line and no grid.

    Guarantee
    ---------
    ``alpha0``-``d_X``-DP, by the theorem of this file, from the integer weights.

    >>> from emdp.spaces import Distances
    >>> space = Distances("stop", ["A", "B", "C"], [[0, 1, 2], [1, 0, 1], [2, 1, 0]])
    >>> Geometric(space, 2.0).matrix.round(4).tolist()
    [[0.7311, 0.17, 0.0989], [0.2689, 0.4621, 0.2689], [0.0989, 0.17, 0.7311]]
    """

    name: ClassVar[str] = "clamped geometric mechanism"
    theorem: ClassVar[str] = (
        "clamped geometric law along each axis, scaled to d_X (EMD 4; Ghosh, Roughgarden, Sundararajan 2012)"
    )

    def __init__(self, space: Space, alpha0: float) -> None:
        super().__init__(space, alpha0)
        self.items.check_distinct("Geometric")
        if not isinstance(space, Grid) and line_positions(self.items.matrix) is None:
            raise UsageError(
                f"Geometric needs a Grid or items on a line, not this {space.kind} space; use Exponential."
            )

    @cached_property
    def _axes(self) -> tuple[Floats, ...]:
        """Distances along each axis, in units of ``d_X``, square."""
        if not isinstance(self.space, Grid):
            return (self.items.matrix,)
        numbers = np.arange(self.space.size).reshape(self.space.shape)
        return tuple(
            _middle_step(self.space, numbers, axis) * np.abs(np.subtract.outer(np.arange(count), np.arange(count)))
            for axis, count in enumerate(self.space.shape)
        )

    @cached_property
    def _stretch(self) -> float:
        """The largest quotient of the sum of distances along the axes by ``d_X``."""
        total = np.zeros((1, 1))
        for axis in self._axes:
            total = np.add(total[:, None, :, None], axis[None, :, None, :]).reshape([len(total) * len(axis)] * 2)
        matrix = self.items.matrix
        return float((total[matrix > 0] / matrix[matrix > 0]).max())

    @property
    def _first_strength(self) -> float:
        return self.requested / self._stretch

    def _weights_at(self, strength: float) -> Integers:
        law = np.ones((1, 1))
        for axis in self._axes:
            law = np.asarray(np.kron(law, _clamped(axis, strength)), dtype=np.float64)
        return integer_rows(law)


def _middle_step(space: Grid, numbers: Integers, axis: int) -> float:
    """Return ``d_X``, uncut, of two neighbours along an axis in the middle of the grid; 1 for an axis of one cell."""
    middle = [(count - 1) // 2 for count in numbers.shape]
    if numbers.shape[axis] == 1:
        return 1.0
    beside = [place + (number == axis) for number, place in enumerate(middle)]
    ends = [np.array([[float(numbers[tuple(place)])]]) for place in (middle, beside)]
    return float(space.natural_distances(*ends)[0, 0]) / space.diameter


def _clamped(axis: Floats, strength: float) -> Floats:
    """Return the law along one axis from the distances along it, in whatever order its places are."""
    # from an end
    order = np.argsort(axis[int(axis[0].argmax())], kind="stable")
    near = strength * axis[order[:-1], order[1:]]
    # with r = 0 beyond the ends
    left, right = np.append(np.inf, near), np.append(near, np.inf)
    share = np.empty(len(axis))
    share[order] = -np.expm1(-(left + right)) / ((1 + np.exp(-left)) * (1 + np.exp(-right)))
    return np.asarray(share * np.exp(-strength * axis), dtype=np.float64)
