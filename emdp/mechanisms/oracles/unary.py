"""Unary encodings: a bit for every item, from one sampled record a user; and the optimised one.

Theorem (Wang, Blocki, Li and Jha 2017; local-shuffle-userlevel.md 3.2, "asymmetric RAPPOR"). A user sends ``k``
independent bits: that of its item is 1 with probability ``p``, every other one with ``q``. Two items' probabilities of
a message differ by a factor of at most ``p (1 - q)/((1 - p) q)``, attained where the bit of one is 1 and that of the
other 0; so the message is ``epsilon``-LDP for ``epsilon`` the logarithm of it, and the theorem of
:mod:`emdp.mechanisms.oracles.oracle` holds. Exactly one bit may stand for the user: a user with several records draws
one.

Optimised: ``p = 1/2`` and ``q = 1/(e^epsilon + 1)``, the least variance of a rare item's estimate, ``4 e^epsilon/(n
(e^epsilon - 1)^2)``.

*The tally alone.* Bits are independent, so that given the users' items the number of ones of item ``x`` is ``Bin(n_x,
p) + Bin(n - n_x, q)``, independently over items: :meth:`UnaryOracle.draw_tally` draws that, exact in law, at the cost
of ``2 k`` binomials.
"""

from abc import abstractmethod
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from emdp.base.errors import RefusedError, UsageError
from emdp.mechanisms.oracles.bags import Bags
from emdp.mechanisms.oracles.oracle import FrequencyOracle
from emdp.mechanisms.strength import inside_numerator, ratio_of
from emdp.mechanisms.weights import TOTAL, Floats, Integers
from emdp.noise.binomial import draw_binomials
from emdp.noise.coins import draw_coins
from emdp.privacy.blanket.sets import SetLaw
from emdp.privacy.rounding import as_decimal

__all__ = ["LARGEST_BITS", "BitsOracle", "UnaryEncoding", "UnaryOracle"]

LARGEST_BITS = 2**31
"""Most bits of the messages of one call: 256 MB, and half a minute."""

BLOCK_BITS = 2**18
"""Bits drawn together: some megabytes."""

_BYTE_ROWS = 255
# Rows of bits whose sum a byte holds: summing bytes is three times faster than summing words.


class BitsOracle(FrequencyOracle):
    """An oracle with a bit for every item, packed eight to a byte; what is tallied is the ones of every item."""

    @abstractmethod
    def _draw_bits(self, items: Integers) -> npt.NDArray[np.bool_]:
        """Return the bits of some users, shape (users, items)."""

    @property
    def message_bits(self) -> int:
        return self.items

    def tally(self, messages: npt.NDArray[Any]) -> Integers:
        """Return how many messages have a one for each item, shape (items,)."""
        given = np.asarray(messages)
        if given.dtype != np.uint8 or given.ndim != 2 or given.shape[1] != self._bytes:
            raise UsageError(f"messages must be rows of {self._bytes} bytes; pass what encode returned.")
        total = np.zeros(self.items, dtype=np.int64)
        for start in range(0, len(given), self._block):
            block = given[start : start + self._block]
            bits = np.unpackbits(block, axis=1, count=self.items, bitorder="little")
            for first in range(0, len(bits), _BYTE_ROWS):
                total += bits[first : first + _BYTE_ROWS].sum(axis=0, dtype=np.uint8)
        return total

    def _encode(self, items: Integers) -> npt.NDArray[np.uint8]:
        self._check_bits(items.size)
        messages = np.empty((items.size, self._bytes), dtype=np.uint8)
        for start in range(0, items.size, self._block):
            bits = self._draw_bits(items[start : start + self._block])
            messages[start : start + self._block] = np.packbits(bits, axis=1, bitorder="little")
        return messages

    def _check_bits(self, users: int) -> None:
        if users * self.items > LARGEST_BITS:
            raise RefusedError(
                f"messages of {users} users with {self.items} bits each are more than 2^31 bits in one call; encode "
                "fewer users at a time, or use an oracle with one symbol a user."
            )

    def _check_tally(self, tally: Integers) -> None:
        if tally.shape != (self.items,):
            raise UsageError(f"tally must have {self.items} counts, got shape {tally.shape}; pass a sum of tallies.")
        if tally.size and (int(tally.min()) < 0 or int(tally.max()) > self.users):
            raise UsageError(f"tally must hold counts from 0 to {self.users}; pass the sum of all users' tallies.")

    def _supporters(self, tally: Integers) -> Floats:
        return tally.astype(np.float64)

    @property
    def _bytes(self) -> int:
        return (self.items + 7) // 8

    @property
    def _block(self) -> int:
        return max(1, BLOCK_BITS // self.items)


class UnaryEncoding(BitsOracle):
    """Independent bits: one probability for the user's item, another for the rest; subclasses choose them.

    Attributes
    ----------
    one, zero : int
        Their numerators over 2^62.
    """

    one: int
    zero: int

    @property
    def ratio(self) -> Fraction:
        return ratio_of(self.one, 1, 1) * ratio_of(TOTAL - self.zero, 1, 1)

    @property
    def chances(self) -> tuple[Fraction, Fraction]:
        return Fraction(self.one, TOTAL), Fraction(self.zero, TOTAL)

    @property
    def sets(self) -> SetLaw:
        """With ``k`` bits of chance ``q`` as ``omega`` the set of an item is where its bit is 1."""
        share = Fraction(self.zero, TOTAL)
        return SetLaw(self.ratio, share, ((share * (1 - share), share * share),))

    def draw_tally(self, bags: Bags) -> Integers:
        """Return a draw of the tally of some users' messages, exact in law, by two binomials an item: this spends."""
        bags.check_items(self.items)
        holders = np.bincount(bags.draw_items(), minlength=self.items)
        total = np.full(self.items, TOTAL, dtype=np.int64)
        own = draw_binomials(holders, np.full(self.items, self.one, dtype=np.int64), total)
        return own + draw_binomials(bags.users - holders, np.full(self.items, self.zero, dtype=np.int64), total)

    def parameters(self) -> dict[str, Any]:
        return {**super().parameters(), "one": self.one, "zero": self.zero}

    def _draw_bits(self, items: Integers) -> npt.NDArray[np.bool_]:
        bits = draw_coins(self.zero, items.size * self.items).reshape(items.size, self.items)
        # The bit of the user's item is drawn apart, and what stood there forgotten.
        bits[np.arange(items.size), items] = draw_coins(self.one, items.size)
        return bits


class UnaryOracle(UnaryEncoding):
    """Optimised unary encoding; see :class:`FrequencyOracle` for arguments and guarantee.

    >>> oracle = UnaryOracle(1000, 10**6, 1.0)
    >>> estimates = oracle.decode(oracle.draw_tally(Bags.of_items(np.full(10**6, 7))))
    >>> abs(float(estimates[7]) - 1) < 0.05, oracle.epsilon
    (True, 1.0)
    """

    name: ClassVar[str] = "optimised unary encoding"
    theorem: ClassVar[str] = "bits with p = 1/2, q = 1/(e^epsilon + 1) are epsilon-LDP (local-shuffle-userlevel.md 3.2)"

    def _prepare(self) -> None:
        self.one = TOTAL // 2
        self.zero = TOTAL - inside_numerator(as_decimal(self.requested), 1, 1)
