"""The exponential mechanism on a finite item space, at the strength that spends all of ``alpha0``.

Theorem (EMD 4; McSherry and Talwar 2007). ``A[x, y] = exp(-g d_X(x, y))/Z_x``, ``Z_x = sum_y exp(-g d_X(x, y))``, is
``alpha0``-``d_X``-DP exactly if ``g + max over x != x' of |ln Z_x - ln Z_x'|/d_X(x, x') <= alpha0``.

Proof. ``ln A[x, y]/A[x', y] = g (d_X(x', y) - d_X(x, y)) + ln Z_x'/Z_x <= g d_X(x, x') + ln Z_x'/Z_x``, with equality
at ``y = x``. Both directions give the absolute value.

So ``g = alpha0/2`` always holds, since ``|ln Z_x - ln Z_x'| <= g d_X(x, x')``: the plain form, which on most spaces
reaches less than asked. ``g = alpha0`` holds where all normalisers agree (0/1 distances, equal clusters, a cycle). In
between the largest ``g`` is found by bisection on the theorem's condition, and the ``alpha0`` of the integer weights is
checked.
"""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from emdp.base.errors import InternalError, UsageError
from emdp.mechanisms.items.finite import FiniteRandomizer
from emdp.mechanisms.weights import BLOCK, TOTAL, Floats, Integers, exponential_alpha0, integer_rows
from emdp.privacy.blanket.output_law import OutputLaw
from emdp.spaces import Space

__all__ = ["Exponential", "tuned_strength"]

STEPS = 60
"""Most steps of the search for a strength, which ends at a relative 1e-12; ten are the rule."""

MOST_COMPARED = 256
"""Items up to which the whole rows of all pairs are compared: above, the bound from single entries saves seconds."""

NEARLY = 1e-5
"""Part by which that bound may miss the request: the strength is then lowered by as much. On maps it is about 1e-7."""

ASIDE = 2.0**-4
"""Part of that which is given up besides, above so many items: 1e-8 of the strength, for half as many attempts."""


BELOW = 2.0**-23
"""Part by which the strength of a large grid's weights begins lower: their bound then mostly fits at once."""


class Exponential(FiniteRandomizer):
    """The exponential mechanism: nearer items more likely, for any finite metric.

    Parameters
    ----------
    space : Space
        A finite item space. Items at distance 0 of each other are treated alike.
    alpha0 : float
        The strength asked for, positive.
    tuned : bool
        True, the default: the internal strength is the largest, between ``alpha0/2`` and ``alpha0``, whose achieved
        ``alpha0`` does not exceed the one asked for; the two then agree to 1e-9 or so. False: the plain form,
        ``exp(-alpha0 d/2)``, which may achieve less than asked.

    Raises
    ------
    UsageError
        If an argument is malformed or the space is not finite.

    Guarantee
    ---------
    ``alpha0``-``d_X``-DP, by the theorem of this file, from the integer weights.

    >>> from emdp.spaces import Distances
    >>> space = Distances("stop", ["A", "B", "C"], [[0, 1, 2], [1, 0, 1], [2, 1, 0]])
    >>> round(Exponential(space, 2.0).alpha0, 6), round(Exponential(space, 2.0, tuned=False).alpha0, 6)
    (2.0, 1.228214)
    """

    name: ClassVar[str] = "exponential mechanism"
    theorem: ClassVar[str] = "exponential mechanism with the alpha0 that its weights achieve (EMD 4)"

    def __init__(self, space: Space, alpha0: float, *, tuned: bool = True) -> None:
        super().__init__(space, alpha0)
        if not isinstance(tuned, bool):
            raise UsageError(f"tuned must be True or False, not {type(tuned).__name__}; pass a bool.")
        self.tuned = tuned

    def parameters(self) -> dict[str, Any]:
        return {**super().parameters(), "tuned": self.tuned}

    @property
    def _first_strength(self) -> float:
        if not self.tuned:
            return self.requested / 2
        grid, near = self.items.grid_rows, self.items.near
        if grid is None or near is None:
            return tuned_strength(self.items.matrix, self.requested, self.items.images)
        first, second = near.pairs.T
        apart = self.items.matrix[first, second]

        def reached(strength: float) -> float:
            logs = np.log(grid.normalisers(strength))
            return strength + float((np.abs(logs[first] - logs[second]) / apart).max())

        return _largest_strength(reached, self.requested) * (1 - BELOW)

    @property
    def has_sample(self) -> bool:
        """Whether there is a sample: on large grids."""
        return self.items.grid_rows is not None

    def sample(self) -> OutputLaw:
        """Return the law of some cells of a large grid, which costs about what the whole law costs.

        The least weights are those of all cells, in doubles. It is for guesses: no guarantee rests on it.
        """
        grid, matrix = self.items.grid_rows, self.items.matrix
        if grid is None:
            raise InternalError("a part of a law was asked for where there is none; please report this.")
        strength = self._first_strength
        logs = np.log(grid.normalisers(strength))
        least = np.full(len(matrix), np.inf)
        for start in range(0, len(matrix), BLOCK):
            rows = slice(start, start + BLOCK)
            np.minimum(least, (-strength * matrix[rows] - logs[rows, None]).min(axis=0), out=least)
        pairs = grid.sampled_pairs(self.items.images)
        some, places = np.unique(pairs, return_inverse=True)
        weights = integer_rows(np.exp(-strength * matrix[some] - logs[some, None]), some)
        blanket = np.minimum((np.exp(least) * float(TOTAL)).astype(np.int64), weights.min(axis=0))
        return OutputLaw(weights, matrix[np.ix_(some, some)], places.reshape(pairs.shape), blanket)

    @property
    def _aside(self) -> float:
        return ASIDE if self.items.count > MOST_COMPARED else 0.0

    def _weights_at(self, strength: float) -> Integers:
        own = self.items.representatives
        ideal = self.items.matrix[own]
        ideal *= -strength
        weights = self.items.spread(integer_rows(np.exp(ideal, out=ideal), own))
        # Twins take the row of the first of them, to the last unit.
        twins = self.items.twins
        return weights if (twins == np.arange(len(twins))).all() else weights[twins]

    def _reached_by(self, weights: Integers) -> float:
        if self.items.count > MOST_COMPARED:
            quick = exponential_alpha0(weights, self.items.matrix, self.items.triangle_slack)
            if quick <= self.requested * (1 + NEARLY):
                return quick
        return super()._reached_by(weights)


