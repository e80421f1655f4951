"""Levels between two levels, the cells that they may lie in, and what each cell costs.

The costs, their bounds and the division of a cell are those of :mod:`emdp.mechanisms.records.quantiles`.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from emdp.base.classes import dataclass

__all__ = ["SPLITS", "Part", "Weights", "cost_bound", "end_steps", "ends_of", "interval_costs"]

SPLITS = 64
"""Parts of a cell that lies on both sides of a level."""

Weights = npt.NDArray[np.object_]
"""Python integers, so that nothing overflows."""


@dataclass(frozen=True)
class Part:
    """Levels ``first`` to ``last - 1``, all of them between two levels, and the cells that they may lie in."""

    first: int
    last: int
    low: Fraction
    high: Fraction
    start: int
    weights: Weights
    group: int = 0

    @property
    def middle(self) -> int:
        return (self.first + self.last) // 2

    def target(self, levels: Sequence[Fraction]) -> Fraction:
        return (levels[self.middle] - self.low) / (self.high - self.low)

    def bound(self, levels: Sequence[Fraction], moved: int) -> int:
        return cost_bound(self.target(levels), moved)

    def costs(self, levels: Sequence[Fraction]) -> Weights:
        return interval_costs(*ends_of(self.weights, self.target(levels)))

    def split_costs(self, levels: Sequence[Fraction], cell: int) -> Weights:
        first, last = (ends[cell] for ends in ends_of(self.weights, self.target(levels)))
        return np.array([abs((SPLITS - f) * first + f * last) for f in range(SPLITS + 1)], dtype=object)

    def halves(self, levels: Sequence[Fraction], cell: int, split: int) -> list["Part"]:
        below, above = self.weights[: cell + 1] * SPLITS, self.weights[cell:] * SPLITS
        below[-1], above[0] = self.weights[cell] * split, self.weights[cell] * (SPLITS - split)
        own = levels[self.middle]
        halves = [
            Part(self.first, self.middle, self.low, own, self.start, below, self.group),
            Part(self.middle + 1, self.last, own, self.high, self.start + cell, above, self.group),
        ]
        return [half for half in halves if half.first < half.last]


def cost_bound(target: Fraction, moved: int) -> int:
    """Return ``D``: of the lemma for one part of a replacement (``moved < 0``), else of theorem 2."""
    if moved < 0:
        return -moved * target.denominator
    return moved * max(target.numerator, target.denominator - target.numerator)


def ends_of(weights: Weights, target: Fraction) -> tuple[Weights, Weights]:
    """Return ``A_i`` and ``B_i`` of every cell."""
    upto = np.cumsum(weights)
    last = upto * target.denominator - target.numerator * upto[-1]
    return last - weights * target.denominator, last


def interval_costs(first: Weights, last: Weights) -> Weights:
    return np.asarray(np.maximum(np.maximum(first, -last), 0), dtype=object)


def end_steps(cells: int) -> list[int]:
    """Return the distances from a quantile at which cells of an interval's end begin."""
    found, step = [], 1
    while step < cells:
        found.append(step)
        step = max(step + 1, 5 * step // 4)
    return found
