"""Recoverable response of one sampled record a user: whoever holds the user's key has the record, others its message.

Theorem (tiers-and-recoverability.md 3). Let ``v = 2^r - 1`` be the least such number that is at least ``k``, ``r >=
2``, ``D`` the difference set of :mod:`emdp.mechanisms.items.recoverable`, ``|D| = h = 2^(r-1)``. Item ``x`` has the set
``S_x = {(u - x) mod v: u in D}``. A symbol of the set is sent with probability ``e^epsilon/T`` each, the others with
``1/T``, ``T = h e^epsilon + v - h``: ``epsilon``-LDP, and the theorem of :mod:`emdp.mechanisms.oracles.oracle` holds. A
message supports the items whose sets it is in, ``p = h e^epsilon/T``, ``q = (l e^epsilon + h - l)/T``, ``l = 2^(r-2)``.
With the key ``U = Y + x mod v`` the item is ``U - Y mod v``; ``U`` is independent of the item.

Proof. All sets have ``h`` symbols, and two of them have ``l`` in common, since every shift by other than 0 meets ``D``
in ``l`` places. ``U`` has weight ``e^epsilon`` on ``D`` and 1 elsewhere for every item. ∎

It is :class:`emdp.randomizers.Recoverable` with one block, for users with any number of records. Here only the messages
are made, of which shares are estimated, since a session's curator has the records; on users' devices
``Recoverable.encode`` makes the keys too.
"""

import math
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from emdp.base.errors import RefusedError
from emdp.mechanisms.items.recoverable import TAPS, difference_set, least_key_bits
from emdp.mechanisms.oracles.symbol import SymbolOracle
from emdp.mechanisms.weights import Floats, Integers
from emdp.privacy.blanket.sets import SetLaw

__all__ = ["RecoverableOracle"]


class RecoverableOracle(SymbolOracle):
    """Recoverable response in one block; see :class:`FrequencyOracle` for arguments and guarantee.

    Attributes
    ----------
    degree : int
        ``r``, from 2 to 12: at most 4095 items.

    >>> oracle = RecoverableOracle(7, 1000, 0.5)
    >>> oracle.outputs, round(oracle.key_bits, 3), round(least_key_bits(7, 0.5), 3)
    (7, 2.766, 2.762)
    """

    name: ClassVar[str] = "recoverable response"
    theorem: ClassVar[str] = (
        "a key over a cyclic difference set is epsilon-LDP, one record a user (tiers-and-recoverability.md 3)"
    )
    degree: int

    @property
    def chances(self) -> tuple[Fraction, Fraction]:
        inside = self._inside_chance
        common = Fraction(self.inside // 2)
        return inside, common * inside / self.inside + (self.inside - common) * (1 - inside) / self.outside

    @property
    def sets(self) -> SetLaw:
        """Two sets have half of their symbols in common."""
        half = Fraction(self.inside, 2 * self.outputs)
        return SetLaw(self.ratio, 2 * half, ((half, half),))

    @property
    def key_bits(self) -> float:
        """Entropy of a key, in bits."""
        inside = float(self._inside_chance)
        heavy = inside * math.log2(inside / self.inside)
        return -(heavy + (1.0 - inside) * math.log2((1.0 - inside) / self.outside))

    def explain(self) -> str:
        """Return the oracle in one line, with the bits of a key beside the least there can be."""
        least = least_key_bits(self.items, self.epsilon)
        return (
            f"{super().explain()}; a key of {self.key_bits:.4g} bits a user would give the item back, where none has "
            f"less than {least:.4g} (emdp.randomizers.Recoverable makes both)"
        )

    def parameters(self) -> dict[str, Any]:
        return {**super().parameters(), "degree": self.degree}

    def _choose(self) -> None:
        self.degree = max(self.items.bit_length(), 2)
        if self.degree > max(TAPS):
            raise RefusedError(f"recoverable response is for at most {2 ** max(TAPS) - 1} items, got {self.items}.")
        self.inside = 2 ** (self.degree - 1)
        self.outside = self.inside - 1

    @cached_property
    def _marks(self) -> tuple[Integers, Integers]:
        """Places in the difference set, and the others."""
        marks = difference_set(self.degree)
        return np.flatnonzero(marks), np.flatnonzero(~marks)

    def _inside_symbols(self, items: Integers, places: Integers) -> Integers:
        return np.asarray((self._marks[0][places] - items) % self.outputs, dtype=np.int64)

    def _outside_symbols(self, items: Integers, places: Integers) -> Integers:
        return np.asarray((self._marks[1][places] - items) % self.outputs, dtype=np.int64)

    def _supporters(self, tally: Integers) -> Floats:
        # A circular correlation, exact after rounding: counts are whole, and below 2^40.
        marks = np.fft.rfft(difference_set(self.degree).astype(np.float64))
        found = np.fft.irfft(marks * np.conj(np.fft.rfft(tally.astype(np.float64))), n=self.outputs)
        return np.asarray(np.rint(found)[: self.items], dtype=np.float64)