def tuned_strength(matrix: Floats, alpha0: float, images: Integers | None = None) -> float:
    """Return the largest ``g`` in ``[alpha0/2, alpha0]`` at which the theorem's condition holds, to a relative 1e-12.

    Parameters
    ----------
    matrix : numpy.ndarray
        Distances, shape (items, items).
    images : numpy.ndarray of int64, optional
        For each item the first that a symmetry of the distances carries it to; default the item itself.

    >>> tuned_strength(np.array([[0.0, 1.0], [1.0, 0.0]]), 2.0)
    2.0
    """
    rows, place = np.unique(np.arange(len(matrix)) if images is None else images, return_inverse=True)
    own = matrix[rows]
    inverse = np.divide(1.0, own, out=np.zeros_like(own), where=own > 0)
    return _largest_strength(lambda strength: _reached_at(strength, own, inverse, place), alpha0)


def _largest_strength(reached: Callable[[float], float], alpha0: float) -> float:
    """Return the largest ``g`` in ``[alpha0/2, alpha0]`` that reaches at most ``alpha0``."""

    def excess(strength: float) -> float:
        return reached(strength) - alpha0

    low, high = alpha0 / 2, alpha0
    over = excess(high)
    if over <= 0:
        return high
    under = excess(low)
    for step in range(STEPS):
        # A secant, aimed a little to either side of the root in turn so that both ends move, and at times a halving.
        root = low - under * (high - low) / (over - under)
        aims = (root - (high - low) * 2.0**-10, root + (high - low) * 2.0**-10, (low + high) / 2)
        middle = min(max(aims[step % 3], low), high)
        value = excess(middle)
        if value <= 0:
            low, under = middle, value
        else:
            high, over = middle, value
        if high - low <= 2.0**-40 * alpha0:
            break
    return low


def _reached_at(strength: float, matrix: Floats, inverse: Floats, place: Integers) -> float:
    """Return ``alpha0`` of the ideal law by the theorem's formula, in doubles.

    ``matrix`` and ``inverse`` are of the distances from some items to all, ``place`` is each item's row of them.
    """
    log_normaliser = np.log(np.exp(-strength * matrix).sum(axis=1))
    ratio = np.abs(np.subtract.outer(log_normaliser, log_normaliser[place]))
    ratio *= inverse
    # What rounding makes of equal normalisers must not start a bisection.
    return strength + max(float(ratio.max()) - 2.0**-40 * strength, 0.0)
