"""Hadamard response in blocks, of one sampled record a user: near the best for large epsilon too.

Theorem (local-shuffle-userlevel.md 3.1; Acharya, Sun and Zhang 2019). Let ``B`` be a power of two, ``b`` the least one
with ``b >= k/B + 1``, ``s = b/2``, ``K = B b``. Item ``x`` belongs to block ``x // (b - 1)`` and has there the row ``r
= x mod (b - 1) + 1`` of the Hadamard matrix ``H_b``; its set is the ``s`` symbols of the block with ``H_b[r, .] = +1``.
A symbol of the set is sent with probability ``e^epsilon/t`` each, the others with ``1/t``, ``t = s e^epsilon + K - s``:
``epsilon``-LDP, and the theorem of :mod:`emdp.mechanisms.oracles.oracle` holds.

Proof. Row ``r`` is not row 0, so half of its ``b`` entries are +1: every set has ``s`` symbols, and ``t`` is the same
for all items. Two items' probabilities of a symbol, each ``e^epsilon/t`` or ``1/t``, differ by at most ``e^epsilon``.

Estimates. With ``P`` the set's probability and ``o = (1 - P)/(K - s)`` that of another symbol, let a message in the
block of ``x`` count ``A H_b[r, y]``, ``A = 1/(P - s o)``, and any other 0. Rows of ``H_b`` are orthogonal to each other
and to row 0, so its mean is 1 for item ``x`` and 0 for others: unbiased, one fast transform a block. The square of what
counts is ``A^2`` in the block of ``x`` and 0 elsewhere; so the variance of an estimate is exactly ``(A^2 P(Y in the
block) - g_x)/n`` with ``P(Y in the block) = 2 s o + F (P - s o)``, ``F`` the mean share of the block's items and
``g_x`` the mean square of the item's. Summed over items it is at most ``((b - 1) A^2 - |f|_2^2)/n``.

``B`` is the power of two for which ``(b - 1) A^2`` is least; a published formula for ``B`` is not (epsilon = 1: 18 %
more than ``B = 1``).
"""

import math
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from emdp.base.checks import check_unit_interval
from emdp.mechanisms.items.hadamard_response import walsh_hadamard
from emdp.mechanisms.oracles.symbol import BLOCK, SymbolOracle
from emdp.mechanisms.weights import Floats, Integers
from emdp.noise.choices import draw_below, draw_coins_and_bits
from emdp.privacy.blanket.sets import SetLaw

__all__ = ["HadamardResponseOracle", "block_risk"]

_Whole = npt.NDArray[np.signedinteger[Any]]


