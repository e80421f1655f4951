"""Randomizers to which any two items look alike: k-ary randomised response and Hadamard response.

Any two rows of their weights, and the least weights of all outputs, are those of any other two up to the order of
outputs (the files of both prove it), whatever the distances. So the nearest pair of items is the worst one and settles
``alpha0``, and one pair stands for all where an accountant takes rows and least weights from a law.
"""

from functools import cached_property

import numpy as np

from emdp.mechanisms.items.finite import FiniteRandomizer
from emdp.mechanisms.weights import Integers, actual_alpha0
from emdp.privacy.blanket.output_law import OutputLaw
from emdp.spaces import Space

__all__ = ["SymmetricRandomizer"]


class SymmetricRandomizer(FiniteRandomizer):
    """A randomizer to which any two items look alike, so that no two may be at distance 0; see the parent."""

    def __init__(self, space: Space, alpha0: float) -> None:
        super().__init__(space, alpha0)
        self.items.check_distinct(type(self).__name__)

    @cached_property
    def law(self) -> OutputLaw:
        """The exact output law, all distances lowered to the smallest one, where the law meets its constraint.

        A guarantee for a smaller metric holds for the true one; and since any two items look alike to this law, the
        nearest pair is the worst one, so nothing is lost. One pair then stands for all.
        """
        nearest = self.w_min * (1.0 - np.eye(self.items.count))
        return OutputLaw(self.weights, nearest, np.array([[0, 1]], dtype=np.int64))

    def _reached_by(self, weights: Integers) -> float:
        return actual_alpha0(weights[:2], np.array([[0.0, self.w_min], [self.w_min, 0.0]]))
