"""A frequency oracle in one file: k-ary randomised response whose symbols are the items one place on.

Theorem: with probability ``p`` the symbol of the item, else uniform on the others, is ``ln(p (k - 1)/(1 - p))``-LDP.
"""

from fractions import Fraction
from typing import ClassVar

import numpy as np

from emdp.mechanisms.oracles.symbol import SymbolOracle
from emdp.mechanisms.weights import Floats, Integers

__all__ = ["ToyOracle"]


class ToyOracle(SymbolOracle):
    """k-ary randomised response with other names of the symbols."""

    name: ClassVar[str] = "toy response"

    @property
    def theorem(self) -> str:
        """The source of the guarantee."""
        return "k-RR of one uniform record a user is epsilon-LDP, whatever its symbols are called"

    @property
    def chances(self) -> tuple[Fraction, Fraction]:
        """``(p, q)``."""
        return self._inside_chance, (1 - self._inside_chance) / self.outside

    def _choose(self) -> None:
        self.inside, self.outside = 1, self.items - 1

    def _inside_symbols(self, items: Integers, places: Integers) -> Integers:
        return (items + 1) % self.items

    def _outside_symbols(self, items: Integers, places: Integers) -> Integers:
        return (items + 2 + places) % self.items

    def _supporters(self, tally: Integers) -> Floats:
        return np.roll(tally, -1).astype(np.float64)
