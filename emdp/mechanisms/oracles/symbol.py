"""Oracles whose message is one symbol: from a set that belongs to the user's item, or from the rest.

With probability ``a/2^62`` the symbol is uniform on the item's set of ``inside`` symbols, else on the ``outside``
others. All sets have equally many symbols, so any symbol's probabilities for two items are equal or differ by the
factor ``a outside/((2^62 - a) inside)`` (:mod:`emdp.mechanisms.strength`), which is attained.
"""

from abc import abstractmethod
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from emdp.base.errors import UsageError
from emdp.mechanisms.oracles.oracle import FrequencyOracle
from emdp.mechanisms.strength import inside_numerator, ratio_of
from emdp.mechanisms.weights import TOTAL, Integers
from emdp.noise.choices import draw_below, draw_bernoulli
from emdp.privacy.rounding import as_decimal

__all__ = ["SymbolOracle"]

BLOCK = 2**15
"""Users whose symbols are drawn together, so that the arrays of a step stay in cache."""

_BITS = 62


class SymbolOracle(FrequencyOracle):
    """An oracle with symbols from 0 to ``outputs - 1``; subclasses say which belong to an item.

    Attributes
    ----------
    inside, outside : int
        Symbols of an item's set, and the others.
    numerator : int
        ``a``.
    """

    inside: int
    outside: int
    numerator: int

    def _prepare(self) -> None:
        self._choose()
        self.numerator = inside_numerator(as_decimal(self.requested), self.inside, self.outside)

    @abstractmethod
    def _choose(self) -> None:
        """Settle ``inside`` and ``outside``."""

    @abstractmethod
    def _inside_symbols(self, items: Integers, places: Integers) -> Integers:
        """Return the ``places``-th symbols of the items' sets; every symbol of a set has equally many places."""

    @abstractmethod
    def _outside_symbols(self, items: Integers, places: Integers) -> Integers:
        """Return the ``places``-th symbols outside the items' sets; every such symbol has equally many places."""

    def _place_limits(self, is_inside: npt.NDArray[np.bool_]) -> Integers:
        """Return how many places there are for users who send a symbol of their set, and for others."""
        return np.where(is_inside, self.inside, self.outside)

    @property
    def outputs(self) -> int:
        """Number of symbols."""
        return self.inside + self.outside

    @property
    def message_bits(self) -> int:
        return (self.outputs - 1).bit_length()

    @property
    def ratio(self) -> Fraction:
        return ratio_of(self.numerator, self.inside, self.outside)

    def tally(self, messages: npt.NDArray[Any]) -> Integers:
        """Return how often each symbol was sent, shape (outputs,)."""
        given = np.asarray(messages)
        if given.ndim != 1 or given.dtype != np.int32:
            raise UsageError(f"messages must be a list of int32, got {given.dtype}; pass what encode returned.")
        if given.size and (int(given.min()) < 0 or int(given.max()) >= self.outputs):
            raise UsageError(f"messages must be from 0 to {self.outputs - 1}; pass what encode returned.")
        return np.bincount(given, minlength=self.outputs).astype(np.int64, copy=False)

    def parameters(self) -> dict[str, Any]:
        return {**super().parameters(), "inside": self.inside, "outside": self.outside, "numerator": self.numerator}

    def _encode(self, items: Integers) -> npt.NDArray[np.int32]:
        messages = np.empty(items.size, dtype=np.int32)
        for start in range(0, items.size, BLOCK):
            block = items[start : start + BLOCK]
            is_inside = draw_bernoulli(np.full(block.size, self.numerator, dtype=np.int64), _BITS)
            places = draw_below(self._place_limits(is_inside))
            symbols = np.empty(block.size, dtype=np.int64)
            symbols[is_inside] = self._inside_symbols(block[is_inside], places[is_inside])
            is_outside = ~is_inside
            symbols[is_outside] = self._outside_symbols(block[is_outside], places[is_outside])
            messages[start : start + BLOCK] = symbols
        return messages

    def _check_tally(self, tally: Integers) -> None:
        if tally.shape != (self.outputs,):
            raise UsageError(f"tally must have {self.outputs} counts, got shape {tally.shape}; pass a sum of tallies.")
        if (tally < 0).any() or int(tally.sum()) != self.users:
            raise UsageError(f"tally must count the messages of all {self.users} users; add up those of all blocks.")

    @property
    def _inside_chance(self) -> Fraction:
        return Fraction(self.numerator, TOTAL)