class HadamardResponseOracle(SymbolOracle):
    """Hadamard response in blocks; see :class:`FrequencyOracle` for arguments and guarantee.

    ``variance`` and ``interval`` take as ``share`` the mean share of all items of a block together.

    Attributes
    ----------
    blocks, block : int
        ``B`` and ``b``.

    >>> oracle = HadamardResponseOracle(1000, 10**6, 3.0)
    >>> oracle.blocks, oracle.block, oracle.outputs, oracle.epsilon
    (8, 128, 1024, 3.0)
    """

    name: ClassVar[str] = "Hadamard response in blocks"
    theorem: ClassVar[str] = (
        "Hadamard response of one uniform record a user is epsilon-LDP (local-shuffle-userlevel.md 3.1)"
    )
    blocks: int
    block: int

    @property
    def chances(self) -> tuple[Fraction, Fraction]:
        """The probabilities that an item's set has the message, of its user and of a user of another block."""
        return self._inside_chance, self._other * self.inside

    def variances(self, p: npt.ArrayLike | None = None, squares: npt.ArrayLike | None = None) -> Floats:
        shares, second = self._checked_shares(p, squares)
        starts = np.arange(0, self.items, self.block - 1)
        reached = np.repeat(self._block_chance(np.add.reduceat(shares, starts)), self.block - 1)[: self.items]
        return np.asarray((self._width**2 / 4.0 * reached - second) / self.users, dtype=np.float64)

    def variance(self, share: float = 0.0) -> float:
        """Return the variance of an item's estimate, at most, in a block with mean share ``share``: 0 by default."""
        share = check_unit_interval("share", share, zero=True, one=True)
        return float(self._largest_variances(np.array([share]))[0]) / self.users

    def parameters(self) -> dict[str, Any]:
        return {**super().parameters(), "blocks": self.blocks, "block": self.block}

    @property
    def sets(self) -> SetLaw:
        """Sets of one block have half of their symbols in common, those of different blocks none."""
        share, half = Fraction(self.inside, self.outputs), Fraction(self.inside, 2 * self.outputs)
        within = ((half, half),) if self.block > 2 else ()
        across = ((share, Fraction(0)),) if self.blocks > 1 else ()
        return SetLaw(self.ratio, share, within + across)

    @property
    def _other(self) -> Fraction:
        return (1 - self._inside_chance) / self.outside

    @property
    def _width(self) -> float:
        # From -A to A.
        return float(2 / (self._inside_chance - self._other * self.inside))

    def _largest_variances(self, shares: Floats) -> Floats:
        return self._width**2 / 4.0 * self._block_chance(shares)

    def intervals(self, estimates: Floats, level: float, *, together: bool = False) -> tuple[Floats, Floats]:
        """Return ends of intervals that hold the exact shares; a block's share is unknown, so all are of one width."""
        half = self.interval(level, together=together)
        return np.clip(estimates - half, 0.0, 1.0), np.clip(estimates + half, 0.0, 1.0)

    def _block_chance(self, shares: Floats) -> Floats:
        spread = self._other * self.inside
        return float(2 * spread) + shares * float(self._inside_chance - spread)

    def _choose(self) -> None:
        exponents = range((self.items - 1).bit_length() + 1)
        self.blocks = min((1 << j for j in exponents), key=lambda count: block_risk(self.items, count, self.requested))
        self.block = _block_size(self.items, self.blocks)
        # Blocks that no item needs are left out; the outputs of those that remain need not be a power of two.
        self.blocks = -(-self.items // (self.block - 1))
        self.inside = self.block // 2
        self.outside = self.blocks * self.block - self.inside

    def _encode(self, items: Integers) -> npt.NDArray[np.int32]:
        # ``s`` is a power of two, so a place in the set is the last bits of a word whose first ones are the coin.
        messages = np.empty(items.size, dtype=np.int32)
        for start in range(0, items.size, BLOCK):
            block = items[start : start + BLOCK].astype(np.int32)
            is_inside, bits = draw_coins_and_bits(self.numerator, block.size)
            own = block // np.int32(self.block - 1)
            rows = block - own * np.int32(self.block - 1) + np.int32(1)
            symbols = own * np.int32(self.block) + _column(rows, (bits & np.uint32(self.inside - 1)).view(np.int32), 0)
            others = np.flatnonzero(~is_inside)
            places = draw_below(np.full(others.size, self.outside, dtype=np.int64))
            symbols[others] = self._outside_symbols(items[start + others], places)
            messages[start : start + BLOCK] = symbols
        return messages

    def _inside_symbols(self, items: Integers, places: Integers) -> Integers:
        number, row = np.divmod(items, self.block - 1)
        return number * self.block + _column(row + 1, places, 0)

    def _outside_symbols(self, items: Integers, places: Integers) -> Integers:
        number, row = np.divmod(items, self.block - 1)
        own = number * self.block
        near = own + _column(row + 1, np.minimum(places, self.inside - 1), 1)
        far = places - self.inside
        far += np.where(far >= own, self.block, 0)
        return np.asarray(np.where(places < self.inside, near, far), dtype=np.int64)

    def _estimates(self, tally: Integers) -> Floats:
        return self._supporters(tally) * (self._width / (2.0 * self.users))

    def _supporters(self, tally: Integers) -> Floats:
        # The messages of an item's set less those of the rest of its block.
        signs = walsh_hadamard(tally.reshape(self.blocks, self.block).astype(np.float64))
        return np.asarray(signs[:, 1:].ravel()[: self.items], dtype=np.float64)


def block_risk(items: int, blocks: int, epsilon: float) -> float:
    """Return ``(b - 1) A^2``: ``n`` times the bound of the expected squared error with ``blocks`` blocks.

    >>> round(block_risk(1000, 1, 1.0)), round(block_risk(1000, 2, 1.0))
    (4790, 5659)
    """
    block = _block_size(items, blocks)
    rest = math.exp(-epsilon)
    half = block / 2.0
    total = half + (blocks * block - half) * rest
    return (block - 1) * (total / (half * -math.expm1(-epsilon))) ** 2


def _block_size(items: int, blocks: int) -> int:
    return 1 << (-(-items // blocks)).bit_length()


def _column(rows: _Whole, places: _Whole, parity: int) -> _Whole:
    """Return the ``places``-th column whose bits in common with ``rows``, at least 1, are even or odd in number.

    The bits of a place are those of the column but one: the lowest that its row has, which settles the parity.
    """
    lowest = rows & -rows
    column = (places & (lowest - 1)) | ((places & -lowest) << 1)
    odd = (np.bitwise_count(rows & column) & 1) ^ parity
    return np.asarray(column | (lowest * odd), dtype=rows.dtype)
